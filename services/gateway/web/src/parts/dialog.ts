// Dialogs.
import { setToken, token } from "../base/api";
import { freshId, h, type Child } from "../base/dom";

function show(title: string, body: Child[], accept: string, then: (form: HTMLFormElement) => void): void {
  const id = freshId("dialog");
  const form = h("form", { method: "dialog" },
    h("h2", { id }, title), ...body,
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"),
      h("button", { type: "submit", class: "strong" }, accept)));
  const dialog = h("dialog", { "aria-labelledby": id }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    then(form);
  });
  // The browser returns the focus to the element that had it.
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function confirmFirst(title: string, text: string, accept: string, then: () => void): void {
  show(title, [h("p", {}, text)], accept, then);
}

export function askToken(then: () => void): void {
  const id = freshId("token");
  show("Your token",
    [
      h("p", {}, "The project gives tokens to people who may see or do more. Your token is kept in this tab and sent only to this gateway; closing the tab deletes it."),
      h("label", { for: id }, "Token"),
      h("input", { id, name: "token", type: "password", autocomplete: "off", spellcheck: "false", value: token() }),
    ],
    "Use it",
    (form) => {
      setToken((form.elements.namedItem("token") as HTMLInputElement).value.trim());
      then();
    });
}

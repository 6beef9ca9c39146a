// People by the beginning of their name; people and hosts by a cross-project id.
import { ApiError } from "../base/api";
import { h, type Child } from "../base/dom";
import { isHexId, isIdentity } from "../base/route";
import { card, empty, link, table } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { ask, countOf, personLink, rowColumns } from "./pieces";
import type { Person, Row } from "./types";

export function searchForm(go: Context["go"], q: string, id: string, label: string): HTMLElement {
  const input = h("input", { id, type: "search", name: "q", value: q, placeholder: "Name or id", autocomplete: "off", enterkeyhint: "search" });
  return h("form", {
    role: "search", "aria-label": label, class: "search",
    onsubmit: (event: Event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (text) go({ view: "hub-search", q: text });
      else input.focus();
    },
  }, h("label", { for: id, class: "hidden" }, "A person by name or cross-project id"), input, h("button", { type: "submit" }, "Search"));
}

async function foundPerson(q: string, signal: AbortSignal): Promise<Person | null> {
  try {
    return (await ask<Person>(`person?${new URLSearchParams(isHexId(q) ? { cpid: q.toLowerCase() } : { identity: q })}`, signal)).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function peopleOf(rows: Row[], q: string): Child {
  if (rows.length === 0) return empty(`Nobody's name begins with “${q}”.`, "The beginning of the name is enough; capital letters do not matter. An id has 32 digits from 0 to f.");
  return card(null, table(`People whose names begin with ${q}`, rowColumns(rows, "total", "Person", (r) => personLink(r.identity ?? "", r.name),
    [{ name: "Projects", number: true, wide: true, cell: (r) => countOf(r.projects) }, { name: "Country", wide: true, cell: (r) => r.country ?? "" }]), rows));
}

export async function searchView(context: Context, q: string): Promise<View> {
  const parts: Child[] = [
    h("h1", { tabindex: -1 }, q ? `“${q}”` : "Find a person"),
    h("div", { class: "search-big" }, searchForm(context.go, q, "search-big", "People, by name or id")),
  ];
  const title = q ? `Search: ${q}` : "Find a person";
  if (!q) {
    parts.push(empty("Type the beginning of a name, or a cross-project id.", ["The best known are in the ", link({ view: "hub-leaders", board: "people", by: "total", offset: 0, of: null, country: null }, "lists"), "."]));
  } else if (isHexId(q) || isIdentity(q)) {
    const person = await foundPerson(q, context.signal);
    parts.push(person ? card(null, h("p", {}, personLink(person.identity, person.name || person.accounts[0]?.name), " has shown this id.")) : empty("No account is known by this id."));
    if (isHexId(q)) parts.push(h("p", {}, "Is it the id of a computer? ", link({ view: "hub-host", cpid: q.toLowerCase() }, "Hosts with this id")));
    if (person) context.go({ view: "hub-person", who: person.identity }, true);
  } else {
    parts.push(peopleOf((await ask<Row[]>(`people?${new URLSearchParams({ name: q, limit: "50" })}`, context.signal)).data, q));
  }
  return { title, node: h("div", { class: "hub-search" }, parts) };
}

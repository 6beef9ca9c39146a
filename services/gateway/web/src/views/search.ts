// A user, host or team by name or number; a result by its number.
import { get, projectPath } from "../base/api";
import { h, type Child } from "../base/dom";
import { idOf } from "../base/route";
import type { Found, Id, Kind } from "../base/types";
import { accountLink, card, credit, empty, link, rac, table, tabs } from "../parts/pieces";
import type { Context, View } from "./view";

export function searchForm(context: { go: Context["go"] }, project: Id, q: string, kind: Kind | null, id: string, label: string): HTMLElement {
  const input = h("input", { id, type: "search", name: "q", value: q, placeholder: "Name or number", autocomplete: "off", enterkeyhint: "search" });
  return h("form", {
    role: "search",
    "aria-label": label,
    class: "search",
    onsubmit: (event: Event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (text) context.go({ view: "search", project, q: text, kind });
      else input.focus();
    },
  }, h("label", { for: id, class: "hidden" }, "User, host or team, by name or number"), input, h("button", { type: "submit" }, "Search"));
}

const kKindWords: Record<Kind, string> = { user: "User", host: "Host", team: "Team" };

export async function searchView(context: Context, project: Id, q: string, kind: Kind | null): Promise<View> {
  const parts: Child[] = [
    h("h1", { tabindex: -1 }, q ? `“${q}”` : "Find an account"),
    h("div", { class: "search-big" }, searchForm(context, project, q, kind, "search-big", "Accounts, by kind")),
  ];
  if (!q) {
    parts.push(empty("Type a name, a part of one, or a number.", context.viewer.sees_leaders ? ["The best known are on the ", link({ view: "leaders", project, board: "users", by: "total", offset: 0, ranking: null }, "leader boards"), "."] : undefined));
    return { title: "Find an account", node: h("div", {}, parts), project };
  }
  const query = new URLSearchParams({ q, limit: "50", ...(kind ? { kind } : {}) });
  const answer = await get<Found[]>(projectPath(project, `search?${query}`), context.signal);
  const number = idOf(q);
  parts.push(tabs("Kinds", [null, "user", "host", "team"].map((k) => ({
    text: k === null ? "All" : `${kKindWords[k as Kind]}s`,
    route: { view: "search", project, q, kind: k as Kind | null },
    on: k === kind,
  }))));
  if (answer.data.length === 0) {
    parts.push(empty(`No ${kind ?? "user, host or team"} has “${q}” in its name or as its number.`, "A part of the name is enough; capital letters do not matter."));
  } else {
    parts.push(card(null, table(`${answer.data.length} found for ${q}`, [
      { name: "Name", cell: (r) => accountLink(project, r.kind, r.id, r.name), head: true },
      { name: "Kind", cell: (r) => [kKindWords[r.kind], h("span", { class: "soft" }, ` ${r.id}`)] },
      { name: "Total credit", cell: (r) => credit(r.total), number: true },
      { name: "Recent average", cell: (r) => rac(r.rac_now), number: true, wide: true },
    ], answer.data)));
  }
  if (number !== null) {
    parts.push(h("p", {}, "Is it a result? ", link({ view: "why", project, result: number }, `Why result ${number} got its credit`)));
  }
  return { title: `Search: ${q}`, node: h("div", {}, parts), project, asOf: answer.as_of };
}

// The users, hosts and teams with the most credit, by total or by recent average.
import { get, projectPath } from "../base/api";
import { h, type Child } from "../base/dom";
import * as format from "../base/format";
import type { Board, Route } from "../base/route";
import type { Id, Kind, Leader } from "../base/types";
import { accountLink, bar, card, credit, empty, link, maybeLink, rac, table, tabs, type Column } from "../parts/pieces";
import { projectName, type Context, type View } from "./view";

const kPage = 50;
const kKinds: Record<Board, Kind> = { users: "user", hosts: "host", teams: "team" };

export async function leadersView(context: Context, route: Extract<Route, { view: "leaders" }> & { project: Id }): Promise<View> {
  const { project, board, by, offset } = route;
  const wanted = route.ranking ? `&ranking=${route.ranking}` : "";
  const answer = await get<{ ranking: number; count: number; rows: Leader[] }>(projectPath(project, `top/${board}?by=${by}&offset=${offset}&limit=${kPage}${wanted}`), context.signal);
  const { ranking, count, rows } = answer.data;
  // Links to other pages keep the ranking; links to another list start at its first page.
  const to = (change: Partial<typeof route>): Route => ({ ...route, offset: 0, ...change, ranking });
  const replaced = offset > 0 && route.ranking && route.ranking !== ranking;
  const score = (row: Leader) => format.toNumber(by === "rac" ? row.rac_now : Number(row.total));
  const most = Math.max(...rows.map(score), 0) || 1;
  const columns: Column<Leader>[] = [
    { name: "Rank", cell: (r) => format.count(r.rank), number: true },
    { name: board === "users" ? "User" : board === "hosts" ? "Host" : "Team", head: true,
      cell: (r) => [maybeLink(project, kKinds[board], r.id, r.name), bar(score(r) / most)] },
    { name: "Total credit", cell: (r) => credit(r.total), number: true },
    { name: "Recent average", cell: (r) => rac(r.rac_now), number: true, wide: by !== "rac" },
    { name: "Grants", cell: (r) => (r.grants === undefined ? "" : format.count(r.grants)), number: true, wide: true },
  ];
  if (board === "users") columns.push({ name: "Team", wide: true, cell: (r) => (r.team && String(r.team) !== "0" ? accountLink(project, "team", r.team, r.team_name) : "") });
  if (board === "hosts") columns.push({ name: "Owner", wide: true, cell: (r) => (r.user && String(r.user) !== "0" ? accountLink(project, "user", r.user, r.user_name) : "") });

  const last = offset + rows.length;
  const pages: Child = h("nav", { class: "pages", "aria-label": "Pages", "data-ranking": String(ranking) },
    offset > 0 ? link(to({ offset: Math.max(0, offset - kPage) }), "← Previous") : h("span", { class: "soft" }, "← Previous"),
    h("span", { "data-range": "" }, `${format.count(offset + 1)} to ${format.count(last)} of ${format.count(count)}`),
    last < count ? link(to({ offset: offset + kPage }), "Next →") : h("span", { class: "soft" }, "Next →"));

  const node = h("div", { class: "leaders" },
    h("h1", { tabindex: -1 }, "Leaders"),
    h("p", { class: "lead" }, `Of ${projectName(context, project)}. `, by === "total" ? "All credit ever granted." : "Recent average credit: a day's worth, of which half is forgotten in a week."),
    h("div", { class: "tab-rows" },
      tabs("Boards", (["users", "hosts", "teams"] as const).map((b) => ({ text: b[0]!.toUpperCase() + b.slice(1), route: to({ board: b }), on: b === board }))),
      tabs("Order", [{ text: "By total", route: to({ by: "total" }), on: by === "total" }, { text: "By recent average", route: to({ by: "rac" }), on: by === "rac" }])),
    rows.length === 0
      ? empty(offset > 0 ? "There is no such page." : `There are no ${board} with credit yet.`, offset > 0 ? link(to({}), "To the first page") : "As soon as results are granted, they stand here.")
      : card(null, replaced && h("p", { class: "banner" }, "The list was rebuilt after you opened the previous page. An account may be on both pages, or on neither. ", link(to({}), "To the first page")), table(`Top ${board} by ${by === "rac" ? "recent average credit" : "total credit"}`, columns, rows), pages));
  return { title: `Leaders: ${board}`, node, project, asOf: answer.as_of };
}

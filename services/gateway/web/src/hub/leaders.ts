// People, teams and hosts with the most credit: over all projects, or of one project.
import { h, type Child } from "../base/dom";
import type { HubBoard, HubRoute } from "../base/route";
import type { Id, Kind } from "../base/types";
import { card, empty, link, table, tabs, type Column } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { accountLink, ask, countOf, listTime, pages, personLink, projectLink, projectNames, rowColumns } from "./pieces";
import type { HubProject, Row } from "./types";

const kPage = 50;
type LeadersRoute = Extract<HubRoute, { view: "hub-leaders" }>;

const kBoards: Record<HubBoard, { title: string; row: string; kind: Kind }> = {
  people: { title: "People", row: "Person", kind: "user" },
  users: { title: "Users", row: "User", kind: "user" },
  teams: { title: "Teams", row: "Team", kind: "team" },
  hosts: { title: "Hosts", row: "Host", kind: "host" },
};

// Lists over all projects exist for people and teams, lists of one project for users, teams and hosts.
export function boardOf(route: LeadersRoute, projects: HubProject[]): { board: HubBoard; of: Id | null } {
  const { board, of } = route;
  if (board === "hosts") return { board, of: of ?? projects[0]?.project ?? null };
  if (board === "teams") return { board, of };
  return of === null ? { board: "people", of } : { board: "users", of };
}

function pathOf(board: HubBoard, of: Id | null, route: LeadersRoute): string {
  const query = new URLSearchParams({ sort: route.by, limit: String(kPage), offset: String(route.offset) });
  if (of !== null) return `projects/${of}/top/${board}?${query}`;
  if (route.country && board === "people") query.set("country", route.country);
  return `${board}?${query}`;
}

function columnsOf(board: HubBoard, of: Id | null, route: LeadersRoute, rows: Row[]): Column<Row>[] {
  const { kind, row: what } = kBoards[board];
  const linkOf = (row: Row): Child => {
    if (of === null && board === "teams") return link({ view: "hub-team", key: row.key ?? "" }, row.name || "Team");
    if (row.identity) return personLink(row.identity, row.name || (row.id === undefined ? undefined : `User ${row.id}`));
    return row.id === undefined || of === null ? row.name ?? "" : accountLink(of, kind, row.id, row.name);
  };
  const more: Column<Row>[] = [];
  if (of === null) more.push({ name: "Projects", number: true, wide: true, cell: (r) => countOf(r.projects) });
  if (board === "teams") more.push({ name: "Members", number: true, wide: true, cell: (r) => countOf(r.members) });
  if (board === "people" || board === "users") more.push({ name: "Country", wide: true, cell: (r) => r.country ?? "" });
  return rowColumns(rows, route.by, what, linkOf, more);
}

export async function leadersView(context: Context, route: LeadersRoute): Promise<View> {
  const projects = (await ask<HubProject[]>("projects", context.signal)).data;
  const { board, of } = boardOf(route, projects);
  const to = (change: Partial<LeadersRoute>): HubRoute => ({ ...route, board, of, offset: 0, ...change });
  const heading = (more: Child) => [
    h("h1", { tabindex: -1 }, "Leaders"),
    h("p", { class: "lead" }, of === null ? "Over all projects. " : ["Of ", projectLink(of, projectNames(projects)(of)), ". "],
      route.by === "total" ? "All credit, as of each project's last complete edition." : "Recent average credit: a day's worth, of which half is forgotten in a week; all decayed to the same moment.", more),
  ];
  const select = h("select", { id: "of" },
    board !== "hosts" && h("option", { value: "", selected: of === null }, "All projects"),
    projects.map((one) => h("option", { value: String(one.project), selected: String(one.project) === String(of) }, one.name || `Project ${one.project}`)));
  select.addEventListener("change", () => {
    const chosen = projects.find((one) => String(one.project) === select.value)?.project ?? null;
    context.go(to({ of: chosen, country: null, ...(board === "people" || board === "users" ? { board: chosen === null ? "people" : "users" } : {}) }));
  });
  const controls = [
    h("div", { class: "tab-rows" },
      tabs("Lists", [
        { text: of === null || board === "hosts" ? "People" : "Users", route: to(board === "hosts" ? { board: "people", of: null } : { board: of === null ? "people" : "users" }), on: board === "people" || board === "users" },
        { text: "Teams", route: to({ board: "teams", of: board === "hosts" ? route.of : of, country: null }), on: board === "teams" },
        { text: "Hosts", route: to({ board: "hosts", country: null }), on: board === "hosts" },
      ]),
      tabs("Order", [{ text: "By total", route: to({ by: "total" }), on: route.by === "total" }, { text: "By recent average", route: to({ by: "rac" }), on: route.by === "rac" }])),
    h("div", { class: "filter" }, h("label", { for: "of" }, "Project"), select,
      board === "people" && route.country && h("span", { class: "chip" }, `From ${route.country}`, " ", link(to({ country: null }), "Show all countries"))),
  ];
  if (board === "hosts" && of === null) return { title: "Leaders", node: h("div", {}, heading(null), empty("The hub knows no project yet.")) };
  const answer = await ask<Row[]>(pathOf(board, of, route), context.signal);
  const shown = answer.data;
  const count = answer.count ?? route.offset + shown.length;
  const list = shown.length === 0
    ? empty(route.offset > 0 ? "There is no such page." : `No ${board} with credit.`, route.offset > 0 ? link(to({}), "To the first page") : undefined)
    : card(null, table(`${kBoards[board].title} by ${route.by === "rac" ? "recent average credit" : "total credit"}`, columnsOf(board, of, route, shown), shown),
      pages(route.offset, shown.length, count, kPage, (offset) => to({ offset })));
  return { title: `Leaders: ${kBoards[board].title.toLowerCase()}`, node: h("div", { class: "hub-leaders" }, heading(listTime(answer)), controls, list) };
}

// Projects of the hub, with their condition and the age of what is known; one project with its editions.
import { h, type Child } from "../base/dom";
import * as format from "../base/format";
import type { Id } from "../base/types";
import { chart, numbersOf } from "../parts/chart";
import { card, credit, empty, link, rac, table, tiles, time } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { accountLink, ask, askList, countOf, creditOr, facts, outside, personLink, pill, projectLink, rowColumns } from "./pieces";
import type { Edition, HubProject, ProjectDay, Row, SharedHosts } from "./types";
import { ageWords, conditionWords, pointsWords, sentence, unknownWords } from "./words";

const kDay = 86400;
const kShown = 10; // rows of each short list

function conditionText(project: HubProject): string {
  return sentence(project.condition_reason ?? "") || conditionWords(project.condition).meaning;
}

// What a reader must know before the numbers.
function warnings(project: HubProject): Child {
  const unknown = unknownWords(project);
  return [
    unknown && h("p", { class: "hub-note warn", "data-unknown": "" }, h("b", {}, unknown), ". The numbers are those of the last complete edition."),
    project.held_edition > 0 && h("p", { class: "hub-note warn", "data-held": "" }, h("b", {}, `Edition ${project.held_edition} is held`),
      project.held_reason ? `: ${project.held_reason}. ` : ". ", "The numbers before it stay."),
    project.retired && h("p", { class: "hub-note" }, "The project has ended; its credit stays."),
    project.account_manager && h("p", { class: "hub-note", "data-manager": "" }, "An account manager: its members' credit was earned at the other projects, so its total is in no sum over projects."),
    project.shared_accounts.length > 0 && h("p", { class: "hub-note", "data-shared": "" }, project.shared_accounts.length === 1
      ? "1 account belongs to an account manager, and is in no person's sum."
      : `${format.count(project.shared_accounts.length)} accounts belong to an account manager, and are in no person's sum.`),
  ];
}

// What the hub's operator does about a fetch that fails and about held files.
function nextSteps(project: HubProject): Child {
  const steps = [project.condition_next_step, project.held_next_step].filter((step) => step !== undefined && step !== "");
  return steps.length > 0 && h("section", { class: "card", "data-next-step": "" }, h("h2", {}, "What the operator of this hub can do"), steps.map((step) => h("p", {}, step)));
}

function known(project: HubProject): boolean {
  return project.complete_edition > 0 || project.mode === "direct";
}

function age(project: HubProject): string {
  if (!known(project)) return "No complete edition yet";
  const words = ageWords(project.published_time, Date.now() / 1000);
  return words ? `As of ${words}` : `Edition ${project.complete_edition}`;
}

function projectCard(project: HubProject): HTMLElement {
  const figures: [string, Child, string][] = [
    ["Total credit", creditOr(project.total), "total"],
    ["Recent average", project.rac === undefined ? format.kMissing : rac(project.rac), "rac"],
    ["Users", countOf(project.users), "users"],
    ["Hosts", countOf(project.hosts), "hosts"],
    ["Teams", countOf(project.teams), "teams"],
  ];
  const name = h("h2", {}, projectLink(project.project, project.name));
  return h("li", { class: "card hub-project", "data-project": String(project.project), "data-stale": unknownWords(project) ? "yes" : null },
    h("div", { class: "title-row" }, name, pill(project.condition)),
    h("p", { class: "soft small condition-reason" }, conditionText(project)),
    h("dl", { class: "hub-figures" }, figures.map(([label, value, key]) => h("div", { "data-key": key }, h("dt", {}, label), h("dd", {}, known(project) ? value : format.kMissing)))),
    warnings(project),
    h("p", { class: "soft small age" }, age(project)));
}

export async function projectsView(context: Context): Promise<View> {
  const projects = (await ask<HubProject[]>("projects", context.signal)).data;
  const earning = projects.filter((one) => !one.account_manager);
  const now = earning.filter((one) => known(one) && !unknownWords(one)).length;
  const sum = earning.flatMap((one) => (known(one) && one.cobblestones ? [one.cobblestones] : []));
  const node = h("div", { class: "hub-projects" },
    h("h1", { tabindex: -1 }, "Projects"),
    h("p", { class: "lead" }, "What each project publishes, as of its last complete edition. A project that is silent keeps its numbers, with their date."),
    projects.length === 0 ? empty("The hub knows no project yet.", "They come from its configuration, with the first fetch.") : [
      tiles([
        { label: "Projects", value: format.count(earning.length), note: now === earning.length ? "all of them known now" : `${format.count(now)} of them known now`, key: "projects" },
        { label: "Credit of all projects", value: credit(format.creditSum(sum.length > 0 ? sum : ["0.000000"])), note: "Cobblestones", key: "total" },
      ]),
      h("ul", { class: "hub-cards" }, projects.map(projectCard)),
    ]);
  return { title: "Projects", node };
}

const kStates: Record<Edition["state"], string> = { arriving: "arriving", complete: "complete", held: "held" };

function sumOf(edition: Edition, kind: string): Edition["sums"][number] | undefined {
  return edition.sums.find((one) => one.kind === kind);
}

function dateOf(seconds: number): HTMLElement {
  return h("span", { class: "day", title: format.utc(seconds, true) }, format.utc(seconds).slice(0, 10));
}

function editionsOf(editions: Edition[]): Child {
  if (editions.length === 0) return card("Editions", empty("No edition yet."));
  return card("Editions", h("p", { class: "soft" }, "An edition is one state of the project's statistics. It is seen as a whole once it is complete; a held one changes nothing."),
    table("Newest first", [
      { name: "Edition", head: true, cell: (e) => [String(e.edition), h("span", { class: `mark${e.state === "held" ? " warn" : ""}` }, kStates[e.state]), e.released && h("span", { class: "mark" }, "released by an operator"),
        e.reason && h("span", { class: "detail" }, e.reason)] },
      { name: "Published", cell: (e) => dateOf(format.toNumber(e.published_time) || format.toNumber(e.begun_time)) },
      { name: "Users", number: true, wide: true, cell: (e) => countOf(sumOf(e, "user")?.accounts) },
      { name: "Changed", number: true, wide: true, cell: (e) => countOf(sumOf(e, "user")?.changed) },
      { name: "Total credit", number: true, wide: true, cell: (e) => creditOr(sumOf(e, "user")?.total) },
    ], editions));
}

export function daysChart(days: { day: number; credit: string }[], title: string, signal: AbortSignal): Child {
  const sorted = [...days].sort((a, b) => a.day - b.day);
  const first = sorted[0]!.day;
  const last = sorted[sorted.length - 1]!.day;
  const found = new Map(sorted.map((one) => [one.day, Number(one.credit)]));
  const all = Array.from({ length: last - first + 3 }, (_, at) => first - 1 + at); // with empty neighbours
  return [
    chart({
      title, description: `${format.dayText(first)} to ${format.dayText(last)}; the numbers are in the table.`, height: 200, zero: true, days: true, signal,
      series: [{ label: "Credit", tone: "accent", kind: "bars", valueText: (v) => format.fixed(v, 2) }],
    }, [all.map((day) => day * kDay + kDay / 2), all.map((day) => found.get(day) ?? null)]).node,
    numbersOf("Days as numbers", () => table("Newest first, days in UTC", [
      { name: "Day", head: true, cell: (d) => [format.dayText(d.day), Number(d.credit) < 0 && h("span", { class: "mark warn" }, "correction")] },
      { name: "Credit", number: true, cell: (d) => credit(d.credit) },
    ], [...sorted].reverse(), true)),
  ];
}

function shortList(of: Id, board: "users" | "hosts" | "teams", rows: Row[] | null): Child {
  if (rows === null) return card(`Top ${board}`, empty("The hub is building its lists.", "They come in a moment."));
  const words = { users: "User", hosts: "Host", teams: "Team" } as const;
  const kinds = { users: "user", hosts: "host", teams: "team" } as const;
  const linkOf = (row: Row) => (row.identity ? personLink(row.identity, row.name || `User ${row.id}`) : accountLink(of, kinds[board], row.id!, row.name));
  return card(`Top ${board}`,
    rows.length === 0 ? empty(`No ${board} known.`) : table(`Top ${board} by total credit`, rowColumns(rows, "total", words[board], linkOf, []), rows),
    rows.length > 0 && h("p", { class: "more" }, link({ view: "hub-leaders", board, by: "total", offset: 0, of, country: null }, `All ${board}`)));
}

function ratioText(value: SharedHosts["ratio"]): string {
  return format.number(format.toNumber(value), 3);
}

function sharedHosts(compared: SharedHosts[]): Child {
  if (compared.length === 0) return false;
  return card("The same hosts elsewhere",
    h("p", { class: "soft" }, "What hosts that work for two projects earn a day here, for each Cobblestone that they earn there: the median, and the range in which it lies with a probability of 95 %. " +
      "Hosts divide their time as their owners like, so this compares what members see, not what the same work is worth."),
    table("By project", [
      { name: "Other project", head: true, cell: (c) => projectLink(c.project, c.project_name) },
      { name: "Hosts", number: true, cell: (c) => format.count(c.hosts) },
      { name: "Credit here / there", number: true, cell: (c) => ratioText(c.ratio) },
      { name: "95 % range", number: true, cell: (c) => `${ratioText(c.least)} to ${ratioText(c.greatest)}` },
    ], compared));
}

export async function projectView(context: Context, of: Id): Promise<View> {
  const base = `projects/${of}`;
  const listed = context.viewer.sees_all && context.viewer.sees_leaders;
  const top = async (board: string) => (listed ? askList<Row>(`${base}/top/${board}?sort=total&limit=${kShown}`, context.signal) : null);
  const [one, days, users, hosts, teams] = await Promise.all([
    ask<HubProject>(base, context.signal), askList<ProjectDay>(`${base}/days`, context.signal), top("users"), top("hosts"), top("teams"),
  ]);
  const project = one.data;
  const has = known(project);
  const node = h("div", { class: "hub-project-view" },
    h("p", { class: "crumb" }, link({ view: "hub-projects" }, "Projects")),
    h("div", { class: "title-row" }, h("h1", { tabindex: -1 }, project.name || `Project ${of}`), pill(project.condition)),
    h("p", { class: "lead" }, h("span", { class: "condition-reason" }, conditionText(project)), " ", age(project), "."),
    warnings(project),
    nextSteps(project),
    tiles([
      { label: "Total credit", value: has ? creditOr(project.total) : format.kMissing, note: format.toNumber(project.points_per_cobblestone) === 1 ? "Cobblestones" : "points of the project", key: "total" },
      { label: "Recent average", value: has && project.rac !== undefined ? rac(project.rac) : format.kMissing, note: "a day, now", key: "rac" },
      { label: "Users", value: has ? countOf(project.users) : format.kMissing, key: "users" },
      { label: "Hosts", value: has ? countOf(project.hosts) : format.kMissing, key: "hosts" },
      { label: "Teams", value: has ? countOf(project.teams) : format.kMissing, key: "teams" },
    ]),
    days !== null && days.length > 0 && h("section", { class: "card", "aria-label": "Credit by day" }, daysChart(days, "Credit by day", context.signal)),
    editionsOf(project.editions ?? []),
    sharedHosts(project.shared_hosts ?? []),
    listed && h("div", { class: "pair" }, shortList(of, "users", users), shortList(of, "teams", teams)),
    listed && shortList(of, "hosts", hosts),
    card("About the project", facts([
      ["Address", project.url ? outside(project.url) : "not known"],
      ["How the hub learns of it", project.mode === "direct" ? "a direct feed of the project" : "its statistics files"],
      ["App versions known", format.count(project.app_versions)],
      ["Points of one Cobblestone", pointsWords(project)],
      ["Condition seen", time(format.toNumber(project.condition_time))],
    ])));
  return { title: project.name || `Project ${of}`, node };
}

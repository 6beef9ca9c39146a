// One account at one project; a team over projects; a host over projects.
import { ApiError } from "../base/api";
import { h, type Child } from "../base/dom";
import * as format from "../base/format";
import type { CreditText, Double, Id, Kind } from "../base/types";
import { card, credit, empty, link, rac, table, tiles, time } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { accountLink, ask, countOf, facts, outside, personLink, projectLink, rankText } from "./pieces";
import { daysChart } from "./projects";
import type { HubAccount, Person, Row } from "./types";

const kWords: Record<Kind, string> = { user: "User", host: "Host", team: "Team" };

// Null: the account has shown no id, so it is nobody's.
async function personOf(project: Id, user: Id, signal: AbortSignal): Promise<Person | null> {
  try {
    return (await ask<Person>(`person?project=${project}&user=${user}`, signal)).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export async function accountView(context: Context, of: Id, kind: Kind, id: Id): Promise<View> {
  const [answer, person] = await Promise.all([
    ask<HubAccount>(`projects/${of}/${kind}s/${id}`, context.signal),
    kind === "user" ? personOf(of, id, context.signal) : null,
  ]);
  const account = answer.data;
  const name = account.name || `${kWords[kind]} ${id}`;
  const about: [string, Child][] = [["Project", projectLink(of, account.project_name)], ["Number", String(id)]];
  if (format.toNumber(account.create_time) > 0) about.push(["Since", time(format.toNumber(account.create_time))]);
  if (account.country && account.country !== "None") about.push(["Country", account.country]);
  if (account.team !== undefined) about.push(["Team", accountLink(of, "team", account.team, account.team_name)]);
  if (account.owner !== undefined) about.push([kind === "host" ? "Owner" : "Founder", accountLink(of, "user", account.owner)]);
  if (account.url) about.push(["Address", outside(/^\w+:/.test(account.url) ? account.url : `http://${account.url}`)]);
  if (account.cpid) about.push(["Cross-project id", kind === "host" ? link({ view: "hub-host", cpid: account.cpid }, h("code", {}, account.cpid)) : h("code", {}, account.cpid)]);
  if (account.description) about.push(["Description", account.description]);
  const days = account.days ?? [];
  const node = h("div", { class: "hub-account-view" },
    h("p", { class: "crumb" }, projectLink(of, account.project_name)),
    h("h1", { tabindex: -1 }, name),
    h("p", { class: "lead" }, `${kWords[kind]} ${id} of ${account.project_name}, as of its last complete edition. `,
      person && account.in_sum !== false && ["Part of ", personLink(person.identity, person.name || "the person"), " with ", credit(person.total), " over all projects."]),
    account.in_sum === false && h("p", { class: "hub-note", "data-shared": "" }, "This account belongs to an account manager: many people's computers work under it, so it is in no person's sum."),
    tiles([
      { label: "Total credit", value: credit(account.total), note: rankText(account.rank_total, account.of, `${kind}s`), key: "total" },
      { label: "Recent average", value: rac(account.rac), note: ["a day, now. ", rankText(account.rank_rac, account.of, `${kind}s`)], key: "rac" },
    ]),
    days.length > 0 ? h("section", { class: "card", "aria-label": "Credit by day" }, daysChart(days, "Credit by day", context.signal))
      : card("Credit by day", empty("No day has credit yet.", "The credit with which the hub first saw the account counts for no day.")),
    card(`About this ${kind}`, facts(about)));
  return { title: name, node };
}

interface TeamOverall {
  name: string;
  total: CreditText;
  rac: Double;
  members?: number;
  rank_total?: number;
  rank_rac?: number;
  of?: number;
  teams: Row[];
}

function atProject(kind: Kind): (row: Row) => Child {
  return (row) => [projectLink(row.project ?? 0, row.project_name), h("span", { class: "detail" }, accountLink(row.project ?? 0, kind, row.id ?? 0, row.name))];
}

export async function teamView(context: Context, key: string): Promise<View> {
  const team = (await ask<TeamOverall>(`teams/${key.toLowerCase()}?limit=500`, context.signal)).data;
  const node = h("div", { class: "hub-team" },
    h("p", { class: "crumb" }, link({ view: "hub-leaders", board: "teams", by: "total", offset: 0, of: null, country: null }, "Teams")),
    h("h1", { tabindex: -1 }, team.name),
    h("p", { class: "lead" }, `A team of ${format.count(team.teams.length)} ${team.teams.length === 1 ? "project" : "projects"}. Teams are the same if their names are, apart from capital letters.`),
    tiles([
      { label: "Total credit", value: credit(team.total), note: rankText(team.rank_total, team.of, "teams"), key: "total" },
      { label: "Recent average", value: rac(team.rac), note: ["a day, now. ", rankText(team.rank_rac, team.of, "teams")], key: "rac" },
      { label: "Members", value: countOf(team.members), note: "accounts", key: "members" },
    ]),
    card("At each project", table("The team at each project", [
      { name: "Project", head: true, cell: atProject("team") },
      { name: "Total credit", number: true, cell: (t) => credit(t.total) },
      { name: "Recent average", number: true, wide: true, cell: (t) => rac(t.rac) },
      { name: "Members", number: true, wide: true, cell: (t) => countOf(t.members) },
    ], team.teams)));
  return { title: team.name, node };
}

export async function hostView(context: Context, cpid: string): Promise<View> {
  const hosts = (await ask<Row[]>(`hosts?cpid=${cpid.toLowerCase()}&limit=500`, context.signal)).data;
  const node = h("div", { class: "hub-host" },
    h("h1", { tabindex: -1 }, "A computer over projects"),
    h("p", { class: "lead" }, "All hosts with the id ", h("code", {}, cpid), ". Projects publish the ids of hosts themselves; the hub does not check them."),
    hosts.length === 0 ? empty("No project has a host with this id.") : [
      tiles([{ label: "Total credit", value: credit(format.creditSum(["0.000000", ...hosts.filter((one) => one.in_sum !== false).map((one) => one.cobblestones ?? one.total)])), note: "Cobblestones, of all projects", key: "total" }]),
      card(null, table("The hosts with this id", [
        { name: "Project", head: true, cell: (t) => [atProject("host")(t), t.in_sum === false && h("span", { class: "mark warn" }, "in no sum")] },
        { name: "Total credit", number: true, cell: (t) => credit(t.total) },
        { name: "Recent average", number: true, cell: (t) => rac(t.rac) },
      ], hosts)),
    ]);
  return { title: "A computer over projects", node };
}

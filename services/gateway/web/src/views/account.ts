// A user, a host or a team: its credit, the history of its credit, and its last grants.
import { ApiError, get, projectPath } from "../base/api";
import { h, type Child } from "../base/dom";
import * as format from "../base/format";
import type { Account, AppVersion, DaySum, GrantRow, Id, Kind } from "../base/types";
import { chart, numbersOf } from "../parts/chart";
import { accountLink, bar, card, credit, empty, link, maybeLink, nameOf, rac, table, tiles, time, type Tile } from "../parts/pieces";
import { everyDay, racCurve } from "../rules/rac";
import { appVersionWords, movedWords } from "../rules/words";
import { projectName, versionsOf, type Context, type View } from "./view";

const kDay = 86400;
const kAfterLast = 28 * kDay; // the curve shows this much decay after the last credit
const kKindWords: Record<Kind, string> = { user: "User", host: "Host", team: "Team" };

function isSomebody(id: Id | undefined): id is Id {
  return id !== undefined && String(id) !== "0";
}

function barsOf(days: DaySum[], range: () => [number, number], signal: AbortSignal): Child {
  const xs = days.map((d) => d.day * kDay + kDay / 2);
  return chart(
    {
      title: "Credit by day",
      description: `${days.length} days, the most ${format.shortCredit(days.reduce((a, b) => (Number(b.total) > Number(a.total) ? b : a)).total)}.`,
      height: 170, zero: true, signal,
      series: [{ label: "Credit", tone: "accent", kind: "bars", valueText: (v) => format.fixed(v, 2) }],
      days: true, range,
    },
    // The width of a bar comes from the distance to its neighbours, so a single bar gets empty neighbours.
    days.length === 1 ? [[xs[0]! - kDay, xs[0]!, xs[0]! + kDay], [null, Number(days[0]!.total), null]] : [xs, days.map((d) => Number(d.total))]).node;
}

function historyOf(account: Account, opening: GrantRow | undefined, signal: AbortSignal): Child {
  const days = everyDay(account.days);
  const now = Date.now() / 1000;
  const rac_time = format.toNumber(account.rac_time);
  const days_end = days.length > 0 ? (days[days.length - 1]!.day + 1) * kDay : 0;
  const until = Math.min(now, Math.max(rac_time, days_end) + kAfterLast);
  const opened = opening && { time: opening.time, rac: format.toNumber(opening.rac) };
  const curve = racCurve({ days: account.days, opening: account.opening, opened, rac: format.toNumber(account.rac), rac_time, now }, until);
  const begun = Math.min(curve[0]?.time ?? Infinity, days.length > 0 ? days[0]!.day * kDay : Infinity);
  if (days.length === 0 && format.toNumber(account.rac) === 0) return card("History", empty("No day has credit yet.", "The first granted result begins the history."));
  const range = (): [number, number] => [begun, Math.max(until, days_end)];
  const average = curve.length > 1 ? chart(
    {
      title: "Recent average credit",
      description: `From ${format.utc(begun).slice(0, 10)} on. Now it is ${rac(account.rac_now)} Cobblestones a day.`,
      height: 220, zero: true, signal, days: true, range,
      series: [{ label: "RAC", tone: "accent", fill: true, valueText: (v) => `${format.fixed(v, v < 100 ? 2 : 0)} a day` }],
    },
    [curve.map((p) => p.time), curve.map((p) => p.rac)]) : null;
  const silent = rac_time > 0 && now - rac_time > 30 * kDay
    ? h("p", { class: "soft" }, `The last credit came ${format.ago(rac_time, now)}; since then the average has halved every seven days.`) : null;
  return h("section", { class: "card", "aria-label": "History" },
    average?.node, days.length > 0 && barsOf(days, range, signal), silent,
    days.length === 0 ? h("p", { class: "soft small" }, "No day has credit here yet: the average comes from the opening balance.")
      : h("p", { class: "soft small" }, "The curve is worked out from the sums of days, with a half-life of seven days; it ends in the exact value."),
    days.length > 0 && numbersOf("Days as numbers", () => table("Newest first, days in UTC", [
      { name: "Day", cell: (d) => format.dayText(d.day), head: true },
      { name: "Credit", cell: (d) => credit(d.total), number: true },
      { name: "Grants", cell: (d) => format.count(d.grants), number: true },
    ], [...account.days].reverse(), true)));
}

function appsOf(account: Account): Child {
  if (account.apps.length < 2) return null;
  const all = Number(account.total) || 1;
  return card("By application", table("Credit by application", [
    { name: "Application", cell: (a) => [a.app_name || `App ${a.app}`, bar(Number(a.total) / all)], head: true },
    { name: "Credit", cell: (a) => credit(a.total), number: true },
    { name: "Grants", cell: (a) => format.count(a.grants), number: true },
  ], [...account.apps].sort((a, b) => Number(b.total) - Number(a.total))));
}

function hostsOf(project: Id, account: Account): Child {
  if (account.kind !== "user") return null;
  if (account.hosts_shown === false) return card("Hosts", empty("This user does not show which hosts are theirs."));
  const hosts = account.hosts ?? [];
  if (hosts.length === 0) return card("Hosts", empty("No host with credit."));
  const more = (account.host_count ?? hosts.length) - hosts.length;
  return card("Hosts", table("Hosts by credit", [
    { name: "Host", cell: (r) => [accountLink(project, "host", r.id), r.description && h("span", { class: "detail" }, r.description)], head: true },
    { name: "Total credit", cell: (r) => credit(r.total), number: true },
    { name: "Recent average", cell: (r) => rac(r.rac_now), number: true, wide: true },
    { name: "Grants", cell: (r) => format.count(r.grants), number: true },
  ], hosts), more > 0 && h("p", { class: "soft" }, `And ${format.count(more)} more with less credit.`));
}

function machineOf(account: Account, named: Map<string, AppVersion>): Child {
  if (account.kind !== "host") return null;
  const facts: [string, string][] = [];
  if (account.cpus) facts.push(["Processors", format.count(account.cpus)]);
  if (account.gpus) facts.push(["GPUs", format.count(account.gpus)]);
  const speed = format.toNumber(account.whetstone);
  if (speed > 0) facts.push(["Benchmark of one processor", format.withPrefix(speed, "FLOP/s")]);
  const turnaround = format.toNumber(account.avg_turnaround);
  if (turnaround > 0) facts.push(["Usual time from sending to return", format.duration(turnaround)]);
  const versions = account.versions ?? [];
  if (facts.length === 0 && versions.length === 0) return null;
  return card("The computer",
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    versions.length > 0 && table("Applications that it runs", [
      { name: "Application", cell: (v) => v.app_name || `App ${v.app}`, head: true },
      { name: "Version", cell: (v) => appVersionWords(v.app_version, named.get(String(v.app_version))) },
      { name: "Jobs measured", cell: (v) => format.count(format.toNumber(v.jobs)), number: true },
    ], versions));
}

function membersOf(project: Id, account: Account): Child {
  if (account.kind !== "team") return null;
  const members = account.top_members ?? [];
  if (members.length === 0) return card("Members", empty("No member has credit yet."));
  return card(account.members === undefined ? "Members" : `${format.count(account.members)} members`,
    table("Members by credit", [
      { name: "User", cell: (m) => maybeLink(project, "user", m.id, m.name), head: true },
      { name: "Total credit", cell: (m) => credit(m.total), number: true },
      { name: "Recent average", cell: (m) => rac(m.rac_now), number: true },
    ], members));
}

function grantsOf(project: Id, kind: Kind, grants: GrantRow[] | ApiError, enterToken: () => void): Child {
  if (grants instanceof ApiError) {
    if (!grants.needsToken) return card("Recent grants", empty("They cannot be shown just now.", grants.message));
    return card("Recent grants", empty("These are not shown to everybody.",
      ["The user's own token and the project's show them.", h("br"), h("button", { type: "button", class: "quiet", onclick: enterToken }, "Enter a token")]));
  }
  if (grants.length === 0) return card("Recent grants", empty("Nothing was granted yet.", "A result is granted when the validator has looked at its workunit."));
  const why = (g: GrantRow, ...text: Child[]) => g.result !== undefined && link({ view: "why", project, result: g.result }, ...text);
  const mark = (text: string) => text && h("span", { class: "mark" }, text);
  return card("Recent grants", table("Newest first", [
    { name: "Result", head: true, cell: (g) => (g.result === undefined ? movedWords(g) : [why(g, String(g.result)), mark(movedWords(g)), mark(g.late ? "late" : "")]) },
    { name: "Credit", cell: (g) => credit(g.credit), number: true },
    { name: "When", cell: (g) => time(g.time, true) },
    { name: "Application", cell: (g) => g.app !== undefined && (g.app_name || `App ${g.app}`), wide: true },
    ...(kind === "host" ? [] : [{ name: "Host", cell: (g: GrantRow) => g.host !== undefined && accountLink(project, "host", g.host), wide: true }]),
    { name: "Why", cell: (g: GrantRow) => why(g, "Why?", h("span", { class: "hidden" }, ` result ${g.result}`)) },
  ], grants));
}

export async function accountView(context: Context, project: Id, kind: Kind, id: Id): Promise<View> {
  const base = projectPath(project, `${kind}s/${id}`);
  const [answer, grants] = await Promise.all([
    get<Account>(base, context.signal),
    get<GrantRow[]>(`${base}/grants?limit=20`, context.signal).then((a) => a.data, (error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    }),
  ]);
  const account: Account = { ...answer.data, kind };
  const versions = account.versions?.length ? await versionsOf(project, context.signal) : new Map<string, AppVersion>();
  const name = nameOf(kind, id, account.name);
  const belongs: Child[] = [`${kKindWords[kind]} ${id} of ${projectName(context, project)}`];
  if (kind === "user" && isSomebody(account.team)) belongs.push(" · team ", accountLink(project, "team", account.team, account.team_name));
  if (kind === "host") belongs.push(" · ", isSomebody(account.user) ? ["of ", accountLink(project, "user", account.user, account.user_name)]
    : account.user === undefined ? "its owner is not shown" : "belongs to nobody");

  const shown: Tile[] = [
    { label: "Total credit", value: credit(account.total), note: "Cobblestones", key: "total" },
    { label: "Recent average", value: rac(account.rac_now), note: "a day, now", key: "rac" },
    { label: "Granted results", value: format.count(account.grants), key: "grants" },
  ];
  if (Number(account.provisional) !== 0) shown.push({ label: "Provisional", value: credit(account.provisional), note: "of it, for work that still runs", key: "provisional" });
  if (account.shown !== account.total) shown.push({ label: "Shown", value: credit(account.shown), note: "until new credit makes up for the reversed credit", key: "shown" });
  if (account.estimates) shown.push({ label: "Reported, not granted yet", value: credit(account.estimates.provisional), note: `of ${format.count(account.estimates.jobs)} jobs that an account manager reported`, key: "estimated" });
  if (Number(account.opening) > 0) shown.push({ label: "Opening balance", value: credit(account.opening), note: "from the former system", key: "opening" });
  const notes: string[] = [];
  if (account.hidden) notes.push("This user has not consented to be named in statistics: the credit is shown without the name.");
  if (account.deleted) notes.push(`This ${kind} was deleted. Its sums are kept, so that all totals remain correct.`);
  if (account.known === false) notes.push(`No event has named this ${kind} yet. Its grants wait until one does.`);
  if (account.waiting_grants) notes.push(`${format.count(account.waiting_grants)} grants wait until an event names this user.`);
  if (account.expired_grants) notes.push(`${format.count(account.expired_grants)} grants (${format.exactCredit(account.expired_credit ?? "0.000000")} Cobblestones) came before anything named this user, and have expired.`);

  const node = h("div", { class: "account", "data-account": `${kind}/${id}` },
    h("h1", { tabindex: -1 }, name),
    h("p", { class: "lead" }, belongs),
    notes.map((note) => h("p", { class: "banner" }, note)),
    tiles(shown),
    historyOf(account, grants instanceof ApiError ? undefined : grants.find((g) => g.kind === "opening"), context.signal),
    grantsOf(project, kind, grants, context.enterToken),
    hostsOf(project, account), machineOf(account, versions), membersOf(project, account),
    appsOf(account));
  return { title: name, node, project, asOf: answer.as_of };
}

// A person over all projects: the sum, its history, the accounts and why they count.
import { h, type Child } from "../base/dom";
import * as format from "../base/format";
import { isHexId } from "../base/route";
import { card, credit, empty, rac, table, tiles, time, type Tile } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { historyOf } from "./history";
import { accountLink, ask, personLink, projectLink, rankText } from "./pieces";
import type { HubAccount, HubProject, Person, Standing } from "./types";
import { standingName, standingWords } from "./words";

function idsOf(ids: Standing[]): Child {
  if (ids.length === 0) return h("p", { class: "soft small" }, "This account has shown no cross-project id.");
  return h("ul", { class: "ids" }, ids.map((one) => h("li", { class: one.counts ? "counts" : null },
    h("p", {}, h("code", {}, one.cpid), h("span", { class: `mark${one.counts ? "" : " warn"}` }, one.counts ? "counts" : "does not count"),
      h("span", { class: "mark plain" }, standingName(one.standing))),
    h("p", { class: "soft small" }, standingWords(one.standing, one.counts),
      ` Shown ${one.first_day === one.last_day ? `on ${format.dayText(one.first_day)}` : `from ${format.dayText(one.first_day)} to ${format.dayText(one.last_day)}`}.`))));
}

function accountCard(account: HubAccount): Child {
  const figures: [string, Child, string, string][] = [
    ["Total credit", credit(account.total), rankText(account.rank_total, account.of), "total"],
    ["Recent average", rac(account.rac), rankText(account.rank_rac, account.of), "rac"],
  ];
  return h("li", { class: "card hub-account", "data-project": String(account.project), "data-user": String(account.id) },
    h("div", { class: "title-row" }, h("h3", {}, projectLink(account.project, account.project_name)),
      account.in_sum === false && h("span", { class: "mark warn" }, "in no sum")),
    h("p", { class: "soft small" }, accountLink(account.project, "user", account.id, account.name), ` (number ${account.id})`,
      format.toNumber(account.create_time) > 0 && [", since ", time(format.toNumber(account.create_time))],
      account.team !== undefined && [", team ", accountLink(account.project, "team", account.team, account.team_name)]),
    h("dl", { class: "hub-figures" }, figures.map(([label, value, rank, key]) => h("div", { "data-key": key }, h("dt", {}, label), h("dd", {}, value), rank && h("dd", { class: "rank" }, rank)))),
    account.cobblestones !== undefined && account.cobblestones !== account.total && h("p", { class: "soft small" }, "In Cobblestones: ", credit(account.cobblestones), "."),
    account.in_sum === false && h("p", { class: "hub-note" }, "This account belongs to an account manager: many people's computers work under it, so it is in no person's sum."),
    h("h4", {}, "Its ids, and why they count"), idsOf(account.ids ?? []));
}

function possibleOf(person: Person, nameOf: (project: string) => string): Child {
  if (person.possible.length === 0) return null;
  return card("Possibly the same person", h("p", { class: "soft" }, "These accounts share an id with this person, but the link does not count. None of their credit is in the sum."),
    table("Accounts of other people that share an id", [
      { name: "Account", head: true, cell: (p) => [accountLink(p.project, "user", p.user, `User ${p.user} of ${nameOf(String(p.project))}`), h("span", { class: "detail" }, "Shows ", h("code", {}, p.cpid))] },
      { name: "Why not", cell: (p) => [standingName(p.standing), h("span", { class: "detail" }, standingWords(p.standing, false))] },
      { name: "Their person", wide: true, cell: (p) => personLink(p.identity, p.identity) },
    ], person.possible));
}

function correctionsOf(person: Person, nameOf: (project: string) => string): Child {
  const all = person.corrections ?? [];
  if (all.length === 0) return null;
  return card("Corrections", h("p", { class: "soft" }, "A total that fell, or was changed for a day in the past. Each is marked in the history on the day that it is about, if the project says which, and on the day on which it came."),
    table("Corrections of this person's credit", [
      { name: "Project", head: true, cell: (c) => [projectLink(c.project, nameOf(String(c.project))), c.note && h("span", { class: "detail" }, c.note)] },
      { name: "About", cell: (c) => [h("span", { class: "day" }, c.day_about === null ? "not known" : format.dayText(c.day_about)), h("span", { class: "detail" }, "came ", h("span", { class: "day" }, format.dayText(c.day_came)))] },
      { name: "Credit", number: true, cell: (c) => credit(c.credit) },
    ], all));
}

export async function personView(context: Context, who: string): Promise<View> {
  const query = new URLSearchParams(isHexId(who) ? { cpid: who.toLowerCase() } : { identity: who });
  const [answer, projects] = await Promise.all([ask<Person>(`person?${query}`, context.signal), ask<HubProject[]>("projects", context.signal)]);
  const person = answer.data;
  const names = new Map(projects.data.map((one) => [String(one.project), one.name]));
  for (const one of person.accounts) names.set(String(one.project), one.project_name);
  const nameOf = (project: string) => names.get(project) || `Project ${project}`;
  const name = person.name || person.accounts[0]?.name || `Person ${person.identity}`;
  const counted = person.accounts.filter((one) => one.in_sum !== false).length;
  const shown: Tile[] = [
    { label: "Total credit", value: credit(person.total), note: rankText(person.rank_total, person.of, "people"), key: "total" },
    { label: "Recent average", value: rac(person.rac), note: ["a day, now. ", rankText(person.rank_rac, person.of, "people")], key: "rac" },
    { label: "Accounts", value: format.count(counted), note: "in the sum", key: "accounts" },
  ];
  const days = (person.days ?? []).filter((one) => Object.values(one.credit).some((value) => Number(value) !== 0));
  const node = h("div", { class: "hub-person" },
    h("h1", { tabindex: -1 }, name),
    h("p", { class: "lead" }, "A person over all projects", person.country && person.country !== "None" ? `, from ${person.country}` : "", ", named ", h("code", {}, person.identity), " here."),
    tiles(shown),
    days.length > 0 ? h("section", { class: "card", "aria-label": "History" }, historyOf(days, person.corrections ?? [], nameOf, context.signal))
      : card("History", empty("No day has credit yet.", "The credit with which the hub first saw an account counts for no day.")),
    correctionsOf(person, nameOf),
    h("h2", { class: "section" }, "Accounts"),
    person.accounts.length === 0 ? empty("None of the accounts is published now.") : h("ul", { class: "hub-accounts" }, person.accounts.map(accountCard)),
    possibleOf(person, nameOf));
  return { title: name, node };
}

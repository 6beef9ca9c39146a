// Refused records and the reasons.
import { get, post } from "../base/api";
import { h, replace, type Child } from "../base/dom";
import * as format from "../base/format";
import type { Route } from "../base/route";
import type { Refusal } from "../base/types";
import { askToken, confirmFirst } from "../parts/dialog";
import { card, empty, link, table, time, troubleOf } from "../parts/pieces";
import { reasonName, reasonWords } from "../rules/words";
import { ApiError } from "../base/api";
import type { Context, View } from "./view";

const kPage = 50;

function whereFrom(refusal: Refusal): string {
  return refusal.source ? `${refusal.source}, line ${refusal.line ?? "?"}` : (refusal.topic ?? format.kMissing);
}

export async function refusedView(context: Context, route: Extract<Route, { view: "refused" }>): Promise<View> {
  const before = route.before === null ? "" : `&before=${route.before}`;
  const answer = await get<{ refused: Refusal[]; all: number }>(`refused?limit=${kPage}${before}`, context.signal);
  const all = [...answer.data.refused].sort((a, b) => b.number - a.number);
  const counts = new Map<string, number>();
  for (const one of all) counts.set(one.reason, (counts.get(one.reason) ?? 0) + 1);
  const { reason } = route;
  const shown = reason ? all.filter((r) => r.reason === reason) : all;
  const oldest = all[all.length - 1]?.number ?? 0;

  const select = h("select", { id: "reason" },
    h("option", { value: "" }, `All reasons (${all.length})`),
    [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => h("option", { value: name, selected: name === reason }, `${reasonName(name)} (${n})`)),
    reason && !counts.has(reason) && h("option", { value: reason, selected: true }, `${reasonName(reason)} (0)`));
  select.addEventListener("change", () => context.go({ ...route, reason: select.value || null }));

  const body: Child = all.length === 0
    ? empty(route.before === null ? "Nothing was refused." : "Nothing older.", route.before === null ? "All events were accepted." : link({ view: "refused", before: null, reason: null }, "To the newest"))
    : [
      h("div", { class: "filter" }, h("label", { for: "reason" }, "Reason"), select),
      reason && h("p", { class: "soft" }, reasonWords(reason)),
      shown.length === 0 ? empty("None of these has that reason.", "Choose another, or look at older ones.")
        : card(null, table(`${shown.length} refusals, newest first`, [
          { name: "Number", cell: (r) => link({ view: "refusal", number: r.number }, format.count(r.number)), number: true },
          { name: "Reason", cell: (r) => [reasonName(r.reason), r.detail ? h("span", { class: "detail" }, r.detail) : ""], head: true },
          { name: "When", cell: (r) => time(format.toNumber(r.append_time), true) },
          { name: "Project", cell: (r) => (String(r.project) === "0" ? format.kMissing : String(r.project)), wide: true },
          { name: "From", cell: whereFrom, wide: true },
        ], shown)),
      h("nav", { class: "pages", "aria-label": "Pages" },
        route.before !== null ? link({ ...route, before: null }, "← Newest") : h("span", { class: "soft" }, "← Newest"),
        h("span", {}, `${format.count(answer.data.all)} in all`),
        oldest > 0 && all.length === kPage ? link({ ...route, before: oldest }, "Older →") : h("span", { class: "soft" }, "Older →")),
    ];
  const node = h("div", {},
    h("h1", { tabindex: -1 }, "Refused"),
    h("p", { class: "lead" }, "Input that was refused. It is listed here with the reason; it changed no number."),
    body);
  return { title: "Refused", node, asOf: answer.as_of };
}

export async function refusalView(context: Context, number: number): Promise<View> {
  const answer = await get<Refusal>(`refused/${number}`, context.signal);
  const refusal = answer.data;
  const outcome = h("p", { role: "status" });
  const again = h("button", { type: "button" }, "Resubmit it to the pipeline");
  const resubmit = () => {
    again.disabled = true;
    replace(outcome, "Sending it …");
    post(`refused/${number}/resubmit`, context.signal).then(
      () => replace(outcome, "It was resubmitted to the pipeline. If it is refused again, it is at the top of the list."),
      (error: unknown) => {
        const trouble = troubleOf(error);
        const needs = error instanceof ApiError && error.needsToken;
        replace(outcome, `${trouble.title}. ${trouble.message} `, needs && h("button", { type: "button", class: "quiet", onclick: () => askToken(() => { again.disabled = false; resubmit(); }) }, "Enter a token"));
        again.disabled = false;
      });
  };
  again.addEventListener("click", () => confirmFirst("Resubmit it to the pipeline?",
    "Do this when the missing event has arrived (a host, an app, its completion or validation). If the event is still invalid, it is refused again, and nothing else happens.", "Resubmit", resubmit));
  const facts: [string, Child][] = [
    ["When", time(format.toNumber(refusal.append_time))],
    ["Project", String(refusal.project) === "0" ? "not known" : String(refusal.project)],
  ];
  if (!refusal.redacted) {
    facts.push(["From", whereFrom(refusal)]);
    facts.push(["Place in the log", `${refusal.topic ?? ""}, partition ${refusal.partition ?? 0}, record ${String(refusal.offset ?? 0)}`]);
    facts.push(["Size", `${format.count(refusal.bytes ?? 0)} bytes`]);
  }
  const original = refusal.event !== undefined ? JSON.stringify(refusal.event, null, 2) : (refusal.original ?? "");
  const node = h("div", {},
    h("p", { class: "crumb" }, link({ view: "refused", before: null, reason: null }, "Refused")),
    h("h1", { tabindex: -1 }, `${reasonName(refusal.reason)}`),
    h("p", { class: "lead" }, reasonWords(refusal.reason), refusal.detail ? ` It says: ${refusal.detail}.` : ""),
    card(`Refusal ${format.count(refusal.number)}`,
      h("dl", { class: "facts" }, h("div", {}, h("dt", {}, "Reason"), h("dd", {}, h("code", {}, refusal.reason))), facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))))),
    card(refusal.event !== undefined ? "The event" : "What came", original && h("pre", { tabindex: 0 }, original),
      refusal.redacted ? h("p", { class: "soft" }, "The contents of the event are shown only with a token that may read.") : refusal.left_out ? h("p", { class: "soft" }, "The event is not stored in full: it contains texts of members, or is not an event. Send it again from its source.") : !original && empty("Nothing that can be shown.")),
    card("Once more", h("p", {}, "Resubmitting needs a token with the role operate. You are asked to confirm."), again, outcome));
  return { title: reasonName(refusal.reason), node, asOf: answer.as_of };
}

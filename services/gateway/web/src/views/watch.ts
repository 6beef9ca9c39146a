// What operators should look at, beside the flow: hosts whose reports keep rising, and apps whose X has moved.
import { get } from "../base/api";
import { h, replace } from "../base/dom";
import * as format from "../base/format";
import type { HostToWatch, Id, MovedLevel, Watch } from "../base/types";
import { accountLink, card, empty, link, table, time, troubleOf } from "../parts/pieces";
import { levelWords, marksOf } from "../rules/words";
import { projectName, type Context } from "./view";

const kEvery = 60_000; // ms between two questions

// The roles with the right to read it; the gateway decides.
export function seesWatch(role: string): boolean {
  return role === "read" || role === "operate";
}

function appName(name: string, app: Id): string {
  return name || `App ${app}`;
}

// With the project, where there are several.
function place(context: Context, project: Id, app: string): string {
  return context.projects.length > 1 ? [app, projectName(context, project)].filter(Boolean).join(", ") : app;
}

function hostsTable(context: Context, hosts: HostToWatch[]): HTMLElement {
  return table("Hosts to watch, newest first", [
    { name: "Host", head: true, cell: (w) => [accountLink(w.project, "host", w.host), h("span", { class: "detail" }, place(context, w.project, appName(w.app_name, w.app)))] },
    { name: "When", cell: (w) => time(format.toNumber(w.time), true) },
    { name: "Why", cell: (w) => link({ view: "why", project: w.project, result: w.result }, marksOf([w.why], "robust")[0]?.name ?? w.why, h("span", { class: "hidden" }, `, result ${w.result}`)) },
  ], hosts);
}

function levelsTable(context: Context, levels: MovedLevel[]): HTMLElement {
  return table("Apps whose X has moved", [
    { name: "App", head: true, cell: (l) => [link({ view: "scales", project: l.project, app: l.app }, appName(l.app_name, l.app)), h("span", { class: "detail" }, place(context, l.project, ""))] },
    { name: "X moved", number: true, cell: (l) => h("b", {}, levelWords(l)) },
    { name: "X before", number: true, wide: true, cell: (l) => format.number(format.toNumber(l.x_before), 4) },
    { name: "X now", number: true, wide: true, cell: (l) => format.number(format.toNumber(l.x), 4) },
    { name: "Since", cell: (l) => time(format.toNumber(l.time_before), true) },
  ], levels);
}

export function watchCard(context: Context): HTMLElement {
  const body = h("div", {}, h("p", { class: "soft" }, "Asking the gateway …"));
  const show = (watch: Watch) => {
    const { hosts, levels } = watch;
    replace(body,
      hosts.length === 0 && levels.length === 0 && empty("Nothing to watch.", "No host's reports keep rising, and no app's X has moved by more than a tenth in a day."),
      hosts.length > 0 && [h("h3", {}, "Hosts"), hostsTable(context, hosts)],
      levels.length > 0 && [h("h3", {}, "Levels"), levelsTable(context, levels)]);
  };
  const ask = () => {
    get<Watch>("watch", context.signal).then((answer) => show(answer.data), (error: unknown) => {
      if (!context.signal.aborted) replace(body, h("p", { class: "soft" }, troubleOf(error).message));
    });
  };
  ask();
  const timer = setInterval(ask, kEvery);
  context.signal.addEventListener("abort", () => clearInterval(timer));
  const node = card("To watch", body);
  node.dataset["watch"] = "";
  return node;
}

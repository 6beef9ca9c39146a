// Factors of plan classes: the value in force, where it comes from, and how it changed.
import { h, svg, type Child } from "../base/dom";
import * as format from "../base/format";
import { chart, numbersOf } from "../parts/chart";
import { card, empty, link, table, tiles, time } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { ask, projectLink } from "./pieces";
import { kMostLayers } from "./stack";
import type { Factor, Factors, LeftOut } from "./types";
import { reachWords, resourceWords } from "./words";

const kHistory = 24; // computations in the chart
const classOf = (factor: Factor) => `${factor.plan_class} (${resourceWords(factor.resource)})`;

async function historyOf(newest: Factors, signal: AbortSignal): Promise<Factors[]> {
  const from = Math.max(1, newest.sequence - kHistory + 1);
  const numbers = Array.from({ length: newest.sequence - from }, (_, at) => from + at);
  const before = await Promise.all(numbers.map((sequence) => ask<Factors>(`factors?sequence=${sequence}`, signal)));
  return [...before.map((one) => one.data), newest];
}

function linesOf(history: Factors[], signal: AbortSignal): Child {
  const newest = history[history.length - 1]!;
  const names = newest.factors.map(classOf);
  const values = names.map((name) => history.map((one) => {
    const factor = one.factors.find((f) => classOf(f) === name);
    return factor === undefined ? null : format.toNumber(factor.factor);
  }));
  if (history.length < 2 || names.length === 0) return null;
  const tone = (at: number) => (at < kMostLayers ? `s${at + 1}` : "s8");
  return h("section", { class: "card", "aria-label": "History" },
    chart({
      title: "Factors over time", description: `The last ${history.length} computations; the numbers are in the table below.`, height: 240, zero: true, signal,
      series: names.map((label, at) => ({ label, tone: tone(at), kind: "line" as const, points: true, valueText: (v) => format.number(v) })),
    }, [history.map((one) => format.toNumber(one.as_of)), ...values]).node,
    numbersOf("Factors as numbers", () => table("Newest first", [
      { name: "Computed", head: true, cell: (f) => [link({ view: "hub-factors", sequence: f.sequence }, `Number ${format.count(f.sequence)}`), h("span", { class: "detail" }, time(format.toNumber(f.as_of)))] },
      ...names.map((name) => ({ name, number: true, cell: (f: Factors) => {
        const factor = f.factors.find((one) => classOf(one) === name);
        return factor === undefined ? format.kMissing : format.number(format.toNumber(factor.factor));
      } })),
    ], [...history].reverse(), true)));
}

// The projects' values on a line of logarithms, each dot as large as its weight, and the factor across.
function picture(factor: Factor): Child {
  const values = factor.contributions.map((one) => format.toNumber(one.value)).filter((v) => v > 0);
  const all = [...values, format.toNumber(factor.factor)].map(Math.log10);
  const low = Math.min(...all) - 0.08;
  const high = Math.max(...all) + 0.08;
  const x = (value: number) => 20 + ((Math.log10(value) - low) / (high - low)) * 560;
  const at = x(format.toNumber(factor.factor));
  const words = factor.contributions.map((one) => `${one.name} ${format.number(format.toNumber(one.value))} with ${format.fixed(format.toNumber(one.weight) * 100, 0)} %`).join(", ");
  return svg("svg", { class: "contributions", viewBox: "0 0 600 60", role: "img", "aria-label": `Values of the projects: ${words}. The factor is ${format.number(format.toNumber(factor.factor))}.` },
    svg("line", { class: "rail", x1: 8, x2: 592, y1: 32, y2: 32 }),
    factor.contributions.map((one) => svg("circle", { cx: x(format.toNumber(one.value)), cy: 32, r: 4 + 14 * Math.sqrt(format.toNumber(one.weight)) })),
    svg("line", { class: "at", x1: at, x2: at, y1: 6, y2: 58 }));
}

// One line for each project and reason.
function leftOutOf(left: LeftOut[]): Child {
  if (left.length === 0) return null;
  const groups = new Map<string, { name: string; project: LeftOut["project"]; words: string; versions: string[] }>();
  for (const one of left) {
    const key = `${one.project} ${one.reason}`;
    const group = groups.get(key) ?? { name: one.name, project: one.project, words: one.words, versions: [] };
    group.versions.push(String(one.app_version));
    groups.set(key, group);
  }
  return [
    h("h3", {}, "Left out"),
    h("ul", { class: "left-out" }, [...groups.values()].map((one) => h("li", {}, projectLink(one.project, one.name), `: ${one.words}`,
      h("span", { class: "soft small" }, ` (version ${one.versions.slice(0, 5).join(", ")}${one.versions.length > 5 ? ` and ${one.versions.length - 5} more` : ""})`)))),
  ];
}

function factorCard(factor: Factor): HTMLElement {
  const value = format.toNumber(factor.factor);
  const target = format.toNumber(factor.target);
  return h("section", { class: "card factor", "data-class": factor.plan_class, "aria-label": classOf(factor) },
    h("div", { class: "title-row" }, h("h2", {}, h("code", {}, factor.plan_class), " ", h("span", { class: "soft" }, resourceWords(factor.resource))),
      h("p", { class: "factor-value" }, format.number(value), factor.is_default && h("span", { class: "mark warn" }, "default"))),
    factor.is_default ? h("p", { class: "soft" }, "Too few projects have both kinds of versions, so the default is used.")
      : h("p", { class: "soft" }, value === target ? "The weighted median of the projects' values." : `The weighted median is ${format.number(target)}; the factor follows it in limited steps.`),
    factor.reach !== undefined && h("p", { class: "soft", "data-reach": "" }, reachWords(factor)),
    factor.contributions.length > 0 && [
      picture(factor),
      table(`Projects behind the factor of ${factor.plan_class}`, [
        { name: "Project", head: true, cell: (c) => projectLink(c.project, c.name) },
        { name: "Value", number: true, cell: (c) => format.number(format.toNumber(c.value)) },
        { name: "Weight", number: true, cell: (c) => `${format.fixed(format.toNumber(c.weight) * 100, 1)} %` },
        { name: "Recent credit", number: true, wide: true, cell: (c) => format.number(format.toNumber(c.credit)) },
        { name: "Versions", number: true, wide: true, cell: (c) => format.count(c.app_versions.length) },
      ], factor.contributions),
    ],
    leftOutOf(factor.left_out));
}

export async function factorsView(context: Context, sequence: number | null): Promise<View> {
  const shown = (await ask<Factors>(sequence === null ? "factors" : `factors?sequence=${sequence}`, context.signal)).data;
  const history = await historyOf(shown, context.signal);
  const step = (to: number, text: string, possible: boolean) => (possible ? link({ view: "hub-factors", sequence: to === shown.newest ? null : to }, text) : h("span", { class: "soft" }, text));
  const node = h("div", { class: "hub-factors" },
    h("h1", { tabindex: -1 }, "Factors"),
    h("p", { class: "lead" }, "An app that has GPU versions only cannot tell how much of a GPU's speed its jobs use. Projects with CPU and GPU versions of the same apps know it; a factor is what they agree on."),
    tiles([
      { label: "Computation", value: format.count(shown.sequence), note: shown.sequence === shown.newest ? "the newest" : `of ${format.count(shown.newest)}`, key: "sequence" },
      { label: "Computed", value: h("span", { class: "date" }, time(format.toNumber(shown.as_of))), note: "from the newest versions of each project", key: "as_of" },
      { label: "Plan classes", value: format.count(shown.factors.length), key: "classes" },
    ]),
    linesOf(history, context.signal),
    shown.factors.length === 0 && empty("No plan class has a factor yet.", "They come with the app versions of projects."),
    shown.factors.map(factorCard),
    shown.left_out.length > 0 && card("Versions of no plan class", leftOutOf(shown.left_out)),
    h("nav", { class: "pages", "aria-label": "Computations" },
      step(shown.sequence - 1, "← The one before", shown.sequence > 1), h("span", {}, `Computation ${format.count(shown.sequence)}`), step(shown.sequence + 1, "The next →", shown.sequence < shown.newest)));
  return { title: "Factors", node };
}

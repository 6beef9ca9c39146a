// A person's credit by day, stacked by project, with the days of corrections.
import { h, replace, type Child } from "../base/dom";
import * as format from "../base/format";
import { chart, numbersOf, type Mark } from "../parts/chart";
import { credit, table } from "../parts/pieces";
import { swatch } from "./pieces";
import { bucketsOf, layersOf, type Bucket, type Layer } from "./stack";
import type { HubCorrection, PersonDay } from "./types";

const kDay = 86400;
const kDaily = 400; // days; longer spans are shown by week
const kSpans: [string, number][] = [["30 days", 30], ["90 days", 90], ["One year", 365], ["All", Infinity]];

function layerName(layer: Layer, nameOf: (project: string) => string): string {
  return layer.projects.length === 1 ? nameOf(layer.projects[0]!) : `${layer.projects.length} other projects`;
}

function numbers(days: PersonDay[], nameOf: (project: string) => string): Child {
  const rows = [...days].sort((a, b) => b.day - a.day).flatMap((one) =>
    Object.entries(one.credit).filter(([, value]) => Number(value) !== 0).map(([project, value], at) => ({ day: one.day, first: at === 0, project, value })));
  return numbersOf("Days as numbers", () => table("Newest first, days in UTC", [
    { name: "Day", head: true, cell: (r) => format.dayText(r.day) },
    { name: "Project", cell: (r) => nameOf(r.project) },
    { name: "Credit", number: true, cell: (r) => credit(r.value) },
  ], rows, true));
}

// Triangles above the bars: outlined on the day that a correction is about, filled on the day on which it came.
function marksOf(corrections: HubCorrection[], size: number, buckets: Bucket[]): Mark[] {
  const middle = (day: number) => {
    const bucket = [...buckets].reverse().find((one) => one.day <= day);
    return bucket && day < bucket.day + size ? bucket.day * kDay + (size * kDay) / 2 : null;
  };
  return corrections.flatMap((one) => {
    const about = one.day_about === null ? null : middle(one.day_about);
    const came = middle(one.day_came);
    return [...(about === null ? [] : [{ x: about, filled: false }]), ...(came === null ? [] : [{ x: came, filled: true }])];
  });
}

export function historyOf(days: PersonDay[], corrections: HubCorrection[], nameOf: (project: string) => string, signal: AbortSignal): Child {
  const all = days.map((one) => one.day);
  const first = Math.min(...all);
  const last = Math.max(...all);
  const layers = layersOf(days);
  const tones = layers.map((layer, at) => (layer.projects.length === 1 ? `s${at + 1}` : "s8"));
  const place = h("div", {});
  let drawing = new AbortController();
  const draw = (span: number) => {
    drawing.abort();
    drawing = new AbortController();
    const from = Math.max(first, last - span + 1);
    const size = last - from + 1 > kDaily ? 7 : 1;
    const buckets = bucketsOf(days, layers, size, from, last);
    const xs = [buckets[0]!.day - size, ...buckets.map((one) => one.day), buckets[buckets.length - 1]!.day + size].map((day) => day * kDay + (size * kDay) / 2);
    const values = layers.map((_, layer) => [null, ...buckets.map((one) => Number(one.credit[layer])), null]);
    replace(place, chart({
      title: size === 7 ? "Credit by week" : "Credit by day",
      description: `By project, stacked, from ${format.dayText(from)} to ${format.dayText(last)}. The numbers are in the table below.`,
      height: 260, zero: true, days: true, signal: drawing.signal, stack: true, marks: marksOf(corrections, size, buckets),
      series: layers.map((layer, at) => ({ label: layerName(layer, nameOf), tone: tones[at]!, kind: "bars" as const, valueText: (v) => format.fixed(v, 2) })),
      xText: size === 7 ? (x) => `Week from ${format.utc(x - 3.5 * kDay).slice(0, 10)}` : (x) => format.utc(x).slice(0, 10),
    }, [xs, ...values]).node);
  };
  signal.addEventListener("abort", () => drawing.abort());
  const spans = kSpans.filter(([, span], at) => at === kSpans.length - 1 || span < last - first + 1);
  const buttons = spans.map(([text, span]) => h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => choose(span) }, text));
  const choose = (span: number) => {
    spans.forEach(([, one], at) => buttons[at]!.setAttribute("aria-pressed", String(one === span)));
    draw(span);
  };
  // A phone has room for the bars of a month.
  const wanted = window.matchMedia("(max-width: 640px)").matches ? 30 : 90;
  choose((spans.find(([, span]) => span >= wanted) ?? spans[0]!)[1]);
  return [
    h("div", { class: "title-row" }, h("h2", {}, "History"), spans.length > 1 && h("div", { class: "spans", role: "group", "aria-label": "Span" }, buttons)),
    place,
    h("ul", { class: "legend", "aria-label": "Projects of the chart" }, layers.map((layer, at) =>
      h("li", {}, swatch(tones[at]!), `${layerName(layer, nameOf)} `, h("span", { class: "soft" }, format.shortCredit(layer.total)))),
      corrections.length > 0 && h("li", {}, h("span", { class: "soft" }, "▽ day that a correction is about, ▼ day on which it came"))),
    h("p", { class: "soft small" }, "Credit from before the hub knew an account belongs to no day, so the bars add up to less than the total."),
    numbers(days, nameOf),
  ];
}

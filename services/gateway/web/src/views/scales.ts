// The scales: for each app the usual work of a job on CPUs and on GPUs, X, and each version's scale, now and
// over time.
import { get, projectPath } from "../base/api";
import { h, svg, type Child } from "../base/dom";
import * as format from "../base/format";
import type { AppScale, Id, Scales, ScalesThen, VersionScale } from "../base/types";
import { chart, numbersOf } from "../parts/chart";
import { empty, link, sparkline, table, tabs, tiles } from "../parts/pieces";
import { policyWords, versionName } from "../rules/words";
import { projectName, type Context, type View } from "./view";

const kHistory = 500; // epochs; from a longer history this many are taken at even distances
const kAllAtOnce = 4; // apps that are shown if none is chosen

function known(value: unknown): number | null {
  const n = format.toNumber(value as number);
  return Number.isFinite(n) && n > 0 ? n : null;
}

function valueText(value: number | null, digits = 4): string {
  return value === null ? format.kMissing : format.number(value, digits);
}

// A scale on a logarithmic line from 0.1 to 10, with 1 in the middle.
function scaleMark(scale: number): SVGSVGElement {
  const at = Math.max(-1, Math.min(1, Math.log10(scale)));
  const x = 50 + at * 46;
  return svg("svg", { class: "scale-mark", viewBox: "0 0 100 12", "aria-hidden": "true" },
    svg("line", { x1: 4, x2: 96, y1: 6, y2: 6, class: "rail" }),
    svg("line", { x1: 50, x2: 50, y1: 2, y2: 10, class: "rail" }),
    svg("line", { x1: 50, x2: x, y1: 6, y2: 6, class: "arm" }),
    svg("circle", { cx: x, cy: 6, r: 3.4 }));
}

type AppThen = ScalesThen["apps"][number];

// Drops the first epochs, without known values. Values are unknown until the first jobs, often for most epochs.
function sinceKnown<T>(all: T[], is: (one: T) => boolean): T[] {
  const first = all.findIndex(is);
  return first < 0 ? [] : all.slice(first);
}

function historyChart(app: AppScale, history: ScalesThen[], signal: AbortSignal): Child {
  const all = history.map((then) => ({ then, app: then.apps.find((a) => String(a.app) === String(app.app)) })).filter((r) => r.app);
  // X may have a start value before anything is measured.
  const rows = sinceKnown(all, (r) => known(r.app!.cpu_mean) !== null || known(r.app!.gpu_mean) !== null);
  const epochs = new Map(rows.map((r) => [r.then.time, r.then.epoch]));
  const columns = [
    { title: "X", of: (a: AppThen) => known(a.min_avg_pfc) },
    { title: "CPU mean", of: (a: AppThen) => known(a.cpu_mean) },
    { title: "GPU mean", of: (a: AppThen) => known(a.gpu_mean) },
  ];
  // Separate charts: a GPU's mean is often ten times a CPU's, and the drift of one would not be visible beside
  // the other.
  const drawn = columns.map(({ title, of }) => {
    const points = sinceKnown(rows.map((r) => ({ time: r.then.time, value: of(r.app!) })), (p) => p.value !== null);
    if (points.length < 2) return null;
    return chart({
      title, description: `From ${format.utc(points[0]!.time)} on; it is now ${valueText(points[points.length - 1]!.value)}.`, height: 150, signal,
      series: [{ label: title, tone: title === "X" ? "accent" : "soft", valueText: (v) => format.number(v, 4) }],
      xText: (x) => `${format.utc(x)}, epoch ${epochs.get(x)}`,
    }, [points.map((p) => p.time), points.map((p) => p.value)]).node;
  });
  if (!drawn.some((one) => one !== null)) return h("p", { class: "soft" }, "The history begins with the second epoch of which anything is known.");
  return [h("h3", {}, "Over time"), h("div", { class: "multiples" }, drawn), numbersOf("Epochs as numbers", () => table("The last fifty, newest first", [
    { name: "Epoch", cell: (r) => String(r.then.epoch), head: true },
    { name: "Event time", cell: (r) => format.utc(r.then.time) },
    { name: "CPU mean", cell: (r) => valueText(known(r.app!.cpu_mean)), number: true },
    { name: "GPU mean", cell: (r) => valueText(known(r.app!.gpu_mean)), number: true },
    { name: "X", cell: (r) => valueText(known(r.app!.min_avg_pfc)), number: true },
  ], rows.slice(-50).reverse(), true))];
}

function versionsOf(versions: VersionScale[], history: ScalesThen[]): Child {
  if (versions.length === 0) return empty("This app has no versions yet.");
  const past = (v: VersionScale) =>
    sinceKnown(history.map((then) => known(then.versions.find((x) => String(x.app_version) === String(v.app_version))?.scale) ?? NaN), Number.isFinite);
  return table("Versions and their scales", [
    { name: "Version", head: true, cell: (v) => [versionName(v), h("span", { class: "detail" }, `${v.gpu ? "GPU" : "CPU"}, id ${v.app_version}`)] },
    { name: "Mean", number: true, cell: (v) => valueText(known(v.pfc?.mean)) },
    { name: "Jobs", number: true, wide: true, cell: (v) => format.count(format.toNumber(v.pfc?.n ?? 0)) },
    { name: "Scale", number: true, cell: (v) => (known(v.scale) === null ? h("span", { class: "soft" }, "none yet") : h("b", {}, valueText(known(v.scale)))) },
    { name: "0.1 – 1 – 10", wide: true, cell: (v) => (known(v.scale) === null ? "" : scaleMark(known(v.scale)!)) },
    { name: "Over time", wide: true, cell: (v) => (past(v).filter(Number.isFinite).length < 2 ? "" : sparkline(past(v), `Scale of ${versionName(v)} over time`)) },
  ], versions);
}

function yardstick(app: AppScale): string {
  const x = known(app.min_avg_pfc);
  const cpu = known(app.cpu_mean);
  const gpu = known(app.gpu_mean);
  if (x === null) return "X is not defined yet: too few jobs of too few versions are known. Until then claims are not scaled.";
  if (cpu !== null && gpu !== null) return "Both kinds are known, so X is the lesser mean: the kind of device that needs less for the same job sets the yardstick.";
  if (cpu !== null) return "Only CPU versions are known well enough, so X is their mean.";
  return "There are GPU versions only, so X is their mean times the factor for such apps.";
}

export async function scalesView(context: Context, project: Id, app: Id | null): Promise<View> {
  const [answer, past] = await Promise.all([
    get<Scales>(projectPath(project, "scales"), context.signal),
    get<ScalesThen[]>(projectPath(project, `scales/history?pick=evenly&limit=${kHistory}`), context.signal),
  ]);
  const scales = answer.data;
  const history = past.data;
  const chosen = scales.apps.filter((a) => app === null || String(a.app) === String(app));
  const shown = app === null && chosen.length > kAllAtOnce ? chosen.slice(0, 1) : chosen;
  const parts: Child[] = shown.map((one) =>
    h("section", { class: "card", "data-app": String(one.app), "aria-label": one.name || `App ${one.app}` },
      h("h2", {}, one.name || `App ${one.app}`),
      h("p", { class: "soft" }, `Policy ${one.policy ?? "unknown"}: ${policyWords(one.policy ?? "")}.`),
      tiles([
        { label: "CPU mean", value: valueText(known(one.cpu_mean)), key: "cpu" },
        { label: "GPU mean", value: valueText(known(one.gpu_mean)), key: "gpu" },
        { label: "X", value: valueText(known(one.min_avg_pfc)), key: "x" },
      ]),
      h("p", {}, yardstick(one)),
      one.policy === "robust" && h("p", {}, "Under this policy a version's mean is the median over its hosts. A claim is X beside the average of its host; the scales of versions are shown, but not used."),
      historyChart(one, history, context.signal),
      h("h3", {}, "Versions"),
      versionsOf(scales.versions.filter((v) => String(v.app) === String(one.app)), history)));
  const node = h("div", { class: "scales" },
    h("h1", { tabindex: -1 }, "Scales"),
    h("p", { class: "lead" }, `Of ${projectName(context, project)}, epoch ${scales.epoch}. A mean is how much work, at full speed, jobs take for each unit of their size estimate. A version's scale is X ÷ its mean, so that the same job earns the same with each.`),
    scales.apps.length > kAllAtOnce && tabs("Apps", scales.apps.map((a) => ({ text: a.name || `App ${a.app}`, route: { view: "scales", project, app: a.app }, on: shown.includes(a) }))),
    shown.length === 0 ? empty(app === null ? "The project has no apps yet." : "The project has no such app.", app === null ? "They come with its catalogue." : link({ view: "scales", project, app: null }, "All apps")) : parts);
  return { title: "Scales", node, project, asOf: answer.as_of };
}

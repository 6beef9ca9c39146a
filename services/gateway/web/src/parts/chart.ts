// Charts in the colours of the theme. Each chart has a description in words, and a table of its numbers.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { freshId, h, replace } from "../base/dom";
import * as format from "../base/format";
import { stacked } from "./stack";
import { onTheme } from "./theme";

export interface Series {
  label: string;
  tone: string; // a colour of base.css: accent, ink, soft, or s1 to s8 for things side by side
  kind?: "line" | "bars";
  dash?: boolean;
  points?: boolean; // a dot for each value
  fill?: boolean;
  valueText: (value: number) => string;
}

export interface ChartSpec {
  title: string;
  description: string; // for readers who do not see the chart
  height: number;
  series: Series[];
  axis?: (value: number) => string;
  xText?: (x: number) => string; // text of one point; default: the time
  zero?: boolean; // the y axis begins at 0
  days?: boolean; // a point is a day
  range?: (least: number, most: number) => [number, number]; // range of x; default: that of the data
  stack?: boolean; // bars stand on each other; the data are their own values
  marks?: Mark[]; // triangles above the chart
  signal: AbortSignal;
}

export interface Mark {
  x: number;
  filled: boolean;
}

export interface Chart {
  node: HTMLElement;
  set: (data: (number | null)[][]) => void;
}

const kShort = { E: 1e18, P: 1e15, T: 1e12, G: 1e9, M: 1e6, k: 1e3 };

// For an axis: 12k, 1.5M.
export function axisText(value: number): string {
  for (const [prefix, factor] of Object.entries(kShort)) {
    if (Math.abs(value) >= factor) return `${Number((value / factor).toPrecision(3))}${prefix}`;
  }
  return String(Number(value.toPrecision(3)));
}

const kDay = 86400;
// In uPlot 30 days stand for a calendar month, 365 for a year.
const kDaySteps = [1, 2, 7, 14, 30, 60, 90, 180, 365, 730, 1825, 3650].map((n) => n * kDay);

function colours(): Record<string, string> {
  const style = getComputedStyle(document.documentElement);
  const names = ["accent", "ink", "soft", "line", "card", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function drawMarks(plot: uPlot, marks: Mark[], colour: Record<string, string>): void {
  const { ctx } = plot;
  const size = 5 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.strokeStyle = ctx.fillStyle = colour["ink"]!;
  for (const mark of marks) {
    const x = plot.valToPos(mark.x, "x", true);
    const y = plot.bbox.top - size;
    ctx.beginPath();
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y - size);
    ctx.lineTo(x, y + size);
    ctx.closePath();
    if (mark.filled) ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

export function chart(spec: ChartSpec, first: (number | null)[][]): Chart {
  const { series } = spec;
  let data = first;
  // Bars of a stack all begin at 0: the outermost is drawn first, and the others over it.
  const drawn = (): uPlot.AlignedData => (spec.stack ? [data[0]!, ...stacked(data.slice(1)).reverse()] : data) as uPlot.AlignedData;
  let plot: uPlot | null = null;
  const readout = h("p", { class: "readout", "aria-hidden": "true" });
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": `${spec.title}. ${spec.description}` });
  const id = freshId("chart");
  const node = h("figure", { class: "chart", "aria-labelledby": id },
    h("figcaption", {}, h("span", { id, class: "chart-title" }, spec.title), readout), canvas);
  const xText = spec.xText ?? ((x: number) => (spec.days ? format.utc(x).slice(0, 10) : format.utc(x)));

  // The newest point that has a value.
  const lastShown = () => {
    let index = (data[0]?.length ?? 0) - 1;
    while (index > 0 && data.slice(1).every((values) => values[index] === null || values[index] === undefined)) --index;
    return index;
  };
  const showValues = (at: number | null | undefined) => {
    const index = at ?? lastShown();
    const x = data[0]?.[index];
    if (x === null || x === undefined) return replace(readout);
    const words = series.map((one, number) => {
      const value = data[number + 1]?.[index];
      const text = value === null || value === undefined ? format.kMissing : one.valueText(value);
      if (spec.stack && !value) return null;
      return h("span", { class: `key ${one.kind === "bars" && spec.stack ? "square " : ""}${one.tone}${one.dash ? " dash" : ""}` }, series.length > 1 && (spec.stack ? h("span", { class: "key-label" }, `${one.label} `) : `${one.label} `), h("b", {}, text));
    });
    replace(readout, h("span", { class: "when" }, xText(x)), words);
  };

  const options = (): uPlot.Options => {
    const colour = colours();
    const roomy = canvas.clientWidth > 6 * (data[0]?.length ?? 0); // a line between layers must not hide the bars
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: colour["soft"]!, font, grid: { stroke: colour["line"]!, width: 1 }, ticks: { show: false } };
    return {
      width: Math.max(canvas.clientWidth, 40),
      height: spec.height,
      legend: { show: false },
      padding: [spec.marks?.length ? 18 : 10, 26, 0, 0], // space for half of the last label
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7, show: !spec.stack } },
      scales: {
        x: { time: true, ...(spec.range ? { range: (_plot, least, most) => spec.range!(least, most) } : {}) },
        y: { range: (_plot, least, most) => {
          const low = spec.zero ? Math.min(0, least ?? 0) : (least ?? 0);
          const high = most ?? 1;
          const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
          return [spec.zero ? low : low - room, high + room];
        } },
      },
      axes: [
        // A date is wider than a time.
        { ...axis, grid: { show: false }, space: (_plot, _axis, least, most) => (most - least > 2 * kDay ? 88 : 64), size: 30,
          ...(spec.days ? { incrs: kDaySteps } : {}), values: (_plot, splits, _axis, _space, step) => splits.map((at) => format.tick(at, step)) },
        { ...axis, size: 52, values: (_plot, splits) => splits.map(spec.axis ?? axisText) },
      ],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
      series: [
        {},
        ...(spec.stack ? [...series].reverse() : series).map((one): uPlot.Series => {
          const stroke = colour[one.tone]!;
          const shared: uPlot.Series = { label: one.label, stroke, points: { show: false }, spanGaps: false };
          // A thin line in the colour of the card separates layers, also for readers who do not tell the colours apart.
          if (spec.stack) return { ...shared, stroke: colour["card"]!, width: roomy ? 1 : 0, fill: stroke, paths: uPlot.paths.bars!({ size: [0.8, 28] }) };
          if (one.kind === "bars") return { ...shared, width: 0, fill: stroke, paths: uPlot.paths.bars!({ size: [0.72, 28], radius: 0.15 }) };
          if (one.points) shared.points = { show: true, size: 5, fill: stroke };
          return { ...shared, width: one.tone === "accent" || one.points ? 2 : 1.5, ...(one.dash ? { dash: [5, 4] } : {}), ...(one.fill ? { fill: `${stroke}22` } : {}) };
        }),
      ],
      hooks: {
        setCursor: [(u) => showValues(u.cursor.idx)],
        draw: spec.marks?.length ? [(u) => drawMarks(u, spec.marks!, colour)] : [],
      },
    };
  };

  const draw = () => {
    plot?.destroy();
    plot = null;
    if (!canvas.isConnected || (data[0]?.length ?? 0) === 0) return;
    plot = new uPlot(options(), drawn(), canvas);
  };
  const size = new ResizeObserver(() => {
    if (plot) plot.setSize({ width: Math.max(canvas.clientWidth, 40), height: spec.height });
    else draw();
  });
  size.observe(canvas);
  onTheme(draw, spec.signal);
  spec.signal.addEventListener("abort", () => {
    size.disconnect();
    plot?.destroy();
  });
  showValues(null);
  return {
    node,
    set: (next) => {
      data = next;
      if (plot) plot.setData(drawn());
      else draw();
      showValues(plot?.cursor.idx);
    },
  };
}

// The same numbers as a table.
export function numbersOf(what: string, body: () => HTMLElement): HTMLElement {
  const details = h("details", { class: "numbers" }, h("summary", {}, what));
  // A table of hundreds of rows is built only when it is opened.
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(body());
  });
  return details;
}

// Parts that several views share.
import { ApiError } from "../base/api";
import { freshId, h, svg, type Child } from "../base/dom";
import * as format from "../base/format";
import { hashOf, type Route } from "../base/route";
import type { AsOf, CreditText, Double, Id, Kind } from "../base/types";

export function link(route: Route, ...children: Child[]): HTMLAnchorElement {
  return h("a", { href: hashOf(route) }, ...children);
}

// The exact credit; the digits after the point are small.
export function credit(value: CreditText): HTMLElement {
  const { whole, decimals } = format.creditParts(value);
  return h("span", { class: "credit" }, whole, decimals && h("span", { class: "decimals" }, `.${decimals}`));
}

export function rac(value: Double): string {
  const n = format.toNumber(value);
  return Number.isFinite(n) && n < 0.005 && n > -0.005 ? "0" : format.fixed(n, Math.abs(n) < 100 ? 2 : 0);
}

export function nameOf(kind: Kind, id: Id, name?: string): string {
  const word = kind === "user" ? "User" : kind === "host" ? "Host" : "Team";
  return name ? name : `${word} ${id}`;
}

// A user who does not want to be named has no id here, and so no link.
export function maybeLink(project: Id, kind: Kind, id: Id | undefined, name?: string): HTMLElement {
  return id === undefined ? h("span", { class: "soft" }, "Somebody who is not named") : accountLink(project, kind, id, name);
}

export function accountLink(project: Id, kind: Kind, id: Id, name?: string): HTMLElement {
  return link({ view: "account", project, kind, id }, nameOf(kind, id, name));
}

export function time(seconds: number, relative = false): HTMLElement {
  if (!Number.isFinite(seconds) || seconds <= 0) return h("span", {}, format.kMissing);
  const full = format.utc(seconds, true);
  const text = relative ? format.ago(seconds, Date.now() / 1000) : format.utc(seconds);
  return h("time", { datetime: new Date(seconds * 1000).toISOString(), title: full }, text);
}

export interface Tile {
  label: string;
  value: Child;
  note?: Child;
  key?: string; // for later updates, and for tests
}

export function tiles(all: Tile[]): HTMLElement {
  return h("dl", { class: "tiles" },
    all.map((tile) =>
      h("div", { class: "tile", "data-key": tile.key },
        h("dt", {}, tile.label),
        h("dd", { class: "value" }, tile.value),
        tile.note !== undefined && h("dd", { class: "note" }, tile.note))));
}

export interface Column<Row> {
  name: string;
  cell: (row: Row) => Child;
  number?: boolean;
  wide?: boolean; // hidden on a phone
  head?: boolean; // the header of the row
}

// Scrolls horizontally if necessary; the keyboard can then scroll it, too.
export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[], shown = false): HTMLElement {
  const classOf = (c: Column<Row>) => [c.number ? "number" : "", c.wide ? "wide" : ""].filter(Boolean).join(" ") || null;
  const id = freshId("table");
  return h("div", { class: "scroll", role: "group", "aria-labelledby": id, tabindex: 0 },
    h("table", {},
      h("caption", { id, class: shown ? null : "hidden" }, caption),
      h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: classOf(c) }, c.name)))),
      h("tbody", {},
        rows.map((row) =>
          h("tr", {}, columns.map((c) =>
            c.head ? h("th", { scope: "row", class: classOf(c) }, c.cell(row)) : h("td", { class: classOf(c) }, c.cell(row))))))));
}

export function card(title: string | null, ...children: Child[]): HTMLElement {
  const id = freshId("card");
  return h("section", { class: "card", "aria-labelledby": title ? id : null }, title && h("h2", { id }, title), ...children);
}

export function empty(what: string, todo?: Child): HTMLElement {
  return h("div", { class: "empty" }, h("p", {}, what), todo !== undefined && h("p", { class: "soft" }, todo));
}

// A share, drawn as a bar; its number is beside it.
export function bar(part: number, tone = "accent"): SVGSVGElement {
  const width = Math.max(0, Math.min(1, Number.isFinite(part) ? part : 0)) * 100;
  return svg("svg", { class: `bar ${tone}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "rail", width: 100, height: 6 }),
    svg("rect", { class: "fill", width, height: 6 }));
}

export function sparkline(values: number[], label: string, zero = false): SVGSVGElement {
  const finite = values.filter(Number.isFinite);
  const most = Math.max(...finite);
  const lowest = zero ? 0 : Math.min(...finite);
  // Values that differ only in the last bits count as equal.
  const level = most - lowest <= 1e-9 * Math.abs(most);
  const span = level ? 1 : most - lowest;
  const least = level ? lowest - 0.5 : lowest;
  const step = values.length > 1 ? 100 / (values.length - 1) : 0;
  const points = values.map((v, at) => `${(at * step).toFixed(2)},${(22 - ((v - least) / span) * 20).toFixed(2)}`)
    .filter((point) => !point.includes("NaN"));
  return svg("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img", "aria-label": label },
    finite.length > 1 && svg("polyline", { points: points.join(" ") }));
}

export function asOfLine(asOf: AsOf | undefined, refresh: () => void): HTMLElement {
  const parts: Child[] = [];
  if (asOf) {
    parts.push("As of ", asOf.event_time > 0 ? [time(asOf.event_time), " event time"] : "before the first tick");
    if (asOf.epoch !== undefined) parts.push(", scales of epoch ", h("span", { class: "figure" }, format.count(asOf.epoch)));
    if (asOf.written_at) parts.push(", written ", time(asOf.written_at, true));
  } else {
    parts.push("Asked at ", time(Date.now() / 1000));
  }
  return h("p", { class: "as-of" }, h("span", {}, parts), h("button", { type: "button", class: "quiet", onclick: refresh }, "Refresh"));
}

export interface Trouble {
  title: string;
  message: string;
  todo: string;
}

// What happened and what to do, for each kind of failed answer.
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof ApiError)) {
    return { title: "This page made a mistake", message: error instanceof Error ? error.message : String(error), todo: "Reloading it may help. If not, please report this message." };
  }
  switch (error.status) {
    case 0:
      return { title: "No answer from the gateway", message: error.message, todo: "It may be starting, or the connection is gone. Try again in a moment." };
    case 400:
      return { title: "The gateway did not understand", message: error.message, todo: "Check the address or what was typed." };
    case 401:
      return { title: "A token is needed", message: "This is not shown to everybody.", todo: "Enter the token that the project gave you. It stays in this tab only." };
    case 403:
      return { title: "Your token lacks the permission for this", message: error.message, todo: "Enter a token with the permission, or ask the project." };
    case 404:
      return { title: "Nothing here", message: error.message, todo: "Look for it by name or number." };
    case 429:
      return { title: "Too many requests", message: error.message, todo: "Wait a few seconds, then try again." };
    case 503:
      return { title: "The gateway cannot answer just now", message: error.message, todo: "Try again in a moment." };
  }
  return { title: "Something failed at the gateway", message: error.message, todo: "Try again; if the error remains, inform the operator." };
}

export function tabs(label: string, all: { text: string; route: Route; on: boolean }[]): HTMLElement {
  return h("nav", { class: "tabs", "aria-label": label },
    all.map((tab) => h("a", { href: hashOf(tab.route), "aria-current": tab.on ? "true" : null }, tab.text)));
}

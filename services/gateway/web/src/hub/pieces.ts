// Parts that several views of the hub share.
import { ApiError, get, type Answer } from "../base/api";
import { h, svg, type Child } from "../base/dom";
import * as format from "../base/format";
import type { Route } from "../base/route";
import type { Double, Id, Kind } from "../base/types";
import { bar, credit, link, rac, time, type Column } from "../parts/pieces";
import type { HubProject, Row } from "./types";
import { conditionWords, webAddress } from "./words";

// Lists: the moment of their figures as UNIX s, and the number of rows of all pages.
export type HubAnswer<T> = Omit<Answer<T>, "as_of"> & { as_of?: Double; count?: number };

export async function ask<T>(path: string, signal: AbortSignal): Promise<HubAnswer<T>> {
  return (await get<T>(`federation/${path}`, signal)) as HubAnswer<T>;
}

// Null: the hub has not built its lists yet.
export async function askList<T>(path: string, signal: AbortSignal): Promise<T[] | null> {
  try {
    return (await ask<T[]>(path, signal)).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return null;
    throw error;
  }
}

// When the figures of a list were computed.
export function listTime(answer: HubAnswer<unknown>): Child {
  const at = format.toNumber(answer.as_of);
  return at > 0 && [" Ranks as of ", time(at), "."];
}

export function countOf(value: number | undefined): string {
  return value === undefined ? format.kMissing : format.count(value);
}

export function creditOr(value: string | undefined): Child {
  return value === undefined ? format.kMissing : credit(value);
}

export function pill(condition: string): HTMLElement {
  const words = conditionWords(condition);
  return h("span", { class: "condition", "data-tone": words.tone }, words.name);
}

export function projectLink(project: Id, name?: string): HTMLAnchorElement {
  return link({ view: "hub-project", of: project }, name || `Project ${project}`);
}

export function accountLink(project: Id, kind: Kind, id: Id, name?: string): HTMLAnchorElement {
  const word = kind === "user" ? "User" : kind === "host" ? "Host" : "Team";
  return link({ view: "hub-account", of: project, kind, id }, name || `${word} ${id}`);
}

export function personLink(who: string, name?: string): HTMLAnchorElement {
  return link({ view: "hub-person", who }, name || `Person ${who}`);
}

// A link to a member's or project's own page.
export function outside(url: string): Child {
  const address = webAddress(url);
  return address === null ? url : h("a", { href: address, rel: "noopener noreferrer nofollow" }, url);
}

// "Rank 12 of 4,000 people"; empty if there is none.
export function rankText(rank: number | undefined, of: number | undefined, what = ""): string {
  if (!rank) return "";
  return `Rank ${format.count(rank)}${of ? ` of ${format.count(of)}${what && ` ${what}`}` : ""}`;
}

// Columns of a list of people, or of accounts of one kind.
export function rowColumns(rows: Row[], by: "total" | "rac", what: string, linkOf: (row: Row) => Child, more: Column<Row>[]): Column<Row>[] {
  const score = (row: Row) => (by === "rac" ? format.toNumber(row.rac) : Number(row.total));
  const most = Math.max(...rows.map(score), 0) || 1;
  return [
    { name: "Rank", cell: (r) => format.count(r.rank), number: true },
    { name: what, head: true, cell: (r) => [linkOf(r), bar(score(r) / most)] },
    { name: "Total credit", cell: (r) => credit(r.total), number: true, wide: by === "rac" },
    { name: "Recent average", cell: (r) => rac(r.rac), number: true, wide: by !== "rac" },
    ...more,
  ];
}

export function pages(offset: number, shown: number, count: number, step: number, to: (offset: number) => Route): HTMLElement {
  return h("nav", { class: "pages", "aria-label": "Pages" },
    offset > 0 ? link(to(Math.max(0, offset - step)), "← Previous") : h("span", { class: "soft" }, "← Previous"),
    h("span", { "data-range": "" }, `${format.count(offset + 1)} to ${format.count(offset + shown)} of ${format.count(count)}`),
    offset + shown < count ? link(to(offset + step), "Next →") : h("span", { class: "soft" }, "Next →"));
}

export function facts(all: [string, Child][]): HTMLElement {
  return h("dl", { class: "facts" }, all.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function projectNames(projects: HubProject[]): (project: Id) => string {
  const names = new Map(projects.map((one) => [String(one.project), one.name]));
  return (project) => names.get(String(project)) || `Project ${project}`;
}

export function swatch(tone: string): SVGSVGElement {
  return svg("svg", { class: `swatch ${tone}`, viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { width: 10, height: 10, rx: 2 }));
}

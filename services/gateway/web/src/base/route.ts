// Addresses after the '#': each view and its options can be linked.
import type { Id, Kind } from "./types";

export type Board = "users" | "hosts" | "teams";
export type HubBoard = "people" | Board;
export type Order = "total" | "rac";

// Views of a federation hub. `of`: one of its projects.
export type HubRoute =
  | { view: "hub-projects" }
  | { view: "hub-project"; of: Id }
  | { view: "hub-account"; of: Id; kind: Kind; id: Id }
  | { view: "hub-leaders"; board: HubBoard; by: Order; offset: number; of: Id | null; country: string | null }
  | { view: "hub-person"; who: string } // an identity or a cross-project id
  | { view: "hub-team"; key: string }
  | { view: "hub-host"; cpid: string }
  | { view: "hub-countries"; by: Order }
  | { view: "hub-factors"; sequence: number | null }
  | { view: "hub-search"; q: string };

export type Route =
  | { view: "flow" }
  | { view: "search"; project: Id | null; q: string; kind: Kind | null }
  | { view: "account"; project: Id; kind: Kind; id: Id }
  | { view: "why"; project: Id; result: Id }
  | { view: "scales"; project: Id | null; app: Id | null }
  | { view: "leaders"; project: Id | null; board: Board; by: "total" | "rac"; offset: number; ranking: number | null }
  | { view: "refused"; before: number | null; reason: string | null }
  | { view: "refusal"; number: number }
  | HubRoute
  | { view: "nowhere"; address: string };

const kKinds = ["user", "host", "team"] as const;
const kBoards = ["users", "hosts", "teams"] as const;
const kHubBoards = ["people", ...kBoards] as const;
const kHexId = /^[0-9a-fA-F]{32}$/;
const kIdentity = /^\d{1,10}-\d{1,20}-\d{1,20}$/;

function whole(text: string | null | undefined): number | null {
  return text !== null && text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

// As digits if a number would not be exact.
export function idOf(text: string | undefined): Id | null {
  if (text === undefined || !/^\d{1,20}$/.test(text)) return null;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : text;
}

function projectRoute(project: Id, path: string[], query: URLSearchParams): Route | null {
  const [first, second] = path;
  const id = idOf(second);
  const kind = kKinds.find((k) => k === first);
  if (kind && id !== null) return { view: "account", project, kind, id };
  switch (first) {
    case "result":
      return id === null ? null : { view: "why", project, result: id };
    case "search": {
      return { view: "search", project, q: query.get("q") ?? "", kind: kKinds.find((k) => k === query.get("kind")) ?? null };
    }
    case "scales":
      return { view: "scales", project, app: id };
    case "leaders": {
      const board = kBoards.find((b) => b === second) ?? (second === undefined ? "users" : null);
      if (!board) return null;
      return { view: "leaders", project, board, by: query.get("by") === "rac" ? "rac" : "total", offset: whole(query.get("offset")) ?? 0, ranking: whole(query.get("ranking")) };
    }
  }
  return null;
}

export function isHexId(text: string): boolean {
  return kHexId.test(text);
}

export function isIdentity(text: string): boolean {
  return kIdentity.test(text);
}

const orderOf = (query: URLSearchParams): Order => (query.get("by") === "rac" ? "rac" : "total");

function hubRoute([first, second, third, fourth]: string[], query: URLSearchParams): Route | null {
  switch (first) {
    case undefined:
      return { view: "hub-projects" };
    case "project": {
      const of = idOf(second);
      if (of === null) return null;
      if (third === undefined) return { view: "hub-project", of };
      const kind = kKinds.find((k) => k === third);
      const id = idOf(fourth);
      return kind && id !== null ? { view: "hub-account", of, kind, id } : null;
    }
    case "leaders": {
      const board = kHubBoards.find((b) => b === (second ?? "people"));
      if (!board) return null;
      return { view: "hub-leaders", board, by: orderOf(query), offset: whole(query.get("offset")) ?? 0, of: idOf(query.get("project") ?? ""), country: query.get("country") };
    }
    case "person":
      return second !== undefined && (isHexId(second) || isIdentity(second)) ? { view: "hub-person", who: second } : null;
    case "team":
      return second !== undefined && isHexId(second) ? { view: "hub-team", key: second } : null;
    case "host":
      return second !== undefined && isHexId(second) ? { view: "hub-host", cpid: second } : null;
    case "countries":
      return { view: "hub-countries", by: orderOf(query) };
    case "factors":
      return { view: "hub-factors", sequence: whole(second) };
    case "search":
      return { view: "hub-search", q: query.get("q") ?? "" };
  }
  return null;
}

export function parseRoute(hash: string): Route {
  const [address, search] = hash.replace(/^#?\/?/, "").split("?") as [string, string | undefined];
  const query = new URLSearchParams(search ?? "");
  const path = address.split("/").filter((part) => part !== "");
  const nowhere: Route = { view: "nowhere", address: hash };
  switch (path[0]) {
    case undefined:
    case "flow":
      return { view: "flow" };
    case "search":
      return { view: "search", project: null, q: query.get("q") ?? "", kind: null };
    case "scales":
      return { view: "scales", project: null, app: null };
    case "leaders":
      return { view: "leaders", project: null, board: "users", by: "total", offset: 0, ranking: null };
    case "refused": {
      if (path[1] === undefined) return { view: "refused", before: whole(query.get("before")), reason: query.get("reason") };
      const number = whole(path[1]);
      return number === null ? nowhere : { view: "refusal", number };
    }
    case "hub":
      return hubRoute(path.slice(1), query) ?? nowhere;
    case "p": {
      const project = idOf(path[1]);
      return (project !== null && projectRoute(project, path.slice(2), query)) || nowhere;
    }
  }
  return nowhere;
}

function queryOf(entries: [string, string | number | null][]): string {
  const query = new URLSearchParams();
  for (const [name, value] of entries) if (value !== null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return text ? `?${text}` : "";
}

function hubHash(route: HubRoute): string {
  switch (route.view) {
    case "hub-projects": return "#/hub";
    case "hub-project": return `#/hub/project/${route.of}`;
    case "hub-account": return `#/hub/project/${route.of}/${route.kind}/${route.id}`;
    case "hub-leaders":
      return `#/hub/leaders/${route.board}${queryOf([["by", route.by === "rac" ? "rac" : null], ["project", route.of], ["country", route.country], ["offset", route.offset || null]])}`;
    case "hub-person": return `#/hub/person/${route.who}`;
    case "hub-team": return `#/hub/team/${route.key}`;
    case "hub-host": return `#/hub/host/${route.cpid}`;
    case "hub-countries": return `#/hub/countries${queryOf([["by", route.by === "rac" ? "rac" : null]])}`;
    case "hub-factors": return route.sequence === null ? "#/hub/factors" : `#/hub/factors/${route.sequence}`;
    case "hub-search": return `#/hub/search${queryOf([["q", route.q]])}`;
  }
}

export function hashOf(route: Route): string {
  const inProject = (project: Id | null, rest: string) => (project === null ? `#/${rest}` : `#/p/${project}/${rest}`);
  switch (route.view) {
    case "flow": return "#/flow";
    case "search": return inProject(route.project, `search${queryOf([["q", route.q], ["kind", route.kind]])}`);
    case "account": return `#/p/${route.project}/${route.kind}/${route.id}`;
    case "why": return `#/p/${route.project}/result/${route.result}`;
    case "scales": return inProject(route.project, route.app === null ? "scales" : `scales/${route.app}`);
    case "leaders":
      return route.project === null ? "#/leaders"
        : `#/p/${route.project}/leaders/${route.board}${queryOf([["by", route.by === "rac" ? "rac" : null], ["offset", route.offset || null], ["ranking", (route.offset && route.ranking) || null]])}`;
    case "refused": return `#/refused${queryOf([["before", route.before], ["reason", route.reason]])}`;
    case "refusal": return `#/refused/${route.number}`;
    case "nowhere": return route.address;
    default: return hubHash(route);
  }
}

export function projectOf(route: Route): Id | null {
  return "project" in route ? route.project : null;
}

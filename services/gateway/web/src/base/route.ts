// Addresses after the '#': each view and its options can be linked.
import type { Id, Kind } from "./types";

export type Board = "users" | "hosts" | "teams";

export type Route =
  | { view: "flow" }
  | { view: "search"; project: Id | null; q: string; kind: Kind | null }
  | { view: "account"; project: Id; kind: Kind; id: Id }
  | { view: "why"; project: Id; result: Id }
  | { view: "scales"; project: Id | null; app: Id | null }
  | { view: "leaders"; project: Id | null; board: Board; by: "total" | "rac"; offset: number; ranking: number | null }
  | { view: "refused"; before: number | null; reason: string | null }
  | { view: "refusal"; number: number }
  | { view: "nowhere"; address: string };

const kKinds = ["user", "host", "team"] as const;
const kBoards = ["users", "hosts", "teams"] as const;

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
    case "p": {
      const project = idOf(path[1]);
      return (project !== null && projectRoute(project, path.slice(2), query)) || nowhere;
    }
  }
  return nowhere;
}

export function hashOf(route: Route): string {
  const queryOf = (entries: [string, string | number | null][]) => {
    const query = new URLSearchParams();
    for (const [name, value] of entries) if (value !== null && value !== "") query.set(name, String(value));
    const text = query.toString();
    return text ? `?${text}` : "";
  };
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
  }
}

export function projectOf(route: Route): Id | null {
  return "project" in route ? route.project : null;
}

import type { Route } from "../base/route";
import type { AsOf, Id, Project, Viewer } from "../base/types";

// What a view is given: it ends when `signal` says so.
export interface Context {
  signal: AbortSignal;
  projects: Project[];
  viewer: Viewer;
  go: (route: Route, replace?: boolean) => void;
  reload: () => void;
}

export interface View {
  title: string;
  node: HTMLElement;
  project?: Id;
  asOf?: AsOf | undefined;
  ownAsOf?: boolean; // it shows its own
}

export function projectName(context: Context, id: Id): string {
  const found = context.projects.find((p) => String(p.project) === String(id));
  return found?.name || `Project ${id}`;
}

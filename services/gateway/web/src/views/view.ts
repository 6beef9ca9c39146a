import { ApiError, get, projectPath } from "../base/api";
import type { Route } from "../base/route";
import type { AppVersion, AsOf, Id, Project, Viewer } from "../base/types";

// The environment of a view. The view ends when `signal` is aborted.
export interface Context {
  signal: AbortSignal;
  projects: Project[];
  viewer: Viewer;
  go: (route: Route, replace?: boolean) => void;
  enterToken: () => void; // asks for a token; with it the whole page is reloaded from the gateway
}

export interface View {
  title: string;
  node: HTMLElement;
  project?: Id;
  asOf?: AsOf | undefined;
  ownAsOf?: boolean; // the view shows its own `as_of`
}

export function projectName(context: Context, id: Id): string {
  const found = context.projects.find((p) => String(p.project) === String(id));
  return found?.name || `Project ${id}`;
}

// App versions by number; none if the project has no catalogue.
export async function versionsOf(project: Id, signal: AbortSignal): Promise<Map<string, AppVersion>> {
  try {
    const { data } = await get<{ versions: AppVersion[] }>(projectPath(project, "catalogue"), signal);
    return new Map(data.versions.map((version) => [String(version.app_version), version]));
  } catch (error) {
    if (error instanceof ApiError) return new Map();
    throw error;
  }
}

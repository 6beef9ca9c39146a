// The views of a federation hub.
import type { HubRoute, Route } from "../base/route";
import type { Viewer } from "../base/types";
import type { Place } from "../main";
import type { Context, View } from "../views/view";
import { accountView, hostView, teamView } from "./account";
import { countriesView } from "./countries";
import { factorsView } from "./factors";
import { leadersView } from "./leaders";
import { personView } from "./person";
import { projectsView, projectView } from "./projects";
import { searchView } from "./search";

export function isOfHub(route: Route): route is HubRoute {
  return route.view.startsWith("hub-");
}

export function hubPlaces(viewer: Viewer): Place[] {
  const listed = viewer.sees_all && viewer.sees_leaders;
  const all: Place[] = [
    { name: "Projects", icon: "projects", views: ["hub-projects", "hub-project", "hub-account"], to: () => ({ view: "hub-projects" }) },
    { name: "Leaders", icon: "leaders", views: ["hub-leaders", "hub-person", "hub-team", "hub-host", "hub-search"],
      to: () => ({ view: "hub-leaders", board: "people", by: "total", offset: 0, of: null, country: null }), shown: listed },
    { name: "Countries", icon: "countries", views: ["hub-countries"], to: () => ({ view: "hub-countries", by: "total" }), shown: listed },
    { name: "Factors", icon: "scales", views: ["hub-factors"], to: () => ({ view: "hub-factors", sequence: null }) },
    { name: "Refused", icon: "refused", views: ["refused", "refusal"], to: () => ({ view: "refused", before: null, reason: null }), shown: viewer.sees_all },
  ];
  return all.filter((place) => place.shown !== false);
}

export function hubView(context: Context, route: HubRoute): Promise<View> {
  switch (route.view) {
    case "hub-projects": return projectsView(context);
    case "hub-project": return projectView(context, route.of);
    case "hub-account": return accountView(context, route.of, route.kind, route.id);
    case "hub-leaders": return leadersView(context, route);
    case "hub-person": return personView(context, route.who);
    case "hub-team": return teamView(context, route.key);
    case "hub-host": return hostView(context, route.cpid);
    case "hub-countries": return countriesView(context, route.by);
    case "hub-factors": return factorsView(context, route.sequence);
    case "hub-search": return searchView(context, route.q);
  }
}

// The page: its frame, and the view of the address.
import { ApiError, get, setToken, token } from "./base/api";
import { h, replace, svg, type Child, withoutBidi } from "./base/dom";
import { hashOf, parseRoute, projectOf, type Route } from "./base/route";
import { hubPlaces, hubView, isOfHub } from "./hub/hub";
import { searchForm as hubSearchForm } from "./hub/search";
import type { Id, Project, Viewer } from "./base/types";
import { askToken } from "./parts/dialog";
import { asOfLine, link, troubleOf } from "./parts/pieces";
import { onTheme, startTheme, switchTheme, theme } from "./parts/theme";
import { accountView } from "./views/account";
import { flowView } from "./views/flow";
import { forgetSeen } from "./views/live";
import { leadersView } from "./views/leaders";
import { refusalView, refusedView } from "./views/refused";
import { scalesView } from "./views/scales";
import { searchForm, searchView } from "./views/search";
import type { Context, View } from "./views/view";
import { whyView } from "./views/why";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/views.css";
import "./styles/hub.css";

const kProjectKey = "cobblestone.project";
const kPatience = 250; // ms before a wait shows

const kIcons = {
  flow: "M3 12h4l3-8 4 16 3-8h4",
  accounts: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 9c0-4 3.6-6 8-6s8 2 8 6",
  leaders: "M5 21V10h4v11M10 21V4h4v17M15 21v-8h4v8",
  scales: "M12 4v17M6 21h12M4 8h16M4 8l-2 6h5L4 8Zm16 0-2 6h5l-3-6Z",
  projects: "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z",
  countries: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 2.5 4 5.5 4 9s-1 6.5-4 9c-3-2.5-4-5.5-4-9s1-6.5 4-9Z",
  refused: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM6 6l12 12",
};

const kStranger: Viewer = { role: "none", sees_all: true, sees_leaders: true }; // until the gateway has identified the viewer

export interface Place {
  name: string;
  icon: keyof typeof kIcons;
  views: Route["view"][];
  to: (project: Id | null) => Route;
  shown?: boolean; // visible to the viewer
}

function navigation(viewer: Viewer): Place[] {
  const own = viewer.sees_all ? undefined : viewer.account;
  const places: Place[] = [
    { name: "Flow", icon: "flow", views: ["flow"], to: () => ({ view: "flow" }) },
    own ? { name: "My account", icon: "accounts", views: ["account", "why"], to: () => ({ view: "account", project: own.project, kind: "user", id: own.user }) }
      : { name: "Accounts", icon: "accounts", views: ["search", "account", "why"], to: (project) => ({ view: "search", project, q: "", kind: null }), shown: viewer.sees_all },
    { name: "Leaders", icon: "leaders", views: ["leaders"], to: (project) => ({ view: "leaders", project, board: "users", by: "total", offset: 0, ranking: null }), shown: viewer.sees_leaders },
    { name: "Scales", icon: "scales", views: ["scales"], to: (project) => ({ view: "scales", project, app: null }) },
    { name: "Refused", icon: "refused", views: ["refused", "refusal"], to: () => ({ view: "refused", before: null, reason: null }), shown: viewer.sees_all },
  ];
  return places.filter((place) => place.shown !== false);
}

function icon(name: keyof typeof kIcons): SVGSVGElement {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: kIcons[name] }));
}

class Page {
  private projects: Project[] | null = null;
  private hub = false;
  private viewer = kStranger;
  private loading: AbortController | null = null;
  private shown: AbortController | null = null;
  private drawn = false;
  private headShown = new AbortController();
  private readonly head = h("header", { class: "head" });
  private readonly progress = h("div", { class: "progress", hidden: true });
  private readonly main = h("main", { id: "main", tabindex: -1 });
  private readonly foot = h("footer", { class: "foot" });

  start(): void {
    replace(document.body,
      h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); this.main.focus(); } }, "To the content"),
      this.head, this.progress, this.main, this.foot);
    window.addEventListener("hashchange", () => void this.show());
    void this.show();
  }

  // The project of the address, otherwise the last viewed one, otherwise the first.
  private projectFor(route: Route): Id | null {
    const own = projectOf(route);
    if (own !== null) return own;
    const all = this.projects ?? [];
    const last = localStorage.getItem(kProjectKey);
    return (all.find((p) => String(p.project) === last) ?? all[0])?.project ?? null;
  }

  // Called when the token changes, because another token may see other data.
  private forget(): void {
    this.projects = null;
    this.viewer = kStranger;
    this.shown?.abort(); // its stream was opened with the old token
    forgetSeen();
  }

  private enterToken(): void {
    askToken(() => {
      this.forget();
      void this.show();
    });
  }

  private async known(signal: AbortSignal): Promise<Project[]> {
    if (this.projects === null) {
      const answer = await get<Project[]>("projects", signal);
      this.projects = answer.data;
      this.hub = answer.role === "hub";
      this.viewer = answer.viewer ?? kStranger;
    }
    return this.projects;
  }

  private async viewOf(asked: Route, context: Context): Promise<View> {
    // The first view of a hub has the address that the first view of a pipeline has.
    const route: Route = this.hub && asked.view === "flow" ? { view: "hub-projects" } : asked;
    if (isOfHub(route)) return hubView(context, route);
    const project = this.projectFor(route);
    switch (route.view) {
      case "flow": return flowView(context);
      case "refused": return refusedView(context, route);
      case "refusal": return refusalView(context, route.number);
      case "nowhere": throw new ApiError(404, "not_found", `There is no page at ${route.address}.`);
    }
    if (project === null) throw new ApiError(404, "not_found", "The pipeline has no project yet. One begins with its first event.");
    switch (route.view) {
      case "search": return searchView(context, project, route.q, route.kind);
      case "account": return accountView(context, project, route.kind, route.id);
      case "why": return whyView(context, project, route.result);
      case "scales": return scalesView(context, project, route.app);
      case "leaders": return leadersView(context, { ...route, project });
    }
  }

  private async show(): Promise<void> {
    this.loading?.abort();
    const mine = new AbortController();
    this.loading = mine;
    const place = location.hash;
    const route = parseRoute(place);
    const context: Context = {
      signal: mine.signal,
      projects: [],
      viewer: this.viewer,
      go: (to, instead) => {
        if (instead) location.replace(hashOf(to));
        else location.hash = hashOf(to);
      },
      enterToken: () => this.enterToken(),
    };
    const waiting = setTimeout(() => this.wait(), kPatience);
    let view: View;
    try {
      context.projects = await this.known(mine.signal);
      context.viewer = this.viewer;
      view = await this.viewOf(route, context);
    } catch (error) {
      if (mine.signal.aborted) return;
      view = this.failed(route, error);
    } finally {
      clearTimeout(waiting);
    }
    // The address changes before its event arrives, also if this view forwards to another one.
    if (mine.signal.aborted || location.hash !== place) return;
    this.loading = null;
    this.shown?.abort(); // the previous view ends here
    this.shown = mine;
    this.swap(place, route, view);
  }

  private wait(): void {
    this.progress.hidden = false;
    this.main.setAttribute("aria-busy", "true");
    if (this.drawn) return;
    this.drawHead(parseRoute(location.hash));
    replace(this.main, h("p", { class: "loading" }, "Asking the gateway …"));
  }

  private swap(place: string, route: Route, view: View): void {
    this.progress.hidden = true;
    this.main.removeAttribute("aria-busy");
    if (view.project !== undefined) localStorage.setItem(kProjectKey, String(view.project));
    document.title = `${withoutBidi(view.title)} · Cobblestone`;
    this.drawHead(route);
    replace(this.main, view.node, !view.ownAsOf && asOfLine(view.asOf, () => void this.show()));
    this.drawFoot();
    // A focused heading makes screen readers announce a new place. Not on the first load, or for the same place.
    if (this.drawn && this.place !== place) {
      window.scrollTo(0, 0);
      this.main.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    }
    this.place = place;
    this.drawn = true;
    document.documentElement.dataset["shown"] = place || "#/";
  }
  private place = "";

  private failed(route: Route, error: unknown): View {
    const trouble = troubleOf(error);
    const again = () => void this.show();
    const project = this.projectFor(route);
    const actions: Child[] = [];
    if (error instanceof ApiError && error.needsToken) actions.push(h("button", { type: "button", class: "strong", onclick: () => this.enterToken() }, "Enter a token"));
    if (error instanceof ApiError && error.status === 404) {
      if (this.hub) actions.push(link({ view: "hub-search", q: "" }, "Find a person"));
      else if (project !== null) actions.push(link({ view: "search", project, q: "", kind: null }, "Find an account"));
    }
    actions.push(h("button", { type: "button", class: "quiet", onclick: again }, "Try again"));
    const node = h("div", { class: "trouble", "data-trouble": error instanceof ApiError ? String(error.status) : "page" },
      h("h1", { tabindex: -1 }, trouble.title), h("p", { class: "lead" }, trouble.message), h("p", {}, trouble.todo), h("div", { class: "buttons" }, actions));
    return { title: trouble.title, node, ownAsOf: true };
  }

  private drawHead(route: Route): void {
    const project = this.projectFor(route);
    const projects = this.projects ?? [];
    const of_all = !("project" in route);
    const select = !this.hub && projects.length > 1 && h("select", { id: "project", "aria-label": "Project" },
      of_all && h("option", { value: "", selected: true }, "All projects"),
      projects.map((p) => h("option", { value: String(p.project), selected: !of_all && String(p.project) === String(project) }, p.name || `Project ${p.project}`)));
    if (select) {
      select.addEventListener("change", () => {
        localStorage.setItem(kProjectKey, select.value);
        const next = projects.find((p) => String(p.project) === select.value)?.project ?? null;
        // Goes to the same view of that project, or from a view of all projects to the first view that a project has.
        const places = navigation(this.viewer).filter((n) => "project" in n.to(next));
        const to = hashOf((places.find((n) => n.views.includes(route.view)) ?? places[0]!).to(next));
        if (location.hash === to) void this.show();
        else location.hash = to;
      });
    }
    const q = route.view === "search" || route.view === "hub-search" ? route.q : "";
    const places = this.hub ? hubPlaces(this.viewer) : navigation(this.viewer);
    const here = this.hub && route.view === "flow" ? "hub-projects" : route.view;
    const go = (to: Route) => { location.hash = hashOf(to); };
    const search = this.hub ? hubSearchForm(go, q, "search", "People") : project !== null && searchForm({ go }, project, q, null, "search", "Accounts");
    const toggle = h("button", { type: "button", class: "theme" });
    const label = () => {
      const other = theme() === "dark" ? "light" : "dark";
      toggle.setAttribute("aria-label", `Switch to ${other} colours`);
      replace(toggle, svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
        svg("path", { d: other === "dark" ? "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z" : "M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm0-15v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M19 5l-1.4 1.4M6.4 17.6 5 19" })));
    };
    label();
    toggle.addEventListener("click", switchTheme);
    this.headShown.abort(); // the previous head ends here
    this.headShown = new AbortController();
    onTheme(label, this.headShown.signal);
    replace(this.head,
      h("div", { class: "head-inner" },
        h("a", { class: "brand", href: this.hub ? "#/hub" : "#/flow" }, svg("svg", { class: "logo", viewBox: "0 0 32 32", "aria-hidden": "true" },
          svg("rect", { x: 2, y: 4, width: 12, height: 10, rx: 3 }), svg("rect", { x: 17, y: 4, width: 13, height: 10, rx: 3 }),
          svg("rect", { x: 2, y: 17, width: 17, height: 11, rx: 3 }), svg("rect", { x: 22, y: 17, width: 8, height: 11, rx: 3 })), h("span", {}, "Cobblestone")),
        h("nav", { class: "nav", "aria-label": "Views" },
          places.map((n) => h("a", { href: hashOf(n.to(project)), "aria-current": n.views.includes(here) ? "page" : null }, icon(n.icon), h("span", {}, n.name)))),
        this.viewer.sees_all && search,
        h("div", { class: "head-end" }, select, toggle)));
  }

  private drawFoot(): void {
    replace(this.foot,
      h("p", {}, this.hub ? "A Cobblestone federation hub: what projects publish, with its age and its reasons." : "Cobblestone: exact credit, each grant explainable."),
      h("p", {}, token()
        ? h("button", { type: "button", class: "quiet", onclick: () => { setToken(""); this.forget(); void this.show(); } }, "Forget my token")
        : h("button", { type: "button", class: "quiet", onclick: () => this.enterToken() }, "Enter a token"),
        h("a", { href: "LICENSES.txt" }, "Licences")));
  }
}

startTheme();
document.addEventListener("DOMContentLoaded", () => new Page().start());

// The pipeline at work: rates, unprocessed records of each stage, and new grants.
import { get, projectPath } from "../base/api";
import { h, replace, type Child } from "../base/dom";
import * as format from "../base/format";
import type { AsOf, FlowNow, GrantSeen, Id, Refusal, StageFlow } from "../base/types";
import { reasonName, stageName, stageWords } from "../rules/words";
import { chart, numbersOf } from "../parts/chart";
import { accountLink, asOfLine, card, credit, link, sparkline, table, tiles, troubleOf } from "../parts/pieces";
import { calm } from "../parts/theme";
import { follow, seen, type Connection } from "./live";
import type { Context, View } from "./view";
import { seesWatch, watchCard } from "./watch";

const kWindow = 300; // s shown by the charts
const kLeastWindow = 60; // s, while there is less data
const kGap = 3; // s without data that show as a gap
const kOrder = ["claims", "grants", "accounts", "teams", "coordinator"];

function rate(value: number): string {
  return value < 10 ? format.number(value, 2) : format.fixed(value, 0);
}

// Times and values, with a null where no data arrived.
function columns(flow: FlowNow[], of: (f: FlowNow) => number): (number | null)[][] {
  const xs: number[] = [];
  const ys: (number | null)[] = [];
  const newest = flow[flow.length - 1]?.time ?? 0;
  for (const one of flow) {
    if (one.time < newest - kWindow) continue;
    const last = xs[xs.length - 1];
    if (last !== undefined && one.time - last > kGap) {
      xs.push(last + 1);
      ys.push(null);
    }
    xs.push(one.time);
    ys.push(of(one));
  }
  return [xs, ys];
}

class StageBox {
  readonly node: HTMLElement;
  private readonly rate = h("b", {}, format.kMissing);
  private readonly lag = h("b", {}, format.kMissing);
  private readonly spark = h("div", { class: "stage-spark" });

  constructor(readonly stage: string) {
    this.node = h("li", { class: "stage", "data-stage": stage },
      h("h3", {}, stageName(stage)),
      h("p", { class: "soft" }, stageWords(stage)),
      this.spark,
      h("p", { class: "stage-numbers" }, h("span", {}, this.rate, " records/s"), h("span", {}, this.lag, " waiting")));
  }
  show(now: StageFlow, history: number[]): void {
    replace(this.rate, rate(now.records_per_s));
    replace(this.lag, format.count(now.lag));
    this.node.dataset["speed"] = String(now.records_per_s <= 0 ? 0 : Math.min(4, 1 + Math.floor(Math.log10(now.records_per_s + 1))));
    this.node.dataset["behind"] = now.lag > 10000 ? "yes" : "no";
    replace(this.spark, sparkline(history, `${stageName(this.stage)}: records per second in the last minute`, true));
  }
}

class Connected {
  private readonly words = h("span", {});
  private readonly button = h("button", { type: "button", class: "quiet" });
  private readonly explanation = h("p", { class: "soft" });
  readonly pill = h("p", { class: "pill", role: "status" }, this.words);
  readonly banner = h("div", { class: "banner", hidden: true }, this.explanation, this.button);

  constructor(private readonly retry: () => void, private readonly enterToken: () => void) {
    this.button.addEventListener("click", () => (this.button.dataset["does"] === "token" ? this.enterToken() : this.retry()));
  }
  show(connection: Connection): void {
    this.pill.dataset["state"] = connection.state;
    const names = { connecting: "Connecting", live: "Live", lost: "Connection lost", refused: "Not allowed" };
    // Screen readers announce only changes.
    if (this.words.textContent !== names[connection.state]) replace(this.words, names[connection.state]);
    this.banner.hidden = connection.state === "connecting" || connection.state === "live";
    if (connection.state === "lost") {
      const wait = Math.max(1, Math.round((connection.retryAt - Date.now()) / 1000));
      replace(this.explanation, `${troubleOf(connection.error).message} The numbers below are the last that came. Trying again in ${wait} s.`);
      replace(this.button, "Try now");
      this.button.dataset["does"] = "retry";
    } else if (connection.state === "refused") {
      const trouble = troubleOf(connection.error);
      replace(this.explanation, `${trouble.message} ${trouble.todo}`);
      replace(this.button, "Enter a token");
      this.button.dataset["does"] = "token";
    }
  }
}

function grantRow(grant: GrantSeen, fallback: Id | null): HTMLElement {
  const project = grant.project ?? fallback;
  const { user, user_name } = grant;
  const to: Child = user === undefined ? "somebody" : String(user) === "0" ? `host ${grant.host}`
    : project === null ? `user ${user}` : accountLink(project, "user", user, user_name);
  return h("li", {},
    h("span", { class: "ticker-time" }, format.moment(grant.time, Date.now() / 1000)),
    h("span", { class: "ticker-credit" }, credit(grant.credit)),
    h("span", { class: "ticker-who" }, "to ", to, grant.app_name ? h("span", { class: "soft" }, ` for ${grant.app_name}`) : ""),
    project !== null && link({ view: "why", project, result: grant.result }, "Why?", h("span", { class: "hidden" }, ` result ${grant.result}`)));
}

export function flowView(context: Context): View {
  const { signal } = context;
  const fallback = context.projects.length === 1 ? context.projects[0]!.project : null;
  const value = (key: string) => h("span", { "data-value": key }, format.kMissing);
  const results = value("results_per_s");
  const credits = value("credit_per_s");
  const commit = value("commit");
  const commitNote = h("span", {});
  const lag = value("lag");
  const refused = value("refused");
  const refusedNote = h("span", {});
  const boxes = new Map(kOrder.map((stage) => [stage, new StageBox(stage)]));
  const line = h("ol", { class: "pipeline" }, kOrder.slice(0, 4).map((s) => boxes.get(s)!.node));
  const beside = h("ul", { class: "pipeline beside" }, boxes.get("coordinator")!.node);

  const range = (least: number, most: number): [number, number] => [Math.min(least, most - kLeastWindow), most];
  const xText = (at: number) => `${format.clock(at)} UTC`;
  const resultsChart = chart(
    { title: "Results per second", description: "Results ingested, over the last five minutes", height: 190, zero: true, signal, range, xText,
      series: [{ label: "Results", tone: "accent", fill: true, valueText: (v) => `${rate(v)} /s` }] },
    columns(seen.flow, (f) => f.results_per_s));
  const creditChart = chart(
    { title: "Credit per second", description: "Cobblestones granted, over the last five minutes", height: 190, zero: true, signal, range, xText,
      series: [{ label: "Credit", tone: "accent", fill: true, valueText: (v) => `${rate(v)} /s` }] },
    columns(seen.flow, (f) => f.credit_per_s));

  const ticker = h("ol", { class: "ticker", "data-ticker": "" });
  const nothing = h("p", { class: "soft" }, "No grant since this page was opened.");
  let paused = false;
  const pause = h("button", { type: "button", class: "quiet", "aria-pressed": "false" }, "Pause");
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) showGrants();
  });
  let shown = "";
  const showGrants = () => {
    const key = seen.grants.map((g) => `${g.result}:${g.time}`).join();
    // A link under the reader's pointer or focus stays in place.
    if (key === shown || ticker.matches(":hover") || ticker.contains(document.activeElement)) return;
    shown = key;
    nothing.hidden = seen.grants.length > 0;
    replace(ticker, seen.grants.map((g) => grantRow(g, fallback)));
  };
  const newest = h("p", { class: "newest-refusal" });
  const showRefusal = (refusal: Refusal) =>
    replace(newest, "Newest refusal: ", link({ view: "refusal", number: refusal.number }, reasonName(refusal.reason)), refusal.detail ? ` (${refusal.detail})` : "");

  const showFlow = (flow: FlowNow) => {
    replace(results, rate(flow.results_per_s));
    replace(credits, rate(flow.credit_per_s));
    const { commit_ms } = flow;
    replace(commit, commit_ms ? [format.number(commit_ms.p50, 3), h("small", {}, " ms")] : format.kMissing);
    replace(commitNote, commit_ms ? `99 of 100 within ${format.number(commit_ms.p99, 3)} ms` : "not measured here");
    replace(lag, format.count(flow.lag));
    replace(refused, format.count(flow.refused));
    replace(refusedNote, flow.refused_per_s > 0 ? `${rate(flow.refused_per_s)} a second just now` : "none just now");
    for (const stage of flow.stages) {
      const history = seen.flow.slice(-60).map((f) => f.stages.find((s) => s.stage === stage.stage)?.records_per_s ?? NaN);
      boxes.get(stage.stage)?.show(stage, history);
    }
    resultsChart.set(columns(seen.flow, (f) => f.results_per_s));
    creditChart.set(columns(seen.flow, (f) => f.credit_per_s));
  };

  const node = h("div", { class: "flow", "data-motion": calm() ? "none" : "some" });
  const connected = new Connected(() => live.now(), context.enterToken);
  const showConnection = (connection: Connection) => {
    connected.show(connection);
    node.dataset["stale"] = connection.state === "lost" || connection.state === "refused" ? "yes" : "no";
    last_connection = connection;
  };
  let last_connection: Connection = { state: "connecting" };
  const live = follow(
    {
      flow: showFlow,
      grant: () => !paused && showGrants(),
      refused: showRefusal,
      connection: showConnection,
    },
    signal);
  const timer = setInterval(() => {
    if (last_connection.state === "lost") connected.show(last_connection);
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(timer));

  // Each project has its own event time, so the time is shown only if there is one project.
  const asOf = h("div", {});
  const showAsOf = (of?: AsOf) => replace(asOf, asOfLine(of, askAsOf));
  const askAsOf = () => {
    if (fallback === null) return;
    get(projectPath(fallback, "catalogue"), signal).then((answer) => showAsOf(answer.as_of), () => showAsOf());
  };
  askAsOf();

  replace(node,
    h("div", { class: "title-row" }, h("h1", { tabindex: -1 }, "Flow"), connected.pill),
    h("p", { class: "lead" }, `Every result that comes in${context.projects.length > 1 ? ", of all projects" : ""}, on its way to exact credit.`),
    connected.banner,
    tiles([
      { label: "Results per second", value: results, key: "results" },
      { label: "Credit per second", value: credits, note: "Cobblestones", key: "credit" },
      { label: "Commit latency", value: commit, note: commitNote, key: "commit" },
      { label: "Waiting", value: lag, note: "records on their way", key: "lag" },
      { label: "Refused", value: refused, note: refusedNote, key: "refused" },
    ]),
    card("The pipeline", line, beside),
    h("div", { class: "pair" },
      h("section", { class: "card" }, resultsChart.node, numbersOf("Results per second as numbers", () => flowTable())),
      h("section", { class: "card" }, creditChart.node, numbersOf("Credit per second as numbers", () => flowTable()))),
    seesWatch(context.viewer.role) && watchCard(context),
    h("section", { class: "card", "aria-labelledby": "ticker-title" },
      h("div", { class: "title-row" }, h("h2", { id: "ticker-title" }, "Just granted"), pause), nothing, ticker, newest),
    asOf);
  if (seen.flow.length > 0) showFlow(seen.flow[seen.flow.length - 1]!);
  if (seen.refusal) showRefusal(seen.refusal);
  showGrants();
  return { title: "Flow", node, ownAsOf: true };
}

function flowTable(): HTMLElement {
  const rows = seen.flow.filter((_, at) => (seen.flow.length - 1 - at) % 10 === 0).slice(-30).reverse();
  return table("Every ten seconds, newest first", [
    { name: "Time (UTC)", cell: (f) => format.clock(f.time), head: true },
    { name: "Results/s", cell: (f) => rate(f.results_per_s), number: true },
    { name: "Credit/s", cell: (f) => rate(f.credit_per_s), number: true },
    { name: "Waiting", cell: (f) => format.count(f.lag), number: true },
  ], rows, true);
}

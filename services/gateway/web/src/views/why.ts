// Why a result got its credit: the grant as a picture, step by step.
import { get, projectPath } from "../base/api";
import { h, replace, svg, type Child } from "../base/dom";
import * as format from "../base/format";
import type { AppVersion, Double, Explanation, Grant, Id, PartialGrant, UnpaidTrickle } from "../base/types";
import { chart, numbersOf } from "../parts/chart";
import { accountLink, card, credit, empty, nameOf, table, time } from "../parts/pieces";
import { countedWords, explain, type Bar, type GrantSteps, type Step, type Term } from "../rules/explain";
import type { Settlement } from "../rules/settle";
import { appVersionWords, firstCreditWords, marksOf, messagesOf, modeWords, trickleWords } from "../rules/words";
import { projectName, versionsOf, type Context, type View } from "./view";

let exact_figures = false; // for all grants, until it is switched back

function equation(terms: Term[]): Child {
  if (terms.length === 0) return null;
  return h("p", { class: "equation" }, terms.map((term) => [
    term.op && h("span", { class: "op" }, ` ${term.op} `),
    h("span", { class: `term${term.strong ? " strong" : ""}` }, h("b", {}, term.value), h("small", {}, term.label)),
  ]));
}

function barsOf(bars: Bar[], t: (flops: number) => string): Child {
  const most = Math.max(...bars.map((b) => b.flops)) || 1;
  return h("ul", { class: "bars" }, bars.map((b) =>
    h("li", { class: b.kind },
      h("span", { class: "bar-label" }, b.label, b.note && h("small", {}, ` ${b.note}`)),
      svg("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "rail", width: 100, height: 14 }),
        svg("rect", { class: "fill", width: Math.max(0.5, (b.flops / most) * 100), height: 14 })),
      h("span", { class: "bar-value" }, t(b.flops), h("small", {}, ` ${b.credit}`)))));
}

// Each claim as a point on one line, and the position of the grant.
function claimsLine(s: Settlement, granted: number): Child {
  const values = s.claims.map((c) => c.claimed).filter((v) => Number.isFinite(v) && v >= 0);
  if (values.length < 2) return null;
  const most = Math.max(...values, granted) * 1.06 || 1;
  const x = (v: number) => 2 + (v / most) * 96;
  return h("div", { class: "claims-line", "aria-hidden": "true" },
    svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none" },
      svg("line", { class: "rail", x1: 2, x2: 98, y1: 6, y2: 6 }),
      svg("line", { class: "grant", x1: x(granted), x2: x(granted), y1: 0, y2: 12 })),
    s.claims.filter((c) => Number.isFinite(c.claimed)).map((c) => {
      const dot = h("span", { class: `dot${c.own ? " own" : ""}${c.share === null && s.rule !== "late" ? " out" : ""}` });
      dot.style.left = `${x(c.claimed)}%`;
      return dot;
    }),
    h("span", { class: "from" }, "0"),
    (() => {
      const mark = h("span", { class: "granted" }, `granted ${format.fixed(granted, 2)}`);
      mark.style.left = `${x(granted)}%`;
      mark.style.transform = `translateX(-${x(granted)}%)`; // keeps the label between the ends of the line
      return mark;
    })());
}

function replicas(project: Id, s: Settlement, grant: Grant, exact: boolean): Child {
  return [
    claimsLine(s, Number(grant.credit_before_rounding)),
    table("Claims of this workunit", [
      { name: "Result", head: true, cell: (c) => [
        c.own ? [String(c.result), h("span", { class: "mark" }, "this one")]
          : c.result === undefined ? "Another's" : h("a", { href: `#/p/${project}/result/${c.result}` }, String(c.result)),
        c.host !== undefined && h("span", { class: "detail" }, accountLink(project, "host", c.host)),
      ] },
      { name: "Claimed", number: true, cell: (c) => (exact ? format.exact(c.claimed) : format.fixed(c.claimed, 2)) },
      { name: "Part in the grant", cell: (c) => [
        countedWords(c, s.rule),
        h("span", { class: "detail" }, modeWords(c.mode, grant.claim?.policy), marksOf(c.flags, grant.claim?.policy).filter((m) => m.warns).map((m) => h("span", { class: "mark warn" }, m.name))),
      ] },
    ], s.claims),
  ];
}

function postings(project: Id, grant: Grant): Child {
  if (grant.postings.length === 0) return null;
  return h("ul", { class: "postings" }, grant.postings.map((p) =>
    h("li", {}, h("span", { class: "soft" }, p.account), accountLink(project, p.account, p.id, p.name), h("b", {}, "+ ", credit(grant.credit)))));
}

function stepNode(step: Step, number: number, explained: GrantSteps, project: Id, grant: Grant, exact: boolean): HTMLElement {
  const flops = (v: number) => (exact ? `${format.exact(v)} FLOPs` : format.withPrefix(v, "FLOPs"));
  return h("li", { class: "step", "data-step": step.id },
    h("h2", {}, h("span", { class: "step-number", "aria-hidden": "true" }, String(number)), step.title),
    h("div", { class: "step-body" },
      equation(step.terms),
      step.bars && step.bars.length > 1 && barsOf(step.bars, flops),
      step.sentences.map((text) => h("p", {}, text)),
      step.id === "replicas" && explained.settlement && replicas(project, explained.settlement, grant, exact),
      step.id === "postings" && postings(project, grant),
      step.facts.length > 0 && h("details", { class: "numbers" }, h("summary", {}, "What was known"),
        h("dl", { class: "facts" }, step.facts.map((f) => h("div", {}, h("dt", {}, f.name), h("dd", {}, f.value)))))));
}

function grantNode(project: Id, grant: Grant, versions: Map<string, AppVersion>): HTMLElement {
  const node = h("div", { class: "grant" });
  const draw = () => {
    const explained = explain(grant, exact_figures);
    const flags = [...(grant.claim?.flags ?? [])];
    const marks = marksOf(flags, grant.claim?.policy);
    const toggle = h("button", { type: "button", class: "quiet", "aria-pressed": String(exact_figures) }, "Exact figures");
    toggle.addEventListener("click", () => {
      exact_figures = !exact_figures;
      draw();
      node.querySelector<HTMLButtonElement>("[aria-pressed]")?.focus();
    });
    replace(node,
      h("section", { class: "card hero", "aria-label": "In short" },
        h("div", { class: "title-row" }, h("p", { class: "hero-credit", "data-credit": grant.credit }, credit(grant.credit), h("small", {}, " Cobblestones")), toggle),
        h("p", { class: "headline" }, explained.headline),
        h("p", { class: "soft" }, "Granted ", time(format.toNumber(grant.granted_at)),
          grant.claim && [`, workunit ${grant.claim.workunit}, ${grant.app_name || `app ${grant.app}`}, ${appVersionWords(grant.claim.app_version, versions.get(String(grant.claim.app_version)))}`])),
      marks.length > 0 && card("Worth knowing", h("dl", { class: "marks" }, marks.map((m) => h("div", { class: m.warns ? "warn" : null }, h("dt", {}, m.name), h("dd", {}, m.meaning))))),
      h("ol", { class: "steps" }, explained.steps.map((step, at) => stepNode(step, at + 1, explained, project, grant, exact_figures))));
  };
  draw();
  return node;
}

// Times and the sum paid so far. Partial grants may have the same time, or be out of order.
function paidOverTime(sent: number, partials: PartialGrant[]): [number[], number[]] {
  const at = new Map<number, number>([[sent, 0]]);
  let paid = 0;
  for (const one of [...partials].sort((a, b) => format.toNumber(a.time) - format.toNumber(b.time))) {
    paid += Number(one.credit);
    at.set(Math.max(format.toNumber(one.time), sent), paid);
  }
  return [[...at.keys()], [...at.values()]];
}

function messagesTable(partials: PartialGrant[], unpaid: UnpaidTrickle[]): HTMLElement {
  const messages = messagesOf(partials, unpaid);
  const mark = (value?: Double) => (value === undefined ? "" : format.number(format.toNumber(value)));
  const models = messages.some((m) => m.phase !== undefined || m.model_version !== undefined);
  return table("Messages of the running job", [
    { name: "Message of", cell: (m) => time(format.toNumber(m.time)), head: true },
    ...(models ? [{ name: "Model", cell: (m: PartialGrant | UnpaidTrickle) => [m.phase !== undefined && `phase ${m.phase}`, m.model_version && `version ${m.model_version}`].filter(Boolean).join(", "), wide: true }] : []),
    { name: "Mark before", cell: (m) => mark(m.mark_before), number: true, wide: true },
    { name: "Reported", cell: (m) => mark(m.asked), number: true, wide: true },
    { name: "Mark after", cell: (m) => mark(m.mark_after), number: true },
    { name: "Outcome", cell: (m) => trickleWords(m) },
    { name: "Credit", cell: (m) => ("credit" in m ? credit(m.credit) : ""), number: true },
  ], messages);
}

// The payments of a running job: one step of the chart for each trickle that raised the high-water mark.
function runningNode(project: Id, explanation: Explanation, signal: AbortSignal): Child {
  const partials = explanation.partials ?? [];
  const unpaid = explanation.unpaid ?? [];
  const first = partials[0];
  if (!first) return unpaid.length > 0 && card("Its messages were paid nothing", messagesTable(partials, unpaid));
  const [times, paid] = paidOverTime(format.toNumber(first.sent_time), partials);
  const last = paid[paid.length - 1]!;
  const reversals = explanation.reversals ?? [];
  return card("Paid while it ran",
    h("p", { class: "headline" }, `${format.count(partials.length)} ${partials.length === 1 ? "message" : "messages"} of the running job moved its mark, and each was paid at once: `, credit(last.toFixed(6)), " Cobblestones."),
    h("p", {}, `By rule “${first.rule}” for messages of variety “${first.variety}”, at the price of the day when the job was sent, `, time(format.toNumber(first.sent_time)),
      ". A message with the same progress as an earlier message, or with less, pays nothing",
      unpaid.length > 0 && `: so it was with ${format.count(unpaid.length)} of ${format.count(partials.length + unpaid.length)}`, "."),
    chart({
      title: "Paid over time",
      description: `From 0 when it was sent to ${format.fixed(last, 2)} Cobblestones.`,
      height: 180, zero: true, signal,
      series: [{ label: "Paid", tone: "accent", fill: true, valueText: (v) => `${format.fixed(v, 2)} Cobblestones` }],
    }, [times, paid]).node,
    numbersOf("Each message", () => messagesTable(partials, unpaid)),
    reversals.map((r) => h("p", {}, time(format.toNumber(r.time)), r.reason ? `: ${r.reason}. ` : ": ", Number(r.credit) < 0 ? [credit(r.credit), " was reversed"] : [credit(r.made_final), " of it is final"],
      r.made_up_for_by_future_credit ? ", and later credit makes up for it first." : ".")),
    h("p", { class: "soft" }, "It ran on ", accountLink(project, "host", first.host), ". In all ", credit(explanation.credit ?? "0.000000"), explanation.grants.length + reversals.length > 0 ? " Cobblestones." : " Cobblestones so far."));
}

function correctionsNode(explanation: Explanation): Child {
  const corrections = explanation.corrections ?? [];
  if (corrections.length === 0) return null;
  return card("Later corrections",
    corrections.map((c) => h("p", {}, time(format.toNumber(c.time)), c.kind === "reversal" ? ": reversed" : c.kind === "reinstatement" ? ": reinstated" : `: repriced by version ${c.policy_version ?? 0} of the policy`,
      c.reason ? `, because ${c.reason}. ` : ". ", credit(c.before), " became ", credit(c.after), " Cobblestones", c.judged_invalid && `, ${firstCreditWords(c, explanation.judged_invalid)}`, ".")),
    h("p", { class: "soft" }, "In all it has brought ", credit(explanation.credit ?? "0.000000"), " Cobblestones."));
}

function pendingNode(project: Id, explanation: Explanation): HTMLElement {
  const pending = explanation.pending;
  const judged = explanation.judged_invalid;
  if (judged)
    return card("Judged invalid",
      h("p", { class: "headline" }, "The validator judged this result invalid, so nothing was granted."),
      h("p", {}, time(format.toNumber(judged.time)), ", on ", accountLink(project, "host", judged.host), ". ",
        judged.worth !== undefined ? ["Had it been valid, its claim alone would have come to ", credit(judged.worth), " Cobblestones."] : "No amount was named for it."),
      explanation.partials && !explanation.corrections && h("p", {}, "Its credit consists of the payments while it ran."));
  if (!pending && explanation.partials) return empty("The job itself got no grant.", "Its credit consists of the payments while it ran.");
  if (!pending) return empty("Nothing was granted to this result, and no event of it waits.", "Was it valid? Its workunit may still wait for another replica, or its events were refused.");
  const part = (has: boolean, name: string, words: string) =>
    h("li", { class: has ? "done" : "open" }, h("b", {}, name), h("span", {}, has ? "has arrived" : words));
  return card("On its way",
    h("p", { class: "headline" }, `${explanation.partials ? "The final grant is pending" : "Nothing is granted yet"}. It waits for ${pending.waits_for}.`),
    h("ul", { class: "waits" },
      part(pending.has_completion, "Completion", "the project has not yet reported that the job is done"),
      part(pending.has_validation, "Validation", "the validator has not decided yet")),
    h("p", {}, "It was sent to ", accountLink(project, "host", pending.host), ". When both have arrived, the claim is computed; when the other replicas' claims have arrived, credit is granted."));
}

export async function whyView(context: Context, project: Id, result: Id): Promise<View> {
  const [answer, versions] = await Promise.all([
    get<Explanation>(projectPath(project, `results/${result}`), context.signal),
    versionsOf(project, context.signal),
  ]);
  const explanation = answer.data;
  const grants = explanation.grants ?? [];
  const owner = grants[0]?.postings.find((p) => p.account === "user");
  const node = h("div", { class: "why" },
    h("h1", { tabindex: -1 }, grants.length > 0 ? `Why result ${result} got its credit` : `Result ${result}`),
    h("p", { class: "lead" }, projectName(context, project), owner && [" · ", accountLink(project, "user", owner.id, nameOf("user", owner.id, owner.name))],
      grants[0] && [" · ", accountLink(project, "host", grants[0].host)]),
    runningNode(project, explanation, context.signal),
    grants.length > 0 ? grants.map((grant) => grantNode(project, grant, versions)) : pendingNode(project, explanation),
    correctionsNode(explanation));
  return { title: `Why result ${result}`, node, project, asOf: answer.as_of };
}

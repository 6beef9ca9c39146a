// A grant as steps that a volunteer can follow: the work, its corrections, the other claims, the rule of the
// decision, and the payment. Pure; every number can be shown short or with every digit.
import * as format from "../base/format";
import type { Claim, CreditText, Grant } from "../base/types";
import { hasFlag, priceOf, type Factor, type Price } from "./price";
import { settle, type Counted, type LeftOut, type Rule, type Settlement } from "./settle";
import { policyWords } from "./words";

export interface Term {
  op: "" | "−" | "×" | "÷" | "=" | "→";
  label: string;
  value: string;
  strong?: boolean;
}

export interface Fact {
  name: string;
  value: string;
}

export interface Bar {
  label: string;
  note: string;
  flops: number;
  credit: string; // the credit of these operations, if known
  kind: "raw" | "scaled" | "claimed" | "bound";
}

export interface Step {
  id: "work" | "scales" | "claim" | "replicas" | "credit" | "postings";
  title: string;
  sentences: string[];
  terms: Term[];
  facts: Fact[];
  bars?: Bar[];
}

export interface GrantSteps {
  headline: string;
  steps: Step[];
  price: Price | null;
  settlement: Settlement | null;
}

// Short or with every digit.
class NumberFormat {
  constructor(readonly exact: boolean) {}
  plain(value: number, digits = 4): string {
    return this.exact ? format.exact(value) : format.number(value, digits);
  }
  flops(value: number): string {
    return this.exact ? `${format.exact(value)} FLOPs` : format.withPrefix(value, "FLOPs");
  }
  speed(value: number): string {
    return this.exact ? `${format.exact(value)} FLOP/s` : format.withPrefix(value, "FLOP/s");
  }
  time(value: number): string {
    return this.exact ? `${format.exact(value)} s` : format.duration(value);
  }
  credit(value: number): string {
    if (this.exact) return format.exact(value);
    return value !== 0 && Math.abs(value) < 0.005 ? format.number(value, 2) : format.fixed(value, 2);
  }
}

const kTimeWords = {
  elapsed: "run time",
  cpu: "CPU time",
  wall: "time between sending and return",
} as const;

const kSpeedWords = {
  peak: "peak speed",
  limited: "peak speed, limited by the project",
  assumed: "assumed speed",
  benchmark: "benchmark",
} as const;

function workStep(claim: Claim, price: Price, t: NumberFormat): Step {
  const { basis } = price;
  const facts: Fact[] = [];
  const add = (name: string, value: unknown, valueText: (v: number) => string) => {
    const n = format.toNumber(value as number);
    if (n !== 0) facts.push({ name, value: valueText(n) });
  };
  add("Run time", claim.facts.elapsed_time_s, (v) => t.time(v));
  add("CPU time", claim.facts.cpu_time_s, (v) => t.time(v));
  add("Peak speed", claim.facts.peak_flops, (v) => t.speed(v));
  add("Sent", claim.facts.sent_time, (v) => format.utc(v, true));
  add("Returned", claim.facts.received_time, (v) => format.utc(v, true));
  add("Size estimate", claim.facts.fpops_est, (v) => t.flops(v));
  add("Limit of the workunit", claim.facts.fpops_bound, (v) => t.flops(v));
  const step: Step = { id: "work", title: "The work", sentences: [], terms: [], facts };
  switch (basis.kind) {
    case "work": {
      const time = kTimeWords[basis.time];
      const speed = kSpeedWords[basis.speedUsed];
      step.terms = [
        { op: "", label: time, value: t.time(basis.seconds) },
        { op: "×", label: speed, value: t.speed(basis.speed) },
        { op: "=", label: "work at full speed", value: t.flops(price.raw), strong: true },
      ];
      step.sentences.push(
        basis.speedUsed === "benchmark"
          ? `The job took ${t.time(basis.seconds)} of CPU time on a computer that does ${t.speed(basis.speed)} in its benchmark. The product is the work that it claims.`
          : `The job ran for ${t.time(basis.seconds)} on devices that can do ${t.speed(basis.speed)}. If they had been busy all the time, that would be ${t.flops(price.raw)}: the peak FLOP count of this run.`,
      );
      if (basis.time === "cpu" && basis.speedUsed !== "benchmark") step.sentences.push("No usable run time was reported, so the CPU time is used instead.");
      if (basis.time === "wall") step.sentences.push("More run time was reported than passed between sending and return, so no more than that counts.");
      if (basis.speedUsed === "assumed") step.sentences.push("The speed of the device is not known, so the usual one is assumed.");
      if (basis.speedUsed === "limited") step.sentences.push("More speed or more devices were reported than the project allows for one job, so its limit counts.");
      break;
    }
    case "estimate":
      step.terms = [{ op: "", label: "size estimate", value: t.flops(basis.estimate) }];
      if (basis.mean !== null) {
        step.terms.push({ op: "×", label: "what such jobs usually take", value: t.plain(basis.mean) },
          { op: "=", label: "usual work of such a job", value: t.flops(price.raw), strong: true });
      }
      step.sentences.push(
        basis.mean !== null
          ? "For this claim the measured run time is not used. It is what jobs of this size usually take: the project's size estimate times the app's average."
          : "For this claim the measured run time is not used, and the app has no average yet. So the project's own size estimate of the job counts.",
      );
      if (claim.policy === "robust" && hasFlag(claim, "sanity_check_failed")) {
        step.sentences.push("The work that this run would amount to is infinite or no number.");
      } else if (hasFlag(claim, "uncalibrated")) {
        const so_far = format.count(format.toNumber(claim.host_average_before.n));
        step.sentences.push(`This host is new to this app: until ten results with one version have been averaged (unless the project has chosen another number), a result with nothing to compare it with earns the estimate. With this version there are ${so_far} so far.`);
      } else if (claim.policy === "robust") {
        step.sentences.push("This host is new to this app version, and too few results of the version have been averaged so far. So there is nothing to compare this one with, and it earns the estimate.");
      }
      break;
    case "counted":
      step.terms = [{ op: "", label: "operations counted by the app", value: t.flops(basis.flops), strong: true }];
      step.sentences.push(`The application counted its operations itself: ${t.flops(basis.flops)}.`);
      break;
    case "named":
      step.terms = [{ op: "", label: "credit named", value: t.credit(basis.credit), strong: true }];
      step.sentences.push("The credit of this job was named by the project or by the application itself. Nothing has to be measured.");
      break;
    case "nothing":
      step.sentences.push("The known data of this result were not enough to compute a claim. It can still get the credit of its workunit.");
  }
  return step;
}

function factorSentence(factor: Factor, claim: Claim, t: NumberFormat): string {
  const value = t.plain(factor.value);
  if (factor.what === "cut") {
    const whose = hasFlag(claim, "version_scale_applied") ? "its app version and computer" : "its computer";
    return `No job counts for more than ${value} average jobs of ${whose}, so its work is cut to ${t.flops(factor.flops)}.`;
  }
  if (factor.what === "estimate") return `This computer is new, and so is the app: no average is known. Until then no job counts for more than its size estimate, so its work is cut to ${t.flops(factor.flops)}.`;
  if (factor.what === "version" && claim.policy === "robust") {
    const samples = format.toNumber(claim.host_average_before.n);
    const numbers = `(${t.plain(factor.bottom)} beside ${t.plain(factor.top)} per unit of work)`;
    const why = (claim.awaited_claims ?? 1) > 1 ? "several computers did this job" : "this computer is new to the version, but not to the app";
    return samples > 0
      ? `× ${value} for app version and computer: ${why}. This one has done ${format.count(samples)} with this version so far, so what the version needs on all computers counts beside its own average ${numbers}.`
      : `× ${value} for the app version: this computer is new to it and has no average of its own yet, so its work is compared with what this version needs on all computers ${numbers}.`;
  }
  if (factor.what === "bound") return `No job counts for more than the workunit's limit, so its work is cut to ${t.flops(factor.flops)}.`;
  if (factor.what === "reliability" && (claim.awaited_claims ?? 1) > 1) {
    return "× 1 for reliability: several computers did this job, so its claim does not depend on how often this one fails.";
  }
  if (factor.what === "reliability") {
    const failed = t.plain(format.toNumber(claim.failure_rate ?? 0) * 100);
    return `× ${value} for reliability: ${failed} % of this computer's recent jobs of this app failed. Each failure lowers the factor, each valid result raises it; a new computer begins below 1.`;
  }
  if (factor.what === "multiplier") return `The project multiplies by ${value}.`;
  if (factor.what === "version") {
    const way = factor.value < 1 ? "uses its devices less well than" : "gets more done with them than";
    return factor.value === 1 || !(factor.top > 0)
      ? `The app version has a scale of ${value}.`
      : `× ${value} for the app version: it ${way} the app's yardstick, so its work is counted ${factor.value < 1 ? "lower" : "higher"}. All versions of an app come out at the same credit for the same job.`;
  }
  const samples = format.count(format.toNumber(claim.host_average_before.n));
  const compared = factor.value < 1 ? "more" : "less";
  const limited = factor.limited ? ` The policy allows no more than this; the averages alone would say ${t.plain(factor.top / factor.bottom)}.` : "";
  return `× ${value} for this computer: on its ${samples} jobs so far it needed ${compared} than ${factor.beside === "app" ? "jobs of this app usually do" : "others with this version"} (${t.plain(factor.bottom)} beside ${t.plain(factor.top)} per unit of work), which is levelled out.${limited}`;
}

const kFactorNames: Record<Factor["what"], string> = {
  version: "app version", host: "this computer", multiplier: "multiplier", bound: "the cut to the limit", cut: "the cut", estimate: "the cut to the estimate", reliability: "reliability",
};

function scalesStep(claim: Claim, price: Price, t: NumberFormat): Step {
  const worth = (flops: number) => (Number.isFinite(price.perGflopsDay) ? `worth ${t.credit((flops * price.perGflopsDay) / 86400e9)}` : "");
  const robust = claim.policy === "robust";
  const start = price.basis.kind !== "estimate" ? "work at full speed" : price.basis.mean !== null ? "usual work of such a job" : "size estimate";
  const bars: Bar[] = [{ label: start[0]!.toUpperCase() + start.slice(1), note: "", flops: price.raw, credit: worth(price.raw), kind: "raw" }];
  const sentences: string[] = [];
  const terms: Term[] = [{ op: "", label: start, value: t.flops(price.raw) }];
  for (const factor of price.factors) {
    const name = kFactorNames[factor.what];
    sentences.push(factorSentence(factor, claim, t));
    const cut = factor.what === "cut" || factor.what === "bound" || factor.what === "estimate";
    terms.push(cut ? { op: "→", label: name, value: t.flops(factor.flops) } : { op: "×", label: name, value: t.plain(factor.value) });
    bars.push({ label: `After ${name}`, note: cut ? "cut" : `× ${t.plain(factor.value)}`, flops: factor.flops, credit: worth(factor.flops), kind: "scaled" });
  }
  if (price.factors.length === 0) sentences.push("No correction was applied: not enough is known yet of this app version or this computer.");
  else if (!price.agrees) sentences.push("These factors alone do not give the claim; the number in the ledger counts.");
  if (price.budget !== null) {
    terms.push({ op: "→", label: "left by the budget", value: t.flops(price.budget) });
    bars.push({ label: "Left by the budget", note: "cut", flops: price.budget, credit: worth(price.budget), kind: "bound" });
    sentences.push(`The claims of a computer in an app may add up to little more than what its jobs were estimated at, with the same reliability. What its earlier claims have left is ${t.flops(price.budget)}, so this claim is cut there.`);
  }
  terms.push({ op: "=", label: "work claimed", value: t.flops(price.flops), strong: true });
  if (price.bound !== null) {
    sentences.push(`The workunit allows at most ${t.flops(price.bound)}, so the claim is cut there.`);
    bars.push({ label: "Limit of the workunit", note: "cut", flops: price.bound, credit: worth(price.bound), kind: "bound" });
  }
  bars[bars.length - 1]!.kind = "claimed";
  const facts: Fact[] = [];
  const average = (name: string, a: { n: unknown; mean: unknown }) => {
    const n = format.toNumber(a.n as number);
    if (n > 0) facts.push({ name, value: `${t.plain(format.toNumber(a.mean as number))} over ${format.count(n)} jobs` });
  };
  if (!robust || hasFlag(claim, "version_scale_applied")) average("Average of this app version", claim.version_average);
  average("Average of this computer before", claim.host_average_before);
  const mean = format.toNumber(claim.min_avg_pfc);
  if (mean > 0) facts.push({ name: "The app's yardstick", value: t.plain(mean) });
  const sample = format.toNumber(claim.sample);
  if (Number.isFinite(sample)) facts.push({ name: "This job", value: `${t.plain(sample)} (work ÷ size estimate)` });
  if (robust) {
    facts.push({ name: "Share of failed jobs", value: `${t.plain(format.toNumber(claim.failure_rate ?? 0) * 100)} %` });
    facts.push({ name: "Left by the budget", value: t.flops(format.toNumber(claim.budget ?? 0)) });
  }
  facts.push({ name: "Scales of epoch", value: String(claim.epoch) });
  return { id: "scales", title: "Made comparable", sentences, terms, facts, bars };
}

function claimStep(claim: Claim, price: Price, t: NumberFormat): Step {
  const counted = price.bound ?? price.flops;
  const sentences: string[] = [];
  const terms: Term[] = [];
  if (Number.isFinite(price.perGflopsDay)) {
    const rate = format.number(Number(price.perGflopsDay.toPrecision(9)), 4);
    sentences.push(`A computer that does a thousand million operations a second for a whole day earns ${rate} Cobblestones. For ${t.flops(counted)} that makes ${t.credit(price.credit)}: this is what this result claims.`);
    terms.push({ op: "", label: "work claimed", value: t.flops(counted) },
      { op: "×", label: "Cobblestones for a day of 1 GFLOPS", value: rate },
      { op: "÷", label: "operations of that day", value: t.exact ? "86,400,000,000,000" : "86.4 TFLOPs" },
      { op: "=", label: "claimed", value: t.credit(price.credit), strong: true });
  } else {
    sentences.push(`This result claims ${t.credit(price.credit)} Cobblestones.`);
    terms.push({ op: "", label: "claimed", value: t.credit(price.credit), strong: true });
  }
  return {
    id: "claim", title: "The claim", sentences, terms,
    facts: [{ name: "Policy", value: `${claim.policy}, version ${claim.policy_version}: ${policyWords(claim.policy)}` }],
  };
}

function ruleSentence(s: Settlement, grant: Grant, t: NumberFormat): string {
  const n = s.claims.filter((c) => c.share !== null).length;
  const value = t.credit(s.worth);
  const sentences: Record<Rule, string> = {
    late: `This result came after its workunit was decided. It gets the same as the results that decided it: ${value}.`,
    own: s.claims.length === 1
      ? `Nobody else worked on this workunit, so what is claimed is granted: ${value}.`
      : `Only one of the claims may count, so that one is granted to all: ${value}.`,
    normal: `${n} claims carry both corrections, so only they count. Their mean is ${value}; a claim weighs less, the farther it lies from what such jobs usually take.`,
    lone_normal: `One claim carries both corrections: it counts twice beside the others. The mean is ${value}; a claim weighs less, the farther it lies from what such jobs usually take.`,
    approximate: `No claim carries both corrections, so all count alike. The mean is ${value}; a claim weighs less, the farther it lies from what such jobs usually take.`,
    average: `All who worked on it get the same: the average of the ${n} claims that count, ${value}.`,
    min: `All who worked on it get the same: the least of the claims, ${value}. So nobody gains by claiming more.`,
    median: `All who worked on it get the same: the claim in the middle, ${value}.`,
    low_average: `All who worked on it get the same: a mean that leans to the smaller claims, ${value}.`,
    rough_alone: "Only one claim counts, and it is imprecise, because its computer has few results. " +
      `All who worked on it get four fifths of it: ${value}.`,
    new_hosts: "No computer whose claim counts has ten results yet, if the project has not changed that. Until one has, a " +
      `workunit is worth at most the project's estimate: ${value}.`,
    named: `The credit that was named for the canonical result is granted: ${value}.`,
    estimate: `None of the claims may count, so the workunit's usual size decides: ${value}.`,
    capped: `All claims are above the project's cap, so the cap is granted: ${value}.`,
    none_left: "Each claim is zero or above the project's cap. By this policy nothing is granted then.",
    nothing: "This app keeps statistics and grants no credit.",
    unknown: `By the rules of policy ${grant.claim?.policy ?? ""} the workunit is worth ${value}.`,
  };
  return sentences[s.rule];
}

const kLeftOut: Record<LeftOut, string> = {
  capped: "above the cap",
  no_claim: "no claim",
  not_valid: "not valid",
  anonymous_platform: "own application: does not count for others",
  on_probation: "host on probation: does not count",
  not_normal: "a correction was missing: does not count beside claims that have both",
  not_least: "not the least",
  not_middle: "not in the middle",
  not_canonical: "only the canonical result counts",
  zero: "claims nothing",
  unmeasured: "from the size estimate: does not count beside claims from measurements",
  too_high: "more than 1.3 times the lowest",
  unreliable: "from a computer that fails too often: does not count beside a lower one of another",
};

export function countedWords(counted: Counted, rule: Rule): string {
  if (counted.share !== null) return counted.share === 1 ? "decides" : `counts for ${format.number(counted.share * 100, 3)}\u00a0%`;
  if (counted.leftOut) return kLeftOut[counted.leftOut];
  return rule === "late" ? "claimed for the statistics" : "";
}

function replicasStep(grant: Grant, s: Settlement, t: NumberFormat): Step {
  const others = s.claims.length - 1;
  const sentences = [
    others === 0 ? "" : `The same workunit went to ${others === 1 ? "one other computer" : `${others} other computers`}. Each made a claim of its own.`,
    ruleSentence(s, grant, t),
    s.reliability === 1 ? "" : "All computers whose claims count are new or fail often, so they may all have kept only jobs that are small for " +
      `their estimates. Therefore the credit is multiplied by ${t.plain(s.reliability)}, the square of the product of their reliabilities: ${t.credit(s.before)}.`,
  ].filter((text) => text !== "");
  return { id: "replicas", title: others === 0 ? "What counts" : "The other replicas", sentences, terms: [], facts: [] };
}

// Earlier payments for its trickles, if any.
function paidBefore(grant: Grant): CreditText | null {
  const paid = grant.claim?.paid_by_trickles ?? [];
  return paid.length > 0 ? format.creditSum(paid.map((one) => one.credit)) : null;
}

function creditStep(grant: Grant, s: Settlement | null, t: NumberFormat): Step {
  const before = Number(grant.credit_before_rounding);
  const paid = paidBefore(grant);
  const cap = format.toNumber(grant.max_granted_credit);
  const sentences: string[] = [];
  if (s?.cap !== null && s?.cap !== undefined) sentences.push(`The project grants at most ${t.plain(s.cap)} for one result, so it was cut there.`);
  else if (cap > 0) sentences.push(`The project grants at most ${t.plain(cap)} for one result; this is below.`);
  else sentences.push("The project has no cap on the credit of one result.");
  sentences.push("Credit is kept in millionths of a Cobblestone, as whole numbers, so that no sum ever loses anything. It is rounded once, here, to the nearest.");
  if (paid) sentences.push(`${format.shortCredit(paid)} had been paid while the job ran. This grant is what it is worth beyond that.`);
  const facts: Fact[] = [{ name: "Before rounding", value: format.exact(before) }, { name: "In millionths", value: format.count(grant.credit_micro) }];
  if (format.toNumber(grant.canonical_result as number) !== 0) facts.push({ name: "Canonical result", value: String(grant.canonical_result) });
  if (grant.ledger) facts.push({ name: "Place in the ledger", value: `partition ${grant.ledger.partition}, record ${grant.ledger.offset}` });
  return {
    id: "credit", title: "The credit", sentences, facts,
    terms: [
      { op: "", label: "before rounding", value: t.exact ? String(grant.credit_before_rounding) : format.number(before, 12) },
      ...(paid ? [{ op: "−", label: "paid while it ran", value: format.exactCredit(paid) } as const] : []),
      { op: "→", label: "granted", value: format.exactCredit(grant.credit), strong: true },
    ],
  };
}

function postingsStep(grant: Grant): Step {
  const sentences: string[] = [];
  if (grant.waits_for) sentences.push(`The grant is in the ledger and waits: ${grant.waits_for}. It is added as soon as that arrives.`);
  else if (grant.expired) sentences.push(`A part of it could not be added to an account: ${grant.expired}.`);
  else sentences.push("The whole credit is added to each of these accounts, exactly once.");
  return { id: "postings", title: "Who got it", sentences, terms: [], facts: [] };
}

function headlineOf(grant: Grant, price: Price | null, s: Settlement | null, t: NumberFormat): string {
  const credit = format.shortCredit(grant.credit);
  if (!price || !s) return `${credit} Cobblestones were granted.`;
  if (grant.late) return `It came late and got what its workunit's results got: ${credit} Cobblestones.`;
  const work = price.basis.kind === "work" ? `${t.time(price.basis.seconds)} of work` : "This job";
  const others = s.claims.length - 1;
  if (paidBefore(grant)) return `${work} is worth ${t.credit(Number(grant.credit_before_rounding))}; beyond what had been paid while it ran, ${credit} Cobblestones were granted.`;
  if (others === 0) return `${work} made ${credit} Cobblestones.`;
  return `${work} claimed ${t.credit(price.credit)}; together with ${others === 1 ? "the other computer's claim" : `the claims of ${others} others`} it was granted ${credit} Cobblestones.`;
}

export function explain(grant: Grant, exact: boolean): GrantSteps {
  const t = new NumberFormat(exact);
  const { claim } = grant;
  if (!claim) return { headline: headlineOf(grant, null, null, t), steps: [creditStep(grant, null, t), postingsStep(grant)], price: null, settlement: null };
  const price = priceOf(claim);
  const settlement = settle(grant, claim);
  const steps = [workStep(claim, price, t)];
  if (price.basis.kind === "work" || price.basis.kind === "counted" || price.factors.length > 0) steps.push(scalesStep(claim, price, t));
  if (price.basis.kind !== "nothing") steps.push(claimStep(claim, price, t));
  steps.push(replicasStep(grant, settlement, t), creditStep(grant, settlement, t), postingsStep(grant));
  return { headline: headlineOf(grant, price, settlement, new NumberFormat(false)), steps, price, settlement };
}

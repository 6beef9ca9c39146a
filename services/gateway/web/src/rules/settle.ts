// How the claims of a workunit's replicas became one credit: the rule of the policy, recomputed from the recorded claims. A share
// is shown only if the recomputed credit equals the credit in the ledger (common/credit: boinc.cc SettleSet, creditnew.cc,
// robust.cc, replicas.cc, low_average.cc).
import { toNumber } from "../base/format";
import type { Claim, Grant, Id } from "../base/types";
import { hasFlag, near, reliabilityAlone } from "./price";

export type Rule =
  | "late" // the credit of its workunit's results
  | "own" // a single claim
  | "normal" // boinc: the mean of the claims in mode normal
  | "lone_normal" // boinc: one normal claim, counted twice, and the approximate ones
  | "approximate" // boinc: the approximate claims
  | "average"
  | "min"
  | "median"
  | "low_average"
  | "rough_alone" // robust: four fifths of the only claim that counts, because it is from few results
  | "new_hosts" // robust: at most the default, because no host of a claim that counts is calibrated
  | "named" // the credit named for the canonical result
  | "estimate" // no claim counts: the workunit's size
  | "capped" // all claims were above the cap
  | "nothing"
  | "none_left" // runtime: all claims are zero or above the cap, which leaves nothing
  | "unknown"; // cannot be derived from the recorded claims

export type LeftOut = "capped" | "no_claim" | "not_valid" | "anonymous_platform" | "on_probation" | "not_normal" | "not_least"
  | "not_middle" | "not_canonical" | "zero" | "unmeasured" | "too_high" | "unreliable";

export interface Counted {
  result?: Id | undefined; // absent, like host, if the viewer may not see other accounts
  host?: Id | undefined;
  claimed: number; // Cobblestones
  mode: string;
  flags: string[];
  reliability: number;
  own: boolean;
  share: number | null; // share of the grant, 0 to 1; null: unknown
  leftOut: LeftOut | null;
}

export interface Settlement {
  rule: Rule;
  claims: Counted[]; // this result's first
  worth: number; // Cobblestones by the rule
  reliability: number; // robust: a factor below 1 if no computer whose claim counts vouches for the others
  before: number; // Cobblestones before cap and rounding: worth x reliability
  cap: number | null; // if it cut the grant
  agrees: boolean;
}

interface Part {
  claim: Counted;
  pfc: number;
}

const kTimesLowest = 1.3; // robust: a claim counts up to so many times the lowest one
const kReturnsItsJobs = 0.9; // robust: the reliability from which on a computer vouches for its partners
const kReturnsMost = 0.3; // robust: the same for a computer with many results
const kRoughAlone = 0.8; // robust: how a claim from few results counts that is left alone
const kAnchorShare = 0.1; // boinc: keeps the weight finite at the anchor
const kBoincCreditOfFlop = 200 / 86400e9; // Cobblestones

function share(parts: Part[], weights: number[]): number {
  const all = weights.reduce((sum, w) => sum + w, 0);
  parts.forEach((part, at) => (part.claim.share = (part.claim.share ?? 0) + weights[at]! / all));
  return parts.reduce((sum, part, at) => sum + (weights[at]! * part.claim.claimed) / all, 0);
}

function leave(parts: Part[], why: LeftOut): void {
  for (const part of parts) part.claim.leftOut ??= why;
}

// BOINC's mean, in which a value has less weight the farther it is from the workunit's estimate.
function pegged(parts: Part[], anchor: number): number {
  if (parts.length === 1) return share(parts, [1]);
  return share(parts, parts.map((p) => 1 / (kAnchorShare * anchor + Math.abs(anchor - p.pfc))));
}

// From a claim; if no claim has it, BOINC's value. The result is compared with the ledger in any case.
function creditOfFlop(all: Part[], bound: number): number {
  const one = all.find((p) => p.pfc > 0 && p.claim.claimed > 0);
  return one ? one.claim.claimed / Math.min(one.pfc, bound) : kBoincCreditOfFlop;
}

function settleBoinc(parts: Part[], claim: Claim, perFlop: number): [Rule, number] {
  const mean = toNumber(claim.min_avg_pfc);
  const anchor = toNumber(claim.facts.fpops_est) * (mean > 0 ? mean : 1);
  const normal = parts.filter((p) => p.claim.mode === "normal");
  const others = parts.filter((p) => p.claim.mode !== "normal");
  if (normal.length > 1) {
    leave(others, "not_normal");
    return ["normal", pegged(normal, anchor)];
  }
  if (normal.length === 1) {
    const twice = [...others, normal[0]!, normal[0]!];
    return [parts.length === 1 ? "own" : "lone_normal", pegged(twice, anchor)];
  }
  if (others.length > 0) return [others.length === 1 ? "own" : "approximate", pegged(others, anchor)];
  return ["estimate", anchor * perFlop];
}

function combine(parts: Part[], rule: "average" | "min" | "median"): number {
  const sorted = [...parts].sort((a, b) => a.claim.claimed - b.claim.claimed);
  if (rule === "average") return share(sorted, sorted.map(() => 1));
  if (rule === "min") {
    leave(sorted.slice(1), "not_least");
    return share(sorted.slice(0, 1), [1]);
  }
  const middle = sorted.length % 2 === 1 ? [sorted[(sorted.length - 1) / 2]!]
    : [sorted[sorted.length / 2 - 1]!, sorted[sorted.length / 2]!];
  leave(sorted.filter((p) => !middle.includes(p)), "not_middle");
  return share(middle, middle.map(() => 1));
}

function lowAverage(parts: Part[]): number {
  if (parts.length === 1) return share(parts, [1]);
  const sum = parts.reduce((all, p) => all + p.claim.claimed, 0);
  if (sum === 0) return share(parts, parts.map(() => 1));
  return share(parts, parts.map((p) => sum - p.claim.claimed));
}

// Policy `robust`: the factor on the award of a replicated result. One of its computers must return its jobs.
function reliabilityTogether(deciding: Part[], claim: Claim): number {
  if ((claim.awaited_claims ?? 1) <= 1) return 1;
  const vouches = ({ claim: one }: Part): boolean => one.reliability >= (hasFlag(one, "rough_average") ? kReturnsItsJobs : kReturnsMost);
  return deciding.some(vouches) ? 1 : deciding.reduce((product, p) => product * p.claim.reliability ** 2, 1);
}

interface ClaimToCount {
  result?: Id;
  host?: Id;
  claimed: unknown;
  mode: string;
  flags: string[];
  pfc: unknown;
  reliability?: unknown;
}

function asCounted(one: ClaimToCount, own: boolean): Part {
  return {
    claim: {
      result: one.result, host: one.host, claimed: toNumber(one.claimed as number), mode: one.mode, flags: one.flags,
      reliability: toNumber((one.reliability ?? 1) as number), own, share: null, leftOut: null,
    },
    pfc: toNumber(one.pfc as number),
  };
}

function clear(parts: Part[]): void {
  for (const part of parts) {
    part.claim.share = null;
    part.claim.leftOut = null;
  }
}

export function settle(grant: Grant, claim: Claim): Settlement {
  const granted = Number(grant.credit_before_rounding);
  const cap = toNumber(grant.max_granted_credit);
  const parts = [asCounted(claim, true), ...grant.other_claims.map((other) => asCounted(other, false))];
  const claims = parts.map((p) => p.claim);
  const given = (rule: Rule): Settlement =>
    ({ rule, claims, worth: granted, reliability: 1, before: granted, cap: null, agrees: rule !== "unknown" });
  const done = (rule: Rule, worth: number, reliability = 1): Settlement => {
    const before = worth * reliability;
    const cut = cap > 0 && before > cap && !near(before, cap);
    if (near(cut ? cap : before, granted)) return { rule, claims, worth, reliability, before, cap: cut ? cap : null, agrees: true };
    clear(parts);
    return given("unknown");
  };
  if (grant.late) return given("late");
  if (claim.policy === "none") return done("nothing", 0);

  const takesPart = (part: Part): boolean => {
    const { claim: one } = part;
    if (hasFlag(one, "no_claim") || one.mode === "none" || hasFlag(one, "expired")) leave([part], "no_claim");
    else if (claim.policy !== "runtime" && !hasFlag(one, "valid")) leave([part], "not_valid");
    else if (claim.policy === "runtime" && !(one.claimed > 0)) leave([part], "zero");
    else if (cap > 0 && one.claimed > cap && !near(one.claimed, cap)) leave([part], "capped");
    return one.leftOut === null;
  };
  const counting = parts.filter(takesPart);

  if (claim.policy === "boinc") {
    // A set in which all claims are above the cap is worth its estimate.
    const limit = toNumber(claim.facts.fpops_bound);
    const perFlop = creditOfFlop(parts, limit);
    for (const part of counting) part.pfc = Math.min(part.pfc, limit);
    return done(...settleBoinc(counting, claim, perFlop));
  }
  if (counting.length === 0 && claim.policy === "runtime") return done("none_left", 0);
  if (counting.length === 0) return parts.some((p) => p.claim.leftOut === "capped") ? done("capped", cap) : done("nothing", 0);
  if (claim.policy === "runtime") return done("low_average", lowAverage(counting));
  if (claim.policy === "robust") {
    const measured = counting.filter((p) => hasFlag(p.claim, "host_scale_applied") || hasFlag(p.claim, "version_scale_applied"));
    if (measured.length > 0) leave(counting.filter((p) => !measured.includes(p)), "unmeasured");
    const deciding = measured.length > 0 ? measured : counting;
    const lowest = Math.min(...deciding.map((p) => p.claim.claimed));
    const within = deciding.filter((p) => p.claim.claimed <= kTimesLowest * lowest);
    leave(deciding.filter((p) => !within.includes(p)), "too_high");
    const reliable = within.filter((p) => !hasFlag(p.claim, "unreliable")).map((p) => p.claim.claimed);
    const raises = within.filter((p) => !hasFlag(p.claim, "unreliable") || p.claim.claimed <= Math.min(...reliable));
    leave(within.filter((p) => !raises.includes(p)), "unreliable");
    const roughAlone = within.length === 1 && counting.length > 1 && hasFlag(within[0]!.claim, "rough_average");
    const reliability = reliabilityTogether(deciding, claim);
    const worth = lowAverage(raises) * (roughAlone ? kRoughAlone : 1);
    if (deciding.every((p) => hasFlag(p.claim, "uncalibrated"))) {
      // The app's mean of this claim: that of another claim is not recorded, but seldom differs.
      const mean = toNumber(claim.min_avg_pfc);
      const flops = toNumber(claim.facts.fpops_est) * (mean > 0 ? mean : 1) * reliabilityAlone(claim);
      const byDefault = flops * creditOfFlop(parts, Infinity);
      if (worth > byDefault && !near(worth, byDefault)) return done("new_hosts", byDefault, reliability);
    }
    if (roughAlone) return done("rough_alone", worth, reliability);
    return done(raises.length === 1 ? "own" : "low_average", worth, reliability);
  }
  if (claim.policy === "creditnew-v2") return done(counting.length === 1 ? "own" : "min", combine(counting, "min"));
  if (claim.policy === "creditnew") {
    const single = parts.length === 1 && (claim.awaited_claims ?? 1) <= 1;
    const trusted = counting.filter((p) => {
      for (const flag of ["anonymous_platform", "on_probation"] as const) {
        if (!single && hasFlag(p.claim, flag)) leave([p], flag);
      }
      return p.claim.leftOut === null;
    });
    if (trusted.length > 0) return done(trusted.length === 1 ? "own" : "average", combine(trusted, "average"));
    return given("estimate");
  }
  if (claim.policy === "assigned") {
    const canonical = counting.find((p) => p.claim.result !== undefined && p.claim.result === grant.canonical_result);
    if (canonical && near(canonical.claim.claimed, granted)) {
      leave(counting.filter((p) => p !== canonical && !near(p.claim.claimed, granted)), "not_canonical");
      return done("named", share([canonical], [1]));
    }
  }
  // The app's setting selects one of these rules: the rule that gives the granted credit.
  for (const rule of ["average", "min", "median"] as const) {
    clear(counting);
    const settled = done(counting.length === 1 ? "own" : rule, combine(counting, rule));
    if (settled.agrees) return settled;
  }
  return given("unknown");
}

// The factors of one claim, recomputed from the claim's recorded inputs. They are shown only if their product equals the claim in
// the ledger. The rules are those of common/credit (boinc.cc, creditnew.cc, creditnew_v2.cc, robust.cc,
// simple_policies.cc).
import { toNumber } from "../base/format";
import type { Claim } from "../base/types";

const kPlaceholderSpeed = 1e9; // FLOP/s: the value of BOINC's scheduler for an unknown device
const kAssumedSpeed = 4.3e9; // FLOP/s, used instead
const kNoElapsedTime = 1e-6; // s
const kFlopsPerGflopsDay = 86400e9;
const kSampleLimit = 10; // robust: a job counts for at most so many average jobs of its host, by default
const kUnlike = 2; // robust: the version's average counts beside that of a host with enough results within this factor
const kAddedResults = 10; // robust: so many results of the version's average count beside the host's, by default
const kTolerance = 1e-9; // relative: rounding of a few products

export type TimeUsed = "elapsed" | "cpu" | "wall";
export type SpeedUsed = "peak" | "limited" | "assumed" | "benchmark";
export type Basis =
  | { kind: "work"; seconds: number; time: TimeUsed; speed: number; speedUsed: SpeedUsed }
  | { kind: "estimate"; estimate: number; mean: number | null }
  | { kind: "counted"; flops: number }
  | { kind: "named"; credit: number }
  | { kind: "nothing" };

export interface Factor {
  what: "version" | "host" | "multiplier" | "bound" | "cut" | "estimate" | "reliability"; // cut: to a multiple of the average
  beside?: "version" | "app"; // with whose average `bottom` is compared
  value: number; // of a cut: the multiple
  top: number; // numerator of the quotient; NaN: none
  bottom: number;
  limited: boolean; // the policy limits the quotient
  flops: number; // the claimed FLOPs after this factor
}

export interface Price {
  basis: Basis;
  raw: number; // FLOPs before any scale
  factors: Factor[];
  flops: number; // the claimed PFC
  bound: number | null; // FLOPs: the bound that cut the claim
  budget: number | null; // FLOPs: what the budget of policy robust left, if that cut the claim
  credit: number; // Cobblestones claimed
  perGflopsDay: number; // Cobblestones of a day of 1 GFLOPS; NaN: not in the claim
  agrees: boolean; // the product of the factors equals the claim in the ledger
}

export function near(a: number, b: number, tolerance = kTolerance): boolean {
  return a === b || Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));
}

export function hasFlag(claim: { flags: string[] }, flag: string): boolean {
  return claim.flags.includes(flag);
}

function workOf(claim: Claim): Basis {
  const facts = claim.facts;
  const elapsed = toNumber(facts.elapsed_time_s);
  const cpu = toNumber(facts.cpu_time_s);
  const peak = toNumber(facts.peak_flops);
  if (claim.policy === "boinc" || claim.policy === "runtime") {
    const plain = claim.policy === "runtime" && !hasFlag(claim, "late");
    const useCpu = !plain && elapsed < kNoElapsedTime;
    const assumed = peak === kPlaceholderSpeed || (!plain && peak <= 0);
    return {
      kind: "work",
      seconds: useCpu ? cpu : elapsed,
      time: useCpu ? "cpu" : "elapsed",
      speed: assumed ? kAssumedSpeed : peak,
      speedUsed: assumed ? "assumed" : "peak",
    };
  }
  const useCpu = elapsed === 0;
  let seconds = useCpu ? cpu : elapsed;
  let time: TimeUsed = useCpu ? "cpu" : "elapsed";
  const sent = toNumber(facts.sent_time);
  const received = toNumber(facts.received_time);
  if (sent > 0 && received > 0 && seconds > Math.max(0, received - sent)) {
    seconds = Math.max(0, received - sent);
    time = "wall";
  }
  const limited = toNumber(facts.benchmark);
  return { kind: "work", seconds, time, speed: limited, speedUsed: limited < peak ? "limited" : "peak" };
}

function basisOf(claim: Claim): Basis {
  const facts = claim.facts;
  if (claim.mode === "none" || hasFlag(claim, "no_claim")) return { kind: "nothing" };
  switch (claim.mode) {
    case "benchmark": {
      const speed = toNumber(facts.benchmark);
      const pfc = toNumber(claim.pfc);
      const cpu = toNumber(facts.cpu_time_s);
      const limited = hasFlag(claim, "clamped") && speed > 0;
      return { kind: "work", seconds: limited ? Math.min(cpu, pfc / speed) : cpu, time: "cpu", speed, speedUsed: "benchmark" };
    }
    case "reported_flops":
      return { kind: "counted", flops: Math.min(toNumber(facts.reported), toNumber(facts.fpops_bound)) };
    case "assigned":
      return { kind: "named", credit: toNumber(facts.reported) };
  }
  const anonymous = hasFlag(claim, "anonymous_platform");
  const guessed = claim.policy === "robust" ? !hasFlag(claim, "host_scale_applied") && !hasFlag(claim, "version_scale_applied") :
    claim.mode === "workunit_estimate" ||
    claim.mode === "default_pfc" ||
    (anonymous && !hasFlag(claim, "host_scale_applied") && claim.policy !== "runtime");
  if (!guessed) return workOf(claim);
  const mean = toNumber(claim.min_avg_pfc);
  return { kind: "estimate", estimate: toNumber(facts.fpops_est), mean: mean > 0 ? mean : null };
}

function rawOf(basis: Basis, claim: Claim): number {
  switch (basis.kind) {
    case "work": return basis.seconds * basis.speed;
    case "estimate": return basis.estimate * (basis.mean ?? 1);
    case "counted": return basis.flops;
    default: return toNumber(claim.pfc);
  }
}

function factorsOf(claim: Claim, raw: number, flops: number): Factor[] {
  const factors: Factor[] = [];
  let so_far = raw;
  if (hasFlag(claim, "version_scale_applied")) {
    const value = toNumber(claim.version_scale);
    so_far *= value;
    const bottom = toNumber(claim.version_average.mean);
    factors.push({ what: "version", value, top: toNumber(claim.min_avg_pfc), bottom, limited: false, flops: so_far });
  }
  if (hasFlag(claim, "host_scale_applied")) {
    const byApp = claim.policy === "creditnew-v2" || hasFlag(claim, "anonymous_platform");
    const top = toNumber(byApp ? claim.min_avg_pfc : claim.version_average.mean);
    const bottom = toNumber(claim.host_average_before.mean);
    const whole = top / bottom;
    // The policy's limit is not recorded in the claim; it is derived from the claimed amount.
    const used = so_far > 0 ? flops / so_far : whole;
    const limited = !near(used, whole) && used < whole;
    const value = limited ? used : whole;
    so_far *= value;
    factors.push({ what: "host", beside: byApp ? "app" : "version", value, top, bottom, limited, flops: so_far });
  }
  const multiplier = flops / so_far;
  if ((claim.mode === "benchmark" || claim.mode === "reported_flops") && so_far > 0 && !near(multiplier, 1)) {
    factors.push({ what: "multiplier", value: multiplier, top: NaN, bottom: NaN, limited: false, flops });
  }
  return factors;
}

// The average with which policy `robust` compares a job. How many results of the version's average count beside the host's is not
// recorded in the claim; it is derived from `average`, what the claimed amount says, unless that is NaN. NaN: impossible.
function comparedWith(claim: Claim, average: number): number {
  const own = toNumber(claim.host_average_before.mean);
  if (!hasFlag(claim, "version_scale_applied")) return own;
  const samples = toNumber(claim.host_average_before.n);
  const version = toNumber(claim.version_average.mean);
  if (samples === 0) return version;
  const counted = hasFlag(claim, "rough_average") ? version : Math.min(Math.max(version, own / kUnlike), own * kUnlike);
  if (Number.isNaN(average)) return counted + (own - counted) * (samples / (samples + kAddedResults));
  const between = Math.min(own, version) * (1 - kTolerance) <= average && average <= Math.max(own, version) * (1 + kTolerance);
  return between ? average : NaN;
}

// The factor of policy `robust` on a claim. Where several computers do the job, reliability counts for the award only.
export function reliabilityAlone(claim: Claim): number {
  return (claim.awaited_claims ?? 1) > 1 ? 1 : toNumber(claim.reliability ?? 1);
}

// The factors of policy `robust` up to the budget. The multiple to which a job is cut is not recorded in the claim; it is derived from
// the claimed amount, unless the budget has cut that.
function robustFactors(claim: Claim, basis: Basis, raw: number, flops: number): Factor[] {
  const factors: Factor[] = [];
  const reliability = reliabilityAlone(claim);
  const mean = toNumber(claim.min_avg_pfc);
  const top = mean > 0 ? mean : 1;
  let so_far = raw;
  if (basis.kind === "work") {
    const estimate = toNumber(claim.facts.fpops_est);
    const own = !hasFlag(claim, "version_scale_applied");
    const bound = toNumber(claim.facts.fpops_bound);
    if (so_far > bound && bound > 0) {
      so_far = bound;
      factors.push({ what: "bound", value: NaN, top: NaN, bottom: NaN, limited: true, flops: so_far });
    }
    const cut = hasFlag(claim, "one_time_cheat");
    const bottom = comparedWith(claim, cut || !(flops > 0) ? NaN : (so_far * top * reliability) / flops);
    if (cut) {
      const expected = estimate * top * reliability;
      const multiple = hasFlag(claim, "over_budget") || !(expected > 0) ? kSampleLimit : Number((flops / expected).toPrecision(12));
      so_far = multiple * bottom * estimate;
      factors.push({ what: "cut", value: multiple, top: NaN, bottom: NaN, limited: true, flops: so_far });
    }
    if (own || mean > 0) {
      so_far *= top / bottom;
      factors.push({ what: own ? "host" : "version", beside: "app", value: top / bottom, top, bottom, limited: false, flops: so_far });
    } else if (so_far > estimate) {
      so_far = estimate;
      factors.push({ what: "estimate", value: NaN, top: NaN, bottom: NaN, limited: true, flops: so_far });
    }
  }
  so_far *= reliability;
  factors.push({ what: "reliability", value: reliability, top: NaN, bottom: NaN, limited: false, flops: so_far });
  return factors;
}

function robustPrice(claim: Claim, basis: Basis): Price {
  const raw = rawOf(basis, claim);
  const flops = toNumber(claim.pfc);
  const credit = toNumber(claim.claimed);
  const factors = basis.kind === "nothing" ? [] : robustFactors(claim, basis, raw, flops);
  const product = factors.length > 0 ? factors[factors.length - 1]!.flops : raw;
  const budget = hasFlag(claim, "over_budget") ? toNumber(claim.budget ?? NaN) : null;
  const cut = factors.find((f) => f.what === "cut");
  const was_more = cut === undefined || raw >= cut.flops * (1 - kTolerance);
  const agrees = was_more && (budget === null ? near(product, flops) : near(budget, flops) && product >= flops * (1 - kTolerance));
  return {
    basis, raw, factors, flops, bound: null, budget, credit,
    perGflopsDay: basis.kind === "nothing" ? NaN : (credit / flops) * kFlopsPerGflopsDay,
    agrees: basis.kind === "nothing" || agrees,
  };
}

export function priceOf(claim: Claim): Price {
  const basis = basisOf(claim);
  if (claim.policy === "robust") return robustPrice(claim, basis);
  const flops = toNumber(claim.pfc);
  const credit = toNumber(claim.claimed);
  const raw = rawOf(basis, claim);
  const factors = basis.kind === "work" || basis.kind === "counted" ? factorsOf(claim, raw, flops) : [];
  const limit = toNumber(claim.facts.fpops_bound);
  // BOINC cuts the claim; credit by run time cuts values far above the bound before it claims.
  const asBoinc = claim.policy === "boinc" || (claim.policy === "runtime" && hasFlag(claim, "late"));
  const cut = (asBoinc && flops > limit) || (claim.policy === "runtime" && raw > flops && near(flops, limit));
  const counted = cut ? limit : flops;
  const last = factors.length > 0 ? factors[factors.length - 1]!.flops : raw;
  const product = near(last, flops) || (claim.policy === "runtime" && near(flops, limit));
  return {
    basis,
    raw,
    factors,
    flops,
    bound: cut ? limit : null,
    budget: null,
    credit,
    perGflopsDay: basis.kind === "named" || basis.kind === "nothing" ? NaN : (credit / counted) * kFlopsPerGflopsDay,
    agrees: basis.kind === "named" || basis.kind === "nothing" || product,
  };
}

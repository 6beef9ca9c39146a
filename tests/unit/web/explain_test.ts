// Explanations of grants that the pipeline made. data/grants.jsonl has one grant of each kind that traffic under
// all policies and the golden histories gave, as `cobblestone explain --json` printed it. An explanation must
// agree with the ledger.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseJson } from "../../../services/gateway/web/src/base/json";
import type { Grant } from "../../../services/gateway/web/src/base/types";
import { countedWords, explain } from "../../../services/gateway/web/src/rules/explain";
import { near, priceOf } from "../../../services/gateway/web/src/rules/price";
import { settle } from "../../../services/gateway/web/src/rules/settle";
import { marksOf, modeWords } from "../../../services/gateway/web/src/rules/words";

declare const TEST_DATA: string;

interface RecordedGrant {
  rule: string;
  basis: string;
  cut: boolean;
  bounded: boolean;
  grant: Grant;
}

const recorded = readFileSync(`${TEST_DATA}/grants.jsonl`, "utf8").trim().split("\n")
  .map((line) => parseJson(line) as RecordedGrant);
const nameOf = (k: RecordedGrant) =>
  `${k.grant.claim!.policy} ${k.grant.claim!.mode} ${k.rule}, result ${k.grant.result}`;

function grantOf(result: number, policy = "boinc"): Grant {
  const found = recorded.find((k) => k.grant.result === result && k.grant.claim!.policy === policy);
  assert.ok(found, `result ${result} is among the data`);
  return structuredClone(found.grant);
}

test("there is a grant of every policy and of every rule", () => {
  assert.deepEqual([...new Set(recorded.map((k) => k.grant.claim!.policy))].sort(),
    ["assigned", "benchmark", "boinc", "creditnew", "creditnew-v2", "none", "reported-flops", "robust", "runtime"]);
  for (const rule of ["late", "own", "normal", "lone_normal", "approximate", "average", "min", "low_average", "rough_alone", "new_hosts", "named", "estimate", "nothing", "none_left"]) {
    assert.ok(recorded.some((k) => k.rule === rule), rule);
  }
});

test("the factors of each claim give the values of the ledger", () => {
  for (const k of recorded) {
    const price = priceOf(k.grant.claim!);
    assert.ok(price.agrees, nameOf(k));
    assert.equal(price.basis.kind, k.basis, nameOf(k));
    assert.equal(price.bound !== null, k.bounded, nameOf(k));
    if (Number.isFinite(price.perGflopsDay) && price.credit > 0) assert.ok(near(price.perGflopsDay, 200), nameOf(k));
  }
});

test("the rule gives the granted credit again from the recorded claims", () => {
  for (const k of recorded) {
    const settled = settle(k.grant, k.grant.claim!);
    assert.equal(settled.rule, k.rule, nameOf(k));
    assert.equal(settled.cap !== null, k.cut, nameOf(k));
    const counting = settled.claims.filter((c) => c.share !== null);
    if (counting.length === 0) continue;
    const granted = Number(k.grant.credit_before_rounding);
    assert.ok(near(counting.reduce((sum, c) => sum + c.share!, 0), 1), `${nameOf(k)}: shares`);
    const mean = counting.reduce((sum, c) => sum + c.share! * c.claimed, 0);
    if (settled.rule === "new_hosts") {
      const most = (Number(k.grant.claim!.facts.fpops_est) * Number(k.grant.claim!.min_avg_pfc) * 200) / 86400e9;
      assert.ok(near(most * settled.reliability, granted) && mean > granted, `${nameOf(k)}: ${most}, not ${granted}`);
      assert.match(textOf(k.grant, "replicas").sentences.join(" "), /No computer whose claim counts has ten results.*the project's estimate/);
      continue;
    }
    const counted = (settled.rule === "rough_alone" ? 0.8 * mean : mean) * settled.reliability;
    assert.ok(near(settled.cap ?? counted, granted), `${nameOf(k)}: ${counted}, not ${granted}`);
  }
});

test("a grant that does not follow from its claims is explained without a rule", () => {
  for (const k of recorded) {
    if (k.rule === "late" || k.rule === "estimate" || k.rule === "nothing" || k.rule === "none_left") continue;
    const wrong = structuredClone(k.grant);
    wrong.credit_before_rounding = String(Number(wrong.credit_before_rounding) * 1.001 + 1);
    const settled = settle(wrong, wrong.claim!);
    assert.equal(settled.rule, "unknown", nameOf(k));
    assert.ok(settled.claims.every((c) => c.share === null), nameOf(k));
  }
  const approximate = recorded.find((k) => k.basis === "work" && k.grant.claim!.mode === "approximate")!;
  const claim = structuredClone(approximate.grant.claim!);
  claim.pfc = Number(claim.pfc) * 1.01;
  claim.flags = ["valid"];
  assert.equal(priceOf(claim).agrees, false);
});

test("a claim with both corrections counts twice, and less the farther it is from the usual value", () => {
  // Calculated by hand: the anchor is 8e13 x 3.6456478833121904 = 2.9165e14 FLOPs, and both claims are below it.
  const k = recorded.find((one) => one.rule === "lone_normal" && one.grant.other_claims.length === 1)!;
  const claim = k.grant.claim!;
  const settled = settle(k.grant, claim);
  const bound = Number(claim.facts.fpops_bound);
  const anchor = Number(claim.facts.fpops_est) * (Number(claim.min_avg_pfc) || 1);
  const weight = (pfc: number) => 1 / (0.1 * anchor + Math.abs(anchor - Math.min(pfc, bound)));
  const own = weight(Number(claim.pfc)) * (claim.mode === "normal" ? 2 : 1);
  const other = weight(Number(k.grant.other_claims[0]!.pfc)) * (claim.mode === "normal" ? 1 : 2);
  assert.ok(near(settled.claims[0]!.share!, own / (own + other)));
});

test("each step has a sentence, and its short and exact forms agree", () => {
  for (const k of recorded) {
    const short = explain(k.grant, false);
    const exact = explain(k.grant, true);
    assert.deepEqual(short.steps.map((s) => s.id), exact.steps.map((s) => s.id));
    assert.equal(short.steps[short.steps.length - 1]!.id, "postings");
    for (const step of [...short.steps, ...exact.steps]) {
      assert.ok(step.sentences.length > 0 && step.sentences.every((s) => /[.:]$/.test(s)), `${nameOf(k)}: ${step.id}: ${step.sentences.join("|")}`);
      const text = JSON.stringify(step);
      assert.ok(!/undefined|null|\bNaN\b|not a number|\[object/.test(text), `${nameOf(k)}: ${text}`);
    }
    assert.ok(!short.headline.includes("undefined"), nameOf(k));
    const credit = exact.steps.find((s) => s.id === "credit")!;
    assert.equal(credit.terms[1]!.value.replace(/,/g, ""), k.grant.credit, nameOf(k));
    assert.equal(credit.terms[0]!.value, String(k.grant.credit_before_rounding));
  }
});

test("a host is compared with its version, or with the app on the anonymous platform", () => {
  const scalesText = (anonymous: boolean) => {
    const one = recorded.find(({ grant: { claim } }) => claim!.policy === "boinc" && claim!.flags.includes("host_scale_applied") &&
      claim!.flags.includes("anonymous_platform") === anonymous);
    return explain(one!.grant, false).steps.find((s) => s.id === "scales")!.sentences.join(" ");
  };
  assert.match(scalesText(false), /others with this version/);
  assert.match(scalesText(true), /jobs of this app usually do/);
});

test("late results, pending postings and expired postings are explained as such", () => {
  const late = recorded.find((k) => k.rule === "late")!.grant;
  assert.match(explain(late, false).headline, /came late/);
  const waits = structuredClone(late);
  waits.waits_for = "the event of the user has not arrived yet";
  assert.match(explain(waits, false).steps.pop()!.sentences[0]!, /waits: the event of the user has not arrived yet/);
  const expired = structuredClone(late);
  expired.expired = "the event of the user did not arrive in time: only the host has the credit";
  assert.match(explain(expired, false).steps.pop()!.sentences[0]!, /did not arrive in time: only the host has the credit/);
});

test("a grant without a claim still shows the credit and the accounts", () => {
  const bare = structuredClone(recorded[0]!.grant);
  delete bare.claim;
  assert.deepEqual(explain(bare, false).steps.map((s) => s.id), ["credit", "postings"]);
});

test("the reason why a claim does not count is given in words", () => {
  const grant = grantOf(Number(recorded.find((k) => k.rule === "normal")!.grant.result));
  grant.other_claims.push({ result: 1, host: 2, mode: "approximate", flags: ["valid", "anonymous_platform"], pfc: 1e12, claimed: 2 });
  const settled = settle(grant, grant.claim!);
  assert.match(countedWords(settled.claims[settled.claims.length - 1]!, settled.rule), /does not count beside claims that have both/);
  assert.deepEqual(marksOf(["valid", "late", "one_time_cheat", "no_such_flag"]).map((m) => [m.name, m.warns]), [["Late", false], ["Far out of line", true]]);
});

test("payments while the job ran are subtracted in a separate term", () => {
  const k = structuredClone(recorded.find((one) =>
    one.basis === "work" && !one.grant.late && one.grant.other_claims.length === 0)!);
  const before = explain(k.grant, true).steps.find((s) => s.id === "credit")!.terms;
  k.grant.claim!.paid_by_trickles = [{ user: "1", credit: "10.000001" }, { user: "2", credit: "2.500000" }];
  const explained = explain(k.grant, true);
  const terms = explained.steps.find((s) => s.id === "credit")!.terms;
  assert.deepEqual(terms.map((one) => one.op), ["", "−", "→"]);
  assert.equal(terms[1]!.value, "12.500001");
  assert.deepEqual([terms[0], terms[2]], before);
  assert.match(explained.headline, /beyond what had been paid while it ran/);
});

function robustGrant(wanted: string[], unwanted: string[] = [], replicated?: boolean): Grant {
  const found = recorded.find(({ grant: { claim } }) => claim!.policy === "robust" && claim!.flags.every((f) => !unwanted.includes(f)) &&
    (replicated === undefined || replicated === ((claim!.awaited_claims ?? 1) > 1)) &&
    wanted.every((f) => claim!.flags.includes(f)));
  assert.ok(found, wanted.join(" "));
  return structuredClone(found.grant);
}

const textOf = (grant: Grant, step: string) => explain(grant, false).steps.find((s) => s.id === step)!;

test("robust: work x this computer x reliability, beside the app's mean", () => {
  const grant = robustGrant(["host_scale_applied"], ["over_budget", "one_time_cheat", "late"], false);
  const claim = grant.claim!;
  const price = priceOf(claim);
  assert.deepEqual(price.factors.map((f) => f.what), ["host", "reliability"]);
  assert.ok(price.agrees);
  const work = Number(claim.facts.benchmark) * Number(claim.facts.elapsed_time_s);
  const mean = Number(claim.min_avg_pfc) || 1;
  assert.ok(near(work * mean / Number(claim.host_average_before.mean) * Number(claim.reliability), Number(claim.pfc)));
  const scales = textOf(grant, "scales");
  assert.match(scales.sentences.join(" "), /jobs of this app usually do.*for reliability: [\d.]+ % of this computer's recent jobs/);
  assert.deepEqual(scales.terms.map((one) => one.op), ["", "×", "×", "="]);
  for (const [name, factor] of [["reliability", 1.001], ["pfc", 0.999]] as const) {
    const wrong = structuredClone(claim);
    wrong[name] = Number(wrong[name]) * factor;
    assert.equal(priceOf(wrong).agrees, false, name);
  }
});

test("robust: failures do not count for a replicated result", () => {
  const grant = robustGrant(["version_scale_applied"], ["one_time_cheat", "late"], true);
  grant.claim!.reliability = 0.7;
  const price = priceOf(grant.claim!);
  assert.ok(price.agrees);
  assert.equal(price.factors[price.factors.length - 1]!.value, 1);
  assert.match(textOf(grant, "scales").sentences.join(" "), /several computers did this job/);
});

test("robust: work above the workunit's limit counts as the limit", () => {
  const grant = robustGrant(["host_scale_applied"], ["over_budget", "one_time_cheat", "late"], false);
  const claim = grant.claim!;
  const work = Number(claim.facts.benchmark) * Number(claim.facts.elapsed_time_s);
  claim.facts.fpops_bound = work / 2;
  claim.pfc = Number(claim.pfc) / 2;
  const price = priceOf(claim);
  assert.deepEqual(price.factors.map((f) => f.what), ["bound", "host", "reliability"]);
  assert.ok(price.agrees);
  assert.match(textOf(grant, "scales").sentences[0]!, /more than the workunit's limit/);
  assert.equal(textOf(grant, "scales").terms[1]!.op, "→");
});

test("robust: a new host or an insane result earns the estimate", () => {
  const fresh = robustGrant(["uncalibrated"], ["sanity_check_failed", "version_scale_applied"]);
  assert.match(textOf(fresh, "work").sentences.join(" "), /This host is new to this app:.*until ten results with one version have been averaged.*With this version there are \d+ so far/);
  assert.deepEqual(textOf(fresh, "scales").terms.map((one) => one.label).slice(1), ["reliability", "work claimed"]);
  const insane = robustGrant(["sanity_check_failed"], ["uncalibrated"]);
  assert.equal(priceOf(insane.claim!).basis.kind, "estimate");
  const text = textOf(insane, "work").sentences.join(" ");
  assert.match(text, /infinite or no number/);
  assert.ok(!text.includes("new to this"), text);
});

test("robust: a job is cut at ten times its host's average", () => {
  const grant = robustGrant(["one_time_cheat"], ["over_budget", "version_scale_applied"]);
  const price = priceOf(grant.claim!);
  assert.ok(price.factors[0]!.what === "cut" && near(price.factors[0]!.value, 10), String(price.factors[0]!.value));
  const average = Number(grant.claim!.host_average_before.mean) * Number(grant.claim!.facts.fpops_est);
  assert.ok(near(price.factors[0]!.flops, 10 * average));
  assert.match(textOf(grant, "scales").sentences[0]!, /more than 10 average jobs of its computer/);
  const smaller = structuredClone(grant.claim!);
  smaller.facts.elapsed_time_s = 1; // then there was nothing to cut
  assert.equal(priceOf(smaller).agrees, false);
});

test("robust: the budget cuts a claim to what it left", () => {
  for (const grant of [robustGrant(["over_budget", "one_time_cheat"]), robustGrant(["over_budget"], ["one_time_cheat"])]) {
    const price = priceOf(grant.claim!);
    assert.ok(price.budget !== null && near(price.budget, Number(grant.claim!.pfc)));
    assert.ok(price.agrees);
    const scales = textOf(grant, "scales");
    assert.match(scales.sentences.join(" "), /may add up to little more.*so this claim is cut there/);
    assert.deepEqual(scales.terms.slice(-2).map((one) => one.op), ["→", "="]);
    const wrong = structuredClone(grant.claim!);
    wrong.budget = Number(wrong.budget) * 1.01;
    assert.equal(priceOf(wrong).agrees, false);
  }
});

test("robust: a new host's replicated result is compared with the average of the version", () => {
  const grant = robustGrant(["version_scale_applied"], ["one_time_cheat", "clamped"]);
  const claim = grant.claim!;
  claim.min_avg_pfc = 0.5;
  claim.version_average = { n: 230, mean: 2.5 };
  claim.host_average_before = { n: 0, mean: 0 };
  claim.reliability = 1;
  claim.pfc = (Number(claim.facts.benchmark) * Number(claim.facts.elapsed_time_s) * 0.5) / 2.5;
  const price = priceOf(claim);
  assert.ok(price.agrees);
  assert.deepEqual(price.factors.map((f) => f.what), ["version", "reliability"]);
  assert.match(textOf(grant, "scales").sentences[0]!, /× 0.2000 for the app version: this computer is new to it.*2.500 beside 0.5000/);
  // The first results of an app.
  claim.min_avg_pfc = 0;
  claim.facts.fpops_est = Number(claim.facts.benchmark) * Number(claim.facts.elapsed_time_s) / 3;
  claim.pfc = claim.facts.fpops_est;
  assert.ok(priceOf(claim).agrees);
  assert.deepEqual(priceOf(claim).factors.map((f) => f.what), ["estimate", "reliability"]);
  assert.match(textOf(grant, "scales").sentences[0]!, /no job counts for more than its size estimate/);
  claim.pfc = Number(claim.pfc) * 2;
  assert.equal(priceOf(claim).agrees, false);
});

test("robust: a single result of a host that is new to the version only is compared with the average of the version", () => {
  const grant = robustGrant(["version_scale_applied", "uncalibrated"], ["one_time_cheat", "clamped", "host_scale_applied"]);
  const claim = grant.claim!;
  claim.flags = claim.flags.filter((flag) => flag !== "uncalibrated");
  claim.awaited_claims = 1;
  claim.min_avg_pfc = 0.5;
  claim.version_average = { n: 230, mean: 2.5 };
  claim.host_average_before = { n: 5, mean: 1 };
  claim.reliability = 0.9;
  claim.failure_rate = 0.07;
  claim.pfc = (Number(claim.facts.benchmark) * Number(claim.facts.elapsed_time_s) * 0.5 * 0.9) / 2; // (5 x 1 + 10 x 2.5) / 15
  assert.ok(priceOf(claim).agrees);
  assert.deepEqual(priceOf(claim).factors.map((f) => f.what), ["version", "reliability"]);
  assert.match(textOf(grant, "scales").sentences.join(" "),
    /× 0.2500 for app version and computer: this computer is new to the version, but not to the app. This one has done 5 .*7.000 % of this computer's recent jobs/);
  // The version has no average yet: the estimate.
  claim.flags = ["valid"];
  const text = textOf(grant, "work").sentences.join(" ");
  assert.match(text, /new to this app version, and too few results of the version have been averaged/);
});

test("robust: a replicated result is compared with an average of host and version", () => {
  const grant = robustGrant(["version_scale_applied", "host_scale_applied"], ["one_time_cheat", "clamped"]);
  const claim = grant.claim!;
  assert.ok(priceOf(claim).agrees);
  claim.min_avg_pfc = 0.5;
  claim.version_average = { n: 230, mean: 2.5 };
  claim.host_average_before = { n: 30, mean: 0.5 };
  const work = Number(claim.facts.benchmark) * Number(claim.facts.elapsed_time_s);
  claim.pfc = (work * 0.5) / 0.625; // (30 x 0.5 + 10 x 1) / 40: from 30 results on the version counts as twice the host at most
  assert.ok(priceOf(claim).agrees);
  assert.match(textOf(grant, "scales").sentences[0]!, /× 0.8000 for app version and computer.*has done 30 with this version.*0.6250 beside 0.5000/);
  claim.host_average_before = { n: 10, mean: 0.5 };
  claim.flags.push("rough_average");
  claim.pfc = (work * 0.5) / 1.5; // (10 x 0.5 + 10 x 2.5) / 20: in full before
  assert.ok(priceOf(claim).agrees);
  claim.host_average_before = { n: 30, mean: 0.5 };
  claim.flags.pop();
  claim.pfc = (work * 0.5) / 2.6; // not between the two
  assert.equal(priceOf(claim).agrees, false);
  // A job that is cut does not tell the average; by default ten results of the version count.
  claim.flags.push("one_time_cheat");
  claim.facts.fpops_est = work / 100;
  claim.pfc = 0.5 * claim.facts.fpops_est * 10;
  assert.ok(near(priceOf(claim).factors[0]!.flops, 6.25 * claim.facts.fpops_est));
  assert.match(textOf(grant, "scales").sentences[0]!, /more than 10 average jobs of its app version and computer/);
});

test("robust: a claim from the estimate counts only without one from a measurement", () => {
  const measured = ["host_scale_applied", "version_scale_applied"];
  const mixed = recorded.find(({ grant: { claim, other_claims } }) => claim!.policy === "robust" && !claim!.flags.some((flag) => measured.includes(flag)) &&
    other_claims.some((other) => other.flags.some((flag) => measured.includes(flag))))!.grant;
  const settled = settle(mixed, mixed.claim!);
  assert.equal(settled.claims[0]!.leftOut, "unmeasured");
  assert.match(countedWords(settled.claims[0]!, settled.rule), /from the size estimate: does not count/);
  // 10 and 12: the low average is (10 x 12 + 12 x 10) / 22.
  const two = structuredClone(mixed);
  two.claim!.claimed = 10;
  two.claim!.pfc = (Number(two.claim!.facts.fpops_est) * Number(two.claim!.min_avg_pfc)) / 10; // the default is 100
  two.claim!.flags = ["valid", "uncalibrated"];
  two.other_claims = [{ result: 1, host: 2, mode: "approximate", flags: ["valid", "uncalibrated"], pfc: 1, claimed: 12 }];
  two.credit_before_rounding = String(120 / 11);
  assert.equal(settle(two, two.claim!).rule, "low_average");
  assert.equal(settle(two, two.claim!).claims[0]!.leftOut, null);
  // A claim that is more than 1.3 times the lowest does not count.
  two.other_claims[0]!.claimed = 20;
  two.credit_before_rounding = "10";
  const lowest = settle(two, two.claim!);
  assert.equal(lowest.rule, "own");
  assert.equal(lowest.claims[1]!.leftOut, "too_high");
  assert.match(countedWords(lowest.claims[1]!, lowest.rule), /more than 1.3 times the lowest/);
  // One of a host that fails often does not count beside a lower one of another.
  two.other_claims[0]!.claimed = 12;
  two.other_claims[0]!.flags = ["valid", "uncalibrated", "unreliable"];
  const doubted = settle(two, two.claim!);
  assert.equal(doubted.rule, "own");
  assert.equal(doubted.claims[1]!.leftOut, "unreliable");
  assert.match(countedWords(doubted.claims[1]!, doubted.rule), /fails too often: does not count/);
  assert.deepEqual(marksOf(["unreliable"], "robust").map((m) => m.name), ["Fails often"]);
  two.other_claims[0]!.flags = ["valid", "uncalibrated"];
  two.other_claims[0]!.claimed = 20;
  // It is imprecise and left alone: four fifths of it.
  two.claim!.flags = ["valid", "uncalibrated", "rough_average"];
  two.credit_before_rounding = "8";
  const alone = settle(two, two.claim!);
  assert.equal(alone.rule, "rough_alone");
  assert.ok(alone.agrees);
  assert.match(textOf(two, "replicas").sentences.join(" "), /imprecise.*get four fifths of it: 8/);
  assert.match(countedWords(alone.claims[0]!, alone.rule), /decides/);
  // A claim can be 0; two of them have no weights.
  two.claim!.claimed = two.other_claims[0]!.claimed = 0;
  two.credit_before_rounding = "0";
  assert.equal(settle(two, two.claim!).rule, "low_average");
});

test("robust: computers that all fail often do not vouch for each other", () => {
  const grant = structuredClone(recorded.find((one) => settle(one.grant, one.grant.claim!).reliability < 1)!.grant);
  const claim = grant.claim!;
  const settled = settle(grant, claim);
  assert.equal(settled.rule, "low_average");
  assert.equal(settled.reliability, [claim, ...grant.other_claims].reduce((product, one) => product * Number(one.reliability) ** 2, 1));
  assert.ok(settled.reliability < 0.85);
  assert.match(textOf(grant, "replicas").sentences.join(" "), /All computers whose claims count are new or fail often/);
  // Claims of 12 and 10 make 120/11; the reliabilities are 0.5 and 0.25.
  grant.other_claims = grant.other_claims.slice(0, 1);
  const other = grant.other_claims[0]!;
  claim.awaited_claims = 2;
  claim.claimed = 12;
  other.claimed = 10;
  claim.flags = other.flags = ["valid", "host_scale_applied", "unreliable", "rough_average"];
  claim.reliability = 0.5;
  other.reliability = 0.25;
  const given = (credit: number): [string, number] => {
    grant.credit_before_rounding = String(credit);
    const { rule, reliability } = settle(grant, claim);
    return [rule, reliability];
  };
  assert.deepEqual(given(1.875 / 11), ["low_average", 0.015625]);
  assert.match(textOf(grant, "replicas").sentences.join(" "), /10.91.*multiplied by 0.0156\d*, the square of the product of their reliabilities: 0.17/);
  // A computer with many results that returns most of its work vouches.
  claim.flags = ["valid", "host_scale_applied", "unreliable"];
  assert.deepEqual(given(120 / 11), ["low_average", 1]);
  assert.doesNotMatch(textOf(grant, "replicas").sentences.join(" "), /fail often/);
  claim.reliability = 0.25;
  assert.deepEqual(given(0.46875 / 11), ["low_average", 0.00390625]);
  // So does one that returns its jobs, without history.
  claim.flags = ["valid", "host_scale_applied", "rough_average"];
  claim.reliability = 0.9;
  claim.claimed = 14; // too high, so it does not count
  assert.deepEqual(given(8), ["rough_alone", 1]);
  // A claim from few results that is left alone, and the estimate of new hosts.
  claim.flags = ["valid", "host_scale_applied", "unreliable", "rough_average"];
  claim.reliability = 0.5;
  assert.deepEqual(given(0.125), ["rough_alone", 0.015625]);
  assert.match(textOf(grant, "replicas").sentences.join(" "), /four fifths of it: 8.00.*product of their reliabilities: 0.13/);
  claim.claimed = 10;
  claim.flags = other.flags = ["valid", "host_scale_applied", "unreliable", "rough_average", "uncalibrated"];
  claim.min_avg_pfc = 1;
  claim.facts.fpops_est = (5 * 86400e9) / 200;
  claim.pfc = 2 * claim.facts.fpops_est;
  assert.deepEqual(given(0.078125), ["new_hosts", 0.015625]);
  // A single result has the factor in its claim.
  claim.flags = ["valid", "host_scale_applied", "unreliable", "rough_average"];
  claim.awaited_claims = 1;
  claim.reliability = 0.25;
  grant.other_claims = [];
  assert.deepEqual(given(10), ["own", 1]);
});

// A host that hardly fails is new to a version, not to the app.
test("robust: a single result of a new host may be worth more than the estimate, by its reliability", () => {
  const grant = structuredClone(recorded.find(({ rule, grant: { claim, other_claims } }) => rule === "own" && claim!.policy === "robust" &&
    other_claims.length === 0 && claim!.flags.includes("uncalibrated"))!.grant);
  const claim = grant.claim!;
  claim.reliability = 1.02;
  claim.pfc = 1.02 * Number(claim.facts.fpops_est);
  claim.min_avg_pfc = 0;
  claim.claimed = (claim.pfc * 200) / 86400e9;
  grant.credit_before_rounding = String(claim.claimed);
  assert.equal(settle(grant, claim).rule, "own");
});

test("robust: flags and modes that mean something else", () => {
  assert.deepEqual(marksOf(["uncalibrated", "over_budget", "rising"], "robust").map((m) => [m.name, m.warns]),
    [["New host", false], ["Cut by the budget", true], ["Rising reports", true]]);
  assert.match(marksOf(["one_time_cheat"])[0]!.meaning, /probation/);
  assert.doesNotMatch(marksOf(["one_time_cheat"], "robust")[0]!.meaning, /probation/);
  assert.doesNotMatch(modeWords("normal", "robust"), /corrections/);
});

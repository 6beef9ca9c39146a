// The names of things in texts for people.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GrantRow, PartialGrant, UnpaidTrickle } from "../../../services/gateway/web/src/base/types";
import { appVersionWords, firstCreditWords, levelWords, messagesOf, movedWords, trickleWords } from "../../../services/gateway/web/src/rules/words";

test("an app version is shown with its name and its id", () => {
  const version = { app_version: 20, version_num: 103, plan_class: "cpu_3" };
  assert.equal(appVersionWords(20, version), "version 1.03 (cpu_3), id 20");
  assert.equal(appVersionWords(21, { app_version: 21, version_num: 1200, plan_class: "" }), "version 12.00, id 21");
  assert.equal(appVersionWords(20), "version 20");
  assert.equal(appVersionWords(-2), "own CPU application");
});

test("every change of an account has a name, except a plain grant", () => {
  const table: [GrantRow["kind"], string, string][] = [
    ["final", "12.000000", ""],
    ["partial", "12.000000", "trickle"],
    ["settlement", "-3.000000", "reversed"],
    ["settlement", "0.000000", "made final"],
    ["reversal", "-12.000000", "reversed"],
    ["repricing", "1.000000", "repriced"],
    ["correction", "-1.000000", "corrected"],
    ["opening", "9000.000000", "Opening balance"],
  ];
  for (const [kind, credit, words] of table) assert.equal(movedWords({ kind, credit }), words, `${kind} ${credit}`);
});

test("each message of a running job has its place and its outcome", () => {
  const paid = (k: number, bounded_by: string[] = []): PartialGrant => ({
    time: k, host: 5, variety: "orig", rule: "steps", policy_version: 1, mark_before: k, asked: k + 1, mark_after: k + 1, bounded_by,
    paid_before: "0.000000", credit: "1.000000", sent_time: 0,
  });
  const unpaid = (behind: number, outcome: UnpaidTrickle["outcome"], more: Partial<UnpaidTrickle> = {}): UnpaidTrickle => ({
    time: behind, host: 5, variety: "orig", outcome, behind, ...more,
  });
  const partials = [paid(0), paid(1, ["wall_time"])];
  const trickles = [
    unpaid(0, "refused", { refused: "NEGATIVE", reason: "steps: negative" }), unpaid(1, "set_back"), unpaid(1, "held_back", { bounded_by: ["last_step"] }),
    unpaid(2, "repeat"),
  ];
  assert.deepEqual(messagesOf(partials, trickles).map(trickleWords), [
    "refused (NEGATIVE): steps: negative", "", "below the high-water mark", "held back by last step", "held back by wall time", "same as an earlier message",
  ]);
  assert.deepEqual(messagesOf(partials, []), partials);
  assert.deepEqual(messagesOf([], [unpaid(0, "no_further")]).map(trickleWords), ["not above the high-water mark"]);
});

test("the first credit of a result that was judged invalid names the source of its amount", () => {
  const judged = { time: 1, host: 5 };
  assert.equal(firstCreditWords({ like_result: 7 }, { ...judged, worth: "3.000000" }), "what result 7 of its workunit was granted");
  assert.equal(firstCreditWords({}, { ...judged, worth: "3.000000" }), "what its own claim comes to");
  assert.equal(firstCreditWords({}, judged), "an amount that an operator has named");
});

test("a level moves up or down by a part of what it was", () => {
  assert.equal(levelWords({ x: 1.25, x_before: 1 }), "+25 %");
  assert.equal(levelWords({ x: 0.88, x_before: 1 }), "−12 %");
  assert.equal(levelWords({ x: 3.337, x_before: 3 }), "+11.2 %");
});

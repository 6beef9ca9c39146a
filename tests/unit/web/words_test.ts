// What things are called where people read it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GrantRow } from "../../../services/gateway/web/src/base/types";
import { appVersionWords, movedWords } from "../../../services/gateway/web/src/rules/words";

test("an app version has its name, and its number beside it", () => {
  const version = { app_version: 20, version_num: 103, plan_class: "cpu_3" };
  assert.equal(appVersionWords(20, version), "version 1.03 (cpu_3), id 20");
  assert.equal(appVersionWords(21, { app_version: 21, version_num: 1200, plan_class: "" }), "version 12.00, id 21");
  assert.equal(appVersionWords(20), "version 20");
  assert.equal(appVersionWords(-2), "own CPU application");
});

test("whatever moves an account is called by what it is, and a plain grant by nothing", () => {
  const table: [GrantRow["kind"], string, string][] = [
    ["final", "12.000000", ""],
    ["partial", "12.000000", "trickle"],
    ["settlement", "-3.000000", "taken back"],
    ["settlement", "0.000000", "made final"],
    ["reversal", "-12.000000", "taken back"],
    ["repricing", "1.000000", "priced anew"],
    ["correction", "-1.000000", "corrected"],
    ["opening", "9000.000000", "Brought along from before"],
  ];
  for (const [kind, credit, words] of table) assert.equal(movedWords({ kind, credit }), words, `${kind} ${credit}`);
});

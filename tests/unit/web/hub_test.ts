// A hub's page: layers of a stacked history, countries on the map, addresses, and the words for what counts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, parseRoute, type Route } from "../../../services/gateway/web/src/base/route";
import { placedOn, plainName, shadeOf } from "../../../services/gateway/web/src/hub/places";
import { bucketsOf, layersOf } from "../../../services/gateway/web/src/hub/stack";
import type { Factor, HubProject, PersonDay, Row } from "../../../services/gateway/web/src/hub/types";
import { ageWords, conditionWords, pointsWords, reachWords, sentence, standingWords, unknownWords, webAddress } from "../../../services/gateway/web/src/hub/words";
import { stacked } from "../../../services/gateway/web/src/parts/stack";

test("layers of a history are the projects by credit, and the smallest share one layer", () => {
  const day = (n: number, credit: Record<string, string>): PersonDay => ({ day: n, credit });
  const few = layersOf([day(1, { "1": "1.000000", "2": "5.000000" }), day(2, { "1": "3.500000" })]);
  assert.deepEqual(few, [{ projects: ["2"], total: "5.000000" }, { projects: ["1"], total: "4.500000" }]);
  // Nine projects with 1 to 9: the seven largest have layers of their own, 2 + 1 are together.
  const nine = layersOf([day(1, Object.fromEntries(Array.from({ length: 9 }, (_, at) => [String(at + 1), `${at + 1}.000000`])))]);
  assert.deepEqual(nine.map((one) => one.projects.join()), ["9", "8", "7", "6", "5", "4", "3", "2,1"]);
  assert.equal(nine[7]!.total, "3.000000");
});

test("buckets have no gaps, keep every digit, and weeks begin on a Monday", () => {
  const days: PersonDay[] = [{ day: 4, credit: { "1": "0.000001" } }, { day: 6, credit: { "1": "-2.500000", "2": "9007199254740993.000000" } }];
  const layers = [{ projects: ["1"], total: "" }, { projects: ["2"], total: "" }];
  assert.deepEqual(bucketsOf(days, layers, 1, 4, 6), [
    { day: 4, credit: ["0.000001", "0.000000"] }, { day: 5, credit: ["0.000000", "0.000000"] }, { day: 6, credit: ["-2.500000", "9007199254740993.000000"] },
  ]);
  // Day 4 is Monday, 5 January 1970; day 11 the next Monday.
  assert.deepEqual(bucketsOf(days, layers, 7, 6, 11).map((one) => one.day), [4, 11]);
  assert.deepEqual(bucketsOf(days, layers, 7, 4, 6), [{ day: 4, credit: ["-2.499999", "9007199254740993.000000"] }]);
});

test("stacked bars end at the sums of the layers so far, negative values below zero", () => {
  assert.deepEqual(stacked([[1, null, 5], [2, 4, -3], [3, 0, -1]]), [[1, null, 5], [3, 4, -3], [6, null, -4]]);
});

test("a country is found by each name that projects write", () => {
  const world = { width: 1, height: 1, countries: [
    { name: "South Korea", also: ["Korea, South"], path: "M0 0z" }, { name: "Côte d'Ivoire", path: "M0 0z" }, { name: "Bahamas", also: ["Bahamas, The"], path: "M0 0z" },
    { name: "Saint Lucia", at: [0, 0] as [number, number] },
  ] };
  const row = (country: string): Row => ({ rank: 1, country, total: "1.000000", rac: 0 });
  const { placed, others } = placedOn(world, ["Korea, South", "Cote d'Ivoire", "The Bahamas", "St. Lucia", "International", "Atlantis"].map(row));
  assert.deepEqual(placed.map((one) => one.place.name), ["South Korea", "Côte d'Ivoire", "Bahamas", "Saint Lucia"]);
  assert.deepEqual(others.map((one) => one.country), ["International", "Atlantis"]);
  assert.equal(plainName("Åland & Co"), "aland and co");
});

test("shades go by orders of magnitude, and no credit has none", () => {
  // 10^-0.75 is 0.178: from there on down the next shade.
  assert.deepEqual([1000, 200, 170, 1, 0.000001, 0].map((value) => shadeOf(value, 1000)), [5, 5, 4, 1, 1, 0]);
  assert.equal(shadeOf(0, 0), 0);
});

test("every address of a hub's view is read back as the same view", () => {
  const routes: Route[] = [
    { view: "hub-projects" }, { view: "hub-project", of: 3 }, { view: "hub-account", of: 3, kind: "host", id: "9007199254740993" },
    { view: "hub-leaders", board: "people", by: "rac", offset: 50, of: null, country: "Korea, South" },
    { view: "hub-leaders", board: "hosts", by: "total", offset: 0, of: 2, country: null },
    { view: "hub-person", who: "1-7-1200000007" }, { view: "hub-person", who: "a".repeat(32) }, { view: "hub-team", key: "0".repeat(32) },
    { view: "hub-host", cpid: "f".repeat(32) }, { view: "hub-countries", by: "rac" }, { view: "hub-factors", sequence: 4 }, { view: "hub-factors", sequence: null },
    { view: "hub-search", q: "a b&c" },
  ];
  for (const route of routes) assert.deepEqual(parseRoute(hashOf(route)), route, hashOf(route));
  for (const wrong of ["#/hub/person/../x", "#/hub/team/short", "#/hub/project/x", "#/hub/leaders/dogs", "#/hub/other"]) {
    assert.equal(parseRoute(wrong).view, "nowhere", wrong);
  }
});

test("ages and silence are said with their dates, never as zero", () => {
  const now = 1700000000; // 2023-11-14 22:13 UTC
  assert.equal(ageWords(now - 3600, now), "2023-11-14, today");
  assert.equal(ageWords(now - 3 * 86400, now), "2023-11-11, 3 days ago");
  assert.equal(ageWords(0, now), "");
  assert.equal(unknownWords({ unknown_since: now } as HubProject), "Unknown since 2023-11-14");
  assert.equal(unknownWords({ unknown_since: 0 } as HubProject), "");
  assert.equal(unknownWords({} as HubProject), "");
});

test("points of a project say since when they count, and that they were Cobblestones before", () => {
  assert.equal(pointsWords({ points_per_cobblestone: 7 } as HubProject), "7");
  assert.equal(pointsWords({ points_per_cobblestone: 7, points_since: 20788 } as HubProject), "7 since 2026-12-01, 1 before");
});

test("a swing that is not believed has other words than one that counts", () => {
  assert.match(standingWords("swing", true), /changes between this id and another one/);
  assert.match(standingWords("swing", false), /not believed/);
  assert.equal(standingWords("a later standing", true), "");
});

test("only web addresses from a feed become links", () => {
  assert.equal(webAddress("https://rosewood.example/x?y=1"), "https://rosewood.example/x?y=1");
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "https://a.example/\"onclick=", ""]) assert.equal(webAddress(bad), null, bad);
});

test("a reason is a sentence, and a condition that is not known claims nothing", () => {
  assert.deepEqual(["the server answered 503", "Fine.", "is it down?", " ", ""].map(sentence), ["The server answered 503.", "Fine.", "Is it down?", "", ""]);
  assert.equal(conditionWords("unknown").name, "Not known");
  assert.equal(conditionWords("unknown").meaning, "The hub has not asked about its condition yet, or it does not say.");
});

test("the reach of one project is said with both bounds, and never where there are none", () => {
  const factor = (more: Partial<Factor>) => ({ factor: 0.3, target: 0.3, contributions: [{}, {}, {}], ...more }) as Factor;
  const reach = { least: 0.25, greatest: 0.4, silence_is_default: false };
  assert.equal(reachWords(factor({ reach })), "No single project could have moved it below 0.2500 or above 0.4000, whatever it reported.");
  // Before the factor has reached its target, the bounds are those of the target.
  assert.match(reachWords(factor({ reach, factor: 0.2 })), /moved the median below 0\.2500/);
  assert.match(reachWords(factor({ reach: { ...reach, silence_is_default: true } })), /If one of the 3 fell silent, the factor would return to the default in steps\.$/);
  assert.equal(reachWords(factor({ reach: { least: 0, greatest: null, silence_is_default: false } })), "Too few projects: a single one could have moved it to any value.");
  assert.equal(reachWords(factor({})), "");
});

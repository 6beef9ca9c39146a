import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../services/gateway/web/src/base/format";

test("credit keeps every digit that the gateway sent, however large it is", () => {
  assert.equal(format.exactCredit("9223372036854775807.123456"), "9,223,372,036,854,775,807.123456");
  assert.equal(format.exactCredit("0.000001"), "0.000001");
  assert.equal(format.exactCredit("-12.400000"), "−12.400000");
  assert.deepEqual(format.creditParts("174456.962541"), { whole: "174,456", decimals: "962541" });
});

test("short credit is rounded on its digits, not as a double", () => {
  const table: [string, string][] = [
    ["352.595767", "352.60"],
    ["0.004999", "0.004999"],
    ["0.005000", "0.01"],
    ["0.000000", "0.00"],
    ["0.994999", "0.99"],
    ["999.995000", "1,000.00"],
    ["9007199254740993.015000", "9,007,199,254,740,993.02"],
    ["-1.005000", "−1.01"],
  ];
  for (const [exact, short] of table) assert.equal(format.shortCredit(exact), short, exact);
});

test("a text that is no credit stays unchanged", () => {
  assert.equal(format.shortCredit("unknown"), "unknown");
  assert.equal(format.exactCredit("1e5"), "1e5");
});

test("numbers have about four digits, and no other value looks like zero", () => {
  const table: [number, string][] = [
    [0, "0"], [1, "1"], [1.2690635, "1.269"], [3.645647883, "3.646"], [24546.94, "24,547"], [0.1360554, "0.1361"],
    [0.000012345, "1.234 × 10⁻⁵"], [1.015250811e17, "1.015 × 10¹⁷"], [-2.5, "−2.500"], [73000000, "73,000,000"],
    [NaN, "not a number"], [Infinity, "infinite"],
  ];
  for (const [value, text] of table) assert.equal(format.number(value), text);
});

test("all digits of a double, on demand", () => {
  assert.equal(format.exact(101525081121348.2), "101,525,081,121,348.2");
  assert.equal(format.exact(1.3157453096242329), "1.3157453096242329");
  assert.equal(format.exact(1e21), "1e21");
  assert.equal(Number(format.exact(0.1 + 0.2)), 0.1 + 0.2);
});

test("units have the prefix that keeps them short", () => {
  assert.equal(format.withPrefix(4135957115.099, "FLOP/s"), "4.14 GFLOP/s");
  assert.equal(format.withPrefix(8e13, "FLOPs"), "80 TFLOPs");
  assert.equal(format.withPrefix(999999, "FLOPs"), "1.00 MFLOPs");
  assert.equal(format.withPrefix(12, "FLOPs"), "12 FLOPs");
});

test("durations and times have their usual form", () => {
  const table: [number, string][] = [[0.25, "250 ms"], [42, "42 s"], [90, "1 min 30 s"], [24546.94, "6 h 49 min"], [90000, "1 d 1 h"], [950400, "11 days"], [-90, "−1 min 30 s"]];
  for (const [seconds, text] of table) assert.equal(format.duration(seconds), text);
  assert.equal(format.utc(1750388277.4, true), "2025-06-20 02:57:57 UTC");
  assert.equal(format.utc(Infinity), format.kMissing);
  assert.equal(format.dayText(20259), "2025-06-20");
  assert.equal(format.moment(1750388277, 1750388277 + 3600), "02:57:57");
  assert.equal(format.moment(1750388277, 1750388277 + 86400), "2025-06-20 02:57");
  assert.equal(format.ago(1000, 1190), "3 min ago");
  assert.equal(format.ago(2000, 1000), "1970-01-01 00:33 UTC");
});

test("non-finite doubles are read from their texts", () => {
  assert.equal(format.toNumber("inf"), Infinity);
  assert.equal(format.toNumber("-inf"), -Infinity);
  assert.ok(Number.isNaN(format.toNumber("nan")));
  assert.ok(Number.isNaN(format.toNumber(null)));
  assert.equal(format.count("18446744073709551615"), "18,446,744,073,709,551,615");
});

test("a time axis shows the year if its marks are days apart", () => {
  const table: [number, string][] = [[1, "02:57:57"], [3600, "02:57"], [86400, "2025-06-20"], [14 * 86400, "2025-06-20"], [30 * 86400, "2025-06"], [365 * 86400, "2025-06"]];
  for (const [step, text] of table) assert.equal(format.tick(1750388277, step), text, `${step}`);
  assert.equal(format.tick(20259 * 86400, 3600), "06-20");
});

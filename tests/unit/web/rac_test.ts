import assert from "node:assert/strict";
import { test } from "node:test";
import { after, decayed, everyDay, kHalfLife, racCurve } from "../../../services/gateway/web/src/rules/rac";
import type { DaySum } from "../../../services/gateway/web/src/base/types";

const kDay = 86400;

// Updates the average with each grant like the pipeline (common/credit/accounts/account.cc, UpdateAverage).
class Exact {
  value = 0;
  time = 0;
  post(now: number, work: number): void {
    const weight = Math.exp((-(now - this.time) * Math.LN2) / kHalfLife);
    this.value = this.time === 0 ? 0 : this.value * weight + (1 - weight) * (work / ((now - this.time) / kDay));
    this.time = now;
  }
}

interface History {
  days: DaySum[];
  exact: Exact;
  atMidnight: Map<number, number>;
}

// A grant every twenty minutes, with more credit on some days.
function history(firstDay: number, length: number, until = 1): History {
  const exact = new Exact();
  exact.time = firstDay * kDay;
  const days: DaySum[] = [];
  const atMidnight = new Map<number, number>();
  for (let day = firstDay; day < firstDay + length; ++day) {
    const each = 10 + (day % 5) * 20;
    const grants = Math.round(72 * (day === firstDay + length - 1 ? until : 1));
    for (let n = 1; n <= grants; ++n) exact.post(day * kDay + n * 1200, each);
    days.push({ day, total: (grants * each).toFixed(6), grants });
    atMidnight.set(day + 1, exact.value);
  }
  return { days, exact, atMidnight };
}

test("the curve is within two percent of the pipeline's average at each midnight", () => {
  const { days, exact, atMidnight } = history(20000, 40);
  const curve = racCurve({ days, opening: "0.000000", rac: exact.value, rac_time: exact.time, now: exact.time });
  for (const [day, value] of atMidnight) {
    const point = curve.find((p) => p.time === day * kDay);
    assert.ok(point, `a point at the midnight of day ${day}`);
    assert.ok(Math.abs(point.rac - value) < 0.02 * value, `day ${day}: ${point.rac}, not ${value}`);
  }
});

test("the curve ends in the exact value, also in the middle of a day, and then halves each week", () => {
  const { days, exact } = history(20000, 10, 0.4);
  const now = exact.time + 2 * kHalfLife;
  const curve = racCurve({ days, opening: "0.000000", rac: exact.value, rac_time: exact.time, now });
  assert.equal(curve.find((p) => p.time === exact.time)?.rac, exact.value);
  const last = curve[curve.length - 1]!;
  assert.equal(last.time, now);
  assert.ok(Math.abs(last.rac - exact.value / 4) < 1e-9 * exact.value);
  for (let at = 1; at < curve.length; ++at) assert.ok(curve[at]!.time > curve[at - 1]!.time, "times go up");
});

test("the average of an account with a longer past does not start at zero", () => {
  const { days, exact } = history(20000, 420);
  const cut = days.slice(-400);
  const whole = racCurve({ days: cut, opening: "0.000000", rac: exact.value, rac_time: exact.time, now: exact.time });
  assert.ok(whole[0]!.rac > 1000);
  const adopted = racCurve({ days: days.slice(-20), opening: "500000.000000", rac: exact.value, rac_time: exact.time, now: exact.time });
  assert.ok(adopted[0]!.rac > 1000);
});

test("a complete history of many months starts at zero", () => {
  const { days, exact } = history(20000, 100);
  assert.equal(racCurve({ days, opening: "0.000000", rac: exact.value, rac_time: exact.time, now: exact.time })[0]!.rac, 0);
});

test("an adopted account decays from its opening until the first grant", () => {
  const opened = { time: 19990 * kDay + 5000, rac: 800 };
  const alone = racCurve({ days: [], opening: "9000.000000", opened, rac: 800, rac_time: opened.time, now: opened.time + kHalfLife });
  assert.deepEqual(alone[0], { time: opened.time, rac: 800 });
  assert.ok(Math.abs(alone[alone.length - 1]!.rac - 400) < 1e-9);

  const exact = new Exact();
  exact.value = opened.rac;
  exact.time = opened.time;
  const days: DaySum[] = [];
  for (let day = 20000; day < 20005; ++day) {
    for (let n = 1; n <= 72; ++n) exact.post(day * kDay + n * 1200, 10);
    days.push({ day, total: "720.000000", grants: 72 });
  }
  const curve = racCurve({ days, opening: "9000.000000", opened, rac: exact.value, rac_time: exact.time, now: exact.time });
  assert.ok(Math.abs(curve[0]!.rac / 800 - 1) < 0.01, `the curve starts at the opening value: ${curve[0]!.rac}`);
  const before = curve.find((p) => p.time === 20000 * kDay)!.rac;
  assert.ok(Math.abs(before / decayed(800, 20000 * kDay - opened.time) - 1) < 0.02,
    `no decay before the first grant: ${before}`);
});

test("a grant after a long pause counts for the whole pause, and does not change the curve before the grant", () => {
  const exact = new Exact();
  exact.value = 800;
  exact.time = 19950 * kDay;
  const opened = { time: exact.time, rac: exact.value };
  exact.post(20000 * kDay + 30000, 5000);
  const days = [{ day: 20000, total: "5000.000000", grants: 1 }];
  const curve = racCurve({ days, opening: "9000.000000", opened, rac: exact.value, rac_time: exact.time, now: exact.time });
  for (const day of [19957, 19980, 20000]) {
    const point = curve.find((p) => p.time === day * kDay)!;
    const truth = decayed(800, point.time - opened.time);
    assert.ok(Math.abs(point.rac / truth - 1) < 0.001, `day ${day}: ${point.rac}, not ${truth}`);
  }
});

test("without a known opening the curve starts with the known average", () => {
  const curve = racCurve({ days: [], opening: "9000.000000", rac: 800, rac_time: 1e9, now: 1e9 + kHalfLife });
  assert.deepEqual(curve[0], { time: 1e9, rac: 800 });
});

test("no average, no curve", () => {
  assert.deepEqual(racCurve({ days: [], opening: "0.000000", rac: 0, rac_time: 0, now: 1e9 }), []);
  const days = [{ day: 20000, total: "5.000000", grants: 1 }];
  assert.deepEqual(racCurve({ days, opening: "0.000000", rac: NaN, rac_time: 1, now: 1e9 }), []);
});

test("one rule holds for no time passed and for a whole half-life", () => {
  assert.equal(decayed(100, 0), 100);
  assert.equal(decayed(100, -5), 100);
  assert.equal(decayed(100, kHalfLife), 50);
  assert.equal(after(100, kHalfLife, 0), 50);
  assert.equal(after(0, kHalfLife, 700), 50); // a hundred a day for a week: half of it
});

test("days without credit are included", () => {
  const all = everyDay([{ day: 3, total: "1.000000", grants: 1 }, { day: 6, total: "2.000000", grants: 1 }]);
  assert.deepEqual(all.map((d) => [d.day, d.total]), [[3, "1.000000"], [4, "0.000000"], [5, "0.000000"], [6, "2.000000"]]);
});

// Recent average credit over time, from the sums of days: what common/credit/accounts/account.h does with each grant, done as if a day's
// grants had come evenly over the day. The end is not estimated: it is the value that the gateway answered.
import { creditNumber } from "../base/format";
import type { CreditText, DaySum } from "../base/types";

export const kHalfLife = 7 * 86400; // s (docs/rules.md, section 30)
const kDay = 86400;
const kLongestHistory = 395; // days; one that is longer may have been cut, so it began before
const kStep = kDay / 4;

export interface RacPoint {
  time: number; // UNIX s
  rac: number; // Cobblestones per day
}

export interface RacInput {
  days: DaySum[]; // ascending
  opening: CreditText; // credit from before the history, or zero
  opened?: RacPoint | undefined; // when that was, and the average that came with it, where it is known
  rac: number; // as of rac_time
  rac_time: number; // 0: never
  now: number;
}

export function decayed(rac: number, passed: number): number {
  return passed <= 0 ? rac : rac * Math.pow(2, -passed / kHalfLife);
}

// The average after `passed` seconds in which `credit` came evenly.
export function after(rac: number, passed: number, credit: number): number {
  const kept = Math.pow(2, -passed / kHalfLife);
  return rac * kept + (1 - kept) * (credit / (passed / kDay));
}

// What the average may have been when the history begins: of an account that began then, nothing; else as if the first week
// had been like any other before it.
function before(input: RacInput): number {
  const { days } = input;
  const begun = days[0]!.day;
  const span = days[days.length - 1]!.day - begun + 1;
  if (creditNumber(input.opening) === 0 && span < kLongestHistory) return 0;
  const week = days.filter((d) => d.day < begun + 7).reduce((sum, d) => sum + creditNumber(d.total), 0);
  return week / Math.min(7, span);
}

// Where the curve begins: with the opening, else with the first day. Where nothing came since, all is decay.
function beginning(input: RacInput): RacPoint {
  const { days, opened } = input;
  const first = days[0];
  if (opened && opened.time > 0 && (!first || opened.time < (first.day + 1) * kDay)) return opened;
  return first ? { time: first.day * kDay, rac: before(input) } : { time: input.rac_time, rac: input.rac };
}

// In a day of credit, which came from `from` to `to`: its first grant counts since credit came last, each other since the one before.
function during(day: DaySum, from: number, to: number, last: RacPoint, time: number): number {
  const credit = creditNumber(day.total);
  const each = (to - from) / Math.max(1, day.grants); // trickles are no grants
  const first = from + each;
  if (time < first) return decayed(last.rac, time - last.time);
  const begun = after(last.rac, first - last.time, (credit * each) / (to - from));
  return time === first ? begun : after(begun, time - first, (credit * (time - first)) / (to - from));
}

// Four points a day, from its beginning to `until` (by default now). Empty where there is no average. Points up to rac_time are
// moved onto the known value, the more the nearer they are to it; those behind it are exact.
export function racCurve(input: RacInput, until = input.now): RacPoint[] {
  if (!(input.rac_time > 0) || !Number.isFinite(input.rac)) return [];
  const days = new Map(input.days.map((d) => [d.day, d]));
  const start = beginning(input);
  const points: RacPoint[] = [{ ...start }];
  let last = start; // when credit came last
  for (let time = start.time; time < input.rac_time; ) {
    const day = Math.floor(time / kDay);
    // A first day that had begun before, and a last one that is not over yet: their credit came in between.
    const from = Math.max(day * kDay, start.time);
    const to = Math.min((day + 1) * kDay, input.rac_time);
    time = Math.min((Math.floor(time / kStep) + 1) * kStep, input.rac_time);
    const came = days.get(day);
    const point = { time, rac: came ? during(came, from, to, last, time) : decayed(last.rac, time - last.time) };
    points.push(point);
    if (came && time === to) last = point;
  }
  const missing = input.rac - points[points.length - 1]!.rac;
  for (const point of points) {
    point.rac = Math.max(0, point.rac + missing * Math.pow(2, -(input.rac_time - point.time) / kHalfLife));
  }
  points[points.length - 1]!.rac = input.rac;
  for (let at = input.rac_time + kStep; at < until; at += kStep) {
    points.push({ time: at, rac: decayed(input.rac, at - input.rac_time) });
  }
  if (until > input.rac_time) points.push({ time: until, rac: decayed(input.rac, until - input.rac_time) });
  return points;
}

// All days from the first to the last, those without credit too.
export function everyDay(days: DaySum[]): DaySum[] {
  if (days.length === 0) return [];
  const known = new Map(days.map((d) => [d.day, d]));
  const all: DaySum[] = [];
  for (let day = days[0]!.day; day <= days[days.length - 1]!.day; ++day) {
    all.push(known.get(day) ?? { day, total: "0.000000", grants: 0 });
  }
  return all;
}

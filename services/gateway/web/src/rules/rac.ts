// Recent average credit over time, from the sums of days: the rule of common/credit/accounts/account.h for each
// grant, applied as if a day's grants had been spread evenly over the day. The end is not estimated: it is the
// value in the gateway's answer.
import { creditNumber } from "../base/format";
import type { CreditText, DaySum } from "../base/types";

export const kHalfLife = 7 * 86400; // s (docs/rules.md, section 30)
const kDay = 86400;
const kLongestHistory = 395; // days; a history of this length may have been cut, so the credit began earlier
const kStep = kDay / 4;

export interface RacPoint {
  time: number; // UNIX s
  rac: number; // Cobblestones per day
}

export interface RacInput {
  days: DaySum[]; // ascending
  opening: CreditText; // credit from before the history, or zero
  opened?: RacPoint | undefined; // the time and the average of the opening, if known
  rac: number; // as of rac_time
  rac_time: number; // 0: never
  now: number;
}

export function decayed(rac: number, passed: number): number {
  return passed <= 0 ? rac : rac * Math.pow(2, -passed / kHalfLife);
}

// The average after `passed` seconds in which `credit` was granted evenly.
export function after(rac: number, passed: number, credit: number): number {
  const kept = Math.pow(2, -passed / kHalfLife);
  return rac * kept + (1 - kept) * (credit / (passed / kDay));
}

// The estimated average at the start of the history: 0 for an account that began then; otherwise as if all
// earlier weeks had been like the first week.
function before(input: RacInput): number {
  const { days } = input;
  const begun = days[0]!.day;
  const span = days[days.length - 1]!.day - begun + 1;
  if (creditNumber(input.opening) === 0 && span < kLongestHistory) return 0;
  const week = days.filter((d) => d.day < begun + 7).reduce((sum, d) => sum + creditNumber(d.total), 0);
  return week / Math.min(7, span);
}

// The start of the curve: the opening, otherwise the first day. If no credit was granted since, the curve is
// only decay.
function beginning(input: RacInput): RacPoint {
  const { days, opened } = input;
  const first = days[0];
  if (opened && opened.time > 0 && (!first || opened.time < (first.day + 1) * kDay)) return opened;
  return first ? { time: first.day * kDay, rac: before(input) } : { time: input.rac_time, rac: input.rac };
}

// For a day of credit, granted from `from` to `to`: its first grant counts from the last earlier credit, each
// other grant from the one before.
function during(day: DaySum, from: number, to: number, last: RacPoint, time: number): number {
  const credit = creditNumber(day.total);
  const each = (to - from) / Math.max(1, day.grants); // trickles are not grants
  const first = from + each;
  if (time < first) return decayed(last.rac, time - last.time);
  const begun = after(last.rac, first - last.time, (credit * each) / (to - from));
  return time === first ? begun : after(begun, time - first, (credit * (time - first)) / (to - from));
}

// Four points a day, from the start to `until` (by default now). Empty if there is no average. Points up to
// rac_time are adjusted to the known value, the more the nearer they are; later points are exact.
export function racCurve(input: RacInput, until = input.now): RacPoint[] {
  if (!(input.rac_time > 0) || !Number.isFinite(input.rac)) return [];
  const days = new Map(input.days.map((d) => [d.day, d]));
  const start = beginning(input);
  const points: RacPoint[] = [{ ...start }];
  let last = start; // time of the last credit
  for (let time = start.time; time < input.rac_time; ) {
    const day = Math.floor(time / kDay);
    // The first day may have begun before the history, and the last day is not over yet. The credit of these days
    // was granted in the part between `from` and `to`.
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

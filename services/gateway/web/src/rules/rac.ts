// Recent average credit over time, from the sums of days: what common/credit/account.h does with each grant, done with each
// day's credit as if it had come evenly over the day. The end is not estimated: it is the value that the gateway answered.
import { creditNumber } from "../base/format";
import type { DaySum } from "../base/types";

export const kHalfLife = 7 * 86400; // s (semantics.md, section 7)
const kDay = 86400;
const kLongestHistory = 95; // days; one that is longer may have been cut, so it began before
const kStep = kDay / 4;

export interface RacPoint {
  time: number; // UNIX s
  rac: number; // Cobblestones per day
}

export interface RacInput {
  days: DaySum[]; // ascending
  opening: string; // credit from before the history, or zero
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

// Four points a day, from the first day to `until` (by default now). Empty where there is no history. Points up to rac_time are
// moved onto the known value, the more the nearer they are to it; those behind it are exact.
export function racCurve(input: RacInput, until = input.now): RacPoint[] {
  const { days } = input;
  if (days.length === 0 || !(input.rac_time > 0) || !Number.isFinite(input.rac)) return [];
  const credit = new Map(days.map((d) => [d.day, creditNumber(d.total)]));
  const start = days[0]!.day * kDay;
  const points: RacPoint[] = [{ time: start, rac: before(input) }];
  let rac = points[0]!.rac;
  for (let time = start; time < input.rac_time; ) {
    const day = Math.floor(time / kDay);
    const next = Math.min(time + kStep, input.rac_time);
    // A last day that is not over yet: its credit came before rac_time.
    const length = Math.min((day + 1) * kDay, input.rac_time) - day * kDay;
    rac = after(rac, next - time, ((credit.get(day) ?? 0) * (next - time)) / length);
    points.push({ time: next, rac });
    time = next;
  }
  const missing = input.rac - rac;
  for (const point of points) {
    point.rac = Math.max(0, point.rac + missing * Math.pow(2, -(input.rac_time - point.time) / kHalfLife));
  }
  points[points.length - 1]!.rac = input.rac;
  for (let time = input.rac_time + kStep; time < until; time += kStep) {
    points.push({ time, rac: decayed(input.rac, time - input.rac_time) });
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

// Numbers and times in a readable form, and exact.
import type { CreditText, Double } from "./types";

export const kMissing = "–";

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

// Credit is exact text ("1234.500000"), never a double: whole part with commas, and the six decimals.
export function creditParts(credit: CreditText): { whole: string; decimals: string } {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(credit);
  if (!match) return { whole: credit, decimals: "" };
  return { whole: (match[1] ? "−" : "") + grouped(match[2]!), decimals: match[3] ?? "" };
}

export function exactCredit(credit: CreditText): string {
  const { whole, decimals } = creditParts(credit);
  return decimals ? `${whole}.${decimals}` : whole;
}

// Two decimals, rounded half up on the digits; a value that is not zero is never shown as zero.
export function shortCredit(credit: CreditText): string {
  const match = /^(-?)(\d+)\.(\d{6})$/.exec(credit);
  if (!match) return credit;
  const micro = BigInt(match[2]! + match[3]!);
  if (micro > 0n && micro < 5000n) return exactCredit(credit);
  const cents = (micro + 5000n) / 10000n;
  const text = cents.toString().padStart(3, "0");
  return (match[1] ? "−" : "") + grouped(text.slice(0, -2)) + "." + text.slice(-2);
}

// Exact.
export function creditSum(credits: CreditText[]): CreditText {
  const micro = credits.reduce((sum, one) => sum + BigInt(one.replace(".", "")), 0n);
  const digits = (micro < 0n ? -micro : micro).toString().padStart(7, "0");
  return (micro < 0n ? "-" : "") + digits.slice(0, -6) + "." + digits.slice(-6);
}

// For drawing only.
export function creditNumber(credit: CreditText): number {
  return Number(credit);
}

// A value that is not finite stays so: callers check Number.isFinite.
export function toNumber(value: Double | null | undefined): number {
  if (typeof value === "number") return value;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  // A whole double beyond 2^53, which base/json.ts takes for an id.
  if (typeof value === "string" && /^-?\d+$/.test(value)) return Number(value);
  return NaN;
}

function wordOf(value: number): string | null {
  if (Number.isNaN(value)) return "not a number";
  if (value === Infinity) return "infinite";
  if (value === -Infinity) return "minus infinite";
  return null;
}

const kPowers: Record<string, string> = {
  "0": "⁰", "1": "¹", "2": "²", "3": "³", "4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸", "9": "⁹", "-": "⁻",
};

function scientific(value: number, digits: number): string {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
  const power = exponent.replace("+", "").replace(/[-\d]/g, (c) => kPowers[c] ?? c);
  return `${mantissa.replace("-", "−")} × 10${power}`;
}

// About `digits` significant digits, commas, powers of ten if there would be too many zeros.
export function number(value: number, digits = 4): string {
  const word = wordOf(value);
  if (word) return word;
  if (value === 0) return "0";
  const size = Math.abs(Number(value.toPrecision(digits))); // 0.9999 with three digits is 1.00
  if (size >= 1e15 || size < 1e-4) return scientific(value, digits);
  if (Number.isInteger(value)) return fixed(value, 0);
  const before = Math.max(1, Math.floor(Math.log10(size)) + 1);
  const decimals = size < 1 ? Math.min(digits - before - Math.floor(Math.log10(size)), 8) : Math.max(0, digits - before);
  return fixed(value, decimals);
}

export function fixed(value: number, decimals: number): string {
  const word = wordOf(value);
  if (word) return word;
  const text = Math.abs(value).toFixed(decimals);
  const [whole, rest] = text.split(".") as [string, string | undefined];
  const sign = value < 0 && Number(text) !== 0 ? "−" : "";
  return sign + grouped(whole) + (rest ? `.${rest}` : "");
}

// Every digit of the double.
export function exact(value: number): string {
  const word = wordOf(value);
  if (word) return word;
  const text = String(value);
  if (/e/.test(text)) return text.replace("e+", "e").replace("-", "−");
  const [whole, rest] = text.replace("-", "").split(".") as [string, string | undefined];
  return (value < 0 ? "−" : "") + grouped(whole) + (rest ? `.${rest}` : "");
}

const kPrefixes = [
  [1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"],
] as const;

// 4135957115 FLOP/s -> "4.14 GFLOP/s".
export function withPrefix(value: number, unit: string, digits = 3): string {
  const word = wordOf(value);
  if (word) return word;
  const size = Math.abs(value);
  for (const [factor, prefix] of kPrefixes) {
    if (size >= factor * 0.9995 && size < factor * 1e6) return `${number(value / factor, digits)} ${prefix}${unit}`;
  }
  return `${number(value, digits)} ${unit}`;
}

export function count(value: number | string): string {
  if (typeof value === "string") return /^\d+$/.test(value) ? grouped(value) : value;
  return Number.isSafeInteger(value) ? (value < 0 ? "−" : "") + grouped(String(Math.abs(value))) : number(value);
}

export function duration(seconds: number): string {
  const word = wordOf(seconds);
  if (word) return word;
  if (seconds < 0) return "−" + duration(-seconds);
  if (seconds < 1) return `${number(seconds * 1000, 3)} ms`;
  if (seconds < 60) return `${number(seconds, 3)} s`;
  const all = Math.round(seconds);
  const days = Math.floor(all / 86400);
  const hours = Math.floor((all % 86400) / 3600);
  const minutes = Math.floor((all % 3600) / 60);
  const rest = all % 60;
  if (days >= 10) return `${count(days)} days`;
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return rest > 0 ? `${minutes} min ${rest} s` : `${minutes} min`;
}

const two = (n: number) => String(n).padStart(2, "0");

// UTC, in the format of the pipeline's own texts.
export function utc(seconds: number, withSeconds = false): string {
  if (!Number.isFinite(seconds) || Math.abs(seconds) > 2.5e11) return kMissing;
  const t = new Date(seconds * 1000);
  const day = `${t.getUTCFullYear()}-${two(t.getUTCMonth() + 1)}-${two(t.getUTCDate())}`;
  const clock = `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}${withSeconds ? ":" + two(t.getUTCSeconds()) : ""}`;
  return `${day} ${clock} UTC`;
}

export function clock(seconds: number): string {
  const t = new Date(seconds * 1000);
  return `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())}`;
}

// For an axis of time: as many parts as distinguish marks that are `step` seconds apart; the year is always
// shown if the marks are days.
export function tick(at: number, step: number): string {
  const text = utc(at, true);
  if (step >= 30 * 86400) return text.slice(0, 7);
  if (step >= 86400) return text.slice(0, 10);
  if (step >= 60) return at % 86400 === 0 ? text.slice(5, 10) : text.slice(11, 16);
  return text.slice(11, 19);
}

// The time of day; with the date if it is not the day of `now`.
export function moment(seconds: number, now: number): string {
  return Math.floor(seconds / 86400) === Math.floor(now / 86400) ? clock(seconds) : utc(seconds).slice(0, 16);
}

export function dayText(day: number): string {
  return utc(day * 86400).slice(0, 10);
}

// "3 min ago"; for the future and for long ago the date.
export function ago(seconds: number, now: number): string {
  const passed = now - seconds;
  if (!(passed >= -5)) return utc(seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  const days = Math.floor(passed / 86400);
  return days === 1 ? "yesterday" : days < 60 ? `${days} days ago` : utc(seconds).slice(0, 10);
}

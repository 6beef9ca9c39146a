// Days of several projects for a stacked chart.
import { creditSum } from "../base/format";
import type { CreditText } from "../base/types";
import type { PersonDay } from "./types";

export const kMostLayers = 7; // projects with a colour of their own; the others share one

export interface Layer {
  projects: string[];
  total: CreditText;
}

// Projects by credit of all days, the largest first; those beyond `kMostLayers` are one layer.
export function layersOf(days: PersonDay[]): Layer[] {
  const credits = new Map<string, CreditText[]>();
  for (const day of days)
    for (const [project, credit] of Object.entries(day.credit)) credits.set(project, [...(credits.get(project) ?? []), credit]);
  const all = [...credits].map(([project, parts]) => ({ projects: [project], total: creditSum(parts) }))
    .sort((a, b) => Number(b.total) - Number(a.total) || Number(a.projects[0]) - Number(b.projects[0]));
  if (all.length <= kMostLayers + 1) return all;
  const rest = all.slice(kMostLayers);
  return [...all.slice(0, kMostLayers), { projects: rest.map((one) => one.projects[0]!), total: creditSum(rest.map((one) => one.total)) }];
}

export interface Bucket {
  day: number; // the first
  credit: CreditText[]; // of each layer; of no credit "0.000000"
}

// Sums of `size` days each, from the bucket of `first` to that of `last`, without gaps. Buckets of seven days begin on a Monday.
export function bucketsOf(days: PersonDay[], layers: Layer[], size: 1 | 7, first: number, last: number): Bucket[] {
  const startOf = (day: number) => (size === 1 ? day : day - ((day + 3) % 7)); // day 0 was a Thursday
  const parts = new Map<number, PersonDay[]>();
  for (const day of days) {
    if (day.day < first || day.day > last) continue;
    const start = startOf(day.day);
    parts.set(start, [...(parts.get(start) ?? []), day]);
  }
  const buckets: Bucket[] = [];
  for (let day = startOf(first); day <= last; day += size) {
    const inside = parts.get(day) ?? [];
    buckets.push({ day, credit: layers.map((layer) => creditSum(inside.flatMap((one) => layer.projects.flatMap((p) => one.credit[p] ?? [])))) });
  }
  return buckets;
}

// Countries of the hub's lists on the map.
import type { Row, World } from "./types";

const kShades = 5;

// The same name however it is written: case, marks and "the" do not matter.
export function plainName(name: string): string {
  return name.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/&/g, "and").replace(/\bsaint\b/g, "st").replace(/[^a-z]+/g, " ").replace(/\bthe\b/g, "").replace(/\s+/g, " ").trim();
}

// A shade for each value, 1 to 5, by orders of magnitude: the shares of countries differ thousandfold.
export function shadeOf(value: number, most: number): number {
  if (!(value > 0) || !(most > 0)) return 0;
  const behind = Math.log10(most / value); // 0: the most
  return Math.max(1, kShades - Math.floor(behind / 0.75));
}

export interface Placed {
  row: Row;
  place: World["countries"][number];
}

// Rows of countries that the map has, and the others.
export function placedOn(world: World, rows: Row[]): { placed: Placed[]; others: Row[] } {
  const places = new Map(world.countries.flatMap((one) => [one.name, ...(one.also ?? [])].map((name) => [plainName(name), one] as const)));
  const placed: Placed[] = [];
  const others: Row[] = [];
  for (const row of rows) {
    const place = places.get(plainName(row.country ?? ""));
    if (place && !placed.some((one) => one.place === place)) placed.push({ row, place });
    else others.push(row);
  }
  return { placed, others };
}

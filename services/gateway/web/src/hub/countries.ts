// Credit by country, as a map and as a table.
import { h, replace, svg, type Child } from "../base/dom";
import * as format from "../base/format";
import type { Order } from "../base/route";
import { bar, card, credit, empty, link, rac, table, tabs } from "../parts/pieces";
import type { Context, View } from "../views/view";
import { ask, countOf, listTime } from "./pieces";
import { placedOn, shadeOf, type Placed } from "./places";
import type { Row, World } from "./types";

const kLimit = 500; // the most that the hub answers; there are fewer countries

function valueText(row: Row, by: Order): string {
  return by === "rac" ? `${rac(row.rac)} a day` : format.shortCredit(row.total);
}

function mapOf(context: Context, world: World, placed: Placed[], by: Order): Child {
  const score = (row: Row) => (by === "rac" ? format.toNumber(row.rac) : Number(row.total));
  const most = Math.max(...placed.map((one) => score(one.row)), 0);
  const rows = new Map(placed.map((one) => [one.place, one.row]));
  const readout = h("p", { class: "readout", "aria-hidden": "true" }, "Each shade is about six times the one before.");
  const shapes = world.countries.map((one) => {
    const row = rows.get(one);
    const shade = row ? shadeOf(score(row), most) : 0;
    if (!one.path && !row) return null; // a small country without data has no outline that could be neutral
    const shape = one.path ? svg("path", { d: one.path, "data-shade": shade, "data-country": one.name })
      : svg("circle", { cx: one.at?.[0], cy: one.at?.[1], r: 9, "data-shade": shade, "data-country": one.name });
    shape.append(svg("title", {}, row ? `${one.name}: ${valueText(row, by)}, ${format.count(row.people ?? 0)} people` : `${one.name}: no data`));
    shape.addEventListener("pointerenter", () => replace(readout, h("b", {}, one.name), row ? [" ", valueText(row, by), `, ${format.count(row.people ?? 0)} people`] : " no data"));
    if (row) shape.addEventListener("click", () => context.go({ view: "hub-leaders", board: "people", by, offset: 0, of: null, country: row.country ?? null }));
    return shape;
  });
  return h("figure", { class: "chart world" },
    h("figcaption", {}, h("span", { class: "chart-title" }, by === "rac" ? "Recent average by country" : "Credit by country"), readout),
    svg("svg", { viewBox: `0 0 ${world.width} ${world.height}`, role: "img", "aria-label": "World map, countries shaded by credit; the table has the numbers." }, shapes),
    h("p", { class: "shades", "aria-hidden": "true" }, h("span", { class: "soft" }, "no data"), [0, 1, 2, 3, 4, 5].map((shade) =>
      svg("svg", { class: "swatch", viewBox: "0 0 10 10" }, svg("rect", { "data-shade": shade, width: 10, height: 10, rx: 2 }))), h("span", { class: "soft" }, "most")));
}

async function worldOf(signal: AbortSignal): Promise<World> {
  const response = await fetch("world.json", { signal });
  if (!response.ok) throw new Error(`The map cannot be loaded: the gateway answered ${response.status}.`);
  return (await response.json()) as World;
}

export async function countriesView(context: Context, by: Order): Promise<View> {
  const [answer, world] = await Promise.all([ask<Row[]>(`countries?sort=${by}&limit=${kLimit}`, context.signal), worldOf(context.signal)]);
  const rows = answer.data.filter((one) => one.country);
  const { placed, others } = placedOn(world, rows);
  const most = Math.max(...rows.map((one) => (by === "rac" ? format.toNumber(one.rac) : Number(one.total))), 0) || 1;
  const share = (row: Row) => (by === "rac" ? format.toNumber(row.rac) : Number(row.total)) / most;
  const apart = others.map((one) => one.country).slice(0, 12).join(", ");
  const node = h("div", { class: "hub-countries" },
    h("h1", { tabindex: -1 }, "Countries"),
    h("p", { class: "lead" }, "The credit of people by the country that they named. A country counts people, not accounts.", listTime(answer)),
    tabs("Order", [{ text: "By total", route: { view: "hub-countries", by: "total" }, on: by === "total" }, { text: "By recent average", route: { view: "hub-countries", by: "rac" }, on: by === "rac" }]),
    rows.length === 0 ? empty("No person has named a country yet.") : [
      h("section", { class: "card", "aria-label": "Map" }, mapOf(context, world, placed, by),
        apart && h("p", { class: "soft small" }, `Not on the map: ${apart}${others.length > 12 ? " and others" : ""}.`)),
      card(null, table("Countries", [
        { name: "Rank", number: true, cell: (r) => format.count(r.rank) },
        { name: "Country", head: true, cell: (r) => [link({ view: "hub-leaders", board: "people", by, offset: 0, of: null, country: r.country ?? null }, r.country ?? ""), bar(share(r))] },
        { name: "Total credit", number: true, wide: by === "rac", cell: (r) => credit(r.total) },
        { name: "Recent average", number: true, wide: by !== "rac", cell: (r) => rac(r.rac) },
        { name: "People", number: true, wide: true, cell: (r) => countOf(r.people) },
      ], rows)),
    ]);
  return { title: "Countries", node };
}

// The world map of the page, from the package world-atlas (outlines of Natural Earth, public domain): an outline for each country that is
// large enough at 1:110 million, a place for each smaller one. The projection is Natural Earth (Šavrič and others, 2011), a
// polynomial, so that every machine computes the same bytes.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const kWidth = 2000;
const kHalfWidth = 2.7354; // of the projected equator, to 180 degrees: π × 0.8707
const kSouth = -56; // degrees; nothing south of it is drawn
const kNorth = 84;
const kLeftOut = new Set(["Antarctica", "Fr. S. Antarctic Lands", "Ashmore and Cartier Is.", "Heard I. and McDonald Is.", "Siachen Glacier", "Indian Ocean Ter."]);

// The package's names that projects write in another way: the full name first, then the others.
const kNames = {
  "Antigua and Barb.": ["Antigua and Barbuda"],
  Bahamas: ["Bahamas", "Bahamas, The"],
  "Bosnia and Herz.": ["Bosnia and Herzegovina"],
  "Br. Indian Ocean Ter.": ["British Indian Ocean Territory"],
  "British Virgin Is.": ["British Virgin Islands", "Virgin Islands, British"],
  Brunei: ["Brunei", "Brunei Darussalam"],
  Bolivia: ["Bolivia", "Bolivia, Plurinational State of"],
  "Cabo Verde": ["Cabo Verde", "Cape Verde"],
  "Cayman Is.": ["Cayman Islands"],
  "Central African Rep.": ["Central African Republic"],
  Congo: ["Republic of the Congo", "Congo, Republic of the", "Congo"],
  "Cook Is.": ["Cook Islands"],
  Czechia: ["Czechia", "Czech Republic"],
  "Dem. Rep. Congo": ["Democratic Republic of the Congo", "Congo, Democratic Republic of the", "Congo, The Democratic Republic of the"],
  "Dominican Rep.": ["Dominican Republic"],
  "Eq. Guinea": ["Equatorial Guinea"],
  eSwatini: ["Eswatini", "Swaziland"],
  "Faeroe Is.": ["Faroe Islands"],
  "Falkland Is.": ["Falkland Islands", "Falkland Islands (Malvinas)"],
  "Fr. Polynesia": ["French Polynesia"],
  Gambia: ["Gambia", "Gambia, The"],
  Iran: ["Iran", "Iran, Islamic Republic of"],
  Laos: ["Laos", "Lao People's Democratic Republic"],
  Libya: ["Libya", "Libyan Arab Jamahiriya"],
  Macao: ["Macau", "Macao"],
  Macedonia: ["North Macedonia", "Macedonia", "Macedonia, The Former Yugoslav Republic of"],
  "Marshall Is.": ["Marshall Islands"],
  Micronesia: ["Micronesia", "Micronesia, Federated States of"],
  Moldova: ["Moldova", "Moldova, Republic of"],
  Myanmar: ["Myanmar", "Burma"],
  "N. Cyprus": ["Northern Cyprus"],
  "N. Mariana Is.": ["Northern Mariana Islands"],
  "North Korea": ["North Korea", "Korea, North", "Korea, Democratic People's Republic of"],
  Palestine: ["Palestine", "West Bank", "Gaza Strip", "Palestinian Territory", "Palestine, State of"],
  "Pitcairn Is.": ["Pitcairn Islands", "Pitcairn"],
  Russia: ["Russia", "Russian Federation"],
  "S. Geo. and the Is.": ["South Georgia and the South Sandwich Islands"],
  "S. Sudan": ["South Sudan"],
  Serbia: ["Serbia", "Serbia and Montenegro"],
  "Solomon Is.": ["Solomon Islands"],
  "South Korea": ["South Korea", "Korea, South", "Korea, Republic of"],
  "St-Barthélemy": ["Saint Barthélemy"],
  "St-Martin": ["Saint Martin"],
  "St. Kitts and Nevis": ["Saint Kitts and Nevis"],
  "St. Pierre and Miquelon": ["Saint Pierre and Miquelon"],
  "St. Vin. and Gren.": ["Saint Vincent and the Grenadines"],
  Syria: ["Syria", "Syrian Arab Republic"],
  Taiwan: ["Taiwan", "Taiwan, Province of China"],
  Tanzania: ["Tanzania", "Tanzania, United Republic of"],
  "Timor-Leste": ["Timor-Leste", "East Timor"],
  Turkey: ["Turkey", "Türkiye"],
  "Turks and Caicos Is.": ["Turks and Caicos Islands"],
  "U.S. Virgin Is.": ["United States Virgin Islands", "Virgin Islands", "Virgin Islands, U.S."],
  "United States of America": ["United States", "United States of America", "USA"],
  "United Kingdom": ["United Kingdom", "Great Britain", "UK"],
  Vatican: ["Vatican City", "Holy See (Vatican City State)", "Holy See"],
  Venezuela: ["Venezuela", "Venezuela, Bolivarian Republic of"],
  Vietnam: ["Vietnam", "Viet Nam"],
  "W. Sahara": ["Western Sahara"],
  "Wallis and Futuna Is.": ["Wallis and Futuna"],
};

function project([longitude, latitude]) {
  const lambda = (longitude * Math.PI) / 180;
  const phi = (latitude * Math.PI) / 180;
  const p2 = phi * phi;
  const p4 = p2 * p2;
  const x = lambda * (0.8707 - 0.131979 * p2 - 0.013791 * p4 + p4 * p4 * p2 * (0.003971 - 0.001529 * p2));
  const y = phi * (1.007226 + p2 * (0.015085 + p4 * (-0.044475 + 0.028874 * p2 - 0.005916 * p4)));
  return [x, y];
}

const kScale = kWidth / (2 * kHalfWidth);
const kTop = project([0, kNorth])[1];

function place(point) {
  const [x, y] = project(point);
  return [Math.round((x + kHalfWidth) * kScale), Math.round((kTop - y) * kScale)];
}

// The arcs of a TopoJSON file in degrees. A point is the difference from the one before.
function arcsOf({ arcs, transform }) {
  return arcs.map((arc) => {
    let x = 0;
    let y = 0;
    return arc.map(([dx, dy]) => {
      x += dx;
      y += dy;
      return [x * transform.scale[0] + transform.translate[0], y * transform.scale[1] + transform.translate[1]];
    });
  });
}

// ~n is arc n backwards. Neighbouring arcs share a point.
function ringOf(numbers, arcs) {
  return numbers.flatMap((n, at) => (n < 0 ? [...arcs[~n]].reverse() : arcs[n]).slice(at > 0 ? 1 : 0));
}

// A ring across the antimeridian continues beyond 180 degrees, so that the east of Russia is beside the rest of it.
function unbroken(ring) {
  let turn = 0;
  const whole = ring.map(([x, y], at) => {
    const step = at > 0 ? x - ring[at - 1][0] : 0;
    turn += step > 180 ? -360 : step < -180 ? 360 : 0;
    return [x + turn, y];
  });
  const middle = whole.reduce((sum, [x]) => sum + x, 0) / whole.length;
  const back = middle > 180 ? -360 : middle < -180 ? 360 : 0;
  return whole.map(([x, y]) => [x + back, y]);
}

function polygonsOf(geometry, arcs) {
  const polygons = geometry.type === "Polygon" ? [geometry.arcs] : geometry.type === "MultiPolygon" ? geometry.arcs : [];
  return polygons.map((rings) => rings.map((ring) => unbroken(ringOf(ring, arcs))));
}

function pathOf(polygons) {
  let path = "";
  for (const ring of polygons.flat()) {
    const points = ring.map(place).filter(([x, y], at, all) => at === 0 || x !== all[at - 1][0] || y !== all[at - 1][1]);
    if (points.length < 4) continue; // less than a pixel
    path += `M${points[0].join(" ")}l`;
    path += points.slice(1, -1).map(([x, y], at) => `${x - points[at][0]} ${y - points[at][1]}`).join(" ").replace(/ -/g, "-");
    path += "z";
  }
  return path;
}

function areaOf(ring) {
  return Math.abs(ring.reduce((sum, [x, y], at) => sum + x * ring[(at + 1) % ring.length][1] - y * ring[(at + 1) % ring.length][0], 0));
}

// The middle of the largest island.
function middleOf(polygons) {
  const largest = polygons.map((rings) => rings[0]).sort((a, b) => areaOf(b) - areaOf(a))[0];
  const sum = largest.reduce(([x, y], point) => [x + point[0] / largest.length, y + point[1] / largest.length], [0, 0]);
  return place(sum);
}

export function worldMap(modules) {
  const read = (scale) => JSON.parse(readFileSync(join(modules, `world-atlas/countries-${scale}.json`), "utf8"));
  const large = read("110m");
  const small = read("50m");
  const arcs = arcsOf(large);
  const smallArcs = arcsOf(small);
  const countries = [];
  const seen = new Set(kLeftOut);
  const add = (name, shape) => {
    if (seen.has(name)) return;
    seen.add(name);
    const names = kNames[name] ?? [name];
    countries.push({ name: names[0], ...(names.length > 1 ? { also: names.slice(1) } : {}), ...shape });
  };
  for (const one of large.objects.countries.geometries) add(one.properties.name, { path: pathOf(polygonsOf(one, arcs)) });
  for (const one of small.objects.countries.geometries) add(one.properties.name, { at: middleOf(polygonsOf(one, smallArcs)) });
  countries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { width: kWidth, height: place([0, kSouth])[1], countries };
}

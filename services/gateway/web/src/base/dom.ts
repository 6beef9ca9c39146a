// Elements. Text is always set as text: answers of the gateway are never markup.

export type Child = Node | string | number | null | undefined | false | Child[];
type Listener = (event: Event) => void;
type Attributes = Record<string, string | number | boolean | null | undefined | Listener>;

// Characters that change the direction of the following text (Unicode, UAX #9). In a name they would reverse
// the text beside it.
const kBidi = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function withoutBidi(text: string): string {
  return text.replace(kBidi, "");
}

// A text with such characters gets an element of its own, which isolates them (base.css isolates every
// element). In SVG and in an option, where no element is allowed, they are removed.
function textNode(parent: Element, text: string): Node | string {
  if (text.search(kBidi) < 0) return text;
  if (!(parent instanceof HTMLElement) || parent instanceof HTMLOptionElement) return withoutBidi(text);
  const isolated = document.createElement("bdi");
  isolated.textContent = text;
  return isolated;
}

function append(parent: Element, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) child.forEach((one) => append(parent, one));
  else parent.append(child instanceof Node ? child : textNode(parent, String(child)));
}

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(name), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

let last_id = 0;
export function freshId(prefix: string): string {
  return `${prefix}-${++last_id}`;
}

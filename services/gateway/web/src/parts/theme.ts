// Light or dark: the system's setting, until the reader chooses.
export type Theme = "light" | "dark";

const kKey = "cobblestone.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const changed = new EventTarget();

function chosen(): Theme | null {
  const value = localStorage.getItem(kKey);
  return value === "light" || value === "dark" ? value : null;
}

export function theme(): Theme {
  return chosen() ?? (system.matches ? "dark" : "light");
}

function apply(): void {
  document.documentElement.dataset["theme"] = theme();
  changed.dispatchEvent(new Event("change"));
}

// Runs before anything is drawn.
export function startTheme(): void {
  apply();
  system.addEventListener("change", apply);
}

export function switchTheme(): void {
  localStorage.setItem(kKey, theme() === "dark" ? "light" : "dark");
  apply();
}

export function onTheme(then: () => void, signal: AbortSignal): void {
  changed.addEventListener("change", then, { signal });
}

export function calm(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

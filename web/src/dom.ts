/** Elements in few words. */

type Child = Node | string | null | false;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | EventListener> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, value);
  }
  for (const child of children) if (child !== null && child !== false) element.append(child);
  return element;
}

export function by<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** A number for readers: up to `digits` digits, groups of thousands, no exponent. */
export function shown(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value.toLocaleString("en", { maximumSignificantDigits: digits });
}

/** A time in microseconds, in the unit that suits it. */
export function time(us: number): string {
  if (us >= 1e6) return `${shown(us / 1e6)} s`;
  if (us >= 1e3) return `${shown(us / 1e3)} ms`;
  return `${shown(us)} us`;
}

/** A size in bytes, in the unit that suits it. */
export function size(bytes: number): string {
  if (bytes >= 1e6) return `${shown(bytes / 1e6, 2)} MB`;
  if (bytes >= 1e3) return `${shown(bytes / 1e3, 2)} KB`;
  return `${shown(bytes, 2)} B`;
}

const ACRONYM = /\b(ack|aqm|bbr|cc|cnp|ecn|hai|int|mss|mtu|nic|pfc|rcp|rtt|rto|tcp|tso|vcp|xoff|xon)\b/g;

/** A key in words: `pfc` is PFC, and `ack_jitter` ACK jitter. */
export function inWords(key: string): string {
  const text = key.replace(/[_-]+/g, " ").replace(ACRONYM, (word) => word.toUpperCase());
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const colours = new Map<string, string>();

/** A colour of the style. It is asked for once, since each question makes the browser lay out. */
export function colour(name: string): string {
  let found = colours.get(name);
  if (found === undefined) {
    found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, found);
  }
  return found;
}

/** Asks for all colours anew: the theme has changed. */
export function forgetColours(): void {
  colours.clear();
}

const widths = new WeakMap<Element, number>();
const observer = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) widths.set(target, Math.round(contentRect.width));
});

/** The width of an element, which the browser tells when it changes. */
export function widthOf(element: HTMLElement): number {
  const known = widths.get(element);
  if (known !== undefined) return known;
  observer.observe(element);
  widths.set(element, element.clientWidth);
  return element.clientWidth;
}

/** The colour of the scheme of a number. */
export function ofScheme(number: number): string {
  return colour(`--scheme-${(number % 6) + 1}`);
}

/** Copies a text, and says so on the button for a while. */
export async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const label = button.dataset["label"] ?? button.textContent ?? "";
  button.dataset["label"] = label;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may have no clipboard of its own.
    const area = h("textarea", { "aria-hidden": "true", class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = done ? "Copied" : "Not allowed";
  setTimeout(() => (button.textContent = label), 1500);
}

export function download(name: string, bytes: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

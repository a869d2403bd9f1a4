/** The summary of runs beside published values. */

import { h, inWords, shown } from "./dom.js";
import type { About, Published } from "./types.js";

/** The figures that are shown first. */
const FIRST = [
  "throughput_gbps", "rtt_mean_us", "rtt_p50_us", "rtt_p99_us", "queue_mean_kb", "queue_p99_kb",
  "pfc_pauses", "drops", "ecn_marks", "retransmissions", "jain_index", "delay_p99_us",
  "messages", "messages_posted", "slowdown_mean", "slowdown_p99",
];

/** A column of the summary: what was measured of a scheme, and what was published. */
export interface Summed {
  scheme: string;
  /** The place of the scheme's colour. */
  number: number;
  figures: Record<string, number | null>;
  published: Partial<Published>;
}

/** A square in the colour of a scheme. */
export function key(number: number): HTMLElement {
  const square = h("span", { class: "key" });
  square.style.background = `var(--scheme-${(number % 6) + 1})`;
  return square;
}

/** The summary: a row for each figure, a column for each scheme. */
export function summary(element: HTMLElement, all: Summed[], about: About, ...notes: (Node | string)[]): void {
  if (all.length === 0) {
    element.replaceChildren();
    return;
  }
  const row = (name: string) => {
    const [, unit, doc] = about.figures.find(([other]) => other === name) ?? [name, "", ""];
    const cells = all.map(({ figures, published }) => {
      const paper = published[name as keyof Published];
      const value = shown(figures[name]);
      return h("td", {}, value, typeof paper === "number" && h("span", { class: "paper" }, ` paper: ${shown(paper)}`));
    });
    const label = inWords(name.replace(/_(gbps|us|kb|s|percent)$/, ""));
    return h("tr", {}, h("th", { scope: "row", title: `${name}: ${doc}` }, label, unit && h("small", {}, ` ${unit}`)), ...cells);
  };
  const head = () =>
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Figure"), ...all.map(({ scheme, number }) => h("th", { scope: "col" }, key(number), scheme))));
  const others = about.figures.map(([name]) => name).filter((name) => !FIRST.includes(name));
  const table = (label: string, names: string[]) =>
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${label}, a row for each` }, h("table", {}, head(), h("tbody", {}, ...names.map(row))));
  const sources = [...new Set(all.map(({ published }) => published.source).filter(Boolean))];
  element.replaceChildren(
    h("h2", {}, "Summary"),
    table("Summary", FIRST),
    ...(sources.length ? [h("p", { class: "hint" }, `Published: ${sources.join("; ")}.`)] : []),
    h("details", {}, h("summary", {}, "All figures"), table("All figures", others)),
    ...notes.map((note) => (typeof note === "string" ? h("p", { class: "hint" }, note) : note)),
  );
}

/** What runs have given: the summary beside published values, and all tables. */

import { download, h, shown } from "./dom.js";
import type { Run } from "./run.js";
import type { About, Published, Table } from "./types.js";

/** The figures that are shown first. */
const FIRST = [
  "throughput_gbps", "rtt_mean_us", "rtt_p50_us", "rtt_p99_us", "queue_mean_kb", "queue_p99_kb",
  "pfc_pauses", "drops", "ecn_marks", "retransmissions", "jain_index", "delay_p99_us",
  "messages", "slowdown_mean", "slowdown_p99",
];
/** Rows of a table on one screen. */
const ROWS = 20;

/** The summary: a row for each figure, a column for each scheme. */
export function summary(
  element: HTMLElement,
  runs: Run[],
  about: About,
  published: Record<string, Published>,
  note: string,
): void {
  const ended = runs.filter((run) => run.finished);
  if (ended.length === 0) {
    element.replaceChildren();
    return;
  }
  const of = (run: Run, name: string) => published[run.scheme]?.[name as keyof Published] ?? null;
  const row = (name: string) => {
    const [, unit, doc] = about.figures.find(([other]) => other === name) ?? [name, "", ""];
    const cells = ended.map((run) => {
      const paper = of(run, name);
      const value = shown(run.finished?.figures[name]);
      return h("td", {}, value, typeof paper === "number" && h("span", { class: "paper" }, ` paper: ${shown(paper)}`));
    });
    return h("tr", {}, h("th", { scope: "row", title: doc }, name, unit && h("small", {}, ` ${unit}`)), ...cells);
  };
  const head = () =>
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Figure"), ...ended.map((run) => {
      const key = h("span", { class: "key" });
      key.style.background = `var(--scheme-${(run.number % 6) + 1})`;
      return h("th", { scope: "col" }, key, run.scheme);
    })));
  const others = about.figures.map(([name]) => name).filter((name) => !FIRST.includes(name));
  const table = (label: string, names: string[]) =>
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${label}, a row for each` }, h("table", {}, head(), h("tbody", {}, ...names.map(row))));
  const sources = [...new Set(ended.map((run) => published[run.scheme]?.source).filter(Boolean))];
  const time = ended.map((run) => `${run.scheme} ${run.seconds.toFixed(2)} s`).join(", ");
  element.replaceChildren(
    h("h2", {}, "Summary"),
    table("Summary", FIRST),
    ...(sources.length ? [h("p", { class: "hint" }, `Published: ${sources.join("; ")}.`)] : []),
    ...(note ? [h("p", { class: "hint" }, note)] : []),
    h("details", {}, h("summary", {}, "All figures"), table("All figures", others)),
    h("p", { class: "hint" }, `Time in the simulator: ${time}.`),
    ...ended.map((run) => h("p", { class: "hint digest" }, `Digest of all tables, ${run.scheme}: `, h("code", { "data-digest": run.scheme }, run.finished?.digest ?? ""))),
  );
}

function csvName(run: Run, name: string, suffix: string): string {
  return `${run.scheme.replace(/[^\w.-]+/g, "-")}-${name}.${suffix}`;
}

/** A browser of all tables of runs that have ended. */
export class Tables {
  #run = 0;
  #table = 0;
  #from = 0;
  #runs: Run[] = [];

  constructor(private readonly element: HTMLElement) {}

  show(runs: Run[]): void {
    this.#runs = runs.filter((run) => run.finished);
    [this.#run, this.#from] = [Math.min(this.#run, Math.max(0, this.#runs.length - 1)), 0];
    if (this.#runs.length === 0) {
      this.element.replaceChildren();
      return;
    }
    const scheme = h("select", { id: "table-scheme" }, ...this.#runs.map((run, place) => h("option", { value: String(place) }, run.scheme)));
    const tables = this.#tables;
    this.#table = Math.min(this.#table, tables.length - 1);
    const table = h("select", { id: "table-name" }, ...tables.map((one, place) => h("option", { value: String(place) }, `${one.name} (${shown(one.rows)})`)));
    scheme.value = String(this.#run);
    table.value = String(this.#table);
    scheme.addEventListener("change", () => {
      this.#run = Number(scheme.value);
      this.show(this.#runs);
    });
    table.addEventListener("change", () => {
      [this.#table, this.#from] = [Number(table.value), 0];
      void this.#rows();
    });
    const save = (format: "csv" | "arrow") => () => void this.#save(format);
    this.element.replaceChildren(
      h("h2", {}, "Tables"),
      h(
        "div",
        { class: "bar" },
        h("label", {}, "Scheme ", scheme),
        h("label", {}, "Table ", table),
        h("button", { type: "button", id: "save-csv", click: save("csv") }, "CSV"),
        h("button", { type: "button", id: "save-arrow", click: save("arrow") }, "Arrow"),
      ),
      h("div", { id: "rows" }),
    );
    void this.#rows();
  }

  get #tables(): Table[] {
    return this.#runs[this.#run]?.finished?.tables ?? [];
  }

  async #rows(): Promise<void> {
    const [run, table, from] = [this.#runs[this.#run], this.#tables[this.#table], this.#from];
    if (!run || !table) return;
    const rows = await run.ask<string[][]>({ ask: "rows", table: this.#table, from, count: ROWS });
    const place = this.element.querySelector("#rows");
    if (!place || run !== this.#runs[this.#run] || table !== this.#tables[this.#table]) return;
    const cell = (text: string, column: number) => {
      const number = !table.columns[column]?.text && text !== "" ? Number(text) : Number.NaN;
      return h("td", {}, Number.isNaN(number) ? text || "–" : shown(number, 6));
    };
    const turn = (to: number) => () => {
      this.#from = to;
      void this.#rows();
    };
    const more = from + ROWS < table.rows;
    place.replaceChildren(
      h("p", { class: "hint" }, `${table.name}: ${table.doc}.`),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table ${table.name}` },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ...table.columns.map(({ name, unit, doc }) => h("th", { scope: "col", title: unit ? `${doc} (${unit})` : doc }, name)))),
          h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
        ),
      ),
      h(
        "p",
        { class: "bar" },
        h("button", { type: "button", disabled: from === 0, click: turn(Math.max(0, from - ROWS)) }, "Earlier rows"),
        h("span", {}, table.rows ? `${shown(from + 1)} to ${shown(from + rows.length)} of ${shown(table.rows)}` : "no rows"),
        h("button", { type: "button", disabled: !more, click: turn(from + ROWS) }, "Later rows"),
      ),
    );
  }

  async #save(format: "csv" | "arrow"): Promise<void> {
    const [run, table] = [this.#runs[this.#run], this.#tables[this.#table]];
    if (!run || !table) return;
    const bytes = await run.ask<Uint8Array<ArrayBuffer>>({ ask: "file", table: this.#table, format });
    const type = format === "csv" ? "text/csv" : "application/vnd.apache.arrow.file";
    download(csvName(run, table.name, format), bytes, type);
  }
}

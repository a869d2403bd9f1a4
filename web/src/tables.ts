/** A browser of tables: those of runs that have ended, or of a result that was opened. */

import { download, h, shown } from "./dom.js";
import type { Column, Table } from "./types.js";
import { Mistake } from "./types.js";

/** Rows of a table on one screen. */
const ROWS = 20;

export type Format = "csv" | "parquet" | "arrow";

const TYPES: Record<Format, string> = {
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file",
};
const LABELS: Record<Format, string> = { csv: "CSV", parquet: "Parquet", arrow: "Arrow" };

/** Tables that can be looked through and saved. */
export interface Source {
  /** The name of the scheme, or of what the tables belong to. */
  label: string;
  tables: Table[];
  formats: Format[];
  /** Rows of the table of a number, as text. */
  rows(table: number, from: number, count: number): Promise<string[][]>;
  file(table: number, format: Format): Promise<BlobPart>;
}

export class Tables {
  #source = 0;
  #table = 0;
  #from = 0;
  #sources: Source[] = [];

  /** The ids of its elements begin with `id`. */
  constructor(
    private readonly element: HTMLElement,
    private readonly id: string,
    private readonly mistaken: (mistake: Mistake | null) => void,
  ) {}

  show(sources: Source[]): void {
    this.#sources = sources;
    [this.#source, this.#from] = [Math.min(this.#source, Math.max(0, sources.length - 1)), 0];
    const own = this.#own;
    if (!own || own.tables.length === 0) {
      this.element.replaceChildren();
      return;
    }
    const scheme = h("select", { id: `${this.id}-scheme` }, ...sources.map(({ label }, place) => h("option", { value: String(place) }, label)));
    this.#table = Math.min(this.#table, own.tables.length - 1);
    const table = h("select", { id: `${this.id}-name` }, ...own.tables.map((one, place) => h("option", { value: String(place) }, `${one.name} (${shown(one.rows)})`)));
    scheme.value = String(this.#source);
    table.value = String(this.#table);
    scheme.addEventListener("change", () => {
      this.#source = Number(scheme.value);
      this.show(this.#sources);
    });
    table.addEventListener("change", () => {
      [this.#table, this.#from] = [Number(table.value), 0];
      void this.#rows();
    });
    this.element.replaceChildren(
      h("h2", {}, "Tables"),
      h(
        "div",
        { class: "bar" },
        sources.length > 1 ? h("label", {}, "Scheme ", scheme) : null,
        h("label", {}, "Table ", table),
        ...own.formats.map((format) => h("button", { type: "button", id: `${this.id}-${format}`, click: () => void this.#save(format) }, LABELS[format])),
      ),
      h("div", { class: "rows", id: `${this.id}-rows` }),
    );
    void this.#rows();
  }

  get #own(): Source | undefined {
    return this.#sources[this.#source];
  }

  async #rows(): Promise<void> {
    const [own, number, from] = [this.#own, this.#table, this.#from];
    const table = own?.tables[number];
    if (!own || !table) return;
    let rows: string[][];
    try {
      rows = await own.rows(number, from, ROWS);
    } catch (error) {
      this.mistaken(error instanceof Mistake ? error : new Mistake(`${table.name}: ${String(error)}`));
      return;
    }
    const place = this.element.querySelector(".rows");
    if (!place || own !== this.#own || number !== this.#table || from !== this.#from) return;
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
          h("thead", {}, h("tr", {}, ...table.columns.map(heading))),
          h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((text, column) => cell(text, table.columns[column]))))),
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

  async #save(format: Format): Promise<void> {
    const [own, number] = [this.#own, this.#table];
    const table = own?.tables[number];
    if (!own || !table) return;
    try {
      const bytes = await own.file(number, format);
      download(`${own.label.replace(/[^\w.-]+/g, "-")}-${table.name}.${format}`, bytes, TYPES[format]);
    } catch (error) {
      this.mistaken(error instanceof Mistake ? error : new Mistake(`${table.name}: ${String(error)}`));
    }
  }
}

function heading({ name, unit, doc }: Column): HTMLElement {
  return h("th", { scope: "col", title: unit ? `${doc} (${unit})` : doc }, name);
}

function cell(text: string, column: Column | undefined): HTMLElement {
  const number = column?.kind !== "text" && text !== "" ? Number(text) : Number.NaN;
  return h("td", {}, Number.isNaN(number) ? text || "–" : shown(number, 6));
}

/** A table as comma-separated values, as the simulator writes it. */
export function csv(columns: Column[], rows: string[][]): string {
  const quoted = (text: string) => (/[,"\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [columns.map(({ name }) => name), ...rows].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

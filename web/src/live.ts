/** A live figure of a guide: sliders, runs in workers, and what is drawn of them. */

import { Figure, type Mark, type Series } from "./charts.js";
import { desk } from "./desk.js";
import { h, shown } from "./dom.js";
import { NetworkView } from "./network.js";
import { Run } from "./run.js";
import { type State, first, fragment, open } from "./state.js";
import { key } from "./summary.js";
import teaching from "virtual:teaching";
import { Mistake, type Opened } from "./types.js";

/** A slider: its values, and what each changes in the scenario. */
export interface Knob {
  name: string;
  label: string;
  values: string[];
  /** The value at the start. */
  start: string;
  changes: (value: string) => string[];
}

/** The values of the sliders, by their names. */
export type Values = Record<string, string>;

/** A run of the figure. */
export interface Line {
  label: string;
  scheme: string;
  /** What it changes beside the sliders. */
  changes?: (values: Values) => string[];
  /** Published values, by the column of the table. */
  published?: Record<string, number>;
}

export interface Plot {
  title: string;
  unit: string;
  /** Over time, or the share of RTT samples. */
  x: "time" | "rtt";
  series: (runs: Run[], values: Values) => Series[];
  /** Whether it leaves out the time that is not measured. */
  measured?: boolean;
  marks?: (values: Values) => Mark[];
}

/** A column of the table below the plots. */
export interface Measure {
  name: string;
  label: string;
  value: (run: Run) => number | null | Promise<number | null>;
}

export interface Live {
  title: string;
  /** A scenario that ships, or one of the guides. */
  scenario: string;
  changes: string[];
  knobs: Knob[];
  lines: Line[];
  plots: Plot[];
  network?: boolean;
  table?: { measures: Measure[]; source: string };
  /** What to try, and behind "See:" what is seen then. */
  caption: string;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** Figures that wait for their first run; one at a time has it. */
const waiting: LiveFigure[] = [];
let busy: LiveFigure | null = null;

function next(): void {
  busy = waiting.shift() ?? null;
  void busy?.run();
}

let made = 0;

export class LiveFigure {
  readonly element: HTMLElement;
  readonly #values: Values = {};
  readonly #plots: { plot: Plot; figure: Figure }[];
  readonly #status = h("p", { class: "hint", role: "status" });
  readonly #error = h("p", { class: "error", hidden: true });
  readonly #links = h("p", { class: "links" });
  readonly #networks = h("div", { class: "grid" });
  readonly #table = h("div", {});
  #runs: Run[] = [];
  #views: NetworkView[] = [];
  #opened: Opened[] = [];
  #turn = 0;
  #drawing = false;
  #begun = false;

  /** `numbers` has the place of each line's colour, by its label. */
  constructor(private readonly live: Live, private readonly numbers: ReadonlyMap<string, number>) {
    for (const { name, start } of live.knobs) this.#values[name] = start;
    this.#plots = live.plots.map((plot) => ({ plot, figure: new Figure(plot.title, plot.unit, { x: plot.x, least: plot.x === "rtt" ? 1 : 0 }) }));
    // The answer is folded: the reader looks first.
    const [tried = "", seen = ""] = live.caption.split(" See: ");
    this.element = h(
      "section",
      { class: "live", "aria-label": live.title },
      h("h3", {}, live.title),
      h("div", { class: "knobs" }, ...live.knobs.map((knob) => this.#knob(knob))),
      this.#error,
      this.#networks,
      h("div", { class: "grid" }, ...this.#plots.map(({ figure }) => figure.element)),
      this.#table,
      this.#status,
      h("p", { class: "caption" }, tried),
      h("details", { class: "caption" }, h("summary", {}, "What is to be seen"), h("p", {}, `${seen.charAt(0).toUpperCase()}${seen.slice(1)}`)),
      this.#links,
    );
    void this.#linked();
  }

  #knob({ name, label, values, start }: Knob): HTMLElement {
    const id = `knob-${++made}`;
    const output = h("output", { for: id }, start);
    const slider = h("input", {
      id, type: "range", min: "0", max: String(values.length - 1), value: String(values.indexOf(start)), "aria-valuetext": start,
    });
    let soon = 0;
    slider.addEventListener("input", () => {
      const value = values[Number(slider.value)] ?? start;
      this.#values[name] = value;
      output.textContent = value;
      slider.setAttribute("aria-valuetext", value);
      clearTimeout(soon);
      soon = window.setTimeout(() => void this.run(), 150);
    });
    return h("div", { class: "knob" }, h("label", { for: id }, label), slider, output);
  }

  /** Runs it when its turn has come, once. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    waiting.push(this);
    if (!busy) next();
  }

  #state({ scheme, changes }: Line): State {
    const { scenario, knobs } = this.live;
    const all = [...this.live.changes, ...knobs.flatMap((knob) => knob.changes(this.#values[knob.name] ?? "")), ...(changes?.(this.#values) ?? [])];
    const state: State = { ...first(), name: scenario, text: teaching[scenario] ?? null, schemes: [scheme] };
    for (const change of all) {
      const at = change.indexOf("=");
      // The last one of a path holds, as with --set.
      state.changes.delete(change.slice(0, at));
      state.changes.set(change.slice(0, at), change.slice(at + 1));
    }
    return state;
  }

  async run(): Promise<void> {
    const own = ++this.#turn;
    this.#begun = true;
    this.end();
    this.element.dataset["state"] = "running";
    this.#table.classList.add("old");
    void this.#linked();
    try {
      const states = this.live.lines.map((line) => this.#state(line));
      const opened = await Promise.all(states.map((state) => desk.ask<Opened>({ ask: "open", ...open(state) })));
      if (own !== this.#turn) return;
      const refused = opened.flatMap(({ schemes }) => schemes).find(({ refused }) => refused)?.refused;
      if (refused) throw new Mistake(refused);
      this.#error.hidden = true;
      this.#opened = opened;
      this.#runs = this.live.lines.map(({ label, scheme }, place) => new Run(scheme, this.#number(label), opened[place]!, label, () => this.#later()));
      this.#views = this.live.network ? this.#runs.map((run) => new NetworkView(run)) : [];
      this.#networks.replaceChildren(...this.#views.map((view) => view.element));
      this.#runs.forEach((run, number) => run.start(open(states[number]!), opened[number]!.seed, 0));
      this.#status.textContent = "Running.";
    } catch (error) {
      this.#failed(error instanceof Mistake ? error : new Mistake(String(error)));
    }
  }

  #number(label: string): number {
    return this.numbers.get(label) ?? 0;
  }

  #failed(mistake: Mistake): void {
    this.#error.hidden = false;
    this.#error.textContent = mistake.message;
    this.end();
    this.#runs = [];
    this.#networks.replaceChildren();
    this.#table.replaceChildren();
    for (const { figure } of this.#plots) figure.clear();
    this.#status.textContent = "";
    this.element.dataset["state"] = "ended";
    this.#done();
  }

  #done(): void {
    if (busy === this) next();
  }

  /** Ends what runs. */
  end(): void {
    for (const run of this.#runs) run.end();
  }

  /** Forgets that it waits, and ends what runs. */
  leave(): void {
    this.#turn += 1;
    this.end();
    const place = waiting.indexOf(this);
    if (place >= 0) waiting.splice(place, 1);
    this.#done();
  }

  #later(): void {
    const over = this.#runs.every((run) => run.over);
    if (this.#drawing || (still.matches && !over)) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.draw();
      if (this.#runs.length && this.#runs.every((run) => run.over) && this.element.dataset["state"] === "running") void this.#ended();
    });
  }

  /** Draws what there is, in the colours that are chosen now. */
  draw(): void {
    if (this.#runs.length === 0) return;
    const most = Math.max(1, ...this.#runs.map((run) => run.traces.mostQueue));
    this.#views.forEach((view, number) => view.draw(this.#runs[number]!.frames.at(-1), most));
    for (const { plot, figure } of this.#plots) {
      const series = plot.series(this.#runs, this.#values).map((one) => (plot.measured ? this.#measured(one) : one));
      if (series.some(({ x }) => x.length > 0)) figure.show(series, null, 0, "", plot.marks?.(this.#values) ?? []);
    }
  }

  #measured(series: Series): Series {
    const warmup = this.#opened[0]?.warmup_us ?? 0;
    const first = series.x.findIndex((at) => at > warmup);
    const from = first < 0 ? series.x.length : first;
    const { x, y, low } = series;
    return { ...series, x: x.slice(from), y: y.slice(from), ...(low ? { low: low.slice(from) } : {}) };
  }

  async #ended(): Promise<void> {
    const own = this.#turn;
    const wrong = this.#runs.find((run) => run.mistake)?.mistake;
    if (wrong) return this.#failed(wrong);
    const { table, lines } = this.live;
    if (table) {
      const values = await Promise.all(this.#runs.map((run) => Promise.all(table.measures.map(({ value }) => value(run)))));
      if (own !== this.#turn) return;
      const numbers = lines.map(({ label }) => this.#number(label));
      this.#table.replaceChildren(...tabled(this.live.title, table.measures, lines, numbers, values, table.source));
      this.#table.classList.remove("old");
    }
    const [from, until] = [this.#opened[0]?.warmup_us ?? 0, this.#opened[0]?.duration_us ?? 0];
    const seconds = this.#runs.reduce((sum, run) => sum + run.seconds, 0);
    this.#status.textContent = `Run: ${shown(until / 1e3)} ms of the network${from ? `, measured from ${shown(from / 1e3)} ms on` : ""}, in ${shown(seconds, 2)} s of a processor.`;
    this.element.dataset["state"] = "ended";
    this.end();
    this.#done();
  }

  /** The links to the simulator: one for all lines that have the same changes. */
  async #linked(): Promise<void> {
    const groups = new Map<string, { labels: string[]; state: State }>();
    for (const line of this.live.lines) {
      const state = this.#state(line);
      const changes = JSON.stringify([...state.changes]);
      const group = groups.get(changes);
      if (group) {
        group.labels.push(line.label);
        group.state.schemes.push(line.scheme);
      } else {
        groups.set(changes, { labels: [line.label], state });
      }
    }
    const links = await Promise.all([...groups.values()].map(async ({ labels, state }) => {
      const text = groups.size > 1 ? `Open ${labels.join(", ")} in the simulator` : "Open in the simulator";
      return h("a", { class: "action", href: `#${await fragment(state)}` }, text);
    }));
    const before = [...this.#links.querySelectorAll("a")].map(({ href }) => href);
    // A link that has the focus is left alone where it is the same.
    if (links.some(({ href }, place) => href !== before[place])) this.#links.replaceChildren(...links);
  }
}

function tabled(title: string, measures: Measure[], lines: Line[], numbers: number[], values: (number | null)[][], source: string): HTMLElement[] {
  const head = h("tr", {}, h("td", {}), ...measures.map(({ label }) => h("th", { scope: "col" }, label)));
  const rows = lines.map(({ label, published }, line) =>
    h("tr", {}, h("th", { scope: "row" }, key(numbers[line] ?? 0), label), ...measures.map(({ name }, column) => {
      const said = published?.[name];
      return h("td", {}, h("span", { class: "measured" }, shown(values[line]?.[column])), said === undefined ? "" : h("span", { class: "paper" }, ` paper: ${shown(said)}`));
    })));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${title}` }, table),
    ...(source ? [h("p", { class: "hint" }, source)] : []),
  ];
}

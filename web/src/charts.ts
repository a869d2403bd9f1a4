/** The figures: queues, RTTs and rates over time, and the distribution of RTTs. */

import uPlot from "uplot";
import { colour, h, ofScheme, shown, size, time, widthOf } from "./dom.js";
import { type Slowdowns, slowdowns } from "./measures.js";
import { MOST_FLOWS, type Points, type Run } from "./run.js";

export interface Series {
  label: string;
  colour: string;
  width: number;
  alpha?: number;
  x: number[];
  y: Points;
  /** The least values, where `y` has the greatest: both are drawn, and the band between them. */
  low?: Points;
  /** When measuring begins, in microseconds. */
  since?: number;
  dash?: number[];
}

/** A series as it is drawn; `isLow` of one that ends the band of the series before it. */
type Drawn = Series & { isLow?: boolean };

export const QUEUES = "Longest queue, from least to greatest";

/** A level that is drawn across a figure, such as a threshold. */
export interface Mark {
  label: string;
  y: number;
}

/**
 * Both ends of a band, with a point for each two pixels at most: the least and the greatest of all
 * intervals there. With more points, swings that intervals cut make waves that no queue has.
 */
function ends(series: Series, width: number): Drawn[] {
  const { x, y, low } = series;
  if (!low) return [series];
  const several = Math.max(1, Math.ceil(x.length / (width / 2)));
  // The last point has as many intervals as the others.
  const starts = Array.from({ length: Math.ceil(x.length / several) }, (_, place) => Math.max(0, Math.min(place * several, x.length - several)));
  const reduced = (values: Points, best: (...all: number[]) => number) => starts.map((start) => {
    const known = values.slice(start, start + several).filter((value) => value !== null);
    return known.length ? best(...known) : null;
  });
  const at = starts.map((start) => x[Math.min(start + several, x.length) - 1]!);
  return [{ ...series, x: at, y: reduced(y, Math.max) }, { ...series, x: at, y: reduced(low, Math.min), width: 0.75, isLow: true }];
}

/** The least and the greatest of a band between two places, whatever the width of the window. */
function band({ y, low }: Series, from: number, until: number): string {
  const best = (values: Points, of: (...all: number[]) => number) => {
    const known = values.slice(Math.max(0, from), until).filter((value) => value !== null);
    return shown(known.length ? known.reduce((one, other) => of(one, other)) : null, 3);
  };
  return `${best(low ?? y, Math.min)} to ${best(y, Math.max)}`;
}

/** The intervals of a band that a text at a place tells of: with PFC alone they hold a swing. */
const TOLD = 3;

/** What a series is at a place, in words. */
function at(series: Series, place: number): string {
  return `${series.label} ${series.low ? band(series, place + 1 - TOLD, place + 1) : shown(series.y[place], 3)}`;
}

/** What a series is, in words: of a band while it is measured, of another one at its end. */
function said(series: Series): string {
  if (!series.low) return at(series, series.y.findLastIndex((value) => value !== null));
  const measured = series.x.findIndex((time) => time > (series.since ?? 0));
  return `${series.label} ${band(series, measured, series.x.length)}`;
}

/** A figure of some series. It is made anew when their number changes. */
export class Figure {
  readonly element: HTMLElement;
  readonly #plot: HTMLElement;
  readonly #value: HTMLElement;
  #chart: uPlot | null = null;
  #made = "";

  constructor(
    private readonly title: string,
    private readonly unit: string,
    private readonly kind: { x: "time" | "rtt" | "size"; least?: number },
  ) {
    this.#plot = h("div", { class: "plot", role: "img", "aria-label": title });
    this.#value = h("span", { class: "value" });
    this.element = h("figure", {}, h("figcaption", {}, h("span", {}, `${title}${unit ? `, ${unit}` : ""}`), this.#value), this.#plot);
  }

  /** Shows series, each with its own points, and a line at a moment. */
  show(all: Series[], moment: number | null, least = 0, note = "", marks: Mark[] = []): void {
    this.#least = Math.max(this.kind.least ?? 0, least, ...marks.map(({ y }) => y * 1.08));
    this.#marks = marks;
    const width = widthOf(this.#plot);
    if (width === 0) return;
    const series = all.flatMap((one) => ends(one, width));
    this.#series = all;
    const data = joined(series);
    const made = `${series.map((one) => one.label + one.colour).join()}|${width}`;
    this.#moment = moment;
    if (made !== this.#made || !this.#chart) {
      this.#chart?.destroy();
      this.#chart = new uPlot(this.#options(series, width), data, this.#plot);
      this.#made = made;
    } else {
      this.#chart.setData(data);
    }
    this.#describe(note);
  }

  /** Takes away what is drawn. */
  clear(): void {
    this.#chart?.destroy();
    this.#chart = null;
    this.#latest = this.#value.textContent = "";
  }

  #series: Series[] = [];
  #marks: Mark[] = [];
  #moment: number | null = null;
  #least = 0;
  #latest = "";

  #describe(note: string): void {
    const all = this.#series.map(said);
    const values = all.length <= 6 && this.kind.x === "time" ? all : [];
    const text = values.length ? `${this.title}: ${values.join(", ")} ${this.unit}` : this.title;
    this.#plot.setAttribute("aria-label", text);
    this.#latest = values.join(" · ") || note;
    if (this.#chart?.cursor.idx == null) this.#value.textContent = this.#latest;
  }

  #options(series: Drawn[], width: number): uPlot.Options {
    const [text, grid] = [colour("--muted"), colour("--grid")];
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
    const overTime = this.kind.x === "time";
    // Slowdowns are factors, and so their axis has powers of ten, from the least that there is.
    const factors = this.kind.x === "size";
    const marks = (_: uPlot, __: number, low: number, high: number) => decades(low, high);
    return {
      width,
      height: 190,
      padding: [8, 22, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, ...(overTime ? { sync: { key: "time" } } : {}) },
      scales: {
        x: overTime ? { time: false } : { time: false, distr: 3, range: (_, low, high) => [low, high] },
        y: factors
          ? { distr: 3, range: (_, __, high) => [1, Math.max(3, (high ?? 0) * 1.1)] }
          : { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(this.#least, (high ?? 0) * 1.05) || 1] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          ...(overTime ? {} : { splits: marks }),
          values: (_, splits) => splits.map((split) => (split === null ? "" : this.#place(split))),
        },
        { ...axis, size: 52, ...(factors ? { splits: marks, filter: (_: uPlot, splits: number[]) => splits } : {}), values: (_, splits) => splits.map((split) => (split === null ? "" : shown(split))) },
      ],
      series: [
        {},
        ...series.map((one) => ({
          label: one.label,
          stroke: one.colour,
          width: one.width,
          alpha: one.alpha ?? 1,
          spanGaps: !factors,
          points: { show: factors },
          ...(one.dash ? { dash: one.dash } : {}),
        })),
      ],
      bands: series.flatMap(({ isLow, colour: of }, place) => (isLow ? [{ series: [place, place + 1] as [number, number], fill: `${of}38` }] : [])),
      hooks: {
        setCursor: [(chart) => this.#say(chart)],
        draw: [(chart) => this.#line(chart), (chart) => this.#levels(chart)],
      },
    };
  }

  #say(chart: uPlot): void {
    const x = chart.data[0][chart.cursor.idx ?? -1];
    const values = x === undefined ? [] : this.#series.map((one) => at(one, one.x.indexOf(x)));
    const text = x === undefined ? "" : `${this.#place(x)}: ${values.join(" · ")}`;
    this.#value.textContent = values.length === 0 || values.length > 6 ? this.#latest : text;
  }

  /** A place of the axis in words. */
  #place(x: number): string {
    return this.kind.x === "size" ? size(x) : time(x);
  }

  #line(chart: uPlot): void {
    if (this.#moment === null || this.kind.x !== "time") return;
    const x = Math.round(chart.valToPos(this.#moment, "x", true));
    const { top, height } = chart.bbox;
    chart.ctx.save();
    chart.ctx.strokeStyle = colour("--text");
    chart.ctx.setLineDash([4, 4]);
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, top);
    chart.ctx.lineTo(x, top + height);
    chart.ctx.stroke();
    chart.ctx.restore();
  }

  #levels(chart: uPlot): void {
    const { left, width } = chart.bbox;
    const { ctx } = chart;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--text");
    ctx.font = `${11 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
    ctx.textAlign = "right";
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { label, y } of this.#marks) {
      const at = Math.round(chart.valToPos(y, "y", true));
      ctx.beginPath();
      ctx.moveTo(left, at);
      ctx.lineTo(left + width, at);
      ctx.stroke();
      ctx.fillText(label, left + width - 4, at - 4);
    }
    ctx.restore();
  }
}

/** Marks of a logarithmic axis: 1 and 3 of each power of ten. */
function decades(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, more) => 10 ** (first + more));
  return powers.flatMap((power) => [power, 3 * power]).filter((mark) => mark >= low && mark <= high);
}

/** The data of series over one axis; series that have the same axis are taken as they are. */
function joined(series: Series[]): uPlot.AlignedData {
  const longest = series.reduce((most, one) => (one.x.length > most.length ? one.x : most), [] as number[]);
  const prefix = series.every(({ x }) => x === longest || x.every((value, place) => value === longest[place]));
  if (!prefix) return uPlot.join(series.map(({ x, y }) => [x, y] as uPlot.AlignedData));
  const padded = (y: Points) => [...y, ...Array<null>(longest.length - y.length).fill(null)];
  return [longest, ...series.map(({ y }) => (y.length < longest.length ? padded(y) : y))];
}

/** A series of each run over time. */
export function each(value: (run: Run) => Points, least?: (run: Run) => Points): (runs: Run[]) => Series[] {
  return (runs) => runs.map((run) => ({
    label: run.label,
    colour: ofScheme(run.number),
    width: 1.5,
    x: run.traces.at_us,
    y: value(run),
    ...(least ? { low: least(run), since: run.warmup_us } : {}),
  }));
}

export class Charts {
  readonly #grid = h("div", { class: "grid" });
  #figures: { figure: Figure; show: (runs: Run[], moment: number | null) => void }[] = [];

  constructor(private readonly element: HTMLElement) {
    this.element.append(h("h2", { class: "sr" }, "Figures"), this.#grid);
  }

  /** Prepares the figures for other runs. */
  reset(runs: Run[]): void {
    const over = (title: string, unit: string, value: (run: Run) => Points, least?: (run: Run) => Points) => {
      const figure = new Figure(title, unit, { x: "time" });
      const series = each(value, least);
      return { figure, show: (all: Run[], moment: number | null) => figure.show(series(all), moment) };
    };
    const rtts = new Figure("RTT, share of samples up to it, measured", "", { x: "rtt", least: 1 });
    this.#figures = [
      over(QUEUES, "KB", ({ traces }) => traces.queue, ({ traces }) => traces.least),
      over("RTT, mean of each interval", "us", ({ traces }) => traces.rtt),
      { figure: rtts, show: (all) => rtts.show(all.map(distribution), null) },
      over("Carried to hosts, headers included", "Gb/s", ({ traces }) => traces.carried),
      ...runs.map((run) => {
        const figure = new Figure(`Rate of each flow, ${run.label}`, "Gb/s", { x: "time" });
        return { figure, show: (all: Run[], moment: number | null) => rates(run, figure, all, moment) };
      }),
    ];
    this.#grid.replaceChildren(...this.#figures.map(({ figure }) => figure.element));
  }

  /** Takes all figures away. */
  clear(): void {
    this.#figures = [];
    this.#grid.replaceChildren();
  }

  /** Adds the slowdown by size of each traffic whose messages had several sizes. */
  async addSlowdowns(runs: Run[]): Promise<void> {
    const before = this.#figures;
    const found = await Promise.all(runs.map(slowdowns));
    if (before !== this.#figures) return;
    const traffics = new Set(found.flatMap((one) => [...one].filter(([, { x }]) => x.length > 1).map(([name]) => name)));
    for (const traffic of traffics) {
      const figure = new Figure(`Slowdown by size of message, ${traffic}`, "", { x: "size" });
      const series = runs.flatMap((run, place) => both(run, found[place]?.get(traffic)));
      this.#figures.push({ figure, show: () => figure.show(series, null, 0, "median; dashed: 99th percentile") });
      this.#grid.append(figure.element);
    }
  }

  /** The number of figures. */
  get count(): number {
    return this.#figures.length;
  }

  /** Draws the figure of a number. */
  draw(number: number, runs: Run[], moment: number | null): void {
    this.#figures[number]?.show(runs, moment);
  }
}

/** Shows the rates of a run's flows, at one scale for all runs. */
export function rates({ flows, number, traces }: Run, figure: Figure, all: Run[], moment: number | null): void {
  figure.element.hidden = traces.rates.length === 0;
  const alpha = Math.max(0.15, 0.9 / Math.sqrt(Math.max(1, traces.rates.length)));
  const series = traces.rates.map((y, place) => ({
    label: `flow ${flows[place]}`,
    colour: ofScheme(number),
    width: 1,
    alpha,
    x: traces.at_us,
    y,
  }));
  const more = flows.length > MOST_FLOWS ? `the first ${MOST_FLOWS} of ${flows.length}` : "";
  if (series.length) figure.show(series, moment, Math.max(...all.map((run) => run.traces.mostRate)) * 1.05, more);
}

/** The median of slowdowns, and their 99th percentile. */
function both(run: Run, found: Slowdowns | undefined): Series[] {
  if (!found) return [];
  const line = { colour: ofScheme(run.number), width: 1.5, x: found.x };
  return [
    { ...line, label: `${run.label} median`, y: found.median },
    { ...line, label: `${run.label} p99`, y: found.p99, dash: [5, 4] },
  ];
}

/** The share of samples that are no longer than the end of each bucket. */
export function distribution(run: Run): Series {
  const total = run.buckets.reduce((sum, [, , count]) => sum + count, 0);
  const [x, y] = [[] as number[], [] as Points];
  let sum = 0;
  for (const [low, high, count] of run.buckets) {
    if (x.length === 0) {
      x.push(Math.max(low, 1) / 1e3);
      y.push(0);
    }
    sum += count;
    x.push(high / 1e3);
    y.push(sum / total);
  }
  return { label: run.label, colour: ofScheme(run.number), width: 1.5, x, y };
}

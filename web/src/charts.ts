/** The figures: queues, RTTs and rates over time, and the distribution of RTTs. */

import uPlot from "uplot";
import { colour, h, ofScheme, shown, time, widthOf } from "./dom.js";
import { MOST_FLOWS, type Points, type Run } from "./run.js";

export interface Series {
  label: string;
  colour: string;
  width: number;
  alpha?: number;
  x: number[];
  y: Points;
}

/** A level that is drawn across a figure, such as a threshold. */
export interface Mark {
  label: string;
  y: number;
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
    private readonly kind: { x: "time" | "rtt"; digits?: number; legend?: boolean; least?: number },
  ) {
    this.#plot = h("div", { class: "plot", role: "img", "aria-label": title });
    this.#value = h("span", { class: "value" });
    this.element = h("figure", {}, h("figcaption", {}, h("span", {}, `${title}${unit ? `, ${unit}` : ""}`), this.#value), this.#plot);
  }

  /** Shows series, each with its own points, and a line at a moment. */
  show(series: Series[], moment: number | null, least = 0, note = "", marks: Mark[] = []): void {
    this.#least = Math.max(this.kind.least ?? 0, least, ...marks.map(({ y }) => y * 1.08));
    this.#marks = marks;
    const data = joined(series);
    const width = widthOf(this.#plot);
    if (width === 0) return;
    const made = `${series.map((one) => one.label + one.colour).join()}|${width}`;
    this.#moment = moment;
    if (made !== this.#made || !this.#chart) {
      this.#chart?.destroy();
      this.#chart = new uPlot(this.#options(series, width), data, this.#plot);
      this.#made = made;
    } else {
      this.#chart.setData(data);
    }
    this.#describe(series, note);
  }

  #marks: Mark[] = [];
  #moment: number | null = null;
  #least = 0;
  #latest = "";

  #describe(series: Series[], note: string): void {
    const few = series.length <= 6;
    const last = ({ y }: Series) => y.findLast((value) => value !== null) ?? null;
    const values = few && this.kind.x === "time" ? series.map((one) => `${one.label} ${shown(last(one), 3)}`) : [];
    const text = values.length ? `${this.title}: ${values.join(", ")} ${this.unit}` : this.title;
    this.#plot.setAttribute("aria-label", text);
    this.#latest = values.join(" · ") || note;
    if (this.#chart?.cursor.idx == null) this.#value.textContent = this.#latest;
  }

  #options(series: Series[], width: number): uPlot.Options {
    const [text, grid] = [colour("--muted"), colour("--grid")];
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
    const overTime = this.kind.x === "time";
    return {
      width,
      height: 190,
      padding: [8, 22, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, ...(overTime ? { sync: { key: "time" } } : {}) },
      scales: {
        x: overTime ? { time: false } : { time: false, distr: 3, range: (_, low, high) => [low, high] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(this.#least, (high ?? 0) * 1.05) || 1] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          ...(overTime ? {} : { splits: (_: uPlot, __: number, low: number, high: number) => decades(low, high) }),
          values: (_, splits) => splits.map((split) => (split === null ? "" : time(split))),
        },
        { ...axis, size: 52, values: (_, splits) => splits.map((split) => shown(split)) },
      ],
      series: [
        {},
        ...series.map((one) => ({
          label: one.label,
          stroke: one.colour,
          width: one.width,
          alpha: one.alpha ?? 1,
          spanGaps: true,
          points: { show: false },
        })),
      ],
      hooks: {
        setCursor: [(chart) => this.#say(chart, series)],
        draw: [(chart) => this.#line(chart), (chart) => this.#levels(chart)],
      },
    };
  }

  #say(chart: uPlot, series: Series[]): void {
    const { idx } = chart.cursor;
    if (idx === null || idx === undefined || series.length > 6) {
      this.#value.textContent = this.#latest;
      return;
    }
    const x = chart.data[0][idx];
    const values = series.map((one, place) => `${one.label} ${shown(chart.data[place + 1]?.[idx], 3)}`);
    this.#value.textContent = x === undefined ? "" : `${time(x)}: ${values.join(" · ")}`;
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

export class Charts {
  readonly #grid = h("div", { class: "grid" });
  #figures: { figure: Figure; show: (runs: Run[], moment: number | null) => void }[] = [];

  constructor(private readonly element: HTMLElement) {
    this.element.append(h("h2", { class: "sr" }, "Figures"), this.#grid);
  }

  /** Prepares the figures for other runs. */
  reset(runs: Run[]): void {
    const over = (title: string, unit: string, value: (run: Run) => Points) => {
      const figure = new Figure(title, unit, { x: "time" });
      const line = (run: Run) => ({
        label: run.label,
        colour: ofScheme(run.number),
        width: 1.5,
        x: run.traces.at_us,
        y: value(run),
      });
      return { figure, show: (all: Run[], moment: number | null) => figure.show(all.map(line), moment) };
    };
    const rtts = new Figure("RTT, share of samples up to it, measured", "", { x: "rtt", least: 1 });
    this.#figures = [
      over("Longest queue in each interval", "KB", ({ traces }) => traces.queue),
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

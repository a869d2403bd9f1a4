/** Numbers of a run that has ended, from its summary and its tables. */

import type { Run } from "./run.js";

/** A figure of the summary. */
export function figure(name: string): (run: Run) => number | null {
  return (run) => run.finished?.figures[name] ?? null;
}

type Values = (number | string | null)[];

/** Columns of a table. */
function columns(run: Run, table: string, ...names: string[]): Promise<Values[]> {
  return run.ask<Values[]>({ ask: "columns", table, columns: names });
}

/** The mean of values with their weights, of the rows that are chosen; null without one. */
function mean(values: Values, weights: Values, chosen: (row: number) => boolean): number | null {
  let [sum, all] = [0, 0];
  values.forEach((value, row) => {
    if (value === null || !chosen(row)) return;
    sum += Number(value) * Number(weights[row]);
    all += Number(weights[row]);
  });
  return all > 0 ? sum / all : null;
}

type Measured = (run: Run) => Promise<number | null>;

export const overTraffic = {
  /** What traffic carried, in Gb/s, over a number of flows. */
  carried: (traffic: string, flows: number): Measured => async (run) => {
    const [names = [], carried = []] = await columns(run, "load", "traffic", "carried_gbps");
    const row = names.indexOf(traffic);
    return row < 0 ? null : Number(carried[row]) / flows;
  },
  /** The mean one-way delay of packets, in us. */
  delay: (traffic: string): Measured => async (run) => {
    const [names = [], low = [], high = [], count = []] = await columns(run, "delay_histogram", "traffic", "low_us", "high_us", "count");
    return mean(low.map((least, row) => (Number(least) + Number(high[row])) / 2), count, (row) => names[row] === traffic);
  },
  /** The mean RTT of connections from some hosts to another, in us. */
  rtt: (to: string, from: string[]): Measured => async (run) => {
    const [source = [], destination = [], rtt = [], samples = []] = await columns(run, "flows", "source", "destination", "rtt_mean_us", "rtt_samples");
    return mean(rtt, samples, (row) => destination[row] === to && from.includes(String(source[row])));
  },
  /** The mean goodput of such connections, in Mb/s. */
  rate: (to: string, from: string[]): Measured => async (run) => {
    const [source = [], destination = [], goodput = []] = await columns(run, "flows", "source", "destination", "goodput_gbps");
    const found = mean(goodput, goodput.map(() => 1), (row) => destination[row] === to && from.includes(String(source[row])));
    return found === null ? null : found * 1e3;
  },
};

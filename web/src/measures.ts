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

/** The slowdown of messages, by a size in the middle of each range of sizes, in bytes. */
export interface Slowdowns {
  x: number[];
  median: (number | null)[];
  p99: (number | null)[];
}

/** The slowdowns of each traffic, by its name. */
export async function slowdowns(run: Run): Promise<Map<string, Slowdowns>> {
  const found = new Map<string, Slowdowns>();
  if (!run.finished?.tables.some(({ name }) => name === "fct")) return found;
  const [names = [], from = [], to = [], medians = [], p99s = []] = await columns(run, "fct", "traffic", "size_from_bytes", "size_to_bytes", "slowdown_p50", "slowdown_p99");
  names.forEach((name, row) => {
    const own = found.get(String(name)) ?? { x: [], median: [], p99: [] };
    found.set(String(name), own);
    const [least, above] = [Number(from[row]), Number(to[row])];
    // The first range begins at nothing, and the last one has no end.
    own.x.push(Math.sqrt((least || above / 10) * (above < 1e12 ? above : 10 * least)));
    own.median.push(medians[row] as number | null);
    own.p99.push(p99s[row] as number | null);
  });
  return found;
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

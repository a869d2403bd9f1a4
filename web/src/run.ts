/** A run of one scheme, and what has been seen of it. */

import { Engine } from "./engine.js";
import type { Bucket, Finished, Look, Network, News, Open, Opened, Order } from "./types.js";
import { Mistake } from "./types.js";

/** Values over time; null where there is none. */
export type Points = (number | null)[];

/** What the figures show, in step with the frames. */
export class Traces {
  readonly at_us: number[] = [];
  /** The greatest and the least of the longest queue in each interval, in KB. */
  readonly queue: Points = [];
  readonly least: Points = [];
  /** The mean backlog of the port whose mean is greatest, in KB. */
  readonly waiting: Points = [];
  readonly rtt: Points = [];
  readonly carried: Points = [];
  /** The rates of the first lasting flows. */
  readonly rates: Points[] = [];
  mostQueue = 0;
  mostRate = 0;

  add(frame: Frame, flows: number): void {
    const largest = (values: Float32Array) => values.reduce((most, one) => Math.max(most, one), 0);
    this.at_us.push(frame.at_us);
    const queue = largest(frame.queues);
    this.queue.push(frame.queues.length ? queue : null);
    this.least.push(frame.queues.length ? Math.min(frame.least, queue) : null);
    this.waiting.push(frame.queues.length ? frame.waiting : null);
    this.rtt.push(frame.rtt);
    this.carried.push(frame.carried);
    this.mostQueue = Math.max(this.mostQueue, queue);
    this.mostRate = Math.max(this.mostRate, largest(frame.rates));
    for (let flow = 0; flow < flows; flow++) {
      const rates = (this.rates[flow] ??= Array<null>(this.at_us.length - 1).fill(null));
      rates.push(frame.rates[flow] ?? null);
    }
  }
}

/** The most flows that are drawn one by one. */
export const MOST_FLOWS = 80;

/** The state at the end of an interval, as it is drawn. */
export interface Frame {
  at_us: number;
  /** The share of its rate at which each link carried. */
  use: Float32Array;
  held: Uint8Array;
  /** The greatest backlog of each switch port, in KB. */
  queues: Float32Array;
  /** The least of the longest queue, in KB. */
  least: number;
  /** The mean backlog of the port whose mean is greatest, in KB. */
  waiting: number;
  /** The mean RTT of the samples of the interval, in us; null without one. */
  rtt: number | null;
  /** What arrived of each lasting flow, in Gb/s. */
  rates: Float32Array;
  /** What links to hosts carried together, headers included, in Gb/s. */
  carried: number;
  drops: number;
}

export class Run {
  readonly #engine = new Engine();
  readonly network: Network;
  readonly warmup_us: number;
  readonly frames: Frame[] = [];
  readonly traces = new Traces();
  buckets: Bucket[] = [];
  finished: Finished | null = null;
  mistake: Mistake | null = null;
  flows: number[] = [];
  intervals = 0;
  seconds = 0;
  #last: Look | null = null;

  constructor(
    readonly scheme: string,
    readonly number: number,
    { network, warmup_us }: Opened,
    /** The name of the run in figures. */
    readonly label: string,
    private readonly changed: (run: Run) => void,
  ) {
    [this.network, this.warmup_us] = [network, warmup_us];
    this.#engine.onNews = (news) => this.#hear(news);
  }

  start(open: Open, seed: string, pace: number): void {
    void this.#engine.order({ kind: "run", open: { ...open, schemes: [this.scheme] }, scheme: this.scheme, seed, pace });
  }

  order(order: Order): void {
    void this.#engine.order(order);
  }

  ask<T>(question: object): Promise<T> {
    return this.#engine.ask(question);
  }

  end(): void {
    this.#engine.end();
  }

  get over(): boolean {
    return this.finished !== null || this.mistake !== null;
  }

  #hear(news: News): void {
    switch (news.kind) {
      case "started":
        this.intervals = news.intervals;
        break;
      case "frames":
        for (const look of news.frames) this.#see(look);
        break;
      case "rtts":
        this.buckets = news.buckets;
        break;
      case "finished":
        this.finished = news.finished;
        this.seconds = news.seconds;
        break;
      case "mistake":
        this.mistake = new Mistake(news.sentence, news.line, news.column);
        break;
      case "module":
      case "answer":
        return;
    }
    this.changed(this);
  }

  #see(look: Look): void {
    const before = this.#last;
    const us = look.at_us - (before?.at_us ?? 0);
    const { links, hosts } = this.network;
    const use = new Float32Array(links.length);
    let carried = 0;
    for (let link = 0; link < links.length; link++) {
      const [, to, rate] = links[link]!;
      const bytes = (look.links[2 * link] ?? 0) - (before?.links[2 * link] ?? 0);
      // Bits in a microsecond are Mb/s.
      const gbps = us > 0 ? (bytes * 8) / us / 1e3 : 0;
      use[link] = Math.min(1, gbps / rate);
      if (to < hosts.length) carried += gbps;
    }
    const samples = look.rtt_samples - (before?.rtt_samples ?? 0);
    const sum = look.rtt_sum_ns - (before?.rtt_sum_ns ?? 0);
    const count = look.flows.length / 3;
    if (this.flows.length !== count) this.flows = Array.from({ length: count }, (_, place) => look.flows[3 * place] ?? 0);
    const open = look.intervals === before?.intervals;
    const frame: Frame = {
      at_us: look.at_us,
      use,
      held: Uint8Array.from({ length: links.length }, (_, link) => look.links[2 * link + 1] ?? 0),
      queues: open ? this.frames.at(-1)?.queues ?? new Float32Array() : Float32Array.from({ length: look.queues.length / 2 }, (_, port) => (look.queues[2 * port + 1] ?? 0) / 1e3),
      least: open ? this.frames.at(-1)?.least ?? 0 : (look.least ?? 0) / 1e3,
      waiting: open ? this.frames.at(-1)?.waiting ?? 0 : look.queues.reduce((most, value, place) => (place % 2 ? most : Math.max(most, value)), 0) / 1e3,
      rtt: samples > 0 ? sum / samples / 1e3 : null,
      rates: open ? this.frames.at(-1)?.rates ?? new Float32Array() : Float32Array.from({ length: count }, (_, place) =>
        us > 0 ? (((look.flows[3 * place + 1] ?? 0) - (before?.flows[3 * place + 1] ?? 0)) * 8) / us / 1e3 : 0,
      ),
      carried,
      drops: look.drops,
    };
    this.frames.push(frame);
    this.traces.add(frame, Math.min(this.flows.length, MOST_FLOWS));
    this.#last = look;
  }
}

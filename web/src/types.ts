/** What the simulator says, as `crates/front/wasm` writes it. */

export interface Parameter {
  name: string;
  doc: string;
  unit: string;
  range: string;
  source: string;
}

export interface Algorithm {
  name: string;
  summary: string;
  kind: string;
  signal: string;
  needs: string[];
  source: string;
  presets: { name: string; source: string }[];
  parameters: Parameter[];
}

export interface About {
  version: string;
  algorithms: Algorithm[];
  schema: Schema;
  figures: [name: string, unit: string, doc: string][];
}

export interface Schema {
  description?: string;
  type?: string | string[];
  enum?: string[];
  const?: string;
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

export interface Network {
  hosts: string[];
  switches: string[];
  layers: string[];
  /** From, to, and the rate in Gb/s: NICs, then the ports of switches. */
  links: [from: number, to: number, rate: number][];
  host_count: number;
  link_count: number;
}

export interface Scheme {
  name: string;
  algorithm: string;
  parameters: Record<string, string>;
  warnings: string[];
  seconds: number;
  bytes: number;
  refused: string | null;
}

export interface Published {
  throughput_gbps: number | null;
  rtt_mean_us: number | null;
  rtt_p99_us: number | null;
  source: string;
}

export interface Opened {
  name: string;
  title: string;
  description: string;
  seed: string;
  duration_us: number;
  warmup_us: number;
  cooldown_us: number;
  interval_us: number;
  schemes: Scheme[];
  published: Record<string, Published>;
  warnings: string[];
  network: Network;
  before: Value;
  values: Value;
  toml: string;
}

/** Rows are written one after the other, which is passed on at once where lists of lists are not. */
export interface Look {
  at_us: number;
  /** The intervals that have ended: the last one ends with the run, and is still open. */
  intervals: number;
  /** Mean and greatest backlog of each switch port in the last interval, in bytes. */
  queues: Float64Array;
  /** The least of the longest queue since the last look, in bytes, of some samples in each interval. */
  least: number | null;
  /** Number, bytes delivered, and rate of each lasting flow. */
  flows: Float64Array;
  /** Bytes carried by each link, and whether it is paused. */
  links: Float64Array;
  rtt_samples: number;
  rtt_sum_ns: number;
  drops: number;
}

/** Numbers that may be missing, counts, or names. */
export type ColumnKind = "number" | "count" | "text";

export interface Column {
  name: string;
  unit: string;
  doc: string;
  kind: ColumnKind;
}

export interface Table {
  name: string;
  doc: string;
  rows: number;
  columns: Column[];
}

/** The numbers of a run by which something is doubted. The simulator makes sentences of them. */
export type Doubt = Record<string, string | number | null>;

export interface Finished {
  complete: boolean;
  doubts: Doubt[];
  figures: Record<string, number | null>;
  tables: Table[];
  digest: string;
}

/** A mistake: a sentence, and where it is. */
export class Mistake extends Error {
  constructor(
    sentence: string,
    readonly line: number | null = null,
    readonly column: number | null = null,
  ) {
    super(sentence);
  }
}

/** A scenario to open. */
export interface Open {
  file: string;
  text: string;
  files: Record<string, string>;
  changes: string[];
  schemes: string[];
  /** The seed in digits; empty for that of the scenario. */
  seed: string;
}

export type Bucket = [low: number, high: number, count: number];

/** To a worker. */
export type Order =
  | { kind: "packed"; text: string }
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "ask"; id: number; question: object }
  | { kind: "run"; open: Open; scheme: string; seed: string; pace: number }
  | { kind: "pause"; on: boolean }
  | { kind: "pace"; pace: number };

/** From a worker. */
export type News =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "answer"; id: number; value: unknown }
  | { kind: "mistake"; id: number | null; sentence: string; line: number | null; column: number | null }
  | { kind: "started"; flows: number; intervals: number; interval: number }
  | { kind: "frames"; frames: Look[] }
  | { kind: "rtts"; buckets: Bucket[] }
  | { kind: "finished"; finished: Finished; seconds: number };

/** Rows of a table as text. */
export type Cells = string[][];

/** A column to be written: numbers as bytes, 8 for each, or names. */
export interface Field {
  name: string;
  kind: ColumnKind;
  values: Uint8Array<ArrayBuffer> | string[];
}

/** To the worker for Parquet files. */
export type FileOrder =
  | { ask: "describe"; file: File }
  | { ask: "rows"; file: File; from: number; count: number }
  | { ask: "write"; columns: Field[]; about: string };

/** From it. */
export type FileNews = { id: number; value: unknown } | { id: number; sentence: string };

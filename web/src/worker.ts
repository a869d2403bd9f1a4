/** A worker with an instance of the simulator. It answers questions, and drives a run in slices. */

import type { Bucket, Finished, Look, News, Open, Order } from "./types.js";

/** A slice of a run, after which the worker hears what it was told. */
const SLICE_MS = 12;
/** The time between two pictures. */
const PICTURE_MS = 33;
/** The most frames that the page hears of at once. */
const FRAMES = 20;
/** The time between two looks at all RTT samples, which are many. */
const RTTS_MS = 200;

interface Exports {
  memory: WebAssembly.Memory;
  incast_room(length: number): number;
  incast_ask(): number;
  incast_answer(): number;
  incast_answer_length(): number;
}

let exports: Exports | null = null;
let paused = false;
let pace = 0;
let wake: (() => void) | null = null;

const scope = self as unknown as {
  postMessage(news: News, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<Order>) => void) | null;
};

class Wrong extends Error {
  constructor(
    sentence: string,
    readonly line: number | null = null,
    readonly column: number | null = null,
  ) {
    super(sentence);
  }
}

function ask(question: object): unknown {
  if (!exports) throw new Wrong("the simulator is not loaded");
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const at = exports.incast_room(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  let kind: number;
  try {
    kind = exports.incast_ask();
  } catch {
    exports = null;
    throw new Wrong("the simulator has stopped, most likely for want of memory; load the page again");
  }
  const answer = new Uint8Array(
    exports.memory.buffer,
    exports.incast_answer(),
    exports.incast_answer_length(),
  );
  if (kind === 2) return answer.slice();
  const value = JSON.parse(new TextDecoder().decode(answer));
  if (kind === 1) throw new Wrong(value.sentence, value.line, value.column);
  return value;
}

/** Lets messages in. */
function breathe(milliseconds = 0): Promise<void> {
  if (milliseconds > 0) return new Promise((done) => setTimeout(done, milliseconds));
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });
}

function look(): Look {
  const { queues, flows, links, ...rest } = ask({ ask: "look" }) as Omit<Look, "queues" | "flows" | "links"> &
    Record<"queues" | "flows" | "links", number[][]>;
  const [flat, of, all] = [queues, flows, links].map((rows) => Float64Array.from(rows.flat()));
  return { ...rest, queues: flat!, flows: of!, links: all! };
}

async function run(open: Open, scheme: string, seed: string): Promise<void> {
  ask({ ask: "open", ...open });
  const started = ask({ ask: "start", scheme, seed }) as {
    flows: number;
    intervals: number;
    interval_us: number;
  };
  const { intervals, flows } = started;
  scope.postMessage({ kind: "started", flows, intervals, interval: started.interval_us });
  let frames: Look[] = [];
  let [events, interval, spent] = [20_000, 1, 0];
  let [pictured, sampled] = [performance.now(), performance.now()];
  // The wall time at which interval 0 began, by the present pace.
  let [origin, ofPace] = [performance.now(), pace];
  for (let ended = false; !ended; ) {
    const slice = performance.now();
    while (performance.now() - slice < SLICE_MS && !ended) {
      if (ofPace > 0 && performance.now() < origin + (interval / intervals) * ofPace * 1000) break;
      const before = performance.now();
      const step = ask({ ask: "advance", interval, events }) as { reached: boolean; ended: boolean };
      const took = performance.now() - before;
      spent += took;
      // A call takes half of a slice at most.
      if (!step.reached) events = took > SLICE_MS / 2 ? Math.max(500, events >> 1) : took < SLICE_MS / 4 ? Math.min(events * 2, 1e7) : events;
      if (step.reached) {
        frames.push(look());
        interval += 1;
      }
      ended = step.ended;
    }
    const now = performance.now();
    if (frames.length && (ended || now - pictured > PICTURE_MS || frames.length >= FRAMES)) {
      scope.postMessage({ kind: "frames", frames });
      [frames, pictured] = [[], now];
    }
    if (ended || now - sampled > RTTS_MS) {
      scope.postMessage({ kind: "rtts", buckets: ask({ ask: "rtts" }) as Bucket[] });
      sampled = performance.now();
    }
    if (!ended) await breathe(ofPace > 0 ? 4 : 0);
    if (paused) {
      await new Promise<void>((done) => (wake = done));
      ofPace = -1;
    }
    if (ofPace !== pace) {
      ofPace = pace;
      origin = performance.now() - ((interval - 1) / intervals) * ofPace * 1000;
    }
  }
  scope.postMessage({ kind: "finished", finished: ask({ ask: "finish" }) as Finished, seconds: spent / 1e3 });
}

/** The module of its compressed bytes in letters. */
async function unpacked(text: string): Promise<WebAssembly.Module> {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) packed[place] = letters.charCodeAt(place);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

function failed(error: unknown, id: number | null): void {
  const wrong = error instanceof Wrong ? error : new Wrong(String(error));
  const { message: sentence, line, column } = wrong;
  scope.postMessage({ kind: "mistake", id, sentence, line, column });
}

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case "packed":
      unpacked(data.text).then(
        (module) => scope.postMessage({ kind: "module", module }),
        (error: unknown) => failed(error, null),
      );
      break;
    case "module":
      exports = new WebAssembly.Instance(data.module, {}).exports as unknown as Exports;
      break;
    case "ask":
      try {
        scope.postMessage({ kind: "answer", id: data.id, value: ask(data.question) });
      } catch (error) {
        failed(error, data.id);
      }
      break;
    case "run":
      pace = data.pace;
      run(data.open, data.scheme, data.seed).catch((error: unknown) => failed(error, null));
      break;
    case "pause":
      paused = data.on;
      if (!paused) {
        wake?.();
        wake = null;
      }
      break;
    case "pace":
      pace = data.pace;
      break;
  }
};

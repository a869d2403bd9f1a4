/** Workers with the simulator, and questions to them. */

import workerSource from "virtual:worker";
import { Mistake, type News, type Order } from "./types.js";

let compiled: Promise<WebAssembly.Module> | null = null;

const workerUrl = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));

/** The module, which stands in the page, compressed. A worker unpacks it, so that the page answers. */
function module(): Promise<WebAssembly.Module> {
  compiled ??= new Promise((done, failed) => {
    const worker = new Worker(workerUrl);
    worker.onmessage = ({ data }: MessageEvent<News>) => {
      worker.terminate();
      if (data.kind === "module") done(data.module);
      else failed(new Error(data.kind === "mistake" ? data.sentence : data.kind));
    };
    const text = document.getElementById("module")?.textContent ?? "";
    worker.postMessage({ kind: "packed", text } satisfies Order);
  });
  return compiled;
}

/** A worker with one instance of the simulator. */
export class Engine {
  readonly #worker = new Worker(workerUrl);
  readonly #waiting = new Map<number, { done: (value: never) => void; failed: (error: Mistake) => void }>();
  readonly #ready: Promise<void>;
  #last = 0;
  /** News of a run. */
  onNews: (news: News) => void = () => {};

  constructor() {
    this.#ready = module().then((module) => this.#worker.postMessage({ kind: "module", module } satisfies Order));
    this.#worker.onmessage = ({ data }: MessageEvent<News>) => {
      const id = data.kind === "answer" || data.kind === "mistake" ? data.id : null;
      const waiting = id === null ? undefined : this.#waiting.get(id);
      if (id === null || !waiting) {
        this.onNews(data);
        return;
      }
      this.#waiting.delete(id);
      if (data.kind === "answer") waiting.done(data.value as never);
      if (data.kind === "mistake") waiting.failed(new Mistake(data.sentence, data.line, data.column));
    };
  }

  async ask<T>(question: object): Promise<T> {
    await this.#ready;
    const id = ++this.#last;
    return new Promise<T>((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#worker.postMessage({ kind: "ask", id, question } satisfies Order);
    });
  }

  async order(order: Order): Promise<void> {
    await this.#ready;
    this.#worker.postMessage(order);
  }

  end(): void {
    this.onNews = () => {};
    this.#worker.terminate();
  }
}

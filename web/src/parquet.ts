/** Parquet files: a worker of their own reads and writes them, so that the page answers meanwhile. */

import source from "virtual:parquet.worker";
import type { Cells, ColumnKind, Field, FileOrder, FileNews } from "./types.js";
import { Mistake } from "./types.js";

/** A worker that reads and writes Parquet files; it is made when it is first asked. */
class Files {
  #worker: Worker | null = null;
  #last = 0;
  readonly #waiting = new Map<number, { done: (value: never) => void; failed: (error: Mistake) => void }>();

  ask<T>(order: FileOrder, transfer: Transferable[] = []): Promise<T> {
    this.#worker ??= this.#made();
    const id = ++this.#last;
    return new Promise<T>((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#worker?.postMessage({ id, order }, transfer);
    });
  }

  #made(): Worker {
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    worker.onmessage = ({ data }: MessageEvent<FileNews>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("sentence" in data) waiting?.failed(new Mistake(data.sentence));
      else waiting?.done(data.value as never);
    };
    return worker;
  }
}

const files = new Files();

/** The number of rows, and the names and kinds of columns. */
export function described(file: File): Promise<{ rows: number; columns: { name: string; kind: ColumnKind }[] }> {
  return files.ask({ ask: "describe", file });
}

/** Rows of a file, as text; a value that does not exist is empty. */
export function rows(file: File, from: number, count: number): Promise<Cells> {
  return files.ask({ ask: "rows", file, from, count });
}

/** A file of columns, with a text about them in its metadata. */
export function written(columns: Field[], about: string): Promise<ArrayBuffer> {
  const buffers = columns.flatMap(({ values }) => (values instanceof Uint8Array ? [values.buffer] : []));
  return files.ask({ ask: "write", columns, about }, buffers);
}

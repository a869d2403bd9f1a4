/** A worker that reads and writes Parquet files. */

import { decompress } from "fzstd";
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { type ColumnSource, parquetWriteBuffer, type SchemaElement } from "hyparquet-writer";
import type { Cells, ColumnKind, Field, FileOrder, FileNews } from "./types.js";

const scope = self as unknown as {
  postMessage(news: FileNews, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<{ id: number; order: FileOrder }>) => void) | null;
};

/** What was read of each file. */
const known = new WeakMap<File, FileMetaData>();
const compressors = { ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)) };

function buffer(file: File): AsyncBuffer {
  return { byteLength: file.size, slice: (start, end) => file.slice(start, end).arrayBuffer() };
}

async function metadata(file: File): Promise<FileMetaData> {
  const found = known.get(file) ?? (await parquetMetadataAsync(buffer(file)));
  known.set(file, found);
  return found;
}

async function describe(file: File): Promise<{ rows: number; columns: { name: string; kind: ColumnKind }[] }> {
  const { schema, num_rows } = await metadata(file);
  const columns = schema.slice(1).map(({ name, type }) => {
    const kind: ColumnKind = type === "DOUBLE" || type === "FLOAT" ? "number" : type === "BYTE_ARRAY" ? "text" : "count";
    return { name, kind };
  });
  return { rows: Number(num_rows), columns };
}

async function rows(file: File, from: number, count: number): Promise<Cells> {
  const found = await metadata(file);
  const end = Math.min(Number(found.num_rows), from + count);
  if (end <= from) return [];
  const read = await parquetReadObjects({ file: buffer(file), metadata: found, rowStart: from, rowEnd: end, compressors });
  const names = found.schema.slice(1).map(({ name }) => name);
  return read.map((row) => names.map((name) => text(row[name])));
}

function text(value: unknown): string {
  return value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
}

/** The values of a column as the writer takes them; null where there is none. */
function data({ kind, values }: Field): ColumnSource["data"] {
  if (!(values instanceof Uint8Array)) return values;
  const { buffer, byteLength } = values;
  if (kind === "count") return Array.from(new BigUint64Array(buffer, 0, byteLength / 8));
  return Array.from(new Float64Array(buffer, 0, byteLength / 8), (value) => (Number.isNaN(value) ? null : value));
}

function element({ name, kind }: Field): SchemaElement {
  switch (kind) {
    case "count":
      return { name, type: "INT64", converted_type: "UINT_64", repetition_type: "REQUIRED" };
    case "number":
      return { name, type: "DOUBLE", repetition_type: "OPTIONAL" };
    case "text":
      return { name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" };
  }
}

function write(columns: Field[], about: string): ArrayBuffer {
  const columnData = columns.map((field) => ({ name: field.name, data: data(field) }));
  const schema: SchemaElement[] = [{ name: "root", num_children: columns.length }, ...columns.map(element)];
  return parquetWriteBuffer({ columnData, schema, kvMetadata: [{ key: "incast", value: about }], createdBy: "incast" });
}

scope.onmessage = async ({ data: { id, order } }) => {
  const name = "file" in order ? order.file.name : "the table";
  try {
    if (order.ask === "write") {
      const value = write(order.columns, order.about);
      scope.postMessage({ id, value }, [value]);
    } else {
      const value = order.ask === "describe" ? await describe(order.file) : await rows(order.file, order.from, order.count);
      scope.postMessage({ id, value });
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const sentence = order.ask === "write" ? `${name} cannot be written: ${why}` : `${name}: is no Parquet file that can be read (${why}); expected a table that \`incast run\` wrote`;
    scope.postMessage({ id, sentence });
  }
};

/** A result that `incast run` wrote: its summary, its tables, and its scenario to run again. */

import { by, h, shown } from "./dom.js";
import * as parquet from "./parquet.js";
import { first, fragment } from "./state.js";
import { type Summed, summary } from "./summary.js";
import { type Source, Tables, csv } from "./tables.js";
import { type About, Mistake, type Published, type Table } from "./types.js";

/** A file and its path from the directory that was opened. */
export interface Found {
  path: string;
  file: File;
}

/** The file that says what a directory is. */
const MARK = "run.json";
/** The most rows that are saved as CSV. */
const MOST_ROWS = 1_000_000;

/** What `run.json` says, as far as it is shown. */
interface Stored {
  incast: string;
  scenario: string;
  title: string;
  /** In digits, since a seed may have more than a number of a page. */
  seed: string;
  complete: boolean;
  schemes: string[];
  named?: Record<string, string>;
  warnings: string[];
  runs: { scheme: string; measured: Record<string, number | null>; published: Partial<Published> }[];
  tables: Record<string, { doc: string; columns: Record<string, { unit: string; doc: string }> }>;
}

const tables = new Tables(by("result-tables"), "stored", mistaken);
let about: About;
let opened = 0;

export const prepare = (known: About): void => void (about = known);

export const isMark = (path: string): boolean => path === MARK || path.endsWith(`/${MARK}`);

function mistaken(mistake: Mistake | null): void {
  const place = by("result-error");
  place.hidden = mistake === null;
  place.textContent = mistake?.message ?? "";
}

/** All files of what was dropped, those in its directories too. */
export async function dropped(items: DataTransferItemList): Promise<Found[]> {
  // Both are to be asked before anything is waited for.
  const all = [...items].filter(({ kind }) => kind === "file").map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const inside = async (entry: FileSystemEntry): Promise<Found[]> => {
    if (entry.isFile) {
      const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
      return [{ path: entry.fullPath.replace(/^\//, ""), file }];
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    const found: FileSystemEntry[] = [];
    // A reader hands out some entries at a time.
    for (;;) {
      const more = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
      if (more.length === 0) break;
      found.push(...more);
    }
    return (await Promise.all(found.map(inside))).flat();
  };
  const alone = (file: File | null): Found[] => (file ? [{ path: file.name, file }] : []);
  return (await Promise.all(all.map(({ entry, file }) => (entry ? inside(entry) : alone(file))))).flat();
}

/** Shows the results of a directory: one, or those of several seeds below it. */
export async function open(files: Found[]): Promise<void> {
  const own = ++opened;
  mistaken(null);
  const folders = files.filter(({ path }) => isMark(path)).map(({ path }) => path.slice(0, -MARK.length)).sort();
  const menu = h("select", { id: "stored-result" }, ...folders.map((folder) => h("option", { value: folder }, folder.replace(/\/$/, "") || "the files that were opened")));
  const choice = folders.length > 1 ? h("label", {}, "Result ", menu) : "";
  const load = async (folder: string) => {
    const within = new Map(files.filter(({ path }) => path.startsWith(folder)).map(({ path, file }) => [path.slice(folder.length), file]));
    try {
      await show(folder.replace(/\/$/, ""), within, own);
    } catch (error) {
      clear();
      mistaken(error instanceof Mistake ? error : new Mistake(`${folder}${MARK}: ${String(error)}`));
    }
  };
  menu.addEventListener("change", () => void load(menu.value));
  by("result-choice").replaceChildren(choice);
  await load(folders[0] ?? "");
  by("result-hint").hidden = true;
}

function clear(): void {
  by("result-title").textContent = "Results";
  for (const id of ["result-about", "result-again", "result-warnings", "result-summary"]) by(id).replaceChildren();
  tables.show([]);
}

async function show(folder: string, files: Map<string, File>, own: number): Promise<void> {
  const stored = read(folder, (await files.get(MARK)?.text()) ?? "");
  const found = await sourceOf(stored, files);
  if (own !== opened) return;
  mistaken(null);
  by("result-title").textContent = stored.title || stored.scenario;
  const ended = stored.complete ? "" : ", not complete: it was stopped before its end";
  by("result-about").textContent = `${stored.schemes.join(", ")}; seed ${stored.seed}; incast ${stored.incast}${ended}.`;
  by("result-warnings").replaceChildren(...stored.warnings.map((text) => h("li", {}, text)));
  const summed = stored.runs.map(({ scheme, measured, published }, number): Summed => ({ scheme, number, figures: measured, published }));
  summary(by("result-summary"), summed, about);
  tables.show([found]);
  await again(stored, files);
}

/** The content of `run.json`. */
function read(folder: string, text: string): Stored {
  const place = folder ? `${folder}/${MARK}` : MARK;
  let stored: Stored;
  try {
    stored = JSON.parse(text) as Stored;
  } catch {
    throw new Mistake(`${place}: is no JSON; expected a directory that \`incast run\` wrote`);
  }
  const known = Array.isArray(stored.runs) && Array.isArray(stored.schemes) && typeof stored.tables === "object" && stored.tables !== null;
  if (!known || stored.runs.some(({ measured }) => typeof measured !== "object" || measured === null)) {
    throw new Mistake(`${place}: has no runs and tables; expected a directory that \`incast run\` wrote, no directory of a sweep or of \`incast reproduce\``);
  }
  const seed = /^ {2}"seed": (\d+)/m.exec(text)?.[1] ?? String(stored.seed);
  return { ...stored, seed, warnings: stored.warnings ?? [], runs: stored.runs.map((run) => ({ ...run, published: run.published ?? {} })) };
}

/** The tables of a result: those that `run.json` tells of and whose files are there. */
async function sourceOf(stored: Stored, files: Map<string, File>): Promise<Source> {
  const there = Object.keys(stored.tables).flatMap((name) => {
    const file = files.get(`${name}.parquet`);
    return file ? [{ name, file }] : [];
  });
  if (there.length === 0 && Object.keys(stored.tables).length > 0) {
    throw new Mistake(`${stored.scenario}: none of its tables is there; open its whole directory, with the files whose names end in .parquet`);
  }
  const all = await Promise.all(there.map(async ({ name, file }): Promise<Table> => {
    const { rows, columns } = await parquet.described(file);
    const meaning = stored.tables[name];
    const told = columns.map((column) => ({ ...column, ...(meaning?.columns[column.name] ?? { unit: "", doc: "" }) }));
    return { name, doc: meaning?.doc ?? "", rows, columns: told };
  }));
  return {
    label: stored.scenario,
    tables: all,
    formats: ["csv"],
    rows: (table, from, count) => parquet.rows(there[table]!.file, from, count),
    file: async (table) => {
      const { rows, columns, name } = all[table]!;
      if (rows > MOST_ROWS) throw new Mistake(`${name}: has ${shown(rows)} rows, and a page saves at most ${shown(MOST_ROWS)} as CSV; its Parquet file is in the directory`);
      return csv(columns, await parquet.rows(there[table]!.file, 0, rows));
    },
  };
}

/** The link by which the scenario of the result is run again. */
async function again(stored: Stored, files: Map<string, File>): Promise<void> {
  const scenario = files.get("scenario.toml");
  if (!scenario) {
    by("result-again").replaceChildren(h("span", { class: "hint" }, "Its scenario is not there: open the whole directory to run it again."));
    return;
  }
  const inputs: Record<string, string> = {};
  for (const [path, file] of files) if (path.startsWith("inputs/")) inputs[path.slice("inputs/".length)] = await file.text();
  const schemes = stored.schemes.map((label) => stored.named?.[label] ?? label);
  const state = { ...first(), name: stored.scenario, text: await scenario.text(), files: inputs, schemes, seed: stored.seed };
  const link = h("a", { class: "action", href: `#${await fragment(state)}` }, "Run its scenario here");
  by("result-again").replaceChildren(link);
}

/** The simulator: what is chosen, and what is shown of it. */

import shipped from "virtual:scenarios";
import { Charts } from "./charts.js";
import { Panel, type Say, paths, sayer } from "./controls.js";
import { by, copy, download, h, shown, time } from "./dom.js";
import { desk } from "./desk.js";
import { Editor } from "./editor.js";
import { NetworkView } from "./network.js";
import { Run } from "./run.js";
import { type Summed, key, summary } from "./summary.js";
import { type Source, Tables } from "./tables.js";
import { type State, command, first, fragment, open, parsed, textOf } from "./state.js";
import { type About, type Field, Mistake, type Opened, type Table } from "./types.js";
import * as parquet from "./parquet.js";

/** A run that is expected to take longer than this begins when it is told to. */
const QUICK_S = 12;

const charts = new Charts(by("charts"));
const tables = new Tables(by("tables"), "table", mistaken);
const editor = new Editor(by("editor"), (text) => {
  state.text = text === shippedText(state.name) ? null : text;
  void refresh();
});
const settings = new Panel(by("settings"), change);
const parameters = new Panel(by("parameters"), change);

let state: State = first();
let about: About;
/** Whether the simulator is what the page shows. */
let active = false;
let opened: Opened | null = null;
let runs: Run[] = [];
/** The runs whose end was told. */
let told: Run[] = [];
let views: NetworkView[] = [];
/** The warnings before a run, and the doubts after it. */
let [cautions, doubts] = [[] as string[], [] as string[]];
let paused = false;
/** The interval that is looked at; null for the latest. */
let looked: number | null = null;

const [runButton, pauseButton] = [by<HTMLButtonElement>("run"), by<HTMLButtonElement>("pause")];
const [pace, seed, timeline] = [by<HTMLSelectElement>("pace"), by<HTMLInputElement>("seed"), by<HTMLInputElement>("time")];
const [scenarioMenu, addScheme] = [by<HTMLSelectElement>("scenario"), by<HTMLSelectElement>("add-scheme")];

const saySeed = sayer(seed, by("seed-error"));

function shippedText(name: string): string | undefined {
  return shipped.find((one) => one.name === name)?.text;
}

/** Says a mistake where it is seen, or that there is none. */
function mistaken(mistake: Mistake | null): void {
  const place = by("error");
  place.hidden = mistake === null;
  place.textContent = mistake?.message ?? "";
  editor.mark(mistake);
}

/** The changes with one more. */
function changesWith(path: string, value: string): Map<string, string> {
  const changes = new Map(state.changes);
  changes.delete(path);
  if (value !== original(path)) changes.set(path, value);
  return changes;
}

let changing = 0;
/** The last value of each path that was moved, and where to say of it. */
const moved = new Map<string, { value: string; say: Say }>();

/** Takes a value of a control, soon: a slider moves on. */
function change(path: string, value: string, say: Say): void {
  moved.set(path, { value, say });
  clearTimeout(changing);
  changing = window.setTimeout(() => {
    const all = [...moved];
    moved.clear();
    for (const [path, { value, say }] of all) void set(path, value).then(say);
  }, 120);
}

/** The judgement of the last value. Each waits for the one before it. */
let judging: Promise<unknown> = Promise.resolve();

/** Takes what `--set` would take. */
function set(path: string, value: string): Promise<string> {
  const stays = () => `${path} stays ${valueAt(path, opened?.values) ?? "as it is"}`;
  return take(() => ({ changes: changesWith(path, value) }), stays);
}

/** Takes a change of the state. What gives no scenario is said, with what stays, and not kept. */
function take(change: () => Partial<State>, stays: () => string): Promise<string> {
  const judged = judging.then(() => judge(change, stays));
  judging = judged;
  return judged;
}

async function judge(change: () => Partial<State>, stays: () => string): Promise<string> {
  const own = state;
  try {
    await desk.ask<Opened>({ ask: "open", ...open({ ...state, ...change() }) });
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    return `${sentence}${/[.?!]$/.test(sentence) ? "" : "."} ${stays()}.`;
  }
  if (own === state) {
    Object.assign(state, change());
    void refresh();
  }
  return "";
}

/** Sets what `--set` would take. */
async function assign(text: string): Promise<void> {
  const [at, field] = [text.indexOf("="), by<HTMLInputElement>("assignment")];
  const wrong = at <= 0
    ? `${JSON.stringify(text)}: expected KEY=VALUE, such as run.duration=50ms.`
    : await set(text.slice(0, at).trim(), text.slice(at + 1).trim());
  sayer(field, by("assign-error"))(wrong);
  if (!wrong) field.value = "";
}

/** The value that the scenario's text has at a path, as `--set` takes it. */
const original = (path: string): string | undefined => valueAt(path, opened?.before);

function valueAt(path: string, values: unknown): string | undefined {
  let value = values;
  for (const key of path.split(".")) value = (value as Record<string, unknown> | undefined)?.[key];
  if (value === undefined) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

let refreshing = 0;

/** Opens the state anew, and runs it if that is quick. */
async function refresh(): Promise<void> {
  const own = ++refreshing;
  try {
    const found = await desk.ask<Opened>({ ask: "open", ...open(state) });
    if (own !== refreshing || !active) return;
    opened = found;
    mistaken(null);
    show(found);
    const refused = found.schemes.map((one) => one.refused).filter((one) => one !== null);
    const seconds = Math.max(...found.schemes.map((one) => one.seconds));
    runButton.disabled = refused.length > 0;
    if (refused.length) {
      clear();
      mistaken(new Mistake(`${state.name}: ${refused[0]}. The command is below.`));
    } else if (seconds <= QUICK_S) start();
    else {
      clear();
      by("message").textContent = `This run will take about ${shown(seconds, 2)} s here. Press Run.`;
    }
  } catch (error) {
    if (own !== refreshing) return;
    clear();
    runButton.disabled = true;
    editor.show(textOf(state));
    scenarioMenu.value = state.text === null ? state.name : "";
    showChanges();
    mistaken(error instanceof Mistake ? error : new Mistake(String(error)));
  }
  await linked();
}

/** Writes the state into the address, and the command that repeats it. */
export async function linked(): Promise<void> {
  by("command").textContent = command(state);
  const own = state.text !== null;
  by("command-note").replaceChildren(
    own ? "Its file: " : "It gives the same tables, to the last bit.",
    own ? h("button", { type: "button", click: () => download(`${state.name}.toml`, textOf(state), "text/plain") }, `${state.name}.toml`) : "",
  );
  const text = await fragment(state);
  by<HTMLAnchorElement>("to-simulator").href = `#${text}`;
  if (active) history.replaceState(null, "", `#${text}`);
}

function show(found: Opened): void {
  by("title").textContent = found.title;
  by("description").textContent = found.description;
  cautions = [...found.warnings, ...found.schemes.flatMap((one) => one.warnings)];
  warn();
  editor.show(textOf(state));
  settings.scenario(found, about);
  parameters.parameters(found, about);
  if (document.activeElement !== seed) {
    seed.value = state.seed || found.seed;
    saySeed("");
  }
  scenarioMenu.value = state.text === null ? state.name : "";
  showSchemes(found);
  showChanges();
}

/** Shows the warnings; doubts are old as long as the next run goes on. */
function warn(): void {
  const old = runs.some((run) => !run.over);
  const items = [...cautions.map((text) => h("li", {}, text)), ...doubts.map((text) => h("li", old ? { class: "old" } : {}, text))];
  by("warnings").replaceChildren(...items);
}

/** Asks what is doubtful of runs that have ended. */
async function doubt(found: Run[]): Promise<void> {
  const asked = found.map((run) => [run.scheme, run.finished?.doubts ?? []]);
  const told = await desk.ask<string[]>({ ask: "doubts", runs: asked });
  if (found.some((run) => !runs.includes(run))) return;
  doubts = told;
  warn();
}

function showChanges(): void {
  const changes = [...state.changes].map(([path, value]) =>
    h("li", {}, h("code", {}, `${path}=${value}`), h("button", { type: "button", "aria-label": `Undo ${path}`, click: () => {
      state.changes.delete(path);
      void refresh();
    } }, "×")),
  );
  by("changes").replaceChildren(...(changes.length ? changes : [h("li", { class: "hint" }, "None: the scenario as it is.")]));
}

function showSchemes(found: Opened): void {
  const names = found.schemes.map((one) => one.name);
  const chosen = names.map((name, number) => {
    const remove = h("button", { type: "button", "aria-label": `Leave out ${name}`, disabled: names.length === 1, click: () => {
      state.schemes = names.filter((other) => other !== name);
      void refresh();
    } }, "×");
    return h("li", {}, key(number), h("span", {}, name), remove);
  });
  by("schemes").replaceChildren(...chosen);
  const own = Object.keys((found.values as { cc?: object }).cc ?? {});
  const known = about.algorithms.map((one) => one.name);
  const groups = about.algorithms.map((one) =>
    h("optgroup", { label: one.name }, ...[one.name, ...one.presets.map((preset) => `${one.name}:${preset.name}`)]
      .filter((name) => !names.includes(name))
      .map((name) => h("option", { value: name }, name))),
  );
  const aliases = own.filter((name) => !known.includes(name) && !names.includes(name));
  addScheme.replaceChildren(
    h("option", { value: "" }, "choose an algorithm"),
    ...aliases.map((name) => h("option", { value: name }, name)),
    ...groups,
  );
}

function stop(): void {
  for (const run of runs) run.end();
  pauseButton.disabled = true;
}

/** Takes away all that is of the scenario before. */
function clear(): void {
  stop();
  [runs, views, told, doubts] = [[], [], [], []];
  warn();
  by("networks").replaceChildren();
  charts.clear();
  summary(by("summary"), [], about);
  tables.show([]);
  [runButton.textContent, timeline.disabled, timeline.value] = ["Run", true, "1"];
  by("message").textContent = "";
  by("moment").textContent = "nothing has run";
  document.body.dataset["state"] = "cleared";
}

function start(): void {
  if (!opened) return;
  stop();
  [paused, looked] = [false, null];
  const of = opened;
  runs = of.schemes.map(({ name }, number) => new Run(name, number, of, name, () => later()));
  views = runs.map((run) => new NetworkView(run));
  by("networks").replaceChildren(h("h2", { class: "sr" }, "Network"), ...views.map((view) => view.element));
  charts.reset(runs);
  const asked = open(state);
  for (const run of runs) run.start(asked, state.seed || of.seed, Number(pace.value));
  runButton.textContent = "Run again";
  pauseButton.disabled = false;
  pauseButton.textContent = "Pause";
  timeline.disabled = false;
  document.body.dataset["state"] = "running";
  by("summary").classList.add("old");
  by("tables").classList.add("old");
  warn();
  later();
}

/** The time that one picture may take, so that the page answers meanwhile. */
const PICTURE_MS = 8;

let drawing = false;
let changed = false;
/** Networks and figures take turns: the next one, and how many are left to draw. */
let [turn, left] = [0, 0];

/** Draws what has changed, with the next pictures. */
function later(): void {
  changed = true;
  left = views.length + charts.count;
  again();
}

function again(): void {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function draw(): void {
  if (runs.length === 0) return;
  const last = Math.max(0, ...runs.map((run) => run.frames.length));
  const intervals = Math.max(1, ...runs.map((run) => run.intervals));
  timeline.max = String(intervals);
  if (looked === null) timeline.value = String(Math.max(1, last));
  const at = looked === null ? last : Math.min(looked, last);
  const frames = runs.map((run) => run.frames[Math.min(at, run.frames.length) - 1]);
  const moment = Math.max(0, ...frames.map((frame) => frame?.at_us ?? 0));
  const most = Math.max(1, ...runs.map((run) => run.traces.mostQueue));
  for (const began = performance.now(); left > 0 && performance.now() - began < PICTURE_MS; left -= 1) {
    turn = (turn + 1) % (views.length + charts.count);
    if (turn < views.length) views[turn]?.draw(frames[turn], most);
    else charts.draw(turn - views.length, runs, looked === null ? null : moment);
  }
  if (left > 0) again();
  if (!changed) return;
  changed = false;
  if (last > 0) document.body.dataset["first"] ??= String(Math.round(performance.now()));
  const over = runs.every((run) => run.over);
  by("moment").textContent = opened ? `${time(moment)} of ${time(opened.duration_us)}` : "";
  timeline.setAttribute("aria-valuetext", time(moment));
  const wrong = runs.find((run) => run.mistake);
  if (wrong?.mistake) mistaken(wrong.mistake);
  if (over && told !== runs) {
    told = runs;
    ended();
  } else if (!over) {
    const text = paused ? "Paused." : `Running: measured from ${time(opened?.warmup_us ?? 0)} on.`;
    if (by("message").textContent !== text) by("message").textContent = text;
  }
}

function ended(): void {
  const found = runs.filter((run) => run.finished);
  pauseButton.disabled = true;
  document.body.dataset["state"] = "ended";
  by("message").textContent = found.length ? "The run has ended." : "";
  const asShipped = state.text === null && state.changes.size === 0;
  const published = asShipped ? (opened?.published ?? {}) : {};
  const note = !asShipped && Object.keys(opened?.published ?? {}).length ? "Published values stand beside the scenario as it ships." : "";
  const time = found.map((run) => `${run.scheme} ${run.seconds.toFixed(2)} s`).join(", ");
  const summed = found.map((run): Summed => ({
    scheme: run.scheme,
    number: run.number,
    figures: run.finished?.figures ?? {},
    published: published[run.scheme] ?? {},
  }));
  const digests = found.map((run) =>
    h("p", { class: "hint digest" }, `Digest of all tables, ${run.scheme}: `, h("code", { "data-digest": run.scheme }, run.finished?.digest ?? "")));
  summary(by("summary"), summed, about, ...(note ? [note] : []), `Time in the simulator: ${time}.`, ...digests);
  tables.show(found.map(source));
  void charts.addSlowdowns(runs).then(later);
  by("summary").classList.remove("old");
  by("tables").classList.remove("old");
  void doubt(found);
}

/** The tables of a run that has ended. */
function source(run: Run): Source {
  const all = run.finished?.tables ?? [];
  return {
    label: run.scheme,
    tables: all,
    formats: ["csv", "parquet", "arrow"],
    rows: (table, from, count) => run.ask({ ask: "rows", table, from, count }),
    file: async (table, format) => {
      const own = all[table];
      if (format !== "parquet" || !own) return run.ask<Uint8Array<ArrayBuffer>>({ ask: "file", table, format });
      return parquet.written(await fields(run, table, own), JSON.stringify(meaning(own)));
    },
  };
}

/** All columns of a table, as they are written. */
async function fields(run: Run, table: number, { columns }: Table): Promise<Field[]> {
  const values = columns.map((_, column) => run.ask<Field["values"]>({ ask: "values", table, column }));
  return Promise.all(columns.map(async ({ name, kind }, column) => ({ name, kind, values: (await values[column]) ?? [] })));
}

/** What a table and its columns mean, as the files of `incast run` say it. */
function meaning({ doc, columns }: Table): object {
  return { doc, columns: Object.fromEntries(columns.map(({ name, unit, doc: of }) => [name, { unit, doc: of }])) };
}

/** Opens texts of a scenario and of the files that it names. */
export async function openTexts(texts: Map<string, string>): Promise<void> {
  const name = [...texts.keys()].find((one) => one.endsWith(".toml"));
  if (!name) {
    mistaken(new Mistake(`${[...texts.keys()].join(", ")}: no scenario; expected a file in TOML, whose name ends in .toml`));
    return;
  }
  const text = texts.get(name) ?? "";
  const files = new Map(texts);
  files.delete(name);
  await go({ ...first(), name: name.replace(/\.toml$/, ""), text, files: Object.fromEntries(files) });
}

/** Takes a state, and runs it. */
export async function go(to: State): Promise<void> {
  active = true;
  state = to.text === shippedText(to.name) ? { ...to, text: null } : to;
  await refresh();
}

/** Takes the state of a link; the state that was last where there is none. */
export async function restore(text: string): Promise<void> {
  const found = text ? await parsed(text) : state;
  await go(found ?? state);
  if (!found) mistaken(new Mistake("this link holds no state that the page knows; here is a scenario that ships"));
}

/** Ends what runs, since something else is shown. */
export function leave(): void {
  active = false;
  stop();
}

function listen(): void {
  runButton.addEventListener("click", () => start());
  pauseButton.addEventListener("click", () => {
    paused = !paused;
    pauseButton.textContent = paused ? "Go on" : "Pause";
    for (const run of runs) run.order({ kind: "pause", on: paused });
    later();
  });
  pace.addEventListener("change", () => {
    for (const run of runs) run.order({ kind: "pace", pace: Number(pace.value) });
  });
  seed.addEventListener("change", () => {
    const chosen = seed.value.trim() === opened?.seed ? "" : seed.value.trim();
    const stays = () => `The seed stays ${state.seed || opened?.seed}`;
    void take(() => ({ seed: chosen }), stays).then(saySeed);
  });
  timeline.addEventListener("input", () => {
    const last = Math.max(0, ...runs.map((run) => run.frames.length));
    looked = Number(timeline.value) >= last ? null : Number(timeline.value);
    later();
  });
  scenarioMenu.addEventListener("change", () => {
    if (!scenarioMenu.value) return;
    state = { ...first(), name: scenarioMenu.value };
    void refresh();
  });
  addScheme.addEventListener("change", () => {
    const names = opened?.schemes.map((one) => one.name) ?? [];
    if (addScheme.value) state.schemes = [...names, addScheme.value];
    void refresh();
  });
  by<HTMLFormElement>("assign").addEventListener("submit", (event) => {
    event.preventDefault();
    void assign(by<HTMLInputElement>("assignment").value);
  });
  const sheetButton = by("show-settings");
  sheetButton.addEventListener("click", () => {
    const open = document.body.toggleAttribute("data-sheet");
    sheetButton.setAttribute("aria-expanded", String(open));
    sheetButton.textContent = open ? "Hide settings" : "Settings";
    if (open) by("charts").scrollIntoView();
    // Figures take the width that is left, once the browser has told it.
    setTimeout(later, 50);
  });
  const commandButton = by<HTMLButtonElement>("copy-command");
  commandButton.addEventListener("click", () => void copy(command(state), commandButton));
  window.addEventListener("resize", () => later());
}

/** Draws in the colours that are chosen now. */
export function coloured(): void {
  if (runs.length) charts.reset(runs);
  later();
}

export function prepare(known: About): void {
  about = known;
  scenarioMenu.append(
    h("option", { value: "", hidden: true }, "a file of your own"),
    ...shipped.map(({ name, title }) => h("option", { value: name, title }, name)),
  );
  by("paths").append(...paths(about.schema).map(([path, doc]) => h("option", { value: `${path}=` }, doc)));
  listen();
}

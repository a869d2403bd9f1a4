/** All that a link holds: the scenario, its changes, the schemes and the seed. */

import shipped from "virtual:scenarios";
import type { Open } from "./types.js";

export interface State {
  /** The name of a shipped scenario, or of a file. */
  name: string;
  /** The text, where it is not that of the shipped scenario. */
  text: string | null;
  /** The texts of files that the scenario names. */
  files: Record<string, string>;
  /** Values by their path, in the order in which they were set. */
  changes: Map<string, string>;
  /** The schemes, or none for those of the scenario. */
  schemes: string[];
  /** The seed; empty for that of the scenario. */
  seed: string;
}

export const first = (): State => ({
  name: "incast",
  text: null,
  files: {},
  changes: new Map(),
  schemes: [],
  seed: "",
});

export function textOf(state: State): string {
  return state.text ?? shipped.find(({ name }) => name === state.name)?.text ?? "";
}

export function open(state: State): Open {
  const changes = [...state.changes].map(([path, value]) => `${path}=${value}`);
  const { files, schemes, seed } = state;
  return { file: `${state.name}.toml`, text: textOf(state), files, changes, schemes, seed };
}

async function through(bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();
}

async function packed(text: string): Promise<string> {
  const bytes = new Uint8Array(await through(text, new CompressionStream("deflate-raw")));
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text: string): Promise<string> {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

/** The fragment of a link with the state. What is as the scenario has it is left out. */
export async function fragment(state: State): Promise<string> {
  const parts = new URLSearchParams({ s: state.name });
  for (const scheme of state.schemes) parts.append("cc", scheme);
  for (const [path, value] of state.changes) parts.append("set", `${path}=${value}`);
  if (state.seed) parts.set("seed", state.seed);
  if (state.text !== null) {
    parts.set("t", await packed(JSON.stringify([state.text, state.files])));
  }
  return parts.toString();
}

/** The state of a fragment; null where it is none. */
export async function parsed(text: string): Promise<State | null> {
  const parts = new URLSearchParams(text);
  const name = parts.get("s");
  if (!name) return null;
  const state: State = { ...first(), name, schemes: parts.getAll("cc"), seed: parts.get("seed") ?? "" };
  for (const change of parts.getAll("set")) {
    const at = change.indexOf("=");
    if (at > 0) state.changes.set(change.slice(0, at), change.slice(at + 1));
  }
  const own = parts.get("t");
  if (own) {
    try {
      [state.text, state.files] = JSON.parse(await unpacked(own));
    } catch {
      return null;
    }
  } else if (!shipped.some((one) => one.name === name)) {
    return null;
  }
  return state;
}

/** A word as a shell takes it. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command that repeats the run natively. */
export function command(state: State): string {
  const parts = [`incast run ${word(state.text === null ? state.name : `${state.name}.toml`)}`];
  for (const scheme of state.schemes) parts.push(`--cc ${word(scheme)}`);
  for (const [path, value] of state.changes) parts.push(`--set ${word(`${path}=${value}`)}`);
  if (state.seed) parts.push(`--seed ${word(state.seed)}`);
  return parts.join(" \\\n  ");
}

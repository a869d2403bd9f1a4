/** Controls for what a scenario sets and for parameters of algorithms, made of the schema. */

import { h, inWords } from "./dom.js";
import { Scale, quantity } from "./quantity.js";
import type { About, Algorithm, Opened, Parameter, Schema, Value } from "./types.js";

/** Called with what is wrong with a value, or nothing. */
export type Say = (wrong: string) => void;

/** Called when a value was chosen: its path, the text that `--set` takes, and where to say of it. */
export type Change = (path: string, value: string, say: Say) => void;

interface Setting {
  path: string;
  /** The thing that the value is a property of, where a section has several. */
  owner: string;
  value: Value;
  before: Value | undefined;
  doc: string;
  words: string[];
}

/** The schemas that a value may follow, references resolved. */
function alternatives(schema: Schema, root: Schema): Schema[] {
  const others = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const name = schema.$ref?.split("/").pop();
  const meant = name ? root.$defs?.[name] : undefined;
  return [schema, ...(meant ? [meant] : []), ...others].flatMap((one) =>
    one === schema ? [one] : alternatives(one, root),
  );
}

function inside(schemas: Schema[], key: string, root: Schema): Schema[] {
  const found = schemas.flatMap((schema) => {
    const more = schema.additionalProperties;
    const next = /^\d+$/.test(key) ? schema.items : schema.properties?.[key] ?? (typeof more === "object" ? more : undefined);
    return next ? alternatives(next, root) : [];
  });
  return found;
}

function describe(schemas: Schema[]): string {
  const text = schemas.find((one) => one.description)?.description ?? "";
  return text.replace(/\s+/g, " ");
}

/** The longest beginning of a description that serves as a label. */
const LABEL = 56;

/** The label of a value: how its description begins, or its key where that is long. */
function labelled(owner: string, key: string, doc: string): string {
  const meant = doc.replace(/^([A-Z]\w*( loop)?|For `[^`]*`): /, "").replace(/^(The|An?|Whether) /, "");
  const [first = "", mark] = meant.split(/\s*([.,;:(`])/);
  const label = mark !== "`" && first.length > 2 && first.length <= LABEL ? first.charAt(0).toUpperCase() + first.slice(1) : inWords(key);
  return owner && !label.startsWith(owner) ? `${owner}: ${label.replace(/^[A-Z](?![A-Z_])/, (letter) => letter.toLowerCase())}` : label;
}

function words(schemas: Schema[]): string[] {
  return schemas.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]));
}

function at(value: Value | undefined, key: string): Value | undefined {
  if (Array.isArray(value)) return value[Number(key)];
  return typeof value === "object" && value !== null ? value[key] : undefined;
}

/** All values of a scenario that stand alone, section by section. */
function settings(opened: Opened, root: Schema): Map<string, Setting[]> {
  const sections = new Map<string, Setting[]>();
  const skipped = new Set(["title", "description", "published", "cc", "run.schemes", "run.seed"]);
  const walk = (path: string[], value: Value, before: Value | undefined, schemas: Schema[], owner: string): void => {
    const name = path.join(".");
    if (skipped.has(name)) return;
    const scalars = Array.isArray(value) && value.every((one) => typeof one !== "object");
    if (typeof value === "object" && value !== null && !scalars) {
      for (const [key, next] of Object.entries(value)) {
        walk([...path, key], next, at(before, key), inside(schemas, key, root), owned(path, key, next, Object.keys(value).length) ?? owner);
      }
      return;
    }
    const section = path[0] ?? "";
    const all = sections.get(section) ?? [];
    all.push({ path: name, owner, value, before, doc: describe(schemas), words: words(schemas) });
    sections.set(section, all);
  };
  walk([], opened.values, opened.before, alternatives(root, root), "");
  return sections;
}

/** The name of what is at `key`, if values below belong to it: an entry of a list that has several, or a table in a section. */
function owned(path: string[], key: string, value: Value, of: number): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value) || path.length === 0) return null;
  if (/^\d+$/.test(key)) return of === 1 ? null : String(value["name"] ?? value["kind"] ?? Number(key) + 1);
  return path[0] === "network" && path.length === 1 ? null : inWords(key);
}

/** All paths of single values that the schema knows outside lists, with their meaning. */
export function paths(root: Schema): [path: string, doc: string][] {
  const found: [string, string][] = [];
  const walk = (path: string[], schemas: Schema[]): void => {
    const keys = new Set(schemas.flatMap((one) => Object.keys(one.properties ?? {})));
    if (keys.size === 0 && path.length > 1) found.push([path.join("."), describe(schemas)]);
    if (path.length < 3) for (const key of keys) walk([...path, key], inside(schemas, key, root));
  };
  for (const section of ["run", "switch", "transport", "signal", "routing", "measure"]) {
    walk([section], inside(alternatives(root, root), section, root));
  }
  return found;
}

function text(value: Value): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What says at a field that its value is wrong, or no longer. */
export function sayer(field: HTMLElement, place: HTMLElement): Say {
  field.setAttribute("aria-describedby", place.id);
  return (wrong) => {
    place.hidden = wrong === "";
    place.textContent = wrong;
    field.setAttribute("aria-invalid", String(wrong !== ""));
  };
}

let number = 0;

/** A labelled control of one value: a switch, a menu, or a field with a slider. */
class Control {
  readonly element: HTMLElement;
  readonly #field: HTMLInputElement | HTMLSelectElement;
  readonly #slider: HTMLInputElement | null = null;
  readonly #scale: Scale | null = null;
  readonly #say: Say;

  constructor(
    path: string,
    label: string,
    /** The key as a scenario has it. */
    hint: string,
    value: Value,
    help: string,
    options: { words?: string[]; range?: string; whole?: boolean; around?: Value | undefined },
    change: Change,
  ) {
    const id = `control-${++number}`;
    const known = options.words ?? [];
    if (typeof value === "boolean" || (known.length > 1 && known.includes(text(value)))) {
      const choices = typeof value === "boolean" ? ["true", "false"] : known;
      const select = h("select", { id }, ...choices.map((word) => h("option", { value: word }, word)));
      this.#field = select;
    } else {
      this.#field = h("input", { id, autocomplete: "off", spellcheck: "false" });
      const start = typeof options.around === "string" || typeof options.around === "number" ? options.around : value;
      const found = typeof value === "object" ? null : quantity(text(start as Value));
      const whole = options.whole ?? (typeof value === "number" && Number.isInteger(value));
      this.#scale = found && Scale.around(found, whole, options.range);
      if (this.#scale) {
        this.#slider = h("input", { type: "range", min: "0", max: String(Scale.STEPS), "aria-label": `${label}, slider` });
      }
    }
    const error = h("p", { class: "error", id: `${id}-error`, role: "alert", hidden: true });
    this.#say = sayer(this.#field, error);
    this.#field.addEventListener("change", () => change(path, this.#field.value, this.#say));
    this.#slider?.addEventListener("input", () => {
      const chosen = this.#scale?.at(Number(this.#slider?.value)) ?? "";
      this.#field.value = chosen;
      this.#slider?.setAttribute("aria-valuetext", chosen);
      change(path, chosen, this.#say);
    });
    const shownHelp = h("p", { class: "help", id: `${id}-help`, hidden: true }, help);
    const more = h("button", { type: "button", class: "more", "aria-expanded": "false", "aria-controls": `${id}-help`, "aria-label": `About ${label}` }, "?");
    more.addEventListener("click", () => {
      shownHelp.hidden = !shownHelp.hidden;
      more.setAttribute("aria-expanded", String(!shownHelp.hidden));
    });
    this.element = h(
      "div",
      { class: "control" },
      h("label", { for: id, title: help }, label, h("small", {}, hint)),
      help ? more : null,
      this.#field,
      this.#slider,
      error,
      help ? shownHelp : null,
    );
    this.update(value);
  }

  update(value: Value): void {
    const shown = text(value);
    if (document.activeElement !== this.#field) {
      this.#field.value = shown;
      this.#say("");
    }
    const found = this.#scale && quantity(shown);
    if (this.#slider && this.#scale && found && document.activeElement !== this.#slider) {
      this.#slider.value = String(this.#scale.position(found));
      this.#slider.setAttribute("aria-valuetext", shown);
    }
  }
}

/** A panel of controls, which is made anew only if other values are to be shown. */
export class Panel {
  #controls = new Map<string, Control>();
  #shape = "";

  constructor(
    private readonly element: HTMLElement,
    private readonly change: Change,
  ) {}

  /** What the scenario sets. */
  scenario(opened: Opened, about: About): void {
    const sections = settings(opened, about.schema);
    const all = [...sections.values()].flat();
    const shape = all.map(({ path, value }) => `${path}:${typeof value}`).join();
    if (this.#updated(shape, all)) return;
    const order = ["run", "traffic", "network", "switch", "transport"];
    const rank = (section: string) => (order.includes(section) ? order.indexOf(section) : order.length);
    for (const [section, own] of [...sections].sort(([a], [b]) => rank(a) - rank(b))) {
      const controls = own.map((setting) => {
        const { path, owner, value, before, doc, words } = setting;
        const label = labelled(owner, path.split(".").pop() ?? path, doc);
        return this.#made(path, new Control(path, label, path, value, doc, { words, around: before }, this.change));
      });
      this.element.append(h("details", { open: ["run", "switch", "traffic"].includes(section) }, h("summary", {}, inWords(section)), ...controls));
    }
  }

  /** Parameters of the algorithms that are compared. */
  parameters(opened: Opened, about: About): void {
    const schemes = new Map(opened.schemes.map((one) => [one.name.split(/[:[]/)[0] ?? "", one] as const));
    const values = [...schemes].flatMap(([name, one]) =>
      Object.entries(one.parameters).map(([parameter, value]) => ({ path: `cc.${name}.${parameter}`, value })),
    );
    if (this.#updated(values.map(({ path }) => path).join(), values)) return;
    for (const [name, scheme] of schemes) {
      const algorithm = about.algorithms.find((one) => one.name === scheme.algorithm);
      if (!algorithm) continue;
      const set = at(at(opened.values, "cc"), name);
      const [own, others] = [[] as HTMLElement[], [] as HTMLElement[]];
      for (const parameter of algorithm.parameters) {
        const value = scheme.parameters[parameter.name] ?? "";
        const control = this.#made(`cc.${name}.${parameter.name}`, this.#parameter(name, parameter, value));
        (at(set, parameter.name) === undefined ? others : own).push(control);
      }
      const [shown, hidden] = own.length ? [own, others] : [others.slice(0, 6), others.slice(6)];
      this.element.append(
        h("h3", {}, name),
        h("p", { class: "hint" }, summarised(algorithm)),
        ...shown,
        h("details", { hidden: hidden.length === 0 }, h("summary", {}, `${hidden.length} more parameters`), ...hidden),
      );
    }
  }

  #parameter(name: string, { name: own, doc, unit, range, source }: Parameter, value: string): Control {
    const known = unit === "word" ? range.split(", ") : [];
    const bounds = [unit, range].filter(Boolean).join(", ");
    const help = `${doc} (${bounds}) [${source}]`;
    const options = { words: known, range, whole: unit === "count" };
    return new Control(`cc.${name}.${own}`, labelled("", own, doc), own, value, help, options, this.change);
  }

  #made(path: string, control: Control): HTMLElement {
    this.#controls.set(path, control);
    return control.element;
  }

  /** Whether the controls that are there could be kept. */
  #updated(shape: string, values: { path: string; value: Value }[]): boolean {
    if (shape === this.#shape) {
      for (const { path, value } of values) this.#controls.get(path)?.update(value);
      return true;
    }
    this.#shape = shape;
    this.#controls = new Map();
    this.element.replaceChildren();
    return false;
  }
}

function summarised({ summary, signal, source }: Algorithm): string {
  return `${summary}; signal: ${signal} (${source})`;
}

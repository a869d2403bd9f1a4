/** The scenario's text, with errors where they are. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Mistake } from "./types.js";

const style = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
  { tag: [tags.propertyName, tags.keyword], color: "var(--name)" },
]);

export class Editor {
  readonly #view: EditorView;
  #quiet = false;

  constructor(parent: HTMLElement, edited: (text: string) => void) {
    let waiting = 0;
    this.#view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          lintGutter(),
          StreamLanguage.define(toml),
          syntaxHighlighting(style),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ "aria-label": "Scenario in TOML" }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || this.#quiet) return;
            clearTimeout(waiting);
            waiting = window.setTimeout(() => edited(this.#view.state.doc.toString()), 400);
          }),
        ],
      }),
    });
    this.#view.scrollDOM.tabIndex = 0;
    this.#view.scrollDOM.setAttribute("role", "region");
    this.#view.scrollDOM.setAttribute("aria-label", "Scenario in TOML, scrolls");
  }

  show(text: string): void {
    if (text === this.#view.state.doc.toString()) return;
    this.#quiet = true;
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
    this.#quiet = false;
  }

  /** Marks the place of a mistake, or none. */
  mark(mistake: Mistake | null): void {
    const { doc } = this.#view.state;
    const marks: Diagnostic[] = [];
    if (mistake?.line && mistake.line <= doc.lines) {
      const line = doc.line(mistake.line);
      // A mistake at the end of a line is marked at its last letter.
      const from = Math.max(line.from, Math.min(line.to - 1, line.from + (mistake.column ?? 1) - 1));
      const word = /^[^\s=,\]}]+/.exec(doc.sliceString(from, line.to));
      const to = from + Math.max(word?.[0].length ?? 1, 1);
      marks.push({ from, to: Math.min(to, doc.length), severity: "error", message: mistake.message });
    }
    this.#view.dispatch(setDiagnostics(this.#view.state, marks));
  }
}

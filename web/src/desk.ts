/** The instance of the simulator that answers questions, beside those that run. */

import { Engine } from "./engine.js";
import type { About } from "./types.js";

export const desk = new Engine();

let known: Promise<About> | null = null;

/** What can be chosen. */
export function about(): Promise<About> {
  return (known ??= desk.ask<About>({ ask: "about" }));
}

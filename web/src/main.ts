/** The page: which of its parts is shown, the files that are opened, and its colours. */

import { about } from "./desk.js";
import { by, copy, forgetColours } from "./dom.js";
import * as guides from "./guides.js";
import * as result from "./result.js";
import * as simulator from "./simulator.js";

type View = "simulator" | "guide" | "result";

/** Shows a part of the page, and ends what runs in the others. */
function view(name: View): void {
  document.body.dataset["view"] = name;
  by<HTMLAnchorElement>("skip").href = `#${name}`;
  for (const part of document.querySelectorAll<HTMLElement>("[data-of]")) part.hidden = part.dataset["of"] !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.id === `to-${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name !== "simulator") simulator.leave();
  if (name !== "guide") guides.leave();
}

/** Shows what the address names. */
async function route(): Promise<void> {
  const text = location.hash.slice(1);
  const guide = new URLSearchParams(text).get("guide");
  if (text === "guides" || guide !== null) {
    view("guide");
    guides.show(guide);
  } else if (text === "result") {
    view("result");
  } else {
    view("simulator");
    document.title = "incast: datacenter congestion control in a page";
    await simulator.restore(text);
  }
}

/** Opens the directory of a result, or a scenario with the files that it names. */
async function opened(files: result.Found[]): Promise<void> {
  if (files.some(({ path }) => result.isMark(path))) {
    history.pushState(null, "", "#result");
    view("result");
    await result.open(files);
    return;
  }
  const texts = new Map<string, string>();
  for (const { path, file } of files) texts.set(path.split("/").pop() ?? path, await file.text());
  view("simulator");
  await simulator.openTexts(texts);
}

function chosen(input: HTMLInputElement): void {
  const files = [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  if (files.length) void opened(files);
  input.value = "";
}

function listen(): void {
  for (const [button, input] of [["open", "file"], ["open-result", "directory"]] as const) {
    const field = by<HTMLInputElement>(input);
    by(button).addEventListener("click", () => field.click());
    field.addEventListener("change", () => chosen(field));
  }
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const items = event.dataTransfer?.items;
    if (items?.length) void result.dropped(items).then(opened);
  });
  const linkButton = by<HTMLButtonElement>("copy-link");
  linkButton.addEventListener("click", () => void simulator.linked().then(() => copy(location.href, linkButton)));
  by("skip").addEventListener("click", (event) => {
    event.preventDefault();
    // The address is that of a state, and stays.
    by(document.body.dataset["view"] ?? "simulator").focus();
  });
  window.addEventListener("hashchange", () => void route());
  theme();
}

/** The theme of the system, until another was chosen. */
function theme(): void {
  const button = by<HTMLButtonElement>("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset["theme"] ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    forgetColours();
    simulator.coloured();
    guides.coloured();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();
}

async function main(): Promise<void> {
  const known = await about();
  simulator.prepare(known);
  result.prepare(known);
  listen();
  await route();
}

main().catch((error: unknown) => {
  const place = by("error");
  place.hidden = false;
  place.textContent = `the page cannot start: ${String(error)}`;
});

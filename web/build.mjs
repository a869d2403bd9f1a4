// Builds the page: one HTML file with its style, its scripts, the shipped scenarios and the module
// inside, so that it works from a web server and from disk, and asks nobody for anything.
//
//     node build.mjs MODULE.wasm OUTPUT_FOLDER

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, output] = process.argv.slice(2);
if (!wasm || !output) {
  console.error("usage: node build.mjs MODULE.wasm OUTPUT_FOLDER");
  process.exit(2);
}

/** The shipped scenarios: name, title and text of each. */
function scenarios() {
  const folder = join(here, "../scenarios");
  const files = readdirSync(folder).filter((name) => name.endsWith(".toml")).sort();
  return files.map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const title = /^title = "(.*)"$/m.exec(text)?.[1] ?? name;
    return { name: basename(name, ".toml"), title, text };
  });
}

/** The guides in the order of their files: name, title, summary and text of each. */
function guides() {
  const folder = join(here, "guides");
  const files = readdirSync(folder).filter((name) => name.endsWith(".html")).sort();
  return files.map((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const [, title, summary, html] = /^<h1>(.*)<\/h1>\n<p class="lead">(.*?)<\/p>\n([^]*)$/.exec(text);
    return { name: /^\d-(.*)\.html$/.exec(file)[1], title, summary, html };
  });
}

/** The texts of scenarios that guides have and the package does not name, by name. */
function teaching() {
  const own = readdirSync(join(here, "guides")).filter((name) => name.endsWith(".toml"));
  const papers = ["timely/scenarios/reverse-path.toml", "zhu/scenarios/two-flows.toml"];
  const files = [...own.map((name) => join(here, "guides", name)), ...papers.map((name) => join(here, "../papers", name))];
  return Object.fromEntries(files.map((path) => [basename(path, ".toml"), readFileSync(path, "utf8")]));
}

const packages = new Set();

/** The licences of the packages whose code is in the page. */
function licences() {
  const texts = [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence beside it`);
    return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
  });
  return texts.join("\n\n\n");
}

/** The code of a script with all that it imports, as one text. */
async function bundled(entry, modules) {
  const texts = {
    name: "texts",
    setup(made) {
      made.onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path, namespace: "virtual" }));
      made.onLoad({ filter: /.*/, namespace: "virtual" }, ({ path }) => ({
        contents: JSON.stringify(modules[path.slice("virtual:".length)]),
        loader: "json",
      }));
    },
  };
  const result = await build({
    absWorkingDir: here,
    entryPoints: [join("src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    plugins: [texts],
    metafile: true,
  });
  for (const path of Object.keys(result.metafile.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    if (name) packages.add(name);
  }
  return result.outputFiles[0].text;
}

const script = await bundled("main.ts", {
  worker: await bundled("worker.ts", {}),
  "parquet.worker": await bundled("parquet.worker.ts", {}),
  scenarios: scenarios(),
  guides: guides(),
  teaching: teaching(),
});
const style =
  readFileSync(join(here, "node_modules/uplot/dist/uPlot.min.css"), "utf8") +
  readFileSync(join(here, "style.css"), "utf8");
const module = gzipSync(readFileSync(wasm), { level: 9 }).toString("base64");
// The code stands in an element, where nothing may look like its end.
const inside = (code) => code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const parts = { STYLE: style, MODULE: module, SCRIPT: inside(script), LICENCES: inside(licences()) };
const template = readFileSync(join(here, "index.html"), "utf8");
const page = template.replace(/(?:\/\*|<!--) (STYLE|MODULE|SCRIPT|LICENCES) (?:\*\/|-->)/g, (_, part) => parts[part]);
mkdirSync(output, { recursive: true });
writeFileSync(join(output, "index.html"), page);
console.log(`${join(output, "index.html")}: ${(page.length / 1e6).toFixed(1)} MB`);

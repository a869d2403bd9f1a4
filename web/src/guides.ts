/** The guides: texts with live figures that the reader changes. */

import guides from "virtual:guides";
import { by, h } from "./dom.js";
import { FIGURES } from "./figures.js";
import { LiveFigure } from "./live.js";

let shown: LiveFigure[] = [];
let observer: IntersectionObserver | null = null;

/** Ends what runs, since something else is shown. */
export function leave(): void {
  observer?.disconnect();
  for (const figure of shown) figure.leave();
  shown = [];
}

/** Draws in the colours that are chosen now. */
export function coloured(): void {
  for (const figure of shown) figure.draw();
}

/** Shows a guide, or all of them where there is none of that name. */
export function show(name: string | null): void {
  leave();
  const place = guides.findIndex((one) => one.name === name);
  const guide = guides[place];
  const page = by("guide");
  document.title = guide ? `${guide.title} - incast` : "Guides - incast";
  if (!guide) {
    page.replaceChildren(h("h2", { class: "title" }, "Guides"), h("p", { class: "lead" }, LEAD), contents());
    return;
  }
  const article = h("article", {});
  // The text is part of the page, and nobody else's.
  article.innerHTML = guide.html;
  const spots = [...article.querySelectorAll<HTMLElement>("[data-live]")].map((spot) => {
    const live = FIGURES[spot.dataset["live"] ?? ""];
    if (!live) throw new Error(`there is no live figure ${spot.dataset["live"]}`);
    return { spot, live };
  });
  // A line has one colour in all figures of a guide.
  const labels = new Set(spots.flatMap(({ live }) => live.lines.map(({ label }) => label)));
  const numbers = new Map([...labels].map((label, number) => [label, number]));
  for (const { spot, live } of spots) {
    const figure = new LiveFigure(live, numbers);
    figure.element.id = spot.dataset["live"] ?? "";
    shown.push(figure);
    spot.replaceWith(figure.element);
  }
  page.replaceChildren(
    h("h2", { class: "title" }, guide.title),
    h("p", { class: "lead" }, guide.summary),
    article,
    h("nav", { "aria-label": "Other guides", class: "others" }, neighbour(place - 1, "Before"), neighbour(place + 1, "Next")),
  );
  window.scrollTo(0, 0);
  observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) shown.find(({ element }) => element === target)?.begin();
    }
  }, { rootMargin: "200px" });
  for (const { element } of shown) observer.observe(element);
  widths?.disconnect();
  widths = new ResizeObserver(() => coloured());
  widths.observe(page);
}

let widths: ResizeObserver | null = null;

const LEAD = "Four lectures with live figures. Each figure runs the packet simulator in this page, again with each move of its sliders, and opens in the simulator with all that it sets.";

function contents(): HTMLElement {
  return h("ol", { class: "contents" }, ...guides.map(({ name, title, summary }) =>
    h("li", {}, h("a", { href: `#guide=${name}` }, title), h("p", {}, summary))));
}

function neighbour(place: number, what: string): HTMLElement {
  const guide = guides[place];
  return guide ? h("a", { href: `#guide=${guide.name}` }, `${what}: ${guide.title}`) : h("span", {});
}

"use strict";

// The contents stand open at the side, and fold away where there is no side.
const contents = document.querySelector(".contents details");
const wide = matchMedia("(min-width: 60rem)");
const fold = () => { contents.open = wide.matches; };
wide.addEventListener("change", fold);
fold();
document.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "nearest" });

// The rows of a claim's other set-ups, which follow its own.
const setupsOf = row => {
  const next = row.nextElementSibling;
  return next && next.classList.contains("setup") ? [next, ...setupsOf(next)] : [];
};

// Claims: those of a paper, with certain verdicts, that have every word of a text.
for (const form of document.querySelectorAll("form.filter")) {
  const bodies = [...document.querySelectorAll(".claims tbody")].map(body => ({
    body,
    rows: [...body.querySelectorAll("tr[data-verdict]")].map(row => ({
      row, setups: setupsOf(row),
      text: `${body.rows[0].textContent} ${row.textContent}`.toLowerCase(),
    })),
  }));
  const show = () => {
    const chosen = new FormData(form);
    const verdicts = chosen.getAll("verdict");
    const words = chosen.get("text").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const { body, rows } of bodies) {
      let here = 0;
      for (const { row, setups, text } of rows) {
        const { paper, verdict } = row.dataset;
        row.hidden = !(verdicts.includes(verdict) && ["", paper].includes(chosen.get("paper"))
          && words.every(word => text.includes(word)));
        for (const setup of setups) setup.hidden = row.hidden;
        here += !row.hidden;
      }
      body.hidden = here === 0;
      shown += here;
      all += rows.length;
    }
    form.querySelector("output").textContent = `${shown} of ${all} claims and questions shown`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  form.hidden = false;
  show();
}

// Figures: the value below the pointer, and a legend that switches series off and on.
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg");
  const { series, panels } = JSON.parse(figure.querySelector("script").textContent);
  const off = new Set();
  const tip = figure.appendChild(document.createElement("div"));
  tip.className = "tip";
  tip.hidden = true;
  const ring = svg.appendChild(document.createElementNS(svg.namespaceURI, "circle"));
  const look = { r: 4, fill: "none", stroke: "#000", "stroke-width": 1.5, class: "off" };
  for (const [name, value] of Object.entries(look)) ring.setAttribute(name, value);
  const hide = () => {
    tip.hidden = true;
    ring.classList.add("off");
  };
  const at = (x, y) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());

  svg.addEventListener("pointerleave", hide);
  for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, event => {
    const place = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(svg.getScreenCTM().inverse());
    let nearest = null, least = 30;
    for (const panel of panels) {
      const [left, top, right, bottom] = panel.box;
      if (place.x < left - 5 || place.x > right + 5) continue;
      if (place.y < top - 5 || place.y > bottom + 5) continue;
      for (const [index, ...points] of panel.traces) {
        if (off.has(index)) continue;
        for (const point of points) {
          const distance = Math.hypot(point[0] - place.x, point[1] - place.y);
          if (distance < least) {
            least = distance;
            nearest = { panel, name: series[index], point };
          }
        }
      }
    }
    if (!nearest) return hide();
    const [x, y, ...values] = nearest.point;
    const lines = [nearest.panel.x, nearest.panel.y]
      .map((label, axis) => values[axis] && (label ? `${label}: ${values[axis]}` : values[axis]));
    tip.replaceChildren(...[nearest.name, ...lines].filter(Boolean).map((text, index) => {
      const line = document.createElement(index ? "span" : "strong");
      line.textContent = text;
      return line;
    }));
    tip.hidden = false;
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
    ring.classList.remove("off");
    const frame = figure.getBoundingClientRect(), spot = at(x, y);
    const beside = spot.x - frame.left + 12;
    const fits = beside + tip.offsetWidth <= frame.width;
    tip.style.left = `${fits ? beside : Math.max(0, beside - 24 - tip.offsetWidth)}px`;
    tip.style.top = `${Math.max(0, spot.y - frame.top - tip.offsetHeight - 6)}px`;
  });

  // Its entries are buttons, so the picture is a group.
  if (svg.querySelector("[data-entry]")) svg.setAttribute("role", "group");
  for (const text of svg.querySelectorAll("text")) {
    const entry = text.closest("[data-entry]");
    if (!entry) continue;
    const index = Number(entry.dataset.entry);
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("aria-label", series[index]);
    entry.setAttribute("aria-pressed", "true");
    const parts = svg.querySelectorAll(`[data-series="${index}"]`);
    const own = svg.querySelectorAll(`[data-entry="${index}"]`);
    const change = () => {
      const shown = off.delete(index);
      if (!shown) off.add(index);
      for (const part of parts) part.classList.toggle("off", !shown);
      for (const part of own) part.classList.toggle("faded", !shown);
      entry.setAttribute("aria-pressed", String(shown));
      hide();
    };
    for (const part of own) part.addEventListener("click", change);
    entry.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      change();
    });
  }
}

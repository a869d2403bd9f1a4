/** The network of a run, drawn: links by their use, queues at the ports that they wait at. */

import { colour, h, ofScheme, shown, time, widthOf } from "./dom.js";
import type { Frame, Run } from "./run.js";
import type { Network } from "./types.js";

/** The most links that are drawn. */
const MOST_LINKS = 1_200;
const LAYERS = ["host", "edge", "switch", "aggregation", "spine", "core"];

interface Point {
  x: number;
  y: number;
}

/** A place for each node: layers in rows, hosts below their switch. */
function places({ hosts, switches, layers, links }: Network, width: number, height: number): Point[] {
  const edge = new Array<number>(hosts.length).fill(0);
  links.slice(0, hosts.length).forEach(([from, to]) => (edge[from] = to - hosts.length));
  const rank = (layer: string) => (LAYERS.indexOf(layer) + LAYERS.length) % LAYERS.length || 1;
  const ranks = [...new Set(layers.map(rank))].sort((a, b) => a - b);
  const rows = ranks.length + (hosts.length ? 1 : 0);
  const y = (row: number) => height - 26 - ((height - 52) * row) / Math.max(1, rows - 1);
  const spread = (place: number, count: number) => (width * (place + 0.5)) / count;
  const found: Point[] = [];
  const order = hosts.map((_, host) => host).sort((a, b) => (edge[a] ?? 0) - (edge[b] ?? 0) || a - b);
  order.forEach((host, place) => (found[host] = { x: spread(place, hosts.length), y: y(0) }));
  ranks.forEach((own, row) => {
    const members = switches.map((_, number) => number).filter((number) => rank(layers[number] ?? "") === own);
    members.forEach((number, place) => {
      found[hosts.length + number] = { x: spread(place, members.length), y: y(row + 1) };
    });
  });
  return found;
}

export class NetworkView {
  readonly element: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #state: HTMLElement;
  readonly #busiest: HTMLElement;
  readonly #drawn: boolean;
  #width = 0;
  #places: Point[] = [];

  constructor(private readonly run: Run) {
    const { network, label: scheme, number } = run;
    this.#drawn = network.links.length > 0 && network.links.length <= MOST_LINKS;
    this.#canvas = h("canvas", { role: "img", "aria-label": `Network under ${scheme}`, hidden: !this.#drawn });
    this.#state = h("span", { class: "value" });
    this.#busiest = h("ol", { class: "busiest", "aria-label": `Longest queues under ${scheme}` });
    const key = h("span", { class: "key" });
    key.style.background = `var(--scheme-${(number % 6) + 1})`;
    this.element = h(
      "figure",
      { class: "network" },
      h("figcaption", {}, h("span", {}, key, scheme), this.#state),
      this.#canvas,
      this.#drawn ? null : h("p", { class: "hint" }, `${network.host_count} hosts and ${network.link_count} links are too many to draw.`),
      this.#busiest,
    );
  }

  /** Draws a moment of the run. `most` is the backlog that fills a queue's bar, in KB. */
  draw(frame: Frame | undefined, most: number): void {
    const { network } = this.run;
    this.#say(frame);
    const width = widthOf(this.#canvas);
    if (!this.#drawn || width === 0) return;
    const height = network.hosts.length > 60 ? 240 : 210;
    const scale = Math.min(2, window.devicePixelRatio || 1);
    if (this.#canvas.width !== Math.round(width * scale)) {
      this.#canvas.width = Math.round(width * scale);
      this.#canvas.height = Math.round(height * scale);
      this.#canvas.style.height = `${height}px`;
    }
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    if (width !== this.#width) [this.#width, this.#places] = [width, places(network, width, height)];
    const at = this.#places;
    const thin = network.links.length > 200;
    this.#links(context, at, frame, thin);
    if (frame) this.#queues(context, at, frame, most, thin);
    this.#nodes(context, at, thin, width);
  }

  #links(context: CanvasRenderingContext2D, at: Point[], frame: Frame | undefined, thin: boolean): void {
    const [idle, busy, held] = [colour("--idle"), ofScheme(this.run.number), colour("--held")];
    const all = new Path2D();
    const above: (() => void)[] = [];
    this.run.network.links.forEach(([from, to], link) => {
      const [a, b] = [at[from], at[to]];
      if (!a || !b) return;
      const use = frame?.use[link] ?? 0;
      // The two directions of a cable lie side by side.
      const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const [x, y] = [(-(b.y - a.y) / length) * 1.6, ((b.x - a.x) / length) * 1.6];
      const place = (path: Path2D | CanvasRenderingContext2D) => {
        path.moveTo(a.x + x, a.y + y);
        path.lineTo(b.x + x, b.y + y);
      };
      const line = (style: string, width: number, alpha: number, dash: number[]) => () => {
        context.globalAlpha = alpha;
        context.strokeStyle = style;
        context.lineWidth = width;
        context.setLineDash(dash);
        context.beginPath();
        place(context);
        context.stroke();
      };
      place(all);
      if (frame?.held[link]) above.push(line(held, thin ? 1.2 : 2.4, 1, [3, 3]));
      else if (use > 0.005) above.push(line(busy, (thin ? 0.6 : 1) + use * (thin ? 1.2 : 2.2), 0.15 + 0.85 * use, []));
    });
    [context.globalAlpha, context.strokeStyle, context.lineWidth] = [0.8, idle, thin ? 0.6 : 1];
    context.stroke(all);
    for (const draw of above) draw();
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  #queues(context: CanvasRenderingContext2D, at: Point[], frame: Frame, most: number, thin: boolean): void {
    const { hosts, links } = this.run.network;
    context.strokeStyle = colour("--queue");
    context.lineCap = "butt";
    context.lineWidth = thin ? 3 : 7;
    links.slice(hosts.length).forEach(([from, to], port) => {
      const fill = Math.min(1, (frame.queues[port] ?? 0) / most);
      const [a, b] = [at[from], at[to]];
      if (!a || !b || fill < 0.004) return;
      const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const [x, y] = [(b.x - a.x) / length, (b.y - a.y) / length];
      const [start, end] = [thin ? 5 : 11, (thin ? 5 : 11) + fill * Math.min(length * 0.55, 90)];
      context.beginPath();
      context.moveTo(a.x + x * start, a.y + y * start);
      context.lineTo(a.x + x * end, a.y + y * end);
      context.stroke();
    });
  }

  #nodes(context: CanvasRenderingContext2D, at: Point[], thin: boolean, width: number): void {
    const { hosts, switches } = this.run.network;
    const [text, fill, paper] = [colour("--text"), colour("--node"), colour("--paper")];
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.textAlign = "center";
    const names = [...hosts, ...switches];
    at.forEach((point, node) => {
      const isHost = node < hosts.length;
      const size = thin ? (isHost ? 1.6 : 3) : isHost ? 4 : 9;
      context.fillStyle = fill;
      context.strokeStyle = paper;
      context.beginPath();
      if (isHost) context.arc(point.x, point.y, size, 0, 7);
      else context.roundRect(point.x - size, point.y - size * 0.7, size * 2, size * 1.4, 2);
      context.fill();
      const room = width / Math.max(1, hosts.length);
      if (isHost && room > 38) {
        context.fillStyle = text;
        context.fillText(names[node] ?? "", point.x, point.y + 17);
      }
    });
  }

  #say(frame: Frame | undefined): void {
    const { network, label: scheme } = this.run;
    if (!frame) return;
    const ports = network.links.slice(network.hosts.length);
    const name = (node: number) => network.hosts[node] ?? network.switches[node - network.hosts.length] ?? "";
    const order = [...frame.queues.keys()].filter((port) => (frame.queues[port] ?? 0) > 0).sort((a, b) => (frame.queues[b] ?? 0) - (frame.queues[a] ?? 0)).slice(0, 3);
    const busiest = order.map((port) => {
      const [from, to] = ports[port] ?? [0, 0, 0];
      return `${name(from)}->${name(to)} ${shown(frame.queues[port], 3)} KB`;
    });
    const held = frame.held.reduce((sum, one) => sum + one, 0);
    this.#state.textContent = `${time(frame.at_us)} · ${shown(frame.carried, 3)} Gb/s · ${held} links paused · ${shown(frame.drops)} drops`;
    this.#canvas.setAttribute("aria-label", `Network under ${scheme}; longest queues: ${busiest.join(", ") || "none"}`);
    while (this.#busiest.children.length > busiest.length) this.#busiest.lastChild?.remove();
    busiest.forEach((text, place) => {
      const item = this.#busiest.children[place] ?? this.#busiest.appendChild(h("li"));
      if (item.textContent !== text) item.textContent = text;
    });
  }
}

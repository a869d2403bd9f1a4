/** The live figures of the guides, by the name that their text has. */

import { type Mark, QUEUES, distribution, each } from "./charts.js";
import { colour, ofScheme } from "./dom.js";
import { type Knob, type Line, type Live, type Measure, type Plot, type Values } from "./live.js";
import { figure, overTraffic } from "./measures.js";
import type { Run } from "./run.js";

/** A slider that sets one path, its values with a unit. */
function knob(name: string, label: string, path: string, values: string[], start: string): Knob {
  return { name, label, values, start, changes: (value) => [`${path}=${value}`] };
}

const QUEUE: Plot = { title: QUEUES, unit: "KB", x: "time", series: each(({ traces }) => traces.queue, ({ traces }) => traces.least) };
const RTT: Plot = { title: "RTT, mean of each interval", unit: "us", x: "time", series: each(({ traces }) => traces.rtt) };
const CARRIED: Plot = { title: "Carried to hosts, headers included", unit: "Gb/s", x: "time", series: each(({ traces }) => traces.carried) };
const SHARES: Plot = { title: "RTT, share of samples up to it, measured", unit: "", x: "rtt", series: (runs) => runs.map(distribution) };
const microseconds = (text: string | undefined): number => {
  const [, number, unit] = /^([\d.]+)(us|ms)$/.exec(text ?? "") ?? [];
  return Number(number ?? 0) * (unit === "ms" ? 1e3 : 1);
};

/** The RTT with levels across it. */
function levels(...marks: [label: string, value: (values: Values) => string | undefined][]): Plot {
  return { ...RTT, measured: true, marks: (values) => marks.map(([label, value]): Mark => ({ label, y: microseconds(value(values)) })) };
}

const THROUGHPUT: Measure = { name: "throughput_gbps", label: "throughput, Gb/s", value: figure("throughput_gbps") };
const MEAN: Measure = { name: "rtt_mean_us", label: "mean RTT, us", value: figure("rtt_mean_us") };
const P99: Measure = { name: "rtt_p99_us", label: "p99 RTT, us", value: figure("rtt_p99_us") };
const PAUSES: Measure = { name: "pfc_pauses", label: "PFC pauses", value: figure("pfc_pauses") };
const DROPS: Measure = { name: "drops", label: "drops", value: figure("drops") };

const TIMELY: Line = { label: "TIMELY", scheme: "timely" };
const ALONE: Line = { label: "PFC alone", scheme: "line-rate" };

/** What the queue of a run alone would make the RTT. */
function expected(run: Run, { port, delay }: Values): (number | null)[] {
  const rate = Number.parseFloat(port ?? "") * 1e3;
  // Four ways over a link, a packet of 1,500 B stored in the switch and sent to it, and the server's turnaround of 1 us.
  const base = 4 * microseconds(delay) + 1.7;
  return run.traces.waiting.map((queue) => (queue === null ? null : base + (queue * 8e3) / rate));
}

const rtt: Record<string, Live> = {
  "rtt-queue": {
    title: "The RTT, measured by the senders, beside what the queue says",
    scenario: "incast",
    changes: ["run.duration=200ms", "run.warmup=100ms"],
    knobs: [
      knob("port", "Rate of the server's port", "network.star.hosts.1.rate", ["10Gbps", "20Gbps", "40Gbps"], "20Gbps"),
      {
        name: "delay", label: "Propagation of each link", values: ["1us", "2us", "4.5us", "8us"], start: "4.5us",
        changes: (value) => [`network.star.hosts.0.delay=${value}`, `network.star.hosts.1.delay=${value}`],
      },
    ],
    lines: [TIMELY],
    plots: [
      {
        title: "RTT in each interval", unit: "us", x: "time", measured: true,
        series: (runs, values) => runs.flatMap((run) => [
          { label: "base + queue / rate", colour: colour("--queue"), width: 3, alpha: 0.45, x: run.traces.at_us, y: expected(run, values) },
          { label: "measured", colour: ofScheme(run.number), width: 1.2, x: run.traces.at_us, y: run.traces.rtt },
        ]),
      },
      { ...QUEUE, measured: true },
    ],
    caption: "Try another rate of the port, and another length of the links. See: the measured line follows the other one, which is computed from the switch's queue. A faster port turns the same bytes into less RTT; longer links lift both lines, and the queue with them, since TIMELY holds the RTT and not the queue.",
  },
  noise: {
    title: "Noise in the RTT",
    scenario: "port",
    changes: ["run.duration=500ms", "run.warmup=300ms", "signal.kind=rtt+noise"],
    knobs: [
      knob("noise", "Noise, from zero to", "signal.noise", ["0us", "5us", "10us", "20us", "50us", "100us", "200us", "500us"], "100us"),
    ],
    lines: [
      { label: "2 flows", scheme: "timely", changes: () => ["network.star.hosts.0.count=2"] },
      { label: "10 flows", scheme: "timely", changes: () => ["network.star.hosts.0.count=10"] },
    ],
    plots: [CARRIED, { ...RTT, measured: true }],
    table: { measures: [THROUGHPUT, MEAN], source: "The RTT is that of the network, without the noise that is added to what the senders are told." },
    caption: "Try noise from none to 500 us. See: at 100 us a flow has some 500 Mb/s, whether there are two or ten, as the formula says; at 200 us half of that. 20 us cost nothing, and shorten the queue of ten flows.",
  },
  reverse: {
    title: "Congestion on the way of the ACKs",
    scenario: "reverse-path",
    changes: ["run.duration=300ms", "run.warmup=150ms"],
    knobs: [
      {
        name: "priority", label: "ACKs go before data", values: ["no", "yes"], start: "no",
        changes: (value) => [`transport.ack_priority=${value === "yes"}`],
      },
      {
        name: "reverse", label: "Connections of each other host to each of the two", values: ["1", "3", "5"], start: "5",
        changes: (value) => [`traffic.1.connections=${value}`],
      },
    ],
    lines: [TIMELY],
    plots: [],
    table: {
      measures: [
        { name: "met_rtt", label: "clients 0, 1: RTT, us", value: overTraffic.rtt("server", ["client0", "client1"]) },
        { name: "met", label: "a connection, Mb/s", value: overTraffic.rate("server", ["client0", "client1"]) },
        { name: "others_rtt", label: "others: RTT, us", value: overTraffic.rtt("server", ["client2", "client3", "client4", "client5", "client6", "client7", "client8", "client9"]) },
        { name: "others", label: "a connection, Mb/s", value: overTraffic.rate("server", ["client2", "client3", "client4", "client5", "client6", "client7", "client8", "client9"]) },
      ],
      source: "All ten clients send to one server on four connections each. Four other hosts fill the ports of clients 0 and 1, where their ACKs arrive.",
    },
    caption: "Try ACKs that go before data. See: without that, the two clients whose ACKs wait take the wait for congestion, and give their share to the others; with it, all ten are alike again.",
  },
};

const gradient: Record<string, Live> = {
  bands: {
    title: "RTT between the two thresholds",
    scenario: "port",
    changes: [],
    knobs: [
      knob("low", "T_low", "cc.timely.t_low", ["10us", "20us", "50us", "100us", "150us"], "50us"),
      knob("high", "T_high", "cc.timely.t_high", ["150us", "200us", "300us", "500us", "1ms"], "500us"),
      knob("flows", "Senders", "network.star.hosts.0.count", ["2", "5", "10", "20", "40"], "10"),
    ],
    lines: [TIMELY],
    plots: [levels(["T_low", ({ low }) => low], ["T_high", ({ high }) => high]), CARRIED],
    table: { measures: [THROUGHPUT, MEAN, P99, { name: "jain_index", label: "Jain's index", value: figure("jain_index") }], source: "" },
    caption: "Try two senders, then forty. See: the RTT rises with the number of senders, and with forty of them it follows T_high. Try two senders and a T_low of 150 us: below it rates rise whatever the gradient says, so they overshoot, the queue swings, and the port runs empty in between.",
  },
  target: {
    title: "The gradient, and a controller with one target for the RTT",
    scenario: "incast",
    changes: ["run.duration=500ms", "run.warmup=350ms"],
    knobs: [
      { name: "target", label: "T_target of the other controller", values: ["25us", "50us", "75us", "100us", "150us", "200us"], start: "100us", changes: () => [] },
    ],
    lines: [
      { label: "gradient", scheme: "timely", changes: () => ["cc.timely.t_high=150us"] },
      { label: "target", scheme: "timely", changes: ({ target }) => [`cc.timely.t_low=${target}`, `cc.timely.t_high=${target}`] },
    ],
    plots: [
      {
        title: "Rate of one connection", unit: "Gb/s", x: "time", measured: true,
        series: (runs) => runs.map((run) => ({ label: run.label, colour: ofScheme(run.number), width: 1.2, x: run.traces.at_us, y: run.traces.rates[0] ?? [] })),
      },
      { ...RTT, measured: true, marks: ({ target }) => [{ label: "T_target", y: microseconds(target) }] },
    ],
    table: { measures: [THROUGHPUT, MEAN, P99], source: "Ten clients with four connections each; T_high of the gradient is 150 us, the middle of the range that the slides call best." },
    caption: "Try targets from 25 to 200 us. See: at a low one the port is not full. At 150 us it nearly is, at a mean RTT below that of the gradient; but the rates swing, and the p99 is longer.",
  },
  rest: {
    title: "Where two flows come to rest",
    scenario: "two-flows",
    changes: [],
    knobs: [
      {
        name: "start", label: "The flows start at", values: ["5 and 5 Gb/s", "5 Gb/s, and 10 ms later", "7 and 3 Gb/s"], start: "7 and 3 Gb/s",
        changes: (value) => {
          if (value.includes("later")) return ["traffic.1.start=10001us", "traffic.3.start=10ms"];
          if (!value.startsWith("7")) return [];
          return ["network.star.hosts.0.rate=21Gbps", "network.star.hosts.1.rate=21Gbps", "traffic.2.connections=2", "traffic.3.connections=6"];
        },
      },
    ],
    lines: [
      { label: "TIMELY", scheme: "timely", changes: ({ start }) => ["cc.timely.preset=zhu", "cc.timely.hai_n=1", "transport.stream.delayed_ack=64", ...apart("timely", start)] },
      { label: "Patched TIMELY", scheme: "patched-timely", changes: ({ start }) => apart("patched-timely", start) },
    ],
    plots: [
      {
        title: "Rate of the two flows", unit: "Gb/s", x: "time",
        series: (runs) => runs.flatMap((run) => run.traces.rates.slice(0, 2).map((y, flow) => ({
          label: `${run.label} ${flow + 1}`, colour: ofScheme(run.number), width: flow ? 1 : 2, x: run.traces.at_us, y,
        }))),
      },
      QUEUE,
    ],
    caption: "Try the three starts of Zhu et al. See: TIMELY ends in another split after each; its patch brings both flows to 5 Gb/s, and the queue near the 78.1 KB that its fixed point has.",
  },
};

/** Steps are those of 10 Gb/s where faster NICs set the start. */
function apart(scheme: string, start: string | undefined): string[] {
  return start?.startsWith("7") ? [`cc.${scheme}.delta_reference=0bps`] : [];
}

const incast: Record<string, Live> = {
  lossless: {
    title: "An incast: packets are dropped, senders are paused, or queues stay short",
    scenario: "incast",
    changes: ["run.duration=200ms", "run.warmup=150ms"],
    knobs: [
      knob("clients", "Clients", "network.star.hosts.0.count", ["8", "10", "12", "15", "20"], "10"),
      knob("buffer", "Buffer of the switch", "switch.buffer", ["3MB", "6MB", "9MB", "18MB"], "9MB"),
    ],
    lines: [
      { label: "line rate, no PFC", scheme: "line-rate", changes: () => ["switch.pfc.enabled=false"] },
      ALONE,
      TIMELY,
    ],
    plots: [QUEUE, SHARES],
    table: { measures: [THROUGHPUT, P99, DROPS, PAUSES], source: "Drops are those of the whole run, pauses those of the measured time." },
    caption: "Try more clients, and a larger buffer. See: without PFC the queue takes the half of the buffer that one port may have, and the rest is dropped, more than a million packets in 200 ms. With PFC nothing is dropped, senders are paused, and the queue grows with their number, since each of their ports may hold its part. With TIMELY neither happens once the start is over.",
  },
  bystander: {
    title: "A bystander behind a link that is paused",
    scenario: "bystander",
    changes: [],
    knobs: [
      { name: "senders", label: "Senders of the incast", values: ["1", "2", "3", "4", "6", "8"], start: "6", changes: (value) => [`traffic.1.from=host[0-${Number(value) - 1}]`] },
    ],
    lines: [ALONE, TIMELY],
    network: true,
    plots: [
      {
        title: "Rate of the bystander", unit: "Gb/s", x: "time",
        series: each(({ traces }) => traces.rates[0] ?? []),
      },
    ],
    table: {
      measures: [
        { name: "bystander", label: "bystander, Gb/s", value: overTraffic.carried("bystander", 1) },
        { name: "incast", label: "incast, Gb/s", value: overTraffic.carried("incast", 1) },
        PAUSES,
      ],
      source: "The bystander crosses the link between the switches, which has 40 Gb/s, and not the port that is full.",
    },
    caption: "Try one sender, then two, then eight. See: as soon as the port of the incast is full, PFC alone pauses the links between the switches (dashed), and the bystander has what a sender of the incast has, though no port on its way is full by itself. With TIMELY no pause is left after the start, and it has its whole line.",
  },
  "table-1": {
    title: "Table 1 of TIMELY",
    scenario: "incast",
    changes: [],
    knobs: [
      knob("high", "T_high of TIMELY", "cc.timely.t_high", ["60us", "80us", "100us", "150us", "200us", "1ms"], "100us"),
      {
        name: "xoff", label: "PFC pauses at", values: ["100KB", "150KB", "200KB", "300KB", "400KB"], start: "200KB",
        changes: (value) => [`switch.pfc.xoff=${value}`, `switch.pfc.xon_offset=${Number.parseFloat(value) - 10}KB`],
      },
    ],
    lines: [
      { ...TIMELY, published: { throughput_gbps: 19.4, rtt_mean_us: 61, rtt_p99_us: 116 } },
      { ...ALONE, published: { throughput_gbps: 19.5, rtt_mean_us: 658, rtt_p99_us: 1036 } },
      {
        label: "DCTCP", scheme: "dctcp", published: { throughput_gbps: 19.5, rtt_mean_us: 598, rtt_p99_us: 1490 },
        changes: () => ["transport.stream.preset=linux", "switch.ecn_threshold=1.6MB", "switch.pfc.enabled=false"],
      },
    ],
    plots: [SHARES],
    table: { measures: [THROUGHPUT, MEAN, P99], source: "Paper: TIMELY, SIGCOMM 2015, Table 1. Fitted here: PFC's thresholds to its row (200 KB), DCTCP's marking threshold to its row (1.6 MB). Seed 1; incast reproduce timely/table-1 has three." },
    caption: "Try other thresholds of PFC, then a T_high of 60 us. See: the row of PFC alone follows the thresholds, and TIMELY's stays, since it hardly ever meets them; with the lower T_high the RTT falls, and the throughput with it.",
  },
};

const RTCP: Line = { label: "RTCP", scheme: "rtcp" };
const ALPHA = knob("alpha", "alpha", "cc.rtcp.alpha", ["50", "150", "300", "500", "1000", "5000"], "500");
const FLOOR = knob("floor", "Floor of the window, segments", "cc.rtcp.floor", ["2", "4", "8", "16"], "8");
const UNIT = knob("unit", "Unit of the delay D", "cc.rtcp.delay_unit", ["1ms", "5ms", "10ms", "20ms"], "1ms");

const price: Record<string, Live> = {
  tolerated: {
    title: "The delay that the price allows",
    scenario: "tcp-incast",
    changes: ["run.duration=60ms", "run.warmup=30ms", "cc.rtcp.delay_unit=20ms", "cc.rtcp.sender_backlog=ignored"],
    knobs: [ALPHA, { ...FLOOR, start: "2" }, knob("senders", "Senders", "network.star.hosts.0.count", ["2", "5", "10", "20"], "5")],
    lines: [{ label: "NewReno", scheme: "newreno" }, RTCP],
    plots: [RTT, CARRIED],
    table: { measures: [THROUGHPUT, MEAN, P99, DROPS], source: "A queue of 745 KB at 10 Gb/s; D in units of 20 ms, so that alpha has room to act." },
    caption: "Try alpha from 50 to 5000. See: the larger alpha, the dearer each microsecond of delay, and the shorter the RTT, with the port as full as under NewReno; below 300 so much is tolerated that packets are lost. Try a floor of 8: from 1000 on nothing changes any more, since windows rest on it.",
  },
  random: {
    title: "Table I of Regulated TCP: one flow per server to a random other",
    scenario: "rtcp-random-sending",
    changes: ["run.duration=16ms", "run.warmup=8ms"],
    knobs: [FLOOR, UNIT],
    lines: [
      { label: "NewReno", scheme: "newreno", published: { mbps: 4300, delay: 85.4 } },
      { label: "DCTCP", scheme: "dctcp", published: { mbps: 3956, delay: 40.8 } },
      { ...RTCP, published: { mbps: 4362, delay: 14.6 } },
    ],
    plots: [QUEUE],
    table: {
      measures: [
        { name: "mbps", label: "a flow, Mb/s", value: (run) => ((run.finished?.figures["throughput_gbps"] ?? 0) * 1e3) / 96 },
        { name: "delay", label: "mean one-way delay, us", value: figure("delay_mean_us") },
        DROPS,
      ],
      source: "Paper: Huang, Li and Walrand, IFIP 2020, Table I. The floor of 8 is fitted; the paper has none. Shorter than the experiment: 8 ms are measured, with one seed.",
    },
    caption: "Try floors from 2 to 16. See: throughput and delay of RTCP both follow the floor, since its windows rest there at a unit of 1 ms. Try a unit of 20 ms with a floor of 2: now the price decides, and delay is paid for throughput.",
  },
  weights: {
    title: "Urgent messages beside a high-volume flow",
    scenario: "rtcp-preemption",
    changes: ["run.duration=40ms", "run.warmup=10ms"],
    knobs: [FLOOR, UNIT, knob("weight", "Weight of urgent flows", "cc.rtcp.w_urgent", ["12000", "24000", "96000"], "24000")],
    lines: [{ label: "NewReno", scheme: "newreno" }, { label: "DCTCP", scheme: "dctcp" }, RTCP],
    plots: [SHARES],
    table: {
      measures: [
        { name: "urgent", label: "urgent: mean delay, us", value: overTraffic.delay("urgent") },
        { name: "high", label: "high-volume: mean delay, us", value: overTraffic.delay("high-volume") },
        { name: "rate", label: "high-volume: a flow, Gb/s", value: overTraffic.carried("high-volume", 2) },
      ],
      source: "Published in words: RTCP's mean delays are 31.5 % (urgent) and 35.6 % (high-volume) of DCTCP's, and the high-volume flow has 7 % less throughput than with NewReno.",
    },
    caption: "Try other floors. See: a smaller window of the high-volume flow is a shorter queue in its host, in which urgent messages wait, too; its throughput is the price. Try a floor of 2 and a unit of 20 ms: now the law has room, and delays stay short at three quarters of the throughput and more. Try other weights: they change little, since it is the high-volume flow that makes the queue.",
  },
};

export const FIGURES: Record<string, Live> = { ...rtt, ...gradient, ...incast, ...price };

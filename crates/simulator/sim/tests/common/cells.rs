//! Cells of a grid of networks: one scheme on one transport, and flows into one port with a rate,
//! an RTT and a queue. A cell is judged by the throughput of its flows after the time that the
//! algorithm's page states.

use std::fmt;

use incast_cc::param::Need;
use incast_cc::{AnyAlgorithm, Bytes, Rate, Span};
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

/// The least share of its fair rate that a flow may get.
const STARVES_BELOW: f64 = 0.05;

/// The transport of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Messages in segments of this many bytes.
    Message(u64),
    /// Streams.
    Stream,
}

/// A network with its scheme and flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) scheme: &'static str,
    pub(crate) preset: &'static str,
    pub(crate) carrier: Carrier,
    pub(crate) flows: u32,
    /// The rate of the receiver's port.
    pub(crate) rate: Rate,
    /// The rate of a sender's port, in multiples of the receiver's.
    pub(crate) speedup: u64,
    /// The propagation delay of a round trip.
    pub(crate) rtt: Span,
    /// The limit of the queue at the receiver's port, in bytes; none where PFC bounds it.
    pub(crate) queue: Option<u64>,
    pub(crate) mtu: u64,
    pub(crate) seed: u64,
}

/// The time after which a flow alone has half of an idle link for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claim {
    /// Round trips.
    rtts: f64,
    /// Round trips for each packet of the bandwidth-delay product.
    rtts_per_packet: f64,
    /// Seconds of timers.
    seconds: f64,
}

/// The outcome of a cell.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The scenario is not allowed, for this reason.
    Refused(String),
    /// The run would take this many packets.
    TooLong(f64),
    /// The throughput as a share of the port, and the least flow's share of its fair rate.
    Ran { carried: f64, least: f64, from_s: f64, until_s: f64 },
}

impl Claim {
    /// The claim on a page of `docs/algorithms`.
    pub(crate) fn on(page: &str) -> Option<Self> {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, rest) = page.split_once("Half of an idle link, for good, after ")?;
        let (rtts, rest) = rest.split_once(" RTTs, ")?;
        let (rtts_per_packet, rest) = rest.split_once(" RTTs per packet on the way, and ")?;
        let (ms, _) = rest.split_once(" ms, or the scenario warns")?;
        Some(Self {
            rtts: rtts.parse().ok()?,
            rtts_per_packet: rtts_per_packet.parse().ok()?,
            seconds: ms.parse::<f64>().ok()? / 1e3,
        })
    }

    /// The claim on the page of an algorithm.
    pub(crate) fn of(scheme: &str) -> Self {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/algorithms");
        let page = std::fs::read_to_string(format!("{pages}/{scheme}.md")).unwrap_or_default();
        let line = "Half of an idle link, for good, after N RTTs, M RTTs per packet on the way, and K ms, or \
                    the scenario warns";
        Self::on(&page).unwrap_or_else(|| panic!("{pages}/{scheme}.md does not say: {line}"))
    }

    /// The time in seconds, where a round trip takes `rtt`.
    fn time(self, cell: &Cell, rtt: f64) -> f64 {
        self.seconds + rtt * (self.rtts + self.rtts_per_packet * cell.product())
    }
}

impl Verdict {
    /// Whether a flow has less than its claim.
    pub(crate) fn starves(&self) -> bool {
        matches!(self, Self::Ran { carried, least, .. } if *carried < 0.5 || *least < STARVES_BELOW)
    }
}

impl Cell {
    /// The scheme's name in a scenario.
    pub(crate) fn name(&self) -> String {
        match self.preset {
            "" => self.scheme.to_owned(),
            preset => format!("{}:{preset}", self.scheme),
        }
    }

    pub(crate) fn needs(&self, need: Need) -> bool {
        let Some(mut algorithm) = AnyAlgorithm::named(self.scheme) else { return false };
        let known = self.preset.is_empty() || algorithm.apply_preset(self.preset).is_ok();
        known && algorithm.needs().contains(&need)
    }

    /// The table of the language in which ports answer the algorithm, if it needs one.
    fn feedback(&self) -> String {
        let Some(algorithm) = AnyAlgorithm::named(self.scheme) else { return String::new() };
        let kind = algorithm.needs().iter().find_map(|need| match need {
            Need::Feedback(kind) => Some(kind),
            _ => None,
        });
        kind.map_or_else(String::new, |kind| format!("[switch.feedback.{kind}]\n\n"))
    }

    /// The bytes that one ACK covers.
    fn unit(&self) -> u64 {
        match self.carrier {
            Carrier::Message(segment) => segment,
            Carrier::Stream => self.mtu,
        }
    }

    /// The RTT of a segment without queues.
    fn base_rtt(&self) -> Span {
        let time = |bytes| self.rate.time_for(Bytes::new(bytes));
        self.rtt + time(self.unit()) + time(self.mtu) + time(128) + Span::from_us(1)
    }

    /// The bandwidth-delay product, in bytes.
    pub(crate) fn bytes_on_the_way(&self) -> f64 {
        self.rate.as_bps() as f64 / 8.0 * self.base_rtt().as_secs_f64()
    }

    /// The bandwidth-delay product, in packets.
    fn product(&self) -> f64 {
        self.bytes_on_the_way() / self.mtu as f64
    }

    /// The payload that the port carries, in bits per second.
    fn capacity(&self) -> f64 {
        self.rate.as_bps() as f64 * (self.mtu - 40) as f64 / self.mtu as f64
    }

    /// The text of its scenario.
    pub(crate) fn toml(&self, seconds: f64) -> String {
        let Self { flows, rate, mtu, .. } = self;
        let on_the_way = self.bytes_on_the_way();
        let (kind, segment) = match self.carrier {
            Carrier::Message(segment) => ("message", segment),
            Carrier::Stream => ("stream", 64_000),
        };
        // Three segments, which bursts need, and a fifth of the product, as DCTCP's authors have
        // it.
        let room = self.queue.map_or(f64::MAX, |queue| queue as f64 / 2.0);
        let threshold = (on_the_way / 5.0).max(3.0 * self.unit() as f64).min(room);
        let marks = self.needs(Need::Ecn) || self.needs(Need::Notifications);
        let marks =
            if marks { format!("ecn_threshold = \"{threshold:.0}B\"\n") } else { String::new() };
        let limit = self.queue.map(|queue| format!("queue_limit = \"{queue}B\"\n"));
        let marks = if self.needs(Need::PhantomQueue) {
            // A virtual queue has no room that could be too small.
            let threshold = (on_the_way / 5.0).max(3.0 * self.unit() as f64);
            format!("aqm = {{ kind = \"phantom\", threshold = \"{threshold:.0}B\" }}\n")
        } else {
            marks
        };
        let feedback = self.feedback();
        format!(
            "title = \"a cell\"\n\n\
             [run]\nduration = \"{us:.0}us\"\nschemes = [\"{name}\"]\nseed = {seed}\n\n\
             [[network.star.hosts]]\nname = \"sender\"\ncount = {flows}\nrate = \"{sender}\"\n\
             delay = \"{delay}\"\n\n\
             [[network.star.hosts]]\nname = \"receiver\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\n\
             [switch]\nbuffer = \"{buffer:.0}B\"\n{limit}{marks}telemetry = {telemetry}\n\n\
             {feedback}[switch.pfc]\nenabled = {pfc}\n\n\
             [transport]\nkind = \"{kind}\"\nsegment = \"{segment}B\"\nmtu = \"{mtu}B\"\n\n\
             [transport.stream]\nsend_buffer = \"{window:.0}B\"\nreceive_buffer = \"{window:.0}B\"\n\n\
             [[traffic]]\nkind = \"connections\"\nfrom = \"sender\"\nto = \"receiver\"\nstart_spread = \"{spread}\"\n",
            us = (seconds * 1e6).ceil().max(2.0),
            name = self.name(),
            seed = self.seed,
            sender = Rate::from_bps(rate.as_bps() * self.speedup),
            delay = Span::from_ps((self.rtt.as_ps() / 4).max(1_000)),
            buffer = self.buffer(),
            limit = limit.unwrap_or_default(),
            telemetry = self.needs(Need::Telemetry),
            pfc = self.queue.is_none(),
            window = (8.0 * on_the_way).clamp(4e6, 9e14),
            spread = if *flows > 1 { self.base_rtt() } else { Span::ZERO },
        )
    }

    /// The buffer: the largest allowed, or with PFC the headroom and two RTTs, or four segments of
    /// each flow.
    fn buffer(&self) -> f64 {
        if self.queue.is_some() {
            return 4.2e9;
        }
        let flows = f64::from(self.flows);
        let headroom = self.rate.as_bps() as f64 / 8.0 * self.rtt.as_secs_f64() / 2.0;
        let headroom = headroom * (flows * self.speedup as f64 + 1.0)
            + (flows + 1.0) * (4.0 * self.mtu as f64 + 100.0);
        let shared = (2.0 * self.bytes_on_the_way()).max(4.0 * flows * self.unit() as f64);
        (headroom + 8.0 * shared.max(100.0 * self.mtu as f64)).min(4.2e9)
    }

    /// The warnings of the scenario but for missing deadlines, or the reason why it is refused.
    pub(crate) fn warnings(&self) -> Result<Vec<String>, String> {
        let document = self.document(1.0)?;
        let scenario = document.scenario();
        let scheme = scenario.scheme(&self.name()).map_err(|error| error.to_string())?;
        let mut warnings = incast_sim::warnings(scenario, &self.name(), &scheme);
        // A scheme without deadlines shares the port like any other.
        warnings.retain(|sentence| !sentence.contains("needs deadlines"));
        Ok(warnings)
    }

    fn document(&self, seconds: f64) -> Result<Document, String> {
        Document::parse(self.toml(seconds), "cell.toml").map_err(|error| error.to_string())
    }

    /// The begin and the end of measuring, in seconds. Many flows take turns at the port, which
    /// takes time, and the cost of their losses comes and goes with timeouts of 4 ms.
    pub(crate) fn measured(&self, claim: Claim) -> (f64, f64) {
        let rtt = self.base_rtt().as_secs_f64();
        let turn = f64::from(self.flows) * self.unit() as f64 * 8.0 / self.rate.as_bps() as f64;
        let (mut from, mut window) = (claim.time(self, rtt), (4.0 * rtt).max(32.0 * turn));
        if self.flows == 1 && self.speedup > 1 {
            // Slow start fills the queue before it finds a loss, and after a timeout once more.
            // Queues of more than ten products lose nothing.
            let queue = self.queue.unwrap_or(0) as f64;
            if queue <= 10.0 * self.bytes_on_the_way() {
                from += 5.0 * self.full_queue();
            }
        }
        if self.flows > 1 {
            let full = rtt + self.full_queue();
            from = claim.time(self, rtt.max(turn)).max(20.0 * full) + 20.0 * turn + 0.1;
            window = (40.0 * full).max(300.0 * turn).max(0.5);
            if self.scheme == "cubic" {
                // The time in which a window grows to the whole product (RFC 9438, equation 2).
                window = window.max(2.0 * libm::cbrt(self.product() * 0.3 / 0.4));
            }
        }
        (from, from + window.max(from / 2.0))
    }

    /// Seconds that the port takes to send a full queue; zero where PFC bounds it.
    fn full_queue(&self) -> f64 {
        self.queue.unwrap_or(0) as f64 * 8.0 / self.rate.as_bps() as f64
    }

    /// Packets that the port carries until it is judged.
    pub(crate) fn packets(&self, claim: Claim) -> f64 {
        self.measured(claim).1 * self.rate.as_bps() as f64 / 8.0 / self.mtu as f64
    }

    /// Runs the cell, unless it takes more packets than `most`, or `ends` says that time is up.
    pub(crate) fn run(&self, claim: Claim, most: f64, ends: &dyn Fn() -> bool) -> Verdict {
        let (from_s, until_s) = self.measured(claim);
        let packets = self.packets(claim);
        if packets > most {
            return Verdict::TooLong(packets);
        }
        if until_s > 1_000.0 {
            return Verdict::Refused("longer than the longest run".into());
        }
        let document = match self.document(until_s) {
            Ok(document) => document,
            Err(error) => return Verdict::Refused(error),
        };
        let traces = TraceConfig::default();
        let mut run = Simulation::new(document.scenario(), &self.name(), self.seed, traces)
            .unwrap_or_else(|error| panic!("{error}"));
        let now = |run: &Simulation| run.simulated().as_secs_f64();
        let delivered = |run: &mut Simulation| {
            (0..run.flows()).map(|flow| run.delivered(flow).get()).collect::<Vec<_>>()
        };
        let mut more = true;
        while more && now(&run) < from_s && !ends() {
            more = run.advance((run.events() / 100).clamp(16, 1 << 14));
        }
        let (from_s, before) = (now(&run), delivered(&mut run));
        while run.advance(1 << 16) {
            if ends() {
                return Verdict::Refused("out of time".into());
            }
        }
        let (until_s, after) = (now(&run), delivered(&mut run));
        let fair = self.capacity() * (until_s - from_s) / 8.0 / f64::from(self.flows);
        let shares =
            after.iter().zip(&before).map(|(after, before)| (after - before) as f64 / fair);
        let shares: Vec<f64> = shares.collect();
        let carried = shares.iter().sum::<f64>() / shares.len() as f64;
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        Verdict::Ran { carried, least, from_s, until_s }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flows, rate, speedup, rtt, mtu, .. } = self;
        let carrier = match self.carrier {
            Carrier::Message(segment) => format!("messages of {}", Bytes::new(segment)),
            Carrier::Stream => "streams".into(),
        };
        write!(
            f,
            "{} on {carrier}, {flows} flow(s), {rate} (NICs {speedup} times), RTT {rtt}, ",
            self.name()
        )?;
        match self.queue {
            Some(queue) => write!(f, "queue {}, MTU {mtu}B", Bytes::new(queue)),
            None => write!(f, "PFC, MTU {mtu}B"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::TooLong(packets) => write!(f, "too long: {packets:.0} packets"),
            Self::Ran { carried, least, from_s, until_s } => write!(
                f,
                "carries {:.1} % of the port from {from_s:.6} to {until_s:.6} s, the least flow {:.1} % of its share",
                carried * 100.0,
                least * 100.0
            ),
        }
    }
}

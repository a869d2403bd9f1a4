//! Fast hosts that send messages into one slower port with a queue of 1 MB, without PFC. Their RTTs
//! are by the stamps of a kernel.

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, TraceConfig};

/// The rate of the hosts' NICs, in Gb/s.
pub(crate) const LINE_GBPS: u32 = 40;
/// The share of a link's rate that full packets leave to payload.
const PAYLOAD_SHARE: f64 = 1_460.0 / 1_500.0;

/// Senders into one port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bottleneck<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) flows: u32,
    /// The rate of the port.
    pub(crate) mbps: u32,
    /// The propagation delay of a round trip.
    pub(crate) rtt_us: u32,
    /// The length of a run, and the start of measuring.
    pub(crate) ms: (u32, u32),
    /// Assignments that change the scenario.
    pub(crate) set: &'a [&'a str],
    /// More of the scenario, in TOML.
    pub(crate) more: &'a str,
}

/// The figures of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// The goodput over what the port can carry of payload.
    pub(crate) goodput: f64,
    /// The median of the backlog, over measured time.
    pub(crate) p50_kb: f64,
    /// Its 99th percentile.
    pub(crate) p99_kb: f64,
    /// Jain's index of the goodputs.
    pub(crate) jain: f64,
    /// Packets that were dropped, over the whole run.
    pub(crate) drops: u64,
}

impl Bottleneck<'_> {
    fn document(&self) -> Document {
        let Self { flows, mbps, rtt_us, ms: (until, from), more, .. } = *self;
        let delay = rtt_us * 1_000 / 4;
        let text = format!(
            r#"
            title = "fast hosts into a slower port"
            [run]
            duration = "{until}ms"
            warmup = "{from}ms"
            interval = "10ms"
            schemes = ["timely"]
            [[network.star.hosts]]
            name = "sender"
            count = {flows}
            rate = "{LINE_GBPS}Gbps"
            delay = "{delay}ns"
            [[network.star.hosts]]
            name = "receiver"
            rate = "{mbps}Mbps"
            delay = "{delay}ns"
            [switch]
            queue_limit = "1MB"
            [signal]
            kind = "kernel-timestamps"
            [[traffic]]
            kind = "connections"
            from = "sender"
            to = "receiver"
            start_spread = "1ms"
            {more}
            "#
        );
        let parsed = Document::parse(text, "bottleneck.toml");
        let changed = parsed.and_then(|document| document.with_set(self.set));
        changed.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn report(&self) -> Report {
        let document = self.document();
        let scenario = document.scenario();
        let simulation = Simulation::new(scenario, self.scheme, 1, TraceConfig::default());
        let mut simulation = simulation.unwrap_or_else(|error| panic!("{error}"));
        while simulation.advance(1 << 16) {}
        simulation.finish()
    }

    pub(crate) fn run(&self) -> Figures {
        let report = self.report();
        Figures {
            goodput: report.summary.throughput_gbps * 1e3 / f64::from(self.mbps) / PAYLOAD_SHARE,
            p50_kb: report.queue_p50_kb,
            p99_kb: report.summary.queue_p99_kb,
            jain: report.summary.jain_index,
            drops: report.summary.drops,
        }
    }
}

//! HULL: DCTCP on marks of phantom queues, with a pacer for flows that are marked.
//!
//! Alizadeh, Kabbani, Edsall, Prabhakar, Vahdat and Yasuda, "Less is More: Trading a little
//! Bandwidth for Ultra-Low Latency in the Data Center", NSDI 2012. Phantom queues mark before there
//! is a queue. A flow whose ACKs bring marks is tied to a pacer with some probability, so that its
//! bursts do not make the phantom queue mark for nothing. `docs/algorithms/hull.md` has the
//! equations, what is assumed, and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Demand, Flow, Limits, Loss, Pacing, Reads, Spurious,
};
use crate::dctcp::{Dctcp, DctcpControl};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::parts::Random;
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{configurable_by_name, parameters};

parameters! {
    /// HULL's parameters. The default is the preset `nsdi12`, for 10 Gb/s.
    pub struct Hull {
        /// Weight of the newest window's fraction of marked bytes in DCTCP's estimate.
        pub g: Fraction = Fraction::from_ratio(1, 16), in "0.000001" to "1", source "RFC 8257";
        /// DCTCP's estimate of a new flow.
        pub initial_alpha: Fraction = Fraction::ONE, in "0" to "1", source "RFC 8257";
        /// The probability that a marked ACK ties its flow to the pacer; at 0 nothing is paced.
        pub tie: Fraction = Fraction::from_ratio(1, 8), in "0" to "1",
            source "the scripts of PIAS's ns-2";
        /// The time after which a flow is untied.
        pub untie: Span = Span::from_ms(1), in "1us" to "10s", source "the scripts of PIAS's ns-2";
        /// The interval of the pacer's updates.
        pub interval: Span = Span::from_ns(7_200), in "1us" to "1s",
            source "the scripts of PIAS's ns-2";
        /// Weight of the newest measured rate.
        pub gain: Fraction = Fraction::from_ratio(1, 8), in "0" to "1",
            source "the scripts of PIAS's ns-2";
        /// The rate in b/s that an update adds for each byte of backlog.
        pub backlog: u32 = 3_000, in "0" to "1000000", source "the scripts of PIAS's ns-2";
        /// The least rate of the pacer, as a share of the link's.
        pub least: Fraction = Fraction::from_ratio(1, 100), in "0.000001" to "1",
            source "the scripts of PIAS's ns-2";
        /// The token bucket: the most that leaves at once from the pacer.
        pub bucket: Bytes = Bytes::new(3_100), in "1B" to "1MB",
            source "the scripts of PIAS's ns-2";
    }
}

impl Algorithm for Hull {
    type Control = HullControl;
    const NAME: &'static str = "hull";

    fn start(&self, flow: &Flow) -> HullControl {
        let dctcp = Dctcp { g: self.g, initial_alpha: self.initial_alpha };
        let line = flow.line_rate.as_bps() as f64;
        HullControl {
            dctcp: dctcp.start(flow),
            mss: flow.mss,
            random: Random::new(flow.seed),
            tied_until: None,
            pacer: Pacer {
                rate: line,
                arrived: 0.0,
                updated: flow.now,
                least: self.least.as_f64() * line,
                line,
                interval: self.interval,
                gain: self.gain.as_f64(),
                backlog: f64::from(self.backlog),
            },
            tie: self.tie.as_f64(),
            untie: self.untie,
            bucket: self.bucket,
        }
    }
}

impl Configurable for Hull {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is DCTCP's on marks of phantom queues, and marked flows are paced",
        kind: Kind::Window,
        signal: "ECN marks of phantom queues",
        needs: &[Need::Ecn, Need::PhantomQueue],
        transport: Transport::Stream,
        source: "Alizadeh et al., NSDI 2012",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "nsdi12",
            source: "the scripts of PIAS's ns-2 (HKUST-SING/PIAS), for 10 Gb/s",
            values: &[],
        },
        Preset {
            name: "nsdi12-1g",
            source: "the scripts of PIAS's ns-2 (HKUST-SING/PIAS), for 1 Gb/s",
            values: &[("interval", "64us"), ("backlog", "122"), ("untie", "10ms")],
        },
        Preset { name: "unpaced", source: "this project", values: &[("tie", "0")] },
    ];
    configurable_by_name!();

    fn burst_varies(&self) -> bool {
        true
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_window(PathFacts::LEAST_PACKETS, emit);
        path.window_of_segments(emit);
    }
}

/// The pacer of one flow. Rates are in b/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pacer {
    /// R: the rate at which it sends.
    rate: f64,
    /// M: the bytes that have come to the pacer since the last update.
    arrived: f64,
    updated: Time,
    least: f64,
    line: f64,
    interval: Span,
    gain: f64,
    backlog: f64,
}

/// The most updates that one ACK catches up on. More of them only repeat a bound.
const MOST_UPDATES: u64 = 256;

impl Pacer {
    /// Catches up on updates: R = (1 - gain) R + gain M / T + backlog Q, with Q bytes waiting.
    fn catch_up(&mut self, now: Time, queued: f64) {
        let due = now.since(self.updated).as_ps() / self.interval.as_ps().max(1);
        for _ in 0..due.min(MOST_UPDATES) {
            let measured = self.arrived * 8.0 / self.interval.as_secs_f64();
            let rate = (1.0 - self.gain) * self.rate + self.gain * measured;
            self.rate = (rate + self.backlog * queued).clamp(self.least, self.line);
            self.arrived = 0.0;
        }
        self.updated += self.interval * due;
    }
}

/// A flow under HULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HullControl {
    dctcp: DctcpControl,
    mss: Bytes,
    random: Random,
    /// The end of the flow's time at the pacer, while it is tied.
    tied_until: Option<Time>,
    pacer: Pacer,
    tie: f64,
    untie: Span,
    bucket: Bytes,
}

impl HullControl {
    fn untie_if_due(&mut self, now: Time) {
        self.tied_until = self.tied_until.filter(|&until| until > now);
    }
}

impl CongestionControl for HullControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let before = self.dctcp.window.cwnd();
        self.dctcp.on_ack(ack);
        let cwnd = self.dctcp.window.cwnd();
        // The window lets out what was acknowledged, and what it has grown by.
        self.pacer.arrived += (ack.bytes.get() + cwnd.saturating_sub(before)) as f64;
        let in_flight = ack.in_flight.get();
        let unsent = ack.remaining.map_or(u64::MAX, Bytes::get).saturating_sub(in_flight);
        let queued = cwnd.saturating_sub(in_flight).min(unsent) as f64;
        self.pacer.catch_up(ack.now, if self.tied_until.is_some() { queued } else { 0.0 });
        self.untie_if_due(ack.now);
        let marked = !ack.ce_bytes.is_zero() && self.tied_until.is_none();
        if marked && self.random.fraction() < self.tie {
            self.tied_until = Some(ack.now + self.untie);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.dctcp.on_loss(loss);
    }

    fn on_demand(&mut self, demand: &Demand) {
        self.dctcp.on_demand(demand);
    }

    /// The flow leaves the pacer in time: an ACK may be long in coming where the pacer is slow.
    fn on_timer(&mut self, now: Time) {
        self.untie_if_due(now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.tied_until
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        self.dctcp.on_restart(now, idle);
    }

    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.dctcp.on_spurious_loss(spurious);
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
        self.dctcp.on_mss_change(mss);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and at most line rate"
    )]
    fn limits(&self) -> Limits {
        let limits = self.dctcp.limits();
        if self.tied_until.is_none() {
            return limits;
        }
        let rate = Rate::from_bps((self.pacer.rate as u64).max(1));
        let burst = Burst { bytes: self.bucket.max(self.mss), rate: Rate::MAX };
        Limits { pacing: Pacing::Rate(rate), burst, ..limits }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.dctcp.gauges(emit);
        emit("tied", f64::from(u8::from(self.tied_until.is_some())));
        emit("pacer_gbps", self.pacer.rate / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn start(params: Hull) -> HullControl {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(100));
        params.start(&flow)
    }

    fn ack(control: &mut HullControl, at: u64, bytes: u64, marked: u64) {
        let mut ack = Ack::new(us(at), us(0), Bytes::new(bytes));
        (ack.end, ack.next) = (Bytes::new(at + 1), Bytes::new(at + 1_000_000));
        (ack.ce_bytes, ack.in_flight) = (Bytes::new(marked), Bytes::from_kb(500));
        control.on_ack(&ack);
    }

    #[test]
    fn the_rate_follows_what_comes_and_what_waits() {
        let mut pacer = start(Hull { interval: Span::from_us(10), ..Hull::default() }).pacer;
        (pacer.rate, pacer.arrived) = (4e9, 2_500.0);
        // 2,500 B in 10 us are 2 Gb/s, and 3,000 b/s for each of 10,000 B are 30 Mb/s:
        // 7/8 * 4 + 1/8 * 2 + 0.03 = 3.78 Gb/s.
        pacer.catch_up(us(10), 10_000.0);
        assert!((pacer.rate - 3.78e9).abs() < 1.0, "{}", pacer.rate);
        // Nothing comes and nothing waits: each of two updates leaves 7/8 of the rate.
        pacer.catch_up(us(30), 0.0);
        assert!((pacer.rate - 3.78e9 * 49.0 / 64.0).abs() < 1.0, "{}", pacer.rate);
        pacer.catch_up(us(1_000_000), 0.0);
        assert!((pacer.rate - 1e8).abs() < 1e5, "a hundredth of the link");
    }

    #[test]
    fn a_mark_ties_the_flow_for_a_while() {
        let mut control = start(Hull { tie: Fraction::ONE, ..Hull::default() });
        ack(&mut control, 100, 1_000, 0);
        assert_eq!(control.limits().pacing, Pacing::Unpaced);
        ack(&mut control, 200, 1_000, 1_000);
        assert!(matches!(control.limits().pacing, Pacing::Rate(_)));
        assert_eq!(control.limits().burst.bytes, Bytes::new(3_100));
        ack(&mut control, 1_199, 1_000, 0);
        assert!(matches!(control.limits().pacing, Pacing::Rate(_)));
        ack(&mut control, 1_200, 1_000, 0);
        assert_eq!(control.limits().pacing, Pacing::Unpaced);
    }

    #[test]
    fn the_pacer_lets_go_without_an_ack() {
        let mut control = start(Hull { tie: Fraction::ONE, ..Hull::default() });
        assert_eq!(control.next_timer(), None);
        ack(&mut control, 200, 1_000, 1_000);
        assert_eq!(control.next_timer(), Some(us(1_200)));
        control.on_timer(us(1_200));
        assert_eq!((control.limits().pacing, control.next_timer()), (Pacing::Unpaced, None));
    }

    #[test]
    fn one_mark_in_eight_ties() {
        let tied = (0..8_000).filter(|&seed| {
            let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
            flow.seed = seed;
            let mut control = Hull::default().start(&flow);
            ack(&mut control, 100, 1_000, 1_000);
            control.tied_until.is_some()
        });
        let count = tied.count();
        assert!((900..1_100).contains(&count), "{count} of 8,000; 1,000 is the mean");
    }

    #[test]
    fn the_window_is_that_of_dctcp() {
        let mut control = start(Hull::default());
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(100));
        let mut dctcp = Dctcp::default().start(&flow);
        for at in 1..200 {
            let marked = if at % 7 == 0 { 1_000 } else { 0 };
            ack(&mut control, at, 1_000, marked);
            let mut told = Ack::new(us(at), us(0), Bytes::new(1_000));
            (told.end, told.next) = (Bytes::new(at + 1), Bytes::new(at + 1_000_000));
            told.ce_bytes = Bytes::new(marked);
            dctcp.on_ack(&told);
            assert_eq!(control.limits().cwnd, dctcp.limits().cwnd);
        }
    }
}

//! BBR, version 1: the rate follows the bottleneck's bandwidth, the window is two bandwidth-delay
//! products.
//!
//! Cardwell, Cheng, Gunn, Hassas Yeganeh and Jacobson, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 2016, and draft-cardwell-iccrg-bbr-congestion-control-00. Two numbers model the path:
//! the bottleneck bandwidth, the largest delivery rate of the last ten rounds, and the round-trip
//! propagation time, the least RTT of the last ten seconds. They cannot be measured at once, so the
//! flow cycles. It paces a quarter above the bandwidth for a round to find more, a quarter below to
//! drain the queue of that round, then six rounds at the bandwidth. Once in ten seconds it empties
//! the path to measure the RTT. Loss and ECN marks do not change the model; losses only hold the
//! window while they are repaired. `docs/algorithms/bbr.md` has the equations, the sources of the
//! constants, and the departures.
//!
//! RTTs are whole samples ([`RttSample::total`](crate::RttSample)): the window must also cover the
//! time that data spends in its sender's NIC.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Delivery, Flow, Limits, Loss, LossCause, Pacing,
    Reads, Sent, Spurious,
};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{MinFilter, Random, Switch};
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{configurable_by_name, parameters, words};

/// Shorthand of the parameter sources.
macro_rules! src {
    (linux) => {
        "Linux tcp_bbr.c and draft-cardwell-iccrg-bbr-congestion-control-00"
    };
    (prime) => {
        "Linux tcp_bbr.c; BBR' (mark-claypool/bbr) differs"
    };
    (probing) => {
        "draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c and ns-3 have 2"
    };
    (aggregated) => {
        "draft-cardwell-iccrg-bbr-congestion-control-00; ns-3 has 2, Linux what it measures"
    };
}

parameters! {
    /// BBR's parameters. The default is the preset `linux`.
    pub struct Bbr {
        /// Gain of pacing and window in Startup, 2 / ln 2: the least that doubles the rate each
        /// round. Drain paces at its inverse.
        pub startup_gain: Fraction = Fraction::from_ratio(2_885, 1_000), in "1.1" to "10",
            source src!(linux);
        /// Gain of the window in ProbeBW.
        pub window_gain: Fraction = Fraction::from_ratio(2, 1), in "1" to "10", source src!(linux);
        /// How far the first phase of a cycle paces above the bandwidth, and the second below.
        pub probe: Fraction = Fraction::from_ratio(1, 4), in "0" to "0.9", source src!(linux);
        /// Rounds that the bandwidth filter remembers.
        pub bandwidth_window: u32 = 10, in "1" to "1000", source src!(linux);
        /// For how long the least RTT is believed before ProbeRTT looks for it.
        pub rtt_window: Span = Span::from_secs(10), in "1us" to "100s", source src!(linux);
        /// How long ProbeRTT holds the least window.
        pub probe_rtt: Span = Span::from_ms(200), in "0ns" to "10s", source src!(linux);
        /// The least window, in packets, which ProbeRTT keeps.
        pub min_packets: u32 = 4, in "1" to "1000", source src!(linux);
        /// The packet that `min_packets` counts; 0B is the flow's MSS.
        pub packet: Bytes = Bytes::ZERO, in "0B" to "64KB", source src!(prime);
        /// The pipe is full when the bandwidth has not grown by this factor ...
        pub full_growth: Fraction = Fraction::from_ratio(5, 4), in "1" to "10", source src!(linux);
        /// ... for so many rounds.
        pub full_rounds: u32 = 3, in "1" to "100", source src!(linux);
        /// How far below the model's the pacing rate stays.
        pub pacing_margin: Fraction = Fraction::from_ratio(1, 100), in "0" to "0.9",
            source src!(prime);
        /// When it does.
        pub margin_on: MarginOn = MarginOn::Always, source src!(prime);
        /// Bursts of the carrier that windows allow beyond the product, for what waits in the
        /// hosts.
        pub spare_bursts: u32 = 3, in "0" to "100", source src!(prime);
        /// Packets that windows allow beyond product and spare bursts in the first phase of a
        /// cycle: without them a flow that its window limits cannot send more than before.
        pub probe_packets: u32 = 0, in "0" to "100", source src!(probing);
        /// Packets that the window allows beyond product and spare bursts once the pipe is full,
        /// for ACKs that come together.
        pub aggregated_packets: u32 = 0, in "0" to "100", source src!(aggregated);
        /// The bandwidth before the first sample; at 0bps the initial window over the RTT.
        pub initial_bandwidth: Rate = Rate::ZERO, in "0bps" to "1Tbps", source src!(prime);
        /// The RTT before the first sample, where the operator knows none.
        pub initial_rtt: Span = Span::from_ms(1), in "1us" to "1s", source src!(linux);
        /// Whether the RTT of the handshake is the first one to be believed.
        pub handshake_rtt: Switch = Switch::On, source src!(prime);
    }
}

words! {
    /// The times at which the pacing margin applies.
    pub enum MarginOn {
        /// Always.
        Always = "always",
        /// While pacing at the bandwidth, not above or below it.
        Cruise = "cruise",
    }
}

impl Algorithm for Bbr {
    type Control = BbrControl;
    const NAME: &'static str = "bbr";

    fn start(&self, flow: &Flow) -> BbrControl {
        BbrControl::new(self, flow)
    }
}

impl Configurable for Bbr {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate is the measured bandwidth of the bottleneck, the window two products",
        kind: Kind::Rate,
        signal: "delivery rate and least RTT",
        needs: &[],
        transport: Transport::Stream,
        source: "Cardwell et al., ACM Queue 2016",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "linux",
            source: "Linux tcp_bbr.c and draft-cardwell-iccrg-bbr-congestion-control-00",
            values: &[],
        },
        Preset {
            name: "ns-3",
            source: "ns-3 3.44 to 3.48, tcp-bbr.cc: two segments while it probes, two for aggregated ACKs",
            values: &[
                ("startup_gain", "2.89"),
                ("probe_packets", "2"),
                ("aggregated_packets", "2"),
            ],
        },
        Preset {
            name: "bbr-prime",
            source: "BBR' for ns-3 (mark-claypool/bbr), as the RTCP paper (IFIP 2020) compares with",
            values: &[
                ("startup_gain", "2.89"),
                ("packet", "1000B"),
                ("pacing_margin", "0.05"),
                ("margin_on", "cruise"),
                ("spare_bursts", "0"),
                ("initial_bandwidth", "6Mbps"),
                ("handshake_rtt", "off"),
            ],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let effect = "the queue never drains, and its delay passes for a part of the path";
        path.coarse(("a window is", path.mss * u64::from(self.min_packets)), effect, emit);
        let least = u64::from(self.min_packets) + u64::from(self.spare_bursts);
        path.least_window(least, emit);
        // Flows keep up to twice the product in flight. A queue that is shorter than the product
        // drops packets all the time (Hock, Bless and Zitterbart, ICNP 2017). One flow that sends
        // packets one by one bears it.
        let short = path.queue.is_some_and(|queue| queue < path.product * path.flows);
        if path.lasting && short && (path.flows > 1 || path.segment > path.mss) {
            let least = (path.mss * least).max(path.product) * 2;
            emit(Caution::Crowded { least });
        }
    }
}

/// The phases of a ProbeBW cycle: one up, one down, six level.
const CYCLE: u32 = 8;

/// The upper bound of windows.
const MAX_CWND: u64 = 1 << 40;

/// The state of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubling each round until the bandwidth stops growing.
    Startup,
    /// Draining the queue that Startup left.
    Drain,
    /// Cycling around the bandwidth; the number of the phase.
    ProbeBw(u32),
    /// Emptying the path to see its RTT.
    ProbeRtt(ProbeRtt),
}

/// The progress of ProbeRTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeRtt {
    /// More than the least window is in flight.
    Draining,
    /// At most the least window has been in flight since data up to `sent_to` was sent. The state
    /// lasts until `until` and at least a round.
    Holding { until: Time, sent_to: Bytes },
}

/// The effect of a loss episode on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// No episode.
    None,
    /// Packet conservation: until data sent after this is acknowledged, as much may enter the
    /// network as leaves it.
    Conserving(Bytes),
    /// The window grows back by what is acknowledged.
    Growing,
}

/// The maximum of the last rounds: a [`MinFilter`] over rounds, of the complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MaxFilter(MinFilter);

impl MaxFilter {
    fn new(rounds: u32) -> Self {
        Self(MinFilter::new(Span::from_ps(rounds.into())))
    }

    fn get(&self) -> Rate {
        Rate::from_bps(u64::MAX - self.0.get().as_ps())
    }

    fn add(&mut self, round: u64, rate: Rate) {
        self.0.add(Time::from_ps(round), Span::from_ps(u64::MAX - rate.as_bps()));
    }
}

/// A flow under BBR.
#[derive(Clone, Debug)]
pub struct BbrControl {
    params: Bbr,
    mode: Mode,
    /// The bottleneck bandwidth.
    bandwidth: MaxFilter,
    /// The propagation time and the time of its sample; [`Span::MAX`] before the first sample.
    min_rtt: (Span, Time),
    /// The round of the newest ACK, and of the newest delivery-rate sample.
    round: u64,
    sample_round: u64,
    /// The round before which samples come from ProbeRTT's small window.
    samples_from: u64,
    /// The bandwidth that newer samples must exceed while the pipe is not full, and the rounds
    /// since they last did.
    full_bandwidth: (Rate, u32),
    /// The start of the phase of the cycle.
    phase_at: Time,
    rate: Rate,
    cwnd: u64,
    /// The window before a loss episode or ProbeRTT, to return to.
    prior_cwnd: u64,
    recovery: Recovery,
    /// Whether data was lost since the last ACK.
    lost: bool,
    /// Whether the application had no more data after the last transmission.
    app_limited: bool,
    /// Whether nothing has been acknowledged since such a pause; the RTT then needs no probe.
    idle_restart: bool,
    random: Random,
    line_rate: Rate,
    mss: u64,
    initial_window: u64,
    max_cwnd: u64,
    /// Bytes allowed beyond a product.
    spare: u64,
}

impl BbrControl {
    fn new(params: &Bbr, flow: &Flow) -> Self {
        let mss = flow.mss.get().clamp(1, 1 << 20);
        let max_cwnd = flow.max_window.get().clamp(mss, MAX_CWND);
        let mut control = Self {
            params: *params,
            mode: Mode::Startup,
            bandwidth: MaxFilter::new(params.bandwidth_window),
            min_rtt: (Span::MAX, flow.now),
            round: 0,
            sample_round: 0,
            samples_from: 0,
            full_bandwidth: (Rate::ZERO, 0),
            phase_at: flow.now,
            rate: Rate::from_bps(1),
            cwnd: 0,
            prior_cwnd: 0,
            recovery: Recovery::None,
            lost: false,
            app_limited: false,
            idle_restart: false,
            random: Random::new(flow.seed),
            line_rate: flow.line_rate.max(Rate::from_bps(1)),
            mss,
            initial_window: flow.initial_window.get().clamp(mss, max_cwnd),
            max_cwnd,
            spare: flow.segment.get().min(1 << 20).saturating_mul(params.spare_bursts.into()),
        };
        let rtt = flow.base_rtt.unwrap_or(params.initial_rtt);
        if params.initial_bandwidth.is_zero() {
            control.cwnd = control.initial_window;
            control.pace_initial_window(rtt);
        } else {
            let product = params.initial_bandwidth.bytes_in(rtt).get();
            control.cwnd = product.clamp(control.min_cwnd(), max_cwnd);
            control.rate = control.paced(params.initial_bandwidth, control.pacing_gain());
        }
        control
    }

    /// The initial window, sent in one `rtt`, by the gain of Startup.
    fn pace_initial_window(&mut self, rtt: Span) {
        self.rate = self.paced(Rate::of(Bytes::new(self.cwnd), rtt), self.pacing_gain());
    }

    /// The factor on the bandwidth that gives the pacing rate, the margin left out.
    fn pacing_gain(&self) -> f64 {
        let probe = self.params.probe.as_f64();
        match self.mode {
            Mode::Startup => self.params.startup_gain.as_f64(),
            Mode::Drain => 1.0 / self.params.startup_gain.as_f64(),
            Mode::ProbeBw(0) => 1.0 + probe,
            Mode::ProbeBw(1) => 1.0 - probe,
            Mode::ProbeBw(_) | Mode::ProbeRtt(_) => 1.0,
        }
    }

    /// The pacing rate for a path of `bandwidth`.
    fn paced(&self, bandwidth: Rate, gain: f64) -> Rate {
        #[expect(clippy::float_cmp, reason = "assigned, not computed")]
        let held_back = self.params.margin_on == MarginOn::Always || gain == 1.0;
        let margin = if held_back { self.params.pacing_margin.as_f64() } else { 0.0 };
        let bps = bandwidth.as_bps() as f64 * gain * (1.0 - margin);
        Rate::from_bps(whole(bps)).clamp(Rate::from_bps(1), self.line_rate)
    }

    /// The least window.
    fn min_cwnd(&self) -> u64 {
        let packet = match self.params.packet.get() {
            0 => self.mss,
            packet => packet,
        };
        (packet * u64::from(self.params.min_packets)).clamp(self.mss, self.max_cwnd)
    }

    /// `gain` bandwidth-delay products plus the spare bursts and, while probing, packets; the
    /// initial window before the first RTT.
    fn target(&self, gain: f64) -> u64 {
        let product = match self.min_rtt.0 {
            Span::MAX => self.initial_window,
            rtt => whole(self.bandwidth.get().bytes_in(rtt).get() as f64 * gain),
        };
        let probing = match self.mode {
            Mode::ProbeBw(0) => self.packets(self.params.probe_packets),
            _ => 0,
        };
        product.min(MAX_CWND) + self.spare + probing
    }

    /// So many packets of the flow.
    fn packets(&self, count: u32) -> u64 {
        self.mss * u64::from(count)
    }

    /// Takes in a delivery-rate sample, and tests once per round whether the pipe is full.
    fn on_sample(&mut self, sample: &Delivery) {
        let round_start = self.round > self.sample_round;
        self.sample_round = self.round;
        let probing_rtt = matches!(self.mode, Mode::ProbeRtt(_)) || self.round < self.samples_from;
        let limited = sample.app_limited || probing_rtt;
        // An application-limited sample may raise the bandwidth, never lower it.
        if !limited || sample.rate >= self.bandwidth.get() {
            self.bandwidth.add(self.round, sample.rate);
        }
        if round_start && !limited && !self.is_full() {
            let (full, rounds) = &mut self.full_bandwidth;
            let threshold = full.as_bps() as f64 * self.params.full_growth.as_f64();
            if self.bandwidth.get().as_bps() as f64 >= threshold {
                (*full, *rounds) = (self.bandwidth.get(), 0);
            } else {
                *rounds = rounds.saturating_add(1);
            }
        }
    }

    /// Whether Startup has found the bottleneck.
    const fn is_full(&self) -> bool {
        self.full_bandwidth.1 >= self.params.full_rounds
    }

    /// Enters ProbeBW in a random phase except the second, which drains. Flows that share a
    /// bottleneck must not probe it together.
    fn enter_probe_bw(&mut self, now: Time) {
        let phase = (CYCLE - self.random.below(CYCLE - 1)) % CYCLE;
        self.mode = Mode::ProbeBw(phase);
        self.phase_at = now;
    }

    /// Advances the cycle when its phase is over.
    fn cycle(&mut self, ack: &Ack<'_>) {
        let Mode::ProbeBw(phase) = self.mode else { return };
        let full_length = ack.now.since(self.phase_at) > self.min_rtt.0;
        // The bytes in flight before this ACK.
        let in_flight = (ack.in_flight + ack.bytes).get();
        let over = match phase {
            // The phase lasts until its queue can have formed.
            0 => {
                full_length
                    && (self.lost || in_flight >= self.target(1.0 + self.params.probe.as_f64()))
            }
            // The phase ends early once that queue has drained.
            1 => full_length || in_flight <= self.target(1.0),
            _ => full_length,
        };
        if over {
            self.mode = Mode::ProbeBw((phase + 1) % CYCLE);
            self.phase_at = ack.now;
        }
    }

    /// Leaves Startup when the pipe is full, and Drain when at most one product is in flight.
    fn check_drain(&mut self, ack: &Ack<'_>) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.in_flight.get() <= self.target(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// Follows the propagation time, and starts ProbeRTT when the last sample is too old.
    fn update_min_rtt(&mut self, ack: &Ack<'_>) {
        let expired = ack.now.since(self.min_rtt.1) > self.params.rtt_window;
        if let Some(rtt) = ack.rtt {
            let mut rtt = rtt.total;
            if self.min_rtt.0 == Span::MAX && self.params.handshake_rtt.is_on() {
                // The carrier knows the handshake's RTT. The first data may have met a queue since.
                rtt = rtt.min(ack.min_rtt);
            }
            let rtt = rtt.max(Span::from_ps(1));
            if self.min_rtt.0 == Span::MAX && self.params.initial_bandwidth.is_zero() {
                self.pace_initial_window(rtt);
            }
            if rtt <= self.min_rtt.0 || expired {
                self.min_rtt = (rtt, ack.now);
            }
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt(ProbeRtt::Draining);
        }
        match self.mode {
            Mode::ProbeRtt(ProbeRtt::Draining) if ack.in_flight.get() <= self.min_cwnd() => {
                let until = ack.now + self.params.probe_rtt;
                self.mode = Mode::ProbeRtt(ProbeRtt::Holding { until, sent_to: ack.next });
            }
            Mode::ProbeRtt(ProbeRtt::Holding { until, sent_to })
                if ack.end > sent_to && ack.now > until =>
            {
                self.leave_probe_rtt(ack.now);
            }
            _ => {}
        }
        if !ack.bytes.is_zero() {
            self.idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt.1 = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd).min(self.max_cwnd);
        // Data of the next round was paced into a path of four packets. Three rounds pass: one that
        // may end at once, one that sends the restored window, and one that first acknowledges it.
        self.samples_from = self.round.saturating_add(3);
        if self.is_full() {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Remembers the present window, unless it has been cut already.
    fn save_cwnd(&mut self) {
        let cut = self.recovery != Recovery::None || matches!(self.mode, Mode::ProbeRtt(_));
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn set_rate(&mut self) {
        let rate = self.paced(self.bandwidth.get(), self.pacing_gain());
        // In Startup low samples come from a window that is still small.
        if self.is_full() || rate > self.rate {
            self.rate = rate;
        }
    }

    fn set_cwnd(&mut self, ack: &Ack<'_>) {
        let acked = ack.bytes.get();
        if acked > 0 {
            self.grow_cwnd(ack, acked.min(MAX_CWND));
        }
        let ceiling = match self.mode {
            Mode::ProbeRtt(_) => self.min_cwnd(),
            _ => self.max_cwnd,
        };
        self.cwnd = self.cwnd.clamp(self.mss, ceiling);
    }

    /// Moves the window: up towards the target by the acknowledged bytes, or down to the target at
    /// once when the pipe is full.
    fn grow_cwnd(&mut self, ack: &Ack<'_>, acked: u64) {
        if !ack.in_recovery {
            self.end_recovery();
        }
        if let Recovery::Conserving(sent_to) = self.recovery {
            if ack.end <= sent_to {
                self.cwnd = self.cwnd.max(ack.in_flight.get().saturating_add(acked));
                return;
            }
            self.recovery = Recovery::Growing;
        }
        let target = self.target(match self.mode {
            Mode::Startup | Mode::Drain => self.params.startup_gain.as_f64(),
            Mode::ProbeBw(_) => self.params.window_gain.as_f64(),
            Mode::ProbeRtt(_) => 1.0,
        });
        if self.is_full() {
            let aggregated = self.packets(self.params.aggregated_packets);
            self.cwnd = (self.cwnd + acked).min(target + aggregated);
        } else if self.cwnd < target || ack.delivered.get() < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_cwnd());
    }

    fn end_recovery(&mut self) {
        if self.recovery != Recovery::None {
            self.recovery = Recovery::None;
            self.cwnd = self.cwnd.max(self.prior_cwnd).min(self.max_cwnd);
        }
    }
}

/// The integer part of a number that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and makes zero of what is no number"
)]
const fn whole(number: f64) -> u64 {
    number as u64
}

impl CongestionControl for BbrControl {
    fn reads(&self) -> Reads {
        Reads { delivery: true, ..Reads::default() }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.round = self.round.max(ack.round);
        if let Some(sample) = &ack.delivery {
            self.on_sample(sample);
        }
        self.cycle(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.set_rate();
        self.set_cwnd(ack);
        self.lost = false;
    }

    /// Loss does not change the model. An episode sets the window to the bytes in flight and
    /// conserves packets for one round. Its end restores the window of before.
    fn on_loss(&mut self, loss: &Loss) {
        self.lost = true;
        let starts = self.recovery == Recovery::None;
        if starts {
            self.save_cwnd();
        }
        if loss.cause != LossCause::Detected {
            self.recovery = Recovery::Growing;
            self.cwnd = self.mss;
            self.full_bandwidth.0 = Rate::ZERO;
        } else if starts {
            self.recovery = Recovery::Conserving(loss.next);
            self.cwnd = loss.in_flight.get().clamp(self.mss, self.max_cwnd);
        } else {
            self.cwnd = self.cwnd.saturating_sub(loss.bytes.get()).max(self.mss);
        }
    }

    /// The loss episode was spurious, and so may have been the end of Startup.
    fn on_spurious_loss(&mut self, _spurious: &Spurious) {
        self.end_recovery();
        if !self.is_full() {
            self.full_bandwidth = (Rate::ZERO, 0);
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.app_limited = sent.app_limited;
    }

    /// After a pause of the application the path needs no probing above the bandwidth, and has
    /// shown its RTT. A gap between two bursts of a low pacing rate is no such pause.
    fn on_restart(&mut self, now: Time, _idle: Span) {
        if !self.app_limited {
            return;
        }
        self.idle_restart = true;
        match self.mode {
            Mode::ProbeBw(_) if !self.bandwidth.get().is_zero() => {
                self.rate = self.paced(self.bandwidth.get(), 1.0);
            }
            Mode::ProbeRtt(ProbeRtt::Holding { until, .. }) if now > until => {
                self.leave_probe_rtt(now);
            }
            _ => {}
        }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss.get().clamp(1, 1 << 20);
        self.max_cwnd = self.max_cwnd.max(self.mss);
        self.cwnd = self.cwnd.max(self.mss);
    }

    fn limits(&self) -> Limits {
        Limits {
            cwnd: Bytes::new(self.cwnd),
            pacing: Pacing::Rate(self.rate),
            burst: Burst::CARRIER,
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", self.rate.as_gbps_f64());
        emit("cwnd_kb", self.cwnd as f64 / 1e3);
        emit("bandwidth_gbps", self.bandwidth.get().as_gbps_f64());
        emit("pacing_gain", self.pacing_gain());
        if self.min_rtt.0 < Span::MAX {
            emit("min_rtt_us", self.min_rtt.0.as_us_f64());
        }
    }
}

#[cfg(test)]
mod tests;

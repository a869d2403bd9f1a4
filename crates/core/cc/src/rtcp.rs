//! RTCP, Regulated TCP: a counter of what a flow is owed, against the price of congestion.
//!
//! Huang, Li and Walrand, "RTCP - Reduce Delay Variability with an End-to-end Approach", IFIP 2020
//! (not the RTP Control Protocol). Each flow keeps a counter H that grows at the rate gamma at
//! which the flow would like to send and falls at the rate x at which it does. As long as H is at
//! least `alpha` times the backlog that the flow sees (the sender's own queue, and the delay of the
//! path times `delta`), the window doubles, else it halves. Flows of a larger weight w have a
//! larger H, so they yield later. `docs/algorithms/rtcp.md` has the equations and all the choices
//! that the paper leaves open; each of them is a parameter here.
//!
//! All arithmetic is on unsigned 64-bit integers with 20 fractional bits, every divisor above zero
//! and no product above 64 bits, so that a twin in BPF C computes the same bits. Equation numbers
//! are the paper's.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Demand, Flow, Reads, RttSample};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::integer::ONE_Q20;
use crate::parts::{Window, WindowControl, WindowLaw};
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{configurable_by_name, parameters, words};

/// Shorthand of the parameter sources.
macro_rules! src {
    (paper $section:literal) => {
        concat!("Huang, Li and Walrand, IFIP 2020, section ", $section)
    };
    (reading) => {
        "this project's reading: the paper does not say"
    };
}

parameters! {
    /// Regulated TCP's parameters. The default is the preset `ns3-random-sending`.
    pub struct Rtcp {
        /// The price of backlog: the window doubles while the counter is at least `alpha` times it.
        pub alpha: u32 = 500, in "1" to "1000000", source src!(paper "V-B");
        /// Units of backlog that a path delay of one `delay_unit` counts for.
        pub delta: u32 = 10_000, in "0" to "1000000", source src!(paper "V-B");
        /// The unit of the path delay D.
        pub delay_unit: Span = Span::from_ms(1), in "1ns" to "1s", source src!(reading);
        /// The unit of the sender's backlog Q.
        pub queue_unit: Bytes = Bytes::from_kb(1), in "1B" to "1MB", source src!(reading);
        /// Whether the sender's own backlog counts as congestion (ns-3) or the delay alone
        /// (testbed).
        pub sender_backlog: SenderBacklog = SenderBacklog::Counted, source src!(paper "IV-A");
        /// The path delay D: the RTT above its minimum, or all of it.
        pub delay: DelaySignal = DelaySignal::RttChange, source src!(paper "IV-A");
        /// The quantity that is smoothed exponentially: the delay alone, or the whole backlog.
        pub smooth: Smooth = Smooth::Delay, source src!(reading);
        /// Share of the past in the exponential smoothing.
        pub g: Fraction = Fraction::from_ratio(1, 2), in "0" to "0.999999",
            source src!(paper "IV-B");
        /// Weight of urgent flows.
        pub w_urgent: u32 = 24_000, in "1" to "1000000", source src!(paper "V-A");
        /// Weight of all other flows.
        pub w_high_volume: u32 = 12_000, in "1" to "1000000", source src!(paper "V-A");
        /// A flow is urgent while the message that it carries was posted with less than this size.
        pub urgent_below: Bytes = Bytes::from_kb(30), source src!(paper "V-A");
        /// Most that gamma can be, and what it is while the counter is zero; per acknowledged
        /// packet. Large enough, the first ACK lifts the counter to the weight, beyond which no
        /// step goes.
        pub max_rate: u32 = 1_000_000, in "1" to "1000000", source src!(reading);
        /// The clock of the counter: acknowledged packets, or the time of a packet at line rate.
        pub counter: CounterClock = CounterClock::Ack, source src!(reading);
        /// The times at which the window doubles or halves.
        pub step: Step = Step::Ack, source src!(paper "IV-C");
        /// The least window that a step leaves, in segments: no less than a receiver acknowledges
        /// at once.
        pub floor: u32 = 2, in "2" to "1000", source src!(reading);
        /// The largest window that a step makes: line rate times the smoothed RTT, or the peer's
        /// limit.
        pub ceiling: Ceiling = Ceiling::LineRate, source src!(reading);
    }
}

words! {
    /// Whether the backlog in the sender's NIC counts as congestion.
    pub enum SenderBacklog {
        /// Yes, as in the paper's simulations.
        Counted = "counted",
        /// No, as on its testbed.
        Ignored = "ignored",
    }
}

words! {
    /// The measure of the path delay.
    pub enum DelaySignal {
        /// The RTT less the least one seen.
        RttChange = "rtt-change",
        /// The RTT.
        TotalRtt = "total-rtt",
    }
}

words! {
    /// The quantity that is smoothed.
    pub enum Smooth {
        /// The delay D.
        Delay = "delay",
        /// The sum Q + delta D.
        Backlog = "backlog",
    }
}

words! {
    /// The clock of the counter.
    pub enum CounterClock {
        /// H += gamma - 1 per acknowledged packet: the rate x is one by definition.
        Ack = "ack-clocked",
        /// H += gamma per time of a packet at line rate, H -= 1 per acknowledged packet: x is the
        /// flow's share of the line.
        Time = "time-clocked",
    }
}

words! {
    /// The times at which the window takes a step.
    pub enum Step {
        /// On each ACK of new data.
        Ack = "per-ack",
        /// On the first ACK of each round.
        Rtt = "per-rtt",
    }
}

words! {
    /// The largest window that a step makes.
    pub enum Ceiling {
        /// Line rate times the smoothed RTT, in whole segments, and the peer's limit.
        LineRate = "line-rate",
        /// The peer's limit alone.
        Peer = "peer",
    }
}

impl Algorithm for Rtcp {
    type Control = RtcpControl;
    const NAME: &'static str = "rtcp";

    fn start(&self, flow: &Flow) -> RtcpControl {
        let (window, constants) = (Window::new(flow), Constants::new(self));
        let law = RtcpLaw {
            state: State::new(&constants),
            constants,
            line_rate: flow.line_rate,
            segment_ps: RtcpLaw::segment_ps(flow.line_rate, &window),
            counted_at: flow.now,
            stepped_in: 0,
        };
        WindowControl { window, law }
    }
}

/// A preset of the testbed, where 1 Gb/s is a delta of 125 KB per ms and only the RTT change
/// counts.
macro_rules! testbed {
    ($name:literal, $alpha:literal, $source:literal) => {
        Preset {
            name: $name,
            source: concat!("the testbed's ", $source),
            values: &[("alpha", $alpha), ("delta", "125"), ("sender_backlog", "ignored")],
        }
    };
}

impl Configurable for Rtcp {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window doubles while what the flow is owed exceeds the price of congestion",
        kind: Kind::Window,
        signal: "RTT change and the sender's own backlog",
        needs: &[],
        transport: Transport::Stream,
        source: "Huang, Li and Walrand, IFIP 2020",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns3-random-sending",
            source: "the ns-3 random sending test, Table I",
            values: &[],
        },
        Preset {
            name: "ns3-urgent-preemption",
            source: "the ns-3 urgent flow preemption test, which keeps the values of random sending",
            values: &[],
        },
        Preset {
            name: "ns3-over-subscription",
            source: "the ns-3 over-subscription test, Table I and third row of Table II",
            values: &[("alpha", "1000")],
        },
        Preset {
            name: "ns3-incast",
            source: "the ns-3 incast of 95 to 1; its initial window of 2 segments is the transport's",
            values: &[("alpha", "5000")],
        },
        Preset {
            name: "ns3-table2-alpha300",
            source: "Table II, first row",
            values: &[("alpha", "300")],
        },
        Preset {
            name: "ns3-table2-alpha600",
            source: "Table II, second row",
            values: &[("alpha", "600")],
        },
        Preset {
            name: "ns3-table2-delta6000",
            source: "Table II, fourth row",
            values: &[("alpha", "1000"), ("delta", "6000")],
        },
        Preset {
            name: "ns3-table2-delta3000",
            source: "Table II, fifth row",
            values: &[("alpha", "1000"), ("delta", "3000")],
        },
        testbed!("testbed-websearch-1to1", "500", "web search from one server"),
        testbed!("testbed-websearch-1to4", "800", "web search from four servers"),
        testbed!("testbed-datamining-1to4", "15", "data mining from four servers"),
        testbed!("testbed-incast", "1000", "incast of 1, 2 or 8 flows"),
        Preset {
            name: "tuned-400g",
            source: "this project: found by incast tune at 400 Gb/s (docs/how-to/tune-an-algorithm.md)",
            values: &[
                ("alpha", "1610"),
                ("delta", "6840"),
                ("g", "0.0226"),
                ("w_high_volume", "81300"),
                ("w_urgent", "1000"),
                ("floor", "5"),
            ],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let floor = u64::from(self.floor.max(2));
        path.least_window(floor, emit);
        path.window_of_segments(emit);
        // The counter is at most the weight, so this delay is too dear for any window to double. A
        // window that ACKs clock leaves in bursts, which wait in the sender's NIC.
        let price = f64::from(self.alpha) * f64::from(self.delta);
        let borne_ps =
            f64::from(self.w_high_volume) / price.max(1.0) * self.delay_unit.as_ps() as f64;
        let burst = path.line_rate.time_for(path.product * 3 / 4);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; the cast saturates"
        )]
        let span = |ps: f64| Span::from_ps(ps as u64);
        let borne = span(borne_ps);
        if path.lasting {
            path.overshoot(floor, borne, emit);
        }
        if let Some(full) = path.full_queue()
            && path.lasting
            && path.flows > 1
            && full <= borne
        {
            let times = borne.as_ps() * 2 / full.as_ps().max(1);
            let least = u64::from(self.alpha).saturating_mul(times.max(2));
            emit(Caution::LossesFirst { param: "alpha", least, borne, full });
        }
        // Where the floor is most of the share, halving does no harm.
        if path.lasting && burst.as_ps() as f64 > borne_ps && !path.holds_most(floor) {
            let least =
                span(self.delay_unit.as_ps() as f64 / borne_ps * burst.as_ps() as f64 * 2.0);
            emit(Caution::OwnBurst { param: "delay_unit", borne, burst, least });
        }
    }
}

/// The largest weight, in counter units: 2^40 with its fraction.
const MAX_WEIGHT: u64 = 1 << 20;
/// Backlogs are kept below this: more than any counter, and 64 bits hold it times alpha or delta.
const MAX_BACKLOG_Q20: u64 = 1 << 43;
/// Packets or packet times of one update are kept below this, two million with their fraction.
const MAX_PACKETS_Q20: u64 = 1 << 41;

/// `Rtcp` in the units of the integer core. The BPF twin has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The price of backlog.
    pub alpha: u64,
    /// Units of backlog that a path delay of one `delay_unit_ns` counts for.
    pub delta: u64,
    /// The unit of the path delay.
    pub delay_unit_ns: u64,
    /// The unit of the sender's backlog, in bytes.
    pub queue_unit: u64,
    /// Share of the past in the smoothing, times 2^20.
    pub g_q20: u64,
    /// Most that gamma can be, times 2^20.
    pub max_rate_q20: u64,
    /// Weight of urgent flows.
    pub w_urgent: u64,
    /// Weight of all others.
    pub w_high_volume: u64,
    /// Messages below this many bytes are urgent.
    pub urgent_below: u64,
    /// The least window that a step leaves, in segments.
    pub floor_segments: u64,
    /// Whether the sender's backlog counts.
    pub sender_backlog: SenderBacklog,
    /// The measure of the path delay.
    pub delay: DelaySignal,
    /// The quantity that is smoothed.
    pub smooth: Smooth,
    /// The clock of the counter.
    pub counter: CounterClock,
    /// The times at which the window takes a step.
    pub step: Step,
    /// The largest window that a step makes.
    pub ceiling: Ceiling,
}

impl Constants {
    /// The constants of `params`.
    pub fn new(params: &Rtcp) -> Self {
        Self {
            alpha: u64::from(params.alpha).clamp(1, 1 << 20),
            delta: u64::from(params.delta).min(1 << 20),
            delay_unit_ns: params.delay_unit.as_ns().max(1),
            queue_unit: params.queue_unit.get().max(1),
            g_q20: u64::from(params.g.bits()).min(ONE_Q20),
            max_rate_q20: u64::from(params.max_rate).clamp(1, MAX_WEIGHT) << Fraction::BITS,
            w_urgent: u64::from(params.w_urgent),
            w_high_volume: u64::from(params.w_high_volume),
            urgent_below: params.urgent_below.get(),
            floor_segments: u64::from(params.floor),
            sender_backlog: params.sender_backlog,
            delay: params.delay,
            smooth: params.smooth,
            counter: params.counter,
            step: params.step,
            ceiling: params.ceiling,
        }
    }
}

/// The state of a flow under Regulated TCP beside its window, each value times 2^20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the suffix is the unit")]
pub struct State {
    /// w: what the counter is driven towards.
    weight_q20: u64,
    /// H: by how much the flow has sent less than it wanted.
    counter_q20: u64,
    /// gamma: what the flow wants, in packets per packet.
    gamma_q20: u64,
    /// S: the smoothed delay in delay units, or the smoothed backlog.
    smoothed_q20: u64,
    /// alpha (Q + delta D) at the last measurement: the least H with which the window doubles.
    price_q20: u64,
}

impl State {
    /// A flow that has seen no congestion, of high volume until told otherwise.
    pub fn new(k: &Constants) -> Self {
        Self {
            weight_q20: k.w_high_volume.clamp(1, MAX_WEIGHT) << Fraction::BITS,
            counter_q20: 0,
            gamma_q20: k.max_rate_q20,
            smoothed_q20: 0,
            price_q20: 0,
        }
    }

    /// The flow carries another message, of weight `weight`.
    pub fn set_weight(&mut self, weight: u64) {
        self.weight_q20 = weight.clamp(1, MAX_WEIGHT) << Fraction::BITS;
    }

    /// Smooths the congestion (8) and prices it (7): `queued` bytes wait at the sender, the path
    /// delay is `delay_ns` where it was measured.
    pub fn measure(&mut self, k: &Constants, queued: u64, delay_ns: Option<u64>) {
        let queue_q20 = (queued.min(1 << 43) << Fraction::BITS) / k.queue_unit;
        let backlog_q20 = |delay_q20: u64| {
            let path_q20 = (k.delta * delay_q20).min(MAX_BACKLOG_Q20);
            (queue_q20.min(MAX_BACKLOG_Q20) + path_q20).min(MAX_BACKLOG_Q20)
        };
        if let Some(delay_ns) = delay_ns {
            let delay_q20 = (delay_ns.min(1 << 43) << Fraction::BITS) / k.delay_unit_ns;
            let newest_q20 = match k.smooth {
                Smooth::Delay => delay_q20.min(MAX_BACKLOG_Q20),
                Smooth::Backlog => backlog_q20(delay_q20.min(MAX_BACKLOG_Q20)),
            };
            let weighted = self.smoothed_q20 * k.g_q20 + newest_q20 * (ONE_Q20 - k.g_q20);
            self.smoothed_q20 = weighted >> Fraction::BITS;
        }
        let backlog_q20 = match k.smooth {
            Smooth::Delay => backlog_q20(self.smoothed_q20),
            Smooth::Backlog => self.smoothed_q20,
        };
        self.price_q20 = k.alpha * backlog_q20;
    }

    /// Sets gamma (10), then moves the counter (1): up by gamma times `wanted_q20` packets, by one
    /// step no further than to the weight, and down by `acked_q20` packets.
    pub fn count(&mut self, k: &Constants, wanted_q20: u64, acked_q20: u64) {
        let counter_q20 = self.counter_q20;
        self.gamma_q20 = if counter_q20 == 0 {
            k.max_rate_q20
        } else if counter_q20 >= self.weight_q20 {
            self.gamma_q20 / 2
        } else {
            let target_q20 = (self.weight_q20 << Fraction::BITS) / counter_q20;
            (target_q20 - ONE_Q20).min(k.max_rate_q20)
        };
        let room_q20 = self.weight_q20.max(counter_q20) + acked_q20 - counter_q20;
        // Compared before it is multiplied: a product beyond the room may not fit 64 bits.
        let gain_q20 = match (room_q20 << Fraction::BITS).checked_div(wanted_q20) {
            None => 0,
            Some(most_q20) if self.gamma_q20 > most_q20 => room_q20,
            Some(_) => (self.gamma_q20 * wanted_q20) >> Fraction::BITS,
        };
        self.counter_q20 = (counter_q20 + gain_q20).saturating_sub(acked_q20);
    }

    /// Whether the window doubles, or else halves (9).
    pub const fn may_double(&self) -> bool {
        self.counter_q20 >= self.price_q20
    }
}

/// A flow under Regulated TCP.
pub type RtcpControl = WindowControl<RtcpLaw>;

/// The rules of Regulated TCP and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtcpLaw {
    state: State,
    constants: Constants,
    line_rate: Rate,
    /// The time of a segment at line rate, in picoseconds.
    segment_ps: u64,
    /// The instant at which the counter was last moved.
    counted_at: Time,
    /// The round in which the window last took a step.
    stepped_in: u64,
}

impl RtcpLaw {
    /// The time of one segment of `window` at line rate, in picoseconds.
    fn segment_ps(line_rate: Rate, window: &Window) -> u64 {
        line_rate.time_for(Bytes::new(window.mss())).as_ps().max(1)
    }

    fn delay_ns(&self, ack: &Ack<'_>, rtt: RttSample) -> u64 {
        // All of the RTT: `min_rtt` contains the same serialization and turnaround.
        match self.constants.delay {
            DelaySignal::RttChange => rtt.total.saturating_sub(ack.min_rtt).as_ns(),
            DelaySignal::TotalRtt => rtt.total.as_ns(),
        }
    }

    fn move_counter(&mut self, window: &Window, ack: &Ack<'_>) {
        let acked_q20 = (ack.bytes.get().min(1 << 43) << Fraction::BITS) / window.mss();
        let acked_q20 = acked_q20.min(MAX_PACKETS_Q20);
        let wanted_q20 = match self.constants.counter {
            CounterClock::Ack => acked_q20,
            CounterClock::Time => {
                let elapsed_ps = ack.now.since(self.counted_at).as_ps().min(1 << 43);
                ((elapsed_ps << Fraction::BITS) / self.segment_ps).min(MAX_PACKETS_Q20)
            }
        };
        self.counted_at = ack.now;
        self.state.count(&self.constants, wanted_q20, acked_q20);
    }

    /// Halves or doubles the window, within floor and ceiling.
    ///
    /// The floor holds in both directions, also where a timeout has left less. A window below what
    /// a receiver acknowledges at once is acknowledged when its delayed-ACK timer fires: that time
    /// is then every RTT sample, no queue costs as much, and a window that halving keeps there
    /// stays for ever. Only a window that may grow is raised.
    fn step(&mut self, window: &mut Window, doubles: bool, may_grow: bool, srtt: Span) {
        let before = window.cwnd();
        let cwnd = if doubles { before * 2 } else { before / 2 };
        let floor = self.constants.floor_segments * window.mss();
        let ceiling = match self.constants.ceiling {
            Ceiling::LineRate if !srtt.is_zero() => {
                srtt.as_ps().min(1 << 43) / self.segment_ps * window.mss()
            }
            _ => u64::MAX,
        };
        let cwnd = cwnd.min(ceiling).max(floor);
        window.set_cwnd(if may_grow { cwnd } else { cwnd.min(before) });
    }
}

impl WindowLaw for RtcpLaw {
    fn reads(&self) -> Reads {
        let counted = self.constants.sender_backlog == SenderBacklog::Counted;
        Reads { nic_backlog: counted, ..Reads::NONE }
    }

    fn measure(&mut self, _window: &mut Window, ack: &Ack<'_>) {
        let queued = match self.constants.sender_backlog {
            SenderBacklog::Counted => ack.nic_backlog.get(),
            SenderBacklog::Ignored => 0,
        };
        let delay_ns = ack.rtt.map(|rtt| self.delay_ns(ack, rtt));
        self.state.measure(&self.constants, queued, delay_ns);
    }

    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
        if ack.bytes.is_zero() {
            return;
        }
        self.move_counter(window, ack);
        let due = match self.constants.step {
            Step::Ack => true,
            Step::Rtt => ack.round != self.stepped_in,
        };
        if !due || reduced_from.is_some() || ack.in_recovery {
            return;
        }
        self.stepped_in = ack.round;
        let (doubles, may_grow) = (self.state.may_double(), Window::may_grow(ack));
        if !doubles || may_grow {
            self.step(window, doubles, may_grow, ack.srtt);
        }
    }

    fn on_demand(&mut self, demand: &Demand) {
        // The rest of a long message is not urgent: the class stays until the next message.
        let k = &self.constants;
        let urgent = demand.size.is_some_and(|size| size.get() < k.urgent_below);
        let class = if urgent { k.w_urgent } else { k.w_high_volume };
        self.state.set_weight(class * u64::from(demand.weight));
    }

    fn on_mss_change(&mut self, window: &Window, _ratio: f64) {
        self.segment_ps = Self::segment_ps(self.line_rate, window);
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        let one = ONE_Q20 as f64;
        emit("counter", self.state.counter_q20 as f64 / one);
        emit("price", self.state.price_q20 as f64 / one);
        emit("gamma", self.state.gamma_q20 as f64 / one);
    }
}

#[cfg(test)]
mod tests;

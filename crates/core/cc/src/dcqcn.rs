//! DCQCN: the congestion control of RoCE NICs, driven by notifications of ECN marks.
//!
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015. A receiver that
//! sees marks sends a congestion notification packet (CNP), at most one per interval and flow. Each
//! CNP cuts the current rate by the part `alpha / 2`, where `alpha` estimates how steadily CNPs
//! come, and makes the rate before the cut the target. Then a timer and a byte counter each count
//! steps. The first steps only halve the distance to the target (fast recovery). Later steps also
//! raise the target: by a small step when one of the two counters is through (additive increase),
//! by larger ones when both are (hyper increase). `docs/algorithms/dcqcn.md` has the equations, the
//! sources of the constants, and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Flow, Limits, Loss, Notification, Pacing, Sent,
};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::parts::integer;
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{configurable_by_name, parameters, words};

/// Shorthand of the parameter sources.
macro_rules! src {
    (paper) => {
        "DCQCN, SIGCOMM 2015, as cited by Zhu et al., CoNEXT 2016"
    };
    (ns3) => {
        "ns3-rdma (bobzhuyb), mix/config.txt"
    };
    (ours) => {
        "this project"
    };
}

parameters! {
    /// DCQCN's parameters at the sender. The default is the preset `sigcomm15`.
    pub struct Dcqcn {
        /// Weight of a CNP, or of its absence, in the estimate alpha.
        pub g: Fraction = Fraction::from_ratio(1, 256), in "0.000001" to "1", source src!(paper);
        /// Alpha decays each time that so long went by without a CNP; longer than the receiver's
        /// interval between CNPs.
        pub alpha_timer: Span = Span::from_us(55), in "1us" to "1s", source src!(paper);
        /// The interval of the timer whose events raise the rate.
        pub rate_timer: Span = Span::from_us(55), in "1us" to "1s", source src!(paper);
        /// Payload sent between two events of the byte counter, which raise the rate as well; 0B is
        /// none.
        pub byte_counter: Bytes = Bytes::new(10_000_000), in "0B" to "10GB", source src!(paper);
        /// F: steps of fast recovery, of the timer and of the byte counter each.
        pub fast_recovery: u32 = 5, in "0" to "1000", source src!(paper);
        /// The target's additive increase, for a NIC of the rate `reference`.
        pub rate_ai: Rate = Rate::from_mbps(40), in "1bps" to "1Tbps", source src!(paper);
        /// The target's hyper increase, for a NIC of the rate `reference`.
        pub rate_hai: Rate = Rate::from_mbps(200), in "1bps" to "1Tbps", source src!(ns3);
        /// Whether each step of hyper increase is larger than the one before.
        pub hyper_steps: HyperSteps = HyperSteps::Growing, source "QCN; ns3-rdma (bobzhuyb)";
        /// The CNPs that make the current rate the target.
        pub target: Target = Target::Always, source src!(paper);
        /// The rate never falls below, for a NIC of the rate `reference`.
        pub min_rate: Rate = Rate::from_mbps(40), in "1bps" to "1Tbps", source src!(ours);
        /// Line rate that `rate_ai`, `rate_hai` and `min_rate` are given for; all scale with the
        /// NIC's line rate. At 0bps they are taken as they stand.
        pub reference: Rate = Rate::from_gbps(40), source src!(paper);
    }
}

words! {
    /// The steps of hyper increase.
    pub enum HyperSteps {
        /// The i-th adds i times `rate_hai`.
        Growing = "growing",
        /// Each adds `rate_hai`.
        Constant = "constant",
    }
}

words! {
    /// The CNPs that make the current rate the target.
    pub enum Target {
        /// On each one.
        Always = "always",
        /// Only when the rate has been raised since the one before: CNPs in a row leave the target
        /// where the first one found it.
        AfterIncrease = "after-increase",
    }
}

impl Algorithm for Dcqcn {
    type Control = DcqcnControl;
    const NAME: &'static str = "dcqcn";

    fn start(&self, flow: &Flow) -> DcqcnControl {
        DcqcnControl::new(self, flow)
    }
}

impl Configurable for Dcqcn {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate falls at each CNP, and a timer and a byte counter raise it again",
        kind: Kind::Rate,
        signal: "notifications of ECN marks (CNPs)",
        needs: &[Need::Ecn, Need::Notifications, Need::Lossless],
        transport: Transport::Message,
        source: "Zhu et al., SIGCOMM 2015",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "sigcomm15",
            source: "the paper's 40 Gb/s set, as in Zhu et al., CoNEXT 2016; HAI from ns3-rdma",
            values: &[],
        },
        Preset {
            name: "zhu-stable",
            source: "Zhu et al., CoNEXT 2016, stability analysis; wants Kmax = 1000 KB at the switch",
            values: &[("rate_ai", "10Mbps")],
        },
        Preset {
            name: "ns3-rdma",
            source: "ns3-rdma (bobzhuyb), mix/config.txt; its F = 5 makes four steps of fast recovery",
            values: &[("rate_timer", "60us"), ("byte_counter", "300KB"), ("fast_recovery", "4")],
        },
        Preset {
            name: "hpcc-simulator",
            source: "the simulator of HPCC, run.py and rdma-hw.cc; wants CNPs at most every 4 us",
            values: &[
                ("alpha_timer", "1us"),
                ("rate_timer", "300us"),
                ("byte_counter", "0B"),
                ("fast_recovery", "1"),
                ("rate_ai", "5Mbps"),
                ("rate_hai", "50Mbps"),
                ("hyper_steps", "constant"),
                ("target", "after-increase"),
                ("min_rate", "1Gbps"),
                ("reference", "25Gbps"),
            ],
        },
        Preset {
            name: "tuned-10g",
            source: "this project: found by incast tune at 10 Gb/s (docs/how-to/tune-an-algorithm.md)",
            values: &[
                ("g", "0.00229"),
                ("alpha_timer", "112us"),
                ("rate_timer", "47.7us"),
                ("byte_counter", "63600KB"),
                ("fast_recovery", "8"),
                ("rate_ai", "13.8Mbps"),
                ("rate_hai", "67.9Mbps"),
            ],
        },
        Preset {
            name: "tuned-25g",
            source: "this project: found by incast tune at 25 Gb/s (docs/how-to/tune-an-algorithm.md)",
            values: &[
                ("g", "0.00116"),
                ("alpha_timer", "230us"),
                ("rate_timer", "62.3us"),
                ("byte_counter", "18200KB"),
                ("fast_recovery", "4"),
                ("rate_ai", "22.2Mbps"),
                ("rate_hai", "54.4Mbps"),
            ],
        },
        Preset {
            name: "tuned-100g",
            source: "this project: found by incast tune at 100 Gb/s (docs/how-to/tune-an-algorithm.md)",
            values: &[
                ("g", "0.00106"),
                ("alpha_timer", "122us"),
                ("rate_timer", "88.5us"),
                ("byte_counter", "4120KB"),
                ("fast_recovery", "7"),
                ("rate_ai", "56.4Mbps"),
                ("rate_hai", "208Mbps"),
            ],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let line_bps = integer::line_bps(path.line_rate);
        let floor = integer::scaled(self.min_rate, self.reference, line_bps);
        path.least_rate("min_rate", Rate::from_bps(floor), emit);
        path.starts_at_line_rate(emit);
    }
}

/// The largest number of steps that a late timer catches up; further steps are lost.
const MAX_STEPS: u64 = 64;

/// The alpha below which a cut is less than a bit per second; the timer of alpha then stops.
const NEGLIGIBLE: f64 = 1e-9;

/// A flow under DCQCN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnControl {
    /// The current rate `R_C` in b/s.
    rate: f64,
    /// The target rate `R_T` in b/s, to which the current one recovers.
    target: f64,
    /// The steadiness of CNPs, 1 when they always come. A CNP takes half of this part of the rate.
    alpha: f64,
    /// Events of the rate timer since the last CNP.
    time_stage: u32,
    /// Events of the byte counter since the last CNP.
    byte_stage: u32,
    /// Payload sent since the last event of the byte counter.
    sent: u64,
    /// The next decay of alpha; none before the first CNP.
    alpha_due: Option<Time>,
    /// The next expiry of the rate timer; none while the rate is line rate, with nothing to
    /// recover.
    rate_due: Option<Time>,
    /// The packet, which the NIC's rate limiter spaces.
    mss: Bytes,
    /// The parameters, scaled to the NIC.
    k: Constants,
}

/// DCQCN's parameters on one NIC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Constants {
    g: f64,
    alpha_timer: Span,
    rate_timer: Span,
    byte_counter: u64,
    fast_recovery: u32,
    rate_ai: f64,
    rate_hai: f64,
    hyper_steps: HyperSteps,
    target: Target,
    min_rate: f64,
    line_rate: f64,
}

impl DcqcnControl {
    fn new(params: &Dcqcn, flow: &Flow) -> Self {
        let line_bps = integer::line_bps(flow.line_rate);
        let scaled = |rate| integer::scaled(rate, params.reference, line_bps) as f64;
        let k = Constants {
            g: params.g.as_f64().min(1.0),
            alpha_timer: params.alpha_timer.max(Span::from_ns(1)),
            rate_timer: params.rate_timer.max(Span::from_ns(1)),
            byte_counter: params.byte_counter.get(),
            fast_recovery: params.fast_recovery,
            rate_ai: scaled(params.rate_ai),
            rate_hai: scaled(params.rate_hai),
            hyper_steps: params.hyper_steps,
            target: params.target,
            min_rate: scaled(params.min_rate),
            line_rate: line_bps as f64,
        };
        Self {
            rate: k.line_rate,
            target: k.line_rate,
            alpha: 1.0,
            time_stage: 0,
            byte_stage: 0,
            sent: 0,
            alpha_due: None,
            rate_due: None,
            mss: flow.mss,
            k,
        }
    }

    /// Answers an event of the rate timer or of the byte counter, which is already counted.
    fn increase(&mut self) {
        // Without a byte counter the timer replaces it, one event behind: fast recovery, one step
        // of additive increase, hyper increase.
        let byte_stage = match self.k.byte_counter {
            0 => self.time_stage.saturating_sub(1),
            _ => self.byte_stage,
        };
        let most = self.time_stage.max(byte_stage);
        let least = self.time_stage.min(byte_stage);
        if least > self.k.fast_recovery {
            let steps = match self.k.hyper_steps {
                HyperSteps::Growing => f64::from(least - self.k.fast_recovery),
                HyperSteps::Constant => 1.0,
            };
            self.target += steps * self.k.rate_hai;
        } else if most > self.k.fast_recovery {
            self.target += self.k.rate_ai;
        }
        self.target = self.target.min(self.k.line_rate);
        self.rate = f64::midpoint(self.rate, self.target);
        if self.k.line_rate - self.rate < 1.0 {
            // Halving the distance alone would never reach the target.
            self.rate = self.k.line_rate;
            self.rate_due = None;
        }
    }

    /// Takes up to `events` steps, each counted by `count` first, while the rate is below line
    /// rate.
    fn steps(&mut self, events: u64, count: impl Fn(&mut Self)) {
        for _ in 0..events.min(MAX_STEPS) {
            if self.rate_due.is_none() {
                return;
            }
            count(self);
            self.increase();
        }
    }

    /// The number of intervals of a timer that have ended at `now`, the first one at `due`.
    fn ended(now: Time, due: Time, interval: Span) -> u64 {
        if now < due { 0 } else { 1 + now.since(due).as_ps() / interval.as_ps() }
    }
}

impl CongestionControl for DcqcnControl {
    /// DCQCN reacts only to CNPs.
    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    /// No answer to loss: PFC keeps the network lossless. Without PFC the transport's
    /// retransmission timer backs off.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_notification(&mut self, notification: &Notification) {
        let increased = self.time_stage > 0 || self.byte_stage > 0;
        if self.k.target == Target::Always || increased {
            self.target = self.rate;
        }
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.k.min_rate);
        self.alpha += self.k.g * (1.0 - self.alpha);
        (self.time_stage, self.byte_stage, self.sent) = (0, 0, 0);
        self.alpha_due = Some(notification.now + self.k.alpha_timer);
        self.rate_due = Some(notification.now + self.k.rate_timer);
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.rate_due.is_none() || self.k.byte_counter == 0 {
            return;
        }
        self.sent = self.sent.saturating_add(sent.bytes.get());
        let events = self.sent / self.k.byte_counter;
        self.sent %= self.k.byte_counter;
        self.steps(events, |flow| flow.byte_stage = flow.byte_stage.saturating_add(1));
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(due) = self.alpha_due {
            let intervals = Self::ended(now, due, self.k.alpha_timer);
            self.alpha *= libm::pow(1.0 - self.k.g, intervals as f64);
            let next = due + self.k.alpha_timer * intervals;
            self.alpha_due = (self.alpha > NEGLIGIBLE).then_some(next);
        }
        if let Some(due) = self.rate_due {
            let intervals = Self::ended(now, due, self.k.rate_timer);
            self.rate_due = Some(due + self.k.rate_timer * intervals);
            self.steps(intervals, |flow| flow.time_stage = flow.time_stage.saturating_add(1));
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match (self.alpha_due, self.rate_due) {
            (Some(alpha), Some(rate)) => Some(alpha.min(rate)),
            (alpha, rate) => alpha.or(rate),
        }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    fn limits(&self) -> Limits {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from the minimum rate to line rate"
        )]
        let rate = Rate::from_bps((self.rate as u64).max(1));
        Limits {
            cwnd: Bytes::MAX,
            pacing: Pacing::Rate(rate),
            burst: Burst { bytes: self.mss, rate: Rate::MAX },
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", self.rate / 1e9);
        emit("target_gbps", self.target / 1e9);
        emit("alpha", self.alpha);
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums and halves of whole numbers: exact")]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn start(params: &Dcqcn) -> DcqcnControl {
        let mut flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(40));
        flow.mss = Bytes::new(1_000);
        params.start(&flow)
    }

    fn cnp(control: &mut DcqcnControl, us: u64) {
        control.on_notification(&Notification::new(at(us)));
    }

    /// Serves the timers up to and including `us`.
    fn run(control: &mut DcqcnControl, us: u64) {
        while let Some(due) = control.next_timer().filter(|&due| due <= at(us)) {
            control.on_timer(due);
            assert!(control.next_timer().is_none_or(|next| next > due));
        }
    }

    fn send(control: &mut DcqcnControl, bytes: u64) {
        control.on_sent(&Sent::new(Time::ZERO, Bytes::new(bytes), Bytes::new(bytes)));
    }

    fn mbps(control: &DcqcnControl) -> (f64, f64) {
        (control.rate / 1e6, control.target / 1e6)
    }

    #[test]
    fn starts_at_line_rate_and_waits_for_a_cnp() {
        let mut control = start(&Dcqcn::default());
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_gbps(40)));
        assert_eq!(control.limits().burst.bytes, Bytes::new(1_000), "the NIC paces packets");
        assert_eq!(control.next_timer(), None);
        send(&mut control, 100_000_000);
        assert_eq!((control.byte_stage, control.alpha), (0, 1.0));
    }

    #[test]
    fn the_first_cnp_halves_the_rate_and_the_second_one_again() {
        let mut control = start(&Dcqcn::default());
        cnp(&mut control, 10);
        assert_eq!(mbps(&control), (20_000.0, 40_000.0));
        assert_eq!(control.alpha, 1.0, "(1 - g) 1 + g");
        cnp(&mut control, 60);
        assert_eq!(mbps(&control), (10_000.0, 20_000.0));
    }

    #[test]
    fn a_cnp_cuts_by_half_of_alpha_and_then_raises_it() {
        let mut control = start(&Dcqcn::default());
        (control.alpha, control.rate) = (0.5, 16e9);
        cnp(&mut control, 0);
        assert_eq!(mbps(&control), (12_000.0, 16_000.0));
        assert_eq!(control.alpha, 0.5 * 255.0 / 256.0 + 1.0 / 256.0);
    }

    #[test]
    fn alpha_decays_by_g_every_timer_without_a_cnp() {
        let mut control = start(&Dcqcn::default());
        cnp(&mut control, 0);
        run(&mut control, 54);
        assert_eq!(control.alpha, 1.0);
        run(&mut control, 55);
        assert_eq!(control.alpha, 255.0 / 256.0);
        run(&mut control, 550);
        // (255/256)^10 = 0.961617
        assert!((control.alpha - 0.961_617).abs() < 1e-6, "{}", control.alpha);
        // A CNP starts the timer anew.
        cnp(&mut control, 560);
        let raised = control.alpha;
        run(&mut control, 614);
        assert_eq!(control.alpha, raised);
        run(&mut control, 615);
        assert_eq!(control.alpha, raised * 255.0 / 256.0);
    }

    #[test]
    fn five_steps_of_fast_recovery_then_additive_increase() {
        let mut control = start(&Dcqcn::default());
        control.rate = 16e9;
        cnp(&mut control, 0);
        // From 8 towards 16 Gb/s, half of the distance every 55 us.
        for (us, rate) in [(55, 12_000.0), (110, 14_000.0), (165, 15_000.0), (220, 15_500.0)] {
            run(&mut control, us - 1);
            assert!(control.rate < rate * 1e6, "not before {us} us");
            run(&mut control, us);
            assert_eq!(mbps(&control), (rate, 16_000.0));
        }
        run(&mut control, 275);
        assert_eq!(mbps(&control), (15_750.0, 16_000.0), "the fifth");
        run(&mut control, 330);
        assert_eq!(mbps(&control), (15_895.0, 16_040.0), "40 Mb/s on the target first");
        run(&mut control, 385);
        assert_eq!(mbps(&control), (15_987.5, 16_080.0));
        cnp(&mut control, 400);
        assert_eq!((control.time_stage, control.byte_stage, control.sent), (0, 0, 0));
    }

    #[test]
    fn the_byte_counter_counts_steps_of_its_own() {
        let mut control = start(&Dcqcn { byte_counter: Bytes::from_kb(100), ..Dcqcn::default() });
        control.rate = 16e9;
        cnp(&mut control, 0);
        send(&mut control, 99_999);
        assert_eq!(mbps(&control).0, 8_000.0);
        send(&mut control, 1);
        assert_eq!(mbps(&control).0, 12_000.0);
        // Two events at once; the bytes left over count towards the next one.
        send(&mut control, 250_000);
        assert_eq!((mbps(&control).0, control.byte_stage, control.sent), (15_000.0, 3, 50_000));
        assert_eq!(control.time_stage, 0);
    }

    #[test]
    fn hyper_increase_when_both_have_done_their_steps() {
        let params = Dcqcn { byte_counter: Bytes::from_kb(100), ..Dcqcn::default() };
        let mut control = start(&params);
        control.rate = 16e9;
        cnp(&mut control, 0);
        send(&mut control, 500_000);
        run(&mut control, 275);
        assert_eq!((control.time_stage, control.byte_stage), (5, 5));
        assert_eq!(mbps(&control).1, 16_000.0, "ten steps of fast recovery");
        send(&mut control, 100_000);
        assert_eq!(mbps(&control).1, 16_040.0, "additive: the timer is at 5");
        run(&mut control, 330);
        assert_eq!(mbps(&control).1, 16_240.0, "hyper: 200 Mb/s");
        run(&mut control, 385);
        assert_eq!(mbps(&control).1, 16_440.0, "the byte counter is still at 6");
        send(&mut control, 100_000);
        assert_eq!(mbps(&control).1, 16_840.0, "the second step of both: 2 * 200 Mb/s");
        let mut control = start(&Dcqcn { hyper_steps: HyperSteps::Constant, ..params });
        control.rate = 16e9;
        cnp(&mut control, 0);
        run(&mut control, 385);
        send(&mut control, 700_000);
        // Timer: 5 fast, 2 additive; bytes: 5 additive (the timer is beyond 5), 2 hyper.
        assert_eq!(mbps(&control).1, 16_000.0 + 7.0 * 40.0 + 2.0 * 200.0);
    }

    #[test]
    fn without_a_byte_counter_one_additive_step_comes_before_hyper_increase() {
        let mut control = start(&Dcqcn {
            byte_counter: Bytes::ZERO,
            fast_recovery: 1,
            hyper_steps: HyperSteps::Constant,
            ..Dcqcn::default()
        });
        control.rate = 16e9;
        cnp(&mut control, 0);
        for (us, target) in [(55, 16_000.0), (110, 16_040.0), (165, 16_240.0), (220, 16_440.0)] {
            run(&mut control, us);
            send(&mut control, 100_000_000);
            assert_eq!(mbps(&control).1, target, "at {us} us");
        }
    }

    #[test]
    fn cnps_in_a_row_keep_the_target_where_asked() {
        let params = Dcqcn { target: Target::AfterIncrease, ..Dcqcn::default() };
        let mut control = start(&params);
        cnp(&mut control, 0);
        cnp(&mut control, 10);
        assert_eq!(mbps(&control), (10_000.0, 40_000.0));
        run(&mut control, 65);
        assert_eq!(mbps(&control), (25_000.0, 40_000.0));
        cnp(&mut control, 66);
        assert_eq!(mbps(&control).1, 25_000.0);
    }

    #[test]
    fn timers_stop_at_line_rate() {
        let mut control = start(&Dcqcn::default());
        cnp(&mut control, 0);
        // 20 Gb/s to within 1 b/s: 2^-35.
        run(&mut control, 55 * 35);
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_gbps(40)));
        assert_eq!(control.rate_due, None);
        run(&mut control, 1_000_000);
        assert_eq!(control.next_timer(), None, "alpha is gone");
    }

    #[test]
    fn a_late_timer_makes_up_for_what_it_missed() {
        let (mut late, mut punctual) = (start(&Dcqcn::default()), start(&Dcqcn::default()));
        for control in [&mut late, &mut punctual] {
            control.rate = 16e9;
            cnp(control, 0);
        }
        late.on_timer(at(400));
        run(&mut punctual, 400);
        assert_eq!(mbps(&late), mbps(&punctual));
        assert!((late.alpha - punctual.alpha).abs() < 1e-12);
        assert_eq!(late.next_timer(), punctual.next_timer());
        assert_eq!(late.next_timer(), Some(at(440)));
    }

    #[test]
    fn rates_scale_with_the_line_and_never_fall_below_the_minimum() {
        let flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(100));
        let mut control = Dcqcn::default().start(&flow);
        assert_eq!((control.k.rate_ai, control.k.rate_hai), (100e6, 500e6));
        for us in 0..100 {
            cnp(&mut control, us);
        }
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_mbps(100)));
    }

    #[test]
    fn two_flows_converge_to_the_same_rate() {
        // A queue of their sum less 40 Gb/s, and a CNP for both every 50 us while it is above 200
        // KB.
        let (mut first, mut second) = (start(&Dcqcn::default()), start(&Dcqcn::default()));
        (first.rate, second.rate) = (32e9, 8e9);
        let mut queue = 300e3_f64;
        for step in 1..=400_000 {
            let (now, us) = (at(step * 5), 5e-6);
            for control in [&mut first, &mut second] {
                run(control, step * 5);
                send(control, Rate::from_gbps(40).bytes_in(Span::from_us(5)).get() / 2);
                if step % 10 == 0 && queue > 200e3 {
                    control.on_notification(&Notification::new(now));
                }
            }
            queue = (queue + (first.rate + second.rate - 40e9) / 8.0 * us).max(0.0);
        }
        let ratio = first.rate / second.rate;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    }
}

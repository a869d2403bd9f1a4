//! Cubic: the window is a cubic function of the time since the last loss.
//!
//! Xu, Ha, Rhee, Goel and Eggert, "CUBIC for Fast and Long-Distance Networks", RFC 9438; the
//! original is Ha, Rhee and Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", ACM SIGOPS OSR
//! 42(5), 2008. The curve `W(t) = C (t - K)^3 + W_max` climbs fast from what a loss left, flattens
//! out at the window where the loss was, and goes on from there ever faster; since t is time and
//! not round trips, flows of different RTTs grow alike. Where Reno would be faster (small windows,
//! short round trips: most of a datacenter) the window follows an estimate of Reno instead.
//! `docs/algorithms/cubic.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow, Loss, LossCause};
use crate::param::{Configurable, Conflict, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Switch, Window, WindowControl, WindowLaw};
use crate::units::{Fraction, Span, Time};
use crate::{configurable_by_name, parameters, words};
use hystart::HyStart;

mod hystart;

/// The source of HyStart's constants.
const HYSTART: &str = "Linux, tcp_cubic.c";

parameters! {
    /// Cubic's parameters. The default is the preset `rfc9438`.
    pub struct Cubic {
        /// Steepness of the curve, in segments per second cubed.
        pub c: Fraction = Fraction::from_ratio(4, 10), in "0.000001" to "4000",
            source "RFC 9438, section 5.1";
        /// The part of the window that a loss leaves.
        pub beta: Fraction = Fraction::from_ratio(7, 10), in "0" to "1",
            source "RFC 9438, section 4.6";
        /// The part of the window that a mark leaves in congestion avoidance; in slow start a mark
        /// counts as a loss.
        pub beta_ecn: Fraction = Fraction::from_ratio(7, 10), in "0" to "1",
            source "RFC 9438, section 4.6";
        /// Whether a flow that lost below its last maximum aims lower still, to make room for
        /// others.
        pub fast_convergence: Switch = Switch::On, source "RFC 9438, section 4.7";
        /// Whether the window is at least as large as a Reno flow's.
        pub reno_friendly: Switch = Switch::On, source "RFC 9438, section 4.3";
        /// Time on the curve by which the window aims ahead.
        pub look_ahead: LookAhead = LookAhead::Srtt, source "RFC 9438, section 4.2";
        /// Least growth per round trip, as a part of the window, while no loss has told of a
        /// maximum.
        pub first_growth: Fraction = Fraction::ZERO, in "0" to "0.5",
            source "RFC 9438, section 4.10";
        /// The signs that end slow start before a loss (HyStart).
        pub hystart: Detect = Detect::Off,
            source "RFC 5681, section 3.1: slow start ends at a loss";
        /// Segments in the window below which HyStart does not look.
        pub hystart_low_window: u32 = 16, in "0" to "1000000", source HYSTART;
        /// ACKs that follow each other this closely belong to one train.
        pub hystart_ack_delta: Span = Span::from_ms(2), in "0ns" to "1s", source HYSTART;
        /// A train is long at the least RTT over this.
        pub hystart_train_divisor: u32 = 2, in "1" to "64", source HYSTART;
        /// The RTT has risen when it is up by the least RTT over this, within the bounds that
        /// follow.
        pub hystart_delay_divisor: u32 = 8, in "1" to "64", source HYSTART;
        /// A smaller rise of the RTT never counts.
        pub hystart_delay_min: Span = Span::from_ms(4), in "0ns" to "1s", source HYSTART;
        /// A larger rise of the RTT always counts.
        pub hystart_delay_max: Span = Span::from_ms(16), in "0ns" to "1s", source HYSTART;
        /// RTT samples of a round before their minimum is believed.
        pub hystart_min_samples: u32 = 8, in "0" to "1000", source HYSTART;
    }
}

words! {
    /// The time by which the window aims ahead on the curve.
    pub enum LookAhead {
        /// The smoothed RTT.
        Srtt = "srtt",
        /// The least RTT.
        MinRtt = "min-rtt",
    }
}

words! {
    /// The signs that end slow start before a loss.
    pub enum Detect {
        /// No sign: a loss ends slow start.
        Off = "off",
        /// ACKs that arrive in a long train.
        Train = "train",
        /// A rising RTT.
        Delay = "delay",
        /// Either of the two signs.
        Both = "both",
    }
}

impl Algorithm for Cubic {
    type Control = CubicControl;
    const NAME: &'static str = "cubic";

    fn start(&self, flow: &Flow) -> CubicControl {
        let beta = self.beta.min(Fraction::ONE);
        let law = CubicLaw {
            hystart: HyStart::new(self),
            c: self.c.as_f64().max(1e-6),
            beta,
            beta_ecn: self.beta_ecn.min(Fraction::ONE),
            alpha: 3.0 * (1.0 - beta.as_f64()) / (1.0 + beta.as_f64()),
            fast_convergence: self.fast_convergence.is_on(),
            reno_friendly: self.reno_friendly.is_on(),
            look_ahead: self.look_ahead,
            first_growth: self.first_growth.as_f64(),
            curve: Curve { w_max: 0.0, cwnd_prior: 0.0, epoch: None },
            before: None,
            clock: flow.now,
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Cubic {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is a cubic function of the time since the last loss",
        kind: Kind::Window,
        signal: "loss, ECN marks",
        needs: &[],
        transport: Transport::Stream,
        source: "RFC 9438",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "rfc9438", source: "RFC 9438", values: &[] },
        Preset {
            name: "linux",
            source: "Linux 6, tcp_cubic.c: 717/1024, 410/1024, HyStart",
            values: &[
                ("c", "0.400391"),
                ("beta", "0.700195"),
                ("beta_ecn", "0.700195"),
                ("look_ahead", "min-rtt"),
                ("first_growth", "0.05"),
                ("hystart", "both"),
            ],
        },
        Preset {
            name: "ns-3",
            source: "ns-3, TcpCubic",
            values: &[
                ("look_ahead", "min-rtt"),
                ("first_growth", "0.05"),
                ("hystart", "both"),
                ("hystart_train_divisor", "1"),
                ("hystart_delay_divisor", "1"),
                ("hystart_delay_max", "1s"),
            ],
        },
        Preset {
            name: "abe",
            source: "RFC 8511, section 3.1: what Cubic gains from; ns-3, TcpCubic with UseAbe",
            values: &[("beta_ecn", "0.85")],
        },
    ];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        if self.hystart_delay_min > self.hystart_delay_max {
            return Err(Conflict {
                name: "hystart_delay_min",
                rule: "must not be above",
                other: "hystart_delay_max",
            });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.governed_by_losses(Fraction::from_ratio(1, 2), emit);
        path.window_of_segments(emit);
        path.queue_for_losses(self.beta, emit);
    }
}

/// A flow under Cubic.
pub type CubicControl = WindowControl<CubicLaw>;

/// The rules of Cubic and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicLaw {
    /// The early end of slow start.
    hystart: HyStart,
    /// Steepness of the curve.
    c: f64,
    /// The part of the window that a loss leaves.
    beta: Fraction,
    /// The part of the window that a mark leaves.
    beta_ecn: Fraction,
    /// Segments per window of an AIMD flow that leaves beta at a loss and is as fast as Reno.
    alpha: f64,
    /// Whether `w_max` is lowered at a loss below the last one.
    fast_convergence: bool,
    /// Whether the window is at least `w_est`.
    reno_friendly: bool,
    /// The time that is added to that on the curve.
    look_ahead: LookAhead,
    /// Least growth per window while `w_max` is unknown.
    first_growth: f64,
    /// The curve that the window follows.
    curve: Curve,
    /// The curve before the last reduction, in case that it was for nothing.
    before: Option<Curve>,
    /// The last instant at which time on the curve was read.
    clock: Time,
}

/// The curve that the window follows, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Curve {
    /// The window at the last reduction, or less with fast convergence; zero while unknown.
    w_max: f64,
    /// The window at the last reduction.
    cwnd_prior: f64,
    /// Congestion avoidance since then; none before its first ACK.
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// The start of the stage, later by the time in which the window was not in use.
    start: Time,
    /// Seconds from the start to the plateau.
    k: f64,
    /// The window at the plateau.
    origin: f64,
    /// The window that Reno would have.
    w_est: f64,
}

impl Curve {
    /// The stage in which an ACK arrives `now`, with a window of `cwnd` segments.
    fn epoch(&mut self, c: f64, now: Time, cwnd: f64) -> &mut Epoch {
        // A window at its last maximum or above, or without one, starts on the plateau (RFC 9438,
        // sections 4.8 and 4.10).
        let origin = self.w_max.max(cwnd);
        self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: libm::cbrt((origin - cwnd) / c),
            origin,
            w_est: cwnd,
        })
    }
}

impl Epoch {
    /// The window at `seconds` into the stage.
    fn window(&self, c: f64, seconds: f64) -> f64 {
        let offset = seconds - self.k;
        c * offset * offset * offset + self.origin
    }
}

impl CubicLaw {
    /// Growth above the threshold, on an ACK of `acked` bytes.
    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack<'_>, acked: u64) {
        let (c, cwnd) = (self.c, window.segments());
        let (w_max, cwnd_prior) = (self.curve.w_max, self.curve.cwnd_prior);
        let epoch = self.curve.epoch(c, ack.now, cwnd);
        let seconds = ack.now.since(epoch.start).as_secs_f64();
        let ahead = match self.look_ahead {
            LookAhead::MinRtt if ack.min_rtt < Span::MAX => ack.min_rtt,
            _ => ack.srtt,
        };
        // The target is for one round trip from now, and growth is at most half the window in one.
        let target = epoch.window(c, seconds + ahead.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
        let least = if w_max > 0.0 { 0.0 } else { self.first_growth * cwnd };
        // More than a window on one ACK would overshoot the target.
        let acked = acked.min(window.cwnd());
        window.increase(acked, (target - cwnd).max(least));
        if self.reno_friendly {
            let alpha = if epoch.w_est < cwnd_prior { self.alpha } else { 1.0 };
            epoch.w_est += alpha * acked as f64 / (window.mss() as f64 * cwnd);
            if epoch.window(c, seconds) < epoch.w_est && window.segments() < epoch.w_est {
                window.set_segments(epoch.w_est);
            }
        }
    }

    /// Starts a new curve, from the next ACK on, as congestion reduces a window of `cwnd` segments.
    fn start_over(&mut self, cwnd: f64) {
        let converge = self.fast_convergence && cwnd < self.curve.w_max;
        let part = if converge { f64::midpoint(1.0, self.beta.as_f64()) } else { 1.0 };
        self.curve = Curve { w_max: cwnd * part, cwnd_prior: cwnd, epoch: None };
    }

    /// Time on the curve stands still for `idle`, up to `now`.
    fn hold(&mut self, now: Time, idle: Span) {
        if let Some(epoch) = &mut self.curve.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }
}

impl WindowLaw for CubicLaw {
    fn measure(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let since_last = ack.now.since(self.clock);
        self.clock = ack.now;
        if !ack.cwnd_limited {
            self.hold(ack.now, since_last);
        }
        // No sign of HyStart counts beside a mark.
        if ack.ce_bytes.is_zero()
            && window.in_slow_start()
            && self.hystart.ends_slow_start(ack, window.segments())
        {
            window.set_ssthresh(window.cwnd());
        }
    }

    fn left(&mut self, window: &Window, sign: Sign) -> u64 {
        self.before = match sign {
            Sign::Loss => Some(self.curve),
            Sign::Mark => None, // no loss: nothing that could turn out to be false
        };
        self.start_over(window.segments());
        let gentle = sign == Sign::Mark && !window.in_slow_start();
        window.part(if gentle { self.beta_ecn } else { self.beta })
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let acked = window.left_for_avoidance(ack.bytes.get());
        if acked > 0 {
            self.avoid_congestion(window, ack, acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.cause != LossCause::Detected {
            // The window before the silence is no guide: the next stage starts on a plateau.
            (self.curve.w_max, self.curve.epoch) = (0.0, None);
            self.hystart.restart();
        }
    }

    fn on_undo(&mut self) {
        self.curve = self.before.take().unwrap_or(self.curve);
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        self.clock = now;
        self.hold(now, idle);
    }

    fn on_mss_change(&mut self, _window: &Window, ratio: f64) {
        for curve in [Some(&mut self.curve), self.before.as_mut()].into_iter().flatten() {
            curve.w_max *= ratio;
            curve.cwnd_prior *= ratio;
            if let Some(epoch) = &mut curve.epoch {
                epoch.origin *= ratio;
                epoch.w_est *= ratio;
            }
        }
    }

    fn gauges(&self, window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        let kb = window.mss() as f64 / 1e3;
        emit("w_max_kb", self.curve.w_max * kb);
        if let Some(epoch) = self.curve.epoch {
            emit("w_est_kb", epoch.w_est * kb);
        }
    }
}

#[cfg(test)]
mod tests;

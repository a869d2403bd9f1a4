//! TCP Westwood+: after a loss the window is what the measured bandwidth fills without a queue.
//!
//! Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
//! Transport over Wireless Links", MobiCom 2001; Grieco and Mascolo, "Performance Evaluation and
//! Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004.
//! Between losses the window grows as Reno's. Once per round the acknowledged data over the time
//! that it took is a bandwidth sample, which a low-pass filter smooths; the answer to a loss is the
//! estimate times the least RTT. `docs/algorithms/westwood.md` has the equations and the
//! departures.
//!
//! The least RTT comes from [`RttSample::total`](crate::RttSample), what a TCP sender sees.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::{Bytes, Fraction, Span, Time};
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// Westwood+'s parameters. The default is the preset `westwood-plus`.
    pub struct Westwood {
        /// The smoothing of bandwidth samples.
        pub filter: Filter = Filter::Tustin,
            source "Mascolo et al., MobiCom 2001; ns-3 TcpWestwoodPlus";
        /// Weight of the old estimate in the filter.
        pub alpha: Fraction = Fraction::from_ratio(9, 10), in "0" to "0.999999",
            source "Grieco and Mascolo, CCR 2004; ns-3 TcpWestwoodPlus";
    }
}

words! {
    /// The smoothing of bandwidth samples.
    pub enum Filter {
        /// The old estimate and the mean of the last two samples: Tustin's approximation.
        Tustin = "tustin",
        /// No smoothing: the last sample is the estimate.
        None = "none",
    }
}

impl Algorithm for Westwood {
    type Control = WestwoodControl;
    const NAME: &'static str = "westwood";

    fn start(&self, flow: &Flow) -> WestwoodControl {
        let law = WestwoodLaw {
            round: 0,
            measured_from: None,
            estimate: None,
            min_rtt: Span::MAX,
            filter: self.filter,
            alpha: self.alpha.as_f64(),
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Westwood {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window falls at a loss to the measured bandwidth times the least RTT",
        kind: Kind::Window,
        signal: "loss, rate of ACKs, least RTT",
        needs: &[],
        transport: Transport::Stream,
        source: "Mascolo et al., MobiCom 2001; Grieco and Mascolo, CCR 2004",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "westwood-plus",
            source: "Grieco and Mascolo, CCR 2004; ns-3 TcpWestwoodPlus",
            values: &[],
        },
        Preset {
            name: "unfiltered",
            source: "ns-3 TcpWestwoodPlus, its other filter type",
            values: &[("filter", "none")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        // A loss leaves what the flow has on the way without its part of the queue.
        let all = path.held().get().max(1) as f64;
        let left = (path.product * path.flows).get() as f64 / all;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from zero to a thousand"
        )]
        path.governed_by_losses(Fraction::from_ratio((left * 1e3) as u32, 1_000), emit);
        path.window_of_segments(emit);
    }
}

/// A bandwidth and the sample that it last took in, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    bandwidth: f64,
    sample: f64,
}

/// A flow under Westwood+.
pub type WestwoodControl = WindowControl<WestwoodLaw>;

/// The rules of Westwood+ and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WestwoodLaw {
    /// The round that is running.
    round: u64,
    /// The start of its measurement, and the payload delivered by then.
    measured_from: Option<(Time, Bytes)>,
    /// `None` before the first sample.
    estimate: Option<Estimate>,
    /// The least RTT of the connection, as the last ACK told it.
    min_rtt: Span,
    filter: Filter,
    alpha: f64,
}

impl WestwoodLaw {
    /// Takes a sample per round: the payload delivered since the last one, over the time since.
    fn sample(&mut self, ack: &Ack<'_>) {
        let Some((since, delivered)) = self.measured_from else {
            self.measured_from = Some((ack.now, ack.delivered));
            self.round = ack.round;
            return;
        };
        let seconds = ack.now.since(since).as_secs_f64();
        if ack.round != self.round && seconds > 0.0 {
            self.round = ack.round;
            self.measured_from = Some((ack.now, ack.delivered));
            self.add_sample(ack.delivered.saturating_sub(delivered).get() as f64 / seconds);
        }
    }

    fn add_sample(&mut self, sample: f64) {
        let bandwidth = match (self.filter, self.estimate) {
            (Filter::Tustin, Some(last)) => {
                self.alpha * last.bandwidth
                    + (1.0 - self.alpha) * f64::midpoint(sample, last.sample)
            }
            // An empty filter is filled by the first sample: the way up from zero takes many
            // rounds.
            (Filter::Tustin, None) | (Filter::None, _) => sample,
        };
        self.estimate = Some(Estimate { bandwidth, sample });
    }

    /// The bytes that the estimated bandwidth keeps in flight without a queue; before the first
    /// estimate half the window, as in Reno.
    fn pipe(&self, window: &Window) -> u64 {
        match self.estimate {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative, and the cast saturates"
            )]
            Some(estimate) if self.min_rtt < Span::MAX => {
                (estimate.bandwidth * self.min_rtt.as_secs_f64()) as u64
            }
            _ => window.half(),
        }
    }
}

impl WindowLaw for WestwoodLaw {
    fn measure(&mut self, _window: &mut Window, ack: &Ack<'_>) {
        self.min_rtt = ack.min_rtt;
        self.sample(ack);
    }

    fn left(&mut self, window: &Window, _sign: Sign) -> u64 {
        self.pipe(window)
    }

    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
        if let Some(before) = reduced_from {
            // No reduction raises a window, not even one that a timeout has left at one segment.
            window.set_cwnd(window.cwnd().min(before));
        } else if Window::may_grow(ack) {
            self.grow(window, ack);
        }
    }

    /// A round that contains a pause measures the application. An ACK for all data in flight is no
    /// pause.
    fn on_restart(&mut self, _now: Time, idle: Span) {
        if !idle.is_zero() {
            self.measured_from = None;
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        if let Some(estimate) = self.estimate {
            emit("bandwidth_gbps", estimate.bandwidth * 8.0 / 1e9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionControl, Loss, LossCause, Rate, Spurious};

    const MSS: u64 = 1_000;

    fn start(westwood: Westwood) -> WestwoodControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(100));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(100 * MSS));
        westwood.start(&flow)
    }

    /// An ACK that ends `round` at `at`, with `delivered` in all, on a path of 40 us.
    fn ack(round: u64, at: Span, delivered: u64) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO + at, Time::ZERO, Bytes::new(MSS));
        (ack.round, ack.delivered) = (round, Bytes::new(delivered));
        ack.min_rtt = Span::from_us(40);
        ack
    }

    /// Rounds of 50 us that deliver this many bytes each.
    fn after(westwood: Westwood, rounds: &[u64]) -> WestwoodControl {
        let mut control = start(westwood);
        control.on_ack(&ack(1, Span::from_us(50), MSS));
        let (mut delivered, mut at) = (MSS, Span::from_us(50));
        for (round, bytes) in (2..).zip(rounds) {
            (delivered, at) = (delivered + bytes, at + Span::from_us(50));
            control.on_ack(&ack(round, at, delivered));
        }
        control
    }

    fn gbps(control: &WestwoodControl) -> f64 {
        control.law.estimate.unwrap().bandwidth * 8.0 / 1e9
    }

    fn loss() -> Loss {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(1_000), Bytes::new(100_000));
        loss
    }

    #[test]
    fn filter_takes_a_tenth_of_the_mean_of_two_samples() {
        // 62,500 bytes in 50 us are 10 Gb/s, 125,000 are 20, none is none.
        let cases: [(&[u64], f64); 4] = [
            (&[62_500], 10.0),
            (&[62_500, 125_000], 0.9 * 10.0 + 0.1 * 15.0),
            (&[62_500, 125_000, 125_000], 0.9 * 10.5 + 0.1 * 20.0),
            (&[62_500, 125_000, 125_000, 0], 0.9 * 11.45 + 0.1 * 10.0),
        ];
        for (rounds, expected) in cases {
            let got = gbps(&after(Westwood::default(), rounds));
            // 0.9 is the nearest 2^-20 to it.
            assert!((got - expected).abs() < 1e-4, "{rounds:?}: {got}, not {expected}");
        }
        let unfiltered = Westwood { filter: Filter::None, ..Westwood::default() };
        assert!((gbps(&after(unfiltered, &[62_500, 125_000])) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn one_sample_per_round_over_the_time_that_it_took() {
        let mut control = start(Westwood::default());
        control.on_ack(&ack(1, Span::from_us(10), MSS));
        for i in 1..=9 {
            control.on_ack(&ack(1, Span::from_us(10 + i), (1 + i) * MSS));
            assert_eq!(control.law.estimate, None);
        }
        control.on_ack(&ack(2, Span::from_us(20), 11 * MSS));
        assert!((gbps(&control) - 8.0).abs() < 1e-9, "10 KB in 10 us");
        // A microsecond, and a tenth of one, are no less exact.
        let unfiltered = Westwood { filter: Filter::None, ..Westwood::default() };
        let mut control = start(unfiltered);
        control.on_ack(&ack(1, Span::from_us(1), 0));
        control.on_ack(&ack(2, Span::from_ns(2_000), 125_000));
        assert!((gbps(&control) - 1_000.0).abs() < 1e-6);
        control.on_ack(&ack(3, Span::from_ns(2_000), 130_000));
        assert!((gbps(&control) - 1_000.0).abs() < 1e-6, "no time has passed: no sample yet");
        control.on_ack(&ack(3, Span::from_ns(2_100), 137_500));
        assert!((gbps(&control) - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn pauses_are_not_measured() {
        let mut control = after(Westwood::default(), &[62_500]);
        control.on_restart(Time::ZERO, Span::from_secs(1));
        control.on_ack(&ack(3, Span::from_secs(1), 64_000));
        control.on_ack(&ack(4, Span::from_secs(1) + Span::from_us(50), 126_500));
        assert!((gbps(&control) - 10.0).abs() < 1e-4);
    }

    #[test]
    fn a_window_that_one_ack_answers_is_measured_all_the_same() {
        let mut control = start(Westwood::default());
        for round in 1..=2 {
            control.on_ack(&ack(round, Span::from_us(50 * round), 62_500 * round));
            control.on_restart(Time::ZERO + Span::from_us(50 * round), Span::ZERO);
        }
        assert!((gbps(&control) - 10.0).abs() < 1e-4);
    }

    #[test]
    fn loss_leaves_the_bandwidth_times_the_least_rtt() {
        // 10 Gb/s times 40 us are 50,000 bytes.
        let mut control = after(Westwood::default(), &[62_500]);
        control.on_loss(&loss());
        assert_eq!((control.window.cwnd(), control.window.ssthresh()), (50_000, 50_000));
        control.on_loss(&Loss { end: Bytes::new(2_000), in_recovery: true, ..loss() });
        assert_eq!(control.window.cwnd(), 50_000, "once per window");
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!(control.window.cwnd(), 100_000);
        let timeout = Loss { cause: LossCause::Timeout, end: Bytes::new(100_001), ..loss() };
        control.on_loss(&timeout);
        assert_eq!((control.window.cwnd(), control.window.ssthresh()), (MSS, 50_000));
    }

    #[test]
    fn loss_raises_no_window_and_opens_slow_start_to_what_the_path_holds() {
        // 40 Gb/s times 40 us are 200,000 bytes, twice the window: a loss that is not congestion.
        let mut control = after(Westwood::default(), &[250_000]);
        control.on_loss(&loss());
        assert_eq!((control.window.cwnd(), control.window.ssthresh()), (100_000, 200_000));
    }

    #[test]
    fn before_the_first_estimate_and_on_a_dead_path_it_is_reno() {
        let mut control = start(Westwood::default());
        control.on_loss(&loss());
        assert_eq!(control.window.cwnd(), 50_000);
        let mut control = after(Westwood::default(), &[0]);
        control.on_loss(&loss());
        assert_eq!(control.window.cwnd(), 2 * MSS, "two segments at least");
    }

    #[test]
    fn marks_are_losses_and_growth_is_renos() {
        let mut control = after(Westwood::default(), &[62_500]);
        let mut marked = ack(2, Span::from_us(100), 63_500);
        (marked.ce_bytes, marked.end, marked.next) =
            (Bytes::new(MSS), Bytes::new(1_000), Bytes::new(100_000));
        (marked.cwnd_limited, marked.bytes) = (true, Bytes::new(MSS));
        control.on_ack(&marked);
        control.on_ack(&Ack { ce_bytes: Bytes::ZERO, ..marked });
        assert_eq!(control.window.cwnd(), 50_000 + MSS / 50);
    }
}

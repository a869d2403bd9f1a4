//! NewReno: a segment more per round trip, half the window at a loss.
//!
//! Allman, Paxson and Blanton, "TCP Congestion Control", RFC 5681, with the recovery of Henderson,
//! Floyd, Gurtov and Nishida, "The NewReno Modification to TCP's Fast Recovery Algorithm", RFC
//! 6582. Below the slow-start threshold the window grows by what is acknowledged, which doubles it
//! per round trip; above it by one segment per window. The first loss of a window of data halves
//! both, a timeout leaves one segment. What RFC 6582 adds, to leave recovery only when all that was
//! out at the loss is acknowledged, is the carrier's: its `in_recovery` covers partial
//! acknowledgements. `docs/algorithms/newreno.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// NewReno's parameters. The default is the preset `rfc6582`.
    pub struct NewReno {
        /// The part of the window that a loss leaves.
        pub beta_loss: Fraction = Fraction::from_ratio(1, 2), in "0" to "1",
            source "RFC 5681, equation 4";
        /// The part of the window that a mark leaves in congestion avoidance; in slow start a mark
        /// counts as a loss.
        pub beta_ecn: Fraction = Fraction::from_ratio(1, 2), in "0" to "1",
            source "RFC 3168, section 6.1.2";
        /// The unit that congestion avoidance counts on the way to its segment per round trip.
        pub counting: Counting = Counting::Bytes, source "RFC 5681, section 3.1 (recommended)";
    }
}

words! {
    /// The unit that congestion avoidance counts.
    pub enum Counting {
        /// Acknowledged bytes: one segment per window, however many ACKs tell of it (RFC 3465).
        Bytes = "bytes",
        /// ACKs, each as one segment (RFC 5681, equation 3): half a segment per window where one
        /// ACK answers two segments.
        Acks = "acks",
    }
}

impl Algorithm for NewReno {
    type Control = NewRenoControl;
    const NAME: &'static str = "newreno";

    fn start(&self, flow: &Flow) -> NewRenoControl {
        let law = NewRenoLaw {
            beta_loss: self.beta_loss.min(Fraction::ONE),
            beta_ecn: self.beta_ecn.min(Fraction::ONE),
            counting: self.counting,
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for NewReno {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window gains a segment per round trip, and a loss halves it",
        kind: Kind::Window,
        signal: "loss, ECN marks",
        needs: &[],
        transport: Transport::Stream,
        source: "RFC 5681 and RFC 6582",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "rfc6582", source: "RFC 5681, RFC 6582, RFC 3168", values: &[] },
        Preset {
            name: "abe",
            source: "RFC 8511, section 3: the alternative backoff with ECN",
            values: &[("beta_ecn", "0.8")],
        },
        Preset {
            name: "ns-3-abe",
            source: "ns-3, TcpNewReno and TcpLinuxReno with UseAbe",
            values: &[("beta_ecn", "0.7"), ("counting", "acks")],
        },
        Preset { name: "ns-3", source: "ns-3, TcpNewReno", values: &[("counting", "acks")] },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.governed_by_losses(self.beta_loss, emit);
        path.window_of_segments(emit);
        path.queue_for_losses(self.beta_loss, emit);
    }
}

/// A flow under NewReno.
pub type NewRenoControl = WindowControl<NewRenoLaw>;

/// The rules of NewReno and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRenoLaw {
    /// The part of the window that a loss leaves.
    beta_loss: Fraction,
    /// The part of the window that a mark leaves.
    beta_ecn: Fraction,
    /// The unit that congestion avoidance counts.
    counting: Counting,
}

impl WindowLaw for NewRenoLaw {
    fn left(&mut self, window: &Window, sign: Sign) -> u64 {
        let gentle = sign == Sign::Mark && !window.in_slow_start();
        window.part(if gentle { self.beta_ecn } else { self.beta_loss })
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let bytes = ack.bytes.get();
        let per_ack = self.counting == Counting::Acks && !window.in_slow_start();
        window.reno(if per_ack { bytes.min(window.mss()) } else { bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, Loss, LossCause, Rate, Spurious, Time};

    const MSS: u64 = 1_000;

    /// A window of 20 segments, in slow start.
    fn control(params: NewReno) -> NewRenoControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(20 * MSS));
        params.start(&flow)
    }

    fn ack(bytes: u64, end: u64, next: u64) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(bytes));
        (ack.end, ack.next) = (Bytes::new(end), Bytes::new(next));
        ack.cwnd_limited = true;
        ack
    }

    fn marked(end: u64, next: u64) -> Ack<'static> {
        Ack { ce_bytes: Bytes::new(MSS), ..ack(MSS, end, next) }
    }

    fn loss(end: u64, next: u64, cause: LossCause) -> Loss {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), cause);
        (loss.end, loss.next) = (Bytes::new(end), Bytes::new(next));
        loss
    }

    fn cwnd(control: &NewRenoControl) -> u64 {
        control.limits().cwnd.get()
    }

    #[test]
    fn slow_start_doubles_per_round_trip() {
        let mut control = control(NewReno::default());
        for expected in [40_000, 80_000, 160_000] {
            for _ in 0..cwnd(&control) / MSS {
                control.on_ack(&ack(MSS, 0, 0));
            }
            assert_eq!(cwnd(&control), expected);
        }
    }

    #[test]
    fn a_loss_halves_the_window_once_per_window_of_data() {
        let mut control = control(NewReno::default());
        control.on_loss(&loss(1_000, 20_000, LossCause::Detected));
        control.on_loss(&loss(5_000, 20_000, LossCause::Detected));
        assert_eq!(cwnd(&control), 10_000);
        control.on_loss(&loss(21_000, 30_000, LossCause::Detected));
        assert_eq!(cwnd(&control), 5_000, "data sent after the first reduction");
    }

    #[test]
    fn counting_acks_adds_half_a_segment_where_one_answers_two() {
        for (counting, grown) in [(Counting::Bytes, MSS), (Counting::Acks, MSS / 2)] {
            let mut control = control(NewReno { counting, ..NewReno::default() });
            control.on_loss(&loss(1_000, 20_000, LossCause::Detected)); // to 10 segments
            (0..5).for_each(|_| control.on_ack(&ack(2 * MSS, 0, 0)));
            let grew = cwnd(&control) - 10_000;
            assert!((grown * 9 / 10..=grown).contains(&grew), "{counting}: {grew}");
        }
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_round_trip() {
        let mut control = control(NewReno::default());
        control.on_loss(&loss(1_000, 20_000, LossCause::Detected));
        for round in 1..=10 {
            // One ACK for a whole window adds exactly one segment (RFC 5681, equation 3).
            let window = cwnd(&control);
            control.on_ack(&ack(window, 0, 0));
            assert_eq!(cwnd(&control), 10_000 + round * MSS);
        }
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_half_the_window_as_threshold() {
        let mut control = control(NewReno::default());
        control.on_loss(&loss(1_000, 20_000, LossCause::Timeout));
        assert_eq!(cwnd(&control), MSS);
        // Slow start takes nine segments to the threshold of ten; a window more adds one.
        control.on_ack(&ack(9_000, 0, 0));
        assert_eq!(cwnd(&control), 10_000);
        control.on_ack(&ack(10_000, 0, 0));
        assert_eq!(cwnd(&control), 11_000);
    }

    #[test]
    fn nothing_grows_in_recovery_unless_limited_or_by_nothing() {
        let mut control = control(NewReno::default());
        control.on_ack(&Ack { in_recovery: true, ..ack(MSS, 0, 0) });
        control.on_ack(&Ack { cwnd_limited: false, ..ack(MSS, 0, 0) });
        control.on_ack(&ack(0, 0, 0));
        assert_eq!(cwnd(&control), 20_000);
    }

    #[test]
    fn a_mark_is_answered_once_per_window_and_by_no_growth() {
        let mut control = control(NewReno::default());
        control.on_ack(&marked(1_000, 20_000));
        control.on_ack(&marked(2_000, 21_000));
        assert_eq!(cwnd(&control), 10_000);
        control.on_loss(&loss(3_000, 22_000, LossCause::Detected));
        assert_eq!(cwnd(&control), 10_000, "the same window of data");
    }

    #[test]
    fn abe_backs_off_less_from_marks_but_not_in_slow_start() {
        let beta_ecn = Fraction::from_ratio(3, 4);
        let mut control = control(NewReno { beta_ecn, ..NewReno::default() });
        control.on_ack(&marked(1_000, 20_000));
        assert_eq!(cwnd(&control), 10_000, "slow start");
        control.on_ack(&marked(21_000, 30_000));
        assert_eq!(cwnd(&control), 7_500, "congestion avoidance");
        control.on_loss(&loss(31_000, 40_000, LossCause::Detected));
        assert_eq!(cwnd(&control), 3_750, "a loss");
    }

    #[test]
    fn a_false_loss_is_undone() {
        let mut control = control(NewReno::default());
        control.on_loss(&loss(1_000, 20_000, LossCause::Timeout));
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!(cwnd(&control), 20_000);
        control.on_ack(&ack(MSS, 0, 0));
        assert_eq!(cwnd(&control), 21_000, "slow start again");
    }

    #[test]
    fn the_sawtooth_carries_the_square_root_law() {
        // Losing one segment per cycle of W/2 to W segments: 1/p = 3/8 W^2 (Mathis et al.), so the
        // window at the loss is sqrt(8 / (3 p)). One segment in 2,400 lost makes it 80.
        let mut control = control(NewReno::default());
        let (mut sent, mut peaks) = (0_u64, [0.0; 40]);
        for peak in &mut peaks {
            for _ in 0..2_400 {
                sent += MSS;
                control.on_ack(&ack(MSS, sent, sent));
            }
            *peak = cwnd(&control) as f64 / MSS as f64;
            sent += MSS;
            control.on_loss(&loss(sent, sent, LossCause::Detected));
        }
        let mean = peaks[20..].iter().sum::<f64>() / 20.0;
        assert!((mean / 80.0 - 1.0).abs() < 0.02, "{mean} segments at the loss");
    }
}

//! HighSpeed TCP: AIMD whose steps grow with the window.
//!
//! Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649. Reno holds a window of w segments
//! only where one in `w^2 / 1.44` is lost or less, which no large network can offer. Above
//! `low_window` the increase per round trip a(w) grows with the window and the decrease b(w)
//! shrinks, so that the window as a function of the loss rate is a line in logarithms through two
//! chosen points: Reno's 38 segments at 10^-3, and 83,000 segments at 10^-7.
//! `docs/algorithms/highspeed.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Conflict, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// HighSpeed's parameters. The default is the preset `rfc3649`.
    pub struct HighSpeed {
        /// Whether a(w) and b(w) come from the table of the RFC or from its formula.
        pub response: Response = Response::Table,
            source "RFC 3649, appendix B; Linux and ns-3 have the table too";
        /// `Low_Window` of the formula: up to this many segments the flow is Reno.
        pub low_window: u32 = 38, in "2" to "1000000", source "RFC 3649, section 5";
        /// `High_Window` of the formula, in segments.
        pub high_window: u32 = 83_000, in "3" to "100000000", source "RFC 3649, section 5";
        /// 1 / `High_P`: of how many segments one is lost at `high_window`.
        pub high_spacing: u32 = 10_000_000, in "1" to "4000000000", source "RFC 3649, section 5";
        /// `High_Decrease`: the part of the window that a loss takes at `high_window`.
        pub high_decrease: Fraction = Fraction::from_ratio(1, 10), in "0.001" to "0.5",
            source "RFC 3649, section 5";
    }
}

words! {
    /// The source of a(w) and b(w).
    pub enum Response {
        /// The table.
        Table = "table",
        /// The formula.
        Formula = "formula",
    }
}

/// RFC 3649, appendix B: up to w segments, a(w) segments more per round trip, and a loss takes b(w)
/// per cent. Above the last row its values hold.
#[rustfmt::skip]
const TABLE: [(u32, u32, u32); 73] = [
    (38, 1, 50), (118, 2, 44), (221, 3, 41), (347, 4, 38), (495, 5, 37), (663, 6, 35), (851, 7, 34),
    (1058, 8, 33), (1284, 9, 32), (1529, 10, 31), (1793, 11, 30), (2076, 12, 29), (2378, 13, 28),
    (2699, 14, 28), (3039, 15, 27), (3399, 16, 27), (3778, 17, 26), (4177, 18, 26), (4596, 19, 25),
    (5036, 20, 25), (5497, 21, 24), (5979, 22, 24), (6483, 23, 23), (7009, 24, 23), (7558, 25, 22),
    (8130, 26, 22), (8726, 27, 22), (9346, 28, 21), (9991, 29, 21), (10661, 30, 21),
    (11358, 31, 20), (12082, 32, 20), (12834, 33, 20), (13614, 34, 19), (14424, 35, 19),
    (15265, 36, 19), (16137, 37, 19), (17042, 38, 18), (17981, 39, 18), (18955, 40, 18),
    (19965, 41, 17), (21013, 42, 17), (22101, 43, 17), (23230, 44, 17), (24402, 45, 16),
    (25618, 46, 16), (26881, 47, 16), (28193, 48, 16), (29557, 49, 15), (30975, 50, 15),
    (32450, 51, 15), (33986, 52, 15), (35586, 53, 14), (37253, 54, 14), (38992, 55, 14),
    (40808, 56, 14), (42707, 57, 13), (44694, 58, 13), (46776, 59, 13), (48961, 60, 13),
    (51258, 61, 13), (53677, 62, 12), (56230, 63, 12), (58932, 64, 12), (61799, 65, 12),
    (64851, 66, 11), (68113, 67, 11), (71617, 68, 11), (75401, 69, 10), (79517, 70, 10),
    (84035, 71, 10), (89053, 72, 10), (94717, 73, 9),
];

impl Algorithm for HighSpeed {
    type Control = HighSpeedControl;
    const NAME: &'static str = "highspeed";

    fn start(&self, flow: &Flow) -> HighSpeedControl {
        let law = match self.response {
            Response::Table => HighSpeedLaw::Table,
            Response::Formula => HighSpeedLaw::Formula(Line::new(self)),
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for HighSpeed {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window gains more and loses less the larger it is",
        kind: Kind::Window,
        signal: "loss, ECN marks",
        needs: &[],
        transport: Transport::Stream,
        source: "RFC 3649",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc3649",
            source: "RFC 3649, appendix B; Linux, tcp_highspeed.c; ns-3, TcpHighSpeed",
            values: &[],
        },
        Preset {
            name: "formula",
            source: "RFC 3649, section 5",
            values: &[("response", "formula")],
        },
    ];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        let conflict = |name, rule, other| Err(Conflict { name, rule, other });
        if self.low_window >= self.high_window {
            return conflict("low_window", "must be below", "high_window");
        }
        // The table was made for the default values: others would be ignored.
        let default = Self::default();
        let set = [
            ("low_window", self.low_window != default.low_window),
            ("high_window", self.high_window != default.high_window),
            ("high_spacing", self.high_spacing != default.high_spacing),
            ("high_decrease", self.high_decrease != default.high_decrease),
        ];
        match set.into_iter().find(|&(_, set)| set) {
            Some((name, _)) if self.response == Response::Table => {
                conflict(name, "has no effect with", "response")
            }
            _ => Ok(()),
        }
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.governed_by_losses(Fraction::from_ratio(1, 2), emit);
        path.window_of_segments(emit);
        path.queue_for_losses(Fraction::from_ratio(1, 2), emit);
    }
}

/// The response function as a line in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Segments up to which the flow is Reno.
    low_window: f64,
    /// Segments above which a(w) and b(w) stay as they are there.
    high_window: f64,
    /// The loss rate at `low_window`.
    low_p: f64,
    /// The power by which the loss rate falls with the window, about -1.2.
    slope: f64,
    /// The decline of b(w) per factor e of the window.
    b_slope: f64,
}

impl Line {
    fn new(params: &HighSpeed) -> Self {
        let low_window = f64::from(params.low_window.max(2));
        let high_window = f64::from(params.high_window).max(low_window + 1.0);
        // Where the line meets Reno's w = 1.2 / sqrt(p): 10^-3 at 38 segments, as the RFC rounds
        // it.
        let low_p = 1.44 / (low_window * low_window);
        let high_p = 1.0 / f64::from(params.high_spacing.max(1));
        let log_ratio = libm::log(high_window / low_window);
        Self {
            low_window,
            high_window,
            low_p,
            slope: libm::log(high_p / low_p) / log_ratio,
            b_slope: (0.5 - params.high_decrease.as_f64().min(0.5)) / log_ratio,
        }
    }

    /// a(w) and b(w).
    fn at(&self, segments: f64) -> (f64, f64) {
        if segments <= self.low_window {
            return (1.0, 0.5);
        }
        let w = segments.min(self.high_window);
        let b = 0.5 - self.b_slope * libm::log(w / self.low_window);
        let p = self.low_p * libm::pow(w / self.low_window, self.slope);
        // No slower than Reno, and no faster than slow start.
        ((w * w * p * 2.0 * b / (2.0 - b)).clamp(1.0, w), b)
    }
}

/// A flow under HighSpeed TCP.
pub type HighSpeedControl = WindowControl<HighSpeedLaw>;

/// The increase and the decrease as functions of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HighSpeedLaw {
    /// The rows of the RFC.
    Table,
    /// The formula of the RFC.
    Formula(Line),
}

impl HighSpeedLaw {
    /// a(w), segments per round trip, and b(w), the part that a loss takes.
    fn at(&self, segments: f64) -> (f64, f64) {
        match self {
            Self::Table => {
                let above = TABLE.partition_point(|row| f64::from(row.0) < segments);
                let (_, a, b_percent) = TABLE[above.min(TABLE.len() - 1)];
                (f64::from(a), f64::from(b_percent) / 100.0)
            }
            Self::Formula(line) => line.at(segments),
        }
    }
}

impl WindowLaw for HighSpeedLaw {
    fn left(&mut self, window: &Window, _sign: Sign) -> u64 {
        let (_, b) = self.at(window.segments());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between half the window and the window"
        )]
        let taken = (window.cwnd() as f64 * b) as u64;
        window.cwnd() - taken
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let acked = window.left_for_avoidance(ack.bytes.get());
        if acked > 0 {
            let (a, _) = self.at(window.segments());
            window.increase(acked, a);
        }
    }

    fn gauges(&self, window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        let (a, b) = self.at(window.segments());
        emit("a_segments", a);
        emit("b", b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, Loss, LossCause, Rate, Spurious, Time};

    const MSS: u64 = 1_000;

    /// A window of `segments` in congestion avoidance.
    fn control(params: HighSpeed, segments: u64) -> HighSpeedControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
        let mut control = params.start(&flow);
        control.window.set_ssthresh(segments * MSS);
        control
    }

    fn formula() -> HighSpeed {
        HighSpeed { response: Response::Formula, ..HighSpeed::default() }
    }

    fn ack(bytes: u64) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(bytes));
        ack.cwnd_limited = true;
        ack
    }

    fn cwnd(control: &HighSpeedControl) -> u64 {
        control.limits().cwnd.get()
    }

    /// b(w) of section 5 and a(w) with the appendix's p(w) = 1 / (12.8 w^1.2).
    fn rfc(w: f64) -> (f64, f64) {
        let b = (0.1 - 0.5) * (w.ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln()) + 0.5;
        (w * w * 2.0 * b / ((2.0 - b) * w.powf(1.2) * 12.8), b)
    }

    #[test]
    fn the_table_is_what_the_appendix_computes() {
        // Appendix B's rule: a new row at the first window whose a(w) exceeds the last row's by
        // one.
        let mut rows = std::vec![(38, 1, 50)];
        let mut last = 1.0;
        for w in 38..100_000_u32 {
            let (a, b) = rfc(f64::from(w));
            if a > last + 1.0 {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small"
                )]
                rows.push((w, a as u32, (b * 100.0).round() as u32));
                last = a;
            }
        }
        assert_eq!(rows, TABLE);
    }

    #[test]
    fn a_row_holds_up_to_its_window() {
        let at = |segments| HighSpeedLaw::Table.at(segments);
        assert_eq!((at(1.0), at(38.0)), ((1.0, 0.50), (1.0, 0.50)));
        assert_eq!((at(38.5), at(118.0)), ((2.0, 0.44), (2.0, 0.44)));
        assert_eq!(at(119.0), (3.0, 0.41));
        assert_eq!((at(1_058.0), at(1_059.0)), ((8.0, 0.33), (9.0, 0.32)));
        assert_eq!(at(10_000.0), (30.0, 0.21));
        assert_eq!((at(94_717.0), at(1e9)), ((73.0, 0.09), (73.0, 0.09)));
    }

    #[test]
    fn the_formula_passes_through_the_points_of_the_rfc() {
        let line = Line::new(&formula());
        let near = |(a, b): (f64, f64), expected: (f64, f64)| {
            let error = (a - expected.0).abs() / expected.0 + (b - expected.1).abs();
            assert!(error < 0.001, "a = {a}, b = {b}, not {expected:?}");
        };
        near(line.at(38.0), (1.0, 0.5));
        // p = 10^-7: a = 83000^2 * 10^-7 * 2 * 0.1 / 1.9 = 72.52; the RFC says 72.
        near(line.at(83_000.0), (72.516, 0.1));
        near(line.at(1e7), (72.516, 0.1));
        // sqrt(38 * 83000) = 1775.95, half way in logarithms: b = 0.3, p = sqrt(1.44 / 38^2 *
        // 10^-7) = 9.9861e-6 and a = 1775.95^2 * p * 0.6 / 1.7 = 11.116.
        near(line.at(libm::sqrt(38.0 * 83_000.0)), (11.116, 0.3));
    }

    #[test]
    fn the_table_stays_near_the_formula() {
        let line = Line::new(&formula());
        for w in (38..94_717).map(f64::from) {
            let ((a, b), (table_a, table_b)) = (line.at(w), HighSpeedLaw::Table.at(w));
            assert!((-1.75..=1.0).contains(&(table_a - a)), "a({w}) = {table_a}, {a}");
            assert!((-0.06..=0.006).contains(&(table_b - b)), "b({w}) = {table_b}, {b}");
        }
    }

    #[test]
    fn a_window_of_acks_adds_a_segments() {
        for (segments, a) in [(30, 1), (100, 2), (1_000, 8), (10_000, 30), (90_000, 73)] {
            let mut control = control(HighSpeed::default(), segments);
            control.on_ack(&ack(segments * MSS));
            let grown = cwnd(&control) - segments * MSS;
            // Less than a byte is kept for the next ACK.
            assert!(a * MSS - grown <= 1, "{grown} at {segments}");
        }
    }

    #[test]
    fn a_loss_takes_b_of_the_window() {
        for (segments, left) in
            [(30, 15), (100, 56), (1_000, 670), (10_000, 7_900), (90_000, 81_900)]
        {
            let mut control = control(HighSpeed::default(), segments);
            control.on_loss(&Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Detected));
            assert!(cwnd(&control).abs_diff(left * MSS) <= 1, "{} at {segments}", cwnd(&control));
        }
    }

    #[test]
    fn marks_count_as_a_loss_and_a_false_loss_is_undone() {
        let mut control = control(HighSpeed::default(), 1_000);
        let mut mark = ack(MSS);
        (mark.ce_bytes, mark.end, mark.next) = (mark.bytes, Bytes::new(1), Bytes::new(100));
        control.on_ack(&mark);
        control.on_ack(&mark);
        assert_eq!(cwnd(&control), 670_000);
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Timeout);
        (loss.end, loss.next) = (Bytes::new(101), Bytes::new(200));
        control.on_loss(&loss);
        assert_eq!(cwnd(&control), MSS);
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(1)));
        assert_eq!(cwnd(&control), 670_000);
    }

    #[test]
    fn parameters_of_the_formula_need_the_formula() {
        assert!(HighSpeed { high_window: 1_000, ..HighSpeed::default() }.check().is_err());
        assert!(HighSpeed { high_window: 1_000, ..formula() }.check().is_ok());
        assert!(HighSpeed { high_window: 38, ..formula() }.check().is_err());
    }

    #[test]
    fn the_average_window_is_that_of_the_response_function() {
        // One segment in 10^5 lost: on the line, w = 38 (p / low_p)^(1 / slope) = 1,775 segments,
        // as in the middle of it (see above). The RFC's table for 10^-5: 1,795.
        let mut control = control(formula(), 1_775);
        let (mut round_trips, mut sent) = (0.0, 0_u64);
        for cycle in 0..60 {
            for _ in 0..10_000 {
                // Ten segments per ACK.
                if cycle >= 20 {
                    round_trips += 10.0 * MSS as f64 / cwnd(&control) as f64;
                }
                sent += 10 * MSS;
                control.on_ack(&ack(10 * MSS));
            }
            let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Detected);
            (loss.end, loss.next) = (Bytes::new(sent), Bytes::new(sent));
            control.on_loss(&loss);
        }
        let mean = 40.0 * 100_000.0 / round_trips;
        assert!((mean / 1_775.0 - 1.0).abs() < 0.05, "{mean}");
    }
}

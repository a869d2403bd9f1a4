//! The shell of the TCP family: a [`Window`] and the law that moves it.

use super::Window;
use crate::contract::{Ack, CongestionControl, Demand, Limits, Loss, Reads, Spurious};
use crate::units::{Bytes, Span, Time};

/// The sign of congestion that a reduction answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Data was lost.
    Loss,
    /// Data came back with a congestion mark.
    Mark,
}

/// The rules that are an algorithm's own: how far its window grows, and what congestion leaves of
/// it.
///
/// [`WindowControl`] does the rest. Every method has a default, which is Reno's (RFC 5681). Most
/// algorithms give [`grow`](Self::grow) and [`left`](Self::left); one that moves its window by
/// delay gives [`steer`](Self::steer) in place of `grow`.
pub trait WindowLaw {
    /// The reports that the law reads ([`CongestionControl::reads`]). It has no ear for
    /// [`CongestionControl::on_sent`].
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    /// Takes in the measurements of an ACK, before its marks reduce the window.
    fn measure(&mut self, _window: &mut Window, _ack: &Ack<'_>) {}

    /// The bytes that congestion leaves of the window. Called once per reduction, before it.
    fn left(&mut self, window: &Window, _sign: Sign) -> u64 {
        window.half()
    }

    /// Grows the window. Called where [`Window::may_grow`] allows it.
    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.reno(ack.bytes.get());
    }

    /// Moves the window on any ACK, after its marks. `reduced_from` is the window in bytes before
    /// the marks reduced it, if they did.
    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, _reduced_from: Option<u64>) {
        if Window::may_grow(ack) {
            self.grow(window, ack);
        }
    }

    /// Data was lost, and the window has answered.
    fn on_loss(&mut self, _loss: &Loss) {}

    /// The last reduction has been undone: its loss was false.
    fn on_undo(&mut self) {}

    /// The application posted a message; see [`CongestionControl::on_demand`].
    fn on_demand(&mut self, _demand: &Demand) {}

    /// The flow sends after a pause; see [`CongestionControl::on_restart`].
    fn on_restart(&mut self, _now: Time, _idle: Span) {}

    /// The segment size has changed, and `window` has the new one; `ratio` is the old size over the
    /// new one, by which a number of segments changes.
    fn on_mss_change(&mut self, _window: &Window, _ratio: f64) {}

    /// Calls `emit` with the gauges that the window itself does not have.
    fn gauges(&self, _window: &Window, _emit: &mut dyn FnMut(&'static str, f64)) {}
}

/// A flow whose [`Window`] follows a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowControl<L> {
    /// The window and its threshold; it knows which window of data has been answered.
    pub window: Window,
    /// The algorithm's own rules and state.
    pub law: L,
}

impl<L: WindowLaw> CongestionControl for WindowControl<L> {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Self { window, law } = self;
        law.measure(window, ack);
        let before = window.cwnd();
        let reduced = window.on_marks(ack, |window| law.left(window, Sign::Mark));
        law.steer(window, ack, reduced.then_some(before));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.window.on_loss(loss, |window| self.law.left(window, Sign::Loss));
        self.law.on_loss(loss);
    }

    fn limits(&self) -> Limits {
        self.window.limits()
    }

    fn on_demand(&mut self, demand: &Demand) {
        self.law.on_demand(demand);
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        self.law.on_restart(now, idle);
    }

    fn on_spurious_loss(&mut self, _spurious: &Spurious) {
        self.window.undo();
        self.law.on_undo();
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        let before = self.window.mss() as f64;
        self.window.set_mss(mss);
        self.law.on_mss_change(&self.window, before / self.window.mss() as f64);
    }

    fn reads(&self) -> Reads {
        self.law.reads()
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.window.gauges(emit);
        self.law.gauges(&self.window, emit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Flow, LossCause};
    use crate::units::Rate;

    const MSS: u64 = 1_000;

    /// Takes the defaults, and notes what it is told.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Plain {
        left_of: Option<(u64, Sign)>,
        reduced_from: Option<u64>,
        losses: u32,
        undone: u32,
        ratio: f64,
    }

    impl WindowLaw for Plain {
        fn left(&mut self, window: &Window, sign: Sign) -> u64 {
            self.left_of = Some((window.cwnd(), sign));
            window.half()
        }

        fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
            self.reduced_from = reduced_from;
            if Window::may_grow(ack) {
                self.grow(window, ack);
            }
        }

        fn on_loss(&mut self, _loss: &Loss) {
            self.losses += 1;
        }

        fn on_undo(&mut self) {
            self.undone += 1;
        }

        fn on_mss_change(&mut self, window: &Window, ratio: f64) {
            assert_eq!(window.mss(), 500);
            self.ratio = ratio;
        }
    }

    fn start() -> WindowControl<Plain> {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(20 * MSS));
        WindowControl { window: Window::new(&flow), law: Plain::default() }
    }

    fn ack(end: u64) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS));
        (ack.end, ack.next, ack.cwnd_limited) = (Bytes::new(end), Bytes::new(end + 1), true);
        ack
    }

    #[test]
    fn a_law_of_defaults_is_reno() {
        let mut control = start();
        control.on_ack(&ack(1));
        assert_eq!(control.window.cwnd(), 21 * MSS, "slow start");
        control.window.set_ssthresh(MSS);
        control.on_ack(&ack(2));
        assert_eq!(control.window.cwnd(), 21 * MSS + MSS / 21, "a segment per window");
        control.on_ack(&Ack { cwnd_limited: false, ..ack(3) });
        assert_eq!(control.window.cwnd(), 21 * MSS + MSS / 21, "the window was not in use");
    }

    #[test]
    fn a_law_is_asked_once_per_reduction_with_the_window_before_it() {
        let mut control = start();
        let marked = Ack { ce_bytes: Bytes::new(MSS), ..ack(1) };
        control.on_ack(&marked);
        assert_eq!(control.law.left_of.take(), Some((20 * MSS, Sign::Mark)));
        assert_eq!((control.law.reduced_from, control.window.cwnd()), (Some(20 * MSS), 10 * MSS));
        control.on_ack(&marked);
        assert_eq!((control.law.left_of, control.law.reduced_from), (None, None), "its window");
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(3), Bytes::new(9));
        control.on_loss(&loss);
        assert_eq!(control.law.left_of.take(), Some((10 * MSS, Sign::Loss)));
        control.on_loss(&loss);
        assert_eq!((control.law.left_of, control.law.losses), (None, 2), "told of each loss");
        assert_eq!(control.window.cwnd(), 5 * MSS);
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!((control.window.cwnd(), control.law.undone), (10 * MSS, 1));
    }

    #[test]
    fn a_law_that_counts_segments_hears_how_their_number_changes() {
        let mut control = start();
        control.on_mss_change(Bytes::new(500));
        assert!((control.law.ratio - 2.0).abs() < f64::EPSILON);
        assert_eq!(control.limits().cwnd, Bytes::new(20 * MSS), "bytes stay");
    }
}

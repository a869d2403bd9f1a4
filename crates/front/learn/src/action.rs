//! Actions: the effect of a number on the rate or the window.

use incast_cc::{Bytes, Flow, Limits, Rate, Span};

/// The least rate, as a part of the NIC's.
const LEAST: f64 = 0.001;
/// The greatest window in bytes: 100 Gb/s over 80 ms.
const GREATEST: f64 = 1e9;

/// The meaning of an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A change of the rate by a factor: `1 + step * a` where the action `a` is above zero, and
    /// `1 / (1 - step * a)` below, as in Aurora (Jay et al., ICML 2019).
    Change {
        /// The greatest part by which one action changes the rate.
        step: f64,
    },
    /// The rate as a part of the NIC's.
    Share,
    /// A change of the window by a factor, as `Change` has it.
    Window {
        /// The greatest part by which one action changes the window.
        step: f64,
    },
}

/// The quantity that actions control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sending {
    /// The pacing rate; there is no window.
    Rate(Rate),
    /// The window in bytes, with the parts of a byte; there is no pacing.
    Window(f64),
}

impl Sending {
    /// The limits of a flow.
    pub(crate) fn limits(self) -> Limits {
        match self {
            Self::Rate(rate) => Limits::rate(rate),
            Self::Window(window) => Limits::window(whole(window)),
        }
    }

    /// The rate; for a window, its bytes per least RTT, or the NIC's rate before there is an RTT.
    pub(crate) fn rate(self, floor: Span, line_rate: Rate) -> Rate {
        match self {
            Self::Rate(rate) => rate,
            Self::Window(_) if floor == Span::MAX || floor == Span::ZERO => line_rate,
            Self::Window(window) => Rate::from_bps_f64(window * 8e12 / floor.as_ps() as f64),
        }
    }
}

/// A window in whole bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a window lies between a byte and the greatest one"
)]
const fn whole(window: f64) -> Bytes {
    Bytes::new(window as u64)
}

/// A quantity that an action changes by a factor.
fn changed(before: f64, step: f64, action: f64) -> f64 {
    if action >= 0.0 { before * (1.0 + step * action) } else { before / (1.0 - step * action) }
}

impl Action {
    /// The least and the greatest action; others become the nearer one.
    pub const fn bounds(self) -> (f32, f32) {
        match self {
            Self::Change { .. } | Self::Window { .. } => (-1.0, 1.0),
            Self::Share => (0.0, 1.0),
        }
    }

    /// The rate or window after an action. A rate is at least a thousandth of the NIC's, and at
    /// most the NIC's; a window at least a packet, and at most a gigabyte.
    pub(crate) fn next(self, before: Sending, action: f32, line_rate: Rate, mss: Bytes) -> Sending {
        let (low, high) = self.bounds();
        let action = f64::from(action.clamp(low, high));
        let line = line_rate.as_bps() as f64;
        let wanted = match (self, before) {
            (Self::Window { step } | Self::Change { step }, Sending::Window(window)) => {
                let least = (mss.get() as f64).clamp(1.0, GREATEST);
                return Sending::Window(changed(window, step, action).clamp(least, GREATEST));
            }
            (Self::Change { step } | Self::Window { step }, Sending::Rate(rate)) => {
                changed(rate.as_bps() as f64, step, action)
            }
            (Self::Share, _) => line * action,
        };
        let rate = Rate::from_bps_f64(wanted.max(line * LEAST));
        Sending::Rate(rate.max(Rate::from_bps(1)).min(line_rate))
    }
}

/// A setting of a [`Control`] that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// The interval.
    #[error("interval = {} us: expected a time from 1us to 1s", .0.as_us_f64())]
    Interval(Span),
    /// The step.
    #[error("step = {0}: expected a number above 0 and at most 10")]
    Step(f64),
    /// The rate at the start.
    #[error("initial = {0}: expected a number above 0 and at most 1")]
    Initial(f64),
    /// The name of an action.
    #[error("action = {0:?}: expected \"change\", \"share\" or \"window\"")]
    Action(String),
}

/// The way in which a flow is controlled: how often, by which actions, and from which rate on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The length of a monitoring interval, at least a microsecond.
    pub interval: Span,
    /// The meaning of an action.
    pub action: Action,
    /// The rate at which a flow starts, as a part of the NIC's. A window starts as in other
    /// algorithms.
    pub initial: f64,
}

impl Control {
    /// A control of these settings, as files and calls have them.
    ///
    /// # Errors
    /// A setting is out of its range, or the action is unknown.
    pub fn of(interval: Span, action: &str, step: f64, initial: f64) -> Result<Self, ControlError> {
        if !(Span::from_us(1)..=Span::from_secs(1)).contains(&interval) {
            return Err(ControlError::Interval(interval));
        }
        if !(step > 0.0 && step <= 10.0) {
            return Err(ControlError::Step(step));
        }
        if !(initial > 0.0 && initial <= 1.0) {
            return Err(ControlError::Initial(initial));
        }
        let action = match action {
            "change" => Action::Change { step },
            "share" => Action::Share,
            "window" => Action::Window { step },
            _ => return Err(ControlError::Action(action.to_owned())),
        };
        Ok(Self { interval, action, initial })
    }

    /// The limits of a flow at its start.
    pub(crate) fn start(&self, flow: &Flow) -> Sending {
        if matches!(self.action, Action::Window { .. }) {
            let window = flow.initial_window.max(flow.mss).get() as f64;
            return Sending::Window(window.clamp(1.0, GREATEST));
        }
        let wanted = flow.line_rate.as_bps() as f64 * self.initial;
        Sending::Rate(Rate::from_bps_f64(wanted).max(Rate::from_bps(1)).min(flow.line_rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(10);
    const MSS: Bytes = Bytes::new(1_000);

    #[test]
    fn a_change_and_its_opposite_give_the_rate_back_and_bounds_hold() {
        let five = Rate::from_gbps(5);
        let after =
            |action: Action, before, a| match action.next(Sending::Rate(before), a, LINE, MSS) {
                Sending::Rate(rate) => rate,
                Sending::Window(window) => panic!("a window of {window}"),
            };
        let change = Action::Change { step: 0.25 };
        let faster = after(change, five, 1.0);
        assert_eq!(faster, Rate::from_bps(6_250_000_000));
        assert_eq!(after(change, faster, -1.0), five);
        assert_eq!(after(change, five, 7.0), faster);
        assert_eq!(after(change, Rate::from_bps(9_999_999_999), 1.0), LINE);
        assert_eq!(after(change, Rate::from_mbps(10), -1.0), Rate::from_mbps(10));
        assert_eq!(after(Action::Share, five, 1.0), LINE);
        assert_eq!(after(Action::Share, five, 0.5), five);
        assert_eq!(after(Action::Share, five, 0.0), Rate::from_mbps(10));
    }

    #[test]
    fn a_window_changes_by_a_factor_between_a_packet_and_a_gigabyte() {
        let control = Control::of(Span::from_us(10), "window", 0.25, 0.1).unwrap();
        let mut flow = Flow::new(Bytes::from_kb(16), LINE);
        (flow.mss, flow.initial_window) = (MSS, Bytes::new(10_000));
        let next = |window, a| control.action.next(Sending::Window(window), a, LINE, MSS);
        assert_eq!(control.action.bounds(), (-1.0, 1.0));
        assert_eq!(control.start(&flow), Sending::Window(10_000.0));
        // 10,000 B * (1 + 0.25 * 1), and 12,500 B / (1 + 0.25 * 1).
        assert_eq!(next(10_000.0, 1.0), Sending::Window(12_500.0));
        assert_eq!(next(12_500.0, -1.0), Sending::Window(10_000.0));
        assert_eq!(next(1_100.0, -1.0), Sending::Window(1_000.0));
        assert_eq!(next(0.9e9, 1.0), Sending::Window(1e9));
        assert_eq!(Sending::Window(12_500.7).limits(), Limits::window(Bytes::new(12_500)));
        // 10,000 B in 20 us are 4 Gb/s.
        let rate = |floor| Sending::Window(10_000.0).rate(floor, LINE);
        assert_eq!(rate(Span::from_us(20)), Rate::from_gbps(4));
        assert_eq!(rate(Span::MAX), LINE);
    }
}

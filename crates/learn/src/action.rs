//! Actions: the effect of a number on the rate.

use incast_cc::{Rate, Span};

/// The least rate, as a part of the NIC's.
const LEAST: f64 = 0.001;

/// The meaning of an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A change by a factor: `1 + step * a` where the action `a` is above zero, and
    /// `1 / (1 - step * a)` below, as in Aurora (Jay et al., ICML 2019).
    Change {
        /// The greatest part by which one action changes the rate.
        step: f64,
    },
    /// The rate as a part of the NIC's.
    Share,
}

impl Action {
    /// The least and the greatest action; others become the nearer one.
    pub const fn bounds(self) -> (f32, f32) {
        match self {
            Self::Change { .. } => (-1.0, 1.0),
            Self::Share => (0.0, 1.0),
        }
    }

    /// The rate after an action: at least a thousandth of the NIC's, and at most that.
    pub fn rate(self, before: Rate, action: f32, line_rate: Rate) -> Rate {
        let (low, high) = self.bounds();
        let action = f64::from(action.clamp(low, high));
        let line = line_rate.as_bps() as f64;
        let wanted = match self {
            Self::Change { step } if action >= 0.0 => {
                before.as_bps() as f64 * (1.0 + step * action)
            }
            Self::Change { step } => before.as_bps() as f64 / (1.0 - step * action),
            Self::Share => line * action,
        };
        Rate::from_bps_f64(wanted.max(line * LEAST)).max(Rate::from_bps(1)).min(line_rate)
    }
}

/// The way in which a flow is controlled: how often, by which actions, and from which rate on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The length of a monitoring interval, at least a microsecond.
    pub interval: Span,
    /// The meaning of an action.
    pub action: Action,
    /// The rate at which a flow starts, as a part of the NIC's.
    pub initial: f64,
}

impl Control {
    /// A control of these settings, as files and calls have them.
    ///
    /// # Errors
    /// A sentence that says which of them cannot be, and what would be right.
    pub fn of(interval: Span, action: &str, step: f64, initial: f64) -> Result<Self, String> {
        if !(Span::from_us(1)..=Span::from_secs(1)).contains(&interval) {
            return Err(format!(
                "interval = {} us: expected a time from 1us to 1s",
                interval.as_us_f64()
            ));
        }
        if !(step > 0.0 && step <= 10.0) {
            return Err(format!("step = {step}: expected a number above 0 and at most 10"));
        }
        if !(initial > 0.0 && initial <= 1.0) {
            return Err(format!("initial = {initial}: expected a number above 0 and at most 1"));
        }
        let action = match action {
            "change" => Action::Change { step },
            "share" => Action::Share,
            _ => return Err(format!("action = {action:?}: expected \"change\" or \"share\"")),
        };
        Ok(Self { interval, action, initial })
    }

    /// The rate at which a flow starts.
    pub(crate) fn start(&self, line_rate: Rate) -> Rate {
        let wanted = line_rate.as_bps() as f64 * self.initial;
        Rate::from_bps_f64(wanted).max(Rate::from_bps(1)).min(line_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_its_opposite_give_the_rate_back_and_bounds_hold() {
        let (line, five) = (Rate::from_gbps(10), Rate::from_gbps(5));
        let change = Action::Change { step: 0.25 };
        let faster = change.rate(five, 1.0, line);
        assert_eq!(faster, Rate::from_bps(6_250_000_000));
        assert_eq!(change.rate(faster, -1.0, line), five);
        assert_eq!(change.rate(five, 7.0, line), faster);
        assert_eq!(change.rate(Rate::from_bps(9_999_999_999), 1.0, line), line);
        assert_eq!(change.rate(Rate::from_mbps(10), -1.0, line), Rate::from_mbps(10));
        assert_eq!(Action::Share.rate(five, 1.0, line), line);
        assert_eq!(Action::Share.rate(five, 0.5, line), five);
        assert_eq!(Action::Share.rate(five, 0.0, line), Rate::from_mbps(10));
    }
}

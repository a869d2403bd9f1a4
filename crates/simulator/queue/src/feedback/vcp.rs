//! The load code of VCP: a port tells in two bits how loaded it is (Xia, Subramanian, Stoica and
//! Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005).
//!
//! In each interval the port counts what arrives and samples its queue. The load of the last
//! interval, as a code, goes into the packets of the next; a packet keeps the highest code of its
//! way. `docs/algorithms/vcp.md` has the equations and the departures.

use incast_cc::feedback::Load;
use incast_cc::{Feedback, Rate, Span, Time};
use incast_schema::quantity;
use incast_transport::Stamps;
use schemars::JsonSchema;
use serde::Deserialize;

use super::load::PortLoad;
use super::{Departure, Law, Settings, Wrong};

/// VCP: a code of the load in two bits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vcp {
    /// The interval over which load is measured: `interval` of the senders.
    #[serde(with = "quantity::Time")]
    pub interval: Span,
    /// The weight of the mean queue.
    pub queue_weight: f64,
    /// The share of the link that is its target.
    pub target: f64,
    /// The load from which it is high.
    pub high: f64,
}

impl Default for Vcp {
    fn default() -> Self {
        Self { interval: Span::from_ms(200), queue_weight: 0.5, target: 0.98, high: 0.8 }
    }
}

/// The number of samples of the queue in an interval: every 10 ms in 200 ms.
const SAMPLES: u64 = 20;

impl Settings for Vcp {
    type Law = VcpLaw;

    const SUMMARY: &'static str = "VCP: a code of the load in two bits.";
    const LISTENS: bool = true;

    fn check(&self) -> Result<(), Wrong> {
        if self.interval < Span::from_us(20) {
            let message =
                format!("interval = {} is too short; expected 20us or more", self.interval);
            return Err(("interval", message));
        }
        let fields = [
            ("queue_weight", self.queue_weight, 0.0),
            ("target", self.target, 0.01),
            ("high", self.high, 0.01),
        ];
        for (name, value, least) in fields {
            if !(least..=1.0).contains(&value) {
                let message = format!("{name} = {value} is out of range; expected {least} to 1");
                return Err((name, message));
            }
        }
        Ok(())
    }

    fn start(&self, rate: Rate) -> VcpLaw {
        let step = self.interval / SAMPLES;
        VcpLaw {
            settings: *self,
            load: PortLoad::new(rate),
            code: Load::Low,
            sampled: 0.0,
            samples: 0,
            step,
            next: Time::ZERO + step,
        }
    }
}

/// The load of one port.
#[derive(Clone, Copy, Debug)]
pub struct VcpLaw {
    settings: Vcp,
    /// The arrivals of this interval, and the queue.
    load: PortLoad,
    /// The code of the last interval.
    code: Load,
    /// The sum of the samples of the queue in this interval, and their number.
    sampled: f64,
    samples: u64,
    /// The time between two samples.
    step: Span,
    next: Time,
}

impl VcpLaw {
    fn catch_up(&mut self, now: Time) {
        while self.next <= now {
            self.next += self.step;
            self.sampled += self.load.queued;
            self.samples += 1;
            if self.samples == SAMPLES {
                let is_still = self.load.is_still() && self.sampled <= 0.0;
                self.end_interval();
                let length = self.step * SAMPLES;
                if is_still && self.next + length <= now {
                    // An idle port: whole intervals pass in which nothing changes.
                    let whole = now.since(self.next).as_ps() / length.as_ps();
                    self.next += length * whole;
                }
            }
        }
    }

    fn end_interval(&mut self) {
        let Vcp { queue_weight, target, high, .. } = self.settings;
        let seconds = (self.step * SAMPLES).as_secs_f64();
        let queue = self.sampled / SAMPLES as f64;
        let arrived = self.load.take_arrived();
        let load = (arrived + queue_weight * queue) / (target * self.load.capacity * seconds);
        self.code = if load < high {
            Load::Low
        } else if load < 1.0 {
            Load::High
        } else {
            Load::Overload
        };
        (self.sampled, self.samples) = (0.0, 0);
    }
}

impl Law for VcpLaw {
    fn on_arrival(&mut self, now: Time, queued: u64, wire: u64) {
        self.catch_up(now);
        self.load.on_arrival(queued, wire);
    }

    fn on_departure(&mut self, departure: &Departure, stamps: &mut Stamps) {
        self.catch_up(departure.now);
        self.load.on_departure(departure);
        if let Some(Feedback::Load(load)) = stamps.feedback_mut() {
            *load = self.code.max(*load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::tests::departure;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A port of 1 Gb/s: 125,000 B in an interval of 1 ms, of which 122,500 B are the target.
    fn law() -> VcpLaw {
        Vcp { interval: Span::from_ms(1), ..Vcp::default() }.start(Rate::from_gbps(1))
    }

    fn code(law: &mut VcpLaw, at: u64, before: Load) -> Load {
        let mut stamps = Stamps::of(Feedback::Load(before));
        let departure = Departure { rate: Rate::from_gbps(1), ..departure(at) };
        law.on_departure(&departure, &mut stamps);
        let Some(&Feedback::Load(load)) = stamps.feedback() else { unreachable!() };
        load
    }

    #[test]
    fn the_code_is_that_of_the_last_interval() {
        // 0.8 * 122,500 B = 98,000 B.
        for (arrives, expected) in [
            (97_999, Load::Low),
            (98_001, Load::High),
            (122_499, Load::High),
            (122_501, Load::Overload),
        ] {
            let mut law = law();
            law.on_arrival(us(10), 0, arrives);
            law.load.queued = 0.0;
            assert_eq!(code(&mut law, 999, Load::Unknown), Load::Low, "none is over");
            assert_eq!(code(&mut law, 1_000, Load::Unknown), expected, "{arrives}");
            assert_eq!(code(&mut law, 2_000, Load::Unknown), Load::Low, "nothing more came");
        }
    }

    #[test]
    fn half_of_the_mean_queue_counts() {
        let mut law = law();
        // 120,000 B arrive and 6,000 B wait in all samples: 120,000 + 3,000 > 122,500.
        law.on_arrival(us(10), 0, 114_000);
        law.on_arrival(us(10), 0, 6_000);
        assert_eq!(code(&mut law, 1_000, Load::Unknown), Load::Overload);
    }

    #[test]
    fn a_port_only_raises_the_code() {
        assert_eq!(code(&mut law(), 0, Load::Overload), Load::Overload);
        assert_eq!(code(&mut law(), 0, Load::Unknown), Load::Low);
    }

    #[test]
    fn an_idle_port_skips_whole_intervals() {
        let mut law = law();
        law.on_arrival(us(10), 0, 200_000);
        law.load.queued = 0.0;
        assert_eq!(code(&mut law, 1_000_000_000_037, Load::Unknown), Load::Low);
        assert!(law.next > us(1_000_000_000_037));
    }
}

//! The Rate Control Protocol: a port tells all its flows one fair rate (Dukkipati, Kobayashi,
//! Zhang-Shen and `McKeown`, "Processor Sharing Flows in the Internet", `IWQoS` 2005).
//!
//! The rate rises while the link has capacity left, and falls with the queue. It never counts flows.
//! `docs/algorithms/rcp.md` has the equations and the departures.

use incast_cc::{Feedback, Rate, Span, Time};
use incast_schema::quantity;
use incast_transport::Stamps;
use schemars::JsonSchema;
use serde::Deserialize;

use super::load::PortLoad;
use super::{Departure, Law, Settings, Wrong};

/// RCP: a fair rate for all flows of a port.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rcp {
    /// The gain on capacity that is left.
    pub alpha: f64,
    /// The gain on the queue.
    pub beta: f64,
    /// The longest time between two updates; the mean round trip time if that is shorter.
    #[serde(with = "quantity::Time")]
    pub timeslot: Span,
    /// The mean round trip time before packets have told theirs.
    #[serde(with = "quantity::Time")]
    pub rtt: Span,
    /// The first rate, as a share of the link's.
    pub initial: f64,
}

impl Default for Rcp {
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 1.0,
            timeslot: Span::from_ms(10),
            rtt: Span::from_us(200),
            initial: 0.05,
        }
    }
}

impl Settings for Rcp {
    type Law = RcpLaw;

    const SUMMARY: &'static str = "RCP: a fair rate for all flows of a port.";
    const LISTENS: bool = true;

    fn check(&self) -> Result<(), Wrong> {
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(0.0..=10.0).contains(&value) {
                return Err((name, format!("{name} = {value} is out of range; expected 0 to 10")));
            }
        }
        if !(0.001..=1.0).contains(&self.initial) {
            let message =
                format!("initial = {} is out of range; expected 0.001 to 1", self.initial);
            return Err(("initial", message));
        }
        for (name, value) in [("timeslot", self.timeslot), ("rtt", self.rtt)] {
            if value < Span::from_us(1) {
                return Err((name, format!("{name} = {value} is too short; expected 1us or more")));
            }
        }
        Ok(())
    }

    fn start(&self, rate: Rate) -> RcpLaw {
        let load = PortLoad::new(rate);
        let rtt = self.rtt.as_secs_f64();
        let interval = self.rtt.min(self.timeslot);
        RcpLaw {
            settings: *self,
            load,
            rate: load.capacity * self.initial,
            mean_rtt: rtt,
            largest: 0.0,
            told: 0.0,
            told_bytes: 0.0,
            interval,
            next: Time::ZERO + interval,
        }
    }
}

/// The fair rate of one port. Rates are in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct RcpLaw {
    settings: Rcp,
    /// The arrivals since the last update, and the queue.
    load: PortLoad,
    /// R: the fair rate.
    rate: f64,
    /// The mean round trip time in seconds.
    mean_rtt: f64,
    /// L: the largest packet with a header, in bytes.
    largest: f64,
    /// The round trip times that packets have told since then, times their bytes; and those bytes.
    told: f64,
    told_bytes: f64,
    /// T: the time between two updates.
    interval: Span,
    next: Time,
}

/// The packet of which one in a hundred round trips is the least rate, in bytes (the authors'
/// simulator, `min_pprtt_`).
const LEAST_BYTES: f64 = 10.0;

/// The greatest cut of one update: half of the rate. The law is linear, and asks for less than
/// nothing where many begin at once.
const MOST_CUT: f64 = -0.5;

impl RcpLaw {
    fn catch_up(&mut self, now: Time) {
        while self.next <= now {
            self.update();
            self.next += self.interval;
            let is_still = self.load.is_still() && self.told_bytes <= 0.0;
            if is_still && self.rate >= self.load.capacity && self.next <= now {
                self.next = now + self.interval; // an idle port, whose rate can rise no more
            }
        }
    }

    /// d: the time in which flows hear of a new rate. It is the mean round trip time, or the time
    /// between two packets of a flow at the fair rate if that is longer, up to the timeslot.
    fn delay(&self) -> f64 {
        let apart = (self.largest / self.rate).min(self.settings.timeslot.as_secs_f64());
        self.mean_rtt.max(apart)
    }

    /// R = R (1 + (T / d) (alpha (C - y) - beta q / d) / C).
    fn update(&mut self) {
        let seconds = self.interval.as_secs_f64();
        let capacity = self.load.capacity;
        if self.told_bytes > 0.0 {
            let mean = self.told / self.told_bytes;
            let gain = if mean >= self.mean_rtt {
                seconds / self.mean_rtt
            } else {
                self.rate / capacity * (mean / self.mean_rtt) * (seconds / self.mean_rtt)
            };
            self.mean_rtt += gain.clamp(0.0, 1.0) * (mean - self.mean_rtt);
            self.mean_rtt = self.mean_rtt.max(1e-6);
        }
        let delay = self.delay();
        let spare = self.settings.alpha * (capacity - self.load.take_arrived() / seconds);
        let queue = self.settings.beta * self.load.queued / delay;
        let change = (seconds / delay * (spare - queue) / capacity).max(MOST_CUT);
        let least = (LEAST_BYTES / self.mean_rtt).min(capacity);
        self.rate = (self.rate * (1.0 + change)).clamp(least, capacity);
        (self.told, self.told_bytes) = (0.0, 0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time in picoseconds"
        )]
        let delay = Span::from_ps((self.delay().min(1e3) * 1e12) as u64);
        self.interval = delay.min(self.settings.timeslot).max(Span::from_us(1));
    }
}

impl Law for RcpLaw {
    fn on_arrival(&mut self, now: Time, queued: u64, wire: u64) {
        self.catch_up(now);
        self.load.on_arrival(queued, wire);
    }

    fn on_departure(&mut self, departure: &Departure, stamps: &mut Stamps) {
        self.catch_up(departure.now);
        self.load.on_departure(departure);
        self.rate = self.rate.min(self.load.capacity);
        let Some(Feedback::FairRate(header)) = stamps.feedback_mut() else { return };
        let wire = departure.wire as f64;
        self.largest = self.largest.max(wire);
        if !header.rtt.is_zero() {
            self.told += header.rtt.as_secs_f64() * wire;
            self.told_bytes += wire;
        }
        header.rate = header.rate.min(Rate::from_bps_f64(self.rate * 8.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::tests::departure;
    use incast_cc::feedback::FairRate;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A port of 1 Gb/s, 125 MB/s, updated every 100 us.
    fn law() -> RcpLaw {
        Rcp { rtt: Span::from_us(100), initial: 0.4, ..Rcp::default() }.start(Rate::from_gbps(1))
    }

    fn told(law: &mut RcpLaw, at: u64, rtt: u64) -> f64 {
        let header = FairRate::new(Span::from_us(rtt));
        let mut stamps = Stamps::of(Feedback::FairRate(header));
        let departure = Departure { rate: Rate::from_gbps(1), ..departure(at) };
        law.on_departure(&departure, &mut stamps);
        let Some(Feedback::FairRate(header)) = stamps.feedback() else { unreachable!() };
        header.rate.as_bps() as f64 / 1e6
    }

    #[test]
    fn the_rate_rises_by_alpha_on_an_idle_link() {
        let mut law = law();
        assert!((told(&mut law, 0, 0) - 400.0).abs() < 1e-3);
        // T = d: R = 400 (1 + 0.1), then 400 * 1.1^2.
        assert!((told(&mut law, 100, 0) - 440.0).abs() < 1e-3);
        assert!((told(&mut law, 200, 0) - 484.0).abs() < 1e-3);
    }

    #[test]
    fn the_rate_falls_with_load_and_queue() {
        let mut law = law();
        // 18,750 B in 100 us are 1.5 C; 2,500 B wait, 25 MB/s over d, a fifth of C:
        // 0.1 (1 - 1.5) - 1 * 0.2 = -0.25.
        law.on_arrival(us(50), 0, 16_250);
        law.on_arrival(us(60), 0, 2_500);
        law.catch_up(us(100));
        assert!((law.rate * 8e-6 - 300.0).abs() < 1e-3, "{}", law.rate * 8e-6);
    }

    #[test]
    fn an_update_takes_half_of_the_rate_at_most() {
        let mut law = law();
        // 100 packets at once: 0.1 (1 - 12) - 12 = -13.1.
        law.on_arrival(us(10), 148_500, 1_500);
        law.load.arrived = 150_000.0;
        law.catch_up(us(100));
        assert!((law.rate * 8e-6 - 200.0).abs() < 1e-3, "{}", law.rate * 8e-6);
    }

    #[test]
    fn flows_that_send_seldom_hear_late() {
        let mut law = law();
        told(&mut law, 10, 100); // a packet of 1,500 B
        assert!((law.delay() - 100e-6).abs() < 1e-12, "the round trip time");
        law.rate = 1e6; // 8 Mb/s: a packet in 1.5 ms
        assert!((law.delay() - 1.5e-3).abs() < 1e-12);
        law.rate = 1e3;
        assert!((law.delay() - 10e-3).abs() < 1e-12, "the timeslot");
    }

    #[test]
    fn the_mean_round_trip_time_follows_what_packets_tell() {
        let mut law = law();
        told(&mut law, 10, 150);
        law.catch_up(us(100)); // gain T / d = 1
        assert!((law.mean_rtt - 150e-6).abs() < 1e-12, "{}", law.mean_rtt);
        assert_eq!(law.interval, Span::from_us(150));
    }

    #[test]
    fn an_idle_port_costs_no_loop_for_ever() {
        let mut law = law();
        law.catch_up(us(1_000_000_000));
        assert!(law.next > us(1_000_000_000));
        assert!((law.rate - 125e6).abs() < 1.0, "the whole link");
    }

    #[test]
    fn the_least_port_decides() {
        let mut law = law();
        let header = FairRate { rate: Rate::from_mbps(7), ..FairRate::new(Span::ZERO) };
        let mut stamps = Stamps::of(Feedback::FairRate(header));
        law.on_departure(&Departure { rate: Rate::from_gbps(1), ..departure(1) }, &mut stamps);
        assert_eq!(stamps.feedback(), Some(&Feedback::FairRate(header)));
    }
}

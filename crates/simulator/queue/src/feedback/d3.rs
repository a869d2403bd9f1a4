//! D3: a port grants rates to requests, first come first served (Wilson, Ballani, Karagiannis and
//! Rowstron, "Better Never than Late: Meeting Deadlines in Datacenter Networks", SIGCOMM 2011).
//!
//! The port keeps three numbers and no flow: what it has allocated, what flows demand, and how many
//! they are. A request gives back what the flow held and gets what it desires, with a fair share of
//! what nobody demands, as long as there is so much. `docs/algorithms/d3.md` has the equations and
//! the departures.

use incast_cc::feedback::Request;
use incast_cc::{Feedback, Rate, Span, Time};
use incast_transport::Stamps;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Departure, Law, Settings, Wrong};

/// D3: rates for requests, first come first served.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct D3 {
    /// The share of the queue, over a round trip time, that is taken off what ports give beyond
    /// demands, so that queues drain.
    pub drain: f64,
}

impl Default for D3 {
    fn default() -> Self {
        Self { drain: 1.0 }
    }
}

impl Settings for D3 {
    type Law = D3Law;

    const SUMMARY: &'static str = "D3: rates for requests, first come first served.";
    const LISTENS: bool = false;

    fn check(&self) -> Result<(), Wrong> {
        if (0.0..=10.0).contains(&self.drain) {
            return Ok(());
        }
        Err(("drain", format!("drain = {} is out of range; expected 0 to 10", self.drain)))
    }

    fn start(&self, _rate: Rate) -> D3Law {
        D3Law {
            drain: self.drain,
            sums: Sums::default(),
            window: Sums::default(),
            window_ends: Time::ZERO,
            longest_rtt: Span::ZERO,
            longest_wait: Span::ZERO,
            payload_share: 0.0,
        }
    }
}

/// The three numbers of a port. Rates count payload, in b/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// A: what is allocated.
    allocated: f64,
    /// D: what flows demand.
    demand: f64,
    /// N: the number of flows.
    flows: f64,
}

impl Sums {
    fn at_most(&mut self, bound: &Self) {
        self.allocated = self.allocated.min(bound.allocated);
        self.demand = self.demand.min(bound.demand);
        self.flows = self.flows.min(bound.flows);
    }
}

/// The grants of one port.
#[derive(Clone, Copy, Debug)]
pub struct D3Law {
    drain: f64,
    sums: Sums,
    /// The sums over all requests of the running window. A flow asks at least once in a window, so
    /// the true numbers are not greater.
    window: Sums,
    window_ends: Time,
    /// The longest round trip time that a request has told in the running window.
    longest_rtt: Span,
    /// The longest time until the next request of a flow, told in the running window.
    longest_wait: Span,
    /// The share of payload in the largest packet.
    payload_share: f64,
}

/// The least length of a window, where no sender knows its round trip time yet.
const LEAST_WINDOW: Span = Span::from_us(10);

impl D3Law {
    /// Ends a window: what requests were lost with, or flows that vanished held, is let go.
    fn end_window(&mut self, now: Time) {
        if self.window_ends > Time::ZERO {
            self.sums.at_most(&self.window);
        }
        self.window = Sums::default();
        self.window_ends = now + self.longest_wait.max(self.longest_rtt).max(LEAST_WINDOW) * 2;
    }

    /// The payload that the port can carry, and what of it the queue takes, both in b/s.
    fn capacity(&self, departure: &Departure) -> (f64, f64) {
        let seconds = self.longest_rtt.max(LEAST_WINDOW).as_secs_f64();
        let queue = self.drain * departure.queued as f64 * 8.0 / seconds;
        let rate = departure.rate.as_bps() as f64;
        (rate * self.payload_share, queue.min(rate) * self.payload_share)
    }

    /// Answers a request.
    fn answer(&mut self, departure: &Departure, request: &mut Request) {
        let share = departure.payload as f64 / departure.wire.max(1) as f64;
        self.payload_share = self.payload_share.max(share);
        self.longest_rtt = self.longest_rtt.max(request.rtt);
        self.longest_wait = self.longest_wait.max(request.again);
        if departure.now >= self.window_ends {
            self.end_window(departure.now);
            (self.longest_rtt, self.longest_wait) = (request.rtt, request.again);
        }
        let bps = |rate: Rate| rate.as_bps() as f64;
        let held = request.held.of(departure.port).map_or(0.0, bps);
        let desired = if request.ends { 0.0 } else { bps(request.desired) };
        let sums = &mut self.sums;
        sums.allocated = (sums.allocated - held).max(0.0);
        sums.demand = (sums.demand - bps(request.previous)).max(0.0) + desired;
        if request.ends {
            sums.flows = (sums.flows - 1.0).max(0.0);
            return;
        }
        sums.flows = (sums.flows + f64::from(u8::from(request.begins))).max(1.0);
        let (capacity, queue) = self.capacity(departure);
        let Sums { allocated, demand, flows } = self.sums;
        let left = (capacity - allocated).max(0.0);
        let fair = ((capacity - queue - demand) / flows).max(0.0);
        // The queue is taken off what is free, and not off what the flow held.
        let left = (left - queue).max(held.min(left));
        let granted = if left > desired { desired + fair } else { left };
        let granted = Rate::from_bps_f64(granted.max(bps(request.base)));
        if !request.granted.push(departure.port, granted) {
            return; // beyond the eighth port the others decide
        }
        self.sums.allocated += bps(granted);
        self.window.allocated += bps(granted);
        self.window.demand += desired;
        self.window.flows += 1.0;
    }
}

impl Law for D3Law {
    fn on_departure(&mut self, departure: &Departure, stamps: &mut Stamps) {
        if let Some(Feedback::Request(request)) = stamps.feedback_mut() {
            self.answer(departure, request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::tests::departure;
    use incast_cc::feedback::Grants;

    fn mbps(mbps: u64) -> Rate {
        Rate::from_mbps(mbps)
    }

    fn law() -> D3Law {
        D3::default().start(Rate::from_gbps(1))
    }

    /// The grant of port 7, a link of 1 Gb/s whose packets are all payload, at `us`.
    fn ask(law: &mut D3Law, us: u64, request: Request) -> u64 {
        let departure =
            Departure { rate: Rate::from_gbps(1), wire: 1_000, payload: 1_000, ..departure(us) };
        let mut stamps = Stamps::of(Feedback::Request(request));
        law.on_departure(&departure, &mut stamps);
        let Some(Feedback::Request(answer)) = stamps.feedback() else { unreachable!() };
        answer.granted.of(7).map_or(u64::MAX, |rate| rate.as_bps() / 1_000_000)
    }

    fn request(desired: u64, previous: u64, held: Option<u64>) -> Request {
        let mut request = Request::default();
        (request.desired, request.previous) = (mbps(desired), mbps(previous));
        request.rtt = Span::from_ms(1);
        request.begins = held.is_none();
        let mut grants = Grants::NONE;
        assert!(held.is_none_or(|held| grants.push(7, mbps(held))));
        request.held = grants;
        request
    }

    #[test]
    fn a_request_gets_what_it_desires_and_a_fair_share() {
        let mut law = law();
        // C = 1000, D = 300, N = 1: fair share 700, and left = 1000 > 300.
        assert_eq!(ask(&mut law, 0, request(300, 0, None)), 1_000);
        // All is allocated: left = 0 <= 200, so the second gets nothing.
        assert_eq!(ask(&mut law, 1, request(200, 0, None)), 0);
        // The first asks again: A = 0, D = 500, N = 2, fair share 250: 300 + 250.
        assert_eq!(ask(&mut law, 2, request(300, 300, Some(1_000))), 550);
        // The second: A = 550, left = 450 > 200: 200 + 250.
        assert_eq!(ask(&mut law, 3, request(200, 200, Some(0))), 450);
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let mut law = law();
        // C - D < 0 from the second request on, so there is no fair share.
        assert_eq!(ask(&mut law, 0, request(600, 0, None)), 1_000);
        assert_eq!(ask(&mut law, 1, request(600, 0, None)), 0);
        assert_eq!(ask(&mut law, 2, request(600, 600, Some(1_000))), 600);
        assert_eq!(ask(&mut law, 3, request(600, 600, Some(0))), 400, "what is left");
    }

    #[test]
    fn a_flow_that_ends_gives_back_what_it_held() {
        let mut law = law();
        ask(&mut law, 0, request(600, 0, None));
        let ends = Request { ends: true, ..request(0, 600, Some(1_000)) };
        assert_eq!(ask(&mut law, 1, ends), u64::MAX, "no grant");
        assert_eq!(law.sums, Sums::default());
    }

    /// The grant where 12,500 B wait: 100 kb, which take 100 Mb/s in the round trip of 1 ms.
    fn ask_behind(law: &mut D3Law, us: u64, request: Request) -> u64 {
        let departure = Departure {
            rate: Rate::from_gbps(1),
            wire: 1_000,
            payload: 1_000,
            queued: 12_500,
            ..departure(us)
        };
        let mut stamps = Stamps::of(Feedback::Request(request));
        law.on_departure(&departure, &mut stamps);
        let Some(Feedback::Request(answer)) = stamps.feedback() else { unreachable!() };
        answer.granted.of(7).map_or(u64::MAX, |rate| rate.as_bps() / 1_000_000)
    }

    #[test]
    fn what_waits_is_taken_off_fair_shares_and_off_what_is_free() {
        assert_eq!(ask_behind(&mut law(), 0, request(0, 0, None)), 900);
        let mut law = law();
        // C - D < 0 from the second on. The third gets the 300 that are free less the queue's 100.
        assert_eq!(ask(&mut law, 0, request(700, 0, None)), 1_000);
        assert_eq!(ask(&mut law, 1, request(700, 0, None)), 0);
        assert_eq!(ask(&mut law, 2, request(700, 700, Some(1_000))), 700);
        assert_eq!(ask_behind(&mut law, 3, request(700, 0, None)), 200);
        // Nobody loses what it holds.
        assert_eq!(ask_behind(&mut law, 4, request(700, 700, Some(700))), 700);
        assert_eq!(ask_behind(&mut law, 5, request(900, 700, Some(700))), 700, "and has no more");
    }

    #[test]
    fn the_base_rate_is_granted_in_any_case_and_counts() {
        let with_base = |mut request: Request| {
            request.base = mbps(10);
            request
        };
        let mut law = law();
        assert_eq!(ask(&mut law, 0, with_base(request(700, 0, None))), 1_000);
        assert_eq!(ask(&mut law, 1, with_base(request(700, 0, None))), 10);
        assert_eq!(ask(&mut law, 2, with_base(request(700, 700, Some(1_000)))), 700);
        assert_eq!(ask(&mut law, 3, with_base(request(700, 0, None))), 290, "10 are taken");
    }

    #[test]
    fn what_a_vanished_flow_held_is_free_after_two_windows() {
        let mut law = law();
        assert_eq!(ask(&mut law, 0, request(900, 0, None)), 1_000);
        // Another asks every round trip of 1 ms; windows are twice as long. The first is silent.
        let mut held = ask(&mut law, 500, request(0, 0, None));
        assert_eq!(held, 0);
        for ms in 1..7 {
            held = ask(&mut law, ms * 1_000, request(0, 0, Some(held)));
        }
        assert!(held >= 500, "{held}");
    }

    #[test]
    fn a_request_beyond_the_eighth_port_is_left_alone() {
        let mut law = law();
        let mut full = request(100, 0, None);
        (10..18).for_each(|port| assert!(full.granted.push(port, mbps(5))));
        assert_eq!(ask(&mut law, 0, full), u64::MAX);
        assert!(law.sums.allocated.abs() < f64::EPSILON);
    }
}

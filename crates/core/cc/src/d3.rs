//! D3: deadlines become requests for rates, which switches grant first come first served.
//!
//! Wilson, Ballani, Karagiannis and Rowstron, "Better Never than Late: Meeting Deadlines in
//! Datacenter Networks", SIGCOMM 2011. Once per round trip a flow asks for the rate that meets its
//! deadline, gives back what it held, and paces at the least rate that a port on its way grants.
//! `docs/algorithms/d3.md` has the equations, what is assumed, and the departures.

use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Demand, Due, Flow, Limits, Loss, LossCause, Pacing,
    Reads, Sent,
};
use crate::feedback::{Feedback, Grants, Leaving, Request};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::units::{Bytes, Rate, Span, Time};
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// D3's parameters. The default is the preset `sigcomm11`.
    pub struct D3 {
        /// The least rate of a flow, to which one without a grant comes down by halves, from a
        /// packet in a round trip. At 0bps it does not come down.
        pub base_rate: Rate = Rate::from_mbps(1), in "0bps" to "1Tbps", source "this project";
        /// The way of a flow whose deadline cannot be met any more.
        pub quit: Quit = Quit::Share, source "this project";
    }
}

words! {
    /// The way of a flow whose deadline cannot be met any more. It always delivers its message.
    pub enum Quit {
        /// The flow goes on as one without a deadline.
        Share = "share",
        /// The flow gives back its rate and sends at the base rate until the deadline is over. Then
        /// it goes on as one without a deadline, or it would never end.
        Base = "base",
        /// The flow asks for all of its own link until the deadline is over.
        Never = "never",
    }
}

impl Algorithm for D3 {
    type Control = D3Control;
    const NAME: &'static str = "d3";

    fn start(&self, flow: &Flow) -> D3Control {
        D3Control {
            params: *self,
            mss: flow.mss,
            line_rate: flow.line_rate,
            standing: None,
            newest: None,
            left: 0,
            asked: None,
            asks_from: flow.now,
            known_until: flow.now,
            previous: Rate::ZERO,
            held: Grants::NONE,
            is_known: false,
            has_quit: false,
            granted: None,
            refused: 0,
            rtt: flow.base_rtt.unwrap_or(Span::ZERO),
        }
    }
}

impl Configurable for D3 {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate is what switches grant to deadlines, first come first served",
        kind: Kind::Telemetry,
        signal: "rates that switches grant",
        needs: &[Need::Feedback("d3"), Need::EachAcknowledged, Need::Deadlines],
        transport: Transport::Stream,
        source: "Wilson et al., SIGCOMM 2011",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "sigcomm11", source: "D3, SIGCOMM 2011", values: &[] },
        Preset {
            name: "quitting",
            source: "D3, SIGCOMM 2011, with flows that quit",
            values: &[("quit", "base")],
        },
    ];
    configurable_by_name!();
}

/// A request that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    at: Time,
    desired: Rate,
}

/// A flow under D3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct D3Control {
    params: D3,
    mss: Bytes,
    line_rate: Rate,
    /// The deadline that stands, and the payload up to the end of its message that is not sent.
    standing: Option<Due>,
    /// The deadline of the newest message.
    newest: Option<Time>,
    /// The payload of all messages that was posted and not sent.
    left: u64,
    /// The request that is under way.
    asked: Option<Asked>,
    /// The earliest time of the next request.
    asks_from: Time,
    /// The time until which ports remember the last request.
    known_until: Time,
    /// The desired rate of the last request that was answered, and its grants.
    previous: Rate,
    held: Grants,
    /// Whether ports count the flow.
    is_known: bool,
    /// Whether the flow has quit.
    has_quit: bool,
    /// The least rate granted; none before the first answer.
    granted: Option<Rate>,
    /// The answers in a row that granted less than the base rate.
    refused: u32,
    rtt: Span,
}

/// The most halves by which a flow without a grant comes down.
const MOST_HALVES: u32 = 32;

impl D3Control {
    /// The standing deadline and its bytes; if none, the newest deadline and all unsent bytes.
    fn due(&self) -> Option<Due> {
        let standing = self.standing.filter(|due| !due.bytes.is_zero());
        standing.or(self.newest.map(|at| Due { at, bytes: Bytes::new(self.left) }))
    }

    /// The rate that meets the deadline, or none if that is too late. The answer comes after a
    /// round trip, in which the flow sends at the rate that it has; and the last packet needs time
    /// to arrive.
    fn desired(&self, now: Time) -> Option<Rate> {
        let Some(Due { at, bytes }) = self.due() else { return Some(Rate::ZERO) };
        if at <= now {
            return None;
        }
        let whole = at.since(now);
        let trip = self.rtt.min(whole / 3);
        // The last packet leaves in the place of a whole one.
        let bytes = bytes.get().div_ceil(self.mss.get().max(1)) as f64 * self.mss.get() as f64;
        let left = bytes - self.sent_in(trip);
        let time = (whole - trip * 2).as_secs_f64();
        let rate = Rate::from_bps_f64(left.max(0.0) * 8.0 / time);
        (rate <= self.line_rate).then_some(rate)
    }

    /// The bytes that the flow sends in a time at the rate that it has.
    fn sent_in(&self, time: Span) -> f64 {
        let rate = self.granted.map_or(Rate::ZERO, |granted| self.at_least_base(granted));
        rate.as_bps() as f64 / 8.0 * time.as_secs_f64()
    }

    /// Whether the next answer would come in time to be of use.
    fn outlasts_answer(&self) -> bool {
        // `left` has no retransmissions.
        self.left == 0 || self.left as f64 > self.sent_in(self.rtt)
    }

    /// Begins anew where ports may have forgotten the flow.
    fn forget_if_late(&mut self, now: Time) {
        if self.is_known && now > self.known_until {
            self.is_known = false;
            (self.previous, self.held) = (Rate::ZERO, Grants::NONE);
        }
    }

    /// The request by which the flow gives back what it holds, if ports know it.
    fn end(&mut self) -> Option<Feedback> {
        let request = Request {
            previous: self.previous,
            held: self.held,
            rtt: self.rtt,
            ends: true,
            ..Request::default()
        };
        let is_known = self.is_known;
        (self.asked, self.granted, self.is_known) = (None, None, false);
        self.asks_from = Time::ZERO;
        (self.previous, self.held) = (Rate::ZERO, Grants::NONE);
        is_known.then_some(Feedback::Request(request))
    }

    /// The granted rate; for a grant up to the base rate, a rate that keeps the flow asking.
    fn at_least_base(&self, granted: Rate) -> Rate {
        let (base, packet) = (self.params.base_rate, Rate::of(self.mss, self.round_trip()));
        let rate = if base.is_zero() {
            granted.max(packet)
        } else if granted > base {
            granted
        } else {
            let halves = self.refused.saturating_sub(1).min(MOST_HALVES);
            base.max(Rate::from_bps(packet.as_bps() >> halves))
        };
        rate.max(Rate::from_bps(1)).min(self.line_rate)
    }

    fn round_trip(&self) -> Span {
        self.rtt.max(Span::from_us(1))
    }

    /// The longest time until the next request: a packet at the base rate, and its answer.
    fn longest_wait(&self) -> Span {
        let base = self.params.base_rate;
        let packet = if base.is_zero() { self.rtt } else { base.time_for(self.mss) };
        self.rtt + packet.min(Span::from_secs(1))
    }
}

impl CongestionControl for D3Control {
    fn reads(&self) -> Reads {
        Reads { due: true, ..Reads::default() }
    }

    fn on_demand(&mut self, demand: &Demand) {
        let size = demand.size.map_or(u64::MAX, Bytes::get);
        self.left = self.left.saturating_add(size);
        if self.has_quit {
            // A new message asks at once, and not at the base rate.
            (self.has_quit, self.granted) = (false, None);
        }
        self.newest = demand.deadline;
        if self.standing.is_none() {
            // The payload of messages before it goes first.
            let bytes = Bytes::new(self.left);
            self.standing = demand.deadline.map(|at| Due { at, bytes });
        }
        self.asks_from = demand.now;
    }

    fn on_sent(&mut self, sent: &Sent) {
        if let Some(due) = &mut self.standing {
            due.bytes = due.bytes.saturating_sub(sent.bytes);
        }
        if !sent.retransmission && self.left != u64::MAX {
            self.left = self.left.saturating_sub(sent.bytes.get());
        }
    }

    fn on_restart(&mut self, now: Time, _idle: Span) {
        self.asks_from = now;
    }

    fn request(&mut self, leaving: &Leaving) -> Option<Feedback> {
        let now = leaving.now;
        self.forget_if_late(now);
        if leaving.is_last {
            // A flow that has quit holds nothing, and stays at the base rate.
            return if self.has_quit { None } else { self.end() };
        }
        let is_over = self.due().is_none_or(|due| due.at <= now);
        if self.has_quit && is_over {
            (self.has_quit, self.granted, self.asks_from) = (false, None, now);
        }
        // A request is lost where later data arrives without its answer, or after silence. The
        // round trip time says nothing of a lost request: a queue may grow tenfold in one.
        let awaits = self.asked.is_some() || now < self.asks_from;
        if self.has_quit || !leaving.is_answered || awaits || !self.outlasts_answer() {
            return None;
        }
        let desired = match (self.desired(now), self.params.quit) {
            (Some(desired), _) => desired,
            (None, Quit::Share) => Rate::ZERO,
            (None, Quit::Base | Quit::Never) if is_over => Rate::ZERO,
            (None, Quit::Base) => {
                self.has_quit = true;
                let gives_back = self.end();
                (self.granted, self.refused) = (Some(Rate::ZERO), MOST_HALVES + 1);
                return gives_back;
            }
            (None, Quit::Never) => self.line_rate,
        };
        let again = self.longest_wait();
        // Ports forget a flow after twice the time that it has told, at the earliest.
        (self.asked, self.known_until) = (Some(Asked { at: now, desired }), now + again * 2);
        Some(Feedback::Request(Request {
            desired,
            previous: self.previous,
            held: self.held,
            granted: Grants::NONE,
            rtt: self.rtt,
            again,
            base: self.params.base_rate,
            begins: !self.is_known,
            ends: false,
        }))
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !ack.srtt.is_zero() {
            self.rtt = ack.srtt;
        }
        self.standing =
            ack.due.map(|Due { at, bytes }| Due { at, bytes: bytes.saturating_sub(ack.in_flight) });
        let Some(Asked { at, desired }) = self.asked else { return };
        let answer = match ack.feedback {
            Some(Feedback::Request(answer)) if !answer.ends && !answer.granted.is_empty() => answer,
            // Data that was sent after the request has arrived: its answer is lost.
            _ if ack.sent_at > at && !ack.bytes.is_zero() => {
                (self.asked, self.asks_from) = (None, ack.now);
                return;
            }
            _ => return,
        };
        (self.previous, self.held, self.is_known) = (desired, answer.granted, true);
        self.granted = answer.granted.least();
        let is_refused = self.granted.is_some_and(|granted| granted <= self.params.base_rate);
        self.refused = if is_refused { self.refused.saturating_add(1) } else { 0 };
        (self.asked, self.asks_from) = (None, ack.now.max(at + self.rtt));
    }

    /// Only silence is answered: what is granted fits the links. After it the flow asks anew,
    /// unless it has quit: then it stays at the base rate until its deadline is over.
    fn on_loss(&mut self, loss: &Loss) {
        if loss.cause != LossCause::Detected && !self.has_quit {
            (self.asked, self.granted, self.asks_from) = (None, None, loss.now);
        }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    fn limits(&self) -> Limits {
        let burst = Burst { bytes: self.mss, rate: Rate::MAX };
        match self.granted {
            // A packet asks, and the others wait for the answer.
            None => Limits { cwnd: self.mss, pacing: Pacing::Unpaced, burst },
            Some(granted) => {
                let pacing = Pacing::Rate(self.at_least_base(granted));
                Limits { cwnd: Bytes::MAX, pacing, burst }
            }
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("granted_gbps", self.granted.unwrap_or(Rate::ZERO).as_gbps_f64());
        emit("desired_gbps", self.previous.as_gbps_f64());
    }
}

#[cfg(test)]
mod tests;

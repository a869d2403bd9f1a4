//! The rate computation engine: an algorithm, and the books that the contract promises to keep.
//!
//! Of what the contract offers, this carrier leaves absent: delivery-rate samples, one-way delays, the
//! NIC's backlog (its NIC takes packets when it is free), hop counts, telemetry and load codes of
//! switches, and the base RTT.

use incast_cc::parts::RoundCounter;
use incast_cc::{
    Ack, Bytes, CongestionControl, Demand, Limits, Loss, LossCause, Pacing, Rate, RttSample, Sent,
    Span, Spurious, Time,
};

use super::rtt::RttMeasurement;

/// One connection's algorithm and its books.
#[derive(Clone, Debug)]
pub struct RateComputation<C> {
    control: C,
    limits: Limits,
    round: RoundCounter,
    in_flight: Bytes,
    delivered: Bytes,
    /// Payload handed to the network, retransmissions included: where the next one will start in
    /// transmission order.
    transmitted: Bytes,
    idle_since: Time,
    /// The last round in which the window held data back.
    limited_round: Option<u64>,
}

/// A burst that is acknowledged or lost, or the part of it that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// When it was given to the NIC.
    pub sent_at: Time,
    /// Payload that is concerned.
    pub bytes: Bytes,
    /// Where the burst starts in transmission order, or the first one of several with the same data.
    pub first: Bytes,
    /// Where it ends.
    pub end: Bytes,
}

/// What the sender knows when a segment is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its last transmission, with what of it was still in flight.
    pub sent: Transmission,
    /// Payload of the segment.
    pub delivered: Bytes,
    /// Payload that arrived marked.
    pub ce_bytes: Bytes,
    /// The RTT sample, where it is unambiguous.
    pub sample: Option<RttSample>,
    /// Whether losses are still being repaired.
    pub in_recovery: bool,
    /// Payload posted in all; [`None`] when a message has no end.
    pub posted: Option<Bytes>,
    /// The size of the next segment, zero when nothing waits.
    pub waiting: Bytes,
}

impl<C: CongestionControl> RateComputation<C> {
    /// An algorithm that has just started, at `now`.
    pub fn new(control: C, now: Time) -> Self {
        let limits = control.limits();
        Self {
            control,
            limits,
            round: RoundCounter::default(),
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            transmitted: Bytes::ZERO,
            idle_since: now,
            limited_round: None,
        }
    }

    /// What may be sent.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The algorithm, for plots.
    pub const fn control(&self) -> &C {
        &self.control
    }

    /// Payload sent and neither acknowledged nor declared lost.
    pub const fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Whether `burst` more fits the window.
    pub fn admits(&self, burst: Bytes) -> bool {
        self.in_flight.is_zero() || self.in_flight + burst <= self.limits.cwnd
    }

    /// The application posted a message.
    pub fn on_demand(&mut self, now: Time, size: Option<Bytes>) {
        self.control.on_demand(&Demand::new(now, size));
        self.limits = self.control.limits();
    }

    /// A burst of `bytes` is given to the NIC; `app_limited` tells that nothing more waits. Returns the
    /// burst.
    pub fn on_sent(
        &mut self,
        now: Time,
        bytes: Bytes,
        retransmission: bool,
        app_limited: bool,
    ) -> Transmission {
        if self.in_flight.is_zero() && !self.transmitted.is_zero() {
            self.control.on_restart(now, now.since(self.idle_since));
        }
        self.transmitted += bytes;
        self.in_flight += bytes;
        let mut sent = Sent::new(now, bytes, self.in_flight);
        (sent.end, sent.retransmission) = (self.transmitted, retransmission);
        sent.app_limited = app_limited;
        self.control.on_sent(&sent);
        self.limits = self.control.limits();
        let end = self.transmitted;
        Transmission { sent_at: now, bytes, first: end.saturating_sub(bytes), end }
    }

    /// A segment was completed: TIMELY's completion event.
    pub fn on_completion(&mut self, now: Time, completion: Completion, rtt: &RttMeasurement) {
        let Completion { sent, waiting, .. } = completion;
        let round = self.round.on_ack(sent.end, self.transmitted);
        if !waiting.is_zero() && !self.admits(waiting) {
            self.limited_round = Some(round);
        }
        self.leave_flight(now, sent.bytes);
        self.delivered += completion.delivered;
        let mut ack = Ack::new(now, sent.sent_at, sent.bytes);
        ack.ce_bytes = completion.ce_bytes;
        (ack.first, ack.end, ack.next) = (sent.first, sent.end, self.transmitted);
        ack.rtt = completion.sample;
        (ack.srtt, ack.min_rtt) = (rtt.srtt(), rtt.min_rtt());
        ack.in_flight = self.in_flight;
        ack.cwnd_limited = self.limited_round.is_some_and(|limited| limited + 1 >= round);
        ack.in_recovery = completion.in_recovery;
        ack.round = round;
        ack.delivered = self.delivered;
        ack.remaining = completion.posted.map(|posted| posted.saturating_sub(self.delivered));
        self.control.on_ack(&ack);
        self.limits = self.control.limits();
    }

    /// Data was lost: `sent` with what of it is gone. `in_recovery` tells that an earlier loss is
    /// still being repaired.
    pub fn on_loss(&mut self, now: Time, sent: Transmission, in_recovery: bool, cause: LossCause) {
        self.leave_flight(now, sent.bytes);
        let mut loss = Loss::new(now, sent.sent_at, sent.bytes, cause);
        (loss.first, loss.end) = (sent.first, sent.end);
        (loss.next, loss.in_flight) = (self.transmitted, self.in_flight);
        loss.in_recovery = in_recovery;
        self.control.on_loss(&loss);
        self.limits = self.control.limits();
    }

    /// What was declared lost of a segment had arrived after all.
    pub fn on_spurious_loss(&mut self, now: Time, sent: Transmission) {
        let mut spurious = Spurious::new(now, sent.bytes);
        (spurious.first, spurious.end) = (sent.first, sent.end);
        self.control.on_spurious_loss(&spurious);
        self.limits = self.control.limits();
    }

    /// When the algorithm wants to be called.
    pub fn next_timer(&self) -> Option<Time> {
        self.control.next_timer()
    }

    /// Calls the algorithm if its time has come.
    pub fn on_timer(&mut self, now: Time) {
        if self.control.next_timer().is_some_and(|at| at <= now) {
            self.control.on_timer(now);
            self.limits = self.control.limits();
        }
    }

    fn leave_flight(&mut self, now: Time, bytes: Bytes) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        if self.in_flight.is_zero() {
            self.idle_since = now;
        }
    }
}

/// An algorithm's rate, or its window over the RTT; zero before the RTT is known.
pub(super) fn pacing_rate(limits: &Limits, srtt: Span) -> Rate {
    match limits.pacing {
        Pacing::Rate(rate) => rate,
        Pacing::Window { .. } | Pacing::Unpaced if srtt.is_zero() => Rate::ZERO,
        Pacing::Window { .. } | Pacing::Unpaced => Rate::of(limits.cwnd, srtt),
    }
}

//! The rate computation engine: an algorithm, and the books that the contract promises to keep.
//!
//! Both transports run it. Of what the contract offers, messages leave absent the one-way delay and the
//! NIC's backlog (their NIC takes packets when it is free), and nothing signals loads (VCP) yet.

use incast_cc::parts::RoundCounter;
use incast_cc::{
    Ack, Bytes, CongestionControl, Delivery, Demand, Hop, Limits, Loss, LossCause, Notification,
    Pacing, Rate, RttSample, Sent, Span, Spurious, Time,
};

use crate::connection::Terms;
use crate::rtt::RttMeasurement;
use crate::signal::{Heard, Replaced};

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
    /// The algorithm knows that the pause since then is over.
    restarted: bool,
    /// The last round in which the window held data back.
    limited_round: Option<u64>,
    sampler: Sampler,
    signal: Option<Replaced>,
    hop_count: u8,
    weight: u32,
    deadline: Option<Span>,
}

/// Delivery rates (Cheng et al., draft-cheng-iccrg-delivery-rate-estimation): what a sender must
/// remember to take a sample with each ACK.
#[derive(Clone, Copy, Debug)]
struct Sampler {
    /// When payload was last acknowledged.
    delivered_at: Time,
    /// When the packet left whose acknowledgement is the newest.
    first_sent_at: Time,
    /// Payload declared lost over the life of the connection.
    lost: Bytes,
    /// The application left room in the network until more than this has been delivered.
    app_limited_until: Option<Bytes>,
}

/// What was true when a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Snapshot {
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    in_flight: Bytes,
    lost: Bytes,
    app_limited: bool,
}

/// A burst that is acknowledged or lost, or the part of it that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// When it was given to the NIC.
    pub sent_at: Time,
    /// Payload that is concerned.
    pub bytes: Bytes,
    /// Where the burst starts in transmission order, or the first one of several with the same data.
    pub first: Bytes,
    /// Where it ends.
    pub end: Bytes,
    snapshot: Snapshot,
}

impl Transmission {
    /// The same for `bytes` of it.
    pub(crate) const fn of(mut self, bytes: u64) -> Self {
        self.bytes = Bytes::new(bytes);
        self
    }

    /// The same, with the start of an earlier transmission of the data.
    pub(crate) const fn since(mut self, earlier: &Self) -> Self {
        self.first = earlier.first;
        self
    }

    /// Makes it both together: one ACK may cover many packets.
    #[inline]
    pub(crate) fn join(&mut self, other: Self) {
        let (bytes, first) = (self.bytes + other.bytes, self.first.min(other.first));
        if self.end <= other.end {
            *self = other;
        }
        (self.bytes, self.first) = (bytes, first);
    }
}

/// What the sender knows when data is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion<'a> {
    /// Its last transmission, with what of it was still in flight.
    pub sent: &'a Transmission,
    /// Whether this is known to have arrived: a duplicate ACK without SACK says that something has, a
    /// mark alone that nothing has.
    pub identified: bool,
    /// Payload that is acknowledged.
    pub delivered: Bytes,
    /// Payload that arrived marked.
    pub ce_bytes: Bytes,
    /// The RTT sample, where it is unambiguous.
    pub sample: Option<RttSample>,
    /// Whether losses are still being repaired.
    pub in_recovery: bool,
    /// Payload posted in all; [`None`] when a message has no end.
    pub posted: Option<Bytes>,
    /// Whether the window alone held data back when the ACK came.
    pub window_limited: bool,
    /// From send to arrival by the receiver's clock.
    pub one_way: Option<Span>,
    /// What waits in the host's NIC.
    pub nic_backlog: Bytes,
    /// What the network told along with the ACK.
    pub report: Report<'a>,
}

/// What the network tells along with a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// Whether a switch has marked it (ECN CE).
    pub marked: bool,
    /// What switches have stamped into it; into the acknowledged data, where it is an ACK.
    pub hops: &'a [Hop],
    /// The oracle's RTT of the connection at this instant, without serialization at the sender.
    pub truth: Option<Span>,
}

impl<C: CongestionControl> RateComputation<C> {
    /// An algorithm that has just started, at `now`.
    pub(crate) fn new(control: C, now: Time, signal: Option<Replaced>, terms: &Terms) -> Self {
        let limits = control.limits();
        Self {
            control,
            limits,
            round: RoundCounter::default(),
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            transmitted: Bytes::ZERO,
            idle_since: now,
            restarted: false,
            limited_round: None,
            sampler: Sampler {
                delivered_at: now,
                first_sent_at: now,
                lost: Bytes::ZERO,
                app_limited_until: None,
            },
            signal,
            hop_count: terms.path.hop_count,
            weight: terms.weight,
            deadline: terms.deadline,
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

    /// Where the next transmission will start in transmission order.
    pub const fn transmitted(&self) -> Bytes {
        self.transmitted
    }

    /// Whether `burst` more fits the window.
    pub fn admits(&self, burst: Bytes) -> bool {
        self.in_flight.is_zero() || self.in_flight + burst <= self.limits.cwnd
    }

    /// The application posted a message.
    pub fn on_demand(&mut self, now: Time, size: Option<Bytes>) {
        let mut demand = Demand::new(now, size);
        demand.weight = self.weight;
        demand.deadline = self.deadline.map(|deadline| now + deadline);
        self.control.on_demand(&demand);
        self.limits = self.control.limits();
    }

    /// Nothing waits to be sent, be it new or lost, now that an ACK or a message comes. If the window has
    /// room, rates measured with what is sent next tell of the application.
    pub fn on_drained(&mut self) {
        if self.in_flight < self.limits.cwnd {
            self.sampler.app_limited_until = Some(self.delivered + self.in_flight);
        }
    }

    /// Something is about to be sent. Returns whether this ends a pause with nothing in flight, of which
    /// the algorithm has now heard: it may have other limits.
    pub fn before_send(&mut self, now: Time) -> bool {
        let restarts = self.in_flight.is_zero() && !self.transmitted.is_zero() && !self.restarted;
        if restarts {
            self.restarted = true;
            self.control.on_restart(now, now.since(self.idle_since));
            self.limits = self.control.limits();
        }
        restarts
    }

    /// A burst of `bytes` is given to the NIC; `app_limited` tells that nothing more waits. Returns the
    /// burst.
    #[expect(clippy::inline_always, reason = "what it returns is long, and is made where it stays")]
    #[inline(always)]
    pub fn on_sent(
        &mut self,
        now: Time,
        bytes: Bytes,
        retransmission: bool,
        app_limited: bool,
    ) -> Transmission {
        if self.in_flight.is_zero() {
            self.before_send(now);
            self.restarted = false;
            (self.sampler.delivered_at, self.sampler.first_sent_at) = (now, now);
        }
        let snapshot = Snapshot {
            delivered: self.delivered,
            delivered_at: self.sampler.delivered_at,
            first_sent_at: self.sampler.first_sent_at,
            in_flight: self.in_flight + bytes,
            lost: self.sampler.lost,
            app_limited: self.sampler.app_limited_until.is_some(),
        };
        self.transmitted += bytes;
        self.in_flight += bytes;
        let mut sent = Sent::new(now, bytes, self.in_flight);
        (sent.end, sent.retransmission) = (self.transmitted, retransmission);
        sent.app_limited = app_limited;
        self.control.on_sent(&sent);
        self.limits = self.control.limits();
        let end = self.transmitted;
        Transmission { sent_at: now, bytes, first: end.saturating_sub(bytes), end, snapshot }
    }

    /// Data was acknowledged: on messages, TIMELY's completion event.
    pub fn on_completion(&mut self, now: Time, completion: &Completion<'_>, rtt: &RttMeasurement) {
        let Completion { sent, .. } = completion;
        let round = self.round.on_ack(sent.end, self.transmitted);
        if completion.window_limited {
            self.limited_round = Some(round);
        }
        self.leave_flight(now, sent.bytes);
        self.delivered += completion.delivered;
        let mut ack = Ack::new(now, sent.sent_at, sent.bytes);
        ack.ce_bytes = completion.ce_bytes;
        (ack.first, ack.end, ack.next) = (sent.first, sent.end, self.transmitted);
        ack.rtt = completion.sample;
        (ack.srtt, ack.min_rtt) = (rtt.srtt(), rtt.min_rtt());
        ack.one_way = completion.one_way;
        if let Some(signal) = &mut self.signal {
            let heard = Heard {
                now,
                sent_at: sent.sent_at,
                measured: completion.sample,
                one_way: completion.one_way,
                truth: completion.report.truth,
                identified: completion.identified && !completion.delivered.is_zero(),
            };
            (ack.rtt, ack.one_way) = signal.replace(&heard);
            (ack.srtt, ack.min_rtt) = signal.smoothed();
        }
        ack.delivery = self.sampler.on_completion(now, completion, self.delivered, rtt);
        ack.nic_backlog = completion.nic_backlog;
        ack.hop_count = self.hop_count;
        ack.hops = completion.report.hops;
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
        self.sampler.lost += sent.bytes;
        let mut loss = Loss::new(now, sent.sent_at, sent.bytes, cause);
        (loss.first, loss.end) = (sent.first, sent.end);
        (loss.next, loss.in_flight) = (self.transmitted, self.in_flight);
        loss.in_recovery = in_recovery;
        self.control.on_loss(&loss);
        self.limits = self.control.limits();
    }

    /// Data that was declared lost had arrived after all.
    pub fn on_spurious_loss(&mut self, now: Time, sent: Transmission) {
        self.on_spurious_timeout(now, sent, Bytes::ZERO);
    }

    /// A timeout was for nothing: it has declared `sent` lost, of which `returned` is in flight again.
    #[cold]
    pub fn on_spurious_timeout(&mut self, now: Time, sent: Transmission, returned: Bytes) {
        self.in_flight += returned;
        let mut spurious = Spurious::new(now, sent.bytes);
        (spurious.first, spurious.end, spurious.returned) = (sent.first, sent.end, returned);
        self.control.on_spurious_loss(&spurious);
        self.limits = self.control.limits();
    }

    /// The receiver says that payload arrived marked.
    pub fn on_notification(&mut self, now: Time) {
        self.control.on_notification(&Notification::new(now));
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
        if self.in_flight.is_zero() && !bytes.is_zero() {
            self.idle_since = now;
        }
    }
}

impl Sampler {
    /// Payload was acknowledged, which makes `delivered` in all. Returns the sample that the newest of it
    /// gives.
    fn on_completion(
        &mut self,
        now: Time,
        completion: &Completion<'_>,
        delivered: Bytes,
        rtt: &RttMeasurement,
    ) -> Option<Delivery> {
        if self.app_limited_until.is_some_and(|until| delivered > until) {
            self.app_limited_until = None;
        }
        if completion.delivered.is_zero() {
            return None;
        }
        self.delivered_at = now;
        if !completion.identified {
            return None;
        }
        let &Transmission { sent_at, snapshot: ref then, .. } = completion.sent;
        self.first_sent_at = sent_at;
        let send_interval = sent_at.since(then.first_sent_at);
        let interval = send_interval.max(now.since(then.delivered_at));
        if interval < rtt.min_rtt() || interval.is_zero() {
            return None; // too many ACKs at once to tell a rate
        }
        Some(Delivery {
            rate: Rate::of(delivered.saturating_sub(then.delivered), interval),
            in_flight_at_send: then.in_flight,
            lost: self.lost.saturating_sub(then.lost),
            app_limited: then.app_limited,
        })
    }
}

/// The rate that bursts are spaced by: as fast as can be before the RTT is known. [`None`] where ACKs
/// clock them, unless `unpaced_percent` of window over RTT paces them all the same.
#[inline]
pub(super) fn spacing(limits: &Limits, srtt: Span, unpaced_percent: Option<u32>) -> Option<Rate> {
    let gain_percent = match limits.pacing {
        Pacing::Rate(rate) => return Some(rate),
        Pacing::Window { gain_percent } => gain_percent,
        Pacing::Unpaced => unpaced_percent?,
    };
    let rate = pacing_rate(limits, srtt);
    Some(if rate.is_zero() { Rate::MAX } else { rate * u64::from(gain_percent) / 100 })
}

/// How far apart the algorithm wants the packets of a burst to start, after one of `payload`.
#[inline]
pub(super) fn gap(limits: &Limits, payload: Bytes, line_rate: Rate) -> Span {
    let rate = limits.burst.rate;
    if rate < line_rate { rate.time_for(payload) } else { Span::ZERO }
}

/// An algorithm's rate, or its window over the RTT; zero before the RTT is known.
pub(super) fn pacing_rate(limits: &Limits, srtt: Span) -> Rate {
    match limits.pacing {
        Pacing::Rate(rate) => rate,
        Pacing::Window { .. } | Pacing::Unpaced if srtt.is_zero() => Rate::ZERO,
        Pacing::Window { .. } | Pacing::Unpaced => Rate::of(limits.cwnd, srtt),
    }
}

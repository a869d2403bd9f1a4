//! The rate computation engine: an algorithm, and the books that the contract promises it.
//!
//! Both transports run it. Messages leave out two parts of the contract: the one-way delay, and the
//! backlog of the NIC, which takes packets when it is free.

use std::collections::VecDeque;

use incast_cc::parts::RoundCounter;
use incast_cc::{
    Ack, Bytes, CongestionControl, Delivery, Demand, Due, Feedback, Leaving, Limits, Loss,
    LossCause, Notification, Pacing, Place, Rate, Reads, RttSample, Sent, Span, Spurious, Time,
};

use crate::backlog::Withdrawn;
use crate::connection::Terms;
use crate::rtt::RttMeasurement;
use crate::signal::{Heard, Replaced};
use crate::stamps::Stamps;

/// The algorithm of one connection, with its books.
#[derive(Clone, Debug)]
pub struct RateComputation<C> {
    control: C,
    limits: Limits,
    reads: Reads,
    round: RoundCounter,
    in_flight: Bytes,
    delivered: Bytes,
    /// The payload handed to the network, retransmissions included: the start of the next
    /// transmission in transmission order.
    transmitted: Bytes,
    idle_since: Time,
    /// Whether the algorithm has heard that the pause since then is over.
    restarted: bool,
    /// The second round after the last one in which the window held data back.
    unlimited_from: u64,
    sampler: Sampler,
    signal: Option<Replaced>,
    hop_count: u8,
    weight: u32,
    /// The deadlines of messages, where the algorithm reads them and there was one.
    #[expect(clippy::box_collection, reason = "few flows have any, and a pointer is small")]
    dues: Option<Box<VecDeque<Waiting>>>,
}

/// A message with a deadline that is not acknowledged to its end.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    deadline: Time,
    /// The end of the message in all payload posted.
    end: Bytes,
}

/// The state from which each ACK gives a sample of the delivery rate (Cheng et al.,
/// draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
struct Sampler {
    /// The time at which payload was last acknowledged.
    delivered_at: Time,
    /// The send time of the packet that was acknowledged last.
    first_sent_at: Time,
    /// The payload declared lost over the life of the connection.
    lost: Bytes,
    /// The amount of delivered data up to which the application has left room in the network.
    app_limited_until: Option<Bytes>,
}

/// The books at the time when a packet was sent, from which a sample of the delivery rate starts.
/// They are the same for all packets that are sent at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) delivered: Bytes,
    pub(crate) delivered_at: Time,
    pub(crate) first_sent_at: Time,
    pub(crate) lost: Bytes,
    pub(crate) app_limited: bool,
}

/// A burst that is acknowledged or lost, or a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// The time at which the NIC got the burst.
    pub sent_at: Time,
    /// The payload of this part.
    pub bytes: Bytes,
    /// The start of the burst in transmission order; of several with the same data, that of the
    /// first.
    pub first: Bytes,
    /// The end of the burst in transmission order.
    pub end: Bytes,
    /// The payload in flight, this part included, when it was sent.
    pub(crate) in_flight: Bytes,
    pub(crate) books: Books,
}

impl Transmission {
    /// This transmission, for `bytes` of its payload.
    pub(crate) const fn of(mut self, bytes: u64) -> Self {
        self.bytes = Bytes::new(bytes);
        self
    }

    /// This transmission, with the start of an earlier one of the same data.
    pub(crate) const fn since(mut self, earlier: &Self) -> Self {
        self.first = earlier.first;
        self
    }

    /// Joins another transmission to this one: an ACK may cover many packets.
    #[inline]
    pub fn join(&mut self, other: Self) {
        let (bytes, first) = (self.bytes + other.bytes, self.first.min(other.first));
        if self.end <= other.end {
            *self = other;
        }
        (self.bytes, self.first) = (bytes, first);
    }
}

/// The facts about data that is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion<'a> {
    /// The last transmission of the data, with its payload that was still in flight.
    pub sent: &'a Transmission,
    /// Whether just this data is known to have arrived. A duplicate ACK without SACK says that some
    /// data has, a mark alone that none has.
    pub identified: bool,
    /// The payload that is acknowledged.
    pub delivered: Bytes,
    /// The payload that arrived marked.
    pub ce_bytes: Bytes,
    /// The RTT sample, where it is unambiguous.
    pub sample: Option<RttSample>,
    /// Whether losses are still being repaired.
    pub in_recovery: bool,
    /// The total payload posted; [`None`] when a message has no end.
    pub posted: Option<Bytes>,
    /// Whether the window alone held data back when the ACK came.
    pub window_limited: bool,
    /// The time from send to arrival, by the receiver's clock.
    pub one_way: Option<Span>,
    /// The payload that waits in the host's NIC.
    pub nic_backlog: Bytes,
    /// The network's report along with the ACK.
    pub report: Report<'a>,
}

/// The network's report along with a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// Whether a switch has marked the packet (ECN CE).
    pub marked: bool,
    /// The words of sender and switches in the data that an ACK acknowledges. Those in data itself
    /// are given to [`Endpoint::handle_stamped`](crate::Endpoint::handle_stamped).
    pub stamps: &'a Stamps,
    /// The oracle's RTT of the connection at this instant, without serialization at the sender.
    pub truth: Option<Span>,
    /// The clock that tells the RTT.
    pub clock: Clock,
}

/// The clock that tells the RTT of a message's segment. Timeouts follow the endpoint's own clock in
/// any case: they wait for the carrier, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The endpoint's own: the times of the carrier's calls.
    #[default]
    Calls,
    /// The stamps of a NIC or a kernel. The segment's is told by
    /// [`Endpoint::on_sent_at`](crate::Endpoint::on_sent_at). Where either is missing there is no
    /// sample, since a time from elsewhere would have the wait for a processor in it.
    Stamps {
        /// The arrival of the ACK, where it was stamped.
        arrived: Option<Time>,
        /// The time from the segment's arrival to the departure of its ACK, as the peer says.
        peer: Span,
    },
}

impl<C: CongestionControl> RateComputation<C> {
    /// An algorithm that has just started, at `now`, for a carrier with a protocol of its own.
    pub fn of(control: C, now: Time) -> Self {
        Self::new(control, now, None, &Terms::default())
    }

    /// An algorithm that has just started, at `now`.
    pub(crate) fn new(control: C, now: Time, signal: Option<Replaced>, terms: &Terms) -> Self {
        let (limits, reads) = (control.limits(), control.reads());
        Self {
            control,
            limits,
            reads,
            round: RoundCounter::default(),
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            transmitted: Bytes::ZERO,
            idle_since: now,
            restarted: false,
            unlimited_from: 0,
            sampler: Sampler {
                delivered_at: now,
                first_sent_at: now,
                lost: Bytes::ZERO,
                app_limited_until: None,
            },
            signal,
            hop_count: terms.path.hop_count,
            weight: terms.weight,
            dues: None,
        }
    }

    /// The parts of an ACK that the algorithm reads.
    pub const fn reads(&self) -> Reads {
        self.reads
    }

    /// The algorithm's limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The algorithm, for plots.
    pub const fn control(&self) -> &C {
        &self.control
    }

    /// The payload sent and neither acknowledged nor declared lost.
    pub const fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// The start of the next transmission in transmission order.
    pub const fn transmitted(&self) -> Bytes {
        self.transmitted
    }

    /// The header that the algorithm writes into a packet that leaves.
    #[cold]
    pub(crate) fn request(&mut self, leaving: &Leaving) -> Option<Feedback> {
        self.control.request(leaving)
    }

    /// The payload before `end`, in all payload posted, that is not acknowledged; `u32::MAX` if it
    /// is more, as where there is no end.
    #[inline]
    pub(crate) fn remaining(&self, end: u64) -> u32 {
        u32::try_from(end.saturating_sub(self.delivered.get())).unwrap_or(u32::MAX)
    }

    /// Whether another `burst` fits the window.
    pub fn admits(&self, burst: Bytes) -> bool {
        self.in_flight.is_zero() || self.in_flight + burst <= self.limits.cwnd
    }

    /// Tells the algorithm of a message that the application has posted.
    pub fn on_demand(&mut self, now: Time, size: Option<Bytes>) {
        self.tell_demand(Demand::new(now, size));
    }

    /// Tells the algorithm of a message with a deadline, which ends at `end` in all payload posted.
    #[cold]
    pub fn on_demand_due(&mut self, now: Time, size: Option<Bytes>, deadline: Time, end: Bytes) {
        if self.reads.due {
            self.dues.get_or_insert_default().push_back(Waiting { deadline, end });
        }
        let mut demand = Demand::new(now, size);
        demand.deadline = Some(deadline);
        self.tell_demand(demand);
    }

    /// Whether deadlines stand.
    pub(crate) fn has_dues(&self) -> bool {
        self.dues.is_some()
    }

    /// Notes that payload of a message was taken back, which had its `end` in all payload posted:
    /// no deadline waits for it.
    pub(crate) fn on_withdrawn(&mut self, withdrawn: &Withdrawn, end: Bytes) {
        let &Withdrawn { bytes, is_whole } = withdrawn;
        let Some(dues) = &mut self.dues else { return };
        dues.retain(|due| !(is_whole && due.end == end));
        dues.iter_mut().filter(|due| due.end >= end).for_each(|due| due.end -= bytes);
    }

    fn tell_demand(&mut self, mut demand: Demand) {
        demand.weight = self.weight;
        self.control.on_demand(&demand);
        self.limits = self.control.limits();
    }

    /// The deadline that stands.
    #[cold]
    fn due(dues: &mut VecDeque<Waiting>, delivered: Bytes) -> Option<Due> {
        while dues.front().is_some_and(|waiting| waiting.end <= delivered) {
            dues.pop_front();
        }
        let due = |waiting: &Waiting| Due { at: waiting.deadline, bytes: waiting.end - delivered };
        dues.front().map(due)
    }

    /// The level of a packet of `place`, as the algorithm chooses it.
    pub(crate) fn level(&self, place: &Place) -> u8 {
        self.control.level(place)
    }

    /// Notes that nothing, new or lost, waited to be sent when an ACK or a message came. If the
    /// window has room, delivery rates measured with the next packets are those of the application.
    pub fn on_drained(&mut self) {
        if self.in_flight < self.limits.cwnd {
            self.sampler.app_limited_until = Some(self.delivered + self.in_flight);
        }
    }

    /// Tells the algorithm if the next transmission ends a pause with nothing in flight, and
    /// returns whether it does: the algorithm may then have other limits.
    pub fn before_send(&mut self, now: Time) -> bool {
        let restarts = self.in_flight.is_zero() && !self.transmitted.is_zero() && !self.restarted;
        if restarts {
            self.restarted = true;
            self.control.on_restart(now, now.since(self.idle_since));
            self.limits = self.control.limits();
        }
        restarts
    }

    /// Counts a burst of `bytes` that the NIC gets, and returns it; `app_limited` if nothing more
    /// waits.
    #[expect(clippy::inline_always, reason = "what it returns is long, and is made where it stays")]
    #[inline(always)]
    pub fn on_sent(
        &mut self,
        now: Time,
        bytes: Bytes,
        retransmission: bool,
        app_limited: bool,
    ) -> Transmission {
        let books = self.begin_burst(now);
        self.count_sent(now, bytes, retransmission, app_limited);
        let (end, in_flight) = (self.transmitted, self.in_flight);
        Transmission {
            sent_at: now,
            bytes,
            first: end.saturating_sub(bytes),
            end,
            in_flight,
            books,
        }
    }

    /// Prepares for data that the NIC gets now; returns the books that all of it shares.
    #[inline]
    pub(crate) fn begin_burst(&mut self, now: Time) -> Books {
        if self.in_flight.is_zero() {
            self.before_send(now);
            self.restarted = false;
            (self.sampler.delivered_at, self.sampler.first_sent_at) = (now, now);
        }
        Books {
            delivered: self.delivered,
            delivered_at: self.sampler.delivered_at,
            first_sent_at: self.sampler.first_sent_at,
            lost: self.sampler.lost,
            app_limited: self.sampler.app_limited_until.is_some(),
        }
    }

    /// Counts `bytes` of the data that [`begin_burst`](Self::begin_burst) has prepared for, and
    /// tells the algorithm.
    #[inline]
    pub(crate) fn count_sent(
        &mut self,
        now: Time,
        bytes: Bytes,
        retransmission: bool,
        app_limited: bool,
    ) {
        self.count_unheard(bytes);
        if !self.reads.sent {
            return;
        }
        let mut sent = Sent::new(now, bytes, self.in_flight);
        (sent.end, sent.retransmission) = (self.transmitted, retransmission);
        sent.app_limited = app_limited;
        self.control.on_sent(&sent);
        self.limits = self.control.limits();
    }

    /// Counts `bytes` of the data that [`begin_burst`](Self::begin_burst) has prepared for, of which
    /// the algorithm does not hear.
    #[inline]
    pub(crate) fn count_unheard(&mut self, bytes: Bytes) {
        self.transmitted += bytes;
        self.in_flight += bytes;
    }

    /// Takes data off the books that was acknowledged, and tells the algorithm: on messages,
    /// TIMELY's completion event.
    pub fn on_completion(&mut self, now: Time, completion: &Completion<'_>, rtt: &RttMeasurement) {
        self.complete(now, completion, rtt);
    }

    /// Does as [`on_completion`](Self::on_completion), in place.
    #[expect(clippy::inline_always, reason = "what it gets is long, and is made where it stays")]
    #[inline(always)]
    pub(crate) fn complete(
        &mut self,
        now: Time,
        completion: &Completion<'_>,
        rtt: &RttMeasurement,
    ) {
        let Completion { sent, .. } = completion;
        let round = self.round.on_ack(sent.end, self.transmitted);
        if completion.window_limited {
            self.unlimited_from = round + 2;
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
        let wanted = self.reads.delivery.then_some(rtt);
        ack.delivery = self.sampler.on_completion(now, completion, self.delivered, wanted);
        if self.reads.nic_backlog {
            ack.nic_backlog = completion.nic_backlog;
        }
        ack.hop_count = self.hop_count;
        (ack.hops, ack.feedback) =
            (completion.report.stamps.hops(), completion.report.stamps.feedback());
        ack.in_flight = self.in_flight;
        ack.cwnd_limited = round < self.unlimited_from;
        ack.in_recovery = completion.in_recovery;
        ack.round = round;
        ack.delivered = self.delivered;
        ack.remaining = completion.posted.map(|posted| posted.saturating_sub(self.delivered));
        if let Some(dues) = &mut self.dues {
            ack.due = Self::due(dues, self.delivered);
        }
        self.control.on_ack(&ack);
        self.limits = self.control.limits();
    }

    /// Takes the payload of `sent` off the books as lost, and tells the algorithm; `in_recovery` if
    /// an earlier loss is still being repaired.
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

    /// Sets the payload in flight to what a carrier's own books say: data was given up that is
    /// neither acknowledged nor lost.
    pub fn set_in_flight(&mut self, now: Time, in_flight: Bytes) {
        let given_up = self.in_flight.saturating_sub(in_flight);
        self.in_flight = in_flight;
        if in_flight.is_zero() && !given_up.is_zero() {
            self.idle_since = now;
        }
    }

    /// Tells the algorithm that the largest payload of a packet has changed.
    pub fn on_mss_change(&mut self, mss: Bytes) {
        self.control.on_mss_change(mss);
        self.limits = self.control.limits();
    }

    /// Tells the algorithm that data which was declared lost had arrived after all.
    pub fn on_spurious_loss(&mut self, now: Time, sent: Transmission) {
        self.on_spurious_timeout(now, sent, Bytes::ZERO);
    }

    /// Tells the algorithm of a spurious timeout, which had declared `sent` lost; `returned` of it
    /// is in flight again.
    #[cold]
    pub fn on_spurious_timeout(&mut self, now: Time, sent: Transmission, returned: Bytes) {
        self.in_flight += returned;
        let mut spurious = Spurious::new(now, sent.bytes);
        (spurious.first, spurious.end, spurious.returned) = (sent.first, sent.end, returned);
        self.control.on_spurious_loss(&spurious);
        self.limits = self.control.limits();
    }

    /// Tells the algorithm that payload arrived marked, as the receiver says.
    pub fn on_notification(&mut self, now: Time) {
        self.control.on_notification(&Notification::new(now));
        self.limits = self.control.limits();
    }

    /// The time at which the algorithm wants to be called.
    pub fn next_timer(&self) -> Option<Time> {
        self.control.next_timer()
    }

    /// Calls the algorithm if its time has come.
    #[inline]
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
    /// Takes the sample of the newest payload acknowledged; `delivered` is the total with it. The
    /// sample is wanted where there is an `rtt`.
    #[inline]
    fn on_completion(
        &mut self,
        now: Time,
        completion: &Completion<'_>,
        delivered: Bytes,
        rtt: Option<&RttMeasurement>,
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
        let &Transmission { sent_at, in_flight, books: ref then, .. } = completion.sent;
        self.first_sent_at = sent_at;
        let rtt = rtt?;
        let send_interval = sent_at.since(then.first_sent_at);
        let interval = send_interval.max(now.since(then.delivered_at));
        if interval < rtt.min_rtt() || interval.is_zero() {
            return None; // too many ACKs at once to tell a rate
        }
        Some(Delivery {
            rate: Rate::of(delivered.saturating_sub(then.delivered), interval),
            in_flight_at_send: in_flight,
            lost: self.lost.saturating_sub(then.lost),
            app_limited: then.app_limited,
        })
    }
}

/// The rate that bursts are spaced by, unlimited before the RTT is known. [`None`] where ACKs clock
/// them, unless `unpaced_percent` of window over RTT paces them all the same.
#[inline]
pub fn spacing(limits: &Limits, srtt: Span, unpaced_percent: Option<u32>) -> Option<Rate> {
    let gain_percent = match limits.pacing {
        Pacing::Rate(rate) => return Some(rate),
        Pacing::Window { gain_percent } => gain_percent,
        Pacing::Unpaced => unpaced_percent?,
    };
    let rate = pacing_rate(limits, srtt);
    Some(if rate.is_zero() { Rate::MAX } else { rate * u64::from(gain_percent) / 100 })
}

/// The time between the starts of two packets of a burst that the algorithm wants, after one of
/// `payload`.
#[inline]
pub(super) fn gap(limits: &Limits, payload: Bytes, line_rate: Rate) -> Span {
    let rate = limits.burst.rate;
    if rate < line_rate { rate.time_for(payload) } else { Span::ZERO }
}

/// An algorithm's rate, or its window over the RTT; zero before the RTT is known.
#[inline]
pub(super) fn pacing_rate(limits: &Limits, srtt: Span) -> Rate {
    match limits.pacing {
        Pacing::Rate(rate) => rate,
        Pacing::Window { .. } | Pacing::Unpaced if srtt.is_zero() => Rate::ZERO,
        Pacing::Window { .. } | Pacing::Unpaced => Rate::of(limits.cwnd, srtt),
    }
}

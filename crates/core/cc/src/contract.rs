//! The contract of an algorithm: the events that it is told of, and its answers.
//!
//! A carrier calls, in the order in which things happen at the sender:
//!
//! 1. [`Algorithm::start`] once per flow;
//! 2. [`on_demand`](CongestionControl::on_demand) when the application posts a message, and
//!    [`on_restart`](CongestionControl::on_restart) before the first send after nothing was in
//!    flight;
//! 3. [`on_sent`](CongestionControl::on_sent) after each packet (stream) or segment (message) that
//!    it sends;
//! 4. [`on_loss`](CongestionControl::on_loss) for each burst of which data is declared lost, then
//!    [`on_ack`](CongestionControl::on_ack) for the acknowledgement that told of it, if one did;
//! 5. [`on_timer`](CongestionControl::on_timer) when the instant that
//!    [`next_timer`](CongestionControl::next_timer) named has come; it asks for the next instant
//!    after every call. A call may come late, and the next instant must then lie after it;
//! 6. [`limits`](CongestionControl::limits) whenever it decides whether to send. It is cheap.
//!
//! # Promises of the carrier
//!
//! * Times never go back.
//! * Windows and rates count payload. (`line_rate` is the wire's, so a payload rate equal to it is
//!   cut by the NIC to what the headers leave.)
//! * **Transmission order.** `first`, `end` and `next` count payload handed to the network since
//!   the start, retransmissions included, so they order transmissions even where clocks tie. "Once
//!   per window" is `ack.end > reacted_at; reacted_at = ack.next`. `first` and `end` span the
//!   bursts that the data left with, from the start of the oldest to the end of the newest; `bytes`
//!   is less where only a part of them is concerned. `end` tells the monitor interval.
//! * **Books.** Each transmission is in flight, acknowledged or lost. `in_flight` is the payload
//!   sent less that acknowledged or lost, after the event that it comes with; a loss does not yet
//!   count the ACK that told of it. No loss and no false loss is of zero bytes.
//! * **Timeouts.** A timeout declares lost all that has left the NIC, burst by burst.
//! * **False losses.** Data acknowledged after it was declared lost is in `delivered` of that ACK,
//!   not in its `bytes`. [`on_spurious_loss`](CongestionControl::on_spurious_loss) comes before the
//!   ACK; a stream waits until all that the episode declared lost has been acknowledged so. Where
//!   an answer shows that a timeout was needless, the call is for all that this timeout and those
//!   after it declared lost. The part still on its way is in flight again ([`Spurious::returned`]).
//! * **Delayed ACKs.** Where the receiver tells how long its timer has held an ACK back, `rtt`,
//!   `srtt` and `min_rtt` are without that: a timer is no congestion. The carrier's own timeout
//!   covers it.
//! * **Sending.** The next burst leaves when the pacer lets it, and either it fits (`in_flight +
//!   burst <= cwnd`) or nothing is in flight that could be answered before it. A stream's fast
//!   retransmit and its tail-loss probes do not wait for the window. The carrier never changes an
//!   algorithm's window itself: no inflation in recovery, no reset after idling.
//! * Where the carrier replaces the signal (an oracle, added noise), `rtt`, `srtt`, `min_rtt` and
//!   `one_way` all tell of the replaced one.
//! * Once per round, the receiver's classic ECN echo is answered (CWR) by the carrier; `ce_bytes`
//!   is the amount that the echo vouches for.
//!
//! # Promises of an algorithm
//!
//! No panic and no overflow for any order of calls, line rates from 1 Mb/s to 8 Tb/s and RTTs
//! from 1 us to 1 s; the rate of [`Limits`] is never zero and never above [`Flow::line_rate`];
//! `cwnd` is at least one [`Flow::mss`], and above [`Flow::max_window`] only where that is less, or
//! as [`Bytes::MAX`]; gauges are finite.

use crate::feedback::{Feedback, Leaving};
use crate::units::{Bytes, Rate, Span, Time};

/// The slowest line that algorithms are made for.
pub const SLOWEST_LINE: Rate = Rate::from_mbps(1);

/// The fastest line that algorithms are made for: `NVLink` has 7.2 Tb/s, and the clock ticks in
/// picoseconds, in one of which a byte leaves at this rate.
pub const FASTEST_LINE: Rate = Rate::from_gbps(8_000);

/// The state of one flow under one algorithm.
pub trait CongestionControl {
    /// Data was acknowledged. `ack.bytes` may be zero: a duplicate, a mark alone, or the RTT of a
    /// burst that has arrived in part.
    fn on_ack(&mut self, ack: &Ack<'_>);

    /// Data was declared lost.
    fn on_loss(&mut self, loss: &Loss);

    /// The limits on sending from now on.
    fn limits(&self) -> Limits;

    /// Data was handed to the network.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// The application posted a message. The call comes at once, even where earlier messages still
    /// wait; size and deadline concern the new message alone.
    fn on_demand(&mut self, _demand: &Demand) {}

    /// The flow is about to send after `idle` with nothing in flight.
    ///
    /// The application has paused if the last [`Sent`] was `app_limited`. Otherwise a pacer slower
    /// than a burst per round trip has left a gap; or an ACK for everything in flight lets the next
    /// burst leave at once, and `idle` is zero.
    fn on_restart(&mut self, _now: Time, _idle: Span) {}

    /// Data declared lost has been acknowledged after all: every loss of the episode was false.
    fn on_spurious_loss(&mut self, _spurious: &Spurious) {}

    /// A congestion notification outside the ACK stream, such as the CNP of DCQCN.
    fn on_notification(&mut self, _notification: &Notification) {}

    /// The instant of [`next_timer`](Self::next_timer) has come.
    fn on_timer(&mut self, _now: Time) {}

    /// The instant of the next call of [`on_timer`](Self::on_timer).
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The header that a leaving data packet takes to ports that answer senders. Asked for each
    /// packet where the ports speak the algorithm's language
    /// ([`Need::Feedback`](crate::param::Need)), for no other.
    fn request(&mut self, _leaving: &Leaving) -> Option<Feedback> {
        None
    }

    /// The reports that the algorithm reads, of those that take a carrier extra work. The answer is
    /// the same for the whole flow.
    fn reads(&self) -> Reads {
        Reads::default()
    }

    /// The level of a packet of `place` below the traffic class of its flow: 0 is that class, 1 the
    /// next lower one. A carrier that has fewer classes takes the lowest. Asked as each packet
    /// leaves, of algorithms that [read](Self::reads) it; a retransmission has the place of its
    /// data.
    fn level(&self, _place: &Place) -> u8 {
        0
    }

    /// The way in which a stream finds its losses. The answer is the same for the whole flow.
    fn loss_detection(&self) -> LossDetection {
        LossDetection::Carrier
    }

    /// The metrics of the path for later flows ([`Flow::path`]). Asked when all that was posted has
    /// been acknowledged.
    fn metrics(&self) -> Option<PathMetrics> {
        None
    }

    /// The largest payload of a packet has changed.
    fn on_mss_change(&mut self, _mss: Bytes) {}

    /// Calls `emit` with the name and value of each gauge. Units stand in the names.
    fn gauges(&self, _emit: &mut dyn FnMut(&'static str, f64)) {}
}

/// An algorithm with its parameters: starts the control of each flow.
pub trait Algorithm {
    /// The state of one flow.
    type Control: CongestionControl + Clone;
    /// The name by which the command line, scenarios and tests find it.
    const NAME: &'static str;
    /// A new flow.
    fn start(&self, flow: &Flow) -> Self::Control;
}

/// The facts about a flow at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// The instant of the start.
    pub now: Time,
    /// The largest payload of one packet.
    pub mss: Bytes,
    /// The unit of sending and of acknowledgement: up to 64 KB in the message transport, the MSS in
    /// a stream.
    pub segment: Bytes,
    /// The rate of the sender's NIC. No pacing rate exceeds it.
    pub line_rate: Rate,
    /// The RTT without queues, where the operator knows it. TIMELY does without.
    pub base_rtt: Option<Span>,
    /// Flows that the sender already has active: a new TIMELY flow starts at
    /// `line_rate / (active_flows + 1)`.
    pub active_flows: u32,
    /// The window of a window-based algorithm before the first ACK.
    pub initial_window: Bytes,
    /// Segments by which one ACK may let a window grow in slow start: the limit L of RFC 3465.
    /// [`u32::MAX`] is none, as in Linux; RFC 5681 and ns-3 have 1.
    pub slow_start_limit: u32,
    /// The most that the peer and the socket buffers let be in flight; [`Bytes::MAX`] is no limit.
    pub max_window: Bytes,
    /// The seed of random numbers: different for every flow, equal in every run.
    pub seed: u64,
    /// The metrics that earlier flows of the sender have left: of the path to the same peer or,
    /// where none went there, of the path that was used last. `None` where there is none, or the
    /// carrier keeps none.
    pub path: Option<PathMetrics>,
}

impl Flow {
    /// A flow at time zero whose segments are `segment` long, on a NIC of `line_rate`.
    pub const fn new(segment: Bytes, line_rate: Rate) -> Self {
        Self {
            now: Time::ZERO,
            mss: Bytes::new(1_460),
            segment,
            line_rate,
            base_rtt: None,
            active_flows: 0,
            initial_window: Bytes::new(14_600),
            slow_start_limit: u32::MAX,
            max_window: Bytes::MAX,
            seed: 0,
            path: None,
        }
    }
}

/// The facts about a path that outlive the flow that found them, as Linux's TCP metrics do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMetrics {
    /// The instant of the flow's newest sample.
    pub at: Time,
    /// The least RTT.
    pub least_rtt: Span,
    /// The rate that the path bore.
    pub rate: Rate,
}

/// A message that the application has posted, and its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Demand {
    /// The instant of the event.
    pub now: Time,
    /// The size of the message, where it is known (RTCP's urgent flows, D2TCP).
    pub size: Option<Bytes>,
    /// The deadline of this message alone. Messages posted before it may still wait, and are sent
    /// first; [`Ack::due`] says whose deadline stands.
    pub deadline: Option<Time>,
    /// The flow's share relative to others, 1 by default.
    pub weight: u32,
}

impl Demand {
    /// A message of `size`, of common weight and without a deadline.
    pub const fn new(now: Time, size: Option<Bytes>) -> Self {
        Self { now, size, deadline: None, weight: 1 }
    }
}

/// The deadline that stands, and the payload that it leaves to be acknowledged.
///
/// Messages of a flow are sent one after the other. While several wait, the deadline of the oldest
/// one that has a deadline and is not acknowledged to its end stands, also when it has passed. The
/// messages before that one count in `bytes`; those behind it, and their deadlines, do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The instant of the deadline.
    pub at: Time,
    /// The payload up to the end of its message that is not acknowledged.
    pub bytes: Bytes,
}

/// The place of a packet in its message, and the terms of that message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Payload of the flow before the packet, of all its messages.
    pub start: Bytes,
    /// Payload of the message before the packet.
    pub offset: Bytes,
    /// The size of the message; `None` where it has no end.
    pub size: Option<Bytes>,
    /// Payload of the message that is not acknowledged; `None` where it has no end. A stream counts
    /// payload beyond a gap as not acknowledged.
    pub remaining: Option<Bytes>,
    /// The deadline of the message.
    pub deadline: Option<Time>,
}

impl Place {
    /// The place `offset` bytes into the only message of a flow, which has `size` bytes and of
    /// which nothing is acknowledged.
    pub const fn new(offset: Bytes, size: Option<Bytes>) -> Self {
        Self { start: offset, offset, size, remaining: size, deadline: None }
    }
}

/// The way in which a stream finds its losses. Messages always find them as their carrier does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// The carrier's: what ACKs tell (RACK, duplicate ACKs), tail-loss probes, and timeouts that
    /// follow the RTT.
    Carrier,
    /// Timeouts alone, all of the same length (pFabric).
    Timeout {
        /// The timeout, whatever the RTT is. It does not back off.
        after: Span,
        /// The number of timeouts in a row after which the sender sends no data: from then on each
        /// timeout sends a packet without payload, until an ACK comes. 0 is never.
        probe_after: u32,
    },
}

/// An acknowledgement, as the sender sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ack<'a> {
    /// The instant of the event.
    pub now: Time,
    /// The instant at which the newest of the acknowledged data was sent.
    pub sent_at: Time,
    /// Newly acknowledged payload; each byte is counted once.
    pub bytes: Bytes,
    /// Payload that arrived with a congestion mark since the receiver's last ACK. An amount, since
    /// DCTCP needs the fraction. More than `bytes` where marks of other data come along: of
    /// retransmissions, or of data that is not complete yet. Marks of an ACK that is lost are lost
    /// with it.
    pub ce_bytes: Bytes,
    /// The start of the oldest burst of the acknowledged data, in transmission order.
    pub first: Bytes,
    /// The end of the newest one.
    pub end: Bytes,
    /// The start of the next transmission.
    pub next: Bytes,
    /// The RTT sample; absent where it would be ambiguous (a retransmission without a timestamp).
    pub rtt: Option<RttSample>,
    /// The carrier's smoothed [`RttSample::total`] (RFC 6298), with this sample in it; zero before
    /// the first.
    pub srtt: Span,
    /// The least [`RttSample::total`] seen on this flow; [`Span::MAX`] before the first.
    pub min_rtt: Span,
    /// The time from send to arrival by the receiver's clock, whose offset is constant and leaves
    /// the value positive: only differences mean something (LEDBAT).
    pub one_way: Option<Span>,
    /// Payload sent and neither acknowledged nor declared lost, after this ACK.
    pub in_flight: Bytes,
    /// Whether `cwnd`, not the application or the pacer, held data back at some instant of this
    /// round or the last one.
    pub cwnd_limited: bool,
    /// Whether losses that were detected are still being repaired: the carrier's recovery episode
    /// (fast recovery) is open. A timeout ends it, and repairs in slow start.
    pub in_recovery: bool,
    /// Counts round trips: goes up by one when data sent after the last increment is acknowledged.
    pub round: u64,
    /// Payload acknowledged over the life of the flow, this ACK included.
    pub delivered: Bytes,
    /// Payload posted and not acknowledged, of all messages of the flow together. `None` once the
    /// application has posted a message without an end.
    pub remaining: Option<Bytes>,
    /// The deadline that stands after this ACK, with the payload up to it (D2TCP, MCP). `None`
    /// without one, and where the algorithm does not [read](CongestionControl::reads) it.
    pub due: Option<Due>,
    /// The delivery-rate sample; absent when its interval is shorter than `min_rtt`, and where the
    /// algorithm does not [read](CongestionControl::reads) it.
    pub delivery: Option<Delivery>,
    /// Bytes of all flows of the host that wait in the sender's own NIC, without those that the
    /// pacer holds back (the backlog of the sender in RTCP). Zero where the algorithm does not
    /// [read](CongestionControl::reads) it.
    pub nic_backlog: Bytes,
    /// Links that the acknowledged data crossed, zero where unknown (Swift's hop scaling).
    pub hop_count: u8,
    /// The stamps of the switches in the data, first hop first; empty without telemetry.
    pub hops: &'a [Hop],
    /// The header of the data as the ports have left it, where the sender has written one
    /// ([`CongestionControl::request`]).
    pub feedback: Option<&'a Feedback>,
}

/// The reports that an algorithm reads, of those that take a carrier extra work. By default these
/// are the calls of [`CongestionControl::on_sent`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each report is read or not")]
pub struct Reads {
    /// [`Ack::delivery`].
    pub delivery: bool,
    /// [`Ack::nic_backlog`].
    pub nic_backlog: bool,
    /// The calls of [`CongestionControl::on_sent`]. Without them a carrier need not make any.
    pub sent: bool,
    /// [`Ack::due`].
    pub due: bool,
    /// The calls of [`CongestionControl::level`]. Without them all data stays in the class of its
    /// traffic.
    pub level: bool,
}

impl Reads {
    /// None of these reports.
    pub const NONE: Self =
        Self { delivery: false, nic_backlog: false, sent: false, due: false, level: false };
}

impl Default for Reads {
    fn default() -> Self {
        Self { sent: true, ..Self::NONE }
    }
}

impl Ack<'_> {
    /// An ACK for `bytes` sent at `sent_at`; everything else absent or zero.
    pub const fn new(now: Time, sent_at: Time, bytes: Bytes) -> Self {
        Self {
            now,
            sent_at,
            bytes,
            ce_bytes: Bytes::ZERO,
            first: Bytes::ZERO,
            end: Bytes::ZERO,
            next: Bytes::ZERO,
            rtt: None,
            srtt: Span::ZERO,
            min_rtt: Span::MAX,
            one_way: None,
            in_flight: Bytes::ZERO,
            cwnd_limited: false,
            in_recovery: false,
            round: 0,
            delivered: Bytes::ZERO,
            remaining: None,
            due: None,
            delivery: None,
            nic_backlog: Bytes::ZERO,
            hop_count: 0,
            hops: &[],
            feedback: None,
        }
    }

    /// This ACK without the stamps and the header of switches, which somebody else has.
    #[must_use]
    pub const fn without_hops(&self) -> Ack<'static> {
        Ack {
            now: self.now,
            sent_at: self.sent_at,
            bytes: self.bytes,
            ce_bytes: self.ce_bytes,
            first: self.first,
            end: self.end,
            next: self.next,
            rtt: self.rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            one_way: self.one_way,
            in_flight: self.in_flight,
            cwnd_limited: self.cwnd_limited,
            in_recovery: self.in_recovery,
            round: self.round,
            delivered: self.delivered,
            remaining: self.remaining,
            due: self.due,
            delivery: self.delivery,
            nic_backlog: self.nic_backlog,
            hop_count: self.hop_count,
            hops: &[],
            feedback: None,
        }
    }

    /// This ACK with an RTT sample that is all network.
    #[must_use]
    pub const fn with_rtt(mut self, rtt: Span) -> Self {
        self.rtt = Some(RttSample { total: rtt, serialization: Span::ZERO, peer: Span::ZERO });
        self
    }
}

/// A measured round trip, and its parts outside the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// The time from handing the data to the NIC to its acknowledgement, without the time for which
    /// the receiver's timer held it back, where the receiver says so (a delayed ACK).
    pub total: Span,
    /// The time that the NIC needs for the data alone, at the rate it was told to send the burst
    /// at.
    pub serialization: Span,
    /// The peer's turnaround, where it reports it (Swift's endpoint delay).
    pub peer: Span,
}

impl RttSample {
    /// Propagation and queueing in both directions: TIMELY's RTT.
    pub const fn network(self) -> Span {
        self.total.saturating_sub(self.serialization).saturating_sub(self.peer)
    }
}

/// A delivery-rate sample, as Linux and BBR define it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Acknowledged payload over the longer of the send and the ACK interval.
    pub rate: Rate,
    /// Bytes in flight when the newest acknowledged data was sent.
    pub in_flight_at_send: Bytes,
    /// Payload declared lost between that instant and now.
    pub lost: Bytes,
    /// Whether the application, not the network, set the rate.
    pub app_limited: bool,
}

/// The stamp of a switch port in a packet that leaves it (HPCC's INT). Bytes are wire bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hop {
    /// Names the port: counters of two hops compare only where it is the same.
    pub port: u32,
    /// The instant at which the packet left the port, by the switch's clock.
    pub at: Time,
    /// Rate of the link behind the port.
    pub rate: Rate,
    /// Bytes in the queue that the packet left behind.
    pub queue: Bytes,
    /// Bytes that the port has sent since the start.
    pub sent: Bytes,
}

/// Data was declared lost: a burst, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The instant of the event.
    pub now: Time,
    /// The instant at which the newest of the lost data was sent.
    pub sent_at: Time,
    /// The amount of lost payload.
    pub bytes: Bytes,
    /// The start of the oldest burst of the lost data, in transmission order.
    pub first: Bytes,
    /// The end of the newest one.
    pub end: Bytes,
    /// The start of the next transmission.
    pub next: Bytes,
    /// Payload in flight, the lost bytes no longer counted.
    pub in_flight: Bytes,
    /// Whether an earlier loss is still being repaired: the carrier opens no new episode. Data that
    /// was sent after the last reaction and is lost as well is a second sign of congestion (RFC
    /// 5681, section 4.3).
    pub in_recovery: bool,
    /// The sign by which the loss was found.
    pub cause: LossCause,
}

impl Loss {
    /// `bytes` sent at `sent_at` are lost, found out by `cause`.
    pub const fn new(now: Time, sent_at: Time, bytes: Bytes, cause: LossCause) -> Self {
        Self {
            now,
            sent_at,
            bytes,
            first: Bytes::ZERO,
            end: bytes,
            next: bytes,
            in_flight: Bytes::ZERO,
            in_recovery: false,
            cause,
        }
    }
}

/// The signs by which a loss is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Data that arrived after it: duplicate ACKs, selective ACKs, a receiver's report.
    Detected,
    /// Silence: the retransmission timer fired.
    Timeout,
    /// A second timeout or more, without an ACK in between: the conclusion from the first one
    /// stands (RFC 5681 holds the threshold).
    Persistent,
}

/// A false loss: data declared lost was acknowledged after all, or a timeout that came too
/// early had given it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spurious {
    /// The instant of the event.
    pub now: Time,
    /// The amount of payload that was no loss.
    pub bytes: Bytes,
    /// The start of that data in transmission order.
    pub first: Bytes,
    /// The end of that data.
    pub end: Bytes,
    /// The part of that data that is in flight again: its acknowledgement is still to come.
    pub returned: Bytes,
}

impl Spurious {
    /// `bytes` were no loss.
    pub const fn new(now: Time, bytes: Bytes) -> Self {
        Self { now, bytes, first: Bytes::ZERO, end: bytes, returned: Bytes::ZERO }
    }
}

/// A congestion notification outside the ACK stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// The instant of the event.
    pub now: Time,
}

impl Notification {
    /// A notification that arrived `now`.
    pub const fn new(now: Time) -> Self {
        Self { now }
    }
}

/// Data was handed to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The instant of the event.
    pub now: Time,
    /// Payload that was sent.
    pub bytes: Bytes,
    /// The end of that payload in transmission order.
    pub end: Bytes,
    /// Payload in flight, this included.
    pub in_flight: Bytes,
    /// Whether the data had been sent before.
    pub retransmission: bool,
    /// Whether the flow has nothing more to send.
    pub app_limited: bool,
}

impl Sent {
    /// `bytes` were sent, making `in_flight`.
    pub const fn new(now: Time, bytes: Bytes, in_flight: Bytes) -> Self {
        Self { now, bytes, end: bytes, in_flight, retransmission: false, app_limited: false }
    }
}

/// The limits of an algorithm on sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most payload in flight. A rate-based algorithm says [`Bytes::MAX`].
    pub cwnd: Bytes,
    /// The spread of sending over time.
    pub pacing: Pacing,
    /// The most that leaves at once, and its rate.
    pub burst: Burst,
}

impl Limits {
    /// A window that ACKs clock.
    pub const fn window(cwnd: Bytes) -> Self {
        Self { cwnd, pacing: Pacing::Unpaced, burst: Burst::CARRIER }
    }

    /// A rate and no window, bursts left to the carrier.
    pub const fn rate(rate: Rate) -> Self {
        Self { cwnd: Bytes::MAX, pacing: Pacing::Rate(rate), burst: Burst::CARRIER }
    }
}

/// The spread of sending over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// No pacing: ACKs clock the window.
    Unpaced,
    /// The window, times `gain_percent / 100`, over the carrier's smoothed RTT.
    Window {
        /// Linux uses 200 in slow start and 120 after.
        gain_percent: u32,
    },
    /// This rate, from the start of one burst to the start of the next.
    Rate(Rate),
}

/// A burst is data that leaves without a pause of the pacer: a segment, a TSO packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Most payload in one burst; [`Bytes::MAX`] leaves the size to the carrier (its segment).
    pub bytes: Bytes,
    /// The rate at which the packets of one burst leave, where the carrier can set it (TIMELY's
    /// burst pacing); [`Rate::MAX`] is line rate.
    pub rate: Rate,
}

impl Burst {
    /// Whole segments at line rate.
    pub const CARRIER: Self = Self { bytes: Bytes::MAX, rate: Rate::MAX };
}

macro_rules! forward {
    ($($owner:ty),*) => {$(
        impl<T: CongestionControl + ?Sized> CongestionControl for $owner {
            fn on_ack(&mut self, ack: &Ack<'_>) { (**self).on_ack(ack); }
            fn on_loss(&mut self, loss: &Loss) { (**self).on_loss(loss); }
            fn limits(&self) -> Limits { (**self).limits() }
            fn on_sent(&mut self, sent: &Sent) { (**self).on_sent(sent); }
            fn on_demand(&mut self, demand: &Demand) { (**self).on_demand(demand); }
            fn on_restart(&mut self, now: Time, idle: Span) { (**self).on_restart(now, idle); }
            fn on_spurious_loss(&mut self, spurious: &Spurious) {
                (**self).on_spurious_loss(spurious);
            }
            fn on_notification(&mut self, notification: &Notification) {
                (**self).on_notification(notification);
            }
            fn on_timer(&mut self, now: Time) { (**self).on_timer(now); }
            fn next_timer(&self) -> Option<Time> { (**self).next_timer() }
            fn request(&mut self, leaving: &Leaving) -> Option<Feedback> {
                (**self).request(leaving)
            }
            fn reads(&self) -> Reads { (**self).reads() }
            fn level(&self, place: &Place) -> u8 { (**self).level(place) }
            fn loss_detection(&self) -> LossDetection { (**self).loss_detection() }
            fn metrics(&self) -> Option<PathMetrics> { (**self).metrics() }
            fn on_mss_change(&mut self, mss: Bytes) { (**self).on_mss_change(mss); }
            fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) { (**self).gauges(emit); }
        }
    )*};
}
forward!(&mut T);
#[cfg(feature = "alloc")]
forward!(alloc::boxed::Box<T>);

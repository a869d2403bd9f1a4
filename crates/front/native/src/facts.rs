//! The facts of each event, and the answer to it, as structs of C.
//!
//! All fields have eight bytes. A time, a rate or a number that is not there is NaN; a size that is
//! not there is -1.

use incast_cc::{Bytes, LossCause, Rate, Span, Time, contract};

/// Declares structs of C, and the names of their fields with `f`, `i` or `u` for the type.
macro_rules! structs {
    ($($(#[doc = $about:literal])* $struct:ident { $($(#[doc = $doc:literal])* $name:ident: $type:tt,)* })*) => {$(
        $(#[doc = $about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $struct { $($(#[doc = $doc])* pub $name: structs!(@type $type),)* }

        impl $struct {
            /// The fields in order, each with `f` for a float, `i` for an integer, `u` for an
            /// unsigned one, or the name of a struct.
            pub const FIELDS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), stringify!($type))),*];
        }
    )*};
    (@type f) => { f64 };
    (@type i) => { i64 };
    (@type u) => { u64 };
    (@type $other:ident) => { $other };
}

structs! {
    /// The facts about a flow at its start.
    Flow {
        /// The instant of the start.
        now: f,
        /// The largest payload of one packet.
        mss: i,
        /// The unit of sending and of acknowledgement.
        segment: i,
        /// The rate of the sender's NIC.
        line_rate: f,
        /// The RTT without queues, where the operator knows it.
        base_rtt: f,
        /// The number of flows that the sender already has active.
        active_flows: i,
        /// The window of a window-based algorithm before the first ACK.
        initial_window: i,
        /// The number of segments by which one ACK may let a window grow in slow start.
        slow_start_limit: i,
        /// The most that peer and buffers let be in flight; -1 is no limit.
        max_window: i,
        /// The seed of random numbers.
        seed: u,
    }

    /// A measured round trip, and its parts outside the network; NaN where there is none.
    Rtt {
        /// The time from handing the data to the NIC to its acknowledgement.
        total: f,
        /// The time that the NIC needs for the data alone.
        serialization: f,
        /// The peer's turnaround.
        peer: f,
        /// Propagation and queueing in both directions: TIMELY's RTT.
        network: f,
    }

    /// A delivery-rate sample; its rate is NaN where there is none.
    Delivery {
        /// Acknowledged payload per time.
        rate: f,
        /// Bytes in flight when the newest acknowledged data was sent.
        in_flight_at_send: i,
        /// Payload declared lost between that instant and now.
        lost: i,
        /// Whether the application, not the network, set the rate: 1 or 0.
        app_limited: i,
    }

    /// An acknowledgement, as the sender sees it.
    Ack {
        /// The instant of the event.
        now: f,
        /// The instant at which the newest of the acknowledged data was sent.
        sent_at: f,
        /// Newly acknowledged payload.
        bytes: i,
        /// Payload that arrived with a congestion mark since the receiver's last ACK.
        ce_bytes: i,
        /// The start of the oldest burst of the acknowledged data.
        first: i,
        /// The end of the newest burst.
        end: i,
        /// The start of the next transmission.
        next: i,
        /// The measured round trip.
        rtt: Rtt,
        /// The carrier's smoothed RTT, with this sample in it; zero before the first.
        srtt: f,
        /// The least RTT of the flow; infinite before the first sample.
        min_rtt: f,
        /// The time from send to arrival, by the receiver's clock.
        one_way: f,
        /// Payload sent and neither acknowledged nor declared lost, after this ACK.
        in_flight: i,
        /// Whether the window held data back in this round or the last one: 1 or 0.
        cwnd_limited: i,
        /// Whether losses that were detected are still being repaired: 1 or 0.
        in_recovery: i,
        /// The number of round trips so far.
        round: i,
        /// Payload acknowledged over the life of the flow, this ACK included.
        delivered: i,
        /// Payload posted and not acknowledged; -1 of a message without an end.
        remaining: i,
        /// The deadline that stands, where the algorithm reads it.
        due: f,
        /// The payload up to that deadline that is not acknowledged; -1 without one.
        due_bytes: i,
        /// The delivery-rate sample, where the algorithm reads it.
        delivery: Delivery,
        /// Bytes that wait in the sender's own NIC, where the algorithm reads it.
        nic_backlog: i,
        /// The number of links that the acknowledged data crossed; zero where unknown.
        hop_count: i,
    }

    /// The stamp of a switch port in a packet that leaves it. Bytes are wire bytes.
    Hop {
        /// The number of the port.
        port: i,
        /// The instant at which the packet left the port, by the switch's clock.
        at: f,
        /// The rate of the link behind the port.
        rate: f,
        /// Bytes in the queue that the packet left behind.
        queue: i,
        /// Bytes that the port has sent since the start.
        sent: i,
    }

    /// Data that was declared lost.
    Loss {
        /// The instant of the event.
        now: f,
        /// The instant at which the newest of the lost data was sent.
        sent_at: f,
        /// Lost payload.
        bytes: i,
        /// The start of the oldest burst of the lost data.
        first: i,
        /// The end of the newest burst.
        end: i,
        /// The start of the next transmission.
        next: i,
        /// Payload in flight, the lost bytes no longer counted.
        in_flight: i,
        /// Whether an earlier loss is still being repaired: 1 or 0.
        in_recovery: i,
        /// The sign by which the loss was found: 0 detected, 1 a timeout, 2 a second timeout.
        cause: i,
    }

    /// A false loss: data declared lost was acknowledged after all.
    Spurious {
        /// The instant of the event.
        now: f,
        /// Payload that was no loss.
        bytes: i,
        /// The start of that data.
        first: i,
        /// The end of that data.
        end: i,
        /// The part of that data that is in flight again.
        returned: i,
    }

    /// Data that was handed to the network.
    Sent {
        /// The instant of the event.
        now: f,
        /// Payload.
        bytes: i,
        /// The end of that payload.
        end: i,
        /// Payload in flight, this included.
        in_flight: i,
        /// Whether the data had been sent before: 1 or 0.
        retransmission: i,
        /// Whether the flow has nothing more to send: 1 or 0.
        app_limited: i,
    }

    /// A message that the application has posted, and its terms.
    Demand {
        /// The instant of the event.
        now: f,
        /// The size of the message; -1 where it is not known.
        size: i,
        /// The deadline of this message alone.
        deadline: f,
        /// The flow's share relative to others.
        weight: i,
    }

    /// An instant with a number: the idle time of a restart, or the MSS of a change.
    Moment {
        /// The instant of the event.
        now: f,
        /// The idle time in seconds; NaN where the event has none.
        idle: f,
        /// The largest payload of a packet.
        mss: i,
    }

    /// The limits on sending from now on, and the next timer: each is infinite until it is set.
    Answer {
        /// The pacing rate of payload.
        rate: f,
        /// The most payload in flight.
        cwnd: f,
        /// Paces the window in place of `rate`: the window times the gain over the smoothed RTT.
        pacing_gain: f,
        /// The most payload that leaves at once.
        burst: f,
        /// The rate of the packets of a burst.
        burst_rate: f,
        /// The instant of the next timer.
        next_timer: f,
    }
}

/// A size or a count; values beyond the greatest become the greatest.
fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn size(bytes: Bytes) -> i64 {
    int(bytes.get())
}

fn bounded(bytes: Option<Bytes>) -> i64 {
    bytes.filter(|&bytes| bytes != Bytes::MAX).map_or(-1, size)
}

fn seconds(span: Span) -> f64 {
    if span == Span::MAX { f64::INFINITY } else { span.as_secs_f64() }
}

fn bps(rate: Rate) -> f64 {
    rate.as_bps() as f64
}

impl From<&contract::Flow> for Flow {
    fn from(flow: &contract::Flow) -> Self {
        Self {
            now: flow.now.as_secs_f64(),
            mss: size(flow.mss),
            segment: size(flow.segment),
            line_rate: bps(flow.line_rate),
            base_rtt: flow.base_rtt.map_or(f64::NAN, seconds),
            active_flows: flow.active_flows.into(),
            initial_window: size(flow.initial_window),
            slow_start_limit: flow.slow_start_limit.into(),
            max_window: bounded(Some(flow.max_window)),
            seed: flow.seed,
        }
    }
}

impl From<Option<contract::RttSample>> for Rtt {
    fn from(sample: Option<contract::RttSample>) -> Self {
        let Some(rtt) = sample else {
            let none = f64::NAN;
            return Self { total: none, serialization: none, peer: none, network: none };
        };
        Self {
            total: seconds(rtt.total),
            serialization: seconds(rtt.serialization),
            peer: seconds(rtt.peer),
            network: seconds(rtt.network()),
        }
    }
}

impl From<Option<contract::Delivery>> for Delivery {
    fn from(sample: Option<contract::Delivery>) -> Self {
        let Some(one) = sample else {
            return Self { rate: f64::NAN, in_flight_at_send: -1, lost: -1, app_limited: 0 };
        };
        Self {
            rate: bps(one.rate),
            in_flight_at_send: size(one.in_flight_at_send),
            lost: size(one.lost),
            app_limited: one.app_limited.into(),
        }
    }
}

impl From<&contract::Ack<'_>> for Ack {
    fn from(ack: &contract::Ack<'_>) -> Self {
        Self {
            now: ack.now.as_secs_f64(),
            sent_at: ack.sent_at.as_secs_f64(),
            bytes: size(ack.bytes),
            ce_bytes: size(ack.ce_bytes),
            first: size(ack.first),
            end: size(ack.end),
            next: size(ack.next),
            rtt: ack.rtt.into(),
            srtt: seconds(ack.srtt),
            min_rtt: seconds(ack.min_rtt),
            one_way: ack.one_way.map_or(f64::NAN, seconds),
            in_flight: size(ack.in_flight),
            cwnd_limited: ack.cwnd_limited.into(),
            in_recovery: ack.in_recovery.into(),
            round: int(ack.round),
            delivered: size(ack.delivered),
            remaining: ack.remaining.map_or(-1, size),
            due: ack.due.map_or(f64::NAN, |due| due.at.as_secs_f64()),
            due_bytes: ack.due.map_or(-1, |due| size(due.bytes)),
            delivery: ack.delivery.into(),
            nic_backlog: size(ack.nic_backlog),
            hop_count: ack.hop_count.into(),
        }
    }
}

impl From<&contract::Hop> for Hop {
    fn from(hop: &contract::Hop) -> Self {
        Self {
            port: hop.port.into(),
            at: hop.at.as_secs_f64(),
            rate: bps(hop.rate),
            queue: size(hop.queue),
            sent: size(hop.sent),
        }
    }
}

impl From<&contract::Loss> for Loss {
    fn from(loss: &contract::Loss) -> Self {
        Self {
            now: loss.now.as_secs_f64(),
            sent_at: loss.sent_at.as_secs_f64(),
            bytes: size(loss.bytes),
            first: size(loss.first),
            end: size(loss.end),
            next: size(loss.next),
            in_flight: size(loss.in_flight),
            in_recovery: loss.in_recovery.into(),
            cause: match loss.cause {
                LossCause::Detected => 0,
                LossCause::Timeout => 1,
                LossCause::Persistent => 2,
            },
        }
    }
}

impl From<&contract::Spurious> for Spurious {
    fn from(spurious: &contract::Spurious) -> Self {
        Self {
            now: spurious.now.as_secs_f64(),
            bytes: size(spurious.bytes),
            first: size(spurious.first),
            end: size(spurious.end),
            returned: size(spurious.returned),
        }
    }
}

impl From<&contract::Sent> for Sent {
    fn from(sent: &contract::Sent) -> Self {
        Self {
            now: sent.now.as_secs_f64(),
            bytes: size(sent.bytes),
            end: size(sent.end),
            in_flight: size(sent.in_flight),
            retransmission: sent.retransmission.into(),
            app_limited: sent.app_limited.into(),
        }
    }
}

impl From<&contract::Demand> for Demand {
    fn from(demand: &contract::Demand) -> Self {
        Self {
            now: demand.now.as_secs_f64(),
            size: demand.size.map_or(-1, size),
            deadline: demand.deadline.map_or(f64::NAN, Time::as_secs_f64),
            weight: demand.weight.into(),
        }
    }
}

impl Answer {
    /// The answer in which nothing is set.
    pub const NONE: Self = Self {
        rate: f64::INFINITY,
        cwnd: f64::INFINITY,
        pacing_gain: f64::INFINITY,
        burst: f64::INFINITY,
        burst_rate: f64::INFINITY,
        next_timer: f64::INFINITY,
    };
}

//! Events and facts of a flow as Python sees them: times in seconds, rates in bits per second,
//! sizes in bytes.

use incast_cc::{Bytes, LossCause, Rate, Span, Time, contract};
use pyo3::prelude::*;

/// Seconds since the start of the run.
pub(super) fn instant(at: Time) -> f64 {
    at.as_secs_f64()
}

/// Seconds; infinite where there is none yet.
fn seconds(span: Span) -> f64 {
    if span == Span::MAX { f64::INFINITY } else { span.as_secs_f64() }
}

/// Bits per second.
fn rate(rate: Rate) -> f64 {
    rate.as_bps() as f64
}

/// Bytes; `None` where there is no bound.
fn bounded(bytes: Bytes) -> Option<u64> {
    (bytes != Bytes::MAX).then(|| bytes.get())
}

/// The text of an object by its properties.
fn shown(object: &Bound<'_, PyAny>, names: &[&str]) -> PyResult<String> {
    let field = |name| Ok(format!("{name}={}", object.getattr(name)?.repr()?));
    let fields: PyResult<Vec<_>> = names.iter().copied().map(field).collect();
    Ok(format!("{}({})", object.get_type().name()?, fields?.join(", ")))
}

/// Declares classes of read-only properties, each with its type and the way to it.
macro_rules! views {
    ($($(#[doc = $about:literal])* $class:ident of $inner:ty {
        $($(#[doc = $doc:literal])* $name:ident: $type:ty = |$one:ident| $value:expr;)*
    })*) => {$(
        $(#[doc = $about])*
        #[pyclass(module = "incast._core", frozen)]
        #[derive(Clone)]
        pub(crate) struct $class(pub(super) $inner);

        #[pymethods]
        impl $class {
            $($(#[doc = $doc])*
            #[getter]
            fn $name(&self) -> $type {
                let $one = &self.0;
                $value
            })*

            fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
                shown(this.as_any(), &[$(stringify!($name)),*])
            }
        }
    )*};
}

/// An acknowledgement with its telemetry, which a contract's lends.
#[derive(Clone)]
pub(super) struct OwnedAck {
    ack: contract::Ack<'static>,
    hops: Vec<contract::Hop>,
}

impl OwnedAck {
    fn new(ack: &contract::Ack<'_>) -> Self {
        Self { ack: ack.without_hops(), hops: ack.hops.to_vec() }
    }
}

impl Ack {
    pub(super) fn owned(ack: &contract::Ack<'_>) -> Self {
        Self(OwnedAck::new(ack))
    }
}

views! {
    /// The facts about a flow at its start.
    Flow of contract::Flow {
        /// The instant of the start, in seconds since the start of the run.
        now: f64 = |flow| instant(flow.now);
        /// The largest payload of one packet, in bytes.
        mss: u64 = |flow| flow.mss.get();
        /// The unit of sending and of acknowledgement, in bytes.
        ///
        /// It is up to 64 KB in the message transport, the MSS in a stream.
        segment: u64 = |flow| flow.segment.get();
        /// The rate of the sender's NIC, in bits per second. No pacing rate exceeds it.
        line_rate: f64 = |flow| rate(flow.line_rate);
        /// The RTT without queues in seconds, where the operator knows it.
        base_rtt: Option<f64> = |flow| flow.base_rtt.map(seconds);
        /// The number of flows that the sender already has active.
        active_flows: u32 = |flow| flow.active_flows;
        /// The window of a window-based algorithm before the first ACK, in bytes.
        initial_window: u64 = |flow| flow.initial_window.get();
        /// The number of segments by which one ACK may let a window grow in slow start.
        slow_start_limit: u32 = |flow| flow.slow_start_limit;
        /// The most that peer and buffers let be in flight, in bytes; None is no limit.
        max_window: Option<u64> = |flow| bounded(flow.max_window);
        /// The seed of random numbers: different for every flow, equal in every run.
        seed: u64 = |flow| flow.seed;
    }

    /// An acknowledgement, as the sender sees it.
    Ack of OwnedAck {
        /// The instant of the event, in seconds since the start of the run.
        now: f64 = |one| instant(one.ack.now);
        /// The instant at which the newest of the acknowledged data was sent, in seconds.
        sent_at: f64 = |one| instant(one.ack.sent_at);
        /// Newly acknowledged payload in bytes; each byte is counted once.
        bytes: u64 = |one| one.ack.bytes.get();
        /// Payload in bytes that arrived with a congestion mark since the receiver's last ACK.
        ce_bytes: u64 = |one| one.ack.ce_bytes.get();
        /// The start of the oldest burst of the acknowledged data, in bytes sent since the start.
        first: u64 = |one| one.ack.first.get();
        /// The end of the newest burst, in bytes sent since the start.
        end: u64 = |one| one.ack.end.get();
        /// The start of the next transmission, in bytes sent since the start.
        next: u64 = |one| one.ack.next.get();
        /// The measured round trip; None where it would be ambiguous.
        rtt: Option<RttSample> = |one| one.ack.rtt.map(RttSample);
        /// The carrier's smoothed RTT in seconds, with this sample in it; zero before the first.
        srtt: f64 = |one| seconds(one.ack.srtt);
        /// The least RTT of the flow in seconds; infinite before the first sample.
        min_rtt: f64 = |one| seconds(one.ack.min_rtt);
        /// The time from send to arrival in seconds, by the receiver's clock.
        ///
        /// The offset of that clock is constant: only differences mean something.
        one_way: Option<f64> = |one| one.ack.one_way.map(seconds);
        /// Payload sent and neither acknowledged nor declared lost, in bytes, after this ACK.
        in_flight: u64 = |one| one.ack.in_flight.get();
        /// Whether the window held data back in this round or the last one.
        ///
        /// Where the application or the pacer did, it is False.
        cwnd_limited: bool = |one| one.ack.cwnd_limited;
        /// Whether losses that were detected are still being repaired.
        in_recovery: bool = |one| one.ack.in_recovery;
        /// The number of round trips so far.
        round: u64 = |one| one.ack.round;
        /// Payload acknowledged over the life of the flow, in bytes, this ACK included.
        delivered: u64 = |one| one.ack.delivered.get();
        /// Payload posted and not acknowledged, in bytes; None of a message without an end.
        remaining: Option<u64> = |one| one.ack.remaining.map(Bytes::get);
        /// The deadline that stands, in seconds since the start of the run.
        ///
        /// It is None without one, and where `reads` does not name `due`.
        due: Option<f64> = |one| one.ack.due.map(|due| instant(due.at));
        /// The payload up to that deadline that is not acknowledged, in bytes; None without one.
        due_bytes: Option<u64> = |one| one.ack.due.map(|due| due.bytes.get());
        /// The delivery-rate sample, where `reads` names `delivery`.
        delivery: Option<Delivery> = |one| one.ack.delivery.map(Delivery);
        /// Bytes that wait in the sender's own NIC, where `reads` names `nic_backlog`.
        nic_backlog: u64 = |one| one.ack.nic_backlog.get();
        /// The number of links that the acknowledged data crossed; zero where unknown.
        hop_count: u8 = |one| one.ack.hop_count;
        /// The stamps of the switches in the data, first hop first; empty without telemetry.
        hops: Vec<Hop> = |one| one.hops.iter().copied().map(Hop).collect();
    }

    /// A measured round trip and the parts of it that are no network.
    RttSample of contract::RttSample {
        /// The time from handing the data to the NIC to its acknowledgement, in seconds.
        total: f64 = |rtt| seconds(rtt.total);
        /// The time in seconds that the NIC needs for the data alone.
        serialization: f64 = |rtt| seconds(rtt.serialization);
        /// The peer's turnaround in seconds, where it reports it.
        peer: f64 = |rtt| seconds(rtt.peer);
        /// Propagation and queueing in both directions, in seconds: TIMELY's RTT.
        network: f64 = |rtt| seconds(rtt.network());
    }

    /// A delivery-rate sample, as Linux and BBR define it.
    Delivery of contract::Delivery {
        /// Acknowledged payload per time, in bits per second.
        ///
        /// The time is the longer of the send and the ACK interval.
        rate: f64 = |delivery| rate(delivery.rate);
        /// Bytes in flight when the newest acknowledged data was sent.
        in_flight_at_send: u64 = |delivery| delivery.in_flight_at_send.get();
        /// Payload in bytes declared lost between that instant and now.
        lost: u64 = |delivery| delivery.lost.get();
        /// Whether the application, not the network, set the rate.
        app_limited: bool = |delivery| delivery.app_limited;
    }

    /// The stamp of a switch port in a packet that leaves it. Bytes are wire bytes.
    Hop of contract::Hop {
        /// The number of the port: counters of two hops compare only where it is the same.
        port: u32 = |hop| hop.port;
        /// The instant at which the packet left the port, in seconds by the switch's clock.
        at: f64 = |hop| instant(hop.at);
        /// The rate of the link behind the port, in bits per second.
        rate: f64 = |hop| rate(hop.rate);
        /// Bytes in the queue that the packet left behind.
        queue: u64 = |hop| hop.queue.get();
        /// Bytes that the port has sent since the start.
        sent: u64 = |hop| hop.sent.get();
    }

    /// Data that was declared lost: a burst, or a part of it.
    Loss of contract::Loss {
        /// The instant of the event, in seconds since the start of the run.
        now: f64 = |loss| instant(loss.now);
        /// The instant at which the newest of the lost data was sent, in seconds.
        sent_at: f64 = |loss| instant(loss.sent_at);
        /// Lost payload in bytes.
        bytes: u64 = |loss| loss.bytes.get();
        /// The start of the oldest burst of the lost data, in bytes sent since the start.
        first: u64 = |loss| loss.first.get();
        /// The end of the newest burst, in bytes sent since the start.
        end: u64 = |loss| loss.end.get();
        /// The start of the next transmission, in bytes sent since the start.
        next: u64 = |loss| loss.next.get();
        /// Payload in flight in bytes, the lost bytes no longer counted.
        in_flight: u64 = |loss| loss.in_flight.get();
        /// Whether an earlier loss is still being repaired.
        in_recovery: bool = |loss| loss.in_recovery;
        /// The sign by which the loss was found: "detected", "timeout" or "persistent".
        ///
        /// Persistent is a second timeout without an ACK in between.
        cause: &'static str = |loss| match loss.cause {
            LossCause::Detected => "detected",
            LossCause::Timeout => "timeout",
            LossCause::Persistent => "persistent",
        };
    }

    /// A false loss: data declared lost was acknowledged after all.
    Spurious of contract::Spurious {
        /// The instant of the event, in seconds since the start of the run.
        now: f64 = |spurious| instant(spurious.now);
        /// Payload in bytes that was no loss.
        bytes: u64 = |spurious| spurious.bytes.get();
        /// The start of that data, in bytes sent since the start.
        first: u64 = |spurious| spurious.first.get();
        /// The end of that data, in bytes sent since the start.
        end: u64 = |spurious| spurious.end.get();
        /// The part of it in bytes that is in flight again.
        returned: u64 = |spurious| spurious.returned.get();
    }

    /// Data that was handed to the network.
    Sent of contract::Sent {
        /// The instant of the event, in seconds since the start of the run.
        now: f64 = |sent| instant(sent.now);
        /// Payload in bytes.
        bytes: u64 = |sent| sent.bytes.get();
        /// The end of that payload, in bytes sent since the start.
        end: u64 = |sent| sent.end.get();
        /// Payload in flight in bytes, this included.
        in_flight: u64 = |sent| sent.in_flight.get();
        /// Whether the data had been sent before.
        retransmission: bool = |sent| sent.retransmission;
        /// Whether the flow has nothing more to send.
        app_limited: bool = |sent| sent.app_limited;
    }

    /// A message that the application has posted, and its terms.
    Demand of contract::Demand {
        /// The instant of the event, in seconds since the start of the run.
        now: f64 = |demand| instant(demand.now);
        /// The size of the message in bytes, where it is known.
        size: Option<u64> = |demand| demand.size.map(Bytes::get);
        /// The deadline of this message alone, in seconds since the start of the run.
        deadline: Option<f64> = |demand| demand.deadline.map(instant);
        /// The flow's share relative to others.
        weight: u32 = |demand| demand.weight;
    }
}

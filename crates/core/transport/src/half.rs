//! The promises that each transport keeps: facts about it, and what its two halves do.
//!
//! An endpoint asks the halves of its connections through these traits alone, but for the ways of
//! the usual packet, which a transport may have beside them (`endpoint/arriving.rs`,
//! `endpoint/ahead.rs`). A transport without such ways is right, and slower.

use incast_cc::{CongestionControl, Flow, Span, Time};

use crate::backlog::Posted;
use crate::config::Config;
use crate::connection::{Delivered, Path, Sample};
use crate::directory::Remains;
use crate::engines::Engines;
use crate::packet::{Header, Next};
use crate::rate::{RateComputation, Report};
use crate::rtt::RttMeasurement;

/// Facts about a transport, by which others decide what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub struct Facts {
    /// Whether data travels in segments of several packets, each of which is acknowledged as a
    /// whole. A NIC may send such a segment in one go ([`Nic::Segments`](crate::Nic::Segments)).
    pub segments: bool,
    /// Whether the NIC gets all data that a window allows, which waits there for its turn.
    pub waits_in_nic: bool,
    /// Whether a host's software runs it as its TCP: with buffers, a handshake, delayed ACKs,
    /// timestamps, an echo of marks that may be classic, and timeouts of an operating system.
    pub is_tcp: bool,
    /// Whether answers travel in a class of their own unless settings say otherwise.
    pub answers_first: bool,
    /// The most that answers are late unless settings say otherwise.
    pub jitter: Span,
}

/// The sending half of a connection.
pub(crate) trait Sending<C: CongestionControl>: Sized {
    /// The packets of the transport.
    type Body;

    /// Fills in the facts that the algorithm of a new flow is told: MSS, initial window, bounds.
    fn prepare(flow: &mut Flow, config: &Config, path: &Path);

    /// The segment that the algorithm of a new flow counts in.
    fn segment(config: &Config) -> incast_cc::Bytes;

    /// A sender that has nothing to send yet.
    fn new(
        rate: RateComputation<C>,
        rtt: RttMeasurement,
        config: &Config,
        path: &Path,
        now: Time,
    ) -> Self;

    /// The engines behind the sender.
    fn engines(&self) -> &Engines<C>;

    /// The engines behind the sender, to be changed.
    fn engines_mut(&mut self) -> &mut Engines<C>;

    /// Whether everything posted has been acknowledged.
    fn is_idle(&self) -> bool;

    /// Queues a message.
    fn post(&mut self, now: Time, posted: &Posted, config: &Config);

    /// Takes the unsent payload of a message back, which was posted before the last `after` ones.
    /// Returns its length; [`None`] if all has left, or where a transport takes nothing back.
    fn withdraw(&mut self, _after: usize) -> Option<u64> {
        None
    }

    /// The time at which the next packet may leave; [`None`] while there is none, or none is
    /// allowed.
    fn send_time(&self, config: &Config) -> Option<Time>;

    /// Starts the next burst, whose send time was `from`, as the pacer counts.
    fn start_burst(&mut self, now: Time, from: Time, config: &Config);

    /// The next packet for the wire, of the connection that the peer has as `peer`; [`None`] ends
    /// the burst.
    fn next_packet(&mut self, now: Time, peer: u32, config: &Config) -> Option<Next>;

    /// Takes in an answer of the peer, made at `made_ns`. `nic_backlog` is the payload of all
    /// connections that waits in the NIC. Returns an RTT sample, and the number of messages that are
    /// now acknowledged.
    fn on_answer(
        &mut self,
        now: Time,
        answer: (&Self::Body, u32),
        config: &Config,
        report: Report<'_>,
        nic_backlog: u64,
    ) -> (Option<Sample>, u32);

    /// Takes in a notification of marks.
    fn on_notification(&mut self, now: Time, config: &Config);

    /// Takes in a receiver's permission to send `bytes` more. Only transports whose receivers speak
    /// first heed it.
    fn on_credit(&mut self, _now: Time, _bytes: u32, _config: &Config) {}

    /// The time at which the endpoint should look at the sender. It may be [`None`] if that is not
    /// before `armed`.
    fn alarm_before(&self, armed: Time, config: &Config) -> Option<Time>;

    /// Does what is due, if anything is.
    fn on_alarm(&mut self, now: Time, config: &Config);

    /// Whether the clock of timeouts starts with the first packet of a burst, not with the last.
    const CLOCK_STARTS_FIRST: bool;

    /// Payload that waits in the NIC.
    fn queued(&self) -> u64 {
        0
    }

    /// The time since which the first packet in the NIC waits, where packets wait there.
    fn waits_since(&self) -> Option<Time> {
        None
    }

    /// The payload that is not acknowledged, as the next packet would tell it
    /// ([`Packet::remaining`](crate::Packet::remaining)).
    fn remaining(&self) -> u32;

    /// A sequence number near those that answers acknowledge.
    fn acknowledged(&self) -> u64;

    /// The level of the next packet, where the algorithm chooses it.
    fn level(&self, config: &Config) -> Option<u8>;

    /// Whether the next packet may be given to the NIC with a start that is still to come.
    fn may_leave_ahead(&self, _config: &Config) -> bool {
        false
    }

    /// Takes back a packet that has left ahead of time; the last one first.
    fn put_back(&mut self, now: Time, header: &Header);

    /// The start of the oldest payload that is not acknowledged, in all payload posted, where
    /// sequence numbers do not say it.
    fn oldest_payload(&self) -> Option<u64> {
        None
    }

    /// The start of a packet's payload in all payload posted, where sequence numbers do not say it.
    fn payload_at(&self, _sequence: u64, _config: &Config) -> Option<u64> {
        None
    }

    /// Notes the stamp of a packet's departure.
    fn on_sent_at(&mut self, _sequence: u64, _attempt: u8, _stamp: Time) {}
}

/// The receiving half of a connection.
pub(crate) trait Receiving: Sized {
    /// The packets of the transport.
    type Body;

    /// A receiver. Where the transport delays ACKs, one waits for `delayed_ack` packets.
    fn new(delayed_ack: u32) -> Self;

    /// The receiver that has left these remains.
    fn revived(delayed_ack: u32, remains: &Remains) -> Self;

    /// The state that [`revived`](Self::revived) takes; [`None`] while there is more to remember
    /// than that.
    fn remains(&self) -> Option<Remains>;

    /// Takes in data, or the header that a switch has left of it. `reply` gets the answers that
    /// leave now, `deliver` the messages that are now complete.
    fn take(
        &mut self,
        now: Time,
        arrived: (&Self::Body, bool),
        config: &Config,
        reply: impl FnMut(Self::Body),
        deliver: impl FnMut(Delivered),
    );

    /// Whether an answer may wait for more data or for a timer. Such a receiver keeps the words of
    /// switches until then.
    const DELAYS: bool;

    /// The time at which [`on_timer`](Self::on_timer) has an answer to send.
    fn alarm(&self) -> Option<Time> {
        None
    }

    /// The answer that is due.
    fn on_timer(&mut self, _now: Time, _config: &Config) -> Option<Self::Body> {
        None
    }

    /// The sequence number that comes next, if nothing is lost.
    fn expects(&self) -> u64;

    /// Payload that has arrived, each byte counted once.
    fn delivered_bytes(&self) -> u64;

    /// The number of packets that arrived more than once.
    fn duplicates(&self) -> u64;
}

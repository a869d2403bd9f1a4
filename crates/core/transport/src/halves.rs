//! The sending and the receiving half of a connection, of either transport.

use incast_cc::{CongestionControl, Feedback, Leaving, Rate, Time};

use crate::backlog::Posted;
use crate::config::Config;
use crate::connection::Transport;
use crate::directory::Remains;
use crate::engines::Engines;
use crate::packet::{Header, Next};
use crate::rate::RateComputation;
use crate::rtt::RttMeasurement;
use crate::{message, stream};

/// The sending half of a connection.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one per connection, all of one kind as a rule")]
pub enum Sender<C> {
    /// Sends messages.
    Message(message::Sender<C>),
    /// Sends a stream.
    Stream(stream::Sender<C>),
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// Receives messages.
    Message(message::Receiver),
    /// Receives a stream.
    Stream(stream::Receiver),
}

macro_rules! either {
    ($on:expr, $half:ident => $what:expr) => {
        match $on {
            Self::Message($half) => $what,
            Self::Stream($half) => $what,
        }
    };
}

impl<C: CongestionControl> Sender<C> {
    const fn engines(&self) -> &Engines<C> {
        either!(self, sender => sender.engines())
    }

    /// The rate computation engine.
    pub const fn rate(&self) -> &RateComputation<C> {
        &self.engines().rate
    }

    /// The RTT measurement engine.
    pub const fn rtt(&self) -> &RttMeasurement {
        &self.engines().rtt
    }

    /// The rate at which data leaves: the algorithm's, or its window over the RTT.
    pub fn pacing_rate(&self) -> Rate {
        self.engines().pacing_rate()
    }

    /// The number of packets sent again.
    pub const fn retransmissions(&self) -> u64 {
        self.engines().retransmissions as u64
    }

    /// The time since which the next packet waits in the NIC, `now` at the latest.
    #[cold]
    pub(crate) fn waits_since(&self, now: Time) -> Time {
        match self {
            Self::Message(_) => now,
            Self::Stream(sender) => sender.waits_since().unwrap_or(now),
        }
    }

    /// The payload that is not acknowledged, as the next packet would tell it
    /// ([`Packet::remaining`](crate::Packet::remaining)).
    #[cold]
    pub(crate) fn remaining(&self) -> u32 {
        either!(self, sender => sender.remaining())
    }

    /// A sequence number near those that answers acknowledge.
    #[inline]
    pub(crate) const fn acknowledged(&self) -> u64 {
        either!(self, sender => sender.acknowledged())
    }

    /// Whether the next packet may be given to the NIC with a start that is still to come.
    #[inline]
    pub(crate) fn may_leave_ahead(&self, config: &Config) -> bool {
        either!(self, sender => sender.may_leave_ahead(config))
    }

    /// Whether the next packets are spaced by more than the line rate.
    pub(crate) fn is_spaced(&self, config: &Config) -> bool {
        match self {
            Self::Message(sender) => sender.is_spaced(),
            Self::Stream(sender) => sender.is_paced(config),
        }
    }

    /// Takes back a packet that has left ahead of time; the last one first.
    pub(crate) fn put_back(&mut self, now: Time, header: &Header) {
        match self {
            Self::Message(sender) => sender.put_back(header),
            Self::Stream(sender) => sender.put_back(now, u64::from(header.payload)),
        }
    }

    /// Whether everything posted has been acknowledged.
    pub fn is_idle(&self) -> bool {
        either!(self, sender => sender.is_idle())
    }

    /// Whether everything posted has been cut into segments.
    pub(crate) fn is_drained(&self) -> bool {
        either!(self, sender => sender.engines().messages.is_empty())
    }

    /// Whether everything posted has been acknowledged and nothing waits in the NIC.
    pub(crate) fn is_done(&self) -> bool {
        self.is_idle() && self.queued() == 0
    }

    pub(crate) fn post(&mut self, now: Time, posted: &Posted, config: &Config) {
        match self {
            Self::Message(sender) => sender.post(now, posted),
            Self::Stream(sender) => sender.post(now, posted, config),
        }
    }

    /// Takes the unsent payload of a message back, which was posted before the last `after` ones.
    /// Returns its length; [`None`] if all has left, or on a stream.
    pub(crate) fn withdraw(&mut self, after: usize) -> Option<u64> {
        match self {
            Self::Message(sender) => sender.withdraw(after),
            Self::Stream(_) => None,
        }
    }

    /// The start of the oldest payload that is not acknowledged, in all payload posted; [`None`] on
    /// a stream.
    pub fn oldest_payload(&self) -> Option<u64> {
        match self {
            Self::Message(sender) => Some(sender.oldest_payload()),
            Self::Stream(_) => None,
        }
    }

    /// The class of the next packet that waits in the NIC, where the algorithm chooses it; `class`
    /// is that of the traffic.
    #[inline]
    pub(crate) fn class_below(&self, class: u8, config: &Config) -> Option<u8> {
        if !self.chooses_class() {
            return None;
        }
        self.chosen_class(class, config)
    }

    /// Whether the algorithm chooses the class of each packet.
    #[inline]
    pub(crate) fn chooses_class(&self) -> bool {
        self.engines().chooses_class()
    }

    #[cold]
    fn chosen_class(&self, class: u8, config: &Config) -> Option<u8> {
        let level = match self {
            Self::Message(sender) => sender.level(config),
            Self::Stream(sender) => sender.level(),
        };
        level.map(|level| class.saturating_sub(level))
    }

    pub(crate) fn send_time(&self, config: &Config) -> Option<Time> {
        either!(self, sender => sender.send_time(config))
    }

    /// Starts the next burst, whose send time was `from`, as the pacer counts.
    pub(crate) fn start_burst(&mut self, now: Time, from: Time, config: &Config) {
        either!(self, sender => sender.start_burst(now, from, config));
    }

    #[inline]
    pub(crate) fn next_packet(&mut self, now: Time, peer: u32, config: &Config) -> Option<Next> {
        either!(self, sender => sender.next_packet(now, peer, config))
    }

    /// The time at which the endpoint should look at the sender. It may be [`None`] if that is not
    /// before `armed`.
    #[inline]
    pub(crate) fn alarm_before(&self, armed: Time, config: &Config) -> Option<Time> {
        match self {
            Self::Message(sender) => sender.alarm(),
            Self::Stream(sender) => sender.alarm_before(armed, config),
        }
    }

    pub(crate) fn on_alarm(&mut self, now: Time, config: &Config) {
        match self {
            Self::Message(sender) => sender.on_alarm(now, config),
            Self::Stream(sender) => sender.on_alarm(now, config),
        }
    }

    /// The header that the algorithm writes into a packet that leaves.
    pub(crate) fn request(&mut self, leaving: &Leaving) -> Option<Feedback> {
        either!(self, sender => sender.engines_mut().rate.request(leaving))
    }

    /// Payload that waits in the NIC.
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        match self {
            Self::Message(_) => 0,
            Self::Stream(sender) => sender.queued(),
        }
    }
}

impl Receiver {
    /// A receiver; in a stream its ACKs wait for `delayed_ack` segments.
    pub(crate) fn new(transport: Transport, delayed_ack: u32) -> Self {
        match transport {
            Transport::Message => Self::Message(message::Receiver::default()),
            Transport::Stream => Self::Stream(stream::Receiver::new(delayed_ack)),
        }
    }

    /// The receiver that has left these remains.
    pub(crate) fn revived(transport: Transport, delayed_ack: u32, remains: &Remains) -> Self {
        match transport {
            Transport::Message => Self::Message(message::Receiver::revived(remains)),
            Transport::Stream => Self::Stream(stream::Receiver::revived(delayed_ack, remains)),
        }
    }

    /// The remains of the receiver, unless it has something left to say of its own accord.
    pub(crate) fn remains(&self) -> Option<Remains> {
        either!(self, receiver => receiver.remains())
    }

    /// The sequence number that comes next, if nothing is lost.
    #[inline]
    pub(crate) const fn expects(&self) -> u64 {
        either!(self, receiver => receiver.expects())
    }

    /// Payload that has arrived, each byte counted once.
    pub fn delivered_bytes(&self) -> u64 {
        either!(self, receiver => receiver.delivered_bytes())
    }

    /// The number of packets that arrived more than once.
    pub const fn duplicates(&self) -> u64 {
        either!(self, receiver => receiver.duplicates())
    }

    pub(crate) fn alarm(&self) -> Option<Time> {
        match self {
            Self::Message(_) => None,
            Self::Stream(receiver) => receiver.alarm(),
        }
    }
}

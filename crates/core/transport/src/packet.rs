//! The packets between endpoints, of any transport.

mod header;
pub(crate) mod message;
pub(crate) mod stream;
mod wire;

pub(crate) use header::MARKED_END;
pub use header::{Header, Kind};

use incast_cc::Time;
use incast_cc::param::Transport;

use self::header::Compact;
use self::wire::Wire;
use crate::transports::transports;

/// A packet of a connection. Headers are not built: the carrier knows their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The connection's index at the endpoint that will receive the packet.
    pub connection: u32,
    /// The time at which the sender's NIC got the packet, by the sender's clock in nanoseconds
    /// modulo 2^32; for answers, the time at which they were made, before their turnaround.
    pub sent_ns: u32,
    /// The content.
    pub body: Body,
}

/// A time as packets carry it: nanoseconds modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
pub const fn clock_ns(time: Time) -> u32 {
    (time.as_ps() / 1_000) as u32
}

/// The deadline of an answer, as the request for it carries it: microseconds of the requester's
/// clock modulo 2^24, which is 16.8 s. A deadline more than 8 s away counts as 8 s away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DueBy([u8; 3]);

impl DueBy {
    /// No deadline.
    pub const NONE: Self = Self([0; 3]);

    /// Half of the times that can be told apart, and the longest time to a deadline, in
    /// microseconds.
    const HALF: u64 = 1 << 23;
    const MOST: u64 = 8_000_000;

    /// The deadline `at`, in a request that is posted `now`; rounded up to a microsecond.
    #[must_use]
    pub fn of(now: Time, at: Time) -> Self {
        let (now, at) = (now.as_ps() / 1_000_000, at.as_ps().div_ceil(1_000_000));
        let us = at.clamp(now, now + Self::MOST);
        // Zero is no deadline: a microsecond later is as good.
        let us = if us.is_multiple_of(2 * Self::HALF) { us + 1 } else { us };
        let [a, b, c, ..] = us.to_le_bytes();
        Self([a, b, c])
    }

    /// The deadline, less than 8 s from `near`.
    pub fn time(self, near: Time) -> Option<Time> {
        let [a, b, c] = self.0;
        if self == Self::NONE {
            return None;
        }
        let us = u64::from(u32::from_le_bytes([a, b, c, 0]));
        let near = near.as_ps() / 1_000_000;
        let ahead = us.wrapping_sub(near) % (2 * Self::HALF);
        let at = if ahead < Self::HALF {
            near + ahead
        } else {
            (near + ahead).saturating_sub(2 * Self::HALF)
        };
        Some(Time::from_ps(at * 1_000_000))
    }
}

macro_rules! bodies {
    ($d:tt $($name:ident: $module:ident,)+) => {
        /// The content of a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Body {
            $(
                #[doc = concat!("A packet of [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                $name($module::Body),
            )+
            /// A notice that payload arrived marked: the congestion notification packet (CNP) of
            /// DCQCN.
            Notification,
            /// A receiver's permission to send as many bytes more.
            Credit(u32),
        }

        /// Asks the packet of a transport, or takes the default for what is of none.
        macro_rules! asks {
            ($d body:expr, $d one:ident => $d what:expr, $d none:expr) => {
                match $d body {
                    $(Body::$name($d one) => $d what,)+
                    Body::Notification | Body::Credit(_) => $d none,
                }
            };
        }

        impl Body {
            /// The transport of the packet; [`None`] if it may be of any.
            pub const fn transport(&self) -> Option<Transport> {
                match self {
                    $(Self::$name(_) => Some(Transport::$name),)+
                    Self::Notification | Self::Credit(_) => None,
                }
            }

            /// The header that is left when a switch cuts the payload off; [`None`] if the receiver
            /// could do nothing with it.
            fn trimmed(&self) -> Option<Self> {
                match self {
                    $(Self::$name(body) => body.trimmed().map(Self::$name),)+
                    Self::Notification | Self::Credit(_) => None,
                }
            }

            /// The content of a header whose kind is one of the transport's.
            #[inline]
            fn of(transport: Transport, header: &Header, near: u64) -> Self {
                match transport {
                    $(Transport::$name => Self::$name(Wire::of(header, near)),)+
                }
            }
        }
    };
}
transports!(bodies $);

impl Body {
    /// The sequence number: of data its own, of answers the one that is acknowledged or missed.
    pub fn sequence(&self) -> u64 {
        asks!(self, body => body.sequence(), 0)
    }

    /// The word for the packet in traces: `data`, `ack`, `nack`, `trimmed`, `cnp` or `credit`.
    pub fn name(&self) -> &'static str {
        asks!(self, body => body.name(), if *self == Self::Notification { "cnp" } else { "credit" })
    }

    /// Whether the packet is for the receiving half of its connection.
    #[inline]
    pub fn is_data(&self) -> bool {
        asks!(self, body => body.is_data(), false)
    }

    /// Whether the arrival changes nothing but counters, if nothing before it is missing.
    fn is_quiet(&self) -> bool {
        asks!(self, body => body.is_quiet(), false)
    }

    /// Whether the packet takes the words of switches back that the data had which it answers.
    pub(crate) fn echoes(&self) -> bool {
        asks!(self, body => body.echoes(), false)
    }

    fn compact(&self, sent_ns: u32) -> Option<Compact> {
        asks!(self, body => body.compact(sent_ns), None)
    }
}

impl Packet {
    /// Payload in bytes; zero but for data.
    #[inline]
    pub fn payload(&self) -> u32 {
        asks!(&self.body, body => body.payload(), 0)
    }

    /// The payload that was not acknowledged when the packet left its sender: up to the end of its
    /// message, or of all that a stream has posted. `u32::MAX` if it is more, or has no end; zero
    /// but for data and its headers.
    #[inline]
    pub fn remaining(&self) -> u32 {
        asks!(&self.body, body => body.remaining(), 0)
    }

    /// Whether switches may mark the packet instead of dropping it (ECN-capable transport).
    #[inline]
    pub fn is_ect(&self) -> bool {
        asks!(&self.body, body => body.is_ect(), false)
    }
}

/// A packet in one of its two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The compact form.
    Compact(Header),
    /// The full form, of packets that have no compact one.
    Full(Packet),
}

impl Form {
    /// The compact form of a packet, if it has one; with `full` the full form.
    #[inline]
    pub(crate) fn of(packet: Packet, full: bool) -> Self {
        let header = if full { None } else { Header::of(&packet) };
        header.map_or(Self::Full(packet), Self::Compact)
    }

    /// The packet in its full form. Its sequence number is less than 2^31 from `near`.
    pub fn packet(&self, near: u64) -> Packet {
        match self {
            Self::Compact(header) => header.packet(near),
            Self::Full(packet) => *packet,
        }
    }

    /// Payload in bytes ([`Packet::payload`]).
    #[inline]
    pub fn payload(&self) -> u32 {
        match self {
            Self::Compact(header) => u32::from(header.payload),
            Self::Full(packet) => packet.payload(),
        }
    }

    /// Whether switches may mark the packet ([`Packet::is_ect`]).
    #[inline]
    pub fn is_ect(&self) -> bool {
        match self {
            Self::Compact(header) => header.has(Header::ECT),
            Self::Full(packet) => packet.is_ect(),
        }
    }

    /// Whether the packet is for the receiving half of its connection.
    #[inline]
    pub fn is_data(&self) -> bool {
        match self {
            Self::Compact(header) => header.kind.is_data(),
            Self::Full(packet) => packet.body.is_data(),
        }
    }

    /// Whether the receiver answers this very packet: a segment of a stream, or the last packet of a
    /// segment of a message.
    pub fn is_answered(&self) -> bool {
        match self {
            Self::Compact(header) => header.is_answered(),
            Self::Full(packet) => asks!(&packet.body, body => body.is_answered(), false),
        }
    }

    /// Whether the arrival changes nothing but counters, if nothing before it is missing.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Compact(header) => header.is_quiet(),
            Self::Full(packet) => packet.body.is_quiet(),
        }
    }

    /// The header that is left when a switch cuts the payload off; [`None`] if the receiver could
    /// do nothing with it, as with a segment of a stream.
    pub fn trimmed(&self) -> Option<Self> {
        match self {
            Self::Compact(header) => header.trimmed().map(Self::Compact),
            &Self::Full(packet) => {
                let body = packet.body.trimmed()?;
                Some(Self::Full(Packet { body, ..packet }))
            }
        }
    }

    /// The connection's index at the receiver ([`Packet::connection`]).
    #[inline]
    pub const fn connection(&self) -> u32 {
        match self {
            Self::Compact(header) => header.connection,
            Self::Full(packet) => packet.connection,
        }
    }

    /// The time at which the NIC got the packet ([`Packet::sent_ns`]).
    #[inline]
    pub const fn sent_ns(&self) -> u32 {
        match self {
            Self::Compact(header) => header.sent_ns,
            Self::Full(packet) => packet.sent_ns,
        }
    }
}

/// The next packet of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) form: Form,
    /// The time of posting, in the first packet of a message.
    pub(crate) begins: Option<Time>,
    /// The time at which the packet after it may leave; [`None`] ends the burst.
    pub(crate) then: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_small() {
        // A queue of the simulator holds headers; whole packets are what few of them are.
        assert!(size_of::<Header>() <= 20 && size_of::<Packet>() <= 56);
    }

    #[test]
    fn a_deadline_arrives_to_the_microsecond_whenever_the_request_does() {
        let us = |us: u64| Time::from_ps(us * 1_000_000);
        for now in [0, 5, 16_777_214, 16_777_216, 1_000_000_007] {
            for left in [1, 250, 20_000, 7_900_000] {
                let due = DueBy::of(us(now), us(now + left));
                for later in [0, 1, left, left + 1_000_000] {
                    let at = due.time(us(now + later)).unwrap();
                    let expected = now + left;
                    // 2^24 us stands for no deadline.
                    let shift = u64::from(expected.is_multiple_of(1 << 24));
                    assert_eq!(at, us(expected + shift), "{now} {left} {later}");
                }
            }
        }
        assert_eq!(DueBy::of(us(9), Time::from_ps(10_000_001)).time(us(9)), Some(us(11)));
        let far = DueBy::of(us(9), us(60_000_000)).time(us(9)).unwrap();
        assert_eq!(far, us(9 + 8_000_000));
        assert_eq!(DueBy::NONE.time(us(9)), None);
    }
}

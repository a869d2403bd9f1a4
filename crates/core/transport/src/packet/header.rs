//! The compact form of packets: a header of 20 bytes, in which nearly all packets travel.

use incast_cc::Time;
use incast_cc::param::Transport;

use super::{Body, Packet, clock_ns};

/// A packet whose content fits a few words, as carriers keep it while it travels.
///
/// Sequence numbers travel modulo 2^32, as in TCP; the end that gets the packet knows the rest
/// ([`packet`](Self::packet)). Rare packets have no such form ([`of`](Self::of)): reports of
/// missing packets, ACKs with SACK blocks, requests for reads, the exchange that opens a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The connection's index at the endpoint that will receive the packet.
    pub connection: u32,
    /// The sequence number of data, or the one that is acknowledged, modulo 2^32.
    pub sequence: u32,
    /// The time at which the NIC got the packet ([`Packet::sent_ns`]).
    pub sent_ns: u32,
    /// The rest of the content: see [`Kind`].
    pub rest: u32,
    /// Payload in bytes.
    pub payload: u16,
    /// The kind of content.
    pub kind: Kind,
    /// The flags of the content, of [`ENDS_MESSAGE`](Self::ENDS_MESSAGE) and those after it.
    pub flags: u8,
}

/// Makes the kinds of content, each with the transport whose packets have it, if they are of one.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $transport:expr, $is_data:literal;)+) => {
        /// The kind of content of a [`Header`], and what its `rest` holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $kind,)+
        }

        impl Kind {
            /// All kinds, by their numbers.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The transport whose packets have the kind; [`None`] if any may.
            #[inline]
            pub const fn transport(self) -> Option<Transport> {
                match self {
                    $(Self::$kind => $transport,)+
                }
            }

            /// Whether a packet of the kind is for the receiving half of its connection.
            #[inline]
            pub const fn is_data(self) -> bool {
                match self {
                    $(Self::$kind => $is_data,)+
                }
            }

            /// Whether a packet of the kind has payload.
            #[inline]
            pub const fn has_payload(self) -> bool {
                matches!(self, Self::Data | Self::Segment)
            }
        }
    };
}

kinds! {
    /// Payload of a message. The rest: from the lowest byte the packet's index in its segment, the
    /// number of packets in the segment, the attempt.
    Data: Some(Transport::Message), true;
    /// The acknowledgement of a segment of a message. The rest: the marked payload, and in the
    /// highest byte the attempt.
    Ack: Some(Transport::Message), false;
    /// Payload of a stream. The rest: in the highest byte the epoch.
    Segment: Some(Transport::Stream), true;
    /// An acknowledgement of a stream. The rest: the marked payload, and in the highest byte the
    /// echo.
    SegmentAck: Some(Transport::Stream), false;
    /// A notification of marks.
    Notification: None, false;
    /// A receiver's permission to send more. The rest: the bytes.
    Credit: None, false;
    /// The header of [`Data`](Self::Data) whose payload a switch has cut off, with its rest.
    Trimmed: Some(Transport::Message), true;
}

/// The parts of a header that its content makes, without the sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compact {
    pub(crate) rest: u32,
    pub(crate) payload: u16,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
}

/// The end of the amounts of marked payload that fit beside a byte.
pub(crate) const MARKED_END: u32 = 1 << 24;

impl Header {
    /// The header of no packet.
    pub(crate) const NONE: Self = Self {
        connection: 0,
        sequence: 0,
        sent_ns: 0,
        rest: 0,
        payload: 0,
        kind: Kind::Notification,
        flags: 0,
    };
    /// The packet is the last of its message's last segment, or of a message in a stream.
    pub const ENDS_MESSAGE: u8 = 1;
    /// [`Kind::Data`]: the receiver answers the packet in any case.
    pub const ACK_REQUEST: u8 = 2;
    /// [`Kind::SegmentAck`]: the classic ECN echo.
    pub const ECE: u8 = 2;
    /// Switches may mark the packet instead of dropping it (ECN-capable transport).
    pub const ECT: u8 = 4;

    /// The flags of data of a message.
    #[inline]
    pub(crate) const fn data_flags(ends_message: bool, ack_request: bool) -> u8 {
        flag(ends_message, Self::ENDS_MESSAGE) | flag(ack_request, Self::ACK_REQUEST) | Self::ECT
    }

    /// The index of [`Kind::Data`] in its segment, and the number of packets of the segment.
    #[inline]
    pub(crate) const fn place(&self) -> (u8, u8) {
        let [index, count, ..] = self.rest.to_le_bytes();
        (index, count)
    }

    /// The ACK of a stream that is made when its newest segment arrives, without the connection. It
    /// tells of less than 2^24 marked bytes.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    pub(crate) const fn ack(
        sequence: u64,
        now_ns: u32,
        ce_bytes: u32,
        ece: bool,
        echo: u8,
    ) -> Self {
        debug_assert!(ce_bytes < MARKED_END);
        let (rest, flags) = (ce_bytes | (echo as u32) << 24, flag(ece, Self::ECE));
        let (kind, sequence) = (Kind::SegmentAck, sequence as u32);
        Self { connection: 0, sequence, sent_ns: now_ns, rest, payload: 0, kind, flags }
    }

    /// The ACK of a segment of a message that is complete `now`, without the connection. It tells of
    /// less than 2^24 marked bytes.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    pub(crate) const fn message_ack(segment: u64, now: Time, ce_bytes: u32, attempt: u8) -> Self {
        debug_assert!(ce_bytes < MARKED_END);
        let (rest, sent_ns) = (ce_bytes | (attempt as u32) << 24, clock_ns(now));
        let (kind, sequence) = (Kind::Ack, segment as u32);
        Self { connection: 0, sequence, sent_ns, rest, payload: 0, kind, flags: 0 }
    }

    /// The compact form of a packet; [`None`] if it has none. It leaves out the payload that
    /// remains ([`Packet::remaining`]).
    #[inline]
    pub fn of(packet: &Packet) -> Option<Self> {
        let &Packet { connection, sent_ns, ref body } = packet;
        let Compact { rest, payload, kind, flags } = match body {
            Body::Notification => {
                Compact { rest: 0, payload: 0, kind: Kind::Notification, flags: 0 }
            }
            &Body::Credit(rest) => Compact { rest, payload: 0, kind: Kind::Credit, flags: 0 },
            body => body.compact(sent_ns)?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
        let sequence = body.sequence() as u32;
        Some(Self { connection, sequence, sent_ns, rest, payload, kind, flags })
    }

    /// The packet, whose sequence number is less than 2^31 from `near`.
    #[inline]
    pub fn packet(&self, near: u64) -> Packet {
        let body = match (self.kind.transport(), self.kind) {
            (Some(transport), _) => Body::of(transport, self, near),
            (None, Kind::Credit) => Body::Credit(self.rest),
            (None, _) => Body::Notification,
        };
        Packet { connection: self.connection, sent_ns: self.sent_ns, body }
    }

    /// The sequence number that is less than 2^31 from `near`.
    #[inline]
    pub const fn sequence_near(&self, near: u64) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
        let distance = self.sequence.wrapping_sub(near as u32).cast_signed();
        near.wrapping_add_signed(distance as i64)
    }

    /// Whether the arrival changes nothing but counters, if nothing before it is missing: data of a
    /// message that is sent for the first time, and whose receiver need not answer.
    #[inline]
    pub const fn is_quiet(&self) -> bool {
        matches!(self.kind, Kind::Data) && !self.has(Self::ACK_REQUEST) && self.attempt() == 0
    }

    /// Whether the receiver answers this very packet.
    #[inline]
    pub const fn is_answered(&self) -> bool {
        match self.kind {
            Kind::Segment => true,
            Kind::Data => self.has(Self::ACK_REQUEST),
            Kind::Ack | Kind::SegmentAck | Kind::Notification | Kind::Credit | Kind::Trimmed => {
                false
            }
        }
    }

    /// The header that is left when a switch cuts the payload off; [`None`] if the receiver could
    /// do nothing with it.
    pub(crate) const fn trimmed(&self) -> Option<Self> {
        if !matches!(self.kind, Kind::Data) {
            return None;
        }
        Some(Self { kind: Kind::Trimmed, payload: 0, flags: self.flags & !Self::ECT, ..*self })
    }

    /// The attempt of [`Kind::Data`].
    #[inline]
    pub const fn attempt(&self) -> u8 {
        self.rest.to_le_bytes()[2]
    }

    /// The highest byte of the rest: the epoch, the echo or the attempt.
    #[inline]
    pub const fn highest(&self) -> u8 {
        self.rest.to_le_bytes()[3]
    }

    /// The marked payload that an acknowledgement tells.
    #[inline]
    pub const fn ce_bytes(&self) -> u32 {
        self.rest % MARKED_END
    }

    /// Whether a flag is set.
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A flag, if it is set.
#[inline]
pub(super) const fn flag(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}

/// An amount of marked payload, and a byte above it; [`None`] if they do not fit.
#[inline]
pub(super) fn beside(ce_bytes: u32, byte: u8) -> Option<u32> {
    (ce_bytes < MARKED_END).then_some(ce_bytes | u32::from(byte) << 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{DueBy, Form, message, stream};
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    /// Failing cases are kept, and tried first from then on.
    fn config() -> ProptestConfig {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/header.txt");
        ProptestConfig {
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
            ..ProptestConfig::with_cases(2_000)
        }
    }

    fn body() -> impl Strategy<Value = Body> {
        let number = prop_oneof![any::<u64>(), 0..10_u64];
        let amount = prop_oneof![any::<u32>(), 0..3_u32];
        (number, amount, any::<[u8; 3]>(), any::<[bool; 4]>(), any::<u16>(), 0..7_u8).prop_map(
            |(sequence, ce_bytes, [index, count, attempt], [a, b, c, d], payload, kind)| {
                let (payload, length) = (u32::from(payload), u32::from(c && d));
                let read = u64::from(length);
                let data = message::Data {
                    sequence,
                    payload,
                    index,
                    count,
                    attempt,
                    ack_request: a,
                    ends_message: b,
                    read,
                    due: DueBy::NONE,
                    remaining: 0,
                };
                match kind {
                    0 => Body::Message(message::Body::Data(data)),
                    1 => Body::Stream(stream::Body::Segment(stream::Segment {
                        sequence,
                        read,
                        due: DueBy::NONE,
                        remaining: 0,
                        payload,
                        ends_message: a,
                        ect: b,
                        cwr: c && !d,
                        opens: d && !c,
                        epoch: attempt,
                    })),
                    2 => Body::Message(message::Body::Ack(message::Ack {
                        segment: sequence,
                        ce_bytes,
                        attempt,
                    })),
                    3 => Body::Stream(stream::Body::Ack(stream::Ack {
                        sequence,
                        blocks: [stream::Block { start: length, length }; 2],
                        ce_bytes,
                        arrived_ns: u32::from(a && b),
                        ece: a,
                        duplicate: c && !d,
                        opens: d && !c,
                        echo: attempt,
                    })),
                    4 => Body::Credit(ce_bytes),
                    5 => {
                        Body::Message(message::Body::Trimmed(message::Data { payload: 0, ..data }))
                    }
                    _ => Body::Notification,
                }
            },
        )
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn a_packet_has_a_header_that_says_the_same_or_none(
            body in body(),
            distance in -(1_i64 << 31)..1_i64 << 31,
        ) {
            let packet = Packet { connection: 7, sent_ns: 0, body };
            let sequence = body.sequence();
            let near = sequence.wrapping_sub(distance.cast_unsigned());
            if let Some(header) = Header::of(&packet) {
                prop_assert_eq!(header.packet(near), packet);
            } else {
                let rare = match body {
                    Body::Message(message::Body::Data(data) | message::Body::Trimmed(data)) => {
                        data.read > 0
                    }
                    Body::Stream(stream::Body::Segment(segment)) => segment.read > 0 || segment.cwr || segment.opens,
                    Body::Message(message::Body::Ack(ack)) => ack.ce_bytes >= MARKED_END,
                    Body::Stream(stream::Body::Ack(ack)) => {
                        let more = ack.duplicate || ack.opens || ack.blocks[0].length > 0;
                        more || ack.arrived_ns != 0 || ack.ce_bytes >= MARKED_END
                    }
                    _ => false,
                };
                prop_assert!(rare);
            }
        }
    }

    #[test]
    fn both_forms_of_a_packet_are_cut_to_the_same_header() {
        let data = message::Data {
            sequence: 7,
            payload: 1_000,
            index: 3,
            count: 44,
            attempt: 2,
            ack_request: true,
            ends_message: true,
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
        };
        let of = |body| Packet { connection: 5, sent_ns: 9, body: Body::Message(body) };
        let packet = of(message::Body::Data(data));
        let header = of(message::Body::Trimmed(message::Data { payload: 0, ..data }));
        let [full, compact] = [Form::Full(packet), Form::of(packet, false)];
        assert_eq!(full.trimmed(), Some(Form::Full(header)));
        assert_eq!(compact.trimmed(), Header::of(&header).map(Form::Compact));
        let trimmed = compact.trimmed().unwrap();
        assert!(trimmed.payload() == 0 && !trimmed.is_ect() && !trimmed.is_quiet());
        assert_eq!(trimmed.trimmed(), None);
    }

    #[test]
    fn a_header_is_small() {
        assert_eq!(size_of::<Header>(), 20);
    }
}

//! The frame of payload.

use super::WireError;
use super::bytes::{MOST_COUNT, Reader, Writer, counted, value};
use super::lane::LaneNumber;
use incast_transport::DueBy;
use incast_transport::message::{self, MAX_SEGMENT_PACKETS};

/// The most bytes of a frame of data beside its payload.
pub const DATA_BYTES: usize = 30;
/// The bytes beside the payload if the payload is a whole message.
pub const WHOLE_BYTES: usize = 20;

/// Set in the first byte of a frame of data, and of no other frame.
pub(super) const DATA: u8 = 1 << 7;
/// The place of the lane in the first byte, above the flags.
const LANE_SHIFT: u32 = 5;
const FLAGS: u8 = (1 << LANE_SHIFT) - 1;
const ACK_REQUEST: u8 = 1;
const ENDS_MESSAGE: u8 = 2;
const WHOLE: u8 = 4;
const GIVEN_UP: u8 = 8;
const TIMED: u8 = 16;

/// A packet of the transport with payload, and the place of the payload in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// The lane.
    pub lane: LaneNumber,
    /// The time at which the packet was made, by the sender's clock
    /// ([`Packet::sent_ns`](incast_transport::Packet)).
    pub sent_ns: u32,
    /// The transport's packet. [`read`](message::Data::read), which asks a simulated peer for
    /// payload, and [`remaining`](message::Data::remaining), which simulated switches look at, do
    /// not travel, and are zero. [`payload`](message::Data::payload) is the length of the payload
    /// below.
    pub packet: message::Data,
    /// The message, by a number that the sender counts up over the life of the connection.
    pub message: u64,
    /// The length of the message in bytes.
    pub length: u32,
    /// The place of the payload in the message, in bytes from its start.
    pub offset: u32,
    /// Whether the sender gives the message up, which ends here whatever its length: the
    /// application of the receiver does not get it. Only the packet that ends a message says so.
    pub given_up: bool,
    /// Whether the sender measures the RTT of the packet, so that the ACK has to tell its turnaround.
    pub timed: bool,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Whether the payload is a whole message, so that the frame needs no place in it.
    fn is_whole(&self) -> bool {
        let message::Data { index, count, payload, .. } = self.packet;
        !self.given_up && (index, count, self.offset, self.length) == (0, 1, 0, payload)
    }

    /// The bytes of the frame.
    pub(super) fn bytes(&self) -> usize {
        self.payload.len() + if self.is_whole() { WHOLE_BYTES } else { DATA_BYTES }
    }

    /// Checks what the transport relies on: the index lies in the segment, and the segment in the
    /// numbers; the payload lies in the message, and is as long as the packet says.
    pub(super) fn check(&self) -> Result<(), WireError> {
        let message::Data { sequence, index, count, payload, .. } = self.packet;
        if !(1..=MAX_SEGMENT_PACKETS).contains(&count.into()) {
            return Err(value("the number of packets of a segment", count.into()));
        }
        if index >= count {
            return Err(value("the index in a segment", index.into()));
        }
        let end = sequence.checked_sub(index.into()).and_then(|s| s.checked_add(count.into()));
        if end.is_none_or(|end| end > MOST_COUNT) {
            return Err(value("the sequence number", sequence));
        }
        counted("the number of a message", self.message)?;
        if payload as usize != self.payload.len() {
            return Err(value("the length of the payload", payload.into()));
        }
        if self.offset.checked_add(payload).is_none_or(|end| end > self.length) {
            return Err(value("the offset in a message", self.offset.into()));
        }
        if self.given_up && !self.packet.ends_message {
            return Err(value("the flags of a frame", GIVEN_UP.into()));
        }
        Ok(())
    }

    /// Writes the frame, whose first byte has [`DATA`], the lane and flags.
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), WireError> {
        self.check()?;
        let message::Data { sequence, index, count, attempt, ack_request, ends_message, .. } =
            self.packet;
        let bytes = self.payload.len();
        let payload = bytes.try_into().map_err(|_| value("the payload", bytes as u64))?;
        let flag = |set, flag| if set { flag } else { 0 };
        let flags = flag(ack_request, ACK_REQUEST)
            | flag(ends_message, ENDS_MESSAGE)
            | flag(self.is_whole(), WHOLE)
            | flag(self.given_up, GIVEN_UP)
            | flag(self.timed, TIMED);
        writer.u8(DATA | self.lane.shifted(LANE_SHIFT) | flags).u16(payload).u32(self.sent_ns);
        writer.count(sequence).count(self.message).u8(attempt);
        if !self.is_whole() {
            writer.u8(index).u8(count).u32(self.length).u32(self.offset);
        }
        writer.put(self.payload);
        Ok(())
    }

    /// Reads what follows the first byte of a frame.
    pub(super) fn read(first: u8, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let field = "a frame of data";
        let (lane, flags) = (LaneNumber::from_bits(first >> LANE_SHIFT), first & FLAGS);
        let payload = reader.u16(field)?.into();
        let sent_ns = reader.u32(field)?;
        let (sequence, message) = (reader.count(field)?, reader.count(field)?);
        let attempt = reader.u8(field)?;
        let whole = flags & WHOLE != 0;
        let (index, count, length, offset) = if whole {
            (0, 1, payload, 0)
        } else {
            (reader.u8(field)?, reader.u8(field)?, reader.u32(field)?, reader.u32(field)?)
        };
        let packet = message::Data {
            sequence,
            payload,
            index,
            count,
            attempt,
            ack_request: flags & ACK_REQUEST != 0,
            ends_message: flags & ENDS_MESSAGE != 0,
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
        };
        let payload = reader.take(payload as usize, "the payload")?;
        let (given_up, timed) = (flags & GIVEN_UP != 0, flags & TIMED != 0);
        let data =
            Self { lane, sent_ns, packet, message, length, offset, given_up, timed, payload };
        data.check()?;
        // Each frame has one form, so that no two datagrams say the same.
        if whole == data.is_whole() {
            Ok(data)
        } else {
            Err(value("the flags of a frame", flags.into()))
        }
    }
}

//! The frames of an open connection.

use super::WireError;
use super::bytes::{MOST_COUNT, Reader, Writer, value};
use super::completion::{BYTES, Completions, Turnaround};
use super::data::{DATA, Data};
use super::lane::LaneNumber;
use incast_transport::message::{self, MAX_SEGMENT_PACKETS, PacketSet};

const PADDING: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;
const PROBE: u8 = 3;
const PROBE_ANSWER: u8 = 4;
const CLOSE: u8 = 5;
const NOTIFICATION: u8 = 6;

const NACK_BYTES: usize = 33;
const ANSWERS: u8 = 1;
/// The place of the lane in the second byte of a frame.
const LANE_SHIFT: u32 = 6;

/// A report of missing packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The lane.
    pub lane: LaneNumber,
    /// The time at which the report was made, by its sender's clock.
    pub sent_ns: u32,
    /// The transport's report.
    pub report: message::Nack,
    /// The turnaround of the packet that the report answers.
    pub turnaround: Turnaround,
}

/// A question whether a datagram of this size arrives, which padding fills up. A probe without
/// padding asks whether the peer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The name of the probe, which its answer repeats.
    pub id: u32,
}

/// The answer to a [`Probe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The name of the probe.
    pub id: u32,
    /// The length of the probe's datagram in bytes, as it came.
    pub bytes: u16,
    /// The turnaround of the probe.
    pub turnaround: Turnaround,
}

/// The end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Close {
    /// The application is done.
    Done = 0,
    /// The program ends.
    Shutdown = 1,
    /// The peer has broken a rule of the format.
    Protocol = 2,
    /// Memory for this peer is used up.
    Overload = 3,
    /// The path does not take datagrams of the least MTU.
    Narrow = 4,
    /// The peer holds memory, and its messages do not go on.
    Stuck = 5,
}

/// A frame of an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "frames are read one at a time, and not kept")]
pub enum Frame<'a> {
    /// Payload of a message.
    Data(Data<'a>),
    /// Acknowledgements of complete segments.
    Ack {
        /// The lane.
        lane: LaneNumber,
        /// The time at which the frame was made, by its sender's clock.
        sent_ns: u32,
        /// The segments.
        completions: Completions,
    },
    /// A report of missing packets.
    Nack(Nack),
    /// A probe of the path's MTU, or of the peer.
    Probe(Probe),
    /// The answer to a probe.
    ProbeAnswer(ProbeAnswer),
    /// The end of the connection.
    Close(Close),
    /// A notice that payload arrived marked
    /// ([`Body::Notification`](incast_transport::Body::Notification)).
    Notification {
        /// The lane.
        lane: LaneNumber,
        /// The time at which the frame was made, by its sender's clock.
        sent_ns: u32,
    },
}

impl<'a> Frame<'a> {
    /// The bytes of the frame.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Data(data) => data.bytes(),
            Self::Ack { completions, .. } => 6 + completions.as_slice().len() * BYTES,
            Self::Nack(_) => NACK_BYTES,
            Self::Probe(_) => 5,
            Self::ProbeAnswer(_) => 11,
            Self::Close(_) => 2,
            Self::Notification { .. } => 6,
        }
    }

    /// Writes the frame to the start of `room`, and returns its length.
    ///
    /// # Errors
    ///
    /// If `room` is too short, or if [`Frames`] would refuse the frame.
    pub fn encode(&self, room: &mut [u8]) -> Result<usize, WireError> {
        let mut writer = Writer::new(room, self.bytes())?;
        match self {
            Self::Data(data) => data.write(&mut writer)?,
            Self::Ack { lane, sent_ns, completions } => {
                let count = completions.as_slice().len();
                let count = u8::try_from(count).unwrap_or(u8::MAX);
                if count == 0 {
                    return Err(value("the number of completions", 0));
                }
                writer.u8(ACK).u8(lane.shifted(LANE_SHIFT) | count).u32(*sent_ns);
                completions.write(&mut writer)?;
            }
            Self::Nack(nack) => {
                nack.check()?;
                nack.write(&mut writer);
            }
            Self::Probe(probe) => {
                writer.u8(PROBE).u32(probe.id);
            }
            Self::ProbeAnswer(answer) => {
                writer.u8(PROBE_ANSWER).u32(answer.id).u16(answer.bytes);
                answer.turnaround.write(&mut writer);
            }
            Self::Close(reason) => {
                writer.u8(CLOSE).u8(*reason as u8);
            }
            Self::Notification { lane, sent_ns } => {
                writer.u8(NOTIFICATION).u8(lane.shifted(LANE_SHIFT)).u32(*sent_ns);
            }
        }
        Ok(writer.end())
    }

    fn read(kind: u8, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(match kind {
            DATA.. => Self::Data(Data::read(kind, reader)?),
            ACK => {
                let (lane, count) = split(reader.u8("the number of completions")?);
                let sent_ns = reader.u32("an ACK")?;
                let completions = Completions::read(reader, count)?;
                Self::Ack { lane, sent_ns, completions }
            }
            NACK => Self::Nack(Nack::read(reader)?),
            PROBE => Self::Probe(Probe { id: reader.u32("a probe")? }),
            PROBE_ANSWER => {
                let (id, bytes) = (reader.u32("the answer to a probe")?, reader.u16("its size")?);
                let turnaround = Turnaround::read(reader)?;
                Self::ProbeAnswer(ProbeAnswer { id, bytes, turnaround })
            }
            CLOSE => Self::Close(match reader.u8("the reason of a close")? {
                0 => Close::Done,
                1 => Close::Shutdown,
                2 => Close::Protocol,
                3 => Close::Overload,
                4 => Close::Narrow,
                5 => Close::Stuck,
                other => return Err(value("the reason of a close", other.into())),
            }),
            NOTIFICATION => {
                let (lane, more) = split(reader.u8("a notification")?);
                if more != 0 {
                    return Err(value("the flags of a frame", more.into()));
                }
                Self::Notification { lane, sent_ns: reader.u32("a notification")? }
            }
            other => return Err(value("the kind of a frame", other.into())),
        })
    }
}

impl Nack {
    /// Checks that the numbers of the packets do not overflow.
    fn check(&self) -> Result<(), WireError> {
        let base = self.report.base;
        let end = base.checked_add(MAX_SEGMENT_PACKETS.into());
        let is_sound = end.is_some_and(|end| end <= MOST_COUNT);
        if is_sound { Ok(()) } else { Err(value("the base of a NACK", base)) }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let message::Nack { base, missing, attempt, answers } = self.report;
        let flags = if answers { ANSWERS } else { 0 };
        writer.u8(NACK).u8(self.lane.shifted(LANE_SHIFT) | flags).u8(attempt);
        writer.u32(self.sent_ns).count(base);
        for half in [0, 64_u32] {
            let bit = |index: u32| u64::from(missing.contains(half + index)) << index;
            writer.u64((0..64_u32).map(bit).sum());
        }
        self.turnaround.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let field = "a NACK";
        let (lane, flags) = split(reader.u8("the flags of a frame")?);
        if flags > ANSWERS {
            return Err(value("the flags of a frame", flags.into()));
        }
        let answers = flags == ANSWERS;
        let attempt = reader.u8(field)?;
        let sent_ns = reader.u32(field)?;
        let base = reader.count(field)?;
        let mut missing = PacketSet::EMPTY;
        for half in [0, 64_u32] {
            let bits = reader.u64(field)?;
            let indices = (0..64).filter(|index| bits >> index & 1 == 1);
            indices.for_each(|index| missing.insert(half + index));
        }
        let turnaround = Turnaround::read(reader)?;
        let report = message::Nack { base, missing, attempt, answers };
        let nack = Self { lane, sent_ns, report, turnaround };
        nack.check()?;
        Ok(nack)
    }
}

/// The lane in the second byte of a frame, and the rest of that byte.
const fn split(second: u8) -> (LaneNumber, u8) {
    (LaneNumber::from_bits(second >> LANE_SHIFT), second % (1 << LANE_SHIFT))
}

/// The frames of a datagram in order, up to the first fault. A zero where a frame would start ends
/// them; what follows is padding.
#[derive(Clone, Debug)]
pub struct Frames<'a>(Reader<'a>);

impl<'a> Frames<'a> {
    /// The frames in what follows the header of a datagram, decrypted.
    pub const fn of(content: &'a [u8]) -> Self {
        Self(Reader(content))
    }

    /// The frame, if it is the only one, of data and without fault: the usual case, which needs no
    /// look at frames behind it.
    pub fn only_data(&self) -> Option<Data<'a>> {
        let mut reader = self.0;
        let first = reader.u8("the kind of a frame").ok().filter(|first| first & DATA != 0)?;
        let data = Data::read(first, &mut reader).ok()?;
        matches!(reader.0, [] | [PADDING, ..]).then_some(data)
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let kind = self.0.u8("the kind of a frame").unwrap_or(PADDING);
        if kind == PADDING {
            self.0 = Reader(&[]);
            return None;
        }
        let frame = Frame::read(kind, &mut self.0);
        if frame.is_err() {
            self.0 = Reader(&[]);
        }
        Some(frame)
    }
}

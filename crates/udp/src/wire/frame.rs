//! The frames of an open connection.

use super::WireError;
use super::bytes::{Reader, Writer, value};
use super::completion::{BYTES, Completions, Turnaround};
use super::data::Data;
use incast_transport::message::{self, MAX_SEGMENT_PACKETS, PacketSet};

const PADDING: u8 = 0;
const DATA: u8 = 1;
const ACK: u8 = 2;
const NACK: u8 = 3;
const PROBE: u8 = 4;
const PROBE_ANSWER: u8 = 5;
const CLOSE: u8 = 6;
const NOTIFICATION: u8 = 7;

const NACK_BYTES: usize = 39;
const ANSWERS: u8 = 1;

/// A report of missing packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The transport's connection, by its index at the receiver of the report.
    pub connection: u32,
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
}

/// A frame of an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "frames are read one at a time, and not kept")]
pub enum Frame<'a> {
    /// Payload of a message.
    Data(Data<'a>),
    /// Acknowledgements of complete segments.
    Ack {
        /// The transport's connection, by its index at the receiver of the frame.
        connection: u32,
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
        /// The transport's connection, by its index at the receiver of the frame.
        connection: u32,
        /// The time at which the frame was made, by its sender's clock.
        sent_ns: u32,
    },
}

impl<'a> Frame<'a> {
    /// The bytes of the frame.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Data(data) => data.bytes(),
            Self::Ack { completions, .. } => 10 + completions.as_slice().len() * BYTES,
            Self::Nack(_) => NACK_BYTES,
            Self::Probe(_) => 5,
            Self::ProbeAnswer(_) => 11,
            Self::Close(_) => 2,
            Self::Notification { .. } => 9,
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
            Self::Data(data) => data.write(DATA, &mut writer)?,
            Self::Ack { connection, sent_ns, completions } => {
                let count = completions.as_slice().len();
                let count = u8::try_from(count).unwrap_or(u8::MAX);
                if count == 0 {
                    return Err(value("the number of completions", 0));
                }
                writer.u8(ACK).u8(count).u32(*connection).u32(*sent_ns);
                completions.write(&mut writer);
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
            Self::Notification { connection, sent_ns } => {
                writer.u8(NOTIFICATION).u32(*connection).u32(*sent_ns);
            }
        }
        Ok(writer.end())
    }

    fn read(kind: u8, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(match kind {
            DATA => Self::Data(Data::read(reader)?),
            ACK => {
                let count = reader.u8("the number of completions")?;
                let connection = reader.u32("an ACK")?;
                let sent_ns = reader.u32("an ACK")?;
                let completions = Completions::read(reader, count)?;
                Self::Ack { connection, sent_ns, completions }
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
                other => return Err(value("the reason of a close", other.into())),
            }),
            NOTIFICATION => {
                let field = "a notification";
                Self::Notification { connection: reader.u32(field)?, sent_ns: reader.u32(field)? }
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
        end.map(|_| ()).ok_or_else(|| value("the base of a NACK", base))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let message::Nack { base, missing, attempt, answers } = self.report;
        writer.u8(NACK).u8(if answers { ANSWERS } else { 0 }).u8(attempt);
        writer.u32(self.connection).u32(self.sent_ns).u64(base);
        for half in [0, 64_u32] {
            let bit = |index: u32| u64::from(missing.contains(half + index)) << index;
            writer.u64((0..64_u32).map(bit).sum());
        }
        self.turnaround.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let field = "a NACK";
        let answers = reader.flags(ANSWERS)? & ANSWERS != 0;
        let attempt = reader.u8(field)?;
        let (connection, sent_ns) = (reader.u32(field)?, reader.u32(field)?);
        let base = reader.u64(field)?;
        let mut missing = PacketSet::EMPTY;
        for half in [0, 64_u32] {
            let bits = reader.u64(field)?;
            let indices = (0..64).filter(|index| bits >> index & 1 == 1);
            indices.for_each(|index| missing.insert(half + index));
        }
        let turnaround = Turnaround::read(reader)?;
        let report = message::Nack { base, missing, attempt, answers };
        let nack = Self { connection, sent_ns, report, turnaround };
        nack.check()?;
        Ok(nack)
    }
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
        if reader.u8("the kind of a frame") != Ok(DATA) {
            return None;
        }
        let data = Data::read(&mut reader).ok()?;
        matches!(reader.0, [] | [PADDING, ..]).then_some(data)
    }

    /// Checks all frames without looking further at them.
    ///
    /// # Errors
    ///
    /// If any of them has a fault.
    pub fn check(&self) -> Result<(), WireError> {
        self.clone().try_for_each(|frame| frame.map(|_| ()))
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

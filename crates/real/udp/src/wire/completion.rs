//! The segments that an acknowledgement completes, each with its turnaround.

use super::WireError;
use super::bytes::{Reader, Writer, counted};
use incast_cc::Span;
use incast_transport::message;

/// The most completions of one acknowledgement.
pub const MAX_COMPLETIONS: usize = 32;
/// The bytes of a completion: segment, marked payload, turnaround, attempt.
pub(super) const BYTES: usize = 15;

/// The time from the arrival of a packet, by its timestamp, to the time at which its answer leaves,
/// as far as the receiver knows it before: what it adds to an RTT. It travels in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnaround(u32);

impl Turnaround {
    /// The receiver does not know, for want of a timestamp: there is no RTT sample.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// A turnaround, rounded down to nanoseconds; [`UNKNOWN`](Self::UNKNOWN) from 4.29 s on.
    pub fn of(span: Span) -> Self {
        u32::try_from(span.as_ns()).map_or(Self::UNKNOWN, Self)
    }

    /// The turnaround, if it is known.
    pub fn span(self) -> Option<Span> {
        (self != Self::UNKNOWN).then(|| Span::from_ns(self.0.into()))
    }

    pub(super) fn write(self, writer: &mut Writer<'_>) {
        writer.u32(self.0);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.u32("the turnaround").map(Self)
    }
}

/// A complete segment: the transport's acknowledgement, and the turnaround.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The transport's acknowledgement.
    pub ack: message::Ack,
    /// The turnaround of the packet that is answered.
    pub turnaround: Turnaround,
}

impl Completion {
    const NONE: Self = Self {
        ack: message::Ack { segment: 0, ce_bytes: 0, attempt: 0 },
        turnaround: Turnaround::UNKNOWN,
    };
}

/// The completions of one acknowledgement, of one connection of the transport.
#[derive(Clone, Copy, Debug)]
pub struct Completions {
    all: [Completion; MAX_COMPLETIONS],
    count: usize,
}

impl Completions {
    /// No completion.
    pub const fn new() -> Self {
        Self { all: [Completion::NONE; MAX_COMPLETIONS], count: 0 }
    }

    /// Adds a completion, and returns whether there was room for it.
    #[must_use]
    pub fn push(&mut self, completion: Completion) -> bool {
        let place = self.all.get_mut(self.count);
        let fits = place.is_some();
        if let Some(place) = place {
            *place = completion;
            self.count += 1;
        }
        fits
    }

    /// The completions, in order.
    pub fn as_slice(&self) -> &[Completion] {
        &self.all[..self.count]
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), WireError> {
        for Completion { ack, turnaround } in self.as_slice() {
            counted("the segment of a completion", ack.segment)?;
            writer.count(ack.segment).u32(ack.ce_bytes).u8(ack.attempt);
            turnaround.write(writer);
        }
        Ok(())
    }

    pub(super) fn read(reader: &mut Reader<'_>, count: u8) -> Result<Self, WireError> {
        let mut completions = Self::new();
        if !(1..=MAX_COMPLETIONS).contains(&usize::from(count)) {
            return Err(WireError::Value {
                field: "the number of completions",
                value: count.into(),
            });
        }
        for place in &mut completions.all[..usize::from(count)] {
            let segment = reader.count("a completion")?;
            let ce_bytes = reader.u32("a completion")?;
            let attempt = reader.u8("a completion")?;
            let ack = message::Ack { segment, ce_bytes, attempt };
            *place = Completion { ack, turnaround: Turnaround::read(reader)? };
        }
        completions.count = count.into();
        Ok(completions)
    }
}

impl Default for Completions {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Completions {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Completions {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turnaround_that_does_not_fit_is_unknown() {
        assert_eq!(Turnaround::of(Span::from_ns(7)).span(), Some(Span::from_ns(7)));
        let longest = u64::from(u32::MAX) - 1;
        assert_eq!(Turnaround::of(Span::from_ns(longest)).span(), Some(Span::from_ns(longest)));
        assert_eq!(Turnaround::of(Span::from_ns(longest + 1)).span(), None);
        assert_eq!(Turnaround::of(Span::from_secs(5)).span(), None);
    }

    #[test]
    fn an_acknowledgement_takes_no_more_than_it_has_room_for() {
        let mut completions = Completions::new();
        let pushed = (0..40).filter(|_| completions.push(Completion::NONE)).count();
        assert_eq!((pushed, completions.as_slice().len()), (MAX_COMPLETIONS, MAX_COMPLETIONS));
    }
}

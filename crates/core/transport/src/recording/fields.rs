//! The fields of a line, read.

use std::str::{FromStr, SplitAsciiWhitespace};

use incast_cc::{Span, Time};

use crate::packet::message::{Ack, Data, MAX_SEGMENT_PACKETS, Nack, PacketSet};
use crate::packet::{Body, DueBy, Packet, message};

/// The latest time of a recording: half a year, with room for the timeouts behind it.
const LATEST: u64 = u64::MAX / 4;

/// The reason why a line cannot be read, in the words of a sentence.
pub(super) type Fault = &'static str;

/// The fields that the carrier said, from left to right.
pub(super) struct Fields<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Fields<'a> {
    /// The fields of a line before its `>`.
    pub(super) fn of(line: &'a str) -> Self {
        Self(line.split_once(" >").map_or(line, |(inputs, _)| inputs).split_ascii_whitespace())
    }

    pub(super) fn word(&mut self) -> Result<&'a str, Fault> {
        self.0.next().ok_or("has too few fields")
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Result<T, Fault> {
        self.word()?.parse().map_err(|_| "has a field that is no number in its range")
    }

    /// A number from 0 to `most`.
    fn up_to(&mut self, most: u8) -> Result<u8, Fault> {
        let number = self.number()?;
        if number <= most { Ok(number) } else { Err("has a field that is no number in its range") }
    }

    fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.up_to(1)? == 1)
    }

    pub(super) fn span(&mut self) -> Result<Span, Fault> {
        let word = self.word()?;
        let (ns, ps) = word.split_once('.').unwrap_or((word, "000"));
        let (ns, ps) = match (ns.parse::<u64>(), ps.parse::<u64>()) {
            (Ok(ns), Ok(part)) if ps.len() == 3 => (ns, part),
            _ => return Err("has a field that is no time in nanoseconds"),
        };
        let ps = ns.checked_mul(1_000).and_then(|all| all.checked_add(ps));
        let fits = ps.filter(|&ps| ps < LATEST).ok_or("has a time beyond half a year")?;
        Ok(Span::from_ps(fits))
    }

    pub(super) fn time(&mut self) -> Result<Time, Fault> {
        Ok(Time::ZERO + self.span()?)
    }

    pub(super) fn maybe_time(&mut self) -> Result<Option<Time>, Fault> {
        if self.0.clone().next() == Some("-") {
            self.0.next();
            return Ok(None);
        }
        self.time().map(Some)
    }

    /// Whether there are no more fields.
    pub(super) fn are_over(&self) -> bool {
        self.0.clone().next().is_none()
    }

    /// The end of the fields.
    pub(super) fn end(self) -> Result<(), Fault> {
        if self.are_over() { Ok(()) } else { Err("has too many fields") }
    }

    /// A packet of messages, whose numbers fit each other.
    pub(super) fn packet(&mut self) -> Result<Packet, Fault> {
        let kind = self.word()?;
        let (connection, sent_ns) = (self.number()?, self.number()?);
        let body = match kind {
            "data" => Body::Message(message::Body::Data(self.data()?)),
            "ack" => {
                let (segment, ce_bytes, attempt) = (self.number()?, self.number()?, self.number()?);
                Body::Message(message::Body::Ack(Ack { segment, ce_bytes, attempt }))
            }
            "nack" => {
                let (base, halves) = (self.number::<u64>()?, [self.number()?, self.number()?]);
                if base.checked_add(MAX_SEGMENT_PACKETS.into()).is_none() {
                    return Err("has packets whose numbers are too high");
                }
                let (attempt, answers) = (self.number()?, self.flag()?);
                Body::Message(message::Body::Nack(Nack {
                    base,
                    missing: PacketSet::of(halves),
                    attempt,
                    answers,
                }))
            }
            "notification" => Body::Notification,
            _ => return Err("has a packet of a kind that messages do not have"),
        };
        Ok(Packet { connection, sent_ns, body })
    }

    fn data(&mut self) -> Result<Data, Fault> {
        let (sequence, payload): (u64, _) = (self.number()?, self.number()?);
        let (index, count, attempt) = (self.number::<u8>()?, self.number::<u8>()?, self.number()?);
        let flags = self.up_to(3)?;
        let first = sequence.checked_sub(index.into());
        let fits = index < count && u32::from(count) <= MAX_SEGMENT_PACKETS;
        if !fits || first.and_then(|first| first.checked_add(count.into())).is_none() {
            return Err("has a packet that does not fit its segment");
        }
        Ok(Data {
            sequence,
            payload,
            index,
            count,
            attempt,
            ack_request: flags & 1 != 0,
            ends_message: flags & 2 != 0,
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_picosecond() {
        let span = |text: &str| Fields::of(text).span();
        assert_eq!(span("1234.567 >"), Ok(Span::from_ps(1_234_567)));
        assert_eq!(span("7"), Ok(Span::from_ns(7)));
        for bad in ["", "7.5", "7.", "-7", "7.0001", "x", "18446744073709551615"] {
            assert!(span(bad).is_err(), "{bad}");
        }
        assert_eq!(Fields::of("- 5").maybe_time(), Ok(None));
    }

    #[test]
    fn packets_that_do_not_fit_are_refused() {
        let packet = |text: &str| Fields::of(text).packet();
        assert!(packet("data 0 5 17 1380 3 41 0 3").is_ok());
        for bad in [
            "data 0 5 17 1380 41 41 0 0",
            "data 0 5 17 1380 0 129 0 0",
            "data 0 5 2 1380 3 41 0 0",
            "data 0 5 18446744073709551615 1380 0 41 0 0",
            "data 0 5 17 1380 3 41 0 4",
            "data 0 5 17 1380 3 41 0",
            "data -1 5 17 1380 3 41 0 0",
            "nack 0 5 18446744073709551615 1 0 0 1",
            "nack 0 5 7 1 0 0 2",
            "stream 0 5",
            "",
        ] {
            assert!(packet(bad).is_err(), "{bad}");
        }
    }
}

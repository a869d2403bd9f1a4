//! Lines of a recording, in memory of a bounded size.

use std::fmt::Write;

use incast_cc::{Span, Time};

use crate::connection::Event;
use crate::packet::{Body, Packet, message};

/// The bytes of one piece of memory: what is written is never copied to a larger one.
const PIECE: usize = 1 << 20;

/// Lines of text.
#[derive(Debug)]
pub(super) struct Lines {
    /// The line that is being written.
    line: Line,
    pieces: Vec<Vec<u8>>,
    /// The bytes that may still be written.
    room: usize,
    count: u64,
    /// Whether a line had no room. Then none follows.
    is_full: bool,
}

/// A line: its kind, what the carrier said, and behind `>` what the endpoint answered.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<u8>);

impl Lines {
    /// No lines, with room for so many bytes.
    pub(super) const fn new(room: usize) -> Self {
        Self { line: Line(Vec::new()), pieces: Vec::new(), room, count: 0, is_full: false }
    }

    /// Begins a line. [`finish`](Self::finish) must follow.
    pub(super) fn begin(&mut self, kind: &str) -> &mut Line {
        self.line.0.clear();
        self.line.0.extend_from_slice(kind.as_bytes());
        &mut self.line
    }

    /// Ends the line.
    pub(super) fn finish(&mut self) {
        let line = &mut self.line.0;
        line.push(b'\n');
        self.is_full |= line.len() > self.room;
        if self.is_full {
            return;
        }
        self.room -= line.len();
        self.count += 1;
        match self.pieces.last_mut() {
            Some(piece) if piece.len() + line.len() <= piece.capacity() => {
                piece.extend_from_slice(line);
            }
            _ => {
                let mut piece = Vec::with_capacity(PIECE.min(self.room + line.len()));
                piece.extend_from_slice(line);
                self.pieces.push(piece);
            }
        }
    }

    /// Takes the line that was written since the last call, if there is one.
    pub(super) fn take(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(self.pieces.last()?).into_owned();
        self.pieces.truncate(1);
        self.pieces[0].clear();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Appends all lines to a text, with one that says how many they are.
    pub(super) fn end(self, text: &mut String) {
        for piece in &self.pieces {
            text.push_str(&String::from_utf8_lossy(piece));
        }
        let last = if self.is_full { FULL } else { WHOLE };
        // A string takes everything.
        writeln!(text, "end {} {last}", self.count).ok();
    }
}

/// The word of a recording that has all calls until its end.
pub(super) const WHOLE: &str = "whole";
/// The word of a recording that has grown as long as it may.
pub(super) const FULL: &str = "full";

impl Line {
    /// Begins what the endpoint answered.
    pub(super) fn outputs(&mut self) -> &mut Self {
        self.0.extend_from_slice(b" >");
        self
    }

    /// Adds a number.
    pub(super) fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        self.0.push(b' ');
        digits(&mut self.0, number.into(), 1);
        self
    }

    /// Adds a number, or a dash for none.
    pub(super) fn maybe(&mut self, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.number(number),
            None => self.none(),
        }
    }

    /// Adds a time, in nanoseconds.
    pub(super) fn time(&mut self, time: Time) -> &mut Self {
        self.span(time.since(Time::ZERO))
    }

    /// Adds a time, or a dash for none.
    pub(super) fn maybe_time(&mut self, time: Option<Time>) -> &mut Self {
        match time {
            Some(time) => self.time(time),
            None => self.none(),
        }
    }

    /// Adds a span, in nanoseconds, with picoseconds behind a point where there are any.
    pub(super) fn span(&mut self, span: Span) -> &mut Self {
        let ps = span.as_ps();
        self.number(ps / 1_000);
        if !ps.is_multiple_of(1_000) {
            self.0.push(b'.');
            digits(&mut self.0, ps % 1_000, 3);
        }
        self
    }

    fn none(&mut self) -> &mut Self {
        self.0.extend_from_slice(b" -");
        self
    }

    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push(b' ');
        self.0.extend_from_slice(word.as_bytes());
        self
    }

    /// Adds a packet of messages, as it travels.
    pub(super) fn packet(&mut self, packet: &Packet) -> &mut Self {
        let (kind, connection, sent_ns) = match packet.body {
            Body::Message(message::Body::Data(_)) => ("data", packet.connection, packet.sent_ns),
            Body::Message(message::Body::Ack(_)) => ("ack", packet.connection, packet.sent_ns),
            Body::Message(message::Body::Nack(_)) => ("nack", packet.connection, packet.sent_ns),
            Body::Notification => ("notification", packet.connection, packet.sent_ns),
            // No node has any; a replay says that the line has another kind.
            Body::Stream(_) | Body::Credit(_) => ("other", packet.connection, packet.sent_ns),
        };
        self.word(kind).number(connection).number(sent_ns);
        match &packet.body {
            Body::Message(message::Body::Data(data)) => {
                let flags = u8::from(data.ack_request) | u8::from(data.ends_message) << 1;
                self.number(data.sequence).number(data.payload).number(data.index);
                self.number(data.count).number(data.attempt).number(flags)
            }
            Body::Message(message::Body::Ack(ack)) => {
                self.number(ack.segment).number(ack.ce_bytes).number(ack.attempt)
            }
            Body::Message(message::Body::Nack(nack)) => {
                let [low, high] = nack.missing.halves();
                self.number(nack.base).number(low).number(high).number(nack.attempt);
                self.number(u8::from(nack.answers))
            }
            _ => self,
        }
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Delivered { connection, message } => {
                self.word("delivered").number(*connection).number(*message);
            }
            Event::Completed { connection, message } => {
                self.word("completed").number(*connection).number(*message);
            }
            Event::Sampled { connection, sample } => {
                self.word("sampled").number(*connection).span(sample.rtt.total);
                self.span(sample.rtt.serialization).span(sample.rtt.peer).span(sample.measured);
                self.number(sample.rate.as_bps());
            }
        }
    }
}

/// Appends a number with at least so many digits.
fn digits(text: &mut Vec<u8>, mut number: u64, least: usize) {
    let mut room = [b'0'; 20];
    let mut at = room.len();
    while number > 0 || room.len() - at < least {
        at -= 1;
        let digit = (number % 10) as u8;
        room[at] = b'0' + digit;
        number /= 10;
    }
    text.extend_from_slice(&room[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: Lines) -> String {
        let mut text = String::new();
        lines.end(&mut text);
        text
    }

    #[test]
    fn numbers_and_times_are_written_as_they_are() {
        let mut lines = Lines::new(1_000);
        let line = lines.begin("a").number(0_u8).number(u64::MAX).time(Time::from_ps(1_234_567));
        line.span(Span::from_ns(50)).outputs().maybe(None).maybe_time(Some(Time::from_ps(2_005)));
        lines.finish();
        let expected = "a 0 18446744073709551615 1234.567 50 > - 2.005\nend 1 whole\n";
        assert_eq!(written(lines), expected);
    }

    #[test]
    fn lines_end_where_the_room_does() {
        let mut lines = Lines::new(20);
        for number in [1_u64, 22, 333, 4] {
            lines.begin("line").number(number);
            lines.finish();
        }
        assert_eq!(written(lines), "line 1\nline 22\nend 2 full\n", "no line follows a gap");
    }

    #[test]
    fn long_recordings_are_in_pieces_that_are_not_copied() {
        let mut lines = Lines::new(usize::MAX);
        for number in 0..300_000_u64 {
            lines.begin("line").number(number);
            lines.finish();
        }
        assert!(lines.pieces.len() > 2);
        assert!(lines.pieces.iter().all(|piece| piece.capacity() <= PIECE + 64));
        let text = written(lines);
        let numbers = (0..300_000).map(|number| format!("line {number}"));
        assert!(text.lines().take(300_000).eq(numbers));
        assert!(text.ends_with("\nend 300000 whole\n"));
    }
}

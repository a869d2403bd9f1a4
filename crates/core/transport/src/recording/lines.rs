//! Lines of a recording, in memory of a bounded size.

use serde::{Deserialize, Serialize};

/// The bytes of one piece of memory: what is written is never copied to a larger one.
const PIECE: usize = 1 << 20;

/// Lines of JSON.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The line that is being written.
    line: Vec<u8>,
    pieces: Vec<Vec<u8>>,
    /// The bytes that may still be written.
    room: usize,
    count: u64,
    /// Whether a line had no room. Then none follows.
    is_full: bool,
}

/// The last line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Last {
    /// The number of calls.
    pub(super) calls: u64,
    /// Whether the recording has grown as long as it may, so that later calls are not in it.
    pub(super) full: bool,
}

impl Lines {
    /// No lines, with room for so many bytes.
    pub(super) fn new(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    /// Adds a line.
    pub(super) fn add(&mut self, value: &impl Serialize) {
        let line = &mut self.line;
        line.clear();
        // Memory takes everything.
        serde_json::to_writer(&mut *line, value).ok();
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

    /// Takes the line that was added since the last call, if there is one.
    pub(super) fn take(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(self.pieces.last()?).into_owned();
        self.pieces.truncate(1);
        self.pieces[0].clear();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Appends all lines to a text, with one that says how many they are.
    pub(super) fn end(mut self, text: &mut String) {
        let last = Last { calls: self.count, full: self.is_full };
        (self.room, self.is_full) = (usize::MAX, false);
        self.add(&last);
        for piece in &self.pieces {
            text.push_str(&String::from_utf8_lossy(piece));
        }
    }
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
    fn lines_end_where_the_room_does() {
        let mut lines = Lines::new(10);
        for number in [1_u64, 22, 333_333, 4] {
            lines.add(&number);
        }
        let expected = "1\n22\n{\"calls\":2,\"full\":true}\n";
        assert_eq!(written(lines), expected, "no line follows a gap");
    }

    #[test]
    fn long_recordings_are_in_pieces_that_are_not_copied() {
        let mut lines = Lines::new(usize::MAX);
        for number in 0..300_000_u64 {
            lines.add(&number);
        }
        assert!(lines.pieces.len() > 1);
        assert!(lines.pieces.iter().all(|piece| piece.capacity() <= PIECE + 64));
        let text = written(lines);
        let numbers = (0..300_000).map(|number| number.to_string());
        assert!(text.lines().take(300_000).eq(numbers));
        assert!(text.ends_with("\n{\"calls\":300000,\"full\":false}\n"));
    }
}

//! The state of every connection of an endpoint: not opened yet, open, finished, or closed.
//!
//! An open connection has a place, which is used again when it has finished. A finished one leaves
//! a few bytes.

/// A table with four bytes for each connection, and sixteen more for one that has received its only
/// message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    entries: Vec<u32>,
    received: Vec<Remains>,
    /// The indices of closed connections, which are used again.
    closed: Vec<u32>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Expected, and opened at its first use.
    Expected,
    /// Open, at this place.
    Open(u32),
    /// Finished: has sent its only message, and this many packets of it again.
    Sent(u32),
    /// Finished: has received its only message, and left remains of this number.
    Received(u32),
    /// Closed: nobody knows it.
    Closed,
}

/// The state that a receiver leaves when its only message was delivered: enough to answer packets
/// that come late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remains {
    pub(crate) delivered_bytes: u64,
    /// Messages: the marked payload for the next ACK. Streams: the arrival time of the newest
    /// segment.
    pub(crate) noted: u32,
    /// Streams: whether that segment was marked.
    pub(crate) ce: bool,
    /// Streams: whether a mark is being echoed.
    pub(crate) ece: bool,
    pub(crate) duplicates: u16,
}

/// The two highest bits of an entry, which are zero where it is a place.
const KIND: u32 = 3 << 30;
const SENT: u32 = 1 << 30;
const RECEIVED: u32 = 2 << 30;
const EXPECTED: u32 = u32::MAX;
const CLOSED: u32 = EXPECTED - 1;

/// The end of the numbers that an entry can hold beside its kind.
pub(crate) const END: u32 = SENT;

impl Directory {
    /// Adds a connection, and returns its index.
    #[expect(clippy::cast_possible_truncation, reason = "as many do not fit the memory")]
    pub(crate) fn add(&mut self) -> u32 {
        if let Some(index) = self.closed.pop() {
            return index;
        }
        self.entries.push(EXPECTED);
        self.entries.len() as u32 - 1
    }

    /// Adds this many connections, without room for others.
    pub(crate) fn expect(&mut self, connections: usize) {
        self.entries.reserve_exact(connections);
        self.entries.resize(self.entries.len() + connections, EXPECTED);
    }

    /// The place of an open connection; for any other, a number above all places.
    #[inline]
    pub(crate) fn place(&self, connection: u32) -> u32 {
        self.entries[connection as usize]
    }

    pub(crate) fn standing(&self, connection: u32) -> Standing {
        let entry = self.entries[connection as usize];
        match entry & KIND {
            0 => Standing::Open(entry),
            SENT => Standing::Sent(entry & !KIND),
            RECEIVED => Standing::Received(entry & !KIND),
            _ if entry == EXPECTED => Standing::Expected,
            _ => Standing::Closed,
        }
    }

    /// Closes a connection. The next one that is added gets its index.
    pub(crate) fn close(&mut self, connection: u32) {
        self.entries[connection as usize] = CLOSED;
        self.closed.push(connection);
    }

    /// Gives a connection a place.
    pub(crate) fn open(&mut self, connection: u32, place: u32) {
        assert!(place < END, "as many open connections do not fit the memory");
        self.entries[connection as usize] = place;
    }

    /// Marks a connection that has sent its only message, with fewer than [`END`] retransmissions.
    pub(crate) fn sent(&mut self, connection: u32, retransmissions: u32) {
        debug_assert!(retransmissions < END);
        self.entries[connection as usize] = SENT | retransmissions;
    }

    /// Marks a connection that has received its only message. `number` is that of its remains, if
    /// it has left any before.
    #[expect(clippy::cast_possible_truncation, reason = "as many do not fit the memory")]
    pub(crate) fn received(&mut self, connection: u32, remains: Remains, number: Option<u32>) {
        let number = number.unwrap_or_else(|| {
            self.received.push(remains);
            self.received.len() as u32 - 1
        });
        self.received[number as usize] = remains;
        self.entries[connection as usize] = RECEIVED | number;
    }

    /// The remains of a connection that has received its only message.
    pub(crate) fn remains(&self, number: u32) -> Remains {
        self.received[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_connection_stays_small() {
        assert!(size_of::<Remains>() <= 16, "{}", size_of::<Remains>());
    }

    #[test]
    fn standings_are_told_apart() {
        let mut directory = Directory::default();
        directory.expect(5);
        directory.open(1, END - 1);
        directory.sent(2, END - 1);
        let remains = Remains { delivered_bytes: 7, ..Remains::default() };
        directory.received(3, remains, None);
        directory.close(4);
        let standings = [0, 1, 2, 3, 4].map(|connection| directory.standing(connection));
        let open = Standing::Open(END - 1);
        let expected = [Standing::Expected, open, Standing::Sent(END - 1), Standing::Received(0)];
        assert_eq!((&standings[..4], standings[4]), (&expected[..], Standing::Closed));
        assert_eq!(directory.remains(0), remains);
        assert!([0, 2, 3, 4].iter().all(|&connection| directory.place(connection) >= END));
        assert_eq!([directory.add(), directory.add()], [4, 5], "the closed one, and a new one");
    }
}

//! The times at which datagrams left, from the error queue of a socket.

use super::control::int;
use super::mark::Stamp;
use super::sys::{self, MOST, Slot};
use std::io;
use std::os::fd::BorrowedFd;

/// The number of sends whose keys are remembered where the kernel counts them itself. The error
/// queue is shorter: its memory is bounded by the receive buffer.
const REMEMBERED: usize = 1 << 12;

/// The keys of sends in the order in which they left.
#[derive(Debug)]
pub(super) struct Keys {
    /// Whether the kernel takes keys. Then nothing is to be remembered.
    taken: bool,
    count: u32,
    last: Box<[u32]>,
}

impl Keys {
    pub(super) fn new(taken: bool) -> Self {
        let remembered = if taken { 0 } else { REMEMBERED };
        Self { taken, count: 0, last: vec![0; remembered].into() }
    }

    /// Remembers the key of a send that has left.
    pub(super) fn note(&mut self, key: u32) {
        if !self.taken {
            self.last[self.count as usize % REMEMBERED] = key;
            self.count = self.count.wrapping_add(1);
        }
    }

    /// The key of the send to which the kernel gave a number, if it is known.
    fn key(&self, number: u32) -> Option<u32> {
        if self.taken {
            return Some(number);
        }
        let age = self.count.wrapping_sub(number) as usize;
        (1..=REMEMBERED).contains(&age).then(|| self.last[number as usize % REMEMBERED])
    }
}

/// The time at which a send left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The key of the send ([`Transmit::stamp`](super::Transmit::stamp)).
    pub key: u32,
    /// The time at which its first datagram left.
    pub stamp: Stamp,
}

/// Reads the error queue until it is empty, and returns the number of stamps.
pub(super) fn read(
    socket: BorrowedFd<'_>,
    slots: &mut [Slot],
    keys: &Keys,
    mut tell: impl FnMut(Sent),
) -> io::Result<usize> {
    let mut count = 0;
    loop {
        let got = match sys::receive(socket, slots, &mut [], 0, libc::MSG_ERRQUEUE) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(count),
            got => got?,
        };
        for sent in slots[..got].iter().filter_map(|slot| sent(slot, keys)) {
            count += 1;
            tell(sent);
        }
        if got < slots.len().min(MOST) {
            return Ok(count);
        }
    }
}

/// The stamp in a message of the error queue: its time, and the number of its send.
fn sent(slot: &Slot, keys: &Keys) -> Option<Sent> {
    let (mut stamp, mut key) = (None, None);
    for message in slot.control.messages() {
        match message {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, value) => stamp = Stamp::of_control(value),
            (libc::IPPROTO_IP, libc::IP_RECVERR, value)
            | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, value) => key = keys.key(number(value)?),
            _ => {}
        }
    }
    Some(Sent { key: key?, stamp: stamp? })
}

/// The number of the send in a `sock_extended_err`: errno, origin, type, code, padding, info, data.
fn number(error: &[u8]) -> Option<u32> {
    let is_time = *error.get(4)? == libc::SO_EE_ORIGIN_TIMESTAMPING;
    let number = int(error.get(12..)?)?.cast_unsigned();
    (is_time && int(error.get(8..)?)? == LEFT).then_some(number)
}

/// `SCM_TSTAMP_SND`: the datagram was handed to the device, or left it.
const LEFT: i32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_the_kernels_count() {
        let mut keys = Keys::new(false);
        for key in 0..10_000 {
            keys.note(key * 7);
        }
        assert_eq!(keys.key(9_999), Some(69_993));
        assert_eq!(keys.key(10_000 - 4_096), Some((10_000 - 4_096) * 7));
        assert_eq!(keys.key(10_000 - 4_097), None, "forgotten");
        assert_eq!(keys.key(10_000), None, "not sent");
        keys.count = u32::MAX;
        keys.note(1);
        keys.note(2);
        assert_eq!((keys.key(u32::MAX), keys.key(0)), (Some(1), Some(2)), "the count goes round");
        assert_eq!(Keys::new(true).key(77), Some(77));
    }

    #[test]
    fn other_errors_are_no_times() {
        let mut error = [0; 16];
        error[4] = libc::SO_EE_ORIGIN_TIMESTAMPING;
        error[12] = 9;
        assert_eq!(number(&error), Some(9));
        error[8] = 1;
        assert_eq!(number(&error), None, "the time of the scheduler");
        error[4] = 2;
        assert_eq!(number(&error), None, "ICMP");
        assert_eq!(number(&error[..12]), None);
    }
}

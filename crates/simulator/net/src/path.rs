//! Paths: the ports by which a packet leaves switches, in one word of its frame.

use std::num::NonZeroU64;

/// The ports by which a packet leaves switches, as far as its host knows them.
///
/// Known ports are bytes, from the next one on: each is the port's number plus one, and after the
/// last comes a byte of ones. Switches would find the same ports in their tables, but the tables of
/// many switches are not in the processor's caches. Where the host does not know the ports, the
/// byte of ones comes first, followed by the label of the connection's direction, which switches
/// hash. A lesser byte in its place is a marker: of packets that are sprayed, that all take the
/// first port, or that have yet to reach their intermediate group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(NonZeroU64);

/// The byte before the label.
const END: u64 = 0xff;
/// The byte before the label of a packet that has yet to reach its intermediate group.
const DETOUR: u64 = 0xfe;
/// The byte before the label of a packet that takes a random port at each switch.
const SPRAYED: u64 = 0xfd;
/// The byte before the label of a packet that takes the first of several ports at each switch.
const FIRST: u64 = 0xfc;

impl Path {
    /// The path of a frame that no switch forwards.
    pub const UNKNOWN: Self = Self(NonZeroU64::MAX);

    /// An unknown path: switches look into their tables, and choose by this label where there are
    /// several ports.
    pub const fn labelled(label: u64) -> Self {
        match NonZeroU64::new(label << 8 | END) {
            Some(bits) => Self(bits),
            None => Self::UNKNOWN,
        }
    }

    /// The path of a connection that goes through an intermediate group (Valiant), by its label.
    pub const fn detour(label: u64) -> Self {
        match NonZeroU64::new(label << 8 | DETOUR) {
            Some(bits) => Self(bits),
            None => Self::UNKNOWN,
        }
    }

    /// The path of packets that take a random one of several ports at each switch.
    pub const fn sprayed(label: u64) -> Self {
        match NonZeroU64::new(label << 8 | SPRAYED) {
            Some(bits) => Self(bits),
            None => Self::UNKNOWN,
        }
    }

    /// The path of packets that take the first of several ports at each switch.
    pub const fn first(label: u64) -> Self {
        match NonZeroU64::new(label << 8 | FIRST) {
            Some(bits) => Self(bits),
            None => Self::UNKNOWN,
        }
    }

    /// Whether the packet takes a random one of several ports.
    #[inline]
    pub const fn is_sprayed(self) -> bool {
        self.0.get() & 0xff == SPRAYED
    }

    /// Whether the packet takes the first of several ports.
    #[inline]
    pub const fn is_first(self) -> bool {
        self.0.get() & 0xff == FIRST
    }

    /// Whether the packet has yet to reach its intermediate group.
    #[inline]
    pub const fn is_detour(self) -> bool {
        self.0.get() & 0xff == DETOUR
    }

    /// The label of an unknown path.
    #[inline]
    pub const fn label(self) -> u64 {
        self.0.get() >> 8
    }

    /// The path of a number that [`bits`](Self::bits) made.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        NonZeroU64::new(bits).map_or(Self::UNKNOWN, Self)
    }

    /// The path as a number above zero.
    pub const fn bits(self) -> u64 {
        self.0.get()
    }

    /// The path by these ports; `otherwise` where they do not fit a word.
    pub fn of(ports: &[u16], otherwise: Self) -> Self {
        let known = ports.len() <= 8 && ports.iter().all(|&port| u64::from(port) + 1 < FIRST);
        let before = |rest: u64, &port: &u16| rest << 8 | (u64::from(port) + 1);
        let bits = ports.iter().rfold(u64::MAX, before);
        if known { Self::from_bits(bits) } else { otherwise }
    }

    /// The next port, if it is known.
    #[inline]
    pub const fn peek(self) -> Option<u16> {
        let byte = self.0.get() & 0xff;
        if byte >= FIRST { None } else { Some(byte as u16 - 1) }
    }

    /// Takes the next port off the path, if it is known.
    #[inline]
    pub const fn next(&mut self) -> Option<u16> {
        let port = self.peek();
        if port.is_some()
            && let Some(rest) = NonZeroU64::new(self.0.get() >> 8 | END << 56)
        {
            self.0 = rest;
        }
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_walked_port_by_port() {
        let ports = [0, 250, 7, 0, 0, 0, 0, 12];
        for length in 0..=8 {
            let mut path = Path::of(&ports[..length], Path::labelled(7));
            for &port in &ports[..length] {
                assert_eq!((path.peek(), path.next()), (Some(port), Some(port)));
            }
            assert_eq!((path.next(), path), (None, Path::UNKNOWN));
        }
        for otherwise in [Path::labelled(7), Path::detour(7), Path::sprayed(7), Path::first(7)] {
            for ports in [&[1, 251][..], &[1; 9]] {
                let mut path = Path::of(ports, otherwise);
                assert_eq!((path.next(), path.next(), path.label()), (None, None, 7));
                assert_eq!(path, otherwise);
            }
        }
        assert!(Path::detour(7).is_detour() && !Path::labelled(7).is_detour());
        assert!(Path::sprayed(7).is_sprayed() && !Path::first(7).is_sprayed());
        assert!(Path::first(7).is_first() && !Path::detour(7).is_first());
    }
}

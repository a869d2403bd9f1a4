//! Damage to datagrams, drawn from a seed.

use std::time::Instant;

use incast_udp::wire::{LaneNumber, MOST_COUNT};

/// A generator of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number below `end`.
    #[expect(clippy::cast_possible_truncation, reason = "takes the upper half")]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number, of which the ends of its range and small ones come often.
    pub(crate) fn number(&mut self) -> u64 {
        let small = self.bits() % 300;
        match self.below(4) {
            0 => small,
            1 => u64::MAX - small,
            2 => 1 << (small % 64),
            _ => self.bits(),
        }
    }

    /// A number that counts up, of which the ends of its range come often.
    pub(crate) fn count(&mut self) -> u64 {
        self.number() & MOST_COUNT
    }

    /// A lane.
    pub(crate) fn lane(&mut self) -> LaneNumber {
        LaneNumber::ALL[self.below(LaneNumber::ALL.len())]
    }
}

/// Changes a datagram in a few places: bits, bytes, numbers, its length, pieces of it at other
/// places, random bytes, and a piece of another datagram.
pub(crate) fn damage(random: &mut Random, datagram: &mut Vec<u8>, other: &[u8]) {
    const BYTES: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 31, 32, 33, 127, 128, 129, 254, 255];
    for _ in 0..=random.below(4) {
        let length = datagram.len().max(1);
        datagram.resize(length, 0);
        let at = random.below(length);
        match random.below(9) {
            0 | 1 => datagram[at] ^= 1 << random.below(8),
            2 | 3 => datagram[at] = BYTES[random.below(BYTES.len())],
            4 => {
                let to = &mut datagram[at..length.min(at + 8)];
                to.copy_from_slice(&random.number().to_be_bytes()[..to.len()]);
            }
            5 => datagram.truncate(at),
            7 => {
                let end = length.min(at + random.below(200));
                datagram[at..end].fill_with(|| random.bits().to_be_bytes()[0]);
            }
            6 => {
                let from = random.below(length);
                let count = random.below(64).min(length - from).min(length - at);
                datagram.copy_within(from..from + count, at);
            }
            _ => {
                let start = random.below(other.len() + 1);
                let end = start + random.below(other.len() - start + 1).min(64);
                let at = at.min(datagram.len());
                datagram.splice(at..at, other[start..end].iter().copied());
            }
        }
    }
}

/// Calls `datagram` as often as the environment variable `INCAST_FUZZ_DATAGRAMS` says, or
/// `default` times, with the same random numbers each time.
pub(crate) fn fuzz(default: u64, mut datagram: impl FnMut(&mut Random)) {
    let count = std::env::var("INCAST_FUZZ_DATAGRAMS");
    let count = count.map_or(default, |text| text.parse().unwrap());
    let (start, mut random) = (Instant::now(), Random(1));
    for _ in 0..count {
        datagram(&mut random);
    }
    eprintln!("{count} datagrams in {:.1} s", start.elapsed().as_secs_f64());
}

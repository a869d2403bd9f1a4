//! The processor time that handshakes may take, and each source's part of it.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use incast_cc::{Span, Time};

/// Handshakes may take one part in this many of a processor's time.
const SHARE: u64 = 4;
/// A source may take one part in this many of the handshakes' time, while that is scarce.
const PART: u64 = 16;
/// The time that handshakes may take at once, after a pause.
const DEPTH: Span = Span::from_ms(200);
/// The time that a source may take at once, while time is scarce.
const DEPTH_OF_SOURCE: Span = Span::from_ms(10);
/// The most sources that are told apart.
const MOST_SOURCES: u32 = 4_096;

/// The part of an address that its owner cannot choose at will: all of IPv4's 32 bits, and the
/// network's 64 bits of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source(u64);

impl Source {
    /// The source of an address.
    pub(crate) fn of(address: SocketAddr) -> Self {
        match address.ip().to_canonical() {
            // No network of IPv6 has these bits.
            IpAddr::V4(ip) => Self(u64::from(ip.to_bits())),
            IpAddr::V6(ip) => Self((ip.to_bits() >> 64) as u64),
        }
    }
}

/// Processor time that is saved up at a rate, up to a depth, and spent. A handshake is charged when
/// its time is known, so that there may be debts.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Nanoseconds.
    left: i64,
    at: Time,
}

impl Budget {
    const fn full(now: Time, depth: Span) -> Self {
        Self { left: ns(depth), at: now }
    }

    /// Saves up one part in `parts` of the time since the last call.
    fn save(&mut self, now: Time, parts: u64, depth: Span) {
        let more = now.since(self.at) / parts;
        // A part below a nanosecond is saved up with the next.
        if more.as_ns() > 0 {
            self.at = now;
            self.left = self.left.saturating_add(ns(more)).min(ns(depth));
        }
    }

    const fn has(&self, least: Span) -> bool {
        self.left > ns(least)
    }

    fn spend(&mut self, time: Span) {
        self.left = self.left.saturating_sub(ns(time));
    }
}

const fn ns(span: Span) -> i64 {
    span.as_ns().cast_signed()
}

/// The bound on the processor time of handshakes. While more than half of what may be saved up is
/// there, all hellos are computed; below, those of sources that have taken little lately; and none
/// when all is spent. A hello that is not computed is as if it were lost, and comes again.
pub(super) struct Admission {
    all: Budget,
    sources: HashMap<Source, Budget>,
}

impl Admission {
    pub(super) fn new() -> Self {
        Self { all: Budget::full(Time::ZERO, DEPTH), sources: HashMap::new() }
    }

    /// Whether a handshake of an address may be computed now.
    pub(super) fn admits(&mut self, now: Time, from: SocketAddr) -> bool {
        self.all.save(now, SHARE, DEPTH);
        if self.all.has(DEPTH / 2) {
            return true;
        }
        let source = self.source(now, from);
        let source_has_time = source.is_some_and(|source| source.has(Span::ZERO));
        self.all.has(Span::ZERO) && source_has_time
    }

    /// Takes note of the time that a handshake of an address took.
    pub(super) fn took(&mut self, now: Time, from: SocketAddr, time: Span) {
        self.all.spend(time);
        if let Some(source) = self.source(now, from) {
            source.spend(time);
        }
    }

    fn is_full(&self) -> bool {
        self.sources.len() >= MOST_SOURCES as usize
    }

    /// The budget of an address; [`None`] if there are too many sources to tell apart.
    fn source(&mut self, now: Time, from: SocketAddr) -> Option<&mut Budget> {
        let save = |budget: &mut Budget| budget.save(now, SHARE * PART, DEPTH_OF_SOURCE);
        let source = Source::of(from);
        if self.is_full() && !self.sources.contains_key(&source) {
            self.sources.retain(|_, budget| {
                save(budget);
                budget.left < ns(DEPTH_OF_SOURCE)
            });
            if self.is_full() {
                return None;
            }
        }
        let full = || Budget::full(now, DEPTH_OF_SOURCE);
        let budget = self.sources.entry(source).or_insert_with(full);
        save(budget);
        Some(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> SocketAddr {
        SocketAddr::from((number.to_be_bytes(), 7_000))
    }

    /// The handshakes of 100 us that are admitted in a second, of sources that ask without a pause,
    /// in the order of a generator.
    fn admitted(admission: &mut Admission, start: Time, sources: &[u32]) -> Vec<u32> {
        let cost = Span::from_us(100);
        let (mut now, mut counts) = (start, vec![0; sources.len()]);
        let mut state = 1_u32;
        while now < start + Span::from_secs(1) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 16) as usize % sources.len();
            now += Span::from_us(1);
            if admission.admits(now, address(sources[at])) {
                now += cost;
                admission.took(now, address(sources[at]), cost);
                counts[at] += 1;
            }
        }
        counts
    }

    #[test]
    fn a_flood_of_one_source_gets_its_part_and_leaves_time_for_others() {
        let mut admission = Admission::new();
        admitted(&mut admission, Time::ZERO, &[1]);
        // A quarter of the time is 2,500 handshakes of 100 us; one part in 16 of it, 156. While
        // more than half is saved up, a source alone gets all that is saved.
        let flood = admitted(&mut admission, Time::ZERO + Span::from_secs(1), &[1])[0];
        assert!((2_400..2_700).contains(&flood), "{flood}");
        let later = Time::ZERO + Span::from_secs(2);
        let other = admission.admits(later, address(2));
        assert!(other, "another source is admitted at once");
    }

    #[test]
    fn many_sources_share_what_there_is() {
        let mut admission = Admission::new();
        let sources: Vec<u32> = (1..=63).collect();
        let first: u32 = admitted(&mut admission, Time::ZERO, &sources).iter().sum();
        let then = admitted(&mut admission, Time::ZERO + Span::from_secs(1), &sources);
        // 200 ms that were saved up, and a quarter of a second.
        assert!((4_000..5_100).contains(&first), "{first}");
        assert!(then.iter().sum::<u32>() < 2_700, "{then:?}");
        assert!(then.iter().all(|&count| count > 0), "{then:?}");
    }

    #[test]
    fn sources_are_bounded_and_forgotten() {
        let (mut admission, cost) = (Admission::new(), Span::from_ms(1));
        for number in 0..2 * MOST_SOURCES {
            admission.took(Time::ZERO, address(number), cost);
        }
        assert_eq!(admission.sources.len(), MOST_SOURCES as usize);
        let later = Time::ZERO + Span::from_secs(60);
        admission.took(later, address(1 << 30), cost);
        assert_eq!(admission.sources.len(), 1);
    }

    #[test]
    fn hosts_of_one_network_of_ipv6_are_one_source() {
        let [a, b, c, four, mapped] = [
            "[2001:db8::1]:1",
            "[2001:db8::2]:2",
            "[2001:db8:0:1::1]:1",
            "10.0.0.1:5",
            "[::ffff:10.0.0.1]:6",
        ]
        .map(|text| Source::of(text.parse().unwrap()));
        assert!(a == b && a != c && four == mapped && four != a);
    }
}

//! The ideal completion time: how long a message takes when it has the network to itself.
//!
//! The sender puts the packets of the message on its link one after the other, from the moment of
//! posting, while nothing else is in the network. Every switch stores and forwards each packet, so
//! packet i leaves link j at
//!
//! ```text
//! D(i, j) = max(D(i, j-1) + delay(j-1), D(i-1, j)) + bytes(i) / rate(j),
//! ```
//!
//! and the message is complete when the last bit of the last packet has arrived. A port with a
//! token bucket (`switch.burst`) lets a packet go when there are tokens for all of it, and it
//! leaves at the speed of the device. The bucket is full at the beginning.
//!
//! * Headers count. Windows, slow start, handshakes, acknowledgements and later changes of a link's
//!   rate do not.
//! * Packets are full except the last one of each segment. A segment is as long as the sender cuts
//!   it: `transport.segment`, within a burst of the algorithm. Where the size of bursts varies, the
//!   ideal is a lower bound over all cuts.
//! * For a read, the request (one packet) comes first, on its own path.
//!
//! A slowdown is a completion time over the ideal one. It is at least 1, with two exceptions: where
//! an event has made a link faster or changed routes, and where packets are sprayed. The ideal
//! counts one path; a message that takes several at once has more than the rate of one path, and
//! may have faster ones.
//!
//! The modules inside have the references for all messages of a run: [`fluid`], [`greedy`],
//! [`srpt`].

pub(crate) mod fabric;
pub(crate) mod fluid;
pub(crate) mod greedy;
mod link;
pub(crate) mod srpt;

use incast_cc::{Bytes, Rate, Span};

pub(crate) use link::Link;
use link::Passed;

/// The packets after which the rest of a message keeps a steady pace: more than a segment has, more
/// than one packet on each link.
const TAIL: usize = 160;

/// The most packets that pass token buckets one by one. A burst is little beside longer messages.
const MOST_PACKETS: usize = 100_000;

/// How messages are cut into packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The most payload of a packet, and the bytes that headers add.
    pub(crate) payload: Bytes,
    pub(crate) header: Bytes,
    /// The rule for the ends of segments.
    pub(crate) segments: Segments,
    /// The payload of a request.
    pub(crate) request: Bytes,
}

/// The payload after which a new packet begins in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segments {
    /// No segments: in streams.
    None,
    /// Segments of this size.
    Of(Bytes),
    /// Segments of a full packet or more, whose size varies with the algorithm.
    Any,
}

impl Cut {
    /// The time of a message of `bytes` over these links.
    pub(crate) fn ideal(&self, bytes: Bytes, links: &[Link]) -> Span {
        let has_bucket = links.iter().any(|link| link.burst.is_some());
        let one_by_one = if has_bucket { MOST_PACKETS } else { TAIL };
        let sizes = self.tail_sizes(bytes.get(), one_by_one);
        let steady = bytes.get() - sizes.iter().sum::<u64>();
        if self.segments == Segments::Any || (has_bucket && steady > 0) {
            return self.least(bytes, links);
        }
        let mut passed = vec![Passed::default(); links.len()];
        if steady > 0 {
            self.steady(steady, links, &mut passed);
        }
        for &payload in &sizes {
            let wire = Bytes::new(payload) + self.header;
            let mut ready = Span::ZERO;
            for (passed, link) in passed.iter_mut().zip(links) {
                link.pass(passed, ready, wire);
                ready = passed.end + link.delay;
            }
        }
        links.last().zip(passed.last()).map_or(Span::ZERO, |(link, last)| last.end + link.delay)
    }

    /// The time of a request over the first links, and of its answer over the others.
    pub(crate) fn ideal_read(&self, bytes: Bytes, request: &[Link], answer: &[Link]) -> Span {
        self.ideal(self.request, request) + self.ideal(bytes, answer)
    }

    /// A lower bound of the time over all cuts into segments. Some link carries the whole message,
    /// in as few packets as possible. Before that, the first packet, which is full, passes the
    /// links before it; afterwards, the last packet, of at least a byte, passes the links behind
    /// it. Full packets take no longer than this bound where no link behind the slowest one is
    /// faster.
    fn least(&self, bytes: Bytes, links: &[Link]) -> Span {
        let packets = bytes.get().div_ceil(self.payload.get()).max(1);
        let first = bytes.min(self.payload) + self.header;
        let last = if packets > 1 { Bytes::new(1) } else { bytes } + self.header;
        let all = bytes + self.header * packets;
        let mut after: Span = links.iter().map(|link| link.packet(last)).sum();
        let (mut before, mut most) = (Span::ZERO, Span::ZERO);
        for link in links {
            after = after.saturating_sub(link.packet(last));
            most = most.max(before + link.packets(all) + after);
            before += link.packet(first);
        }
        most + links.iter().map(|link| link.delay).sum()
    }

    /// The payload of a segment of a message of `bytes`.
    fn segment(&self, bytes: u64) -> u64 {
        let Segments::Of(segment) = self.segments else { return bytes.max(1) };
        segment.get().min(bytes.max(1))
    }

    /// The payloads of the last packets, `most` or a segment more: of a short message all, of a
    /// longer one a whole number of segments and the rest, so that only whole segments precede.
    fn tail_sizes(&self, bytes: u64, most: usize) -> Vec<u64> {
        let (full, segment) = (self.payload.get(), self.segment(bytes));
        let per_segment = segment.div_ceil(full);
        let segments = bytes / segment;
        let kept = if self.segments == Segments::None {
            return sizes(bytes.min(full * most as u64 + bytes % full), full);
        } else {
            (most as u64).div_ceil(per_segment).min(segments)
        };
        let mut all = Vec::new();
        for _ in 0..kept {
            all.extend(sizes(segment, full));
        }
        all.extend(sizes(bytes % segment, full));
        all
    }

    /// Computes when the last of many packets, of `bytes` in all, has left each link. The first
    /// packet reaches the link, and then the slowest link so far sets the pace.
    fn steady(&self, bytes: u64, links: &[Link], passed: &mut [Passed]) {
        let (full, segment) = (self.payload.get(), self.segment(bytes));
        let on_wire = |payload| Bytes::new(payload) + self.header;
        let first = on_wire(full);
        // Packet by packet, since the time of each is a whole number of picoseconds.
        let all_at = |rate: Rate| {
            let time_for = |bytes: u64| {
                let rest = bytes % full;
                let last = if rest > 0 { rate.time_for(on_wire(rest)) } else { Span::ZERO };
                rate.time_for(first) * (bytes / full) + last
            };
            time_for(segment) * (bytes / segment) + time_for(bytes % segment)
        };
        let (mut reached, mut slowest) = (Span::ZERO, Rate::MAX);
        for (passed, link) in passed.iter_mut().zip(links) {
            // The first packet passes the faster links before the slowest one, a full packet those
            // after it.
            slowest = slowest.min(link.rate);
            reached += link.rate.time_for(first);
            passed.end = reached + all_at(slowest).saturating_sub(slowest.time_for(first));
            reached += link.delay;
        }
    }
}

/// The payloads of full packets, and the rest.
fn sizes(bytes: u64, full: u64) -> Vec<u64> {
    let count = bytes / full;
    let mut sizes: Vec<_> = (0..count).map(|_| full).collect();
    if !bytes.is_multiple_of(full) {
        sizes.push(bytes % full);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use incast_cc::parts::random::Random;

    use super::*;

    const CUT: Cut = Cut {
        payload: Bytes::new(1_460),
        header: Bytes::new(40),
        segments: Segments::Of(Bytes::from_kb(64)),
        request: Bytes::new(32),
    };

    fn links(gbps: &[u64]) -> Vec<Link> {
        gbps.iter().map(|&gbps| Link::plain(Rate::from_gbps(gbps), Span::from_us(1))).collect()
    }

    #[test]
    fn one_packet_is_stored_and_forwarded_at_each_hop() {
        // 1,500 B at 10, 40, 40 and 10 Gb/s, and four microseconds of propagation.
        let ideal = CUT.ideal(Bytes::new(1_460), &links(&[10, 40, 40, 10]));
        assert_eq!(ideal, Span::from_ns(1_200 + 300 + 300 + 1_200 + 4_000));
    }

    #[test]
    fn packets_follow_each_other_at_the_rate_of_the_slowest_link() {
        // Ten full packets: the first over all links, nine more over one of them.
        let ideal = CUT.ideal(Bytes::new(14_600), &links(&[10, 40, 10]));
        assert_eq!(ideal, Span::from_ns(1_200 + 300 + 1_200 + 3_000 + 9 * 1_200));
        // A read: a request of 72 B first.
        let (there, back) = (links(&[10, 40, 10]), links(&[10, 20, 10]));
        let read = CUT.ideal_read(Bytes::new(14_600), &back, &there);
        let request = Span::from_ps(57_600 + 28_800 + 57_600) + Span::from_us(3);
        assert_eq!(read, ideal + request);
    }

    /// The recurrence, packet by packet, also for messages that are too long for it as a rule.
    fn eager(cut: &Cut, bytes: u64, links: &[Link]) -> Span {
        eager_in(cut, bytes, links, || cut.segment(u64::MAX))
    }

    /// The recurrence with segments of the sizes that `segment` gives, one after the other.
    fn eager_in(cut: &Cut, bytes: u64, links: &[Link], mut segment: impl FnMut() -> u64) -> Span {
        let mut ends = vec![Span::ZERO; links.len()];
        let mut left = bytes;
        while left > 0 {
            let segment = left.min(segment());
            left -= segment;
            for payload in sizes(segment, cut.payload.get()) {
                let mut ready = Span::ZERO;
                for (end, link) in ends.iter_mut().zip(links) {
                    *end = (*end).max(ready) + link.rate.time_for(Bytes::new(payload) + cut.header);
                    ready = *end + link.delay;
                }
            }
        }
        ends[ends.len() - 1] + links[links.len() - 1].delay
    }

    #[test]
    fn no_cut_takes_less_than_the_least() {
        let cut = Cut { segments: Segments::Any, ..CUT };
        let mut random = Random::new(3);
        let mut exact = 0;
        for _ in 0..20_000 {
            let links: Vec<_> = (0..=random.below(6))
                .map(|_| {
                    let rate = Rate::from_gbps([1, 3, 10, 25, 40, 100][random.below(6) as usize]);
                    Link::plain(rate, Span::from_ns(random.below(2_000).into()))
                })
                .collect();
            let bytes = u64::from(
                [1 + random.below(4_500), 1 + random.below(70_000)][random.below(2) as usize],
            );
            // A segment that is one packet, a few, a few and some odd bytes, or the whole message.
            let kinds = random.below(4);
            let took = eager_in(&cut, bytes, &links, || match random.below(kinds + 1) {
                0 => 1_460,
                1 => 1_460 * u64::from(1 + random.below(4)),
                2 => 1_460 + u64::from(random.below(3_000)),
                _ => 64_000,
            });
            let least = cut.ideal(Bytes::new(bytes), &links);
            assert!(least <= took, "{bytes} B over {links:?}: {took:?}, not {least:?} or more");
            exact += u32::from(least == took);
        }
        assert!(exact > 5_000, "or it says little: {exact}");
    }

    #[test]
    fn the_least_is_that_of_full_packets_where_no_faster_link_follows() {
        let packets = Cut { segments: Segments::Of(CUT.payload), ..CUT };
        let cut = Cut { segments: Segments::Any, ..CUT };
        for gbps in [&[10, 10][..], &[40, 10, 10], &[100, 40, 10, 10], &[10]] {
            let links = links(gbps);
            for bytes in [1, 1_460, 64_000, 1_000_000] {
                let bytes = Bytes::new(bytes);
                assert_eq!(cut.ideal(bytes, &links), packets.ideal(bytes, &links), "{gbps:?}");
            }
        }
    }

    #[test]
    fn long_messages_take_what_the_recurrence_says() {
        let stream = Cut { segments: Segments::None, ..CUT };
        let packets = Cut { segments: Segments::Of(CUT.payload), ..CUT };
        for gbps in
            [&[10, 10][..], &[10, 40, 40, 10], &[100, 40, 10, 40], &[10, 40], &[40, 10], &[3, 7, 3]]
        {
            let links = links(gbps);
            for bytes in [1, 64_000, 64_001, 1_000_000, 6_400_000, 9_999_999, 10_000_001] {
                for cut in [CUT, stream, packets] {
                    let (got, wanted) =
                        (cut.ideal(Bytes::new(bytes), &links), eager(&cut, bytes, &links));
                    assert_eq!(got, wanted, "{bytes} B over {gbps:?}");
                }
            }
        }
    }

    #[test]
    fn long_messages_through_buckets_take_their_least_time_or_a_little_more() {
        // The last two ports pass 100 KB at once. Behind the most packets that pass one by one, the
        // ideal is a bound.
        let mut links = links(&[100, 40, 10]);
        for link in &mut links[1..] {
            link.burst = Some(Bytes::from_kb(100));
        }
        for packets in [MOST_PACKETS as u64 - 2_000, MOST_PACKETS as u64 + 2_000] {
            let bytes = packets * 1_460;
            let mut passed = vec![Passed::default(); links.len()];
            for payload in CUT.tail_sizes(bytes, usize::MAX) {
                let mut ready = Span::ZERO;
                for (passed, link) in passed.iter_mut().zip(&links) {
                    link.pass(passed, ready, Bytes::new(payload) + CUT.header);
                    ready = passed.end + link.delay;
                }
            }
            let (took, ideal) =
                (passed[2].end + Span::from_us(1), CUT.ideal(Bytes::new(bytes), &links));
            let is_exact = packets < MOST_PACKETS as u64;
            assert_eq!(ideal == took, is_exact, "{packets}: {ideal:?}, {took:?}");
            assert!(ideal <= took && ideal.as_ps() * 1_001 > took.as_ps() * 1_000, "{ideal:?}");
        }
    }
}

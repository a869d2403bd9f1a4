//! The receiving half of a stream: reassembly, acknowledgements, ECN echo.

use std::collections::BTreeMap;

use incast_cc::Time;

use super::ranges::Ranges;
use crate::config;
use crate::config::stream::{Config, EcnEcho};
use crate::connection::Delivered;
use crate::directory::Remains;
use crate::half::Receiving;
use crate::packet::stream::{Ack, Block, Body, SACK_BLOCKS, Segment};
use crate::packet::{Header, MARKED_END, clock_ns};

/// The receiving half of one stream.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The number of segments that one ACK waits for.
    delayed_ack: u16,
    /// The end of the data that has arrived in order.
    next: u64,
    /// The ranges that have arrived beyond gaps.
    ahead: Ranges,
    /// A byte of each of the ranges that grew last, the newest first.
    recent: [u64; SACK_BLOCKS],
    /// Messages that end beyond a gap, by their end, with what they ask for.
    ends: BTreeMap<u64, Delivered>,
    /// The number of segments that have arrived in order since the last ACK.
    unacknowledged: u16,
    /// The latest time for the ACK of the oldest of them.
    ack_at: Option<Time>,
    /// The marked payload since the last ACK.
    ce_bytes: u32,
    /// Whether the newest segment was marked (RFC 8257, DCTCP.CE).
    ce: bool,
    /// Classic echo: whether a mark is echoed, until the sender answers it.
    ece: bool,
    /// Whether a segment has brought nothing new since the last ACK.
    duplicate: bool,
    /// The sender's epoch that the next ACK echoes.
    echo: u8,
    arrived_ns: u32,
    duplicates: u64,
}

/// A number of segments, in the width that a receiver has for it.
fn few(segments: u32) -> u16 {
    u16::try_from(segments).unwrap_or(u16::MAX)
}

impl Receiving for Receiver {
    type Body = Body;

    const DELAYS: bool = true;

    fn new(delayed_ack: u32) -> Self {
        Self { delayed_ack: few(delayed_ack), ..Self::default() }
    }

    /// A receiver whose only message has been delivered and acknowledged.
    fn revived(delayed_ack: u32, remains: &Remains) -> Self {
        Self {
            delayed_ack: few(delayed_ack),
            next: remains.delivered_bytes,
            ce: remains.ce,
            ece: remains.ece,
            arrived_ns: remains.noted,
            duplicates: u64::from(remains.duplicates),
            ..Self::default()
        }
    }

    fn remains(&self) -> Option<Remains> {
        let acknowledged = self.unacknowledged == 0 && self.ack_at.is_none() && self.ce_bytes == 0;
        let rests =
            acknowledged && !self.duplicate && self.ahead.is_empty() && self.ends.is_empty();
        let duplicates = self.duplicates.try_into().ok()?;
        rests.then_some(Remains {
            delivered_bytes: self.next,
            noted: self.arrived_ns,
            ce: self.ce,
            ece: self.ece,
            duplicates,
        })
    }

    #[inline]
    fn take(
        &mut self,
        now: Time,
        (body, marked): (&Body, bool),
        config: &config::Config,
        mut reply: impl FnMut(Body),
        deliver: impl FnMut(Delivered),
    ) {
        if let Body::Segment(segment) = body {
            let reply = |ack| reply(Body::Ack(ack));
            self.handle(now, segment, marked, &config.stream, reply, deliver);
        }
    }

    fn alarm(&self) -> Option<Time> {
        self.ack_at
    }

    fn on_timer(&mut self, now: Time, config: &config::Config) -> Option<Body> {
        self.ack_at.is_some_and(|at| at <= now).then(|| Body::Ack(self.ack(&config.stream)))
    }

    fn expects(&self) -> u64 {
        self.next
    }

    fn delivered_bytes(&self) -> u64 {
        self.next + self.ahead.bytes()
    }

    fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

impl Receiver {
    /// Whether a segment is the next one and ends no message, and the ACK that follows from it can
    /// wait or say all there is to say.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    pub(crate) fn is_plain(&self, header: &Header, marked: bool) -> bool {
        header.sequence == self.next as u32
            && self.ahead.is_empty()
            && !self.duplicate
            && !header.has(Header::ENDS_MESSAGE)
            && self.ce_bytes < MARKED_END / 2
            && (marked == self.ce || self.unacknowledged == 0)
    }

    /// Takes in a segment that [is plain](Self::is_plain), as [`handle`](Self::handle) would.
    /// Returns the ACK that leaves now, without the peer's index.
    #[expect(clippy::inline_always, reason = "in the way of every segment")]
    #[inline(always)]
    pub(crate) fn take_plain(
        &mut self,
        now: Time,
        header: &Header,
        marked: bool,
        config: &Config,
    ) -> Option<Header> {
        let changed = config.echo == EcnEcho::Exact && marked != self.ce;
        self.ce = marked;
        if marked {
            self.ece = true;
            self.ce_bytes = self.ce_bytes.saturating_add(u32::from(header.payload));
        }
        self.arrived_ns = clock_ns(now);
        if self.unacknowledged == 0 {
            self.echo = header.highest();
        }
        self.next += u64::from(header.payload);
        self.unacknowledged += 1;
        if self.unacknowledged < self.delayed_ack && !changed {
            self.ack_at = self.ack_at.or(Some(now + config.delayed_ack_timeout));
            return None;
        }
        (self.unacknowledged, self.ack_at) = (0, None);
        let ce_bytes = std::mem::take(&mut self.ce_bytes);
        Some(Header::ack(self.next, self.arrived_ns, ce_bytes, self.ece, self.echo))
    }

    /// Takes in a segment. `reply` gets the ACKs that leave now, `deliver` the messages that are
    /// now complete.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        segment: &Segment,
        marked: bool,
        config: &Config,
        mut reply: impl FnMut(Ack),
        mut deliver: impl FnMut(Delivered),
    ) {
        if segment.opens {
            // A SYN may come twice or late, and must take nothing from the ACK that waits.
            let echo = segment.epoch;
            return reply(Ack { opens: true, echo, ..self.clone().ack(config) });
        }
        // RFC 8257, section 3.2: a change is acknowledged at once, and apart from what arrived
        // before.
        let changed = config.echo == EcnEcho::Exact && marked != self.ce;
        self.ce = marked;
        if changed && self.unacknowledged > 0 {
            reply(self.ack(config));
        }
        if segment.cwr {
            self.ece = false;
        }
        if marked {
            self.ece = true;
            self.ce_bytes = self.ce_bytes.saturating_add(segment.payload);
        }
        self.arrived_ns = clock_ns(now);
        if self.unacknowledged == 0 && segment.sequence <= self.next {
            self.echo = segment.epoch;
        }
        let in_order = segment.sequence == self.next && self.ahead.is_empty();
        if in_order {
            self.next = segment.end();
            if segment.ends_message {
                deliver(asked(segment));
            }
            self.unacknowledged += 1;
            if self.unacknowledged < self.delayed_ack && !changed {
                self.ack_at = self.ack_at.or(Some(now + config.delayed_ack_timeout));
                return;
            }
        } else {
            self.handle_out_of_order(segment, &mut deliver);
        }
        reply(self.ack(config));
    }

    #[cold]
    fn handle_out_of_order(&mut self, segment: &Segment, deliver: &mut impl FnMut(Delivered)) {
        let range = segment.sequence.max(self.next)..segment.end();
        let mut news = 0;
        if !range.is_empty() {
            let start = range.start;
            self.ahead.insert(range, |gap| news += gap.end - gap.start);
            let newest = self.recent[0];
            if self.ahead.containing(start) != self.ahead.containing(newest) {
                self.recent = [start, newest];
            }
        }
        if news == 0 {
            self.duplicates += 1;
            self.duplicate = true;
            return;
        }
        if segment.ends_message {
            self.ends.insert(segment.end(), asked(segment));
        }
        if let Some(filled) = self.ahead.containing(self.next) {
            self.next = filled.end;
            self.ahead.remove_below(self.next);
        }
        while let Some(first) = self.ends.first_entry()
            && *first.key() <= self.next
        {
            deliver(first.remove());
        }
    }

    fn ack(&mut self, config: &Config) -> Ack {
        (self.unacknowledged, self.ack_at) = (0, None);
        let mut blocks = [Block::default(); SACK_BLOCKS];
        if config.sack && !self.ahead.is_empty() {
            let ranges = self.recent.iter().filter_map(|&byte| self.ahead.containing(byte));
            for (block, range) in blocks.iter_mut().zip(ranges) {
                let relative = |sequence: u64| u32::try_from(sequence - self.next);
                if let (Ok(start), Ok(end)) = (relative(range.start), relative(range.end)) {
                    *block = Block { start, length: end - start };
                }
            }
            if blocks[0] == blocks[1] {
                blocks[1] = Block::default(); // the two have grown together
            }
        }
        Ack {
            sequence: self.next,
            blocks,
            ce_bytes: std::mem::take(&mut self.ce_bytes),
            arrived_ns: self.arrived_ns,
            ece: self.ece,
            duplicate: std::mem::take(&mut self.duplicate),
            opens: false,
            echo: self.echo,
        }
    }
}

/// The message that a segment ends.
const fn asked(segment: &Segment) -> Delivered {
    Delivered { read: segment.read, due: segment.due }
}

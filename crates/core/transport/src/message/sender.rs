//! The sending half of a connection: cutting messages, bursts, retransmission.

mod ahead;
mod answer;
mod doubts;
mod episode;
mod together;

pub use self::together::OutgoingBurst;

use std::collections::VecDeque;

use incast_cc::{Bytes, CongestionControl, Flow, Rate, Span, Time};

use self::doubts::Doubts;
use self::episode::Episode;
use super::segment::{Departure, Fate, Segment, burst_size};
use super::segment_limit;
use crate::backlog::{Piece, Posted};
use crate::config::{Config, Nic};
use crate::connection::{ENDLESS, Path, Sample};
use crate::engines::Engines;
use crate::half::Sending;
use crate::packet::message::{Body, Data, PacketSet};
use crate::packet::{self, DueBy, Form, Header, Kind, Next, Packet, clock_ns};
use crate::rate::{RateComputation, Report, gap};
use crate::rtt::RttMeasurement;

/// The most packets that a connection may have sent beyond the oldest unacknowledged one: half of
/// the 24-bit sequence numbers by which RDMA NICs tell packets apart (`InfiniBand`). At an MTU of
/// 1,500 B that is 12 GB in flight.
pub const MAX_PACKETS_AHEAD: u64 = 1 << 23;

/// The sending half of one connection.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    engines: Engines<C>,
    next_sequence: u64,
    /// The payload that has been cut into segments, of all messages.
    cut: u64,
    /// The burst whose packets the NIC is taking.
    burst: Option<Burst>,
    /// Segments that were sent and not acknowledged, in order.
    segments: VecDeque<Segment>,
    /// Segments with packets to send again, by their first sequence numbers. Entries behind the
    /// front may have been answered since.
    resend: VecDeque<u64>,
    /// Whether some of them stand behind later ones.
    is_mixed: bool,
    /// The packets that later ones have overtaken, and that may still arrive.
    doubts: Doubts,
    /// The repair of losses.
    episode: Episode,
    /// Whether the peer has been silent since the last timeout.
    silent: bool,
    /// Whether the probe of that silence is out.
    probing: bool,
    /// The time of the first timeout in a row, until an answer tells whether it came too early.
    timed_out_at: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    segment: u64,
    /// The packets that have not left.
    packets: PacketSet,
    count: u8,
    attempt: u8,
    bytes: u32,
    ends_message: bool,
    /// Whether none of it has left the NIC.
    waits: bool,
    read: u64,
    due: DueBy,
    /// The end of the message in all payload posted.
    message_end: u64,
    /// The time of posting, if the first packet begins a message.
    begins: Option<Time>,
    next_at: Time,
    /// The time from the start of one packet to that of the next; zero at line rate.
    gap: Span,
}

impl<C: CongestionControl> Sending<C> for Sender<C> {
    type Body = Body;

    const CLOCK_STARTS_FIRST: bool = false;

    fn prepare(flow: &mut Flow, config: &Config, _path: &Path) {
        flow.mss = config.payload;
        flow.initial_window = flow.initial_window.max(config.segment);
    }

    fn segment(config: &Config) -> Bytes {
        config.segment
    }

    fn new(
        rate: RateComputation<C>,
        rtt: RttMeasurement,
        _config: &Config,
        _path: &Path,
        now: Time,
    ) -> Self {
        Self {
            engines: Engines::new(rate, rtt, now),
            next_sequence: 0,
            cut: 0,
            burst: None,
            segments: VecDeque::new(),
            resend: VecDeque::new(),
            is_mixed: false,
            doubts: Doubts::default(),
            episode: Episode::default(),
            silent: false,
            probing: false,
            timed_out_at: None,
        }
    }

    fn engines(&self) -> &Engines<C> {
        &self.engines
    }

    fn engines_mut(&mut self) -> &mut Engines<C> {
        &mut self.engines
    }

    fn is_idle(&self) -> bool {
        self.engines.messages.is_empty() && self.segments.is_empty()
    }

    fn post(&mut self, now: Time, posted: &Posted, _config: &Config) {
        self.note_drained();
        self.engines.post(now, posted, self.oldest_payload());
    }

    fn withdraw(&mut self, after: usize) -> Option<u64> {
        self.engines.withdraw(after)
    }

    fn send_time(&self, config: &Config) -> Option<Time> {
        if let Some(burst) = &self.burst {
            return Some(burst.next_at);
        }
        let allowed = if self.silent {
            !self.resend.is_empty() && !self.probing
        } else if let Some(&first) = self.resend.front() {
            // Packets of incomplete segments count as in flight although they have arrived, and can
            // exceed a window that a loss has reduced. Where no answer is due that could end this,
            // nothing is in flight.
            self.engines.rate.admits(self.resend_bytes(first, config)) || !self.awaits_answer()
        } else if !self.engines.messages.is_empty() {
            let bytes = self.segment_bytes(config);
            let oldest = self.segments.front().map_or(self.next_sequence, |segment| segment.first);
            self.next_sequence - oldest < MAX_PACKETS_AHEAD && self.engines.rate.admits(bytes)
        } else {
            false
        };
        allowed.then(|| self.engines.pacer.send_time(self.pace(config)))
    }

    fn start_burst(&mut self, now: Time, from: Time, config: &Config) {
        if self.burst.is_some() {
            return;
        }
        if config.oldest_first && std::mem::take(&mut self.is_mixed) {
            self.resend.make_contiguous().sort_unstable();
            self.trim_resend();
        }
        let burst = match self.resend.pop_front() {
            Some(first) => {
                self.trim_resend();
                self.restart_segment(now, from, first, config)
            }
            None => self.cut_segment(now, from, config),
        };
        self.burst = Some(burst);
    }

    #[inline]
    fn next_packet(&mut self, now: Time, peer: u32, config: &Config) -> Option<Next> {
        if config.nic == Nic::Segments {
            self.leave_queue(now);
        }
        let burst = self.burst.as_mut()?;
        let index = burst.packets.lowest()?;
        burst.packets.remove(index);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "below MAX_SEGMENT_PACKETS, and an MTU"
        )]
        let (index, full) = (index as u8, config.payload.get() as u32);
        let last = index + 1 == burst.count;
        let payload = if last { burst.bytes - full * u32::from(burst.count - 1) } else { full };
        let ack_request = burst.packets.is_empty();
        let (sequence, next_at) = (burst.segment + u64::from(index), now + burst.gap);
        let Burst { count, attempt, ends_message, read, due, message_end, .. } = *burst;
        burst.next_at = next_at;
        let begins = burst.begins.take();
        let may_be = read == 0 && !config.full_packets;
        let form = if let Some(payload) = u16::try_from(payload).ok().filter(|_| may_be) {
            #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
            Form::Compact(Header {
                connection: peer,
                sequence: sequence as u32,
                sent_ns: clock_ns(now), // the NIC takes the packet now
                rest: u32::from_le_bytes([index, count, attempt, 0]),
                payload,
                kind: Kind::Data,
                flags: Header::data_flags(ends_message, ack_request),
            })
        } else {
            let remaining = self.engines.rate.remaining(message_end).max(payload);
            let data = Data {
                sequence,
                payload,
                index,
                count,
                attempt,
                ack_request,
                ends_message,
                read,
                due,
                remaining,
            };
            let body = packet::Body::Message(Body::Data(data));
            Form::Full(Packet { connection: peer, sent_ns: clock_ns(now), body })
        };
        let mut next = Next { form, begins, then: Some(next_at) };
        if !ack_request {
            return Some(next);
        }
        next.then = None;
        self.end_burst(now);
        Some(next)
    }

    fn on_answer(
        &mut self,
        now: Time,
        (answer, _): (&Body, u32),
        config: &Config,
        report: Report<'_>,
        _nic_backlog: u64,
    ) -> (Option<Sample>, u32) {
        match answer {
            Body::Ack(ack) => self.on_ack(now, ack, config, report),
            Body::Nack(nack) => (self.on_nack(now, nack, config, report), 0),
            Body::Data(_) | Body::Trimmed(_) => (None, 0), // for the other half
        }
    }

    fn on_notification(&mut self, now: Time, _config: &Config) {
        self.engines.rate.on_notification(now);
    }

    fn alarm_before(&self, _armed: Time, _config: &Config) -> Option<Time> {
        let at = |timer: Option<Time>| timer.unwrap_or(Time::MAX);
        let timers = at(self.engines.rate.next_timer()).min(at(self.doubts.next()));
        let first = timers.min(at(self.timeout_at()));
        (first < Time::MAX).then_some(first)
    }

    fn on_alarm(&mut self, now: Time, config: &Config) {
        self.engines.rate.on_timer(now);
        self.end_doubts(now, config);
        if self.timeout_at().is_some_and(|timeout| timeout <= now) {
            self.on_timeout(now);
        }
    }

    fn remaining(&self) -> u32 {
        let rate = &self.engines.rate;
        self.burst.as_ref().map_or(0, |burst| rate.remaining(burst.message_end))
    }

    /// A sequence number that is less than [`MAX_PACKETS_AHEAD`] and a segment above any that is not
    /// acknowledged.
    fn acknowledged(&self) -> u64 {
        self.next_sequence
    }

    fn level(&self, config: &Config) -> Option<u8> {
        if !self.engines.chooses_class() {
            return None;
        }
        let burst = self.burst.as_ref()?;
        let first = u64::from(burst.packets.lowest()?);
        let segment = &self.segments[self.find(burst.segment)?];
        let at = segment.start + first * config.payload.get();
        Some(self.engines.level(at, self.oldest_payload()))
    }

    fn may_leave_ahead(&self, config: &Config) -> bool {
        self.burst.as_ref().is_some_and(|burst| !burst.waits && burst.has_known_packets(config))
    }

    fn put_back(&mut self, _now: Time, header: &Header) {
        if let Some(burst) = &mut self.burst {
            burst.packets.insert(u32::from(header.place().0));
        }
    }

    fn oldest_payload(&self) -> Option<u64> {
        Some(self.oldest_payload())
    }

    fn payload_at(&self, sequence: u64, config: &Config) -> Option<u64> {
        let segment = &self.segments[self.segment_of(sequence)?];
        Some(segment.start + (sequence - segment.first) * config.payload.get())
    }

    fn on_sent_at(&mut self, sequence: u64, attempt: u8, stamp: Time) {
        let Some(place) = self.segment_of(sequence) else { return };
        let segment = &mut self.segments[place];
        if attempt == segment.attempt {
            segment.stamp = segment.stamp.min(stamp);
        }
        if attempt == 0 {
            segment.first_burst.stamp = segment.first_burst.stamp.min(stamp);
        }
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The start of the oldest payload that is not acknowledged, in all payload posted.
    pub(crate) fn oldest_payload(&self) -> u64 {
        self.segments.front().map_or(self.cut, |segment| segment.start)
    }

    /// Tells the rate computation engine if the application has left room, before that changes.
    fn note_drained(&mut self) {
        if self.engines.messages.is_empty() && self.resend.is_empty() && self.burst.is_none() {
            self.engines.rate.on_drained();
        }
    }

    /// Whether the window, and not the pacer, holds the next segment back.
    fn is_window_limited(&self, now: Time, config: &Config) -> bool {
        !self.engines.messages.is_empty()
            && !self.engines.rate.admits(self.segment_bytes(config))
            && self.engines.pacer.send_time(self.pace(config)) <= now
    }

    /// The payload of the next segment: the rest of the message, but at most a segment and a burst.
    fn segment_bytes(&self, config: &Config) -> Bytes {
        let burst = self.engines.rate.limits().burst.bytes;
        let most = segment_limit(config.segment, config.payload, burst);
        Bytes::new(self.engines.messages.remaining()).min(most)
    }

    /// The payload of a segment that is to be sent again.
    fn resend_bytes(&self, first: u64, config: &Config) -> Bytes {
        self.find(first).map_or(Bytes::ZERO, |place| {
            let segment = &self.segments[place];
            Bytes::new(u64::from(segment.payload_of(segment.repeated(config.recovery), config)))
        })
    }

    /// The rate of the pacer.
    fn pace(&self, config: &Config) -> Rate {
        self.engines.pace(None).unwrap_or(Rate::MAX).min(config.rate_cap)
    }

    #[expect(clippy::cast_possible_truncation, reason = "Config::check bounds the segment")]
    fn cut_segment(&mut self, now: Time, from: Time, config: &Config) -> Burst {
        let most = self.segment_bytes(config).get() as u32;
        let piece = self.engines.messages.cut(most);
        let Piece { bytes, ends_message, read, due, rest, begins } =
            piece.unwrap_or_else(|| unreachable!("send_time allowed a segment"));
        let count = u64::from(bytes).div_ceil(config.payload.get()).max(1) as u8;
        let first = self.next_sequence;
        self.next_sequence += u64::from(count);
        let start = self.cut;
        self.cut += u64::from(bytes);
        let message_end = if rest == ENDLESS { ENDLESS } else { self.cut + rest };
        let last = self.engines.messages.is_empty();
        let sent = self.engines.rate.on_sent(now, Bytes::new(u64::from(bytes)), false, last);
        self.engines.pacer.sent(from, Bytes::new(u64::from(bytes)));
        let size = burst_size(u32::from(count), bytes, config);
        let serialization =
            self.engines.rtt.serialization(size, self.engines.rate.limits().burst.rate);
        self.segments.push_back(Segment {
            first,
            start,
            bytes,
            flying: bytes,
            lost: 0,
            count,
            attempt: 0,
            fate: Fate::Out,
            damaged: false,
            ends_message,
            read,
            due,
            message_end,
            sent,
            serialization,
            stamp: Time::MAX,
            first_burst: Departure { at: now, stamp: Time::MAX, serialization },
            missing: PacketSet::EMPTY,
        });
        let packets = PacketSet::first(u32::from(count));
        Burst {
            segment: first,
            packets,
            count,
            attempt: 0,
            bytes,
            ends_message,
            waits: true,
            read,
            due,
            message_end,
            begins,
            next_at: now,
            gap: gap(self.engines.rate.limits(), config.payload, config.line_rate),
        }
    }

    /// Sends the missing packets of a segment again, or its last packet as a probe when none is
    /// known to be missing.
    fn restart_segment(&mut self, now: Time, from: Time, first: u64, config: &Config) -> Burst {
        self.probing = self.silent;
        let place = self.find(first).unwrap_or_else(|| unreachable!("acknowledging removes it"));
        let segment = &mut self.segments[place];
        let packets = segment.repeated(config.recovery);
        segment.missing = PacketSet::EMPTY;
        segment.fate = Fate::Out;
        // Zero stays the first attempt: answers to the first and to the last attempt give RTT
        // samples.
        segment.attempt = segment.attempt.checked_add(1).unwrap_or(1);
        segment.stamp = Time::MAX;
        let bytes = segment.payload_of(packets, config);
        segment.flying += bytes;
        segment.lost = segment.lost.saturating_sub(bytes);
        let last = self.engines.messages.is_empty() && self.resend.is_empty();
        let again = self.engines.rate.on_sent(now, Bytes::new(u64::from(bytes)), true, last);
        segment.sent = again.since(&segment.sent);
        self.engines.pacer.sent(from, Bytes::new(u64::from(bytes)));
        self.engines.retransmissions += packets.len();
        let size = burst_size(packets.len(), bytes, config);
        let segment = &mut self.segments[place];
        segment.serialization =
            self.engines.rtt.serialization(size, self.engines.rate.limits().burst.rate);
        Burst {
            segment: first,
            packets,
            count: segment.count,
            attempt: segment.attempt,
            bytes: segment.bytes,
            ends_message: segment.ends_message,
            waits: true,
            read: segment.read,
            due: segment.due,
            message_end: segment.message_end,
            begins: None,
            next_at: now,
            gap: gap(self.engines.rate.limits(), config.payload, config.line_rate),
        }
    }

    /// Ends the burst whose last packet leaves. The timer of an answer starts unless it runs.
    fn end_burst(&mut self, now: Time) {
        if !self.awaits_answer() {
            self.engines.timer_from = now;
        }
        self.burst = None;
    }

    /// Sets the `t_send` of a segment when the first packet of its burst leaves.
    fn leave_queue(&mut self, now: Time) {
        let Some(burst) = &mut self.burst else { return };
        if !std::mem::take(&mut burst.waits) {
            return;
        }
        let (first, attempt) = (burst.segment, burst.attempt);
        if let Some(place) = self.find(first) {
            let segment = &mut self.segments[place];
            segment.sent.sent_at = now;
            if attempt == 0 {
                segment.first_burst.at = now;
            }
        }
    }

    /// The segment of a packet, unless it is forgotten.
    fn segment_of(&self, sequence: u64) -> Option<usize> {
        // Packets that leave are of the last segment, as a rule.
        let last = self.segments.len().checked_sub(1)?;
        let place = if self.segments[last].first <= sequence {
            last
        } else {
            self.segments.partition_point(|segment| segment.first <= sequence).checked_sub(1)?
        };
        let segment = &self.segments[place];
        (sequence - segment.first < u64::from(segment.count)).then_some(place)
    }

    /// Whether the peer owes an answer to data that has left the NIC. Data that waits to be sent
    /// again does not count.
    fn awaits_answer(&self) -> bool {
        let sending = self.burst.as_ref().map_or(u64::MAX, |burst| burst.segment);
        let awaits = |s: &Segment| s.flying > 0 && s.fate == Fate::Out && sending != s.first;
        // Nearly always that of the oldest segment.
        self.segments.front().is_some_and(awaits) || self.segments.iter().skip(1).any(awaits)
    }

    /// The time of the next timeout; [`None`] while no answer is due.
    pub(crate) fn timeout_at(&self) -> Option<Time> {
        self.awaits_answer().then(|| self.engines.timeout_at())
    }

    fn find(&self, first: u64) -> Option<usize> {
        // Nearly always the oldest one, or the one that leaves.
        if self.segments.front().is_some_and(|segment| segment.first == first) {
            return Some(0);
        }
        if self.segments.back().is_some_and(|segment| segment.first == first) {
            return Some(self.segments.len() - 1);
        }
        self.segments.binary_search_by_key(&first, |segment| segment.first).ok()
    }
}

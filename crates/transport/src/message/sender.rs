//! The sending half of a connection: cutting messages, bursts, retransmission.

use std::collections::VecDeque;

use incast_cc::parts::Pacer;
use incast_cc::{Bytes, CongestionControl, LossCause, Rate, Span, Time};

use super::packet::{Ack, Data, Nack, PacketSet};
use crate::backlog::{Backlog, Piece};
use crate::config::Config;
use crate::connection::Sample;
use crate::halves::Next;
use crate::packet::Body;
use crate::rate::{Completion, RateComputation, Report, Transmission, gap, pacing_rate, spacing};
use crate::rtt::{BurstSize, RttMeasurement};

/// Packets that one connection may have sent beyond the oldest that is unacknowledged: bounds the
/// memory of both sides (48 MB at an MTU of 1,500 B).
const MAX_PACKETS_AHEAD: u64 = 32_768;

/// What one connection has to send and has sent.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    rate: RateComputation<C>,
    rtt: RttMeasurement,
    pacer: Pacer,
    messages: Backlog,
    next_sequence: u64,
    /// The burst that the NIC is being given.
    burst: Option<Burst>,
    /// Sent and not acknowledged, in order.
    segments: VecDeque<Segment>,
    /// First sequence numbers of segments of which packets are to be sent again.
    resend: VecDeque<u64>,
    /// Segments that have lost something and are not acknowledged.
    damaged: u32,
    /// Whether a timeout has declared them lost: it ends a recovery episode, and opens none.
    timed_out: bool,
    /// Timeouts in a row.
    backoff: u32,
    /// While backing off: whether the probe is out.
    probing: bool,
    /// Since when the peer has been silent.
    silent_since: Time,
    retransmissions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    segment: u64,
    /// What is left of it.
    packets: PacketSet,
    count: u8,
    attempt: u8,
    bytes: u32,
    ends_message: bool,
    read: u64,
    /// Its first packet is the first of a message that was posted then.
    begins: Option<Time>,
    next_at: Time,
    /// From the start of one packet to the next; nothing at line rate.
    gap: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Sent, or being sent.
    Out,
    /// In `resend`.
    Queued,
    Acked,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    bytes: u32,
    /// How much of it is in flight.
    flying: u32,
    /// How much was declared lost and has not been sent again.
    lost: u32,
    count: u8,
    attempt: u8,
    fate: Fate,
    /// Whether it has ever lost something.
    damaged: bool,
    ends_message: bool,
    read: u64,
    /// Its last burst, and where its first one started.
    sent: Transmission,
    serialization: Span,
    /// Reported missing and not sent again yet.
    missing: PacketSet,
}

impl Segment {
    /// What is known to be missing, or the last packet as a probe.
    fn missing_or_probe(&self) -> PacketSet {
        if self.missing.is_empty() {
            PacketSet::only(u32::from(self.count) - 1)
        } else {
            self.missing
        }
    }
}

impl<C: CongestionControl> Sender<C> {
    pub(crate) fn new(rate: RateComputation<C>, config: &Config, now: Time) -> Self {
        Self {
            rate,
            rtt: RttMeasurement::new(config),
            pacer: Pacer::default(),
            messages: Backlog::new(),
            next_sequence: 0,
            burst: None,
            segments: VecDeque::new(),
            resend: VecDeque::new(),
            damaged: 0,
            timed_out: false,
            backoff: 0,
            probing: false,
            silent_since: now,
            retransmissions: 0,
        }
    }

    /// The rate computation engine.
    pub const fn rate(&self) -> &RateComputation<C> {
        &self.rate
    }

    /// The RTT measurement engine.
    pub const fn rtt(&self) -> &RttMeasurement {
        &self.rtt
    }

    /// The rate that segments leave at: the algorithm's, or its window over the RTT.
    pub fn pacing_rate(&self) -> Rate {
        pacing_rate(self.rate.limits(), self.rtt.srtt())
    }

    /// Packets sent again.
    pub const fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Whether everything posted has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty() && self.segments.is_empty()
    }

    pub(crate) fn post(&mut self, now: Time, bytes: u64, read: u64) {
        self.note_drained();
        let size = self.messages.post(now, bytes, read);
        self.rate.on_demand(now, size);
    }

    /// Tells the rate computation engine if the application has left room, before that changes.
    fn note_drained(&mut self) {
        if self.messages.is_empty() && self.resend.is_empty() && self.burst.is_none() {
            self.rate.on_drained();
        }
    }

    /// Whether the window, and not the pacer, holds the next segment back.
    fn is_window_limited(&self, now: Time, config: &Config) -> bool {
        !self.messages.is_empty()
            && !self.rate.admits(self.segment_bytes(config))
            && self.pacer.send_time(self.pace()) <= now
    }

    /// When the next packet may leave; [`None`] while there is none, or none is allowed.
    pub(crate) fn send_time(&self, config: &Config) -> Option<Time> {
        if let Some(burst) = &self.burst {
            return Some(burst.next_at);
        }
        let allowed = if self.backoff > 0 {
            !self.resend.is_empty() && !self.probing
        } else if let Some(&first) = self.resend.front() {
            // What has arrived of incomplete segments is in flight by the books and can exceed a window
            // that a loss has reduced: where no answer is due that could end this, nothing is in flight.
            self.rate.admits(self.resend_bytes(first, config)) || !self.awaits_answer()
        } else if !self.messages.is_empty() {
            let bytes = self.segment_bytes(config);
            let oldest = self.segments.front().map_or(self.next_sequence, |segment| segment.first);
            self.next_sequence - oldest < MAX_PACKETS_AHEAD && self.rate.admits(bytes)
        } else {
            false
        };
        allowed.then(|| self.pacer.send_time(self.pace()))
    }

    /// The payload of the next segment: what the message has left, within a segment and a burst.
    fn segment_bytes(&self, config: &Config) -> Bytes {
        let burst = self.rate.limits().burst.bytes.max(config.payload);
        Bytes::new(self.messages.remaining()).min(config.segment).min(burst)
    }

    /// The payload of what is to be sent again of a segment.
    fn resend_bytes(&self, first: u64, config: &Config) -> Bytes {
        self.find(first).map_or(Bytes::ZERO, |place| {
            let segment = &self.segments[place];
            Bytes::new(u64::from(payload_of(segment.missing_or_probe(), segment, config)))
        })
    }

    fn pace(&self) -> Rate {
        spacing(self.rate.limits(), self.rtt.srtt(), None).unwrap_or(Rate::MAX)
    }

    /// The send time has come: the pacing engine gives the NIC the next segment, or what is to be
    /// sent again of one. The time of this is the segment's `t_send`.
    pub(crate) fn start_burst(&mut self, now: Time, config: &Config) {
        if self.burst.is_some() {
            return;
        }
        let burst = match self.resend.pop_front() {
            Some(first) => self.restart_segment(now, first, config),
            None => self.cut_segment(now, config),
        };
        self.burst = Some(burst);
    }

    #[expect(clippy::cast_possible_truncation, reason = "Config::check bounds the segment")]
    fn cut_segment(&mut self, now: Time, config: &Config) -> Burst {
        let most = self.segment_bytes(config).get() as u32;
        let piece = self.messages.cut(most);
        let Piece { bytes, ends_message, read, begins } =
            piece.unwrap_or_else(|| unreachable!("send_time allowed a segment"));
        let count = u64::from(bytes).div_ceil(config.payload.get()).max(1) as u8;
        let first = self.next_sequence;
        self.next_sequence += u64::from(count);
        let last = self.messages.is_empty();
        let sent = self.rate.on_sent(now, Bytes::new(u64::from(bytes)), false, last);
        self.pacer.sent(now, Bytes::new(u64::from(bytes)));
        let spaced = config.payload * u64::from(count - 1);
        let size = BurstSize {
            spaced_payload: spaced,
            spaced_wire: spaced + config.header * u64::from(count - 1),
            last_wire: Bytes::new(u64::from(bytes)).saturating_sub(spaced) + config.header,
        };
        self.segments.push_back(Segment {
            first,
            bytes,
            flying: bytes,
            lost: 0,
            count,
            attempt: 0,
            fate: Fate::Out,
            damaged: false,
            ends_message,
            read,
            sent,
            serialization: self.rtt.serialization(size, self.rate.limits().burst.rate),
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
            read,
            begins,
            next_at: now,
            gap: gap(self.rate.limits(), config.payload, config.line_rate),
        }
    }

    /// Sends again what is missing of a segment, or its last packet as a probe when nothing is
    /// known.
    fn restart_segment(&mut self, now: Time, first: u64, config: &Config) -> Burst {
        self.probing = self.backoff > 0;
        let place = self.find(first).unwrap_or_else(|| unreachable!("acknowledging removes it"));
        let segment = &mut self.segments[place];
        let packets = segment.missing_or_probe();
        segment.missing = PacketSet::EMPTY;
        segment.fate = Fate::Out;
        // Zero is the first attempt for good: only its RTT sample is unambiguous.
        segment.attempt = segment.attempt.checked_add(1).unwrap_or(1);
        let bytes = payload_of(packets, segment, config);
        segment.flying += bytes;
        segment.lost = segment.lost.saturating_sub(bytes);
        let last = self.messages.is_empty() && self.resend.is_empty();
        let again = self.rate.on_sent(now, Bytes::new(u64::from(bytes)), true, last);
        segment.sent = again.since(&segment.sent);
        self.pacer.sent(now, Bytes::new(u64::from(bytes)));
        self.retransmissions += u64::from(packets.len());
        let segment = &self.segments[place];
        Burst {
            segment: first,
            packets,
            count: segment.count,
            attempt: segment.attempt,
            bytes: segment.bytes,
            ends_message: segment.ends_message,
            read: segment.read,
            begins: None,
            next_at: now,
            gap: gap(self.rate.limits(), config.payload, config.line_rate),
        }
    }

    /// The next packet of the burst; [`None`] when the burst was acknowledged in the meantime.
    #[inline]
    pub(crate) fn next_packet(&mut self, now: Time, config: &Config) -> Option<Next> {
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
        let data = Data {
            sequence: burst.segment + u64::from(index),
            payload,
            index,
            count: burst.count,
            attempt: burst.attempt,
            ack_request,
            ends_message: burst.ends_message,
            read: burst.read,
        };
        burst.next_at = now + burst.gap;
        let mut next = Next {
            body: Body::Data(data),
            queued_at: now, // the NIC takes it now
            begins: burst.begins.take(),
            then: Some(burst.next_at),
        };
        if !ack_request {
            return Some(next);
        }
        next.then = None;
        if !self.awaits_answer() {
            self.silent_since = now;
        }
        self.burst = None;
        Some(next)
    }

    /// A segment is complete. Returns its sample and how many messages are now acknowledged.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        config: &Config,
        report: Report<'_>,
    ) -> (Option<Sample>, u32) {
        self.on_answer(now);
        self.note_drained();
        let window_limited = self.is_window_limited(now, config);
        let Some(place) = self.find(ack.segment) else { return (None, 0) };
        if self.segments[place].fate == Fate::Acked {
            return (None, 0);
        }
        self.probe_overtaken(now, place);
        let segment = &mut self.segments[place];
        let was_queued = std::mem::replace(&mut segment.fate, Fate::Acked) == Fate::Queued;
        let segment = *segment;
        if was_queued {
            self.resend.retain(|&first| first != segment.first);
        }
        if self.burst.is_some_and(|burst| burst.segment == segment.first) {
            self.burst = None;
        }
        let sent = |bytes: u32| segment.sent.of(u64::from(bytes));
        self.damaged -= u32::from(segment.damaged);
        self.timed_out &= self.damaged > 0;
        if segment.lost > 0 {
            self.rate.on_spurious_loss(now, sent(segment.lost));
        }
        // Karn: only a segment that was sent once tells what the ACK answers.
        let unambiguous = segment.attempt == 0 && segment.lost == 0;
        let sample =
            unambiguous.then(|| self.rtt.sample(segment.sent.sent_at, now, segment.serialization));
        let completion = Completion {
            sent: &sent(segment.flying),
            identified: true,
            delivered: Bytes::new(u64::from(segment.bytes)),
            ce_bytes: Bytes::new(u64::from(ack.ce_bytes)),
            sample,
            in_recovery: self.damaged > 0 && !self.timed_out,
            posted: self.messages.posted(),
            window_limited,
            one_way: None,
            nic_backlog: Bytes::ZERO,
            report,
        };
        self.rate.on_completion(now, &completion, &self.rtt);
        let mut messages = 0;
        while let Some(front) = self.segments.front()
            && front.fate == Fate::Acked
        {
            messages += u32::from(front.ends_message);
            self.segments.pop_front();
        }
        let rate = self.pacing_rate();
        (sample.map(|rtt| Sample { rtt, measured: rtt.network(), rate }), messages)
    }

    pub(crate) fn on_notification(&mut self, now: Time) {
        self.rate.on_notification(now);
    }

    /// Packets are missing.
    pub(crate) fn on_nack(&mut self, now: Time, nack: &Nack, config: &Config) {
        self.on_answer(now);
        let from = self.segments.partition_point(|s| s.first + u64::from(s.count) <= nack.base);
        for place in from..self.segments.len() {
            let segment = &mut self.segments[place];
            if segment.first >= nack.base + u64::from(super::MAX_SEGMENT_PACKETS) {
                break;
            }
            let count = u32::from(segment.count);
            let reported = nack.missing.window(nack.base, segment.first, count);
            let missing = reported.without(segment.missing);
            if segment.fate == Fate::Acked || segment.attempt != nack.attempt || missing.is_empty()
            {
                continue;
            }
            let lost = payload_of(missing, segment, config).min(segment.flying);
            segment.missing = segment.missing.union(missing);
            self.declare_lost(now, place, lost, LossCause::Detected);
        }
    }

    /// Packets of a connection do not overtake each other, nor do its answers: a segment that was
    /// sent before the one now acknowledged and is still unanswered has lost its data or its answer.
    /// A probe finds out which. (Where packets are reordered, it is a packet too many.)
    fn probe_overtaken(&mut self, now: Time, acknowledged: usize) {
        let Segment { sent: Transmission { end, .. }, attempt, .. } = self.segments[acknowledged];
        if acknowledged == 0 || attempt > 0 {
            return;
        }
        for place in 0..acknowledged {
            let segment = &self.segments[place];
            let overtaken = segment.fate == Fate::Out && segment.sent.end < end;
            if overtaken && segment.flying > 0 {
                self.declare_lost(now, place, segment.flying, LossCause::Detected);
            }
        }
    }

    /// `bytes` of a segment are lost: what is missing of it will be sent again, or a probe.
    fn declare_lost(&mut self, now: Time, place: usize, bytes: u32, cause: LossCause) {
        let segment = &mut self.segments[place];
        segment.flying -= bytes;
        segment.lost += bytes;
        if std::mem::replace(&mut segment.fate, Fate::Queued) == Fate::Out {
            self.resend.push_back(segment.first);
        }
        if bytes > 0 {
            let sent = segment.sent.of(u64::from(bytes));
            let in_recovery = self.damaged > 0;
            self.damaged += u32::from(!std::mem::replace(&mut segment.damaged, true));
            self.rate.on_loss(now, sent, in_recovery, cause);
        }
    }

    /// Anything that the peer says ends the silence.
    fn on_answer(&mut self, now: Time) {
        (self.backoff, self.probing, self.silent_since) = (0, false, now);
    }

    /// Whether something has left the NIC and the peer owes an answer to it. What waits to be sent
    /// again does not count.
    fn awaits_answer(&self) -> bool {
        let sending = self.burst.map(|burst| burst.segment);
        self.segments
            .iter()
            .any(|s| s.flying > 0 && s.fate == Fate::Out && sending != Some(s.first))
    }

    /// When the silence has lasted too long; [`None`] while no answer is due.
    pub(crate) fn timeout_at(&self) -> Option<Time> {
        self.awaits_answer().then(|| self.silent_since + self.rtt.rto(self.backoff))
    }

    /// When the endpoint should look after this sender, sent packets and answers apart.
    pub(crate) fn alarm(&self) -> Option<Time> {
        match (self.timeout_at(), self.rate.next_timer()) {
            (Some(timeout), Some(timer)) => Some(timeout.min(timer)),
            (timeout, timer) => timeout.or(timer),
        }
    }

    /// The alarm has come, or a moment that was one: does what is due.
    pub(crate) fn on_alarm(&mut self, now: Time) {
        self.rate.on_timer(now);
        if self.timeout_at().is_some_and(|timeout| timeout <= now) {
            self.on_timeout(now);
        }
    }

    /// Nothing was heard: all that is out counts as lost, and one packet asks what has arrived.
    fn on_timeout(&mut self, now: Time) {
        let cause = if self.backoff == 0 { LossCause::Timeout } else { LossCause::Persistent };
        let sending = self.burst.map(|burst| burst.segment);
        for place in 0..self.segments.len() {
            let segment = &self.segments[place];
            if segment.fate != Fate::Acked && sending != Some(segment.first) {
                self.declare_lost(now, place, segment.flying, cause);
            }
        }
        self.backoff += 1;
        self.timed_out = self.damaged > 0;
        self.probing = false;
        self.silent_since = now;
    }

    fn find(&self, first: u64) -> Option<usize> {
        // The oldest one, nearly always.
        if self.segments.front().is_some_and(|segment| segment.first == first) {
            return Some(0);
        }
        self.segments.binary_search_by_key(&first, |segment| segment.first).ok()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a payload is below an MTU")]
fn payload_of(packets: PacketSet, segment: &Segment, config: &Config) -> u32 {
    let full = config.payload.get() as u32;
    let last = u32::from(segment.count) - 1;
    if packets.contains(last) {
        full * (packets.len() - 1) + (segment.bytes - full * last)
    } else {
        full * packets.len()
    }
}

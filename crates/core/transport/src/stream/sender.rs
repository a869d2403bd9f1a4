//! The sending half of a stream: its state, and the way of data to the NIC.

mod answer;
mod fast;
mod leaving;
mod timers;

use std::collections::VecDeque;

use incast_cc::{Bytes, CongestionControl, Flow, LossCause, Pacing, Rate, Span, Time};

use super::bursts::Bursts;
use super::recovery::{Credits, Episode, Rack, Reduction, Repair, Silence};
use super::scoreboard::{Fate, Record, Scoreboard};
use crate::backlog::{Piece, Posted};
use crate::config::Config;
use crate::config::stream::EcnEcho;
use crate::connection::{ENDLESS, Path, Sample};
use crate::engines::Engines;
use crate::half::Sending;
use crate::packet::stream::{Body, Segment};
use crate::packet::{self, DueBy, Form, Header, Next, Packet, clock_ns};
use crate::rate::{RateComputation, Report, Transmission, gap};
use crate::rtt::RttMeasurement;

/// The number of duplicate ACKs, or of segments beyond a gap, that tells of a loss (RFC 5681, RFC
/// 8985).
const DUPLICATE_THRESHOLD: u32 = 3;
/// The number of bursts that a window has room for, at least, as in Linux (`tcp_tso_win_divisor`).
const BURSTS_PER_WINDOW: u64 = 3;

/// The sending half of one stream.
///
/// A sender has two speeds. On the fast path (`fast.rs`) all that is out is in flight, was sent
/// once and in order, and is kept in bursts. Anything unusual moves it to the scoreboard and the outbox,
/// segment by segment; when the unusual is over, it moves back.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub struct Sender<C> {
    engines: Engines<C>,
    /// Whether the stream is on the fast path: then the bursts have all that is out, and the
    /// scoreboard and the outbox are empty.
    is_fast: bool,
    /// The number of ACKs since the last unusual one.
    calm: u32,
    bursts: Bursts,
    /// The messages whose first segment is in the bursts and has not left the NIC: where they
    /// begin, and when they were posted.
    begins: VecDeque<(u64, Time)>,
    /// Whether the peer has agreed to the connection.
    opened: bool,
    /// The requests for it that the peer has not answered.
    asked: Option<Box<Asked>>,
    /// The first byte that has not been sent.
    next: u64,
    /// The first byte that has not been acknowledged.
    acknowledged: u64,
    /// The payload that may be sent and not acknowledged: the send buffer, or the window of the
    /// receiver if that is smaller.
    buffer: u32,
    board: Scoreboard,
    /// The segments in the NIC's queue.
    outbox: VecDeque<Queued>,
    queued: u64,
    /// The time at which the next of them may leave.
    next_at: Time,
    /// The start of the last segment that has left, or is in a NIC that [knows its
    /// start](Self::may_leave_ahead).
    left_at: Time,
    /// The end of data that has left the NIC, in transmission order.
    left: Bytes,
    rack: Rack,
    repair: Repair,
    episode: Episode,
    credits: Credits,
    /// Whether the next retransmission leaves whatever the window says.
    urgent: bool,
    /// The rate reduction of the present recovery.
    reduction: Reduction,
    /// Timeouts in a row.
    timeouts: u8,
    /// The silence that the last timeout ended; [`None`] before any.
    silence: Option<Box<Silence>>,
    /// The start of the probe timer: a segment left the NIC, or something was acknowledged.
    probe_from: Time,
    /// The tail-loss probe that is out.
    probe: Option<Probe>,
    /// Whether the next segment answers the classic ECN echo.
    cwr: bool,
    /// The sequence number from which on an echo is a new one.
    echo_from: u64,
    /// The newest transmission that was acknowledged.
    newest: Option<Transmission>,
    /// Whether segments say that switches may mark them.
    ect: bool,
    /// The number of segments that an ACK of the peer waits for.
    delayed_ack: u32,
    /// The largest payload of a segment ([`stream::Config::largest_segment`](super::Config)).
    segment: u32,
    /// The time of a full segment on the wire, which spares a division per ACK.
    full_segment: Span,
}

/// A segment in the NIC's queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    segment: Segment,
    /// The end in transmission order.
    end: Bytes,
    /// The time at which the NIC got the segment.
    since: Time,
    /// The time of posting, in the first segment of a message.
    begins: Option<Time>,
}

/// The requests to open the connection (SYN).
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// The time of the first.
    first: Time,
    /// The time of the last.
    last: Time,
    /// The number of requests before the last.
    before: u8,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    sent_at: Time,
    /// The sequence number whose acknowledgement answers the probe.
    end: u64,
    /// The segment that the probe is a copy of.
    copied: Option<u64>,
}

impl<C: CongestionControl> Sending<C> for Sender<C> {
    type Body = Body;

    /// The first segment that leaves starts the clock.
    const CLOCK_STARTS_FIRST: bool = true;

    fn prepare(flow: &mut Flow, config: &Config, path: &Path) {
        let stream = &config.stream;
        flow.mss = stream.mss;
        flow.initial_window = stream.initial_window;
        flow.slow_start_limit = stream.slow_start_limit;
        flow.max_window = send_buffer(config, path).min(stream.window());
    }

    fn segment(config: &Config) -> Bytes {
        config.stream.mss
    }

    fn new(
        rate: RateComputation<C>,
        rtt: RttMeasurement,
        config: &Config,
        path: &Path,
        now: Time,
    ) -> Self {
        let buffer = send_buffer(config, path);
        let segment = config.stream.largest_segment();
        let mut engines = Engines::new(rate, rtt, now);
        engines.set_loss_detection();
        Self {
            engines,
            is_fast: may_be_fast(config),
            calm: 0,
            bursts: Bursts::new(segment),
            begins: VecDeque::new(),
            opened: !config.stream.handshake,
            asked: None,
            next: 0,
            acknowledged: 0,
            buffer: u32::try_from(buffer.min(config.stream.window()).get()).unwrap_or(u32::MAX),
            board: Scoreboard::default(),
            outbox: VecDeque::new(),
            queued: 0,
            next_at: now,
            left_at: Time::ZERO,
            left: Bytes::ZERO,
            rack: Rack::default(),
            repair: Repair::None,
            episode: Episode::default(),
            credits: Credits::default(),
            urgent: false,
            reduction: Reduction::default(),
            timeouts: 0,
            silence: None,
            probe_from: now,
            probe: None,
            cwr: false,
            echo_from: 0,
            newest: None,
            ect: config.stream.ect,
            delayed_ack: config.stream.delayed_ack,
            segment,
            full_segment: config.line_rate.time_for(config.stream.mss + config.header),
        }
    }

    fn engines(&self) -> &Engines<C> {
        &self.engines
    }

    fn engines_mut(&mut self) -> &mut Engines<C> {
        &mut self.engines
    }

    fn is_idle(&self) -> bool {
        self.engines.messages.is_empty() && self.bursts.is_empty() && self.board.is_empty()
    }

    fn post(&mut self, now: Time, posted: &Posted, config: &Config) {
        self.note_drained(now);
        self.engines.post(now, posted, self.acknowledged);
        if !self.opened && self.asked.is_none() {
            self.ask(now, Asked { first: now, last: now, before: 0 });
        }
        self.fill(now, config);
    }

    fn send_time(&self, config: &Config) -> Option<Time> {
        if self.has_queued() {
            return Some(self.next_at);
        }
        let pace = self.pace(config)?;
        self.next_burst(config).map(|_| self.engines.pacer.send_time(pace))
    }

    fn start_burst(&mut self, now: Time, from: Time, config: &Config) {
        if !self.has_queued() {
            self.give(now, from, config, &mut false);
        }
    }

    fn next_packet(&mut self, now: Time, peer: u32, config: &Config) -> Option<Next> {
        if self.is_fast {
            return self.next_fast_packet(now, peer, config);
        }
        let Queued { mut segment, end, since, begins } = self.outbox.pop_front()?;
        self.left = self.left.max(end);
        // RFC 6298, 5.1: starts the timer if it is not running. The first segment starts it anew.
        let oldest = self.board.oldest_flying().is_some_and(|(_, sent)| sent.end == end);
        if oldest || segment.sequence == self.acknowledged {
            self.engines.timer_from = now;
        }
        (self.probe_from, self.left_at) = (now, now);
        let was_full = self.queued >= config.stream.small_queue.get();
        self.queued -= u64::from(segment.payload);
        let payload = Bytes::new(u64::from(segment.payload));
        self.next_at = now + gap(self.engines.rate.limits(), payload, config.line_rate);
        if segment.payload > 0 || self.probes() {
            segment.remaining = self.unacknowledged().max(segment.payload);
        }
        if was_full {
            self.fill(now, config); // the NIC's queue held data back
        }
        let (sent_ns, body) = (clock_ns(since), packet::Body::Stream(Body::Segment(segment)));
        Some(Next {
            form: Form::of(Packet { connection: peer, sent_ns, body }, config.full_packets),
            begins,
            then: (!self.outbox.is_empty()).then_some(self.next_at),
        })
    }

    fn on_answer(
        &mut self,
        now: Time,
        (answer, made_ns): (&Body, u32),
        config: &Config,
        report: Report<'_>,
        nic_backlog: u64,
    ) -> (Option<Sample>, u32) {
        match answer {
            Body::Ack(ack) => self.on_ack(now, ack, made_ns, config, report, nic_backlog),
            Body::Segment(_) => (None, 0), // for the other half
        }
    }

    fn on_notification(&mut self, now: Time, config: &Config) {
        self.engines.rate.on_notification(now);
        self.fill(now, config);
    }

    #[inline]
    fn alarm_before(&self, armed: Time, config: &Config) -> Option<Time> {
        self.timer_before(armed, config)
    }

    fn on_alarm(&mut self, now: Time, config: &Config) {
        self.on_timers(now, config);
    }

    fn queued(&self) -> u64 {
        self.queued
    }

    fn waits_since(&self) -> Option<Time> {
        let queued = self.outbox.front().map(|next| next.since);
        queued.or_else(|| self.bursts.waits_since())
    }

    fn remaining(&self) -> u32 {
        let opens = self.outbox.front().is_some_and(|next| next.segment.payload == 0);
        if opens && !self.probes() { 0 } else { self.unacknowledged() }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    fn level(&self, _config: &Config) -> Option<u8> {
        if !self.engines.chooses_class() {
            return None;
        }
        let start = match self.outbox.front() {
            _ if self.is_fast => self.bursts.left(),
            first => first?.segment.sequence,
        };
        Some(self.engines.level(start, self.acknowledged))
    }

    fn may_leave_ahead(&self, config: &Config) -> bool {
        !self.begins_next() && self.knows_its_starts(config)
    }

    fn put_back(&mut self, now: Time, header: &Header) {
        self.take_back(now, u64::from(header.payload));
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The epoch of segments that are sent now: the number of silences before them.
    fn epoch(&self) -> u8 {
        self.silence.as_ref().map_or(0, |silence| silence.epoch)
    }

    /// Asks the peer to open the connection.
    fn ask(&mut self, now: Time, asked: Asked) {
        self.slow_down();
        self.asked = Some(Box::new(asked));
        self.next_at = self.next_at.max(now);
        self.send_empty(now, 0, asked.before);
    }

    /// Gives the NIC a segment without payload, which the receiver answers at once, before all that
    /// starts at `sequence`.
    fn send_empty(&mut self, now: Time, sequence: u64, epoch: u8) {
        let segment = Segment {
            sequence,
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
            payload: 0,
            ends_message: false,
            ect: false,
            cwr: false,
            opens: true,
            epoch,
        };
        self.outbox.push_back(Queued { segment, end: Bytes::ZERO, since: now, begins: None });
    }

    /// Opens the connection, since the peer has agreed. The exchange gives the first RTT if it
    /// answers the first request or the last one; the times of the others are not kept.
    fn opened(&mut self, now: Time, echo: u8, config: &Config) {
        if let Some(asked) = self.asked.take() {
            let Asked { first, last, before } = *asked;
            let at = if echo == before { Some(last) } else { (echo == 0).then_some(first) };
            if let Some(at) = at {
                self.engines.rtt.sample(at, now, config.line_rate.time_for(config.header));
            }
            self.opened = true;
            self.fill(now, config);
        }
    }

    // Data that may be sent.

    /// The rate that bursts are spaced by; [`None`] where ACKs clock them.
    fn pace(&self, config: &Config) -> Option<Rate> {
        self.engines.pace(config.stream.pace_windows_percent)
    }

    /// Whether there is a [`pace`](Self::pace).
    #[inline]
    pub(crate) fn is_paced(&self, config: &Config) -> bool {
        config.stream.pace_windows_percent.is_some()
            || self.engines.rate.limits().pacing != Pacing::Unpaced
    }

    /// The payload of the burst that the NIC may get now, or at its send time if it is paced.
    #[expect(clippy::inline_always, reason = "asked once more than there are bursts")]
    #[inline(always)]
    fn next_burst(&self, config: &Config) -> Option<Bytes> {
        let full = self.queued >= config.stream.small_queue.get() && self.queued > 0;
        if full || !self.opened {
            return None;
        }
        let bytes = self.waiting(config);
        let urgent = self.urgent && self.board.lost() > 0;
        let reduced = config.stream.rate_reduction
            && self.repair.is_recovery()
            && !self.is_paced(config)
            && !self.engines.rate.in_flight().is_zero()
            && bytes.get() > self.reduction.allowance();
        let allowed = urgent || self.engines.rate.admits(bytes) && !reduced;
        (!bytes.is_zero() && allowed).then_some(bytes)
    }

    /// Whether the sender sends no data, but packets without payload, until an ACK comes.
    fn probes(&self) -> bool {
        self.engines.blind().is_some_and(|blind| blind.probes)
    }

    /// The payload of the next burst, before the congestion window is asked. Lost data goes before
    /// new data.
    #[expect(clippy::inline_always, reason = "in the way of every ACK")]
    #[inline(always)]
    fn waiting(&self, config: &Config) -> Bytes {
        if !self.is_fast
            && let Some(record) = self.board.first_lost()
        {
            let held = if self.probes() { 0 } else { record.payload };
            return Bytes::new(u64::from(held));
        }
        let segment = u64::from(self.segment);
        let burst = if config.stream.tso.get() <= segment {
            segment // whatever the algorithm says
        } else {
            self.long_burst(config)
        };
        let bytes = self.engines.messages.remaining().min(burst);
        let room = self.room();
        // A segment is not cut to fit: that would be the silly window syndrome.
        Bytes::new(if bytes <= room { bytes } else { whole(room, segment) })
    }

    /// The largest payload of a burst of several segments.
    #[inline(never)]
    fn long_burst(&self, config: &Config) -> u64 {
        let (limits, segment) = (self.engines.rate.limits(), u64::from(self.segment));
        let most = config.stream.tso.min(limits.burst.bytes);
        whole(most.min(limits.cwnd / BURSTS_PER_WINDOW).get(), segment).max(segment)
    }

    /// The room in the buffers at both ends.
    fn room(&self) -> u64 {
        (self.acknowledged + u64::from(self.buffer)).saturating_sub(self.next)
    }

    /// Whether segments wait in the NIC.
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        if self.is_fast { self.bursts.left() < self.next } else { !self.outbox.is_empty() }
    }

    /// Gives the NIC all bursts that ACKs allow, unless the stream is paced.
    #[inline]
    fn fill(&mut self, now: Time, config: &Config) {
        let mut open = false;
        if self.is_paced(config) || self.send_inner(now, config, &mut open) {
            return;
        }
        while !self.is_paced(config) && self.give(now, now, config, &mut open) {}
    }

    /// Gives the NIC the next burst, if it may be sent: the first lost segment, or new data. `open`
    /// tells whether it joins the burst before.
    #[expect(clippy::inline_always, reason = "called in a loop, once more than there are bursts")]
    #[inline(always)]
    fn give(&mut self, now: Time, from: Time, config: &Config, open: &mut bool) -> bool {
        let Some(mut bytes) = self.next_burst(config) else { return false };
        if self.engines.rate.before_send(now) {
            // The algorithm may have other limits after a pause; with nothing in flight some burst
            // fits.
            bytes = self.waiting(config);
        }
        self.engines.pacer.sent(from, bytes);
        if !self.has_queued() {
            self.next_at = self.next_at.max(now);
        }
        if self.board.lost() > 0 {
            self.send_again(now, config);
            return true;
        }
        let mut left = bytes.get();
        while left > 0 {
            let sent = self.send_new(now, left.min(u64::from(self.segment)), open);
            left = left.saturating_sub(sent);
        }
        true
    }

    #[expect(clippy::inline_always, reason = "a record is long, and is made where it stays")]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most an MSS")]
    fn send_new(&mut self, now: Time, most: u64, open: &mut bool) -> u64 {
        let Some(piece) = self.engines.messages.cut(most as u32) else { return most };
        let Piece { bytes: payload, ends_message, read, due, begins, .. } = piece;
        if self.is_fast {
            if read == 0 {
                self.send_fast(now, &piece, open);
                return u64::from(payload);
            }
            self.slow_down();
        }
        let app_limited = self.engines.messages.is_empty();
        let sent =
            self.engines.rate.on_sent(now, Bytes::new(u64::from(payload)), false, app_limited);
        let record = Record {
            sequence: self.next,
            payload,
            ends_message,
            read,
            due,
            sent,
            fate: Fate::Flying,
            sent_again: false,
            episode: 0,
        };
        self.next = record.end();
        self.board.push(record);
        let cwr = std::mem::take(&mut self.cwr);
        self.enqueue(&record, self.ect, cwr, begins);
        u64::from(payload)
    }

    fn send_again(&mut self, now: Time, config: &Config) {
        let Some(record) = self.board.first_lost() else { return };
        let (payload, before) = (Bytes::new(u64::from(record.payload)), record.sent);
        let app_limited = self.engines.messages.is_empty() && self.board.lost() == 1;
        let again = self.engines.rate.on_sent(now, payload, true, app_limited);
        let record = self.board.send_again(again.since(&before));
        self.urgent = false;
        self.enqueue_again(&record, config);
    }

    fn enqueue_again(&mut self, record: &Record, config: &Config) {
        self.engines.retransmissions += 1;
        // RFC 3168, section 6.1.5, forbids marks on retransmissions; RFC 8257 wants them.
        let ect = self.ect && config.stream.echo == EcnEcho::Exact;
        self.enqueue(record, ect, false, None);
    }

    fn enqueue(&mut self, record: &Record, ect: bool, cwr: bool, begins: Option<Time>) {
        self.queued += u64::from(record.payload);
        self.reduction.on_sent(u64::from(record.payload));
        self.put_in_outbox(record, ect, cwr, begins);
    }

    #[inline]
    fn put_in_outbox(&mut self, record: &Record, ect: bool, cwr: bool, begins: Option<Time>) {
        let segment = Segment {
            sequence: record.sequence,
            read: record.read,
            due: record.due,
            remaining: 0, // until it leaves
            payload: record.payload,
            ends_message: record.ends_message,
            ect,
            cwr,
            opens: false,
            epoch: self.epoch(),
        };
        let Transmission { end, sent_at, .. } = record.sent;
        self.outbox.push_back(Queued { segment, end, since: sent_at, begins });
    }

    /// The payload posted that is not acknowledged; `u32::MAX` where there is no end.
    #[inline]
    fn unacknowledged(&self) -> u32 {
        self.engines.rate.remaining(self.engines.messages.posted().map_or(ENDLESS, Bytes::get))
    }

    /// Tells the rate computation engine if the application has left room, before that changes.
    fn note_drained(&mut self, now: Time) {
        let queued = self.has_queued() || self.left_at > now;
        if self.engines.messages.is_empty() && self.board.lost() == 0 && !queued {
            self.engines.rate.on_drained();
        }
    }

    /// Declares a segment lost. Opens an episode, unless the present one covers the segment.
    fn lose(&mut self, now: Time, number: u64, cause: LossCause) {
        let flying = self.board.flying_bytes();
        let Some(record) = self.board.lose(number) else { return };
        let (sent, payload) = (record.sent, u64::from(record.payload));
        let repair = match cause {
            LossCause::Detected => Repair::Recovery { until: self.next },
            LossCause::Timeout | LossCause::Persistent => Repair::Timeout { until: self.next },
        };
        let opens = match cause {
            LossCause::Detected => !self.repair.covers(record.sequence),
            LossCause::Timeout | LossCause::Persistent => repair != self.repair,
        };
        if opens {
            (self.repair, self.urgent, self.probe) = (repair, true, None);
            self.reduction = Reduction::begin(self.engines.rate.in_flight().get());
            self.episode.open();
        }
        // Without SACK a part of the payload in flight is off the books already: after a timeout, a
        // part of all that was in flight then; before, of what follows the first segment.
        let bytes = if cause == LossCause::Detected {
            payload.min(flying.saturating_sub(self.credits.flying))
        } else {
            payload.saturating_sub(self.credits.flying)
        };
        self.credits.flying = self.credits.flying.saturating_sub(payload - bytes);
        if bytes > 0 {
            let in_recovery = self.episode.has_losses();
            record.episode = self.episode.lose(record.episode);
            self.engines.rate.on_loss(now, sent.of(bytes), in_recovery, cause);
        }
    }
}

/// The send buffer of a connection.
fn send_buffer(config: &Config, path: &Path) -> Bytes {
    config.stream.send_buffer(config.line_rate, path.base_rtt)
}

/// Whether a stream may be on the fast path at all.
fn may_be_fast(config: &Config) -> bool {
    let compact = !config.full_packets;
    compact && !config.stream.record_all && u16::try_from(config.stream.largest_segment()).is_ok()
}

/// The payload of the whole segments in `bytes`.
const fn whole(bytes: u64, segment: u64) -> u64 {
    if bytes == segment { bytes } else { bytes / segment * segment }
}

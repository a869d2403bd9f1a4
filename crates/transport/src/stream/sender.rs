//! The sending half of a stream: what may be sent, the scoreboard of what is out, timers.

use std::collections::VecDeque;

use incast_cc::parts::Pacer;
use incast_cc::{Bytes, CongestionControl, LossCause, Pacing, Rate, RttSample, Span, Time};

use super::config::EcnEcho;
use super::packet::{Ack, Segment};
use super::recovery::{Rack, Repair};
use super::scoreboard::{Fate, Record, Scoreboard};
use crate::config::Config;
use crate::endpoint::{ENDLESS, Sample};
use crate::rate::{Completion, RateComputation, Report, Transmission, pacing_rate};
use crate::rtt::RttMeasurement;

/// Duplicate ACKs, or segments beyond a gap, that tell of a loss (RFC 5681, RFC 8985).
const DUPLICATE_THRESHOLD: u32 = 3;
/// A burst may take so large a part of the window, as in Linux (`tcp_tso_win_divisor`).
const BURSTS_PER_WINDOW: u64 = 3;

/// What one stream has to send and has sent.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    rate: RateComputation<C>,
    rtt: RttMeasurement,
    pacer: Pacer,
    messages: VecDeque<Message>,
    /// Payload posted in all; [`None`] once a message has no end.
    posted: Option<Bytes>,
    opening: Opening,
    /// The next byte that has not been sent.
    next: u64,
    /// The first byte that has not been acknowledged.
    acknowledged: u64,
    /// Where the receiver's window ends.
    window_end: u64,
    board: Scoreboard,
    /// Given to the NIC, which has not sent it yet.
    outbox: VecDeque<Segment>,
    queued: u64,
    /// When the next of them may leave.
    next_at: Time,
    rack: Rack,
    repair: Repair,
    /// Without SACK: duplicate ACKs since the last progress. Each says that a segment has arrived without
    /// telling which.
    duplicate_acks: u32,
    /// Of the segments that fly, payload that duplicate ACKs have taken out of the books.
    credited: u64,
    /// Payload that they have counted as delivered and no ACK has covered.
    counted: u64,
    /// Timeouts in a row.
    backoff: u32,
    /// When the retransmission timer was started.
    timer_from: Time,
    /// When the last new segment was given to the NIC, while no tail-loss probe has been sent since.
    probe_from: Option<Time>,
    /// The next segment answers the classic ECN echo; what is sent from here on is echoed anew.
    cwr: bool,
    echo_from: u64,
    /// The newest that was acknowledged.
    newest: Option<Transmission>,
    retransmissions: u64,
    /// What a full segment takes on the wire: spares a division per ACK.
    full_segment: Span,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    remaining: u64,
    read: u64,
}

/// Whether the peer has agreed to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// It has not been asked.
    No,
    /// It was asked at this time; how often before, and whether the question has left the NIC.
    Asked {
        at: Time,
        before: u32,
    },
    Done,
}

/// What one ACK says has arrived that was not known to have.
#[derive(Default)]
struct News {
    /// Payload, each byte counted once.
    delivered: u64,
    /// The transmissions, with what of them was still in flight.
    sent: Option<Transmission>,
    /// Where the newest of them ends, and when it was sent if its RTT is unambiguous.
    newest_end: Bytes,
    sent_at: Option<Time>,
    /// Its payload.
    payload: u32,
    messages: u32,
    /// Whether the cumulative acknowledgement has moved.
    progress: bool,
}

impl<C: CongestionControl> Sender<C> {
    pub(crate) fn new(rate: RateComputation<C>, config: &Config, now: Time) -> Self {
        Self {
            rate,
            rtt: RttMeasurement::new(config),
            pacer: Pacer::default(),
            messages: VecDeque::new(),
            posted: Some(Bytes::ZERO),
            opening: if config.stream.handshake { Opening::No } else { Opening::Done },
            next: 0,
            acknowledged: 0,
            window_end: config.stream.receive_buffer.get().min(u64::from(u32::MAX)),
            board: Scoreboard::default(),
            outbox: VecDeque::new(),
            queued: 0,
            next_at: now,
            rack: Rack::default(),
            repair: Repair::None,
            duplicate_acks: 0,
            credited: 0,
            counted: 0,
            backoff: 0,
            timer_from: now,
            probe_from: None,
            cwr: false,
            echo_from: 0,
            newest: None,
            retransmissions: 0,
            full_segment: config.line_rate.time_for(config.stream.mss + config.header),
        }
    }

    /// The algorithm and its books.
    pub const fn rate(&self) -> &RateComputation<C> {
        &self.rate
    }

    /// RTT measurement and timeouts.
    pub const fn rtt(&self) -> &RttMeasurement {
        &self.rtt
    }

    /// The algorithm's rate, or its window over the RTT.
    pub fn pacing_rate(&self) -> Rate {
        pacing_rate(self.rate.limits(), self.rtt.srtt())
    }

    /// Segments sent again.
    pub const fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Payload that waits in the NIC.
    pub(crate) const fn queued(&self) -> u64 {
        self.queued
    }

    /// Whether everything posted has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty() && self.board.is_empty()
    }

    pub(crate) fn post(&mut self, now: Time, bytes: u64, read: u64, config: &Config) {
        let size = if bytes == ENDLESS { None } else { Some(Bytes::new(bytes)) };
        self.posted = self.posted.zip(size).map(|(posted, size)| posted + size);
        self.rate.on_demand(now, size);
        self.messages.push_back(Message { remaining: bytes, read });
        if self.opening == Opening::No {
            self.ask(now, 0);
        }
        self.fill(now, config);
    }

    /// Asks the peer for the connection.
    fn ask(&mut self, now: Time, before: u32) {
        self.opening = Opening::Asked { at: now, before };
        self.next_at = self.next_at.max(now);
        self.outbox.push_back(Segment {
            sequence: 0,
            read: 0,
            payload: 0,
            ends_message: false,
            ect: false,
            cwr: false,
            opens: true,
        });
    }

    /// The peer has agreed. The exchange gives the first RTT, unless it is unclear which question was
    /// answered.
    fn opened(&mut self, now: Time, config: &Config) {
        if let Opening::Asked { at, before } = self.opening {
            if before == 0 {
                self.rtt.sample(at, now, config.line_rate.time_for(config.header));
            }
            self.opening = Opening::Done;
            self.fill(now, config);
        }
    }

    // What may be sent.

    /// When the next segment may leave; [`None`] while there is none, or none is allowed.
    pub(crate) fn send_time(&self, config: &Config) -> Option<Time> {
        if !self.outbox.is_empty() {
            return Some(self.next_at);
        }
        let pace = self.pace(config)?;
        self.next_burst(config).map(|_| self.pacer.send_time(pace))
    }

    /// The rate that bursts are spaced by; [`None`] where ACKs clock them.
    fn pace(&self, config: &Config) -> Option<Rate> {
        let gain_percent = match self.rate.limits().pacing {
            Pacing::Rate(rate) => return Some(rate),
            Pacing::Window { gain_percent } => gain_percent,
            Pacing::Unpaced => config.stream.pace_windows_percent?,
        };
        let rate = self.pacing_rate();
        let known = !rate.is_zero();
        Some(if known { rate * u64::from(gain_percent) / 100 } else { Rate::MAX })
    }

    /// The payload of the burst that may be given to the NIC now, or at its time if it is paced.
    fn next_burst(&self, config: &Config) -> Option<Bytes> {
        if self.opening != Opening::Done || self.queued >= config.stream.small_queue.get() {
            return None;
        }
        let bytes = self.waiting(config);
        (!bytes.is_zero() && self.rate.admits(bytes)).then_some(bytes)
    }

    /// The payload of the next burst, were it for the congestion window alone: what is lost goes before
    /// what is new.
    fn waiting(&self, config: &Config) -> Bytes {
        if let Some(record) = self.board.first_lost() {
            return Bytes::new(u64::from(record.payload));
        }
        let Some(message) = self.messages.front() else { return Bytes::ZERO };
        let mss = config.stream.mss.get();
        let limits = self.rate.limits();
        let most = (limits.cwnd.get() / BURSTS_PER_WINDOW).max(mss);
        let burst = config.stream.tso.min(limits.burst.bytes).get().clamp(mss, most);
        let bytes = message.remaining.min(burst);
        let end = self.window_end.min(self.acknowledged + config.stream.send_buffer.get());
        let room = end.saturating_sub(self.next);
        // A segment is not cut to fit: that would be the silly window syndrome.
        Bytes::new(if bytes <= room { bytes } else { room / mss * mss })
    }

    /// Gives the NIC what ACKs allow, unless it is paced.
    fn fill(&mut self, now: Time, config: &Config) {
        if self.pace(config).is_some() {
            return;
        }
        while let Some(bytes) = self.next_burst(config) {
            self.give(now, bytes, config);
        }
    }

    /// The send time has come: the pacing engine gives the NIC the next burst.
    pub(crate) fn start_burst(&mut self, now: Time, config: &Config) {
        if self.outbox.is_empty()
            && let Some(bytes) = self.next_burst(config)
        {
            self.give(now, bytes, config);
        }
    }

    /// Gives the NIC a burst: the first segment that is lost, or `bytes` that are new.
    fn give(&mut self, now: Time, bytes: Bytes, config: &Config) {
        self.pacer.sent(now, bytes);
        if self.outbox.is_empty() {
            self.next_at = self.next_at.max(now);
        }
        if self.board.first_lost().is_some() {
            return self.send_again(now, config);
        }
        let mut left = bytes.get();
        while left > 0 {
            let sent = self.send_new(now, left.min(config.stream.mss.get()), config);
            left = left.saturating_sub(sent);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most an MSS")]
    fn send_new(&mut self, now: Time, most: u64, config: &Config) -> u64 {
        let Some(message) = self.messages.front_mut() else { return most };
        let payload = message.remaining.min(most) as u32;
        if message.remaining != ENDLESS {
            message.remaining -= u64::from(payload);
        }
        let (ends_message, read) = (message.remaining == 0, message.read);
        if ends_message {
            self.messages.pop_front();
        }
        let app_limited = self.messages.is_empty();
        if self.board.is_empty() {
            self.timer_from = now;
        }
        let sent = self.rate.on_sent(now, Bytes::new(u64::from(payload)), false, app_limited);
        let record = Record {
            sequence: self.next,
            payload,
            ends_message,
            read,
            sent,
            fate: Fate::Flying,
            sent_again: false,
        };
        self.next = record.end();
        self.board.push(record);
        self.probe_from = Some(now);
        let cwr = std::mem::take(&mut self.cwr);
        self.enqueue(&record, cwr, config);
        u64::from(payload)
    }

    fn send_again(&mut self, now: Time, config: &Config) {
        let Some(record) = self.board.first_lost() else { return };
        let (payload, before) = (Bytes::new(u64::from(record.payload)), record.sent);
        let app_limited = self.messages.is_empty();
        let again = self.rate.on_sent(now, payload, true, app_limited);
        let record = self.board.send_again(again.since(&before));
        self.retransmissions += 1;
        self.timer_from = now;
        self.enqueue(&record, false, config);
    }

    fn enqueue(&mut self, record: &Record, cwr: bool, config: &Config) {
        self.queued += u64::from(record.payload);
        self.outbox.push_back(Segment {
            sequence: record.sequence,
            read: record.read,
            payload: record.payload,
            ends_message: record.ends_message,
            ect: config.stream.ect,
            cwr,
            opens: false,
        });
    }

    /// The next segment for the wire, and when the one after it may leave; [`None`] ends the burst.
    pub(crate) fn next_packet(
        &mut self,
        now: Time,
        config: &Config,
    ) -> Option<(Segment, Option<Time>)> {
        let segment = self.outbox.pop_front()?;
        self.queued -= u64::from(segment.payload);
        let rate = self.rate.limits().burst.rate;
        let gap = if rate < config.line_rate {
            rate.time_for(Bytes::new(u64::from(segment.payload)))
        } else {
            Span::ZERO
        };
        self.next_at = now + gap;
        if self.outbox.is_empty() {
            self.fill(now, config); // the NIC's queue was what held data back
        }
        Some((segment, (!self.outbox.is_empty()).then_some(self.next_at)))
    }

    // What has arrived.

    /// Takes in an ACK. Returns its RTT sample and how many messages are now acknowledged.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        config: &Config,
        report: Report<'_>,
        nic_backlog: u64,
    ) -> (Option<Sample>, u32) {
        if ack.opens {
            self.opened(now, config);
            return (None, 0);
        }
        self.window_end = self.window_end.max(ack.sequence + u64::from(ack.window));
        let was_limited = self.waiting(config);
        let progress = ack.sequence > self.acknowledged;
        let mut news = News { progress, ..News::default() };
        if news.progress {
            self.acknowledge(now, ack.sequence, &mut news);
        }
        self.take_blocks(now, ack, &mut news);
        if self.repair.ends_at(self.acknowledged) {
            self.repair = Repair::None;
        }
        if !config.stream.sack {
            self.without_sack(now, ack, &mut news, config);
        }
        if news.delivered > 0 {
            (self.timer_from, self.backoff) = (now, 0);
            if news.progress {
                self.probe_from = self.probe_from.map(|_| now);
            }
        }
        let sample = news.sent_at.map(|at| {
            let wire = Bytes::new(u64::from(news.payload)) + config.header;
            let full = wire == config.stream.mss + config.header;
            let alone = if full { self.full_segment } else { config.line_rate.time_for(wire) };
            self.rtt.sample(at, now, alone)
        });
        if config.stream.sack {
            self.detect(now);
        }
        self.tell(now, ack, &news, sample, was_limited, config, report, nic_backlog);
        self.fill(now, config);
        let rate = self.pacing_rate();
        (sample.map(|rtt| Sample { rtt, measured: rtt.total, rate }), news.messages)
    }

    fn acknowledge(&mut self, now: Time, sequence: u64, news: &mut News) {
        self.acknowledged = sequence;
        while let Some(record) = self.board.pop_below(sequence) {
            news.messages += u32::from(record.ends_message);
            self.arrived(now, record, news);
        }
        self.duplicate_acks = 0;
        self.next = self.next.max(sequence);
    }

    fn take_blocks(&mut self, now: Time, ack: &Ack, news: &mut News) {
        for block in ack.blocks.iter().filter(|block| block.length > 0) {
            let start = ack.sequence + u64::from(block.start);
            for number in self.board.sack(start..start + u64::from(block.length)) {
                if let Some(record) = self.board.mark_sacked(number) {
                    self.arrived(now, record, news);
                }
            }
        }
    }

    /// The books of one segment of which it is now known that it has arrived; `record` is as it was.
    fn arrived(&mut self, now: Time, record: Record, news: &mut News) {
        let Record { payload, sent, fate, sent_again, .. } = record;
        if fate == Fate::Sacked {
            return;
        }
        news.delivered += u64::from(payload);
        // An answer sooner than any RTT is one to the transmission before.
        let too_soon = sent_again && now.since(sent.sent_at) < self.rtt.min_rtt();
        if fate == Fate::Lost || too_soon {
            self.rate.on_spurious_loss(now, sent);
        }
        let flying = if fate == Fate::Flying { payload } else { 0 };
        let sent = sent.of(u64::from(flying));
        news.sent = Some(news.sent.map_or(sent, |all| all.join(sent)));
        if sent.end > news.newest_end && fate == Fate::Flying {
            (news.newest_end, news.payload) = (sent.end, payload);
            news.sent_at = (!sent_again).then_some(sent.sent_at);
        }
        if !too_soon && fate == Fate::Flying {
            let reordered = !sent_again && sent.end < self.rack.end;
            self.rack.deliver(now, &sent, reordered);
        }
    }

    /// Recovery by duplicate ACKs (RFC 5681, RFC 6582): each says that a segment has left the network,
    /// a partial ACK that the next one is lost too.
    fn without_sack(&mut self, now: Time, ack: &Ack, news: &mut News, config: &Config) {
        if news.progress {
            if self.repair.is_recovery() {
                let leaving = news.sent.map_or(0, |sent| sent.bytes.get());
                self.lose_first(now, leaving); // a partial ACK
            }
            return;
        }
        if self.board.is_empty() || ack.duplicate || ack.sequence < self.acknowledged {
            return; // an answer to what had arrived before, or late: nothing has left the network
        }
        self.duplicate_acks += 1;
        if self.duplicate_acks == DUPLICATE_THRESHOLD && self.repair == Repair::None {
            self.lose_first(now, 0);
        }
        let flying = self.rate.in_flight().get().min(config.stream.mss.get());
        let uncounted = self.next - self.acknowledged - self.counted;
        if let Some(record) = self.board.front() {
            let credit = flying.min(u64::from(record.payload)).min(uncounted);
            self.credited += credit;
            self.counted += credit;
            news.delivered += credit;
            news.sent = Some(record.sent.of(credit));
        }
    }

    /// The first segment is lost; `leaving` is payload that this ACK covers.
    fn lose_first(&mut self, now: Time, leaving: u64) {
        if let Some(number) = self.board.first_flying() {
            self.lose(now, number, LossCause::Detected, leaving);
        }
    }

    /// RACK: what was sent a reordering window before something that has arrived is lost.
    fn detect(&mut self, now: Time) {
        let certain = self.repair != Repair::None || self.board.sacked() >= DUPLICATE_THRESHOLD;
        let window = self.rack.reordering_window(certain, self.rtt.min_rtt(), self.rtt.srtt());
        self.rack.alarm = None;
        while let Some((number, sent)) = self.board.oldest_flying() {
            if sent.end >= self.rack.end {
                return;
            }
            let lost_at = sent.sent_at + self.rack.rtt + window;
            if lost_at > now {
                self.rack.alarm = Some(lost_at);
                return;
            }
            self.lose(now, number, LossCause::Detected, 0);
        }
    }

    fn lose(&mut self, now: Time, number: u64, cause: LossCause, leaving: u64) {
        let flying = self.board.flying_bytes();
        let Some(sent) = self.board.lose(number) else { return };
        // Without SACK a part of what flies is out of the books already.
        let credited = self.credited.saturating_sub(leaving);
        let bytes = sent.bytes.get().min(flying.saturating_sub(credited));
        self.credited = self.credited.saturating_sub(sent.bytes.get() - bytes);
        let in_recovery = self.repair != Repair::None;
        if cause == LossCause::Detected && !in_recovery {
            self.repair = Repair::Recovery { until: self.next };
        }
        if bytes > 0 {
            self.rate.on_loss(now, sent.of(bytes), in_recovery, cause);
        }
    }

    /// Tells the algorithm what the ACK said.
    #[expect(clippy::too_many_arguments, reason = "what one ACK brings together")]
    fn tell(
        &mut self,
        now: Time,
        ack: &Ack,
        news: &News,
        sample: Option<RttSample>,
        waiting: Bytes,
        config: &Config,
        report: Report<'_>,
        nic_backlog: u64,
    ) {
        let ce_bytes = match config.stream.echo {
            EcnEcho::Exact => u64::from(ack.ce_bytes),
            EcnEcho::Classic if ack.ece => {
                if self.acknowledged > self.echo_from {
                    (self.cwr, self.echo_from) = (true, self.next);
                }
                news.delivered
            }
            EcnEcho::Classic => 0,
        };
        let marked_alone = self.newest.filter(|_| ce_bytes > 0).map(|sent| sent.of(0));
        let Some(mut sent) = news.sent.or(marked_alone) else { return };
        let mut delivered = news.delivered;
        if news.progress {
            // What duplicate ACKs have counted is not counted again.
            let credited = self.credited.min(sent.bytes.get());
            self.credited -= credited;
            sent.bytes = sent.bytes.saturating_sub(Bytes::new(credited));
            let counted = self.counted.min(delivered);
            self.counted -= counted;
            delivered -= counted;
        }
        self.newest = Some(sent);
        let one_way = {
            #[expect(clippy::cast_possible_truncation, reason = "the field wraps, as documented")]
            let sent_ns = sent.sent_at.since(Time::ZERO).as_ns() as u32;
            Span::from_ns(u64::from(ack.arrived_ns.wrapping_sub(sent_ns)))
        };
        let completion = Completion {
            sent,
            delivered: Bytes::new(delivered),
            ce_bytes: Bytes::new(ce_bytes),
            sample,
            in_recovery: self.repair.is_recovery(),
            posted: self.posted,
            waiting,
            one_way: sample.map(|_| one_way),
            nic_backlog: Bytes::new(nic_backlog),
            report,
        };
        self.rate.on_completion(now, &completion, &self.rtt);
    }

    pub(crate) fn on_notification(&mut self, now: Time) {
        self.rate.on_notification(now);
    }

    // Timers.

    /// When the sender wants to be woken, sent segments and ACKs apart.
    pub(crate) fn alarm(&self, config: &Config) -> Option<Time> {
        [self.timeout_at(), self.probe_at(config), self.rack.alarm, self.rate.next_timer()]
            .into_iter()
            .flatten()
            .min()
    }

    fn timeout_at(&self) -> Option<Time> {
        if let Opening::Asked { at, before } = self.opening {
            return self.outbox.is_empty().then(|| at + self.rtt.rto(before));
        }
        let waits = !self.board.is_empty() && self.outbox.is_empty();
        waits.then(|| self.timer_from + self.rtt.rto(self.backoff))
    }

    /// RFC 8985, section 7.2: two RTTs after the last segment, if its loss would leave no other trace.
    fn probe_at(&self, config: &Config) -> Option<Time> {
        let from = self.probe_from?;
        let allowed = config.stream.tail_loss_probe && self.repair == Repair::None;
        if !allowed || !self.outbox.is_empty() || self.board.sacked() > 0 || self.board.is_empty() {
            return None;
        }
        let mut wait = self.rtt.srtt() * 2;
        if wait.is_zero() {
            return None; // the retransmission timer comes first
        }
        if self.board.len() == 1 && config.stream.delayed_ack > 1 {
            wait += config.stream.delayed_ack_timeout;
        }
        let at = from + wait;
        (at < self.timer_from + self.rtt.rto(self.backoff)).then_some(at)
    }

    /// An alarm has come, or a moment that was one: does what is due.
    pub(crate) fn on_alarm(&mut self, now: Time, config: &Config) {
        self.rate.on_timer(now);
        if self.timeout_at().is_some_and(|at| at <= now) {
            match self.opening {
                Opening::Asked { before, .. } => self.ask(now, before + 1),
                _ => self.on_timeout(now),
            }
        } else if self.probe_at(config).is_some_and(|at| at <= now) {
            self.probe(now, config);
        }
        if self.rack.alarm.is_some_and(|at| at <= now) {
            self.detect(now);
        }
        self.fill(now, config);
    }

    /// Nothing was heard: all that is out counts as lost.
    fn on_timeout(&mut self, now: Time) {
        let cause = if self.backoff == 0 { LossCause::Timeout } else { LossCause::Persistent };
        while let Some((number, _)) = self.board.oldest_flying() {
            self.lose(now, number, cause, 0);
        }
        self.repair = Repair::Timeout { until: self.next };
        self.duplicate_acks = 0;
        self.rack.alarm = None;
        self.probe_from = None;
        self.backoff += 1;
        self.timer_from = now;
    }

    /// One more segment, whatever the window says: a new one if there is one, else the last one again,
    /// a copy that is in no books since what it copies is in flight.
    fn probe(&mut self, now: Time, config: &Config) {
        self.probe_from = None;
        self.timer_from = now;
        let room = self.window_end.min(self.acknowledged + config.stream.send_buffer.get());
        if !self.messages.is_empty() && self.next + config.stream.mss.get() <= room {
            self.send_new(now, config.stream.mss.get(), config);
            self.probe_from = None;
        } else if let Some(record) = self.board.copy_last() {
            self.retransmissions += 1;
            self.enqueue(&record, false, config);
        }
    }
}

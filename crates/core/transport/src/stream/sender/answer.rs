//! The answers to a stream: the data that has arrived, the losses, and the report to the algorithm.

use std::ops::Range;

use incast_cc::{Bytes, CongestionControl, LossCause, RttSample, Span, Time};

use super::{DUPLICATE_THRESHOLD, Probe, Sender};
use crate::config::Config;
use crate::config::stream::EcnEcho;
use crate::connection::Sample;
use crate::packet::clock_ns;
use crate::packet::stream::Ack;
use crate::rate::{Completion, Report, Transmission};
use crate::stream::recovery::{Payload, Repair};
use crate::stream::scoreboard::{Acknowledged, Fate, Record};

/// The news of one ACK: data that was not known to have arrived.
#[derive(Default)]
struct News {
    /// The payload, each byte counted once.
    delivered: u64,
    /// The transmissions of it, joined, with their payload that was still in flight.
    sent: Option<Transmission>,
    /// The end of the newest of them.
    newest_end: Bytes,
    /// The send time of the newest, if its RTT is unambiguous.
    sent_at: Option<Time>,
    /// The payload of the newest.
    payload: u32,
    /// The number of messages that are now acknowledged.
    messages: u32,
    /// Whether the cumulative acknowledgement has moved.
    progress: bool,
    /// The first segment that the cumulative acknowledgement has moved over.
    first: Payload,
    /// The end of the highest segment that had arrived before.
    highest: u64,
    /// Whether this is a duplicate ACK that does not tell what has arrived.
    anonymous: bool,
    /// Whether the window held data back when the ACK came.
    window_limited: bool,
    /// The start of data sent after the last silence, in transmission order, if the ACK answers
    /// data sent before it.
    old: Option<Bytes>,
}

impl<C: CongestionControl> Sender<C> {
    /// Takes in an ACK that its receiver made at `made_ns`. Returns its RTT sample and the number
    /// of messages that are now acknowledged.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        made_ns: u32,
        config: &Config,
        report: Report<'_>,
        nic_backlog: u64,
    ) -> (Option<Sample>, u32) {
        let held = if config.stream.ack_delay { made_ns.wrapping_sub(ack.arrived_ns) } else { 0 };
        if let Some(header) = Self::plain_header(ack)
            && self.acknowledges(&header, config)
        {
            return self.on_plain_ack(now, &header, held, config, report, nic_backlog);
        }
        let asked = self.end_probes(now);
        if ack.opens {
            self.opened(now, ack.echo, config);
            if asked {
                self.fill(now, config);
            }
            return (None, 0);
        }
        self.slow_down();
        self.note_drained(now);
        let mut news = News {
            progress: ack.sequence > self.acknowledged,
            highest: self.rack.highest(),
            window_limited: self.is_window_limited(now, config),
            old: self.silence.as_ref().and_then(|silence| silence.follows(ack.echo)),
            ..News::default()
        };
        let undecided = self.silence.as_ref().is_some_and(|silence| silence.open);
        let late = undecided && news.progress && self.judge_timeout(now, news.old.is_some());
        if news.progress {
            self.acknowledge(now, ack.sequence, &mut news);
        }
        self.take_blocks(now, ack, &mut news);
        if self.repair.ends_at(self.acknowledged) {
            self.end_repair();
        }
        if config.stream.sack {
            self.note_duplicate(ack);
        } else {
            self.without_sack(now, ack, &mut news);
        }
        if news.delivered > 0 {
            self.timeouts = 0;
            if !news.anonymous {
                self.engines.timer_from = now; // RFC 6298, 5.3
            }
        }
        if news.progress {
            self.probe_from = now;
        }
        let sample = news
            .sent_at
            .map(|at| self.take_sample(now, at, u64::from(news.payload), held, late, config));
        let lost = self.board.lost();
        if config.stream.sack {
            self.detect(now);
        }
        self.tell(now, ack, &news, sample, config, report, nic_backlog);
        if self.repair.is_recovery() {
            let good = news.progress && self.board.lost() == lost;
            let (flying, window) =
                (self.engines.rate.in_flight().get(), self.engines.rate.limits().cwnd.get());
            let more = good.then_some(config.stream.mss.get());
            self.reduction.on_ack(news.delivered, flying, window, more);
        }
        self.fill(now, config);
        self.speed_up(config);
        let rate = self.engines.pacing_rate();
        let sample = sample.zip(news.sent_at);
        let sample = sample.map(|(rtt, at)| Sample { rtt, measured: now.since(at), rate });
        (sample, news.messages)
    }

    /// Decides about a timeout by the first ACK of new data after it. If the ACK answers data sent
    /// before the timeout, that was spurious (RFC 3522): no more is sent again, the algorithm takes
    /// its answer back (RFC 4015), and a recovery that was going on is over, as in Linux. Returns
    /// whether the timeout was spurious.
    #[cold]
    fn judge_timeout(&mut self, now: Time, old: bool) -> bool {
        let Some(silence) = &mut self.silence else { return false };
        silence.open = false;
        if !old {
            return false;
        }
        let refuted = self.board.revive(silence.episode);
        if let Some((sequence, sent)) = silence.first {
            self.board.restore(sequence, sent);
        }
        (self.repair, self.urgent) = (Repair::None, false);
        self.episode.close();
        if let Some((sent, returned)) = refuted {
            self.engines.rate.on_spurious_timeout(now, sent, returned);
        }
        true
    }

    /// Whether the window alone holds data back: not the application, a buffer, or the pacer.
    #[expect(clippy::inline_always, reason = "in the way of every ACK")]
    #[inline(always)]
    pub(super) fn is_window_limited(&self, now: Time, config: &Config) -> bool {
        let waiting = self.waiting(config);
        !waiting.is_zero()
            && !self.engines.rate.admits(waiting)
            && self.pace(config).is_none_or(|pace| self.engines.pacer.send_time(pace) <= now)
    }

    fn acknowledge(&mut self, now: Time, sequence: u64, news: &mut News) {
        self.acknowledged = sequence;
        if let Some(run) = self.board.pop_in_order(sequence) {
            return self.arrived_in_order(now, &run, news);
        }
        while let Some(record) = self.board.pop_below(sequence) {
            news.messages += u32::from(record.ends_message);
            let payload = u64::from(record.payload);
            if news.first.bytes == 0 {
                let flying = if record.fate == Fate::Flying { payload } else { 0 };
                news.first = Payload { bytes: payload, flying };
            }
            self.arrived(now, record, news);
        }
    }

    /// Does what [`arrived`](Self::arrived) would for segments that are all in flight and were sent
    /// once, when nothing that was sent after them has arrived.
    fn arrived_in_order(&mut self, now: Time, run: &Acknowledged, news: &mut News) {
        let &Acknowledged { sent, messages, first, last, end } = run;
        let first = u64::from(first);
        (news.messages, news.delivered) = (messages, sent.bytes.get());
        (news.first, news.sent) = (Payload { bytes: first, flying: first }, Some(sent));
        (news.newest_end, news.payload, news.sent_at) = (sent.end, last, Some(sent.sent_at));
        self.rack.note_order(end, news.highest, false);
        self.rack.deliver(now, sent.sent_at, sent.end);
    }

    fn take_blocks(&mut self, now: Time, ack: &Ack, news: &mut News) {
        for block in ack.blocks.iter().filter(|block| block.length > 0) {
            let start = ack.sequence + u64::from(block.start);
            self.take_block(now, start..start + u64::from(block.length), news);
        }
    }

    #[cold]
    fn take_block(&mut self, now: Time, range: Range<u64>, news: &mut News) {
        for number in self.board.sack(range) {
            if let Some(record) = self.board.mark_sacked(number) {
                self.arrived(now, record, news);
            }
        }
    }

    /// Notes that a segment is now known to have arrived; `record` is as it was before.
    #[expect(clippy::inline_always, reason = "a record is long, and little of it is looked at")]
    #[inline(always)]
    fn arrived(&mut self, now: Time, record: Record, news: &mut News) {
        let Record { payload, sent, fate, sent_again, episode, .. } = record;
        if fate == Fate::Sacked {
            return;
        }
        news.delivered += u64::from(payload);
        let copy = self.probe.filter(|probe| probe.copied == Some(record.sequence));
        let sent_at = copy.map_or(sent.sent_at, |probe| probe.sent_at);
        // An answer much sooner than any RTT, or before the segment has left the NIC, is one to the
        // transmission before. A little sooner is jitter, and before the first RTT nothing is
        // known.
        let least = self.engines.rtt.min_rtt();
        let sooner = least != Span::MAX && now.since(sent_at) < least / 4 * 3;
        let before = news.old.is_some_and(|from| sent.end > from);
        let too_soon = sent_again && (before || sooner || sent.end > self.left);
        if episode > 0 {
            self.arrived_after_loss(now, episode, sent, fate == Fate::Lost || too_soon);
        }
        let flying = if fate == Fate::Flying { payload } else { 0 };
        let left = sent.of(u64::from(flying));
        match &mut news.sent {
            None => news.sent = Some(left),
            Some(all) => all.join(left),
        }
        if sent.end > news.newest_end {
            (news.newest_end, news.payload) = (sent.end, payload);
            news.sent_at = (!sent_again).then_some(sent.sent_at); // Karn
        }
        self.rack.note_order(record.end(), news.highest, sent_again);
        match copy {
            Some(_) if too_soon => self.rack.deliver(now, sent.sent_at, sent.end),
            _ if too_soon => {}
            _ => self.rack.deliver(now, sent_at, sent.end),
        }
    }

    /// Notes the arrival of a segment that was declared lost, perhaps falsely.
    #[cold]
    fn arrived_after_loss(&mut self, now: Time, episode: u32, sent: Transmission, falsely: bool) {
        let refuted = self.episode.arrive(episode, sent, falsely);
        if !refuted.is_empty() {
            (self.repair, self.urgent) = (Repair::None, false); // nothing was to be repaired
        }
        for sent in refuted {
            self.engines.rate.on_spurious_loss(now, sent);
        }
    }

    /// Notes a duplicate at the receiver (RFC 2883): a retransmission or a probe was needless.
    fn note_duplicate(&mut self, ack: &Ack) {
        let copied = self.probe.is_some_and(|probe| probe.copied.is_some());
        if ack.duplicate && !copied {
            self.rack.note_duplicate(self.acknowledged, self.next);
        }
        let answered = |probe: Probe| match probe.copied {
            None => self.acknowledged >= probe.end,
            Some(_) => self.acknowledged > probe.end || ack.duplicate,
        };
        self.probe = self.probe.filter(|&probe| !answered(probe));
    }

    fn end_repair(&mut self) {
        self.repair = Repair::None;
        self.urgent = false;
        self.rack.end_recovery();
    }

    /// Recovers by duplicate ACKs (RFC 5681, RFC 6582): each says that a segment has left the
    /// network, and a partial ACK says that the next one is lost too.
    fn without_sack(&mut self, now: Time, ack: &Ack, news: &mut News) {
        if news.progress {
            let flying = news.sent.map_or(0, |sent| sent.bytes.get());
            let covered = Payload { bytes: news.delivered, flying };
            let told = self.credits.settle(covered, news.first, self.beyond_first());
            news.delivered = told.bytes;
            news.sent = news.sent.map(|sent| sent.of(told.flying));
            if self.repair.is_recovery() {
                self.urgent = true; // a partial ACK
                self.lose_first(now);
            }
            return;
        }
        let old = ack.duplicate || ack.sequence < self.acknowledged;
        let Some(&Record { payload, sent, .. }) = self.board.front().filter(|_| !old) else {
            return; // an answer to a duplicate, or a late one: nothing has left the network
        };
        self.credits.acks += 1;
        if self.credits.acks == DUPLICATE_THRESHOLD && self.repair == Repair::None {
            self.lose_first(now);
        }
        // Before the third, RFC 3042's limited transmit; after a timeout they tell of data sent
        // before it.
        if !matches!(self.repair, Repair::Timeout { .. }) {
            news.delivered = self.credits.give(u64::from(payload), self.beyond_first());
            news.sent = (news.delivered > 0).then_some(sent.of(news.delivered));
            news.anonymous = true;
        }
    }

    /// The payload that duplicate ACKs can be about: all that is out but the first segment, which
    /// is missing.
    fn beyond_first(&self) -> Payload {
        let Some(first) = self.board.front() else { return Payload::default() };
        let first_flying = if first.fate == Fate::Flying { u64::from(first.payload) } else { 0 };
        Payload { bytes: self.next - first.end(), flying: self.board.flying_bytes() - first_flying }
    }

    /// Declares the first segment in flight lost, if it has left the NIC.
    fn lose_first(&mut self, now: Time) {
        if let Some((number, sent)) = self.board.first_flying()
            && sent.end <= self.left
            && self.engines.blind().is_none()
        {
            self.lose(now, number, LossCause::Detected);
        }
    }

    /// Declares segments lost by RACK: those that were sent a reordering window before one that has
    /// arrived.
    pub(super) fn detect(&mut self, now: Time) {
        if self.engines.blind().is_some() {
            return;
        }
        let certain = self.repair != Repair::None || self.board.sacked() >= DUPLICATE_THRESHOLD;
        let window = self.rack.reordering_window(
            certain,
            self.engines.rtt.min_rtt(),
            self.engines.rtt.srtt(),
        );
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
            self.lose(now, number, LossCause::Detected);
        }
    }

    /// Tells the algorithm the content of the ACK.
    #[expect(clippy::too_many_arguments, reason = "what one ACK brings together")]
    fn tell(
        &mut self,
        now: Time,
        ack: &Ack,
        news: &News,
        sample: Option<RttSample>,
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
        let mark_alone;
        let sent = match (&news.sent, &self.newest) {
            (Some(sent), newest) => {
                if newest.as_ref().is_none_or(|newest| newest.end < sent.end) {
                    self.newest = Some(*sent);
                }
                sent
            }
            (None, Some(newest)) if ce_bytes > 0 => {
                mark_alone = newest.of(0);
                &mark_alone
            }
            (None, _) => return,
        };
        let one_way_ns = ack.arrived_ns.wrapping_sub(clock_ns(sent.sent_at));
        let completion = Completion {
            sent,
            identified: news.sent.is_some() && !news.anonymous,
            delivered: Bytes::new(news.delivered),
            ce_bytes: Bytes::new(ce_bytes),
            sample,
            in_recovery: self.repair.is_recovery(),
            posted: self.engines.messages.posted(),
            window_limited: news.window_limited,
            one_way: sample.map(|_| Span::from_ns(u64::from(one_way_ns))),
            nic_backlog: Bytes::new(nic_backlog),
            report,
        };
        self.engines.rate.on_completion(now, &completion, &self.engines.rtt);
    }
}

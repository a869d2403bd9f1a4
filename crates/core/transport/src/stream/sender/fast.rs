//! The fast path of a stream: all that is out is in flight, was sent once, and in order.
//!
//! An ACK that moves the cumulative acknowledgement, and tells nothing else, stays on the fast
//! path (header prediction, as Van Jacobson called it in TCP). It finds its burst at the front,
//! takes one RTT sample, and tells the algorithm. [`slow_down`](Sender::slow_down) writes the
//! record of each segment from its burst, for all that is unusual;
//! [`speed_up`](Sender::speed_up) goes back when nothing unusual is left.

use incast_cc::{Bytes, CongestionControl, RttSample, Span, Time};

use super::{Queued, Sender, may_be_fast};
use crate::backlog::Piece;
use crate::config::Config;
use crate::config::stream::EcnEcho;
use crate::connection::Sample;
use crate::packet::stream::Ack;
use crate::packet::{Header, MARKED_END, clock_ns};
use crate::rate::{Completion, Report};
use crate::rtt::Answered;
use crate::stream::bursts::Covered;
use crate::stream::recovery::Repair;

impl<C: CongestionControl> Sender<C> {
    /// Whether the sender is on the fast path, and an ACK acknowledges the next data in order and
    /// tells nothing else.
    #[inline]
    pub(crate) fn acknowledges(&self, header: &Header, config: &Config) -> bool {
        let sequence = header.sequence_near(self.acknowledged);
        let echo = header.has(Header::ECE) && config.stream.echo == EcnEcho::Classic;
        let progress = self.acknowledged < sequence && sequence <= self.bursts.left();
        self.is_fast && progress && !echo
    }

    /// The header that an ACK in the full form would have if the peer had not held it back;
    /// [`None`] where there is more to it.
    pub(super) fn plain_header(ack: &Ack) -> Option<Header> {
        let blocks = ack.blocks[0].length | ack.blocks[1].length;
        let plain = blocks == 0 && !ack.duplicate && !ack.opens && ack.ce_bytes < MARKED_END;
        plain.then(|| Header::ack(ack.sequence, ack.arrived_ns, ack.ce_bytes, ack.ece, ack.echo))
    }

    /// Takes in an ACK that [acknowledges](Self::acknowledges) the next data, as
    /// [`on_ack`](Sender::on_ack) would. The peer has held it back for `held_ns`.
    #[inline]
    pub(crate) fn on_plain_ack(
        &mut self,
        now: Time,
        ack: &Header,
        held_ns: u32,
        config: &Config,
        report: Report<'_>,
        nic_backlog: u64,
    ) -> (Option<Sample>, u32) {
        self.note_drained(now);
        let window_limited = self.is_window_limited(now, config);
        let sequence = ack.sequence_near(self.acknowledged);
        let (shift, delivered) = (self.shift(), sequence - self.acknowledged);
        self.acknowledged = sequence;
        let Covered { newest, payload, messages } = self.bursts.acknowledge(sequence);
        let sent = newest.transmission(sequence, delivered, shift);
        self.rack.note_order(sequence, 0, false);
        self.rack.deliver(now, sent.sent_at, sent.end);
        debug_assert!(self.repair == Repair::None && self.rack.alarm.is_none());
        (self.timeouts, self.engines.timer_from) = (0, now);
        self.probe_from = now.max(self.left_at);
        let sample = self.take_sample(now, sent.sent_at, payload, held_ns, false, config);
        self.newest = Some(sent);
        let ce_bytes = if config.stream.echo == EcnEcho::Exact { ack.ce_bytes() } else { 0 };
        let one_way_ns = ack.sent_ns.wrapping_sub(clock_ns(sent.sent_at));
        let completion = Completion {
            sent: &sent,
            identified: true,
            delivered: Bytes::new(delivered),
            ce_bytes: Bytes::new(u64::from(ce_bytes)),
            sample: Some(sample),
            in_recovery: false,
            posted: self.engines.messages.posted(),
            window_limited,
            one_way: Some(Span::from_ns(u64::from(one_way_ns))),
            nic_backlog: Bytes::new(nic_backlog),
            report,
        };
        self.engines.rate.complete(now, &completion, &self.engines.rtt);
        self.fill(now, config);
        let rate = self.engines.pacing_rate();
        let sample = Sample { rtt: sample, measured: now.since(sent.sent_at), rate };
        (Some(sample), messages)
    }

    /// Takes the RTT sample of a segment of `payload` that was sent at `at`. The peer has held its
    /// answer back for `held_ns`.
    #[expect(clippy::inline_always, reason = "in the way of every ACK")]
    #[inline(always)]
    pub(super) fn take_sample(
        &mut self,
        now: Time,
        at: Time,
        payload: u64,
        held_ns: u32,
        late: bool,
        config: &Config,
    ) -> RttSample {
        let wire = Bytes::new(payload) + config.header;
        let full = wire == config.stream.mss + config.header;
        let alone = if full { self.full_segment } else { config.line_rate.time_for(wire) };
        self.engines.backoff = 0;
        let held = Span::from_ns(u64::from(held_ns));
        let answered = Answered { sent_at: at, now, serialization: alone, held, late };
        self.engines.rtt.answered(&answered)
    }

    /// The distance of positions in transmission order from those in the stream.
    #[inline]
    fn shift(&self) -> u64 {
        self.engines.rate.transmitted().get() - self.next
    }

    /// Gives the NIC a segment of new data. It joins the last burst if that is `open`.
    #[inline]
    pub(super) fn send_fast(&mut self, now: Time, piece: &Piece, open: &mut bool) {
        let rate = &mut self.engines.rate;
        if !*open {
            let books = rate.begin_burst(now);
            self.bursts.open(now, self.next, 0, rate.in_flight().get(), &books);
        }
        if let Some(posted_at) = piece.begins {
            self.begins.push_back((self.next, posted_at));
        }
        let payload = u64::from(piece.bytes);
        rate.count_sent(now, Bytes::new(payload), false, self.engines.messages.is_empty());
        *open = self.bursts.extend(payload, piece.ends_message);
        self.next += payload;
        self.queued += payload;
    }

    /// Gives the NIC all full segments from within a message that the window and the buffer allow,
    /// at once: the same as one by one, where the algorithm does not listen. Returns whether no
    /// more may be sent. The last burst is `open` then, if it was, or any was given.
    #[inline]
    pub(super) fn send_inner(&mut self, now: Time, config: &Config, open: &mut bool) -> bool {
        let (segment, rate) = (u64::from(self.segment), &self.engines.rate);
        let one_by_one = rate.reads().sent
            || rate.in_flight().is_zero()
            || config.stream.tso.get() > segment
            || config.stream.small_queue.get() < u64::MAX;
        if one_by_one || !self.is_fast || !self.opened {
            return false;
        }
        let window = rate.limits().cwnd.saturating_sub(rate.in_flight()).get().min(self.room());
        let inner = self.engines.messages.inner();
        let (most, mut bytes) = (window.min(inner), 0);
        while most - bytes >= segment {
            bytes += segment;
        }
        if bytes > 0 {
            self.give_inner(now, bytes, open);
        }
        window - bytes < segment && inner - bytes >= segment
    }

    /// Gives the NIC full segments of `bytes` from within a message.
    #[inline]
    fn give_inner(&mut self, now: Time, bytes: u64, open: &mut bool) {
        self.engines.pacer.sent(now, Bytes::new(u64::from(self.segment)));
        if !self.has_queued() {
            self.next_at = self.next_at.max(now);
        }
        self.engines.messages.cut_inner(bytes);
        let rate = &mut self.engines.rate;
        if *open {
            self.bursts.extend_by(bytes);
        } else {
            let books = rate.begin_burst(now);
            self.bursts.open(now, self.next, bytes, rate.in_flight().get(), &books);
        }
        rate.count_unheard(Bytes::new(bytes));
        self.next += bytes;
        self.queued += bytes;
        *open = true;
    }

    /// Leaves the fast path: writes a record of each segment.
    #[inline]
    pub(super) fn slow_down(&mut self) {
        if self.is_fast {
            self.keep_records();
        }
    }

    #[cold]
    fn keep_records(&mut self) {
        debug_assert!(self.board.is_empty() && self.outbox.is_empty());
        (self.is_fast, self.calm) = (false, 0);
        let (shift, left) = (self.shift(), self.bursts.left());
        self.left = self.left.max(Bytes::new(left + shift));
        for record in self.bursts.take_records(shift) {
            if record.sequence >= left {
                let begins = self.take_begin(record.sequence);
                self.put_in_outbox(&record, self.ect, false, begins);
            }
            self.board.push(record);
        }
    }

    /// Returns to the fast path when nothing unusual is left, after as many ACKs without anything
    /// unusual as there are records to give up.
    #[inline]
    pub(super) fn speed_up(&mut self, config: &Config) {
        let usual = self.repair == Repair::None
            && self.board.is_in_order()
            && self.rack.alarm.is_none()
            && self.probe.is_none()
            && self.opened
            && !self.cwr
            && !self.urgent
            && self.credits.are_settled()
            && !self.silence.as_ref().is_some_and(|silence| silence.open);
        self.calm = if usual { self.calm.saturating_add(1) } else { 0 };
        if self.calm as usize > self.board.len() && may_be_fast(config) {
            self.give_up_records();
        }
    }

    #[cold]
    fn give_up_records(&mut self) {
        // The NIC has the last of the segments, and nothing else.
        let left = self.outbox.front().map_or(self.next, |first| first.segment.sequence);
        let (mut end, epoch) = (left, self.epoch());
        for Queued { segment, .. } in &self.outbox {
            if segment.sequence != end || segment.cwr || segment.epoch != epoch {
                return;
            }
            end = segment.end();
        }
        let first = self.board.front().map_or(self.next, |record| record.sequence);
        let read = self.board.records().any(|record| record.read > 0);
        if left < first || end != self.next || read {
            return; // a copy of what has arrived still waits in the NIC, or there is a request
        }
        for Queued { segment, begins, .. } in self.outbox.drain(..) {
            self.begins.extend(begins.map(|posted_at| (segment.sequence, posted_at)));
        }
        self.bursts.put_records(self.board.take_all(), left);
        self.is_fast = true;
    }
}

//! The segments of a stream on the fast path that leave the NIC: one by one, or ahead of time.

use incast_cc::{Bytes, CongestionControl, Time};

use super::Sender;
use crate::config::Config;
use crate::early::{Early, EarlyNic, Step};
use crate::packet::{Form, Header, Kind, Next, clock_ns};
use crate::rate::gap;
use crate::stream::bursts::Leaving;

impl<C: CongestionControl> Sender<C> {
    /// The next segment for the wire, as [`next_packet`](Sender::next_packet) has it.
    #[inline]
    pub(super) fn next_fast_packet(
        &mut self,
        now: Time,
        peer: u32,
        config: &Config,
    ) -> Option<Next> {
        let was_full = self.queued >= config.stream.small_queue.get();
        let is_oldest = !self.bursts.has_left();
        let (header, begins, _) = self.leave_fast(1, peer)?;
        self.note_left((now, now), header.payload, is_oldest, config);
        if was_full {
            self.fill(now, config); // the NIC's queue held data back
        }
        let then = self.has_queued().then_some(self.next_at);
        Some(Next { form: Form::Compact(header), begins, then })
    }

    /// Whether the next segment may leave the NIC at `now`.
    #[inline]
    pub(crate) fn sends_on(&self, now: Time) -> bool {
        self.is_fast && self.has_queued() && self.next_at <= now
    }

    /// Whether all data in the NIC may leave it now, one segment after the other, in the class of
    /// the traffic. If the NIC `has_data` of the stream ahead of time, the next segment follows it.
    #[inline]
    pub(crate) fn goes_on_ahead(&self, now: Time, has_data: bool, config: &Config) -> bool {
        self.knows_its_starts(config)
            && !self.engines.chooses_class()
            && (!self.has_queued() || self.next_at <= now)
            && !(has_data && self.begins_next())
    }

    /// Takes the next segments out of the NIC, up to `most` that are alike. Returns the first, with
    /// the time of posting if it begins a message, and their number. [`note_left`](Self::note_left)
    /// must follow.
    #[expect(clippy::inline_always, reason = "in the way of every segment that leaves")]
    #[inline(always)]
    fn leave_fast(&mut self, most: u32, peer: u32) -> Option<(Header, Option<Time>, u32)> {
        let Leaving { sequence, payload, count, ends_message, since } = self.bursts.leave(most)?;
        self.queued -= payload * u64::from(count);
        let flags = if ends_message { Header::ENDS_MESSAGE } else { 0 };
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32, and at most an MSS")]
        let header = Header {
            connection: peer,
            sequence: sequence as u32,
            sent_ns: clock_ns(since),
            rest: u32::from(self.epoch()) << 24,
            payload: payload as u16,
            kind: Kind::Segment,
            flags: flags | if self.ect { Header::ECT } else { 0 },
        };
        Some((header, self.take_begin(sequence), count))
    }

    /// Notes the times at which segments of `payload` start, and whether the first is the oldest
    /// that is out.
    #[inline]
    fn note_left(
        &mut self,
        (first, last): (Time, Time),
        payload: u16,
        is_oldest: bool,
        config: &Config,
    ) {
        if is_oldest {
            self.engines.timer_from = first; // RFC 6298, 5.1
        }
        (self.probe_from, self.left_at) = (last, last);
        let payload = Bytes::new(u64::from(payload));
        self.next_at = last + gap(self.engines.rate.limits(), payload, config.line_rate);
    }

    /// The time of posting of the message that begins at `sequence`, if one does.
    #[inline]
    pub(super) fn take_begin(&mut self, sequence: u64) -> Option<Time> {
        self.begins.front().filter(|&&(first, _)| first == sequence)?;
        self.begins.pop_front().map(|(_, posted_at)| posted_at)
    }

    /// Whether each segment but the first of a message may leave ahead of time.
    #[inline]
    pub(super) fn knows_its_starts(&self, config: &Config) -> bool {
        self.is_fast
            && !self.engines.rate.reads().nic_backlog
            && !self.is_paced(config)
            && self.engines.rate.limits().burst.rate >= config.line_rate
    }

    /// Whether the next segment is the first of a message.
    #[inline]
    pub(crate) fn begins_next(&self) -> bool {
        self.begins.front().is_some_and(|&(first, _)| first == self.bursts.left())
    }

    /// Gives `nic` the next segments, up to `most`: the first if it starts now, and more as far as
    /// their starts are known. `times` are now, the time at which `nic` is free, and the end of
    /// starts. `early` has what the segments share. Returns the last start, the time at which the
    /// NIC is free then, and the number of segments; [`None`] if none may leave.
    #[expect(clippy::inline_always, reason = "in the way of every segment that leaves")]
    #[inline(always)]
    pub(crate) fn leave_ahead(
        &mut self,
        times: (Time, Time, Time),
        most: u32,
        early: Early,
        config: &Config,
        nic: &mut impl EarlyNic,
    ) -> Option<(Time, Time, u32)> {
        let begins = self.begins_next();
        let left = self.leave_alike(times, most, early, config, nic)?;
        // What follows the first of a message asks for its own event.
        let is_all = begins || !self.has_queued();
        Some(if is_all { left } else { self.leave_more(left, times, most, early, config, nic) })
    }

    /// Gives `nic` more segments of other bursts, after those that have `left`, as
    /// [`leave_ahead`](Self::leave_ahead) does.
    #[inline(never)]
    fn leave_more(
        &mut self,
        mut left: (Time, Time, u32),
        (now, _, until): (Time, Time, Time),
        most: u32,
        early: Early,
        config: &Config,
        nic: &mut impl EarlyNic,
    ) -> (Time, Time, u32) {
        while left.2 < most
            && let Some((last, free, count)) =
                self.leave_alike((now, left.1, until), most - left.2, early, config, nic)
        {
            left = (last, free, left.2 + count);
        }
        left
    }

    /// Gives `nic` the next segments that are alike, as [`leave_ahead`](Self::leave_ahead) does.
    #[expect(clippy::inline_always, reason = "in the way of every segment that leaves")]
    #[inline(always)]
    fn leave_alike(
        &mut self,
        (now, free, until): (Time, Time, Time),
        most: u32,
        mut early: Early,
        config: &Config,
        nic: &mut impl EarlyNic,
    ) -> Option<(Time, Time, u32)> {
        let (start, is_known) = (free.max(now), self.knows_its_starts(config));
        let begins = self.begins_next();
        if start > now && (!is_known || start >= until || begins) {
            return None;
        }
        let most = if is_known && until == Time::MAX && !begins { most } else { 1 };
        let is_oldest = !self.bursts.has_left();
        let (header, begins, count) = self.leave_fast(most, early.header.connection)?;
        (early.header, early.begins) = (header, begins);
        let step = Step { sequence: header.payload.into(), rest: 0, is_timed: false };
        let (last, free) = nic.take_data(start, &early, count, step);
        self.note_left((start, last), header.payload, is_oldest, config);
        Some((last, free, count))
    }

    /// Takes the last `bytes` back that have left ahead of time: their start is still to come.
    pub(super) fn take_back(&mut self, now: Time, bytes: u64) {
        debug_assert!(self.is_fast, "what is unusual takes all back first");
        self.bursts.put_back(bytes);
        self.queued += bytes;
        (self.next_at, self.left_at) = (now, now);
    }
}

//! The timers of a stream: retransmission timeouts, tail-loss probes, the reordering timer.

use incast_cc::{CongestionControl, LossCause, Span, Time};

use super::{Asked, Probe, Sender};
use crate::config::Config;
use crate::stream::recovery::{Repair, Silence};

/// The time that a tail-loss probe waits before the first RTT sample (RFC 8985, section 7.2).
const FIRST_PROBE: Span = Span::from_secs(1);

impl<C: CongestionControl> Sender<C> {
    /// The next timer of the sender, if it comes before `armed`.
    #[inline]
    pub(super) fn timer_before(&self, armed: Time, config: &Config) -> Option<Time> {
        // Asked after every ACK, when nearly always nothing can come before `armed`.
        if self.has_no_timer_before(armed) { None } else { self.alarm(config) }
    }

    /// Whether no timer of the sender can come before `armed`, even if later segments leave.
    #[expect(clippy::inline_always, reason = "in the way of every ACK")]
    #[inline(always)]
    pub(crate) fn has_no_timer_before(&self, armed: Time) -> bool {
        let later = |at: Time| at >= armed;
        later(self.engines.timeout_at())
            && later(self.probe_from + self.probe_wait())
            && self.rack.alarm.is_none_or(later)
            && self.engines.rate.next_timer().is_none_or(later)
            && self.opened
    }

    /// Does what is due, if anything is: an alarm may be stale.
    pub(super) fn on_timers(&mut self, now: Time, config: &Config) {
        self.engines.rate.on_timer(now);
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if due(self.probe_at(config)) {
            self.slow_down();
            self.send_probe(now, config);
        } else if due(self.timeout_at()) {
            self.slow_down();
            match self.asked.as_deref() {
                Some(&Asked { first, before, .. }) => {
                    let before = before.saturating_add(1);
                    self.ask(now, Asked { first, last: now, before });
                }
                None => self.on_timeout(now),
            }
        }
        if self.rack.alarm.is_some_and(|at| at <= now) {
            self.detect(now);
        }
        self.fill(now, config);
    }

    #[cold]
    fn alarm(&self, config: &Config) -> Option<Time> {
        let timeout = self.timeout_at();
        [timeout, self.probe_at(config), self.rack.alarm, self.engines.rate.next_timer()]
            .into_iter()
            .flatten()
            .min()
    }

    /// The time of the next timeout, while data that has left the NIC is on its way.
    fn timeout_at(&self) -> Option<Time> {
        if let Some(asked) = &self.asked {
            let wait = || self.engines.rtt.rto(u32::from(asked.before));
            return self.outbox.is_empty().then(|| asked.last + wait());
        }
        if self.probes() {
            return self.outbox.is_empty().then(|| self.engines.timeout_at());
        }
        let has_left = if self.is_fast {
            self.bursts.has_left()
        } else {
            let (_, sent) = self.board.oldest_flying()?;
            sent.end <= self.left
        };
        has_left.then(|| self.engines.timeout_at())
    }

    /// The time of the next tail-loss probe (RFC 8985, section 7.2): two RTTs after the last
    /// segment, if its loss would leave no other trace; at the latest in place of a timeout.
    fn probe_at(&self, config: &Config) -> Option<Time> {
        let stream = &config.stream;
        let allowed = stream.tail_loss_probe
            && stream.sack
            && self.repair == Repair::None
            && self.engines.blind().is_none();
        if !allowed
            || self.probe.is_some_and(|probe| self.acknowledged < probe.end)
            || self.has_queued()
            || self.board.sacked() > 0
            || self.board.is_empty() && self.bursts.is_empty()
        {
            return None;
        }
        let few = if self.is_fast {
            self.bursts.are_fewer_than(u64::from(self.delayed_ack))
        } else {
            self.board.len() < self.delayed_ack as usize
        };
        let delayed = few && !self.engines.rtt.srtt().is_zero();
        let more = if delayed { stream.delayed_ack_timeout } else { Span::ZERO };
        let wait = self.probe_wait() + more;
        Some((self.probe_from + wait).min(self.engines.timeout_at()))
    }

    /// The least time that a tail-loss probe waits.
    #[inline]
    fn probe_wait(&self) -> Span {
        match self.engines.rtt.srtt() * 2 {
            Span::ZERO => FIRST_PROBE,
            wait => wait,
        }
    }

    /// Declares all data lost that has left the NIC, after a silence.
    fn on_timeout(&mut self, now: Time) {
        if self.probes() {
            return self.ask_again(now);
        }
        let cause = if self.timeouts == 0 { LossCause::Timeout } else { LossCause::Persistent };
        self.repair = Repair::None;
        while let Some((number, sent)) = self.board.oldest_flying()
            && sent.end <= self.left
        {
            self.lose(now, number, cause);
        }
        if self.timeouts == 0 {
            let first = self.board.first_lost().filter(|record| !record.sent_again);
            let first = first.map(|record| (record.sequence, record.sent));
            self.silence = Some(Box::new(Silence {
                epoch: self.epoch().wrapping_add(1),
                open: true,
                episode: self.episode.number(),
                from: self.engines.rate.transmitted(),
                first,
            }));
        }
        self.credits.acks = 0;
        self.rack.alarm = None;
        self.timeouts = self.timeouts.saturating_add(1);
        self.engines.backoff = self.engines.backoff.saturating_add(1);
        if let Some(blind) = self.engines.blind_mut()
            && blind.probe_after == self.timeouts
        {
            blind.probes = true;
            self.ask_again(now);
        }
    }

    /// Sends a packet without payload, in place of the data that has been lost many times. Its
    /// answer tells that packets arrive again.
    #[cold]
    fn ask_again(&mut self, now: Time) {
        self.engines.timer_from = now;
        self.next_at = self.next_at.max(now);
        let first = self.board.first_lost().map_or(self.next, |record| record.sequence);
        self.send_empty(now, first, self.epoch());
    }

    /// Lets a sender that [asks](Self::ask_again) whether packets arrive send data again, since an
    /// ACK has come. Returns whether it did ask.
    pub(super) fn end_probes(&mut self, now: Time) -> bool {
        let probes =
            self.engines.blind_mut().is_some_and(|blind| std::mem::take(&mut blind.probes));
        if probes {
            (self.timeouts, self.engines.timer_from) = (0, now);
        }
        probes
    }

    /// Sends one more segment, whatever the window says: a new one if there is one, otherwise a
    /// copy of the last one. The copy is in no books, since its original is in flight.
    fn send_probe(&mut self, now: Time, config: &Config) {
        self.engines.timer_from = now;
        let next = self.engines.messages.remaining();
        let segment = next.min(u64::from(self.segment));
        let mut copied = None;
        if segment > 0 && segment <= self.room() {
            self.send_new(now, segment, &mut false);
        } else if let Some(record) = self.board.copy_last() {
            copied = Some(record.sequence);
            self.enqueue_again(&record, config);
        }
        self.probe = Some(Probe { sent_at: now, end: self.next, copied });
    }
}

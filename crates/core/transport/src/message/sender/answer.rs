//! The answers of the receiver, and its silence: completions, losses, timeouts.

use incast_cc::{Bytes, CongestionControl, LossCause, RttSample, Span, Time};

use super::Sender;
use super::doubts::Doubt;
use crate::config::{Config, Recovery};
use crate::connection::Sample;
use crate::message::segment::{Departure, Fate};
use crate::packet::message::{Ack, MAX_SEGMENT_PACKETS, Nack, PacketSet};
use crate::rate::{Clock, Completion, Report, Transmission};
use crate::rtt::Answered;

/// The content of an ACK for one segment.
#[derive(Clone, Copy)]
struct Answer<'a> {
    ce_bytes: u32,
    sample: Option<RttSample>,
    window_limited: bool,
    report: Report<'a>,
}

impl<C: CongestionControl> Sender<C> {
    /// Takes in the ACK of a segment. Returns its RTT sample, and the number of messages that are
    /// now acknowledged.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        config: &Config,
        report: Report<'_>,
    ) -> (Option<Sample>, u32) {
        self.hear(now);
        self.note_drained();
        let window_limited = self.is_window_limited(now, config);
        let Some(place) = self.find(ack.segment) else { return (None, 0) };
        if self.segments[place].fate == Fate::Acked {
            return (None, 0);
        }
        let answered = self.segments[place].burst(ack.attempt);
        let late = answered.is_some_and(|burst| self.judge_timeout(now, burst.at, place));
        let sample = answered.and_then(|burst| self.take_sample(now, burst, late, report.clock));
        if config.recovery == Recovery::GoBackN {
            // The receiver drops packets out of order, so everything before has arrived.
            let unheard = Answer { ce_bytes: 0, sample: None, window_limited, report };
            for place in 0..place {
                if self.segments[place].fate != Fate::Acked {
                    self.complete(now, place, &unheard);
                }
            }
        } else if ack.attempt == self.segments[place].attempt {
            self.doubt_overtaken(now, place, config);
        }
        let answer = Answer { ce_bytes: ack.ce_bytes, sample, window_limited, report };
        self.complete(now, place, &answer);
        let mut messages = 0;
        while let Some(front) = self.segments.front()
            && front.fate == Fate::Acked
        {
            messages += u32::from(front.ends_message);
            self.segments.pop_front();
        }
        self.trim_resend();
        (sample.map(|rtt| self.sampled(rtt)), messages)
    }

    /// Takes the RTT sample of a burst that has been answered; `late` if a timeout had not waited
    /// for the answer. [`None`] where a stamp is missing.
    fn take_sample(
        &mut self,
        now: Time,
        burst: Departure,
        late: bool,
        clock: Clock,
    ) -> Option<RttSample> {
        self.engines.backoff = 0;
        let sent_at = burst.at;
        // A packet that was not lost after all completes a segment before its repetition has left.
        let serialization = burst.serialization.min(now.since(sent_at));
        let (rtt, held) = (&mut self.engines.rtt, Span::ZERO);
        let answered = Answered { sent_at, now, serialization, held, late };
        let Clock::Stamps { arrived, peer } = clock else { return Some(rtt.answered(&answered)) };
        rtt.heard(&answered);
        let total = arrived.filter(|&at| burst.stamp <= at)?.since(burst.stamp);
        Some(rtt.stamped(total, burst.serialization.min(total), peer))
    }

    /// The sample for traces, with the rate after it.
    fn sampled(&self, rtt: RttSample) -> Sample {
        Sample { rtt, measured: rtt.network(), rate: self.engines.pacing_rate() }
    }

    /// Notes that all of a segment has arrived, and tells the algorithm.
    fn complete(&mut self, now: Time, place: usize, answer: &Answer<'_>) {
        let segment = &mut self.segments[place];
        segment.fate = Fate::Acked;
        let segment = *segment;
        if self.burst.is_some_and(|burst| burst.segment == segment.first) {
            self.burst = None;
        }
        if segment.damaged {
            let arrived = (segment.lost > 0).then(|| segment.transmission(segment.lost));
            if let Some(sent) = self.episode.repair(arrived) {
                self.engines.rate.on_spurious_loss(now, sent);
            }
        }
        let completion = Completion {
            sent: &segment.transmission(segment.flying),
            identified: true,
            delivered: Bytes::new(u64::from(segment.bytes)),
            ce_bytes: Bytes::new(u64::from(answer.ce_bytes)),
            sample: answer.sample,
            in_recovery: self.episode.is_recovery(),
            posted: self.engines.messages.posted(),
            window_limited: answer.window_limited,
            one_way: None,
            nic_backlog: Bytes::ZERO,
            report: answer.report,
        };
        self.engines.rate.on_completion(now, &completion, &self.engines.rtt);
    }

    /// Decides by the first certain answer after a timeout whether the timeout came too early: an
    /// answer to a burst that left before it was late, not lost (Eifel detection, RFC 3522).
    /// `place` is that of the answered segment. Returns whether the timeout came too early.
    fn judge_timeout(&mut self, now: Time, sent_at: Time, place: usize) -> bool {
        let Some(timed_out_at) = self.timed_out_at.take() else { return false };
        if sent_at >= timed_out_at {
            return false;
        }
        let mut restored: Option<Transmission> = None;
        for other in 0..self.segments.len() {
            let segment = &mut self.segments[other];
            let before = segment.first_burst.at < timed_out_at;
            if other == place || !before || !segment.is_given_up() {
                continue;
            }
            segment.fate = Fate::Out;
            segment.flying = std::mem::take(&mut segment.lost);
            if std::mem::take(&mut segment.damaged) {
                self.episode.restore();
            }
            let sent = segment.transmission(segment.flying);
            match &mut restored {
                None => restored = Some(sent),
                Some(all) => all.join(sent),
            }
        }
        if let Some(sent) = restored {
            self.engines.rate.on_spurious_timeout(now, sent, sent.bytes);
        }
        true
    }

    /// Takes in a report of missing packets. Returns the RTT sample, where the report answers a
    /// burst: a segment that loses packets at each attempt would otherwise be the last to give one.
    pub(crate) fn on_nack(
        &mut self,
        now: Time,
        nack: &Nack,
        config: &Config,
        report: Report<'_>,
    ) -> Option<Sample> {
        self.hear(now);
        if config.recovery == Recovery::GoBackN {
            self.go_back(now, nack.base, config);
            return None;
        }
        let answered = if nack.answers { self.find(nack.base) } else { None };
        let answered = answered.map(|place| self.segments[place]);
        let sample = answered.and_then(|segment| {
            let burst = segment.burst(nack.attempt)?;
            if segment.fate == Fate::Acked {
                return None;
            }
            let sample = self.take_sample(now, burst, false, report.clock)?;
            let nothing = Completion {
                sent: &segment.transmission(0),
                identified: false,
                delivered: Bytes::ZERO,
                ce_bytes: Bytes::ZERO,
                sample: Some(sample),
                in_recovery: self.episode.is_recovery(),
                posted: self.engines.messages.posted(),
                window_limited: false,
                one_way: None,
                nic_backlog: Bytes::ZERO,
                report,
            };
            self.engines.rate.on_completion(now, &nothing, &self.engines.rtt);
            Some(self.sampled(sample))
        });
        self.doubt(now, Doubt::Missing(*nack), config);
        self.trim_resend();
        sample
    }

    /// Takes packets for lost that a report says are missing, unless they have arrived since.
    pub(super) fn lose_missing(&mut self, now: Time, nack: &Nack, config: &Config) {
        let from = self.segments.partition_point(|s| s.first + u64::from(s.count) <= nack.base);
        for place in from..self.segments.len() {
            let segment = &mut self.segments[place];
            if segment.first >= nack.base + u64::from(MAX_SEGMENT_PACKETS) {
                break;
            }
            let count = u32::from(segment.count);
            let reported = nack.missing.window(nack.base, segment.first, count);
            let missing = reported.without(segment.missing);
            if segment.fate == Fate::Acked || segment.attempt != nack.attempt || missing.is_empty()
            {
                continue;
            }
            let lost = segment.payload_of(missing, config).min(segment.flying);
            segment.missing = segment.missing.union(missing);
            self.declare_lost(now, place, lost, LossCause::Detected);
            self.episode.miss();
        }
    }

    /// Go-back-N: declares everything lost from the packet `base` on, which the receiver waits for.
    fn go_back(&mut self, now: Time, base: u64, config: &Config) {
        let from = self.segments.partition_point(|s| s.first + u64::from(s.count) <= base);
        for place in from..self.segments.len() {
            let segment = &mut self.segments[place];
            let arrived = u32::try_from(base.saturating_sub(segment.first)).unwrap_or(u32::MAX);
            let all = PacketSet::first(u32::from(segment.count));
            segment.missing = all.without(PacketSet::first(arrived));
            let lost = segment.payload_of(segment.missing, config).min(segment.flying);
            if self.burst.is_some_and(|burst| burst.segment == segment.first) {
                self.burst = None;
            }
            self.declare_lost(now, place, lost, LossCause::Detected);
        }
        let queued = self.segments.iter().filter(|segment| segment.fate == Fate::Queued);
        self.resend = queued.map(|segment| segment.first).collect();
    }

    /// Declares `bytes` of a segment lost: its missing packets will be sent again, or a probe.
    pub(super) fn declare_lost(&mut self, now: Time, place: usize, bytes: u32, cause: LossCause) {
        let segment = &mut self.segments[place];
        segment.flying -= bytes;
        segment.lost += bytes;
        if std::mem::replace(&mut segment.fate, Fate::Queued) == Fate::Out {
            self.is_mixed |= self.resend.back().is_some_and(|&last| last > segment.first);
            self.resend.push_back(segment.first);
        }
        if bytes > 0 {
            let sent = segment.transmission(bytes);
            let in_recovery = self.episode.is_open();
            if !std::mem::replace(&mut segment.damaged, true) {
                self.episode.damage();
            }
            self.engines.rate.on_loss(now, sent, in_recovery, cause);
        }
    }

    /// Drops entries at the front of `resend` whose segments have been answered in the meantime.
    pub(super) fn trim_resend(&mut self) {
        while let Some(&first) = self.resend.front()
            && self.find(first).is_none_or(|place| self.segments[place].fate != Fate::Queued)
        {
            self.resend.pop_front();
        }
    }

    /// Ends the silence, since the peer has said something. The timeout stays backed off until a
    /// sample says how long an answer takes (RFC 6298, section 5.7; Karn's algorithm).
    fn hear(&mut self, now: Time) {
        (self.silent, self.probing, self.engines.timer_from) = (false, false, now);
    }

    /// Declares all data lost that is out, after a silence; one packet asks what has arrived.
    pub(super) fn on_timeout(&mut self, now: Time) {
        let cause = if self.silent { LossCause::Persistent } else { LossCause::Timeout };
        if !self.silent {
            self.timed_out_at = Some(now);
        }
        let sending = self.burst.map(|burst| burst.segment);
        for place in 0..self.segments.len() {
            let segment = &self.segments[place];
            if segment.fate != Fate::Acked && sending != Some(segment.first) {
                self.declare_lost(now, place, segment.flying, cause);
            }
        }
        self.engines.backoff += 1;
        self.episode.time_out();
        self.silent = true;
        self.probing = false;
        self.engines.timer_from = now;
    }
}

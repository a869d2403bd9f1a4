//! Cautions of algorithms that go by the RTT.

use super::{Caution, PathFacts};
use crate::units::{Fraction, Rate, Span};

impl PathFacts {
    /// The time of a segment, in percent of a threshold on the RTT, from which segments of others
    /// pass for congestion. TIMELY's authors ran 64 KB segments, which take 52 us at 10 Gb/s, under
    /// a `T_low` of 50 us.
    pub const SEGMENT_PERCENT: u64 = 125;

    /// Warns where the RTT without queues does not fit an algorithm whose rate rises below the RTT
    /// `t_low` and falls above `t_high`. The parameters of these names are at most a second.
    /// `effect` occurs where no RTT is below `t_low`. That does no harm where the rate settles at
    /// `settles` all the same, and this is at least half of the flow's share.
    pub fn thresholds(
        &self,
        t_low: Span,
        t_high: Span,
        (settles, effect): (Rate, &'static str),
        emit: &mut dyn FnMut(Caution),
    ) {
        let most = Span::from_secs(1);
        if self.network_rtt >= t_high || settles < self.share / 2 {
            self.rtt_below(("t_low", t_low), (2, most), effect, emit);
        }
        let falls = "the rate falls with every completion";
        self.rtt_below(("t_high", t_high), (4, most), falls, emit);
        if self.flows > 1 && self.network_rtt < t_low {
            self.above_segment_time(("t_low", t_low), Self::SEGMENT_PERCENT, emit);
        }
    }

    /// Warns where a segment takes `percent` of `value` or longer at the bottleneck, while delays
    /// of `value`, which `param` sets, count as congestion. Where a segment is a packet, the
    /// segments of a window also wait for each other in the sender's NIC.
    pub fn above_segment_time(
        &self,
        (param, value): (&'static str, Span),
        percent: u64,
        emit: &mut dyn FnMut(Caution),
    ) {
        let time = self.segment_time();
        let waits = self.queues() || self.segment <= self.mss;
        if self.above_percent(value, percent) && waits {
            emit(Caution::SegmentTime { param, value, time });
        }
    }

    /// Whether a segment takes `percent` of `value` or longer at the bottleneck.
    pub fn above_percent(&self, value: Span, percent: u64) -> bool {
        self.segment_time().as_ps() >= value.as_ps() / 100 * percent
    }

    /// Warns of `effect` where the RTT without queues is `value` or more. The warning suggests
    /// `times` this RTT, which leaves room for a queue, but at most `most`.
    pub fn rtt_below(
        &self,
        (param, value): (&'static str, Span),
        (times, most): (u64, Span),
        effect: &'static str,
        emit: &mut dyn FnMut(Caution),
    ) {
        let rtt = self.network_rtt;
        if rtt >= value {
            let least = (rtt * times).min(most);
            let least = (least > rtt).then_some(least);
            emit(Caution::BelowRtt { param, value, rtt, least, effect });
        }
    }

    /// Warns where a flow alone has half of its share later than after `rtts` round trips and
    /// `rtts_per_packet` for each packet of the product. The window grows by a packet per round
    /// trip at most, in proportion to what the delay leaves of `value`, a target that `param` sets.
    /// The packets that one ACK covers leave at once, so the last of them waits for the others.
    pub fn slow_growth(
        &self,
        (param, value): (&'static str, Span),
        (rtts, rtts_per_packet): (f64, f64),
        emit: &mut dyn FnMut(Caution),
    ) {
        let others = self.acked.get() / self.segment.get().max(1);
        let delay = self.segment_time() * others.saturating_sub(1);
        let packets = self.product.get() as f64 / self.mss.get().max(1) as f64;
        let borne = 1.0 - packets / 2.0 / (rtts + rtts_per_packet * packets);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; the cast saturates"
        )]
        let least = Span::from_ps((delay.as_ps() as f64 / borne) as u64);
        if self.flows == 1 && delay < value && value < least {
            emit(Caution::SlowGrowth { param, value, delay, least });
        }
    }

    /// Warns where a window may keep a backlog of `packets`, which `param` sets, by the least RTT
    /// of the flow, and twice that is less than what a segment has beside its first packet. A
    /// packet that is lost is sent again alone, and its RTT lacks the time of the others.
    ///
    /// A slow start by the RTT ends at a window of four times the product at most, since the RTT of
    /// the round in which it passed the product tells of that a round later. So a queue of three
    /// times the product loses nothing.
    pub fn whole_segments(
        &self,
        param: &'static str,
        packets: Fraction,
        emit: &mut dyn FnMut(Caution),
    ) {
        let loses = self.queue.is_some_and(|queue| queue < self.product * self.flows * 3);
        let rest = self.bottleneck().time_for(self.segment.saturating_sub(self.mss));
        let (rest, mss) = (self.share.bytes_in(rest).get(), self.mss.get().max(1));
        if loses && packets.as_f64() * 2.0 * (mss as f64) < rest as f64 {
            let least = rest.div_ceil(mss);
            emit(Caution::WholeSegments { param, value: packets, least });
        }
    }

    /// Warns where ACKs that are late at random take a window below half of the flow's share. The
    /// window holds a backlog of `grows` packets and less to grow and of more than `falls` to
    /// shrink, and takes it from the least RTT of a round.
    ///
    /// ACKs do not overtake each other. Where they follow each other faster than they are late, one
    /// is no later than `x` only if the one before is no later than `x` and the time between them,
    /// and so on.
    pub fn late_acks(
        &self,
        params: [&'static str; 2],
        values: [Fraction; 2],
        (grows, falls): (f64, f64),
        emit: &mut dyn FnMut(Caution),
    ) {
        let (rtt, jitter) = (self.network_rtt.as_secs_f64(), self.jitter.as_secs_f64());
        let packets = self.product.get() as f64 / 2.0 / self.mss.get().max(1) as f64;
        let acks = self.product.get() as f64 / 2.0 / self.acked.get().max(1) as f64;
        if jitter <= 0.0 || packets <= grows {
            return;
        }
        // The chance that no ACK of a round is on time for a backlog.
        let late = |backlog: f64| {
            let least = backlog.max(0.0) * rtt / (packets - backlog).max(0.0);
            if least >= jitter {
                return 0.0;
            }
            let gap = rtt / acks;
            let (mut chance, mut within) = (1.0, least);
            while within < jitter && chance > 1e-9 {
                chance *= within / jitter;
                within += gap;
            }
            // ACKs on time come in a row: what counts is how often such a row begins.
            libm::exp(-acks * chance * (1.0 - least / jitter))
        };
        if late(falls) > 1.0 - late(grows) {
            // The whole delay, as a backlog at half of the share.
            let least = libm::ceil(packets * jitter / (rtt + jitter)) + 1.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive; the cast saturates"
            )]
            emit(Caution::LateAcks { params, values, least: least as u64 });
        }
    }
}

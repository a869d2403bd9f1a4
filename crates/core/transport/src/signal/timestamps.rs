//! RTTs from TCP timestamps (RFC 7323), whose clock ticks in steps.
//!
//! A stamp is the number of ticks so far. So an RTT is a whole number of ticks: the number of times
//! that the clock has ticked in it. Below one tick that is zero or one, whatever the queue, and
//! stacks differ in how they treat zero.

use incast_cc::{RttSample, Span, Time};

use super::Heard;

/// The timestamps of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The step of the clock, above zero.
    pub tick: Span,
    /// The stack, which decides how RTTs follow from stamps.
    pub stack: Stack,
}

/// A stack, with its use of timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// ns-3.27, `TcpSocketBase::EstimateRtt`: a sample of zero is thrown away, the others make the
    /// average of RFC 6298, and each ACK gives algorithms that average (`m_lastRtt`).
    Ns327,
    /// ns-3 from 3.30 on, `TcpSocketBase::CalculateRttSample`: a sample of zero counts as 1 us.
    Ns3,
    /// Linux, `tcp_ack_update_rtt`: send times of its own, in microseconds; stamps, at least one
    /// tick, only for data that was sent more than once.
    #[default]
    Linux,
}

/// The RTT that a stack takes in place of zero.
const LEAST: Span = Span::from_us(1);

impl Timestamps {
    /// The time between two moments by a clock that ticks.
    fn elapsed(self, from: Time, to: Time) -> Span {
        let ticks = |at: Time| at.since(Time::ZERO).as_ps() / self.tick.as_ps().max(1);
        self.tick * (ticks(to).saturating_sub(ticks(from)))
    }

    /// The RTT that an ACK tells. `average` is that of RFC 6298 so far, zero without any, and takes
    /// in the sample. A stamp does not know how long the peer has held its answer back.
    pub(super) fn rtt(self, heard: &Heard, average: &mut Span) -> Option<Span> {
        let &Heard { now, sent_at, measured, identified, .. } = heard;
        let elapsed = self.elapsed(sent_at, now);
        let sample = match (self.stack, measured) {
            (Stack::Ns327, Some(_)) if elapsed.is_zero() => None,
            (Stack::Ns3, Some(_)) if elapsed.is_zero() => Some(LEAST),
            (Stack::Linux, Some(_)) => {
                let own = Self { tick: LEAST, ..self };
                Some(own.elapsed(sent_at, now).max(LEAST))
            }
            (Stack::Linux, None) if identified => Some(elapsed.max(self.tick)),
            (_, None) => return None,
            (Stack::Ns327 | Stack::Ns3, Some(_)) => Some(elapsed),
        };
        if let Some(sample) = sample {
            *average = if average.is_zero() { sample } else { (*average * 7 + sample) / 8 };
        }
        match self.stack {
            Stack::Ns327 => (!average.is_zero()).then_some(*average),
            Stack::Ns3 | Stack::Linux => sample,
        }
    }

    /// The one-way delay by both ends' stamps, which tick together.
    pub(super) fn one_way(self, heard: &Heard) -> Option<Span> {
        let arrived = heard.one_way.map(|way| heard.sent_at + way)?;
        Some(self.elapsed(heard.sent_at, arrived))
    }
}

/// A sample of `total`, with the measured serialization and turnaround, neither longer than the
/// whole.
pub(super) fn sample(total: Span, measured: Option<RttSample>) -> RttSample {
    let least = |part: fn(RttSample) -> Span| measured.map_or(Span::ZERO, part).min(total);
    RttSample { total, serialization: least(|s| s.serialization), peer: least(|s| s.peer) }
}

#[cfg(test)]
mod tests {
    use super::super::{Replaced, Signal};
    use super::*;

    const US: fn(u64) -> Span = Span::from_us;

    /// The RTTs that a stack takes of ACKs, each with its time of arrival, its RTT, and whether its
    /// data was sent once.
    fn heard(stack: Stack, tick: Span, acks: &[(u64, u64, bool)]) -> Vec<Option<Span>> {
        let signal = Signal::Timestamps(Timestamps { tick, stack });
        let mut replaced = Replaced::new(signal, 7).unwrap();
        let hear = |&(at, rtt, once): &(u64, u64, bool)| {
            let (now, total) = (Time::ZERO + US(at), US(rtt));
            let measured =
                RttSample { total, serialization: Span::from_ns(1_200), peer: Span::ZERO };
            let heard = Heard {
                now,
                sent_at: Time::ZERO + US(at - rtt),
                measured: once.then_some(measured),
                one_way: None,
                truth: None,
                identified: true,
            };
            replaced.replace(&heard).0.map(|sample| sample.total)
        };
        acks.iter().map(hear).collect()
    }

    #[test]
    fn ns_3_27_throws_zero_away_and_gives_the_average_of_the_others() {
        // Sent and acknowledged at 0.2 and 0.5 ms: no tick. 0.9 and 1.1: one. 1.2 and 1.9: none.
        // 1.9 and 4.0: three, 1 and 4, and (7 x 1 + 3) / 8 is 1.25 ms.
        let acks = [(500, 300, true), (1_100, 200, true), (1_900, 700, true), (4_000, 2_100, true)];
        let told = heard(Stack::Ns327, Span::from_ms(1), &acks);
        assert_eq!(told, [None, Some(US(1_000)), Some(US(1_000)), Some(US(1_250))]);
        // Data that was sent again gives none.
        assert_eq!(heard(Stack::Ns327, Span::from_ms(1), &[(1_100, 200, false)]), [None]);
    }

    #[test]
    fn later_ns_3_takes_zero_for_a_microsecond() {
        let acks = [(500, 300, true), (1_100, 200, true), (1_900, 700, true), (4_000, 2_100, true)];
        let told = heard(Stack::Ns3, Span::from_ms(1), &acks);
        assert_eq!(told, [Some(US(1)), Some(US(1_000)), Some(US(1)), Some(US(3_000))]);
        // Ticks of 100 us: 2 to 5, 9 to 11, 12 to 19.
        let told = heard(Stack::Ns3, US(100), &acks[..3]);
        assert_eq!(told, [Some(US(300)), Some(US(200)), Some(US(700))]);
    }

    #[test]
    fn linux_goes_by_its_own_send_times_and_by_stamps_only_after_a_retransmission() {
        let acks =
            [(500, 300, true), (500, 300, false), (1_100, 200, false), (4_000, 2_100, false)];
        let told = heard(Stack::Linux, Span::from_ms(1), &acks);
        // Ticks: none counts as one, one, three.
        assert_eq!(told, [300, 1_000, 1_000, 3_000].map(|us| Some(US(us))));
        let told = heard(Stack::Linux, US(1), &acks);
        assert_eq!(told, [300, 300, 200, 2_100].map(|us| Some(US(us))));
    }

    #[test]
    fn microseconds_of_linux_are_those_of_its_clock() {
        // From 1.9 to 12.1 us: 1 and 12.
        let stamps = Timestamps { tick: Span::from_ms(1), stack: Stack::Linux };
        let ns = |ns| Time::ZERO + Span::from_ns(ns);
        let total = Span::from_ns(10_200);
        let heard = Heard {
            now: ns(12_100),
            sent_at: ns(1_900),
            measured: Some(RttSample { total, serialization: US(1), peer: Span::ZERO }),
            one_way: None,
            truth: None,
            identified: true,
        };
        assert_eq!(stamps.rtt(&heard, &mut Span::default()), Some(US(11)));
    }

    #[test]
    fn one_way_delays_tick_too_and_no_part_is_longer_than_the_whole() {
        let stamps = Timestamps { tick: Span::from_ms(1), stack: Stack::Ns3 };
        let measured = RttSample { total: US(300), serialization: US(12), peer: Span::ZERO };
        let heard = |at: u64, way: u64| Heard {
            now: Time::ZERO + US(at),
            sent_at: Time::ZERO + US(at - 300),
            measured: Some(measured),
            one_way: Some(US(way)),
            truth: None,
            identified: true,
        };
        // From 0.9 to 1.1 ms, and from 0.4 to 0.6.
        assert_eq!(stamps.one_way(&heard(1_200, 200)), Some(Span::from_ms(1)));
        assert_eq!(stamps.one_way(&heard(700, 200)), Some(Span::ZERO));
        let mut replaced = Replaced::new(Signal::Timestamps(stamps), 7).unwrap();
        let told = replaced.replace(&heard(700, 200)).0.unwrap();
        assert_eq!((told.total, told.network()), (US(1), Span::ZERO));
    }
}

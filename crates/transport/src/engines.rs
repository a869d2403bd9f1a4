//! The engines behind a sender, of either transport, and the messages that it has to send.

use incast_cc::parts::Pacer;
use incast_cc::{CongestionControl, Rate, Time};

use crate::backlog::{Backlog, Posted};
use crate::rate::{RateComputation, pacing_rate, spacing};
use crate::rtt::RttMeasurement;

/// Rate computation, RTT measurement and pacing of one connection, with its backlog.
#[derive(Clone, Debug)]
pub(crate) struct Engines<C> {
    pub(crate) rate: RateComputation<C>,
    pub(crate) rtt: RttMeasurement,
    pub(crate) pacer: Pacer,
    pub(crate) messages: Backlog,
    /// The start of the retransmission timer.
    pub(crate) timer_from: Time,
    /// Timeouts since the last RTT sample, each of which doubles the next (RFC 6298, section 5).
    pub(crate) backoff: u32,
    /// The number of packets sent again.
    pub(crate) retransmissions: u32,
}

impl<C: CongestionControl> Engines<C> {
    pub(crate) fn new(rate: RateComputation<C>, rtt: RttMeasurement, now: Time) -> Self {
        let (pacer, messages) = (Pacer::default(), Backlog::new());
        Self { rate, rtt, pacer, messages, timer_from: now, backoff: 0, retransmissions: 0 }
    }

    /// The algorithm's rate, or its window over the RTT; zero before the RTT is known.
    pub(crate) fn pacing_rate(&self) -> Rate {
        pacing_rate(self.rate.limits(), self.rtt.srtt())
    }

    /// The time at which the retransmission timer, with its back-off, expires.
    #[inline]
    pub(crate) fn timeout_at(&self) -> Time {
        self.timer_from + self.rtt.rto(self.backoff)
    }

    /// The rate that bursts are spaced by; [`None`] where ACKs clock them and `unpaced_percent`
    /// does not pace them all the same.
    pub(crate) fn pace(&self, unpaced_percent: Option<u32>) -> Option<Rate> {
        spacing(self.rate.limits(), self.rtt.srtt(), unpaced_percent)
    }

    /// Queues a message and tells the algorithm of it.
    pub(crate) fn post(&mut self, now: Time, posted: &Posted) {
        let size = self.messages.post(now, posted);
        match posted.deadline.zip(self.messages.posted()) {
            Some((deadline, end)) => self.rate.on_demand_due(now, size, deadline, end),
            None => self.rate.on_demand(now, size),
        }
    }
}

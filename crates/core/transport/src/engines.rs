//! The engines behind a sender, of either transport, and the messages that it has to send.

use incast_cc::parts::Pacer;
use incast_cc::{Bytes, CongestionControl, LossDetection, Rate, Time};

use crate::backlog::{Backlog, Posted};
use crate::connection::ENDLESS;
use crate::levels::Levels;
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
    /// The state of what few algorithms ask for.
    special: Option<Box<Special>>,
}

/// The state of what few algorithms ask for.
#[derive(Clone, Debug)]
struct Special {
    /// The places of packets, where the algorithm chooses their class.
    levels: Option<Levels>,
    /// The state of a stream that finds losses by timeouts alone.
    blind: Option<Blind>,
}

/// A stream that finds losses by timeouts alone ([`LossDetection::Timeout`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blind {
    /// The number of timeouts in a row after which no data is sent; 0 is never.
    pub(crate) probe_after: u8,
    /// Whether no data is sent, but packets without payload, until an ACK comes.
    pub(crate) probes: bool,
}

impl<C: CongestionControl> Engines<C> {
    pub(crate) fn new(rate: RateComputation<C>, rtt: RttMeasurement, now: Time) -> Self {
        let (pacer, messages) = (Pacer::default(), Backlog::new());
        let levels = rate.reads().level.then(Levels::default);
        let special = levels.map(|levels| Special { levels: Some(levels), blind: None });
        let special = special.map(Box::new);
        Self {
            rate,
            rtt,
            pacer,
            messages,
            timer_from: now,
            backoff: 0,
            retransmissions: 0,
            special,
        }
    }

    /// Lets a stream find losses as its algorithm says.
    pub(crate) fn set_loss_detection(&mut self) {
        if let LossDetection::Timeout { after, probe_after } = self.rate.control().loss_detection()
        {
            self.rtt.fix(after);
            let probe_after = u8::try_from(probe_after).unwrap_or(u8::MAX);
            let none = || Box::new(Special { levels: None, blind: None });
            let special = self.special.get_or_insert_with(none);
            special.blind = Some(Blind { probe_after, probes: false });
        }
    }

    /// The state of a stream that finds losses by timeouts alone.
    #[inline]
    pub(crate) fn blind(&self) -> Option<&Blind> {
        self.special.as_ref()?.blind.as_ref()
    }

    /// [`blind`](Self::blind), to be changed.
    #[inline]
    pub(crate) fn blind_mut(&mut self) -> Option<&mut Blind> {
        self.special.as_mut()?.blind.as_mut()
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

    /// Whether the algorithm chooses the class of each packet.
    #[inline]
    pub(crate) fn chooses_class(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.levels.is_some())
    }

    /// The level of a packet that starts at `start` in all payload posted, where the algorithm
    /// chooses it. All payload before `acknowledged` is acknowledged.
    pub(crate) fn level(&self, start: u64, acknowledged: u64) -> u8 {
        let levels = self.special.as_ref().and_then(|special| special.levels.as_ref());
        let place = levels.map(|levels| levels.place(start, acknowledged));
        place.map_or(0, |place| self.rate.level(&place))
    }

    /// Queues a message and tells the algorithm of it. All payload before `acknowledged` is
    /// acknowledged.
    pub(crate) fn post(&mut self, now: Time, posted: &Posted, acknowledged: u64) {
        let start = self.messages.posted().map_or(ENDLESS, Bytes::get);
        let size = self.messages.post(now, posted);
        if let Some(levels) = self.special.as_mut().and_then(|special| special.levels.as_mut()) {
            levels.post(start, size, posted.deadline, acknowledged);
        }
        match posted.deadline.zip(self.messages.posted()) {
            Some((deadline, end)) => self.rate.on_demand_due(now, size, deadline, end),
            None => self.rate.on_demand(now, size),
        }
    }

    /// Takes the unsent payload of a message back, as [`Backlog::withdraw`] does. Returns its
    /// length.
    pub(crate) fn withdraw(&mut self, after: usize) -> Option<u64> {
        let end = if self.rate.has_dues() { self.messages.end(after) } else { None };
        let withdrawn = self.messages.withdraw(after)?;
        if let Some(levels) = self.special.as_mut().and_then(|special| special.levels.as_mut()) {
            levels.withdraw(after, &withdrawn);
        }
        if let Some(end) = end {
            self.rate.on_withdrawn(&withdrawn, end);
        }
        Some(withdrawn.bytes.get())
    }
}

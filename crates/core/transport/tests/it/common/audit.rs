//! The promises of `incast_cc::contract`, held against the acts of a carrier.

use incast_cc::{
    Ack, Bytes, CongestionControl, Demand, Limits, Loss, LossCause, LossDetection, Notification,
    Place, Reads, Sent, Span, Spurious, Time,
};

/// The carrier of an audited flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Messages.
    Message,
    /// A stream: whether each ACK tells what has arrived, and whether probes leave beside the
    /// window.
    Stream { sack: bool, probes: bool },
}

/// An algorithm that audits the books which the contract promises to keep.
#[derive(Clone, Debug)]
pub(crate) struct Audited<C> {
    pub(crate) inner: C,
    carrier: Carrier,
    now: Time,
    in_flight: Bytes,
    /// The time from which nothing was in flight.
    empty_since: Time,
    /// The time at which the algorithm heard of the end of that.
    restarted: Option<Time>,
    transmitted: Bytes,
    /// The total of the last ACK.
    pub(crate) delivered: Bytes,
    /// The round of the last ACK.
    round: u64,
    /// Whether a loss has opened fast recovery.
    recovering: bool,
    /// Whether a retransmission may leave though the window is full.
    fast_retransmit: bool,
}

impl<C: CongestionControl> Audited<C> {
    pub(crate) fn new(inner: C, carrier: Carrier) -> Self {
        Self {
            inner,
            carrier,
            now: Time::ZERO,
            in_flight: Bytes::ZERO,
            empty_since: Time::ZERO,
            restarted: None,
            transmitted: Bytes::ZERO,
            delivered: Bytes::ZERO,
            round: 0,
            recovering: false,
            fast_retransmit: false,
        }
    }

    /// Whether each ACK tells what has arrived: not so without SACK.
    fn exact(&self) -> bool {
        self.carrier != Carrier::Stream { sack: false, probes: false }
            && self.carrier != Carrier::Stream { sack: false, probes: true }
    }

    fn at(&mut self, now: Time) {
        assert!(now >= self.now, "time goes back from {} to {now}", self.now);
        self.now = now;
    }

    fn leave(&mut self, bytes: Bytes, in_flight: Bytes) {
        assert!(bytes <= self.in_flight, "{bytes} leave of {} in flight", self.in_flight);
        if !bytes.is_zero() && bytes == self.in_flight {
            self.empty_since = self.now;
        }
        self.in_flight -= bytes;
        assert_eq!(in_flight, self.in_flight, "in flight: sent less acknowledged and lost");
    }

    fn check_window(&mut self, sent: &Sent) {
        let cwnd = self.inner.limits().cwnd;
        if sent.in_flight <= cwnd || sent.in_flight == sent.bytes {
            return;
        }
        match self.carrier {
            // Packets of incomplete segments that have arrived count as in flight.
            Carrier::Message => assert!(sent.retransmission, "{sent:?} exceeds {cwnd}"),
            Carrier::Stream { .. } if sent.retransmission => {
                assert!(self.fast_retransmit, "{sent:?} exceeds {cwnd} and is not the first");
                self.fast_retransmit = false;
            }
            Carrier::Stream { probes, .. } => assert!(probes, "{sent:?} exceeds {cwnd}"),
        }
    }
}

impl<C: CongestionControl + std::fmt::Debug> CongestionControl for Audited<C> {
    fn reads(&self) -> Reads {
        Reads { sent: true, ..self.inner.reads() }
    }

    fn level(&self, place: &Place) -> u8 {
        self.inner.level(place)
    }

    fn loss_detection(&self) -> LossDetection {
        self.inner.loss_detection()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.at(ack.now);
        self.leave(ack.bytes, ack.in_flight);
        assert!(ack.first < ack.end && ack.end <= ack.next && ack.next == self.transmitted);
        assert!(ack.bytes <= ack.end - ack.first, "more than its burst: {ack:?}");
        assert!(ack.sent_at <= ack.now && ack.round >= self.round && ack.round <= self.round + 1);
        // Nothing new: a mark or a sample alone; or, without SACK, data that duplicate ACKs had
        // counted before.
        let alone = !ack.ce_bytes.is_zero() || ack.rtt.is_some();
        let same = !self.exact() || ack.bytes.is_zero() && alone;
        let same = same && ack.delivered == self.delivered;
        assert!(same || ack.delivered > self.delivered, "{ack:?} after {self:?}");
        if let Some(delivery) = ack.delivery {
            assert!(delivery.in_flight_at_send <= self.transmitted);
            assert!(!delivery.rate.is_zero(), "{ack:?}");
            assert!(ack.delivered > self.delivered, "a rate of nothing: {ack:?}");
        }
        assert!(self.recovering || !ack.in_recovery, "nothing is being repaired: {ack:?}");
        if let Some(rtt) = ack.rtt {
            assert!(ack.min_rtt <= rtt.total && !ack.srtt.is_zero());
        }
        (self.delivered, self.round) = (ack.delivered, ack.round);
        // Without SACK each partial acknowledgement sends one segment again (RFC 6582).
        self.fast_retransmit |= !self.exact() && ack.in_recovery;
        self.inner.on_ack(ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.at(loss.now);
        self.leave(loss.bytes, loss.in_flight);
        assert!(loss.first <= loss.end && loss.end <= loss.next && loss.next == self.transmitted);
        assert!(loss.bytes <= loss.end - loss.first, "more than its burst: {loss:?}");
        assert!(!loss.bytes.is_zero(), "a loss of nothing: {loss:?}");
        self.recovering = loss.cause == LossCause::Detected;
        self.fast_retransmit |= !loss.in_recovery;
        self.inner.on_loss(loss);
    }
    fn limits(&self) -> Limits {
        self.inner.limits()
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.at(sent.now);
        if self.in_flight.is_zero() && !self.transmitted.is_zero() {
            assert_eq!(self.restarted.take(), Some(sent.now), "no on_restart before {sent:?}");
        }
        self.in_flight += sent.bytes;
        self.transmitted += sent.bytes;
        assert_eq!((sent.in_flight, sent.end), (self.in_flight, self.transmitted));
        self.check_window(sent);
        self.inner.on_sent(sent);
    }
    fn on_demand(&mut self, demand: &Demand) {
        self.at(demand.now);
        self.inner.on_demand(demand);
    }
    fn on_restart(&mut self, now: Time, idle: Span) {
        self.at(now);
        assert!(self.in_flight.is_zero() && !self.transmitted.is_zero());
        assert_eq!(idle, now.since(self.empty_since), "how long nothing was in flight");
        assert_eq!(self.restarted.replace(now), None, "told twice");
        self.inner.on_restart(now, idle);
    }
    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.at(spurious.now);
        // The ACK that tells of it comes next, and counts it; data on its way still counts again.
        assert!(!spurious.bytes.is_zero(), "nothing was no loss: {spurious:?}");
        assert!(spurious.returned <= spurious.bytes, "{spurious:?}");
        assert!(spurious.bytes <= spurious.end - spurious.first, "more than its bursts");
        self.in_flight += spurious.returned;
        self.inner.on_spurious_loss(spurious);
    }
    fn on_notification(&mut self, notification: &Notification) {
        self.at(notification.now);
        self.inner.on_notification(notification);
    }
    fn on_timer(&mut self, now: Time) {
        self.at(now);
        self.inner.on_timer(now);
        assert!(self.next_timer().is_none_or(|next| next > now), "the next instant lies after");
    }
    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }
}

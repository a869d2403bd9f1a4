//! The carrier's half of the contract, between a QUIC library and an algorithm.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use incast_cc::{Bytes, CongestionControl, Flow, LossCause, Pacing, Rate, RttSample, Span, Time};
use incast_transport::rate::{Completion, RateComputation, Report, Transmission, spacing};
use incast_transport::rtt::{Answered, RttMeasurement};

use crate::Settings;

/// The least time between two notifications, as receivers space the CNPs of DCQCN.
const NOTIFICATION_INTERVAL: Span = Span::from_us(50);

/// The connections of an endpoint: starts the algorithm of each.
#[derive(Debug)]
pub(crate) struct Connections<F> {
    start: F,
    settings: Settings,
    /// The number of connections so far, which gives each its own random numbers.
    started: AtomicU64,
    /// Held by every connection that lives.
    living: Arc<()>,
}

impl<F> Connections<F> {
    pub(crate) fn new(settings: Settings, start: F) -> Self {
        Self { start, settings, started: AtomicU64::new(0), living: Arc::new(()) }
    }

    /// The books of a new connection whose datagrams carry `mtu`, and whose receivers acknowledge
    /// every so many of them at once.
    pub(crate) fn open<C: CongestionControl>(&self, mtu: u16, acknowledged: u64) -> Carrier<C>
    where
        F: Fn(&Flow) -> C,
    {
        let mtu = Bytes::new(u64::from(mtu));
        let mut flow = Flow::new(mtu, self.settings.line_rate);
        flow.mss = mtu;
        flow.base_rtt = self.settings.base_rtt;
        flow.initial_window = initial_window(mtu);
        flow.active_flows = u32::try_from(Arc::strong_count(&self.living) - 1).unwrap_or(u32::MAX);
        // Relaxed: the number matters, and no order between connections.
        flow.seed = self.settings.seed.wrapping_add(self.started.fetch_add(1, Ordering::Relaxed));
        Carrier::new((self.start)(&flow), &flow, acknowledged, self.living.clone())
    }
}

/// The initial window of RFC 9002, section 7.2.
fn initial_window(mtu: Bytes) -> Bytes {
    (mtu * 10).min(Bytes::new(14_720).max(mtu * 2))
}

/// The algorithm of one connection, with the books that its contract promises.
#[derive(Clone, Debug)]
pub(crate) struct Carrier<C> {
    rate: RateComputation<C>,
    rtt: RttMeasurement,
    mtu: Bytes,
    /// The number of datagrams for which receivers send an ACK at once. One of fewer waits for
    /// their timer, 25 ms.
    acknowledged: u64,
    initial_window: Bytes,
    /// The start of the next transmission when the recovery period began that is open (RFC 9002,
    /// section 7.3.2).
    recovery: Option<Bytes>,
    notified_at: Option<Time>,
    _lives: Arc<()>,
}

/// An acknowledgement of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: Time,
    /// The acknowledged data.
    pub(crate) sent: Transmission,
    /// The part of it that arrived marked.
    pub(crate) ce_bytes: Bytes,
    /// The RTT sample, without what the peer's timer has held the ACK back.
    pub(crate) rtt: Option<Span>,
    /// Whether the connection had nothing more to send.
    pub(crate) app_limited: bool,
}

impl<C: CongestionControl> Carrier<C> {
    fn new(control: C, flow: &Flow, acknowledged: u64, lives: Arc<()>) -> Self {
        let config = incast_transport::Config { line_rate: flow.line_rate, ..Default::default() };
        Self {
            rate: RateComputation::of(control, flow.now),
            rtt: RttMeasurement::new(&config, flow.base_rtt),
            mtu: flow.mss,
            acknowledged,
            initial_window: flow.initial_window,
            recovery: None,
            notified_at: None,
            _lives: lives,
        }
    }

    /// The algorithm.
    pub(crate) const fn control(&self) -> &C {
        self.rate.control()
    }

    pub(crate) const fn mtu(&self) -> Bytes {
        self.mtu
    }

    pub(crate) const fn in_flight(&self) -> Bytes {
        self.rate.in_flight()
    }

    pub(crate) const fn transmitted(&self) -> Bytes {
        self.rate.transmitted()
    }

    /// The window: the algorithm's, and no more than its rate needs to be kept up by ACKs. That is
    /// what it fills in a smoothed RTT, and the datagrams that wait for an ACK, in whole datagrams.
    /// Before the RTT is known a rate has the initial window. As many datagrams as are acknowledged
    /// at once always fit, or they would wait for the receiver's timer.
    pub(crate) fn window(&self) -> Bytes {
        let limits = self.rate.limits();
        let filled = match limits.pacing {
            Pacing::Rate(_) if self.rtt.srtt().is_zero() => self.initial_window,
            Pacing::Rate(rate) => {
                let waiting = self.mtu * (self.acknowledged - 1);
                self.whole(rate.bytes_in(self.rtt.srtt()) + waiting)
            }
            Pacing::Window { .. } | Pacing::Unpaced => limits.cwnd,
        };
        limits.cwnd.min(filled).max(self.mtu * self.acknowledged)
    }

    /// `bytes` in whole datagrams.
    fn whole(&self, bytes: Bytes) -> Bytes {
        Bytes::new(bytes.get().next_multiple_of(self.mtu.get().max(1)))
    }

    /// The rate by which datagrams are spaced, where the algorithm spaces them.
    pub(crate) fn spacing(&self) -> Option<Rate> {
        spacing(self.rate.limits(), self.rtt.srtt(), None)
    }

    /// The most that the algorithm lets leave at once.
    #[cfg(feature = "s2n")]
    pub(crate) const fn burst(&self) -> Bytes {
        self.rate.limits().burst.bytes
    }

    /// Counts `bytes` that are sent.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: Bytes, app_limited: bool) -> Transmission {
        self.rate.on_timer(now);
        self.rate.on_sent(now, bytes, false, app_limited)
    }

    /// Counts data that was acknowledged.
    pub(crate) fn on_ack(&mut self, acked: &Acked) {
        let Acked { now, sent, .. } = *acked;
        self.rate.on_timer(now);
        let window_limited = !acked.app_limited && self.in_flight() + self.mtu > self.window();
        if acked.app_limited {
            self.rate.on_drained();
        }
        if self.recovery.is_some_and(|recovery| sent.end > recovery) {
            self.recovery = None;
        }
        let sample = acked.rtt.map(|total| self.sample(total));
        let completion = Completion {
            identified: true,
            delivered: sent.bytes,
            ce_bytes: acked.ce_bytes,
            sample,
            window_limited,
            ..self.nothing(&sent)
        };
        self.rate.on_completion(now, &completion, &self.rtt);
        self.on_marks(now, acked.ce_bytes);
    }

    /// Tells the algorithm that `ce_bytes` of `sent`, which is off the books already, arrived
    /// marked.
    #[cfg(feature = "quinn")]
    pub(crate) fn on_late_mark(&mut self, now: Time, sent: Transmission, ce_bytes: Bytes) {
        let mut sent = sent;
        sent.bytes = Bytes::ZERO;
        let completion = Completion { ce_bytes, ..self.nothing(&sent) };
        self.rate.on_completion(now, &completion, &self.rtt);
        self.on_marks(now, ce_bytes);
    }

    /// Takes lost data off the books. Persistent congestion (RFC 9002, section 7.6) is what a
    /// timeout is to TCP: the path has carried nothing for several timeouts.
    pub(crate) fn on_loss(&mut self, now: Time, sent: Transmission, persistent: bool) {
        self.rate.on_timer(now);
        if sent.bytes.is_zero() {
            return;
        }
        let cause = if persistent { LossCause::Timeout } else { LossCause::Detected };
        self.rate.on_loss(now, sent, self.recovery.is_some(), cause);
        self.recovery = match (persistent, self.recovery) {
            (true, _) => None,
            (false, None) => Some(self.transmitted()),
            (false, open) => open,
        };
    }

    /// Whether losses are being repaired.
    #[cfg(feature = "s2n")]
    pub(crate) const fn in_recovery(&self) -> bool {
        self.recovery.is_some()
    }

    /// Sets the bytes in flight to those of the library.
    pub(crate) fn set_in_flight(&mut self, now: Time, in_flight: Bytes) {
        self.rate.set_in_flight(now, in_flight);
    }

    /// Notes the largest datagram of the path.
    pub(crate) fn on_mtu(&mut self, mtu: u16) {
        self.mtu = Bytes::new(u64::from(mtu));
        self.rate.on_mss_change(self.mtu);
    }

    /// DCQCN hears of marks by notifications, which QUIC does not have: an ACK that tells of marks
    /// stands for one.
    fn on_marks(&mut self, now: Time, ce_bytes: Bytes) {
        let due = self.notified_at.is_none_or(|at| now.since(at) >= NOTIFICATION_INTERVAL);
        if due && !ce_bytes.is_zero() {
            self.notified_at = Some(now);
            self.rate.on_notification(now);
        }
    }

    fn sample(&mut self, total: Span) -> RttSample {
        let (sent_at, now) = (Time::ZERO, Time::ZERO + total);
        let (serialization, held) = (Span::ZERO, Span::ZERO);
        self.rtt.answered(&Answered { sent_at, now, serialization, held, late: false })
    }

    /// A completion of which nothing is known but the transmission that it tells of.
    fn nothing<'a>(&self, sent: &'a Transmission) -> Completion<'a> {
        Completion {
            sent,
            identified: false,
            delivered: Bytes::ZERO,
            ce_bytes: Bytes::ZERO,
            sample: None,
            in_recovery: self.recovery.is_some(),
            posted: None,
            window_limited: false,
            one_way: None,
            nic_backlog: Bytes::ZERO,
            report: Report::default(),
        }
    }
}

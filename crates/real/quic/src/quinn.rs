//! Algorithms of `incast` as congestion control of quinn.
//!
//! ```
//! use std::sync::Arc;
//!
//! use incast_cc::{AnyAlgorithm, Rate};
//! use incast_quic::{Settings, quinn::Factory};
//!
//! let swift = AnyAlgorithm::named("swift").unwrap();
//! let settings = Settings::new(Rate::from_gbps(10));
//! let mut config = quinn_proto::TransportConfig::default(); // quinn::TransportConfig
//! let factory = Factory::new(settings, move |flow: &incast_cc::Flow| swift.start(flow));
//! config.congestion_controller_factory(Arc::new(factory));
//! ```
//!
//! # What is lost
//!
//! * **Rates.** quinn asks for a window, and its pacer takes no rate. An algorithm's rate r becomes
//!   the window r x smoothed RTT, so that ACKs clock out what the rate would. A datagram is added,
//!   since receivers acknowledge every second one, and the sum is rounded up to whole datagrams. So
//!   a rate is exceeded by up to two datagrams per RTT, and one below two datagrams per RTT is not
//!   obeyed.
//! * **Pacing.** quinn paces every window, those of unpaced algorithms too, at 1.25 x window /
//!   smoothed RTT, in bursts of 2 ms, and of 10 to 256 datagrams. The sizes of bursts that an
//!   algorithm asks for are ignored.
//! * **Order.** quinn tells of losses and marks after the ACK that they came with, not before. An
//!   algorithm hears of them right after that ACK, at the same instant.
//! * **Amount of marks.** quinn says that there were new marks, not how many: all data of the ACK
//!   counts as marked.
//! * **ACK delay.** quinn keeps what the peer says about its timer to itself, and smooths RTTs with
//!   it. An ACK of several datagrams has waited for no timer, and its RTT is taken at once. An ACK
//!   of one, if its RTT is above the smoothed one, may have waited: its sample comes with the next
//!   ACK, computed from the smoothed RTT that quinn has by then.
//! * **Datagrams without data.** quinn counts datagrams that hold ACKs alone as sent, and never
//!   tells of their end. They are taken off the books with the next ACK that arrives. A restart
//!   after an idle time is not noticed in between.
//! * **What was lost** is told as an amount and the time of the newest: the oldest is taken to be
//!   that many bytes before.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use incast_cc::{Bytes, CongestionControl, Flow, Span, Time};
use incast_transport::rate::Transmission;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use crate::carrier::{Acked, Carrier, Connections};
use crate::{Settings, adjusted, span};

/// The datagrams that quinn acknowledges at once (RFC 9000, section 13.2.2).
const ACKNOWLEDGED: u64 = 2;

/// The most bursts that are remembered. More would be needed to send for several RTTs without an
/// ACK.
const BURSTS: usize = 4_096;

/// An algorithm that quinn starts for each connection.
#[derive(Debug)]
pub struct Factory<F>(Connections<F>);

impl<F> Factory<F> {
    /// A factory whose connections are under the algorithm that `start` starts.
    pub fn new<C>(settings: Settings, start: F) -> Self
    where
        F: Fn(&Flow) -> C + Send + Sync + 'static,
        C: CongestionControl + Clone + Send + Sync + 'static,
    {
        Self(Connections::new(settings, start))
    }
}

impl<F, C> ControllerFactory for Factory<F>
where
    F: Fn(&Flow) -> C + Send + Sync + 'static,
    C: CongestionControl + Clone + Send + Sync + 'static,
{
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Control::new(self.0.open(current_mtu, ACKNOWLEDGED), now))
    }
}

/// An algorithm with the books of one connection.
#[derive(Clone)]
pub struct Control<C> {
    carrier: Carrier<C>,
    /// The instant that is time zero of the algorithm.
    start: Instant,
    /// The time of the last event.
    now: Time,
    /// Bursts that were sent, by time. Datagrams of one instant are one burst.
    bursts: VecDeque<Transmission>,
    /// The datagrams that the ACK at hand acknowledges.
    batch: Option<Batch>,
    /// The last datagrams that were acknowledged, which marks are about.
    last: Option<(Time, Transmission)>,
    /// The send time of the newest acknowledged datagram, and its number.
    newest: Option<(Time, u64)>,
    /// A sample in which the peer's timer may be.
    held: Option<Held>,
}

/// The datagrams of one ACK.
#[derive(Clone, Copy)]
struct Batch {
    sent: Transmission,
    datagrams: u32,
    /// quinn's smoothed RTT before this ACK, and its least one.
    smoothed: Duration,
}

/// A sample that waits for the smoothed RTT with it.
#[derive(Clone, Copy)]
struct Held {
    whole: Duration,
    smoothed_before: Duration,
}

impl<C> fmt::Debug for Control<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("bursts", &self.bursts.len()).finish_non_exhaustive()
    }
}

impl<C: CongestionControl> Control<C> {
    fn new(carrier: Carrier<C>, start: Instant) -> Self {
        let (bursts, batch) = (VecDeque::new(), None);
        let now = Time::ZERO;
        Self { carrier, start, now, bursts, batch, last: None, newest: None, held: None }
    }

    /// The algorithm, for its gauges.
    pub const fn algorithm(&self) -> &C {
        self.carrier.control()
    }

    fn at(&self, instant: Instant) -> Time {
        Time::ZERO + span(instant.saturating_duration_since(self.start))
    }

    /// The time of an event. Times never go back.
    fn event_at(&mut self, instant: Instant) -> Time {
        self.now = self.now.max(self.at(instant));
        self.now
    }

    /// The burst that was sent at `sent_at`; the last one before it, for the probes of path MTU
    /// discovery, which quinn does not tell of; the oldest one that is remembered.
    fn burst(&self, sent_at: Time) -> Transmission {
        let after = self.bursts.partition_point(|burst| burst.sent_at <= sent_at);
        let mut burst = self.bursts.get(after.saturating_sub(1)).copied().unwrap_or_default();
        burst.sent_at = sent_at;
        burst
    }

    /// Forgets bursts whose datagrams are acknowledged or lost: what was sent two RTTs before the
    /// newest acknowledged datagram is (RFC 9002, section 6.1.2).
    fn forget(&mut self, newest: Time, rtt: Span) {
        while self.bursts.front().is_some_and(|burst| burst.sent_at + rtt * 2 < newest) {
            self.bursts.pop_front();
        }
    }

    /// The sample of an ACK at `now`, and the one that waited for it.
    fn sample(&mut self, now: Time, batch: &Batch, number: Option<u64>) -> Option<Span> {
        let sent_at = batch.sent.sent_at;
        let first = self.newest.is_none();
        let key = (sent_at, number.unwrap_or_default());
        if self.newest.is_some_and(|newest| key <= newest) {
            return None;
        }
        self.newest = Some(key);
        let whole = now.since(sent_at);
        let whole_duration = Duration::from_nanos(whole.as_ns());
        if first || batch.datagrams > 1 || whole_duration <= batch.smoothed {
            return Some(whole);
        }
        self.held = Some(Held { whole: whole_duration, smoothed_before: batch.smoothed });
        None
    }
}

impl<C> Controller for Control<C>
where
    C: CongestionControl + Clone + Send + Sync + 'static,
{
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.event_at(now);
        let sent = self.carrier.on_sent(now, Bytes::new(bytes), false);
        match self.bursts.back_mut().filter(|burst| burst.sent_at == sent.sent_at) {
            Some(burst) => burst.join(sent),
            None => self.bursts.push_back(sent),
        }
        if self.bursts.len() > BURSTS {
            self.bursts.pop_front();
        }
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let mut sent = self.burst(self.at(sent));
        sent.bytes = Bytes::new(bytes);
        match &mut self.batch {
            Some(batch) => {
                batch.sent.join(sent);
                batch.datagrams += 1;
            }
            None => self.batch = Some(Batch { sent, datagrams: 1, smoothed: rtt.get() }),
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let (now, in_flight) = (self.event_at(now), Bytes::new(in_flight));
        let Some(batch) = self.batch.take() else {
            self.carrier.set_in_flight(now, in_flight);
            return;
        };
        let waited = self
            .held
            .take()
            .map(|held| adjusted(held.smoothed_before, batch.smoothed, Duration::ZERO, held.whole));
        let rtt = self.sample(now, &batch, largest_packet_num_acked).or(waited);
        self.carrier.set_in_flight(now, in_flight + batch.sent.bytes);
        self.carrier.on_ack(&Acked {
            now,
            sent: batch.sent,
            ce_bytes: Bytes::ZERO,
            rtt,
            app_limited,
        });
        self.last = Some((now, batch.sent));
        let whole = now.since(batch.sent.sent_at);
        self.forget(batch.sent.sent_at, whole.max(span(batch.smoothed)));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (now, lost) = (self.event_at(now), Bytes::new(lost_bytes));
        let mut sent = self.burst(self.at(sent));
        if lost.is_zero() {
            let acked = self.last.filter(|(at, _)| *at == now).map_or(sent, |(_, acked)| acked);
            let marked = acked.bytes.max(self.carrier.mtu());
            self.carrier.on_late_mark(now, sent, marked);
            return;
        }
        sent.bytes = lost;
        sent.first = sent.first.min(sent.end.saturating_sub(lost));
        self.carrier.on_loss(now, sent, is_persistent_congestion);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.carrier.on_mtu(new_mtu);
    }

    /// The window, and a byte: quinn sends where the bytes in flight stay below it, and an
    /// algorithm allows them to reach it.
    fn window(&self) -> u64 {
        self.carrier.window().get().saturating_add(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.carrier.window().get();
        metrics.pacing_rate = self.carrier.spacing().map(incast_cc::Rate::as_bps);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transfers;

//! Algorithms of `incast` as congestion control of s2n-quic.
//!
//! ```
//! use incast_cc::{AnyAlgorithm, Rate};
//! use incast_quic::{Settings, s2n::Endpoint};
//!
//! let swift = AnyAlgorithm::named("swift").unwrap();
//! let settings = Settings::new(Rate::from_gbps(10));
//! let endpoint = Endpoint::new(settings, move |flow: &incast_cc::Flow| swift.start(flow));
//! // s2n_quic::Server::builder().with_congestion_controller(endpoint)
//! # drop(endpoint);
//! ```
//!
//! s2n-quic lets other crates implement its trait with the feature `unstable-congestion-controller`
//! alone, which may change with any version.
//!
//! # What is lost
//!
//! * **Rates.** An algorithm's rate reaches s2n-quic as the earliest departure of the next
//!   datagram. Departures within the next millisecond count as due, since its timers are no finer.
//!   So a rate r may be ahead by r x 1 ms. That is why a window of r x smoothed RTT holds as well:
//!   where the RTT is shorter, ACKs clock out what the timer cannot.
//! * **Small windows.** A receiver of s2n-quic acknowledges every tenth datagram at once; an ACK of
//!   fewer waits for its timer, 25 ms. So windows are at least ten datagrams, and the window of a
//!   rate has nine more. In a datacenter that may be many times what an algorithm asks for.
//! * **Times** are whole microseconds, and so are RTTs.
//! * **ACKs** that cover several datagrams tell the newest of them: the oldest is taken to be that
//!   many bytes before.
//!
//! Losses and marks come before the ACK that told of them, datagram by datagram, and with their
//! number. RTTs are without the delay that the peer reports.

use std::fmt;
use std::time::Duration;

use incast_cc::parts::Pacer;
use incast_cc::{Bytes, CongestionControl, Flow, Span, Time};
use incast_transport::rate::Transmission;
use s2n_quic_core::random;
use s2n_quic_core::recovery::RttEstimator;
use s2n_quic_core::recovery::congestion_controller::{self, PathInfo, Publisher};
use s2n_quic_core::time::Timestamp;

use crate::carrier::{Acked, Carrier, Connections};
use crate::{Settings, adjusted, span};

/// The datagrams that receivers of s2n-quic acknowledge at once. They have no setting for it.
const ACKNOWLEDGED: u64 = 10;

/// An algorithm that s2n-quic starts for each path.
pub struct Endpoint<F>(Connections<F>);

impl<F> Endpoint<F> {
    /// An endpoint whose connections are under the algorithm that `start` starts.
    pub fn new<C>(settings: Settings, start: F) -> Self
    where
        F: Fn(&Flow) -> C + Send + 'static,
        C: CongestionControl + Clone + Send + 'static,
    {
        Self(Connections::new(settings, start))
    }
}

impl<F> fmt::Debug for Endpoint<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

impl<F, C> congestion_controller::Endpoint for Endpoint<F>
where
    F: Fn(&Flow) -> C + Send + 'static,
    C: CongestionControl + Clone + Send + 'static,
{
    type CongestionController = Control<C>;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> Control<C> {
        Control::new(self.0.open(path.max_datagram_size, ACKNOWLEDGED))
    }
}

/// An algorithm with the books of one path.
#[derive(Clone)]
pub struct Control<C> {
    carrier: Carrier<C>,
    /// The first time that was told, which is time zero of the algorithm.
    start: Option<Timestamp>,
    /// The time of the last event.
    now: Time,
    pacer: Pacer,
    /// Whether the application had nothing more to send with the last datagram.
    app_limited: bool,
    /// The sample that comes with the next ACK.
    sample: Option<Span>,
    /// The smoothed RTT with the last sample; none before the first.
    smoothed: Option<Duration>,
    /// Bytes that were marked, of which the next ACK tells.
    ce_bytes: Bytes,
    /// Whether a loss has begun a recovery period, in which one datagram may leave at once (RFC
    /// 9002, section 7.3.2).
    repair: bool,
}

impl<C> fmt::Debug for Control<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("start", &self.start).finish_non_exhaustive()
    }
}

impl<C: CongestionControl> Control<C> {
    fn new(carrier: Carrier<C>) -> Self {
        Self {
            carrier,
            start: None,
            now: Time::ZERO,
            pacer: Pacer::default(),
            app_limited: false,
            sample: None,
            smoothed: None,
            ce_bytes: Bytes::ZERO,
            repair: false,
        }
    }

    /// The algorithm, for its gauges.
    pub const fn algorithm(&self) -> &C {
        self.carrier.control()
    }

    fn at(&mut self, timestamp: Timestamp) -> Time {
        let start = *self.start.get_or_insert(timestamp);
        // The difference of two equal timestamps is a microsecond.
        if timestamp <= start {
            return Time::ZERO;
        }
        Time::ZERO + span(timestamp.saturating_duration_since(start))
    }

    /// The time of an event. Times never go back.
    fn event_at(&mut self, timestamp: Timestamp) -> Time {
        self.now = self.now.max(self.at(timestamp));
        self.now
    }
}

/// A size as s2n-quic has it.
fn short(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

impl<C> congestion_controller::CongestionController for Control<C>
where
    C: CongestionControl + Clone + Send + 'static,
{
    type PacketInfo = Transmission;

    fn congestion_window(&self) -> u32 {
        short(self.carrier.window())
    }

    fn bytes_in_flight(&self) -> u32 {
        short(self.carrier.in_flight())
    }

    fn is_congestion_limited(&self) -> bool {
        let in_flight = self.carrier.in_flight();
        !in_flight.is_zero() && in_flight + self.carrier.mtu() > self.carrier.window()
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.repair
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) -> Transmission {
        let (now, bytes) = (self.event_at(time_sent), Bytes::new(sent_bytes as u64));
        if bytes.is_zero() {
            return Transmission::default();
        }
        self.repair = false;
        if let Some(app_limited) = app_limited {
            self.app_limited = app_limited;
        }
        // A datagram that is early by less than a timer can tell does not gain on the rate.
        let due = self.carrier.spacing().map_or(now, |rate| self.pacer.send_time(rate));
        self.pacer.sent(due.max(now), bytes);
        self.carrier.on_sent(now, bytes, self.app_limited)
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        _time_sent: Timestamp,
        _now: Timestamp,
        rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) {
        let (whole, after) = (rtt_estimator.latest_rtt(), rtt_estimator.smoothed_rtt());
        let least = rtt_estimator.min_rtt();
        self.sample = Some(match self.smoothed {
            None => span(whole),
            Some(before) => adjusted(before, after, least, whole),
        });
        self.smoothed = Some(after);
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        newest_acked_time_sent: Timestamp,
        bytes_acknowledged: usize,
        newest_acked_packet_info: Transmission,
        _rtt_estimator: &RttEstimator,
        _random_generator: &mut dyn random::Generator,
        ack_receive_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.event_at(ack_receive_time);
        let mut sent = newest_acked_packet_info;
        sent.sent_at = self.at(newest_acked_time_sent);
        sent.bytes = Bytes::new(bytes_acknowledged as u64);
        sent.first = sent.first.min(sent.end.saturating_sub(sent.bytes));
        let rtt = self.sample.take();
        let ce_bytes = std::mem::take(&mut self.ce_bytes);
        let app_limited = self.app_limited;
        self.carrier.on_ack(&Acked { now, sent, ce_bytes, rtt, app_limited });
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet_info: Transmission,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _random_generator: &mut dyn random::Generator,
        timestamp: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.event_at(timestamp);
        let repaired = self.carrier.in_recovery();
        let mut sent = packet_info;
        sent.bytes = Bytes::new(u64::from(lost_bytes));
        self.carrier.on_loss(now, sent, persistent_congestion);
        self.repair |= !repaired && self.carrier.in_recovery();
    }

    fn on_explicit_congestion<Pub: Publisher>(
        &mut self,
        ce_count: u64,
        _event_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        self.ce_bytes += Bytes::new(self.carrier.mtu().get().saturating_mul(ce_count));
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _publisher: &mut Pub) {
        self.carrier.on_mtu(max_data_size);
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _publisher: &mut Pub) {
        let left = self.carrier.in_flight().saturating_sub(Bytes::new(bytes_sent as u64));
        self.carrier.set_in_flight(self.now, left);
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        let at = self.pacer.send_time(self.carrier.spacing()?);
        self.start.map(|start| start + Duration::from_nanos(at.since(Time::ZERO).as_ns()))
    }

    fn send_quantum(&self) -> Option<usize> {
        let burst = self.carrier.burst();
        (burst < Bytes::MAX).then(|| usize::try_from(burst.get()).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests;

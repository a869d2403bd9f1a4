//! Controllers of s2n-quic as algorithms of [`incast_cc`].
//!
//! A [`Guest`] runs on any carrier that takes a [`CongestionControl`], such as an
//! [`Endpoint`](incast_transport::Endpoint) of streams. Nothing of s2n-quic runs beside it: its
//! trait takes times and an RTT estimator, and both can be made without an endpoint.
//!
//! ```
//! use incast_cc::{Bytes, CongestionControl};
//! use incast_quic::s2n_guest::Guest;
//! use s2n_quic_core::recovery::CubicCongestionController;
//!
//! let cubic = CubicCongestionController::new(1_460, Default::default());
//! let cubic = Guest::new(cubic);
//! assert_eq!(cubic.limits().cwnd, Bytes::new(14_600));
//! ```
//!
//! # What differs from s2n-quic
//!
//! * **Bytes** are payload, without the headers of QUIC.
//! * **Pacing** is that of the carrier, at the rate that the controller publishes. s2n-quic lets a
//!   burst leave at once.
//! * **What an ACK covers** is told at once, with the newest of the data.
//! * **A timeout** of the carrier is told as persistent congestion. QUIC's probe timeouts change no
//!   window.
//! * **RTTs** go into an estimator of s2n-quic's own, without a delay of the peer. It knows none
//!   below a microsecond.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use incast_cc::parts::random::Random;
use incast_cc::{Ack, Burst, Bytes, CongestionControl, Limits, Loss, Pacing, Rate, Sent, Time};
use num_rational::Ratio;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, DEFAULT_INITIAL_RTT, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};

use crate::guests::{Timeouts, datagram, duration};

/// The most sends whose books are kept: those that are older are told of as the oldest.
const REMEMBERED: usize = 1 << 14;

/// A controller of s2n-quic under the contract of [`incast_cc`].
#[derive(Clone)]
pub struct Guest<C: CongestionController> {
    controller: C,
    estimator: RttEstimator,
    /// The timestamp that stands for time zero.
    zero: Timestamp,
    /// The books that the controller keeps of each send, with its time.
    sends: VecDeque<(Time, C::PacketInfo)>,
    /// The rate that it has published.
    paced: Published,
    random: Numbers,
    timeouts: Timeouts,
}

impl<C: CongestionController> Guest<C> {
    /// A controller for a new flow.
    pub fn new(controller: C) -> Self {
        Self {
            controller,
            estimator: RttEstimator::new(DEFAULT_INITIAL_RTT),
            zero: NoopClock.get_time(),
            sends: VecDeque::new(),
            paced: Published::default(),
            random: Numbers(Random::new(0)),
            timeouts: Timeouts::default(),
        }
    }

    fn at(&self, time: Time) -> Timestamp {
        self.zero + duration(time.since(Time::ZERO))
    }

    /// The books of the newest send until a time.
    fn info(&mut self, sent_at: Time) -> Option<C::PacketInfo> {
        let after = self.sends.partition_point(|(at, _)| *at <= sent_at);
        let place = after.saturating_sub(1);
        self.sends.get(place).map(|(_, info)| *info)
    }

    /// Has the controller's books of what is in flight be those of the carrier.
    fn settle(&mut self, in_flight: Bytes) {
        let theirs = u64::from(self.controller.bytes_in_flight());
        if let Some(beyond @ 1..) = theirs.checked_sub(in_flight.get()) {
            let beyond = usize::try_from(beyond).unwrap_or(usize::MAX);
            self.controller.on_packet_discarded(beyond, &mut self.paced);
        }
    }

    /// The part of some bytes that the controller has in flight.
    fn known(&self, bytes: Bytes) -> u32 {
        number(bytes).min(self.controller.bytes_in_flight())
    }
}

impl<C: CongestionController> fmt::Debug for Guest<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").field("controller", &self.controller).finish_non_exhaustive()
    }
}

fn number(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

impl<C: CongestionController> CongestionControl for Guest<C> {
    fn on_sent(&mut self, sent: &Sent) {
        let (at, bytes) = (self.at(sent.now), number(sent.bytes) as usize);
        let limited = Some(sent.app_limited);
        let Self { controller, estimator, paced, .. } = self;
        let info = controller.on_packet_sent(at, bytes, limited, estimator, paced);
        if self.sends.len() == REMEMBERED {
            self.sends.pop_front();
        }
        self.sends.push_back((sent.now, info));
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let (now, sent) = (self.at(ack.now), self.at(ack.sent_at));
        if let Some(rtt) = ack.rtt {
            let space = PacketNumberSpace::ApplicationData;
            self.estimator.update_rtt(Duration::ZERO, duration(rtt.total), now, true, space);
            let Self { controller, estimator, paced, .. } = self;
            controller.on_rtt_update(sent, now, estimator, paced);
        }
        let acked = self.known(ack.bytes) as usize;
        if acked > 0
            && let Some(info) = self.info(ack.sent_at)
        {
            let Self { controller, estimator, paced, random, .. } = self;
            controller.on_ack(sent, acked, info, estimator, random, now, paced);
        }
        if !ack.ce_bytes.is_zero() {
            self.controller.on_explicit_congestion(1, now, &mut self.paced);
        }
        self.settle(ack.in_flight);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let told = self.timeouts.told(loss);
        let (now, bytes) = (self.at(loss.now), self.known(loss.bytes));
        if bytes > 0
            && let Some(info) = self.info(loss.sent_at)
        {
            let Self { controller, paced, random, .. } = self;
            let (persistent, is_new) = (told == Some(true), told.is_some());
            controller.on_packet_lost(bytes, info, persistent, is_new, random, now, paced);
        }
        self.settle(loss.in_flight);
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.controller.on_mtu_update(datagram(mss), &mut self.paced);
    }

    fn limits(&self) -> Limits {
        let cwnd = Bytes::new(u64::from(self.controller.congestion_window()).max(1));
        Limits { cwnd, pacing: self.paced.pacing(), burst: Burst::CARRIER }
    }
}

/// The rate that a controller has published.
#[derive(Clone, Copy, Debug, Default)]
struct Published(Option<Rate>);

impl Published {
    fn pacing(self) -> Pacing {
        self.0.map_or(Pacing::Unpaced, Pacing::Rate)
    }
}

impl Publisher for Published {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _window: u32) {}

    fn on_delivery_rate_sampled(&mut self, _sample: RateSample) {}

    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, _burst: u32, _gain: Ratio<u64>) {
        let bps = rate.as_bytes_per_second().saturating_mul(8);
        self.0 = (1..u64::MAX).contains(&bps).then(|| Rate::from_bps(bps));
    }

    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

/// Random numbers: BBR draws the time between its probes.
#[derive(Clone)]
struct Numbers(Random);

impl random::Generator for Numbers {
    fn public_random_fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.bits().to_le_bytes()[..chunk.len()]);
        }
    }

    fn private_random_fill(&mut self, bytes: &mut [u8]) {
        self.public_random_fill(bytes);
    }
}

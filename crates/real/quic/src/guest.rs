//! Controllers of quinn as algorithms of [`incast_cc`].
//!
//! A [`Guest`] runs on any carrier that takes a [`CongestionControl`], such as an
//! [`Endpoint`](incast_transport::Endpoint) of streams.
//!
//! ```
//! use std::sync::Arc;
//!
//! use incast_cc::{Bytes, CongestionControl, Flow, Rate};
//! use incast_quic::guest::Guest;
//! use quinn_proto::congestion::CubicConfig;
//!
//! let flow = Flow::new(Bytes::new(1_460), Rate::from_gbps(10));
//! let mut config = CubicConfig::default();
//! config.initial_window(flow.initial_window.get());
//! let cubic = Guest::new(Arc::new(config), &flow);
//! assert_eq!(cubic.limits().cwnd, Bytes::new(14_599));
//! ```
//!
//! # What differs from quinn
//!
//! * **Bytes** are payload, without the headers of QUIC.
//! * **The window.** quinn sends where less than the window is in flight, so a byte less is allowed.
//! * **Pacing** is that of the carrier, at quinn's 1.25 x window / smoothed RTT. quinn lets 10
//!   datagrams and more leave at once.
//! * **`app_limited`** is told when the window held nothing back. quinn says so only when there was
//!   nothing to send, and counts on its pacer to fill the window.
//! * **A timeout** of the carrier is told as persistent congestion. QUIC's probe timeouts change no
//!   window.
//! * **RTTs** go into an estimator of quinn's own, with the rounding to nanoseconds that it has. As
//!   in quinn, a controller sees it without the sample of the ACK at hand.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use incast_cc::guest::GuestControl;
use incast_cc::{Ack, Burst, Bytes, CongestionControl, Flow, Limits, Loss, Pacing, Sent, Time};
use quinn_proto::congestion::{Controller, ControllerFactory};

use crate::guests::{Timeouts, datagram, duration};
use crate::memory::Estimator;

/// quinn's pacer sends 1.25 windows in a smoothed RTT.
const PACING: Pacing = Pacing::Window { gain_percent: 125 };

/// A controller of quinn under the contract of [`incast_cc`].
pub struct Guest {
    controller: Box<dyn Controller>,
    estimator: Estimator,
    /// The instant that stands for time zero.
    zero: Instant,
    /// The number of bursts sent: quinn's packet number.
    sent: u64,
    timeouts: Timeouts,
}

/// quinn lets nobody copy its RTT estimator, so that of a copy begins with the smoothed RTT.
impl GuestControl for Guest {
    fn copied(&self) -> Box<dyn GuestControl> {
        let mut estimator = Estimator::new(self.zero);
        estimator.sample(self.estimator.last().get());
        let &Self { zero, sent, timeouts, .. } = self;
        let controller = self.controller.clone_box();
        Box::new(Self { controller, estimator, zero, sent, timeouts })
    }
}

impl Guest {
    /// The controller of `factory` for a new flow.
    pub fn new(factory: Arc<dyn ControllerFactory>, flow: &Flow) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "there is no other way to an instant; only differences to it matter"
        )]
        let zero = Instant::now();
        let estimator = Estimator::new(zero);
        let controller = factory.build(instant(zero, flow.now), datagram(flow.mss));
        Self { controller, estimator, zero, sent: 0, timeouts: Timeouts::default() }
    }

    fn at(&self, time: Time) -> Instant {
        instant(self.zero, time)
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").field("window", &self.controller.window()).finish_non_exhaustive()
    }
}

fn instant(zero: Instant, time: Time) -> Instant {
    zero + duration(time.since(Time::ZERO))
}

impl CongestionControl for Guest {
    fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(self.at(sent.now), sent.bytes.get(), self.sent);
        self.sent += 1;
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let (now, sent, app_limited) = (self.at(ack.now), self.at(ack.sent_at), !ack.cwnd_limited);
        let estimator = match ack.rtt {
            Some(rtt) => self.estimator.sample(duration(rtt.total)),
            None => self.estimator.last(),
        };
        if !ack.bytes.is_zero() {
            self.controller.on_ack(now, sent, ack.bytes.get(), app_limited, &estimator);
        }
        let newest = self.sent.checked_sub(1);
        self.controller.on_end_acks(now, ack.in_flight.get(), app_limited, newest);
        if !ack.ce_bytes.is_zero() {
            self.controller.on_congestion_event(now, sent, false, 0);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let Some(persistent) = self.timeouts.told(loss) else { return };
        let (now, sent) = (self.at(loss.now), self.at(loss.sent_at));
        self.controller.on_congestion_event(now, sent, persistent, loss.bytes.get());
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.controller.on_mtu_update(datagram(mss));
    }

    fn limits(&self) -> Limits {
        let cwnd = Bytes::new(self.controller.window().saturating_sub(1).max(1));
        Limits { cwnd, pacing: PACING, burst: Burst::CARRIER }
    }
}

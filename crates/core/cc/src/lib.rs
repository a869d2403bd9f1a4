//! Congestion control for datacenters, one file per algorithm.
//!
//! An algorithm is told what happened and asked what is allowed; it never sees a clock, a socket or
//! a packet. Whatever carries it (the simulator, a user-space transport, Linux TCP) owns the clock,
//! the bytes in flight, RTT estimation, round counting, delivery-rate sampling, loss detection and
//! the pacer. So the file that a reader sees here is the one that is simulated and deployed.
//!
//! The layers, from the bottom:
//!
//! * [`units`]: [`Time`], [`Span`], [`Rate`], [`Bytes`], exact integers whose conversions say which
//!   way they round; [`Fraction`], the fixed-point number of integer algorithms;
//! * [`contract`]: what an algorithm is told ([`Ack`], [`Loss`], ...) and what it answers
//!   ([`Limits`]);
//! * [`caution`]: paths on which an algorithm says that its parameters cannot work;
//! * [`parts`]: what several algorithms need (EWMA, minimum filter, recovery gate, delay gradient);
//! * one module per algorithm, [`timely`] first;
//! * [`registry`]: the algorithms by name, with their parameters, for command lines and tests.
//!
//! ```
//! use incast_cc::{Ack, Algorithm, Bytes, CongestionControl, Flow, Pacing, Rate, Span, Time};
//! use incast_cc::timely::Timely;
//!
//! let mut flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(10));
//! flow.active_flows = 1; // one other flow at this sender: start at half the line rate
//! let mut control = Timely::default().start(&flow);
//! let sent_at = Time::ZERO;
//! let now = sent_at + Span::from_us(80);
//! control.on_ack(&Ack::new(now, sent_at, Bytes::from_kb(64)).with_rtt(Span::from_us(30)));
//! // Below T_low (50 us): one additive step above the initial rate.
//! assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_mbps(5_010)));
//! ```
//!
//! The crate is `no_std` and allocates nothing; the feature `alloc` (on by default) only adds
//! algorithms from elsewhere ([`guest`]) and `CongestionControl` for boxed ones.

#![no_std]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod algorithms;

pub mod caution;
pub mod contract;
pub mod feedback;
pub mod grants;
#[cfg(feature = "alloc")]
pub mod guest;
pub mod param;
pub mod parts;
pub mod registry;
pub mod units;

/// The README, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => { $(pub mod $module;)+ };
}
algorithms!(modules);

pub use caution::{Caution, PathFacts};
pub use contract::{
    Ack, Algorithm, Burst, CongestionControl, Delivery, Demand, Due, FASTEST_LINE, Flow, Hop,
    Limits, Loss, LossCause, LossDetection, Notification, Pacing, PathMetrics, Place, Reads,
    RttSample, SLOWEST_LINE, Sent, Spurious,
};
pub use feedback::{Feedback, Leaving};
pub use registry::{AnyAlgorithm, AnyControl};
pub use units::{Bytes, Fraction, Rate, Span, Time};

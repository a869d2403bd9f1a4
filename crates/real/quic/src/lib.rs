//! Congestion control of `incast` in QUIC libraries, and of QUIC libraries on incast's transport.
//!
//! * [`quinn`] (feature `quinn`): any algorithm of [`incast_cc`] as quinn's `Controller`;
//! * [`guest`] (feature `quinn`): quinn's controllers as algorithms of [`incast_cc`], which run on
//!   the endpoints of [`incast_transport`];
//! * [`s2n`] (feature `s2n`): any algorithm as s2n-quic's `CongestionController`;
//! * [`s2n_guest`] (feature `s2n`): s2n-quic's controllers as algorithms of [`incast_cc`];
//! * [`scheme`]: the controllers of both as schemes of the simulator.
//!
//! All of them are told the time by whoever calls them, and read no clock.
//!
//! # What QUIC has no word for
//!
//! * **Bytes** are those of datagrams, with their QUIC headers: the MSS is the path's MTU.
//! * **Small windows.** Receivers hold ACKs of a few datagrams back. As many as they acknowledge at
//!   once may always be in flight: two in quinn, ten in s2n-quic. An algorithm that asks for less
//!   does not get it.
//! * **Messages.** A library does not say what the application has posted: `on_demand` is not
//!   called, and [`remaining`](incast_cc::Ack::remaining) is absent.
//! * **False losses** are not told of.
//! * **Telemetry, hops, one-way delays and the backlog of the NIC** are absent.
//! * **Notifications** (the CNPs of DCQCN) are made of ACKs that tell of marks, one in 50 us.
//! * **Timers.** Neither library calls when an algorithm wants to be called. A timer that is due
//!   fires with the next datagram that is sent or acknowledged.
//! * **Persistent congestion** is told of as a timeout. A probe timeout alone is not told of.
//! * **Pacing inside bursts** ([`Burst::rate`](incast_cc::Burst)) does not exist.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

use incast_cc::{Rate, Span};

#[cfg(any(feature = "quinn", feature = "s2n"))]
mod carrier;
#[cfg(feature = "quinn")]
pub mod guest;
#[cfg(any(feature = "quinn", feature = "s2n"))]
mod guests;
#[cfg(feature = "quinn")]
mod memory;
#[cfg(feature = "quinn")]
mod plain;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(all(test, any(feature = "quinn", feature = "s2n")))]
mod record;
#[cfg(feature = "s2n")]
pub mod s2n;
#[cfg(feature = "s2n")]
pub mod s2n_guest;
pub mod scheme;

/// The facts that an algorithm needs about a host, and that QUIC cannot measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rate of the NIC. Algorithms of rates begin at it, or at a part of it, and never exceed
    /// it.
    pub line_rate: Rate,
    /// The RTT without queues, where it is known.
    pub base_rtt: Option<Span>,
    /// The seed of random numbers; each connection gets its own from it.
    pub seed: u64,
}

impl Settings {
    /// A host on a NIC of `line_rate`.
    pub const fn new(line_rate: Rate) -> Self {
        Self { line_rate, base_rtt: None, seed: 0 }
    }
}

/// Nanoseconds of a library's clock as a span of ours, which ends after 213 days.
#[cfg(any(feature = "quinn", feature = "s2n"))]
fn span(duration: std::time::Duration) -> Span {
    let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Span::from_ps(ns.saturating_mul(1_000))
}

/// The sample by which a smoothed RTT went from `before` to `after` (RFC 9002, section 5.3: an
/// eighth of each sample): the RTT without the delay that the peer reported. It lies between
/// `least` and the whole RTT, which the rounding of nanoseconds could leave.
#[cfg(any(feature = "quinn", feature = "s2n"))]
fn adjusted(
    before: std::time::Duration,
    after: std::time::Duration,
    least: std::time::Duration,
    whole: std::time::Duration,
) -> Span {
    let sample = after.saturating_mul(8).saturating_sub(before.saturating_mul(7));
    span(sample.min(whole).max(least.min(whole)))
}

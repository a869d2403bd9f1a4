//! Sans-IO transports: typed packets in, typed packets out, time handed in.
//!
//! [`message`] is the transport of the TIMELY paper: messages over connections, cut into segments,
//! one RTT sample per completed segment, and the three engines that the paper draws, each a module:
//! [`message::rtt`] (RTT measurement), [`message::rate`] (rate computation) and
//! [`message::pacing`]. A carrier, the simulator or a UDP socket, owns the clock and the wire and
//! drives a [`message::Endpoint`].

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

pub mod message;

//! Sans-IO transports: typed packets in, typed packets out, time handed in.
//!
//! * [`message`] is the transport of the TIMELY paper: messages over connections, cut into
//!   segments, with one RTT sample per completed segment.
//! * [`stream`] is a model of TCP.
//!
//! Any algorithm runs on either. An [`Endpoint`] holds all connections of one host and runs the
//! three engines that the TIMELY paper draws, each a module: RTT measurement ([`rtt`]), rate
//! computation ([`rate`]) and [`pacing`]. A carrier, the simulator or a UDP socket, owns the clock
//! and the wire and drives the endpoint. A [`recording`] of what it told and heard can be replayed.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod backlog;
mod config;
mod connection;
mod directory;
mod early;
mod endpoint;
mod engines;
mod granting;
mod half;
mod halves;
mod levels;
pub mod message;

pub mod pacing;
mod packet;
mod paths;
pub mod random;
pub mod rate;
pub mod recording;
pub mod rtt;
mod scheduler;
mod send_times;
pub mod signal;
mod stamps;
pub mod stream;
mod transports;

pub use incast_cc::param::Transport;

pub use config::scheme::SchemeConfig;
pub use config::{Config, ConfigError, InitialTimeout, Nic, Recovery, Serialization};
pub use connection::{
    Address, CLASSES, Event, Opener, Opening, Operation, Path, Purpose, Role, Sample, Starter,
    Terms,
};
pub use early::{Early, EarlyNic, Step};
pub use endpoint::{Endpoint, News, Outgoing, Passage, REQUEST_BYTES, Stop};
pub use half::Facts;
pub use halves::{Receiver, Sender, facts};
pub use packet::{Body, DueBy, Form, Header, Kind, Packet, clock_ns};
pub use rate::{Clock, Report};
pub use scheduler::{RoundRobin, Scheduler};
pub use signal::{Signal, Stack, Timestamps};
pub use stamps::Stamps;

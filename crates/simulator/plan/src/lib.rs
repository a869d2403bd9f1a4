//! The plan of a run: plain types that tell a network what to do.
//!
//! A plan stands between the scenario, which describes a run, and the network, which runs it. The
//! scenario writes the plan, the network reads it, and neither knows the other.
//!
//! * [`topology`]: nodes and cables;
//! * [`islands`]: groups of hosts with a fast fabric of their own;
//! * [`trees`]: trees of links that share no link;
//! * [`flows`]: who sends to whom, on which connections;
//! * [`application`]: programs on hosts that react to what happens there;
//! * [`steps`]: steps of a host that wait for each other, as an application;
//! * [`record`]: when the steps of a host ended, and how long it computed;
//! * [`critical`]: the chain of messages and computations that an iteration lasted for;
//! * [`part`]: the steps of each rank of a job, before ranks have hosts;
//! * [`collective`]: the steps of a rank in a collective, by operation and algorithm;
//! * [`job`]: hosts that do their rounds together;
//! * [`Plan`]: the flows of a run, what is posted on them, and its applications;
//! * [`random`]: generators of random numbers, one for each purpose and owner;
//! * [`Watch`]: a caller that may stop the building of a run.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")
)]

pub mod application;
pub mod collective;
pub mod critical;
mod deadlines;
pub mod flows;
pub mod islands;
pub mod job;
pub mod part;
mod plan;
pub mod random;
pub mod record;
mod routing;
pub mod steps;
pub mod topology;
pub mod trees;
mod watch;

pub use deadlines::{DeadlineNumber, Deadlines};
pub use plan::{Gathering, Plan, PlannedApplication, PlannedPost, PlannedTraffic};
pub use routing::RoutingKind;
pub use watch::Watch;

/// The size of a PFC frame on the wire (IEEE 802.1Qbb), in bytes.
pub const PFC_FRAME_BYTES: u16 = 64;
/// The size on the wire of a packet that was cut to its header, in bytes: the least of Ethernet.
pub const TRIMMED_BYTES: u16 = 64;

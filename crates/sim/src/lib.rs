//! A packet-level simulator of datacenter networks.
//!
//! Time is integer picoseconds, every event belongs to one node, nodes reach each other only through
//! links with a delay above zero, and simultaneous events have an order that follows from the
//! topology: one seed gives one result, to the byte, on every machine and in every build.
//!
//! * [`scenario`]: what is simulated, read from TOML;
//! * [`topology`]: nodes, cables, routes;
//! * [`workload`]: sizes of flows, from measured tables and from formulas;
//! * [`foreign`]: files of other simulators, turned into scenarios;
//! * `network`: links, switches with shared buffers and PFC, hosts with an
//!   [`Endpoint`](incast_transport::Endpoint) and a NIC, and the calendar of their events;
//! * [`metrics`]: histograms and time-weighted queue lengths, streamed;
//! * [`Simulation`] runs, and its [`Report`] has a summary and [`Table`]s.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")
)]

mod build;
mod cost;
pub mod foreign;
pub mod metrics;
mod network;
mod random;
mod report;
mod resolved;
mod routing;
mod run;
pub mod scenario;
mod table;
pub mod topology;
mod warnings;
mod watch;
pub mod workload;

pub use cost::{Cost, Part};
pub use network::trace::TraceConfig;
pub use network::windows::WindowCounts;
pub use report::{Books, FIGURES, Figure, Report, Summary};
pub use resolved::{Resolved, ResolvedHost, ResolvedQueue, ResolvedTraffic};
pub use run::Simulation;
pub use table::{Column, Name, Table, Values};

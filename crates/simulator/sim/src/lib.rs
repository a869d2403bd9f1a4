//! A packet-level simulator of datacenter networks.
//!
//! Results are deterministic: one seed gives one result, to the byte, on every machine and in every
//! build. Time is integer picoseconds. Every event belongs to one node. Nodes reach each other only
//! through links with a delay above zero. Simultaneous events have an order that follows from the
//! topology.
//!
//! * [`scenario`]: the description of a simulation, read from TOML;
//! * [`topology`]: nodes, cables, routes;
//! * [`workload`]: sizes of flows, from measured tables and from formulas;
//! * [`foreign`]: files of other simulators, turned into scenarios;
//! * `network`: links, switches with shared buffers and PFC, hosts with an
//!   [`Endpoint`](incast_transport::Endpoint) and a NIC, and the calendar of their events;
//! * [`metrics`]: histograms and time-weighted queue lengths, streamed;
//! * [`Simulation`] runs, and its [`Report`] has a summary and [`Table`]s;
//! * [`warnings()`] are told before a run, and [`doubts`] after it.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")
)]

mod build;
mod cost;
pub mod doubts;
mod facts;
mod ideal;
mod large_pages;
mod look;
mod report;
mod routing;
mod run;
mod warnings;

pub use cost::{Cost, Part, TimePart, cost};
pub use facts::{Buffer, Facts, Headroom, Oversubscription, Path, facts};
pub use incast_foreign as foreign;
pub use incast_net::{TraceConfig, WindowCounts, metrics};
pub use incast_plan::topology;
pub use incast_scenario::{self as scenario, workload};
pub use incast_scenario::{Resolved, ResolvedHost, ResolvedQueue, ResolvedTraffic};
pub use incast_table::{Column, Name, Table, Values, digest};
pub use large_pages::LargePages;
pub use look::{FlowLook, LinkLook, Look};
pub use report::{Books, FIGURES, Figure, Report, Summary};
pub use run::Simulation;
pub use warnings::{dead_lock_warnings, warnings};

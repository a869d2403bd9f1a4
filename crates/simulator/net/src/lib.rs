//! A network that runs: hosts, switches, links, and the calendar of their events.
//!
//! The crate knows no scenario. A [`NetworkConfig`] describes the network in plain types.
//! [`Network`] runs it, in one piece or in [`Windows`] over several threads. Afterwards its methods
//! show the results, and change nothing.
//!
//! * Time is integer picoseconds.
//! * Every event belongs to one node. A node reaches another only through a link or an island,
//!   whose delay is above zero. Two things see all queues at once: the [`Oracle`], where a run has
//!   one, and the search for dead-locks, where a watchdog reports.
//! * Simultaneous events of a node come in the order of its components: first changes of links,
//!   then the start of measurement, the end of an interval of the time series, the PFC watchdog,
//!   ports that become free, arrivals, what a slow host takes in, what comes over an island, and
//!   last the timer. Ports and arrivals come by port.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")
)]

mod buffer;
mod calendar;
mod changes;
mod component;
mod config;
mod count;
mod dead_lock;
mod domain;
mod failure;
mod frame;
mod host;
mod instant;
mod link;
mod loss;
pub mod metrics;
mod network;
mod oracle;
mod parcels;
mod partition;
mod path;
mod port;
mod prefetch;
mod ring;
mod routes;
mod switch;
mod trace;
mod transit;
mod transmitter;
mod view;
mod watchdog;
mod windows;

pub use buffer::{ClassLimits, PfcConfig};
pub use changes::{LinkChange, LinkChangeKind, RouteChange};
pub use config::{ClassConfig, HostConfig, NetworkConfig, SwitchConfig, WatchdogConfig};
pub use count::{Count, DropCause, PortCounters};
pub use dead_lock::{DeadLock, HeldPort, QueuePlace};
pub use failure::Losses;
pub use host::{
    Begun, Delivery, Duties, Host, IntakeConfig, IslandUse, Planned, Posted, Tally, WireFormat,
};
pub use link::DEVICE_PS_PER_BYTE;
pub use network::Network;
pub use oracle::{Oracle, QueuePath};
pub use partition::Partition;
pub use path::Path;
pub use port::Port;
pub use routes::{Detours, NO_EDGE, RackPlace, Routes, Table, TableBuilder};
pub use switch::Switch;
pub use trace::{FlowRow, GaugeRow, PacketEvent, PacketRow, PauseRow, QueueRow, TraceConfig};
pub use transmitter::Transmitter;
pub use view::QueueLengths;
pub use watchdog::Held;
pub use windows::{WindowCounts, Windows};

use component::{Component, ComponentKind};
use transit::Transit;

/// The most traffic classes, as an array's length: PFC counts them in eight bits.
const MOST_CLASSES: usize = incast_transport::CLASSES as usize;

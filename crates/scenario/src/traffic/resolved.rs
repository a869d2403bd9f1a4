//! Traffic in the resolved plan of a scenario.

use incast_cc::Bytes;

use crate::workload::Sizes;

/// Traffic, with its ends as hosts.
#[derive(Clone, Debug)]
pub struct ResolvedTraffic {
    /// The name that results use.
    pub name: String,
    /// The kind, such as `connections` or `requests`.
    pub kind: &'static str,
    /// The hosts of `from`; none for flows that name their own.
    pub sources: Vec<String>,
    /// The hosts of `to`, or of `from` if `to` is absent.
    pub destinations: Vec<String>,
    /// The number of its class, 0 for the lowest.
    pub class: u8,
    /// Whether each of its flows sends all the time.
    pub endless: bool,
    /// Whether each of its messages has a connection of its own.
    pub single: bool,
    /// Connections for each pair of hosts.
    pub connections: u32,
    /// The number of hosts of `to` that each connection that stays picks, if not all.
    pub picks: Option<u32>,
    /// The size of a message on a connection that stays; absent is one message without end.
    pub message: Option<Bytes>,
    /// The offered load as a share of a host's link, where the kind has one.
    pub load: Option<f64>,
    /// The sizes of messages or requests, where the kind draws them.
    pub sizes: Option<Sizes>,
    /// The share of the payload's transfers that read: 0 and 1, or between for requests.
    pub reads: f64,
    /// The numbers of servers that a request asks, with their weights.
    pub fan_out: Vec<(u32, f64)>,
    /// Whether the servers of a request share its size.
    pub split: bool,
}

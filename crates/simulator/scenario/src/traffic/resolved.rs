//! Traffic in the resolved plan of a scenario.

use incast_cc::Bytes;

use crate::workload::Sizes;

/// A traffic of the resolved plan, with its hosts.
#[derive(Clone, Debug)]
pub struct ResolvedTraffic {
    /// The name that results use.
    pub name: String,
    /// The kind, such as `connections` or `requests`.
    pub kind: &'static str,
    /// The hosts of `from`; none for flows that name their hosts one by one.
    pub sources: Vec<String>,
    /// The hosts of `to`, or of `from` if `to` is absent.
    pub destinations: Vec<String>,
    /// The number of the traffic's class, 0 for the lowest.
    pub class: u8,
    /// The scheme of its flows, or of a share of them; that of the run if absent.
    pub scheme: Option<String>,
    /// Whether each of the flows sends all the time.
    pub endless: bool,
    /// Whether each message has a connection of its own.
    pub single: bool,
    /// The number of connections for each pair of hosts.
    pub connections: u32,
    /// The number of hosts of `to` that each source picks for its lasting connections, if not all.
    pub picks: Option<u32>,
    /// The size of a message on a lasting connection; [`None`] is one message without end.
    pub message: Option<Bytes>,
    /// The offered load as a share of a host's link, where the kind has one.
    pub load: Option<f64>,
    /// The sizes of messages or requests, where the kind draws them.
    pub sizes: Option<Sizes>,
    /// The share of transfers that read: 0 or 1, or between for requests.
    pub reads: f64,
    /// The numbers of servers of a request, with their weights.
    pub fan_out: Vec<(u32, f64)>,
    /// Whether the servers of a request share its size.
    pub split: bool,
}

//! What a load asks of links.

/// The load that one traffic puts on links on average, in bits of payload per second.
#[derive(Debug)]
pub struct Demand {
    /// Number of the traffic.
    pub traffic: usize,
    /// The rate that each host is to send.
    pub sends: Vec<f64>,
    /// The rate that each host is to receive.
    pub receives: Vec<f64>,
    /// The share of all links to the core, for a load that is given as one of the core.
    pub core: f64,
}

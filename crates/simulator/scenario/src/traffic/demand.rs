//! The load that traffic puts on links.

/// The average load that a traffic puts on links, in bits per second, headers included.
#[derive(Debug)]
pub struct Demand {
    /// The number of the traffic.
    pub traffic: usize,
    /// The rate that each host sends.
    pub sends: Vec<f64>,
    /// The rate that each host receives.
    pub receives: Vec<f64>,
    /// The load as a share of all links to the core, headers included, where it is given as such.
    pub core: f64,
}

//! Islands: groups of hosts that reach each other over a fast fabric of their own, such as the GPUs
//! of a server over `NVLink`.

use incast_cc::{Rate, Span};
use incast_plan::islands::{Fabric, Islands};
use incast_plan::topology::Topology;
use incast_schema::quantity;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Scenario;

/// Islands of hosts. Messages between hosts of an island go over its own fabric as a whole, without
/// packets and congestion control, and not over the network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Island {
    /// The hosts: a group or part of it.
    pub hosts: String,
    /// The number of hosts of each island: the first so many hosts are one, the next are another.
    pub size: u32,
    /// The rate of each host to all others of its island together, and from them.
    #[serde(with = "quantity::Rate")]
    pub rate: Rate,
    /// The time from a host to another one of its island.
    #[serde(with = "quantity::Delay")]
    pub latency: Span,
}

impl Scenario {
    /// The islands of the network's hosts.
    pub fn islands(&self, net: &Topology) -> Islands {
        if self.islands.is_empty() {
            return Islands::default();
        }
        let mut islands = Islands::among(net.hosts.len());
        for own in &self.islands {
            let fabric = Fabric { rate: own.rate, latency: own.latency };
            let hosts = self.network.hosts_called(&own.hosts, net);
            for members in hosts.chunks(own.size.max(1) as usize) {
                islands.add(members, fabric);
            }
        }
        islands
    }
}

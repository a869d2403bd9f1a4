//! What is told before a run: streams whose buffers hold less than their path.

use std::collections::BTreeMap;

use super::{Scenario, TransportKind};
use crate::build::{Ways, topology};
use crate::topology::Topology;

/// Hosts that are looked at of those that a traffic names, at each end.
const LOOKED_AT: usize = 16;

impl Scenario {
    /// Streams that cannot fill their path, since a buffer that does not grow holds less than the
    /// bandwidth-delay product: a sentence about the path that is worst off. Of traffic between many hosts
    /// the paths between some are looked at, from the first to the last.
    pub fn buffer_warnings(&self) -> Vec<String> {
        let [send, receive] = self.transport.buffers();
        let limits = [("send_buffer", send), ("receive_buffer", receive)];
        let least = limits.into_iter().filter_map(|(name, buffer)| Some((buffer?, name))).min();
        let Some((buffer, name)) = least.filter(|_| self.has_streams()) else {
            return Vec::new();
        };
        let net = topology(self);
        let hosts = net.hosts.clone();
        let pairs = self.pairs(&net);
        let ways = Ways::of_streams(self, net);
        let products = pairs.into_iter().map(|(from, to)| (ways.product(from, to), from, to));
        // The first of those with most.
        let worst = products.reduce(|worst, other| if other.0 > worst.0 { other } else { worst });
        let Some((product, from, to)) = worst.filter(|&(product, ..)| product > buffer) else {
            return Vec::new();
        };
        let percent = (buffer.get() as f64 / product.get() as f64 * 100.0).max(0.1);
        let (from, to) = (&hosts[from as usize], &hosts[to as usize]);
        vec![format!(
            "streams from {from} to {to} fill at most {percent:.1} % of their path: it holds {product} \
             (bandwidth times RTT), their {name} {buffer}; set transport.stream.{name} to twice as much \
             as the path holds"
        )]
    }

    /// Whether any scheme may run on streams.
    fn has_streams(&self) -> bool {
        let says_stream = |section: &BTreeMap<String, toml::Value>| {
            section.get("transport").and_then(toml::Value::as_str) == Some("stream")
        };
        self.transport.kind == TransportKind::Stream || self.cc.values().any(says_stream)
    }

    /// Hosts between which there is traffic, sender and receiver.
    fn pairs(&self, net: &Topology) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for traffic in &self.traffic {
            let some = |name| {
                let hosts = self.network.hosts_called(name, net);
                let step = hosts.len().div_ceil(LOOKED_AT).max(1);
                hosts.into_iter().step_by(step).collect::<Vec<_>>()
            };
            for from in some(traffic.sources()) {
                let others = some(traffic.destinations()).into_iter().filter(|&to| to != from);
                pairs.extend(others.map(|to| (from, to)));
            }
        }
        pairs
    }
}

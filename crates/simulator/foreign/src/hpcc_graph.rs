//! The network of a topology file of HPCC's simulator, as a graph.

use super::hpcc_homes::Homes;
use super::hpcc_topology::{Topology, after_the_end};
use super::text::refused;
use super::{ForeignError, Graph, Link, Switch};

impl Topology {
    /// The graph of this network. A host with several links becomes a host for each link.
    ///
    /// # Errors
    /// A host is linked to a host, or a node has no link.
    pub fn graph(&self, file: &str) -> Result<Graph, ForeignError> {
        let mut linked = vec![false; self.nodes as usize];
        for link in &self.links {
            let [a, b] = link.ends;
            if self.is_host(a) && self.is_host(b) {
                let reason = format!(
                    "hosts {a} and {b} are linked to each other; expected a switch at one end"
                );
                return Err(refused(file, link.line, reason));
            }
            link.ends.iter().for_each(|&node| linked[node as usize] = true);
        }
        if let Some(node) = (0..self.nodes).find(|&node| !linked[node as usize]) {
            let kind = if self.is_host(node) { "host" } else { "switch" };
            let reason = format!("{kind} {node} of the {} nodes has no link", self.nodes);
            return Err(refused(file, 1, reason));
        }
        let homes = Homes::of(self);
        let links = self.routed().into_iter().map(|link| Link {
            ends: [(0, 1), (1, 0)].map(|(a, b)| homes.end(link.ends[a], link.ends[b])),
            rate: link.rate,
            delay: link.delay,
            loss: link.error_rate,
        });
        let switches = self.switches.iter();
        Ok(Graph {
            hosts: self.hosts().flat_map(|node| homes.names(node)).collect(),
            switches: switches
                .map(|&node| Switch { name: self.name(node), layer: "switch" })
                .collect(),
            links: links.collect(),
            notes: self.notes(file, homes.several()),
        })
    }

    fn notes(&self, file: &str, several: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let parallel = self.links.len() - self.routed().len();
        if parallel > 0 {
            notes.push(format!(
                "{file}: {parallel} of the links are left out: a later link joins the same nodes, and HPCC's \
                 simulator routes over the last one"
            ));
        }
        if several > 0 {
            notes.push(format!(
                "{file}: {several} hosts have several links; each NIC is a host of its own here, such as \
                 host0nic0 and host0nic1, and a flow has one NIC at each end, as there"
            ));
        }
        notes.extend(self.rest.map(|line| after_the_end(file, line, "link")));
        notes
    }
}

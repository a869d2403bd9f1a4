//! The network of a scenario: kinds of topologies, one file for each.
//!
//! The file of a kind holds its settings in TOML, their checks, the names of its hosts, and its
//! wiring; a line in `kinds.rs` registers it. [`parts`] holds pieces that several kinds share.

#[macro_use]
mod kinds;
mod parts;
mod registry;
#[cfg(test)]
mod tests;
mod tiers;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => {
        $(mod $module;)+

        /// The settings of all kinds.
        pub(crate) mod settings {
            $(pub use super::$module::$type;)+
        }
    };
}
networks!(modules);

use std::collections::BTreeSet;

use incast_plan::topology::Topology;
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use self::parts::Named;
use crate::Scenario;
use crate::input::Files;

pub use graph::{GraphLink, NodeGroup};
pub use parts::{Cable, HostGroup, Uplink};
pub(crate) use registry::one_kind;
pub use registry::{NETWORKS, Network};

/// The settings of a kind of network.
trait NetworkKind: DeserializeOwned + JsonSchema {
    /// The name in scenarios: the settings are in the table `[network.NAME]`.
    const NAME: &'static str;
    /// The kind in one sentence, for the schema.
    const SUMMARY: &'static str;

    /// Finds mistakes that no single field shows. Places are paths in the kind's own table.
    fn check(&self) -> Result<(), Fault>;

    /// The hosts, in the order in which [`build`](Self::build) adds them.
    fn groups(&self) -> Vec<Named<'_>>;

    /// Adds the nodes and the cables. The order of both affects the results: simultaneous events
    /// happen in the order of the nodes, and ports are numbered in the order of their cables.
    fn build(&self, net: &mut Topology);

    /// The network in a file, for a kind that names a file. It replaces the kind before the checks.
    fn read(&self, _files: &mut Files) -> Result<Option<Network>, Fault> {
        Ok(None)
    }
}

/// The scenario's nodes and cables, with the greatest rate that each cable will have.
pub fn topology(scenario: &Scenario) -> Topology {
    let mut net = Topology::default();
    scenario.network.build(&mut net);
    scenario.set_own_links(&mut net);
    let rates: Vec<_> = scenario
        .link_events(&net)
        .filter_map(|(event, cable)| Some((cable, event.rate?)))
        .collect();
    for (cable, rate) in rates {
        for peak in &mut net.cables[cable].peaks {
            *peak = rate.max(*peak);
        }
    }
    net
}

/// Checks that no host has the name of a switch, since links are named by their ends.
pub(crate) fn check_names(net: &Topology) -> Result<(), Fault> {
    let switches: BTreeSet<_> = net.switches.iter().collect();
    match net.hosts.iter().find(|host| switches.contains(host)) {
        Some(host) => {
            let message =
                format!("both a host and a switch would be called {host:?}; rename hosts");
            Err(Fault::at([&"network"], message))
        }
        None => Ok(()),
    }
}

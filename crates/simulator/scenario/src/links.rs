//! Links that differ from the network's: in one direction, or many of them at once.

use std::collections::BTreeSet;

use incast_cc::Rate;
use incast_plan::topology::{Node, Topology};
use incast_schema::quantity;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Network, Scenario};

/// Links that differ from the network's, in one direction: a cable has a link each way.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnLink {
    /// The sending ends: a group of hosts or part of it, one host, one switch, or the name that
    /// numbered switches share, such as `leaf`.
    pub from: String,
    /// The receiving ends, in the same words.
    pub to: String,
    /// The rate from `from` to `to`. The way back keeps the network's.
    #[serde(default, with = "quantity::OptionalRate")]
    pub rate: Option<Rate>,
    /// The probability that a link damages a packet, so that the far end drops it: each packet
    /// alone. Classes that PFC protects are damaged, too; PFC frames are not.
    #[serde(default, with = "quantity::OptionalProbability")]
    pub loss: Option<f64>,
}

impl OwnLink {
    /// The links, each by its cable and the end that it leads out of.
    pub(crate) fn links(
        &self,
        scenario: &Scenario,
        net: &Topology,
    ) -> impl Iterator<Item = (usize, usize)> {
        let [from, to] = [&self.from, &self.to].map(|name| scenario.nodes_called(name, net));
        let cables: Vec<_> = net.cables.iter().map(|cable| cable.ends).collect();
        let ends = (0..).zip(cables).flat_map(|(cable, ends)| [0, 1].map(|end| (cable, end, ends)));
        let links = ends.filter(move |&(_, end, ends)| {
            from.contains(&ends[end]) && to.contains(&ends[1 - end])
        });
        links.map(|(cable, end, _)| (cable, end))
    }
}

impl Scenario {
    /// The hosts or the switches that `name` stands for.
    pub(crate) fn nodes_called(&self, name: &str, net: &Topology) -> BTreeSet<Node> {
        let hosts = self.network.hosts_called(name, net).into_iter().map(Node::Host);
        let is_called = |switch: &str| {
            let number = switch.strip_prefix(name);
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        // A switch that has this very name is meant alone.
        let alone = net.switches.iter().any(|switch| switch == name);
        let all = (0..).zip(&net.switches);
        let switches =
            all.filter(|(_, switch)| if alone { *switch == name } else { is_called(switch) });
        hosts.chain(switches.map(|(number, _)| Node::Switch(number))).collect()
    }

    /// Whether a link damages packets.
    pub(crate) fn loses_at_random(&self) -> bool {
        let own = self.links.iter().any(|own| own.loss.is_some_and(|loss| loss > 0.0));
        own || matches!(&self.network, Network::Graph(graph)
            if graph.links.iter().any(|link| link.loss > 0.0))
    }

    /// Gives the links of `net` what the scenario says of them alone.
    pub(crate) fn set_own_links(&self, net: &mut Topology) {
        for own in &self.links {
            let links: Vec<_> = own.links(self, net).collect();
            for (cable, end) in links {
                let cable = &mut net.cables[cable];
                if let Some(rate) = own.rate {
                    (cable.rates[end], cable.peaks[end]) = (rate, rate);
                }
                cable.loss[end] = own.loss.unwrap_or(cable.loss[end]);
            }
        }
    }
}

//! Networks as scenarios write them.

use incast_plan::topology::{Layer, Node, Topology};

use super::topology;
use crate::Document;

/// The nodes and cables of a network that has two hosts or more in the group `host`.
pub(super) fn network(text: &str) -> Topology {
    let text = format!(
        "title = \"a network\"\nrun = {{ duration = \"1ms\", schemes = [\"timely\"] }}\n{text}\n\
         [[traffic]]\nfrom = \"host\"\nto = \"host\"\nfan_out = 1"
    );
    let document = Document::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    topology(document.scenario())
}

/// The number of switches of a layer.
pub(super) fn layers(net: &Topology, layer: Layer) -> usize {
    net.layers.iter().filter(|&&other| other == layer).count()
}

/// The layer of a switch.
pub(super) fn layer_of(net: &Topology, node: Node) -> Option<Layer> {
    let Node::Switch(switch) = node else { return None };
    Some(net.layers[switch as usize])
}

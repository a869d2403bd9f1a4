//! Topologies: nodes, and the cables between them.

use incast_cc::{Rate, Span};

/// The nodes and cables of a network. Nodes are numbered in the order in which they are described.
/// The order of simultaneous events, and so every result, follows from these numbers alone.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The hosts.
    pub hosts: Vec<String>,
    /// The switches.
    pub switches: Vec<String>,
    /// The layer of each switch.
    pub layers: Vec<Layer>,
    /// The group of each switch, by the number of the group's first switch. Valiant routing goes
    /// through a random group. Each switch is its own group unless the network says otherwise.
    pub groups: Vec<u32>,
    /// The cables.
    pub cables: Vec<Cable>,
    /// The switch that each host is connected to.
    edges: Vec<u32>,
}

/// A node at an end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A host, by its number.
    Host(u32),
    /// A switch, by its number.
    Switch(u32),
}

/// The layer of a switch in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The only layer of a network without layers.
    Switch,
    /// The only layer of a dragonfly, where all switches are alike.
    Router,
    /// The lowest layer of a leaf-spine or Clos network.
    Leaf,
    /// The lowest layer of a fat tree.
    Edge,
    /// The layer between the lowest and the core.
    Aggregation,
    /// The highest layer of a leaf-spine network.
    Spine,
    /// The highest of three layers.
    Core,
}

impl Layer {
    /// Whether the layer is the highest of several.
    pub const fn is_core(self) -> bool {
        matches!(self, Self::Spine | Self::Core)
    }

    /// The layer's name, by which its switches are named.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Router => "router",
            Self::Leaf => "leaf",
            Self::Edge => "edge",
            Self::Aggregation => "aggregation",
            Self::Spine => "spine",
            Self::Core => "core",
        }
    }
}

/// A cable: a link in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// The nodes at both ends.
    pub ends: [Node; 2],
    /// The initial rate of the link out of each end.
    pub rates: [Rate; 2],
    /// The greatest rate that each of these links ever has.
    pub peaks: [Rate; 2],
    /// The probability that the link out of each end damages a packet.
    pub loss: [f64; 2],
    /// Propagation delay of both links.
    pub delay: Span,
    /// The length that routing counts in shortest paths: 1 unless the network says otherwise.
    pub length: u32,
}

impl Topology {
    /// Adds a host.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the hosts")]
    pub fn host(&mut self, name: String) -> Node {
        self.hosts.push(name);
        self.edges.push(u32::MAX);
        Node::Host(self.hosts.len() as u32 - 1)
    }

    /// Adds a switch.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the switches")]
    pub fn switch(&mut self, name: String, layer: Layer) -> Node {
        let number = self.switches.len() as u32;
        self.switches.push(name);
        self.layers.push(layer);
        self.groups.push(number);
        Node::Switch(number)
    }

    /// Adds the switches of a layer, named after it and numbered from 0.
    pub fn layer(&mut self, layer: Layer, count: u32) -> Vec<Node> {
        (0..count).map(|i| self.switch(format!("{}{i}", layer.as_str()), layer)).collect()
    }

    /// Puts some switches into one group.
    pub fn group(&mut self, switches: &[Node]) {
        let numbers = switches.iter().filter_map(|&node| match node {
            Node::Switch(switch) => Some(switch),
            Node::Host(_) => None,
        });
        let numbers: Vec<_> = numbers.collect();
        for &switch in &numbers {
            self.groups[switch as usize] = numbers[0];
        }
    }

    /// Connects two nodes, and returns the cable.
    pub fn connect(&mut self, a: Node, b: Node, rate: Rate, delay: Span) -> &mut Cable {
        if let (Node::Host(host), Node::Switch(switch)) | (Node::Switch(switch), Node::Host(host)) =
            (a, b)
        {
            self.edges[host as usize] = switch;
        }
        let number = self.cables.len();
        self.cables.push(Cable {
            ends: [a, b],
            rates: [rate; 2],
            peaks: [rate; 2],
            loss: [0.0; 2],
            delay,
            length: 1,
        });
        &mut self.cables[number]
    }

    /// The switch that a host is connected to: its rack.
    pub fn edge(&self, host: u32) -> u32 {
        self.edges[host as usize]
    }

    /// The part of the network that each host is in, by the number of the part's first switch. Ways
    /// lead to hosts of the same part alone.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the switches")]
    pub fn parts(&self) -> Vec<u32> {
        let mut near = vec![Vec::new(); self.switches.len()];
        for cable in &self.cables {
            if let [Node::Switch(a), Node::Switch(b)] = cable.ends {
                near[a as usize].push(b);
                near[b as usize].push(a);
            }
        }
        let mut parts = vec![u32::MAX; near.len()];
        for first in 0..near.len() as u32 {
            let mut reached = vec![first];
            while let Some(switch) = reached.pop() {
                if parts[switch as usize] == u32::MAX {
                    parts[switch as usize] = first;
                    reached.extend(&near[switch as usize]);
                }
            }
        }
        self.edges.iter().map(|&switch| parts[switch as usize]).collect()
    }

    /// The number of switches that have hosts.
    pub fn edge_switches(&self) -> usize {
        self.edges.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The name of a node.
    pub fn name(&self, node: Node) -> &str {
        match node {
            Node::Host(host) => &self.hosts[host as usize],
            Node::Switch(switch) => &self.switches[switch as usize],
        }
    }

    /// The node called `name`.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the nodes")]
    pub fn node(&self, name: &str) -> Option<Node> {
        let place = |names: &[String]| names.iter().position(|other| other == name);
        let host = place(&self.hosts).map(|host| Node::Host(host as u32));
        host.or_else(|| place(&self.switches).map(|switch| Node::Switch(switch as u32)))
    }

    /// The cable between two nodes.
    pub fn cable_between(&self, a: Node, b: Node) -> Option<usize> {
        self.cables.iter().position(|cable| cable.ends == [a, b] || cable.ends == [b, a])
    }

    /// The ports of every node: each port's cable, and which end of it the node is. Ports are
    /// numbered in the order of the cables.
    pub fn ports(&self) -> Ports {
        let mut ports = Ports {
            hosts: vec![vec![]; self.hosts.len()],
            switches: vec![vec![]; self.switches.len()],
        };
        for (cable, end) in (0..self.cables.len()).flat_map(|cable| [(cable, 0), (cable, 1)]) {
            match self.cables[cable].ends[end] {
                Node::Host(host) => ports.hosts[host as usize].push((cable, end)),
                Node::Switch(switch) => ports.switches[switch as usize].push((cable, end)),
            }
        }
        ports
    }

    /// The initial rate of the link out of a port.
    pub fn rate(&self, (cable, end): (usize, usize)) -> Rate {
        self.cables[cable].rates[end]
    }

    /// The node that a port leads to.
    pub fn far_end(&self, (cable, end): (usize, usize)) -> Node {
        self.cables[cable].ends[1 - end]
    }
}

/// The cable and the end of each port of each node.
pub struct Ports {
    /// The ports of each host.
    pub hosts: Vec<Vec<(usize, usize)>>,
    /// The ports of each switch.
    pub switches: Vec<Vec<(usize, usize)>>,
}

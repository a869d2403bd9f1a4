//! What is connected to what.

use std::collections::VecDeque;

use incast_cc::{Rate, Span};

/// Nodes and cables. Nodes are numbered in the order in which they are described: the order of
/// simultaneous events, and so every result, follows from it alone.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// The hosts.
    pub hosts: Vec<String>,
    /// The switches.
    pub switches: Vec<String>,
    /// The cables.
    pub cables: Vec<Cable>,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host, by its number.
    Host(u32),
    /// A switch, by its number.
    Switch(u32),
}

/// A cable: a link each way.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Its ends.
    pub ends: [Node; 2],
    /// Rate of both links.
    pub rate: Rate,
    /// Propagation delay of both links.
    pub delay: Span,
}

impl Topology {
    /// Adds a host.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the hosts")]
    pub fn host(&mut self, name: String) -> Node {
        self.hosts.push(name);
        Node::Host(self.hosts.len() as u32 - 1)
    }

    /// Adds a switch.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the switches")]
    pub fn switch(&mut self, name: String) -> Node {
        self.switches.push(name);
        Node::Switch(self.switches.len() as u32 - 1)
    }

    /// Connects two nodes.
    pub fn connect(&mut self, a: Node, b: Node, rate: Rate, delay: Span) {
        self.cables.push(Cable { ends: [a, b], rate, delay });
    }

    /// The name of a node.
    pub fn name(&self, node: Node) -> &str {
        match node {
            Node::Host(host) => &self.hosts[host as usize],
            Node::Switch(switch) => &self.switches[switch as usize],
        }
    }

    /// The ports of every node: for each, the cable and which of its ends the node is. Ports are
    /// numbered in the order of the cables.
    pub(crate) fn ports(&self) -> Ports {
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

    /// For each switch the port towards each host, by a shortest path; the lowest port number where
    /// several are as short. A host has one cable.
    pub(crate) fn routes(&self) -> Vec<Vec<u16>> {
        let ports = self.ports();
        let mut routes = vec![vec![0; self.hosts.len()]; self.switches.len()];
        for (destination, links) in ports.switches.iter().enumerate() {
            let attached: Vec<_> = (0..)
                .zip(links)
                .filter_map(|(port, &link)| match self.far_end(link) {
                    Node::Host(host) => Some((port, host as usize)),
                    Node::Switch(_) => None,
                })
                .collect();
            let distance = self.distances_to(destination, &ports);
            for (switch, routes) in routes.iter_mut().enumerate() {
                let towards = self.port_towards(&ports.switches[switch], &distance);
                for &(port, host) in &attached {
                    routes[host] = if switch == destination { port } else { towards };
                }
            }
        }
        routes
    }

    /// The links from host `from` to host `to`, as cable and sending end, along `routes`.
    pub(crate) fn path(
        &self,
        from: u32,
        to: u32,
        ports: &Ports,
        routes: &[Vec<u16>],
    ) -> Vec<(usize, usize)> {
        let mut link = ports.hosts[from as usize][0];
        let mut path = vec![link];
        while let Node::Switch(switch) = self.far_end(link) {
            let port = routes[switch as usize][to as usize];
            link = ports.switches[switch as usize][port as usize];
            path.push(link);
        }
        path
    }

    /// The port whose far end is the switch at the least distance.
    fn port_towards(&self, links: &[(usize, usize)], distance: &[u32]) -> u16 {
        let nearest = (0..).zip(links).min_by_key(|&(_, &link)| match self.far_end(link) {
            Node::Host(_) => u32::MAX,
            Node::Switch(other) => distance[other as usize],
        });
        nearest.map_or(0, |(port, _)| port)
    }

    fn far_end(&self, (cable, end): (usize, usize)) -> Node {
        self.cables[cable].ends[1 - end]
    }

    /// Links between each switch and the switch `destination`.
    #[expect(clippy::cast_possible_truncation, reason = "switches are numbered in 32 bits")]
    fn distances_to(&self, destination: usize, ports: &Ports) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.switches.len()];
        distance[destination] = 0;
        let mut reached = VecDeque::from([destination as u32]);
        while let Some(switch) = reached.pop_front() {
            for &link in &ports.switches[switch as usize] {
                if let Node::Switch(other) = self.far_end(link)
                    && distance[other as usize] == u32::MAX
                {
                    distance[other as usize] = distance[switch as usize] + 1;
                    reached.push_back(other);
                }
            }
        }
        distance
    }
}

/// Cable and end of each port of each node.
pub(crate) struct Ports {
    pub(crate) hosts: Vec<Vec<(usize, usize)>>,
    pub(crate) switches: Vec<Vec<(usize, usize)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_shortest_paths() {
        // a - s0 - s1 - b, and a detour s0 - s2 - s1
        let mut net = Topology::default();
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        let (a, b) = (net.host("a".into()), net.host("b".into()));
        let s: Vec<_> = (0..3).map(|i| net.switch(format!("s{i}"))).collect();
        for (x, y) in [(a, s[0]), (s[0], s[2]), (s[2], s[1]), (s[0], s[1]), (s[1], b)] {
            net.connect(x, y, rate, delay);
        }
        // s0: ports to a, s2, s1; s1: ports to s2, s0, b; s2: ports to s0, s1.
        assert_eq!(net.routes(), [vec![0, 2], vec![1, 2], vec![0, 1]]);
        // Cables 0, 3 and 4, the last one away from s1, its first end.
        let path = net.path(0, 1, &net.ports(), &net.routes());
        assert_eq!(path, [(0, 0), (3, 0), (4, 0)]);
    }
}

//! The topology file of HPCC's simulator and its descendants: the numbers of nodes, switches and
//! links, the ids of the switches, and a line `a b rate delay error_rate` for each link. Ids count
//! from 0. An id that is not a switch is a host.

use std::collections::BTreeSet;

use incast_cc::{Rate, Span};

use super::ForeignError;
use super::hpcc_header::{EXPECTED, Header, Origin};
use super::text::{ended, lines};

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The simulator that the file is for.
    pub(crate) origin: Origin,
    /// The number of hosts and switches together.
    pub nodes: u32,
    /// The ids of the switches, ascending.
    pub switches: BTreeSet<u32>,
    /// The ids of those switches that are NVSwitches, which connect the GPUs of a server in SimAI.
    pub nv_switches: BTreeSet<u32>,
    /// The links, in the file's order.
    pub links: Vec<Cable>,
    /// The last line that was read, if more lines follow.
    pub rest: Option<usize>,
}

/// A link of the file.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// The ids of both nodes.
    pub ends: [u32; 2],
    /// Rate of both directions.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Span,
    /// The fraction of packets that the link loses.
    pub error_rate: f64,
    /// The line in the file.
    pub line: usize,
}

impl Topology {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not such a file, or is inconsistent.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let mut lines = lines(file, text);
        let first = lines.next().ok_or_else(|| ended(file, text, EXPECTED))?;
        let header = Header::of(&first)?;
        let (nodes, switch_count, of_links) = (header.nodes, header.switches, header.of_links);
        let (mut switches, mut nv_switches) = (BTreeSet::new(), BTreeSet::new());
        while switches.len() < switch_count as usize {
            let expected = format!("the ids of {switch_count} switches");
            let line = lines.next().ok_or_else(|| ended(file, text, &expected))?;
            for word in &line.words {
                if switches.len() == switch_count as usize {
                    return Err(word.unexpected(format!("{expected}, and then the links")));
                }
                let id = word.node(nodes)?;
                if switches.len() < header.nv_switches as usize {
                    nv_switches.insert(id);
                }
                if !switches.insert(id) {
                    return Err(word.refused(format!("switch {} is there twice", word.text)));
                }
            }
        }
        let mut links = Vec::new();
        for number in 1..=header.links {
            let line = lines.next().ok_or_else(|| {
                let expected = format!(
                    "link {number} of the {} announced in line {}",
                    of_links.text, of_links.line
                );
                ended(file, text, &expected)
            })?;
            let [a, b, rate, delay, error] = line.columns("a b rate delay error_rate")?;
            let ends = [a.node(nodes)?, b.node(nodes)?];
            if ends[0] == ends[1] {
                return Err(b.refused(format!("node {} is linked to itself", b.text)));
            }
            let error_rate: f64 = error.number("the part of the packets that is lost")?;
            if !(0.0..=1.0).contains(&error_rate) {
                return Err(error.unexpected("the part of the packets that is lost, from 0 to 1"));
            }
            let (rate, delay) = (rate.link_rate()?, delay.delay()?);
            links.push(Cable { ends, rate, delay, error_rate, line: line.number });
        }
        let rest = lines.next().map(|line| line.number);
        Ok(Self { origin: header.origin, nodes, switches, nv_switches, links, rest })
    }

    /// Whether a node is a host.
    pub fn is_host(&self, node: u32) -> bool {
        node < self.nodes && !self.switches.contains(&node)
    }

    /// The ids of the hosts, ascending.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        (0..self.nodes).filter(|&node| self.is_host(node))
    }

    /// The name of a node in a scenario, which contains its id. A host with several links becomes a
    /// host for each NIC, whose names have a second number.
    pub fn name(&self, node: u32) -> String {
        if self.is_host(node) { format!("host{node}") } else { format!("switch{node}") }
    }

    /// The links that carry packets: the last one where several join two nodes. In the file's
    /// order.
    pub(crate) fn routed(&self) -> Vec<&Cable> {
        let mut pairs = BTreeSet::new();
        let last = |link: &&Cable| {
            let [a, b] = link.ends;
            pairs.insert((a.min(b), a.max(b)))
        };
        let mut routed: Vec<_> = self.links.iter().rev().filter(last).collect();
        routed.reverse();
        routed
    }
}

/// The note on lines after the last entry.
pub(crate) fn after_the_end(file: &str, line: usize, what: &str) -> String {
    format!(
        "{file}:{line}: what follows the last announced {what} is ignored, as HPCC's simulator does"
    )
}

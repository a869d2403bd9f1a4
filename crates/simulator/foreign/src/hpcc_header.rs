//! The first line of a topology file: the counts of its nodes and links, in the order that the
//! simulator has.
//!
//! | simulator | first line |
//! |---|---|
//! | HPCC, ConWeave, ns3-rdma | `nodes switches links` |
//! | inet-tub's PowerTCP | `nodes switches tors links` |
//! | inet-tub's Reverie | `nodes switches tors links host_rate switch_rate` |
//! | SimAI | `nodes gpus_per_server nv_switches switches links gpu_type` |

use super::ForeignError;
use super::text::{Line, MOST, Word, decimal};

/// The simulator that a topology file is for, by its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// HPCC's, or one that has the same files.
    Hpcc,
    /// inet-tub's, where the command line has the algorithm.
    InetTub,
    /// SimAI's, where GPUs are hosts that NVSwitches connect in a server.
    SimAi,
}

/// The counts of the first line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    /// The number of hosts and switches together.
    pub(super) nodes: u32,
    /// The number of switches, with NVSwitches.
    pub(super) switches: u32,
    /// The number of the switches, of which the ids come first, that are NVSwitches.
    pub(super) nv_switches: u32,
    /// The number of links.
    pub(super) links: u64,
    /// The simulator.
    pub(super) origin: Origin,
    /// The word of the number of links, for errors.
    pub(super) of_links: Word<'a>,
}

/// The words of the first line by their meaning.
struct Words<'a> {
    nodes: Word<'a>,
    nv_switches: Option<Word<'a>>,
    switches: Word<'a>,
    links: Word<'a>,
    origin: Origin,
}

impl<'a> Words<'a> {
    fn of(line: &Line<'a>) -> Result<Self, ForeignError> {
        let of = |[nodes, switches, links]: [Word<'a>; 3], nv_switches, origin| Self {
            nodes,
            nv_switches,
            switches,
            links,
            origin,
        };
        Ok(match *line.words.as_slice() {
            [nodes, switches, _tors, links] => of([nodes, switches, links], None, Origin::InetTub),
            // A GPU's type has letters, and a rate is a number.
            [nodes, switches, _tors, links, _, rate] if decimal(rate.text).is_some() => {
                of([nodes, switches, links], None, Origin::InetTub)
            }
            [nodes, _per_server, nv_switches, switches, links, _gpu] => {
                of([nodes, switches, links], Some(nv_switches), Origin::SimAi)
            }
            _ => of(line.columns(EXPECTED)?, None, Origin::Hpcc),
        })
    }
}

pub(super) const EXPECTED: &str = "the numbers of nodes, switches and links";

impl<'a> Header<'a> {
    pub(super) fn of(line: &Line<'a>) -> Result<Self, ForeignError> {
        let words = Words::of(line)?;
        let nodes: u32 = words.nodes.number("the number of nodes")?;
        let plain: u32 = words.switches.number("the number of switches")?;
        let nv_switches = match words.nv_switches {
            Some(word) => word.number("the number of NVSwitches")?,
            None => 0,
        };
        let links = words.links.number("the number of links")?;
        if u64::from(nodes) > MOST {
            return Err(line.refused(format!("{nodes} nodes; expected at most {MOST}")));
        }
        let switches = plain.saturating_add(nv_switches);
        if switches >= nodes {
            let expected = format!("fewer switches than the {nodes} nodes");
            return Err(words.switches.unexpected(expected));
        }
        let (origin, of_links) = (words.origin, words.links);
        Ok(Self { nodes, switches, nv_switches, links, origin, of_links })
    }

    /// Whether the words may be the first line of a topology file.
    pub(crate) fn is(words: &[&str]) -> bool {
        let whole = |words: &[&str]| words.iter().all(|word| word.parse::<u64>().is_ok());
        match words {
            [.., gpu] if words.len() == 6 && gpu.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                whole(&words[..5])
            }
            // Six numbers are a flow where the last is no rate.
            [_, _, _, _, _, rate] => {
                whole(&words[..4]) && rate.parse::<f64>().is_ok_and(|bps| bps >= 1e6)
            }
            _ => matches!(words.len(), 3 | 4) && whole(words),
        }
    }
}

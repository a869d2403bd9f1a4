//! The graph of a job, as traces of other programs have it: what each rank sends, receives and
//! computes, and what waits for what.
//!
//! Traces have millions of nodes. A reader hands over a rank at a time as a [`Draft`], and the graph
//! keeps its nodes and edges side by side: 24 bytes for a node, 4 for an edge, and 8 more for a
//! node where the file names nodes by numbers of its own.

mod check;
mod order;
mod walk;

use std::fmt::Write;
use std::io::Read;

use incast_cc::Span;
pub use incast_plan::collective::Operation;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{FilePlace, ForeignError};

/// The format of a job's trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobFormat {
    /// GOAL of `LogGOPSim`, as text or binary.
    Goal,
    /// Execution traces of Chakra, a file for each rank, as protobuf or JSON.
    Chakra,
    /// Algorithms of collectives for MSCCL, in XML.
    Msccl,
    /// Workloads of `SimAI`, as text.
    Simai,
}

impl JobFormat {
    /// The formats by name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("goal", Self::Goal),
        ("chakra", Self::Chakra),
        ("msccl", Self::Msccl),
        ("simai", Self::Simai),
    ];

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, format)| format)
    }

    /// The format's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

/// A file of a job, opened.
pub struct JobFile {
    /// The name, for errors.
    pub name: String,
    /// The content.
    pub bytes: Box<dyn Read>,
}

/// The files of a job, and the facts that are in none of them.
pub struct JobSource<'a> {
    /// The format; the content tells if absent.
    pub format: Option<JobFormat>,
    /// The files in the order of their ranks; a single file may be of all ranks. They are opened one
    /// by one.
    pub files: &'a mut (dyn Iterator<Item = Result<JobFile, ForeignError>> + 'a),
    /// The file of a Chakra trace that names the ranks of each group: name and text.
    pub groups: Option<(String, String)>,
    /// The size of the data of an MSCCL algorithm, in bytes.
    pub size: Option<u64>,
}

/// Any rank, or any tag: a receive takes messages from all of them.
pub const ANY: u32 = u32::MAX;

/// A node of a job's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Sends a message, and ends at once.
    Send {
        /// The receiving rank.
        to: u32,
        /// The tag, by which its receive finds it.
        tag: u32,
        /// Payload.
        bytes: u64,
    },
    /// Ends when its message has arrived.
    Receive {
        /// The sending rank, or [`ANY`].
        from: u32,
        /// The tag, or [`ANY`].
        tag: u32,
        /// Payload.
        bytes: u64,
    },
    /// Computes. Computations of one stream of a rank come one after another.
    Compute {
        /// The stream.
        stream: u16,
        /// The time.
        span: Span,
    },
    /// A collective, which all ranks of a group do. Collectives of one group come one after another.
    Collective {
        /// The operation.
        operation: Operation,
        /// The group, by its place in [`JobGraph::groups`].
        group: u32,
        /// The size of the data that a rank has before.
        bytes: u64,
    },
}

impl Node {
    /// Whether the node receives from any rank, or with any tag.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Receive { from: ANY, .. } | Self::Receive { tag: ANY, .. })
    }
}

/// A node that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// The node.
    pub node: u32,
    /// Whether its start is enough, or it must end.
    pub start: bool,
}

/// The bit of an edge that says [`Before::start`].
const START: u32 = 1 << 31;

/// The most nodes of a rank, which an edge numbers.
pub const MOST_NODES: usize = START as usize - 1;

/// The nodes of a rank while they are read.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    nodes: Vec<Node>,
    /// Nodes with what they wait for.
    edges: Vec<(u32, u32)>,
    /// The line or number of each node in the file; empty where the order numbers them.
    marks: Vec<u64>,
}

impl Draft {
    /// The number of nodes.
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a node that the file knows by a line or a number. A file marks all of its nodes or none.
    pub fn add(&mut self, node: Node, mark: Option<u64>) -> u32 {
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(node);
        self.marks.extend(mark);
        number
    }

    /// Makes `node` wait for the end of `before`, or for its start.
    pub fn wait(&mut self, node: u32, before: u32, start: bool) {
        self.edges.push((node, before | if start { START } else { 0 }));
    }
}

/// The nodes of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankGraph {
    nodes: Vec<Node>,
    /// The first entry of each node in `before`, and the end of the last.
    first: Vec<u32>,
    before: Vec<u32>,
    marks: Vec<u64>,
}

impl From<Draft> for RankGraph {
    fn from(draft: Draft) -> Self {
        let Draft { mut nodes, mut edges, mut marks } = draft;
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0; nodes.len() + 1];
        for &(node, _) in &edges {
            first[node as usize + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let before = edges.into_iter().map(|(_, before)| before).collect();
        nodes.shrink_to_fit();
        marks.shrink_to_fit();
        Self { nodes, first, before, marks }
    }
}

impl RankGraph {
    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes that a node waits for.
    pub fn before(&self, node: u32) -> impl Iterator<Item = Before> {
        let node = node as usize;
        let range = self.first[node] as usize..self.first[node + 1] as usize;
        let edge = |&edge: &u32| Before { node: edge & !START, start: edge & START != 0 };
        self.before[range].iter().map(edge)
    }

    /// The nodes and their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, Node)> {
        (0..).zip(self.nodes.iter().copied())
    }

    /// The bytes of memory.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.first)
            + size_of_val(&*self.before)
            + size_of_val(&*self.marks)
    }
}

/// How a file tells its nodes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By lines of one file.
    Lines,
    /// By numbers, in a file of all ranks or of each.
    Numbers,
}

/// The graph of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobGraph {
    /// The names of the files: one, or one for each rank.
    pub files: Vec<String>,
    /// How the files tell their nodes apart.
    pub naming: Naming,
    /// The ranks.
    pub ranks: Vec<RankGraph>,
    /// The ranks of each group of collectives.
    pub groups: Vec<Vec<u32>>,
    /// Notes on content of the files that the graph does not have.
    pub notes: Vec<String>,
}

impl JobGraph {
    /// A graph whose faults have been looked for.
    ///
    /// # Errors
    /// A node names a rank that does not exist, messages and receives do not meet, or some node can
    /// never begin.
    pub fn checked(self) -> Result<Self, ForeignError> {
        check::check(&self)?;
        Ok(self)
    }

    /// Refuses receives from any rank or with any tag.
    ///
    /// # Errors
    /// There is one.
    pub fn closed(&self) -> Result<(), ForeignError> {
        for (rank, graph) in (0..).zip(&self.ranks) {
            let open = graph.numbered().find(|(_, node)| node.is_open());
            if let Some((node, _)) = open {
                let reason = "receives from any rank or with any tag, which is not run; name both";
                return Err(self.refused(rank, node, reason));
            }
        }
        Ok(())
    }

    /// The order in which a rank's nodes can be written: each after those that it waits for. Nodes
    /// that may be in any order keep the order of the file.
    pub fn order(&self, rank: u32) -> Vec<u32> {
        order::order(&self.ranks[rank as usize]).unwrap_or_default()
    }

    /// The number of nodes of all ranks.
    pub fn nodes(&self) -> usize {
        self.ranks.iter().map(|rank| rank.nodes.len()).sum()
    }

    /// The file of a rank.
    fn file(&self, rank: u32) -> &str {
        let own = if self.files.len() == 1 { 0 } else { rank as usize };
        self.files.get(own).map_or("", String::as_str)
    }

    /// The place of a node in its file, within a sentence.
    fn mark(&self, rank: u32, node: u32) -> String {
        let mark = self.ranks[rank as usize].marks.get(node as usize);
        let mark = mark.copied().unwrap_or(u64::from(node));
        match self.naming {
            Naming::Lines => format!("line {mark} (rank {rank})"),
            Naming::Numbers => format!("node {mark} of rank {rank}"),
        }
    }

    /// The error about a node.
    fn refused(&self, rank: u32, node: u32, reason: impl Into<String>) -> ForeignError {
        let (file, reason) = (self.file(rank).to_owned(), reason.into());
        let mark = self.ranks[rank as usize].marks.get(node as usize);
        if let (Naming::Lines, Some(&line)) = (self.naming, mark) {
            let line = usize::try_from(line).unwrap_or(usize::MAX);
            return ForeignError::Refused { place: FilePlace { file, line, column: None }, reason };
        }
        ForeignError::Together(format!("{file}: {}: {reason}", self.mark(rank, node)))
    }

    /// The places of some nodes, of which a sentence names the first ones.
    fn marks(&self, nodes: &[(u32, u32)]) -> String {
        const NAMED: usize = 8;
        let mut said = String::new();
        for (place, &(rank, node)) in nodes.iter().take(NAMED).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(said, "{comma}{}", self.mark(rank, node));
        }
        if nodes.len() > NAMED {
            let _ = write!(said, ", ... ({} more)", nodes.len() - NAMED);
        }
        said
    }
}

//! Execution traces of Chakra: a file for each rank, with nodes that name what they wait for.
//!
//! S. Sridharan et al., "Chakra: Advancing Performance Benchmarking and Co-design using
//! Standardized Execution Traces", arXiv:2305.14516, and its schema `et_def.proto`.

use std::collections::{BTreeMap, HashMap};

use incast_scenario::foreign::job::{Draft, JobGraph, MOST_NODES, Naming, Node, RankGraph};

use super::chakra_node::ChakraNode;
use super::{Form, Opened, chakra_json, chakra_protobuf, form};
use crate::ForeignError;

/// The ranks of each process group, by name.
struct Groups {
    /// The places of the groups in the graph.
    places: BTreeMap<String, u32>,
    ranks: Vec<Vec<u32>>,
    /// The file that names them, if there is one.
    file: Option<String>,
    /// A group that a trace names and no file does.
    unknown: Option<String>,
}

/// Facts of a trace that the graph does not have.
#[derive(Default)]
struct Seen {
    work: usize,
    memory: usize,
    rooted: bool,
}

pub(super) fn read(
    first: Opened,
    others: impl Iterator<Item = Result<Opened, ForeignError>>,
    groups: Option<(String, String)>,
) -> Result<JobGraph, ForeignError> {
    let mut groups = Groups::read(groups)?;
    let (mut files, mut ranks, mut seen) = (Vec::new(), Vec::new(), Seen::default());
    for file in std::iter::once(Ok(first)).chain(others) {
        let mut file = file?;
        let found = form(&mut file, Some(super::JobFormat::Chakra))?;
        files.push(file.name.clone());
        ranks.push(rank(file, found, &mut groups, &mut seen)?);
    }
    if ranks.len() == 1 {
        return Err(ForeignError::Together(format!(
            "{}: a trace of Chakra is of one rank; name the files of all ranks with {{rank}} in \
             place of the number, such as name.{{rank}}.et",
            files[0]
        )));
    }
    let notes = notes(&files[0], &groups, &seen);
    let count = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
    groups.ranks[0] = (0..count).collect();
    Ok(JobGraph { files, naming: Naming::Numbers, ranks, groups: groups.ranks, notes })
}

fn notes(file: &str, groups: &Groups, seen: &Seen) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(name) = &groups.unknown {
        notes.push(format!(
            "{file}: process groups such as {name:?} are taken as all ranks, since no file of \
             groups says more"
        ));
    }
    if seen.work > 0 {
        notes.push(format!(
            "{file}: {} nodes have num_ops and no duration, and take no time",
            seen.work
        ));
    }
    if seen.memory > 0 {
        notes.push(format!(
            "{file}: {} loads and stores take their durations, on the stream of computations",
            seen.memory
        ));
    }
    if seen.rooted {
        notes.push(format!(
            "{file}: the first rank of a group has what is broadcast, and gets what is reduced"
        ));
    }
    notes
}

fn rank(
    file: Opened,
    found: Form,
    groups: &mut Groups,
    seen: &mut Seen,
) -> Result<RankGraph, ForeignError> {
    let name = file.name.clone();
    let mut draft = Draft::default();
    let mut places: HashMap<u64, u32> = HashMap::new();
    // Nodes with the numbers that they wait for, which may be further on in the file.
    let mut before: Vec<(u32, u64)> = Vec::new();
    let mut add = |node: ChakraNode| {
        let fail =
            |reason| Err(ForeignError::Together(format!("{name}: node {}: {reason}", node.id)));
        if draft.len() == MOST_NODES {
            return fail(format!("more than {MOST_NODES} nodes of a rank"));
        }
        let group = match groups.place(&node) {
            Ok(group) => group,
            Err(reason) => return fail(reason),
        };
        let own = match node.node(group) {
            Ok(own) => own,
            Err(reason) => return fail(reason),
        };
        seen.note(&node, own);
        let place = draft.add(own, Some(node.id));
        if places.insert(node.id, place).is_some() {
            return fail("its number is there twice; change one".into());
        }
        before.extend(node.before.iter().map(|&number| (place, number)));
        Ok(())
    };
    if found == Form::ChakraJson {
        chakra_json::read(file, &mut add)?;
    } else {
        chakra_protobuf::read(file, &mut add)?;
    }
    for (place, number) in before {
        let Some(&earlier) = places.get(&number) else {
            return Err(ForeignError::Together(format!(
                "{name}: a node waits for node {number}, which is not there; take the dependency out"
            )));
        };
        draft.wait(place, earlier, false);
    }
    Ok(draft.into())
}

impl Seen {
    fn note(&mut self, node: &ChakraNode, own: Node) {
        match own {
            Node::Compute { .. } => {
                self.work += usize::from(node.work && node.micros == 0);
                self.memory += usize::from(matches!(node.kind, 2 | 3));
            }
            Node::Collective { .. } => {
                self.rooted |= matches!(node.comm_type, 1 | 5);
            }
            Node::Send { .. } | Node::Receive { .. } => {}
        }
    }
}

impl Groups {
    /// The groups of a file such as `{"0": [0, 1]}`. Group 0 of the graph has all ranks.
    fn read(file: Option<(String, String)>) -> Result<Self, ForeignError> {
        let mut groups =
            Self { places: BTreeMap::new(), ranks: vec![Vec::new()], file: None, unknown: None };
        let Some((name, text)) = file else { return Ok(groups) };
        let named: BTreeMap<String, Vec<u32>> = serde_json::from_str(&text).map_err(|error| {
            ForeignError::Together(format!(
                "{name}: no groups of ranks ({error}); expected JSON such as {{\"0\": [0, 1]}}"
            ))
        })?;
        for (key, ranks) in named {
            if let Some(rank) = twice(&ranks) {
                return Err(ForeignError::Together(format!(
                    "{name}: group {key:?} has rank {rank} twice; take one out"
                )));
            }
            let place = u32::try_from(groups.ranks.len()).unwrap_or(u32::MAX);
            groups.places.insert(key, place);
            groups.ranks.push(ranks);
        }
        groups.file = Some(name);
        Ok(groups)
    }

    /// The group of a node.
    fn place(&mut self, node: &ChakraNode) -> Result<u32, String> {
        let Some(name) = node.group.as_ref().filter(|name| node.kind == 7 && !name.is_empty())
        else {
            return Ok(0);
        };
        match (self.places.get(name), &self.file) {
            (Some(&place), _) => Ok(place),
            (None, None) => {
                self.unknown.get_or_insert_with(|| name.clone());
                Ok(0)
            }
            (None, Some(file)) => {
                Err(format!("its process group {name:?} is not in {file}; add it there"))
            }
        }
    }
}

fn twice(ranks: &[u32]) -> Option<u32> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

//! Scenarios from htsim's files.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Span};

use super::write::{Draft, Event, Setting};
use super::{ForeignError, Kind, Source, estimated_duration, warmup};
use crate::text::refused;
use crate::{Format, HtsimMatrix, HtsimTopology};

/// The remedy for flows that need longer than the longest run.
const SHORTER: &str = "lower their sizes, or set them to 0, which is without end";

/// Notes on settings that are in no file of htsim's.
const OWN: [&str; 2] = [
    "htsim's protocol, packet size, queues and end time are on its command line: transport, \
     switch and the scheme are this project's until changed",
    "the scheme is timely, which needs PFC, and the switches have none: set switch.pfc.enabled to true, or \
     take a scheme that answers losses, such as --cc newreno",
];

pub(super) fn draft(known: &BTreeMap<Kind, Source<'_>>) -> Result<Draft, ForeignError> {
    let source = known.get(&Kind::HtsimMatrix).ok_or_else(|| {
        let message = "a topology without flows; give a connection matrix (.cm) as well, or name \
                       the topology in \
                       [network.file] of a scenario of your own";
        ForeignError::Together(message.into())
    })?;
    let matrix = HtsimMatrix::parse(source.name, source.text)?;
    let flows = matrix.flows(source.name)?;
    let mut notes = vec![];
    let topology = known.get(&Kind::HtsimTopology);
    let (tree, tree_file) = match topology {
        Some(topology) => (HtsimTopology::parse(topology.name, topology.text)?, topology.name),
        None => (default_tree(source, &matrix, &mut notes)?, source.name),
    };
    if u64::from(matrix.nodes) != tree.nodes {
        let message = format!(
            "{} is for {} nodes, but {tree_file} has {}; change Nodes in one of them",
            source.name, matrix.nodes, tree.nodes
        );
        return Err(ForeignError::Together(message));
    }
    let graph = tree.graph(tree_file)?;
    if matrix.microseconds {
        notes.push(format!(
            "{}: starts have a decimal point and are taken as microseconds",
            source.name
        ));
    }
    if flows.iter().any(|flow| flow.priority.is_some()) {
        notes.push(format!(
            "{}: prio, by which receivers choose whom to serve, is ignored",
            source.name
        ));
    }
    let endless = flows.iter().filter(|flow| flow.size.is_none()).count();
    if endless > 0 {
        notes.push(format!(
            "{}: {endless} of the connections have size 0 and never end, as there",
            source.name
        ));
    }
    notes.extend(graph.notes.iter().cloned());
    notes.extend(OWN.map(String::from));
    let mut failures = Vec::new();
    for failure in &matrix.failures {
        let fail = |reason: String| Err(refused(source.name, failure.line, reason));
        let Some(link) = tree.uplink(failure.switch, failure.link) else {
            return fail(format!(
                "aggregation switch {} has no link up {}; switches and their links count from 0",
                failure.switch, failure.link
            ));
        };
        let source = format!("{}:{}", source.name, failure.line);
        failures.push(Event { at: Span::ZERO, link, rate: tree.with_one_less(), source });
    }
    let mut tables = Vec::new();
    if let Some(queue) = tree.queue() {
        let setting = Setting::quoted("queue_limit", Bytes::new(queue), "Queue_Up and Queue_Down");
        tables.push(("switch", vec![setting]));
    }
    let duration = estimated_duration(&graph, &flows, None, SHORTER)?;
    let how_long = match endless {
        0 => "twice what the flows need at the rates of their hosts",
        _ => "twice what the flows that end need, and 10 ms for the others; htsim has -end",
    };
    let mut draft = Draft {
        title: format!("Imported from htsim: {}", source.base()),
        description: format!("Made from {}, in htsim's formats.", super::hpcc::names(known)),
        duration: (duration, how_long.into()),
        drain: Some(duration),
        warmup: Span::ZERO,
        scheme: ("timely".into(), "none is in the files; --cc takes another".into()),
        traced: None,
        graph,
        graph_source: topology.map_or_else(
            || {
                let hosts = tree.nodes;
                format!("a fat-tree of {hosts} hosts, which htsim builds without a topology file")
            },
            |topology| topology.name.to_owned(),
        ),
        graph_file: topology.map(|file| file.beside(Format::Htsim)),
        failures,
        tables,
        classes: vec![],
        flows,
        flow_file: source.beside(Format::Htsim),
        flows_differ: false,
        parameters: vec![],
        notes,
    };
    warmup(&mut draft, "")?;
    Ok(draft)
}

/// The network that htsim builds without a topology file.
fn default_tree(
    source: &Source<'_>,
    matrix: &HtsimMatrix,
    notes: &mut Vec<String>,
) -> Result<HtsimTopology, ForeignError> {
    let tree = HtsimTopology::fat_tree(matrix.nodes.into()).ok_or_else(|| {
        let message = format!(
            "{} has {} nodes, which is no fat-tree (k^3/4 for an even k: 2, 16, 54, 128, ...); \
             give its topology \
             file (.topo) as well",
            source.name, matrix.nodes
        );
        ForeignError::Together(message)
    })?;
    notes.push(format!(
        "no topology file: a fat-tree of {} hosts with htsim's links of 100 Gb/s and 1 us",
        tree.nodes
    ));
    Ok(tree)
}

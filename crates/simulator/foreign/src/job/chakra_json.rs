//! Chakra's traces as JSON, in the form of its feeder: `{"workload_graph": [...]}`.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Opened;
use super::bytes::whole;
use super::chakra_node::ChakraNode;
use crate::ForeignError;

/// The largest file in bytes. Traces of that size are written as protobuf.
const MOST: u64 = 1_000_000_000;

#[derive(Deserialize)]
struct Trace {
    workload_graph: Option<Vec<JsonNode>>,
    /// What `PyTorch` writes.
    schema: Option<IgnoredAny>,
    nodes: Option<IgnoredAny>,
}

/// A node. The feeder reads "Id", and its documentation says "id".
#[derive(Deserialize)]
struct JsonNode {
    #[serde(alias = "Id")]
    id: u64,
    #[serde(alias = "NodeType")]
    node_type: u64,
    #[serde(default)]
    is_cpu_op: bool,
    #[serde(default)]
    runtime: u64,
    #[serde(default)]
    data_deps: Vec<u64>,
    #[serde(default)]
    ctrl_deps: Vec<u64>,
    #[serde(default)]
    num_ops: u64,
    #[serde(default)]
    comm_type: u64,
    #[serde(default)]
    comm_size: u64,
    #[serde(default)]
    comm_src: u64,
    #[serde(default)]
    comm_dst: u64,
    #[serde(default)]
    comm_tag: u64,
    pg_name: Option<String>,
}

pub(super) fn read(
    file: Opened,
    add: &mut dyn FnMut(ChakraNode) -> Result<(), ForeignError>,
) -> Result<(), ForeignError> {
    let Opened { name, mut bytes } = file;
    let text = whole(&name, bytes.as_mut(), MOST)?;
    let trace: Trace = serde_json::from_str(&text).map_err(|error| {
        let reason =
            format!("no trace of Chakra ({error}); expected {{\"workload_graph\": [...]}}");
        ForeignError::Together(format!("{name}: {reason}"))
    })?;
    let Some(nodes) = trace.workload_graph else {
        let reason = if trace.schema.is_some() || trace.nodes.is_some() {
            "a host trace of PyTorch, which says nothing of the accelerator; link it with the trace \
             of Kineto (chakra_trace_link), convert it (chakra_converter), and name what comes of \
             that"
        } else {
            "JSON without a workload_graph; expected a trace of Chakra"
        };
        return Err(ForeignError::Together(format!("{name}: {reason}")));
    };
    for node in nodes {
        let mut before = node.data_deps;
        before.extend(node.ctrl_deps);
        add(ChakraNode {
            id: node.id,
            kind: node.node_type,
            before,
            micros: node.runtime,
            cpu: node.is_cpu_op,
            work: node.num_ops > 0,
            comm_type: node.comm_type,
            size: node.comm_size,
            from: node.comm_src,
            to: node.comm_dst,
            tag: node.comm_tag,
            group: node.pg_name,
        })?;
    }
    Ok(())
}

//! Files of other projects, and the smallest files of each format.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use incast_cc::Span;
use incast_scenario::foreign::job::{Node, Operation};

use super::{chakra, good, node, read};

const ALL_REDUCE: [&[u8]; 4] = [
    include_bytes!("../../../../../../tests/data/jobs/all_reduce.0.et"),
    include_bytes!("../../../../../../tests/data/jobs/all_reduce.1.et"),
    include_bytes!("../../../../../../tests/data/jobs/all_reduce.2.et"),
    include_bytes!("../../../../../../tests/data/jobs/all_reduce.3.et"),
];
const CUSTOM: &[u8] = include_bytes!("../../../../../../tests/data/jobs/custom_ring.et");
pub(super) const RING: &[u8] = include_bytes!("../../../../../../tests/data/jobs/msccl_ring_8.xml");
pub(super) const MICRO: &[u8] =
    include_bytes!("../../../../../../tests/data/jobs/micro_all_reduce.txt");

/// A trace with one all-reduce of 1 MiB, byte by byte.
const SMALLEST: [u8; 49] = [
    0x07, 0x0a, 0x05, 0x30, 0x2e, 0x30, 0x2e, 0x34, 0x28, 0x08, 0x01, 0x12, 0x02, 0x61, 0x72, 0x18,
    0x07, 0x52, 0x0d, 0x0a, 0x09, 0x63, 0x6f, 0x6d, 0x6d, 0x5f, 0x74, 0x79, 0x70, 0x65, 0x48, 0x00,
    0x52, 0x0f, 0x0a, 0x09, 0x63, 0x6f, 0x6d, 0x6d, 0x5f, 0x73, 0x69, 0x7a, 0x65, 0x48, 0x80, 0x80,
    0x40,
];

const MEBIBYTE: Node =
    Node::Collective { operation: Operation::AllReduce, group: 0, bytes: 1 << 20 };

#[test]
fn the_smallest_trace_of_chakra_plain_and_packed() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&SMALLEST).unwrap();
    let packed = packed.finish().unwrap();
    let job = good(&[("x.0.et", &SMALLEST), ("x.1.et", &packed)]);
    assert_eq!(job.groups, [[0, 1]]);
    for rank in &job.ranks {
        assert_eq!(rank.nodes(), [MEBIBYTE]);
    }
}

#[test]
fn the_all_reduce_of_astra_sim() {
    let files: Vec<_> = ALL_REDUCE.iter().map(|bytes| ("x.et", *bytes)).collect();
    let job = good(&files);
    assert_eq!((job.ranks.len(), job.nodes()), (4, 4));
    assert_eq!(job.ranks[3].nodes(), [MEBIBYTE]);
}

#[test]
fn a_ring_of_chakra_is_sends_and_receives_whatever_comm_type_says() {
    let error = read(&[("r.0.et", CUSTOM), ("r.1.et", CUSTOM)], None, None).unwrap_err();
    // The file of rank 0 stands for rank 1, too, where its peer is the rank itself.
    assert_eq!(
        error.to_string(),
        "r.0.et: node 1 of rank 0: rank 7 does not exist; expected 0 to 1"
    );
    let mut files = vec![("r.et", CUSTOM)];
    let rest = chakra(&[]);
    files.extend(std::iter::repeat_n(("r.et", rest.as_slice()), 7));
    let error = read(&files, None, None).unwrap_err().to_string();
    assert!(
        error.contains("receives no such message") || error.contains("sends no such"),
        "{error}"
    );
}

#[test]
fn chakra_as_json_and_dependencies_that_point_forward() {
    let json = |peer: &str, kind: u32| {
        format!(
            "{{\"workload_graph\": [{{\"Id\": 4, \"NodeType\": {kind}, \"{peer}\": 1, \
             \"comm_size\": 10, \"data_deps\": [9]}}, {{\"id\": 9, \"node_type\": 4, \
             \"runtime\": 3}}]}}"
        )
    };
    let bytes = chakra(&[
        node((4, 6), &[9], 0, &[("comm_src", 0), ("comm_size", 10)]),
        node((9, 4), &[], 3, &[]),
    ]);
    let job = good(&[("x.0.et", json("comm_dst", 5).as_bytes()), ("x.1.et", &bytes)]);
    let compute = Node::Compute { stream: 0, span: Span::from_us(3) };
    assert_eq!(job.ranks[0].nodes(), [Node::Send { to: 1, tag: 0, bytes: 10 }, compute]);
    assert_eq!(job.ranks[1].nodes(), [Node::Receive { from: 0, tag: 0, bytes: 10 }, compute]);
    assert_eq!((job.order(0), job.order(1)), (vec![1, 0], vec![1, 0]));
}

#[test]
fn the_groups_of_chakra_come_from_a_file_or_are_all_ranks() {
    let mut own = node((1, 7), &[], 0, &[("comm_size", 8)]);
    let mut name = Vec::new();
    super::text(&mut name, 1, b"pg_name");
    super::text(&mut name, 29, b"pair");
    super::text(&mut own, 10, &name);
    let (named, none) = (chakra(&[own]), chakra(&[]));
    let files: [(&str, &[u8]); 3] = [("x.0", &named), ("x.1", &none), ("x.2", &named)];
    let job = read(&files, Some("{\"pair\": [2, 0]}"), None).unwrap();
    assert_eq!(job.groups, [vec![0, 1, 2], vec![2, 0]]);
    assert!(matches!(job.ranks[2].nodes(), [Node::Collective { group: 1, .. }]));
    let all: [(&str, &[u8]); 2] = [("x.0", &named), ("x.1", &named)];
    assert!(good(&all).notes[0].contains("\"pair\" are taken as all ranks"));
}

#[test]
fn the_ring_of_msccl_sends_each_chunk_fourteen_times() {
    let job = read(&[("r.xml", RING)], None, Some(1 << 20)).unwrap();
    assert_eq!(job.ranks.len(), 8);
    for (rank, graph) in (0..).zip(&job.ranks) {
        let next = (rank + 1) % 8;
        let sends: Vec<_> =
            graph.nodes().iter().filter(|node| matches!(node, Node::Send { .. })).collect();
        assert_eq!(sends.len(), 14);
        assert!(sends.iter().all(|node| **node == Node::Send { to: next, tag: 0, bytes: 1 << 17 }));
    }
}

#[test]
fn the_micro_benchmark_of_simai_has_two_all_reduces_of_its_eight_gpus() {
    let job = good(&[("micro.txt", MICRO)]);
    assert_eq!(job.ranks.len(), 8);
    for rank in &job.ranks {
        let collectives: Vec<_> =
            rank.nodes().iter().filter(|node| matches!(node, Node::Collective { .. })).collect();
        let all_reduce =
            |bytes| Node::Collective { operation: Operation::AllReduce, group: 0, bytes };
        assert_eq!(collectives, [&all_reduce(16_777_216), &all_reduce(67_108_864)]);
    }
}

#[test]
fn simai_divides_ranks_into_groups_of_tensors_data_and_experts() {
    let text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 \
                all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0\n1\n\
                l -1 10 ALLGATHER 8 20 REDUCESCATTER 8 30 ALLREDUCE_DP_EP 8 40\n";
    let job = good(&[("w", text.as_bytes())]);
    let groups: Vec<&[u32]> = job.groups.iter().map(Vec::as_slice).collect();
    let [tensor, data] = [&groups[..4], &groups[4..6]];
    assert_eq!(tensor, [[0, 1], [2, 3], [4, 5], [6, 7]]);
    assert_eq!(data, [[0, 2, 4, 6], [1, 3, 5, 7]]);
    assert_eq!(groups[6..10], [[0, 2], [1, 3], [4, 6], [5, 7]]);
    assert_eq!(groups[10..], [[0, 4], [1, 5], [2, 6], [3, 7]]);
    let last = |node: &&Node| matches!(node, Node::Collective { .. });
    let found = job.ranks[6].nodes().iter().rfind(last).unwrap();
    let all_reduce = Operation::AllReduce;
    assert_eq!(*found, Node::Collective { operation: all_reduce, group: 12, bytes: 8 });
}

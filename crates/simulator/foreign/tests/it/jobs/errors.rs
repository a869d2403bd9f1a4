//! Faults of jobs: one sentence with the file, the node and the remedy.

use super::samples::{MICRO, RING};
use super::{chakra, node, one, read};

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = one(text).map_or_else(|error| error.to_string(), |_| "read".into());
    assert_eq!(error, expected);
}

/// A GOAL of two ranks.
fn goal(first: &str, second: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n")
}

#[test]
fn goal_as_text() {
    for (first, second, expected) in [
        ("a: calc", "", "x:3: found \"calc\" there; expected send, recv, calc, or A requires B"),
        ("calc 1us", "", "x:3: found \"1us\"; expected a time in whole nanoseconds"),
        ("send 8 to 1", "", "x:3: found \"8\"; expected a size such as 4096b, up to 10^15"),
        (
            "send 8b to 1 cpu 0 tag 1",
            "",
            "x:3: found \"tag\"; expected tag N, cpu N, nic N in this order, or nothing",
        ),
        ("a: calc 1\na: calc 2", "", "x:4: label a is there twice; rename one"),
        ("a: calc 1\na requires b", "", "x:4: no statement above has the label b; expected one"),
        ("calc 1 cpu 256", "", "x:3: cpu 256 is out of range; expected 0 to 255"),
        ("send 8b to 2", "", "x:3: rank 2 does not exist; expected 0 to 1"),
        ("send 8b to 0", "", "x:3: rank 0 sends to itself; expected another rank"),
        (
            "send 8b to 1 tag 3",
            "recv 8b from 0",
            "x:6: receives from rank 0 with tag 0, which sends no such message; add the send, or \
             take the receive out",
        ),
        (
            "send 8b to 1\nsend 8b to 1",
            "recv 8b from 0",
            "x:4: sends to rank 1 with tag 0, which receives no such message; add the receive, or \
             take the send out",
        ),
        (
            "send 8b to 1",
            "recv 9b from 0",
            "x:3: sends 8 B, for which line 6 (rank 1) expects 9 B; make them the same",
        ),
        (
            "send 8b to 1",
            "recv 8b from -1\nrecv 8b from 0 tag -1",
            "x:6: one of 2 receives of rank 1 from any rank or with any tag, for which 1 messages \
             are left; expected as many",
        ),
        (
            "a: calc 1\nb: calc 2\na requires b\nb requires a",
            "",
            "x:3: it never begins, since nodes wait for each other in a circle: line 3 (rank 0), \
             line 4 (rank 0); take one dependency out",
        ),
        (
            "a: send 8b to 1\nb: recv 8b from 1\na requires b",
            "a: send 8b to 0\nb: recv 8b from 0\na requires b",
            "x:3: it never begins, since nodes wait for each other in a circle: line 3 (rank 0), \
             line 4 (rank 0), line 8 (rank 1), line 9 (rank 1); take one dependency out",
        ),
    ] {
        refused(&goal(first, second), expected);
    }
    refused(
        "num_ranks 2\nrank 1 {\n",
        "x:2: found rank 1; expected rank 0, of ranks 0 to 1 in their order",
    );
    refused("num_ranks two\n", "x:1: no number of ranks; expected num_ranks N");
    refused("num_ranks 2\ncalc 1\n", "x:2: found \"calc\"; expected rank 0 {");
    refused(
        "num_ranks 1\nrank 0 {\ncalc 1\n}\n",
        "x: a job of 1 ranks; expected from 2 to 1000000",
    );
    refused(
        "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n",
        "x: a job without nodes; expected one or more",
    );
    refused(
        "num_ranks 2\nrank 0 {\n",
        "x:2: found the end of the file in rank 0 of 2; expected the rest",
    );
}

#[test]
fn goal_as_bytes() {
    use super::goal::{Statement, binary};
    use incast_scenario::foreign::job::Node;
    let send: Statement = (Node::Send { to: 1, tag: 0, bytes: 8 }, vec![]);
    let receive: Statement = (Node::Receive { from: 0, tag: 0, bytes: 8 }, vec![]);
    let good = binary(&[vec![send.clone()], vec![receive.clone()]]);
    let failed = |bytes: &[u8]| read(&[("x", bytes)], None, None).unwrap_err().to_string();
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        failed(&bytes)
    };
    assert_eq!(failed(&good[..good.len() - 1]), "x: ends in the middle; expected a whole file");
    let used = [&2_342_u64.to_le_bytes(), &good[8..]].concat();
    assert_eq!(
        failed(&used),
        "x: a run of LogGOPSim with --save-mem has used this file up; convert its text again"
    );
    // The ranks have 51 B each, behind 46 B: the count, the streams and the places.
    assert_eq!(
        with(46 + 8 + 4 + 4, 9),
        "x: node 0 of rank 0: unknown type 9; expected 1 (send), 2 (recv) or 3 (calc)"
    );
    assert_eq!(with(46, 2), "x: rank 0 has 2 nodes and 1 roots in 51 B; expected at least 90 B");
    assert_eq!(
        with(46 + 8 + 4, 1),
        "x: node 0 of rank 0: it waits for another number of nodes than name it; convert the text \
         again"
    );
    assert_eq!(with(46 + 8 + 4 + 23, 1), "x: node 0 of rank 0: its followers are up to 1, of 0");
    assert_eq!(with(14, 37), "x: rank 0 begins at 37, before 38");
    assert_eq!(
        with(46 + 8 + 4 + 5, 7),
        "x: node 0 of rank 0: rank 7 does not exist; expected 0 to 1"
    );
}

#[test]
fn traces_of_chakra() {
    let failed = |nodes: &[Vec<u8>]| {
        let bytes = chakra(nodes);
        let none = chakra(&[]);
        read(&[("x.0", &bytes), ("x.1", &none)], None, None).unwrap_err().to_string()
    };
    for (nodes, expected) in [
        (
            vec![node((1, 8), &[], 0, &[])],
            "x.0: node 1: unknown type 8; expected 1 (metadata), 2 (load), 3 (store), 4 \
             (computation), 5 (send), 6 (receive) or 7 (collective)",
        ),
        (
            vec![node((1, 7), &[], 0, &[("comm_type", 3), ("comm_size", 8)])],
            "x.0: node 1: comm_type 3 (gather) is not read; expected 0 (all-reduce), 1 \
             (reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter) or 9 (barrier)",
        ),
        (
            vec![node((1, 4), &[], 1, &[]), node((1, 4), &[], 1, &[])],
            "x.0: node 1: its number is there twice; change one",
        ),
        (
            vec![node((1, 4), &[5], 1, &[])],
            "x.0: a node waits for node 5, which is not there; take the dependency out",
        ),
        (
            vec![node((1, 5), &[], 0, &[("comm_dst", 1)])],
            "x.0: node 1: its comm_size is 0 or absent; expected a size in bytes",
        ),
        (
            vec![node((1, 7), &[], 0, &[("comm_size", 8)])],
            "x.0: node 1 of rank 0: all-reduce of rank 0, which rank 1 of its group does not do; \
             add it there",
        ),
        (
            vec![node((3, 4), &[4], 1, &[]), node((4, 4), &[3], 1, &[])],
            "x.0: node 3 of rank 0: it never begins, since nodes wait for each other in a circle: \
             node 3 of rank 0, node 4 of rank 0; take one dependency out",
        ),
    ] {
        assert_eq!(failed(&nodes), expected);
    }
    let collective = chakra(&[node((1, 7), &[], 0, &[("comm_size", 8)])]);
    let whole: [(&str, &[u8]); 2] = [("x.0", &collective), ("x.1", &collective)];
    assert_eq!(
        read(&whole[..1], None, None).unwrap_err().to_string(),
        "x.0: a trace of Chakra is of one rank; name the files of all ranks with {rank} in place \
         of the number, such as name.{rank}.et"
    );
    let cut: [(&str, &[u8]); 2] = [("x.0", &collective), ("x.1", &collective[..20])];
    assert_eq!(
        read(&cut, None, None).unwrap_err().to_string(),
        "x.1: ends in node 1 of the file; expected a whole file"
    );
    assert_eq!(
        read(&whole, Some("{\"a\": [1, 1]}"), None).unwrap_err().to_string(),
        "groups.json: group \"a\" has rank 1 twice; take one out"
    );
    assert_eq!(
        read(&whole, Some("{\"a\": [0, 7]}"), None).unwrap_err().to_string(),
        "x.0: group 1 has rank 7, of 2 ranks; expected fewer than that"
    );
    let other = chakra(&[node((1, 7), &[], 0, &[("comm_size", 9)])]);
    assert_eq!(
        read(&[("x.0", &collective), ("x.1", &other)], None, None).unwrap_err().to_string(),
        "x.1: node 1 of rank 1: all-reduce of 9 B, where node 1 of rank 0 is all-reduce of 8 B; \
         make them the same"
    );
    let host = "{\"schema\": \"1.0.2-chakra.0.0.4\", \"pid\": 1, \"nodes\": []}";
    refused(
        host,
        "x: a host trace of PyTorch, which says nothing of the accelerator; link it with the trace \
         of Kineto (chakra_trace_link), convert it (chakra_converter), and name what comes of that",
    );
    refused("{}", "x: JSON without a workload_graph; expected a trace of Chakra");
}

#[test]
fn a_collective_over_one_rank_is_refused() {
    let mut own = node((1, 7), &[], 0, &[("comm_size", 8)]);
    let mut name = Vec::new();
    super::text(&mut name, 1, b"pg_name");
    super::text(&mut name, 29, b"one");
    super::text(&mut own, 10, &name);
    let (bytes, none) = (chakra(&[own]), chakra(&[]));
    let files: [(&str, &[u8]); 2] = [("x.0", &bytes), ("x.1", &none)];
    for (groups, expected) in [
        (
            "{\"one\": [0]}",
            "x.0: node 1 of rank 0: all-reduce of one rank; expected a group of at least two",
        ),
        (
            "{\"two\": [0]}",
            "x.0: node 1: its process group \"one\" is not in groups.json; add it there",
        ),
    ] {
        assert_eq!(read(&files, Some(groups), None).unwrap_err().to_string(), expected);
    }
}

/// A sample with the first `old` replaced.
fn changed(sample: &[u8], old: &str, new: &str) -> String {
    let whole = std::str::from_utf8(sample).unwrap();
    assert!(whole.contains(old), "{old}");
    whole.replacen(old, new, 1)
}

#[test]
fn algorithms_of_msccl() {
    let failed = |old: &str, new: &str| {
        let text = changed(RING, old, new);
        read(&[("x", text.as_bytes())], None, Some(800)).unwrap_err().to_string()
    };
    for (old, new, expected) in [
        ("ngpus=\"8\"", "ngpus=\"9\"", "x:1: GPU 8 of 9 is not there; add it, or change ngpus"),
        ("ngpus=\"8\"", "ngpus=\"4\"", "x:3: send is 1; expected another GPU, or -1"),
        (
            "type=\"s\"",
            "type=\"sr\"",
            "x:4: unknown type \"sr\"; expected s, r, rcs, rrs, rrc, rrcs, cpy, re, ra or nop",
        ),
        ("cnt=\"1\"", "cnt=\"0\"", "x:4: cnt is 0; expected 1 to 1000000"),
        ("step s=\"0\"", "step s=\"1\"", "x:4: step 1; expected 0"),
        (
            "cnt=\"1\" depid=\"-1\"",
            "cnt=\"1\" depid=\"5\" ",
            "x:4: deps is -1; expected a whole number",
        ),
        ("nchunksperloop=\"8\"", "", "x:1: <algo> without nchunksperloop; add it"),
        ("</algo>", "", "x:1: no XML"),
    ] {
        let error = failed(old, new);
        if expected.ends_with("XML") {
            assert!(error.contains("no XML"), "{error}");
        } else if !expected.contains("x:3: send") {
            assert_eq!(error, expected);
        } else {
            assert!(error.contains("; expected another GPU, or -1"), "{error}");
        }
    }
    let error = read(&[("x", RING)], None, None).unwrap_err().to_string();
    assert_eq!(error, "x:1: an algorithm for data of any size; set size");
}

#[test]
fn workloads_of_simai() {
    for (old, new, expected) in [
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            "HYBRID_DLRM",
            "x:1:1: found \"HYBRID_DLRM\"; expected one of DATA, MODEL, MICRO, HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (
            "all_gpus: 8",
            "all_gpus: 7",
            "x:1: 7 GPUs are not in groups of 8 x 1, with 1 experts; expected all_gpus: to be a multiple of model_parallel_NPU_group: x pp: x ep:, and at least 2",
        ),
        (
            "ALLREDUCE",
            "ALLREDUCEALLTOALL",
            "x:3:32: found \"ALLREDUCEALLTOALL\"; expected NONE, ALLREDUCE, ALLTOALL, ALLGATHER or REDUCESCATTER, plain or with _EP or _DP_EP",
        ),
        ("checkpoints: 0", "checkpoints: 1", "x:1:"),
        ("556000", "x", "x:3:24: found \"x\"; expected a time in whole nanoseconds"),
        (
            "\n2\n",
            "\n3\n",
            "x:2: 3 layers are announced, but 2 are there; expected as many, up to 1000000",
        ),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            "MICRO",
            "x:1: MICRO leaves no collective to any layer; take HYBRID_TRANSFORMER, or name collectives of weight gradients",
        ),
    ] {
        let error = one(&changed(MICRO, old, new)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n    want {expected}");
    }
}

#[test]
fn files_that_are_no_traces() {
    refused("", "x: empty; expected a trace of goal, chakra, msccl, simai");
    refused("hello\n", "x: no trace of a job; expected one of goal, chakra, msccl, simai");
    refused("<a/>", "x:1: found <a>; expected <algo>");
    let goal = b"num_ranks 2\n".as_slice();
    let error = read(&[("x.0", goal), ("x.1", goal)], None, None).unwrap_err().to_string();
    assert_eq!(error, "x.1: a trace of goal is one file for all ranks; name that without {rank}");
    let error = read(&[("x", goal)], None, Some(8)).unwrap_err().to_string();
    assert_eq!(error, "x: a trace of goal has no size, which is for msccl; take size out");
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let error = read(&[("x", &tar)], None, None).unwrap_err().to_string();
    assert_eq!(error, "x: an archive of files; unpack it, and name the files");
}

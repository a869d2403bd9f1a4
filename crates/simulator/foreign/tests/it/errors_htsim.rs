//! Every mistake in a file gets one line: the place, what is there, what is expected. htsim's
//! files.

use incast_foreign::{self as foreign, Format};

use super::{CHAIN, LEAF_SPINE, THREE_TIERS, check, failed_import as import};

#[test]
fn topologies_of_htsim_that_do_not_add_up() {
    check(
        LEAF_SPINE,
        |text| foreign::graph(Format::Htsim, "t", text),
        &[
            (
                "bundle 2",
                "bundle 81",
                "t:16: bundles of 81 links of 100 Gb/s are more than 8Tbps, the most that one link \
                 has here",
            ),
            ("Nodes 8\n", "", "t:21: found the end of the file; expected Nodes, which is missing"),
            ("Tiers 2", "Tiers 4", "t:3:7: found \"4\"; expected 2 or 3 tiers"),
            ("Tiers 2", "Tiers 3", "t:16: tier 1 has no radix_up; add it"),
            ("Tier 0\n", "Tier 3\n", "t:6:6: found \"3\"; expected tier 0, 1 or 2"),
            ("tier 1\n", "tier 0\n", "t:16:6: tier 0 is there twice"),
            ("Podsize 8", "Podsize 4", "t:6: two tiers are one pod: Podsize is 4, but Nodes 8"),
            ("Podsize 8", "Podsize 3", "t:6: 8 nodes are not a whole number of pods of 3 hosts"),
            (
                "Podsize 8",
                "Hosts 8",
                "t:4:1: found \"Hosts\"; expected Nodes, Tiers, Podsize or Tier",
            ),
            (
                "Radix_Down 4",
                "Radix_Down 3",
                "t:6: pods of 8 hosts are not a whole number of ToR switches of 3",
            ),
            ("Radix_Down 4", "Radix_Down 4\nRadix_Down 4", "t:9:1: Radix_Down is there twice"),
            ("Radix_Up 2", "Radix_Up 1", "t:6: 1 links up are not a whole number of bundles of 2"),
            ("Radix_Up 2\n", "", "t:6: tier 0 has no radix_up; add it"),
            (
                "Oversubscribed 2",
                "Oversubscribed 1",
                "t:6: tier 0 has 400 Gb/s down and 200 Gb/s up, which is not over-subscribed by 1; \
                 change the radix, the \
          speed or Oversubscribed",
            ),
            (
                "Oversubscribed 2",
                "Oversubscribed 0",
                "t:12:16: found \"0\"; expected a number above zero",
            ),
            ("Oversubscribed 2", "Bundle 2", "t:6: hosts have one link here, not a bundle of 2"),
            (
                "radix_down 4",
                "radix_down 2",
                "t:16: 2 ToR switches in each pod, in bundles of 2, need Radix_Down 4, not 2",
            ),
            (
                "radix_down 4",
                "radix_down 4\nradix_up 1",
                "t:16: tier 1 is the top and has no links up; take Radix_Up out",
            ),
            (
                "bundle 2",
                "bundles 2",
                "t:21:1: found \"bundles\"; expected one of downlink_speed_gbps, \
                 downlink_latency_ns, radix_down, radix_up, \
          switch_latency_ns, oversubscribed, bundle, queue_up, queue_down",
            ),
        ],
    );
    check(
        THREE_TIERS,
        |text| foreign::graph(Format::Htsim, "t", text),
        &[
            (
                "Radix_Down 4",
                "Radix_Down 8",
                "t:14: 4 pods, in bundles of 1, need Radix_Down 4, not 8",
            ),
            (
                "Tier 2\nDownlink_speed_Gbps 200\nRadix_Down 4\nDownlink_Latency_ns 5000\n",
                "",
                "t:13: found the end of the file; expected Tier 2, which is missing",
            ),
            ("Tiers 3", "Tiers 2", "t:14: tier 2 of 2 tiers; they count from 0"),
        ],
    );
}

#[test]
fn matrices_of_htsim_that_do_not_add_up() {
    check(
        CHAIN,
        |text| foreign::HtsimMatrix::parse("m", text)?.flows("m"),
        &[
            (
                "Nodes 16\n",
                "",
                "m:12: found the end of the file; expected Nodes in the header, which is missing",
            ),
            (
                "Nodes 16",
                "Nodes 9",
                "m:9:4: found \"9\"; expected the number of a node, from 0 to 8",
            ),
            (
                "Nodes 16",
                "Hosts 16",
                "m:1:1: found \"Hosts\"; expected Nodes, Connections, Triggers, Failures or a \
                 connection SRC->DST",
            ),
            (
                "Connections 5",
                "Connections 6",
                "m:2:13: Connections 6 are announced, but 5 are there",
            ),
            (
                "Triggers 2\n",
                "",
                "m:12: found the end of the file; expected Triggers 2 in the header, which is \
                 missing",
            ),
            ("Failures 1", "Failures 0", "m:4:10: Failures 0 are announced, but 1 are there"),
            ("0->5", "5->5", "m:6:1: node 5 sends to itself"),
            ("id 1 start 0", "id 1", "m:6: neither a start nor a trigger; add one"),
            ("id 1 start 0", "id 1 start 0 trigger 2", "m:6: a start and a trigger; take one out"),
            ("id 1 start 0", "id 0 start 0", "m:6:9: found \"0\"; expected a number from 1"),
            ("id 1 start 0", "id 2 start 0", "m:7: connection 2 is there already, in line 6"),
            (
                "id 1 start 0",
                "id 1 start soon",
                "m:6:17: found \"soon\"; expected a start in picoseconds, up to 1000 seconds",
            ),
            (
                "start 2500000 size 1",
                "start 2500000",
                "m:10: no size, which htsim leaves undefined; give it one, or 0 for a connection \
                 without end",
            ),
            ("start 2500000 size 1", "start 2500000 size", "m:10:20: size has no value"),
            (
                "start 2500000 size 1",
                "start 2500000 weight 1",
                "m:10:20: found \"weight\"; expected id, start, trigger, size, send_done_trigger, \
                 recv_done_trigger or prio",
            ),
            (
                "trigger 1 size 2000000",
                "trigger 1 addon size 2000000",
                "m:7:21: addon has no counterpart in a scenario, whose flows run once; take it out",
            ),
        ],
    );
}

#[test]
fn triggers_and_failures_of_htsim_that_do_not_add_up() {
    check(
        CHAIN,
        |text| foreign::HtsimMatrix::parse("m", text)?.flows("m"),
        &[
            (
                "trigger 2 size",
                "trigger 3 size",
                "m:9: trigger 3 is not there; add a line such as \"trigger id 3 oneshot\"",
            ),
            (
                "recv_done_trigger 1",
                "recv_done_trigger 3",
                "m:6: trigger 3 is not there; add a line such as \"trigger id 3 oneshot\"",
            ),
            ("recv_done_trigger 1", "", "m:7: it waits for trigger 1, which no connection fires"),
            (
                "recv_done_trigger 1",
                "send_done_trigger 1",
                "m:7: it starts at node 5 when trigger 1 fires, which connection 1 (0->5, line 6) \
                 does at node 0; a host \
          starts a flow only for what it has sent or received itself",
            ),
            (
                "0->5 id 1 start 0 size 1000000 recv_done_trigger 1",
                "0->5 id 1 start 0 size 1000000 recv_done_trigger 1 send_done_trigger 2",
                "m:9: trigger 2 fires for connections that are sent and for others that are \
                 received; a flow waits for one \
          or the other",
            ),
            (
                "trigger id 1 oneshot",
                "trigger oneshot",
                "m:11: a trigger without an id; add one, such as id 1",
            ),
            (
                "trigger id 1 oneshot",
                "trigger id 1",
                "m:11: a trigger without a kind; add oneshot, multishot or barrier",
            ),
            ("trigger id 1 oneshot", "trigger id 2 oneshot", "m:12: trigger 2 is there twice"),
            (
                "barrier count 2",
                "barrier",
                "m:12: a barrier without a count; add one, such as count 2",
            ),
            (
                "barrier count 2",
                "barrier count 3",
                "m:9: the barrier 2 in line 12 is passed at 3, but only 2 connections reach it",
            ),
            (
                "switch_type AGG",
                "switch_type TOR",
                "m:13:21: a failure at a TOR switch; htsim knows failures of the links up of AGG \
                 switches only",
            ),
            ("switch_type AGG ", "", "m:13: a failure needs switch_type, switch_id and link_id"),
        ],
    );
}

#[test]
fn triggers_that_a_scenario_cannot_say() {
    let matrix = |connections: &str, trigger: &str| {
        let count = connections.lines().count();
        let text = format!(
            "Nodes 4\nConnections {count}\nTriggers 1\n{connections}\ntrigger id 1 {trigger}\n"
        );
        foreign::flows(Format::Htsim, "m", &text).unwrap_err().to_string()
    };
    let three = "1->0 start 0 size 1 recv_done_trigger 1\n2->0 start 0 size 1 recv_done_trigger 1\n\
                 3->0 start 0 size 1 recv_done_trigger 1\n0->1 trigger 1 size 1";
    assert_eq!(
        matrix(three, "barrier count 2"),
        "m:7: the barrier 1 in line 8 is passed by any 2 of 3 connections; a flow waits for one of \
         them or for all"
    );
    let two =
        "1->0 start 0 size 1 recv_done_trigger 1\n0->1 trigger 1 size 1\n0->2 trigger 1 size 1";
    assert_eq!(
        matrix(two, "multishot"),
        "m:5: trigger 1 in line 7 is multishot and starts one more flow each time; with several \
         flows that wait for \
         it a scenario cannot say which is next"
    );
    let ring = "0->1 trigger 1 size 1 send_done_trigger 1";
    assert_eq!(
        matrix(ring, "oneshot"),
        "m:4: it never starts: what it waits for never ends, or waits for it"
    );
}

#[test]
fn flows_that_need_too_long_say_what_to_lower() {
    let matrix = "Nodes 2\nConnections 1\n0->1 start 0 size 1000000000000000\n";
    let error = import(&[("long.cm", matrix)]);
    assert!(error.starts_with("the flows need more than 1000 s"), "{error}");
    assert!(error.ends_with("; lower their sizes, or set them to 0, which is without end"));
    let endless = matrix.replace("1000000000000000", "0");
    foreign::import(&[("long.cm", &endless)], &foreign::Options::default()).unwrap();
}

#[test]
fn a_failed_link_needs_its_network() {
    let error = foreign::flows(Format::Htsim, "m", CHAIN).unwrap_err().to_string();
    assert_eq!(
        error,
        "m:13: a failed link belongs to the network; write it as an [[event]], or import the \
         matrix together with \
         its topology"
    );
}

#[test]
fn matrices_for_another_network() {
    assert_eq!(
        import(&[("chain.cm", CHAIN), ("leaf-spine.topo", LEAF_SPINE)]),
        "chain.cm is for 16 nodes, but leaf-spine.topo has 8; change Nodes in one of them"
    );
    let odd = CHAIN.replace("Nodes 16", "Nodes 17");
    assert_eq!(
        import(&[("chain.cm", &odd)]),
        "chain.cm has 17 nodes, which is no fat-tree (k^3/4 for an even k: 2, 16, 54, 128, ...); \
         give its topology \
         file (.topo) as well"
    );
    assert_eq!(
        import(&[("chain.cm", CHAIN), ("three-tiers.topo", THREE_TIERS)]),
        "chain.cm:13: aggregation switch 3 has no link up 1; switches and their links count from 0"
    );
}

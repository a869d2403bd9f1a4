use std::collections::BTreeSet;

use super::*;
use crate::Document;
use crate::topology;
use incast_cc::Bytes;
use incast_plan::Watch;
use incast_plan::flows::{Operation, Treatment};

/// The plan of such traffic on a star of three groups: `a` of six hosts, `b` of four, `c` of nine.
fn planned(traffic: &str) -> Plan {
    planned_with(traffic, 1)
}

fn planned_with(traffic: &str, seed: u64) -> Plan {
    let group = |name: &str, count: u32| {
        format!("{{ name = \"{name}\", count = {count}, rate = \"100Gbps\", delay = \"1us\" }},\n")
    };
    let text = format!(
        "title = \"a plan\"\nrun = {{ duration = \"100us\", schemes = [\"rtcp\"] }}\n\
         [network.star]\nhosts = [\n{}{}{}]\n\
         [[class]]\nname = \"bulk\"\n[[class]]\nname = \"urgent\"\n\
         [[traffic]]\n{traffic}",
        group("a", 6),
        group("b", 4),
        group("c", 9)
    );
    let document = Document::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    plan(document.scenario(), &topology(document.scenario()), seed, &Watch::nobody())
}

/// The pairs of sender and receiver of a permutation.
fn permutation(from: &str, to: &str, seed: u64) -> BTreeSet<(u32, u32)> {
    let traffic = format!(
        "from = \"{from}\"\nto = \"{to}\"\n\
         kind = \"poisson\"\nload = 0.5\nsizes = {{ fixed = \"500B\" }}\ndestinations = \"permutation\""
    );
    let plan = planned_with(&traffic, seed);
    assert!(plan.flows.len() > 100);
    plan.flows.iter().map(|flow| (flow.source, flow.destination)).collect()
}

#[test]
fn a_part_of_a_group_is_its_hosts_of_these_numbers() {
    let plan = planned("kind = \"connections\"\nfrom = \"b[1-2]\"\nto = \"c[7-8]\"");
    let pairs: Vec<_> = plan.flows.iter().map(|flow| (flow.source, flow.destination)).collect();
    // Six hosts come before the four of `b`, and ten before the nine of `c`.
    assert_eq!(pairs, [(7, 17), (7, 18), (8, 17), (8, 18)]);
}

#[test]
fn a_permutation_gives_each_source_one_and_different_ones_while_there_are_enough() {
    for (from, to, sources, different) in
        [("a", "a", 6, 6), ("a", "c", 6, 6), ("a", "b", 6, 4), ("c", "c", 9, 9)]
    {
        let pairs = permutation(from, to, 1);
        assert_eq!(pairs.len(), sources, "{from} to {to}: {pairs:?}");
        assert!(pairs.iter().all(|(source, destination)| source != destination));
        let drawn: BTreeSet<_> = pairs.iter().map(|pair| pair.1).collect();
        assert_eq!(drawn.len(), different, "{from} to {to}: {pairs:?}");
    }
    // All send to one host, which has no other destination than itself.
    assert_eq!(permutation("a", "a0", 1), (1..6).map(|source| (source, 0)).collect());
}

#[test]
fn a_permutation_leaves_no_source_out_that_has_another_host() {
    for seed in 1..=20 {
        for (to, different) in [("a[2-3]", 2), ("a[1-5]", 5)] {
            let pairs = permutation("a", to, seed);
            assert_eq!(pairs.len(), 6, "{to}, seed {seed}: {pairs:?}");
            assert!(pairs.iter().all(|(source, destination)| source != destination));
            let drawn: BTreeSet<_> = pairs.iter().map(|pair| pair.1).collect();
            assert_eq!(drawn.len(), different, "{to}, seed {seed}: {pairs:?}");
        }
    }
}

#[test]
fn requests_of_a_permutation_have_one_server_for_each_client() {
    let pairs = |to: &str, seed| -> Vec<_> {
        let traffic = format!(
            "from = \"a\"\nto = \"{to}\"\nconnections = 2\n\
             kind = \"requests\"\nload = 0.5\nsizes = {{ fixed = \"64KB\" }}\ndestinations = \"permutation\""
        );
        let plan = planned_with(&traffic, seed);
        plan.flows.iter().map(|flow| (flow.source, flow.destination)).collect()
    };
    // Six clients and nine servers; each client has both of its connections to one server.
    let (flows, again) = (pairs("c", 1), pairs("c", 1));
    assert_eq!(flows, again);
    assert_eq!(flows.len(), 12, "{flows:?}");
    assert!(flows.chunks(2).all(|pair| pair[0] == pair[1]), "{flows:?}");
    let servers: BTreeSet<_> = flows.iter().map(|flow| flow.1).collect();
    assert_eq!(servers.len(), 6, "{flows:?}");
    assert_ne!(flows, pairs("c", 2), "another seed");
    // A host does not ask itself; a host that is alone asks nobody.
    assert!(pairs("a", 3).iter().all(|(client, server)| client != server));
    assert_eq!(pairs("a0", 1).len(), 10);
}

#[test]
fn a_host_that_has_nobody_leaves_its_rack_their_peers() {
    let plan = planned(
        "from = \"a\"\nto = \"a0\"\n\
         kind = \"poisson\"\nload = 0.2\nsizes = { fixed = \"500B\" }\ndestinations = \"farthest\"",
    );
    let pairs: BTreeSet<_> =
        plan.flows.iter().map(|flow| (flow.source, flow.destination)).collect();
    assert_eq!(pairs, (1..6).map(|source| (source, 0)).collect());
}

#[test]
fn class_and_weight_go_by_size() {
    let plan = planned(
        "from = \"a\"\nclass = \"bulk\"\nweight = 2\n\
         urgent = { below = \"30KB\", class = \"urgent\", weight = 7 }\n\
         kind = \"poisson\"\nload = 0.9\nsizes = { uniform = [\"29KB\", \"31KB\"] }",
    );
    let mut seen = BTreeSet::new();
    for post in &plan.posts {
        let flow = &plan.flows[post.flow as usize];
        let small = post.bytes.is_some_and(|bytes| bytes < Bytes::from_kb(30));
        let Treatment { class, weight, .. } = plan.flows.treatment(flow);
        assert_eq!((class, weight), if small { (1, 7) } else { (0, 2) });
        seen.insert(small);
    }
    assert_eq!(seen.len(), 2, "both kinds");
}

#[test]
fn a_flow_of_a_list_has_a_class_and_a_weight_of_its_own() {
    let plan = planned(
        "kind = \"flows\"\nweight = 3\nlist = [{ from = \"a0\", to = \"b0\", size = \"1KB\" },\n\
         { from = \"a1\", to = \"b0\", size = \"1KB\", class = \"urgent\", weight = 9 }]",
    );
    let treatments = plan.flows.iter().map(|flow| plan.flows.treatment(flow));
    let treatments: Vec<_> = treatments.map(|of| (of.class, of.weight)).collect();
    assert_eq!(treatments, [(0, 3), (1, 9)]);
}

#[test]
fn connections_of_clients_are_apart_by_direction_and_urgency() {
    let plan = planned(
        "from = \"a0\"\nto = \"b\"\nconnections = 2\nurgent = { below = \"30KB\", weight = 7 }\n\
         kind = \"requests\"\nreads = 0.5\nsizes = \"solar\"",
    );
    // For each of four servers two connections: reads and writes, common and urgent ones.
    assert_eq!(plan.flows.len(), 2 * 4 * 2 * 2);
    let urgent = plan.flows.iter().filter(|flow| plan.flows.treatment(flow).weight == 7).count();
    let reads = plan.flows.iter().filter(|flow| flow.operation == Operation::Read).count();
    assert_eq!((urgent, reads), (16, 16));
}

#[test]
fn a_flow_that_is_listed_for_later_leaves_the_labels_of_others_as_they_are() {
    let labels = |later: &str| {
        let plan = planned(&format!(
            "kind = \"flows\"\nlist = [{later}\n\
             {{ from = \"a0\", to = \"b0\", size = \"1KB\", start = \"20us\", id = 1 }},\n\
             {{ from = \"a0\", to = \"b0\", size = \"1KB\", start = \"10us\" }},\n{later}\
             {{ from = \"b0\", to = \"a0\", size = \"1KB\", after = {{ all = [1] }} }},\n\
             {{ from = \"b0\", to = \"a0\", size = \"1KB\", after = {{ all = [1] }} }},\n{later}]"
        ));
        let of = |flow| {
            plan.flows.all_directions(flow).map(|direction| direction.label).collect::<Vec<_>>()
        };
        (0..u32::try_from(plan.flows.len()).unwrap()).map(of).collect::<Vec<_>>()
    };
    let few = labels("");
    let many = labels("{ from = \"a0\", to = \"b0\", size = \"1KB\", start = \"50us\" },");
    assert_eq!((few.len(), many.len()), (4, 7));
    assert_eq!([&many[1], &many[2], &many[4], &many[5]], [&few[0], &few[1], &few[2], &few[3]]);
    assert_eq!(many.iter().collect::<BTreeSet<_>>().len(), 7, "each has its own");
}

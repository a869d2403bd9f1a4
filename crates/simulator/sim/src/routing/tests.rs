use super::*;
use incast_plan::Watch;
use incast_scenario::Document;
use incast_scenario::topology;

struct Net {
    topology: Topology,
    ports: Ports,
    routing: Routing,
    kind: RoutingKind,
}

impl Net {
    fn of(network: &str) -> Self {
        let text = format!(
            "title = \"a network\"\nrun = {{ duration = \"10ms\", schemes = [\"timely\"] }}\n{network}\n\
             [[traffic]]\nkind = \"connections\"\nfrom = \"h0\"\nto = \"h1\""
        );
        let document = Document::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
        let topology = topology(document.scenario());
        let ports = topology.ports();
        let routing = Routing::new(document.scenario(), &topology, &ports, 1, &Watch::nobody());
        let kind = document.scenario().routing.kind;
        Self { topology, ports, routing, kind }
    }

    fn fat_tree(k: u32) -> Self {
        Self::of(&format!(
            "[network.fat-tree]\nk = {k}\n\
             hosts = {{ name = \"h\", rate = \"10Gbps\", delay = \"1us\" }}\n\
             link = {{ rate = \"10Gbps\", delay = \"1us\" }}"
        ))
    }

    fn path(&self, from: u32, to: u32, connection: u32) -> Vec<(usize, usize)> {
        let label = derive(0, "test", &[from, to, connection].map(u64::from)) >> 8;
        let direction = Direction { from, to, label, routing: self.kind };
        self.routing.path(&self.topology, &self.ports, direction)
    }

    /// The names of the switches on a path.
    fn switches(&self, from: u32, to: u32, connection: u32) -> Vec<&str> {
        let path = self.path(from, to, connection);
        path[1..]
            .iter()
            .map(|&(cable, end)| self.topology.name(self.topology.cables[cable].ends[end]))
            .collect()
    }

    fn hosts(&self) -> u32 {
        u32::try_from(self.topology.hosts.len()).unwrap()
    }
}

/// The port of a switch towards a host.
fn port_of(routes: &Routes, host: u32) -> Option<u16> {
    routes.port_of(host, &mut Path::labelled(0))
}

/// Hosts and switches in a row, a - s0 - s1 - b, with a detour s0 - s2 - s1.
const DETOUR: &str = r#"
    [network.graph]
    hosts = [{ name = "h", count = 2 }]
    switches = [{ name = "s", count = 3 }]
    links = [
        { ends = ["h0", "s0"], rate = "10Gbps", delay = "1us" },
        { ends = ["s0", "s2"], rate = "10Gbps", delay = "1us" },
        { ends = ["s2", "s1"], rate = "10Gbps", delay = "1us" },
        { ends = ["s0", "s1"], rate = "10Gbps", delay = "1us" },
        { ends = ["s1", "h1"], rate = "10Gbps", delay = "1us" },
    ]
"#;

#[test]
fn routes_are_shortest_paths() {
    let net = Net::of(DETOUR);
    // Cables 0, 3 and 4, the last one away from s1, its first end.
    assert_eq!(net.path(0, 1, 0), [(0, 0), (3, 0), (4, 0)]);
    assert_eq!(net.path(1, 0, 0), [(4, 1), (3, 1), (0, 1)]);
    // s0: ports to h0, s2, s1; s1: ports to s2, s0, h1; s2: ports to s0, s1.
    let ports = |host| {
        net.routing.switches.iter().map(|routes| port_of(routes, host).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((ports(0), ports(1)), (vec![0, 1, 0], vec![2, 2, 1]));
}

#[test]
fn a_given_path_is_taken_there_and_not_back() {
    let net = Net::of(&format!(
        "{DETOUR}\n[[routing.path]]\nfrom = \"h0\"\nto = \"h1\"\nvia = [\"s0\", \"s2\", \"s1\"]"
    ));
    assert_eq!(net.switches(0, 1, 0), ["s0", "s2", "s1"]);
    assert_eq!(net.switches(1, 0, 0), ["s1", "s0"]);
}

#[test]
fn routes_avoid_what_is_down_from_convergence_to_convergence() {
    let event = |at: &str, state: &str| {
        format!("[[event]]\nat = \"{at}\"\nlink = [\"s0\", \"s1\"]\nstate = \"{state}\"\n")
    };
    let events = event("1ms", "down") + &event("3ms", "up");
    let mut net = Net::of(&format!("{DETOUR}\n[routing]\nconvergence = \"200us\"\n{events}"));
    let changes = net.routing.changes.clone();
    // s0 and s1 take the detour; s2, whose two links are up, gets no new table.
    let whom: Vec<_> = changes.iter().map(|change| (change.at.as_ps(), change.switch)).collect();
    let (down, up) = (1_200_000_000, 3_200_000_000);
    assert_eq!(whom, [(down, 0), (down, 1), (up, 0), (up, 1)]);
    for RouteChange { switch, table, .. } in &changes[..2] {
        net.routing.switches[*switch as usize].replace(table.clone());
    }
    assert_eq!(net.switches(0, 1, 0), ["s0", "s2", "s1"]);
    for RouteChange { switch, table, .. } in &changes[2..] {
        net.routing.switches[*switch as usize].replace(table.clone());
    }
    assert_eq!(net.switches(0, 1, 0), ["s0", "s1"]);
}

#[test]
fn no_way_leads_to_what_is_cut_off() {
    let down = |a: &str, b: &str| {
        format!("[[event]]\nat = \"1ms\"\nlink = [\"{a}\", \"{b}\"]\nstate = \"down\"\n")
    };
    let mut net = Net::of(&format!("{DETOUR}\n{}{}", down("s0", "s1"), down("s2", "s0")));
    for RouteChange { switch, table, .. } in net.routing.changes.clone() {
        net.routing.switches[switch as usize].replace(table);
    }
    let routes = &net.routing.switches;
    assert_eq!((port_of(&routes[0], 1), port_of(&routes[1], 0)), (None, None));
    assert_eq!((port_of(&routes[0], 0), port_of(&routes[2], 1)), (Some(0), Some(1)));
}

#[test]
fn every_pair_of_a_fat_tree_is_as_far_apart_as_its_pods_say() {
    for k in [4, 6, 8] {
        let net = Net::fat_tree(k);
        let (per_edge, per_pod) = (k / 2, k * k / 4);
        for (from, to) in (0..net.hosts()).flat_map(|a| (0..net.hosts()).map(move |b| (a, b))) {
            if from == to {
                continue;
            }
            let links = match () {
                () if from / per_edge == to / per_edge => 2,
                () if from / per_pod == to / per_pod => 4,
                () => 6,
            };
            for connection in 0..3 {
                let path = net.path(from, to, connection);
                assert_eq!(path.len(), links, "k = {k}, {from} to {to}");
                let (cable, end) = path[links - 1];
                assert_eq!(net.topology.far_end((cable, end)), Node::Host(to));
            }
        }
    }
}

/// The chi-square of the connections on the uplinks of the aggregation switches, counted pod by
/// pod, against equal numbers. Every host has connections to the host half the network away.
fn chi_square_of_core_uplinks(net: &Net, connections: u32) -> f64 {
    let mut counts = BTreeMap::new();
    let hosts = net.hosts();
    for from in 0..hosts {
        for connection in 0..connections {
            let path = net.path(from, (from + hosts / 2) % hosts, connection);
            // From the host, from its edge switch, from the aggregation switch: the third link
            // leads up to the core.
            *counts.entry(path[2]).or_insert(0_u32) += 1;
        }
    }
    // There are as many uplinks in this stage as hosts.
    let expected = f64::from(connections);
    let unused = f64::from(hosts) - counts.len() as f64;
    let used = counts.values().map(|&count| (f64::from(count) - expected).powi(2) / expected);
    used.sum::<f64>() + unused * expected
}

/// The chi-square that 8 pods with 16 uplinks each exceed once in a thousand times: 8 x 15 = 120
/// degrees of freedom.
const CHI_SQUARE_120: f64 = 173.6;

#[test]
fn connections_spread_evenly_over_the_core() {
    let chi_square = chi_square_of_core_uplinks(&Net::fat_tree(8), 125);
    assert!(chi_square < CHI_SQUARE_120, "{chi_square}");
    // Too even is as wrong: chi-square is below 77.8 once in a thousand times.
    assert!(chi_square > 77.8, "{chi_square}");
}

#[test]
fn switches_with_one_seed_would_polarise() {
    let mut net = Net::fat_tree(8);
    net.routing.switches.iter_mut().for_each(|routes| routes.reseed(7));
    // An aggregation switch draws as the edge switch did: a quarter of the uplinks has all
    // connections, four times its share. Chi-square is 32 x 375^2 / 125 + 96 x 125 = 48,000, plus
    // the part due to chance.
    let chi_square = chi_square_of_core_uplinks(&net, 125);
    assert!((47_000.0..49_500.0).contains(&chi_square), "{chi_square}");
}

#[test]
fn tables_of_a_large_fat_tree_are_small() {
    let net = Net::fat_tree(16);
    for (routes, &layer) in net.routing.switches.iter().zip(&net.topology.layers) {
        // 128 edges: all ports up; or the pod's ports, all ports up; or a port for each pod. A
        // switch has no ports towards itself.
        let sets = match layer.as_str() {
            "edge" => 2,
            "aggregation" => 8 + 1,
            _ => 16,
        };
        assert_eq!(routes.sizes(), (128, sets), "{layer:?}");
    }
}

/// 9 groups of 4 routers, with 2 hosts each; any two groups have one link.
const DRAGONFLY: &str = r#"
    [network.dragonfly]
    groups = 9
    routers = 4
    global_links = 2
    hosts = { name = "h", count = 2, rate = "10Gbps", delay = "1us" }
    local = { rate = "10Gbps", delay = "1us" }
    global = { rate = "10Gbps", delay = "1us" }
"#;

/// The groups of routers on a path, each stay once.
fn groups_on(net: &Net, from: u32, to: u32, connection: u32) -> Vec<u32> {
    let switches = net.switches(from, to, connection);
    let number = |name: &str| name.trim_start_matches("router").parse::<u32>().unwrap();
    let mut groups: Vec<_> = switches.into_iter().map(|name| number(name) / 4).collect();
    groups.dedup();
    groups
}

#[test]
fn minimal_routing_crosses_one_global_link_of_a_dragonfly() {
    let net = Net::of(DRAGONFLY);
    for (from, to) in (0..72).flat_map(|from| (0..72).map(move |to| (from, to))) {
        if from != to {
            let own = groups_on(&net, from, to, 0);
            let expected = if from / 8 == to / 8 { vec![from / 8] } else { vec![from / 8, to / 8] };
            assert_eq!(own, expected);
            assert!(net.path(from, to, 0).len() <= 2 + 3);
        }
    }
}

#[test]
fn valiant_routing_goes_through_each_group_equally_often() {
    let net = Net::of(&format!("{DRAGONFLY}\n[routing]\nkind = \"valiant\""));
    let mut through = [0_u32; 9];
    for connection in 0..9_000 {
        let groups = groups_on(&net, 0, 9, connection);
        // The group of the source or of the destination leaves the shortest way.
        let between = match groups[..] {
            [0, 1] => 0,
            [0, between, 1] => between as usize,
            ref other => panic!("{other:?}"),
        };
        through[between] += 1;
        let links = net.path(0, 9, connection).len();
        // Two links of hosts; local, global, local, global, local.
        assert!(links <= 2 + 5, "{links}");
    }
    // 1,000 for each group, and twice that for the shortest way; four standard deviations are 119
    // and 158.
    assert!(through[0].abs_diff(2_000) < 158 && through[1] == 0, "{through:?}");
    assert!(through[2..].iter().all(|count| count.abs_diff(1_000) < 119), "{through:?}");
    // Hosts of one switch need no other.
    assert_eq!(net.switches(0, 1, 0), ["router0"]);
}

#[test]
fn valiant_routing_goes_through_a_switch_with_hosts_in_any_network() {
    let leaves = "[network.leaf-spine]\nleaves = 4\nspines = 2\n\
                  hosts = { name = \"h\", count = 2, rate = \"10Gbps\", delay = \"1us\" }\n\
                  uplink = { rate = \"10Gbps\", delay = \"1us\" }\n\
                  [routing]\nkind = \"valiant\"";
    let net = Net::of(leaves);
    let mut lengths = [0_u32; 6];
    for connection in 0..1_000 {
        let switches = net.switches(0, 7, connection);
        lengths[switches.len()] += 1;
        assert!(switches[0] == "leaf0" && switches.last() == Some(&"leaf3"));
    }
    // Half of the draws fall on one of the two leaves at the ends.
    assert!(lengths[3] + lengths[5] == 1_000 && lengths[3].abs_diff(500) < 64, "{lengths:?}");
    // A given path wins.
    let given =
        "\n[[routing.path]]\nfrom = \"h0\"\nto = \"h7\"\nvia = [\"leaf0\", \"spine1\", \"leaf3\"]";
    let net = Net::of(&format!("{leaves}{given}"));
    assert!((0..50).all(|i| net.switches(0, 7, i) == ["leaf0", "spine1", "leaf3"]));
}

#[test]
fn a_group_that_is_cut_off_is_left_out() {
    // All 8 global links of group 2 fail.
    let net = Net::of(DRAGONFLY);
    let cut = net.topology.cables.iter().filter_map(|cable| {
        let [Node::Switch(a), Node::Switch(b)] = cable.ends else { return None };
        let cut = (a / 4 == 2) != (b / 4 == 2);
        cut.then(|| cable.ends.map(|end| net.topology.name(end)))
    });
    let down = |[a, b]: [&str; 2]| {
        format!("[[event]]\nat = \"1ms\"\nlink = [\"{a}\", \"{b}\"]\nstate = \"down\"\n")
    };
    let events = cut.map(down).collect::<Vec<_>>().concat();
    let mut net = Net::of(&format!("{DRAGONFLY}\n[routing]\nkind = \"valiant\"\n{events}"));
    let before = (0..500).map(|i| groups_on(&net, 0, 9, i)).collect::<Vec<_>>();
    assert!(
        !net.routing.is_fixed(Direction { from: 0, to: 1, label: 0, routing: net.kind })
            && before.iter().any(|groups| groups.contains(&2))
    );
    for RouteChange { switch, table, .. } in net.routing.changes.clone() {
        net.routing.switches[switch as usize].replace(table);
    }
    for (i, before) in (0..).zip(before) {
        let after = groups_on(&net, 0, 9, i);
        // Connections that went through the group take the shortest way; others may have another
        // port.
        assert_eq!(after, if before.contains(&2) { vec![0, 1] } else { before });
    }
}

/// A ring of `switches` switches with a host each.
fn ring(switches: u32) -> String {
    let host =
        |i: u32| format!("{{ ends = [\"h{i}\", \"s{i}\"], rate = \"10Gbps\", delay = \"1us\" }},");
    let link = |i: u32| {
        let next = (i + 1) % switches;
        format!("{{ ends = [\"s{i}\", \"s{next}\"], rate = \"10Gbps\", delay = \"1us\" }},")
    };
    let links: Vec<_> = (0..switches).flat_map(|i| [host(i), link(i)]).collect();
    format!(
        "[network.graph]\nhosts = [{{ name = \"h\", count = {switches} }}]\n\
         switches = [{{ name = \"s\", count = {switches} }}]\nlinks = [\n{}\n]",
        links.join("\n")
    )
}

const TREES: &str = "[routing]\nkind = \"spanning-trees\"";

#[test]
fn a_ring_has_a_circle_that_trees_do_not_have() {
    let circle = |network: &str| {
        let net = Net::of(network);
        has_circle(&net.routing, &net.topology, &net.ports)
    };
    assert_eq!(circle(&ring(6)), Some(true));
    assert_eq!(circle(&format!("{}\n{TREES}", ring(6))), Some(false));
    // Three switches send to their neighbours alone, and nothing waits for another link.
    assert_eq!(circle(&ring(3)), Some(false));
}

#[test]
fn trees_of_random_networks_have_no_circle() {
    let mut random = Random::new(11);
    let (mut circles, mut several) = (0, 0);
    for _ in 0..60 {
        let switches = 4 + random.below(6);
        let mut net = ring(switches);
        for _ in 0..random.below(12) {
            let (a, b) = (random.below(switches), random.below(switches));
            let link = format!("{{ ends = [\"s{a}\", \"s{b}\"], rate");
            let back = format!("{{ ends = [\"s{b}\", \"s{a}\"], rate");
            if a != b && !net.contains(&link) && !net.contains(&back) {
                net = net.trim_end_matches(']').to_owned()
                    + &format!("{link} = \"10Gbps\", delay = \"1us\" }},\n]");
            }
        }
        let shortest = Net::of(&net);
        let found = has_circle(&shortest.routing, &shortest.topology, &shortest.ports);
        circles += u32::from(found == Some(true));
        let trees = Net::of(&format!("{net}\n{TREES}"));
        assert_eq!(has_circle(&trees.routing, &trees.topology, &trees.ports), Some(false), "{net}");
        several += u32::from(trees.routing.trees.len() > 1);
        // And each way arrives.
        for (from, to) in (0..switches).flat_map(|from| (0..switches).map(move |to| (from, to))) {
            let last = *trees.path(from, to, 0).last().unwrap();
            assert!(from == to || trees.topology.far_end(last) == Node::Host(to));
        }
    }
    assert!(circles > 20 && several > 5, "or it says little: {circles}, {several}");
}

#[test]
fn connections_are_spread_over_trees_and_stay_in_one() {
    let leaf_spine = "[network.leaf-spine]\nleaves = 4\nspines = 3\n\
         hosts = { name = \"h\", count = 1, rate = \"10Gbps\", delay = \"1us\" }\n\
         uplink = { rate = \"10Gbps\", delay = \"1us\" }";
    let net = Net::of(&format!("{leaf_spine}\n{TREES}"));
    let mut spines = BTreeMap::new();
    for connection in 0..300 {
        let switches = net.switches(0, 3, connection);
        assert_eq!(switches.len(), 3, "{switches:?}");
        *spines.entry(switches[1].to_owned()).or_insert(0_u32) += 1;
    }
    // 100 of 300, with a standard deviation of sqrt(300 * 1/3 * 2/3) = 8.
    assert!(spines.len() == 3 && spines.values().all(|count| count.abs_diff(100) < 33));
}

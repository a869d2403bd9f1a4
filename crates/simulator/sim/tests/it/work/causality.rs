//! The past of a run does not depend on its future: the length of the run, further traffic, links
//! that change.

use std::fmt::Write as _;

use incast_cc::registry::NAMES;
use incast_sim::{Report, Table, TraceConfig, Values};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{document, run_with};

/// A scenario in its parts, and how long its two runs last, in microseconds.
#[derive(Clone, Debug)]
struct Case {
    network: String,
    switch: &'static str,
    routing: &'static str,
    transport: &'static str,
    scheme: &'static str,
    traffic: Vec<&'static str>,
    short_us: u32,
    longer_us: u32,
    /// Further traffic of the longer run, which starts at the end of the short one.
    behind: Vec<&'static str>,
    change: Option<&'static str>,
    own: &'static str,
    seed: u64,
}

/// Networks with several paths and racks.
fn network() -> impl Strategy<Value = String> {
    let rates = || select(vec!["10Gbps", "25Gbps"]);
    let leaf_spine = (2..4_u32, 2..4_u32, rates(), rates()).prop_map(|(spines, each, host, up)| {
        format!(
            "[network.leaf-spine]\nleaves = 3\nspines = {spines}\n\
             hosts = {{ name = \"h\", count = {each}, rate = \"{host}\", delay = \"1us\" }}\n\
             uplink = {{ rate = \"{up}\", delay = \"700ns\" }}\n"
        )
    });
    let fat_tree = rates().prop_map(|rate| {
        format!(
            "[network.fat-tree]\nk = 4\nhosts = {{ name = \"h\", rate = \"{rate}\", delay = \"1us\" }}\n\
             link = {{ rate = \"10Gbps\", delay = \"500ns\" }}\n"
        )
    });
    prop_oneof![leaf_spine, fat_tree]
}

/// The transports, each of which any algorithm runs on.
const TRANSPORTS: [&str; 2] = ["kind = \"message\"", "kind = \"stream\""];

const SWITCHES: [&str; 6] = [
    "pfc = { enabled = true, xoff = \"20KB\" }",
    "queue_limit = \"30KB\"\necn_threshold = \"9KB\"",
    "queue_limit = \"60KB\"\naqm = { kind = \"red\", min = \"6KB\", max = \"30KB\" }",
    "queue_limit = \"30KB\"\necn_threshold = \"9KB\"\necn_at = \"departure\"",
    "telemetry = true",
    "queue_limit = \"30KB\"\ndiscipline = \"srpt\"",
];

const ROUTING: [&str; 4] =
    ["kind = \"ecmp\"", "kind = \"ecmp\"\nhash_seed = 3", "kind = \"spray\"", "kind = \"single\""];

/// Traffic from the start of a run, or from the end of the short one.
const TRAFFIC: [&str; 9] = [
    "kind = \"poisson\"\nfrom = \"h\"\nload = 0.4\nsizes = { fixed = \"9KB\" }",
    "kind = \"poisson\"\nfrom = \"h\"\noperation = \"read\"\nload = 0.3\nsizes = { uniform = [\"1KB\", \"40KB\"] }\ndestinations = \"permutation\"",
    "kind = \"incast\"\nfrom = \"h\"\nto = \"h0\"\nload = 0.3\nsenders = 3\nsize = \"5KB\"",
    "kind = \"requests\"\nfrom = \"h\"\nload = 0.2\nsizes = { fixed = \"12KB\" }\nfan_out = [[1, 0.5], [3, 0.5]]\nreads = 0.5",
    "kind = \"requests\"\nfrom = \"h[0-2]\"\nto = \"h\"\noutstanding = 2\nthink_time = \"9us\"\nsizes = { uniform = [\"1KB\", \"20KB\"] }",
    "kind = \"connections\"\nfrom = \"h[1-4]\"\nto = \"h\"\nfan_out = 2\nconnections = 2\nstart_spread = \"30us\"\nmessage = \"8KB\"\ncount = 200\nevery = \"25us\"",
    "kind = \"connections\"\nfrom = \"h[0-3]\"\nto = \"h5\"\noperation = \"read\"",
    "kind = \"collective\"\nfrom = \"h[0-3]\"\ncollective = \"all-reduce\"\nsize = \"40KB\"\nrounds = 30\ncompute = \"5us\"",
    "kind = \"flows\"\nlist = [{ from = \"h0\", to = \"h4\", size = \"30KB\", id = 1 }, \
     { from = \"h4\", to = \"h1\", size = \"20KB\", after = { all = [1] } }, { from = \"h2\", to = \"h5\" }]",
];

/// Changes of a link at the end of the short run.
const CHANGES: [&str; 2] = ["state = \"down\"", "rate = \"5Gbps\""];

/// Links and hosts that differ; EDGE is the layer of the switches with hosts.
const OWN: [&str; 4] = [
    "",
    "[[link]]\nfrom = \"h0\"\nto = \"EDGE0\"\nloss = 0.02",
    "[[link]]\nfrom = \"EDGE0\"\nto = \"h1\"\nrate = \"2Gbps\"\nloss = 0.01",
    "[[receiver]]\nhosts = \"h0\"\nrate = \"3Gbps\"\nbuffer = \"20KB\"",
];

fn case() -> impl Strategy<Value = Case> {
    let some = |most| prop::collection::vec(select(TRAFFIC.to_vec()), 1..=most);
    let (switches, routing) = (select(SWITCHES.to_vec()), select(ROUTING.to_vec()));
    let (transports, schemes) = (select(TRANSPORTS.to_vec()), select(NAMES.to_vec()));
    let what = (network(), switches, routing, transports, schemes);
    let change = prop::option::weighted(0.3, select(CHANGES.to_vec()));
    let own = select(OWN.to_vec());
    let how = (some(3), some(2), change, 100..200_u32, 40..200_u32, own, 1..100_u64);
    (what, how).prop_map(|((network, switch, routing, transport, scheme), how)| {
        let (traffic, behind, change, short_us, more, own, seed) = how;
        let longer_us = short_us + more;
        let (network, change) = (network, change);
        Case {
            network,
            switch,
            routing,
            transport,
            scheme,
            traffic,
            short_us,
            longer_us,
            behind,
            change,
            own,
            seed,
        }
    })
}

impl Case {
    /// The run until `us`, with what comes after the short one or without.
    fn run(&self, us: u32, cooldown_us: u32, behind: bool, traces: TraceConfig) -> Report {
        let Self { network, switch, routing, transport, scheme, .. } = self;
        let mut text = format!(
            "title = \"at random\"\n[run]\nduration = \"{us}us\"\nwarmup = \"20us\"\n\
             cooldown = \"{cooldown_us}us\"\nschemes = [\"{scheme}\"]\n{network}\n\
             [switch]\nbuffer = \"400KB\"\n{switch}\n[routing]\n{routing}\nconvergence = \"10us\"\n\
             [transport]\n{transport}\nsegment = \"16KB\"\nrto_min = \"100us\"\nrto_initial = \"100us\"\n"
        );
        let edge = if network.contains("fat-tree") { "edge" } else { "leaf" };
        let _ = writeln!(text, "{}", self.own.replace("EDGE", edge));
        for (number, traffic) in self.traffic.iter().enumerate() {
            let _ = writeln!(text, "[[traffic]]\nname = \"{number}\"\n{traffic}");
        }
        for (number, traffic) in self.behind.iter().enumerate().filter(|_| behind) {
            let _ = writeln!(
                text,
                "[[traffic]]\nname = \"behind-{number}\"\nstart = \"{}us\"\n{traffic}",
                self.short_us
            );
        }
        if let Some(change) = self.change.filter(|_| behind) {
            let link = if network.contains("fat-tree") {
                "edge0\", \"aggregation0"
            } else {
                "leaf0\", \"spine0"
            };
            let _ = writeln!(
                text,
                "[[event]]\nat = \"{}us\"\nlink = [\"{link}\"]\n{change}",
                self.short_us
            );
        }
        run_with(&document(&text), scheme, self.seed, traces)
    }
}

/// The rows of a table whose time in the column `time` is before `before_us`, column by column,
/// without the columns that number flows, connections and requests.
fn rows(report: &Report, name: &str, time: &str, before_us: f64) -> Vec<String> {
    let Some(Table { columns, .. }) = report.tables.iter().find(|table| table.name == name) else {
        return Vec::new();
    };
    let Values::F64(times) = &columns.iter().find(|column| column.name == time).unwrap().values
    else {
        panic!("{name}.{time}")
    };
    let numbers = ["flow", "connection", "request"];
    let columns = columns.iter().filter(|column| !numbers.contains(&column.name));
    let mut rows: Vec<_> = times.iter().map(|_| String::new()).collect();
    for column in columns {
        for (place, row) in rows.iter_mut().enumerate() {
            let _ = match &column.values {
                Values::F64(values) => write!(row, " {:?}", values[place]),
                Values::U64(values) => write!(row, " {}", values[place]),
                Values::Text(values) => write!(row, " {}", values[place]),
            };
        }
    }
    rows.into_iter().zip(times).filter(|&(_, &at)| at < before_us).map(|(row, _)| row).collect()
}

/// The rows of all tables about events until a time.
fn past(report: &Report, until_us: u32) -> [Vec<String>; 3] {
    [("messages", "completed_us"), ("requests", "completed_us"), ("trace_packets", "time_us")]
        .map(|(name, time)| rows(report, name, time, until_us.into()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_past_is_the_same_whatever_is_to_come(case in case()) {
        let packets = TraceConfig { queues: false, flows: false, packets: true };
        for traces in [packets, TraceConfig::default()] {
            let short = past(&case.run(case.short_us, 10, false, traces), case.short_us);
            for (behind, cooldown_us) in [(false, 15), (true, 0)] {
                let report = case.run(case.longer_us, cooldown_us, behind, traces);
                let longer = past(&report, case.short_us);
                for (short, longer) in short.iter().zip(&longer) {
                    prop_assert_eq!(short.len(), longer.len());
                    let other = short.iter().zip(longer).find(|(short, longer)| short != longer);
                    prop_assert_eq!(other, None);
                }
            }
        }
    }
}

#[test]
fn flows_of_the_demo_fabric_do_not_hang_on_how_long_it_runs() {
    let run = |ms: u32| {
        let document = crate::common::shipped(
            "fat-tree-web-search",
            &[&format!("run.duration={ms}ms"), "run.warmup=0us", "run.cooldown=0us"],
        );
        run_with(&document, "timely", 1, TraceConfig::default())
    };
    let (short, longer) = (run(1), run(2));
    let [short, longer] =
        [&short, &longer].map(|report| rows(report, "messages", "completed_us", 1_000.0));
    assert!(short.len() > 30, "{}", short.len());
    assert!(short == longer, "{} and {} messages", short.len(), longer.len());
}

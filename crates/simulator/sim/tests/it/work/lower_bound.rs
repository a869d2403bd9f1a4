//! No completion is shorter than its ideal, and no mean is below the bound of a run, in networks at
//! random with all settings.
//!
//! `INCAST_NETWORKS=3000` draws so many, `INCAST_NETWORK=7` runs one of them and prints it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, TraceConfig};

use super::setting::{Row, messages};
use crate::common::networks::Network;
use crate::common::{counts, numbers, run};

/// The networks that are drawn if nobody says more.
const NETWORKS: u64 = 120;
/// The events after which a run is looked at: some networks are full of packets.
const MOST_EVENTS: u64 = 200_000;

fn report(network: &Network, document: &Document) -> Report {
    let traces = TraceConfig::default();
    let mut run = Simulation::new(document.scenario(), &network.scheme, 1, traces)
        .unwrap_or_else(|error| panic!("{error}"));
    while run.events() < MOST_EVENTS && run.advance(1 << 14) {}
    run.finish()
}

/// The number in an environment variable.
fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// The mean of the bound of a run over the mean that it took, where all messages were delivered.
fn bound_over_mean(report: &Report) -> Option<f64> {
    let finished = counts(report, "messages", "finished");
    if finished.is_empty() || finished.contains(&0) {
        return None;
    }
    let sum = |table, column| numbers(report, table, column).iter().sum::<f64>();
    Some(sum("ideal", "srpt_us") / sum("messages", "completion_us"))
}

#[test]
#[expect(clippy::print_stdout, reason = "a network that somebody asks for")]
fn no_completion_is_shorter_than_its_ideal_in_any_network() {
    let seeds = match told("INCAST_NETWORK") {
        Some(seed) => seed..seed + 1,
        None => 0..told("INCAST_NETWORKS").unwrap_or(NETWORKS),
    };
    let (count, mut refused, mut bounds) = (seeds.end - seeds.start, Vec::new(), 0);
    // All messages, and those of which nothing else was in the way.
    let (mut rows, mut exact) = (0, 0);
    for seed in seeds {
        let network = Network::drawn(seed);
        if told("INCAST_NETWORK").is_some() {
            println!("{}", network.text);
        }
        let document = match Document::parse(network.text.clone(), "random.toml") {
            Ok(document) => document,
            Err(error) => {
                refused.push(error.to_string());
                continue;
            }
        };
        let report = catch_unwind(AssertUnwindSafe(|| report(&network, &document)))
            .unwrap_or_else(|_| panic!("INCAST_NETWORK={seed} ends the simulator"));
        let judged = |row: &Row| !network.sprayed.contains(&row.traffic);
        let all: Vec<_> = messages(&report).into_iter().filter(judged).collect();
        rows += all.len();
        exact += all.iter().filter(|row| row.completed - row.posted == row.ideal).count();
        let below = all.iter().filter(|row| row.slowdown < 1.0);
        let worst = below.min_by(|a, b| a.slowdown.total_cmp(&b.slowdown));
        assert!(worst.is_none(), "INCAST_NETWORK={seed}: {worst:?}");
        if network.text.contains("ideal = true")
            && let Some(share) = bound_over_mean(&report)
        {
            bounds += 1;
            assert!(share < 1.0 + 1e-9, "INCAST_NETWORK={seed}: the bound is {share} of the mean");
        }
    }
    if count >= NETWORKS {
        assert!(refused.len() as u64 * 20 < count, "{} of {count}: {refused:?}", refused.len());
        let (rows, exact) = (rows as u64 / count, exact as u64 / count);
        assert!(rows > 100 && exact > 5 && bounds > 0, "too few: {rows} {exact} {bounds}");
    }
}

#[test]
fn a_read_asks_on_its_own_path_and_is_answered_on_another() {
    // A ring of routers, each a group: the way of a request through a random group may be longer or
    // shorter than that of the answer. A read that is alone takes exactly the sum of both.
    let report = run("title = \"reads\"\n[run]\nduration = \"10ms\"\nschemes = [\"line-rate\"]\n\
         [network.parking-lot]\nswitches = 6\n\
         hosts = { name = \"h\", count = 1, rate = \"10Gbps\", delay = \"1us\" }\n\
         link = { rate = \"10Gbps\", delay = \"5us\" }\n[routing]\nkind = \"valiant\"\n\
         [transport]\nack_turnaround = \"300us\"\n\
         [[traffic]]\nkind = \"requests\"\nfrom = \"h2\"\nto = \"h\"\noutstanding = 1\n\
         think_time = \"200us\"\nsizes = { fixed = \"9KB\" }");
    let rows = messages(&report);
    let ideals: std::collections::BTreeSet<_> = rows.iter().map(|row| row.ideal).collect();
    assert!(rows.len() > 20 && ideals.len() > 3, "{} {ideals:?}", rows.len());
    for row in rows {
        assert_eq!(row.completed - row.posted, row.ideal, "{row:?}");
    }
}

#[test]
fn references_know_no_bursts_and_the_bound_of_a_run_does() {
    // A burst of 100 KB passes the port of the receiver at 8 Tb/s. The references take its rate, a
    // tenth of the sender's.
    let text = |burst: &str| {
        format!(
            "title = \"bursts\"\n[run]\nduration = \"1ms\"\nschemes = [\"line-rate\"]\n\
             [network.star]\nhosts = [{{ name = \"a\", rate = \"100Gbps\", delay = \"1us\" }}, \
             {{ name = \"b\", rate = \"10Gbps\", delay = \"1us\" }}]\n[switch]\n{burst}\n\
             [measure]\nideal = true\n[[traffic]]\nkind = \"connections\"\nfrom = \"a\"\nto = \"b\"\n\
             message = \"64KB\"\n"
        )
    };
    let column = |burst, name| numbers(&run(&text(burst)), "ideal", name)[0];
    let burst = "burst = \"100KB\"";
    for name in ["fluid_us", "greedy_us"] {
        assert!((column(burst, name) - column("", "ideal_us")).abs() < 1e-5, "{name}");
    }
    assert!(column(burst, "srpt_us") <= column(burst, "ideal_us"));
    assert!(column(burst, "ideal_us") < 0.3 * column("", "ideal_us"));
}

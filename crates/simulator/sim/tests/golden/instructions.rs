//! Instructions of a packet-hop in small runs, against a table: a slow-down is seen where
//! times are noisy. It takes a release build and valgrind, and says so where it has not got them.

#![expect(clippy::print_stdout, reason = "what was counted, and why nothing was")]

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Mutex;

use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

use crate::callgrind::instructions;
use crate::scenario::repository;

/// The bounds of a change: with more instructions a run is slower, with fewer the table is stale.
const MORE_PERCENT: f64 = 3.0;
const FEWER_PERCENT: f64 = 10.0;
/// The bound both ways with another compiler than the table's.
const OTHER_COMPILER_PERCENT: f64 = 10.0;

/// The runs, with what is changed in the scenario: for one duration, and for twice as long.
const RUNS: [(&str, &str, &str, &[&str]); 10] = [
    // The demo, in which TIMELY spaces the packets of a burst.
    ("incast", "scenarios/incast.toml", "timely", &["run.duration=30ms"]),
    ("line-rate", "scenarios/incast.toml", "line-rate", &["run.duration=10ms"]),
    ("star", "bench/star.toml", "dctcp", &["run.duration=40ms"]),
    ("leaf-spine", "bench/leaf-spine-messages.toml", "timely", &["run.duration=400us"]),
    (
        "fat-tree",
        "scenarios/fat-tree-1024.toml",
        "timely",
        &["run.duration=500us", "network.fat-tree.k=4"],
    ),
    // Telemetry, marks at departure, calls of a few packets, incasts to random hosts, and a model
    // of the path.
    ("all-reduce", "scenarios/all-reduce.toml", "hpcc", &["run.duration=300us"]),
    ("departure-marks", "scenarios/all-reduce.toml", "dcqcn", &["run.duration=300us"]),
    ("clos-rpc", "scenarios/timely-clos-rpc.toml", "timely", &["run.duration=600us"]),
    ("imbalance", "scenarios/timely-network-imbalance.toml", "timely", &["run.duration=600us"]),
    (
        "over-subscription",
        "scenarios/rtcp-over-subscription.toml",
        "bbr:bbr-prime",
        &["run.duration=4ms"],
    ),
];

/// The variable that tells the counted process its run: a name of the list, and a factor of time.
const COUNTED: &str = "INCAST_COUNTED_RUN";

#[test]
fn a_packet_hop_takes_as_many_instructions_as_the_table_says() {
    if cfg!(debug_assertions) || cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        println!("Not counted: instructions are compared in a release build for Linux on x86_64.");
        return;
    }
    let Some(counted) = all_per_hop() else {
        println!("Not counted: valgrind is not installed (Debian, Ubuntu: apt install valgrind).");
        assert!(
            std::env::var_os("INCAST_UPDATE_GOLDEN").is_none(),
            "the table can only be renewed with valgrind; install it (Debian, Ubuntu: apt install valgrind)"
        );
        return;
    };
    let path = repository("tests/golden/instructions.txt");
    if std::env::var_os("INCAST_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, table(&counted)).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    let same = golden.contains(&compiler());
    let (fewer, more) = if same {
        (FEWER_PERCENT, MORE_PERCENT)
    } else {
        println!("The table was made with another compiler than {}: within 10 %.", compiler());
        (OTHER_COMPILER_PERCENT, OTHER_COMPILER_PERCENT)
    };
    let mut wrong = String::new();
    for (name, count) in counted {
        let expected =
            golden.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        let expected = expected.unwrap_or_else(|| panic!("{} has no {name}", path.display()));
        let change = (count / expected - 1.0) * 100.0;
        println!(
            "{name:17} {count:8.1} instructions per packet-hop, {change:+.1} % of {expected:.1}"
        );
        if change > more || change < -fewer {
            let _ =
                writeln!(wrong, "{name}: {count:.1}, the table has {expected:.1} ({change:+.1} %)");
        }
    }
    assert!(
        wrong.is_empty(),
        "Instructions per packet-hop have changed by more than +{more} or -{fewer} %:\n{wrong}\
         Look where they went (valgrind --tool=callgrind). If that is meant, renew {} with\n\
         INCAST_UPDATE_GOLDEN=1 cargo test --release -p incast-sim --test golden instructions\n\
         and say in the commit why it takes more or fewer.",
        path.display()
    );
}

/// The process that is counted, which is not a test.
#[test]
#[ignore = "it is what the other one counts"]
fn run_that_is_counted() {
    let Ok(which) = std::env::var(COUNTED) else { return };
    let (name, times) = which.split_once(' ').unwrap();
    let (_, file, scheme, changes) = RUNS.into_iter().find(|run| run.0 == name).unwrap();
    // All is measured, in intervals of one length: what differs is how long it goes on.
    let changes = [&["run.warmup=0us", "run.cooldown=0us"], changes].concat();
    let document = Document::load(&repository(file)).unwrap().with_set(&changes).unwrap();
    let mut scenario = document.scenario().clone();
    let run = &mut scenario.run;
    run.interval = Some(run.duration / 100);
    run.duration = run.duration * times.parse().unwrap();
    let mut run = Simulation::new(&scenario, scheme, 1, TraceConfig::default()).unwrap();
    while run.advance(1 << 20) {}
    println!("\npacket-hops {}", run.finish().summary.packet_hops);
}

/// Instructions of a packet-hop in each run, two runs at a time: other work does not change them.
fn all_per_hop() -> Option<Vec<(&'static str, f64)>> {
    let waiting = Mutex::new(RUNS.iter().enumerate());
    let next = || waiting.lock().unwrap().next();
    let work = || -> Vec<_> {
        std::iter::from_fn(next).map(|(i, &(name, ..))| (i, name, per_hop(name))).collect()
    };
    let mut counted = std::thread::scope(|scope| {
        [scope.spawn(work), scope.spawn(work)].map(|worker| worker.join().unwrap()).concat()
    });
    counted.sort_by_key(|&(i, ..)| i);
    counted.into_iter().map(|(_, name, count)| Some((name, count?))).collect()
}

/// Instructions of a packet-hop, as the difference of a run and one of twice the time.
fn per_hop(name: &str) -> Option<f64> {
    let [(few, less), (many, more)] = {
        let once = count(name, 1)?;
        [once, count(name, 2)?]
    };
    Some((more - less) as f64 / (many - few) as f64)
}

/// Packet-hops and instructions of a run; none where valgrind is not installed.
fn count(name: &str, times: u32) -> Option<(u64, u64)> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "instructions::run_that_is_counted",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(COUNTED, format!("{name} {times}"));
    let (count, printed) = instructions(&command).unwrap_or_else(|error| panic!("{error}"))?;
    let hops = printed.lines().find_map(|line| line.strip_prefix("packet-hops ")?.parse().ok());
    Some((hops.unwrap_or_else(|| panic!("{name} did not run: {printed}")), count))
}

fn table(counted: &[(&str, f64)]) -> String {
    let mut text = format!(
        "# Instructions of a packet-hop by valgrind's callgrind, as the difference of a run and one of twice the\n\
         # time: crates/simulator/sim/tests/golden/instructions.rs. +{MORE_PERCENT} % is a slow-down, -{FEWER_PERCENT} % asks for a new\n\
         # table; with another compiler than this, {OTHER_COMPILER_PERCENT} % either way.\n\
         # Renew: INCAST_UPDATE_GOLDEN=1 cargo test --release -p incast-sim --test golden instructions\n\
         # and say in the commit why the figures moved.\n\
         # {}\n\n",
        compiler()
    );
    for (name, count) in counted {
        let _ = writeln!(text, "{name:17} {count:8.1}");
    }
    text
}

/// The compiler's version, without which instructions say little: `rustc 1.88.0`.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

//! The fluid max-min in a fabric, against progressive filling from event to event.
//!
//! Bertsekas and Gallager, "Data Networks", 6.5.2: all rates rise together until a link is full,
//! which stops the flows on it. Here the filling is done anew for all flows at each arrival and
//! each end, on the ways that the packets of a run have taken; the simulator mends the rates that
//! change.

use std::collections::BTreeMap;

use super::setting::{ends, wire};
use crate::common::{ALL_TRACES, counts, document, numbers, run_with, texts};

/// Gb/s of links to hosts, and between switches.
const HOSTS: f64 = 10.0;
const UPLINKS: f64 = 15.0;

/// The rate of each flow, whose ways are lists of links, in the unit of the capacities.
pub(super) fn filled(ways: &[&[usize]], capacities: &[f64]) -> Vec<f64> {
    let mut rates = vec![0.0; ways.len()];
    let mut rising: Vec<usize> = (0..ways.len()).collect();
    let mut level = 0.0;
    while !rising.is_empty() {
        // What each link has left for those that rise, and how many they are.
        let mut left = capacities.to_vec();
        let mut sharers = vec![0.0; capacities.len()];
        for (flow, way) in ways.iter().enumerate() {
            for &link in *way {
                if rising.contains(&flow) {
                    sharers[link] += 1.0;
                } else {
                    left[link] -= rates[flow];
                }
            }
        }
        let levels = left.iter().zip(&sharers);
        let levels = levels.map(|(left, &n)| if n > 0.0 { left / n } else { f64::INFINITY });
        let levels: Vec<_> = levels.collect();
        level = levels.iter().copied().fold(f64::INFINITY, f64::min).max(level);
        rising.retain(|&flow| {
            let stops = ways[flow].iter().any(|&link| levels[link] <= level * (1.0 + 1e-12));
            if stops {
                rates[flow] = level;
            }
            !stops
        });
    }
    rates
}

/// A message, in microseconds and kilobits.
struct Flow {
    comes: f64,
    kilobits: f64,
    way: Vec<usize>,
}

/// Sixteen hosts in four racks under two spines, and connections whose spines a hash chooses.
const FABRIC: &str = r#"
    title = "a fabric"
    [run]
    duration = "12ms"
    schemes = ["line-rate"]
    [measure]
    ideal = true
    [network.leaf-spine]
    leaves = 4
    spines = 2
    hosts = { name = "host", count = 4, rate = "10Gbps", delay = "1us" }
    uplink = { rate = "15Gbps", delay = "1us" }
    [switch]
    buffer = "100MB"
    queue_limit = "10MB"
    [transport]
    segment = "1460B"
    rto_min = "1s"
    [[traffic]]
    kind = "poisson"
    from = "host"
    stop = "1ms"
    load = 0.6
    sizes = { uniform = ["1KB", "200KB"] }
"#;

#[test]
fn the_fluid_is_progressive_filling_on_the_ways_of_the_packets() {
    let report = run_with(&document(FABRIC), "line-rate", 3, ALL_TRACES);
    assert_eq!(report.summary.drops, 0);
    // The links that the data of each flow has taken.
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ways: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let flows = counts(&report, "trace_packets", "flow").iter();
    let places = texts(&report, "trace_packets", "place");
    let payloads = counts(&report, "trace_packets", "payload_bytes");
    for ((&flow, place), &payload) in flows.zip(places).zip(payloads) {
        let known = links.len();
        let link = *links.entry(&**place).or_insert(known);
        let way = ways.entry(flow).or_default();
        if payload > 0 && !way.contains(&link) {
            way.push(link);
        }
    }
    let mut capacities = vec![HOSTS; links.len()];
    for (place, &link) in &links {
        if place.contains("spine") {
            capacities[link] = UPLINKS;
        }
    }
    let column = |name| numbers(&report, "ideal", name);
    let bytes = counts(&report, "ideal", "bytes");
    let rows = counts(&report, "ideal", "flow").iter().zip(column("posted_us")).zip(bytes);
    let flows: Vec<_> = rows
        .map(|((flow, &comes), &bytes)| Flow {
            comes,
            kilobits: wire(bytes) * 8.0 / 1e3,
            way: ways[flow].clone(),
        })
        .collect();
    assert!(flows.len() > 80, "{}", flows.len());
    assert!(
        flows.iter().any(|flow| flow.way.len() == 4)
            && flows.iter().any(|flow| flow.way.len() == 2)
    );
    let works: Vec<_> = flows.iter().map(|flow| (flow.comes, flow.kilobits)).collect();
    let ends = ends(&works, |there| {
        let ways: Vec<_> = there.iter().map(|&(flow, _)| &flows[flow].way[..]).collect();
        filled(&ways, &capacities)
    });
    let mut shared = 0;
    for (row, flow) in flows.iter().enumerate() {
        // Alone it has the rate of a host, which is less than that of an uplink.
        let alone = flow.kilobits / HOSTS;
        let expected = ends[row] - flow.comes + column("ideal_us")[row] - alone;
        let found = column("fluid_us")[row];
        // What ends within half a picosecond has ended there: less than a nanosecond in all.
        assert!((found - expected).abs() < 1e-3, "flow {row}: {found} us, not {expected}");
        shared += usize::from(ends[row] - flow.comes > 1.5 * alone);
    }
    assert!(shared > flows.len() / 3, "or it says little: {shared}");
}

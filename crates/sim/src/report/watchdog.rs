//! What the PFC watchdogs have seen, and the dead-locks that a run ended in.
//!
//! A class of an egress port that is paused waits for the ingress port of the next switch that paused it;
//! this one waits until enough of its packets have left by the egress ports that they are bound for. Where
//! such waiting comes round to where it began, nothing moves any more: a dead-lock.

use std::collections::BTreeMap;

use incast_cc::Time;

use super::tables;
use crate::build::Built;
use crate::network::switch::Switch;
use crate::table::Table;
use crate::topology::{Node, Topology};

/// One row of the table.
pub(super) struct Finding {
    at: Time,
    kind: Kind,
    /// Its name.
    port: String,
    class: String,
    since: Time,
    bytes: u64,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Held,
    Dropped,
    DeadLock,
}

impl Finding {
    pub(super) fn is_dead_lock(&self) -> bool {
        self.kind == Kind::DeadLock
    }
}

/// What the watchdogs saw, by time and place, then the dead-locks at the end of the run.
pub(super) fn findings(built: &Built, classes: &[String]) -> Vec<Finding> {
    let names = Names::new(&built.topology, classes);
    let mut findings: Vec<_> = (0..)
        .zip(&built.net.switches)
        .filter_map(|(number, switch)| Some((number, switch.watchdog.as_ref()?)))
        .flat_map(|(number, watchdog)| watchdog.reports.iter().map(move |held| (number, held)))
        .map(|(switch, held)| {
            let place = Place { switch, port: held.port, class: held.class };
            Finding {
                at: held.at,
                kind: if held.dropped { Kind::Dropped } else { Kind::Held },
                port: names.port(place).to_owned(),
                class: names.class(place),
                since: held.since,
                bytes: held.bytes,
                detail: "paused by the node that the port leads to".into(),
            }
        })
        .collect();
    // Stable: those of one instant keep the order of their places.
    findings.sort_by_key(|finding| finding.at);
    findings.extend(dead_locks(built).iter().map(|cycle| {
        let ports: Vec<_> = cycle.iter().map(|held| names.port(held.place)).collect();
        let waits: Vec<_> = ports.iter().cycle().skip(1).take(ports.len()).copied().collect();
        Finding {
            at: built.net.now,
            kind: Kind::DeadLock,
            port: ports[0].to_owned(),
            class: names.class(cycle[0].place),
            since: cycle.iter().map(|held| held.since).max().unwrap_or(built.net.now),
            bytes: cycle.iter().map(|held| held.bytes).sum(),
            detail: format!("{} waits for {}", ports[0], waits.join(", that for ")),
        }
    }));
    findings
}

pub(super) fn table(findings: &[Finding]) -> Table {
    let us = |time: Time| time.since(Time::ZERO).as_us_f64();
    Table::new("watchdog", "one class of one switch port that PFC held too long, or one dead-lock")
        .column(("time_us", "us", "when it was found; a dead-lock at the end of the run"), findings, |f| {
            us(f.at)
        })
        .column(
            (
                "kind",
                "",
                "held: paused too long with something to send; dropped: that, and the watchdog dropped \
                 it; dead-lock: ports that wait for each other",
            ),
            findings,
            |f| {
                let kind = match f.kind {
                    Kind::Held => "held",
                    Kind::Dropped => "dropped",
                    Kind::DeadLock => "dead-lock",
                };
                kind.to_owned()
            },
        )
        .column(("port", "", "switch, and the node that the port leads to"), findings, |f| {
            f.port.clone()
        })
        .column(("class", "", "traffic class"), findings, |f| f.class.clone())
        .column(("held_us", "us", "for how long; of a dead-lock, all of it"), findings, |f| {
            f.at.since(f.since).as_us_f64()
        })
        .column(("queue_kb", "KB", "what waited; of a dead-lock, at all its ports"), findings, |f| {
            f.bytes as f64 / 1e3
        })
        .column(("detail", "", "what it waits for"), findings, |f| f.detail.clone())
}

/// A class of an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    switch: u32,
    port: u16,
    class: u8,
}

struct Names<'a> {
    ports: Vec<String>,
    /// Where those of each switch begin.
    first: Vec<usize>,
    classes: &'a [String],
}

impl<'a> Names<'a> {
    fn new(topology: &Topology, classes: &'a [String]) -> Self {
        let mut first = Vec::new();
        let mut ports = 0;
        for own in &topology.ports().switches {
            first.push(ports);
            ports += own.len();
        }
        Self { ports: tables::port_names(topology), first, classes }
    }

    fn port(&self, place: Place) -> &str {
        &self.ports[self.first[place.switch as usize] + place.port as usize]
    }

    fn class(&self, place: Place) -> String {
        self.classes[place.class as usize].clone()
    }
}

/// A class of an egress port that is paused and has packets.
struct Held {
    place: Place,
    since: Time,
    bytes: u64,
    /// The switch and the ingress port that paused it.
    by: (u32, u16),
    /// Bytes by the ingress port that they came in by.
    from: BTreeMap<u16, u64>,
}

/// The cycles of held ports that wait for each other, each from its first port on.
fn dead_locks(built: &Built) -> Vec<Vec<Held>> {
    let switches = &built.net.switches;
    let mut held = all_held(built);
    // Those that can go on when all that is not held has left are not stuck, nor are those that wait
    // for them alone.
    loop {
        let before = held.len();
        let stuck: Vec<_> =
            (0..).zip(switches).map(|(i, switch)| stuck(&held, i, switch)).collect();
        held.retain(|Held { by: (switch, port), place, .. }| {
            let switch = *switch as usize;
            switches[switch].buffer.stays_paused(*port, place.class, &stuck[switch])
        });
        if held.len() == before {
            break;
        }
    }
    cycles(held)
}

fn all_held(built: &Built) -> Vec<Held> {
    let ports = built.topology.ports();
    let mut all = Vec::new();
    for ((number, switch), cables) in (0..).zip(&built.net.switches).zip(&ports.switches) {
        for ((port, egress), &(cable, end)) in (0..).zip(&switch.ports).zip(cables) {
            let Node::Switch(next) = built.topology.cables[cable].ends[1 - end] else { continue };
            let ingress = (0..).zip(&ports.switches[next as usize]);
            let ingress =
                ingress.filter(|&(_, far)| *far == (cable, 1 - end)).map(|(port, _)| port);
            let by = (next, ingress.min().unwrap_or(0));
            all.extend(egress.held().map(|(class, since)| {
                let mut from = BTreeMap::new();
                for queued in egress.waiting(class) {
                    *from.entry(queued.ingress).or_default() += u64::from(queued.frame.wire);
                }
                let place = Place { switch: number, port, class };
                Held { place, since, bytes: egress.queued_bytes(class), by, from }
            }));
        }
    }
    all
}

/// Bytes of each ingress port and class of a switch that wait at held ports.
fn stuck(held: &[Held], number: u32, switch: &Switch) -> Vec<u64> {
    let mut stuck = vec![0; switch.buffer.ingresses()];
    for held in held.iter().filter(|held| held.place.switch == number) {
        for (&ingress, bytes) in &held.from {
            stuck[switch.buffer.ingress_index(ingress, held.place.class)] += bytes;
        }
    }
    stuck
}

/// Follows each to the first that it waits for. Since each waits for another, all lead into cycles.
fn cycles(held: Vec<Held>) -> Vec<Vec<Held>> {
    let waits_for = |one: &Held| {
        held.iter().position(|other| {
            let same = (other.place.switch, other.place.class) == (one.by.0, one.place.class);
            same && other.from.contains_key(&one.by.1)
        })
    };
    let next: Vec<_> = held.iter().map(waits_for).collect();
    let mut walk_of = vec![usize::MAX; held.len()];
    let mut cycles = Vec::new();
    for start in 0..held.len() {
        let mut at = Some(start);
        while let Some(place) = at.filter(|&place| walk_of[place] == usize::MAX) {
            walk_of[place] = start;
            at = next[place];
        }
        // Back on its own way: a new cycle. On the way of another walk: one that is known.
        if let Some(entry) = at.filter(|&place| walk_of[place] == start) {
            let mut cycle = vec![entry];
            cycle.extend(
                std::iter::successors(next[entry], |&place| next[place])
                    .take_while(|&place| place != entry),
            );
            let first = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
            cycle.rotate_left(first);
            cycles.push(cycle);
        }
    }
    let mut held: Vec<_> = held.into_iter().map(Some).collect();
    cycles
        .into_iter()
        .map(|cycle| cycle.into_iter().filter_map(|i| held[i].take()).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::scenario::Document;
    use crate::{Name, Report, Simulation, TraceConfig, Values};

    /// Three leaves and three spines with a host or more each, 1 us per link, PFC on.
    fn fabric(hosts: u32, switch: &str, traffic: &str) -> Document {
        let text = format!(
            r#"
            title = "a ring"
            [run]
            duration = "20ms"
            schemes = ["line-rate"]
            [network.leaf-spine]
            leaves = 3
            spines = 3
            [network.leaf-spine.hosts]
            name = "host"
            count = {hosts}
            rate = "10Gbps"
            delay = "1us"
            [network.leaf-spine.uplink]
            rate = "10Gbps"
            delay = "1us"
            [switch]
            buffer = "300KB"
            [switch.pfc]
            enabled = true
            xoff = "20KB"
            {switch}
            {traffic}
            "#
        );
        Document::parse(text, "ring.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    /// Each host sends to the one two leaves further on, all one way round.
    const ROUND: &str = r#"
        [[traffic]]
        from = "host0"
        to = "host2"
        [[traffic]]
        from = "host1"
        to = "host0"
        [[traffic]]
        from = "host2"
        to = "host1"
        [[routing.path]]
        from = "host0"
        to = "host2"
        via = ["leaf0", "spine0", "leaf1", "spine1", "leaf2"]
        [[routing.path]]
        from = "host1"
        to = "host0"
        via = ["leaf1", "spine1", "leaf2", "spine2", "leaf0"]
        [[routing.path]]
        from = "host2"
        to = "host1"
        via = ["leaf2", "spine2", "leaf0", "spine0", "leaf1"]
    "#;

    fn run(document: &Document) -> Report {
        finish(
            Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default()).unwrap(),
        )
    }

    fn finish(mut run: Simulation) -> Report {
        while run.advance(1 << 20) {}
        let report = run.finish();
        assert!(report.complete && report.books.balance());
        report
    }

    fn texts<'a>(report: &'a Report, column: &str) -> &'a [Name] {
        let table = report.tables.iter().find(|table| table.name == "watchdog").unwrap();
        let column = table.columns.iter().find(|candidate| candidate.name == column).unwrap();
        let Values::Text(values) = &column.values else { panic!("{}", column.name) };
        values
    }

    #[test]
    fn ring_of_switches_dead_locks_under_pfc_and_is_reported() {
        let report = run(&fabric(1, "watchdog.after = \"2ms\"", ROUND));
        assert_eq!(report.summary.deadlocks, 1);
        // The six links of the ring, each once: the pauses never end.
        assert_eq!(report.summary.pfc_watchdog_reports, 6);
        assert_eq!(report.summary.drops, 0);
        let kinds = texts(&report, "kind");
        assert!(kinds[..6].iter().all(|kind| kind == "held"), "{kinds:?}");
        assert_eq!(kinds[6], "dead-lock");
        assert_eq!(
            texts(&report, "detail")[6],
            "leaf0->spine0 waits for spine0->leaf1, that for leaf1->spine1, that for spine1->leaf2, \
             that for leaf2->spine2, that for spine2->leaf0, that for leaf0->spine0"
        );
        assert_eq!(texts(&report, "class")[6], "data");
    }

    #[test]
    fn watchdog_that_drops_frees_the_ring() {
        let switch = "watchdog = { after = \"500us\", action = \"drop\" }";
        let stuck = run(&fabric(1, "", ROUND));
        let freed = run(&fabric(1, switch, ROUND));
        assert!(texts(&freed, "kind").iter().all(|kind| kind != "held"));
        assert!(freed.summary.pfc_watchdog_reports > 6, "it locks again and again");
        assert!(freed.summary.drops > 0);
        let (freed, stuck) = (freed.summary.throughput_gbps, stuck.summary.throughput_gbps);
        assert!(freed > 2.0 * stuck, "{freed} and {stuck} Gb/s");
    }

    #[test]
    fn long_pauses_that_end_are_no_dead_lock() {
        // All of one rack, and of all others, into one host: its leaf pauses the spine, which pauses the
        // other leaves, for long at a time.
        let incast = "[[traffic]]\nfrom = \"host\"\nto = \"host0\"";
        let document = fabric(4, "", incast);
        let run = Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default());
        let report = finish(run.unwrap());
        assert!(report.summary.pfc_pauses > 100, "or it shows nothing");
        assert_eq!((report.summary.deadlocks, report.summary.pfc_watchdog_reports), (0, 0));
    }
}

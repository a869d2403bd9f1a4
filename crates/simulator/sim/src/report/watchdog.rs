//! The table of the PFC watchdogs' reports and of the dead-locks of a run.

use incast_cc::Time;

use super::tables;
use crate::build::Built;
use incast_net::{DeadLock, QueuePlace};
use incast_plan::topology::Topology;
use incast_table::Table;

/// A row of the table.
pub(super) struct Finding {
    at: Time,
    kind: FindingKind,
    /// The name of the port.
    port: String,
    class: String,
    since: Time,
    bytes: u64,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingKind {
    Held,
    Dropped,
    DeadLock,
}

impl Finding {
    pub(super) fn is_dead_lock(&self) -> bool {
        self.kind == FindingKind::DeadLock
    }
}

/// The reports of the watchdogs, and the dead-locks, by time and place.
pub(super) fn findings(built: &Built, classes: &[String]) -> Vec<Finding> {
    let names = Names::new(&built.topology, classes);
    let mut findings: Vec<_> = (0..)
        .zip(built.net.switches())
        .flat_map(|(number, switch)| {
            switch.watchdog_reports().iter().map(move |held| (number, held))
        })
        .map(|(switch, held)| {
            let place = QueuePlace { switch, port: held.port, class: held.class };
            Finding {
                at: held.at,
                kind: if held.dropped { FindingKind::Dropped } else { FindingKind::Held },
                port: names.port(place).to_owned(),
                class: names.class(place),
                since: held.since,
                bytes: held.bytes,
                detail: "paused by the node that the port leads to".into(),
            }
        })
        .collect();
    findings.extend(built.net.dead_locks().iter().map(|found| dead_lock(found, &names)));
    // A stable sort: findings of one instant keep the order of their places, dead-locks last.
    findings.sort_by_key(|finding| finding.at);
    findings
}

fn dead_lock(found: &DeadLock, names: &Names<'_>) -> Finding {
    let ports: Vec<_> = found.ports.iter().map(|held| names.port(held.place)).collect();
    let waits: Vec<_> = ports.iter().cycle().skip(1).take(ports.len()).copied().collect();
    Finding {
        at: found.at,
        kind: FindingKind::DeadLock,
        port: ports[0].to_owned(),
        class: names.class(found.ports[0].place),
        since: found.ports.iter().map(|held| held.since).max().unwrap_or(found.at),
        bytes: found.ports.iter().map(|held| held.bytes).sum(),
        detail: format!("{} waits for {}", ports[0], waits.join(", that for ")),
    }
}

pub(super) fn table(findings: &[Finding]) -> Table {
    let us = |time: Time| time.since(Time::ZERO).as_us_f64();
    Table::new("watchdog", "one class of one switch port that PFC held too long, or one dead-lock")
        .column(("time_us", "us", "when it was found; a dead-lock when a watchdog first reports, or at the end of the run"), findings, |f| {
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
                    FindingKind::Held => "held",
                    FindingKind::Dropped => "dropped",
                    FindingKind::DeadLock => "dead-lock",
                };
                kind.to_owned()
            },
        )
        .column(("port", "", "switch, and the node that the port leads to"), findings, |f| {
            f.port.clone()
        })
        .column(("class", "", "traffic class"), findings, |f| f.class.clone())
        .column(("held_us", "us", "for how long by then; of a dead-lock, all of it"), findings, |f| {
            f.at.since(f.since).as_us_f64()
        })
        .column(("queue_kb", "KB", "what waited; of a dead-lock, at all its ports"), findings, |f| {
            f.bytes as f64 / 1e3
        })
        .column(("detail", "", "what it waits for"), findings, |f| f.detail.clone())
}

struct Names<'a> {
    ports: Vec<String>,
    /// The first port of each switch.
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

    fn port(&self, place: QueuePlace) -> &str {
        &self.ports[self.first[place.switch as usize] + place.port as usize]
    }

    fn class(&self, place: QueuePlace) -> String {
        self.classes[place.class as usize].clone()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Name, Report, Simulation, TraceConfig, Values};
    use incast_scenario::Document;

    /// Three leaves and three spines with at least one host each, 1 us per link, PFC on.
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

    /// Traffic in a ring: each host sends to the one two leaves further on, in one direction.
    const ROUND: &str = r#"
        [[traffic]]
        kind = "connections"
        from = "host0"
        to = "host2"
        [[traffic]]
        kind = "connections"
        from = "host1"
        to = "host0"
        [[traffic]]
        kind = "connections"
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

    /// The report of a run, in which the order of nodes within a window changes nothing.
    fn run(document: &Document) -> Report {
        let [slots, nodes] = [false, true].map(|nodes| {
            let traces = TraceConfig::default();
            let run = Simulation::new(document.scenario(), "line-rate", 1, traces).unwrap();
            finish(run.in_node_windows(nodes))
        });
        assert!(format!("{slots:?}") == format!("{nodes:?}"), "in windows of nodes");
        slots
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
        let deadlocks = freed.summary.deadlocks;
        assert!(deadlocks > 1 && deadlocks <= freed.summary.pfc_watchdog_reports, "{deadlocks}");
        let (freed, stuck) = (freed.summary.throughput_gbps, stuck.summary.throughput_gbps);
        assert!(freed > 2.0 * stuck, "{freed} and {stuck} Gb/s");
    }

    #[test]
    fn long_pauses_that_end_are_no_dead_lock() {
        // All hosts of one rack, and of all others, send to one host. Its leaf pauses the spine,
        // which pauses the other leaves, for long at a time.
        let incast = "[[traffic]]\nkind = \"connections\"\nfrom = \"host\"\nto = \"host0\"";
        let document = fabric(4, "", incast);
        let run = Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default());
        let report = finish(run.unwrap());
        assert!(report.summary.pfc_pauses > 100, "or it shows nothing");
        assert_eq!((report.summary.deadlocks, report.summary.pfc_watchdog_reports), (0, 0));
    }
}

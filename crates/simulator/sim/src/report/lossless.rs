//! The table of packets that PFC should have kept.

use crate::build::Built;
use incast_table::Table;

/// The table, if there are any.
pub(super) fn table(built: &Built) -> Option<Table> {
    let (topology, ports) = (&built.topology, built.topology.ports());
    let mut rows = Vec::new();
    for (number, switch) in built.net.switches().iter().enumerate() {
        for (port, class, drops) in switch.overflows() {
            let (cable, end) = ports.switches[number][port];
            let far = topology.name(topology.cables[cable].ends[1 - end]);
            let port = format!("{}->{far}", topology.switches[number]);
            rows.push((port, &built.classes[class], drops, &built.headroom[cable][end]));
        }
    }
    let table = || {
        Table::new(
            "lossless_drops",
            "one traffic class that PFC protects, at one switch port that dropped packets of it, \
             over the whole run",
        )
        .column(("port", "", "switch, and the node that the packets came from"), &rows, |r| {
            r.0.clone()
        })
        .column(("class", "", "traffic class"), &rows, |r| r.1.clone())
        .column(("drops", "packets", "packets that found the headroom full"), &rows, |r| r.2)
        .column(("headroom_kb", "KB", "headroom of the class at the port"), &rows, |r| {
            r.3.there.get() as f64 / 1e3
        })
        .column(
            ("needed_kb", "KB", "headroom that holds all that comes after a pause"),
            &rows,
            |r| r.3.needed.get() as f64 / 1e3,
        )
    };
    (!rows.is_empty()).then(table)
}

#[cfg(test)]
mod tests {
    use crate::{Simulation, TraceConfig, Values};
    use incast_scenario::Document;

    struct Dropped {
        told: u64,
        all: u64,
        needed_kb: f64,
    }

    /// The drops where three senders at 10 Gb/s are paused at 20 KB: of the table, and all.
    fn drops(headroom: &str) -> Option<Dropped> {
        let text = format!(
            r#"
            title = "too little headroom"
            [run]
            duration = "1ms"
            schemes = ["line-rate"]
            [[network.star.hosts]]
            name = "client"
            count = 3
            rate = "10Gbps"
            delay = "4us"
            [[network.star.hosts]]
            name = "server"
            rate = "10Gbps"
            delay = "4us"
            [switch.pfc]
            enabled = true
            xoff = "20KB"
            {headroom}
            [[class]]
            name = "lossy"
            [[class]]
            name = "storage"
            [[traffic]]
            kind = "connections"
            class = "storage"
            from = "client"
            to = "server"
            "#
        );
        let document = Document::parse(text, "test.toml").unwrap();
        let mut run =
            Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default()).unwrap();
        while run.advance(1 << 20) {}
        let report = run.finish();
        let table = report.tables.iter().find(|table| table.name == "lossless_drops")?;
        let values =
            |name: &str| &table.columns.iter().find(|one| one.name == name).unwrap().values;
        let Values::Text(classes) = values("class") else { panic!() };
        let (Values::U64(drops), Values::F64(needed)) = (values("drops"), values("needed_kb"))
        else {
            panic!()
        };
        assert!(classes.iter().all(|class| **class == *"storage"));
        Some(Dropped { told: drops.iter().sum(), all: report.summary.drops, needed_kb: needed[0] })
    }

    #[test]
    fn what_finds_the_headroom_full_is_told_with_the_headroom_that_would_do() {
        let Dropped { told, all, needed_kb } = drops("headroom = \"3KB\"").unwrap();
        assert!(told == all && told > 0, "{told} of {all}");
        let enough = format!("headroom = \"{:.0}B\"", needed_kb * 1e3);
        assert!(drops(&enough).is_none() && drops("").is_none());
    }
}

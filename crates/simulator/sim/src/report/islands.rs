//! The table of hosts that are on islands.

use crate::build::Built;
use incast_table::Table;

/// The table, if there are islands.
pub(super) fn table(built: &Built) -> Option<Table> {
    let hosts = built.topology.hosts.iter().zip(built.net.hosts());
    let rows: Vec<_> = hosts.filter_map(|(name, host)| Some((name, host.island()?))).collect();
    let table = || {
        Table::new("islands", "one host that is on an island")
            .column(("host", "", "its name"), &rows, |r| r.0.clone())
            .column(("island", "", "number of its island"), &rows, |r| u64::from(r.1.island))
            .column(
                (
                    "sent_bytes",
                    "B",
                    "payload of messages that it has begun to send over the island, over the whole run",
                ),
                &rows,
                |r| r.1.bytes[0],
            )
            .column(
                (
                    "received_bytes",
                    "B",
                    "payload of messages that have arrived over the island, over the whole run",
                ),
                &rows,
                |r| r.1.bytes[1],
            )
            .column(
                ("sending", "", "share of the measured time in which it sent over the island"),
                &rows,
                |r| r.1.busy[0],
            )
            .column(
                ("receiving", "", "share of the measured time in which it took in from the island"),
                &rows,
                |r| r.1.busy[1],
            )
    };
    (!rows.is_empty()).then(table)
}

//! The table of slow receivers.

use crate::build::Built;
use incast_table::Table;

/// The table, if there are any.
pub(super) fn table(built: &Built) -> Option<Table> {
    let hosts = built.topology.hosts.iter().zip(built.net.hosts());
    let slow = hosts.filter_map(|(name, host)| Some((name, host.slow()?, host.losses())));
    let rows: Vec<_> = slow.collect();
    let table = || {
        Table::new("receivers", "one slow receiver")
            .column(("host", "", "its name"), &rows, |r| r.0.clone())
            .column(("pauses_sent", "", "PFC pauses sent to its switch, measured"), &rows, |r| {
                r.1.0
            })
            .column(
                ("max_kb", "KB", "most that waited to be taken in, over the whole run"),
                &rows,
                |r| r.1.1 as f64 / 1e3,
            )
            .column(
                ("drops", "packets", "packets that found its buffer full, over the whole run"),
                &rows,
                |r| r.2.refused.packets,
            )
    };
    (!rows.is_empty()).then(table)
}

//! Jobs that cannot end.

use super::Stall;
use super::columns::{Tables, grouped, names, numbers};

/// The traffic of which steps wait for what will not come.
pub(super) fn of(tables: Tables<'_>) -> Vec<Stall> {
    let found = || {
        let table = tables.get("stalled")?;
        let (traffic, hosts) = (names(table, "traffic")?, names(table, "host")?);
        let (steps, kinds) = (numbers(table, "step")?, names(table, "kind")?);
        let peers = names(table, "peer")?;
        let stall = |(name, rows): (&str, Vec<usize>)| {
            let first = rows[0];
            let (host, step) = (hosts[first].as_str(), steps[first]);
            let peer = match peers[first].as_str() {
                "" => "nobody",
                peer => peer,
            };
            let awaited = match kinds[first].as_str() {
                "receive" => format!("a message of {peer}"),
                _ => format!("an acknowledgement of {peer}"),
            };
            Stall {
                traffic: name.to_owned(),
                hosts: grouped(rows.iter().copied(), |row| hosts[row].as_str()).len() as u64,
                first: format!("{host} waits in step {step} for {awaited}"),
            }
        };
        let groups = grouped(0..table.rows(), |row| traffic[row].as_str());
        Some(groups.into_iter().map(stall).collect())
    };
    found().unwrap_or_default()
}

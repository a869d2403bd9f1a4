//! Packets that PFC should have kept.

use super::Overflow;
use super::columns::{Tables, grouped, names, numbers};

/// The packets of each class that PFC protects, dropped all the same.
pub(super) fn of(tables: Tables<'_>) -> Vec<Overflow> {
    let found = || {
        let table = tables.get("lossless_drops")?;
        let (ports, classes) = (names(table, "port")?, names(table, "class")?);
        let (drops, headroom) = (numbers(table, "drops")?, numbers(table, "headroom_kb")?);
        let needed = numbers(table, "needed_kb")?;
        let of_class = |(class, rows): (&str, Vec<usize>)| {
            let more = |most: usize, row: usize| if drops[row] > drops[most] { row } else { most };
            let most = rows.iter().copied().reduce(more)?;
            Some(Overflow {
                of_class: class.to_owned(),
                drops: count(rows.iter().map(|&row| drops[row]).sum()),
                port: ports[most].as_str().to_owned(),
                headroom_kb: headroom[most],
                needed_kb: rows.iter().map(|&row| needed[row]).fold(0.0, f64::max),
            })
        };
        let groups = grouped(0..table.rows(), |row| classes[row].as_str());
        Some(groups.into_iter().filter_map(of_class).collect())
    };
    found().unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole number")]
const fn count(number: f64) -> u64 {
    number as u64
}

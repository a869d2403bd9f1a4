//! Columns of tables, where there are such.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

use incast_table::{Name, Table, Values};

/// The tables of a run.
#[derive(Clone, Copy)]
pub(super) struct Tables<'a>(pub(super) &'a [&'a Table]);

impl<'a> Tables<'a> {
    /// The table of a name.
    pub(super) fn get(self, name: &str) -> Option<&'a Table> {
        self.0.iter().copied().find(|table| table.name == name)
    }
}

/// A column of numbers, NaN where there is no value.
pub(super) fn numbers<'a>(table: &'a Table, name: &str) -> Option<Cow<'a, [f64]>> {
    match values(table, name)? {
        Values::F64(values) => Some(Cow::Borrowed(values)),
        Values::U64(values) => Some(values.iter().map(|value| *value as f64).collect()),
        Values::Text(_) => None,
    }
}

/// A column of names.
pub(super) fn names<'a>(table: &'a Table, name: &str) -> Option<&'a [Name]> {
    match values(table, name)? {
        Values::Text(names) => Some(names),
        Values::F64(_) | Values::U64(_) => None,
    }
}

fn values<'a>(table: &'a Table, name: &str) -> Option<&'a Values> {
    table.columns.iter().find(|column| column.name == name).map(|column| &column.values)
}

/// The rows of a table by the value of a column, values in the order of their first rows.
pub(super) fn grouped<K: Copy + Eq + Hash>(
    rows: impl Iterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Vec<(K, Vec<usize>)> {
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    let mut places = HashMap::new();
    for row in rows {
        let key = key(row);
        let place = *places.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(row);
    }
    groups
}

//! Tables whose columns carry their unit and meaning.

#[cfg(feature = "arrow")]
pub mod arrow;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A table of results: a name, a meaning, and columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// The meaning of a row.
    pub doc: &'static str,
    /// The columns, all of the same length.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The column's name, which ends in the unit where there is one.
    pub name: &'static str,
    /// The unit; empty for names, and for counts of things that the column's name tells.
    pub unit: &'static str,
    /// The meaning of the values.
    pub doc: &'static str,
    /// The values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN where there is no value.
    F64(Vec<f64>),
    /// Counts and identifiers.
    U64(Vec<u64>),
    /// Names.
    Text(Vec<Name>),
}

impl Values {
    /// The number of values.
    pub const fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A digest of tables: their names, and every bit of every value (64-bit FNV-1a). The sign of "not
/// a number", which may differ between builds, does not count.
pub fn digest(tables: &[Table]) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for table in tables {
        add(table.name.as_bytes());
        for column in &table.columns {
            add(column.name.as_bytes());
            match &column.values {
                Values::F64(values) => values.iter().for_each(|value| {
                    let value = if value.is_nan() { f64::NAN } else { *value };
                    add(&value.to_bits().to_le_bytes());
                }),
                Values::U64(values) => values.iter().for_each(|v| add(&v.to_le_bytes())),
                Values::Text(values) => values.iter().for_each(|v| add(v.as_bytes())),
            }
        }
    }
    digest
}

impl FromIterator<f64> for Values {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self::F64(values.into_iter().collect())
    }
}

impl FromIterator<u64> for Values {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        Self::U64(values.into_iter().collect())
    }
}

impl FromIterator<Name> for Values {
    fn from_iter<I: IntoIterator<Item = Name>>(values: I) -> Self {
        Self::Text(values.into_iter().collect())
    }
}

impl FromIterator<String> for Values {
    fn from_iter<I: IntoIterator<Item = String>>(values: I) -> Self {
        let mut known = BTreeSet::<Name>::new();
        let shared = values.into_iter().map(|value| {
            known.get(value.as_str()).cloned().unwrap_or_else(|| {
                let name = Name::from(value);
                known.insert(name.clone());
                name
            })
        });
        shared.collect()
    }
}

/// A name in a table. Rows with the same name share its text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl Table {
    /// An empty table.
    pub const fn new(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, columns: Vec::new() }
    }

    /// Adds a column with a value for each item.
    #[must_use]
    pub fn column<T, V>(
        mut self,
        (name, unit, doc): (&'static str, &'static str, &'static str),
        items: &[T],
        value: impl Fn(&T) -> V,
    ) -> Self
    where
        Values: FromIterator<V>,
    {
        let values = items.iter().map(value).collect();
        self.columns.push(Column { name, unit, doc, values });
        self
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

//! The tables that ship with incast. The head of each file describes its table.

use std::sync::{Arc, LazyLock};

use super::{Interpolation, SizeTable, Unit};

/// A table that ships with incast.
#[derive(Clone, Debug)]
pub struct Shipped {
    /// The name in scenarios.
    pub name: &'static str,
    /// The traffic that was measured.
    pub what: String,
    /// The repository, commit and path of the file, or files, with these points.
    pub source: String,
    /// The unit of sizes in the source.
    pub unit: String,
    /// Other remarks.
    pub note: String,
    /// The table, with the interpolation of its source.
    pub table: Arc<SizeTable>,
    /// The mean in bytes with linear interpolation.
    pub mean_linear: f64,
    /// The mean in bytes with step interpolation.
    pub mean_step: f64,
    /// The number of points.
    pub points: usize,
}

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("tables/", $name, ".txt")))),*]
    };
}

/// The names and texts of all tables, in the order of listing.
const FILES: &[(&str, &str)] = files! {
    "web-search" "web-search-pias" "web-search-powertcp"
    "data-mining-vl2" "data-mining-pias"
    "homa-w1" "homa-w2" "homa-w3" "homa-w4" "homa-w5"
    "google-rpc" "google-rpc-conweave"
    "facebook-hadoop" "facebook-hadoop-2015" "facebook-hkust"
    "alibaba-storage" "solar"
};

static TABLES: LazyLock<Vec<Shipped>> =
    LazyLock::new(|| FILES.iter().map(|&(name, text)| Shipped::read(name, text)).collect());

/// All tables that ship.
pub fn tables() -> &'static [Shipped] {
    &TABLES
}

/// The table with this name.
pub fn named(name: &str) -> Option<&'static Shipped> {
    tables().iter().find(|table| table.name == name)
}

impl Shipped {
    fn read(name: &'static str, text: &str) -> Self {
        let interpolation = match field(text, "interpolation").as_str() {
            "step" => Interpolation::Step,
            _ => Interpolation::Linear,
        };
        let Ok(table) = SizeTable::parse(text, name, Unit::Bytes, interpolation) else {
            unreachable!("a test reads every table that ships")
        };
        let points = table.points().len();
        Self {
            name,
            what: field(text, "what"),
            source: field(text, "source"),
            unit: field(text, "unit"),
            note: field(text, "note"),
            mean_linear: table.mean_by(Interpolation::Linear),
            mean_step: table.mean_by(Interpolation::Step),
            points,
            table: Arc::new(table),
        }
    }
}

/// The text after `# key: ` in the head of a file. Continuation lines start with three spaces.
fn field(text: &str, key: &str) -> String {
    let mut head = text.lines().map_while(|line| line.strip_prefix("# "));
    let Some(first) = head.by_ref().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    else {
        return String::new();
    };
    let more = head.map_while(|line| line.strip_prefix("  "));
    std::iter::once(first).chain(more).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# name: x\n# source: here,\n#   there\n#   and there\n# unit: bytes\n1 1\n";

    #[test]
    fn a_field_of_the_head_may_go_on_over_lines() {
        assert_eq!(field(HEAD, "source"), "here, there and there");
        assert_eq!(field(HEAD, "unit"), "bytes");
        assert_eq!(field(HEAD, "note"), "");
    }

    #[test]
    fn each_file_says_its_name_and_all_that_is_listed() {
        for &(name, text) in FILES {
            let unit = Unit::Bytes;
            let table = SizeTable::parse(text, name, unit, Interpolation::Linear).unwrap();
            assert_eq!(field(text, "name"), name);
            for key in ["what", "source", "unit"] {
                assert!(!field(text, key).is_empty(), "{name} does not say {key}");
            }
            assert!(["linear", "step"].contains(&field(text, "interpolation").as_str()), "{name}");
            let tenths = |mean: f64| {
                let digits = format!("{mean:.1}");
                let (whole, tenth) = digits.split_once('.').unwrap();
                format!("{}.{tenth}", crate::workload::tests::page::grouped(whole))
            };
            let means = [Interpolation::Linear, Interpolation::Step].map(|by| table.mean_by(by));
            let [linear, step] = means.map(tenths);
            assert_eq!(field(text, "mean"), format!("{linear} B linear, {step} B step"), "{name}");
        }
    }
}

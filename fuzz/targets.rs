//! Targets of the fuzzer: a function reads any bytes, and panics where a reader breaks a promise.
//!
//! The programs in `fuzz_targets` call them with what coverage leads to, and the test `corpus` of `incast-sim`
//! with the inputs that are kept in `corpus`.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use incast_cc::{Bytes, Fraction, Rate, Span};
use incast_sim::foreign::{
    self, ForeignError, Format, HpccConfig, HpccFct, HpccFlows, HpccPfc, HpccResults, HpccTopology,
    HpccTrace, HtsimMatrix, HtsimTopology, Options,
};
use incast_sim::scenario::foreign::job::{JobFile, JobGraph, JobSource};
use incast_sim::scenario::{Document, ScenarioError};
use incast_sim::workload::{Interpolation, SizeTable, Unit};

/// Separates the texts of one input.
const NEXT: &str = "%%\n";

/// A function of this file.
pub(crate) type Target = fn(&[u8]);

/// The targets by name, which is that of their corpus.
pub(crate) const TARGETS: [(&str, Target); 6] = [
    ("scenario", scenario),
    ("foreign", foreign),
    ("import", import),
    ("job", job),
    ("quantity", quantity),
    ("workload", workload),
];

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// An error is one sentence, and says something.
#[track_caller]
fn sentence(error: impl Display) {
    let error = error.to_string();
    assert!(!error.is_empty() && !error.contains('\n'), "not one sentence: {error:?}");
}

/// A scenario, and after a separator assignments to it, one in each line. Errors name a place in the text.
pub(crate) fn scenario(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let (toml, assignments) = text.split_once(NEXT).unwrap_or((text, ""));
    // Files that a scenario names are on this machine: none is read here.
    if ["path", "file", "\\"].iter().any(|word| text.contains(word)) {
        return;
    }
    let document = match Document::parse(toml.to_owned(), "f.toml") {
        Ok(document) => document,
        Err(error) => return misplaced(toml, &error),
    };
    assert_eq!(document.text(), toml);
    for scheme in document.scenario().run.schemes.clone() {
        match document.scenario().scheme(&scheme) {
            Ok(resolved) => drop(incast_sim::warnings(document.scenario(), &scheme, &resolved)),
            Err(error) => sentence(error),
        }
    }
    let assignments: Vec<_> = assignments.lines().collect();
    match document.with_set(&assignments) {
        // What was set is a scenario that can be read again.
        Ok(changed) => drop(Document::parse(changed.text().to_owned(), "f.toml").unwrap()),
        Err(error) => sentence(error),
    }
}

#[track_caller]
fn misplaced(text: &str, error: &ScenarioError) {
    let ScenarioError::At { place, .. } = error else { panic!("no place: {error}") };
    assert_eq!(place.file, "f.toml");
    let line = text.split('\n').nth(place.line - 1).unwrap_or_else(|| panic!("{error}"));
    assert!(place.column >= 1 && place.column <= line.chars().count() + 1, "{error}");
}

/// The value that was read, if it was.
#[track_caller]
fn read<T>(result: Result<T, ForeignError>) -> Option<T> {
    result.map_err(sentence).ok()
}

/// A file of another simulator: the first byte says which reader, the rest is the text.
pub(crate) fn foreign(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let Some(text) = text(rest) else { return };
    match which {
        b'a' => {
            read(HpccTopology::parse("f", text)).map(|topology| read(topology.graph("f")));
        }
        b'b' => {
            read(HpccFlows::parse("f", text)).map(|flows| flows.named());
        }
        b'c' => drop(read(HpccConfig::parse("f", text))),
        b'd' => drop(read(HpccTrace::parse("f", text))),
        b'e' => drop(read(HpccFct::parse("f", text))),
        b'f' => drop(read(HpccPfc::parse("f", text))),
        b'g' => {
            read(HtsimTopology::parse("f", text)).map(|tree| read(tree.graph("f")));
        }
        b'h' => {
            read(HtsimMatrix::parse("f", text)).map(|matrix| read(matrix.flows("f")));
        }
        b'i' => {
            HpccResults::of(text).map(|results| read(results.table("f", text)));
        }
        b'j' => drop(read(foreign::flows(Format::Htsim, "f", text))),
        _ => {}
    }
}

/// Files of another simulator together. What is made of them is a scenario, or a note says what keeps it from
/// being run.
pub(crate) fn import(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let files: Vec<_> =
        ["a.txt", "b.txt", "c.txt", "d.txt"].into_iter().zip(text.split(NEXT)).collect();
    let imported = match foreign::import(&files, &Options::default()) {
        Ok(imported) => imported,
        Err(error) => return sentence(error),
    };
    if imported.files.is_empty() {
        let scenario = Document::parse(imported.scenario_toml.clone(), "f.toml");
        let told = imported.notes.iter().any(|note| note.contains("cannot be run as it is"));
        if let (Err(error), false) = (scenario, told) {
            panic!("{error}\n{}", imported.scenario_toml);
        }
    }
}

/// The trace of a job, in one file. The graph that is read can be written as steps: each rank has
/// an order.
pub(crate) fn job(data: &[u8]) {
    let bytes = Box::new(std::io::Cursor::new(data.to_vec()));
    let file = JobFile { name: "f".into(), bytes };
    let mut files = std::iter::once(Ok(file));
    let source = JobSource { format: None, files: &mut files, groups: None, size: None };
    let Some(graph) = read(foreign::job(source).and_then(JobGraph::checked)) else { return };
    for (rank, nodes) in (0..).zip(&graph.ranks) {
        assert_eq!(graph.order(rank).len(), nodes.nodes().len());
    }
}

fn same<Q: FromStr + Display + Debug + PartialEq + Copy>(text: &str)
where
    Q::Err: Display + Debug,
{
    match text.parse::<Q>() {
        Ok(quantity) => assert_eq!(quantity.to_string().parse::<Q>().unwrap(), quantity),
        Err(error) => sentence(error),
    }
}

/// A quantity: what is read, written and read again is the same.
pub(crate) fn quantity(data: &[u8]) {
    let Some(text) = text(data) else { return };
    same::<Span>(text);
    same::<Rate>(text);
    same::<Bytes>(text);
    same::<Fraction>(text);
}

/// A table of sizes. Quantiles ascend, and the mean is between the ends.
pub(crate) fn workload(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let Some(text) = text(rest) else { return };
    let unit = if which & 1 == 0 { Unit::Bytes } else { Unit::Packets(Bytes::new(1_460)) };
    for interpolation in [Interpolation::Linear, Interpolation::Step] {
        let table = match SizeTable::parse(text, "f", unit, interpolation) {
            Ok(table) => table,
            Err(error) => return sentence(error),
        };
        let quantiles = [0.0, 1e-9, 0.1, 0.5, 0.9, 0.999, 1.0].map(|part| table.quantile(part));
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        let (mean, largest) = (table.mean(), table.largest());
        assert!(mean >= 0.0 && mean <= largest * (1.0 + 1e-9), "{mean} of {largest}");
    }
}

//! Results that must stay, in debug and in release builds: the tables under `tests/golden`.
//!
//! `make test` runs this program in a debug and in a release build, so it is small.

#[path = "../common/callgrind.rs"]
mod callgrind;
#[path = "../common/run.rs"]
mod run;
#[path = "../common/scenario.rs"]
mod scenario;

mod algorithms;
mod demo;
mod determinism;
mod figures;
mod instructions;

use scenario::repository;

/// Compares `text` with a file under tests/golden, or renews the file.
fn assert_golden(file: &str, text: &str) {
    let path = repository("tests/golden").join(file);
    if std::env::var_os("INCAST_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let endless = |text: &'_ str| {
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.into_iter().chain(std::iter::repeat(String::new()))
    };
    let differences: Vec<_> = endless(&golden)
        .zip(endless(text))
        .take(golden.lines().count().max(text.lines().count()))
        .filter(|(golden, now)| golden != now)
        .map(|(golden, now)| format!("- {golden}\n+ {now}"))
        .collect();
    assert!(
        differences.is_empty(),
        "the results are not those of {}:\n{}\nIf that is meant, renew the file with\n\
         INCAST_UPDATE_GOLDEN=1 cargo test -p incast-sim --test golden\n\
         and say in the commit why the figures moved.",
        path.display(),
        differences.join("\n")
    );
}

//! The guide to adding a transport, and the traits that it tells of.

use std::fmt::Write;

const GUIDE: &str = include_str!("../../../../../docs/how-to/adding-a-transport.md");
const HALF: &str = include_str!("../../src/half.rs");
const WIRE: &str = include_str!("../../src/packet/wire.rs");

/// The files that the guide quotes.
const QUOTED: [&str; 3] = [
    include_str!("../../src/stream.rs"),
    include_str!("../../src/packet/stream.rs"),
    include_str!("granting.rs"),
];

/// The methods of a trait that have no default.
fn asked<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let start = source.find(&format!("pub(crate) trait {name}")).unwrap();
    let body = source[start..].split_once("\n}").unwrap().0;
    let methods = body.split("\n    fn ").skip(1).filter(|method| {
        // A method without a default ends with its signature.
        method.find(';').unwrap_or(usize::MAX) < method.find(" {").unwrap_or(usize::MAX)
    });
    methods.map(|method| method.split(['(', '<']).next().unwrap()).collect()
}

#[test]
fn the_guide_names_every_method_that_a_transport_must_have() {
    let mut missing = String::new();
    for (source, name) in [(WIRE, "Wire"), (HALF, "Sending"), (HALF, "Receiving")] {
        let asked = asked(source, name);
        assert!(asked.len() > 5, "{name}: {asked:?}");
        for method in asked.into_iter().filter(|method| !GUIDE.contains(&format!("`{method}`"))) {
            writeln!(missing, "{name}::{method}").unwrap();
        }
    }
    assert!(missing.is_empty(), "docs/how-to/adding-a-transport.md does not tell of:\n{missing}");
}

#[test]
fn the_guide_quotes_code_to_the_byte() {
    let blocks = GUIDE.split("\n```rust\n").skip(1).map(|rest| rest.split_once("```\n").unwrap().0);
    let blocks: Vec<_> = blocks.collect();
    assert_eq!(blocks.len(), QUOTED.len());
    for (block, file) in blocks.iter().zip(QUOTED) {
        assert!(file.contains(block), "its file does not have this block of the guide:\n{block}");
    }
}

//! The fields of `incast_options`, which are settings of `incast-udp` with its explanations.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use incast_udp::settings::{Setting, Settings, Value};

/// The fields of the options: the type of each, and its comment.
fn fields() -> BTreeMap<String, (String, String)> {
    let header = include_str!("../include/incast.h");
    let (before, _) = header.split_once("} incast_options;").unwrap();
    let (_, inside) = before.rsplit_once("typedef struct {").unwrap();
    let (mut fields, mut comment) = (BTreeMap::new(), Vec::new());
    for line in inside.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(words) = line.strip_prefix("// ") {
            comment.push(words);
        } else {
            let (kind, name) = line.trim_end_matches(';').rsplit_once([' ', '*']).unwrap();
            let said = std::mem::take(&mut comment).join(" ");
            fields.insert(name.to_owned(), (kind.trim().to_owned(), said));
        }
    }
    fields
}

#[test]
fn the_options_of_c_are_settings_with_their_types_and_explanations() {
    let (mut fields, mut settings) = (fields(), Settings::default());
    for &Setting { name, field, doc, .. } in Settings::TABLE {
        let Some(field) = field else { continue };
        let (kind, said) = fields.remove(field).unwrap_or_else(|| panic!("C has no {field}"));
        let expected = match settings.value(name).unwrap() {
            Value::Flag(_) => "bool",
            Value::Count(_) => "size_t",
            _ => "const char",
        };
        assert_eq!(kind, expected, "{field}");
        assert!(said.starts_with(doc), "{field}: {said:?} does not begin with {doc:?}");
    }
    // The last one is `listens`: bytes of zero are a host that listens.
    let others: Vec<_> = fields.keys().map(String::as_str).collect();
    assert_eq!(others, ["address", "only_connects", "size"]);
}

//! A value of another type, anywhere in a scenario, gets a sentence in plain words.

use incast_sim::scenario::Document;
use toml::Value;

use crate::common::mistakes::is_one_line;

/// A field, or several, of each type: text, quantities, numbers, booleans, words, lists, tables,
/// names.
const GOOD: &str = r#"
title = "everything"
description = "text"

[run]
duration = "10ms"
warmup = "1ms"
seed = 3
interval = "100us"
threads = 2
schemes = ["timely"]

[network.leaf-spine]
leaves = 2
spines = 2
hosts = { name = "host", count = 4, rate = "10Gbps", delay = "1us" }
uplink = { rate = "40Gbps", delay = "1us" }

[routing]
kind = "ecmp"
hash_seed = 7
convergence = "1ms"

[[event]]
at = "2ms"
link = ["leaf0", "spine0"]
state = "down"

[[class]]
name = "low"
weight = 2

[[class]]
name = "high"

[switch]
buffer = "1MB"
alpha = 0.5
telemetry = true

[switch.aqm]
kind = "red"
min = "10KB"
max = "30KB"
max_probability = 0.1
gentle = true

[transport]
kind = "stream"
segment = "64KB"
mtu = "1500B"
ack_priority = false

[transport.stream]
preset = "linux"
initial_window = 10

[signal]
kind = "rtt+noise"
noise = "10us"

[measure]
series = true
trace = ["host0"]

[[traffic]]
kind = "poisson"
name = "random"
from = "host"
class = "low"
weight = 3
deadline = "1ms"
urgent = { below = "10KB", class = "high", weight = 2 }
load = 0.1
sizes = { uniform = ["1KB", "2KB"] }
rack_local = 0.5

[[traffic]]
kind = "requests"
from = "host"
sizes = "web-search"
load = 0.01
reads = 0.5
fan_out = [[1, 0.5], [2, 0.5]]
split = true
replicas = 2

[[traffic]]
kind = "incast"
from = "host"
load = 0.01
senders = 3
size = "10KB"

[[traffic]]
kind = "flows"
list = [{ from = "host0", to = "host1", size = "1KB", start = "1ms", id = 4 }]

[cc.timely]
t_low = "40us"
beta = 0.5

[published.timely]
throughput = "9Gbps"
source = "nobody"
"#;

/// A value of each type of TOML, and numbers that no field takes.
const VALUES: [&str; 16] = [
    "true",
    "5",
    "-5",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "inf",
    "nan",
    "\"word\"",
    "[]",
    "[[1, \"a\"]]",
    "{}",
    "{ a = 1 }",
    "1979-05-27T07:32:00Z",
    "1979-05-27",
    "07:32:00",
];

/// Words of serde, and of Rust.
const NOT_OURS: [&str; 17] = [
    "struct", "enum", "untagged", "variant", "u8", "u16", "u32", "u64", "i64", "f64", "usize",
    "map", "sequence", "tuple", "floating", "literal", "datetime",
];

fn is_ours(said: &str) -> bool {
    let mut words = said.split(|c: char| !c.is_ascii_alphanumeric());
    let phrases = ["invalid type", "invalid value", "invalid length"];
    !words.any(|word| NOT_OURS.contains(&word)) && !phrases.iter().any(|&one| said.contains(one))
}

fn value(text: &str) -> Value {
    format!("value = {text}").parse::<toml::Table>().unwrap().remove("value").unwrap()
}

/// The paths of all values of a table, tables and lists included.
fn paths(value: &Value, here: &[String], all: &mut Vec<Vec<String>>) {
    if !here.is_empty() {
        all.push(here.to_vec());
    }
    let below = |name: &str| [here, &[name.to_owned()]].concat();
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| paths(value, &below(name), all));
        }
        Value::Array(array) => {
            for (number, value) in array.iter().enumerate() {
                paths(value, &below(&number.to_string()), all);
            }
        }
        _ => {}
    }
}

fn at<'a>(mut value: &'a mut Value, path: &[String]) -> &'a mut Value {
    for name in path {
        value = match value {
            Value::Array(array) => &mut array[name.parse::<usize>().unwrap()],
            table => &mut table[name.as_str()],
        };
    }
    value
}

#[test]
fn no_value_of_another_type_is_answered_in_words_of_the_parser() {
    let good: Value = Value::Table(GOOD.parse().unwrap());
    Document::parse(GOOD.to_owned(), "good.toml").unwrap_or_else(|error| panic!("{error}"));
    let mut all = Vec::new();
    paths(&good, &[], &mut all);
    assert!(all.len() > 90, "{}", all.len());
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for path in &all {
        for text in VALUES {
            let mut changed = good.clone();
            *at(&mut changed, path) = value(text);
            let document = Document::parse(toml::to_string(&changed).unwrap(), "bad.toml");
            let Err(error) = document else { continue };
            refused += 1;
            let said = error.to_string();
            let place = said.strip_prefix("bad.toml:").is_some_and(|rest| {
                rest.splitn(3, ':').take(2).all(|number| number.parse::<u32>().is_ok())
            });
            if !(is_ours(&said) && place && is_one_line(&said)) {
                wrong.push(format!("{} = {text}: {said}", path.join(".")));
            }
        }
    }
    assert!(refused > all.len() * 8, "{refused}");
    assert!(wrong.is_empty(), "{} of {refused}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn numbers_that_toml_cannot_hold_are_refused_in_plain_words() {
    for (text, said) in [
        ("seed = 99999999999999999999", "bad.toml:8:8: "),
        ("seed = 1e999", "bad.toml:8:8: "),
        ("seed = 1979-13-27", "bad.toml:8:8: "),
        ("seed = -1", "bad.toml:8:8: -1 is out of range; expected a whole number from 0 to 9"),
        ("seed = 1979-05-27", "bad.toml:8:8: 1979-05-27 is a date; expected a whole number"),
        ("seed = 07:32:00", "bad.toml:8:8: 07:32:00 is a time of day; expected a whole number"),
        ("seed = inf", "bad.toml:8:8: inf is no finite number; expected a whole number"),
        ("seed = \"3\"", "bad.toml:8:8: \"3\" is a text; expected a whole number from 0 to 9"),
        ("seed = [3]", "bad.toml:8:8: a list; expected a whole number from 0 to 9"),
    ] {
        let bad = GOOD.replacen("seed = 3", text, 1);
        let error = Document::parse(bad, "bad.toml").unwrap_err().to_string();
        assert!(error.starts_with(said) && is_one_line(&error), "{text}: {error}");
        assert!(is_ours(&error), "{error}");
    }
}

#[test]
fn brackets_in_brackets_without_end_are_refused() {
    for open in ["[", "{ a = "] {
        let deep = format!("title = {}", open.repeat(100_000));
        let error = Document::parse(deep, "deep.toml").unwrap_err().to_string();
        assert!(error.starts_with("deep.toml:1:") && is_one_line(&error), "{error}");
    }
}

#[test]
fn what_is_no_regular_file_or_too_long_is_refused_at_once() {
    let folder = std::env::temp_dir().join(format!("incast-input-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let long = folder.join("long.toml");
    std::fs::File::create(&long).unwrap().set_len(10_000_000_000).unwrap();
    for (path, said) in [
        (std::path::Path::new("/dev/zero"), "a device or a pipe is no regular file"),
        (folder.as_path(), "a directory is no regular file"),
        (long.as_path(), "more than 64 MB"),
    ] {
        let error = Document::load(path).unwrap_err().to_string();
        assert!(error.contains(said) && is_one_line(&error), "{error}");
    }
    let sizes = format!("sizes = {{ file = {:?} }}", "/dev/zero");
    let bad = GOOD.replacen("sizes = \"web-search\"", &sizes, 1);
    let error = Document::parse(bad, "bad.toml").unwrap_err().to_string();
    assert!(error.contains("cannot read /dev/zero: a device or a pipe"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

//! `incast-kernel algorithms` tells what there is, so that nobody else keeps a list.

use std::process::Command;

use incast_cc::registry::AnyAlgorithm;
use incast_kernel::algorithm::{Algorithm, Settings};
use serde_json::{Map, Value, json};

fn listing(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_incast-kernel"));
    let output = command.arg("algorithms").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn help(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_incast-kernel"));
    let output = command.args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_fits_eighty_columns() {
    let mut seen = 0;
    let mut ways = vec![Vec::new()];
    while let Some(words) = ways.pop() {
        let help = help(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let long = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{words:?}");
        seen += 1;
        let commands = help.lines().skip_while(|&line| line != "Commands:").skip(1);
        let commands = commands.take_while(|line| !line.is_empty());
        for line in commands.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            let name = line.split_whitespace().next().unwrap().to_owned();
            ways.push(words.iter().cloned().chain([name]).collect());
        }
    }
    assert!(seen > 12, "{seen} commands");
}

#[test]
fn json_tells_of_every_program_what_attach_does_with_it() {
    let items: Vec<Map<String, Value>> = serde_json::from_str(&listing(&["--json"])).unwrap();
    assert_eq!(items.len(), Algorithm::ALL.len());
    for (item, algorithm) in items.iter().zip(Algorithm::ALL) {
        let keys: Vec<_> = item.keys().map(String::as_str).collect();
        assert_eq!(keys, ["ecn", "host_params", "line_rate", "name", "parameters", "preset"]);
        assert_eq!(item["name"], algorithm.name());
        assert_eq!(item["preset"], json!(algorithm.preset()));
        let parameters = item["parameters"].as_object().unwrap();
        for (name, value) in item["host_params"].as_object().unwrap() {
            assert_eq!(value, &parameters[name], "{name}");
        }
        assert_eq!(item["ecn"], algorithm.name() == "dctcp");
        assert_eq!(item["line_rate"], parameters.contains_key("line_rate"));
        assert_eq!(parameters.len(), Settings::new(algorithm).parameters().len());
    }
}

#[test]
fn values_are_those_of_the_preset_in_the_registry() {
    let items: Vec<Value> = serde_json::from_str(&listing(&["--json"])).unwrap();
    for item in items {
        let mut law = AnyAlgorithm::named(item["name"].as_str().unwrap()).unwrap();
        if let Some(preset) = item["preset"].as_str() {
            law.apply_preset(preset).unwrap();
        }
        for param in law.params() {
            let mut value = String::new();
            law.write(param.name, &mut value).unwrap();
            assert_eq!(item["parameters"][param.name], value, "{} of {item}", param.name);
        }
    }
}

#[test]
fn the_table_has_a_line_for_each_program() {
    let table = listing(&[]);
    assert_eq!(table.lines().count(), 1 + Algorithm::ALL.len());
    for (line, algorithm) in table.lines().skip(1).zip(Algorithm::ALL) {
        let words: Vec<_> = line.split_whitespace().collect();
        let line_rate = if algorithm.knows_line_rate() { "yes" } else { "no" };
        assert_eq!(words, [algorithm.name(), algorithm.preset().unwrap_or("-"), line_rate]);
    }
}

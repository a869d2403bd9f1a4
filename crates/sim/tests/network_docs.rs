//! The examples of docs/networks.md are scenarios.

use incast_sim::scenario::Document;

const PAGE: &str = include_str!("../../../docs/networks.md");

/// The blocks of TOML on the page.
fn blocks() -> Vec<&'static str> {
    let fenced = PAGE.split("```").skip(1).step_by(2);
    let blocks: Vec<_> = fenced.filter_map(|block| block.strip_prefix("toml\n")).collect();
    assert_eq!(blocks.len() * 2, PAGE.matches("```").count(), "a block is not TOML");
    blocks
}

/// A part of a scenario with what is missing.
fn completed(block: &str) -> String {
    let mut table: toml::Table = block.parse().unwrap_or_else(|e| panic!("{e}\n{block}"));
    let rest: toml::Table = r#"
        title = "an example"
        run = { duration = "10ms", schemes = ["timely"] }
        network = { star = { hosts = [{ name = "host", count = 2, rate = "1Gbps", delay = "1us" }] } }
    "#
    .parse()
    .unwrap();
    for (key, value) in rest {
        table.entry(key).or_insert(value);
    }
    let names = ["client", "sender", "server", "host"];
    let from = names.iter().find(|name| block.contains(&format!("\"{name}\", count")));
    let from = from.copied().unwrap_or("host");
    let to = if block.contains("\"receiver\"") { "receiver" } else { from };
    let traffic = format!("from = \"{from}\"\nto = \"{to}\"\nfan_out = 1");
    let traffic = traffic.parse::<toml::Table>().unwrap();
    table.insert("traffic".into(), vec![toml::Value::Table(traffic)].into());
    toml::to_string(&table).unwrap()
}

#[test]
fn every_example_is_a_scenario() {
    for block in blocks() {
        let text = completed(block);
        Document::parse(text, "docs/networks.md").unwrap_or_else(|e| panic!("{e}\n{block}"));
    }
}

#[test]
fn every_kind_of_network_has_an_example() {
    let schema: serde_json::Value =
        serde_json::from_str(&incast_sim::scenario::json_schema()).unwrap();
    let kinds = schema["$defs"]["Network"]["oneOf"].as_array().unwrap();
    assert!(kinds.len() >= 7);
    let names = kinds.iter().map(|kind| kind["required"][0].as_str().unwrap());
    // A file has its example in docs/importing.md.
    for name in names.filter(|name| *name != "file") {
        let header = format!("[network.{name}]");
        assert!(blocks().iter().any(|block| block.contains(&header)), "no example of {name}");
        assert!(PAGE.contains(&format!("| `{name}` |")), "{name} is not in the table");
    }
}

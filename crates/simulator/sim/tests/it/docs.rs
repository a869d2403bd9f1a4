//! The examples in the documentation are scenarios: each block of TOML on these pages is read with
//! what it leaves out, and each one about traffic is run.

use incast_sim::TraceConfig;
use incast_sim::foreign::FORMATS;
use incast_sim::scenario::Document;

use crate::common::{repository, run_with, texts};

/// A page of the documentation.
struct Page(&'static str);

const NETWORKS: Page = Page("docs/guide/networks.md");
const TRAFFIC: Page = Page("docs/guide/traffic.md");
const PAGES: [Page; 4] = [Page("README.md"), NETWORKS, Page("docs/guide/switches.md"), TRAFFIC];

/// The rest of a scenario, which examples may leave out.
const REST: &str = r#"
    title = "an example"
    run = { duration = "10ms", schemes = ["timely"] }

    [[network.star.hosts]]
    name = "client"
    count = 8
    rate = "10Gbps"
    delay = "1us"

    [[network.star.hosts]]
    name = "server"
    count = 8
    rate = "10Gbps"
    delay = "1us"
"#;

impl Page {
    fn text(&self) -> String {
        std::fs::read_to_string(repository(self.0)).unwrap()
    }

    /// The blocks of TOML on the page.
    fn blocks(&self) -> Vec<String> {
        let text = self.text();
        let fenced = text.split("```").skip(1).step_by(2);
        fenced.filter_map(|block| block.strip_prefix("toml\n")).map(str::to_owned).collect()
    }

    /// A part of a scenario with what is missing.
    fn completed(&self, block: &str) -> Document {
        let parse = |text: &str| text.parse::<toml::Table>();
        // The trace of a job on the page stands for a small one that is there.
        let files = block.lines().filter(|line| *line != "groups = \"groups.json\"");
        let trace = repository("tests/data/jobs/all_reduce.{rank}.et");
        let trace = format!("\"{}\"", trace.display());
        let block = files.collect::<Vec<_>>().join("\n");
        let block = &block.replace("\"training.{rank}.et\"", &trace);
        let mut table = parse(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
        for (key, value) in parse(REST).unwrap() {
            table.entry(key).or_insert(value);
        }
        table.entry("traffic").or_insert_with(|| some_traffic(block));
        let text = toml::to_string(&table).unwrap();
        FORMATS.parse(text, self.0).unwrap_or_else(|error| panic!("{error}\n{block}"))
    }
}

/// From the first of the hosts that there are, to another one.
fn some_traffic(block: &str) -> toml::Value {
    let names = ["client", "sender", "server", "host", "gpu"];
    let counted = |name: &&&str| block.contains(&format!("\"{name}\", count"));
    let own = block.contains("[network");
    let from = names.iter().find(counted).copied().unwrap_or(if own { "host" } else { "client" });
    let to = if block.contains("\"receiver\"") { "receiver" } else { from };
    // Flows without end go from one island to another.
    let apart = ("gpu[0-7]", "gpu[8-15]");
    let (from, to) = if block.contains("[[island]]") { apart } else { (from, to) };
    let traffic = format!("kind = \"connections\"\nfrom = \"{from}\"\nto = \"{to}\"\nfan_out = 1");
    vec![toml::Value::Table(traffic.parse().unwrap())].into()
}

#[test]
fn every_example_is_a_scenario() {
    for page in &PAGES {
        let blocks = page.blocks();
        assert_eq!(blocks.len(), page.text().matches("```toml\n").count(), "{}", page.0);
        assert!(blocks.len() >= 4 || page.0 == "README.md", "{}", page.0);
        for block in blocks {
            page.completed(&block);
        }
    }
}

#[test]
fn the_examples_of_traffic_run() {
    let page = TRAFFIC;
    let mut kinds = Vec::new();
    for block in page.blocks() {
        let report = run_with(&page.completed(&block), "line-rate", 1, TraceConfig::default());
        kinds.extend(texts(&report, "requests", "kind").to_vec());
        assert!(report.summary.throughput_gbps > 0.0, "{block}");
    }
    for kind in ["read", "write", "incast", "all-reduce"] {
        assert!(kinds.iter().any(|known| known == kind), "no {kind} was completed");
    }
}

/// The page says so: a client has one server then.
#[test]
fn requests_of_a_permutation_ask_one_server() {
    let text = format!(
        "{REST}[[traffic]]\nfrom = \"client\"\nkind = \"requests\"\nsizes = \"solar\"\n\
         destinations = \"permutation\"\nfan_out = 2\n"
    );
    let error = Document::parse(text, "f").unwrap_err().to_string();
    let says =
        "2 is out of range; expected 1 to 1, the server that a permutation gives each client";
    assert!(error.contains(says), "{error}");
}

//! Damaged files: every one is read or refused, none is a panic.

use incast_foreign::{self as foreign, HpccConfig, HpccFct, HpccPfc, HpccTrace, Options};

use super::{CHAIN, CONFIG, FLOWS, LEAF_SPINE, THREE_TIERS, TOPOLOGY, TRACE};

/// The words that replace others: numbers at the edges, and texts that are no numbers.
const WORDS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "7",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e30",
    "1e-30",
    "1e2147483647",
    "0.1",
    ".",
    "Tier",
    "->",
    "\u{e9}",
    "99999999999999999999999999999999999999999",
];

/// `text` with each of its words in turn replaced, left out and doubled, and each line left out.
fn damaged(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let join = |lines: &[Vec<&str>]| lines.iter().map(|line| line.join(" ") + "\n").collect();
    for line in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(line);
        all.push(join(&without));
        for word in 0..lines[line].len() {
            let mut changed = lines.clone();
            changed[line].insert(word, lines[line][word]);
            all.push(join(&changed));
            changed[line].drain(word..word + 2);
            all.push(join(&changed));
            let mut changed = lines.clone();
            for new in WORDS {
                changed[line][word] = new;
                all.push(join(&changed));
            }
        }
    }
    all
}

#[test]
fn damaged_files_are_read_or_refused() {
    let (mut good, mut bad) = (0, 0);
    let mut count = |result: Result<String, String>| match result {
        Ok(scenario) => {
            scenario.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}\n{scenario}"));
            good += 1;
        }
        Err(error) => {
            assert!(!error.contains('\n'), "{error}");
            bad += 1;
        }
    };
    // With three tiers the aggregation switches have one link up.
    let chain = CHAIN.replace("link_id 1", "link_id 0");
    let sets = [
        vec![
            ("config.txt", CONFIG),
            ("topology.txt", TOPOLOGY),
            ("flow.txt", FLOWS),
            ("trace.txt", TRACE),
        ],
        vec![("chain.cm", CHAIN)],
        vec![("chain.cm", &chain), ("three.topo", THREE_TIERS)],
        vec![
            ("one.cm", "Nodes 8\nConnections 1\n0->7 start 0 size 12500000\n"),
            ("two.topo", LEAF_SPINE),
        ],
    ];
    for set in sets {
        for place in 0..set.len() {
            for text in damaged(set[place].1) {
                let mut files = set.clone();
                files[place].1 = &text;
                let imported = foreign::import(&files, &Options::default());
                count(
                    imported
                        .map(|imported| imported.scenario_toml)
                        .map_err(|error| error.to_string()),
                );
            }
        }
    }
    assert!(good > 1_000 && bad > 1_000, "{good} read, {bad} refused");
}

#[test]
fn damaged_results_are_read_or_refused() {
    for text in damaged(include_str!("hpcc/fct.txt")) {
        let _ = HpccFct::parse("f", &text);
        let _ = HpccPfc::parse("f", &text);
        let _ = HpccTrace::parse("f", &text);
        let _ = HpccConfig::parse("f", &text);
    }
}

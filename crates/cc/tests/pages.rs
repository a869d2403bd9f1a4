//! Every registered algorithm has its page, which tells its name, presets, code and departures.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use incast_cc::registry::{AnyAlgorithm, NAMES};

#[test]
fn every_algorithm_has_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms");
    for name in NAMES {
        let path = folder.join(format!("{name}.md"));
        let page = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{name} has no page {}: {error}", path.display()));
        let algorithm = AnyAlgorithm::named(name).unwrap();
        assert!(page.contains(&format!("`{name}`")), "the page of {name} does not name it");
        for preset in algorithm.presets().iter().filter(|preset| preset.name != "default") {
            assert!(page.contains(preset.name), "the page of {name} lacks preset {}", preset.name);
        }
        for section in ["crates/cc/src/", "Departures"] {
            let exempt = section == "Departures" && *name == "line-rate";
            assert!(exempt || page.contains(section), "the page of {name} lacks {section:?}");
        }
    }
}

//! The description of what can be chosen.

use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use incast_sim::FIGURES;
use incast_sim::scenario::json_schema;
use serde_json::{Value, json};

/// The algorithms, the schema, and the figures of a summary.
pub(crate) fn about() -> Value {
    let named = NAMES.iter().filter_map(|name| AnyAlgorithm::named(name));
    let figures = FIGURES.iter().map(|(name, unit, doc)| json!([name, unit, doc]));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "algorithms": named.map(algorithm).collect::<Vec<_>>(),
        "schema": serde_json::from_str::<Value>(&json_schema()).unwrap_or_default(),
        "figures": figures.collect::<Vec<_>>(),
    })
}

fn algorithm(algorithm: AnyAlgorithm) -> Value {
    let info = algorithm.info();
    let presets = algorithm
        .presets()
        .iter()
        .map(|preset| json!({ "name": preset.name, "source": preset.source }));
    let parameters = algorithm.params().iter().map(|param| {
        json!({
            "name": param.name,
            "doc": param.doc.trim(),
            "unit": param.unit,
            "range": param.range,
            "source": param.source,
        })
    });
    json!({
        "name": algorithm.name(),
        "summary": info.summary,
        "kind": info.kind.as_str(),
        "signal": info.signal,
        "needs": info.needs.iter().map(|need| need.as_str()).collect::<Vec<_>>(),
        "source": info.source,
        "presets": presets.collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

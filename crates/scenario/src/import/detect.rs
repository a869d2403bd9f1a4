//! The kind of a file, found from its content.

use super::{ForeignError, Kind, Source};
use crate::foreign::HpccResults;
use crate::foreign::hpcc_config::{Config, is_key};

/// The kind of each file. A configuration tells the kinds of the files that it names.
pub(super) fn detect(sources: &[Source<'_>]) -> Result<Vec<Kind>, ForeignError> {
    let mut kinds: Vec<_> = sources.iter().map(|source| guess(source.text)).collect();
    for (config, _) in
        sources.iter().zip(kinds.clone()).filter(|(_, kind)| *kind == Some(Kind::HpccConfig))
    {
        let config = Config::parse(config.name, config.text)?;
        let named = |key: &str| config.files.get(key).map(|name| Source { name, text: "" }.base());
        for (key, kind) in [
            ("TOPOLOGY_FILE", Kind::HpccTopology),
            ("FLOW_FILE", Kind::HpccFlows),
            ("TRACE_FILE", Kind::HpccTrace),
        ] {
            let named = sources.iter().position(|source| Some(source.base()) == named(key));
            if let Some(place) = named {
                kinds[place] = Some(kind);
            }
        }
    }
    let found = sources.iter().zip(kinds).map(|(source, kind)| {
        kind.ok_or_else(|| {
            let name = source.name;
            if HpccResults::of(source.text).is_some() {
                return ForeignError::Together(format!(
                    "{name}: results of HPCC's simulator, of which no scenario is made; import them \
                     alone, as a table"
                ));
            }
            let names: Vec<_> = Kind::NAMES.iter().map(|(name, _)| *name).collect();
            ForeignError::Together(format!(
                "{name}: found none of the formats that are known; name it, as one of {}",
                names.join(", ")
            ))
        })
    });
    found.collect()
}

fn guess(text: &str) -> Option<Kind> {
    let lines = || {
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.filter(|words| words.first().is_some_and(|word| !word.starts_with('#')))
    };
    let first = lines().next()?;
    if first.iter().all(|word| word.parse::<u64>().is_ok()) {
        let counted: usize = first[0].parse().ok()?;
        return match (first.len(), lines().nth(1)) {
            (3, _) => Some(Kind::HpccTopology),
            // Six columns are a flow, unless they are the six nodes that the header announced.
            (1, Some(words)) if words.len() == 6 && counted != 6 => Some(Kind::HpccFlows),
            (1, Some(words)) if words.len() == 6 => {
                let more = lines().nth(2).is_some();
                Some(if more { Kind::HpccFlows } else { Kind::HpccTrace })
            }
            (1, _) => Some(Kind::HpccTrace),
            _ => None,
        };
    }
    let keys = || lines().map(|words| words[0].to_ascii_lowercase());
    if keys().any(|key| key == "tiers" || key == "podsize") {
        return Some(Kind::HtsimTopology);
    }
    if keys().any(|key| key == "connections") || first[0].contains("->") {
        return Some(Kind::HtsimMatrix);
    }
    is_key(first[0]).then_some(Kind::HpccConfig)
}

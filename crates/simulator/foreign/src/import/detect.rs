//! The kind of a file, found from its content.

use super::{ForeignError, Kind, Source};
use crate::hpcc_config::{Config, is_key};
use crate::hpcc_header::Header;
use crate::text::refused;
use crate::{BOTH, Format, HpccResults, Reading};

/// The kind of each file. A configuration tells the kinds of the files that it names, and `told`
/// is the simulator of flows that may be of two.
pub(super) fn detect(
    sources: &[Source<'_>],
    told: Option<Format>,
) -> Result<Vec<Kind>, ForeignError> {
    let mut kinds: Vec<_> = sources.iter().map(|source| guess(source.text)).collect();
    for (config, _) in
        sources.iter().zip(kinds.clone()).filter(|(_, kind)| *kind == Some(Kind::HpccConfig))
    {
        let config = Config::parse(config.name, config.text)?;
        let place = |key: &str| {
            let named = config.files.get(key).map(|name| Source { name, text: "" }.base());
            sources.iter().position(|source| Some(source.base()) == named)
        };
        if let Some(place) = place("TCP_FLOW_FILE") {
            let name = sources[place].name;
            return Err(ForeignError::Together(format!(
                "{name}: flows over TCP (TCP_FLOW_FILE in the configuration) are not read; leave \
                 it out"
            )));
        }
        for (key, kind) in [
            ("TOPOLOGY_FILE", Kind::HpccTopology),
            ("FLOW_FILE", Kind::HpccFlows),
            ("TRACE_FILE", Kind::HpccTrace),
        ] {
            if let Some(place) = place(key) {
                kinds[place] = Some(kind);
            }
        }
    }
    let found = sources.iter().zip(kinds).map(|(source, kind)| match kind {
        Some(Kind::HpccFlows) => flows(*source, told),
        Some(kind) => Ok(kind),
        None => Err(unknown(*source)),
    });
    found.collect()
}

/// The kind of a file of flows.
fn flows(source: Source<'_>, told: Option<Format>) -> Result<Kind, ForeignError> {
    match (told, Reading::of(source.text)) {
        (Some(Format::Ns3Rdma), _) | (None, Reading::Ns3Rdma) => Ok(Kind::Ns3RdmaFlows),
        (Some(Format::Hpcc | Format::Htsim), _) | (None, Reading::Hpcc) => Ok(Kind::HpccFlows),
        (None, Reading::Either) => {
            let reason =
                format!("the columns may be {BOTH}; say which with --as hpcc or --as ns3-rdma");
            Err(refused(source.name, 2, reason))
        }
    }
}

fn unknown(source: Source<'_>) -> ForeignError {
    let name = source.name;
    if HpccResults::of(source.text).is_some() {
        return ForeignError::Together(format!(
            "{name}: results of HPCC's simulator, of which no scenario is made; import them alone, \
             as a table"
        ));
    }
    let names: Vec<_> = Kind::NAMES.iter().map(|(name, _)| *name).collect();
    ForeignError::Together(format!(
        "{name}: found none of the formats that are known; name it, as one of {}",
        names.join(", ")
    ))
}

fn guess(text: &str) -> Option<Kind> {
    let lines = || {
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.filter(|words| words.first().is_some_and(|word| !word.starts_with('#')))
    };
    let first = lines().next()?;
    if Header::is(&first) {
        return Some(Kind::HpccTopology);
    }
    if let [count] = first.as_slice()
        && let Ok(count) = count.parse::<usize>()
    {
        // The header of nodes to trace counts the numbers that follow, and that of flows counts
        // lines, in which more numbers follow.
        let mut words = lines().skip(1).flatten();
        let traced = words.by_ref().take(count).all(|word| word.parse::<u32>().is_ok())
            && words.next().is_none_or(|word| word.parse::<f64>().is_err());
        let columns = lines().nth(1).map_or(0, |words| words.len());
        let flows = matches!(columns, 5 | 6) && !traced;
        return Some(if flows { Kind::HpccFlows } else { Kind::HpccTrace });
    }
    if first.iter().all(|word| word.parse::<u64>().is_ok()) {
        return None;
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

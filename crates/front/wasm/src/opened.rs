//! The description of a scenario that is open, and what keeps it from being run here.

use incast_cc::{Rate, Span};
use incast_sim::scenario::{Document, Published, Scenario, ScenarioError, Scheme, topology};
use incast_sim::topology::{Node, Topology};
use incast_sim::{Cost, TraceConfig, cost};
use serde_json::{Map, Value, json};

/// The time of this module over the time of native code, measured with the shipped scenarios
/// (docs/guide/page.md).
const SLOWER: f64 = 2.0;
/// The most that a run may take here, by the estimate.
const MOST_SECONDS: f64 = 60.0;
/// A module has 4 GiB of addresses at most, and estimates are right within a factor of two.
const MOST_BYTES: f64 = 1.5e9;
/// The most links that are described one by one.
const MOST_LINKS: usize = 4_000;

/// The description of a document under `schemes`, or under its own where there are none. `before`
/// is the document without assignments.
pub(crate) fn opened(
    before: &Document,
    document: &Document,
    schemes: &[String],
) -> Result<Value, ScenarioError> {
    let scenario = document.scenario();
    let schemes = if schemes.is_empty() { &scenario.run.schemes } else { schemes };
    let schemes: Result<Vec<_>, _> = schemes.iter().map(|name| described(scenario, name)).collect();
    let mut warnings = scenario.load_warnings();
    warnings.extend(scenario.setting_warnings());
    warnings.extend(incast_sim::dead_lock_warnings(scenario));
    warnings.extend(scenario.series_warnings());
    let published: Map<_, _> =
        scenario.published.iter().map(|(name, one)| (name.clone(), of_paper(one))).collect();
    let run = &scenario.run;
    Ok(json!({
        "name": document.name(),
        "title": scenario.title,
        "description": scenario.description.trim(),
        "seed": run.seed.to_string(),
        "duration_us": run.longest().as_us_f64(),
        "warmup_us": run.warmup.as_us_f64(),
        "cooldown_us": (run.cooldown + run.drain.unwrap_or(Span::ZERO)).as_us_f64(),
        "interval_us": scenario.interval().as_us_f64(),
        "schemes": schemes?,
        "published": published,
        "warnings": warnings,
        "network": network(&topology(scenario)),
        "before": values(before),
        "values": values(document),
        "toml": document.text(),
    }))
}

/// The values of a document's text, as JSON.
fn values(document: &Document) -> Value {
    let table = document.text().parse::<toml::Table>().unwrap_or_default();
    serde_json::to_value(table).unwrap_or_default()
}

fn described(scenario: &Scenario, name: &str) -> Result<Value, ScenarioError> {
    let scheme = scenario.scheme(name)?;
    let cost = cost(scenario, &scheme, TraceConfig::default());
    Ok(json!({
        "name": name,
        "algorithm": scheme.algorithm.name(),
        "parameters": parameters(&scheme),
        "warnings": incast_sim::warnings(scenario, name, &scheme),
        "seconds": cost.seconds() * SLOWER,
        "bytes": cost.memory(1),
        "refused": refusal(name, &cost),
    }))
}

fn parameters(scheme: &Scheme) -> Map<String, Value> {
    let value = |name: &str| {
        let mut text = String::new();
        // Writing to a string cannot fail, and the name is one of the algorithm's own.
        let _ = scheme.algorithm.write(name, &mut text);
        text
    };
    let params = scheme.algorithm.params().iter();
    params.map(|param| (param.name.into(), value(param.name).into())).collect()
}

/// The reason why a run is too large for a page, if it is.
pub(crate) fn refusal(scheme: &str, cost: &Cost) -> Option<String> {
    let (seconds, bytes) = (cost.seconds() * SLOWER, cost.memory(1));
    let time = cost.times.first().filter(|_| seconds > MOST_SECONDS).map(|part| part.remedy);
    let memory = cost.parts.first().filter(|_| bytes > MOST_BYTES).map(|part| part.remedy);
    // One remedy may do for both.
    let memory = memory.filter(|_| memory != time);
    let remedies: Vec<_> = time.into_iter().chain(memory).collect();
    (!remedies.is_empty()).then(|| {
        format!(
            "{scheme} would take about {} and {} of memory here, and a page runs what takes at \
             most {} and {}: run it natively, or {}",
            in_time(seconds),
            in_bytes(bytes),
            in_time(MOST_SECONDS),
            in_bytes(MOST_BYTES),
            remedies.join(", and "),
        )
    })
}

/// A time, in two digits.
fn in_time(seconds: f64) -> String {
    let units = [("years", 3.156e7), ("days", 86_400.0), ("hours", 3_600.0), ("min", 60.0)];
    let unit = units.into_iter().find(|(_, length)| seconds >= 2.0 * length);
    unit.map_or_else(
        || format!("{} s", two(seconds)),
        |(unit, length)| format!("{} {unit}", two(seconds / length)),
    )
}

/// An amount of memory, in two digits.
fn in_bytes(count: f64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let unit = units.into_iter().find(|(_, size)| count >= *size);
    unit.map_or_else(
        || "less than 1 MB".into(),
        |(unit, size)| format!("{} {unit}", two(count / size)),
    )
}

fn two(value: f64) -> String {
    if value >= 10.0 {
        let mut tens = 1.0;
        while value / tens >= 100.0 {
            tens *= 10.0;
        }
        format!("{:.0}", (value / tens).round() * tens)
    } else {
        format!("{value:.1}")
    }
}

fn of_paper(published: &Published) -> Value {
    json!({
        "throughput_gbps": published.throughput.map(Rate::as_gbps_f64),
        "rtt_mean_us": published.rtt_mean.map(Span::as_us_f64),
        "rtt_p99_us": published.rtt_p99.map(Span::as_us_f64),
        "source": published.source,
    })
}

/// The nodes, and the links in the order of the table of links: NICs, then ports of switches.
fn network(net: &Topology) -> Value {
    let (hosts, ports) = (net.hosts.len(), net.ports());
    let index = |node: Node| match node {
        Node::Host(host) => host as usize,
        Node::Switch(switch) => hosts + switch as usize,
    };
    let of_hosts = ports.hosts.iter().map(|cables| cables[0]);
    let all = of_hosts.chain(ports.switches.iter().flatten().copied());
    let links = all.map(|(cable, end)| {
        let rate = net.rate((cable, end)).as_gbps_f64();
        let ends = net.cables[cable].ends;
        json!([index(ends[end]), index(ends[1 - end]), rate])
    });
    let count = net.cables.len() * 2;
    let links: Vec<_> = if count <= MOST_LINKS { links.collect() } else { Vec::new() };
    let layers: Vec<_> = net.layers.iter().map(|layer| layer.as_str()).collect();
    json!({
        "hosts": if count <= MOST_LINKS { &net.hosts[..] } else { &[] },
        "switches": net.switches,
        "layers": layers,
        "links": links,
        "host_count": hosts,
        "link_count": count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_two_digits() {
        for (seconds, text) in [(0.3, "0.3 s"), (112.4, "110 s"), (300.0, "5.0 min")] {
            assert_eq!(in_time(seconds), text);
        }
        for (bytes, text) in [(1.0, "less than 1 MB"), (107e6, "110 MB"), (1.5e9, "1.5 GB")] {
            assert_eq!(in_bytes(bytes), text);
        }
    }
}

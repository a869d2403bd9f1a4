//! Scenarios from files of HPCC's simulator.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{Rate, Span};

use super::hpcc_scheme::{Scheme, Used};
use super::write::{Draft, Event, Setting, class_name};
use super::{ForeignError, Kind, Source, estimated_duration, warmup};
use crate::foreign::hpcc_config::{Config, LinkDown};
use crate::foreign::hpcc_homes::Homes;
use crate::foreign::hpcc_topology::after_the_end;
use crate::foreign::text::refused;
use crate::foreign::{Flow, Format, Graph, HpccFlows, HpccTopology, HpccTrace};

/// The end of a run in HPCC's simulator if the configuration has none.
const STOP: Span = Span::from_ms(3_010);

pub(super) fn draft(known: &BTreeMap<Kind, Source<'_>>) -> Result<Draft, ForeignError> {
    let config_source = known.get(&Kind::HpccConfig);
    let config = config_source.map(|source| Config::parse(source.name, source.text)).transpose()?;
    let named = |key: &str| match config.as_ref().and_then(|config| config.files.get(key)) {
        Some(name) => format!(": {key} in the configuration is {name}"),
        None => String::new(),
    };
    let need = |kind: Kind, key: &str| {
        let message = || {
            format!("there is no {} among the files{}; give it as well", kind.as_str(), named(key))
        };
        known.get(&kind).ok_or_else(|| ForeignError::Together(message()))
    };
    let topology_source = need(Kind::HpccTopology, "TOPOLOGY_FILE")?;
    let flow_source = need(Kind::HpccFlows, "FLOW_FILE")?;
    let topology = HpccTopology::parse(topology_source.name, topology_source.text)?;
    let graph = topology.graph(topology_source.name)?;
    let parsed = HpccFlows::parse(flow_source.name, flow_source.text)?;
    for flow in &parsed.flows {
        if let Some(node) = [flow.from, flow.to].into_iter().find(|&node| !topology.is_host(node)) {
            let reason = format!("node {node} is no host in {}", topology_source.name);
            return Err(refused(flow_source.name, flow.line, reason));
        }
    }
    if parsed.flows.is_empty() {
        return Err(refused(flow_source.name, 1, "no flows; a scenario needs some"));
    }
    let homes = Homes::of(&topology);
    let flows = homes.flows(&parsed);
    let mut notes = graph.notes.clone();
    notes.extend(parsed.rest.map(|line| after_the_end(flow_source.name, line, "flow")));
    let classes = classes(&flows, &mut notes);
    let stop = config.as_ref().and_then(|config| config.times.get("SIMULATOR_STOP_TIME"));
    let duration = match (&config, stop) {
        (_, Some(&stop)) => (stop, "SIMULATOR_STOP_TIME".to_owned()),
        (Some(_), None) => (STOP, "the original's default".to_owned()),
        (None, None) => {
            let source = "twice what the flows need at the rates of their hosts".to_owned();
            (estimated_duration(&graph, &flows)?, source)
        }
    };
    if !(Span::from_us(1)..=Span::from_secs(1_000)).contains(&duration.0) {
        let message = format!("SIMULATOR_STOP_TIME of {}; expected 1us to 1000s", duration.0);
        return Err(ForeignError::Together(message));
    }
    let mut draft = Draft {
        title: format!(
            "Imported from HPCC's simulator: {} on {}",
            flow_source.base(),
            topology_source.base()
        ),
        description: format!("Made from {}, in the formats of HPCC's simulator.", names(known)),
        duration,
        warmup: Span::ZERO,
        scheme: ("timely".into(), "no configuration says which; --cc takes another".into()),
        traced: None,
        graph,
        graph_source: format!("{}; the ids of its nodes are in their names", topology_source.name),
        failures: vec![],
        tables: vec![],
        classes,
        flows,
        flow_file: (flow_source.base().to_owned(), flow_source.text.to_owned(), Format::Hpcc),
        flows_differ: homes.several() > 0,
        parameters: vec![],
        notes,
    };
    warmup(&mut draft, if stop.is_some() { " (SIMULATOR_STOP_TIME)" } else { "" })?;
    if let (Some(config), Some(source)) = (&config, config_source) {
        configure(&mut draft, config, source.name, &topology, &homes)?;
    } else {
        draft.notes.push(
            "no configuration: transport, switches and the scheme are this project's until changed"
                .into(),
        );
    }
    if let Some(source) = known.get(&Kind::HpccTrace) {
        trace(&mut draft, source, &topology, &homes, config.as_ref())?;
    }
    Ok(draft)
}

/// A list of names in a sentence: "a.txt, b.txt and c.txt".
pub(super) fn names(known: &BTreeMap<Kind, Source<'_>>) -> String {
    let mut names: Vec<_> = known.values().map(|source| source.name).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last.to_owned() } else { format!("{} and {last}", names.join(", ")) }
}

/// A class for each priority group, where there are several. Group 0 has priority; the others share
/// the rest.
fn classes(flows: &[Flow], notes: &mut Vec<String>) -> Vec<(String, bool, String)> {
    let groups: BTreeSet<u32> = flows.iter().filter_map(|flow| flow.group).collect();
    if groups.len() < 2 {
        return vec![];
    }
    notes.push(
        "queues of priority groups take turns by packets there, here by bytes (DWRR); group 0 goes \
         before all".into(),
    );
    let shared = groups.iter().filter(|&&group| group > 0);
    let class = |&group: &u32| (class_name(group), group > 0, format!("priority group {group}"));
    shared.chain(groups.first().filter(|&&group| group == 0)).map(class).collect()
}

fn configure(
    draft: &mut Draft,
    config: &Config,
    file: &str,
    topology: &HpccTopology,
    homes: &Homes<'_>,
) -> Result<(), ForeignError> {
    let mut used = Used::default();
    let scheme = Scheme::of(config, file, &mut used)?;
    draft.scheme = (scheme.name.to_owned(), scheme.source.clone());
    let mut switch = vec![buffer(config)];
    let mut aqm = Vec::new();
    if config.flag(used.take("ENABLE_QCN"), true) {
        marking(config, file, &draft.graph, &mut switch, &mut aqm, &mut draft.notes, &mut used)?;
    } else {
        used.all(&["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"]);
        draft.notes.push(format!("{file}: ENABLE_QCN 0: switches mark nothing"));
    }
    if scheme.telemetry {
        switch.push(Setting::plain("telemetry", true, scheme.source.clone()));
    }
    draft.tables.push(("switch", switch));
    if !aqm.is_empty() {
        draft.tables.push(("switch.aqm", aqm));
    }
    let pfc = vec![
        Setting::plain("enabled", true, "always on there"),
        Setting::plain("alpha", "0.125", "1/8, as there at the ports of hosts"),
        Setting::quoted("xon_offset", "3072B", "as there"),
    ];
    draft.tables.push(("switch.pfc", pfc));
    if !config.flag(used.take("USE_DYNAMIC_PFC_THRESHOLD"), true) {
        draft.notes.push(format!(
            "{file}: USE_DYNAMIC_PFC_THRESHOLD 0 is ignored: the switches of HPCC's simulator are \
             dynamic all the same"
        ));
    }
    draft.tables.push(("transport", transport(config, &scheme, &mut used)));
    if let Some(down) = &config.link_down {
        let LinkDown { at, ends } = down.value;
        let line = down.line;
        let link =
            topology.links.iter().find(|link| link.ends == ends || link.ends == [ends[1], ends[0]]);
        if link.is_none() {
            let reason = format!(
                "LINK_DOWN names nodes {} and {}, which no link connects",
                ends[0], ends[1]
            );
            return Err(refused(file, line, reason));
        }
        if at < draft.duration.0 {
            let source = "LINK_DOWN counts from 2 s".to_owned();
            let link = [homes.end(ends[0], ends[1]), homes.end(ends[1], ends[0])];
            if ends.iter().any(|&node| homes.names(node).len() > 1) {
                draft.notes.push(format!(
                    "{file}:{line}: LINK_DOWN of a host with several links: flows of that NIC wait; \
                     there they go on with another"
                ));
            }
            draft.failures.push(Event { at, link, rate: None, source });
        } else {
            let end = draft.duration.0;
            draft.notes.push(format!("{file}: LINK_DOWN at {at} comes after the end at {end}"));
        }
    }
    used.take("ENABLE_TRACE");
    draft.parameters = scheme.parameters;
    draft.notes.extend(scheme.notes);
    draft.notes.extend(used.others(config, file, scheme.name));
    Ok(())
}

fn buffer(config: &Config) -> Setting {
    match config.buffer {
        // 16 MiB is exactly 16777216 B, which no decimal unit writes shorter.
        Some(buffer) if buffer.get() % (1 << 20) == 0 => {
            Setting::quoted("buffer", format!("{}MiB", buffer.get() >> 20), "BUFFER_SIZE")
        }
        Some(buffer) => Setting::quoted("buffer", buffer, "BUFFER_SIZE"),
        None => Setting::quoted("buffer", "16MiB", "the original's default"),
    }
}

/// The marking of the switches as RED, for the rate that most of their ports have.
fn marking(
    config: &Config,
    file: &str,
    graph: &Graph,
    switch: &mut Vec<Setting>,
    aqm: &mut Vec<Setting>,
    notes: &mut Vec<String>,
    used: &mut Used,
) -> Result<(), ForeignError> {
    const MAPS: [&str; 3] = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"];
    used.all(&MAPS);
    let [Some(min), Some(max), Some(probability)] = MAPS.map(|key| config.maps.get(key)) else {
        notes
            .push(format!("{file}: without KMIN_MAP, KMAX_MAP and PMAX_MAP switches mark nothing"));
        return Ok(());
    };
    let switches: BTreeSet<_> = graph.switches.iter().map(|switch| switch.name.as_str()).collect();
    let mut ports: BTreeMap<Rate, usize> = BTreeMap::new();
    for link in &graph.links {
        *ports.entry(link.rate).or_default() +=
            link.ends.iter().filter(|end| switches.contains(end.as_str())).count();
    }
    for rate in ports.keys() {
        for (key, map) in MAPS.iter().zip([min, max, probability]) {
            if !map.value.contains_key(&rate.as_bps()) {
                let reason = format!("{key} has no value for links of {rate}; add it");
                return Err(refused(file, map.line, reason));
            }
        }
    }
    // The lowest rate among those with the most ports: rates ascend, and `max_by_key` takes the
    // last.
    let Some((rate, _)) = ports.iter().rev().max_by_key(|(_, ports)| **ports) else {
        return Ok(());
    };
    let at = |rate: &Rate| [min, max, probability].map(|map| map.value[&rate.as_bps()]);
    let [low, high, most] = at(rate);
    let bytes = incast_cc::Bytes::new;
    if low > high {
        let reason = format!("KMIN of {} is above KMAX of {} at {rate}", bytes(low), bytes(high));
        return Err(refused(file, min.line, reason));
    }
    if high == 0 || most > 1_000_000 {
        let reason = format!(
            "KMAX of {} and PMAX of {} at {rate}; expected KMAX above 0 and PMAX up to 1",
            bytes(high),
            millionths(most)
        );
        return Err(refused(file, max.line, reason));
    }
    let source = |key: &str| format!("{key} at {rate}");
    // A ramp starts at one byte or more; no queue with a packet is shorter.
    let low = low.max(1);
    if low == high {
        // A queue above KMAX marks every packet.
        switch.push(Setting::quoted("ecn_threshold", bytes(high), source("KMAX_MAP")));
    } else {
        aqm.push(Setting::quoted("kind", "red", "KMIN_MAP, KMAX_MAP and PMAX_MAP"));
        aqm.push(Setting::quoted("min", bytes(low), source("KMIN_MAP")));
        aqm.push(Setting::quoted("max", bytes(high), source("KMAX_MAP")));
        aqm.push(Setting::plain("max_probability", millionths(most), source("PMAX_MAP")));
        aqm.push(Setting::plain("gentle", false, "above KMAX all are marked"));
        aqm.push(Setting::plain("weight", 1, "the queue as it is"));
        aqm.push(Setting::plain("drop", false, "ACKs are not dropped"));
    }
    let others = ports.keys().filter(|other| at(other) != at(rate)).map(|other| {
        let [low, high, most] = at(other);
        format!("{} to {} with up to {} at {other}", bytes(low), bytes(high), millionths(most))
    });
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        notes.push(format!(
            "{file}: all ports mark as those of {rate} do, which most ports have; there it is {}",
            others.join(", ")
        ));
    }
    Ok(())
}

fn millionths(value: u64) -> String {
    let (whole, rest) = (value / 1_000_000, value % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

/// Packet sizes as in HPCC's simulator: payload, and headers with the INT or the time stamp that
/// the scheme needs.
fn transport(config: &Config, scheme: &Scheme, used: &mut Used) -> Vec<Setting> {
    let payload = config.payload.unwrap_or(incast_cc::Bytes::new(1_000));
    let header = incast_cc::Bytes::new(48 + scheme.stamp);
    // PPP, IP, 12 bytes and the stamps; at least 60 bytes in HPCC's simulator, and 64 here.
    let ack = incast_cc::Bytes::new((46 + scheme.stamp).max(64));
    used.all(&["ACK_HIGH_PRIO", "L2_ACK_INTERVAL"]);
    let mut settings = vec![
        Setting::quoted(
            "segment",
            payload,
            "PACKET_PAYLOAD_SIZE: every packet is paced and acknowledged",
        ),
        Setting::quoted("mtu", payload + header, "PACKET_PAYLOAD_SIZE and headers"),
        Setting::quoted(
            "header",
            header,
            "PPP, IP, UDP, sequence number, and what the scheme stamps",
        ),
        Setting::quoted("ack", ack, ""),
        Setting::plain("ack_priority", config.flag("ACK_HIGH_PRIO", false), "ACK_HIGH_PRIO"),
        Setting::quoted("ack_turnaround", "0us", "as there"),
    ];
    if let Some(interval) = scheme.cnp_interval {
        settings.push(Setting::quoted(
            "cnp_interval",
            interval,
            "RATE_DECREASE_INTERVAL, which the sender keeps there",
        ));
    }
    settings
}

/// The nodes that are traced.
fn trace(
    draft: &mut Draft,
    source: &Source<'_>,
    topology: &HpccTopology,
    homes: &Homes<'_>,
    config: Option<&Config>,
) -> Result<(), ForeignError> {
    let trace = HpccTrace::parse(source.name, source.text)?;
    let (known, unknown): (Vec<u32>, Vec<u32>) =
        trace.nodes.iter().partition(|&&node| node < topology.nodes);
    if !unknown.is_empty() {
        draft.notes.push(format!(
            "{}: nodes {unknown:?} are not in the topology and ignored, as there",
            source.name
        ));
    }
    let off = config.is_some_and(|config| !config.flag("ENABLE_TRACE", true));
    let source = format!("{}{}", source.name, if off { "; ENABLE_TRACE is 0" } else { "" });
    draft.notes.push(format!(
        "{source}: nodes are traced where the command asks for it, with --trace packets"
    ));
    let names = known.iter().flat_map(|&node| homes.names(node)).collect();
    draft.traced = Some((names, source));
    Ok(())
}

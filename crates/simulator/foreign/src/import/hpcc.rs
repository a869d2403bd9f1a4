//! Scenarios from files of HPCC's simulator.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::Span;

use super::hpcc_marking::{buffer, marking};
use super::hpcc_scheme::{Scheme, Used};
use super::write::{Draft, Event, Setting, class_name};
use super::{ForeignError, Kind, LONGEST, Source, estimated_duration, warmup};
use crate::hpcc_config::{Config, LinkDown};
use crate::hpcc_flows::RDMA_PAYLOAD;
use crate::hpcc_header::Origin;
use crate::hpcc_homes::Homes;
use crate::hpcc_topology::after_the_end;
use crate::text::{refused, shortened};
use crate::{Flow, Format, Graph, HpccFlows, HpccTopology, HpccTrace, Start};

/// The time at which ConWeave's flows stop to start.
const FLOWS_STOP: &str = "FLOWGEN_STOP_TIME";
/// The end of a run in HPCC's simulator if the configuration has none.
const STOP: Span = Span::from_ms(3_010);

pub(super) fn draft(known: &BTreeMap<Kind, Source<'_>>) -> Result<Draft, ForeignError> {
    let config_source = known.get(&Kind::HpccConfig);
    let config = config_source.map(|source| Config::parse(source.name, source.text)).transpose()?;
    let missing = |kind: Kind, key: &str| {
        let named = match config.as_ref().and_then(|config| config.files.get(key)) {
            Some(name) => format!(": {key} in the configuration is {name}"),
            None => String::new(),
        };
        let kind = kind.as_str();
        ForeignError::Together(format!(
            "there is no {kind} among the files{named}; give it as well"
        ))
    };
    let topology_source = known
        .get(&Kind::HpccTopology)
        .ok_or_else(|| missing(Kind::HpccTopology, "TOPOLOGY_FILE"))?;
    let topology = HpccTopology::parse(topology_source.name, topology_source.text)?;
    let graph = topology.graph(topology_source.name)?;
    let (flow_source, parsed) = read_flows(known, config.as_ref())?.ok_or_else(|| {
        if topology.origin != Origin::SimAi {
            return missing(Kind::HpccFlows, "FLOW_FILE");
        }
        ForeignError::Together(format!(
            "{} is SimAI's, whose flows come from a workload that is not read here; give flows in \
             HPCC's columns as well, or name the topology in [network.file] of a scenario of your \
             own",
            topology_source.name
        ))
    })?;
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
    let last_end = parsed.flows.iter().map(|flow| flow.end).max().flatten();
    let (duration, drain) = duration(config.as_ref(), (&graph, &flows, last_end), &mut notes)?;
    if let Some(end) = parsed.flows.iter().filter_map(|flow| flow.end).min()
        && end < duration.0
    {
        notes.push(format!(
            "{}: the ends of flows are ignored: a flow that is late goes on until all is sent",
            flow_source.name
        ));
    }
    let all = flows.len();
    let flows = in_time(flows, duration.0, flow_source.name, &mut notes);
    let differ = homes.several() > 0 || flows.len() < all;
    let classes = classes(&flows, &mut notes);
    let (format, odd_payload) = match parsed.payload {
        Some(payload) => (Format::Ns3Rdma, payload != RDMA_PAYLOAD),
        None => (Format::Hpcc, false),
    };
    let stops = duration.1 == "SIMULATOR_STOP_TIME";
    let mut draft = Draft {
        title: format!(
            "Imported from HPCC's simulator: {} on {}",
            flow_source.base(),
            topology_source.base()
        ),
        description: format!("Made from {}, in the formats of HPCC's simulator.", names(known)),
        duration,
        drain,
        warmup: Span::ZERO,
        scheme: ("timely".into(), "no configuration says which; --cc takes another".into()),
        traced: None,
        graph,
        graph_source: format!("{}; the ids of its nodes are in their names", topology_source.name),
        graph_file: Some(topology_source.beside(Format::Hpcc)),
        failures: vec![],
        tables: vec![],
        classes,
        flows,
        flow_file: flow_source.beside(format),
        flows_differ: differ || odd_payload,
        parameters: vec![],
        notes,
    };
    warmup(&mut draft, if stops { " (SIMULATOR_STOP_TIME)" } else { "" })?;
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

/// The file of flows, and its content; [`None`] where there is none.
fn read_flows<'a>(
    known: &BTreeMap<Kind, Source<'a>>,
    config: Option<&Config>,
) -> Result<Option<(Source<'a>, HpccFlows)>, ForeignError> {
    let hpcc = known.get(&Kind::HpccFlows);
    match (hpcc, known.get(&Kind::Ns3RdmaFlows)) {
        (None, None) => Ok(None),
        (Some(one), Some(other)) => {
            let message = format!("{} and {} are both flows; give one", one.name, other.name);
            Err(ForeignError::Together(message))
        }
        (Some(&source), None) => Ok(Some((source, HpccFlows::parse(source.name, source.text)?))),
        (None, Some(&source)) => {
            let payload = config.and_then(|config| config.payload).unwrap_or(RDMA_PAYLOAD);
            Ok(Some((source, HpccFlows::rdma(source.name, source.text, payload)?)))
        }
    }
}

/// The flows that start before the end, with a note on the others. With none in time, all stay, and
/// the import refuses them by the first.
fn in_time(flows: Vec<Flow>, end: Span, file: &str, notes: &mut Vec<String>) -> Vec<Flow> {
    let (early, late): (Vec<Flow>, Vec<Flow>) =
        flows.into_iter().partition(|flow| !matches!(flow.start, Start::At(at) if at >= end));
    match (early.is_empty(), late.len()) {
        (true, _) => return late,
        (false, 0) => {}
        (false, count) => notes
            .push(format!("{file}: flows that start after the end at {end} are left out: {count}")),
    }
    early
}

/// The simulated time and its source, and the limit of a drain where no configuration ends the run.
/// SimAI sets an end that never comes.
fn duration(
    config: Option<&Config>,
    (graph, flows, last_end): (&Graph, &[Flow], Option<Span>),
    notes: &mut Vec<String>,
) -> Result<((Span, String), Option<Span>), ForeignError> {
    const KEY: &str = "SIMULATOR_STOP_TIME";
    if let Some(config) = config
        && let (None, Some(&stop)) = (config.times.get(KEY), config.times.get(FLOWS_STOP))
        && (Span::from_us(1)..=LONGEST).contains(&stop)
    {
        let remedy = "lower FLOWGEN_STOP_TIME in the configuration";
        let limit = estimated_duration(graph, flows, last_end, remedy)?;
        let source = format!("{FLOWS_STOP}; then the run goes on until all have finished");
        return Ok(((stop, source), Some(limit)));
    }
    let told = config.map(|config| config.times.get(KEY).copied().unwrap_or(STOP));
    let is_set = config.is_some_and(|config| config.times.contains_key(KEY));
    let source = if is_set { KEY } else { "the original's default" };
    match told {
        Some(stop) if stop <= LONGEST => {
            if stop < Span::from_us(1) {
                let message = format!("{KEY} of {stop}; expected 1us to 1000s");
                return Err(ForeignError::Together(message));
            }
            return Ok(((stop, source.to_owned()), None));
        }
        Some(_) => notes.push(format!(
            "{KEY} is beyond 1000 s, the longest run: the run ends when the flows should have"
        )),
        None => {}
    }
    let remedy = if config.is_some() {
        "lower SIMULATOR_STOP_TIME in the configuration to 1000 or less"
    } else {
        "give the configuration as well, whose SIMULATOR_STOP_TIME ends the run"
    };
    let estimated = estimated_duration(graph, flows, last_end, remedy)?;
    let how_long = "twice what the flows need at the rates of their hosts".to_owned();
    // Flows that have an end are over then.
    Ok(((estimated, how_long), last_end.is_none().then_some(estimated)))
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
    if topology.origin == Origin::InetTub {
        draft.notes.push(format!(
            "{file}: the topology is of inet-tub's simulator, whose command line has the algorithm \
             (PowerTCP is CC_MODE 3 there); --cc takes another than that of CC_MODE"
        ));
    }
    let mut switch = vec![buffer(config)];
    let mut aqm = Vec::new();
    if config.flag(used.take("ENABLE_QCN"), true) {
        let settings = (&mut switch, &mut aqm);
        marking(config, file, topology, settings, &mut draft.notes, &mut used)?;
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
    let on = config.flag(used.take("ENABLE_PFC"), true);
    let source =
        if config.flags.contains_key("ENABLE_PFC") { "ENABLE_PFC" } else { "always on there" };
    let pfc = vec![
        Setting::plain("enabled", on, source),
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
    draft.notes.extend(config.surplus.iter().map(|key| {
        format!(
            "{file}:{}: what follows the announced pairs of {} is ignored, as there",
            key.line, key.value
        )
    }));
    draft.notes.extend(used.others(config, file, scheme.name));
    Ok(())
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
    settings.extend(scheme.cnp_interval.clone());
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
            "{}: nodes {} are not in the topology and ignored, as there",
            source.name,
            shortened(&unknown)
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

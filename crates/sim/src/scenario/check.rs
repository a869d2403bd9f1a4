//! What types cannot say: names that must exist, sizes that must fit each other.

use std::collections::BTreeSet;

use incast_cc::{Bytes, Rate};
use incast_transport::Config;

use super::error::{Fault, suggestion};
use super::{HostGroup, LeafSpine, Network, Scenario, Transport, TransportKind};
use crate::build::{Named, headroom, topology};
use crate::topology::Topology;

/// Bounds that keep a slip of the pen from filling the memory; a switch's ports are numbered in 16 bits.
const MAX_HOSTS: u64 = 60_000;
const MAX_CONNECTIONS: u64 = 1_000_000;
const MAX_MESSAGES: u64 = 10_000_000;

/// One kind of network, which the parser only counts.
pub(super) fn kinds(text: &str) -> Result<(), Fault> {
    let known = ["star", "dumbbell", "leaf-spine"];
    let Ok(toml::Value::Table(document)) = text.parse::<toml::Table>().map(toml::Value::Table)
    else {
        return Ok(()); // the parser says it better
    };
    let Some(network) = document.get("network").and_then(toml::Value::as_table) else {
        return Ok(());
    };
    for kind in network.keys() {
        if !known.contains(&kind.as_str()) {
            let message = format!("unknown network {kind:?}{}", suggestion(kind, &known));
            return Err(Fault::at([&"network", kind], message));
        }
    }
    if network.len() > 1 {
        let mut kinds: Vec<_> = network.keys().map(String::as_str).collect();
        kinds.sort_by_key(|kind| known.iter().position(|known| known == kind));
        let message = format!("both {}; expected one of them", kinds.join(" and "));
        return Err(Fault::at([&"network", &kinds[kinds.len() - 1]], message));
    }
    Ok(())
}

pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    check_run(scenario)?;
    check_network(scenario)?;
    check_transport(scenario)?;
    let net = topology(&scenario.network);
    check_switch(scenario, &net)?;
    check_traffic(scenario, &net)?;
    for name in scenario.cc.keys() {
        scenario.resolve(name)?;
    }
    for name in scenario.published.keys() {
        scenario
            .resolve(name)
            .map_err(|fault| Fault::at([&"published", name], fault.into_message()))?;
    }
    Ok(())
}

fn check_run(scenario: &Scenario) -> Result<(), Fault> {
    let run = &scenario.run;
    if run.warmup >= run.duration {
        let message = format!(
            "the warm-up of {} leaves nothing of the duration of {} to measure; make it shorter",
            run.warmup, run.duration
        );
        return Err(Fault::at([&"run", &"warmup"], message));
    }
    if let Some(interval) = run.interval
        && (interval > run.duration || run.duration.as_ps() / interval.as_ps() > 100_000)
    {
        let message = format!(
            "an interval of {interval} cuts the duration of {} into {} rows; expected 1 to 100000",
            run.duration,
            run.duration.as_ps() / interval.as_ps()
        );
        return Err(Fault::at([&"run", &"interval"], message));
    }
    if run.schemes.is_empty() {
        let message = "no scheme; expected at least one, such as [\"timely\"]".into();
        return Err(Fault::at([&"run", &"schemes"], message));
    }
    let mut seen = BTreeSet::new();
    for (i, name) in run.schemes.iter().enumerate() {
        if !seen.insert(name) {
            let message = format!("scheme {name:?} is there twice; take one out");
            return Err(Fault::at([&"run", &"schemes", &i], message));
        }
        if let Err(fault) = scenario.resolve(name) {
            // A fault of the scheme's own section has its place there.
            return Err(if scenario.cc.contains_key(name) {
                fault
            } else {
                Fault::at([&"run", &"schemes", &i], fault.into_message())
            });
        }
    }
    Ok(())
}

fn check_network(scenario: &Scenario) -> Result<(), Fault> {
    type Side<'a> = (&'static str, &'static str, &'a [HostGroup]);
    let sides: &[Side<'_>] = match &scenario.network {
        Network::Star(star) => &[("star", "hosts", &star.hosts)],
        Network::Dumbbell(dumbbell) => {
            &[("dumbbell", "left", &dumbbell.left), ("dumbbell", "right", &dumbbell.right)]
        }
        Network::LeafSpine(fabric) => return check_leaf_spine(fabric),
    };
    let (mut names, mut hosts) = (BTreeSet::new(), 0_u64);
    for &(kind, side, groups) in sides {
        if groups.is_empty() {
            let message = format!("no hosts in {side}; expected at least one group");
            return Err(Fault::at([&"network", &kind, &side], message));
        }
        for (i, group) in groups.iter().enumerate() {
            check_name(&group.name)
                .map_err(|message| Fault::at([&"network", &kind, &side, &i, &"name"], message))?;
            let count = u64::from(group.count.unwrap_or(1));
            hosts += count;
            if count == 0 || hosts > MAX_HOSTS {
                let message = out_of_bounds(count, hosts, MAX_HOSTS, "hosts");
                return Err(Fault::at([&"network", &kind, &side, &i, &"count"], message));
            }
            for name in Named::of(group).hosts().chain(group.count.map(|_| group.name.clone())) {
                if !names.insert(name.clone()) {
                    let message = format!("there are two hosts called {name:?}; rename a group");
                    return Err(Fault::at([&"network", &kind, &side, &i, &"name"], message));
                }
            }
        }
    }
    if hosts < 2 {
        return Err(Fault::at([&"network"], "one host alone; expected at least two".into()));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if well_formed {
        return Ok(());
    }
    Err(format!("{name:?} is no name for a host; expected a letter, then letters, digits, - and _"))
}

fn check_leaf_spine(fabric: &LeafSpine) -> Result<(), Fault> {
    const KIND: &str = "leaf-spine";
    check_name(&fabric.hosts.name)
        .map_err(|message| Fault::at([&"network", &KIND, &"hosts", &"name"], message))?;
    for (field, count) in [("leaves", fabric.leaves), ("spines", fabric.spines)] {
        if !(1..=4_096).contains(&count) {
            let message = format!("{count} is out of range; expected 1 to 4096");
            return Err(Fault::at([&"network", &KIND, &field], message));
        }
    }
    let count = u64::from(fabric.hosts.count.unwrap_or(1));
    let hosts = count * u64::from(fabric.leaves);
    if count == 0 || hosts > MAX_HOSTS {
        let message = out_of_bounds(count, hosts, MAX_HOSTS, "hosts");
        return Err(Fault::at([&"network", &KIND, &"hosts", &"count"], message));
    }
    if hosts < 2 {
        return Err(Fault::at([&"network"], "one host alone; expected at least two".into()));
    }
    Ok(())
}

fn check_transport(scenario: &Scenario) -> Result<(), Fault> {
    let transport = &scenario.transport;
    if transport.header >= transport.mtu {
        let message = format!(
            "headers of {} leave no room for payload in an MTU of {}; make it larger",
            transport.header, transport.mtu
        );
        return Err(Fault::at([&"transport", &"header"], message));
    }
    let config = Config {
        segment: transport.segment,
        payload: transport.mtu.saturating_sub(transport.header),
        line_rate: Rate::from_gbps(1),
        ..Config::default()
    };
    if let Err(error) = config.check() {
        return Err(Fault::at([&"transport", &"segment"], error.to_string()));
    }
    for kind in [TransportKind::Message, TransportKind::Stream] {
        let [_, min, max] = transport.timeouts(kind);
        if min > max {
            let message = format!("rto_min of {min} is above rto_max of {max}; change one");
            let set = if transport.rto_min.is_some() { &"rto_min" } else { &"rto_max" };
            return Err(Fault::at([&"transport", set], message));
        }
    }
    check_stream(transport)
}

fn check_stream(transport: &Transport) -> Result<(), Fault> {
    let stream = &transport.stream;
    let at = |field: &'static str, message: String| {
        Err(Fault::at([&"transport", &"stream", &field as &dyn std::fmt::Display], message))
    };
    let mss = transport.mss();
    if mss + transport.header > transport.mtu {
        let message = format!(
            "an MSS of {mss} and headers of {} do not fit the MTU of {}; make one smaller",
            transport.header, transport.mtu
        );
        return at("mss", message);
    }
    for (field, value, low, high) in [
        ("delayed_ack", stream.delayed_ack, 1, 64),
        ("initial_window", stream.initial_window, 1, 10_000),
        ("slow_start_limit", stream.slow_start_limit, 1, u32::MAX),
        ("pace_windows_percent", stream.pace_windows_percent, 1, 10_000),
    ] {
        if let Some(value) = value
            && !(low..=high).contains(&value)
        {
            return at(field, format!("{value} is out of range; expected {low} to {high}"));
        }
    }
    for (field, buffer) in
        [("send_buffer", stream.send_buffer), ("receive_buffer", stream.receive_buffer)]
    {
        if let Some(buffer) = buffer
            && buffer < mss
        {
            let message = format!("a buffer of {buffer} does not hold one segment of {mss}");
            return at(field, message);
        }
    }
    Ok(())
}

fn check_switch(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let switch = &scenario.switch;
    if let Some(limit) = switch.queue_limit
        && limit > switch.buffer
    {
        let message = format!("a queue of {limit} does not fit the buffer of {}", switch.buffer);
        return Err(Fault::at([&"switch", &"queue_limit"], message));
    }
    if switch.buffer < scenario.transport.mtu {
        let message = format!(
            "a buffer of {} does not hold one packet of {}; make it larger",
            switch.buffer, scenario.transport.mtu
        );
        return Err(Fault::at([&"switch", &"buffer"], message));
    }
    if switch.pfc.enabled {
        for (number, ports) in net.ports().switches.iter().enumerate() {
            let reserved: Bytes =
                ports.iter().map(|&(cable, _)| headroom(scenario, &net.cables[cable])).sum();
            if reserved + scenario.transport.mtu.max(scenario.transport.ack) > switch.buffer {
                let message = format!(
                    "the PFC headroom of {}'s {} ports takes {reserved} of the buffer of {}; make \
                     the buffer larger, or the links shorter",
                    net.switches[number],
                    ports.len(),
                    switch.buffer
                );
                return Err(Fault::at([&"switch", &"buffer"], message));
            }
            let shared = switch.buffer.saturating_sub(reserved);
            if let Some(xoff) = switch.pfc.xoff
                && xoff > shared
            {
                let message = format!(
                    "an XOFF threshold of {xoff} is never reached: {} shares {shared}; make it lower",
                    net.switches[number]
                );
                return Err(Fault::at([&"switch", &"pfc", &"xoff"], message));
            }
        }
    }
    Ok(())
}

fn check_traffic(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    if scenario.traffic.is_empty() {
        let message = "nobody sends anything; expected at least one [[traffic]]".into();
        return Err(Fault::at([&"traffic"], message));
    }
    let groups = scenario.network.group_names();
    let mut known: Vec<&str> = net.hosts.iter().map(String::as_str).collect();
    known.extend(groups);
    let (mut connections, mut messages) = (0_u64, 0_u64);
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        let hosts = |field: &'static str, name: &str| {
            let found = scenario.network.hosts_called(name, net);
            if found.is_empty() {
                let message = format!("unknown host {name:?}{}", suggestion(name, &known));
                return Err(Fault::at([&"traffic", &i, &field], message));
            }
            Ok(found)
        };
        let (from, to) = (hosts("from", &traffic.from)?, hosts("to", &traffic.to)?);
        let to_itself = from.iter().filter(|host| to.binary_search(host).is_ok()).count();
        let pairs = match traffic.fan_out {
            None => (from.len() * to.len() - to_itself) as u64,
            Some(fan_out) => {
                if fan_out == 0 || fan_out as usize > to.len() {
                    let most = to.len();
                    let message = format!(
                        "{fan_out} is out of range; expected 1 to {most}, the hosts of `to`"
                    );
                    return Err(Fault::at([&"traffic", &i, &"fan_out"], message));
                }
                (from.len() * fan_out as usize) as u64
            }
        };
        if pairs == 0 {
            let message = format!("{:?} would send to itself; expected another host", traffic.to);
            return Err(Fault::at([&"traffic", &i, &"to"], message));
        }
        connections += pairs * u64::from(traffic.connections);
        if traffic.connections == 0 || connections > MAX_CONNECTIONS {
            let message = out_of_bounds(
                u64::from(traffic.connections),
                connections,
                MAX_CONNECTIONS,
                "connections",
            );
            return Err(Fault::at([&"traffic", &i, &"connections"], message));
        }
        messages += pairs * u64::from(traffic.connections) * u64::from(traffic.count);
        if traffic.count == 0 || messages > MAX_MESSAGES {
            let message =
                out_of_bounds(u64::from(traffic.count), messages, MAX_MESSAGES, "messages");
            return Err(Fault::at([&"traffic", &i, &"count"], message));
        }
        if traffic.message.is_none() && traffic.count > 1 {
            let message = "messages without end come one by one; set the size of a message".into();
            return Err(Fault::at([&"traffic", &i, &"count"], message));
        }
        let end = scenario.run.duration;
        let field: &dyn std::fmt::Display =
            if traffic.start >= end { &"start" } else { &"start_spread" };
        if traffic.start + traffic.start_spread >= end {
            let message = format!(
                "starts at {} plus up to {}, after the end at {end}; start earlier or run longer",
                traffic.start, traffic.start_spread
            );
            return Err(Fault::at([&"traffic", &i, field], message));
        }
    }
    Ok(())
}

fn out_of_bounds(here: u64, all: u64, most: u64, what: &str) -> String {
    format!("{} {what}; expected 1 to {most} in all", if here == 0 { 0 } else { all })
}

//! Checks that types cannot make: names that must exist, sizes that must fit each other.

mod class;
mod islands;
mod links;
mod receivers;
mod routing;
mod switch;

use std::collections::BTreeSet;

use incast_cc::Rate;
use incast_transport::message::MAX_SEGMENT_PACKETS;
use incast_transport::{Config, ConfigError};

use super::{Scenario, Traffic, Transport, TransportKind};
use crate::hosts::unknown_host;
use crate::topology::{check_names, topology};
use crate::traffic::checked::check_traffic;
use class::check_classes;
use incast_plan::topology::Topology;
use incast_schema::Fault;
use islands::{check_endless, check_islands};
use links::check_links;
use receivers::check_receivers;
use routing::check_routing;
use switch::check_switch;

pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    check_run(scenario)?;
    scenario.network.check()?;
    check_transport(scenario)?;
    let net = topology(scenario);
    check_names(&net)?;
    check_links(scenario, &net)?;
    check_receivers(scenario, &net)?;
    check_islands(scenario, &net)?;
    check_routing(scenario, &net)?;
    check_classes(scenario)?;
    check_switch(scenario, &net)?;
    check_traffic(scenario, &net)?;
    scenario.check_mix()?;
    check_endless(scenario, &net)?;
    check_measure(scenario, &net)?;
    for name in scenario.cc.keys() {
        if name.contains(['[', ']']) {
            let message = "brackets in the name of a section; expected such as [cc.mine], with \
                           the parameters in it"
                .into();
            return Err(Fault::at([&"cc", name], message));
        }
        scenario.resolve(name)?;
    }
    for name in scenario.published.keys() {
        scenario
            .resolve(name)
            .map_err(|fault| Fault::at([&"published", name], fault.into_message()))?;
    }
    Ok(())
}

fn check_measure(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    for (place, name) in scenario.measure.trace.iter().flatten().enumerate() {
        if scenario.network.hosts_called(name, net).is_empty() && net.node(name).is_none() {
            let message = unknown_host(&scenario.network, net, name, &net.switches);
            return Err(Fault::at([&"measure", &"trace", &place], message));
        }
    }
    Ok(())
}

fn check_run(scenario: &Scenario) -> Result<(), Fault> {
    let run = &scenario.run;
    if run.warmup >= run.duration {
        let message = format!(
            "run.warmup = {} leaves nothing of run.duration = {} to measure; set run.warmup to less \
             than {}, or run.duration to more",
            run.warmup, run.duration, run.duration
        );
        return Err(Fault::at([&"run", &"warmup"], message));
    }
    if run.warmup + run.cooldown >= run.duration {
        let message = format!(
            "run.warmup = {} and run.cooldown = {} leave nothing of run.duration = {} to measure; \
             set one of the first two to less, or run.duration to more",
            run.warmup, run.cooldown, run.duration
        );
        return Err(Fault::at([&"run", &"cooldown"], message));
    }
    if let Some(drain) = run.drain
        && scenario.traffic.iter().all(Traffic::is_endless)
    {
        let message = format!(
            "{drain}: all traffic is without end, so there is no message to wait for; give one a \
             size, or take drain out"
        );
        return Err(Fault::at([&"run", &"drain"], message));
    }
    if let Some(interval) = run.interval
        && (interval > run.duration || run.longest().as_ps() / interval.as_ps() > 100_000)
    {
        let message = format!(
            "an interval of {interval} cuts the duration of {} into {} rows; expected 1 to 100000",
            run.longest(),
            run.longest().as_ps() / interval.as_ps()
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
            // A fault of the scheme's own section is reported there.
            return Err(if scenario.cc.contains_key(name) {
                fault
            } else {
                Fault::at([&"run", &"schemes", &i], fault.into_message())
            });
        }
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
        payload: transport.payload(TransportKind::Message),
        line_rate: Rate::from_gbps(1),
        ..Config::default()
    };
    match config.check() {
        Ok(()) => {}
        Err(ConfigError::TooManyPackets(packets)) => {
            let message = format!(
                "transport.segment of {} has {packets} packets at transport.mtu of {}, more than \
                 {MAX_SEGMENT_PACKETS}; set segment to {} or less, or a larger mtu",
                config.segment,
                transport.mtu,
                config.payload * u64::from(MAX_SEGMENT_PACKETS)
            );
            return Err(Fault::at([&"transport", &"segment"], message));
        }
        Err(error) => return Err(Fault::at([&"transport", &"segment"], error.to_string())),
    }
    for kind in TransportKind::ALL {
        let (_, min, max) = transport.timeouts(kind);
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

//! Checks of switches: buffers that are large enough.

use incast_cc::Bytes;

use super::super::{Aqm, EcnScope, Moment, QueueDiscipline, ResolvedClass, Scenario, Switch};
use crate::buffers::{headroom, protected_classes};
use incast_plan::topology::Topology;
use incast_schema::Fault;

/// Checks that the limit in a field can be reached and lets packets through.
pub(super) fn fits(scenario: &Scenario, field: &str, limit: Bytes) -> Result<(), Fault> {
    let (buffer, mtu) = (scenario.switch.buffer, scenario.transport.mtu);
    let message = if limit > buffer {
        format!("a queue of {limit} does not fit the buffer of {buffer}")
    } else if limit < mtu {
        format!("a limit of {limit} drops every packet of {mtu}; make it larger")
    } else {
        return Ok(());
    };
    Err(Fault::at([&field], message))
}

pub(super) fn two_markings(place: &str) -> String {
    format!("{place} has an ecn_threshold and an aqm; only one can judge, take one out")
}

/// Checks that queue management and discipline can be combined, or says that of a field.
pub(super) fn in_order(
    field: &str,
    aqm: Option<&Aqm>,
    discipline: &QueueDiscipline,
) -> Result<(), Fault> {
    let Some(aqm) = aqm.filter(|aqm| !aqm.is_of_whole_port() && !discipline.is_fifo()) else {
        return Ok(());
    };
    let message = format!(
        "queue management ({}) judges packets in the order in which they came, which {} does not \
         keep; take one out",
        aqm.kind(),
        discipline.kind()
    );
    Err(Fault::at([&field], message))
}

/// The largest burst of a token bucket.
const LARGEST_BURST: Bytes = Bytes::from_kb(1_000_000);

/// Checks that the token bucket of each port lets every packet pass.
fn check_burst(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let switch = &scenario.switch;
    let field = if switch.burst.is_some() { "burst" } else { "burst_time" };
    let packet = scenario.transport.mtu.max(scenario.transport.ack);
    for (number, ports) in net.ports().switches.iter().enumerate() {
        for &port in ports {
            let rate = net.rate(port);
            let Some(burst) = switch.burst_at(rate) else { return Ok(()) };
            let wrong = if burst < packet {
                format!("never has the tokens for a packet of {packet}; make it larger")
            } else if burst > LARGEST_BURST {
                format!("is more than {LARGEST_BURST}; make it smaller")
            } else {
                continue;
            };
            let switch = &net.switches[number];
            let message = format!("a burst of {burst} at a port of {switch} with {rate} {wrong}");
            return Err(Fault::at([&"switch", &field], message));
        }
    }
    Ok(())
}

/// Checks that settings of ECN thresholds have a threshold.
fn check_thresholds(scenario: &Scenario) -> Result<(), Fault> {
    let Switch { ecn_scope, ecn_at, .. } = scenario.switch;
    let scope = (ecn_scope == EcnScope::Port).then_some(("ecn_scope", "port"));
    let at = (ecn_at == Moment::Departure).then_some(("ecn_at", "departure"));
    let has_threshold = |class: &ResolvedClass| class.ecn_threshold.is_some();
    match scope.or(at) {
        Some((field, value)) if !scenario.data_classes().iter().any(has_threshold) => {
            let message = format!(
                "{field} = \"{value}\" has no threshold to compare; set switch.ecn_threshold, such \
                 as \"100KB\""
            );
            Err(Fault::at([&"switch", &field], message))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_switch(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let switch = &scenario.switch;
    for (field, limit) in [("queue_limit", switch.queue_limit), ("port_limit", switch.port_limit)] {
        if let Some(limit) = limit {
            fits(scenario, field, limit).map_err(|fault| fault.within(&[&"switch"]))?;
        }
    }
    check_burst(scenario, net)?;
    check_thresholds(scenario)?;
    if let Some(aqm) = &switch.aqm {
        if switch.ecn_threshold.is_some() {
            return Err(Fault::at([&"switch", &"aqm"], two_markings("[switch]")));
        }
        aqm.check().map_err(|(field, message)| Fault::at([&"switch", &"aqm", &field], message))?;
    }
    switch
        .discipline
        .check()
        .map_err(|(field, message)| Fault::at([&"switch", &"discipline", &field], message))?;
    in_order("discipline", switch.aqm.as_ref(), &switch.discipline)
        .map_err(|fault| fault.within(&[&"switch"]))?;
    switch.feedback.check().map_err(|(kind, (field, message))| {
        Fault::at([&"switch", &"feedback", &kind, &field], message)
    })?;
    if switch.buffer < scenario.transport.mtu {
        let message = format!(
            "a buffer of {} does not hold one packet of {}; make it larger",
            switch.buffer, scenario.transport.mtu
        );
        return Err(Fault::at([&"switch", &"buffer"], message));
    }
    if switch.buffer.get() > u64::from(u32::MAX) {
        let message = format!("a buffer of {} is more than 4.29GB; make it smaller", switch.buffer);
        return Err(Fault::at([&"switch", &"buffer"], message));
    }
    if switch.pfc.enabled {
        let protected = protected_classes(scenario);
        for (number, ports) in net.ports().switches.iter().enumerate() {
            let by_port = ports.iter();
            let by_port = by_port.map(|&(cable, end)| headroom(scenario, &net.cables[cable], end));
            let reserved = by_port.sum::<Bytes>() * protected;
            if reserved + scenario.transport.mtu.max(scenario.transport.ack) > switch.buffer {
                let each =
                    if protected > 1 { format!(" and {protected} classes") } else { String::new() };
                let message = format!(
                    "the PFC headroom of {}'s {} ports{each} takes {reserved} of the buffer of {}; make \
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

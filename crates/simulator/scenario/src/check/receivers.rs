//! Checks of slow receivers: each host is told once, and has room for a packet.

use std::collections::BTreeSet;

use super::super::Scenario;
use crate::hosts::unknown_host;
use incast_plan::topology::Topology;
use incast_schema::Fault;

pub(super) fn check_receivers(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let mut told = BTreeSet::new();
    let packet = scenario.transport.mtu.max(scenario.transport.ack);
    for (i, own) in scenario.receivers.iter().enumerate() {
        let at = |field: &'static str, message: String| {
            Err(Fault::at([&"receiver", &i, &field as &dyn std::fmt::Display], message))
        };
        let hosts = scenario.network.hosts_called(&own.hosts, net);
        if hosts.is_empty() {
            return at("hosts", unknown_host(&scenario.network, net, &own.hosts, &[]));
        }
        if let Some(&twice) = hosts.iter().find(|&&host| !told.insert(host)) {
            let name = &net.hosts[twice as usize];
            return at("hosts", format!("host {name:?} is a receiver already; take it out of one"));
        }
        if own.buffer < packet {
            let message = format!(
                "a buffer of {} does not hold a packet of {packet}; make it larger",
                own.buffer
            );
            return at("buffer", message);
        }
        if let Some(stop) = own.stop.filter(|&stop| stop <= own.start) {
            let message =
                format!("a stop at {stop} is not after the start at {}; make it later", own.start);
            return at("stop", message);
        }
    }
    Ok(())
}

//! Traffic between hosts that there are, within what fits the memory.

use super::super::Scenario;
use super::super::error::{Fault, suggestion};
use super::out_of_bounds;
use crate::topology::Topology;

/// Bounds that keep a slip of the pen from filling the memory.
const MAX_CONNECTIONS: u64 = 1_000_000;
const MAX_MESSAGES: u64 = 10_000_000;

pub(super) fn check_traffic(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
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

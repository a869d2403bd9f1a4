//! Traffic between hosts that there are, within what fits the memory.

mod arrivals;
mod lasting;
mod listed;

use std::fmt::Display;

use super::super::{Kind, Scenario, Traffic};
use super::unknown_host;
use crate::bounds::out_of_bounds;
use incast_plan::topology::Topology;
use incast_schema::{Fault, suggestion};

/// Bounds that keep a slip of the pen from filling the memory.
const MAX_CONNECTIONS: u64 = 4_000_000;
const MAX_MESSAGES: u64 = 50_000_000;
const MAX_WEIGHT: u32 = 1_000;

pub(super) fn check_traffic(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    if scenario.traffic.is_empty() {
        let message = "nobody sends anything; expected at least one [[traffic]]".into();
        return Err(Fault::at([&"traffic"], message));
    }
    let (mut connections, mut messages) = (0, 0);
    for (number, traffic) in scenario.traffic.iter().enumerate() {
        let checked = Checked { scenario, net, number, traffic, from: Vec::new(), to: Vec::new() };
        let counts = checked.check()?;
        connections += counts.connections;
        messages += counts.messages;
        if counts.connections == 0 || connections > MAX_CONNECTIONS {
            let message =
                out_of_bounds(counts.connections, connections, MAX_CONNECTIONS, "connections");
            return Err(Fault::at([&"traffic", &number, &"connections"], message));
        }
        if counts.messages == 0 || messages > MAX_MESSAGES {
            let message = out_of_bounds(counts.messages, messages, MAX_MESSAGES, "messages");
            return Err(Fault::at([&"traffic", &number, &"count"], message));
        }
    }
    Ok(())
}

/// How much one traffic asks for, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Connections that are opened.
    pub connections: u64,
    /// Messages that are posted, at least.
    pub messages: u64,
}

/// How much each traffic of a scenario that was checked asks for.
pub fn counts(scenario: &Scenario, net: &Topology) -> Vec<Counts> {
    let checked = scenario.traffic.iter().enumerate().map(|(number, traffic)| {
        Checked { scenario, net, number, traffic, from: Vec::new(), to: Vec::new() }.check()
    });
    let none = Counts { connections: 0, messages: 0 };
    checked.map(|counts| counts.unwrap_or(none)).collect()
}

/// One traffic while it is looked at.
struct Checked<'a> {
    scenario: &'a Scenario,
    net: &'a Topology,
    number: usize,
    traffic: &'a Traffic,
    /// The hosts at both ends.
    from: Vec<u32>,
    to: Vec<u32>,
}

impl Checked<'_> {
    fn check(mut self) -> Result<Counts, Fault> {
        self.check_kind()?;
        self.check_classes()?;
        let kind = self.traffic.kind();
        if let Kind::Flows(list) = kind {
            return self.check_list(list);
        }
        let Some(from) = &self.traffic.from else {
            return Err(
                self.at("from", "nobody starts it; set from, such as a group of hosts".into())
            );
        };
        self.from = self.hosts("from", from)?;
        let to = self.traffic.to.as_ref().map_or(("from", from), |to| ("to", to));
        self.to = self.hosts(to.0, to.1)?;
        if self.pairs() == 0 {
            let message = format!("{:?} would send to itself; expected another host", to.1);
            return Err(self.at(to.0, message));
        }
        self.check_times()?;
        match kind {
            Kind::Lasting => self.check_lasting(),
            Kind::Poisson(poisson) => self.check_poisson(poisson),
            Kind::Incast(incast) => self.check_incast(incast),
            Kind::Requests(requests) => self.check_requests(requests),
            Kind::Collective(collective) => self.check_collective(collective),
            Kind::Flows(_) => unreachable!("it was looked at above"),
        }
    }

    fn at(&self, field: &str, message: String) -> Fault {
        Fault::at([&"traffic", &self.number, &field], message)
    }

    fn within(&self, kind: &str, field: &str, message: String) -> Fault {
        Fault::at([&"traffic", &self.number, &kind, &field], message)
    }

    /// A number that must lie in a range.
    fn in_range<T: PartialOrd + Display + Copy>(
        &self,
        (kind, field): (&str, &str),
        value: T,
        (low, high): (T, T),
    ) -> Result<(), Fault> {
        if value >= low && value <= high {
            return Ok(());
        }
        let message = format!("{value} is out of range; expected {low} to {high}");
        Err(if kind.is_empty() {
            self.at(field, message)
        } else {
            self.within(kind, field, message)
        })
    }

    /// Pairs of different hosts.
    fn pairs(&self) -> u64 {
        let itself = self.from.iter().filter(|host| self.to.binary_search(host).is_ok()).count();
        (self.from.len() * self.to.len() - itself) as u64
    }

    /// How many others each host of `from` has in `to` at least, of those that have any.
    fn others(&self) -> usize {
        (self.to.len() - usize::from(self.some_at_both_ends())).max(1)
    }

    /// Whether there are hosts that would have themselves at the other end.
    fn some_at_both_ends(&self) -> bool {
        self.to.iter().any(|host| self.from.binary_search(host).is_ok())
    }

    fn hosts(&self, field: &str, name: &str) -> Result<Vec<u32>, Fault> {
        let found = self.scenario.network.hosts_called(name, self.net);
        if found.is_empty() {
            return Err(self.at(field, self.unknown_host(name)));
        }
        Ok(found)
    }

    fn unknown_host(&self, name: &str) -> String {
        unknown_host(self.scenario, self.net, name, &[])
    }

    /// One kind, and what belongs to it.
    fn check_kind(&self) -> Result<(), Fault> {
        let kinds: Vec<_> = self.traffic.kinds().iter().map(|kind| kind.as_str()).collect();
        if let [_, second, ..] = kinds[..] {
            let message = format!("{} at once; expected one of them", kinds.join(" and "));
            return Err(self.at(second, message));
        }
        let Some(&kind) = kinds.first() else { return Ok(()) };
        let traffic = self.traffic;
        let takes = |fields: &[&str], field| fields.contains(&field);
        let own: &[&str] = match traffic.kind() {
            Kind::Lasting => return Ok(()),
            Kind::Poisson(_) => &["from", "to", "stop", "operation"],
            Kind::Incast(_) => &["from", "to", "stop"],
            Kind::Requests(_) => &["from", "to", "stop", "connections"],
            Kind::Collective(_) => &["from"],
            Kind::Flows(_) => &[],
        };
        for (field, set) in [
            ("from", traffic.from.is_some()),
            ("to", traffic.to.is_some()),
            ("stop", traffic.stop.is_some()),
            ("connections", traffic.connections.is_some()),
            ("operation", traffic.operation != crate::Operation::default()),
            ("fan_out", traffic.fan_out.is_some()),
            ("start_spread", !traffic.start_spread.is_zero()),
            ("message", traffic.message.is_some()),
            ("count", traffic.count.is_some()),
            ("every", !traffic.every.is_zero()),
        ] {
            if set && !takes(own, field) {
                return Err(self.at(field, format!("{kind} has no {field}; take it out")));
            }
        }
        Ok(())
    }

    fn check_classes(&self) -> Result<(), Fault> {
        let traffic = self.traffic;
        let urgent = traffic.urgent.as_ref();
        let classes = [
            (&["class"][..], traffic.class.as_ref()),
            (&["urgent", "class"][..], urgent.and_then(|urgent| urgent.class.as_ref())),
        ];
        for (path, class) in classes {
            if let Some(class) = class {
                let message = self.unknown_class(class);
                message.map_or(Ok(()), |message| {
                    Err(match path {
                        [field] => self.at(field, message),
                        _ => self.within(path[0], path[1], message),
                    })
                })?;
            }
        }
        self.in_range(("", "weight"), traffic.weight, (1, MAX_WEIGHT))?;
        let weight = urgent.and_then(|urgent| urgent.weight).unwrap_or(1);
        self.in_range(("urgent", "weight"), weight, (1, MAX_WEIGHT))
    }

    /// What is wrong with the name of a class, if anything is.
    fn unknown_class(&self, name: &str) -> Option<String> {
        if self.scenario.class_number(name).is_some() {
            return None;
        }
        let classes = self.scenario.named_classes();
        let known: Vec<_> = classes.iter().map(|class| class.name.as_str()).collect();
        Some(format!("unknown class {name:?}{}", suggestion(name, &known)))
    }

    fn check_times(&self) -> Result<(), Fault> {
        let (traffic, end) = (self.traffic, self.scenario.run.duration);
        if traffic.start + traffic.start_spread >= end {
            let field = if traffic.start >= end { "start" } else { "start_spread" };
            let message = format!(
                "starts at {} plus up to {}, after the end at {end}; start earlier or run longer",
                traffic.start, traffic.start_spread
            );
            return Err(self.at(field, message));
        }
        if let Some(stop) = traffic.stop
            && stop <= traffic.start
        {
            let message = format!("stops at {stop}, before it starts at {}", traffic.start);
            return Err(self.at("stop", format!("{message}; stop later")));
        }
        Ok(())
    }
}

//! Checks of traffic: hosts that exist, and amounts that fit the memory.

use std::fmt::Display;

use super::Traffic;
use crate::Scenario;
use crate::bounds::out_of_bounds;
use crate::hosts::unknown_host;
use incast_plan::topology::Topology;
use incast_schema::{Fault, suggestion};

/// The most connections, which 32 bits number with room to spare. What memory holds is far less: a
/// front end compares it with the estimate before anything is built.
const MAX_CONNECTIONS: u64 = 1_000_000_000;
/// The most messages, so that a typing error does not fill the memory.
const MAX_MESSAGES: u64 = 50_000_000;
/// The sentence that refuses a deadline of a message without end.
pub(crate) const ENDLESS_DEADLINE: &str =
    "a message without end is never complete; set its size, or take the deadline out";
pub(crate) const MAX_WEIGHT: u32 = 1_000;
/// The largest load. Loads above 1 are allowed, for those who want to see the effect.
const MAX_LOAD: f64 = 10.0;

pub(crate) fn check_traffic(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    if scenario.traffic.is_empty() {
        let message = "nobody sends anything; expected at least one [[traffic]]".into();
        return Err(Fault::at([&"traffic"], message));
    }
    let parts = net.parts();
    let (mut connections, mut messages) = (0, 0);
    for number in 0..scenario.traffic.len() {
        let counts = Checked::new(scenario, (net, &parts), number).check()?;
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

/// The approximate number of connections and messages of a traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The number of connections that are opened.
    pub connections: u64,
    /// The smallest number of messages that are posted.
    pub messages: u64,
}

/// The connections and messages of each traffic of a checked scenario.
pub fn counts(scenario: &Scenario, net: &Topology) -> Vec<Counts> {
    let (parts, all) = (net.parts(), 0..scenario.traffic.len());
    let checked = all.map(|number| Checked::new(scenario, (net, &parts), number).check());
    let none = Counts { connections: 0, messages: 0 };
    checked.map(|counts| counts.unwrap_or(none)).collect()
}

/// A traffic while it is checked.
pub(crate) struct Checked<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) net: &'a Topology,
    /// The part of the network that each host is in.
    parts: &'a [u32],
    /// The number of the traffic in the file.
    pub(crate) number: usize,
    pub(crate) traffic: &'a Traffic,
    /// The hosts of `from`, ascending.
    pub(crate) from: Vec<u32>,
    /// The hosts of `to`, or of `from` where `to` is absent, ascending.
    pub(crate) to: Vec<u32>,
}

impl<'a> Checked<'a> {
    fn new(scenario: &'a Scenario, (net, parts): (&'a Topology, &'a [u32]), number: usize) -> Self {
        let traffic = &scenario.traffic[number];
        Self { scenario, net, parts, number, traffic, from: Vec::new(), to: Vec::new() }
    }
}

impl Checked<'_> {
    fn check(mut self) -> Result<Counts, Fault> {
        self.check_classes()?;
        self.check_deadline()?;
        if self.traffic.kind.has("from") {
            self.find_hosts()?;
            self.check_times()?;
        }
        self.traffic.kind.settings().check(&self)
    }

    fn find_hosts(&mut self) -> Result<(), Fault> {
        let common = &self.traffic.common;
        let Some(from) = &common.from else {
            return Err(
                self.at("from", "nobody starts it; set from, such as a group of hosts".into())
            );
        };
        let to = common.to.as_ref().map_or(("from", from), |to| ("to", to));
        self.from = self.hosts("from", from)?;
        self.to = self.hosts(to.0, to.1)?;
        if self.pairs() == 0 {
            let message = format!("{:?} would send to itself; expected another host", to.1);
            return Err(self.at(to.0, message));
        }
        let first = self.from[0];
        match self.from.iter().chain(&self.to).find_map(|&host| self.no_way(first, host)) {
            Some(message) => Err(self.at(to.0, message)),
            None => Ok(()),
        }
    }

    /// The sentence on two hosts between which no way leads.
    pub(crate) fn no_way(&self, from: u32, to: u32) -> Option<String> {
        if self.parts[from as usize] == self.parts[to as usize] {
            return None;
        }
        let [from, to] = [from, to].map(|host| &self.net.hosts[host as usize]);
        Some(format!(
            "no way leads from host {from:?} to host {to:?}; connect their switches, or name hosts \
             that are connected"
        ))
    }

    /// A fault of one of the settings.
    pub(crate) fn at(&self, field: &str, message: String) -> Fault {
        Fault::at([&"traffic", &self.number, &field], message)
    }

    /// Checks that a setting lies in a range.
    pub(crate) fn in_range<T: PartialOrd + Display + Copy>(
        &self,
        field: &str,
        value: T,
        (low, high): (T, T),
    ) -> Result<(), Fault> {
        if value >= low && value <= high {
            return Ok(());
        }
        Err(self.at(field, format!("{value} is out of range; expected {low} to {high}")))
    }

    /// Checks the setting `load`.
    pub(crate) fn check_load(&self, load: f64) -> Result<(), Fault> {
        if load > 0.0 && load <= MAX_LOAD {
            return Ok(());
        }
        let per_cent = if load > MAX_LOAD && load <= MAX_LOAD * 100.0 {
            format!("; is it per cent? {load} % is {}", load / 100.0)
        } else {
            String::new()
        };
        let message = format!(
            "{load} is out of range; expected above 0, up to {MAX_LOAD}, as a share of the links{per_cent}"
        );
        Err(self.at("load", message))
    }

    /// The number of pairs of different hosts.
    pub(crate) fn pairs(&self) -> u64 {
        let itself = self.from.iter().filter(|host| self.to.binary_search(host).is_ok()).count();
        (self.from.len() * self.to.len() - itself) as u64
    }

    /// The smallest number of other hosts in `to` for a host of `from`, among hosts that have any.
    pub(crate) fn others(&self) -> usize {
        (self.to.len() - usize::from(self.some_at_both_ends())).max(1)
    }

    /// Whether a host is in both `from` and `to`.
    pub(crate) fn some_at_both_ends(&self) -> bool {
        self.to.iter().any(|host| self.from.binary_search(host).is_ok())
    }

    /// The number of messages of mean size `bytes` that arrive during the run, at least one, for a
    /// load on the links of `hosts`.
    pub(crate) fn arrivals(&self, load: f64, bytes: f64, hosts: &[u32]) -> u64 {
        let ports = self.net.ports();
        let rate = |&host: &u32| {
            let rates = self.net.cables[ports.hosts[host as usize][0].0].rates;
            rates[0].max(rates[1]).as_bps() as f64
        };
        self.messages(load * hosts.iter().map(rate).sum::<f64>(), bytes)
    }

    /// The number of messages of mean size `bytes` that offer `bps` bits per second during the run.
    pub(crate) fn messages(&self, bps: f64, bytes: f64) -> u64 {
        let seconds = self.scenario.run.duration.as_secs_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let arrivals = (bps * seconds / (8.0 * bytes)) as u64;
        arrivals.max(1)
    }

    fn hosts(&self, field: &str, name: &str) -> Result<Vec<u32>, Fault> {
        let found = self.scenario.network.hosts_called(name, self.net);
        if found.is_empty() {
            return Err(self.at(field, self.unknown_host(name)));
        }
        Ok(found)
    }

    pub(crate) fn unknown_host(&self, name: &str) -> String {
        unknown_host(&self.scenario.network, self.net, name, &[])
    }

    fn check_classes(&self) -> Result<(), Fault> {
        let common = &self.traffic.common;
        if let Some(message) = common.class.as_ref().and_then(|name| self.unknown_class(name)) {
            return Err(self.at("class", message));
        }
        self.in_range("weight", common.weight, (1, MAX_WEIGHT))?;
        let Some(urgent) = &common.urgent else { return Ok(()) };
        let within = |field: &str, message| {
            Fault::at([&"traffic", &self.number, &"urgent", &field], message)
        };
        if let Some(message) = urgent.class.as_ref().and_then(|name| self.unknown_class(name)) {
            return Err(within("class", message));
        }
        let weight = urgent.weight.unwrap_or(1);
        let checked = self.in_range("", weight, (1, MAX_WEIGHT));
        checked.map_err(|fault| within("weight", fault.into_message()))
    }

    /// Checks the setting `deadline`.
    fn check_deadline(&self) -> Result<(), Fault> {
        let Some(deadline) = &self.traffic.common.deadline else { return Ok(()) };
        if self.traffic.is_endless() {
            return Err(self.at("deadline", ENDLESS_DEADLINE.into()));
        }
        let place: [&dyn Display; 3] = [&"traffic", &self.number, &"deadline"];
        deadline.check().map_err(|fault| fault.within(&place))
    }

    /// The sentence that refuses the name of a class; [`None`] if the name is right.
    pub(crate) fn unknown_class(&self, name: &str) -> Option<String> {
        if self.scenario.class_number(name).is_some() {
            return None;
        }
        let classes = self.scenario.named_classes();
        let known: Vec<_> = classes.iter().map(|class| class.name.as_str()).collect();
        Some(format!("unknown class {name:?}{}", suggestion(name, &known)))
    }

    fn check_times(&self) -> Result<(), Fault> {
        let (common, end) = (&self.traffic.common, self.scenario.run.duration);
        if common.start >= end {
            let message = format!(
                "starts at {}, after the end at {end}; start earlier or run longer",
                common.start
            );
            return Err(self.at("start", message));
        }
        if let Some(stop) = common.stop
            && stop <= common.start
        {
            let message = format!("stops at {stop}, before it starts at {}", common.start);
            return Err(self.at("stop", format!("{message}; stop later")));
        }
        Ok(())
    }
}

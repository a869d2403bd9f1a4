//! The amount that each traffic sends, for an estimate of the memory and the time of a run.

use std::collections::BTreeMap;

use incast_plan::flows::Operation;
use incast_plan::islands::Islands;
use incast_plan::topology::{Node, Topology};

use super::Traffic;
use super::checked::{Counts, counts};
use crate::Scenario;
use crate::workload::Sizes;

/// The approximate amount that a traffic sends until the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Payload over the network, in bytes, without that of `endless`.
    pub bytes: f64,
    /// The payload of flows without end, in bytes.
    pub endless: f64,
    /// The number of messages that are posted.
    pub messages: f64,
    /// The share of the messages that go over islands, without packets.
    pub inside: f64,
    /// The number of connections that are opened.
    pub connections: u64,
    /// The use of the connections.
    pub opens: Opens,
}

/// The use of a traffic's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Each connection carries messages during the run.
    All,
    /// Each connection carries one message. Its memory is used again after delivery.
    ForEachMessage,
    /// All connections exist, and only some of them carry messages.
    SomeUsed,
}

/// The amount that a traffic sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// The requested payload in bytes, flows without end apart; links may carry less.
    pub(crate) bytes: f64,
    /// The most that flows without end can send, in bytes.
    pub(crate) endless: f64,
    /// The number of messages, where it differs from that of [`Counts`].
    pub(crate) messages: Option<f64>,
}

impl Sent {
    /// Messages that have an end.
    pub(crate) const fn messages(bytes: f64, messages: Option<f64>) -> Self {
        Self { bytes, endless: 0.0, messages }
    }
}

/// The links of a traffic's hosts.
pub(crate) struct Links<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) net: &'a Topology,
    /// The number of the traffic in the file.
    pub(crate) number: usize,
    pub(crate) traffic: &'a Traffic,
    /// The number of hosts of `from`, and of `to`.
    pub(crate) hosts: (usize, usize),
    /// The sum of the rates of the links of `from`, in bits per second.
    pub(crate) sends: f64,
    /// The sum of the rates of the links of `to`.
    pub(crate) receives: f64,
    /// The time that the traffic lasts.
    pub(crate) seconds: f64,
    /// The most that these links carry in this time, in bytes.
    pub(crate) most: f64,
}

impl<'a> Links<'a> {
    /// The links of a traffic; `bps` has the rate of each host in bits per second.
    fn of(scenario: &'a Scenario, net: &'a Topology, number: usize, bps: &[f64]) -> Self {
        let traffic = &scenario.traffic[number];
        let called = |name| scenario.network.hosts_called(name, net);
        let (from, to) = (called(traffic.common.sources()), called(traffic.common.destinations()));
        let rate = |hosts: &[u32]| hosts.iter().map(|&host| bps[host as usize]).sum::<f64>();
        let (sends, receives) = (rate(&from), rate(&to));
        let end = scenario.run.duration;
        let stop = traffic.common.stop.map_or(end, |stop| stop.min(end));
        let seconds = stop.saturating_sub(traffic.common.start).as_secs_f64();
        // Traffic that names its hosts one by one may use all hosts.
        let most = if traffic.kind.has("from") {
            sends.min(receives) / 8.0 * seconds
        } else {
            bps.iter().sum::<f64>() / 8.0 * end.as_secs_f64()
        };
        let hosts = (from.len(), to.len());
        Self { scenario, net, number, traffic, hosts, sends, receives, seconds, most }
    }

    /// The share of the messages that go over islands, if each pair of hosts is as likely, and in a
    /// collective each pair of neighbours.
    fn inside(&self, islands: &Islands) -> f64 {
        if islands.is_empty() {
            return 0.0;
        }
        let called = |name| self.scenario.network.hosts_called(name, self.net);
        let common = &self.traffic.common;
        let (from, to) = (called(common.sources()), called(common.destinations()));
        let share = |inside: u64, all: u64| inside as f64 / all.max(1) as f64;
        if let Some(named) = self.traffic.pairs() {
            let hosts: BTreeMap<&str, u32> =
                (0..).zip(&self.net.hosts).map(|(number, name)| (&**name, number)).collect();
            let (mut inside, mut all) = (0, 0);
            for (from, to) in named {
                let pair = hosts.get(from).zip(hosts.get(to));
                inside += u64::from(pair.is_some_and(|(&a, &b)| islands.between(a, b).is_some()));
                all += 1;
            }
            return share(inside, all);
        }
        if !self.traffic.kind.has("to") {
            let next = from.iter().skip(1).chain(from.first());
            let inside = from.iter().zip(next).filter(|&(&a, &b)| islands.between(a, b).is_some());
            return share(inside.count() as u64, from.len() as u64);
        }
        let mut of_island: BTreeMap<u32, u64> = BTreeMap::new();
        for number in to.iter().filter_map(|&host| islands.number(host)) {
            *of_island.entry(number).or_default() += 1;
        }
        let itself = |host: &u32| u64::from(to.binary_search(host).is_ok());
        let inside = from.iter().filter_map(|host| {
            let all = of_island.get(&islands.number(*host)?)?;
            Some(all - itself(host))
        });
        let all = from.iter().map(|host| to.len() as u64 - itself(host));
        share(inside.sum(), all.sum())
    }
}

/// The part of the payload of flows of these sizes that `bps` can carry before the end. Flows arrive
/// at any time of `seconds`, each as likely: of a flow of S bytes at most what the rate carries in
/// the time that is left.
pub(crate) fn carried(sizes: &Sizes, bps: f64, seconds: f64) -> f64 {
    let most = bps / 8.0 * seconds;
    let part = |size: f64| {
        if size <= most { size - size * size / (2.0 * most) } else { most / 2.0 }
    };
    let table = match sizes {
        Sizes::Fixed(size) => return part(size.get() as f64) / (size.get() as f64).max(1.0),
        Sizes::Table(table) => table,
        _ => return 1.0,
    };
    // The largest sizes have most of the payload, so that each step of probability is even smaller
    // than the one before it.
    let (mut asked, mut sent, mut below) = (0.0, 0.0, 0.0);
    for step in 1..=60 {
        let next = 1.0 - 0.8_f64.powi(step);
        let size = table.quantile(f64::midpoint(below, next));
        asked += (next - below) * size;
        sent += (next - below) * part(size);
        below = next;
    }
    if asked > 0.0 { sent / asked } else { 1.0 }
}

/// The amount that each traffic of a scenario sends, at most the capacity of its hosts' links.
pub fn amounts(scenario: &Scenario, net: &Topology) -> Vec<Amount> {
    let mut bps = vec![0.0; net.hosts.len()];
    for cable in &net.cables {
        for (end, peak) in cable.ends.into_iter().zip(cable.peaks) {
            if let Node::Host(host) = end {
                bps[host as usize] = peak.as_bps() as f64;
            }
        }
    }
    let islands = scenario.islands(net);
    let amount = |(number, counted): (usize, Counts)| {
        let links = Links::of(scenario, net, number, &bps);
        let inside = links.inside(&islands);
        let settings = links.traffic.kind.settings();
        let sent = settings.sent(&links);
        // A read has a message for the request.
        let read = f64::from(u8::from(settings.operation() == Operation::Read));
        Amount {
            bytes: (sent.bytes * (1.0 - inside)).min(links.most) * (1.0 + 0.01 * read),
            inside,
            endless: sent.endless.min(links.most) * (1.0 + 0.01 * read),
            messages: sent.messages.unwrap_or(counted.messages as f64),
            connections: counted.connections,
            opens: settings.opens(),
        }
    };
    counts(scenario, net).into_iter().enumerate().map(amount).collect()
}

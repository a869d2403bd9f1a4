//! A network in several parts that run side by side, each a network itself.
//!
//! Nodes act on each other only through links. So a part needs only the frames that other parts put
//! on the links that lead to it. Such a link exists in both parts: the sender fills its half, the
//! receiver empties the other. Frames are handed over from the first half to the second before they
//! can arrive ([`windows`](super::windows)). Inside a part, hosts, switches, links and components
//! have their own numbers, in the order of the numbers in the whole network. So simultaneous events
//! at a node come in the same order, and results are the same bytes however a network is split.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::sync::Arc;
use std::vec::IntoIter;

use incast_cc::{Span, Time};

use super::calendar::{Calendar, ComponentId};
use super::frame::{Frame, Packets, Stored};
use super::host::Host;
use super::link::Link;
use super::network::LookAhead;
use super::parcels::{Parcel, Parcels};
use super::partition::Partition;
use super::switch::Switch;
use super::{Component, Network, Transit};

/// A part of a network that can run apart from the others.
pub(crate) struct Domain {
    pub(crate) net: Network,
    /// The links to other domains, grouped by the domain that they lead to.
    outgoing: Vec<Outgoing>,
    /// The whole network's numbers of the domain's links and components.
    links: Vec<u32>,
    components: Vec<ComponentId>,
    /// The domain of each host of the whole network, where parcels go to other domains.
    hosts: Arc<[usize]>,
}

/// A link to another domain, with its numbers in both.
struct Outgoing {
    domain: usize,
    here: u32,
    there: u32,
}

/// The frames and the parcels that are handed over to a domain.
#[derive(Default)]
pub(crate) struct Mail {
    letters: Vec<Letter>,
    /// Each with the whole network's number of the host that it goes to.
    parcels: Vec<(u32, Parcel)>,
}

struct Letter {
    arrives: Time,
    frame: Frame,
    /// The packet, if it does not fit its frame.
    stored: Option<Box<Stored>>,
    /// The receiver's number of the link.
    link: u32,
}

/// The domains of a link's two ends: the sender's, then the receiver's.
pub(crate) type Ends = (usize, usize);

impl Network {
    /// The domains of the ends of each link.
    pub(crate) fn ends(&self, partition: &Partition) -> Vec<Ends> {
        let mut ends: Vec<Ends> = self
            .transit
            .links
            .iter()
            .map(|link| (0, self.domain_of(link.arrival(), partition)))
            .collect();
        for (host, &domain) in self.hosts.iter().zip(&partition.hosts) {
            ends[host.nic.link as usize].0 = domain;
        }
        for (switch, &domain) in self.switches.iter().zip(&partition.switches) {
            for port in switch.ports.behind() {
                ends[port.transmitter.link as usize].0 = domain;
            }
        }
        ends
    }

    /// The least delay of the links and of the islands between domains: a domain's actions reach
    /// another only after it.
    pub(crate) fn lookahead(&self, ends: &[Ends], partition: &Partition) -> Span {
        let crossing = self.transit.links.iter().zip(ends).filter(|(_, (from, to))| from != to);
        let delays = crossing.map(|(link, _)| link.delay());
        let mut domains = BTreeMap::new();
        let mut latencies = Vec::new();
        for (number, (host, &domain)) in (0..).zip(self.hosts.iter().zip(&partition.hosts)) {
            if let Some((islands, latency)) = host.berth.as_ref().map(|berth| berth.latency())
                && *domains.entry(islands.number(number)).or_insert(domain) != domain
            {
                latencies.push(latency);
            }
        }
        delays.chain(latencies).min().unwrap_or(Span::MAX)
    }

    fn domain_of(&self, id: ComponentId, partition: &Partition) -> usize {
        let component = self.components[id as usize];
        let node = component.node as usize;
        if component.kind.is_of_host() { partition.hosts[node] } else { partition.switches[node] }
    }

    /// Splits the network. Its nodes, links and events are in the domains until they are
    /// [joined](Self::join).
    pub(crate) fn part(&mut self, partition: &Partition, ends: &[Ends]) -> Vec<Domain> {
        self.catch_up();
        let mut domains = self.part_components(partition);
        let (here, there) = self.part_links(ends, &mut domains);
        let mut components = vec![0; self.components.len()];
        for domain in &mut domains {
            for (own, &number) in (0..).zip(&domain.components) {
                components[number as usize] = own;
                domain.net.transit.calendar.schedule(own, self.transit.calendar.due(number));
            }
            for Component { link, .. } in &mut domain.net.components {
                *link = there[*link as usize];
            }
            let arrival = |link: &Link| components[link.arrival() as usize];
            let arrivals = domain.net.transit.links.iter_mut().filter(|link| link.leads_here());
            arrivals.for_each(|link| link.set_arrival(arrival(link)));
        }
        for (mut host, &domain) in std::mem::take(&mut self.hosts).into_iter().zip(&partition.hosts)
        {
            host.renumber(&here, &components);
            domains[domain].net.hosts.push(host);
        }
        let switches = std::mem::take(&mut self.switches).into_iter();
        for (mut switch, &domain) in switches.zip(&partition.switches) {
            switch.renumber(&here, &components);
            domains[domain].net.switches.push(switch);
        }
        for (host, mut inbox) in std::mem::take(&mut self.transit.parcels.inboxes) {
            inbox.component = components[inbox.component as usize];
            let parcels = &mut domains[partition.hosts[host as usize]].net.transit.parcels;
            parcels.inboxes.insert(host, inbox);
        }
        let of_hosts: Arc<[usize]> = Arc::from(&partition.hosts[..]);
        for domain in &mut domains {
            domain.net.move_packets(&mut self.transit.packets, true);
            domain.hosts = Arc::clone(&of_hosts);
        }
        domains
    }

    /// Brings the books of all ports up to date.
    fn catch_up(&mut self) {
        for switch in &mut self.switches {
            switch.catch_up_until(self.now, false, &mut self.transit);
        }
    }

    /// Moves the packets on the network's links and in its queues between its own store and
    /// `others`: into its own if `here`, else out of it.
    fn move_packets(&mut self, others: &mut Packets, here: bool) {
        let Transit { links, packets, .. } = &mut self.transit;
        let (from, to) = if here { (others, packets) } else { (packets, others) };
        let mut moved = |frame: &mut Frame| {
            if let Some(stored) = from.remove(frame) {
                to.take_in(frame, stored);
            }
        };
        for link in links {
            link.move_packets(&mut moved);
        }
        let ports = self.switches.iter_mut().flat_map(|switch| switch.ports.behind_mut());
        for port in ports {
            port.move_packets(&mut moved);
        }
        let slow = self.hosts.iter_mut().filter_map(|host| host.intake.as_mut());
        slow.flat_map(|intake| intake.packets_mut()).for_each(moved);
    }

    /// Gives every domain its components and an empty calendar. Links keep their old numbers.
    fn part_components(&self, partition: &Partition) -> Vec<Domain> {
        let (mut hosts, mut switches) = (vec![0; self.hosts.len()], vec![0; self.switches.len()]);
        number(&mut hosts, &partition.hosts);
        number(&mut switches, &partition.switches);
        let mut domains: Vec<_> = (0..partition.domains).map(|_| self.empty_domain()).collect();
        for (id, component) in (0..).zip(&self.components) {
            let nodes = if component.kind.is_of_host() { &hosts } else { &switches };
            let node = nodes[component.node as usize];
            let domain = &mut domains[self.domain_of(id, partition)];
            domain.net.components.push(Component { node, ..*component });
            domain.components.push(id);
        }
        let whole = &self.transit.calendar;
        for Domain { net, .. } in &mut domains {
            net.transit.calendar = whole.of_part(&net.components, self.now);
        }
        domains
    }

    /// Gives every domain its links. Returns the number of each link at its sender and at its
    /// receiver.
    fn part_links(&mut self, ends: &[Ends], domains: &mut [Domain]) -> (Vec<u32>, Vec<u32>) {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (mut link, &(from, to)) in std::mem::take(&mut self.transit.links).into_iter().zip(ends)
        {
            let half = (from != to).then(|| link.part());
            here.push(domains[from].add_link(link));
            there.push(half.map_or(here[here.len() - 1], |half| domains[to].add_link(half)));
        }
        for ((&(from, to), &here), &there) in ends.iter().zip(&here).zip(&there) {
            if from != to {
                domains[from].outgoing.push(Outgoing { domain: to, here, there });
            }
        }
        for domain in domains {
            domain.outgoing.sort_by_key(|link| link.domain);
        }
        (here, there)
    }

    fn empty_domain(&self) -> Domain {
        let net = Self {
            hosts: Vec::new(),
            switches: Vec::new(),
            components: Vec::new(),
            transit: Transit {
                links: Vec::new(),
                packets: Packets::default(),
                parcels: Parcels::default(),
                calendar: Calendar::new(0, 0.0),
            },
            oracle: None,
            dead_locks: Vec::new(),
            events: 0,
            look_ahead: LookAhead::default(),
            ..*self
        };
        Domain {
            net,
            outgoing: Vec::new(),
            links: Vec::new(),
            components: Vec::new(),
            hosts: Arc::default(),
        }
    }

    /// Joins the domains to one network again, and takes in all frames that were handed over.
    pub(crate) fn join(&mut self, domains: Vec<Domain>, partition: &Partition, ends: &[Ends]) {
        self.transit.calendar = self.transit.calendar.of_part(&self.components, self.now);
        let mut parts: Vec<_> = domains.into_iter().map(|domain| self.take_back(domain)).collect();
        let owners = partition.hosts.iter();
        self.hosts = owners.map(|&domain| next(&mut parts[domain].hosts)).collect();
        let owners = partition.switches.iter();
        self.switches = owners.map(|&domain| next(&mut parts[domain].switches)).collect();
        for &(from, to) in ends {
            let mut link = next(&mut parts[from].links);
            if from != to {
                link.join(next(&mut parts[to].links));
            }
            self.transit.links.push(link);
        }
    }

    /// Gives the nodes and links of a domain their old numbers, and its events their old places.
    fn take_back(&mut self, domain: Domain) -> Parts {
        let Domain { mut net, links, components, .. } = domain;
        net.now = self.now;
        net.catch_up();
        net.move_packets(&mut self.transit.packets, false);
        for (host, mut inbox) in std::mem::take(&mut net.transit.parcels.inboxes) {
            inbox.component = components[inbox.component as usize];
            self.transit.parcels.inboxes.insert(host, inbox);
        }
        for (own, &number) in (0..).zip(&components) {
            self.transit.calendar.schedule(number, net.transit.calendar.due(own));
        }
        net.hosts.iter_mut().for_each(|host| host.renumber(&links, &components));
        net.switches.iter_mut().for_each(|switch| switch.renumber(&links, &components));
        for link in net.transit.links.iter_mut().filter(|link| link.leads_here()) {
            link.set_arrival(components[link.arrival() as usize]);
        }
        Parts {
            hosts: net.hosts.into_iter(),
            switches: net.switches.into_iter(),
            links: net.transit.links.into_iter(),
        }
    }
}

/// The contents of a domain, in the order of the whole network.
struct Parts {
    hosts: IntoIter<Host>,
    switches: IntoIter<Switch>,
    links: IntoIter<Link>,
}

fn next<T>(parts: &mut IntoIter<T>) -> T {
    parts.next().unwrap_or_else(|| unreachable!("it was put in"))
}

/// Numbers the nodes of each domain from 0.
fn number(nodes: &mut [u32], domains: &[usize]) {
    let mut counts = vec![0; domains.iter().max().map_or(0, |last| last + 1)];
    for (node, &domain) in nodes.iter_mut().zip(domains) {
        *node = counts[domain];
        counts[domain] += 1;
    }
}

impl Domain {
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the cables")]
    fn add_link(&mut self, link: Link) -> u32 {
        self.links.push(link.number());
        self.net.transit.links.push(link);
        self.net.transit.links.len() as u32 - 1
    }

    /// Handles all events before `end`; returns how many there were.
    pub(crate) fn run(&mut self, end: Time) -> u64 {
        let before = self.net.events;
        self.net.run(end, u64::MAX);
        self.net.events - before
    }

    /// The time of the domain's next event, or of the next start of a frame to be handed over. All
    /// frames that have started have been handed over.
    pub(crate) fn next(&mut self) -> Time {
        let Transit { links, calendar, .. } = &mut self.net.transit;
        let starts =
            self.outgoing.iter().map(|outgoing| links[outgoing.here as usize].next_start());
        starts.fold(calendar.next_due(), Time::min)
    }

    /// Takes in the frames and the parcels that were handed over.
    pub(crate) fn take_in(&mut self, mail: &mut Mail) {
        let Transit { links, packets, parcels, calendar } = &mut self.net.transit;
        for (host, parcel) in mail.parcels.drain(..) {
            parcels.send(host, parcel, calendar);
        }
        for Letter { arrives, mut frame, stored, link } in mail.letters.drain(..) {
            if let Some(stored) = stored {
                packets.take_in(&mut frame, *stored);
            }
            links[link as usize].take_in(arrives, frame, calendar);
        }
    }

    /// Hands over the frames and the parcels that have been sent to other domains before `until`;
    /// `mail_to` gives a domain's mail. Returns the first arrival among them, or the next start of
    /// a frame to be handed over later, whichever is earlier.
    pub(crate) fn hand_over<M: DerefMut<Target = Mail>>(
        &mut self,
        until: Time,
        mail_to: impl Fn(usize) -> M,
    ) -> Time {
        let Transit { links, packets, parcels, .. } = &mut self.net.transit;
        let mut first = Time::MAX;
        for (host, parcel) in parcels.elsewhere.drain(..) {
            first = first.min(parcel.at);
            mail_to(self.hosts[host as usize]).parcels.push((host, parcel));
        }
        for outgoing in self.outgoing.chunk_by(|a, b| a.domain == b.domain) {
            let mut mail = None;
            for &Outgoing { domain, here, there } in outgoing {
                let link = &mut links[here as usize];
                let later = loop {
                    let (arrives, frame) = match link.hand_over(until) {
                        Ok(next) => next,
                        Err(later) => break later,
                    };
                    first = first.min(arrives);
                    let stored = packets.remove(&frame).map(Box::new);
                    let mail = mail.get_or_insert_with(|| mail_to(domain));
                    mail.letters.push(Letter { arrives, frame, stored, link: there });
                };
                first = first.min(later);
            }
        }
        first
    }
}

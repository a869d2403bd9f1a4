//! The flows of a run: who sends to whom, on which connections, and how.
//!
//! The flows are known before the run starts. All hosts share them, and no host changes them.

use std::collections::BTreeMap;
use std::ops::Deref;

use incast_cc::parts::random::derive;
use incast_cc::{Fraction, Span};
use incast_transport::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RoutingKind;
use crate::deadlines::{DeadlineNumber, Deadlines};
use crate::random::purpose;

/// The length of a [`Direction`]'s label, in bits.
pub const LABEL_BITS: u32 = 56;

/// The direction of a flow's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// RDMA write: `from` sends and is paced.
    #[default]
    Write,
    /// RDMA read: `from` asks, `to` sends and is paced.
    Read,
}

impl Operation {
    /// The operation's name in scenarios and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// A connection of the scenario's traffic. A read has a second connection, for its requests. There
/// may be millions of flows.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The host that starts the flow.
    pub source: u32,
    /// The host at the other end.
    pub destination: u32,
    /// Both hosts' numbers of the connection that carries payload; the connection of requests has
    /// the number after it.
    at_source: u32,
    at_destination: u32,
    treatment: u32,
    /// The number of the traffic that the flow belongs to.
    pub traffic: u16,
    /// The direction of the payload.
    pub operation: Operation,
    /// The number of messages that the flow carries.
    pub life: Life,
}

/// The number of messages that a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// A single message, which is posted whatever happens.
    Once,
    /// Messages that an application asks for.
    OnDemand,
    /// Messages all the time: the flow has time series and a histogram of its own.
    Lasting,
}

/// How the payload of a flow is treated. Few flows of a run differ in this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Treatment {
    /// The traffic class.
    pub class: u8,
    /// The share relative to other flows.
    pub weight: u32,
    /// The number of the scheme among the run's schemes, 0 for the scheme of the run itself.
    pub scheme: u8,
    /// The share of flows under that scheme. The others are under the run's scheme.
    pub share: Fraction,
    /// The routing of the packets in both directions.
    pub routing: RoutingKind,
}

/// A host's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The part that this end plays.
    pub role: Role,
    /// The host at the other end.
    pub peer: u32,
    /// The other end's number of the connection.
    pub peer_connection: u32,
}

/// A direction of a connection: the packets that one host sends the other on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// The label that tells this direction from all others, [`LABEL_BITS`] long. It depends on no
    /// other traffic, so a run is the same up to some time whatever is posted later.
    pub label: u64,
    /// The routing of the packets.
    pub routing: RoutingKind,
}

/// An application that follows consecutive flows at one end, and the slots that it knows them by.
#[derive(Clone, Copy, Debug)]
struct Following {
    end: u32,
    application: u16,
    slot: u32,
}

/// All flows of a run, by number.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    rows: Vec<Flow>,
    treatments: Vec<Treatment>,
    numbers: BTreeMap<Treatment, u32>,
    /// The followed flows at sources and at destinations, by the first flow of each sequence.
    followed: [BTreeMap<u32, Following>; 2],
    /// The number of connections of each host.
    connections: Vec<u32>,
    /// The rank of each flow: how many similar flows come before it. Only flows whose rank is not
    /// one more than the previous flow's are listed, as flow number and rank.
    before: Vec<(u32, u32)>,
    /// The deadlines of planned messages.
    deadlines: Deadlines,
}

impl Deref for Flows {
    type Target = [Flow];

    fn deref(&self) -> &[Flow] {
        &self.rows
    }
}

impl Flow {
    /// The host and the connection that send the payload.
    pub const fn sender(&self) -> (u32, u32) {
        match self.operation {
            Operation::Write => (self.source, self.at_source),
            Operation::Read => (self.destination, self.at_destination),
        }
    }

    /// The host and the connection that receive the payload.
    pub const fn receiver(&self) -> (u32, u32) {
        match self.operation {
            Operation::Write => (self.destination, self.at_destination),
            Operation::Read => (self.source, self.at_source),
        }
    }

    /// The source's connection on which messages are posted.
    pub const fn posting(&self) -> u32 {
        self.at_source + self.connections() - 1
    }

    /// The number of connections that the flow has at each end.
    pub const fn connections(&self) -> u32 {
        match self.operation {
            Operation::Write => 1,
            Operation::Read => 2,
        }
    }

    /// Whether a connection of one of its hosts carries payload rather than requests for it.
    pub const fn is_data(&self, host: u32, connection: u32) -> bool {
        connection == if host == self.source { self.at_source } else { self.at_destination }
    }

    /// Whether the flow carries messages all the time.
    pub fn is_lasting(&self) -> bool {
        self.life == Life::Lasting
    }

    /// The role of a host on one of its connections of this flow, and the host at the other end.
    pub fn end(&self, host: u32, connection: u32) -> End {
        let (data, answers) = (self.is_data(host, connection), self.at_destination);
        let is_source = host == self.source;
        let (peer, base) = if is_source {
            (self.destination, self.at_destination)
        } else {
            (self.source, self.at_source)
        };
        let role = match (data, is_source) {
            (true, _) if self.sender() == (host, connection) => Role::Sender,
            (true, _) => Role::Receiver,
            (false, true) => Role::Requester,
            (false, false) => Role::Responder { answers },
        };
        End { role, peer, peer_connection: base + u32::from(!data) }
    }
}

impl Flows {
    /// An empty list of flows between `hosts` hosts.
    pub fn between(hosts: usize) -> Self {
        Self { connections: vec![0; hosts], ..Self::default() }
    }

    /// Adds a flow from a host to another, and returns its number. Hosts number connections in the
    /// order of flows. The flow's rank is `before`: the number of other flows of its traffic, or of
    /// its traffic and its source, that count as coming before it. None of them is posted later.
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
    pub fn add(
        &mut self,
        (source, destination): (u32, u32),
        (traffic, operation): (u16, Operation),
        before: u32,
        treatment: Treatment,
        life: Life,
    ) -> u32 {
        let number = self.rows.len() as u32;
        if self.before.last().is_none_or(|&(first, of_first)| of_first + (number - first) != before)
        {
            self.before.push((number, before));
        }
        let Self { treatments, numbers, connections, .. } = self;
        let treatment = *numbers.entry(treatment).or_insert_with(|| {
            treatments.push(treatment);
            treatments.len() as u32 - 1
        });
        let [at_source, at_destination] =
            [source, destination].map(|host| connections[host as usize]);
        let flow = Flow {
            source,
            destination,
            at_source,
            at_destination,
            treatment,
            traffic,
            operation,
            life,
        };
        for host in [source, destination] {
            connections[host as usize] += flow.connections();
        }
        self.rows.push(flow);
        number
    }

    /// Both directions of a connection of a flow: from the given host, then back.
    pub fn directions(&self, number: u32, (host, connection): (u32, u32)) -> [Direction; 2] {
        let flow = &self.rows[number as usize];
        let (data, out) = (flow.is_data(host, connection), host == flow.source);
        [out, !out].map(|out| self.direction(number, data, out))
    }

    /// A direction of one of a flow's connections: the connection that carries payload (`data`) or
    /// requests, from the source (`out`) or towards it.
    fn direction(&self, number: u32, data: bool, out: bool) -> Direction {
        let Flow { source, destination, traffic, .. } = self.rows[number as usize];
        let place = self.before.partition_point(|&(first, _)| first <= number) - 1;
        let (first, of_first) = self.before[place];
        let before = of_first + (number - first);
        let flow = [traffic.into(), source, destination, before, data.into(), out.into()];
        let label = derive(0, purpose::FLOW_LABEL, &flow.map(u64::from)) >> (64 - LABEL_BITS);
        let [from, to] = if out { [source, destination] } else { [destination, source] };
        let routing = self.treatment(&self.rows[number as usize]).routing;
        Direction { from, to, label, routing }
    }

    /// Both directions of all connections of a flow.
    pub fn all_directions(&self, number: u32) -> impl Iterator<Item = Direction> {
        let kinds =
            [true, false].into_iter().take(self.rows[number as usize].connections() as usize);
        kinds.flat_map(move |data| [true, false].map(|out| self.direction(number, data, out)))
    }

    /// Makes an application follow a flow at its source, or at its destination.
    pub fn follow(&mut self, flow: u32, at_source: bool, (application, slot): (u16, u32)) {
        let followed = &mut self.followed[usize::from(!at_source)];
        if let Some((first, last)) = followed.range_mut(..=flow).next_back()
            && (last.end, last.application, last.slot + (flow - first)) == (flow, application, slot)
        {
            last.end = flow + 1;
            return;
        }
        followed.insert(flow, Following { end: flow + 1, application, slot });
    }

    /// The application that follows a flow at its source or at its destination, and its slot for
    /// the flow.
    pub fn follower(&self, flow: u32, at_source: bool) -> Option<(u16, u32)> {
        let followed = &self.followed[usize::from(!at_source)];
        if followed.is_empty() {
            return None;
        }
        let (first, following) = followed.range(..=flow).next_back()?;
        (flow < following.end).then(|| (following.application, following.slot + (flow - first)))
    }

    /// Makes flows single messages ([`Life::Once`]) unless an application follows them or they
    /// last.
    pub fn post_once(&mut self, flows: impl Iterator<Item = u32>) {
        for flow in flows {
            let followed = [true, false].map(|at_source| self.follower(flow, at_source).is_some());
            let life = &mut self.rows[flow as usize].life;
            if *life == Life::OnDemand && followed == [false; 2] {
                *life = Life::Once;
            }
        }
    }

    /// Ends the adding of flows.
    pub fn finish(&mut self) {
        self.rows.shrink_to_fit();
        self.before.shrink_to_fit();
        self.deadlines.finish();
    }

    /// The number of the deadline of a planned message.
    pub fn number_deadline(&mut self, deadline: Option<Span>) -> DeadlineNumber {
        self.deadlines.number(deadline)
    }

    /// The deadlines of planned messages.
    pub const fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// The treatment of a flow's payload.
    pub fn treatment(&self, flow: &Flow) -> Treatment {
        self.treatments[flow.treatment as usize]
    }

    /// The number of the scheme of a flow in a run with the seed `run`: its traffic's scheme where
    /// the flow is drawn among the traffic's share, and else 0.
    pub fn scheme(&self, number: u32, run: u64) -> u8 {
        let Treatment { scheme, share, .. } = self.treatment(&self.rows[number as usize]);
        if scheme == 0 || share >= Fraction::ONE {
            return scheme;
        }
        let label = self.direction(number, true, true).label;
        let drawn = derive(run, purpose::SCHEME, &[label]) >> (u64::BITS - Fraction::BITS);
        if drawn < u64::from(share.bits()) { scheme } else { 0 }
    }

    /// The flow of each connection, by host and connection.
    pub fn by_connection(&self) -> Vec<Vec<u32>> {
        let mut hosts: Vec<_> =
            self.connections.iter().map(|&count| Vec::with_capacity(count as usize)).collect();
        for (number, flow) in (0..).zip(&self.rows) {
            for host in [flow.source, flow.destination] {
                let more = flow.connections() as usize;
                hosts[host as usize].extend(std::iter::repeat_n(number, more));
            }
        }
        hosts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREATMENT: Treatment = Treatment {
        class: 0,
        weight: 1,
        scheme: 0,
        share: Fraction::ONE,
        routing: RoutingKind::Ecmp,
    };

    #[test]
    fn a_flow_takes_few_bytes() {
        assert!(size_of::<Flow>() <= 24, "{}", size_of::<Flow>());
    }

    #[test]
    fn both_ends_know_each_other() {
        let mut flows = Flows::between(3);
        for (ends, operation) in [
            ((0, 1), Operation::Write),
            ((0, 1), Operation::Read),
            ((1, 0), Operation::Write),
            ((2, 1), Operation::Read),
            ((1, 2), Operation::Write),
        ] {
            flows.add(ends, (0, operation), 0, TREATMENT, Life::OnDemand);
        }
        let connections = flows.by_connection();
        assert_eq!(connections, [vec![0, 1, 1, 2], vec![0, 1, 1, 2, 3, 3, 4], vec![3, 3, 4]]);
        for (host, own) in (0..).zip(&connections) {
            for (connection, &flow) in (0..).zip(own) {
                let End { peer, peer_connection, role } =
                    flows[flow as usize].end(host, connection);
                let back = flows[flow as usize].end(peer, peer_connection);
                assert_eq!((back.peer, back.peer_connection), (host, connection));
                let answers = flows[flow as usize].sender().1;
                let other = match role {
                    Role::Sender => Role::Receiver,
                    Role::Receiver => Role::Sender,
                    Role::Requester => Role::Responder { answers },
                    Role::Responder { .. } => Role::Requester,
                };
                assert_eq!(back.role, other, "flow {flow}");
            }
        }
        assert_eq!(flows[1].sender(), (1, 1));
        assert_eq!((flows[1].receiver(), flows[1].posting()), ((0, 1), 2));
        assert_eq!((flows[2].sender(), flows[2].posting()), ((1, 3), 3));
    }

    #[test]
    fn labels_follow_from_the_flow_alone() {
        // Three flows of host 0 and two of host 1, with and without other flows between and after
        // them.
        let flows = |others: u32| {
            let mut flows = Flows::between(4);
            let mut add = |ends, traffic, before| {
                flows.add(ends, (traffic, Operation::Read), before, TREATMENT, Life::OnDemand)
            };
            let mut own = Vec::new();
            for source in [0, 1] {
                own.extend((0..3 - source).map(|before| add((source, 2), 0, before)));
                for more in 0..others {
                    add((source, 3), 0, 3 - source + more);
                }
            }
            for before in 0..others {
                add((0, 2), 1, before);
            }
            (flows, own)
        };
        let labels = |(flows, own): (Flows, Vec<u32>)| {
            let directions =
                own.into_iter().flat_map(|flow| flows.all_directions(flow).collect::<Vec<_>>());
            directions.map(|direction| direction.label).collect::<Vec<_>>()
        };
        let alone = labels(flows(0));
        assert_eq!((alone.len(), &alone), (5 * 4, &labels(flows(7))));
        let (flows, _) = flows(7);
        let mut all: Vec<_> = (0..u32::try_from(flows.len()).unwrap())
            .flat_map(|flow| flows.all_directions(flow).collect::<Vec<_>>())
            .map(|direction| direction.label)
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), (5 + 3 * 7) * 4);
    }

    #[test]
    fn a_share_of_flows_is_under_the_scheme_of_its_traffic() {
        let mut flows = Flows::between(2);
        let quarter = Treatment { scheme: 2, share: Fraction::from_ratio(1, 4), ..TREATMENT };
        let all = Treatment { scheme: 3, ..TREATMENT };
        for (traffic, treatment, number) in [(0, quarter, 4_000), (1, all, 9), (2, TREATMENT, 9)] {
            for before in 0..number {
                let write = (traffic, Operation::Write);
                flows.add((0, 1), write, before, treatment, Life::OnDemand);
            }
        }
        let drawn = |run| (0..4_000).filter(|&flow| flows.scheme(flow, run) == 2).count();
        // 1,000 of 4,000, with a standard deviation of sqrt(4,000 * 1/4 * 3/4) = 27.
        assert!([drawn(1), drawn(2)].iter().all(|&count| count.abs_diff(1_000) < 4 * 27));
        assert!((0..4_000).any(|flow| flows.scheme(flow, 1) != flows.scheme(flow, 2)));
        assert!((4_000..4_009).all(|flow| flows.scheme(flow, 1) == 3));
        assert!((4_009..4_018).all(|flow| flows.scheme(flow, 1) == 0));
    }

    #[test]
    fn legs_of_both_ends_are_the_same() {
        let mut flows = Flows::between(3);
        for (ends, operation) in [((0, 1), Operation::Read), ((2, 0), Operation::Write)] {
            flows.add(ends, (0, operation), 0, TREATMENT, Life::OnDemand);
        }
        for (host, own) in (0..).zip(flows.by_connection()) {
            for (connection, flow) in (0..).zip(own) {
                let [there, back] = flows.directions(flow, (host, connection));
                let End { peer, peer_connection, .. } = flows[flow as usize].end(host, connection);
                assert_eq!(flows.directions(flow, (peer, peer_connection)), [back, there]);
                assert_eq!((there.from, there.to), (host, peer));
            }
        }
    }

    #[test]
    fn applications_follow_one_end() {
        let mut flows = Flows::between(2);
        for _ in 0..6 {
            flows.add((0, 1), (0, Operation::Write), 0, TREATMENT, Life::OnDemand);
        }
        for (flow, slot) in [(1, 0), (2, 1), (4, 7), (5, 2)] {
            flows.follow(flow, true, (3, slot));
        }
        let followers: Vec<_> = (0..6).map(|flow| flows.follower(flow, true)).collect();
        let slots = [None, Some(0), Some(1), None, Some(7), Some(2)];
        assert_eq!(followers, slots.map(|slot| slot.map(|slot| (3, slot))));
        assert!((0..6).all(|flow| flows.follower(flow, false).is_none()));
        flows.post_once(0..3);
        let once: Vec<_> = flows.iter().map(|flow| flow.life == Life::Once).collect();
        assert_eq!(once, [true, false, false, false, false, false]);
    }
}

//! Opens the connections of a plan, and sets its applications up.

use std::ops::Range;

use incast_cc::Bytes;
use incast_transport::{self as transport, Role, Signal, Terms, Transport};

use super::plan::{Flow, Plan, PlannedApplication, PlannedClient};
use super::ways::Ways;
use crate::network::Network as Net;
use crate::network::application::{Application, Awaited, Chain, Client, Dependent, Server, Slot};
use crate::network::host::{Post, Socket};
use crate::network::oracle::{Oracle, Way};
use crate::scenario::{Operation, Scheme, TransportKind};

/// Opens each flow's connections, and gives hosts what is posted and who posts the rest.
pub(super) fn connect(net: &mut Net, plan: &mut Plan, scheme: Scheme, ways: &Ways<'_>) {
    let mut oracle = Oracle { ways: vec![Vec::new(); net.hosts.len()] };
    reserve(net, plan);
    let posts = posts_by_flow(plan);
    for ((number, flow), posts) in (0..).zip(&mut plan.flows).zip(posts) {
        let followed = flow.at_source.is_some() || flow.at_destination.is_some();
        let terms = Terms {
            transport: match scheme.transport {
                TransportKind::Message => Transport::Message,
                TransportKind::Stream => Transport::Stream,
            },
            class: flow.class,
            weight: flow.weight,
            deadline: flow.deadline,
            once: posts == 1 && !followed && !flow.lasting,
            ..Terms::default()
        };
        let mut opener = Opener { net, ways, flow: number, terms, oracle: &mut oracle, scheme };
        opener.open_flow(flow);
    }
    net.oracle = (scheme.signal == Signal::Oracle).then_some(oracle);
    let mut posts = posts_by_host(plan, net.hosts.len());
    for planned in std::mem::take(&mut plan.posts) {
        let flow = &plan.flows[planned.flow as usize];
        let (at, connection) = (planned.at, flow.posting);
        let operation = operation(flow.operation, planned.bytes);
        posts[flow.source as usize].push(Post { at, connection, operation });
    }
    let mut applications: Vec<Vec<_>> = net.hosts.iter().map(|_| Vec::new()).collect();
    for planned in std::mem::take(&mut plan.applications) {
        let (host, application) = start(planned, &plan.flows);
        applications[host as usize].push(application);
    }
    for (host, (posts, applications)) in
        net.hosts.iter_mut().zip(posts.into_iter().zip(applications))
    {
        host.set_applications(posts, applications, &mut net.transit.calendar);
    }
}

/// Makes room for the sockets of all hosts: grown one by one, they would leave up to half of it unused.
fn reserve(net: &mut Net, plan: &mut Plan) {
    plan.flows.shrink_to_fit();
    let mut sockets = vec![0; net.hosts.len()];
    for flow in &plan.flows {
        let each = if flow.operation == Operation::Read { 2 } else { 1 };
        sockets[flow.source as usize] += each;
        sockets[flow.destination as usize] += each;
    }
    net.hosts.iter_mut().zip(sockets).for_each(|(host, sockets)| host.reserve(sockets));
}

/// For each host, room for what is posted there.
fn posts_by_host(plan: &Plan, hosts: usize) -> Vec<Vec<Post>> {
    let mut counts = vec![0; hosts];
    let sources = plan.posts.iter().map(|planned| plan.flows[planned.flow as usize].source);
    sources.for_each(|source| counts[source as usize] += 1);
    counts.into_iter().map(Vec::with_capacity).collect()
}

/// How many messages of each flow are planned.
fn posts_by_flow(plan: &Plan) -> Vec<u32> {
    let mut posts = vec![0; plan.flows.len()];
    plan.posts.iter().for_each(|planned| posts[planned.flow as usize] += 1);
    posts
}

fn operation(operation: Operation, bytes: Option<Bytes>) -> transport::Operation {
    match (operation, bytes.map(Bytes::get)) {
        (Operation::Write, Some(bytes)) => transport::Operation::Write { bytes },
        (Operation::Write, None) => transport::Operation::Stream,
        (Operation::Read, Some(bytes)) => transport::Operation::Read { bytes },
        (Operation::Read, None) => transport::Operation::ReadStream,
    }
}

/// An application whose connections are open, and its host.
fn start(planned: PlannedApplication, flows: &[Flow]) -> (u32, Application) {
    match planned {
        PlannedApplication::Client(planned) => {
            (planned.host, Application::Client(Box::new(client(planned, flows))))
        }
        PlannedApplication::Member(planned) => {
            let connection = flows[planned.flow as usize].posting;
            (planned.host, Application::Member(planned.member(connection)))
        }
        PlannedApplication::Chain(planned) => {
            let dependents = planned.dependents.iter().map(|&(flow, bytes, needs)| Dependent {
                connection: flows[flow as usize].posting,
                bytes: bytes.get(),
                awaited: Awaited::More(needs),
            });
            let dependents = dependents.collect();
            (planned.host, Application::Chain(Chain { triggers: planned.triggers, dependents }))
        }
    }
}

fn client(planned: PlannedClient, flows: &[Flow]) -> Client {
    let slots = |range: &Range<u32>| -> Vec<_> {
        let flows = &flows[range.start as usize..range.end as usize];
        let slot = |flow: &Flow| {
            let (_, number) = flow.at_source?;
            Some(Slot { number, connection: flow.posting })
        };
        flows.iter().filter_map(slot).collect()
    };
    let server = |[reads, urgent_reads, writes, urgent_writes]: &[Range<u32>; 4]| Server {
        reads: [slots(reads), slots(urgent_reads)],
        writes: [slots(writes), slots(urgent_writes)],
    };
    let servers = planned.servers.iter().map(server).collect();
    let PlannedClient { workload, slots, random, start, pace, .. } = planned;
    Client::new(workload, servers, slots, random, start, pace)
}

/// Opens the connections of one flow.
struct Opener<'a> {
    net: &'a mut Net,
    ways: &'a Ways<'a>,
    flow: u32,
    terms: Terms,
    oracle: &'a mut Oracle,
    scheme: Scheme,
}

impl Opener<'_> {
    fn open_flow(&mut self, flow: &mut Flow) {
        let (source, destination) = (flow.source, flow.destination);
        let (sender, receiver) = match flow.operation {
            Operation::Write => (source, destination),
            Operation::Read => (destination, source),
        };
        let ends = [(sender, Role::Sender), (receiver, Role::Receiver)];
        let ([out, into], links) = self.open(flow, ends, true);
        (flow.sender, flow.receiver) = ((sender, out), (receiver, into));
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the cables")]
        let number = |(cable, _)| cable as u32;
        flow.cables = links.into_iter().map(number).collect();
        flow.posting = match flow.operation {
            Operation::Write => out,
            Operation::Read => {
                let answers = Role::Responder { answers: out };
                self.open(flow, [(source, Role::Requester), (destination, answers)], false).0[0]
            }
        };
    }

    /// Opens a connection between two hosts; returns its index at each, and the links from the first to
    /// the second.
    fn open(
        &mut self,
        flow: &Flow,
        [(a, role_a), (b, role_b)]: [(u32, Role); 2],
        data: bool,
    ) -> ([u32; 2], Vec<(usize, usize)>) {
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
        let index = |net: &Net, host: u32| net.hosts[host as usize].sockets.len() as u32;
        let (at_a, at_b) = (index(self.net, a), index(self.net, b));
        let (there, back) = (self.ways.links(a, (b, at_b)), self.ways.links(b, (a, at_a)));
        let path = self.ways.path(&there, &back);
        let mut add = |host: u32, role, (peer, peer_index): (u32, u32), path| {
            let application =
                if host == flow.source { flow.at_source } else { flow.at_destination };
            let host = &mut self.net.hosts[host as usize];
            host.endpoint.open_on(Terms { path, ..self.terms }, role, peer_index);
            host.add_socket(Socket {
                flow: self.flow,
                peer,
                traffic: flow.traffic,
                data,
                lasting: data && flow.lasting,
                application: application.filter(|_| data),
                path: None,
            });
        };
        add(a, role_a, (b, at_b), path);
        add(b, role_b, (a, at_a), self.ways.path(&back, &there));
        if self.scheme.signal == Signal::Oracle {
            let way = if data { self.ways.way(&there, path.base_rtt) } else { Way::default() };
            self.oracle.ways[a as usize].push(way);
            self.oracle.ways[b as usize].push(Way::default());
        }
        ([at_a, at_b], there)
    }
}

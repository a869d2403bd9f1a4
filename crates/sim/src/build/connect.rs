//! Tells every host what its connections are and what is posted on them, and sets its applications up.

use std::ops::Range;
use std::sync::Arc;

use incast_cc::Bytes;
use incast_transport::{Address, Opener, Opening, Path, Role, Signal, Terms, Transport};

use super::plan::{Plan, PlannedApplication, PlannedClient};
use super::ways::Ways;
use crate::network::Network as Net;
use crate::network::application::{Application, Awaited, Chain, Client, Dependent, Server, Slots};
use crate::network::flows::{End, Flow, Flows, Life};
use crate::network::host::{Duties, ENDLESS, Post};
use crate::network::oracle::{Oracle, Way};
use crate::scenario::{Scheme, TransportKind};

/// Gives hosts their connections, which are opened when they are first used, what is posted and who posts the
/// rest. Returns all flows.
pub(super) fn connect(
    net: &mut Net,
    plan: &mut Plan,
    scheme: Scheme,
    ways: &Arc<Ways>,
) -> Arc<Flows> {
    let flows = Arc::new(std::mem::take(&mut plan.flows));
    let posts = posts(plan, &flows, net.hosts.len());
    let mut applications: Vec<Vec<_>> = net.hosts.iter().map(|_| Vec::new()).collect();
    for planned in std::mem::take(&mut plan.applications) {
        let (host, application) = start(planned, &flows);
        applications[host as usize].push(application);
    }
    let connections: Vec<Arc<[u32]>> = flows.by_connection().into_iter().map(Arc::from).collect();
    if scheme.signal == Signal::Oracle {
        net.oracle = Some(oracle(&flows, &connections, ways));
    }
    let transport = match scheme.transport {
        TransportKind::Message => Transport::Message,
        TransportKind::Stream => Transport::Stream,
    };
    let duties = connections.into_iter().zip(posts.into_iter().zip(applications));
    for ((number, host), (connections, (posts, applications))) in
        (0..).zip(&mut net.hosts).zip(duties)
    {
        let (flows, ways) = (Arc::clone(&flows), Arc::clone(ways));
        let own = Book { host: number, flows, connections, ways, transport };
        let (flows, connections) = (Arc::clone(&own.flows), Arc::clone(&own.connections));
        host.endpoint.expect(connections.len(), own.opener());
        let duties = Duties { flows, connections, posts, applications };
        host.set_duties(duties, &mut net.transit.calendar);
    }
    flows
}

/// For each host, what is posted there.
fn posts(plan: &mut Plan, flows: &Flows, hosts: usize) -> Vec<Vec<Post>> {
    let mut counts = vec![0; hosts];
    for planned in &plan.posts {
        counts[flows[planned.flow as usize].source as usize] += 1;
    }
    let mut posts: Vec<_> = counts.into_iter().map(Vec::with_capacity).collect();
    for planned in std::mem::take(&mut plan.posts) {
        let flow = &flows[planned.flow as usize];
        let bytes = planned.bytes.map_or(ENDLESS, Bytes::get);
        let (at, connection) = (planned.at, flow.posting());
        posts[flow.source as usize].push(Post { at, bytes, connection });
    }
    posts
}

/// What the oracle knows of each connection.
fn oracle(flows: &Flows, connections: &[Arc<[u32]>], ways: &Ways) -> Oracle {
    let way = |(host, connection), flow: &Flow| {
        let End { role, peer, peer_connection } = flow.end(host, connection);
        let sends = role == Role::Sender;
        if sends { ways.way((host, connection), (peer, peer_connection)) } else { Way::default() }
    };
    let of_host = |(host, own): (u32, &Arc<[u32]>)| {
        let own = (0..).zip(&**own);
        own.map(|(connection, &flow)| way((host, connection), &flows[flow as usize])).collect()
    };
    Oracle { ways: (0..).zip(connections).map(of_host).collect() }
}

/// What one host must know to open its connections.
struct Book {
    host: u32,
    flows: Arc<Flows>,
    /// For each of the host's connections, its flow.
    connections: Arc<[u32]>,
    ways: Arc<Ways>,
    transport: Transport,
}

impl Book {
    fn opener(self) -> Opener {
        Box::new(move |connection| self.opening(connection))
    }

    fn opening(&self, connection: u32) -> Opening {
        let flow = &self.flows[self.connections[connection as usize] as usize];
        let End { role, peer, peer_connection } = flow.end(self.host, connection);
        let treatment = self.flows.treatment(flow);
        let sends = matches!(role, Role::Sender | Role::Requester);
        let path = || self.ways.path((self.host, connection), (peer, peer_connection));
        let terms = Terms {
            transport: self.transport,
            path: if sends { path() } else { Path::default() },
            class: treatment.class,
            weight: treatment.weight,
            deadline: treatment.deadline,
            once: flow.life == Life::Once,
        };
        let route = self.ways.route(self.host, (peer, peer_connection));
        let address = Address { host: peer, route: route.bits() };
        Opening { terms, role, peer: peer_connection, address }
    }
}

/// An application that knows its connections, and its host.
fn start(planned: PlannedApplication, flows: &Flows) -> (u32, Application) {
    match planned {
        PlannedApplication::Client(planned) => {
            (planned.host, Application::Client(Box::new(client(planned, flows))))
        }
        PlannedApplication::Member(planned) => {
            let connection = flows[planned.flow as usize].posting();
            (planned.host, Application::Member(planned.member(connection)))
        }
        PlannedApplication::Chain(planned) => {
            let dependents = planned.dependents.iter().map(|&(flow, bytes, needs)| Dependent {
                connection: flows[flow as usize].posting(),
                bytes: bytes.get(),
                awaited: Awaited::More(needs),
            });
            let dependents = dependents.collect();
            (planned.host, Application::Chain(Chain { triggers: planned.triggers, dependents }))
        }
    }
}

fn client(planned: PlannedClient, flows: &Flows) -> Client {
    // Nothing else is between them: neither of its slots, nor of its host's connections.
    let slots = |range: &Range<u32>| {
        let (Some(first), true) = (flows.get(range.start as usize), !range.is_empty()) else {
            return Slots::default();
        };
        Slots {
            first: flows.follower(range.start, true).map_or(0, |(_, slot)| slot),
            connection: first.posting(),
            count: range.end - range.start,
            step: first.connections(),
        }
    };
    let server = |[reads, urgent_reads, writes, urgent_writes]: &[Range<u32>; 4]| Server {
        reads: [slots(reads), slots(urgent_reads)],
        writes: [slots(writes), slots(urgent_writes)],
    };
    let servers = planned.servers.iter().map(server).collect();
    let PlannedClient { workload, random, start, pace, .. } = planned;
    Client::new(workload, servers, random, start, pace)
}

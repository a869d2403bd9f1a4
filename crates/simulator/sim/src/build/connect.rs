//! Connections: gives every host its connections, its posts and its applications.

use std::sync::Arc;

use incast_cc::parts::random::derive;
use incast_cc::{Bytes, Time};
use incast_transport::{Address, Opener, Opening, Path, Role, Terms, Transport, random};

use super::host_paths::HostPaths;
use incast_net::Network as Net;
use incast_net::{Duties, Oracle, Planned, QueuePath};
use incast_plan::Plan;
use incast_plan::Watch;
use incast_plan::application::ENDLESS;
use incast_plan::flows::{Direction, End, Flows, Life};
use incast_plan::random::purpose;
use incast_scenario::{MOST_CLASSES, Mix, NamedScheme, Scenario};

/// Gives the hosts their connections, which are opened on first use, their posts, and their
/// applications. Returns all flows.
pub(super) fn connect(
    net: &mut Net,
    plan: &mut Plan,
    (scenario, mix): (&Scenario, &Mix),
    host_paths: &Arc<HostPaths>,
    (seed, watch): (u64, &Watch<'_>),
) -> Arc<Flows> {
    let flows = Arc::new(std::mem::take(&mut plan.flows));
    let posts = posts(plan, &flows, net.hosts().len(), Time::ZERO + scenario.run.duration);
    let mut applications: Vec<Vec<_>> = net.hosts().iter().map(|_| Vec::new()).collect();
    for planned in std::mem::take(&mut plan.applications) {
        let (host, application) = planned.start(&flows);
        applications[host as usize].push(application);
    }
    let connections: Vec<Arc<[u32]>> = flows.by_connection().into_iter().map(Arc::from).collect();
    let transports: Arc<[_]> = mix.all().iter().map(|named| named.scheme.transport).collect();
    if mix.has_oracle() {
        let kind = |flow| transports[usize::from(flows.scheme(flow, seed))];
        net.set_oracle(oracle(&flows, &connections, host_paths, &kind, watch));
    }
    let numbers: [u8; MOST_CLASSES] =
        std::array::from_fn(|number| u8::try_from(number).unwrap_or(u8::MAX));
    let classes =
        |named: &NamedScheme| numbers.map(|class| scenario.first_class(class, &named.scheme));
    let classes: Arc<[_]> = mix.all().iter().map(classes).collect();
    let duties = connections.into_iter().zip(posts.into_iter().zip(applications));
    for (number, (connections, (posts, applications))) in (0..).zip(duties) {
        watch.steps(connections.len());
        let (flows, host_paths) = (Arc::clone(&flows), Arc::clone(host_paths));
        let (transports, classes) = (Arc::clone(&transports), Arc::clone(&classes));
        let own = Book { host: number, flows, connections, host_paths, transports, classes, seed };
        let (flows, connections) = (Arc::clone(&own.flows), Arc::clone(&own.connections));
        let duties = Duties { flows, connections, posts, applications };
        net.set_duties(number as usize, own.opener(), duties);
    }
    flows
}

/// The posts of each host: none is at the end of the duration, or behind it.
fn posts(plan: &mut Plan, flows: &Flows, hosts: usize, end: Time) -> Vec<Vec<Planned>> {
    plan.posts.retain(|planned| planned.at < end);
    let mut counts = vec![0; hosts];
    for planned in &plan.posts {
        counts[flows[planned.flow as usize].source as usize] += 1;
    }
    let mut posts: Vec<_> = counts.into_iter().map(Vec::with_capacity).collect();
    for planned in std::mem::take(&mut plan.posts) {
        let flow = &flows[planned.flow as usize];
        let bytes = planned.bytes.map_or(ENDLESS, Bytes::get);
        let (at, connection, deadline) = (planned.at, flow.posting(), planned.deadline);
        posts[flow.source as usize].push(Planned { at, bytes, connection, deadline });
    }
    posts
}

/// The oracle, with the way of each connection's data.
fn oracle(
    flows: &Flows,
    connections: &[Arc<[u32]>],
    host_paths: &HostPaths,
    kind: &dyn Fn(u32) -> Transport,
    watch: &Watch<'_>,
) -> Oracle {
    let way = |end, flow: u32| {
        watch.step();
        let sends = flows[flow as usize].sender() == end;
        if sends {
            host_paths.queue_path(flows.directions(flow, end), kind(flow))
        } else {
            QueuePath::default()
        }
    };
    let of_host = |(host, own): (u32, &Arc<[u32]>)| {
        let own = (0..).zip(&**own);
        own.map(|(connection, &flow)| way((host, connection), flow)).collect()
    };
    Oracle { paths: (0..).zip(connections).map(of_host).collect() }
}

/// The seed of the end of a connection from which `direction` leads.
fn connection_seed(run: u64, direction: Direction) -> u64 {
    derive(run, purpose::CONNECTION, &[direction.label])
}

/// The flow whose algorithm was started with `seed`, which no other flow has.
pub(crate) fn flow_of_seed(flows: &Flows, run: u64, seed: u64) -> Option<u32> {
    (0..).zip(flows.iter()).map(|(number, flow)| (number, flow.sender())).find_map(
        |(number, end)| {
            let connection = connection_seed(run, flows.directions(number, end)[0]);
            (derive(connection, random::ALGORITHM, &[]) == seed).then_some(number)
        },
    )
}

/// The seed with which the algorithm of a flow is started.
///
/// # Panics
/// There is no such flow.
pub(crate) fn seed_of_flow(flows: &Flows, run: u64, number: usize) -> u64 {
    let (end, number) = (flows[number].sender(), u32::try_from(number).unwrap_or(u32::MAX));
    derive(connection_seed(run, flows.directions(number, end)[0]), random::ALGORITHM, &[])
}

/// The facts that one host needs to open its connections.
struct Book {
    host: u32,
    flows: Arc<Flows>,
    /// The flow of each of the host's connections.
    connections: Arc<[u32]>,
    host_paths: Arc<HostPaths>,
    /// The transport of each scheme.
    transports: Arc<[Transport]>,
    /// The class in which the data of each traffic class begins, under each scheme.
    classes: Arc<[[u8; MOST_CLASSES]]>,
    /// The seed of the run.
    seed: u64,
}

impl Book {
    fn opener(self) -> Opener {
        Box::new(move |connection| self.opening(connection))
    }

    fn opening(&self, connection: u32) -> Opening {
        let number = self.connections[connection as usize];
        let (flow, directions) =
            (&self.flows[number as usize], self.flows.directions(number, (self.host, connection)));
        let End { role, peer, peer_connection } = flow.end(self.host, connection);
        let treatment = self.flows.treatment(flow);
        let sends = matches!(role, Role::Sender | Role::Requester);
        let scheme = self.flows.scheme(number, self.seed);
        let transport = self.transports[usize::from(scheme)];
        let path = || self.host_paths.path(directions, transport);
        let terms = Terms {
            transport,
            scheme,
            path: if sends { path() } else { Path::default() },
            class: self.classes[usize::from(scheme)][treatment.class as usize % MOST_CLASSES],
            weight: treatment.weight,
            once: flow.life == Life::Once,
        };
        let address = Address { host: peer, route: self.host_paths.route(directions[0]).bits() };
        let seed = connection_seed(self.seed, directions[0]);
        Opening { terms, role, peer: peer_connection, address, seed }
    }
}

#[cfg(test)]
mod tests {
    use incast_transport::random::{ACK_JITTER, ALGORITHM, SIGNAL, unit};

    use super::*;
    use crate::build::build;
    use incast_net::TraceConfig;
    use incast_plan::random::generator;
    use incast_scenario::Document;

    /// The random streams of ten hosts with four connections each: for each connection the noise
    /// and the algorithm's start, for each host the jitter.
    fn streams() -> Vec<Vec<f64>> {
        let text = r#"
            title = "ten hosts with four connections"
            [run]
            duration = "1ms"
            schemes = ["timely"]
            [[network.star.hosts]]
            name = "host"
            count = 10
            rate = "10Gbps"
            delay = "1us"
            [[network.star.hosts]]
            name = "server"
            rate = "10Gbps"
            delay = "1us"
            [[traffic]]
            kind = "connections"
            from = "host"
            to = "server"
            connections = 4
        "#;
        let document = Document::parse(text.to_owned(), "test.toml").unwrap();
        let scenario = document.scenario();
        let mix = scenario.mix("timely", scenario.scheme("timely").unwrap());
        let built = build(scenario, mix, 1, TraceConfig::default(), &Watch::nobody());
        let mut streams = Vec::new();
        let mut draw = |seed, purpose| {
            let mut random = generator(seed, purpose, &[]);
            streams.push((0..1_000).map(|_| unit(&mut random)).collect());
        };
        for (host, connections) in (0..10).zip(built.flows.by_connection()) {
            let book = Book {
                host,
                flows: Arc::clone(&built.flows),
                connections: connections.into(),
                host_paths: Arc::clone(&built.host_paths),
                transports: [Transport::Message].into(),
                classes: [[0; MOST_CLASSES]].into(),
                seed: 1,
            };
            for connection in 0..4 {
                let Opening { seed, .. } = book.opening(connection);
                draw(seed, SIGNAL);
                draw(seed, ALGORITHM);
            }
            draw(derive(1, purpose::HOST, &[host.into()]), ACK_JITTER);
        }
        streams
    }

    #[test]
    fn every_connection_and_every_host_draws_on_its_own() {
        let streams = streams();
        assert_eq!(streams.len(), 10 * (4 * 2 + 1));
        let mut greatest = 0.0_f64;
        for (number, a) in streams.iter().enumerate() {
            for b in &streams[number + 1..] {
                let product = |(a, b): (&f64, &f64)| (a - 0.5) * (b - 0.5) * 12.0;
                let correlation = a.iter().zip(b).map(product).sum::<f64>() / 1_000.0;
                greatest = greatest.max(correlation.abs());
            }
        }
        // 4,005 pairs, each with a standard deviation of 1 / sqrt(1,000) = 0.032: the greatest
        // exceeds 5 of them once in 400 times. For two streams that are the same it is 1.
        assert!(greatest < 5.0 * 0.0317, "{greatest}");
    }
}

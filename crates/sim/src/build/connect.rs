//! Opens connections, and lists what applications post.

use std::collections::BTreeMap;

use incast_cc::Bytes;
use incast_transport::{self as transport, Role, Signal, Terms, Transport};

use super::flows::Flow;
use super::ways::Ways;
use crate::network::Network as Net;
use crate::network::host::{Post, Socket};
use crate::network::oracle::{Oracle, Way};
use crate::scenario::{Operation, Scheme, TransportKind};

/// Opens each flow's connections and lists what applications post.
#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
pub(super) fn connect(net: &mut Net, flows: &mut [Flow], scheme: Scheme, ways: &Ways<'_>) {
    let mut posts: BTreeMap<u32, Vec<Post>> = BTreeMap::new();
    let mut oracle = Oracle { ways: vec![Vec::new(); net.hosts.len()] };
    for (number, flow) in flows.iter_mut().enumerate() {
        let number = number as u32;
        let (source, destination) = (flow.source, flow.destination);
        let (sender, receiver) = match flow.operation {
            Operation::Write => (source, destination),
            Operation::Read => (destination, source),
        };
        let mut open = |from: (u32, Role), to: (u32, Role), data| {
            let ends = open(net, number, from, to, scheme.transport, ways, data);
            if scheme.signal == Signal::Oracle {
                let way = |a, b| if data { ways.way(a, b) } else { Way::default() };
                let (from, to) = ((from.0, ends.0), (to.0, ends.1));
                oracle.ways[from.0 as usize].push(way(from, to));
                oracle.ways[to.0 as usize].push(Way::default());
            }
            ends
        };
        let (out, into) = open((sender, Role::Sender), (receiver, Role::Receiver), true);
        (flow.sender, flow.receiver) = ((sender, out), (receiver, into));
        let posting = match flow.operation {
            Operation::Write => out,
            Operation::Read => {
                let answers = Role::Responder { answers: out };
                open((source, Role::Requester), (destination, answers), false).0
            }
        };
        for message in 0..u64::from(flow.count) {
            let bytes = flow.message.map(Bytes::get);
            let operation = match (flow.operation, bytes) {
                (Operation::Write, Some(bytes)) => transport::Operation::Write { bytes },
                (Operation::Write, None) => transport::Operation::Stream,
                (Operation::Read, Some(bytes)) => transport::Operation::Read { bytes },
                (Operation::Read, None) => transport::Operation::ReadStream,
            };
            let post = Post { at: flow.posted_at(message), connection: posting, operation };
            posts.entry(source).or_default().push(post);
        }
    }
    net.oracle = (scheme.signal == Signal::Oracle).then_some(oracle);
    for (host, posts) in posts {
        net.hosts[host as usize].set_posts(posts, &mut net.calendar);
    }
}

/// Opens a connection between two hosts; returns its index at each.
fn open(
    net: &mut Net,
    flow: u32,
    (a, role_a): (u32, Role),
    (b, role_b): (u32, Role),
    kind: TransportKind,
    ways: &Ways<'_>,
    data: bool,
) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
    let index = |net: &Net, host: u32| net.hosts[host as usize].sockets.len() as u32;
    let (at_a, at_b) = (index(net, a), index(net, b));
    let transport = match kind {
        TransportKind::Message => Transport::Message,
        TransportKind::Stream => Transport::Stream,
    };
    let mut add = |(host, index): (u32, u32), role, (peer, peer_index): (u32, u32)| {
        let terms = Terms { transport, path: ways.path((host, index), (peer, peer_index)) };
        let host = &mut net.hosts[host as usize];
        host.endpoint.open_on(terms, role, peer_index);
        host.add_socket(Socket { flow, peer, data });
    };
    add((a, at_a), role_a, (b, at_b));
    add((b, at_b), role_b, (a, at_a));
    (at_a, at_b)
}

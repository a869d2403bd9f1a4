//! Clients that ask servers, and collective operations.

use std::ops::Range;
use std::sync::Arc;

use incast_cc::Bytes;
use incast_plan::flows::{Flows, Life, Operation};
use incast_plan::random::{mean_gap, purpose};
use incast_plan::{Plan, PlannedApplication};

use super::client::{Client, Pace, Server, Slots, Workload};
use super::ring::Member;
use super::{Context, NewFlow};
use crate::{Collective, Requests};

/// Clients; returns the offered load in bits per second, if it is asked for.
pub(super) fn requests(context: &Context<'_>, plan: &mut Plan, requests: &Requests) -> Option<f64> {
    let read_sizes = requests.sizes.known().clone();
    let write_sizes = requests.write_sizes.as_ref().unwrap_or(&requests.sizes);
    let write_sizes = write_sizes.known().clone();
    let fan_out = requests.fan_out.options();
    let (bytes_read, bytes_written) = bytes_per_request(requests);
    let bytes = bytes_read + bytes_written;
    let urgent = context.traffic.urgent.as_ref();
    let workload = Arc::new(Workload {
        reads: requests.reads,
        read_sizes,
        write_sizes,
        fan_out,
        replicas: requests.replicas,
        split: requests.split,
        urgent_below: urgent.map_or(Bytes::ZERO, |urgent| urgent.below),
        think_time: requests.think_time,
        until: context.stop(),
    });
    let mut offered = requests.load.map(|_| 0.0);
    let servers_of = context.servers(requests);
    for &host in &context.sources {
        let servers = servers_of(host);
        if servers.is_empty() {
            continue;
        }
        let application = plan.next_application(host, context.number);
        let mut slots = 0;
        let mut open = |server, operation, urgent: bool, wanted: bool| -> Range<u32> {
            let end = |plan: &Plan| u32::try_from(plan.flows.len()).unwrap_or(u32::MAX);
            let first = end(plan);
            let count = if wanted { context.traffic.connections_per_pair() } else { 0 };
            for _ in 0..count {
                let size = if urgent { Bytes::ZERO } else { Bytes::MAX };
                let flow = context.flow(host, server, Some(size));
                let flow = NewFlow { operation, before: slots, ..flow }.add_to(plan);
                plan.flows.follow(flow, true, (application, slots));
                slots += 1;
            }
            first..end(plan)
        };
        let (reads, writes) = (requests.reads > 0.0, requests.reads < 1.0);
        let servers: Vec<_> = servers
            .into_iter()
            .map(|server| {
                [
                    open(server, Operation::Read, false, reads),
                    open(server, Operation::Read, true, reads && urgent.is_some()),
                    open(server, Operation::Write, false, writes),
                    open(server, Operation::Write, true, writes && urgent.is_some()),
                ]
            })
            .collect();
        let pace = match requests.load {
            Some(load) => {
                let bps = context.line_bps(host);
                offered = offered.map(|offered| offered + load * bps);
                Pace::Open { gap: mean_gap(bytes, load, bps) }
            }
            None => Pace::Closed { outstanding: requests.outstanding.unwrap_or(1) },
        };
        let (workload, start) = (Arc::clone(&workload), context.start());
        let random = context.generator_of(host, purpose::REQUESTS);
        let thoughts = context.generator_of(host, purpose::THINK_TIMES);
        plan.applications.push(PlannedApplication::new(host, move |flows| {
            let servers = servers.iter().map(|ranges| connected(ranges, flows)).collect();
            Client::new(workload, servers, (random, thoughts), start, pace)
        }));
    }
    offered
}

/// The slots of one server: reads, urgent reads, writes and urgent writes, each with its flows.
fn connected(ranges: &[Range<u32>; 4], flows: &Flows) -> Server {
    // Nothing else is between the flows of a range: neither a slot, nor a connection of the host.
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
    let [reads, urgent_reads, writes, urgent_writes] = ranges;
    Server {
        reads: [slots(reads), slots(urgent_reads)],
        writes: [slots(writes), slots(urgent_writes)],
    }
}

/// Payload of a request on average, over all of its messages: what is read of it, and what is written.
pub(super) fn bytes_per_request(requests: &Requests) -> (f64, f64) {
    let times = |servers: f64| if requests.split { 1.0 } else { servers };
    let writes = requests.write_sizes.as_ref().unwrap_or(&requests.sizes);
    (
        requests.reads * requests.sizes.known().mean() * times(requests.fan_out.mean()),
        (1.0 - requests.reads) * writes.known().mean() * times(f64::from(requests.replicas)),
    )
}

/// A ring around the hosts, in the order of their numbers.
pub(super) fn collective(context: &Context<'_>, plan: &mut Plan, collective: &Collective) {
    let hosts = &context.sources;
    let next = |place: usize| hosts[(place + 1) % hosts.len()];
    let applications: Vec<_> =
        hosts.iter().map(|&host| plan.next_application(host, context.number)).collect();
    for (place, &host) in hosts.iter().enumerate() {
        let start = context.start();
        let flow = context.flow(host, next(place), Some(collective.size));
        let flow = NewFlow { life: Life::Lasting, ..flow }.add_to(plan);
        plan.flows.follow(flow, false, (applications[(place + 1) % hosts.len()], 0));
        let (members, size) = (hosts.len() as u64, collective.size);
        let (rounds, compute) = (u64::from(collective.rounds), collective.compute);
        plan.applications.push(PlannedApplication::new(host, move |flows| {
            let connection = flows[flow as usize].posting();
            Member::new(connection, members, size, rounds, compute, start)
        }));
    }
}

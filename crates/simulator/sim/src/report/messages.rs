//! Messages: when each was posted, sent and complete, and how long that took compared with the
//! ideal.

use incast_cc::{Bytes, Span, Time};

use super::deadlines::{Judged, Timing};
use super::delivered;
use super::quantiles::Observed;
use crate::build::Built;
use crate::ideal::Link;
use incast_net::{Begun, Delivery, Host, Posted};
use incast_plan::application::ENDLESS;
use incast_plan::islands::Fabric;
use incast_scenario::Operation;

/// A message of known size that was posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: u32,
    /// The number of the message within its flow, from 0.
    pub(super) number: u32,
    pub(super) bytes: Bytes,
    /// The bytes that had arrived by the end of the run.
    pub(super) delivered: Bytes,
    pub(super) posted: Time,
    /// The departure of the first packet; none while it still waits at the sender.
    pub(super) first_sent: Option<Time>,
    /// The arrival of the last byte; none if it was after the end of the run.
    pub(super) completed: Option<Time>,
    /// The wait at hosts, before the network; known once the first packet has left.
    pub(super) host: Option<Span>,
    pub(super) ideal: Span,
    /// The time that the message had from posting to completion.
    pub(super) deadline: Option<Span>,
}

impl Message {
    pub(super) fn completion(&self) -> Option<Span> {
        self.completed.map(|completed| completed.since(self.posted))
    }

    /// The message by its deadline, in a run that ended at `end`.
    pub(super) fn timing(&self, end: Time) -> Timing {
        let &Self { posted, deadline, completed, .. } = self;
        Timing { posted, deadline, completed, end }
    }

    pub(super) fn slowdown(&self) -> Option<f64> {
        self.completion().map(|completion| self.over_ideal(completion))
    }

    /// The completion time in microseconds, in a run that ended at `end`.
    pub(super) fn observed_us(&self, end: Time) -> Observed {
        match self.completion() {
            Some(completion) => Observed::Exactly(completion.as_us_f64()),
            None => Observed::AtLeast(end.since(self.posted).as_us_f64()),
        }
    }

    /// The slowdown, in a run that ended at `end`.
    pub(super) fn observed_slowdown(&self, end: Time) -> Observed {
        match self.slowdown() {
            Some(slowdown) => Observed::Exactly(slowdown),
            None => Observed::AtLeast(self.over_ideal(end.since(self.posted))),
        }
    }

    fn over_ideal(&self, taken: Span) -> f64 {
        taken.as_ps() as f64 / self.ideal.as_ps() as f64
    }
}

/// The messages of one traffic that were posted while it was measured, and their results.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    pub(super) posted: u64,
    pub(super) posted_bytes: u64,
    pub(super) completed: u64,
    /// The messages with a deadline that were delivered by the end of the run, or whose deadline
    /// had passed.
    pub(super) judged: Judged,
}

/// All messages, in the order of flows, and the results of each traffic in the measured `window`.
pub(super) fn messages(built: &Built, window: (Time, Time)) -> (Vec<Message>, Vec<Carried>) {
    let flows = &built.flows;
    let hosts = || built.net.hosts().iter();
    let mut posted: Vec<&Posted> = hosts().flat_map(Host::posted).collect();
    posted.sort_by_key(|posted| posted.flow); // stable: a flow's come in the order of time
    let mut deliveries: Vec<&Delivery> = hosts().flat_map(Host::deliveries).collect();
    deliveries.sort_by_key(|delivery| (delivery.flow, delivery.message));
    let mut begun: Vec<&Begun> = hosts().flat_map(Host::begun).collect();
    begun.sort_by_key(|begun| (begun.flow, begun.data));
    let (mut deliveries, mut begun) = (deliveries.into_iter().peekable(), &begun[..]);
    let mut carried = vec![Carried::default(); built.plan.traffic.len()];
    let mut messages = Vec::new();
    for of_flow in posted.chunk_by(|a, b| a.flow == b.flow) {
        let number = of_flow[0].flow;
        let flow = &flows[number as usize];
        let (requests, data) = take_flow(&mut begun, number);
        let poster = &built.net.hosts()[flow.source as usize];
        let (mut links, mut arrived, mut before) = (None, None, 0);
        for (message, posted) in (0_u32..).zip(of_flow) {
            let delivery =
                deliveries.next_if(|next| next.flow == number && next.message == message);
            if posted.bytes == ENDLESS {
                continue;
            }
            let bytes = Bytes::new(posted.bytes);
            let carried = &mut carried[flow.traffic as usize];
            let counts = posted.at >= window.0 && posted.at < window.1;
            carried.posted += u64::from(counts);
            carried.posted_bytes += if counts { bytes.get() } else { 0 };
            carried.completed += u64::from(counts && delivery.is_some());
            let begun = data.get(message as usize);
            let of_request = requests.get(message as usize).map_or(Span::ZERO, |b| b.waited);
            let message = Message {
                flow: number,
                number: message,
                bytes,
                delivered: if delivery.is_some() {
                    bytes
                } else {
                    let arrived = *arrived.get_or_insert_with(|| delivered(built, flow));
                    bytes.min(Bytes::new(arrived.saturating_sub(before)))
                },
                posted: posted.at,
                first_sent: begun.map(|begun| begun.at).or(delivery.map(|_| posted.at)),
                completed: delivery.map(|delivery| delivery.at),
                host: begun.map(|begun| of_request + begun.waited).or(delivery.map(|_| of_request)),
                ideal: ideal(
                    built,
                    number,
                    links.get_or_insert_with(|| courses(built, number)),
                    bytes,
                ),
                deadline: poster.deadline(posted),
            };
            if counts {
                carried.judged.add(&message.timing(built.net.now()));
            }
            messages.push(message);
            before += bytes.get();
        }
    }
    (messages, carried)
}

/// Takes the departures of a flow off the front: first of requests, then of data.
fn take_flow<'a, 'b>(begun: &mut &'a [&'b Begun], flow: u32) -> (&'a [&'b Begun], &'a [&'b Begun]) {
    let from = begun.partition_point(|begun| begun.flow < flow);
    let own = &begun[from..];
    let requests = own.partition_point(|begun| begun.flow == flow && !begun.data);
    let end = own.partition_point(|begun| begun.flow == flow);
    *begun = &own[end..];
    (&own[..requests], &own[requests..end])
}

/// The fabric of the island that a flow goes over, if it does.
pub(super) fn fabric(built: &Built, flow: u32) -> Option<Fabric> {
    let flow = &built.flows[flow as usize];
    built.host_paths.islands().between(flow.source, flow.destination)
}

/// The links of a flow's request and of its payload, each from its sender on. A write has no
/// request, and a flow over an island has no links.
pub(super) fn courses(built: &Built, number: u32) -> [Vec<Link>; 2] {
    let flow = &built.flows[number as usize];
    let of = |end| built.host_paths.course(built.flows.directions(number, end)[0]);
    if fabric(built, number).is_some() {
        return [Vec::new(), Vec::new()];
    }
    let request = match flow.operation {
        Operation::Write => Vec::new(),
        Operation::Read => of((flow.source, flow.posting())),
    };
    [request, of(flow.sender())]
}

fn ideal(built: &Built, flow: u32, [request, payload]: &[Vec<Link>; 2], bytes: Bytes) -> Span {
    let cut = &built.cuts[usize::from(built.scheme_of(flow))];
    if let Some(fabric) = fabric(built, flow) {
        let payload = fabric.alone(bytes);
        return match built.flows[flow as usize].operation {
            Operation::Write => payload,
            Operation::Read => fabric.alone(cut.request) + payload,
        };
    }
    match built.flows[flow as usize].operation {
        Operation::Write => cut.ideal(bytes, payload),
        Operation::Read => cut.ideal_read(bytes, request, payload),
    }
}

//! The table of the ideal: when each message of a run would have been complete in the fluid
//! max-min, in the greedy schedule, and in the bound by shortest remaining first.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{Bytes, Rate, Span, Time};

use super::messages::{Message, courses, fabric};
use super::requests::Request;
use crate::build::Built;
use crate::ideal::fabric::{Fabric, Job, Part, bytes_per_ps};
use crate::ideal::srpt::Service;
use crate::ideal::{Cut, Link, fluid, greedy, srpt};
use incast_net::Host;
use incast_plan::application::ENDLESS;
use incast_plan::topology::Node;
use incast_table::Table;

/// The completion times of one message.
struct Row<'a> {
    message: &'a Message,
    fluid: Option<Span>,
    greedy: Option<Span>,
    bound: Span,
}

/// The completion times of all messages over the network. Islands have none.
pub(super) struct Ideals<'a> {
    rows: Vec<Row<'a>>,
}

impl<'a> Ideals<'a> {
    pub(super) fn of(built: &Built, messages: &'a [Message]) -> Self {
        let over_network = messages.iter().filter(|message| fabric(built, message.flow).is_none());
        Self { rows: rows(built, &over_network.collect::<Vec<_>>()) }
    }

    pub(super) fn table(&self, built: &Built) -> Table {
        table(built, &self.rows)
    }

    /// Gives each request the times at which it would have been complete in the fluid and in the
    /// greedy schedule: when the last of its messages is. All of them are posted when the request
    /// is made. A request that posts further messages when others have ended gets no times, and
    /// neither do two requests of a client at the same instant.
    pub(super) fn tell(&self, built: &Built, requests: &mut [Request]) {
        let gathers: BTreeSet<u16> = built.plan.gatherings.iter().map(|one| one.traffic).collect();
        let mut groups: BTreeMap<(u16, u32, Time), Group> = BTreeMap::new();
        for request in &*requests {
            groups.entry(request.key()).or_default().requests += 1;
        }
        for row in &self.rows {
            let flow = &built.flows[row.message.flow as usize];
            let receives = gathers.contains(&flow.traffic);
            let client = if receives { flow.destination } else { flow.source };
            if let Some(group) = groups.get_mut(&(flow.traffic, client, row.message.posted)) {
                group.messages += 1;
                for (of_group, own) in group.ideal.iter_mut().zip([row.fluid, row.greedy]) {
                    *of_group = of_group.zip(own).map(|(group, own)| group.max(own));
                }
            }
        }
        for request in requests {
            let group = &groups[&request.key()];
            if group.requests == 1 && request.is_posted_at_once(group.messages) {
                request.ideal = group.ideal;
            }
        }
    }
}

/// The messages that a client has posted at one instant, and the requests that it had then.
struct Group {
    requests: u32,
    messages: u32,
    /// The end of the last message in the fluid and in the greedy schedule.
    ideal: [Option<Span>; 2],
}

impl Default for Group {
    fn default() -> Self {
        Self { requests: 0, messages: 0, ideal: [Some(Span::ZERO); 2] }
    }
}

fn table(built: &Built, rows: &[Row<'_>]) -> Table {
    let (plan, flows) = (&built.plan, &built.flows);
    let us = |span: Option<Span>| span.map_or(f64::NAN, Span::as_us_f64);
    Table::new(
        "ideal",
        "one message that was posted, and how long it would have taken in references that no packet \
         delays: of the messages of the run over the network, with the times at which they were \
         posted in it",
    )
    .column(("traffic", "", "the traffic's name"), rows, |r| {
        plan.traffic[flows[r.message.flow as usize].traffic as usize].name.clone()
    })
    .column(("flow", "", "number of its flow"), rows, |r| u64::from(r.message.flow))
    .column(("message", "", "number within the flow, from 0"), rows, |r| {
        u64::from(r.message.number)
    })
    .column(("bytes", "B", "payload"), rows, |r| r.message.bytes.get())
    .column(("posted_us", "us", "asked for by the application"), rows, |r| {
        r.message.posted.since(Time::ZERO).as_us_f64()
    })
    .column(("ideal_us", "us", "completion without other traffic, as in messages"), rows, |r| {
        r.message.ideal.as_us_f64()
    })
    .column(
        (
            "fluid_us",
            "us",
            "completion if each connection had its max-min fair rate on the links of its path at each \
             instant; null behind a message without end",
        ),
        rows,
        |r| us(r.fluid),
    )
    .column(
        (
            "greedy_us",
            "us",
            "completion if at each instant messages in the order of the bytes left got all that is free \
             of their path: pFabric's ideal, near the best mean, and no bound",
        ),
        rows,
        |r| us(r.greedy),
    )
    .column(
        (
            "srpt_us",
            "us",
            "completion in a bound: the mean of this column is at most that of any scheme that delivers \
             all of these messages; of a part of them it bounds nothing",
        ),
        rows,
        |r| r.bound.as_us_f64(),
    )
}

/// A way of payload, and the facts from which bounds follow.
struct Course {
    way: u32,
    /// The links of one path without their token buckets, and the rate of the slowest.
    plain: Vec<Link>,
    slowest: Rate,
    /// Whether ports on the path have token buckets.
    is_shaped: bool,
    /// The links of the sending and of the receiving host.
    ends: [usize; 2],
    /// The greatest rates that these links ever have.
    peaks: [Rate; 2],
    /// The propagation delay of the first link, of the last, and of those between, which counts
    /// where the path is the same for all packets.
    delays: [Span; 2],
    between: Span,
    /// The time before the payload can leave: for a read, the time of its request.
    request: Span,
    /// Whether all packets take the same way, whose links never get faster.
    steady: bool,
}

fn rows<'a>(built: &Built, messages: &[&'a Message]) -> Vec<Row<'a>> {
    let mut fabric = Fabric {
        rates: (0..built.topology.cables.len())
            .flat_map(|cable| {
                [0, 1].map(|end| bytes_per_ps(built.host_paths.carries((cable, end))))
            })
            .collect(),
        ways: Vec::new(),
    };
    let mut hosts = Vec::new();
    let mut known: BTreeMap<u32, Course> = BTreeMap::new();
    let endless = endless(built);
    let numbers = messages.iter().map(|m| m.flow).chain(endless.iter().map(|&(flow, _)| flow));
    for number in numbers {
        known.entry(number).or_insert_with(|| course(built, number, &mut fabric, &mut hosts));
    }
    let cables = &built.topology.cables;
    let inside = |link: u32| {
        let ends = cables[link as usize / 2].ends;
        ends.iter().all(|end| matches!(end, Node::Switch(_)))
    };
    fabric.prune(&hosts, inside);
    let jobs = messages.iter().map(|message| Job {
        released: message.posted + known[&message.flow].request,
        bytes: Some(wire(built, message)),
        way: known[&message.flow].way,
        connection: message.flow,
    });
    let jobs: Vec<_> = jobs
        .chain(endless.iter().map(|&(flow, posted)| Job {
            released: posted + known[&flow].request,
            bytes: None,
            way: known[&flow].way,
            connection: flow,
        }))
        .collect();
    let fluid = fluid::ends(&fabric, &jobs);
    // Messages without end have the most left, and take nothing from others.
    let greedy = greedy::ends(&fabric, &jobs[..messages.len()]);
    let bound = bound(built, messages, &known);
    let whole = |message: &Message, end: Option<f64>| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time of a run is neither negative nor above 2^53 ps"
        )]
        let end = Time::from_ps(end?.round() as u64);
        // The time that the ideal, without bursts, adds to sending at the rate of the slowest link.
        let course = &known[&message.flow];
        let alone = if course.is_shaped {
            cut(built, message.flow).ideal(message.bytes, &course.plain)
        } else {
            message.ideal.saturating_sub(course.request)
        };
        let beside = alone.saturating_sub(course.slowest.time_for(wire(built, message)));
        Some(end.since(message.posted) + beside)
    };
    let each = messages.iter().zip(fluid).zip(greedy).zip(bound);
    each.map(|(((&message, fluid), greedy), bound)| Row {
        message,
        fluid: whole(message, fluid),
        greedy: whole(message, greedy),
        bound,
    })
    .collect()
}

fn course(built: &Built, number: u32, fabric: &mut Fabric, hosts: &mut Vec<(u32, u32)>) -> Course {
    let [direction, _] = built.flows.directions(number, built.flows[number as usize].sender());
    let link = |(cable, end): (usize, usize)| cable * 2 + end;
    #[expect(clippy::cast_possible_truncation, reason = "links and ways are numbered in 32 bits")]
    let way = {
        let shares = built.host_paths.shares(direction);
        let parts = shares.into_iter().map(|(at, part)| Part { link: link(at) as u32, part });
        fabric.ways.push(parts.collect());
        hosts.push((direction.from, direction.to));
        fabric.ways.len() as u32 - 1
    };
    let links = built.host_paths.links(direction);
    let cable = |place: usize| &built.topology.cables[links[place].0];
    let [request, payload] = courses(built, number);
    let plain: Vec<_> = payload.iter().map(|link| link.without_burst()).collect();
    let cut = cut(built, number);
    let request = if request.is_empty() { Span::ZERO } else { cut.ideal(cut.request, &request) };
    let (last, is_fixed) = (links.len() - 1, built.host_paths.is_fixed(direction));
    // The rate of a slow receiver bounds its messages as its link does.
    let (end, rates) =
        (links[last], [built.host_paths.carries(links[last]), built.topology.rate(links[last])]);
    let peak = if rates[0] < rates[1] { rates[0] } else { cable(last).peaks[end.1] };
    let between = (1..last).map(|place| cable(place).delay).sum();
    Course {
        way,
        slowest: plain.iter().map(|link| link.rate).min().unwrap_or(Rate::MAX),
        is_shaped: payload.iter().any(|link| link.burst.is_some()),
        plain,
        ends: [link(links[0]), link(links[last])],
        peaks: [cable(0).peaks[links[0].1], peak],
        delays: [cable(0).delay, cable(last).delay],
        between: if is_fixed { between } else { Span::ZERO },
        request,
        steady: is_fixed && built.topology.cables.iter().all(|cable| cable.peaks == cable.rates),
    }
}

/// The bytes of a message on the wire, in as few packets as possible.
fn wire(built: &Built, message: &Message) -> Bytes {
    let cut = cut(built, message.flow);
    let packets = message.bytes.get().div_ceil(cut.payload.get()).max(1);
    message.bytes + cut.header * packets
}

/// The way in which the messages of a flow are cut into packets.
fn cut(built: &Built, flow: u32) -> &Cut {
    &built.cuts[usize::from(built.scheme_of(flow))]
}

/// The flows that posted a message without end, and when.
fn endless(built: &Built) -> Vec<(u32, Time)> {
    let posted = built.net.hosts().iter().flat_map(Host::posted);
    let endless = posted.filter(|posted| posted.bytes == ENDLESS);
    endless.map(|posted| (posted.flow, posted.at)).collect()
}

/// The completion times whose mean no scheme is below.
///
/// A message is complete no earlier than the link of its sender has sent it, and the last packet,
/// which has at least a byte, has come from there. Each message has one such link, and the sum over
/// a link's messages is least if the link sends the shortest remaining first. A message is also not
/// complete before the link of its receiver has carried it, which its first packet reaches after
/// the links before, nor before its ideal time, where paths do not change. Messages that share such
/// a link are a group, whose sum is at least the greater of the two. So there is a bound by senders
/// and one by receivers, and the greater one is taken. A port with a token bucket passes a burst at
/// once, so there receivers bound nothing.
fn bound(built: &Built, messages: &[&Message], courses: &BTreeMap<u32, Course>) -> Vec<Span> {
    let steady = courses.values().all(|course| course.steady);
    // The least header makes the bound the lowest.
    let header = built.cuts.iter().map(|cut| cut.header).min().unwrap_or_default();
    let byte = Bytes::new(1) + header;
    let shaped = courses.values().any(|course| course.is_shaped);
    let by_end = |receives: usize| {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (i, message) in messages.iter().enumerate() {
            groups.entry(courses[&message.flow].ends[receives]).or_default().push(i);
        }
        let mut spans = vec![Span::ZERO; messages.len()];
        for group in groups.values() {
            // The time before the link, and after it.
            let around = |i: usize| {
                let course = &courses[&messages[i].flow];
                let ([first, last], [up, down]) = (course.delays, course.peaks);
                if receives == 1 {
                    (first + course.between + up.time_for(byte), last)
                } else {
                    let down = if shaped { Span::ZERO } else { down.time_for(byte) };
                    (Span::ZERO, first + course.between + down + last)
                }
            };
            let services: Vec<_> = group
                .iter()
                .map(|&i| {
                    let message = &messages[i];
                    let peak = courses[&message.flow].peaks[receives];
                    let request = courses[&message.flow].request;
                    let before = if steady { request } else { Span::ZERO } + around(i).0;
                    let ps = peak.time_for(wire(built, message)).as_ps();
                    Service { released: message.posted + before, ps }
                })
                .collect();
            let ends = srpt::ends(&services);
            let taken = group.iter().zip(ends);
            let taken: Vec<_> =
                taken.map(|(&i, end)| end.since(messages[i].posted) + around(i).1).collect();
            let alone = group.iter().map(|&i| messages[i].ideal);
            let sum = |spans: &mut dyn Iterator<Item = Span>| {
                spans.map(|span| u128::from(span.as_ps())).sum::<u128>()
            };
            let is_alone = steady && sum(&mut alone.clone()) > sum(&mut taken.iter().copied());
            for (place, &i) in group.iter().enumerate() {
                spans[i] = if is_alone { messages[i].ideal } else { taken[place] };
            }
        }
        let sum: u128 = spans.iter().map(|span| u128::from(span.as_ps())).sum();
        (sum, spans)
    };
    let (sent, received) = (by_end(0), by_end(1));
    if shaped || sent.0 > received.0 { sent.1 } else { received.1 }
}

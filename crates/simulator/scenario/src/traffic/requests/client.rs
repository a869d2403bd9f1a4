//! A client of servers. A request takes one or several messages, to servers drawn at random, and is
//! complete when all of them are.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use incast_cc::{Bytes, Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::traffic::deadline::DrawnDeadlines;
use crate::workload::Sizes;
use incast_plan::application::{Application, Finished, Outcome, Post, UnderWay};
use incast_plan::random::{below, distinct, exponential, share, unit};

/// The requests of clients, common to all clients of a traffic.
#[derive(Debug)]
pub(super) struct Workload {
    /// The share of requests that are reads.
    pub(super) reads: f64,
    /// The sizes of reads, and of writes.
    pub(super) read_sizes: Sizes,
    pub(super) write_sizes: Sizes,
    /// The possible numbers of servers of a read, with weights.
    pub(super) fan_out: Vec<(u32, f64)>,
    /// The number of servers of a write.
    pub(super) replicas: u32,
    /// Whether servers share the size of a request, rather than each sending all of it.
    pub(super) split: bool,
    /// The size below which messages are urgent and use separate connections.
    pub(super) urgent_below: Bytes,
    /// The mean of the exponential time from the end of a request to the next one; with zero it
    /// follows at once.
    pub(super) think_time: Span,
    /// The time from which on the client asks nothing.
    pub(super) until: Time,
}

/// The connections to a server: slots of the client, for reads and writes, common and urgent.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    pub(super) reads: [Slots; 2],
    pub(super) writes: [Slots; 2],
}

/// Consecutive slots of the client, and the connections that they post on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    /// The number of the first slot, and its connection.
    pub(super) first: u32,
    pub(super) connection: u32,
    pub(super) count: u32,
    /// The distance from the connection of one slot to that of the next.
    pub(super) step: u32,
}

impl Slots {
    /// The number and the connection of each slot.
    fn iter(self) -> impl Iterator<Item = (u32, u32)> {
        let Self { first, connection, count, step } = self;
        let slots = 0..count;
        slots.map(move |slot| (first + slot, connection + slot * step))
    }
}

#[derive(Debug)]
pub(super) struct Client {
    workload: Arc<Workload>,
    servers: Vec<Server>,
    random: Pcg64Mcg,
    /// The generator of think times, separate from `random`. Requests must not depend on when
    /// answers come, so that schemes are compared on the same requests.
    thoughts: Pcg64Mcg,
    /// The deadlines of requests, from a generator of their own.
    deadlines: DrawnDeadlines,
    /// Open loop: the mean gap between requests.
    gap: Option<Span>,
    /// The times at which the next requests are due.
    due: BinaryHeap<Reverse<Time>>,
    /// The requests under way. Places of complete requests are used again.
    requests: Vec<UnderWay>,
    vacant: Vec<u32>,
    /// The requests that wait for a message on each slot, in order.
    waiting: BTreeMap<u32, VecDeque<u32>>,
    begun: u64,
    finished: Vec<Finished>,
}

impl Client {
    /// A client of these servers. Requests come one by one at random with the mean `gap`, or
    /// `outstanding` are under way at a time, each followed by the next.
    pub(super) fn new(
        workload: Arc<Workload>,
        servers: Vec<Server>,
        (mut random, thoughts): (Pcg64Mcg, Pcg64Mcg),
        deadlines: DrawnDeadlines,
        start: Time,
        pace: Pace,
    ) -> Self {
        let (gap, due) = match pace {
            Pace::Open { gap } => {
                (Some(gap), vec![Reverse(start + exponential(&mut random, gap))].into())
            }
            Pace::Closed { outstanding } => (
                None,
                // The first requests are spread over a think time, since they would be synchronised
                // otherwise.
                (0..outstanding)
                    .map(|_| {
                        let spread = below(&mut random, workload.think_time.as_ps() + 1);
                        Reverse(start + Span::from_ps(spread))
                    })
                    .collect(),
            ),
        };
        Self {
            workload,
            servers,
            random,
            thoughts,
            deadlines,
            gap,
            due,
            requests: Vec::new(),
            vacant: Vec::new(),
            waiting: BTreeMap::new(),
            begun: 0,
            finished: Vec::new(),
        }
    }

    fn ask(&mut self, now: Time, posts: &mut Vec<Post>) {
        self.begun += 1;
        let workload = Arc::clone(&self.workload);
        let read = workload.reads >= 1.0 || unit(&mut self.random) < workload.reads;
        let (kind, sizes, wanted) = if read {
            ("read", &workload.read_sizes, self.draw_fan_out())
        } else {
            ("write", &workload.write_sizes, workload.replicas)
        };
        let bytes = sizes.sample(&mut self.random);
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
        let servers = distinct(&mut self.random, wanted, self.servers.len() as u32);
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
        let fan_out = servers.len() as u32;
        let each = if workload.split { share(bytes, fan_out) } else { bytes };
        let deadline = self.deadlines.draw(each * u64::from(fan_out));
        let request = UnderWay { kind, posted: now, bytes, fan_out, missing: fan_out, deadline };
        let place = self.place(request);
        let urgent = usize::from(each < workload.urgent_below);
        for server in servers {
            let server = &self.servers[server as usize];
            let slots = if read { server.reads[urgent] } else { server.writes[urgent] };
            let waiting = |slot: u32| self.waiting.get(&slot).map_or(0, VecDeque::len);
            let least = slots.iter().min_by_key(|&(slot, _)| waiting(slot));
            let Some((slot, connection)) = least else { continue };
            self.waiting.entry(slot).or_default().push_back(place);
            posts.push(Post { at: now, connection, bytes: each.get(), deadline });
        }
    }

    fn draw_fan_out(&mut self) -> u32 {
        let options = &self.workload.fan_out;
        if let [(only, _)] = options[..] {
            return only;
        }
        let total: f64 = options.iter().map(|&(_, weight)| weight).sum();
        let mut left = unit(&mut self.random) * total;
        for &(fan_out, weight) in options {
            if left < weight {
                return fan_out;
            }
            left -= weight;
        }
        options.last().map_or(1, |&(fan_out, _)| fan_out)
    }

    fn place(&mut self, request: UnderWay) -> u32 {
        if let Some(place) = self.vacant.pop() {
            self.requests[place as usize] = request;
            return place;
        }
        self.requests.push(request);
        #[expect(clippy::cast_possible_truncation, reason = "more requests do not fit the memory")]
        let place = self.requests.len() as u32 - 1;
        place
    }
}

impl Application for Client {
    fn next_timer(&self) -> Time {
        let due = self.due.peek().map_or(Time::MAX, |&Reverse(due)| due);
        if due < self.workload.until { due } else { Time::MAX }
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Post>) {
        while self.next_timer() <= now {
            self.due.pop();
            if let Some(gap) = self.gap {
                self.due.push(Reverse(now + exponential(&mut self.random, gap)));
            }
            self.ask(now, posts);
        }
    }

    /// Takes a message of a request: a read one has arrived, or a written one has been
    /// acknowledged.
    fn on_outcome(&mut self, now: Time, slot: u32, _: Outcome, _: &mut Vec<Post>) {
        let Entry::Occupied(mut waiting) = self.waiting.entry(slot) else { return };
        let Some(place) = waiting.get_mut().pop_front() else { return };
        if waiting.get().is_empty() {
            waiting.remove();
        }
        let request = &mut self.requests[place as usize];
        request.missing -= 1;
        if request.missing > 0 {
            return;
        }
        let UnderWay { kind, posted, bytes, fan_out, deadline, .. } = *request;
        self.finished.push(Finished { kind, posted, completed: now, bytes, fan_out, deadline });
        self.vacant.push(place);
        if self.gap.is_none() {
            let think = self.workload.think_time;
            let pause =
                if think.is_zero() { Span::ZERO } else { exponential(&mut self.thoughts, think) };
            self.due.push(Reverse(now + pause));
        }
    }

    fn finished(&self) -> &[Finished] {
        &self.finished
    }

    fn under_way(&self) -> Vec<UnderWay> {
        // Complete requests miss no message, whether their place is free or not.
        let places = self.requests.iter().filter(|request| request.missing > 0);
        let mut under_way: Vec<_> = places.copied().collect();
        under_way.sort_by_key(|request| request.posted);
        under_way
    }

    fn begun(&self) -> u64 {
        self.begun
    }
}

/// The times at which requests come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Open loop: at random, whether earlier requests are complete or not.
    Open {
        /// The mean gap.
        gap: Span,
    },
    /// Closed loop: this number of requests is under way; when one ends the next one comes.
    Closed { outstanding: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_plan::random::generator;

    fn client(pace: Pace, fan_out: Vec<(u32, f64)>, think_time: Span) -> Client {
        let workload = Workload {
            reads: 1.0,
            read_sizes: Sizes::Fixed(Bytes::new(1_000)),
            write_sizes: Sizes::Fixed(Bytes::new(1_000)),
            fan_out,
            replicas: 1,
            split: false,
            urgent_below: Bytes::ZERO,
            think_time,
            until: Time::ZERO + Span::from_secs(1),
        };
        let server = |number| Server {
            reads: [
                Slots { first: number, connection: number + 100, count: 1, step: 1 },
                Slots::default(),
            ],
            ..Server::default()
        };
        let servers = (0..8).map(server).collect();
        let random = ["requests", "think times"].map(|purpose| generator(1, purpose, &[]));
        let deadlines = DrawnDeadlines::none();
        Client::new(workload.into(), servers, random.into(), deadlines, Time::ZERO, pace)
    }

    #[test]
    fn a_request_is_complete_when_all_its_answers_are() {
        let mut client = client(Pace::Closed { outstanding: 1 }, vec![(3, 1.0)], Span::from_us(10));
        let mut posts = Vec::new();
        let asked = client.next_timer();
        client.on_timer(asked, &mut posts);
        assert_eq!((posts.len(), client.next_timer()), (3, Time::MAX));
        let later = asked + Span::from_us(50);
        for (missing, post) in (1..=3).rev().zip(&posts) {
            assert!(client.finished().is_empty());
            let [under_way] = client.under_way()[..] else { panic!("{:?}", client.under_way()) };
            assert_eq!((under_way.posted, under_way.missing), (asked, missing));
            client.on_outcome(later, post.connection - 100, Outcome::Received, &mut Vec::new());
        }
        let [finished] = client.finished() else { panic!("{:?}", client.finished()) };
        assert_eq!((finished.posted, finished.completed, finished.fan_out), (asked, later, 3));
        assert!(client.under_way().is_empty());
        assert!(client.next_timer() > later && client.next_timer() < Time::MAX, "thinks, goes on");
    }

    #[test]
    fn fan_out_is_drawn_by_its_weights() {
        let options = vec![(1, 0.5), (2, 0.3), (8, 0.2)];
        let mut client = client(Pace::Closed { outstanding: 1 }, options, Span::ZERO);
        let mut counts = [0_u32; 9];
        (0..10_000).for_each(|_| counts[client.draw_fan_out() as usize] += 1);
        // Four standard deviations of a binomial distribution of 10,000: at most 200.
        for (fan_out, expected) in [(1, 5_000_i64), (2, 3_000), (8, 2_000)] {
            assert!((i64::from(counts[fan_out]) - expected).abs() < 200, "{counts:?}");
        }
    }

    #[test]
    fn open_loop_does_not_wait_for_answers() {
        let mut client = client(Pace::Open { gap: Span::from_us(10) }, vec![(1, 1.0)], Span::ZERO);
        let mut posts = Vec::new();
        while client.next_timer() < Time::ZERO + Span::from_ms(100) {
            client.on_timer(client.next_timer(), &mut posts);
        }
        // A Poisson process with a mean of 10,000: four standard deviations are 400.
        assert!(posts.len().abs_diff(10_000) < 400, "{}", posts.len());
    }
}

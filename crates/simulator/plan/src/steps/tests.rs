//! Tests of workers.

#![expect(clippy::cast_possible_truncation, reason = "few steps")]

use std::collections::BTreeSet;

use super::*;
use crate::random::generator;

#[derive(Debug)]
struct NoDues;

impl Due for NoDues {
    fn due(&mut self, _step: u32, _bytes: Bytes) -> Option<Span> {
        None
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

const fn send(to: u32) -> Step {
    Step::Send { to, bytes: 10 }
}

const fn arrives(slot: u32) -> Step {
    Step::Await { slot, outcome: Outcome::Received }
}

/// The posts: times in microseconds, and connections.
fn left(posts: &[Post]) -> Vec<(u64, u32)> {
    posts.iter().map(|post| (post.at.as_ps() / 1_000_000, post.connection)).collect()
}

#[test]
fn a_step_begins_when_all_that_it_waits_for_has_ended() {
    // Two parts arrive, the host computes for 5 us with both, and sends the result on.
    let mut list = Listing::default();
    let parts = [list.after(&[], arrives(0)), list.after(&[], arrives(1))];
    let sum = list.after(&parts, Step::Compute(Span::from_us(5)));
    list.after(&[sum], send(0));
    let mut worker = Worker::new(Arc::new(list.finish()), vec![7], Rounds::ONCE, NoDues);
    let mut posts = Vec::new();
    worker.on_outcome(at(1), 1, Outcome::Received, &mut posts);
    worker.on_outcome(at(2), 0, Outcome::Sent, &mut posts); // nobody awaits that
    assert_eq!(worker.next_timer(), Time::MAX);
    worker.on_outcome(at(3), 0, Outcome::Received, &mut posts);
    assert_eq!((worker.next_timer(), posts.len()), (at(8), 0));
    worker.on_timer(at(8), &mut posts);
    assert_eq!((left(&posts), worker.next_timer()), (vec![(8, 7)], Time::MAX));
}

#[test]
fn the_first_of_several_is_enough_where_one_is() {
    let mut list = Listing::default();
    let any = [list.after(&[], arrives(0)), list.after(&[], arrives(1))];
    list.after_any(&any, send(0));
    let mut worker = Worker::new(Arc::new(list.finish()), vec![7], Rounds::ONCE, NoDues);
    let mut posts = Vec::new();
    worker.on_outcome(at(1), 1, Outcome::Received, &mut posts);
    worker.on_outcome(at(2), 0, Outcome::Received, &mut posts);
    assert_eq!(left(&posts), [(1, 7)]);
}

#[test]
fn steps_take_a_stream_one_after_another_in_the_order_of_asking() {
    // Three computations of 5, 2 and 1 us share a stream, and a fourth of 3 us has its own.
    let mut list = Listing::default();
    for (stream, us) in [(0, 5), (0, 2), (1, 3), (0, 1)] {
        let span = Span::from_us(us);
        let claim = list.after(&[], Step::Claim { stream, span });
        let done = list.after(&[claim], Step::Compute(span));
        list.after(&[done], send(0));
    }
    let timed = Some(Timed { start: at(1), pause: Span::from_us(10) });
    let rounds = Rounds { count: 2, timed, told: None };
    let mut worker = Worker::new(Arc::new(list.finish()), vec![7], rounds, NoDues);
    let mut posts = Vec::new();
    while worker.next_timer() < Time::MAX {
        worker.on_timer(worker.next_timer(), &mut posts);
    }
    let times: Vec<_> = left(&posts).iter().map(|post| post.0).collect();
    assert_eq!(times, [4, 6, 8, 9, 22, 24, 26, 27]);
}

#[test]
fn outcomes_that_come_early_wait_for_their_round() {
    // A ring of three hosts: four chunks, each but the first after the chunk of the step
    // before.
    let mut list = Listing::default();
    list.after(&[], send(0));
    for step in 0..4 {
        let chunk = list.after(&[], arrives(0));
        if step < 3 {
            list.after(&[chunk], send(0));
        }
    }
    let rounds = Rounds {
        count: 2,
        timed: Some(Timed { start: at(1), pause: Span::from_us(50) }),
        told: Some(Told { kind: "all-reduce", bytes: Bytes::new(10), fan_out: 4 }),
    };
    let mut worker = Worker::new(Arc::new(list.finish()), vec![7], rounds, NoDues);
    let mut posts = Vec::new();
    worker.on_timer(at(1), &mut posts);
    for arrived in 1..4 {
        worker.on_outcome(at(10), 0, Outcome::Received, &mut posts);
        assert_eq!(posts.len(), arrived + 1);
    }
    let [round] = worker.under_way()[..] else { panic!("{worker:?}") };
    assert_eq!((round.posted, round.fan_out, round.missing), (at(1), 4, 1));
    worker.on_outcome(at(20), 0, Outcome::Received, &mut posts);
    assert_eq!((worker.under_way().len(), posts.len(), worker.begun()), (0, 4, 1));
    // The predecessor is ahead: its chunk waits until this host's round starts.
    assert_eq!(worker.next_timer(), at(70));
    worker.on_outcome(at(60), 0, Outcome::Received, &mut posts);
    assert_eq!(posts.len(), 4);
    worker.on_timer(at(70), &mut posts);
    assert_eq!(posts.len(), 6, "the first, and the one for the chunk that came early");
    let finished: Vec<_> = worker.finished().iter().map(|r| (r.posted, r.completed)).collect();
    assert_eq!(finished, [(at(1), at(20))]);
}

#[test]
fn rounds_without_times_follow_each_other_at_once() {
    let mut list = Listing::default();
    let asked = list.after(&[], arrives(0));
    list.after(&[asked], send(0));
    let rounds = Rounds { count: u64::MAX, ..Rounds::ONCE };
    let mut worker = Worker::new(Arc::new(list.finish()), vec![7], rounds, NoDues);
    let mut posts = Vec::new();
    for us in [1, 2, 9] {
        worker.on_outcome(at(us), 0, Outcome::Received, &mut posts);
    }
    assert_eq!(left(&posts), [(1, 7), (2, 7), (9, 7)]);
    assert_eq!((worker.begun(), worker.finished().len()), (0, 0), "results are silent");
}

#[test]
fn the_first_message_waits_until_its_connection_is_set_up() {
    // Two messages to one peer, the second of them ready while the connection is set up, and one
    // to another peer; then a second round.
    let mut list = Listing::default();
    list.after(&[], send(0));
    let computed = list.after(&[], Step::Compute(Span::from_us(2)));
    list.after(&[computed], send(0));
    list.after(&[computed], send(1));
    let timed = Some(Timed { start: at(1), pause: Span::ZERO });
    let rounds = Rounds { count: 2, timed, told: None };
    let worker = Worker::new(Arc::new(list.finish()), vec![7, 8], rounds, NoDues);
    let mut worker = worker.with_set_up(Span::from_us(5));
    let mut posts = Vec::new();
    while worker.next_timer() < Time::MAX {
        worker.on_timer(worker.next_timer(), &mut posts);
    }
    // From 1 to 6 and from 3 to 8; the second round begins at 8, and computes until 10.
    assert_eq!(left(&posts), [(6, 7), (6, 7), (8, 8), (8, 7), (10, 7), (10, 8)]);
}

#[test]
fn jitter_puts_each_round_off_by_up_to_its_most() {
    let mut list = Listing::default();
    list.after(&[], send(0));
    let timed = Some(Timed { start: at(1), pause: Span::from_us(10) });
    let rounds = Rounds { count: 1_000, timed, told: None };
    let worker = Worker::new(Arc::new(list.finish()), vec![7], rounds, NoDues);
    let random = generator(1, "test", &[]);
    let mut worker = worker.with_jitter(Span::from_us(4), random);
    let (mut posts, mut before, mut sum) = (Vec::new(), at(1), 0);
    while worker.next_timer() < Time::MAX {
        let now = worker.next_timer();
        let late = now.since(before);
        assert!(late <= Span::from_us(4), "{late}");
        sum += late.as_ps();
        worker.on_timer(now, &mut posts);
        before = now + Span::from_us(10);
    }
    assert_eq!(posts.len(), 1_000);
    // The mean is 2 us, with a standard deviation of 4 us / sqrt(12 * 1,000): 37 ns.
    assert!((sum / 1_000).abs_diff(2_000_000) < 5 * 37_000, "{sum}");
}

/// A step of a random graph.
struct Drawn {
    after: Vec<u32>,
    /// Whether the first of `after` is enough.
    any: bool,
    kind: Kind,
}

/// The times are in microseconds.
enum Kind {
    Sends,
    Computes(u64),
    /// Awaits a message that comes in each round at this time.
    Awaits([u64; 2]),
}

/// A graph whose steps wait for steps before them.
fn random_graph(random: &mut Pcg64Mcg) -> Vec<Drawn> {
    let steps = 1 + below(random, 40);
    let draw = |number: u64| {
        let count = below(random, 4).min(number);
        let after: BTreeSet<_> = (0..count).map(|_| below(random, number) as u32).collect();
        let kind = match below(random, 3) {
            0 => Kind::Sends,
            1 => Kind::Computes(below(random, 9)),
            _ => {
                let first = below(random, 60);
                Kind::Awaits([first, first + below(random, 90)])
            }
        };
        Drawn { after: after.into_iter().collect(), any: below(random, 2) == 0, kind }
    };
    (0..steps).map(draw).collect()
}

/// The ends of all steps of both rounds, found one step after the other.
fn ends_one_by_one(graph: &[Drawn], pause: u64) -> Vec<u64> {
    let mut all = Vec::new();
    let mut start = 0;
    for round in 0..2 {
        let mut ends: Vec<u64> = Vec::new();
        for step in graph {
            let before = step.after.iter().map(|&before| ends[before as usize]);
            let ready = if step.any { before.min() } else { before.max() }.unwrap_or(start);
            ends.push(match step.kind {
                Kind::Sends => ready,
                Kind::Computes(takes) => ready + takes,
                Kind::Awaits(comes) => ready.max(comes[round]),
            });
        }
        start = ends.iter().max().unwrap() + pause;
        all.extend(ends);
    }
    all
}

#[test]
fn steps_of_random_graphs_end_as_found_one_by_one() {
    let us = Span::from_us;
    for seed in 0..2_000 {
        let mut random = generator(seed, "test", &[]);
        let graph = random_graph(&mut random);
        let pause = below(&mut random, 20);
        let mut list = Listing::default();
        let mut arrivals = Vec::new();
        for (slot, step) in (0..).zip(&graph) {
            let action = match step.kind {
                Kind::Sends => send(0),
                Kind::Computes(takes) => Step::Compute(us(takes)),
                Kind::Awaits(comes) => {
                    arrivals.extend(comes.map(|comes| (at(comes), slot)));
                    arrives(slot)
                }
            };
            if step.any && !step.after.is_empty() {
                list.after_any(&step.after, action);
            } else {
                list.after(&step.after, action);
            }
        }
        arrivals.sort_unstable();
        let timed = Some(Timed { start: at(0), pause: us(pause) });
        let rounds = Rounds { count: 2, timed, told: None };
        let worker = Worker::new(Arc::new(list.finish()), vec![7], rounds, NoDues);
        let (mut worker, mut posts) = (worker.recording(true), Vec::new());
        let mut arrivals = arrivals.into_iter().peekable();
        loop {
            let timer = worker.next_timer();
            match arrivals.next_if(|&(comes, _)| comes <= timer) {
                Some((now, slot)) => {
                    worker.on_outcome(now, slot, Outcome::Received, &mut posts);
                }
                None if timer == Time::MAX => break,
                None => worker.on_timer(timer, &mut posts),
            }
        }
        let ended = worker.record.ends().unwrap();
        let mut ends = vec![u64::MAX; 2 * graph.len()];
        for (place, ended) in ended.iter().enumerate() {
            let round = place / graph.len();
            ends[round * graph.len() + ended.step as usize] = ended.at.as_ps() / 1_000_000;
        }
        assert_eq!(ends, ends_one_by_one(&graph, pause), "seed {seed}");
        let sends = graph.iter().filter(|step| matches!(step.kind, Kind::Sends)).count();
        assert_eq!((worker.ended, posts.len()), (2, 2 * sends), "seed {seed}");
    }
}

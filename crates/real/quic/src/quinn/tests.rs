use std::sync::Mutex;

use incast_cc::parts::Random;
use incast_cc::registry::NAMES;
use incast_cc::{Ack, AnyAlgorithm, AnyControl, Loss, LossCause, Notification, Rate, Sent};

use super::*;
use crate::memory::Estimator;
use crate::record::{Call, Calls, Recorded, flow, kept_up, replay, rtts};

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[expect(clippy::disallowed_methods, reason = "any instant will do")]
fn instant() -> Instant {
    Instant::now()
}

fn settings() -> Settings {
    Settings::new(Rate::from_gbps(1))
}

/// A controller of an algorithm by its name, and what the algorithm is told.
struct Driven {
    control: Control<Recorded<AnyControl>>,
    calls: Calls,
    estimator: Estimator,
    start: Instant,
    number: u64,
}

impl Driven {
    fn new(name: &str) -> Self {
        let (algorithm, calls) = (AnyAlgorithm::named(name).unwrap(), Calls::default());
        let noting = calls.clone();
        let start = move |flow: &Flow| Recorded::new(algorithm.start(flow), &noting);
        let connections = Connections::new(settings(), start);
        let now = instant();
        let control = Control::new(connections.open(1_200, ACKNOWLEDGED), now);
        Self { control, calls, estimator: Estimator::new(now), start: now, number: 0 }
    }

    fn sent(&mut self, now: u64, bytes: u64) {
        self.number += 1;
        self.control.on_sent(self.start + us(now), bytes, self.number);
    }

    /// An ACK of datagrams of 1,200 B, which were sent at these times.
    fn acked(&mut self, now: u64, sent: &[u64], in_flight: u64, estimator: &RttEstimator) {
        let now = self.start + us(now);
        for sent in sent {
            self.control.on_ack(now, self.start + us(*sent), 1_200, false, estimator);
        }
        self.number += 1;
        self.control.on_end_acks(now, in_flight, false, Some(self.number));
    }

    fn congestion(&mut self, now: u64, sent: u64, persistent: bool, lost: u64) {
        let (now, sent) = (self.start + us(now), self.start + us(sent));
        self.control.on_congestion_event(now, sent, persistent, lost);
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

fn bytes(bytes: u64) -> Bytes {
    Bytes::new(bytes)
}

fn ack(now: u64, sent: u64, acked: u64) -> Ack<'static> {
    Ack::new(at(now), at(sent), bytes(acked))
}

/// Ten datagrams, of which two are lost; two arrive marked later; then nothing does for long.
fn a_connection(name: &str) -> Driven {
    let mut driven = Driven::new(name);
    driven.sent(0, 12_000);
    let first = driven.estimator.sample(us(1_000));
    driven.acked(1_000, &[0, 0], 9_600, &first);
    driven.congestion(1_000, 0, false, 2_400);
    driven.sent(1_010, 4_800);
    let second = driven.estimator.sample(us(990));
    driven.acked(2_000, &[1_010, 1_010], 9_600, &second);
    driven.congestion(2_000, 1_010, false, 0);
    driven.congestion(9_000, 1_010, true, 9_600);
    driven
}

#[test]
fn an_algorithm_hears_what_quinn_tells() {
    let calls = a_connection("newreno").calls();
    let mut sent = Sent::new(at(0), bytes(12_000), bytes(12_000));
    assert_eq!(calls[0], Call::Sent(sent));

    let mut first = ack(1_000, 0, 2_400).with_rtt(Span::from_us(1_000));
    (first.end, first.next) = (bytes(12_000), bytes(12_000));
    (first.srtt, first.min_rtt) = (Span::from_us(1_000), Span::from_us(1_000));
    (first.in_flight, first.delivered) = (bytes(9_600), bytes(2_400));
    (first.cwnd_limited, first.round) = (true, 1);
    assert_eq!(calls[1], Call::Ack(first));

    let mut loss = Loss::new(at(1_000), at(0), bytes(2_400), LossCause::Detected);
    (loss.end, loss.next, loss.in_flight) = (bytes(12_000), bytes(12_000), bytes(7_200));
    assert_eq!(calls[2], Call::Loss(loss));

    sent = Sent::new(at(1_010), bytes(4_800), bytes(12_000));
    sent.end = bytes(16_800);
    assert_eq!(calls[3], Call::Sent(sent));

    let mut second = ack(2_000, 1_010, 2_400).with_rtt(Span::from_us(990));
    (second.first, second.end, second.next) = (bytes(12_000), bytes(16_800), bytes(16_800));
    second.srtt = Span::from_ns(998_750);
    second.min_rtt = Span::from_us(990);
    (second.in_flight, second.delivered) = (bytes(9_600), bytes(4_800));
    (second.cwnd_limited, second.round) = (true, 2);
    assert_eq!(calls[4], Call::Ack(second), "sent after the loss: the recovery is over");

    let mut mark = ack(2_000, 1_010, 0);
    (mark.first, mark.end, mark.next) = (second.first, second.end, second.next);
    (mark.srtt, mark.min_rtt) = (second.srtt, second.min_rtt);
    mark.ce_bytes = bytes(2_400);
    (mark.in_flight, mark.delivered) = (second.in_flight, second.delivered);
    (mark.cwnd_limited, mark.round) = (true, 2);
    assert_eq!(calls[5], Call::Ack(mark), "all data of the ACK counts as marked");
    assert_eq!(calls[6], Call::Notification(Notification::new(at(2_000))));

    let mut lost = Loss::new(at(9_000), at(1_010), bytes(9_600), LossCause::Timeout);
    (lost.first, lost.end, lost.next) = (bytes(7_200), bytes(16_800), bytes(16_800));
    assert_eq!(calls[7], Call::Loss(lost));
    assert_eq!(calls.len(), 8);
}

#[test]
fn every_algorithm_has_the_window_of_the_same_algorithm_told_directly() {
    for name in NAMES {
        let driven = a_connection(name);
        let mut direct = AnyAlgorithm::named(name).unwrap().start(&flow());
        replay(&driven.calls(), &mut direct);
        let limits = direct.limits();
        let srtt = Span::from_ns(998_750);
        let expected = match limits.pacing {
            incast_cc::Pacing::Rate(rate) => limits.cwnd.min(kept_up(rate, srtt, ACKNOWLEDGED)),
            _ => limits.cwnd,
        };
        // quinn sends below the window, not up to it.
        assert_eq!(driven.control.window(), expected.max(bytes(2_400)).get() + 1, "{name}");
    }
}

#[test]
fn a_rate_without_an_rtt_has_the_initial_window_and_then_that_of_the_rtt() {
    let mut driven = Driven::new("line-rate");
    assert_eq!(driven.control.window(), 12_001);
    driven.sent(0, 2_400);
    let estimator = driven.estimator.sample(us(500));
    driven.acked(500, &[0, 0], 0, &estimator);
    let filled = "62,500 B in 500 us at 1 Gb/s, and a datagram, in whole ones";
    assert_eq!(driven.control.window(), 64_801, "{filled}");
    assert_eq!(driven.control.metrics().pacing_rate, Some(1_000_000_000));
}

/// The samples of ACKs of one datagram, whose peer reports how long it has held them back.
#[test]
fn a_delayed_ack_of_one_datagram_has_its_sample_with_the_next_ack() {
    let mut driven = Driven::new("newreno");
    let mut times = Vec::new();
    for (round, (rtt, told)) in
        [(100, 100), (100, 100), (25_100, 140), (100, 100)].iter().enumerate()
    {
        let sent = round as u64 * 100_000;
        driven.sent(sent, 1_200);
        // quinn's estimator goes by the RTT without the delay.
        let estimator = driven.estimator.sample(us(*told));
        driven.acked(sent + rtt, &[sent], 0, &estimator);
        times.push(driven.control.held.is_some());
    }
    assert_eq!(times, [false, false, true, false]);
    let samples = rtts(&driven.calls());
    assert_eq!(samples, [Some(100), Some(100), None, Some(100)], "at once, and late");

    // Where the next ACK has no sample of its own, it brings the late one.
    let mut driven = Driven::new("newreno");
    for (sent, rtt, told) in [(0, 100, 100), (1_000, 25_100, 140), (30_000, 25_200, 150)] {
        driven.sent(sent, 1_200);
        let estimator = driven.estimator.sample(us(told));
        driven.acked(sent + rtt, &[sent], 0, &estimator);
    }
    let samples = rtts(&driven.calls());
    assert_eq!(samples, [Some(100), None, Some(140)]);
}

#[test]
fn datagrams_that_are_never_acknowledged_leave_the_books() {
    let mut driven = Driven::new("newreno");
    driven.sent(0, 40); // an ACK alone, which quinn counts as sent
    driven.sent(10, 1_200);
    let estimator = driven.estimator.sample(us(100));
    driven.acked(110, &[10], 0, &estimator);
    driven.sent(5_110, 1_200);
    let calls = driven.calls();
    assert!(calls.contains(&Call::Restart(at(5_110), Span::from_us(5_000))), "{calls:?}");
}

#[test]
fn connections_know_how_many_others_live() {
    let flows = Arc::new(Mutex::new(Vec::new()));
    let seen = flows.clone();
    let timely = AnyAlgorithm::named("timely").unwrap();
    let factory = Arc::new(Factory::new(settings(), move |flow: &Flow| {
        seen.lock().unwrap().push((flow.active_flows, flow.seed));
        timely.start(flow)
    }));
    let first = factory.clone().build(instant(), 1_200);
    let second = factory.clone().build(instant(), 1_200);
    drop(first);
    let third = factory.build(instant(), 1_200);
    assert_eq!(*flows.lock().unwrap(), [(0, 0), (1, 1), (1, 2)]);
    drop((second, third));
}

/// Calls in any order, with any numbers: what quinn never does, and more.
#[test]
fn no_sequence_of_calls_makes_an_algorithm_panic() {
    for (seed, name) in NAMES.iter().enumerate() {
        let mut random = Random::new(seed as u64);
        let mut driven = Driven::new(name);
        let mut now = 0;
        for _ in 0..2_000 {
            now += random.bits() % [1, 50, 5_000, 10_000_000][random.below(4) as usize];
            let sent = now.saturating_sub(random.bits() % 3_000);
            let amount =
                random.bits() % [1, 1_201, 100_000, u64::MAX >> 20][random.below(4) as usize];
            match random.below(8) {
                0 | 1 => driven.sent(now, amount),
                2..=4 => {
                    let estimator = driven.estimator.sample(us(now - sent));
                    driven.acked(
                        now,
                        &[sent, now][..=random.below(2) as usize],
                        amount,
                        &estimator,
                    );
                }
                5 => driven.congestion(now, sent, random.below(4) == 0, amount),
                6 => driven.congestion(now, sent, false, 0),
                _ => driven.control.on_mtu_update([1_200, 1_452, 9_000][random.below(3) as usize]),
            }
            assert!(driven.control.window() > driven.control.carrier.mtu().get() * 2, "{name}");
        }
        assert!(driven.control.bursts.len() <= BURSTS);
    }
}

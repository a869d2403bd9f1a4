use std::net::{Ipv4Addr, SocketAddr};

use incast_cc::parts::Random;
use incast_cc::registry::NAMES;
use incast_cc::{Ack, AnyAlgorithm, AnyControl, Loss, LossCause, Notification, Pacing, Rate, Sent};
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::CongestionController;
use s2n_quic_core::time::{Clock, NoopClock};
use s2n_quic_core::transport::parameters::MaxAckDelay;

use super::*;
use crate::record::{Call, Calls, Recorded, flow, kept_up, replay, rtts};

/// s2n-quic's log, and its random numbers, of which an algorithm has no need.
struct Nobody;

impl Publisher for Nobody {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_pacing_rate_updated(&mut self, _: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

impl random::Generator for Nobody {
    fn public_random_fill(&mut self, _: &mut [u8]) {}
    fn private_random_fill(&mut self, _: &mut [u8]) {}
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn bytes(bytes: u64) -> Bytes {
    Bytes::new(bytes)
}

/// A controller of an algorithm by its name, and what the algorithm is told.
struct Driven {
    control: Control<Recorded<AnyControl>>,
    calls: Calls,
    estimator: RttEstimator,
    start: Timestamp,
}

impl Driven {
    fn new(name: &str) -> Self {
        let (algorithm, calls) = (AnyAlgorithm::named(name).unwrap(), Calls::default());
        let noting = calls.clone();
        let start = move |flow: &Flow| Recorded::new(algorithm.start(flow), &noting);
        let connections = Connections::new(Settings::new(Rate::from_gbps(1)), start);
        let control = Control::new(connections.open(1_200, ACKNOWLEDGED));
        let estimator = RttEstimator::new(us(333_000));
        Self { control, calls, estimator, start: NoopClock.get_time() }
    }

    fn sent(&mut self, now: u64, amount: usize) -> Transmission {
        let now = self.start + us(now);
        self.control.on_packet_sent(now, amount, Some(false), &self.estimator, &mut Nobody)
    }

    /// A sample of which the peer says that it has held the ACK for `held`.
    fn sample(&mut self, now: u64, sent: u64, held: u64) {
        let (space, when) = (PacketNumberSpace::ApplicationData, self.start + us(now));
        self.estimator.update_rtt(us(held), us(now - sent), when, true, space);
        let sent = self.start + us(sent);
        self.control.on_rtt_update(sent, when, &self.estimator, &mut Nobody);
    }

    fn acked(&mut self, now: u64, sent: u64, amount: usize, newest: Transmission) {
        let (now, sent) = (self.start + us(now), self.start + us(sent));
        let estimator = self.estimator;
        let control = &mut self.control;
        control.on_ack(sent, amount, newest, &estimator, &mut Nobody, now, &mut Nobody);
    }

    fn lost(&mut self, now: u64, amount: u32, packet: Transmission, persistent: bool) {
        let now = self.start + us(now);
        let control = &mut self.control;
        control.on_packet_lost(amount, packet, persistent, true, &mut Nobody, now, &mut Nobody);
    }

    fn marked(&mut self, now: u64, count: u64) {
        self.control.on_explicit_congestion(count, self.start + us(now), &mut Nobody);
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

/// Three datagrams, of which the second is lost and the third marked; then all is lost for long.
fn a_connection(name: &str) -> Driven {
    let mut driven = Driven::new(name);
    let [_, second, third] = [0, 10, 20].map(|now| driven.sent(now, 1_200));
    driven.sample(1_020, 20, 0);
    driven.lost(1_020, 1_200, second, false);
    driven.marked(1_020, 1);
    driven.acked(1_020, 20, 2_400, third);
    let fourth = driven.sent(1_030, 1_000);
    driven.lost(9_000, 1_000, fourth, true);
    driven
}

#[test]
fn an_algorithm_hears_what_s2n_quic_tells_in_the_order_of_the_contract() {
    let calls = a_connection("newreno").calls();
    for (nth, now) in [0, 10, 20].into_iter().enumerate() {
        let sent = bytes(1_200 * (nth as u64 + 1));
        let mut expected = Sent::new(at(now), bytes(1_200), sent);
        expected.end = sent;
        assert_eq!(calls[nth], Call::Sent(expected));
    }

    let mut loss = Loss::new(at(1_020), at(10), bytes(1_200), LossCause::Detected);
    (loss.first, loss.end, loss.next) = (bytes(1_200), bytes(2_400), bytes(3_600));
    loss.in_flight = bytes(2_400);
    assert_eq!(calls[3], Call::Loss(loss));

    let mut ack = Ack::new(at(1_020), at(20), bytes(2_400)).with_rtt(Span::from_us(1_000));
    (ack.first, ack.end, ack.next) = (bytes(1_200), bytes(3_600), bytes(3_600));
    (ack.srtt, ack.min_rtt) = (Span::from_us(1_000), Span::from_us(1_000));
    (ack.ce_bytes, ack.delivered) = (bytes(1_200), bytes(2_400));
    (ack.in_recovery, ack.round) = (true, 1);
    assert_eq!(calls[4], Call::Ack(ack));
    assert_eq!(calls[5], Call::Notification(Notification::new(at(1_020))));

    assert_eq!(calls[6], Call::Restart(at(1_030), Span::from_us(10)));
    let Call::Sent(sent) = calls[7] else { panic!("{:?}", calls[7]) };
    assert_eq!((sent.end, sent.in_flight), (bytes(4_600), bytes(1_000)));
    let Call::Loss(lost) = calls[8] else { panic!("{:?}", calls[8]) };
    assert_eq!((lost.cause, lost.bytes), (LossCause::Timeout, bytes(1_000)));
    assert_eq!(calls.len(), 9);
}

#[test]
fn every_algorithm_has_the_limits_of_the_same_algorithm_told_directly() {
    for name in NAMES {
        let driven = a_connection(name);
        let mut direct = AnyAlgorithm::named(name).unwrap().start(&flow());
        replay(&driven.calls(), &mut direct);
        let limits = direct.limits();
        let (srtt, sent) = (Span::from_us(1_000), bytes(1_000));
        let (window, departure) = match limits.pacing {
            Pacing::Rate(rate) => (limits.cwnd.min(kept_up(rate, srtt, ACKNOWLEDGED)), Some(rate)),
            Pacing::Window { gain_percent } => {
                let rate = Rate::of(limits.cwnd, srtt) * u64::from(gain_percent) / 100;
                (limits.cwnd, Some(rate))
            }
            Pacing::Unpaced => (limits.cwnd, None),
        };
        let window = u32::try_from(window.max(bytes(12_000)).get()).unwrap();
        assert_eq!(driven.control.congestion_window(), window, "{name}");
        // The last datagram left at 1,030 us, or later where the pacer had it wait.
        let at_least = departure.map(|rate| {
            driven.start + us((at(1_030) + rate.time_for(sent)).since(Time::ZERO).as_ns() / 1_000)
        });
        let earliest = driven.control.earliest_departure_time();
        assert_eq!(earliest.is_some(), at_least.is_some(), "{name}");
        assert!(earliest >= at_least, "{name}: {earliest:?}, {at_least:?}");
    }
}

#[test]
fn a_rate_reaches_s2n_quic_as_times_of_departure() {
    let mut driven = Driven::new("line-rate"); // 1 Gb/s: 1,250 B in 10 us
    let first = driven.sent(0, 1_250);
    assert_eq!(driven.control.earliest_departure_time(), Some(driven.start + us(10)));
    driven.sent(4, 1_250);
    let early = "a datagram that is early waits for nothing, and the next one for both";
    assert_eq!(driven.control.earliest_departure_time(), Some(driven.start + us(20)), "{early}");
    driven.sample(500, 0, 0);
    driven.acked(500, 0, 1_250, first);
    let filled = "62,500 B in 500 us at 1 Gb/s, and nine datagrams, in whole ones";
    assert_eq!(driven.control.congestion_window(), 74_400, "{filled}");
}

#[test]
fn samples_leave_out_what_the_peer_reports() {
    let mut driven = Driven::new("newreno");
    for (now, sent, held) in [(100, 0, 0), (1_200, 1_000, 60), (27_000, 2_000, 24_880)] {
        let packet = driven.sent(sent, 1_200);
        driven.sample(now, sent, held);
        driven.acked(now, sent, 1_200, packet);
    }
    let samples = rtts(&driven.calls());
    // s2n-quic knows no max_ack_delay here, so it believes in none of the delays.
    assert_eq!(samples, [Some(100), Some(200), Some(25_000)]);
    driven.estimator.on_max_ack_delay(MaxAckDelay::RECOMMENDED);
    let packet = driven.sent(30_000, 1_200);
    driven.sample(55_000, 30_000, 24_880);
    driven.acked(55_000, 30_000, 1_200, packet);
    assert_eq!(rtts(&driven.calls()).last(), Some(&Some(120)));
}

#[test]
fn a_recovery_lets_one_datagram_leave_at_once() {
    let mut driven = Driven::new("newreno");
    let packet = driven.sent(0, 1_200);
    assert!(!driven.control.requires_fast_retransmission());
    driven.lost(500, 1_200, packet, false);
    assert!(driven.control.requires_fast_retransmission());
    driven.sent(500, 1_200);
    assert!(!driven.control.requires_fast_retransmission());
}

#[test]
fn discarded_datagrams_leave_the_books_without_a_loss() {
    let mut driven = Driven::new("newreno");
    driven.sent(0, 1_200);
    driven.control.on_packet_discarded(1_200, &mut Nobody);
    assert_eq!(driven.control.bytes_in_flight(), 0);
    assert_eq!(driven.calls().len(), 1);
}

#[test]
fn an_endpoint_starts_an_algorithm_for_the_mtu_of_the_path() {
    let dctcp = AnyAlgorithm::named("dctcp").unwrap();
    let start = move |flow: &Flow| dctcp.start(flow);
    let mut endpoint = Endpoint::new(Settings::new(Rate::from_gbps(1)), start);
    let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, 1)).into();
    let path = PathInfo::new(&s2n_quic_core::path::Config::default(), &remote);
    let mtu = u32::from(path.max_datagram_size);
    let control = congestion_controller::Endpoint::new_congestion_controller(&mut endpoint, path);
    assert_eq!(control.congestion_window(), mtu * 10);
}

/// Calls in any order, with any numbers: what s2n-quic never does, and more.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "any amount will do")]
fn no_sequence_of_calls_makes_an_algorithm_panic() {
    for (seed, name) in NAMES.iter().enumerate() {
        let mut random = Random::new(seed as u64);
        let mut driven = Driven::new(name);
        let (mut now, mut packets) = (0, vec![driven.sent(0, 1_200)]);
        for _ in 0..5_000 {
            now += random.bits() % [1, 50, 5_000, 10_000_000][random.below(4) as usize];
            let amount = random.bits() % [1, 1_201, 100_000, 1 << 31][random.below(4) as usize];
            let packet = packets[random.bits() as usize % packets.len()];
            let sent = (packet.sent_at.since(Time::ZERO).as_ns() / 1_000).min(now);
            match random.below(8) {
                0 | 1 => packets.push(driven.sent(now, amount as usize)),
                2..=4 => {
                    driven.sample(now, sent, random.bits() % 30_000);
                    driven.acked(now, sent, amount as usize, packet);
                }
                5 => driven.lost(now, amount as u32, packet, random.below(4) == 0),
                6 => driven.marked(now, random.bits() % 1_000),
                _ => {
                    let mtu = [1_200, 1_452, 9_000][random.below(3) as usize];
                    driven.control.on_mtu_update(mtu, &mut Nobody);
                }
            }
            assert!(driven.control.congestion_window() >= 12_000, "{name}");
            let _ = driven.control.earliest_departure_time();
        }
    }
}

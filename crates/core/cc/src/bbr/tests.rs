use super::*;
use crate::RttSample;
use crate::param::Configurable;
use crate::parts::test_link::{Link, Sender};

const MSS: u64 = 1_000;
const RTT: Span = Span::from_ms(1);

fn flow() -> Flow {
    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::from_kb(10));
    flow
}

const fn rtt(total: Span) -> RttSample {
    RttSample { total, serialization: Span::ZERO, peer: Span::ZERO }
}

/// BBR without spare bursts, so that windows are products, and no margin.
fn bare() -> Bbr {
    Bbr { spare_bursts: 0, pacing_margin: Fraction::ZERO, ..Bbr::default() }
}

/// Feeds one control ACKs of one packet, one round each.
struct Feed {
    control: BbrControl,
    now: Time,
    round: u64,
    sent: u64,
    delivered: u64,
}

impl Feed {
    fn new(bbr: &Bbr) -> Self {
        let control = bbr.start(&flow());
        Self { control, now: Time::ZERO, round: 0, sent: 10_000, delivered: 0 }
    }

    /// An ACK one RTT after the last, of the next round, with a sample of `mbps`.
    fn ack(&mut self, mbps: u64, in_flight: u64) -> &mut Self {
        self.ack_after(RTT + Span::from_us(1), mbps, in_flight, |_| ())
    }

    fn ack_after(
        &mut self,
        gap: Span,
        mbps: u64,
        in_flight: u64,
        change: impl FnOnce(&mut Ack<'_>),
    ) -> &mut Self {
        self.now += gap;
        self.round += 1;
        self.delivered += MSS;
        let mut ack = Ack::new(self.now, self.now, Bytes::new(MSS)).with_rtt(RTT);
        (ack.srtt, ack.min_rtt, ack.round) = (RTT, RTT, self.round);
        (ack.end, ack.next) = (Bytes::new(self.sent), Bytes::new(self.sent + 10_000));
        self.sent += 10_000;
        (ack.delivered, ack.in_flight) = (Bytes::new(self.delivered), Bytes::new(in_flight));
        ack.delivery = Some(Delivery {
            rate: Rate::from_mbps(mbps),
            in_flight_at_send: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        });
        change(&mut ack);
        self.control.on_ack(&ack);
        self
    }

    /// Cycling around 800 Mb/s with 1 ms, a product of 100 KB.
    fn cruising() -> Self {
        let mut feed = Self::new(&bare());
        for _ in 0..4 {
            feed.ack(800, 400_000);
        }
        feed.ack(800, 100_000);
        assert!(matches!(feed.control.mode, Mode::ProbeBw(_)), "{:?}", feed.control.mode);
        feed
    }

    /// A flow in ProbeBW at the start of `phase`.
    fn in_phase(phase: u32) -> Self {
        let mut feed = Self::cruising();
        for _ in 0..CYCLE {
            if feed.control.mode == Mode::ProbeBw(phase) {
                break;
            }
            feed.ack(800, 125_000);
        }
        assert_eq!(feed.control.mode, Mode::ProbeBw(phase));
        feed
    }

    fn mbps(&self) -> u64 {
        self.control.rate.as_bps() / 1_000_000
    }

    fn loss(&mut self, cause: LossCause, in_flight: u64, in_recovery: bool) {
        let mut loss = Loss::new(self.now, self.now, Bytes::new(MSS), cause);
        (loss.end, loss.next) = (Bytes::new(self.sent), Bytes::new(self.sent));
        (loss.in_flight, loss.in_recovery) = (Bytes::new(in_flight), in_recovery);
        self.control.on_loss(&loss);
    }
}

#[test]
fn the_first_window_is_paced_by_the_gain_of_startup() {
    // 10 KB in the nominal 1 ms are 80 Mb/s; times 2.885, less 1 %: 228.5 Mb/s.
    let control = Bbr::default().start(&flow());
    assert_eq!(control.rate.as_bps() / 100_000, 2_284);
    assert_eq!(control.cwnd, 10_000);
    // With a known RTT of 100 us ten times that.
    let known = Flow { base_rtt: Some(Span::from_us(100)), ..flow() };
    assert_eq!(Bbr::default().start(&known).rate.as_bps() / 1_000_000, 2_284);
    // And with a measured one of 10 ms a tenth.
    let mut feed = Feed::new(&Bbr::default());
    let measured = Span::from_ms(10);
    feed.ack_after(RTT, 0, 0, |ack| {
        (ack.rtt, ack.min_rtt, ack.delivery) = (Some(rtt(measured)), measured, None);
    });
    assert_eq!(feed.control.rate.as_bps() / 10_000, 2_284);
}

#[test]
fn the_rtt_of_the_handshake_is_the_first_to_be_believed() {
    // The exchange took 1 ms. The first data then found a queue and took 4 ms.
    let first_ack = |bbr: &Bbr| {
        let mut feed = Feed::new(bbr);
        feed.ack_after(RTT, 0, 0, |ack| {
            (ack.rtt, ack.min_rtt) = (Some(rtt(RTT * 4)), RTT);
            ack.delivery = None;
        });
        (feed.control.min_rtt.0, feed.mbps())
    };
    // The initial window of 10 KB goes out in that time, by the gain of Startup, less 1 %.
    assert_eq!(first_ack(&Bbr::default()), (RTT, 228));
    let data_only = Bbr { handshake_rtt: Switch::Off, ..Bbr::default() };
    assert_eq!(first_ack(&data_only), (RTT * 4, 57));
    // Later on only data counts: an old minimum of the carrier's is no new sample.
    let mut feed = Feed::new(&data_only);
    feed.ack_after(RTT, 0, 0, |ack| ack.rtt = Some(rtt(RTT * 4)));
    feed.ack_after(RTT, 0, 0, |ack| ack.rtt = Some(rtt(RTT * 3)));
    assert_eq!(feed.control.min_rtt.0, RTT * 3);
}

#[test]
fn startup_doubles_and_ends_after_three_rounds_without_growth() {
    let mut feed = Feed::new(&bare());
    for mbps in [100, 200, 400, 800] {
        feed.ack(mbps, 0);
        assert_eq!((feed.control.mode, feed.mbps()), (Mode::Startup, mbps * 2_885 / 1_000));
    }
    // 990 / 800 is below 1.25: no growth, though the bandwidth is taken in.
    feed.ack(990, 400_000).ack(990, 400_000);
    assert_eq!((feed.control.mode, feed.control.full_bandwidth.1), (Mode::Startup, 2));
    // 1,000 / 800 is growth: the count starts anew.
    feed.ack(1_000, 400_000).ack(1_000, 400_000).ack(1_000, 400_000);
    assert_eq!((feed.control.mode, feed.control.full_bandwidth.1), (Mode::Startup, 2));
    feed.ack(1_000, 400_000);
    // Drain paces at the inverse: 346 Mb/s.
    assert_eq!((feed.control.mode, feed.mbps()), (Mode::Drain, 346));
    // Drain ends when no more than a product is in flight: 1 Gb/s * 1 ms = 125 KB.
    feed.ack(1_000, 125_001);
    assert_eq!(feed.control.mode, Mode::Drain);
    feed.ack(1_000, 125_000);
    assert!(matches!(feed.control.mode, Mode::ProbeBw(_)));
}

#[test]
fn a_pipe_that_the_application_does_not_fill_is_not_full() {
    let mut feed = Feed::new(&bare());
    for _ in 0..20 {
        feed.ack_after(RTT, 100, 0, |ack| {
            ack.delivery = ack.delivery.map(|sample| Delivery { app_limited: true, ..sample });
        });
    }
    assert_eq!(feed.control.mode, Mode::Startup);
}

#[test]
fn the_cycle_is_one_phase_up_one_down_six_level_each_a_round() {
    let mut feed = Feed::in_phase(0);
    let mut rates = std::vec![feed.mbps()];
    for _ in 0..CYCLE {
        // 125 KB in flight are 1.25 products: what the first phase waits for.
        feed.ack(800, 125_000);
        rates.push(feed.mbps());
    }
    assert_eq!(rates, [1_000, 600, 800, 800, 800, 800, 800, 800, 1_000]);
}

#[test]
fn a_phase_lasts_the_least_rtt() {
    let mut feed = Feed::in_phase(3);
    feed.ack_after(RTT, 800, 125_000, |_| ());
    assert_eq!(feed.control.mode, Mode::ProbeBw(3));
    feed.ack_after(Span::from_us(1), 800, 125_000, |_| ());
    assert_eq!(feed.control.mode, Mode::ProbeBw(4));
}

#[test]
fn probing_waits_for_its_queue_or_a_loss_and_draining_ends_without_one() {
    let mut feed = Feed::in_phase(0);
    feed.ack(800, 123_999).ack(800, 100_000);
    assert_eq!(feed.control.mode, Mode::ProbeBw(0), "124.999 KB were in flight before the ACK");
    feed.ack(800, 124_000);
    assert_eq!(feed.control.mode, Mode::ProbeBw(1));
    feed.ack_after(Span::from_us(1), 800, 99_001, |_| ());
    assert_eq!(feed.control.mode, Mode::ProbeBw(1));
    feed.ack_after(Span::from_us(1), 800, 99_000, |_| ());
    assert_eq!(feed.control.mode, Mode::ProbeBw(2), "early: the queue is gone");

    let mut feed = Feed::in_phase(0);
    feed.loss(LossCause::Detected, 100_000, false);
    feed.ack(800, 100_000);
    assert_eq!(feed.control.mode, Mode::ProbeBw(1));
}

#[test]
fn flows_start_their_cycles_in_any_phase_but_the_one_that_drains() {
    let mut seen = [0; CYCLE as usize];
    for seed in 0..700 {
        let mut control = bare().start(&Flow { seed, ..flow() });
        control.enter_probe_bw(Time::ZERO);
        let Mode::ProbeBw(phase) = control.mode else { unreachable!() };
        seen[phase as usize] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().filter(|count| **count > 60).count() == 7, "{seen:?}");
}

#[test]
fn two_products_and_three_bursts_are_in_flight() {
    let mut feed = Feed::cruising();
    for _ in 0..300 {
        feed.ack_after(Span::from_us(1), 800, 150_000, |_| ());
    }
    assert_eq!(feed.control.cwnd, 200_000);
    feed.control.spare = Bbr::default().start(&flow()).spare;
    for _ in 0..10 {
        feed.ack_after(Span::from_us(1), 800, 150_000, |_| ());
    }
    assert_eq!(feed.control.cwnd, 203_000);
    // A smaller path, when the filter knows it: down at once.
    for _ in 0..11 {
        feed.ack_after(Span::from_us(1), 400, 150_000, |_| ());
    }
    assert_eq!(feed.control.cwnd, 103_000);
}

#[test]
fn two_packets_more_are_in_flight_while_ns_3_probes_and_two_for_aggregated_acks() {
    let mut feed = Feed::in_phase(0);
    (feed.control.params.probe_packets, feed.control.params.aggregated_packets) = (2, 2);
    let window = |feed: &mut Feed| {
        for _ in 0..300 {
            feed.ack_after(Span::from_us(1), 800, 100_000, |_| ());
        }
        feed.control.cwnd
    };
    assert_eq!(window(&mut feed), 204_000);
    // A quarter more and two packets end the phase; the packets of aggregated ACKs are the window's
    // alone.
    feed.ack(800, 125_999);
    assert_eq!(feed.control.mode, Mode::ProbeBw(0), "126.999 KB were in flight before the ACK");
    feed.ack(800, 126_000);
    assert_eq!(feed.control.mode, Mode::ProbeBw(1));
    assert_eq!(window(&mut feed), 202_000);
    feed.ack_after(Span::from_us(1), 800, 99_000, |_| ());
    assert_eq!(feed.control.mode, Mode::ProbeBw(2));

    // A pipe that is not full has neither: 2.885 products of 100 KB.
    let bbr = Bbr { probe_packets: 2, aggregated_packets: 2, ..bare() };
    let mut feed = Feed::new(&bbr);
    for _ in 0..400 {
        feed.ack_after(Span::from_us(1), 800, 100_000, |ack| ack.round = 1);
    }
    assert_eq!((feed.control.mode, feed.control.cwnd), (Mode::Startup, 289_000));
}

#[test]
fn the_bandwidth_is_the_most_of_ten_rounds() {
    let mut feed = Feed::cruising();
    let bandwidth = |feed: &Feed| feed.control.bandwidth.get();
    feed.ack(900, 100_000);
    for _ in 0..10 {
        feed.ack(700, 100_000);
        assert_eq!(bandwidth(&feed), Rate::from_mbps(900));
    }
    feed.ack(700, 100_000);
    assert_eq!(bandwidth(&feed), Rate::from_mbps(700));
    // Samples that the application limits count only where they say more.
    for (mbps, expected) in [(100, 700), (750, 750)] {
        feed.ack_after(RTT, mbps, 100_000, |ack| {
            ack.delivery = ack.delivery.map(|sample| Delivery { app_limited: true, ..sample });
        });
        assert_eq!(bandwidth(&feed), Rate::from_mbps(expected));
    }
    for _ in 0..30 {
        feed.ack_after(RTT, 0, 100_000, |ack| ack.delivery = None);
    }
    assert_eq!(bandwidth(&feed), Rate::from_mbps(750), "no sample, no change");
}

#[test]
fn an_rtt_of_ten_seconds_ago_is_probed_for() {
    let mut feed = Feed::cruising();
    let cwnd = feed.control.cwnd;
    let longer = |ack: &mut Ack<'_>| ack.rtt = Some(rtt(RTT * 2));
    // The last equal sample was now.
    feed.ack_after(Span::from_secs(10), 800, 100_000, longer);
    assert!(matches!(feed.control.mode, Mode::ProbeBw(_)));
    let cwnd = cwnd.max(feed.control.cwnd);
    feed.ack_after(Span::from_us(1), 800, 100_000, longer);
    assert_eq!(feed.control.mode, Mode::ProbeRtt(ProbeRtt::Draining));
    assert_eq!((feed.control.cwnd, feed.mbps()), (4_000, 800));
    assert_eq!(feed.control.min_rtt.0, RTT * 2, "the old one has expired");

    // 200 ms from when four packets are in flight, here the next ACK.
    feed.ack_after(Span::from_ms(1), 30, 4_000, |_| ());
    feed.ack_after(Span::from_ms(200), 30, 3_000, |_| ());
    assert!(matches!(feed.control.mode, Mode::ProbeRtt(ProbeRtt::Holding { .. })));
    assert_eq!((feed.control.cwnd, feed.control.min_rtt.0), (4_000, RTT));
    feed.ack_after(Span::from_us(1), 30, 3_000, |_| ());
    assert!(matches!(feed.control.mode, Mode::ProbeBw(_)));
    assert!(feed.control.cwnd >= cwnd, "{} restored to {cwnd}", feed.control.cwnd);
    // Samples of the small window have not become the bandwidth, nor do those in flight yet.
    feed.ack(30, 3_000).ack(30, 3_000);
    assert_eq!(feed.control.bandwidth.get(), Rate::from_mbps(800));
}

#[test]
fn probing_the_rtt_takes_a_round_at_least() {
    let mut feed = Feed::cruising();
    feed.ack_after(Span::from_secs(11), 800, 3_000, |_| ());
    let sent = feed.sent;
    // Data of before, however late.
    feed.ack_after(Span::from_ms(300), 30, 3_000, |ack| ack.end = Bytes::new(sent));
    assert!(matches!(feed.control.mode, Mode::ProbeRtt(_)));
    feed.ack_after(Span::from_us(1), 30, 3_000, |ack| ack.end = Bytes::new(sent + 1));
    assert!(matches!(feed.control.mode, Mode::ProbeBw(_)));
}

#[test]
fn an_idle_path_needs_no_probing() {
    let mut feed = Feed::in_phase(0);
    let mut sent = Sent::new(feed.now, Bytes::new(MSS), Bytes::new(MSS));
    feed.control.on_sent(&sent);
    feed.control.on_restart(feed.now, Span::from_secs(20));
    assert_eq!(feed.mbps(), 1_000, "the pacer alone was idle");
    sent.app_limited = true;
    feed.control.on_sent(&sent);
    feed.control.on_restart(feed.now, Span::from_secs(20));
    assert_eq!(feed.mbps(), 800, "not the 1,000 of the phase");
    feed.ack_after(Span::from_secs(20), 800, 0, |_| ());
    assert!(matches!(feed.control.mode, Mode::ProbeBw(_)));
}

#[test]
fn a_loss_episode_conserves_packets_for_a_round_and_leaves_no_trace() {
    let mut feed = Feed::cruising();
    for _ in 0..300 {
        feed.ack_after(Span::from_us(1), 800, 150_000, |_| ());
    }
    let ack = |feed: &mut Feed, end: u64, in_flight, in_recovery| {
        feed.ack_after(Span::from_us(1), 800, in_flight, |ack| {
            (ack.end, ack.in_recovery) = (Bytes::new(end), in_recovery);
        });
    };
    let sent = feed.sent;
    feed.loss(LossCause::Detected, 120_000, false);
    assert_eq!(feed.control.cwnd, 120_000);
    ack(&mut feed, sent, 119_000, true);
    assert_eq!(feed.control.cwnd, 120_000, "one out, one in");
    feed.loss(LossCause::Detected, 118_000, true);
    assert_eq!(feed.control.cwnd, 119_000);
    ack(&mut feed, sent + 1, 117_000, true);
    assert_eq!(feed.control.cwnd, 120_000, "after a round by what is acknowledged");
    ack(&mut feed, sent + 2, 117_000, false);
    assert_eq!(feed.control.cwnd, 200_000, "afterwards as before");
    assert_eq!(feed.control.bandwidth.get(), Rate::from_mbps(800));
}

#[test]
fn a_timeout_keeps_the_model_and_one_packet_and_a_false_one_nothing() {
    let mut feed = Feed::cruising();
    let cwnd = feed.control.cwnd;
    feed.loss(LossCause::Timeout, 0, false);
    feed.loss(LossCause::Persistent, 0, true);
    assert_eq!((feed.control.cwnd, feed.control.prior_cwnd), (MSS, cwnd));
    assert_eq!(feed.control.bandwidth.get(), Rate::from_mbps(800));
    feed.control.on_spurious_loss(&Spurious::new(feed.now, Bytes::new(MSS)));
    assert_eq!(feed.control.cwnd, cwnd);
}

#[test]
fn marks_are_not_answered() {
    let mut feed = Feed::cruising();
    let (mut marked, sent) = (feed.control.clone(), feed.sent);
    feed.ack(800, 100_000);
    std::mem::swap(&mut feed.control, &mut marked);
    (feed.sent, feed.round, feed.delivered) = (sent, feed.round - 1, feed.delivered - MSS);
    feed.now = Time::from_ps(feed.now.as_ps() - RTT.as_ps() - 1_000_000);
    feed.ack_after(RTT + Span::from_us(1), 800, 100_000, |ack| ack.ce_bytes = ack.bytes);
    assert_eq!(feed.control.limits(), marked.limits());
}

#[test]
fn bbr_prime_starts_at_six_megabits_and_holds_back_only_while_cruising() {
    let mut prime = Bbr::default();
    let preset = Bbr::PRESETS.iter().find(|preset| preset.name == "bbr-prime").unwrap();
    for &(name, value) in preset.values {
        prime.set(name, value).unwrap();
    }
    let control = prime.start(&flow());
    // 6 Mb/s * 2.89 (in 2^-20), and four packets rather than 750 B.
    assert_eq!((control.rate.as_bps() / 1_000, control.cwnd), (17_340, 4_000));
    let mut feed = Feed::new(&prime);
    for _ in 0..5 {
        feed.ack(800, 10_000);
    }
    for _ in 0..CYCLE {
        let Mode::ProbeBw(phase) = feed.control.mode else { unreachable!() };
        let expected = [1_000, 600, 760][phase.min(2) as usize];
        assert!(feed.mbps().abs_diff(expected) <= 1, "{} in {phase}", feed.mbps());
        feed.ack(800, 125_000);
    }
}

/// A flow on 100 Mb/s with 10 ms and a buffer of four products (500 packets).
fn on_a_link() -> Sender<BbrControl> {
    let link = Link {
        rate: Rate::from_mbps(100),
        rtt: Span::from_ms(10),
        buffer: Bytes::from_kb(500),
        packet: Bytes::new(MSS),
    };
    Sender::new(Bbr::default().start(&flow()), link)
}

#[test]
fn one_flow_takes_a_link_with_little_queue() {
    let mut sender = on_a_link();
    // Startup doubles: from 23 Mb/s to 100 Mb/s in about three rounds, and drains what it queued.
    sender.run(Span::from_ms(300));
    assert!(matches!(sender.control.mode, Mode::ProbeBw(_)), "{:?}", sender.control.mode);
    let share = sender.run(Span::from_secs(2));
    assert!(share > 0.97, "{share}");
    let bandwidth = sender.control.bandwidth.get().as_bps() as f64 / 100e6;
    assert!((0.99..1.01).contains(&bandwidth), "{bandwidth}");
    // The queue of the probing phase is at most a quarter of a product: 2.5 ms.
    assert!(sender.last_rtt < Span::from_us(12_700), "{}", sender.last_rtt);
    assert!(sender.control.min_rtt.0 < Span::from_us(10_500), "{}", sender.control.min_rtt.0);
}

#[test]
fn one_flow_takes_a_datacenter_link() {
    let link = Link {
        rate: Rate::from_gbps(10),
        rtt: Span::from_us(20),
        buffer: Bytes::from_kb(1_000),
        packet: Bytes::new(MSS),
    };
    let fast = Flow { line_rate: Rate::from_gbps(40), ..flow() };
    let mut sender = Sender::new(Bbr::default().start(&fast), link);
    sender.run(Span::from_ms(1));
    let share = sender.run(Span::from_ms(100));
    assert!(share > 0.99, "{share}");
    assert!(sender.last_rtt < Span::from_us(27), "{}", sender.last_rtt);
    assert!(sender.lost.is_zero());
}

#[test]
fn the_model_survives_probing_the_rtt() {
    let mut sender = on_a_link();
    // One flow alone sees the empty path now and then: give it an RTT that it cannot see again.
    sender.run(Span::from_ms(300));
    sender.control.min_rtt = (Span::from_ms(9), sender.now);
    sender.run(Span::from_ms(10_050));
    assert!(matches!(sender.control.mode, Mode::ProbeRtt(_)), "{:?}", sender.control.mode);
    assert!(sender.in_flight <= Bytes::new(4 * MSS), "{}", sender.in_flight);
    sender.run(Span::from_ms(250));
    assert!(matches!(sender.control.mode, Mode::ProbeBw(_)), "{:?}", sender.control.mode);
    let share = sender.run(Span::from_secs(1));
    assert!(share > 0.95, "{share}");
}

#[test]
fn no_sample_is_beyond_it() {
    let mut random = Random::new(7);
    for line_rate in [Rate::from_mbps(1), Rate::from_bps(8_000_000_000_000)] {
        let mut control = Bbr::default().start(&Flow { line_rate, ..flow() });
        let (mut now, mut any) = (Time::ZERO, || random.bits() >> (random.bits() % 64));
        for round in 0..20_000 {
            now += Span::from_ps(any() >> 20);
            let mut ack = Ack::new(now, now, Bytes::new(any())).with_rtt(Span::from_ps(any()));
            (ack.end, ack.next) = (Bytes::new(any()), Bytes::new(any()));
            (ack.round, ack.in_recovery) = (round / 3, any() % 2 == 0);
            (ack.in_flight, ack.delivered) = (Bytes::new(any()), Bytes::new(any()));
            ack.delivery = Some(Delivery {
                rate: Rate::from_bps(any()),
                in_flight_at_send: Bytes::new(any()),
                lost: Bytes::ZERO,
                app_limited: any() % 2 == 0,
            });
            control.on_ack(&ack);
            let limits = control.limits();
            let Pacing::Rate(rate) = limits.pacing else { unreachable!() };
            assert!(!rate.is_zero() && rate <= line_rate && limits.cwnd >= Bytes::new(MSS));
            control.gauges(&mut |name, value| assert!(value.is_finite(), "{name}"));
        }
    }
}

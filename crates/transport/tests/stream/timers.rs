//! Retransmission timeouts: how long, how often, and since when.

use incast_cc::{Bytes, LossCause, Rate, Span, Time};
use incast_transport::{Config, InitialTimeout, Transport};

use super::common::net::{Fate, Net, Wire};
use super::common::plain::{Plain, window};
use super::{
    MSS, RTT, SEGMENT, ack_of, config, config_with, lose_once, net, ns, number, sent_again,
};

/// When losses were told, and their cause.
fn losses(plain: &Plain) -> Vec<(Time, LossCause)> {
    plain.told().losses.iter().map(|loss| (loss.now, loss.cause)).collect()
}

/// Times from the first transmission of segment `k` to the others.
fn waits(net: &Net, k: u64) -> Vec<Span> {
    let times: Vec<_> = net.segments().filter(|(_, s)| number(s) == k).map(|(at, _)| at).collect();
    times[1..].iter().map(|at| at.since(times[0])).collect()
}

/// Timeouts from `least`, over a wire of 2 us each way: an RTT of 5.232 us, and 15.696 us by it (RFC 6298:
/// three of the first sample), less than any of the tests'.
fn short_wire(least: Span, plain: &Plain) -> Net {
    let config = Config {
        rto_initial: InitialTimeout::Fixed(Span::from_secs(1)),
        rto_min: least,
        rto_max: Span::from_secs(100),
        ..config()
    };
    let wire = Wire { delay: Span::from_us(2), ..Wire::default() };
    Net::new(Transport::Stream, config, wire, plain)
}

#[test]
fn the_least_timeout_is_honoured_and_doubles() {
    let us = Span::from_us;
    for least in [Span::from_secs(1), Span::from_ms(200), Span::from_ms(10), us(1_000), us(20)] {
        let plain = window(10 * MSS);
        let mut net = short_wire(least, &plain);
        net.write(MSS);
        net.run(ns(10_000), |_| Fate::Arrives);
        net.write(MSS);
        net.finish(lose_once(&[1, 1, 1, 1]));
        assert_eq!(waits(&net, 1), [least, least * 3, least * 7, least * 15]);
        let causes: Vec<_> = losses(&plain).iter().map(|&(_, cause)| cause).collect();
        let persistent = [LossCause::Persistent; 3];
        assert_eq!(causes, [&[LossCause::Timeout][..], &persistent].concat());
    }
}

#[test]
fn the_first_timeout_is_the_initial_one_and_none_exceeds_the_most() {
    let config = Config {
        rto_initial: InitialTimeout::Fixed(Span::from_ms(3)),
        rto_min: Span::from_us(20),
        rto_max: Span::from_ms(10),
        ..config()
    };
    let mut net = net(config, &window(MSS));
    net.write(MSS);
    net.finish(lose_once(&[0, 0, 0, 0]));
    // 3, 6, and 10 instead of 12 and 24.
    assert_eq!(waits(&net, 0), [3, 9, 19, 29].map(Span::from_ms));
}

#[test]
fn the_timeout_stays_long_until_an_rtt_is_measured() {
    // RFC 6298, section 5: s1 is lost three times, so the timeout is 8 x 20 us. Its ACK may be one of any of
    // the four copies: no sample (Karn). s2 is lost once; neither is its ACK a sample. s3 is lost once after
    // a sample of s4: 20 us again.
    let us = Span::from_us;
    let mut net = short_wire(us(20), &window(MSS));
    for segment in 0..2 {
        net.run(ns(10_000 * segment), |_| Fate::Arrives);
        net.write(MSS);
    }
    net.run(ns(1_000_000), lose_once(&[1, 1, 1]));
    assert_eq!(waits(&net, 1), [us(20), us(60), us(140)]);
    net.write(MSS);
    net.run(ns(2_000_000), lose_once(&[2]));
    assert_eq!(waits(&net, 2), [us(160)]);
    net.write(MSS);
    net.run(ns(3_000_000), |_| Fate::Arrives);
    net.write(MSS);
    net.finish(lose_once(&[4]));
    assert_eq!((waits(&net, 3), waits(&net, 4)), (vec![], vec![us(20)]));
}

#[test]
fn an_rtt_that_grows_beyond_the_timeout_is_found_out() {
    // From 5.232 us to 505.232 us, with one segment in flight and 20 us to wait. s1 is sent at 0, 20, 60, 140
    // and 300 us; the timeout stays at 320 us, so s2 is sent at 0 and 320 us, and s3 once: the next sample.
    // If each ACK made the timeout short again, every segment would be sent five times.
    let mut net = short_wire(Span::from_us(20), &window(MSS));
    net.write(MSS);
    net.run(ns(10_000), |_| Fate::Arrives);
    net.wire.delay = Span::from_us(252);
    net.write(20 * MSS);
    net.finish(|_| Fate::Arrives);
    let again: Vec<_> = sent_again(&net).iter().map(|&(_, number)| number).collect();
    assert_eq!(again, [1, 1, 1, 1, 2]);
}

#[test]
fn what_a_timeout_declares_lost_and_nobody_has_sent_again_gives_a_sample() {
    // s0 is lost. The SACKs of the others come at 1.05 ms, after the timeout has sent it again and before
    // that is acknowledged: they were sent once, so there is no doubt about their RTT.
    let plain = Plain::halving(10 * MSS);
    let config = Config {
        rto_initial: InitialTimeout::Fixed(Span::from_ms(1)),
        rto_min: Span::from_ms(1),
        ..config()
    };
    let mut net = net(config, &plain);
    net.write(10 * MSS);
    net.finish(|packet| match packet.from {
        0 if packet.at == ns(0) => Fate::Lost,
        1 if packet.at < ns(100_000) => Fate::Late(ns(1_000_000).since(packet.at)),
        _ => Fate::Arrives,
    });
    let told = plain.told();
    let sampled: Vec<_> = told.acks.iter().filter_map(|ack| Some(ack.rtt?.total)).collect();
    assert_eq!(sampled, [Span::from_ns(1_050_032); 9]);
}

#[test]
fn the_timer_runs_from_the_newest_ack() {
    // The first ACK of s9 comes at 1.2 x 9 + 101.232 us; then nothing.
    let plain = window(10 * MSS);
    let mut net = net(config(), &plain);
    net.write(30 * MSS);
    net.run_losing(ns(100_000_000), |packet| packet.from == 0 && packet.at >= ack_of(0));
    let told = losses(&plain);
    assert_eq!(told[0], (ack_of(9) + Span::from_ms(10), LossCause::Timeout));
}

#[test]
fn duplicate_acks_do_not_put_off_the_timeout() {
    // s0 is lost, and so is its retransmission, which leaves with the third duplicate ACK, that of s3. The
    // duplicate ACKs let out segment after segment, but the timer runs (RFC 6298, 5.3: only an ACK of new
    // data restarts it).
    let plain = window(20 * MSS);
    let mut net = net(config_with(|stream| stream.sack = false), &plain);
    net.write(10_000 * MSS);
    let mut copies = 0;
    net.run_losing(ns(15_000_000), |packet| {
        let lose = packet.segment().is_some_and(|segment| number(segment) == 0) && copies < 2;
        copies += u32::from(lose);
        lose
    });
    let timeout = losses(&plain).into_iter().find(|&(_, cause)| cause == LossCause::Timeout);
    assert_eq!(timeout, Some((ack_of(3) + Span::from_ms(10), LossCause::Timeout)));
}

#[test]
fn the_timer_starts_when_a_segment_leaves_the_nic() {
    // Two segments of a burst leave 20 ms apart: s1 is acknowledged soon after it has left, but long after
    // the 10 ms from the ACK of s0 are over.
    let mut plain = window(10 * MSS);
    plain.limits.burst.rate = Rate::from_bps(584_000);
    let mut net = net(config_with(|stream| stream.tso = Bytes::new(3 * MSS)), &plain);
    net.write(2 * MSS);
    net.finish(|_| Fate::Arrives);
    let left: Vec<_> = net.segments().map(|(at, _)| at).collect();
    assert_eq!(left, [ns(0), ns(20_000_000)]);
    assert_eq!(losses(&plain), []);
}

#[test]
fn a_timeout_takes_for_lost_only_what_has_left_the_nic() {
    // A burst of three, 20 ms apart; s0 is lost. After 10 ms it is, the other two are still here.
    let mut plain = window(10 * MSS);
    plain.limits.burst.rate = Rate::from_bps(584_000);
    let mut net = net(config_with(|stream| stream.tso = Bytes::new(3 * MSS)), &plain);
    net.write(3 * MSS);
    net.finish(lose_once(&[0]));
    assert_eq!(losses(&plain), [(ns(10_000_000), LossCause::Timeout)]);
    assert_eq!(sent_again(&net), [(ns(60_000_000), 0)], "behind them in the NIC");
}

#[test]
fn a_retransmission_that_waits_for_its_pacing_is_no_silence() {
    // A segment every 58.4 ms. s0 is lost twice: the first timeout comes after 10 ms, the retransmission 58.4
    // ms after s0, and 20 ms after that the second timeout.
    let plain = Plain::rate(Rate::from_bps(200_000));
    let mut net = net(config(), &plain);
    net.write(MSS);
    net.finish(lose_once(&[0, 0]));
    assert_eq!(waits(&net, 0), [Span::from_us(58_400), Span::from_us(116_800)]);
    let expected = [(ns(10_000_000), LossCause::Timeout), (ns(78_400_000), LossCause::Persistent)];
    assert_eq!(losses(&plain), expected);
}

#[test]
fn a_timeout_sends_the_first_segment_again_and_the_rest_as_the_window_allows() {
    // All of ten is lost. The algorithm leaves one segment and takes one more per ACK.
    let plain =
        Plain { on_ack: |limits, ack| limits.cwnd += ack.bytes, ..Plain::halving(10 * MSS) };
    let mut net = net(config(), &plain);
    net.write(10 * MSS);
    net.finish(|packet| if packet.at < ns(100_000) { Fate::Lost } else { Fate::Arrives });
    let again: Vec<_> = sent_again(&net);
    let timeout = ns(10_000_000);
    assert_eq!(again[0], (timeout, 0));
    assert_eq!(again[1..3], [(timeout + RTT, 1), (timeout + RTT + SEGMENT, 2)]);
    let fourth = timeout + RTT * 2;
    assert_eq!(again[3..7], [3, 4, 5, 6].map(|k| (fourth + SEGMENT * (k - 3), k)));
    assert_eq!(again.len(), 10);
    let told = plain.told();
    assert_eq!(told.losses.len(), 10);
    assert_eq!(told.losses.iter().filter(|loss| !loss.in_recovery).count(), 1);
    assert!(
        told.acks.iter().all(|ack| !ack.in_recovery),
        "repairs after a timeout are no recovery"
    );
}

#[test]
fn the_question_that_opens_a_connection_is_asked_again_and_gives_an_rtt_if_asked_once() {
    // Headers of 40 B each way: 2 x (0.032 + 50) us. Asked at 0, 10 and 30 ms; only the first exchange is
    // known to be one.
    let exchange = Span::from_ns(100_064);
    for (lost, asked) in [(0, &[0][..]), (2, &[0, 10, 30])] {
        let plain = window(2 * MSS);
        let mut net = net(config_with(|stream| stream.handshake = true), &plain);
        net.write(2 * MSS);
        let mut left = lost;
        net.finish(|packet| {
            let lose = packet.segment().is_some_and(|segment| segment.opens) && left > 0;
            left -= u32::from(lose);
            if lose { Fate::Lost } else { Fate::Arrives }
        });
        let (opening, data): (Vec<_>, Vec<_>) = net.segments().partition(|(_, s)| s.opens);
        let at = |&(at, _): &(Time, _)| at;
        let asked: Vec<_> = asked.iter().map(|&ms| ns(0) + Span::from_ms(ms)).collect();
        assert_eq!(opening.iter().map(at).collect::<Vec<_>>(), asked);
        let opened = *asked.last().unwrap() + exchange;
        assert_eq!(data.iter().map(at).collect::<Vec<_>>(), [opened, opened + SEGMENT]);
        let first = plain.told().acks[0];
        assert_eq!(first.min_rtt, if lost == 0 { exchange } else { RTT });
    }
}

//! Retransmission timeouts: their length, their number and their start.

use incast_cc::{Bytes, LossCause, Rate, Span, Time};
use incast_transport::{Config, InitialTimeout, Transport};

use super::{
    MSS, RTT, SEGMENT, ack_of, config, config_with, lose_once, net, ns, number, sent_again,
};
use crate::common::net::{Fate, Net, WRITE, Wire};
use crate::common::plain::{Plain, window};

/// The times at which losses were told, with their causes.
fn losses(plain: &Plain) -> Vec<(Time, LossCause)> {
    plain.told().losses.iter().map(|loss| (loss.now, loss.cause)).collect()
}

/// The times from the first transmission of segment `k` to the others.
fn waits(net: &Net, k: u64) -> Vec<Span> {
    let times: Vec<_> = net.segments().filter(|(_, s)| number(s) == k).map(|(at, _)| at).collect();
    times[1..].iter().map(|at| at.since(times[0])).collect()
}

/// Timeouts from `least`, over a wire of 2 us each way: an RTT of 5.232 us, and 15.696 us by it
/// (RFC 6298: three of the first sample), less than any of the tests'.
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
    // RFC 6298, section 5: s1 is lost three times, so the timeout is 8 x 20 us. Its ACK may be one
    // of any of the four copies: no sample (Karn). s2 is lost once; neither is its ACK a sample. s3
    // is lost once after a sample of s4: 20 us again.
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
    // From 5.232 us to 505.232 us, with one segment in flight and 20 us to wait. s1 is sent at 0,
    // 20, 60, 140 and 300 us. Its ACK answers the first of these, so it is a sample, and all after
    // it are sent once.
    let plain = window(MSS);
    let mut net = short_wire(Span::from_us(20), &plain);
    net.write(MSS);
    net.run(ns(10_000), |_| Fate::Arrives);
    net.wire.delay = Span::from_us(252);
    net.write(20 * MSS);
    net.finish(|_| Fate::Arrives);
    let again: Vec<_> = sent_again(&net).iter().map(|&(_, number)| number).collect();
    assert_eq!(again, [1, 1, 1, 1]);
    let told = plain.told();
    let late = Span::from_ns(2 * 252_000 + 1_232);
    assert_eq!(told.acks[1].rtt.map(|rtt| rtt.total), Some(late));
    assert_eq!(told.spurious.len(), 1, "one answer to four timeouts in a row");
    // The copy that left last is in flight, and it was in the books already.
    assert_eq!((told.spurious[0].bytes.get(), told.spurious[0].returned.get()), (MSS, 0));
}

#[test]
fn a_connection_survives_an_rtt_above_its_most_timeout() {
    // 504 us against at most 100: before the first sample s0 is sent every 100 us, then never
    // again.
    let plain =
        Plain { on_ack: |limits, ack| limits.cwnd += ack.bytes, ..Plain::halving(10 * MSS) };
    let config = Config {
        rto_initial: InitialTimeout::Fixed(Span::from_us(50)),
        rto_min: Span::from_us(20),
        rto_max: Span::from_us(100),
        ..config()
    };
    let wire = Wire { delay: Span::from_us(252), ..Wire::default() };
    let mut net = Net::new(Transport::Stream, config, wire, &plain);
    net.write(200 * MSS);
    net.finish(|_| Fate::Arrives);
    assert_eq!(waits(&net, 0), [50, 150, 250, 350, 450].map(Span::from_us));
    assert_eq!(net.retransmissions(), 5);
    assert_eq!(plain.told().spurious.len(), 1);
    // The window of one segment that this algorithm does not take back grows by what is
    // acknowledged: 10, 11, 22, 44, 88 and 25 segments, the last of which take half a round trip
    // and 30 us to arrive.
    assert!(net.delivered_at() < ns(0) + Span::from_us(506) * 6, "{}", net.delivered_at());
}

#[test]
fn a_timeout_for_nothing_sends_one_segment_again_and_leaves_the_window() {
    // RFC 3522 and RFC 4015. Ten segments fly. Their ACKs come after the timeout of 10 ms has sent
    // s0 again and before the copy is acknowledged. Nine are on their way again, and the timeout
    // covers the time that the answer took.
    const LATE: Span = Span::from_us(9_950);
    for sack in [true, false] {
        let plain = Plain::halving(10 * MSS);
        let mut net = net(config_with(|stream| stream.sack = sack), &plain);
        net.write(10 * MSS);
        net.finish(|packet| {
            let late = packet.from == 1 && packet.at < ns(100_000);
            if late { Fate::Late(LATE) } else { Fate::Arrives }
        });
        assert_eq!(sent_again(&net), [(ns(10_000_000), 0)], "SACK {sack}");
        let told = plain.told();
        let spurious = told.spurious[0];
        assert_eq!((told.losses.len(), told.spurious.len()), (10, 1));
        assert_eq!((spurious.bytes.get(), spurious.returned.get()), (10 * MSS, 9 * MSS));
        assert_eq!(spurious.now, ack_of(0) + LATE, "before the first ACK");
        let acks: Vec<_> =
            told.acks.iter().map(|ack| (ack.bytes.get(), ack.in_flight.get())).collect();
        let expected: Vec<_> = (0..10).map(|k| (MSS, (9 - k) * MSS)).collect();
        assert_eq!(acks, expected, "as if nothing had been");
        let sampled = told.acks.iter().map(|ack| ack.rtt.map(|rtt| rtt.total));
        assert!(sampled.eq((0..10).map(|k| Some(RTT + SEGMENT * k + LATE))));
        let sender = net.ends[0].sender(WRITE).unwrap();
        assert!(sender.rtt().rto(0) > RTT + LATE, "{}", sender.rtt().rto(0));
    }
}

#[test]
fn a_timeout_whose_acks_were_lost_was_right() {
    // s0 has arrived, its ACK has not: the copy is answered, not the original.
    let plain = window(MSS);
    let mut net = net(config(), &plain);
    net.write(MSS);
    let mut acks = 0;
    net.finish(|packet| {
        acks += u32::from(packet.from == 1);
        if packet.from == 1 && acks == 1 { Fate::Lost } else { Fate::Arrives }
    });
    assert_eq!(sent_again(&net).len(), 1);
    let told = plain.told();
    assert_eq!((told.losses.len(), told.spurious.len()), (1, 0));
}

#[test]
fn what_a_timeout_declares_lost_and_nobody_has_sent_again_gives_a_sample() {
    // s0 is lost. The SACKs of the others come at 1.05 ms, after the timeout has sent it again and
    // before that is acknowledged: they were sent once, so there is no doubt about their RTT.
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
    // s0 is lost, and so is its retransmission, which leaves with the third duplicate ACK, that of
    // s3. The duplicate ACKs let out segment after segment, but the timer runs (RFC 6298, 5.3: only
    // an ACK of new data restarts it).
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
    // Two segments of a burst leave 20 ms apart: s1 is acknowledged soon after it has left, but
    // long after the 10 ms from the ACK of s0 are over.
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
    // A segment every 58.4 ms. s0 is lost twice: the first timeout comes after 10 ms, the
    // retransmission 58.4 ms after s0, and 20 ms after that the second timeout.
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
fn the_question_that_opens_a_connection_is_asked_again_and_gives_an_rtt() {
    // Headers of 40 B each way: 2 x (0.032 + 50) us. Asked at 0, 10 and 30 ms; the answer tells to
    // which.
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
        assert_eq!(first.min_rtt, exchange);
    }
}

#[test]
fn an_answer_to_the_first_question_that_is_late_gives_its_rtt() {
    // Asked at 0 and 10 ms, answered at 10.05 ms, when the second question is on its way.
    let late = Span::from_us(9_950);
    let plain = window(2 * MSS);
    let mut net = net(config_with(|stream| stream.handshake = true), &plain);
    net.write(2 * MSS);
    net.finish(|packet| match packet.ack() {
        Some(ack) if ack.opens && packet.at < ns(1_000_000) => Fate::Late(late),
        _ => Fate::Arrives,
    });
    assert_eq!(net.segments().filter(|(_, segment)| segment.opens).count(), 2);
    let first = plain.told().acks[0];
    // One question took 10,050 us and one segment 101 us; RTTs of the two are smoothed.
    assert_eq!(
        (first.min_rtt, first.srtt),
        (RTT, (Span::from_ns(100_064) * 7 + late * 7 + RTT) / 8)
    );
    assert_eq!(net.retransmissions(), 0);
}

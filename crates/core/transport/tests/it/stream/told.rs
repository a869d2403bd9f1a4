//! The facts that an algorithm gets of the window, the application, the NIC and the rate of
//! delivery.

use incast_cc::{Ack, Bytes, Delivery, Rate, Span, Time};
use incast_transport::{Config, Operation, Transport};

use super::{MSS, RTT, SEGMENT, ack_of, config, config_with, lose_once, net, ns};
use crate::common::net::{Fate, Net, REQUEST, WRITE, Wire};
use crate::common::plain::{Plain, window};

/// Whether each ACK said that the window held data back.
fn limited(plain: &Plain) -> Vec<bool> {
    plain.told().acks.iter().map(|ack| ack.cwnd_limited).collect()
}

fn stream_for(rtts: u64, config: Config, plain: &Plain) -> Net {
    let mut net = net(config, plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ns(0) + RTT * rtts, |_| Fate::Arrives);
    net
}

/// The deadlines that ACKs told of, with the payload up to them, each once per change.
fn dues(plain: &Plain) -> Vec<Option<(Time, u64)>> {
    let mut all: Vec<_> =
        plain.told().acks.iter().map(|ack| ack.due.map(|due| (due.at, due.bytes.get()))).collect();
    all.dedup();
    all
}

#[test]
fn the_deadline_that_stands_is_that_of_the_oldest_message_with_one() {
    for transport in [Transport::Message, Transport::Stream] {
        let plain = window(64_000);
        let mut net = Net::new(transport, config(), Wire::default(), &plain);
        let write = |bytes| Operation::Write { bytes };
        // The first has none; the third is due before the second, and comes after it.
        for (bytes, due) in [(MSS, None), (2 * MSS, Some(9_000_000)), (MSS, Some(5_000_000))] {
            net.ends[0].post_due(net.now, WRITE, write(bytes), due.map(ns));
        }
        net.finish(|_| Fate::Arrives);
        let (second, third) = (ns(9_000_000), ns(5_000_000));
        let mut expected = vec![Some((second, 2 * MSS))]; // the first is acknowledged
        if transport == Transport::Stream {
            expected.push(Some((second, MSS))); // segment by segment
        }
        expected.extend([Some((third, MSS)), None]);
        assert_eq!(dues(&plain), expected, "{transport:?}");
    }
}

#[test]
fn a_request_carries_the_deadline_of_its_answer() {
    for transport in [Transport::Message, Transport::Stream] {
        let plain = window(64_000);
        let mut net = Net::new(transport, config(), Wire::default(), &plain);
        let mut asked = net.now;
        for due in [None, Some(Span::from_ns(7_000_400))] {
            let read = Operation::Read { bytes: 2 * MSS };
            asked = net.now;
            net.ends[0].post_due(asked, REQUEST, read, due.map(|span| asked + span));
            net.finish(|_| Fate::Arrives);
        }
        // To the microsecond, rounded up.
        let mut expected = vec![None];
        if transport == Transport::Stream {
            expected.push(Some((asked + Span::from_us(7_001), MSS)));
        }
        expected.push(None);
        expected.dedup();
        assert_eq!(dues(&plain), expected, "{transport:?}");
    }
}

#[test]
fn a_window_is_limiting_when_it_alone_holds_data_back() {
    // Ten segments fit, and the application has more.
    let plain = window(10 * MSS);
    stream_for(10, config(), &plain);
    assert!(limited(&plain).iter().all(|&limited| limited));
    // The application has less.
    let plain = window(10 * MSS);
    let mut net = net(config(), &plain);
    for k in 0..10 {
        net.run(ns(200_000 * k), |_| Fate::Arrives);
        net.write(9 * MSS);
    }
    net.finish(|_| Fate::Arrives);
    assert!(!limited(&plain).contains(&true));
}

#[test]
fn a_window_is_limiting_for_the_round_in_which_it_was_and_the_next() {
    // Of 25 segments the window holds back all but ten at first and, in the second round, five
    // until s14 is acknowledged. In the third round nothing waits, and a fourth does not remember.
    let plain = window(10 * MSS);
    let mut net = net(config(), &plain);
    net.write(25 * MSS);
    net.run(ns(1_000_000), |_| Fate::Arrives);
    net.write(MSS);
    net.finish(|_| Fate::Arrives);
    let told = plain.told();
    let of_round = |round| told.acks.iter().filter(move |ack| ack.round == round);
    assert_eq!(of_round(1).count(), 10);
    assert!((1..=3).all(|round| of_round(round).all(|ack| ack.cwnd_limited)));
    assert!(of_round(4).count() == 1 && of_round(4).all(|ack| !ack.cwnd_limited));
}

#[test]
fn what_buffers_the_pacer_or_the_nic_hold_back_the_window_does_not() {
    let buffer = |stream: &mut incast_transport::stream::Config| {
        stream.send_buffer = Some(Bytes::new(5 * MSS));
    };
    let plain = window(10 * MSS);
    stream_for(20, config_with(buffer), &plain);
    assert!(!limited(&plain).contains(&true), "the send buffer");

    let plain = Plain::rate(Rate::from_gbps(1));
    stream_for(20, config(), &plain);
    assert!(!limited(&plain).contains(&true), "a rate without a window");

    let plain = window(10_000 * MSS);
    let small = config_with(|stream| {
        (stream.small_queue, stream.send_buffer) =
            (Bytes::new(2 * MSS), Some(Bytes::from_kb(100_000)));
    });
    stream_for(20, small, &plain);
    assert!(!limited(&plain).contains(&true), "the small queue");
}

#[test]
fn a_full_window_whose_pacer_is_not_due_is_not_limiting() {
    // A segment every 20 us: six fly when the first ACK comes after 101.232 us, as many as the
    // window allows, but the seventh is not due before 120 us. With a window of five it is.
    let rate = Rate::from_mbps(584); // 1,460 B in 20 us
    let plain = window(6 * MSS).paced(rate);
    stream_for(20, config(), &plain);
    assert!(!limited(&plain).contains(&true), "six segments");
    let plain = window(5 * MSS).paced(rate);
    stream_for(20, config(), &plain);
    assert!(limited(&plain).iter().all(|&limited| limited), "five segments");
}

#[test]
fn a_window_that_a_loss_reduces_was_not_limiting_before() {
    // At 5 Gb/s 43 segments fly in a window of 100. The ACK that tells of a loss leaves one segment
    // of it; that this holds data back shows when the next ones come.
    let plain = Plain {
        on_loss: |limits, _| limits.cwnd = Bytes::new(MSS),
        ..window(100 * MSS).paced(Rate::from_gbps(5))
    };
    let mut net = net(config(), &plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ns(0) + RTT * 6, lose_once(&[50]));
    let told = plain.told();
    assert_eq!(told.losses.len(), 1);
    let (before, after): (Vec<&Ack>, Vec<&Ack>) =
        told.acks.iter().partition(|ack| ack.now <= told.losses[0].now);
    assert!(before.iter().any(|ack| ack.now == told.losses[0].now), "an ACK told of it");
    assert!(!before.iter().any(|ack| ack.cwnd_limited));
    assert!(after.iter().any(|ack| ack.cwnd_limited));
}

#[test]
fn the_nics_backlog_is_what_has_not_left() {
    // 12 us per segment, the ACK of s0 after 112.32 us: s0 to s9 have begun to leave, s10 to s19
    // wait.
    let plain = window(20 * MSS);
    let mut config = config();
    config.line_rate = Rate::from_gbps(1);
    let wire = Wire { rate: config.line_rate, ..Wire::default() };
    let mut net = Net::new(Transport::Stream, config, wire, &plain);
    net.write(20 * MSS);
    net.finish(|_| Fate::Arrives);
    let backlogs: Vec<_> =
        plain.told().acks.iter().map(|ack| ack.nic_backlog.get() / MSS).collect();
    assert_eq!(backlogs[..4], [10, 9, 8, 7]);
    assert_eq!(backlogs[10..], [0; 10]);
}

#[test]
fn a_pause_ends_before_the_first_burst_is_cut() {
    // Three bursts of three segments; after the pause the algorithm wants two segments, in a burst
    // of one at a time since no burst takes more than a third of the window.
    let plain = Plain { on_restart: |limits| limits.cwnd = Bytes::new(2 * MSS), ..window(9 * MSS) };
    let mut net = net(config_with(|stream| stream.tso = Bytes::new(9 * MSS)), &plain);
    net.write(9 * MSS);
    net.run(ns(1_000_000), |_| Fate::Arrives);
    net.write(9 * MSS);
    net.run(ns(1_000_000) + SEGMENT * 9, |_| Fate::Arrives);
    let told = plain.told();
    // The last of the nine is acknowledged after 8 x 1.2 + 101.232 us.
    let idle = ns(1_000_000).since(ack_of(8));
    assert_eq!(told.restarts, [(ns(1_000_000), idle)]);
    assert_eq!(told.sent.len(), 9 + 2);
}

#[test]
fn a_window_of_one_segment_restarts_with_each() {
    let plain = window(MSS);
    let mut net = net(config(), &plain);
    net.write(4 * MSS);
    net.finish(|_| Fate::Arrives);
    let expected: Vec<_> = (1..4).map(|k| (ns(0) + RTT * k, Span::ZERO)).collect();
    assert_eq!(plain.told().restarts, expected);
}

#[test]
fn the_last_of_what_there_is_to_send_is_told() {
    let plain = window(20 * MSS);
    let mut net = net(config(), &plain);
    net.write(10 * MSS);
    // s3 and s5 are lost: nothing more waits when the second of them is sent again.
    net.finish(lose_once(&[3, 5]));
    let told = plain.told();
    let last: Vec<_> = told.sent.iter().map(|(sent, _)| sent.app_limited).collect();
    let expected: Vec<_> = (0..12).map(|k| k == 9 || k == 11).collect();
    assert_eq!(last, expected);
}

// Delivery rates.

/// The payload that a bottleneck of 1 Gb/s carries, in Gb/s.
const GOODPUT: f64 = 1_460.0 / 1_500.0;

/// The samples of a flow through it.
fn samples(plain: &Plain) -> Vec<(Ack<'static>, Delivery)> {
    plain.told().acks.iter().filter_map(|ack| Some((*ack, ack.delivery?))).collect()
}

fn bottlenecked(config: Config, plain: &Plain) -> Net {
    let wire = Wire { bottleneck: Some(Rate::from_gbps(1)), ..Wire::default() };
    Net::new(Transport::Stream, config, wire, plain)
}

#[test]
fn a_sample_is_the_rate_of_the_bottleneck() {
    // 40 segments are four times what the path takes without a queue: the bottleneck never idles.
    for delayed_ack in [1, 2] {
        let plain = window(40 * MSS);
        let mut net = bottlenecked(config_with(|stream| stream.delayed_ack = delayed_ack), &plain);
        net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
        net.run(ns(20_000_000), |_| Fate::Arrives);
        let samples = samples(&plain);
        assert!(samples.len() > 1_500 / delayed_ack as usize);
        let mut steady = samples.iter().filter(|(ack, _)| ack.round > 2);
        assert!(steady.clone().count() > 500);
        assert!(steady.all(|(_, sample)| {
            let off = sample.rate.as_gbps_f64() / GOODPUT - 1.0;
            off.abs() < 0.01
                && !sample.app_limited
                && sample.lost.is_zero()
                && sample.in_flight_at_send == Bytes::new(40 * MSS)
        }));
    }
}

#[test]
fn a_sample_of_a_paced_flow_is_its_rate() {
    let plain = Plain::rate(Rate::from_mbps(400));
    let mut net = bottlenecked(config(), &plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ns(20_000_000), |_| Fate::Arrives);
    for (ack, sample) in samples(&plain).iter().filter(|(ack, _)| ack.round > 2) {
        let off = sample.rate.as_gbps_f64() / 0.4 - 1.0;
        assert!(off.abs() < 0.01, "{ack:?}");
    }
}

#[test]
fn samples_of_what_the_application_left_room_for_say_so() {
    // Two segments every 300 us in a window of ten.
    let plain = window(10 * MSS);
    let mut net = bottlenecked(config(), &plain);
    for k in 0..20 {
        net.run(ns(300_000 * k), |_| Fate::Arrives);
        net.write(2 * MSS);
    }
    net.finish(|_| Fate::Arrives);
    let samples = samples(&plain);
    assert!(samples.len() > 20 && samples.iter().all(|(_, sample)| sample.app_limited));
}

#[test]
fn samples_say_so_until_what_flew_then_has_arrived() {
    // Four segments, and much more 10 us later, before any of the four has arrived: the rest is
    // sent behind a bubble. s14, released by the ACK of s4, is not.
    let plain = window(10 * MSS);
    let mut net = net(config(), &plain);
    net.write(4 * MSS);
    net.run(ns(10_000), |_| Fate::Arrives);
    net.ends[0].post(net.now, WRITE, Operation::Write { bytes: 100 * MSS });
    net.finish(|_| Fate::Arrives);
    let limited: Vec<_> = plain
        .told()
        .acks
        .iter()
        .filter_map(|ack| Some((ack.end.get() / MSS - 1, ack.delivery?.app_limited)))
        .collect();
    for (segment, limited) in limited {
        // The ACK of s3 ends the bubble: with it four segments are delivered, those that flew when
        // more came. s13, which it lets out, sees four delivered: no more than that. s14 sees five.
        assert_eq!(limited, segment <= 13, "s{segment}");
    }
}

#[test]
fn a_sample_counts_what_was_lost_since_its_data_was_sent() {
    let plain = window(40 * MSS);
    let mut net = bottlenecked(config(), &plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ns(20_000_000), lose_once(&[200]));
    let told = plain.told();
    let loss = &told.losses[0];
    assert_eq!(told.losses.len(), 1);
    for ack in &told.acks {
        // A segment that was sent before the loss was declared and arrived after it counts the
        // loss.
        let counts = ack.sent_at < loss.now && ack.now >= loss.now;
        let Some(sample) = ack.delivery.filter(|_| ack.sent_at != loss.now) else { continue };
        assert_eq!(sample.lost.get(), if counts { MSS } else { 0 }, "{ack:?}");
    }
}

#[test]
fn a_mark_alone_gives_no_sample() {
    // The ACK of s0 comes when the timeout has sent s0 again. The second copy is marked, and its
    // ACK reports the mark of data that is known to have arrived.
    let config = config_with(|stream| stream.ect = true);
    let plain = window(MSS);
    let mut net = net(config, &plain);
    net.write(MSS);
    net.finish(|packet| match packet.from {
        0 if packet.at > ns(0) => Fate::Marked,
        1 if packet.at < ns(1_000_000) => Fate::Late(Span::from_us(9_990)),
        _ => Fate::Arrives,
    });
    let told = plain.told();
    assert_eq!(told.acks.len(), 2);
    let alone = &told.acks[1];
    assert_eq!((alone.bytes.get(), alone.ce_bytes.get()), (0, MSS));
    assert_eq!((alone.delivery, alone.rtt), (None, None));
}

#[test]
fn duplicate_acks_without_sack_give_no_sample() {
    // Duplicate ACKs do not say what has arrived. The samples after them are low, since no newer
    // transmission is known to have arrived meanwhile, but never high.
    let plain = window(40 * MSS);
    let mut net = bottlenecked(config_with(|stream| stream.sack = false), &plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ns(20_000_000), lose_once(&[200]));
    let told = plain.told();
    let mut repaired = told.acks.iter().filter(|ack| ack.in_recovery);
    assert!(repaired.clone().count() > 30 && repaired.all(|ack| ack.delivery.is_none()));
    for ack in &told.acks {
        assert!(ack.delivery.is_none_or(|sample| sample.rate.as_gbps_f64() < GOODPUT * 1.01));
    }
}

#[test]
fn messages_take_the_same_samples() {
    // Segments of 16,060 B (11 packets) through 1 Gb/s: ten in flight, 160 KB, are far more than
    // the path takes. A sample spans whole segments, and knows to one of them how much was
    // delivered.
    let mut config = config();
    config.segment = Bytes::new(11 * MSS);
    let plain = window(110 * MSS);
    let wire = Wire { bottleneck: Some(Rate::from_gbps(1)), ..Wire::default() };
    let mut net = Net::new(Transport::Message, config, wire, &plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ns(50_000_000), |_| Fate::Arrives);
    let samples = samples(&plain);
    let steady: Vec<_> = samples.iter().filter(|(ack, _)| ack.round > 2).collect();
    assert!(steady.len() > 200);
    for (ack, sample) in steady {
        let off = sample.rate.as_gbps_f64() / GOODPUT - 1.0;
        assert!(off.abs() < 0.01, "{ack:?}");
        assert_eq!(sample.in_flight_at_send.get(), 110 * MSS);
        assert!(!sample.app_limited);
    }
}

//! The answers of receivers, and their times: delayed ACKs, SACK, the two ECN echoes.

use incast_cc::{Bytes, Flow, Hop, Rate, Span, Time};
use incast_transport::DueBy;
use incast_transport::stream::{Block, EcnEcho, Segment};
use incast_transport::{
    Body, Endpoint, Form, InitialTimeout, Packet, Report, Role, Stamps, Terms, Transport, stream,
};

use super::{
    MSS, RTT, SEGMENT, config, config_with, is_one_of, lose_once, net, ns, number, sent_again,
};
use crate::common::audit::{Audited, Carrier};
use crate::common::net::{Fate, Net};
use crate::common::plain::{Plain, window};

/// The times at which ACKs left, with their sequence numbers.
fn acks(net: &Net) -> Vec<(Time, u64)> {
    net.acks().map(|(at, ack)| (at, ack.sequence / MSS)).collect()
}

#[test]
fn each_segment_is_acknowledged_as_it_arrives() {
    let mut net = net(config(), &window(10 * MSS));
    net.write(10 * MSS);
    net.finish(|_| Fate::Arrives);
    // sk arrives at 51.2 + 1.2 k us.
    let expected: Vec<_> = (0..10).map(|k| (ns(51_200 + 1_200 * k), k + 1)).collect();
    assert_eq!(acks(&net), expected);
}

#[test]
fn one_ack_for_two_segments_comes_with_the_second() {
    let mut net = net(config_with(|stream| stream.delayed_ack = 2), &window(10 * MSS));
    net.write(10 * MSS);
    net.finish(|_| Fate::Arrives);
    let expected: Vec<_> = (0..5).map(|k| (ns(52_400 + 2_400 * k), 2 * k + 2)).collect();
    assert_eq!(acks(&net), expected);
}

#[test]
fn an_odd_segment_is_acknowledged_after_the_timeout() {
    let mut config = config_with(|stream| stream.delayed_ack = 2);
    (config.rto_initial, config.rto_min) =
        (InitialTimeout::Fixed(Span::from_secs(1)), Span::from_secs(1));
    for timeout in [Span::from_us(500), Span::from_ms(40), Span::from_us(2)] {
        config.stream.delayed_ack_timeout = timeout;
        let mut net = net(config, &window(10 * MSS));
        net.write(3 * MSS);
        net.finish(|_| Fate::Arrives);
        // s2 arrives at 53.6 us and waits from then.
        assert_eq!(acks(&net), [(ns(52_400), 2), (ns(53_600) + timeout, 3)]);
    }
}

#[test]
fn the_timeout_runs_from_the_first_segment_that_waits() {
    let mut net = net(config_with(|stream| stream.delayed_ack = 3), &Plain::rate(rate_of(100)));
    net.write(2 * MSS);
    net.finish(|_| Fate::Arrives);
    // s0 arrives at 51.2 us, s1 100 us later; 500 us from the first.
    assert_eq!(acks(&net), [(ns(551_200), 2)]);
}

#[test]
fn what_the_timer_holds_is_told_and_no_part_of_the_rtt() {
    // s2 waits for 500 us. Algorithms get an RTT without that time; without the field they get all
    // of it.
    for told in [true, false] {
        let plain = window(10 * MSS);
        let config = config_with(|stream| (stream.delayed_ack, stream.ack_delay) = (2, told));
        let mut net = net(config, &plain);
        net.write(3 * MSS);
        net.finish(|_| Fate::Arrives);
        let acks = plain.told().acks.clone();
        let held = Span::from_us(500);
        let (first, second) = (RTT + SEGMENT, RTT + SEGMENT * 2);
        let total = if told { second } else { second + held };
        assert_eq!(acks[0].rtt.map(|rtt| rtt.total), Some(first));
        assert_eq!(acks[1].rtt.map(|rtt| (rtt.total, rtt.peer)), Some((total, Span::ZERO)));
        assert_eq!((acks[1].srtt, acks[1].min_rtt), ((first * 7 + total) / 8, first));
    }
}

#[test]
fn of_several_segments_the_newest_tells_how_long_it_was_held() {
    // An ACK for three: s0 arrives at 51.2 us and waits for 500 us, s1 100 us later and waits for
    // 400.
    let plain = Plain::rate(rate_of(100));
    let mut net = net(config_with(|stream| stream.delayed_ack = 3), &plain);
    net.write(2 * MSS);
    net.finish(|_| Fate::Arrives);
    let acks = plain.told().acks.clone();
    let [ack] = &acks[..] else { panic!("one ACK: {acks:?}") };
    // Clocks tell whole nanoseconds.
    let rtt = ack.rtt.map_or(Span::ZERO, |rtt| rtt.total);
    assert!(rtt.max(RTT) - rtt.min(RTT) <= Span::from_ns(1), "{rtt}");
}

/// The rate at which a segment leaves every `us` microseconds.
fn rate_of(us: u64) -> Rate {
    Rate::from_mbps(MSS * 8 / us)
}

#[test]
fn what_is_beyond_a_gap_and_what_fills_it_is_acknowledged_at_once() {
    let mut net = net(config_with(|stream| stream.delayed_ack = 2), &window(4 * MSS));
    net.write(4 * MSS);
    net.run(ns(1_000_000), |packet| {
        if is_one_of(packet, &[1]) { Fate::Late(Span::from_us(10)) } else { Fate::Arrives }
    });
    // s0 at 51.2 us waits; s2 at 53.6 us and s3 at 54.8 us do not, nor does s1 at 62.4 us.
    assert_eq!(acks(&net), [(ns(53_600), 1), (ns(54_800), 1), (ns(62_400), 4)]);
    let blocks: Vec<_> = net.acks().map(|(_, ack)| ack.blocks[0]).collect();
    let block = |length| Block { start: 1_460, length };
    assert_eq!(blocks, [block(1_460), block(2_920), Block::default()]);
    assert_eq!(net.retransmissions(), 0);
}

#[test]
fn the_range_that_grew_last_comes_first() {
    let mut net = net(config(), &window(8 * MSS));
    net.write(8 * MSS);
    net.run(ns(90_000), lose_once(&[0, 2, 4, 5]));
    // Arrived: s1; s1 and s3; s1, s3 and s6; the last one grows by s7.
    let at = |first: u32, segments: u32| Block { start: first * 1_460, length: segments * 1_460 };
    let blocks: Vec<_> = net.acks().map(|(_, ack)| ack.blocks).collect();
    assert_eq!(
        blocks,
        [
            [at(1, 1), Block::default()],
            [at(3, 1), at(1, 1)],
            [at(6, 1), at(3, 1)],
            [at(6, 2), at(3, 1)]
        ]
    );
}

#[test]
fn without_sack_acks_are_cumulative_alone() {
    let mut net = net(config_with(|stream| stream.sack = false), &window(8 * MSS));
    net.write(8 * MSS);
    net.run(ns(90_000), lose_once(&[2]));
    assert!(net.acks().all(|(_, ack)| ack.blocks == [Block::default(); 2]));
    let sequences: Vec<_> = net.acks().map(|(_, ack)| ack.sequence / MSS).collect();
    assert_eq!(sequences, [1, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn the_window_is_the_whole_buffer_though_segments_wait_beyond_a_gap() {
    // The data beyond gaps lies in the window (RFC 9293, section 3.8.6), which ends a buffer beyond
    // the ACK. The gap of s1 is filled while s4 and more wait beyond that of s3, so the sender goes
    // to the end of the window and no further.
    let mut net = net(
        config_with(|stream| stream.receive_buffer = Some(Bytes::new(10 * MSS))),
        &window(20 * MSS),
    );
    net.write(30 * MSS);
    net.finish(lose_once(&[1, 3]));
    let (mut acknowledged, mut beyond_gap, mut farthest) = (0, 0, 0);
    for traced in &net.log {
        if let Some(ack) = traced.ack() {
            acknowledged = ack.sequence;
            beyond_gap += u64::from(ack.blocks[0].length > 0);
        }
        if let Some(segment) = traced.segment() {
            farthest = farthest.max(segment.end() - acknowledged);
        }
    }
    assert!(beyond_gap > 0);
    assert_eq!(farthest, 10 * MSS);
}

#[test]
fn classic_echo_lasts_until_it_is_answered() {
    let config = config_with(|stream| (stream.ect, stream.echo) = (true, EcnEcho::Classic));
    let plain = window(10 * MSS);
    let mut net = net(config, &plain);
    net.write(30 * MSS);
    net.finish(|packet| if is_one_of(packet, &[0]) { Fate::Marked } else { Fate::Arrives });
    // The ACK of s0 lets s10 leave, the first segment after the reaction: it says CWR, and until it
    // arrives the ACKs of s0 to s9 carry the echo, which vouches for ten segments.
    let answers: Vec<_> = net.segments().filter(|(_, s)| s.cwr).map(|(_, s)| number(s)).collect();
    assert_eq!(answers, [10]);
    let echoes: Vec<_> = net.acks().map(|(_, ack)| ack.ece).collect();
    assert_eq!(echoes.iter().position(|echo| !echo), Some(10));
    assert!(!echoes[10..].contains(&true));
    let told: Vec<_> = plain.told().acks.iter().map(|ack| ack.ce_bytes.get()).collect();
    assert_eq!(told[..10], [MSS; 10]);
    assert_eq!(told.iter().sum::<u64>(), 10 * MSS);
}

#[test]
fn classic_echo_starts_again_when_the_answer_itself_is_marked() {
    let config = config_with(|stream| (stream.ect, stream.echo) = (true, EcnEcho::Classic));
    let mut net = net(config, &window(10 * MSS));
    net.write(40 * MSS);
    net.finish(|packet| if is_one_of(packet, &[0, 10]) { Fate::Marked } else { Fate::Arrives });
    // s10 answers the first echo and is marked: the second one is answered a round later, by s20.
    let answers: Vec<_> = net.segments().filter(|(_, s)| s.cwr).map(|(_, s)| number(s)).collect();
    assert_eq!(answers, [10, 20]);
    assert_eq!(net.acks().filter(|(_, ack)| ack.ece).count(), 20);
}

#[test]
fn only_under_the_exact_echo_may_retransmissions_be_marked() {
    for (echo, expected) in [(EcnEcho::Classic, false), (EcnEcho::Exact, true)] {
        let config = config_with(|stream| (stream.ect, stream.echo) = (true, echo));
        let mut net = net(config, &window(10 * MSS));
        net.write(10 * MSS);
        net.finish(lose_once(&[3]));
        assert_eq!(sent_again(&net).len(), 1);
        let (mut first, mut again) = (Vec::new(), Vec::new());
        for (_, segment) in net.segments() {
            if number(segment) == 3 && !first.is_empty() && first.len() == 10 {
                again.push(segment.ect);
            } else {
                first.push(segment.ect);
            }
        }
        assert_eq!((first, again), (vec![true; 10], vec![expected]), "{echo:?}");
    }
}

#[test]
fn exact_echo_counts_marked_bytes_and_acknowledges_each_change_at_once() {
    let config = config_with(|stream| {
        (stream.ect, stream.delayed_ack) = (true, 2);
    });
    let plain = window(12 * MSS);
    let mut net = net(config, &plain);
    net.write(12 * MSS);
    net.finish(
        |packet| if is_one_of(packet, &[2, 3, 4, 8]) { Fate::Marked } else { Fate::Arrives },
    );
    // s0 s1 | s2 changes to marked: at once | s3 s4 | s5 changes back | s6 s7 | s8 | s9 | s10 s11,
    // each an ACK that leaves when its last segment arrives.
    let ends = [2, 3, 5, 6, 8, 9, 10, 12];
    let expected: Vec<_> = ends.map(|end| (ns(50_000 + 1_200 * end), end)).into();
    assert_eq!(acks(&net), expected);
    let ce: Vec<_> = net.acks().map(|(_, ack)| u64::from(ack.ce_bytes) / MSS).collect();
    assert_eq!(ce, [0, 1, 2, 0, 0, 1, 0, 0]);
    let told: u64 = plain.told().acks.iter().map(|ack| ack.ce_bytes.get()).sum();
    assert_eq!(told, 4 * MSS);
}

#[test]
fn what_waited_before_a_change_is_acknowledged_apart() {
    let config = config_with(|stream| {
        (stream.ect, stream.delayed_ack) = (true, 2);
    });
    let mut net = net(config, &window(4 * MSS));
    net.write(4 * MSS);
    net.finish(|packet| if is_one_of(packet, &[1]) { Fate::Marked } else { Fate::Arrives });
    // s0 waits when s1 arrives marked: both at once, s1's ACK behind s0's. Then s2, then s3 after
    // 500 us.
    let waits = ns(54_800) + Span::from_us(500);
    let expected = [(ns(52_400), 1), (ns(52_432), 2), (ns(53_600), 3), (waits, 4)];
    assert_eq!(acks(&net), expected);
    let ce: Vec<_> = net.acks().map(|(_, ack)| u64::from(ack.ce_bytes)).collect();
    assert_eq!(ce, [0, 1_460, 0, 0]);
}

#[test]
fn the_mark_of_a_second_copy_counts() {
    // The ACK of s0 is lost. The copy that follows after 10 ms is marked, and its ACK says so.
    let config = config_with(|stream| stream.ect = true);
    let plain = window(MSS);
    let mut net = net(config, &plain);
    net.write(MSS);
    net.finish(|packet| match packet.from {
        0 if packet.at > ns(0) => Fate::Marked,
        1 if packet.at < ns(1_000_000) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let told = plain.told();
    assert_eq!(told.acks.len(), 1);
    assert_eq!((told.acks[0].ce_bytes.get(), told.acks[0].delivered.get()), (MSS, MSS));
}

/// The receiving end of a stream that acknowledges two segments at a time.
fn receiving_end() -> Endpoint<Audited<Plain>> {
    let plain = window(MSS);
    let carrier = Carrier::Stream { sack: true, probes: false };
    let start = move |_: &Flow, _| Audited::new(plain.clone(), carrier);
    let mut end = Endpoint::new(config_with(|stream| stream.delayed_ack = 2), Box::new(start));
    end.open_on(Terms { transport: Transport::Stream, ..Terms::default() }, Role::Receiver, 0);
    end
}

/// A first segment of `payload`; without payload, the one that opens the connection.
fn first(payload: u32) -> Packet {
    let segment = Segment {
        sequence: 0,
        read: 0,
        due: DueBy::NONE,
        remaining: payload,
        payload,
        ends_message: payload > 0,
        ect: true,
        cwr: false,
        opens: payload == 0,
        epoch: 0,
    };
    Packet { connection: 0, sent_ns: 0, body: Body::Stream(stream::Body::Segment(segment)) }
}

#[test]
fn a_delayed_ack_brings_back_what_switches_stamped() {
    let mut end = receiving_end();
    let mut hop = Hop::default();
    hop.port = 7;
    let mut stamps = Stamps::NONE;
    stamps.push(hop);
    let data = Form::Full(first(1_460));
    end.handle_stamped(ns(0), &data, Report::default(), &mut stamps);
    assert_eq!(end.poll_transmit(ns(0) + SEGMENT), None, "the ACK waits");
    let reply = end.poll_transmit(ns(500_000)).expect("the ACK is due");
    assert_eq!(reply.stamps.hops(), [hop]);
}

#[test]
fn a_second_question_takes_nothing_from_the_ack_that_waits() {
    let mut end = receiving_end();
    end.handle_packet(ns(0), &first(0), Report::default());
    end.handle_packet(ns(10), &first(1_460), Report::default());
    end.handle_packet(ns(20), &first(0), Report::default());
    end.handle_packet(ns(30), &first(0), Report::default());
    let mut replies = Vec::new();
    for at in [ns(40), ns(50), ns(60), ns(70), ns(500_010)] {
        let body = end.poll_transmit(at).map(|reply| reply.form.packet(0).body);
        replies.extend(body.map(|body| match body {
            Body::Stream(stream::Body::Ack(ack)) => (ack.opens, ack.sequence),
            body => panic!("{body:?}"),
        }));
    }
    assert_eq!(replies, [(true, 0), (true, 1_460), (true, 1_460), (false, 1_460)]);
}

//! Sending: its amount, its bursts and its speed.

use incast_cc::{Bytes, Limits, Pacing, Rate, Span, Time};
use incast_transport::{Body, Operation, Packet, Report, Transport};

use super::{MSS, RTT, SEGMENT, THERE, ack_of, config, config_with, net, ns, number};
use crate::common::net::{ANSWER, Fate, Net, REQUEST, Wire};
use crate::common::plain::{Plain, window};

/// The times at which the sender gave segments to its NIC, as the algorithm was told, one entry per
/// burst.
fn bursts(plain: &Plain) -> Vec<(Time, u64)> {
    let mut bursts: Vec<(Time, u64)> = Vec::new();
    for (sent, _) in &plain.told().sent {
        match bursts.last_mut() {
            Some((at, bytes)) if *at == sent.now => *bytes += sent.bytes.get(),
            _ => bursts.push((sent.now, sent.bytes.get())),
        }
    }
    bursts
}

/// The number of segments that left in the `k`th RTT.
fn in_round(net: &Net, k: u64) -> usize {
    let round = ns(0) + RTT * k..ns(0) + RTT * (k + 1);
    net.segments().filter(|(at, _)| round.contains(at)).count()
}

#[test]
fn a_window_that_grows_by_what_is_acknowledged_doubles_per_round_trip() {
    for delayed_ack in [1, 2] {
        let plain = Plain::slow_start(2 * MSS);
        let mut net = net(config_with(|stream| stream.delayed_ack = delayed_ack), &plain);
        net.write(62 * MSS);
        net.run(ns(1_000_000), |_| Fate::Arrives);
        let rounds: Vec<_> = (0..5).map(|k| in_round(&net, k)).collect();
        // A round with delayed ACKs takes up to a segment's 1.2 us longer, which the flight of 32
        // hides.
        assert_eq!(rounds, [2, 4, 8, 16, 32], "an ACK for {delayed_ack}");
    }
}

#[test]
fn the_initial_window_is_what_leaves_before_the_first_ack() {
    for segments in [1, 2, 10] {
        let plain = Plain { takes_initial_window: true, ..window(0) };
        let initial = Bytes::new(segments * MSS);
        let mut net = net(config_with(|stream| stream.initial_window = initial), &plain);
        net.write(100 * MSS);
        net.run(ack_of(0), |_| Fate::Arrives);
        assert_eq!(net.segments().count() as u64, segments);
        let flow = plain.told().flow.expect("it has started");
        assert_eq!((flow.initial_window, flow.mss.get(), flow.segment.get()), (initial, MSS, MSS));
    }
}

#[test]
fn the_mss_cuts_messages() {
    // 10,000 B: 18 segments of 536 B and 352 B; 10 of 1,000 B; 6 of 1,460 B and 1,240 B.
    for (mss, segments, last) in [(536, 19, 352), (1_000, 10, 1_000), (1_460, 7, 1_240)] {
        let plain = window(100_000);
        let mut net = net(config_with(|stream| stream.mss = Bytes::new(mss)), &plain);
        net.write(10_000);
        net.write(1);
        net.finish(|_| Fate::Arrives);
        let payloads: Vec<_> = net.segments().map(|(_, s)| u64::from(s.payload)).collect();
        let mut expected = vec![mss; segments - 1];
        expected.extend([last, 1]); // a message begins with a segment of its own
        assert_eq!(payloads, expected);
        assert_eq!(plain.told().flow.unwrap().mss.get(), mss);
        // Delivered with the last segment: all of the wire time of 10,000 B and the headers, and 50
        // us.
        let wire = Bytes::new(10_000 + 40 * segments as u64);
        assert_eq!(net.delivered_at(), ns(50_000) + Rate::from_gbps(10).time_for(wire));
    }
}

#[test]
fn a_buffer_caps_throughput_at_buffer_over_rtt() {
    // Of 128 KiB, 89 whole segments: a segment is not cut to fit. This many leave per RTT, here
    // 1001.232 us with 500 us each way: 1.04 Gb/s of 10.
    let rtt = Span::from_ns(1_001_232);
    let wire = Wire { delay: Span::from_us(500), ..Wire::default() };
    let buffer = Bytes::new(128 * 1_024);
    for of_sender in [true, false] {
        let config = config_with(|stream| {
            *(if of_sender { &mut stream.send_buffer } else { &mut stream.receive_buffer }) =
                Some(buffer);
        });
        let plain = window(10_000_000);
        let mut net = Net::new(Transport::Stream, config, wire, &plain);
        net.ends[0].post(Time::ZERO, 0, Operation::Stream);
        net.run(ns(0) + rtt * 20, |_| Fate::Arrives);
        let span = ns(0) + rtt * 5..ns(0) + rtt * 15;
        let sent = net.segments().filter(|(at, _)| span.contains(at)).count();
        assert_eq!(sent, 890, "in ten RTTs");
        assert!(net.segments().all(|(_, segment)| u64::from(segment.payload) == MSS));
        let told = plain.told();
        assert_eq!(told.flow.unwrap().max_window, buffer);
        assert!(told.acks.iter().all(|ack| !ack.cwnd_limited), "the buffer, not the window");
    }
}

#[test]
fn a_buffer_below_the_mss_makes_segments_of_its_size() {
    for of_sender in [true, false] {
        let config = config_with(|stream| {
            let buffer =
                if of_sender { &mut stream.send_buffer } else { &mut stream.receive_buffer };
            *buffer = Some(Bytes::new(500));
        });
        let mut net = net(config, &window(10 * MSS));
        net.write(1_700);
        net.finish(|_| Fate::Arrives);
        let payloads: Vec<_> = net.segments().map(|(_, segment)| segment.payload).collect();
        assert_eq!(payloads, [500, 500, 500, 200]);
    }
}

#[test]
fn bursts_are_whole_segments_that_fit_the_window_and_leave_back_to_back() {
    // Up to 64 KB at once, but no more than a third of the window: 10,666 B, seven segments. Three
    // such bursts fit at first; the next one does when all of one is acknowledged.
    let plain = window(32_000);
    let mut net = net(config_with(|stream| stream.tso = Bytes::from_kb(64)), &plain);
    net.write(70 * MSS + 100);
    net.finish(|_| Fate::Arrives);
    let payloads: Vec<_> = net.segments().map(|(_, s)| u64::from(s.payload)).collect();
    assert_eq!(payloads[..70], [MSS; 70]);
    assert_eq!(payloads[70..], [100]);
    let bursts = bursts(&plain);
    assert_eq!(bursts[0], (ns(0), 21 * MSS));
    assert_eq!(bursts[1..4], [7, 14, 21].map(|acked| (ack_of(acked - 1), 7 * MSS)));
    for (sent, cwnd) in &plain.told().sent {
        assert!(sent.in_flight <= *cwnd, "{sent:?}");
    }
    let times: Vec<_> = net.segments().map(|(at, _)| at).collect();
    for burst in times[..70].chunks(7) {
        assert!(burst.windows(2).all(|pair| pair[1] == pair[0] + SEGMENT), "{burst:?}");
    }
}

#[test]
fn an_algorithm_may_make_bursts_shorter() {
    let mut plain = window(32_000);
    plain.limits.burst.bytes = Bytes::new(5_000); // three whole segments
    let mut net = net(config_with(|stream| stream.tso = Bytes::from_kb(64)), &plain);
    net.write(70 * MSS);
    net.finish(|_| Fate::Arrives);
    // Seven bursts of three fit 32,000 B; then one for every three ACKs.
    assert_eq!(bursts(&plain)[..2], [(ns(0), 21 * MSS), (ack_of(2), 3 * MSS)]);
}

#[test]
fn the_burst_rate_spaces_the_packets_of_a_burst() {
    // 1,460 B at 1 Gb/s are 11.68 us, from start to start.
    let mut plain = window(30 * MSS);
    plain.limits.burst.rate = Rate::from_gbps(1);
    let mut net = net(config_with(|stream| stream.tso = Bytes::new(10 * MSS)), &plain);
    net.write(10 * MSS);
    net.finish(|_| Fate::Arrives);
    let times: Vec<_> = net.segments().map(|(at, _)| at).collect();
    assert_eq!(times, (0..10).map(|k| ns(11_680 * k)).collect::<Vec<_>>());
    assert_eq!(bursts(&plain), [(ns(0), 10 * MSS)], "given to the NIC together");
}

#[test]
fn a_paced_burst_leaves_after_the_time_of_the_one_before() {
    // At 1 Gb/s: a segment every 11.68 us, or four of them every 46.72 us.
    for tso in [1, 4] {
        let plain = Plain::rate(Rate::from_gbps(1));
        let mut net = net(config_with(|stream| stream.tso = Bytes::new(tso * MSS)), &plain);
        net.write(40 * MSS);
        net.finish(|_| Fate::Arrives);
        let expected: Vec<_> = (0..40 / tso).map(|k| (ns(11_680 * tso * k), tso * MSS)).collect();
        assert_eq!(bursts(&plain), expected);
        for (k, (at, _)) in (0..).zip(net.segments()) {
            let burst = ns(11_680 * tso * (k / tso));
            assert_eq!(at, burst + SEGMENT * (k % tso), "s{k}: back to back in its burst");
        }
    }
}

#[test]
fn windows_are_paced_over_the_rtt_once_it_is_known() {
    // Twenty segments per RTT of at least 101.232 us, at 120 %: 1,460 B / (1.2 x 29,200 B / 101.232
    // us) is 4.218 us between two. The first flight knows no RTT.
    let by_algorithm = Plain {
        limits: Limits { pacing: Pacing::Window { gain_percent: 120 }, ..window(20 * MSS).limits },
        ..window(20 * MSS)
    };
    let by_carrier = config_with(|stream| stream.pace_windows_percent = Some(120));
    for (config, plain) in [(config(), by_algorithm), (by_carrier, window(20 * MSS))] {
        let mut net = net(config, &plain);
        net.write(400 * MSS);
        net.finish(|_| Fate::Arrives);
        let times: Vec<_> = net.segments().map(|(at, _)| at).collect();
        assert!(times[..20].windows(2).all(|pair| pair[1] == pair[0] + SEGMENT));
        let least = times[20..].windows(2).map(|pair| pair[1].since(pair[0])).min().unwrap();
        assert!((4_217..4_500).contains(&least.as_ns()), "{least}");
    }
}

#[test]
fn a_small_queue_is_refilled_segment_by_segment() {
    // Two segments may wait in the NIC: three are given at once, the first of which leaves; then
    // one whenever one leaves, so the NIC is never idle.
    let plain = window(20 * MSS);
    let mut net = net(config_with(|stream| stream.small_queue = Bytes::new(2 * MSS)), &plain);
    net.write(20 * MSS);
    net.finish(|_| Fate::Arrives);
    let given: Vec<_> = plain.told().sent.iter().map(|(sent, _)| sent.now).collect();
    let expected: Vec<_> = (0..20).map(|k: u64| ns(0) + SEGMENT * k.saturating_sub(2)).collect();
    assert_eq!(given, expected);
    let left: Vec<_> = net.segments().map(|(at, _)| at).collect();
    assert_eq!(left, (0..20).map(|k| ns(0) + SEGMENT * k).collect::<Vec<_>>());
}

#[test]
fn a_small_queue_of_nothing_lets_one_segment_wait() {
    let plain = window(20 * MSS);
    let mut net = net(config_with(|stream| stream.small_queue = Bytes::ZERO), &plain);
    net.write(20 * MSS);
    net.finish(|_| Fate::Arrives);
    assert_eq!(net.delivered_at(), ns(50_000) + SEGMENT * 20);
}

#[test]
fn a_notification_lets_out_what_its_answer_allows() {
    let on_notification = |limits: &mut Limits| limits.cwnd = Bytes::new(3 * MSS);
    let mut net = net(config(), &Plain { on_notification, ..window(MSS) });
    net.write(3 * MSS);
    net.run(ns(10_000), |_| Fate::Arrives);
    let packet = Packet { connection: 0, sent_ns: 0, body: Body::Notification };
    net.ends[0].handle_packet(net.now, &packet, Report::default());
    net.run(ns(20_000), |_| Fate::Arrives);
    let times: Vec<_> = net.segments().map(|(at, _)| at).collect();
    assert_eq!(times, [ns(0), ns(10_000), ns(11_200)]);
}

#[test]
fn a_read_is_answered_with_so_many_bytes() {
    // The request of 32 B and headers takes 57.6 ns and 50 us; its ACK 32 ns, and ten segments
    // behind that 12 us and 50 us.
    let plain = window(100 * MSS);
    let mut net = net(config(), &plain);
    net.ends[0].post(Time::ZERO, REQUEST, Operation::Read { bytes: 10 * MSS });
    net.finish(|_| Fate::Arrives);
    let answered = ns(50_089) + Span::from_ps(600) + SEGMENT * 10 + Span::from_us(50);
    assert_eq!(net.delivered[0], [(ANSWER, 0, answered)]);
    assert_eq!(net.completed[0].len(), 1, "the request");
    assert_eq!(net.completed[1].len(), 1, "the answer");
    assert_eq!(plain.told().acks.last().unwrap().delivered.get(), 10 * MSS);
}

#[test]
fn reads_are_answered_in_order_over_losses() {
    let mut net = net(config(), &window(10 * MSS));
    for segments in 1..=5 {
        net.ends[0].post(net.now, REQUEST, Operation::Read { bytes: segments * MSS });
    }
    let mut packets = 0;
    net.finish(|_| {
        packets += 1;
        if packets % 5 == 0 { Fate::Lost } else { Fate::Arrives }
    });
    let messages: Vec<_> = net.delivered[0].iter().map(|&(_, message, _)| message).collect();
    assert_eq!(messages, [0, 1, 2, 3, 4]);
    assert_eq!(net.ends[0].delivered_bytes(ANSWER), 15 * MSS);
}

#[test]
fn lone_segments_take_what_the_wire_takes() {
    let mut net = net(config(), &window(MSS));
    net.write(3 * MSS);
    net.finish(|_| Fate::Arrives);
    let times: Vec<_> = net.segments().map(|(at, segment)| (at, number(segment))).collect();
    assert_eq!(times, (0..3).map(|k| (ns(0) + RTT * k, k)).collect::<Vec<_>>());
    assert_eq!(net.delivered_at(), ns(0) + RTT * 2 + THERE);
}

//! The time that a connection takes to recover, and losses that it does not recover from since they
//! did not happen.

use incast_cc::{Bytes, Loss, LossCause, Rate, Span, Time};
use incast_transport::{Config, InitialTimeout, Operation, Recovery, Transport};

use crate::common::net::{Fate, Net, WRITE, Wire};
use crate::common::plain::{Plain, window};

/// The bounds of the window in tests that have one: the least at a loss, and 10 KB more with each
/// ACK.
const LEAST_WINDOW: Bytes = Bytes::from_kb(70);
const LARGEST_WINDOW: Bytes = Bytes::from_kb(400);

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// Messages over a wire of 5 us.
fn messages(plain: &Plain) -> Net {
    messages_over(Span::from_us(5), plain)
}

fn messages_over(delay: Span, plain: &Plain) -> Net {
    let wire = Wire { delay, ..Wire::default() };
    Net::new(Transport::Message, Config::default(), wire, plain)
}

fn moving_window() -> Plain {
    Plain {
        on_ack: |limits, _| limits.cwnd = (limits.cwnd + Bytes::from_kb(10)).min(LARGEST_WINDOW),
        on_loss: |limits, _| limits.cwnd = LEAST_WINDOW,
        ..window(LARGEST_WINDOW.get())
    }
}

#[test]
fn lost_ack_in_a_busy_stream_is_repaired_by_the_next_one() {
    let plain = Plain::rate(Rate::from_gbps(5));
    let mut net = messages(&plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    let (mut lost_at, mut probed_at) = (None, None);
    net.run_losing(ms(20), |packet| {
        if packet.data().is_some_and(|data| data.attempt > 0) {
            probed_at = probed_at.or(Some(packet.at));
        }
        let lose = packet.from == 1 && packet.at > ms(1) && lost_at.is_none();
        lost_at = lost_at.or(lose.then_some(packet.at));
        lose
    });
    // A segment takes 102.4 us at 5 Gb/s: the next ACK is as far away, and the probe behind a
    // burst.
    let took = probed_at.unwrap().since(lost_at.unwrap());
    assert!(took < Span::from_us(250), "{took}");
    assert_eq!(plain.told().spurious.len(), 1, "the data had arrived");
}

#[test]
fn lost_retransmission_is_noticed_by_what_is_acknowledged_after_it() {
    let mut net = messages(&Plain::rate(Rate::from_gbps(1)));
    for _ in 0..200 {
        net.write(64_000);
    }
    net.run_losing(ms(110), |packet| {
        packet.data().is_some_and(|data| data.sequence == 50 && data.attempt < 2)
    });
    assert_eq!(net.delivered[1].len(), 200);
    // The second message, lost twice: one segment time (0.5 ms) each, not a timeout.
    assert!(net.delivered[1][1].2 < ms(4), "{}", net.delivered[1][1].2);
}

#[test]
fn packets_that_are_cut_to_their_headers_are_sent_again_once_each() {
    // Three segments of 44 packets into a queue of half their rate, so that headers overtake data.
    // The last two packets of all are cut: no later one shows the gap. The first of them is cut
    // again.
    let cut = [0, 3, 4, 43, 50, 87, 130, 131];
    for recovery in [Recovery::Selective, Recovery::GoBackN] {
        let plain = Plain::rate(Rate::from_gbps(10));
        let config = Config { recovery, ..Config::default() };
        let wire = Wire { bottleneck: Some(Rate::from_gbps(5)), ..Wire::default() };
        let mut net = Net::new(Transport::Message, config, wire, &plain);
        net.write(132 * 1_460);
        net.finish(|packet| match packet.data() {
            Some(data) if data.sequence == 130 && data.attempt < 2 => Fate::Trimmed,
            Some(data) if cut.contains(&data.sequence) && data.attempt == 0 => Fate::Trimmed,
            _ => Fate::Arrives,
        });
        assert_eq!(net.delivered[1].len(), 1);
        let told = plain.told();
        let by_report = |loss: &Loss| loss.cause == LossCause::Detected;
        if recovery == Recovery::GoBackN {
            assert!(told.losses.iter().any(by_report));
            continue;
        }
        assert!(told.losses.iter().all(by_report), "{:?}", told.losses);
        assert_eq!(net.retransmissions(), 9);
        for sequence in 0..132 {
            let sent = net.log.iter().filter_map(|sent| sent.data());
            let times = sent.filter(|data| data.sequence == sequence).count();
            let expected = 1 + usize::from(cut.contains(&sequence)) + usize::from(sequence == 130);
            assert_eq!(times, expected, "packet {sequence}");
        }
    }
}

#[test]
fn dead_path_is_noticed_after_one_timeout() {
    let plain = Plain::rate(Rate::from_gbps(5));
    let mut net = messages(&plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run_losing(ms(20), |packet| packet.at > ms(1));
    let told = plain.told();
    let first = told.losses.first().unwrap();
    assert_eq!(first.cause, LossCause::Timeout);
    assert!(first.now < ms(1 + 4 + 1), "rto_min after the last answer, not {}", first.now);
}

#[test]
fn retransmission_that_waits_for_its_pacing_is_no_silence() {
    let plain = Plain::rate(Rate::from_mbps(10));
    let mut net = messages(&plain);
    net.write(128_000);
    net.run_losing(ms(400), |packet| {
        packet.data().is_some_and(|data| data.sequence == 3 && data.attempt == 0)
    });
    assert_eq!(net.delivered[1].len(), 1);
    let causes: Vec<_> = plain.told().losses.iter().map(|loss| loss.cause).collect();
    assert_eq!(causes, [LossCause::Detected]);
}

#[test]
fn first_rtt_above_the_least_timeout_is_no_silence() {
    let plain = Plain::rate(Rate::from_gbps(5));
    let mut net = messages_over(Span::from_ms(3), &plain);
    net.write(640_000);
    net.run(ms(100), |_| Fate::Arrives);
    assert_eq!(net.delivered[1].len(), 1);
    assert_eq!(plain.told().losses, []);
}

#[test]
fn timers_of_an_algorithm_are_asked_for_once() {
    let every = Span::from_us(50);
    let timer = Some((Time::ZERO + every, every));
    let plain = Plain { timer, ..Plain::rate(Rate::from_gbps(5)) };
    let mut net = messages(&plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ms(20), |_| Fate::Arrives);
    assert_eq!(plain.told().timer_calls, 399, "every 50 us");
    let packets = net.log.len() as u64;
    assert!(net.turns < 4 * packets, "{} turns for {packets} packets", net.turns);
}

#[test]
fn window_is_kept_while_losses_are_repaired() {
    // Six segments of 64 KB fit, one after a loss; every 300th packet is lost.
    let plain = moving_window();
    let mut net = messages(&plain);
    for _ in 0..50 {
        net.write(300_000);
    }
    let mut packets = 0;
    net.run_losing(ms(500), |packet| {
        packets += u64::from(packet.from == 0);
        packet.from == 0 && packets % 300 == 0
    });
    assert_eq!(net.delivered[1].len(), 50);
    let told = plain.told();
    assert!(told.losses.len() > 20 && told.sent.iter().any(|(sent, _)| sent.retransmission));
    for (sent, cwnd) in &told.sent {
        let alone = sent.in_flight == sent.bytes;
        assert!(sent.in_flight <= *cwnd || alone, "{sent:?} exceeds the window of {cwnd}");
    }
    assert!(
        told.acks.iter().filter(|ack| ack.cwnd_limited).count() > 100,
        "the window, not the application, held the data back"
    );
    assert!(told.sent.last().unwrap().0.app_limited && !told.sent[0].0.app_limited);
}

#[test]
fn a_window_that_a_loss_has_shrunk_below_incomplete_segments_does_not_stop_their_repair() {
    // Two segments of 44 packets lose one each. When the reports come, 43 + 43 packets = 125 KB
    // that have arrived are still in flight by the books, and the window is down to 70 KB. Only the
    // two packets are missing, and nothing else will ever be answered.
    let plain = moving_window();
    let mut net = messages(&plain);
    for _ in 0..2 {
        net.write(64_000);
    }
    net.run_losing(ms(2), |packet| {
        packet.data().is_some_and(|data| matches!(data.sequence, 3 | 50) && data.attempt == 0)
    });
    assert_eq!(net.delivered[1].len(), 2, "both, well before a timeout of 4 ms");
}

/// Messages over a wire of `delay` each way, of which a first timeout of 16 ms knows nothing.
fn far(delay: Span, plain: &Plain) -> Net {
    let rto_initial = InitialTimeout::Fixed(Span::from_ms(16));
    let wire = Wire { rate: Rate::from_mbps(100), delay, ..Wire::default() };
    let config = Config { rto_initial, line_rate: wire.rate, ..Config::default() };
    Net::new(Transport::Message, config, wire, plain)
}

#[test]
fn a_path_longer_than_the_timeouts_carries_its_rate() {
    // 4 s, twenty RTTs of 200 ms, and the longest timeout is 1 s.
    for delay in [Span::from_ms(30), Span::from_ms(100), Span::from_ms(600)] {
        let mut net = far(delay, &Plain::rate(Rate::from_mbps(100)));
        net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
        net.run(ms(4_000), |_| Fate::Arrives);
        // The timeout stops the sender for the first RTT; after that it sends all the time.
        let most = Rate::from_mbps(100).bytes_in(Span::from_ms(4_000) - delay * 3).get();
        let delivered = net.ends[1].delivered_bytes(WRITE);
        assert!(delivered > most * 9 / 10, "{delay}: {delivered} of {most}");
    }
}

#[test]
fn a_timeout_that_came_too_early_is_taken_back() {
    let plain = Plain::rate(Rate::from_mbps(100));
    let mut net = far(Span::from_ms(100), &plain);
    net.ends[0].post(Time::ZERO, WRITE, Operation::Stream);
    net.run(ms(1_000), |_| Fate::Arrives);
    // Probes 16, 48 and 112 ms after the first burst, in the first RTT; nothing else was sent
    // twice.
    let again = net.log.iter().filter(|packet| packet.data().is_some_and(|data| data.attempt > 0));
    assert_eq!(again.count(), 3);
    let told = plain.told();
    let early = told.acks.first().unwrap();
    assert!(early.now < ms(206) && early.rtt.is_some(), "the first answer gives a sample");
    let restored = told.spurious.iter().find(|spurious| !spurious.returned.is_zero()).unwrap();
    assert!(restored.now == early.now && restored.returned == restored.bytes);
}

#[test]
fn segments_that_were_sent_again_give_samples() {
    // Each segment loses a packet of its first attempt, so none is sent only once.
    let plain = Plain::rate(Rate::from_gbps(5));
    let mut net = messages(&plain);
    for _ in 0..50 {
        net.write(64_000);
    }
    net.run_losing(ms(50), |packet| {
        packet.data().is_some_and(|data| data.index == 7 && data.attempt == 0)
    });
    assert_eq!(net.delivered[1].len(), 50);
    let told = plain.told();
    assert!(told.acks.iter().all(|ack| ack.rtt.is_some()), "each completion has its RTT");
    // The answer to one packet that was sent again: 1.2 us, 5 us, 1 us turnaround, 5 us.
    let least = told.acks.iter().map(|ack| ack.rtt.unwrap().network()).min().unwrap();
    assert!(least < Span::from_us(12), "{least}");
    assert!(told.acks.iter().all(|ack| ack.rtt.unwrap().network() < Span::from_us(80)));
}

#[test]
fn going_back_n_repeats_all_from_the_loss_on() {
    let plain = Plain::rate(Rate::from_gbps(10));
    let config = Config { recovery: Recovery::GoBackN, ..Config::default() };
    let wire = Wire { delay: Span::from_us(5), ..Wire::default() };
    let mut net = Net::new(Transport::Message, config, wire, &plain);
    net.write(128_000); // 88 packets, 44 each
    net.run_losing(ms(2), |packet| {
        packet.data().is_some_and(|data| data.sequence == 40 && data.attempt == 0)
    });
    assert_eq!(net.delivered[1].len(), 1, "before a timeout");
    let sent = |attempt| {
        let data = net.log.iter().filter_map(|packet| packet.data());
        data.filter(|data| data.attempt == attempt).map(|data| data.sequence).collect::<Vec<_>>()
    };
    // Eleven microseconds and a packet, in which 10 more leave. Packet 40 is asked for when 41
    // arrives, and the rest of the second segment's first attempt is given up.
    let first = sent(0);
    assert!(first.len() > 44 && first.len() < 60, "{} of 88", first.len());
    assert_eq!(sent(1), (40..88).collect::<Vec<_>>(), "in order, with what had arrived after it");
}

/// Messages over a wire of 5 us, by hosts that let packets be overtaken for a while.
fn patient_messages(reordering: Span, plain: &Plain) -> Net {
    let wire = Wire { delay: Span::from_us(5), ..Wire::default() };
    Net::new(Transport::Message, Config { reordering, ..Config::default() }, wire, plain)
}

#[test]
fn packets_that_are_late_by_less_than_the_tolerance_are_no_losses() {
    let losses = |reordering| {
        let plain = Plain::rate(Rate::from_gbps(5));
        let mut net = patient_messages(reordering, &plain);
        for _ in 0..50 {
            net.write(64_000);
        }
        let mut packets = 0;
        net.run(ms(20), |packet| {
            packets += u64::from(packet.from == 0);
            // Some within a segment, some at the end of one: the next segment overtakes those.
            let late = packet.from == 0 && packets.is_multiple_of(19);
            if late { Fate::Late(Span::from_us(30)) } else { Fate::Arrives }
        });
        assert_eq!(net.delivered[1].len(), 50);
        plain.told().losses.len()
    };
    let at_once = losses(Span::ZERO);
    assert!(at_once > 20, "{at_once}");
    // 30 us late, and 51.2 us more until the segment is complete and acknowledged.
    assert_eq!(losses(Span::from_us(100)), 0);
}

#[test]
fn a_loss_is_repaired_when_the_tolerance_is_over() {
    let plain = Plain::rate(Rate::from_gbps(5));
    let mut net = patient_messages(Span::from_us(100), &plain);
    for _ in 0..20 {
        net.write(64_000);
    }
    let mut repeated_at = None;
    net.run_losing(ms(20), |packet| {
        let Some(data) = packet.data() else { return false };
        if data.attempt > 0 {
            repeated_at = repeated_at.or(Some(packet.at));
        }
        data.sequence == 50 && data.attempt == 0
    });
    assert_eq!(net.delivered[1].len(), 20);
    assert_eq!(plain.told().losses.len(), 1);
    // The second segment leaves from 102.4 us on; its seventh packet is lost, and the next one is
    // there 5 us later. The report takes 6 us, and the doubt 100; then a segment is under way.
    let at = repeated_at.unwrap();
    assert!(at > Time::ZERO + Span::from_us(210) && at < Time::ZERO + Span::from_us(420), "{at:?}");
}

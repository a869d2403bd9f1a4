//! Losses: how they are found and repaired, and cases that are none.

use incast_cc::{LossCause, Rate, Span, Time};
use incast_transport::Config;

use super::{
    MSS, RTT, SEGMENT, THERE, ack_of, config, config_with, is_one_of, lose_once, net, ns, number,
    sent_again,
};
use crate::common::net::{Fate, Net};
use crate::common::plain::{Plain, window};

/// The cause of each loss that the algorithm heard of, and whether it opened an episode.
fn losses(plain: &Plain) -> Vec<(LossCause, bool)> {
    plain.told().losses.iter().map(|loss| (loss.cause, !loss.in_recovery)).collect()
}

/// The RTT smoothed over the ACKs of the first `n` segments (RFC 6298, section 2).
fn srtt_of(n: u64) -> Span {
    let samples = (1..n).map(|k| RTT + SEGMENT * k);
    samples.fold(RTT, |srtt, sample| (srtt * 7 + sample) / 8)
}

#[test]
fn one_loss_is_repaired_by_the_third_segment_beyond_it() {
    // s6, s7 and s8 have arrived: s5 is sent again with the ACK of s8, be it by SACK or by the
    // third duplicate ACK, and its ACK ends the recovery one RTT later.
    for sack in [true, false] {
        let plain = window(20 * MSS);
        let mut net = net(config_with(|stream| stream.sack = sack), &plain);
        net.write(20 * MSS);
        net.finish(lose_once(&[5]));
        assert_eq!(sent_again(&net), [(ack_of(8), 5)], "SACK: {sack}");
        assert_eq!(net.delivered_at(), ack_of(8) + THERE);
        assert_eq!(losses(&plain), [(LossCause::Detected, true)]);
        let told = plain.told();
        let repairing: Vec<_> =
            told.acks.iter().filter(|ack| ack.in_recovery).map(|ack| ack.now).collect();
        assert_eq!(repairing.first(), Some(&ack_of(8)));
        assert_eq!(repairing.last(), Some(&ack_of(19)));
        assert_eq!(told.acks.last().unwrap().now, ack_of(8) + RTT);
    }
}

#[test]
fn segments_tell_what_is_posted_and_not_acknowledged_when_they_leave() {
    // Ten of twelve leave at once, s5 is lost. s10 and s11 leave with the ACKs of s0 and s1; s5
    // again with the ACK of s8, when eight of twelve are acknowledged.
    let config = Config { full_packets: true, ..config() };
    let mut net = net(config, &window(10 * MSS));
    net.write(12 * MSS);
    net.finish(lose_once(&[5]));
    let told: Vec<_> = net
        .segments()
        .map(|(_, segment)| (number(segment), u64::from(segment.remaining) / MSS))
        .collect();
    let first = (0..10).map(|number| (number, 12));
    let expected: Vec<_> = first.chain([(10, 11), (11, 10), (5, 4)]).collect();
    assert_eq!(told, expected);
    assert!(net.segments().all(|(_, segment)| u64::from(segment.remaining) % MSS == 0));
}

#[test]
fn two_segments_beyond_a_loss_wait_for_the_reordering_window_or_the_timeout() {
    // s17 is lost, s18 and s19 arrive, 1.2 us apart. RACK: the last RTT is 19 x 1.2 + 101.232 us,
    // the window a quarter of the least one. Two duplicate ACKs do nothing, nor do they start the
    // timer anew: it runs from the ACK of s16.
    for (sack, again) in [(true, ack_of(19) + RTT / 4), (false, ack_of(16) + Span::from_ms(10))] {
        let plain = window(20 * MSS);
        let mut net = net(config_with(|stream| stream.sack = sack), &plain);
        net.write(20 * MSS);
        net.finish(lose_once(&[17]));
        assert_eq!(sent_again(&net)[0], (again, 17), "SACK: {sack}");
        assert_eq!(losses(&plain)[0].0 == LossCause::Detected, sack);
    }
}

#[test]
fn ten_scattered_losses_are_repaired_in_one_recovery() {
    // The first is found by three segments beyond it, the others by the next one, as each ACK
    // comes. So all is repaired half an RTT after the ACK of s51.
    let plain = window(60 * MSS);
    let mut net = net(config(), &plain);
    net.write(60 * MSS);
    let victims: Vec<_> = (1..=10).map(|k| 5 * k).collect();
    net.finish(lose_once(&victims));
    let mut expected: Vec<_> = victims.iter().map(|&victim| (ack_of(victim + 1), victim)).collect();
    expected[0].0 = ack_of(8);
    assert_eq!(sent_again(&net), expected);
    assert_eq!(net.delivered_at(), ack_of(51) + THERE);
    let told = losses(&plain);
    assert_eq!(told.len(), 10);
    assert!(told.iter().all(|&(cause, _)| cause == LossCause::Detected));
    assert_eq!(told.iter().filter(|&&(_, opens)| opens).count(), 1);
    let told = plain.told();
    let mut in_order = told.acks.iter().map(|ack| ack.in_recovery);
    let changes = in_order.clone().zip(in_order.by_ref().skip(1)).filter(|(a, b)| a != b).count();
    assert_eq!(changes, 2, "it opens once and ends once");
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    // s5 is sent again with the ACK of s8, and s27 behind it. The SACK of s27 tells that the
    // retransmission is lost as well.
    let plain = window(20 * MSS);
    let mut net = net(config(), &plain);
    net.write(60 * MSS);
    net.finish(lose_once(&[5, 5]));
    assert_eq!(sent_again(&net), [(ack_of(8), 5), (ack_of(8) + SEGMENT + RTT, 5)]);
    assert_eq!(losses(&plain), [(LossCause::Detected, true), (LossCause::Detected, false)]);
    assert_eq!(plain.told().spurious, []);
}

#[test]
fn the_first_retransmission_waits_for_no_window() {
    // RFC 5681, section 3.2, step 3, and RFC 6675, section 5, step 4.3. Half the window is left
    // when 18 segments fly; everything after the first retransmission waits for it (the audit sees
    // to that).
    for sack in [true, false] {
        let plain = Plain::halving(20 * MSS);
        let mut net = net(config_with(|stream| stream.sack = sack), &plain);
        net.write(60 * MSS);
        net.finish(lose_once(&[5]));
        assert_eq!(sent_again(&net), [(ack_of(8), 5)], "SACK: {sack}");
        // Of 20 in flight one is lost and one has arrived with that ACK, and one is sent again: 19.
        // The ninth after it makes 10 of them, and the tenth lets out the next segment.
        let told = plain.told();
        let next = told.sent.iter().find(|(sent, _)| sent.now > ack_of(8)).unwrap();
        assert_eq!((next.0.now, next.0.in_flight.get()), (ack_of(18), 10 * MSS));
    }
}

#[test]
fn a_loss_of_what_was_sent_after_a_recovery_began_opens_the_next() {
    // With the ACK of s8 recovery begins; s20 to s26 have been let out before, s27 is let out then.
    // The loss of s26 is of the same window of data, that of s27 of the next (RFC 5681, section
    // 4.3).
    for (second, opens) in [(26, false), (27, true)] {
        let plain = window(20 * MSS);
        let mut net = net(config(), &plain);
        net.write(60 * MSS);
        net.finish(lose_once(&[5, second]));
        assert_eq!(losses(&plain), [(LossCause::Detected, true), (LossCause::Detected, opens)]);
    }
}

#[test]
fn without_sack_each_loss_of_a_window_takes_a_round_trip() {
    // The duplicate ACKs of s6, s7 and s9 repair s5, each partial ACK the next loss.
    for plain in [window(20 * MSS), Plain::halving(20 * MSS)] {
        let mut net = net(config_with(|stream| stream.sack = false), &plain);
        net.write(20 * MSS);
        net.finish(lose_once(&[5, 8, 11]));
        let first = ack_of(9);
        assert_eq!(sent_again(&net), [(first, 5), (first + RTT, 8), (first + RTT * 2, 11)]);
        assert_eq!(net.delivered_at(), first + RTT * 2 + THERE);
        assert_eq!(losses(&plain).iter().filter(|&&(_, opens)| opens).count(), 1);
    }
}

#[test]
fn without_sack_each_ack_lets_out_one_segment() {
    // Packets are conserved: before, in and after a recovery the network holds as many as the ACKs
    // of 20 segments and their losses have made room for (RFC 3042, RFC 6582).
    let plain = window(20 * MSS);
    let mut net = net(config_with(|stream| stream.sack = false), &plain);
    net.write(300 * MSS);
    net.finish(lose_once(&[5, 8, 11]));
    let answered =
        |until: Time| net.acks().filter(move |(at, _)| *at + Span::from_ns(50_032) <= until);
    for (at, _) in net.segments().skip(20).filter(|(at, _)| *at < ns(1_400_000)) {
        // s5 is taken for lost with the ACK of s9, the others with a partial ACK one RTT later
        // each.
        let lost = [0, 1, 2].iter().filter(|&&k| at >= ack_of(9) + RTT * k).count();
        let sent = net.segments().filter(|(before, _)| *before <= at).count();
        let in_network = sent - lost - answered(at).count();
        // The data that an ACK lets out leaves behind a retransmission: a moment with one less.
        assert!((19..=20).contains(&in_network), "{in_network} at {at}");
    }
    let in_flight = net.segments().filter(|(at, _)| *at <= ns(1_000_000)).count()
        - 3
        - answered(ns(1_000_000)).count();
    assert_eq!(in_flight, 20, "in the end none has been forgotten");
}

// Tail-loss probes.

#[test]
fn a_lost_tail_is_repaired_after_two_round_trips_by_a_probe() {
    // s8 and s9 are lost. Two smoothed RTTs after the ACK of s7 a copy of s9 is sent, whose SACK an
    // RTT later tells that s8 is lost; the timeout would have come after 10 ms.
    let plain = window(10 * MSS);
    let mut net = net(config_with(|stream| stream.tail_loss_probe = true), &plain);
    net.write(10 * MSS);
    net.finish(lose_once(&[8, 9]));
    let probe = ack_of(7) + srtt_of(8) * 2;
    assert_eq!(sent_again(&net), [(probe, 9), (probe + RTT, 8)]);
    assert_eq!(net.delivered_at(), probe + RTT + THERE);
    assert_eq!(losses(&plain), [(LossCause::Detected, true)]);
}

#[test]
fn a_probe_for_a_lone_segment_waits_for_its_delayed_ack() {
    // Two segments are acknowledged at once: an RTT of 1.2 + 101.232 us. Of two lost ones the
    // second is sent again after two of these, of one after 500 us more.
    for (segments, more) in [(2, Span::ZERO), (1, Span::from_us(500))] {
        let config = config_with(|stream| (stream.tail_loss_probe, stream.delayed_ack) = (true, 2));
        let mut net = net(config, &window(10 * MSS));
        net.write(2 * MSS);
        net.run(ns(1_000_000), |_| Fate::Arrives);
        net.write(segments * MSS);
        net.finish(lose_once(&[2, 3]));
        let last = ns(1_000_000) + SEGMENT * (segments - 1);
        assert_eq!(sent_again(&net)[0], (last + (SEGMENT + RTT) * 2 + more, segments + 1));
    }
}

#[test]
fn a_probe_is_new_data_where_there_is_some_whatever_the_window_says() {
    // Ten segments fly, s8 to s17, all lost; s18 and s19 wait. s18 is the probe, two smoothed RTTs
    // after s17 left, and its SACK repairs all ten at once.
    let plain = window(10 * MSS);
    let mut net = net(config_with(|stream| stream.tail_loss_probe = true), &plain);
    net.write(20 * MSS);
    net.finish(lose_once(&[8, 9, 10, 11, 12, 13, 14, 15, 16, 17]));
    let probe = ack_of(7) + srtt_of(8) * 2;
    let expected: Vec<_> = (0..10).map(|k| (probe + RTT + SEGMENT * k, k + 8)).collect();
    assert_eq!(sent_again(&net), expected);
    let told = plain.told();
    let (sent, _) = told.sent[18];
    assert_eq!((sent.now, sent.in_flight.get(), sent.retransmission), (probe, 11 * MSS, false));
    drop(told);
    assert!(losses(&plain).iter().all(|&(cause, _)| cause == LossCause::Detected));
}

#[test]
fn a_probe_takes_the_place_of_a_timeout_that_comes_before_it() {
    // One segment every 200 us, so that the RTT never changes: after 39 samples of it the variance
    // is 101.232 / 2 x (3/4)^38 us, and the timeout four of these above it, half of when a probe is
    // due.
    let mut config = config_with(|stream| stream.tail_loss_probe = true);
    config.rto_min = Span::from_us(20);
    let plain = Plain::rate(Rate::from_bps(58_400_000));
    let mut net = net(config, &plain);
    net.write(40 * MSS);
    net.finish(lose_once(&[39]));
    let variance = (0..38).fold(RTT / 2, |variance, _| variance * 3 / 4);
    let left = ns(39 * 200_000);
    assert_eq!(sent_again(&net), [(left + RTT + variance * 4, 39)]);
    assert_eq!(losses(&plain), [], "no timeout");
}

#[test]
fn without_sack_there_are_no_probes() {
    // RFC 8985 is for SACK. Without, the answer to a probe would say nothing.
    let plain = window(10 * MSS);
    let config = config_with(|stream| (stream.tail_loss_probe, stream.sack) = (true, false));
    let mut net = net(config, &plain);
    net.write(10 * MSS);
    net.finish(lose_once(&[8, 9]));
    assert_eq!(sent_again(&net)[0], (ack_of(7) + Span::from_ms(10), 8));
}

// Cases that are no loss.

/// 300 segments in a window of 20, of which some are late.
fn run_late(late: &[(u64, Span)]) -> (Plain, Net) {
    let plain = window(20 * MSS);
    let mut net = net(config(), &plain);
    net.write(300 * MSS);
    let mut seen = Vec::new();
    net.finish(|packet| {
        let late = late.iter().find(|&&(number, _)| is_one_of(packet, &[number]));
        match late {
            Some(&(number, late)) if !seen.contains(&number) => {
                seen.push(number);
                Fate::Late(late)
            }
            _ => Fate::Arrives,
        }
    });
    (plain, net)
}

#[test]
fn reordering_within_the_window_is_no_loss_once_it_has_been_seen() {
    // A quarter of the least RTT is 25.3 us. s40 is overtaken by sixteen segments: three of them
    // make it lost, unless reordering has been seen before, as with s5, which two overtake.
    let (s5, s40) = ((5, Span::from_ns(2_500)), (40, Span::from_us(20)));
    let (plain, net) = run_late(&[s40]);
    assert_eq!(sent_again(&net).len(), 1);
    assert_eq!(plain.told().spurious.len(), 1);
    let (plain, net) = run_late(&[s5, s40]);
    assert_eq!(sent_again(&net), []);
    assert_eq!(losses(&plain), []);
}

#[test]
fn a_needless_retransmission_widens_the_window() {
    // 40 us are more than 25.3, but not more than 50.6: s200 is not sent again as s80 is, since the
    // receiver has reported the second copy of that (RFC 8985, section 6.2, step 4).
    let (s5, late) = ((5, Span::from_ns(2_500)), Span::from_us(40));
    let (plain, net) = run_late(&[s5, (80, late), (200, late)]);
    let again: Vec<_> = sent_again(&net).iter().map(|&(_, number)| number).collect();
    assert_eq!(again, [80]);
    assert_eq!(plain.told().spurious.len(), 1);
    let (_, net) = run_late(&[s5, (80, late), (200, late * 2)]);
    assert_eq!(sent_again(&net).len(), 2, "80 us are too much for both");
}

#[test]
fn an_episode_is_taken_back_as_a_whole_or_not_at_all() {
    // s5 and s8 are taken for lost with the ACK of s9. s8 arrives 30 us late, before its
    // retransmission; s5 was really lost, so the window was reduced with reason.
    for (lost, taken_back) in [(true, 0), (false, 2)] {
        let plain = window(20 * MSS);
        let mut net = net(config(), &plain);
        net.write(60 * MSS);
        let mut first = true;
        net.finish(|packet| {
            let first_flight = packet.at < ack_of(0);
            first &= first_flight;
            match packet.segment() {
                Some(_) if first_flight && is_one_of(packet, &[5]) && lost => Fate::Lost,
                Some(_) if first_flight && is_one_of(packet, &[5, 8]) => {
                    Fate::Late(Span::from_us(30))
                }
                _ => Fate::Arrives,
            }
        });
        assert_eq!(sent_again(&net), [(ack_of(9), 5), (ack_of(9) + SEGMENT, 8)]);
        assert_eq!(plain.told().spurious.len(), taken_back);
    }
}

#[test]
fn acks_that_were_late_for_the_timeout_bring_no_false_fast_retransmit() {
    // RFC 6582, section 4. Ten segments arrive, s1 to s10, their ACKs after the timeout. The first
    // of them answers the original, so s1 alone is sent twice, and the duplicate ACK of that is
    // one.
    let plain = Plain::halving(10 * MSS);
    let mut net = net(config_with(|stream| stream.sack = false), &plain);
    net.write(MSS);
    net.run(ns(1_000_000), |_| Fate::Arrives);
    net.write(30 * MSS);
    net.finish(|packet| {
        let late = packet.from == 1 && packet.at < ns(1_100_000);
        if late { Fate::Late(Span::from_us(9_950)) } else { Fate::Arrives }
    });
    let again: Vec<_> = sent_again(&net).iter().map(|&(_, number)| number).collect();
    assert_eq!(again, [1]);
    assert_eq!(net.acks().filter(|(_, ack)| ack.duplicate).count(), 1);
    assert!(losses(&plain).iter().all(|&(cause, _)| cause == LossCause::Timeout));
    let told = plain.told();
    let first = ns(1_000_000) + Span::from_us(9_950) + RTT;
    let spurious: Vec<_> = told.spurious.iter().map(|spurious| spurious.now).collect();
    assert_eq!(spurious, [first], "nothing was lost, which is known with the first");
}

#[test]
fn the_repair_of_a_first_flight_is_not_taken_for_a_mistake() {
    // All ten are lost and sent again after the timeout. There is no RTT yet to judge whether the
    // ACKs come too soon.
    for sack in [true, false] {
        let plain = window(10 * MSS);
        let mut net = net(config_with(|stream| stream.sack = sack), &plain);
        net.write(10 * MSS);
        net.finish(|packet| if packet.at < ns(100_000) { Fate::Lost } else { Fate::Arrives });
        assert_eq!(sent_again(&net).len(), 10);
        assert_eq!(plain.told().spurious, []);
    }
}

#[test]
fn what_arrives_before_its_copy_has_left_was_not_lost() {
    // Segments leave 50 us apart. s5 is 300 us late, and the ACK of s8, at 501 us, takes it for
    // lost. Its copy waits in the NIC, behind half of the flight. s5 is acknowledged 150 us after
    // it was given to the NIC: later than an RTT, but before the copy has left.
    let mut plain = window(20 * MSS);
    plain.limits.burst.rate = Rate::from_bps(233_600_000);
    let mut net = net(config(), &plain);
    net.write(40 * MSS);
    let mut late = false;
    net.finish(|packet| {
        let first = is_one_of(packet, &[5]) && !std::mem::replace(&mut late, true);
        if first { Fate::Late(Span::from_us(300)) } else { Fate::Arrives }
    });
    let told = plain.told();
    assert_eq!((told.losses.len(), told.spurious.len()), (1, 1));
    let (left, _) = sent_again(&net)[0];
    assert!(told.spurious[0].now < left, "known before the copy left");
}

#[test]
fn late_duplicate_acks_let_nothing_out_after_a_timeout() {
    // s0 is lost, and the duplicate ACKs of s1 to s9 come after the timeout, when one segment may
    // fly: the retransmission of s0, whose ACK covers all.
    let plain = Plain::halving(10 * MSS);
    let mut net = net(config_with(|stream| stream.sack = false), &plain);
    net.write(10 * MSS);
    net.finish(|packet| match packet.from {
        0 if packet.at == ns(0) => Fate::Lost,
        1 if packet.at < ns(100_000) => Fate::Late(Span::from_us(9_930)),
        _ => Fate::Arrives,
    });
    assert_eq!(sent_again(&net), [(ns(10_000_000), 0)]);
}

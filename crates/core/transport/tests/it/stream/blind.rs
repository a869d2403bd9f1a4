//! Streams that find their losses by timeouts alone, all of the same length.

use incast_cc::{Bytes, Limits, Loss, LossCause, LossDetection, Span, Time};

use super::{MSS, config_with, is_one_of, lose_once, net, ns, sent_again};
use crate::common::net::{Fate, Traced};
use crate::common::plain::{Plain, window};

/// Timeouts of 250 us, over an RTT of 101.232 us.
fn blind(probe_after: u32) -> Plain {
    let after = Span::from_us(250);
    let on_loss = |limits: &mut Limits, _: &Loss| limits.cwnd = Bytes::new(MSS);
    let detection = LossDetection::Timeout { after, probe_after };
    Plain { on_loss, detection, ..window(10 * MSS) }
}

#[test]
fn duplicate_acks_and_rack_find_nothing_and_the_timeout_finds_all() {
    for sack in [true, false] {
        let config = config_with(|stream| {
            (stream.sack, stream.tail_loss_probe) = (sack, true);
        });
        let plain = blind(0);
        let mut net = net(config, &plain);
        net.write(10 * MSS);
        net.finish(lose_once(&[2]));
        // s9 is acknowledged, by a duplicate, at 9 x 1.2 + 101.232 = 112.032 us, and the timer
        // starts anew with each ACK that tells of new data: with SACK with that of s9, and without
        // with that of s1, at 102.432 us.
        let at = if sack { 112_032 + 250_000 } else { 102_432 + 250_000 };
        assert_eq!(sent_again(&net), [(ns(at), 2)], "sack = {sack}");
        let causes: Vec<_> = plain.told().losses.iter().map(|loss| loss.cause).collect();
        assert!(causes.iter().all(|&cause| cause == LossCause::Timeout), "{causes:?}");
    }
}

#[test]
fn timeouts_neither_follow_the_rtt_nor_back_off() {
    let mut net = net(config_with(|_| {}), &blind(0));
    net.write(MSS);
    net.finish(lose_once(&[0; 6]));
    let times: Vec<_> = net.segments().map(|(at, _)| at).collect();
    let expected: Vec<_> = (0..7).map(|n| Time::ZERO + Span::from_us(250) * n).collect();
    assert_eq!(times, expected);
}

#[test]
fn after_the_set_number_of_timeouts_packets_without_payload_ask_whether_any_arrives() {
    let plain = blind(3);
    let mut net = net(config_with(|_| {}), &plain);
    net.write(3 * MSS);
    // Data is lost for 1.6 ms: at 0 all three segments, then s0 at 250 and 500. The third timeout,
    // at 750, begins the probes: at 750, 1,000, 1,250, 1,500 us, all lost, and at 1,750.
    let mut fate = |packet: &Traced| {
        if packet.at < ns(1_600_000) && packet.from == 0 { Fate::Lost } else { Fate::Arrives }
    };
    net.finish(&mut fate);
    let sent: Vec<_> = net
        .segments()
        .map(|(at, segment)| (at.as_ps() / 1_000_000, segment.payload, segment.opens))
        .collect();
    let full = 1_460;
    assert_eq!(
        sent[..10],
        [
            (0, full, false),
            (1, full, false),
            (2, full, false),
            (250, full, false),
            (500, full, false),
            (750, 0, true),
            (1_000, 0, true),
            (1_250, 0, true),
            (1_500, 0, true),
            (1_750, 0, true),
        ]
    );
    // The answer comes 0.032 + 50 + 0.032 + 50 us later, and the data goes on at once.
    assert_eq!(sent[10], (1_850, full, false));
    assert!(net.segments().filter(|(_, segment)| segment.opens).all(|(_, s)| s.remaining == 4_380));
    assert_eq!(net.delivered[1].len(), 1);
    let losses =
        plain.told().losses.iter().filter(|loss| loss.cause == LossCause::Persistent).count();
    assert_eq!(losses, 2, "no timeout of a probe is told");
}

#[test]
fn any_ack_ends_the_probes() {
    // s1 is lost, and s0 arrives 400 us late: its ACK comes at 501.232 us. Each timeout begins
    // probes: at 250 and 500 us, which are lost. The ACK ends them, and says that the timeout was
    // spurious: s1 is taken as on its way. At 751.232 us a timeout finds it lost, and the answer to
    // its probe comes 100.064 us later.
    let mut net = net(config_with(|_| {}), &blind(1));
    net.write(2 * MSS);
    net.finish(|packet: &Traced| match packet.segment() {
        Some(segment) if segment.opens && packet.at < ns(600_000) => Fate::Lost,
        Some(_) if packet.at < ns(2_000) && is_one_of(packet, &[1]) => Fate::Lost,
        Some(_) if packet.at < ns(2_000) => Fate::Late(Span::from_us(400)),
        _ => Fate::Arrives,
    });
    let probes = net.segments().filter(|(_, segment)| segment.opens).map(|(at, _)| at);
    assert_eq!(probes.collect::<Vec<_>>(), [ns(250_000), ns(500_000), ns(751_232)]);
    assert_eq!(sent_again(&net).last(), Some(&(ns(751_232 + 100_064), 1)));
    assert_eq!(net.delivered[1].len(), 1);
}

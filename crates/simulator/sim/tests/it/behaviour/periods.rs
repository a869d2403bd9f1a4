//! How long a tooth of loss-based senders lasts, and what a loss rate leaves them.

use super::setting::{
    PAYLOAD, assert_in, cuts, mean, run, steps, streams_over_a_country, streams_over_an_ocean,
};
use crate::common::numbers;

/// The packet at 100 Mb/s, in seconds.
const PACKET_S: f64 = 120e-6;

#[test]
fn a_tooth_of_newreno_lasts_for_three_eighths_of_the_window_squared() {
    // On the way 20,138.6 us, 167.8 packets; in the queue 166, and one is being sent. Half of that
    // is what is on the way, so the link is never idle, and the packets of a tooth are its time.
    let full = 167.8 + 166.0 + 1.0;
    let report = run(
        &streams_over_a_country(&[
            "run.duration=20s",
            "run.warmup=1s",
            "switch.queue_limit=250KB",
            "transport.stream.delayed_ack=1",
        ]),
        "newreno",
    );
    let cuts: Vec<_> = cuts(&steps(&report, 0)).into_iter().filter(|cut| cut.at_s > 1.0).collect();
    assert!(cuts.len() >= 3, "{cuts:?}");
    for pair in cuts.windows(2) {
        assert_in("window at the loss", pair[0].from, full - 1.5..=full + 2.0);
        // Rounds of W/2, W/2 + 1, ..., W packets: 3/8 W^2 + 3/4 W in all. The loss is found a round
        // later, of W packets, in which W/2 are repaired or sent.
        let packets = 3.0 / 8.0 * full * full + 3.0 / 4.0 * full + full;
        // Two packets more or less in the window are 1.2 %; a round at either end is 0.8 %.
        let tooth = (pair[1].at_s - pair[0].at_s) / (packets * PACKET_S);
        assert_in("seconds of a tooth over the law's", tooth, 0.98..=1.02);
    }
}

#[test]
fn newreno_has_the_window_that_the_law_of_the_root_gives_to_a_loss_rate() {
    // Mathis, Semke, Mahdavi and Ott (1997): W sqrt(p) is sqrt(3/2) = 1.22 where losses come
    // regularly, and 1.31 where they come at random and each packet is acknowledged.
    let document = streams_over_a_country(&[
        "run.duration=12s",
        "run.warmup=2s",
        "network.star.hosts.0.count=16",
        "network.star.hosts.1.rate=10Gbps",
        "transport.stream.delayed_ack=1",
        "traffic.0.start_spread=1s",
        "link=[{ from = \"sender\", to = \"switch\", loss = 1e-3 }]",
    ]);
    let report = run(&document, "newreno");
    // Nothing is lost for want of room.
    assert_in("queue", report.summary.queue_p99_kb, 0.0..=0.0);
    let gbps = mean(numbers(&report, "flows", "goodput_gbps").iter().copied());
    let window = gbps * 1e3 * report.summary.rtt_mean_us / 8.0 / PAYLOAD;
    // Some 320 losses, each of which ends a tooth whose packets vary by their mean: the root of
    // them, and with it the window, has a deviation of 1 / (2 sqrt(320)) = 3 %.
    assert_in("W sqrt(p)", window * 1e-3_f64.sqrt(), 1.22 * 0.94..=1.31 * 1.06);
}

#[test]
fn cubic_takes_turns_between_a_short_tooth_and_a_long_one() {
    // 834 packets on the way and 200 in the queue: 1,036 when one is lost, and some more when that
    // is heard of. After a loss above the last maximum the window is the new maximum, and the
    // plateau is at it: cbrt(0.3 W / C) = 9.2 s, but for the packets that do not fit. The next loss
    // is below that maximum, so that 0.85 W is the maximum then (fast convergence): the window is
    // there after cbrt(0.15 W / C) = 7.3 s, and at the loss as long after that.
    let report = run(&streams_over_an_ocean(&["run.duration=50s"]), "cubic");
    let cuts = cuts(&steps(&report, 0));
    let rtt_s = 0.125;
    let (mut w_max, mut long, mut short) = (0.0, 0, 0);
    for pair in cuts.windows(2) {
        let fast = pair[0].from < w_max;
        w_max = if fast { pair[0].from * f64::midpoint(1.0, 0.7) } else { pair[0].from };
        let climb = |segments: f64| (segments / 0.4).cbrt();
        let law = climb(w_max - pair[0].to) + climb(pair[1].from - w_max);
        // The time of the curve begins when the loss is repaired, a round trip after it; the next
        // loss is heard of a round trip after it; and the window is whole segments, of which one is
        // a round trip where the short tooth ends.
        let more = (pair[1].at_s - pair[0].at_s - law) / rtt_s;
        assert_in("round trips beyond the law", more, 0.5..=3.0);
        let (range, teeth) = if fast { (14.5..=15.0, &mut long) } else { (6.5..=7.2, &mut short) };
        assert_in("seconds of a tooth", pair[1].at_s - pair[0].at_s, range);
        *teeth += 1;
    }
    assert!(long >= 2 && short >= 2, "{cuts:?}");
}

//! `NewReno` and its kin: the loss decides, the window remembers.

use super::setting::{
    Cut, PAYLOAD_SHARE, assert_in, between, cuts, goodputs, growth_per_round, mean, run, steps,
    streams_over_a_city, streams_over_an_ocean, window_at,
};

/// Packets that `streams_over_a_city` holds without a queue: 12 us each at 1 Gb/s. Propagation
/// 1,000 us, the packet 1.2 and 12 us, turnaround 1 us, the ACK 0.5 and 0.05 us.
const ON_THE_WAY: f64 = 1_014.8 / 12.0;

#[test]
fn newreno_saws_between_the_window_that_is_lost_and_half_of_it() {
    let report = run(&streams_over_a_city(&[]), "newreno");
    let steps = steps(&report, 0);
    let cuts: Vec<_> = cuts(&steps).into_iter().filter(|cut| cut.at_s > 0.03).collect();
    assert!(cuts.len() >= 4, "{cuts:?}");
    // What fits: on the way, 40 in the queue and one that is being sent.
    let full = ON_THE_WAY + 41.0;
    for pair in cuts.windows(2) {
        let cut = pair[0];
        assert_in("window at the loss", cut.from, full - 1.5..=full + 2.0);
        assert_in("left of it", cut.to / cut.from, 0.49..=0.51);
        let tooth = between(&steps, cut.at_s + 0.003, pair[1].at_s);
        assert_in("segments per round", growth_per_round(tooth), 0.9..=1.05);
    }
    // In rounds: from half to what is on the way the link idles and a round takes 1,015 us, above
    // it one takes a packet's time for each packet of the window. The repair is a round at half the
    // rate.
    let half = full / 2.0;
    let (below, above) = (ON_THE_WAY - half, full - ON_THE_WAY);
    let sent = f64::midpoint(half, full) * half + half;
    let time = below * ON_THE_WAY + above * f64::midpoint(ON_THE_WAY, full) + full;
    let expected = sent / time * PAYLOAD_SHARE;
    let throughput = report.summary.throughput_gbps;
    assert_in("throughput over the sawtooth's", throughput / expected, 0.98..=1.02);
}

/// A loss in congestion avoidance where the link is full, the maximum that the algorithm searches
/// after it, and the loss after that. Fast convergence: a window below the last maximum leaves
/// `lower` of itself.
struct Epoch {
    lost: Cut,
    w_max: f64,
    next: Cut,
}

/// All of them, but for the first: slow start ends with many losses, which may come in two
/// episodes.
fn epochs(cuts: &[Cut], lower: f64) -> Vec<Epoch> {
    let mut w_max = 0.0;
    let maxima = cuts.iter().map(|cut| {
        w_max = if cut.from < w_max { cut.from * lower } else { cut.from };
        w_max
    });
    let epochs = maxima.zip(cuts.windows(2)).map(|(w_max, pair)| Epoch {
        lost: pair[0],
        w_max,
        next: pair[1],
    });
    epochs.skip(1).filter(|epoch| epoch.lost.from > 1_000.0).collect()
}

#[test]
fn cubic_climbs_to_its_last_maximum_rests_there_and_leaves_it_ever_faster() {
    let report = run(&streams_over_an_ocean(&[]), "cubic");
    let steps = steps(&report, 0);
    let epochs = epochs(&cuts(&steps), f64::midpoint(1.0, 0.7));
    let fast = epochs.iter().find(|epoch| epoch.w_max < epoch.lost.from && epoch.next.at_s > 14.0);
    let Epoch { lost, w_max, next } = fast.expect("an epoch that searches below the last loss");
    assert_in("left of it", lost.to / lost.from, 0.695..=0.705);
    let k = ((w_max - lost.to) / 0.4).cbrt();
    // Time counts from the end of the repair, a round trip after the loss.
    let epoch = between(&steps, lost.at_s, next.at_s);
    let begin = epoch[epoch.partition_point(|step| step.window <= lost.to * 1.001)].at_s;
    for t in [1.0, 2.0, 4.0, k, 9.0, 11.0, 13.0] {
        let expected = 0.4 * (t - k).powi(3) + w_max;
        let window = window_at(&steps, begin + t);
        assert_in(&format!("window {t:.2} s after, of the curve"), window / expected, 0.99..=1.01);
    }
    let climb =
        |from: f64, to: f64| window_at(&steps, begin + to) - window_at(&steps, begin + from);
    // Two seconds each: concave, flat, convex.
    assert_in("climb at first", climb(0.0, 2.0), 85.0..=115.0);
    assert_in("climb around the maximum", climb(k - 1.0, k + 1.0), 0.0..=2.0);
    assert_in("climb after 11 s", climb(11.0, 13.0), 50.0..=75.0);
}

/// Payload that arrives in the ten seconds after a loss in congestion avoidance, as a share of what
/// fits.
fn share_after_a_loss(scheme: &str, duration: &str) -> f64 {
    let report = run(&streams_over_an_ocean(&[&format!("run.duration={duration}")]), scheme);
    let cuts = cuts(&steps(&report, 0));
    let lost = cuts.iter().skip(1).find(|cut| cut.from > 1_000.0).expect("a loss with a full link");
    let after = lost.at_s + 0.2..lost.at_s + 10.2;
    let rows = goodputs(&report, 0).into_iter().filter(|(at, _)| after.contains(at));
    let rows: Vec<_> = rows.map(|(_, gbps)| gbps).collect();
    assert!(rows.len() >= 99, "the run is too short");
    mean(rows) / (0.1 * PAYLOAD_SHARE)
}

#[test]
fn cubic_highspeed_and_bic_fill_a_long_fat_link_sooner_than_newreno() {
    // Lost at 1,043 segments; 836 fill the link. NewReno would need 315 rounds from half of the one
    // to the other, more than half a minute: 521 to 621 segments per round in these ten seconds are
    // 68 %.
    assert_in("newreno", share_after_a_loss("newreno", "120s"), 0.66..=0.70);
    // HighSpeed TCP loses a third and gains seven segments per round: from 699 to 836 in two
    // seconds, full for three; and again.
    assert_in("highspeed", share_after_a_loss("highspeed", "40s"), 0.93..=0.99);
    // Cubic keeps 730 and is above 836 two seconds later.
    assert_in("cubic", share_after_a_loss("cubic", "40s"), 0.96..=1.0);
    // BIC keeps 834.
    assert_in("bic", share_after_a_loss("bic", "40s"), 0.99..=1.0);
}

#[test]
fn highspeed_gains_more_and_loses_less_with_a_large_window() {
    let report = run(&streams_over_an_ocean(&[]), "highspeed");
    let steps = steps(&report, 0);
    let epochs = epochs(&cuts(&steps), 1.0);
    assert!(epochs.len() >= 2, "too short");
    for Epoch { lost, next, .. } in epochs {
        // The row of the table that 1,043 segments are in: b = 0.33.
        assert_in("left of it", lost.to / lost.from, 0.66..=0.68);
        // 699 to 1,043 segments are in the rows for 6 to 8 segments per round.
        let tooth = between(&steps, lost.at_s + 0.3, next.at_s);
        assert_in("segments per round", growth_per_round(tooth), 5.9..=8.1);
    }
}

#[test]
fn bic_goes_fast_far_from_its_maximum_and_slowly_near_it() {
    let report = run(&streams_over_an_ocean(&[]), "bic");
    let steps = steps(&report, 0);
    // 819/1024 are left; a loss below the last maximum sets the next one a tenth lower (midpoint).
    let epochs = epochs(&cuts(&steps), f64::midpoint(1.0, 819.0 / 1_024.0));
    let fast = epochs.iter().find(|epoch| epoch.w_max < epoch.lost.from);
    let Epoch { lost, w_max, next } = fast.expect("an epoch that searches below the last loss");
    assert_in("left of it", lost.to / lost.from, 0.79..=0.81);
    let tooth = between(&steps, lost.at_s, next.at_s);
    let reaches = |window: f64| tooth[tooth.partition_point(|step| step.window < window)].at_s;
    // A tenth of the window in steps of 16 and then of a quarter of the way: some fifteen rounds.
    // Then a fifth of a segment per round, from 4 below the maximum to 4 above it: 40 rounds of
    // 0.11 s.
    assert_in("seconds to the maximum", reaches(w_max - 4.0) - lost.at_s, 0.8..=2.0);
    let (from, to) = (reaches(w_max - 3.5), reaches(w_max + 3.5));
    assert_in("seconds around it", to - from, 3.5..=4.2);
    assert_in("segments per round", growth_per_round(between(&steps, from, to)), 0.19..=0.21);
}

/// Through a queue of three packets every loss is at the window that just fits.
fn shallow(scheme: &str) -> (f64, f64) {
    let report = run(&streams_over_a_city(&["switch.queue_limit=4500B"]), scheme);
    let cuts = cuts(&steps(&report, 0));
    let late = || cuts.iter().filter(|cut| cut.at_s > 0.1);
    assert!(late().count() >= 4, "{cuts:?}");
    (mean(late().map(|cut| cut.to / cut.from)), report.summary.throughput_gbps / PAYLOAD_SHARE)
}

#[test]
fn westwood_keeps_the_bandwidth_that_it_has_measured_and_veno_four_fifths() {
    // Sawtooth between half and all of what fits: three quarters.
    let (left, share) = shallow("newreno");
    assert_in("newreno keeps", left, 0.49..=0.51);
    assert_in("newreno gets", share, 0.73..=0.78);
    // A queue of three packets is below Veno's beta: noise. Between 4/5 and all: nine tenths.
    let (left, share) = shallow("veno");
    assert_in("veno keeps", left, 0.79..=0.81);
    assert_in("veno gets", share, 0.89..=0.93);
    // Rate times least RTT: all but the queue, 85 of 89, if the link has been full all the time.
    let (left, share) = shallow("westwood");
    assert_in("westwood keeps", left, 0.91..=0.96);
    assert_in("westwood gets", share, 0.96..=1.0);
}

#[test]
fn westwood_drains_the_queue_and_not_the_link() {
    let report = run(&streams_over_a_city(&[]), "westwood");
    let cuts = cuts(&steps(&report, 0));
    let late: Vec<_> = cuts.iter().filter(|cut| cut.at_s > 0.1).collect();
    assert!(late.len() >= 3, "{cuts:?}");
    for cut in late {
        assert_in("left is what is on the way", cut.to / ON_THE_WAY, 0.97..=1.03);
    }
    // The queue of 40 packets never runs empty for long, so the link stays busy.
    assert_in("throughput", report.summary.throughput_gbps / PAYLOAD_SHARE, 0.99..=1.0);
}

#[test]
fn veno_halves_behind_a_queue_and_grows_half_as_fast_there() {
    let report = run(&streams_over_a_city(&[]), "veno");
    let steps = steps(&report, 0);
    let cuts: Vec<_> = cuts(&steps).into_iter().filter(|cut| cut.at_s > 0.03).collect();
    assert!(cuts.len() >= 2, "{cuts:?}");
    for pair in cuts.windows(2) {
        assert_in("left of it", pair[0].to / pair[0].from, 0.49..=0.51);
        let tooth = between(&steps, pair[0].at_s + 0.003, pair[1].at_s);
        // Three segments wait when the window is three above what is on the way.
        let place = tooth.partition_point(|step| step.window < ON_THE_WAY + 1.0);
        let congested = tooth.partition_point(|step| step.window < ON_THE_WAY + 6.0);
        assert_in("without a queue", growth_per_round(&tooth[..place]), 0.9..=1.05);
        assert_in("with one", growth_per_round(&tooth[congested..]), 0.45..=0.53);
    }
}

use super::*;
use crate::contract::{CongestionControl, Sent};
use crate::parts::test_link::{Link, Sender};
use crate::units::{Bytes, Time};

const MBPS: f64 = 1e6;

fn flow() -> Flow {
    let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
    (flow.mss, flow.base_rtt) = (Bytes::new(1_000), Some(Span::from_ms(10)));
    flow
}

fn report(mbps: f64, loss: f64) -> Report {
    Report {
        rate_bps: mbps * MBPS,
        sent_bps: mbps * MBPS,
        loss,
        rtt_slope: 0.0,
        rtt_error: 0.0,
        rtt_ratio: 1.0,
    }
}

fn released() -> Allegro {
    let mut allegro = Allegro::default();
    for &(name, value) in Allegro::PRESETS[1].values {
        allegro.set(name, value).unwrap();
    }
    allegro
}

/// A control around `mbps`, at the start of its trials.
fn deciding(params: &Allegro, mbps: f64) -> AllegroControl {
    let mut control = params.start(&flow());
    control.search.rate_bps = mbps * MBPS;
    control.law.probe(&mut control.search);
    control
}

/// Reports on the rate that is to be tried next, with the loss that `loss` says for it in Mb/s.
fn try_next(control: &mut AllegroControl, loss: impl Fn(f64) -> f64) {
    let mbps = control.search.next_bps().unwrap() / MBPS;
    control.on_report(&report(mbps, loss(mbps)));
}

fn assert_near(left: f64, right: f64) {
    // Parameters are multiples of 2^-20.
    assert!((left - right).abs() <= 2e-5 * right.abs().max(1.0), "{left} is not {right}");
}

#[test]
fn the_utility_is_throughput_times_a_sigmoid_of_the_loss_less_what_is_lost() {
    let allegro = Allegro::default();
    // 100 / (1 + e^-5).
    assert_near(allegro.utility(&report(100.0, 0.0)), 99.330_714_907_571_52);
    // 99 / (1 + e^-4) - 1.
    assert_near(allegro.utility(&report(100.0, 0.01)), 96.219_365_213_752_94);
    // At the tolerance the sigmoid is a half: 95 / 2 - 5.
    assert_near(allegro.utility(&report(100.0, 0.05)), 42.5);
    // 90 / (1 + e^5) - 10.
    assert_near(allegro.utility(&report(100.0, 0.10)), -9.397_643_416_814_369);
    assert_near(allegro.utility(&report(100.0, 1.0)), -100.0);
    // The rate that was sent at counts, not the one that should have been.
    let slower = Report { sent_bps: 50.0 * MBPS, ..report(100.0, 0.05) };
    assert_near(allegro.utility(&slower), 21.25);
}

#[test]
fn the_released_utility_falls_with_a_growing_rtt() {
    let allegro = released();
    let rtt = |rtt_ratio| Report { rtt_ratio, ..report(100.0, 0.0) };
    // 1 / (1 + e^-50) is one; a level RTT is worth a half, and 4 % up or down count as level.
    for level in [1.0, 0.96, 1.04] {
        assert_near(allegro.utility(&rtt(level)), 50.0);
    }
    // 100 / (1 + e^20) and 100 / (1 + e^-20).
    assert_near(allegro.utility(&rtt(0.9)), 2.061_153_618_190_204e-7);
    assert_near(allegro.utility(&rtt(1.1)), 99.999_999_793_884_64);
}

#[test]
fn the_first_rate_is_two_packets_per_rtt_and_doubles_while_that_pays() {
    // 2,000 B in 10 ms are 1.6 Mb/s.
    let mut control = Allegro::default().start(&flow());
    for mbps in [1.6, 3.2, 6.4, 12.8] {
        assert_near(control.search.rate_bps, mbps * MBPS);
        // The best rate so far is held while the result is awaited.
        assert_near(control.law.holding_bps(&control.search), mbps / 2.0 * MBPS);
        try_next(&mut control, |_| 0.0);
    }
    // 25.6 Mb/s on a link of 15: 41 % lost.
    try_next(&mut control, |mbps| 1.0 - 15.0 / mbps);
    assert!(matches!(control.search.phase, Phase::Trying(_)));
    assert_near(control.search.rate_bps, 12.8 * MBPS);
}

#[test]
fn a_bad_first_interval_halves_the_rate() {
    let mut control = Allegro::default().start(&flow());
    try_next(&mut control, |_| 0.2);
    assert!(matches!(control.search.phase, Phase::Trying(_)));
    assert_near(control.search.rate_bps, 0.8 * MBPS);
}

#[test]
fn agreeing_trials_move_the_rate() {
    for (loss_above, expected) in [(0.0, 101.0 * 1.01), (0.03, 99.0 * 0.99)] {
        let mut control = deciding(&Allegro::default(), 100.0);
        let mut tried = [0, 0];
        for _ in 0..4 {
            let mbps = control.search.next_bps().unwrap() / MBPS;
            assert!((mbps - 99.0).abs() < 1e-3 || (mbps - 101.0).abs() < 1e-3, "{mbps}");
            tried[usize::from(mbps > 100.0)] += 1;
            try_next(&mut control, |mbps| if mbps > 100.0 { loss_above } else { 0.0 });
        }
        assert_eq!(tried, [2, 2]);
        assert!(matches!(control.search.phase, Phase::Moving(Move { steps: 1, .. })));
        assert_near(control.search.rate_bps, expected * MBPS);
    }
}

#[test]
fn disagreeing_trials_keep_the_rate_and_widen() {
    let mut control = deciding(&Allegro::default(), 100.0);
    for expected in [0.02, 0.03, 0.04, 0.05, 0.05] {
        // The first pair loses at the higher rate, the second at the lower one.
        for pair in 0..2 {
            for _ in 0..2 {
                try_next(
                    &mut control,
                    |mbps| if (mbps > 100.0) == (pair == 0) { 0.03 } else { 0.0 },
                );
            }
        }
        assert!(matches!(control.search.phase, Phase::Trying(_)));
        assert_near(control.search.rate_bps, 100.0 * MBPS);
        assert_near(control.law.epsilon, expected);
    }
    (0..4).for_each(|_| try_next(&mut control, |_| 0.0));
    assert_near(control.law.epsilon, 0.01);
}

#[test]
fn steps_grow_while_they_pay_and_the_last_good_rate_stays() {
    let mut control = deciding(&Allegro::default(), 100.0);
    (0..4).for_each(|_| try_next(&mut control, |_| 0.0));
    let mut expected = 101.0;
    for n in 1..=5 {
        let before = expected;
        expected *= 1.0 + 0.01 * f64::from(n);
        assert_near(control.search.rate_bps, expected * MBPS);
        assert_near(control.law.holding_bps(&control.search), before * MBPS);
        try_next(&mut control, |_| 0.0);
    }
    try_next(&mut control, |_| 0.04);
    assert!(matches!(control.search.phase, Phase::Trying(_)));
    assert_near(control.search.rate_bps, expected * MBPS);
}

#[test]
fn the_released_code_takes_three_pairs_and_steps_up_to_a_tenth() {
    let mut control = deciding(&released(), 100.0);
    (0..5).for_each(|_| try_next(&mut control, |_| 0.0));
    assert!(matches!(control.search.phase, Phase::Trying(_)));
    try_next(&mut control, |_| 0.0);
    let mut expected = 105.0;
    for share in [0.02, 0.04, 0.06, 0.08, 0.1, 0.1] {
        expected *= 1.0 + share;
        assert_near(control.search.rate_bps, expected * MBPS);
        try_next(&mut control, |_| 0.0);
    }
}

#[test]
fn one_trial_at_a_time_but_for_the_four_of_a_decision() {
    let mut control = deciding(&Allegro::default(), 80.0);
    let packet = |n: u64| {
        let at = Time::ZERO + Span::from_us(2_500 * n);
        let mut sent = Sent::new(at, Bytes::new(1_000), Bytes::ZERO);
        sent.end = Bytes::from_kb(n + 1);
        sent
    };
    // 17 to 22 ms are ten packets at least here.
    let mut rates = std::collections::BTreeMap::new();
    for n in 0..60 {
        control.on_sent(&packet(n));
        *rates.entry(control.search.prober.rate().as_bps()).or_insert(0) += 1;
    }
    assert_eq!(control.search.prober.pending(), 4);
    // 79.2 and 80.8 Mb/s for twenty packets each, then back to the rate in between.
    let rates: std::vec::Vec<_> = rates.into_iter().map(|(bps, n)| (bps / 100_000, n)).collect();
    assert_eq!(rates, [(791, 20), (800, 20), (808, 20)]);
}

/// A flow on 100 Mb/s with 10 ms.
fn on_a_link(params: &Allegro, buffer: Bytes) -> Sender<AllegroControl> {
    let link = Link {
        rate: Rate::from_mbps(100),
        rtt: Span::from_ms(10),
        buffer,
        packet: Bytes::new(1_000),
    };
    let nominal = Flow { base_rtt: None, seed: 3, ..flow() };
    Sender::new(params.start(&nominal), link)
}

#[test]
fn one_flow_takes_a_link() {
    // Buffers of a fifth of the product, of one and of five. The loss-based utility fills each of
    // them.
    for (params, buffer, most_lost, longest_ms) in [
        (Allegro::default(), 25, 0.03, 13),
        (Allegro::default(), 125, 0.03, 21),
        (Allegro::default(), 600, 0.05, 59),
        (released(), 25, 0.03, 13),
        (released(), 125, 0.03, 21),
        (released(), 600, 0.001, 40),
    ] {
        let mut sender = on_a_link(&params, Bytes::from_kb(buffer));
        sender.run(Span::from_secs(10));
        let (delivered, lost) = (sender.delivered, sender.lost);
        let share = sender.run(Span::from_secs(20));
        let lost = (sender.lost - lost).get() as f64 / (sender.delivered - delivered).get() as f64;
        assert!(share > 0.98, "{share} with {buffer} KB");
        assert!(lost < most_lost, "{lost} with {buffer} KB");
        assert!(sender.last_rtt < Span::from_ms(longest_ms), "{}", sender.last_rtt);
    }
}

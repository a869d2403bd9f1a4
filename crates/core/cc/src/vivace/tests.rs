use super::*;
use crate::parts::test_link::{Link, Sender};
use crate::units::Bytes;

const MBPS: f64 = 1e6;

fn flow() -> Flow {
    let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(10));
    flow.base_rtt = Some(Span::from_ms(10));
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

/// Reports on the rate that is to be tried next, with the loss that `loss` says for it in Mb/s.
fn try_next(control: &mut VivaceControl, loss: impl Fn(f64) -> f64) {
    let mbps = control.search.next_bps().unwrap() / MBPS;
    control.on_report(&report(mbps, loss(mbps)));
}

/// A control around `mbps`, at the start of its trials.
fn probing(mbps: f64) -> VivaceControl {
    let mut control = Vivace::default().start(&flow());
    control.search.rate_bps = mbps * MBPS;
    control.law.probe(&mut control.search);
    control
}

/// A control around 100 Mb/s whose pairs of trials were worth so much at 105 and 95 Mb/s.
fn tried(worth: [(f64, f64); 3]) -> VivaceControl {
    let mut control = probing(100.0);
    let Phase::Trying(mut trials) = control.search.phase else { unreachable!("it probes") };
    for (high, low) in worth.into_iter().flat_map(|pair| [pair; 2]) {
        let higher = trials.next(0).unwrap() > 100.0 * MBPS;
        trials.add(if higher { high } else { low });
    }
    control.law.on_trials(&mut control.search, &trials);
    control
}

/// A trial at `mbps`.
fn trial(mbps: f64, utility: f64) -> Trial {
    Trial { rate_bps: mbps * MBPS, utility }
}

fn assert_near(left: f64, right: f64) {
    // Parameters are multiples of 2^-20.
    assert!((left - right).abs() <= 2e-5 * right.abs(), "{left} is not {right}");
}

#[test]
fn the_utility_rewards_rate_and_charges_for_a_rising_rtt_and_for_loss() {
    let vivace = Vivace::default();
    // 100^0.9.
    assert_near(vivace.utility(&report(100.0, 0.0)), 63.095_734);
    // less 11.35 * 100 * 0.01.
    assert_near(vivace.utility(&report(100.0, 0.01)), 51.745_734);
    // less 900 * 100 * 0.02.
    let rising = Report { rtt_slope: 0.02, ..report(100.0, 0.0) };
    assert_near(vivace.utility(&rising), -1_736.904_266);
    // A falling RTT, one that rises by less than 1 %, and one that rises by less than it scatters.
    for (rtt_slope, rtt_error) in [(-0.5, 0.0), (0.009_9, 0.0), (0.02, 0.021)] {
        let level = Report { rtt_slope, rtt_error, ..rising };
        assert_near(vivace.utility(&level), 63.095_734);
    }
    // Without latency.
    let loss_only = Vivace { latency_cost: Fraction::ZERO, ..vivace };
    assert_near(loss_only.utility(&rising), 63.095_734);
}

#[test]
fn the_rate_doubles_while_that_pays() {
    // 10 KB in 10 ms are 8 Mb/s.
    let mut control = Vivace::default().start(&flow());
    for mbps in [8.0, 16.0, 32.0] {
        assert_near(control.search.rate_bps, mbps * MBPS);
        try_next(&mut control, |_| 0.0);
    }
    // A tenth lost costs more than twice the rate brings.
    try_next(&mut control, |_| 0.1);
    assert!(matches!(control.search.phase, Phase::Trying(_)));
    assert_near(control.search.rate_bps, 32.0 * MBPS);
}

#[test]
fn the_gradient_is_that_of_the_pairs_that_agree() {
    // (105^0.9 - 95^0.9) / 10 Mb/s = (65.928_07 - 60.249_19) / 10, in all three pairs.
    let mut control = probing(100.0);
    (0..6).for_each(|_| try_next(&mut control, |_| 0.0));
    assert!(matches!(control.search.phase, Phase::Moving(Move { up: true, rounds: 1, .. })));
    assert_near(control.search.rate_bps, (105.0 + 0.567_888) * MBPS);

    // Utilities 30 and 60 apart upwards, 300 downwards: (30 + 60) / 3 / 10 Mb/s = 3 Mb/s.
    let control = tried([(30.0, 0.0), (0.0, 300.0), (60.0, 0.0)]);
    assert_near(control.search.rate_bps, 108.0 * MBPS);
    let Phase::Moving(Move { up: true, rounds: 1, before }) = control.search.phase else {
        panic!("it moves")
    };
    assert_near(before.rate_bps, 105.0 * MBPS);
    assert_near(before.utility, 60.0);
}

#[test]
fn more_is_decided_by_most_pairs_and_less_by_all() {
    let decide = |worth| tried(worth).search.rate_bps / MBPS;
    let (more, less) = ((1.0, 0.0), (0.0, 1.0));
    assert!(decide([more, less, more]) > 105.0);
    assert!((decide([less, less, more]) - 100.0).abs() < 1e-9);
    assert!(decide([less, less, less]) < 95.0);
}

#[test]
fn confidence_amplifies_every_second_change() {
    let mut control = probing(1_000.0);
    let mut before = trial(1_000.0, 0.0);
    control.search.rate_bps = 1_001.0 * MBPS;
    // A utility slope of one per Mb/s: changes of ((n + 1) / 2)^1.2 Mb/s for n = 2, 3, 4, 5, 6, 7.
    for (rounds, change) in
        [(1, 1.0), (2, 2.297_397), (3, 2.297_397), (4, 3.737_193), (5, 3.737_193), (6, 5.278_032)]
    {
        let rate = control.search.rate_bps / MBPS;
        let now = trial(rate, before.utility + (rate - before.rate_bps / MBPS));
        control.law.on_move(&mut control.search, Move { up: true, rounds, before }, now);
        assert_near(control.search.rate_bps / MBPS - rate, change);
        assert_eq!(
            control.search.phase,
            Phase::Moving(Move { up: true, rounds: rounds + 1, before: now })
        );
        before = now;
    }
}

#[test]
fn the_boundary_widens_when_it_is_reached_and_narrows_when_not() {
    let mut control = probing(100.0);
    // 5 %, 10 %, 15 % of 100 Mb/s, with a gradient for more.
    for (raised, change) in [(1, 5.0), (2, 10.0), (3, 15.0)] {
        assert_near(control.law.change_bps(100.0 * MBPS, 100.0, 1.0), change * MBPS);
        assert_eq!(control.law.raised, raised);
    }
    assert_near(control.law.change_bps(100.0 * MBPS, 19.0, 1.0), 19.0 * MBPS);
    assert_near(control.law.change_bps(100.0 * MBPS, 1.0, 1.0), MBPS);
    assert_eq!(control.law.raised, 1);
    // The least change.
    assert_near(control.law.change_bps(100.0 * MBPS, 0.1, 1.0), 0.5 * MBPS);
    control.law.change_bps(100.0 * MBPS, 0.1, 1.0);
    assert_eq!(control.law.raised, 0);
}

#[test]
fn a_gradient_that_turns_takes_back_one_change() {
    // 3 of utility less after 3 Mb/s up or down: one per Mb/s.
    for (up, from, expected) in [(true, 102.0, 104.0), (false, 108.0, 106.0)] {
        let mut control = probing(105.0);
        control.law.on_move(
            &mut control.search,
            Move { up, rounds: 1, before: trial(from, 10.0) },
            trial(105.0, 7.0),
        );
        assert!(matches!(control.search.phase, Phase::Trying(_)));
        assert_near(control.search.rate_bps, expected * MBPS);
    }
    // At a bound the rate stays, and there is no gradient.
    let mut control = probing(105.0);
    control.law.on_move(
        &mut control.search,
        Move { up: true, rounds: 1, before: trial(105.0, 10.0) },
        trial(105.0, 11.0),
    );
    assert!(matches!(control.search.phase, Phase::Trying(_)));
    assert_near(control.search.rate_bps, 105.0 * MBPS);
}

#[test]
fn at_the_floor_it_starts_anew() {
    let mut control = probing(0.5);
    for _ in 0..6 {
        let mbps = control.search.next_bps().unwrap() / MBPS;
        // Rates below the floor are not sent.
        control.on_report(&report(mbps.max(0.5), if mbps > 0.5 { 0.9 } else { 0.0 }));
    }
    assert!(matches!(control.search.phase, Phase::Starting(_)), "{:?}", control.search.phase);
    assert_near(control.search.rate_bps, 0.5 * MBPS);
}

fn on_a_link(params: &Vivace, buffer: Bytes) -> Sender<VivaceControl> {
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
fn one_flow_takes_a_link_without_a_queue() {
    // Whatever the buffer holds. A sixth of the intervals are 5 % below the rate, and as many
    // above.
    for buffer in [25, 600] {
        let mut sender = on_a_link(&Vivace::default(), Bytes::from_kb(buffer));
        sender.run(Span::from_secs(2));
        let lost = sender.lost;
        let share = sender.run(Span::from_secs(20));
        assert!(share > 0.93, "{share} with {buffer} KB");
        assert_eq!(sender.lost, lost, "nothing after the start");
        assert!(sender.last_rtt < Span::from_ms(11), "{}", sender.last_rtt);
    }
    // 10 Gb/s and 20 us.
    let link = Link {
        rate: Rate::from_gbps(10),
        rtt: Span::from_us(20),
        buffer: Bytes::from_kb(1_000),
        packet: Bytes::new(1_000),
    };
    let fast = Flow { line_rate: Rate::from_gbps(40), base_rtt: None, ..flow() };
    let mut sender = Sender::new(Vivace::default().start(&fast), link);
    sender.run(Span::from_ms(10));
    let share = sender.run(Span::from_ms(100));
    assert!(share > 0.97, "{share}");
    assert!(sender.last_rtt < Span::from_us(40), "{}", sender.last_rtt);
}

#[test]
fn without_latency_it_takes_a_link_and_fills_the_buffer() {
    let loss_only = Vivace { latency_cost: Fraction::ZERO, ..Vivace::default() };
    let mut sender = on_a_link(&loss_only, Bytes::from_kb(125));
    sender.run(Span::from_secs(2));
    let (delivered, lost) = (sender.delivered, sender.lost);
    let share = sender.run(Span::from_secs(20));
    let lost = (sender.lost - lost).get() as f64 / (sender.delivered - delivered).get() as f64;
    assert!(share > 0.98, "{share}");
    assert!((0.001..0.06).contains(&lost), "{lost}");
}

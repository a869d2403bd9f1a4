//! Vectors computed by hand, one for each branch of Algorithm 1.

use super::*;
use crate::LossCause;
use crate::units::Time;

/// 10 Gb/s NIC, no time scaling and no limit on one decrease unless a test says so: the formulas
/// of the paper with nothing else in the way.
fn plain() -> Timely {
    Timely {
        alpha: Fraction::from_ratio(1, 2),
        t_high: Span::from_us(500),
        time_scaling: TimeScaling::Never,
        max_decrease: Fraction::ONE,
        ..Timely::default()
    }
}

struct Run {
    control: TimelyControl,
    now: Time,
}

impl Run {
    fn of(params: Timely) -> Self {
        let mut flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(10));
        flow.active_flows = 1;
        Self { control: params.start(&flow), now: Time::ZERO }
    }

    fn complete_after(&mut self, gap: Span, rtt: Span) -> u64 {
        self.now += gap;
        self.control.on_ack(&Ack::new(self.now, Time::ZERO, Bytes::from_kb(64)).with_rtt(rtt));
        self.control.state.rate_bps
    }

    fn complete(&mut self, rtt_us: u64) -> u64 {
        self.complete_after(Span::from_us(100), Span::from_us(rtt_us))
    }
}

const START: u64 = 5_000_000_000;
const DELTA: u64 = 10_000_000;

#[test]
fn below_t_low_adds_delta_even_when_the_rtt_rises() {
    let mut run = Run::of(plain());
    assert_eq!(run.complete(20), START + DELTA);
    assert_eq!(run.complete(49), START + 2 * DELTA);
}

#[test]
fn below_t_low_there_is_no_hyperactive_increase() {
    let mut run = Run::of(plain());
    for (i, rtt) in (1..=10).zip((30..40).rev()) {
        assert_eq!(run.complete(rtt), START + i * DELTA);
    }
}

#[test]
fn above_t_high_cuts_by_beta_times_the_excess() {
    // 1 - 500/1000 = 1/2, beta = 0.8 = 838,861/2^20; half of it 419,430/2^20.
    let mut run = Run::of(plain());
    assert_eq!(run.complete(1_000), START - START * 419_430 / (1 << 20)); // 3.0 Gb/s
    let before = run.control.state.rate_bps;
    // The sample itself counts, not the falling trend: 1 - 500/625 = 0.2 = 209,715/2^20.
    let cut = (838_861 * 209_715) >> 20;
    assert_eq!(run.complete(625), before - before * cut / (1 << 20));
}

#[test]
fn at_the_thresholds_the_gradient_decides() {
    let mut run = Run::of(plain());
    assert_eq!(run.complete(500), START + DELTA, "T_high itself is within the band");
    let mut run = Run::of(plain());
    run.complete(20);
    let before = run.control.state.rate_bps;
    assert!(run.complete(50) < before, "T_low itself is within the band, and the RTT rose");
}

#[test]
fn falling_or_level_gradient_adds_delta() {
    let mut run = Run::of(plain());
    assert_eq!(run.complete(100), START + DELTA, "the first sample has no gradient");
    assert_eq!(run.complete(100), START + 2 * DELTA, "level");
    assert_eq!(run.complete(90), START + 3 * DELTA, "falling");
}

#[test]
fn rising_gradient_cuts_by_beta_times_the_gradient() {
    // +4 us, halved by the filter: 2 us over D_minRTT 20 us = 0.1; 0.8 * 0.1 = 0.08.
    let mut run = Run::of(plain());
    run.complete(100);
    let before = run.control.state.rate_bps;
    let difference_q8 = 2_000_u64 << 8;
    let cut = (838_861 * difference_q8 / 20_000) >> 8;
    assert_eq!(cut, 83_886); // 0.08 * 2^20 = 83,886.08
    assert_eq!(run.complete(104), before - before * cut / (1 << 20));
}

#[test]
fn filter_remembers_the_earlier_rise() {
    // +4 us then -1 us: (2 us + -1 us) / 2 = 0.5 us, still a rise of 0.025.
    let mut run = Run::of(plain());
    run.complete(100);
    run.complete(104);
    let before = run.control.state.rate_bps;
    let cut = (838_861_u64 * (500 << 8) / 20_000) >> 8;
    assert_eq!(run.complete(103), before - before * cut / (1 << 20));
}

#[test]
fn one_decrease_takes_half_at_most() {
    let floored = Timely { max_decrease: Fraction::from_ratio(1, 2), ..plain() };
    let mut run = Run::of(floored);
    run.complete(100);
    let before = run.control.state.rate_bps;
    assert_eq!(run.complete(300), before - before / 2, "a gradient of 5 would take everything");
    let mut run = Run::of(plain());
    run.complete(100);
    assert_eq!(run.complete(300), 10_000_000, "and does, without the floor: down to min_rate");
}

#[test]
fn hyperactive_increase_starts_at_the_fifth_fall_and_ends_with_the_falling() {
    let mut run = Run::of(plain());
    let mut expected = START;
    for (rtt, steps) in [(200, 1), (195, 1), (190, 1), (185, 1), (180, 1), (175, 5), (170, 5)] {
        expected += steps * DELTA;
        assert_eq!(run.complete(rtt), expected, "RTT {rtt}");
    }
    // The RTT stays: the smoothed gradient is still negative, but this is no fall.
    expected += DELTA;
    assert_eq!(run.complete(170), expected, "HAI left");
    expected += DELTA;
    assert_eq!(run.complete(165), expected, "and the count starts again");
}

#[test]
fn smoothed_count_includes_level_samples() {
    let mut run = Run::of(Timely { hai_counts: HaiCounts::Smoothed, ..plain() });
    let mut expected = START;
    for (rtt, steps) in [(200, 1), (200, 1), (195, 1), (195, 1), (190, 5), (190, 5)] {
        expected += steps * DELTA;
        assert_eq!(run.complete(rtt), expected, "RTT {rtt}");
    }
}

#[test]
fn completions_within_one_min_rtt_are_scaled_by_time() {
    let scaled = Timely { time_scaling: TimeScaling::IncreaseAndTHigh, ..plain() };
    let mut run = Run::of(scaled);
    let (gap, rtt) = (Span::from_us(5), Span::from_us(40)); // a quarter of min_rtt
    assert_eq!(run.complete_after(gap, rtt), START + DELTA / 4);
    assert_eq!(run.complete_after(Span::from_us(20), rtt), START + DELTA / 4 + DELTA);
    // T_high: a quarter of 0.8 * 1/2.
    let before = run.control.state.rate_bps;
    let cut = 419_430 / 4;
    assert_eq!(run.complete_after(gap, Span::from_us(1_000)), before - before * cut / (1 << 20));
    // The gradient decrease is not scaled, unless `always`.
    let mut run = Run::of(scaled);
    run.complete(100);
    let before = run.control.state.rate_bps;
    let full = run.complete_after(gap, Span::from_us(104));
    assert_eq!(before - full, before * 83_886 / (1 << 20));
    let mut run = Run::of(Timely { time_scaling: TimeScaling::Always, ..scaled });
    run.complete(100);
    let before = run.control.state.rate_bps;
    let quarter = run.complete_after(gap, Span::from_us(104));
    assert_eq!(before - quarter, before * (83_886 / 4) / (1 << 20));
}

#[test]
fn delta_and_min_rate_scale_with_the_line_rate() {
    let line = |rate| Constants::new(&Timely::default(), rate);
    assert_eq!(line(Rate::from_gbps(40)).delta_bps, 40_000_000);
    assert_eq!(line(Rate::from_gbps(40)).min_bps, 40_000_000);
    assert_eq!(line(Rate::from_mbps(1)).delta_bps, 1_000);
    let fixed = Timely { delta_reference: Rate::ZERO, ..Timely::default() };
    assert_eq!(Constants::new(&fixed, Rate::from_gbps(40)).delta_bps, 10_000_000);
}

#[test]
fn new_flow_takes_its_share_of_the_line() {
    let start = |active_flows, params: Timely| {
        let flow = Flow { active_flows, ..Flow::new(Bytes::from_kb(64), Rate::from_gbps(10)) };
        params.start(&flow).limits().pacing
    };
    assert_eq!(start(0, plain()), Pacing::Rate(Rate::from_gbps(10)));
    assert_eq!(start(3, plain()), Pacing::Rate(Rate::from_mbps(2_500)));
    let line = Timely { initial_rate: InitialRate::Line, ..plain() };
    assert_eq!(start(3, line), Pacing::Rate(Rate::from_gbps(10)));
}

#[test]
fn erpc_compares_the_first_sample_with_the_minimum() {
    let mut run = Run::of(Timely { initial_rtt: InitialRtt::MinRtt, ..plain() });
    // (100 - 20) / 2 = 40 us over 20 us is a gradient of 2: everything goes, down to min_rate.
    assert_eq!(run.complete(100), 10_000_000);
}

#[test]
fn burst_rate_leaves_with_the_limits() {
    let slow = Timely { burst_rate: BurstRate(Rate::from_mbps(700)), ..plain() };
    let limits = Run::of(slow).control.limits();
    assert_eq!(limits.burst.rate, Rate::from_mbps(700));
    assert_eq!(limits.pacing, Pacing::Rate(Rate::from_gbps(5)), "pacing is another matter");
}

#[test]
fn a_window_is_the_rates_data_of_some_time_and_a_segment_at_least() {
    let params = Timely { window_rtt: Span::from_us(100), ..plain() };
    let mut flow = Flow::new(Bytes::new(536), Rate::from_gbps(10));
    flow.mss = Bytes::new(536);
    flow.max_window = Bytes::new(10_000);
    flow.initial_window = Bytes::new(5_000);
    assert_eq!(params.start(&flow).limits(), Limits::window(Bytes::new(5_000)));

    flow.initial_window = Bytes::new(100);
    let mut control = params.start(&flow);
    assert_eq!(control.limits().cwnd, Bytes::new(536));
    control.on_mss_change(Bytes::new(400));
    assert_eq!(control.limits().cwnd, Bytes::new(400));
    for _ in 0..100 {
        control
            .on_ack(&Ack::new(Time::ZERO, Time::ZERO, Bytes::new(400)).with_rtt(Span::from_us(10)));
    }
    // 1,008 Mb/s are 12,600 B, and the peer takes 10,000.
    assert_eq!(control.limits().cwnd, Bytes::new(10_000));
}

#[test]
fn the_courses_window_takes_four_segments_for_an_ack() {
    let mut params = Timely::default();
    let preset = Timely::PRESETS.iter().find(|one| one.name == "cs244").unwrap();
    for (name, value) in preset.values {
        params.set(name, value).unwrap();
    }
    let mut flow = Flow::new(Bytes::new(536), Rate::from_mbps(50));
    flow.mss = Bytes::new(536);
    flow.initial_window = Bytes::new(6 * 536);
    let mut control = params.start(&flow);
    control.on_ack(&Ack::new(Time::ZERO, Time::ZERO, Bytes::new(536)).with_rtt(Span::from_us(300)));
    assert_eq!(control.limits().cwnd, Bytes::new(10 * 536));
    control
        .on_ack(&Ack::new(Time::ZERO, Time::ZERO, Bytes::new(536)).with_rtt(Span::from_us(1_000)));
    // beta of 0.01 and half of the RTT above T_high.
    assert_eq!(control.limits().cwnd, Bytes::new(10 * 536 * 995 / 1000));
}

#[test]
fn state_fits_a_linux_socket() {
    assert!(size_of::<State>() <= 104, "{} bytes", size_of::<State>());
}

#[test]
fn thresholds_out_of_order_are_a_conflict() {
    let params = Timely { t_low: Span::from_ms(2), ..Timely::default() };
    assert_eq!(params.check().unwrap_err().name, "t_low");
}

#[test]
fn queue_size_controller_never_asks_the_gradient() {
    let mut params = Timely::default();
    let preset = Timely::PRESETS.iter().find(|preset| preset.name == "queue-size").unwrap();
    for &(name, value) in preset.values {
        params.set(name, value).unwrap();
    }
    assert_eq!(params.check(), Ok(()));
    let target_ns = params.t_low.as_ns();
    assert_eq!(params.t_high.as_ns(), target_ns, "of the band only the target itself is left");
    // Another filter, another HAI, another first RTT: whatever only the gradient's branch reads.
    let other = Timely {
        alpha: Fraction::ONE,
        hai_threshold: 1,
        hai_n: 100,
        hai_counts: HaiCounts::Smoothed,
        initial_rtt: InitialRtt::MinRtt,
        ..params
    };
    let (mut run, mut with_other) = (Run::of(params), Run::of(other));
    let gap = Span::from_us(30);
    let (mut increases, mut decreases) = (0, 0);
    for step in 0..3_000_u64 {
        // From 90 us to 110 us, up and down in jumps, and the two neighbours of the target.
        let rtt_ns = match step % 5 {
            0 => target_ns - 1,
            1 => target_ns + 1,
            // Odd distances only, so never the target itself.
            _ => target_ns - 9_999 + step * 7_918 % 20_000,
        };
        let before = run.control.state.rate_bps;
        let after = run.complete_after(gap, Span::from_ns(rtt_ns));
        if rtt_ns < target_ns {
            assert_eq!(after, (before + DELTA).min(10_000_000_000), "RTT {rtt_ns} ns");
            increases += 1;
        } else {
            let cut = crate::parts::integer::cut_above_q20(838_861, rtt_ns, target_ns);
            assert_eq!(after, before - ((before * cut) >> 20), "RTT {rtt_ns} ns");
            decreases += 1;
        }
        assert_eq!(with_other.complete_after(gap, Span::from_ns(rtt_ns)), after);
    }
    assert!(increases > 1_000 && decreases > 1_000, "{increases} up, {decreases} down");
}

/// A loss of data that ends at `end`, when `next` is the next to be sent.
fn loss(end: u64, next: u64) -> Loss {
    let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Detected);
    (loss.end, loss.next) = (Bytes::new(end), Bytes::new(next));
    loss
}

#[test]
fn the_papers_law_has_no_answer_to_loss_and_needs_a_network_without() {
    let mut run = Run::of(plain());
    run.control.on_loss(&loss(1, 10));
    assert_eq!(run.control.state.rate_bps, START);
    assert_eq!(plain().needs(), [Need::Lossless]);
}

#[test]
fn a_loss_takes_its_part_once_in_a_window_and_gives_it_back_if_it_was_none() {
    let params = Timely { loss_decrease: Fraction::from_ratio(1, 4), ..plain() };
    assert_eq!(params.needs(), []);
    let mut run = Run::of(params);
    run.control.on_loss(&loss(1, 10));
    assert_eq!(run.control.state.rate_bps, START / 4 * 3);
    run.control.on_loss(&loss(10, 15));
    assert_eq!(run.control.state.rate_bps, START / 4 * 3, "sent before the first reaction");
    run.control.on_loss(&loss(11, 20));
    assert_eq!(run.control.state.rate_bps, START / 16 * 9);
    run.control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(1)));
    assert_eq!(run.control.state.rate_bps, START / 4 * 3, "what it was before the last reaction");
    let mut slow = Run::of(params);
    (0..100).for_each(|n| slow.control.on_loss(&loss(n * 10 + 1, n * 10 + 10)));
    assert_eq!(slow.control.state.rate_bps, slow.control.constants.min_bps);
}

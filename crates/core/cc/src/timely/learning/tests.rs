//! Rules by hand, and a flow alone on an idle path.

use super::super::{Constants, State, TimelyControl};
use super::*;
use crate::contract::{Algorithm, CongestionControl, Flow, PathMetrics};
use crate::param::Configurable;
use crate::units::Rate;

const MSS: Bytes = Bytes::new(1_460);
const LINE_BPS: u64 = 40_000_000_000;

fn params() -> Timely {
    let mut params = Timely::default();
    let auto = Timely::PRESETS.iter().find(|preset| preset.name == "auto").unwrap();
    for (name, value) in auto.values {
        params.set(name, value).unwrap();
    }
    params
}

fn flow() -> Flow {
    let mut flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(40));
    flow.mss = MSS;
    flow.seed = 3;
    flow
}

/// A flow, and the ACK of its next segment.
struct Run {
    control: TimelyControl,
    now: Time,
    sent: Bytes,
}

impl Run {
    fn new() -> Self {
        Self::of(&flow())
    }

    fn of(flow: &Flow) -> Self {
        Self { control: params().start(flow), now: flow.now, sent: Bytes::ZERO }
    }

    fn rate_bps(&self) -> u64 {
        self.control.state.rate_bps()
    }

    fn learning(&self) -> &Learning {
        self.control.learning.as_ref().unwrap()
    }

    /// Sends the next segment, and acknowledges it with this RTT; the next round has begun.
    fn complete(&mut self, rtt_us: u64) -> Bytes {
        let limits = self.control.limits();
        let bytes = limits.burst.bytes.min(Bytes::from_kb(64));
        let rate = self.rate_bps();
        self.now += Span::from_ns(bytes.get() * 8_000_000_000 / rate);
        let mut ack = Ack::new(self.now, Time::ZERO, bytes).with_rtt(Span::from_us(rtt_us));
        (ack.first, ack.end) = (self.sent, self.sent + bytes);
        self.sent += bytes;
        ack.next = self.sent;
        self.control.on_ack(&ack);
        bytes
    }
}

#[test]
fn a_flow_starts_with_a_packet_and_grows_by_a_quarter_in_each_round_to_a_segment_per_rtt_at_least()
{
    let mut run = Run::new();
    assert_eq!(run.rate_bps(), 1_460 * 8_000); // in a millisecond
    run.complete(20);
    let mut expected = 584_000_000; // in 20 us
    assert_eq!(run.rate_bps(), expected);
    // In the middle of the way to T_low: 20 us, and half of 60, 16, and a sixteenth of the 18 that
    // a segment takes beyond 60.
    assert_eq!(run.control.limits().cwnd, Bytes::new(4_276));
    for _ in 0..5 {
        let per_rtt = run.complete(20).get() * 400_000;
        expected = (expected + expected / 4).max(per_rtt);
        assert_eq!(run.rate_bps(), expected);
    }
    // A single RTT above the middle of the way to T_low may be an outlier. Two are none.
    run.complete(500);
    expected += expected / 4;
    assert_eq!(run.rate_bps(), expected);
    // Nothing else was in flight: half of a segment per RTT is left.
    let bytes = run.complete(500).get();
    assert_eq!(run.rate_bps(), bytes * 16_000 / 2);
    assert!(!run.learning().startup);
}

#[test]
fn a_start_ends_with_half_of_its_rate_where_all_of_it_arrived() {
    let mut run = Run::new();
    (0..6).for_each(|_| _ = run.complete(20));
    let rate = run.rate_bps();
    for end in [false, true] {
        let mut ack = Ack::new(run.now, Time::ZERO, MSS).with_rtt(Span::from_us(100));
        (ack.first, ack.end, ack.next) = (run.sent, run.sent, run.sent);
        ack.in_flight = Bytes::from_kb(400);
        run.control.on_ack(&ack);
        assert_eq!(run.rate_bps(), if end { rate / 2 } else { rate });
    }
}

/// A flow of a host that knows the path: 8 Gb/s, 20 us.
fn known() -> Flow {
    let (at, least_rtt, rate) = (Time::ZERO, Span::from_us(20), Rate::from_gbps(8));
    Flow { path: Some(PathMetrics { at, least_rtt, rate }), ..flow() }
}

#[test]
fn a_known_path_has_a_quarter_of_its_rate_from_the_start_and_no_more_than_the_path_holds() {
    let limits = params().start(&known()).limits();
    assert_eq!(Run::of(&known()).rate_bps(), 2_000_000_000);
    assert_eq!(limits.cwnd, Bytes::new(5_000)); // 2 Gb/s for 20 us
    let shared = Flow { active_flows: 39, ..known() };
    assert_eq!(Run::of(&shared).rate_bps(), 1_000_000_000, "a fortieth of the line");
    let mut slow = known();
    slow.path.as_mut().unwrap().rate = Rate::from_mbps(40);
    assert_eq!(Run::of(&slow).rate_bps(), 1_460 * 8_000, "a packet per millisecond");
    let last = Flow { now: Time::ZERO + Span::from_secs(2), ..known() };
    assert_eq!(Run::of(&last).rate_bps(), 2_000_000_000);
    let stale = Flow { now: last.now + Span::from_ns(1), ..known() };
    assert_eq!(Run::of(&stale).rate_bps(), 1_460 * 8_000);
    let mut blind = params();
    blind.set("initial_rate", "packet").unwrap();
    assert_eq!(blind.start(&known()).state.rate_bps(), 1_460 * 8_000);
}

#[test]
fn a_first_sample_that_is_late_voids_what_was_known() {
    let (mut early, mut late) = (Run::of(&known()), Run::of(&known()));
    // 20 us and half of 76, less one.
    early.complete(57);
    assert_eq!(early.rate_bps(), 2_500_000_000);
    let bytes = late.complete(58).get();
    assert_eq!(late.rate_bps(), bytes * 8_000_000 / 58);
    assert!(late.learning().startup && late.learning().known.is_none());
}

#[test]
fn metrics_keep_a_higher_rate_from_before_until_a_limit_is_met() {
    let mut run = Run::of(&known());
    assert_eq!(run.control.metrics(), None);
    run.complete(57);
    let metrics = run.control.metrics().unwrap();
    let (at, least_rtt) = (run.now, Span::from_us(20));
    assert_eq!(metrics, PathMetrics { at, least_rtt, rate: Rate::from_gbps(8) });
    (0..3).for_each(|_| _ = run.complete(500));
    let metrics = run.control.metrics().unwrap();
    assert_eq!(metrics.rate, Rate::from_bps(run.rate_bps()));
    assert!(metrics.rate < Rate::from_gbps(1) && metrics.least_rtt == least_rtt);
    assert_eq!(Timely::default().start(&known()).metrics(), None, "nothing is learned");
}

#[test]
fn within_a_round_the_rate_grows_once() {
    let mut run = Run::new();
    run.complete(20);
    let rate = run.rate_bps();
    let mut ack = Ack::new(run.now, Time::ZERO, MSS).with_rtt(Span::from_us(20));
    (ack.first, ack.end, ack.next) = (Bytes::ZERO, MSS, run.sent + MSS);
    run.control.on_ack(&ack);
    assert_eq!(run.rate_bps(), rate);
}

#[test]
fn t_low_lies_above_the_least_rtt_by_a_segment_of_the_path_and_the_margin() {
    let run = Run::new();
    let learning = run.learning();
    // At 1 Gb/s, the prior: 60 + 16 us.
    assert_eq!(learning.threshold_ns(1_000_000_000, MSS), 76_000);
    // One packet at 10 Mb/s takes 1,168 us, of which a sixteenth beyond 60 us counts.
    assert_eq!(learning.threshold_ns(10_000_000, MSS), 76_000 + (1_168_000 - 60_000) / 16);
}

#[test]
fn segments_follow_the_root_of_the_rate() {
    let mut run = Run::new();
    let learning = run.control.learning.as_mut().unwrap();
    for (mbps, bytes) in [(1_000, 7_500), (4_000, 15_000), (25_000, 37_500), (250, 3_750)] {
        let rule = learning.rule_bytes(mbps * 1_000_000);
        assert!(rule.abs_diff(bytes) <= bytes / 1_000 + 1, "{mbps} Mb/s: {rule}");
    }
    for (size_q10, packets) in [(512, 2), (1_024, 5), (1_535, 7)] {
        learning.size_q10 = size_q10;
        assert_eq!(learning.segment(1_000_000_000, MSS), MSS * packets);
        assert_eq!(learning.segment(2_400_000, MSS), MSS);
    }
}

#[test]
fn a_packet_that_cannot_vary_is_spaced_at_random() {
    let mut run = Run::new();
    let k = run.control.constants;
    let learning = run.control.learning.as_mut().unwrap();
    for (size_q10, bps) in [(512, 13_333_333), (1_024, 10_000_000), (1_536, 8_000_000)] {
        learning.size_q10 = size_q10;
        assert_eq!(learning.pace_bps(10_000_000, &k, MSS), bps);
        assert_eq!(learning.pace_bps(1_000_000_000, &k, MSS), 1_000_000_000);
    }
}

#[test]
fn steps_are_the_data_over_the_time_of_a_step_and_bounded() {
    let run = Run::new();
    let learning = run.learning();
    let k = run.control.constants;
    for (bps, bytes, step) in [
        (1_000_000_000, 7_300, 7_300 * 8 * 40), // 40 times per second
        (10_000_000, 1_460, 100_000),           // a hundredth
    ] {
        let mut state = State::new(bps, 0, DelayGradient::default());
        learning.step(&mut state, &k, (0, 76_000), (bytes, 60_000, true));
        assert!(state.rate_bps().abs_diff(bps + step) <= 11, "{} at {bps}", state.rate_bps());
        let mut state = State::new(bps, 0, DelayGradient::default());
        learning.step(&mut state, &k, (0, 76_000), (bytes, 60_000, false));
        assert_eq!(state.rate_bps(), bps, "application-limited");
    }
}

#[test]
fn cuts_follow_excess_and_gradient() {
    let mut run = Run::new();
    let k = run.control.constants;
    let learning = run.control.learning.as_mut().unwrap();
    let after = |learning: &Learning, rtt_ns| {
        let mut state = State::new(1_000_000_000, 0, DelayGradient::default());
        learning.step(&mut state, &k, (rtt_ns, 50_000), (7_300, 60_000, false));
        (1e9 - state.rate_bps() as f64) / 1e9
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-5, "{value}");
    near(after(learning, 50_000), 0.0);
    // Half of 0.08, of an excess of half a threshold.
    near(after(learning, 75_000), 0.02);
    learning.gradient_q20 = (ONE_Q20 / 2).cast_signed();
    near(after(learning, 75_000), 0.04);
    near(after(learning, 10_000_000), 0.125);
    learning.gradient_q20 = -learning.gradient_q20;
    near(after(learning, 10_000_000), 0.0);
}

#[test]
fn cuts_end_at_seven_eighths_of_what_arrives_and_raise_no_rate() {
    let mut run = Run::new();
    let k = run.control.constants;
    let learning = run.control.learning.as_mut().unwrap();
    // 480 Mb/s: 30,000 B in 500 us.
    learning.delivered.add(30_000, 500_000);
    let after = |bps: u64, rtt_ns: u64| {
        let mut state = State::new(bps, 0, DelayGradient::default());
        learning.step(&mut state, &k, (rtt_ns, 50_000), (7_300, 60_000, false));
        state.rate_bps()
    };
    assert_eq!(after(425_000_000, 10_000_000), 420_000_000);
    // A queue that cuts little, and a rate that is below already.
    assert!(after(500_000_000, 75_000) > 489_000_000);
    assert_eq!(after(400_000_000, 10_000_000), 400_000_000);
    let high = after(1_000_000_000, 10_000_000);
    assert!((874_000_000..930_000_000).contains(&high), "{high}");
}

#[test]
fn a_long_path_shortens_cuts_of_completions_that_come_fast() {
    let mut run = Run::new();
    let k: Constants = run.control.constants;
    run.complete(400);
    let learning = run.learning();
    let mut state = State::new(1_000_000_000, 0, DelayGradient::default());
    learning.step(&mut state, &k, (475_000, 50_000), (7_300, 25_000, false));
    // 0.02, times 25 us over 25 + 400 / 4.
    let cut = (1e9 - state.rate_bps() as f64) / 1e9;
    assert!((cut - 0.004).abs() < 1e-5, "{cut}");
}

/// The noise of a kernel's stamps, in microseconds, with outliers.
fn noise_us(random: &mut Random) -> u64 {
    match random.below(1_000) {
        0 => 25,
        1..10 => 5,
        n if n % 2 == 0 => 3,
        _ => 2,
    }
}

#[test]
fn an_idle_path_leaves_the_line_rate() {
    let (mut run, mut random) = (Run::new(), Random::new(11));
    while run.learning().startup {
        let rtt_us = 5 + noise_us(&mut random);
        run.complete(rtt_us);
    }
    assert_eq!(run.rate_bps(), LINE_BPS);
    assert!(run.now < Time::ZERO + Span::from_ms(5), "{:?}", run.now);
    while run.now < Time::ZERO + Span::from_secs(2) {
        // One sample in a thousand is far off.
        let outlier_us = if random.below(1_000) == 0 { 1_000 } else { 0 };
        let rtt_us = 5 + noise_us(&mut random) + outlier_us;
        run.complete(rtt_us);
        assert!(run.rate_bps() > LINE_BPS / 100 * 95, "{} at {:?}", run.rate_bps(), run.now);
    }
}

#[test]
fn a_processor_that_was_away_for_a_millisecond_costs_a_part_of_the_rate_for_some_milliseconds() {
    let (mut run, mut random) = (Run::new(), Random::new(11));
    while run.learning().startup {
        let rtt_us = 5 + noise_us(&mut random);
        run.complete(rtt_us);
    }
    for _ in 0..10 {
        // All segments of that millisecond come at its end: the first has waited longest.
        let began = run.now;
        while run.now < began + Span::from_ms(1) {
            let waited_us = 1_000 - (run.now.since(began).as_ns() / 1_000).min(1_000);
            run.complete(5 + waited_us);
        }
        let least = run.rate_bps();
        assert!(least > LINE_BPS / 2, "{least}");
        let (mut sent, from) = (0, run.now);
        while run.now < began + Span::from_ms(100) {
            let rtt_us = 5 + noise_us(&mut random);
            sent += run.complete(rtt_us).get();
            let late = run.now > began + Span::from_ms(20);
            assert!(!late || run.rate_bps() > LINE_BPS / 100 * 95, "{:?}", run.now.since(began));
        }
        let mean = sent as f64 * 8.0 / run.now.since(from).as_secs_f64();
        assert!(mean > 0.97 * LINE_BPS as f64, "{mean}");
    }
}

#[test]
fn noise_that_is_far_above_the_margin_leaves_the_line_rate() {
    let (mut run, mut random) = (Run::new(), Random::new(5));
    // Hosts whose clocks wait for processors: 10 to 50 us, even.
    for _ in 0..400_000 {
        let rtt_us = 10 + u64::from(random.below(41));
        run.complete(rtt_us);
    }
    assert!(run.rate_bps() > LINE_BPS / 100 * 95, "{}", run.rate_bps());
}

#[test]
fn a_loss_takes_half_once_and_ends_the_start() {
    use crate::{Loss, LossCause};
    let mut run = Run::new();
    (0..5).for_each(|_| _ = run.complete(20));
    let rate = run.rate_bps();
    let mut loss = Loss::new(run.now, Time::ZERO, MSS, LossCause::Detected);
    (loss.end, loss.next) = (run.sent, run.sent);
    run.control.on_loss(&loss);
    run.control.on_loss(&loss);
    assert_eq!(run.rate_bps(), rate / 2);
    run.complete(20);
    assert!(run.rate_bps() < rate / 2 * 102 / 100, "{}", run.rate_bps());
}

#[test]
fn short_messages_one_at_a_time_soon_wait_for_no_pacer() {
    use crate::{Delivery, Rate};
    let (bytes, rtt) = (Bytes::new(77), Span::from_us(15));
    let mut run = Run::new();
    let round = |run: &mut Run| {
        // The next one leaves when the last is answered and the pacer lets it.
        let paced = Span::from_ns(bytes.get() * 8_000_000_000 / run.rate_bps());
        run.now += rtt.max(paced);
        let mut ack = Ack::new(run.now, Time::ZERO, bytes).with_rtt(rtt);
        (ack.first, ack.end) = (run.sent, run.sent + bytes);
        run.sent += bytes;
        ack.next = run.sent;
        let (in_flight_at_send, lost) = (Bytes::ZERO, Bytes::ZERO);
        let rate = Rate::from_bps(run.rate_bps());
        ack.delivery = Some(Delivery { rate, in_flight_at_send, lost, app_limited: true });
        run.control.on_ack(&ack);
        paced
    };
    assert!(round(&mut run) > rtt * 3);
    (0..10).for_each(|_| _ = round(&mut run));
    for _ in 0..100_000 {
        assert!(round(&mut run) < rtt);
    }
    // Nothing shows that the path takes more than that.
    assert!(run.rate_bps() < 4 * bytes.get() * 8_000_000_000 / rtt.as_ns(), "{}", run.rate_bps());
}

#[test]
fn a_loss_without_delay_takes_the_most_of_a_cut_and_one_with_delay_half() {
    use crate::{Loss, LossCause};
    let after = |rtts_us: &[u64], cause| {
        let mut run = Run::new();
        (0..5).for_each(|_| _ = run.complete(20));
        [500, 500, 20, 20].iter().chain(rtts_us).for_each(|&us| _ = run.complete(us));
        assert!(!run.learning().startup);
        let rate = run.rate_bps();
        let mut loss = Loss::new(run.now, Time::ZERO, MSS, cause);
        (loss.end, loss.next) = (run.sent, run.sent);
        run.control.on_loss(&loss);
        run.rate_bps() as f64 / rate as f64
    };
    let is = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-6, "{share}");
    is(after(&[20], LossCause::Detected), 0.875);
    is(after(&[500], LossCause::Detected), 0.875); // one sample may be an outlier
    is(after(&[500, 500], LossCause::Detected), 0.5);
    is(after(&[20], LossCause::Timeout), 0.5);
}

#[test]
fn gauges_tell_what_was_learned() {
    let mut run = Run::new();
    (0..50).for_each(|_| _ = run.complete(20));
    let mut names = std::vec::Vec::new();
    run.control.gauges(&mut |name, value| {
        assert!(value.is_finite());
        names.push((name, value));
    });
    let of = |name| names.iter().find(|gauge| gauge.0 == name).unwrap().1;
    assert!((of("least_rtt_us") - 20.0).abs() < 1e-9);
    assert!(of("t_low_us") > 27.0 && of("path_gbps") > 0.9 && of("segment_kb") > 1.4);
}

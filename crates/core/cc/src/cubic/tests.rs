use super::*;
use crate::{Bytes, CongestionControl, Rate, Spurious};

const MSS: u64 = 1_000;

/// A window of `segments`, in slow start.
fn control(params: Cubic, segments: u64) -> CubicControl {
    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
    params.start(&flow)
}

fn preset(name: &str) -> Cubic {
    let mut cubic = Cubic::default();
    let preset = Cubic::PRESETS.iter().find(|preset| preset.name == name).unwrap();
    preset.values.iter().for_each(|&(param, value)| cubic.set(param, value).unwrap());
    cubic
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn ack(now: Time, bytes: u64, rtt: Span) -> Ack<'static> {
    let mut ack = Ack::new(now, now, Bytes::new(bytes)).with_rtt(rtt);
    (ack.srtt, ack.min_rtt, ack.cwnd_limited) = (rtt, rtt, true);
    ack
}

/// A loss of data that was sent after all earlier reactions.
fn lose(control: &mut CubicControl, now: Time, cause: LossCause) {
    let mut loss = Loss::new(now, now, Bytes::new(MSS), cause);
    // Time orders transmissions too.
    (loss.end, loss.next) = (Bytes::new(now.as_ps() + 1), Bytes::new(now.as_ps() + 1));
    control.on_loss(&loss);
}

fn gauge(control: &CubicControl, name: &str) -> f64 {
    let mut found = f64::NAN;
    control.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

fn segments(control: &CubicControl) -> f64 {
    control.limits().cwnd.get() as f64 / MSS as f64
}

fn near(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "{got}, not {expected}");
}

/// Acknowledges windows from `from` to `to`, fifty ACKs per round trip.
fn run(control: &mut CubicControl, from: Time, to: Time, rtt: Span) {
    let mut now = from;
    while now < to {
        control.on_ack(&ack(now, control.limits().cwnd.get() / 50, rtt));
        now += rtt / 50;
    }
}

#[test]
fn the_window_follows_the_curve() {
    // Lost at 1,000 segments: K = cbrt(1000 (1 - 0.7) / 0.4) = cbrt(750) = 9.0856 s, and
    // W(t) = 0.4 (t - K)^3 + 1000. At 100 ms Reno's estimate stays far below.
    let (mut control, rtt) = (control(Cubic::default(), 1_000), Span::from_ms(100));
    lose(&mut control, at(0), LossCause::Detected);
    near(segments(&control), 700.0, 0.001);
    let mut now = at(0);
    // By hand: 0.4 (2 - 9.0856)^3 = -142.3, (5 - K): -27.3, (K - K): 0, (12 - K): 9.9, (15 - K):
    // 82.8.
    let curve = [(2.0, 857.7), (5.0, 972.7), (9.0856, 1_000.0), (12.0, 1_009.9), (15.0, 1_082.8)];
    for (seconds, expected) in curve {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let then = at((seconds * 1e6) as u64);
        run(&mut control, now, then, rtt);
        now = then;
        near(segments(&control), expected, 0.5);
    }
    near(control.law.curve.epoch.unwrap().k, 9.0856, 1e-4);
}

#[test]
fn growth_is_at_most_half_the_window_per_round_trip() {
    // A minute after the plateau the curve asks for 0.4 * 60^3 = 86,400 segments.
    let (mut control, rtt) = (control(Cubic::default(), 100), Span::from_ms(1));
    lose(&mut control, at(0), LossCause::Detected);
    control.on_ack(&ack(at(1), 1, rtt));
    let before = control.limits().cwnd.get();
    control.on_ack(&ack(at(64_000_000), before, rtt));
    near(segments(&control), 1.5 * before as f64 / MSS as f64, 0.01);
}

#[test]
fn at_small_round_trips_the_window_is_renos() {
    // In 100 us the curve does not move. alpha = 3 (1 - 0.7) / (1 + 0.7) = 9/17 per round trip up
    // to the 100 segments that were lost at, which takes 30 / (9/17) = 56.67 of them; then one.
    let (mut control, rtt) = (control(Cubic::default(), 100), Span::from_us(100));
    lose(&mut control, at(0), LossCause::Detected);
    for round in 1..=100 {
        control.on_ack(&ack(at(round * 100), control.limits().cwnd.get(), rtt));
        match round {
            10 => near(segments(&control), 70.0 + 10.0 * 9.0 / 17.0, 0.01),
            50 => near(segments(&control), 70.0 + 50.0 * 9.0 / 17.0, 0.01),
            // The round in which the step changes is counted with the first step.
            100 => near(segments(&control), 70.0 + 57.0 * 9.0 / 17.0 + 43.0, 0.01),
            _ => {}
        }
    }
}

#[test]
fn without_reno_the_window_waits_for_the_curve() {
    let params = Cubic { reno_friendly: Switch::Off, ..Cubic::default() };
    let (mut control, rtt) = (control(params, 100), Span::from_us(100));
    lose(&mut control, at(0), LossCause::Detected);
    for round in 1..=100 {
        control.on_ack(&ack(at(round * 100), control.limits().cwnd.get(), rtt));
    }
    // W(10 ms) = 0.4 (0.01 - cbrt(75))^3 + 100.
    near(segments(&control), 0.4 * (0.01_f64 - libm::cbrt(75.0)).powi(3) + 100.0, 0.01);
}

#[test]
fn fast_convergence_aims_below_a_loss_below_the_maximum() {
    let off = Cubic { fast_convergence: Switch::Off, ..Cubic::default() };
    // The second loss is at 700 segments: W_max = 700 (1 + 0.7) / 2 = 595, or 700 without.
    for (params, expected_kb) in [(Cubic::default(), 595.0), (off, 700.0)] {
        let mut control = control(params, 1_000);
        lose(&mut control, at(0), LossCause::Detected);
        near(gauge(&control, "w_max_kb"), 1_000.0, 0.0);
        lose(&mut control, at(1), LossCause::Detected);
        near(gauge(&control, "w_max_kb"), expected_kb, 0.001);
        near(segments(&control), 490.0, 0.001);
    }
}

#[test]
fn a_loss_above_the_maximum_is_the_new_maximum() {
    let mut control = control(Cubic::default(), 1_000);
    lose(&mut control, at(0), LossCause::Detected);
    run(&mut control, at(1), at(15_000_000), Span::from_ms(100));
    let cwnd = segments(&control);
    assert!(cwnd > 1_050.0);
    lose(&mut control, at(15_000_001), LossCause::Detected);
    near(gauge(&control, "w_max_kb"), cwnd, 0.0);
}

#[test]
fn after_a_timeout_the_curve_starts_on_its_plateau() {
    let (mut control, rtt) = (control(Cubic::default(), 1_000), Span::from_ms(100));
    lose(&mut control, at(0), LossCause::Timeout);
    assert_eq!(control.limits().cwnd, Bytes::new(MSS));
    // Slow start up to 0.7 of the window, then K = 0 and W(t) = 0.4 t^3 + 700.
    control.on_ack(&ack(at(1), 699 * MSS, rtt));
    near(segments(&control), 700.0, 0.001);
    run(&mut control, at(2), at(6_000_002), rtt);
    near(segments(&control), 0.4 * 6.0_f64.powi(3) + 700.0, 0.5);
}

#[test]
fn without_a_maximum_linux_grows_by_a_twentieth() {
    // HyStart off, so that slow start ends where it is told to.
    let params = Cubic { hystart: Detect::Off, ..preset("linux") };
    let (mut control, rtt) = (control(params, 100), Span::from_us(100));
    control.window.set_ssthresh(100 * MSS);
    control.on_ack(&ack(at(1), 100 * MSS, rtt));
    near(segments(&control), 105.0, 0.001);
}

#[test]
fn time_without_a_full_window_does_not_count() {
    let rtt = Span::from_ms(100);
    let mut busy = control(Cubic::default(), 1_000);
    lose(&mut busy, at(0), LossCause::Detected);
    run(&mut busy, at(0), at(2_000_000), rtt);
    let (mut limited, mut idle) = (busy, busy);
    // Three seconds of ACKs while the application holds back, or of nothing at all.
    for i in 0..=30 {
        let now = at(2_000_000 + i * 100_000);
        limited.on_ack(&Ack { cwnd_limited: false, ..ack(now, MSS, rtt) });
    }
    idle.on_restart(at(5_000_000), Span::from_ms(3_000));
    run(&mut busy, at(2_000_000), at(4_000_000), rtt);
    run(&mut limited, at(5_000_000), at(7_000_000), rtt);
    run(&mut idle, at(5_000_000), at(7_000_000), rtt);
    near(segments(&limited), segments(&busy), 0.2);
    near(segments(&idle), segments(&busy), 0.2);
}

#[test]
fn a_false_loss_gives_the_curve_back() {
    let (mut control, rtt) = (control(Cubic::default(), 1_000), Span::from_ms(100));
    lose(&mut control, at(0), LossCause::Detected);
    run(&mut control, at(1), at(5_000_000), rtt);
    let before = control;
    lose(&mut control, at(5_000_001), LossCause::Timeout);
    control.on_spurious_loss(&Spurious::new(at(5_100_000), Bytes::new(MSS)));
    assert_eq!((control.law.curve, control.limits()), (before.law.curve, before.limits()));
}

#[test]
fn a_false_loss_before_a_mark_gives_nothing_back() {
    let mut control = control(Cubic::default(), 1_000);
    lose(&mut control, at(0), LossCause::Detected);
    let mut mark = ack(at(1_000), MSS, Span::from_us(100));
    (mark.ce_bytes, mark.end) = (mark.bytes, Bytes::new(mark.now.as_ps()));
    mark.next = mark.end;
    control.on_ack(&mark);
    let before = control;
    control.on_spurious_loss(&Spurious::new(at(2_000), Bytes::new(MSS)));
    assert_eq!(control, before, "neither window nor curve");
}

#[test]
fn abe_leaves_more_after_a_mark_in_congestion_avoidance() {
    let mut control = control(preset("abe"), 1_000);
    let mark = |end, next| {
        let mut ack = ack(at(end), MSS, Span::from_ms(1));
        (ack.ce_bytes, ack.end, ack.next) = (ack.bytes, Bytes::new(end), Bytes::new(next));
        ack
    };
    control.on_ack(&mark(1, 10));
    near(segments(&control), 700.0, 0.001);
    control.on_ack(&mark(9, 12));
    near(segments(&control), 700.0, 0.001);
    control.on_ack(&mark(11, 20));
    near(segments(&control), 595.0, 0.002);
}

#[test]
fn a_new_segment_size_keeps_the_curve_in_bytes() {
    let (mut control, rtt) = (control(Cubic::default(), 1_000), Span::from_ms(100));
    lose(&mut control, at(0), LossCause::Detected);
    run(&mut control, at(1), at(2_000_000), rtt);
    let cwnd = control.limits().cwnd;
    control.on_mss_change(Bytes::new(500));
    assert_eq!(control.limits().cwnd, cwnd);
    near(gauge(&control, "w_max_kb"), 1_000.0, 1e-9);
    near(control.law.curve.epoch.unwrap().origin, 2_000.0, 1e-9);
}

/// The ACK in slow start, counted from one, at which the threshold is set; `gap` is between two
/// ACKs.
fn exit(params: Cubic, min_rtt: Span, rtt: Span, gap: Span) -> Option<u64> {
    let mut control = control(params, 100);
    let mut now = at(10);
    (1..=100).find(|_| {
        control.on_ack(&Ack { min_rtt, ..ack(now, MSS, rtt) });
        now += gap;
        !control.window.in_slow_start()
    })
}

#[test]
fn hystart_ends_slow_start_at_a_train_of_half_the_round_trip() {
    let (rtt, gap) = (Span::from_us(100), Span::from_us(2));
    // ACK n comes 2 (n - 1) us after the first of the round: above 50 us from the 27th on.
    assert_eq!(exit(preset("linux"), rtt, rtt, gap), Some(27));
    // The whole of it in ns-3: above 100 us from the 52nd on.
    assert_eq!(exit(preset("ns-3"), rtt, rtt, gap), Some(52));
    assert_eq!(exit(Cubic::default(), rtt, rtt, gap), None, "RFC 9438 as it stands");
    let delay = Cubic { hystart: Detect::Delay, ..Cubic::default() };
    assert_eq!(exit(delay, rtt, rtt, gap), None, "the train is not looked at");
    assert_eq!(exit(preset("linux"), rtt, rtt, Span::from_ms(3)), None, "no train");
}

#[test]
fn hystart_ends_slow_start_when_eight_samples_show_a_longer_round_trip() {
    let gap = Span::from_ms(3);
    let exit = |preset_name, min_ms, ms| {
        exit(preset(preset_name), Span::from_ms(min_ms), Span::from_ms(ms), gap)
    };
    // Linux: above 40 ms by more than 40/8 = 5 ms. ns-3: by more than 40 ms.
    assert_eq!(exit("linux", 40, 46), Some(9));
    assert_eq!(exit("linux", 40, 45), None);
    assert_eq!(exit("ns-3", 40, 80), None);
    assert_eq!(exit("ns-3", 40, 81), Some(9));
    // At least 4 ms, at most 16 ms in Linux: 1/8 of 8 and of 200 ms would be 1 and 25 ms.
    assert_eq!((exit("linux", 8, 12), exit("linux", 8, 13)), (None, Some(9)));
    assert_eq!((exit("linux", 200, 216), exit("linux", 200, 217)), (None, Some(9)));
}

#[test]
fn hystart_does_not_look_below_its_low_window() {
    let params = Cubic { hystart_low_window: 151, ..preset("linux") };
    let (rtt, gap) = (Span::from_us(100), Span::from_us(2));
    // 100 segments, one more with each ACK: 151 when the 52nd arrives.
    assert_eq!(exit(params, rtt, rtt, gap), Some(52));
}

#[test]
fn the_average_window_is_that_of_the_response_function() {
    // RFC 9438, section 5.1: (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4), with one
    // segment in 10,000 lost and 100 ms: 1.0538 * 177.83 = 187.4 segments. The formula has neither
    // Reno's estimate nor fast convergence in it.
    let params =
        Cubic { reno_friendly: Switch::Off, fast_convergence: Switch::Off, ..Cubic::default() };
    let (mut control, rtt) = (control(params, 200), Span::from_ms(100));
    let (mut now, mut start) = (at(0), at(0));
    for cycle in 0..60 {
        if cycle == 20 {
            start = now;
        }
        lose(&mut control, now, LossCause::Detected);
        for _ in 0..10_000 {
            now += rtt * MSS / control.limits().cwnd.get();
            control.on_ack(&ack(now, MSS, rtt));
        }
    }
    let round_trips = now.since(start).as_secs_f64() / rtt.as_secs_f64();
    near(400_000.0 / round_trips, 187.4, 0.02 * 187.4);
}

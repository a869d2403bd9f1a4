//! Vectors computed by hand for flows as Linux TCP has them.

use crate::contract::{Ack, Algorithm, CongestionControl, Delivery, Flow, LossCause, Pacing};
use crate::param::Configurable;
use crate::timely::{AppLimited, Completions, Constants, Timely, TimelyControl};
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{Loss, Spurious};

const MSS: u64 = 1_000;
const DELTA: u64 = 10_000_000;

/// The preset `linux-tcp`, at its first rate and without doubling.
fn steady() -> Timely {
    let mut params = preset();
    params.set("startup", "off").unwrap();
    params
}

fn preset() -> Timely {
    let mut params = Timely::default();
    let preset = Timely::PRESETS.iter().find(|preset| preset.name == "linux-tcp").unwrap();
    for &(name, value) in preset.values {
        params.set(name, value).unwrap();
    }
    params
}

/// A flow on a NIC of 10 Gb/s whose RTT nobody knows: 10 segments of 1,000 B per millisecond are
/// 80 Mb/s.
struct Run {
    control: TimelyControl,
    now_us: u64,
    sent: u64,
}

const START: u64 = 80_000_000;

impl Run {
    fn of(params: &Timely) -> Self {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(10 * MSS));
        Self { control: params.start(&flow), now_us: 0, sent: 0 }
    }

    /// An ACK of one segment, `gap_us` after the last, of data that was sent just before it.
    fn ack(&mut self, gap_us: u64, rtt_us: u64) -> u64 {
        self.acked(gap_us, rtt_us, |_| {})
    }

    fn acked(&mut self, gap_us: u64, rtt_us: u64, change: impl FnOnce(&mut Ack<'_>)) -> u64 {
        self.now_us += gap_us;
        self.sent += 1;
        let now = Time::ZERO + Span::from_us(self.now_us);
        // A segment takes 800 ns in the NIC.
        let rtt = Span::from_ns(rtt_us * 1_000 + 800);
        let mut ack = Ack::new(now, Time::ZERO, Bytes::new(MSS)).with_rtt(rtt);
        (ack.end, ack.next) = (Bytes::new(self.sent), Bytes::new(self.sent));
        change(&mut ack);
        self.control.on_ack(&ack);
        self.rate()
    }

    fn rate(&self) -> u64 {
        let Pacing::Rate(rate) = self.control.limits().pacing else { panic!("not paced") };
        rate.as_bps()
    }

    fn loss(&mut self) {
        self.sent += 1;
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(self.sent), Bytes::new(self.sent));
        self.control.on_loss(&loss);
    }
}

#[test]
fn a_flow_begins_with_its_initial_window_once_per_rtt() {
    assert_eq!(Run::of(&steady()).rate(), START);
    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
    flow.initial_window = Bytes::new(10 * MSS);
    for (rtt, bps) in [
        (Span::from_us(100), 800_000_000),
        (Span::from_us(1), 10_000_000_000), // line rate
        (Span::from_secs(1), 10_000_000),   // `min_rate`
    ] {
        flow.base_rtt = Some(rtt);
        let Pacing::Rate(rate) = steady().start(&flow).limits().pacing else { panic!() };
        assert_eq!(rate.as_bps(), bps, "{rtt}");
    }
}

#[test]
fn a_completion_takes_time_acks_and_a_round() {
    // Enough ACKs of a new round, and too little time; then time enough.
    let mut run = Run::of(&steady());
    for _ in 0..4 {
        assert_eq!(run.ack(100, 50), START);
    }
    assert_eq!(run.ack(100, 50), START + DELTA);
    // Time enough, and too few ACKs.
    for _ in 0..3 {
        assert_eq!(run.ack(300, 50), START + DELTA);
    }
    // The fourth comes 1.2 ms after the last completion: two steps of `min_rtt`.
    assert_eq!(run.ack(300, 50), START + 3 * DELTA);
    // Time and ACKs enough, of data that was sent before the last completion.
    for _ in 0..20 {
        assert_eq!(run.acked(100, 50, |ack| ack.end = Bytes::ZERO), START + 3 * DELTA);
    }
    assert_eq!(run.ack(0, 50), START + 7 * DELTA);
}

#[test]
fn the_least_sample_is_the_completions() {
    let mut run = Run::of(&steady());
    for rtt_us in [5_000, 5_000, 5_000, 99] {
        run.ack(100, rtt_us);
    }
    assert_eq!(run.ack(100, 5_000), START + DELTA, "99 us are below T_low");
    for rtt_us in [5_000, 2_000, 5_000, 5_000] {
        run.ack(100, rtt_us);
    }
    // 2 ms are above T_high: 0.8 (1 - 1/2) is more than `max_decrease` of 1/5.
    let cut = ((START + DELTA) * 209_715) >> 20;
    assert_eq!(run.ack(100, 5_000), START + DELTA - cut);
}

#[test]
fn a_late_completion_adds_a_step_for_each_min_rtt_up_to_catch_up() {
    for (gap_us, steps) in [(125, 1), (249, 1), (250, 2), (1_000, 8), (2_000, 16), (50_000, 16)] {
        let mut run = Run::of(&steady());
        (0..3).for_each(|_| {
            run.ack(gap_us, 50);
        });
        assert_eq!(run.ack(gap_us, 50), START + steps * DELTA, "{gap_us} us");
    }
    let mut plain = Run::of(&Timely { catch_up: 1, ..steady() });
    (0..3).for_each(|_| {
        plain.ack(1_000, 50);
    });
    assert_eq!(plain.ack(1_000, 50), START + DELTA);
}

#[test]
fn an_ack_of_a_burst_leaves_out_the_time_of_all_of_it() {
    let of = |params: &Timely, segments| {
        let k = Constants::new(params, Rate::from_gbps(10));
        Completions::network_rtt_ns(&k, 100_000, segments, MSS)
    };
    assert_eq!(of(&steady(), 1), 99_200);
    assert_eq!(of(&steady(), 44), 100_000 - 44 * 800);
    assert_eq!(of(&steady(), 1_000), 100_000 - 64 * 800, "64 at most");
    assert_eq!(of(&Timely::default(), 44), 99_200);
    let k = Constants::new(&steady(), Rate::from_gbps(10));
    assert_eq!(Completions::network_rtt_ns(&k, 500, 44, MSS), 1, "never nothing");
    // By the contract: 140 us with 50 segments are 100 us, which is not below T_low any more.
    for (rtt_us, rate) in [(139, 2 * START), (140, START + DELTA)] {
        let mut run = Run::of(&preset());
        (0..3).for_each(|_| {
            run.ack(130, 900);
        });
        let burst = run.acked(130, rtt_us, |ack| {
            ack.bytes = Bytes::new(50 * MSS);
            ack.rtt.as_mut().unwrap().total = Span::from_us(rtt_us);
        });
        assert_eq!(burst, rate, "{rtt_us} us");
    }
}

#[test]
fn a_new_flow_doubles_its_rate_until_t_low_or_a_loss() {
    let mut run = Run::of(&preset());
    let completion = |run: &mut Run, rtt_us| {
        (0..3).for_each(|_| {
            run.ack(130, rtt_us);
        });
        run.ack(130, rtt_us)
    };
    assert_eq!(completion(&mut run, 50), 2 * START);
    assert_eq!(completion(&mut run, 50), 4 * START);
    let rate = completion(&mut run, 100);
    assert!(rate < 4 * START, "{rate}: the RTT rose to T_low, and the law decides");
    assert_eq!(completion(&mut run, 50), rate + DELTA, "for good");

    let mut run = Run::of(&preset());
    run.loss();
    assert_eq!(run.rate(), START / 2);
    assert_eq!(completion(&mut run, 50), START / 2 + DELTA);
    run.control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(1)));
    assert_eq!(run.rate(), START, "packets had come out of order");

    let mut run = Run::of(&preset());
    let rates = [(); 8].map(|()| completion(&mut run, 50));
    assert_eq!(rates[5..], [64 * START, 10_000_000_000, 10_000_000_000]);
}

#[test]
fn a_rate_that_the_application_did_not_use_does_not_rise() {
    let limited = |ack: &mut Ack<'_>| {
        ack.delivery = Some(Delivery {
            rate: Rate::from_mbps(1),
            in_flight_at_send: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: true,
        });
    };
    let after = |params: &Timely, rtt_us: [u64; 2], last_limited: bool| {
        let mut run = Run::of(params);
        for rtt_us in rtt_us {
            (0..3).for_each(|_| {
                run.acked(130, rtt_us, limited);
            });
            run.acked(130, rtt_us, |ack| {
                if last_limited {
                    limited(ack);
                }
            });
        }
        run.rate()
    };
    assert_eq!(after(&preset(), [50, 50], true), START, "nor does it double");
    assert_eq!(after(&preset(), [50, 50], false), 4 * START, "one sample is of a rate in use");
    assert!(after(&preset(), [50, 5_000], true) < START, "but it falls");
    let counted = Timely { app_limited: AppLimited::Counts, ..steady() };
    assert_eq!(after(&counted, [50, 50], true), START + 2 * DELTA);
    assert!(preset().start(&Flow::new(Bytes::new(MSS), Rate::from_gbps(10))).reads().delivery);
}

#[test]
fn what_is_in_flight_is_bounded_by_the_data_of_some_time() {
    let at = |rate: Rate, params: &Timely| {
        let k = Constants::new(params, Rate::from_gbps(10));
        Completions::window_segments(&k, rate.as_bps(), MSS)
    };
    // 500 us of 1 Gb/s are 62,500 B, and one segment more.
    assert_eq!(at(Rate::from_gbps(1), &steady()), 63);
    assert_eq!(at(Rate::from_mbps(80), &steady()), 6);
    assert_eq!(at(Rate::from_mbps(79), &steady()), 6, "`window_floor`");
    assert_eq!(at(Rate::from_mbps(1), &Timely { window_floor: 2, ..steady() }), 2);

    let mut run = Run::of(&steady());
    assert_eq!(run.control.limits().cwnd, Bytes::new(6 * MSS));
    let repaired = |run: &mut Run, in_flight| {
        run.acked(1, 50, |ack| {
            ack.in_recovery = true;
            ack.in_flight = Bytes::new(in_flight);
        });
        run.control.limits().cwnd
    };
    assert_eq!(repaired(&mut run, 3 * MSS), Bytes::new(4 * MSS), "no more than leaves");
    assert_eq!(repaired(&mut run, 30 * MSS), Bytes::new(6 * MSS));
    run.ack(1, 50);
    assert_eq!(run.control.limits().cwnd, Bytes::new(6 * MSS));
    run.control.on_mss_change(Bytes::new(500));
    assert_eq!(run.control.limits().cwnd, Bytes::new(11 * 500), "5,000 B, and one segment more");

    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
    (flow.mss, flow.max_window) = (Bytes::new(MSS), Bytes::new(2_500));
    assert_eq!(steady().start(&flow).limits().cwnd, Bytes::new(2_500), "the peer's limit");
    assert_eq!(Timely::default().start(&flow).limits().cwnd, Bytes::MAX);
}

#[test]
fn a_bound_beside_a_window_in_place_of_the_rate_is_a_conflict() {
    let both = Timely { window_rtt: Span::from_us(1), ..preset() };
    assert_eq!(both.check().unwrap_err().name, "window");
    assert_eq!(Timely { window: Span::ZERO, ..both }.check(), Ok(()));
}

#[test]
fn the_first_half_of_the_state_and_the_second_fit_a_linux_socket() {
    let both = size_of::<Completions>() + size_of::<super::State>();
    // Beside them the program keeps 24 bytes of its own.
    assert!(both <= 80, "{both} bytes");
    assert_eq!(preset().loss_decrease, Fraction::from_ratio(1, 2));
}

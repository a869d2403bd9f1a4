//! Vectors by hand from the paper's equations (6) to (10), and their fixed points.

use super::*;
use crate::{CongestionControl, Loss, LossCause, Spurious};

const MSS: u64 = 1_000;

fn flow() -> Flow {
    let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(8));
    (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(10 * MSS));
    flow.max_window = Bytes::new(1_000 * MSS);
    flow
}

/// The window bounded by the peer alone, so that steps show as they are.
fn unbounded() -> Rtcp {
    Rtcp { ceiling: Ceiling::Peer, ..Rtcp::default() }
}

struct Run {
    control: RtcpControl,
    now: Time,
    round: u64,
}

impl Run {
    fn of(params: Rtcp) -> Self {
        Self { control: params.start(&flow()), now: Time::ZERO, round: 0 }
    }

    /// Acknowledges a segment, a round later, that met `delay` and left `queued` behind.
    fn ack(&mut self, delay: Span, queued: u64) -> u64 {
        self.round += 1;
        self.ack_in_round(delay, queued)
    }

    fn ack_in_round(&mut self, delay: Span, queued: u64) -> u64 {
        self.now += Span::from_us(1);
        let base = Span::from_us(10);
        let mut ack = Ack::new(self.now, Time::ZERO, Bytes::new(MSS)).with_rtt(base + delay);
        (ack.min_rtt, ack.srtt, ack.round) = (base, base, self.round);
        (ack.nic_backlog, ack.cwnd_limited) = (Bytes::new(queued), true);
        self.control.on_ack(&ack);
        self.control.window.cwnd()
    }

    fn counter(&self) -> f64 {
        self.control.law.state.counter_q20 as f64 / ONE_Q20 as f64
    }

    fn gamma(&self) -> f64 {
        self.control.law.state.gamma_q20 as f64 / ONE_Q20 as f64
    }

    /// Puts the counter where a test wants it.
    fn at_counter(mut self, counter: u64) -> Self {
        self.control.law.state.counter_q20 = counter * ONE_Q20;
        self
    }
}

fn preset(name: &str) -> Rtcp {
    let mut params = Rtcp::default();
    let preset = Rtcp::PRESETS.iter().find(|preset| preset.name == name).unwrap();
    preset.values.iter().for_each(|(param, value)| params.set(param, value).unwrap());
    params
}

#[test]
fn first_update_reaches_the_weight() {
    let mut run = Run::of(Rtcp::default());
    assert_eq!(run.control.law.state.counter_q20, 0);
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.counter_q20, 12_000 * ONE_Q20);
    // With a rate limit that means something: H = 100 - 1 after one packet.
    let mut run = Run::of(Rtcp { max_rate: 100, ..Rtcp::default() });
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.counter_q20, 99 * ONE_Q20);
}

#[test]
fn gamma_has_the_three_branches_of_equation_10() {
    let mut run = Run::of(Rtcp { max_rate: 50, ..Rtcp::default() });
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.gamma_q20, 50 * ONE_Q20, "H = 0: maxRate");
    let mut run = run.at_counter(4_000);
    run.ack(Span::ZERO, 0);
    // 12,000 / 4,000 - 1 = 2, so H rises by 2 - 1.
    assert_eq!(run.control.law.state.gamma_q20, 2 * ONE_Q20, "w / H - 1");
    assert_eq!(run.control.law.state.counter_q20, 4_001 * ONE_Q20);
    let mut run = run.at_counter(12_000);
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.gamma_q20, ONE_Q20, "H = w: half of the last one");
    let mut run = run.at_counter(15_000);
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.gamma_q20, ONE_Q20 / 2, "H > w: half again");
    assert_eq!(
        run.control.law.state.counter_q20 / (ONE_Q20 / 2),
        2 * 15_000 - 1,
        "down by 1 - 1/2"
    );
    let mut run = run.at_counter(100);
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.gamma_q20, 50 * ONE_Q20, "119 is above maxRate");
}

#[test]
fn acknowledged_packets_drive_the_counter_to_half_the_weight() {
    // H_eq = w / (1 + x), and a packet per packet is x = 1.
    let mut run = Run::of(Rtcp::default());
    (0..60_000).for_each(|_| _ = run.ack(Span::ZERO, 0));
    assert!((run.counter() / 6_000.0 - 1.0).abs() < 0.01, "{}", run.counter());
    assert!((run.gamma() - 1.0).abs() < 0.01, "{}", run.gamma());
    // From below too, and in ACKs of 40 packets.
    let mut run = Run::of(Rtcp::default()).at_counter(1_000);
    for _ in 0..1_500 {
        run.control.law.state.count(&run.control.law.constants, 40 * ONE_Q20, 40 * ONE_Q20);
    }
    assert!((run.counter() / 6_000.0 - 1.0).abs() < 0.01, "{}", run.counter());
}

#[test]
fn clocked_by_time_the_counter_depends_on_the_share_of_the_line() {
    // A packet of 1,000 B takes 1 us at 8 Gb/s, so an ACK of one packet each us is x = 1, and one
    // every 4 us is x = 1/4: H_eq = 12,000 / (1 + 1/4) = 9,600.
    for (gap_us, equilibrium) in [(1, 6_000.0), (4, 9_600.0)] {
        let params = Rtcp { counter: CounterClock::Time, ..Rtcp::default() };
        let mut run = Run::of(params).at_counter(3_000);
        for _ in 0..60_000 {
            run.now += Span::from_us(gap_us - 1);
            run.ack(Span::ZERO, 0);
        }
        assert!((run.counter() / equilibrium - 1.0).abs() < 0.01, "{}", run.counter());
    }
}

#[test]
fn window_doubles_at_the_price_and_halves_below_it() {
    // Without smoothing a delay of 2.4 us is 0.0024 ms: price 500 (10^4 * 0.0024) = 12,000 = w, up
    // to the cut of D to 2^-20 ms.
    let params = Rtcp { g: Fraction::ZERO, ..unbounded() };
    assert_eq!(Run::of(params).ack(Span::from_ns(2_399), 0), 20 * MSS);
    assert_eq!(Run::of(params).ack(Span::from_ns(2_401), 0), 5 * MSS);
    // The sender's queue alone: 500 * 24 KB = 12,000 exactly. Equality doubles.
    assert_eq!(Run::of(params).ack(Span::ZERO, 24_000), 20 * MSS);
    assert_eq!(Run::of(params).ack(Span::ZERO, 24_001), 5 * MSS);
    // Both: 12 KB, and 1.2 us for the other half.
    assert_eq!(Run::of(params).ack(Span::from_ns(1_199), 12_000), 20 * MSS);
    assert_eq!(Run::of(params).ack(Span::from_ns(1_201), 12_000), 5 * MSS);
}

#[test]
fn units_scale_what_they_measure() {
    let params = Rtcp { g: Fraction::ZERO, ..unbounded() };
    // Packets of 1,500 B instead of KB: 24 of them cost 12,000.
    let packets = Rtcp { queue_unit: Bytes::new(1_500), ..params };
    assert_eq!(Run::of(packets).ack(Span::ZERO, 36_000), 20 * MSS);
    assert_eq!(Run::of(packets).ack(Span::ZERO, 36_001), 5 * MSS);
    // A unit of 20 ms instead of 1 ms: 20 times the delay.
    let slow = Rtcp { delay_unit: Span::from_ms(20), ..params };
    assert_eq!(Run::of(slow).ack(Span::from_ns(47_990), 0), 20 * MSS);
    assert_eq!(Run::of(slow).ack(Span::from_ns(48_020), 0), 5 * MSS);
}

#[test]
fn testbed_listens_to_the_rtt_change_alone() {
    // alpha 500, delta 125: w / (alpha delta) = 0.192 ms.
    let params =
        Rtcp { g: Fraction::ZERO, ceiling: Ceiling::Peer, ..preset("testbed-websearch-1to1") };
    assert_eq!(Run::of(params).ack(Span::from_us(191), 1_000_000), 20 * MSS);
    assert_eq!(Run::of(params).ack(Span::from_us(193), 0), 5 * MSS);
    // All of the RTT counts, the base of 10 us included.
    let total = Rtcp { delay: DelaySignal::TotalRtt, ..params };
    assert_eq!(Run::of(total).ack(Span::from_us(181), 0), 20 * MSS);
    assert_eq!(Run::of(total).ack(Span::from_us(183), 0), 5 * MSS);
}

#[test]
fn smoothing_weighs_past_and_present_by_g() {
    // S = S/2 + N/2 from zero: 0.5, 0.75 and, after a sample of zero, 0.375 ms.
    let mut run = Run::of(Rtcp::default());
    for (delay, thousandths) in
        [(Span::from_ms(1), 500), (Span::from_ms(1), 750), (Span::ZERO, 375)]
    {
        run.ack(delay, 0);
        assert_eq!(run.control.law.state.smoothed_q20 * 1_000, thousandths * ONE_Q20);
        // The price is alpha delta S = 500 * 10^4 S.
        assert_eq!(run.control.law.state.price_q20, 5_000_000 * run.control.law.state.smoothed_q20);
    }
    // A quarter of the past: S = 3/4 N.
    let mut run = Run::of(Rtcp { g: Fraction::from_ratio(1, 4), ..Rtcp::default() });
    run.ack(Span::from_ms(1), 0);
    assert_eq!(run.control.law.state.smoothed_q20, ONE_Q20 * 3 / 4);
}

#[test]
fn the_senders_queue_is_smoothed_only_with_the_whole_backlog() {
    let mut run = Run::of(Rtcp::default());
    run.ack(Span::ZERO, 8_000);
    assert_eq!(run.control.law.state.price_q20, 500 * 8 * ONE_Q20, "8 KB at once");
    let mut run = Run::of(Rtcp { smooth: Smooth::Backlog, ..Rtcp::default() });
    run.ack(Span::ZERO, 8_000);
    assert_eq!(run.control.law.state.price_q20, 500 * 4 * ONE_Q20, "half of them");
    run.ack(Span::from_ms(1), 8_000);
    assert_eq!(run.control.law.state.price_q20, 500 * (4 + 8 + 10_000) / 2 * ONE_Q20);
}

#[test]
fn window_stays_between_the_floor_and_the_peers_limit() {
    let mut run = Run::of(unbounded());
    let down: [u64; 4] = core::array::from_fn(|_| run.ack(Span::from_ms(1), 0));
    assert_eq!(down, [5 * MSS, 2_500, 2 * MSS, 2 * MSS]);
    let mut run = Run::of(Rtcp { floor: 8, ..unbounded() });
    assert_eq!([run.ack(Span::from_ms(1), 0), run.ack(Span::from_ms(1), 0)], [8 * MSS; 2]);
    let mut run = Run::of(unbounded());
    (0..7).for_each(|_| _ = run.ack(Span::ZERO, 0));
    assert_eq!(run.ack(Span::ZERO, 0), 1_000 * MSS);
}

#[test]
fn line_rate_times_the_rtt_is_the_largest_window() {
    // 8 Gb/s for the smoothed 10 us are 10 segments: what the flow starts with.
    let mut run = Run::of(Rtcp::default());
    assert_eq!(run.ack(Span::ZERO, 0), 10 * MSS);
    run.ack(Span::from_ms(1), 0);
    assert_eq!(run.control.window.cwnd(), 5 * MSS);
    // 1 ms in S fades by half with each ACK, and is cheap again after a dozen.
    (0..12).for_each(|_| _ = run.ack(Span::ZERO, 0));
    assert_eq!(run.control.window.cwnd(), 10 * MSS);
}

#[test]
fn urgent_messages_have_the_larger_weight() {
    // 30 KB at the sender: 500 * 30 = 15,000 lies between the weights.
    let window_after = |size: Option<u64>| {
        let mut run = Run::of(unbounded());
        run.control.on_demand(&Demand::new(Time::ZERO, size.map(Bytes::new)));
        let cwnd = run.ack(Span::ZERO, 30_000);
        (run.control.law.state.counter_q20 / ONE_Q20, cwnd)
    };
    assert_eq!(window_after(Some(29_999)), (24_000, 20 * MSS));
    assert_eq!(window_after(Some(30_000)), (12_000, 5 * MSS));
    assert_eq!(window_after(None), (12_000, 5 * MSS), "not known to be urgent");
    let mut run = Run::of(unbounded());
    run.control.on_demand(&Demand { weight: 3, ..Demand::new(Time::ZERO, None) });
    run.ack(Span::ZERO, 0);
    assert_eq!(run.control.law.state.counter_q20, 36_000 * ONE_Q20);
}

#[test]
fn counter_stays_with_the_flow_when_the_next_message_is_less_urgent() {
    let mut run = Run::of(Rtcp::default());
    run.control.on_demand(&Demand::new(Time::ZERO, Some(Bytes::from_kb(1))));
    run.ack(Span::ZERO, 0);
    run.control.on_demand(&Demand::new(Time::ZERO, Some(Bytes::from_kb(100))));
    assert_eq!(run.control.law.state.counter_q20, 24_000 * ONE_Q20);
    // Above the new weight it comes down, by a packet per packet once gamma has faded.
    (0..1_000).for_each(|_| _ = run.ack(Span::ZERO, 0));
    assert!((23_000.0..23_025.0).contains(&run.counter()), "{}", run.counter());
}

#[test]
fn a_step_per_ack_or_per_round() {
    let clear = |run: &mut Run| (0..3).map(|_| run.ack_in_round(Span::ZERO, 0)).max().unwrap();
    let mut run = Run::of(unbounded());
    run.round = 1;
    assert_eq!(clear(&mut run), 80 * MSS);
    let mut run = Run::of(Rtcp { step: Step::Rtt, ..unbounded() });
    run.round = 1;
    assert_eq!(clear(&mut run), 20 * MSS);
    run.round = 2;
    assert_eq!(clear(&mut run), 40 * MSS);
    // gamma: maxRate on the first ACK, halved by each of the five others.
    assert_eq!(
        run.control.law.state.gamma_q20,
        1_000_000 * ONE_Q20 / 32,
        "all six ACKs are counted"
    );
}

#[test]
fn losses_and_marks_halve_as_in_new_reno() {
    let mut run = Run::of(unbounded());
    run.ack(Span::ZERO, 0);
    let mut loss = Loss::new(run.now, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
    (loss.end, loss.next) = (Bytes::new(2_000), Bytes::new(40_000));
    run.control.on_loss(&loss);
    assert_eq!(run.control.window.cwnd(), 10 * MSS);
    // Nothing moves the window while the loss is repaired.
    let mut ack = Ack::new(run.now, Time::ZERO, Bytes::new(MSS)).with_rtt(Span::from_us(10));
    (ack.cwnd_limited, ack.in_recovery, ack.min_rtt) = (true, true, Span::from_us(10));
    run.control.on_ack(&ack);
    ack.nic_backlog = Bytes::from_kb(100);
    run.control.on_ack(&ack);
    ack.nic_backlog = Bytes::ZERO;
    assert_eq!(run.control.window.cwnd(), 10 * MSS);
    run.control.on_spurious_loss(&Spurious::new(run.now, Bytes::new(MSS)));
    assert_eq!(run.control.window.cwnd(), 20 * MSS, "undone");
    loss.cause = LossCause::Timeout;
    run.control.on_loss(&loss);
    assert_eq!(run.control.window.cwnd(), MSS);
    // A mark of the next window halves, and its ACK does not double.
    let mut run = Run::of(unbounded());
    run.ack(Span::ZERO, 0);
    (ack.in_recovery, ack.ce_bytes) = (false, Bytes::new(MSS));
    (ack.end, ack.next) = (Bytes::new(1_000), Bytes::new(30_000));
    run.control.on_ack(&ack);
    assert_eq!(run.control.window.cwnd(), 10 * MSS);
    // Nor does the ACK of the next mark in the same window, which halves nothing.
    ack.end = Bytes::new(2_000);
    run.control.on_ack(&ack);
    assert_eq!(run.control.window.cwnd(), 10 * MSS);
}

#[test]
fn a_step_leaves_no_window_below_the_floor() {
    // A timeout leaves one segment, whatever the floor. The next step raises it, be the path dear
    // or not.
    let timeout = |run: &mut Run| {
        run.control.on_loss(&Loss::new(run.now, Time::ZERO, Bytes::new(MSS), LossCause::Timeout));
        run.control.window.cwnd()
    };
    for floor in [2, 4, 8, 1_000] {
        for delay in [Span::from_ms(40), Span::ZERO] {
            let mut run = Run::of(Rtcp { floor, ..unbounded() });
            run.ack(delay, 0);
            assert_eq!(timeout(&mut run), MSS);
            assert_eq!(run.ack(delay, 0), u64::from(floor) * MSS, "{floor} segments, {delay}");
        }
    }
    // Between one segment and the floor, too: what half of a small window leaves at a loss.
    let mut run = Run::of(Rtcp { floor: 8, ..unbounded() });
    let mut loss = Loss::new(run.now, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
    (loss.end, loss.next) = (Bytes::new(MSS), Bytes::new(10 * MSS));
    run.control.on_loss(&loss);
    assert_eq!(run.control.window.cwnd(), 5 * MSS);
    assert_eq!(run.ack(Span::from_ms(40), 0), 8 * MSS);
    // While the loss is repaired the window is TCP's.
    let mut run = Run::of(Rtcp { floor: 8, ..unbounded() });
    run.control.on_loss(&loss);
    let mut ack = Ack::new(run.now, Time::ZERO, Bytes::new(MSS)).with_rtt(Span::from_ms(40));
    (ack.min_rtt, ack.cwnd_limited, ack.in_recovery) = (Span::from_us(10), true, true);
    run.control.on_ack(&ack);
    assert_eq!(run.control.window.cwnd(), 5 * MSS);
}

#[test]
fn no_floor_is_below_what_a_receiver_acknowledges_at_once() {
    let mut params = Rtcp::default();
    assert_eq!(params.set("floor", "2"), Ok(()));
    assert!(params.set("floor", "1").is_err());
    assert_eq!(params.floor, 2);
}

#[test]
fn samples_of_a_delayed_ack_timer_hold_no_window_at_one_segment() {
    // A receiver that acknowledges two segments at once, and fewer after 40 ms. The path has no
    // queue.
    for preset in Rtcp::PRESETS {
        let mut run = Run::of(self::preset(preset.name));
        let loss = Loss::new(run.now, Time::ZERO, Bytes::new(MSS), LossCause::Timeout);
        run.control.on_loss(&loss);
        let mut cwnd = run.control.window.cwnd();
        let held = (0..100)
            .filter(|_| {
                let held = cwnd < 2 * MSS;
                cwnd = run.ack(if held { Span::from_ms(40) } else { Span::ZERO }, 0);
                held
            })
            .count();
        assert_eq!(held, 1, "{}", preset.name);
    }
}

#[test]
fn a_window_that_is_not_used_does_not_double() {
    let mut run = Run::of(unbounded());
    let mut ack = Ack::new(run.now, Time::ZERO, Bytes::new(MSS)).with_rtt(Span::from_us(10));
    ack.min_rtt = Span::from_us(10);
    run.control.on_ack(&ack);
    assert_eq!(run.control.window.cwnd(), 10 * MSS);
    ack.nic_backlog = Bytes::from_kb(100);
    run.control.on_ack(&ack);
    assert_eq!(run.control.window.cwnd(), 5 * MSS, "but it halves");
}

#[test]
fn presets_are_the_settings_of_the_experiments() {
    // alpha, delta, whether the sender's queue counts.
    let expected = [
        ("ns3-random-sending", 500, 10_000, true),
        ("ns3-urgent-preemption", 500, 10_000, true),
        ("ns3-over-subscription", 1_000, 10_000, true),
        ("ns3-incast", 5_000, 10_000, true),
        ("ns3-table2-alpha300", 300, 10_000, true),
        ("ns3-table2-alpha600", 600, 10_000, true),
        ("ns3-table2-delta6000", 1_000, 6_000, true),
        ("ns3-table2-delta3000", 1_000, 3_000, true),
        ("testbed-websearch-1to1", 500, 125, false),
        ("testbed-websearch-1to4", 800, 125, false),
        ("testbed-datamining-1to4", 15, 125, false),
        ("testbed-incast", 1_000, 125, false),
    ];
    // And one that was tuned.
    assert_eq!(Rtcp::PRESETS.len(), expected.len() + 1);
    for (name, alpha, delta, counted) in expected {
        let sender_backlog = if counted { SenderBacklog::Counted } else { SenderBacklog::Ignored };
        assert_eq!(
            preset(name),
            Rtcp { alpha, delta, sender_backlog, ..Rtcp::default() },
            "{name}"
        );
    }
}

/// The random-operations model runs the presets; this adds the words that no preset uses.
#[test]
fn every_reading_survives_the_ends_of_every_range() {
    let mut survived = 0;
    for words in 0..64_u32 {
        let pick = |bit: u32| words >> bit & 1 == 1;
        let word = |bit, words: [&'static str; 2]| words[usize::from(pick(bit))];
        let mut params = Rtcp::default();
        for (name, word) in [
            ("sender_backlog", word(0, ["counted", "ignored"])),
            ("delay", word(1, ["rtt-change", "total-rtt"])),
            ("smooth", word(2, ["delay", "backlog"])),
            ("counter", word(3, ["ack-clocked", "time-clocked"])),
            ("step", word(4, ["per-ack", "per-rtt"])),
            ("ceiling", word(5, ["line-rate", "peer"])),
        ] {
            params.set(name, word).unwrap();
        }
        for end in 0..2 {
            for param in Rtcp::PARAMS {
                if let Some((low, high)) = param.range.split_once(" to ") {
                    params.set(param.name, [low, high][end]).unwrap();
                }
            }
            for bps in [1_000_000, 8_000_000_000_000] {
                let flow = Flow::new(Bytes::from_kb(64), Rate::from_bps(bps));
                let mut control = params.start(&flow);
                let rtts = [Span::ZERO, Span::from_us(1), Span::from_secs(1), Span::MAX];
                let sizes = [1, 64_000, u64::MAX];
                let samples = rtts.into_iter().cycle().zip(sizes.into_iter().cycle());
                for (i, (rtt, bytes)) in (0..200).zip(samples) {
                    let now = if i < 150 { Time::ZERO + Span::from_us(i * i) } else { Time::MAX };
                    let mut ack = Ack::new(now, Time::ZERO, Bytes::new(bytes)).with_rtt(rtt);
                    (ack.srtt, ack.min_rtt, ack.round) = (rtt, Span::from_us(1), i / 2);
                    (ack.nic_backlog, ack.cwnd_limited) = (Bytes::new(bytes), true);
                    control.on_ack(&ack);
                    let demand = Demand { weight: u32::MAX, ..Demand::new(now, None) };
                    control.on_demand(&demand);
                    assert!(control.limits().cwnd >= flow.mss);
                    survived += 1;
                }
            }
        }
    }
    assert_eq!(survived, 64 * 2 * 2 * 200);
}

#[test]
fn state_fits_a_linux_socket() {
    assert!(size_of::<State>() <= 104, "{} bytes", size_of::<State>());
}

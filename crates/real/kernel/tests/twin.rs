//! The twin check: recorded and random events through the Rust algorithms of `incast-cc`, the C
//! cores built for the host, and the same built for BPF. Rates and windows, and all other state,
//! are equal bit for bit.

use incast_cc::parts::Switch;
use incast_cc::registry::AnyAlgorithm;
use incast_cc::{
    Ack, Algorithm as _, Bytes, CongestionControl as _, Delivery, Flow, Fraction, Loss, LossCause,
    Pacing, Rate, Span, Time, dctcp, rtcp, timely,
};
use incast_kernel::twin::{self, Answer, EVENTS, Event, First, MSS, Setup};

/// A small generator with a published recurrence (SplitMix64): tests need no more.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number of any magnitude alike, up to 2^bits.
    fn any(&mut self, bits: u32) -> u64 {
        let shift = 64 - 1 - u32::try_from(self.below(u64::from(bits))).unwrap();
        self.next() >> shift
    }
}

/// A recorded stretch of a TIMELY connection: the queue fills, `T_high` is passed, it drains.
const RECORDED_RTTS_US: [u64; 24] = [
    23, 24, 24, 31, 45, 52, 70, 96, 131, 188, 260, 241, 203, 166, 140, 121, 110, 96, 80, 71, 60,
    48, 33, 25,
];

/// TIMELY with every preset, and with other values.
fn timely_algorithms() -> Vec<timely::Timely> {
    let mut found = Vec::new();
    let mut named = AnyAlgorithm::named("timely").unwrap();
    for preset in named.presets() {
        named = AnyAlgorithm::named("timely").unwrap();
        named.apply_preset(preset.name).unwrap();
        let AnyAlgorithm::Timely(params) = named else { unreachable!() };
        // A window is refused where TCP is paced, and so is learning; the constants beside them
        // have a twin as well.
        found.push(timely::Timely { window_rtt: Span::ZERO, learning: Switch::Off, ..params });
    }
    found.push(timely::Timely { alpha: Fraction::ONE, beta: Fraction::ONE, ..found[0] });
    found.push(timely::Timely { hai_counts: timely::HaiCounts::Smoothed, ..found[0] });
    found.push(timely::Timely { t_low: Span::ZERO, t_high: Span::from_ns(1), ..found[0] });
    found.push(timely::Timely { min_rtt: Span::from_secs(1), ..found[0] });
    found.push(timely::Timely { loss_decrease: Fraction::from_ratio(1, 3), ..found[0] });
    // Of hosts: each mechanism away from what `linux-tcp` has, and at its ends.
    let hosts = linux_tcp();
    for (key, value) in [
        ("min_filter", "0ns"),
        ("min_filter", "1s"),
        ("min_filter_acks", "1"),
        ("min_filter_acks", "40"),
        ("catch_up", "1"),
        ("catch_up", "1000"),
        ("min_rtt", "1ns"),
        ("app_limited", "counts"),
        ("startup", "off"),
        ("serialization", "segment"),
        ("window", "1s"),
        ("window", "1ns"),
        ("window_floor", "1000000"),
    ] {
        let mut changed = AnyAlgorithm::Timely(hosts);
        changed.set(key, value).unwrap();
        let AnyAlgorithm::Timely(params) = changed else { unreachable!() };
        found.push(params);
    }
    found
}

/// What the program for Linux TCP runs.
fn linux_tcp() -> timely::Timely {
    let mut named = AnyAlgorithm::named("timely").unwrap();
    named.apply_preset("linux-tcp").unwrap();
    let AnyAlgorithm::Timely(params) = named else { unreachable!() };
    params
}

/// The flags of an event of TIMELY.
const LOSS: u64 = 1;
const LATER: u64 = 2;
const APP_LIMITED: u64 = 4;
const UNTIMED: u64 = 8;

/// The rate and the window of `incast-cc` after each event, after the first rate.
fn timely_in_rust(params: &timely::Timely, flow: &Flow, events: &[Event]) -> (u64, Vec<u64>) {
    let mut control = params.start(flow);
    let k = timely::Constants::new(params, flow.line_rate);
    let rate = |control: &timely::TimelyControl| match control.limits().pacing {
        Pacing::Rate(rate) => rate.as_bps(),
        other => panic!("{other:?}"),
    };
    let start = rate(&control);
    let limits = (1..).zip(events).flat_map(|(sent, &[now_ns, rtt_ns, flags, segments])| {
        let now = Time::ZERO + Span::from_ns(now_ns);
        if flags & LOSS != 0 {
            // Each loss is in a window of its own: the carrier decides what one window is.
            let mut loss = Loss::new(now, Time::ZERO, Bytes::new(1), LossCause::Detected);
            (loss.end, loss.next) = (Bytes::new(sent), Bytes::new(sent));
            control.on_loss(&loss);
        } else {
            let mut ack = Ack::new(now, Time::ZERO, Bytes::new(segments * MSS));
            ack.next = Bytes::new(sent);
            ack.end = if flags & LATER != 0 { ack.next } else { Bytes::ZERO };
            ack.delivery = Some(Delivery {
                rate: Rate::ZERO,
                in_flight_at_send: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: flags & APP_LIMITED != 0,
            });
            // A carrier takes the serialization of a segment off, the algorithm that of an ACK.
            let rtt_ns = match k.serialization {
                timely::Serialization::Segment => {
                    timely::Completions::network_rtt_ns(&k, rtt_ns, 1, MSS)
                }
                timely::Serialization::Acked => rtt_ns,
            };
            if flags & UNTIMED == 0 {
                ack = ack.with_rtt(Span::from_ns(rtt_ns));
            }
            control.on_ack(&ack);
        }
        let window = timely::Completions::window_segments(&k, rate(&control), MSS);
        if k.window_ns > 0 {
            assert_eq!(control.limits().cwnd, Bytes::new(window * MSS));
        }
        [rate(&control), window]
    });
    (start, limits.collect())
}

/// A flow that has these segments and starts with the first of the events.
fn timely_flow(line: Rate, events: &[Event]) -> Flow {
    let mut flow = Flow::new(Bytes::new(MSS), line);
    flow.mss = Bytes::new(MSS);
    flow.now = Time::ZERO + Span::from_ns(events[0][0]);
    flow
}

#[test]
fn timely_has_twins() {
    let mut random = Random(1);
    let mut runs = Vec::new();
    let mut expected = Vec::new();
    for params in timely_algorithms() {
        for line in [Rate::from_mbps(1), Rate::from_gbps(10), Rate::from_gbps(400)] {
            // `min-rtt` compares the first sample with a constant: the programs start with a
            // sample.
            let params = timely::Timely { initial_rtt: timely::InitialRtt::FirstSample, ..params };
            let mut now = random.any(50);
            let recorded = RECORDED_RTTS_US.iter().map(|us| us * 1_000);
            let mut rtts: Vec<u64> = recorded.collect();
            rtts.extend((rtts.len()..1_500).map(|at| match at % 3 {
                0 => random.any(34),
                1 => 20_000 + random.below(200_000),
                _ => random.below(2_000_000),
            }));
            let events: Vec<Event> = rtts
                .into_iter()
                .map(|rtt| {
                    now += random.any(22);
                    let mut flags = 0;
                    for (flag, one_in) in [(LOSS, 40), (LATER, 3), (APP_LIMITED, 4), (UNTIMED, 9)] {
                        flags |= if random.below(one_in) == 0 { flag } else { 0 };
                    }
                    [now, rtt, flags, random.below(80)]
                })
                .collect();
            let flow = timely_flow(line, &events);
            let (start, limits) = timely_in_rust(&params, &flow, &events);
            let k = timely::Constants::new(&params, line);
            runs.push((Setup::Timely(k, First::Bps(start), events[0][0]), events));
            expected.push(limits);
        }
    }
    compare(&runs, &expected, |answer| answer[..2].to_vec());
}

/// Flows as the program for Linux TCP has them, from the first ACK on: ACKs of bursts come every
/// some tens of microseconds over a queue that fills and drains, each the first of a round or not.
#[test]
fn timely_of_linux_tcp_has_twins_from_the_first_rate_on() {
    let mut random = Random(5);
    let mut runs = Vec::new();
    let mut expected = Vec::new();
    let params = linux_tcp();
    let mut completions = 0;
    for (line, rtt_us) in [(1, 11), (1, 900), (10, 14), (100, 400)] {
        let line = Rate::from_gbps(line);
        let (mut now, mut queue_us) = (1_000_000_000, 0);
        let events: Vec<Event> = (0..6_000)
            .map(|at| {
                now += 5_000 + random.below(80_000);
                // Up by half a microsecond per ACK, then down again.
                queue_us = if at / 1_000 % 2 == 0 { queue_us + 1 } else { queue_us.max(2) - 2 };
                let busy = if random.below(10) == 0 { random.below(300) } else { 0 };
                let rtt_ns = (rtt_us + queue_us / 2 + busy) * 1_000;
                let flags = if random.below(4) == 0 { LATER } else { 0 };
                let flags = flags | if random.below(2_000) == 0 { LOSS } else { 0 };
                [now, rtt_ns, flags, 1 + random.below(44)]
            })
            .collect();
        // Exactly T_low ends the doubling, in the run that begins with it.
        let at_t_low = (1..=20).map(|at| [1_000_000_000 - (21 - at) * 50_000, 100_000, LATER, 0]);
        let events: Vec<Event> = if rtt_us == 900 { at_t_low.collect() } else { Vec::new() }
            .into_iter()
            .chain(events)
            .collect();
        let mut flow = timely_flow(line, &events);
        flow.base_rtt = Some(Span::from_us(rtt_us));
        let window = flow.initial_window.get();
        let (start, limits) = timely_in_rust(&params, &flow, &events);
        let k = timely::Constants::new(&params, line);
        assert_eq!(start, timely::Completions::first_bps(&k, window, rtt_us * 1_000));
        let first = First::Window(window, rtt_us * 1_000);
        completions += limits.windows(4).filter(|two| two[0] != two[2]).count();
        runs.push((Setup::Timely(k, first, events[0][0]), events));
        expected.push(limits);
    }
    assert!(completions > 1_000, "{completions}");
    compare(&runs, &expected, |answer| answer[..2].to_vec());
}

/// An event of Regulated TCP: the bytes that wait at the sender, the delay if it was measured, the
/// packets acknowledged, and whether a timeout came before and a step is due.
fn regulated(queued: u64, delay_ns: Option<u64>, packets: u64, timeout: bool, due: bool) -> Event {
    let flags = u64::from(timeout) << 1 | u64::from(due);
    [queued, u64::from(delay_ns.is_some()), delay_ns.unwrap_or(0), packets << 2 | flags]
}

/// The states of `incast-cc` after each event. A segment has one byte here, so that windows in
/// segments are windows in bytes.
fn rtcp_in_rust(params: &rtcp::Rtcp, events: &[Event]) -> Vec<Vec<u64>> {
    let mut flow = Flow::new(Bytes::new(1), Rate::from_gbps(400));
    (flow.mss, flow.initial_window) = (Bytes::new(1), Bytes::new(10));
    flow.max_window = Bytes::new(1 << 40);
    let mut control = params.start(&flow);
    let mut states = Vec::new();
    for &[queued, has_delay, delay_ns, packets_and_flags] in events {
        if packets_and_flags & 2 != 0 {
            let lost = Bytes::new(1);
            control.on_loss(&Loss::new(Time::ZERO, Time::ZERO, lost, LossCause::Timeout));
        }
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(packets_and_flags >> 2));
        ack.nic_backlog = Bytes::new(queued);
        ack.cwnd_limited = true;
        ack.min_rtt = Span::ZERO;
        if has_delay != 0 {
            ack = ack.with_rtt(Span::from_ns(delay_ns));
        }
        // An ACK of nothing takes no step, nor does one while losses are repaired.
        ack.in_recovery = packets_and_flags & 1 == 0;
        control.on_ack(&ack);
        let mut gauges = Vec::new();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole numbers below 2^53 over 2^20, and back"
        )]
        control.gauges(&mut |name, value| {
            if matches!(name, "counter" | "gamma" | "price") {
                gauges.push((value * 1_048_576.0) as u64);
            }
        });
        let [counter, price, gamma] = gauges[..] else { panic!("{gauges:?}") };
        states.push(vec![control.limits().cwnd.get(), counter, gamma, price]);
    }
    states
}

#[test]
fn regulated_tcp_has_twins() {
    let mut random = Random(2);
    let mut runs = Vec::new();
    let mut expected = Vec::new();
    let names = AnyAlgorithm::named("rtcp").unwrap().presets();
    for preset in names {
        for smooth in [rtcp::Smooth::Delay, rtcp::Smooth::Backlog] {
            let mut named = AnyAlgorithm::named("rtcp").unwrap();
            named.apply_preset(preset.name).unwrap();
            let AnyAlgorithm::Rtcp(params) = named else { unreachable!() };
            let params = rtcp::Rtcp {
                smooth,
                sender_backlog: rtcp::SenderBacklog::Counted,
                ceiling: rtcp::Ceiling::Peer,
                ..params
            };
            let events: Vec<Event> = (0..1_500)
                .map(|at| {
                    // Prices above 2^53 do not pass through a gauge without loss: moderate delays.
                    let delay = if at % 2 == 0 { random.below(200_000) } else { random.any(24) };
                    let packets = 1 + random.below(64);
                    let delay = (random.below(8) != 0).then_some(delay);
                    let timeout = random.below(16) == 0;
                    let due = random.below(2) == 0;
                    regulated(random.any(16), delay, packets, timeout, due)
                })
                .collect();
            expected.push(rtcp_in_rust(&params, &events));
            let constants = rtcp::Constants::new(&params);
            runs.push((Setup::Rtcp(constants, constants.w_high_volume, 10), events));
        }
    }
    let expected: Vec<Vec<u64>> =
        expected.into_iter().map(|run| run.into_iter().flatten().collect()).collect();
    compare(&runs, &expected, |answer| answer[..4].to_vec());
}

/// A timeout leaves one segment, which the receiver's delayed-ACK timer acknowledges: its 40 ms are
/// the only sample, and each step halves. No window stays below the floor, in either twin.
#[test]
fn regulated_tcp_leaves_windows_below_the_floor_in_both_twins() {
    let mut runs = Vec::new();
    let mut expected = Vec::new();
    for floor in [2, 3, 8, 1_000] {
        let AnyAlgorithm::Rtcp(mut params) = AnyAlgorithm::named("rtcp").unwrap() else {
            unreachable!()
        };
        (params.floor, params.ceiling) = (floor, rtcp::Ceiling::Peer);
        let held = Some(40_000_000);
        let events = vec![
            regulated(0, held, 1, true, false), // an ACK while the loss is repaired takes no step
            regulated(0, held, 1, false, true),
            regulated(0, held, 1, false, true),
            regulated(0, None, 1, true, true), // a retransmission has no sample
        ];
        let windows: Vec<u64> =
            rtcp_in_rust(&params, &events).iter().map(|state| state[0]).collect();
        let floor = u64::from(floor);
        assert_eq!(windows, [1, floor, floor, floor]);
        expected.push(windows);
        let constants = rtcp::Constants::new(&params);
        runs.push((Setup::Rtcp(constants, constants.w_high_volume, 10), events));
    }
    compare(&runs, &expected, |answer| vec![answer[0]]);
}

#[test]
fn dctcp_has_twins() {
    let mut random = Random(3);
    let mut runs = Vec::new();
    let mut expected = Vec::new();
    for g in [Fraction::from_ratio(1, 16), Fraction::ONE, Fraction::from_bits(1)] {
        let k = dctcp::Constants::new(&dctcp::Dctcp { g, ..dctcp::Dctcp::default() });
        let events: Vec<Event> = (0..3_000)
            .map(|_| {
                let acked = random.any(40);
                let marked = if random.below(2) == 0 { 0 } else { random.any(40) };
                [acked, marked, u64::from(random.below(8) == 0), random.any(40)]
            })
            .collect();
        let mut estimate = dctcp::Estimate::new(&k);
        let states = events.iter().flat_map(|&[acked, marked, ends, cwnd]| {
            estimate.count(acked, marked);
            if ends != 0 {
                estimate.end_round(&k);
            }
            [estimate.reduced(cwnd), estimate.alpha_q20()]
        });
        expected.push(states.collect());
        runs.push((Setup::Dctcp(k), events));
    }
    compare(&runs, &expected, |answer| answer[..2].to_vec());
}

/// Compares Rust's numbers with the host's, and all of the host's state with BPF's where the
/// machine runs it.
fn compare(
    runs: &[(Setup, Vec<Event>)],
    expected: &[Vec<u64>],
    part: impl Fn(&Answer) -> Vec<u64>,
) {
    let host: Vec<Vec<Answer>> =
        runs.iter().map(|(setup, events)| twin::on_host(setup, events)).collect();
    for (number, (answers, expected)) in host.iter().zip(expected).enumerate() {
        let found: Vec<u64> = answers.iter().flat_map(&part).collect();
        let at = found.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(at, None, "run {number}, {:?}: Rust and C differ", runs[number].0);
        assert_eq!(found.len(), expected.len());
    }
    match incast_kernel::system::check() {
        Ok(()) => assert!(twin::in_bpf(runs).unwrap() == host, "C on the host and in BPF differ"),
        Err(error) => eprintln!("skipped: the BPF half was not run: {error}"),
    }
}

#[test]
fn no_input_divides_by_zero_or_leaves_the_bounds() {
    // Any bits in knobs and events: the host build traps on undefined behaviour of C.
    let mut random = Random(4);
    for _ in 0..300 {
        let k = timely::Constants::new(
            &timely::Timely {
                alpha: Fraction::from_bits(u32::try_from(random.any(21)).unwrap()),
                min_rtt: Span::from_ns(random.any(31)),
                t_low: Span::from_ns(random.any(31)),
                t_high: Span::from_ns(random.any(31)),
                min_filter: Span::from_ns(random.any(31)),
                min_filter_acks: u32::try_from(random.any(5)).unwrap(),
                catch_up: u32::try_from(random.any(10)).unwrap(),
                window: Span::from_ns(random.any(31)),
                ..if random.below(2) == 0 { linux_tcp() } else { timely::Timely::default() }
            },
            Rate::from_bps(random.any(39)),
        );
        let events: Vec<Event> = (0..200)
            .map(|_| [random.any(63), random.any(63), random.any(63), random.any(63)])
            .collect();
        for answer in twin::on_host(&Setup::Timely(k, First::Bps(k.min_bps), 0), &events) {
            assert!((k.min_bps..=k.line_bps).contains(&answer[0]), "{answer:?} {k:?}");
        }
    }
    // Knobs that no loader writes, but that a map of the kernel can hold.
    let zero = timely::Constants {
        alpha: Fraction::ZERO,
        min_rtt_ns: 0,
        t_low_ns: 0,
        t_high_ns: 0,
        line_bps: 0,
        min_bps: 0,
        window_floor_segments: 0,
        ..timely::Constants::new(&timely::Timely::default(), Rate::from_gbps(10))
    };
    let nothing = rtcp::Constants {
        queue_unit: 0,
        delay_unit_ns: 0,
        alpha: 0,
        delta: 0,
        max_rate_q20: 0,
        floor_segments: 0,
        ..rtcp::Constants::new(&rtcp::Rtcp::default())
    };
    let events: Vec<Event> = (0..EVENTS)
        .map(|_| [random.any(40), random.any(1), random.any(40), random.any(20)])
        .collect();
    for first in [First::Bps(0), First::Bps(1), First::Window(0, 0)] {
        let answers = twin::on_host(&Setup::Timely(zero, first, 0), &events);
        assert!(answers.len() == EVENTS && answers.iter().all(|answer| answer[1] > 0));
    }
    // A step leaves a window: with none TCP would never send again.
    let answers = twin::on_host(&Setup::Rtcp(nothing, 0, 0), &events);
    assert_eq!(answers.len(), EVENTS);
    assert!(answers[EVENTS - 1][0] > 0);
}

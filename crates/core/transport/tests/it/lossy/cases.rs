//! Cases for the lossy wire: any at all, and a plain one.

use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{Bytes, Rate, Span};
use incast_transport::stream::{self, EcnEcho};
use incast_transport::{Recovery, Transport};
use proptest::prelude::*;

use super::world::{Case, PAYLOAD, Wire};

fn algorithm() -> impl Strategy<Value = AnyAlgorithm> {
    (0..NAMES.len(), any::<prop::sample::Index>()).prop_map(|(name, preset)| {
        let mut algorithm = AnyAlgorithm::named(NAMES[name]).expect("it is registered");
        let presets = algorithm.presets();
        let preset = presets[preset.index(presets.len())].name;
        algorithm.apply_preset(preset).expect("it is a preset");
        algorithm
    })
}

fn wire(reorders: bool) -> impl Strategy<Value = Wire> {
    let lost = prop_oneof![1 => Just(0), 4 => 0_u64..=40];
    let duplicated = prop_oneof![1 => Just(0), 1 => 0_u64..=30];
    // Now and then longer than the timeout, which is then wrong.
    let jitter = prop_oneof![4 => 0_u64..100, 1 => 0_u64..2_000];
    (1_u64..100, jitter, lost, duplicated, 0_u64..=100).prop_map(
        move |(delay, jitter, lost, duplicated, marked)| Wire {
            delay: Span::from_us(delay),
            jitter: Span::from_us(jitter),
            lost,
            duplicated,
            marked,
            reorders,
        },
    )
}

fn stream() -> impl Strategy<Value = stream::Config> {
    let buffer = prop_oneof![1 => Just(PAYLOAD), 4 => PAYLOAD..300_000].prop_map(Bytes::new);
    let buffer = prop::option::weighted(0.8, buffer);
    let switches = prop::array::uniform7(any::<bool>());
    let tso = prop_oneof![Just(PAYLOAD), Just(16_000)].prop_map(Bytes::new);
    let queue = prop_oneof![Just(u64::MAX), 0..2_u64, Just(10_000)].prop_map(Bytes::new);
    let pace = prop_oneof![Just(None), Just(Some(120))];
    (switches, 1_u32..4, 1_u64..2_000, buffer.clone(), buffer, tso, queue, pace).prop_map(
        |(switches, delayed_ack, timeout, send_buffer, receive_buffer, tso, queue, pace)| {
            let [sack, tail_loss_probe, ect, exact, handshake, rate_reduction, ack_delay] =
                switches;
            stream::Config {
                mss: Bytes::new(PAYLOAD),
                sack,
                tail_loss_probe,
                rate_reduction,
                delayed_ack,
                delayed_ack_timeout: Span::from_us(timeout),
                ack_delay,
                handshake,
                initial_window: Bytes::from_kb(10),
                slow_start_limit: u32::MAX,
                send_buffer,
                receive_buffer,
                tso,
                small_queue: queue,
                pace_windows_percent: pace,
                ect,
                echo: if exact { EcnEcho::Exact } else { EcnEcho::Classic },
                record_all: false,
            }
        },
    )
}

/// Any case of a transport.
pub(crate) fn case(reorders: bool, transport: Transport) -> impl Strategy<Value = Case> {
    let packets = prop_oneof![2 => Just(1_u64), 1 => Just(128), 5 => 1_u64..=128];
    let message = prop_oneof![1 => Just(1_u64), 3 => 1_u64..5_000, 3 => 1_u64..300_000];
    let messages = || prop::collection::vec(message.clone(), 0..6);
    (
        wire(reorders),
        packets,
        0..=PAYLOAD * 9 / 10, // segments of 100 B and more: with less a case takes seconds
        prop_oneof![Just(1_000), Just(10_000), Just(100_000)].prop_map(Rate::from_mbps),
        algorithm(),
        messages(),
        messages(),
        (0_u64..300).prop_map(Span::from_us),
        any::<u64>(),
        stream(),
    )
        .prop_map(
            move |(
                wire,
                segment_packets,
                odd,
                rate,
                algorithm,
                writes,
                reads,
                every,
                seed,
                stream,
            )| {
                Case {
                    wire,
                    segment_packets,
                    odd,
                    rate,
                    algorithm,
                    writes,
                    reads,
                    every,
                    seed,
                    transport,
                    recovery: Recovery::Selective,
                    stream,
                    full_packets: false,
                }
            },
        )
}

/// A write of `bytes` at 10 Gb/s in segments of ten packets, over a wire of 10 us.
pub(crate) fn plain(bytes: u64) -> Case {
    Case {
        wire: Wire {
            delay: Span::from_us(10),
            jitter: Span::ZERO,
            lost: 0,
            duplicated: 0,
            marked: 0,
            reorders: false,
        },
        segment_packets: 10,
        odd: 0,
        rate: Rate::from_gbps(10),
        algorithm: AnyAlgorithm::named("line-rate").expect("it is registered"),
        writes: vec![bytes],
        reads: vec![],
        every: Span::ZERO,
        seed: 1,
        transport: Transport::Message,
        recovery: Recovery::Selective,
        stream: stream::Config::default(),
        full_packets: false,
    }
}

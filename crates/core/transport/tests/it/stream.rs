//! Streams, one promise at a time: two endpoints on an ideal wire, times to the picosecond.
//!
//! Unless a test says otherwise both NICs have 10 Gb/s and the wire takes 50 us. A full segment of
//! 1,460 B takes 1.2 us (40 B are headers), and an ACK 0.032 us. So a segment that an idle sender
//! sends at `t` arrives at `t + 51.2 us`, and the sender knows at `t + 101.232 us`.
//!
//! Segments are called s0, s1 and so on. A window that ACKs clock gives them to the NIC at once, so
//! that `sk` of the first flight leaves at `1.2 k us` and its ACK comes at `1.2 k + 101.232 us`.

mod acknowledgement;
mod blind;
mod loss;
mod sending;
mod timers;
mod told;

use incast_cc::{Span, Time};
use incast_transport::stream::{self, Segment};
use incast_transport::{Config, InitialTimeout, Transport};

use crate::common::net::{Fate, Net, Traced, Wire};
use crate::common::plain::Plain;

const MSS: u64 = 1_460;
/// The time of one segment on the wire.
const SEGMENT: Span = Span::from_ns(1_200);
/// The time from the departure of a lone segment to its arrival, and to the arrival of its ACK.
const THERE: Span = Span::from_ns(51_200);
const RTT: Span = Span::from_ns(101_232);

/// The time this long after the start.
fn ns(n: u64) -> Time {
    Time::ZERO + Span::from_ns(n)
}

/// The time at which the ACK of `sk` of the first flight comes.
fn ack_of(k: u64) -> Time {
    Time::ZERO + SEGMENT * k + RTT
}

/// The number of a segment.
fn number(segment: &Segment) -> u64 {
    segment.sequence / MSS
}

/// An ACK for each segment, at once; no tail-loss probes; timeouts from 10 ms.
fn config() -> Config {
    let stream =
        stream::Config { delayed_ack: 1, tail_loss_probe: false, ..stream::Config::default() };
    Config {
        ack_turnaround: Span::ZERO,
        rto_initial: InitialTimeout::Fixed(Span::from_ms(10)),
        rto_min: Span::from_ms(10),
        stream,
        ..Config::default()
    }
}

/// The usual settings, with `change` made to those of the stream.
fn config_with(change: impl FnOnce(&mut stream::Config)) -> Config {
    let mut config = config();
    change(&mut config.stream);
    config
}

fn net(config: Config, plain: &Plain) -> Net {
    Net::new(Transport::Stream, config, Wire::default(), plain)
}

/// The times of retransmissions, with their segments.
fn sent_again(net: &Net) -> Vec<(Time, u64)> {
    let mut highest = None;
    let mut again = Vec::new();
    for (at, segment) in net.segments() {
        if highest.is_some_and(|highest| segment.sequence <= highest) {
            again.push((at, number(segment)));
        }
        highest = highest.max(Some(segment.sequence));
    }
    again
}

/// Whether a packet is one of these segments.
fn is_one_of(packet: &Traced, numbers: &[u64]) -> bool {
    packet.segment().is_some_and(|segment| numbers.contains(&number(segment)))
}

/// A wire that loses these segments once for each time that they are named.
fn lose_once(numbers: &[u64]) -> impl FnMut(&Traced) -> Fate {
    let mut left = numbers.to_vec();
    move |packet| {
        let place = left.iter().position(|&number| is_one_of(packet, &[number]));
        place.map_or(Fate::Arrives, |place| {
            left.swap_remove(place);
            Fate::Lost
        })
    }
}

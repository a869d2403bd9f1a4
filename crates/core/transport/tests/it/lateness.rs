//! A carrier whose timers are late: the rate that a paced connection has all the same.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::{Config, Endpoint, InitialTimeout, Operation, Role};

use crate::common::plain::Plain;

/// Segments of one packet of 1,460 B at 1 Gb/s: one in 11.68 us.
const RATE: Rate = Rate::from_gbps(1);

/// The payload that leaves in `long` on a NIC that takes no time, by a carrier that comes to each
/// send time later by what `late` says of the number of the call.
fn sent(credit: Span, long: Span, mut late: impl FnMut(u64) -> Span) -> (u64, u64) {
    let config = Config {
        segment: Bytes::new(1_460),
        pacing_credit: credit,
        rto_initial: InitialTimeout::Fixed(Span::from_secs(1)), // nobody answers
        ..Config::default()
    };
    let plain = Plain::rate(RATE);
    let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
    let connection = endpoint.open(Role::Sender, 0);
    endpoint.post(Time::ZERO, connection, Operation::Stream);
    let (mut now, mut bytes, mut most_at_once) = (Time::ZERO, 0, 0);
    for call in 0.. {
        let mut at_once = 0;
        while let Some(out) = endpoint.poll_transmit(now) {
            at_once += u64::from(out.form.payload());
        }
        (bytes, most_at_once) = (bytes + at_once, most_at_once.max(at_once));
        let next = endpoint.next_timer(now).unwrap_or_else(|| panic!("{now:?}"));
        now = next.max(now) + late(call);
        if now > Time::ZERO + long {
            break;
        }
    }
    (bytes, most_at_once)
}

/// The part of the rate that has left.
fn share((bytes, _): (u64, u64), long: Span) -> f64 {
    bytes as f64 / RATE.bytes_in(long).get() as f64
}

#[test]
fn lateness_is_lost_rate_without_credit_and_made_good_with_it() {
    let long = Span::from_ms(50);
    // Each timer comes 2 us late: 13.68 us from packet to packet.
    let late = |_| Span::from_us(2);
    let without = share(sent(Span::ZERO, long, late), long);
    assert!((without - 11.68 / 13.68).abs() < 0.001, "{without}");
    let with = share(sent(Span::from_us(300), long, late), long);
    assert!((with - 1.0).abs() < 0.001, "{with}");
    let exact = share(sent(Span::ZERO, long, |_| Span::ZERO), long);
    assert!((exact - 1.0).abs() < 0.001, "{exact}");
}

#[test]
fn no_more_than_the_credit_is_made_good() {
    let long = Span::from_ms(50);
    // A thread that stands still for 5 ms once: 300 us of it, 25.7 packets, leave at once.
    let late = |call| if call == 1_000 { Span::from_ms(5) } else { Span::ZERO };
    let (bytes, most) = sent(Span::from_us(300), long, late);
    assert!(most <= 27 * 1_460, "{most} B at once");
    let lost = 1.0 - share((bytes, most), long);
    assert!((lost - 4.7 / 50.0).abs() < 0.001, "{lost}");
}

#[test]
fn credit_changes_nothing_where_timers_are_exact() {
    let long = Span::from_ms(5);
    let exact = |_| Span::ZERO;
    assert_eq!(sent(Span::ZERO, long, exact), sent(Span::from_ms(1), long, exact));
}

#[test]
fn data_that_comes_after_a_pause_is_not_late() {
    let config =
        Config { segment: Bytes::new(1_460), pacing_credit: Span::from_ms(1), ..Config::default() };
    let plain = Plain::rate(RATE);
    let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
    let connection = endpoint.open(Role::Sender, 0);
    // Half a millisecond has the room of 42 packets, and nobody had anything to send.
    let now = Time::ZERO + Span::from_us(500);
    endpoint.post(Time::ZERO, connection, Operation::Write { bytes: 1_460 });
    assert!(endpoint.poll_transmit(Time::ZERO).is_some());
    endpoint.post(now, connection, Operation::Write { bytes: 100 * 1_460 });
    let at_once = std::iter::from_fn(|| endpoint.poll_transmit(now)).count();
    assert_eq!(at_once, 1);
}

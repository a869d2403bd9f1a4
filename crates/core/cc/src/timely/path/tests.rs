//! Estimates from samples made by hand.

use super::*;
use crate::parts::Random;

const US: u64 = 1_000;
const PACKET: u64 = 1_460;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A path of `mbps` and 20 us after `samples` segments of one packet to `packets`, each of which
/// waits for up to `queue_us`.
fn path(mbps: u64, packets: u32, queue_us: u32, samples: u64) -> Path {
    let (mut path, mut random) = (Path::new(Span::from_secs(2)), Random::new(7));
    for sample in 0..samples {
        let bytes = u64::from(1 + random.below(packets)) * PACKET;
        let wait_ns = u64::from(random.below(queue_us * 1_000 + 1));
        let rtt_ns = 20 * US + bytes * 8_000 / mbps + wait_ns;
        path.add(at(sample * 60), rtt_ns, rtt_ns, Some(bytes));
    }
    path
}

#[test]
fn nothing_is_known_at_first_but_the_prior() {
    let path = Path::new(Span::from_secs(2));
    assert!(!path.has_samples());
    assert_eq!((path.least_rtt_ns(), path.noise_ns()), (0, 0));
    assert_eq!((path.byte_ps(), path.rate_bps()), (8_000, 1_000_000_000));
}

#[test]
fn rate_follows_from_sizes_whatever_waits_before_them() {
    for (mbps, packets, queue_us) in
        [(100, 2, 300), (500, 3, 80), (1_000, 5, 60), (5_000, 11, 30), (25_000, 40, 10)]
    {
        let path = path(mbps, packets, queue_us, 4_000);
        let off = path.rate_bps() as f64 / (mbps * 1_000_000) as f64;
        assert!((0.9..1.1).contains(&off), "{mbps} Mb/s: {off}");
        // Two waits, even from zero to the longest, differ by a third of it in the mean.
        let noise = path.noise_ns() as f64 / f64::from(queue_us * 1_000);
        assert!((0.28..0.4).contains(&noise), "{mbps} Mb/s: {noise}");
        let least_ns = 20 * US + PACKET * 8_000 / mbps;
        let above_ns = path.least_rtt_ns() - least_ns;
        assert!(above_ns < u64::from(queue_us) * US / 50, "{mbps} Mb/s: {above_ns} ns");
    }
}

#[test]
fn sizes_that_are_all_equal_tell_no_rate() {
    assert_eq!(path(5_000, 1, 30, 4_000).rate_bps(), 1_000_000_000);
}

#[test]
fn some_samples_tell_little_against_the_prior() {
    let rate = path(25_000, 2, 0, 10).rate_bps();
    assert!((1_000_000_000..1_300_000_000).contains(&rate), "{rate}");
}

#[test]
fn outliers_change_little() {
    let (mut path, mut random) = (path(1_000, 5, 10, 4_000), Random::new(9));
    let noise_ns = path.noise_ns();
    for sample in 4_000..8_000 {
        let bytes = u64::from(1 + random.below(5)) * PACKET;
        let outlier_ns = if sample % 100 == 0 { 1_000 * US } else { 0 };
        let rtt_ns = 20 * US + bytes * 8 + u64::from(random.below(10_000)) + outlier_ns;
        path.add(at(sample * 60), rtt_ns, rtt_ns, Some(bytes));
    }
    let off = path.rate_bps() as f64 / 1e9;
    assert!((0.9..1.1).contains(&off), "{off}");
    assert!(path.noise_ns() < noise_ns * 3 / 2, "{} after {noise_ns} ns", path.noise_ns());
}

#[test]
fn parts_of_segments_have_no_size() {
    let mut path = Path::new(Span::from_secs(2));
    for sample in 0..100 {
        let size = (sample % 2 == 0).then_some(PACKET * (1 + sample % 5));
        path.add(at(sample), 20 * US, (20 + sample) * US, size);
    }
    assert_eq!((path.rate_bps(), path.noise_ns()), (1_000_000_000, 0));
    assert_eq!(path.least_rtt_ns(), 20 * US);
}

#[test]
fn a_longer_path_is_believed_after_the_window() {
    let mut path = path(1_000, 1, 0, 10);
    assert_eq!(path.least_rtt_ns(), 20 * US + PACKET * 8);
    for ms in 1..=3_000 {
        path.add(at(ms * 1_000), 90 * US, 90 * US, Some(PACKET));
        let forgotten = path.least_rtt_ns() == 90 * US;
        assert_eq!(forgotten, ms > 2_000, "after {ms} ms");
    }
}

#[test]
fn extremes_overflow_nothing() {
    let mut path = Path::new(Span::MAX);
    for sample in 0..20_000 {
        let (rtt_ns, bytes) = if sample % 2 == 0 { (u64::MAX, u64::MAX) } else { (0, 0) };
        let bytes = if sample < 10_000 { bytes } else { u64::MAX - bytes };
        path.add(Time::MAX, rtt_ns, rtt_ns, Some(bytes));
    }
    assert!(path.byte_ps() > 0 && path.rate_bps() > 0);
}

//! Trying each feature with datagrams over the loopback device.

use super::{
    Class, Ecn, Features, MAX_RECEIVE_BYTES, OpenError, Options, ReceiveBatch, SendBatch, Socket,
    Transmit,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

/// The time after which a datagram on the loopback device, or its stamp, counts as lost.
const PATIENCE: Duration = Duration::from_millis(200);
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(2);
const LOOPBACK: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

const BYTES: usize = 300;
const SEGMENT: u16 = 100;
const KEY: u32 = 0xdead_beef;
const DSCP: u8 = 46;

impl Features {
    /// Tries each feature over the loopback device, which takes some milliseconds. A feature
    /// counts as working if its effect is seen, not if the kernel takes its option; of priorities
    /// no effect can be seen, so the datagram has to arrive.
    ///
    /// # Errors
    ///
    /// If not even a plain datagram crosses the loopback device.
    pub fn probe() -> Result<Self, OpenError> {
        let none = Self::NONE;
        let plain = Transmit::to(LOOPBACK);
        let cut = Transmit { segment: Some(SEGMENT), ..plain };
        let classed = |dscp, priority| Transmit {
            class: Class { dscp, priority },
            ecn: if dscp > 0 { Ecn::Ect1 } else { Ecn::NotEct },
            ..plain
        };
        let stamped = Transmit { stamp: Some(KEY), ..plain };

        exchange(none, plain, |_| true).map_err(|error| OpenError::Loopback(Box::new(error)))?;
        let tries = |with: Self, transmit, effect: fn(&Seen) -> bool| {
            exchange(with, transmit, effect).is_ok_and(|got| effect(&got))
        };
        let segmentation =
            tries(Self { segmentation: true, ..none }, cut, |got| got.datagrams == 3);
        // A datagram that comes alone says nothing: without segmentation nothing is to be seen.
        let together = Self { segmentation, coalescing: true, ..none };
        let coalescing =
            tries(together, cut, |got| got.datagrams == 3 && (!got.cut || got.receives == 1));
        let traffic_class = tries(Self { traffic_class: true, ..none }, classed(DSCP, 0), |got| {
            got.dscp == DSCP && got.ecn == Ecn::Ect1
        });
        let priorities = tries(Self { priorities: true, ..none }, classed(0, 5), |_| true);
        let receive_stamps =
            tries(Self { receive_stamps: true, ..none }, plain, |got| got.received_stamp);
        let sends = Self { send_stamps: true, ..none };
        let send_stamps = tries(sends, stamped, |got| got.sent_key == Some(KEY));
        let stamp_keys = send_stamps
            && tries(Self { stamp_keys: true, ..sends }, stamped, |got| got.sent_key == Some(KEY));
        let whole_datagrams = tries(Self { whole_datagrams: true, ..none }, plain, |_| true);
        Ok(Self {
            segmentation,
            coalescing,
            traffic_class,
            priorities,
            receive_stamps,
            send_stamps,
            stamp_keys,
            whole_datagrams,
        })
    }
}

/// Observations of a send of [`BYTES`] bytes at its two ends.
#[derive(Debug, Default)]
struct Seen {
    bytes: usize,
    receives: usize,
    datagrams: usize,
    /// Whether the kernel cut the send.
    cut: bool,
    dscp: u8,
    ecn: Ecn,
    received_stamp: bool,
    sent_key: Option<u32>,
}

/// Sends from one socket with the features to another one, until the effect is seen or the time is
/// up. Linux starts to stamp what comes some milliseconds after the first socket has asked for it.
fn exchange(
    features: Features,
    transmit: Transmit,
    effect: fn(&Seen) -> bool,
) -> Result<Seen, OpenError> {
    let options = Options { buffer: 1 << 16, ..Options::at(LOOPBACK) };
    let mut ends = [Socket::open(&options, features)?, Socket::open(&options, features)?];
    let failed = |source| OpenError::Setup { address: LOOPBACK, step: "probe", source };
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = seen(&mut ends, features, transmit).map_err(failed)?;
        if effect(&seen) || Instant::now() >= end {
            return Ok(seen);
        }
        std::thread::sleep(PAUSE);
    }
}

fn seen([from, to]: &mut [Socket; 2], features: Features, transmit: Transmit) -> io::Result<Seen> {
    let mut out = SendBatch::new(1, BYTES);
    let transmit = Transmit { to: to.address()?, ..transmit };
    out.push(transmit, &[0x5a; BYTES]).map_err(io::Error::other)?;
    from.send(&mut out)?;

    let mut seen = Seen { cut: features.segmentation, ..Seen::default() };
    let mut batch = ReceiveBatch::new(4, MAX_RECEIVE_BYTES);
    let end = Instant::now() + PATIENCE;
    while seen.bytes < BYTES {
        let left = end.saturating_duration_since(Instant::now());
        if !to.wait(Some(left))? && left.is_zero() {
            return Err(io::Error::other("a datagram on the loopback device did not arrive"));
        }
        to.receive(&mut batch)?;
        for got in batch.iter() {
            seen.receives += 1;
            seen.bytes += got.data.len();
            seen.datagrams += got.datagrams().count();
            (seen.dscp, seen.ecn) = (got.dscp, got.ecn);
            seen.received_stamp = got.stamp.is_some();
        }
    }
    while features.send_stamps && seen.sent_key.is_none() {
        let left = end.saturating_duration_since(Instant::now());
        if !from.wait(Some(left))? && left.is_zero() {
            break;
        }
        from.sent_stamps(|sent| seen.sent_key = Some(sent.key))?;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "says what this machine lacks")]
    fn each_feature_is_seen_by_its_effect() {
        let features = Features::probe().unwrap();
        for sentence in features.missing() {
            eprintln!("here: {sentence}");
        }
        // Of Linux since 5.0, whatever the machine.
        assert!(features.segmentation && features.coalescing && features.traffic_class);
        assert!(features.receive_stamps && features.send_stamps && features.whole_datagrams);
    }

    #[test]
    fn without_a_feature_its_effect_is_not_seen() {
        let stamped = Transmit { stamp: Some(1), ..Transmit::to(LOOPBACK) };
        let got = exchange(Features::NONE, stamped, |_| true).unwrap();
        assert!(!got.received_stamp && got.sent_key.is_none());
        let marked = Transmit { ecn: Ecn::Ect0, ..stamped };
        assert_eq!(exchange(Features::NONE, marked, |_| true).unwrap().ecn, Ecn::NotEct);
        let cut = Transmit { segment: Some(SEGMENT), ..stamped };
        let got = exchange(Features::NONE, cut, |_| true).unwrap();
        assert_eq!((got.receives, got.datagrams), (3, 3), "cut by this crate");
    }
}

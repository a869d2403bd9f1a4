//! Marks that a datagram carries beside its data: ECN bits, a class, timestamps.

use std::time::{SystemTime, UNIX_EPOCH};

use incast_cc::Span;

/// The ECN bits of an IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport is not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable transport, ECT(1).
    Ect1,
    /// ECN-capable transport, ECT(0).
    Ect0,
    /// Congestion experienced: a switch has marked the datagram.
    Ce,
}

impl Ecn {
    /// The ECN bits of a traffic class byte, the two lowest.
    pub(super) const fn of(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// The class of a datagram in the queues of the host and of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The DSCP of the IP header, below 64; switches choose the queue by it.
    pub dscp: u8,
    /// The priority in the host (`SO_PRIORITY`), by which its queueing discipline chooses. Above 6
    /// it takes the capability `CAP_NET_ADMIN`.
    pub priority: u32,
}

impl Class {
    /// The traffic class byte of the IP header.
    pub(super) const fn traffic_class(self, ecn: Ecn) -> u8 {
        self.dscp << 2 | ecn as u8
    }
}

/// The time at which a datagram left or came, by the system's clock, as the kernel read it where it
/// met the driver. Setting the system's time moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970.
    pub ns: u64,
}

impl Stamp {
    /// The time now.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// The time since an earlier stamp; [`None`] if the earlier stamp is the later one (the clock
    /// was set).
    pub fn since(self, earlier: Self) -> Option<Span> {
        self.ns.checked_sub(earlier.ns).map(Span::from_ns)
    }

    /// The stamp in a control message `SCM_TIMESTAMPING`: three times of seconds and nanoseconds,
    /// of which the first is the kernel's and the last the device's. Zero is no time.
    ///
    /// The device's counts by a clock of its own. A program cannot read that clock when it answers,
    /// so it could not tell its turnaround, and there would be no RTT sample.
    pub(super) fn of_control(value: &[u8]) -> Option<Self> {
        time(value, 0).map(|ns| Self { ns })
    }
}

/// The time at an index, in nanoseconds. Its two numbers have the size of a `long`.
fn time(value: &[u8], index: usize) -> Option<u64> {
    let half = value.len() / 6;
    let at = index * 2 * half;
    let number = |at: usize| -> Option<u64> {
        let bytes = value.get(at..at + half)?;
        match half {
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
            _ => None,
        }
    };
    let ns = number(at)?.checked_mul(1_000_000_000)?.checked_add(number(at + half)?)?;
    (ns > 0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(times: [u64; 6]) -> Vec<u8> {
        times.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn the_time_is_the_kernels_whatever_the_device_says() {
        let kernel = Some(Stamp { ns: 2_000_000_005 });
        assert_eq!(Stamp::of_control(&control([2, 5, 0, 0, 0, 0])), kernel);
        assert_eq!(Stamp::of_control(&control([2, 5, 0, 0, 1, 7])), kernel);
        assert_eq!(Stamp::of_control(&control([0, 0, 0, 0, 1, 7])), None, "of another clock");
    }

    #[test]
    fn bad_times_are_none() {
        assert_eq!(Stamp::of_control(&control([0; 6])), None);
        assert_eq!(Stamp::of_control(&control([u64::MAX; 6])), None);
        for length in 0..48 {
            assert_eq!(Stamp::of_control(&vec![0; length]), None, "{length}");
        }
    }

    #[test]
    fn stamps_have_a_span_in_order() {
        let [early, late] = [5, 9].map(|ns| Stamp { ns });
        assert_eq!(late.since(early), Some(Span::from_ns(4)));
        assert_eq!(early.since(late), None);
    }
}

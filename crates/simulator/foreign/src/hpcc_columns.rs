//! The columns of flow files of HPCC's simulator and its relatives, told apart.
//!
//! Two formats have six columns: HPCC's `src dst priority_group dst_port size_bytes start_seconds`
//! and ns3-rdma's `src dst priority_group packets start_seconds end_seconds`. Numbers alone tell
//! them apart, and not always.

use std::cmp::Ordering;

use super::text::{Line, lines};

/// The format of a flow file with six columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// HPCC's, which every other number of columns counts as.
    Hpcc,
    /// ns3-rdma's.
    Ns3Rdma,
    /// The format of a text that may be of either simulator.
    Either,
}

/// The sentence on both formats.
pub(crate) const BOTH: &str = "HPCC's (a port, bytes, a start) or ns3-rdma's (packets, a start, an \
                               end)";

impl Reading {
    /// The format in which the flows of a file are possible. Where they are in neither, it is the
    /// one in which more of them are, so that an error is about the right columns.
    pub(crate) fn of(text: &str) -> Self {
        let mut lines = lines("", text);
        let header = lines.next().and_then(|line| line.columns("").ok());
        let count = header.and_then(|[count]| count.number::<usize>("").ok()).unwrap_or(0);
        let (mut hpcc, mut rdma, mut all) = (0, 0, 0);
        let (mut last, mut odd) = (0, false);
        for line in lines.take(count) {
            all += 1;
            hpcc += usize::from(as_hpcc(&line, &mut last, &mut odd).is_some());
            rdma += usize::from(as_rdma(&line).is_some());
        }
        match hpcc.cmp(&rdma) {
            Ordering::Less => Self::Ns3Rdma,
            Ordering::Equal if odd && hpcc > 0 => Self::Ns3Rdma,
            Ordering::Equal if hpcc == all && all > 0 => Self::Either,
            Ordering::Equal | Ordering::Greater => Self::Hpcc,
        }
    }
}

/// Reads a line as HPCC's; `last` is the start before it. Sets `odd` where the port or the size is
/// one that no program writes: above 16 bits, or with a decimal point.
fn as_hpcc(line: &Line<'_>, last: &mut u64, odd: &mut bool) -> Option<()> {
    let [_, _, _, port, size, start] = line.columns("").ok()?;
    let number: u32 = port.number("").ok()?;
    size.size().ok()?;
    let start = start.seconds("").ok()?.as_ps();
    *odd |= number > u32::from(u16::MAX) || size.text.contains('.');
    (std::mem::replace(last, start) <= start).then_some(())
}

/// Reads a line as ns3-rdma's.
fn as_rdma(line: &Line<'_>) -> Option<()> {
    let [_, _, _, packets, start, end] = line.columns("").ok()?;
    packets.number::<u32>("").ok().filter(|&packets| packets > 0)?;
    (start.seconds("").ok()? < end.time("").ok()?).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_decimal_points_tell_the_formats_apart() {
        for (flows, expected) in [
            ("2\n2 1 3 10000000 2.0 9.5\n3 1 3 10000000 2.0 9.5\n", Reading::Ns3Rdma),
            ("1\n2 1 3 100 2.0 9.5\n", Reading::Ns3Rdma),
            ("1\n2 1 3 100 2.25 3\n", Reading::Ns3Rdma),
            ("1\n2 1 3 70000 2 3\n", Reading::Ns3Rdma),
            // Two bytes at 3 s, or a hundred packets from 2 s to 3 s.
            ("1\n2 1 3 100 2 3\n", Reading::Either),
            ("1\n2 1 3 100 1500 2\n", Reading::Hpcc),
            ("1\n2 1 3 100 3 2\n", Reading::Hpcc),
            ("2\n2 1 3 100 2 3\n2 1 3 100 1500 4\n", Reading::Hpcc),
            // Starts that go back in time are nothing for HPCC's simulator.
            ("2\n2 1 3 100 2 9\n2 1 3 100 1 8\n", Reading::Ns3Rdma),
            ("1\n2 1 3 1500 2.0\n", Reading::Hpcc),
            ("0\n", Reading::Hpcc),
            ("", Reading::Hpcc),
            // Lines that are impossible in both.
            ("2\n2 1 3 1 2.0 9.5\n2 1 3 -1 2.0 9.5\n", Reading::Ns3Rdma),
            ("2\n2 1 3 1 1500 9.5\n2 1 3 -1 2.0 9.5\n", Reading::Hpcc),
            ("1\n2 1 3 -1 2 9\n", Reading::Hpcc),
        ] {
            assert_eq!(Reading::of(flows), expected, "{flows}");
        }
    }
}

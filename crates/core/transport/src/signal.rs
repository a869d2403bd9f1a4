//! Signals that a carrier supplies in place of its RTT samples.
//!
//! The algorithm does not know of that: it gets the replaced sample, and the smoothed and least RTT
//! that follow from it. Timeouts, traces and results use the samples as measured.

use incast_cc::{RttSample, Span, Time};
use rand_pcg::Pcg64Mcg;

mod timestamps;

pub use timestamps::{Stack, Timestamps};

use crate::random::{self, below, generator};

/// The signal that an algorithm gets as its RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// The samples as measured.
    #[default]
    Rtt,
    /// Samples with noise added to each, uniform from zero to this.
    Noise(Span),
    /// Samples with the delay that timestamps of an operating system add.
    SoftwareTimestamps,
    /// Samples with the delay that stamps of a kernel's network devices add, the peer's turnaround
    /// left out.
    KernelTimestamps,
    /// RTTs from TCP timestamps, which tick in steps; streams alone.
    Timestamps(Timestamps),
    /// The RTT without queues, plus the true backlog of the bottleneck at this instant over its
    /// rate: the RTT of a flow that could see the queue.
    Oracle,
}

/// The delay that software adds to an RTT, as quantiles in millionths and microseconds, with
/// straight lines between them. They were measured for this project: samples that the TCP of Linux
/// 6.18 takes over a virtual link without load, at 500 Mb/s in bursts of 16 KB, an RTT of nothing
/// but software. The tail is cut: one sample in a thousand took longer, up to milliseconds.
const SOFTWARE_US: [(u64, u64); 5] =
    [(0, 5), (500_000, 14), (900_000, 17), (990_000, 27), (1_000_000, 53)];

/// The delay that a kernel's stamps add to an RTT, in the same form. They were measured for this
/// project: messages of 64 KB over a virtual link of Linux 6.18, stamped where they leave to the
/// device and come from it, with the peer's turnaround left out. The last two steps are times
/// without a processor, as far as they come alone.
const KERNEL_US: [(u64, u64); 6] =
    [(0, 1), (500_000, 3), (990_000, 5), (999_000, 25), (999_900, 100), (1_000_000, 1_000)];

/// The times that an ACK tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) now: Time,
    /// The last send time of the newest data that the ACK acknowledges.
    pub(crate) sent_at: Time,
    /// The RTT sample of that data, where it is unambiguous.
    pub(crate) measured: Option<RttSample>,
    /// The time from send to arrival.
    pub(crate) one_way: Option<Span>,
    /// The oracle's RTT, where there is one.
    pub(crate) truth: Option<Span>,
    /// Whether that data is known to have arrived.
    pub(crate) identified: bool,
}

/// The replaced signal of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Replaced {
    signal: Signal,
    random: Pcg64Mcg,
    srtt: Span,
    min_rtt: Span,
}

impl Replaced {
    /// The replacement that `signal` asks for, [`None`] where samples stay as they are; `seed` is
    /// the connection's.
    pub(crate) fn new(signal: Signal, seed: u64) -> Option<Self> {
        (signal != Signal::Rtt).then(|| Self {
            signal,
            random: generator(seed, random::SIGNAL, &[]),
            srtt: Span::ZERO,
            min_rtt: Span::MAX,
        })
    }

    /// The sample and the one-way delay that replace the measured ones.
    #[cold]
    pub(crate) fn replace(&mut self, heard: &Heard) -> (Option<RttSample>, Option<Span>) {
        let &Heard { measured, one_way, truth, .. } = heard;
        if let Signal::Timestamps(stamps) = self.signal {
            let rtt = stamps.rtt(heard, &mut self.srtt);
            self.min_rtt = self.min_rtt.min(rtt.unwrap_or(Span::MAX));
            let sample = rtt.map(|total| timestamps::sample(total, measured));
            return (sample, stamps.one_way(heard));
        }
        let Some(old) = measured else { return (None, None) };
        let new = self.sample(old, truth);
        (Some(new), one_way.map(|way| (way + new.total).saturating_sub(old.total)))
    }

    /// The sample that replaces `measured`; `truth` is the oracle's RTT, where there is one.
    fn sample(&mut self, measured: RttSample, truth: Option<Span>) -> RttSample {
        let total = match self.signal {
            Signal::Rtt | Signal::Timestamps(_) => measured.total,
            Signal::Noise(most) => {
                let end = most.as_ps().saturating_add(1);
                measured.total + Span::from_ps(below(&mut self.random, end))
            }
            Signal::SoftwareTimestamps => measured.total + self.drawn(&SOFTWARE_US),
            Signal::KernelTimestamps => measured.total + self.drawn(&KERNEL_US),
            Signal::Oracle => truth
                .map_or(measured.total, |network| network + measured.serialization + measured.peer),
        };
        self.min_rtt = self.min_rtt.min(total);
        self.srtt = if self.srtt.is_zero() { total } else { (self.srtt * 7 + total) / 8 };
        RttSample { total, ..measured }
    }

    /// The smoothed RTT and the least one of the replaced samples.
    pub(crate) const fn smoothed(&self) -> (Span, Span) {
        (self.srtt, self.min_rtt)
    }

    /// A delay between quantiles.
    fn drawn(&mut self, quantiles: &[(u64, u64)]) -> Span {
        // In millionths and picoseconds, so that nothing is rounded to microseconds.
        let at = below(&mut self.random, 1_000_000);
        let above = quantiles.iter().position(|&(part, _)| part > at).unwrap_or(1);
        let ((low_part, low), (high_part, high)) = (quantiles[above - 1], quantiles[above]);
        let (into, width) = (at - low_part, high_part - low_part);
        Span::from_ps((low * 1_000_000) + (high - low) * 1_000_000 * into / width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: RttSample =
        RttSample { total: Span::from_us(100), serialization: Span::from_us(51), peer: Span::ZERO };

    fn replaced(signal: Signal, samples: usize) -> Vec<f64> {
        let mut replaced = Replaced::new(signal, 7).unwrap();
        let mut rtts: Vec<_> =
            (0..samples).map(|_| replaced.sample(SAMPLE, None).total.as_us_f64()).collect();
        rtts.sort_by(f64::total_cmp);
        rtts
    }

    #[test]
    fn noise_is_uniform_from_nothing_to_its_most() {
        let rtts = replaced(Signal::Noise(Span::from_us(40)), 10_000);
        let mean = rtts.iter().sum::<f64>() / 1e4;
        assert!(rtts[0] < 100.1 && rtts[9_999] > 139.9 && rtts[9_999] <= 140.0);
        assert!((mean - 120.0).abs() < 0.5, "{mean}"); // standard error 0.12
    }

    #[test]
    fn software_adds_the_quantiles_that_were_measured() {
        let rtts = replaced(Signal::SoftwareTimestamps, 100_000);
        for (part, us) in SOFTWARE_US {
            let quantile = rtts[usize::try_from(part * 99_999 / 1_000_000).unwrap()] - 100.0;
            // The tail is steep: 0.03 % off, a standard error, is 0.8 us.
            assert!((quantile - us as f64).abs() < 2.0, "{part}: {quantile} for {us}");
        }
    }

    #[test]
    fn stamps_of_a_kernel_add_the_quantiles_that_were_measured() {
        let rtts = replaced(Signal::KernelTimestamps, 1_000_000);
        for (part, us) in KERNEL_US {
            let quantile = rtts[usize::try_from(part * 999_999 / 1_000_000).unwrap()] - 100.0;
            // Of a thousand samples beyond the last but two, and a hundred beyond the last but one.
            let off = (quantile - us as f64).abs();
            assert!(off <= 0.12 * us as f64 + 0.1, "{part}: {quantile} for {us}");
        }
    }

    #[test]
    fn oracle_tells_the_truth_about_the_network() {
        let mut oracle = Replaced::new(Signal::Oracle, 7).unwrap();
        let told = oracle.sample(SAMPLE, Some(Span::from_us(20)));
        assert_eq!(told.network(), Span::from_us(20));
        assert_eq!(oracle.smoothed(), (Span::from_us(71), Span::from_us(71)));
        assert!(Replaced::new(Signal::Rtt, 7).is_none());
    }
}

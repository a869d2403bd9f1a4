//! Random numbers. Each use has a generator of its own, which follows from the run's seed, the
//! purpose and the owner.

use incast_cc::{Bytes, Span};
pub use incast_transport::random::{below, generator, unit};
use rand_core::Rng;

/// The purposes of random numbers. Each names its owner, in the words of [`generator`]'s `owner`.
pub mod purpose {
    /// The seed of a host's transport, by host.
    pub const HOST: &str = "host";
    /// The label of a flow, one of its connections and a direction. ECMP hashes labels as it does
    /// the addresses and ports of real packets. The owner is in the words of `Flows::directions`;
    /// labels follow from no seed.
    pub const FLOW_LABEL: &str = "flow label";
    /// The seed of a connection at one end, by the label of the direction that it sends in.
    pub const CONNECTION: &str = "connection";
    /// Peers and starts of connections that stay, by traffic and host.
    pub const LASTING: &str = "connections that stay";
    /// Times, sizes and destinations of flows that arrive at random, by traffic and host.
    pub const ARRIVALS: &str = "arrivals";
    /// Pairs of a permutation, by traffic.
    pub const PERMUTATION: &str = "permutation";
    /// Times and hosts of incasts, by traffic.
    pub const INCASTS: &str = "incasts";
    /// Requests of a client and, in an open loop, their times, by traffic and host.
    pub const REQUESTS: &str = "requests";
    /// Think times of a client, by traffic and host.
    pub const THINK_TIMES: &str = "think times";
    /// The order of the hosts of a collective, by traffic.
    pub const PLACEMENT: &str = "placement";
    /// The jitter of rounds, by traffic and host.
    pub const ROUND_JITTER: &str = "jitter of rounds";
    /// Deadlines of messages and requests, by traffic and, but for incasts, host.
    pub const DEADLINES: &str = "deadlines";
    /// The seed of a switch's hash of flows, by switch.
    pub const ECMP: &str = "ECMP";
    /// The ports that packets are sprayed over, by switch.
    pub const SPRAYING: &str = "spraying";
    /// The seed of the intermediate groups of Valiant routing.
    pub const VALIANT: &str = "Valiant routing";
    /// The seed of the hash that draws a connection's tree.
    pub const TREES: &str = "spanning trees";
    /// Whether a flow is under the scheme of its traffic, by the label of its payload's way out.
    pub const SCHEME: &str = "schemes of flows";
    /// The packets that queue management chooses, by switch, port and class.
    pub const QUEUE_MANAGEMENT: &str = "queue management";

    /// The frames that a link damages, by link and time of arrival.
    pub const LOSS: &str = "loss";

    #[cfg(test)]
    pub(super) const ALL: [&str; 19] = [
        HOST,
        FLOW_LABEL,
        CONNECTION,
        LASTING,
        ARRIVALS,
        PERMUTATION,
        INCASTS,
        REQUESTS,
        THINK_TIMES,
        PLACEMENT,
        ROUND_JITTER,
        DEADLINES,
        ECMP,
        SPRAYING,
        VALIANT,
        TREES,
        SCHEME,
        QUEUE_MANAGEMENT,
        LOSS,
    ];
}

/// An exponentially distributed time, of at least a picosecond.
pub fn exponential(random: &mut impl Rng, mean: Span) -> Span {
    let factor = -libm::log(1.0 - unit(random));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ps = (mean.as_ps() as f64 * factor) as u64;
    Span::from_ps(ps.max(1))
}

/// `count` different numbers below `end`, in random order; all of them if there are fewer.
pub fn distinct(random: &mut impl Rng, count: u32, end: u32) -> Vec<u32> {
    if count.saturating_mul(4) < end {
        // Few of many: draw again whenever a number comes twice.
        let mut drawn = Vec::with_capacity(count as usize);
        while drawn.len() < count as usize {
            #[expect(clippy::cast_possible_truncation, reason = "below `end`")]
            let number = below(random, u64::from(end)) as u32;
            if !drawn.contains(&number) {
                drawn.push(number);
            }
        }
        return drawn;
    }
    let mut all: Vec<_> = (0..end).collect();
    let count = (count as usize).min(all.len());
    for place in 0..count {
        #[expect(clippy::cast_possible_truncation, reason = "below `end`")]
        let other = place + below(random, (all.len() - place) as u64) as usize;
        all.swap(place, other);
    }
    all.truncate(count);
    all
}

/// The mean gap between arrivals of `bytes` on average that offer `load` times `bps`.
pub fn mean_gap(bytes: f64, load: f64, bps: f64) -> Span {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ps = (bytes * 8e12 / (load * bps)) as u64;
    Span::from_ps(ps.max(1))
}

/// The smallest whole amount that is not below `bytes` over `parts`.
pub fn share(bytes: Bytes, parts: u32) -> Bytes {
    Bytes::new(bytes.get().div_ceil(u64::from(parts.max(1))))
}

#[cfg(test)]
mod tests {
    use incast_transport::random;

    use super::*;

    #[test]
    fn exponential_times_have_their_mean() {
        let mut random = generator(1, "test", &[]);
        let n = 200_000;
        let sum: f64 =
            (0..n).map(|_| exponential(&mut random, Span::from_us(10)).as_us_f64()).sum();
        // The standard deviation of the mean is 10 us / sqrt(n): 0.022 us. Five of them.
        assert!((sum / f64::from(n) - 10.0).abs() < 0.11, "{}", sum / f64::from(n));
    }

    #[test]
    fn distinct_numbers_are_distinct_and_all_may_come() {
        let mut random = generator(1, "test", &[]);
        for (count, end) in [(3, 100), (60, 100), (100, 100), (200, 100)] {
            let mut drawn = distinct(&mut random, count, end);
            assert!(drawn.iter().all(|&number| number < end));
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), count.min(end) as usize);
        }
        let mut seen = [false; 10];
        (0..200).for_each(|_| seen[distinct(&mut random, 1, 10)[0] as usize] = true);
        assert_eq!(seen, [true; 10]);
    }

    #[test]
    fn purposes_share_no_stream() {
        // The transport's generators, and each purpose with its possible owners by number.
        let own = [random::ACK_JITTER, random::SIGNAL, random::ALGORITHM, random::CONNECTION];
        let mut first: Vec<_> = purpose::ALL
            .into_iter()
            .chain(own)
            .flat_map(|purpose| (0..40).map(move |owner| (purpose, owner)))
            .flat_map(|(purpose, owner)| [1, 2].map(|seed| generator(seed, purpose, &[owner])))
            .map(|mut random| random.next_u64())
            .collect();
        let streams = first.len();
        first.sort_unstable();
        first.dedup();
        assert_eq!((streams, first.len()), ((19 + 4) * 40 * 2, streams));
    }
}

//! The metrics of a host's paths, which flows leave to later ones.

use std::collections::BTreeMap;

use incast_cc::PathMetrics;

/// The metrics of paths, by the host at their end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    by_peer: BTreeMap<u32, PathMetrics>,
    newest: Option<PathMetrics>,
}

impl Paths {
    /// The most peers of which metrics are kept.
    const MOST: usize = 1_024;

    /// The metrics for a flow to a peer: those of the path there or, where there are none, those
    /// that were noted last.
    pub(crate) fn get(&self, peer: u32) -> Option<PathMetrics> {
        self.by_peer.get(&peer).copied().or(self.newest)
    }

    /// Notes the metrics of the path to a peer. Where there are too many peers, those of the oldest
    /// sample go.
    pub(crate) fn note(&mut self, peer: u32, metrics: PathMetrics) {
        if self.by_peer.len() == Self::MOST && !self.by_peer.contains_key(&peer) {
            let oldest = self.by_peer.iter().min_by_key(|&(&peer, metrics)| (metrics.at, peer));
            let oldest = oldest.map(|(&peer, _)| peer);
            oldest.and_then(|oldest| self.by_peer.remove(&oldest));
        }
        self.by_peer.insert(peer, metrics);
        self.newest = Some(metrics);
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::parts::Random;
    use incast_cc::{Rate, Span, Time};

    use super::*;

    fn metrics(us: u64, mbps: u64) -> PathMetrics {
        let at = Time::ZERO + Span::from_us(us);
        PathMetrics { at, least_rtt: Span::from_us(10), rate: Rate::from_mbps(mbps) }
    }

    #[test]
    fn a_peer_has_metrics_of_its_own_and_a_new_one_the_newest() {
        let mut paths = Paths::default();
        assert_eq!(paths.get(7), None);
        paths.note(7, metrics(1, 100));
        paths.note(8, metrics(2, 200));
        paths.note(7, metrics(3, 300));
        assert_eq!(paths.get(7), Some(metrics(3, 300)));
        assert_eq!(paths.get(8), Some(metrics(2, 200)));
        assert_eq!(paths.get(9), Some(metrics(3, 300)));
    }

    #[test]
    fn the_oldest_of_too_many_peers_goes() {
        let mut paths = Paths::default();
        (0..1_024).for_each(|peer| paths.note(peer, metrics(u64::from(peer), 100)));
        paths.note(0, metrics(2_000, 100));
        paths.note(5_000, metrics(2_001, 500));
        assert_eq!(paths.get(0), Some(metrics(2_000, 100)));
        assert_eq!(paths.get(1), Some(metrics(2_001, 500)), "the newest");
        assert_eq!(paths.get(2), Some(metrics(2, 100)));
    }

    #[test]
    fn paths_are_those_of_a_list_that_is_searched() {
        let (mut paths, mut random) = (Paths::default(), Random::new(1));
        let mut list: Vec<(u32, PathMetrics)> = Vec::new();
        for time in 0..20_000 {
            // Samples are not always newer than those of others.
            let late = u64::from(random.below(50));
            let noted = metrics(time + late, u64::from(random.below(10_000)));
            let peer = random.below(1_500);
            paths.note(peer, noted);
            list.retain(|&(other, _)| other != peer);
            if list.len() == 1_024 {
                list.sort_by_key(|&(peer, metrics)| (metrics.at, peer));
                list.remove(0);
            }
            list.push((peer, noted));
            let asked = random.below(1_500);
            let found = list.iter().find(|&&(peer, _)| peer == asked);
            assert_eq!(paths.get(asked), Some(found.map_or(noted, |&(_, metrics)| metrics)));
        }
        assert_eq!(list.len(), 1_024);
    }
}

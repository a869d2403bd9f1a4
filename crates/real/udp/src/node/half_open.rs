//! The peers that have opened a connection and sent nothing over it yet.

use std::collections::{HashMap, VecDeque};

use super::names::PeerId;
use crate::security::Source;

/// The most peers that are half open.
const MOST: usize = 1_024;

/// The peers that others have begun to open, by their sources. Whoever has a key, or a secret, or
/// an address where nothing is protected, can begin as many as it likes. So these make room for
/// newer ones, and the source that has the most of them first: it pushes nobody out but itself.
#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    by_source: HashMap<Source, VecDeque<PeerId>>,
    count: usize,
}

impl HalfOpen {
    /// The number of peers.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no room for another one.
    pub(super) const fn is_full(&self) -> bool {
        self.count >= MOST
    }

    pub(super) fn add(&mut self, source: Source, peer: PeerId) {
        self.by_source.entry(source).or_default().push_back(peer);
        self.count += 1;
    }

    /// Takes out a peer that is open now, or gone.
    pub(super) fn remove(&mut self, source: Source, peer: PeerId) {
        let Some(peers) = self.by_source.get_mut(&source) else { return };
        if let Some(at) = peers.iter().position(|&other| other == peer) {
            peers.remove(at);
            self.count -= 1;
        }
        if peers.is_empty() {
            self.by_source.remove(&source);
        }
    }

    /// The peer that makes room: the oldest of the source that has the most.
    pub(super) fn oldest_of_most(&self) -> Option<PeerId> {
        self.by_source
            .values()
            .max_by_key(|peers| (peers.len(), peers.front().copied()))?
            .front()
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn source(number: u8) -> Source {
        Source::of(SocketAddr::from(([10, 0, 0, number], 1)))
    }

    fn peer(slot: u32) -> PeerId {
        PeerId { slot, life: slot }
    }

    #[test]
    fn the_oldest_of_the_source_that_has_the_most_makes_room() {
        let mut peers = HalfOpen::default();
        peers.add(source(1), peer(1));
        (2..6).for_each(|slot| peers.add(source(2), peer(slot)));
        assert_eq!((peers.len(), peers.oldest_of_most()), (5, Some(peer(2))));
        peers.remove(source(2), peer(2));
        peers.remove(source(2), peer(2));
        peers.remove(source(3), peer(3));
        assert_eq!((peers.len(), peers.oldest_of_most()), (4, Some(peer(3))));
        (3..6).for_each(|slot| peers.remove(source(2), peer(slot)));
        assert_eq!((peers.len(), peers.oldest_of_most()), (1, Some(peer(1))));
        peers.remove(source(1), peer(1));
        assert_eq!((peers.len(), peers.oldest_of_most()), (0, None));
        assert!(peers.by_source.is_empty());
    }
}

//! Peers that hold memory here and do not go on.
//!
//! A message that a peer has begun and never ends holds memory, and so does a reply that it never
//! acknowledges. To keep the connection alive meanwhile costs it a datagram a second. So while
//! memory is scarce, those who have held much of it for a while without progress go, until it is
//! not. Their sources have half of the memory from then on, all together: who comes back to hold it
//! again leaves the other half to others.

use incast_cc::{Span, Time};
use incast_transport::Sender;
use incast_transport::recording::RecordedEndpoint;

use super::memory::MessageMemory;
use super::names::PeerId;
use super::peers::Peers;
use super::progress::Progress;
use super::{Gone, Node};
use crate::clock::span;
use crate::wire::Close;

/// The time without progress after which a peer is stuck, unless silence counts sooner: as long as
/// silence does by default, since a process that stands still for ten seconds is to go on.
const STUCK_AFTER: Span = Span::from_secs(15);
/// The looks at all peers in that time.
const LOOKS: u64 = 15;
/// The time for which a source counts as one that holds memory.
const BLAMED_FOR: Span = Span::from_secs(15 * 60);

/// Peers that have made no progress, with the memory that each holds.
type Stuck = Vec<(u64, PeerId)>;

impl Peers {
    /// Takes note of the progress of peers. Returns those that have made none for a time: with
    /// messages that come, and with messages that leave.
    fn look_at_progress(
        &mut self,
        now: Time,
        after: Span,
        endpoint: &RecordedEndpoint,
    ) -> (Stuck, Stuck) {
        let (mut by_arriving, mut by_leaving) = (Vec::new(), Vec::new());
        for peer in self.all_mut().filter(|peer| peer.is_callers && peer.is_open()) {
            for lane in &mut peer.lanes {
                if std::mem::take(&mut lane.is_refused) {
                    lane.came = Progress::default(); // others are in its way
                }
                let (sends, receives) = (lane.sends, lane.receives);
                let held = lane.inbox.bytes() as u64;
                let stuck = lane.came.look(now, held, || endpoint.delivered_bytes(receives));
                if stuck >= after {
                    by_arriving.push((held, peer.id));
                }
                let held = lane.outbox.memory();
                let oldest = || endpoint.sender(sends).and_then(Sender::oldest_payload);
                let stuck = lane.left.look(now, held, || oldest().unwrap_or_default());
                if stuck >= after {
                    by_leaving.push((held, peer.id));
                }
            }
        }
        (by_arriving, by_leaving)
    }
}

impl Node {
    /// Takes note of the progress of all peers, and ends the connections of those that are stuck,
    /// as far as memory is scarce: more than half of a bound is taken.
    ///
    /// This looks at peers that have begun their connections alone: whom this node connects to is
    /// its own choice.
    pub(super) fn drop_all_stuck(&mut self, now: Time) {
        let after = STUCK_AFTER.min(span(self.options.patience));
        if !self.timers.take_progress(now, after / LOOKS) {
            return;
        }
        self.peers.pardon(now);
        let (by_arriving, by_leaving) = self.peers.look_at_progress(now, after, &self.endpoint);
        self.drop_most(by_arriving, MessageMemory::is_arriving_scarce);
        self.drop_most(by_leaving, MessageMemory::is_leaving_scarce);
    }

    /// Ends the connections of stuck peers, of those that hold the most first, while memory is
    /// scarce.
    fn drop_most(&mut self, mut stuck: Stuck, is_scarce: fn(&MessageMemory) -> bool) {
        stuck.sort_unstable();
        while is_scarce(&self.memory)
            && let Some((_, id)) = stuck.pop()
        {
            self.drop_stuck(id);
        }
    }

    /// Ends the connection of a peer that holds memory and does not go on, and tells it why.
    pub(super) fn drop_stuck(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get(id) else { return };
        let (address, source) = (peer.address, peer.source);
        self.peers.blame(source, self.clock.now() + BLAMED_FOR);
        self.say_close(id, Close::Stuck);
        self.forget(id, Gone::Stuck(address));
    }
}

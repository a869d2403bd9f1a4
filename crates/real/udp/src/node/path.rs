//! The path to a peer: how long its datagrams may be, and where the peer is.

use std::net::SocketAddr;

use incast_cc::{Span, Time};

use super::names::PeerId;
use super::peers::{Peer, Peers};
use super::port::RefusedSend;
use super::run::{Exit, Run};
use super::search::{Due, Moving, OF_ADDRESS};
use super::{Gone, Node};
use crate::security::fresh_id;
use crate::wire::{Close, Frame, Probe};

/// The time within which a peer was heard that is there.
const HEARD_WITHIN: Span = Span::from_ms(2_500);
/// The time between two probes of an address to which a peer may have moved.
const ASK_AGAIN: Span = Span::from_ms(50);

impl Peer {
    /// Takes in the answer to a probe, which came from an address.
    pub(super) fn take_probe_answer(&mut self, now: Time, from: SocketAddr, probe: u32) {
        let Some(link) = &mut self.link else { return };
        if let Some(moving) = self.moving
            && (moving.address, moving.probe) == (from, probe)
        {
            (self.address, link.address, self.moving) = (from, from, None);
        }
        if let Some(search) = &mut link.search {
            search.answered(now, probe);
            link.datagram = search.known;
        }
    }
}

impl Peers {
    /// The next steps of the searches of all paths.
    fn searches(&mut self, now: Time) -> Vec<(PeerId, Due)> {
        let mut due = Vec::new();
        for peer in self.all_mut() {
            peer.stamping.decide();
            let is_used = peer.outgoing() > 0;
            let is_heard = now.since(peer.heard_at) < HEARD_WITHIN;
            let Some(link) = &mut peer.link else { continue };
            let Some(search) = &mut link.search else { continue };
            let next = search.due(now, is_heard, is_used);
            link.datagram = search.known;
            match next {
                Due::Nothing => {}
                next => due.push((peer.id, next)),
            }
        }
        due
    }

    /// Takes note of a send that the kernel has refused: the path does not take datagrams of that
    /// length, or there is none. Returns the peers whose paths are too narrow.
    fn take_refused(&mut self, now: Time, send: RefusedSend) -> Vec<PeerId> {
        let RefusedSend { to, bytes, is_too_long } = send;
        let mut narrow = Vec::new();
        for peer in self.all_mut().filter(|peer| peer.address == to) {
            if let Some(opening) = &mut peer.opening {
                opening.is_refused = true;
            }
            let (true, Some(link)) = (is_too_long, &mut peer.link) else { continue };
            match &mut link.search {
                Some(search) if bytes > search.least => {
                    search.fails(now, bytes);
                    link.datagram = search.known;
                }
                // The promised length itself, or what is sent before that is known.
                _ if bytes == link.datagram => narrow.push(peer.id),
                _ => {}
            }
        }
        narrow
    }
}

impl Node {
    /// Goes on with the searches of all paths.
    pub(super) fn search_paths(&mut self, now: Time) {
        for (id, next) in self.peers.searches(now) {
            match next {
                Due::Nothing => {}
                Due::Send(probe, bytes) => self.send_probe(id, probe, bytes),
                Due::TooNarrow => self.give_up_path(id),
            }
        }
    }

    fn give_up_path(&mut self, id: PeerId) {
        let Some(address) = self.peers.get(id).map(|peer| peer.address) else { return };
        self.say_close(id, Close::Narrow);
        self.forget(id, Gone::Narrow { address, mtu: self.options.mtu });
    }

    /// Sends a probe in a datagram of a length.
    fn send_probe(&mut self, id: PeerId, probe: Probe, bytes: usize) {
        if !self.port.has_room() {
            return;
        }
        let Self { peers, port, timing, .. } = self;
        let Some(Peer { link: Some(link), .. }) = peers.get_mut(id) else { return };
        let mut exit = Exit { port, departures: &mut timing.departures };
        Run::alone(id.slot).send_padded(link, &mut exit, &Frame::Probe(probe), bytes);
    }

    /// Takes note of a datagram that came from another address than the peer's: the peer has moved,
    /// or somebody on the way has sent the datagram on under a false address. The address is asked,
    /// and gets nothing else until it has answered.
    pub(super) fn ask_address(&mut self, now: Time, id: PeerId, from: SocketAddr) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let asked_at = peer.moving.map(|moving| moving.asked_at);
        if asked_at.is_some_and(|at| now < at + ASK_AGAIN) {
            return;
        }
        let Ok(fresh) = fresh_id() else { return };
        let known = peer.moving.filter(|moving| moving.address == from);
        #[expect(clippy::cast_possible_truncation, reason = "32 random bits")]
        let probe = known.map_or(fresh.0 as u32 | OF_ADDRESS, |moving| moving.probe);
        peer.moving = Some(Moving { address: from, probe, asked_at: now });
        let Some(link) = &mut peer.link else { return };
        let back = std::mem::replace(&mut link.address, from);
        self.send_probe(id, Probe { id: probe }, 0);
        if let Some(link) = self.peers.get_mut(id).and_then(|peer| peer.link.as_mut()) {
            link.address = back;
        }
    }

    /// Takes note of the sends that the kernel has refused.
    pub(super) fn take_refused_sends(&mut self, now: Time) {
        for send in std::mem::take(&mut self.port.refused) {
            for id in self.peers.take_refused(now, send) {
                self.give_up_path(id);
            }
        }
    }
}

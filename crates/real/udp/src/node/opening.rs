//! Connections that are opened, and peers that fall silent.

use std::net::SocketAddr;

use incast_cc::{Span, Time};

use super::handshakes::Greeting;
use super::names::PeerId;
use super::peers::{Lane, Link, Peer, Peers, open_lanes};
use super::replies::Replies;
use super::search::Search;
use super::stamping::Stamping;
use super::{Event, Gone, Node, ip_udp_bytes};
use crate::clock::span;
use crate::options::{MOST_MESSAGE, Options};
use crate::security::{Answer, Opened, PeerKey, SecurityError, Source, Step, fresh_id};
use crate::wire::{
    Close, ConnectionId, Frame, Header, Kind, Opening as Datagram, Probe, receiver_in_any_version,
};

/// The longest silence after which a peer is asked whether it is there.
const PROBE_AFTER: Span = Span::from_secs(1);
/// The least number of times that a peer is asked before its silence counts.
const PROBES: u64 = 5;
/// The silence after which a peer that says that it does not know the connection is believed.
const BELIEVE_AFTER: Span = Span::from_ms(100);

/// The parameters of a node in handshakes: the longest message that it takes.
pub(super) fn parameters(options: &Options) -> [u8; 8] {
    (options.memory.message as u64).to_be_bytes()
}

/// The peers of which something is due.
#[derive(Default)]
struct Overdue {
    /// Peers whose connections end, with the reasons.
    gone: Vec<(PeerId, Gone)>,
    /// Peers whose hellos are sent again.
    unanswered: Vec<PeerId>,
    /// Peers that are asked whether they are there.
    silent: Vec<PeerId>,
    /// Peers whose connections have used up their numbers.
    spent: Vec<(PeerId, SocketAddr)>,
}

impl Peers {
    /// The peers that have been silent, and those whose handshakes or numbers are over.
    fn overdue(&self, now: Time, patience: Span) -> Overdue {
        let probe_after = PROBE_AFTER.min(patience / (PROBES + 1));
        let mut overdue = Overdue::default();
        for peer in self.all() {
            let silence = now.since(peer.heard_at.min(now));
            if peer.link.as_ref().is_some_and(Link::is_spent) {
                overdue.spent.push((peer.id, peer.address));
            }
            match &peer.opening {
                Some(opening) if now >= opening.until => {
                    let why = if opening.is_refused { Gone::Unreachable } else { Gone::NoAnswer };
                    overdue.gone.push((peer.id, why(peer.address)));
                }
                Some(opening) if now >= opening.again_at => overdue.unanswered.push(peer.id),
                None if silence > patience => {
                    overdue.gone.push((peer.id, Gone::Silent(peer.address)));
                }
                None if silence > probe_after && now.since(peer.probed_at) > probe_after => {
                    overdue.silent.push(peer.id);
                }
                _ => {}
            }
        }
        overdue
    }

    /// The peer at an address that has given a connection a name.
    fn that_named(&self, address: SocketAddr, name: ConnectionId) -> Option<&Peer> {
        let has_named = |link: &Link| link.session.peer() == name;
        self.all().find(|peer| peer.address == address && peer.link.as_ref().is_some_and(has_named))
    }
}

impl Node {
    /// Begins a connection to an address.
    pub(super) fn begin(
        &mut self,
        now: Time,
        address: SocketAddr,
        key: Option<PeerKey>,
    ) -> Result<PeerId, SecurityError> {
        let here = fresh_id()?;
        let greeting = self.handshakes.begin(now, address, key, here)?;
        self.send_opening(address, greeting.handshake.hello());
        self.timers.look_by(greeting.again_at);
        Ok(self.add_peer(now, address, here, Some(Box::new(greeting))))
    }

    fn add_peer(
        &mut self,
        now: Time,
        address: SocketAddr,
        here: ConnectionId,
        opening: Option<Box<Greeting>>,
    ) -> PeerId {
        let takes = self.options.memory.message;
        let is_heard = opening.is_some();
        self.peers.add(|id| Peer {
            id,
            here,
            address,
            source: Source::of(address),
            is_callers: !is_heard,
            is_blamed: false,
            opening,
            link: None,
            is_heard,
            key: None,
            lanes: [Lane::default(), Lane::default()],
            takes,
            beyond: 0,
            replies: Replies::default(),
            answers: Vec::new(),
            waiting: 0,
            untaken: 0,
            heard_at: now,
            probed_at: now,
            moving: None,
            rtt: None,
            stamping: Stamping::begin(self.timing.has_stamps),
            messages: 0,
            received: 0,
        })
    }

    /// Takes in a datagram that is of no open connection.
    pub(super) fn take_opening(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let header = Header::decode(datagram).map(|(header, _)| header);
        let named = receiver_in_any_version(datagram).and_then(|id| self.peers.named(id));
        if let Some(peer) = named.and_then(|slot| self.peers.at_mut(slot))
            && let Some(opening) = &mut peer.opening
        {
            if from != peer.address {
                return;
            }
            let id = peer.id;
            return match opening.handshake.on_datagram(datagram) {
                Ok(Step::Nothing) => {}
                Ok(Step::Send) => {
                    opening.again_at = now + opening.wait;
                    let hello = opening.handshake.hello().to_vec();
                    self.send_opening(from, &hello);
                }
                Ok(Step::Done(opened)) => self.open_peer(now, id, *opened),
                Err(SecurityError::Full { peer }) => self.forget(id, Gone::Overload(peer)),
                Err(error) => self.forget(id, Gone::Security(error)),
            };
        }
        if let Ok(Header { kind: Kind::Unknown, .. }) = header {
            return self.take_unknown(now, from, datagram);
        }
        self.take_call(now, from, datagram);
    }

    /// Takes in a datagram for the end of handshakes that others begin.
    fn take_call(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let is_full = self.peers.is_full(Source::of(from));
        let slept = self.sleep.slept;
        let answer = self.handshakes.answer(now, from, datagram, is_full, slept);
        match answer {
            Answer::Nothing => {}
            Answer::Postponed => self.counters.postponed += 1,
            Answer::Reply(reply) => self.send_opening(from, &reply),
            Answer::Opened { opened, .. } if opened.session.own() == ConnectionId::NONE => {}
            Answer::Opened { opened, welcome } => {
                if let Some(oldest) = self.peers.in_the_way() {
                    self.forget(oldest, Gone::Overload(from));
                }
                let id = self.add_peer(now, from, opened.session.own(), None);
                self.open_peer(now, id, *opened);
                self.send_opening(from, &welcome);
            }
            Answer::Refused { error, reply } => {
                self.counters.refused += 1;
                if let Some(reply) = reply {
                    self.send_opening(from, &reply);
                    self.events.push_back(Event::Rejected { address: from, why: error });
                }
            }
        }
    }

    /// Takes in the news that a peer does not know a connection. It proves nothing, so it counts
    /// only when the peer has been silent.
    fn take_unknown(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let decoded = Header::decode(datagram)
            .and_then(|(header, content)| Datagram::decode(header, content));
        let Ok(Some(Datagram::Unknown { id, .. })) = decoded else { return };
        if !self.handshakes.hears_unknown() {
            return;
        }
        let Some(peer) = self.peers.that_named(from, id) else { return };
        if now.since(peer.heard_at) > BELIEVE_AFTER {
            self.forget(peer.id, Gone::Restarted(from));
        }
    }

    /// Opens the connection to a peer after the handshake.
    fn open_peer(&mut self, now: Time, id: PeerId, opened: Opened) {
        let headers = ip_udp_bytes(&self.options);
        let datagram = usize::from(self.options.mtu - headers);
        let Opened { session, key, parameters } = opened;
        let takes = parameters.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let takes = usize::try_from(takes).unwrap_or(usize::MAX).min(MOST_MESSAGE);
        self.take_long_back(now, id, takes);
        let may_search = self.features().whole_datagrams;
        let Some(peer) = self.peers.get_mut(id) else { return };
        let began = peer.opening.take().is_some();
        let address = peer.address;
        peer.takes = takes;
        peer.heard_at = now;
        peer.key = key;
        let search = may_search.then(|| Search::new(datagram, headers, now));
        peer.link = Some(Link { address, session, datagram, search, newest: 0 });
        if began {
            self.events.push_back(Event::Opened { peer: id, address });
        }
        open_lanes(&mut self.endpoint, &mut self.peers, id, now);
    }

    /// Looks at peers that have been silent, and at handshakes.
    pub(super) fn look_at_peers(&mut self, now: Time) {
        self.handshakes.forget_unknowns();
        let overdue = self.peers.overdue(now, span(self.options.patience));
        let Overdue { gone, unanswered, silent, spent } = overdue;
        self.search_paths(now);
        for id in unanswered {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let address = peer.address;
            let Some(opening) = &mut peer.opening else { continue };
            opening.send_again(now);
            let hello = opening.handshake.hello().to_vec();
            self.send_opening(address, &hello);
        }
        for id in silent {
            if let Some(peer) = self.peers.get_mut(id) {
                peer.probed_at = now;
            }
            self.send_frame(id, &Frame::Probe(Probe { id: 0 }));
        }
        for (id, address) in spent {
            self.say_close(id, Close::Done);
            self.forget(id, Gone::Spent(address));
        }
        for (id, why) in gone {
            self.forget(id, why);
        }
    }

    /// Forgets a peer. What is under way fails.
    pub(super) fn forget(&mut self, id: PeerId, why: Gone) {
        let Some(peer) = self.peers.remove(id) else { return };
        let unfinished: usize = peer.lanes.iter().map(|lane| lane.inbox.bytes()).sum();
        self.memory.free_arriving(unfinished);
        self.memory.free_leaving(peer.outgoing_memory());
        if peer.is_open() {
            let closed = peer.lanes.each_ref().map(|lane| [lane.sends, lane.receives]);
            for connection in closed.into_iter().flatten() {
                self.endpoint.close(connection);
                self.peers.own(connection, None);
            }
            let is_closed = |connection| closed.iter().flatten().any(|&c| c == connection);
            self.timing.departures.forget(is_closed);
        }
        self.fail_calls(id, why);
        // The owner has never heard of a caller that fell silent before its first datagram.
        if peer.opening.is_some() || peer.is_heard {
            self.events.push_back(Event::Gone { peer: id, why });
        }
    }
}

//! Connections that are opened, and peers that fall silent.

use std::net::SocketAddr;
use std::time::Duration;

use incast_cc::{Span, Time};

use super::greeting::Greeting;
use super::names::PeerId;
use super::peers::{Lane, Link, Peer, open_lanes};
use super::replies::Replies;
use super::search::Search;
use super::stamping::Stamping;
use super::{Event, Gone, Node, ip_udp_bytes};
use crate::options::{MOST_MESSAGE, Options};
use crate::place;
use crate::security::{Answer, Handshake, Opened, PeerKey, SecurityError, Source, Step, fresh_id};
use crate::wire::{
    Close, ConnectionId, Frame, Header, Kind, Opening as Datagram, Probe, receiver_in_any_version,
};

/// The time before a hello is sent again the first time; it doubles from then on.
const FIRST_RETRY: Span = Span::from_ms(20);
/// The longest time between two hellos.
const LAST_RETRY: Span = Span::from_ms(500);
/// The time after which nothing answers at an address.
const ANSWER_WITHIN: Span = Span::from_secs(3);
/// The most datagrams between two looks at silent peers that say that a connection is not known.
const MOST_UNKNOWNS: u32 = 64;
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

/// A duration on the node's clock.
pub(super) fn span(time: Duration) -> Span {
    // Times count picoseconds in 64 bits.
    Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4_000))
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
        let handshake = Handshake::initiate(&self.end, address, key, here)?;
        self.send_opening(address, handshake.hello());
        let (again_at, until) = (now + FIRST_RETRY, now + ANSWER_WITHIN);
        self.look_at = self.look_at.min(again_at);
        let (wait, is_refused) = (FIRST_RETRY, false);
        let opening = Greeting { handshake, again_at, wait, until, is_refused };
        Ok(self.add_peer(now, address, here, Some(Box::new(opening))))
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
            stamping: Stamping::begin(self.has_stamps),
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
        let Some(listener) = &mut self.listener else { return };
        listener.set_full(is_full);
        // Without random numbers the listener could not answer either.
        let fresh = || fresh_id().unwrap_or(ConnectionId::NONE);
        let had = |rested| Time::ZERO + span(place::thread_time() + rested);
        let begun = had(self.rested);
        listener.has_had(begun);
        let answer = listener.on_datagram(now, from, datagram, fresh);
        if matches!(answer, Answer::Opened { .. } | Answer::Refused { .. }) {
            listener.took(from, had(self.rested).since(begun));
        }
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
        // Each looks at all peers. Those that are not looked at come again.
        self.unknowns += 1;
        if self.unknowns > MOST_UNKNOWNS {
            return;
        }
        let of = |peer: &&Peer| {
            peer.address == from && peer.link.as_ref().is_some_and(|link| link.session.peer() == id)
        };
        let Some(peer) = self.peers.all().find(of) else { return };
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
        let Some(peer) = self.peers.get_mut(id) else { return };
        let began = peer.opening.take().is_some();
        let address = peer.address;
        peer.takes = takes;
        peer.heard_at = now;
        peer.key = key;
        let search =
            self.socket.features().whole_datagrams.then(|| Search::new(datagram, headers, now));
        peer.link = Some(Link { address, session, datagram, search, newest: 0 });
        if began {
            self.events.push_back(Event::Opened { peer: id, address });
        }
        open_lanes(&mut self.endpoint, &mut self.peers, id, now);
    }

    /// Looks at peers that have been silent, and at handshakes.
    pub(super) fn look_at_peers(&mut self, now: Time) {
        self.unknowns = 0;
        let patience = span(self.options.patience);
        let probe_after = PROBE_AFTER.min(patience / (PROBES + 1));
        let (mut gone, mut spent) = (Vec::new(), Vec::new());
        let mut silent = Vec::new();
        let mut unanswered = Vec::new();
        for peer in self.peers.all() {
            let silence = now.since(peer.heard_at.min(now));
            if peer.link.as_ref().is_some_and(Link::is_spent) {
                spent.push(peer.id);
            }
            match &peer.opening {
                Some(opening) if now >= opening.until => {
                    let why = if opening.is_refused { Gone::Unreachable } else { Gone::NoAnswer };
                    gone.push((peer.id, why(peer.address)));
                }
                Some(opening) if now >= opening.again_at => unanswered.push(peer.id),
                None if silence > patience => gone.push((peer.id, Gone::Silent(peer.address))),
                None if silence > probe_after && now.since(peer.probed_at) > probe_after => {
                    silent.push(peer.id);
                }
                _ => {}
            }
        }
        self.search_paths(now);
        for id in unanswered {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let address = peer.address;
            let Some(opening) = &mut peer.opening else { continue };
            opening.wait = (opening.wait * 2).min(LAST_RETRY);
            opening.again_at = now + opening.wait;
            let hello = opening.handshake.hello().to_vec();
            self.send_opening(address, &hello);
        }
        for id in silent {
            if let Some(peer) = self.peers.get_mut(id) {
                peer.probed_at = now;
            }
            self.send_frame(id, &Frame::Probe(Probe { id: 0 }));
        }
        for id in spent {
            let Some(address) = self.peers.get(id).map(|peer| peer.address) else { continue };
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
        self.incoming = self.incoming.saturating_sub(unfinished);
        self.outgoing = self.outgoing.saturating_sub(peer.outgoing_memory());
        if peer.is_open() {
            let closed = peer.lanes.each_ref().map(|lane| [lane.sends, lane.receives]);
            for connection in closed.into_iter().flatten() {
                self.endpoint.close(connection);
                self.peers.own(connection, None);
            }
            self.departures.forget(|connection| closed.iter().flatten().any(|&c| c == connection));
        }
        self.fail_calls(id, why);
        // The owner has never heard of a caller that fell silent before its first datagram.
        if peer.opening.is_some() || peer.is_heard {
            self.events.push_back(Event::Gone { peer: id, why });
        }
    }
}

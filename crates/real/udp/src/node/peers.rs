//! The peers of a node.

use std::collections::HashMap;
use std::net::SocketAddr;

use incast_cc::{AnyControl, Rate, Span, Time};
use incast_transport::recording::RecordedEndpoint;
use incast_transport::{Endpoint, Sender};
use rustc_hash::FxHashMap;

use super::answers::Answer;
use super::half_open::HalfOpen;
use super::handshakes::Greeting;
use super::inbox::Inbox;
use super::names::PeerId;
use super::outbox::Outbox;
use super::progress::Progress;
use super::replies::Replies;
use super::sampling::Sampling;
use super::search::{Moving, Search};
use super::stamping::{ANSWERS, Lack, Stamping};
use crate::security::{PeerKey, Session, Source};
use crate::wire::{ConnectionId, LaneNumber, MOST_COUNT};

/// The part of all peers that a source may have while places are scarce.
const PART: usize = 8;
/// The peers that every source may have.
const FEW: usize = 64;
/// The number of lanes each way.
pub(super) const LANES: usize = 2;
/// The lane of long messages.
pub(super) const LONG: usize = 0;
/// The lane of short messages, whose class is the higher one.
pub(super) const SHORT: usize = 1;

/// The state of a connection to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The address of the peer.
    pub address: SocketAddr,
    /// The public key of the peer, if connections are protected by keys.
    pub key: Option<PeerKey>,
    /// Whether the connection is open yet.
    pub is_open: bool,
    /// The smoothed RTT of the faster lane without the peer's turnaround; zero before the first
    /// sample.
    pub rtt: Span,
    /// The least RTT; [`None`] before the first sample.
    pub least_rtt: Option<Span>,
    /// The sending rate of long messages; [`None`] before the first of them.
    pub rate: Option<Rate>,
    /// The longest message that the peer takes, in bytes.
    pub takes: usize,
    /// Bytes of messages that came.
    pub received: u64,
    /// Bytes of messages that wait to be sent or acknowledged.
    pub waiting: u64,
    /// Messages that came whole.
    pub messages: u64,
    /// Packets that were sent again.
    pub retransmissions: u64,
    /// The longest datagram that is sent to the peer, in bytes.
    pub datagram: usize,
    /// The reason for which RTTs are times of user space; [`None`] where they are by timestamps.
    pub lacks_stamps: Option<Lack>,
}

impl Statistics {
    /// A sentence on the timestamps that lack, which says what is lost.
    pub fn warning(&self) -> Option<String> {
        let address = self.address;
        self.lacks_stamps.map(|lack| match lack {
            Lack::Kernel => format!(
                "{address}: the kernel gives no timestamps; RTTs include waits for processors."
            ),
            Lack::Path => format!(
                "{address}: {ANSWERS} answers brought no RTT by timestamps: a device on the way \
                 gives none, here or there; RTTs include waits for processors."
            ),
        })
    }
}

/// A way of messages to a peer, and a way from it.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The connection of the transport that sends.
    pub(super) sends: u32,
    /// The connection of the transport that receives.
    pub(super) receives: u32,
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
    /// The progress of what comes.
    pub(super) came: Progress,
    /// The progress of what leaves.
    pub(super) left: Progress,
    /// Whether there was no memory for the oldest message since the last look at progress: the peer
    /// cannot go on then.
    pub(super) is_refused: bool,
    pub(super) sampling: Sampling,
}

/// The way to a peer whose connection is open: all that it takes to write a datagram.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) address: SocketAddr,
    pub(super) session: Session,
    /// The longest datagram that the path takes for certain.
    pub(super) datagram: usize,
    /// The search for a longer one, where the kernel allows it.
    pub(super) search: Option<Search>,
    /// The number of the newest packet of the transport.
    pub(super) newest: u64,
}

impl Link {
    /// The number from which on the numbers of a connection are nearly used up: an hour of a million
    /// packets a second before.
    const LAST: u64 = MOST_COUNT - (1 << 32);

    /// Whether the numbers of datagrams or packets are nearly used up.
    pub(super) const fn is_spent(&self) -> bool {
        self.session.next_number() >= Self::LAST || self.newest >= Self::LAST
    }
}

/// A peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: PeerId,
    /// The connection by the name that this node has drawn.
    pub(super) here: ConnectionId,
    pub(super) address: SocketAddr,
    /// The source of the address at which the connection began.
    pub(super) source: Source,
    /// Whether the peer has begun the connection.
    pub(super) is_callers: bool,
    /// Whether a peer of the source was stuck lately.
    pub(super) is_blamed: bool,
    /// The handshake, at the end that began it, until it is over.
    pub(super) opening: Option<Box<Greeting>>,
    /// The way to the peer, once the handshake is over.
    pub(super) link: Option<Link>,
    /// Whether anything came over the link, or this end began the connection.
    pub(super) is_heard: bool,
    /// The public key of the peer, if connections are protected by keys.
    pub(super) key: Option<PeerKey>,
    pub(super) lanes: [Lane; LANES],
    /// The longest message that the peer takes.
    pub(super) takes: usize,
    /// The refusals since there was last room for a message, which were posted beyond the bounds.
    pub(super) beyond: u32,
    /// The replies to calls of the peer.
    pub(super) replies: Replies,
    /// The answers that wait to be sent.
    pub(super) answers: Vec<Answer>,
    /// Bytes of messages that are not whole, or not taken by the application.
    pub(super) waiting: usize,
    /// Bytes of messages that are whole, and not taken by the application.
    pub(super) untaken: usize,
    /// The time at which the peer was last heard.
    pub(super) heard_at: Time,
    /// The time of the last probe.
    pub(super) probed_at: Time,
    /// The address to which the peer may have moved.
    pub(super) moving: Option<Moving>,
    /// The smoothed and the least RTT.
    pub(super) rtt: Option<(Span, Span)>,
    pub(super) stamping: Stamping,
    pub(super) messages: u64,
    pub(super) received: u64,
}

impl Peer {
    /// Whether the handshake is over.
    pub(super) const fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Bytes of messages that wait to be sent or acknowledged.
    pub(super) fn outgoing(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.outbox.bytes()).sum()
    }

    /// The memory of messages that wait to be sent or acknowledged.
    pub(super) fn outgoing_memory(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.outbox.memory()).sum()
    }

    pub(super) fn statistics(&self, endpoint: &Endpoint<AnyControl>) -> Statistics {
        let is_open = self.is_open();
        let open = self.lanes.iter().filter(|_| is_open);
        Statistics {
            address: self.address,
            key: self.key,
            is_open,
            rtt: self.rtt.map_or(Span::ZERO, |(smoothed, _)| smoothed),
            least_rtt: self.rtt.map(|(_, least)| least),
            rate: Some(self.lanes[LONG].sends)
                .filter(|_| is_open)
                .and_then(|connection| endpoint.sender(connection))
                .map(Sender::pacing_rate),
            takes: self.takes,
            received: self.received,
            waiting: self.outgoing(),
            messages: self.messages,
            retransmissions: open.map(|lane| endpoint.retransmissions(lane.sends)).sum(),
            datagram: self.link.as_ref().map_or(0, |link| link.datagram),
            lacks_stamps: self.stamping.lack(),
        }
    }

    /// Takes in an RTT sample.
    pub(super) fn sampled(&mut self, rtt: Span) {
        self.stamping.sampled();
        self.rtt = Some(match self.rtt {
            None => (rtt, rtt),
            Some((smoothed, least)) => ((smoothed * 7 + rtt) / 8, least.min(rtt)),
        });
    }
}

/// The place of a connection of the transport: a lane of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) slot: u32,
    pub(super) lane: LaneNumber,
}

/// The peers of a node.
#[derive(Debug, Default)]
pub(super) struct Peers {
    slots: Vec<Option<Peer>>,
    vacant: Vec<u32>,
    lives: u32,
    most: usize,
    half_open: HalfOpen,
    /// The peers that others have opened, by the source of their hellos.
    by_source: HashMap<Source, usize>,
    /// The sources of peers that were stuck, until when each is blamed.
    blamed: HashMap<Source, Time>,
    /// The slots by the names that this node has drawn. They are random, so no peer can make names
    /// that collide, and a plain hash is enough.
    by_id: FxHashMap<ConnectionId, u32>,
    /// The lanes by the connections of the transport.
    owners: Vec<Option<Owner>>,
    /// The slots of peers to which answers wait. Some may have left.
    answering: Vec<u32>,
}

impl Peers {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// The number of peers, with those that are half open.
    fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// Whether there is no place for another peer of a source: there are as many as there may be,
    /// and none makes room; or more than half of that, and the source has its part.
    pub(super) fn is_full(&self, source: Source) -> bool {
        let of_source = self.by_source.get(&source).copied().unwrap_or(0);
        let has_its_part = of_source >= (self.most / PART).max(FEW);
        self.len() >= self.most && self.half_open.len() == 0
            || self.len() > self.most / 2 && has_its_part
    }

    /// The half-open peer that has to go before another one is added.
    pub(super) fn in_the_way(&self) -> Option<PeerId> {
        let no_room = self.len() >= self.most || self.half_open.is_full();
        self.half_open.oldest_of_most().filter(|_| no_room)
    }

    /// Takes note that something has come from a peer over its link for the first time.
    pub(super) fn heard(&mut self, id: PeerId) {
        let Some(peer) = self.slots.get_mut(id.slot as usize).and_then(Option::as_mut) else {
            return;
        };
        if peer.id == id && !std::mem::replace(&mut peer.is_heard, true) {
            self.half_open.remove(peer.source, id);
        }
    }

    /// Adds the peer that `make` makes of its name.
    pub(super) fn add(&mut self, make: impl FnOnce(PeerId) -> Peer) -> PeerId {
        self.lives += 1;
        let next = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let slot = self.vacant.pop().unwrap_or(next);
        let id = PeerId { slot, life: self.lives };
        let mut peer = make(id);
        peer.is_blamed = peer.is_callers && self.blamed.contains_key(&peer.source);
        self.by_id.insert(peer.here, slot);
        if !peer.is_heard {
            self.half_open.add(peer.source, id);
        }
        if peer.is_callers {
            *self.by_source.entry(peer.source).or_default() += 1;
        }
        if slot == next {
            self.slots.push(Some(peer));
        } else {
            self.slots[slot as usize] = Some(peer);
        }
        id
    }

    pub(super) fn remove(&mut self, id: PeerId) -> Option<Peer> {
        let peer = self.slots.get_mut(id.slot as usize)?.take_if(|peer| peer.id == id)?;
        self.by_id.remove(&peer.here);
        if !peer.is_heard {
            self.half_open.remove(peer.source, id);
        }
        if let Some(count) = self.by_source.get_mut(&peer.source).filter(|_| peer.is_callers) {
            *count -= 1;
            if *count == 0 {
                self.by_source.remove(&peer.source);
            }
        }
        self.vacant.push(id.slot);
        Some(peer)
    }

    pub(super) fn get(&self, id: PeerId) -> Option<&Peer> {
        self.at(id.slot).filter(|peer| peer.id == id)
    }

    pub(super) fn get_mut(&mut self, id: PeerId) -> Option<&mut Peer> {
        self.at_mut(id.slot).filter(|peer| peer.id == id)
    }

    pub(super) fn at(&self, slot: u32) -> Option<&Peer> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut Peer> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// The peer of a connection, by the name that this node has drawn.
    pub(super) fn named(&self, id: ConnectionId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// All peers, in the order of their slots.
    pub(super) fn all(&self) -> impl Iterator<Item = &Peer> {
        self.slots.iter().flatten()
    }

    /// All peers, in the order of their slots, to be changed.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.slots.iter_mut().flatten()
    }

    /// Blames a source, whose peer was stuck, until a time.
    pub(super) fn blame(&mut self, source: Source, until: Time) {
        self.blamed.insert(source, until);
        for peer in self.slots.iter_mut().flatten() {
            peer.is_blamed |= peer.is_callers && peer.source == source;
        }
    }

    /// Forgets the blame of sources whose time is over. Their peers keep theirs until they come anew.
    pub(super) fn pardon(&mut self, now: Time) {
        self.blamed.retain(|_, &mut until| until > now);
    }

    /// The peers whose connections are open, and which this node has heard.
    pub(super) fn open(&self) -> impl Iterator<Item = PeerId> {
        self.all().filter(|peer| peer.is_open() && peer.is_heard).map(|peer| peer.id)
    }

    /// The peer and the lane of a connection of the transport.
    pub(super) fn owner(&self, connection: u32) -> Option<Owner> {
        *self.owners.get(connection as usize)?
    }

    /// Adds an answer to those that wait for a peer.
    pub(super) fn answer(&mut self, slot: u32, answer: Answer) {
        let Some(peer) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        if peer.answers.is_empty() {
            self.answering.push(slot);
        }
        peer.answers.push(answer);
    }

    /// Whether answers may wait for a peer.
    pub(super) const fn has_answers(&self) -> bool {
        !self.answering.is_empty()
    }

    /// Takes the next peer, if answers wait for it.
    pub(super) fn take_answering(&mut self) -> Option<u32> {
        let slot = self.answering.pop()?;
        self.at(slot).is_some_and(|peer| !peer.answers.is_empty()).then_some(slot)
    }

    /// Notes the peer and the lane of a connection of the transport, or that it is closed.
    pub(super) fn own(&mut self, connection: u32, owner: Option<Owner>) {
        let place = connection as usize;
        if place >= self.owners.len() {
            self.owners.resize(place + 1, None);
        }
        self.owners[place] = owner;
    }
}

/// Opens the connections of the transport for a peer's lanes.
pub(super) fn open_lanes(
    endpoint: &mut RecordedEndpoint,
    peers: &mut Peers,
    id: PeerId,
    now: Time,
) {
    for (lane, number) in (0..LANES).zip(LaneNumber::ALL) {
        let owner = Some(Owner { slot: id.slot, lane: number });
        let class = number.get();
        let sends = endpoint.open_sender(class, class.into());
        let receives = endpoint.open_receiver(class, class.into());
        peers.own(sends, owner);
        peers.own(receives, owner);
        let Some(peer) = peers.get_mut(id) else { return };
        let lane = &mut peer.lanes[lane];
        (lane.sends, lane.receives) = (sends, receives);
        // Those that were posted before the connection was open.
        for bytes in lane.outbox.lengths() {
            endpoint.post(now, sends, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::node;
    use super::super::{Event, Gone};
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_connection_whose_numbers_are_used_up_ends_at_both_ends() {
        let (mut client, mut server) = (node(), node());
        let address = server.address().unwrap();
        let peer = client.connect(address, None).unwrap();
        let (mut here, mut there) = (None, None);
        let until = Instant::now() + Duration::from_secs(20);
        while here.is_none() || there.is_none() {
            assert!(Instant::now() < until, "{here:?} here, {there:?} there");
            for end in [&mut client, &mut server] {
                end.turn(Some(Instant::now() + Duration::from_millis(1)), None).unwrap();
            }
            while let Some(event) = client.poll_event() {
                match event {
                    Event::Opened { .. } => {
                        let link = client.peers.get_mut(peer).unwrap().link.as_mut().unwrap();
                        link.newest = Link::LAST - 1;
                        assert!(!link.is_spent());
                        link.newest += 1;
                    }
                    Event::Gone { why, .. } => here = Some(why),
                    _ => {}
                }
            }
            while let Some(event) = server.poll_event() {
                if let Event::Gone { why, .. } = event {
                    there = Some(why);
                }
            }
        }
        assert_eq!(here, Some(Gone::Spent(address)));
        assert_eq!(there, Some(Gone::Closed(client.address().unwrap())));
    }
}

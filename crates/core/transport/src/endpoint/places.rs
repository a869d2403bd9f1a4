//! The places of connections: how a connection gets one and gives it back, and what it leaves.

use incast_cc::param::Transport;
use incast_cc::parts::random::derive;
use incast_cc::{CongestionControl, Time};

use super::{Connection, Endpoint};
use crate::connection::{Address, Opener, Opening, Role, Terms};
use crate::directory::{END, Standing};
use crate::halves::{Receiver, Sender};
use crate::random;
use crate::stamps::Stamps;

impl<C: CongestionControl> Endpoint<C> {
    /// Expects this many connections more. Each is opened as `opener` says when something is posted
    /// on it or a packet arrives for it, and takes four bytes until then. One with [`Terms::once`]
    /// leaves not much more when it has finished.
    ///
    /// # Panics
    /// On a second call: there is one opener.
    pub fn expect(&mut self, connections: usize, opener: Opener) {
        assert!(self.opener.is_none(), "connections are expected already");
        self.opener = Some(opener);
        self.directory.expect(connections);
    }

    /// Opens a connection of messages, which the peer has as `peer`, and returns its index, which
    /// the peer must be told.
    pub fn open(&mut self, role: Role, peer: u32) -> u32 {
        self.open_on(Terms::default(), role, peer)
    }

    /// Opens a connection on `terms`, which must be the same at both ends but for the path.
    pub fn open_on(&mut self, terms: Terms, role: Role, peer: u32) -> u32 {
        let index = self.directory.add();
        let seed = derive(self.config.seed, random::CONNECTION, &[u64::from(index)]);
        let opening = Opening { terms, role, peer, address: Address::default(), seed };
        let receiver = self.receiver(&terms);
        self.settle_in(index, opening, receiver, false, None);
        index
    }

    /// Closes a connection that [`open`](Self::open) has opened, whatever it is doing: its peer is
    /// gone. What it has posted is never told of, and packets that still come for it are left
    /// alone. Another connection may get its index.
    ///
    /// # Panics
    /// When the connection is not open.
    pub fn close(&mut self, connection: u32) {
        let Standing::Open(place) = self.directory.standing(connection) else {
            panic!("connection {connection} is not open");
        };
        self.directory.close(connection);
        self.pacing.schedule(place, None);
        if let Some(granter) = &mut self.granter {
            granter.on_end(connection);
        }
        let closed = &mut self.connections[place as usize];
        if let Some(sender) = closed.sender.take() {
            self.nic_backlog -= sender.queued();
            self.active -= u32::from(closed.opening.role == Role::Sender && !sender.is_idle());
        }
        closed.alarm = Time::MAX;
        let transport = closed.opening.terms.transport;
        self.receivers[place as usize] = Receiver::new(transport, 1);
        let is = |index: u32| index == connection;
        self.replies.retain(|reply| !is(reply.connection));
        let events = self.event.take().into_iter().chain(std::mem::take(&mut self.events));
        self.events = events.filter(|event| !is(event.connection())).collect();
        if self.pacing.is_idle(place) {
            self.vacate(place);
        }
    }

    /// The sequence number that a connection of messages waits for: all before it have arrived.
    /// [`None`] if the connection is not open.
    pub fn awaits(&self, connection: u32) -> Option<u64> {
        match self.directory.standing(connection) {
            Standing::Open(place) => Some(self.receivers[place as usize].expects()),
            _ => None,
        }
    }

    /// A new receiver of a connection.
    fn receiver(&self, terms: &Terms) -> Receiver {
        Receiver::new(terms.transport, self.scheme(terms.scheme).delayed_ack)
    }

    /// Gives a connection a place, and returns it.
    #[expect(clippy::cast_possible_truncation, reason = "the directory bounds places")]
    fn settle_in(
        &mut self,
        index: u32,
        opening: Opening,
        receiver: Receiver,
        expected: bool,
        left: Option<u32>,
    ) -> u32 {
        let ack_class = self.scheme(opening.terms.scheme).ack_class;
        let connection = Connection {
            index,
            opening,
            ack_class: ack_class.unwrap_or(opening.terms.class),
            expected,
            left,
            sender: None,
            retransmissions: 0,
            delivered: u64::from(left.is_some()),
            completed: 0,
            alarm: Time::MAX,
            notify_from: Time::ZERO,
            stamps: Stamps::NONE,
        };
        let place = self.vacant.pop().unwrap_or(self.connections.len() as u32);
        self.directory.open(index, place);
        self.pacing.put(place, index, opening.terms.class);
        if place as usize == self.connections.len() {
            self.connections.push(connection);
            self.receivers.push(receiver);
        } else {
            self.connections[place as usize] = connection;
            self.receivers[place as usize] = receiver;
        }
        place
    }

    /// The place of a connection. It is opened if it is expected, and again if something has come
    /// late for its only message. [`None`] if it has finished sending.
    #[cold]
    pub(super) fn opened(&mut self, index: u32) -> Option<u32> {
        let left = match self.directory.standing(index) {
            Standing::Open(place) => return Some(place),
            Standing::Sent(_) | Standing::Closed => return None,
            Standing::Expected => None,
            Standing::Received(number) => Some(number),
        };
        let opening = self.opener.as_ref().map(|opener| opener(index));
        let opening = opening.unwrap_or_else(|| unreachable!("{index} is expected to be opened"));
        let transport = opening.terms.transport;
        let receiver = match left {
            None => self.receiver(&opening.terms),
            Some(number) => {
                let delayed_ack = self.scheme(opening.terms.scheme).delayed_ack;
                Receiver::revived(transport, delayed_ack, &self.directory.remains(number))
            }
        };
        Some(self.settle_in(index, opening, receiver, true, left))
    }

    /// Frees the place of a connection that has received its only message and has nothing left to
    /// do, and the places of those that have waited for their notification interval.
    #[cold]
    pub(super) fn leave(&mut self, now: Time, place: u32) {
        while let Some(&index) = self.leaving.front() {
            let waits = self.connections.get(self.directory.place(index) as usize);
            if waits.is_some_and(|connection| connection.notify_from > now) {
                break;
            }
            self.leaving.pop_front();
            if let Standing::Open(place) = self.directory.standing(index) {
                self.try_to_leave(now, place);
            }
        }
        self.try_to_leave(now, place);
    }

    fn try_to_leave(&mut self, now: Time, place: u32) {
        let Connection { index, left, expected, delivered, notify_from, ref opening, .. } =
            self.connections[place as usize];
        let is_open = self.directory.place(index) == place;
        if !is_open || !expected || delivered == 0 || !opening.terms.once {
            return;
        }
        let Some(remains) = self.receivers[place as usize].remains() else { return };
        if notify_from > now {
            self.leaving.push_back(index);
            return;
        }
        self.directory.received(index, remains, left);
        if let Some(granter) = &mut self.granter {
            granter.on_end(index);
        }
        self.vacate(place);
    }

    /// Frees the place of a connection that has sent its only message.
    pub(super) fn sent_all(&mut self, place: u32) {
        let Connection { index, retransmissions, .. } = self.connections[place as usize];
        if self.directory.standing(index) != Standing::Open(place) {
            // It was closed while it waited for the NIC.
            return self.vacate(place);
        }
        if let Some(retransmissions) = u32::try_from(retransmissions).ok().filter(|&n| n < END)
            && self.pacing.is_idle(place)
        {
            self.directory.sent(index, retransmissions);
            self.vacate(place);
        }
    }

    fn vacate(&mut self, place: u32) {
        self.connections[place as usize].stamps = Stamps::NONE;
        self.receivers[place as usize] = Receiver::new(Transport::default(), 1);
        self.vacant.push(place);
    }

    /// The sending half of a connection, from its first message on. With [`Terms::once`] there is
    /// none after that message was acknowledged.
    pub fn sender(&self, connection: u32) -> Option<&Sender<C>> {
        self.connections.get(self.directory.place(connection) as usize)?.sender.as_deref()
    }

    /// The number of packets of a connection that were sent again.
    pub fn retransmissions(&self, connection: u32) -> u64 {
        match self.directory.standing(connection) {
            Standing::Open(place) => {
                let Connection { sender, retransmissions, .. } = &self.connections[place as usize];
                sender.as_deref().map_or(*retransmissions, Sender::retransmissions)
            }
            Standing::Sent(retransmissions) => u64::from(retransmissions),
            Standing::Expected | Standing::Received(_) | Standing::Closed => 0,
        }
    }

    /// The payload of a connection that has arrived here, each byte counted once.
    pub fn delivered_bytes(&self, connection: u32) -> u64 {
        match self.directory.standing(connection) {
            Standing::Open(place) => self.receivers[place as usize].delivered_bytes(),
            Standing::Received(number) => self.directory.remains(number).delivered_bytes,
            Standing::Expected | Standing::Sent(_) | Standing::Closed => 0,
        }
    }

    /// The number of packets of a connection that arrived here more than once.
    pub fn duplicates(&self, connection: u32) -> u64 {
        match self.directory.standing(connection) {
            Standing::Open(place) => self.receivers[place as usize].duplicates(),
            Standing::Received(number) => u64::from(self.directory.remains(number).duplicates),
            Standing::Expected | Standing::Sent(_) | Standing::Closed => 0,
        }
    }

    /// The number of connections that have a place: opened, and not finished.
    pub fn open_connections(&self) -> usize {
        self.connections.len() - self.vacant.len()
    }
}

//! Packets that leave: replies and data, for a NIC that asks when it is free.

use incast_cc::{CongestionControl, Feedback, Leaving, Time};

use super::{Endpoint, Outgoing, Reply, counted};
use crate::config::Nic;
use crate::connection::Opening;
use crate::halves::{Sender, facts};
use crate::message::OutgoingBurst;
use crate::pacing::Turn;
use crate::packet::{Form, Next};
use crate::stamps::Stamps;

impl<C: CongestionControl> Endpoint<C> {
    /// The next credit that is due, or the next ACK or report that the hardware has ready, of a class
    /// in the mask `open`. Replies
    /// go before data, and do not count where their class shares with others. In a NIC that is one
    /// queue they go only before data that was queued later: if there is no data to send after all,
    /// ask again.
    #[inline]
    pub fn poll_reply(&mut self, now: Time, open: u8) -> Option<Outgoing> {
        if self.granter.is_some()
            && let Some(credit) = self.poll_credit(now, open)
        {
            return Some(credit);
        }
        let place = self.next_reply(now, open)?;
        if self.config.nic == Nic::Fifo && self.data_is_before(place) {
            return None;
        }
        let reply = match place {
            0 => self.replies.pop_front(),
            place => self.replies.remove(place),
        };
        let reply = reply?;
        let address = reply.address();
        let Reply { connection, class, header, full, stamps, .. } = reply;
        let form = full.map_or(Form::Compact(header), |packet| Form::Full(*packet));
        Some(Outgoing { connection, address, class, begins: None, form, stamps })
    }

    /// The next data packet that may leave now, of a class in the mask `open`, for a NIC that is
    /// free.
    #[inline]
    pub fn poll_data(&mut self, now: Time, open: u8) -> Option<Outgoing> {
        while let Some(mut place) = self.pacing.serve(open) {
            if self.config.nic == Nic::Srpt {
                place = self.shortest(place);
            }
            let connection = &mut self.connections[place as usize];
            let Opening { peer, address, terms, .. } = connection.opening;
            let (index, mut class) = (connection.index, terms.class);
            let Some(sender) = &mut connection.sender else {
                self.pacing.sent(self.pacing.class(place), 0, Turn::Ended);
                self.sent_all(place);
                continue;
            };
            let config = &self.config;
            let chooses = sender.chooses_class();
            if chooses {
                class = self.pacing.class(place);
                let chosen = sender.class_below(terms.class, config);
                if let Some(chosen) = chosen.filter(|&chosen| chosen != class) {
                    self.pacing.sent(class, 0, Turn::Kept);
                    self.pacing.change(place, chosen);
                    continue;
                }
            }
            let next = counted(&mut self.nic_backlog, sender, |sender| {
                sender.next_packet(now, peer, config)
            });
            let Some(Next { form, begins, then }) = next else {
                // The data was acknowledged while it waited to be sent again.
                self.pacing.sent(class, 0, Turn::Ended);
                self.pacing.change(place, terms.class);
                self.reschedule(now, place);
                continue;
            };
            if connection.alarm == Time::MAX
                && then.is_some()
                && sender.clock_starts_first()
                && let Some(at) = sender.alarm_before(Time::MAX, config)
            {
                connection.arm(now, at, &mut self.alarms);
            }
            let bytes = u64::from(form.payload()) + self.config.header.get();
            let turn = if then.is_none_or(|at| at > now) {
                Turn::Ended
            } else {
                let facts = facts(terms.transport);
                match config.nic {
                    Nic::Segments if facts.segments => Turn::Kept,
                    Nic::Srpt => Turn::Kept,
                    Nic::Fifo if facts.waits_in_nic => {
                        let sender = connection.sender.as_ref();
                        Turn::Queued(sender.map_or(now, |sender| sender.waits_since(now)))
                    }
                    Nic::Segments | Nic::Fifo | Nic::Packets => Turn::Passed,
                }
            };
            self.pacing.sent(class, bytes, turn);
            if chooses {
                // A pause ends in the class of the traffic: the next packet is looked at there.
                let sender = connection.sender.as_ref();
                let next = sender.and_then(|sender| sender.class_below(terms.class, config));
                let waits = turn != Turn::Ended;
                self.pacing.change(place, next.filter(|_| waits).unwrap_or(terms.class));
            }
            match then {
                None => self.reschedule(now, place),
                at if turn == Turn::Ended => self.pacing.schedule(place, at),
                Some(_) => {}
            }
            let stamps = Stamps::NONE;
            return Some(Outgoing { connection: index, address, class, begins, form, stamps });
        }
        None
    }

    /// The packets that may leave now of one segment of messages, of a class in the mask `open`: all
    /// of a burst at once, unless the algorithm spaces them. It is for a carrier that has the
    /// payload and whose NIC [serves segments whole](Nic::Segments), without weights of classes,
    /// and brings the packets that [`poll_data`](Self::poll_data) would one by one.
    pub fn poll_burst(&mut self, now: Time, open: u8) -> Option<OutgoingBurst> {
        while let Some(place) = self.pacing.serve(open) {
            let connection = &mut self.connections[place as usize];
            let Opening { peer, terms, .. } = connection.opening;
            let ends = (connection.index, peer);
            let Some(sender) = &mut connection.sender else {
                self.pacing.sent(self.pacing.class(place), 0, Turn::Ended);
                self.sent_all(place);
                continue;
            };
            let taken = match &mut **sender {
                Sender::Message(sender) => sender.take_together(now, ends, &self.config),
                Sender::Stream(_) => None,
            };
            let Some((burst, then)) = taken else {
                // The data was acknowledged while it waited to be sent again.
                self.pacing.sent(terms.class, 0, Turn::Ended);
                self.reschedule(now, place);
                continue;
            };
            let headers = self.config.header.get() * u64::from(burst.indices.len());
            let turn = if then.is_none_or(|at| at > now) { Turn::Ended } else { Turn::Kept };
            self.pacing.sent(terms.class, burst.payload() + headers, turn);
            match then {
                None => self.reschedule(now, place),
                at if turn == Turn::Ended => self.pacing.schedule(place, at),
                Some(_) => {}
            }
            return Some(burst);
        }
        None
    }

    /// The connection that goes before all that are ready in the class of the connection at `place`,
    /// in a NIC that serves the shortest remaining first.
    #[cold]
    fn shortest(&mut self, place: u32) -> u32 {
        let Self { pacing, connections, .. } = self;
        pacing.put_least_first(pacing.class(place), |place| {
            let sender = connections[place as usize].sender.as_deref();
            sender.map_or(0, Sender::remaining)
        })
    }

    /// The header that the algorithm of a connection writes into a data packet that leaves now, for
    /// ports that answer.
    #[cold]
    pub fn request(&mut self, now: Time, connection: u32, form: &Form) -> Option<Feedback> {
        let place = self.directory.place(connection);
        let sender = self.connections.get_mut(place as usize)?.sender.as_deref_mut()?;
        let mut leaving = Leaving::new(now);
        leaving.is_answered = form.is_answered();
        leaving.is_last = leaving.is_answered && sender.is_drained() && sender.queued() == 0;
        sender.request(&leaving)
    }

    /// The next packet that may leave now, a reply before data, after timers that are due. It is
    /// for a carrier without priorities.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        self.on_timer(now);
        let reply = self.poll_reply(now, u8::MAX);
        let data = reply.or_else(|| self.poll_data(now, u8::MAX));
        data.or_else(|| self.poll_reply(now, u8::MAX))
    }

    /// The place of a packet's payload, for a carrier that has the bytes: where it starts in all
    /// payload that was posted on its connection, message after message. [`None`] once it is
    /// acknowledged, and for streams, whose sequence numbers say it.
    pub fn payload_at(&self, connection: u32, sequence: u64) -> Option<u64> {
        self.sender(connection)?.payload_at(sequence, &self.config)
    }

    /// Notes the stamp that a NIC or the kernel has given a packet of a message when it left, for
    /// RTTs by [stamps](crate::Clock::Stamps). Tell it before the ACK; stamps of streams are not
    /// used.
    pub fn on_sent_at(&mut self, connection: u32, sequence: u64, attempt: u8, stamp: Time) {
        let place = self.directory.place(connection);
        if let Some(connection) = self.connections.get_mut(place as usize)
            && let Some(sender) = connection.sender.as_deref_mut()
        {
            sender.on_sent_at(sequence, attempt, stamp);
        }
    }

    /// Whether the NIC is one queue for streams and their ACKs.
    #[inline]
    pub fn is_one_queue(&self) -> bool {
        self.config.nic == Nic::Fifo
    }

    /// Whether data of the same class has been in the NIC's queue before a reply.
    #[cold]
    fn data_is_before(&self, reply: usize) -> bool {
        let Some(Reply { ready_at, class, .. }) = self.replies.get(reply) else { return false };
        self.pacing.waits_since(*class).is_some_and(|since| since < *ready_at)
    }

    /// Whether data of a class in the mask `open` may leave now.
    #[inline]
    pub fn has_data(&self, open: u8) -> bool {
        self.pacing.has_ready(open)
    }

    /// Whether a reply of a class in the mask `open` may leave now.
    #[inline]
    pub fn has_reply(&self, now: Time, open: u8) -> bool {
        self.next_reply(now, open).is_some() || self.granter.is_some() && self.has_credit(open)
    }

    /// The time at which the next reply becomes ready of a class in the mask `open`, for a carrier
    /// that holds others back: [`next_timer`](Self::next_timer) looks at the first reply alone.
    #[cold]
    pub fn next_open_reply_at(&self, now: Time, open: u8) -> Option<Time> {
        let later = self.replies.iter().skip_while(|reply| reply.ready_at <= now);
        let mut open = later.filter(|reply| open & 1 << reply.class != 0);
        open.next().map(|reply| reply.ready_at)
    }

    /// The index of the first reply that is ready and whose class may send: the first of all,
    /// unless PFC holds its class back.
    #[inline]
    fn next_reply(&self, now: Time, open: u8) -> Option<usize> {
        let first = self.replies.front()?;
        if first.ready_at > now {
            return None;
        }
        if open & 1 << first.class != 0 { Some(0) } else { self.next_open_reply(now, open) }
    }

    #[cold]
    fn next_open_reply(&self, now: Time, open: u8) -> Option<usize> {
        let mut ready = self.replies.iter().take_while(|reply| reply.ready_at <= now);
        ready.position(|reply| open & 1 << reply.class != 0)
    }
}

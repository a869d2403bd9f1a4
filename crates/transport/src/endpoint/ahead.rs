//! Packets that leave ahead of time: a NIC whose next packets are known gets them at once.
//!
//! A NIC serves replies before data, and connections in turn. While one connection alone has data,
//! the next packets are known, and so is when each starts: when the one before it ends. Such a NIC
//! need not ask again at each start. What may still change the order is what comes later: a reply,
//! another connection, a timer. The carrier then takes back what has not started
//! ([`Endpoint::put_back_data`], [`Endpoint::put_back_reply`]), and all is as if it had never left.

use std::cmp::Reverse;

use incast_cc::{CongestionControl, Time};

use super::{Endpoint, Outgoing, Reply};
use crate::config::{Config, Nic};
use crate::connection::Address;
use crate::packet::Header;

/// The next packet of a NIC that is told ahead of time.
#[derive(Clone, Debug)]
pub enum Ahead {
    /// A reply, and its start.
    Reply(Outgoing, Time),
    /// Data, and its start.
    Data(Outgoing, Time),
    /// What comes next is not known, or not wanted, before the NIC is free.
    Ask,
    /// There is none.
    None,
}

impl Config {
    /// Whether a NIC of this kind may be given packets ahead of time.
    const fn may_leave_ahead(&self) -> bool {
        let mut class = 0;
        while class < self.weights.len() {
            if self.weights[class] != 0 {
                return false;
            }
            class += 1;
        }
        let unlimited = self.stream.small_queue.get() == u64::MAX;
        !self.full_packets && !matches!(self.nic, Nic::Fifo) && unlimited
    }
}

impl<C: CongestionControl> Endpoint<C> {
    /// Whether [`poll_ahead`](Self::poll_ahead) may ever tell a packet ahead of time.
    pub const fn may_leave_ahead(&self) -> bool {
        self.config.may_leave_ahead()
    }

    /// The next packet for a NIC that will be free at `free`, which no class of packets is kept
    /// from. A packet ahead of time starts before `limit`.
    #[inline]
    pub fn poll_ahead(&mut self, now: Time, free: Time, limit: Time) -> Ahead {
        let start = free.max(now);
        if start >= limit && start > now {
            return Ahead::Ask;
        }
        if let Some(&Reply { ready_at, ref more, .. }) = self.replies.front() {
            if ready_at <= start {
                if start > now && more.is_some() {
                    return Ahead::Ask;
                }
                let reply = self.poll_reply(start, u8::MAX);
                return reply.map_or(Ahead::None, |reply| Ahead::Reply(reply, start));
            }
            // A host that sends nothing else knows that nothing comes between.
            let alone = self.active == 0 && self.sends_nothing();
            if alone && more.is_none() && ready_at < limit {
                let reply = self.poll_reply(ready_at, u8::MAX);
                return reply.map_or(Ahead::None, |reply| Ahead::Reply(reply, ready_at));
            }
        }
        if !self.pacing.has_ready(u8::MAX) {
            return Ahead::None;
        }
        if start > now {
            let only = self.pacing.only_ready();
            let sender = only.and_then(|place| self.connections[place as usize].sender.as_ref());
            if !sender.is_some_and(|sender| sender.may_leave_ahead(&self.config)) {
                return Ahead::Ask;
            }
        }
        self.poll_data(start, u8::MAX).map_or(Ahead::None, |data| Ahead::Data(data, start))
    }

    /// Whether no connection has data that waits for the NIC or for its send time.
    #[inline]
    fn sends_nothing(&self) -> bool {
        !self.pacing.has_ready(u8::MAX) && self.pacing.next_release() == Time::MAX
    }

    /// The time at which the next reply is ready; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next_reply_at(&self) -> Time {
        self.replies.front().map_or(Time::MAX, |reply| reply.ready_at)
    }

    /// Whether the next packet of `connection`, whose data is ahead of time, would be so too: no
    /// other connection has data for the NIC, and the algorithm has not begun to pace.
    #[inline]
    pub fn stays_ahead(&self, connection: u32) -> bool {
        let place = self.directory.place(connection);
        let alone = !self.pacing.has_ready(u8::MAX) || self.pacing.only_ready() == Some(place);
        let connection = self.connections.get(place as usize);
        let sender = connection.and_then(|connection| connection.sender.as_ref());
        alone && sender.is_some_and(|sender| sender.may_leave_ahead(&self.config))
    }

    /// Whether a timer is due that looks at what has left.
    #[inline]
    pub fn has_alarm(&self, now: Time) -> bool {
        self.alarms.peek().is_some_and(|&Reverse((at, _))| at <= now)
    }

    /// Whether a packet that has arrived may look at what has left: all but data, and ACKs that
    /// acknowledge the next data in order and tell nothing else.
    #[inline]
    pub fn may_look(&self, header: &Header) -> bool {
        !self.is_plain(header)
    }

    /// Takes the last `bytes` of a connection back that have left ahead of time.
    pub fn put_back_data(&mut self, now: Time, connection: u32, bytes: u64) {
        let place = self.directory.place(connection);
        if let Some(sender) = &mut self.connections[place as usize].sender {
            sender.put_back(now, bytes);
            self.nic_backlog += bytes;
            self.pacing.put_first(place);
        }
    }

    /// Takes a reply back that has left ahead of time, for the time of its start; the last one
    /// first.
    pub fn put_back_reply(&mut self, start: Time, address: Address, class: u8, header: Header) {
        let (ready_at, connection) = (start, u32::MAX);
        self.replies.push_front(Reply { ready_at, address, header, connection, class, more: None });
    }
}

//! Packets that leave ahead of time: a NIC whose next packets are known gets them at once.
//!
//! A NIC serves replies before data, and connections in turn. While one connection alone has data,
//! the next packets are known, and so is when each starts: when the one before it ends. Such a NIC
//! need not ask again at each start. What may still change the order is what comes later: a reply,
//! another connection, a timer. The carrier then takes back what has not started
//! ([`Endpoint::put_back_data`], [`Endpoint::put_back_reply`]), and all is as if it had never left.

use std::cmp::Reverse;

use incast_cc::{CongestionControl, Time};

use super::{Endpoint, Reply};
use crate::config::{Config, Nic};
use crate::connection::{Address, Opening};
use crate::halves::Sender;
use crate::pacing::Turn;
use crate::packet::Header;

/// A packet that leaves ahead of time, or at once.
#[derive(Clone, Copy, Debug)]
pub struct Early {
    /// The packet, in the compact form.
    pub header: Header,
    /// The address of the peer.
    pub address: Address,
    /// The traffic class.
    pub class: u8,
    /// The connection's index here; of no meaning for a reply.
    pub connection: u32,
    /// The time of posting, in the first packet of a message.
    pub begins: Option<Time>,
}

/// The reason why no more packets leave ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There are none.
    Empty,
    /// The next packet is not known, or not wanted, before the NIC is free.
    Ask,
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
    /// Whether [`leave_ahead`](Self::leave_ahead) may ever give a packet ahead of time.
    pub const fn may_leave_ahead(&self) -> bool {
        self.config.may_leave_ahead()
    }

    /// Gives `put` the next packets, up to `most`, for a NIC that will be free at `free` and sends
    /// all classes. `put` gets the start of each, and returns when the NIC is free again. Packets
    /// that are ahead of time start before `limit`.
    #[inline]
    pub fn leave_ahead(
        &mut self,
        now: Time,
        mut free: Time,
        limit: Time,
        mut most: u32,
        mut put: impl FnMut(Time, &Early) -> Time,
    ) -> Stop {
        loop {
            let (start, replies) = (free.max(now), self.next_reply_at());
            if most == 0 || start >= limit && start > now {
                return Stop::Ask;
            }
            most -= 1;
            if replies < Time::MAX {
                // A host that sends nothing else knows that nothing comes between.
                let at = start.max(replies);
                if at == start || self.active == 0 && self.sends_nothing() && at < limit {
                    match self.leave_reply() {
                        Some(early) => free = put(at, &early),
                        None => return Stop::Ask,
                    }
                    continue;
                }
            }
            if !self.pacing.has_ready(u8::MAX) {
                return Stop::Empty;
            }
            let Some(place) = self.pacing.only_ready() else { return Stop::Ask };
            let sender = self.connections[place as usize].sender.as_deref_mut();
            let Some(Sender::Stream(_)) = sender else { return Stop::Ask };
            let until = limit.min(replies);
            match self.leave_data(now, free, until, &mut most, place, &mut put) {
                Some(next) => free = next,
                None => return Stop::Ask,
            }
        }
    }

    /// Takes the next reply out, if it has the compact form.
    #[inline]
    fn leave_reply(&mut self) -> Option<Early> {
        let &Reply { address, header, class, connection, ref more, .. } = self.replies.front()?;
        if more.is_some() {
            return None;
        }
        self.replies.pop_front();
        Some(Early { header, address, class, connection, begins: None })
    }

    /// Gives `put` the data of the only connection that has any, as far as its starts are known and
    /// before `until`. Returns the time at which the NIC is free then; [`None`] if nothing may
    /// leave.
    #[inline]
    fn leave_data(
        &mut self,
        now: Time,
        mut free: Time,
        until: Time,
        most: &mut u32,
        place: u32,
        put: &mut impl FnMut(Time, &Early) -> Time,
    ) -> Option<Time> {
        let Self { connections, config, pacing, .. } = self;
        let connection = &mut connections[place as usize];
        let Opening { peer, address, ref terms, .. } = connection.opening;
        let (index, class) = (connection.index, terms.class);
        let Some(Sender::Stream(sender)) = connection.sender.as_deref_mut() else { return None };
        let (queued, mut left) = (sender.queued(), None);
        loop {
            let start = free.max(now);
            let known = sender.may_leave_ahead(config);
            if start > now && (!known || start >= until) || !sender.is_fast() {
                break;
            }
            let Some((header, begins)) = sender.leave_fast(start, peer, config) else { break };
            left = Some(start);
            free = put(start, &Early { header, address, class, connection: index, begins });
            if *most == 0 || !known {
                break; // the next asks for its own event
            }
            *most -= 1;
        }
        self.nic_backlog = self.nic_backlog + sender.queued() - queued;
        let (last, is_empty, is_paced) = (left?, !sender.has_queued(), sender.is_paced(config));
        // The first segment that leaves starts the clock of a stream, and the last the probe's.
        if (is_empty || connection.alarm == Time::MAX)
            && let Some(at) = sender.alarm_before(connection.alarm, config)
        {
            connection.arm(last, at, &mut self.alarms);
        }
        if is_empty {
            pacing.sent(class, 0, Turn::Ended);
            if is_paced {
                self.reschedule(last, place);
            }
        }
        Some(free)
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

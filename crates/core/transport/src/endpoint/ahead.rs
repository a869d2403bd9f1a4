//! Packets that leave ahead of time: a NIC whose next packets are known gets them at once.
//!
//! A NIC serves replies before data, and connections in turn. While one connection alone has data,
//! the next packets are known, and so is when each starts: when the one before it ends. Where bursts
//! are spaced, the next packet is known, too: that of the earliest send time. Such a NIC need not ask
//! again at each start. What may still change the order is what comes later: a reply, another
//! connection, an earlier send time, a timer. The carrier then takes back what has not started
//! ([`Endpoint::put_back_data`], [`Endpoint::put_back_spaced`], [`Endpoint::put_back_reply`]), and
//! all is as if it had never left.

use incast_cc::{CongestionControl, Time};

use super::{Endpoint, GRANTER, Reply};
use crate::config::{Config, Nic};
use crate::connection::{Address, Opening};
use crate::early::{Early, EarlyNic};
use crate::half::Sending;
use crate::halves::{Sender, facts};
use crate::pacing::Turn;
use crate::packet::Header;
use crate::stamps::Stamps;

/// The reason why no more packets leave ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There are none.
    Empty,
    /// The next packet is not known, or not wanted, before the NIC is free.
    Ask,
    /// The next segments of a stream are paced: the NIC rests between them.
    Paced,
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
        !self.full_packets && !matches!(self.nic, Nic::Fifo | Nic::Srpt) && unlimited
    }
}

impl<C: CongestionControl> Endpoint<C> {
    /// Whether [`leave_ahead`](Self::leave_ahead) may ever give a packet ahead of time.
    pub const fn may_leave_ahead(&self) -> bool {
        self.config.may_leave_ahead() && self.granter.is_none()
    }

    /// Gives `nic`, which will be free at `free` and sends all classes, the next packets, up to
    /// `most`. Packets that are ahead of time start before `limit`.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    pub fn leave_ahead(
        &mut self,
        now: Time,
        mut free: Time,
        limit: Time,
        mut most: u32,
        nic: &mut impl EarlyNic,
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
                        Some(early) => free = nic.take_reply(at, replies, &early),
                        None => return Stop::Ask,
                    }
                    continue;
                }
            }
            let until = limit.min(replies);
            if !self.pacing.has_ready(u8::MAX) {
                if replies <= start {
                    return Stop::Ask;
                }
                match self.leave_spaced((now, free, until), most + 1, nic) {
                    Some((next, count)) => (free, most) = (next, most + 1 - count),
                    None => return Stop::Empty,
                }
                continue;
            }
            let Some(place) = self.pacing.head() else { return Stop::Ask };
            match self.leave_data((now, free, until), &mut most, place, nic) {
                Some(next) => free = next,
                None if self.is_paced(place) => return Stop::Paced,
                None => return Stop::Ask,
            }
        }
    }

    /// Whether the next segments of a connection are paced.
    fn is_paced(&self, place: u32) -> bool {
        match self.connections[place as usize].sender.as_deref() {
            Some(Sender::Stream(sender)) => sender.is_paced(&self.config),
            Some(Sender::Message(_)) | None => false,
        }
    }

    /// Takes the next reply out, if it has the compact form.
    #[inline]
    fn leave_reply(&mut self) -> Option<Early> {
        let reply = self.replies.front()?;
        let address = reply.address();
        let &Reply { header, class, connection, ref full, ref stamps, .. } = reply;
        if full.is_some() || !stamps.is_empty() {
            return None;
        }
        self.replies.pop_front();
        Some(Early { header, address, class, connection, begins: None })
    }

    /// Gives `nic` the data of the connection whose turn it is, as far as its starts are known.
    /// `times` are now, the time at which the NIC is free, and the end of starts. Returns the time at
    /// which the NIC is free then; [`None`] if nothing may leave.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn leave_data(
        &mut self,
        times: (Time, Time, Time),
        most: &mut u32,
        place: u32,
        nic: &mut impl EarlyNic,
    ) -> Option<Time> {
        let Self { connections, config, pacing, .. } = self;
        let connection = &mut connections[place as usize];
        let Opening { peer, address, ref terms, .. } = connection.opening;
        let (index, class) = (connection.index, terms.class);
        let keeps_turn = config.nic == Nic::Segments && facts(terms.transport).segments;
        let is_known = keeps_turn || pacing.only_ready().is_some();
        let header = Header { connection: peer, ..Header::NONE };
        let early = Early { header, address, class, connection: index, begins: None };
        let sender = match connection.sender.as_deref_mut()? {
            Sender::Message(sender) if sender.is_spaced() => {
                return self.leave_first_spaced(times, place, nic);
            }
            sender if !is_known || sender.chooses_class() => return None,
            _ if nic.has_spaced() => return None,
            Sender::Stream(sender) => sender,
            Sender::Message(sender) => {
                let (free, count) = sender.leave_ahead(times, *most + 1, early, config, nic)?;
                *most -= count - 1;
                return Some(free);
            }
        };
        let queued = sender.queued();
        let (last, free, count) = sender.leave_ahead(times, *most + 1, early, config, nic)?;
        self.nic_backlog = self.nic_backlog + sender.queued() - queued;
        *most -= count - 1;
        let (is_empty, is_paced) = (!sender.has_queued(), sender.is_paced(config));
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
    pub(super) fn sends_nothing(&self) -> bool {
        !self.pacing.has_ready(u8::MAX) && !self.pacing.has_waiting()
    }

    /// The time at which the next reply is ready; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next_reply_at(&self) -> Time {
        self.replies.front().map_or(Time::MAX, |reply| reply.ready_at)
    }

    /// Whether the next packet of `connection`, whose data is ahead of time, would be so too: it is
    /// its turn, no other connection shares a stream's turn, and the algorithm has not begun to
    /// pace.
    #[inline]
    pub fn stays_ahead(&self, connection: u32) -> bool {
        let place = self.directory.place(connection);
        let connection = self.connections.get(place as usize);
        let Some(connection) = connection else { return false };
        let Some(sender) = connection.sender.as_deref() else { return false };
        let keeps_turn =
            self.config.nic == Nic::Segments && facts(connection.opening.terms.transport).segments;
        let is_next = if keeps_turn {
            self.pacing.head() == Some(place)
        } else {
            !self.pacing.has_ready(u8::MAX) || self.pacing.only_ready() == Some(place)
        };
        is_next && sender.may_leave_ahead(&self.config)
    }

    /// Whether a timer is due that looks at what has left. Alarms that come too early, or of which
    /// nothing is left, are set anew here: they look at nothing.
    #[inline]
    pub fn has_alarm(&mut self, now: Time) -> bool {
        self.due_alarm(now).is_some() && self.has_late_alarm(now)
    }

    #[cold]
    fn has_late_alarm(&mut self, now: Time) -> bool {
        while let Some(due) = self.due_alarm(now) {
            if self.is_late(now, due.1) {
                return true;
            }
            self.on_alarm(now, due);
        }
        false
    }

    /// Whether a timer of a connection has run out.
    fn is_late(&self, now: Time, index: u32) -> bool {
        let place = self.directory.place(index) as usize;
        let Some(connection) = self.connections.get(place) else { return index == GRANTER };
        let sender = connection.sender.as_deref();
        let sender = sender.and_then(|sender| sender.alarm_before(Time::MAX, &self.config));
        sender.into_iter().chain(self.receivers[place].alarm()).any(|at| at <= now)
    }

    /// Whether a packet that has arrived may look at what has left: all but data, and ACKs that
    /// acknowledge the next data in order and tell nothing else.
    #[inline]
    pub fn may_look(&self, header: &Header) -> bool {
        !self.is_plain(header)
    }

    /// Takes a packet of a connection's data back that has left ahead of time; the last one first.
    pub fn put_back_data(&mut self, now: Time, connection: u32, header: &Header) {
        let place = self.directory.place(connection);
        if let Some(sender) = &mut self.connections[place as usize].sender {
            let queued = sender.queued();
            sender.put_back(now, header);
            self.nic_backlog = self.nic_backlog + sender.queued() - queued;
            self.pacing.put_first(place);
        }
    }

    /// Takes a reply back that has left ahead of time, and is ready at `ready_at`; the last one
    /// first.
    pub fn put_back_reply(&mut self, ready_at: Time, address: Address, class: u8, header: Header) {
        let (connection, full, stamps) = (u32::MAX, None, Stamps::NONE);
        let Address { host, route } = address;
        let reply = Reply { ready_at, host, route, header, connection, class, full, stamps };
        self.replies.push_front(reply);
    }
}

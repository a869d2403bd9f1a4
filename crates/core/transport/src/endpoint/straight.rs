//! The usual packet of a stream, straight through.
//!
//! While no reply waits here, and no connection for the NIC or for its send time, the next segment
//! of a stream or the ACK of its next data concerns nobody else. Such a packet is taken in, and its
//! ACK or the data that it lets go is given to the NIC, without the queues and alarms that keep
//! several connections apart. All is as if it had gone by way of [`Endpoint::handle`] and
//! [`Endpoint::leave_ahead`].

use incast_cc::{CongestionControl, Time};

use super::{Endpoint, News};
use crate::connection::{Opening, Sample};
use crate::early::{Early, EarlyNic};
use crate::half::Sending;
use crate::halves::{Receiver, Sender};
use crate::packet::Header;
use crate::rate::Report;

/// The way of a packet that may go straight through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage<T> {
    /// The packet is not the usual one. Nothing has changed.
    Refused,
    /// The packet has been taken in, as by [`Endpoint::handle`], and leaves this work.
    Taken(News),
    /// The packet has gone through, and the NIC has what follows from it.
    Through(T),
}

impl<C: CongestionControl> Endpoint<C> {
    /// Whether nothing waits here: no reply, and no connection for the NIC or for its send time.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.replies.is_empty() && self.sends_nothing()
    }

    /// Lets the next segment of a stream through, with its ACK if there is one now. The endpoint
    /// [is at rest](Self::is_at_rest), and no timer is due. `times` are now, the time at which
    /// `nic`, which sends all classes, is free, and the end of starts.
    #[expect(clippy::inline_always, reason = "in the way of every segment")]
    #[inline(always)]
    pub fn pass_segment(
        &mut self,
        (now, free, until): (Time, Time, Time),
        header: &Header,
        marked: bool,
        nic: &mut impl EarlyNic,
    ) -> Passage<()> {
        debug_assert!(self.is_at_rest() && self.next_timer(now).is_none_or(|at| at > now));
        let place = self.directory.place(header.connection);
        let Some(Receiver::Stream(receiver)) = self.receivers.get(place as usize) else {
            return Passage::Refused;
        };
        if !receiver.is_plain(header, marked) || marked && self.notifies || nic.has_data() {
            return Passage::Refused;
        }
        let (ready_at, ack) = match self.answer_plain(now, place, header, marked) {
            Ok(answer) => answer,
            Err(news) => return Passage::Taken(news),
        };
        // A host that sends nothing else knows that nothing comes before the ACK.
        let (free, start) = (free.max(now), free.max(now).max(ready_at));
        let is_known = start == free || self.active == 0 && start < until;
        if !is_known || free >= until && free > now {
            return Passage::Taken(self.queue_reply(now, ready_at, ack));
        }
        nic.take_reply(start, ready_at, &ack);
        Passage::Through(())
    }

    /// Lets an ACK of the next data of a stream through, with the data that it lets go, as
    /// [`pass_segment`](Self::pass_segment) does. `nic` takes up to `most` packets, and has none of
    /// another connection ahead of time. Returns the RTT sample, and whether
    /// [`next_timer`](Self::next_timer) may have changed.
    #[expect(clippy::inline_always, reason = "in the way of every ACK")]
    #[inline(always)]
    pub fn pass_ack(
        &mut self,
        (now, free, until): (Time, Time, Time),
        most: u32,
        header: &Header,
        report: Report<'_>,
        nic: &mut impl EarlyNic,
    ) -> Passage<(Sample, bool)> {
        debug_assert!(self.is_at_rest() && self.next_timer(now).is_none_or(|at| at > now));
        let Self { directory, connections, config, alarms, .. } = self;
        let place = directory.place(header.connection);
        let Some(connection) = connections.get_mut(place as usize) else {
            return Passage::Refused;
        };
        let Some(Sender::Stream(sender)) = connection.sender.as_deref_mut() else {
            return Passage::Refused;
        };
        if !sender.acknowledges(header, config) {
            return Passage::Refused;
        }
        debug_assert_eq!(sender.queued(), 0, "data in the NIC is ready to be sent");
        let answered = sender.on_plain_ack(now, header, 0, config, report, self.nic_backlog);
        let is_later = sender.has_no_timer_before(connection.alarm);
        let alarm = if is_later { None } else { sender.alarm_before(connection.alarm, config) };
        let goes_on = sender.goes_on_ahead(now, nic.has_data(), config);
        let (true, (Some(sample), 0)) = (goes_on && alarm.is_none_or(|at| at > now), answered)
        else {
            self.nic_backlog += sender.queued();
            self.go_on(now, place, answered);
            return Passage::Taken(News::Now);
        };
        debug_assert!(!sender.is_idle(), "a message ends with the last data");
        let armed = alarm.map_or(connection.alarm, |at| at.min(connection.alarm));
        let (mut next_alarm, mut waits) = (None, false);
        if sender.has_queued() {
            let Opening { peer, address, ref terms, .. } = connection.opening;
            let header = Header { connection: peer, ..Header::NONE };
            let (class, index) = (terms.class, connection.index);
            let early = Early { header, address, class, connection: index, begins: None };
            let left = sender.leave_ahead((now, free, until), most, early, config, nic);
            waits = sender.has_queued();
            if let Some((last, ..)) = left
                && !is_later
                && (!waits || armed == Time::MAX)
            {
                next_alarm = sender.alarm_before(armed, config).map(|at| at.max(last));
            }
        }
        let queued = sender.queued();
        for at in [alarm, next_alarm].into_iter().flatten() {
            connection.arm(now, at, alarms);
        }
        if waits {
            self.nic_backlog += queued;
            let is_ready = self.pacing.release_at_once(now, place);
            debug_assert!(is_ready, "nobody else waits");
            nic.ask();
        }
        Passage::Through((sample, alarm.or(next_alarm).is_some()))
    }
}

//! A NIC whose next packets are on its link before their transmission starts.
//!
//! While nothing can change the order of a NIC's packets but an event of its own host, the host
//! puts them on the link as soon as they are known, each with its start. So packets need no events.
//! An event that changes the order, or looks at what has left, first takes back the packets that
//! have not started; then the host is as if each packet had its own event.

use std::collections::VecDeque;

use incast_cc::Time;
use incast_transport::{Address, Early, EarlyNic, Endpoint, Step, Stop};

use super::{Host, WireFormat};
use crate::Transit;
use crate::count::Count;
use crate::frame::Frame;
use crate::transmitter::Transmitter;

/// The most packets that are given to the link at one event.
pub(super) const MOST: u32 = 16;
/// The packets that must be ahead of time for each that is taken back.
const PRICE: i32 = 2;
/// The packets that must be ahead of time for each time that segments are paced, since the next
/// ones then are paced.
const PACED: i32 = 64;
/// The packets that must be ahead of time for each time that none was, although one could leave:
/// where messages are cut into segments of one packet, each packet ends a burst.
const VAIN: i32 = 4;
/// The bounds of the balance of all four.
const BALANCE: std::ops::RangeInclusive<i32> = -512..=64;

/// The packets of a NIC that are on its link ahead of time.
#[derive(Clone, Debug, Default)]
pub(super) struct NicAhead {
    /// Whether there may be any.
    pub(super) is_allowed: bool,
    /// The start of the last packet on the link.
    pub(super) until: Time,
    /// The time of the last event at which packets were put on the link.
    pub(super) served: Time,
    /// The one connection whose data is ahead of time, if there is data.
    pub(super) connection: Option<u32>,
    /// Whether the NIC rests between packets that are ahead of time.
    pub(super) rests: bool,
    /// The packets that were ahead of time, less some for each that was taken back and each time
    /// that segments were paced. Below zero it does not pay: packets leave one by one, and count,
    /// until it is zero again.
    balance: i32,
    /// The replies that are ready before they start: their starts, and when they are ready.
    waits: VecDeque<(Time, Time)>,
    /// The packets of spaced bursts that are ahead of time, and some before them.
    spaced: VecDeque<Spaced>,
}

/// A packet of a spaced burst.
#[derive(Clone, Copy, Debug)]
struct Spaced {
    /// The place of its connection.
    place: u32,
    /// The send time.
    at: Time,
    /// The start, which is later while the NIC is busy.
    start: Time,
}

impl NicAhead {
    /// Notes that a reply that is ready at `ready_at` waits for other packets until it starts.
    #[cold]
    fn note_wait(&mut self, now: Time, start: Time, ready_at: Time) {
        while self.waits.front().is_some_and(|&(start, _)| start <= now) {
            self.waits.pop_front();
        }
        self.waits.push_back((start, ready_at));
    }

    /// The time at which the last reply ahead of time is ready, which starts at `start`.
    fn ready_at(&mut self, start: Time) -> Time {
        match self.waits.back() {
            Some(&(at, ready_at)) if at == start => {
                self.waits.pop_back();
                ready_at
            }
            _ => start,
        }
    }
}

/// A host's NIC that takes packets before they start.
pub(super) struct HostNic<'a> {
    now: Time,
    nic: &'a mut Transmitter,
    ahead: &'a mut NicAhead,
    sent: &'a mut Count,
    wire: WireFormat,
    /// The message whose first packet has left: the start, the connection, and the time of posting.
    pub(super) begun: Option<(Time, u32, Time)>,
    transit: &'a mut Transit,
}

impl HostNic<'_> {
    #[expect(clippy::inline_always, reason = "a packet is long, and is made where it stays")]
    #[inline(always)]
    fn put(&mut self, start: Time, early: &Early, bytes: u16) -> Time {
        let Early { header, address, class, .. } = early;
        let Self { nic, ahead, .. } = self;
        (ahead.until, ahead.balance) = (start, (ahead.balance + 1).min(*BALANCE.end()));
        let frame = Frame::compact(*address, bytes, *class, header);
        self.sent.add(bytes);
        nic.transmit_packet(start, &frame, self.transit);
        nic.busy_until
    }

    /// Notes the message whose first packet is `data`, if it is the first of one.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn note_begin(&mut self, start: Time, data: &Early) {
        if let Some(posted) = data.begins {
            self.begun = Some((start, data.connection, posted));
        }
    }
}

impl EarlyNic for HostNic<'_> {
    #[inline]
    fn has_data(&self) -> bool {
        self.ahead.connection.is_some()
    }

    #[inline]
    fn has_spaced(&self) -> bool {
        !self.ahead.spaced.is_empty()
    }

    #[inline]
    fn take_spaced(&mut self, start: Time, data: &Early, place: u32, at: Time) -> Time {
        self.ahead.spaced.push_back(Spaced { place, at, start });
        self.note_begin(start, data);
        self.put(start, data, self.wire.header + data.header.payload)
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn take_reply(&mut self, start: Time, ready_at: Time, reply: &Early) -> Time {
        if start > ready_at.max(self.now) {
            self.ahead.note_wait(self.now, start, ready_at);
        }
        self.ahead.rests |= start > self.nic.busy_until.max(self.now);
        self.put(start, reply, self.wire.ack)
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn take_data(&mut self, start: Time, data: &Early, count: u32, step: Step) -> (Time, Time) {
        self.note_begin(start, data);
        let Early { header, address, class, connection, .. } = *data;
        let Self { nic, ahead, sent, wire, transit, .. } = self;
        let wire = wire.header + header.payload;
        let first = Frame::compact(address, wire, class, &header);
        let last = nic.transmit_several(start, first, count, step, transit);
        sent.add_several(wire, count);
        let balance = ahead.balance.saturating_add_unsigned(count).min(*BALANCE.end());
        (ahead.until, ahead.balance, ahead.connection) = (last, balance, Some(connection));
        (last, nic.busy_until)
    }

    fn ask(&mut self) {
        self.nic.wait(&mut self.transit.calendar);
    }
}

impl Host {
    /// Allows packets on the link before their transmission starts. Only where the link never
    /// changes, and nobody traces packets or stamps them.
    pub(crate) fn allow_ahead(&mut self) {
        let plain = !self.wire.telemetry && self.wire.marks_after_ns.is_none();
        self.ahead.is_allowed = plain && self.endpoint.may_leave_ahead();
    }

    /// Keeps packets off the link until their transmission starts.
    pub(crate) fn forbid_ahead(&mut self) {
        self.ahead.is_allowed = false;
    }

    /// Whether packets may leave ahead of time now, and gain by it.
    #[inline]
    pub(super) fn may_send_ahead(&mut self, now: Time) -> bool {
        let ahead = &mut self.ahead;
        if !ahead.is_allowed || self.nic.open_classes() != u8::MAX {
            return false;
        }
        if ahead.until > now {
            return true;
        }
        let pays = ahead.balance >= 0;
        ahead.balance += i32::from(!pays && self.nic.is_free(now));
        pays
    }

    /// The endpoint, and the NIC that takes packets of its before they start.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(super) fn with_nic<'a>(
        &'a mut self,
        now: Time,
        transit: &'a mut Transit,
    ) -> (&'a mut Endpoint, HostNic<'a>) {
        let Self { endpoint, nic, ahead, sent, wire, .. } = self;
        (endpoint, HostNic { now, nic, ahead, sent, wire: *wire, begun: None, transit })
    }

    /// Whether packets may leave ahead of time at `now`, behind those that are ahead: they are not
    /// spaced, and [pay](NicAhead::balance).
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    pub(super) fn goes_on_ahead(&mut self, now: Time) -> bool {
        let ahead = &mut self.ahead;
        if ahead.until < now {
            (ahead.connection, ahead.rests) = (None, false);
        }
        let pays = ahead.until > now || ahead.until < now && ahead.balance >= 0;
        ahead.is_allowed && pays && ahead.spaced.is_empty() && self.nic.open_classes() == u8::MAX
    }

    /// Puts the next packets on the link, as far as they are known. Packets [may
    /// leave](Self::may_send_ahead) ahead of time.
    #[inline(never)]
    pub(super) fn send_ahead(&mut self, now: Time, transit: &mut Transit) {
        if self.ahead.until > now {
            if self.has_other_order() {
                self.take_back(now, transit);
                if self.ahead.balance < 0 {
                    return self.send_by_event(now, transit);
                }
            }
            while self.ahead.spaced.front().is_some_and(|spaced| spaced.start <= now) {
                self.ahead.spaced.pop_front();
            }
        } else {
            (self.ahead.connection, self.ahead.rests) = (None, false);
            self.ahead.spaced.clear();
        }
        if self.ahead.spaced.is_empty() {
            self.endpoint.begin_plan();
        }
        self.ahead.served = now;
        if self.endpoint.is_at_rest() {
            return;
        }
        let limit = self.end_of_starts(now);
        let free = self.nic.busy_until;
        let (endpoint, mut early) = self.with_nic(now, transit);
        let stop = endpoint.leave_ahead(now, free, limit, MOST, &mut early);
        let begun = early.begun;
        if let Some((start, connection, posted)) = begun {
            self.begin(start, connection, posted);
        }
        if stop == Stop::Empty {
            return;
        }
        if self.nic.is_free(now) {
            self.ahead.balance -= if stop == Stop::Paced { PACED } else { VAIN };
            return self.send_by_event(now, transit);
        }
        if self.has_packet(now) {
            self.nic.wait(&mut transit.calendar);
        }
    }

    #[inline(never)]
    fn send_by_event(&mut self, now: Time, transit: &mut Transit) {
        self.send(now, transit);
    }

    /// Takes packets back if the first of them starts now, before whatever else is due now: an
    /// event of the NIC would do all that is due, and then send. Returns whether it did.
    #[expect(clippy::inline_always, reason = "in the way of every arrival")]
    #[inline(always)]
    pub(super) fn take_back_before_due(&mut self, now: Time, transit: &mut Transit) -> bool {
        self.timer_at <= now && self.ahead.until >= now && self.take_back_if_starting(now, transit)
    }

    #[cold]
    fn take_back_if_starting(&mut self, now: Time, transit: &mut Transit) -> bool {
        if self.ahead.served >= now {
            return false;
        }
        let starts = transit.links[self.nic.link as usize].starts_at(now);
        if starts {
            self.take_back(Time::from_ps(now.as_ps() - 1), transit);
        }
        starts
    }

    /// Whether packets that are ahead of time would leave in another order now.
    #[inline]
    fn has_other_order(&self) -> bool {
        let endpoint = &self.endpoint;
        let data = self.ahead.connection;
        self.ahead.rests && endpoint.has_data(u8::MAX)
            || !self.ahead.spaced.is_empty()
                && (endpoint.breaks_plan() || endpoint.next_reply_at() <= self.ahead.until)
            || data.is_some_and(|connection| {
                endpoint.next_reply_at() <= self.ahead.until || !endpoint.stays_ahead(connection)
            })
    }

    /// Takes back the packets that have not started.
    #[cold]
    pub(super) fn take_back(&mut self, now: Time, transit: &mut Transit) {
        let link = self.nic.link as usize;
        let mut balance = self.ahead.balance;
        while let Some((frame, start)) = transit.links[link].last() {
            if start <= now && !(start == now && self.waits_for_timer(now)) {
                break;
            }
            balance -= PRICE;
            transit.links[link].take_last(&mut transit.calendar);
            self.sent.remove(frame.wire);
            self.nic.uncount(&frame);
            let Some(header) = frame.header(self.wire.header) else { continue };
            if header.kind.is_data()
                && let Some(Spaced { place, at, .. }) = self.ahead.spaced.pop_back()
            {
                self.endpoint.put_back_spaced(now, place, at, &header);
            } else if header.kind.is_data()
                && let Some(connection) = self.ahead.connection
            {
                self.endpoint.put_back_data(now, connection, &header);
            } else {
                let ready_at = self.ahead.ready_at(start);
                let address = Address { host: frame.destination(), route: frame.path.bits() };
                self.endpoint.put_back_reply(ready_at, address, frame.class(), header);
            }
        }
        let busy_until = transit.links[link].sent_until();
        self.nic.busy_until = busy_until.unwrap_or(now);
        let balance = balance.max(*BALANCE.start());
        (self.ahead.until, self.ahead.connection) = (Time::ZERO, None);
        (self.ahead.rests, self.ahead.balance) = (false, balance);
        self.ahead.spaced.clear();
    }

    /// Whether the last packet ahead of time is spaced, and a timer of this very instant, which is
    /// still to come, would send it.
    fn waits_for_timer(&self, now: Time) -> bool {
        let last = self.ahead.spaced.back();
        self.ahead.served < now && last.is_some_and(|spaced| spaced.at == now)
    }

    /// Takes all packets back that start now or later, at the end of the run or the measurement:
    /// they have not left.
    pub(crate) fn take_back_from(&mut self, now: Time, transit: &mut Transit) {
        if self.ahead.until < now || self.ahead.until == Time::ZERO {
            return;
        }
        let before = Time::from_ps(now.as_ps().saturating_sub(1));
        self.take_back(before, transit);
        let free = self.nic.busy_until.max(now);
        transit.calendar.schedule(self.nic.component, free);
    }
}

//! A NIC whose next packets are on its link before their transmission starts.
//!
//! While nothing can change the order of a NIC's packets but an event of its own host, the host
//! puts them on the link as soon as they are known, each with its start. So it needs no event for
//! each. An event that changes the order, or looks at what has left, first takes back what has not
//! started; then the host is as if each packet had its own event.

use incast_cc::Time;
use incast_transport::{Address, Early, Kind, Stop};

use super::Host;
use crate::Transit;
use crate::frame::Frame;

/// The most packets that are given to the link at one event.
const MOST: u32 = 16;
/// The packets that must be ahead of time for each that is taken back.
const PRICE: i32 = 16;
/// The bounds of the balance of both.
const BALANCE: std::ops::RangeInclusive<i32> = -512..=64;

/// The packets of a NIC that are on its link ahead of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NicAhead {
    /// Whether there may be any.
    pub(super) is_allowed: bool,
    /// The start of the last packet on the link.
    pub(super) until: Time,
    /// The connection whose data is ahead of time, if there is data. It is one at a time.
    connection: Option<u32>,
    /// Whether the NIC rests between packets that are ahead of time.
    rests: bool,
    /// The packets that were ahead of time, less some for each that was taken back. Below zero it
    /// does not pay: packets leave one by one, and count, until it is zero again.
    balance: i32,
}

impl Host {
    /// Allows packets on the link before their transmission starts. Only where classes are never
    /// paused, the link never changes, and nobody traces packets or stamps them.
    pub(crate) fn allow_ahead(&mut self) {
        let plain = !self.wire.telemetry && self.wire.marks_after_ns.is_none();
        self.ahead.is_allowed = plain && self.endpoint.may_leave_ahead();
    }

    /// Keeps packets off the link until their transmission starts.
    pub(crate) fn forbid_ahead(&mut self) {
        self.ahead.is_allowed = false;
    }

    /// Puts the next packets on the link, as far as they are known.
    #[inline(never)]
    pub(super) fn send_ahead(&mut self, now: Time, transit: &mut Transit) {
        if self.ahead.until > now {
            if self.has_other_order() {
                self.take_back(now, transit);
            }
        } else {
            (self.ahead.connection, self.ahead.rests) = (None, false);
        }
        if self.ahead.balance < 0 && self.ahead.until <= now {
            self.ahead.balance += i32::from(self.nic.is_free(now));
            return self.send_by_event(now, transit);
        }
        // What is ahead of time counts already; so it starts with the measurement, or before it.
        let limit = if now < self.start { self.start } else { Time::MAX };
        let Self { endpoint, nic, ahead, sent, wire, .. } = self;
        let mut begun = None;
        let stop = endpoint.leave_ahead(now, nic.busy_until, limit, MOST, |start, early| {
            let Early { header, address, class, connection, begins } = early;
            let is_reply = matches!(header.kind, Kind::Ack | Kind::SegmentAck | Kind::Notification);
            let bytes = if is_reply { wire.ack } else { wire.header + header.payload };
            if !is_reply {
                ahead.connection = Some(*connection);
            }
            if let Some(posted) = *begins {
                begun = Some((start, *connection, posted));
            }
            ahead.rests |= start > nic.busy_until.max(now);
            (ahead.until, ahead.balance) = (start, (ahead.balance + 1).min(*BALANCE.end()));
            let frame = Frame::compact(*address, bytes, *class, header);
            sent.add(bytes);
            nic.transmit_packet(start, &frame, transit);
            nic.busy_until
        });
        if let Some((start, connection, posted)) = begun {
            self.begin(start, connection, posted);
        }
        if stop == Stop::Empty {
            return;
        }
        if self.nic.is_free(now) {
            // What comes next does not leave ahead of time.
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

    /// Whether packets that are ahead of time would leave in another order now.
    #[inline]
    fn has_other_order(&self) -> bool {
        let endpoint = &self.endpoint;
        let data = self.ahead.connection;
        self.ahead.rests && endpoint.has_data(u8::MAX)
            || data.is_some_and(|connection| {
                endpoint.next_reply_at() <= self.ahead.until || !endpoint.stays_ahead(connection)
            })
    }

    /// Takes the packets back whose start is to come.
    #[cold]
    pub(super) fn take_back(&mut self, now: Time, transit: &mut Transit) {
        let mut bytes = 0;
        let link = self.nic.link as usize;
        let mut balance = self.ahead.balance;
        while let Some((frame, start)) = transit.links[link].last().filter(|last| last.1 > now) {
            balance -= PRICE;
            transit.links[link].take_last(&mut transit.calendar);
            self.sent.remove(frame.wire);
            self.nic.uncount(&frame);
            let Some(header) = frame.header(self.wire.header) else { continue };
            if matches!(header.kind, Kind::Segment | Kind::Data) {
                bytes += u64::from(header.payload);
            } else {
                let address = Address { host: frame.destination(), route: frame.path.bits() };
                self.endpoint.put_back_reply(start, address, frame.class(), header);
            }
        }
        if let Some(connection) = self.ahead.connection.filter(|_| bytes > 0) {
            self.endpoint.put_back_data(now, connection, bytes);
        }
        let busy_until = transit.links[link].sent_until();
        self.nic.busy_until = busy_until.unwrap_or(now);
        let balance = balance.max(*BALANCE.start());
        self.ahead = NicAhead { is_allowed: true, balance, ..NicAhead::default() };
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

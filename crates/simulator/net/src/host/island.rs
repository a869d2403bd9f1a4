//! A host's place on an island, whose messages go as a whole: no packets, no congestion control.
//!
//! Messages to the other hosts of the island leave one after the other, in the order of posting,
//! each for its bytes over the rate. The first bit arrives after the latency. Messages that arrive
//! at once take turns in the order of their first bits: the last bit of a message is there its
//! bytes over the rate after its own first bit, or after the last bit of the message before it. The
//! sender hears of that after the latency once more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use incast_cc::{Bytes, Span, Time};
use incast_plan::application::Outcome;
use incast_plan::flows::End;
use incast_plan::islands::{Fabric, Islands};
use incast_transport::{REQUEST_BYTES, Role};

use super::{Delivery, Host};
use crate::Transit;
use crate::parcels::{Content, Parcel};

/// A host's place on an island.
#[derive(Debug)]
pub(crate) struct Berth {
    islands: Arc<Islands>,
    fabric: Fabric,
    /// The messages and requests that have been posted and not begun.
    waiting: VecDeque<Waiting>,
    /// The messages and requests whose first bit has arrived, and the time of their last bit.
    arriving: VecDeque<(Time, Parcel)>,
    pub(super) leaves: Side,
    pub(super) enters: Side,
    /// The messages that have arrived on each connection.
    arrived: BTreeMap<u32, Arrived>,
    /// The number of parcels that the host has sent.
    sent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    posted: Time,
    connection: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    messages: u32,
    bytes: u64,
}

/// The way of a host's messages out to its island, or in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// The end of the last message that it has begun.
    free: Time,
    /// The payload of messages.
    bytes: u64,
    /// The time for which it was busy since measurement started, which may end in the future.
    busy: Span,
    /// The start and, when it has come, the end of the measurement.
    measured: (Time, Option<Time>),
}

impl Side {
    const fn new(start: Time) -> Self {
        Self { free: Time::ZERO, bytes: 0, busy: Span::ZERO, measured: (start, None) }
    }

    /// Carries something as soon as it is free from `now` on; returns when that is done.
    fn carry(&mut self, now: Time, took: Span) -> Time {
        let begins = now.max(self.free);
        self.free = begins + took;
        if self.measured.1.is_none() {
            let (start, _) = self.measured;
            self.busy += self.free.max(start).since(begins.max(start));
        }
        self.free
    }

    /// Ends the measurement.
    fn finish(&mut self, now: Time) {
        // Whatever ends later has been busy from now on without a break.
        self.busy = self.busy.saturating_sub(self.free.max(now).since(now));
        self.measured.1 = Some(now);
    }

    /// The share of the measured time for which it was busy.
    fn share(&self) -> f64 {
        let (start, end) = self.measured;
        let measured = end.map_or(Span::ZERO, |end| end.since(start.min(end)));
        if measured.is_zero() {
            return f64::NAN;
        }
        self.busy.as_ps() as f64 / measured.as_ps() as f64
    }
}

/// The use of an island by one of its hosts.
#[derive(Clone, Copy, Debug)]
pub struct IslandUse {
    /// The number of the island.
    pub island: u32,
    /// The payload of messages that have left, and of those that have arrived.
    pub bytes: [u64; 2],
    /// The shares of the measured time in which the host sent, and in which it took in.
    pub busy: [f64; 2],
}

impl Berth {
    pub(crate) fn new(islands: &Arc<Islands>, fabric: Fabric, start: Time) -> Self {
        Self {
            islands: Arc::clone(islands),
            fabric,
            waiting: VecDeque::new(),
            arriving: VecDeque::new(),
            leaves: Side::new(start),
            enters: Side::new(start),
            arrived: BTreeMap::new(),
            sent: 0,
        }
    }

    /// The islands of the network, and the latency of this one.
    pub(crate) fn latency(&self) -> (&Islands, Span) {
        (&self.islands, self.fabric.latency)
    }

    /// The payload that has arrived on a connection.
    pub(super) fn delivered(&self, connection: u32) -> u64 {
        self.arrived.get(&connection).map_or(0, |arrived| arrived.bytes)
    }

    /// Ends the measurement.
    pub(crate) fn finish(&mut self, now: Time) {
        self.leaves.finish(now);
        self.enters.finish(now);
    }

    /// The time of a message or request at the rate of the island.
    fn takes(&self, content: Content) -> Span {
        self.fabric.rate.time_for(Bytes::new(match content {
            Content::Message(bytes) => bytes,
            Content::Request(_) => REQUEST_BYTES,
            Content::Receipt => 0,
        }))
    }

    /// A parcel from `host` whose first bit leaves at `now`.
    const fn parcel(&mut self, now: Time, host: u32, connection: u32, content: Content) -> Parcel {
        let at = Time::from_ps(now.as_ps() + self.fabric.latency.as_ps());
        self.sent += 1;
        Parcel { at, from: host, number: self.sent, connection, content }
    }

    /// The time at which a message ends here: one that arrives, or one that another waits for.
    fn next(&self) -> Time {
        let last_bit = self.arriving.front().map_or(Time::MAX, |&(last_bit, _)| last_bit);
        let turn = if self.waiting.is_empty() { Time::MAX } else { self.leaves.free };
        last_bit.min(turn)
    }
}

impl Host {
    /// Gives the host a place on an island.
    pub(crate) fn set_berth(&mut self, berth: Berth) {
        self.berth = Some(Box::new(berth));
    }

    /// The use of the island that the host is on.
    pub fn island(&self) -> Option<IslandUse> {
        let berth = self.berth.as_ref()?;
        let sides = [berth.leaves, berth.enters];
        Some(IslandUse {
            island: berth.islands.number(self.number)?,
            bytes: sides.map(|side| side.bytes),
            busy: sides.map(|side| side.share()),
        })
    }

    /// Whether the other end of a connection is on the host's island.
    #[cold]
    pub(super) fn is_over_island(&self, connection: u32) -> bool {
        self.berth.as_ref().is_some_and(|berth| {
            let End { peer, .. } = self.end(connection);
            berth.islands.between(self.number, peer).is_some()
        })
    }

    fn end(&self, connection: u32) -> End {
        self.flows[self.flow(connection) as usize].end(self.number, connection)
    }

    /// Posts a message or a request on a connection over the island.
    pub(super) fn post_over_island(
        &mut self,
        now: Time,
        connection: u32,
        content: Content,
        transit: &mut Transit,
    ) {
        let Some(berth) = &mut self.berth else { return };
        berth.waiting.push_back(Waiting { posted: now, connection, content });
        self.leave_over_island(now, transit);
    }

    /// Lets the messages go whose turn has come.
    fn leave_over_island(&mut self, now: Time, transit: &mut Transit) {
        while let Some(berth) = &mut self.berth
            && berth.leaves.free <= now
            && let Some(Waiting { posted, connection, content }) = berth.waiting.pop_front()
        {
            let took = berth.takes(content);
            berth.leaves.carry(now, took);
            if let Content::Message(bytes) = content {
                berth.leaves.bytes += bytes;
            }
            self.begin(now, connection, posted);
            self.send_parcel(now, connection, content, transit);
        }
        let next = self.berth.as_ref().map_or(Time::MAX, |berth| berth.next());
        transit.parcels.wake(self.number, next, &mut transit.calendar);
    }

    fn send_parcel(&mut self, now: Time, connection: u32, content: Content, transit: &mut Transit) {
        let End { peer, peer_connection, .. } = self.end(connection);
        let Some(berth) = &mut self.berth else { return };
        let parcel = berth.parcel(now, self.number, peer_connection, content);
        transit.parcels.send(peer, parcel, &mut transit.calendar);
    }

    /// Handles what happens on the island now: first bits arrive, then last bits, then messages
    /// leave.
    pub(crate) fn on_island(&mut self, now: Time, transit: &mut Transit) {
        if self.take_back_before_due(now, transit) {
            self.work(now, transit);
        }
        while let Some(parcel) = transit.parcels.take(self.number, now) {
            if parcel.content == Content::Receipt {
                self.outstanding -= 1;
                self.tell(now, parcel.connection, Outcome::Sent);
            } else if let Some(berth) = &mut self.berth {
                let took = berth.takes(parcel.content);
                let last_bit = berth.enters.carry(now, took);
                berth.arriving.push_back((last_bit, parcel));
            }
        }
        while let Some(berth) = &mut self.berth
            && let Some(&(last_bit, parcel)) = berth.arriving.front()
            && last_bit <= now
        {
            berth.arriving.pop_front();
            self.arrive_over_island(now, parcel, transit);
        }
        self.leave_over_island(now, transit);
        self.work(now, transit);
    }

    /// Takes in a message or a request whose last bit has arrived.
    fn arrive_over_island(&mut self, now: Time, parcel: Parcel, transit: &mut Transit) {
        let connection = parcel.connection;
        let Some(berth) = &mut self.berth else { return };
        match parcel.content {
            Content::Message(bytes) => {
                let arrived = berth.arrived.entry(connection).or_default();
                let message = arrived.messages;
                arrived.messages += 1;
                arrived.bytes += bytes;
                berth.enters.bytes += bytes;
                let flow = self.flow(connection);
                self.deliveries.push(Delivery { at: now, flow, message });
                self.send_parcel(now, connection, Content::Receipt, transit);
                self.tell(now, connection, Outcome::Received);
            }
            Content::Request(bytes) => {
                if let Role::Responder { answers } = self.end(connection).role {
                    let content = Content::Message(bytes);
                    self.post_over_island(now, answers, content, transit);
                }
            }
            Content::Receipt => {}
        }
    }
}

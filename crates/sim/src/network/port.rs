//! Sending: what a NIC and the egress port of a switch have in common, and the latter's queues.

use std::collections::VecDeque;

use incast_cc::{Bytes, Hop, Span, Time};

use super::calendar::{Calendar, ComponentId};
use super::frame::{CLASSES, Frame, Stamps};
use super::link::Link;
use crate::metrics::Occupancy;

/// Puts frames on one link, one after the other, and obeys PFC.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// The link, by its number.
    pub(crate) link: u32,
    /// Scheduled for when the link is free, while something waits for that.
    pub(crate) component: ComponentId,
    /// [`Time::MAX`] while the link is down.
    busy_until: Time,
    /// When it would have been free had the link not failed.
    busy_until_if_up: Time,
    /// One bit per class that the far end has paused.
    paused: u8,
    paused_since: Time,
    /// When measurement starts.
    start: Time,
    pub(crate) counters: LinkCounters,
}

/// What left by one link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    /// Packets over the whole run.
    pub(crate) hops: u64,
    /// Their bytes on the wire.
    pub(crate) hop_bytes: u64,
    /// Packets since measurement started.
    pub(crate) packets: u64,
    /// Bytes on the wire since measurement started.
    pub(crate) bytes: u64,
    /// How long the data class was paused since measurement started.
    pub(crate) paused: Span,
}

impl Transmitter {
    pub(crate) fn new(link: u32, component: ComponentId, start: Time) -> Self {
        Self {
            link,
            component,
            busy_until: Time::ZERO,
            busy_until_if_up: Time::ZERO,
            paused: 0,
            paused_since: Time::ZERO,
            start,
            counters: LinkCounters::default(),
        }
    }

    #[inline]
    pub(crate) fn is_free(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    #[inline]
    pub(crate) fn is_down(&self) -> bool {
        self.busy_until == Time::MAX
    }

    /// The link has failed: nothing can be sent, and the far end no longer asks for a pause.
    pub(crate) fn on_link_down(&mut self, now: Time) {
        if self.paused != 0 {
            self.counters.paused += now.since(self.paused_since.max(self.start));
            self.paused = 0;
        }
        self.busy_until_if_up = std::mem::replace(&mut self.busy_until, Time::MAX);
    }

    /// The link is back. The port waits for the end of the packet that was cut off, so that packets
    /// arrive in the order in which they are sent.
    pub(crate) fn on_link_up(&mut self) {
        self.busy_until = self.busy_until_if_up;
    }

    #[inline]
    pub(crate) fn is_paused(&self, class: u8) -> bool {
        self.paused & 1 << class != 0
    }

    /// The classes that may send.
    #[inline]
    pub(crate) fn open_classes(&self) -> u8 {
        !self.paused
    }

    /// The far end says stop or go on.
    pub(crate) fn on_pfc(&mut self, now: Time, frame: &Frame) {
        let bit = 1 << frame.class;
        if frame.is_pause() {
            if self.paused == 0 {
                self.paused_since = now;
            }
            self.paused |= bit;
        } else if self.paused & bit != 0 {
            self.paused &= !bit;
            if self.paused == 0 {
                self.counters.paused += now.since(self.paused_since.max(self.start));
            }
        }
    }

    #[inline]
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        frame: Frame,
        stamps: Stamps,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        debug_assert!(self.is_free(now));
        if !frame.is_pfc() {
            self.counters.hops += 1;
            self.counters.hop_bytes += u64::from(frame.wire);
            if now >= self.start {
                self.counters.packets += 1;
                self.counters.bytes += u64::from(frame.wire);
            }
        }
        self.busy_until = links[self.link as usize].transmit(now, frame, stamps, calendar);
    }

    /// Calls back when the link is free.
    #[inline]
    pub(crate) fn wait(&self, calendar: &mut Calendar) {
        calendar.schedule(self.component, self.busy_until);
    }

    /// Ends the measurement.
    pub(crate) fn finish(&mut self, now: Time) {
        if self.paused != 0 {
            self.counters.paused += now.since(self.paused_since.max(self.start));
            self.paused_since = now;
        }
    }
}

/// The egress port of a switch: one queue per class, the highest served first.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) transmitter: Transmitter,
    queues: [VecDeque<Queued>; CLASSES],
    /// Of those of the packets that have them.
    stamps: [VecDeque<Stamps>; CLASSES],
    bytes: [u64; CLASSES],
    /// When a packet last left a queue, and its size.
    last_left: (Time, u64),
    /// One bit per class that has packets.
    backlog: u8,
    /// PFC frames go before all else.
    pfc: VecDeque<Frame>,
    pub(crate) occupancy: Occupancy,
    pub(crate) counters: PortCounters,
}

/// A packet in a queue, and where it came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: Frame,
    pub(crate) ingress: u16,
}

/// What happened at one port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCounters {
    /// Packets that found no room, over the whole run.
    pub(crate) drops: u64,
    /// Their bytes on the wire.
    pub(crate) dropped_bytes: u64,
    /// Packets marked since measurement started.
    pub(crate) marks: u64,
    /// PFC pauses sent to the far end since measurement started.
    pub(crate) pauses: u64,
}

impl Port {
    pub(crate) fn new(transmitter: Transmitter, start: Time) -> Self {
        Self {
            transmitter,
            queues: Default::default(),
            stamps: Default::default(),
            bytes: [0; CLASSES],
            last_left: (Time::ZERO, 0),
            backlog: 0,
            pfc: VecDeque::new(),
            occupancy: Occupancy::new(start),
            counters: PortCounters::default(),
        }
    }

    /// Bytes that wait in one class.
    #[inline]
    pub(crate) fn queued_bytes(&self, class: u8) -> u64 {
        self.bytes[class as usize]
    }

    /// Room that becomes free at this instant is free only after it. Otherwise a sender whose packets
    /// arrive exactly when one leaves, as with equal rates and packets they do, would always find
    /// room in a full queue, and lock out all others (Floyd and Jacobson, "On Traffic Phase Effects",
    /// 1991).
    #[inline]
    pub(crate) fn leaving_bytes(&self, now: Time) -> u64 {
        if self.last_left.0 == now { self.last_left.1 } else { 0 }
    }

    /// Bytes that wait in all classes; what is being sent does not wait.
    #[inline]
    pub(crate) fn backlog_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Whether a packet of `class` leaves at once: nothing waits, and nothing stops it.
    #[inline]
    pub(crate) fn is_idle(&self, now: Time, class: u8) -> bool {
        self.backlog == 0
            && self.pfc.is_empty()
            && self.transmitter.is_free(now)
            && !self.transmitter.is_paused(class)
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, frame: Frame, stamps: Stamps, ingress: u16) {
        let class = frame.class as usize;
        if frame.is_stamped() {
            self.stamps[class].push_back(stamps);
        }
        self.queues[class].push_back(Queued { frame, ingress });
        self.bytes[class] += u64::from(frame.wire);
        self.backlog |= 1 << class;
        self.occupancy.set(now, self.backlog_bytes());
    }

    pub(crate) fn enqueue_pfc(&mut self, frame: Frame) {
        self.pfc.push_back(frame);
    }

    /// The next PFC frame to send.
    #[inline]
    pub(crate) fn next_pfc(&mut self) -> Option<Frame> {
        if self.pfc.is_empty() { None } else { self.pfc.pop_front() }
    }

    /// The next packet to send: the first of the highest class that has one and is not paused.
    #[expect(clippy::inline_always, reason = "a second, cold caller would put it out of line")]
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<(Queued, Stamps)> {
        let sendable = self.backlog & self.transmitter.open_classes();
        if sendable == 0 {
            return None;
        }
        let class = sendable.ilog2() as usize;
        let queued = self.queues[class].pop_front()?;
        self.bytes[class] -= u64::from(queued.frame.wire);
        self.last_left = (now, u64::from(queued.frame.wire));
        if self.queues[class].is_empty() {
            self.backlog &= !(1 << class);
        }
        self.occupancy.set(now, self.backlog_bytes());
        let stamped = queued.frame.is_stamped();
        let stamps = if stamped { self.stamps[class].pop_front() } else { None };
        Some((queued, stamps.unwrap_or_default()))
    }

    /// What the port says of itself as `frame` leaves it (INT).
    pub(crate) fn stamp(&self, now: Time, frame: &Frame, stamps: &mut Stamps, links: &[Link]) {
        if !frame.is_stamped() || frame.packet.payload() == 0 {
            return; // an ACK brings back what its data was told
        }
        let Transmitter { link, counters, .. } = &self.transmitter;
        let mut hop = Hop::default();
        (hop.port, hop.at, hop.rate) = (*link, now, links[*link as usize].rate());
        hop.queue = Bytes::new(self.backlog_bytes());
        hop.sent = Bytes::new(counters.hop_bytes + u64::from(frame.wire));
        stamps.push(hop);
    }

    /// Whether something could be sent if the link were free.
    #[inline]
    pub(crate) fn has_sendable(&self) -> bool {
        self.backlog & self.transmitter.open_classes() != 0 || !self.pfc.is_empty()
    }

    /// What is in the queues, for the books.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flatten().map(|queued| &queued.frame)
    }
}

//! Sending: what a NIC and the egress port of a switch have in common, and the latter's queues.

use std::collections::VecDeque;

use incast_cc::{Bytes, Hop, Rate, Span, Time};
use incast_transport::Scheduler;

use super::aqm::{Aqm, Verdict};
use super::calendar::{Calendar, ComponentId};
use super::frame::{Frame, Stamps};
use super::link::Link;
use crate::metrics::Occupancy;
use crate::scenario::MOST_CLASSES;

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
    /// By class.
    class_paused_since: [Time; MOST_CLASSES],
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
    /// How long one class or more was paused since measurement started.
    pub(crate) paused: Span,
    /// What the link could have carried since then at rates that it no longer has, in bits.
    capacity: f64,
    /// Since when it has its rate.
    rate_since: Time,
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
            class_paused_since: [Time::ZERO; MOST_CLASSES],
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
            if self.paused & bit == 0 {
                self.class_paused_since[frame.class as usize] = now;
            }
            self.paused |= bit;
        } else if self.paused & bit != 0 {
            self.paused &= !bit;
            if self.paused == 0 {
                self.counters.paused += now.since(self.paused_since.max(self.start));
            }
        }
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        frame: &Frame,
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

    /// What the link, of `rate` now, could have carried since measurement started, in bits.
    pub(crate) fn capacity(&self, now: Time, rate: Rate) -> f64 {
        let since = self.counters.rate_since.max(self.start);
        self.counters.capacity + rate.as_bps() as f64 * now.since(since).as_secs_f64()
    }

    /// The link no longer has `rate`.
    pub(crate) fn on_rate_change(&mut self, now: Time, rate: Rate) {
        self.counters.capacity = self.capacity(now, rate);
        self.counters.rate_since = now;
    }

    /// Ends the measurement.
    pub(crate) fn finish(&mut self, now: Time) {
        if self.paused != 0 {
            self.counters.paused += now.since(self.paused_since.max(self.start));
            self.paused_since = now;
        }
    }
}

/// The egress port of a switch: one queue per class.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) transmitter: Transmitter,
    queues: Box<[Queue]>,
    scheduler: Scheduler,
    /// Whether a class has queue management.
    managed: bool,
    /// A phantom queue sees all packets of the port, and marks those of the classes in the mask.
    phantom: Option<Box<(Aqm, u8)>>,
    /// Bytes that wait in all classes; what is being sent does not wait.
    bytes: u64,
    /// When a packet last left a queue, and its size.
    last_left: (Time, u64),
    /// One bit per class that has packets.
    backlog: u8,
    /// PFC frames go before all else.
    pfc: VecDeque<Frame>,
    /// One bit per class that the watchdog has found held in this pause of it.
    overdue: u8,
    /// One bit per class whose packets the watchdog drops until its pause ends.
    pub(crate) discarded: u8,
    pub(crate) occupancy: Occupancy,
    pub(crate) counters: PortCounters,
}

/// What waits in one class.
#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Queued>,
    /// Of those of the packets that have them.
    stamps: VecDeque<Stamps>,
    bytes: u64,
    /// Since when it is not empty.
    waiting_since: Time,
    managed: Option<Box<Managed>>,
}

/// What queue management adds to a queue.
#[derive(Debug, Default)]
struct Managed {
    aqm: Aqm,
    /// When each packet came.
    enqueued_at: VecDeque<Time>,
}

/// A packet in a queue, and where it came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: Frame,
    pub(crate) ingress: u16,
}

/// Why a switch dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// The shared buffer was full.
    NoRoom,
    /// Its queue, or its port, had all that it may hold.
    Limit,
    /// More came after a PFC pause than the headroom holds.
    Headroom,
    /// Queue management chose it.
    Aqm,
    /// The link was down.
    Link,
    /// The PFC watchdog freed a class that was held too long.
    Watchdog,
}

impl DropCause {
    pub(crate) const COUNT: usize = 6;
}

/// What happened at one port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCounters {
    /// Packets dropped over the whole run, by [`DropCause`].
    pub(crate) drops: [u64; DropCause::COUNT],
    /// Their bytes on the wire.
    pub(crate) dropped_bytes: u64,
    /// Packets marked since measurement started.
    pub(crate) marks: u64,
    /// PFC pauses sent to the far end since measurement started.
    pub(crate) pauses: u64,
}

impl PortCounters {
    /// Counts a dropped packet.
    pub(crate) fn dropped(&mut self, cause: DropCause, wire: u64) {
        self.drops[cause as usize] += 1;
        self.dropped_bytes += wire;
    }

    /// Packets dropped for whatever cause.
    pub(crate) fn all_drops(&self) -> u64 {
        self.drops.iter().sum()
    }
}

impl Port {
    /// A port with so many classes, served as `scheduler` has it.
    pub(crate) fn new(
        transmitter: Transmitter,
        classes: usize,
        scheduler: Scheduler,
        start: Time,
    ) -> Self {
        Self {
            transmitter,
            queues: (0..classes).map(|_| Queue::default()).collect(),
            scheduler,
            managed: false,
            phantom: None,
            bytes: 0,
            last_left: (Time::ZERO, 0),
            backlog: 0,
            pfc: VecDeque::new(),
            overdue: 0,
            discarded: 0,
            occupancy: Occupancy::new(start),
            counters: PortCounters::default(),
        }
    }

    /// How many classes it has.
    #[expect(clippy::cast_possible_truncation, reason = "at most eight")]
    pub(crate) fn classes(&self) -> u8 {
        self.queues.len() as u8
    }

    /// Gives a class queue management.
    pub(crate) fn manage(&mut self, class: u8, aqm: Aqm) {
        self.managed = true;
        if matches!(aqm, Aqm::Phantom(_)) {
            self.phantom.get_or_insert_with(|| Box::new((aqm, 0))).1 |= 1 << class;
        } else {
            let managed = Managed { aqm, ..Managed::default() };
            self.queues[class as usize].managed = Some(Box::new(managed));
        }
    }

    /// The link has another rate from now on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        let queues = self.queues.iter_mut().filter_map(|queue| queue.managed.as_mut());
        let aqms = queues.map(|managed| &mut managed.aqm);
        for aqm in aqms.chain(self.phantom.as_mut().map(|phantom| &mut phantom.0)) {
            aqm.set_rate(now, rate);
        }
    }

    /// What queue management says of a packet that comes and has room.
    #[inline]
    pub(crate) fn judge_arrival(&mut self, now: Time, frame: &Frame) -> Verdict {
        if !self.managed {
            return Verdict::Pass;
        }
        let queue = &mut self.queues[frame.class as usize];
        let Some(managed) = &mut queue.managed else { return Verdict::Pass };
        let (wire, ect) = (u64::from(frame.wire), frame.packet.is_ect());
        managed.aqm.on_enqueue(now, queue.bytes, wire, ect)
    }

    /// What it says of one that leaves, and came at `enqueued_at`.
    #[inline]
    pub(crate) fn judge_departure(
        &mut self,
        now: Time,
        frame: &Frame,
        enqueued_at: Time,
    ) -> Verdict {
        if !self.managed {
            return Verdict::Pass;
        }
        let queue = &mut self.queues[frame.class as usize];
        let (wire, ect) = (u64::from(frame.wire), frame.packet.is_ect());
        let own = queue.managed.as_mut().map_or(Verdict::Pass, |managed| {
            managed.aqm.on_dequeue(now, queue.bytes, enqueued_at, wire, ect)
        });
        let Some(phantom) = self.phantom.as_mut().filter(|_| own != Verdict::Drop) else {
            return own;
        };
        let verdict = phantom.0.on_dequeue(now, self.bytes, enqueued_at, wire, ect);
        if phantom.1 & 1 << frame.class != 0 { verdict } else { own }
    }

    /// Bytes that wait in one class.
    #[inline]
    pub(crate) fn queued_bytes(&self, class: u8) -> u64 {
        self.queues[class as usize].bytes
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
        self.bytes
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
    pub(crate) fn enqueue(&mut self, now: Time, frame: &Frame, stamps: Stamps, ingress: u16) {
        let queue = &mut self.queues[frame.class as usize];
        if frame.is_stamped() {
            queue.stamps.push_back(stamps);
        }
        if queue.bytes == 0 {
            queue.waiting_since = now;
        }
        if let Some(managed) = &mut queue.managed {
            managed.enqueued_at.push_back(now);
        }
        queue.packets.push_back(Queued { frame: *frame, ingress });
        queue.bytes += u64::from(frame.wire);
        self.bytes += u64::from(frame.wire);
        self.backlog |= 1 << frame.class;
        self.occupancy.set(now, self.bytes);
    }

    pub(crate) fn enqueue_pfc(&mut self, frame: Frame) {
        self.pfc.push_back(frame);
    }

    /// The next PFC frame to send.
    #[inline]
    pub(crate) fn next_pfc(&mut self) -> Option<Frame> {
        if self.pfc.is_empty() { None } else { self.pfc.pop_front() }
    }

    /// The class whose turn it is to send.
    #[inline]
    pub(crate) fn next_class(&mut self) -> Option<u8> {
        let sendable = self.backlog & self.transmitter.open_classes();
        if sendable == 0 {
            return None;
        }
        let queues = &self.queues;
        Some(self.scheduler.next(sendable, |class| queues[class as usize].head_bytes()))
    }

    /// Takes out the first packet of a class; what is kept beside it must be taken then.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Time, class: u8) -> Option<Queued> {
        let queue = &mut self.queues[class as usize];
        let queued = queue.packets.pop_front()?;
        let wire = u64::from(queued.frame.wire);
        queue.bytes -= wire;
        self.bytes -= wire;
        self.last_left = (now, wire);
        if queue.packets.is_empty() {
            self.backlog &= !(1 << class);
        }
        self.occupancy.set(now, self.bytes);
        Some(queued)
    }

    /// Takes out what is kept beside a packet: its stamps, and when it came where queue management has to
    /// know.
    #[inline]
    pub(crate) fn pop_beside(&mut self, now: Time, class: u8, frame: &Frame) -> (Stamps, Time) {
        let queue = &mut self.queues[class as usize];
        let stamps = if frame.is_stamped() { queue.stamps.pop_front() } else { None };
        let came = match &mut queue.managed {
            Some(managed) => managed.enqueued_at.pop_front().unwrap_or(now),
            None => now,
        };
        (stamps.unwrap_or_default(), came)
    }

    /// Takes out the first packet of a class that is not to be sent.
    #[cold]
    pub(crate) fn purge(&mut self, now: Time, class: u8) -> Option<Queued> {
        let queued = self.pop(now, class)?;
        self.pop_beside(now, class, &queued.frame);
        let queue = &mut self.queues[class as usize];
        if let Some(managed) = &mut queue.managed {
            managed.aqm.on_purge(now, queue.bytes);
        }
        Some(queued)
    }

    /// What the port says of itself as `frame` leaves it (INT).
    pub(crate) fn stamp(&self, now: Time, frame: &Frame, stamps: &mut Stamps, links: &[Link]) {
        if frame.packet.payload() == 0 {
            return; // an ACK brings back what its data was told
        }
        let Transmitter { link, counters, .. } = &self.transmitter;
        let mut hop = Hop::default();
        let link = &links[*link as usize];
        (hop.port, hop.at, hop.rate) = (link.number(), now, link.rate());
        hop.queue = Bytes::new(self.backlog_bytes());
        hop.sent = Bytes::new(counters.hop_bytes + u64::from(frame.wire));
        stamps.push(hop);
    }

    /// Whether something could be sent if the link were free.
    #[inline]
    pub(crate) fn has_sendable(&self) -> bool {
        self.backlog & self.transmitter.open_classes() != 0 || !self.pfc.is_empty()
    }

    /// The far end says stop or go on.
    pub(crate) fn on_pfc(&mut self, now: Time, frame: &Frame) {
        self.transmitter.on_pfc(now, frame);
        let open = self.transmitter.open_classes();
        self.overdue &= !open;
        self.discarded &= !open;
    }

    /// The link has failed: nothing is paused any more.
    pub(crate) fn forget_pauses(&mut self) {
        (self.overdue, self.discarded) = (0, 0);
    }

    /// The classes that have packets and are paused, and since when both holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = (u8, Time)> {
        let held = self.backlog & self.transmitter.paused;
        let since = &self.transmitter.class_paused_since;
        (0..)
            .zip(&self.queues)
            .zip(since)
            .filter(move |((class, _), _)| held & 1 << class != 0)
            .map(|((class, queue), &paused)| (class, paused.max(queue.waiting_since)))
    }

    /// Whether a class was found held too long in this pause of it.
    pub(crate) fn is_noted(&self, class: u8) -> bool {
        self.overdue & 1 << class != 0
    }

    /// Notes that a class was found held too long; returns whether that is news in this pause.
    pub(crate) fn note_overdue(&mut self, class: u8) -> bool {
        let news = !self.is_noted(class);
        self.overdue |= 1 << class;
        news
    }

    /// What is in the queues, for the books.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flat_map(|queue| &queue.packets).map(|queued| &queued.frame)
    }

    /// What waits in one class.
    pub(crate) fn waiting(&self, class: u8) -> impl Iterator<Item = &Queued> {
        self.queues[class as usize].packets.iter()
    }
}

impl Queue {
    fn head_bytes(&self) -> u64 {
        self.packets.front().map_or(0, |queued| u64::from(queued.frame.wire))
    }
}

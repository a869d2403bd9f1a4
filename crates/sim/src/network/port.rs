//! Sending: what a NIC and the egress port of a switch have in common, and the latter's queues.

use std::collections::VecDeque;
use std::hint::black_box;

use incast_cc::{Bytes, Hop, Rate, Span, Time};
use incast_transport::Scheduler;

use super::Transit;
use super::aqm::{Aqm, Verdict};
use super::calendar::{Calendar, ComponentId};
use super::frame::{Frame, FrameId, Frames};
use super::host::Count;
use super::link::OnLink;
use crate::metrics::Occupancy;
use crate::scenario::MOST_CLASSES;

/// Puts frames on one link, one after the other, and obeys PFC.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    /// [`Time::MAX`] while the link is down.
    busy_until: Time,
    /// What left over the whole run.
    count: Count,
    /// The link, by its number.
    pub(crate) link: u32,
    /// Scheduled for when the link is free, while something waits for that.
    pub(crate) component: ComponentId,
    /// One bit per class that the far end has paused.
    paused: u8,
    /// Whether measurement has started.
    measures: bool,
    rare: Box<Rare>,
}

/// What few packets need.
#[derive(Debug)]
struct Rare {
    /// When measurement starts.
    start: Time,
    /// What had left before.
    before: Count,
    /// When it would have been free had the link not failed.
    busy_until_if_up: Time,
    paused_since: Time,
    /// By class.
    class_paused_since: [Time; MOST_CLASSES],
    /// How long one class or more was paused since measurement started.
    paused: Span,
    /// What the link could have carried since then at rates that it no longer has, in bits.
    capacity: f64,
    /// Since when it has its rate.
    rate_since: Time,
}

impl Transmitter {
    pub(crate) fn new(link: u32, component: ComponentId, start: Time) -> Self {
        let rare = Rare {
            start,
            before: Count::default(),
            busy_until_if_up: Time::ZERO,
            paused_since: Time::ZERO,
            class_paused_since: [Time::ZERO; MOST_CLASSES],
            paused: Span::ZERO,
            capacity: 0.0,
            rate_since: Time::ZERO,
        };
        Self {
            busy_until: Time::ZERO,
            count: Count::default(),
            link,
            component,
            paused: 0,
            measures: start == Time::ZERO,
            rare: Box::new(rare),
        }
    }

    /// Packets that left over the whole run, and their bytes on the wire.
    pub(crate) const fn hops(&self) -> Count {
        self.count
    }

    /// The same since measurement started.
    pub(crate) fn measured(&self) -> Count {
        let Count { packets, bytes } = self.rare.before;
        if self.measures {
            Count { packets: self.count.packets - packets, bytes: self.count.bytes - bytes }
        } else {
            Count::default()
        }
    }

    /// How long one class or more was paused since measurement started.
    pub(crate) fn paused(&self) -> Span {
        self.rare.paused
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
            self.rare.paused += now.since(self.rare.paused_since.max(self.rare.start));
            self.paused = 0;
        }
        self.rare.busy_until_if_up = std::mem::replace(&mut self.busy_until, Time::MAX);
    }

    /// The link is back. The port waits for the end of the packet that was cut off, so that packets
    /// arrive in the order in which they are sent.
    pub(crate) fn on_link_up(&mut self) {
        self.busy_until = self.rare.busy_until_if_up;
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
                self.rare.paused_since = now;
            }
            if self.paused & bit == 0 {
                self.rare.class_paused_since[frame.class as usize] = now;
            }
            self.paused |= bit;
        } else if self.paused & bit != 0 {
            self.paused &= !bit;
            if self.paused == 0 {
                self.rare.paused += now.since(self.rare.paused_since.max(self.rare.start));
            }
        }
    }

    /// Sends a frame; the link is free.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, frame: FrameId, transit: &mut Transit) {
        debug_assert!(self.is_free(now));
        let Transit { links, frames, calendar } = transit;
        if !frames[frame].is_pfc() {
            self.count(now, u64::from(frames[frame].wire));
        }
        self.busy_until = links[self.link as usize].send(now, frame, frames, calendar);
    }

    /// Counts a packet whose transmission started at `start`.
    #[inline]
    fn count(&mut self, start: Time, wire: u64) {
        if !self.measures && start >= self.rare.start {
            (self.measures, self.rare.before) = (true, self.count);
        }
        self.count.packets += 1;
        self.count.bytes += wire;
    }

    /// Calls back when the link is free.
    #[inline]
    pub(crate) fn wait(&self, calendar: &mut Calendar) {
        calendar.schedule(self.component, self.busy_until);
    }

    /// What the link, of `rate` now, could have carried since measurement started, in bits.
    pub(crate) fn capacity(&self, now: Time, rate: Rate) -> f64 {
        let since = self.rare.rate_since.max(self.rare.start);
        self.rare.capacity + rate.as_bps() as f64 * now.since(since).as_secs_f64()
    }

    /// The link no longer has `rate`.
    pub(crate) fn on_rate_change(&mut self, now: Time, rate: Rate) {
        self.rare.capacity = self.capacity(now, rate);
        self.rare.rate_since = now;
    }

    /// Ends the measurement.
    pub(crate) fn finish(&mut self, now: Time) {
        if self.paused != 0 {
            self.rare.paused += now.since(self.rare.paused_since.max(self.rare.start));
            self.rare.paused_since = now;
        }
    }
}

/// The egress port of a switch: one queue per class.
///
/// Laid out by how often things are needed: a packet that passes touches the first cache line alone.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    pub(crate) transmitter: Transmitter,
    /// When the first packet starts that is on the link ahead of time; [`Time::MAX`] where there is none.
    next_start: Time,
    /// Bytes that wait in all classes; what is being sent does not wait.
    bytes: u32,
    /// One bit per class that has packets in its queue.
    backlog: u8,
    /// Whether there are frames of PFC to send.
    has_pfc: bool,
    /// One bit per class whose packets the watchdog drops until its pause ends.
    pub(crate) discarded: u8,
    /// How many classes there are.
    classes: u8,
    ahead: Ahead,
    /// When a packet last left a queue, and its size.
    last_left: (Time, u64),
    /// Whether a class has queue management.
    managed: bool,
    /// One bit per class that the watchdog has found held in this pause of it.
    overdue: u8,
    /// Bytes that wait, by class.
    class_bytes: [u32; MOST_CLASSES],
    pub(crate) occupancy: Occupancy,
    queues: Box<[Queue]>,
    scheduler: Scheduler,
    /// A phantom queue sees all packets of the port, and marks those of the classes in the mask.
    phantom: Option<Box<(Aqm, u8)>>,
    /// PFC frames go before all else.
    pfc: VecDeque<FrameId>,
    pub(crate) counters: PortCounters,
}

/// Packets that wait, and are on the link already since it is known when they will start: those of one
/// class, one after the other. A queue with them needs no event for each packet that leaves it. Whatever
/// may change the order takes them back: a packet of a higher class, a pause, a frame of PFC.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// Since when packets of the class wait.
    since: Time,
    /// How many there may be at a time.
    most: u32,
    count: u32,
    class: u8,
}

/// What waits in one class.
#[derive(Debug, Default)]
struct Queue {
    /// Without those that are on the link ahead of time.
    packets: VecDeque<Queued>,
    /// Since when packets of the class wait.
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

/// A packet in a queue, its bytes on the wire, and where it came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: FrameId,
    pub(crate) wire: u16,
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
        #[expect(clippy::cast_possible_truncation, reason = "at most eight")]
        let number = classes as u8;
        Self {
            transmitter,
            next_start: Time::MAX,
            bytes: 0,
            backlog: 0,
            has_pfc: false,
            discarded: 0,
            classes: number,
            ahead: Ahead { since: Time::ZERO, most: 0, count: 0, class: 0 },
            last_left: (Time::ZERO, 0),
            managed: false,
            overdue: 0,
            class_bytes: [0; MOST_CLASSES],
            occupancy: Occupancy::new(start),
            queues: (0..classes).map(|_| Queue::default()).collect(),
            scheduler,
            phantom: None,
            pfc: VecDeque::new(),
            counters: PortCounters::default(),
        }
    }

    /// How many classes it has.
    pub(crate) const fn classes(&self) -> u8 {
        self.classes
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
        let bytes = self.queued_bytes(frame.class);
        let queue = &mut self.queues[frame.class as usize];
        let Some(managed) = &mut queue.managed else { return Verdict::Pass };
        let (wire, ect) = (u64::from(frame.wire), frame.packet.is_ect());
        managed.aqm.on_enqueue(now, bytes, wire, ect)
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
        let bytes = self.queued_bytes(frame.class);
        let queue = &mut self.queues[frame.class as usize];
        let (wire, ect) = (u64::from(frame.wire), frame.packet.is_ect());
        let own = queue.managed.as_mut().map_or(Verdict::Pass, |managed| {
            managed.aqm.on_dequeue(now, bytes, enqueued_at, wire, ect)
        });
        let Some(phantom) = self.phantom.as_mut().filter(|_| own != Verdict::Drop) else {
            return own;
        };
        let verdict = phantom.0.on_dequeue(now, u64::from(self.bytes), enqueued_at, wire, ect);
        if phantom.1 & 1 << frame.class != 0 { verdict } else { own }
    }

    /// Bytes that wait in one class.
    #[inline]
    pub(crate) fn queued_bytes(&self, class: u8) -> u64 {
        let alone = self.classes == 1 || self.bytes == 0;
        u64::from(if alone { self.bytes } else { self.class_bytes[class as usize] })
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
        u64::from(self.bytes)
    }

    /// Brings it into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        black_box(self.next_start);
    }

    /// The same for what a packet needs that waits.
    #[inline]
    pub(crate) fn touch_queue(&self) {
        black_box(self.ahead.count);
        self.occupancy.touch();
    }

    /// Up to so many packets may be on the link before they start: only where nothing needs to know what
    /// the queue is like when they do.
    pub(crate) fn look_ahead(&mut self, packets: u32) {
        self.ahead.most = packets;
    }

    /// Whether a packet of `class` leaves at once: nothing waits, and nothing stops it. The books are up to
    /// date, as in what follows.
    #[inline]
    pub(crate) fn is_idle(&self, now: Time, class: u8) -> bool {
        self.next_start == Time::MAX
            && self.backlog == 0
            && !self.has_pfc
            && self.transmitter.is_free(now)
            && !self.transmitter.is_paused(class)
    }

    /// Whether it is known when a packet of `class` that comes now will start, while the link is busy:
    /// after all that waits, and nothing that waits for longer comes first.
    #[inline]
    pub(crate) fn goes_ahead(&self, now: Time, class: u8) -> bool {
        let Ahead { most, count, class: other, .. } = self.ahead;
        count < most
            && (count == 0 || other == class)
            && self.backlog >> class == 0
            && !self.has_pfc
            && !self.transmitter.is_free(now)
            && !self.transmitter.is_paused(class)
    }

    /// Whether packets of a lower class are on the link ahead of time.
    #[inline]
    pub(crate) fn overtakes(&self, class: u8) -> bool {
        self.ahead.count > 0 && self.ahead.class < class
    }

    /// When the next packet starts that is on the link ahead of time; [`Time::MAX`] where none is.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.next_start
    }

    /// A packet comes that waits.
    #[inline]
    fn enter(&mut self, now: Time, class: u8, wire: u16) {
        self.class_bytes[class as usize] += u32::from(wire);
        self.bytes += u32::from(wire);
        self.occupancy.set(now, u64::from(self.bytes));
    }

    /// One that waited starts.
    #[inline]
    fn leave(&mut self, start: Time, class: u8, wire: u16) {
        self.class_bytes[class as usize] -= u32::from(wire);
        self.bytes -= u32::from(wire);
        self.last_left = (start, u64::from(wire));
        self.occupancy.set(start, u64::from(self.bytes));
    }

    /// Puts a packet that [`goes_ahead`](Self::goes_ahead) on the link.
    #[inline]
    pub(crate) fn enqueue_ahead(
        &mut self,
        now: Time,
        queued: Queued,
        class: u8,
        transit: &mut Transit,
    ) {
        if self.ahead.count == 0 {
            self.ahead.since = now;
        }
        self.enter(now, class, queued.wire);
        self.put_ahead(queued, class, transit);
    }

    #[inline]
    fn put_ahead(&mut self, queued: Queued, class: u8, transit: &mut Transit) {
        let Transit { links, frames, calendar } = transit;
        let start = self.transmitter.busy_until;
        let link = &mut links[self.transmitter.link as usize];
        self.transmitter.busy_until = link.put(start, queued, frames, calendar);
        self.ahead.class = class;
        self.ahead.count += 1;
        self.next_start = self.next_start.min(start);
    }

    /// The next packet that started before `until` by the link: brings the books up to date, call until
    /// [`None`]. Returns the packet and its class.
    #[inline]
    pub(crate) fn start_next(
        &mut self,
        until: Time,
        transit: &mut Transit,
    ) -> Option<(OnLink, u8)> {
        let (start, class) = (self.next_start, self.ahead.class);
        if start >= until {
            return None;
        }
        let link = &mut transit.links[self.transmitter.link as usize];
        let started = link.start_next()?;
        self.ahead.count -= 1;
        self.next_start = link.next_start();
        self.leave(start, class, started.wire);
        self.transmitter.count(start, u64::from(started.wire));
        Some((started, class))
    }

    /// Takes back from the link what has not started; the books are up to date.
    #[cold]
    pub(crate) fn take_back(&mut self, transit: &mut Transit) {
        let Transit { links, frames, calendar } = transit;
        let link = &mut links[self.transmitter.link as usize];
        let Ahead { class, since, count, .. } = self.ahead;
        if count == 0 {
            return;
        }
        let queue = &mut self.queues[class as usize];
        queue.waiting_since = since;
        while let Some((OnLink { frame, wire, ingress, .. }, start)) =
            link.take_back(frames, calendar)
        {
            queue.packets.push_front(Queued { frame, wire, ingress });
            self.backlog |= 1 << class;
            self.transmitter.busy_until = start;
        }
        (self.ahead.count, self.next_start) = (0, Time::MAX);
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, queued: Queued, class: u8) {
        let queue = &mut self.queues[class as usize];
        if queue.packets.is_empty() {
            let others = self.ahead.count > 0 && self.ahead.class == class;
            queue.waiting_since = if others { self.ahead.since } else { now };
        }
        if let Some(managed) = &mut queue.managed {
            managed.enqueued_at.push_back(now);
        }
        queue.packets.push_back(queued);
        self.backlog |= 1 << class;
        self.enter(now, class, queued.wire);
    }

    /// Puts what waits in `class`, whose turn it is as long as nothing of a higher one comes, on the link.
    #[inline]
    pub(crate) fn send_ahead(&mut self, gaps: bool, transit: &mut Transit) {
        while self.ahead.count < self.ahead.most && !self.has_pfc {
            let sendable = self.backlog & self.transmitter.open_classes();
            if sendable == 0 {
                return;
            }
            #[expect(clippy::cast_possible_truncation, reason = "below 8")]
            let class = sendable.ilog2() as u8;
            if self.ahead.count > 0 && self.ahead.class != class {
                return;
            }
            self.ahead.since = self.queues[class as usize].waiting_since;
            let Some(queued) = self.take_first(class) else { return };
            if gaps {
                transit.frames[queued.frame].disquiet();
            }
            self.put_ahead(queued, class, transit);
        }
    }

    #[inline]
    fn take_first(&mut self, class: u8) -> Option<Queued> {
        let queue = &mut self.queues[class as usize];
        let queued = queue.packets.pop_front()?;
        if queue.packets.is_empty() {
            self.backlog &= !(1 << class);
        }
        Some(queued)
    }

    pub(crate) fn enqueue_pfc(&mut self, frame: FrameId) {
        self.pfc.push_back(frame);
        self.has_pfc = true;
    }

    /// The next PFC frame to send.
    #[inline]
    pub(crate) fn next_pfc(&mut self) -> Option<FrameId> {
        if !self.has_pfc {
            return None;
        }
        let frame = self.pfc.pop_front();
        self.has_pfc = !self.pfc.is_empty();
        frame
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

    /// Takes out the first packet of a class, to be sent; also when it came, where queue management has to
    /// know.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Time, class: u8) -> Option<(Queued, Time)> {
        let queued = self.take_first(class)?;
        self.leave(now, class, queued.wire);
        let came = match &mut self.queues[class as usize].managed {
            Some(managed) => managed.enqueued_at.pop_front().unwrap_or(now),
            None => now,
        };
        Some((queued, came))
    }

    /// Takes out the first packet of a class that is not to be sent.
    #[cold]
    pub(crate) fn purge(&mut self, now: Time, class: u8) -> Option<Queued> {
        let (queued, _) = self.pop(now, class)?;
        let bytes = self.queued_bytes(class);
        if let Some(managed) = &mut self.queues[class as usize].managed {
            managed.aqm.on_purge(now, bytes);
        }
        Some(queued)
    }

    /// What the port says of itself as `frame` leaves it (INT).
    pub(crate) fn stamp(&self, now: Time, frame: FrameId, transit: &mut Transit) {
        let Frame { wire, packet, .. } = &transit.frames[frame];
        if packet.payload() == 0 {
            return; // an ACK brings back what its data was told
        }
        let Transmitter { link, count, .. } = &self.transmitter;
        let mut hop = Hop::default();
        let link = &transit.links[*link as usize];
        (hop.port, hop.at, hop.rate) = (link.number(), now, link.rate());
        hop.queue = Bytes::new(self.backlog_bytes());
        hop.sent = Bytes::new(count.bytes + u64::from(*wire));
        transit.frames.stamps_of(frame).push(hop);
    }

    /// Whether a packet may have to wait.
    #[inline]
    pub(crate) fn is_busy(&self, now: Time) -> bool {
        !self.transmitter.is_free(now)
    }

    /// Whether something could be sent if the link were free.
    #[inline]
    pub(crate) fn has_sendable(&self) -> bool {
        self.backlog & self.transmitter.open_classes() != 0 || self.has_pfc
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
        let since = &self.transmitter.rare.class_paused_since;
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

    /// Frames are kept elsewhere from now on.
    pub(crate) fn move_frames(&mut self, mut moved: impl FnMut(FrameId) -> FrameId) {
        let queued = self.queues.iter_mut().flat_map(|queue| &mut queue.packets);
        queued.for_each(|queued| queued.frame = moved(queued.frame));
        self.pfc.iter_mut().for_each(|frame| *frame = moved(*frame));
    }

    /// What is in the queues, for the books.
    pub(crate) fn queued<'a>(&'a self, frames: &'a Frames) -> impl Iterator<Item = &'a Frame> {
        self.queues.iter().flat_map(|queue| &queue.packets).map(|queued| &frames[queued.frame])
    }

    /// What waits in one class.
    pub(crate) fn waiting(&self, class: u8) -> impl Iterator<Item = &Queued> {
        self.queues[class as usize].packets.iter()
    }
}

impl Queue {
    fn head_bytes(&self) -> u64 {
        self.packets.front().map_or(0, |queued| u64::from(queued.wire))
    }
}

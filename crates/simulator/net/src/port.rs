//! The egress port of a switch, and its queues.

mod ahead;
mod bucket;

use std::collections::VecDeque;

use incast_cc::{Bytes, Rate, Time};
use incast_queue::discipline::{AnyDiscipline, Discipline, Job, Refusal};
use incast_queue::feedback::{self, Departure, Law as _};
use incast_queue::management::{AnyLaw, Law, Passing, Verdict};
use incast_transport::Scheduler;

use super::MOST_CLASSES;
use super::Transit;
use super::count::PortCounters;
use super::frame::{Frame, Packets};
use super::prefetch::prefetch;
use super::transmitter::Transmitter;
use crate::metrics::Occupancy;
use ahead::Ahead;
use bucket::Bucket;

/// The egress port of a switch: one queue per class.
///
/// The fields are laid out by how often they are needed: a packet that passes touches the first
/// cache line alone.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    pub(crate) transmitter: Transmitter,
    /// The start of the first packet that is on the link ahead of time; [`Time::MAX`] where there
    /// is none.
    next_start: Time,
    /// Bytes that wait in all classes, without the packet that is being sent.
    bytes: u32,
    /// A bit for each class, set if its queue has packets.
    backlog: u8,
    /// Whether there are PFC frames to send.
    has_pfc: bool,
    /// A bit for each class, set while the watchdog drops its packets, until the pause ends.
    pub(crate) discarded: u8,
    /// The number of classes.
    classes: u8,
    ahead: Ahead,
    /// The time at which a packet last left a queue, and its size.
    last_left: (Time, u64),
    /// Whether a class has queue management or a threshold at departure.
    managed: bool,
    /// Whether queue management judges arrivals, or feedback hears of them.
    hears_arrivals: bool,
    /// A bit for each class, set if the watchdog has found it held too long in its present pause.
    overdue: u8,
    /// Bytes that wait in each class.
    class_bytes: [u32; MOST_CLASSES],
    pub(crate) occupancy: Occupancy,
    queues: Box<[Queue]>,
    scheduler: Scheduler,
    /// The judges of packets of all classes that leave, if there are any.
    of_all_classes: Option<Box<Judges>>,
    /// The answers of the port to senders, if it gives any.
    feedback: Option<Box<Answering>>,
    /// The token bucket of the port, if it has one. Then it never looks ahead.
    bucket: Option<Box<Bucket>>,
    /// PFC frames, which go before all others.
    pfc: VecDeque<Frame>,
    pub(crate) counters: PortCounters,
}

/// The queue of one class.
#[derive(Debug)]
struct Queue {
    /// The packets, without those that are on the link ahead of time.
    packets: AnyDiscipline<Frame>,
    /// The time since which packets of the class wait.
    waiting_since: Time,
    managed: Option<Box<Managed>>,
}

/// The state that queue management adds to a queue.
#[derive(Debug)]
struct Managed {
    law: AnyLaw,
    /// The queues at which the law is not asked.
    passing: Passing,
    /// The packets that have passed unasked, and of which the law has not heard.
    passed: u64,
    /// The arrival time of each packet, if the law looks at it.
    enqueued_at: Option<VecDeque<Time>>,
}

impl Managed {
    fn new(law: AnyLaw) -> Self {
        let enqueued_at = law.sees_waits().then(VecDeque::new);
        Self { passing: law.passing(), law, passed: 0, enqueued_at }
    }

    /// Whether a packet passes that meets a queue of `length`, where the law is not asked below
    /// `bound`. Counts it, unless the law never judges at this moment.
    #[inline]
    fn passes(&mut self, length: u64, bound: u64) -> bool {
        let passes = length < bound;
        self.passed += u64::from(passes && bound < u64::MAX);
        passes
    }

    /// The law, which has heard of all packets.
    fn law(&mut self) -> &mut AnyLaw {
        if self.passed > 0 {
            self.law.on_passed(std::mem::take(&mut self.passed));
        }
        &mut self.law
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.law().set_rate(now, rate);
        self.passing = self.law.passing();
    }
}

/// The judges of the packets of all classes that leave a port.
#[derive(Debug, Default)]
struct Judges {
    /// The law that sees all packets of the port, and a mask of the classes whose packets it
    /// judges.
    law: Option<(AnyLaw, u8)>,
    thresholds: Option<Thresholds>,
}

/// ECN thresholds by class, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Thresholds {
    /// The threshold of each class; [`u64::MAX`] where it has none.
    pub(crate) bytes: [u64; MOST_CLASSES],
    /// Whether thresholds are compared with all queues of the port together.
    pub(crate) of_port: bool,
}

impl Thresholds {
    /// Whether a packet of `class` that leaves so many bytes behind, in its class and in the port,
    /// is marked.
    fn are_exceeded(&self, class: u8, queue: u64, port: u64) -> bool {
        let left = if self.of_port { port } else { queue };
        left > self.bytes[class as usize % MOST_CLASSES]
    }
}

/// The feedback of a port.
#[derive(Debug)]
struct Answering {
    law: feedback::AnyLaw,
    /// Whether the law hears of arrivals.
    listens: bool,
}

impl Port {
    /// A port with a queue for each class, served in the order of `scheduler`.
    pub(crate) fn new(
        transmitter: Transmitter,
        queues: impl Iterator<Item = AnyDiscipline<Frame>>,
        scheduler: Scheduler,
        start: Time,
    ) -> Self {
        let queues: Box<[_]> = queues.map(Queue::new).collect();
        #[expect(clippy::cast_possible_truncation, reason = "at most eight")]
        let number = queues.len() as u8;
        Self {
            transmitter,
            next_start: Time::MAX,
            bytes: 0,
            backlog: 0,
            has_pfc: false,
            discarded: 0,
            classes: number,
            ahead: Ahead { since: Time::ZERO, most: 0, least: 0, waited: 0, class: 0 },
            last_left: (Time::ZERO, 0),
            managed: false,
            hears_arrivals: false,
            overdue: 0,
            class_bytes: [0; MOST_CLASSES],
            occupancy: Occupancy::new(start),
            queues,
            scheduler,
            of_all_classes: None,
            feedback: None,
            bucket: None,
            pfc: VecDeque::new(),
            counters: PortCounters::default(),
        }
    }

    /// The number of classes.
    pub(crate) const fn classes(&self) -> u8 {
        self.classes
    }

    /// Gives a class queue management; with `whole_port`, one law judges all classes.
    pub(crate) fn manage(&mut self, class: u8, law: AnyLaw, whole_port: bool) {
        self.managed = true;
        if whole_port {
            let judges = self.of_all_classes.get_or_insert_default();
            judges.law.get_or_insert((law, 0)).1 |= 1 << class;
        } else {
            self.hears_arrivals |= law.passing().at_arrival < u64::MAX;
            self.queues[class as usize].managed = Some(Box::new(Managed::new(law)));
        }
    }

    /// Marks packets that leave more than a threshold behind.
    pub(crate) fn mark_at_departure(&mut self, thresholds: Thresholds) {
        self.managed = true;
        self.of_all_classes.get_or_insert_default().thresholds = Some(thresholds);
    }

    /// Sets the rate of the link from now on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        for managed in self.queues.iter_mut().filter_map(|queue| queue.managed.as_mut()) {
            managed.set_rate(now, rate);
        }
        if let Some((law, _)) = self.of_all_classes.as_mut().and_then(|own| own.law.as_mut()) {
            law.set_rate(now, rate);
        }
        let left = self.transmitter.hops().bytes;
        if let Some(bucket) = &mut self.bucket {
            bucket.set_rate(now, rate, left);
        }
    }

    /// Gives the port a token bucket of its `rate` and `burst`. Its link has to have the
    /// [speed of a device](crate::link::Link::set_device_speed), and nothing may look ahead.
    pub(crate) fn shape(&mut self, rate: Rate, burst: u64) {
        debug_assert_eq!(self.ahead.most, 0, "starts that are known ahead have no tokens");
        self.bucket = Some(Box::new(Bucket::new(rate, Bytes::new(burst))));
    }

    /// Whether the port has a token bucket.
    pub(crate) const fn is_shaped(&self) -> bool {
        self.bucket.is_some()
    }

    /// The verdict of queue management on a packet that arrives and has room.
    #[inline]
    pub(crate) fn judge_arrival(&mut self, now: Time, frame: &Frame) -> Verdict {
        if self.hears_arrivals { self.judge_heard_arrival(now, frame) } else { Verdict::Pass }
    }

    /// [`judge_arrival`](Self::judge_arrival) where something hears of it.
    #[inline(never)]
    fn judge_heard_arrival(&mut self, now: Time, frame: &Frame) -> Verdict {
        if let Some(answering) = self.feedback.as_mut().filter(|answering| answering.listens) {
            let (queued, wire) = (u64::from(self.bytes), u64::from(frame.wire));
            answering.law.on_arrival(now, queued, wire);
        }
        let bytes = self.queued_bytes(frame.class());
        let queue = &mut self.queues[frame.class() as usize];
        let Some(managed) = &mut queue.managed else { return Verdict::Pass };
        let (wire, ect) = (u64::from(frame.wire), frame.is_ect());
        if managed.passes(bytes + wire, managed.passing.at_arrival) {
            return Verdict::Pass;
        }
        managed.law().on_enqueue(now, bytes, wire, ect)
    }

    /// The bytes that the ECN threshold of a class is compared with: those that wait in the class,
    /// or in all of them.
    #[inline]
    pub(crate) fn marked_length(&self, class: u8, of_port: bool) -> u64 {
        if of_port { self.backlog_bytes() } else { self.queued_bytes(class) }
    }

    /// Marks a packet that is about to wait if `length`, which waits without it, is then above its
    /// threshold. Counts it where `measures` says so.
    #[inline(never)]
    pub(crate) fn mark_beyond(
        &mut self,
        length: u64,
        thresholds: &[u64; MOST_CLASSES],
        measures: bool,
        frame: &mut Frame,
    ) {
        let length = length + u64::from(frame.wire);
        if length > thresholds[frame.class() as usize % MOST_CLASSES] && frame.is_ect() {
            self.counters.marks += u64::from(measures);
            frame.mark();
        }
    }

    /// The verdict of queue management on a packet that leaves, and arrived at `enqueued_at`.
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
        let bytes = self.queued_bytes(frame.class());
        if self.of_all_classes.is_none()
            && self.queues[frame.class() as usize]
                .managed
                .as_mut()
                .is_none_or(|managed| managed.passes(bytes, managed.passing.at_departure))
        {
            return Verdict::Pass;
        }
        self.judge_managed_departure(now, frame, enqueued_at)
    }

    /// [`judge_departure`](Self::judge_departure) where something judges.
    #[inline(never)]
    fn judge_managed_departure(&mut self, now: Time, frame: &Frame, enqueued_at: Time) -> Verdict {
        let bytes = self.queued_bytes(frame.class());
        let queue = &mut self.queues[frame.class() as usize];
        let (wire, ect) = (u64::from(frame.wire), frame.is_ect());
        let own = queue.managed.as_mut().map_or(Verdict::Pass, |managed| {
            managed.law().on_dequeue(now, bytes, enqueued_at, wire, ect)
        });
        let Some(judges) = self.of_all_classes.as_mut().filter(|_| own != Verdict::Drop) else {
            return own;
        };
        let (class, port) = (frame.class(), u64::from(self.bytes));
        if let Some((law, judged)) = &mut judges.law {
            let verdict = law.on_dequeue(now, port, enqueued_at, wire, ect);
            if *judged & 1 << class != 0 {
                return verdict;
            }
        }
        match &judges.thresholds {
            Some(thresholds) if ect && thresholds.are_exceeded(class, bytes, port) => Verdict::Mark,
            _ => own,
        }
    }

    /// Bytes that wait in one class.
    #[inline]
    pub(crate) fn queued_bytes(&self, class: u8) -> u64 {
        let alone = self.classes == 1 || self.bytes == 0;
        u64::from(if alone { self.bytes } else { self.class_bytes[class as usize] })
    }

    /// Bytes that leave at this very instant: their room becomes free only after it. Otherwise,
    /// with equal rates and packets, a sender whose packets always arrive exactly when one leaves
    /// would always find room in a full queue, and lock out all others (Floyd and Jacobson, "On
    /// Traffic Phase Effects", 1991).
    #[inline]
    pub(crate) fn leaving_bytes(&self, now: Time) -> u64 {
        if self.last_left.0 == now { self.last_left.1 } else { 0 }
    }

    /// Bytes that wait in all classes, without the packet that is being sent.
    #[inline]
    pub(crate) fn backlog_bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    /// [`backlog_bytes`](Self::backlog_bytes) as they are kept.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Brings the port into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        prefetch(&self.next_start);
    }

    /// Brings the queue that a waiting packet needs into the caches.
    #[inline]
    pub(crate) fn touch_queue(&self) {
        prefetch(&self.ahead.since);
        self.occupancy.touch();
    }

    /// Whether a packet of `class` and `wire` bytes leaves at once: nothing waits, and nothing
    /// stops it. The books are up to date, as for the methods that follow.
    #[inline]
    pub(crate) fn is_idle(&mut self, now: Time, class: u8, wire: u16) -> bool {
        self.next_start == Time::MAX
            && self.backlog == 0
            && !self.has_pfc
            && self.transmitter.is_free(now)
            && !self.transmitter.is_paused(class)
            && (self.bucket.is_none() || self.earliest(now, u64::from(wire)) <= now)
    }

    /// The earliest time at which a port with a bucket has tokens for a packet of `wire` bytes.
    #[inline(never)]
    fn earliest(&mut self, now: Time, wire: u64) -> Time {
        let left = self.transmitter.hops().bytes;
        self.bucket.as_mut().map_or(now, |bucket| bucket.earliest(now, wire, left))
    }

    /// The class of a port with a bucket whose turn it is to send, if there are tokens for its
    /// packet. Else the port is busy until there are: the packet keeps its turn, as one that is
    /// being sent, unless it is paused or leaves its queue otherwise.
    #[inline(never)]
    fn next_class_with_tokens(&mut self, now: Time, sendable: u8) -> Option<u8> {
        let turn = self.bucket.as_mut().and_then(|bucket| bucket.turn.take());
        let class = match turn {
            Some(class) if sendable & 1 << class != 0 => class,
            _ => self.scheduled(sendable),
        };
        let start = self.earliest(now, self.queues[class as usize].head_bytes());
        if start <= now {
            return Some(class);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.turn = Some(class);
        }
        self.transmitter.busy_until = start;
        None
    }

    /// The class that the scheduler chooses.
    #[inline]
    fn scheduled(&mut self, sendable: u8) -> u8 {
        let queues = &self.queues;
        self.scheduler.next(sendable, |class| queues[class as usize].head_bytes())
    }

    /// Counts a packet that arrives and waits.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn enter(&mut self, now: Time, frame: &Frame) {
        let wire = u32::from(frame.wire);
        self.class_bytes[frame.class() as usize % MOST_CLASSES] += wire;
        self.bytes += wire;
        self.occupancy.set(now, self.bytes);
    }

    /// Counts the start of a packet that waited.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn leave(&mut self, start: Time, frame: &Frame) {
        self.last_left = (start, u64::from(frame.wire));
        self.uncount(start, frame);
    }

    /// Takes a packet out of the books.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn uncount(&mut self, now: Time, frame: &Frame) {
        let wire = u32::from(frame.wire);
        self.class_bytes[frame.class() as usize % MOST_CLASSES] -= wire;
        self.bytes -= wire;
        self.occupancy.set(now, self.bytes);
    }

    /// Stores a packet that has room in its queue.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, frame: &Frame, packets: &Packets) {
        let class = frame.class();
        let others = self.is_ahead() && self.ahead.class == class;
        let queue = &mut self.queues[class as usize];
        if queue.packets.is_empty() {
            queue.waiting_since = if others { self.ahead.since } else { now };
        }
        if let Some(enqueued_at) = queue.enqueued_at() {
            enqueued_at.push_back(now);
        }
        queue.packets.push(*frame, || packets.job(frame));
        self.backlog |= 1 << class;
        self.enter(now, frame);
    }

    #[inline]
    fn take_first(&mut self, class: u8) -> Option<Frame> {
        let queue = &mut self.queues[class as usize];
        let frame = queue.packets.pop()?;
        if queue.packets.is_empty() {
            self.backlog &= !(1 << class);
        }
        Some(frame)
    }

    /// Takes out the packet of a class that gives way to one of `job`.
    #[cold]
    pub(crate) fn evict(&mut self, now: Time, class: u8, job: Job) -> Option<Frame> {
        let queue = &mut self.queues[class as usize];
        let frame = queue.packets.evict(job)?;
        if queue.packets.is_empty() {
            self.backlog &= !(1 << class);
        }
        self.uncount(now, &frame);
        Some(frame)
    }

    /// The class in which the header of a packet without room travels on; [`None`] if the packet is
    /// dropped.
    #[cold]
    pub(crate) fn refused(&self, frame: &Frame) -> Option<u8> {
        match self.queues[frame.class() as usize].packets.refused(frame) {
            Refusal::Drop => None,
            Refusal::Trim { class } => {
                let class = class.min(self.classes - 1);
                (class != frame.class() && self.discarded & 1 << class == 0).then_some(class)
            }
        }
    }

    pub(crate) fn enqueue_pfc(&mut self, frame: Frame) {
        self.pfc.push_back(frame);
        self.has_pfc = true;
    }

    /// The next PFC frame to send.
    #[inline]
    pub(crate) fn next_pfc(&mut self) -> Option<Frame> {
        if !self.has_pfc {
            return None;
        }
        let frame = self.pfc.pop_front();
        self.has_pfc = !self.pfc.is_empty();
        frame
    }

    /// The class whose turn it is to send now.
    #[inline]
    pub(crate) fn next_class(&mut self, now: Time) -> Option<u8> {
        let sendable = self.backlog & self.transmitter.open_classes();
        if sendable == 0 {
            return None;
        }
        if self.is_shaped() {
            return self.next_class_with_tokens(now, sendable);
        }
        Some(self.scheduled(sendable))
    }

    /// Takes out the first packet of a class, to be sent. Returns its arrival time, too, where
    /// queue management looks at it, and otherwise `now`.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Time, class: u8) -> Option<(Frame, Time)> {
        let frame = self.take_first(class)?;
        self.leave(now, &frame);
        let enqueued_at = self.queues[class as usize].enqueued_at();
        Some((frame, enqueued_at.and_then(VecDeque::pop_front).unwrap_or(now)))
    }

    /// Takes out the first packet of a class that is not to be sent.
    #[cold]
    pub(crate) fn purge(&mut self, now: Time, class: u8) -> Option<Frame> {
        let (frame, _) = self.pop(now, class)?;
        let bytes = self.queued_bytes(class);
        if let Some(managed) = &mut self.queues[class as usize].managed {
            managed.law().on_purge(now, bytes);
        }
        Some(frame)
    }

    /// Gives the port feedback, which `listens` to arrivals or not.
    pub(crate) fn answer_with(&mut self, law: feedback::AnyLaw, listens: bool) {
        self.hears_arrivals |= listens;
        self.feedback = Some(Box::new(Answering { law, listens }));
    }

    /// Lets the port's feedback read and change the words in the packet of `frame`, which leaves.
    pub(crate) fn stamp(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        let Transit { packets, links, .. } = transit;
        let (payload, stamps) = packets.stamps_of(frame);
        if payload == 0 {
            return; // an ACK echoes the stamps of its data
        }
        let (wire, queued) = (u64::from(frame.wire), self.backlog_bytes());
        let Some(answering) = &mut self.feedback else { return };
        let link = &links[self.transmitter.link as usize];
        let departure = Departure {
            now,
            port: link.number(),
            rate: link.rate(),
            queued,
            sent: self.transmitter.hops().bytes + wire,
            wire,
            payload: payload.into(),
        };
        answering.law.on_departure(&departure, stamps);
    }

    /// Whether something could be sent if the link were free.
    #[inline]
    pub(crate) fn has_sendable(&self) -> bool {
        self.backlog & self.transmitter.open_classes() != 0 || self.has_pfc
    }

    /// Obeys a PFC frame: the far end pauses or resumes a class.
    pub(crate) fn on_pfc(&mut self, now: Time, frame: &Frame) {
        self.transmitter.on_pfc(now, frame);
        let open = self.transmitter.open_classes();
        self.overdue &= !open;
        self.discarded &= !open;
    }

    /// Forgets all pauses: the link has failed.
    pub(crate) fn forget_pauses(&mut self) {
        (self.overdue, self.discarded) = (0, 0);
    }

    /// The classes that have packets and are paused, and the time since which both holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = (u8, Time)> {
        let held = self.backlog & !self.transmitter.open_classes();
        let since = self.transmitter.paused_since();
        (0..)
            .zip(&self.queues)
            .zip(since)
            .filter(move |((class, _), _)| held & 1 << class != 0)
            .map(|((class, queue), &paused)| (class, paused.max(queue.waiting_since)))
    }

    /// Whether a class was found held too long in its present pause.
    pub(crate) fn is_noted(&self, class: u8) -> bool {
        self.overdue & 1 << class != 0
    }

    /// Notes that a class was found held too long; returns whether this is new in its present
    /// pause.
    pub(crate) fn note_overdue(&mut self, class: u8) -> bool {
        let news = !self.is_noted(class);
        self.overdue |= 1 << class;
        news
    }

    /// Tells the frames that their packets are kept elsewhere from now on.
    pub(crate) fn move_packets(&mut self, moved: impl FnMut(&mut Frame)) {
        let queued = self.queues.iter_mut().flat_map(|queue| queue.packets.iter_mut());
        queued.chain(&mut self.pfc).for_each(moved);
    }

    /// The frames in all queues.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flat_map(|queue| queue.packets.iter())
    }

    /// The frames that wait in one class.
    pub(crate) fn waiting(&self, class: u8) -> impl Iterator<Item = &Frame> {
        self.queues[class as usize].packets.iter()
    }
}

impl Queue {
    fn new(packets: AnyDiscipline<Frame>) -> Self {
        Self { packets, waiting_since: Time::ZERO, managed: None }
    }

    /// The arrival times of packets, if queue management looks at them.
    #[inline]
    fn enqueued_at(&mut self) -> Option<&mut VecDeque<Time>> {
        self.managed.as_mut()?.enqueued_at.as_mut()
    }

    fn head_bytes(&self) -> u64 {
        self.packets.head().map_or(0, |frame| u64::from(frame.wire))
    }
}

//! Packets that are on the link before their transmission starts.

use incast_cc::Time;
use incast_queue::discipline::Discipline;

use super::Port;
use crate::Transit;
use crate::calendar::Calendar;
use crate::frame::Frame;
use crate::instant::NeedsEvent;
use crate::link::Link;

/// The greatest bound of the packets that may be ahead at a time.
const MOST: u32 = 512;
/// The packets that go ahead for each of the bound, without being taken back, before it doubles.
const PATIENCE: u32 = 8;

/// Waiting packets that are on the link already, since their start is known: packets of one class,
/// one after the other. A queue with them needs no event for each packet that leaves it. Whatever
/// may change the order takes them back: a packet of a higher class, a pause, a PFC frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The time since which packets of the class wait.
    pub(super) since: Time,
    /// The most packets that may be ahead at a time: `least` where some have just been taken back,
    /// and more and more while none is.
    pub(super) most: u32,
    pub(super) least: u32,
    /// The packets that have waited for room since the bound was set.
    pub(super) waited: u32,
    pub(super) class: u8,
}

impl Ahead {
    /// Counts a packet that has waited for room ahead: a queue is longer than the bound.
    #[inline]
    fn widen(&mut self) {
        self.waited += 1;
        if self.waited > PATIENCE * self.most && self.most < MOST {
            (self.most, self.waited) = (self.most * 2, 0);
        }
    }
}

impl Port {
    /// Allows up to `packets` packets on the link before they start. Only where nobody needs to
    /// know the queue at their start, and all queues keep the order of arrival.
    pub(crate) fn look_ahead(&mut self, packets: u32) {
        let fifo = self.queues.iter_mut().all(|queue| queue.packets.as_fifo().is_some());
        let judged = self.managed || self.hears_arrivals;
        self.ahead.most = if fifo && !judged { packets } else { 0 };
        self.ahead.least = self.ahead.most;
    }

    /// Whether no packet is in a queue, no class is paused, and no PFC frame waits. So a packet
    /// that comes now leaves at once if the link is free. Otherwise it follows the packets that are
    /// ahead, if it [may](Self::is_last_ahead).
    #[inline]
    pub(crate) fn keeps_order(&self) -> bool {
        self.backlog | u8::from(self.has_pfc) | !self.transmitter.open_classes() == 0
    }

    /// Whether a packet of `class` may follow those that are on the link ahead of time.
    #[inline]
    pub(crate) fn is_last_ahead(&self, class: u8, link: &Link) -> bool {
        link.waits() < self.ahead.most && (!self.is_ahead() || self.ahead.class == class)
    }

    /// Whether a packet of `class` that comes now, while the link is busy, has a known start: it
    /// queues last, and nothing overtakes it.
    #[inline]
    pub(crate) fn goes_ahead(&self, now: Time, class: u8, link: &Link) -> bool {
        self.is_last_ahead(class, link)
            && self.backlog >> class == 0
            && !self.has_pfc
            && !self.transmitter.is_free(now)
            && !self.transmitter.is_paused(class)
    }

    /// Whether packets are on the link ahead of time.
    #[inline]
    pub(super) fn is_ahead(&self) -> bool {
        self.next_start != Time::MAX
    }

    /// Whether packets of a lower class are on the link ahead of time.
    #[inline]
    pub(crate) fn overtakes(&self, class: u8) -> bool {
        self.is_ahead() && self.ahead.class < class
    }

    /// The start of the next packet that is on the link ahead of time; [`Time::MAX`] where there is
    /// none.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.next_start
    }

    /// Puts a packet that [`goes_ahead`](Self::goes_ahead) on the link.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    pub(crate) fn enqueue_ahead(
        &mut self,
        now: Time,
        frame: &Frame,
        link: &mut Link,
        calendar: &mut Calendar,
    ) {
        self.enter(now, frame);
        self.put_ahead(now, frame, link, calendar);
    }

    /// Puts a packet on the link; packets of its class wait since `since`.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn put_ahead(&mut self, since: Time, frame: &Frame, link: &mut Link, calendar: &mut Calendar) {
        debug_assert!(self.is_last_ahead(frame.class(), link));
        let start = self.transmitter.busy_until;
        self.transmitter.busy_until = link.put(start, frame, calendar);
        if !self.is_ahead() {
            (self.ahead.since, self.ahead.class) = (since, frame.class());
            self.next_start = start;
        }
    }

    /// Notes that the next packet has started by the link, and returns it.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    pub(crate) fn start_next(&mut self, link: &mut Link) -> Frame {
        let start = self.next_start;
        let (started, next) = link.start_next(start);
        self.next_start = next;
        self.leave(start, &started);
        self.transmitter.count(start, u64::from(started.wire));
        started
    }

    /// Takes the packets that have not started back from the link. The books are up to date.
    #[cold]
    pub(crate) fn take_back(&mut self, transit: &mut Transit) -> NeedsEvent {
        let Transit { links, calendar, .. } = transit;
        let link = &mut links[self.transmitter.link as usize];
        let Ahead { class, since, .. } = self.ahead;
        if !self.is_ahead() {
            return NeedsEvent::new();
        }
        (self.ahead.most, self.ahead.waited) = (self.ahead.least, 0);
        let queue = &mut self.queues[class as usize];
        queue.waiting_since = since;
        let fifo = queue.packets.as_fifo();
        let fifo = fifo.unwrap_or_else(|| unreachable!("the others never look ahead"));
        while let Some((frame, start)) = link.take_back(calendar) {
            fifo.put_back(frame);
            self.backlog |= 1 << class;
            self.transmitter.busy_until = start;
        }
        self.next_start = Time::MAX;
        NeedsEvent::new()
    }

    /// Puts the waiting packets of `class` on the link. It is the turn of this class as long as no
    /// packet of a higher one comes.
    #[inline]
    pub(crate) fn send_ahead(&mut self, gaps: bool, transit: &mut Transit) {
        let Transit { links, calendar, .. } = transit;
        let link = &mut links[self.transmitter.link as usize];
        while !self.has_pfc {
            let sendable = self.backlog & self.transmitter.open_classes();
            if sendable == 0 {
                return;
            }
            #[expect(clippy::cast_possible_truncation, reason = "below 8")]
            let class = sendable.ilog2() as u8;
            if !self.is_last_ahead(class, link) {
                return;
            }
            self.ahead.widen();
            let since = self.queues[class as usize].waiting_since;
            let Some(mut frame) = self.take_first(class) else { return };
            if gaps {
                frame.disquiet();
            }
            self.put_ahead(since, &frame, link, calendar);
        }
    }
}

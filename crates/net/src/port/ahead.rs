//! Packets that are on the link before their transmission starts.

use incast_cc::Time;
use incast_queue::discipline::Discipline;

use super::Port;
use crate::Transit;
use crate::frame::Frame;
use crate::instant::NeedsEvent;

/// Waiting packets that are on the link already, since their start is known: packets of one class,
/// one after the other. A queue with them needs no event for each packet that leaves it. They are
/// taken back by whatever may change the order: a packet of a higher class, a pause, a PFC frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The time since which packets of the class wait.
    pub(super) since: Time,
    /// The most packets that may be ahead at a time.
    pub(super) most: u32,
    pub(super) count: u32,
    pub(super) class: u8,
}

impl Port {
    /// Allows up to `packets` packets on the link before they start. Only where nobody needs to
    /// know the queue at their start, and all queues keep the order of arrival.
    pub(crate) fn look_ahead(&mut self, packets: u32) {
        let fifo = self.queues.iter_mut().all(|queue| queue.packets.as_fifo().is_some());
        self.ahead.most = if fifo { packets } else { 0 };
    }

    /// Whether the start of a packet of `class` that comes now, while the link is busy, is known:
    /// it comes after all that waits, and nothing that waits longer comes first.
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

    /// The start of the next packet that is on the link ahead of time; [`Time::MAX`] where there is
    /// none.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.next_start
    }

    /// Puts a packet that [`goes_ahead`](Self::goes_ahead) on the link.
    #[inline]
    pub(crate) fn enqueue_ahead(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        if self.ahead.count == 0 {
            self.ahead.since = now;
        }
        self.enter(now, frame);
        self.put_ahead(frame, transit);
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn put_ahead(&mut self, frame: &Frame, transit: &mut Transit) {
        let Transit { links, calendar, .. } = transit;
        let start = self.transmitter.busy_until;
        let link = &mut links[self.transmitter.link as usize];
        self.transmitter.busy_until = link.put(start, frame, calendar);
        self.ahead.class = frame.class;
        self.ahead.count += 1;
        self.next_start = self.next_start.min(start);
    }

    /// The next packet that has started before `until` by the link. Brings the books up to date:
    /// call it until [`None`].
    #[inline]
    pub(crate) fn start_next(&mut self, until: Time, transit: &mut Transit) -> Option<Frame> {
        let start = self.next_start;
        if start >= until {
            return None;
        }
        let link = &mut transit.links[self.transmitter.link as usize];
        let (started, next) = link.start_next(start);
        self.ahead.count -= 1;
        self.next_start = next;
        self.leave(start, &started);
        self.transmitter.count(start, u64::from(started.wire));
        Some(started)
    }

    /// Takes the packets that have not started back from the link. The books are up to date.
    #[cold]
    pub(crate) fn take_back(&mut self, transit: &mut Transit) -> NeedsEvent {
        let Transit { links, calendar, .. } = transit;
        let link = &mut links[self.transmitter.link as usize];
        let Ahead { class, since, count, .. } = self.ahead;
        if count == 0 {
            return NeedsEvent::new();
        }
        let queue = &mut self.queues[class as usize];
        queue.waiting_since = since;
        let fifo = queue.packets.as_fifo();
        let fifo = fifo.unwrap_or_else(|| unreachable!("the others never look ahead"));
        while let Some((frame, start)) = link.take_back(calendar) {
            fifo.put_back(frame);
            self.backlog |= 1 << class;
            self.transmitter.busy_until = start;
        }
        (self.ahead.count, self.next_start) = (0, Time::MAX);
        NeedsEvent::new()
    }

    /// Puts the waiting packets of `class` on the link. It is the turn of this class as long as no
    /// packet of a higher one comes.
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
            let Some(mut frame) = self.take_first(class) else { return };
            if gaps {
                frame.disquiet();
            }
            self.put_ahead(&frame, transit);
        }
    }
}

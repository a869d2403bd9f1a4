//! Sending: the part that a NIC and the egress port of a switch have in common.

use incast_cc::{Rate, Span, Time};
use incast_transport::Step;

use super::MOST_CLASSES;
use super::Transit;
use super::calendar::{Calendar, ComponentId};
use super::count::Count;
use super::frame::Frame;

/// A sender that puts frames on one link, one after the other, and obeys PFC.
#[derive(Debug)]
#[repr(C)]
pub struct Transmitter {
    /// The time at which the link is free; [`Time::MAX`] while it is down.
    pub(super) busy_until: Time,
    /// The packets that left over the whole run, and their bytes: apart, since two additions are
    /// faster than a vector of two.
    packets: u64,
    /// The number of the link.
    pub(crate) link: u32,
    /// The component of the event at which the link is free, scheduled while something waits for
    /// it.
    pub(crate) component: ComponentId,
    bytes: u64,
    /// A bit for each class, set while the far end pauses it.
    paused: u8,
    /// Whether measurement has started.
    measures: bool,
    rare: Box<Rare>,
}

/// The state that few packets need.
#[derive(Debug)]
struct Rare {
    /// The start of measurement.
    start: Time,
    /// The packets that left before measurement started.
    before: Count,
    /// The time at which the link would have been free had it not failed.
    busy_until_if_up: Time,
    paused_since: Time,
    /// The start of each class's pause.
    class_paused_since: [Time; MOST_CLASSES],
    /// The time for which one class or more was paused since measurement started.
    paused: Span,
    /// The bits that the link could have carried since measurement started, at its former rates.
    capacity: f64,
    /// The time since which the link has its present rate.
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
            packets: 0,
            link,
            component,
            bytes: 0,
            paused: 0,
            measures: start == Time::ZERO,
            rare: Box::new(rare),
        }
    }

    /// The packets that left over the whole run, and their bytes on the wire.
    pub const fn hops(&self) -> Count {
        Count { packets: self.packets, bytes: self.bytes }
    }

    /// The packets that left since measurement started, and their bytes on the wire.
    pub fn measured(&self) -> Count {
        let Count { packets, bytes } = self.rare.before;
        if self.measures {
            Count { packets: self.packets - packets, bytes: self.bytes - bytes }
        } else {
            Count::default()
        }
    }

    /// The time for which PFC paused a class or more since measurement started.
    pub fn paused(&self) -> Span {
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

    /// Stops sending: the link has failed, and the far end no longer asks for a pause.
    pub(crate) fn on_link_down(&mut self, now: Time) {
        if self.paused != 0 {
            self.rare.paused += now.since(self.rare.paused_since.max(self.rare.start));
            self.paused = 0;
        }
        self.rare.busy_until_if_up = std::mem::replace(&mut self.busy_until, Time::MAX);
    }

    /// Resumes sending: the link is back. The port waits for the end of the packet that was cut
    /// off, so that packets arrive in the order in which they are sent.
    pub(crate) fn on_link_up(&mut self) {
        self.busy_until = self.rare.busy_until_if_up;
    }

    #[inline]
    pub(crate) fn is_paused(&self, class: u8) -> bool {
        self.paused & 1 << class != 0
    }

    /// Whether a class or more is paused.
    pub(crate) const fn holds_any(&self) -> bool {
        self.paused != 0
    }

    /// The classes that may send.
    #[inline]
    pub(crate) fn open_classes(&self) -> u8 {
        !self.paused
    }

    /// The start of the pause of each paused class.
    pub(super) fn paused_since(&self) -> &[Time; MOST_CLASSES] {
        &self.rare.class_paused_since
    }

    /// Obeys a PFC frame: the far end pauses or resumes a class.
    pub(crate) fn on_pfc(&mut self, now: Time, frame: &Frame) {
        let bit = 1 << frame.class();
        if frame.is_pause() {
            if self.paused == 0 {
                self.rare.paused_since = now;
            }
            if self.paused & bit == 0 {
                self.rare.class_paused_since[frame.class() as usize] = now;
            }
            self.paused |= bit;
        } else if self.paused & bit != 0 {
            self.paused &= !bit;
            if self.paused == 0 {
                self.rare.paused += now.since(self.rare.paused_since.max(self.rare.start));
            }
        }
    }

    /// Sends a frame on the link, which is free.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        if !frame.is_pfc() {
            self.count(now, u64::from(frame.wire));
        }
        self.put(now, frame, transit);
    }

    /// Sends the frame of a packet on the link, which is free at `now`.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn transmit_packet(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        debug_assert!(!frame.is_pfc());
        self.count(now, u64::from(frame.wire));
        self.put(now, frame, transit);
    }

    /// Sends the frames of `count` packets on the link, which is free at `start`: one after the
    /// other, each a `step` from the one before. Returns the last start.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn transmit_several(
        &mut self,
        start: Time,
        first: Frame,
        count: u32,
        step: Step,
        transit: &mut Transit,
    ) -> Time {
        debug_assert!(self.is_free(start) && !first.is_pfc());
        let (wire, more) = (u64::from(first.wire), u64::from(count - 1));
        self.count(start, wire);
        (self.packets, self.bytes) = (self.packets + more, self.bytes + more * wire);
        let Transit { links, calendar, .. } = transit;
        let link = &mut links[self.link as usize];
        let (last, free) = link.send_several(start, first, count, step, calendar);
        self.busy_until = free;
        last
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    fn put(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        debug_assert!(self.is_free(now));
        let Transit { links, calendar, .. } = transit;
        self.busy_until = links[self.link as usize].send(now, frame, calendar);
    }

    /// Notes that a frame which had not started is off the link again.
    pub(crate) fn uncount(&mut self, frame: &Frame) {
        self.packets -= 1;
        self.bytes -= u64::from(frame.wire);
    }

    /// Counts a packet whose transmission started at `start`.
    #[inline]
    pub(super) fn count(&mut self, start: Time, wire: u64) {
        if !self.measures && start >= self.rare.start {
            (self.measures, self.rare.before) = (true, self.hops());
        }
        self.packets += 1;
        self.bytes += wire;
    }

    /// Asks for an event when the link is free.
    #[inline]
    pub(crate) fn wait(&self, calendar: &mut Calendar) {
        calendar.schedule(self.component, self.busy_until);
    }

    /// The bits that the link, of `rate` now, could have carried since measurement started.
    pub fn capacity(&self, now: Time, rate: Rate) -> f64 {
        let since = self.rare.rate_since.max(self.rare.start);
        self.rare.capacity + rate.as_bps() as f64 * now.since(since).as_secs_f64()
    }

    /// Notes that the link had `rate` until now.
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

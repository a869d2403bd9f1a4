//! Links: the only way from one node to another.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::Step;

use super::calendar::{Calendar, ComponentId};
use super::frame::Frame;
use super::loss::Loss;
use super::prefetch::prefetch;
use super::ring::Ring;

/// The far end of a link that leads to another part of the network ([`domain`](super::domain)).
const ELSEWHERE: ComponentId = ComponentId::MAX;

/// The picoseconds that a byte takes behind a token bucket, whose packets leave at the speed of the
/// device: next to nothing, but frames keep their order in time.
pub const DEVICE_PS_PER_BYTE: u32 = 1;

/// A cable in one direction: the frames on it, in the order of arrival.
///
/// A sender that knows its next frames may put them on the link ahead of time. Until its
/// transmission starts, such a frame *waits*: it is in the sender's books.
/// [`start_next`](Link::start_next) brings the books forward frame by frame, and
/// [`take_back`](Link::take_back) takes a waiting frame back.
///
/// The fields that every frame needs are in the first cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    ring: Ring<OnLink>,
    /// The component of the link's arrivals, at its far end.
    arrival: ComponentId,
    /// Picoseconds per byte at the present rate, or zero: see [`ps_per_byte`].
    ps_per_byte: u32,
    /// The propagation delay, above zero: a node's actions reach the next one only after it.
    delay: Span,
    /// The time from which on frames may be lost: the link's next failure, or zero where the link
    /// damages frames at random.
    fails: Time,
    /// The number of frames on the link that are not quiet, where the far end is a host. The first
    /// of them is announced to the host.
    loud: u32,
    /// Whether the far end is a host, to which quiet frames need not be announced.
    to_host: bool,
    /// Whether that host may handle arrivals before their time.
    runs_ahead: bool,
    /// Whether frames take [`DEVICE_PS_PER_BYTE`], since a token bucket keeps the rate.
    at_device_speed: bool,
    rate: Rate,
    /// The link's number in the whole network, as stamps of switches give it.
    number: u32,
    loss: Option<Box<Loss>>,
}

/// A frame on a link.
///
/// Whoever takes a frame looks at the time of the next one. The time comes first, so the next one's
/// lies right behind this frame, mostly in its cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct OnLink {
    arrives: Time,
    frame: Frame,
}

impl OnLink {
    /// Brings the frame into the caches, from its first line to its last.
    #[inline]
    fn touch(&self) {
        prefetch(&self.arrives);
        prefetch(&self.frame.wire);
    }
}

/// Picoseconds per byte where that is a whole number, as at all common rates: this spares a
/// division per packet. Otherwise zero.
fn ps_per_byte(rate: Rate) -> u32 {
    let byte = rate.time_for(Bytes::new(1)).as_ps();
    let exact = rate.time_for(Bytes::new(1 << 20)).as_ps() == byte << 20;
    if exact { u32::try_from(byte).unwrap_or(0) } else { 0 }
}

/// A time later by `span`. Times of a run are far below the greatest, so nothing saturates.
#[inline]
const fn later(time: Time, span: Span) -> Time {
    Time::from_ps(time.as_ps() + span.as_ps())
}

impl Link {
    pub(crate) fn new(
        number: u32,
        (rate, delay): (Rate, Span),
        arrival: ComponentId,
        to_host: bool,
    ) -> Self {
        Self {
            ring: Ring::new(OnLink { arrives: Time::MAX, frame: Frame::NOTHING }),
            arrival,
            ps_per_byte: ps_per_byte(rate),
            delay,
            fails: Time::MAX,
            loud: 0,
            to_host,
            runs_ahead: false,
            at_device_speed: false,
            rate,
            number,
            loss: None,
        }
    }

    /// The time that `wire` bytes take.
    #[inline]
    fn time_for(&self, wire: u16) -> Span {
        if self.ps_per_byte > 0 {
            Span::from_ps(u64::from(self.ps_per_byte) * u64::from(wire))
        } else {
            self.rate.time_for(Bytes::new(u64::from(wire)))
        }
    }

    /// Puts a frame on the link whose transmission starts at `start`. Returns the time at which its
    /// last bit leaves the sender. The frame waits until [`start_next`](Self::start_next).
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn put(&mut self, start: Time, frame: &Frame, calendar: &mut Calendar) -> Time {
        let sent = later(start, self.time_for(frame.wire));
        let arrives = later(sent, self.delay);
        if self.to_host {
            if !frame.is_quiet() {
                if self.loud == 0 {
                    if self.runs_ahead {
                        calendar.announce(self.arrival, arrives);
                    } else {
                        calendar.schedule(self.arrival, arrives);
                    }
                }
                self.loud += 1;
            }
        } else if self.ring.is_empty() && self.leads_here() {
            calendar.schedule(self.arrival, arrives);
        }
        self.ring.push(OnLink { arrives, frame: *frame });
        if arrives >= self.fails {
            self.cut_last(arrives);
        }
        sent
    }

    /// Marks the last frame if its link fails before it arrives, or damages it. PFC frames are not
    /// damaged: real ones repeat a pause that is to last.
    #[cold]
    fn cut_last(&mut self, arrives: Time) {
        let frame = &mut self.ring.last_mut().frame;
        match &self.loss {
            Some(loss) if arrives < loss.fails => {
                if !frame.is_pfc() && loss.damages(arrives) {
                    frame.damage();
                }
            }
            _ => frame.cut(),
        }
    }

    /// Puts a frame on the link that starts now; no frame waits. Returns as [`put`](Self::put)
    /// does.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, frame: &Frame, calendar: &mut Calendar) -> Time {
        debug_assert!(self.waits() == 0, "frames overtake those that wait");
        let sent = self.put(now, frame, calendar);
        self.ring.start_all();
        sent
    }

    /// Puts `count` frames on the link to a switch, one after the other, each a `step` from the one
    /// before; no frame waits. Returns the last start, and the time at which the last bit of all
    /// leaves the sender.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn send_several(
        &mut self,
        mut start: Time,
        mut frame: Frame,
        count: u32,
        step: Step,
        calendar: &mut Calendar,
    ) -> (Time, Time) {
        debug_assert!(self.waits() == 0 && !self.to_host && count > 0);
        let took = self.time_for(frame.wire);
        let mut sent = later(start, took);
        if self.ring.is_empty() && self.leads_here() {
            calendar.schedule(self.arrival, later(sent, self.delay));
        }
        let mut left = count;
        loop {
            let arrives = later(sent, self.delay);
            self.ring.push(OnLink { arrives, frame });
            if arrives >= self.fails {
                self.cut_last(arrives);
            }
            left -= 1;
            if left == 0 {
                break;
            }
            (start, sent) = (sent, later(sent, took));
            frame.advance(step, start);
        }
        self.ring.start_all();
        (start, sent)
    }

    /// The start of the first frame that waits; [`Time::MAX`] where none does.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.ring.first_waiting().map_or(Time::MAX, |next| self.start_of(next))
    }

    /// The start of a frame, at the present rate. A frame that was on its way when the link got
    /// slower started later than that.
    #[inline]
    fn start_of(&self, on_link: &OnLink) -> Time {
        let took = self.time_for(on_link.frame.wire) + self.delay;
        Time::from_ps(on_link.arrives.as_ps().saturating_sub(took.as_ps()))
    }

    /// The number of frames that wait.
    #[inline]
    pub(crate) fn waits(&self) -> u32 {
        self.ring.waits()
    }

    /// Starts the first of the frames that wait, at `start`. Returns this frame, and the start of
    /// the next one: [`Time::MAX`] where none waits. The rate is that at which they were put on the
    /// link, one after the other.
    #[inline]
    pub(crate) fn start_next(&mut self, start: Time) -> (Frame, Time) {
        debug_assert_eq!(start, self.next_start());
        let frame = self.ring.start_first().frame;
        let next = later(start, self.time_for(frame.wire));
        let next = if self.waits() > 0 { next } else { Time::MAX };
        debug_assert_eq!(next, self.next_start());
        (frame, next)
    }

    /// Takes back the last frame that waits; returns it with the time at which it would have
    /// started.
    pub(crate) fn take_back(&mut self, calendar: &mut Calendar) -> Option<(Frame, Time)> {
        let mut last = self.ring.take_back()?;
        last.frame.mend();
        if self.to_host {
            if !last.frame.is_quiet() {
                self.loud -= 1;
                if self.loud == 0 {
                    calendar.schedule(self.arrival, Time::MAX);
                }
            }
        } else if self.ring.is_empty() && self.leads_here() {
            calendar.schedule(self.arrival, Time::MAX);
        }
        Some((last.frame, self.start_of(&last)))
    }

    /// The last frame on the link to a switch, and its start.
    pub(crate) fn last(&self) -> Option<(Frame, Time)> {
        let last = self.ring.last()?;
        Some((last.frame, self.start_of(last)))
    }

    /// Whether a frame on the link to a switch starts at `at`.
    pub(crate) fn starts_at(&self, at: Time) -> bool {
        self.ring.iter().any(|on_link| self.start_of(on_link) == at)
    }

    /// The time at which the last bit of the last frame leaves the sender; [`None`] if no frame is
    /// on the link.
    pub(crate) fn sent_until(&self) -> Option<Time> {
        let last = self.ring.last()?;
        Some(Time::from_ps(last.arrives.as_ps() - self.delay.as_ps()))
    }

    /// Takes the last frame off the link to a switch, whose transmission has not started.
    pub(crate) fn take_last(&mut self, calendar: &mut Calendar) {
        debug_assert!(!self.to_host && self.leads_here());
        self.ring.take_last();
        if self.ring.is_empty() {
            calendar.schedule(self.arrival, Time::MAX);
        }
    }

    /// Takes the frame whose arrival at a switch was announced.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn arrive_at_switch(&mut self, calendar: &mut Calendar) -> Frame {
        let frame = self.ring.take_first().frame;
        if !self.ring.is_empty() {
            calendar.schedule(self.arrival, self.ring.first().arrives);
        }
        frame
    }

    /// Takes the frame whose arrival at a host was announced. Quiet frames are not announced; those
    /// before it have been taken in. The next one must be announced.
    #[inline]
    pub(crate) fn arrive_at_host(&mut self) -> Frame {
        let frame = self.ring.take_first().frame;
        debug_assert!(!frame.is_quiet(), "it was not announced");
        self.loud -= 1;
        frame
    }

    /// Takes the frame whose arrival at a host was announced, unless quiet frames come before it.
    #[inline]
    pub(crate) fn arrive_if_loud(&mut self) -> Option<Frame> {
        let frame = self.ring.first().frame;
        if frame.is_quiet() {
            return None;
        }
        self.ring.take_first();
        self.loud -= 1;
        Some(frame)
    }

    /// The time of the next arrival at a host that must be announced, if there is one.
    #[inline]
    pub(crate) fn next_loud(&self) -> Option<Time> {
        if self.loud == 0 { None } else { Some(self.first_loud().arrives) }
    }

    /// The start of the next frame that must be announced. There is one.
    #[inline]
    pub(crate) fn next_loud_start(&self) -> Time {
        self.start_of(self.first_loud())
    }

    #[inline]
    fn first_loud(&self) -> &OnLink {
        let first = self.ring.first();
        if first.frame.is_quiet() { self.loud_after_quiet() } else { first }
    }

    fn loud_after_quiet(&self) -> &OnLink {
        let mut loud = self.ring.iter().filter(|next| !next.frame.is_quiet());
        loud.next().unwrap_or_else(|| unreachable!("they are counted"))
    }

    /// Sets whether the host at the far end may handle arrivals before their time.
    pub(crate) const fn set_runs_ahead(&mut self, on: bool) {
        self.runs_ahead = on && self.to_host;
    }

    /// Takes the next frame that has arrived before `now`, and its time of arrival.
    #[inline]
    pub(crate) fn arrived_before(&mut self, now: Time) -> Option<(Time, Frame)> {
        let &OnLink { arrives, frame } = self.ring.front().filter(|next| next.arrives < now)?;
        self.ring.take_first();
        Some((arrives, frame))
    }

    /// Brings the link into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        self.ring.touch();
    }

    /// Brings the places for the next frame that is put on the link, and of the first that waits,
    /// into the caches.
    #[inline]
    pub(crate) fn touch_end(&self) {
        self.ring.place_of_end().touch();
        if let Some(waiting) = self.ring.first_waiting() {
            waiting.touch();
        }
    }

    /// Brings the next frame to arrive into the caches.
    #[inline]
    pub(crate) fn touch_front(&self) {
        if let Some(next) = self.ring.front() {
            next.touch();
        }
    }

    /// The frames that arrive before `until`.
    #[inline]
    pub(crate) fn arriving_before(&self, until: Time) -> impl Iterator<Item = &Frame> {
        self.ring.iter().take_while(move |next| next.arrives < until).map(|next| &next.frame)
    }

    /// The next frame to arrive.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Frame> {
        self.ring.front().map(|next| &next.frame)
    }

    /// Sets the time of the link's next failure.
    pub(crate) const fn fail_at(&mut self, at: Time) {
        match &mut self.loss {
            Some(loss) => loss.fails = at,
            None => self.fails = at,
        }
    }

    /// Lets the link damage frames with this probability, from the beginning.
    pub(crate) fn set_loss(&mut self, probability: f64, seed: u64) {
        self.loss = Loss::new(probability, seed, self.number);
        if self.loss.is_some() {
            self.fails = Time::ZERO;
        }
    }

    /// Sets the rate from the next packet on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        if !self.at_device_speed {
            self.ps_per_byte = ps_per_byte(rate);
        }
    }

    /// Lets frames leave at the speed of the device, 8 Tb/s: a token bucket before the link keeps
    /// its rate.
    pub(crate) const fn set_device_speed(&mut self) {
        (self.at_device_speed, self.ps_per_byte) = (true, DEVICE_PS_PER_BYTE);
    }

    /// The present rate.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// The link's number in the whole network.
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// The propagation delay.
    pub(crate) const fn delay(&self) -> Span {
        self.delay
    }

    /// The component of the link's arrivals, at its far end.
    pub(crate) const fn arrival(&self) -> ComponentId {
        self.arrival
    }

    /// Whether the far end is in this part of the network.
    pub(crate) fn leads_here(&self) -> bool {
        self.arrival != ELSEWHERE
    }

    /// Sets a new number for the component at the far end.
    pub(crate) const fn set_arrival(&mut self, arrival: ComponentId) {
        self.arrival = arrival;
    }

    /// Splits a link whose ends are in different parts of the network: keeps the sender's half,
    /// with the frames that wait, and returns the receiver's, with the frames on the way. The link
    /// leads to a switch, and the sender's books are up to date.
    pub(crate) fn part(&mut self) -> Self {
        let mut half = Self::new(self.number, (self.rate(), self.delay), self.arrival, false);
        if self.at_device_speed {
            half.set_device_speed();
        }
        while !self.ring.all_wait() {
            half.ring.push(self.ring.take_first());
        }
        half.ring.start_all();
        self.arrival = ELSEWHERE;
        half
    }

    /// Joins the two halves again. All frames that have started have been handed over, and the
    /// sender's books are up to date.
    pub(crate) fn join(&mut self, receiver: Self) {
        debug_assert!(self.ring.all_wait(), "not handed over");
        let waiting = std::mem::replace(&mut self.ring, receiver.ring);
        waiting.iter().for_each(|&on_link| self.ring.push(on_link));
        self.arrival = receiver.arrival;
    }

    /// Tells the frames that their packets are kept elsewhere from now on.
    pub(crate) fn move_packets(&mut self, mut moved: impl FnMut(&mut Frame)) {
        self.ring.for_each_mut(|on_link| moved(&mut on_link.frame));
    }

    /// Takes the next frame that has started before `until` out of the sender's half, with its time
    /// of arrival. If there is none, returns the start of the next one.
    #[inline]
    pub(crate) fn hand_over(&mut self, until: Time) -> Result<(Time, Frame), Time> {
        let Some(&next) = self.ring.front() else { return Err(Time::MAX) };
        if self.ring.all_wait() {
            let start = self.start_of(&next);
            if start >= until {
                return Err(start);
            }
        }
        self.ring.take_first();
        Ok((next.arrives, next.frame))
    }

    /// Takes a frame that was handed over into the receiver's half. Frames come in the order of
    /// sending.
    pub(crate) fn take_in(&mut self, arrives: Time, frame: Frame, calendar: &mut Calendar) {
        if self.ring.is_empty() {
            calendar.schedule(self.arrival, arrives);
        }
        self.ring.push(OnLink { arrives, frame });
        self.ring.start_all();
    }

    /// The frames that are on the link.
    pub(crate) fn flying(&self) -> impl Iterator<Item = &Frame> {
        self.ring.iter().map(|on_link| &on_link.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_a_link_is_small() {
        assert_eq!(size_of::<OnLink>(), 40);
    }

    /// All that a frame changes lies in the first cache line.
    #[test]
    fn a_link_has_its_positions_in_its_first_line() {
        assert!(std::mem::offset_of!(Link, to_host) < 64);
    }

    #[test]
    fn whole_picoseconds_per_byte_spare_the_division() {
        assert_eq!(ps_per_byte(Rate::from_gbps(10)), 800);
        assert_eq!(ps_per_byte(Rate::from_bps(1_600_000_000_000)), 5);
        let third = Rate::from_gbps(3);
        let link = Link::new(0, (third, Span::from_us(1)), 0, false);
        assert_eq!(link.ps_per_byte, 0);
        assert_eq!(link.time_for(1_500), third.time_for(Bytes::new(1_500)));
    }
}

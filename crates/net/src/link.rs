//! Links: the only way from one node to another.

use std::collections::VecDeque;
use std::hint::black_box;

use incast_cc::{Bytes, Rate, Span, Time};

use super::calendar::{Calendar, ComponentId};
use super::frame::Frame;

/// The far end of a link that leads to another part of the network ([`domain`](super::domain)).
const ELSEWHERE: ComponentId = ComponentId::MAX;

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
    ring: Ring,
    /// The component of the link's arrivals, at its far end.
    arrival: ComponentId,
    /// The propagation delay, above zero: a node's actions reach the next one only after it.
    delay: Span,
    /// The time of the link's next failure.
    fails: Time,
    /// Whether the far end is a host, to which quiet frames need not be announced.
    to_host: bool,
    serializer: Serializer,
    /// The link's number in the whole network, as stamps of switches give it.
    number: u32,
    /// The arrivals at a host of frames that are not quiet.
    announced: VecDeque<Time>,
}

/// A frame on a link.
#[derive(Clone, Copy, Debug)]
struct OnLink {
    arrives: Time,
    frame: Frame,
}

/// Frames in the order of arrival. The far end takes them from the front. From `waiting` on they
/// have not started by the sender's books. These may be behind: the far end may have taken frames
/// that they still count. Positions count frames, modulo 2^32.
#[derive(Debug)]
#[repr(C)]
struct Ring {
    /// The places for frames; their number is a power of two.
    places: Box<[OnLink]>,
    front: u32,
    waiting: u32,
    end: u32,
}

/// Turns sizes into times at one rate.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Serializer {
    /// Picoseconds per byte where that is a whole number, as at all common rates: this spares a
    /// division per packet. Otherwise zero.
    ps_per_byte: u32,
    rate: Rate,
}

impl Serializer {
    pub(crate) fn new(rate: Rate) -> Self {
        let byte = rate.time_for(Bytes::new(1)).as_ps();
        let exact = rate.time_for(Bytes::new(1 << 20)).as_ps() == byte << 20;
        let ps_per_byte = if exact { u32::try_from(byte).unwrap_or(0) } else { 0 };
        Self { ps_per_byte, rate }
    }

    #[inline]
    pub(crate) fn time_for(self, wire: u16) -> Span {
        if self.ps_per_byte > 0 {
            Span::from_ps(u64::from(self.ps_per_byte) * u64::from(wire))
        } else {
            self.rate.time_for(Bytes::new(u64::from(wire)))
        }
    }
}

impl Link {
    pub(crate) fn new(
        number: u32,
        (rate, delay): (Rate, Span),
        arrival: ComponentId,
        to_host: bool,
    ) -> Self {
        Self {
            number,
            delay,
            serializer: Serializer::new(rate),
            ring: Ring::default(),
            arrival,
            to_host,
            fails: Time::MAX,
            announced: VecDeque::new(),
        }
    }

    /// Puts a frame on the link whose transmission starts at `start`. Returns the time at which its
    /// last bit leaves the sender. The frame waits until [`start_next`](Self::start_next).
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn put(&mut self, start: Time, frame: &Frame, calendar: &mut Calendar) -> Time {
        let mut frame = *frame;
        let sent = start + self.serializer.time_for(frame.wire);
        let arrives = sent + self.delay;
        if self.to_host {
            if !frame.is_quiet() {
                if self.announced.is_empty() {
                    calendar.schedule(self.arrival, arrives);
                }
                self.announced.push_back(arrives);
            }
        } else if self.ring.is_empty() && self.leads_here() {
            calendar.schedule(self.arrival, arrives);
        }
        if arrives >= self.fails {
            frame.cut();
        }
        self.ring.push(OnLink { arrives, frame });
        sent
    }

    /// Puts a frame on the link that starts now; no frame waits. Returns as [`put`](Self::put)
    /// does.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, frame: &Frame, calendar: &mut Calendar) -> Time {
        debug_assert!(self.ring.waiting == self.ring.end, "frames overtake those that wait");
        let sent = self.put(now, frame, calendar);
        self.ring.waiting = self.ring.end;
        sent
    }

    /// The start of the first frame that waits; [`Time::MAX`] where none does.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.ring.first_waiting().map_or(Time::MAX, |next| self.start_of(next))
    }

    #[inline]
    fn start_of(&self, on_link: &OnLink) -> Time {
        let took = self.serializer.time_for(on_link.frame.wire) + self.delay;
        Time::from_ps(on_link.arrives.as_ps() - took.as_ps())
    }

    /// Starts the first frame that waits.
    #[inline]
    pub(crate) fn start_next(&mut self) -> Option<Frame> {
        let next = self.ring.first_waiting()?.frame;
        self.ring.waiting = self.ring.waiting.wrapping_add(1);
        Some(next)
    }

    /// Takes back the last frame that waits; returns it with the time at which it would have
    /// started.
    pub(crate) fn take_back(&mut self, calendar: &mut Calendar) -> Option<(Frame, Time)> {
        let last = self.ring.take_back()?;
        if self.to_host {
            if !last.frame.is_quiet() {
                self.announced.pop_back();
                if self.announced.is_empty() {
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

    /// The time at which the last bit of the last frame leaves the sender; [`None`] if no frame is
    /// on the link.
    pub(crate) fn sent_until(&self) -> Option<Time> {
        let last = self.ring.last()?;
        Some(Time::from_ps(last.arrives.as_ps() - self.delay.as_ps()))
    }

    /// Takes the last frame off the link to a switch, whose transmission has not started.
    pub(crate) fn take_last(&mut self, calendar: &mut Calendar) {
        debug_assert!(!self.to_host && self.leads_here());
        self.ring.end = self.ring.end.wrapping_sub(1);
        self.ring.waiting = self.ring.end;
        if self.ring.is_empty() {
            calendar.schedule(self.arrival, Time::MAX);
        }
    }

    /// Takes the frame whose arrival at a switch was announced.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn arrive_at_switch(&mut self, calendar: &mut Calendar) -> Frame {
        let frame = self.take_announced();
        if let Some(next) = self.ring.front() {
            calendar.schedule(self.arrival, next.arrives);
        }
        frame
    }

    /// Takes the frame whose arrival at a host was announced. Quiet frames are not announced; those
    /// before it have been taken in.
    #[inline]
    pub(crate) fn arrive_at_host(&mut self, calendar: &mut Calendar) -> Frame {
        let frame = self.take_announced();
        self.announced.pop_front();
        if let Some(&arrives) = self.announced.front() {
            calendar.schedule(self.arrival, arrives);
        }
        frame
    }

    #[inline]
    fn take_announced(&mut self) -> Frame {
        self.ring.pop().unwrap_or_else(|| unreachable!("it was announced")).frame
    }

    /// Takes the next frame that has arrived before `now`, and its time of arrival.
    #[inline]
    pub(crate) fn arrived_before(&mut self, now: Time) -> Option<(Time, Frame)> {
        let &OnLink { arrives, frame } = self.ring.front().filter(|next| next.arrives < now)?;
        self.ring.pop();
        Some((arrives, frame))
    }

    /// Brings the link into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        black_box(self.ring.front);
    }

    /// Brings the place for the next frame that is put on the link into the caches.
    #[inline]
    pub(crate) fn touch_end(&self) {
        black_box(self.ring.places[self.ring.place(self.ring.end)].arrives);
    }

    /// The next frame to arrive.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Frame> {
        self.ring.front().map(|next| &next.frame)
    }

    /// Sets the time of the link's next failure.
    pub(crate) const fn fail_at(&mut self, at: Time) {
        self.fails = at;
    }

    /// Sets the rate from the next packet on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.serializer = Serializer::new(rate);
    }

    /// The present rate.
    pub(crate) const fn rate(&self) -> Rate {
        self.serializer.rate
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
        while self.ring.front != self.ring.waiting {
            self.ring.pop().into_iter().for_each(|on_link| half.ring.receive(on_link));
        }
        self.arrival = ELSEWHERE;
        half
    }

    /// Joins the two halves again. All frames that have started have been handed over, and the
    /// sender's books are up to date.
    pub(crate) fn join(&mut self, receiver: Self) {
        debug_assert!(self.ring.front == self.ring.waiting, "not handed over");
        let waiting = std::mem::replace(&mut self.ring, receiver.ring);
        waiting.iter().for_each(|&on_link| self.ring.push(on_link));
        self.arrival = receiver.arrival;
    }

    /// Tells the frames that their packets are kept elsewhere from now on.
    pub(crate) fn move_packets(&mut self, mut moved: impl FnMut(&mut Frame)) {
        let (mut position, end) = (self.ring.front, self.ring.end);
        while position != end {
            let place = self.ring.place(position);
            moved(&mut self.ring.places[place].frame);
            position = position.wrapping_add(1);
        }
    }

    /// Takes the next frame that has started before `until` out of the sender's half, with its time
    /// of arrival. If there is none, returns the start of the next one.
    #[inline]
    pub(crate) fn hand_over(&mut self, until: Time) -> Result<(Time, Frame), Time> {
        let Some(&next) = self.ring.front() else { return Err(Time::MAX) };
        if self.ring.is_waiting(self.ring.front) {
            let start = self.start_of(&next);
            if start >= until {
                return Err(start);
            }
        }
        self.ring.pop();
        Ok((next.arrives, next.frame))
    }

    /// Takes a frame that was handed over into the receiver's half. Frames come in the order of
    /// sending.
    pub(crate) fn take_in(&mut self, arrives: Time, frame: Frame, calendar: &mut Calendar) {
        if self.ring.is_empty() {
            calendar.schedule(self.arrival, arrives);
        }
        self.ring.receive(OnLink { arrives, frame });
    }

    /// The frames that are on the link.
    pub(crate) fn flying(&self) -> impl Iterator<Item = &Frame> {
        self.ring.iter().map(|on_link| &on_link.frame)
    }
}

impl Default for Ring {
    fn default() -> Self {
        let nothing = OnLink { arrives: Time::MAX, frame: Frame::NOTHING };
        Self { places: Box::new([nothing; 4]), front: 0, waiting: 0, end: 0 }
    }
}

impl Ring {
    #[inline]
    fn place(&self, position: u32) -> usize {
        position as usize & (self.places.len() - 1)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.front == self.end
    }

    #[inline]
    fn front(&self) -> Option<&OnLink> {
        if self.is_empty() { None } else { Some(&self.places[self.place(self.front)]) }
    }

    fn last(&self) -> Option<&OnLink> {
        let last = self.end.wrapping_sub(1);
        if self.is_empty() { None } else { Some(&self.places[self.place(last)]) }
    }

    #[inline]
    fn first_waiting(&self) -> Option<&OnLink> {
        if self.waiting == self.end { None } else { Some(&self.places[self.place(self.waiting)]) }
    }

    /// The number of frames kept: those that travel, and those that have not started by the
    /// sender's books.
    #[inline]
    fn kept(&self) -> u32 {
        self.end.wrapping_sub(self.front).max(self.end.wrapping_sub(self.waiting))
    }

    #[inline]
    fn push(&mut self, on_link: OnLink) {
        if self.kept() as usize == self.places.len() {
            self.grow();
        }
        let place = self.place(self.end);
        self.places[place] = on_link;
        self.end = self.end.wrapping_add(1);
    }

    /// Adds a frame that has already started; otherwise like [`push`](Self::push).
    #[inline]
    fn receive(&mut self, on_link: OnLink) {
        self.push(on_link);
        self.waiting = self.end;
    }

    /// Whether the frame at a position, before the end, has not started.
    #[inline]
    fn is_waiting(&self, position: u32) -> bool {
        self.end.wrapping_sub(position) <= self.end.wrapping_sub(self.waiting)
    }

    #[cold]
    fn grow(&mut self) {
        let kept = self.kept();
        let all = (0..kept).map(|i| self.places[self.place(self.end.wrapping_sub(kept - i))]);
        let mut places: Vec<_> = all.collect();
        let (empty, old_end) = (places[0], self.end);
        places.resize(places.len() * 2, empty);
        self.places = places.into();
        let moved = |position: u32| kept.wrapping_sub(old_end.wrapping_sub(position));
        (self.front, self.waiting, self.end) =
            (moved(self.front), moved(self.waiting), moved(self.end));
    }

    #[inline]
    fn pop(&mut self) -> Option<OnLink> {
        let front = *self.front()?;
        self.front = self.front.wrapping_add(1);
        Some(front)
    }

    fn take_back(&mut self) -> Option<OnLink> {
        if self.waiting == self.end {
            return None;
        }
        self.end = self.end.wrapping_sub(1);
        Some(self.places[self.place(self.end)])
    }

    fn iter(&self) -> impl Iterator<Item = &OnLink> {
        let kept = self.end.wrapping_sub(self.front);
        (0..kept).map(|i| &self.places[self.place(self.front.wrapping_add(i))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_a_link_is_small() {
        assert_eq!(size_of::<OnLink>(), 40);
    }

    #[test]
    fn whole_picoseconds_per_byte_spare_the_division() {
        assert_eq!(Serializer::new(Rate::from_gbps(10)).ps_per_byte, 800);
        assert_eq!(Serializer::new(Rate::from_bps(1_600_000_000_000)).ps_per_byte, 5);
        let third = Serializer::new(Rate::from_gbps(3));
        assert_eq!(third.ps_per_byte, 0);
        assert_eq!(third.time_for(1_500), Rate::from_gbps(3).time_for(Bytes::new(1_500)));
    }

    fn on_link(ps: u64) -> OnLink {
        OnLink { arrives: Time::from_ps(ps), frame: Frame::NOTHING }
    }

    /// Compares the ring with three plain queues, over positions that wrap around and rings that
    /// grow, with the sender's books behind and ahead of the far end.
    #[test]
    fn a_ring_keeps_what_either_end_still_needs() {
        let start = u32::MAX - 20;
        let mut ring = Ring { front: start, waiting: start, end: start, ..Ring::default() };
        let (mut travelling, mut waiting) = (VecDeque::new(), VecDeque::new());
        let mut random = 1_u64;
        for ps in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ring.push(on_link(ps));
            travelling.push_back(ps);
            waiting.push_back(ps);
            match random >> 61 {
                0 | 1 => {
                    for _ in 0..4 {
                        let got = ring.pop().map(|front| front.arrives.as_ps());
                        assert_eq!(got, travelling.pop_front());
                    }
                }
                2 | 3 => {
                    for _ in 0..3 {
                        let got = ring.first_waiting().map(|next| next.arrives.as_ps());
                        assert_eq!(got, waiting.pop_front());
                        ring.waiting = ring.waiting.wrapping_add(u32::from(got.is_some()));
                    }
                }
                // A frame that the far end has taken has started: it is not taken back.
                4 if travelling.back() == waiting.back() && waiting.len() <= travelling.len() => {
                    let got = ring.take_back().map(|last| last.arrives.as_ps());
                    assert_eq!(got, waiting.pop_back());
                    travelling.pop_back();
                }
                _ => {}
            }
            assert!(
                ring.iter().map(|on_link| on_link.arrives.as_ps()).eq(travelling.iter().copied())
            );
        }
    }
}

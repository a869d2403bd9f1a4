//! Links: the only way from one node to another.

use std::collections::VecDeque;

use incast_cc::{Bytes, Rate, Span, Time};

use super::calendar::{Calendar, ComponentId};
use super::frame::{Frame, Stamps};

/// The far end of a link that leads to another part of the network ([`domain`](super::domain)).
const ELSEWHERE: ComponentId = ComponentId::MAX;

/// One direction of a cable: what is on it, in the order of arrival.
#[derive(Debug)]
pub(crate) struct Link {
    /// What stamps of switches call it: its number in the whole network.
    number: u32,
    /// Propagation delay, above zero: what one node does reaches another only after it.
    delay: Span,
    serializer: Serializer,
    /// When it fails next.
    fails: Time,
    /// The far end.
    arrival: ComponentId,
    /// Whether the far end is a host, to which quiet frames need not be announced.
    to_host: bool,
    flying: VecDeque<(Time, Frame)>,
    /// Of those of the frames that have them.
    stamps: VecDeque<Stamps>,
    /// When frames that are not quiet arrive at a host.
    announced: VecDeque<Time>,
}

/// Turns sizes into times at one rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serializer {
    rate: Rate,
    /// Picoseconds per byte where that is whole, as at all common rates: spares a division per
    /// packet. Zero elsewhere.
    ps_per_byte: u64,
}

impl Serializer {
    pub(crate) fn new(rate: Rate) -> Self {
        let byte = rate.time_for(Bytes::new(1)).as_ps();
        let exact = rate.time_for(Bytes::new(1 << 20)).as_ps() == byte << 20;
        Self { rate, ps_per_byte: if exact { byte } else { 0 } }
    }

    #[inline]
    pub(crate) fn time_for(self, wire: u16) -> Span {
        if self.ps_per_byte > 0 {
            Span::from_ps(self.ps_per_byte * u64::from(wire))
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
            fails: Time::MAX,
            arrival,
            to_host,
            flying: VecDeque::with_capacity(16),
            stamps: VecDeque::new(),
            announced: VecDeque::with_capacity(16),
        }
    }

    /// Puts a frame on the link; returns when its last bit has left the sender.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        frame: &Frame,
        stamps: Stamps,
        calendar: &mut Calendar,
    ) -> Time {
        let sent = now + self.serializer.time_for(frame.wire);
        let arrives = sent + self.delay;
        if self.to_host {
            if !frame.is_quiet() {
                if self.announced.is_empty() {
                    calendar.schedule(self.arrival, arrives);
                }
                self.announced.push_back(arrives);
            }
        } else if self.flying.is_empty() && self.arrival != ELSEWHERE {
            calendar.schedule(self.arrival, arrives);
        }
        self.flying.push_back((arrives, *frame));
        if arrives >= self.fails
            && let Some((_, frame)) = self.flying.back_mut()
        {
            frame.cut();
        }
        if frame.is_stamped() {
            self.stamps.push_back(stamps);
        }
        sent
    }

    /// The frame whose arrival was announced; at a host the quiet ones before it have been taken in.
    #[inline]
    pub(crate) fn arrive(&mut self, calendar: &mut Calendar) -> (Frame, Stamps) {
        let (_, frame) =
            self.flying.pop_front().unwrap_or_else(|| unreachable!("it was announced"));
        let next = if self.to_host {
            self.announced.pop_front();
            self.announced.front().copied()
        } else {
            self.flying.front().map(|&(arrives, _)| arrives)
        };
        if let Some(arrives) = next {
            calendar.schedule(self.arrival, arrives);
        }
        (frame, self.stamps_of(&frame))
    }

    #[inline]
    fn stamps_of(&mut self, frame: &Frame) -> Stamps {
        if frame.is_stamped() { self.stamps.pop_front().unwrap_or_default() } else { Stamps::NONE }
    }

    /// The next frame that has arrived before `now`; the caller drops it when it has looked at it.
    #[inline]
    pub(crate) fn arrived_before(&self, now: Time) -> Option<&(Time, Frame)> {
        self.flying.front().filter(|&&(arrives, _)| arrives < now)
    }

    /// Drops the first frame.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        if let Some((_, frame)) = self.flying.pop_front() {
            self.stamps_of(&frame); // of no use: only what is acknowledged at once is echoed
        }
    }

    /// The sender says when the link fails next.
    pub(crate) const fn fail_at(&mut self, at: Time) {
        self.fails = at;
    }

    /// Sends at another rate from the next packet on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.serializer = Serializer::new(rate);
    }

    /// Its rate.
    pub(crate) const fn rate(&self) -> Rate {
        self.serializer.rate
    }

    /// Its number in the whole network.
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// Its propagation delay.
    pub(crate) const fn delay(&self) -> Span {
        self.delay
    }

    /// What has its arrivals, at the far end.
    pub(crate) const fn arrival(&self) -> ComponentId {
        self.arrival
    }

    /// Whether its far end is in this part of the network.
    pub(crate) fn leads_here(&self) -> bool {
        self.arrival != ELSEWHERE
    }

    /// The far end has another number from now on.
    pub(crate) const fn set_arrival(&mut self, arrival: ComponentId) {
        self.arrival = arrival;
    }

    /// Parts the link where its ends are in different parts of the network: keeps the sender's half, and
    /// returns the receiver's, which has what is on the way. It leads to a switch.
    pub(crate) fn part(&mut self) -> Self {
        let mut half = Self::new(self.number, (self.rate(), self.delay), self.arrival, false);
        (half.flying, half.stamps) =
            (std::mem::take(&mut self.flying), std::mem::take(&mut self.stamps));
        self.arrival = ELSEWHERE;
        half
    }

    /// Puts the two halves together again; all that was sent has been handed over.
    pub(crate) fn join(&mut self, receiver: Self) {
        debug_assert!(self.flying.is_empty(), "not handed over");
        (self.arrival, self.flying, self.stamps) =
            (receiver.arrival, receiver.flying, receiver.stamps);
    }

    /// When the first frame that is to be handed over arrives.
    pub(crate) fn first_arrival(&self) -> Option<Time> {
        self.flying.front().map(|&(arrives, _)| arrives)
    }

    /// Gives what the sender's half has sent to whoever hands it over.
    pub(crate) fn hand_over(&mut self, mut put: impl FnMut(Time, &Frame, Stamps)) {
        while let Some((arrives, frame)) = self.flying.pop_front() {
            let stamps = self.stamps_of(&frame);
            put(arrives, &frame, stamps);
        }
    }

    /// Takes a frame that was handed over into the receiver's half; they come in the order of sending.
    pub(crate) fn take_in(
        &mut self,
        arrives: Time,
        frame: &Frame,
        stamps: Stamps,
        calendar: &mut Calendar,
    ) {
        if self.flying.is_empty() {
            calendar.schedule(self.arrival, arrives);
        }
        self.flying.push_back((arrives, *frame));
        if frame.is_stamped() {
            self.stamps.push_back(stamps);
        }
    }

    /// What is on the link, for the books.
    pub(crate) fn flying(&self) -> impl Iterator<Item = &Frame> {
        self.flying.iter().map(|(_, frame)| frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_picoseconds_per_byte_spare_the_division() {
        assert_eq!(Serializer::new(Rate::from_gbps(10)).ps_per_byte, 800);
        assert_eq!(Serializer::new(Rate::from_bps(1_600_000_000_000)).ps_per_byte, 5);
        let third = Serializer::new(Rate::from_gbps(3));
        assert_eq!(third.ps_per_byte, 0);
        assert_eq!(third.time_for(1_500), Rate::from_gbps(3).time_for(Bytes::new(1_500)));
    }
}

//! The packets of a burst that leave ahead of time.
//!
//! Once the first packet of a burst has left, the next ones are known: at line rate if the NIC serves
//! a segment whole or no other connection has data, and with gaps if no other connection sends
//! earlier. All but the last may leave ahead of time: the last ends the burst, and is told when it
//! starts.

use incast_cc::{CongestionControl, Span, Time};

use super::{Burst, Sender};
use crate::config::{Config, Nic};
use crate::early::{Early, EarlyNic, Step};
use crate::packet::message::PacketSet;
use crate::packet::{Header, Kind, clock_ns};

impl<C: CongestionControl> Sender<C> {
    /// Gives `nic`, which is free at `free`, the next packets of a burst, up to `most`: the first if
    /// that is now, and more before `until`, but not the last. `early` has what they share. Returns
    /// the time at which the NIC is free then, and the number of packets; [`None`] if none may
    /// leave.
    #[inline]
    pub(crate) fn leave_ahead(
        &mut self,
        (now, mut free, until): (Time, Time, Time),
        most: u32,
        mut early: Early,
        config: &Config,
        nic: &mut impl EarlyNic,
    ) -> Option<(Time, u32)> {
        let burst = self.burst.as_ref().filter(|burst| burst.has_known_packets(config))?;
        if burst.waits && free > now {
            return None;
        }
        if config.nic == Nic::Segments {
            self.leave_queue(now);
        }
        let burst = self.burst.as_mut()?;
        burst.waits = false;
        let (first, mut count) = (burst.packets.lowest()?, 0);
        // In a first attempt all packets behind the first are left.
        let behind = u32::from(burst.count) - 1 - first;
        debug_assert_eq!(burst.packets.len(), behind + 1);
        let most = most.min(behind);
        while count < most {
            let start = free.max(now);
            if start > now && start >= until {
                break;
            }
            early.header =
                burst.plain_header(first + count, start, early.header.connection, config);
            early.begins = burst.begins.take();
            let left = if until == Time::MAX { most - count } else { 1 };
            // The index is the lowest byte of the rest.
            let step = Step { sequence: 1, rest: 1, is_timed: true };
            (burst.next_at, free) = nic.take_data(start, &early, left, step);
            count += left;
            burst.packets = burst.packets.without(PacketSet::first(first + count));
        }
        (count > 0).then_some((free, count))
    }

    /// Whether the packets of the burst are spaced by more than the line rate.
    #[inline]
    pub(crate) fn is_spaced(&self) -> bool {
        self.burst.as_ref().is_some_and(|burst| burst.gap > Span::ZERO)
    }

    /// The next packet of a spaced burst, which starts at `start`: its header for `peer`, the time of
    /// posting if it begins a message, and the send time of the packet after it. [`None`] if that is
    /// not known: of the last packet, and of the first unless it starts `now`.
    #[inline]
    pub(crate) fn leave_spaced(
        &mut self,
        now: Time,
        start: Time,
        peer: u32,
        config: &Config,
    ) -> Option<(Header, Option<Time>, Time)> {
        let burst = self.burst.as_ref()?;
        if !burst.is_plain(config) || !burst.packets.has_several() {
            return None;
        }
        if burst.waits {
            if start > now {
                return None;
            }
            if config.nic == Nic::Segments {
                self.leave_queue(now);
            }
        }
        let burst = self.burst.as_mut()?;
        burst.waits = false;
        let index = burst.packets.lowest()?;
        burst.packets.remove(index);
        burst.next_at = start + burst.gap;
        Some((burst.plain_header(index, start, peer, config), burst.begins.take(), burst.next_at))
    }

    /// Takes back a packet of a spaced burst that has left ahead of time, and whose send time is
    /// `at`; the last one first.
    pub(crate) fn put_back_spaced(&mut self, at: Time, header: &Header) {
        if let Some(burst) = &mut self.burst {
            burst.packets.insert(u32::from(header.place().0));
            burst.next_at = at;
        }
    }
}

impl Burst {
    /// Whether the packets follow each other at line rate and without gaps, and are plain.
    pub(super) fn has_known_packets(&self, config: &Config) -> bool {
        self.is_plain(config) && self.gap == Span::ZERO
    }

    /// Whether all packets but the last have the compact form, and no answer ends the burst before
    /// its last packet leaves.
    fn is_plain(&self, config: &Config) -> bool {
        self.read == 0 && self.attempt == 0 && !config.full_packets
    }

    /// The header of a packet that is not the last and starts at `start`.
    #[inline]
    fn plain_header(&self, index: u32, start: Time, peer: u32, config: &Config) -> Header {
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32, and below an MTU")]
        Header {
            connection: peer,
            sequence: (self.segment as u32).wrapping_add(index),
            sent_ns: clock_ns(start),
            rest: u32::from_le_bytes([index as u8, self.count, self.attempt, 0]),
            payload: config.payload.get() as u16,
            kind: Kind::Data,
            flags: Header::data_flags(self.ends_message, false),
        }
    }
}

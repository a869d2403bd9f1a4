//! The packets of a burst that leave ahead of time.
//!
//! Once the first packet of a burst has left, the next ones are known, if the NIC serves a segment
//! whole or no other connection has data. All but the last may leave ahead of time: the last ends
//! the burst, and is told when it starts.

use incast_cc::{CongestionControl, Span, Time};

use super::{Burst, Sender};
use crate::config::{Config, Nic};
use crate::early::{Early, EarlyNic};
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
        let most = most.min(burst.packets.len() - 1);
        while count < most {
            let start = free.max(now);
            if start > now && start >= until {
                break;
            }
            early.header =
                burst.plain_header(first + count, start, early.header.connection, config);
            early.begins = burst.begins.take();
            burst.packets.remove(first + count);
            burst.next_at = start;
            free = nic.take_data(start, &early);
            count += 1;
        }
        (count > 0).then_some((free, count))
    }
}

impl Burst {
    /// Whether the packets follow each other at line rate and without gaps, all but the last have
    /// the compact form, and no answer ends the burst before its last packet leaves.
    pub(super) fn has_known_packets(&self, config: &Config) -> bool {
        let plain = self.read == 0 && self.attempt == 0 && !config.full_packets;
        plain && self.gap == Span::ZERO
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

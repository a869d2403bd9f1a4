//! Packets that later ones have overtaken: lost, or only late.
//!
//! In a network that keeps the order of packets, a packet that was overtaken is lost. Hosts with
//! several processors reorder, so there it is in doubt for a while
//! ([`Config::reordering`](crate::Config)).

use std::collections::VecDeque;

use incast_cc::{Bytes, CongestionControl, LossCause, Time};

use super::Sender;
use crate::config::Config;
use crate::packet::message::Nack;

/// A reason to take data for lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doubt {
    /// The receiver misses packets.
    Missing(Nack),
    /// Data was acknowledged that was sent later.
    Overtaken {
        /// The end of that data in transmission order.
        end: Bytes,
        /// The first packet from which on all segments were sent later still.
        before: u64,
    },
}

/// The reasons that wait, with the time at which each counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts(VecDeque<(Time, Doubt)>);

impl Doubts {
    /// The time at which the first reason counts.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.front().map(|&(at, _)| at)
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Acts on a reason to take data for lost, now or when the data had time to arrive.
    pub(super) fn doubt(&mut self, now: Time, doubt: Doubt, config: &Config) {
        if config.reordering.is_zero() {
            self.end_doubt(now, &doubt, config);
        } else {
            self.doubts.0.push_back((now + config.reordering, doubt));
        }
    }

    /// Doubts the segments that were sent before one that is acknowledged, if there are any: as a
    /// rule all of them were acknowledged before, and no timer is needed.
    pub(super) fn doubt_overtaken(&mut self, now: Time, acknowledged: usize, config: &Config) {
        let segment = &self.segments[acknowledged];
        // Of first attempts, later segments were sent later.
        let before = if segment.attempt == 0 { segment.first } else { u64::MAX };
        let end = segment.sent.end;
        let mut others = self.segments.iter().take_while(|other| other.first < before);
        if others.any(|other| other.is_overtaken(end)) {
            self.doubt(now, Doubt::Overtaken { end, before }, config);
        }
    }

    /// Acts on the reasons whose time has come. What has arrived in the meantime is acknowledged,
    /// and no longer in doubt.
    pub(super) fn end_doubts(&mut self, now: Time, config: &Config) {
        while let Some(&(at, doubt)) = self.doubts.0.front()
            && at <= now
        {
            self.doubts.0.pop_front();
            self.end_doubt(now, &doubt, config);
        }
    }

    fn end_doubt(&mut self, now: Time, doubt: &Doubt, config: &Config) {
        match doubt {
            Doubt::Missing(nack) => self.lose_missing(now, nack, config),
            Doubt::Overtaken { end, before } => self.lose_overtaken(now, *end, *before),
        }
    }

    /// Takes segments for lost that were sent before data that ends at `end`, and are still
    /// unanswered: each has lost its data or its answer. A probe finds out which.
    fn lose_overtaken(&mut self, now: Time, end: Bytes, before: u64) {
        for place in 0..self.segments.len() {
            let segment = &self.segments[place];
            if segment.first >= before {
                break;
            }
            if segment.is_overtaken(end) {
                self.declare_lost(now, place, segment.flying, LossCause::Detected);
            }
        }
    }
}

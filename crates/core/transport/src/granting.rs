//! The granting engine: credit that a host gives to those who send to it.
//!
//! The engine is the fourth of an endpoint, and the only one of a receiver: it speaks first, where
//! ACKs answer. Credit is paced over all senders of the host, so it has a queue of its own beside
//! the replies, whose order is that of arrivals.

use std::collections::VecDeque;

use incast_cc::grants::{Arrival, Grant, Grants};
use incast_cc::{Bytes, Time};

use crate::packet::Packet;

/// The policy of a host, with the credit that is due and has not left.
pub(crate) struct Granter {
    policy: Box<dyn Grants + Send + Sync>,
    due: VecDeque<Grant>,
}

impl Granter {
    pub(crate) fn new(policy: Box<dyn Grants + Send + Sync>) -> Self {
        Self { policy, due: VecDeque::new() }
    }

    /// Takes in data of `flow` in the full form, which tells what remains behind it.
    pub(crate) fn on_data(&mut self, now: Time, flow: u32, packet: &Packet, marked: bool) {
        let bytes = packet.payload();
        self.policy.on_arrival(
            now,
            &Arrival {
                flow,
                bytes: Bytes::new(u64::from(bytes)),
                demand: Bytes::new(u64::from(packet.remaining().saturating_sub(bytes))),
                marked,
            },
        );
    }

    /// Forgets a flow.
    pub(crate) fn on_end(&mut self, flow: u32) {
        self.policy.on_end(flow);
        self.due.retain(|grant| grant.flow != flow);
    }

    /// The time of the next credit.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.policy.next_at()
    }

    /// Queues the credit that is due.
    pub(crate) fn on_timer(&mut self, now: Time) {
        while self.policy.next_at().is_some_and(|at| at <= now)
            && let Some(grant) = self.policy.grant(now)
        {
            self.due.push_back(grant);
        }
    }

    /// The flow of the next credit that is due.
    pub(crate) fn first(&self) -> Option<u32> {
        self.due.front().map(|grant| grant.flow)
    }

    /// Takes out the next credit that is due.
    pub(crate) fn pop(&mut self) -> Option<Grant> {
        self.due.pop_front()
    }
}

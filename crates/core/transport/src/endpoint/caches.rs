//! Loads ahead of use, for carriers with many hosts.
//!
//! A simulator of thousands of hosts waits for memory: by the time that an event comes to a host,
//! its endpoint has left the processor's caches. A carrier that knows some events ahead calls these
//! methods for all of them, so that their cache misses overlap. They read and change nothing else;
//! a carrier of one host has no use for them.

use std::hint::black_box;

use incast_cc::CongestionControl;

use super::Endpoint;

impl<C: CongestionControl> Endpoint<C> {
    /// Brings the endpoint into the processor's caches, for a call that is known to come soon.
    #[inline]
    pub fn touch(&self) {
        black_box(self.pacing.next_release());
        black_box(self.replies.len());
        black_box(self.alarms.len());
        black_box(self.events.len());
    }

    /// Brings the connection that will probably send next into the processor's caches.
    #[inline]
    pub fn touch_connection(&self) {
        if let Some(connection) = self.connections.get(self.pacing.probably_next() as usize)
            && let Some(sender) = &connection.sender
        {
            black_box(sender.rate().in_flight());
        }
    }
}

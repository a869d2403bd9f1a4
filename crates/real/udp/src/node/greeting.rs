//! Handshakes that this node has begun.

use incast_cc::{Span, Time};

use crate::security::Handshake;

/// A handshake that this node has begun.
pub(super) struct Greeting {
    pub(super) handshake: Handshake,
    /// The time at which the hello is sent again.
    pub(super) again_at: Time,
    /// The time between the last two hellos.
    pub(super) wait: Span,
    /// The time at which it is given up.
    pub(super) until: Time,
    /// Whether the kernel does not send to the address.
    pub(super) is_refused: bool,
}

impl std::fmt::Debug for Greeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Greeting").field("until", &self.until).finish_non_exhaustive()
    }
}

//! The words of both libraries for what a carrier tells.

use std::time::Duration;

use incast_cc::{Bytes, Loss, LossCause, Span, Time};

/// A span of ours as one of a library's clock.
pub(crate) const fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

/// The size of datagrams as libraries have it.
pub(crate) fn datagram(mss: Bytes) -> u16 {
    u16::try_from(mss.get()).unwrap_or(u16::MAX)
}

/// The timeouts of a carrier, which gives up burst by burst, where a library tells of all data that
/// is lost at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    last: Option<Time>,
}

impl Timeouts {
    /// Whether a loss is persistent congestion; [`None`] for more of a timeout that was told of.
    pub(crate) fn told(&mut self, loss: &Loss) -> Option<bool> {
        let again = loss.cause != LossCause::Detected && self.last == Some(loss.now);
        let persistent = loss.cause == LossCause::Timeout;
        if persistent {
            self.last = Some(loss.now);
        }
        (!again).then_some(persistent)
    }
}

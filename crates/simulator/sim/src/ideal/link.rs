//! A link of a path, with the token bucket of its port, and the packets of one message that have
//! passed it.

use incast_cc::{Bytes, Rate, Span};
use incast_net::DEVICE_PS_PER_BYTE;

/// A link of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) rate: Rate,
    pub(crate) delay: Span,
    /// The burst of the token bucket of the port, if it has one.
    pub(crate) burst: Option<Bytes>,
}

/// The packets that have passed a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// The time at which the last of the packets has left.
    pub(super) end: Span,
    /// The time at which the bucket is full if nothing else leaves.
    full_at: Span,
}

impl Link {
    /// A link whose port has no bucket.
    pub(crate) const fn plain(rate: Rate, delay: Span) -> Self {
        Self { rate, delay, burst: None }
    }

    /// The link without its bucket.
    pub(crate) const fn without_burst(self) -> Self {
        Self { burst: None, ..self }
    }

    /// The time of a packet between its start and its end.
    pub(super) fn packet(&self, wire: Bytes) -> Span {
        match self.burst {
            None => self.rate.time_for(wire),
            Some(_) => Span::from_ps(u64::from(DEVICE_PS_PER_BYTE)) * wire.get(),
        }
    }

    /// The least time from the start of the first of several packets, which have `all` bytes on the
    /// wire, to the end of the last one.
    pub(super) fn packets(&self, all: Bytes) -> Span {
        let tokens = self.burst.map_or(Span::ZERO, |burst| self.rate.time_for(burst));
        self.rate.time_for(all).saturating_sub(tokens).max(self.packet(all))
    }

    /// Lets a packet pass that is there at `ready`. Tokens are kept as the port keeps its own.
    pub(super) fn pass(&self, passed: &mut Passed, ready: Span, wire: Bytes) {
        let mut start = passed.end.max(ready);
        if let Some(burst) = self.burst {
            let took = self.rate.time_for(wire);
            let full = passed.full_at.max(start) + took;
            start = start.max(full.saturating_sub(self.rate.time_for(burst)));
            passed.full_at = passed.full_at.max(start) + took;
        }
        passed.end = start + self.packet(wire);
    }
}

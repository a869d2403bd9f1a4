//! What is known of losses: RACK (RFC 8985) and the episode of their repair.

use incast_cc::{Bytes, Span, Time};

use crate::rate::Transmission;

/// Recent acknowledgement: the newest transmission that has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    /// Where it ends in transmission order, which tells apart what clocks do not.
    pub(super) end: Bytes,
    /// The last RTT.
    pub(super) rtt: Span,
    /// When what it leaves in doubt is lost.
    pub(super) alarm: Option<Time>,
    /// Whether something has arrived after what was sent later.
    reordering: bool,
}

impl Rack {
    /// A transmission has arrived; `reordered` tells that one sent later had arrived before it.
    pub(super) fn deliver(&mut self, now: Time, sent: &Transmission, reordered: bool) {
        self.reordering |= reordered;
        if sent.end > self.end {
            self.end = sent.end;
            self.rtt = now.since(sent.sent_at);
        }
    }

    /// How much later than its successors a segment may arrive (RFC 8985, section 6.2, step 4):
    /// `certain` where three of them have, or losses are being repaired anyway.
    pub(super) fn reordering_window(&self, certain: bool, min_rtt: Span, srtt: Span) -> Span {
        if certain && !self.reordering || min_rtt == Span::MAX {
            return Span::ZERO;
        }
        (min_rtt / 4).min(srtt)
    }
}

/// What is being repaired, and up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    None,
    /// Fast recovery: ends when what had been sent when it began is acknowledged.
    Recovery {
        until: u64,
    },
    /// After a timeout.
    Timeout {
        until: u64,
    },
}

impl Repair {
    pub(super) const fn is_recovery(self) -> bool {
        matches!(self, Self::Recovery { .. })
    }

    pub(super) const fn ends_at(self, acknowledged: u64) -> bool {
        match self {
            Self::None => false,
            Self::Recovery { until } | Self::Timeout { until } => acknowledged >= until,
        }
    }
}

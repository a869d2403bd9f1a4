//! Answers to packets, which wait to be sent together.

use incast_cc::Span;
use incast_transport::{Body, message};

use crate::socket::Stamp;
use crate::wire::{Completion, Completions, Frame, LaneNumber, Nack, Turnaround};

/// An answer to a packet, which waits to be sent with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// The lane of the data.
    pub(super) lane: LaneNumber,
    pub(super) sent_ns: u32,
    pub(super) body: Body,
    /// The arrival of the packet that is answered, if its RTT is measured.
    pub(super) arrived_ns: Option<u64>,
}

impl Answer {
    /// Whether the RTT of the packet is measured.
    pub(super) const fn is_timed(&self) -> bool {
        self.arrived_ns.is_some()
    }

    /// The turnaround of the packet, if it is answered now.
    fn turnaround(&self, now: Stamp) -> Turnaround {
        let since = self.arrived_ns.and_then(|arrived| now.ns.checked_sub(arrived));
        since.map_or(Turnaround::UNKNOWN, |ns| Turnaround::of(Span::from_ns(ns)))
    }
}

/// The frame of an answer, or of several acknowledgements of one lane.
pub(super) fn frame_of<'a>(answers: &[Answer], now: Stamp) -> Option<Frame<'a>> {
    let first = answers.first()?;
    let (lane, sent_ns) = (first.lane, first.sent_ns);
    match first.body {
        Body::Message(message::Body::Ack(_)) => {
            let mut completions = Completions::new();
            for answer in answers {
                let Body::Message(message::Body::Ack(ack)) = answer.body else { continue };
                let fits = completions.push(Completion { ack, turnaround: answer.turnaround(now) });
                debug_assert!(fits, "there are at most MAX_COMPLETIONS");
            }
            Some(Frame::Ack { lane, sent_ns, completions })
        }
        Body::Message(message::Body::Nack(report)) => {
            let turnaround = first.turnaround(now);
            Some(Frame::Nack(Nack { lane, sent_ns, report, turnaround }))
        }
        Body::Notification => Some(Frame::Notification { lane, sent_ns }),
        _ => None,
    }
}

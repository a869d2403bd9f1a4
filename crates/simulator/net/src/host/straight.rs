//! The usual packet, straight through a host: taken in, answered, and the answer on the link.
//!
//! While nothing else waits at a host, and no timer is due, the next segment of a stream or the ACK
//! of its next data needs one look at its connection and one at the NIC. All other packets, and
//! these at other times, go by way of the host's queues.

use incast_cc::{Span, Time};
use incast_transport::{Kind, News, Passage, Report};

use super::Host;
use super::nic::MOST;
use crate::Transit;
use crate::frame::Frame;

impl Host {
    /// Lets a frame straight through that has the usual packet. Returns the work that is left;
    /// [`None`] if the packet is another one, and nothing has changed.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    pub(super) fn pass(
        &mut self,
        now: Time,
        frame: &Frame,
        truth: Option<Span>,
        transit: &mut Transit,
    ) -> Option<News> {
        let is_calm = now < self.timer_at && self.endpoint.is_at_rest();
        if !is_calm || frame.is_pfc() || !self.goes_on_ahead(now) {
            return None;
        }
        match frame.header(self.wire.header)?.kind {
            Kind::Segment => self.pass_segment(now, frame, transit),
            Kind::SegmentAck => self.pass_ack(now, frame, truth, transit),
            _ => None,
        }
    }

    /// Lets the next segment of a stream through, and its ACK if that leaves now.
    #[expect(clippy::inline_always, reason = "in the way of every segment that arrives")]
    #[inline(always)]
    fn pass_segment(&mut self, now: Time, frame: &Frame, transit: &mut Transit) -> Option<News> {
        let header = frame.header(self.wire.header)?;
        let times = (now, self.nic.busy_until, self.end_of_starts(now));
        let (endpoint, mut early) = self.with_nic(now, transit);
        let passage = endpoint.pass_segment(times, &header, frame.is_marked(), &mut early);
        let news = match passage {
            Passage::Refused => return None,
            Passage::Taken(news) => news,
            Passage::Through(()) => {
                self.ahead.served = now;
                News::None
            }
        };
        self.count(now, frame, Some(header.sent_ns));
        Some(news)
    }

    /// Lets the ACK of the next data through, and the data that it lets go.
    #[inline(never)]
    fn pass_ack(
        &mut self,
        now: Time,
        frame: &Frame,
        truth: Option<Span>,
        transit: &mut Transit,
    ) -> Option<News> {
        let header = frame.header(self.wire.header)?;
        let is_other = |connection| connection != header.connection;
        if self.ahead.rests || self.ahead.connection.is_some_and(is_other) {
            return None;
        }
        let times = (now, self.nic.busy_until, self.end_of_starts(now));
        let (endpoint, mut early) = self.with_nic(now, transit);
        let report = Report { marked: frame.is_marked(), truth, ..Report::default() };
        let passage = endpoint.pass_ack(times, MOST, &header, report, &mut early);
        let begun = early.begun;
        let (sample, is_armed) = match passage {
            Passage::Refused => return None,
            Passage::Taken(news) => {
                self.received.add(frame.wire);
                return Some(news);
            }
            Passage::Through(through) => through,
        };
        self.received.add(frame.wire);
        self.ahead.served = now;
        self.note_sample(now, header.connection, &sample);
        if let Some((start, connection, posted)) = begun {
            self.begin(start, connection, posted);
        }
        if is_armed {
            self.set_timer(now, &mut transit.calendar);
        }
        Some(News::None)
    }

    /// The time before which packets that are ahead of time start. They count already; so they
    /// start with the measurement, or before it.
    #[inline]
    pub(super) fn end_of_starts(&self, now: Time) -> Time {
        if now < self.start { self.start } else { Time::MAX }
    }
}

//! Packets that arrive at a host.

use incast_cc::{Span, Time};
use incast_transport::{News, Report, clock_ns};

use super::Host;
use crate::Transit;
use crate::frame::{Frame, Packets};
use crate::trace::PacketEvent;

impl Host {
    /// Handles an arriving frame; `truth` is the oracle's RTT of its connection.
    #[expect(
        clippy::inline_always,
        reason = "a host that is slow calls it, too, and all others wait"
    )]
    #[inline(always)]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        frame: &Frame,
        truth: Option<Span>,
        transit: &mut Transit,
    ) {
        let news = match self.pass(now, frame, truth, transit) {
            Some(news) => news,
            None => self.receive(now, frame, truth, transit),
        };
        match news {
            News::None => {}
            // Other work of this instant must not wait for its own event.
            News::Later if !self.has_work(now) => {
                if self.may_send_ahead(now) {
                    self.send_ahead(now, transit);
                }
                self.set_timer(now, &mut transit.calendar);
            }
            News::Later | News::Now => self.work(now, transit),
        }
    }

    /// Takes in a frame that does not [pass](Self::pass). Returns the work that is left.
    #[inline(never)]
    fn receive(
        &mut self,
        now: Time,
        frame: &Frame,
        truth: Option<Span>,
        transit: &mut Transit,
    ) -> News {
        if self.take_back_before_due(now, transit) {
            self.work(now, transit);
        }
        let mut taken_back = false;
        if frame.is_pfc() {
            if self.ahead.until > now {
                self.take_back(now, transit);
            }
            self.nic.on_pfc(now, frame);
            return News::Now;
        }
        if self.ahead.until > now {
            let header = frame.header(self.wire.header);
            taken_back = header.is_none_or(|header| self.endpoint.may_look(&header));
            if taken_back {
                self.take_back(now, transit);
            }
        }
        let report = Report { marked: frame.is_marked(), truth, ..Report::default() };
        let news = self.take_in(now, frame, report, transit);
        if taken_back && news == News::None { News::Later } else { news }
    }

    /// Counts a packet that has arrived, and takes it in.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    pub(super) fn take_in(
        &mut self,
        now: Time,
        frame: &Frame,
        report: Report<'_>,
        transit: &mut Transit,
    ) -> News {
        if let Some(header) = frame.header(self.wire.header) {
            let delay = (header.payload > 0).then_some(header.sent_ns);
            self.count(now, frame, delay);
            return self.endpoint.handle_header(now, &header, report);
        }
        self.take_in_kept(now, frame, report, &mut transit.packets)
    }

    /// Takes in a packet that does not fit its frame.
    #[inline(never)]
    fn take_in_kept(
        &mut self,
        now: Time,
        frame: &Frame,
        report: Report<'_>,
        packets: &mut Packets,
    ) -> News {
        let (form, stamps) = packets.take(frame, self.wire.header);
        self.count(now, frame, (form.payload() > 0).then(|| form.sent_ns()));
        let Some(mut stamps) = stamps else { return self.endpoint.handle(now, &form, report) };
        let news = self.endpoint.handle_stamped(now, &form, report, &mut stamps);
        packets.keep_spare_stamps(stamps);
        news
    }

    /// Counts a packet that has arrived; data was given to its NIC at `sent_ns`.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    pub(super) fn count(&mut self, now: Time, frame: &Frame, sent_ns: Option<u32>) {
        self.received.add(frame.wire);
        if let Some(sent_ns) = sent_ns
            && now >= self.start
        {
            let delay_ns = clock_ns(now).wrapping_sub(sent_ns);
            let delays = match &mut self.delays[..] {
                [of_all] => of_all, // one traffic, as a rule: the connection need not be looked up
                by_traffic => {
                    let flow = self.connections[frame.connection() as usize];
                    &mut by_traffic[self.flows[flow as usize].traffic as usize]
                }
            };
            delays.add_one(u64::from(delay_ns));
        }
    }

    /// Counts and drops a frame that its link did not bring.
    #[cold]
    pub(crate) fn on_cut(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        if frame.is_damaged() {
            let dropped = (PacketEvent::Dropped, None);
            self.trace.packet(now, 0, frame, dropped, &transit.packets);
        }
        self.failures.on_cut(0, frame, transit);
    }

    /// Takes in the quiet frames that have arrived before `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, transit: &mut Transit) {
        if transit.links[self.incoming as usize].front().is_some_and(Frame::is_quiet) {
            self.take_in_quiet(now, transit);
        }
    }

    #[inline(never)]
    pub(crate) fn take_in_quiet(&mut self, now: Time, transit: &mut Transit) {
        while let Some((at, frame)) = transit.links[self.incoming as usize].arrived_before(now) {
            debug_assert!(frame.is_quiet() && !frame.is_marked(), "{frame:?}");
            if let Some(header) = frame.header(self.wire.header)
                && self.endpoint.counts(&header, false)
            {
                self.count(at, &frame, Some(header.sent_ns));
                continue;
            }
            let news = self.take_in(at, &frame, Report::default(), transit);
            debug_assert!(news == News::None, "{frame:?} is not quiet");
        }
    }
}

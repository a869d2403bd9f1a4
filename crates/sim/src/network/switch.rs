//! An output-queued switch with a shared buffer.

use incast_cc::{Span, Time};

use super::aqm::Verdict;
use super::buffer::{Admission, Arrival, SharedBuffer};
use super::calendar::{Calendar, ComponentId};
use super::failure::Failures;
use super::frame::{Frame, Stamps};
use super::link::Link;
use super::port::{DropCause, Port, Queued};
use super::routes::Routes;
use super::trace::{PacketEvent, Trace};
use super::watchdog::{Held, Watchdog};
use crate::scenario::MOST_CLASSES;

#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) ports: Vec<Port>,
    pub(crate) routes: Routes,
    pub(crate) failures: Failures,
    pub(crate) buffer: SharedBuffer,
    /// By class: marks packets that find more than so many bytes in their queue, themselves counted.
    ecn_thresholds: [u64; MOST_CLASSES],
    pub(crate) watchdog: Option<Watchdog>,
    /// Something may be missing, or overtaken, before whatever comes this way.
    pub(crate) has_dropped: bool,
    /// Whether it has dropped something out of a queue.
    has_gaps: bool,
    start: Time,
    pub(crate) trace: Trace,
    /// Mean and greatest backlog of each port in each interval.
    pub(crate) series: Vec<(f64, u64)>,
}

impl Switch {
    pub(crate) fn new(
        ports: Vec<Port>,
        routes: Routes,
        buffer: SharedBuffer,
        ecn_thresholds: [u64; MOST_CLASSES],
        watchdog: Option<Watchdog>,
        start: Time,
        trace: Trace,
    ) -> Self {
        Self {
            ports,
            routes,
            failures: Failures::default(),
            buffer,
            ecn_thresholds,
            watchdog,
            has_dropped: false,
            has_gaps: false,
            start,
            trace,
            series: Vec::new(),
        }
    }

    /// Links and components have other numbers from now on.
    pub(crate) fn renumber(&mut self, links: &[u32], components: &[ComponentId]) {
        for Port { transmitter, .. } in &mut self.ports {
            transmitter.link = links[transmitter.link as usize];
            transmitter.component = components[transmitter.component as usize];
        }
    }

    /// A frame has come in at `ingress`.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        ingress: u16,
        frame: &mut Frame,
        stamps: Stamps,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        if frame.is_pfc() {
            self.ports[ingress as usize].on_pfc(now, frame);
            return self.send(now, ingress, links, calendar);
        }
        let Some(egress) = self.routes.port(frame) else {
            return self.on_stranded(now, ingress, frame);
        };
        let port = &mut self.ports[egress as usize];
        if port.transmitter.is_down() {
            return self.drop(now, egress, frame, DropCause::Link);
        }
        let (wire, class) = (u64::from(frame.wire), frame.class);
        let (queued, leaving) = (port.queued_bytes(class), port.leaving_bytes(now));
        let (queue, all) = (queued + leaving, port.backlog_bytes() + leaving);
        if port.discarded != 0 && port.discarded & 1 << class != 0 {
            return self.drop(now, egress, frame, DropCause::Watchdog);
        }
        match self.buffer.admit(Arrival { ingress, class, wire, queue, port: all }) {
            Admission::Dropped(cause) => return self.drop(now, egress, frame, cause),
            Admission::Stored => {}
            Admission::StoredPause => {
                let upstream = &mut self.ports[ingress as usize];
                if now >= self.start {
                    upstream.counters.pauses += 1;
                }
                upstream.enqueue_pfc(Frame::pfc(class, true));
                self.send(now, ingress, links, calendar);
            }
        }
        if self.has_dropped {
            // What was dropped left a gap before all of its connection that comes this way later.
            // (Packets of a connection have one path; where they may have several, none is quiet.)
            frame.disquiet();
        }
        let port = &mut self.ports[egress as usize];
        let mut verdict = port.judge_arrival(now, frame);
        if queued + wire > self.ecn_thresholds[class as usize % MOST_CLASSES]
            && frame.packet.is_ect()
        {
            verdict = Verdict::Mark;
        }
        if verdict != Verdict::Pass && !self.passes(now, egress, frame, verdict) {
            return self.give_back(now, frame, ingress, links, calendar);
        }
        let port = &mut self.ports[egress as usize];
        if port.is_idle(now, class) {
            self.forward(now, egress, (frame, ingress), (stamps, now), links, calendar);
            return;
        }
        port.enqueue(now, frame, stamps, ingress);
        self.trace.queue(now, egress, port.backlog_bytes());
        self.send(now, egress, links, calendar);
    }

    #[cold]
    fn drop(&mut self, now: Time, egress: u16, frame: &Frame, cause: DropCause) {
        self.has_dropped = true;
        self.ports[egress as usize].counters.dropped(cause, u64::from(frame.wire));
        self.trace.packet(now, egress, frame, PacketEvent::Dropped);
    }

    /// Gives back the room of a packet that was dropped.
    #[cold]
    fn give_back(
        &mut self,
        now: Time,
        frame: &Frame,
        ingress: u16,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        self.release(now, (frame.class, frame.wire), ingress, links, calendar);
    }

    /// Does what queue management says; returns whether the packet is still there.
    #[inline]
    fn passes(&mut self, now: Time, egress: u16, frame: &mut Frame, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark => {
                frame.mark();
                if now >= self.start {
                    self.ports[egress as usize].counters.marks += 1;
                }
            }
            Verdict::Drop => self.drop(now, egress, frame, DropCause::Aqm),
        }
        verdict != Verdict::Drop
    }

    /// Sends what may be sent, while the port is free.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Time,
        egress: u16,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        let port = &self.ports[egress as usize];
        if port.transmitter.is_free(now) {
            self.send_next(now, egress, links, calendar);
        } else if port.has_sendable() {
            port.transmitter.wait(calendar);
        }
    }

    /// Sends what may be sent, by a port that is free.
    fn send_next(&mut self, now: Time, egress: u16, links: &mut [Link], calendar: &mut Calendar) {
        loop {
            let port = &mut self.ports[egress as usize];
            if let Some(frame) = port.next_pfc() {
                port.transmitter.transmit(now, &frame, Stamps::NONE, links, calendar);
            } else {
                let Some(class) = port.next_class() else { return };
                let Some(Queued { mut frame, ingress }) = port.pop(now, class) else { return };
                let beside = port.pop_beside(now, class, &frame);
                self.trace.queue(now, egress, port.backlog_bytes());
                if self.has_gaps {
                    frame.disquiet();
                }
                if !self.forward(now, egress, (&mut frame, ingress), beside, links, calendar) {
                    continue;
                }
            }
            let port = &self.ports[egress as usize];
            if port.has_sendable() {
                port.transmitter.wait(calendar);
            }
            return;
        }
    }

    /// Puts a packet that came in at `ingress` at the time `came` on the link, unless queue management
    /// drops it; returns whether it is on the link.
    #[expect(clippy::inline_always, reason = "in the way of every packet, twice")]
    #[inline(always)]
    fn forward(
        &mut self,
        now: Time,
        egress: u16,
        (frame, ingress): (&mut Frame, u16),
        (mut stamps, came): (Stamps, Time),
        links: &mut [Link],
        calendar: &mut Calendar,
    ) -> bool {
        let port = &mut self.ports[egress as usize];
        let verdict = port.judge_departure(now, frame, came);
        let passes = verdict == Verdict::Pass || self.passes(now, egress, frame, verdict);
        if passes {
            let port = &mut self.ports[egress as usize];
            if frame.is_stamped() {
                port.stamp(now, frame, &mut stamps, links);
            }
            port.transmitter.transmit(now, frame, stamps, links, calendar);
            self.trace.packet(now, egress, frame, PacketEvent::Sent);
        } else {
            self.has_gaps = true; // before those of its connection that are queued behind it
        }
        self.release(now, (frame.class, frame.wire), ingress, links, calendar);
        passes
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet, twice")]
    #[inline(always)]
    pub(super) fn release(
        &mut self,
        now: Time,
        (class, wire): (u8, u16),
        ingress: u16,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        if self.buffer.release(ingress, class, u64::from(wire)) {
            self.ports[ingress as usize].enqueue_pfc(Frame::pfc(class, false));
            self.send(now, ingress, links, calendar);
        }
    }

    /// Whether the watchdog has something new to report.
    pub(crate) fn has_overdue(&self, now: Time) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| {
            self.ports.iter().any(|port| {
                let mut held = port.held();
                held.any(|(class, since)| watchdog.is_overdue(now, since) && !port.is_noted(class))
            })
        })
    }

    /// Looks for classes that are held too long; returns when to look again.
    pub(crate) fn watch(
        &mut self,
        now: Time,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) -> Option<Span> {
        for port in 0..u16::try_from(self.ports.len()).unwrap_or(u16::MAX) {
            let held: Vec<_> = self.ports[port as usize].held().collect();
            for (class, since) in held {
                let watchdog = self.watchdog.as_mut()?;
                let egress = &mut self.ports[port as usize];
                if !watchdog.is_overdue(now, since) || !egress.note_overdue(class) {
                    continue;
                }
                let (bytes, dropped) = (egress.queued_bytes(class), watchdog.drops);
                watchdog.reports.push(Held { at: now, port, class, since, bytes, dropped });
                if dropped {
                    egress.discarded |= 1 << class;
                    self.purge(now, (port, class), DropCause::Watchdog, links, calendar);
                }
            }
        }
        self.watchdog.as_ref().map(Watchdog::period)
    }

    /// Drops what waits in one class of a port.
    pub(super) fn purge(
        &mut self,
        now: Time,
        (egress, class): (u16, u8),
        cause: DropCause,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        while let Some(queued) = self.ports[egress as usize].purge(now, class) {
            self.has_gaps = true;
            self.drop(now, egress, &queued.frame, cause);
            self.give_back(now, &queued.frame, queued.ingress, links, calendar);
        }
        self.trace.queue(now, egress, self.ports[egress as usize].backlog_bytes());
    }

    /// Ends an interval of the time series.
    pub(crate) fn sample(&mut self, from: Time, now: Time) {
        for port in &mut self.ports {
            self.series.push(port.occupancy.end_interval(from, now));
        }
    }

    pub(crate) fn finish(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.transmitter.finish(now));
    }
}

//! An output-queued switch with a shared buffer.

use incast_cc::Time;

use super::buffer::{Admission, SharedBuffer};
use super::calendar::Calendar;
use super::failure::Failures;
use super::frame::{CLASSES, DATA_CLASS, Frame, Stamps};
use super::link::Link;
use super::port::Port;
use super::routes::Routes;
use super::trace::{PacketEvent, Trace};

#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) ports: Vec<Port>,
    pub(crate) routes: Routes,
    pub(crate) failures: Failures,
    pub(super) buffer: SharedBuffer,
    /// Marks packets that find more than so many bytes in their queue, themselves counted.
    ecn_threshold: Option<u64>,
    /// Something may be missing, or overtaken, before whatever comes this way.
    pub(crate) has_dropped: bool,
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
        ecn_threshold: Option<u64>,
        start: Time,
        trace: Trace,
    ) -> Self {
        Self {
            ports,
            routes,
            failures: Failures::default(),
            buffer,
            ecn_threshold,
            has_dropped: false,
            start,
            trace,
            series: Vec::new(),
        }
    }

    /// A frame has come in at `ingress`.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        ingress: u16,
        mut frame: Frame,
        mut stamps: Stamps,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        if frame.is_pfc() {
            self.ports[ingress as usize].transmitter.on_pfc(now, &frame);
            return self.send(now, ingress, links, calendar);
        }
        let Some(egress) = self.routes.port(&frame) else {
            return self.on_stranded(now, ingress, &frame);
        };
        let port = &mut self.ports[egress as usize];
        if port.transmitter.is_down() {
            return self.on_unsent(now, egress, &frame);
        }
        let (wire, protected) = (u64::from(frame.wire), frame.class == DATA_CLASS);
        let queued = port.queued_bytes(frame.class);
        let occupied = queued + port.leaving_bytes(now);
        match self.buffer.admit(ingress, wire, occupied, protected) {
            Admission::Dropped => {
                self.has_dropped = true;
                port.counters.drops += 1;
                port.counters.dropped_bytes += wire;
                self.trace.packet(now, egress, &frame, PacketEvent::Dropped);
                return;
            }
            Admission::Stored => {}
            Admission::StoredPause => {
                let upstream = &mut self.ports[ingress as usize];
                if now >= self.start {
                    upstream.counters.pauses += 1;
                }
                upstream.enqueue_pfc(Frame::pfc(DATA_CLASS, true));
                self.send(now, ingress, links, calendar);
            }
        }
        if self.has_dropped {
            // What was dropped left a gap before all of its connection that comes this way later.
            // (Packets of a connection have one path; where they may have several, none is quiet.)
            frame.disquiet();
        }
        let port = &mut self.ports[egress as usize];
        if self.ecn_threshold.is_some_and(|threshold| queued + wire > threshold)
            && frame.packet.is_ect()
        {
            frame.mark();
            if now >= self.start {
                port.counters.marks += 1;
            }
        }
        if port.is_idle(now, frame.class) {
            port.stamp(now, &frame, &mut stamps, links);
            port.transmitter.transmit(now, frame, stamps, links, calendar);
            self.trace.packet(now, egress, &frame, PacketEvent::Sent);
            return self.release(now, &frame, ingress, links, calendar);
        }
        port.enqueue(now, frame, stamps, ingress);
        self.trace.queue(now, egress, port.backlog_bytes());
        self.send(now, egress, links, calendar);
    }

    /// Sends what may be sent, if the port is free.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Time,
        egress: u16,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        let port = &mut self.ports[egress as usize];
        if !port.transmitter.is_free(now) {
            if port.has_sendable() {
                port.transmitter.wait(calendar);
            }
            return;
        }
        if let Some(frame) = port.next_pfc() {
            port.transmitter.transmit(now, frame, Stamps::NONE, links, calendar);
        } else if let Some((queued, mut stamps)) = port.dequeue(now) {
            port.stamp(now, &queued.frame, &mut stamps, links);
            port.transmitter.transmit(now, queued.frame, stamps, links, calendar);
            self.trace.queue(now, egress, port.backlog_bytes());
            self.trace.packet(now, egress, &queued.frame, PacketEvent::Sent);
            self.release(now, &queued.frame, queued.ingress, links, calendar);
        } else {
            return;
        }
        let port = &self.ports[egress as usize];
        if port.has_sendable() {
            port.transmitter.wait(calendar);
        }
    }

    #[expect(clippy::inline_always, reason = "a second, cold caller would put it out of line")]
    #[inline(always)]
    pub(super) fn release(
        &mut self,
        now: Time,
        frame: &Frame,
        ingress: u16,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        let protected = frame.class == DATA_CLASS;
        if self.buffer.release(ingress, u64::from(frame.wire), protected) {
            self.ports[ingress as usize].enqueue_pfc(Frame::pfc(DATA_CLASS, false));
            self.send(now, ingress, links, calendar);
        }
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

const _: () = assert!(CLASSES <= 8, "classes are bits of a byte");

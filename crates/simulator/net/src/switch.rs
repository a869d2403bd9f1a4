//! An output-queued switch with a shared buffer.

mod changes;
mod ports;

use incast_cc::{Span, Time};
use incast_plan::TRIMMED_BYTES;
use incast_queue::management::Verdict;

use super::MOST_CLASSES;
use super::Transit;
use super::buffer::{Admission, Arrival, SharedBuffer};
use super::calendar::ComponentId;
use super::count::DropCause;
use super::failure::Failures;
use super::frame::{Frame, Packets};
use super::instant::{AllCurrent, Current, HasEvent, Instant, NeedsEvent, Turn};
use super::port::Port;
use super::routes::Routes;
use super::trace::{PacketEvent, Trace};
use super::watchdog::{Held, Watchdog};
pub(crate) use ports::Ports;

/// A switch: ports, a shared buffer, routes.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub struct Switch {
    pub(crate) ports: Ports,
    pub(crate) routes: Routes,
    pub(crate) failures: Failures,
    pub(crate) buffer: SharedBuffer,
    /// The ECN thresholds by class, in bytes: a packet is marked if its queue, with the packet, is
    /// longer.
    ecn_thresholds: [u64; MOST_CLASSES],
    /// Whether the thresholds are compared with all queues of the port together.
    pub(crate) ecn_of_port: bool,
    /// The least threshold: while all queues of a port together are shorter, nothing is marked.
    least_threshold: u32,
    pub(crate) watchdog: Option<Watchdog>,
    /// Whether packets that come this way may have been overtaken or follow missing ones.
    pub(crate) has_dropped: bool,
    /// Whether the switch has dropped a packet out of a queue.
    has_gaps: bool,
    start: Time,
    /// Whether nothing happens to a packet that finds its port idle: it is not judged, stamped,
    /// traced or looked at.
    is_plain: bool,
    /// Whether such a packet is judged and stamped by its port alone.
    judges_alone: bool,
    pub(crate) trace: Trace,
    /// The mean and the greatest backlog of each port in each interval.
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
        let least = ecn_thresholds.into_iter().min().unwrap_or(u64::MAX);
        Self {
            ports: Ports::new(ports),
            routes,
            failures: Failures::default(),
            buffer,
            ecn_thresholds,
            ecn_of_port: false,
            least_threshold: u32::try_from(least).unwrap_or(u32::MAX),
            watchdog,
            has_dropped: false,
            has_gaps: false,
            start,
            is_plain: false,
            judges_alone: false,
            trace,
            series: Vec::new(),
        }
    }

    /// States that nothing happens to a packet that finds its port idle, unless a packet has been
    /// dropped. No packet alone is above an ECN threshold.
    pub(crate) const fn set_plain(&mut self) {
        self.is_plain = true;
    }

    /// States that a packet which finds its port idle is judged and stamped by the port, and that
    /// nothing else happens to it. No packet alone is above an ECN threshold.
    pub(crate) const fn set_judges_alone(&mut self) {
        self.judges_alone = true;
    }

    /// Replaces the numbers of links and components by new ones.
    pub(crate) fn renumber(&mut self, links: &[u32], components: &[ComponentId]) {
        for Port { transmitter, .. } in self.ports.behind_mut() {
            transmitter.link = links[transmitter.link as usize];
            transmitter.component = components[transmitter.component as usize];
        }
    }

    /// Handles an arriving frame.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, frame: &mut Frame, transit: &mut Transit) {
        let instant = Instant::new(now, Turn::Arrivals);
        let at = &instant;
        if frame.is_pfc() {
            return self.on_pfc(at, frame, transit);
        }
        let Some(egress) = self.routes.port(frame) else {
            return self.on_stranded(now, frame, transit);
        };
        let egress = self.catch_up_here(at, egress, transit);
        if self.has_dropped {
            // A drop leaves a gap before all later packets of the connection that come this way.
            // (Packets of a connection have one path; where they may have several, none is quiet.)
            frame.disquiet();
        }
        let (from, wire) = ((frame.ingress, frame.class()), u32::from(frame.wire));
        let Self { ports, buffer, .. } = self;
        let port = &mut ports[egress];
        if port.keeps_order() {
            if port.transmitter.is_free(now) {
                if self.is_plain && buffer.lets_pass(from, wire) {
                    return port.transmitter.transmit_packet(now, frame, transit);
                }
                if self.judges_alone && buffer.lets_pass(from, wire) {
                    return self.pass_judges(now, egress, frame, transit);
                }
            } else {
                let link = &mut transit.links[port.transmitter.link as usize];
                let backlog = port.bytes();
                if port.is_last_ahead(frame.class(), link)
                    && buffer.store_surely(from, wire, backlog)
                {
                    if backlog + wire > self.least_threshold && frame.is_ect() {
                        let length = port.marked_length(frame.class(), self.ecn_of_port);
                        port.mark_beyond(length, &self.ecn_thresholds, now >= self.start, frame);
                    }
                    port.enqueue_ahead(now, frame, link, &mut transit.calendar);
                    if buffer.has_paused() {
                        self.wait(egress, transit);
                    }
                    return;
                }
            }
        }
        self.on_arrival_at(at, egress, frame, transit);
    }

    /// Handles an arriving frame that finds its port idle, where queue management and feedback see
    /// the packet. It has room by the fixed bounds, and leaves at once.
    #[inline(never)]
    fn pass_judges(
        &mut self,
        now: Time,
        egress: Current<'_>,
        frame: &mut Frame,
        transit: &mut Transit,
    ) {
        let verdict = self.ports[egress].judge_arrival(now, frame);
        if verdict != Verdict::Pass && !self.passes(now, egress.number(), frame, verdict, transit) {
            return transit.packets.drop(frame);
        }
        self.forward(now, egress, frame, now, transit);
    }

    /// Handles an arriving frame that neither just passes nor goes ahead by the fixed bounds.
    #[inline(never)]
    fn on_arrival_at(
        &mut self,
        at: &Instant,
        egress: Current<'_>,
        frame: &mut Frame,
        transit: &mut Transit,
    ) {
        let now = at.now;
        let (Frame { mut wire, ingress, .. }, mut class) = (*frame, frame.class());
        let port = &mut self.ports[egress];
        if port.transmitter.is_down() {
            return self.drop(now, egress.number(), frame, DropCause::Link, transit);
        }
        let (queued, leaving) = (port.queued_bytes(class), port.leaving_bytes(now));
        let (queue, all) = (queued + leaving, port.backlog_bytes() + leaving);
        if port.discarded != 0 && port.discarded & 1 << class != 0 {
            return self.drop(now, egress.number(), frame, DropCause::Watchdog, transit);
        }
        let arrival = Arrival { ingress, class, wire: u64::from(wire), queue, port: all };
        let stored = self.buffer.store_surely((ingress, class), u32::from(wire), port.bytes())
            || self.buffer.admit_surely(&arrival);
        if !stored {
            if let Err(cause) = self.admit(at, egress, frame, arrival, transit)
                && !self.trim(at, egress, frame, arrival, transit)
            {
                return self.drop(now, egress.number(), frame, cause, transit);
            }
            (wire, class) = (frame.wire, frame.class()); // the packet may have been cut
        }
        let port = &mut self.ports[egress];
        let mut verdict = port.judge_arrival(now, frame);
        if port.marked_length(class, self.ecn_of_port) + u64::from(wire)
            > self.ecn_thresholds[class as usize % MOST_CLASSES]
            && frame.is_ect()
        {
            verdict = Verdict::Mark;
        }
        if verdict != Verdict::Pass && !self.passes(now, egress.number(), frame, verdict, transit) {
            self.release(at, frame, transit);
            return transit.packets.drop(frame);
        }
        let port = &mut self.ports[egress];
        if port.is_idle(now, class, wire) {
            self.forward(now, egress, frame, now, transit);
            return self.release(at, frame, transit);
        }
        if port.overtakes(class) {
            let needs = port.take_back(transit);
            needs.met_by(self.wait(egress, transit));
        }
        let port = &mut self.ports[egress];
        let link = &mut transit.links[port.transmitter.link as usize];
        if port.goes_ahead(now, class, link) {
            port.enqueue_ahead(now, frame, link, &mut transit.calendar);
            if self.buffer.has_paused() {
                self.wait(egress, transit);
            }
            return;
        }
        port.enqueue(now, frame, &transit.packets);
        self.trace.queue(now, egress.number(), port.backlog_bytes());
        self.send(at, egress, transit);
    }

    /// Brings the data that a frame from `ingress` needs into the caches; returns the port by which
    /// it leaves, unless that is drawn at random.
    #[inline]
    pub(crate) fn touch(&self, ingress: u16, frame: &Frame) -> Option<u16> {
        self.buffer.touch(ingress, frame.class());
        if frame.is_pfc() {
            return None;
        }
        let known = frame.path.peek();
        let found = || self.routes.port_of(frame.destination(), &mut { frame.path });
        let egress = known.or_else(found)?;
        self.ports.behind()[egress as usize].touch();
        Some(egress)
    }

    /// Decides about a packet that may not have room, so that the free room must be known to the
    /// byte. Stores it, or returns why it has no room.
    #[inline(never)]
    fn admit(
        &mut self,
        at: &Instant,
        egress: Current<'_>,
        frame: &Frame,
        arrival: Arrival,
        transit: &mut Transit,
    ) -> Result<(), DropCause> {
        let books = self.catch_up_all(at, transit);
        let Arrival { ingress, class, .. } = arrival;
        let had_paused = self.buffer.has_paused();
        match self.buffer.admit(arrival, books) {
            Admission::Stored => {}
            Admission::Dropped(cause) => {
                let refused = Refused { frame, arrival, cause };
                return self
                    .make_room(at, egress, books, refused, transit)
                    .then_some(())
                    .ok_or(cause);
            }
            Admission::StoredPause => {
                if at.now >= self.start {
                    self.ports.counters(ingress).pauses += 1;
                }
                self.enqueue_pfc(at, ingress, (class, true), transit);
                if !had_paused {
                    // Every departure may let the sender resume: each has its own event now.
                    self.wait_all(transit);
                }
            }
        }
        Ok(())
    }

    /// Cuts a packet without room to its header and stores that in its new class, if the packet's
    /// queue says so and the header has room there. Returns whether it is stored.
    #[cold]
    fn trim(
        &mut self,
        at: &Instant,
        egress: Current<'_>,
        frame: &mut Frame,
        arrival: Arrival,
        transit: &mut Transit,
    ) -> bool {
        let port = &self.ports[egress];
        let Some(class) = port.refused(frame) else { return false };
        let queue = port.queued_bytes(class) + port.leaving_bytes(at.now);
        let header = Arrival { class, wire: TRIMMED_BYTES.into(), queue, ..arrival };
        if self.admit(at, egress, frame, header, transit).is_err() {
            return false;
        }
        self.has_dropped = true; // the payload is a gap before all later packets
        let cut = arrival.wire - header.wire;
        self.ports.counters(egress.number()).trimmed(cut);
        let queue = Some(self.ports[egress].backlog_bytes());
        let event = (PacketEvent::Trimmed, queue);
        self.trace.packet(at.now, egress.number(), frame, event, &transit.packets);
        frame.trim(class, &mut transit.packets);
        true
    }

    /// Stores a packet that finds no room, if others of its queue give way; these are dropped for
    /// the same cause. Returns whether it is stored.
    #[cold]
    fn make_room(
        &mut self,
        at: &Instant,
        egress: Current<'_>,
        books: AllCurrent<'_>,
        refused: Refused<'_>,
        transit: &mut Transit,
    ) -> bool {
        let Refused { frame, mut arrival, cause } = refused;
        let (class, job) = (arrival.class, transit.packets.job(frame));
        let queued = self.ports[egress].queued_bytes(class);
        if !self.buffer.would_fit(&arrival, queued, books) {
            return false; // even if all others went
        }
        while let Some(evicted) = self.ports[egress].evict(at.now, class, job) {
            (self.has_gaps, self.is_plain) = (true, false);
            self.drop(at.now, egress.number(), &evicted, cause, transit);
            self.release(at, &evicted, transit);
            let wire = u64::from(evicted.wire);
            (arrival.queue, arrival.port) = (arrival.queue - wire, arrival.port - wire);
            if self.buffer.admit(arrival, books) == Admission::Stored {
                return true;
            }
        }
        false
    }

    /// Obeys a PFC frame: the far end of a port pauses or resumes a class.
    fn on_pfc(&mut self, at: &Instant, frame: &Frame, transit: &mut Transit) {
        let port = self.catch_up(at, frame.ingress, transit);
        let own = &mut self.ports[port];
        let needs = own.take_back(transit);
        own.on_pfc(at.now, frame);
        needs.met_by(self.send(at, port, transit));
    }

    /// Sends a PFC frame: the far end of a port must pause or may resume.
    #[cold]
    fn enqueue_pfc(
        &mut self,
        at: &Instant,
        port: u16,
        (class, pause): (u8, bool),
        transit: &mut Transit,
    ) {
        let port = self.catch_up(at, port, transit);
        let frame = Frame::pfc(class, pause);
        let own = &mut self.ports[port];
        let needs = own.take_back(transit);
        own.enqueue_pfc(frame);
        needs.met_by(self.send(at, port, transit));
    }

    /// Handles the event of a port: its link is free, or a packet that is ahead of time starts.
    #[inline]
    pub(crate) fn on_port(&mut self, now: Time, port: u16, transit: &mut Transit) {
        let instant = Instant::new(now, Turn::Port(port));
        let port = self.catch_up(&instant, port, transit);
        self.send(&instant, port, transit);
    }

    /// Brings the books of a port up to date: finds which packets on its link have started.
    #[expect(clippy::inline_always, reason = "most often there is nothing to note")]
    #[inline(always)]
    pub(super) fn catch_up<'i>(
        &mut self,
        at: &'i Instant,
        egress: u16,
        transit: &mut Transit,
    ) -> Current<'i> {
        let port = at.vouch(egress);
        if self.ports[port].next_start() <= at.now {
            self.note_starts_apart(at, port, transit);
        }
        port
    }

    /// Brings the books of a port up to date in place, where packets most often have started.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn catch_up_here<'i>(
        &mut self,
        at: &'i Instant,
        egress: u16,
        transit: &mut Transit,
    ) -> Current<'i> {
        let port = at.vouch(egress);
        self.note_starts(at, port, transit);
        port
    }

    #[inline(never)]
    fn note_starts_apart(&mut self, at: &Instant, port: Current<'_>, transit: &mut Transit) {
        self.note_starts(at, port, transit);
    }

    /// Notes the packets of a port that have started.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    fn note_starts(&mut self, at: &Instant, port: Current<'_>, transit: &mut Transit) {
        let until = at.until(port.number());
        let own = &mut self.ports[port];
        let link = &mut transit.links[own.transmitter.link as usize];
        while own.next_start() < until {
            let started = own.start_next(link);
            let (Frame { ingress, wire, .. }, class) = (started, started.class());
            if self.buffer.release(ingress, class, u64::from(wire)) {
                return self.resume(at, port, (ingress, class), transit);
            }
        }
    }

    /// Lets the far end of an ingress port send a class again, then notes the other starts of
    /// `port`.
    #[cold]
    fn resume(
        &mut self,
        at: &Instant,
        port: Current<'_>,
        (ingress, class): (u16, u8),
        transit: &mut Transit,
    ) {
        self.enqueue_pfc(at, ingress, (class, false), transit);
        self.catch_up(at, port.number(), transit);
    }

    /// Brings the books of all ports, and so of the buffer, up to date.
    fn catch_up_all<'i>(&mut self, at: &'i Instant, transit: &mut Transit) -> AllCurrent<'i> {
        for port in self.port_numbers() {
            self.catch_up(at, port, transit);
        }
        at.vouch_for_all()
    }

    fn port_numbers(&self) -> std::ops::Range<u16> {
        0..u16::try_from(self.ports.behind().len()).unwrap_or(u16::MAX)
    }

    /// Brings all books up to date: to the time before `now`, or with `with_now` up to and
    /// including the instant `now`.
    pub(crate) fn catch_up_until(&mut self, now: Time, with_now: bool, transit: &mut Transit) {
        let turn = if with_now { Turn::Arrivals } else { Turn::Whole };
        self.catch_up_all(&Instant::new(now, turn), transit);
    }

    /// Takes packets that have not started back from the links: at the end of the run they are in
    /// the queues.
    pub(crate) fn take_back(&mut self, transit: &mut Transit) {
        self.ports.behind_mut().iter_mut().for_each(|port| port.take_back(transit).ends());
    }

    #[cold]
    fn drop(
        &mut self,
        now: Time,
        egress: u16,
        frame: &Frame,
        cause: DropCause,
        transit: &mut Transit,
    ) {
        self.count_drop(now, egress, frame, cause, &transit.packets);
        transit.packets.drop(frame);
    }

    #[cold]
    fn count_drop(
        &mut self,
        now: Time,
        egress: u16,
        frame: &Frame,
        cause: DropCause,
        packets: &Packets,
    ) {
        self.has_dropped = true;
        if cause == DropCause::Headroom {
            self.buffer.overflow(frame.ingress, frame.class());
        }
        self.ports.counters(egress).dropped(cause, u64::from(frame.wire));
        let queue = Some(self.ports.behind()[usize::from(egress)].backlog_bytes());
        self.trace.packet(now, egress, frame, (PacketEvent::Dropped, queue), packets);
    }

    /// Obeys the verdict of queue management; returns whether the packet is still to be sent.
    #[inline]
    fn passes(
        &mut self,
        now: Time,
        egress: u16,
        frame: &mut Frame,
        verdict: Verdict,
        transit: &Transit,
    ) -> bool {
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark => {
                self.ports.counters(egress).marks += u64::from(now >= self.start);
                frame.mark();
            }
            Verdict::Drop => {
                self.count_drop(now, egress, frame, DropCause::Aqm, &transit.packets);
            }
        }
        verdict != Verdict::Drop
    }

    /// Sends the packets that may be sent, while the port is free.
    #[inline]
    pub(super) fn send(
        &mut self,
        at: &Instant,
        egress: Current<'_>,
        transit: &mut Transit,
    ) -> HasEvent {
        if self.ports[egress].transmitter.is_free(at.now) {
            self.send_next(at, egress, transit);
        }
        self.wait(egress, transit)
    }

    /// Asks for the port's next event, if it has anything to do.
    #[inline]
    fn wait(&self, egress: Current<'_>, transit: &mut Transit) -> HasEvent {
        let port = &self.ports[egress];
        if self.buffer.has_paused() && port.next_start() < Time::MAX {
            transit.calendar.schedule(port.transmitter.component, port.next_start());
        } else if port.has_sendable() {
            port.transmitter.wait(&mut transit.calendar);
        }
        HasEvent(())
    }

    #[cold]
    fn wait_all(&self, transit: &mut Transit) {
        for port in self.ports.behind() {
            if port.next_start() < Time::MAX {
                transit.calendar.schedule(port.transmitter.component, port.next_start());
            }
        }
    }

    /// Sends the packets that may be sent by a free port.
    fn send_next(&mut self, at: &Instant, egress: Current<'_>, transit: &mut Transit) {
        let now = at.now;
        loop {
            let port = &mut self.ports[egress];
            if let Some(frame) = port.next_pfc() {
                port.transmitter.transmit(now, &frame, transit);
                self.trace.pause(now, egress.number(), &frame);
            } else {
                let Some(class) = port.next_class(now) else { return };
                let Some((mut frame, came)) = port.pop(now, class) else { return };
                self.trace.queue(now, egress.number(), port.backlog_bytes());
                if self.has_gaps {
                    frame.disquiet();
                }
                let sent = self.forward(now, egress, &mut frame, came, transit);
                self.release(at, &frame, transit);
                if !sent {
                    continue;
                }
            }
            let gaps = self.has_gaps;
            return self.ports[egress].send_ahead(gaps, transit);
        }
    }

    /// Puts a packet that arrived at `came` on the link, unless queue management drops it; returns
    /// whether it is on the link.
    #[expect(clippy::inline_always, reason = "in the way of every packet, twice")]
    #[inline(always)]
    fn forward(
        &mut self,
        now: Time,
        egress: Current<'_>,
        frame: &mut Frame,
        came: Time,
        transit: &mut Transit,
    ) -> bool {
        let port = &mut self.ports[egress];
        let verdict = port.judge_departure(now, frame, came);
        let passes =
            verdict == Verdict::Pass || self.passes(now, egress.number(), frame, verdict, transit);
        if passes {
            let port = &mut self.ports[egress];
            if frame.is_stamped() {
                port.stamp(now, frame, transit);
            }
            port.transmitter.transmit(now, frame, transit);
            let sent = (PacketEvent::Sent, Some(port.backlog_bytes()));
            self.trace.packet(now, egress.number(), frame, sent, &transit.packets);
        } else {
            self.has_gaps = true; // before the packets of its connection that are queued behind it
            transit.packets.drop(frame);
        }
        passes
    }

    /// Frees the room of a packet that has left.
    #[expect(clippy::inline_always, reason = "in the way of every packet, twice")]
    #[inline(always)]
    fn release(&mut self, at: &Instant, frame: &Frame, transit: &mut Transit) {
        let (Frame { ingress, wire, .. }, class) = (*frame, frame.class());
        if self.buffer.release(ingress, class, u64::from(wire)) {
            self.enqueue_pfc(at, ingress, (class, false), transit);
        }
    }

    /// Whether the watchdog has something new to report.
    pub(crate) fn has_overdue(&self, now: Time) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| {
            self.ports.behind().iter().any(|port| {
                let mut held = port.held();
                held.any(|(class, since)| watchdog.is_overdue(now, since) && !port.is_noted(class))
            })
        })
    }

    /// Looks for classes that are held too long; returns the time until the next look.
    pub(crate) fn watch(&mut self, now: Time, transit: &mut Transit) -> Option<Span> {
        let instant = Instant::new(now, Turn::Whole);
        for number in self.port_numbers() {
            let port = self.catch_up(&instant, number, transit);
            let held: Vec<_> = self.ports[port].held().collect();
            for (class, since) in held {
                let watchdog = self.watchdog.as_mut()?;
                let egress = &mut self.ports[port];
                if !watchdog.is_overdue(now, since) || !egress.note_overdue(class) {
                    continue;
                }
                let (bytes, dropped) = (egress.queued_bytes(class), watchdog.drops);
                let report = Held { at: now, port: number, class, since, bytes, dropped };
                watchdog.reports.push(report);
                if dropped {
                    egress.discarded |= 1 << class;
                    let (at, cause) = (&instant, DropCause::Watchdog);
                    let needs = self.purge(at, port, class..=class, cause, transit);
                    needs.met_by(self.wait(port, transit));
                }
            }
        }
        self.watchdog.as_ref().map(Watchdog::period)
    }

    /// Drops the packets that wait in some classes of a port.
    pub(super) fn purge(
        &mut self,
        at: &Instant,
        egress: Current<'_>,
        classes: impl Iterator<Item = u8>,
        cause: DropCause,
        transit: &mut Transit,
    ) -> NeedsEvent {
        let needs = self.ports[egress].take_back(transit);
        for class in classes {
            while let Some(frame) = self.ports[egress].purge(at.now, class) {
                (self.has_gaps, self.is_plain) = (true, false);
                self.drop(at.now, egress.number(), &frame, cause, transit);
                self.release(at, &frame, transit);
            }
            self.trace.queue(at.now, egress.number(), self.ports[egress].backlog_bytes());
        }
        needs
    }

    /// Ends an interval of the time series.
    pub(crate) fn sample(&mut self, from: Time, now: Time, transit: &mut Transit) {
        self.catch_up_until(now, false, transit);
        for port in self.ports.behind_mut() {
            self.series.push(port.occupancy.end_interval(from, now));
        }
    }

    pub(crate) fn finish(&mut self, now: Time, transit: &mut Transit) {
        self.catch_up_until(now, false, transit);
        self.ports.behind_mut().iter_mut().for_each(|port| port.transmitter.finish(now));
    }
}

/// A packet that finds no room.
#[derive(Clone, Copy)]
struct Refused<'a> {
    frame: &'a Frame,
    arrival: Arrival,
    cause: DropCause,
}

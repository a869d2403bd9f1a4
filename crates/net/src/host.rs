//! A host: an endpoint of the transport, a NIC, and the applications that post.

mod nic;

use std::hint::black_box;
use std::sync::Arc;

use incast_cc::{CongestionControl, Rate, Span, Time};
use incast_transport::{Endpoint, Event, News, Operation, Outgoing, Report, Sender, clock_ns};

use super::Transit;
use super::calendar::{Calendar, ComponentId};
use super::count::Count;
use super::failure::{Failures, change_link};
use super::frame::{Frame, Packets};
use super::trace::{PacketEvent, Trace};
use super::transmitter::Transmitter;
use crate::metrics::Histogram;
use incast_plan::application::{Application, ENDLESS, Outcome, Post};
use incast_plan::flows::Flows;
use incast_plan::flows::Operation as Direction;
use nic::NicAhead;

/// The RTT samples of a connection that sends payload, since measurement started.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of samples.
    pub samples: u64,
    /// The sum of the samples, in nanoseconds.
    pub sum_ns: u64,
    /// The histogram of the samples, in nanoseconds. The samples of short flows are in the host's
    /// histogram instead.
    pub rtt: Option<Box<Histogram>>,
}

/// The tallies of connections that have samples.
#[derive(Clone, Debug, Default)]
struct Tallies {
    /// For each connection, its number among the tallies from 1, or 0 if it has no tally.
    numbers: Box<[u32]>,
    all: Vec<Tally>,
}

impl Tallies {
    fn get(&self, connection: u32) -> Option<&Tally> {
        self.all.get((self.numbers[connection as usize] as usize).wrapping_sub(1))
    }

    /// The tally of a connection; a new one if it has none yet.
    #[inline]
    fn of(&mut self, connection: u32, new: impl FnOnce() -> Tally) -> &mut Tally {
        let number = &mut self.numbers[connection as usize];
        if *number == 0 {
            self.all.push(new());
            #[expect(clippy::cast_possible_truncation, reason = "no more than connections")]
            let last = self.all.len() as u32;
            *number = last;
        }
        &mut self.all[*number as usize - 1]
    }
}

/// The traffic of one host: the flows of its connections, and the messages that it posts.
pub struct Duties {
    /// All flows of the network.
    pub flows: Arc<Flows>,
    /// The flow of each of the host's connections.
    pub connections: Arc<[u32]>,
    /// Messages that are posted in any case, in any order.
    pub posts: Vec<Post>,
    /// Applications, which post further messages.
    pub applications: Vec<Box<dyn Application>>,
}

/// A message that was posted. The messages of a flow are numbered in the order of time.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// The number of its flow.
    pub flow: u32,
    /// The moment of posting.
    pub at: Time,
    /// Payload, or [`ENDLESS`].
    pub bytes: u64,
}

/// The departure of the first packet of a message, or of the request for it.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The number of the flow.
    pub flow: u32,
    /// Whether the packet carries payload rather than a request.
    pub data: bool,
    /// The moment of departure.
    pub at: Time,
    /// The time from posting to departure, spent at this host before the network.
    pub waited: Span,
}

/// The arrival of a message.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The moment of arrival.
    pub at: Time,
    /// The number of the flow.
    pub flow: u32,
    /// The number of the message within the flow, from 0.
    pub message: u32,
}

/// The sizes and marks of a host's packets on the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireFormat {
    /// The headers of a data packet, in bytes.
    pub header: u16,
    /// The size of an ACK, in bytes.
    pub ack: u16,
    /// Whether data packets reserve room for the stamps of switches (INT).
    pub telemetry: bool,
    /// The wait in the NIC above which data is marked, in nanoseconds.
    pub marks_after_ns: Option<u32>,
}

/// A host: an endpoint of the transport, a NIC, and applications.
pub struct Host {
    number: u32,
    pub(crate) endpoint: Endpoint,
    pub(crate) nic: Transmitter,
    pub(crate) failures: Failures,
    timer: ComponentId,
    /// The time for which the timer was last set.
    timer_at: Time,
    /// Packets on the link whose transmission has not started.
    ahead: NicAhead,
    /// The link that leads to the host.
    incoming: u32,
    wire: WireFormat,
    flows: Arc<Flows>,
    /// The flow of each connection.
    connections: Arc<[u32]>,
    /// The connections that carry the payload of lasting flows.
    pub(crate) lasting: Vec<u32>,
    tallies: Tallies,
    /// The connections that had delivered payload when measurement started, and how much.
    delivered_before: Vec<(u32, u64)>,
    /// The posts to come; the last is the next.
    posts: Vec<Post>,
    next_post_at: Time,
    pub(crate) applications: Vec<Box<dyn Application>>,
    /// The posts that applications have just decided on.
    due: Vec<Post>,
    start: Time,
    pub(crate) posted: Vec<Posted>,
    pub(crate) begun: Vec<Begun>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) sent: Count,
    pub(crate) received: Count,
    /// RTT samples of short flows, in nanoseconds, since measurement started.
    pub(crate) rtt: Histogram,
    /// The one-way delays of data packets that arrived here since measurement started, by traffic,
    /// in nanoseconds.
    pub(crate) delays: Vec<Histogram>,
    pub(crate) trace: Trace,
    /// For each interval and lasting connection: the payload received so far, and the rate.
    pub(crate) series: Vec<(u64, Rate)>,
}

impl Host {
    pub(crate) fn new(
        endpoint: Endpoint,
        nic: Transmitter,
        (number, timer): (u32, ComponentId),
        incoming: u32,
        wire: WireFormat,
        start: Time,
        trace: Trace,
    ) -> Self {
        Self {
            number,
            endpoint,
            nic,
            failures: Failures::default(),
            timer,
            timer_at: Time::MAX,
            ahead: NicAhead::default(),
            incoming,
            wire,
            flows: Arc::default(),
            connections: Arc::default(),
            lasting: Vec::new(),
            tallies: Tallies::default(),
            delivered_before: Vec::new(),
            posts: Vec::new(),
            next_post_at: Time::MAX,
            applications: Vec::new(),
            due: Vec::new(),
            start,
            posted: Vec::new(),
            begun: Vec::new(),
            deliveries: Vec::new(),
            sent: Count::default(),
            received: Count::default(),
            rtt: Histogram::default(),
            delays: Vec::new(),
            trace,
            series: Vec::new(),
        }
    }

    /// Replaces the numbers of links and components by new ones.
    pub(crate) fn renumber(&mut self, links: &[u32], components: &[ComponentId]) {
        self.nic.link = links[self.nic.link as usize];
        self.incoming = links[self.incoming as usize];
        self.nic.component = components[self.nic.component as usize];
        self.timer = components[self.timer as usize];
    }

    /// Brings the host into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        black_box(self.next_post_at);
        black_box(self.timer);
        black_box(self.applications.len());
        black_box(self.nic.is_down());
        self.endpoint.touch();
    }

    /// Brings the connection that probably sends next into the caches.
    #[inline]
    pub(crate) fn touch_connection(&self) {
        self.endpoint.touch_connection();
    }

    /// Gives the host its traffic. Its endpoint already knows how to open the connections.
    pub(crate) fn set_duties(&mut self, duties: Duties, calendar: &mut Calendar) {
        let Duties { flows, connections, mut posts, applications } = duties;
        (self.flows, self.connections) = (flows, connections);
        for (connection, &flow) in (0..).zip(&*self.connections) {
            let flow = &self.flows[flow as usize];
            if flow.is_lasting() && flow.is_data(self.number, connection) {
                self.lasting.push(connection);
            }
            if self.delays.len() <= flow.traffic as usize {
                self.delays.resize_with(flow.traffic as usize + 1, Histogram::default);
            }
        }
        self.tallies.numbers = vec![0; self.connections.len()].into();
        posts.sort_by_key(|post| (post.at, post.connection));
        posts.reverse();
        self.next_post_at = posts.last().map_or(Time::MAX, |post| post.at);
        self.posts = posts;
        self.applications = applications;
        self.set_timer(Time::ZERO, calendar);
    }

    /// The flow of a connection.
    #[inline]
    fn flow(&self, connection: u32) -> u32 {
        self.connections[connection as usize]
    }

    /// Whether a connection carries payload rather than requests for it.
    #[inline]
    fn is_data(&self, connection: u32) -> bool {
        self.flows[self.flow(connection) as usize].is_data(self.number, connection)
    }

    /// Handles an arriving frame; `truth` is the oracle's RTT of its connection.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        frame: &Frame,
        truth: Option<Span>,
        transit: &mut Transit,
    ) {
        if self.take_back_before_due(now, transit) {
            self.work(now, transit);
        }
        let mut taken_back = false;
        let stamps = transit.packets.take_stamps(frame);
        let news = if frame.is_pfc() {
            if self.ahead.until > now {
                self.take_back(now, transit);
            }
            self.nic.on_pfc(now, frame);
            News::Now
        } else {
            if self.ahead.until > now {
                let header = frame.header(self.wire.header);
                taken_back = header.is_none_or(|header| self.endpoint.may_look(&header));
                if taken_back {
                    self.take_back(now, transit);
                }
            }
            let report = Report { marked: frame.is_marked(), hops: stamps.hops(), truth };
            self.take_in(now, frame, report, transit)
        };
        match news {
            News::None if !taken_back => {}
            // Other work of this instant must not wait for its own event.
            News::None | News::Later if !self.has_work(now) => {
                if self.may_send_ahead(now) {
                    self.send_ahead(now, transit);
                }
                self.set_timer(now, &mut transit.calendar);
            }
            News::None | News::Later | News::Now => self.work(now, transit),
        }
    }

    /// Whether a timer or an application may have something to do.
    #[inline]
    fn has_due(&self, now: Time) -> bool {
        self.next_post_at <= now
            || !self.applications.is_empty()
            || self.endpoint.next_timer(now).is_some_and(|at| at <= now)
    }

    /// Whether [`work`](Self::work) would do more than set the timer.
    #[inline]
    fn has_work(&self, now: Time) -> bool {
        self.timer_at <= now || self.nic.is_free(now) && self.has_packet(now)
    }

    /// Whether the NIC could send something if it were free.
    #[inline]
    fn has_packet(&self, now: Time) -> bool {
        let open = self.nic.open_classes();
        self.endpoint.has_data(open) || self.endpoint.has_reply(now, open)
    }

    /// Counts a packet that has arrived, and takes it in.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    fn take_in(
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
        let packets = &mut transit.packets;
        let form = *packets.stored(frame);
        packets.drop(frame);
        self.count(now, frame, (form.payload() > 0).then(|| form.sent_ns()));
        self.endpoint.handle(now, &form, report)
    }

    /// Counts a packet that has arrived; data was given to its NIC at `sent_ns`.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    fn count(&mut self, now: Time, frame: &Frame, sent_ns: Option<u32>) {
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

    /// Takes in the quiet frames that have arrived before `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, transit: &mut Transit) {
        if transit.links[self.incoming as usize].front().is_some_and(Frame::is_quiet) {
            self.take_in_quiet(now, transit);
        }
    }

    #[inline(never)]
    fn take_in_quiet(&mut self, now: Time, transit: &mut Transit) {
        while let Some((at, frame)) = transit.links[self.incoming as usize].arrived_before(now) {
            debug_assert!(frame.is_quiet(), "{frame:?}");
            // Its stamps are of no use: only an ACK that is sent at once echoes stamps.
            let news = self.take_in(at, &frame, Report::default(), transit);
            debug_assert!(news == News::None, "{frame:?} is not quiet");
        }
    }

    /// Applies the changes on the agenda that are due.
    pub(crate) fn on_change(&mut self, now: Time, transit: &mut Transit) {
        while let Some(change) = self.failures.pop(now) {
            change_link(&mut self.nic, now, &change, &mut transit.links);
        }
        self.work(now, transit);
    }

    /// Handles the host's own events that come before an arrival at `at`; returns their number.
    #[inline]
    pub(crate) fn handle_before(&mut self, at: Time, transit: &mut Transit) -> u64 {
        let mut events = 0;
        loop {
            let calendar = &mut transit.calendar;
            let (free, timer) = (calendar.due(self.nic.component), calendar.due(self.timer));
            let (event, id) = if free <= timer && free <= at {
                (free, self.nic.component) // before arrivals of the same instant
            } else if timer < at {
                (timer, self.timer)
            } else {
                return events;
            };
            calendar.schedule(id, Time::MAX);
            self.work(event, transit);
            events += 1;
        }
    }

    /// Does the work of an event: the timer, a free NIC, or news. Posts what is due, sends what may
    /// be sent, and sets the timer for the rest.
    #[inline]
    pub(crate) fn work(&mut self, now: Time, transit: &mut Transit) {
        self.take_back_before_due(now, transit);
        if self.has_due(now) {
            self.do_due(now, transit);
        }
        self.read_events(now);
        self.post_due(now);
        self.serve_nic(now, transit);
        self.set_timer(now, &mut transit.calendar);
    }

    /// Does what is due of timers and applications.
    #[inline]
    fn do_due(&mut self, now: Time, transit: &mut Transit) {
        if self.next_post_at <= now {
            self.post_planned(now);
        }
        if !self.applications.is_empty() {
            self.wake_applications(now);
        }
        if self.ahead.until > now && self.endpoint.has_alarm(now) {
            self.take_back(now, transit);
        }
        self.endpoint.on_timer(now);
    }

    /// Gives the NIC what it may send.
    #[inline]
    fn serve_nic(&mut self, now: Time, transit: &mut Transit) {
        if self.may_send_ahead(now) {
            self.send_ahead(now, transit);
        } else {
            self.send(now, transit);
        }
    }

    /// Sends the next packet if the NIC is free, and asks for the event when it will be.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves by an event")]
    #[inline(always)]
    fn send(&mut self, now: Time, transit: &mut Transit) {
        if self.nic.is_free(now)
            && let Some(frame) = self.next_frame(now, &mut transit.packets)
        {
            self.sent.add(frame.wire);
            self.trace.packet(now, 0, &frame, PacketEvent::Sent, &transit.packets);
            self.nic.transmit(now, &frame, transit);
        }
        if !self.nic.is_free(now) && self.has_packet(now) {
            self.nic.wait(&mut transit.calendar);
        }
    }

    /// Posts the planned messages that are due.
    #[cold]
    fn post_planned(&mut self, now: Time) {
        while self.next_post_at <= now {
            let Some(post) = self.posts.pop() else { break };
            self.next_post_at = self.posts.last().map_or(Time::MAX, |post| post.at);
            if self.posts.len() < self.posts.capacity() / 2 {
                self.posts.shrink_to_fit(); // each is moved once, all in all
            }
            self.post(now, post);
        }
    }

    fn wake_applications(&mut self, now: Time) {
        for application in &mut self.applications {
            if application.next_timer() <= now {
                application.on_timer(now, &mut self.due);
            }
        }
        self.post_due(now);
    }

    fn post(&mut self, now: Time, post: Post) {
        let Post { bytes, connection, .. } = post;
        let flow = self.flow(connection);
        self.posted.push(Posted { flow, at: now, bytes });
        let operation = match (self.flows[flow as usize].operation, bytes) {
            (Direction::Write, ENDLESS) => Operation::Stream,
            (Direction::Write, bytes) => Operation::Write { bytes },
            (Direction::Read, ENDLESS) => Operation::ReadStream,
            (Direction::Read, bytes) => Operation::Read { bytes },
        };
        self.endpoint.post(now, connection, operation);
    }

    /// Posts the messages that applications have just decided on.
    #[inline]
    fn post_due(&mut self, now: Time) {
        if !self.due.is_empty() {
            self.post_all_due(now);
        }
    }

    #[cold]
    fn post_all_due(&mut self, now: Time) {
        let mut due = std::mem::take(&mut self.due);
        due.drain(..).for_each(|post| self.post(now, post));
        self.due = due;
    }

    /// The next frame to send.
    #[inline]
    fn next_frame(&mut self, now: Time, packets: &mut Packets) -> Option<Frame> {
        let open = self.nic.open_classes();
        if let Some(reply) = self.endpoint.poll_reply(now, open) {
            return Some(self.reply_frame(reply, packets));
        }
        let Some(data) = self.endpoint.poll_data(now, open) else {
            return if self.endpoint.is_one_queue() { self.late_reply(now, packets) } else { None };
        };
        Some(self.data_frame(now, &data, packets))
    }

    /// The frame of data that leaves at `now`.
    #[expect(clippy::inline_always, reason = "a packet is long, and is made where it stays")]
    #[inline(always)]
    fn data_frame(&mut self, now: Time, data: &Outgoing, packets: &mut Packets) -> Frame {
        let wire = self.wire;
        let &Outgoing { connection, address, class, form, begins, .. } = data;
        if let Some(posted) = begins {
            self.begin(now, connection, posted);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the MTU")]
        let bytes = wire.header + form.payload() as u16;
        let sent_ns = form.sent_ns();
        let mut frame = Frame::new(address, bytes, class, form, wire.telemetry, packets);
        if let Some(most) = wire.marks_after_ns
            && clock_ns(now).wrapping_sub(sent_ns) > most
            && frame.is_ect()
        {
            frame.mark();
        }
        frame
    }

    /// An ACK or report that waited behind data which is not sent after all.
    #[cold]
    fn late_reply(&mut self, now: Time, packets: &mut Packets) -> Option<Frame> {
        let reply = self.endpoint.poll_reply(now, self.nic.open_classes())?;
        Some(self.reply_frame(reply, packets))
    }

    /// The frame of an ACK or report.
    #[expect(clippy::inline_always, reason = "a reply is long, and is made where it stays")]
    #[inline(always)]
    fn reply_frame(&self, reply: Outgoing, packets: &mut Packets) -> Frame {
        let Outgoing { address, class, form, hops, .. } = reply;
        let frame = Frame::new(address, self.wire.ack, class, form, !hops.is_empty(), packets);
        if !hops.is_empty() {
            *packets.stamps_of(&frame) = hops.into();
        }
        frame
    }

    /// Notes the departure of a message's first packet.
    #[cold]
    fn begin(&mut self, now: Time, connection: u32, posted: Time) {
        let (flow, data) = (self.flow(connection), self.is_data(connection));
        self.begun.push(Begun { flow, data, at: now, waited: now.since(posted) });
    }

    #[inline]
    fn read_events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Sampled { connection, sample } => {
                    let (number, rtt) = (self.flow(connection), sample.measured);
                    let flow = &self.flows[number as usize];
                    if flow.is_data(self.number, connection) {
                        if now >= self.start {
                            let lasts = flow.is_lasting();
                            let new =
                                || Tally { rtt: lasts.then(Box::default), ..Tally::default() };
                            let tally = self.tallies.of(connection, new);
                            tally.samples += 1;
                            tally.sum_ns += rtt.as_ns();
                            tally.rtt.as_deref_mut().unwrap_or(&mut self.rtt).add(rtt.as_ns(), 1);
                        }
                        self.trace.flow(now, number, rtt, sample.rate);
                        self.trace.gauges(now, number, |emit| {
                            if let Some(sender) = self.endpoint.sender(connection) {
                                sender.rate().control().gauges(emit);
                            }
                        });
                    }
                }
                Event::Delivered { connection, message } => {
                    let flow = self.flow(connection);
                    let message = u32::try_from(message).unwrap_or(u32::MAX);
                    self.deliveries.push(Delivery { at: now, flow, message });
                    self.tell(now, connection, Outcome::Received);
                }
                Event::Completed { connection, .. } => {
                    self.tell(now, connection, Outcome::Sent);
                }
            }
        }
    }

    fn tell(&mut self, now: Time, connection: u32, outcome: Outcome) {
        let flow = self.flow(connection);
        let at_source = self.flows[flow as usize].source == self.number;
        if let Some((number, slot)) = self.flows.follower(flow, at_source)
            && self.is_data(connection)
        {
            let application = &mut self.applications[number as usize];
            application.on_outcome(now, slot, outcome, &mut self.due);
        }
    }

    /// Sets the timer for work that does not depend on the NIC.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn set_timer(&mut self, now: Time, calendar: &mut Calendar) {
        let endpoint = self.endpoint.next_timer(now).unwrap_or(Time::MAX);
        let applications = self.applications.iter().map(|application| application.next_timer());
        let mut first = applications.fold(self.next_post_at.min(endpoint), Time::min);
        let open = self.nic.open_classes();
        if open != u8::MAX {
            let reply = self.endpoint.next_open_reply_at(now, open);
            first = first.min(reply.unwrap_or(Time::MAX));
        }
        // Wishes of an application for this very instant have been met, or will be. Mostly the
        // calendar is right already: a timer that was set and has not come is still in it.
        if first != self.timer_at || first <= now {
            self.timer_at = first;
            calendar.schedule(self.timer, first);
        }
    }

    /// Starts the measurement: payload that has arrived so far does not count.
    pub(crate) fn start_measurement(&mut self) {
        let connections = 0..u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let delivered = connections.map(|own| (own, self.endpoint.delivered_bytes(own)));
        self.delivered_before = delivered.filter(|&(_, bytes)| bytes > 0).collect();
    }

    /// The RTT samples of a connection's payload, if there are any.
    pub fn tally(&self, connection: u32) -> Option<&Tally> {
        self.tallies.get(connection)
    }

    /// The tallies of all connections that have any.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies.all
    }

    /// The payload of a connection that had arrived when measurement started.
    pub fn delivered_before(&self, connection: u32) -> u64 {
        let place = self.delivered_before.binary_search_by_key(&connection, |&(own, _)| own);
        place.map_or(0, |place| self.delivered_before[place].1)
    }

    /// Ends an interval of the time series.
    pub(crate) fn sample(&mut self) {
        for &connection in &self.lasting {
            let delivered = self.endpoint.delivered_bytes(connection);
            let rate = self.endpoint.sender(connection).map_or(Rate::ZERO, Sender::pacing_rate);
            self.series.push((delivered, rate));
        }
    }
}

//! A host: an endpoint of the transport, a NIC, and the applications that post.

use incast_cc::{Rate, Span, Time};
use incast_transport::{Endpoint, Event, Operation, Outgoing, Report, Sender, clock_ns};

use super::application::{Application, Outcome};
use super::calendar::{Calendar, ComponentId};
use super::failure::Failures;
use super::frame::{Frame, Stamps};
use super::link::Link;
use super::port::Transmitter;
use super::trace::{PacketEvent, Trace};
use crate::metrics::Histogram;

/// One end of one connection, as the host's applications know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Socket {
    /// The flow that it belongs to.
    pub(crate) flow: u32,
    /// The host at the other end.
    pub(crate) peer: u32,
    /// The traffic that this belongs to.
    pub(crate) traffic: u16,
    /// Whether it carries the flow's payload rather than requests for it.
    pub(crate) data: bool,
    /// Whether it has time series and a histogram of its own.
    pub(crate) lasting: bool,
    /// The application that wants to hear of it, and the slot that it knows it by.
    pub(crate) application: Option<(u16, u32)>,
}

/// What an application posts, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Post {
    pub(crate) at: Time,
    pub(crate) connection: u32,
    pub(crate) operation: Operation,
}

/// What was measured of one socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketMetrics {
    /// RTT samples in nanoseconds since measurement started; of short flows the host keeps them.
    pub(crate) rtt: Option<Box<Histogram>>,
    pub(crate) rtt_samples: u64,
    pub(crate) rtt_sum_ns: u64,
    /// Payload that had arrived when measurement started.
    pub(crate) delivered_before: u64,
}

/// An application has posted a message. Those of a flow are numbered in the order of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) flow: u32,
    pub(crate) at: Time,
    pub(crate) operation: Operation,
}

/// The first packet of a message has left, or that of the request for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) flow: u32,
    pub(crate) data: bool,
    pub(crate) at: Time,
    /// How long it had been posted here: what came before the network.
    pub(crate) waited: Span,
}

/// A message has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) flow: u32,
    pub(crate) message: u64,
    pub(crate) at: Time,
}

/// How the host puts packets on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireFormat {
    pub(crate) header: u16,
    pub(crate) ack: u16,
    /// Whether data makes room for the stamps of switches (INT).
    pub(crate) telemetry: bool,
}

pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) nic: Transmitter,
    pub(crate) failures: Failures,
    timer: ComponentId,
    /// The link that leads here.
    incoming: u32,
    wire: WireFormat,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) metrics: Vec<SocketMetrics>,
    /// In the order of time.
    posts: Vec<Post>,
    next_post: usize,
    next_post_at: Time,
    pub(crate) applications: Vec<Application>,
    /// What applications post now.
    due: Vec<Post>,
    start: Time,
    pub(crate) posted: Vec<Posted>,
    pub(crate) begun: Vec<Begun>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) sent: Count,
    pub(crate) received: Count,
    /// RTT samples of short flows, in nanoseconds, since measurement started.
    pub(crate) rtt: Histogram,
    /// One-way delays of data packets that arrived here, by traffic, in nanoseconds, since then.
    pub(crate) delays: Vec<Histogram>,
    pub(crate) trace: Trace,
    /// For each interval and lasting socket: payload received so far, and rate.
    pub(crate) series: Vec<(u64, Rate)>,
}

/// Packets and their bytes on the wire, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, wire: u16) {
        self.packets += 1;
        self.bytes += u64::from(wire);
    }
}

impl Host {
    pub(crate) fn new(
        endpoint: Endpoint,
        nic: Transmitter,
        timer: ComponentId,
        incoming: u32,
        wire: WireFormat,
        start: Time,
        trace: Trace,
    ) -> Self {
        Self {
            endpoint,
            nic,
            failures: Failures::default(),
            timer,
            incoming,
            wire,
            sockets: Vec::new(),
            metrics: Vec::new(),
            posts: Vec::new(),
            next_post: 0,
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

    /// Links and components have other numbers from now on.
    pub(crate) fn renumber(&mut self, links: &[u32], components: &[ComponentId]) {
        self.nic.link = links[self.nic.link as usize];
        self.incoming = links[self.incoming as usize];
        self.nic.component = components[self.nic.component as usize];
        self.timer = components[self.timer as usize];
    }

    /// Makes room for so many sockets more, and for no others.
    pub(crate) fn reserve(&mut self, sockets: usize) {
        self.endpoint.reserve(sockets);
        self.sockets.reserve_exact(sockets);
        self.metrics.reserve_exact(sockets);
    }

    pub(crate) fn add_socket(&mut self, socket: Socket) {
        self.sockets.push(socket);
        let rtt = (socket.data && socket.lasting).then(Box::default);
        self.metrics.push(SocketMetrics { rtt, ..SocketMetrics::default() });
        if self.delays.len() <= socket.traffic as usize {
            self.delays.resize_with(socket.traffic as usize + 1, Histogram::default);
        }
    }

    /// What will be posted, in any order, and who posts more.
    pub(crate) fn set_applications(
        &mut self,
        mut posts: Vec<Post>,
        applications: Vec<Application>,
        calendar: &mut Calendar,
    ) {
        posts.sort_by_key(|post| (post.at, post.connection));
        self.next_post_at = posts.first().map_or(Time::MAX, |post| post.at);
        self.posts = posts;
        self.applications = applications;
        self.set_timer(Time::ZERO, calendar);
    }

    /// A frame has arrived; `truth` is the oracle's RTT of its connection.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        frame: &Frame,
        stamps: &Stamps,
        truth: Option<Span>,
        links: &mut [Link],
        calendar: &mut Calendar,
    ) {
        if frame.is_pfc() {
            self.nic.on_pfc(now, frame);
            return self.work(now, links, calendar);
        }
        self.count(now, frame);
        let report = Report { marked: frame.is_marked(), hops: stamps.hops(), truth };
        if self.endpoint.handle(now, &frame.packet, report) {
            self.work(now, links, calendar);
        }
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    fn count(&mut self, now: Time, frame: &Frame) {
        self.received.add(frame.wire);
        let packet = &frame.packet;
        if now >= self.start && packet.payload() > 0 {
            let delay_ns = clock_ns(now).wrapping_sub(packet.sent_ns);
            let delays = match &mut self.delays[..] {
                [of_all] => of_all, // one traffic, as a rule: the connection need not be looked up
                by_traffic => {
                    let socket = &self.sockets[packet.connection as usize];
                    &mut by_traffic[socket.traffic as usize]
                }
            };
            delays.add_one(u64::from(delay_ns));
        }
    }

    /// Takes in the quiet frames that have arrived before `now`.
    pub(crate) fn catch_up(&mut self, now: Time, links: &mut [Link]) {
        let link = &mut links[self.incoming as usize];
        while let Some(&(at, ref frame)) = link.arrived_before(now) {
            self.on_quiet_arrival(at, frame);
            link.drop_first();
        }
    }

    #[inline]
    fn on_quiet_arrival(&mut self, at: Time, frame: &Frame) {
        self.count(at, frame);
        let news = self.endpoint.handle(at, &frame.packet, Report::default());
        debug_assert!(!news && frame.is_quiet(), "{frame:?} is not quiet");
    }

    /// The timer has come, the NIC is free, or something has happened: posts what is due, sends what
    /// may be sent, and asks to be woken for the rest.
    #[inline]
    pub(crate) fn work(&mut self, now: Time, links: &mut [Link], calendar: &mut Calendar) {
        if self.next_post_at <= now {
            self.post_planned(now);
        }
        if !self.applications.is_empty() {
            self.wake_applications(now);
        }
        self.endpoint.on_timer(now);
        self.read_events(now);
        self.post_due(now);
        if self.nic.is_free(now)
            && let Some((frame, stamps)) = self.next_frame(now)
        {
            self.sent.add(frame.wire);
            self.trace.packet(now, 0, &frame, PacketEvent::Sent);
            self.nic.transmit(now, &frame, stamps, links, calendar);
        }
        let open = self.nic.open_classes();
        if !self.nic.is_free(now)
            && (self.endpoint.has_data(open) || self.endpoint.has_reply(now, open))
        {
            self.nic.wait(calendar);
        }
        self.set_timer(now, calendar);
    }

    /// Posts what was planned and is due.
    #[cold]
    fn post_planned(&mut self, now: Time) {
        while self.next_post_at <= now {
            let post = self.posts[self.next_post];
            self.next_post += 1;
            self.next_post_at = self.posts.get(self.next_post).map_or(Time::MAX, |post| post.at);
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
        let flow = self.sockets[post.connection as usize].flow;
        self.posted.push(Posted { flow, at: now, operation: post.operation });
        self.endpoint.post(now, post.connection, post.operation);
    }

    /// Posts what applications have just decided to.
    #[inline]
    fn post_due(&mut self, now: Time) {
        if self.due.is_empty() {
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        due.drain(..).for_each(|post| self.post(now, post));
        self.due = due;
    }

    #[inline]
    fn next_frame(&mut self, now: Time) -> Option<(Frame, Stamps)> {
        let (wire, open) = (&self.wire, self.nic.open_classes());
        if let Some(reply) = self.endpoint.poll_reply(now, open) {
            let Outgoing { connection, class, packet, hops, .. } = reply;
            let destination = self.sockets[connection as usize].peer;
            let mut frame = Frame::new(destination, wire.ack, class, packet);
            if !hops.is_empty() {
                frame.stamp();
            }
            return Some((frame, hops.into()));
        }
        let data = self.endpoint.poll_data(now, open)?;
        let Outgoing { connection, class, packet, begins, .. } = data;
        let Socket { peer: destination, flow, data, .. } = self.sockets[connection as usize];
        if let Some(posted) = begins {
            self.begun.push(Begun { flow, data, at: now, waited: now.since(posted) });
        }
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the MTU")]
        let bytes = wire.header + packet.payload() as u16;
        let mut frame = Frame::new(destination, bytes, class, packet);
        if wire.telemetry {
            frame.stamp();
        }
        Some((frame, Stamps::NONE))
    }

    #[inline]
    fn read_events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Sampled { connection, sample } => {
                    let socket = self.sockets[connection as usize];
                    if socket.data {
                        let rtt = sample.measured;
                        if now >= self.start {
                            let metrics = &mut self.metrics[connection as usize];
                            metrics.rtt_samples += 1;
                            metrics.rtt_sum_ns += rtt.as_ns();
                            metrics.rtt.as_deref_mut().unwrap_or(&mut self.rtt).add(rtt.as_ns(), 1);
                        }
                        self.trace.flow(now, socket.flow, rtt, sample.rate);
                    }
                }
                Event::Delivered { connection, message } => {
                    let Socket { flow, application, .. } = self.sockets[connection as usize];
                    self.deliveries.push(Delivery { flow, message, at: now });
                    self.tell(now, application, Outcome::Received);
                }
                Event::Completed { connection, .. } => {
                    let Socket { application, .. } = self.sockets[connection as usize];
                    self.tell(now, application, Outcome::Sent);
                }
            }
        }
    }

    fn tell(&mut self, now: Time, application: Option<(u16, u32)>, outcome: Outcome) {
        if let Some((number, slot)) = application {
            let application = &mut self.applications[number as usize];
            application.on_outcome(now, slot, outcome, &mut self.due);
        }
    }

    /// Asks to be woken for what does not hang on the NIC.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn set_timer(&mut self, now: Time, calendar: &mut Calendar) {
        let endpoint = self.endpoint.next_timer(now).unwrap_or(Time::MAX);
        let applications = self.applications.iter().map(Application::next_timer);
        let first = applications.fold(self.next_post_at.min(endpoint), Time::min);
        // What an application wants at this very instant, it has been given or will be told.
        calendar.schedule(self.timer, first);
    }

    /// Measurement starts: what has arrived so far does not count.
    pub(crate) fn start_measurement(&mut self) {
        for (connection, metrics) in (0..).zip(&mut self.metrics) {
            metrics.delivered_before = self.endpoint.receiver(connection).delivered_bytes();
        }
    }

    /// Ends an interval of the time series.
    pub(crate) fn sample(&mut self) {
        for (connection, socket) in (0..).zip(&self.sockets) {
            if socket.lasting {
                let delivered = self.endpoint.receiver(connection).delivered_bytes();
                let rate = self.endpoint.sender(connection).map_or(Rate::ZERO, Sender::pacing_rate);
                self.series.push((delivered, rate));
            }
        }
    }
}

//! A host: an endpoint of the transport, a NIC, and the applications that post.

use incast_cc::Span;
use incast_cc::{Rate, Time};
use incast_transport::{Endpoint, Event, Operation, Outgoing, Report, Sender};

use super::calendar::{Calendar, ComponentId};
use super::failure::Failures;
use super::frame::{ACK_CLASS, DATA_CLASS, Frame, Stamps};
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
    /// Whether it carries the flow's payload rather than requests for it.
    pub(crate) data: bool,
}

/// What an application posts, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Post {
    pub(crate) at: Time,
    pub(crate) connection: u32,
    pub(crate) operation: Operation,
}

/// What was measured of the sending side of one socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketMetrics {
    /// RTT samples in nanoseconds since measurement started.
    pub(crate) rtt: Histogram,
    /// Payload that had arrived when measurement started.
    pub(crate) delivered_before: u64,
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
    /// The class that ACKs travel in.
    pub(crate) ack_class: u8,
    /// Whether data makes room for the stamps of switches (INT).
    pub(crate) telemetry: bool,
}

impl WireFormat {
    pub(crate) const fn new(header: u16, ack: u16, ack_priority: bool, telemetry: bool) -> Self {
        let ack_class = if ack_priority { ACK_CLASS } else { DATA_CLASS };
        Self { header, ack, ack_class, telemetry }
    }
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
    start: Time,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) sent: Count,
    pub(crate) received: Count,
    pub(crate) trace: Trace,
    /// For each interval and socket: payload received so far, and rate.
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
            start,
            deliveries: Vec::new(),
            sent: Count::default(),
            received: Count::default(),
            trace,
            series: Vec::new(),
        }
    }

    pub(crate) fn add_socket(&mut self, socket: Socket) {
        self.sockets.push(socket);
        self.metrics.push(SocketMetrics::default());
    }

    /// What applications will post; any order.
    pub(crate) fn set_posts(&mut self, mut posts: Vec<Post>, calendar: &mut Calendar) {
        posts.sort_by_key(|post| (post.at, post.connection));
        self.posts = posts;
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
        self.received.add(frame.wire);
        let report = Report { marked: frame.is_marked(), hops: stamps.hops(), truth };
        if self.endpoint.handle(now, &frame.packet, report) {
            self.work(now, links, calendar);
        }
    }

    /// Takes in the quiet frames that have arrived before `now`.
    pub(crate) fn catch_up(&mut self, now: Time, links: &mut [Link]) {
        while let Some((at, frame)) = links[self.incoming as usize].pop_before(now) {
            self.on_quiet_arrival(at, &frame);
        }
    }

    #[inline]
    fn on_quiet_arrival(&mut self, at: Time, frame: &Frame) {
        self.received.add(frame.wire);
        let news = self.endpoint.handle(at, &frame.packet, Report::default());
        debug_assert!(!news && frame.is_quiet(), "{frame:?} is not quiet");
    }

    /// The timer has come, the NIC is free, or something has happened: posts what is due, sends what
    /// may be sent, and asks to be woken for the rest.
    #[inline]
    pub(crate) fn work(&mut self, now: Time, links: &mut [Link], calendar: &mut Calendar) {
        while let Some(post) = self.posts.get(self.next_post)
            && post.at <= now
        {
            self.endpoint.post(now, post.connection, post.operation);
            self.next_post += 1;
        }
        self.endpoint.on_timer(now);
        self.read_events(now);
        if self.nic.is_free(now)
            && let Some((frame, stamps)) = self.next_frame(now)
        {
            self.sent.add(frame.wire);
            self.trace.packet(now, 0, &frame, PacketEvent::Sent);
            self.nic.transmit(now, frame, stamps, links, calendar);
        }
        let data = self.endpoint.has_data() && !self.nic.is_paused(DATA_CLASS);
        let reply = self.endpoint.has_reply(now) && !self.nic.is_paused(self.wire.ack_class);
        if (data || reply) && !self.nic.is_free(now) {
            self.nic.wait(calendar);
        }
        self.set_timer(now, calendar);
    }

    #[inline]
    fn next_frame(&mut self, now: Time) -> Option<(Frame, Stamps)> {
        let wire = &self.wire;
        if !self.nic.is_paused(wire.ack_class)
            && let Some(Outgoing { connection, packet, hops }) = self.endpoint.poll_reply(now)
        {
            let destination = self.sockets[connection as usize].peer;
            let mut frame = Frame::new(destination, wire.ack, wire.ack_class, packet);
            if !hops.is_empty() {
                frame.stamp();
            }
            return Some((frame, hops.into()));
        }
        if self.nic.is_paused(DATA_CLASS) {
            return None;
        }
        let Outgoing { connection, packet, .. } = self.endpoint.poll_data(now)?;
        let destination = self.sockets[connection as usize].peer;
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the MTU")]
        let bytes = wire.header + packet.payload() as u16;
        let mut frame = Frame::new(destination, bytes, DATA_CLASS, packet);
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
                            self.metrics[connection as usize].rtt.add(rtt.as_ns(), 1);
                        }
                        self.trace.flow(now, socket.flow, rtt, sample.rate);
                    }
                }
                Event::Delivered { connection, message } => {
                    let flow = self.sockets[connection as usize].flow;
                    self.deliveries.push(Delivery { flow, message, at: now });
                }
                Event::Completed { .. } => {}
            }
        }
    }

    /// Asks to be woken for what does not hang on the NIC.
    #[inline]
    fn set_timer(&mut self, now: Time, calendar: &mut Calendar) {
        let post = self.posts.get(self.next_post).map_or(Time::MAX, |post| post.at);
        let endpoint = self.endpoint.next_timer(now).unwrap_or(Time::MAX);
        calendar.schedule(self.timer, post.min(endpoint));
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
            if socket.data {
                let delivered = self.endpoint.receiver(connection).delivered_bytes();
                let rate = self.endpoint.sender(connection).map_or(Rate::ZERO, Sender::pacing_rate);
                self.series.push((delivered, rate));
            }
        }
    }
}

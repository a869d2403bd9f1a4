//! All connections of one host behind one NIC.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

use incast_cc::{AnyControl, Bytes, CongestionControl, Flow, Rate, Span, Time};

use super::pacing::PacingEngine;
use super::packet::{Body, MAX_SEGMENT_PACKETS, Packet};
use super::receiver::Receiver;
use super::sender::{ENDLESS, Sample, Sender};

/// Payload of a read request.
const REQUEST_BYTES: u64 = 32;

/// What is common to all connections of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Most payload of a segment: the unit of pacing and of acknowledgement.
    pub segment: Bytes,
    /// Most payload of a packet.
    pub payload: Bytes,
    /// What headers add to a packet on the wire.
    pub header: Bytes,
    /// Rate of the NIC.
    pub line_rate: Rate,
    /// From the arrival of a segment's last packet to its ACK leaving.
    pub ack_turnaround: Span,
    /// Least retransmission timeout.
    pub rto_min: Span,
    /// Most retransmission timeout.
    pub rto_max: Span,
}

impl Default for Config {
    /// 64 KB segments in packets of 1,500 bytes, 40 of them headers, on a 10 Gb/s NIC.
    fn default() -> Self {
        Self {
            segment: Bytes::from_kb(64),
            payload: Bytes::new(1_460),
            header: Bytes::new(40),
            line_rate: Rate::from_gbps(10),
            ack_turnaround: Span::from_us(1),
            rto_min: Span::from_ms(4),
            rto_max: Span::from_secs(1),
        }
    }
}

/// A [`Config`] that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A segment or packet without payload, or a NIC without rate.
    Zero(&'static str),
    /// The segment would be more than [`MAX_SEGMENT_PACKETS`] packets: so many.
    TooManyPackets(u64),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "{what} must be above zero"),
            Self::TooManyPackets(packets) => write!(
                f,
                "a segment of {packets} packets is too long; at most {MAX_SEGMENT_PACKETS} \
                 (make the segment shorter or the MTU larger)"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Whether segments and packets fit each other.
    ///
    /// # Errors
    /// What is zero or too long.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (what, zero) in [
            ("the segment", self.segment.is_zero()),
            ("the payload of a packet", self.payload.is_zero()),
            ("the line rate", self.line_rate.is_zero()),
        ] {
            if zero {
                return Err(ConfigError::Zero(what));
            }
        }
        let packets = self.segment.get().div_ceil(self.payload.get());
        if packets > u64::from(MAX_SEGMENT_PACKETS) {
            return Err(ConfigError::TooManyPackets(packets));
        }
        Ok(())
    }
}

/// What an endpoint does on a connection, and the index that the peer knows it by.
pub enum Role<'a, C> {
    /// Sends payload. Starts an algorithm, which is told what is known of the flow.
    Sender {
        /// The connection's index at the peer.
        peer: u32,
        /// Starts the algorithm.
        start: &'a dyn Fn(&Flow) -> C,
    },
    /// Receives payload, and may send requests for it.
    Receiver {
        /// The connection's index at the peer.
        peer: u32,
    },
}

/// What an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Send `bytes`; the sender is paced.
    Write {
        /// Payload of the message.
        bytes: u64,
    },
    /// Send until the end of time.
    Stream,
    /// Have the peer send `bytes`; the peer is paced.
    Read {
        /// Payload of the answer.
        bytes: u64,
    },
    /// Have the peer send until the end of time.
    ReadStream,
}

/// What the application hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has arrived, whole and in order.
    Delivered {
        /// The connection.
        connection: u32,
        /// Counts the connection's messages from 0.
        message: u64,
    },
    /// A message that was sent has been acknowledged.
    Completed {
        /// The connection.
        connection: u32,
        /// Counts the connection's messages from 0.
        message: u64,
    },
    /// A segment was completed with an unambiguous RTT.
    Sampled {
        /// The connection.
        connection: u32,
        /// The sample and what became of the rate.
        sample: Sample,
    },
}

#[derive(Clone, Debug)]
struct Connection<C> {
    peer: u32,
    sender: Option<Sender<C>>,
    delivered: u64,
    completed: u64,
    /// The entry that stands for this connection in the timeout heap.
    timeout_armed: Option<Time>,
}

/// The transport of one host.
pub struct Endpoint<C = AnyControl> {
    config: Config,
    connections: Vec<Connection<C>>,
    /// Apart from the connections: a host that only receives touches nothing else per packet.
    receivers: Vec<Receiver>,
    pacing: PacingEngine,
    /// ACKs and reports, with the time at which the hardware has made them.
    replies: VecDeque<(Time, Packet)>,
    /// When to look at a connection's silence; an entry may come early, never late.
    timeouts: BinaryHeap<Reverse<(Time, u32)>>,
    /// Algorithms that asked for a timer.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    events: VecDeque<Event>,
    senders: u32,
}

impl<C: CongestionControl> Endpoint<C> {
    /// An endpoint without connections.
    ///
    /// # Panics
    /// When [`Config::check`] fails.
    pub fn new(config: Config) -> Self {
        if let Err(error) = config.check() {
            panic!("{error}");
        }
        Self {
            config,
            connections: Vec::new(),
            receivers: Vec::new(),
            pacing: PacingEngine::default(),
            replies: VecDeque::with_capacity(64),
            timeouts: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            events: VecDeque::with_capacity(64),
            senders: 0,
        }
    }

    /// Opens a connection and returns its index, which the peer must be told.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "as many connections do not fit the memory"
    )]
    pub fn open(&mut self, role: Role<'_, C>, now: Time) -> u32 {
        let index = self.connections.len() as u32;
        let (peer, sender) = match role {
            Role::Receiver { peer } => (peer, None),
            Role::Sender { peer, start } => {
                let mut flow = Flow::new(self.config.segment, self.config.line_rate);
                (flow.now, flow.mss) = (now, self.config.payload);
                flow.active_flows = self.senders;
                flow.seed = u64::from(index);
                self.senders += 1;
                (peer, Some(Sender::new(start(&flow), &self.config, now)))
            }
        };
        let connection =
            Connection { peer, sender, delivered: 0, completed: 0, timeout_armed: None };
        self.connections.push(connection);
        self.receivers.push(Receiver::default());
        self.pacing.add();
        index
    }

    /// Gives a connection that only received an algorithm to send with: the requester of reads and
    /// the responder both send.
    pub fn open_sender(&mut self, connection: u32, now: Time, control: C) {
        let sender = Sender::new(control, &self.config, now);
        self.connections[connection as usize].sender = Some(sender);
    }

    /// The application asks for something.
    ///
    /// # Panics
    /// When the connection was opened to receive only.
    pub fn post(&mut self, now: Time, connection: u32, operation: Operation) {
        let (bytes, read) = match operation {
            Operation::Write { bytes } => (bytes.clamp(1, ENDLESS - 1), 0),
            Operation::Stream => (ENDLESS, 0),
            Operation::Read { bytes } => (REQUEST_BYTES, bytes.clamp(1, ENDLESS - 1)),
            Operation::ReadStream => (REQUEST_BYTES, ENDLESS),
        };
        let sender = self.connections[connection as usize].sender.as_mut();
        let sender = sender.unwrap_or_else(|| panic!("connection {connection} does not send"));
        sender.post(now, bytes, read);
        self.reschedule(connection);
    }

    /// A packet has arrived; `marked` tells whether a switch saw congestion.
    #[inline]
    pub fn handle(&mut self, now: Time, packet: &Packet, marked: bool) {
        let index = packet.connection;
        match &packet.body {
            Body::Data(data) => {
                let connection = &mut self.connections[index as usize];
                let (peer, replies) = (connection.peer, &mut self.replies);
                let ready_at = now + self.config.ack_turnaround;
                let mut request = 0;
                self.receivers[index as usize].handle(
                    data,
                    marked,
                    |body| replies.push_back((ready_at, Packet { connection: peer, body })),
                    |message| {
                        if message.read == 0 {
                            let message = connection.delivered;
                            connection.delivered += 1;
                            self.events.push_back(Event::Delivered { connection: index, message });
                        } else {
                            request = message.read;
                        }
                    },
                );
                if request > 0 {
                    self.respond(now, index, request);
                }
            }
            Body::Ack(ack) => {
                let connection = &mut self.connections[index as usize];
                let Some(sender) = &mut connection.sender else { return };
                let (sample, messages) = sender.on_ack(now, ack);
                if let Some(sample) = sample {
                    self.events.push_back(Event::Sampled { connection: index, sample });
                }
                for _ in 0..messages {
                    let message = connection.completed;
                    connection.completed += 1;
                    self.events.push_back(Event::Completed { connection: index, message });
                }
                self.reschedule(index);
            }
            Body::Nack(nack) => {
                let config = &self.config;
                let Some(sender) = &mut self.connections[index as usize].sender else { return };
                sender.on_nack(now, nack, config);
                self.reschedule(index);
            }
        }
    }

    /// The responder of a read: the answer is a message of its own, paced here.
    fn respond(&mut self, now: Time, connection: u32, bytes: u64) {
        if let Some(sender) = &mut self.connections[connection as usize].sender {
            sender.post(now, bytes, 0);
            self.reschedule(connection);
        }
    }

    /// An ACK or report that the hardware has ready; these go before data.
    #[inline]
    pub fn poll_reply(&mut self, now: Time) -> Option<Packet> {
        match self.replies.front() {
            Some(&(ready_at, packet)) if ready_at <= now => {
                self.replies.pop_front();
                Some(packet)
            }
            _ => None,
        }
    }

    /// The next data packet that may leave now. The NIC calls it when it is free.
    #[inline]
    pub fn poll_data(&mut self, now: Time) -> Option<Packet> {
        while let Some(index) = self.pacing.serve() {
            let connection = &mut self.connections[index as usize];
            let Some(sender) = &mut connection.sender else { continue };
            let Some(data) = sender.next_packet(now, &self.config) else {
                // Acknowledged while it was being sent again.
                self.reschedule(index);
                continue;
            };
            let packet = Packet { connection: connection.peer, body: Body::Data(data) };
            if data.ack_request {
                self.reschedule(index);
            } else if sender.send_time(&self.config) == Some(now) {
                self.pacing.put_back(index);
            } else {
                self.pacing.schedule(index, sender.send_time(&self.config));
            }
            return Some(packet);
        }
        None
    }

    /// [`poll_reply`](Self::poll_reply), else [`poll_data`](Self::poll_data), with what is due
    /// released: for a carrier without priorities.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.on_timer(now);
        self.poll_reply(now).or_else(|| self.poll_data(now))
    }

    /// Whether data may leave now.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.pacing.has_ready()
    }

    /// What has happened since the last call.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`on_timer`](Self::on_timer) has something to do, or a reply becomes ready.
    #[inline]
    pub fn next_timer(&mut self) -> Option<Time> {
        let mut next = self.pacing.next_release().unwrap_or(Time::MAX);
        if let Some(&(ready_at, _)) = self.replies.front() {
            next = next.min(ready_at);
        }
        if let Some(&Reverse((at, _))) = self.timeouts.peek() {
            next = next.min(at);
        }
        if let Some(&Reverse((at, _))) = self.timers.peek() {
            next = next.min(at);
        }
        (next < Time::MAX).then_some(next)
    }

    /// Releases the connections whose send time has come, and looks at silent ones.
    #[inline]
    pub fn on_timer(&mut self, now: Time) {
        while let Some(index) = self.pacing.release(now) {
            if let Some(sender) = &mut self.connections[index as usize].sender {
                sender.start_burst(now, &self.config);
            }
        }
        if self.timeouts.peek().is_some_and(|&Reverse((at, _))| at <= now) {
            self.on_timeouts(now);
        }
        if self.timers.peek().is_some_and(|&Reverse((at, _))| at <= now) {
            self.on_algorithm_timers(now);
        }
    }

    #[cold]
    fn on_timeouts(&mut self, now: Time) {
        while let Some(&Reverse((at, index))) = self.timeouts.peek() {
            if at > now {
                return;
            }
            self.timeouts.pop();
            let connection = &mut self.connections[index as usize];
            if connection.timeout_armed != Some(at) {
                continue;
            }
            connection.timeout_armed = None;
            if let Some(sender) = &mut connection.sender
                && sender.timeout_at().is_some_and(|timeout| timeout <= now)
            {
                sender.on_timeout(now);
            }
            self.reschedule(index);
        }
    }

    #[cold]
    fn on_algorithm_timers(&mut self, now: Time) {
        while let Some(&Reverse((at, index))) = self.timers.peek() {
            if at > now {
                return;
            }
            self.timers.pop();
            if let Some(sender) = &mut self.connections[index as usize].sender {
                sender.on_timer(now);
            }
            self.reschedule(index);
        }
    }

    /// Asks a sender when it may send next and when it wants to be woken.
    fn reschedule(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        let Some(sender) = &connection.sender else { return };
        self.pacing.schedule(index, sender.send_time(&self.config));
        if connection.timeout_armed.is_none()
            && let Some(at) = sender.timeout_at()
        {
            connection.timeout_armed = Some(at);
            self.timeouts.push(Reverse((at, index)));
        }
        if let Some(at) = sender.rate().next_timer() {
            self.timers.push(Reverse((at, index)));
        }
    }

    /// The sending half of a connection.
    pub fn sender(&self, connection: u32) -> Option<&Sender<C>> {
        self.connections[connection as usize].sender.as_ref()
    }

    /// The receiving half of a connection.
    pub fn receiver(&self, connection: u32) -> &Receiver {
        &self.receivers[connection as usize]
    }

    /// What is common to all connections.
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

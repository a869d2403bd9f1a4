//! All connections of one host behind one NIC.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incast_cc::{AnyControl, CongestionControl, Flow, Time};

use super::config::Config;
use super::pacing::PacingEngine;
use super::packet::{Ack, Body, Packet};
use super::receiver::{Delivered, Receiver};
use super::sender::{ENDLESS, Sample, Sender};

/// Payload of a read request.
const REQUEST_BYTES: u64 = 32;

/// What an endpoint does on a connection. Payload flows one way; the index that the peer knows the
/// connection by is told when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends payload, paced by an algorithm.
    Sender,
    /// Receives payload.
    Receiver,
    /// Sends requests for reads. They are messages too, but small: no algorithm paces them.
    Requester,
    /// Receives requests, and answers each on the connection `answers`, where it is the sender.
    Responder {
        /// The connection on which the answers are sent.
        answers: u32,
    },
}

/// What an algorithm is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Payload.
    Data,
    /// Requests of a [`Role::Requester`].
    Requests,
}

/// Starts the algorithm of a flow.
pub type Starter<C> = Box<dyn Fn(&Flow, Purpose) -> C + Send + Sync>;

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
    role: Role,
    /// Made at the first message.
    sender: Option<Sender<C>>,
    delivered: u64,
    completed: u64,
    /// Its entry among the alarms; others of it are stale.
    alarm: Option<Time>,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The connection's index here; the carrier knows where its peer is.
    pub connection: u32,
    /// The packet, with the connection's index at the peer.
    pub packet: Packet,
}

/// The transport of one host.
pub struct Endpoint<C = AnyControl> {
    config: Config,
    start: Starter<C>,
    connections: Vec<Connection<C>>,
    /// Apart from the connections: a host that only receives touches nothing else per packet.
    receivers: Vec<Receiver>,
    pacing: PacingEngine,
    /// ACKs and reports, with the time at which the hardware has made them and their connection here.
    replies: VecDeque<(Time, Outgoing)>,
    /// When to look at a connection: it may have been silent too long, or its algorithm asked for a
    /// timer. An entry may come early, never late.
    alarms: BinaryHeap<Reverse<(Time, u32)>>,
    /// Connections that send payload and are not idle.
    active: u32,
    events: VecDeque<Event>,
    /// What the receiver says about the packet in hand.
    answers: Vec<Body>,
    messages: Vec<Delivered>,
}

impl<C: CongestionControl> Endpoint<C> {
    /// An endpoint without connections.
    ///
    /// # Panics
    /// When [`Config::check`] fails.
    pub fn new(config: Config, start: Starter<C>) -> Self {
        if let Err(error) = config.check() {
            panic!("{error}");
        }
        Self {
            config,
            start,
            connections: Vec::new(),
            receivers: Vec::new(),
            pacing: PacingEngine::default(),
            replies: VecDeque::with_capacity(64),
            alarms: BinaryHeap::new(),
            active: 0,
            events: VecDeque::with_capacity(64),
            answers: Vec::with_capacity(8),
            messages: Vec::with_capacity(8),
        }
    }

    /// Opens a connection, which the peer has as `peer`, and returns its index, which the peer must
    /// be told.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "as many connections do not fit the memory"
    )]
    pub fn open(&mut self, role: Role, peer: u32) -> u32 {
        let index = self.connections.len() as u32;
        self.connections.push(Connection {
            peer,
            role,
            sender: None,
            delivered: 0,
            completed: 0,
            alarm: None,
        });
        self.receivers.push(Receiver::default());
        self.pacing.add();
        index
    }

    /// The application asks for something.
    ///
    /// # Panics
    /// When the connection's role does not allow it.
    pub fn post(&mut self, now: Time, connection: u32, operation: Operation) {
        let (role, bytes, read) = match operation {
            Operation::Write { bytes } => (Role::Sender, bytes.clamp(1, ENDLESS - 1), 0),
            Operation::Stream => (Role::Sender, ENDLESS, 0),
            Operation::Read { bytes } => {
                (Role::Requester, REQUEST_BYTES, bytes.clamp(1, ENDLESS - 1))
            }
            Operation::ReadStream => (Role::Requester, REQUEST_BYTES, ENDLESS),
        };
        let is = self.connections[connection as usize].role;
        assert!(is == role, "connection {connection} is {is:?}, {operation:?} takes {role:?}");
        self.post_message(now, connection, bytes, read);
    }

    fn post_message(&mut self, now: Time, connection: u32, bytes: u64, read: u64) {
        if self.connections[connection as usize].sender.is_none() {
            self.start_sender(now, connection);
        }
        let Connection { role, sender, .. } = &mut self.connections[connection as usize];
        if let Some(sender) = sender {
            self.active += u32::from(*role == Role::Sender && sender.is_idle());
            sender.post(now, bytes, read);
        }
        self.reschedule(now, connection);
    }

    fn start_sender(&mut self, now: Time, connection: u32) {
        let mut flow = Flow::new(self.config.segment, self.config.line_rate);
        (flow.now, flow.mss) = (now, self.config.payload);
        flow.active_flows = self.active;
        // Different on one host; who starts algorithms mixes in which host it is.
        flow.seed = u64::from(connection);
        let requests = self.connections[connection as usize].role == Role::Requester;
        let purpose = if requests { Purpose::Requests } else { Purpose::Data };
        let sender = Sender::new((self.start)(&flow, purpose), &self.config, now);
        self.connections[connection as usize].sender = Some(sender);
    }

    /// A packet has arrived; `marked` tells whether a switch saw congestion. Returns whether there is
    /// anything to do now: a reply to send, an event to read, a sender to serve.
    #[inline]
    pub fn handle(&mut self, now: Time, packet: &Packet, marked: bool) -> bool {
        let index = packet.connection;
        match &packet.body {
            Body::Data(data) => {
                let (answers, messages) = (&mut self.answers, &mut self.messages);
                self.receivers[index as usize].handle(
                    data,
                    marked,
                    |body| answers.push(body),
                    |message| messages.push(message),
                );
                let news = !self.answers.is_empty() || !self.messages.is_empty();
                if news {
                    self.settle(now, index);
                }
                news
            }
            Body::Ack(ack) => {
                self.on_ack(now, index, ack);
                true
            }
            Body::Nack(nack) => {
                let config = &self.config;
                if let Some(sender) = &mut self.connections[index as usize].sender {
                    sender.on_nack(now, nack, config);
                    self.reschedule(now, index);
                }
                true
            }
        }
    }

    /// Passes on what the receiver has said about a packet.
    fn settle(&mut self, now: Time, index: u32) {
        let Connection { peer, role, .. } = self.connections[index as usize];
        let ready_at = now + self.config.ack_turnaround;
        for body in self.answers.drain(..) {
            let packet = Packet { connection: peer, body };
            self.replies.push_back((ready_at, Outgoing { connection: index, packet }));
        }
        for place in 0..self.messages.len() {
            let Delivered { read } = self.messages[place];
            if let Role::Responder { answers } = role {
                // The answer is a message of its own, paced here.
                self.post_message(now, answers, read, 0);
            } else {
                let connection = &mut self.connections[index as usize];
                let message = connection.delivered;
                connection.delivered += 1;
                self.events.push_back(Event::Delivered { connection: index, message });
            }
        }
        self.messages.clear();
    }

    fn on_ack(&mut self, now: Time, index: u32, ack: &Ack) {
        let connection = &mut self.connections[index as usize];
        let Some(sender) = &mut connection.sender else { return };
        let was_idle = sender.is_idle();
        let (sample, messages) = sender.on_ack(now, ack, &self.config);
        let rests = !was_idle && sender.is_idle() && connection.role == Role::Sender;
        self.active -= u32::from(rests);
        if let Some(sample) = sample {
            self.events.push_back(Event::Sampled { connection: index, sample });
        }
        for _ in 0..messages {
            let message = connection.completed;
            connection.completed += 1;
            self.events.push_back(Event::Completed { connection: index, message });
        }
        self.reschedule(now, index);
    }

    /// An ACK or report that the hardware has ready; these go before data.
    #[inline]
    pub fn poll_reply(&mut self, now: Time) -> Option<Outgoing> {
        match self.replies.front() {
            Some(&(ready_at, reply)) if ready_at <= now => {
                self.replies.pop_front();
                Some(reply)
            }
            _ => None,
        }
    }

    /// The next data packet that may leave now. The NIC calls it when it is free.
    #[inline]
    pub fn poll_data(&mut self, now: Time) -> Option<Outgoing> {
        while let Some(index) = self.pacing.serve() {
            let connection = &mut self.connections[index as usize];
            let Some(sender) = &mut connection.sender else { continue };
            let Some((data, next_at)) = sender.next_packet(now, &self.config) else {
                // Acknowledged while it was being sent again.
                self.reschedule(now, index);
                continue;
            };
            let packet = Packet { connection: connection.peer, body: Body::Data(data) };
            match next_at {
                None => self.reschedule(now, index),
                Some(at) if at <= now => self.pacing.put_back(index),
                at => self.pacing.schedule(index, at),
            }
            return Some(Outgoing { connection: index, packet });
        }
        None
    }

    /// [`poll_reply`](Self::poll_reply), else [`poll_data`](Self::poll_data), with what is due
    /// released: for a carrier without priorities.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        self.on_timer(now);
        self.poll_reply(now).or_else(|| self.poll_data(now))
    }

    /// Whether data may leave now.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.pacing.has_ready()
    }

    /// Whether a reply may leave now.
    #[inline]
    pub fn has_reply(&self, now: Time) -> bool {
        self.replies.front().is_some_and(|&(ready_at, _)| ready_at <= now)
    }

    /// What has happened since the last call.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`on_timer`](Self::on_timer) has something to do, or a reply becomes ready; what is ready
    /// `now` waits for the NIC alone and does not count.
    #[inline]
    pub fn next_timer(&self, now: Time) -> Option<Time> {
        let mut next = self.pacing.next_release();
        if let Some(&(ready_at, _)) = self.replies.front()
            && ready_at > now
        {
            next = next.min(ready_at);
        }
        if let Some(&Reverse((at, _))) = self.alarms.peek() {
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
        if self.alarms.peek().is_some_and(|&Reverse((at, _))| at <= now) {
            self.on_alarms(now);
        }
    }

    #[cold]
    fn on_alarms(&mut self, now: Time) {
        while let Some(&Reverse((at, index))) = self.alarms.peek() {
            if at > now {
                return;
            }
            self.alarms.pop();
            let connection = &mut self.connections[index as usize];
            if connection.alarm != Some(at) {
                continue;
            }
            connection.alarm = None;
            if let Some(sender) = &mut connection.sender {
                sender.on_alarm(now);
            }
            self.reschedule(now, index);
        }
    }

    /// Asks a sender when it may send next and when it wants to be woken.
    fn reschedule(&mut self, now: Time, index: u32) {
        let connection = &mut self.connections[index as usize];
        let Some(sender) = &connection.sender else { return };
        // A send time that has passed while the NIC was busy is now: time does not go back.
        let send_time = sender.send_time(&self.config).map(|at| at.max(now));
        self.pacing.schedule(index, send_time);
        if let Some(at) = sender.alarm().map(|at| at.max(now))
            && connection.alarm.is_none_or(|armed| at < armed)
        {
            connection.alarm = Some(at);
            self.alarms.push(Reverse((at, index)));
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
}

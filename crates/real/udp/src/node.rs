//! All peers behind one socket: the core of the transport, for one thread.
//!
//! A [`Node`] owns a socket, the three engines of the transport for all its connections, and the
//! messages that travel. It starts no thread and takes no lock: its owner calls
//! [`turn`](Node::turn) and reads [events](Event).
//!
//! Each pair of nodes has two lanes each way, one for short messages and one for long ones, so that
//! the former do not wait behind the latter. A lane is a connection of the transport: messages on it
//! are sent in order, paced by an algorithm of its own.

mod answer_delay;
mod answers;
mod arriving;
mod calls;
mod departures;
mod event;
mod greeting;
mod group;
mod half_open;
mod inbox;
mod last_wait;
mod lateness;
mod names;
mod opening;
mod outbox;
mod path;
mod peers;
mod progress;
mod replies;
mod run;
mod sampling;
mod search;
mod sending;
mod sleep;
mod spare_buffers;
mod stamping;
mod stuck;
mod wake;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use incast_cc::param::Need;
use incast_cc::{Bytes as Length, Rate, Span, Time};
use incast_transport::recording::RecordedEndpoint;
use incast_transport::{CLASSES, Config, InitialTimeout, Nic, Recovery, Serialization, Signal};

use self::answer_delay::AnswerDelay;
use self::arriving::MOST_RECEIVES;
use self::calls::Calls;
use self::departures::Departures;
pub(crate) use self::inbox::BOOKS_BYTES;
use self::inbox::PLACE_BYTES;
use self::last_wait::LastWait;
use self::lateness::Awaited;
use self::peers::Peers;
use self::sending::{BATCH_BYTES, MOST_SENDS};
use self::spare_buffers::SpareBuffers;
use crate::clock::Clock;
use crate::message::{HEAD_BYTES, Head, Kind, Priority};
use crate::options::{LEAST_MTU, MOST_MESSAGE, Memory, Options, Waiting};
use crate::security::{End, Listener, PeerKey, SecurityError};
use crate::socket::{Features, MAX_RECEIVE_BYTES, ReceiveBatch, SendBatch, Socket};
use crate::wire::{Close, DATA_BYTES, HEADER_BYTES};

pub use self::calls::Refused;
pub use self::event::{Counters, Event, Gone, NodeError, Sampled};
pub use self::group::Group;
pub use self::lateness::Lateness;
pub use self::names::{CallId, Incoming, PeerId, Reach};
pub use self::peers::Statistics;
pub use self::stamping::Lack;
pub use self::wake::{Wake, Waker};

/// The most rounds of sending and receiving after the time of a turn is over: no flood keeps its
/// owner waiting.
const MOST_ROUNDS: u32 = 16;
/// The time between two looks at silent peers.
const LOOK: Span = Span::from_ms(20);
/// The lateness that pacing makes good.
const CREDIT: Span = Span::from_ms(1);
/// The time for which a datagram may be overtaken: two processors of a host reorder.
const REORDERING: Span = Span::from_us(300);
/// The class of acknowledgements in the transport, above those of data.
const ACK_CLASS: u8 = 2;
/// The most bytes of a message's segment.
const SEGMENT_BYTES: u64 = 60_000;

/// A node: a socket with all its peers, driven by one thread.
pub struct Node {
    options: Options,
    socket: Socket,
    clock: Clock,
    endpoint: RecordedEndpoint,
    peers: Peers,
    /// This end in handshakes.
    end: End,
    /// The end of handshakes that others begin.
    listener: Option<Listener>,
    calls: Calls,
    events: VecDeque<Event>,
    /// The bytes of messages from peers that are not whole, or not taken.
    incoming: usize,
    /// The bytes of messages to peers that are not acknowledged.
    outgoing: u64,
    arrivals: Option<Box<ReceiveBatch>>,
    out: SendBatch,
    /// The slots of peers to which answers wait. Some may have left.
    answering: Vec<u32>,
    /// Room for the payload of a packet with the head of a message.
    scratch: Box<[u8]>,
    /// Memory of long messages that were delivered.
    spare: SpareBuffers,
    /// The sends that the kernel has refused: the receiver, the length of the datagrams, and
    /// whether that may be too long.
    refused: Vec<(SocketAddr, usize, bool)>,
    departures: Departures,
    /// The times that the kernel takes to send answers.
    answer_delay: AnswerDelay,
    /// The send time that is waited for.
    awaited: Awaited,
    lateness: Lateness,
    last_wait: LastWait,
    /// The time of all sleeps.
    rested: Duration,
    /// Whether the kernel has ended the last sleep before its time.
    is_woken: bool,
    /// The datagrams since the last look at silent peers by which peers do not know a connection.
    unknowns: u32,
    /// The time of the next look at silent peers.
    look_at: Time,
    /// The time of the next look at the progress of peers.
    progress_at: Time,
    /// Whether datagrams of data ask switches for marks.
    marks: bool,
    /// Whether the kernel stamps what leaves and what comes.
    has_stamps: bool,
    /// The samples since they were taken, where they are kept.
    samples: Option<Vec<Sampled>>,
    /// The datagrams that were not taken, and why.
    counters: Counters,
}

impl Node {
    /// Opens a node. `features` are those that [`Features::probe`] has found, or fewer.
    ///
    /// # Errors
    ///
    /// If the address is taken or not of this machine, the MTU too small, a rate zero, a bound of
    /// memory too low for a message, or the algorithm of no use over UDP.
    pub fn open(options: Options, features: Features) -> Result<Self, NodeError> {
        if options.mtu < LEAST_MTU {
            return Err(NodeError::Mtu { mtu: options.mtu });
        }
        let rates = [("line rate", Some(options.line_rate)), ("NIC rate", options.nic_rate)];
        if let Some(&(what, _)) = rates.iter().find(|(_, rate)| rate.is_some_and(Rate::is_zero)) {
            return Err(NodeError::NoRate { what });
        }
        check(options.memory)?;
        let needs = options.algorithm.needs();
        if let Some(need) = needs.iter().find(|need| need.is_of_switches()) {
            let name = options.algorithm.info().name;
            return Err(match need {
                Need::Classes(_) | Need::RemainingFirst => {
                    NodeError::Switches { name, need: need.as_str() }
                }
                _ => NodeError::Telemetry { name },
            });
        }
        // Most sends are short messages and answers. Where a send cannot choose its priority, the
        // socket has that of long ones.
        let class = if features.priorities { options.urgent_class } else { options.data_class };
        let socket = Socket::open(
            &crate::socket::Options {
                address: options.address,
                shared: options.shared,
                class,
                buffer: options.buffer,
            },
            features,
        )?;
        let endpoint = endpoint(&options);
        let end = End::new(options.security.clone(), &opening::parameters(&options));
        let listener = options.listens.then(|| Listener::new(end.clone())).transpose()?;
        Ok(Self {
            socket,
            endpoint,
            clock: Clock::new(),
            peers: Peers::new(options.peers),
            end,
            listener,
            calls: Calls::default(),
            events: VecDeque::new(),
            incoming: 0,
            outgoing: 0,
            arrivals: Some(Box::new(ReceiveBatch::new(MOST_RECEIVES, MAX_RECEIVE_BYTES))),
            out: SendBatch::new(MOST_SENDS, BATCH_BYTES),
            answering: Vec::new(),
            scratch: vec![0; options.mtu.into()].into(),
            spare: SpareBuffers::default(),
            refused: Vec::new(),
            departures: Departures::default(),
            answer_delay: AnswerDelay::default(),
            awaited: Awaited::default(),
            lateness: Lateness::default(),
            last_wait: LastWait::default(),
            rested: Duration::ZERO,
            is_woken: false,
            unknowns: 0,
            look_at: Time::ZERO,
            progress_at: Time::ZERO,
            marks: needs.contains(&Need::Ecn),
            has_stamps: features.send_stamps && features.receive_stamps,
            samples: None,
            counters: Counters::default(),
            options,
        })
    }

    /// The address that the node is bound to, with its port.
    ///
    /// # Errors
    ///
    /// If the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    /// The features of the kernel that the node uses.
    pub fn features(&self) -> Features {
        self.socket.features()
    }

    /// Changes the waiting for datagrams and send times.
    pub const fn set_waiting(&mut self, waiting: Waiting) {
        self.options.waiting = waiting;
    }

    /// The counts since the node was opened.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The lateness of sends since the node was opened, or since it was last
    /// [taken](Self::take_lateness).
    pub const fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Takes the lateness of sends, which is counted anew from now on.
    pub fn take_lateness(&mut self) -> Lateness {
        std::mem::take(&mut self.lateness)
    }

    /// Begins a connection to a host, which has the public key `key` if connections are protected
    /// by keys. [`Event::Opened`] or [`Event::Gone`] tells how that went; what is posted before
    /// waits.
    ///
    /// # Errors
    ///
    /// If the key is missing, or the system gives no random numbers.
    pub fn connect(
        &mut self,
        address: SocketAddr,
        key: Option<PeerKey>,
    ) -> Result<PeerId, SecurityError> {
        let now = self.clock.now();
        self.begin(now, address, key)
    }

    /// Ends a connection. What is under way fails.
    pub fn close(&mut self, peer: PeerId) {
        let Some(address) = self.peers.get(peer).map(|peer| peer.address) else { return };
        self.say_close(peer, Close::Done);
        self.forget(peer, Gone::ClosedHere(address));
    }

    /// The state of a peer; [`None`] if it is gone.
    pub fn statistics(&self, peer: PeerId) -> Option<Statistics> {
        let peer = self.peers.get(peer)?;
        Some(peer.statistics(&self.endpoint))
    }

    /// The peers whose connections are open.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.peers.open()
    }

    /// The number of connections of the transport that are open: four for each peer.
    pub fn transport_connections(&self) -> usize {
        self.endpoint.open_connections()
    }

    /// Keeps RTT samples until they are [taken](Self::take_samples).
    pub fn keep_samples(&mut self) {
        self.samples.get_or_insert_default();
    }

    /// Takes the RTT samples since the last call.
    pub fn take_samples(&mut self) -> Vec<Sampled> {
        self.samples.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Begins a recording of the transport, of at most `bytes`: what its endpoint is told and what
    /// it says, as [`incast_transport::recording`] tells. It has no payload.
    ///
    /// # Panics
    /// When a connection was opened before.
    pub fn record(&mut self, bytes: usize) {
        self.endpoint.record(bytes);
    }

    /// Ends the recording and returns it; [`None`] if there was none.
    pub fn take_recording(&mut self) -> Option<String> {
        self.endpoint.take_recording()
    }

    /// The next event. Its message no longer counts towards the memory of the node.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.poll_kept_event()?;
        if let Some((peer, bytes)) = event.message() {
            self.free(peer, bytes);
        }
        Some(event)
    }

    /// The next event, for an application that keeps messages for a while. A message counts towards
    /// the memory of the node until it is [freed](Self::free).
    pub fn poll_kept_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Cancelled { call } = &event {
            self.free(call.peer, 0);
        }
        Some(event)
    }

    /// Frees the memory of a message whose body has `bytes`, which a
    /// [kept event](Self::poll_kept_event) has brought.
    pub fn free(&mut self, peer: PeerId, bytes: usize) {
        let bytes = bytes + BOOKS_BYTES;
        self.incoming = self.incoming.saturating_sub(bytes);
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.waiting = peer.waiting.saturating_sub(bytes);
            peer.untaken = peer.untaken.saturating_sub(bytes);
        }
    }

    /// Ends all connections.
    pub fn close_all(&mut self) {
        let all: Vec<_> = self.peers.all().map(|peer| peer.id).collect();
        for peer in all {
            self.say_close(peer, Close::Shutdown);
            self.close(peer);
        }
    }

    /// Sends and receives what can be, and waits until there is an event, but no longer than until
    /// `deadline`. Without one it does not wait. `wake` ends the wait early.
    ///
    /// Call it again as soon as the events are read: what came with them is acknowledged then.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn turn(&mut self, deadline: Option<Instant>, wake: Option<&Wake>) -> io::Result<()> {
        let mut rounds = 0;
        loop {
            let now = self.clock.now();
            let goes_on = self.round(now)?;
            if !self.events.is_empty() || wake.is_some_and(Wake::take) {
                return Ok(());
            }
            rounds += 1;
            let is_over = deadline.is_none_or(|deadline| self.clock.instant(now) >= deadline);
            if is_over && (rounds >= MOST_ROUNDS || !goes_on) {
                return Ok(());
            }
            if let Some(deadline) = deadline.filter(|_| !goes_on) {
                self.wait(now, deadline, wake)?;
            }
        }
    }

    /// Sends and receives once. Returns whether there may be more to do at once.
    fn round(&mut self, now: Time) -> io::Result<bool> {
        self.look(now);
        let more = self.send(now)?;
        // Acknowledgements of what comes now leave with the answers of the application.
        let got = self.receive()?;
        Ok(more || got)
    }

    /// Ends all connections, and begins as a node that was just opened. Its owner may connect again.
    fn begin_anew(&mut self) {
        self.close_all();
        let listener = self.options.listens.then(|| Listener::new(self.end.clone()));
        // Without random numbers the old one goes on, whose cookies are of a time that is over.
        if let Some(Ok(listener)) = listener {
            self.listener = Some(listener);
        }
        self.endpoint = endpoint(&self.options);
        self.clock = Clock::new();
        self.departures = Departures::default();
        self.answer_delay = AnswerDelay::default();
        self.awaited = Awaited::default();
        self.last_wait = LastWait::default();
        self.calls.forget_deadlines();
        self.peers.pardon(Time::MAX);
        (self.look_at, self.progress_at) = (Time::ZERO, Time::ZERO);
    }

    /// Looks at what is due: silent peers, calls whose time is over.
    fn look(&mut self, now: Time) {
        if now >= LIFE {
            return self.begin_anew();
        }
        while let Some(call) = self.calls.overdue(now) {
            let reach = self.give_up(now, call).unwrap_or(Reach::Peer);
            self.events.push_back(Event::TimedOut { call, reach });
        }
        if !self.refused.is_empty() {
            self.take_refused(now);
        }
        if now >= self.look_at {
            self.look_at = now + LOOK;
            self.spare.shrink();
            self.look_at_peers(now);
            self.look_at_progress(now);
        }
        self.look_at = self.look_at.min(self.calls.next_deadline());
    }
}

/// The time after which a node ends its connections and counts its time anew. Times count
/// picoseconds in 64 bits: they end after 213 days.
const LIFE: Time = Time::from_ps(200 * 86_400 * 1_000_000_000_000);

/// Whether messages can be as long as they may.
const fn check(memory: Memory) -> Result<(), NodeError> {
    let Memory { message, incoming_in_all: most, .. } = memory;
    if message > MOST_MESSAGE {
        return Err(NodeError::LongMessage { bytes: message });
    }
    // With all that counts for a message.
    if most < 2 * (message + HEAD_BYTES + BOOKS_BYTES + PLACE_BYTES) {
        return Err(NodeError::Memory { most, message });
    }
    Ok(())
}

/// The endpoint of a node.
fn endpoint(options: &Options) -> RecordedEndpoint {
    let overhead = overhead(options);
    let payload = u64::from(options.mtu) - overhead;
    let needs = options.algorithm.needs();
    let config = Config {
        payload: Length::new(payload),
        segment: Length::new((SEGMENT_BYTES / payload).max(1) * payload),
        recovery: Recovery::Selective,
        reordering: REORDERING,
        header: Length::new(overhead),
        line_rate: options.nic_rate.unwrap_or(options.line_rate),
        rate_cap: options.line_rate,
        serialization: options.nic_rate.map_or(Serialization::Nothing, |_| Serialization::LineRate),
        nic: Nic::Segments,
        ack_class: Some(ACK_CLASS),
        weights: [0; CLASSES as usize],
        ack_turnaround: Span::ZERO,
        ack_jitter: Span::ZERO,
        pacing_credit: CREDIT,
        rto_initial: InitialTimeout::AtLeast(Span::from_ms(50)),
        rto_min: Span::from_ms(10),
        rto_max: Span::from_secs(1),
        signal: Signal::Rtt,
        notification_interval: needs.contains(&Need::Notifications).then(|| Span::from_us(50)),
        full_packets: true,
        oldest_first: true,
        ..Config::default()
    };
    RecordedEndpoint::new(config, options.algorithm)
}

/// The bytes of the headers of IP and UDP: a socket has peers of one family alone.
const fn ip_udp_bytes(options: &Options) -> u16 {
    if options.address.is_ipv4() { 28 } else { 48 }
}

/// The bytes of an IP packet with a full packet of the transport beside its payload.
fn overhead(options: &Options) -> u64 {
    let datagram = HEADER_BYTES + DATA_BYTES + options.security.tag_bytes();
    u64::from(ip_udp_bytes(options)) + datagram as u64
}

/// The head of a message, for a bounded wait.
fn head(kind: Kind, priority: Priority, call: u64, patience: Option<Duration>) -> [u8; HEAD_BYTES] {
    // Beyond an hour the peer hears of no bound.
    let us = patience.map_or(0, |time| u32::try_from(time.as_micros().max(1)).unwrap_or(0));
    Head { kind, priority, patience_us: us, call }.encode()
}

#[cfg(test)]
mod testing {
    use super::Node;
    use crate::Options;
    use crate::security::Security;
    use crate::socket::Features;

    /// A node on the loopback device, without encryption.
    pub(super) fn node() -> Node {
        let options = Options::at("127.0.0.1:0".parse().unwrap(), Security::Plain);
        Node::open(options, Features::probe().unwrap()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::node;
    use super::*;

    /// Takes turns until the client's call is answered; returns the events of the client.
    fn call(client: &mut Node, server: &mut Node, peer: PeerId) -> Vec<Event> {
        client.call(peer, bytes::Bytes::from_static(b"there?"), None).unwrap();
        let (mut told, end) = (Vec::new(), Instant::now() + Duration::from_secs(20));
        while !matches!(told.last(), Some(Event::Replied { .. } | Event::Gone { .. })) {
            assert!(Instant::now() < end, "{told:?}");
            client.turn(Some(Instant::now() + Duration::from_millis(1)), None).unwrap();
            server.turn(None, None).unwrap();
            while let Some(event) = server.poll_event() {
                if let Event::Called { call, body, .. } = event {
                    server.reply(call, body).unwrap();
                }
            }
            told.extend(std::iter::from_fn(|| client.poll_event()));
        }
        told
    }

    #[test]
    fn a_node_ends_its_connections_after_200_days_and_goes_on() {
        let (mut client, mut server) = (node(), node());
        let address = server.address().unwrap();
        let peer = client.connect(address, None).unwrap();
        let told = call(&mut client, &mut server, peer);
        assert!(matches!(told[..], [Event::Opened { .. }, Event::Replied { .. }]), "{told:?}");
        server.clock = Clock::started_before(Duration::from_secs(200 * 86_400));
        let told = call(&mut client, &mut server, peer);
        let [Event::Failed { .. }, Event::Gone { why, .. }] = told[..] else { panic!("{told:?}") };
        assert_eq!(why, Gone::Closed(address));
        let now = server.clock.now();
        assert!(now < Time::ZERO + Span::from_secs(60), "{now:?}");
        let peer = client.connect(address, None).unwrap();
        let told = call(&mut client, &mut server, peer);
        assert!(matches!(told[..], [Event::Opened { .. }, Event::Replied { .. }]), "{told:?}");
    }
}

//! All peers behind one socket: the core of the transport, for one thread.
//!
//! A [`Node`] owns a socket, the three engines of the transport for all its connections, and the
//! messages that travel. It starts no thread and takes no lock: its owner calls
//! [`turn`](Node::turn) and reads [events](Event).
//!
//! Each pair of nodes has two lanes each way, one for short messages and one for long ones, so that
//! the former do not wait behind the latter. A lane is a connection of the transport: messages on
//! it are sent in order, paced by an algorithm of its own.
//!
//! The parts of a node know nothing of each other but what they are handed:
//!
//! * `port`: the socket, with the batches of what comes and of what leaves;
//! * `handshakes`: this end of connections that are being opened;
//! * `peers`: connections, each with its lanes, and the answers that wait for them;
//! * `calls`: calls and notes that are under way, with their deadlines;
//! * `memory` and `spare_buffers`: the bounds of what messages take, and what is used again;
//! * `timing`: send times that are awaited, stamps of departures, RTT samples;
//! * `timers` and `sleep`: when the node looks at its peers, and when it rests.
//!
//! Methods that need several parts are the node's: `opening`, `arriving`, `sending`, `path`,
//! `stuck`.

mod answer_delay;
mod answers;
mod arriving;
mod calls;
mod departures;
mod event;
mod group;
mod half_open;
mod handshakes;
mod inbox;
mod last_wait;
mod lateness;
mod memory;
mod names;
mod opening;
mod outbox;
mod path;
mod peers;
mod port;
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
mod timers;
mod timing;
mod wake;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use incast_cc::param::Need;
use incast_cc::{Bytes as Length, Rate, Span, Time};
use incast_transport::recording::RecordedEndpoint;
use incast_transport::{CLASSES, Config, InitialTimeout, Nic, Recovery, Serialization, Signal};

use self::calls::Calls;
use self::handshakes::Handshakes;
pub(crate) use self::inbox::BOOKS_BYTES;
use self::last_wait::LastWait;
use self::memory::MessageMemory;
use self::peers::Peers;
use self::port::Port;
use self::sleep::Sleep;
use self::spare_buffers::SpareBuffers;
use self::timers::Timers;
use self::timing::Timing;
use crate::clock::Clock;
use crate::message::{HEAD_BYTES, Head, Kind, Priority};
use crate::options::{LEAST_MTU, Options, Waiting};
use crate::security::{End, PeerKey, SecurityError};
use crate::socket::Features;
use crate::wire::{Close, DATA_BYTES, HEADER_BYTES};

pub use self::event::{Counters, Event, Gone, NodeError, Sampled};
pub use self::group::Group;
pub use self::lateness::Lateness;
pub use self::memory::Refused;
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
    clock: Clock,
    endpoint: RecordedEndpoint,
    /// The socket, with the batches of what comes and of what leaves.
    port: Port,
    handshakes: Handshakes,
    peers: Peers,
    calls: Calls,
    events: VecDeque<Event>,
    memory: MessageMemory,
    /// Memory of long messages that were delivered.
    spare: SpareBuffers,
    /// Room for the payload of a packet with the head of a message.
    scratch: Box<[u8]>,
    timing: Timing,
    timers: Timers,
    sleep: Sleep,
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
        let memory = MessageMemory::new(options.memory)?;
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
        let port = Port::open(&options, features, needs.contains(&Need::Ecn))?;
        let end = End::new(options.security.clone(), &opening::parameters(&options));
        Ok(Self {
            endpoint: endpoint(&options),
            clock: Clock::new(),
            port,
            handshakes: Handshakes::new(end, options.listens)?,
            peers: Peers::new(options.peers),
            calls: Calls::default(),
            events: VecDeque::new(),
            memory,
            spare: SpareBuffers::default(),
            scratch: vec![0; options.mtu.into()].into(),
            timing: Timing::new(features.send_stamps && features.receive_stamps),
            timers: Timers::default(),
            sleep: Sleep::default(),
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
        self.port.socket.address()
    }

    /// The features of the kernel that the node uses.
    pub fn features(&self) -> Features {
        self.port.socket.features()
    }

    /// Changes the waiting for datagrams and send times.
    pub const fn set_waiting(&mut self, waiting: Waiting) {
        self.options.waiting = waiting;
    }

    /// The counts since the node was opened.
    pub const fn counters(&self) -> Counters {
        Counters { unsent: self.port.unsent, ..self.counters }
    }

    /// The lateness of sends since the node was opened, or since it was last
    /// [taken](Self::take_lateness).
    pub const fn lateness(&self) -> &Lateness {
        &self.timing.lateness
    }

    /// Takes the lateness of sends, which is counted anew from now on.
    pub fn take_lateness(&mut self) -> Lateness {
        std::mem::take(&mut self.timing.lateness)
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
        self.timing.keep_samples();
    }

    /// Takes the RTT samples since the last call.
    pub fn take_samples(&mut self) -> Vec<Sampled> {
        self.timing.take_samples()
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
        self.memory.free_arriving(bytes);
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

    /// Ends all connections, and begins as a node that was just opened. Its owner may connect
    /// again.
    fn begin_anew(&mut self) {
        self.close_all();
        self.handshakes.begin_anew();
        self.endpoint = endpoint(&self.options);
        self.clock = Clock::new();
        self.timing.begin_anew();
        self.sleep.last_wait = LastWait::default();
        self.calls.forget_deadlines();
        self.peers.pardon(Time::MAX);
        self.timers = Timers::default();
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
        if !self.port.refused.is_empty() {
            self.take_refused_sends(now);
        }
        if self.timers.take_look(now, LOOK) {
            self.spare.shrink();
            self.look_at_peers(now);
            self.drop_all_stuck(now);
        }
        self.timers.look_by(self.calls.next_deadline());
    }
}

/// The time after which a node ends its connections and counts its time anew. Times count
/// picoseconds in 64 bits: they end after 213 days.
const LIFE: Time = Time::from_ps(200 * 86_400 * 1_000_000_000_000);

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

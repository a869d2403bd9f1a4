//! All connections of one host behind one NIC.

mod ahead;
mod arriving;
mod caches;
mod granting;
mod leaving;
mod places;
mod spaced;
mod straight;
mod withdrawing;

pub use ahead::Stop;
use granting::GRANTER;
pub use straight::Passage;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incast_cc::parts::random::derive;
use incast_cc::{AnyControl, CongestionControl, Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::backlog::Posted;
use crate::config::Config;
use crate::config::scheme::SchemeConfig;
use crate::connection::{
    Address, Delivered, ENDLESS, Event, Opener, Opening, Operation, Purpose, Role, Starter,
};
use crate::directory::Directory;
use crate::granting::Granter;
use crate::halves::{Receiver, Sender};
use crate::pacing::PacingEngine;
use crate::packet::{Body, DueBy, Form, Header, Packet};
use crate::paths::Paths;
use crate::random;
use crate::rate::RateComputation;
use crate::rtt::RttMeasurement;
use crate::signal::Replaced;
use crate::stamps::Stamps;

/// Payload of a read request.
pub const REQUEST_BYTES: u64 = 32;

#[derive(Clone, Debug)]
struct Connection<C> {
    index: u32,
    opening: Opening,
    /// The class of ACKs and reports.
    ack_class: u8,
    /// Whether an [`Opener`] can open the connection again.
    expected: bool,
    /// The number of its remains in the directory, if it has finished before.
    left: Option<u32>,
    /// The sending half, made at the first message. Many connections never have one; a connection
    /// of a single message has none after it.
    sender: Option<Box<Sender<C>>>,
    /// Retransmissions of a sender that is gone.
    retransmissions: u64,
    delivered: u64,
    completed: u64,
    /// The time of the valid alarm, [`Time::MAX`] where there is none; other entries are stale.
    alarm: Time,
    /// The earliest time of the next notification of marks.
    notify_from: Time,
    /// The words of switches in a segment whose ACK is delayed.
    stamps: Stamps,
}

/// Times at which to look at connections, with their index.
type Alarms = BinaryHeap<Reverse<(Time, u32)>>;

/// A packet to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// The connection's index here.
    pub connection: u32,
    /// The address of the peer ([`Opening::address`]).
    pub address: Address,
    /// The traffic class of the packet.
    pub class: u8,
    /// The time of posting, in the first packet of a message.
    pub begins: Option<Time>,
    /// The packet, with the connection's index at the peer.
    pub form: Form,
    /// The words of switches in the data that an ACK answers, on their way back to the sender.
    pub stamps: Stamps,
}

/// An ACK or a report, with the time at which the hardware has it ready. It fills a cache line.
#[derive(Clone, Debug)]
struct Reply {
    ready_at: Time,
    /// The address of the peer, in its parts: as a whole it has four bytes more.
    host: u32,
    route: u64,
    /// The packet in its compact form, unless it has the full one.
    header: Header,
    connection: u32,
    class: u8,
    full: Option<Box<Packet>>,
    /// The words of switches in the data that an ACK answers.
    stamps: Stamps,
}

impl Reply {
    /// The address of the peer.
    #[inline]
    const fn address(&self) -> Address {
        Address { host: self.host, route: self.route }
    }
}

/// The work of a carrier after a packet has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// None: the packet was only counted.
    None,
    /// None now, but [`Endpoint::next_timer`] may have changed.
    Later,
    /// Perhaps a reply to send, an event to read or a sender to serve.
    Now,
}

/// A scheme beside that of the endpoint's configuration.
struct OtherScheme<C> {
    settings: SchemeConfig,
    start: Starter<C>,
}

/// Acts on a sender, and keeps count of its payload that waits in the NIC.
#[inline]
fn counted<C: CongestionControl, T>(
    nic_backlog: &mut u64,
    sender: &mut Sender<C>,
    action: impl FnOnce(&mut Sender<C>) -> T,
) -> T {
    let before = sender.queued();
    let done = action(sender);
    *nic_backlog = *nic_backlog + sender.queued() - before;
    done
}

/// The transport of one host.
pub struct Endpoint<C = AnyControl> {
    config: Config,
    start: Starter<C>,
    /// The schemes beside that of the configuration, from number 1 on.
    others: Vec<OtherScheme<C>>,
    /// The most that ACKs of any scheme are late.
    most_jitter: Span,
    /// Whether receivers notify senders of marks under any scheme.
    notifies: bool,
    /// The function that opens expected connections.
    opener: Option<Opener>,
    /// The states of connections, by index.
    directory: Directory,
    /// The open connections, by place.
    connections: Vec<Connection<C>>,
    /// The receiving halves, by place. They are apart from the connections, since a host that only
    /// receives touches nothing else for a packet.
    receivers: Vec<Receiver>,
    /// Vacant places; the last is used first.
    vacant: Vec<u32>,
    /// Finished connections that keep their places until their notification interval has passed.
    leaving: VecDeque<u32>,
    /// The pacing engine, which knows connections by place.
    pacing: PacingEngine,
    /// ACKs and reports that have not left.
    replies: VecDeque<Reply>,
    /// The granting engine, where receivers speak first.
    granter: Option<Box<Granter>>,
    /// Times at which to look at a connection: its peer may have been silent for too long, or its
    /// algorithm wants a timer. An entry may come early, never late.
    alarms: Alarms,
    /// The number of connections that send payload and are not idle.
    active: u32,
    /// The metrics of paths, once a flow has left some.
    paths: Option<Box<Paths>>,
    /// The payload of streams that waits in the NIC.
    nic_backlog: u64,
    /// The event before all others, mostly the only one: it needs no queue.
    event: Option<Event>,
    events: VecDeque<Event>,
    /// The generator of the jitter of ACKs.
    random: Pcg64Mcg,
    /// The receiver's answers to the packet at hand.
    answers: Vec<Body>,
    /// The messages that the packet at hand has completed.
    messages: Vec<Delivered>,
    /// The words of switches in the packet at hand, if it is data.
    stamps: Stamps,
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
        let weights = config.weights.map(|weight| (weight > 0).then_some(u32::from(weight)));
        Self {
            random: random::generator(config.seed, random::ACK_JITTER, &[]),
            most_jitter: config.ack_jitter,
            notifies: config.notification_interval.is_some(),
            config,
            start,
            others: Vec::new(),
            opener: None,
            directory: Directory::default(),
            connections: Vec::new(),
            receivers: Vec::new(),
            vacant: Vec::new(),
            leaving: VecDeque::new(),
            pacing: PacingEngine::sharing(&weights, config.largest_packet().get()),
            replies: VecDeque::new(),
            granter: None,
            alarms: BinaryHeap::new(),
            active: 0,
            paths: None,
            nic_backlog: 0,
            event: None,
            events: VecDeque::new(),
            answers: Vec::new(),
            messages: Vec::new(),
            stamps: Stamps::NONE,
        }
    }

    /// Adds a scheme beside that of the configuration, and returns the number that the
    /// [`Terms`](crate::Terms) of its connections have.
    ///
    /// # Panics
    /// When there are 255 others.
    pub fn add_scheme(&mut self, settings: SchemeConfig, start: Starter<C>) -> u8 {
        self.most_jitter = self.most_jitter.max(settings.ack_jitter);
        self.notifies |= settings.notification_interval.is_some();
        self.others.push(OtherScheme { settings, start });
        u8::try_from(self.others.len()).unwrap_or_else(|_| panic!("more than 255 schemes"))
    }

    /// The settings of a scheme.
    fn scheme(&self, number: u8) -> SchemeConfig {
        let other = usize::from(number).checked_sub(1).map(|other| self.others[other].settings);
        other.unwrap_or_else(|| self.config.scheme())
    }

    /// Makes streams that have not started keep a record of each segment, as they do after a loss
    /// ([`crate::stream::Config::record_all`]).
    pub fn record_all(&mut self) {
        self.config.stream.record_all = true;
    }

    /// Makes all packets leave in the full form ([`Config::full_packets`]).
    pub fn send_full_packets(&mut self) {
        self.config.full_packets = true;
    }

    /// Starts an operation of the application.
    ///
    /// # Panics
    /// When the connection's role does not allow it, or its only message has been sent.
    pub fn post(&mut self, now: Time, connection: u32, operation: Operation) {
        self.post_due(now, connection, operation, None);
    }

    /// Starts an operation of the application that should be complete by a deadline. A request
    /// carries the deadline of a read to the peer, whose algorithm hears of it.
    ///
    /// # Panics
    /// As [`post`](Self::post).
    pub fn post_due(
        &mut self,
        now: Time,
        connection: u32,
        operation: Operation,
        deadline: Option<Time>,
    ) {
        let asks = |read| {
            let due = deadline.map_or(DueBy::NONE, |at| DueBy::of(now, at));
            Posted { read, due, ..Posted::of(REQUEST_BYTES) }
        };
        let sends = |bytes| Posted { deadline, ..Posted::of(bytes) };
        let (role, posted) = match operation {
            Operation::Write { bytes } => (Role::Sender, sends(bytes.clamp(1, ENDLESS - 1))),
            Operation::Stream => (Role::Sender, sends(ENDLESS)),
            Operation::Read { bytes } => (Role::Requester, asks(bytes.clamp(1, ENDLESS - 1))),
            Operation::ReadStream => (Role::Requester, asks(ENDLESS)),
        };
        let place = self.opened(connection);
        let place = place.unwrap_or_else(|| panic!("connection {connection} posts again"));
        let is = self.connections[place as usize].opening.role;
        assert!(is == role, "connection {connection} is {is:?}, {operation:?} takes {role:?}");
        self.post_message(now, place, &posted);
    }

    fn post_message(&mut self, now: Time, place: u32, posted: &Posted) {
        if self.connections[place as usize].sender.is_none() {
            let Connection { index, opening, completed, .. } = &self.connections[place as usize];
            debug_assert!(!opening.terms.once || *completed == 0, "connection {index} posts again");
            self.start_sender(now, place);
        }
        let Connection { opening, sender, .. } = &mut self.connections[place as usize];
        if let Some(sender) = sender {
            self.active += u32::from(opening.role == Role::Sender && sender.is_idle());
            let config = &self.config;
            // Data that was not there before is not late.
            let earliest = if sender.is_drained() { now } else { config.earliest_send_time(now) };
            counted(&mut self.nic_backlog, sender, |sender| sender.post(now, posted, config));
            return self.reschedule_from(now, place, earliest);
        }
        self.reschedule(now, place);
    }

    fn start_sender(&mut self, now: Time, place: u32) {
        let Connection { ref opening, expected, .. } = self.connections[place as usize];
        let &Opening { role, terms, seed, address, .. } = opening;
        let other = usize::from(terms.scheme).checked_sub(1).map(|other| &self.others[other]);
        let (config, start) = match other {
            None => (&self.config, &self.start),
            Some(other) => (&self.config.under(&other.settings), &other.start),
        };
        let requests = role == Role::Requester;
        let purpose = if requests { Purpose::Requests } else { Purpose::Data };
        let path = &terms.path;
        let mut flow = Sender::<C>::flow(terms.transport, config.line_rate, config, path);
        flow.now = now;
        flow.active_flows = self.active;
        flow.base_rtt = path.base_rtt;
        flow.seed = derive(seed, random::ALGORITHM, &[]);
        // Others have no address that tells their peers apart.
        let paths = self.paths.as_ref().filter(|_| expected);
        flow.path = paths.and_then(|paths| paths.get(address.host));
        let signal = if requests { None } else { Replaced::new(config.signal, seed) };
        let control = start(&flow, purpose);
        let rate = RateComputation::new(control, now, signal, &terms);
        let rtt = RttMeasurement::new(config, path.base_rtt);
        let sender = Sender::new(terms.transport, rate, rtt, config, path, now);
        self.connections[place as usize].sender = Some(Box::new(sender));
    }

    /// The next event for the application.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.event.take().or_else(|| self.events.pop_front())
    }

    /// Queues an event for the application.
    #[inline]
    fn push_event(&mut self, event: Event) {
        if self.event.is_none() && self.events.is_empty() {
            self.event = Some(event);
        } else {
            self.events.push_back(event);
        }
    }

    /// The time at which [`on_timer`](Self::on_timer) has something to do or a reply becomes ready.
    /// Replies that are ready `now` wait for the NIC alone and do not count.
    #[inline]
    pub fn next_timer(&self, now: Time) -> Option<Time> {
        let mut next = self.pacing.next_release();
        if let Some(&Reply { ready_at, .. }) = self.replies.front()
            && ready_at > now
        {
            next = next.min(ready_at);
        }
        if let Some(&Reverse((at, _))) = self.alarms.peek() {
            next = next.min(at);
        }
        (next < Time::MAX).then_some(next)
    }

    /// The configuration.
    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// The earliest send time of all connections that wait for one; [`Time::MAX`] if none does.
    pub fn next_send_time(&self) -> Time {
        self.pacing.next_release()
    }

    /// Releases the connections whose send time has come, and looks at silent ones.
    #[inline]
    pub fn on_timer(&mut self, now: Time) {
        while let Some((place, send_time)) = self.pacing.release(now) {
            if let Some(sender) = &mut self.connections[place as usize].sender {
                let config = &self.config;
                let from = send_time.max(config.earliest_send_time(now));
                counted(&mut self.nic_backlog, sender, |sender| {
                    sender.start_burst(now, from, config);
                });
            }
        }
        if self.due_alarm(now).is_some() {
            self.on_alarms(now);
        }
    }

    /// The first alarm if it is due: the time for which it was set, and the connection.
    #[inline]
    fn due_alarm(&self, now: Time) -> Option<(Time, u32)> {
        self.alarms.peek().map(|&Reverse(first)| first).filter(|&(at, _)| at <= now)
    }

    #[cold]
    fn on_alarms(&mut self, now: Time) {
        while let Some(due) = self.due_alarm(now) {
            self.on_alarm(now, due);
        }
    }

    /// Takes the first alarm out, which is `due`, and acts on it.
    fn on_alarm(&mut self, now: Time, due: (Time, u32)) {
        self.alarms.pop();
        let (at, index) = due;
        if index == GRANTER {
            return self.on_granter(now);
        }
        let place = self.directory.place(index);
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        if connection.alarm != at {
            return;
        }
        connection.alarm = Time::MAX;
        if let Some(sender) = &mut connection.sender {
            let config = &self.config;
            counted(&mut self.nic_backlog, sender, |sender| sender.on_alarm(now, config));
        }
        if let Some(answer) = self.receivers[place as usize].on_timer(now, &self.config) {
            self.stamps = std::mem::take(&mut connection.stamps);
            self.answers.push(answer);
            self.reply(now, place);
        }
        let connection = &mut self.connections[place as usize];
        if let Some(at) = self.receivers[place as usize].alarm() {
            connection.arm(now, at, &mut self.alarms);
        }
        let has_received = connection.has_received();
        self.reschedule(now, place);
        if has_received {
            self.leave(now, place);
        }
    }

    /// Asks a sender for its next send time and its next timer.
    #[inline]
    fn reschedule(&mut self, now: Time, place: u32) {
        self.reschedule_unless(now, place, false);
    }

    /// Asks a sender for its next timer and, unless it `is_ready`, for its next send time.
    #[inline]
    fn reschedule_unless(&mut self, now: Time, place: u32, is_ready: bool) {
        // A send time that passed while the NIC was busy becomes now: time does not go back.
        let earliest = self.config.earliest_send_time(now);
        let earliest = if is_ready { Time::MAX } else { earliest };
        self.reschedule_from(now, place, earliest);
    }

    /// Asks a sender for its next timer and for its next send time, which counts from `earliest` on;
    /// [`Time::MAX`] asks for none.
    #[inline]
    fn reschedule_from(&mut self, now: Time, place: u32, earliest: Time) {
        let connection = &mut self.connections[place as usize];
        if let Some(sender) = &connection.sender {
            if earliest < Time::MAX {
                let send_time = sender.send_time(&self.config).map(|at| at.max(earliest));
                self.pacing.schedule(place, send_time);
            }
            if let Some(at) = sender.alarm_before(connection.alarm, &self.config) {
                connection.arm(now, at, &mut self.alarms);
            }
        }
    }
}

impl<C> Connection<C> {
    /// Makes sure that the connection is looked at by `at`. An alarm that comes too early asks for
    /// the next one, so none is added after the one that is armed.
    #[inline]
    fn arm(&mut self, now: Time, at: Time, alarms: &mut Alarms) {
        let at = at.max(now);
        if at < self.alarm {
            self.alarm = at;
            alarms.push(Reverse((at, self.index)));
        }
    }

    /// Whether the connection has received its only message.
    const fn has_received(&self) -> bool {
        self.opening.terms.once && self.delivered > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_connection_takes_stays_small() {
        // In a large network thousands of connections are open at each host, nearly all of them
        // silent.
        let silent = [size_of::<Connection<AnyControl>>(), size_of::<Receiver>()];
        assert!(silent[0] <= 176 && silent[1] <= 112, "{silent:?}");
        assert!(size_of::<Reply>() <= 64, "{}", size_of::<Reply>());
        let sending = size_of::<Sender<AnyControl>>();
        assert!(sending <= 1_664, "{sending}");
    }
}

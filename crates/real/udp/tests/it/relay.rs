//! Two nodes across a relay that loses, doubles, reorders, damages and truncates datagrams: every
//! message arrives once, in order and with equal bytes, or never if it was withdrawn, and every
//! call and note ends with one event.
//!
//! `INCAST_UDP_MESSAGES=1000000 cargo test --release -p incast-udp --test it relay` sends as many;
//! by default it is 21,000. They are sent by the paper's TIMELY, which loss does not slow down. The
//! default algorithm sends 600, and 2,000 more with 1 % of loss, or `INCAST_UDP_LOSS=3` per cent.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_cc::timely::Timely;
use incast_cc::{AnyAlgorithm, Rate};
use incast_udp::security::{PeerKey, Security};
use incast_udp::wire::Mode;
use incast_udp::{CallId, Event, Incoming, Node, Options, PeerId, Reach};

use crate::connect::protection;
use crate::damage::Random;
use crate::nodes::{body, features, options};
use crate::relays::{Chaos, Relay};

/// The longest message that counts as short.
const SHORT: usize = 8 << 10;
/// The most messages of a side that are under way.
const MOST: usize = 400;

/// The length of a message: mostly small, up to 200 KB.
fn length(random: &mut Random) -> usize {
    match random.below(100) {
        0..5 => 0,
        5..75 => random.below(200),
        75..94 => random.below(4_000),
        94..98 => random.below(20_000),
        _ => random.below(200_001),
    }
}

/// What becomes of a call, by its number. Both sides know it.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Replied(usize),
    Refused,
    /// The callee never answers.
    Ignored,
}

fn fate(number: u64) -> Fate {
    let mut random = Random(number);
    match random.below(20) {
        0 => Fate::Refused,
        1 => Fate::Ignored,
        _ => Fate::Replied(length(&mut random)),
    }
}

/// A message that was posted: its number, its length, and whether it is a call.
type Posted = (u64, usize, bool);

/// One side, and what it knows of the other one.
struct Side {
    node: Node,
    peer: Option<PeerId>,
    random: Random,
    left: usize,
    /// The messages of each lane that have not arrived, in order.
    posted: [VecDeque<Posted>; 2],
    calls: HashMap<CallId, u64>,
    notes: HashMap<CallId, u64>,
    /// The calls that were cancelled, or whose time was over, after all of them had left.
    given_up: usize,
    /// Those of the peer, as told here.
    told: usize,
    /// The calls and notes that were withdrawn.
    withdrawn: usize,
    /// Calls of the peer that wait for an answer.
    to_answer: Vec<(Incoming, u64)>,
}

impl Side {
    fn new(options: Options, seed: u64, left: usize) -> Self {
        let node = Node::open(options, features()).unwrap();
        Self {
            node,
            peer: None,
            random: Random(seed),
            left,
            posted: [VecDeque::new(), VecDeque::new()],
            calls: HashMap::new(),
            notes: HashMap::new(),
            given_up: 0,
            told: 0,
            withdrawn: 0,
            to_answer: Vec::new(),
        }
    }

    fn under_way(&self) -> usize {
        self.posted.iter().map(VecDeque::len).sum::<usize>().max(self.calls.len())
    }

    fn waiting(&self) -> u64 {
        self.node.statistics(self.peer.unwrap()).unwrap().waiting
    }

    fn is_done(&self) -> bool {
        self.left == 0
            && self.under_way() == 0
            && self.notes.is_empty()
            && self.to_answer.is_empty()
            && self.waiting() == 0
    }

    /// Posts some messages, answers some calls, cancels some.
    fn act(&mut self, next: &mut u64) {
        let Some(peer) = self.peer else { return };
        while self.left > 0 && self.under_way() < MOST {
            *next += 1;
            let (number, bytes) = (*next, length(&mut self.random));
            let message = body(number, bytes);
            let calls = self.random.below(2) == 0;
            let posted = if calls {
                let patient = fate(number) != Fate::Ignored && self.random.below(20) > 0;
                let patience = Duration::from_micros(200 + self.random.below(60_000) as u64);
                self.node.call(peer, message, (!patient).then_some(patience))
            } else {
                let patient = self.random.below(10) > 0;
                let patience = Duration::from_micros(self.random.below(30_000) as u64);
                self.node.note_with(peer, message, (!patient).then_some(patience))
            };
            let id = posted.unwrap();
            self.left -= 1;
            self.posted[usize::from(bytes <= SHORT)].push_back((number, bytes, calls));
            (if calls { &mut self.calls } else { &mut self.notes }).insert(id, number);
            if self.random.below(60) == 0 {
                self.cancel(id);
            }
        }
        // One that may have left, or in part.
        if self.random.below(20) == 0 {
            let all = || self.calls.keys().chain(self.notes.keys());
            let any = all().nth(self.random.below(self.calls.len() + self.notes.len() + 1));
            if let Some(&id) = any {
                self.cancel(id);
            }
        }
        if self.random.below(4) == 0 {
            return;
        }
        for (call, number) in std::mem::take(&mut self.to_answer) {
            match fate(number) {
                Fate::Replied(bytes) => self.node.reply(call, body(!number, bytes)).unwrap(),
                _ => self.node.refuse(call, number.to_be_bytes().to_vec().into()).unwrap(),
            }
        }
    }

    fn cancel(&mut self, id: CallId) {
        let reach = self.node.cancel(id).expect("it is under way");
        assert_eq!(self.node.cancel(id), None);
        self.ends(id, reach);
    }

    /// A call or a note is over before its answer: it may arrive, or it never does.
    fn ends(&mut self, id: CallId, reach: Reach) {
        let call = self.calls.remove(&id);
        let number = call.or_else(|| self.notes.remove(&id)).expect("told once");
        if reach == Reach::Peer {
            self.given_up += usize::from(call.is_some());
            return;
        }
        self.withdrawn += 1;
        let before = self.posted.each_ref().map(VecDeque::len);
        self.posted.iter_mut().for_each(|lane| lane.retain(|&(of, ..)| of != number));
        assert_ne!(self.posted.each_ref().map(VecDeque::len), before, "{number} has arrived");
    }

    /// A message of the other side has arrived: the next one of its lane.
    fn arrives(of: &mut [VecDeque<Posted>; 2], body: &Bytes, is_call: bool) -> u64 {
        let lane = usize::from(body.len() <= SHORT);
        let (number, bytes, calls) = of[lane].pop_front().expect("a message that nobody sent");
        assert!(is_call == calls && *body == crate::nodes::body(number, bytes), "{number} {bytes}");
        number
    }

    fn take(&mut self, other: &mut [VecDeque<Posted>; 2]) {
        while let Some(event) = self.node.poll_event() {
            match event {
                Event::Opened { peer, .. } => {
                    assert!(self.peer.is_none_or(|of| of == peer));
                    self.peer = Some(peer);
                }
                Event::Called { call, body, .. } => {
                    let number = Self::arrives(other, &body, true);
                    if fate(number) != Fate::Ignored {
                        self.to_answer.push((call, number));
                    }
                }
                Event::Noted { body, .. } => {
                    Self::arrives(other, &body, false);
                }
                Event::Delivered { note } => {
                    assert!(self.notes.remove(&note).is_some(), "told twice");
                }
                Event::Replied { call, body } => {
                    let number = self.calls.remove(&call).expect("a reply to nothing");
                    let Fate::Replied(bytes) = fate(number) else { panic!("{number}") };
                    assert!(body == crate::nodes::body(!number, bytes), "{number} {bytes}");
                }
                Event::Refused { call, reason } => {
                    let number = self.calls.remove(&call).expect("a refusal of nothing");
                    assert!(fate(number) == Fate::Refused && reason[..] == number.to_be_bytes());
                }
                Event::TimedOut { call, reach } => self.ends(call, reach),
                Event::Cancelled { .. } => self.told += 1,
                event => panic!("{event:?}"),
            }
        }
    }
}

/// The network between two nodes.
#[derive(Clone, Copy)]
enum Network {
    /// Another one for each thousand messages, that loses up to 30 %.
    Bad,
    /// One that loses this share, in thousandths, and does no other harm.
    Lossy(usize),
}

impl Network {
    /// The harm that it does next.
    fn chaos(self, random: &mut Random) -> Chaos {
        match self {
            Self::Bad => Chaos::draw(random),
            Self::Lossy(lost) => Chaos { lost, ..Chaos::default() },
        }
    }
}

/// The options of the node at either end of a bad network.
fn bad(protection: [Security; 2]) -> [Options; 2] {
    protection.map(|security| Options {
        line_rate: Rate::from_gbps(10),
        algorithm: AnyAlgorithm::Timely(Timely::default()),
        ..options(security)
    })
}

/// Sends messages both ways across a relay, and checks all that is told.
fn run(network: Network, ends: [Options; 2], key: Option<PeerKey>, messages: usize) {
    let mode = ends[0].security.mode();
    let mut seed = Random(7 + mode as u64);
    let [here, there] = ends;
    let mut sides = [(here, 1), (there, 2)].map(|(end, n)| Side::new(end, n, messages / 2));
    let mut relay = Relay::new(sides[1].node.address().unwrap(), seed.bits());
    let peer = sides[0].node.connect(relay.address(), key).unwrap();
    sides[0].peer = Some(peer);
    let (start, mut next, mut epoch) = (Instant::now(), 0, u64::MAX);
    let mut quiet: Option<Instant> = None;
    loop {
        // The server learns of its peer by the first message.
        if sides[1].peer.is_some() && next / 1_000 != epoch {
            epoch = next / 1_000;
            relay.chaos = network.chaos(&mut seed);
        }
        for at in 0..2 {
            let [first, second] = &mut sides;
            let (side, other) = if at == 0 { (first, second) } else { (second, first) };
            side.act(&mut next);
            let wait = quiet.map(|_| Instant::now() + Duration::from_micros(100));
            side.node.turn(wait, None).unwrap();
            side.take(&mut other.posted);
        }
        relay.turn();
        if sides.iter().all(Side::is_done)
            && sides[0].given_up == sides[1].told
            && sides[1].given_up == sides[0].told
        {
            // Nothing else is told.
            let since = *quiet.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_millis(100) {
                break;
            }
        } else {
            assert!(quiet.is_none(), "something came after the end");
        }
        let left = || sides.each_ref().map(|side| (side.left, side.under_way()));
        let most = Duration::from_secs(60 + messages as u64 / 100);
        assert!(start.elapsed() < most, "{mode:?}: {:?} are left", left());
    }
    let again: u64 = sides
        .iter()
        .map(|side| side.node.statistics(side.peer.unwrap()).unwrap().retransmissions)
        .sum();
    let refused = sides.each_ref().map(|side| side.node.counters().refused);
    let damages = matches!(network, Network::Bad);
    assert!(refused.iter().all(|&count| (count > 0) == damages), "{refused:?}");
    assert!(again > 0 || matches!(network, Network::Lossy(0)));
    let given_up: usize = sides.iter().map(|side| side.given_up).sum();
    let withdrawn: usize = sides.iter().map(|side| side.withdrawn).sum();
    assert!(given_up > 0 && withdrawn > 0, "{given_up} {withdrawn}");
    eprintln!(
        "{mode:?}: {messages} messages in {:.1} s, {given_up} calls given up, {withdrawn} messages \
         withdrawn, {again} packets sent again, {refused:?} datagrams refused",
        start.elapsed().as_secs_f64()
    );
}

fn messages() -> usize {
    std::env::var("INCAST_UDP_MESSAGES").map_or(21_000, |text| text.parse().unwrap()) / 3
}

#[test]
fn messages_survive_a_bad_network_with_a_checksum() {
    run(Network::Bad, bad([Security::Plain, Security::Plain]), None, messages());
}

#[test]
fn messages_survive_a_bad_network_with_a_secret() {
    let (here, there, key) = protection(Mode::Secret);
    run(Network::Bad, bad([here, there]), key, messages());
}

#[test]
fn messages_survive_a_bad_network_with_keys() {
    let (here, there, key) = protection(Mode::Keys);
    run(Network::Bad, bad([here, there]), key, messages());
}

#[test]
fn messages_of_the_default_algorithm_survive_a_bad_network() {
    let (here, there, key) = protection(Mode::Secret);
    run(Network::Bad, [here, there].map(options), key, 600);
}

#[test]
fn the_default_algorithm_bears_some_loss() {
    let percent = std::env::var("INCAST_UDP_LOSS").map_or(1, |text| text.parse::<usize>().unwrap());
    let network = Network::Lossy(percent * 10);
    let (here, there, key) = protection(Mode::Secret);
    run(network, [here, there].map(options), key, 2_000);
}

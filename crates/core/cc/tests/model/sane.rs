//! A carrier that keeps the books of the contract: each burst is in flight until it is acknowledged
//! or lost, recovery opens and closes, a timeout takes all, what was false is taken back, the pacer
//! and the window are obeyed. Chance decides what the network does and how long it takes.

use std::collections::VecDeque;
use std::ops::Range;

use incast_cc::feedback::Load;
use incast_cc::param::Kind;
use incast_cc::registry::AnyAlgorithm;
use incast_cc::{
    Ack, AnyControl, Bytes, CongestionControl, Delivery, Demand, Due, Feedback, Flow, Hop, Leaving,
    Limits, Loss, LossCause, LossDetection, Notification, Pacing, Place, Rate, RttSample, Sent,
    Span, Spurious, Time,
};
use proptest::prelude::*;

use crate::bounds::Bounds;
use crate::draw;
use crate::parameters::samples;

/// The next event.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The connection is opened by an exchange on an empty path, if nothing has been sent on it.
    Handshake,
    /// Up to so many bursts leave, as window and pacer let them; the pacer is waited for so long in
    /// all.
    Send {
        bursts: u8,
        patience: Span,
    },
    /// The application's last bursts leave: it has no more until the next step.
    Finish {
        bursts: u8,
        patience: Span,
    },
    /// A single ACK for the oldest bursts.
    Deliver {
        bursts: u8,
        path: Path,
    },
    /// The oldest bursts are lost; the ACK of the next one tells.
    Lose {
        bursts: u8,
        path: Path,
    },
    /// Silence: all that is out is lost.
    Timeout,
    /// The data last declared lost is acknowledged after all.
    Late {
        path: Path,
    },
    /// Time passes.
    Wait(Span),
    Demand {
        size: Option<u64>,
        weight: u32,
        /// The time from the post to the deadline.
        deadline: Option<Span>,
    },
    Notification,
    MssChange {
        mss: u64,
    },
}

/// The answers of an algorithm between two steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answers {
    limits: Limits,
    /// The levels of packets this far behind what is acknowledged, of a message without end.
    levels: [u8; 4],
    loss_detection: LossDetection,
}

/// The delays and marks of data on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The time in queues.
    pub(crate) queue: Span,
    /// The time that the peer took to answer, as it says.
    peer: Span,
    /// The time for which a timer held back the acknowledgement, of which nobody tells.
    held: Span,
    marked: bool,
    nic_backlog: Bytes,
    /// Whether the RTT is known.
    timed: bool,
}

impl Path {
    /// A path with a queue and no mark.
    pub(crate) const fn queue(queue: Span) -> Self {
        Self {
            queue,
            peer: Span::ZERO,
            held: Span::ZERO,
            marked: false,
            nic_backlog: Bytes::ZERO,
            timed: true,
        }
    }
}

/// A script of as many steps as `count` says, with deadlines.
pub(crate) fn script(count: Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let deadlines = prop::collection::vec(deadline(), count.end);
    (prop::collection::vec(step(), count), deadlines)
        .prop_map(|(steps, deadlines)| with_deadlines(steps, &deadlines))
}

/// `count` scripts of `length` steps, the same in every run.
///
/// Steps and deadlines are drawn from two streams of random numbers. Draw a further aspect of a
/// step from a third one: then all steps stay as they are, and so does what they show of each
/// parameter.
pub(crate) fn scripts(length: usize, count: usize) -> Vec<Vec<Step>> {
    let steps = samples(&prop::collection::vec(step(), length), count);
    let deadlines = samples(&prop::collection::vec(deadline(), length), count);
    steps.into_iter().zip(&deadlines).map(|(steps, due)| with_deadlines(steps, due)).collect()
}

/// Gives the messages of `steps` the deadlines of their places.
fn with_deadlines(mut steps: Vec<Step>, deadlines: &[Option<Span>]) -> Vec<Step> {
    for (step, due) in steps.iter_mut().zip(deadlines) {
        if let Step::Demand { deadline, .. } = step {
            *deadline = *due;
        }
    }
    steps
}

/// A deadline, up to a second after the post, or none.
fn deadline() -> impl Strategy<Value = Option<Span>> {
    prop::option::of(draw::magnitude(1_000_000_000_000).prop_map(Span::from_ps))
}

/// A step, without a deadline.
fn step() -> impl Strategy<Value = Step> {
    let count = || prop_oneof![3 => 1_u8..4, 1 => 1_u8..100];
    let patience = || draw::magnitude(1_000_000_000_000).prop_map(Span::from_ps);
    prop_oneof![
        12 => (count(), patience()).prop_map(|(bursts, patience)| Step::Send { bursts, patience }),
        1 => (count(), patience()).prop_map(|(bursts, patience)| Step::Finish { bursts, patience }),
        12 => (count(), path()).prop_map(|(bursts, path)| Step::Deliver { bursts, path }),
        2 => (count(), path()).prop_map(|(bursts, path)| Step::Lose { bursts, path }),
        1 => Just(Step::Timeout),
        1 => path().prop_map(|path| Step::Late { path }),
        1 => draw::magnitude(1_000_000_000_000).prop_map(|ps| Step::Wait(Span::from_ps(ps))),
        1 => (prop::option::of(0_u64..10_000_000), prop_oneof![3 => Just(1), 1 => 0_u32..100])
            .prop_map(|(size, weight)| Step::Demand { size, weight, deadline: None }),
        1 => Just(Step::Notification),
        1 => prop_oneof![4 => Just(1_460_u64), 1 => 64_u64..9_000]
            .prop_map(|mss| Step::MssChange { mss }),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    // Half of the time no queue, else up to 20 ms.
    let queue =
        prop_oneof![Just(Span::ZERO), draw::magnitude(20_000_000_000).prop_map(Span::from_ps)];
    let peer =
        prop_oneof![2 => Just(Span::ZERO), 1 => draw::magnitude(100).prop_map(Span::from_us)];
    let backlog = prop_oneof![2 => Just(Bytes::ZERO), 1 => draw::bytes(10_000_000)];
    (queue, peer, prop::bool::weighted(0.2), backlog, prop::bool::weighted(0.9)).prop_map(
        |(queue, peer, marked, nic_backlog, timed)| Path {
            queue,
            peer,
            held: Span::ZERO,
            marked,
            nic_backlog,
            timed,
        },
    )
}

/// Takes `steps` with one flow; returns its limits after each.
pub(crate) fn run(algorithm: &AnyAlgorithm, flow: &Flow, steps: &[Step]) -> Vec<Answers> {
    let mut carrier = Carrier::new(algorithm, flow);
    steps
        .iter()
        .map(|step| {
            carrier.take(step);
            carrier.bounds.check(&carrier.control);
            carrier.answers()
        })
        .collect()
}

/// The round trips on a clean path, after `steps`, until a flow may send a fiftieth of what fills
/// 10 Gb/s and 20 us; nothing if it comes to none of that.
pub(crate) fn rounds_to_grow(
    algorithm: &AnyAlgorithm,
    flow: &Flow,
    steps: &[Step],
) -> Option<usize> {
    const ENOUGH: Bytes = Bytes::new(500);
    let mut carrier = Carrier::new(algorithm, flow);
    for step in steps {
        carrier.take(step);
    }
    (0..10_000).find(|_| {
        carrier.send(16, Span::from_secs(1), false);
        carrier.deliver(usize::MAX, Path::queue(Span::ZERO));
        let limits = carrier.control.limits();
        let per_round = match limits.pacing {
            Pacing::Rate(rate) => rate.bytes_in(Span::from_us(20)),
            Pacing::Window { .. } | Pacing::Unpaced => Bytes::MAX,
        };
        // MCP, and Karuna with it, keep two segments after a missed deadline, of any size.
        let is_mcp = ["mcp", "karuna"].contains(&algorithm.name());
        let enough = if is_mcp { ENOUGH.min(carrier.bounds.mss * 2) } else { ENOUGH };
        per_round.min(limits.cwnd) >= enough
    })
}

/// The ACKs of a delayed-ACK timer that a flow meets, after `steps`, until its window holds the two
/// segments that a receiver acknowledges at once; nothing if it comes to none of that. The path is
/// clean.
pub(crate) fn acks_of_a_timer(
    algorithm: &AnyAlgorithm,
    flow: &Flow,
    steps: &[Step],
    timer: Span,
) -> Option<usize> {
    let mut carrier = Carrier::new(algorithm, flow);
    // A segment that grows is no matter of windows.
    for step in steps.iter().filter(|step| !matches!(step, Step::MssChange { .. })) {
        carrier.take(step);
    }
    let path = Path { held: timer, ..Path::queue(Span::ZERO) };
    // What is out arrives, so that nothing is being repaired.
    carrier.deliver(usize::MAX, Path::queue(Span::ZERO));
    (0..1_000).find(|_| {
        let at_once = carrier.control.limits().cwnd >= carrier.bounds.mss * 2;
        if !at_once {
            carrier.send(2, Span::from_secs(1), false);
            carrier.deliver(usize::MAX, path);
        }
        at_once
    })
}

/// A burst, and what was true when it left.
#[derive(Clone, Copy, Debug)]
struct Burst {
    sent_at: Time,
    bytes: Bytes,
    end: Bytes,
    retransmission: bool,
    in_flight: Bytes,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    lost: Bytes,
    app_limited: bool,
}

impl Burst {
    fn first(&self) -> Bytes {
        self.end - self.bytes
    }
}

struct Carrier {
    control: AnyControl,
    bounds: Bounds,
    is_window: bool,
    marks_are_a_signal: bool,
    segment: Bytes,
    line_rate: Rate,
    base_rtt: Span,
    now: Time,
    flying: VecDeque<Burst>,
    /// Declared lost last, newest at the end.
    declared_lost: Vec<Burst>,
    to_repair: Bytes,
    /// Posted and never sent; nothing is known of it while a message has no size.
    unsent: Option<Bytes>,
    /// The end of each message with a deadline, in the payload delivered, and the deadline.
    dues: VecDeque<(Bytes, Time)>,
    in_flight: Bytes,
    transmitted: Bytes,
    delivered: Bytes,
    lost: Bytes,
    round: u64,
    round_ends_after: Bytes,
    /// The last round in which the window held data back.
    limited_round: Option<u64>,
    recovery_until: Option<Bytes>,
    timeouts: u32,
    last_sent: Option<(Time, Bytes)>,
    idle_since: Time,
    app_limited_until: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    srtt: Span,
    min_rtt: Span,
    /// The header of the last packet that had one.
    header: Option<Feedback>,
}

impl Carrier {
    fn new(algorithm: &AnyAlgorithm, flow: &Flow) -> Self {
        let (control, bounds) = (algorithm.start(flow), Bounds::new(algorithm, flow));
        bounds.check(&control);
        Self {
            control,
            bounds,
            is_window: algorithm.info().kind == Kind::Window,
            // Swift has delay and ignores them, MCP clears them, and so does Karuna while a
            // deadline stands; pFabric has none.
            marks_are_a_signal: !["swift", "mcp", "karuna", "pfabric"].contains(&algorithm.name()),
            segment: flow.segment,
            line_rate: flow.line_rate,
            base_rtt: flow.base_rtt.unwrap_or(Span::from_us(20)),
            now: flow.now,
            flying: VecDeque::new(),
            declared_lost: Vec::new(),
            to_repair: Bytes::ZERO,
            unsent: Some(Bytes::ZERO),
            dues: VecDeque::new(),
            in_flight: Bytes::ZERO,
            transmitted: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            round: 0,
            round_ends_after: Bytes::ZERO,
            limited_round: None,
            recovery_until: None,
            timeouts: 0,
            last_sent: None,
            idle_since: flow.now,
            app_limited_until: Bytes::ZERO,
            delivered_at: flow.now,
            first_sent_at: flow.now,
            srtt: Span::ZERO,
            min_rtt: Span::MAX,
            header: None,
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Handshake if self.transmitted.is_zero() => {
                self.now += self.base_rtt;
                (self.srtt, self.min_rtt) = (self.base_rtt, self.base_rtt);
            }
            Step::Handshake => {}
            Step::Send { bursts, patience } => self.send(bursts, patience, false),
            Step::Finish { bursts, patience } => self.send(bursts, patience, true),
            Step::Deliver { bursts, path } => self.deliver(bursts.into(), path),
            Step::Lose { bursts, path } => self.lose(bursts, path),
            Step::Timeout => self.time_out(),
            Step::Late { path } => self.acknowledge_late(path),
            Step::Wait(span) => self.wait_until(self.now + span),
            Step::Demand { size, weight, deadline } => {
                let size = size.map(Bytes::new);
                self.unsent = self.unsent.zip(size).map(|(unsent, size)| unsent + size);
                let mut demand = Demand::new(self.now, size);
                demand.weight = weight;
                demand.deadline = deadline.map(|deadline| self.now + deadline);
                if let Some((at, remaining)) = demand.deadline.zip(self.remaining()) {
                    self.dues.push_back((self.delivered + remaining, at));
                }
                self.control.on_demand(&demand);
            }
            Step::Notification => self.control.on_notification(&Notification::new(self.now)),
            Step::MssChange { mss } => {
                self.bounds.on_mss_change(Bytes::new(mss));
                self.control.on_mss_change(Bytes::new(mss));
                self.segment = self.segment.max(Bytes::new(mss));
            }
        }
    }

    /// Lets time pass, and the timer act: at its instants the first times, then late.
    fn wait_until(&mut self, until: Time) {
        for served in 0..8 {
            let Some(at) = self.control.next_timer().filter(|&at| at <= until) else { break };
            self.now = self.now.max(if served < 7 { at } else { until });
            self.control.on_timer(self.now);
            let next = self.control.next_timer();
            let moves = next.is_none_or(|next| next > self.now) || self.now == Time::MAX;
            assert!(moves, "the next instant of the timer must lie ahead");
        }
        self.now = self.now.max(until);
    }

    // Sending.

    fn send(&mut self, bursts: u8, patience: Span, finishes: bool) {
        let deadline = self.now + patience;
        for left in (0..bursts).rev() {
            let limits = self.control.limits();
            let bytes = limits.burst.bytes.min(self.segment).max(Bytes::new(1));
            if !self.in_flight.is_zero() && self.in_flight + bytes > limits.cwnd {
                self.limited_round = Some(self.round);
                return;
            }
            let leaves_at = self.leaves_at(&limits);
            if leaves_at > deadline {
                return self.wait_until(deadline);
            }
            self.wait_until(leaves_at);
            self.emit(bytes, finishes && left == 0);
            self.bounds.check(&self.control);
        }
    }

    fn leaves_at(&self, limits: &Limits) -> Time {
        let Some((at, bytes)) = self.last_sent else { return self.now };
        let gap = match limits.pacing {
            Pacing::Rate(rate) => rate.time_for(bytes),
            Pacing::Window { .. } | Pacing::Unpaced => Span::ZERO,
        };
        (at + gap).max(self.now)
    }

    fn emit(&mut self, bytes: Bytes, app_limited: bool) {
        if self.in_flight.is_zero() {
            if !self.transmitted.is_zero() {
                self.control.on_restart(self.now, self.now.since(self.idle_since));
            }
            (self.delivered_at, self.first_sent_at) = (self.now, self.now);
        }
        self.transmitted += bytes;
        self.in_flight += bytes;
        self.last_sent = Some((self.now, bytes));
        let retransmission = !self.to_repair.is_zero();
        // The application posts what is sent beyond its messages as it leaves.
        let fresh = bytes.saturating_sub(self.to_repair);
        self.unsent = self.unsent.map(|unsent| unsent.saturating_sub(fresh));
        self.to_repair = self.to_repair.saturating_sub(bytes);
        self.flying.push_back(Burst {
            sent_at: self.now,
            bytes,
            end: self.transmitted,
            retransmission,
            in_flight: self.in_flight,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            app_limited: self.app_limited_until > self.delivered,
        });
        let mut sent = Sent::new(self.now, bytes, self.in_flight);
        (sent.end, sent.retransmission) = (self.transmitted, retransmission);
        sent.app_limited = app_limited;
        self.control.on_sent(&sent);
        let mut leaving = Leaving::new(self.now);
        leaving.is_last = app_limited;
        self.header = self.control.request(&leaving).or(self.header);
        if app_limited {
            self.app_limited_until = self.delivered + self.in_flight;
            self.unsent = Some(Bytes::ZERO);
        }
    }

    // What the network answers.

    fn deliver(&mut self, bursts: usize, path: Path) {
        let acked: Vec<Burst> = self.flying.drain(..bursts.min(self.flying.len())).collect();
        let Some((&oldest, &newest)) = acked.first().zip(acked.last()) else { return };
        self.arrive(&newest, path);
        let bytes = acked.iter().map(|burst| burst.bytes).sum();
        self.leave_flight(bytes);
        self.timeouts = 0;
        if self.recovery_until.is_some_and(|until| newest.end > until) {
            self.recovery_until = None;
        }
        self.acknowledge(oldest.first(), &newest, bytes, bytes, path);
    }

    fn lose(&mut self, bursts: u8, path: Path) {
        // Something must arrive that tells of it.
        let lost = usize::from(bursts).min(self.flying.len().saturating_sub(1));
        let Some(&witness) = self.flying.get(lost).filter(|_| lost > 0) else { return };
        self.arrive(&witness, path);
        for _ in 0..lost {
            self.declare_lost(LossCause::Detected);
        }
        self.deliver(1, path);
    }

    fn time_out(&mut self) {
        let Some((last_sent, _)) = self.last_sent.filter(|_| !self.flying.is_empty()) else {
            return;
        };
        let rto = (self.srtt * 2).max(Span::from_us(200)) * (1 << self.timeouts.min(8));
        self.wait_until(last_sent + rto);
        let cause = if self.timeouts == 0 { LossCause::Timeout } else { LossCause::Persistent };
        while !self.flying.is_empty() {
            self.declare_lost(cause);
        }
        self.timeouts += 1;
        self.recovery_until = None;
    }

    fn acknowledge_late(&mut self, path: Path) {
        let Some(burst) = self.declared_lost.pop() else { return };
        self.arrive(&burst, path);
        let mut spurious = Spurious::new(self.now, burst.bytes);
        (spurious.first, spurious.end) = (burst.first(), burst.end);
        self.control.on_spurious_loss(&spurious);
        self.bounds.check(&self.control);
        self.to_repair = self.to_repair.saturating_sub(burst.bytes);
        let path = Path { timed: false, ..path };
        self.acknowledge(burst.first(), &burst, Bytes::ZERO, burst.bytes, path);
    }

    fn arrive(&mut self, burst: &Burst, path: Path) {
        let at = burst.sent_at + self.base_rtt + path.queue + path.peer + path.held;
        self.wait_until(at.max(self.now));
    }

    fn leave_flight(&mut self, bytes: Bytes) {
        self.in_flight -= bytes;
        if self.in_flight.is_zero() {
            self.idle_since = self.now;
        }
    }

    /// Declares the oldest burst lost.
    fn declare_lost(&mut self, cause: LossCause) {
        let Some(burst) = self.flying.pop_front() else { return };
        self.leave_flight(burst.bytes);
        self.lost += burst.bytes;
        self.to_repair += burst.bytes;
        self.declared_lost.push(burst);
        let mut loss = Loss::new(self.now, burst.sent_at, burst.bytes, cause);
        (loss.first, loss.end, loss.next) = (burst.first(), burst.end, self.transmitted);
        (loss.in_flight, loss.in_recovery) = (self.in_flight, self.recovery_until.is_some());
        if cause == LossCause::Detected {
            self.recovery_until.get_or_insert(self.transmitted);
        }
        let before = self.control.limits().cwnd;
        self.control.on_loss(&loss);
        self.bounds.check(&self.control);
        let after = self.control.limits().cwnd;
        let name = self.bounds.name;
        assert!(!self.is_window || after <= before, "{name}: a loss raised {before} to {after}");
    }

    /// Tells of data from `first` on, of which `newest` is the newest.
    fn acknowledge(
        &mut self,
        first: Bytes,
        newest: &Burst,
        bytes: Bytes,
        delivered: Bytes,
        path: Path,
    ) {
        self.delivered += delivered;
        if newest.end > self.round_ends_after {
            self.round += 1;
            self.round_ends_after = self.transmitted;
        }
        let mut ack = Ack::new(self.now, newest.sent_at, bytes);
        ack.ce_bytes = if path.marked { delivered } else { Bytes::ZERO };
        (ack.first, ack.end, ack.next) = (first, newest.end, self.transmitted);
        if path.timed && !newest.retransmission {
            ack.rtt = Some(self.sample(newest, path));
            ack.one_way = Some(self.base_rtt / 2 + path.queue);
        }
        (ack.srtt, ack.min_rtt) = (self.srtt, self.min_rtt);
        ack.delivery = self.delivery(newest);
        (ack.in_flight, ack.delivered) = (self.in_flight, self.delivered);
        ack.cwnd_limited = self.limited_round.is_some_and(|limited| limited + 1 >= self.round);
        ack.in_recovery = self.recovery_until.is_some();
        ack.round = self.round;
        ack.remaining = self.remaining();
        while self.dues.front().is_some_and(|&(end, _)| end <= self.delivered) {
            self.dues.pop_front();
        }
        let due = self.dues.front();
        ack.due = due.map(|&(end, at)| Due { at, bytes: end - self.delivered });
        (ack.nic_backlog, ack.hop_count) = (path.nic_backlog, 2);
        let hops = [self.hop(0, Span::ZERO), self.hop(1, path.queue)];
        ack.hops = &hops;
        let feedback = self.header.map(|header| self.answered(header, path));
        ack.feedback = feedback.as_ref();
        let before = self.control.limits().cwnd;
        self.control.on_ack(&ack);
        let after = self.control.limits().cwnd;
        let answers = self.is_window && self.marks_are_a_signal && path.marked;
        let name = self.bounds.name;
        // Two segments are acknowledged at once: a mark leaves as many, whatever there was.
        let most = before.max(self.bounds.mss * 2);
        assert!(!answers || after <= most, "{name}: a mark raised {before} to {after}");
    }

    fn answers(&self) -> Answers {
        let level = |ahead: u64| {
            let place = Place::new(self.delivered + Bytes::new(ahead), None);
            self.control.level(&place)
        };
        Answers {
            limits: self.control.limits(),
            levels: [0, 1_000, 1_000_000, 1_000_000_000].map(level),
            loss_detection: self.control.loss_detection(),
        }
    }

    /// Posted and not acknowledged.
    fn remaining(&self) -> Option<Bytes> {
        self.unsent.map(|unsent| unsent + self.to_repair + self.in_flight)
    }

    fn sample(&mut self, newest: &Burst, path: Path) -> RttSample {
        let total = self.now.since(newest.sent_at);
        self.min_rtt = self.min_rtt.min(total);
        self.srtt = if self.srtt.is_zero() { total } else { (self.srtt * 7 + total) / 8 };
        RttSample { total, serialization: self.line_rate.time_for(newest.bytes), peer: path.peer }
    }

    fn delivery(&mut self, newest: &Burst) -> Option<Delivery> {
        let sending = newest.sent_at.since(newest.first_sent_at);
        let interval = sending.max(self.now.since(newest.delivered_at));
        (self.delivered_at, self.first_sent_at) = (self.now, newest.sent_at);
        (interval >= self.min_rtt && !interval.is_zero()).then(|| Delivery {
            rate: Rate::of(self.delivered - newest.delivered, interval),
            in_flight_at_send: newest.in_flight,
            lost: self.lost - newest.lost,
            app_limited: newest.app_limited,
        })
    }

    /// A header as a port has left it: with a queue it grants what is desired and no more.
    fn answered(&self, header: Feedback, path: Path) -> Feedback {
        let is_free = path.queue.is_zero();
        match header {
            Feedback::Request(mut request) if !request.ends => {
                request.granted.push(1, if is_free { self.line_rate } else { request.desired });
                Feedback::Request(request)
            }
            Feedback::FairRate(mut fair) => {
                fair.rate = if is_free { self.line_rate } else { self.line_rate / 64 };
                Feedback::FairRate(fair)
            }
            Feedback::Load(_) if path.marked => Feedback::Load(Load::Overload),
            Feedback::Load(_) => Feedback::Load(if is_free { Load::Low } else { Load::High }),
            other => other,
        }
    }

    fn hop(&self, port: u32, queue: Span) -> Hop {
        let mut hop = Hop::default();
        (hop.port, hop.at, hop.rate) = (port, self.now, self.line_rate);
        (hop.queue, hop.sent) = (self.line_rate.bytes_in(queue), self.transmitted);
        hop
    }
}

#[test]
fn deadlines_are_drawn_beside_the_steps_and_change_none() {
    let bare = samples(&prop::collection::vec(step(), 100), 20);
    let (mut due, mut steps) = (0, scripts(100, 20));
    for step in steps.iter_mut().flatten() {
        if let Step::Demand { deadline, .. } = step {
            due += usize::from(deadline.take().is_some());
        }
    }
    assert_eq!(format!("{steps:?}"), format!("{bare:?}"));
    assert!(due > 10, "{due} messages of 2,000 steps have a deadline");
}

/// The data not acknowledged waits, is under way, or is to be sent again.
#[test]
fn remaining_is_posted_and_not_acknowledged() {
    let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
    (flow.mss, flow.initial_window) = (flow.segment, Bytes::from_kb(10));
    let algorithm = AnyAlgorithm::named("newreno").expect("it is registered");
    let mut carrier = Carrier::new(&algorithm, &flow);
    let demand = |size| Step::Demand { size, weight: 1, deadline: None };
    let path = Path::queue(Span::ZERO);
    let patience = Span::from_ms(1);
    for (step, remaining) in [
        (demand(Some(9_000)), Some(9_000)),
        (Step::Send { bursts: 6, patience }, Some(9_000)),
        (Step::Deliver { bursts: 2, path }, Some(7_000)),
        (Step::Lose { bursts: 1, path }, Some(6_000)),
        (demand(Some(500)), Some(6_500)),
        (Step::Send { bursts: 1, patience }, Some(6_500)),
        (Step::Deliver { bursts: 3, path }, Some(3_500)),
        (demand(None), None),
        (Step::Finish { bursts: 1, patience }, Some(1_000)),
    ] {
        carrier.take(&step);
        assert_eq!(carrier.remaining(), remaining.map(Bytes::new), "after {step:?}");
    }
}

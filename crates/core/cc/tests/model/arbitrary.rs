//! A carrier that calls in any order and measures anything. Of the books it keeps only that no more
//! is acknowledged or lost than was sent.

use incast_cc::feedback::{FairRate, Load, Request};
use incast_cc::registry::AnyAlgorithm;
use incast_cc::{
    Ack, AnyControl, Bytes, CongestionControl, Delivery, Demand, Due, Feedback, Flow, Hop, Leaving,
    Loss, LossCause, Notification, RttSample, Sent, Span, Spurious, Time,
};
use proptest::prelude::*;

use crate::bounds::Bounds;
use crate::draw;

/// A call, its amounts not yet fitted to the books.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Ack(Box<Acked>),
    Loss {
        gap: Span,
        bytes: u64,
        in_recovery: bool,
        cause: LossCause,
    },
    Sent {
        gap: Span,
        bytes: u64,
        retransmission: bool,
        app_limited: bool,
    },
    Spurious {
        bytes: u64,
        back: u64,
    },
    Notification {
        gap: Span,
    },
    /// The timer, and how late it is called.
    Timer {
        late: Span,
    },
    Demand {
        size: Option<u64>,
        deadline: Option<Span>,
        weight: u32,
    },
    Restart {
        idle: Span,
    },
    MssChange {
        mss: u64,
    },
}

/// An acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct Acked {
    gap: Span,
    bytes: u64,
    /// Acknowledged late: counts as delivered only.
    late: u64,
    ce_bytes: Bytes,
    rtt: Option<RttSample>,
    /// The smoothed RTT, where it is not the sample.
    srtt: Option<Span>,
    one_way: Option<Span>,
    cwnd_limited: bool,
    in_recovery: bool,
    ends_round: bool,
    remaining: Option<Bytes>,
    delivery: Option<Delivery>,
    nic_backlog: Bytes,
    hop_count: u8,
    hops: Vec<Hop>,
    feedback: Option<Feedback>,
}

/// A call of any kind.
pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let payload = 1_u64..1_000_000;
    prop_oneof![
        12 => acked().prop_map(|acked| Operation::Ack(Box::new(acked))),
        2 => (draw::span(), payload.clone(), any::<bool>(), cause()).prop_map(
            |(gap, bytes, in_recovery, cause)| Operation::Loss { gap, bytes, in_recovery, cause }
        ),
        6 => (draw::span(), payload, any::<bool>(), any::<bool>()).prop_map(
            |(gap, bytes, retransmission, app_limited)| {
                Operation::Sent { gap, bytes, retransmission, app_limited }
            }
        ),
        1 => (0_u64..100_000, 0_u64..1_000_000)
            .prop_map(|(bytes, back)| Operation::Spurious { bytes, back }),
        1 => draw::span().prop_map(|gap| Operation::Notification { gap }),
        1 => draw::span().prop_map(|late| Operation::Timer { late }),
        1 => demand(),
        1 => draw::span().prop_map(|idle| Operation::Restart { idle }),
        1 => (64_u64..9_000).prop_map(|mss| Operation::MssChange { mss }),
    ]
}

fn cause() -> impl Strategy<Value = LossCause> {
    prop_oneof![Just(LossCause::Detected), Just(LossCause::Timeout), Just(LossCause::Persistent)]
}

fn demand() -> impl Strategy<Value = Operation> {
    let size = prop::option::of(0_u64..10_000_000);
    let weight = prop_oneof![Just(1), Just(0), Just(u32::MAX), 0_u32..100];
    (size, prop::option::of(draw::span()), weight)
        .prop_map(|(size, deadline, weight)| Operation::Demand { size, deadline, weight })
}

fn acked() -> impl Strategy<Value = Acked> {
    let time = (
        draw::span(),
        prop::option::weighted(0.9, sample()),
        prop::option::of(draw::span()),
        prop::option::of(draw::span()),
    );
    let late = prop_oneof![9 => Just(0), 1 => 0_u64..100_000];
    let amount = (0_u64..1_000_000, late, marks(), prop::option::of(draw::bytes(1 << 40)));
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.3));
    let network = (
        prop::option::of(delivery()),
        draw::bytes(1_000_000_000),
        any::<u8>(),
        prop::collection::vec(hop(), 0..9),
        prop::option::of(feedback()),
    );
    (time, amount, flags, network).prop_map(|(time, amount, flags, network)| {
        let (gap, rtt, srtt, one_way) = time;
        let (bytes, late, ce_bytes, remaining) = amount;
        let (cwnd_limited, in_recovery, ends_round) = flags;
        let (delivery, nic_backlog, hop_count, hops, feedback) = network;
        Acked {
            gap,
            bytes,
            late,
            ce_bytes,
            rtt,
            srtt,
            one_way,
            cwnd_limited,
            in_recovery,
            ends_round,
            remaining,
            delivery,
            nic_backlog,
            hop_count,
            hops,
            feedback,
        }
    })
}

/// An answer of ports, to whatever was asked.
fn feedback() -> impl Strategy<Value = Feedback> {
    let rate = || prop_oneof![9 => draw::rate(), 1 => Just(incast_cc::Rate::ZERO)];
    let load = prop_oneof![Just(Load::Low), Just(Load::High), Just(Load::Overload)];
    let grants = prop::collection::vec((0_u32..3, rate()), 0..9);
    prop_oneof![
        (grants, any::<bool>()).prop_map(|(grants, ends)| {
            let mut request = Request { ends, ..Request::default() };
            for (port, rate) in grants {
                request.granted.push(port, rate);
            }
            Feedback::Request(request)
        }),
        (rate(), draw::span()).prop_map(|(rate, rtt)| Feedback::FairRate(FairRate { rate, rtt })),
        load.prop_map(Feedback::Load),
    ]
}

/// An RTT and what of it is no network; now and then more than all of it.
fn sample() -> impl Strategy<Value = RttSample> {
    let part = || prop_oneof![3 => Just(Span::ZERO), 1 => draw::span()];
    (draw::span(), part(), part()).prop_map(|(total, serialization, peer)| RttSample {
        total,
        serialization,
        peer,
    })
}

/// Nothing, or any amount: marks of other data may come along.
fn marks() -> impl Strategy<Value = Bytes> {
    prop_oneof![2 => Just(Bytes::ZERO), 1 => draw::bytes(1_000_000)]
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (draw::rate(), draw::bytes(1 << 40), draw::bytes(1 << 40), any::<bool>()).prop_map(
        |(rate, in_flight_at_send, lost, app_limited)| Delivery {
            rate,
            in_flight_at_send,
            lost,
            app_limited,
        },
    )
}

/// Few ports, so that one is often seen twice; its counter goes anywhere, as do its clock and its
/// rate.
fn hop() -> impl Strategy<Value = Hop> {
    let rate = prop_oneof![9 => draw::rate(), 1 => Just(incast_cc::Rate::ZERO)];
    (0_u32..3, draw::span(), rate, draw::bytes(1_000_000_000), any::<u64>()).prop_map(
        |(port, at, rate, queue, sent)| {
            let mut hop = Hop::default();
            (hop.port, hop.at, hop.rate) = (port, Time::ZERO + at, rate);
            (hop.queue, hop.sent) = (queue, Bytes::new(sent));
            hop
        },
    )
}

/// Feeds `operations` to one flow.
pub(crate) fn run(algorithm: &AnyAlgorithm, flow: &Flow, operations: &[Operation]) {
    let mut carrier = Carrier::new(algorithm, flow);
    for operation in operations {
        carrier.call(operation);
        carrier.bounds.check(&carrier.control);
    }
}

struct Carrier {
    control: AnyControl,
    bounds: Bounds,
    now: Time,
    last_sent: Time,
    min_rtt: Span,
    in_flight: u64,
    delivered: u64,
    /// In transmission order: what was sent, and up to where it was acknowledged or lost.
    transmitted: u64,
    settled: u64,
    round: u64,
    /// The deadline of the newest message.
    due: Option<Time>,
}

impl Carrier {
    fn new(algorithm: &AnyAlgorithm, flow: &Flow) -> Self {
        let (control, bounds) = (algorithm.start(flow), Bounds::new(algorithm, flow));
        bounds.check(&control);
        Self {
            control,
            bounds,
            now: flow.now,
            last_sent: flow.now,
            min_rtt: Span::MAX,
            in_flight: 0,
            delivered: 0,
            transmitted: 0,
            settled: 0,
            round: 0,
            due: None,
        }
    }

    fn call(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ack(ref acked) => self.ack(acked),
            Operation::Loss { gap, bytes, in_recovery, cause } => {
                self.now += gap;
                let (bytes, first, end) = self.settle(bytes);
                let mut loss = Loss::new(self.now, self.last_sent, bytes, cause);
                (loss.first, loss.end, loss.next) = (first, end, Bytes::new(self.transmitted));
                (loss.in_flight, loss.in_recovery) = (Bytes::new(self.in_flight), in_recovery);
                self.control.on_loss(&loss);
            }
            Operation::Sent { gap, bytes, retransmission, app_limited } => {
                self.now += gap;
                self.last_sent = self.now;
                self.in_flight += bytes;
                self.transmitted += bytes;
                let in_flight = Bytes::new(self.in_flight);
                let mut sent = Sent::new(self.now, Bytes::new(bytes), in_flight);
                sent.end = Bytes::new(self.transmitted);
                (sent.retransmission, sent.app_limited) = (retransmission, app_limited);
                self.control.on_sent(&sent);
                let mut leaving = Leaving::new(self.now);
                (leaving.is_last, leaving.is_answered) = (app_limited, !retransmission);
                let _ = self.control.request(&leaving);
            }
            Operation::Spurious { bytes, back } => {
                let end = self.settled.saturating_sub(back);
                let mut spurious = Spurious::new(self.now, Bytes::new(bytes));
                spurious.first = Bytes::new(end.saturating_sub(bytes));
                spurious.end = Bytes::new(end);
                self.control.on_spurious_loss(&spurious);
            }
            Operation::Notification { gap } => {
                self.now += gap;
                self.control.on_notification(&Notification::new(self.now));
            }
            Operation::Timer { late } => {
                if let Some(at) = self.control.next_timer() {
                    self.now = self.now.max(at) + late;
                    self.control.on_timer(self.now);
                    let next = self.control.next_timer();
                    let moves = next.is_none_or(|next| next > self.now) || self.now == Time::MAX;
                    assert!(moves, "the next instant of the timer must lie ahead");
                }
            }
            Operation::Demand { size, deadline, weight } => {
                let mut demand = Demand::new(self.now, size.map(Bytes::new));
                (demand.deadline, demand.weight) = (deadline.map(|span| self.now + span), weight);
                self.due = demand.deadline;
                self.control.on_demand(&demand);
            }
            Operation::Restart { idle } => self.control.on_restart(self.now, idle),
            Operation::MssChange { mss } => {
                self.bounds.on_mss_change(Bytes::new(mss));
                self.control.on_mss_change(Bytes::new(mss));
            }
        }
    }

    fn ack(&mut self, acked: &Acked) {
        self.now += acked.gap;
        let (bytes, first, end) = self.settle(acked.bytes);
        self.delivered += bytes.get() + acked.late;
        self.round += u64::from(acked.ends_round);
        if let Some(rtt) = acked.rtt {
            self.min_rtt = self.min_rtt.min(rtt.total);
        }
        let mut ack = Ack::new(self.now, self.last_sent, bytes);
        ack.ce_bytes = acked.ce_bytes;
        (ack.first, ack.end, ack.next) = (first, end, Bytes::new(self.transmitted));
        ack.rtt = acked.rtt;
        ack.srtt = acked.srtt.or(acked.rtt.map(|rtt| rtt.total)).unwrap_or_default();
        ack.min_rtt = self.min_rtt;
        ack.one_way = acked.one_way;
        (ack.cwnd_limited, ack.in_recovery) = (acked.cwnd_limited, acked.in_recovery);
        (ack.in_flight, ack.delivered) = (Bytes::new(self.in_flight), Bytes::new(self.delivered));
        (ack.round, ack.remaining, ack.delivery) = (self.round, acked.remaining, acked.delivery);
        ack.due = self.due.zip(acked.remaining).map(|(at, bytes)| Due { at, bytes });
        (ack.nic_backlog, ack.hop_count) = (acked.nic_backlog, acked.hop_count);
        (ack.hops, ack.feedback) = (&acked.hops, acked.feedback.as_ref());
        self.control.on_ack(&ack);
    }

    /// Takes up to `bytes` out of flight: how much, and where in transmission order.
    fn settle(&mut self, bytes: u64) -> (Bytes, Bytes, Bytes) {
        let (bytes, first) = (bytes.min(self.in_flight), self.settled);
        self.in_flight -= bytes;
        self.settled += bytes;
        (Bytes::new(bytes), Bytes::new(first), Bytes::new(self.settled))
    }
}

//! An algorithm that notes what it is told, for tests.

use std::sync::{Arc, Mutex};

use incast_cc::{
    Ack, Bytes, CongestionControl, Flow, Limits, Loss, Notification, Rate, Reads, Sent, Span, Time,
};

/// A call of the contract.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Sent(Sent),
    Ack(Ack<'static>),
    Loss(Loss),
    Restart(Time, Span),
    Notification(Notification),
    Timer(Time),
}

/// The calls so far, and the facts that the flow was started with.
pub(crate) type Calls = Arc<Mutex<Vec<Call>>>;

/// An algorithm and its calls.
#[derive(Clone, Debug)]
pub(crate) struct Recorded<C> {
    control: C,
    pub(crate) calls: Calls,
}

impl<C> Recorded<C> {
    pub(crate) fn new(control: C, calls: &Calls) -> Self {
        Self { control, calls: calls.clone() }
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

/// Tells `control` the same again.
pub(crate) fn replay(calls: &[Call], control: &mut impl CongestionControl) {
    for call in calls {
        match call {
            Call::Sent(sent) => control.on_sent(sent),
            Call::Ack(ack) => control.on_ack(ack),
            Call::Loss(loss) => control.on_loss(loss),
            Call::Restart(now, idle) => control.on_restart(*now, *idle),
            Call::Notification(notification) => control.on_notification(notification),
            Call::Timer(now) => control.on_timer(*now),
        }
    }
}

impl<C: CongestionControl> CongestionControl for Recorded<C> {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut told = Ack::new(ack.now, ack.sent_at, ack.bytes);
        (told.first, told.end, told.next) = (ack.first, ack.end, ack.next);
        (told.rtt, told.srtt, told.min_rtt) = (ack.rtt, ack.srtt, ack.min_rtt);
        (told.ce_bytes, told.in_flight, told.delivered) =
            (ack.ce_bytes, ack.in_flight, ack.delivered);
        (told.cwnd_limited, told.in_recovery) = (ack.cwnd_limited, ack.in_recovery);
        (told.round, told.remaining, told.delivery) = (ack.round, ack.remaining, ack.delivery);
        assert_eq!(told, *ack, "QUIC tells nothing else");
        self.note(Call::Ack(told));
        self.control.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.note(Call::Loss(*loss));
        self.control.on_loss(loss);
    }

    fn limits(&self) -> Limits {
        self.control.limits()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.note(Call::Sent(*sent));
        self.control.on_sent(sent);
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        self.note(Call::Restart(now, idle));
        self.control.on_restart(now, idle);
    }

    fn on_notification(&mut self, notification: &Notification) {
        self.note(Call::Notification(*notification));
        self.control.on_notification(notification);
    }

    fn on_timer(&mut self, now: Time) {
        self.note(Call::Timer(now));
        self.control.on_timer(now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.control.next_timer()
    }

    fn reads(&self) -> Reads {
        Reads { sent: true, ..self.control.reads() }
    }
}

/// The facts that a flow of datagrams of 1,200 B is started with on a NIC of 1 Gb/s.
pub(crate) fn flow() -> Flow {
    let mut flow = Flow::new(Bytes::new(1_200), Rate::from_gbps(1));
    flow.mss = flow.segment;
    flow.initial_window = flow.mss * 10;
    flow
}

/// The RTTs of the ACKs in whole microseconds.
pub(crate) fn rtts(calls: &[Call]) -> Vec<Option<u64>> {
    let of = |call: &Call| match call {
        Call::Ack(ack) => vec![ack.rtt.map(|rtt| (rtt.total.as_ns() + 500) / 1_000)],
        _ => Vec::new(),
    };
    calls.iter().flat_map(of).collect()
}

/// The window that keeps up a rate: what it fills in an RTT, and the datagrams that wait for an ACK
/// of so many, in whole datagrams.
pub(crate) fn kept_up(rate: Rate, srtt: Span, acknowledged: u64) -> Bytes {
    let filled = rate.bytes_in(srtt).get() + 1_200 * (acknowledged - 1);
    Bytes::new(filled.next_multiple_of(1_200))
}

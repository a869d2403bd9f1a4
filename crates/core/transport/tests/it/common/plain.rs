//! An algorithm under the control of a test, which remembers the events that it gets.

use std::sync::{Arc, Mutex, MutexGuard};

use incast_cc::{
    Ack, Bytes, CongestionControl, Flow, Limits, Loss, LossCause, LossDetection, Notification,
    Pacing, Place, Rate, Reads, Sent, Span, Spurious, Time,
};

/// The events that an algorithm has got.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Each burst sent, with the window at that time.
    pub(crate) sent: Vec<(Sent, Bytes)>,
    pub(crate) acks: Vec<Ack<'static>>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) spurious: Vec<Spurious>,
    pub(crate) restarts: Vec<(Time, Span)>,
    pub(crate) notifications: Vec<Time>,
    pub(crate) timer_calls: u64,
    /// The flow that it was started for.
    pub(crate) flow: Option<Flow>,
}

/// Limits that a test moves.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) limits: Limits,
    pub(crate) on_ack: fn(&mut Limits, &Ack<'_>),
    pub(crate) on_loss: fn(&mut Limits, &Loss),
    pub(crate) on_restart: fn(&mut Limits),
    pub(crate) on_notification: fn(&mut Limits),
    /// Whether it starts with the window of the flow.
    pub(crate) takes_initial_window: bool,
    /// The time of the next call, and the time from there to the one after.
    pub(crate) timer: Option<(Time, Span)>,
    /// The level of each packet, if the algorithm chooses it.
    pub(crate) level: Option<fn(&Place) -> u8>,
    pub(crate) detection: LossDetection,
    /// The events so far, shared by clones.
    pub(crate) memory: Arc<Mutex<Told>>,
}

/// A constant window that ACKs clock.
pub(crate) fn window(bytes: u64) -> Plain {
    Plain::new(Limits::window(Bytes::new(bytes)))
}

impl Plain {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            on_ack: |_, _| {},
            on_loss: |_, _| {},
            on_restart: |_| {},
            on_notification: |_| {},
            takes_initial_window: false,
            timer: None,
            level: None,
            detection: LossDetection::Carrier,
            memory: Arc::default(),
        }
    }

    /// A constant rate.
    pub(crate) fn rate(rate: Rate) -> Self {
        Self::new(Limits::rate(rate))
    }

    /// A window of `bytes` that grows by the amount acknowledged (RFC 5681's slow start).
    pub(crate) fn slow_start(bytes: u64) -> Self {
        Self { on_ack: |limits, ack| limits.cwnd += ack.bytes, ..window(bytes) }
    }

    /// A window of `bytes`, of which the first loss of an episode leaves half and a timeout one
    /// segment of 1,460 B.
    pub(crate) fn halving(bytes: u64) -> Self {
        let on_loss = |limits: &mut Limits, loss: &Loss| {
            if loss.cause != LossCause::Detected {
                limits.cwnd = Bytes::new(1_460);
            } else if !loss.in_recovery {
                limits.cwnd = limits.cwnd / 2;
            }
        };
        Self { on_loss, ..window(bytes) }
    }

    /// This window, paced at `rate`.
    pub(crate) fn paced(mut self, rate: Rate) -> Self {
        self.limits.pacing = Pacing::Rate(rate);
        self
    }

    /// This algorithm for `flow`.
    pub(crate) fn start(&self, flow: &Flow) -> Self {
        let mut started = self.clone();
        if self.takes_initial_window {
            started.limits.cwnd = flow.initial_window;
        }
        self.told().flow = Some(*flow);
        started
    }

    /// The events that this algorithm and its clones have got.
    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.memory.lock().expect("no test panics while it holds this")
    }
}

impl CongestionControl for Plain {
    fn reads(&self) -> Reads {
        let level = self.level.is_some();
        Reads { delivery: true, nic_backlog: !level, level, due: true, ..Reads::default() }
    }

    fn level(&self, place: &Place) -> u8 {
        self.level.map_or(0, |level| level(place))
    }

    fn loss_detection(&self) -> LossDetection {
        self.detection
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        (self.on_ack)(&mut self.limits, ack);
        let mut owned = Ack::new(ack.now, ack.sent_at, ack.bytes);
        owned.ce_bytes = ack.ce_bytes;
        (owned.first, owned.end, owned.next) = (ack.first, ack.end, ack.next);
        (owned.rtt, owned.srtt, owned.min_rtt) = (ack.rtt, ack.srtt, ack.min_rtt);
        (owned.one_way, owned.in_flight) = (ack.one_way, ack.in_flight);
        (owned.cwnd_limited, owned.in_recovery) = (ack.cwnd_limited, ack.in_recovery);
        (owned.round, owned.delivered) = (ack.round, ack.delivered);
        (owned.remaining, owned.delivery) = (ack.remaining, ack.delivery);
        (owned.nic_backlog, owned.hop_count) = (ack.nic_backlog, ack.hop_count);
        owned.due = ack.due;
        self.told().acks.push(owned);
    }
    fn on_sent(&mut self, sent: &Sent) {
        let cwnd = self.limits.cwnd;
        self.told().sent.push((*sent, cwnd));
    }
    fn on_loss(&mut self, loss: &Loss) {
        (self.on_loss)(&mut self.limits, loss);
        self.told().losses.push(*loss);
    }
    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.told().spurious.push(*spurious);
    }
    fn on_restart(&mut self, now: Time, idle: Span) {
        (self.on_restart)(&mut self.limits);
        self.told().restarts.push((now, idle));
    }
    fn on_notification(&mut self, notification: &Notification) {
        (self.on_notification)(&mut self.limits);
        self.told().notifications.push(notification.now);
    }
    fn limits(&self) -> Limits {
        self.limits
    }
    fn on_timer(&mut self, now: Time) {
        self.told().timer_calls += 1;
        self.timer = self.timer.map(|(_, every)| (now + every, every));
    }
    fn next_timer(&self) -> Option<Time> {
        self.timer.map(|(at, _)| at)
    }
}

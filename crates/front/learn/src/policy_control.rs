//! The algorithm of a flow that a policy controls, from outside or by a tree.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use incast_cc::{Ack, Bytes, CongestionControl, Flow, Limits, Loss, Rate, Reads, Sent, Span, Time};

use crate::action::{Control, Sending};
use crate::monitor::Monitor;
use crate::observation::Observation;
use crate::tree::Tree;

/// The time between the end of an interval and the effect of the action that answers it.
const ANSWER: Span = Span::from_ps(1);

/// The place where a flow and its learner meet between two steps.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The observation of the last interval.
    pub(crate) observation: Observation,
    /// The action that comes next; none before the first.
    pub(crate) action: Option<f32>,
    /// Whether the flow has started.
    pub(crate) started: bool,
    /// The number of copies of the flow's state that there are.
    holders: usize,
}

impl Default for Exchange {
    fn default() -> Self {
        Self { observation: Observation::NONE, action: None, started: false, holders: 0 }
    }
}

impl Exchange {
    /// Whether the flow has ended: it had started, and nobody has its state any more.
    pub(crate) const fn has_ended(&self) -> bool {
        self.started && self.holders == 0
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An exchange that a flow holds.
#[derive(Debug)]
pub(crate) struct Held(Arc<Mutex<Exchange>>);

impl Held {
    pub(crate) fn new(exchange: &Arc<Mutex<Exchange>>) -> Self {
        {
            let mut taken = lock(exchange);
            taken.holders += 1;
            taken.started = true;
        }
        Self(Arc::clone(exchange))
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.0).holders -= 1;
    }
}

/// The policy of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Policy {
    /// A learner outside the run.
    Outside(Held),
    /// A tree, with the action that it has chosen.
    Tree(Arc<Tree>, f32),
}

impl Policy {
    /// Hands over the observation of an interval.
    fn observe(&mut self, observation: &Observation) {
        match self {
            Self::Outside(exchange) => lock(&exchange.0).observation = *observation,
            Self::Tree(tree, action) => *action = tree.action(&observation.features),
        }
    }

    /// The action that answers the last observation.
    fn action(&self) -> Option<f32> {
        match self {
            Self::Outside(exchange) => lock(&exchange.0).action,
            Self::Tree(_, action) => Some(*action),
        }
    }
}

/// A flow under a policy.
#[derive(Clone, Debug)]
pub(crate) struct PolicyControl {
    control: Control,
    policy: Policy,
    monitor: Monitor,
    line_rate: Rate,
    mss: Bytes,
    sending: Sending,
    /// The next end of an interval, or the instant of the answer to the last one.
    timer: Time,
    answers: bool,
}

impl PolicyControl {
    pub(crate) fn new(control: Control, policy: Policy, flow: &Flow) -> Self {
        let mut flow_control = Self {
            control,
            policy,
            monitor: Monitor::new(flow, control.interval),
            line_rate: flow.line_rate,
            mss: flow.mss,
            sending: control.start(flow),
            timer: Time::MAX,
            answers: false,
        };
        // The answer to the observations of a flow that has not started.
        flow_control.act();
        flow_control.await_end(flow.now);
        flow_control
    }

    fn act(&mut self) {
        if let Some(action) = self.policy.action() {
            let Self { control, sending, line_rate, mss, .. } = *self;
            self.sending = control.action.next(sending, action, line_rate, mss);
        }
    }

    /// Sets the timer to the end of the interval that an instant belongs to.
    fn await_end(&mut self, now: Time) {
        let length = self.control.interval.as_ps();
        let end = (now.as_ps() / length + 1) * length - ANSWER.as_ps();
        // The last picosecond of an interval is the first of the next one.
        self.timer = Time::from_ps(if end > now.as_ps() { end } else { end + length });
        self.answers = false;
    }

    fn end_interval(&mut self, now: Time) {
        let rate = self.sending.rate(self.monitor.floor(), self.line_rate);
        let observation = self.monitor.end(now, rate);
        self.policy.observe(&observation);
        self.timer = now + ANSWER;
        self.answers = true;
    }
}

impl CongestionControl for PolicyControl {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.monitor.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.monitor.on_loss(loss);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.monitor.on_sent(sent);
    }

    fn limits(&self) -> Limits {
        self.sending.limits()
    }

    fn on_timer(&mut self, now: Time) {
        if self.answers {
            self.act();
            self.await_end(now);
        } else {
            self.end_interval(now);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.timer)
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    fn reads(&self) -> Reads {
        Reads { sent: true, ..Reads::NONE }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        match self.sending {
            Sending::Rate(rate) => emit("rate_gbps", rate.as_gbps_f64()),
            Sending::Window(window) => emit("cwnd_kb", window / 1e3),
        }
    }
}

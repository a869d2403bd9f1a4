//! Hosts that run ahead: they handle arrivals before their time.
//!
//! A host hears of nothing but the packets on its one incoming link, in order, and its own timers.
//! So as soon as a packet is on that link for good, the host can handle it, at the time at which it
//! will arrive, after its own events that come before. Whatever the host sends then is on its link
//! with its time. So arrivals at hosts need no events.
//!
//! A host waits for the events of all others
//!
//! * before an instant at which somebody looks at it: the end of a run, the start of measurement,
//!   the end of an interval of the time series;
//! * while its switch may take the packet back, whose transmission has not started;
//! * where links may fail, or an oracle sees all queues at one instant;
//! * if it is slow, so that packets wait before it takes them in;
//! * where there are islands, over which hosts hear of each other, too.

use incast_cc::{Span, Time};

use super::Network;
use crate::calendar::ComponentId;
use crate::component::Component;

/// The bounds of hosts that run ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunAhead {
    is_allowed: bool,
    /// Whether hosts run ahead now.
    is_on: bool,
    /// Whether no switch takes a packet back.
    is_final: bool,
    /// The time of the last arrival that was handled before its time.
    heard: Time,
    /// The next instant at which somebody looks at hosts, as far as it was needed.
    look: Time,
    /// The start of measurement.
    pub(super) measure_from: Time,
    /// The end of the run, or of this part of it.
    pub(super) end: Time,
}

impl RunAhead {
    /// The bounds before the run, in which hosts may run ahead if that `is_allowed`; `is_final` if
    /// no switch takes a packet back.
    pub(crate) const fn new(is_allowed: bool, is_final: bool) -> Self {
        Self {
            is_allowed,
            is_on: false,
            is_final,
            heard: Time::ZERO,
            look: Time::ZERO,
            measure_from: Time::ZERO,
            end: Time::ZERO,
        }
    }
}

impl Network {
    /// Lets hosts run ahead, where that is allowed.
    pub(crate) fn let_hosts_run_ahead(&mut self) {
        let stays = self.failures().all(|failures| failures.next() == Time::MAX);
        let on = self.run_ahead.is_allowed && stays && !self.has_node_windows();
        self.transit.links.iter_mut().for_each(|link| link.set_runs_ahead(on));
        for slow in self.hosts.iter().filter(|host| host.intake.is_some()) {
            self.transit.links[slow.incoming() as usize].set_runs_ahead(false);
        }
        self.run_ahead.is_on = on;
    }

    /// Makes hosts handle every arrival at its time.
    pub(super) fn forbid_run_ahead(&mut self) {
        self.run_ahead.is_allowed = false;
        self.let_hosts_run_ahead();
    }

    /// The end of the instant to which hosts have run ahead, if they do.
    pub(super) fn heard_until(&self) -> Option<Time> {
        let RunAhead { is_on, heard, .. } = self.run_ahead;
        is_on.then(|| heard.max(self.now) + Span::from_ps(1))
    }

    /// Lets a host handle the arrivals on its link: the first if it `is_due` now, and others as far
    /// as the host may run ahead. Schedules the next one.
    #[inline(never)]
    pub(super) fn hear(&mut self, id: ComponentId, is_due: bool) {
        let arrival = self.components[id as usize];
        let mut due = is_due.then_some(self.now);
        while let Some(at) = due.or_else(|| self.next_to_hear(id, arrival)) {
            due = None;
            self.arrive_at_host(at, arrival);
        }
    }

    /// The time of the next arrival that a host may handle now, all before it handled. If the host
    /// may not, schedules the arrival.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    fn next_to_hear(&mut self, id: ComponentId, arrival: Component) -> Option<Time> {
        let at = self.transit.links[arrival.link as usize].next_loud()?;
        if !self.may_hear(at, arrival.link) {
            self.transit.calendar.schedule(id, at);
            return None;
        }
        self.run_ahead.heard = self.run_ahead.heard.max(at);
        let own = self.hosts[arrival.node as usize].handle_before(at, &mut self.transit);
        self.events += own + 1;
        Some(at)
    }

    /// Whether a host may now handle the next packet that its `link` announces, which comes
    /// at `at`.
    #[inline]
    fn may_hear(&mut self, at: Time, link: u32) -> bool {
        let now = self.now;
        let RunAhead { is_on, is_final, look, end, .. } = self.run_ahead;
        if !is_on || at >= end {
            return false;
        }
        if !is_final && self.transit.links[link as usize].next_loud_start() > now {
            return false;
        }
        at < look || now > look && at < self.next_look()
    }

    /// Finds the first instant from now on at which somebody looks at hosts. All nodes have had
    /// their turn at the previous one.
    #[cold]
    fn next_look(&mut self) -> Time {
        let (now, measure_from) = (self.now.as_ps(), self.run_ahead.measure_from);
        let interval = Time::from_ps(now.next_multiple_of(self.interval.as_ps()));
        let before = if measure_from >= self.now { measure_from } else { Time::MAX };
        self.run_ahead.look = before.min(if self.flow_series { interval } else { Time::MAX });
        self.run_ahead.look
    }
}

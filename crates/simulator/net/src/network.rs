//! The network: nodes, links, and the loop of their events.

mod look_ahead;
mod node_windows;
mod run_ahead;

use std::collections::BTreeSet;

use incast_cc::{Span, Time};
use incast_plan::topology::Node;
use incast_transport::Opener;

use super::calendar::ComponentId;
use super::component::{Component, ComponentKind};
use super::dead_lock::{DeadLock, dead_locks};
use super::failure::Failures;
use super::frame::Frame;
use super::host::{Duties, Host};
use super::link::Link;
use super::oracle::Oracle;
use super::switch::Switch;
use super::trace::Trace;
use super::transit::Transit;
use super::watchdog::Watchdog;
pub(crate) use look_ahead::LookAhead;
pub(crate) use run_ahead::RunAhead;

/// A network that runs.
pub struct Network {
    pub(crate) hosts: Vec<Host>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) components: Vec<Component>,
    pub(crate) transit: Transit,
    /// The oracle, in runs whose algorithms may see the queues.
    pub(crate) oracle: Option<Oracle>,
    /// The dead-locks found so far, in the order of time.
    pub(crate) dead_locks: Vec<DeadLock>,
    /// The length of an interval of the time series, and whether there are series of flows and of
    /// queues.
    pub(crate) interval: Span,
    pub(crate) flow_series: bool,
    pub(crate) queue_series: bool,
    pub(crate) events: u64,
    pub(crate) now: Time,
    pub(crate) run_ahead: RunAhead,
    pub(crate) look_ahead: LookAhead,
}

impl Network {
    /// Gives a host its traffic, and the opener of its connections.
    pub fn set_duties(&mut self, host: usize, opener: Opener, duties: Duties) {
        let host = &mut self.hosts[host];
        host.endpoint.expect(duties.connections.len(), opener);
        host.set_duties(duties, &mut self.transit.calendar);
    }

    /// Gives the run an oracle, which sees all queues at once.
    pub fn set_oracle(&mut self, oracle: Oracle) {
        self.oracle = Some(oracle);
        self.set_node_windows(false);
        self.forbid_run_ahead();
    }

    /// Fixes the port by which a switch sends the connections with `label` to the host `to`.
    pub fn pin(&mut self, switch: u32, to: u32, label: u64, port: u16) {
        self.switches[switch as usize].routes.pin(to, label, port);
    }

    /// Drops the traces of all other nodes.
    pub fn trace_only(&mut self, nodes: &BTreeSet<Node>) {
        for (number, host) in (0..).zip(&mut self.hosts) {
            if !nodes.contains(&Node::Host(number)) {
                host.trace = Trace::default();
            }
        }
        for (number, switch) in (0..).zip(&mut self.switches) {
            if !nodes.contains(&Node::Switch(number)) {
                switch.trace = Trace::default();
            }
        }
    }

    /// Makes hosts handle every arrival by its own event, as they do after a drop, and streams keep
    /// a record of every segment, as they do after a loss. Results are the same; the run takes
    /// longer.
    pub fn take_no_shortcut(&mut self) {
        self.switches.iter_mut().for_each(|switch| switch.has_dropped = true);
        for host in &mut self.hosts {
            host.endpoint.record_all();
            host.forbid_ahead();
        }
        self.forbid_run_ahead();
    }

    /// Schedules the first interval of every node, and the start of measurement. `flow_series` and
    /// `queue_series` say which time series are kept.
    pub fn start(&mut self, measure_from: Time, flow_series: bool, queue_series: bool) {
        (self.flow_series, self.queue_series) = (flow_series, queue_series);
        self.run_ahead.measure_from = measure_from;
        for (id, component) in (0..).zip(&self.components) {
            match component.kind {
                ComponentKind::HostInterval if self.flow_series => {
                    self.transit.calendar.schedule(id, Time::ZERO + self.interval);
                }
                ComponentKind::SwitchInterval if self.queue_series => {
                    self.transit.calendar.schedule(id, Time::ZERO + self.interval);
                }
                ComponentKind::HostChange => {
                    self.transit
                        .calendar
                        .schedule(id, self.hosts[component.node as usize].failures.next());
                }
                ComponentKind::SwitchChange => {
                    let switch = &self.switches[component.node as usize];
                    self.transit.calendar.schedule(id, switch.failures.next());
                }
                ComponentKind::HostStart if measure_from > Time::ZERO => {
                    self.transit.calendar.schedule(id, measure_from);
                }
                ComponentKind::SwitchWatchdog => {
                    if let Some(watchdog) = &self.switches[component.node as usize].watchdog {
                        self.transit.calendar.schedule(id, Time::ZERO + watchdog.period());
                    }
                }
                _ => {}
            }
        }
    }

    /// The time between two looks of the PFC watchdogs, from the start of the run. All look at the
    /// same instants.
    pub(crate) fn watch_period(&self) -> Option<Span> {
        self.switches.iter().find_map(|switch| switch.watchdog.as_ref()).map(Watchdog::period)
    }

    /// The agendas and losses of each node.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Failures> {
        let hosts = self.hosts.iter().map(|host| &host.failures);
        hosts.chain(self.switches.iter().map(|switch| &switch.failures))
    }

    /// Handles up to `events` events before `end`, then more until all nodes are at one instant.
    /// Returns whether there are more.
    pub fn run(&mut self, end: Time, events: u64) -> bool {
        let (mut until, mut left) = (end, events);
        let mut looked_at = 0_usize;
        self.run_ahead.end = until;
        loop {
            if left == 0 {
                let Some(at_one) = self.next_at_one_instant() else { return true };
                (until, left) = (at_one.min(end), u64::MAX);
                self.run_ahead.end = until;
            }
            left -= 1;
            if looked_at == 0 && self.transit.calendar.has_before(until) {
                looked_at = self.look_ahead();
            }
            looked_at = looked_at.saturating_sub(1);
            let Some((now, id)) = self.transit.calendar.pop_before(until) else {
                self.now = until;
                return until < end;
            };
            self.now = now;
            self.events += 1;
            self.handle(now, id);
            if let Some(arrival) = self.transit.calendar.take_announced() {
                self.hear(arrival, false);
            }
        }
    }

    /// The next instant at which all nodes are, if some are before others: the end of a window, or
    /// the time to which hosts have run ahead.
    fn next_at_one_instant(&self) -> Option<Time> {
        self.transit.calendar.window_end().or_else(|| self.heard_until())
    }

    #[expect(clippy::inline_always, reason = "once, in the loop of all events")]
    #[inline(always)]
    fn handle(&mut self, now: Time, id: ComponentId) {
        let Self { hosts, switches, transit, .. } = self;
        let component = self.components[id as usize];
        let node = component.node as usize;
        match component.kind {
            ComponentKind::SwitchArrival => {
                let link = &mut transit.links[component.link as usize];
                let mut frame = link.arrive_at_switch(&mut transit.calendar);
                if frame.is_cut() {
                    return switches[node].on_cut(now, component.port, &frame, transit);
                }
                frame.ingress = component.port;
                switches[node].on_arrival(now, &mut frame, transit);
            }
            ComponentKind::SwitchPort => switches[node].on_port(now, component.port, transit),
            ComponentKind::HostArrival => self.hear(id, true),
            ComponentKind::SlowArrival => self.arrive_at_slow_host(now, component, id),
            ComponentKind::Intake => {
                if let Some(frame) = hosts[node].take_from_buffer(now, transit) {
                    self.take_in(now, node, &frame);
                    self.hosts[node].begin_to_take_in(now, &mut self.transit);
                }
            }
            ComponentKind::Island => hosts[node].on_island(now, transit),
            ComponentKind::SlowPort => hosts[node].on_slow_port(now, transit),
            ComponentKind::HostPort | ComponentKind::HostTimer => hosts[node].work(now, transit),
            ComponentKind::HostChange => {
                hosts[node].on_change(now, transit);
                transit.calendar.schedule(id, hosts[node].failures.next());
            }
            ComponentKind::SwitchChange => {
                switches[node].on_change(now, transit);
                transit.calendar.schedule(id, switches[node].failures.next());
            }
            ComponentKind::HostStart => {
                hosts[node].catch_up(now, transit);
                hosts[node].start_measurement();
            }
            ComponentKind::HostInterval => {
                hosts[node].catch_up(now, transit);
                hosts[node].sample();
                transit.calendar.schedule(id, now + self.interval);
            }
            ComponentKind::SwitchInterval => {
                let from = Time::from_ps(now.as_ps() - self.interval.as_ps());
                switches[node].sample(from, now, transit);
                transit.calendar.schedule(id, now + self.interval);
            }
            ComponentKind::SwitchWatchdog => {
                if switches[node].has_overdue(now) {
                    self.note_dead_locks(node);
                }
                let Self { switches, transit, .. } = self;
                if let Some(period) = switches[node].watch(now, transit) {
                    transit.calendar.schedule(id, now + period);
                }
            }
        }
    }

    /// Lets a host handle the arrival that was announced, which comes at `now`.
    #[expect(clippy::inline_always, reason = "once, where hosts hear")]
    #[inline(always)]
    fn arrive_at_host(&mut self, now: Time, arrival: Component) {
        let Self { hosts, switches, transit, oracle, .. } = self;
        let host = &mut hosts[arrival.node as usize];
        let loud = transit.links[arrival.link as usize].arrive_if_loud();
        let frame = loud.unwrap_or_else(|| {
            host.take_in_quiet(now, transit);
            transit.links[arrival.link as usize].arrive_at_host()
        });
        if frame.is_cut() {
            return host.on_cut(now, &frame, transit);
        }
        let connection = (arrival.node as usize, frame.connection());
        let truth = oracle.as_ref().and_then(|oracle| oracle.rtt(connection, switches));
        host.on_arrival(now, &frame, truth, transit);
    }

    /// Lets a slow host take the announced frame from its link: the frame is handled now, or waits.
    #[cold]
    fn arrive_at_slow_host(&mut self, now: Time, arrival: Component, id: ComponentId) {
        let Self { hosts, transit, .. } = self;
        let node = arrival.node as usize;
        let link = &mut transit.links[arrival.link as usize];
        let frame = link.arrive_at_host();
        if let Some(at) = link.next_loud() {
            transit.calendar.schedule(id, at);
        }
        if frame.is_cut() {
            hosts[node].on_cut(now, &frame, transit);
        } else if hosts[node].receives_at_once(now, &frame, transit) {
            self.take_in(now, node, &frame);
        }
    }

    /// Lets a slow host handle a frame.
    #[cold]
    #[inline(never)]
    fn take_in(&mut self, now: Time, node: usize, frame: &Frame) {
        let Self { hosts, switches, transit, oracle, .. } = self;
        let connection = (node, frame.connection());
        let truth = oracle.as_ref().and_then(|oracle| oracle.rtt(connection, switches));
        hosts[node].on_arrival(now, frame, truth, transit);
    }

    /// Notes the present dead-locks, each once. A dead-lock that shares a port with a known one is
    /// the known one, if the port was held without a break since then.
    ///
    /// Switches below `had_their_turn` have handled all their events of this instant.
    #[cold]
    fn note_dead_locks(&mut self, had_their_turn: usize) {
        for (number, switch) in self.switches.iter_mut().enumerate() {
            switch.catch_up_until(self.now, number < had_their_turn, &mut self.transit);
        }
        for ports in dead_locks(&self.switches, &self.transit, &self.components) {
            let is_known = ports.iter().any(|held| {
                let mut known = self.dead_locks.iter().flat_map(|known| &known.ports);
                known.any(|known| (known.place, known.since) == (held.place, held.since))
            });
            if !is_known {
                self.dead_locks.push(DeadLock { at: self.now, ports });
            }
        }
    }

    /// Ends the run. An interval that ends together with a complete run counts.
    pub fn finish(&mut self, complete: bool) {
        let now = self.now;
        for host in &mut self.hosts {
            host.catch_up(now, &mut self.transit);
            host.take_back_from(now, &mut self.transit);
        }
        self.note_dead_locks(0);
        if complete && now.as_ps().is_multiple_of(self.interval.as_ps()) {
            let from = Time::from_ps(now.as_ps() - self.interval.as_ps());
            if self.flow_series {
                self.hosts.iter_mut().for_each(Host::sample);
            }
            if self.queue_series {
                let transit = &mut self.transit;
                self.switches.iter_mut().for_each(|switch| switch.sample(from, now, transit));
            }
        }
        for switch in &mut self.switches {
            switch.catch_up_until(now, false, &mut self.transit); // started frames stay
            switch.take_back(&mut self.transit);
        }
    }

    /// Ends the measurement: later events do not count.
    pub fn end_measurement(&mut self) {
        let now = self.now;
        for host in &mut self.hosts {
            host.catch_up(now, &mut self.transit);
            host.take_back_from(now, &mut self.transit);
            host.nic.finish(now);
            if let Some(berth) = &mut host.berth {
                berth.finish(now);
            }
        }
        self.switches.iter_mut().for_each(|switch| switch.finish(now, &mut self.transit));
    }

    /// The frames on all links.
    pub(crate) fn flying(&self) -> impl Iterator<Item = &Frame> {
        self.transit.links.iter().flat_map(Link::flying)
    }
}

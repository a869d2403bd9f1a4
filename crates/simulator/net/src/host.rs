//! A host: an endpoint of the transport, a NIC, and the applications that post.

mod arriving;
mod intake;
mod island;
mod measuring;
mod nic;
mod posting;
mod sending;
mod straight;

use std::sync::Arc;

use incast_cc::{Rate, Span, Time};
use incast_transport::Endpoint;

use super::Transit;
use super::calendar::{Calendar, ComponentId};
use super::count::Count;
use super::failure::{Change, Failures, change_link};
use super::frame::MOST_CONNECTIONS;
use super::prefetch::prefetch;
use super::trace::Trace;
use super::transmitter::Transmitter;
use crate::metrics::Histogram;
use incast_plan::application::{Application, Post};
use incast_plan::flows::Flows;
use incast_plan::{DeadlineNumber, Deadlines};
use intake::Intake;
pub use intake::IntakeConfig;
pub(crate) use island::Berth;
pub use island::IslandUse;
use measuring::Tallies;
pub use measuring::Tally;
use nic::NicAhead;

/// The traffic of one host: the flows of its connections, and the messages that it posts.
pub struct Duties {
    /// All flows of the network.
    pub flows: Arc<Flows>,
    /// The flow of each of the host's connections.
    pub connections: Arc<[u32]>,
    /// Messages that are posted in any case, in any order.
    pub posts: Vec<Planned>,
    /// Applications, which post further messages.
    pub applications: Vec<Box<dyn Application>>,
}

/// A message that is posted in any case.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// The moment of posting.
    pub at: Time,
    /// Payload, or [`ENDLESS`](incast_plan::application::ENDLESS).
    pub bytes: u64,
    /// The host's number of the connection.
    pub connection: u32,
    /// The deadline, by its number in [`Flows::deadlines`].
    pub deadline: DeadlineNumber,
}

/// A message that was posted. The messages of a flow are numbered in the order of time.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// The number of its flow.
    pub flow: u32,
    /// The moment of posting.
    pub at: Time,
    /// Payload, or [`ENDLESS`](incast_plan::application::ENDLESS).
    pub bytes: u64,
    /// The number of the message's deadline ([`Host::deadline`]).
    pub(crate) deadline: DeadlineNumber,
}

/// The departure of the first packet of a message, or of the request for it.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The number of the flow.
    pub flow: u32,
    /// Whether the packet carries payload rather than a request.
    pub data: bool,
    /// The moment of departure.
    pub at: Time,
    /// The time from posting to departure, spent at this host before the network.
    pub waited: Span,
}

/// The arrival of a message.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The moment of arrival.
    pub at: Time,
    /// The number of the flow.
    pub flow: u32,
    /// The number of the message within the flow, from 0.
    pub message: u32,
}

/// The sizes and marks of a host's packets on the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireFormat {
    /// The headers of a data packet, in bytes.
    pub header: u16,
    /// The size of an ACK, in bytes.
    pub ack: u16,
    /// Whether data packets reserve room for the words of switches (feedback).
    pub telemetry: bool,
    /// The wait in the NIC above which data is marked, in nanoseconds.
    pub marks_after_ns: Option<u32>,
}

/// A host: an endpoint of the transport, a NIC, and applications.
pub struct Host {
    number: u32,
    pub(crate) endpoint: Endpoint,
    pub(crate) nic: Transmitter,
    pub(crate) failures: Failures,
    /// The intake of a host that takes in less than its link brings.
    pub(crate) intake: Option<Box<Intake>>,
    /// The place of a host that is on an island.
    pub(crate) berth: Option<Box<Berth>>,
    timer: ComponentId,
    /// The time for which the timer was last set.
    timer_at: Time,
    /// Packets on the link whose transmission has not started.
    ahead: NicAhead,
    /// The link that leads to the host.
    incoming: u32,
    wire: WireFormat,
    flows: Arc<Flows>,
    /// The flow of each connection.
    connections: Arc<[u32]>,
    /// The connections that carry the payload of lasting flows.
    pub(crate) lasting: Vec<u32>,
    tallies: Tallies,
    /// The connections that had delivered payload when measurement started, and how much.
    delivered_before: Vec<(u32, u64)>,
    /// The posts to come; the last is the next.
    posts: Vec<Planned>,
    next_post_at: Time,
    pub(crate) applications: Vec<Box<dyn Application>>,
    /// The first timer of all applications.
    applications_at: Time,
    /// The posts that applications have just decided on.
    due: Vec<Post>,
    /// The messages of known size that were posted here, less those whose payload was acknowledged
    /// here: of a read the one is at its reader, the other at the far end.
    pub(crate) outstanding: i64,
    start: Time,
    pub(crate) posted: Vec<Posted>,
    /// The deadlines of the messages that were posted.
    pub(crate) deadlines: Deadlines,
    pub(crate) begun: Vec<Begun>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) sent: Count,
    pub(crate) received: Count,
    /// RTT samples of short flows, in nanoseconds, since measurement started.
    pub(crate) rtt: Histogram,
    /// The number of RTT samples of payload before measurement started.
    pub(crate) early_samples: u64,
    /// The sum of these samples, in nanoseconds.
    pub(crate) early_sum_ns: u64,
    /// The one-way delays of data packets that arrived here since measurement started, by traffic,
    /// in nanoseconds.
    pub(crate) delays: Vec<Histogram>,
    pub(crate) trace: Trace,
    /// For each interval and lasting connection: the payload received so far, and the rate.
    pub(crate) series: Vec<(u64, Rate)>,
}

impl Host {
    pub(crate) fn new(
        endpoint: Endpoint,
        nic: Transmitter,
        (number, timer): (u32, ComponentId),
        incoming: u32,
        wire: WireFormat,
        start: Time,
        trace: Trace,
    ) -> Self {
        Self {
            number,
            endpoint,
            nic,
            failures: Failures::default(),
            intake: None,
            berth: None,
            timer,
            timer_at: Time::MAX,
            ahead: NicAhead::default(),
            incoming,
            wire,
            flows: Arc::default(),
            connections: Arc::default(),
            lasting: Vec::new(),
            tallies: Tallies::default(),
            delivered_before: Vec::new(),
            posts: Vec::new(),
            next_post_at: Time::MAX,
            applications: Vec::new(),
            applications_at: Time::MAX,
            due: Vec::new(),
            outstanding: 0,
            start,
            posted: Vec::new(),
            deadlines: Deadlines::default(),
            begun: Vec::new(),
            deliveries: Vec::new(),
            sent: Count::default(),
            received: Count::default(),
            rtt: Histogram::default(),
            early_samples: 0,
            early_sum_ns: 0,
            delays: Vec::new(),
            trace,
            series: Vec::new(),
        }
    }

    /// Replaces the numbers of links and components by new ones.
    pub(crate) fn renumber(&mut self, links: &[u32], components: &[ComponentId]) {
        self.nic.link = links[self.nic.link as usize];
        self.incoming = links[self.incoming as usize];
        self.nic.component = components[self.nic.component as usize];
        self.timer = components[self.timer as usize];
        if let Some(intake) = &mut self.intake {
            intake.renumber(components);
        }
    }

    /// Makes the host slow: `component` has the moments at which it takes packets in.
    pub(crate) fn set_intake(&mut self, config: IntakeConfig, component: ComponentId) {
        self.intake = Some(Box::new(Intake::new(config, component)));
    }

    /// The link that leads to the host.
    pub(crate) const fn incoming(&self) -> u32 {
        self.incoming
    }

    /// Brings the host into the caches.
    #[inline]
    pub(crate) fn touch(&self) {
        prefetch(&self.next_post_at);
        prefetch(&self.timer);
        prefetch(&self.outstanding);
        prefetch(&self.nic.link);
        self.endpoint.touch();
    }

    /// Brings the connection that probably sends next into the caches.
    #[inline]
    pub(crate) fn touch_connection(&self) {
        self.endpoint.touch_connection();
    }

    /// Gives the host its traffic. Its endpoint already knows how to open the connections.
    pub(crate) fn set_duties(&mut self, duties: Duties, calendar: &mut Calendar) {
        let Duties { flows, connections, mut posts, applications } = duties;
        let (number, most) = (connections.len(), MOST_CONNECTIONS);
        assert!(number <= most, "{number} connections of a host; packets can tell {most} apart");
        (self.flows, self.connections) = (flows, connections);
        for (connection, &flow) in (0..).zip(&*self.connections) {
            let flow = &self.flows[flow as usize];
            if flow.is_lasting() && flow.is_data(self.number, connection) {
                self.lasting.push(connection);
            }
            if self.delays.len() <= flow.traffic as usize {
                self.delays.resize_with(flow.traffic as usize + 1, Histogram::default);
            }
        }
        self.tallies.numbers = vec![0; self.connections.len()].into();
        posts.sort_by_key(|post| (post.at, post.connection));
        posts.reverse();
        self.next_post_at = posts.last().map_or(Time::MAX, |post| post.at);
        self.posts = posts;
        self.applications = applications;
        self.note_applications();
        self.set_timer(Time::ZERO, calendar);
    }

    /// The flow of a connection.
    #[inline]
    fn flow(&self, connection: u32) -> u32 {
        self.connections[connection as usize]
    }

    /// Whether a connection carries payload rather than requests for it.
    #[inline]
    fn is_data(&self, connection: u32) -> bool {
        self.flows[self.flow(connection) as usize].is_data(self.number, connection)
    }

    /// Whether a timer or an application may have something to do.
    #[inline]
    fn has_due(&self, now: Time) -> bool {
        self.next_post_at <= now
            || self.applications_at <= now
            || self.endpoint.next_timer(now).is_some_and(|at| at <= now)
    }

    /// Whether [`work`](Self::work) would do more than set the timer.
    #[inline]
    fn has_work(&self, now: Time) -> bool {
        self.timer_at <= now || self.nic.is_free(now) && self.has_packet(now)
    }

    /// Applies the changes on the agenda that are due.
    pub(crate) fn on_change(&mut self, now: Time, transit: &mut Transit) {
        while let Some(change) = self.failures.pop(now) {
            if let (Change::Down { .. }, Some(intake)) = (&change, &mut self.intake) {
                intake.forget_pauses();
            }
            change_link(&mut self.nic, now, &change, &mut transit.links);
        }
        self.work(now, transit);
    }

    /// Handles the host's own events that come before an arrival at `at`; returns their number.
    #[expect(clippy::inline_always, reason = "in the way of every packet that arrives")]
    #[inline(always)]
    pub(crate) fn handle_before(&mut self, at: Time, transit: &mut Transit) -> u64 {
        // The timer is due at the time for which it was last set.
        if self.timer_at >= at && transit.calendar.due(self.nic.component) > at {
            return 0;
        }
        self.handle_all_before(at, transit)
    }

    #[inline(never)]
    fn handle_all_before(&mut self, at: Time, transit: &mut Transit) -> u64 {
        let mut events = 0;
        loop {
            let calendar = &mut transit.calendar;
            let (free, timer) = (calendar.due(self.nic.component), calendar.due(self.timer));
            let (event, id) = if free <= timer && free <= at {
                (free, self.nic.component) // before arrivals of the same instant
            } else if timer < at {
                (timer, self.timer)
            } else {
                return events;
            };
            calendar.schedule(id, Time::MAX);
            self.work(event, transit);
            events += 1;
        }
    }

    /// Does the work of an event: the timer, a free NIC, or news. Posts what is due, sends what may
    /// be sent, and sets the timer for the rest.
    #[inline]
    pub(crate) fn work(&mut self, now: Time, transit: &mut Transit) {
        self.take_back_before_due(now, transit);
        if self.has_due(now) {
            self.do_due(now, transit);
        }
        self.read_events(now);
        self.post_due(now, transit);
        self.serve_nic(now, transit);
        self.set_timer(now, &mut transit.calendar);
    }

    /// Runs the timers and applications that are due.
    #[inline]
    fn do_due(&mut self, now: Time, transit: &mut Transit) {
        if self.next_post_at <= now {
            self.post_planned(now, transit);
        }
        if self.applications_at <= now {
            self.wake_applications(now, transit);
        }
        if self.ahead.until > now && self.endpoint.has_alarm(now) {
            self.take_back(now, transit);
        }
        self.endpoint.on_timer(now);
    }

    /// Sets the timer for work that does not depend on the NIC.
    #[expect(clippy::inline_always, reason = "in the way of every packet that leaves")]
    #[inline(always)]
    fn set_timer(&mut self, now: Time, calendar: &mut Calendar) {
        let endpoint = self.endpoint.next_timer(now).unwrap_or(Time::MAX);
        let mut first = self.next_post_at.min(self.applications_at).min(endpoint);
        let open = self.nic.open_classes();
        if open != u8::MAX {
            let reply = self.endpoint.next_open_reply_at(now, open);
            first = first.min(reply.unwrap_or(Time::MAX));
        }
        // Wishes of an application for this very instant have been met, or will be. Mostly the
        // calendar is right already: a timer that was set and has not come is still in it.
        if first != self.timer_at || first <= now {
            self.timer_at = first;
            calendar.schedule(self.timer, first);
        }
    }
}

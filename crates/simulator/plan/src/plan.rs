//! The plan of a run: its flows, what is posted on them and when, and the applications that decide
//! the rest while the network runs.
//!
//! A plan is drawn from the scenario and the seed alone, so that schemes are compared on the same
//! traffic.

use std::fmt;
use std::ops::Range;

use incast_cc::{Bytes, Span, Time};

use crate::application::Application;
use crate::deadlines::DeadlineNumber;
use crate::flows::Flows;
use crate::job::Job;

/// The facts of one traffic that results tell.
#[derive(Clone, Debug)]
pub struct PlannedTraffic {
    /// The traffic's name.
    pub name: String,
    /// The rate of payload that the traffic offers while it lasts; [`None`] where it has no load.
    pub offered_bps: Option<f64>,
    /// The start and the end of the traffic.
    pub lasts: (Time, Time),
}

/// A message that is posted whatever happens.
#[derive(Clone, Copy, Debug)]
pub struct PlannedPost {
    /// The number of the message's flow.
    pub flow: u32,
    /// The moment of posting.
    pub at: Time,
    /// Payload; [`None`] has no end.
    pub bytes: Option<Bytes>,
    /// The deadline, by its number in [`Flows::deadlines`].
    pub deadline: DeadlineNumber,
}

/// Flows that belong together: one incast.
#[derive(Clone, Debug)]
pub struct Gathering {
    /// The number of the traffic that the incast belongs to.
    pub traffic: u16,
    /// The receiving host.
    pub receiver: u32,
    /// The moment of posting.
    pub at: Time,
    /// The numbers of the incast's flows.
    pub flows: Range<u32>,
    /// Payload of all flows together.
    pub bytes: Bytes,
    /// The time that the whole payload has from posting to completion.
    pub deadline: Option<Span>,
}

/// Makes an application from the flows of the run, which are known once all traffic is planned.
type Start = Box<dyn FnOnce(&Flows) -> Box<dyn Application> + Send>;

/// An application that has no connections yet.
pub struct PlannedApplication {
    host: u32,
    start: Start,
}

impl PlannedApplication {
    /// An application on `host`, which `start` makes once all flows are known.
    pub fn new<A: Application + 'static>(
        host: u32,
        start: impl FnOnce(&Flows) -> A + Send + 'static,
    ) -> Self {
        Self { host, start: Box::new(|flows| Box::new(start(flows))) }
    }

    /// The host, and the application with its connections.
    pub fn start(self, flows: &Flows) -> (u32, Box<dyn Application>) {
        (self.host, (self.start)(flows))
    }
}

impl fmt::Debug for PlannedApplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedApplication").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Everything that the traffic of a scenario asks for.
#[derive(Debug, Default)]
pub struct Plan {
    /// The flows, by number.
    pub flows: Flows,
    /// The messages that are posted whatever happens.
    pub posts: Vec<PlannedPost>,
    /// The incasts.
    pub gatherings: Vec<Gathering>,
    /// The applications, in the order of planning.
    pub applications: Vec<PlannedApplication>,
    /// The jobs, whose hosts have applications.
    pub jobs: Vec<Job>,
    /// The facts of each traffic that results tell.
    pub traffic: Vec<PlannedTraffic>,
    /// The traffic of each application, by host.
    pub owners: Vec<Vec<u16>>,
}

impl Plan {
    /// An empty plan between `hosts` hosts.
    pub fn between(hosts: usize) -> Self {
        Self { owners: vec![Vec::new(); hosts], flows: Flows::between(hosts), ..Self::default() }
    }

    /// Posts a message whatever happens, `bytes` long or without end.
    pub fn post(&mut self, flow: u32, at: Time, bytes: Option<Bytes>, deadline: Option<Span>) {
        let deadline = self.flows.number_deadline(deadline);
        self.posts.push(PlannedPost { flow, at, bytes, deadline });
    }

    /// The number that the next application on `host` will have: applications are numbered host by
    /// host, in the order in which they are planned.
    pub fn next_application(&mut self, host: u32, traffic: u16) -> u16 {
        let owners = &mut self.owners[host as usize];
        owners.push(traffic);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "one per traffic, which 16 bits number"
        )]
        let number = owners.len() as u16 - 1;
        number
    }
}

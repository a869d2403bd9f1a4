//! The traffic of a test bed on one machine: each host is a node in a network namespace of its own.
//!
//! All hosts of one CPU share a thread, which drives their nodes in turn
//! ([`Group`](incast_udp::Group)). Threads of their own would compete for the CPU, and the RTTs
//! would be those of the scheduler.

mod crew;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use incast_cc::Span;

use self::crew::Crew;
use incast_udp::security::SecurityError;
use incast_udp::socket::{Features, OpenError};
use incast_udp::{Gone, NodeError, Options, Refused};

/// The time between two looks at how the traffic goes.
const LOOK: Duration = Duration::from_millis(20);

/// A host of a test bed.
#[derive(Clone, Debug)]
pub struct Place {
    /// The name in errors.
    pub name: String,
    /// The file of the network namespace.
    pub namespace: PathBuf,
    /// The CPU of the host's thread.
    pub cpu: usize,
    /// The settings of the node, with the host's address.
    pub options: Options,
}

/// A connection on which data is sent all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The number of the sending host.
    pub from: usize,
    /// The number of the receiving host.
    pub to: usize,
}

/// A request of a client to servers, each of which answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The time from the start.
    pub at: Duration,
    /// The number of the client's host.
    pub client: usize,
    /// The numbers of the servers' hosts.
    pub servers: Vec<usize>,
    /// The bytes of each answer.
    pub bytes: u32,
}

/// The traffic of a test bed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The hosts.
    pub hosts: Vec<Place>,
    /// The connections that stay.
    pub flows: Vec<Flow>,
    /// The requests, in the order of their times.
    pub requests: Vec<Request>,
    /// The time for which there is traffic, once all connections are open.
    pub duration: Duration,
    /// The begin and the end of the time in which arriving bytes count.
    pub measured: (Duration, Duration),
    /// The length of an interval of the time series.
    pub interval: Duration,
}

impl Plan {
    /// Finds out whether all hosts exist that flows and requests name.
    ///
    /// # Errors
    ///
    /// If a flow or a request names a host that there is not; the error has its number.
    pub fn check(&self) -> Result<(), Failed> {
        let flows = self.flows.iter().flat_map(|flow| [flow.from, flow.to]);
        let asked = |one: &Request| {
            std::iter::once(one.client).chain(one.servers.iter().copied()).collect::<Vec<_>>()
        };
        let mut all = flows.chain(self.requests.iter().flat_map(asked));
        match all.find(|&host| host >= self.hosts.len()) {
            Some(host) => Err(Failed::Unknown { host, hosts: self.hosts.len() }),
            None => Ok(()),
        }
    }
}

/// Counts of the bytes that have arrived on a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The bytes in the time that is measured.
    pub measured: u64,
    /// The bytes of each interval.
    pub series: Vec<u64>,
    /// The packets that its sender sent again.
    pub retransmissions: u64,
}

/// An RTT sample of a test bed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// The time from the start.
    pub at: Duration,
    /// The RTT without the peer's turnaround.
    pub rtt: Span,
    /// The connection that stays, if it is one.
    pub flow: Option<usize>,
}

/// The outcome of the traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The arrivals of each flow.
    pub flows: Vec<Arrived>,
    /// The requests that were answered, by their numbers, and the times of the last answers.
    pub answered: Vec<(usize, Duration)>,
    /// The RTT samples of all senders from the start on.
    pub samples: Vec<RttSample>,
    /// The packets that all hosts sent again.
    pub retransmissions: u64,
}

/// The reason why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Traffic names a host that does not exist.
    #[error("there is no host {host}: the test bed has {hosts}, numbered from 0")]
    Unknown {
        /// The number of the host.
        host: usize,
        /// The number of hosts.
        hosts: usize,
    },
    /// A thread could not get to the place of a host.
    #[error("{name}: cannot enter {what}: {source}")]
    Place {
        /// The host.
        name: String,
        /// The namespace or the CPU.
        what: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A node could not be opened.
    #[error("{name}: {source}")]
    Node {
        /// The host.
        name: String,
        /// The reason.
        source: NodeError,
    },
    /// The features of the kernel could not be tried.
    #[error(transparent)]
    Features(#[from] OpenError),
    /// A connection could not be opened, or has broken.
    #[error("{name}: {why}")]
    Gone {
        /// The host.
        name: String,
        /// The reason.
        why: Gone,
    },
    /// A message was not taken for sending.
    #[error("{name}: {refused}")]
    Refused {
        /// The host.
        name: String,
        /// The reason.
        refused: Refused,
    },
    /// The system gives no random numbers.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The kernel reports an error of a socket.
    #[error("a socket of the test bed: {0}")]
    Socket(#[from] io::Error),
    /// The threads did not all become ready.
    #[error("the connections of the test bed were not open within {} s", PATIENCE.as_secs())]
    Late,
}

/// The time within which all connections have to be open.
const PATIENCE: Duration = Duration::from_secs(10);

/// State that the threads of a test bed share.
struct Shared<'a> {
    plan: &'a Plan,
    features: Features,
    addresses: Vec<SocketAddr>,
    /// The threads whose nodes are open, and those whose connections are.
    listening: AtomicUsize,
    ready: AtomicUsize,
    crews: usize,
    start: OnceLock<Instant>,
    stop: AtomicBool,
}

impl Shared<'_> {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Carries the traffic. `goes_on` is told the time since the start some times a second, and ends
/// the traffic early.
///
/// # Errors
///
/// If a namespace cannot be entered, a node or a connection not be opened, or one breaks.
pub fn run(plan: &Plan, mut goes_on: impl FnMut(Duration) -> bool) -> Result<Outcome, Failed> {
    plan.check()?;
    let mut crews: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, host) in plan.hosts.iter().enumerate() {
        crews.entry(host.cpu).or_default().push(number);
    }
    let shared = &Shared {
        plan,
        features: Features::probe()?,
        addresses: plan.hosts.iter().map(|host| host.options.address).collect(),
        listening: AtomicUsize::new(0),
        ready: AtomicUsize::new(0),
        crews: crews.len(),
        start: OnceLock::new(),
        stop: AtomicBool::new(false),
    };
    let mut outcome =
        Outcome { flows: vec![Arrived::default(); plan.flows.len()], ..Outcome::default() };
    let mut is_late = false;
    let parts: Vec<Result<Outcome, Failed>> = thread::scope(|scope| {
        let begins = |(cpu, hosts): (usize, Vec<usize>)| {
            let work = move || {
                let done = Crew::open(shared, cpu, hosts).and_then(Crew::run);
                if done.is_err() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                done
            };
            let named = thread::Builder::new().name(format!("incast-lab-{cpu}"));
            named.spawn_scoped(scope, work)
        };
        let threads: Vec<_> = crews.into_iter().map(begins).collect();
        let began = Instant::now();
        while !shared.stops() && threads.iter().all(Result::is_ok) {
            thread::sleep(LOOK);
            if shared.start.get().is_none() && shared.ready.load(Ordering::SeqCst) == shared.crews {
                shared.start.get_or_init(Instant::now);
            }
            let passed = shared.start.get().map(Instant::elapsed);
            is_late = passed.is_none() && began.elapsed() >= PATIENCE;
            let is_over = passed.is_some_and(|passed| passed >= plan.duration);
            if is_late || is_over || !goes_on(passed.unwrap_or_default()) {
                break;
            }
        }
        shared.stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| joined(thread?)).collect()
    });
    for part in parts {
        outcome.add(part?);
    }
    if is_late {
        return Err(Failed::Late);
    }
    Ok(outcome)
}

fn joined(
    thread: thread::ScopedJoinHandle<'_, Result<Outcome, Failed>>,
) -> Result<Outcome, Failed> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Outcome {
    /// Adds what another thread has seen.
    fn add(&mut self, part: Self) {
        for (flow, seen) in self.flows.iter_mut().zip(part.flows) {
            flow.measured += seen.measured;
            flow.retransmissions += seen.retransmissions;
            if !seen.series.is_empty() {
                flow.series = seen.series;
            }
        }
        self.answered.extend(part.answered);
        self.samples.extend(part.samples);
        self.retransmissions += part.retransmissions;
    }
}

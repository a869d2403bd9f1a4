//! The hosts of one CPU, on one thread.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{Arrived, Failed, Outcome, Place, RttSample, Shared};
use crate::load::{self, Ask};
use incast_udp::{CallId, Event, Group, Node, PeerId, Refused, place};

/// The longest turn: so late a thread hears of the start and of the end.
const TURN: Duration = Duration::from_millis(2);
/// The bytes of each message on a connection that stays.
const MESSAGE_BYTES: usize = 64_000;
/// The messages under way on it: the sender always has something to send.
const UNDER_WAY: usize = 16;
/// The bytes by which a message on a connection that stays begins.
const MAGIC: [u8; 4] = *b"flow";

/// The hosts of one CPU.
pub(super) struct Crew<'a> {
    shared: &'a Shared<'a>,
    /// The numbers of the hosts, in the order of the group's nodes.
    hosts: Vec<usize>,
    group: Group,
    /// The connections that are not open yet, each by its node.
    opening: HashSet<(usize, PeerId)>,
    /// The flows that these hosts send, with their messages.
    flows: HashMap<(usize, PeerId), (usize, Bytes)>,
    /// The connections of clients to servers, both by the numbers of the hosts.
    servers: HashMap<(usize, usize), (usize, PeerId)>,
    /// The requests that wait for answers, by each call.
    calls: HashMap<(usize, CallId), usize>,
    /// The answers that each request waits for.
    missing: HashMap<usize, usize>,
    /// The next request to look at.
    next: usize,
    outcome: Outcome,
}

impl<'a> Crew<'a> {
    /// Opens the nodes of hosts, each in its namespace. The thread stays in that of the last.
    pub(super) fn open(
        shared: &'a Shared<'a>,
        cpu: usize,
        hosts: Vec<usize>,
    ) -> Result<Self, Failed> {
        let place = |host: &Place, what: String| {
            let name = host.name.clone();
            move |source| Failed::Place { name, what, source }
        };
        let mut nodes = Vec::new();
        for &host in &hosts {
            let host = &shared.plan.hosts[host];
            if nodes.is_empty() {
                place::pin(cpu).map_err(place(host, format!("CPU {cpu}")))?;
                place::wake_promptly();
                place::go_first(1);
            }
            let what = host.namespace.display().to_string();
            place::enter(&host.namespace).map_err(place(host, what))?;
            let node = Node::open(host.options.clone(), shared.features);
            let mut node =
                node.map_err(|source| Failed::Node { name: host.name.clone(), source })?;
            node.keep_samples();
            nodes.push(node);
        }
        let flows = vec![Arrived::default(); shared.plan.flows.len()];
        Ok(Self {
            shared,
            hosts,
            group: Group::new(nodes),
            opening: HashSet::new(),
            flows: HashMap::new(),
            servers: HashMap::new(),
            calls: HashMap::new(),
            missing: HashMap::new(),
            next: 0,
            outcome: Outcome { flows, ..Outcome::default() },
        })
    }

    /// Connects, carries the traffic from the start to the end, and returns what came of it.
    pub(super) fn run(mut self) -> Result<Outcome, Failed> {
        let shared = self.shared;
        shared.listening.fetch_add(1, Ordering::SeqCst);
        while shared.listening.load(Ordering::SeqCst) < shared.crews && !shared.stops() {
            thread::sleep(TURN);
        }
        self.connect()?;
        while !self.opening.is_empty() && !shared.stops() {
            self.turn(None)?;
        }
        shared.ready.fetch_add(1, Ordering::SeqCst);
        let start = loop {
            if shared.stops() {
                return Ok(self.outcome);
            }
            if let Some(&start) = shared.start.get() {
                break start;
            }
            self.turn(None)?;
        };
        let all: Vec<_> = self.flows.iter().map(|(&at, (_, body))| (at, body.clone())).collect();
        for (at, body) in all {
            for _ in 0..UNDER_WAY {
                self.send(at, body.clone())?;
            }
        }
        while !shared.stops() {
            self.ask(start)?;
            self.turn(Some(start))?;
        }
        Ok(self.finish(start))
    }

    /// Begins the connections of flows and of clients.
    fn connect(&mut self) -> Result<(), Failed> {
        let shared = self.shared;
        for (number, flow) in shared.plan.flows.iter().enumerate() {
            let Some(at) = self.place_of(flow.from) else { continue };
            let peer = self.begin(at, flow.to)?;
            let mut body = vec![0; MESSAGE_BYTES];
            body[..4].copy_from_slice(&MAGIC);
            body[4..12].copy_from_slice(&(number as u64).to_be_bytes());
            self.flows.insert((at, peer), (number, body.into()));
        }
        for request in &shared.plan.requests {
            let Some(at) = self.place_of(request.client) else { continue };
            for &server in &request.servers {
                if !self.servers.contains_key(&(request.client, server)) {
                    let peer = self.begin(at, server)?;
                    self.servers.insert((request.client, server), (at, peer));
                }
            }
        }
        Ok(())
    }

    /// The node of a host, if it is of this thread.
    fn place_of(&self, host: usize) -> Option<usize> {
        self.hosts.iter().position(|&own| own == host)
    }

    fn begin(&mut self, at: usize, to: usize) -> Result<PeerId, Failed> {
        let peer = self.group.node(at).connect(self.shared.addresses[to], None)?;
        self.opening.insert((at, peer));
        Ok(peer)
    }

    /// Sends a message on a connection that stays.
    fn send(&mut self, (at, peer): (usize, PeerId), body: Bytes) -> Result<(), Failed> {
        let sent = self.group.node(at).note(peer, body);
        sent.map(|_| ()).map_err(|refused| self.refused(at, refused))
    }

    /// Makes the calls of the requests whose time has come.
    fn ask(&mut self, start: Instant) -> Result<(), Failed> {
        let requests = &self.shared.plan.requests;
        while let Some(request) = requests.get(self.next)
            && request.at <= start.elapsed()
        {
            let number = self.next;
            self.next += 1;
            for server in &request.servers {
                let Some(&(at, peer)) = self.servers.get(&(request.client, *server)) else {
                    continue;
                };
                let body = Ask { reply: request.bytes }.body(load::ASK_BYTES);
                let call = self.group.node(at).call(peer, body, None);
                let call = call.map_err(|refused| self.refused(at, refused))?;
                self.calls.insert((at, call), number);
                *self.missing.entry(number).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Sends and receives, until there is news or the next request is due.
    fn turn(&mut self, start: Option<Instant>) -> Result<(), Failed> {
        let mut deadline = Instant::now() + TURN;
        if let (Some(start), Some(next)) = (start, self.shared.plan.requests.get(self.next)) {
            deadline = deadline.min(start + next.at);
        }
        self.group.turn(deadline)?;
        while let Some((at, event)) = self.group.poll_event() {
            self.take(at, event, start)?;
        }
        Ok(())
    }

    fn take(&mut self, at: usize, event: Event, start: Option<Instant>) -> Result<(), Failed> {
        match event {
            Event::Opened { peer, .. } => drop(self.opening.remove(&(at, peer))),
            Event::Noted { body, .. } => self.count(&body, start),
            Event::Delivered { note } => {
                let key = (at, note.peer());
                if let Some((_, body)) = self.flows.get(&key) {
                    let body = body.clone();
                    self.send(key, body)?;
                }
            }
            Event::Called { call, body, .. } => {
                let answered = load::answer(self.group.node(at), call, &body);
                answered.map_err(|refused| self.refused(at, refused))?;
            }
            Event::Replied { call, .. } => {
                let Some(number) = self.calls.remove(&(at, call)) else { return Ok(()) };
                let Some(missing) = self.missing.get_mut(&number) else { return Ok(()) };
                *missing -= 1;
                if *missing == 0 {
                    self.missing.remove(&number);
                    let now = start.map(|start| start.elapsed()).unwrap_or_default();
                    self.outcome.answered.push((number, now));
                }
            }
            // A peer whose thread has ended is gone, too.
            Event::Gone { why, .. } if !self.shared.stops() => {
                let name = self.name(at);
                return Err(Failed::Gone { name, why });
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts a message of a connection that stays.
    fn count(&mut self, body: &Bytes, start: Option<Instant>) {
        let plan = self.shared.plan;
        let Some(now) = start.map(|start| start.elapsed()) else { return };
        let Some(number) = flow_of(body) else { return };
        let Some(flow) = self.outcome.flows.get_mut(number) else { return };
        let bytes = body.len() as u64;
        let (begin, end) = plan.measured;
        if (begin..end).contains(&now) {
            flow.measured += bytes;
        }
        let intervals = plan.duration.as_nanos().div_ceil(plan.interval.as_nanos().max(1));
        flow.series.resize(usize::try_from(intervals).unwrap_or(usize::MAX), 0);
        let interval = now.as_nanos() / plan.interval.as_nanos().max(1);
        let interval = usize::try_from(interval).unwrap_or(usize::MAX);
        if let Some(sum) = flow.series.get_mut(interval) {
            *sum += bytes;
        }
    }

    fn finish(mut self, start: Instant) -> Outcome {
        for at in 0..self.group.len() {
            let node = self.group.node(at);
            let began = node.started();
            for sample in node.take_samples() {
                let Some(since) = (began + sample.at).checked_duration_since(start) else {
                    continue;
                };
                let flow = self.flows.get(&(at, sample.peer)).map(|&(flow, _)| flow);
                self.outcome.samples.push(RttSample { at: since, rtt: sample.rtt, flow });
            }
            for peer in node.peers().collect::<Vec<_>>() {
                let again = node.statistics(peer).map_or(0, |peer| peer.retransmissions);
                self.outcome.retransmissions += again;
                if let Some((flow, _)) = self.flows.get(&(at, peer)) {
                    self.outcome.flows[*flow].retransmissions = again;
                }
            }
        }
        self.outcome
    }

    fn name(&self, at: usize) -> String {
        self.shared.plan.hosts[self.hosts[at]].name.clone()
    }

    /// The failure of a message that was not taken.
    fn refused(&self, at: usize, refused: Refused) -> Failed {
        Failed::Refused { name: self.name(at), refused }
    }
}

/// The number of the flow of a message.
fn flow_of(body: &[u8]) -> Option<usize> {
    let [m0, m1, m2, m3, number @ ..] = *body.first_chunk::<12>()?;
    let number = usize::try_from(u64::from_be_bytes(number)).ok()?;
    ([m0, m1, m2, m3] == MAGIC).then_some(number)
}

//! The triggers of htsim as conditions for the start of a scenario's flows.
//!
//! A scenario's flow waits for others to be sent or received. The host that starts the flow must
//! see that itself: hosts know only what they sent and received. htsim's triggers may fire
//! anywhere, so a matrix that needs more is refused.

use std::collections::{BTreeMap, VecDeque};

use incast_cc::{Rate, Span};

use super::htsim_matrix::{Connection, Matrix, Trigger, TriggerKind, When};
use super::text::refused;
use super::{After, Flow, ForeignError, Start, What};

impl Matrix {
    /// The flows of a scenario between `host0`, `host1` and so on.
    ///
    /// # Errors
    /// A connection starts in a way that a scenario cannot express, or never.
    pub fn flows(&self, file: &str) -> Result<Vec<Flow>, ForeignError> {
        let ids = self.ids(file)?;
        let causes = self.causes(file, &ids)?;
        let mut waiting: BTreeMap<u32, u32> = BTreeMap::new();
        for connection in &self.connections {
            if let When::Trigger(trigger) = connection.start {
                *waiting.entry(trigger).or_default() += 1;
            }
        }
        let flow = |(at, connection): (usize, &Connection)| {
            let start = match connection.start {
                When::At(start) => Start::At(start),
                When::Trigger(number) if connection.size.is_none() => {
                    let reason = format!(
                        "it has no end and starts when trigger {number} fires; a flow without end \
                         starts at a time"
                    );
                    return Err(refused(file, connection.line, reason));
                }
                When::Trigger(number) => {
                    Start::After(self.after(file, connection, number, &causes, &waiting)?)
                }
            };
            Ok(Flow {
                from: format!("host{}", connection.from),
                to: format!("host{}", connection.to),
                start,
                size: connection.size,
                id: ids[at],
                group: None,
                priority: connection.priority,
                line: connection.line,
            })
        };
        let flows: Vec<_> =
            self.connections.iter().enumerate().map(flow).collect::<Result<_, _>>()?;
        last_end(&flows, Rate::MAX).map_err(|flow| {
            let reason = "it never starts: what it waits for never ends, or waits for it";
            refused(file, flow.line, reason)
        })?;
        Ok(flows)
    }

    /// The id of each connection. A connection without one, which others wait for, gets a new id
    /// above all others.
    fn ids(&self, file: &str) -> Result<Vec<Option<u32>>, ForeignError> {
        let mut lines = BTreeMap::new();
        for connection in &self.connections {
            let Some(id) = connection.id else { continue };
            if let Some(other) = lines.insert(id, connection.line) {
                let reason = format!("connection {id} is there already, in line {other}");
                return Err(refused(file, connection.line, reason));
            }
        }
        let mut next = lines.last_key_value().map_or(1, |(&last, _)| last.saturating_add(1));
        let id = |connection: &Connection| {
            let fires = connection.send_done.or(connection.recv_done).is_some();
            connection.id.or_else(|| {
                fires.then(|| {
                    next = next.saturating_add(1);
                    next - 1
                })
            })
        };
        Ok(self.connections.iter().map(id).collect())
    }

    /// The causes that fire each trigger.
    fn causes(
        &self,
        file: &str,
        ids: &[Option<u32>],
    ) -> Result<BTreeMap<u32, Vec<Cause<'_>>>, ForeignError> {
        let mut causes: BTreeMap<u32, Vec<Cause<'_>>> = BTreeMap::new();
        for (connection, id) in self.connections.iter().zip(ids) {
            for (trigger, what) in
                [(connection.send_done, What::Sent), (connection.recv_done, What::Received)]
            {
                let (Some(trigger), Some(id)) = (trigger, *id) else { continue };
                if !self.triggers.contains_key(&trigger) {
                    return Err(refused(file, connection.line, unknown(trigger)));
                }
                causes.entry(trigger).or_default().push(Cause { id, what, connection });
            }
        }
        Ok(causes)
    }

    fn after(
        &self,
        file: &str,
        waits: &Connection,
        number: u32,
        causes: &BTreeMap<u32, Vec<Cause<'_>>>,
        waiting: &BTreeMap<u32, u32>,
    ) -> Result<After, ForeignError> {
        let fail = |reason: String| Err(refused(file, waits.line, reason));
        let Some(Trigger { kind, line }) = self.triggers.get(&number) else {
            return fail(unknown(number));
        };
        let Some(causes) = causes.get(&number) else {
            return fail(format!("it waits for trigger {number}, which no connection fires"));
        };
        let what = causes[0].what;
        for cause in causes {
            let seen_at = match cause.what {
                What::Sent => cause.connection.from,
                What::Received => cause.connection.to,
            };
            if seen_at != waits.from {
                return fail(format!(
                    "it starts at node {} when trigger {number} fires, which connection {} \
                     ({}->{}, line {}) does at \
                     node {seen_at}; a host starts a flow only for what it has sent or received \
                     itself",
                    waits.from,
                    cause.id,
                    cause.connection.from,
                    cause.connection.to,
                    cause.connection.line
                ));
            }
            if cause.what != what {
                return fail(format!(
                    "trigger {number} fires for connections that are sent and for others that are \
                     received; a flow \
                     waits for one or the other"
                ));
            }
        }
        let count = causes.len();
        let all = match *kind {
            TriggerKind::Multishot if waiting.get(&number) != Some(&1) => {
                return fail(format!(
                    "trigger {number} in line {line} is multishot and starts one more flow each \
                     time; with several \
                     flows that wait for it a scenario cannot say which is next"
                ));
            }
            TriggerKind::Oneshot | TriggerKind::Multishot => count == 1,
            TriggerKind::Barrier(needed) if needed as usize == count => true,
            TriggerKind::Barrier(1) => false,
            TriggerKind::Barrier(needed) if needed as usize > count => {
                return fail(format!(
                    "the barrier {number} in line {line} is passed at {needed}, but only {count} \
                     connections reach it"
                ));
            }
            TriggerKind::Barrier(needed) => {
                return fail(format!(
                    "the barrier {number} in line {line} is passed by any {needed} of {count} \
                     connections; a flow waits \
                     for one of them or for all"
                ));
            }
        };
        Ok(After { ids: causes.iter().map(|cause| cause.id).collect(), all, what })
    }
}

/// A connection that fires a trigger.
struct Cause<'a> {
    id: u32,
    what: What,
    connection: &'a Connection,
}

fn unknown(trigger: u32) -> String {
    format!("trigger {trigger} is not there; add a line such as \"trigger id {trigger} oneshot\"")
}

/// The time when the last of `flows` ends if each has the rate to itself, or starts if it has no
/// end. The error is a flow that never starts.
pub(crate) fn last_end(flows: &[Flow], rate: Rate) -> Result<Span, &Flow> {
    let mut waiting: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut ready = VecDeque::new();
    // How many ends each flow still waits for, and the latest end so far.
    let mut state: Vec<(usize, Span)> = Vec::with_capacity(flows.len());
    for (number, flow) in flows.iter().enumerate() {
        state.push(match &flow.start {
            Start::At(start) => {
                ready.push_back(number);
                (0, *start)
            }
            Start::After(after) => {
                after.ids.iter().for_each(|&id| waiting.entry(id).or_default().push(number));
                (if after.all { after.ids.len() } else { 1 }, Span::ZERO)
            }
        });
    }
    let (mut last, mut started) = (Span::ZERO, vec![false; flows.len()]);
    while let Some(number) = ready.pop_front() {
        started[number] = true;
        let flow = &flows[number];
        let Some(size) = flow.size else {
            last = last.max(state[number].1);
            continue;
        };
        let end = state[number].1 + rate.time_for(size);
        last = last.max(end);
        for &next in flow.id.iter().filter_map(|id| waiting.get(id)).flatten() {
            let (left, latest) = &mut state[next];
            if *left > 0 {
                (*left, *latest) = (*left - 1, end.max(*latest));
                if *left == 0 {
                    ready.push_back(next);
                }
            }
        }
    }
    match flows.iter().zip(started).find(|(_, started)| !started) {
        Some((flow, _)) => Err(flow),
        None => Ok(last),
    }
}

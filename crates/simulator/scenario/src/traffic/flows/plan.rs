//! The plan of listed flows.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_cc::{Bytes, Span, Time};

use incast_plan::application::Outcome;
use incast_plan::flows::Life;
use incast_plan::steps::{Due, Listing, Rounds, Step, Worker};
use incast_plan::{Plan, PlannedApplication};

use super::super::context::{Context, NewFlow};
use super::{After, AfterEvent, FlowList};

/// The waiting flows of a host, without their connections.
#[derive(Debug, Default)]
struct Chain {
    steps: Listing,
    /// The step that awaits each outcome of each slot.
    awaits: BTreeMap<(u32, bool), u32>,
    /// The number of slots.
    slots: u32,
    /// The flow of each connection, and the deadline of each step.
    flows: Vec<u32>,
    deadlines: Deadlines,
}

/// The deadlines of flows, by the step that posts them.
#[derive(Debug, Default)]
struct Deadlines(BTreeMap<u32, Span>);

impl Due for Deadlines {
    fn due(&mut self, step: u32, _bytes: Bytes) -> Option<Span> {
        self.0.get(&step).copied()
    }
}

/// A flow that waits for others.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    flow: u32,
    bytes: Bytes,
    deadline: Option<Span>,
}

/// Plans the flows in the order of the list.
pub(super) fn plan(context: &Context<'_>, plan: &mut Plan, list: &FlowList) {
    let hosts: BTreeMap<_, _> =
        context.topology.hosts.iter().zip(0..).map(|(name, host)| (name.as_str(), host)).collect();
    let host = |name: &str| {
        *hosts.get(name).unwrap_or_else(|| unreachable!("the scenario was checked: {name}"))
    };
    let mut by_id = BTreeMap::new();
    let mut waiting = Vec::new();
    let mut deadlines = context.deadlines();
    for (listed, before) in list.list.iter().zip(ranks(list, context.common.start)) {
        let start = Time::ZERO + listed.start.unwrap_or(context.common.start);
        let flow = context.flow(host(&listed.from), host(&listed.to), listed.size);
        let mut flow = NewFlow { before, ..flow };
        let treatment = &mut flow.treatment;
        if let Some(class) = &listed.class {
            treatment.class = context.scenario.class_number(class).unwrap_or(treatment.class);
        }
        treatment.weight = listed.weight.unwrap_or(treatment.weight);
        if listed.size.is_none() {
            flow.life = Life::Lasting;
        }
        let bps = context.line_bps(flow.source);
        let own = listed.deadline.as_ref();
        let deadline = listed.size.and_then(|bytes| deadlines.draw_on(bps, own, bytes));
        let flow = flow.add_to(plan);
        if let Some(id) = listed.id {
            by_id.insert(id, flow);
        }
        match &listed.after {
            None => plan.post(flow, start, listed.size, deadline),
            Some(after) => {
                let bytes = listed.size.unwrap_or(Bytes::ZERO);
                waiting.push((Waiting { flow, bytes, deadline }, after));
            }
        }
    }
    let mut chains = BTreeMap::new();
    for (waits, after) in waiting {
        let host = plan.flows[waits.flow as usize].source;
        let (number, chain) = chains
            .entry(host)
            .or_insert_with(|| (plan.next_application(host, context.number), Chain::default()));
        wait(plan, *number, chain, (waits, after), &by_id);
    }
    plan.applications.extend(chains.into_iter().map(|(host, (_, chain))| {
        let Chain { steps, flows: posted, deadlines, .. } = chain;
        PlannedApplication::new(host, move |flows| {
            let connections = posted.iter().map(|&flow| flows[flow as usize].posting()).collect();
            Worker::new(Arc::new(steps.finish()), connections, Rounds::ONCE, deadlines)
        })
    }));
}

/// The rank of each flow of the list: how many others start before it, whatever their order in the
/// list. Flows that wait for others are counted separately, from [`WAITING`] on.
#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
fn ranks(list: &FlowList, start: Span) -> Vec<u32> {
    let waits = |place: usize| list.list[place].after.is_some();
    let mut places: Vec<_> = (0..list.list.len()).collect();
    places.sort_by_key(|&place| (waits(place), list.list[place].start.unwrap_or(start)));
    let started = places.iter().filter(|&&place| !waits(place)).count();
    let mut ranks = vec![0; places.len()];
    for (rank, place) in places.into_iter().enumerate() {
        ranks[place] = match rank.checked_sub(started) {
            None => rank as u32,
            Some(waiting) => WAITING + waiting as u32,
        };
    }
    ranks
}

/// The first rank of a waiting flow: more than the number of flows.
const WAITING: u32 = 1 << 31;

/// Adds a waiting flow to the chain of its host.
fn wait(
    plan: &mut Plan,
    number: u16,
    chain: &mut Chain,
    (waits, after): (Waiting, &After),
    by_id: &BTreeMap<u64, u32>,
) {
    let ids = if after.all.is_empty() { &after.any } else { &after.all };
    let (at_source, outcome) = match after.event {
        AfterEvent::Sent => (true, Outcome::Sent),
        AfterEvent::Received => (false, Outcome::Received),
    };
    let awaited: Vec<_> = ids
        .iter()
        .filter_map(|id| by_id.get(id))
        .map(|&flow| {
            let slot = plan.flows.follower(flow, at_source).map_or_else(
                || {
                    let next = chain.slots;
                    chain.slots += 1;
                    plan.flows.follow(flow, at_source, (number, next));
                    next
                },
                |(_, slot)| slot,
            );
            let steps = &mut chain.steps;
            let new = || steps.after(&[], Step::Await { slot, outcome });
            *chain.awaits.entry((slot, at_source)).or_insert_with(new)
        })
        .collect();
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
    let to = chain.flows.len() as u32;
    chain.flows.push(waits.flow);
    let send = Step::Send { to, bytes: waits.bytes.get() };
    let step = if after.all.is_empty() {
        chain.steps.after_any(&awaited, send)
    } else {
        chain.steps.after(&awaited, send)
    };
    chain.deadlines.0.extend(waits.deadline.map(|deadline| (step, deadline)));
}

//! The plan of listed flows.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Span, Time};

use incast_plan::application::Outcome;
use incast_plan::flows::Life;
use incast_plan::{Plan, PlannedApplication};

use super::super::context::{Context, NewFlow};
use super::chain::{Awaited, Chain, Dependent, Trigger};
use super::{After, AfterEvent, FlowList};

/// The waiting flows of a host, without their connections.
#[derive(Debug, Default)]
struct PlannedChain {
    triggers: Vec<Vec<Trigger>>,
    /// Each flow, and the number of its triggers.
    dependents: Vec<(Waiting, u32)>,
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
        let (number, chain) = chains.entry(host).or_insert_with(|| {
            (plan.next_application(host, context.number), PlannedChain::default())
        });
        wait(plan, *number, chain, (waits, after), &by_id);
    }
    plan.applications.extend(chains.into_iter().map(|(host, (_, chain))| {
        PlannedApplication::new(host, move |flows| {
            let dependents = chain.dependents.into_iter().map(|(waits, needs)| Dependent {
                connection: flows[waits.flow as usize].posting(),
                bytes: waits.bytes.get(),
                deadline: waits.deadline,
                awaited: Awaited::More(needs),
            });
            Chain { triggers: chain.triggers, dependents: dependents.collect() }
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
    chain: &mut PlannedChain,
    (waits, after): (Waiting, &After),
    by_id: &BTreeMap<u64, u32>,
) {
    let (ids, needs) =
        if after.all.is_empty() { (&after.any, 1) } else { (&after.all, after.all.len()) };
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
    let (dependent, needs) = (chain.dependents.len() as u32, needs as u32);
    chain.dependents.push((waits, needs));
    for awaited in ids.iter().filter_map(|id| by_id.get(id)) {
        let (at_source, outcome) = match after.event {
            AfterEvent::Sent => (true, Outcome::Sent),
            AfterEvent::Received => (false, Outcome::Received),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
        let slot = plan.flows.follower(*awaited, at_source).map_or_else(
            || {
                let next = chain.triggers.len() as u32;
                chain.triggers.push(Vec::new());
                plan.flows.follow(*awaited, at_source, (number, next));
                next
            },
            |(_, slot)| slot,
        );
        chain.triggers[slot as usize].push(Trigger { outcome, dependent });
    }
}

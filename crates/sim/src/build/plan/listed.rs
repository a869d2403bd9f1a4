//! Flows one by one.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Time};

use super::{Context, Plan, Planned, PlannedApplication, PlannedChain};
use crate::network::application::{Outcome, Trigger};
use crate::scenario::{After, AfterEvent, FlowList};

/// In the order of the list.
pub(super) fn plan(context: &Context<'_>, plan: &mut Plan, list: &FlowList) {
    let hosts: BTreeMap<_, _> =
        context.topology.hosts.iter().zip(0..).map(|(name, host)| (name.as_str(), host)).collect();
    let host = |name: &str| {
        *hosts.get(name).unwrap_or_else(|| unreachable!("the scenario was checked: {name}"))
    };
    let mut by_id = BTreeMap::new();
    let mut waiting = Vec::new();
    for listed in &list.list {
        let start = Time::ZERO + listed.start.unwrap_or(context.traffic.start);
        let mut flow = context.flow(host(&listed.from), host(&listed.to), start, listed.size);
        if let Some(class) = &listed.class {
            flow.class = context.scenario.class_number(class).unwrap_or(flow.class);
        }
        flow.weight = listed.weight.unwrap_or(flow.weight);
        flow.deadline = listed.deadline.or(flow.deadline);
        flow.lasting = listed.size.is_none();
        let flow = plan.add(flow);
        if let Some(id) = listed.id {
            by_id.insert(id, flow);
        }
        match &listed.after {
            None => plan.posts.push(Planned { flow, at: start, bytes: listed.size }),
            Some(after) => waiting.push((flow, listed.size.unwrap_or(Bytes::ZERO), after)),
        }
    }
    let mut chains = BTreeMap::new();
    for (flow, bytes, after) in waiting {
        let host = plan.flows[flow as usize].source;
        let (number, chain) = chains.entry(host).or_insert_with(|| {
            let chain = PlannedChain { host, triggers: Vec::new(), dependents: Vec::new() };
            (plan.next_application(host, context.number), chain)
        });
        wait(plan, *number, chain, (flow, bytes), after, &by_id);
    }
    plan.applications
        .extend(chains.into_values().map(|(_, chain)| PlannedApplication::Chain(chain)));
}

/// Adds a flow that waits to the chain of its host.
fn wait(
    plan: &mut Plan,
    number: u16,
    chain: &mut PlannedChain,
    (flow, bytes): (u32, Bytes),
    after: &After,
    by_id: &BTreeMap<u64, u32>,
) {
    let (ids, needs) =
        if after.all.is_empty() { (&after.any, 1) } else { (&after.all, after.all.len()) };
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
    let (dependent, needs) = (chain.dependents.len() as u32, needs as u32);
    chain.dependents.push((flow, bytes, needs));
    for awaited in ids.iter().filter_map(|id| by_id.get(id)) {
        let awaited = &mut plan.flows[*awaited as usize];
        let (end, outcome) = match after.event {
            AfterEvent::Sent => (&mut awaited.at_source, Outcome::Sent),
            AfterEvent::Received => (&mut awaited.at_destination, Outcome::Received),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
        let next = chain.triggers.len() as u32;
        let (_, slot) = *end.get_or_insert((number, next));
        if slot == next {
            chain.triggers.push(Vec::new());
        }
        chain.triggers[slot as usize].push(Trigger { outcome, dependent });
    }
}

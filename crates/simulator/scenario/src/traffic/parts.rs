//! The parts of a job on their hosts: connections, applications, and the job that they form.

use std::sync::Arc;

use incast_plan::application::Outcome;
use incast_plan::flows::Life;
use incast_plan::job::{Job, Kept};
use incast_plan::part::{Part, Peer};
use incast_plan::steps::{Rounds, Worker};
use incast_plan::{Plan, PlannedApplication};

use super::context::{Context, NewFlow};

/// Plans a job. Rank n has the n-th part and runs on the n-th host, each on its own, for the same
/// rounds.
pub(super) fn place(
    context: &Context<'_>,
    plan: &mut Plan,
    (hosts, parts): (&[u32], Vec<Part>),
    rounds: &Rounds,
) {
    let applications: Vec<_> =
        hosts.iter().map(|&host| plan.next_application(host, context.number)).collect();
    let slots = Slots::of(&parts);
    let bytes = rounds.told.map(|told| told.bytes);
    let steps: usize = parts.iter().map(|part| part.steps.all().len()).sum();
    let keeps = context.scenario.keeps_steps((steps as u64).saturating_mul(rounds.count));
    let mut all_flows = Vec::new();
    for ((rank, part), &host) in (0..).zip(&parts).zip(hosts) {
        let heeds_acks = part.steps.awaits(Outcome::Sent);
        let mut flows = Vec::with_capacity(part.to.len());
        for (place, peer) in (0..).zip(&part.to) {
            let far = peer.rank as usize;
            let flow = context.flow(host, hosts[far], bytes);
            let flow = NewFlow { life: Life::Lasting, ..flow };
            let flow = flow.add_to(plan);
            if let Some(slot) = slots.get(peer.rank, Peer { rank, lane: peer.lane }) {
                plan.flows.follow(flow, false, (applications[far], slot));
            }
            if heeds_acks {
                plan.flows.follow(flow, true, (applications[rank as usize], place));
            }
            flows.push(flow);
        }
        if keeps {
            all_flows.push(flows.clone());
        }
        let (steps, rounds) = (Arc::clone(&part.steps), rounds.clone());
        let deadlines = context.deadlines_of(host);
        plan.applications.push(PlannedApplication::new(host, move |all| {
            let connections = flows.iter().map(|&flow| all[flow as usize].posting()).collect();
            Worker::new(steps, connections, rounds, deadlines).recording(keeps)
        }));
    }
    let members = hosts.iter().copied().zip(applications).collect();
    let kept = keeps.then_some(Kept { parts, flows: all_flows });
    plan.jobs.push(Job { traffic: context.number, members, kept });
}

/// The slots of all receiving ends, sorted: rank, far end, slot.
struct Slots(Vec<(u32, Peer, u32)>);

impl Slots {
    fn of(parts: &[Part]) -> Self {
        let of_rank = |(rank, part): (u32, &'_ Part)| {
            let slot = move |(slot, &far): (u32, &Peer)| (rank, far, slot);
            (0..).zip(&part.from).map(slot).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = (0..).zip(parts).flat_map(of_rank).collect();
        all.sort_unstable();
        Self(all)
    }

    fn get(&self, rank: u32, far: Peer) -> Option<u32> {
        let key = |&(rank, far, _): &(u32, Peer, u32)| (rank, far);
        let place = self.0.binary_search_by_key(&(rank, far), key).ok()?;
        Some(self.0[place].2)
    }
}

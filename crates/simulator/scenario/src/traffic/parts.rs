//! The parts of a job on their hosts: connections, applications, and the job that they form.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_cc::Span;
use incast_plan::application::Outcome;
use incast_plan::flows::Life;
use incast_plan::job::{Job, Kept};
use incast_plan::part::{Part, Peer};
use incast_plan::random::purpose;
use incast_plan::steps::{Rounds, Told, Worker};
use incast_plan::{Plan, PlannedApplication};

use super::context::{Context, NewFlow};

/// The most connections of a traffic for each of its hosts that have time series and histograms of
/// their own: those of rings and trees, not those between all pairs.
const MOST_LASTING: usize = 8;

/// The pace of a host.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The rounds.
    pub(super) rounds: Rounds,
    /// The most by which a round begins later, at random.
    pub(super) jitter: Span,
    /// The time that it takes to set up a connection before its first message.
    pub(super) set_up: Span,
}

/// The connections of `hosts` hosts that last, out of as many.
pub(super) const fn lasting(connections: usize, hosts: usize) -> usize {
    if connections <= MOST_LASTING * hosts { connections } else { 0 }
}

/// Plans a job. Rank n has the n-th part and runs on the n-th host, each on its own, for the same
/// number of rounds. Results tell of a rank's round how many messages it takes in.
pub(super) fn place(
    context: &Context<'_>,
    plan: &mut Plan,
    (hosts, parts): (&[u32], Vec<Part>),
    pace: impl Fn(u32) -> Pace,
) {
    let applications: Vec<_> =
        hosts.iter().map(|&host| plan.next_application(host, context.number)).collect();
    let slots = Slots::of(&parts);
    let connections = parts.iter().map(|part| part.to.len()).sum();
    let lasts = lasting(connections, hosts.len()) > 0;
    let life = if lasts { Life::Lasting } else { Life::OnDemand };
    let steps: usize = parts.iter().map(|part| part.steps.all().len()).sum();
    let keeps =
        context.scenario.keeps_steps((steps as u64).saturating_mul(pace(hosts[0]).rounds.count));
    let mut all_flows = Vec::new();
    for ((rank, part), &host) in (0..).zip(&parts).zip(hosts) {
        let Pace { mut rounds, jitter, set_up } = pace(host);
        let fan_out = u32::try_from(part.steps.arrivals()).unwrap_or(u32::MAX);
        rounds.told = rounds.told.map(|told| Told { fan_out, ..told });
        let bytes = rounds.told.map(|told| told.bytes);
        let heeds_acks = part.steps.awaits(Outcome::Sent);
        let mut flows = Vec::with_capacity(part.to.len());
        let mut lanes = BTreeMap::new();
        for (place, peer) in (0..).zip(&part.to) {
            let far = peer.rank as usize;
            // Flows to the same host have different labels, and may take different paths.
            let before = lanes.entry(peer.rank).or_insert(0);
            let flow = context.flow(host, hosts[far], bytes);
            let flow = NewFlow { life, before: *before, ..flow }.add_to(plan);
            *before += 1;
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
        let steps = Arc::clone(&part.steps);
        let random = context.generator_of(host, purpose::ROUND_JITTER);
        let deadlines = context.deadlines_of(host);
        plan.applications.push(PlannedApplication::new(host, move |all| {
            let connections = flows.iter().map(|&flow| all[flow as usize].posting()).collect();
            let worker = Worker::new(steps, connections, rounds, deadlines).recording(keeps);
            worker.with_jitter(jitter, random).with_set_up(set_up)
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

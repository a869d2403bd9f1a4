//! Flows that arrive at random, one by one and in bursts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use incast_cc::{Bytes, Time};
use rand_core::Rng;

use super::{Context, Flow, Gathering, Plan, Planned};
use crate::random::{below, distinct, exponential, generator, mean_gap, unit};
use crate::scenario::{Destinations, Incast, LoadOf, Poisson};

/// Flows of a Poisson process at each source; returns the offered load in bits per second.
pub(super) fn poisson(context: &Context<'_>, plan: &mut Plan, poisson: &Poisson) -> f64 {
    let sizes = poisson.sizes.known();
    let peers = Peers::new(context, poisson);
    let (offered, all_bps) = (peers.offered_bps(poisson), peers.line_bps());
    for place in peers.senders() {
        let source = context.sources[place];
        let mut random = generator(context.seed, context.stream(), u64::from(source));
        let share = context.line_bps(source) / all_bps;
        let gap = mean_gap(sizes.mean(), share, offered);
        let mut at = context.start();
        loop {
            at += exponential(&mut random, gap);
            if at >= context.stop() {
                break;
            }
            let bytes = sizes.sample(&mut random);
            let destination = peers.draw(place, &mut random);
            single(plan, context.flow(source, destination, at, Some(bytes)), bytes);
        }
    }
    offered
}

/// A flow of one message.
fn single(plan: &mut Plan, flow: Flow, bytes: Bytes) -> u32 {
    let at = flow.start;
    let flow = plan.add(flow);
    plan.posts.push(Planned { flow, at, bytes: Some(bytes) });
    flow
}

/// Who may be at the other end, for each source by its place.
pub(super) struct Peers<'a> {
    context: &'a Context<'a>,
    rack_local: Option<f64>,
    /// The others of the same rack where `rack_local` tells them apart, and all that are left.
    near: Vec<Vec<u32>>,
    far: Far,
    /// The share of the far ones that lie across the core, for each rack asked about so far.
    across: RefCell<BTreeMap<u32, f64>>,
}

enum Far {
    /// Every host but oneself.
    Others,
    /// For each source; those of one rack share theirs, which would fill the memory of a large network.
    OfRack(Vec<Rc<[u32]>>),
    /// One for each source, or nobody.
    Partner(Vec<Option<u32>>),
}

impl<'a> Peers<'a> {
    pub(super) fn new(context: &'a Context<'a>, poisson: &Poisson) -> Self {
        let (sources, destinations) = (&context.sources, &context.destinations);
        let places = &context.places;
        let far = match poisson.destinations {
            Destinations::Uniform if poisson.rack_local.is_some() => of_rack(context, &|source| {
                let rack = places.rack(source);
                destinations.iter().copied().filter(|&host| places.rack(host) != rack).collect()
            }),
            Destinations::Uniform => Far::Others,
            Destinations::Farthest => {
                of_rack(context, &|source| places.farthest(source, destinations))
            }
            Destinations::Permutation => {
                let drawn: BTreeMap<_, _> = permutation(context).into_iter().collect();
                Far::Partner(sources.iter().map(|source| drawn.get(source).copied()).collect())
            }
        };
        let mut racks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &host in destinations {
            racks.entry(places.rack(host)).or_default().push(host);
        }
        let near = |&source: &u32| {
            let rack = racks.get(&places.rack(source)).into_iter().flatten().copied();
            rack.filter(|&host| host != source).collect()
        };
        let near = match poisson.rack_local {
            Some(_) => sources.iter().map(near).collect(),
            None => Vec::new(),
        };
        let across = RefCell::default();
        Self { context, rack_local: poisson.rack_local, near, far, across }
    }

    /// The far ones of a source; itself may be one of them.
    fn far(&self, place: usize) -> &[u32] {
        match &self.far {
            Far::Others => &self.context.destinations,
            Far::OfRack(hosts) => &hosts[place],
            Far::Partner(hosts) => hosts[place].as_slice(),
        }
    }

    /// The places of the sources that have somebody to send to.
    pub(super) fn senders(&self) -> impl Iterator<Item = usize> {
        (0..self.context.sources.len()).filter(|&place| self.has_any(place))
    }

    /// What their links carry, all together, in bits per second.
    pub(super) fn line_bps(&self) -> f64 {
        self.senders().map(|place| self.context.line_bps(self.context.sources[place])).sum()
    }

    /// What all flows together offer, in bits per second.
    pub(super) fn offered_bps(&self, poisson: &Poisson) -> f64 {
        let all_bps = self.line_bps();
        match poisson.of {
            LoadOf::Hosts => poisson.load * all_bps,
            LoadOf::Core => {
                let line_bps = |place: usize| self.context.line_bps(self.context.sources[place]);
                let crossing: f64 =
                    self.senders().map(|place| self.crossing(place) * line_bps(place)).sum();
                poisson.load * self.context.places.core_bps() * all_bps / crossing
            }
        }
    }

    /// Whether flows go to any other host alike; else [`lists`](Self::lists) has where they go.
    pub(super) fn goes_anywhere(&self) -> bool {
        matches!(self.far, Far::Others)
    }

    /// Hosts that a source's flows go to alike, and the share of its flows that does.
    pub(super) fn lists(&self, place: usize) -> impl Iterator<Item = (&[u32], f64)> {
        let near = self.near.get(place).map_or(&[][..], Vec::as_slice);
        let far = if self.goes_anywhere() { &[] } else { self.far(place) };
        let local = match (near.is_empty(), far.is_empty()) {
            (true, _) => 0.0,
            (false, true) if !self.goes_anywhere() => 1.0,
            _ => self.rack_local.unwrap_or(0.0),
        };
        [(near, local), (far, 1.0 - local)].into_iter().filter(|(hosts, _)| !hosts.is_empty())
    }

    fn has_any(&self, place: usize) -> bool {
        let source = self.context.sources[place];
        let near = self.near.get(place).is_some_and(|near| !near.is_empty());
        near || self.far(place).iter().any(|&host| host != source)
    }

    fn draw(&self, place: usize, random: &mut impl Rng) -> u32 {
        let near = self.near.get(place).filter(|near| !near.is_empty());
        let far = self.far(place);
        if let (Some(near), Some(local)) = (near, self.rack_local)
            && (far.is_empty() || unit(random) < local)
        {
            return one_of(near, random);
        }
        let source = self.context.sources[place];
        loop {
            let host = one_of(far, random);
            if host != source {
                return host;
            }
        }
    }

    /// The share of a source's flows that cross the highest layer of switches.
    pub(super) fn crossing(&self, place: usize) -> f64 {
        let source = self.context.sources[place];
        let rack = self.context.places.rack(source);
        let near = self.near.get(place).is_some_and(|near| !near.is_empty());
        let share = || self.share_across(source, self.far(place));
        let share = match &self.far {
            Far::Partner(_) => share(),
            _ => *self.across.borrow_mut().entry(rack).or_insert_with(share),
        };
        share * (1.0 - self.rack_local.filter(|_| near).unwrap_or(0.0))
    }

    fn share_across(&self, source: u32, far: &[u32]) -> f64 {
        let crosses = |&&host: &&u32| self.context.places.crosses_core(source, host);
        let others = far.iter().filter(|&&host| host != source).count();
        far.iter().filter(crosses).count() as f64 / others.max(1) as f64
    }
}

/// Lists that are the same for all hosts of a rack, unless hosts of the rack itself are in them.
fn of_rack(context: &Context<'_>, hosts: &dyn Fn(u32) -> Vec<u32>) -> Far {
    let rack = |host| context.places.rack(host);
    let mut known: BTreeMap<u32, Rc<[u32]>> = BTreeMap::new();
    let list = |&source: &u32| {
        if let Some(list) = known.get(&rack(source)) {
            return Rc::clone(list);
        }
        let list: Rc<[u32]> = hosts(source).into();
        if !list.is_empty() && list.iter().all(|&host| rack(host) != rack(source)) {
            known.insert(rack(source), Rc::clone(&list));
        }
        list
    };
    Far::OfRack(context.sources.iter().map(list).collect())
}

fn one_of(hosts: &[u32], random: &mut impl Rng) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "below the number of hosts")]
    let place = below(random, hosts.len() as u64) as usize;
    hosts[place]
}

/// One host of the destinations for each source, drawn at random; different ones while there are enough.
fn permutation(context: &Context<'_>) -> Vec<(u32, u32)> {
    let mut random = generator(context.seed, context.stream(), u64::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    let count = context.destinations.len() as u32;
    let order = distinct(&mut random, count, count);
    let mut drawn: Vec<_> =
        order.iter().map(|&place| context.destinations[place as usize]).collect();
    let used = context.sources.len().min(drawn.len());
    for place in 0..used {
        if drawn[place] == context.sources[place] {
            // With its neighbour's, around the end: neither of them has itself then.
            let next = (place + 1) % drawn.len();
            drawn.swap(place, next);
        }
    }
    let pairs = context.sources.iter().zip(drawn.iter().cycle());
    pairs.map(|(&source, &host)| (source, host)).filter(|(source, host)| source != host).collect()
}

/// Bursts of many senders into one receiver; returns the offered load in bits per second.
pub(super) fn incast(context: &Context<'_>, plan: &mut Plan, incast: &Incast) -> f64 {
    let all_bps: f64 = context.destinations.iter().map(|&host| context.line_bps(host)).sum();
    let offered = incast.load * all_bps;
    let mut random = generator(context.seed, context.stream(), 0);
    let bytes = incast.size * u64::from(incast.senders);
    let gap = mean_gap(bytes.get() as f64, 1.0, offered);
    let mut at: Time = context.start();
    loop {
        at += exponential(&mut random, gap);
        if at >= context.stop() {
            return offered;
        }
        let receiver = one_of(&context.destinations, &mut random);
        let others: Vec<_> =
            context.sources.iter().copied().filter(|&host| host != receiver).collect();
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
        let senders = distinct(&mut random, incast.senders, others.len() as u32);
        let mut flows = 0..0;
        for place in senders {
            let sender = others[place as usize];
            let flow = context.flow(sender, receiver, at, Some(incast.size));
            let flow = single(plan, flow, incast.size);
            flows = if flows.is_empty() { flow..flow + 1 } else { flows.start..flow + 1 };
        }
        let traffic = context.number;
        plan.gatherings.push(Gathering { traffic, receiver, at, flows, bytes });
    }
}

//! The possible destinations of a flow.
//!
//! Lists that hosts of a rack have in common are kept once for the rack: a list for each host would
//! take memory with the square of the number of hosts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rand_core::Rng;

use super::super::context::Context;
use super::super::peers::{number_below, one_of, permutation, skip};
use super::{LoadOf, Poisson};
use crate::Destinations;
use incast_plan::random::unit;

/// The possible destinations of each source.
pub(super) struct Peers<'a> {
    pub(super) context: &'a Context<'a>,
    /// The share of flows to hosts of the source's own rack. If set, these are separate from all
    /// other destinations.
    pub(super) rack_local: Option<f64>,
    /// The indices of each rack's hosts among the destinations, ascending.
    pub(super) racks: BTreeMap<u32, Vec<u32>>,
    pub(super) far: Far,
    /// The counts of [`Peers::crossing_of_rack`] so far, by rack.
    crossing: RefCell<BTreeMap<u32, usize>>,
}

/// The possible destinations, without those of rack-local flows.
pub(super) enum Far {
    /// Any other host.
    Others,
    /// Any host of another rack.
    OtherRacks,
    /// The farthest hosts of each rack, ascending; a source never draws itself.
    Farthest(BTreeMap<u32, Vec<u32>>),
    /// A single destination for each source.
    One(BTreeMap<u32, u32>),
}

impl<'a> Peers<'a> {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    pub(super) fn new(context: &'a Context<'a>, poisson: &Poisson) -> Self {
        let (destinations, places) = (&context.destinations, context.places);
        let mut racks = BTreeMap::<u32, Vec<u32>>::new();
        for (place, &host) in destinations.iter().enumerate() {
            racks.entry(places.rack(host)).or_default().push(place as u32);
        }
        let far = match poisson.destinations {
            Destinations::Uniform if poisson.rack_local.is_some() => Far::OtherRacks,
            Destinations::Uniform => Far::Others,
            Destinations::Farthest => {
                let mut farthest = BTreeMap::new();
                for &source in &context.sources {
                    farthest
                        .entry(places.rack(source))
                        .or_insert_with(|| places.farthest_or_self(source, destinations));
                }
                Far::Farthest(farthest)
            }
            Destinations::Permutation => Far::One(permutation(context)),
        };
        let rack_local = poisson.rack_local;
        Self { context, rack_local, racks, far, crossing: RefCell::default() }
    }

    /// The sources that have a destination.
    pub(super) fn senders(&self) -> impl Iterator<Item = u32> {
        let has_any = |&source: &u32| self.near(source) > 0 || self.far(source) > 0;
        self.context.sources.iter().copied().filter(has_any)
    }

    /// The sum of the rates of the senders' links, in bits per second.
    pub(super) fn line_bps(&self) -> f64 {
        self.senders().map(|source| self.context.line_bps(source)).sum()
    }

    /// The offered rate of all flows together, in bits per second.
    pub(super) fn offered_bps(&self, poisson: &Poisson) -> f64 {
        let all_bps = self.line_bps();
        match poisson.of {
            LoadOf::Hosts => poisson.load * all_bps,
            LoadOf::Core => {
                let line_bps = |source| self.context.line_bps(source);
                let crossing: f64 =
                    self.senders().map(|source| self.crossing(source) * line_bps(source)).sum();
                poisson.load * self.context.places.core_bps() * all_bps / crossing
            }
        }
    }

    /// The destinations in the source's own rack, by their indices, including the source itself.
    fn rack(&self, source: u32) -> &[u32] {
        self.racks.get(&self.context.places.rack(source)).map_or(&[], |places| places)
    }

    /// The source's own index among the destinations.
    pub(super) fn own(&self, source: u32) -> Option<usize> {
        self.context.destinations.binary_search(&source).ok()
    }

    /// The number of destinations in the source's own rack, where these are separate.
    pub(super) fn near(&self, source: u32) -> usize {
        let own = usize::from(self.own(source).is_some());
        if self.rack_local.is_some() { self.rack(source).len() - own } else { 0 }
    }

    /// The number of the source's other destinations.
    pub(super) fn far(&self, source: u32) -> usize {
        let in_common = match &self.far {
            Far::Others | Far::OtherRacks => self.context.destinations.len(),
            Far::Farthest(lists) => lists[&self.context.places.rack(source)].len(),
            Far::One(pairs) => usize::from(pairs.contains_key(&source)),
        };
        in_common - self.left_out(source)
    }

    pub(super) fn draw(&self, source: u32, random: &mut impl Rng) -> u32 {
        let (near, far) = (self.near(source), self.far(source));
        if let (1.., Some(local)) = (near, self.rack_local)
            && (far == 0 || unit(random) < local)
        {
            return self.draw_near(source, near, random);
        }
        let destinations = &self.context.destinations;
        match &self.far {
            Far::Others => loop {
                let host = one_of(destinations, random);
                if host != source {
                    return host;
                }
            },
            Far::OtherRacks => {
                let mut place = number_below(random, far);
                for &own in self.rack(source) {
                    place += usize::from(own as usize <= place);
                }
                destinations[place]
            }
            Far::Farthest(lists) => {
                let hosts = &lists[&self.context.places.rack(source)];
                let own = hosts.binary_search(&source).ok();
                hosts[skip(number_below(random, far), own)]
            }
            Far::One(pairs) => {
                number_below(random, far);
                pairs[&source]
            }
        }
    }

    fn draw_near(&self, source: u32, near: usize, random: &mut impl Rng) -> u32 {
        let (rack, destinations) = (self.rack(source), &self.context.destinations);
        let own = rack.iter().position(|&place| destinations[place as usize] == source);
        destinations[rack[skip(number_below(random, near), own)] as usize]
    }

    /// The share of a source's flows that cross the highest layer of switches.
    pub(super) fn crossing(&self, source: u32) -> f64 {
        let crosses = |host| self.context.places.crosses_core(source, host);
        let crossing = match &self.far {
            Far::One(pairs) => usize::from(pairs.get(&source).is_some_and(|&host| crosses(host))),
            // The count of the rack, less the hosts that each source leaves out. Within one switch,
            // too, a flow crosses the highest layer if the switch is in it.
            _ if crosses(source) => self.crossing_of_rack(source) - self.left_out(source),
            _ => self.crossing_of_rack(source),
        };
        let share = crossing as f64 / self.far(source).max(1) as f64;
        let near = self.near(source) > 0;
        share * (1.0 - self.rack_local.filter(|_| near).unwrap_or(0.0))
    }

    /// The number of common destinations of a rack's sources that are across the highest layer.
    fn crossing_of_rack(&self, source: u32) -> usize {
        let (places, destinations) = (&self.context.places, &self.context.destinations);
        let rack = places.rack(source);
        let count = || {
            if let Far::Farthest(lists) = &self.far {
                let crossing = lists[&rack].iter();
                return crossing.filter(|&&host| places.crosses_core(source, host)).count();
            }
            let first = |rack: &[u32]| destinations[rack[0] as usize];
            let racks = self.racks.values().filter(|rack| places.crosses_core(source, first(rack)));
            racks.map(Vec::len).sum()
        };
        *self.crossing.borrow_mut().entry(rack).or_insert_with(count)
    }

    /// The number of these destinations that a source leaves out.
    fn left_out(&self, source: u32) -> usize {
        match &self.far {
            Far::Others => usize::from(self.own(source).is_some()),
            Far::OtherRacks => self.rack(source).len(),
            Far::Farthest(lists) => {
                let hosts = &lists[&self.context.places.rack(source)];
                usize::from(hosts.binary_search(&source).is_ok())
            }
            Far::One(_) => 0,
        }
    }
}

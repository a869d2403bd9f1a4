//! Max-min fair rates of flows that come and go.
//!
//! Progressive filling gives the rates: all flows are raised alike until a link is full; those over
//! it keep their rate, and the others are raised on. A flow that leaves was raised to its rate as
//! if it stayed, and a new flow takes nothing from the others before a link on its way is full. So
//! filling begins at that rate: flows that have less keep their rates.
//!
//! Flows have the numbers from zero on. The last flow gets the number of a flow that leaves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ideal::fabric::{Fabric, Part};

/// The part of a rate by which filling begins early, against rounding.
const SLACK: f64 = 1e-9;
/// The part by which a level must rise to be another one.
const SAME: f64 = 1e-12;
/// The rate of a flow that is still raised.
const RAISED: f64 = -1.0;

/// The max-min fair rates of flows over the links of a network.
pub(super) struct Shares<'a> {
    fabric: &'a Fabric,
    /// The rate of each flow; infinite for a new flow.
    pub(super) rates: Vec<f64>,
    /// The links on the way of each flow, so many for each; unused ones have [`NOWHERE`].
    parts: Vec<Part>,
    /// The place of the flow among each link's flows.
    places: Vec<u32>,
    width: usize,
    links: Vec<Link>,
    /// The rate below which flows keep theirs.
    level: f64,
    /// The number of the filling, and the links that it has looked at.
    filling: u64,
    used: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Default)]
struct Link {
    flows: Vec<u32>,
    /// The filling that the fields below belong to.
    filling: u64,
    /// The rate that is not given away, the parts of the flows that are raised, added up, and their
    /// number.
    left: f64,
    weight: f64,
    raised: u32,
}

impl Link {
    /// The rate to which the flows of the link can be raised.
    fn level(&self) -> f64 {
        self.left.max(0.0) / self.weight
    }
}

const NOWHERE: Part = Part { link: u32::MAX, part: 0.0 };

impl<'a> Shares<'a> {
    pub(super) fn new(fabric: &'a Fabric) -> Self {
        Self {
            fabric,
            rates: Vec::new(),
            parts: Vec::new(),
            places: Vec::new(),
            width: fabric.ways.iter().map(Vec::len).max().unwrap_or(0),
            links: vec![Link::default(); fabric.rates.len()],
            level: f64::INFINITY,
            filling: 0,
            used: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Adds a flow over a way, which has the next number.
    #[expect(clippy::cast_possible_truncation, reason = "flows are numbered in 32 bits")]
    pub(super) fn add(&mut self, way: u32) {
        let (flow, way) = (self.rates.len() as u32, &self.fabric.ways[way as usize]);
        self.rates.push(f64::INFINITY);
        for part in way {
            let flows = &mut self.links[part.link as usize].flows;
            self.places.push(flows.len() as u32);
            flows.push(flow);
        }
        self.parts.extend(way);
        self.parts.resize(self.rates.len() * self.width, NOWHERE);
        self.places.resize(self.parts.len(), 0);
        let full = way.iter().map(|part| self.full_at(part.link));
        self.level = full.fold(self.level, f64::min);
    }

    /// The level at which a link is full if others do not change: its new flows are raised to it,
    /// and those that have more fall to it.
    fn full_at(&self, link: u32) -> f64 {
        let flows = &self.links[link as usize].flows;
        let mut level = 0.0;
        loop {
            let (mut left, mut weight) = (self.fabric.rates[link as usize], 0.0);
            for &flow in flows {
                let part = self.way(flow).find(|part| part.link == link).map_or(0.0, |of| of.part);
                match self.rates[flow as usize] {
                    rate if rate < level => left -= part * rate,
                    _ => weight += part,
                }
            }
            // The level rises from below, and stays where nobody else has less.
            let next = left / weight;
            if next <= level * (1.0 + SAME) {
                return level;
            }
            level = next;
        }
    }

    /// The links on the way of a flow.
    fn way(&self, flow: u32) -> impl Iterator<Item = &Part> {
        let from = flow as usize * self.width;
        let parts = self.parts[from..from + self.width].iter();
        parts.take_while(|part| part.link != NOWHERE.link)
    }

    /// Takes a flow out. The last one gets its number.
    #[expect(clippy::cast_possible_truncation, reason = "flows are numbered in 32 bits")]
    pub(super) fn remove(&mut self, flow: usize) {
        self.level = self.level.min(self.rates[flow]);
        let width = self.width;
        let from = flow * width;
        for at in from..from + width {
            let link = self.parts[at].link;
            if link == NOWHERE.link {
                break;
            }
            let (place, flows) = (self.places[at], &mut self.links[link as usize].flows);
            flows.swap_remove(place as usize);
            if let Some(&moved) = flows.get(place as usize) {
                // The last one has taken the place.
                let (last, of) = (flows.len() as u32, moved as usize * width);
                let noted = (of..of + width)
                    .find(|&at| self.parts[at].link == link && self.places[at] == last);
                if let Some(noted) = noted {
                    self.places[noted] = place;
                }
            }
        }
        let last = self.rates.len() - 1;
        self.rates.swap_remove(flow);
        for at in 0..width {
            let (to, part) = (from + at, self.parts[last * width + at]);
            (self.parts[to], self.places[to]) = (part, self.places[last * width + at]);
            if part.link != NOWHERE.link && last != flow {
                self.links[part.link as usize].flows[self.places[to] as usize] = flow as u32;
            }
        }
        self.parts.truncate(last * width);
        self.places.truncate(last * width);
    }

    /// Makes all rates fair.
    pub(super) fn settle(&mut self) {
        let level = std::mem::replace(&mut self.level, f64::INFINITY) * (1.0 - SLACK);
        self.filling += 1;
        self.used.clear();
        self.count(level);
        let Self { rates, parts, width, links, heap, used, .. } = self;
        heap.clear();
        // Levels are not negative, and such numbers have the order of their bits.
        let raised = used.iter().filter(|&&link| links[link as usize].raised > 0);
        heap.extend(raised.map(|&link| Reverse((links[link as usize].level().to_bits(), link))));
        // The level at which a link is full only rises while flows over others are stopped.
        while let Some(Reverse((bits, number))) = heap.pop() {
            let link = &links[number as usize];
            if link.raised == 0 {
                continue;
            }
            let (noted, rate) = (f64::from_bits(bits), link.level());
            if rate > noted * (1.0 + SAME) {
                heap.push(Reverse((rate.to_bits(), number)));
                continue;
            }
            for place in 0..links[number as usize].flows.len() {
                let flow = links[number as usize].flows[place] as usize;
                if rates[flow] >= 0.0 {
                    continue;
                }
                rates[flow] = rate;
                for part in &parts[flow * *width..(flow + 1) * *width] {
                    let Some(other) = links.get_mut(part.link as usize) else { break };
                    other.left -= part.part * rate;
                    other.weight -= part.part;
                    other.raised -= 1;
                }
            }
        }
    }

    /// Subtracts the rates of flows below `level` from their links, and marks the others as raised.
    fn count(&mut self, level: f64) {
        let Self { fabric, rates, parts, width, links, filling, used, .. } = self;
        for (rate, way) in rates.iter_mut().zip(parts.chunks_exact((*width).max(1))) {
            let keeps = *rate < level;
            for part in way {
                let Some(link) = links.get_mut(part.link as usize) else { break };
                if link.filling != *filling {
                    (link.filling, link.raised) = (*filling, 0);
                    (link.left, link.weight) = (fabric.rates[part.link as usize], 0.0);
                    used.push(part.link);
                }
                if keeps {
                    link.left -= part.part * *rate;
                } else {
                    link.weight += part.part;
                    link.raised += 1;
                }
            }
            if !keeps {
                *rate = RAISED;
            }
        }
    }
}

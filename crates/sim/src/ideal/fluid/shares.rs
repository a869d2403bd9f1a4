//! Max-min fair rates that follow each flow that comes or goes.
//!
//! The *level* of a link is the greatest rate on it if it is full, and infinite otherwise. Rates are
//! max-min fair if each flow has the least level on its way: then some link on it is full, and
//! nobody has more there.
//!
//! A flow that comes or goes changes the rates of few others. So rates are mended from there.
//! Progressive filling gives those that are *open* new rates from what the others leave: all are
//! raised alike until a link is full; those over it keep their rate, and the others are raised on.
//! Then the levels of the links on their ways show who else is wrong, and is opened, too: flows that
//! have less than the least level of their way, and flows that have more than an open one on the
//! link that stopped it. When nobody is left, rates are fair. At worst all are open in the end, and
//! the rates are those of filling from nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ideal::fabric::Fabric;

/// The part of a rate or level that counts as none: what rounding leaves.
const NONE: f64 = 1e-9;
/// The part by which a rate must change to be a new one.
const SAME: f64 = 1e-12;
/// The rate of a flow that is still raised.
const RAISED: f64 = -1.0;

/// The max-min fair rates of flows over the links of a network.
pub(super) struct Shares<'a> {
    fabric: &'a Fabric,
    links: Vec<Link>,
    flows: Vec<Flow>,
    /// Places of flows that have gone.
    vacant: Vec<u32>,
    /// The links on which something has changed.
    touched: Vec<u32>,
    /// The flows that are open, and their rates before.
    open: Vec<(u32, f64)>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Default)]
struct Link {
    flows: Vec<Member>,
    level: f64,
    is_touched: bool,
    /// While filling: the rate that is not given away, the parts of the flows that are raised,
    /// added up, and their number.
    left: f64,
    weight: f64,
    raised: u32,
}

/// A flow over a link, and the part of its rate that takes the link.
#[derive(Clone, Copy)]
struct Member {
    flow: u32,
    part: f64,
}

#[derive(Clone, Default)]
struct Flow {
    way: u32,
    rate: f64,
    is_open: bool,
    /// The link that has stopped it.
    stop: u32,
    /// Its places among the flows of the links on its way.
    places: Vec<u32>,
}

impl<'a> Shares<'a> {
    pub(super) fn new(fabric: &'a Fabric) -> Self {
        let link = Link { level: f64::INFINITY, ..Link::default() };
        Self {
            fabric,
            links: vec![link; fabric.rates.len()],
            flows: Vec::new(),
            vacant: Vec::new(),
            touched: Vec::new(),
            open: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Adds a flow over a way, and returns its number. It has no rate before [`settle`].
    ///
    /// [`settle`]: Self::settle
    #[expect(clippy::cast_possible_truncation, reason = "flows are numbered in 32 bits")]
    pub(super) fn add(&mut self, way: u32) -> u32 {
        let flow = self.vacant.pop().unwrap_or(self.flows.len() as u32);
        if flow as usize == self.flows.len() {
            self.flows.push(Flow::default());
        }
        let own = &mut self.flows[flow as usize];
        (own.way, own.rate) = (way, 0.0);
        own.places.clear();
        for part in &self.fabric.ways[way as usize] {
            let link = &mut self.links[part.link as usize];
            own.places.push(link.flows.len() as u32);
            link.flows.push(Member { flow, part: part.part });
        }
        self.open(flow);
        flow
    }

    /// Takes a flow out, whose number may be used again.
    #[expect(clippy::cast_possible_truncation, reason = "flows are numbered in 32 bits")]
    pub(super) fn remove(&mut self, flow: u32) {
        let way = &self.fabric.ways[self.flows[flow as usize].way as usize];
        for (index, part) in way.iter().enumerate() {
            let place = self.flows[flow as usize].places[index];
            let link = &mut self.links[part.link as usize];
            link.flows.swap_remove(place as usize);
            if let Some(moved) = link.flows.get(place as usize) {
                // The last one has taken the place.
                let (last, Flow { places, way, .. }) =
                    (link.flows.len() as u32, &mut self.flows[moved.flow as usize]);
                let way = self.fabric.ways[*way as usize].iter();
                let mut noted = way.zip(places).filter(|(other, _)| other.link == part.link);
                if let Some((_, noted)) = noted.find(|(_, noted)| **noted == last) {
                    *noted = place;
                }
            }
            self.touch(part.link);
        }
        self.vacant.push(flow);
    }

    /// Makes all rates fair, and calls `changed` with each flow that has another one than before.
    pub(super) fn settle(&mut self, mut changed: impl FnMut(u32, f64)) {
        self.fill();
        while self.open_wrong() {
            self.fill();
        }
        for link in self.touched.drain(..) {
            self.links[link as usize].is_touched = false;
        }
        for (flow, before) in self.open.drain(..) {
            let own = &mut self.flows[flow as usize];
            own.is_open = false;
            if (own.rate - before).abs() > before * SAME {
                changed(flow, own.rate);
            } else {
                own.rate = before;
            }
        }
    }

    fn touch(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].is_touched, true) {
            self.touched.push(link);
        }
    }

    fn open(&mut self, flow: u32) {
        let own = &mut self.flows[flow as usize];
        own.is_open = true;
        self.open.push((flow, own.rate));
        for part in &self.fabric.ways[own.way as usize] {
            self.touch(part.link);
        }
    }

    /// Gives the open flows rates from what the others leave.
    fn fill(&mut self) {
        for &(flow, _) in &self.open {
            self.flows[flow as usize].rate = RAISED;
        }
        let Self { fabric, links, flows, touched, heap, .. } = self;
        // Levels are not negative, and such numbers have the order of their bits.
        let level = |link: &Link| link.left.max(0.0) / link.weight;
        heap.clear();
        for &number in &*touched {
            let link = &mut links[number as usize];
            (link.left, link.weight, link.raised) = (fabric.rates[number as usize], 0.0, 0);
            for member in &link.flows {
                let Flow { rate, is_open, .. } = flows[member.flow as usize];
                if is_open {
                    link.weight += member.part;
                    link.raised += 1;
                } else {
                    link.left -= member.part * rate;
                }
            }
            if link.raised > 0 {
                heap.push(Reverse((level(link).to_bits(), number)));
            }
        }
        // The level at which a link is full only rises while flows over others are stopped.
        while let Some(Reverse((bits, number))) = heap.pop() {
            let link = &links[number as usize];
            if link.raised == 0 {
                continue;
            }
            let (noted, rate) = (f64::from_bits(bits), level(link));
            if rate > noted * (1.0 + SAME) {
                heap.push(Reverse((rate.to_bits(), number)));
                continue;
            }
            for place in 0..links[number as usize].flows.len() {
                let flow = &mut flows[links[number as usize].flows[place].flow as usize];
                if flow.rate >= 0.0 {
                    continue;
                }
                (flow.rate, flow.stop) = (rate, number);
                for part in &fabric.ways[flow.way as usize] {
                    let other = &mut links[part.link as usize];
                    other.left -= part.part * rate;
                    other.weight -= part.part;
                    other.raised -= 1;
                }
            }
        }
    }

    /// Opens the flows whose rates are wrong, and returns whether there are any.
    fn open_wrong(&mut self) -> bool {
        let Self { fabric, links, flows, touched, .. } = self;
        for &number in &*touched {
            let link = &mut links[number as usize];
            let (mut load, mut most) = (0.0, 0.0_f64);
            for member in &link.flows {
                let rate = flows[member.flow as usize].rate;
                load += member.part * rate;
                most = most.max(rate);
            }
            let full = load >= fabric.rates[number as usize] * (1.0 - NONE);
            link.level = if full { most } else { f64::INFINITY };
        }
        let before = self.open.len();
        for place in 0..self.touched.len() {
            let number = self.touched[place] as usize;
            for index in 0..self.links[number].flows.len() {
                let flow = self.links[number].flows[index].flow;
                let Flow { way, rate, is_open, stop, .. } = self.flows[flow as usize];
                let way = &self.fabric.ways[way as usize];
                let levels = way.iter().map(|part| self.links[part.link as usize].level);
                if rate >= levels.fold(f64::INFINITY, f64::min) * (1.0 - NONE) {
                    continue;
                }
                if is_open {
                    self.open_above(stop, rate);
                } else {
                    self.open(flow);
                }
            }
        }
        self.open.len() > before
    }

    /// Opens the flows over a link that have more than `rate`.
    fn open_above(&mut self, link: u32, rate: f64) {
        for place in 0..self.links[link as usize].flows.len() {
            let other = self.links[link as usize].flows[place].flow;
            let Flow { rate: theirs, is_open, .. } = self.flows[other as usize];
            if !is_open && theirs > rate * (1.0 + NONE) {
                self.open(other);
            }
        }
    }
}

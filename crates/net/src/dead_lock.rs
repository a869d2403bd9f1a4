//! The search for dead-locks.
//!
//! A class of an egress port that is paused waits for the ingress port of the next switch that paused it;
//! this one waits until enough of its packets have left by the egress ports that they are bound for. Where
//! such waiting comes round to where it began, nothing moves any more: a dead-lock.
//!
//! The search sees all switches at once, as the [`oracle`](super::oracle) does. It runs when a watchdog has
//! something to report, before that drops anything, and at the end of the run.

use std::collections::BTreeMap;

use incast_cc::Time;

use super::switch::Switch;
use super::{Component, ComponentKind, Transit};

/// Ports that wait for each other, in a circle.
#[derive(Clone, Debug)]
pub struct DeadLock {
    /// The moment at which it was found.
    pub at: Time,
    /// The ports in the circle: each waits for the next, the last for the first.
    pub ports: Vec<HeldPort>,
}

/// A class of an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the switch.
    pub switch: u32,
    /// The number of the port.
    pub port: u16,
    /// The number of the class, from 0 for the lowest.
    pub class: u8,
}

/// A class of an egress port that is paused and has packets.
#[derive(Clone, Debug)]
pub struct HeldPort {
    /// The class and its port.
    pub place: Place,
    /// The moment since which it is paused and has packets.
    pub since: Time,
    /// Bytes that wait.
    pub bytes: u64,
    /// The switch and the ingress port that paused it.
    by: (u32, u16),
    /// Bytes by the ingress port that they came in by.
    from: BTreeMap<u16, u64>,
}

/// The cycles of held ports that wait for each other, each from its first port on.
pub(super) fn dead_locks(
    switches: &[Switch],
    transit: &Transit,
    components: &[Component],
) -> Vec<Vec<HeldPort>> {
    let mut held = all_held(switches, transit, components);
    // Those that can go on when all that is not held has left are not stuck, nor are those that wait
    // for them alone.
    loop {
        let before = held.len();
        let stuck: Vec<_> =
            (0..).zip(switches).map(|(i, switch)| stuck(&held, i, switch)).collect();
        held.retain(|HeldPort { by: (switch, port), place, .. }| {
            let switch = *switch as usize;
            switches[switch].buffer.stays_paused(*port, place.class, &stuck[switch])
        });
        if held.len() == before {
            break;
        }
    }
    cycles(held)
}

fn all_held(switches: &[Switch], transit: &Transit, components: &[Component]) -> Vec<HeldPort> {
    let mut all = Vec::new();
    for (switch, node) in (0..).zip(switches) {
        for (port, egress) in (0..).zip(node.ports.behind()) {
            let arrival = transit.links[egress.transmitter.link as usize].arrival();
            let far_end = components[arrival as usize];
            if far_end.kind != ComponentKind::SwitchArrival {
                continue; // hosts do not pause
            }
            all.extend(egress.held().map(|(class, since)| {
                let mut from = BTreeMap::new();
                for queued in egress.waiting(class) {
                    *from.entry(queued.ingress).or_default() += u64::from(queued.wire);
                }
                let (place, by) = (Place { switch, port, class }, (far_end.node, far_end.port));
                HeldPort { place, since, bytes: egress.queued_bytes(class), by, from }
            }));
        }
    }
    all
}

/// Bytes of each ingress port and class of a switch that wait at held ports.
fn stuck(held: &[HeldPort], number: u32, switch: &Switch) -> Vec<u64> {
    let mut stuck = vec![0; switch.buffer.ingresses()];
    for held in held.iter().filter(|held| held.place.switch == number) {
        for (&ingress, bytes) in &held.from {
            stuck[switch.buffer.ingress_index(ingress, held.place.class)] += bytes;
        }
    }
    stuck
}

/// Follows each to the first that it waits for. Since each waits for another, all lead into cycles.
fn cycles(held: Vec<HeldPort>) -> Vec<Vec<HeldPort>> {
    let waits_for = |one: &HeldPort| {
        held.iter().position(|other| {
            let same = (other.place.switch, other.place.class) == (one.by.0, one.place.class);
            same && other.from.contains_key(&one.by.1)
        })
    };
    let next: Vec<_> = held.iter().map(waits_for).collect();
    let mut walk_of = vec![usize::MAX; held.len()];
    let mut cycles = Vec::new();
    for start in 0..held.len() {
        let mut at = Some(start);
        while let Some(place) = at.filter(|&place| walk_of[place] == usize::MAX) {
            walk_of[place] = start;
            at = next[place];
        }
        // Back on its own way: a new cycle. On the way of another walk: one that is known.
        if let Some(entry) = at.filter(|&place| walk_of[place] == start) {
            let mut cycle = vec![entry];
            cycle.extend(
                std::iter::successors(next[entry], |&place| next[place])
                    .take_while(|&place| place != entry),
            );
            let first = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
            cycle.rotate_left(first);
            cycles.push(cycle);
        }
    }
    let mut held: Vec<_> = held.into_iter().map(Some).collect();
    cycles
        .into_iter()
        .map(|cycle| cycle.into_iter().filter_map(|i| held[i].take()).collect())
        .collect()
}

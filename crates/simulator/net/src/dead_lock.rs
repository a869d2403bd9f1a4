//! The search for dead-locks.
//!
//! A paused class of an egress port waits for the ingress port of the next switch that paused it.
//! That ingress port waits until enough of its packets have left by their egress ports. Where such
//! a chain of waiting ports closes to a circle, nothing moves any more: a dead-lock.
//!
//! The search sees all switches at once, as the [`oracle`](super::oracle) does. It runs when a
//! watchdog has something to report, before the watchdog drops anything, and at the end of the run.

use std::collections::BTreeMap;

use incast_cc::Time;

use super::switch::Switch;
use super::{Component, ComponentKind, Transit};

/// A circle of ports that wait for each other.
#[derive(Clone, Debug)]
pub struct DeadLock {
    /// The moment at which the search found it.
    pub at: Time,
    /// The ports in the circle: each waits for the next, the last for the first.
    pub ports: Vec<HeldPort>,
}

/// A class of an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePlace {
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
    pub place: QueuePlace,
    /// The moment since which the class has been both paused and backlogged.
    pub since: Time,
    /// The bytes that wait.
    pub bytes: u64,
    /// The switch and the ingress port that paused it.
    by: (u32, u16),
    /// The bytes that came in by each ingress port.
    from: BTreeMap<u16, u64>,
}

/// The cycles of held ports that wait for each other, each listed from its first port on.
pub(super) fn dead_locks(
    switches: &[Switch],
    transit: &Transit,
    components: &[Component],
) -> Vec<Vec<HeldPort>> {
    let mut held = all_held(switches, transit, components);
    // Ports that can go on once everything outside `held` has left are not stuck, nor are ports
    // that wait for such ports alone.
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
                continue; // a host that pauses waits for nobody
            }
            all.extend(egress.held().map(|(class, since)| {
                let mut from = BTreeMap::new();
                for queued in egress.waiting(class) {
                    *from.entry(queued.ingress).or_default() += u64::from(queued.wire);
                }
                let (place, by) =
                    (QueuePlace { switch, port, class }, (far_end.node, far_end.port));
                HeldPort { place, since, bytes: egress.queued_bytes(class), by, from }
            }));
        }
    }
    all
}

/// The bytes of each ingress port and class of a switch that wait at held ports.
fn stuck(held: &[HeldPort], number: u32, switch: &Switch) -> Vec<u64> {
    let mut stuck = vec![0; switch.buffer.ingresses()];
    for held in held.iter().filter(|held| held.place.switch == number) {
        for (&ingress, bytes) in &held.from {
            stuck[switch.buffer.ingress_index(ingress, held.place.class)] += bytes;
        }
    }
    stuck
}

/// Follows each port to the first port that it waits for. Every port waits for another, so every
/// walk leads into a cycle.
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
        // A port of this walk: a new cycle. A port of another walk: a known cycle.
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

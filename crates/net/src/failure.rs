//! Links that fail, come back, or change their rate, and new routes.
//!
//! Each node has its own list of what will happen at its end of a link, and when. A port that is down
//! sends nothing; what waits for it, or comes for it, is dropped. What a link that fails was carrying is
//! marked by the sender, which knows the list, and counted by the receiver when it would have arrived.

use std::collections::VecDeque;

use incast_cc::{Rate, Time};

use super::Transit;
use super::count::Count;
use super::frame::Frame;
use super::link::Link;
use super::routes::Table;
use super::transmitter::Transmitter;

/// What happens at a node.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The link of a port fails.
    Down { port: u16 },
    /// It comes back; `next` is when it fails again.
    Up { port: u16, next: Time },
    /// It sends at another rate from the next packet on.
    Rate { port: u16, rate: Rate },
    /// A switch learns new routes.
    Routes(Table),
}

/// What will happen at a node, and what failures have cost there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    /// Ascending in time.
    agenda: VecDeque<(Time, Change)>,
    /// Of each port, as far as any lost something.
    losses: Vec<Losses>,
}

/// Packets that were lost at one port, over the whole run; those that waited for it are among its drops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// They were travelling towards the port when their link failed.
    pub cut: Count,
    /// They came in by the port and no way led on.
    pub stranded: Count,
}

impl Failures {
    /// What will happen at a node; what happens at one instant is in the order of the scenario.
    pub(crate) fn new(mut changes: Vec<(Time, Change)>) -> Self {
        changes.sort_by_key(|&(at, _)| at);
        Self { agenda: changes.into(), losses: Vec::new() }
    }

    /// When the next thing happens.
    pub(crate) fn next(&self) -> Time {
        self.agenda.front().map_or(Time::MAX, |&(at, _)| at)
    }

    pub(super) fn pop(&mut self, now: Time) -> Option<Change> {
        if self.next() > now {
            return None;
        }
        self.agenda.pop_front().map(|(_, change)| change)
    }

    /// Of one port.
    pub(crate) fn losses(&self, port: usize) -> Losses {
        self.losses.get(port).copied().unwrap_or_default()
    }

    /// All that was lost.
    pub(crate) fn lost(&self) -> impl Iterator<Item = Count> {
        self.losses.iter().flat_map(|port| [port.cut, port.stranded])
    }

    /// A network without failures keeps no place for them: it is made here.
    pub(super) fn at(&mut self, port: u16) -> &mut Losses {
        let needed = usize::from(port) + 1;
        if self.losses.len() < needed {
            self.losses.resize(needed, Losses::default());
        }
        &mut self.losses[port as usize]
    }

    /// A frame has come to the end of a link that failed under it.
    #[cold]
    pub(crate) fn on_cut(&mut self, port: u16, frame: &Frame, transit: &mut Transit) {
        if !frame.is_pfc() {
            self.at(port).cut.add(frame.wire);
        }
        transit.packets.drop(frame);
    }
}

/// Applies to the sender's end of a link what sender and receiver have in common.
pub(super) fn change_link(nic: &mut Transmitter, now: Time, change: &Change, links: &mut [Link]) {
    let link = &mut links[nic.link as usize];
    match *change {
        Change::Down { .. } => nic.on_link_down(now),
        Change::Up { next, .. } => {
            nic.on_link_up();
            link.fail_at(next);
        }
        Change::Rate { rate, .. } => {
            nic.on_rate_change(now, link.rate());
            link.set_rate(rate);
        }
        Change::Routes(_) => {}
    }
}

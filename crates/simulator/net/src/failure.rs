//! Links that fail, come back, or change their rate, and new routes.
//!
//! Each node has its own agenda: the changes at its end of each link, and their times. A port whose
//! link is down sends nothing; packets that wait for it, or come for it, are dropped. The sender
//! knows when its link will fail: it marks the frames that will be lost on the way, and the
//! receiver counts them when they would have arrived.

use std::collections::VecDeque;

use incast_cc::{Rate, Time};

use super::Transit;
use super::count::Count;
use super::frame::Frame;
use super::link::Link;
use super::routes::Table;
use super::transmitter::Transmitter;

/// A change at a node.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The link of a port fails.
    Down { port: u16 },
    /// The link of a port comes back; `next` is the time of its next failure.
    Up { port: u16, next: Time },
    /// The link of a port has another rate from the next packet on.
    Rate { port: u16, rate: Rate },
    /// A switch learns new routes.
    Routes(Table),
}

/// The agenda of a node, and the losses by failures at its ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    /// The changes to come, ascending in time.
    agenda: VecDeque<(Time, Change)>,
    /// The losses of each port, up to the last port that lost something.
    losses: Vec<Losses>,
}

/// Packets that were lost on the link into one port, over the whole run. Packets that waited for
/// the link are among the drops of the port at its other end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Packets that were travelling towards the port when their link failed.
    pub cut: Count,
    /// Packets that came to the port damaged by their link.
    pub damaged: Count,
    /// Packets that came in by the port and found no route.
    pub stranded: Count,
    /// Packets that came to a slow host whose buffer was full.
    pub refused: Count,
}

impl Losses {
    /// The packets lost for each cause.
    pub const fn all(&self) -> [Count; 4] {
        [self.cut, self.damaged, self.stranded, self.refused]
    }
}

impl Failures {
    /// The agenda with these changes. Changes at one instant keep the order of the scenario.
    pub(crate) fn new(mut changes: Vec<(Time, Change)>) -> Self {
        changes.sort_by_key(|&(at, _)| at);
        Self { agenda: changes.into(), losses: Vec::new() }
    }

    /// The time of the next change.
    pub(crate) fn next(&self) -> Time {
        self.agenda.front().map_or(Time::MAX, |&(at, _)| at)
    }

    pub(super) fn pop(&mut self, now: Time) -> Option<Change> {
        if self.next() > now {
            return None;
        }
        self.agenda.pop_front().map(|(_, change)| change)
    }

    /// The losses at a port.
    pub(crate) fn losses(&self, port: usize) -> Losses {
        self.losses.get(port).copied().unwrap_or_default()
    }

    /// The counts of all lost packets.
    pub(crate) fn lost(&self) -> impl Iterator<Item = Count> {
        self.losses.iter().flat_map(Losses::all)
    }

    /// The losses at a port, to be changed. Space for them is made on first use: a network without
    /// failures needs none.
    pub(super) fn at(&mut self, port: u16) -> &mut Losses {
        let needed = usize::from(port) + 1;
        if self.losses.len() < needed {
            self.losses.resize(needed, Losses::default());
        }
        &mut self.losses[port as usize]
    }

    /// Counts a frame that comes to the end of a link that failed under it, or damaged it.
    #[cold]
    pub(crate) fn on_cut(&mut self, port: u16, frame: &Frame, transit: &mut Transit) {
        if frame.is_damaged() {
            self.at(port).damaged.add(frame.wire);
        } else if !frame.is_pfc() {
            self.at(port).cut.add(frame.wire);
        }
        transit.packets.drop(frame);
    }
}

/// Applies a change to the sending end of a link, in the way that hosts and switches share.
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

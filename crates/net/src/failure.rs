//! Links that fail, come back, or change their rate, and new routes.
//!
//! Each node has its own list of what will happen at its end of a link, and when. A port that is down
//! sends nothing; what waits for it, or comes for it, is dropped. What a link that fails was carrying is
//! marked by the sender, which knows the list, and counted by the receiver when it would have arrived.

use std::collections::VecDeque;

use incast_cc::{Rate, Time};

use super::Transit;
use super::frame::Frame;
use super::host::{Count, Host};
use super::link::Link;
use super::port::DropCause;
use super::routes::Table;
use super::switch::Switch;
use super::trace::PacketEvent;
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

    fn pop(&mut self, now: Time) -> Option<Change> {
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
    fn at(&mut self, port: u16) -> &mut Losses {
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
fn change_link(nic: &mut Transmitter, now: Time, change: &Change, links: &mut [Link]) {
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

impl Host {
    /// Something on the agenda is due.
    pub(crate) fn on_change(&mut self, now: Time, transit: &mut Transit) {
        while let Some(change) = self.failures.pop(now) {
            change_link(&mut self.nic, now, &change, &mut transit.links);
        }
        self.work(now, transit);
    }
}

impl Switch {
    /// Something on the agenda is due.
    pub(crate) fn on_change(&mut self, now: Time, transit: &mut Transit) {
        self.turn = 0;
        while let Some(change) = self.failures.pop(now) {
            let port = match change {
                Change::Down { port } | Change::Up { port, .. } | Change::Rate { port, .. } => port,
                Change::Routes(table) => {
                    self.routes.replace(table);
                    continue;
                }
            };
            let own = &mut self.ports[port as usize];
            change_link(&mut own.transmitter, now, &change, &mut transit.links);
            if let Change::Rate { rate, .. } = change {
                own.set_rate(now, rate);
            }
            if let Change::Down { .. } = change {
                self.empty(now, port, transit);
            }
            self.send(now, port, transit);
        }
    }

    /// Drops what waits for a port, and forgets that the far end was told to stop: it forgets it too.
    #[cold]
    fn empty(&mut self, now: Time, egress: u16, transit: &mut Transit) {
        self.buffer.forget_pauses(egress);
        self.ports[egress as usize].forget_pauses();
        while let Some(frame) = self.ports[egress as usize].next_pfc() {
            transit.packets.drop(&frame);
        }
        for class in 0..self.ports[egress as usize].classes() {
            self.purge(now, (egress, class), DropCause::Link, transit);
        }
    }

    /// A packet has come in for a host to which no way leads.
    #[cold]
    pub(super) fn on_stranded(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        let Frame { ingress, wire, .. } = *frame;
        self.failures.at(ingress).stranded.add(wire);
        self.trace.packet(now, ingress, frame, PacketEvent::Dropped, &transit.packets);
        transit.packets.drop(frame);
    }
}

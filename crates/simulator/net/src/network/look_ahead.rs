//! Brings the data of the next events into the processor's caches.
//!
//! In a large network an event's data is not in the caches: the link, the frame on it and the port
//! that it leaves by lie anywhere in tens of megabytes, and each is known only when the one before
//! it has come from memory. But it is known which events come next, and their data can come at the
//! same time. So each step is taken for several events before the next step. Nothing is decided
//! here, and nothing changes.
//!
//! * In slots, the next events are those of the slot.
//! * In node windows, they are all events of the node whose turn it is: whatever arrives in the
//!   window was sent before it. Hosts have few events in a window, so the data of the next hosts
//!   comes while one is served.
//!
//! Small networks have everything in the caches anyway.

use incast_cc::Time;

use super::Network;
use crate::frame::Frame;
use crate::switch::Switch;
use crate::{Component, ComponentKind, Transit};

/// The number of events of a slot that are looked at together: some more than the fetches that a
/// processor has under way at a time.
const BATCH: usize = 24;

/// The events whose data is being fetched.
#[derive(Debug, Default)]
pub(crate) struct LookAhead {
    coming: Vec<Coming>,
    /// The ports by which the frames of a switch leave, in the order in which they were found.
    ways: Vec<u16>,
}

/// An event of a slot.
#[derive(Clone, Copy, Debug)]
struct Coming {
    component: Component,
    frame: Frame,
    /// The port by which the frame leaves, or the port whose event it is.
    egress: Option<u16>,
}

impl Network {
    /// Looks at the data of the next events; returns their number.
    #[inline]
    pub(super) fn look_ahead(&mut self) -> usize {
        if !self.is_large() {
            return usize::MAX;
        }
        if let Some(until) = self.transit.calendar.window_end() {
            return self.touch_turn(until);
        }
        self.touch_next()
    }

    /// Looks at the data of a node that begins its turn in the window that ends at `until`.
    fn touch_turn(&mut self, until: Time) -> usize {
        let (events, begins) = self.transit.calendar.in_hand();
        let mut next = self.transit.calendar.next();
        if begins && let Some(first) = next.next() {
            let Component { kind, node, .. } = self.components[first as usize];
            drop(next);
            if kind.is_of_host() {
                self.touch_hosts(node as usize);
            } else {
                self.touch_switch(node as usize, until);
            }
        }
        events
    }

    /// Looks at the data of the hosts from `number` on.
    fn touch_hosts(&self, number: usize) {
        let Transit { links, calendar, .. } = &self.transit;
        let mut hosts = self.hosts[number..].iter();
        if let Some(now) = hosts.next() {
            links[now.incoming() as usize].touch_front();
            let out = &links[now.nic.link as usize];
            out.touch_end();
            calendar.touch(out.arrival());
        }
        if let Some(next) = hosts.next() {
            next.touch_connection();
            links[next.incoming() as usize].touch();
            links[next.nic.link as usize].touch();
        }
        if let Some(later) = hosts.next() {
            later.touch();
        }
    }

    /// Looks at the data of all events in hand, which are of the switch `number`, and of the frames
    /// that arrive before `until`.
    #[inline(never)]
    fn touch_switch(&mut self, number: usize, until: Time) {
        let Transit { links, calendar, .. } = &self.transit;
        let (switch, ways) = (&self.switches[number], &mut self.look_ahead.ways);
        let coming = || calendar.next().map(|id| self.components[id as usize]);
        let arrivals = || {
            let arriving = |of: &Component| of.kind == ComponentKind::SwitchArrival;
            coming().filter(arriving).map(|Component { link, port, .. }| (link as usize, port))
        };
        ways.clear();
        for Component { kind, link, port, .. } in coming() {
            match kind {
                ComponentKind::SwitchArrival => links[link as usize].touch(),
                ComponentKind::SwitchPort => {
                    switch.ports.behind()[port as usize].touch();
                    ways.push(port);
                }
                _ => {}
            }
        }
        for (link, _) in arrivals() {
            links[link].touch_front();
        }
        for (link, ingress) in arrivals() {
            let frames = links[link].arriving_before(until);
            ways.extend(frames.filter_map(|frame| switch.touch(ingress, frame)));
        }
        let now = self.now;
        for &egress in &*ways {
            touch_link(&self.transit, switch, egress, now);
        }
        for &egress in &*ways {
            let link = touch_places(&self.transit, switch, egress, now);
            calendar.touch(links[link].arrival());
        }
    }

    #[inline(never)]
    fn touch_next(&mut self) -> usize {
        let Transit { links, calendar, .. } = &self.transit;
        let batch = &mut self.look_ahead.coming;
        batch.clear();
        for id in calendar.next().take(BATCH) {
            let component = self.components[id as usize];
            let Component { kind, node, link, port } = component;
            let mut coming = Coming { component, frame: Frame::NOTHING, egress: None };
            match kind {
                ComponentKind::SwitchArrival | ComponentKind::HostArrival => {
                    links[link as usize].touch();
                }
                ComponentKind::SwitchPort => {
                    self.switches[node as usize].ports.behind()[port as usize].touch();
                    coming.egress = Some(port);
                }
                ComponentKind::HostPort | ComponentKind::HostTimer => {
                    self.hosts[node as usize].touch();
                }
                _ => {}
            }
            batch.push(coming);
        }
        for coming in batch.iter_mut() {
            let Component { kind, node, link, .. } = coming.component;
            match kind {
                ComponentKind::SwitchArrival | ComponentKind::HostArrival => {
                    if let Some(frame) = links[link as usize].front() {
                        coming.frame = *frame;
                    }
                }
                ComponentKind::HostPort | ComponentKind::HostTimer => {
                    self.hosts[node as usize].touch_connection();
                }
                _ => {}
            }
        }
        for coming in batch.iter_mut() {
            let Component { kind, node, port, .. } = coming.component;
            if kind == ComponentKind::SwitchArrival {
                let frame = &coming.frame;
                coming.egress = self.switches[node as usize].touch(port, frame);
            }
        }
        let now = self.now;
        let leaving = || {
            batch.iter().filter_map(|coming| {
                let egress = coming.egress?; // an event of a host has none
                Some((&self.switches[coming.component.node as usize], egress))
            })
        };
        for (switch, egress) in leaving() {
            touch_link(&self.transit, switch, egress, now);
        }
        for (switch, egress) in leaving() {
            touch_places(&self.transit, switch, egress, now);
        }
        batch.len()
    }
}

/// Looks at the link of the port `egress`, and at its queue where a packet has to wait.
#[inline]
fn touch_link(Transit { links, .. }: &Transit, switch: &Switch, egress: u16, now: Time) {
    let port = &switch.ports.behind()[egress as usize];
    links[port.transmitter.link as usize].touch();
    if !port.transmitter.is_free(now) {
        port.touch_queue();
    }
}

/// Looks at the places that a packet which leaves by the port `egress` takes; returns the link.
#[inline]
fn touch_places(Transit { links, .. }: &Transit, switch: &Switch, egress: u16, now: Time) -> usize {
    let port = &switch.ports.behind()[egress as usize];
    let link = port.transmitter.link as usize;
    links[link].touch_end();
    if !port.transmitter.is_free(now) {
        port.occupancy.touch_bucket();
    }
    link
}

//! Brings the data of the next events into the processor's caches.
//!
//! In a large network an event's data is not in the caches: the link, the frame on it and the port
//! that it leaves by lie anywhere in tens of megabytes, and each is known only when the one before
//! it has come from memory. But it is known which events come next, and their data can come at the
//! same time. So each step is taken for several events before the next step. Nothing is decided
//! here, and nothing changes.
//!
//! Small networks have everything in the caches anyway. So has a node that handles its events of a
//! window alone, from the second event on.

use super::Network;
use crate::frame::Frame;
use crate::{Component, ComponentKind, Transit};

/// The number of events looked at together: some more than the fetches that a processor has under
/// way at a time.
const BATCH: usize = 24;

/// An event whose data is being fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    component: Component,
    frame: Frame,
    /// The port by which the frame leaves, or the port whose event it is.
    egress: Option<u16>,
}

impl Network {
    /// Looks at the data of the next events; returns their number.
    #[inline]
    pub(super) fn look_ahead(&mut self) -> usize {
        if !self.is_large() || self.has_node_windows() {
            return usize::MAX;
        }
        self.touch_next()
    }

    #[inline(never)]
    fn touch_next(&mut self) -> usize {
        let Transit { links, calendar, .. } = &self.transit;
        let batch = &mut self.coming;
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
        for coming in batch.iter_mut() {
            let Some(egress) = coming.egress else { continue };
            let ports = self.switches[coming.component.node as usize].ports.behind();
            let port = &ports[egress as usize];
            links[port.transmitter.link as usize].touch();
            if !port.transmitter.is_free(now) {
                port.touch_queue();
            }
        }
        for coming in batch.iter() {
            let Some(egress) = coming.egress else { continue };
            let ports = self.switches[coming.component.node as usize].ports.behind();
            let port = &ports[egress as usize];
            links[port.transmitter.link as usize].touch_end();
            if !port.transmitter.is_free(now) {
                port.occupancy.touch_bucket();
            }
        }
        batch.len()
    }
}

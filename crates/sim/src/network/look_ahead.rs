//! Brings the data of the next events into the processor's caches.
//!
//! In a large network an event finds nothing there: the link, the frame on it, the port that it leaves by
//! lie anywhere in tens of megabytes, and each is known only when the one before it has come from memory.
//! But which events come next is known, and their data can come at the same time: so each step of the way
//! is taken for several events before the next step. Nothing is decided here, and nothing changes.

use std::hint::black_box;

use super::frame::FrameId;
use super::{ComponentKind, Network, Transit};

/// So many at once: about as many as a processor waits for at the same time.
const BATCH: usize = 12;
/// With fewer links all is in the caches anyway.
const LARGE: usize = 400;

/// An event whose data is on its way.
#[derive(Clone, Copy)]
struct Coming {
    kind: ComponentKind,
    node: u32,
    link: u32,
    port: u16,
    frame: Option<FrameId>,
}

impl Network {
    /// Looks at the data of the next events; returns of how many.
    #[inline]
    pub(super) fn look_ahead(&self) -> usize {
        if self.transit.links.len() < LARGE {
            return usize::MAX;
        }
        self.touch_next()
    }

    #[inline(never)]
    fn touch_next(&self) -> usize {
        let Transit { links, frames, calendar } = &self.transit;
        let nothing =
            Coming { kind: ComponentKind::HostStart, node: 0, link: 0, port: 0, frame: None };
        let mut batch = [nothing; BATCH];
        let mut count = 0;
        for (coming, id) in batch.iter_mut().zip(calendar.next().rev()) {
            let component = &self.components[id as usize];
            let (kind, node, port) = (component.kind, component.node, component.port);
            *coming = Coming { kind, node, link: component.link, port, frame: None };
            count += 1;
        }
        let batch = &mut batch[..count];
        for coming in batch.iter() {
            match coming.kind {
                ComponentKind::SwitchArrival | ComponentKind::HostArrival => {
                    links[coming.link as usize].touch();
                }
                ComponentKind::SwitchPort => {
                    self.switches[coming.node as usize].touch_port(coming.port);
                }
                ComponentKind::HostPort | ComponentKind::HostTimer => {
                    self.hosts[coming.node as usize].touch();
                }
                _ => {}
            }
        }
        for coming in batch.iter_mut() {
            if coming.kind == ComponentKind::SwitchArrival {
                coming.frame = links[coming.link as usize].front();
            }
        }
        for coming in batch.iter() {
            if let Some(frame) = coming.frame {
                black_box(frames[frame].destination);
            }
        }
        for coming in batch.iter() {
            if let Some(frame) = coming.frame {
                self.switches[coming.node as usize].touch(coming.port, &frames[frame]);
            }
        }
        count
    }
}

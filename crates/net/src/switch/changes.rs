//! Changes of a switch's links and routes while the network runs.

use incast_cc::Time;

use super::Switch;
use crate::Transit;
use crate::count::DropCause;
use crate::failure::{Change, change_link};
use crate::frame::Frame;
use crate::trace::PacketEvent;

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

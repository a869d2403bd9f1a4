//! Changes of a switch's links and routes while the network runs.

use incast_cc::Time;

use super::Switch;
use crate::Transit;
use crate::count::DropCause;
use crate::failure::{Change, change_link};
use crate::frame::Frame;
use crate::instant::{Current, Instant, NeedsEvent, Turn};
use crate::trace::PacketEvent;

impl Switch {
    /// Applies the changes on the agenda that are due.
    pub(crate) fn on_change(&mut self, now: Time, transit: &mut Transit) {
        let instant = Instant::new(now, Turn::Whole);
        while let Some(change) = self.failures.pop(now) {
            let port = match change {
                Change::Down { port } | Change::Up { port, .. } | Change::Rate { port, .. } => port,
                Change::Routes(table) => {
                    self.routes.replace(table);
                    continue;
                }
            };
            let port = self.catch_up(&instant, port, transit);
            let own = &mut self.ports[port];
            change_link(&mut own.transmitter, now, &change, &mut transit.links);
            if let Change::Rate { rate, .. } = change {
                own.set_rate(now, rate);
            }
            let is_down = matches!(change, Change::Down { .. });
            let needs = is_down.then(|| self.empty(&instant, port, transit));
            let event = self.send(&instant, port, transit);
            if let Some(needs) = needs {
                needs.met_by(event);
            }
        }
    }

    /// Drops the packets that wait for a port. This switch and the far end both forget that the far
    /// end was paused.
    #[cold]
    fn empty(&mut self, at: &Instant, egress: Current<'_>, transit: &mut Transit) -> NeedsEvent {
        self.buffer.forget_pauses(egress.number());
        self.ports[egress].forget_pauses();
        while self.ports[egress].next_pfc().is_some() {}
        let classes = 0..self.ports[egress].classes();
        self.purge(at, egress, classes, DropCause::Link, transit)
    }

    /// Counts and drops a frame that its link did not bring.
    #[cold]
    pub(crate) fn on_cut(&mut self, now: Time, port: u16, frame: &Frame, transit: &mut Transit) {
        if frame.is_damaged() {
            let dropped = (PacketEvent::Dropped, None);
            self.trace.packet(now, port, frame, dropped, &transit.packets);
        }
        self.failures.on_cut(port, frame, transit);
    }

    /// Counts and drops a packet for a host to which no route leads.
    #[cold]
    pub(super) fn on_stranded(&mut self, now: Time, frame: &Frame, transit: &mut Transit) {
        let Frame { ingress, wire, .. } = *frame;
        self.failures.at(ingress).stranded.add(wire);
        let dropped = (PacketEvent::Dropped, None);
        self.trace.packet(now, ingress, frame, dropped, &transit.packets);
        transit.packets.drop(frame);
    }
}

//! The granting engine of an endpoint, where it has one: what it is told, and when it speaks.

use std::cmp::Reverse;

use incast_cc::grants::{Grant, Grants};
use incast_cc::{CongestionControl, Time};

use super::{Endpoint, Outgoing};
use crate::granting::Granter;
use crate::packet::{Body, Form, Packet, clock_ns};
use crate::stamps::Stamps;

/// The index of the granting engine among the alarms of connections: no connection has it.
pub(super) const GRANTER: u32 = u32::MAX;

impl<C: CongestionControl> Endpoint<C> {
    /// Gives credit to those who send to this host, as a policy says. Their packets must come in the
    /// [full form](crate::Config::full_packets), which tells what they have left to send.
    ///
    /// # Panics
    /// When a connection is open: a policy knows all flows from the start.
    pub fn grant_by(&mut self, policy: Box<dyn Grants + Send + Sync>) {
        assert!(self.connections.is_empty(), "a policy comes before the first connection");
        self.granter = Some(Box::new(Granter::new(policy)));
    }

    /// Tells the granting engine of data, and makes sure that it is looked at in time.
    #[cold]
    pub(super) fn note_data(&mut self, now: Time, packet: &Packet, marked: bool) {
        if let Some(granter) = &mut self.granter {
            granter.on_data(now, packet.connection, packet, marked);
            self.arm_granter(now);
        }
    }

    /// Queues the credit that is due.
    #[cold]
    pub(super) fn on_granter(&mut self, now: Time) {
        if let Some(granter) = &mut self.granter {
            granter.on_timer(now);
            self.arm_granter(now);
        }
    }

    /// An alarm at the time of the next credit. Earlier ones stay, and find nothing to do.
    fn arm_granter(&mut self, now: Time) {
        if let Some(at) = self.granter.as_ref().and_then(|granter| granter.next_at()) {
            self.alarms.push(Reverse((at.max(now), GRANTER)));
        }
    }

    /// Whether credit is due whose class is in the mask `open`.
    #[cold]
    pub(super) fn has_credit(&self, open: u8) -> bool {
        let flow = self.granter.as_ref().and_then(|granter| granter.first());
        let place = flow.map(|flow| self.directory.place(flow));
        let connection = place.and_then(|place| self.connections.get(place as usize));
        connection.is_some_and(|connection| open & 1 << connection.ack_class != 0)
    }

    /// The next credit that is due, if its class is in the mask `open`.
    #[cold]
    pub(super) fn poll_credit(&mut self, now: Time, open: u8) -> Option<Outgoing> {
        if !self.has_credit(open) {
            return None;
        }
        let Grant { flow, bytes } = self.granter.as_mut()?.pop()?;
        let place = self.directory.place(flow);
        let connection = self.connections.get(place as usize)?;
        let bytes = u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        let packet = Packet {
            connection: connection.opening.peer,
            sent_ns: clock_ns(now),
            body: Body::Credit(bytes),
        };
        Some(Outgoing {
            connection: flow,
            address: connection.opening.address,
            class: connection.ack_class,
            begins: None,
            form: Form::of(packet, self.config.full_packets),
            stamps: Stamps::NONE,
        })
    }
}

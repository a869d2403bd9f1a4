//! Payload that is taken back before it was sent.

use incast_cc::{CongestionControl, Time};

use super::Endpoint;
use crate::connection::Role;
use crate::directory::Standing;

impl<C: CongestionControl> Endpoint<C> {
    /// Takes the unsent payload of a message back, which was posted on a connection before its last
    /// `after` messages. One that has not begun is as if it had never been posted. One that has
    /// begun ends a byte behind what was sent of it: its sender has to tell the peer's application
    /// that it is not whole. Returns the bytes taken back; [`None`] if all of it has been cut into
    /// segments, if it has no end, on a stream, or if the connection is closed.
    pub fn withdraw(&mut self, now: Time, connection: u32, after: usize) -> Option<u64> {
        let Standing::Open(place) = self.directory.standing(connection) else { return None };
        let connection = &mut self.connections[place as usize];
        let sender = connection.sender.as_mut()?;
        let was_idle = sender.is_idle();
        let bytes = sender.withdraw(after)?;
        let rests = !was_idle && sender.is_idle() && connection.opening.role == Role::Sender;
        self.active -= u32::from(rests);
        self.reschedule(now, place);
        Some(bytes)
    }
}

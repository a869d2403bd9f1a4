//! The state that nodes share: links with the frames on them, packets, and the calendar of events.

use super::calendar::Calendar;
use super::frame::Packets;
use super::link::Link;

/// The links between nodes, the packets, and the calendar of all events.
pub(crate) struct Transit {
    pub(crate) links: Vec<Link>,
    pub(crate) packets: Packets,
    pub(crate) calendar: Calendar,
}

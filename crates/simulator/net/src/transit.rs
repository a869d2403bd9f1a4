//! The state that nodes share: links with the frames on them, packets, parcels, and the calendar of
//! events.

use super::calendar::Calendar;
use super::frame::Packets;
use super::link::Link;
use super::parcels::Parcels;

/// The links between nodes, the packets, the parcels of islands, and the calendar of all events.
pub(crate) struct Transit {
    pub(crate) links: Vec<Link>,
    pub(crate) packets: Packets,
    pub(crate) parcels: Parcels,
    pub(crate) calendar: Calendar,
}

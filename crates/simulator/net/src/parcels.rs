//! Parcels: what is on its way over islands. A message is one parcel, however long it is.
//!
//! A parcel is handed to its receiver when its first bit leaves, the latency of the island before
//! that bit arrives. So the receiver has all parcels of an instant before it comes, and takes them
//! in an order that does not depend on who was first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use incast_cc::Time;

use super::calendar::{Calendar, ComponentId};

/// A message, a request or a receipt on its way. Its order is the order of taking in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Parcel {
    /// The arrival of the first bit.
    pub(crate) at: Time,
    /// The sending host, and the number of its parcels before this one.
    pub(crate) from: u32,
    pub(crate) number: u64,
    /// The receiver's number of the connection.
    pub(crate) connection: u32,
    pub(crate) content: Content,
}

/// The content of a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Content {
    /// A message of so many bytes.
    Message(u64),
    /// A request for so many bytes.
    Request(u64),
    /// The news that a message has arrived.
    Receipt,
}

/// The parcels on their way to hosts of a network, or of a part of it.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    /// The inbox of each host that is on an island, by its number in the whole network.
    pub(crate) inboxes: BTreeMap<u32, Inbox>,
    /// The parcels to hosts of other parts.
    pub(crate) elsewhere: Vec<(u32, Parcel)>,
}

/// The parcels on their way to a host.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// The component of the host that takes parcels in.
    pub(crate) component: ComponentId,
    parcels: BinaryHeap<Reverse<Parcel>>,
}

impl Inbox {
    pub(crate) const fn new(component: ComponentId) -> Self {
        Self { component, parcels: BinaryHeap::new() }
    }
}

impl Parcels {
    fn inbox(&mut self, host: u32) -> &mut Inbox {
        self.inboxes.get_mut(&host).unwrap_or_else(|| unreachable!("it is on an island"))
    }

    /// Puts a parcel on its way to a host.
    pub(crate) fn send(&mut self, to: u32, parcel: Parcel, calendar: &mut Calendar) {
        match self.inboxes.get_mut(&to) {
            Some(inbox) => {
                inbox.parcels.push(Reverse(parcel));
                if parcel.at < calendar.due(inbox.component) {
                    calendar.schedule(inbox.component, parcel.at);
                }
            }
            None => self.elsewhere.push((to, parcel)),
        }
    }

    /// Takes the next parcel to a host whose first bit has arrived by `now`.
    pub(crate) fn take(&mut self, host: u32, now: Time) -> Option<Parcel> {
        let parcels = &mut self.inbox(host).parcels;
        let has_arrived = parcels.peek().is_some_and(|Reverse(parcel)| parcel.at <= now);
        if has_arrived { parcels.pop().map(|Reverse(parcel)| parcel) } else { None }
    }

    /// Wakes the host whose event it is at `at`, or when the next parcel arrives.
    pub(crate) fn wake(&mut self, host: u32, at: Time, calendar: &mut Calendar) {
        let inbox = self.inbox(host);
        let first = inbox.parcels.peek().map_or(Time::MAX, |Reverse(parcel)| parcel.at);
        calendar.schedule(inbox.component, first.min(at));
    }
}

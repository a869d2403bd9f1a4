//! The ports of a switch. Only ports whose books are up to date can be read or changed.

use std::ops::{Index, IndexMut};

use crate::count::PortCounters;
use crate::instant::Current;
use crate::port::Port;

/// The ports of a switch.
#[derive(Debug)]
pub(crate) struct Ports(Vec<Port>);

impl Ports {
    pub(super) const fn new(ports: Vec<Port>) -> Self {
        Self(ports)
    }

    /// All ports, with books that may be behind: they overestimate, never underestimate. For data
    /// that does not depend on the books, such as the numbers of links, and for the end of a run.
    pub(crate) fn behind(&self) -> &[Port] {
        &self.0
    }

    /// All ports, to be changed, with books that may be behind.
    pub(crate) fn behind_mut(&mut self) -> &mut [Port] {
        &mut self.0
    }

    /// The counters of drops, trims, marks and pauses, which are never behind.
    #[inline]
    pub(crate) fn counters(&mut self, port: u16) -> &mut PortCounters {
        &mut self.0[port as usize].counters
    }
}

impl Index<Current<'_>> for Ports {
    type Output = Port;

    #[inline]
    fn index(&self, port: Current<'_>) -> &Port {
        &self.0[port.number() as usize]
    }
}

impl IndexMut<Current<'_>> for Ports {
    #[inline]
    fn index_mut(&mut self, port: Current<'_>) -> &mut Port {
        &mut self.0[port.number() as usize]
    }
}

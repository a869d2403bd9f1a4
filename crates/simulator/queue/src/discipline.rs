//! Queue disciplines: which packet of a queue leaves next, and which one is dropped or cut when
//! room is short.
//!
//! A kind has two types: its settings, which implement [`Settings`], and the [`Discipline`] that
//! they start for each queue, that is for each class of each port. The buffer decides whether there
//! is room. A discipline may give up a waiting packet for an arriving one
//! ([`evict`](Discipline::evict)); otherwise the arriving packet is dropped, or cut to its header
//! ([`refused`](Discipline::refused)).

mod registry;
#[cfg(test)]
mod tests;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => { $(pub mod $module;)+ };
}
disciplines!(modules);

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::Wrong;
pub use registry::{AnyDiscipline, KINDS, QueueDiscipline, fields_of};

/// A packet, as a discipline sees it.
pub trait Packet: Debug {
    /// The size on the wire, in bytes.
    fn wire(&self) -> u64;

    /// Whether the packet is data of which its header alone would tell the receiver something.
    fn is_trimmable(&self) -> bool {
        false
    }
}

/// The treatment of a packet for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The packet is dropped.
    Drop,
    /// The packet is cut to its header, which travels on in another class.
    Trim {
        /// The number of that class; the highest of the port where it has no such class.
        class: u8,
    },
}

/// The work that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The flow. Packets of one flow must leave in the order in which they came.
    pub flow: u64,
    /// The payload that is left: posted by the sender and not yet acknowledged by the receiver.
    /// `u64::MAX` if there is no end, zero for ACKs and control packets.
    pub remaining: u64,
}

/// The settings of a kind of queue discipline. All have defaults, so a name alone is a discipline.
pub trait Settings: DeserializeOwned + JsonSchema + Default {
    /// The queue that the settings start.
    type Queue<P: Packet>: Discipline<P>;

    /// The kind in one sentence, for the schema.
    const SUMMARY: &'static str;

    /// Whether packets leave in the order in which they came. Such queues have an
    /// [`as_fifo`](Discipline::as_fifo).
    const IN_ORDER: bool = false;

    /// Whether the queue may [cut](Refusal::Trim) a packet that finds no room.
    const TRIMS: bool = false;

    /// Finds mistakes that no single field shows.
    ///
    /// # Errors
    /// The field, and a sentence that says what is wrong with it.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// Tells the settings that they are those of class `own` of a port, by its place among the
    /// names of all classes, from the lowest to the highest.
    ///
    /// # Errors
    /// The field, and a sentence that says what is wrong with it there.
    fn settle(&mut self, _own: usize, _classes: &[&str]) -> Result<(), Wrong> {
        Ok(())
    }

    /// Starts an empty queue.
    fn start<P: Packet>(&self) -> Self::Queue<P>;
}

/// The packets that wait in one class of a port, and their order.
pub trait Discipline<P: Packet>: Debug {
    /// Adds a packet, for which there is room. A discipline that uses the packet's job calls `job`.
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job);

    /// Takes out the packet that leaves next.
    fn pop(&mut self) -> Option<P>;

    /// The packet that leaves next.
    fn head(&self) -> Option<&P>;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.head().is_none()
    }

    /// Takes out the packet that makes room for one of `arriving`; [`None`] if the arriving packet
    /// is to be dropped. The port asks again until there is room.
    fn evict(&mut self, arriving: Job) -> Option<P> {
        let _ = arriving;
        None
    }

    /// The treatment of a packet for which there is no room, once nothing gives way.
    fn refused(&self, packet: &P) -> Refusal {
        let _ = packet;
        Refusal::Drop
    }

    /// The queue as a first-in, first-out queue; [`None`] if packets may leave in another order. A
    /// port knows in advance when packets of such a queue leave, and may put packets back.
    fn as_fifo(&mut self) -> Option<&mut fifo::FifoQueue<P>> {
        None
    }

    /// All packets, for accounting.
    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_>;

    /// All packets, to be moved elsewhere.
    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_>;
}

/// A queue behind a pointer. Its methods are not inlined: their code would slow down ports with
/// first-in, first-out queues.
impl<P: Packet, D: Discipline<P>> Discipline<P> for Box<D> {
    #[inline(never)]
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job) {
        (**self).push(packet, job);
    }

    #[inline(never)]
    fn pop(&mut self) -> Option<P> {
        (**self).pop()
    }

    #[inline(never)]
    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }

    #[inline(never)]
    fn head(&self) -> Option<&P> {
        (**self).head()
    }

    #[inline(never)]
    fn evict(&mut self, arriving: Job) -> Option<P> {
        (**self).evict(arriving)
    }

    #[inline(never)]
    fn refused(&self, packet: &P) -> Refusal {
        (**self).refused(packet)
    }

    #[inline(never)]
    fn as_fifo(&mut self) -> Option<&mut fifo::FifoQueue<P>> {
        (**self).as_fifo()
    }

    #[inline(never)]
    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
        (**self).iter()
    }

    #[inline(never)]
    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
        (**self).iter_mut()
    }
}

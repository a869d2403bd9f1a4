//! Queue disciplines: which packet of a queue leaves next, and which one goes when room is short.
//!
//! A kind has two types: its settings, which implement [`Settings`], and the [`Discipline`] that
//! they start for each queue, a class of a port. The buffer decides whether there is room. A
//! discipline may offer a packet that waits in exchange for one that has come
//! ([`evict`](Discipline::evict)); otherwise the one that has come is dropped.

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

/// A packet, as far as a discipline looks at it.
pub trait Packet: Debug {
    /// The bytes on the wire.
    fn wire(&self) -> u64;
}

/// The work that a packet is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The flow. Packets of one flow must leave in the order in which they came.
    pub flow: u64,
    /// The payload that is left to do: what the sender has posted and the receiver has not
    /// acknowledged, the largest number where there is no end. Zero for ACKs and control packets.
    pub remaining: u64,
}

/// The settings of a kind of queue discipline. All have defaults: a name alone is a discipline.
pub trait Settings: DeserializeOwned + JsonSchema + Default {
    /// The queue that the settings start.
    type Queue<P: Packet>: Discipline<P>;

    /// The kind in one sentence, for the schema.
    const SUMMARY: &'static str;

    /// Finds mistakes that no single field shows.
    ///
    /// # Errors
    /// The field, and a sentence that says what is wrong with it.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// An empty queue.
    fn start<P: Packet>(&self) -> Self::Queue<P>;
}

/// The packets that wait in one class of a port, and their order.
pub trait Discipline<P: Packet>: Debug {
    /// Adds a packet that has room. A discipline that goes by the packet's job asks for it.
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job);

    /// Takes out the packet that leaves next.
    fn pop(&mut self) -> Option<P>;

    /// The packet that leaves next.
    fn head(&self) -> Option<&P>;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.head().is_none()
    }

    /// Takes out the packet that goes for one of `arriving`, which finds no room; [`None`] if the
    /// arriving one is to be dropped. The port asks again until there is room.
    fn evict(&mut self, arriving: Job) -> Option<P> {
        let _ = arriving;
        None
    }

    /// The queue as one in order of arrival; [`None`] if packets may leave in another order. A
    /// port knows in advance when packets of such a queue will leave, and it may put them back.
    fn as_fifo(&mut self) -> Option<&mut fifo::FifoQueue<P>> {
        None
    }

    /// All packets, for the books.
    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_>;

    /// All packets, to be kept elsewhere.
    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_>;
}

/// A queue behind a pointer. Nothing of it is inlined: ports would carry its code in the way of every
/// packet of a queue that is first in, first out.
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

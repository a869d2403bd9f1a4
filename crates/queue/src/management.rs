//! Queue management: marks or drops that tell senders of congestion before a queue is full.
//!
//! A kind has two types: its settings, which implement [`Management`], and the [`Law`] that they
//! start for each queue. A law judges every packet twice: as it comes and as it leaves. A law that
//! works by a timer has no events: each call first makes up for the instants that have passed. That
//! is exact, since the queue changes only in these calls.

mod registry;
#[cfg(test)]
mod tests;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => { $(pub mod $module;)+ };
}
managements!(modules);

use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::random::unit;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use crate::Wrong;
pub use registry::{AnyLaw, Aqm, KINDS, fields_of};

/// The settings of a kind of queue management.
pub trait Management: DeserializeOwned + JsonSchema {
    /// The law that the settings start.
    type Law: Law;

    /// The kind in one sentence, for the schema.
    const SUMMARY: &'static str;
    /// Settings in TOML, with their kind, for the tests of all kinds. On a link of 1 Gb/s with
    /// queues up to 60 KB the law marks and drops what its [`response`](Self::response) says.
    const EXAMPLE: &'static str;
    /// Whether one law judges the packets of all classes of a port. If not, each class has its own.
    const WHOLE_PORT: bool = false;

    /// The answer to packets that the law chooses.
    fn response(&self) -> Response;

    /// Finds mistakes that no single field shows.
    ///
    /// # Errors
    /// The field, and a sentence that says what is wrong with it.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// A law for a queue onto a link of `rate`, with random numbers of its own.
    fn start(&self, rate: Rate, random: Pcg64Mcg) -> Self::Law;
}

/// The queue management of one queue, while it runs. A kind implements what it needs.
pub trait Law {
    /// Judges a packet of `wire` bytes that comes and has room; `queued` bytes wait without it, and
    /// `ect` says that it may be marked. The queue stores the packet unless the answer is to drop
    /// it.
    fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        let _ = (now, queued, wire, ect);
        Verdict::Pass
    }

    /// Judges a packet that leaves, at the instant it came if nothing was in its way; `queued`
    /// bytes wait without it. The port sends the packet unless the answer is to drop it.
    fn on_dequeue(
        &mut self,
        now: Time,
        queued: u64,
        enqueued_at: Time,
        wire: u64,
        ect: bool,
    ) -> Verdict {
        let _ = (now, queued, enqueued_at, wire, ect);
        Verdict::Pass
    }

    /// Packets have gone from the queue otherwise, and `queued` bytes are left.
    fn on_purge(&mut self, now: Time, queued: u64) {
        let _ = (now, queued);
    }

    /// The link has another rate from now on.
    fn set_rate(&mut self, now: Time, rate: Rate) {
        let _ = (now, rate);
    }
}

/// The judgement of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet goes on as it is.
    Pass,
    /// The packet goes on with a mark (ECN).
    Mark,
    /// The packet is dropped.
    Drop,
}

/// The answer to packets that a law chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Whether packets that may be marked are marked, and not dropped.
    pub ecn: bool,
    /// Whether the others are dropped.
    pub drop: bool,
}

impl Response {
    /// The verdict on a chosen packet; `ect` says that it may be marked.
    pub const fn to(self, ect: bool) -> Verdict {
        if self.ecn && ect {
            Verdict::Mark
        } else if self.drop {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

/// The instants of a timer, which a law makes up for at its next call.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    next: Time,
    interval: Span,
}

impl Sampling {
    fn new(interval: Span) -> Self {
        Self { next: Time::ZERO + interval, interval }
    }

    /// Whether an instant has come, one after the other. Changes at the instant itself come after
    /// it.
    #[inline]
    fn due(&mut self, now: Time) -> bool {
        let due = self.next <= now;
        if due {
            self.next += self.interval;
        }
        due
    }

    /// Leaves out the others that have come: they would change nothing.
    fn skip(&mut self, now: Time) {
        if self.next <= now {
            let instants = now.since(self.next).as_ps() / self.interval.as_ps() + 1;
            self.next += self.interval * instants;
        }
    }
}

/// Whether an event of this probability happens.
fn happens(probability: f64, random: &mut Pcg64Mcg) -> bool {
    unit(random) < probability // which is below one, so zero never happens and one always
}

/// The default of switches.
const fn yes() -> bool {
    true
}

/// The packet of 500 B that several papers reckon with.
const fn default_packet() -> Bytes {
    Bytes::new(500)
}

//! Queue management: marks or drops that signal congestion to senders before a queue is full.
//!
//! A kind has two types: its settings, which implement [`Management`], and the [`Law`] that they
//! start for each queue. A law judges every packet twice: as it comes and as it leaves. A law with
//! a timer has no events of its own: each call first catches up on the instants that have passed.
//! That is exact, since the queue changes only in these calls.

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
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use crate::Wrong;
pub use registry::{AnyLaw, Aqm, KINDS, fields_of};

/// The settings of a kind of queue management.
pub trait Management: DeserializeOwned + JsonSchema {
    /// The law that the settings start.
    type Law: Law;

    /// The kind in one sentence, for the schema.
    const SUMMARY: &'static str;
    /// Settings in TOML with their kind, for the tests of all kinds. On a link of 1 Gb/s with
    /// queues up to 60 KB the law marks and drops as its [`response`](Self::response) says.
    const EXAMPLE: &'static str;
    /// Whether a single law judges the packets of all classes of a port. If not, each class has its
    /// own.
    const WHOLE_PORT: bool = false;

    /// The treatment of packets that the law chooses.
    fn response(&self) -> Response;

    /// Finds mistakes that no single field shows.
    ///
    /// # Errors
    /// The field, and a sentence that says what is wrong with it.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// Starts a law for a queue onto a link of `rate`, with its own random numbers.
    fn start(&self, rate: Rate, random: Pcg64Mcg) -> Self::Law;
}

/// The queue management of one queue, while it runs. A kind implements what it needs.
pub trait Law {
    /// Judges an arriving packet of `wire` bytes, for which there is room. `queued` bytes wait
    /// without it, and `ect` says whether it may be marked. The queue stores the packet unless the
    /// verdict is to drop it.
    fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        let _ = (now, queued, wire, ect);
        Verdict::Pass
    }

    /// Judges a packet that leaves; on an idle link that is the instant of its arrival. `queued`
    /// bytes wait without it. The port sends the packet unless the verdict is to drop it.
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

    /// The queues at which every packet passes, at present: the law need not be asked. It is told
    /// of such packets by [`on_passed`](Self::on_passed) before its next call.
    fn passing(&self) -> Passing {
        Passing::NONE
    }

    /// Notes that `packets` have passed unasked, at the moment at which the law judges.
    fn on_passed(&mut self, packets: u64) {
        let _ = packets;
    }

    /// Whether the law looks at the time for which a packet has waited.
    fn sees_waits(&self) -> bool {
        false
    }

    /// Notes that packets have left the queue in another way, and that `queued` bytes are left.
    fn on_purge(&mut self, now: Time, queued: u64) {
        let _ = (now, queued);
    }

    /// Notes that the link has another rate from now on.
    fn set_rate(&mut self, now: Time, rate: Rate) {
        let _ = (now, rate);
    }
}

/// The bounds of queues at which a law lets every packet pass. `u64::MAX` stands at a moment at
/// which the law never judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// The queue, with the packet that comes, is shorter than this.
    pub at_arrival: u64,
    /// The queue that a packet leaves behind is shorter than this.
    pub at_departure: u64,
}

impl Passing {
    /// The bounds of a law that is always asked.
    pub const NONE: Self = Self { at_arrival: 0, at_departure: 0 };
}

/// The moment at which a packet is judged by the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// Packets are judged as they come, by the queue that they find and themselves.
    #[default]
    Arrival,
    /// Packets are judged as they leave, by the queue that they leave behind.
    Departure,
}

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet goes on as it is.
    Pass,
    /// The packet goes on with a mark (ECN).
    Mark,
    /// The packet is dropped.
    Drop,
}

/// The treatment of packets that a law chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Whether packets that may be marked are marked instead of dropped.
    pub ecn: bool,
    /// Whether the other packets are dropped.
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

/// The instants of a timer, on which a law catches up at its next call.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    next: Time,
    interval: Span,
}

impl Sampling {
    fn new(interval: Span) -> Self {
        Self { next: Time::ZERO + interval, interval }
    }

    /// Whether another instant has come; call it until there is none. Changes at the instant itself
    /// count after it.
    fn due(&mut self, now: Time) -> bool {
        let due = self.next <= now;
        if due {
            self.next += self.interval;
        }
        due
    }

    /// Skips all other instants that have come, since they would change nothing.
    fn skip(&mut self, now: Time) {
        if self.next <= now {
            let instants = now.since(self.next).as_ps() / self.interval.as_ps() + 1;
            self.next += self.interval * instants;
        }
    }
}

/// Whether an event of this probability happens.
fn happens(probability: f64, random: &mut Pcg64Mcg) -> bool {
    unit(random) < probability // below one: zero never happens, and one always does
}

/// The default of settings that are on in switches.
const fn yes() -> bool {
    true
}

/// The packet of 500 B that several papers assume.
const fn default_packet() -> Bytes {
    Bytes::new(500)
}

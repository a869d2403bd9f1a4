//! Active queue management: what a queue tells senders before it is full.
//!
//! Each class of each egress port has an [`Aqm`] of its own, which judges every packet twice: as it
//! comes and as it leaves. One that works by a timer has no events: each call first makes up for the
//! instants that have passed. That is exact, since the queue changes only in these calls.

mod red;

use incast_cc::{Rate, Time};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::scenario;
use red::Red;

/// The queue management of one class of an egress port.
#[derive(Clone, Debug, Default)]
pub(crate) enum Aqm {
    #[default]
    None,
    Red(Red),
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl Aqm {
    /// As the scenario has it, for a link of `rate`; `seed` is from [`seed`].
    pub(crate) fn new(settings: Option<&scenario::Aqm>, rate: Rate, seed: u64) -> Self {
        match settings {
            Some(scenario::Aqm::Red(settings)) => Self::Red(Red::new(settings, rate, seed)),
            _ => Self::None,
        }
    }

    /// A packet comes that there is room for; `queued_bytes` without it. Unless the answer is to drop
    /// it, it is stored.
    #[inline]
    pub(crate) fn on_enqueue(
        &mut self,
        now: Time,
        queued_bytes: u64,
        wire: u64,
        ect: bool,
    ) -> Verdict {
        match self {
            Self::None => Verdict::Pass,
            Self::Red(red) => red.on_enqueue(now, queued_bytes, wire, ect),
        }
    }

    /// A packet leaves the queue, at the instant it came if nothing was in its way; `queued_bytes`
    /// without it. Unless the answer is to drop it, it is sent.
    #[inline]
    pub(crate) fn on_dequeue(
        &mut self,
        now: Time,
        queued_bytes: u64,
        enqueued_at: Time,
        wire: u64,
        ect: bool,
    ) -> Verdict {
        let _ = (enqueued_at, ect);
        match self {
            Self::None => Verdict::Pass,
            Self::Red(red) => red.on_dequeue(now, queued_bytes, wire),
        }
    }

    /// Packets have gone from the queue otherwise, and `queued_bytes` are left.
    pub(crate) fn on_purge(&mut self, now: Time, queued_bytes: u64) {
        match self {
            Self::None => {}
            Self::Red(red) => _ = red.on_dequeue(now, queued_bytes, 0),
        }
    }

    /// The link has another rate from now on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        let _ = now;
        match self {
            Self::None => {}
            Self::Red(red) => red.set_rate(rate),
        }
    }
}

/// The seed for one class of one port of one switch.
pub(crate) fn seed(run: u64, switch: u32, port: u16, class: u8) -> u64 {
    // The run's seed is spread first: by itself, run 1 would have the choices of run 0 in other places.
    let place = u64::from(switch) << 32 | u64::from(port) << 8 | u64::from(class);
    Pcg64Mcg::seed_from_u64(run).next_u64() ^ place
}

/// What becomes of the packets that are chosen.
#[derive(Clone, Copy, Debug)]
struct Response {
    /// Packets that may be marked are, and not dropped.
    ecn: bool,
    /// The others are dropped.
    drop: bool,
}

impl Response {
    fn to(self, ect: bool) -> Verdict {
        if self.ecn && ect {
            Verdict::Mark
        } else if self.drop {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

/// Whether something of this probability happens.
fn happens(probability: f64, random: &mut Pcg64Mcg) -> bool {
    // A number of 53 bits below one, so zero never happens and one always.
    let uniform = (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
    uniform < probability
}

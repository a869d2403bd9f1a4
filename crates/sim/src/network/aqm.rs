//! Active queue management: what a queue tells senders before it is full.
//!
//! Each class of each egress port has an [`Aqm`] of its own, which judges every packet twice: as it
//! comes and as it leaves. One that works by a timer has no events: each call first makes up for the
//! instants that have passed. That is exact, since the queue changes only in these calls.

mod codel;
mod phantom;
mod pi;
mod pie;
mod red;

use incast_cc::{Rate, Span, Time};
use rand_pcg::Pcg64Mcg;

use codel::Codel;
use incast_plan::random::unit;
use incast_scenario as scenario;
use phantom::Phantom;
use pi::Pi;
use pie::Pie;
use red::Red;

/// The queue management of one class of an egress port.
#[derive(Clone, Debug, Default)]
pub(crate) enum Aqm {
    #[default]
    None,
    Red(Red),
    Pi(Pi),
    Pie(Pie),
    Codel(Codel),
    Phantom(Phantom),
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl Aqm {
    /// As the scenario has it, for a link of `rate`.
    pub(crate) fn new(settings: Option<&scenario::Aqm>, rate: Rate, random: Pcg64Mcg) -> Self {
        match settings {
            None => Self::None,
            Some(scenario::Aqm::Red(settings)) => Self::Red(Red::new(settings, rate, random)),
            Some(scenario::Aqm::Pi(settings)) => Self::Pi(Pi::new(settings, random)),
            Some(scenario::Aqm::Pie(settings)) => Self::Pie(Pie::new(settings, random)),
            Some(scenario::Aqm::Codel(settings)) => Self::Codel(Codel::new(settings)),
            Some(scenario::Aqm::Phantom(settings)) => Self::Phantom(Phantom::new(settings, rate)),
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
            Self::None | Self::Codel(_) | Self::Phantom(_) => Verdict::Pass,
            Self::Red(red) => red.on_enqueue(now, queued_bytes, wire, ect),
            Self::Pi(pi) => pi.on_enqueue(now, queued_bytes, wire, ect),
            Self::Pie(pie) => pie.on_enqueue(now, queued_bytes, wire, ect),
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
        match self {
            Self::None => return Verdict::Pass,
            Self::Red(red) => red.on_dequeue(now, queued_bytes, wire),
            Self::Pi(pi) => pi.on_dequeue(now, queued_bytes),
            Self::Pie(pie) => pie.on_dequeue(now, queued_bytes, enqueued_at),
            Self::Codel(codel) => {
                return codel.on_dequeue(now, queued_bytes, enqueued_at, wire, ect);
            }
            Self::Phantom(phantom) => return phantom.on_dequeue(now, wire, ect),
        }
        Verdict::Pass
    }

    /// Packets have gone from the queue otherwise, and `queued_bytes` are left.
    pub(crate) fn on_purge(&mut self, now: Time, queued_bytes: u64) {
        match self {
            Self::None | Self::Phantom(_) => {}
            Self::Red(red) => red.on_purge(now, queued_bytes),
            Self::Pi(pi) => pi.on_dequeue(now, queued_bytes),
            Self::Pie(pie) => pie.on_purge(now, queued_bytes),
            Self::Codel(codel) => codel.on_purge(queued_bytes),
        }
    }

    /// The link has another rate from now on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        match self {
            Self::None | Self::Pi(_) | Self::Pie(_) | Self::Codel(_) => {}
            Self::Red(red) => red.set_rate(rate),
            Self::Phantom(phantom) => phantom.set_rate(now, rate),
        }
    }
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

/// The instants of a timer, of which nothing is heard until the next call.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    next: Time,
    interval: Span,
}

impl Sampling {
    fn new(interval: Span) -> Self {
        Self { next: Time::ZERO + interval, interval }
    }

    /// Whether an instant has come, one after the other. What happens at the instant itself comes after
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

/// Whether something of this probability happens.
fn happens(probability: f64, random: &mut Pcg64Mcg) -> bool {
    unit(random) < probability // which is below one, so zero never happens and one always
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;
    use incast_plan::random::generator;

    pub(super) fn random(seed: u64) -> Pcg64Mcg {
        generator(seed, "test", &[])
    }

    pub(super) fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[track_caller]
    pub(super) fn near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= 1e-12 + 1e-9 * expected.abs(),
            "{value}, not {expected}"
        );
    }

    /// A queue that changes at irregular times, often empty and sometimes still for long: microseconds,
    /// the bytes that are left, and how long the packet that left had waited.
    pub(super) fn trajectory(changes: u32) -> impl Iterator<Item = (u64, u64, u64)> {
        let mut random = random(11);
        let (mut at, mut queued) = (0, 0_u64);
        (0..changes).map(move |change| {
            at += random.next_u64() % if change % 100 == 0 { 5_000 } else { 12 };
            queued = match random.next_u64() % 8 {
                0..4 => queued + 3_000,
                4..7 => queued.saturating_sub(3_000),
                _ if queued > 60_000 => 0,
                _ => queued,
            };
            (at, queued, queued / 1_000)
        })
    }

    fn all() -> [scenario::Aqm; 5] {
        let read = |text: &str| toml::from_str(text).expect("written here");
        [
            "kind = 'red'\nmin = '10KB'\nmax = '40KB'\nmax_probability = 0.5",
            "kind = 'pi'\ninterval = '10us'\na = 0.02\nb = 0.01\ntarget = '20KB'",
            "kind = 'pie'\ninterval = '10us'\ntarget = '15us'\nburst = '0us'\na = 1e3\nb = 1e4",
            "kind = 'codel'\ninterval = '100us'\ntarget = '10us'",
            "kind = 'phantom'",
        ]
        .map(read)
    }

    /// What packets of 3,000 B hear, one of three of which may be marked.
    fn verdicts(settings: &scenario::Aqm, seed: u64) -> Vec<Verdict> {
        let mut aqm = Aqm::new(Some(settings), Rate::from_gbps(1), random(seed));
        let mut verdicts = Vec::new();
        let mut before = 0;
        for (index, (at, queued, waited)) in trajectory(5_000).enumerate() {
            let (now, ect) = (us(at), index % 3 == 0);
            verdicts.push(if queued > before {
                aqm.on_enqueue(now, before, 3_000, ect)
            } else {
                aqm.on_dequeue(now, queued, us(at.saturating_sub(waited)), 3_000, ect)
            });
            before = queued;
        }
        verdicts
    }

    #[test]
    fn same_seed_same_verdicts() {
        for settings in all() {
            let first = verdicts(&settings, 1);
            assert_eq!(first, verdicts(&settings, 1), "{settings:?}");
            assert!(first.contains(&Verdict::Mark), "{settings:?}");
            let drops = !matches!(settings, scenario::Aqm::Phantom(_));
            assert_eq!(first.contains(&Verdict::Drop), drops, "{settings:?}");
            let certain = matches!(settings, scenario::Aqm::Codel(_) | scenario::Aqm::Phantom(_));
            assert_eq!(first == verdicts(&settings, 2), certain, "{settings:?}");
        }
    }

    #[test]
    fn none_lets_all_pass() {
        let mut none = Aqm::new(None, Rate::from_gbps(10), random(1));
        assert_eq!(none.on_enqueue(us(1), 1 << 40, 1_500, true), Verdict::Pass);
        assert_eq!(none.on_dequeue(us(9_000_000), 1 << 40, us(1), 1_500, true), Verdict::Pass);
    }

    #[test]
    fn chances_are_as_large_as_they_say() {
        let mut random = random(1);
        let mut count = |p| (0..10_000).filter(|_| happens(p, &mut random)).count();
        assert_eq!((count(0.0), count(1.0)), (0, 10_000));
        assert!(count(0.25).abs_diff(2_500) < 4 * 43); // deviation sqrt(10,000 * 0.25 * 0.75) = 43
    }
}

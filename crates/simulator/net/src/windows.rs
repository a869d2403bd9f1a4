//! Domains that run side by side, window by window.
//!
//! A window starts with the earliest event of all domains and is as long as the least delay of the
//! links between them. So a frame that is sent in a window does not arrive in it, and every domain
//! runs through it alone. Frames on links to other domains go to the mailboxes of these. A domain
//! has two mailboxes in turn: one is being filled, the other emptied.
//!
//! There are more domains than threads. A thread runs its own domains, then others' domains that
//! have not begun. So a thread that is held up, by a full domain or by the operating system, holds
//! up the others less. Results do not depend on which thread runs a domain.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use incast_cc::{Span, Time};

use super::Network;
use super::domain::{Domain, Ends, Mail};
use super::partition::Partition;

/// A run over several threads. Between calls the network is whole, or its parts are here.
pub struct Windows {
    partition: Partition,
    ends: Vec<Ends>,
    lookahead: Span,
    threads: usize,
    /// The time of the PFC watchdogs' next look.
    watch: Time,
    watch_period: Span,
    /// The domains; empty while the network is whole.
    cells: Vec<DomainCell>,
    counts: WindowCounts,
}

/// The spread of a run's work over windows and domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// The number of domains.
    pub domains: usize,
    /// The number of windows.
    pub windows: u64,
    /// The events handled in them.
    pub events: u64,
    /// The events of the busiest domain of each window, summed: with a thread for each domain, the
    /// others wait for these.
    pub of_fullest: u64,
}

/// A domain with the data that other threads access. Aligned so that no two share a cache line.
#[repr(align(128))]
struct DomainCell {
    domain: Mutex<Domain>,
    /// The mailboxes of odd and of even windows: filled in one window, emptied in the next.
    mail: [Mutex<Mail>; 2],
    /// The last window for which a thread has taken the domain.
    taken: AtomicU64,
    /// The time of the domain's next event, or of the first arrival of a frame that it has sent.
    next: AtomicU64,
    /// The number of the domain's events in the last window.
    events: AtomicU64,
}

impl Windows {
    /// Windows over a network that can run apart, in up to `threads` threads.
    pub fn new(net: &Network, partition: Partition, threads: usize) -> Self {
        let ends = net.ends(&partition);
        let lookahead = net.lookahead(&ends, &partition);
        let counts = WindowCounts { domains: partition.domains, ..WindowCounts::default() };
        let watch_period = net.watch_period().unwrap_or(Span::MAX);
        let watch = Time::ZERO + watch_period;
        let cells = Vec::new();
        Self { partition, ends, lookahead, threads, watch, watch_period, cells, counts }
    }

    /// The spread of the work so far.
    pub const fn counts(&self) -> WindowCounts {
        self.counts
    }

    /// Handles all events before `end`, or stops at the end of a window after `events` events or a
    /// few more. Returns whether there are more; if not, the network is whole.
    pub fn run(&mut self, net: &mut Network, end: Time, events: u64) -> bool {
        let before = net.events;
        loop {
            self.part(net);
            let left = events.saturating_sub(net.events - before);
            let until = end.min(self.watch);
            if self.run_parts(net, until, left) {
                return true;
            }
            if until == end {
                self.join(net);
                return false;
            }
            self.look(net);
        }
    }

    /// Lets the watchdogs look. A watchdog that finds something searches all switches for
    /// dead-locks, so all events of that instant run in the whole network. (A hold that it finds
    /// began before the instant: one that begins now is not too long.)
    fn look(&mut self, net: &mut Network) {
        let now = self.watch;
        let finds = |cell: &mut DomainCell| {
            let switches = &exclusive(&mut cell.domain).net.switches;
            switches.iter().any(|switch| switch.has_overdue(now))
        };
        if self.cells.iter_mut().any(finds) {
            self.join(net);
            net.run(now + Span::from_ps(1), u64::MAX);
        }
        self.watch = now + self.watch_period;
    }

    fn part(&mut self, net: &mut Network) {
        if !self.cells.is_empty() {
            return;
        }
        let cell = |mut domain: Domain| {
            let next = domain.next().as_ps().into();
            let (taken, events) = (self.counts.windows.into(), 0.into());
            DomainCell { domain: domain.into(), mail: Default::default(), taken, next, events }
        };
        self.cells = net.part(&self.partition, &self.ends).into_iter().map(cell).collect();
    }

    /// Joins the network, so that it can be looked at.
    pub fn join(&mut self, net: &mut Network) {
        if self.cells.is_empty() {
            return;
        }
        let domain = |cell: DomainCell| {
            let mut domain = cell.domain.into_inner().unwrap_or_else(PoisonError::into_inner);
            for mail in cell.mail {
                domain.take_in(&mut mail.into_inner().unwrap_or_else(PoisonError::into_inner));
            }
            domain
        };
        let domains = self.cells.drain(..).map(domain).collect();
        net.join(domains, &self.partition, &self.ends);
    }

    fn run_parts(&mut self, net: &mut Network, end: Time, events: u64) -> bool {
        let run = Shared {
            cells: &self.cells,
            lookahead: self.lookahead,
            end,
            events,
            threads: self.threads.min(self.cells.len()),
            counts: Mutex::new(WindowCounts::default()),
            number: self.counts.windows.into(),
            until: net.now.as_ps().into(),
            going: AtomicBool::new(true),
            barrier: Barrier::default(),
        };
        let more = run.go();
        let counts = *lock(&run.counts);
        net.events += counts.events;
        net.now = if more { Time::from_ps(run.until.load(Ordering::Relaxed)) } else { end };
        self.counts.windows += counts.windows;
        self.counts.events += counts.events;
        self.counts.of_fullest += counts.of_fullest;
        more
    }
}

/// The state that the threads of one call share.
struct Shared<'a> {
    cells: &'a [DomainCell],
    lookahead: Span,
    end: Time,
    events: u64,
    threads: usize,
    counts: Mutex<WindowCounts>,
    /// The number of the window, from 1, and its end.
    number: AtomicU64,
    until: AtomicU64,
    going: AtomicBool,
    barrier: Barrier,
}

impl Shared<'_> {
    /// Runs the windows over all threads; returns whether there are more events before the end.
    fn go(&self) -> bool {
        self.open();
        std::thread::scope(|scope| {
            for thread in 1..self.threads {
                scope.spawn(move || self.work(thread));
            }
            self.work(0);
        });
        self.next() < self.end.as_ps()
    }

    fn work(&self, thread: usize) {
        let _leave = Leave(&self.barrier);
        while self.going.load(Ordering::Acquire) {
            let (number, until) =
                (self.number.load(Ordering::Acquire), self.until.load(Ordering::Acquire));
            for turn in 0..self.threads {
                self.run_cells((thread + turn) % self.threads, turn > 0, number, until);
            }
            if !self.barrier.wait(self.threads, || self.close()) {
                return;
            }
        }
    }

    /// Runs the domains of a thread; another thread's from the last on.
    fn run_cells(&self, thread: usize, of_another: bool, number: u64, until: u64) {
        let (all, threads) = (self.cells.len(), self.threads);
        let own = all * thread / threads..all * (thread + 1) / threads;
        for place in own.clone() {
            let place = if of_another { own.start + own.end - 1 - place } else { place };
            let cell = &self.cells[place];
            if cell.taken.fetch_max(number, Ordering::AcqRel) < number {
                self.run_cell(cell, number, Time::from_ps(until));
            }
        }
    }

    fn run_cell(&self, cell: &DomainCell, number: u64, until: Time) {
        let (emptied, filled) = if number.is_multiple_of(2) { (1, 0) } else { (0, 1) };
        let mut domain = lock(&cell.domain);
        domain.take_in(&mut lock(&cell.mail[emptied]));
        let events = domain.run(until);
        let sent = domain.hand_over(until, |to| lock(&self.cells[to].mail[filled]));
        let next = domain.net.transit.calendar.next_due().min(sent);
        cell.events.store(events, Ordering::Release);
        cell.next.store(next.as_ps(), Ordering::Release);
    }

    fn next(&self) -> u64 {
        let next = self.cells.iter().map(|cell| cell.next.load(Ordering::Acquire));
        next.min().unwrap_or(u64::MAX)
    }

    /// Closes a window that all threads have run through: counts it, and opens the next.
    fn close(&self) {
        {
            let mut counts = lock(&self.counts);
            counts.windows += 1;
            let mut fullest = 0;
            for cell in self.cells {
                let events = cell.events.load(Ordering::Acquire);
                counts.events += events;
                fullest = fullest.max(events);
            }
            counts.of_fullest += fullest;
        }
        self.open();
    }

    fn open(&self) {
        let next = Time::from_ps(self.next());
        if next >= self.end || lock(&self.counts).events >= self.events {
            return self.going.store(false, Ordering::Release);
        }
        self.number.fetch_add(1, Ordering::AcqRel);
        self.until.store((next + self.lookahead).min(self.end).as_ps(), Ordering::Release);
    }
}

/// A barrier at which threads wait for each other. They spin for a moment, then yield.
#[derive(Default)]
struct Barrier {
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// How often a thread looks before it yields.
const SPINS: u32 = 500;

impl Barrier {
    /// Waits for all threads. The last to arrive runs `last` before any goes on. Returns whether
    /// all are still there.
    fn wait(&self, threads: usize, last: impl FnOnce()) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == threads {
            last();
            self.arrived.store(0, Ordering::Release);
            self.round.store(round.wrapping_add(1), Ordering::Release);
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        !self.broken.load(Ordering::Acquire)
    }
}

/// A guard that releases the other threads when one panics: they would wait for it for ever.
struct Leave<'a>(&'a Barrier);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

/// Locks a mutex, even after a panic: a thread that panicked ends the run, and nobody looks at its
/// data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn exclusive<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_that_panics_lets_the_others_go() {
        let barrier = Barrier::default();
        let left = std::thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait(2, || unreachable!("the other never comes")));
            let panics = scope.spawn(|| {
                let _leave = Leave(&barrier);
                panic!("as is meant");
            });
            assert!(panics.join().is_err());
            waits.join().unwrap()
        });
        assert!(!left, "it goes on as if all were there");
    }
}

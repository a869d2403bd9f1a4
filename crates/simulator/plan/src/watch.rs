//! A caller that may stop a network while it is built.
//!
//! Building is one call, which takes seconds where there are millions of connections. A [`Watch`]
//! asks the caller now and then whether to go on. If not, the build unwinds to [`Watch::over`] and
//! is dropped.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Steps between two questions to the caller: some milliseconds of work.
const STEPS: u32 = 1 << 12;

/// A watch over long work, which asks a caller every few thousand steps whether to go on.
pub struct Watch<'a> {
    go_on: Option<&'a dyn Fn() -> bool>,
    left: Cell<u32>,
}

/// The panic payload of a build that was stopped, while it unwinds.
struct Stopped;

impl Watch<'static> {
    /// A watch that asks nobody.
    pub const fn nobody() -> Self {
        Self { go_on: None, left: Cell::new(STEPS) }
    }
}

impl<'a> Watch<'a> {
    /// A watch that asks `go_on` now and then.
    pub const fn asking(go_on: &'a dyn Fn() -> bool) -> Self {
        Self { go_on: Some(go_on), left: Cell::new(STEPS) }
    }

    /// Does the work; [`None`] if the caller stopped it.
    pub fn over<T>(&self, work: impl FnOnce(&Self) -> T) -> Option<T> {
        if self.go_on.is_none() {
            return Some(work(self));
        }
        // Everything that the work changed is dropped with it. The caller's own data was only read.
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => Some(done),
            Err(reason) if reason.is::<Stopped>() => None,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Counts a step of the work: a flow, a row of a table of routes.
    pub fn step(&self) {
        self.steps(1);
    }

    /// Counts `count` steps at once.
    pub fn steps(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        match self.left.get().checked_sub(count) {
            Some(left) => self.left.set(left),
            None => self.ask(),
        }
    }

    #[cold]
    fn ask(&self) {
        self.left.set(STEPS);
        if self.go_on.is_some_and(|go_on| !go_on()) {
            resume_unwind(Box::new(Stopped)); // no panic: the hook says nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_asked_now_and_then_and_may_stop() {
        let asked = Cell::new(0);
        let work = |watch: &Watch<'_>| (0..STEPS * 10).for_each(|_| watch.step());
        let go_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        assert_eq!(Watch::asking(&go_on).over(work), None);
        assert_eq!(asked.get(), 3);
        assert_eq!(Watch::nobody().over(work), Some(()));
        assert_eq!(Watch::asking(&|| true).over(work), Some(()));
    }

    #[test]
    fn large_steps_count_as_many() {
        let watch = Watch::asking(&|| false);
        assert_eq!(watch.over(|watch| watch.steps(STEPS as usize)), Some(()));
        assert_eq!(watch.over(Watch::step), None);
        assert_eq!(watch.over(|watch| watch.steps(usize::MAX)), None);
    }

    #[test]
    #[should_panic(expected = "a mistake")]
    fn a_panic_goes_on() {
        Watch::asking(&|| true).over(|_| panic!("a mistake"));
    }
}

//! The packet numbers that have come, so that none is taken twice.

const WORDS: usize = 64;
/// The numbers behind the newest one that are told apart. Older ones count as come.
pub const WINDOW: u64 = (WORDS as u64 - 1) * 64;

/// The packet numbers of a connection that have come, up to [`WINDOW`] behind the newest one.
#[derive(Debug)]
pub(super) struct Window {
    /// The number after the newest one.
    next: u64,
    /// A bit for each number, in a ring of words.
    words: [u64; WORDS],
}

impl Window {
    pub(super) const fn new() -> Self {
        Self { next: 0, words: [0; WORDS] }
    }

    /// Whether the number has surely not come before. The highest of all numbers never counts as
    /// fresh.
    pub(super) const fn is_fresh(&self, number: u64) -> bool {
        if number >= self.next {
            number < u64::MAX
        } else {
            self.next - number <= WINDOW && self.words[word(number)] & bit(number) == 0
        }
    }

    /// Notes a fresh number.
    pub(super) fn insert(&mut self, number: u64) {
        if number >= self.next {
            // Words that come into use again. Nothing above the newest number is set.
            let first = self.next.div_ceil(64);
            let last = number / 64;
            for index in first..=last.min(first.saturating_add(WORDS as u64)) {
                self.words[word(index * 64)] = 0;
            }
            self.next = number + 1;
        }
        self.words[word(number)] |= bit(number);
    }
}

const fn word(number: u64) -> usize {
    (number / 64 % WORDS as u64) as usize
}

const fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The random cases, and the most steps of each. Miri takes a thousand times as long.
    const CASES: u32 = if cfg!(miri) { 10 } else { 2_000 };
    const STEPS: usize = if cfg!(miri) { 20 } else { 400 };

    /// Steps ahead of the newest number, and back.
    fn step() -> impl Strategy<Value = i64> {
        let wide = WINDOW.cast_signed();
        prop_oneof![
            6 => 1..4_i64,
            6 => -70..1_i64,
            3 => (-wide - 70)..1,
            2 => (-3..4_i64).prop_map(move |more| more - wide),
            2 => 1..200_i64,
            1 => (wide - 70)..(wide + 200),
            1 => 1..1_000_000_i64,
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]

        #[test]
        fn a_number_is_fresh_once(
            start in prop_oneof![Just(0), any::<u64>()],
            steps in vec(step(), 1..STEPS),
        ) {
            let (mut window, mut come, mut newest) = (Window::new(), HashSet::new(), start);
            for step in steps {
                let number = newest.saturating_add_signed(step);
                let is_old = !come.is_empty() && newest - number.min(newest) >= WINDOW;
                let is_fresh = number < u64::MAX && !is_old && !come.contains(&number);
                prop_assert_eq!(window.is_fresh(number), is_fresh, "{} of {}", number, newest);
                if is_fresh {
                    newest = if come.is_empty() { number } else { newest.max(number) };
                    come.insert(number);
                    window.insert(number);
                    prop_assert!(!window.is_fresh(number));
                }
            }
        }
    }

    #[test]
    fn the_window_is_as_wide_as_it_says() {
        const { assert!(WINDOW >= 1_024) };
        let mut window = Window::new();
        window.insert(10_000);
        assert!(window.is_fresh(10_001 - WINDOW));
        assert!(!window.is_fresh(10_000 - WINDOW));
        (10_001 - WINDOW..10_000).for_each(|number| {
            assert!(window.is_fresh(number));
            window.insert(number);
        });
        (0..=10_000).for_each(|number| assert!(!window.is_fresh(number)));
        assert!(!window.is_fresh(u64::MAX));
    }
}

//! The minimum over a sliding window of time.

use crate::units::{Span, Time};

/// The least RTT of the last `window`, in constant space. As in Linux and BBR the filter keeps the
/// best value, the best since that value, and the best since the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinFilter {
    window: Span,
    /// The best values, ordered by time and by value: `best[0]` is the minimum. `None` before the
    /// first sample.
    best: Option<[(Time, Span); 3]>,
}

impl MinFilter {
    /// A filter over `window`; [`Span::MAX`] never forgets.
    pub const fn new(window: Span) -> Self {
        Self { window, best: None }
    }

    /// The minimum; [`Span::MAX`] before the first sample.
    pub const fn get(&self) -> Span {
        match &self.best {
            Some(best) => best[0].1,
            None => Span::MAX,
        }
    }

    /// Takes in a sample and returns the minimum.
    pub fn add(&mut self, now: Time, value: Span) -> Span {
        let sample = (now, value);
        let Some(best) = &mut self.best else {
            self.best = Some([sample; 3]);
            return value;
        };
        if value <= best[0].1 || now.since(best[2].0) > self.window {
            *best = [sample; 3];
        } else if value <= best[1].1 {
            (best[1], best[2]) = (sample, sample);
        } else if value <= best[2].1 {
            best[2] = sample;
        }
        if now.since(best[0].0) > self.window {
            *best = [best[1], best[2], sample];
            if now.since(best[0].0) > self.window {
                *best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && now.since(best[1].0) > self.window / 4 {
            // After a quarter of the window there is no second best yet: take one from the rest.
            (best[1], best[2]) = (sample, sample);
        } else if best[2].0 == best[1].0 && now.since(best[2].0) > self.window / 2 {
            best[2] = sample;
        }
        best[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn forgets_a_minimum_that_left_the_window() {
        let mut filter = MinFilter::new(Span::from_us(100));
        assert_eq!(filter.get(), Span::MAX);
        assert_eq!(filter.add(at(0), Span::from_us(5)), Span::from_us(5));
        assert_eq!(filter.add(at(40), Span::from_us(9)), Span::from_us(5));
        assert_eq!(filter.add(at(80), Span::from_us(7)), Span::from_us(5));
        assert_eq!(filter.add(at(101), Span::from_us(8)), Span::from_us(7));
    }

    #[test]
    fn never_forgets_with_an_endless_window() {
        let mut filter = MinFilter::new(Span::MAX);
        filter.add(at(0), Span::from_us(5));
        for t in 1..1_000 {
            assert_eq!(filter.add(at(t * 1_000), Span::from_us(50)), Span::from_us(5));
        }
    }

    #[test]
    fn stays_between_the_window_minimum_and_the_newest_sample() {
        let (mut filter, window) = (MinFilter::new(Span::from_us(64)), 64_u64);
        let value = |t: u64| Span::from_us(10 + (t * 7_919) % 101);
        for t in 0..2_000 {
            let got = filter.add(at(t), value(t));
            let exact = (t.saturating_sub(window)..=t).map(value).min().unwrap();
            assert!(got >= exact && got <= value(t), "at {t}: {got} not in {exact}..={}", value(t));
        }
    }
}

//! Sets of ranges of the stream, for data that has arrived beyond a gap.

use std::ops::Range;

/// Ranges that neither overlap nor touch, in order. A handful at most, unless loss is heavy.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Adds a range, and returns the range of the set that it is now in. `gap` gets each part of it
    /// that is new, in order.
    pub(super) fn insert(
        &mut self,
        range: Range<u64>,
        mut gap: impl FnMut(Range<u64>),
    ) -> Range<u64> {
        // The ranges that touch or overlap it.
        let first = self.0.partition_point(|known| known.end < range.start);
        let last = self.0.partition_point(|known| known.start <= range.end);
        let mut from = range.start;
        for known in &self.0[first..last] {
            if from < known.start {
                gap(from..known.start.min(range.end));
            }
            from = from.max(known.end);
        }
        if from < range.end {
            gap(from..range.end);
        }
        let touched = &self.0[first..last];
        let start = touched.first().map_or(range.start, |known| known.start.min(range.start));
        let end = touched.last().map_or(range.end, |known| known.end.max(range.end));
        self.0.splice(first..last, std::iter::once(start..end));
        start..end
    }

    /// Takes out everything below `sequence`.
    pub(super) fn remove_below(&mut self, sequence: u64) {
        let gone = self.0.partition_point(|known| known.end <= sequence);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.start = first.start.max(sequence);
        }
    }

    /// The range that starts at `sequence` or before and contains it.
    pub(super) fn containing(&self, sequence: u64) -> Option<Range<u64>> {
        let place = self.0.partition_point(|known| known.end <= sequence);
        self.0.get(place).filter(|known| known.start <= sequence).cloned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of bytes in the set.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|known| known.end - known.start).sum()
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "sets of ranges")]
mod tests {
    use super::*;

    fn insert(set: &mut Ranges, range: Range<u64>) -> (Range<u64>, Vec<Range<u64>>) {
        let mut gaps = Vec::new();
        (set.insert(range, |gap| gaps.push(gap)), gaps)
    }

    #[test]
    fn overlaps_are_merged_and_only_what_is_new_is_told() {
        let mut set = Ranges::default();
        assert_eq!(insert(&mut set, 10..20), (10..20, vec![10..20]));
        assert_eq!(insert(&mut set, 30..40), (30..40, vec![30..40]));
        assert_eq!(insert(&mut set, 12..18), (10..20, vec![]));
        assert_eq!(insert(&mut set, 5..35), (5..40, vec![5..10, 20..30]));
        assert_eq!(insert(&mut set, 40..50), (5..50, vec![40..50]));
        assert_eq!(set.bytes(), 45);
    }

    #[test]
    fn what_lies_below_is_taken_out() {
        let mut set = Ranges::default();
        for start in [10, 30, 50] {
            set.insert(start..start + 10, |_| {});
        }
        set.remove_below(35);
        assert_eq!((set.containing(37), set.containing(45)), (Some(35..40), None));
        assert_eq!((set.bytes(), set.containing(55)), (15, Some(50..60)));
        set.remove_below(100);
        assert!(set.is_empty());
    }
}

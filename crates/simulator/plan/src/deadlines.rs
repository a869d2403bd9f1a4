//! Deadlines by number: few runs have any, and a message keeps four bytes for its own.

use incast_cc::Span;

/// The number of a deadline; [`NONE`](Self::NONE) is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadlineNumber(u32);

impl DeadlineNumber {
    /// The number of a message without a deadline.
    pub const NONE: Self = Self(0);
}

/// A list of deadlines: the times that messages have from posting to completion.
#[derive(Clone, Debug, Default)]
pub struct Deadlines(Vec<Span>);

impl Deadlines {
    /// The number of a deadline, which is added unless the message before has the same.
    pub fn number(&mut self, deadline: Option<Span>) -> DeadlineNumber {
        let Some(deadline) = deadline else { return DeadlineNumber::NONE };
        if self.0.last() != Some(&deadline) {
            self.0.push(deadline);
        }
        DeadlineNumber(u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }

    /// The deadline of a number.
    pub fn get(&self, number: DeadlineNumber) -> Option<Span> {
        self.0.get((number.0 as usize).wrapping_sub(1)).copied()
    }

    /// Ends the adding of deadlines.
    pub(crate) fn finish(&mut self) {
        self.0.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_find_their_deadlines_and_one_that_repeats_is_kept_once() {
        let mut deadlines = Deadlines::default();
        let given =
            [None, Some(5), Some(5), None, Some(7), Some(5)].map(|us| us.map(Span::from_us));
        let numbers = given.map(|deadline| deadlines.number(deadline));
        assert_eq!(numbers.map(|number| deadlines.get(number)), given);
        assert_eq!(deadlines.0.len(), 3);
        assert_eq!(deadlines.get(DeadlineNumber::NONE), None);
    }
}

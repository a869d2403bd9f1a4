//! The message for a number that is too large, or zero.

/// The sentence for a number `here` that makes `all` of `what` too many, or none.
pub(crate) fn out_of_bounds(here: u64, all: u64, most: u64, what: &str) -> String {
    format!("{} {what}; expected 1 to {most} in all", if here == 0 { 0 } else { all })
}

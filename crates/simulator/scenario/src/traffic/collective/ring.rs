//! The steps of a ring all-reduce: every host sends a chunk to its successor, 2 (N - 1) times. Each
//! chunk but the first leaves when the chunk of the step before has arrived from the predecessor.
//! (N - 1 steps reduce, N - 1 distribute the result: Patarasuk and Yuan, "Bandwidth optimal
//! all-reduce algorithms for clusters of workstations", 2009.)

use incast_cc::Bytes;
use incast_plan::application::Outcome;
use incast_plan::steps::{Listing, Step, Steps};

/// The steps of a member of a ring of `members`, at least two, that reduces `bytes`. Its connection
/// is that to its successor, its slot 0 that of its predecessor.
pub(super) fn steps(members: u64, bytes: Bytes) -> Steps {
    let mut list = Listing::default();
    let chunk = Step::Send { to: 0, bytes: bytes.get().div_ceil(members) };
    let arrival = Step::Await { slot: 0, outcome: Outcome::Received };
    list.after(&[], chunk);
    for _ in 1..2 * (members - 1) {
        let arrived = list.after(&[], arrival);
        list.after(&[arrived], chunk);
    }
    list.after(&[], arrival);
    list.finish()
}

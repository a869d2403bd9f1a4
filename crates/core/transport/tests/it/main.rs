//! The tests of whole endpoints, in one program: linking one takes less time than linking many.

#![allow(clippy::large_types_passed_by_value, reason = "a test makes few endpoints")]

mod closing;
mod common;

mod fifo;
mod finished;
mod granting;
mod guide;
mod lateness;
mod levels;
mod lossy;
mod nic;
mod paths;
mod places;
mod recovery;
mod shortest;
mod stamps;
mod stream;
mod together;
mod withdrawn;

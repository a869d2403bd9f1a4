//! The tests of whole endpoints, in one program: linking one takes less time than linking many.

mod closing;
mod common;

mod fifo;
mod finished;
mod lateness;
mod levels;
mod lossy;
mod nic;
mod places;
mod recovery;
mod shortest;
mod stamps;
mod stream;
mod together;
mod withdrawn;

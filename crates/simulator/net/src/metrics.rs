//! Measurements, streamed into constant space: nothing is kept per packet.

pub mod histogram;
pub mod occupancy;

pub use histogram::Histogram;
pub use occupancy::Occupancy;

//! What the test bed runs inside its network namespaces: a load generator, a probe of round-trip times, a marker of packets. The
//! namespaces themselves are made by Python (`incast kernel lab`).

pub mod load;
pub mod mark;
pub mod probe;

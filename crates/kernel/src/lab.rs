//! What the test bed runs inside its network namespaces: a load generator and a probe of round-trip times. The
//! namespaces themselves are made by Python (`incast kernel lab`).

pub mod load;
pub mod probe;

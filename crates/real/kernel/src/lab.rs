//! The tools of the test bed inside its network namespaces: a load generator, a probe of round-trip
//! times, a marker of packets. Python makes the namespaces themselves (`incast kernel lab`).

pub mod load;
pub mod mark;
pub mod probe;

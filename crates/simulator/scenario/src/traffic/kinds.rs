//! The list of kinds of traffic.
//!
//! A line declares the module of a kind and registers its settings. `traffic.rs` makes the modules
//! from the list, and `registry.rs` everything that depends on a kind's name.

macro_rules! kinds {
    ($make:ident) => {
        $make! {
            connections::Connections,
            poisson::Poisson,
            requests::Requests,
            incast::Incast,
            collective::Collective,
            job::Job,
            ping_pong::PingPong,
            flows::FlowList,
        }
    };
}

//! The list of the kinds of networks.
//!
//! A line declares the module of a kind and registers its settings. `topology.rs` makes the modules
//! from the list, and `registry.rs` everything that depends on the name of a kind.

macro_rules! networks {
    ($make:ident) => {
        $make! {
            // One or two switches.
            star::Star,
            dumbbell::Dumbbell,

            // Networks of a datacenter, in layers.
            leaf_spine::LeafSpine,
            fat_tree::FatTree,
            clos::Clos,
            rail_optimised::RailOptimised,

            // Networks without layers.
            parking_lot::ParkingLot,
            dragonfly::Dragonfly,

            // Any network: each link is named, here or in a file of another simulator.
            graph::Graph,
            file::File,
        }
    };
}

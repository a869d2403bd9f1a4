//! The lists of kinds.
//!
//! A line declares the module of a kind and registers its type. The module has the name that
//! scenarios give the kind. `management.rs` and its `registry.rs` make all else from the list.

macro_rules! managements {
    ($make:ident) => {
        $make! {
            // A probability, from the length of the queue.
            red::Red,
            pi::Pi,

            // From the time that packets wait.
            pie::Pie,
            codel::Codel,

            // From the use of the link.
            phantom::Phantom,
        }
    };
}

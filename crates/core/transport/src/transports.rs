//! The list of transports: a line and a module for each.
//!
//! [`transports!`] hands the list to a macro that makes one enum of the parts of all transports,
//! and what asks each of them: the contents of packets (`packet.rs`) and the two halves of a
//! connection (`halves.rs`). The name of a transport is a variant of
//! [`incast_cc::param::Transport`], since algorithms say for which transport they were made.

/// Calls a macro with all transports, each with its variant and its module. The dollar sign that it
/// is given goes first: a macro that makes macros needs one.
macro_rules! transports {
    ($make:ident $dollar:tt) => {
        $make! {
            $dollar
            Message: message,
            Stream: stream,
        }
    };
}

pub(crate) use transports;

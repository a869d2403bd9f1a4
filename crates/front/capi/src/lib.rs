//! Messages over UDP in C: `include/incast.h`, which is made of these sources.
//!
//! Each function checks its pointers, catches panics, and says what is wrong by a code and a
//! sentence. `examples/echo.c` uses all that a program needs.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "C gives pointers, and finds functions by their names")]
#![expect(clippy::missing_safety_doc, reason = "the header says it of all functions together")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod border;
mod error;

// The header has them in this order.
mod hosts;

mod calls;

mod requests;

pub use calls::{Bytes, incast_bytes_free, incast_call, incast_note};
pub use error::{
    Error, INCAST_BAD_ARGUMENT, INCAST_CANNOT_OPEN, INCAST_DEFECT, INCAST_FULL, INCAST_GONE,
    INCAST_MESSAGE_BYTES, INCAST_OK, INCAST_REFUSED, INCAST_STOPPED, INCAST_TIMED_OUT,
    INCAST_TOO_LONG,
};
pub use hosts::{
    Host, Options, Peer, incast_address, incast_close, incast_connect, incast_open,
    incast_peer_free,
};
pub use requests::{
    Request, incast_accept, incast_refuse, incast_reply, incast_request_body, incast_request_free,
    incast_request_timeout, incast_wants_reply,
};

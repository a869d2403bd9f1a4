//! TIMELY, Regulated TCP and DCTCP on Linux TCP: BPF programs (`bpf/`), and what loads, changes and watches
//! them.
//!
//! * [`algorithm`]: the three, their parameters and how these become the knobs of a program;
//! * [`system`]: what this machine must have, and what it says of congestion control;
//! * [`attached`]: attaching, finding what any process attached, changing and detaching it;
//! * [`observe`]: what connections do, as they do it;
//! * [`object`]: the programs as files, for other loaders;
//! * [`lab`]: what a test bed of network namespaces runs;
//! * [`twin`]: the integer cores on the host and in BPF, to be compared with `incast-cc`.

pub mod algorithm;
pub mod attached;
pub mod lab;
pub mod object;
pub mod observe;
mod programs;
pub mod system;
pub mod twin;

/// What can go wrong: one sentence that names the value, the place and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl From<libbpf_rs::Error> for Error {
    fn from(error: libbpf_rs::Error) -> Self {
        Self(format!("the kernel refused: {error:#}"))
    }
}

/// A result with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An [`Error`] of a formatted sentence.
#[macro_export]
macro_rules! fail {
    ($($text:tt)*) => { return Err($crate::Error(format!($($text)*))) };
}

//! TIMELY, Regulated TCP and DCTCP on Linux TCP: the BPF programs (`bpf/`), and the library that
//! loads, changes and watches them.
//!
//! * [`algorithm`]: the algorithms, their parameters, and how these become the knobs of a program;
//! * [`system`]: the requirements on this machine, and its list of congestion control algorithms;
//! * [`attached`]: attaching an algorithm; finding, changing and detaching one of any process;
//! * [`observe`]: reports of connections while they run;
//! * [`object`]: the programs as files, for other loaders;
//! * [`lab`]: the tools of a test bed of network namespaces;
//! * `twin`, with the feature of that name: the integer cores on the host and in BPF, to be
//!   compared with `incast-cc`.
//!
//! A program is a file in `programs/` with its BPF in `bpf/`, and a line in `programs.rs`.

#[macro_use]
mod shared;

pub mod algorithm;
pub mod attached;
mod cgroup;
mod error;
pub mod lab;
pub mod object;
pub mod observe;
mod param;
mod programs;
pub mod system;
#[cfg(feature = "twin")]
pub mod twin;
mod values;

pub use error::{Error, Result};

//! Every failure of this crate, as a sentence that names the value, the place and the remedy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use incast_cc::param::{Conflict, SetError};

/// A failure, one sentence each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a call of libbpf.
    #[error("the kernel refused: {0:#}")]
    Kernel(#[from] libbpf_rs::Error),

    /// No program of this name.
    #[error("{name}: cannot be attached to Linux TCP; there is {known}")]
    UnknownAlgorithm {
        /// The name that was asked for.
        name: String,
        /// The names of all programs.
        known: String,
    },
    /// A setting without `=`.
    #[error("--set {0}: expected KEY=VALUE")]
    NotAnAssignment(String),
    /// The algorithm has no such preset.
    #[error("preset={name}: no such preset; there is {known}")]
    UnknownPreset {
        /// The name that was asked for.
        name: String,
        /// The names of all presets.
        known: String,
    },
    /// The algorithm has no such parameter.
    #[error("{name}: no such parameter of {algorithm}; there is {known}")]
    UnknownParameter {
        /// The name that was asked for.
        name: String,
        /// The algorithm.
        algorithm: &'static str,
        /// The names of all parameters.
        known: String,
    },
    /// The text is no value of the parameter.
    #[error("{name}={value}: {reason}")]
    InvalidValue {
        /// The parameter.
        name: String,
        /// The text.
        value: String,
        /// The reason for the refusal.
        reason: SetError,
    },
    /// Two parameters contradict each other.
    #[error("{} {} {}", .0.name, .0.rule, .0.other)]
    Conflict(Conflict),
    /// A value that the simulator takes and a program cannot.
    #[error("{setting}: Linux TCP {because}; expected {expected}")]
    NotOnLinux {
        /// The parameter, with its value where the name alone is not enough.
        setting: &'static str,
        /// The way of Linux TCP that excludes the value.
        because: &'static str,
        /// The values that a program takes.
        expected: &'static str,
    },
    /// More text of settings than a [`record`](crate::attached::Attached) holds.
    #[error("{0}: more than 2047 characters of settings")]
    SettingsTooLong(&'static str),

    /// A name that sockets cannot choose.
    #[error("--name {0}: expected 1 to 15 letters, digits, dots, - or _")]
    InvalidName(String),
    /// The kernel has an algorithm of this name.
    #[error(
        "{0}: is attached already, or a module has this name; detach it, or choose another by \
         --name"
    )]
    NameTaken(String),
    /// A directory that is no cgroup of version 2.
    #[error("--cgroup {}: {reason}; expected a directory of cgroup v2", .path.display())]
    NoCgroup {
        /// The directory.
        path: PathBuf,
        /// The fault of the directory.
        reason: String,
    },
    /// A path that a [`record`](crate::attached::Attached) cannot hold.
    #[error("{}: expected a path of at most 255 characters", .0.display())]
    PathTooLong(PathBuf),
    /// The kernel refused to give a cgroup its program.
    #[error("--cgroup: the kernel refused: {0}")]
    CgroupRefused(io::Error),
    /// A program was built without the constants that its loader sets.
    #[error("the {0} has no constants")]
    NoConstants(&'static str),

    /// Nothing of incast is attached.
    #[error("nothing of incast is attached; incast kernel attach timely does that")]
    NothingAttached,
    /// This name is not attached, and nothing else is.
    #[error("{0}: is not attached; nothing of incast is")]
    NotAttachedAlone(String),
    /// This name is not attached, but others are.
    #[error("{name}: is not attached; there is {attached}")]
    NotAttached {
        /// The name that was asked for.
        name: String,
        /// The names that are attached.
        attached: String,
    },
    /// Several algorithms are attached, and none was named.
    #[error("several are attached, {0}: name one")]
    SeveralAttached(String),
    /// The record of an attached algorithm was taken away meanwhile.
    #[error("{0}: its record is gone")]
    RecordGone(String),

    /// The process may not load programs.
    #[error(
        "not permitted: congestion control is attached by root, or with CAP_BPF, CAP_NET_ADMIN and \
         CAP_PERFMON; try sudo"
    )]
    NotPermitted,
    /// The kernel was built without BTF.
    #[error(
        "{0}: is missing: this kernel was built without BTF; one with CONFIG_DEBUG_INFO_BTF is \
         needed, as distributions have since 2021"
    )]
    NoBtf(&'static str),
    /// The kernel's BTF cannot be read.
    #[error("{path}: {error}")]
    UnreadableBtf {
        /// The file.
        path: &'static str,
        /// The answer of libbpf.
        error: libbpf_rs::Error,
    },
    /// The kernel was built without BPF congestion control.
    #[error(
        "this kernel has no BPF congestion control: Linux 5.6 or newer is needed, built with \
         CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF"
    )]
    NoCongestionControl,
    /// The kernel refused another default.
    #[error("{path}: {name} cannot be made the default: {error}")]
    DefaultRefused {
        /// The sysctl.
        path: &'static str,
        /// The algorithm.
        name: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// A file of the kernel cannot be read.
    #[error("{path}: cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: &'static str,
        /// The kernel's answer.
        error: io::Error,
    },
    /// A file or a stream cannot be written.
    #[error("{place}: cannot be written: {error}")]
    Unwritable {
        /// The option with its file, or the stream.
        place: String,
        /// The kernel's answer.
        error: io::Error,
    },

    /// A device of another network namespace, or none.
    #[error("{0}: there is no such device in this network namespace")]
    NoDevice(String),
    /// A text that no device can be called.
    #[error("{0}: is no device")]
    InvalidDevice(String),
    /// A port cannot be listened at.
    #[error("{address}: cannot be listened at: {error}")]
    Unlistenable {
        /// The address.
        address: SocketAddr,
        /// The kernel's answer.
        error: io::Error,
    },
    /// A datagram socket cannot have this address.
    #[error("{address}: cannot be bound: {error}")]
    Unbindable {
        /// The address.
        address: SocketAddr,
        /// The kernel's answer.
        error: io::Error,
    },
    /// An address cannot be reached.
    #[error("{address}: {error}")]
    Unreachable {
        /// The address.
        address: SocketAddr,
        /// The kernel's answer.
        error: io::Error,
    },
    /// A socket cannot use this algorithm.
    #[error("{name}: {error}")]
    NotChosen {
        /// The algorithm.
        name: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The kernel gives no timestamps of datagrams.
    #[error("the kernel gives no timestamps: {0}")]
    NoTimestamps(nix::Error),
    /// A probe cannot read its socket.
    #[error("the probe cannot receive: {0}")]
    ProbeFailed(nix::Error),
    /// A probe cannot set up its socket.
    #[error("{0}")]
    ProbeSocket(io::Error),
    /// The results of a load cannot be written.
    #[error("results cannot be written: {0}")]
    UnwritableResults(io::Error),
    /// The plan of a load cannot be read.
    #[error("the plan cannot be read: {0}")]
    UnreadablePlan(io::Error),
    /// A line of a plan is no request.
    #[error("plan, line {line}: {error}")]
    InvalidPlan {
        /// The line, from 1.
        line: usize,
        /// The fault of the line.
        error: serde_json::Error,
    },
    /// A line of a plan is earlier than the line before.
    #[error("plan, line {0}: is earlier than the line before")]
    PlanOutOfOrder(usize),
}

/// A result with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

//! The machine's facts: privileges, BTF, the list of algorithms, the default.

use std::fs;
use std::path::Path;

use libbpf_rs::ReferencesType as _;
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType};

use crate::{Error, Result};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The signature of the kernel's `cong_control`, of which there are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// Linux 6.10 and later: socket, ACK, flags, rate sample.
    New,
    /// Earlier kernels: socket and rate sample.
    Old,
}

/// Finds out whether programs can be attached here.
///
/// # Errors
/// The requirement that is missing, with the remedy.
pub fn check() -> Result<()> {
    // SAFETY: it takes and changes nothing.
    if unsafe { libc::geteuid() } != 0 && !capable() {
        return Err(Error::NotPermitted);
    }
    if !Path::new(BTF).exists() {
        return Err(Error::NoBtf(BTF));
    }
    signature().map(|_| ())
}

/// Whether the process has all capabilities that are needed, without being root.
fn capable() -> bool {
    const NEEDED: u64 = (1 << 39) | (1 << 12) | (1 << 38); // BPF, NET_ADMIN, PERFMON
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
        .is_some_and(|have| have & NEEDED == NEEDED)
}

/// The signature of `cong_control`, from the running kernel's BTF.
///
/// # Errors
/// The kernel lacks BPF congestion control.
pub fn signature() -> Result<Signature> {
    let lacking = || Error::NoCongestionControl;
    let btf = Btf::from_vmlinux().map_err(|error| Error::UnreadableBtf { path: BTF, error })?;
    if btf.type_by_name::<Struct<'_>>("bpf_struct_ops_tcp_congestion_ops").is_none() {
        return Err(lacking());
    }
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops").ok_or_else(lacking)?;
    let member = ops
        .iter()
        .find(|member| member.name.is_some_and(|name| name == "cong_control"))
        .ok_or_else(lacking)?;
    let pointer: Ptr<'_> = btf.type_by_id(member.ty).ok_or_else(lacking)?;
    let function: BtfType<'_> = pointer.referenced_type();
    let prototype = FuncProto::try_from(function).map_err(|_| lacking())?;
    Ok(if prototype.iter().count() >= 4 { Signature::New } else { Signature::Old })
}

/// The algorithms that sockets can choose.
///
/// # Errors
/// The kernel does not say.
pub fn available() -> Result<Vec<String>> {
    Ok(read(AVAILABLE)?.split_whitespace().map(str::to_owned).collect())
}

/// The algorithm of sockets that choose none.
///
/// # Errors
/// The kernel does not say.
pub fn default() -> Result<String> {
    Ok(read(DEFAULT)?.trim().to_owned())
}

/// Makes an algorithm the default.
///
/// # Errors
/// The kernel refuses.
pub fn set_default(name: &str) -> Result<()> {
    fs::write(DEFAULT, name).map_err(|error| Error::DefaultRefused {
        path: DEFAULT,
        name: name.to_owned(),
        error,
    })
}

fn read(path: &'static str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::Unreadable { path, error })
}

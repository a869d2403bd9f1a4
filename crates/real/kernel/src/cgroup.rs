//! The program that gives each TCP connection of a cgroup an algorithm.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};

use self::skeleton::CgroupSkelBuilder;
use crate::shared::put_name;
use crate::{Error, Result};

skeleton!(cgroup);

/// Opens the directory of a cgroup of version 2.
pub(crate) fn open(path: &Path) -> Result<File> {
    let why = |reason: &str| Error::NoCgroup { path: path.to_owned(), reason: reason.to_owned() };
    if !path.is_dir() {
        return Err(why(if path.exists() { "is no directory" } else { "does not exist" }));
    }
    if !path.join("cgroup.procs").exists() {
        return Err(why("is no cgroup"));
    }
    if !path.join("cgroup.controllers").exists() {
        return Err(why("is a cgroup of version 1"));
    }
    File::open(path).map_err(|error| why(&error.to_string()))
}

/// The state of the cgroup that an algorithm was attached to. A cgroup that ends takes its program
/// along: a service that is started again has another cgroup at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupState {
    /// The cgroup is there.
    There,
    /// Nothing is at its path any more.
    Gone,
    /// Another cgroup, whose connections do not use the algorithm, is at the path.
    MadeAnew,
}

impl CgroupState {
    /// The state of the cgroup that had this id and path.
    pub(crate) fn of(path: &Path, id: u64) -> Self {
        match path.metadata() {
            Err(_) => Self::Gone,
            Ok(now) if now.ino() == id => Self::There,
            Ok(_) => Self::MadeAnew,
        }
    }

    /// The state as a word of JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Gone => "gone",
            Self::MadeAnew => "made anew",
        }
    }
}

/// The id of a cgroup: the kernel has it as the number of its directory's inode.
pub(crate) fn id(group: &File) -> io::Result<u64> {
    group.metadata().map(|found| found.ino())
}

/// Attaches the program to a cgroup and returns its id. A link would end with this process, so it
/// is attached the older way, which ends with the cgroup.
pub(crate) fn attach(name: &str, group: &File) -> Result<u32> {
    let mut object = MaybeUninit::uninit();
    let mut open = CgroupSkelBuilder::default().open(&mut object)?;
    let constants = open.maps.rodata_data.as_deref_mut();
    put_name(&mut constants.ok_or(Error::NoConstants("cgroup program"))?.algorithm, name);
    let skel = open.load()?;
    let program = &skel.progs.incast_cgroup;
    // SAFETY: two open files and constants.
    let done = unsafe {
        libbpf_sys::bpf_prog_attach(
            program.as_fd().as_raw_fd(),
            group.as_raw_fd(),
            libbpf_sys::BPF_CGROUP_SOCK_OPS,
            libbpf_sys::BPF_F_ALLOW_MULTI,
        )
    };
    accepted(done)?;
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = u32::try_from(size_of_val(&info)).unwrap_or(0);
    // SAFETY: the structure and its size.
    let told = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_fd().as_raw_fd(),
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    accepted(told)?;
    Ok(info.id)
}

fn accepted(done: i32) -> Result<()> {
    if done == 0 { Ok(()) } else { Err(Error::CgroupRefused(io::Error::from_raw_os_error(-done))) }
}

/// Detaches the program with this id. A cgroup that is gone has taken its program with it.
pub(crate) fn detach(path: Option<&Path>, program_id: u32) {
    let Some(Ok(group)) = path.map(File::open) else { return };
    // SAFETY: a number; the file that it gives, if any, is owned from here.
    let program = unsafe {
        let fd = libbpf_sys::bpf_prog_get_fd_by_id(program_id);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    };
    if let Some(program) = program {
        // SAFETY: two open files and a constant.
        unsafe {
            libbpf_sys::bpf_prog_detach2(
                program.as_raw_fd(),
                group.as_raw_fd(),
                libbpf_sys::BPF_CGROUP_SOCK_OPS,
            );
        }
    }
}

//! Marks (ECN) at a port of the test bed's switch, since not every kernel has RED.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;

use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{TC_EGRESS, TcHookBuilder};

use self::skeleton::MarkSkelBuilder;
use crate::{Error, Result};

skeleton!(mark);

/// Marks packets that find more than `threshold_bytes` in the queue of `device` from now on. The
/// program stays until the device goes.
///
/// # Errors
/// There is no such device in this network namespace, or the kernel refuses.
pub fn mark(device: &str, threshold_bytes: u32) -> Result<()> {
    let name = CString::new(device).map_err(|_| Error::InvalidDevice(device.to_owned()))?;
    // SAFETY: a string with its zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    let Some(index) = i32::try_from(index).ok().filter(|&index| index > 0) else {
        return Err(Error::NoDevice(device.to_owned()));
    };
    let mut object = MaybeUninit::uninit();
    let mut open = MarkSkelBuilder::default().open(&mut object)?;
    let constants = open.maps.rodata_data.as_deref_mut();
    constants.ok_or(Error::NoConstants("marker"))?.threshold_bytes = threshold_bytes;
    let skel = open.load()?;
    let mut hook = TcHookBuilder::new(skel.progs.incast_mark.as_fd())
        .ifindex(index)
        .replace(true)
        .handle(1)
        .priority(1)
        .hook(TC_EGRESS);
    hook.create()?;
    hook.attach()?;
    Ok(())
}

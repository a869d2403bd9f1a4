//! The place of a thread: its network namespace and its CPU.

#![expect(unsafe_code, reason = "system calls take pointers")]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

/// Moves the calling thread to a network namespace, such as `/run/netns/NAME`. Sockets that it opens
/// from now on are there, and stay there when it leaves.
///
/// # Errors
///
/// If there is no such namespace, or the process may not enter it.
pub fn enter(namespace: &Path) -> io::Result<()> {
    let file = File::open(namespace)?;
    // SAFETY: the descriptor is open, and the call changes nothing but this thread's namespace.
    let done = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
///
/// If the process may not run there.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: a set of zeros is the empty one, the CPU is below its size, and the kernel only reads.
    let done = unsafe {
        libc::CPU_SET(cpu, set.assume_init_mut());
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set.as_ptr())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPU time that the calling thread has taken: its own work, and that of the kernel for it.
pub fn cpu_time() -> Duration {
    // SAFETY: a structure of zeros is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the structure alone.
    let done = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    debug_assert_eq!(done, 0, "the thread is the caller's own");
    let duration = |time: libc::timeval| {
        let (seconds, us) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
        Duration::from_secs(seconds.unwrap_or(0)) + Duration::from_micros(us.unwrap_or(0))
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

/// The CPU time that the calling thread has taken, in nanoseconds. It costs less to ask for than
/// [`cpu_time`], and is more exact.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the structure alone.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    debug_assert_eq!(done, 0, "every thread has this clock");
    let (seconds, ns) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), ns.unwrap_or(0))
}

/// Has the calling thread wake up when its sleeps end, not up to 50 us later.
pub fn wake_promptly() {
    // SAFETY: without pointers; the slack of timers is this thread's own.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Has the calling thread run before all others of usual priority, if the process may: real-time,
/// round robin. Otherwise what a test bed measures on a busy machine is the scheduler. Of two such
/// threads the one of the higher `rank`, from 1 to 99, goes first.
pub fn go_first(rank: u8) {
    // SAFETY: a structure of zeros is a valid one.
    let mut priority: libc::sched_param = unsafe { std::mem::zeroed() };
    priority.sched_priority = rank.into();
    // SAFETY: the kernel only reads the structure. A refusal changes nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) };
}

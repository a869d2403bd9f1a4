//! Calls from other threads, which end a node's sleep.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The receiver of calls that end a sleep, for the thread of a node.
#[derive(Debug)]
pub struct Wake {
    calls: UnixDatagram,
    waker: Waker,
}

/// The caller that ends a node's sleep, for other threads.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    calls: UnixDatagram,
    /// Whether there was a call since the last look.
    called: AtomicBool,
    /// Whether the node sleeps, or is about to.
    sleeps: AtomicBool,
}

impl Wake {
    /// A receiver without calls.
    ///
    /// # Errors
    ///
    /// If the system has no more sockets.
    pub fn new() -> io::Result<Self> {
        let (here, there) = UnixDatagram::pair()?;
        here.set_nonblocking(true)?;
        there.set_nonblocking(true)?;
        let (called, sleeps) = (AtomicBool::new(false), AtomicBool::new(false));
        let waker = Waker(Arc::new(Shared { calls: there, called, sleeps }));
        Ok(Self { calls: here, waker })
    }

    /// The caller of this receiver.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Whether there was a call since the last look.
    pub fn take(&self) -> bool {
        let Shared { called, .. } = &*self.waker.0;
        called.load(Ordering::Relaxed) && called.swap(false, Ordering::SeqCst)
    }

    /// Sleeps by `wait`, unless there was a call. A call makes the descriptor readable.
    pub(super) fn sleep(
        &self,
        wait: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Shared { called, sleeps, .. } = &*self.waker.0;
        sleeps.store(true, Ordering::SeqCst);
        // A call before the line above is seen here; one after it makes the descriptor readable.
        let done = if called.load(Ordering::SeqCst) { Ok(()) } else { wait(self.calls.as_fd()) };
        sleeps.store(false, Ordering::SeqCst);
        while self.calls.recv(&mut [0]).is_ok() {}
        done
    }
}

impl Waker {
    /// Ends the sleep of the node, or keeps it from its next one. It costs a system call only while
    /// the node sleeps.
    pub fn wake(&self) {
        let Shared { calls, called, sleeps } = &*self.0;
        if !called.swap(true, Ordering::SeqCst) && sleeps.load(Ordering::SeqCst) {
            // A socket that is full has calls that were not read: the node wakes up.
            drop(calls.send(&[0]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_before_or_during_a_sleep_ends_it_and_is_seen_once() {
        let wake = Wake::new().unwrap();
        let waker = wake.waker();
        assert!(!wake.take());
        waker.wake();
        let mut slept = false;
        wake.sleep(|_| {
            slept = true;
            Ok(())
        })
        .unwrap();
        assert!(!slept && wake.take() && !wake.take());

        wake.sleep(|calls| {
            std::thread::spawn(move || waker.wake()).join().unwrap();
            // The descriptor is readable now.
            let mut byte = [0];
            let socket = UnixDatagram::from(calls.try_clone_to_owned()?);
            assert_eq!(socket.recv(&mut byte).unwrap(), 1);
            Ok(())
        })
        .unwrap();
        assert!(wake.take());
    }
}

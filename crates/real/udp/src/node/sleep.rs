//! The times at which a node has something to do, and its sleep until then.

use std::io;
use std::time::{Duration, Instant};

use incast_cc::Time;

use super::last_wait::LastWait;
use super::port::MOST_RECEIVES;
use super::{Node, Wake};
use crate::options::Waiting;
use crate::socket::Socket;

/// The time after which a send is tried again that the kernel had no room for.
const FULL: Duration = Duration::from_micros(50);

/// The times at which a node is to be looked at again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The time at which something is to be done.
    pub(super) at: Instant,
    /// The time at which the node's thread is to wake up, to spin until then.
    pub(super) wake: Instant,
}

/// The sleeps of a node.
#[derive(Debug, Default)]
pub(super) struct Sleep {
    /// The wait from the last send or arrival on.
    pub(super) last_wait: LastWait,
    /// The time of all sleeps.
    pub(super) slept: Duration,
    /// Whether the kernel has ended the last sleep before its time.
    was_woken: bool,
}

impl Sleep {
    /// Whether the kernel has ended the last sleep before its time: told once.
    pub(super) const fn take_woken(&mut self) -> bool {
        std::mem::replace(&mut self.was_woken, false)
    }

    /// Sleeps until something comes over a socket, or `wake` is called, but no longer than a time.
    fn sleep(&mut self, socket: &Socket, until: Instant, wake: Option<&Wake>) -> io::Result<()> {
        let began = Instant::now();
        let wait = until.saturating_duration_since(began);
        if wait.is_zero() {
            return Ok(());
        }
        match wake {
            None => self.was_woken = socket.wait(Some(wait))?,
            Some(wake) => wake.sleep(|calls| {
                self.was_woken = socket.wait_with(calls, Some(wait))?;
                Ok(())
            })?,
        }
        // A thread that wakes up late has waited for its processor.
        self.slept += began.elapsed().min(wait);
        Ok(())
    }
}

impl Node {
    /// The times at which the node is to be looked at again if nothing comes before.
    pub(super) fn due(&self, now: Time) -> Due {
        let mut at = self.clock.instant(self.timers.next_look());
        if !self.port.out.is_empty() {
            // The kernel's buffer is full: it takes more when the device has sent.
            at = at.min(Instant::now() + FULL);
        }
        if let Some(timer) = self.endpoint.next_timer(now) {
            at = at.min(self.clock.instant(timer));
        }
        let mut wake = at;
        // Only sends have to be on time.
        let next = self.endpoint.next_send_time();
        if let Waiting::Sleep { spin } = self.options.waiting
            && next < Time::MAX
        {
            let next = self.clock.instant(next);
            wake = wake.min(next.checked_sub(spin).unwrap_or(next));
        }
        Due { at, wake }
    }

    /// Waits for datagrams, the next send time, a call from elsewhere, or `deadline`.
    pub(super) fn wait(
        &mut self,
        now: Time,
        deadline: Instant,
        wake: Option<&Wake>,
    ) -> io::Result<()> {
        let spins = match self.options.waiting {
            Waiting::Spin => true,
            Waiting::Sleep { spin } => self.sleep.last_wait.goes_on(now, spin),
        };
        // What comes while the node looks comes alone; while it sleeps, much may come.
        if let Some(arrivals) = &mut self.port.arrivals {
            arrivals.limit(if spins { 1 } else { MOST_RECEIVES });
        }
        if spins {
            return Ok(());
        }
        let until = deadline.min(self.due(now).wake);
        // A stamp that is not read would end the sleep at once.
        self.read_stamps()?;
        self.sleep.sleep(&self.port.socket, until, wake)
    }
}

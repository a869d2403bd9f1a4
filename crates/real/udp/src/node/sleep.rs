//! The times at which a node has something to do, and its sleep until then.

use std::io;
use std::time::{Duration, Instant};

use incast_cc::Time;

use super::arriving::MOST_RECEIVES;
use super::{Node, Wake};
use crate::options::Waiting;

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

impl Node {
    /// The times at which the node is to be looked at again if nothing comes before.
    pub(super) fn due(&self, now: Time) -> Due {
        let mut at = self.clock.instant(self.look_at);
        if !self.out.is_empty() {
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
            Waiting::Sleep { spin } => self.last_wait.goes_on(now, spin),
        };
        // What comes while the node looks comes alone; while it sleeps, much may come.
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.limit(if spins { 1 } else { MOST_RECEIVES });
        }
        if spins {
            return Ok(());
        }
        let until = deadline.min(self.due(now).wake);
        // A stamp that is not read would end the sleep at once.
        self.read_stamps()?;
        let began = Instant::now();
        let wait = until.saturating_duration_since(began);
        if wait.is_zero() {
            return Ok(());
        }
        let Self { socket, is_woken, rested, .. } = self;
        let woken = match wake {
            None => socket.wait(Some(wait)),
            Some(wake) => wake
                .sleep(|calls| {
                    *is_woken = socket.wait_with(calls, Some(wait))?;
                    Ok(())
                })
                .map(|()| *is_woken),
        };
        *is_woken = woken?;
        // A thread that wakes up late has waited for its processor.
        *rested += began.elapsed().min(wait);
        Ok(())
    }
}

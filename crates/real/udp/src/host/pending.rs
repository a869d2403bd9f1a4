//! Results that are still to come.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Failure;
use super::thread::Handle;

/// A result that is still to come: to be awaited, in any runtime, or waited for.
#[derive(Debug)]
#[must_use = "a call is cancelled when nobody waits for it"]
pub struct Pending<T> {
    result: oneshot::Receiver<Result<T, Failure>>,
    /// The call or note that may be cancelled.
    sent: Option<(Arc<Handle>, u64)>,
    /// Whether dropping this cancels it.
    cancels: bool,
}

impl<T> Pending<T> {
    /// A result, with the function that brings it.
    pub(super) fn new() -> (impl FnOnce(Result<T, Failure>) + Send, Self)
    where
        T: Send,
    {
        let (done, result) = oneshot::channel();
        (move |result| drop(done.send(result)), Self { result, sent: None, cancels: false })
    }

    /// The result of a call or a note, which is cancelled by its number: where `cancels`, as soon as
    /// nobody waits for it.
    pub(super) fn of_sent(
        driver: Arc<Handle>,
        number: u64,
        cancels: bool,
    ) -> (impl FnOnce(Result<T, Failure>) + Send, Self)
    where
        T: Send,
    {
        let (done, mut pending) = Self::new();
        (pending.sent, pending.cancels) = (Some((driver, number)), cancels);
        (done, pending)
    }

    /// Stops waiting. A call or a note ends, and what has not left of it never will; of a call that
    /// has, the peer hears that nobody waits for the reply.
    pub fn cancel(mut self) {
        self.cancels = true;
    }

    /// Waits for the result.
    ///
    /// # Errors
    ///
    /// If there is none, for the reason that is told.
    pub fn wait(mut self) -> Result<T, Failure> {
        loop {
            if let Some(result) = self.wait_within(Duration::from_secs(3_600)) {
                return result;
            }
        }
    }

    /// Waits for the result, but no longer than `timeout`. [`None`] says that it is still to come.
    pub fn wait_within(&mut self, timeout: Duration) -> Option<Result<T, Failure>> {
        within(timeout, |context| Pin::new(&mut *self).poll(context))
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let stopped = || Failure::Stopped("its thread has ended".to_owned());
        let result = Pin::new(&mut self.result).poll(context);
        let result = result.map(|result| result.unwrap_or_else(|_| Err(stopped())));
        if result.is_ready() {
            self.sent = None;
        }
        result
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some((driver, number)) = self.sent.take().filter(|_| self.cancels) {
            driver.cancel(number);
        }
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until `poll` is ready, or the time is over; then there is [`None`]. A call of the waker that
/// `poll` gets has it asked again.
pub fn within<T>(
    timeout: Duration,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let end = Instant::now().checked_add(timeout);
    loop {
        if let Poll::Ready(result) = poll(&mut context) {
            return Some(result);
        }
        match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return None,
            Some(left) => std::thread::park_timeout(left),
            None => std::thread::park(),
        }
    }
}

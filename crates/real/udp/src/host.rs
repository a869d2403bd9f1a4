//! Nodes on threads of their own: calls that other threads make, blocking or asynchronous.
//!
//! ```no_run
//! use incast_udp::security::{Secret, Security};
//! use incast_udp::{Host, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let secret = Secret::from_file("secret".as_ref())?;
//! let host = Host::open(&Options::at("0.0.0.0:0".parse()?, Security::Secret(secret)), 1)?;
//! let peer = host.connect("10.0.0.2:7000".parse()?, None).wait()?;
//! let reply = peer.call("how are you?").wait()?;
//! // In an asynchronous function, of any runtime: `peer.call("how are you?").await?`.
//! # Ok(())
//! # }
//! ```

mod pending;
mod thread;

use std::collections::VecDeque;
use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::message::Terms;
use crate::node::{Counters, Gone, Incoming, Node, NodeError, PeerId, Refused, Statistics};
use crate::options::{Options, Waiting};
use crate::security::{PeerKey, SecurityError};
use crate::socket::Features;

pub use self::pending::{Pending, within};
use self::thread::{Command, Done, Driver, Said};

/// The reason why a call, a note or a connection has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The message was not taken for sending.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The peer is gone.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The two ends do not open a connection with each other.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The peer has refused the call.
    #[error("the peer has refused the call: {0}")]
    RefusedByPeer(String),
    /// The time for the call is over.
    #[error("no reply came within {0:?}; the peer may still have done what it was called for")]
    TimedOut(Duration),
    /// The time for the note is over.
    #[error("the peer did not have the message within {0:?}; it may still get it")]
    Undelivered(Duration),
    /// The time for the call or the note was over before all of it had left.
    #[error(
        "not all of the message could leave within {0:?}, so the peer does not get it; give it \
         more time, or send less at once"
    )]
    Unsent(Duration),
    /// The host was stopped.
    #[error("the host was stopped: {0}")]
    Stopped(String),
}

/// The reason why a host could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A node could not be opened.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The system has no thread, socket or descriptor left.
    #[error("cannot start a thread of the host: {0}")]
    Thread(#[from] io::Error),
}

/// Nodes on threads of their own, which accept calls at one address.
pub struct Host {
    drivers: Vec<Driver>,
    /// The next driver that connects.
    next: AtomicUsize,
    address: SocketAddr,
    features: Features,
    accepted: async_channel::Receiver<Said>,
    rejected: Rejections,
    waiting: Waiting,
}

/// A function that may answer a call in place of the application. It returns false for calls that
/// the application gets, and [frees](Node::free) the memory of those that it answers.
pub type Answer = fn(&mut Node, Incoming, &Bytes) -> bool;

/// The hosts that were refused or whose connections were ended for what they did, with the reasons:
/// the last of those that nobody has asked for.
type Rejections = Arc<Mutex<VecDeque<(SocketAddr, Gone)>>>;

/// The most hosts of [`Rejections`].
const MOST_REJECTED: usize = 64;

/// A peer of a host.
#[derive(Clone, Debug)]
pub struct Peer {
    id: PeerId,
    address: SocketAddr,
    driver: Arc<thread::Handle>,
}

/// A message from a peer.
#[derive(Debug)]
pub enum Request {
    /// A call, which wants a reply.
    Call(Call),
    /// A message that wants no reply.
    Note(Note),
}

/// A call of a peer.
#[derive(Debug)]
pub struct Call {
    incoming: Incoming,
    body: Bytes,
    patience: Option<Duration>,
    peer: Peer,
    replied: bool,
}

/// A message of a peer that wants no reply.
#[derive(Debug)]
pub struct Note {
    body: Bytes,
    patience: Option<Duration>,
    peer: Peer,
}

impl Host {
    /// Opens a host with a number of threads, of which each has the address for itself
    /// (`SO_REUSEPORT`). Several threads take a port other than zero.
    ///
    /// # Errors
    ///
    /// If the address is taken or not of this machine, or a setting cannot work.
    pub fn open(options: &Options, threads: usize) -> Result<Self, HostError> {
        let features = Features::probe().map_err(NodeError::from)?;
        Self::with_features(options, threads, features)
    }

    /// Opens a host as [`open`](Self::open) does, which uses these features of the kernel.
    ///
    /// # Errors
    ///
    /// If the address is taken or not of this machine, or a setting cannot work.
    pub fn with_features(
        options: &Options,
        threads: usize,
        features: Features,
    ) -> Result<Self, HostError> {
        Self::start(options, threads, features, None)
    }

    /// Opens a host as [`open`](Self::open) does, of whose calls `answer` answers those that it
    /// knows, on the threads of the nodes.
    ///
    /// # Errors
    ///
    /// If the address is taken or not of this machine, or a setting cannot work.
    pub fn answering(options: &Options, threads: usize, answer: Answer) -> Result<Self, HostError> {
        let features = Features::probe().map_err(NodeError::from)?;
        Self::start(options, threads, features, Some(answer))
    }

    fn start(
        options: &Options,
        threads: usize,
        features: Features,
        answer: Option<Answer>,
    ) -> Result<Self, HostError> {
        let (say, accepted) = async_channel::unbounded();
        let mut options = options.clone();
        options.shared |= threads > 1;
        let rejected = Rejections::default();
        let mut drivers = Vec::new();
        let mut address = options.address;
        for number in 0..threads.max(1) {
            let driver = Driver::start(
                options.clone(),
                features,
                answer,
                number,
                say.clone(),
                Arc::clone(&rejected),
            )?;
            address = driver.address;
            options.address = address;
            drivers.push(driver);
        }
        let (next, waiting) = (AtomicUsize::new(0), options.waiting);
        Ok(Self { drivers, next, address, features, accepted, rejected, waiting })
    }

    /// The address of the host, with its port.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The features of the kernel that the host uses.
    pub const fn features(&self) -> Features {
        self.features
    }

    /// Connects to a host, which has the public key `key` if connections are protected by keys.
    pub fn connect(&self, address: SocketAddr, key: Option<PeerKey>) -> Pending<Peer> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) % self.drivers.len();
        let driver = Arc::clone(&self.drivers[number].handle);
        let (done, pending) = Pending::new();
        let connected = Arc::clone(&driver);
        driver.command(Command::Connect {
            address,
            key,
            done: Box::new(move |result| {
                done(result.map(|id| Peer { id, address, driver: connected }));
            }),
        });
        pending
    }

    /// The next message of any peer, or [`None`] if there is none within `timeout`. Any number of
    /// threads and tasks may ask at a time.
    ///
    /// # Errors
    ///
    /// If the host was stopped by an error of its socket.
    pub fn accept(&self, timeout: Duration) -> Result<Option<Request>, Failure> {
        let mut next = pin!(self.accepted.recv());
        within(timeout, |context| next.as_mut().poll(context))
            .map_or(Ok(None), |said| said.map_or_else(stopped, Said::request).map(Some))
    }

    /// The next message of any peer.
    ///
    /// # Errors
    ///
    /// If the host was stopped by an error of its socket.
    pub async fn accepted(&self) -> Result<Request, Failure> {
        self.accepted.recv().await.map_or_else(stopped, Said::request)
    }

    /// The hosts that were refused since the last call, or whose connections were ended since they
    /// were stuck, with the reasons. Of more than 64 they are the last: nobody fills the memory by
    /// being refused.
    pub fn rejected(&self) -> Vec<(SocketAddr, Gone)> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner).drain(..).rev().collect()
    }

    /// Has the nodes wait in another way; [`None`] is the way of the host's options.
    pub fn set_waiting(&self, waiting: Option<Waiting>) {
        let waiting = waiting.unwrap_or(self.waiting);
        for driver in &self.drivers {
            driver.handle.command(Command::Ask(Box::new(move |node| node.set_waiting(waiting))));
        }
    }

    /// The state of all peers, and the counts of all nodes together.
    pub fn statistics(&self) -> (Vec<Statistics>, Counters) {
        let asked: Vec<_> = self.drivers.iter().map(|driver| driver.handle.ask()).collect();
        let mut all = (Vec::new(), Counters::default());
        for (peers, counters) in asked.into_iter().filter_map(|asked| asked.recv().ok()) {
            all.0.extend(peers);
            all.1.add(&counters);
        }
        all
    }
}

fn stopped<T>(_: async_channel::RecvError) -> Result<T, Failure> {
    Err(Failure::Stopped("it is being dropped".to_owned()))
}

impl Peer {
    /// The address of the peer.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The name of the peer, which no other one has at this thread of the host.
    pub const fn id(&self) -> PeerId {
        self.id
    }

    /// Calls the peer. Dropping what is returned cancels the call.
    pub fn call(&self, body: impl Into<Bytes>) -> Pending<Bytes> {
        self.call_with(body, None)
    }

    /// Calls the peer on [terms](Terms): a patience, or a [`Priority`](crate::Priority), or both.
    pub fn call_with(&self, body: impl Into<Bytes>, terms: impl Into<Terms>) -> Pending<Bytes> {
        let (peer, terms) = (self.id, terms.into());
        self.post(body.into(), true, |number, body, done| Command::Call {
            peer,
            number,
            body,
            terms,
            done,
        })
    }

    /// Sends a message that wants no reply; what is returned tells that the peer has it. Dropping
    /// it changes nothing, [cancelling](Pending::cancel) it does.
    pub fn note(&self, body: impl Into<Bytes>) -> Pending<()> {
        self.note_with(body, None)
    }

    /// Sends a message that wants no reply, on [terms](Terms): a patience, after which it does not
    /// leave any more, or a [`Priority`](crate::Priority), or both.
    pub fn note_with(&self, body: impl Into<Bytes>, terms: impl Into<Terms>) -> Pending<()> {
        let (peer, terms) = (self.id, terms.into());
        self.post(body.into(), false, |number, body, done| Command::Note {
            peer,
            number,
            body,
            terms,
            done,
        })
    }

    /// Posts the command of a call or a note; `cancels` as in [`Pending::of_sent`].
    fn post<T: Send + 'static>(
        &self,
        body: Bytes,
        cancels: bool,
        command: impl FnOnce(u64, Bytes, Done<T>) -> Command,
    ) -> Pending<T> {
        let number = self.driver.number();
        let (done, pending) = Pending::of_sent(Arc::clone(&self.driver), number, cancels);
        match self.driver.admit(&body) {
            Ok(()) => self.driver.command(command(number, body, Box::new(done))),
            Err(why) => done(Err(why.into())),
        }
        pending
    }

    /// The state of the connection; [`None`] if the peer is gone.
    pub fn statistics(&self) -> Option<Statistics> {
        let (done, asked) = std::sync::mpsc::channel();
        let peer = self.id;
        self.driver.command(Command::Ask(Box::new(move |node| {
            done.send(node.statistics(peer)).ok();
        })));
        asked.recv().ok().flatten()
    }

    /// Ends the connection. What is under way fails.
    pub fn close(&self) {
        let peer = self.id;
        self.driver.command(Command::Ask(Box::new(move |node| node.close(peer))));
    }
}

impl Request {
    /// The body of the message.
    pub const fn body(&self) -> &Bytes {
        match self {
            Self::Call(call) => &call.body,
            Self::Note(note) => &note.body,
        }
    }

    /// The sender.
    pub const fn peer(&self) -> &Peer {
        match self {
            Self::Call(call) => &call.peer,
            Self::Note(note) => &note.peer,
        }
    }

    /// The time that the sender waits, from when the message was posted; [`None`] for as long as it
    /// takes.
    pub const fn patience(&self) -> Option<Duration> {
        match self {
            Self::Call(call) => call.patience,
            Self::Note(note) => note.patience,
        }
    }
}

impl Call {
    /// The body of the call.
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The caller.
    pub const fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The time that the caller waits, from when the call was made; [`None`] for as long as it
    /// takes.
    pub const fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Replies. A reply that the caller's memory has no room for, or that comes when it is gone, is
    /// lost: the caller is told that its call has failed.
    pub fn reply(mut self, body: impl Into<Bytes>) {
        self.answer(Ok(body.into()));
    }

    /// Refuses the call, for a reason that the caller reads.
    pub fn refuse(mut self, reason: impl Into<String>) {
        self.answer(Err(reason.into()));
    }

    fn answer(&mut self, answer: Result<Bytes, String>) {
        self.replied = true;
        let (call, driver) = (self.incoming, &self.peer.driver);
        // The caller hears why it gets no reply.
        let answer = answer.and_then(|body| match driver.admit(&body) {
            Ok(()) => Ok(body),
            Err(why) => Err(why.to_string()),
        });
        driver.command(Command::Reply { call, answer });
    }
}

impl Drop for Call {
    /// Refuses a call that was not answered, so that its caller does not wait in vain.
    fn drop(&mut self) {
        if !self.replied {
            self.answer(Err("the call was dropped".to_owned()));
        }
    }
}

impl Note {
    /// The body of the message.
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The time that the sender waits for the news that the message was delivered, from when it was
    /// posted; [`None`] for as long as it takes.
    pub const fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// The sender.
    pub const fn peer(&self) -> &Peer {
        &self.peer
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("address", &self.address).finish_non_exhaustive()
    }
}

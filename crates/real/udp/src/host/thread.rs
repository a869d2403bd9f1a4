//! The thread of a node, and the commands that it gets.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{Answer, Call, Failure, HostError, MOST_REJECTED, Note, Peer, Rejections, Request};
use crate::message::Terms;
use crate::node::{
    BOOKS_BYTES, CallId, Counters, Event, Gone, Incoming, Node, PeerId, Reach, Refused, Statistics,
    Wake, Waker,
};
use crate::options::Options;
use crate::security::PeerKey;
use crate::socket::Features;

/// A function that gets the result of a command.
pub(super) type Done<T> = Box<dyn FnOnce(Result<T, Failure>) + Send>;

/// A command to a node.
pub(super) enum Command {
    Connect {
        address: SocketAddr,
        key: Option<PeerKey>,
        done: Done<PeerId>,
    },
    Call {
        peer: PeerId,
        /// The name by which the call is cancelled.
        number: u64,
        body: Bytes,
        terms: Terms,
        done: Done<Bytes>,
    },
    Note {
        peer: PeerId,
        /// The name by which the note is cancelled.
        number: u64,
        body: Bytes,
        terms: Terms,
        done: Done<()>,
    },
    Cancel {
        number: u64,
    },
    Reply {
        call: Incoming,
        answer: Result<Bytes, String>,
    },
    /// The application has taken a message of this length.
    Taken {
        peer: PeerId,
        bytes: usize,
    },
    /// Anything else.
    Ask(Box<dyn FnOnce(&mut Node) + Send>),
}

/// A message of a peer, on its way to the application.
#[derive(Debug)]
pub(super) enum Said {
    Call(Call),
    Note(Note),
    /// The node has stopped for an error.
    Stopped(String),
}

impl Said {
    /// The message, which the application takes now.
    pub(super) fn request(self) -> Result<Request, Failure> {
        let request = match self {
            Self::Call(call) => Request::Call(call),
            Self::Note(note) => Request::Note(note),
            Self::Stopped(why) => return Err(Failure::Stopped(why)),
        };
        let (peer, bytes) = (request.peer(), request.body().len());
        peer.driver.command(Command::Taken { peer: peer.id, bytes });
        Ok(request)
    }
}

/// The way to a node on another thread.
#[derive(Debug)]
pub(super) struct Handle {
    commands: Sender<Command>,
    waker: Waker,
    numbers: AtomicU64,
    queue: Arc<Queue>,
}

/// The bodies of commands that the node has not looked at.
#[derive(Debug)]
pub(super) struct Queue {
    bytes: AtomicU64,
    most: u64,
}

impl Queue {
    /// The bytes that count for a body.
    const fn of(body: &Bytes) -> u64 {
        (body.len() + BOOKS_BYTES) as u64
    }

    /// Takes note of a body, unless too much waits already.
    fn add(&self, body: &Bytes) -> Result<(), Refused> {
        let bytes = Self::of(body);
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if waiting > 0 && waiting + bytes > self.most {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            let most = usize::try_from(self.most).unwrap_or(usize::MAX);
            return Err(Refused::FullInAll { waiting, most });
        }
        Ok(())
    }

    /// Takes note that the node looks at a body.
    fn remove(&self, body: &Bytes) {
        self.bytes.fetch_sub(Self::of(body), Ordering::Relaxed);
    }
}

impl Handle {
    /// Takes note of the body of a call, a note or a reply that is to be a command.
    ///
    /// # Errors
    ///
    /// If too much waits already: the node does not look at commands as fast as they come.
    pub(super) fn admit(&self, body: &Bytes) -> Result<(), Refused> {
        self.queue.add(body)
    }

    /// Gives the node a command. One that is given after the node has stopped is dropped, with the
    /// function that waits for its result.
    pub(super) fn command(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            self.waker.wake();
        }
    }

    /// A name for a call.
    pub(super) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn cancel(&self, number: u64) {
        self.command(Command::Cancel { number });
    }

    /// Asks for the state of all peers and the counts of the node.
    pub(super) fn ask(&self) -> Receiver<(Vec<Statistics>, Counters)> {
        let (done, asked) = channel();
        self.command(Command::Ask(Box::new(move |node| {
            let peers = node.peers().collect::<Vec<_>>();
            let peers = peers.into_iter().filter_map(|peer| node.statistics(peer)).collect();
            drop(done.send((peers, node.counters())));
        })));
        asked
    }
}

/// A node on a thread of its own, which stops when this is dropped.
pub(super) struct Driver {
    pub(super) handle: Arc<Handle>,
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    pub(super) fn start(
        options: Options,
        features: Features,
        answer: Option<Answer>,
        number: usize,
        say: async_channel::Sender<Said>,
        rejected: Rejections,
    ) -> Result<Self, HostError> {
        let most = options.memory.outgoing_in_all as u64;
        let node = Node::open(options, features)?;
        let address = node.address()?;
        let wake = Wake::new()?;
        let (commands, given) = channel();
        let (waker, numbers) = (wake.waker(), AtomicU64::new(0));
        let queue = Arc::new(Queue { bytes: AtomicU64::new(0), most });
        let handle = Arc::new(Handle { commands, waker, numbers, queue: Arc::clone(&queue) });
        let stop = Arc::new(AtomicBool::new(false));
        let run = Run {
            node,
            given,
            wake,
            stop: Arc::clone(&stop),
            handle: Arc::downgrade(&handle),
            say,
            rejected,
            opening: HashMap::new(),
            calls: HashMap::new(),
            numbers: HashMap::new(),
            notes: HashMap::new(),
            queue,
            answer,
        };
        let thread = std::thread::Builder::new().name(format!("incast-udp-{number}"));
        let thread = Some(thread.spawn(move || run.run())?);
        Ok(Self { handle, address, stop, thread })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.handle.waker.wake();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// The most commands between two turns of a node.
const MOST_COMMANDS: usize = 1_024;
/// The longest sleep.
const SLEEP: Duration = Duration::from_secs(1);

/// The caller that waits for the end of a call or a note.
struct Waits<T> {
    /// The name by which it is cancelled.
    number: u64,
    patience: Option<Duration>,
    done: Done<T>,
}

impl<T> Waits<T> {
    /// Tells the one of `all` who waits for the end of a call or a note, if there is one.
    fn end(
        all: &mut HashMap<CallId, Self>,
        numbers: &mut HashMap<u64, CallId>,
        call: CallId,
        result: impl FnOnce(Option<Duration>) -> Result<T, Failure>,
    ) {
        if let Some(Self { number, patience, done }) = all.remove(&call) {
            numbers.remove(&number);
            done(result(patience));
        }
    }
}

/// A node with those who wait for its events.
struct Run {
    node: Node,
    given: Receiver<Command>,
    wake: Wake,
    stop: Arc<AtomicBool>,
    handle: std::sync::Weak<Handle>,
    say: async_channel::Sender<Said>,
    rejected: Rejections,
    opening: HashMap<PeerId, Done<PeerId>>,
    calls: HashMap<CallId, Waits<Bytes>>,
    /// The calls and notes by the names that they are cancelled by.
    numbers: HashMap<u64, CallId>,
    notes: HashMap<CallId, Waits<()>>,
    queue: Arc<Queue>,
    answer: Option<Answer>,
}

impl Run {
    fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.turn() {
                drop(self.say.try_send(Said::Stopped(error.to_string())));
                return;
            }
        }
        self.node.close_all();
    }

    fn turn(&mut self) -> io::Result<()> {
        let mut commands = 0;
        // No more, lest those who post keep the node from sending.
        while commands < MOST_COMMANDS
            && let Ok(command) = self.given.try_recv()
        {
            self.act(command);
            commands += 1;
        }
        let wait = if commands == MOST_COMMANDS { Duration::ZERO } else { SLEEP };
        let until = Instant::now() + wait;
        self.node.turn(Some(until), Some(&self.wake))?;
        while let Some(event) = self.node.poll_kept_event() {
            self.tell(event);
        }
        Ok(())
    }

    fn act(&mut self, command: Command) {
        match command {
            Command::Connect { address, key, done } => match self.node.connect(address, key) {
                Ok(peer) => drop(self.opening.insert(peer, done)),
                Err(error) => done(Err(error.into())),
            },
            Command::Call { peer, number, body, terms, done } => {
                self.queue.remove(&body);
                match self.node.call(peer, body, terms) {
                    Ok(call) => {
                        let patience = terms.patience;
                        self.calls.insert(call, Waits { number, patience, done });
                        self.numbers.insert(number, call);
                    }
                    Err(error) => done(Err(error.into())),
                }
            }
            Command::Note { peer, number, body, terms, done } => {
                self.queue.remove(&body);
                match self.node.note_with(peer, body, terms) {
                    Ok(note) => {
                        let patience = terms.patience;
                        self.notes.insert(note, Waits { number, patience, done });
                        self.numbers.insert(number, note);
                    }
                    Err(error) => done(Err(error.into())),
                }
            }
            Command::Cancel { number } => {
                if let Some(call) = self.numbers.remove(&number) {
                    self.calls.remove(&call);
                    self.notes.remove(&call);
                    self.node.cancel(call);
                }
            }
            Command::Reply { call, answer } => {
                let replied = match answer {
                    Ok(body) => {
                        self.queue.remove(&body);
                        self.node.reply(call, body)
                    }
                    Err(reason) => self.node.refuse(call, reason.into()),
                };
                if let Err(error) = replied {
                    // The caller is gone, or hears why it gets no reply.
                    self.node.refuse(call, error.to_string().into()).ok();
                }
            }
            Command::Taken { peer, bytes } => self.node.free(peer, bytes),
            Command::Ask(ask) => ask(&mut self.node),
        }
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Opened { peer, .. } => {
                if let Some(done) = self.opening.remove(&peer) {
                    done(Ok(peer));
                }
            }
            Event::Called { call, body, .. }
                if self.answer.is_some_and(|answers| answers(&mut self.node, call, &body)) => {}
            Event::Called { call, body, patience } => {
                if let Some(peer) = self.peer(call.peer()) {
                    let incoming = call;
                    let call = Call { incoming, body, patience, peer, replied: false };
                    drop(self.say.try_send(Said::Call(call)));
                } else {
                    self.node.free(call.peer(), body.len());
                }
            }
            Event::Noted { peer: id, body, patience } => {
                if let Some(peer) = self.peer(id) {
                    drop(self.say.try_send(Said::Note(Note { body, patience, peer })));
                } else {
                    self.node.free(id, body.len());
                }
            }
            Event::Replied { call, body } => {
                self.node.free(call.peer(), body.len());
                self.end(call, |_| Ok(body));
            }
            Event::Refused { call, reason } => {
                self.node.free(call.peer(), reason.len());
                let reason = shown(&reason);
                self.end(call, |_| Err(Failure::RefusedByPeer(reason)));
            }
            Event::TimedOut { call, reach } => {
                let late = |time: Option<Duration>, may_have_arrived: fn(Duration) -> Failure| {
                    let failure = match reach {
                        Reach::Peer => may_have_arrived,
                        Reach::Nobody => Failure::Unsent,
                    };
                    failure(time.unwrap_or_default())
                };
                self.end(call, |time| Err(late(time, Failure::TimedOut)));
                self.end_note(call, |time| Err(late(time, Failure::Undelivered)));
            }
            Event::Delivered { note } => self.end_note(note, |_| Ok(())),
            Event::Failed { call, why } => {
                self.end_note(call, |_| Err(why.into()));
                self.end(call, |_| Err(why.into()));
            }
            Event::TooLong { call, bytes, most } => {
                let why = Refused::TooLong { bytes, most };
                self.end_note(call, |_| Err(why.into()));
                self.end(call, |_| Err(why.into()));
            }
            Event::Gone { peer, why } => {
                if let Some(done) = self.opening.remove(&peer) {
                    done(Err(match why {
                        Gone::Security(error) => error.into(),
                        why => why.into(),
                    }));
                }
                if let Gone::Stuck(address) = why {
                    self.note_rejected(address, why);
                }
            }
            Event::Rejected { address, why } => self.note_rejected(address, Gone::Security(why)),
            Event::Cancelled { .. } => {}
        }
    }

    fn note_rejected(&self, address: SocketAddr, why: Gone) {
        let mut all = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(MOST_REJECTED - 1);
        all.push_front((address, why));
    }

    fn end(
        &mut self,
        call: CallId,
        result: impl FnOnce(Option<Duration>) -> Result<Bytes, Failure>,
    ) {
        Waits::end(&mut self.calls, &mut self.numbers, call, result);
    }

    fn end_note(
        &mut self,
        note: CallId,
        result: impl FnOnce(Option<Duration>) -> Result<(), Failure>,
    ) {
        Waits::end(&mut self.notes, &mut self.numbers, note, result);
    }

    fn peer(&self, id: PeerId) -> Option<Peer> {
        let address = self.node.statistics(id)?.address;
        Some(Peer { id, address, driver: self.handle.upgrade()? })
    }
}

/// The most characters of a peer's reason.
const MOST_SHOWN: usize = 1_000;

/// The reason of a peer, which may be bytes of any kind: a text that controls no terminal.
fn shown(reason: &[u8]) -> String {
    let start = &reason[..reason.len().min(4 * MOST_SHOWN)];
    let text = String::from_utf8_lossy(start);
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).take(MOST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_peers_are_short_and_control_no_terminal() {
        assert_eq!(shown(b"no\x1b[2J\nroom \xff"), "no [2J room \u{fffd}");
        assert_eq!(shown(&vec![b'a'; 100_000]).len(), MOST_SHOWN);
    }

    #[test]
    fn bodies_that_the_node_has_not_looked_at_are_bounded() {
        let queue = Queue { bytes: AtomicU64::new(0), most: 1_000 };
        let (long, short) = (Bytes::from(vec![0; 5_000]), Bytes::new());
        // A message of any length can be posted alone.
        queue.add(&long).unwrap();
        let waiting = 5_000 + BOOKS_BYTES as u64;
        assert_eq!(queue.add(&short), Err(Refused::FullInAll { waiting, most: 1_000 }));
        queue.remove(&long);
        let posted = (0..50).take_while(|_| queue.add(&short).is_ok()).count();
        assert_eq!(posted, 1_000 / BOOKS_BYTES);
    }
}

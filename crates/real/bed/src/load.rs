//! Load between two nodes, for measurements: calls of a size at a rate, and a server that answers
//! them.
//!
//! The body of a call begins with the length of the reply that it asks for ([`Ask`]); a server that
//! [answers](answer) replies with so many bytes of the body, and zeros behind them.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;

use incast_udp::security::{PeerKey, SecurityError};
use incast_udp::{CallId, Event, Gone, Incoming, Lateness, Node, PeerId, Refused, Sampled, place};

/// The bytes of an [`Ask`]: the least body of a call.
pub const ASK_BYTES: usize = 8;
/// The time between two calls of a function that is told of the progress.
const TELL: Duration = Duration::from_millis(100);
/// The bytes by which an [`Ask`] begins.
const MAGIC: [u8; 4] = *b"load";

/// The first bytes of a call's body: the length of the reply that the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The length of the reply in bytes.
    pub reply: u32,
}

impl Ask {
    /// A body of a length with this in front.
    pub fn body(self, length: usize) -> Bytes {
        let mut body = vec![0; length.max(ASK_BYTES)];
        body[..4].copy_from_slice(&MAGIC);
        body[4..8].copy_from_slice(&self.reply.to_be_bytes());
        body.into()
    }

    /// The request in a body; [`None`] if it is no call of a load.
    pub fn of(body: &[u8]) -> Option<Self> {
        let [m0, m1, m2, m3, a, b, c, d] = *body.first_chunk::<ASK_BYTES>()?;
        let reply = u32::from_be_bytes([a, b, c, d]);
        ([m0, m1, m2, m3] == MAGIC).then_some(Self { reply })
    }
}

/// Answers a call of a load. Any other call is refused, and so is one whose reply cannot be sent.
///
/// # Errors
///
/// If the caller is gone.
pub fn answer(node: &mut Node, call: Incoming, body: &Bytes) -> Result<(), Refused> {
    let Some(Ask { reply }) = Ask::of(body) else {
        return node.refuse(call, Bytes::from_static(b"this server answers calls of a load alone"));
    };
    let length = reply as usize;
    let most = node.longest();
    let replied = if length > most {
        // The caller says itself what it takes.
        Err(Refused::TooLong { bytes: length, most })
    } else if length <= body.len() {
        node.reply(call, body.slice(..length))
    } else {
        // Before memory is taken for the reply.
        node.check(call.peer(), length).and_then(|()| {
            // The system's zeros take no time until they are sent.
            let mut longer = vec![0; length];
            longer[..body.len()].copy_from_slice(body);
            node.reply(call, longer.into())
        })
    };
    replied.or_else(|why| node.refuse(call, why.to_string().into()))
}

/// Answers the calls of a load at a [host](incast_udp::Host::answering); the application gets all
/// others.
pub fn answers(node: &mut Node, call: Incoming, body: &Bytes) -> bool {
    let is_asked = Ask::of(body).is_some();
    if is_asked {
        node.free(call.peer(), body.len());
        // The caller is gone, or hears why it gets no reply.
        answer(node, call, body).ok();
    }
    is_asked
}

/// A load of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The length of each call in bytes, at least [`ASK_BYTES`].
    pub size: usize,
    /// The length of each reply in bytes.
    pub reply: u32,
    /// The calls that arrive in a second, as a Poisson process; [`None`] makes a call as soon as
    /// there are fewer than `in_flight`.
    pub rate: Option<f64>,
    /// The most calls under way to all peers, which have equal parts of them. Calls of a rate that
    /// come beyond wait, and the wait counts.
    pub in_flight: usize,
    /// The time for which calls are made.
    pub duration: Duration,
    /// The time at the beginning whose calls do not count.
    pub warmup: Duration,
    /// The seed of arrivals.
    pub seed: u64,
}

/// A call that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The time at which the call arrived, from the start of the load.
    pub at: Duration,
    /// The time from then until the reply was there.
    pub latency: Duration,
}

/// The outcome of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The calls that were made after the warm-up and answered, in the order of their replies.
    pub answered: Vec<Answered>,
    /// The calls that failed.
    pub failed: u64,
    /// The calls that were under way or waited at the end.
    pub unfinished: u64,
    /// The RTT samples after the warm-up.
    pub samples: Vec<Sampled>,
    /// The replies that came after the warm-up, to whichever calls: those of `elapsed`.
    pub replies: u64,
    /// The replies with those of the warm-up.
    pub replies_in_all: u64,
    /// The time from the end of the warm-up to the end of the load.
    pub elapsed: Duration,
    /// The CPU time of the calling thread in that time.
    pub cpu: Duration,
    /// The bytes of data packets that were sent in that time, with the headers that pacing counts.
    pub data_bytes: u64,
    /// The lateness of sends in that time.
    pub lateness: Lateness,
    /// The reason why a peer was gone before the end.
    pub gone: Option<Gone>,
}

/// Connects to the server of a load, and waits until the connection is open. `goes_on` ends the
/// wait early, for an error of the caller's own.
///
/// # Errors
///
/// If the connection is not opened, or the kernel reports an error of the socket.
pub fn connect<E: From<io::Error> + From<Gone> + From<SecurityError>>(
    node: &mut Node,
    address: SocketAddr,
    key: Option<PeerKey>,
    mut goes_on: impl FnMut() -> Result<(), E>,
) -> Result<PeerId, E> {
    let peer = node.connect(address, key)?;
    loop {
        node.turn(Some(Instant::now() + TELL), None)?;
        while let Some(event) = node.poll_event() {
            match event {
                Event::Opened { peer: opened, .. } if opened == peer => return Ok(peer),
                Event::Gone { peer: gone, why } if gone == peer => return Err(why.into()),
                _ => {}
            }
        }
        goes_on()?;
    }
}

/// Makes the calls of a load, to peers in turn. `goes_on` is told the time since the start and the
/// number of replies some times a second, and ends the load early.
///
/// # Errors
///
/// If the kernel reports an error of the socket.
pub fn run(
    node: &mut Node,
    peers: &[PeerId],
    load: &Load,
    mut goes_on: impl FnMut(Duration, u64) -> bool,
) -> io::Result<Outcome> {
    let reply = load.reply;
    let body = Ask { reply }.body(load.size);
    node.keep_samples();
    drop(node.take_samples());
    let mut arrivals = Arrivals::new(load);
    let mut open: HashMap<CallId, Duration> = HashMap::new();
    // A peer for each call that may be under way beside those that are.
    let mut free: VecDeque<PeerId> = peers.iter().copied().cycle().take(load.in_flight).collect();
    let mut outcome = Outcome::default();
    let start = Instant::now();
    let (mut next, mut tell_at) = (arrivals.next(), TELL);
    let mut before = None;
    loop {
        let mut now = start.elapsed();
        if now >= load.warmup && before.is_none() {
            before = Some((place::cpu_time(), node.counters().data_bytes));
            drop(node.take_lateness());
        }
        if now >= load.duration || outcome.gone.is_some() {
            break;
        }
        if now >= tell_at {
            tell_at = now + TELL;
            if !goes_on(now, outcome.replies_in_all) {
                break;
            }
        }
        while let Some(&peer) = free.front()
            && next.is_none_or(|at| at <= now)
        {
            let at = next.unwrap_or(now);
            match node.call(peer, body.clone(), None) {
                Ok(call) => {
                    free.pop_front();
                    open.insert(call, at);
                }
                Err(Refused::Full { .. } | Refused::FullInAll { .. }) => break,
                Err(_) => {
                    outcome.failed += 1;
                    break;
                }
            }
            next = arrivals.next();
            now = start.elapsed();
        }
        let full = free.is_empty();
        let until = next.filter(|_| !full).unwrap_or(tell_at).min(tell_at).min(load.duration);
        node.turn(Some(start + until), None)?;
        let now = start.elapsed();
        while let Some(event) = node.poll_event() {
            match event {
                Event::Replied { call, .. } => {
                    let Some(at) = open.remove(&call) else { continue };
                    free.push_back(call.peer());
                    outcome.replies_in_all += 1;
                    outcome.replies += u64::from(now >= load.warmup);
                    if at >= load.warmup {
                        let latency = now.saturating_sub(at);
                        outcome.answered.push(Answered { at, latency });
                    }
                }
                Event::Refused { call, .. }
                | Event::Failed { call, .. }
                | Event::TooLong { call, .. }
                    if open.remove(&call).is_some() =>
                {
                    free.push_back(call.peer());
                    outcome.failed += 1;
                }
                Event::Gone { peer, why } if peers.contains(&peer) => outcome.gone = Some(why),
                _ => {}
            }
        }
        let samples = node.take_samples();
        if now >= load.warmup {
            let of_load = samples.into_iter().filter(|sample| peers.contains(&sample.peer));
            outcome.samples.extend(of_load);
        }
    }
    outcome.unfinished = open.len() as u64;
    outcome.elapsed = start.elapsed().saturating_sub(load.warmup);
    if let Some((cpu, data_bytes)) = before {
        outcome.cpu = place::cpu_time().saturating_sub(cpu);
        outcome.data_bytes = node.counters().data_bytes - data_bytes;
        outcome.lateness = node.take_lateness();
    }
    Ok(outcome)
}

/// The times at which calls arrive.
struct Arrivals {
    rate: Option<f64>,
    at: f64,
    state: u64,
}

impl Arrivals {
    fn new(load: &Load) -> Self {
        Self { rate: load.rate, at: 0.0, state: load.seed }
    }

    /// The next time; [`None`] where a call is made as soon as there is room.
    fn next(&mut self) -> Option<Duration> {
        let rate = self.rate?;
        // SplitMix64 (Steele et al., OOPSLA 2014), to a number above 0 and at most 1.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let uniform = ((mixed >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        self.at += -uniform.ln() / rate;
        Some(Duration::try_from_secs_f64(self.at).unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_comes_back_and_other_bodies_are_none() {
        assert_eq!(Ask::of(&Ask { reply: 70_000 }.body(3)), Some(Ask { reply: 70_000 }));
        assert_eq!(Ask { reply: 1 }.body(100).len(), 100);
        assert_eq!(Ask::of(b"load"), None);
        assert_eq!(Ask::of(b"lOad\0\0\0\x01"), None);
    }

    #[test]
    fn arrivals_have_the_rate_and_vary() {
        let load = Load {
            size: 100,
            reply: 0,
            rate: Some(2_000.0),
            in_flight: 10,
            duration: Duration::from_secs(1),
            warmup: Duration::ZERO,
            seed: 7,
        };
        let mut arrivals = Arrivals::new(&load);
        let times: Vec<f64> = (0..40_000).map(|_| arrivals.next().unwrap().as_secs_f64()).collect();
        let last = times.last().unwrap();
        assert!((last - 20.0).abs() < 0.3, "{last}");
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Of an exponential distribution the deviation is the mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance} {mean}");
        assert_eq!(Arrivals { rate: None, at: 0.0, state: 1 }.next(), None);
    }
}

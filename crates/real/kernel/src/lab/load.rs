//! A load generator: a client that fetches from servers by a plan, and the servers.
//!
//! A request goes to one server or to several at once, each on a connection of its own: an idle
//! one, or a new one if none is idle. It is complete when the last byte of the last answer has
//! come. Times count from the posting in the plan, so that a client which falls behind does not
//! flatter the network.

use std::collections::HashMap;
use std::io::{BufRead, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The bytes read or written at a time.
const CHUNK: usize = 1 << 18;

/// A request of the plan, a line of JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The time of posting, from the start.
    pub at_us: u64,
    /// The servers that are asked.
    pub servers: Vec<SocketAddr>,
    /// The bytes asked of each.
    pub bytes: u64,
}

/// The result of a request, a line of JSON.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The number of the request in the plan.
    pub request: usize,
    /// The time of posting.
    pub at_us: u64,
    /// The number of servers that were asked.
    pub fan_out: usize,
    /// The bytes that all of them sent.
    pub bytes: u64,
    /// The time from posting to the last byte.
    pub completion_us: f64,
    /// The wait before the request was sent: the client was late, or opened a connection.
    pub late_us: f64,
}

/// Answers requests for ever: eight bytes say how many bytes are wanted. The value of each byte
/// follows from its place, so that a client can tell whether any was lost.
///
/// The sockets use `algorithm`, the default if there is none.
///
/// # Errors
/// The port is taken, or the kernel has no such algorithm.
pub fn serve(address: SocketAddr, algorithm: Option<&str>) -> Result<()> {
    let listener =
        TcpListener::bind(address).map_err(|error| Error::Unlistenable { address, error })?;
    if let Some(name) = algorithm {
        // Accepted sockets have the algorithm of the listener.
        let refused = |error| Error::NotChosen { name: name.to_owned(), error };
        choose(&listener, name).map_err(refused)?;
    }
    for stream in listener.incoming().flatten() {
        // A broken connection is the client's matter.
        thread::spawn(move || answer(stream));
    }
    Ok(())
}

/// The bytes sent, from any place of the period on.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..CHUNK + PERIOD).map(|at| u8::try_from(at % PERIOD).unwrap_or(0)).collect()
});

/// The period of the bytes: no power of two, so that a lost segment shows.
const PERIOD: usize = 251;

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut wanted = [0; 8];
    loop {
        stream.read_exact(&mut wanted)?;
        let bytes = usize::try_from(u64::from_be_bytes(wanted)).unwrap_or(usize::MAX);
        let mut sent = 0;
        while sent < bytes {
            let from = sent % PERIOD;
            let count = CHUNK.min(bytes - sent);
            stream.write_all(&PATTERN[from..from + count])?;
            sent += count;
        }
    }
}

/// A part of a request on its way to a connection.
struct Part {
    request: usize,
    bytes: u64,
    posted: Instant,
    done: Sender<Done>,
}

/// A part that is complete: the request, the time before it was sent, the time in all.
type Done = (usize, Duration, Duration);

/// Idle connections to each server, by the channels of their threads.
type Idle = Arc<Mutex<HashMap<SocketAddr, Vec<Sender<Part>>>>>;

/// Goes through a plan, and writes a result for each request that is complete within `patience`
/// after the last was posted. Returns the number of results.
///
/// A request whose connection could not be opened, or broke, has none.
///
/// # Errors
/// The plan is invalid, or the results cannot be written.
pub fn run(
    plan: impl BufRead,
    algorithm: Option<&str>,
    patience: Duration,
    mut out: impl Write,
) -> Result<usize> {
    let requests = read(plan)?;
    let (done, finished) = channel();
    let idle: Idle = Arc::default();
    let began = Instant::now();
    for (number, request) in requests.iter().enumerate() {
        let posted = began + Duration::from_micros(request.at_us);
        thread::sleep(posted.saturating_duration_since(Instant::now()));
        for &server in &request.servers {
            let part = Part { request: number, bytes: request.bytes, posted, done: done.clone() };
            send(&idle, server, algorithm, part);
        }
    }
    drop(done);
    collect(&requests, &finished, patience, |answer| {
        let line = serde_json::to_string(&answer).unwrap_or_default();
        writeln!(out, "{line}").map_err(Error::UnwritableResults)
    })
}

fn read(plan: impl BufRead) -> Result<Vec<Request>> {
    let mut requests: Vec<Request> = Vec::new();
    for (number, line) in plan.lines().enumerate() {
        let text = line.map_err(Error::UnreadablePlan)?;
        let line = number + 1;
        let request: Request =
            serde_json::from_str(&text).map_err(|error| Error::InvalidPlan { line, error })?;
        if requests.last().is_some_and(|before| before.at_us > request.at_us) {
            return Err(Error::PlanOutOfOrder(line));
        }
        requests.push(request);
    }
    Ok(requests)
}

fn collect(
    requests: &[Request],
    finished: &Receiver<Done>,
    patience: Duration,
    mut each: impl FnMut(Answer) -> Result<()>,
) -> Result<usize> {
    let mut open: HashMap<usize, (usize, f64)> = HashMap::new();
    let mut complete = 0;
    let began = Instant::now();
    while let Ok((number, late, took)) =
        finished.recv_timeout(patience.saturating_sub(began.elapsed()))
    {
        let request = &requests[number];
        let (left, late_us) = open.entry(number).or_insert((request.servers.len(), 0.0));
        *left -= 1;
        *late_us = late_us.max(micros(late));
        if *left > 0 {
            continue;
        }
        complete += 1;
        each(Answer {
            request: number,
            at_us: request.at_us,
            fan_out: request.servers.len(),
            bytes: request.bytes * u64::try_from(request.servers.len()).unwrap_or(1),
            completion_us: micros(took),
            late_us: *late_us,
        })?;
        if complete == requests.len() {
            break;
        }
    }
    Ok(complete)
}

fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// Hands a part to an idle connection, or to a new one.
fn send(idle: &Idle, server: SocketAddr, algorithm: Option<&str>, mut part: Part) {
    // The thread of an idle connection may have ended with it; then the part comes back.
    while let Some(connection) = take(idle, server) {
        match connection.send(part) {
            Ok(()) => return,
            Err(back) => part = back.0,
        }
    }
    let (idle, algorithm) = (Arc::clone(idle), algorithm.map(str::to_owned));
    // A connection that cannot be opened, or breaks, leaves its requests incomplete: the count says
    // so.
    thread::spawn(move || fetch(&idle, server, algorithm.as_deref(), part));
}

fn take(idle: &Idle, server: SocketAddr) -> Option<Sender<Part>> {
    idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_mut(&server)?.pop()
}

/// The life of a connection: one part after the other that is handed to it.
fn fetch(
    idle: &Idle,
    server: SocketAddr,
    algorithm: Option<&str>,
    mut part: Part,
) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    if let Some(name) = algorithm {
        choose(&stream, name)?;
    }
    let (own, parts) = channel();
    let mut buffer = vec![0; CHUNK];
    loop {
        let late = part.posted.elapsed();
        stream.write_all(&part.bytes.to_be_bytes())?;
        receive(&mut stream, part.bytes, &mut buffer)?;
        let took = part.posted.elapsed();
        idle.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .entry(server)
            .or_default()
            .push(own.clone());
        // Nobody listens any more after `patience`.
        if part.done.send((part.request, late, took)).is_err() {
            return Ok(());
        }
        let Ok(next) = parts.recv() else { return Ok(()) };
        part = next;
    }
}

/// Reads an answer, and checks the value of each byte.
fn receive(stream: &mut TcpStream, bytes: u64, buffer: &mut [u8]) -> std::io::Result<()> {
    let mut found = 0;
    while found < bytes {
        let most =
            usize::try_from(bytes - found).map_or(buffer.len(), |left| left.min(buffer.len()));
        let count = stream.read(&mut buffer[..most])?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let from = usize::try_from(found % PERIOD as u64).unwrap_or(0);
        if buffer[..count] != PATTERN[from..from + count] {
            return Err(std::io::Error::other("bytes were lost or changed"));
        }
        found += count as u64;
    }
    Ok(())
}

/// Makes a socket use an algorithm.
///
/// # Errors
/// The kernel has no algorithm of this name.
pub fn choose(socket: &impl AsRawFd, name: &str) -> std::io::Result<()> {
    // SAFETY: a string and its length.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            libc::socklen_t::try_from(name.len()).unwrap_or(0),
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_and_timed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        drop(listener);
        thread::spawn(move || serve(server, None));
        thread::sleep(Duration::from_millis(100));
        let line = |at: u64, fan_out: usize, bytes: u64| {
            let servers = vec![format!("\"{server}\""); fan_out].join(",");
            format!("{{\"at_us\":{at},\"servers\":[{servers}],\"bytes\":{bytes}}}\n")
        };
        let plan = line(0, 1, 1) + &line(1_000, 3, 1_000_000) + &line(2_000, 1, 0);
        let mut out = Vec::new();
        let complete = run(plan.as_bytes(), None, Duration::from_secs(10), &mut out).unwrap();
        assert_eq!(complete, 3);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\"bytes\":3000000"), "{text}");
        assert!(text.contains("\"fan_out\":3"), "{text}");
    }

    #[test]
    fn a_plan_out_of_order_is_refused() {
        let plan =
            "{\"at_us\":5,\"servers\":[],\"bytes\":1}\n{\"at_us\":4,\"servers\":[],\"bytes\":1}\n";
        let error = run(plan.as_bytes(), None, Duration::ZERO, Vec::new()).unwrap_err();
        assert!(matches!(error, Error::PlanOutOfOrder(2)), "{error}");
        assert!(run("nonsense".as_bytes(), None, Duration::ZERO, Vec::new()).is_err());
    }
}

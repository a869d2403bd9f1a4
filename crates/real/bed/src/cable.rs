//! Cables with a delay between virtual Ethernet devices, for test beds whose kernel has no netem.
//!
//! A thread takes each frame that one device gets, holds it, and sends it from the other device.
//! Frames pass whole with their offloads (`PACKET_VNET_HDR`), so a segment of 64 KB stays one.

#![expect(unsafe_code, reason = "socket2 binds no packet sockets")]

use std::collections::VecDeque;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use incast_udp::place;
use incast_udp::socket::{Poll, set_option};

/// The longest frame with its offloads in front.
const FRAME_BYTES: usize = 80_000;
/// The most frames that are taken from one device in turn.
const MOST: usize = 64;
/// The time after which the thread looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// The bytes of a socket's buffers: bursts wait there while the thread does not run.
const BUFFER: usize = 16 << 20;

/// A cable between two devices of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The names of the devices.
    pub ends: [String; 2],
    /// The delay, each way.
    pub delay: Duration,
}

/// Cables that a thread works until they are dropped.
#[derive(Debug)]
pub struct Cables {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Cables {
    /// Lays cables in a network namespace, worked by a thread on a CPU.
    ///
    /// # Errors
    ///
    /// If the namespace cannot be entered, or a device is not there.
    pub fn lay(namespace: PathBuf, cpu: usize, cables: Vec<Cable>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (say, said) = mpsc::channel();
        let stops = Arc::clone(&stop);
        let work = move || {
            let mut open = match open(&namespace, cpu, &cables) {
                Ok(open) => open,
                Err(error) => return drop(say.send(Err(error))),
            };
            drop(say.send(Ok(())));
            while !stops.load(Ordering::Relaxed) {
                // A device that is taken away ends its cables.
                if turn(&mut open).is_err() {
                    return;
                }
            }
        };
        let named = thread::Builder::new().name("incast-cables".to_owned());
        let thread = Some(named.spawn(work)?);
        let cables = Self { stop, thread };
        said.recv().unwrap_or_else(|_| Err(io::Error::other("the thread has ended")))?;
        Ok(cables)
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// A direction of a cable.
struct Direction {
    from: OwnedFd,
    /// The number of the way back, whose socket sends.
    back: usize,
    delay: Duration,
    held: VecDeque<(Instant, Vec<u8>)>,
}

struct Open {
    ways: Vec<Direction>,
    poll: Poll,
    room: Box<[u8]>,
    /// Buffers of frames that have gone on.
    spare: Vec<Vec<u8>>,
}

fn open(namespace: &Path, cpu: usize, cables: &[Cable]) -> io::Result<Open> {
    place::pin(cpu)?;
    place::enter(namespace)?;
    place::wake_promptly();
    // A frame that is held goes on before hosts do anything.
    place::go_first(2);
    let mut ways = Vec::new();
    for cable in cables {
        let first = ways.len();
        for (end, back) in cable.ends.iter().zip([first + 1, first]) {
            let from = packets_of(end)?;
            ways.push(Direction { from, back, delay: cable.delay, held: VecDeque::new() });
        }
    }
    let poll = Poll::of(ways.iter().map(|way| way.from.as_fd()));
    Ok(Open { ways, poll, room: vec![0; FRAME_BYTES].into(), spare: Vec::new() })
}

/// Waits, takes what has come, and sends on what has been held long enough.
fn turn(open: &mut Open) -> io::Result<()> {
    let Open { ways, poll, room, spare } = open;
    let next = ways.iter().filter_map(|way| way.held.front().map(|&(at, _)| at)).min();
    let wait = next.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
    poll.wait(wait.min(LOOK))?;
    for (number, way) in ways.iter_mut().enumerate() {
        if !poll.is_ready(number) {
            continue;
        }
        let at = Instant::now() + way.delay;
        for _ in 0..MOST {
            let Some(bytes) = receive(&way.from, room)? else { break };
            let mut frame = spare.pop().unwrap_or_default();
            frame.clear();
            frame.extend_from_slice(&room[..bytes]);
            way.held.push_back((at, frame));
        }
    }
    for number in 0..ways.len() {
        while let Some(&(at, _)) = ways[number].held.front()
            && at <= Instant::now()
        {
            let Some((_, frame)) = ways[number].held.pop_front() else { break };
            send(&ways[ways[number].back].from, &frame);
            spare.push(frame);
        }
    }
    Ok(())
}

/// A socket of all frames that a device gets.
fn packets_of(device: &str) -> io::Result<OwnedFd> {
    let name = CString::new(device)?;
    // SAFETY: a text with a zero at its end, which is only read.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    let index = i32::try_from(index).unwrap_or(0);
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: without pointers. Protocol 0 receives nothing before the socket is bound.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened here, and nothing else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let size = i32::try_from(BUFFER).unwrap_or(i32::MAX);
    for (level, option, value) in [
        (libc::SOL_PACKET, PACKET_VNET_HDR, 1),
        (libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1),
        (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, size),
        (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, size),
    ] {
        set_option(socket.as_fd(), level, option, value)?;
    }
    // SAFETY: an address of zeros is a valid one.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or_default();
    address.sll_protocol = u16::try_from(libc::ETH_P_ALL).unwrap_or_default().to_be();
    address.sll_ifindex = index;
    let length = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or_default();
    // SAFETY: an address of this length, which the kernel only reads.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// Options of packet sockets that libc does not name.
const PACKET_VNET_HDR: i32 = 15;
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// The length of the next frame; [`None`] if there is none.
fn receive(socket: &OwnedFd, room: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: room of this length, which nothing else uses meanwhile.
    let got = unsafe { libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), 0) };
    if let Ok(bytes) = usize::try_from(got) {
        return Ok(Some(bytes));
    }
    let error = io::Error::last_os_error();
    // A frame whose offloads cannot be told is lost.
    let passes = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        || error.raw_os_error() == Some(libc::EINVAL);
    if passes { Ok(None) } else { Err(error) }
}

/// Sends a frame. One that the device does not take is lost, as on any cable.
fn send(socket: &OwnedFd, frame: &[u8]) {
    // SAFETY: bytes of this length, which the kernel only reads.
    unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
}

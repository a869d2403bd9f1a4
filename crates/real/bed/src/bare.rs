//! Bare sockets, to compare with: an echo, and senders without any transport.
//!
//! They show what the path and the kernel give at best. Nothing is paced, repaired or encrypted, so
//! this is for measurements alone.

mod probe;
mod written;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use self::probe::Probe;
use self::written::Taken;
use incast_udp::socket::{
    Features, MAX_RECEIVE_BYTES, OpenError, Options, ReceiveBatch, SendBatch, Socket, Transmit,
};
use incast_udp::{Host, Waiting};

pub use self::written::Stream;

/// The longest datagram that is echoed; longer ones are counted.
const ECHOED: usize = 1_000;
/// The question for the number of bytes that were counted.
const COUNT: &[u8] = b"count";
/// The datagram that ends an echo.
const END: &[u8] = b"end it";
/// The payload of the datagrams that are counted: with it they fill an MTU of 1,500 B.
const COUNTED: u16 = 1_448;
/// The datagrams of a send.
const SEND: usize = 44;
/// The time after which an echo ends that nobody uses.
const UNUSED: Duration = Duration::from_secs(2);
/// The time after which a datagram counts as lost.
const LOST: Duration = Duration::from_millis(100);

/// The socket that echoes short datagrams of one host, and counts long ones.
#[derive(Debug)]
pub struct Echo {
    socket: Socket,
    host: IpAddr,
    waiting: Waiting,
    out: SendBatch,
    /// Bytes that a stream has brought.
    taken: Taken,
}

/// The use of a bare socket, which decides on its timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// No timestamps: an echo, or bytes that are counted.
    Off,
    /// The kernel stamps what comes and what leaves: probes, or a stream with acknowledgements.
    On,
}

impl Echo {
    /// A socket at any free port of an address, which answers one host alone.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open(
        here: IpAddr,
        host: IpAddr,
        waiting: Waiting,
        features: Features,
        stamps: Stamps,
    ) -> Result<Self, OpenError> {
        let socket = open(SocketAddr::new(here, 0), features, stamps)?;
        let (out, taken) = (SendBatch::new(64, 1 << 20), Taken::default());
        Ok(Self { socket, host, waiting, out, taken })
    }

    /// The port of the socket.
    ///
    /// # Errors
    ///
    /// If the kernel does not say.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.address()?.port())
    }

    /// Answers until the other end has [ended](Caller::end) it, as long as `goes_on` says so.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn run(mut self, mut goes_on: impl FnMut() -> bool) -> io::Result<()> {
        let mut got = ReceiveBatch::new(16, MAX_RECEIVE_BYTES);
        let (mut counted, host) = (0_u64, self.host);
        let mut heard = Instant::now();
        while goes_on() && heard.elapsed() < UNUSED {
            wait(&self.socket, self.waiting)?;
            self.socket.receive(&mut got)?;
            for received in got.iter().filter(|received| received.from.ip() == host) {
                heard = Instant::now();
                let to = Transmit::to(received.from);
                if received.data == END {
                    return Ok(());
                } else if received.data == COUNT {
                    self.out.push(to, &counted.to_be_bytes()).ok();
                } else if written::is_data(received.data) {
                    self.take_stream(&received)?;
                } else if received.segment > ECHOED {
                    counted += received.data.len() as u64;
                } else if let (Some(probe), Some(came)) =
                    (Probe::asked(received.data), received.stamp)
                {
                    self.answer(to, probe, came)?;
                } else {
                    // Datagrams that came together leave together.
                    let segment = u16::try_from(received.segment).ok();
                    let several = received.data.len() > received.segment;
                    let to = Transmit { segment: segment.filter(|_| several), ..to };
                    if self.out.push(to, received.data).is_err() {
                        self.socket.send(&mut self.out)?;
                    }
                }
            }
            self.socket.send(&mut self.out)?;
        }
        Ok(())
    }
}

/// The bare socket of a host, of which one answers at a time.
#[derive(Debug, Default)]
pub struct Answering {
    answers: Arc<AtomicBool>,
}

impl Answering {
    /// Has a bare socket answer on a thread of its own, for measurements in turn with messages. It
    /// ends when the other end says so, after `most`, or with the host. Nodes of the host that spin
    /// sleep meanwhile, since the socket may have to share a processor with them. Returns whether
    /// it answers: another one may do so still.
    ///
    /// # Errors
    ///
    /// If the system has no thread left.
    pub fn start(&self, host: &Arc<Host>, echo: Echo, most: Duration) -> io::Result<bool> {
        if self.answers.swap(true, Ordering::SeqCst) {
            return Ok(false);
        }
        let (answers, host) = (Arc::clone(&self.answers), Arc::downgrade(host));
        let have_nodes_wait = move |host: &Weak<Host>, waiting| {
            if let Some(host) = host.upgrade() {
                host.set_waiting(waiting);
            }
        };
        let answer = move || {
            have_nodes_wait(&host, Some(Waiting::Sleep { spin: Duration::ZERO }));
            let began = Instant::now();
            // An error of the bare socket ends it: those who ask it get no answer.
            drop(echo.run(|| began.elapsed() < most && host.strong_count() > 0));
            have_nodes_wait(&host, None);
            answers.store(false, Ordering::SeqCst);
        };
        let thread = std::thread::Builder::new().name("incast-udp-bare".to_owned());
        thread.spawn(answer).map(|_| true).inspect_err(|_| {
            self.answers.store(false, Ordering::SeqCst);
        })
    }
}

fn open(address: SocketAddr, features: Features, stamps: Stamps) -> Result<Socket, OpenError> {
    let features = match stamps {
        Stamps::Off => Features { receive_stamps: false, send_stamps: false, ..features },
        Stamps::On => features,
    };
    Socket::open(&Options::at(address), features)
}

/// Waits for a datagram as a node would.
fn wait(socket: &Socket, waiting: Waiting) -> io::Result<()> {
    match waiting {
        Waiting::Spin => Ok(()),
        Waiting::Sleep { .. } => socket.wait(Some(LOST)).map(|_| ()),
    }
}

/// The sender to an [`Echo`].
pub struct Caller {
    socket: Socket,
    to: SocketAddr,
    waiting: Waiting,
    got: ReceiveBatch,
    out: SendBatch,
}

impl Caller {
    /// A sender to the echo at an address.
    ///
    /// # Errors
    ///
    /// If its socket cannot be opened.
    pub fn open(
        to: SocketAddr,
        waiting: Waiting,
        features: Features,
        stamps: Stamps,
    ) -> Result<Self, OpenError> {
        let here: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
        let socket = open(SocketAddr::new(here, 0), features, stamps)?;
        let got = ReceiveBatch::new(64, MAX_RECEIVE_BYTES);
        Ok(Self { socket, to, waiting, got, out: SendBatch::new(64, 1 << 20) })
    }

    /// Sends datagrams of `bytes`, with `in_flight` on their way, for a time. Returns the time of
    /// each from send to echo: of those that leave together, the first. Lost ones are sent anew.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn calls(
        &mut self,
        bytes: usize,
        in_flight: usize,
        duration: Duration,
    ) -> io::Result<Vec<Duration>> {
        let datagram = vec![7; bytes.clamp(1, ECHOED)];
        let start = Instant::now();
        let mut times = Vec::new();
        let mut open = 0;
        let mut sent_at = start;
        while start.elapsed() < duration {
            if open < in_flight {
                let before = open;
                while open < in_flight && open - before < 64 {
                    if self.out.push(Transmit::to(self.to), &datagram).is_err() {
                        break;
                    }
                    open += 1;
                }
                sent_at = Instant::now();
                self.socket.send(&mut self.out)?;
            }
            wait(&self.socket, self.waiting)?;
            self.socket.receive(&mut self.got)?;
            let came: usize = self.got.iter().map(|received| received.datagrams().count()).sum();
            if came > 0 {
                times.extend(std::iter::repeat_n(sent_at.elapsed(), came));
                open = open.saturating_sub(came);
            } else if sent_at.elapsed() > LOST {
                open = 0;
            }
        }
        Ok(times)
    }

    /// Sends as fast as the kernel takes it for a time, in sends of 64 KB. Returns the bytes that
    /// came.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket, or the echo does not answer.
    pub fn stream(&mut self, duration: Duration) -> io::Result<u64> {
        let before = self.counted()?;
        let data = vec![7; SEND * usize::from(COUNTED)];
        let start = Instant::now();
        while start.elapsed() < duration {
            let send = Transmit { segment: Some(COUNTED), ..Transmit::to(self.to) };
            self.out.push(send, &data).map_err(io::Error::other)?;
            while !self.out.is_empty() {
                self.socket.send(&mut self.out)?;
            }
        }
        Ok(self.counted()? - before)
    }

    /// Ends the echo. The word may be lost: it is said three times.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn end(&mut self) -> io::Result<()> {
        for _ in 0..3 {
            self.out.push(Transmit::to(self.to), END).map_err(io::Error::other)?;
            self.socket.send(&mut self.out)?;
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// The bytes that the echo has counted.
    fn counted(&mut self) -> io::Result<u64> {
        for _ in 0..50 {
            self.out.push(Transmit::to(self.to), COUNT).map_err(io::Error::other)?;
            self.socket.send(&mut self.out)?;
            let end = Instant::now() + LOST;
            while Instant::now() < end {
                self.socket.wait(Some(LOST))?;
                self.socket.receive(&mut self.got)?;
                let answer = self.got.iter().find_map(|received| {
                    let answer: &[u8; 8] = received.data.first_chunk()?;
                    (received.data.len() == 8).then(|| u64::from_be_bytes(*answer))
                });
                if let Some(counted) = answer {
                    return Ok(counted);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the bare socket there does not answer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_udp::security::Security;

    /// Has a caller measure an echo over the loopback device, and end it.
    fn with_echo(stamps: Stamps, measure: impl FnOnce(&mut Caller)) {
        let features = Features::probe().unwrap();
        let sleep = Waiting::Sleep { spin: Duration::ZERO };
        let here: IpAddr = [127, 0, 0, 1].into();
        let echo = Echo::open(here, here, sleep, features, stamps).unwrap();
        let to = SocketAddr::new(here, echo.port().unwrap());
        let end = Instant::now() + Duration::from_secs(20);
        std::thread::scope(|scope| {
            scope.spawn(|| echo.run(|| Instant::now() < end).unwrap());
            let mut caller = Caller::open(to, sleep, features, stamps).unwrap();
            measure(&mut caller);
            caller.end().unwrap();
        });
        assert!(Instant::now() < end, "ended by the caller");
    }

    #[test]
    fn datagrams_come_back_and_streams_are_counted() {
        with_echo(Stamps::Off, |caller| {
            for in_flight in [1, 64] {
                let times = caller.calls(64, in_flight, Duration::from_millis(50)).unwrap();
                assert!(times.len() > 10, "{in_flight}: {}", times.len());
            }
            let bytes = caller.stream(Duration::from_millis(50)).unwrap();
            assert!(bytes > 1_000_000, "{bytes}");
        });
    }

    #[test]
    fn stamps_tell_rtts_without_the_turnaround() {
        with_echo(Stamps::On, |caller| {
            let mut rtts = caller.rtts(Duration::from_millis(100)).unwrap();
            rtts.sort_unstable();
            assert!(rtts.len() > 10, "{}", rtts.len());
            // Over the loopback device, whoever else runs.
            assert!(rtts[rtts.len() / 2] < Duration::from_millis(5), "{:?}", rtts[rtts.len() / 2]);
        });
    }

    #[test]
    fn a_stream_by_hand_is_acknowledged_and_measures_rtts() {
        with_echo(Stamps::On, |caller| {
            let stream = caller.written(Duration::from_millis(100)).unwrap();
            assert!(stream.bytes > 1_000_000 && stream.rtts > 10, "{stream:?}");
            assert!(stream.least < Duration::from_millis(5), "{stream:?}");
        });
    }

    #[test]
    fn one_bare_socket_of_a_host_answers_at_a_time_and_ends_with_the_host() {
        let here: IpAddr = [127, 0, 0, 1].into();
        let options = incast_udp::Options::at(SocketAddr::new(here, 0), Security::Plain);
        let host = Arc::new(Host::open(&options, 1).unwrap());
        let answering = Answering::default();
        let starts = |host: &Arc<Host>| {
            let echo = Echo::open(here, here, Waiting::Spin, host.features(), Stamps::Off);
            answering.start(host, echo.unwrap(), UNUSED).unwrap()
        };
        assert!(starts(&host));
        assert!(!starts(&host));
        drop(host);
        let end = Instant::now() + UNUSED / 2;
        while answering.answers.load(Ordering::SeqCst) {
            assert!(Instant::now() < end, "it outlives its host");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

//! A stream that is written by hand: timestamps, acknowledgements and copies as the transport has
//! them, and nothing else.
//!
//! Messages lie in memory and are copied into sends, each of which asks for the time at which it
//! left. The receiver copies each datagram to its place in a message, and acknowledges what came
//! together with its turnaround. The sender keeps some bytes on their way. Nothing is paced,
//! checked, encrypted or sent again: bytes that are lost count as on their way no longer.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use super::{COUNTED, Caller, Echo, LOST, SEND, wait};

use incast_udp::socket::{Received, Stamp, Transmit};

/// The bytes of a message.
const MESSAGE: usize = 1_000_000;
/// The most sends that leave together.
const BATCH: usize = 8;
/// The bytes that are on their way at most.
const WINDOW: u64 = 1 << 20;
/// The bytes in front of each datagram's payload: a word, the key of the send, the place of the
/// payload in its message.
const HEAD: usize = 16;
const DATA: [u8; 8] = *b"written:";
const ACK: [u8; 8] = *b"got that";
/// The bytes of an acknowledgement: the word, the bytes in all, the send's key, the turnaround.
const ACK_BYTES: usize = 32;
/// The payload of a datagram.
const PAYLOAD: usize = COUNTED as usize - HEAD;

/// The receiver's side of a stream.
#[derive(Debug)]
pub(super) struct Taken {
    message: Vec<u8>,
    bytes: u64,
}

impl Default for Taken {
    fn default() -> Self {
        Self { message: vec![0; MESSAGE], bytes: 0 }
    }
}

/// The outcome of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The payload that came.
    pub bytes: u64,
    /// The RTTs that were measured.
    pub rtts: u64,
    /// The least of them.
    pub least: Duration,
    /// The bytes that were given up for lost.
    pub lost: u64,
}

/// Whether a datagram is of a stream.
pub(super) fn is_data(data: &[u8]) -> bool {
    data.first_chunk() == Some(&DATA)
}

impl Taken {
    /// Takes in datagrams that came together.
    fn take(&mut self, datagrams: impl Iterator<Item = impl AsRef<[u8]>>) {
        for datagram in datagrams {
            let Some((head, payload)) = datagram.as_ref().split_first_chunk::<HEAD>() else {
                continue;
            };
            let place = place_of(head) % (MESSAGE - PAYLOAD);
            if let Some(room) = self.message.get_mut(place..place + payload.len()) {
                room.copy_from_slice(payload);
                self.bytes += payload.len() as u64;
            }
        }
    }
}

fn place_of(head: &[u8; HEAD]) -> usize {
    head.last_chunk().map_or(0, |place| u32::from_be_bytes(*place)) as usize
}

impl Echo {
    /// Takes in what is of the stream, and acknowledges it.
    pub(super) fn take_stream(&mut self, received: &Received<&[u8]>) -> io::Result<()> {
        self.taken.take(received.datagrams());
        let Some(key) = received.data.get(8..12) else { return Ok(()) };
        let turnaround = received.stamp.map_or(u64::MAX, |stamp| since(Stamp::now(), stamp));
        let mut ack = [0; ACK_BYTES];
        ack[..8].copy_from_slice(&ACK);
        ack[8..16].copy_from_slice(&self.taken.bytes.to_be_bytes());
        ack[16..20].copy_from_slice(key);
        ack[24..].copy_from_slice(&turnaround.to_be_bytes());
        if self.out.push(Transmit::to(received.from), &ack).is_err() {
            self.socket.send(&mut self.out)?;
        }
        Ok(())
    }
}

fn since(now: Stamp, earlier: Stamp) -> u64 {
    now.since(earlier).map_or(u64::MAX, incast_cc::Span::as_ns)
}

/// A send that was not acknowledged.
struct Sent {
    key: u32,
    left: Option<Stamp>,
}

impl Caller {
    /// Sends a stream for a time.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket, or the echo does not answer.
    pub fn written(&mut self, duration: Duration) -> io::Result<Stream> {
        let message = vec![7_u8; MESSAGE];
        let (mut sent, mut acknowledged, mut lost) = (0_u64, 0_u64, 0_u64);
        let (mut place, mut key) = (0, 0_u32);
        let mut waiting: VecDeque<Sent> = VecDeque::new();
        let mut outcome = Stream { bytes: 0, rtts: 0, least: Duration::MAX, lost: 0 };
        let (start, mut heard_at) = (Instant::now(), Instant::now());
        while start.elapsed() < duration {
            while sent.saturating_sub(acknowledged + lost) < WINDOW && self.out.len() < BATCH {
                key = key.wrapping_add(1);
                sent += self.put(&message, &mut place, key)?;
                waiting.push_back(Sent { key, left: None });
            }
            self.socket.send(&mut self.out)?;
            wait(&self.socket, self.waiting)?;
            self.socket.sent_stamps(|told| {
                // Keys count up, so the first that waits says where this one is.
                let first = waiting.front().map_or(told.key, |sent| sent.key);
                if let Some(sent) = waiting.get_mut(told.key.wrapping_sub(first) as usize) {
                    sent.left = Some(told.stamp);
                }
            })?;
            self.socket.receive(&mut self.got)?;
            for received in self.got.iter() {
                for ack in received.datagrams().filter_map(Ack::of) {
                    heard_at = Instant::now();
                    acknowledged = acknowledged.max(ack.bytes);
                    let is_older =
                        |sent: &Sent| (1..1 << 31).contains(&ack.key.wrapping_sub(sent.key));
                    while waiting.front().is_some_and(is_older) {
                        waiting.pop_front();
                    }
                    let left = waiting.front().filter(|sent| sent.key == ack.key);
                    let left = left.and_then(|sent| sent.left);
                    if let (Some(left), Some(came)) = (left, received.stamp) {
                        let rtt = since(came, left).saturating_sub(ack.turnaround_ns);
                        outcome.rtts += 1;
                        outcome.least = outcome.least.min(Duration::from_nanos(rtt));
                    }
                }
            }
            if heard_at.elapsed() > LOST {
                lost = sent - acknowledged;
                heard_at = Instant::now();
            }
        }
        if acknowledged == 0 {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the bare socket there acknowledges nothing",
            ));
        }
        Ok(Stream { bytes: acknowledged, lost, ..outcome })
    }

    /// Puts a send into the batch, and returns the bytes of its payload.
    fn put(&mut self, message: &[u8], place: &mut usize, key: u32) -> io::Result<u64> {
        let (mut at, mut payload) = (0, 0);
        let room = self.out.room();
        for _ in 0..SEND {
            if *place + PAYLOAD > message.len() {
                *place = 0;
            }
            let datagram = &mut room[at..at + HEAD + PAYLOAD];
            datagram[..8].copy_from_slice(&DATA);
            datagram[8..12].copy_from_slice(&key.to_be_bytes());
            datagram[12..HEAD].copy_from_slice(&number(*place).to_be_bytes());
            datagram[HEAD..].copy_from_slice(&message[*place..*place + PAYLOAD]);
            (at, payload, *place) =
                (at + datagram.len(), payload + PAYLOAD as u64, *place + PAYLOAD);
        }
        let send = Transmit { segment: Some(COUNTED), stamp: Some(key), ..Transmit::to(self.to) };
        self.out.commit(send, at).map_err(io::Error::other)?;
        Ok(payload)
    }
}

/// A place in a message, as it is written.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(0)
}

/// An acknowledgement.
struct Ack {
    bytes: u64,
    key: u32,
    turnaround_ns: u64,
}

impl Ack {
    fn of(data: &[u8]) -> Option<Self> {
        let data: &[u8; ACK_BYTES] = data.try_into().ok()?;
        if data.first_chunk() != Some(&ACK) {
            return None;
        }
        let bytes = u64::from_be_bytes(*data[8..].first_chunk()?);
        let key = u32::from_be_bytes(*data[16..].first_chunk()?);
        let turnaround_ns = u64::from_be_bytes(*data[24..].first_chunk()?);
        Some(Self { bytes, key, turnaround_ns })
    }
}

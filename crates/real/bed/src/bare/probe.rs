//! RTTs of a bare socket by the kernel's stamps, to compare those with that the transport reports.
//!
//! The transport reads the clock when it writes an answer, and tells the turnaround until then,
//! with the least time that answers have taken from there to the kernel's stamp; what this one
//! takes longer is in its RTT. Here the echo tells its turnaround behind the answer, when the kernel has
//! said at what time the answer left. So nothing but kernel and path is in the RTT.

use std::io;
use std::time::{Duration, Instant};

use super::{Caller, Echo, LOST, wait};
use incast_udp::socket::{Stamp, Transmit};

/// The first bytes of a probe, of the answer, and of the turnaround behind it.
const PROBE: [u8; 4] = *b"rtt?";
const ANSWER: [u8; 4] = *b"rtt!";
const BEHIND: [u8; 4] = *b"rtt+";
/// The bytes of each of them: the word, a number, a time.
const BYTES: usize = 16;
/// The time for which an echo waits for the stamp of its answer.
const STAMP: Duration = Duration::from_millis(2);

/// A datagram of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    word: [u8; 4],
    number: u32,
    ns: u64,
}

impl Probe {
    fn new(word: [u8; 4], number: u32, ns: u64) -> Self {
        Self { word, number, ns }
    }

    /// The number of a datagram that asks for an answer; [`None`] for any other.
    pub(super) fn asked(data: &[u8]) -> Option<u32> {
        Self::of(data).filter(|probe| probe.word == PROBE).map(|probe| probe.number)
    }

    fn of(data: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = data.try_into().ok()?;
        let (word, rest) = bytes.split_first_chunk::<4>()?;
        let (number, ns) = rest.split_first_chunk::<4>()?;
        let ns = u64::from_be_bytes(ns.try_into().ok()?);
        Some(Self { word: *word, number: u32::from_be_bytes(*number), ns })
    }

    fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.word);
        bytes[4..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8..].copy_from_slice(&self.ns.to_be_bytes());
        bytes
    }
}

impl Echo {
    /// Answers a probe that came at a time, and tells the turnaround behind it.
    pub(super) fn answer(&mut self, to: Transmit, number: u32, came: Stamp) -> io::Result<()> {
        let answer = Probe::new(ANSWER, number, 0).bytes();
        let to = Transmit { stamp: Some(number), ..to };
        self.out.push(to, &answer).map_err(io::Error::other)?;
        self.socket.send(&mut self.out)?;
        let (mut left, end) = (None, Instant::now() + STAMP);
        while left.is_none() && Instant::now() < end {
            self.socket.sent_stamps(|sent| {
                left = (sent.key == number).then_some(sent.stamp).or(left);
            })?;
        }
        if let Some(turnaround) = left.and_then(|left| left.since(came)) {
            let behind = Probe::new(BEHIND, number, turnaround.as_ns()).bytes();
            let to = Transmit { stamp: None, ..to };
            self.out.push(to, &behind).map_err(io::Error::other)?;
            self.socket.send(&mut self.out)?;
        }
        Ok(())
    }
}

impl Caller {
    /// Sends probes one after the other for a time. Returns the RTT of each, without the turnaround
    /// of the echo; those of which a stamp is missing are left out.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn rtts(&mut self, duration: Duration) -> io::Result<Vec<Duration>> {
        let (start, mut rtts) = (Instant::now(), Vec::new());
        let mut number = 0;
        while start.elapsed() < duration {
            number += 1;
            rtts.extend(self.rtt(number)?);
        }
        Ok(rtts)
    }

    fn rtt(&mut self, number: u32) -> io::Result<Option<Duration>> {
        let to = Transmit { stamp: Some(number), ..Transmit::to(self.to) };
        self.out.push(to, &Probe::new(PROBE, number, 0).bytes()).map_err(io::Error::other)?;
        self.socket.send(&mut self.out)?;
        let (mut left, mut came, mut turnaround) = (None, None, None);
        let end = Instant::now() + LOST;
        while Instant::now() < end {
            wait(&self.socket, self.waiting)?;
            self.socket.sent_stamps(|sent| {
                left = (sent.key == number).then_some(sent.stamp).or(left);
            })?;
            self.socket.receive(&mut self.got)?;
            for received in self.got.iter() {
                for probe in received.datagrams().filter_map(Probe::of) {
                    match probe.word {
                        _ if probe.number != number => {}
                        ANSWER => came = received.stamp,
                        BEHIND => turnaround = Some(Duration::from_nanos(probe.ns)),
                        _ => {}
                    }
                }
            }
            if let (Some(left), Some(came), Some(turnaround)) = (left, came, turnaround) {
                let whole = came.since(left).map(|span| Duration::from_nanos(span.as_ns()));
                return Ok(whole.map(|whole| whole.saturating_sub(turnaround)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_comes_back_and_other_datagrams_are_none() {
        let probe = Probe::new(PROBE, 7, 1_234_567_890_123);
        assert_eq!(Probe::of(&probe.bytes()), Some(probe));
        assert_eq!(Probe::asked(&probe.bytes()), Some(7));
        assert_eq!(Probe::asked(&Probe::new(ANSWER, 7, 0).bytes()), None);
        assert_eq!(Probe::asked(&[7; 16]), None);
        assert_eq!(Probe::of(&probe.bytes()[..15]), None);
    }
}

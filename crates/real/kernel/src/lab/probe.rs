//! Round-trip times of small datagrams, independent of TCP, by the kernel's timestamps.
//!
//! The RTT is the time between two stamps at the prober, of the datagram's departure and of the
//! answer's arrival, less the time between two stamps at the reflector, of the arrival and of the
//! departure, which the answer carries. So it does not contain the time of user space and of the
//! scheduler, except for the answer's way from `send` to its device.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, TimestampingFlag, recvmsg, setsockopt,
};
use serde::Serialize;

use crate::{Error, Result};

/// The RTT of one datagram.
#[derive(Debug, Serialize)]
pub struct Sample {
    /// The time of sending, from the start.
    pub at_us: f64,
    /// The round trip.
    pub rtt_us: f64,
}

/// The size of a datagram: its number, and the reflector's time in nanoseconds.
const SIZE: usize = 16;

/// Sends datagrams back for ever, with the time that this took.
///
/// # Errors
/// The port is taken, or the kernel has no timestamps.
pub fn reflect(address: SocketAddr) -> Result<()> {
    let socket = bound(address)?;
    stamped(&socket, TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE)?;
    loop {
        let mut buffer = [0; SIZE];
        let Ok(Some(arrived)) = receive(&socket, &mut buffer, MsgFlags::empty()) else { continue };
        let (Some(came_at), Some(from)) = (arrived.stamp, arrived.from) else { continue };
        let took = now().saturating_sub(came_at);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        buffer[8..].copy_from_slice(&nanos.to_be_bytes());
        // An answer that cannot be sent is lost.
        let _ = socket.send_to(&buffer, from);
    }
}

/// Probes every `interval` for `duration`. Returns the samples, and the number of datagrams without
/// an answer.
///
/// # Errors
/// The kernel has no timestamps, or the address cannot be reached.
pub fn probe(
    address: SocketAddr,
    interval: Duration,
    duration: Duration,
) -> Result<(Vec<Sample>, usize)> {
    let socket = bound(if address.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    })?;
    socket.connect(address).map_err(|error| Error::Unreachable { address, error })?;
    stamped(
        &socket,
        TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY,
    )?;
    socket.set_nonblocking(true).map_err(Error::ProbeSocket)?;
    let (began, began_at) = (Instant::now(), now());
    let mut open: HashMap<u64, Duration> = HashMap::new();
    let mut samples = Vec::new();
    let mut sent = 0_u64;
    let mut next = began;
    // A last second for datagrams that are still on their way.
    while began.elapsed() < duration + Duration::from_secs(1) {
        if Instant::now() >= next && next < began + duration {
            next += interval;
            let mut datagram = [0; SIZE];
            datagram[..8].copy_from_slice(&sent.to_be_bytes());
            if socket.send(&datagram).is_ok() {
                // The stamp comes by the error queue at once, since the device is a virtual one.
                let stamp = receive(&socket, &mut [0; SIZE], MsgFlags::MSG_ERRQUEUE)?;
                open.insert(sent, stamp.and_then(|one| one.stamp).unwrap_or_else(now));
                sent += 1;
            }
        }
        let mut buffer = [0; SIZE];
        let Some(arrived) = receive(&socket, &mut buffer, MsgFlags::empty())? else {
            thread::sleep(Duration::from_micros(50));
            continue;
        };
        let (number, took) = buffer.split_at(8);
        let number = u64::from_be_bytes(number.try_into().unwrap_or_default());
        let took = Duration::from_nanos(u64::from_be_bytes(took.try_into().unwrap_or_default()));
        if let (Some(left_at), Some(came_at)) = (open.remove(&number), arrived.stamp) {
            samples.push(Sample {
                at_us: micros(left_at.saturating_sub(began_at)),
                rtt_us: micros(came_at.saturating_sub(left_at).saturating_sub(took)),
            });
        }
    }
    Ok((samples, open.len()))
}

struct Arrived {
    stamp: Option<Duration>,
    from: Option<SocketAddr>,
}

/// A datagram, or an entry of the error queue; [`None`] if there is nothing.
fn receive(socket: &UdpSocket, buffer: &mut [u8], flags: MsgFlags) -> Result<Option<Arrived>> {
    let mut control = nix::cmsg_space!([libc::timespec; 3], [u8; 64]);
    let mut parts = [IoSliceMut::new(buffer)];
    let message =
        match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)
        {
            Ok(message) => message,
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::ECONNREFUSED) => return Ok(None),
            Err(error) => return Err(Error::ProbeFailed(error)),
        };
    let mut stamp = None;
    for one in message.cmsgs().map_err(Error::ProbeFailed)? {
        if let ControlMessageOwned::ScmTimestampsns(stamps) = one {
            stamp = Some(Duration::from(stamps.system));
        }
    }
    let from = message.address.and_then(|address| {
        address
            .as_sockaddr_in()
            .map(|v4| SocketAddr::from(std::net::SocketAddrV4::from(*v4)))
            .or_else(|| {
                address
                    .as_sockaddr_in6()
                    .map(|v6| SocketAddr::from(std::net::SocketAddrV6::from(*v6)))
            })
    });
    Ok(Some(Arrived { stamp, from }))
}

fn bound(address: SocketAddr) -> Result<UdpSocket> {
    UdpSocket::bind(address).map_err(|error| Error::Unbindable { address, error })
}

fn stamped(socket: &UdpSocket, which: TimestampingFlag) -> Result<()> {
    setsockopt(socket, Timestamping, &(which | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE))
        .map_err(Error::NoTimestamps)
}

/// The clock of the stamps.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_answers_in_microseconds() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        drop(socket);
        thread::spawn(move || reflect(address));
        thread::sleep(Duration::from_millis(100));
        let (samples, lost) =
            probe(address, Duration::from_millis(2), Duration::from_millis(300)).unwrap();
        assert!(samples.len() > 50 && lost < 20, "{} samples, {lost} lost", samples.len());
        let mut rtts: Vec<f64> = samples.iter().map(|sample| sample.rtt_us).collect();
        rtts.sort_by(f64::total_cmp);
        assert!(rtts[rtts.len() / 2] < 1_000.0, "{}", rtts[rtts.len() / 2]);
    }
}

//! The reports of connections while somebody observes them.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use libbpf_rs::RingBufferBuilder;
use serde::Serialize;
use serde_json::json;

use crate::algorithm::Algorithm;
use crate::attached::Attached;
use crate::programs::Reading;
use crate::shared::{FlowEvent, Shared as _};
use crate::{Error, Result};

/// The state of a connection at one instant.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// The time in seconds since the machine started.
    pub time_s: f64,
    /// The local port.
    pub local_port: u16,
    /// The address and port of the peer.
    pub remote: String,
    /// The sending rate; for windows, the window over the smoothed RTT.
    pub rate_mbps: f64,
    /// The newest RTT sample, null if this ACK brought none.
    pub rtt_us: Option<f64>,
    /// TIMELY's gradient, not yet divided by the minimum RTT, in us; RTCP's price; DCTCP's alpha.
    pub gauge: f64,
    /// RTCP's counter.
    pub counter: Option<f64>,
    /// The algorithm's last decision.
    pub branch: &'static str,
    /// The window in segments.
    pub cwnd: u32,
    /// The number of segments in flight.
    pub in_flight: u32,
    /// The number of segments sent again since the connection began.
    pub retransmissions: u32,
    /// Whether losses are being repaired.
    pub recovering: bool,
}

impl Observation {
    fn new(algorithm: Algorithm, event: &FlowEvent) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let (rate, rtt, time) =
            (event.rate_bps as f64 / 1e6, event.rtt_ns as f64 / 1e3, event.time_ns as f64 / 1e9);
        let Reading { gauge, counter, branch } = algorithm.0.reading(event);
        Self {
            time_s: time,
            local_port: event.local_port,
            remote: remote(event),
            rate_mbps: rate,
            rtt_us: (event.rtt_ns > 0).then_some(rtt),
            gauge,
            counter,
            branch,
            cwnd: event.cwnd_segments,
            in_flight: event.in_flight_segments,
            retransmissions: event.retransmissions,
            recovering: event.state >= 3,
        }
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>12.3}  {:<22} {:>9.1} Mb/s {:>9} {:>9.1}  {:<13} cwnd {:>5} in flight {:>5} \
             sent again {}",
            self.time_s,
            self.remote,
            self.rate_mbps,
            self.rtt_us.map_or("-".to_owned(), |rtt| format!("{rtt:.0} us")),
            self.gauge,
            self.branch,
            self.cwnd,
            self.in_flight,
            self.retransmissions,
        )
    }
}

/// A destination of observations, a line each.
pub struct Output {
    name: String,
    to: Box<dyn Write>,
    as_json: bool,
}

impl Output {
    /// Standard output, as JSON or for people to read.
    pub fn standard(as_json: bool) -> Self {
        Self { name: "standard output".to_owned(), to: Box::new(io::stdout()), as_json }
    }

    /// A new file, as JSON.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn file(path: &Path) -> Result<Self> {
        let name = format!("--record {}", path.display());
        match File::create(path) {
            Ok(file) => Ok(Self { name, to: Box::new(BufWriter::new(file)), as_json: true }),
            Err(error) => Err(Error::Unwritable { place: name, error }),
        }
    }

    fn put(&mut self, seen: &Observation) -> Result<bool> {
        let wrote = if self.as_json {
            writeln!(self.to, "{}", json!(seen))
        } else {
            writeln!(self.to, "{seen}")
        };
        self.wanted(wrote)
    }

    /// Whether somebody still reads: a reader who has seen enough closes the pipe.
    fn wanted(&self, wrote: io::Result<()>) -> Result<bool> {
        match wrote {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::Unwritable { place: self.name.clone(), error }),
        }
    }
}

fn remote(event: &FlowEvent) -> String {
    const INET: u16 = 2;
    let bytes = event.remote_address;
    let address = if event.family == INET {
        IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    } else {
        IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
    };
    SocketAddr::new(address, u16::from_be(event.remote_port)).to_string()
}

/// Writes the reports of every connection, at most one in each `interval`. Ends when `goes_on` says
/// no, after `duration`, or when an output is no longer read.
///
/// Afterwards the programs stop reporting.
///
/// # Errors
/// The kernel refuses, or an output cannot be written.
pub fn observe(
    attached: &Attached,
    interval: Duration,
    duration: Option<Duration>,
    outputs: &mut [Output],
    goes_on: impl Fn() -> bool,
) -> Result<()> {
    struct Quiet<'a>(&'a Attached);
    impl Drop for Quiet<'_> {
        fn drop(&mut self) {
            // The program may be gone by now, and then reports nothing anyway.
            let _ = self.0.set_interval(0);
        }
    }
    let algorithm = attached.algorithm;
    let ended: Cell<Option<Result<()>>> = Cell::new(None);
    let mut builder = RingBufferBuilder::new();
    builder.add(&attached.events, |bytes: &[u8]| {
        let Some(event) = FlowEvent::of(bytes) else { return 0 };
        let seen = Observation::new(algorithm, &event);
        for output in &mut *outputs {
            match output.put(&seen) {
                Ok(true) => {}
                Ok(false) => ended.set(Some(Ok(()))),
                Err(error) => ended.set(Some(Err(error))),
            }
        }
        0
    })?;
    let ring = builder.build()?;
    let quiet = Quiet(attached);
    attached.set_interval(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX))?;
    let began = Instant::now();
    let mut result = Ok(());
    while duration.is_none_or(|whole| began.elapsed() < whole) && goes_on() {
        // Ctrl-C interrupts the wait, and the next turn decides.
        match ring.poll(Duration::from_millis(100)) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::Interrupted => {}
            other => other?,
        }
        if let Some(how) = ended.take() {
            result = how;
            break;
        }
    }
    drop((ring, quiet));
    for output in outputs {
        let flushed = output.to.flush();
        output.wanted(flushed)?;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_is_an_address_and_a_port() {
        let mut event =
            FlowEvent { family: 10, remote_port: 80_u16.to_be(), ..FlowEvent::default() };
        event.remote_address[15] = 1;
        assert_eq!(remote(&event), "[::1]:80");
        event.remote_address[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 2]);
        assert_eq!(remote(&event), "10.0.0.2:80");
        event.family = 2;
        event.remote_address[..4].copy_from_slice(&[10, 0, 0, 3]);
        assert_eq!(remote(&event), "10.0.0.3:80");
    }

    #[test]
    fn an_output_that_is_read_no_more_ends_it() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let seen = Observation::new(Algorithm::ALL[0], &FlowEvent::default());
        let mut output = Output { name: "it".to_owned(), to: Box::new(Gone), as_json: false };
        assert!(!output.put(&seen).unwrap());
        assert!(Output::file(Path::new("/nowhere/else")).is_err());
    }
}

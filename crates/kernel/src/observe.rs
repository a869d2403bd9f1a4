//! What connections tell of themselves while somebody looks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use libbpf_rs::RingBufferBuilder;
use serde::Serialize;

use crate::Result;
use crate::algorithm::Algorithm;
use crate::attached::Attached;
use crate::programs::{FlowEvent, Shared};

/// One connection at one instant.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// When, seconds since the machine started.
    pub time_s: f64,
    /// The local port.
    pub local_port: u16,
    /// The other end.
    pub remote: String,
    /// The rate that it sends at; of windows, what leaves in a smoothed RTT.
    pub rate_mbps: f64,
    /// The newest RTT sample, null if this ACK brought none.
    pub rtt_us: Option<f64>,
    /// TIMELY's gradient, not yet divided by the minimum RTT, in us; RTCP's price; DCTCP's alpha.
    pub gauge: f64,
    /// RTCP's counter.
    pub counter: Option<f64>,
    /// What the algorithm did with it.
    pub branch: &'static str,
    /// The window in segments.
    pub cwnd: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments sent again since it began.
    pub retransmissions: u32,
    /// Whether losses are being repaired.
    pub recovering: bool,
}

impl Observation {
    fn new(algorithm: Algorithm, event: &FlowEvent) -> Self {
        const ONE_Q20: f64 = 1_048_576.0;
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let (rate, rtt, gauge, counter, time) = (
            event.rate_bps as f64 / 1e6,
            event.rtt_ns as f64 / 1e3,
            event.gauge as f64,
            event.counter as f64 / ONE_Q20,
            event.time_ns as f64 / 1e9,
        );
        Self {
            time_s: time,
            local_port: event.local_port,
            remote: remote(event),
            rate_mbps: rate,
            rtt_us: (event.rtt_ns > 0).then_some(rtt),
            gauge: match algorithm {
                Algorithm::Timely => gauge / 256.0 / 1e3,
                Algorithm::Rtcp | Algorithm::Dctcp => gauge / ONE_Q20,
            },
            counter: (algorithm == Algorithm::Rtcp).then_some(counter),
            branch: branch(algorithm, event.branch),
            cwnd: event.cwnd_segments,
            in_flight: event.in_flight_segments,
            retransmissions: event.retransmissions,
            recovering: event.state >= 3,
        }
    }
}

fn branch(algorithm: Algorithm, branch: u32) -> &'static str {
    match (algorithm, branch) {
        (Algorithm::Timely, 1) => "below T_low",
        (Algorithm::Timely, 2) => "above T_high",
        (Algorithm::Timely, 3) => "additive",
        (Algorithm::Timely, 4) => "HAI",
        (Algorithm::Timely, 5) => "gradient",
        (Algorithm::Rtcp, 0) => "halves",
        (Algorithm::Rtcp, _) => "doubles",
        _ => "",
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
    format!("{address}:{}", u16::from_be(event.remote_port))
}

/// Tells `each` of every connection, at most once in `interval`, until `stop` or for `duration`.
///
/// Nobody is told anything afterwards: the programs stop reporting.
///
/// # Errors
/// The kernel refuses.
pub fn observe(
    attached: &Attached,
    interval: Duration,
    duration: Option<Duration>,
    mut each: impl FnMut(Observation),
    mut turn: impl FnMut() -> bool,
) -> Result<()> {
    struct Quiet<'a>(&'a Attached);
    impl Drop for Quiet<'_> {
        fn drop(&mut self) {
            // The program may be gone by now, and then reports nothing either.
            let _ = self.0.set_interval(0);
        }
    }
    let algorithm = attached.algorithm;
    let mut builder = RingBufferBuilder::new();
    builder.add(&attached.events, |bytes: &[u8]| {
        if let Some(event) = FlowEvent::of(bytes) {
            each(Observation::new(algorithm, &event));
        }
        0
    })?;
    let ring = builder.build()?;
    let _quiet = Quiet(attached);
    attached.set_interval(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX))?;
    let began = Instant::now();
    while duration.is_none_or(|whole| began.elapsed() < whole) && turn() {
        // Ctrl-C interrupts the wait: the turn decides.
        match ring.poll(Duration::from_millis(100)) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::Interrupted => {}
            other => other?,
        }
    }
    Ok(())
}

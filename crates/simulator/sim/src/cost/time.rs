//! The time that a run takes on one core, estimated from the work that it has.
//!
//! The constants were fitted to the CPU time of all schemes of all shipped scenarios
//! (docs/guide/cost.md). Memory that is used again before it leaves the caches is fast; the share
//! of the accesses that wait for memory grows with the bytes that a run goes through.

use incast_cc::param::Need;
use incast_cc::{Bytes, CongestionControl, Flow, Rate};
use incast_scenario::Scheme;

use super::{FEWER_CONNECTIONS, FEWER_MESSAGES, FEWER_ROWS, NO_IDEAL, TimePart};

/// The beginning and the end of a run.
const RUN_S: f64 = 10e-3;
/// A packet-hop whose data is in the caches, and the time that it waits for memory.
const HOP_S: f64 = 0.07e-6;
const COLD_HOP_S: f64 = 0.09e-6;
/// The wait for the memory of a connection, twice for each ACK: at the receiver and at the sender.
const COLD_BURST_S: f64 = 3.5e-6;
/// The bytes of a network, and of connections, at which every second access waits.
const HALF_OF_NETWORK: f64 = 2e6;
const HALF_OF_CONNECTIONS: f64 = 24e6;
/// A connection that is built, and a message, without its packets.
const CONNECTION_S: f64 = 4.5e-6;
const MESSAGE_S: f64 = 2.2e-6;
/// A row of a time series.
const SERIES_ROW_S: f64 = 0.35e-6;
/// The ideal of a message, for each host: as many more messages are under way.
const IDEAL_MESSAGE_S: f64 = 0.3e-6;
/// A hop whose packet carries stamps of switches, and one of flows whose ACKs tell the delivery
/// rate, over other hops.
const TELEMETRY: f64 = 2.0;
const DELIVERY: f64 = 1.3;

/// The work of a run.
pub(super) struct Work {
    pub(super) hosts: usize,
    pub(super) packet_hops: f64,
    /// The number of ACKs.
    pub(super) acks: f64,
    pub(super) connections: u64,
    pub(super) messages: f64,
    /// The bytes of the network.
    pub(super) network: f64,
    /// The bytes of the connections that are used.
    pub(super) used: f64,
    /// The rows of time series.
    pub(super) rows: f64,
    /// Whether the ideal of messages is worked out.
    pub(super) ideal: bool,
}

impl Work {
    /// The time of a run under `scheme` by what takes it, the largest part first. The beginning and
    /// the end of a run count with its packets.
    pub(super) fn parts(&self, scheme: &Scheme) -> Vec<TimePart> {
        let hop = (HOP_S + COLD_HOP_S * cold(self.network, HALF_OF_NETWORK)) * times(scheme);
        let ideal = if self.ideal { self.hosts as f64 * IDEAL_MESSAGE_S } else { 0.0 };
        let acks = self.acks * COLD_BURST_S * cold(self.used, HALF_OF_CONNECTIONS);
        let part = |seconds, remedy| TimePart { seconds, remedy };
        let mut parts = vec![
            part(RUN_S + self.packet_hops * hop + acks, "shorten run.duration"),
            part(self.connections as f64 * CONNECTION_S, FEWER_CONNECTIONS),
            part(self.messages * MESSAGE_S, FEWER_MESSAGES),
            part(self.rows * SERIES_ROW_S, FEWER_ROWS),
            part(self.messages * ideal, NO_IDEAL),
        ];
        parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        parts
    }
}

/// The share of accesses to `bytes` that wait for memory.
fn cold(bytes: f64, half: f64) -> f64 {
    bytes / (bytes + half)
}

/// The time of a hop under this scheme, over the time under others.
fn times(scheme: &Scheme) -> f64 {
    let flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(10));
    if scheme.algorithm.info().needs.contains(&Need::Telemetry) {
        TELEMETRY
    } else if scheme.algorithm.start(&flow).reads().delivery {
        DELIVERY
    } else {
        1.0
    }
}

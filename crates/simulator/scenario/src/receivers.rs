//! Slow receivers: hosts that take in less than their links bring.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Rate, Span};
use incast_plan::topology::Topology;
use incast_schema::quantity;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Scenario;

/// Hosts that take in less than their links bring. Where their buffer is full, they pause their
/// switch for the classes that PFC protects, and drop packets of the others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    /// The hosts: a group or part of it, or one host.
    pub hosts: String,
    /// The rate at which each of them takes packets in, headers included; "0bps" is nothing at all.
    #[serde(with = "quantity::Intake")]
    pub rate: Rate,
    /// The bytes that may wait until they are taken in; 512KB if absent. With PFC there is room
    /// beyond them for packets that still arrive after a pause.
    #[serde(default = "default_buffer", with = "quantity::Size")]
    pub buffer: Bytes,
    /// The time that the host takes more for a segment of a stream that is not the next one: a
    /// packet after a gap is handled apart, and the duplicate ACK is made for it; none if absent.
    #[serde(default, with = "quantity::Time")]
    pub gap: Span,
    /// The time from which on they are slow; from the beginning if absent.
    #[serde(default, with = "quantity::Time")]
    pub start: Span,
    /// The time from which on they take in what their links bring again; never if absent.
    #[serde(default, with = "quantity::OptionalTime")]
    pub stop: Option<Span>,
}

const fn default_buffer() -> Bytes {
    Bytes::from_kb(512)
}

impl Receiver {
    /// The rate that the hosts keep from the beginning to the end, if they do.
    pub fn steady(&self) -> Option<Rate> {
        (self.start.is_zero() && self.stop.is_none() && !self.rate.is_zero()).then_some(self.rate)
    }
}

impl Scenario {
    /// The hosts that are slow receivers.
    pub fn slow_hosts(&self, net: &Topology) -> BTreeMap<u32, &Receiver> {
        let hosts = |receiver: &'_ Receiver| self.network.hosts_called(&receiver.hosts, net);
        let all = self.receivers.iter();
        all.flat_map(|own| hosts(own).into_iter().map(move |host| (host, own))).collect()
    }
}

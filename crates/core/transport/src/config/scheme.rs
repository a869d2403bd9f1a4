//! The settings that differ between the schemes of a host.

use incast_cc::Span;

use super::{Config, InitialTimeout};
use crate::signal::Signal;

/// The settings that connections under one scheme share, where a host has several. The others are
/// those of [`Config`], whatever the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeConfig {
    /// The traffic class of ACKs and reports ([`Config::ack_class`]).
    pub ack_class: Option<u8>,
    /// The most that is added to the turnaround of ACKs ([`Config::ack_jitter`]).
    pub ack_jitter: Span,
    /// The retransmission timeout before the first RTT sample.
    pub rto_initial: InitialTimeout,
    /// The least retransmission timeout.
    pub rto_min: Span,
    /// The longest timeout after back-off.
    pub rto_max: Span,
    /// The RTT signal that algorithms get.
    pub signal: Signal,
    /// Streams: whether segments say that switches may mark them.
    pub ect: bool,
    /// Streams: the number of segments that one ACK waits for.
    pub delayed_ack: u32,
    /// The least time between two notifications ([`Config::notification_interval`]).
    pub notification_interval: Option<Span>,
}

impl Config {
    /// The settings of connections under the scheme of the configuration itself.
    pub const fn scheme(&self) -> SchemeConfig {
        SchemeConfig {
            ack_class: self.ack_class,
            ack_jitter: self.ack_jitter,
            rto_initial: self.rto_initial,
            rto_min: self.rto_min,
            rto_max: self.rto_max,
            signal: self.signal,
            ect: self.stream.ect,
            delayed_ack: self.stream.delayed_ack,
            notification_interval: self.notification_interval,
        }
    }

    /// The configuration of connections under a scheme.
    pub(crate) fn under(&self, scheme: &SchemeConfig) -> Self {
        let SchemeConfig { ack_class, ack_jitter, rto_initial, rto_min, rto_max, signal, .. } =
            *scheme;
        let mut config =
            Self { ack_class, ack_jitter, rto_initial, rto_min, rto_max, signal, ..*self };
        (config.stream.ect, config.stream.delayed_ack) = (scheme.ect, scheme.delayed_ack);
        config
    }
}

//! What no real host can know: the queues on the way of each connection, at this instant.

use incast_cc::{Bytes, Rate, Span};

use super::switch::Switch;

/// The way of one connection's data.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// RTT without queues and without serialization at the sender.
    pub network_rtt: Span,
    /// Switch, port and rate of each queue.
    pub queues: Vec<(u32, u16, Rate)>,
}

/// Looks at the queues while they are: a run with an oracle has no parts that could run apart.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// For each host and connection whose data leaves there.
    pub ways: Vec<Vec<Way>>,
}

impl Oracle {
    /// The RTT that data of the connection of `host` would find now: that without queues,
    /// and the bottleneck's backlog over its rate.
    pub(crate) fn rtt(
        &self,
        (host, connection): (usize, u32),
        switches: &[Switch],
    ) -> Option<Span> {
        let way = self.ways[host].get(connection as usize)?;
        let waits = way.queues.iter().map(|&(switch, port, rate)| {
            let port = &switches[switch as usize].ports.behind()[port as usize];
            rate.time_for(Bytes::new(port.backlog_bytes()))
        });
        Some(way.network_rtt + waits.max()?)
    }
}

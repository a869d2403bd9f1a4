//! The oracle: the queues on the path of each connection at this instant, which no real host can
//! know.

use incast_cc::{Bytes, Rate, Span};

use super::switch::Switch;

/// The queues on the path of one connection's data.
#[derive(Clone, Debug, Default)]
pub struct QueuePath {
    /// The RTT without queues and without serialization at the sender.
    pub network_rtt: Span,
    /// The switch, the port and the rate of each queue.
    pub queues: Vec<(u32, u16, Rate)>,
}

/// The paths of all connections. The oracle looks at the queues of all switches, so a run that has
/// one is never split into domains.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The paths by host, and by connection whose data leaves there.
    pub paths: Vec<Vec<QueuePath>>,
}

impl Oracle {
    /// The RTT that data of the connection of `host` would find now: the RTT without queues, plus
    /// the bottleneck's backlog over its rate.
    pub(crate) fn rtt(
        &self,
        (host, connection): (usize, u32),
        switches: &[Switch],
    ) -> Option<Span> {
        let path = self.paths[host].get(connection as usize)?;
        let waits = path.queues.iter().map(|&(switch, port, rate)| {
            let port = &switches[switch as usize].ports.behind()[port as usize];
            rate.time_for(Bytes::new(port.backlog_bytes()))
        });
        Some(path.network_rtt + waits.max()?)
    }
}

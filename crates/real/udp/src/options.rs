//! The settings of a node.

use std::net::SocketAddr;
use std::time::Duration;

use incast_cc::timely::Timely;
use incast_cc::{AnyAlgorithm, Rate};

use crate::security::Security;
use crate::socket::Class;

/// The way in which a node waits for datagrams and send times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Sleeps until something comes, and wakes this long before a send time, to spin until then.
    /// Where the last wait for datagrams was as short, a node looks for so long before it sleeps.
    /// Longer times cost CPU and make pacing more exact and calls shorter; at zero a send or a
    /// reply is late by the time in which the machine wakes up, tens of microseconds.
    Sleep {
        /// The time of spinning before each send time, and before a sleep.
        spin: Duration,
    },
    /// Never sleeps: a CPU of its own, for the shortest delays.
    Spin,
}

/// The least MTU, that of IPv6.
pub(crate) const LEAST_MTU: u16 = 1_280;
/// The longest message that any node may receive, in bytes.
pub(crate) const MOST_MESSAGE: usize = u32::MAX as usize / 2;

/// The memory that a node takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The longest message that the node receives, in bytes.
    pub message: usize,
    /// The bytes that may wait to be sent or acknowledged to a peer; a post beyond is refused.
    pub outgoing: usize,
    /// The bytes that may wait to be sent or acknowledged to all peers together.
    pub outgoing_in_all: usize,
    /// The bytes of messages from one peer that are not whole, or that the application has not
    /// taken. What comes beyond is dropped, and sent again by the peer; but where the application has
    /// taken all that was delivered, the oldest short message and the oldest long one are taken in.
    pub incoming: usize,
    /// The bytes of all incoming messages together, for two of the longest at least.
    pub incoming_in_all: usize,
}

impl Memory {
    /// This memory, or more where messages of up to `most` bytes need it: each way two of them with
    /// a peer, and four in all.
    #[must_use]
    pub fn for_messages(self, most: usize) -> Self {
        let (two, four) = (most.saturating_mul(2), most.saturating_mul(4));
        Self {
            message: most,
            outgoing: self.outgoing.max(two),
            outgoing_in_all: self.outgoing_in_all.max(four),
            incoming: self.incoming.max(two),
            incoming_in_all: self.incoming_in_all.max(four),
        }
    }
}

/// The settings of a node.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to bind to.
    pub address: SocketAddr,
    /// Whether other nodes have the same address (`SO_REUSEPORT`): one for each core.
    pub shared: bool,
    /// The protection of connections, the same at both ends.
    pub security: Security,
    /// Whether other hosts may connect to the node.
    pub listens: bool,
    /// The congestion control of data.
    pub algorithm: AnyAlgorithm,
    /// The most that a connection sends.
    pub line_rate: Rate,
    /// The rate of the NIC: the algorithm's constants scale with it, and RTTs are without the time
    /// of a segment on its wire. [`None`] where sends leave at once, as on virtual links: constants
    /// scale with `line_rate` then, and RTTs are as the timestamps tell.
    pub nic_rate: Option<Rate>,
    /// The largest IP packet that the path takes for certain. Longer ones are tried, and used where
    /// they arrive.
    pub mtu: u16,
    /// The waiting between datagrams.
    pub waiting: Waiting,
    /// The class of long messages in the queues of host and network.
    pub data_class: Class,
    /// The class of short messages and of acknowledgements.
    pub urgent_class: Class,
    /// The longest message that counts as short: it does not wait behind long ones.
    pub short: usize,
    /// The bounds of memory.
    pub memory: Memory,
    /// The silence after which a peer counts as gone.
    pub patience: Duration,
    /// The bytes of each of the kernel's two buffers.
    pub buffer: usize,
    /// The most peers at a time.
    pub peers: usize,
}

impl Options {
    /// TIMELY that learns its path (its preset `auto`), sleeping, and a peer counts as gone after
    /// 15 s.
    pub fn at(address: SocketAddr, security: Security) -> Self {
        Self {
            address,
            shared: false,
            security,
            listens: true,
            algorithm: timely_auto(),
            line_rate: Rate::from_gbps(40),
            nic_rate: None,
            mtu: 1_500,
            waiting: Waiting::Sleep { spin: Duration::from_micros(60) },
            data_class: Class { dscp: 0, priority: 0 },
            urgent_class: Class { dscp: 18, priority: 6 },
            short: 8 << 10,
            memory: Memory {
                message: 64 << 20,
                outgoing: 128 << 20,
                outgoing_in_all: 1 << 30,
                incoming: 128 << 20,
                incoming_in_all: 1 << 30,
            },
            patience: Duration::from_secs(15),
            buffer: 4 << 20,
            peers: 10_000,
        }
    }
}

/// TIMELY with its preset `auto`.
fn timely_auto() -> AnyAlgorithm {
    let mut timely = AnyAlgorithm::Timely(Timely::default());
    let applied = timely.apply_preset("auto");
    debug_assert!(applied.is_ok(), "{applied:?}");
    timely
}

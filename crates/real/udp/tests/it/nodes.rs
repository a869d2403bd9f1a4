//! Nodes for tests, and what they send.

use std::net::{SocketAddr, UdpSocket};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_udp::security::Security;
use incast_udp::socket::Features;
use incast_udp::{Event, Node, Options};

/// The features of this machine.
pub(crate) fn features() -> Features {
    static FEATURES: OnceLock<Features> = OnceLock::new();
    *FEATURES.get_or_init(|| Features::probe().unwrap())
}

/// The settings of a node on the loopback device.
pub(crate) fn options(security: Security) -> Options {
    Options::at("127.0.0.1:0".parse().unwrap(), security)
}

/// A node on the loopback device.
pub(crate) fn node(security: Security) -> Node {
    Node::open(options(security), features()).unwrap()
}

/// An address at which nobody is.
pub(crate) fn local() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A message of a length, different for each number.
pub(crate) fn body(number: u64, length: usize) -> Bytes {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes.into()
}

/// Runs two nodes until `sees` returns true, which gets each event with whether it is the first
/// node's.
pub(crate) fn turn_both(
    first: &mut Node,
    second: &mut Node,
    sees: impl FnMut(bool, &mut Node, Event) -> bool,
) {
    let end = Instant::now() + Duration::from_secs(60);
    assert!(until(first, second, end, sees), "nothing more came in a minute");
}

/// Runs two nodes until `sees` returns true or the time is over; returns whether it did.
pub(crate) fn until(
    first: &mut Node,
    second: &mut Node,
    end: Instant,
    mut sees: impl FnMut(bool, &mut Node, Event) -> bool,
) -> bool {
    while Instant::now() < end {
        for at_first in [true, false] {
            let node = if at_first { &mut *first } else { &mut *second };
            let wait = Instant::now() + Duration::from_micros(200);
            node.turn(Some(wait), None).unwrap();
            while let Some(event) = node.poll_event() {
                if sees(at_first, node, event) {
                    return true;
                }
            }
        }
    }
    false
}

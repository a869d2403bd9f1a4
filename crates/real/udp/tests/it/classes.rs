//! The classes of a node's datagrams: acknowledgements and short messages are above long messages.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_udp::security::Security;
use incast_udp::socket::{MAX_RECEIVE_BYTES, Options, ReceiveBatch, SendBatch, Socket, Transmit};
use incast_udp::{Event, Node};

use crate::nodes::{features, node, options};

/// The DSCP of long messages, and that of all else.
const CLASSES: [u8; 2] = [10, 18];
/// The bytes of a datagram that is full of data.
const FULL: usize = 1_400;

/// Passes datagrams on, and notes the length and the DSCP of each.
struct Wire {
    /// The sockets towards the client and towards the server.
    sockets: [Socket; 2],
    client: Option<SocketAddr>,
    server: SocketAddr,
    batch: ReceiveBatch,
    /// The datagrams of the client and those of the server.
    seen: [Vec<(usize, u8)>; 2],
}

impl Wire {
    fn new(server: &Node) -> Self {
        let open =
            || Socket::open(&Options::at("127.0.0.1:0".parse().unwrap()), features()).unwrap();
        let batch = ReceiveBatch::new(16, MAX_RECEIVE_BYTES);
        let server = server.address().unwrap();
        Self { sockets: [open(), open()], client: None, server, batch, seen: [vec![], vec![]] }
    }

    fn turn(&mut self) {
        for side in 0..2 {
            self.sockets[side].receive(&mut self.batch).unwrap();
            let mut out = SendBatch::new(1, 1 << 16);
            for received in self.batch.iter() {
                if side == 0 {
                    self.client = Some(received.from);
                }
                let to = if side == 0 { self.server } else { self.client.unwrap() };
                for datagram in received.datagrams() {
                    self.seen[side].push((datagram.len(), received.dscp));
                    out.push(Transmit::to(to), datagram).unwrap();
                    self.sockets[1 - side].send(&mut out).unwrap();
                }
            }
        }
    }
}

#[test]
fn long_messages_are_in_a_class_below_short_ones_and_acknowledgements() {
    let mut of_client = options(Security::Plain);
    of_client.data_class.dscp = CLASSES[0];
    let mut client = Node::open(of_client, features()).unwrap();
    let mut server = node(Security::Plain);
    let mut wire = Wire::new(&server);
    let peer = client.connect(wire.sockets[0].address().unwrap(), None).unwrap();
    let messages = [100, 200_000].map(|bytes| client.note(peer, Bytes::from(vec![7; bytes])));
    let mut delivered = 0;
    let end = Instant::now() + Duration::from_secs(20);
    while delivered < messages.len() {
        assert!(Instant::now() < end, "{:?}", wire.seen);
        client.turn(None, None).unwrap();
        server.turn(None, None).unwrap();
        wire.turn();
        while let Some(event) = client.poll_event() {
            delivered += usize::from(matches!(event, Event::Delivered { .. }));
        }
        while server.poll_event().is_some() {}
    }
    let [of_client, of_server] = &wire.seen;
    // Probes of longer packets are as long as data, or longer, and few.
    let full = of_client.iter().filter(|(bytes, _)| (FULL..1_500).contains(bytes));
    let below = full.clone().filter(|(_, dscp)| *dscp == CLASSES[0]).count();
    assert!(below > 100 && full.count() - below < 10, "{of_client:?}");
    let answers = of_server.iter().filter(|(bytes, _)| *bytes < FULL);
    assert!(answers.clone().count() > 5 && answers.clone().all(|(_, dscp)| *dscp == CLASSES[1]));
    let short = of_client.iter().filter(|(bytes, _)| (100..200).contains(bytes));
    assert!(short.clone().any(|(_, dscp)| *dscp == CLASSES[1]), "{of_client:?}");
}

//! Nodes on paths of several MTUs: virtual Ethernet devices between network namespaces. The tests
//! need root, and say so where they are skipped.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use incast_udp::security::Security;
use incast_udp::{Event, Gone, Node, Options};

use crate::namespaces::{Namespaces, ip};
use crate::nodes::{body, features, turn_both, until};

/// Two namespaces with a link between them, or a path of two links with a router.
struct Path(Namespaces);

impl Path {
    /// Lays a path with the MTUs of its links, if that is possible here.
    fn new(tag: &str, mtus: &[u32]) -> Option<Self> {
        let laid = Namespaces::new(tag, mtus.len() + 1, |names| {
            let mut done = true;
            for ((ends, mtu), number) in names.windows(2).zip(mtus).zip(0..) {
                let [a, b] = ends else { continue };
                done =
                    done && ip(&format!(
                        "-n {a} link add r{number} mtu {mtu} type veth \
                         peer l{number} mtu {mtu} netns {b}"
                    )) && ip(&format!("-n {a} address add 10.78.{number}.1/24 dev r{number}"))
                        && ip(&format!("-n {b} address add 10.78.{number}.2/24 dev l{number}"))
                        && ip(&format!("-n {a} link set r{number} up"))
                        && ip(&format!("-n {b} link set l{number} up"));
            }
            if let [first, router, last] = names {
                done = done
                    && ip(&format!("-n {first} route add 10.78.1.0/24 via 10.78.0.2"))
                    && ip(&format!("-n {last} route add 10.78.0.0/24 via 10.78.1.1"))
                    && ip(&format!("netns exec {router} sysctl -qw net.ipv4.ip_forward=1"));
            }
            done
        });
        laid.map(Self)
    }

    /// The addresses of the two ends.
    fn addresses(&self) -> [SocketAddr; 2] {
        let last = self.0.names.len() - 2;
        ["10.78.0.1:7000".to_owned(), format!("10.78.{last}.2:7000")]
            .map(|text| text.parse().unwrap())
    }

    /// Opens a node at each end.
    fn nodes(&self, mtu: u16) -> [Node; 2] {
        // There is no loopback device in the namespaces.
        let features = features();
        let [a, b] = self.addresses();
        [(0, a), (self.0.names.len() - 1, b)].map(|(end, address)| {
            let mut options = Options::at(address, Security::Plain);
            options.mtu = mtu;
            self.0.inside(end, || Node::open(options, features).unwrap())
        })
    }
}

/// Sends messages one way; returns the longest datagram at the end.
fn carry(client: &mut Node, server: &mut Node, to: SocketAddr, wide: usize) -> usize {
    let peer = client.connect(to, None).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    let mut number = 0;
    let mut longest = 0;
    while Instant::now() < end && (longest < wide || number < 20) {
        number += 1;
        client.note(peer, body(number, 300_000)).unwrap();
        turn_both(client, server, |_, _, event| match event {
            Event::Noted { body: got, .. } => {
                assert!(got == body(number, 300_000));
                true
            }
            Event::Opened { .. } | Event::Delivered { .. } => false,
            event => panic!("{event:?}"),
        });
        longest = client.statistics(peer).unwrap().datagram;
    }
    longest
}

#[test]
fn messages_cross_links_of_both_sizes_and_jumbo_frames_are_found() {
    for (tag, mtu, expected) in [("ms", 1_500, 1_472), ("mj", 9_000, 8_972)] {
        let Some(path) = Path::new(tag, &[mtu]) else { return };
        let [mut client, mut server] = path.nodes(1_500);
        let longest = carry(&mut client, &mut server, path.addresses()[1], expected);
        assert_eq!(longest, expected, "MTU {mtu}");
        // A local device that is too narrow is known at once; nothing else was refused.
        assert!(client.counters().unsent <= 3, "{:?}", client.counters());
    }
}

#[test]
fn the_narrowest_link_of_a_path_counts() {
    let Some(path) = Path::new("mr", &[9_000, 5_000]) else { return };
    let [mut client, mut server] = path.nodes(1_500);
    let longest = carry(&mut client, &mut server, path.addresses()[1], 4_324);
    assert_eq!(longest, 4_324);
}

#[test]
fn a_path_below_the_promised_mtu_is_named() {
    // The device of the node itself, and a link behind a router.
    for (tag, mtus, most) in [("md", &[1_400][..], 3_500), ("mb", &[9_000, 1_400][..], 8_000)] {
        let Some(path) = Path::new(tag, mtus) else { return };
        let [mut client, mut server] = path.nodes(1_500);
        let address = path.addresses()[1];
        let peer = client.connect(address, None).unwrap();
        let call = client.call(peer, body(1, 100_000), None).unwrap();
        let (mut failed, mut gone) = (None, None);
        let start = Instant::now();
        let end = start + Duration::from_secs(15);
        until(&mut client, &mut server, end, |at_client, _, event| {
            match (at_client, event) {
                (true, Event::Failed { call, why }) => failed = Some((call, why)),
                (true, Event::Gone { why, .. }) => gone = Some(why),
                (_, Event::Opened { .. } | Event::Gone { .. }) => {}
                (_, event) => panic!("{event:?}"),
            }
            gone.is_some()
        });
        let narrow = Gone::Narrow { address, mtu: 1_500 };
        assert_eq!((failed, gone), (Some((call, narrow)), Some(narrow)), "{tag}");
        assert!(start.elapsed() < Duration::from_millis(most), "{tag} {:?}", start.elapsed());
        assert!(narrow.to_string().contains("IP packets of 1500 B"), "{narrow}");
    }
}

#[test]
fn a_path_that_becomes_narrower_is_noticed() {
    let Some(path) = Path::new("mn", &[9_000, 9_000]) else { return };
    let [mut client, mut server] = path.nodes(1_500);
    let address = path.addresses()[1];
    assert_eq!(carry(&mut client, &mut server, address, 8_972), 8_972);
    let peer = client.peers().next().unwrap();
    for (place, device) in [(1, "r1"), (2, "l1")] {
        assert!(ip(&format!("-n {} link set {device} mtu 1500", path.0.names[place])));
    }
    // Packets that are sent again leave alone, so a message may come whole before that.
    for number in 1..=5 {
        client.note(peer, body(number, 300_000)).unwrap();
        turn_both(&mut client, &mut server, |_, _, event| matches!(event, Event::Noted { .. }));
        if client.statistics(peer).unwrap().datagram == 1_472 {
            return;
        }
    }
    panic!("{:?}", client.statistics(peer));
}

//! An address that has not proved that it receives gets no more than three times the bytes that
//! came from it, whatever they are.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use incast_udp::security::{End, Handshake, PeerKey, Security, Step, fresh_id};
use incast_udp::wire::{COOKIE_BYTES, ConnectionId, Frame, Opening, Probe, Refusal, VERSION};
use incast_udp::{Event, Node};

use crate::connect::{MODES, protection};
use crate::damage::{Random, damage};
use crate::forger::Forger;
use crate::nodes::{body, node, options};

/// Sends a datagram from an address of its own, and returns the bytes that it gets for it.
fn answered(server: &mut Node, datagram: &[u8], time: Duration) -> usize {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.send_to(datagram, server.address().unwrap()).unwrap();
    let (mut room, mut bytes) = (vec![0; 65_536], 0);
    let end = Instant::now() + time;
    loop {
        server.turn(None, None).unwrap();
        while server.poll_event().is_some() {}
        while let Ok((got, _)) = socket.recv_from(&mut room) {
            bytes += got;
        }
        if Instant::now() >= end {
            return bytes;
        }
    }
}

/// A first datagram of each kind from an address that is new.
fn openings(security: &Security, key: Option<PeerKey>) -> Vec<Vec<u8>> {
    let end = End::new(security.clone(), &[0; 8]);
    let to = "127.0.0.1:9".parse().unwrap();
    let handshake = Handshake::initiate(&end, to, key, fresh_id().unwrap()).unwrap();
    let (to, cookie) = (ConnectionId(9), [5; COOKIE_BYTES]);
    let mut other_version = handshake.hello().to_vec();
    other_version[0] = 77;
    let sealed = [&[VERSION, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9][..], &[7; 40]].concat();
    vec![
        handshake.hello().to_vec(),
        other_version,
        Opening::Retry { to, cookie }.to_vec(),
        Opening::Welcome { to, message: &[1; 80] }.to_vec(),
        Opening::Unknown { id: to, number: 3 }.to_vec(),
        Opening::Refused { to, reason: Refusal::Key }.to_vec(),
        sealed[..28].to_vec(),
        sealed,
    ]
}

#[test]
fn a_new_address_gets_no_more_than_it_has_sent() {
    let mut random = Random(4);
    for (here, there, key) in MODES.map(protection) {
        let mut server = node(there);
        let datagrams = openings(&here, key);
        let mut answers = 0;
        for datagram in &datagrams {
            let bytes = answered(&mut server, datagram, Duration::from_millis(5));
            assert!(bytes <= datagram.len(), "{bytes} B for {datagram:?}");
            answers += usize::from(bytes > 0);
        }
        assert!(answers >= 3, "{answers} of them are answered");
        for _ in 0..2_000 {
            let mut datagram = datagrams[random.below(datagrams.len())].clone();
            damage(&mut random, &mut datagram, &datagrams[0]);
            let bytes = answered(&mut server, &datagram, Duration::ZERO);
            assert!(bytes <= datagram.len(), "{bytes} B for {datagram:?}");
        }
        assert_eq!(server.peers().count(), 0);
    }
}

/// A cookie proves the address that it was sent to, and no other one.
#[test]
fn a_cookie_from_elsewhere_opens_nothing() {
    let mut server = node(Security::Plain);
    let to = server.address().unwrap();
    let end = End::new(Security::Plain, &[0; 8]);
    let mut handshake = Handshake::initiate(&end, to, None, fresh_id().unwrap()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.send_to(handshake.hello(), to).unwrap();
    for _ in 0..5 {
        server.turn(Some(Instant::now() + Duration::from_millis(2)), None).unwrap();
    }
    let mut room = [0; 2_000];
    let (bytes, _) = socket.recv_from(&mut room).unwrap();
    assert!(matches!(handshake.on_datagram(&room[..bytes]), Ok(Step::Send)));
    let hello = handshake.hello().to_vec();
    let bytes = answered(&mut server, &hello, Duration::from_millis(20));
    assert!(bytes <= hello.len() && server.peers().count() == 0, "{bytes} B");
}

/// Somebody on the way sends datagrams of a connection on under another address, again and again.
#[test]
fn an_address_from_which_datagrams_of_a_connection_come_gets_probes_alone() {
    let mut options = options(Security::Plain);
    options.patience = Duration::from_secs(60);
    let mut server = Node::open(options, crate::nodes::features()).unwrap();
    let mut forger = Forger::connect(&mut server);
    forger.send(&[Frame::Probe(Probe { id: 1 })]);
    let mut peer = None;
    while peer.is_none() {
        server.turn(None, None).unwrap();
        if let Some(Event::Opened { peer: id, .. }) = server.poll_event() {
            peer = Some(id);
        }
    }
    let address = forger.socket.local_addr().unwrap();
    for number in 0..20 {
        server.note(peer.unwrap(), body(number, 1_000_000)).unwrap();
    }
    let (mut sent, mut got) = (0, 0);
    for _ in 0..300 {
        let datagram = forger.seal(&[6, 0, 0, 0, 0, 0]);
        sent += datagram.len();
        got += answered(&mut server, &datagram, Duration::from_millis(1));
        assert!(got <= 3 * sent, "{got} B for {sent} B");
    }
    assert!(got > 0);
    assert_eq!(server.statistics(peer.unwrap()).unwrap().address, address);
}

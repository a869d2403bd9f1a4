//! A peer that holds a session and sends what it likes.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use incast_udp::Node;
use incast_udp::security::{End, Handshake, Security, Session, Step, fresh_id};
use incast_udp::wire::{Frame, Frames};

use crate::connect::seal;
use crate::frames::encode;

/// A peer that follows no rules.
pub(crate) struct Forger {
    pub(crate) socket: UdpSocket,
    pub(crate) session: Session,
    to: SocketAddr,
}

impl Forger {
    /// Opens a connection without protection to a node, which takes its turns meanwhile.
    pub(crate) fn connect(node: &mut Node) -> Self {
        Self::connect_from("127.0.0.1:0", node)
    }

    /// Opens a connection as [`connect`](Self::connect) does, from an address.
    pub(crate) fn connect_from(address: &str, node: &mut Node) -> Self {
        Self::connect_to(node.address().unwrap(), address, || node.turn(None, None).unwrap())
    }

    /// Opens a connection to a server, which `turn` keeps going, from an address.
    pub(crate) fn connect_to(to: SocketAddr, address: &str, mut turn: impl FnMut()) -> Self {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let end = End::new(Security::Plain, &(1_u64 << 24).to_be_bytes());
        let mut handshake = Handshake::initiate(&end, to, None, fresh_id().unwrap()).unwrap();
        socket.send_to(handshake.hello(), to).unwrap();
        let mut room = [0; 2_000];
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            turn();
            let Ok((bytes, _)) = socket.recv_from(&mut room) else { continue };
            match handshake.on_datagram(&room[..bytes]).unwrap() {
                Step::Nothing => {}
                Step::Send => {
                    socket.send_to(handshake.hello(), to).unwrap();
                }
                Step::Done(opened) => return Self { socket, session: opened.session, to },
            }
        }
        panic!("no connection in ten seconds");
    }

    /// A datagram with this content.
    pub(crate) fn seal(&mut self, content: &[u8]) -> Vec<u8> {
        seal(&mut self.session, content)
    }

    /// Sends a datagram with these frames.
    pub(crate) fn send(&mut self, frames: &[Frame<'_>]) {
        let content = encode(frames);
        let datagram = self.seal(&content);
        self.socket.send_to(&datagram, self.to).unwrap();
    }

    /// Takes the frames of what has come as the caller likes; returns the datagrams and their bytes.
    pub(crate) fn receive(&mut self, mut takes: impl FnMut(&Frame<'_>)) -> (usize, usize) {
        let (mut room, mut got) = (vec![0; 65_536], (0, 0));
        while let Ok((bytes, _)) = self.socket.recv_from(&mut room) {
            got = (got.0 + 1, got.1 + bytes);
            if let Ok(content) = self.session.open(&mut room[..bytes]) {
                Frames::of(content).flatten().for_each(|frame| takes(&frame));
            }
        }
        got
    }
}

//! A relay between two nodes that treats datagrams badly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::damage::Random;

/// The shares of datagrams that something happens to, in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chaos {
    pub(crate) lost: usize,
    pub(crate) doubled: usize,
    /// Later ones overtake them.
    pub(crate) delayed: usize,
    pub(crate) damaged: usize,
    pub(crate) truncated: usize,
}

impl Chaos {
    /// A loss of up to 30 %, and some of all else.
    pub(crate) fn draw(random: &mut Random) -> Self {
        Self {
            lost: random.below(301),
            doubled: random.below(101),
            delayed: random.below(151),
            damaged: random.below(51),
            truncated: random.below(31),
        }
    }
}

/// A datagram on its way: the time at which it goes on, its number, the side that it goes to.
type Held = Reverse<(Instant, u64, usize, Vec<u8>)>;

/// A relay: the client has its address for that of the server.
pub(crate) struct Relay {
    /// The sockets towards the client and towards the server.
    sockets: [UdpSocket; 2],
    /// The addresses of both, where they are known.
    ends: [Option<SocketAddr>; 2],
    pub(crate) random: Random,
    pub(crate) chaos: Chaos,
    held: BinaryHeap<Held>,
    count: u64,
    buffer: Vec<u8>,
}

impl Relay {
    pub(crate) fn new(server: SocketAddr, seed: u64) -> Self {
        let sockets = [(); 2].map(|()| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20).unwrap();
            socket
        });
        Self {
            sockets,
            ends: [None, Some(server)],
            random: Random(seed),
            chaos: Chaos::default(),
            held: BinaryHeap::new(),
            count: 0,
            buffer: vec![0; 65_536],
        }
    }

    /// The address for the client.
    pub(crate) fn address(&self) -> SocketAddr {
        self.sockets[0].local_addr().unwrap()
    }

    /// Passes on what there is.
    pub(crate) fn turn(&mut self) {
        let now = Instant::now();
        for side in 0..2 {
            for _ in 0..256 {
                let Ok((bytes, from)) = self.sockets[side].recv_from(&mut self.buffer) else {
                    break;
                };
                if side == 0 {
                    self.ends[0] = Some(from);
                }
                self.treat(now, 1 - side, bytes);
            }
        }
        while self.held.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, _, to, datagram))) = self.held.pop() else { break };
            if let Some(end) = self.ends[to] {
                // A buffer that is full loses it.
                drop(self.sockets[to].send_to(&datagram, end));
            }
        }
    }

    fn treat(&mut self, now: Instant, to: usize, bytes: usize) {
        let Chaos { lost, doubled, delayed, damaged, truncated } = self.chaos;
        let random = &mut self.random;
        let mut happens = |share: usize| random.below(1_000) < share;
        if happens(lost) {
            return;
        }
        let [doubled, delayed, damaged, truncated] =
            [doubled, delayed, damaged, truncated].map(&mut happens);
        let mut datagram = self.buffer[..bytes].to_vec();
        if damaged && bytes > 0 {
            for _ in 0..=random.below(3) {
                datagram[random.below(bytes)] ^= 1 + random.bits().to_be_bytes()[0] % 255;
            }
        }
        if truncated {
            datagram.truncate(random.below(bytes + 1));
        }
        for copy in 0..=u64::from(doubled) {
            let late = if delayed || copy > 0 { random.below(3_000) } else { 0 };
            let at = now + Duration::from_micros(late as u64);
            self.count += 1;
            self.held.push(Reverse((at, self.count, to, datagram.clone())));
        }
    }
}

//! Transfers of quinn through a bottleneck, in simulated time.

use std::collections::VecDeque;

use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use quinn_proto::{Dir, EcnCodepoint, StreamId, TransportConfig};

use super::*;
use crate::memory::{Datagram, End, ends, quiet};

const DELAY: Duration = Duration::from_micros(50);
const RATE: u64 = 100_000_000;
/// The queue's room, in time, before it drops.
const ROOM: Duration = Duration::from_millis(8);
/// The wait from which on datagrams are marked.
const MARKED: Duration = Duration::from_millis(1);

/// A client that sends `bytes` to a server through a link of 100 Mb/s with a queue.
struct World {
    ends: [End; 2],
    /// The datagrams on the way to each end, with their times of arrival.
    under_way: [VecDeque<(Instant, Datagram)>; 2],
    /// The time at which the link is free.
    free: Instant,
    now: Instant,
    start: Instant,
    dropped: u32,
    marked: u32,
    /// Whether the queue marks.
    marks: bool,
    stream: Option<StreamId>,
    to_write: usize,
    read: usize,
}

impl World {
    fn new(transport: TransportConfig, bytes: usize) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any instant will do")]
        let start = Instant::now();
        let (client, server) = ends(start, transport);
        Self {
            ends: [client, server],
            under_way: [VecDeque::new(), VecDeque::new()],
            free: start,
            now: start,
            start,
            dropped: 0,
            marked: 0,
            marks: true,
            stream: None,
            to_write: bytes,
            read: 0,
        }
    }

    /// Runs until all is read, and returns the time it took.
    fn run(&mut self) -> Duration {
        let bytes = self.to_write;
        while self.read < bytes {
            self.write();
            self.send();
            let arrivals = self.under_way.iter().filter_map(|way| Some(way.front()?.0));
            let timers: Vec<_> = self
                .ends
                .iter_mut()
                .filter_map(|end| end.connection().and_then(quinn_proto::Connection::poll_timeout))
                .collect();
            let next = arrivals.chain(timers).min().unwrap();
            self.now = self.now.max(next);
            assert!(
                self.now - self.start < Duration::from_secs(60),
                "{} of {bytes} B after a minute: {:?}",
                self.read,
                self.ends[0].connection().unwrap().stats().path,
            );
            for (end, way) in self.ends.iter_mut().zip(&mut self.under_way) {
                while way.front().is_some_and(|(arrival, _)| *arrival <= self.now) {
                    let (_, datagram) = way.pop_front().unwrap();
                    end.receive(self.now, datagram);
                }
                if let Some(connection) = end.connection() {
                    connection.handle_timeout(self.now);
                }
            }
            self.read();
        }
        self.now - self.start
    }

    fn write(&mut self) {
        let connection = self.ends[0].connection().unwrap();
        if connection.is_handshaking() {
            return;
        }
        let stream =
            *self.stream.get_or_insert_with(|| connection.streams().open(Dir::Uni).unwrap());
        let chunk = vec![0; self.to_write.min(1 << 16)];
        while self.to_write > 0 {
            let part = &chunk[..chunk.len().min(self.to_write)];
            let Ok(written) = connection.send_stream(stream).write(part) else { break };
            self.to_write -= written;
        }
    }

    fn send(&mut self) {
        while let Some(mut datagram) = self.ends[0].send(self.now) {
            let wait = self.free.saturating_duration_since(self.now);
            if wait > ROOM {
                self.dropped += 1;
                continue;
            }
            if self.marks && wait > MARKED && datagram.ecn.is_some() {
                datagram.ecn = Some(EcnCodepoint::Ce);
                self.marked += 1;
            }
            let time = Duration::from_nanos(datagram.bytes.len() as u64 * 8_000_000_000 / RATE);
            self.free = self.free.max(self.now) + time;
            self.under_way[1].push_back((self.free + DELAY, datagram));
        }
        while let Some(datagram) = self.ends[1].send(self.now) {
            self.under_way[0].push_back((self.now + DELAY, datagram));
        }
    }

    fn read(&mut self) {
        let Some(connection) = self.ends[1].connection() else { return };
        while connection.streams().accept(Dir::Uni).is_some() {}
        let Some(stream) = self.stream else { return };
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.read += chunk.bytes.len();
        }
        let _ = chunks.finalize();
    }
}

fn transport(name: &str) -> TransportConfig {
    let algorithm = AnyAlgorithm::named(name).unwrap();
    let mut config = quiet();
    let settings = Settings::new(incast_cc::Rate::from_mbps(100));
    let start = move |flow: &Flow| algorithm.start(flow);
    config.congestion_controller_factory(Arc::new(Factory::new(settings, start)));
    config
}

/// The RTT is 0.2 ms, 2 datagrams at 100 Mb/s. What asks for less has the least window of two,
/// which makes 64 Mb/s: the link idles while the second one is acknowledged.
#[test]
fn every_algorithm_carries_data_under_quinn_and_those_of_losses_fill_the_link() {
    for name in NAMES {
        let mut world = World::new(transport(name), 5_000_000);
        let goodput = 40.0 / world.run().as_secs_f64();
        assert!(goodput > 60.0, "{name}: {goodput:.1} Mb/s");
        if ["newreno", "cubic", "dctcp", "bbr"].contains(name) {
            assert!(goodput > 95.0, "{name}: {goodput:.1} Mb/s");
        }
        if *name == "dctcp" {
            assert!(world.marked > 0 && world.dropped == 0, "it answers marks");
        }
    }
}

#[test]
fn losses_are_told_of_and_answered() {
    let mut config = transport("newreno");
    config.initial_rtt(Duration::from_millis(1));
    let mut world = World::new(config, 5_000_000);
    world.marks = false;
    let goodput = 40.0 / world.run().as_secs_f64();
    assert!(world.dropped > 0, "slow start fills the queue");
    assert!(world.dropped < 300, "and halves the window then: {}", world.dropped);
    assert!(goodput > 90.0, "{goodput:.1} Mb/s");
}

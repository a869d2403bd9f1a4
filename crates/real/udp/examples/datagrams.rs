//! Datagrams per second over the loopback device: batches of this crate against a bare loop of
//! `send_to` and `recv_from`, in turn.
//!
//! `cargo run --release -p incast-udp --example datagrams [SECONDS] [ROUNDS]`

#![expect(clippy::print_stdout, reason = "an example prints")]

#[cfg(target_os = "linux")]
fn main() -> linux::Result<()> {
    linux::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("incast-udp is for Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use incast_udp::socket::{Features, Options, ReceiveBatch, SendBatch, Socket, Transmit};
    use std::error::Error;
    use std::io::ErrorKind::WouldBlock;
    use std::net::{SocketAddr, UdpSocket};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;
    use std::time::{Duration, Instant};

    pub(super) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

    /// A way to send: its name, datagrams in a send, whether sends ask for stamps.
    const WAYS: [(&str, usize, bool); 3] =
        [("sendmmsg, recvmmsg", 1, false), ("segments", 44, false), ("segments, stamps", 44, true)];

    pub(super) fn run() -> Result<()> {
        let mut arguments = std::env::args().skip(1);
        let seconds: f64 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
        let rounds: usize = arguments.next().map_or(Ok(3), |text| text.parse())?;
        let features = Features::probe()?;
        features.missing().for_each(|sentence| println!("{sentence}"));
        let time = Duration::from_secs_f64(seconds);
        for bytes in [64, 1_448] {
            println!("\n{bytes} B, thousands of datagrams received per second in each round");
            let mut rates = vec![vec![]; WAYS.len() + 1];
            for _ in 0..rounds {
                rates[0].push(bare(bytes, time)?);
                for (way, rates) in WAYS.iter().zip(&mut rates[1..]) {
                    rates.push(batched(bytes, way.1, way.2, features, time)?);
                }
            }
            let names = std::iter::once("send_to, recv_from").chain(WAYS.map(|way| way.0));
            for (name, mut rates) in names.zip(rates) {
                rates.sort_by(f64::total_cmp);
                let each: Vec<_> = rates.iter().map(|rate| format!("{:.0}", rate / 1e3)).collect();
                println!("{name:20} median {:>6}: {}", each[each.len() / 2], each.join(" "));
            }
        }
        Ok(())
    }

    /// Received datagrams per second of a thread that receives while this one sends.
    fn race(
        time: Duration,
        mut send: impl FnMut() -> Result<()>,
        mut receive: impl FnMut() -> Result<usize> + Send,
    ) -> Result<f64> {
        let ends = AtomicBool::new(false);
        let start = Instant::now();
        thread::scope(|scope| {
            let receiver = scope.spawn(|| -> Result<usize> {
                let mut count = 0;
                while !ends.load(Relaxed) {
                    count += receive()?;
                }
                Ok(count)
            });
            let mut result = Ok(());
            while start.elapsed() < time && result.is_ok() {
                result = send();
            }
            let seconds = start.elapsed().as_secs_f64();
            ends.store(true, Relaxed);
            let count = receiver.join().map_err(|_| "the receiver panicked")??;
            result.map(|()| count as f64 / seconds)
        })
    }

    fn bare(bytes: usize, time: Duration) -> Result<f64> {
        let [from, to] = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
        to.set_read_timeout(Some(Duration::from_millis(10)))?;
        socket2::SockRef::from(&to).set_recv_buffer_size(4 << 20)?;
        let address: SocketAddr = to.local_addr()?;
        let (data, mut buffer) = (vec![1; bytes], [0; 2_000]);
        let receive = || match to.recv_from(&mut buffer) {
            Err(error) if error.kind() == WouldBlock => Ok(0),
            got => Ok(got.map(|_| 1)?),
        };
        race(time, || Ok(from.send_to(&data, address).map(|_| ())?), receive)
    }

    fn batched(
        bytes: usize,
        datagrams: usize,
        stamps: bool,
        features: Features,
        time: Duration,
    ) -> Result<f64> {
        let open = || Socket::open(&Options::at(([127, 0, 0, 1], 0).into()), features);
        let (mut from, mut to) = (open()?, open()?);
        let stamp = stamps.then_some(7);
        let segment = Some(u16::try_from(bytes)?);
        let transmit = Transmit { segment, stamp, ..Transmit::to(to.address()?) };
        let sends = if datagrams > 1 { 4 } else { 64 };
        let (mut out, mut batch) =
            (SendBatch::new(sends, sends * datagrams * bytes), ReceiveBatch::new(32, 65_535));
        let data = vec![1; datagrams * bytes];
        let receive = || {
            if to.receive(&mut batch)? == 0 {
                to.wait(Some(Duration::from_millis(10)))?;
            }
            Ok(batch.iter().map(|got| got.datagrams().count()).sum())
        };
        let send = || {
            while out.push(transmit, &data).is_ok() {}
            from.send(&mut out)?;
            from.sent_stamps(|_| ())?;
            Ok(())
        };
        race(time, send, receive)
    }
}

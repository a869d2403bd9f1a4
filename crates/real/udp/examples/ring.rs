//! `io_uring` beside plain system calls over the loopback device, in turn: 64 B back and forth one
//! at a time, and sends of 64 KB that the kernel cuts (`UDP_SEGMENT`).
//!
//! `cargo run --release -p incast-udp --example ring [SECONDS] [ROUNDS]`

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
    #![expect(unsafe_code, reason = "a ring takes pointers, which stay valid until it is done")]

    use incast_udp::place;
    use io_uring::squeue::{Entry, Flags};
    use io_uring::{IoUring, opcode, types};
    use std::error::Error;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;
    use std::time::{Duration, Instant};

    pub(super) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

    /// The datagrams of a long send, and their length.
    const CUT: (usize, i32) = (44, 1_448);
    /// The long sends that are under way in a ring.
    const UNDER_WAY: u32 = 8;

    pub(super) fn run() -> Result<()> {
        let mut arguments = std::env::args().skip(1);
        let seconds: f64 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
        let rounds: usize = arguments.next().map_or(Ok(9), |text| text.parse())?;
        let time = Duration::from_secs_f64(seconds);
        let mut found: [Vec<f64>; 6] = Default::default();
        for _ in 0..rounds {
            let calls = [echoes(time, false)?, echoes(time, true)?];
            let sends = [sends(time, false)?, sends(time, true)?];
            let cpu = [sends[0].1, sends[1].1];
            let all = [calls[0], calls[1], sends[0].0, sends[1].0, cpu[0], cpu[1]];
            found.iter_mut().zip(all).for_each(|(found, one)| found.push(one));
        }
        let [calls, rings, sent, rung, cpu, cpu_of_ring] = found.map(median);
        println!("64 B back and forth, us: calls {calls:.2}, io_uring {rings:.2}");
        println!("64 KB sends, Gb/s: calls {sent:.1}, io_uring {rung:.1}");
        println!("their CPU time, us a send: calls {cpu:.1}, io_uring {cpu_of_ring:.1}");
        Ok(())
    }

    /// Submits what is there, and waits until so many are done. A signal ends no wait.
    fn waits(ring: &mut IoUring, done: usize) -> Result<()> {
        loop {
            match ring.submit_and_wait(done) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                submitted => return Ok(submitted.map(|_| ())?),
            }
        }
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Two sockets that are connected with each other.
    fn pair() -> Result<[UdpSocket; 2]> {
        let both = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
        both[0].connect(both[1].local_addr()?)?;
        both[1].connect(both[0].local_addr()?)?;
        for socket in &both {
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        }
        Ok(both)
    }

    /// The time of a datagram there and back in microseconds, with calls or rings at both ends.
    fn echoes(time: Duration, rings: bool) -> Result<f64> {
        let [here, there] = pair()?;
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let echo = scope.spawn(|| -> Result<()> {
                let mut ring = IoUring::new(8)?;
                let mut data = [0; 64];
                there.recv(&mut data)?;
                while !over.load(Relaxed) {
                    if rings {
                        exchange(&mut ring, &there, &mut data)?;
                    } else {
                        there.send(&data)?;
                        if there.recv(&mut data).is_err() {
                            break;
                        }
                    }
                }
                Ok(())
            });
            let mut ring = IoUring::new(8)?;
            let (start, mut data, mut count) = (Instant::now(), [7; 64], 0_u32);
            while start.elapsed() < time {
                if rings {
                    exchange(&mut ring, &here, &mut data)?;
                } else {
                    here.send(&data)?;
                    here.recv(&mut data)?;
                }
                count += 1;
            }
            let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(count);
            over.store(true, Relaxed);
            // The echo waits for one more.
            here.send(&data)?;
            echo.join().map_err(|_| "the echo panicked")??;
            Ok(each)
        })
    }

    /// Sends a datagram and receives the next by one system call.
    fn exchange(ring: &mut IoUring, socket: &UdpSocket, data: &mut [u8; 64]) -> Result<()> {
        let at = types::Fd(socket.as_raw_fd());
        let length = u32::try_from(data.len())?;
        let send = opcode::Send::new(at, data.as_ptr(), length).build().flags(Flags::IO_LINK);
        let receive = opcode::Recv::new(at, data.as_mut_ptr(), length).build();
        push(ring, &send)?;
        push(ring, &receive)?;
        waits(ring, 2)?;
        ring.completion().for_each(drop);
        Ok(())
    }

    fn push(ring: &mut IoUring, entry: &Entry) -> Result<()> {
        // SAFETY: the caller waits for the completion before it lets go of the memory.
        unsafe { ring.submission().push(entry) }?;
        Ok(())
    }

    /// The rate of long sends in Gb/s, and the CPU time of each in microseconds.
    fn sends(time: Duration, rings: bool) -> Result<(f64, f64)> {
        let [from, to] = pair()?;
        let (count, cut) = CUT;
        set(&from, libc::SOL_UDP, libc::UDP_SEGMENT, cut)?;
        // What was cut comes together, and buffers are long, as in a node.
        set(&to, libc::SOL_UDP, libc::UDP_GRO, 1)?;
        set(&from, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 << 20)?;
        set(&to, libc::SOL_SOCKET, libc::SO_RCVBUF, 4 << 20)?;
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut data = vec![0; 1 << 16];
                while !over.load(Relaxed) {
                    to.recv(&mut data).ok();
                }
            });
            let data = vec![7; count * usize::try_from(cut)?];
            let (start, cpu) = (Instant::now(), place::cpu_time());
            let sent = if rings {
                ring_sends(&from, &data, time)?
            } else {
                let mut sent = 0_u32;
                while start.elapsed() < time {
                    from.send(&data)?;
                    sent += 1;
                }
                sent
            };
            let (took, cpu) = (start.elapsed(), place::cpu_time().saturating_sub(cpu));
            over.store(true, Relaxed);
            let bits = f64::from(sent) * data.len() as f64 * 8.0;
            let each = cpu.as_secs_f64() * 1e6 / f64::from(sent);
            Ok((bits / took.as_secs_f64() / 1e9, each))
        })
    }

    /// Sets an option of a socket.
    fn set(socket: &UdpSocket, level: i32, option: i32, value: i32) -> Result<()> {
        // SAFETY: the kernel reads an integer of the length that is given.
        let done = unsafe {
            let length = u32::try_from(size_of::<i32>())?;
            let value = (&raw const value).cast();
            libc::setsockopt(socket.as_raw_fd(), level, option, value, length)
        };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
    }

    /// Long sends by a ring, several at a time; returns their number.
    fn ring_sends(from: &UdpSocket, data: &[u8], time: Duration) -> Result<u32> {
        let mut ring = IoUring::new(UNDER_WAY)?;
        let at = types::Fd(from.as_raw_fd());
        let send = opcode::Send::new(at, data.as_ptr(), u32::try_from(data.len())?).build();
        let (start, mut sent, mut free) = (Instant::now(), 0, UNDER_WAY);
        while start.elapsed() < time || free < UNDER_WAY {
            let most = if start.elapsed() < time { free } else { 0 };
            for _ in 0..most {
                push(&mut ring, &send)?;
            }
            free -= most;
            waits(&mut ring, 1)?;
            for completion in ring.completion() {
                if completion.result() < 0 {
                    return Err(std::io::Error::from_raw_os_error(-completion.result()).into());
                }
                (sent, free) = (sent + 1, free + 1);
            }
        }
        Ok(sent)
    }
}

//! The load of a fleet: a thousand times attached and detached under load, ten thousand short
//! connections, loaders that are killed. No socket hangs, no byte is lost, and the machine is
//! afterwards in its state before.

use std::collections::HashSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use incast_kernel::algorithm::Algorithm;
use incast_kernel::lab::load::choose;
use libbpf_rs::query::{MapInfoIter, ProgInfoIter};

/// The name that comes and goes.
const NAME: &str = "incast_stress";
/// The name that stays attached, and carries the short connections.
const STAYS: &str = "incast_stays";
const ROUNDS: usize = 1_000;
const CONNECTIONS: usize = 10_000;
/// The longest time that a read or a write may wait.
const HANGS: Duration = Duration::from_secs(20);

fn kernel(arguments: &[&str]) -> (bool, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_incast-kernel")).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), error)
}

fn good(arguments: &[&str]) {
    let (done, error) = kernel(arguments);
    assert!(done, "{arguments:?}: {error}");
}

/// The algorithms that the machine offers to sockets, and its default.
fn offered() -> [String; 2] {
    ["tcp_available_congestion_control", "tcp_congestion_control"]
        .map(|key| fs::read_to_string(format!("/proc/sys/net/ipv4/{key}")).unwrap())
}

/// The numbers of the programs and maps that the kernel holds, which are never used again.
fn held() -> (HashSet<u32>, HashSet<u32>) {
    (
        ProgInfoIter::default().map(|one| one.id).collect(),
        MapInfoIter::default().map(|one| one.id).collect(),
    )
}

/// A server that sends back all bytes, with a thread for each connection.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..count]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// A connection under one of the names, or under the default where none is attached; all bytes come
/// back as they went.
fn exchange(address: SocketAddr, names: &[&str], sent: &[u8]) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANGS)).unwrap();
    stream.set_write_timeout(Some(HANGS)).unwrap();
    let chosen = names.iter().any(|name| choose(&stream, name).is_ok());
    let mut writes = stream.try_clone().unwrap();
    let found = thread::scope(|scope| {
        scope.spawn(move || {
            writes.write_all(sent).unwrap();
            writes.shutdown(Shutdown::Write).unwrap();
        });
        let mut found = Vec::new();
        stream.read_to_end(&mut found).unwrap();
        found
    });
    assert!(found == sent, "{} of {} bytes came back as they went", found.len(), sent.len());
    chosen
}

fn numbered(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect()
}

#[test]
fn it_bears_what_a_fleet_does() {
    if let Err(error) = incast_kernel::system::check() {
        eprintln!("skipped: {error}");
        return;
    }
    for name in [NAME, STAYS] {
        let _ = kernel(&["detach", name]);
    }
    let (offered_before, (programs, maps)) = (offered(), held());
    let address = echo();
    under_load(address);
    short_connections(address);
    killed_loaders();
    // Programs go when their last connection has gone, maps some time after.
    let deadline = Instant::now() + Duration::from_secs(20);
    let left = || {
        let now = held();
        (&now.0 - &programs).len() + (&now.1 - &maps).len()
    };
    while left() > 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(left(), 0, "programs and maps that were not there before");
    assert_eq!(offered(), offered_before);
}

/// Attaches and detaches each program in turn, again and again, while connections come under its
/// name.
fn under_load(address: SocketAddr) {
    let (stop, used, all) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let sent = numbered(500_000);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    used.fetch_add(exchange(address, &[NAME], &sent).into(), Ordering::Relaxed);
                    all.fetch_add(1, Ordering::Relaxed);
                    // A hundred MB/s are load enough, and leave the loader a CPU.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        for round in 0..ROUNDS {
            let algorithm = Algorithm::ALL[round % Algorithm::ALL.len()];
            good(&["attach", algorithm.name(), "--name", NAME]);
            good(&["detach", NAME]);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let (used, all) = (used.into_inner(), all.into_inner());
    println!("{ROUNDS} attaches: {used} of {all} connections were under the name");
    assert!(used > 20, "{used} of {all} connections met the algorithm");
}

fn short_connections(address: SocketAddr) {
    good(&["attach", "timely", "--name", STAYS]);
    let sent = numbered(3_000);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..CONNECTIONS / 4 {
                    assert!(exchange(address, &[STAYS], &sent), "{STAYS} is attached");
                }
            });
        }
    });
    good(&["detach", STAYS]);
}

/// Killed at any time, a loader leaves nothing, or an algorithm that `detach` finds.
fn killed_loaders() {
    for round in 0..40 {
        let mut loader = Command::new(env!("CARGO_BIN_EXE_incast-kernel"))
            .args(["attach", "timely", "--name", NAME])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_micros(1_500 * round));
        // SIGKILL.
        loader.kill().unwrap();
        loader.wait().unwrap();
        let (_, error) = kernel(&["detach", NAME]);
        assert!(error.is_empty() || error.contains("is not attached"), "{error}");
        let available =
            fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
        assert!(!available.contains(NAME), "round {round}: {available}");
    }
}

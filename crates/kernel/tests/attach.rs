//! The command on a real kernel: attach, find, change, detach, and what is refused. One test, since all of it is
//! about one machine.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Output};
use std::thread;

const NAME: &str = "incast_test";
const OTHER: &str = "incast_test2";

fn kernel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_incast-kernel")).args(arguments).output().unwrap()
}

fn good(arguments: &[&str]) -> String {
    let output = kernel(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = kernel(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("error: "), "{error}");
    error
}

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

fn choose(stream: &TcpStream, name: &str) {
    // SAFETY: a string and its length.
    let done = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            u32::try_from(name.len()).unwrap(),
        )
    };
    assert_eq!(done, 0, "{name}: {}", std::io::Error::last_os_error());
}

/// Sends numbered bytes over loopback under `name`, doing `meanwhile` half way; all of them arrive.
fn transfer(name: &str, bytes: usize, meanwhile: impl FnOnce()) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent: Vec<u8> = (0..bytes).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
    let expected = sent.clone();
    let receiver = thread::spawn(move || {
        let mut found = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut found).unwrap();
        found
    });
    let mut stream = TcpStream::connect(address).unwrap();
    choose(&stream, name);
    let (first, second) = sent.split_at(bytes / 2);
    stream.write_all(first).unwrap();
    meanwhile();
    stream.write_all(second).unwrap();
    drop(stream);
    assert!(receiver.join().unwrap() == expected, "{name}: data was lost or changed");
}

fn clean() {
    for name in [NAME, OTHER] {
        let _ = kernel(&["detach", name]);
    }
}

#[test]
fn a_machine_attaches_changes_and_detaches() {
    if let Err(error) = incast_kernel::system::check() {
        eprintln!("skipped: {error}");
        return;
    }
    clean();
    let before = available();
    let default = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    for algorithm in ["timely", "rtcp", "dctcp"] {
        good(&["attach", algorithm, "--name", NAME]);
        assert!(available().contains(NAME));
        let shown = good(&["show", NAME, "--json"]);
        assert!(shown.contains(&format!("\"algorithm\":\"{algorithm}\"")), "{shown}");
        transfer(NAME, 300_000, || {});
        assert!(good(&["show", NAME, "--json"]).contains("\"opened\":1"), "a connection used it");
        assert!(refused(&["attach", algorithm, "--name", NAME]).contains("attached already"));
        good(&["detach", NAME]);
        assert_eq!(available(), before);
        assert!(refused(&["detach", NAME]).contains("is not attached"));
    }

    // While connections run: a parameter changes, all or nothing; the algorithm goes; another of its name comes.
    good(&["attach", "timely", "--name", NAME, "--preset", "zhu", "--set", "t_high=300us"]);
    transfer(NAME, 2_000_000, || {
        good(&["set", "--name", NAME, "t_low=20us", "window=500us"]);
        assert!(refused(&["set", "--name", NAME, "t_low=30us", "t_high=10us"]).contains("above"));
        let shown = good(&["show", NAME, "--json"]);
        for value in ["\"t_low\":\"20us\"", "\"t_high\":\"300us\"", "\"alpha\":\"0.875\""] {
            assert!(shown.contains(value), "{value}: {shown}");
        }
    });
    transfer(NAME, 2_000_000, || {
        good(&["detach", NAME]);
        good(&["attach", "rtcp", "--name", NAME]);
        assert!(good(&["show", NAME, "--json"]).contains("\"algorithm\":\"rtcp\""));
    });
    good(&["attach", "dctcp", "--name", OTHER]);
    assert!(refused(&["show"]).contains("name one"));
    assert!(good(&["list"]).contains(OTHER));
    clean();

    // The default is restored.
    good(&["attach", "timely", "--name", NAME, "--default", "--yes"]);
    transfer(NAME, 100_000, || {});
    good(&["detach", NAME]);
    let now = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    assert_eq!(now, default);
    assert_eq!(available(), before);

    // Again and again.
    for _ in 0..20 {
        good(&["attach", "timely", "--name", NAME]);
        good(&["detach", NAME]);
    }
    assert_eq!(available(), before);

    refusals();
}

fn refusals() {
    for (arguments, said) in [
        (&["attach", "timley"][..], "there is timely, rtcp, dctcp"),
        (&["attach", "timely", "--set", "t_low=5s"], "is out of range"),
        (&["attach", "timely", "--set", "t_lwo=5us"], "no such parameter"),
        (&["attach", "timely", "--set", "t_low"], "expected KEY=VALUE"),
        (&["attach", "timely", "--set", "line_rate=500Gbps"], "1Mbps to 400Gbps"),
        (&["attach", "timely", "--set", "startup=maybe"], "expected on or off"),
        (&["attach", "timely", "--preset", "nobody"], "there is authors-snippet"),
        (&["attach", "timely", "--name", "sixteen_letters_"], "expected 1 to 15"),
        (&["attach", "timely", "--name", "reno"], "choose another by --name"),
        (&["attach", "timely", "--cgroup", "/sys/fs/cgroup/nowhere"], "does not exist"),
        (&["attach", "timely", "--cgroup", "/tmp"], "is no cgroup"),
        (&["attach", "timely", "--default"], "add --yes"),
        (&["attach", "rtcp", "--set", "counter=time-clocked"], "expected counter=ack-clocked"),
        (&["detach", "nobody"], "is not attached"),
        (&["set", "--name", "nobody", "t_low=1us"], "is not attached"),
    ] {
        let error = refused(arguments);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

//! The command on a real kernel: attach, find, change, detach, and refusals. One test, since all of
//! it is about one machine.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{available, good, kernel, transfer};
use incast_kernel::algorithm::Algorithm;

const NAME: &str = "incast_test";
const OTHER: &str = "incast_test2";

fn refused(arguments: &[&str]) -> String {
    let output = kernel(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("error: "), "{error}");
    error
}

/// Checks the reports of a connection to an observer, who also keeps them in a file.
fn reports() {
    let record = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record");
    let observer = Command::new(env!("CARGO_BIN_EXE_incast-kernel"))
        .args(["observe", NAME, "--json", "--duration", "1s", "--interval", "1us", "--record"])
        .arg(&record)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(400));
    transfer(NAME, 1_000_000, || {});
    let output = observer.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"remote\":\"127.0.0.1:"), "{text}");
    assert_eq!(fs::read_to_string(&record).unwrap(), text);
    fs::remove_file(record).unwrap();
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
    let default = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    for algorithm in Algorithm::ALL.map(Algorithm::name) {
        good(&["attach", algorithm, "--name", NAME]);
        assert!(available().contains(NAME));
        let shown = good(&["show", NAME, "--json"]);
        assert!(shown.contains(&format!("\"algorithm\":\"{algorithm}\"")), "{shown}");
        transfer(NAME, 300_000, || {});
        assert!(good(&["show", NAME, "--json"]).contains("\"opened\":1"), "a connection used it");
        reports();
        assert!(refused(&["attach", algorithm, "--name", NAME]).contains("attached already"));
        good(&["detach", NAME]);
        assert!(!available().contains(NAME));
        assert!(refused(&["detach", NAME]).contains("is not attached"));
    }

    // While connections run: a parameter changes, all or nothing; the algorithm goes; another of
    // its name comes.
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
    assert!(!available().contains(NAME));

    // Again and again.
    for _ in 0..20 {
        good(&["attach", "timely", "--name", NAME]);
        good(&["detach", NAME]);
    }
    assert!(!available().contains(NAME));

    refusals();
}

fn refusals() {
    for (arguments, said) in [
        (&["attach", "timley"][..], "there is timely, "),
        (&["attach", "timely", "--set", "t_low=5s"], "is out of range"),
        (&["attach", "timely", "--set", "t_lwo=5us"], "no such parameter"),
        (&["attach", "timely", "--set", "t_low"], "expected KEY=VALUE"),
        (&["attach", "timely", "--set", "line_rate=500Gbps"], "1Mbps to 400Gbps"),
        (&["attach", "timely", "--set", "startup=maybe"], "is not one of on, off"),
        (&["attach", "timely", "--preset", "nobody"], "there is authors-snippet"),
        (&["attach", "timely", "--name", "sixteen_letters_"], "expected 1 to 15"),
        (&["attach", "timely", "--name", "reno"], "choose another by --name"),
        (&["attach", "timely", "--cgroup", "/sys/fs/cgroup/nowhere"], "does not exist"),
        (&["attach", "timely", "--cgroup", "/tmp"], "is no cgroup"),
        (&["attach", "timely", "--default"], "add --yes"),
        (&["attach", "rtcp", "--set", "counter=time-clocked"], "expected counter=ack-clocked"),
        (&["attach", "rtcp", "--set", "floor=1"], "is out of range; expected 2 to 1000"),
        (&["detach", "nobody"], "is not attached"),
        (&["set", "--name", "nobody", "t_low=1us"], "is not attached"),
    ] {
        let error = refused(arguments);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

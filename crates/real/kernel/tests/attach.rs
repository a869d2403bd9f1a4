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

    cgroups();
    refusals();
}

/// Checks what is said of a cgroup that ends, and of another one in its place.
fn cgroups() {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let Some(root) = mounts.lines().find_map(|line| {
        let fields: Vec<_> = line.split(' ').collect();
        (fields[2] == "cgroup2").then(|| Path::new(fields[1]).to_owned())
    }) else {
        eprintln!("skipped: no cgroup of version 2 is mounted");
        return;
    };
    let group = root.join("incast-test");
    let path = group.display().to_string();
    let _ = fs::remove_dir(&group);
    let state = || {
        let shown: serde_json::Value =
            serde_json::from_str(&good(&["show", NAME, "--json"])).unwrap();
        shown["cgroup_state"].clone()
    };
    fs::create_dir(&group).unwrap();
    good(&["attach", "timely", "--name", NAME, "--cgroup", &path]);
    assert_eq!(state(), "there");
    assert!(good(&["list"]).lines().any(|line| line.ends_with(&path)));
    assert!(is_used_in(&group), "its connections use it");

    fs::remove_dir(&group).unwrap();
    assert_eq!(state(), "gone");
    assert!(good(&["list"]).contains(&format!("{path} (gone)")));

    fs::create_dir(&group).unwrap();
    assert_eq!(state(), "made anew");
    let listed = good(&["list"]);
    let said = format!("{path} (made anew since, so its connections do not: detach");
    assert!(listed.contains(&said), "{listed}");
    assert!(!is_used_in(&group), "as it says");
    good(&["set", "--name", NAME, "t_low=20us"]);
    assert_eq!(state(), "made anew", "other settings change nothing of that");

    good(&["detach", NAME]);
    good(&["attach", "timely", "--name", NAME, "--cgroup", &path]);
    assert_eq!(state(), "there");
    assert!(is_used_in(&group), "its connections use it again");
    good(&["detach", NAME]);
    good(&["attach", "timely", "--name", NAME]);
    assert!(state().is_null(), "without a cgroup there is none to tell of");
    good(&["detach", NAME]);
    fs::remove_dir(&group).unwrap();
}

/// Whether a connection of a process in the cgroup uses the algorithm.
fn is_used_in(group: &Path) -> bool {
    let connect = "import os, socket, sys
open(sys.argv[1] + '/cgroup.procs', 'w').write(str(os.getpid()))
listener = socket.create_server(('127.0.0.1', 0))
one = socket.create_connection(listener.getsockname())
print(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())";
    let output = Command::new("python3").args(["-c", connect]).arg(group).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim() == NAME
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

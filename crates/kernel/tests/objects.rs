//! Plain objects, registered by bpftool on a real kernel: the names come and go, and data flows at the rates of the
//! defaults. One test, since all of it is about one machine.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::{available, good, transfer};
use incast_kernel::system::{self, Signature};

/// A directory of its own, which goes with it.
struct Objects(PathBuf);

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn bpftool_registers_objects_that_carry_data() {
    if let Err(error) = system::check() {
        eprintln!("skipped: {error}");
        return;
    }
    if bpftool(&["version"]).is_err() {
        eprintln!("skipped: bpftool is missing");
        return;
    }
    let before = available();
    if before.contains("bpf_") {
        eprintln!("skipped: the names of the objects may be taken: {before}");
        return;
    }
    let place = Objects(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("objects"));
    let out = place.0.to_str().unwrap();
    for algorithm in ["timely", "rtcp", "dctcp"] {
        assert!(good(&["object", algorithm, "--out", out]).contains(algorithm));
    }
    let timely = match system::signature().unwrap() {
        Signature::New => "timely-6.10.bpf.o",
        Signature::Old => "timely-before-6.10.bpf.o",
    };
    for (name, file) in [("timely", timely), ("rtcp", "rtcp.bpf.o"), ("dctcp", "dctcp.bpf.o")] {
        carries(name, &place.0.join(file));
        assert_eq!(available(), before);
    }
}

fn bpftool(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("bpftool").args(arguments).output()
}

fn carries(algorithm: &str, object: &Path) {
    let done = bpftool(&["struct_ops", "register", object.to_str().unwrap()]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let registered = available();
    let began = Instant::now();
    let sent =
        std::panic::catch_unwind(|| transfer(&format!("bpf_{algorithm}"), 40_000_000, || {}));
    let took = began.elapsed();
    // Whatever became of it, the name goes.
    let done = bpftool(&["struct_ops", "unregister", "name", algorithm]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(registered.contains(&format!("bpf_{algorithm}")), "{registered}");
    assert!(sent.is_ok(), "{algorithm}");
    // With knobs of zero TIMELY sends 16 Mb/s; with the defaults, gigabits.
    assert!(took < Duration::from_secs(8), "{algorithm}: 40 MB took {took:?}");
}

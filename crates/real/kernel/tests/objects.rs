//! Plain objects, registered by bpftool on a real kernel: the names come and go, and data flows at
//! the rates of the defaults. One test, since all of it is about one machine.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::{available, good, kernel, transfer};
use incast_kernel::algorithm::Algorithm;
use incast_kernel::system::{self, Signature};

/// A directory that is removed with this value.
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
    let place = Objects(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("objects"));
    let out = place.0.to_str().unwrap();
    let kernels = match system::signature().unwrap() {
        Signature::New => "-6.10",
        Signature::Old => "-before-6.10",
    };
    for name in Algorithm::ALL.map(Algorithm::name) {
        assert!(good(&["object", name, "--out", out]).contains(name));
        // The object for this kernel, where there is one for each signature.
        let files = [kernels, ""].map(|kernels| place.0.join(format!("{name}{kernels}.bpf.o")));
        let file = files.iter().find(|file| file.exists()).unwrap();
        let socket_name = format!("bpf_{name}");
        if there(&socket_name) {
            eprintln!("skipped: {socket_name} is attached");
            continue;
        }
        carries(&socket_name, file);
        assert!(!there(&socket_name));
    }
}

fn bpftool(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("bpftool").args(arguments).output()
}

fn there(name: &str) -> bool {
    available().split_whitespace().any(|one| one == name)
}

fn carries(name: &str, object: &Path) {
    let done = bpftool(&["struct_ops", "register", object.to_str().unwrap()]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8(done.stdout).unwrap() + &String::from_utf8_lossy(&done.stderr);
    let id = said.rsplit(' ').next().unwrap().trim();
    let registered = there(name);
    let began = Instant::now();
    let sent = std::panic::catch_unwind(|| transfer(name, 40_000_000, || {}));
    let took = began.elapsed();
    // The object is removed in any case, by its id, since others may have a map of its name.
    let done = bpftool(&["struct_ops", "unregister", "id", id]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(registered && sent.is_ok(), "{name}");
    // With knobs of zero TIMELY sends 16 Mb/s; with the defaults, gigabits.
    assert!(took < Duration::from_secs(8), "{name}: 40 MB took {took:?}");
}

#[test]
fn a_law_that_has_no_answer_to_losses_is_warned_of() {
    let place = Objects(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("warned"));
    let said = |preset| {
        let out = place.0.to_str().unwrap();
        let done = kernel(&["object", "timely", "--preset", preset, "--out", out]);
        assert!(done.status.success());
        String::from_utf8(done.stderr).unwrap()
    };
    assert_eq!(said("linux-tcp"), "");
    let warning = said("authors-snippet");
    assert!(warning.starts_with("warning: timely does not slow down at losses"), "{warning}");
    assert!(warning.contains("loss_decrease=0.5") && warning.lines().count() == 1, "{warning}");
}

//! The common parts of tests on a real kernel.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use incast_kernel::lab::load::choose;

pub(crate) fn kernel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_incast-kernel")).args(arguments).output().unwrap()
}

pub(crate) fn good(arguments: &[&str]) -> String {
    let output = kernel(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

/// Sends numbered bytes over loopback under `name`, doing `meanwhile` half way; all of them arrive.
pub(crate) fn transfer(name: &str, bytes: usize, meanwhile: impl FnOnce()) {
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
    choose(&stream, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (first, second) = sent.split_at(bytes / 2);
    stream.write_all(first).unwrap();
    meanwhile();
    stream.write_all(second).unwrap();
    drop(stream);
    assert!(receiver.join().unwrap() == expected, "{name}: data was lost or changed");
}

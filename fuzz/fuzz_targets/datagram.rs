#![no_main]

#[path = "../datagrams.rs"]
mod datagrams;

libfuzzer_sys::fuzz_target!(|data: &[u8]| datagrams::datagram(data));

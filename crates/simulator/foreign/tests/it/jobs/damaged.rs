//! Damaged traces: each is read or refused in one sentence, none is a panic or fills the memory.

use super::samples::{MICRO, RING};
use super::{Files, chakra, node, read};

/// The numbers of files that were read, and that were refused.
fn try_all(files: Files<'_>, size: Option<u64>, step: usize) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    let mut check = |place: usize, bytes: &[u8]| {
        let mut damaged = files.to_vec();
        damaged[place].1 = bytes;
        match read(&damaged, None, size) {
            Ok(_) => good += 1,
            Err(error) => {
                let error = error.to_string();
                assert!(!error.is_empty() && !error.contains('\n'), "{error:?}");
                bad += 1;
            }
        }
    };
    for (place, (_, whole)) in files.iter().enumerate() {
        for at in (0..whole.len()).step_by(step) {
            check(place, &whole[..at]);
            for byte in [0, 1, 0x7f, 0x80, 0xff, b'9', b'"', b'\n', whole[at] ^ 1] {
                let mut bytes = whole.to_vec();
                bytes[at] = byte;
                check(place, &bytes);
                bytes.insert(at, byte);
                check(place, &bytes);
                bytes.drain(at..=at + 1);
                check(place, &bytes);
            }
        }
    }
    (good, bad)
}

#[test]
fn damaged_traces_are_read_or_refused() {
    use super::goal::{Statement, binary, text};
    use incast_cc::Span;
    use incast_scenario::foreign::job::Node;
    let compute: Statement = (Node::Compute { stream: 1, span: Span::from_us(1) }, vec![]);
    let send: Statement = (Node::Send { to: 1, tag: 7, bytes: 10 }, vec![(0, false)]);
    let receive: Statement = (Node::Receive { from: 0, tag: 7, bytes: 10 }, vec![(0, true)]);
    let ranks = [vec![compute.clone(), send], vec![compute, receive]];
    let (text, packed) = (text(&ranks), binary(&ranks));
    let collective = [("comm_type", 2), ("comm_size", 1_000)];
    let trace = chakra(&[node((1, 4), &[], 5, &[]), node((2, 7), &[1], 0, &collective)]);
    let mut all = (0, 0);
    for (files, size, step) in [
        (&[("x", text.as_bytes())] as Files<'_>, None, 1),
        (&[("x", &packed)], None, 1),
        (&[("x.0", &trace), ("x.1", &trace)], None, 1),
        (&[("x", RING)], Some(100), 397),
        (&[("x", MICRO)], None, 3),
    ] {
        let (good, bad) = try_all(files, size, step);
        assert!(good > 10 && bad > 100, "{}: {good} read, {bad} refused", files[0].0);
        all = (all.0 + good, all.1 + bad);
    }
    assert!(all.0 > 500 && all.1 > 5_000, "{all:?}");
}

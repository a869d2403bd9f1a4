//! A cable that delays frames between two network namespaces. The test needs root, and says so
//! where it is skipped.

use std::time::{Duration, Instant};

use incast_bed::cable::{Cable, Cables};
use incast_udp::socket::{Features, Options, ReceiveBatch, SendBatch, Socket, Transmit};

use crate::namespaces::{Namespaces, ip};

const DELAY: Duration = Duration::from_millis(3);

/// Two hosts, and between them the cable's own namespace, which is the last.
fn bed() -> Option<Namespaces> {
    Namespaces::new("c", 3, |names| {
        let [hosts @ .., wire] = names else { return false };
        hosts.iter().zip(["x", "y"]).zip(1..).all(|((host, end), number)| {
            ip(&format!("link add {end} netns {wire} type veth peer name e netns {host}"))
                && ip(&format!("-n {wire} link set {end} up"))
                && ip(&format!("-n {host} address add 10.78.0.{number}/24 dev e"))
                && ip(&format!("-n {host} link set e up"))
        })
    })
}

fn open(bed: &Namespaces, host: usize, features: Features) -> Socket {
    let address = format!("10.78.0.{}:7000", host + 1).parse().unwrap();
    bed.inside(host, || Socket::open(&Options::at(address), features).unwrap())
}

/// Receives `bytes`, and returns the number of receives.
fn receives(socket: &mut Socket, batch: &mut ReceiveBatch, bytes: usize) -> usize {
    let (mut got_bytes, mut count) = (0, 0);
    while got_bytes < bytes {
        assert!(socket.wait(Some(Duration::from_secs(5))).unwrap(), "{got_bytes} of {bytes} B");
        socket.receive(batch).unwrap();
        for got in batch.iter() {
            assert!(got.data.iter().all(|&byte| byte == 7));
            got_bytes += got.data.len();
            count += 1;
        }
    }
    count
}

#[test]
fn a_cable_delays_segments_whole_each_way_until_it_is_dropped() {
    let Some(bed) = bed() else { return };
    let features = Features::probe().unwrap();
    let wire = bed.path(2).into();
    let cable = Cable { ends: ["x", "y"].map(str::to_owned), delay: DELAY };
    let cables = Cables::lay(wire, 0, vec![cable]).unwrap();
    let [mut a, mut b] = [0, 1].map(|host| open(&bed, host, features));
    let bytes = 40 * 1_400;
    let mut batch = ReceiveBatch::new(64, 65_535);
    let mut out = SendBatch::new(1, bytes);
    for round in 0..5 {
        let begun = Instant::now();
        for back in [false, true] {
            let (from, to) = if back { (&mut b, &mut a) } else { (&mut a, &mut b) };
            let transmit = Transmit { segment: Some(1_400), ..Transmit::to(to.address().unwrap()) };
            out.push(transmit, &vec![7; bytes]).unwrap();
            from.send(&mut out).unwrap();
            let count = receives(to, &mut batch, bytes);
            // What left as one send arrives as one, where the kernel can do so.
            assert!(count == 1 || !features.segmentation || !features.coalescing, "{count}");
        }
        assert!(begun.elapsed() >= 2 * DELAY, "round {round}: {:?}", begun.elapsed());
    }
    drop(cables);
    out.push(Transmit::to(b.address().unwrap()), &[7; 100]).unwrap();
    a.send(&mut out).unwrap();
    assert!(!b.wait(Some(Duration::from_millis(50))).unwrap());
}

#[test]
fn a_cable_needs_its_namespace_and_its_devices() {
    let cable = Cable { ends: ["no-such-a", "no-such-b"].map(str::to_owned), delay: DELAY };
    for namespace in ["/run/netns/incast-none", "/proc/self/ns/net"] {
        assert!(Cables::lay(namespace.into(), 0, vec![cable.clone()]).is_err(), "{namespace}");
    }
}

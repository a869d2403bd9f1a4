//! Sockets across a pair of virtual Ethernet devices, whose far end is in a network namespace of
//! its own. The tests need root, and say so where they are skipped.

use incast_udp::socket::{
    Class, Ecn, Features, Options, ReceiveBatch, SendBatch, Socket, Transmit,
};
use std::time::Duration;

use crate::namespaces::{Namespaces, ip};

/// Two namespaces with a link of an MTU between them.
fn link(tag: &str, mtu: u32) -> Option<Namespaces> {
    Namespaces::new(tag, 2, |names| {
        let [a, b] = names else { return false };
        ip(&format!("-n {a} link add v0 mtu {mtu} type veth peer v0 mtu {mtu} netns {b}"))
            && names.iter().zip(1..).all(|(end, number)| {
                ip(&format!("-n {end} address add 10.77.0.{number}/24 dev v0"))
                    && ip(&format!("-n {end} link set v0 up"))
            })
    })
}

fn open(link: &Namespaces, end: usize, features: Features) -> Socket {
    let address = format!("10.77.0.{}:7000", end + 1).parse().unwrap();
    link.inside(end, || Socket::open(&Options::at(address), features).unwrap())
}

/// Sends of 64 KB in datagrams that just fit, marked, with stamps at both ends.
#[test]
fn datagrams_that_fill_the_mtu_cross_a_link_with_marks_and_stamps() {
    for (tag, mtu) in [("vs", 1_500_u16), ("vj", 9_000)] {
        let Some(link) = link(tag, mtu.into()) else { return };
        let features = Features::probe().unwrap();
        let [mut from, mut to] = [0, 1].map(|end| open(&link, end, features));
        let segment = mtu - 28;
        let bytes = 65_507 / usize::from(segment) * usize::from(segment);
        let mut out = SendBatch::new(1, bytes);
        let mut batch = ReceiveBatch::new(16, 65_535);
        let (mut stamped, mut sent) = (0, 0);
        for key in 0..50 {
            let class = Class { dscp: 46, priority: 0 };
            let (to_there, ecn, stamp) = (to.address().unwrap(), Ecn::Ect0, Some(key));
            let transmit = Transmit { segment: Some(segment), class, ecn, stamp, to: to_there };
            out.push(transmit, &vec![7; bytes]).unwrap();
            from.send(&mut out).unwrap();
            let mut got_bytes = 0;
            while got_bytes < bytes {
                assert!(to.wait(Some(Duration::from_secs(5))).unwrap());
                to.receive(&mut batch).unwrap();
                for got in batch.iter() {
                    got_bytes += got.data.len();
                    assert_eq!((got.dscp, got.ecn), (46, Ecn::Ect0));
                    assert_eq!(got.segment, usize::from(segment));
                    stamped += usize::from(got.stamp.is_some());
                }
            }
            from.sent_stamps(|_| sent += 1).unwrap();
        }
        assert_eq!(sent, 50, "MTU {mtu}");
        assert!(stamped >= 45, "MTU {mtu}: {stamped} of 50");
    }
}

#[test]
fn a_datagram_above_the_mtu_is_refused_and_one_that_fits_is_not() {
    let Some(link) = link("vm", 1_500) else { return };
    let features = Features::probe().unwrap();
    let [mut from, mut to] = [0, 1].map(|end| open(&link, end, features));
    let transmit = Transmit::to(to.address().unwrap());
    let mut out = SendBatch::new(2, 4_000);
    out.push(transmit, &[1; 1_473]).unwrap();
    out.push(transmit, &[2; 1_472]).unwrap();
    let error = from.send(&mut out).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
    from.send(&mut out).unwrap();
    let mut batch = ReceiveBatch::new(1, 4_000);
    assert!(to.wait(Some(Duration::from_secs(5))).unwrap());
    to.receive(&mut batch).unwrap();
    assert_eq!(batch.iter().next().unwrap().data, [2; 1_472]);
}

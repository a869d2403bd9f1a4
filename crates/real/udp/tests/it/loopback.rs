//! Sockets with real datagrams over the loopback device.

use incast_cc::Span;
use incast_udp::socket::{
    Class, Ecn, Features, OpenError, Options, ReceiveBatch, Received, Refused, SendBatch, Socket,
    Transmit,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

static FEATURES: LazyLock<Features> = LazyLock::new(|| Features::probe().unwrap());

fn open(address: &str, features: Features) -> Socket {
    Socket::open(&Options::at(address.parse().unwrap()), features).unwrap()
}

fn pair(features: Features) -> (Socket, Socket, SocketAddr) {
    let (from, to) = (open("127.0.0.1:0", features), open("127.0.0.1:0", features));
    let address = to.address().unwrap();
    (from, to, address)
}

/// Every datagram that comes until `count` are there, with its sender's marks.
fn receive(socket: &mut Socket, count: usize) -> Vec<(Vec<u8>, u8, Ecn)> {
    let mut batch = ReceiveBatch::new(16, 65_535);
    let mut all = Vec::new();
    while all.len() < count {
        assert!(socket.wait(Some(Duration::from_secs(5))).unwrap(), "{} of {count}", all.len());
        socket.receive(&mut batch).unwrap();
        for got in batch.iter() {
            assert!(!got.truncated);
            all.extend(got.datagrams().map(|data| (data.to_vec(), got.dscp, got.ecn)));
        }
    }
    all
}

/// Datagrams of different contents, the last one shorter.
fn data(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at / 7 % 251).unwrap()).collect()
}

#[test]
fn a_send_is_cut_into_datagrams_and_arrives_whole() {
    let some = Features { coalescing: false, ..*FEATURES };
    let ours = Features { segmentation: false, ..*FEATURES };
    for features in [*FEATURES, some, ours, Features::NONE] {
        let (mut from, mut to, address) = pair(features);
        let mut out = SendBatch::new(4, 200_000);
        let sizes = [(60_000, 1_448), (1_448, 1_448), (100, 1_448), (64, 1)];
        for (bytes, segment) in sizes {
            let transmit = Transmit { segment: Some(segment), ..Transmit::to(address) };
            out.push(transmit, &data(bytes)).unwrap();
        }
        from.send(&mut out).unwrap();
        assert!(out.is_empty());
        let got = receive(&mut to, 42 + 1 + 1 + 64);
        let want: Vec<Vec<u8>> = sizes
            .iter()
            .flat_map(|&(bytes, segment)| {
                data(bytes).chunks(segment.into()).map(<[u8]>::to_vec).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(got.into_iter().map(|(data, ..)| data).collect::<Vec<_>>(), want);
    }
}

/// What is changed in place is that which was received.
#[test]
fn datagrams_are_changed_in_place() {
    let (mut from, mut to, address) = pair(*FEATURES);
    let (mut out, mut batch) = (SendBatch::new(2, 3_500), ReceiveBatch::new(16, 65_535));
    out.push(Transmit { segment: Some(1_000), ..Transmit::to(address) }, &[1; 3_500]).unwrap();
    from.send(&mut out).unwrap();
    out.push(Transmit::to(address), &[]).unwrap();
    from.send(&mut out).unwrap();
    let mut lengths = Vec::new();
    while lengths.len() < 5 {
        assert!(to.wait(Some(Duration::from_secs(5))).unwrap(), "{lengths:?}");
        to.receive(&mut batch).unwrap();
        for (number, got) in
            (lengths.len()..).zip(batch.iter_mut().flat_map(Received::into_datagrams))
        {
            got.fill(u8::try_from(number).unwrap());
        }
        for got in batch.iter().flat_map(|got| got.datagrams()) {
            let number = u8::try_from(lengths.len()).unwrap();
            assert!(got.iter().all(|&byte| byte == number));
            lengths.push(got.len());
        }
    }
    assert_eq!(lengths, [1_000, 1_000, 1_000, 500, 0]);
}

#[test]
fn more_sends_than_a_system_call_takes_arrive_in_order() {
    let (mut from, mut to, address) = pair(*FEATURES);
    let mut out = SendBatch::new(500, 500 * 2);
    for number in 0..500_u16 {
        out.push(Transmit::to(address), &number.to_be_bytes()).unwrap();
    }
    assert_eq!(out.push(Transmit::to(address), &[]), Err(Refused::Full { bytes: 0 }));
    assert_eq!(from.send(&mut out).unwrap(), 500);
    let got = receive(&mut to, 500);
    assert!(got.iter().zip(0..500_u16).all(|((data, ..), number)| *data == number.to_be_bytes()));
}

#[test]
fn marks_and_classes_arrive_over_both_families() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let (mut from, mut to) = (open(local, *FEATURES), open(local, *FEATURES));
        let address = to.address().unwrap();
        let mut out = SendBatch::new(8, 100);
        let marks = [(0, Ecn::NotEct), (46, Ecn::Ect0), (0, Ecn::Ect1), (63, Ecn::Ce)];
        for (dscp, ecn) in marks {
            let class = Class { dscp, priority: 6 };
            out.push(Transmit { class, ecn, ..Transmit::to(address) }, &[dscp]).unwrap();
        }
        from.send(&mut out).unwrap();
        let got = receive(&mut to, marks.len());
        let got: Vec<_> = got.into_iter().map(|(_, dscp, ecn)| (dscp, ecn)).collect();
        assert_eq!(got, marks, "{local}");
    }
}

#[test]
fn datagrams_have_their_own_class_whatever_that_of_the_socket_is() {
    let (_, mut to, address) = pair(*FEATURES);
    let class = Class { dscp: 10, priority: 4 };
    let options = Options { class, ..Options::at("127.0.0.1:0".parse().unwrap()) };
    let mut from = Socket::open(&options, *FEATURES).unwrap();
    assert_eq!(socket2::SockRef::from(&from).priority().unwrap(), 4);
    let mut out = SendBatch::new(3, 3);
    let plain = Transmit::to(address);
    for transmit in
        [Transmit { class, ..plain }, plain, Transmit { class, ecn: Ecn::Ect0, ..plain }]
    {
        out.push(transmit, &[1]).unwrap();
    }
    from.send(&mut out).unwrap();
    let got: Vec<_> = receive(&mut to, 3).into_iter().map(|(_, dscp, ecn)| (dscp, ecn)).collect();
    assert_eq!(got, [(10, Ecn::NotEct), (0, Ecn::NotEct), (10, Ecn::Ect0)]);
}

/// Sends until the kernel stamps what comes, which it starts to do some time after it was asked.
fn wait_for_stamps(from: &mut Socket, to: &mut Socket) {
    let mut out = SendBatch::new(1, 1);
    let mut batch = ReceiveBatch::new(1, 1);
    loop {
        out.push(Transmit::to(to.address().unwrap()), &[0]).unwrap();
        from.send(&mut out).unwrap();
        assert!(to.wait(Some(Duration::from_secs(5))).unwrap());
        to.receive(&mut batch).unwrap();
        if batch.iter().all(|got| got.stamp.is_some()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Stamps of sends by key, with the kernel's keys and with those that this crate counts.
#[test]
fn every_send_that_asks_for_a_stamp_gets_one_before_its_arrival() {
    for stamp_keys in [FEATURES.stamp_keys, false] {
        let (mut from, mut to, address) = pair(Features { stamp_keys, ..*FEATURES });
        let mut out = SendBatch::new(8, 200_000);
        let (mut left, mut came) = (BTreeMap::new(), BTreeMap::new());
        let mut batch = ReceiveBatch::new(16, 65_535);
        wait_for_stamps(&mut from, &mut to);
        for round in 0..100_u32 {
            for key in (round * 4..).take(4) {
                // Two of three sends are many datagrams; each third one asks for no stamp.
                let stamp = (key % 3 != 2).then_some(key ^ 0x8000_0000);
                let bytes = if key % 2 == 0 { 4 } else { 20_000 };
                let mut bytes = vec![0; bytes];
                bytes[..4].copy_from_slice(&key.to_be_bytes());
                let to = Transmit { segment: Some(1_400), stamp, ..Transmit::to(address) };
                out.push(to, &bytes).unwrap();
            }
            from.send(&mut out).unwrap();
            while came.len() < (round as usize + 1) * 4 {
                assert!(to.wait(Some(Duration::from_secs(5))).unwrap());
                to.receive(&mut batch).unwrap();
                for got in batch.iter() {
                    let key = u32::from_be_bytes(got.data[..4].try_into().unwrap());
                    came.insert(key, got.stamp.unwrap());
                }
            }
            from.sent_stamps(|sent| {
                assert!(left.insert(sent.key ^ 0x8000_0000, sent.stamp).is_none());
            })
            .unwrap();
        }
        let keys: Vec<_> = left.keys().copied().collect();
        assert_eq!(keys, (0..400).filter(|key| key % 3 != 2).collect::<Vec<_>>());
        for (key, sent) in left {
            let way = came[&key].since(sent).expect("it came after it left");
            assert!(way < Span::from_secs(1), "{way:?}");
        }
    }
}

#[test]
fn a_datagram_that_is_longer_than_the_room_is_said_to_be_cut() {
    let (mut from, mut to, address) = pair(*FEATURES);
    let mut out = SendBatch::new(1, 2_000);
    out.push(Transmit::to(address), &data(2_000)).unwrap();
    from.send(&mut out).unwrap();
    let mut batch = ReceiveBatch::new(1, 1_500);
    assert!(to.wait(Some(Duration::from_secs(5))).unwrap());
    assert_eq!(to.receive(&mut batch).unwrap(), 1);
    let got = batch.iter().next().unwrap();
    assert_eq!((got.data.len(), got.truncated), (1_500, true));
    assert_eq!(to.receive(&mut batch).unwrap(), 0);
    assert!(batch.is_empty());
}

#[test]
fn a_datagram_without_data_arrives() {
    let (mut from, mut to, address) = pair(*FEATURES);
    let mut out = SendBatch::new(1, 0);
    out.push(Transmit::to(address), &[]).unwrap();
    from.send(&mut out).unwrap();
    assert_eq!(receive(&mut to, 1), [(vec![], 0, Ecn::NotEct)]);
}

/// The send that fails is taken out, and those behind it leave.
#[test]
fn a_send_that_fails_does_not_hold_the_others() {
    let (mut from, mut to, address) = pair(*FEATURES);
    let mut out = SendBatch::new(3, 3);
    let nowhere = "[::1]:9".parse().unwrap();
    for (number, to) in [(1, address), (2, nowhere), (3, address)] {
        out.push(Transmit::to(to), &[number]).unwrap();
    }
    from.send(&mut out).unwrap_err();
    assert_eq!(out.len(), 1);
    from.send(&mut out).unwrap();
    let got = receive(&mut to, 2);
    assert_eq!(got.into_iter().map(|(data, ..)| data).collect::<Vec<_>>(), [[1], [3]]);
}

#[test]
fn sends_that_the_kernel_would_refuse_are_refused_before() {
    let mut out = SendBatch::new(9, 100_000);
    let to = Transmit::to("127.0.0.1:9".parse().unwrap());
    let cut = |segment| Transmit { segment: Some(segment), ..to };
    assert_eq!(out.commit(to, 65_508), Err(Refused::TooLong { bytes: 65_508 }));
    for (segment, bytes) in [(0, 10), (1_000, 64_001), (1_000, 0)] {
        let refused = Err(Refused::Datagrams { bytes, segment });
        assert_eq!(out.commit(cut(segment), bytes), refused);
    }
    let class = Class { dscp: 64, priority: 0 };
    assert_eq!(out.commit(Transmit { class, ..to }, 1), Err(Refused::Dscp { dscp: 64 }));
    assert!(out.is_empty());
    assert_eq!(out.commit(cut(1_000), 64_000), Ok(()));
    assert_eq!(out.commit(to, 40_000), Err(Refused::Full { bytes: 40_000 }));
}

#[test]
fn an_address_has_several_sockets_only_if_all_share_it() {
    let first = open("127.0.0.1:0", *FEATURES);
    let address = first.address().unwrap();
    let error = Socket::open(&Options::at(address), *FEATURES).unwrap_err();
    assert!(matches!(error, OpenError::Taken { .. }));
    assert_eq!(
        error.to_string(),
        format!(
            "{address} is taken by another socket; choose another port, or end the program that \
             has it"
        )
    );
    let shared = |address| Options { shared: true, ..Options::at(address) };
    let first = Socket::open(&shared("127.0.0.1:0".parse().unwrap()), *FEATURES).unwrap();
    Socket::open(&shared(first.address().unwrap()), *FEATURES).unwrap();
    let elsewhere = Options::at("192.0.2.1:7000".parse().unwrap());
    let error = Socket::open(&elsewhere, *FEATURES).unwrap_err();
    assert!(matches!(error, OpenError::Bind { .. }), "{error}");
}

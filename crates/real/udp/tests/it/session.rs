//! Datagrams of open connections: what was sealed is opened, once, and nothing else is.

use incast_udp::security::{Cipher, End, PACKETS_OF_A_KEY, SecurityError, Session, WINDOW};
use incast_udp::wire::{ConnectionId, HEADER_BYTES, Mode, WireError};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

use crate::connect::{client_end, connect, seal, server_end};
use crate::kept::kept;

const WAYS: [Option<Cipher>; 3] = [None, Some(Cipher::Aes128Gcm), Some(Cipher::ChaCha20Poly1305)];

/// The two ends of a connection, with this cipher or a checksum alone.
fn sessions(cipher: Option<Cipher>) -> [Session; 2] {
    let mode = if cipher.is_some() { Mode::Secret } else { Mode::Plain };
    let with = |end: End| End { cipher: cipher.unwrap_or(end.cipher), ..end };
    let ends = connect(&with(client_end(mode)), &with(server_end(mode)));
    let sessions = ends.map(|opened| opened.session);
    assert_eq!(sessions[0].cipher(), cipher);
    sessions
}

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/session.txt");

proptest! {
    #![proptest_config(kept(FAILURES, 200))]

    #[test]
    fn datagrams_are_opened_once_in_any_order(
        way in prop::sample::select(WAYS.to_vec()),
        content in vec(any::<u8>(), 0..1_500),
        order in vec(0..60_usize, 0..200),
    ) {
        let [mut from, mut to] = sessions(way);
        let all: Vec<_> = (0..60).map(|_| seal(&mut from, &content)).collect();
        let mut come = HashSet::new();
        for index in order {
            let mut datagram = all[index].clone();
            let got = to.open(&mut datagram);
            if come.insert(index) {
                prop_assert_eq!(got, Ok(&content[..]));
            } else {
                prop_assert_eq!(got, Err(SecurityError::Replayed { number: index as u64 }));
            }
        }
    }
}

#[test]
fn a_datagram_that_was_changed_anywhere_is_refused() {
    for way in WAYS {
        let [mut from, mut to] = sessions(way);
        let content: Vec<u8> = (0..200).collect();
        let datagram = seal(&mut from, &content);
        assert_eq!(datagram[HEADER_BYTES..][..200] == content, way.is_none(), "{way:?}");
        for at in 0..datagram.len() * 8 {
            let mut datagram = datagram.clone();
            datagram[at / 8] ^= 1 << (at % 8);
            assert!(to.open(&mut datagram).is_err(), "{way:?}, bit {at}");
        }
        for length in 0..datagram.len() {
            assert!(to.open(&mut datagram[..length].to_vec()).is_err(), "{way:?}, {length} B");
        }
        let longer = [&datagram[..], &[0]].concat();
        assert!(to.open(&mut longer.clone()).is_err(), "{way:?}");
        assert_eq!(to.open(&mut datagram.clone()), Ok(&content[..]), "nothing has changed it");
        let misdirected = SecurityError::Misdirected { to: to.own() };
        assert_eq!(from.open(&mut datagram.clone()), Err(misdirected), "not the one that sent");
    }
}

/// The datagrams of one direction are not those of the other one.
#[test]
fn a_datagram_sent_back_to_its_sender_is_refused() {
    for way in &WAYS[1..] {
        let [mut from, to] = sessions(*way);
        let mut datagram = seal(&mut from, b"back");
        datagram[4..12].copy_from_slice(&from.own().0.to_be_bytes());
        assert_eq!(from.open(&mut datagram), Err(SecurityError::Damaged { number: 0 }));
        assert_ne!(to.own(), ConnectionId::NONE);
    }
}

#[test]
fn a_datagram_behind_the_window_is_refused() {
    let [mut from, mut to] = sessions(Some(Cipher::Aes128Gcm));
    let all: Vec<_> = (0..=WINDOW).map(|_| seal(&mut from, b"")).collect();
    assert!(to.open(&mut all[all.len() - 1].clone()).is_ok());
    let error = to.open(&mut all[0].clone()).unwrap_err();
    assert_eq!(error.to_string(), "datagram 0 came a second time, or more than 4032 numbers late");
    assert!(to.open(&mut all[1].clone()).is_ok());
}

#[test]
fn a_room_that_is_too_short_takes_no_number() {
    let [mut from, mut to] = sessions(Some(Cipher::Aes128Gcm));
    let bytes = 4 + from.overhead();
    let refused = WireError::Room { bytes, room: bytes - 1 };
    assert_eq!(from.seal(&mut vec![0; bytes - 1], 4), Err(refused.into()));
    assert_eq!(from.next_number(), 0);
    assert!(to.open(&mut seal(&mut from, b"")).is_ok(), "a datagram may have no frames");
}

/// Zeros under the same key and nonce would be the same bytes. Keys change twice meanwhile, and
/// datagrams overtake each other when they do.
#[test]
fn no_nonce_is_used_twice() {
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        let [mut from, mut to] = sessions(Some(cipher));
        let mut all = Vec::new();
        let mut room = [0; HEADER_BYTES + 32];
        let (mut late, mut ends) = (Vec::new(), 0);
        for number in 0..2 * PACKETS_OF_A_KEY + 500 {
            room[HEADER_BYTES..].fill(0);
            from.seal(&mut room, 16).unwrap();
            all.push(u128::from_be_bytes(room[HEADER_BYTES..][..16].try_into().unwrap()));
            // The last datagrams of a key come after the first ones of the next.
            if number % PACKETS_OF_A_KEY >= PACKETS_OF_A_KEY - 200 {
                late.push(room);
                continue;
            }
            assert_eq!(to.open(&mut room), Ok(&[0; 16][..]), "{number}");
            if number % PACKETS_OF_A_KEY == 300 {
                ends += late.len();
                for mut room in late.drain(..) {
                    assert_eq!(to.open(&mut room), Ok(&[0; 16][..]), "{number}");
                }
            }
        }
        assert_eq!(ends, 400);
        for _ in 0..1_000 {
            room[HEADER_BYTES..].fill(0);
            to.seal(&mut room, 16).unwrap();
            all.push(u128::from_be_bytes(room[HEADER_BYTES..][..16].try_into().unwrap()));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

/// A forged number costs no more than a true one: keys are not derived for it.
#[test]
fn a_datagram_two_keys_ahead_is_refused() {
    let [mut from, mut to] = sessions(Some(Cipher::Aes128Gcm));
    assert!(to.open(&mut seal(&mut from, b"first")).is_ok());
    let mut datagram = [0; HEADER_BYTES + 16];
    for _ in 1..PACKETS_OF_A_KEY {
        from.seal(&mut datagram, 0).unwrap();
    }
    let next = seal(&mut from, b"next");
    for _ in 1..PACKETS_OF_A_KEY {
        from.seal(&mut datagram, 0).unwrap();
    }
    let mut after = seal(&mut from, b"the one after it");
    let number = 2 * PACKETS_OF_A_KEY;
    assert_eq!(to.open(&mut after.clone()), Err(SecurityError::Ahead { number }));
    assert_eq!(to.open(&mut next.clone()), Ok(&b"next"[..]));
    assert_eq!(to.open(&mut after), Ok(&b"the one after it"[..]));
}

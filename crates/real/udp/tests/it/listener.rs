//! The end that answers: it sends no one more than came from him before he has proved his address,
//! opens a connection once, and says which connections it does not know.

use incast_cc::{Span, Time};
use incast_udp::security::{Answer, Handshake, Listener, Session, Step};
use incast_udp::wire::{COOKIE_BYTES, ConnectionId, HEADER_BYTES, Header, Kind, Mode, Opening};
use std::net::SocketAddr;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::connect::{
    MODES, ask, client, client_end, connect, handshake, prove, proved, seal, server_end, welcomed,
};
use crate::kept::kept;

/// A datagram of somebody who does not receive at the address that he gives.
#[derive(Clone, Debug)]
enum Forged {
    /// A hello of this protection, with the cookie that the last hello of another address got.
    Hello(Mode, bool),
    /// A hello of another version, cut to a length.
    OtherVersion(usize),
    /// A datagram of some connection, of a length.
    Sealed(u64, usize),
    /// An answer of a listener, of a kind and a length.
    Answer(u8, usize),
    /// Any bytes.
    Bytes(Vec<u8>),
}

fn forged() -> impl Strategy<Value = Forged> {
    prop_oneof![
        3 => (prop::sample::select(MODES.to_vec()), any::<bool>())
            .prop_map(|(mode, cookie)| Forged::Hello(mode, cookie)),
        1 => (0..200_usize).prop_map(Forged::OtherVersion),
        2 => (0..3_u64, 0..60_usize).prop_map(|(to, bytes)| Forged::Sealed(to, bytes)),
        1 => (1..9_u8, 0..60_usize).prop_map(|(kind, bytes)| Forged::Answer(kind, bytes)),
        1 => vec(any::<u8>(), 0..100).prop_map(Forged::Bytes),
    ]
}

/// A datagram of a kind that has an id, of a length.
fn of_kind(kind: Kind, to: u64, bytes: usize) -> Vec<u8> {
    let mut datagram = vec![1; HEADER_BYTES + bytes];
    Header { kind, to: ConnectionId(to), number: 0 }.encode(&mut datagram).unwrap();
    datagram
}

/// The datagram; hellos are of a client, with a new id.
fn datagram(forged: &Forged, stolen: Option<[u8; COOKIE_BYTES]>) -> Vec<u8> {
    let hello = |mode| handshake(&client_end(mode)).hello().to_vec();
    match *forged {
        Forged::Hello(mode, has_cookie) => {
            let mut hello = hello(mode);
            if let (true, Some(cookie)) = (has_cookie, stolen) {
                hello[HEADER_BYTES + 13..][..COOKIE_BYTES].copy_from_slice(&cookie);
            }
            hello
        }
        Forged::OtherVersion(bytes) => {
            let mut hello = hello(Mode::Keys);
            hello[0] = 9;
            hello.truncate(bytes);
            hello
        }
        Forged::Sealed(to, bytes) => of_kind(Kind::Sealed, to, bytes),
        Forged::Answer(kind, bytes) => {
            let mut datagram = of_kind(Kind::Unknown, 1, bytes);
            datagram[1] = kind;
            datagram
        }
        Forged::Bytes(ref bytes) => bytes.clone(),
    }
}

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/listener.txt");

proptest! {
    #![proptest_config(kept(FAILURES, 200))]

    /// Three times would be allowed; an answer is in fact never longer than its question.
    #[test]
    fn an_address_that_has_not_proved_itself_gets_no_more_than_came_from_it(
        mode in prop::sample::select(MODES.to_vec()),
        sequence in vec((forged(), 1..4_u8, 0..3_000_u64), 0..40),
    ) {
        let mut listener = Listener::new(server_end(mode)).unwrap();
        let (mut now, mut stolen) = (Time::ZERO, None);
        let mut totals = [[0_usize; 2]; 4];
        for (forged, from, ms) in sequence {
            now += Span::from_ms(ms);
            let datagram = datagram(&forged, stolen);
            let reply = match ask(&mut listener, now, client(from), &datagram) {
                Answer::Nothing | Answer::Postponed => None,
                Answer::Reply(reply) => Some(reply),
                Answer::Refused { reply, .. } => reply,
                answer @ Answer::Opened { .. } => panic!("{forged:?} got {answer:?}"),
            };
            let bytes = reply.as_ref().map_or(0, Vec::len);
            prop_assert!(bytes <= datagram.len(), "{:?} got {} B", forged, bytes);
            let [came, went] = &mut totals[usize::from(from)];
            (*came, *went) = (*came + datagram.len(), *went + bytes);
            prop_assert!(*went <= 3 * *came);
            let opening = reply.as_ref().map(|reply| {
                let (header, content) = Header::decode(reply).unwrap();
                Opening::decode(header, content).unwrap().unwrap()
            });
            if let Some(Opening::Retry { cookie, .. }) = opening {
                stolen = Some(cookie);
            }
        }
    }
}

/// A question to each side is enough for an answer that is no question.
#[test]
fn answers_are_not_answered() {
    let mut listener = Listener::new(server_end(Mode::Keys)).unwrap();
    let (to, cookie) = (ConnectionId(5), [3; COOKIE_BYTES]);
    for answer in [
        Opening::Retry { to, cookie },
        Opening::Welcome { to, message: &[0; 90] },
        Opening::Unknown { id: to, number: 3 },
        Opening::Refused { to, reason: incast_udp::wire::Refusal::Peer },
    ] {
        let got = ask(&mut listener, Time::ZERO, client(1), &answer.to_vec());
        assert!(matches!(got, Answer::Nothing), "{got:?}");
    }
}

#[test]
fn a_hello_that_comes_again_gets_the_same_welcome_while_its_cookie_is_good() {
    let (mut handshake, mut listener) = proved(&client_end(Mode::Keys), &server_end(Mode::Keys));
    let (_, welcome) = welcomed(&handshake, &mut listener);
    let late = Time::ZERO + Span::from_ms(9_999);
    for now in [Time::ZERO, late] {
        let answer = ask(&mut listener, now, client(1), handshake.hello());
        assert!(matches!(&answer, Answer::Reply(again) if *again == welcome), "{answer:?}");
    }
    let later = Time::ZERO + Span::from_secs(10);
    let answer = ask(&mut listener, later, client(1), handshake.hello());
    let Answer::Reply(retry) = answer else { panic!("{answer:?}") };
    assert_eq!(Header::decode(&retry).unwrap().0.kind, Kind::Retry);
    assert!(matches!(handshake.on_datagram(&retry), Ok(Step::Send)));
    let answer = ask(&mut listener, later, client(1), handshake.hello());
    assert!(matches!(answer, Answer::Opened { .. }), "{answer:?}");
    assert!(format!("{listener:?}").contains("recent: 1"), "the first is forgotten");
}

/// Somebody on the way cannot have the connection under an id of his own.
#[test]
fn the_id_of_a_connection_is_authenticated() {
    for mode in MODES {
        let mut listener = Listener::new(server_end(mode)).unwrap();
        let mut handshake = handshake(&client_end(mode));
        let mut hello = handshake.hello().to_vec();
        hello[HEADER_BYTES + 4] ^= 1;
        // The client makes its message for the cookie of another id.
        let cookie = cookie_for(&mut listener, Time::ZERO, client(1), &hello);
        let retry = Opening::Retry { to: handshake.own(), cookie }.to_vec();
        assert!(matches!(handshake.on_datagram(&retry), Ok(Step::Send)));
        let mut hello = handshake.hello().to_vec();
        hello[HEADER_BYTES + 4] ^= 1;
        let answer = ask(&mut listener, Time::ZERO, client(1), &hello);
        assert!(matches!(answer, Answer::Refused { .. }), "{answer:?}");
    }
}

/// The cookie that a hello of an address gets.
fn cookie_for(
    listener: &mut Listener,
    now: Time,
    from: SocketAddr,
    hello: &[u8],
) -> [u8; COOKIE_BYTES] {
    let answer = ask(listener, now, from, hello);
    let Answer::Reply(retry) = &answer else { panic!("no retry: {answer:?}") };
    let (header, content) = Header::decode(retry).unwrap();
    match Opening::decode(header, content).unwrap() {
        Some(Opening::Retry { cookie, .. }) => cookie,
        other => panic!("no retry: {other:?}"),
    }
}

/// Somebody on the way has recorded all of a connection's hellos, and knows no key.
#[test]
fn a_recorded_hello_opens_nothing_from_elsewhere_nor_later() {
    for mode in [Mode::Secret, Mode::Keys] {
        let (handshake, mut listener) = proved(&client_end(mode), &server_end(mode));
        let recorded = handshake.hello().to_vec();
        welcomed(&handshake, &mut listener);
        let later = Time::ZERO + Span::from_secs(11);
        for (now, from) in [(Time::ZERO, client(2)), (later, client(1)), (later, client(2))] {
            // As it was recorded, it gets a cookie of now; with that cookie it is refused.
            let cookie = cookie_for(&mut listener, now, from, &recorded);
            let mut hello = recorded.clone();
            hello[HEADER_BYTES + 13..][..COOKIE_BYTES].copy_from_slice(&cookie);
            let answer = ask(&mut listener, now, from, &hello);
            assert!(matches!(answer, Answer::Refused { .. }), "{mode:?}, {from}: {answer:?}");
        }
    }
}

/// Nothing of the server's is spent on whoever has not shown a cookie, nor much on a source that
/// sends one hello after the other: other sources find the server open.
#[test]
fn hellos_without_end_have_a_share_of_the_processor() {
    let (handshake, mut listener) = proved(&client_end(Mode::Keys), &server_end(Mode::Keys));
    let mut rubbish = handshake.hello().to_vec();
    *rubbish.last_mut().unwrap() ^= 1;
    let cost = Span::from_us(100);
    let (mut now, mut computed, mut postponed) = (Time::ZERO, 0_u64, 0_u64);
    while now < Time::ZERO + Span::from_secs(5) {
        now += Span::from_us(2);
        listener.has_had(now);
        match ask(&mut listener, now, client(1), &rubbish) {
            Answer::Refused { .. } => {
                now += cost;
                listener.took(client(1), cost);
                computed += 1;
            }
            Answer::Postponed => postponed += 1,
            answer => panic!("{answer:?}"),
        }
    }
    // A quarter of five seconds, and 200 ms that were saved up.
    assert!(computed <= 14_500, "{computed}");
    assert!(postponed > computed, "{postponed}");
    let mut other = crate::connect::handshake(&client_end(Mode::Keys));
    let cookie = cookie_for(&mut listener, now, client(2), other.hello());
    let retry = Opening::Retry { to: other.own(), cookie }.to_vec();
    assert!(matches!(other.on_datagram(&retry), Ok(Step::Send)));
    let answer = ask(&mut listener, now, client(2), other.hello());
    assert!(matches!(answer, Answer::Opened { .. }), "{answer:?}");
}

#[test]
fn a_server_that_was_restarted_says_so() {
    let [mut ours, _] = connect(&client_end(Mode::Keys), &server_end(Mode::Keys));
    let mut restarted = Listener::new(server_end(Mode::Keys)).unwrap();
    seal(&mut ours.session, b"first");
    let number = ours.session.next_number();
    let datagram = seal(&mut ours.session, b"later");
    let answer = ask(&mut restarted, Time::ZERO, client(1), &datagram);
    let Answer::Reply(reply) = answer else { panic!("{answer:?}") };
    let (header, content) = Header::decode(&reply).unwrap();
    let id = ours.session.peer();
    let unknown = Some(Opening::Unknown { id, number });
    assert_eq!(Opening::decode(header, content), Ok(unknown));
    let answer = ask(&mut restarted, Time::ZERO, client(1), &reply);
    assert!(matches!(answer, Answer::Nothing), "two listeners do not talk for ever");
    let mut again = handshake(&client_end(Mode::Keys));
    assert!(matches!(again.on_datagram(&reply), Ok(Step::Nothing)));
    assert_ne!(again.own(), ours.session.own());
    prove(&mut again, &mut restarted);
    welcomed(&again, &mut restarted);
}

/// Threads may hand them to each other.
#[test]
fn handshakes_and_sessions_are_send() {
    const fn assert_send<T: Send>() {}
    const { assert_send::<(Handshake, Listener, Session)>() };
}

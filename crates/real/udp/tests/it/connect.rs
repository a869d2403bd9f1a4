//! Two ends that connect in memory.

use incast_cc::Time;
use incast_udp::security::{
    Answer, End, Handshake, Identity, Listener, Opened, PeerKey, Secret, Security, Session, Step,
    fresh_id,
};
use incast_udp::wire::{HEADER_BYTES, Mode};
use std::net::SocketAddr;
use std::sync::LazyLock;

pub(crate) const MODES: [Mode; 3] = [Mode::Plain, Mode::Secret, Mode::Keys];

pub(crate) static CLIENT: LazyLock<Identity> = LazyLock::new(|| Identity::generate().unwrap());
pub(crate) static SERVER: LazyLock<Identity> = LazyLock::new(|| Identity::generate().unwrap());
static SECRET: LazyLock<Secret> = LazyLock::new(|| Secret::generate().unwrap());

/// The address of the client, by its number.
pub(crate) fn client(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, number], 7_000))
}

/// The address of the server.
pub(crate) fn server() -> SocketAddr {
    SocketAddr::from(([10, 0, 1, 1], 7_000))
}

fn end(mode: Mode, ours: &LazyLock<Identity>, theirs: &LazyLock<Identity>) -> End {
    let security = match mode {
        Mode::Plain => Security::Plain,
        Mode::Secret => Security::Secret(SECRET.clone()),
        Mode::Keys => Security::Keys { identity: (*ours).clone(), peers: vec![theirs.public()] },
    };
    End::new(security, &[])
}

/// The end of the client.
pub(crate) fn client_end(mode: Mode) -> End {
    End { parameters: b"of the client".to_vec(), ..end(mode, &CLIENT, &SERVER) }
}

/// The end of the server.
pub(crate) fn server_end(mode: Mode) -> End {
    End { parameters: b"of the server".to_vec(), ..end(mode, &SERVER, &CLIENT) }
}

/// The protections of a client and of its server, and the key of the server that the client needs.
pub(crate) fn protection(mode: Mode) -> (Security, Security, Option<PeerKey>) {
    let key = (mode == Mode::Keys).then(server_key);
    (client_end(mode).security, server_end(mode).security, key)
}

/// The key of the server, as the client has it.
pub(crate) fn server_key() -> PeerKey {
    SERVER.public()
}

pub(crate) fn handshake(end: &End) -> Handshake {
    let own = fresh_id().unwrap();
    Handshake::initiate(end, server(), Some(server_key()), own).unwrap()
}

/// The answer of a listener to a datagram of a client.
pub(crate) fn ask(listener: &mut Listener, now: Time, from: SocketAddr, datagram: &[u8]) -> Answer {
    listener.on_datagram(now, from, datagram, || fresh_id().unwrap())
}

/// Takes the handshake to its second hello, which has a good cookie.
pub(crate) fn prove(handshake: &mut Handshake, listener: &mut Listener) {
    let Answer::Reply(retry) = ask(listener, Time::ZERO, client(1), handshake.hello()) else {
        panic!("no retry")
    };
    assert!(matches!(handshake.on_datagram(&retry), Ok(Step::Send)));
}

/// A handshake whose second hello has a good cookie, and the listener that gave it.
pub(crate) fn proved(client_end: &End, server_end: &End) -> (Handshake, Listener) {
    let mut listener = Listener::new(server_end.clone()).unwrap();
    let mut handshake = handshake(client_end);
    prove(&mut handshake, &mut listener);
    (handshake, listener)
}

/// The end of the server after a hello with a good cookie, and its welcome.
pub(crate) fn welcomed(handshake: &Handshake, listener: &mut Listener) -> (Box<Opened>, Vec<u8>) {
    match ask(listener, Time::ZERO, client(1), handshake.hello()) {
        Answer::Opened { opened, welcome } => (opened, welcome),
        answer => panic!("{answer:?}"),
    }
}

/// The two ends of an open connection, the client's first.
pub(crate) fn connect(client_end: &End, server_end: &End) -> [Box<Opened>; 2] {
    let (mut handshake, mut listener) = proved(client_end, server_end);
    let (theirs, welcome) = welcomed(&handshake, &mut listener);
    let Ok(Step::Done(ours)) = handshake.on_datagram(&welcome) else { panic!("not open") };
    [ours, theirs]
}

/// A datagram of a session with this content.
pub(crate) fn seal(session: &mut Session, content: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; content.len() + session.overhead()];
    datagram[HEADER_BYTES..][..content.len()].copy_from_slice(content);
    assert_eq!(session.seal(&mut datagram, content.len()).unwrap(), datagram.len());
    datagram
}

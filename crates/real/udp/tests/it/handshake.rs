//! Opening connections through networks that lose, and with peers that are not who they should be.

use incast_cc::{Span, Time};
use incast_udp::security::{
    Answer, Cipher, End, Handshake, Identity, Listener, MAX_PARAMETERS, Opened, Secret, Security,
    SecurityError, Step, fresh_id,
};
use incast_udp::wire::{ConnectionId, Mode, Opening};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::connect::{
    CLIENT, MODES, SERVER, ask, client, client_end, connect, handshake, proved, seal, server,
    server_end, server_key, welcomed,
};
use crate::kept::kept;

/// Both ends send something to each other.
fn assert_open(ours: &mut Opened, theirs: &mut Opened) {
    assert_eq!(ours.parameters, b"of the server");
    assert_eq!(theirs.parameters, b"of the client");
    assert_eq!(
        (ours.session.own(), ours.session.peer()),
        (theirs.session.peer(), theirs.session.own())
    );
    assert_eq!(ours.session.cipher(), theirs.session.cipher());
    for text in [b"one", b"two"] {
        let mut datagram = seal(&mut ours.session, text);
        assert_eq!(theirs.session.open(&mut datagram).unwrap(), text);
        let mut datagram = seal(&mut theirs.session, text);
        assert_eq!(ours.session.open(&mut datagram).unwrap(), text);
    }
}

/// A network between a client and a server, with the datagrams that are on their way.
struct Network {
    handshake: Handshake,
    listener: Listener,
    to_server: Vec<Vec<u8>>,
    to_client: Vec<Vec<u8>>,
    now: Time,
    done: Option<Box<Opened>>,
    opened: Vec<Opened>,
}

impl Network {
    fn send_hello(&mut self) {
        self.to_server.push(self.handshake.hello().to_vec());
    }

    fn at_server(&mut self, datagram: &[u8]) {
        match ask(&mut self.listener, self.now, client(1), datagram) {
            Answer::Reply(reply) => self.to_client.push(reply),
            Answer::Opened { opened, welcome } => {
                self.opened.push(*opened);
                self.to_client.push(welcome);
            }
            answer => panic!("{answer:?}"),
        }
    }

    fn at_client(&mut self, datagram: &[u8]) {
        match self.handshake.on_datagram(datagram).unwrap() {
            Step::Nothing => {}
            Step::Send => self.send_hello(),
            Step::Done(opened) => assert!(self.done.replace(opened).is_none(), "open twice"),
        }
    }

    /// Delivers, loses or doubles one of the datagrams that are on their way, or passes time.
    fn step(&mut self, (fate, index): (u8, usize)) {
        let pick = |queue: &mut Vec<Vec<u8>>, stays: bool| {
            let at = index % queue.len().max(1);
            let datagram = queue.get(at).cloned();
            if datagram.is_some() && !stays {
                queue.remove(at);
            }
            datagram
        };
        match fate {
            0 => self.send_hello(),
            1 => drop(pick(&mut self.to_server, false)),
            2 => drop(pick(&mut self.to_client, false)),
            3 => self.now += Span::from_ms(100),
            4..=7 => {
                if let Some(datagram) = pick(&mut self.to_server, fate == 4) {
                    self.at_server(&datagram);
                }
            }
            _ => {
                if let Some(datagram) = pick(&mut self.to_client, fate == 8) {
                    self.at_client(&datagram);
                }
            }
        }
    }
}

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/handshake.txt");

proptest! {
    #![proptest_config(kept(FAILURES, 300))]

    #[test]
    fn one_connection_is_opened_whatever_is_lost_doubled_or_overtaken(
        mode in prop::sample::select(MODES.to_vec()),
        fates in vec((0..12_u8, any::<usize>()), 0..60),
    ) {
        let mut network = Network {
            handshake: handshake(&client_end(mode)),
            listener: Listener::new(server_end(mode)).unwrap(),
            to_server: Vec::new(),
            to_client: Vec::new(),
            now: Time::ZERO,
            done: None,
            opened: Vec::new(),
        };
        network.send_hello();
        for fate in fates {
            network.step(fate);
        }
        // From now on nothing is lost: two round trips are enough.
        for _ in 0..2 {
            network.send_hello();
            while let Some(datagram) = network.to_server.pop() {
                network.at_server(&datagram);
            }
            while let Some(datagram) = network.to_client.pop() {
                network.at_client(&datagram);
            }
        }
        while let Some(datagram) = network.to_server.pop() {
            network.at_server(&datagram);
        }
        while let Some(datagram) = network.to_client.pop() {
            network.at_client(&datagram);
        }
        prop_assert_eq!(network.opened.len(), 1);
        assert_open(network.done.as_mut().unwrap(), &mut network.opened[0]);
    }
}

#[test]
fn both_ends_know_each_other_by_their_keys() {
    for mode in MODES {
        let [mut ours, mut theirs] = connect(&client_end(mode), &server_end(mode));
        assert_open(&mut ours, &mut theirs);
        let keys = [&SERVER, &CLIENT].map(|of| (mode == Mode::Keys).then(|| of.public()));
        assert_eq!([ours.key, theirs.key], keys);
        assert_eq!(ours.session.cipher().is_none(), mode == Mode::Plain);
    }
}

#[test]
fn aes_is_used_if_both_ends_prefer_it() {
    use Cipher::{Aes128Gcm, ChaCha20Poly1305};
    for (ours, theirs, used) in [
        (Aes128Gcm, Aes128Gcm, Aes128Gcm),
        (Aes128Gcm, ChaCha20Poly1305, ChaCha20Poly1305),
        (ChaCha20Poly1305, Aes128Gcm, ChaCha20Poly1305),
        (ChaCha20Poly1305, ChaCha20Poly1305, ChaCha20Poly1305),
    ] {
        let client = End { cipher: ours, ..client_end(Mode::Keys) };
        let server = End { cipher: theirs, ..server_end(Mode::Keys) };
        let [mut ours, mut theirs] = connect(&client, &server);
        assert_open(&mut ours, &mut theirs);
        assert_eq!(ours.session.cipher(), Some(used));
    }
}

/// The errors of the server and of the client, which the server's answer tells.
fn refusal(client_end: &End, server_end: &End) -> [SecurityError; 2] {
    let mut listener = Listener::new(server_end.clone()).unwrap();
    let mut handshake = handshake(client_end);
    loop {
        match ask(&mut listener, Time::ZERO, client(1), handshake.hello()) {
            Answer::Reply(retry) => {
                assert!(matches!(handshake.on_datagram(&retry), Ok(Step::Send)));
            }
            Answer::Refused { error, reply } => match handshake.on_datagram(&reply.unwrap()) {
                Err(told) => return [error, told],
                step => assert!(matches!(step, Ok(Step::Send)), "{step:?}"),
            },
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn whoever_has_another_key_is_refused_in_a_sentence() {
    let other = Identity::generate().unwrap();
    let keys = |identity: &Identity, peers: &[&Identity]| {
        let peers = peers.iter().map(|peer| peer.public()).collect();
        End::new(Security::Keys { identity: identity.clone(), peers }, &[])
    };
    let secret = || End::new(Security::Secret(Secret::generate().unwrap()), &[]);
    let (of_client, of_server, of_other) = (CLIENT.public(), server_key(), other.public());
    for (ours, theirs, at_server, at_client) in [
        (
            keys(&CLIENT, &[&SERVER]),
            keys(&SERVER, &[&other]),
            format!(
                "10.0.0.1:7000 has the public key {of_client}, which is not among the peers of \
                 this end; add it"
            ),
            format!(
                "10.0.1.1:7000 does not list the public key {of_client} of this end; \
                 add it to the peers there"
            ),
        ),
        (
            keys(&CLIENT, &[&SERVER]),
            keys(&other, &[&CLIENT]),
            format!(
                "10.0.0.1:7000 calls this end by another public key than {of_other}; \
                 copy this key to that host"
            ),
            format!(
                "10.0.1.1:7000 does not have the public key {of_server}; \
                 copy that host's public key again"
            ),
        ),
        (
            secret(),
            secret(),
            "10.0.0.1:7000 has another secret than this end; copy one secret's file to both".into(),
            "10.0.1.1:7000 has another secret than this end; copy one secret's file to both".into(),
        ),
        (
            client_end(Mode::Plain),
            server_end(Mode::Keys),
            "10.0.0.1:7000 does not protect connections by keys, as this end does; \
             set the same protection at both ends"
                .into(),
            "10.0.1.1:7000 does not protect connections by a checksum alone, as this end does; \
             set the same protection at both ends"
                .into(),
        ),
    ] {
        let errors = refusal(&ours, &theirs).map(|error| error.to_string());
        assert_eq!(errors, [at_server, at_client]);
    }
}

#[test]
fn the_client_has_to_know_the_servers_key() {
    let id = fresh_id().unwrap();
    let error = Handshake::initiate(&client_end(Mode::Keys), server(), None, id).unwrap_err();
    assert_eq!(error, SecurityError::NoKey { peer: server() });
    let long = End { parameters: vec![0; MAX_PARAMETERS + 1], ..client_end(Mode::Plain) };
    let error = Handshake::initiate(&long, server(), None, id).unwrap_err();
    assert_eq!(error.to_string(), "513 B of parameters exceed the 512 B of a handshake");
    assert!(Listener::new(long).is_err());
    let full = End { parameters: vec![0; MAX_PARAMETERS], ..client_end(Mode::Keys) };
    let [_, theirs] = connect(&full, &server_end(Mode::Keys));
    assert_eq!(theirs.parameters, full.parameters);
    assert!(handshake(&full).hello().len() < 1_200, "it fits any path");
}

#[test]
fn ends_of_two_versions_tell_each_other() {
    let mut listener = Listener::new(server_end(Mode::Keys)).unwrap();
    let mut handshake = handshake(&client_end(Mode::Keys));
    // The client's datagram as if it were of a later version, and the server's answer to it.
    let mut hello = handshake.hello().to_vec();
    hello[0] = 7;
    let answer = ask(&mut listener, Time::ZERO, client(1), &hello);
    let Answer::Refused { error, reply: Some(mut reply) } = answer else { panic!("{answer:?}") };
    assert_eq!(
        error.to_string(),
        "10.0.0.1:7000 speaks version 7, this end version 5; update the older one"
    );
    let step = handshake.on_datagram(&reply);
    assert!(matches!(step, Ok(Step::Send)), "the hello may have been damaged: {step:?}");
    let error = handshake.on_datagram(&reply).unwrap_err();
    assert_eq!(error, SecurityError::OtherVersion { peer: server() });
    reply[0] = 7;
    let error = handshake.on_datagram(&reply).unwrap_err();
    assert_eq!(error, SecurityError::Version { peer: server(), theirs: 7 });
    reply[4] ^= 1;
    assert!(matches!(handshake.on_datagram(&reply), Ok(Step::Nothing)), "it is for another");
}

#[test]
fn a_hello_that_was_changed_anywhere_opens_nothing() {
    for mode in MODES {
        let (handshake, mut listener) = proved(&client_end(mode), &server_end(mode));
        let hello = handshake.hello().to_vec();
        for at in 0..hello.len() * 8 {
            let mut hello = hello.clone();
            hello[at / 8] ^= 1 << (at % 8);
            let answer = ask(&mut listener, Time::ZERO, client(1), &hello);
            assert!(!matches!(answer, Answer::Opened { .. }), "{mode:?}, bit {at}");
        }
        for length in 0..hello.len() {
            let answer = ask(&mut listener, Time::ZERO, client(1), &hello[..length]);
            assert!(!matches!(answer, Answer::Opened { .. }), "{mode:?}, {length} B");
        }
        let answer = ask(&mut listener, Time::ZERO, client(2), &hello);
        assert!(matches!(answer, Answer::Reply(_)), "another address has another cookie");
        let answer = ask(&mut listener, Time::ZERO, client(1), &hello);
        assert!(matches!(answer, Answer::Opened { .. }), "the true one is as good as ever");
    }
}

/// A hello that was damaged on its way is refused as if it were made for another key.
#[test]
fn a_hello_that_was_damaged_once_does_not_end_the_handshake() {
    for mode in MODES {
        let (mut handshake, mut listener) = proved(&client_end(mode), &server_end(mode));
        let mut hello = handshake.hello().to_vec();
        *hello.last_mut().unwrap() ^= 1;
        let answer = ask(&mut listener, Time::ZERO, client(1), &hello);
        let Answer::Refused { reply, .. } = answer else { panic!("{answer:?}") };
        assert_eq!(reply.is_some(), mode != Mode::Plain, "a checksum tells damage from forgery");
        if let Some(reply) = reply {
            assert!(matches!(handshake.on_datagram(&reply), Ok(Step::Send)));
        }
        let (mut opened, welcome) = welcomed(&handshake, &mut listener);
        let Ok(Step::Done(mut ours)) = handshake.on_datagram(&welcome) else { panic!("not open") };
        assert_open(&mut ours, &mut opened);
    }
}

#[test]
fn a_welcome_that_was_changed_anywhere_opens_nothing() {
    for mode in MODES {
        let (mut handshake, mut listener) = proved(&client_end(mode), &server_end(mode));
        let (mut opened, welcome) = welcomed(&handshake, &mut listener);
        for at in 0..welcome.len() * 8 {
            let mut welcome = welcome.clone();
            welcome[at / 8] ^= 1 << (at % 8);
            match handshake.on_datagram(&welcome) {
                Ok(Step::Nothing | Step::Send) | Err(SecurityError::Version { .. }) => {}
                other => panic!("{mode:?}, bit {at}: {other:?}"),
            }
        }
        let Ok(Step::Done(mut ours)) = handshake.on_datagram(&welcome) else { panic!("not open") };
        assert_open(&mut ours, &mut opened);
        assert!(matches!(handshake.on_datagram(&welcome), Ok(Step::Nothing)), "once");
    }
}

/// Whoever sends cookies without end gets no hello for each.
#[test]
fn a_handshake_takes_up_few_cookies() {
    let mut handshake = handshake(&client_end(Mode::Keys));
    let to = handshake.own();
    let sent = (0..100).filter(|&byte| {
        let retry = Opening::Retry { to, cookie: [byte; 40] }.to_vec();
        matches!(handshake.on_datagram(&retry), Ok(Step::Send))
    });
    assert_eq!(sent.count(), 16);
    let other = Opening::Retry { to: ConnectionId(to.0 ^ 1), cookie: [1; 40] }.to_vec();
    assert!(matches!(handshake.on_datagram(&other), Ok(Step::Nothing)));
}

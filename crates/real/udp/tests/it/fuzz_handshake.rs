//! Damaged datagrams open no connection and are not taken for those of an open one.
//!
//! `INCAST_FUZZ_DATAGRAMS=1000000 cargo test --release -p incast-udp --test it fuzz_handshake`
//! tries as many; by default it is 100,000.

use incast_cc::Time;
use incast_udp::security::{Answer, Handshake, Listener, Opened, SecurityError, Step};
use incast_udp::wire::{Frames, HEADER_BYTES, Header, Kind, Mode, Opening, Refusal, VERSION};
use std::hash::Hasher;
use twox_hash::XxHash3_64;

use crate::connect::{MODES, ask, client, client_end, handshake, prove, server_end};
use crate::damage::{damage, fuzz};

/// A listener and datagrams for it and for two of its clients.
struct Target {
    mode: Mode,
    listener: Listener,
    /// A hello with a good cookie, which has not come.
    hello: Vec<u8>,
    /// A client that waits for its welcome.
    waiting: Handshake,
    welcome: Vec<u8>,
    /// The server's end of an open connection, and a datagram for it.
    open: Box<Opened>,
    sealed: Vec<u8>,
    datagrams: Vec<Vec<u8>>,
}

/// Opens a connection at the server.
fn opened(handshake: &mut Handshake, listener: &mut Listener) -> (Box<Opened>, Vec<u8>) {
    prove(handshake, listener);
    match ask(listener, Time::ZERO, client(1), handshake.hello()) {
        Answer::Opened { opened, welcome } => (opened, welcome),
        answer => panic!("{answer:?}"),
    }
}

impl Target {
    fn new(mode: Mode) -> Self {
        let mut listener = Listener::new(server_end(mode)).unwrap();
        let [mut first, mut waiting, mut last] = [(); 3].map(|()| handshake(&client_end(mode)));
        let without_cookie = first.hello().to_vec();
        prove(&mut first, &mut listener);
        let hello = first.hello().to_vec();
        let (_, welcome) = opened(&mut waiting, &mut listener);
        let (open, last_welcome) = opened(&mut last, &mut listener);
        let Ok(Step::Done(mut client)) = last.on_datagram(&last_welcome) else {
            panic!("not open")
        };
        let mut room = [0; 200];
        room[HEADER_BYTES..][..7].copy_from_slice(&[5, 1, 3, 0, 0, 0, 9]);
        let bytes = client.session.seal(&mut room, 7).unwrap();
        let sealed = room[..bytes].to_vec();
        let (to, id) = (waiting.own(), open.session.own());
        let datagrams = vec![
            hello.clone(),
            hello.clone(),
            welcome.clone(),
            welcome.clone(),
            sealed.clone(),
            without_cookie,
            waiting.hello().to_vec(),
            Opening::Retry { to, cookie: [5; 40] }.to_vec(),
            Opening::Unknown { id, number: 0 }.to_vec(),
            Opening::Refused { to, reason: Refusal::Key }.to_vec(),
        ];
        Self { mode, listener, hello, waiting, welcome, open, sealed, datagrams }
    }

    /// The cookie of the client that waits for its welcome.
    fn cookie(&self) -> &[u8] {
        &self.waiting.hello()[HEADER_BYTES + 13..][..40]
    }

    /// Whether the datagram is a sound one, or has a sound checksum.
    fn is_sound(&self, datagram: &[u8], has_checksum: bool) -> bool {
        has_checksum || [&self.hello, &self.welcome, &self.sealed].iter().any(|of| datagram == *of)
    }

    /// Gives the datagram to all who could take it.
    fn take(&mut self, datagram: &mut [u8], is_sound: bool) {
        let (mut reply, mut took) = (None, false);
        match ask(&mut self.listener, Time::ZERO, client(1), datagram) {
            Answer::Nothing | Answer::Postponed => {}
            Answer::Reply(bytes) => reply = Some(bytes),
            Answer::Refused { error, reply: bytes } => {
                assert!(!error.to_string().is_empty());
                reply = bytes;
            }
            Answer::Opened { .. } => took = true,
        }
        // The hello of a connection that was opened gets its welcome again.
        let is_longer = reply.as_ref().is_some_and(|bytes| bytes.len() > datagram.len());
        assert!(!is_longer || reply.as_ref() == Some(&self.welcome));
        match self.waiting.on_datagram(datagram) {
            Ok(Step::Done(_)) => took = true,
            Ok(Step::Nothing | Step::Send)
            | Err(
                SecurityError::Version { .. }
                | SecurityError::OtherVersion { .. }
                | SecurityError::WrongKey { .. }
                | SecurityError::NotListed { .. }
                | SecurityError::Secret { .. }
                | SecurityError::Mode { .. }
                | SecurityError::Full { .. },
            ) => {}
            Err(error) => assert!(is_sound, "{error}"),
        }
        let content = self.open.session.open(datagram);
        took |= content.is_ok();
        // Frames that pass the checksum are read, whatever is in them.
        let faults =
            content.map_or(0, |content| Frames::of(content).filter(Result::is_err).count());
        assert!(faults <= 1, "frames end at the first fault");
        assert!(is_sound || !took, "a damaged datagram was taken: {datagram:?}");
    }
}

/// Writes the checksum that the datagram would have without protection, and returns whether it has
/// one. `cookie` is the one that a welcome answers.
fn write_checksum(datagram: &mut [u8], cookie: &[u8]) -> bool {
    let Ok((header, _)) = Header::decode(datagram) else { return false };
    let mut sum = XxHash3_64::new();
    let (start, id) = match header.kind {
        Kind::Hello => (HEADER_BYTES + 53, HEADER_BYTES + 4),
        Kind::Welcome => (HEADER_BYTES, 4),
        Kind::Sealed => (0, 0),
        _ => return false,
    };
    let Some(end) = datagram.len().checked_sub(4).filter(|&end| end >= start) else {
        return false;
    };
    if header.kind != Kind::Sealed {
        sum.write(b"incast udp ");
        sum.write(&[VERSION]);
        sum.write(&datagram[id..id + 8]);
        let cookie = if header.kind == Kind::Hello { &datagram[start - 40..start] } else { cookie };
        sum.write(cookie);
    }
    sum.write(&datagram[start..end]);
    datagram[end..].copy_from_slice(&sum.finish().to_be_bytes()[4..]);
    true
}

#[test]
fn damaged_datagrams_open_nothing_and_are_not_taken() {
    let mut targets: Vec<_> = MODES.iter().map(|&mode| Target::new(mode)).collect();
    let mut other = vec![0];
    fuzz(100_000, |random| {
        let target = &mut targets[random.below(MODES.len())];
        let mut datagram = target.datagrams[random.below(target.datagrams.len())].clone();
        damage(random, &mut datagram, &other);
        let is_plain = target.mode == Mode::Plain && random.below(2) == 0;
        let has_checksum = is_plain && write_checksum(&mut datagram, target.cookie());
        let is_sound = target.is_sound(&datagram, has_checksum);
        other.clone_from(&datagram);
        // What is left as it was would be taken, and nothing be left to be tried.
        if has_checksum || !is_sound {
            target.take(&mut datagram, is_sound);
        }
        if has_checksum {
            *target = Target::new(Mode::Plain);
        }
    });
    // All is as good as ever.
    for mut target in targets {
        let Target { mode, listener, hello, waiting, welcome, open, sealed, .. } = &mut target;
        let answer = ask(listener, Time::ZERO, client(1), hello);
        assert!(matches!(answer, Answer::Opened { .. }), "{mode:?}: {answer:?}");
        let step = waiting.on_datagram(welcome);
        assert!(matches!(step, Ok(Step::Done(_))), "{mode:?}: {step:?}");
        assert_eq!(open.session.open(sealed).map(<[u8]>::len), Ok(7), "{mode:?}");
    }
}

//! The time that it takes to seal and to open a datagram with 1,448 B of frames.
//!
//! `cargo bench -p incast-udp --bench security`

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[cfg(target_os = "linux")]
mod bench {
    use divan::Bencher;
    use divan::counter::BytesCount;
    use incast_cc::Time;
    use incast_udp::security::{
        Answer, Cipher, End, Handshake, Listener, Secret, Security, Session, Step, fresh_id,
    };
    use incast_udp::wire::HEADER_BYTES;
    use std::net::SocketAddr;

    const CONTENT: usize = 1_448;
    const WAYS: [Option<Cipher>; 3] =
        [Some(Cipher::Aes128Gcm), Some(Cipher::ChaCha20Poly1305), None];

    /// The two ends of a connection.
    fn sessions(cipher: Option<Cipher>) -> [Session; 2] {
        let security =
            cipher.map_or(Security::Plain, |_| Security::Secret(Secret::generate().unwrap()));
        let mut end = End::new(security, b"");
        end.cipher = cipher.unwrap_or(end.cipher);
        let mut listener = Listener::new(end.clone()).unwrap();
        let address: SocketAddr = "10.0.0.1:1".parse().unwrap();
        let id = fresh_id().unwrap();
        let mut handshake = Handshake::initiate(&end, address, None, id).unwrap();
        loop {
            let hello = handshake.hello();
            match listener.on_datagram(Time::ZERO, address, hello, || fresh_id().unwrap()) {
                Answer::Reply(retry) => {
                    handshake.on_datagram(&retry).unwrap();
                }
                Answer::Opened { opened, welcome } => {
                    let Step::Done(ours) = handshake.on_datagram(&welcome).unwrap() else {
                        panic!("the connection is not open")
                    };
                    assert!(cipher.is_none_or(|cipher| ours.session.cipher() == Some(cipher)));
                    return [ours.session, opened.session];
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[divan::bench(args = WAYS)]
    fn seal(bencher: Bencher<'_, '_>, way: Option<Cipher>) {
        let [mut session, _] = sessions(way);
        let mut room = [0; HEADER_BYTES + CONTENT + 16];
        bencher
            .counter(BytesCount::new(CONTENT))
            .bench_local(|| session.seal(&mut room, CONTENT).unwrap());
    }

    #[divan::bench(args = WAYS)]
    fn open(bencher: Bencher<'_, '_>, way: Option<Cipher>) {
        let [mut from, mut to] = sessions(way);
        bencher
            .counter(BytesCount::new(CONTENT))
            .with_inputs(|| {
                let mut room = [0; HEADER_BYTES + CONTENT + 16];
                let bytes = from.seal(&mut room, CONTENT).unwrap();
                (room, bytes)
            })
            .bench_local_refs(|(room, bytes)| to.open(&mut room[..*bytes]).unwrap().len());
    }
}

fn main() {
    divan::main();
}

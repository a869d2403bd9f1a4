//! The target of the fuzzer for datagrams of `incast-udp`. The tests of that crate call it, too.

use std::net::SocketAddr;

use incast_cc::Time;
use incast_transport::message;
use incast_udp::security::{Answer, End, Listener, Security, fresh_id};
use incast_udp::wire::{
    ConnectionId, Frame, Frames, HEADER_BYTES, Header, Opening, hello_of_another_version,
};

/// A datagram from an address that is new: it is read as was written or refused, and no answer is
/// longer than it.
pub(crate) fn datagram(data: &[u8]) {
    understood(data, &mut vec![0; 70_000]);
    let end = End::new(Security::Plain, b"");
    let mut listener = Listener::new(end).expect("the parameters are short");
    let from = SocketAddr::from(([10, 0, 0, 1], 7_000));
    let fresh = || fresh_id().expect("the system has random numbers");
    let reply = match listener.on_datagram(Time::ZERO, from, data, fresh) {
        Answer::Nothing | Answer::Postponed => None,
        Answer::Reply(reply) => Some(reply),
        Answer::Refused { error, reply } => {
            assert!(!error.to_string().is_empty());
            reply
        }
        Answer::Opened { .. } => panic!("nobody was given a cookie"),
    };
    assert!(reply.is_none_or(|reply| reply.len() <= data.len()));
}

/// Whatever the decoder takes it has understood: written again, it is the same bytes. Returns
/// whether it took all.
pub(crate) fn understood(datagram: &[u8], room: &mut [u8]) -> bool {
    if let Some((from, version)) = hello_of_another_version(datagram) {
        assert!(from != ConnectionId::NONE && version == datagram[0] && datagram.len() >= 28);
    }
    let Ok((header, content)) = Header::decode(datagram) else { return false };
    assert_eq!(header.encode(room), Ok(HEADER_BYTES));
    assert_eq!(&room[..HEADER_BYTES], &datagram[..HEADER_BYTES]);
    let Ok(opening) = Opening::decode(header, content) else { return false };
    if let Some(opening) = opening {
        assert_eq!(opening.encode(room), Ok(datagram.len()));
        assert_eq!(&room[..datagram.len()], datagram);
        return true;
    }
    let mut at = 0;
    for frame in Frames::of(content) {
        let Ok(frame) = frame else {
            assert!(Frames::of(content).any(|frame| frame.is_err()));
            return false;
        };
        let bytes = frame.encode(room).unwrap();
        assert_eq!(bytes, frame.bytes());
        assert_eq!(&room[..bytes], &content[at..at + bytes]);
        at += bytes;
        if let Frame::Data(data) = frame {
            let message::Data { index, count, .. } = data.packet;
            assert!(index < count && count <= 128);
            assert!(data.packet.segment().checked_add(count.into()).is_some());
            assert!(u64::from(data.offset) + data.payload.len() as u64 <= data.length.into());
        }
    }
    assert!(content.get(at).is_none_or(|&byte| byte == 0), "all of it, up to padding");
    true
}

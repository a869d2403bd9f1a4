//! The format of datagrams: what is written is read, and what is cut short or out of range is a
//! fault. `fuzz_wire.rs` has damaged datagrams.

use incast_transport::message::{self, PacketSet};
use incast_udp::wire::{
    COOKIE_BYTES, Close, Completion, Completions, ConnectionId, DATA_BYTES, Data, Frame, Frames,
    HEADER_BYTES, Header, Kind, LaneNumber, MAX_COMPLETIONS, MOST_COUNT, Mode, Nack, Opening,
    Probe, ProbeAnswer, Refusal, Turnaround, VERSION, WHOLE_BYTES, WireError,
    hello_of_another_version, receiver_in_any_version,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::frames::{encode, packet};
use crate::kept::kept;

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/wire.txt");

/// A number, of which the ends of its range and small ones come often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..300_u64, (0..300_u64).prop_map(|n| u64::MAX - n)]
}

/// A number that counts up, of which the ends of its range and small ones come often.
fn count() -> impl Strategy<Value = u64> {
    number().prop_map(|number| number & MOST_COUNT)
}

fn lane() -> impl Strategy<Value = LaneNumber> {
    prop::sample::select(LaneNumber::ALL.to_vec())
}

fn span() -> impl Strategy<Value = Turnaround> {
    let ns = prop_oneof![0..10_000_000_u64, Just(u64::from(u32::MAX)), any::<u64>()];
    ns.prop_map(|ns| Turnaround::of(incast_cc::Span::from_ns(ns.min(10_000_000_000))))
}

/// A frame of data that the transport could make, whose payload is a part of `BYTES`.
fn data() -> impl Strategy<Value = Frame<'static>> {
    let place = (1..=128_u8).prop_flat_map(|count| (Just(count), 0..count));
    let payload = prop_oneof![0..20_usize, 1_300..1_449_usize, 0..9_000_usize];
    let numbers = (lane(), any::<u32>(), 0..MOST_COUNT - 1_000, any::<u8>(), any::<[bool; 3]>());
    (place, payload, numbers, count(), any::<u32>(), any::<u32>()).prop_map(
        |((count, index), bytes, numbers, message, more, offset)| {
            let (lane, sent_ns, first, attempt, flags) = numbers;
            let [ack_request, ends_message, whole] = flags;
            let payload = &BYTES[..bytes];
            let bytes = u32::try_from(bytes).unwrap();
            let offset = offset % (u32::MAX - bytes);
            let length = (offset + bytes).saturating_add(more % 1_000_000);
            let (index, count, offset, length) =
                if whole { (0, 1, 0, bytes) } else { (index, count, offset, length) };
            let sequence = first + u64::from(index);
            let packet = message::Data {
                attempt,
                ack_request,
                ends_message,
                ..packet(sequence, bytes, index, count)
            };
            let given_up = ends_message && attempt % 2 == 0;
            Frame::Data(Data {
                lane,
                sent_ns,
                packet,
                message,
                length,
                offset,
                given_up,
                timed: attempt % 3 == 0,
                payload,
            })
        },
    )
}

static BYTES: [u8; 9_000] = [0xa5; 9_000];

fn ack() -> impl Strategy<Value = Frame<'static>> {
    let completion = (count(), any::<u32>(), any::<u8>(), span());
    ((lane(), any::<u32>()), vec(completion, 1..=MAX_COMPLETIONS)).prop_map(
        |((lane, sent_ns), all)| {
            let mut completions = Completions::new();
            for (segment, ce_bytes, attempt, turnaround) in all {
                let ack = message::Ack { segment, ce_bytes, attempt };
                assert!(completions.push(Completion { ack, turnaround }));
            }
            Frame::Ack { lane, sent_ns, completions }
        },
    )
}

fn nack() -> impl Strategy<Value = Frame<'static>> {
    let numbers = ((lane(), any::<u32>()), 0..MOST_COUNT - 128, any::<u8>(), any::<bool>(), span());
    (numbers, vec(0..128_u32, 0..128)).prop_map(|(numbers, indices)| {
        let ((lane, sent_ns), base, attempt, answers, turnaround) = numbers;
        let mut missing = PacketSet::EMPTY;
        for index in indices {
            missing.insert(index);
        }
        let report = message::Nack { base, missing, attempt, answers };
        Frame::Nack(Nack { lane, sent_ns, report, turnaround })
    })
}

fn frame() -> impl Strategy<Value = Frame<'static>> {
    let close = prop::sample::select(vec![
        Close::Done,
        Close::Shutdown,
        Close::Protocol,
        Close::Overload,
        Close::Narrow,
        Close::Stuck,
    ]);
    prop_oneof![
        4 => data(),
        2 => ack(),
        1 => nack(),
        1 => any::<u32>().prop_map(|id| Frame::Probe(Probe { id })),
        1 => (any::<u32>(), any::<u16>(), span()).prop_map(|(id, bytes, turnaround)| {
            Frame::ProbeAnswer(ProbeAnswer { id, bytes, turnaround })
        }),
        1 => close.prop_map(Frame::Close),
        1 => (lane(), any::<u32>()).prop_map(|(lane, sent_ns)| {
            Frame::Notification { lane, sent_ns }
        }),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let kinds =
        [Kind::Hello, Kind::Retry, Kind::Welcome, Kind::Sealed, Kind::Unknown, Kind::Refused];
    (prop::sample::select(kinds.to_vec()), number(), count())
        .prop_map(|(kind, to, number)| Header { kind, to: ConnectionId(to), number })
}

fn opening() -> impl Strategy<Value = Opening<'static>> {
    let id = || (1..=u64::MAX).prop_map(ConnectionId);
    let cookie = || vec(any::<u8>(), COOKIE_BYTES).prop_map(|bytes| bytes.try_into().unwrap());
    let message = || (0..600_usize).prop_map(|bytes| &BYTES[..bytes]);
    let mode = prop::sample::select(vec![Mode::Plain, Mode::Secret, Mode::Keys]);
    let reason = vec![Refusal::Version, Refusal::Mode, Refusal::Key, Refusal::Peer, Refusal::Full];
    prop_oneof![
        (id(), mode, cookie(), message()).prop_map(|(from, mode, cookie, message)| {
            Opening::Hello { from, mode, cookie, message }
        }),
        (id(), cookie()).prop_map(|(to, cookie)| Opening::Retry { to, cookie }),
        (id(), message()).prop_map(|(to, message)| Opening::Welcome { to, message }),
        (id(), count()).prop_map(|(id, number)| Opening::Unknown { id, number }),
        (id(), prop::sample::select(reason))
            .prop_map(|(to, reason)| Opening::Refused { to, reason }),
    ]
}

proptest! {
    #![proptest_config(kept(FAILURES, 4_000))]

    #[test]
    fn what_is_written_is_read(
        header in header(),
        frames in vec(frame(), 0..6),
        pad in 0..9_usize,
    ) {
        let mut datagram = vec![0; HEADER_BYTES];
        header.encode(&mut datagram).unwrap();
        datagram.extend(encode(&frames));
        datagram.extend(vec![0; pad]);
        let (got, content) = Header::decode(&datagram).unwrap();
        prop_assert_eq!(got, header);

        let got: Result<Vec<_>, _> = Frames::of(content).collect();
        prop_assert_eq!(got, Ok(frames));
    }

    #[test]
    fn frames_cut_short_are_a_fault(frame in frame(), cut in any::<usize>()) {
        let bytes = encode(&[frame]);
        let short = &bytes[..=cut % (bytes.len() - 1)];
        let got: Vec<_> = Frames::of(short).collect();
        prop_assert!(matches!(got[..], [Err(WireError::Short { .. })]), "{:?}", got);
        prop_assert!(Frames::of(short).any(|frame| frame.is_err()));
    }

    #[test]
    fn openings_that_are_written_are_read(opening in opening(), cut in any::<usize>()) {
        let mut datagram = opening.to_vec();
        let (header, content) = Header::decode(&datagram).unwrap();
        prop_assert_eq!(Opening::decode(header, content), Ok(Some(opening)));
        let room = cut % datagram.len();
        let refused = opening.encode(&mut datagram[..room]);
        prop_assert_eq!(refused, Err(WireError::Room { bytes: datagram.len(), room }));
        let message = match opening {
            Opening::Hello { message, .. } | Opening::Welcome { message, .. } => message.len(),
            _ => 0,
        };
        let datagram = opening.to_vec();
        let short = Header::decode(&datagram[..room])
            .and_then(|(header, content)| Opening::decode(header, content));
        prop_assert_eq!(short.is_err(), room < datagram.len() - message);
    }

    #[test]
    fn frames_do_not_fit_less_room_than_they_take(frame in frame(), cut in any::<usize>()) {
        let bytes = frame.bytes();
        let room = cut % bytes;
        prop_assert_eq!(frame.encode(&mut vec![0; room]), Err(WireError::Room { bytes, room }));
    }
}

#[test]
fn headers_tell_their_faults() {
    let header = Header { kind: Kind::Hello, to: ConnectionId::NONE, number: 0 };
    let mut bytes = [0; HEADER_BYTES];
    header.encode(&mut bytes).unwrap();
    assert_eq!(Header::decode(&bytes), Ok((header, &[][..])));
    for length in 0..HEADER_BYTES {
        let error = Header::decode(&bytes[..length]).unwrap_err();
        assert!(matches!(error, WireError::Short { .. }), "{length}");
    }
    bytes[0] = VERSION + 1;
    let error = Header::decode(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the peer speaks version 6, this end version 5; update the older one"
    );
    (bytes[0], bytes[1]) = (VERSION, 7);
    assert_eq!(Header::decode(&bytes).unwrap_err().to_string(), "the kind cannot be 7");
    let late = Header { number: MOST_COUNT + 1, ..header };
    let text = "the packet number cannot be 281474976710656";
    assert_eq!(late.encode(&mut bytes).unwrap_err().to_string(), text);
}

#[test]
fn openings_tell_their_faults() {
    let (to, cookie) = (ConnectionId(7), [1; COOKIE_BYTES]);
    let hello = Opening::Hello { from: to, mode: Mode::Keys, cookie, message: b"m" };
    let fault = |opening: Opening<'_>, at: usize, value: u8| {
        let mut datagram = opening.to_vec();
        datagram.resize(datagram.len().max(at + 1), 0);
        datagram[at] = value;
        let (header, content) = Header::decode(&datagram).unwrap();
        Opening::decode(header, content).unwrap_err().to_string()
    };
    assert_eq!(fault(hello, 28, 3), "the protection cannot be 3");
    assert_eq!(fault(hello, 27, 0), "the connection id cannot be 0");
    assert_eq!(fault(hello, 11, 9), "the connection id cannot be 9", "a hello is to no one");
    assert_eq!(fault(hello, 15, 9), "the packet number cannot be 9");
    assert_eq!(fault(hello, 3, 1), "the packet number cannot be 4294967296");
    assert_eq!(fault(hello, 19, 9), "the reserved field cannot be 9");
    let refused = Opening::Refused { to, reason: Refusal::Peer };
    assert_eq!(fault(refused, 16, 5), "the reason of a refusal cannot be 5");
    let text = "the number of bytes behind the last field cannot be 1";
    assert_eq!(fault(refused, 17, 0), text);
    assert_eq!(fault(Opening::Retry { to, cookie }, 56, 0), text);
    assert_eq!(
        fault(Opening::Welcome { to, message: b"" }, 11, 0),
        "the connection id cannot be 0"
    );
}

/// Peers of two versions can tell each other.
#[test]
fn the_sender_of_another_version_is_found() {
    let (from, cookie) = (ConnectionId(7), [1; COOKIE_BYTES]);
    let mut hello = Opening::Hello { from, mode: Mode::Keys, cookie, message: b"m" }.to_vec();
    assert_eq!(hello_of_another_version(&hello), None, "it is of this one");
    hello[0] = 9;
    assert_eq!(hello_of_another_version(&hello), Some((from, 9)));
    assert_eq!(hello_of_another_version(&hello[..27]), None);
    assert_eq!(receiver_in_any_version(&hello), None, "a hello is to no one");
    hello[4..12].copy_from_slice(&8_u64.to_be_bytes());
    assert_eq!(receiver_in_any_version(&hello), Some(ConnectionId(8)));
    assert_eq!(receiver_in_any_version(&hello[..11]), None);
    hello[1] = Kind::Sealed as u8;
    assert_eq!(hello_of_another_version(&hello), None);
}

/// The bytes are a promise to peers of the same version.
#[test]
fn the_format_of_version_4_stays() {
    let packet = message::Data { attempt: 1, ack_request: true, ..packet(0x0102, 3, 2, 4) };
    let frame = Frame::Data(Data {
        lane: LaneNumber::ALL[2],
        sent_ns: 6,
        packet,
        message: 7,
        length: 8,
        offset: 4,
        given_up: false,
        timed: false,
        payload: b"abc",
    });
    let bytes = encode(&[frame]);
    assert_eq!(
        bytes,
        [
            &[0b1100_0001, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0, 1, 2][..],
            &[0, 0, 0, 0, 0, 7, 1, 2, 4, 0, 0, 0, 8, 0, 0, 0, 4],
            b"abc",
        ]
        .concat()
    );
    assert_eq!(bytes.len(), DATA_BYTES + 3);
    let packet = message::Data { sequence: 3, index: 0, count: 1, ..packet };
    let bytes = encode(&[Frame::Data(Data {
        lane: LaneNumber::ALL[2],
        sent_ns: 6,
        packet,
        message: 7,
        length: 3,
        offset: 0,
        given_up: false,
        timed: false,
        payload: b"abc",
    })]);
    assert_eq!(
        bytes,
        [&[0b1100_0101, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0, 0, 3][..], &[0, 0, 0, 0, 0, 7, 1], b"abc",]
            .concat()
    );
    assert_eq!(bytes.len(), WHOLE_BYTES + 3);
    let mut completions = Completions::new();
    let ack = message::Ack { segment: 9, ce_bytes: 10, attempt: 11 };
    assert!(completions.push(Completion { ack, turnaround: Turnaround::UNKNOWN }));
    let bytes = encode(&[
        Frame::Ack { lane: LaneNumber::ALL[1], sent_ns: 2, completions },
        Frame::Close(Close::Shutdown),
    ]);
    assert_eq!(
        bytes,
        [
            &[1, 0b0100_0001, 0, 0, 0, 2][..],
            &[0, 0, 0, 0, 0, 9, 0, 0, 0, 10, 11, 255, 255, 255, 255, 5, 1],
        ]
        .concat()
    );
}

/// Frames that the transport could not take are neither written nor read.
#[test]
fn data_outside_its_segment_or_message_is_refused() {
    let sound = Data {
        lane: LaneNumber::ALL[0],
        sent_ns: 0,
        packet: packet(5, 2, 1, 2),
        message: 0,
        length: 2,
        offset: 0,
        given_up: false,
        timed: false,
        payload: b"ab",
    };
    let bytes = encode(&[Frame::Data(sound)]);
    // Index, count, sequence number and offset, by their places in the frame.
    let (index, count, sequence, offset) = (20, 21, 7..13, 26..30);
    for change in [
        |data: &mut Data<'_>| data.packet.index = 2,
        |data: &mut Data<'_>| data.packet.count = 0,
        |data: &mut Data<'_>| data.packet.count = 129,
        |data: &mut Data<'_>| data.packet.sequence = 0,
        |data: &mut Data<'_>| data.packet.sequence = MOST_COUNT,
        |data: &mut Data<'_>| data.offset = 1,
        |data: &mut Data<'_>| data.offset = u32::MAX,
        |data: &mut Data<'_>| data.given_up = true,
    ] {
        let mut data = sound;
        change(&mut data);
        let refused = Frame::Data(data).encode(&mut [0; 100]).unwrap_err();
        assert!(matches!(refused, WireError::Value { .. }));
        let mut bytes = bytes.clone();
        (bytes[index], bytes[count]) = (data.packet.index, data.packet.count);
        bytes[0] |= u8::from(data.given_up) << 3;
        bytes[sequence.clone()].copy_from_slice(&data.packet.sequence.to_be_bytes()[2..]);
        bytes[offset.clone()].copy_from_slice(&data.offset.to_be_bytes());
        assert_eq!(Frames::of(&bytes).next(), Some(Err(refused)));
    }
    let mut other = sound;
    other.packet.payload = 3;
    assert!(Frame::Data(other).encode(&mut [0; 100]).is_err());
    // The long form of a frame that has a short one is not a second way to write it.
    let mut long = bytes.clone();
    (long[index], long[count]) = (0, 1);
    let error = Frames::of(&long).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the flags of a frame cannot be 0");
    let empty =
        Frame::Ack { lane: LaneNumber::ALL[0], sent_ns: 0, completions: Completions::new() };
    assert!(empty.encode(&mut [0; 100]).is_err());
}

//! Damaged datagrams are understood or refused, never more.
//!
//! `INCAST_FUZZ_DATAGRAMS=24000000 cargo test --release -p incast-udp --test it fuzz_wire` tries as
//! many; by default it is a million.

use incast_transport::message::{self, PacketSet};
use incast_udp::wire::{
    COOKIE_BYTES, Close, Completion, Completions, ConnectionId, Data, Frame, Header, Kind,
    MAX_COMPLETIONS, Mode, Nack, Opening, Probe, ProbeAnswer, Refusal, Turnaround,
};

use crate::damage::{Random, damage, fuzz};
use crate::datagrams::understood;
use crate::frames::packet;

static BYTES: [u8; 1_500] = [0xa5; 1_500];

#[expect(clippy::cast_possible_truncation, reason = "random numbers of any size")]
fn frame(random: &mut Random) -> Frame<'static> {
    let (lane, id, sent_ns) = (random.lane(), random.number() as u32, random.bits() as u32);
    let turnaround = Turnaround::of(incast_cc::Span::from_ns(random.number() >> 8));
    match random.below(8) {
        0..=2 => {
            let count = 1 + random.below(128) as u8;
            let index = random.below(count.into()) as u8;
            let bytes = [random.below(70), random.below(1_500)][random.below(2)] as u32;
            let offset = random.number() as u32 >> 1;
            let length = (offset + bytes).saturating_add(random.number() as u32);
            let whole = random.below(3) == 0;
            let (index, count, offset, length) =
                if whole { (0, 1, 0, bytes) } else { (index, count, offset, length) };
            let sequence = (random.count() >> 1) + u64::from(index);
            let packet = message::Data {
                attempt: random.bits() as u8,
                ack_request: random.below(2) == 0,
                ends_message: random.below(2) == 0,
                ..packet(sequence, bytes, index, count)
            };
            let given_up = packet.ends_message && random.below(4) == 0;
            let (message, payload) = (random.count(), &BYTES[..bytes as usize]);
            Frame::Data(Data {
                lane,
                sent_ns,
                packet,
                message,
                length,
                offset,
                given_up,
                timed: random.below(2) == 0,
                payload,
            })
        }
        3 => {
            let mut completions = Completions::new();
            for _ in 0..=random.below(MAX_COMPLETIONS) {
                let (segment, ce_bytes) = (random.count(), random.number() as u32);
                let ack = message::Ack { segment, ce_bytes, attempt: random.bits() as u8 };
                assert!(completions.push(Completion { ack, turnaround }));
            }
            Frame::Ack { lane, sent_ns, completions }
        }
        4 => {
            let mut missing = PacketSet::EMPTY;
            for _ in 0..random.below(20) {
                missing.insert(random.below(128) as u32);
            }
            let (base, attempt) = (random.count() >> 1, random.bits() as u8);
            let report = message::Nack { base, missing, attempt, answers: random.below(2) == 0 };
            Frame::Nack(Nack { lane, sent_ns, report, turnaround })
        }
        5 => Frame::Probe(Probe { id }),
        6 => {
            let bytes = random.bits() as u16;
            Frame::ProbeAnswer(ProbeAnswer { id, bytes, turnaround })
        }
        _ => match random.below(2) {
            0 => Frame::Close(Close::Protocol),
            _ => Frame::Notification { lane, sent_ns },
        },
    }
}

/// A sound datagram.
fn datagram(random: &mut Random) -> Vec<u8> {
    let id = ConnectionId(random.number().max(1));
    let (cookie, number) = ([7; COOKIE_BYTES], random.count());
    let message = &BYTES[..random.below(300)];
    let mode = [Mode::Plain, Mode::Secret, Mode::Keys][random.below(3)];
    let reason = [Refusal::Version, Refusal::Mode, Refusal::Key, Refusal::Peer, Refusal::Full]
        [random.below(5)];
    match random.below(20) {
        0 => Opening::Hello { from: id, mode, cookie, message }.to_vec(),
        1 => Opening::Retry { to: id, cookie }.to_vec(),
        2 => Opening::Welcome { to: id, message }.to_vec(),
        3 => Opening::Unknown { id, number }.to_vec(),
        4 => Opening::Refused { to: id, reason }.to_vec(),
        _ => {
            let mut bytes = vec![0; 16_000];
            let header = Header { kind: Kind::Sealed, to: id, number };
            let mut used = header.encode(&mut bytes).unwrap();
            for _ in 0..=random.below(5) {
                used += frame(random).encode(&mut bytes[used..]).unwrap();
            }
            bytes.truncate(used);
            bytes
        }
    }
}

#[test]
fn damaged_datagrams_are_understood_or_refused() {
    let (mut room, mut counts) = (vec![0; 70_000], [0_u64; 2]);
    let mut other = datagram(&mut Random(0));
    fuzz(1_000_000, |random| {
        let mut bytes = datagram(random);
        if random.below(16) == 0 {
            assert!(understood(&bytes, &mut room), "it is sound");
        }
        damage(random, &mut bytes, &other);
        counts[usize::from(understood(&bytes, &mut room))] += 1;
        other = bytes;
    });
    // Damage reaches far into datagrams only if many of them pass.
    let [refused, taken] = counts;
    assert!(refused > taken / 4 && taken > refused / 4, "{counts:?}");
}

/// What the fuzzer of `fuzz/run datagram` has kept.
#[test]
fn datagrams_that_fuzzing_has_found_are_answered_as_promised() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fuzz/corpus/datagram");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        crate::datagrams::datagram(&std::fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 5, "{files} files in {corpus}");
}

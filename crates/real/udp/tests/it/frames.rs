//! Frames of datagrams, and the packets of segments that they carry.

use incast_transport::DueBy;
use incast_transport::message;
use incast_udp::wire::{Data, Frame, LaneNumber};

/// The bytes of frames in a row.
pub(crate) fn encode(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = vec![0; frames.iter().map(Frame::bytes).sum()];
    let mut used = 0;
    for frame in frames {
        used += frame.encode(&mut bytes[used..]).unwrap();
    }
    assert_eq!(used, bytes.len());
    bytes
}

/// A packet of a segment, by its place there: the first attempt, which asks for no acknowledgement.
pub(crate) const fn packet(sequence: u64, bytes: u32, index: u8, count: u8) -> message::Data {
    message::Data {
        sequence,
        payload: bytes,
        index,
        count,
        attempt: 0,
        ack_request: false,
        ends_message: false,
        read: 0,
        due: DueBy::NONE,
        remaining: 0,
    }
}

/// A packet that is a whole message of a lane.
pub(crate) fn whole(lane: usize, number: u64, payload: &[u8]) -> Frame<'_> {
    let bytes = payload.len().try_into().unwrap();
    Frame::Data(Data {
        lane: LaneNumber::ALL[lane],
        sent_ns: 0,
        packet: message::Data {
            ack_request: true,
            ends_message: true,
            ..packet(number, bytes, 0, 1)
        },
        message: number,
        length: bytes,
        offset: 0,
        given_up: false,
        timed: true,
        payload,
    })
}

/// The first bytes of the first message of a lane, which is longer.
pub(crate) fn beginning(lane: usize, length: u32) -> Frame<'static> {
    part(lane, length, 0, &[7; 64])
}

/// A part of the first message of a lane: one of a hundred packets of equal length.
pub(crate) fn part(lane: usize, length: u32, index: u8, payload: &[u8]) -> Frame<'_> {
    let bytes: u32 = payload.len().try_into().unwrap();
    Frame::Data(Data {
        lane: LaneNumber::ALL[lane],
        sent_ns: 0,
        packet: message::Data { ack_request: true, ..packet(index.into(), bytes, index, 100) },
        message: 0,
        length,
        offset: bytes * u32::from(index),
        given_up: false,
        timed: true,
        payload,
    })
}
/// The first kilobyte of a message of the lane of long ones.
pub(crate) fn first_of(message: u64, length: u32) -> Frame<'static> {
    let payload = &[1; 1_000];
    let packet = packet(message * 1_000, 1_000, 0, 1);
    Frame::Data(Data {
        lane: LaneNumber::ALL[0],
        sent_ns: 0,
        packet,
        message,
        length,
        offset: 0,
        given_up: false,
        timed: true,
        payload,
    })
}

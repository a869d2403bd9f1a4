//! Frames and packets, as links and queues hold them.

use std::ops::Index;

use incast_cc::Hop;
use incast_queue::discipline::{self, Job};
use incast_transport::{Address, Body, Packet};

use super::path::Path;
use incast_plan::PFC_FRAME_BYTES;

/// The telemetry stamps of switches in a packet. They are kept beside the packets, so that packets
/// without stamps, nearly all, stay small and cost nothing.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "one word where there are none")]
pub(crate) struct Stamps(Option<Box<Vec<Hop>>>);

impl Stamps {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn push(&mut self, hop: Hop) {
        self.0.get_or_insert_default().push(hop);
    }

    #[inline]
    pub(crate) fn hops(&self) -> &[Hop] {
        self.0.as_ref().map_or(&[], |hops| hops)
    }
}

impl From<Box<[Hop]>> for Stamps {
    fn from(hops: Box<[Hop]>) -> Self {
        if hops.is_empty() { Self::NONE } else { Self(Some(Box::new(hops.into()))) }
    }
}

/// The part of a packet that switches look at. A frame travels by value, through links and queues.
/// The rest of the packet, which only hosts look at, stays in [`Packets`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) path: Path,
    /// The destination host. Unused in a PFC frame, which the next node consumes.
    pub(crate) destination: u32,
    pub(crate) packet: PacketId,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    /// The port by which the frame came in to the switch that it is at, or was at last.
    pub(crate) ingress: u16,
    /// The traffic class, from 0 for the lowest.
    pub(crate) class: u8,
    flags: u8,
}

/// A flag: a switch has marked the packet (ECN CE).
const MARKED: u8 = 1;
/// A flag: the frame's arrival at a host changes nothing but counters.
const QUIET: u8 = 2;
/// A flag: PFC XOFF for the frame's class.
const PAUSE: u8 = 4;
/// A flag: PFC XON for the frame's class.
const RESUME: u8 = 8;
/// A flag: the packet has stamps, kept beside it.
const STAMPED: u8 = 16;
/// A flag: the frame's link fails before it arrives.
const CUT: u8 = 32;

/// A flag: switches may mark the packet instead of dropping it (ECN-capable transport).
const ECT: u8 = 64;

impl Frame {
    /// The content of an empty place.
    pub(crate) const NOTHING: Self = Self {
        path: Path::UNKNOWN,
        destination: 0,
        packet: PacketId(u32::MAX),
        wire: 0,
        ingress: 0,
        class: 0,
        flags: 0,
    };

    /// Stores a packet, and makes its frame.
    #[inline]
    pub(crate) fn new(
        address: Address,
        wire: u16,
        class: u8,
        packet: Packet,
        packets: &mut Packets,
    ) -> Self {
        let Address { host: destination, route } = address;
        let quiet =
            matches!(&packet.body, Body::Data(data) if data.attempt == 0 && !data.ack_request);
        let flags = if quiet { QUIET } else { 0 } | if packet.is_ect() { ECT } else { 0 };
        let (path, packet) = (Path::from_bits(route), packets.put(packet));
        Self { path, destination, packet, wire, ingress: 0, class, flags }
    }

    pub(crate) fn pfc(class: u8, pause: bool, packets: &mut Packets) -> Self {
        let packet = Packet { connection: 0, sent_ns: 0, body: Body::Notification };
        let (flags, packet) = (if pause { PAUSE } else { RESUME }, packets.put(packet));
        let (path, wire) = (Path::UNKNOWN, PFC_FRAME_BYTES);
        Self { path, destination: 0, packet, wire, ingress: 0, class, flags }
    }

    /// Whether switches may mark it instead of dropping it (ECN-capable transport).
    #[inline]
    pub(crate) const fn is_ect(&self) -> bool {
        self.flags & ECT != 0
    }

    #[inline]
    pub(crate) const fn is_pfc(&self) -> bool {
        self.flags & (PAUSE | RESUME) != 0
    }

    pub(crate) const fn is_pause(&self) -> bool {
        self.flags & PAUSE != 0
    }

    #[inline]
    pub(crate) const fn is_marked(&self) -> bool {
        self.flags & MARKED != 0
    }

    /// Marks the packet: a queue has seen congestion. The receiver may have to answer at once, with
    /// a notification.
    pub(crate) const fn mark(&mut self) {
        self.flags = (self.flags | MARKED) & !QUIET;
    }

    /// Notes that the packet has stamps from now on, kept beside it.
    pub(crate) const fn stamp(&mut self) {
        self.flags |= STAMPED;
    }

    #[inline]
    pub(crate) const fn is_stamped(&self) -> bool {
        self.flags & STAMPED != 0
    }

    /// Notes that the frame's link will have failed when it arrives.
    pub(crate) const fn cut(&mut self) {
        self.flags |= CUT;
    }

    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.flags & CUT != 0
    }

    /// Whether the frame's arrival at a host changes nothing but counters: it is neither the last
    /// packet of a burst nor a retransmission, and nothing before it can be missing. So the host
    /// need not hear of it before the next frame arrives that is not quiet.
    #[inline]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.flags & QUIET != 0
    }

    /// Notes that a packet before this one may be missing, so that the receiver must look at it on
    /// arrival.
    #[inline]
    pub(crate) const fn disquiet(&mut self) {
        self.flags &= !QUIET;
    }
}

impl discipline::Packet for Frame {
    fn wire(&self) -> u64 {
        u64::from(self.wire)
    }
}

/// The place of a packet in [`Packets`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketId(u32);

/// All packets between two hosts. A packet keeps its place from the sending host to the receiving
/// one. Freed places are used again at once, so that few are in use, and those are in the
/// processor's caches.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    places: Vec<Packet>,
    free: Vec<PacketId>,
    /// The stamps of the packets that have any.
    stamps: Vec<Stamps>,
}

impl Packets {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "as many packets do not fit the memory")]
    fn put(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.places[id.0 as usize] = packet;
            id
        } else {
            self.places.push(packet);
            PacketId(self.places.len() as u32 - 1)
        }
    }

    /// The flow that a packet belongs to, and how much of that flow remains. ACKs and control
    /// packets are separate from the data of their connection, which they may overtake.
    pub(crate) fn job(&self, frame: &Frame) -> Job {
        let packet = &self[frame];
        let remaining = u64::from(packet.remaining());
        let connection = u64::from(packet.connection) << 1 | u64::from(remaining > 0);
        Job { flow: u64::from(frame.destination) << 33 | connection, remaining }
    }

    /// Frees the place of a frame's packet.
    #[inline]
    pub(crate) fn drop(&mut self, frame: &Frame) {
        self.free.push(frame.packet);
        if frame.is_stamped() {
            self.take_stamps(frame);
        }
    }

    /// Takes out the packet of a frame that goes to another part of the network, with its stamps.
    pub(crate) fn remove(&mut self, frame: &Frame) -> (Packet, Stamps) {
        let (packet, stamps) = (self[frame], self.take_stamps(frame));
        self.drop(frame);
        (packet, stamps)
    }

    /// Keeps the packet of a frame that has come from another part: the inverse of
    /// [`remove`](Self::remove).
    #[inline]
    pub(crate) fn take_in(&mut self, frame: &mut Frame, packet: Packet, stamps: Stamps) {
        frame.packet = self.put(packet);
        if !stamps.hops().is_empty() {
            *self.stamps_of(frame) = stamps;
        }
    }

    /// The stamps of a stamped frame's packet.
    pub(crate) fn stamps_of(&mut self, frame: &Frame) -> &mut Stamps {
        let needed = frame.packet.0 as usize + 1;
        if self.stamps.len() < needed {
            self.stamps.resize_with(needed.next_power_of_two(), Stamps::default);
        }
        &mut self.stamps[frame.packet.0 as usize]
    }

    /// Takes out the stamps of a frame's packet.
    #[inline]
    pub(crate) fn take_stamps(&mut self, frame: &Frame) -> Stamps {
        if frame.is_stamped() { std::mem::take(self.stamps_of(frame)) } else { Stamps::NONE }
    }

    /// The last stamp of the packet of a frame, if switches stamped it.
    pub(crate) fn last_stamp(&self, frame: &Frame) -> Option<Hop> {
        let stamps = self.stamps.get(frame.packet.0 as usize).filter(|_| frame.is_stamped())?;
        stamps.hops().last().copied()
    }

    /// The number of places that have been needed so far.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

impl Index<&Frame> for Packets {
    type Output = Packet;

    #[inline]
    fn index(&self, frame: &Frame) -> &Packet {
        &self.places[frame.packet.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_small() {
        assert_eq!(size_of::<Frame>(), 24);
    }

    #[test]
    fn places_are_taken_again_the_last_one_first_and_have_no_old_stamps() {
        let mut packets = Packets::default();
        let [mut a, b] = [0, 1].map(|class| Frame::pfc(class, true, &mut packets));
        a.stamp();
        packets.stamps_of(&a).push(Hop::default());
        assert_eq!(packets.take_stamps(&a).hops().len(), 1);
        packets.drop(&a);
        packets.drop(&b);
        let again = [2, 3].map(|class| Frame::pfc(class, true, &mut packets));
        assert_eq!(again.map(|frame| frame.packet), [b.packet, a.packet]);
        assert_eq!(packets.len(), 2);
        assert!(packets.stamps_of(&a).hops().is_empty());
    }
}

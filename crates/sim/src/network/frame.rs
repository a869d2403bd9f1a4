//! What is on a link and in a queue.

use std::ops::{Index, IndexMut};

use incast_cc::Hop;
use incast_transport::{Address, Body, Packet};

use super::routes::Path;

/// Size of a PFC frame on the wire.
pub(crate) const PFC_FRAME_BYTES: u16 = 64;

/// What switches have stamped into a packet. It is kept beside its frame, so that frames without it, nearly
/// all, stay small and cost nothing.
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

/// One packet on its way, in a cache line of its own. What switches look at comes first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Frame {
    /// The host it goes to; nothing to a PFC frame, which the next node consumes.
    pub(crate) destination: u32,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    /// Its traffic class, from 0 for the lowest.
    pub(crate) class: u8,
    flags: u8,
    pub(crate) path: Path,
    pub(crate) packet: Packet,
}

/// A switch has marked it (ECN CE).
const MARKED: u8 = 1;
/// Its arrival at a host does no more than count.
const QUIET: u8 = 2;
/// PFC XOFF for the frame's class.
const PAUSE: u8 = 4;
/// PFC XON.
const RESUME: u8 = 8;
/// Stamps travel beside it.
const STAMPED: u8 = 16;
/// The link that it is on fails before it arrives.
const CUT: u8 = 32;

impl Frame {
    pub(crate) fn new(address: Address, wire: u16, class: u8, packet: Packet) -> Self {
        let Address { host: destination, route } = address;
        let quiet =
            matches!(&packet.body, Body::Data(data) if data.attempt == 0 && !data.ack_request);
        let flags = if quiet { QUIET } else { 0 };
        Self { destination, wire, class, flags, path: Path::from_bits(route), packet }
    }

    pub(crate) fn pfc(class: u8, pause: bool) -> Self {
        let packet = Packet { connection: 0, sent_ns: 0, body: Body::Notification };
        let flags = if pause { PAUSE } else { RESUME };
        let path = Path::UNKNOWN;
        Self { destination: 0, wire: PFC_FRAME_BYTES, class, flags, path, packet }
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

    /// Congestion was seen. The receiver may have to answer at once, with a notification.
    pub(crate) const fn mark(&mut self) {
        self.flags = (self.flags | MARKED) & !QUIET;
    }

    /// Stamps travel beside it from now on.
    pub(crate) const fn stamp(&mut self) {
        self.flags |= STAMPED;
    }

    #[inline]
    pub(crate) const fn is_stamped(&self) -> bool {
        self.flags & STAMPED != 0
    }

    /// The link that it is on will have failed when it arrives.
    pub(crate) const fn cut(&mut self) {
        self.flags |= CUT;
    }

    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.flags & CUT != 0
    }

    /// Whether its arrival at a host changes nothing but counters: it is neither the last packet of
    /// a burst nor a retransmission, and nothing before it can be missing. So nobody need hear of
    /// it before the next frame that is not quiet arrives.
    #[inline]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.flags & QUIET != 0
    }

    /// Something before it may be missing: the receiver must look at it when it arrives.
    #[inline]
    pub(crate) const fn disquiet(&mut self) {
        self.flags &= !QUIET;
    }
}

/// Where a frame is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

/// All frames between two nodes. A frame stays where it is from the host that sends it to the one that
/// receives it, links and queues hold its number. Places are used again at once, so that few of them are
/// in use and those are in the processor's caches.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    places: Vec<Frame>,
    free: Vec<FrameId>,
    /// Of those that have any.
    stamps: Vec<Stamps>,
}

impl Frames {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "as many frames do not fit the memory")]
    pub(crate) fn put(&mut self, frame: Frame, stamps: Stamps) -> FrameId {
        let id = if let Some(id) = self.free.pop() {
            self[id] = frame;
            id
        } else {
            self.places.push(frame);
            FrameId(self.places.len() as u32 - 1)
        };
        if !stamps.hops().is_empty() {
            *self.stamps_of(id) = stamps;
        }
        id
    }

    /// The frame is no more.
    #[inline]
    pub(crate) fn drop(&mut self, id: FrameId) {
        self.free.push(id);
        if self[id].is_stamped() {
            self.take_stamps(id);
        }
    }

    /// Takes a frame out, with what is kept beside it.
    pub(crate) fn remove(&mut self, id: FrameId) -> (Frame, Stamps) {
        let (frame, stamps) = (self[id], self.take_stamps(id));
        self.drop(id);
        (frame, stamps)
    }

    /// What is kept beside a stamped frame.
    pub(crate) fn stamps_of(&mut self, id: FrameId) -> &mut Stamps {
        let needed = id.0 as usize + 1;
        if self.stamps.len() < needed {
            self.stamps.resize_with(needed.next_power_of_two(), Stamps::default);
        }
        &mut self.stamps[id.0 as usize]
    }

    /// The same, taken out.
    #[inline]
    pub(crate) fn take_stamps(&mut self, id: FrameId) -> Stamps {
        if self[id].is_stamped() { std::mem::take(self.stamps_of(id)) } else { Stamps::NONE }
    }

    /// Places that have been needed.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

impl Index<FrameId> for Frames {
    type Output = Frame;

    #[inline]
    fn index(&self, id: FrameId) -> &Frame {
        &self.places[id.0 as usize]
    }
}

impl IndexMut<FrameId> for Frames {
    #[inline]
    fn index_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.places[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fills_a_cache_line() {
        assert_eq!(size_of::<Frame>(), 64);
    }

    #[test]
    fn places_are_taken_again_the_last_one_first_and_have_no_old_stamps() {
        let mut frames = Frames::default();
        let [a, b] = [0, 1].map(|class| frames.put(Frame::pfc(class, true), Stamps::NONE));
        frames[a].stamp();
        frames.stamps_of(a).push(Hop::default());
        assert_eq!(frames.take_stamps(a).hops().len(), 1);
        frames.drop(a);
        frames.drop(b);
        assert_eq!(frames.put(Frame::pfc(2, true), Stamps::NONE), b);
        assert_eq!(frames.put(Frame::pfc(3, true), Stamps::NONE), a);
        assert_eq!((frames[a].class, frames[b].class, frames.len()), (3, 2, 2));
        assert!(frames.stamps_of(a).hops().is_empty());
    }
}

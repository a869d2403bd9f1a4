//! Frames and packets, as links and queues hold them.

use incast_cc::{Hop, Time};
use incast_queue::discipline::{self, Job};
use incast_transport::{Address, Form, Header, Kind, Stamps, Step, clock_ns};

use super::path::Path;
use incast_plan::{PFC_FRAME_BYTES, TRIMMED_BYTES};

/// A packet as it travels: by value, through links and queues.
///
/// A frame has the part that switches look at, and the packet's header. A packet without a compact
/// form is kept in [`Packets`], and so are stamps; the frame has their places instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) path: Path,
    /// The connection's index at the destination, and above it the upper bits of the destination.
    to: u32,
    sequence: u32,
    /// The packet's time of departure, or the place of its stamps, which have the time beside them.
    sent_ns: u32,
    /// The rest of the header, or the packet's place.
    rest: u32,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    /// The port by which the frame came in to the switch that it is at, or was at last.
    pub(crate) ingress: u16,
    /// The lower bits of the destination host. Unused in a PFC frame, which the next node consumes.
    destination: u16,
    /// The traffic class, the kind of content, the flags of the header, and the flags below.
    bits: u16,
}

/// The bits of a frame for the connection's index at the destination.
const CONNECTION: u32 = 28;
/// The most connections of a host, by the bits that a frame has for their index.
pub(crate) const MOST_CONNECTIONS: usize = 1 << CONNECTION;

/// The two fields of a frame that say where it goes: to a connection of a host, which has a number
/// of 20 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the upper bits are in the other field")]
const fn to(host: u32, connection: u32) -> (u32, u16) {
    debug_assert!(host >> 20 == 0 && connection >> CONNECTION == 0);
    (host >> 16 << CONNECTION | connection, host as u16)
}

/// The place of the kind of content, above the class. Of a packet that is kept in [`Packets`] it
/// says only whether the packet may be trimmed, as [`Kind::Data`] may.
const KIND: u32 = 3;
/// The place of the header's flags.
const HEADER_FLAGS: u32 = 6;
/// A flag: switches may mark the packet instead of dropping it (ECN-capable transport).
const ECT: u16 = (Header::ECT as u16) << HEADER_FLAGS;
/// A flag: a switch has marked the packet (ECN CE).
const MARKED: u16 = 1 << 9;
/// A flag: the frame's arrival at a host changes nothing but counters.
const QUIET: u16 = 1 << 10;
/// A flag: the packet has stamps, kept beside it.
const STAMPED: u16 = 1 << 11;
/// A flag: the frame's link fails before it arrives.
const CUT: u16 = 1 << 12;
/// A flag: the packet is kept in [`Packets`].
const STORED: u16 = 1 << 13;
/// The flags of packets that do not fit their frames.
const KEPT: u16 = STORED | STAMPED;
/// A flag: a PFC frame, for its class.
const PFC: u16 = 1 << 14;
/// A flag of a PFC frame: XOFF, otherwise XON.
const PAUSE: u16 = 1 << 15;
/// A flag of a packet whose link does not bring it: the link damages it, and does not fail.
const DAMAGED: u16 = PAUSE;

/// The kinds of content by the numbers that three bits hold: all there are, and the last of them
/// again for numbers that no packet has.
const KINDS: [Kind; 8] = {
    assert!(Kind::ALL.len() <= 8, "a frame has three bits for the kind of content");
    let mut kinds = [Kind::ALL[Kind::ALL.len() - 1]; 8];
    let mut number = 0;
    while number < Kind::ALL.len() {
        assert!(Kind::ALL[number] as usize == number, "kinds are listed by their numbers");
        kinds[number] = Kind::ALL[number];
        number += 1;
    }
    kinds
};

impl Frame {
    /// The content of an empty place.
    pub(crate) const NOTHING: Self = Self {
        path: Path::UNKNOWN,
        to: 0,
        sequence: 0,
        sent_ns: 0,
        rest: 0,
        wire: 0,
        ingress: 0,
        destination: 0,
        bits: 0,
    };

    /// The frame of a packet. The packet is stored if it has no compact form, and so are its
    /// stamps, where it has or gets some.
    #[expect(clippy::inline_always, reason = "a packet is long, and is made where it stays")]
    #[inline(always)]
    pub(crate) fn new(
        address: Address,
        wire: u16,
        class: u8,
        form: Form,
        stamps: Option<Stamps>,
        packets: &mut Packets,
    ) -> Self {
        let path = Path::from_bits(address.route);
        let mut frame = match &form {
            Form::Compact(header) => Self::compact(address, wire, class, header),
            Form::Full(_) => {
                let mut frame = Self::stored(form, packets);
                frame.bits |= u16::from(class);
                let (to, destination) = to(address.host, frame.to);
                Self { path, to, wire, destination, ..frame }
            }
        };
        if let Some(stamps) = stamps {
            let (sent_ns, payload) = (form.sent_ns(), form.payload());
            frame.bits |= STAMPED;
            frame.sent_ns = packets.put_stamped(Stamped { stamps, sent_ns, payload });
        }
        frame
    }

    /// The frame of a packet in the compact form.
    #[inline]
    pub(crate) fn compact(address: Address, wire: u16, class: u8, header: &Header) -> Self {
        let &Header { connection, sequence, sent_ns, rest, kind, flags, .. } = header;
        let quiet = header.is_quiet();
        let bits = u16::from(class)
            | (kind as u16) << KIND
            | u16::from(flags) << HEADER_FLAGS
            | if quiet { QUIET } else { 0 };
        let (to, destination) = to(address.host, connection);
        let (path, ingress) = (Path::from_bits(address.route), 0);
        Self { path, to, sequence, sent_ns, rest, wire, ingress, destination, bits }
    }

    /// Makes this the frame of the packet that lies a `step` further, and starts at `start`.
    #[inline]
    pub(crate) fn advance(&mut self, step: Step, start: Time) {
        self.sequence = self.sequence.wrapping_add(step.sequence);
        self.rest = self.rest.wrapping_add(step.rest);
        if step.is_timed {
            self.sent_ns = clock_ns(start);
        }
    }

    /// The frame of a packet that is stored, without path, size and class.
    #[cold]
    fn stored(form: Form, packets: &mut Packets) -> Self {
        let kind = if form.trimmed().is_some() { Kind::Data } else { Kind::Notification };
        let bits = STORED
            | (kind as u16) << KIND
            | if form.is_ect() { ECT } else { 0 }
            | if form.is_quiet() { QUIET } else { 0 };
        let (to, rest) = (form.connection(), packets.put(form));
        Self { to, rest, bits, ..Self::NOTHING }
    }

    pub(crate) const fn pfc(class: u8, pause: bool) -> Self {
        let bits = PFC | if pause { PAUSE } else { 0 } | class as u16;
        Self { wire: PFC_FRAME_BYTES, bits, ..Self::NOTHING }
    }

    /// The traffic class, from 0 for the lowest.
    #[inline]
    pub(crate) const fn class(&self) -> u8 {
        (self.bits % (1 << KIND)) as u8
    }

    /// Cuts the packet, which [may be cut](discipline::Packet::is_trimmable), to its header, which
    /// travels on in `class`. Switches no longer mark it, and the receiver looks at it on arrival.
    #[cold]
    pub(crate) fn trim(&mut self, class: u8, packets: &mut Packets) {
        packets.trim(self);
        let others = self.bits & !(QUIET | ECT | ((1 << HEADER_FLAGS) - 1));
        self.bits = others | (Kind::Trimmed as u16) << KIND | u16::from(class);
        self.wire = TRIMMED_BYTES;
    }

    /// The destination host.
    #[inline]
    pub(crate) const fn destination(&self) -> u32 {
        self.to >> CONNECTION << 16 | self.destination as u32
    }

    /// The connection's index at the destination.
    #[inline]
    pub(crate) const fn connection(&self) -> u32 {
        self.to % (1 << CONNECTION)
    }

    /// The packet's header; [`None`] if the frame has not got all of it. Data has headers of
    /// `header` bytes.
    #[inline]
    pub(crate) fn header(&self, header: u16) -> Option<Header> {
        if self.bits & KEPT == 0 { Some(self.own_header(header)) } else { None }
    }

    /// The header as the frame has it, of a packet that is not stored.
    #[inline]
    fn own_header(&self, header: u16) -> Header {
        let &Self { sequence, sent_ns, rest, wire, bits, .. } = self;
        let connection = self.connection();
        let kind = KINDS[(bits >> KIND) as usize % KINDS.len()];
        let payload = if kind.has_payload() { wire - header } else { 0 };
        #[expect(clippy::cast_possible_truncation, reason = "the lowest three bits")]
        let flags = (bits >> HEADER_FLAGS) as u8 % 8;
        Header { connection, sequence, sent_ns, rest, payload, kind, flags }
    }

    /// Whether switches may mark the packet instead of dropping it (ECN-capable transport).
    #[inline]
    pub(crate) const fn is_ect(&self) -> bool {
        self.bits & ECT != 0
    }

    #[inline]
    pub(crate) const fn is_pfc(&self) -> bool {
        self.bits & PFC != 0
    }

    pub(crate) const fn is_pause(&self) -> bool {
        self.bits & PAUSE != 0
    }

    #[inline]
    pub(crate) const fn is_marked(&self) -> bool {
        self.bits & MARKED != 0
    }

    /// Marks the packet: a queue has seen congestion. The receiver may have to answer at once, with
    /// a notification.
    pub(crate) const fn mark(&mut self) {
        self.bits = (self.bits | MARKED) & !QUIET;
    }

    #[inline]
    pub(crate) const fn is_stamped(&self) -> bool {
        self.bits & STAMPED != 0
    }

    /// Notes that the frame's link will have failed when it arrives.
    pub(crate) const fn cut(&mut self) {
        self.bits |= CUT;
    }

    /// Notes that the link damages the packet.
    pub(crate) const fn damage(&mut self) {
        self.bits |= CUT | DAMAGED;
    }

    /// Takes the damage to a packet back that has not started: the packet comes at another time.
    pub(crate) const fn mend(&mut self) {
        if self.is_damaged() {
            self.bits &= !(CUT | DAMAGED);
        }
    }

    /// Whether the frame is lost on its link.
    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.bits & CUT != 0
    }

    /// Whether the link damaged a packet that it lost.
    pub(crate) const fn is_damaged(&self) -> bool {
        self.bits & (DAMAGED | PFC) == DAMAGED
    }

    /// Whether the frame's arrival at a host changes nothing but counters: it is neither the last
    /// packet of a burst nor a retransmission, and nothing before it can be missing. So the host
    /// need not hear of it before the next frame arrives that is not quiet.
    #[inline]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.bits & QUIET != 0
    }

    /// Notes that a packet before this one may be missing, so that the receiver must look at it on
    /// arrival.
    #[inline]
    pub(crate) const fn disquiet(&mut self) {
        self.bits &= !QUIET;
    }
}

impl discipline::Packet for Frame {
    fn wire(&self) -> u64 {
        u64::from(self.wire)
    }

    fn is_trimmable(&self) -> bool {
        let is_data = (self.bits >> KIND) % 8 == Kind::Data as u16;
        is_data && self.wire > TRIMMED_BYTES && !self.is_pfc()
    }
}

/// Values that keep their places. Freed places are used again at once, so that few are in use, and
/// those are in the processor's caches.
#[derive(Debug)]
struct Pool<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Stores a value; returns its place.
    #[expect(clippy::inline_always, reason = "in the way of every packet with stamps")]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "as many packets do not fit the memory")]
    fn put(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = value;
            place
        } else {
            self.places.push(value);
            self.places.len() as u32 - 1
        }
    }

    /// The value at `place`, which is free from now on.
    #[inline]
    fn free(&mut self, place: u32) -> &mut T {
        self.free.push(place);
        &mut self.places[place as usize]
    }
}

/// The stamps of a packet, and what its frame has no room for.
#[derive(Debug)]
struct Stamped {
    stamps: Stamps,
    sent_ns: u32,
    /// The payload of the packet: ports stamp data alone.
    payload: u32,
}

/// The parts of packets that do not fit their frames, from the sending host to the receiving one.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    stored: Pool<Form>,
    stamped: Pool<Stamped>,
    /// Stamps without words, of packets that have arrived: others take their memory.
    spare: Vec<Stamps>,
}

impl Packets {
    fn put(&mut self, form: Form) -> u32 {
        self.stored.put(form)
    }

    #[expect(clippy::inline_always, reason = "in the way of every packet with stamps")]
    #[inline(always)]
    fn put_stamped(&mut self, stamped: Stamped) -> u32 {
        self.stamped.put(stamped)
    }

    /// The packet of a frame that is stored.
    pub(crate) fn stored(&self, frame: &Frame) -> &Form {
        debug_assert!(frame.bits & STORED != 0, "{frame:?}");
        &self.stored.places[frame.rest as usize]
    }

    /// The packet of a frame. Data has headers of `header` bytes.
    #[inline]
    pub(crate) fn form(&self, frame: &Frame, header: u16) -> Form {
        if frame.bits & STORED != 0 {
            return *self.stored(frame);
        }
        let own = frame.own_header(header);
        Form::Compact(match frame.bits & STAMPED {
            0 => own,
            _ => Header { sent_ns: self.stamped.places[frame.sent_ns as usize].sent_ns, ..own },
        })
    }

    /// Takes out the packet of a frame, with its stamps if it has some.
    #[expect(clippy::inline_always, reason = "a packet is long, and is made where it stays")]
    #[inline(always)]
    pub(crate) fn take(&mut self, frame: &Frame, header: u16) -> (Form, Option<Stamps>) {
        let form = self.form(frame, header);
        if frame.bits & STORED != 0 {
            self.stored.free(frame.rest);
        }
        let stamped = frame.is_stamped();
        (form, stamped.then(|| std::mem::take(&mut self.stamped.free(frame.sent_ns).stamps)))
    }

    /// The flow that a packet belongs to, and the bytes of the flow that remain. Hosts send packets
    /// in the full form for this. ACKs and control packets are separate from the data of their
    /// connection, which they may overtake.
    pub(crate) fn job(&self, frame: &Frame) -> Job {
        let remaining = match frame.bits & STORED {
            0 => 0,
            _ => match self.stored(frame) {
                Form::Full(packet) => u64::from(packet.remaining()),
                Form::Compact(_) => 0,
            },
        };
        let connection = u64::from(frame.connection()) << 1 | u64::from(remaining > 0);
        Job { flow: u64::from(frame.destination()) << 33 | connection, remaining }
    }

    /// Leaves the header of a frame's packet.
    fn trim(&mut self, frame: &Frame) {
        if frame.bits & STORED != 0 {
            let form = &mut self.stored.places[frame.rest as usize];
            *form = form.trimmed().unwrap_or(*form);
        }
        if frame.is_stamped() {
            self.stamped.places[frame.sent_ns as usize].payload = 0;
        }
    }

    /// Frees the places of a frame's packet, if it has any.
    #[inline]
    pub(crate) fn drop(&mut self, frame: &Frame) {
        if frame.bits & KEPT != 0 {
            self.free(frame);
        }
    }

    #[cold]
    fn free(&mut self, frame: &Frame) {
        if let (_, Some(stamps)) = self.take(frame, 0) {
            self.keep_spare_stamps(stamps);
        }
    }

    /// Takes out the packet of a frame that goes to another part of the network, with its stamps;
    /// [`None`] if nothing of it is stored.
    #[inline]
    pub(crate) fn remove(&mut self, frame: &Frame) -> Option<Stored> {
        (frame.bits & KEPT != 0).then(|| {
            let form = (frame.bits & STORED != 0).then(|| *self.stored.free(frame.rest));
            let stamped = frame.is_stamped().then(|| {
                let Stamped { stamps, sent_ns, payload } = self.stamped.free(frame.sent_ns);
                let stamps = std::mem::take(stamps);
                Stamped { stamps, sent_ns: *sent_ns, payload: *payload }
            });
            Stored { form, stamped }
        })
    }

    /// Keeps the packet of a frame that has come from another part: the inverse of
    /// [`remove`](Self::remove).
    pub(crate) fn take_in(&mut self, frame: &mut Frame, stored: Stored) {
        if let Some(form) = stored.form {
            frame.rest = self.put(form);
        }
        if let Some(stamped) = stored.stamped {
            frame.sent_ns = self.put_stamped(stamped);
        }
    }

    /// The payload and the stamps of a stamped frame's packet.
    #[inline]
    pub(crate) fn stamps_of(&mut self, frame: &Frame) -> (u32, &mut Stamps) {
        let Stamped { stamps, payload, .. } = &mut self.stamped.places[frame.sent_ns as usize];
        (*payload, stamps)
    }

    /// The last stamp of a frame's packet, if that is data which switches stamped.
    pub(crate) fn last_stamp(&self, frame: &Frame) -> Option<Hop> {
        let stamped = frame.is_stamped().then(|| &self.stamped.places[frame.sent_ns as usize]);
        let data = stamped.filter(|stamped| stamped.payload > 0)?;
        data.stamps.hops().last().copied()
    }

    /// Stamps without words, with the memory of others if there are any.
    #[inline]
    pub(crate) fn take_spare_stamps(&mut self) -> Stamps {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps the memory of stamps that nobody needs any more.
    #[inline]
    pub(crate) fn keep_spare_stamps(&mut self, mut stamps: Stamps) {
        if stamps.has_memory() {
            stamps.clear();
            self.spare.push(stamps);
        }
    }

    /// The number of places that have been needed so far.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.stored.places.len()
    }
}

/// The parts of a packet that its frame has no room for, on their way to another part of the
/// network.
pub(crate) struct Stored {
    form: Option<Form>,
    stamped: Option<Stamped>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_queue::discipline::Packet as _;
    use incast_transport::{Body, Packet};

    #[test]
    fn a_frame_is_half_a_cache_line() {
        assert_eq!(size_of::<Frame>(), 32);
    }

    fn header(kind: Kind, flags: u8) -> Header {
        let payload = if kind.has_payload() { 1_460 } else { 0 };
        Header { connection: 1, sequence: 2, sent_ns: 3, rest: 4, payload, kind, flags }
    }

    fn frame(form: Form, has_stamps: bool, packets: &mut Packets) -> Frame {
        let address = Address { host: 999_999, route: Path::labelled(7).bits() };
        let stamps = has_stamps.then(|| packets.take_spare_stamps());
        Frame::new(address, 1_500, 5, form, stamps, packets)
    }

    #[test]
    fn a_frame_has_all_of_its_header() {
        let mut packets = Packets::default();
        for &kind in Kind::ALL {
            for flags in 0..8 {
                let header = header(kind, flags);
                let mut frame = frame(Form::Compact(header), false, &mut packets);
                frame.mark();
                frame.cut();
                assert_eq!(frame.header(40), Some(header));
                assert_eq!((frame.class(), frame.destination(), frame.wire), (5, 999_999, 1_500));
                assert!(frame.is_marked() && frame.is_cut() && !frame.is_pfc());
                assert_eq!(frame.is_ect(), flags & Header::ECT != 0);
            }
        }
        assert_eq!(packets.len(), 0);
    }

    #[test]
    fn a_packet_without_a_compact_form_is_stored() {
        let mut packets = Packets::default();
        let packet = Packet { connection: 1, sent_ns: 3, body: Body::Notification };
        let frame = frame(Form::Full(packet), false, &mut packets);
        assert_eq!((frame.header(40), frame.connection()), (None, 1));
        assert_eq!(packets.stored(&frame), &Form::Full(packet));
        packets.drop(&frame);
        assert_eq!(packets.len(), 1);
    }

    #[test]
    fn a_packet_that_is_cut_keeps_what_its_header_says_and_is_heard_of() {
        let mut packets = Packets::default();
        let whole = header(Kind::Data, Header::ACK_REQUEST | Header::ECT);
        let left = Header { kind: Kind::Trimmed, payload: 0, flags: Header::ACK_REQUEST, ..whole };
        for form in [Form::Compact(whole), Form::Full(whole.packet(0))] {
            for has_stamps in [false, true] {
                let mut frame = frame(form, has_stamps, &mut packets);
                frame.mark();
                frame.ingress = 3;
                assert!(frame.is_trimmable() && frame.is_ect());
                frame.trim(6, &mut packets);
                assert_eq!((frame.class(), frame.wire, frame.ingress), (6, TRIMMED_BYTES, 3));
                assert_eq!((frame.destination(), frame.connection()), (999_999, 1));
                assert!(!frame.is_trimmable() && !frame.is_ect() && !frame.is_quiet());
                assert!(frame.is_marked() && frame.is_stamped() == has_stamps);
                assert_eq!(packets.form(&frame, 40).packet(0), left.packet(0));
                assert_eq!(frame.header(40).is_some(), form == Form::Compact(whole) && !has_stamps);
                if has_stamps {
                    assert_eq!(packets.stamps_of(&frame).0, 0, "the header is no data");
                }
                packets.drop(&frame);
            }
        }
        assert_eq!(packets.len(), 1, "a place for one at a time");
        assert_eq!(packets.stamped.places.len(), 1);
    }

    #[test]
    fn only_data_of_messages_that_is_longer_than_a_header_may_be_cut() {
        let mut packets = Packets::default();
        for &kind in Kind::ALL {
            let header = header(kind, 0);
            for form in [Form::Compact(header), Form::Full(header.packet(0))] {
                let mut frame = frame(form, false, &mut packets);
                assert_eq!(frame.is_trimmable(), kind == Kind::Data, "{form:?}");
                frame.wire = TRIMMED_BYTES;
                assert!(!frame.is_trimmable());
            }
        }
        assert!(!Frame::pfc(0, true).is_trimmable());
    }

    #[test]
    fn places_are_taken_again_the_last_one_first_and_have_no_old_stamps() {
        let mut packets = Packets::default();
        let form = Form::Compact(header(Kind::Data, 0));
        let [a, b] = [0, 1].map(|_| frame(form, true, &mut packets));
        packets.stamps_of(&a).1.push(Hop::default());
        let (taken, stamps) = packets.take(&a, 40);
        assert_eq!((taken, stamps.as_ref().unwrap().hops().len()), (form, 1));
        packets.keep_spare_stamps(stamps.unwrap());
        packets.stamps_of(&b).1.push(Hop::default());
        packets.drop(&b);
        let again = [2, 3].map(|_| frame(form, true, &mut packets));
        assert_eq!(again.map(|frame| frame.sent_ns), [b.sent_ns, a.sent_ns]);
        assert_eq!((packets.stamped.places.len(), packets.spare.len()), (2, 0));
        for frame in again {
            let (payload, stamps) = packets.stamps_of(&frame);
            assert!(payload == 1_460 && stamps.hops().is_empty() && stamps.has_memory());
        }
    }

    #[test]
    fn a_packet_moves_to_another_part_of_the_network_with_its_stamps() {
        let whole = header(Kind::Segment, Header::ECT);
        for form in [Form::Compact(whole), Form::Full(whole.packet(0))] {
            let [mut here, mut there] = [Packets::default(), Packets::default()];
            frame(form, true, &mut there); // another has the first place
            let mut moved = frame(form, true, &mut here);
            here.stamps_of(&moved).1.push(Hop::default());
            let stored = here.remove(&moved).unwrap();
            there.take_in(&mut moved, stored);
            let (arrived, stamps) = there.take(&moved, 40);
            assert_eq!((arrived, stamps.unwrap().hops().len()), (form, 1));
        }
    }
}

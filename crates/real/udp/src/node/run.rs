//! The datagrams of one send, while they are filled with frames.

use incast_cc::Time;

use super::departures::{Begun, Burst, Departures};
use super::peers::Link;
use super::port::{Port, Written};
use crate::socket::{MAX_SEND_BYTES, MAX_SEND_DATAGRAMS, Stamp};
use crate::wire::{Frame, HEADER_BYTES};

/// The way out of a node.
pub(super) struct Exit<'a> {
    pub(super) port: &'a mut Port,
    pub(super) departures: &'a mut Departures,
}

/// The datagrams of one send. All but the last have the same length.
#[derive(Debug)]
pub(super) struct Run {
    slot: u32,
    /// Whether the datagrams are in the higher class.
    urgent: bool,
    /// Bytes of the datagrams that are sealed.
    sealed: usize,
    /// The number of sealed datagrams.
    count: usize,
    /// The length of each of them.
    each: usize,
    /// Bytes of the datagram that is being filled.
    filled: usize,
    /// The bursts that begin.
    begun: Begun,
    /// The burst of the last packet that is to be stamped.
    last: Option<Burst>,
    /// Whether there is payload among the frames.
    has_data: bool,
}

impl Run {
    /// A send to the peer of a slot, without datagrams.
    pub(super) fn new(slot: u32, urgent: bool) -> Self {
        let begun = Begun::default();
        let filled = HEADER_BYTES;
        let (last, has_data) = (None, false);
        Self { slot, urgent, sealed: 0, count: 0, each: 0, filled, begun, last, has_data }
    }

    /// A send of one datagram, with no answers.
    pub(super) fn alone(slot: u32) -> Self {
        Self::new(slot, true)
    }

    /// Whether the datagrams are in the higher class.
    pub(super) const fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// The slot of the peer.
    pub(super) const fn slot(&self) -> u32 {
        self.slot
    }

    /// Whether this send is to the peer of a slot, in a class.
    pub(super) const fn is_to(&self, slot: u32, urgent: bool) -> bool {
        self.slot == slot && self.urgent == urgent
    }

    /// Adds a frame: a packet of a burst that is to be stamped, or anything else. A datagram that
    /// has no room for it is sealed, and a send without room for another datagram ends.
    pub(super) fn add(
        &mut self,
        link: &mut Link,
        exit: &mut Exit<'_>,
        frame: &Frame<'_>,
        burst: Option<Burst>,
    ) {
        let needs = frame.bytes() + link.session.overhead() - HEADER_BYTES;
        if self.filled + needs > self.most(link) && self.filled > HEADER_BYTES {
            self.seal(link, exit);
        }
        let full =
            self.count >= MAX_SEND_DATAGRAMS || self.sealed + self.most(link) > MAX_SEND_BYTES;
        if full || self.filled + needs > self.most(link) {
            self.end(link, exit);
            *self = Self::new(self.slot, self.urgent);
        }
        let room = exit.port.out.room().get_mut(self.sealed + self.filled..).unwrap_or_default();
        match frame.encode(room) {
            Ok(bytes) if self.filled + needs <= self.most(link) => self.filled += bytes,
            failed => debug_assert!(false, "{frame:?} does not fit: {failed:?}"),
        }
        self.has_data |= matches!(frame, Frame::Data(_));
        if let Some(begins) = burst
            && self.last != burst
        {
            self.begun.note(begins);
            self.last = burst;
        }
    }

    /// Notes when the clock was read for the answers, if a stamp is to tell how long after that
    /// they leave.
    pub(super) fn was_read(&mut self, at: Stamp) {
        self.begun.read = Some(at);
    }

    /// Notes that the pacing engine has set a time for the send.
    pub(super) fn is_due(&mut self, at: Time) {
        self.begun.due.get_or_insert(at);
    }

    /// The most bytes of the next datagram.
    const fn most(&self, link: &Link) -> usize {
        if self.count == 0 { link.datagram } else { self.each }
    }

    /// Ends the datagram that is being filled. It becomes as long as those before it.
    fn seal(&mut self, link: &mut Link, exit: &mut Exit<'_>) {
        let content = if self.count == 0 {
            self.filled - HEADER_BYTES
        } else {
            self.each - link.session.overhead()
        };
        self.finish(link, exit, content);
    }

    /// Ends the datagram that is being filled, with this many bytes of frames and padding.
    fn finish(&mut self, link: &mut Link, exit: &mut Exit<'_>, content: usize) {
        let room = exit.port.out.room().get_mut(self.sealed..).unwrap_or_default();
        if let Some(padding) = room.get_mut(self.filled..HEADER_BYTES + content) {
            padding.fill(0);
        }
        let bytes = match link.session.seal(room, content) {
            Ok(bytes) => bytes,
            Err(error) => return debug_assert!(false, "a batch has room: {error}"),
        };
        self.each = if self.count == 0 { bytes } else { self.each };
        self.sealed += bytes;
        self.count += 1;
        self.filled = HEADER_BYTES;
    }

    /// Sends a frame in a datagram of its own, which padding makes at least `bytes` long.
    pub(super) fn send_padded(
        mut self,
        link: &mut Link,
        exit: &mut Exit<'_>,
        frame: &Frame<'_>,
        bytes: usize,
    ) {
        let room = exit.port.out.room().get_mut(HEADER_BYTES..).unwrap_or_default();
        let content = bytes.saturating_sub(link.session.overhead()).max(frame.bytes());
        match frame.encode(room) {
            Ok(filled) => self.filled += filled,
            Err(error) => return debug_assert!(false, "a batch has room: {error}"),
        }
        self.finish(link, exit, content);
        self.end(link, exit);
    }

    /// Adds the datagrams to the batch.
    pub(super) fn end(&mut self, link: &mut Link, exit: &mut Exit<'_>) {
        if self.filled > HEADER_BYTES {
            self.finish(link, exit, self.filled - HEADER_BYTES);
        }
        if self.count == 0 {
            return;
        }
        let is_stamped = self.begun.any() || self.begun.read.is_some();
        let stamp = is_stamped.then(|| exit.departures.leave(self.begun));
        let segment = u16::try_from(self.each).ok().filter(|_| self.count > 1);
        let (to, is_urgent, has_data) = (link.address, self.urgent, self.has_data);
        exit.port.commit(&Written { to, segment, is_urgent, has_data, stamp }, self.sealed);
    }
}

//! Datagrams that come: to the transport, and from there to the messages.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use incast_cc::{Span, Time};
use incast_transport::{Body, Clock as RttClock, Event as Told, Packet, Report, message};

use super::departures::Arrival;
use super::inbox::{Arrived, BOOKS_BYTES, PLACE_BYTES, Piece, Untaken};
use super::names::PeerId;
use super::outbox::SENDING_BYTES;
use super::peers::{LANES, Owner, Peer, SHORT};
use super::port::MOST_RECEIVES;
use super::{Event, Gone, Incoming, Node, Sampled};
use crate::message::{HEAD_BYTES, Head, Kind as Message};
use crate::node::CallId;
use crate::options::Waiting;
use crate::socket::{Ecn, Stamp};
use crate::wire::{Close, Data, Frame, Frames, Header, Kind, LaneNumber, ProbeAnswer, Turnaround};

/// The most packets that one may be ahead of the oldest that is missing. Each that is missing
/// before it is asked for, so this bounds the work that a packet makes.
const MOST_AHEAD: u64 = 1 << 17;

impl Node {
    /// Receives what has come. Returns whether anything has.
    pub(super) fn receive(&mut self) -> io::Result<bool> {
        let Some(mut arrivals) = self.port.arrivals.take() else { return Ok(false) };
        let got = self.receive_into(&mut arrivals);
        self.port.arrivals = Some(arrivals);
        got
    }

    fn receive_into(&mut self, arrivals: &mut crate::socket::ReceiveBatch) -> io::Result<bool> {
        let got = self.port.socket.receive(arrivals)?;
        let was_woken = self.sleep.take_woken();
        if got == 0 {
            // A stamp that nobody awaits any more would end every sleep at once.
            return if was_woken { self.read_all_stamps().map(|()| false) } else { Ok(false) };
        }
        arrivals.limit(MOST_RECEIVES);
        // The stamps of data come before the ACKs that answer it.
        self.read_stamps()?;
        let now = self.clock.now();
        self.sleep.last_wait.came();
        self.timing.look(now, &self.endpoint);
        for received in arrivals.iter_mut() {
            let (from, marked) = (received.from, received.ecn == Ecn::Ce);
            let stamp = received.stamp;
            for datagram in received.into_datagrams() {
                self.counters.datagrams += 1;
                self.take_datagram(now, from, datagram, stamp, marked);
            }
        }
        self.tell_events();
        Ok(true)
    }

    /// Reads the stamps of what has left, if any are to come.
    pub(super) fn read_stamps(&mut self) -> io::Result<()> {
        let Self { port, endpoint, timing, clock, .. } = self;
        timing.read_stamps(&mut port.socket, *clock, endpoint)
    }

    /// Reads the stamps of what has left, whether any are to come or not.
    fn read_all_stamps(&mut self) -> io::Result<()> {
        let Self { port, endpoint, timing, clock, .. } = self;
        timing.read_all_stamps(&mut port.socket, *clock, endpoint)
    }

    fn take_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &mut [u8],
        stamp: Option<Stamp>,
        marked: bool,
    ) {
        let named = match Header::decode(datagram) {
            Ok((Header { kind: Kind::Sealed, to, .. }, _)) => self.peers.named(to),
            _ => return self.take_opening(now, from, datagram),
        };
        let peer = named.and_then(|slot| self.peers.at_mut(slot));
        let Some(Peer { id, link: Some(link), heard_at, is_heard, address, .. }) = peer else {
            self.counters.unknown += 1;
            return self.take_opening(now, from, datagram);
        };
        let id = *id;
        let Ok(content) = link.session.open(datagram) else {
            self.counters.refused += 1;
            return;
        };
        *heard_at = now;
        let (address, has_moved, is_first) = (*address, from != *address, !*is_heard);
        if is_first {
            self.peers.heard(id);
            self.events.push_back(Event::Opened { peer: id, address });
        }
        let arrival = Arrival {
            stamp_ns: stamp.or((!self.timing.has_stamps).then(Stamp::now)).map(|stamp| stamp.ns),
            time: stamp.and_then(|stamp| self.clock.stamped(stamp)),
        };
        let is_there = match Frames::of(content).only_data() {
            Some(data) => self.take_data(now, id, &data, arrival, marked),
            None => self.take_frames(now, id, from, content, arrival, marked),
        };
        if is_there.is_none() {
            return;
        }
        if has_moved && self.peers.get(id).is_some_and(|peer| peer.address != from) {
            self.ask_address(now, id, from);
        }
    }

    /// Takes in all frames of a datagram. Returns whether the peer is still there.
    fn take_frames(
        &mut self,
        now: Time,
        id: PeerId,
        from: SocketAddr,
        content: &[u8],
        arrival: Arrival,
        marked: bool,
    ) -> Option<()> {
        let mut asked = None;
        for frame in Frames::of(content) {
            let Ok(frame) = frame else {
                self.break_off(id);
                return None;
            };
            match &frame {
                Frame::Probe(probe) => asked = Some(probe.id),
                Frame::ProbeAnswer(answer) => {
                    if let Some(peer) = self.peers.get_mut(id) {
                        peer.take_probe_answer(now, from, answer.id);
                    }
                }
                frame => self.take_frame(now, id, frame, arrival, marked)?,
            }
        }
        // One answer, so that no datagram causes many.
        if let Some(id_of_probe) = asked {
            let overhead = self.peers.get(id)?.link.as_ref()?.session.overhead();
            let bytes = u16::try_from(content.len() + overhead).unwrap_or(u16::MAX);
            let turnaround = Turnaround::UNKNOWN;
            let answer = ProbeAnswer { id: id_of_probe, bytes, turnaround };
            self.send_frame(id, &Frame::ProbeAnswer(answer));
        }
        Some(())
    }

    /// Takes in a frame. Returns whether the peer is still there.
    fn take_frame(
        &mut self,
        now: Time,
        id: PeerId,
        frame: &Frame<'_>,
        arrival: Arrival,
        marked: bool,
    ) -> Option<()> {
        let peer = self.peers.get(id)?;
        let (address, lacks_stamps) = (peer.address, peer.stamping.lack().is_some());
        let clock = |turnaround: Turnaround| match (arrival.time, turnaround.span()) {
            // Times with the wait for a processor in them are better than none at all.
            _ if lacks_stamps => RttClock::Calls,
            (Some(time), Some(peer)) => RttClock::Stamps { arrived: Some(time), peer },
            _ => RttClock::Stamps { arrived: None, peer: Span::ZERO },
        };
        match frame {
            Frame::Data(data) => self.take_data(now, id, data, arrival, marked)?,
            Frame::Ack { lane, sent_ns, completions } => {
                let connection = self.sends(id, *lane)?;
                for completion in completions.as_slice() {
                    let body = Body::Message(message::Body::Ack(completion.ack));
                    let report =
                        Report { marked, clock: clock(completion.turnaround), ..Report::default() };
                    let packet = Packet { connection, sent_ns: *sent_ns, body };
                    self.endpoint.handle_packet(now, &packet, report);
                }
                if let Some(peer) = self.peers.get_mut(id) {
                    peer.stamping.answered();
                }
            }
            Frame::Nack(nack) => {
                let connection = self.sends(id, nack.lane)?;
                let body = Body::Message(message::Body::Nack(nack.report));
                let report = Report { marked, clock: clock(nack.turnaround), ..Report::default() };
                let packet = Packet { connection, sent_ns: nack.sent_ns, body };
                self.endpoint.handle_packet(now, &packet, report);
            }
            Frame::Notification { lane, sent_ns } => {
                let connection = self.sends(id, *lane)?;
                let packet = Packet { connection, sent_ns: *sent_ns, body: Body::Notification };
                self.endpoint.handle_packet(now, &packet, Report::default());
            }
            Frame::Probe(_) | Frame::ProbeAnswer(_) => {} // taken before
            Frame::Close(reason) => {
                let why = match reason {
                    Close::Done | Close::Shutdown => Gone::Closed(address),
                    Close::Protocol => Gone::Protocol(address),
                    Close::Overload => Gone::Overload(address),
                    Close::Narrow => Gone::Narrow { address, mtu: self.options.mtu },
                    Close::Stuck => Gone::Dropped(address),
                };
                self.forget(id, why);
                return None;
            }
        }
        Some(())
    }

    /// The connection of the transport that sends on a lane. A peer that names another lane is gone
    /// then.
    fn sends(&mut self, id: PeerId, lane: LaneNumber) -> Option<u32> {
        let lanes = &self.peers.get(id)?.lanes;
        let connection = lanes.get(lane.index()).map(|lane| lane.sends);
        if connection.is_none() {
            self.break_off(id);
        }
        connection
    }

    /// Takes in a packet of data. Returns whether the peer is still there.
    fn take_data(
        &mut self,
        now: Time,
        id: PeerId,
        data: &Data<'_>,
        arrival: Arrival,
        marked: bool,
    ) -> Option<()> {
        let peer = self.peers.get_mut(id)?;
        let Some(lane) = peer.lanes.get_mut(data.lane.index()) else {
            self.break_off(id);
            return None;
        };
        if let (SHORT, Waiting::Sleep { spin }) = (data.lane.index(), self.options.waiting) {
            self.sleep.last_wait.came_short(arrival.time.unwrap_or(now), spin);
        }
        let connection = lane.receives;
        let next = self.endpoint.awaits(connection)?;
        let &Data { message, length, offset, given_up, payload, .. } = data;
        if data.packet.sequence >= next.saturating_add(MOST_AHEAD) {
            self.counters.no_memory += 1;
            return Some(());
        }
        if length as usize > self.memory.longest() + HEAD_BYTES {
            self.break_off(id);
            return None;
        }
        let (memory, spare, waiting) = (&mut self.memory, &mut self.spare, &mut peer.waiting);
        let are_all_taken = peer.untaken == 0;
        let (is_refused, is_blamed) = (&mut lane.is_refused, peer.is_blamed);
        let admit = |bytes: usize, oldest: bool| {
            let admits = memory.admit(waiting, bytes, oldest, are_all_taken, is_blamed);
            *is_refused |= oldest && !admits;
            admits
        };
        let piece = Piece { message, length, offset, given_up, payload };
        match lane.inbox.take(piece, admit, |length| spare.memory(length)) {
            Ok(freed) => {
                peer.waiting -= freed;
                self.memory.free_arriving(freed);
            }
            Err(Untaken::NoMemory) => {
                self.counters.no_memory += 1;
                return Some(());
            }
            Err(Untaken::Wrong) => {
                self.break_off(id);
                return None;
            }
        }
        let packet = Packet {
            connection,
            sent_ns: data.sent_ns,
            body: Body::Message(message::Body::Data(data.packet)),
        };
        let report = Report { marked, ..Report::default() };
        self.endpoint.handle_packet(now, &packet, report);
        self.take_answers(now, arrival, data.timed);
        Some(())
    }

    /// Passes on the events of the transport.
    pub(super) fn tell_events(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            let Some(Owner { slot, lane }) = self.peers.owner(event.connection()) else { continue };
            let Some(peer) = self.peers.at_mut(slot) else { continue };
            let id = peer.id;
            let lane = &mut peer.lanes[lane.index() % LANES];
            match event {
                Told::Delivered { .. } => {
                    let arrived = lane.inbox.deliver();
                    peer.waiting = peer.waiting.saturating_sub(PLACE_BYTES);
                    self.memory.free_arriving(PLACE_BYTES);
                    match arrived {
                        Some(Arrived::Whole(message)) => self.deliver(id, &message),
                        Some(Arrived::GivenUp) => {}
                        None => self.break_off(id),
                    }
                }
                Told::Completed { .. } => {
                    if let Some(sending) = lane.outbox.acknowledged() {
                        self.memory.free_leaving(sending.length() + SENDING_BYTES);
                        self.tell_acknowledged(id, sending.token);
                    }
                }
                Told::Sampled { sample, .. } => {
                    let rtt = sample.rtt.network();
                    peer.sampled(rtt);
                    let clock = self.clock;
                    self.timing.sampled(|| {
                        let at = Duration::from_nanos(clock.now().since(Time::ZERO).as_ns());
                        Sampled { peer: id, at, rtt, rate: sample.rate }
                    });
                }
            }
        }
    }

    /// Hands a whole message to the application, or acts on it.
    fn deliver(&mut self, id: PeerId, message: &bytes::Bytes) {
        let all = message.len() + BOOKS_BYTES;
        let Some(head) = Head::decode(message) else {
            self.memory.free_arriving(all);
            return self.break_off(id);
        };
        self.spare.keep(message);
        let body = message.slice(HEAD_BYTES..);
        // The head is no memory of the application's.
        let mut freed = HEAD_BYTES;
        let patience =
            (head.patience_us > 0).then(|| Duration::from_micros(head.patience_us.into()));
        let event = match head.kind {
            Message::Call => Some(Event::Called {
                call: Incoming { peer: id, number: head.call, priority: head.priority },
                body,
                patience,
            }),
            Message::Note => Some(Event::Noted { peer: id, body, patience }),
            Message::Reply | Message::Refusal => {
                let call = CallId { peer: id, number: head.call };
                if !self.calls.end_call(call) {
                    freed = all; // nobody waits for it any more
                    None
                } else if head.kind == Message::Reply {
                    Some(Event::Replied { call, body })
                } else {
                    Some(Event::Refused { call, reason: body })
                }
            }
            Message::Cancel => {
                freed = message.len();
                self.withdraw_reply(id, head.call);
                let Head { call: number, priority, .. } = head;
                Some(Event::Cancelled { call: Incoming { peer: id, number, priority } })
            }
        };
        self.memory.free_arriving(freed);
        if let Some(peer) = self.peers.get_mut(id) {
            peer.waiting = peer.waiting.saturating_sub(freed);
            peer.untaken += all - freed;
            peer.messages += 1;
            peer.received += (message.len() - HEAD_BYTES) as u64;
        }
        self.events.extend(event);
    }

    /// Ends the connection to a peer that breaks the rules.
    fn break_off(&mut self, id: PeerId) {
        let Some(address) = self.peers.get(id).map(|peer| peer.address) else { return };
        self.say_close(id, Close::Protocol);
        self.forget(id, Gone::Protocol(address));
    }
}

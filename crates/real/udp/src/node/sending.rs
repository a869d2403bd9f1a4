//! Packets of the transport into datagrams, and datagrams into sends.
//!
//! Datagrams that go to one peer in one class leave in one send, which the kernel or the network
//! card cuts (`UDP_SEGMENT`). All of them but the last have to be of equal length: shorter ones are
//! padded.

use std::io;
use std::net::SocketAddr;

use incast_cc::{Span, Time};
use incast_transport::message::OutgoingBurst;
use incast_transport::{Body, message};

use super::answers::{Answer, frame_of};
use super::departures::{Arrival, Burst};
use super::names::PeerId;
use super::peers::{LANES, LONG, Lane, Owner, Peer, SHORT};
use super::port::BATCH_BYTES;
use super::run::{Exit, Run};
use super::stamping::Stamping;
use super::timing::Timing;
use super::{Node, overhead};
use crate::socket::Stamp;
use crate::wire::{Close, Data, Frame, MAX_COMPLETIONS};

/// The most batches that leave before datagrams are received again.
const MOST_BATCHES: usize = 4;
/// The class of long messages in the transport, as a mask.
const LONG_CLASS: u8 = 1 << LONG;
/// The time within which a send counts as due soon: that of a round without data, and more.
const SOON: Span = Span::from_us(20);
/// The bytes of long messages that leave before answers get their turn.
const LONG_BYTES: usize = 256 << 10;

impl Node {
    /// Sends what may leave now, but no more than some batches: acknowledgements that have come
    /// meanwhile are to be read. Returns whether there may be more.
    pub(super) fn send(&mut self, now: Time) -> io::Result<bool> {
        self.timing.look(now, &self.endpoint);
        self.endpoint.on_timer(now);
        if !self.flush()? {
            return Ok(false);
        }
        for _ in 0..MOST_BATCHES {
            // Short messages and answers leave before long ones are put together.
            let mut more = self.fill(now, !LONG_CLASS);
            more |= self.fill_answers();
            if !self.flush()? {
                return Ok(false);
            }
            more |= self.fill(now, LONG_CLASS);
            let idle = self.port.out.is_empty();
            if !self.flush()? || idle && !more {
                return Ok(false);
            }
            if !more && !self.endpoint.has_data(u8::MAX) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends the batch. Returns whether the kernel has taken all of it.
    fn flush(&mut self) -> io::Result<bool> {
        self.port.flush(&mut self.sleep.last_wait)
    }

    /// Puts data of some classes that may leave now into the batch. Returns whether there may be
    /// more.
    fn fill(&mut self, mut now: Time, classes: u8) -> bool {
        let mut run: Option<Run> = None;
        let most = if classes == LONG_CLASS { LONG_BYTES } else { BATCH_BYTES };
        let before = self.port.out.room().len();
        let more = loop {
            if !self.port.has_room() || before - self.port.out.room().len() >= most {
                break true;
            }
            if let Some(burst) = self.endpoint.poll_burst(now, classes) {
                self.add_burst(now, &mut run, &burst);
                continue;
            }
            // Short messages leave one after the other, each some nanoseconds after the last. The
            // clock is not read where nothing is due so soon.
            let next = self.endpoint.next_timer(now).filter(|&at| at <= now + SOON);
            now = if next.is_some() { self.clock.now() } else { now };
            if next.is_none_or(|at| at > now) {
                break false;
            }
            self.timing.look(now, &self.endpoint);
            self.endpoint.on_timer(now);
            if !self.endpoint.has_data(classes) {
                break false;
            }
        };
        self.end(run);
        more
    }

    /// Puts the answers that wait into the batch, but for those that have left with data. Returns
    /// whether there may be more.
    fn fill_answers(&mut self) -> bool {
        while self.peers.has_answers() {
            if !self.port.has_room() {
                return true;
            }
            if let Some(slot) = self.peers.take_answering() {
                self.end(Some(Run::new(slot, true)));
            }
        }
        false
    }

    /// Adds a frame that is not data to a run of the higher class.
    fn add(&mut self, run: &mut Option<Run>, slot: u32, frame: &Frame<'_>) {
        self.turn_to(run, slot, true);
        let Self { peers, port, timing, .. } = self;
        let link = peers.at_mut(slot).and_then(|peer| peer.link.as_mut());
        let (Some(run), Some(link)) = (run, link) else { return };
        let mut exit = Exit { port, departures: &mut timing.departures };
        run.add(link, &mut exit, frame, None);
    }

    /// Adds packets of a segment to a run.
    fn add_burst(&mut self, now: Time, run: &mut Option<Run>, burst: &OutgoingBurst) {
        let &OutgoingBurst { connection, sent_ns, segment, attempt, .. } = burst;
        let Some(Owner { slot, lane }) = self.peers.owner(connection) else { return };
        let (number, lane) = (lane, lane.index() % LANES);
        self.turn_to(run, slot, lane != LONG);
        let Self { peers, port, timing, options, scratch, counters, .. } = self;
        let Timing { departures, awaited, .. } = timing;
        let (Some(run), Some(peer)) = (run, peers.at_mut(slot)) else { return };
        let Peer { lanes, link: Some(link), stamping, .. } = peer else { return };
        let Lane { outbox, sampling, .. } = &mut lanes[lane];
        link.newest = link.newest.max(segment);
        let overhead = overhead(options);
        let due = awaited.take();
        // What is short, new and not paced is one of many.
        let thins = lane != LONG && attempt == 0 && due.is_none() && *stamping == Stamping::There;
        let begins = burst.indices.contains(0);
        let is_stamped = !thins || begins && sampling.asks(now, burst.payload());
        let stamped = Some(Burst { connection, sequence: segment, attempt }).filter(|_| is_stamped);
        for (at, packet) in burst.packets() {
            let length = packet.payload as usize;
            let Some((place, payload)) = outbox.read(at, length, scratch) else { continue };
            let frame = Frame::Data(Data {
                lane: number,
                sent_ns,
                packet,
                message: place.message,
                length: place.length,
                offset: place.offset,
                given_up: place.given_up,
                timed: is_stamped,
                payload,
            });
            counters.data_bytes += u64::from(packet.payload) + overhead;
            run.add(link, &mut Exit { port, departures }, &frame, stamped);
        }
        if let Some(due) = due {
            run.is_due(due);
        }
    }

    /// Makes sure that a run is to a peer in a class. Another one ends.
    fn turn_to(&mut self, run: &mut Option<Run>, slot: u32, urgent: bool) {
        if run.as_ref().is_none_or(|run| !run.is_to(slot, urgent)) {
            let before = run.replace(Run::new(slot, urgent));
            self.end(before);
        }
    }

    /// Ends a run: its datagrams are a send of the batch. The answers to its peer go along, last,
    /// since their turnaround ends now.
    fn end(&mut self, run: Option<Run>) {
        let Self { peers, port, timing, .. } = self;
        let Timing { departures, answer_delay, has_stamps, .. } = timing;
        let Some(mut run) = run else { return };
        let Some(peer) = peers.at_mut(run.slot()) else { return };
        let Peer { answers, link: Some(link), .. } = peer else { return };
        let mut exit = Exit { port, departures };
        if run.is_urgent() && !answers.is_empty() {
            let read = Stamp::now();
            let mut timed = answers.iter().filter(|answer| answer.is_timed()).peekable();
            let any = timed.peek().is_some();
            let of_short = timed.any(|answer| answer.lane.index() == SHORT);
            if *has_stamps && (of_short || any && answer_delay.asks()) {
                run.was_read(read);
            }
            let now = answer_delay.departure(read);
            let mut rest = &answers[..];
            while let Some(first) = rest.first() {
                let same = |other: &&Answer| {
                    matches!(other.body, Body::Message(message::Body::Ack(_)))
                        && other.lane == first.lane
                };
                let count = rest.iter().take_while(same).count().clamp(1, MAX_COMPLETIONS);
                let (these, others) = rest.split_at(count);
                rest = others;
                if let Some(frame) = frame_of(these, now) {
                    run.add(link, &mut exit, &frame, None);
                }
            }
            answers.clear();
        }
        run.end(link, &mut exit);
    }

    /// Sends a frame by itself, at once. It may be lost like any other.
    pub(super) fn send_frame(&mut self, peer: PeerId, frame: &Frame<'_>) {
        let is_open = self.peers.get(peer).is_some_and(Peer::is_open);
        if is_open && self.port.has_room() {
            let mut run = None;
            self.add(&mut run, peer.slot, frame);
            self.end(run);
        }
    }

    /// Tells a peer that its connection ends. It may not hear it.
    pub(super) fn say_close(&mut self, peer: PeerId, reason: Close) {
        self.send_frame(peer, &Frame::Close(reason));
        // An error of the socket shows at the next turn.
        drop(self.flush());
    }

    /// Sends a datagram outside open connections, at once.
    pub(super) fn send_opening(&mut self, to: SocketAddr, datagram: &[u8]) {
        self.port.add_opening(to, datagram);
    }

    /// Takes the answers that the transport has made to the packet that came last, whose RTT is
    /// measured if it is `timed`.
    pub(super) fn take_answers(&mut self, now: Time, arrival: Arrival, timed: bool) {
        while let Some(out) = self.endpoint.poll_reply(now, u8::MAX) {
            let Some(Owner { slot, lane }) = self.peers.owner(out.connection) else { continue };
            let packet = out.form.packet(0);
            let arrived_ns = arrival.stamp_ns.filter(|_| timed);
            let (sent_ns, body) = (packet.sent_ns, packet.body);
            self.peers.answer(slot, Answer { lane, sent_ns, body, arrived_ns });
        }
    }
}

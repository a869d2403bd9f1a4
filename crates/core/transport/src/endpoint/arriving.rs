//! Packets that arrive: what the receiver answers, and what the sender is told.

use incast_cc::{CongestionControl, Span, Time};

use super::{Connection, Endpoint, News, Reply, counted};
use crate::backlog::Posted;
use crate::connection::{Address, Delivered, Event, Opening, Role, Sample};
use crate::directory::Standing;
use crate::early::Early;
use crate::half::{Receiving, Sending};
use crate::halves::{Receiver, Sender};
use crate::packet::{Body, Form, Header, Kind, Packet, clock_ns};
use crate::random;
use crate::rate::Report;
use crate::stamps::Stamps;

impl<C: CongestionControl> Endpoint<C> {
    /// Takes in a packet that has arrived, in either form, with the network's report of it.
    #[inline]
    pub fn handle(&mut self, now: Time, form: &Form, report: Report<'_>) -> News {
        match form {
            Form::Compact(header) => self.handle_header(now, header, report),
            Form::Full(packet) => self.handle_packet(now, packet, report),
        }
    }

    /// Takes in a packet that has arrived with the words of switches. The ACK of data takes them
    /// along, and leaves others in `stamps`, for their memory.
    #[inline]
    pub fn handle_stamped(
        &mut self,
        now: Time,
        form: &Form,
        report: Report<'_>,
        stamps: &mut Stamps,
    ) -> News {
        if !form.is_data() {
            return self.handle(now, form, Report { stamps, ..report });
        }
        std::mem::swap(&mut self.stamps, stamps);
        let news = self.handle(now, form, report);
        std::mem::swap(&mut self.stamps, stamps);
        news
    }

    /// Takes in a packet that has arrived in the compact form.
    #[inline]
    pub fn handle_header(&mut self, now: Time, header: &Header, report: Report<'_>) -> News {
        let place = self.directory.place(header.connection);
        if !(report.marked && self.notifies) {
            if self.counts(header, report.marked) {
                return News::None;
            }
            if header.kind == Kind::Data
                && self.granter.is_none()
                && let Some(Receiver::Message(receiver)) = self.receivers.get_mut(place as usize)
                && let Some(ack) = receiver.take_last(now, header, report.marked)
            {
                return self.acknowledge(now, place, &ack);
            }
        }
        if header.kind == Kind::Segment
            && let Some(Receiver::Stream(receiver)) = self.receivers.get_mut(place as usize)
            && receiver.is_plain(header, report.marked)
            && !(report.marked && self.notifies)
        {
            return self.take_plain_segment(now, place, header, report.marked);
        }
        if header.kind == Kind::SegmentAck
            && let Some(connection) = self.connections.get_mut(place as usize)
            && let Some(Sender::Stream(sender)) = connection.sender.as_deref_mut()
            && sender.acknowledges(header, &self.config)
        {
            let (config, backlog, queued) = (&self.config, self.nic_backlog, sender.queued());
            let answered = sender.on_plain_ack(now, header, 0, config, report, backlog);
            self.nic_backlog = backlog + sender.queued() - queued;
            self.go_on(now, place, answered);
            return News::Now;
        }
        self.handle_whole(now, place, header, report)
    }

    /// Takes in a packet of a message that is the next one and needs no answer, and so no more than
    /// to be counted. Returns whether it is such a packet.
    #[expect(clippy::inline_always, reason = "in the way of every packet of a message")]
    #[inline(always)]
    pub fn counts(&mut self, header: &Header, marked: bool) -> bool {
        let place = self.directory.place(header.connection);
        match self.receivers.get_mut(place as usize) {
            Some(Receiver::Message(receiver)) if header.kind == Kind::Data => {
                receiver.take_plain(header, marked)
            }
            _ => false,
        }
    }

    /// Lets a stream go on after an ACK in order: it sends at once if it may.
    pub(super) fn go_on(&mut self, now: Time, place: u32, answered: (Option<Sample>, u32)) {
        let connection = &self.connections[place as usize];
        let sends_on = match connection.sender.as_deref() {
            Some(Sender::Stream(sender)) => sender.sends_on(now),
            Some(Sender::Message(_)) | None => false,
        };
        match answered {
            (Some(sample), 0) if sends_on && self.pacing.release_at_once(now, place) => {
                let connection = connection.index;
                self.push_event(Event::Sampled { connection, sample });
                self.reschedule_unless(now, place, true);
            }
            answered => self.tell_answered(now, place, false, answered),
        }
    }

    /// Takes in a packet in the compact form that has no way of its own.
    #[inline(never)]
    fn handle_whole(&mut self, now: Time, place: u32, header: &Header, report: Report<'_>) -> News {
        let Some(near) = self.sequence_at(place, header.kind) else {
            return self.handle_closed_header(now, header, report);
        };
        self.handle_packet(now, &header.packet(near), report)
    }

    /// Whether a packet changes nothing about data that is on its way to the wire: payload, the ACK
    /// of a segment that has left, or an ACK of the next data of a stream in order that tells
    /// nothing else.
    #[inline]
    pub(super) fn is_plain(&self, header: &Header) -> bool {
        match header.kind {
            Kind::Segment | Kind::Data | Kind::Trimmed | Kind::Ack => true,
            Kind::SegmentAck => {
                let place = self.directory.place(header.connection);
                let connection = self.connections.get(place as usize);
                match connection.and_then(|connection| connection.sender.as_deref()) {
                    Some(Sender::Stream(sender)) => sender.acknowledges(header, &self.config),
                    Some(Sender::Message(_)) | None => false,
                }
            }
            Kind::Notification | Kind::Credit => false,
        }
    }

    /// Whether a packet is a segment of a stream, of an open connection, that is not the next one.
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    pub fn is_after_a_gap(&self, form: &Form) -> bool {
        let sequence = match form {
            Form::Compact(header) if header.kind == Kind::Segment => header.sequence,
            Form::Full(Packet { body: body @ Body::Stream(_), .. }) if body.is_data() => {
                body.sequence() as u32
            }
            Form::Compact(_) | Form::Full(_) => return false,
        };
        let place = self.directory.place(form.connection());
        let receiver = self.receivers.get(place as usize);
        receiver.is_some_and(|receiver| sequence != receiver.expects() as u32)
    }

    /// The sequence number that packets of a kind are near to; [`None`] if their connection has no
    /// place.
    #[inline]
    fn sequence_at(&self, place: u32, kind: Kind) -> Option<u64> {
        if kind.is_data() {
            return Some(self.receivers.get(place as usize)?.expects());
        }
        let sender = &self.connections.get(place as usize)?.sender;
        Some(sender.as_ref().map_or(0, |sender| sender.acknowledged()))
    }

    /// Takes in a packet of a connection that has no place yet, or none any more.
    #[cold]
    fn handle_closed_header(&mut self, now: Time, header: &Header, report: Report<'_>) -> News {
        if !header.kind.is_data() {
            return News::Now; // an answer that nobody waits for
        }
        let Some(place) = self.opened(header.connection) else { return News::None };
        let news = self.handle_header(now, header, report);
        if matches!(self.directory.standing(header.connection), Standing::Open(_)) {
            self.leave(now, place);
        }
        news
    }

    /// Takes in a segment of a stream that is the next one, and needs no answer but an ACK.
    #[inline]
    fn take_plain_segment(&mut self, now: Time, place: u32, header: &Header, marked: bool) -> News {
        match self.answer_plain(now, place, header, marked) {
            Ok((ready_at, ack)) => self.queue_reply(now, ready_at, ack),
            Err(news) => news,
        }
    }

    /// Takes in a segment of a stream that is the next one. Returns its ACK, with the time at which
    /// that is ready, or the work that is left if it has none now.
    #[expect(clippy::inline_always, reason = "in the way of every segment, twice")]
    #[inline(always)]
    pub(super) fn answer_plain(
        &mut self,
        now: Time,
        place: u32,
        header: &Header,
        marked: bool,
    ) -> Result<(Time, Early), News> {
        let Receiver::Stream(receiver) = &mut self.receivers[place as usize] else {
            unreachable!("a segment of a stream")
        };
        let Some(ack) = receiver.take_plain(now, header, marked, &self.config.stream) else {
            let ack_at = receiver.alarm().unwrap_or(Time::MAX);
            let connection = &mut self.connections[place as usize];
            if !self.stamps.is_empty() {
                std::mem::swap(&mut connection.stamps, &mut self.stamps);
            }
            if ack_at >= connection.alarm {
                return Err(News::None);
            }
            connection.arm(now, ack_at, &mut self.alarms);
            return Err(News::Later);
        };
        Ok(self.prepared(now, place, &ack))
    }

    /// The ACK of the packet at hand in the compact form, with the time at which it is ready. `ack`
    /// has not got the peer's index.
    #[expect(clippy::inline_always, reason = "in the way of every segment, twice")]
    #[inline(always)]
    fn prepared(&mut self, now: Time, place: u32, ack: &Header) -> (Time, Early) {
        let Connection { index, ack_class, ref opening, .. } = self.connections[place as usize];
        let (class, &Opening { peer, address, ref terms, .. }) = (ack_class, opening);
        let header = Header { connection: peer, ..*ack };
        let early = Early { header, address, class, connection: index, begins: None };
        (self.ready_at(now, terms.scheme), early)
    }

    /// Queues the only answer to the packet at hand: an ACK in the compact form, without the peer's
    /// index.
    #[inline]
    fn acknowledge(&mut self, now: Time, place: u32, ack: &Header) -> News {
        let (ready_at, ack) = self.prepared(now, place, ack);
        self.queue_reply(now, ready_at, ack)
    }

    /// Queues an ACK that is ready at `ready_at`, with the stamps of the packet at hand.
    #[inline]
    pub(super) fn queue_reply(&mut self, now: Time, ready_at: Time, ack: Early) -> News {
        let Early { header, address, class, connection, .. } = ack;
        let full = self.config.full_packets.then(|| {
            let place = self.directory.place(connection);
            let near = self.receivers[place as usize].expects();
            Box::new(header.packet(near))
        });
        let (Address { host, route }, stamps) = (address, std::mem::take(&mut self.stamps));
        let reply = Reply { ready_at, host, route, header, connection, class, full, stamps };
        self.replies.push_back(reply);
        if self.has_reply(now, u8::MAX) { News::Now } else { News::Later }
    }

    /// The time at which a reply to a packet that has just arrived is ready.
    #[expect(clippy::inline_always, reason = "in the way of every answer")]
    #[inline(always)]
    fn ready_at(&mut self, now: Time, scheme: u8) -> Time {
        let ready_at = now + self.config.ack_turnaround;
        if self.most_jitter.is_zero() {
            return ready_at;
        }
        let jitter =
            if scheme == 0 { self.config.ack_jitter } else { self.scheme(scheme).ack_jitter };
        let late = random::below(&mut self.random, jitter.as_ps() + 1);
        let last = self.replies.back().map_or(Time::ZERO, |reply| reply.ready_at);
        (ready_at + Span::from_ps(late)).max(last) // ACKs do not overtake each other
    }

    /// Takes in a packet that has arrived in the full form.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet, report: Report<'_>) -> News {
        let place = self.directory.place(packet.connection);
        if !packet.body.is_data() {
            self.on_answer(now, place, packet, report);
            return News::Now;
        }
        let Some(receiver) = self.receivers.get_mut(place as usize) else {
            return self.handle_closed(now, packet, report);
        };
        let arrived = (&packet.body, report.marked);
        let (answers, messages) = (&mut self.answers, &mut self.messages);
        if !receiver.take(now, arrived, &self.config, answers, messages) {
            return News::None; // a packet of another transport
        }
        let (delays, answer_at) = (receiver.delays(), receiver.alarm());
        let grants = self.granter.is_some();
        if grants {
            self.note_data(now, packet, report.marked);
        }
        if delays && self.answers.is_empty() && !self.stamps.is_empty() {
            std::mem::swap(&mut self.connections[place as usize].stamps, &mut self.stamps);
        }
        let news = self.settle(now, place, report.marked);
        let connection = &mut self.connections[place as usize];
        if let Some(at) = answer_at {
            connection.arm(now, at, &mut self.alarms);
        }
        if connection.has_received() && (delays || news != News::None) {
            self.leave(now, place);
        }
        if (delays || grants) && news == News::None { News::Later } else { news }
    }

    /// Takes in a packet of a connection that has no place yet, or none any more.
    #[cold]
    fn handle_closed(&mut self, now: Time, packet: &Packet, report: Report<'_>) -> News {
        let Some(place) = self.opened(packet.connection) else { return News::None };
        let news = self.handle_packet(now, packet, report);
        if matches!(self.directory.standing(packet.connection), Standing::Open(_)) {
            self.leave(now, place);
        }
        news
    }

    /// Passes on the receiver's answers to a packet, if there are any.
    #[inline]
    fn settle(&mut self, now: Time, place: u32, marked: bool) -> News {
        if marked && self.notifies {
            self.notify(now, place);
        }
        if self.answers.is_empty() && self.messages.is_empty() {
            return News::None;
        }
        let hears = !self.messages.is_empty();
        self.reply(now, place);
        // A reply that is not ready yet counts as an alarm.
        if hears || self.has_reply(now, u8::MAX) { News::Now } else { News::Later }
    }

    /// Answers marked payload with a notification, unless one was sent within the interval.
    fn notify(&mut self, now: Time, place: u32) {
        let scheme = self.connections[place as usize].opening.terms.scheme;
        let interval = self.scheme(scheme).notification_interval;
        let connection = &mut self.connections[place as usize];
        if let Some(interval) = interval
            && now >= connection.notify_from
        {
            connection.notify_from = now + interval;
            self.answers.push(Body::Notification);
        }
    }

    pub(super) fn reply(&mut self, now: Time, place: u32) {
        let Connection { index, ack_class, ref opening, .. } = self.connections[place as usize];
        let (class, &Opening { peer, address, role, terms, .. }) = (ack_class, opening);
        let ready_at = self.ready_at(now, terms.scheme);
        let mut left = self.answers.len();
        for &body in &self.answers {
            let packet = Packet { connection: peer, sent_ns: clock_ns(now), body };
            let (header, full) = match Form::of(packet, self.config.full_packets) {
                Form::Compact(header) => (header, None),
                Form::Full(packet) => (Header::NONE, Some(Box::new(packet))),
            };
            left -= 1;
            let (connection, echoes) = (index, body.echoes() && !self.stamps.is_empty());
            let stamps = match left {
                _ if !echoes => Stamps::NONE,
                0 => std::mem::take(&mut self.stamps),
                _ => self.stamps.clone(),
            };
            let Address { host, route } = address;
            let reply = Reply { ready_at, host, route, header, connection, class, full, stamps };
            self.replies.push_back(reply);
        }
        self.answers.clear();
        for number in 0..self.messages.len() {
            let Delivered { read, due } = self.messages[number];
            let message = self.connections[place as usize].delivered;
            self.connections[place as usize].delivered += 1;
            if let Role::Responder { answers } = role {
                // The answer is a message of its own, paced here.
                if let Some(answers) = self.opened(answers) {
                    let deadline = due.time(now);
                    self.post_message(now, answers, &Posted { deadline, ..Posted::of(read) });
                }
            } else {
                self.push_event(Event::Delivered { connection: index, message });
            }
        }
        self.messages.clear();
    }

    /// Hands the peer's answer to the sender of the data.
    fn on_answer(&mut self, now: Time, place: u32, packet: &Packet, report: Report<'_>) {
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        let Some(sender) = &mut connection.sender else { return };
        let was_idle = sender.is_idle();
        let (config, backlog) = (&self.config, self.nic_backlog);
        let answer = |sender: &mut Sender<C>| {
            sender.on_answer(now, (&packet.body, packet.sent_ns), config, report, backlog)
        };
        let answered = counted(&mut self.nic_backlog, sender, answer);
        self.tell_answered(now, place, was_idle, answered);
    }

    /// Tells the application of an answer, and lets the sender that got it go on.
    #[inline]
    fn tell_answered(
        &mut self,
        now: Time,
        place: u32,
        was_idle: bool,
        (sample, messages): (Option<Sample>, u32),
    ) {
        let index = self.connections[place as usize].index;
        if let Some(sample) = sample {
            self.push_event(Event::Sampled { connection: index, sample });
        }
        let connection = &mut self.connections[place as usize];
        let Some(sender) = &connection.sender else { return };
        let rests = !was_idle && sender.is_idle() && connection.opening.role == Role::Sender;
        if rests {
            self.active -= 1;
            if let Some(metrics) = sender.rate().control().metrics().filter(|_| connection.expected)
            {
                let peer = connection.opening.address.host;
                self.paths.get_or_insert_default().note(peer, metrics);
            }
        }
        let before = connection.completed;
        connection.completed += u64::from(messages);
        for message in before..before + u64::from(messages) {
            self.push_event(Event::Completed { connection: index, message });
        }
        let connection = &mut self.connections[place as usize];
        let Some(sender) = &connection.sender else { return };
        if connection.opening.terms.once && connection.completed > 0 && sender.is_done() {
            connection.retransmissions = sender.retransmissions();
            connection.sender = None;
            self.pacing.schedule(place, None);
            return self.sent_all(place);
        }
        self.reschedule(now, place);
    }
}

//! A link with one sender, for tests: a FIFO queue of fixed rate and size that drops at its end,
//! and a carrier that keeps the contract's books.

use std::collections::VecDeque;

use crate::contract::{Ack, CongestionControl, Delivery, Loss, LossCause, Pacing, RttSample, Sent};
use crate::units::{Bytes, Rate, Span, Time};

/// The link.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) rate: Rate,
    /// Round trip of a packet that meets no queue, without its serialization.
    pub(crate) rtt: Span,
    pub(crate) buffer: Bytes,
    pub(crate) packet: Bytes,
}

/// The fate of a packet: acknowledged at `at`, or found lost then.
struct Packet {
    at: Time,
    lost: bool,
    end: Bytes,
    sent_at: Time,
    in_flight: Bytes,
    /// The base of the delivery-rate sample.
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
}

/// A sender that always has data.
pub(crate) struct Sender<C> {
    pub(crate) control: C,
    pub(crate) link: Link,
    pub(crate) now: Time,
    pub(crate) in_flight: Bytes,
    pub(crate) delivered: Bytes,
    pub(crate) lost: Bytes,
    pub(crate) last_rtt: Span,
    pub(crate) round: u64,
    packets: VecDeque<Packet>,
    transmitted: Bytes,
    round_at: Bytes,
    recovery_to: Bytes,
    last_sent: Option<Time>,
    free_at: Time,
    delivered_at: Time,
    first_sent_at: Time,
    srtt: Span,
    min_rtt: Span,
}

impl<C: CongestionControl> Sender<C> {
    pub(crate) fn new(control: C, link: Link) -> Self {
        Self {
            control,
            link,
            now: Time::ZERO,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            last_rtt: Span::ZERO,
            round: 0,
            packets: VecDeque::new(),
            transmitted: Bytes::ZERO,
            round_at: Bytes::ZERO,
            recovery_to: Bytes::ZERO,
            last_sent: None,
            free_at: Time::ZERO,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            srtt: Span::ZERO,
            min_rtt: Span::MAX,
        }
    }

    /// Runs for `span` and returns the share of the link's capacity that was delivered meanwhile.
    pub(crate) fn run(&mut self, span: Span) -> f64 {
        let (end, before) = (self.now + span, self.delivered);
        loop {
            let send_at = self.send_at();
            let event_at = self.packets.front().map_or(Time::MAX, |packet| packet.at);
            let next = send_at.min(event_at);
            if next > end {
                self.now = end;
                let capacity = self.link.rate.bytes_in(span).get() as f64;
                return (self.delivered - before).get() as f64 / capacity;
            }
            self.now = next;
            if event_at <= send_at {
                self.settle();
            } else {
                self.send();
            }
        }
    }

    fn send_at(&self) -> Time {
        let limits = self.control.limits();
        if !self.in_flight.is_zero() && self.in_flight + self.link.packet > limits.cwnd {
            return Time::MAX;
        }
        let gap = match limits.pacing {
            Pacing::Rate(rate) => rate.time_for(self.link.packet),
            _ => Span::ZERO,
        };
        self.last_sent.map_or(self.now, |at| (at + gap).max(self.now))
    }

    fn send(&mut self) {
        let (now, Link { rate, rtt, buffer, packet }) = (self.now, self.link);
        if self.in_flight.is_zero() {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        self.last_sent = Some(now);
        self.transmitted += packet;
        self.in_flight += packet;
        let starts_at = self.free_at.max(now);
        let lost = rate.bytes_in(starts_at.since(now)) + packet > buffer;
        if !lost {
            self.free_at = starts_at + rate.time_for(packet);
        }
        self.packets.push_back(Packet {
            at: self.free_at.max(now) + rtt,
            lost,
            end: self.transmitted,
            sent_at: now,
            in_flight: self.in_flight,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
        });
        let mut sent = Sent::new(now, packet, self.in_flight);
        sent.end = self.transmitted;
        self.control.on_sent(&sent);
    }

    fn settle(&mut self) {
        let Some(packet) = self.packets.pop_front() else { return };
        let bytes = self.link.packet;
        self.in_flight -= bytes;
        let first = packet.end - bytes;
        let in_recovery = packet.end <= self.recovery_to;
        if packet.lost {
            self.lost += bytes;
            let mut loss = Loss::new(self.now, packet.sent_at, bytes, LossCause::Detected);
            (loss.first, loss.end, loss.next) = (first, packet.end, self.transmitted);
            (loss.in_flight, loss.in_recovery) = (self.in_flight, in_recovery);
            if !in_recovery {
                self.recovery_to = self.transmitted;
            }
            self.control.on_loss(&loss);
            return;
        }
        self.delivered += bytes;
        if packet.end > self.round_at {
            self.round += 1;
            self.round_at = self.transmitted;
        }
        let rtt = self.now.since(packet.sent_at);
        self.last_rtt = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt.is_zero() { rtt } else { (self.srtt * 7 + rtt) / 8 };
        let interval =
            self.now.since(packet.delivered_at).max(packet.sent_at.since(packet.first_sent_at));
        (self.delivered_at, self.first_sent_at) = (self.now, packet.sent_at);

        let mut ack = Ack::new(self.now, packet.sent_at, bytes);
        (ack.first, ack.end, ack.next) = (first, packet.end, self.transmitted);
        ack.rtt = Some(RttSample { total: rtt, serialization: Span::ZERO, peer: Span::ZERO });
        (ack.srtt, ack.min_rtt, ack.round) = (self.srtt, self.min_rtt, self.round);
        (ack.in_flight, ack.delivered, ack.in_recovery) =
            (self.in_flight, self.delivered, in_recovery);
        ack.delivery = (interval >= self.min_rtt).then(|| Delivery {
            rate: Rate::of(self.delivered - packet.delivered, interval),
            in_flight_at_send: packet.in_flight,
            lost: Bytes::ZERO,
            app_limited: false,
        });
        self.control.on_ack(&ack);
    }
}

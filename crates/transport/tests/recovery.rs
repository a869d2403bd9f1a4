//! How soon a connection recovers, and that it does not recover from what did not happen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use incast_cc::{
    Ack, Bytes, CongestionControl, Flow, Limits, Loss, LossCause, Rate, Sent, Span, Spurious, Time,
};
use incast_transport::message::Data;
use incast_transport::{Body, Config, Endpoint, Event, Operation, Packet, Purpose, Report, Role};

const DELAY: Span = Span::from_us(5);
/// Between these moves the window of a test that has one: to the least at a loss, up by 10 KB an ACK.
const LEAST_WINDOW: Bytes = Bytes::from_kb(70);
const LARGEST_WINDOW: Bytes = Bytes::from_kb(400);

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// What an algorithm is told.
#[derive(Default)]
struct Told {
    /// With the window at that time.
    sent: Vec<(Sent, Bytes)>,
    limited_acks: u64,
    losses: Vec<Loss>,
    spurious: Vec<Spurious>,
    timer_calls: u64,
}

#[derive(Clone)]
struct Fixed {
    limits: Limits,
    told: Arc<Mutex<Told>>,
    timer: Option<(Time, Span)>,
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.told.lock().unwrap().limited_acks += u64::from(ack.cwnd_limited);
        if self.limits.cwnd < Bytes::MAX {
            self.limits.cwnd = (self.limits.cwnd + Bytes::from_kb(10)).min(LARGEST_WINDOW);
        }
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.told.lock().unwrap().sent.push((*sent, self.limits.cwnd));
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.told.lock().unwrap().losses.push(*loss);
        if self.limits.cwnd < Bytes::MAX {
            self.limits.cwnd = LEAST_WINDOW;
        }
    }
    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.told.lock().unwrap().spurious.push(*spurious);
    }
    fn limits(&self) -> Limits {
        self.limits
    }
    fn on_timer(&mut self, now: Time) {
        self.told.lock().unwrap().timer_calls += 1;
        self.timer = self.timer.map(|(_, every)| (now + every, every));
    }
    fn next_timer(&self) -> Option<Time> {
        self.timer.map(|(at, _)| at)
    }
}

/// A sender and a receiver on 10 Gb/s NICs.
struct Pair {
    ends: [Endpoint<Fixed>; 2],
    free_at: [Time; 2],
    wire: BTreeMap<(Time, u64), (usize, Packet)>,
    now: Time,
    sent: u64,
    turns: u64,
    delivered: Vec<Time>,
    told: Arc<Mutex<Told>>,
}

impl Pair {
    fn new(rate: Rate, timer: Option<Span>) -> Self {
        Self::with_limits(Limits::rate(rate), timer)
    }

    fn with_limits(limits: Limits, timer: Option<Span>) -> Self {
        let told = Arc::new(Mutex::new(Told::default()));
        let timer = timer.map(|every| (Time::ZERO + every, every));
        let fixed = Fixed { limits, told: told.clone(), timer };
        let end = |role| {
            let fixed = fixed.clone();
            let start = move |_: &Flow, _: Purpose| fixed.clone();
            let mut endpoint = Endpoint::new(Config::default(), Box::new(start));
            endpoint.open(role, 0);
            endpoint
        };
        Self {
            ends: [end(Role::Sender), end(Role::Receiver)],
            free_at: [Time::ZERO; 2],
            wire: BTreeMap::new(),
            now: Time::ZERO,
            sent: 0,
            turns: 0,
            delivered: Vec::new(),
            told,
        }
    }

    fn post(&mut self, operation: Operation) {
        self.ends[0].post(self.now, 0, operation);
    }

    /// Runs until `until`; `lose` decides on each packet, the sender's being from 0.
    fn run(
        &mut self,
        until: Time,
        delay: Span,
        mut lose: impl FnMut(usize, &Packet, Time) -> bool,
    ) {
        loop {
            let mut next = until;
            for from in 0..2 {
                let end = &mut self.ends[from];
                end.on_timer(self.now);
                if self.free_at[from] <= self.now
                    && let Some(out) = end.poll_transmit(self.now)
                {
                    let wire = Bytes::new(u64::from(out.packet.payload()) + 40);
                    self.free_at[from] = self.now + Rate::from_gbps(10).time_for(wire);
                    self.sent += 1;
                    if !lose(from, &out.packet, self.now) {
                        let arrives = self.free_at[from] + delay;
                        self.wire.insert((arrives, self.sent), (1 - from, out.packet));
                    }
                }
                while let Some(event) = end.poll_event() {
                    if matches!(event, Event::Delivered { .. }) {
                        self.delivered.push(self.now);
                    }
                }
                if end.has_data() || end.has_reply(self.now) {
                    next = next.min(self.free_at[from].max(self.now));
                }
                next = next.min(end.next_timer(self.now).unwrap_or(Time::MAX));
            }
            if let Some((&(arrives, _), _)) = self.wire.first_key_value() {
                next = next.min(arrives);
            }
            self.now = next;
            self.turns += 1;
            if next >= until {
                return;
            }
            while let Some(first) = self.wire.first_entry()
                && first.key().0 <= next
            {
                let (to, packet) = first.remove();
                self.ends[to].handle(next, &packet, Report::default());
            }
        }
    }
}

fn data(packet: &Packet) -> Option<&Data> {
    match &packet.body {
        Body::Data(data) => Some(data),
        _ => None,
    }
}

#[test]
fn lost_ack_in_a_busy_stream_is_repaired_by_the_next_one() {
    let mut pair = Pair::new(Rate::from_gbps(5), None);
    pair.post(Operation::Stream);
    let (mut lost_at, mut probed_at) = (None, None);
    pair.run(ms(20), DELAY, |from, packet, now| {
        if data(packet).is_some_and(|data| data.attempt > 0) {
            probed_at = probed_at.or(Some(now));
        }
        let lose = from == 1 && now > ms(1) && lost_at.is_none();
        lost_at = lost_at.or(lose.then_some(now));
        lose
    });
    // A segment takes 102.4 us at 5 Gb/s: the next ACK is as far away, and the probe behind a burst.
    let took = probed_at.unwrap().since(lost_at.unwrap());
    assert!(took < Span::from_us(250), "{took}");
    assert_eq!(pair.told.lock().unwrap().spurious.len(), 1, "the data had arrived");
}

#[test]
fn lost_retransmission_is_noticed_by_what_is_acknowledged_after_it() {
    let mut pair = Pair::new(Rate::from_gbps(1), None);
    for _ in 0..200 {
        pair.post(Operation::Write { bytes: 64_000 });
    }
    pair.run(ms(110), DELAY, |_, packet, _| {
        data(packet).is_some_and(|data| data.sequence == 50 && data.attempt < 2)
    });
    assert_eq!(pair.delivered.len(), 200);
    // The second message, lost twice: one segment time (0.5 ms) each, not a timeout.
    assert!(pair.delivered[1] < ms(4), "{}", pair.delivered[1]);
}

#[test]
fn dead_path_is_noticed_after_one_timeout() {
    let mut pair = Pair::new(Rate::from_gbps(5), None);
    pair.post(Operation::Stream);
    pair.run(ms(20), DELAY, |_, _, now| now > ms(1));
    let told = pair.told.lock().unwrap();
    let first = told.losses.first().unwrap();
    assert_eq!(first.cause, LossCause::Timeout);
    assert!(first.now < ms(1 + 4 + 1), "rto_min after the last answer, not {}", first.now);
}

#[test]
fn retransmission_that_waits_for_its_pacing_is_no_silence() {
    let mut pair = Pair::new(Rate::from_mbps(10), None);
    pair.post(Operation::Write { bytes: 128_000 });
    pair.run(ms(400), DELAY, |_, packet, _| {
        data(packet).is_some_and(|data| data.sequence == 3 && data.attempt == 0)
    });
    assert_eq!(pair.delivered.len(), 1);
    let causes: Vec<_> = pair.told.lock().unwrap().losses.iter().map(|loss| loss.cause).collect();
    assert_eq!(causes, [LossCause::Detected]);
}

#[test]
fn first_rtt_above_the_least_timeout_is_no_silence() {
    let mut pair = Pair::new(Rate::from_gbps(5), None);
    pair.post(Operation::Write { bytes: 640_000 });
    pair.run(ms(100), Span::from_ms(3), |_, _, _| false);
    assert_eq!(pair.delivered.len(), 1);
    assert_eq!(pair.told.lock().unwrap().losses, []);
}

#[test]
fn timers_of_an_algorithm_are_asked_for_once() {
    let mut pair = Pair::new(Rate::from_gbps(5), Some(Span::from_us(50)));
    pair.post(Operation::Stream);
    pair.run(ms(20), DELAY, |_, _, _| false);
    assert_eq!(pair.told.lock().unwrap().timer_calls, 399, "every 50 us");
    assert!(pair.turns < 4 * pair.sent, "{} turns for {} packets", pair.turns, pair.sent);
}

#[test]
fn window_is_kept_while_losses_are_repaired() {
    // Six segments of 64 KB fit, one after a loss; every 300th packet is lost.
    let mut pair = Pair::with_limits(Limits::window(LARGEST_WINDOW), None);
    for _ in 0..50 {
        pair.post(Operation::Write { bytes: 300_000 });
    }
    let mut packets = 0;
    pair.run(ms(500), DELAY, |from, _, _| {
        packets += u64::from(from == 0);
        from == 0 && packets % 300 == 0
    });
    assert_eq!(pair.delivered.len(), 50);
    let told = pair.told.lock().unwrap();
    assert!(told.losses.len() > 20 && told.sent.iter().any(|(sent, _)| sent.retransmission));
    for (sent, cwnd) in &told.sent {
        let alone = sent.in_flight == sent.bytes;
        assert!(sent.in_flight <= *cwnd || alone, "{sent:?} exceeds the window of {cwnd}");
    }
    assert!(told.limited_acks > 100, "the window, not the application, held the data back");
    assert!(told.sent.last().unwrap().0.app_limited && !told.sent[0].0.app_limited);
}

#[test]
fn a_window_that_a_loss_has_shrunk_below_incomplete_segments_does_not_stop_their_repair() {
    // Two segments of 44 packets, one lost of each. The reports come when 43 + 43 packets = 125 KB that
    // have arrived are still in flight by the books, and the window is down to 70 KB: no more than the
    // two packets are missing, and nothing else will ever be answered.
    let mut pair = Pair::with_limits(Limits::window(LARGEST_WINDOW), None);
    for _ in 0..2 {
        pair.post(Operation::Write { bytes: 64_000 });
    }
    pair.run(ms(2), DELAY, |_, packet, _| {
        data(packet).is_some_and(|data| matches!(data.sequence, 3 | 50) && data.attempt == 0)
    });
    assert_eq!(pair.delivered.len(), 2, "both, well before a timeout of 4 ms");
}

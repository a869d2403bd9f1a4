//! Messages that are taken back before all of them was sent.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::{Body, Config, Endpoint, Event, Operation, Report, Role, message};
use proptest::prelude::*;

use crate::common::plain::Plain;

/// Two ends of a wire without delay, and what they should know of each other.
struct World {
    now: Time,
    sends: Endpoint<Plain>,
    receives: Endpoint<Plain>,
    /// The lengths of the messages that were posted and not taken back, in order.
    posted: Vec<u64>,
    /// The payload that has left.
    left: u64,
    delivered: usize,
    completed: usize,
}

impl World {
    fn new() -> Self {
        let end = || {
            let plain = Plain::rate(Rate::from_gbps(1));
            let config = Config { segment: Bytes::new(4 * 1_460), ..Config::default() };
            Endpoint::new(config, Box::new(move |_, _| plain.clone()))
        };
        let (mut sends, mut receives) = (end(), end());
        assert_eq!((sends.open(Role::Sender, 0), receives.open(Role::Receiver, 0)), (0, 0));
        let (posted, left, delivered, completed) = Default::default();
        Self { now: Time::ZERO, sends, receives, posted, left, delivered, completed }
    }

    fn post(&mut self, bytes: u64) {
        self.sends.post(self.now, 0, Operation::Write { bytes });
        self.posted.push(bytes);
    }

    fn withdraw(&mut self, after: usize) {
        let taken = self.sends.withdraw(self.now, 0, after);
        let Some(place) = self.posted.len().checked_sub(after + 1) else {
            return assert_eq!(taken, None);
        };
        let before: u64 = self.posted[..place].iter().sum();
        match taken {
            Some(taken) if taken == self.posted[place] => {
                assert!(self.left <= before, "some of it has left");
                self.posted.remove(place);
            }
            Some(taken) => {
                self.posted[place] -= taken;
                assert!(self.left < before + self.posted[place], "a byte is to end it");
            }
            None => {}
        }
    }

    fn run(&mut self, time: Span) {
        let until = self.now + time;
        while self.now < until {
            while let Some(out) = self.sends.poll_transmit(self.now) {
                let Body::Message(message::Body::Data(data)) = out.form.packet(0).body else {
                    panic!("{:?}", out.form)
                };
                let at = self.sends.payload_at(0, data.sequence);
                assert_eq!(at, Some(self.left), "payload leaves in order and without gaps");
                self.left += u64::from(data.payload);
                self.receives.handle(self.now, &out.form, Report::default());
            }
            while let Some(answer) = self.receives.poll_transmit(self.now) {
                self.sends.handle(self.now, &answer.form, Report::default());
            }
            self.delivered += events(&mut self.receives);
            self.completed += events(&mut self.sends);
            let ends = [&self.sends, &self.receives].map(|end| end.next_timer(self.now));
            let next = ends.into_iter().flatten().fold(until, Time::min);
            self.now = next.max(self.now + Span::from_ns(1));
        }
    }
}

/// The messages that were delivered or completed.
fn events(endpoint: &mut Endpoint<Plain>) -> usize {
    let is_news = |event: &Event| !matches!(event, Event::Sampled { .. });
    std::iter::from_fn(|| endpoint.poll_event()).filter(is_news).count()
}

proptest! {
    #[test]
    fn what_is_taken_back_never_leaves_and_all_else_arrives(
        steps in prop::collection::vec((0..3_u8, 1..20_000_u64, 0..9_usize), 1..80),
    ) {
        let mut world = World::new();
        for (step, bytes, after) in steps {
            match step {
                0 => world.post(bytes),
                1 => world.withdraw(after),
                _ => world.run(Span::from_us(bytes / 200)),
            }
        }
        world.run(Span::from_ms(50));
        let bytes: u64 = world.posted.iter().sum();
        prop_assert_eq!((world.left, world.receives.delivered_bytes(0)), (bytes, bytes));
        let messages = world.posted.len();
        prop_assert_eq!((world.delivered, world.completed), (messages, messages));
        if let Some(sender) = world.sends.sender(0) {
            prop_assert!(sender.is_idle());
            prop_assert_eq!(sender.oldest_payload(), Some(bytes));
        }
        world.withdraw(0);
        prop_assert_eq!(world.posted.len(), messages, "all of it has left");
    }
}

#[test]
fn nothing_is_taken_back_where_nothing_waits() {
    let mut world = World::new();
    assert_eq!(world.sends.withdraw(Time::ZERO, 0, 0), None, "nothing was posted");
    world.sends.post(Time::ZERO, 0, Operation::Stream);
    assert_eq!(world.sends.withdraw(Time::ZERO, 0, 0), None, "it has no end");
}

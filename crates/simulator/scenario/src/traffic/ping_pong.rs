//! Ping-pong: pairs of hosts send a message back and forth, as benchmarks of latency do.
//!
//! The host of `from` sends, its partner answers as soon as the message has arrived, and the next
//! round begins when the answer has arrived.

use incast_cc::{Bytes, Span, Time};
use incast_plan::application::{Application, Finished, Outcome, Post, UnderWay};
use incast_plan::{Plan, PlannedApplication};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::deadline::DrawnDeadlines;
use super::{Kind, Settings};

/// Messages back and forth between pairs: the first host of `from` and the first of `to`, the
/// second and the second, and so on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingPong {
    /// The size of the message.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub size: Bytes,
    /// The size of the answer; that of the message if absent.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub answer: Option<Bytes>,
    /// The number of rounds of each pair.
    pub rounds: u32,
    /// The time from an answer to the next message.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub pause: Span,
}

impl Settings for PingPong {
    const NAME: &'static str = "ping-pong";
    const WITHOUT: &'static [&'static str] = &["stop"];
}

impl Kind for PingPong {
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        let (from, to) = (&checked.from, &checked.to);
        if from.len() != to.len() {
            let message =
                format!("{} hosts for {} of `from`; expected one for each", to.len(), from.len());
            return Err(checked.at("to", message));
        }
        if let Some((&host, _)) = from.iter().zip(to).find(|(a, b)| a == b) {
            let name = &checked.net.hosts[host as usize];
            let message = format!("{name:?} would be its own partner; expected other hosts");
            return Err(checked.at("to", message));
        }
        checked.in_range("rounds", self.rounds, (1, 1_000_000))?;
        let connections = 2 * from.len() as u64;
        Ok(Counts { connections, messages: connections * u64::from(self.rounds) })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let (message, answer) = (self.size, self.answer.unwrap_or(self.size));
        for (&host, &partner) in context.sources.iter().zip(&context.destinations) {
            let there = context.flow(host, partner, Some(message)).add_to(plan);
            let back = context.flow(partner, host, Some(answer)).add_to(plan);
            let (rounds, pause, start) = (self.rounds, self.pause, context.start());
            let [deadlines, of_answers] = [host, partner].map(|host| context.deadlines_of(host));
            // Each application is told of messages that arrive at its own host, on its slot 0.
            let player = plan.next_application(host, context.number);
            plan.flows.follow(back, false, (player, 0));
            plan.applications.push(PlannedApplication::new(host, move |flows| Player {
                connection: flows[there as usize].posting(),
                message,
                deadlines,
                rounds,
                pause,
                next: start,
                posted: None,
                finished: Vec::new(),
            }));
            let answering = plan.next_application(partner, context.number);
            plan.flows.follow(there, false, (answering, 0));
            plan.applications.push(PlannedApplication::new(partner, move |flows| Partner {
                connection: flows[back as usize].posting(),
                answer,
                deadlines: of_answers,
            }));
        }
        None
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let round = self.size.get() + self.answer.unwrap_or(self.size).get();
        let rounds = links.hosts.0 as f64 * f64::from(self.rounds);
        Sent::messages(rounds * round as f64, None)
    }
}

/// The host that begins each round.
#[derive(Debug)]
struct Player {
    connection: u32,
    message: Bytes,
    deadlines: DrawnDeadlines,
    rounds: u32,
    pause: Span,
    /// The time of the next message.
    next: Time,
    /// The time of the message whose answer has not arrived yet.
    posted: Option<Time>,
    finished: Vec<Finished>,
}

impl Application for Player {
    fn next_timer(&self) -> Time {
        let more = self.begun() < u64::from(self.rounds);
        if self.posted.is_none() && more { self.next } else { Time::MAX }
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Post>) {
        if self.next_timer() <= now {
            self.posted = Some(now);
            let (connection, bytes) = (self.connection, self.message.get());
            let deadline = self.deadlines.draw(self.message);
            posts.push(Post { at: now, connection, bytes, deadline });
        }
    }

    /// Ends the round: the answer has arrived.
    fn on_outcome(&mut self, now: Time, _slot: u32, _outcome: Outcome, _posts: &mut Vec<Post>) {
        let Some(posted) = self.posted.take() else { return };
        let (kind, completed, bytes) = (PingPong::NAME, now, self.message);
        let deadline = None;
        self.finished.push(Finished { kind, posted, completed, bytes, fan_out: 2, deadline });
        self.next = now + self.pause;
    }

    fn finished(&self) -> &[Finished] {
        &self.finished
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let (kind, bytes) = (PingPong::NAME, self.message);
        let (fan_out, missing, deadline) = (2, 1, None);
        let round = |posted| UnderWay { kind, posted, bytes, fan_out, missing, deadline };
        self.posted.map(round).into_iter().collect()
    }

    fn begun(&self) -> u64 {
        self.finished.len() as u64 + u64::from(self.posted.is_some())
    }
}

/// The host that answers.
#[derive(Debug)]
struct Partner {
    connection: u32,
    answer: Bytes,
    deadlines: DrawnDeadlines,
}

impl Application for Partner {
    fn on_outcome(&mut self, now: Time, _slot: u32, _outcome: Outcome, posts: &mut Vec<Post>) {
        let (connection, bytes) = (self.connection, self.answer.get());
        let deadline = self.deadlines.draw(self.answer);
        posts.push(Post { at: now, connection, bytes, deadline });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_round_begins_a_pause_after_the_answer_and_the_last_one_ends() {
        let mut player = Player {
            connection: 3,
            message: Bytes::new(64),
            deadlines: DrawnDeadlines::none(),
            rounds: 2,
            pause: Span::from_us(5),
            next: at(1),
            posted: None,
            finished: Vec::new(),
        };
        let mut posts = Vec::new();
        for (begin, end) in [(at(1), at(10)), (at(15), at(24))] {
            assert_eq!(player.next_timer(), begin);
            player.on_timer(begin, &mut posts);
            assert_eq!((player.next_timer(), player.under_way()[0].posted), (Time::MAX, begin));
            player.on_outcome(end, 0, Outcome::Received, &mut posts);
        }
        assert_eq!((player.next_timer(), player.under_way().len()), (Time::MAX, 0));
        let rounds: Vec<_> = player.finished().iter().map(|r| (r.posted, r.completed)).collect();
        assert_eq!(rounds, [(at(1), at(10)), (at(15), at(24))]);
        assert_eq!(
            posts.iter().map(|post| (post.connection, post.bytes)).collect::<Vec<_>>(),
            [(3, 64); 2]
        );
    }
}

//! A member of a ring all-reduce: every host sends a chunk to its successor, 2 (N - 1) times. Each
//! chunk but the first leaves when the chunk of the previous step has arrived from the predecessor.
//! (N - 1 steps reduce, N - 1 distribute the result: Patarasuk and Yuan, "Bandwidth optimal
//! all-reduce algorithms for clusters of workstations", 2009.)

use incast_cc::{Bytes, Span, Time};

use crate::traffic::deadline::DrawnDeadlines;
use incast_plan::application::{Application, Finished, Outcome, Post, UnderWay};

/// The name of a round in results.
const ALL_REDUCE: &str = "all-reduce";

#[derive(Debug)]
pub(super) struct Member {
    /// The connection to the successor.
    connection: u32,
    /// The bytes that are reduced, and the bytes of a chunk.
    bytes: Bytes,
    chunk: Bytes,
    /// The number of chunks that a round sends.
    steps: u64,
    /// The number of rounds, and the time from the end of one to the start of the next.
    rounds: u64,
    compute: Span,
    /// The deadlines of chunks.
    deadlines: DrawnDeadlines,
    /// The number of chunks so far, over all rounds.
    sent: u64,
    received: u64,
    /// The start of the current round.
    starts: Time,
    started: u64,
    finished: Vec<Finished>,
}

impl Member {
    /// A member of a ring of `members` that reduces `bytes`, `rounds` times, from `start` on.
    pub(super) fn new(
        connection: u32,
        members: u64,
        bytes: Bytes,
        rounds: u64,
        compute: Span,
        start: Time,
        deadlines: DrawnDeadlines,
    ) -> Self {
        Self {
            connection,
            bytes,
            chunk: Bytes::new(bytes.get().div_ceil(members)),
            steps: 2 * (members - 1),
            rounds,
            compute,
            deadlines,
            sent: 0,
            received: 0,
            starts: start,
            started: 0,
            finished: Vec::new(),
        }
    }

    /// Sends the chunks that may leave now, and ends the round with its last chunk.
    fn send(&mut self, now: Time, posts: &mut Vec<Post>) {
        let (first, end) = (self.steps * (self.started.max(1) - 1), self.steps * self.started);
        // The first chunk of a round leaves at once, each other chunk when that of the previous
        // step has arrived.
        while self.sent < end && (self.sent == first || self.sent <= self.received) {
            self.sent += 1;
            let (connection, bytes) = (self.connection, self.chunk.get());
            let deadline = self.deadlines.draw(self.chunk);
            posts.push(Post { at: now, connection, bytes, deadline });
        }
        if self.started > self.finished.len() as u64 && self.received >= end {
            self.finished.push(Finished {
                kind: ALL_REDUCE,
                posted: self.starts,
                completed: now,
                bytes: self.bytes,
                fan_out: self.fan_out(),
                deadline: None,
            });
            self.starts = now + self.compute;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "twice the hosts")]
    const fn fan_out(&self) -> u32 {
        self.steps as u32
    }
}

impl Application for Member {
    fn next_timer(&self) -> Time {
        let ended = self.finished.len() as u64;
        if self.started == ended && ended < self.rounds { self.starts } else { Time::MAX }
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Post>) {
        if self.next_timer() <= now {
            self.starts = now;
            self.started += 1;
            self.send(now, posts);
        }
    }

    /// Takes the predecessor's next chunk, which has arrived.
    fn on_outcome(&mut self, now: Time, _: u32, outcome: Outcome, posts: &mut Vec<Post>) {
        if outcome == Outcome::Received {
            self.received += 1;
            self.send(now, posts);
        }
    }

    fn finished(&self) -> &[Finished] {
        &self.finished
    }

    /// The round that has started and has not ended.
    #[expect(clippy::cast_possible_truncation, reason = "at most the fan-out")]
    fn under_way(&self) -> Vec<UnderWay> {
        let missing = (self.steps * self.started).checked_sub(self.received);
        let runs = self.started > self.finished.len() as u64;
        let round = missing.filter(|_| runs).map(|missing| UnderWay {
            kind: ALL_REDUCE,
            posted: self.starts,
            bytes: self.bytes,
            fan_out: self.fan_out(),
            missing: missing as u32,
            deadline: None,
        });
        round.into_iter().collect()
    }

    fn begun(&self) -> u64 {
        self.started
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn each_chunk_waits_for_that_of_the_step_before() {
        let none = DrawnDeadlines::none();
        let mut member = Member::new(3, 3, Bytes::new(10), 2, Span::from_us(50), at(1), none);
        let mut posts = Vec::new();
        member.on_timer(at(1), &mut posts);
        assert_eq!(posts.len(), 1, "the first chunk");
        assert_eq!(posts[0].bytes, 4, "a third, rounded up");
        for received in 1..4 {
            member.on_outcome(at(10), 0, Outcome::Received, &mut posts);
            assert_eq!(posts.len(), received + 1);
        }
        // Three hosts need four steps. The last chunk to arrive ends the round, and triggers no
        // other.
        assert!(member.finished().is_empty());
        let [round] = member.under_way()[..] else { panic!("{member:?}") };
        assert_eq!((round.posted, round.fan_out, round.missing), (at(1), 4, 1));
        member.on_outcome(at(20), 0, Outcome::Received, &mut posts);
        assert_eq!(member.under_way(), []);
        assert_eq!((posts.len(), member.finished().len()), (4, 1));
        // The predecessor is ahead: its chunk waits until this member's round starts.
        assert_eq!(member.next_timer(), at(70));
        member.on_outcome(at(60), 0, Outcome::Received, &mut posts);
        assert_eq!(posts.len(), 4);
        member.on_timer(at(70), &mut posts);
        assert_eq!(posts.len(), 6, "the first, and the one for the chunk that came early");
    }
}

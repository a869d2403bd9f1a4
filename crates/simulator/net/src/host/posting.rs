//! The messages that a host posts: planned messages, and messages of its applications.

use incast_cc::Time;
use incast_plan::application::{ENDLESS, Outcome, Post};
use incast_plan::flows::Operation as Direction;
use incast_transport::Operation;

use super::{Host, Planned, Posted};
use crate::Transit;
use crate::parcels::Content;

impl Host {
    /// Posts the planned messages that are due.
    #[cold]
    pub(super) fn post_planned(&mut self, now: Time, transit: &mut Transit) {
        while self.next_post_at <= now {
            let Some(post) = self.posts.pop() else { break };
            self.next_post_at = self.posts.last().map_or(Time::MAX, |post| post.at);
            if self.posts.len() < self.posts.capacity() / 2 {
                self.posts.shrink_to_fit(); // each is moved once, all in all
            }
            let Planned { at, bytes, connection, deadline } = post;
            let deadline = self.flows.deadlines().get(deadline);
            self.post(now, Post { at, bytes, connection, deadline }, transit);
        }
    }

    /// Notes the planned messages that are due before `end` as posted, and sends none of them.
    pub(crate) fn only_post(&mut self, end: Time) {
        self.next_post_at = Time::MAX;
        for Planned { at, bytes, connection, deadline } in
            std::mem::take(&mut self.posts).into_iter().rev()
        {
            if at < end {
                let flow = self.flow(connection);
                let deadline = self.deadlines.number(self.flows.deadlines().get(deadline));
                self.posted.push(Posted { flow, at, bytes, deadline });
            }
        }
    }

    /// Whether nothing is left that this host posts by itself.
    pub(crate) fn rests(&self) -> bool {
        self.posts.is_empty() && self.applications_at == Time::MAX
    }

    /// Notes when the first application has something to do. Its calls alone change that.
    pub(super) fn note_applications(&mut self) {
        let timers = self.applications.iter().map(|application| application.next_timer());
        self.applications_at = timers.min().unwrap_or(Time::MAX);
    }

    #[cold]
    pub(super) fn wake_applications(&mut self, now: Time, transit: &mut Transit) {
        for application in &mut self.applications {
            if application.next_timer() <= now {
                application.on_timer(now, &mut self.due);
            }
        }
        self.note_applications();
        self.post_due(now, transit);
    }

    pub(super) fn post(&mut self, now: Time, post: Post, transit: &mut Transit) {
        let Post { bytes, connection, deadline, .. } = post;
        let flow = self.flow(connection);
        let number = self.deadlines.number(deadline);
        self.posted.push(Posted { flow, at: now, bytes, deadline: number });
        self.outstanding += i64::from(bytes != ENDLESS);
        if self.berth.is_some() && self.is_over_island(connection) {
            let content = match self.flows[flow as usize].operation {
                Direction::Write => Content::Message(bytes),
                Direction::Read => Content::Request(bytes),
            };
            return self.post_over_island(now, connection, content, transit);
        }
        let operation = match (self.flows[flow as usize].operation, bytes) {
            (Direction::Write, ENDLESS) => Operation::Stream,
            (Direction::Write, bytes) => Operation::Write { bytes },
            (Direction::Read, ENDLESS) => Operation::ReadStream,
            (Direction::Read, bytes) => Operation::Read { bytes },
        };
        self.endpoint.post_due(now, connection, operation, deadline.map(|span| now + span));
    }

    /// Posts the messages that applications have just decided on.
    #[inline]
    pub(super) fn post_due(&mut self, now: Time, transit: &mut Transit) {
        if !self.due.is_empty() {
            self.post_all_due(now, transit);
        }
    }

    #[cold]
    pub(super) fn post_all_due(&mut self, now: Time, transit: &mut Transit) {
        let mut due = std::mem::take(&mut self.due);
        due.drain(..).for_each(|post| self.post(now, post, transit));
        self.due = due;
    }

    pub(super) fn tell(&mut self, now: Time, connection: u32, outcome: Outcome) {
        let flow = self.flow(connection);
        let at_source = self.flows[flow as usize].source == self.number;
        if let Some((number, slot)) = self.flows.follower(flow, at_source)
            && self.is_data(connection)
        {
            let application = &mut self.applications[number as usize];
            application.on_outcome(now, slot, outcome, &mut self.due);
            self.note_applications();
        }
    }
}

//! Applications that act on what happens at their own host: clients that ask servers, members of a
//! collective operation, flows that wait for others.
//!
//! An application has no clock and no socket. Its host tells it what happened, and it answers with
//! [`Post`]s. Messages that are known before the run starts need no application.

use std::fmt::Debug;

use incast_cc::{Bytes, Span, Time};

use crate::record::Record;

/// A message that is posted on a connection of a host.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// The moment of posting.
    pub at: Time,
    /// Payload, or [`ENDLESS`].
    pub bytes: u64,
    /// The host's number of the connection.
    pub connection: u32,
    /// The time that the message has from posting to completion.
    pub deadline: Option<Span>,
}

/// The size of a message that lasts until the end of time.
pub const ENDLESS: u64 = u64::MAX;

/// An event on a slot of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A message has arrived here.
    Received,
    /// A message that was sent from here has been acknowledged.
    Sent,
}

/// A request, or a round of a collective, that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// The kind's name in results: "read", "write", "all-reduce".
    pub kind: &'static str,
    /// The moment of asking.
    pub posted: Time,
    /// The moment at which the last of its messages was complete.
    pub completed: Time,
    /// Payload, counted once, however many servers send it.
    pub bytes: Bytes,
    /// The number of messages that the request took.
    pub fan_out: u32,
    /// The time that it had.
    pub deadline: Option<Span>,
}

/// A request, or a round of a collective, that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The kind's name in results.
    pub kind: &'static str,
    /// The moment of asking.
    pub posted: Time,
    /// Payload.
    pub bytes: Bytes,
    /// The number of messages that the request takes.
    pub fan_out: u32,
    /// The number of messages that are not complete yet.
    pub missing: u32,
    /// The time that the request has from asking to completion.
    pub deadline: Option<Span>,
}

/// A step that awaits an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaiting {
    /// The number of the step in its round.
    pub step: u32,
    /// The slot.
    pub slot: u32,
    /// The outcome.
    pub outcome: Outcome,
}

/// A program on one host. It refers to its connections by slots, which it numbers itself.
pub trait Application: Debug + Send {
    /// The next moment at which [`on_timer`](Self::on_timer) has something to do; [`Time::MAX`]
    /// where there is none.
    fn next_timer(&self) -> Time {
        Time::MAX
    }

    /// Acts at the moment of [`next_timer`](Self::next_timer). Adds messages to `posts`.
    fn on_timer(&mut self, _now: Time, _posts: &mut Vec<Post>) {}

    /// Reacts to a message of a slot that has arrived or has been acknowledged. Adds messages to
    /// `posts`.
    fn on_outcome(&mut self, now: Time, slot: u32, outcome: Outcome, posts: &mut Vec<Post>);

    /// Requests and rounds that are complete, in the order of completion.
    fn finished(&self) -> &[Finished] {
        &[]
    }

    /// Requests and rounds that are not complete, in the order of asking.
    fn under_way(&self) -> Vec<UnderWay> {
        Vec::new()
    }

    /// The record of an application that does steps.
    fn record(&self) -> Option<&Record> {
        None
    }

    /// The steps that await an outcome at this moment, in the order of slots.
    fn awaiting(&self) -> Vec<Awaiting> {
        Vec::new()
    }

    /// The number of requests and rounds that have begun.
    fn begun(&self) -> u64 {
        0
    }
}

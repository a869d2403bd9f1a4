//! Applications that act on what happens at their own host: clients that ask servers, members of a
//! collective operation, flows that wait for others. What is known in advance when the run starts is a list
//! of [`Post`](super::host::Post)s instead.

mod chain;
mod client;
mod ring;

use incast_cc::{Bytes, Time};

pub(crate) use chain::{Awaited, Chain, Dependent, Trigger};
pub(crate) use client::{Client, Pace, Server, Slots, Workload};
pub(crate) use ring::Member;

use super::host::Post;

/// An application on one host. It knows its connections by slots, numbers of its own.
#[derive(Debug)]
pub(crate) enum Application {
    Client(Box<Client>),
    Member(Member),
    Chain(Chain),
}

/// What happened on one of an application's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A message has arrived here.
    Received,
    /// A message that was sent from here has been acknowledged.
    Sent,
}

/// Something that an application asked for as a whole and has got: a request, a round of a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    pub(crate) kind: RequestKind,
    pub(crate) posted: Time,
    pub(crate) completed: Time,
    pub(crate) bytes: Bytes,
    /// Messages that it took.
    pub(crate) fan_out: u32,
}

/// Something of that kind which is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnderWay {
    pub(crate) kind: RequestKind,
    pub(crate) posted: Time,
    pub(crate) bytes: Bytes,
    /// Messages that it takes.
    pub(crate) fan_out: u32,
    /// Those of them that are not complete.
    pub(crate) missing: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Read,
    Write,
    AllReduce,
    Incast,
}

impl RequestKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::AllReduce => "all-reduce",
            Self::Incast => "incast",
        }
    }
}

impl Application {
    /// When [`on_timer`](Self::on_timer) has something to do; [`Time::MAX`] when nothing.
    pub(crate) fn next_timer(&self) -> Time {
        match self {
            Self::Client(client) => client.next_timer(),
            Self::Member(member) => member.next_timer(),
            Self::Chain(_) => Time::MAX,
        }
    }

    pub(crate) fn on_timer(&mut self, now: Time, posts: &mut Vec<Post>) {
        match self {
            Self::Client(client) => client.on_timer(now, posts),
            Self::Member(member) => member.on_timer(now, posts),
            Self::Chain(_) => {}
        }
    }

    pub(crate) fn on_outcome(
        &mut self,
        now: Time,
        slot: u32,
        outcome: Outcome,
        posts: &mut Vec<Post>,
    ) {
        match self {
            Self::Client(client) => client.on_outcome(now, slot, outcome),
            Self::Member(member) if outcome == Outcome::Received => member.on_received(now, posts),
            Self::Member(_) => {}
            Self::Chain(chain) => chain.on_outcome(now, slot, outcome, posts),
        }
    }

    /// What it has got so far.
    pub(crate) fn finished(&self) -> &[Finished] {
        match self {
            Self::Client(client) => client.finished(),
            Self::Member(member) => member.finished(),
            Self::Chain(_) => &[],
        }
    }

    /// What it has asked for and not got yet, in the order of asking.
    pub(crate) fn under_way(&self) -> Vec<UnderWay> {
        match self {
            Self::Client(client) => client.under_way(),
            Self::Member(member) => member.under_way().into_iter().collect(),
            Self::Chain(_) => Vec::new(),
        }
    }

    /// Requests and rounds that it has begun.
    pub(crate) fn begun(&self) -> u64 {
        match self {
            Self::Client(client) => client.begun(),
            Self::Member(member) => member.begun(),
            Self::Chain(_) => 0,
        }
    }
}

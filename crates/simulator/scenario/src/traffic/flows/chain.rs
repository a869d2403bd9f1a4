//! Flows that start when other flows have arrived or have been acknowledged at the same host.

use incast_cc::{Span, Time};

use incast_plan::application::{Application, Outcome, Post};

/// The waiting flows of a host.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The waiting flows of each slot.
    pub(super) triggers: Vec<Vec<Trigger>>,
    pub(super) dependents: Vec<Dependent>,
}

/// A flow that waits for an outcome of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trigger {
    pub(super) outcome: Outcome,
    pub(super) dependent: u32,
}

/// A waiting flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependent {
    pub(super) connection: u32,
    pub(super) bytes: u64,
    pub(super) deadline: Option<Span>,
    pub(super) awaited: Awaited,
}

/// The number of outcomes that a flow still waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The flow starts after this number of outcomes.
    More(u32),
    /// The flow has started.
    Nothing,
}

impl Application for Chain {
    fn on_outcome(&mut self, now: Time, slot: u32, outcome: Outcome, posts: &mut Vec<Post>) {
        for trigger in self.triggers[slot as usize].iter().filter(|t| t.outcome == outcome) {
            let dependent = &mut self.dependents[trigger.dependent as usize];
            match dependent.awaited {
                Awaited::More(more) if more > 1 => dependent.awaited = Awaited::More(more - 1),
                Awaited::More(_) => {
                    dependent.awaited = Awaited::Nothing;
                    let Dependent { connection, bytes, deadline, .. } = *dependent;
                    posts.push(Post { at: now, connection, bytes, deadline });
                }
                Awaited::Nothing => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_starts_once_all_that_it_waits_for_has_happened() {
        let trigger = |outcome| vec![Trigger { outcome, dependent: 0 }];
        let mut chain = Chain {
            triggers: vec![trigger(Outcome::Received), trigger(Outcome::Sent)],
            dependents: vec![Dependent {
                connection: 7,
                bytes: 9,
                deadline: None,
                awaited: Awaited::More(2),
            }],
        };
        let mut posts = Vec::new();
        let now = Time::from_ps(5);
        chain.on_outcome(now, 0, Outcome::Received, &mut posts);
        chain.on_outcome(now, 1, Outcome::Received, &mut posts); // waits for it to be sent
        assert!(posts.is_empty());
        chain.on_outcome(now, 1, Outcome::Sent, &mut posts);
        chain.on_outcome(now, 1, Outcome::Sent, &mut posts);
        let [post] = posts[..] else { panic!("{posts:?}") };
        assert_eq!((post.connection, post.bytes), (7, 9));
    }
}

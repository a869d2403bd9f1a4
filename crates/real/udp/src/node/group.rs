//! Several nodes that one thread drives in turn.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use super::sleep::Due;
use super::{Event, Node};
use crate::options::Waiting;
use crate::socket::Poll;

/// Nodes that one thread drives in turn. It sleeps for all of them, and looks at those alone that
/// something came for, or that are due.
pub struct Group {
    nodes: Vec<Node>,
    due: Vec<Due>,
    poll: Poll,
}

impl Group {
    /// A group of nodes, numbered from zero.
    pub fn new(nodes: Vec<Node>) -> Self {
        let now = Instant::now();
        let due = vec![Due { at: now, wake: now }; nodes.len()];
        let poll = Poll::of(nodes.iter().map(|node| node.port.socket.as_fd()));
        Self { nodes, due, poll }
    }

    /// The number of nodes.
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node, which the next turn looks at: it may have something to send.
    ///
    /// # Panics
    ///
    /// If there is no node of that number.
    pub fn node(&mut self, number: usize) -> &mut Node {
        let now = Instant::now();
        self.due[number] = Due { at: now, wake: now };
        &mut self.nodes[number]
    }

    /// Sends and receives what can be, and waits until a node has an event, but no longer than until
    /// `deadline`. Read all [events](Self::poll_event) before the next turn.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of a socket.
    pub fn turn(&mut self, deadline: Instant) -> io::Result<()> {
        loop {
            let wake = self.due.iter().map(|due| due.wake).fold(deadline, Instant::min);
            self.poll.wait(wake.saturating_duration_since(Instant::now()))?;
            let mut is_news = false;
            for (number, node) in self.nodes.iter_mut().enumerate() {
                if self.poll.is_ready(number) || self.due[number].at <= Instant::now() {
                    self.due[number] = node.step()?;
                }
                is_news |= !node.events.is_empty();
            }
            if is_news || Instant::now() >= deadline {
                return Ok(());
            }
        }
    }

    /// The next event, with the number of its node. Its message no longer counts towards the memory
    /// of the node, whose acknowledgements the next turn sends.
    pub fn poll_event(&mut self) -> Option<(usize, Event)> {
        let number = self.nodes.iter().position(|node| !node.events.is_empty())?;
        let event = self.node(number).poll_event()?;
        Some((number, event))
    }
}

impl Node {
    /// Sends and receives once. Returns the times at which the node is due again.
    fn step(&mut self) -> io::Result<Due> {
        let now = self.clock.now();
        if self.round(now)? || self.options.waiting == Waiting::Spin {
            let now = Instant::now();
            return Ok(Due { at: now, wake: now });
        }
        // A stamp that is not read would end the next sleep at once.
        self.read_stamps()?;
        Ok(self.due(now))
    }

    /// The instant from which the times of [samples](Self::take_samples) count.
    pub const fn started(&self) -> Instant {
        self.clock.start()
    }
}

//! The times of what leaves and comes: send times that are waited for, stamps of departures, RTTs.

use std::io;

use incast_cc::Time;
use incast_transport::recording::RecordedEndpoint;

use super::answer_delay::AnswerDelay;
use super::departures::Departures;
use super::event::Sampled;
use super::lateness::{Awaited, Lateness};
use crate::clock::Clock;
use crate::socket::Socket;

/// The times of what a node sends and receives.
#[derive(Debug)]
pub(super) struct Timing {
    /// Whether the kernel stamps what leaves and what comes.
    pub(super) has_stamps: bool,
    /// The sends whose stamps are to come.
    pub(super) departures: Departures,
    /// The time that the kernel takes to send an answer.
    pub(super) answer_delay: AnswerDelay,
    /// The send time that is waited for.
    pub(super) awaited: Awaited,
    pub(super) lateness: Lateness,
    /// The RTT samples since they were taken, where they are kept.
    samples: Option<Vec<Sampled>>,
}

impl Timing {
    pub(super) fn new(has_stamps: bool) -> Self {
        Self {
            has_stamps,
            departures: Departures::default(),
            answer_delay: AnswerDelay::default(),
            awaited: Awaited::default(),
            lateness: Lateness::default(),
            samples: None,
        }
    }

    /// Forgets what is awaited, for a clock that begins anew. What was measured stays.
    pub(super) fn begin_anew(&mut self) {
        self.departures = Departures::default();
        self.answer_delay = AnswerDelay::default();
        self.awaited = Awaited::default();
    }

    /// Looks at the next send time, before the transport does.
    pub(super) fn look(&mut self, now: Time, endpoint: &RecordedEndpoint) {
        self.awaited.look(now, endpoint.next_send_time());
    }

    /// Reads the stamps of what has left, if any are to come.
    pub(super) fn read_stamps(
        &mut self,
        socket: &mut Socket,
        clock: Clock,
        endpoint: &mut RecordedEndpoint,
    ) -> io::Result<()> {
        if self.departures.are_known() || !socket.features().send_stamps {
            return Ok(());
        }
        self.read_all_stamps(socket, clock, endpoint)
    }

    /// Reads the stamps of what has left, whether any are to come or not.
    pub(super) fn read_all_stamps(
        &mut self,
        socket: &mut Socket,
        clock: Clock,
        endpoint: &mut RecordedEndpoint,
    ) -> io::Result<()> {
        socket.sent_stamps(|sent| {
            let begun = self.departures.left(sent.key);
            if let Some(read) = begun.read {
                self.answer_delay.left(read, sent.stamp);
            }
            let Some(at) = clock.stamped(sent.stamp) else { return };
            if let Some(due) = begun.due {
                self.lateness.add(at.max(due).since(due));
            }
            for burst in begun.bursts() {
                endpoint.on_sent_at(burst.connection, burst.sequence, burst.attempt, at);
            }
        })?;
        Ok(())
    }

    /// Keeps RTT samples from now on.
    pub(super) fn keep_samples(&mut self) {
        self.samples.get_or_insert_default();
    }

    /// Keeps an RTT sample, if they are kept.
    pub(super) fn sampled(&mut self, sample: impl FnOnce() -> Sampled) {
        if let Some(samples) = &mut self.samples {
            samples.push(sample());
        }
    }

    /// Takes the RTT samples that are kept.
    pub(super) fn take_samples(&mut self) -> Vec<Sampled> {
        self.samples.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

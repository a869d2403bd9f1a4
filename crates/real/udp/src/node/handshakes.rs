//! Handshakes: those that this node begins, and its end of those that others begin.

use std::net::SocketAddr;
use std::time::Duration;

use incast_cc::{Span, Time};

use crate::clock::span;
use crate::place;
use crate::security::{Answer, End, Handshake, Listener, PeerKey, SecurityError, fresh_id};
use crate::wire::ConnectionId;

/// The time before a hello is sent again the first time; it doubles from then on.
const FIRST_RETRY: Span = Span::from_ms(20);
/// The longest time between two hellos.
const LAST_RETRY: Span = Span::from_ms(500);
/// The time after which nothing answers at an address.
const ANSWER_WITHIN: Span = Span::from_secs(3);
/// The most datagrams between two looks at silent peers that say that a connection is not known.
const MOST_UNKNOWNS: u32 = 64;

/// A handshake that this node has begun.
pub(super) struct Greeting {
    pub(super) handshake: Handshake,
    /// The time at which the hello is sent again.
    pub(super) again_at: Time,
    /// The time between the last two hellos.
    pub(super) wait: Span,
    /// The time at which it is given up.
    pub(super) until: Time,
    /// Whether the kernel does not send to the address.
    pub(super) is_refused: bool,
}

impl Greeting {
    /// Notes that the hello is sent again now.
    pub(super) fn send_again(&mut self, now: Time) {
        self.wait = (self.wait * 2).min(LAST_RETRY);
        self.again_at = now + self.wait;
    }
}

impl std::fmt::Debug for Greeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Greeting").field("until", &self.until).finish_non_exhaustive()
    }
}

/// This end of handshakes.
pub(super) struct Handshakes {
    end: End,
    /// The end of handshakes that others begin, if they may.
    listener: Option<Listener>,
    /// The datagrams since the last look at silent peers by which peers do not know a connection.
    unknowns: u32,
}

impl Handshakes {
    /// Handshakes of an end, which others may begin if it `listens`.
    pub(super) fn new(end: End, listens: bool) -> Result<Self, SecurityError> {
        let listener = listens.then(|| Listener::new(end.clone())).transpose()?;
        Ok(Self { end, listener, unknowns: 0 })
    }

    /// Forgets the cookies of a clock that begins anew.
    pub(super) fn begin_anew(&mut self) {
        let listener = self.listener.is_some().then(|| Listener::new(self.end.clone()));
        // Without random numbers the old one goes on, whose cookies are of a time that is over.
        if let Some(Ok(listener)) = listener {
            self.listener = Some(listener);
        }
    }

    /// Begins a handshake with a host, for a connection of a name.
    pub(super) fn begin(
        &self,
        now: Time,
        address: SocketAddr,
        key: Option<PeerKey>,
        here: ConnectionId,
    ) -> Result<Greeting, SecurityError> {
        let handshake = Handshake::initiate(&self.end, address, key, here)?;
        let (again_at, until) = (now + FIRST_RETRY, now + ANSWER_WITHIN);
        Ok(Greeting { handshake, again_at, wait: FIRST_RETRY, until, is_refused: false })
    }

    /// Answers a datagram of a handshake that another host begins. The time of all sleeps, `slept`,
    /// and the CPU time of this thread are the time of which handshakes get a part.
    pub(super) fn answer(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        is_full: bool,
        slept: Duration,
    ) -> Answer {
        let Some(listener) = &mut self.listener else { return Answer::Nothing };
        listener.set_full(is_full);
        // Without random numbers the listener could not answer either.
        let fresh = || fresh_id().unwrap_or(ConnectionId::NONE);
        let had = || Time::ZERO + span(place::thread_time() + slept);
        let begun = had();
        listener.has_had(begun);
        let answer = listener.on_datagram(now, from, datagram, fresh);
        if matches!(answer, Answer::Opened { .. } | Answer::Refused { .. }) {
            listener.took(from, had().since(begun));
        }
        answer
    }

    /// Counts a datagram by which a peer does not know a connection. Returns whether to look at it:
    /// each takes a look at all peers, and those that are too many come again.
    pub(super) const fn hears_unknown(&mut self) -> bool {
        self.unknowns += 1;
        self.unknowns <= MOST_UNKNOWNS
    }

    /// Counts those datagrams from zero.
    pub(super) const fn forget_unknowns(&mut self) {
        self.unknowns = 0;
    }
}

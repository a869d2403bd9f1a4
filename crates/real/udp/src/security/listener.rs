//! The end of handshakes that answers.

use super::admission::Admission;
use super::cookie::{Cookies, LIFE};
use super::error::SecurityError;
use super::noise::{Noise, Role};
use super::session::Session;
use super::{Cipher, End, Opened, Security};
use crate::wire::{
    COOKIE_BYTES, ConnectionId, Header, Mode, Opening, Refusal, WireError, hello_of_another_version,
};
use incast_cc::{Span, Time};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

/// The most welcomes that are kept; the oldest ones leave first.
const MOST_RECENT: usize = 1 << 14;

/// The answer to a datagram that belongs to no connection.
#[derive(Debug)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// The datagram is to be sent to the address that the other one came from.
    Reply(Vec<u8>),
    /// A connection is open, and `welcome` is to be sent. The address has proved itself, so both
    /// ends may send from now on. An earlier connection of the same peer is to stay until
    /// [`Session::open`] has taken a datagram of this one: the hello may be a copy that somebody on
    /// the way has made, who knows no keys.
    Opened {
        /// The connection.
        opened: Box<Opened>,
        /// The datagram to send.
        welcome: Vec<u8>,
    },
    /// A hello with a good cookie is left unanswered: handshakes have had their share of the
    /// processor's time. The peer says it again.
    Postponed,
    /// The datagram is refused.
    Refused {
        /// The reason.
        error: SecurityError,
        /// The datagram to send, if the peer is told.
        reply: Option<Vec<u8>>,
    },
}

/// The end of handshakes that answers, for all peers. It also answers datagrams of connections that
/// are not known.
///
/// Until an address has shown a cookie, it is sent nothing but an answer to each of its datagrams,
/// which is no longer than that datagram; nothing is computed with keys, and nothing remembered.
pub struct Listener {
    end: End,
    cookies: Cookies,
    admission: Admission,
    /// The processor time that there was until now.
    had: Time,
    /// Whether no connection is to be opened.
    is_full: bool,
    /// The welcomes of the life of a cookie, so that a hello that comes again opens nothing anew.
    recent: HashMap<(SocketAddr, ConnectionId), Vec<u8>>,
    /// Recent connections with the times at which they were opened, in order.
    order: VecDeque<(Time, (SocketAddr, ConnectionId))>,
}

impl Listener {
    /// A listener.
    ///
    /// # Errors
    ///
    /// If the parameters are too long, or the system gives no random numbers.
    pub fn new(end: End) -> Result<Self, SecurityError> {
        end.content(Some(ConnectionId::NONE), end.cipher)?;
        let (cookies, admission) = (Cookies::new()?, Admission::new());
        let (recent, order) = (HashMap::new(), VecDeque::new());
        let (had, is_full) = (Time::ZERO, false);
        Ok(Self { end, cookies, admission, had, is_full, recent, order })
    }

    /// Sets whether the peers are as many as there may be: then no connection is opened, and those
    /// who ask for one are told.
    pub const fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Takes note of the processor time that the caller's thread has had until now, at work or
    /// asleep: handshakes may take a share of it. Time in which others had the processor does not
    /// count, or handshakes would take all that is left on a busy machine.
    pub const fn has_had(&mut self, time: Time) {
        self.had = time;
    }

    /// Takes note of the processor time that the answer to a datagram of `from` took.
    pub fn took(&mut self, from: SocketAddr, time: Span) {
        self.admission.took(self.had, from, time);
    }

    /// Takes a datagram that belongs to no connection that is open or being opened. `fresh` gives
    /// the id of a connection that is opened; it has to be new
    /// ([`fresh_id`](super::fresh_id)).
    pub fn on_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        fresh: impl FnOnce() -> ConnectionId,
    ) -> Answer {
        let decoded = Header::decode(datagram)
            .and_then(|(header, content)| Ok((header, Opening::decode(header, content)?)));
        match decoded {
            // No answer is longer than what it answers. A retry and a refusal never are.
            Ok((Header { to: id, number, .. }, None)) if id != ConnectionId::NONE => {
                let reply = Opening::Unknown { id, number };
                if reply.bytes() > datagram.len() {
                    return Answer::Nothing;
                }
                Answer::Reply(reply.to_vec())
            }
            Ok((_, Some(Opening::Hello { from: id, mode, cookie, message }))) => {
                let answer = self.on_hello(now, (from, id), mode, &cookie, message, fresh);
                answer.unwrap_or_else(|error| Answer::Refused { error, reply: None })
            }
            // Answers are not answered, or two hosts could go on for ever.
            Ok(_) => Answer::Nothing,
            Err(WireError::Version { theirs }) => {
                let error = SecurityError::Version { peer: from, theirs };
                hello_of_another_version(datagram)
                    .map_or(Answer::Refused { error, reply: None }, |(to, _)| {
                        refused(error, to, Refusal::Version)
                    })
            }
            Err(error) => Answer::Refused { error: error.into(), reply: None },
        }
    }

    fn on_hello(
        &mut self,
        now: Time,
        (from, id): (SocketAddr, ConnectionId),
        mode: Mode,
        cookie: &[u8; COOKIE_BYTES],
        message: &[u8],
        fresh: impl FnOnce() -> ConnectionId,
    ) -> Result<Answer, SecurityError> {
        let security = &self.end.security;
        if mode != security.mode() {
            let error = SecurityError::Mode { peer: from, ours: security.name() };
            return Ok(refused(error, id, Refusal::Mode));
        }
        if !self.cookies.is_good(cookie, now, from, id) {
            let cookie = self.cookies.make(now, from, id);
            return Ok(Answer::Reply(Opening::Retry { to: id, cookie }.to_vec()));
        }
        self.forget(now);
        let security = &self.end.security;
        if let Some(welcome) = self.recent.get(&(from, id)) {
            return Ok(Answer::Reply(welcome.clone()));
        }
        if self.is_full {
            return Ok(refused(SecurityError::Full { peer: from }, id, Refusal::Full));
        }
        if !self.admission.admits(self.had, from) {
            return Ok(Answer::Postponed);
        }
        let mut noise = Noise::new(security, id, cookie, Role::Responder)?;
        let Some(content) = noise.read(message) else {
            return Ok(match security {
                Security::Plain => {
                    Answer::Refused { error: SecurityError::Damaged { number: 0 }, reply: None }
                }
                Security::Secret(_) => {
                    refused(SecurityError::Secret { peer: from }, id, Refusal::Key)
                }
                Security::Keys { identity, .. } => {
                    let key = identity.public();
                    refused(SecurityError::CalledByOther { peer: from, key }, id, Refusal::Key)
                }
            });
        };
        let key = noise.peer();
        if let (Security::Keys { peers, .. }, Some(key)) = (security, key)
            && !peers.contains(&key)
        {
            return Ok(refused(SecurityError::Unlisted { peer: from, key }, id, Refusal::Peer));
        }
        let (&code, parameters) =
            content.split_first().ok_or(WireError::Short { field: "the cipher" })?;
        let value = WireError::Value { field: "the cipher", value: code.into() };
        let cipher = Cipher::of_code(code).ok_or(value)?.of_both(self.end.cipher);
        let own = fresh();
        let message = noise.write(&self.end.content(Some(own), cipher)?)?;
        let welcome = Opening::Welcome { to: id, message: &message }.to_vec();
        self.recent.insert((from, id), welcome.clone());
        self.order.push_back((now, (from, id)));
        let secrets = noise.secrets().map(|[theirs, ours]| (cipher, [ours, theirs]));
        let session = Session::new(own, id, secrets);
        let opened = Box::new(Opened { session, key, parameters: parameters.to_vec() });
        Ok(Answer::Opened { opened, welcome })
    }

    /// Forgets the connections whose cookies are no longer good, and the oldest where there is no
    /// room for another one.
    fn forget(&mut self, now: Time) {
        while let Some(&(opened, name)) = self.order.front()
            && (opened + LIFE <= now || self.order.len() >= MOST_RECENT)
        {
            self.order.pop_front();
            self.recent.remove(&name);
        }
    }
}

fn refused(error: SecurityError, to: ConnectionId, reason: Refusal) -> Answer {
    let reply = Some(Opening::Refused { to, reason }.to_vec());
    Answer::Refused { error, reply }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { end, recent, .. } = self;
        f.debug_struct("Listener")
            .field("end", end)
            .field("recent", &recent.len())
            .finish_non_exhaustive()
    }
}

//! The end of a handshake that opens the connection.

use super::error::SecurityError;
use super::keys::PeerKey;
use super::noise::{Noise, Role, Secrets};
use super::session::Session;
use super::{Cipher, End, Opened, Security};
use crate::wire::{
    COOKIE_BYTES, ConnectionId, Header, Opening, Refusal, WireError, receiver_in_any_version,
};
use std::net::SocketAddr;

/// The most cookies that one handshake takes up.
const MOST_COOKIES: usize = 16;

/// The next step after a datagram of the handshake.
#[derive(Debug)]
pub enum Step {
    /// No step: the datagram was not of the handshake, or is old.
    Nothing,
    /// [`Handshake::hello`] is to be sent now.
    Send,
    /// The connection is open.
    Done(Box<Opened>),
}

/// A first message of the handshake, which is made for one cookie.
struct Attempt {
    cookie: [u8; COOKIE_BYTES],
    noise: Noise,
}

/// The end of a handshake that opens the connection. It is over when
/// [`on_datagram`](Self::on_datagram) has returned an error or [`Step::Done`].
pub struct Handshake {
    own: ConnectionId,
    peer: SocketAddr,
    end: End,
    key: Option<PeerKey>,
    /// An attempt for each cookie: the peer may answer any of them.
    attempts: Vec<Attempt>,
    hello: Vec<u8>,
    /// Whether the peer has refused once.
    refused: bool,
    done: bool,
}

impl Handshake {
    /// Starts a handshake with the host at `peer`, which has the public key `key` if connections
    /// are protected by keys. `own` is the id of this end, drawn anew
    /// ([`fresh_id`](super::fresh_id)).
    ///
    /// # Errors
    ///
    /// If the key is missing, the parameters are too long, or the system gives no random numbers.
    pub fn initiate(
        end: &End,
        peer: SocketAddr,
        key: Option<PeerKey>,
        own: ConnectionId,
    ) -> Result<Self, SecurityError> {
        if matches!(end.security, Security::Keys { .. }) && key.is_none() {
            return Err(SecurityError::NoKey { peer });
        }
        end.content(None, end.cipher)?;
        let key = key.filter(|_| matches!(end.security, Security::Keys { .. }));
        // Without a cookie there is nothing to compute: no message would be read.
        let hello = hello(own, &end.security, [0; COOKIE_BYTES], &[]);
        let (end, attempts) = (end.clone(), Vec::new());
        Ok(Self { own, peer, end, key, attempts, hello, refused: false, done: false })
    }

    /// The datagram to send: now, and again from time to time until there is an answer.
    pub fn hello(&self) -> &[u8] {
        &self.hello
    }

    /// The id of this end.
    pub fn own(&self) -> ConnectionId {
        self.own
    }

    /// Takes a datagram from the peer's address. What is not an answer to this handshake, or was
    /// damaged, is [`Step::Nothing`].
    ///
    /// # Errors
    ///
    /// If the peer refuses a second time. A refusal is not authenticated: whoever is on the way
    /// could send it, as he could drop all answers.
    pub fn on_datagram(&mut self, datagram: &[u8]) -> Result<Step, SecurityError> {
        let (peer, own) = (self.peer, self.own);
        if self.done {
            return Ok(Step::Nothing);
        }
        let decoded =
            Header::decode(datagram).and_then(|(header, content)| Opening::decode(header, content));
        match decoded {
            Ok(Some(Opening::Retry { to, cookie })) if to == own => self.on_retry(cookie),
            Ok(Some(Opening::Welcome { to, message })) if to == own => {
                let mut newest_first = self.attempts.iter_mut().rev();
                let read = newest_first.find_map(|attempt| {
                    let content = attempt.noise.read(message)?;
                    Some((content, attempt.noise.secrets()))
                });
                match read {
                    Some((content, secrets)) => self.on_content(&content, secrets),
                    None => Ok(Step::Nothing),
                }
            }
            Ok(Some(Opening::Refused { to, reason })) if to == own => {
                self.on_refusal(self.error_of(reason))
            }
            Err(WireError::Version { theirs })
                if receiver_in_any_version(datagram) == Some(own) =>
            {
                self.on_refusal(SecurityError::Version { peer, theirs })
            }
            _ => Ok(Step::Nothing),
        }
    }

    /// Makes the first message anew, for a new cookie.
    fn on_retry(&mut self, cookie: [u8; COOKIE_BYTES]) -> Result<Step, SecurityError> {
        let is_known = self.attempts.iter().any(|attempt| attempt.cookie == cookie);
        if is_known || self.attempts.len() == MOST_COOKIES {
            return Ok(Step::Nothing);
        }
        let security = &self.end.security;
        let role = Role::Initiator(self.key.as_ref());
        let mut noise = Noise::new(security, self.own, &cookie, role)?;
        let message = noise.write(&self.end.content(None, self.end.cipher)?)?;
        self.hello = hello(self.own, security, cookie, &message);
        self.attempts.push(Attempt { cookie, noise });
        Ok(Step::Send)
    }

    /// Asks once more, since the hello or the answer may have been damaged on its way.
    fn on_refusal(&mut self, error: SecurityError) -> Result<Step, SecurityError> {
        if std::mem::replace(&mut self.refused, true) { Err(error) } else { Ok(Step::Send) }
    }

    /// Takes what the peer says of itself.
    fn on_content(
        &mut self,
        content: &[u8],
        secrets: Option<Secrets>,
    ) -> Result<Step, SecurityError> {
        let (&id, rest) =
            content.split_first_chunk().ok_or(WireError::Short { field: "the peer's id" })?;
        let (&code, parameters) =
            rest.split_first().ok_or(WireError::Short { field: "the cipher" })?;
        let peer = ConnectionId(u64::from_be_bytes(id));
        if peer == ConnectionId::NONE {
            return Err(WireError::Value { field: "the peer's id", value: 0 }.into());
        }
        let value = WireError::Value { field: "the cipher", value: code.into() };
        let cipher = Cipher::of_code(code).ok_or(value)?;
        let secrets = secrets.map(|secrets| (cipher, secrets));
        let session = Session::new(self.own, peer, secrets);
        self.done = true;
        let opened = Opened { session, key: self.key, parameters: parameters.to_vec() };
        Ok(Step::Done(Box::new(opened)))
    }

    fn error_of(&self, reason: Refusal) -> SecurityError {
        let peer = self.peer;
        match (reason, &self.end.security, self.key) {
            (Refusal::Version, ..) => SecurityError::OtherVersion { peer },
            (Refusal::Full, ..) => SecurityError::Full { peer },
            (Refusal::Key, _, Some(key)) => SecurityError::WrongKey { peer, key },
            (Refusal::Key, Security::Secret(_), _) => SecurityError::Secret { peer },
            (Refusal::Peer, Security::Keys { identity, .. }, _) => {
                SecurityError::NotListed { peer, key: identity.public() }
            }
            _ => SecurityError::Mode { peer, ours: self.end.security.name() },
        }
    }
}

fn hello(
    from: ConnectionId,
    security: &Security,
    cookie: [u8; COOKIE_BYTES],
    message: &[u8],
) -> Vec<u8> {
    Opening::Hello { from, mode: security.mode(), cookie, message }.to_vec()
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { own, peer, key, done, .. } = self;
        f.debug_struct("Handshake")
            .field("own", own)
            .field("peer", peer)
            .field("key", key)
            .field("done", done)
            .finish_non_exhaustive()
    }
}

//! The two messages of a handshake: Noise, or a checksum.

use super::checksum::{CHECKSUM_BYTES, checksum_of_both};
use super::error::SecurityError;
use super::keys::PeerKey;
use super::{MAX_PARAMETERS, Security};
use crate::wire::{COOKIE_BYTES, ConnectionId, VERSION};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

const KEYS: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";
const SECRET: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// The bytes of the words by which both ends go.
const PROLOGUE_BYTES: usize = 20 + COOKIE_BYTES;
/// The bytes of an empty message in the longest pattern: two keys and two tags.
const MOST_BYTES: usize = 32 + 48 + 16;
/// The most bytes of a message's content beside the parameters.
const CONTENT_BYTES: usize = 9;

/// The secrets of the two directions of a connection.
pub(super) type Secrets = [Zeroizing<[u8; 32]>; 2];

/// The role of an end of a handshake.
#[derive(Clone, Copy)]
pub(super) enum Role<'a> {
    /// The end that opens the connection, to the peer with this key, if it has one.
    Initiator(Option<&'a PeerKey>),
    /// The end that answers.
    Responder,
}

/// An end of a handshake.
pub(super) enum Noise {
    /// Messages have a checksum of these words and of themselves.
    Plain([u8; PROLOGUE_BYTES]),
    /// Messages are encrypted.
    Sealed(Box<HandshakeState>),
}

impl Noise {
    /// An end of the handshake for the connection that its initiator calls `id`, by a cookie of the
    /// responder.
    pub(super) fn new(
        security: &Security,
        id: ConnectionId,
        cookie: &[u8; COOKIE_BYTES],
        role: Role<'_>,
    ) -> Result<Self, SecurityError> {
        // Both ends go by the same words: a handshake of another version, connection or cookie
        // fails. So a hello that was recorded is of no use from another address, nor when its
        // cookie is no longer good. The name of the pattern is a part of it, too.
        let mut prologue = [0; PROLOGUE_BYTES];
        prologue[..11].copy_from_slice(b"incast udp ");
        prologue[11] = VERSION;
        prologue[12..20].copy_from_slice(&id.0.to_be_bytes());
        prologue[20..].copy_from_slice(cookie);
        let builder = |pattern: &str| {
            let pattern = pattern.parse();
            Builder::new(pattern.unwrap_or_else(|_| unreachable!("snow knows the pattern")))
                .prologue(&prologue)
        };
        let build = |builder: Builder<'_>| match role {
            Role::Initiator(Some(key)) => builder.remote_public_key(key.bytes())?.build_initiator(),
            Role::Initiator(None) => builder.build_initiator(),
            Role::Responder => builder.build_responder(),
        };
        let state = match security {
            Security::Plain => return Ok(Self::Plain(prologue)),
            Security::Secret(secret) => {
                builder(SECRET).and_then(|builder| builder.psk(0, secret.bytes())).and_then(build)
            }
            Security::Keys { identity, .. } => builder(KEYS)
                .and_then(|builder| builder.local_private_key(identity.private()))
                .and_then(build),
        };
        // Keys and pattern are in order, so that random numbers alone can be missing.
        state.map(Box::new).map(Self::Sealed).map_err(|_| SecurityError::Random)
    }

    /// The message of this end with `content`.
    pub(super) fn write(&mut self, content: &[u8]) -> Result<Vec<u8>, SecurityError> {
        match self {
            Self::Plain(prologue) => Ok([content, &checksum_of_both(prologue, content)].concat()),
            Self::Sealed(state) => {
                let mut message = vec![0; content.len() + MOST_BYTES];
                let bytes = state.write_message(content, &mut message);
                message.truncate(bytes.map_err(|_| SecurityError::Random)?);
                Ok(message)
            }
        }
    }

    /// The content of the peer's message; [`None`] if the peer has another key or secret, or the
    /// message was damaged.
    pub(super) fn read(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Plain(prologue) => {
                let end = message.len().checked_sub(CHECKSUM_BYTES)?;
                let (content, tag) = message.split_at(end);
                (tag == checksum_of_both(prologue, content)).then(|| content.to_vec())
            }
            Self::Sealed(state) => {
                if message.len() > MOST_BYTES + CONTENT_BYTES + MAX_PARAMETERS {
                    return None;
                }
                let mut content = vec![0; message.len()];
                let bytes = state.read_message(message, &mut content).ok()?;
                content.truncate(bytes);
                Some(content)
            }
        }
    }

    /// The key of the peer, if it has one.
    pub(super) fn peer(&self) -> Option<PeerKey> {
        match self {
            Self::Plain(_) => None,
            Self::Sealed(state) => state.get_remote_static().and_then(PeerKey::of),
        }
    }

    /// The secrets of the direction from the end that opened the connection, and of the other one,
    /// once both messages are through: the two that Noise splits off.
    pub(super) fn secrets(&mut self) -> Option<Secrets> {
        match self {
            Self::Plain(_) => None,
            Self::Sealed(state) => {
                let (theirs, ours) = state.dangerously_get_raw_split();
                Some([theirs, ours].map(Zeroizing::new))
            }
        }
    }
}

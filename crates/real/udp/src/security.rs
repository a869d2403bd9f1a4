//! Opening connections, and protecting their datagrams.
//!
//! A connection is encrypted and authenticated, unless [`Security::Plain`] says otherwise. Who may
//! connect is said in one of two ways:
//!
//! * [`Security::Keys`]: each host has a key pair, and a list of the public keys of its peers. The
//!   handshake is `IK` of [Noise](https://noiseprotocol.org/noise.html). One round trip
//!   authenticates both ends, since they know each other's public keys beforehand. `IK` shows the
//!   caller's key and parameters to nobody but the host that is called; `XK` would take a message
//!   more to hide them even from somebody who steals that host's private key later.
//! * [`Security::Secret`]: all hosts have one secret, so that there are no lists to keep. The
//!   handshake is Noise's `NNpsk0`: fresh key pairs for each connection, mixed with the secret, so
//!   a secret that leaks does not open what was recorded before. Hosts cannot be told apart. With
//!   `KKpsk0` they could, but there would be lists again.
//!
//! Both are `25519_ChaChaPoly_BLAKE2s`. Datagrams are encrypted by AES-128-GCM where both
//! processors have instructions for it, else by ChaCha20-Poly1305. HKDF-SHA256 derives the keys
//! from the two secrets that Noise splits off, one for each direction. Each key is for
//! [`PACKETS_OF_A_KEY`] packet numbers and comes from the one before it, which is forgotten. The
//! nonce is the packet number, which the [`Session`] counts itself, mixed with a part of the key.
//! The header is authenticated. A packet number is taken once, and no later than [`WINDOW`] numbers
//! behind the newest.
//!
//! With [`Security::Plain`], the handshake and all datagrams carry a checksum, which finds damage:
//! links between virtual machines often leave UDP's checksum out. It keeps out nobody who forges.
//!
//! ```text
//!  Handshake                                Listener
//!      │ hello: id                              │
//!      │ ─────────────────────────────────────► │  an address without a cookie:
//!      │ ◄───────────────────────────────────── │  nothing is remembered
//!      │                         retry: cookie  │
//!      │ hello: id, cookie, first message       │
//!      │ ─────────────────────────────────────► │  Session
//!      │ ◄───────────────────────────────────── │
//!      │            welcome: id, second message │
//!   Session ◄────────── datagrams ──────────► Session
//! ```
//!
//! A hello that has no good cookie is answered with one, which shows that the sender receives at
//! its address. Until then no answer is longer than its question, and no work is done with keys.
//! The first message is made for that cookie. So somebody who has recorded a hello can use it from
//! no other address, and nowhere after ten seconds. Handshakes have a share of a processor's time,
//! and each source a part of it while time is scarce ([`Answer::Postponed`]).
//!
//! Keys and secrets are overwritten where they are freed, but for those inside the libraries of
//! the handshake and of the ciphers, which do not do so.
//!
//! Nothing here does I/O or reads a clock; the caller sends a hello again when no answer comes.
//! Each message of the handshake carries [`End::parameters`], which mean nothing here.
//!
//! ```
//! use incast_cc::Time;
//! use incast_udp::security::{Answer, End, Handshake, Identity, Listener, Step, fresh_id};
//! use incast_udp::security::Security::Keys;
//! use incast_udp::wire::HEADER_BYTES;
//!
//! let (alice, bob) = (Identity::generate()?, Identity::generate()?);
//! let (to_bob, from_alice) = (bob.public(), "10.0.0.1:7000".parse()?);
//! let end = |identity, peer| End::new(Keys { identity, peers: vec![peer] }, b"mtu=1500");
//! let mut listener = Listener::new(end(bob, alice.public()))?;
//! let end = end(alice, to_bob);
//! let address = "10.0.0.2:7000".parse()?;
//! let mut handshake = Handshake::initiate(&end, address, Some(to_bob), fresh_id()?)?;
//!
//! let mut fresh = || fresh_id().unwrap();
//! let mut at_bob = |hello: &[u8]| listener.on_datagram(Time::ZERO, from_alice, hello, &mut fresh);
//! let Answer::Reply(retry) = at_bob(handshake.hello()) else { panic!() };
//! let Step::Send = handshake.on_datagram(&retry)? else { panic!() };
//! let Answer::Opened { opened: mut bobs, welcome } = at_bob(handshake.hello()) else { panic!() };
//! let Step::Done(mut alices) = handshake.on_datagram(&welcome)? else { panic!() };
//! assert_eq!(alices.parameters, b"mtu=1500");
//!
//! let mut datagram = [0; 100];
//! datagram[HEADER_BYTES..][..5].copy_from_slice(b"hello");
//! let bytes = alices.session.seal(&mut datagram, 5)?;
//! assert_eq!(bobs.session.open(&mut datagram[..bytes])?, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admission;
mod checksum;
mod cipher;
mod cookie;
mod error;
mod initiator;
mod keys;
mod listener;
mod noise;
mod session;
mod window;

pub(crate) use admission::Source;
pub use cipher::{Cipher, PACKETS_OF_A_KEY};
pub use error::SecurityError;
pub use initiator::{Handshake, Step};
pub use keys::{Identity, KeyError, PeerKey, Secret};
pub use listener::{Answer, Listener};
pub use session::Session;
pub use window::WINDOW;

use crate::wire::{ConnectionId, Mode};
use ring::rand::{SecureRandom, SystemRandom};

/// The most bytes of the parameters that a handshake carries.
pub const MAX_PARAMETERS: usize = 512;

/// The way in which the connections of a host are protected, the same at both ends.
#[derive(Clone, Debug)]
pub enum Security {
    /// No protection: a checksum finds damage. Only for networks on which everybody is trusted.
    Plain,
    /// Encryption by a secret that all hosts have.
    Secret(Secret),
    /// Encryption by key pairs.
    Keys {
        /// The key pair of this host.
        identity: Identity,
        /// The hosts that may connect to this one.
        peers: Vec<PeerKey>,
    },
}

impl Security {
    /// The bytes of a datagram behind its frames.
    pub(crate) const fn tag_bytes(&self) -> usize {
        session::tag_bytes(!matches!(self, Self::Plain))
    }

    /// The mode that a hello names.
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Plain => Mode::Plain,
            Self::Secret(_) => Mode::Secret,
            Self::Keys { .. } => Mode::Keys,
        }
    }

    /// Words for the protection, which follow "by".
    const fn name(&self) -> &'static str {
        match self {
            Self::Plain => "a checksum alone",
            Self::Secret(_) => "a secret",
            Self::Keys { .. } => "keys",
        }
    }
}

/// An end of connections: all that a host says of itself in a handshake.
#[derive(Clone, Debug)]
pub struct End {
    /// The protection.
    pub security: Security,
    /// The cipher that the end prefers. It is ChaCha20-Poly1305 unless both ends prefer AES.
    pub cipher: Cipher,
    /// Bytes for the application at the other end, at most [`MAX_PARAMETERS`]. They are encrypted
    /// and authenticated as the connection is.
    pub parameters: Vec<u8>,
}

impl End {
    /// An end that prefers the faster cipher on this processor.
    pub fn new(security: Security, parameters: &[u8]) -> Self {
        let cipher = Cipher::of_this_processor();
        Self { security, cipher, parameters: parameters.to_vec() }
    }

    /// The content of a message of the handshake.
    fn content(&self, id: Option<ConnectionId>, cipher: Cipher) -> Result<Vec<u8>, SecurityError> {
        let bytes = self.parameters.len();
        if bytes > MAX_PARAMETERS {
            return Err(SecurityError::Parameters { bytes });
        }
        let id = id.map(|id| id.0.to_be_bytes());
        Ok([id.as_ref().map_or(&[][..], |id| id), &[cipher as u8], &self.parameters].concat())
    }
}

/// A connection that a handshake has opened.
#[derive(Debug)]
pub struct Opened {
    /// The protection of its datagrams.
    pub session: Session,
    /// The public key of the peer, if connections are protected by keys.
    pub key: Option<PeerKey>,
    /// The parameters of the peer ([`End::parameters`]).
    pub parameters: Vec<u8>,
}

/// A random id for a connection.
///
/// # Errors
///
/// If the system gives no random numbers.
pub fn fresh_id() -> Result<ConnectionId, SecurityError> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SecurityError::Random)?;
    // Zero names no connection.
    Ok(ConnectionId(u64::from_be_bytes(bytes).max(1)))
}

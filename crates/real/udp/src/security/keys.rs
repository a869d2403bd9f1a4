//! Key pairs, public keys and secrets, and their files.

use ring::rand::{SecureRandom, SystemRandom};
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use zeroize::Zeroizing;

const PRIVATE: &str = "incast-private-key";
const PUBLIC: &str = "incast-public-key";
const SECRET: &str = "incast-secret";
/// The most bytes of a file of keys.
const MOST: u64 = 1 << 20;

/// The fault of a key or of its file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}; an existing file stays, choose another", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Others may read the file.
    #[error(
        "others may read {path}, which has permissions {mode:o}; run `chmod 600 {path}`",
        path = path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// The permissions of the file.
        mode: u32,
    },
    /// A line is not a key.
    #[error(
        "{}, line {line}: no `{kind} ` and 64 hexadecimal digits; copy it again",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The word that has to come first.
        kind: &'static str,
    },
    /// The file does not have exactly one key.
    #[error("{} has {count} lines of a key; leave one `{kind}`", path.display())]
    Count {
        /// The file.
        path: PathBuf,
        /// The number of its keys.
        count: usize,
        /// The word that has to come first.
        kind: &'static str,
    },
    /// A text is not a public key.
    #[error("{0:?} is not a public key, `{PUBLIC} ` and 64 hexadecimal digits; copy it again")]
    Text(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for keys; see getrandom(2)")]
    Random,
}

/// The key pair of a host (X25519), by which others know it.
#[derive(Clone)]
pub struct Identity {
    private: Zeroizing<[u8; 32]>,
    public: PeerKey,
}

impl Identity {
    /// A new key pair.
    ///
    /// # Errors
    ///
    /// If the system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        random().map(Self::of)
    }

    /// Reads the file that [`write`](Self::write) has written. Empty lines and those that start
    /// with `#` do not count.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, others may read it, or it is not a private key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        one(path, PRIVATE).map(Self::of)
    }

    /// Writes the private key to a new file that no one else may read.
    ///
    /// # Errors
    ///
    /// If the file exists or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        write(path, PRIVATE, &self.private, 0o600)
    }

    /// The public key, which others are given.
    pub fn public(&self) -> PeerKey {
        self.public
    }

    pub(super) fn private(&self) -> &[u8; 32] {
        &self.private
    }

    fn of(private: Zeroizing<[u8; 32]>) -> Self {
        let dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519);
        let mut dh = dh.unwrap_or_else(|| unreachable!("snow is built with Curve25519"));
        dh.set(&*private);
        let mut public = [0; 32];
        public.copy_from_slice(dh.pubkey());
        Self { private, public: PeerKey(public) }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}

/// The public key of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerKey([u8; 32]);

impl PeerKey {
    /// Reads a file of public keys, one in each line. Empty lines and those that start with `#` do
    /// not count.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line is not a public key.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, KeyError> {
        Ok(lines(path, PUBLIC)?.into_iter().map(|key| Self(*key)).collect())
    }

    /// Writes the key to a new file.
    ///
    /// # Errors
    ///
    /// If the file exists or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        write(path, PUBLIC, &self.0, 0o644)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// The 64 hexadecimal digits.
impl fmt::Display for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerKey({self})")
    }
}

/// The line of a file, or the digits alone.
impl FromStr for PeerKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let digits = text.trim().trim_start_matches(PUBLIC).trim_start();
        digits_of(digits).map(Self).ok_or_else(|| KeyError::Text(text.to_owned()))
    }
}

/// A secret of 32 random bytes that all peers have. A password will not do: who has heard one
/// handshake could try words at leisure.
#[derive(Clone)]
pub struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    /// A new secret.
    ///
    /// # Errors
    ///
    /// If the system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        random().map(Self)
    }

    /// Reads the file that [`write`](Self::write) has written. Empty lines and those that start
    /// with `#` do not count.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, others may read it, or it is not a secret.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        one(path, SECRET).map(Self)
    }

    /// Writes the secret to a new file that no one else may read.
    ///
    /// # Errors
    ///
    /// If the file exists or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        write(path, SECRET, &self.0, 0o600)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn random() -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let mut bytes = Zeroizing::new([0; 32]);
    SystemRandom::new().fill(&mut *bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}

/// The bytes of 64 hexadecimal digits.
fn digits_of(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? << 4 | low?).ok()?;
    }
    Some(bytes)
}

/// The only key of a file, which others may not read.
fn one(path: &Path, kind: &'static str) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let mut keys = lines(path, kind)?;
    match (keys.pop(), keys.len()) {
        (Some(key), 0) => Ok(key),
        (last, more) => {
            let count = more + usize::from(last.is_some());
            Err(KeyError::Count { path: path.to_owned(), count, kind })
        }
    }
}

fn lines(path: &Path, kind: &'static str) -> Result<Vec<Zeroizing<[u8; 32]>>, KeyError> {
    let failed = |source| KeyError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if kind != PUBLIC && mode & 0o077 != 0 {
        return Err(KeyError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(index, line)| {
            let digits = line.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' '));
            // Public keys are told as digits alone, too.
            let digits = digits.or((kind == PUBLIC).then_some(line));
            let key = digits.and_then(|digits| digits_of(digits.trim())).map(Zeroizing::new);
            key.ok_or_else(|| KeyError::Line { path: path.to_owned(), line: index + 1, kind })
        })
        .collect()
}

fn write(path: &Path, kind: &str, key: &[u8; 32], mode: u32) -> Result<(), KeyError> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        let line = Zeroizing::new(format!("{kind} {}\n", PeerKey(*key)));
        file.write_all(line.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|source| KeyError::Write { path: path.to_owned(), source })
}

//! Hosts, and their connections to peers.

use std::ffi::c_char;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::time::Duration;

use incast_udp::security::PeerKey;
use incast_udp::settings::{SettingError, Settings, resolve};

use crate::border::{free, given, guard, maybe_text, place, text, time};
use crate::error::{Error, Fault, INCAST_CANNOT_OPEN, INCAST_TIMED_OUT};

/// The settings of a host. Set all bytes to zero, then `size` and `address`, and either a file of
/// keys or `plaintext`.
#[repr(C)]
pub struct Options {
    /// `sizeof(incast_options)`, by which a library refuses programs with another one's header.
    pub size: usize,
    /// The address to bind to, such as `0.0.0.0:7000`; port 0 is any free one.
    pub address: *const c_char,
    /// The file of the secret that all hosts have (`incast udp key FILE --shared`). NULL for none.
    pub secret: *const c_char,
    /// The file of this host's key pair (`incast udp key FILE`). NULL for none.
    pub identity: *const c_char,
    /// The file of the public keys that may connect, beside a key pair. NULL for none.
    pub peers: *const c_char,
    /// No encryption: only where everybody is trusted.
    pub plaintext: bool,
    /// Whether the host connects to others, and they may not connect to it.
    pub only_connects: bool,
    /// The algorithm of what is sent from here, such as `timely:auto` or `dctcp`. NULL for
    /// `timely:auto`.
    pub algorithm: *const c_char,
    /// Parameters of the algorithm, such as `t_low=100us`. Spaces stand between them; NULL for
    /// none.
    pub settings: *const c_char,
    /// The most that a connection sends. NULL for `40Gbps`.
    pub line_rate: *const c_char,
    /// The rate of a real NIC: the algorithm's constants scale with it, and RTTs leave out a
    /// segment's time on its wire. A virtual link has none, since sends leave at once. NULL for
    /// none.
    pub nic_rate: *const c_char,
    /// The longest message that is received. In bytes; 0 for 64 MiB.
    pub max_message: usize,
}

/// A host, which sends and receives on a thread of its own.
pub struct Host(pub(crate) incast_udp::Host);

/// A host at the other end of a connection.
pub struct Peer(pub(crate) incast_udp::Peer);

/// Opens a host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_open(
    options: *const Options,
    host: *mut *mut Host,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let host = place(host, null_mut(), "host")?;
            let options = given(options, "options")?;
            if options.size != size_of::<Options>() {
                let (size, own) = (options.size, size_of::<Options>());
                return Err(Fault::argument(format!(
                    "options.size is {size} B and should be {own}: set it to \
                     sizeof(incast_options), and use header and library of one version"
                )));
            }
            let settings = read(options)?;
            let opened = incast_udp::Host::open(&settings, 1)
                .map_err(|error| Fault::new(INCAST_CANNOT_OPEN, error))?;
            *host = Box::into_raw(Box::new(Host(opened)));
            Ok(())
        })
    }
}

/// The settings of a host.
///
/// # Safety
///
/// Texts are NULL, or end with a zero.
unsafe fn read(options: &Options) -> Result<incast_udp::Options, Fault> {
    // SAFETY: the caller promises it.
    unsafe {
        let path = |pointer, name| Ok::<_, Fault>(maybe_text(pointer, name)?.map(PathBuf::from));
        let owned = |pointer, name| Ok::<_, Fault>(maybe_text(pointer, name)?.map(str::to_owned));
        let defaults = Settings::default();
        let max_message_bytes = match options.max_message {
            0 => defaults.max_message_bytes,
            given => given,
        };
        let parameters = maybe_text(options.settings, "options.settings")?.unwrap_or_default();
        let settings = Settings {
            secret: path(options.secret, "options.secret")?,
            identity: path(options.identity, "options.identity")?,
            peers: path(options.peers, "options.peers")?,
            plaintext: options.plaintext,
            listens: !options.only_connects,
            cc: owned(options.algorithm, "options.algorithm")?.unwrap_or(defaults.cc),
            settings: parameters.split_whitespace().map(str::to_owned).collect(),
            line_rate: owned(options.line_rate, "options.line_rate")?.unwrap_or(defaults.line_rate),
            nic_rate: owned(options.nic_rate, "options.nic_rate")?,
            max_message_bytes,
            ..defaults
        };
        let address = text(options.address, "options.address")?;
        settings.options(address).map_err(|error| match error {
            SettingError::NoKey | SettingError::SeveralKeys | SettingError::Key(_) => {
                Fault::new(INCAST_CANNOT_OPEN, error)
            }
            error => Fault::argument(error),
        })
    }
}

/// Writes the address of a host, with its port and a zero behind it, into `room` bytes at `text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_address(
    host: *const Host,
    text: *mut c_char,
    room: usize,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let address = given(host, "host")?.0.address().to_string();
            if text.is_null() {
                return Err(Fault::argument("text is NULL: there is no place for the result"));
            }
            if address.len() >= room {
                let needed = address.len() + 1;
                return Err(Fault::argument(format!("{room} B are no room for {needed} B")));
            }
            text.copy_from_nonoverlapping(address.as_ptr().cast(), address.len());
            text.add(address.len()).write(0);
            Ok(())
        })
    }
}

/// Connects to a host at an address such as `10.0.0.2:7000`. `key` is its public key where key
/// pairs protect connections, else NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_connect(
    host: *const Host,
    address: *const c_char,
    key: *const c_char,
    timeout_s: f64,
    peer: *mut *mut Peer,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let peer = place(peer, null_mut(), "peer")?;
            let host = given(host, "host")?;
            let shown = text(address, "address")?;
            let address = resolve(shown).map_err(Fault::argument)?;
            let key = maybe_text(key, "key")?.map(str::parse::<PeerKey>).transpose();
            let key = key.map_err(Fault::argument)?;
            let timeout = time(timeout_s)?;
            let mut pending = host.0.connect(address, key);
            let connected = match timeout {
                None => pending.wait(),
                Some(timeout) => pending
                    .wait_within(timeout)
                    .unwrap_or_else(|| Err(incast_udp::Failure::TimedOut(Duration::ZERO))),
            };
            let connected = connected.map_err(|failure| match failure {
                incast_udp::Failure::TimedOut(_) => Fault::new(
                    INCAST_TIMED_OUT,
                    format!("the connection to {shown} was not open within {timeout_s} s"),
                ),
                other => other.into(),
            })?;
            *peer = Box::into_raw(Box::new(Peer(connected)));
            Ok(())
        })
    }
}

/// Closes a host with its connections, and frees it. What is under way fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_close(host: *mut Host) {
    // SAFETY: C promises it.
    free((!host.is_null()).then(|| unsafe { Box::from_raw(host) }));
}

/// Ends the connection to a peer, and frees it. What is under way fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_peer_free(peer: *mut Peer) {
    // SAFETY: C promises it.
    free((!peer.is_null()).then(|| unsafe { Box::from_raw(peer) }));
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.0.close();
    }
}

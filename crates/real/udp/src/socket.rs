//! UDP sockets that send and receive datagrams in batches, with marks and timestamps.
//!
//! A [`Socket`] never waits, except in [`Socket::wait`], and takes no memory after it was opened:
//! data is in a [`SendBatch`] and a [`ReceiveBatch`]. One send may be many datagrams
//! ([`Transmit::segment`]), and so may one receive ([`Received::datagrams`]). A send may ask for
//! the time at which it left ([`Transmit::stamp`], [`Socket::sent_stamps`]).
//!
//! Sockets are made and set up with socket2, on which tokio stands (rust-lang's own, MIT or
//! Apache-2.0). The batches themselves are three system calls by libc, in one module, because
//! neither socket2 nor rustix, nix or quinn-udp sends batches whose datagrams differ in their
//! control messages and reads the times at which they left.
//!
//! ```
//! use incast_udp::socket::{Features, Options, ReceiveBatch, SendBatch, Socket, Transmit};
//! use std::time::Duration;
//!
//! let features = Features::probe()?;
//! let mut socket = Socket::open(&Options::at("127.0.0.1:0".parse()?), features)?;
//! let mut out = SendBatch::new(1, 3_000);
//! let to = Transmit { segment: Some(1_000), ..Transmit::to(socket.address()?) };
//! out.push(to, &[7; 3_000])?;
//! socket.send(&mut out)?;
//!
//! let (mut batch, mut bytes) = (ReceiveBatch::new(8, 65_535), 0);
//! while bytes < 3_000 {
//!     socket.wait(Some(Duration::from_secs(1)))?;
//!     socket.receive(&mut batch)?;
//!     bytes += batch.iter().flat_map(|got| got.datagrams()).map(<[u8]>::len).sum::<usize>();
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod control;
mod features;
mod mark;
mod probe;
mod receive;
mod send;
mod stamps;
mod sys;

pub use features::Features;
pub use mark::{Class, Ecn, Stamp};
pub use receive::{MAX_RECEIVE_BYTES, ReceiveBatch, Received};
pub use send::{MAX_SEND_BYTES, MAX_SEND_DATAGRAMS, Refused, SendBatch, Transmit};
pub use stamps::Sent;
pub use sys::{Poll, set_option};

use socket2::{Domain, Protocol, Type};
use stamps::Keys;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use sys::Slot;

/// The timestamps that are read by one system call.
const STAMPS: usize = 16;

/// The settings of a socket.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The address to bind to. An IPv6 socket carries IPv6 alone.
    pub address: SocketAddr,
    /// Whether other sockets may have the same address, each with its share of the senders
    /// (`SO_REUSEPORT`): one socket for each core.
    pub shared: bool,
    /// The class of most datagrams. A [`Transmit`] of another one takes longer.
    pub class: Class,
    /// The bytes of each of the kernel's two buffers; it may give less ([`Socket::buffers`]).
    pub buffer: usize,
}

impl Options {
    /// A socket of its own at an address, with buffers of 4 MB.
    pub const fn at(address: SocketAddr) -> Self {
        let class = Class { dscp: 0, priority: 0 };
        Self { address, shared: false, class, buffer: 4 << 20 }
    }
}

/// The reason why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another socket has the address.
    #[error(
        "{address} is taken by another socket; choose another port, or end the program that has it"
    )]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The address is not one of this machine, or the port takes a right that is missing.
    #[error("cannot bind to {address}: {source}; choose an address of this machine")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The loopback device does not work, over which features are tried.
    #[error(
        "the loopback device does not work, over which the kernel's features are tried: {0}; \
         run `ip link set lo up`"
    )]
    Loopback(Box<Self>),
    /// The kernel has no such socket, or refuses an option that has to work.
    #[error("cannot open a UDP socket for {address}: {step}: {source}")]
    Setup {
        /// The address.
        address: SocketAddr,
        /// The step that failed.
        step: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// A UDP socket that never waits.
#[derive(Debug)]
pub struct Socket {
    inner: socket2::Socket,
    /// The class of datagrams that do not say theirs to the kernel.
    class: Class,
    features: Features,
    keys: Keys,
    slots: Box<[Slot]>,
}

impl Socket {
    /// Opens a socket that uses the given features: those that [`Features::probe`] has found, or
    /// fewer.
    ///
    /// # Errors
    ///
    /// If the address is taken or not of this machine, or the kernel refuses an option.
    pub fn open(options: &Options, features: Features) -> Result<Self, OpenError> {
        let &Options { address, .. } = options;
        let at = |step| move |source| OpenError::Setup { address, step, source };
        let domain = Domain::for_address(address);
        let kind = Type::DGRAM.nonblocking();
        let socket =
            socket2::Socket::new(domain, kind, Some(Protocol::UDP)).map_err(at("socket"))?;
        socket.set_send_buffer_size(options.buffer).map_err(at("SO_SNDBUF"))?;
        socket.set_recv_buffer_size(options.buffer).map_err(at("SO_RCVBUF"))?;
        if options.shared {
            socket.set_reuse_port(true).map_err(at("SO_REUSEPORT"))?;
        }
        let byte = u32::from(options.class.traffic_class(Ecn::NotEct));
        if address.is_ipv4() {
            socket.set_tos_v4(byte).map_err(at("IP_TOS"))?;
        } else {
            socket.set_only_v6(true).map_err(at("IPV6_V6ONLY"))?;
            socket.set_tclass_v6(byte).map_err(at("IPV6_TCLASS"))?;
        }
        // After IP_TOS, by which the kernel chooses a priority, too.
        socket.set_priority(options.class.priority).map_err(at("SO_PRIORITY"))?;
        let slots = vec![Slot::EMPTY; STAMPS].into();
        let keys = Keys::new(features.stamp_keys);
        let this = Self { inner: socket, class: options.class, features, keys, slots };
        this.set_features(address).map_err(|(step, source)| at(step)(source))?;
        this.inner.bind(&address.into()).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => OpenError::Taken { address },
            _ => OpenError::Bind { address, source },
        })?;
        Ok(this)
    }

    /// Turns the features of this socket on.
    fn set_features(&self, address: SocketAddr) -> Result<(), (&'static str, io::Error)> {
        let set = |name, level, option, value: i32| {
            set_option(self.inner.as_fd(), level, option, value).map_err(|error| (name, error))
        };
        let Features { coalescing, traffic_class, receive_stamps, send_stamps, .. } = self.features;
        if coalescing {
            set("UDP_GRO", libc::SOL_UDP, libc::UDP_GRO, 1)?;
        }
        if traffic_class && address.is_ipv4() {
            set("IP_RECVTOS", libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        } else if traffic_class {
            set("IPV6_RECVTCLASS", libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
        }
        if self.features.whole_datagrams && address.is_ipv4() {
            let probe = libc::IP_PMTUDISC_PROBE;
            set("IP_MTU_DISCOVER", libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe)?;
        } else if self.features.whole_datagrams {
            let probe = libc::IPV6_PMTUDISC_PROBE;
            set("IPV6_MTU_DISCOVER", libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, probe)?;
        }
        let mut stamps = 0;
        if receive_stamps {
            stamps |= libc::SOF_TIMESTAMPING_RX_SOFTWARE;
        }
        if send_stamps {
            stamps |= libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        }
        if stamps != 0 {
            stamps |= libc::SOF_TIMESTAMPING_SOFTWARE;
            let stamps = stamps.cast_signed();
            set("SO_TIMESTAMPING", libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps)?;
        }
        Ok(())
    }

    /// The features that the socket uses.
    pub fn features(&self) -> Features {
        self.features
    }

    /// The address that the socket is bound to, with its port.
    ///
    /// # Errors
    ///
    /// If the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let address = self.inner.local_addr()?.as_socket();
        address.ok_or_else(|| io::Error::other("the socket has no IP address"))
    }

    /// The bytes of the kernel's send and receive buffers. It counts its own books in them, and
    /// gives no more than `net.core.wmem_max` and `rmem_max` allow.
    ///
    /// # Errors
    ///
    /// If the kernel does not say.
    pub fn buffers(&self) -> io::Result<(usize, usize)> {
        Ok((self.inner.send_buffer_size()?, self.inner.recv_buffer_size()?))
    }

    /// Sends the batch as far as the kernel takes it now, and returns the number of messages that
    /// left. What has not left stays in the batch.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a send for good: it is longer than the MTU of the device
    /// (`EMSGSIZE`), there is no route. The send is taken out of the batch, and those behind it
    /// stay.
    pub fn send(&mut self, batch: &mut SendBatch) -> io::Result<usize> {
        let mut count = 0;
        while !batch.is_empty() {
            match batch.leave(self.inner.as_fd(), self.class, &mut self.features, &mut self.keys) {
                Ok(sent) => count += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Receives what there is into the batch, up to its room, and returns the number of receives;
    /// zero if nothing is there. Datagrams that come within milliseconds after the machine's first
    /// socket with timestamps was opened may have none.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn receive(&mut self, batch: &mut ReceiveBatch) -> io::Result<usize> {
        match batch.fill(self.inner.as_fd()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            got => got,
        }
    }

    /// Tells the times at which sends left that asked for it ([`Transmit::stamp`]), and returns
    /// their number. A time that is not read makes [`wait`](Self::wait) return at once.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error of the socket.
    pub fn sent_stamps(&mut self, tell: impl FnMut(Sent)) -> io::Result<usize> {
        stamps::read(self.inner.as_fd(), &mut self.slots, &self.keys, tell)
    }

    /// Waits until something can be received or a time can be told, but no longer than `timeout`.
    /// Returns whether that is so; a signal ends the wait early.
    ///
    /// # Errors
    ///
    /// If the kernel cannot wait.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        sys::wait(self.inner.as_fd(), None, timeout)
    }

    /// Waits like [`wait`](Self::wait), or until `other` can be read.
    ///
    /// # Errors
    ///
    /// If the kernel cannot wait.
    pub fn wait_with(&self, other: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
        sys::wait(self.inner.as_fd(), Some(other), timeout)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl From<Socket> for UdpSocket {
    fn from(socket: Socket) -> Self {
        socket.inner.into()
    }
}

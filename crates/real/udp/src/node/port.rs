//! The socket of a node, with the batches of what comes and of what leaves.

use std::io;
use std::net::SocketAddr;

use super::last_wait::LastWait;
use crate::options::Options;
use crate::socket::{
    Class, Ecn, Features, MAX_RECEIVE_BYTES, MAX_SEND_BYTES, OpenError, ReceiveBatch, SendBatch,
    Socket, Transmit,
};

/// The most receives of one system call.
pub(super) const MOST_RECEIVES: usize = 16;
/// The most sends of a batch.
const MOST_SENDS: usize = 64;
/// The bytes of a batch.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// A send that the kernel has refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefusedSend {
    pub(super) to: SocketAddr,
    /// The length of its datagrams.
    pub(super) bytes: usize,
    /// Whether that may be too long for the path.
    pub(super) is_too_long: bool,
}

/// A socket with its batches.
pub(super) struct Port {
    pub(super) socket: Socket,
    /// The batch of datagrams that come, unless they are being taken in.
    pub(super) arrivals: Option<Box<ReceiveBatch>>,
    /// The batch of datagrams that leave.
    pub(super) out: SendBatch,
    /// The sends that the kernel has refused since the last look at them.
    pub(super) refused: Vec<RefusedSend>,
    /// The sends that the kernel has ever refused.
    pub(super) unsent: u64,
    /// Whether datagrams of data ask switches for marks.
    marks: bool,
    data_class: Class,
    urgent_class: Class,
}

impl Port {
    /// Opens the socket.
    pub(super) fn open(
        options: &Options,
        features: Features,
        marks: bool,
    ) -> Result<Self, OpenError> {
        let &Options { address, shared, buffer, data_class, urgent_class, .. } = options;
        // Most sends are short messages and answers. Where a send cannot choose its priority, the
        // socket has that of long ones.
        let class = if features.priorities { urgent_class } else { data_class };
        let settings = crate::socket::Options { address, shared, class, buffer };
        Ok(Self {
            socket: Socket::open(&settings, features)?,
            arrivals: Some(Box::new(ReceiveBatch::new(MOST_RECEIVES, MAX_RECEIVE_BYTES))),
            out: SendBatch::new(MOST_SENDS, BATCH_BYTES),
            refused: Vec::new(),
            unsent: 0,
            marks,
            data_class,
            urgent_class,
        })
    }

    /// Whether the batch has room for the datagrams of another two sends.
    pub(super) fn has_room(&mut self) -> bool {
        self.out.len() + 2 <= MOST_SENDS && self.out.room().len() >= 2 * MAX_SEND_BYTES
    }

    /// Sends the batch. Returns whether the kernel has taken all of it.
    pub(super) fn flush(&mut self, last_wait: &mut LastWait) -> io::Result<bool> {
        while !self.out.is_empty() {
            match self.socket.send(&mut self.out) {
                Ok(_) => {
                    last_wait.sent();
                    return Ok(self.out.is_empty());
                }
                // The send is taken out of the batch; its data counts as lost.
                Err(error) if is_of_the_path(&error) => {
                    self.unsent += 1;
                    // The kernel cuts no send into datagrams that are longer than the device takes.
                    let numbers = [libc::EMSGSIZE, libc::EINVAL].map(Some);
                    let is_too_long = numbers.contains(&error.raw_os_error());
                    if let Some((to, bytes)) = self.out.take_refused()
                        && self.refused.len() < MOST_SENDS
                    {
                        self.refused.push(RefusedSend { to, bytes, is_too_long });
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Adds a datagram outside open connections to the batch.
    pub(super) fn add_opening(&mut self, to: SocketAddr, datagram: &[u8]) {
        if self.has_room() {
            let transmit = Transmit { class: self.urgent_class, ..Transmit::to(to) };
            let pushed = self.out.push(transmit, datagram);
            debug_assert!(pushed.is_ok(), "{pushed:?}");
        }
    }

    /// Adds a send of the bytes that were written into the batch's room.
    pub(super) fn commit(&mut self, send: &Written, bytes: usize) {
        let &Written { to, segment, is_urgent, has_data, stamp } = send;
        let class = if is_urgent { self.urgent_class } else { self.data_class };
        let ecn = if self.marks && has_data { Ecn::Ect0 } else { Ecn::NotEct };
        let committed = self.out.commit(Transmit { to, segment, class, ecn, stamp }, bytes);
        debug_assert!(committed.is_ok(), "{committed:?}");
    }
}

/// A send whose bytes are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) to: SocketAddr,
    /// The length of its datagrams, where there are several.
    pub(super) segment: Option<u16>,
    /// Whether it is in the higher class.
    pub(super) is_urgent: bool,
    /// Whether there is payload in it.
    pub(super) has_data: bool,
    /// The key of the stamp of its departure, if one is wanted.
    pub(super) stamp: Option<u32>,
}

/// Whether the path refuses a send, and not the socket: no route, too long for the device.
fn is_of_the_path(error: &io::Error) -> bool {
    let of_the_path = [
        libc::EMSGSIZE,
        libc::ENETUNREACH,
        libc::EHOSTUNREACH,
        libc::EAFNOSUPPORT,
        libc::EADDRNOTAVAIL,
        libc::EACCES,
        libc::ENETDOWN,
        libc::ECONNREFUSED,
        libc::EPERM,
        libc::ENOBUFS,
        libc::EINVAL,
    ];
    error.raw_os_error().is_some_and(|number| of_the_path.contains(&number))
}

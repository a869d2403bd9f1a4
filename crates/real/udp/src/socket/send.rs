//! Batches of datagrams to be sent.

use super::address::Address;
use super::control::Control;
use super::features::Features;
use super::mark::{Class, Ecn};
use super::stamps::Keys;
use super::sys::{self, MOST, Outbound};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// The most bytes of one send.
pub const MAX_SEND_BYTES: usize = 65_507;
/// The most datagrams into which the kernel cuts one send.
pub const MAX_SEND_DATAGRAMS: usize = 64;

/// A control message by which a send numbers its timestamps itself (Linux 6.13).
pub(super) const SCM_TS_OPT_ID: i32 = 81;

/// A send: one datagram, or several of equal length to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The receiver.
    pub to: SocketAddr,
    /// The length of each datagram in bytes but for the last one, which may be shorter;
    /// [`None`] for a single datagram.
    pub segment: Option<u16>,
    /// The class in the queues of host and network.
    pub class: Class,
    /// The ECN bits.
    pub ecn: Ecn,
    /// The key under which [`Socket::sent_stamps`](super::Socket::sent_stamps) tells when the first datagram
    /// left; [`None`] for no timestamp.
    pub stamp: Option<u32>,
}

impl Transmit {
    /// A datagram of the class 0, without a mark or timestamp.
    pub const fn to(to: SocketAddr) -> Self {
        let class = Class { dscp: 0, priority: 0 };
        Self { to, segment: None, class, ecn: Ecn::NotEct, stamp: None }
    }
}

/// The reason why a batch does not take a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The batch has no room left: send it first.
    #[error("the batch is full; send it before adding {bytes} B more")]
    Full {
        /// The bytes of the send.
        bytes: usize,
    },
    /// The send is longer than UDP allows.
    #[error("a send of {bytes} B exceeds the {MAX_SEND_BYTES} B that UDP carries at once")]
    TooLong {
        /// The bytes of the send.
        bytes: usize,
    },
    /// The send has more datagrams than the kernel cuts at once, or datagrams of no length.
    #[error(
        "{bytes} B in datagrams of {segment} B are not 1 to {MAX_SEND_DATAGRAMS} datagrams; \
         send less at once"
    )]
    Datagrams {
        /// The bytes of the send.
        bytes: usize,
        /// The bytes of each datagram.
        segment: u16,
    },
    /// The DSCP has more than six bits.
    #[error("a DSCP of {dscp} does not fit its six bits; choose one below 64")]
    Dscp {
        /// The DSCP.
        dscp: u8,
    },
}

#[derive(Debug)]
struct Entry {
    transmit: Transmit,
    to: Address,
    start: usize,
    bytes: usize,
}

/// Sends that are to leave together, with memory for their data.
///
/// All memory is taken when the batch is made. There is room again when everything has left.
#[derive(Debug)]
pub struct SendBatch {
    entries: Vec<Entry>,
    /// The most sends.
    sends: usize,
    controls: Box<[Control]>,
    data: Box<[u8]>,
    used: usize,
    /// The first send that has not left whole, and the bytes of it that have left.
    next: (usize, usize),
    /// The last send that was refused: its receiver, and the length of its datagrams.
    refused: Option<(SocketAddr, usize)>,
}

impl SendBatch {
    /// An empty batch with room for a number of sends, and for the bytes of all of them.
    pub fn new(sends: usize, bytes: usize) -> Self {
        let (entries, data) = (Vec::with_capacity(sends), vec![0; bytes].into());
        let controls = vec![Control::EMPTY; MOST].into();
        Self { entries, sends, controls, data, used: 0, next: (0, 0), refused: None }
    }

    /// The memory for the data of the next send. [`commit`](Self::commit) takes the first bytes
    /// of it.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.data[self.used..]
    }

    /// Adds a send of the first `bytes` bytes of [`room`](Self::room).
    ///
    /// # Errors
    ///
    /// If the batch is full, or if the kernel would not take the send. Nothing is added then.
    pub fn commit(&mut self, transmit: Transmit, bytes: usize) -> Result<(), Refused> {
        if bytes > MAX_SEND_BYTES {
            return Err(Refused::TooLong { bytes });
        }
        if self.entries.len() == self.sends || bytes > self.data.len() - self.used {
            return Err(Refused::Full { bytes });
        }
        if let Some(segment) = transmit.segment
            && (segment == 0 || !(1..=MAX_SEND_DATAGRAMS).contains(&bytes.div_ceil(segment.into())))
        {
            return Err(Refused::Datagrams { bytes, segment });
        }
        let dscp = transmit.class.dscp;
        if dscp >= 64 {
            return Err(Refused::Dscp { dscp });
        }
        let to = Address::of(&transmit.to);
        self.entries.push(Entry { transmit, to, start: self.used, bytes });
        self.used += bytes;
        Ok(())
    }

    /// Adds a send of `data`, which is copied.
    ///
    /// # Errors
    ///
    /// If the batch is full, or if the kernel would not take the send. Nothing is added then.
    pub fn push(&mut self, transmit: Transmit, data: &[u8]) -> Result<(), Refused> {
        if let Some(room) = self.room().get_mut(..data.len()) {
            room.copy_from_slice(data);
        }
        self.commit(transmit, data.len())
    }

    /// Whether everything has left.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of sends that have not left whole.
    pub fn len(&self) -> usize {
        self.entries.len() - self.next.0
    }

    /// Takes the receiver and the length of the longest datagram of the last send that the kernel
    /// has refused for good.
    pub const fn take_refused(&mut self) -> Option<(SocketAddr, usize)> {
        self.refused.take()
    }

    /// Forgets all sends.
    pub fn clear(&mut self) {
        self.entries.clear();
        (self.used, self.next) = (0, (0, 0));
    }

    /// Sends what one system call takes, and returns the number of messages that left. If the call
    /// fails, the send that failed is taken out. Where the kernel cannot cut it for its device, it
    /// stays, and `features` are without cutting from then on. `common` is the class of the socket.
    pub(super) fn leave(
        &mut self,
        socket: BorrowedFd<'_>,
        common: Class,
        features: &mut Features,
        keys: &mut Keys,
    ) -> io::Result<usize> {
        let Self { entries, controls, data, next, refused, .. } = self;
        let used = *features;
        let (first, skip) = *next;
        let pieces = entries[first..].iter().enumerate().flat_map(|(index, entry)| {
            let from = if index == 0 { skip } else { 0 };
            let starts = (from..entry.bytes.max(1)).step_by(entry.piece(used));
            starts.map(move |at| (entry, at))
        });
        let messages = pieces.zip(controls.iter_mut()).map(|((entry, at), control)| {
            entry.write_control(control, at, common, used);
            let end = entry.bytes.min(at + entry.piece(used));
            let data = &data[entry.start..][at.min(end)..end];
            Outbound { to: &entry.to, data, control }
        });
        let sent = sys::send(socket, messages);
        for _ in 0..*sent.as_ref().unwrap_or(&0) {
            let (index, at) = *next;
            let entry = &entries[index];
            if let (Some(key), 0) = (entry.transmit.stamp, at) {
                keys.note(key);
            }
            let at = at + entry.piece(used);
            *next = if at >= entry.bytes { (index + 1, 0) } else { (index, at) };
        }
        let passes = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
        if let Err(error) = &sent
            && !passes.contains(&error.kind())
        {
            let entry = &entries[first];
            if error.raw_os_error() == Some(libc::EIO) && used.segmentation && entry.is_cut() {
                features.segmentation = false;
                return Ok(0);
            }
            let Entry { transmit, bytes, .. } = entry;
            *refused = Some((transmit.to, transmit.segment.map_or(*bytes, usize::from)));
            *next = (first + 1, 0);
        }
        if next.0 == entries.len() {
            self.clear();
        }
        sent
    }
}

impl Entry {
    /// Whether there are several datagrams in the send.
    fn is_cut(&self) -> bool {
        self.transmit.segment.is_some_and(|segment| usize::from(segment) < self.bytes)
    }

    /// The bytes of each message of a system call: all of the send, or one datagram of it if the
    /// kernel does not cut sends.
    fn piece(&self, features: Features) -> usize {
        match self.transmit.segment {
            Some(segment) if !features.segmentation => segment.into(),
            _ => self.bytes.max(1),
        }
    }

    /// Writes the control messages of the piece that starts at `at`.
    fn write_control(&self, control: &mut Control, at: usize, common: Class, features: Features) {
        let Transmit { segment, class, ecn, stamp, to } = self.transmit;
        control.length = 0;
        if let Some(segment) = segment
            && features.segmentation
            && self.is_cut()
        {
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes());
        }
        let traffic_class = class.traffic_class(ecn);
        let is_marked = traffic_class != common.traffic_class(Ecn::NotEct);
        if is_marked {
            let (level, kind) = match to {
                SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            control.push(level, kind, &i32::from(traffic_class).to_ne_bytes());
        }
        // After the DSCP, by which IPv4 chooses a priority, too.
        if (is_marked || class.priority != common.priority) && features.priorities {
            control.push(libc::SOL_SOCKET, libc::SO_PRIORITY, &class.priority.to_ne_bytes());
        }
        if let (Some(key), 0, true) = (stamp, at, features.send_stamps) {
            let record = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
            control.push(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &record.to_ne_bytes());
            if features.stamp_keys {
                control.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &key.to_ne_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The control messages of a send, each as its type.
    fn kinds(transmit: Transmit, common: Class) -> Vec<i32> {
        let to = Address::of(&transmit.to);
        let entry = Entry { transmit, to, start: 0, bytes: 1 };
        let mut control = Control::EMPTY;
        let features = Features { priorities: true, ..Features::NONE };
        entry.write_control(&mut control, 0, common, features);
        control.messages().map(|(_, kind, _)| kind).collect()
    }

    #[test]
    fn a_datagram_of_the_common_class_needs_no_control_message() {
        let common = Class { dscp: 18, priority: 6 };
        let plain = Transmit::to(([127, 0, 0, 1], 7_000).into());
        assert!(kinds(Transmit { class: common, ..plain }, common).is_empty());
        assert!(kinds(plain, Class::default()).is_empty());
        // The DSCP and the ECN bits change the priority, too, unless it is said behind them.
        let both = [libc::IP_TOS, libc::SO_PRIORITY];
        assert_eq!(kinds(plain, common), both);
        assert_eq!(kinds(Transmit { class: common, ecn: Ecn::Ect0, ..plain }, common), both);
        let urgent = Class { priority: 7, ..common };
        assert_eq!(kinds(Transmit { class: urgent, ..plain }, common), [libc::SO_PRIORITY]);
    }
}

//! Batches of datagrams that came.

use super::control::int;
use super::mark::{Ecn, Stamp};
use super::sys::{self, MOST, Slot};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// The bytes of a datagram, or of several that the kernel hands over together.
pub const MAX_RECEIVE_BYTES: usize = 65_535;

/// Datagrams of one sender, as the kernel handed them over. `D` is `&[u8]`, or `&mut [u8]` for
/// those who change the data in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<D> {
    /// The sender.
    pub from: SocketAddr,
    /// The data of one datagram, or of several in a row.
    pub data: D,
    /// The length of each datagram in bytes but for the last one, which may be shorter.
    pub segment: usize,
    /// The DSCP.
    pub dscp: u8,
    /// The ECN bits.
    pub ecn: Ecn,
    /// The time at which the datagrams came; [`None`] if the kernel did not say.
    pub stamp: Option<Stamp>,
    /// Whether the data was longer than the batch has room for. The rest is lost.
    pub truncated: bool,
}

impl<'a> Received<&'a [u8]> {
    /// The data of each datagram in turn. A datagram without data is one, too.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let empty = self.data.is_empty().then_some(self.data);
        self.data.chunks(self.segment.max(1)).chain(empty)
    }
}

impl<'a> Received<&'a mut [u8]> {
    /// The data of each datagram in turn. A datagram without data is one, too.
    pub fn into_datagrams(self) -> impl Iterator<Item = &'a mut [u8]> {
        let empty = self.data.is_empty().then_some(&mut [][..]);
        self.data.chunks_mut(self.segment.max(1)).chain(empty)
    }
}

/// Memory for datagrams that come together.
///
/// All memory is taken when the batch is made.
#[derive(Debug)]
pub struct ReceiveBatch {
    data: Box<[u8]>,
    each: usize,
    slots: Box<[Slot]>,
    /// The most receives of the next call.
    most: usize,
    count: usize,
}

impl ReceiveBatch {
    /// An empty batch with room for up to 64 receives of up to `each` bytes:
    /// [`MAX_RECEIVE_BYTES`] where datagrams are handed over together.
    pub fn new(receives: usize, each: usize) -> Self {
        let receives = receives.clamp(1, MOST);
        let (data, slots) = (vec![0; receives * each].into(), vec![Slot::EMPTY; receives].into());
        Self { data, each, slots, most: receives, count: 0 }
    }

    /// Changes the number of receives for which the batch has room, up to that with which it was
    /// made. The kernel looks once more after the last one that there is, unless it was the last for
    /// which there is room.
    pub fn limit(&mut self, receives: usize) {
        self.most = receives.clamp(1, self.slots.len());
    }

    /// The number of receives in the batch.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The datagrams that came, in order. Datagrams from addresses that are not of IP are left out.
    pub fn iter(&self) -> impl Iterator<Item = Received<&[u8]>> {
        let data = self.data.chunks(self.each.max(1));
        self.slots[..self.count].iter().zip(data).filter_map(|(slot, data)| {
            let bytes = slot.bytes.min(data.len());
            received(slot, &data[..bytes], bytes)
        })
    }

    /// The datagrams that came, in order, with data that may be changed: decrypted in place.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = Received<&mut [u8]>> {
        let data = self.data.chunks_mut(self.each.max(1));
        self.slots[..self.count].iter().zip(data).filter_map(|(slot, data)| {
            let bytes = slot.bytes.min(data.len());
            received(slot, &mut data[..bytes], bytes)
        })
    }

    /// Receives what there is, up to the room of the batch; what was in it before is forgotten.
    pub(super) fn fill(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.count = 0;
        let slots = &mut self.slots[..self.most];
        self.count = sys::receive(socket, slots, &mut self.data, self.each, 0)?;
        Ok(self.count)
    }
}

fn received<D>(slot: &Slot, data: D, bytes: usize) -> Option<Received<D>> {
    let (mut segment, mut traffic_class, mut stamp) = (bytes, 0, None);
    for message in slot.control.messages() {
        match message {
            (libc::SOL_UDP, libc::UDP_GRO, value) => {
                segment = int(value).and_then(|value| value.try_into().ok()).unwrap_or(segment);
            }
            // A byte with IPv4, an `int` with IPv6.
            (libc::IPPROTO_IP, libc::IP_TOS, &[value, ..]) => traffic_class = value,
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, value) => {
                traffic_class = int(value).and_then(|value| value.try_into().ok()).unwrap_or(0);
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, value) => stamp = Stamp::of_control(value),
            _ => {}
        }
    }
    let truncated = slot.flags & libc::MSG_TRUNC != 0;
    let (dscp, ecn) = (traffic_class >> 2, Ecn::of(traffic_class));
    Some(Received { from: slot.from.get()?, data, segment, dscp, ecn, stamp, truncated })
}

//! System calls on sockets that no crate offers in this form: batches whose datagrams have control
//! messages of their own.

#![expect(unsafe_code, reason = "system calls take pointers")]

use super::address::Address;
use super::control::{Control, ROOM};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::time::Duration;

/// The most messages of one call.
pub(super) const MOST: usize = 64;

/// A message to be sent.
pub(super) struct Outbound<'a> {
    pub(super) to: &'a Address,
    pub(super) data: &'a [u8],
    pub(super) control: &'a Control,
}

/// Room for what a receive tells of a message, beside its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) from: Address,
    pub(super) control: Control,
    /// The bytes of data that arrived and fit.
    pub(super) bytes: usize,
    /// The `MSG_` flags.
    pub(super) flags: i32,
}

impl Slot {
    pub(super) const EMPTY: Self =
        Self { from: Address::ROOM, control: Control::EMPTY, bytes: 0, flags: 0 };
}

/// Sends up to [`MOST`] messages without waiting, and returns the number that left.
pub(super) fn send<'a>(
    socket: BorrowedFd<'_>,
    messages: impl Iterator<Item = Outbound<'a>>,
) -> io::Result<usize> {
    let mut parts = [const { MaybeUninit::<libc::iovec>::uninit() }; MOST];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MOST];
    let mut count = 0;
    for ((message, part), header) in messages.zip(&mut parts).zip(&mut headers) {
        let Outbound { to, data, control } = message;
        let part = part
            .write(libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() });
        let header = empty(header);
        header.msg_name = to.bytes.as_ptr().cast_mut().cast();
        header.msg_namelen = to.length;
        header.msg_iov = part;
        header.msg_iovlen = 1;
        if control.length > 0 {
            header.msg_control = control.bytes.as_ptr().cast_mut().cast();
            header.msg_controllen = control.length as _;
        }
        count += 1;
    }
    // SAFETY: the first `count` headers are initialised. They point to parts on this stack, and to
    // memory that outlives `'a`, which the kernel only reads.
    let sent = unsafe {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr().cast(), count, flags)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives up to [`MOST`] messages without waiting, one for each slot, and returns their number.
/// The data of the i-th goes to `data[i * each..][..each]`.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    slots: &mut [Slot],
    data: &mut [u8],
    each: usize,
    flags: i32,
) -> io::Result<usize> {
    let mut parts = [const { MaybeUninit::<libc::iovec>::uninit() }; MOST];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MOST];
    let count = slots.len().min(MOST);
    assert!(data.len() >= count * each, "each message has room of its own");
    let base = data.as_mut_ptr();
    for (index, slot) in slots[..count].iter_mut().enumerate() {
        // SAFETY: `index * each` is at most the length of `data`, which was checked.
        let start = unsafe { base.add(index * each) };
        let part = parts[index].write(libc::iovec { iov_base: start.cast(), iov_len: each });
        let header = empty(&mut headers[index]);
        header.msg_name = slot.from.bytes.as_mut_ptr().cast();
        header.msg_namelen = Address::ROOM.length;
        header.msg_iov = part;
        header.msg_iovlen = 1;
        header.msg_control = slot.control.bytes.as_mut_ptr().cast();
        header.msg_controllen = ROOM as _;
    }
    // SAFETY: the first `count` headers are initialised. They point to parts on this stack, to
    // slots and to disjoint pieces of `data`, all of which are borrowed mutably here.
    let got = unsafe {
        let flags = (flags | libc::MSG_DONTWAIT) as _;
        let headers = headers.as_mut_ptr().cast();
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers,
            u32::try_from(count).unwrap_or(0),
            flags,
            null_mut(),
        )
    };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    for (slot, header) in slots.iter_mut().zip(&headers[..got.min(count)]) {
        // SAFETY: the first `count` headers were initialised above.
        let header = unsafe { header.assume_init_ref() };
        slot.bytes = (header.msg_len as usize).min(each);
        slot.flags = header.msg_hdr.msg_flags;
        slot.from.length = header.msg_hdr.msg_namelen;
        #[allow(clippy::unnecessary_cast, reason = "a socklen_t with other C libraries")]
        let length = header.msg_hdr.msg_controllen as usize;
        slot.control.length = length.min(ROOM);
    }
    Ok(got)
}

/// Writes a header of no message.
fn empty(header: &mut MaybeUninit<libc::mmsghdr>) -> &mut libc::msghdr {
    *header = MaybeUninit::zeroed();
    // SAFETY: a header of zeros is valid: null pointers and lengths of zero.
    unsafe { &mut header.assume_init_mut().msg_hdr }
}

/// Sets an option that is an `int`.
///
/// # Errors
///
/// If the kernel refuses it.
pub fn set_option(socket: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads.
    let done = unsafe {
        let length = libc::socklen_t::from(4_u8);
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until the socket or `other` can be read, or the socket has something in its error queue.
/// Returns whether that is so; not after `timeout`, or when a signal came.
pub(super) fn wait(
    socket: BorrowedFd<'_>,
    other: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<bool> {
    // A descriptor below zero is left out.
    let mut polls = [Some(socket), other].map(|fd| of_input(fd.map_or(-1, |fd| fd.as_raw_fd())));
    poll(&mut polls, timeout)
}

/// Sockets that a thread waits for together.
#[derive(Debug)]
pub struct Poll(Vec<libc::pollfd>);

impl Poll {
    /// Nothing is ready before the first wait.
    pub fn of<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>) -> Self {
        Self(sockets.map(|socket| of_input(socket.as_raw_fd())).collect())
    }

    /// Waits until one of the sockets can be read or has something in its error queue.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        poll(&mut self.0, Some(timeout)).map(|_| ())
    }

    /// Whether a socket was ready at the end of the last wait.
    pub fn is_ready(&self, index: usize) -> bool {
        self.0.get(index).is_some_and(|poll| poll.revents != 0)
    }
}

fn of_input(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Waits for descriptors. Returns whether one is ready; not after `timeout`, or when a signal came.
fn poll(polls: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<bool> {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = polls.len() as libc::nfds_t;
    // SAFETY: as many `pollfd`s as are counted, and a time that is null or lives until the call
    // returns.
    let ready = unsafe { libc::ppoll(polls.as_mut_ptr(), count, time, std::ptr::null()) };
    match ready {
        0 => Ok(false),
        1.. => Ok(true),
        _ => {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            for poll in polls {
                poll.revents = 0;
            }
            Ok(false)
        }
    }
}

//! Calls and notes to peers.

use std::ptr::null_mut;

use crate::border::{body, free, given, guard, place, time};
use crate::error::Error;
use crate::hosts::Peer;

/// Bytes that a function has brought.
#[repr(C)]
pub struct Bytes {
    /// The bytes; NULL if there are none.
    pub data: *mut u8,
    /// Their number.
    pub bytes: usize,
}

impl Bytes {
    const NONE: Self = Self { data: null_mut(), bytes: 0 };

    fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::NONE;
        }
        let all: Box<[u8]> = bytes.into();
        Self { bytes: all.len(), data: Box::into_raw(all).cast() }
    }
}

/// Calls a peer, and waits for the reply, but no longer than `timeout_s`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_call(
    peer: *const Peer,
    data: *const u8,
    bytes: usize,
    timeout_s: f64,
    reply: *mut Bytes,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let reply = place(reply, Bytes::NONE, "reply")?;
            let peer = given(peer, "peer")?;
            let (call, patience) = (body(data, bytes)?, time(timeout_s)?);
            let replied = peer.0.call_with(call.to_vec(), patience).wait()?;
            *reply = Bytes::of(&replied);
            Ok(())
        })
    }
}

/// Sends a message that wants no reply, and waits until the peer has it, but no longer than
/// `timeout_s`, after which no more of it leaves: the error's message says whether the peer may
/// still get it. With a time of 0 it does not wait, and errors of the way are not told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_note(
    peer: *const Peer,
    data: *const u8,
    bytes: usize,
    timeout_s: f64,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let peer = given(peer, "peer")?;
            let (note, timeout) = (body(data, bytes)?, time(timeout_s)?);
            let waits = timeout.is_none_or(|timeout| !timeout.is_zero());
            let pending = peer.0.note_with(note.to_vec(), timeout.filter(|_| waits));
            if waits {
                pending.wait()?;
            }
            Ok(())
        })
    }
}

/// Frees the bytes that a function has brought. There are none afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_bytes_free(bytes: *mut Bytes) {
    // SAFETY: C promises it.
    let Some(place) = (unsafe { bytes.as_mut() }) else { return };
    let Bytes { data, bytes } = std::mem::replace(place, Bytes::NONE);
    if !data.is_null() {
        let all = std::ptr::slice_from_raw_parts_mut(data, bytes);
        // SAFETY: it was made of a box of this length.
        free(Some(unsafe { Box::from_raw(all) }));
    }
}

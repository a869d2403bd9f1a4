//! Messages from peers, and the answers to them.

use std::ffi::c_char;
use std::ptr::{null, null_mut};
use std::time::Duration;

use crate::border::{body, free, given, guard, place, text, time};
use crate::error::{Error, Fault, INCAST_TIMED_OUT};
use crate::hosts::Host;

/// A message from a peer: a call, which wants a reply, or a note.
pub struct Request(incast_udp::Request);

/// The longest wait at a time.
const LONG: Duration = Duration::from_secs(3_600);

/// Waits for the next message of any peer, but no longer than `timeout_s`: `INCAST_TIMED_OUT`
/// says that there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_accept(
    host: *const Host,
    timeout_s: f64,
    request: *mut *mut Request,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let request = place(request, null_mut(), "request")?;
            let host = given(host, "host")?;
            let timeout = time(timeout_s)?;
            let came = loop {
                let came = host.0.accept(timeout.unwrap_or(LONG))?;
                if came.is_some() || timeout.is_some() {
                    break came;
                }
            };
            let none = || Fault::new(INCAST_TIMED_OUT, format!("nothing came in {timeout_s} s"));
            *request = Box::into_raw(Box::new(Request(came.ok_or_else(none)?)));
            Ok(())
        })
    }
}

/// The body of a request, which is freed with it. It is NULL if it is empty, or the request is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_request_body(
    request: *const Request,
    bytes: *mut usize,
) -> *const u8 {
    // SAFETY: C promises it.
    let body: &[u8] = unsafe { request.as_ref() }.map_or(&[], |request| request.0.body());
    if !bytes.is_null() {
        // SAFETY: C promises it.
        unsafe { bytes.write(body.len()) };
    }
    if body.is_empty() { null() } else { body.as_ptr() }
}

/// Whether a request is a call, which wants a reply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_wants_reply(request: *const Request) -> bool {
    // SAFETY: C promises it.
    let request = unsafe { request.as_ref() };
    request.is_some_and(|request| matches!(request.0, incast_udp::Request::Call(_)))
}

/// The time for which the sender of a request waits, in seconds from when it was sent: for the
/// reply to a call, or for the news that a note was delivered. INFINITY if it is not bounded, or
/// the request is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_request_timeout(request: *const Request) -> f64 {
    // SAFETY: C promises it.
    let request = unsafe { request.as_ref() };
    let patience = request.and_then(|request| request.0.patience());
    patience.map_or(f64::INFINITY, |time| time.as_secs_f64())
}

/// Replies to a call. After success the request is freed; after an error, as where it is no call,
/// it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_reply(
    request: *mut Request,
    data: *const u8,
    bytes: usize,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let reply = body(data, bytes)?.to_vec();
            take(request)?.reply(reply);
            Ok(())
        })
    }
}

/// Refuses a call for a reason that the caller reads. After success the request is freed; after an
/// error it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_refuse(
    request: *mut Request,
    reason: *const c_char,
    error: *mut Error,
) -> i32 {
    // SAFETY: C promises it.
    unsafe {
        guard(error, || {
            let reason = text(reason, "reason")?;
            take(request)?.refuse(reason);
            Ok(())
        })
    }
}

/// The call of a request, which is freed.
///
/// # Safety
///
/// The pointer is NULL, or is of `incast_accept`, and is used no more if there is a call.
unsafe fn take(request: *mut Request) -> Result<incast_udp::Call, Fault> {
    // SAFETY: the caller promises it.
    unsafe {
        match given(request, "request")? {
            Request(incast_udp::Request::Note(_)) => {
                Err(Fault::argument("a note wants no reply; free the request"))
            }
            Request(incast_udp::Request::Call(_)) => match Box::from_raw(request).0 {
                incast_udp::Request::Call(call) => Ok(call),
                incast_udp::Request::Note(_) => unreachable!("it is a call"),
            },
        }
    }
}

/// Frees a request. A call that was not answered is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn incast_request_free(request: *mut Request) {
    // SAFETY: C promises it.
    free((!request.is_null()).then(|| unsafe { Box::from_raw(request) }));
}

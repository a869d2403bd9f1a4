//! Errors: a code and a sentence.

use std::ffi::c_char;

use incast_udp::{Failure, Refused};

/// The code of success.
pub const INCAST_OK: i32 = 0;
/// The code of an argument that cannot be: a pointer that is NULL, a text that is no address.
pub const INCAST_BAD_ARGUMENT: i32 = 1;
/// The code of a host that cannot be opened: its address is taken, a file of keys is missing.
pub const INCAST_CANNOT_OPEN: i32 = 2;
/// The code of a peer that is gone, does not answer, or opens no connection with this host.
pub const INCAST_GONE: i32 = 3;
/// The code of a call that the peer has refused; the message has its reason.
pub const INCAST_REFUSED: i32 = 4;
/// The code of a time that is over. The message says whether the peer may have got what was sent.
pub const INCAST_TIMED_OUT: i32 = 5;
/// The code of a message that is longer than the peer takes.
pub const INCAST_TOO_LONG: i32 = 6;
/// The code of a message that has to wait: too much is on its way to the peer already.
pub const INCAST_FULL: i32 = 7;
/// The code of a host that was closed, or has stopped by an error of its socket.
pub const INCAST_STOPPED: i32 = 8;
/// The code of a defect of the library; the message says where.
pub const INCAST_DEFECT: i32 = 9;

/// The bytes of an error's message with the zero behind it. A longer one is cut.
pub const INCAST_MESSAGE_BYTES: usize = 508;

/// An error, in memory of the caller.
#[repr(C)]
pub struct Error {
    /// The code; `INCAST_OK` after success.
    pub code: i32,
    /// The sentence that tells what is wrong and what to do; empty after success.
    pub message: [c_char; INCAST_MESSAGE_BYTES],
}

/// The reason why a function fails.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Fault {
    #[expect(clippy::needless_pass_by_value, reason = "errors are handed over")]
    pub(crate) fn new(code: i32, message: impl ToString) -> Self {
        Self { code, message: message.to_string() }
    }

    /// A fault of an argument.
    pub(crate) fn argument(message: impl ToString) -> Self {
        Self::new(INCAST_BAD_ARGUMENT, message)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let code = match &failure {
            Failure::Refused(Refused::TooLong { .. }) => INCAST_TOO_LONG,
            Failure::Refused(Refused::Full { .. } | Refused::FullInAll { .. }) => INCAST_FULL,
            Failure::Refused(Refused::Gone) | Failure::Gone(_) | Failure::Security(_) => {
                INCAST_GONE
            }
            Failure::RefusedByPeer(_) => INCAST_REFUSED,
            Failure::TimedOut(_) | Failure::Undelivered(_) | Failure::Unsent(_) => INCAST_TIMED_OUT,
            Failure::Stopped(_) => INCAST_STOPPED,
        };
        Self::new(code, failure)
    }
}

impl Error {
    /// The error of a fault, or of success.
    pub(crate) fn of(fault: Option<&Fault>) -> Self {
        let mut this = Self { code: INCAST_OK, message: [0; INCAST_MESSAGE_BYTES] };
        if let Some(Fault { code, message }) = fault {
            this.code = *code;
            // A text that is cut stays UTF-8, and a zero in it would end it.
            let mut end = message.len().min(INCAST_MESSAGE_BYTES - 1);
            while !message.is_char_boundary(end) {
                end -= 1;
            }
            for (place, byte) in this.message.iter_mut().zip(message[..end].bytes()) {
                *place = if byte == 0 { b'?' } else { byte }.cast_signed();
            }
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters_and_ends() {
        let long = "é".repeat(400);
        let error = Error::of(Some(&Fault::argument(long)));
        let bytes: Vec<u8> = error.message.iter().map(|&byte| byte.cast_unsigned()).collect();
        let text = std::ffi::CStr::from_bytes_until_nul(&bytes).unwrap().to_str().unwrap();
        assert_eq!(text, "é".repeat(253), "506 bytes and the zero");
        let error = Error::of(Some(&Fault::new(INCAST_GONE, "a\0b")));
        assert_eq!(error.message[1].cast_unsigned(), b'?');
        assert_eq!(Error::of(None).code, INCAST_OK);
    }
}

//! The functions that the module exports.
//!
//! A page writes a question at [`incast_room`], calls [`incast_ask`], and reads the answer at
//! [`incast_answer`]. A module is one thread, so that one session is enough.

#![expect(unsafe_code, reason = "names that a module exports")]

use std::cell::RefCell;

use crate::session::{Answer, Session};

/// The session of this instance, the question, and the last answer.
#[derive(Default)]
struct Instance {
    session: Session,
    question: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
}

/// Makes room for a question of `length` bytes, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn incast_room(length: usize) -> *mut u8 {
    INSTANCE.with_borrow_mut(|instance| {
        instance.question = vec![0; length];
        instance.question.as_mut_ptr()
    })
}

/// Answers the question. Returns 0 where the answer is JSON, 1 where it is JSON about an error, and
/// 2 where it is the bytes of a table.
#[unsafe(no_mangle)]
pub extern "C" fn incast_ask() -> u32 {
    INSTANCE.with_borrow_mut(|instance| {
        let question = std::mem::take(&mut instance.question);
        let (kind, bytes) = match instance.session.ask(&question) {
            Answer::Json(text) => (0, text.into_bytes()),
            Answer::Error(text) => (1, text.into_bytes()),
            Answer::Bytes(bytes) => (2, bytes),
        };
        instance.answer = bytes;
        kind
    })
}

/// The address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn incast_answer() -> *const u8 {
    INSTANCE.with_borrow(|instance| instance.answer.as_ptr())
}

/// The length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn incast_answer_length() -> usize {
    INSTANCE.with_borrow(|instance| instance.answer.len())
}

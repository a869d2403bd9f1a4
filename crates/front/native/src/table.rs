//! A whole algorithm of a crate of one's own: name, parameters, functions.

use core::ffi::c_void;

use crate::calls::{Calls, Gauge};
use crate::facts::{Ack, Answer, Demand, Flow, Hop, Loss, Moment, Sent, Spurious};

/// A text in UTF-8 that stays for good.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    /// An empty text.
    pub const EMPTY: Self = Self::new("");

    /// A text of Rust.
    pub const fn new(text: &'static str) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// A text that stays at least as long as a call.
    pub(crate) const fn lent(text: &str) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// The text in Rust; empty if it is no UTF-8.
    ///
    /// # Safety
    /// The text is still there, and stays for `'a`.
    pub unsafe fn get<'a>(self) -> &'a str {
        // SAFETY: it was made of a text of that length, and the caller promises that it stays.
        let bytes = unsafe { core::slice::from_raw_parts(self.start, self.length) };
        core::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// The description of a parameter, as [`incast_cc::param::Param`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are those of the other")]
pub struct ParamText {
    pub name: Text,
    pub doc: Text,
    pub unit: Text,
    pub source: Text,
    pub range: Text,
}

/// The first part of a table, which says whether the rest can be read.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The version of the interface.
    pub version: u64,
    /// The size of a table.
    pub table: u64,
    /// The sizes of all structs that functions take.
    pub facts: [u64; 11],
}

impl Layout {
    /// The layout of this build.
    pub const OURS: Self = Self {
        version: 2,
        table: size_of::<Table>() as u64,
        facts: [
            size_of::<Flow>() as u64,
            size_of::<Ack>() as u64,
            size_of::<Hop>() as u64,
            size_of::<Loss>() as u64,
            size_of::<Sent>() as u64,
            size_of::<Demand>() as u64,
            size_of::<Moment>() as u64,
            size_of::<Spurious>() as u64,
            size_of::<Answer>() as u64,
            size_of::<Gauge>() as u64,
            size_of::<Calls>() as u64,
        ],
    };
}

/// The bits that functions return where they panicked.
pub const PANICKED: u64 = u64::MAX;

/// The results of setting a parameter.
pub mod set {
    /// The value was set.
    pub const DONE: i32 = 0;
    /// There is no such parameter.
    pub const UNKNOWN: i32 = 1;
    /// The value is not one of the words in the message.
    pub const NOT_ONE_OF: i32 = 2;
    /// The value is out of the range in the message.
    pub const OUT_OF_RANGE: i32 = 3;
    /// The text is no value of the unit of the parameter.
    pub const NO_VALUE: i32 = 4;
    /// The function panicked.
    pub const PANIC: i32 = 5;
}

/// An algorithm: its description, its parameters and its functions.
///
/// Parameters are a value of the crate at an address, which stays for good.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The sizes of all that follows.
    pub layout: Layout,
    /// The name by which schemes ask for the algorithm.
    pub name: Text,
    /// The effect on the rate or the window, on one line.
    pub summary: Text,
    /// The controlled quantity: rate, window, telemetry or fixed.
    pub kind: Text,
    /// The signal of congestion.
    pub signal: Text,
    /// The transport that it was made for: message or stream.
    pub transport: Text,
    /// The publication.
    pub source: Text,
    /// The parameters.
    pub params: *const ParamText,
    /// The number of parameters.
    pub param_count: usize,
    /// New parameters, with their defaults; null where it panicked.
    pub defaults: unsafe extern "C" fn() -> *mut c_void,
    /// A copy of parameters; null where it panicked.
    pub copy: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    /// Sets the parameter of a name to a text: one of the results in [`set`], and its message.
    pub set: unsafe extern "C" fn(*mut c_void, Text, Text, *mut Text) -> i32,
    /// Writes the value of the parameter of a name to a place for so many bytes. It returns the
    /// length of the value, or -1.
    pub write: unsafe extern "C" fn(*const c_void, Text, *mut u8, usize) -> i64,
    /// The needs that remain with the parameters, a bit for each, or [`PANICKED`].
    pub needs: unsafe extern "C" fn(*const c_void) -> u64,
    /// Whether the size of bursts changes in the course of a flow: 1 or 0, or -1 where it panicked.
    pub burst_varies: unsafe extern "C" fn(*const c_void) -> i32,
    /// Whether two parameters contradict each other: 1, with the name, the rule and the other one,
    /// or 0, or -1 where it panicked.
    pub conflict: unsafe extern "C" fn(*const c_void, *mut [Text; 3]) -> i32,
    /// The functions of a flow.
    pub calls: Calls,
    /// The bytes of the state of a flow.
    pub state_size: usize,
}

// SAFETY: what a table points to is only read.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

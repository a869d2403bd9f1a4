//! The functions of an algorithm, one for each event.

use core::ffi::c_void;

use crate::facts::{Ack, Answer, Demand, Flow, Hop, Loss, Moment, Sent, Spurious};

/// A function that answers an event of the kind `F`: with the facts, the parameters, the state of
/// the flow, and the answer that it changes. It returns 0, or anything else where it failed.
pub type OnEvent<F> =
    unsafe extern "C" fn(*const F, *const c_void, *mut c_void, *mut Answer) -> i32;

/// A function that answers an ACK: with the stamps of switches after the facts, and their number.
pub type OnAck = unsafe extern "C" fn(
    *const Ack,
    *const Hop,
    usize,
    *const c_void,
    *mut c_void,
    *mut Answer,
) -> i32;

/// A number that is worth plotting, which a function of gauges writes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// The name in UTF-8, which stays for good; null where the algorithm told its names before.
    pub name: *const u8,
    /// The length of the name in bytes.
    pub length: usize,
    /// The number.
    pub value: f64,
}

impl Gauge {
    /// The most gauges of a flow.
    pub const MOST: usize = 32;
    /// A gauge that nobody has written.
    pub const NONE: Self = Self { name: core::ptr::null(), length: 0, value: f64::NAN };
}

/// A function of gauges: with the parameters, the state, the place for gauges and how many fit. It
/// returns how many it wrote, or -1 where it failed.
pub type Gauges = unsafe extern "C" fn(*const c_void, *const c_void, *mut Gauge, usize) -> i64;

/// The functions of an algorithm; events whose function is absent are not told.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// The flow starts; the state is all zeros, and all of it is set.
    pub on_start: Option<OnEvent<Flow>>,
    /// Data was acknowledged.
    pub on_ack: Option<OnAck>,
    /// Data was declared lost.
    pub on_loss: Option<OnEvent<Loss>>,
    /// Data was handed to the network.
    pub on_sent: Option<OnEvent<Sent>>,
    /// The application posted a message.
    pub on_demand: Option<OnEvent<Demand>>,
    /// The flow is about to send after an idle time.
    pub on_restart: Option<OnEvent<Moment>>,
    /// Data declared lost has been acknowledged after all.
    pub on_spurious_loss: Option<OnEvent<Spurious>>,
    /// A congestion notification came.
    pub on_notification: Option<OnEvent<Moment>>,
    /// The instant of the timer has come.
    pub on_timer: Option<OnEvent<Moment>>,
    /// The largest payload of a packet has changed.
    pub on_mss_change: Option<OnEvent<Moment>>,
    /// Numbers that are worth plotting.
    pub gauges: Option<Gauges>,
    /// The reports that the flow reads: 1 for delivery, 2 for the NIC's backlog, 4 for what is
    /// sent; [`PANICKED`](crate::table::PANICKED) where it failed.
    pub reads: Option<unsafe extern "C" fn(*const c_void) -> u64>,
    /// Copies the state of a flow to another place; without this function bytes are copied. It
    /// returns 0, or anything else where it failed and there is no copy.
    pub copy: Option<unsafe extern "C" fn(*const c_void, *mut c_void) -> i32>,
    /// Ends the state of a flow; without this function nothing is done.
    pub end: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Calls {
    /// No functions.
    pub const NONE: Self = Self {
        on_start: None,
        on_ack: None,
        on_loss: None,
        on_sent: None,
        on_demand: None,
        on_restart: None,
        on_spurious_loss: None,
        on_notification: None,
        on_timer: None,
        on_mss_change: None,
        gauges: None,
        reads: None,
        copy: None,
        end: None,
    };

    /// The names of the functions by which Python has them, in the order of addresses.
    pub const NAMES: [&'static str; 11] = [
        "on_start",
        "on_ack",
        "on_loss",
        "on_sent",
        "on_demand",
        "on_restart",
        "on_spurious_loss",
        "on_notification",
        "on_timer",
        "on_mss_change",
        "gauges",
    ];

    /// The functions at addresses, in the order of [`NAMES`](Self::NAMES); zero is none.
    ///
    /// # Safety
    /// At each address is a function of the type that the field of its name has, which stays there
    /// for as long as the process lives.
    pub unsafe fn at(addresses: [usize; 11]) -> Self {
        macro_rules! function {
            ($place:literal, $type:ty) => {
                // SAFETY: the caller promises the type. A null pointer is the `None` of an optional
                // function.
                unsafe {
                    core::mem::transmute::<*const c_void, Option<$type>>(
                        addresses[$place] as *const c_void,
                    )
                }
            };
        }
        Self {
            on_start: function!(0, OnEvent<Flow>),
            on_ack: function!(1, OnAck),
            on_loss: function!(2, OnEvent<Loss>),
            on_sent: function!(3, OnEvent<Sent>),
            on_demand: function!(4, OnEvent<Demand>),
            on_restart: function!(5, OnEvent<Moment>),
            on_spurious_loss: function!(6, OnEvent<Spurious>),
            on_notification: function!(7, OnEvent<Moment>),
            on_timer: function!(8, OnEvent<Moment>),
            on_mss_change: function!(9, OnEvent<Moment>),
            gauges: function!(10, Gauges),
            reads: None,
            copy: None,
            end: None,
        }
    }
}

//! Tables of algorithms of the contract.

use core::ffi::c_void;
use core::fmt;
use core::ptr::null_mut;
use std::panic::{AssertUnwindSafe, catch_unwind};

use incast_cc::contract::{Limits, Notification, Pacing};
use incast_cc::param::{Configurable, Need, SetError};
use incast_cc::{Algorithm, Bytes, CongestionControl, Rate, Time};

use crate::back;
use crate::calls::{Calls, Gauge};
use crate::facts::{Ack, Answer, Demand, Flow, Hop, Loss, Moment, Sent, Spurious};
use crate::table::{Layout, PANICKED, ParamText, Table, Text, set};

/// The needs of algorithms, in the order of the bits that stand for them.
pub(crate) const NEEDS: [Need; 6] = [
    Need::Ecn,
    Need::Notifications,
    Need::Telemetry,
    Need::Lossless,
    Need::EachAcknowledged,
    Need::Deadlines,
];

/// Exports an algorithm of the contract: the function `incast_algorithm` returns its table.
///
/// Its parameters are [`Configurable`], as [`parameters!`](incast_cc::parameters) makes them, and
/// its flows can go to other threads.
#[macro_export]
macro_rules! export_algorithm {
    ($algorithm:ty) => {
        /// The table of the algorithm, for `incast`.
        #[unsafe(no_mangle)]
        pub extern "C" fn incast_algorithm() -> *const $crate::table::Table {
            static TABLE: std::sync::OnceLock<$crate::table::Table> = std::sync::OnceLock::new();
            TABLE.get_or_init($crate::export::table::<$algorithm>)
        }
    };
}

/// The value that `work` returns; `panicked` where it panics. C cannot unwind: a panic that left a
/// function of the table would end the process.
fn caught<T>(panicked: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        // Dropping the payload may panic in turn.
        core::mem::forget(payload);
        panicked
    })
}

/// The table of an algorithm. The state of a flow needs an alignment of 16 bytes at most, else this
/// is not compiled.
pub fn table<A>() -> Table
where
    A: Configurable + Clone + Send + Sync + 'static,
    A::Control: Send + Sync + 'static,
{
    const { assert!(align_of::<A::Control>() <= 16, "state of a flow: align = more than 16 bytes") };
    let text = |param: &incast_cc::param::Param| ParamText {
        name: Text::new(param.name),
        doc: Text::new(param.doc),
        unit: Text::new(param.unit),
        source: Text::new(param.source),
        range: Text::new(param.range),
    };
    let params = A::PARAMS.iter().map(text).collect::<Vec<_>>().leak();
    Table {
        layout: Layout::OURS,
        name: Text::new(A::INFO.name),
        summary: Text::new(A::INFO.summary),
        kind: Text::new(A::INFO.kind.as_str()),
        signal: Text::new(A::INFO.signal),
        transport: Text::new(A::INFO.transport.as_str()),
        source: Text::new(A::INFO.source),
        params: params.as_ptr(),
        param_count: params.len(),
        defaults: defaults::<A>,
        copy: copy_parameters::<A>,
        set: set::<A>,
        write: write::<A>,
        needs: needs::<A>,
        burst_varies: burst_varies::<A>,
        conflict: conflict::<A>,
        calls: Calls {
            on_start: Some(on_start::<A>),
            on_ack: Some(on_ack::<A::Control>),
            on_loss: Some(on_loss::<A::Control>),
            on_sent: Some(on_sent::<A::Control>),
            on_demand: Some(on_demand::<A::Control>),
            on_restart: Some(on_restart::<A::Control>),
            on_spurious_loss: Some(on_spurious_loss::<A::Control>),
            on_notification: Some(on_notification::<A::Control>),
            on_timer: Some(on_timer::<A::Control>),
            on_mss_change: Some(on_mss_change::<A::Control>),
            gauges: Some(gauges::<A::Control>),
            reads: Some(reads::<A::Control>),
            copy: Some(copy::<A::Control>),
            end: Some(end::<A::Control>),
        },
        state_size: size_of::<A::Control>(),
    }
}

unsafe extern "C" fn defaults<A: Configurable>() -> *mut c_void {
    caught(null_mut(), || Box::into_raw(Box::new(A::default())).cast())
}

unsafe extern "C" fn copy_parameters<A: Configurable + Clone>(from: *const c_void) -> *mut c_void {
    caught(null_mut(), || {
        // SAFETY: parameters come from `defaults` or from here.
        let from = unsafe { &*from.cast::<A>() };
        Box::into_raw(Box::new(from.clone())).cast()
    })
}

unsafe extern "C" fn set<A: Configurable>(
    parameters: *mut c_void,
    name: Text,
    text: Text,
    message: *mut Text,
) -> i32 {
    let (result, words) = caught((set::PANIC, ""), || {
        // SAFETY: parameters come from `defaults` and have one owner; texts stay for the call.
        match unsafe { (*parameters.cast::<A>()).set(name.get(), text.get()) } {
            Ok(()) => (set::DONE, ""),
            Err(SetError::Unknown) => (set::UNKNOWN, ""),
            Err(SetError::NotOneOf(words)) => (set::NOT_ONE_OF, words),
            Err(SetError::OutOfRange(range)) => (set::OUT_OF_RANGE, range),
            Err(SetError::Parse(_)) => (set::NO_VALUE, ""),
        }
    });
    // SAFETY: the caller has a place for the message.
    unsafe { *message = Text::new(words) };
    result
}

/// A writer that fills a slice as far as it goes, and counts all bytes.
struct Counted<'a>(&'a mut [u8], usize);

impl fmt::Write for Counted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if let Some(place) = self.0.get_mut(self.1) {
                *place = byte;
            }
            self.1 += 1;
        }
        Ok(())
    }
}

unsafe extern "C" fn write<A: Configurable>(
    parameters: *const c_void,
    name: Text,
    out: *mut u8,
    room: usize,
) -> i64 {
    // SAFETY: the caller has a place for so many bytes, all of which it has set.
    let mut counted = Counted(unsafe { core::slice::from_raw_parts_mut(out, room) }, 0);
    caught(-1, || {
        // SAFETY: parameters come from `defaults`; the name stays for the call.
        match unsafe { (*parameters.cast::<A>()).write(name.get(), &mut counted) } {
            Ok(()) => i64::try_from(counted.1).unwrap_or(-1),
            Err(_) => -1,
        }
    })
}

unsafe extern "C" fn needs<A: Configurable>(parameters: *const c_void) -> u64 {
    caught(PANICKED, || {
        // SAFETY: parameters come from `defaults`.
        let needs = unsafe { (*parameters.cast::<A>()).needs() };
        let bits = NEEDS.iter().enumerate();
        bits.filter(|(_, need)| needs.contains(need)).map(|(bit, _)| 1 << bit).sum()
    })
}

unsafe extern "C" fn burst_varies<A: Configurable>(parameters: *const c_void) -> i32 {
    // SAFETY: parameters come from `defaults`.
    caught(-1, || unsafe { (*parameters.cast::<A>()).burst_varies().into() })
}

unsafe extern "C" fn conflict<A: Configurable>(
    parameters: *const c_void,
    out: *mut [Text; 3],
) -> i32 {
    caught(-1, || {
        // SAFETY: parameters come from `defaults`.
        let Err(found) = (unsafe { (*parameters.cast::<A>()).check() }) else { return 0 };
        // SAFETY: the caller has a place for three texts.
        unsafe { *out = [Text::new(found.name), Text::new(found.rule), Text::new(found.other)] };
        1
    })
}

fn finite(bytes: Bytes) -> f64 {
    if bytes == Bytes::MAX { f64::INFINITY } else { bytes.get() as f64 }
}

fn finite_rate(rate: Rate) -> f64 {
    if rate == Rate::MAX { f64::INFINITY } else { rate.as_bps() as f64 }
}

/// The answer of a flow.
fn answer(control: &impl CongestionControl) -> Answer {
    let Limits { cwnd, pacing, burst } = control.limits();
    let mut answer = Answer {
        cwnd: finite(cwnd),
        burst: finite(burst.bytes),
        burst_rate: finite_rate(burst.rate),
        next_timer: control.next_timer().map_or(f64::INFINITY, Time::as_secs_f64),
        ..Answer::NONE
    };
    match pacing {
        Pacing::Rate(rate) => answer.rate = rate.as_bps() as f64,
        Pacing::Window { gain_percent } => answer.pacing_gain = f64::from(gain_percent) / 100.0,
        // Neither a rate nor a window: the greatest window, since none would be a mistake.
        Pacing::Unpaced if cwnd == Bytes::MAX => answer.cwnd = f64::MAX,
        Pacing::Unpaced => {}
    }
    answer
}

unsafe extern "C" fn on_start<A: Algorithm>(
    flow: *const Flow,
    parameters: *const c_void,
    state: *mut c_void,
    out: *mut Answer,
) -> i32 {
    caught(1, || {
        // SAFETY: facts and parameters are there for the call.
        let control = unsafe { (*parameters.cast::<A>()).start(&back::flow(&*flow)) };
        let said = answer(&control);
        // SAFETY: the state has room for the control, aligned, and nothing was in it.
        unsafe { (state.cast::<A::Control>().write(control), out.write(said)) };
        0
    })
}

/// Tells a flow of an event, and takes its answer.
///
/// # Safety
/// There is a control in the state, and a place for the answer.
unsafe fn event<C: CongestionControl>(
    state: *mut c_void,
    out: *mut Answer,
    tell: impl FnOnce(&mut C),
) -> i32 {
    caught(1, || {
        // SAFETY: the caller promises it, and nobody else has the state.
        let control = unsafe { &mut *state.cast::<C>() };
        tell(control);
        let said = answer(control);
        // SAFETY: the caller promises it.
        unsafe { out.write(said) };
        0
    })
}

unsafe extern "C" fn on_ack<C: CongestionControl>(
    facts: *const Ack,
    hops: *const Hop,
    number: usize,
    _: *const c_void,
    state: *mut c_void,
    out: *mut Answer,
) -> i32 {
    let told = |control: &mut C| {
        let stamps = if number == 0 {
            Vec::new()
        } else {
            // SAFETY: as many stamps are there.
            unsafe { core::slice::from_raw_parts(hops, number) }.iter().map(back::hop).collect()
        };
        // SAFETY: the carrier has the facts for the call.
        control.on_ack(&back::ack(unsafe { &*facts }, &stamps));
    };
    // SAFETY: the carrier keeps the state, and has a place for the answer.
    unsafe { event::<C>(state, out, told) }
}

macro_rules! events {
    ($($name:ident($facts:ty) = |$control:ident, $one:ident| $told:expr;)*) => {$(
        unsafe extern "C" fn $name<C: CongestionControl>(
            facts: *const $facts,
            _: *const c_void,
            state: *mut c_void,
            out: *mut Answer,
        ) -> i32 {
            // SAFETY: the carrier has the facts for the call.
            let $one = unsafe { &*facts };
            // SAFETY: the carrier keeps the state, and has a place for the answer.
            unsafe { event::<C>(state, out, |$control| $told) }
        }
    )*};
}

events! {
    on_loss(Loss) = |control, one| control.on_loss(&back::loss(one));
    on_sent(Sent) = |control, one| control.on_sent(&back::sent(one));
    on_demand(Demand) = |control, one| control.on_demand(&back::demand(one));
    on_restart(Moment) = |control, one| control.on_restart(back::time(one.now), back::span(one.idle));
    on_spurious_loss(Spurious) = |control, one| control.on_spurious_loss(&back::spurious(one));
    on_notification(Moment) =
        |control, one| control.on_notification(&Notification::new(back::time(one.now)));
    on_timer(Moment) = |control, one| control.on_timer(back::time(one.now));
    on_mss_change(Moment) = |control, one| control.on_mss_change(back::size(one.mss));
}

unsafe extern "C" fn gauges<C: CongestionControl>(
    _: *const c_void,
    state: *const c_void,
    out: *mut Gauge,
    room: usize,
) -> i64 {
    // SAFETY: the caller has a place for so many gauges, all of which it has set.
    let places = unsafe { core::slice::from_raw_parts_mut(out, room) };
    let mut written = 0;
    caught(-1, || {
        // SAFETY: there is a control in the state.
        let control = unsafe { &*state.cast::<C>() };
        control.gauges(&mut |name, value| {
            if let Some(place) = places.get_mut(written) {
                *place = Gauge { name: name.as_ptr(), length: name.len(), value };
                written += 1;
            }
        });
        i64::try_from(written).unwrap_or(-1)
    })
}

unsafe extern "C" fn reads<C: CongestionControl>(state: *const c_void) -> u64 {
    caught(PANICKED, || {
        // SAFETY: there is a control in the state.
        let reads = unsafe { (*state.cast::<C>()).reads() };
        let words = [reads.delivery, reads.nic_backlog, reads.sent, reads.due];
        (0..).zip(words).map(|(bit, reads)| u64::from(reads) << bit).sum()
    })
}

unsafe extern "C" fn copy<C: Clone>(from: *const c_void, to: *mut c_void) -> i32 {
    caught(1, || {
        // SAFETY: `from` has a control, and `to` has room for one.
        unsafe { to.cast::<C>().write((*from.cast::<C>()).clone()) };
        0
    })
}

unsafe extern "C" fn end<C>(state: *mut c_void) {
    // A flow that has ended has given all its answers: a panic changes none of them.
    // SAFETY: there is a control in the state, which nobody uses after this.
    caught((), || unsafe { state.cast::<C>().drop_in_place() });
}

//! A flow under an algorithm of native functions, as a guest of any carrier.

use core::error::Error;
use core::ffi::c_void;
use core::fmt::{self, Display, Formatter};

use incast_cc::contract::{self, Burst, Pacing};
use incast_cc::{Bytes, CongestionControl, Rate, Reads, Span, Time};

use crate::calls::{Calls, Gauge};
use crate::facts::{Ack, Answer, Demand, Flow, Hop, Loss, Moment, Sent, Spurious};
use crate::table::PANICKED;

/// The place that hears of mistakes: algorithm, seed of the flow, instant, function and mistake.
pub type Report = fn(&'static str, u64, Time, &'static str, Mistake);

/// A mistake of an algorithm's function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mistake {
    /// The function returned another number than 0.
    Exception,
    /// A limit is not positive.
    NotPositive {
        /// The limit.
        limit: &'static str,
        /// The unit of the limit.
        unit: &'static str,
        /// The value.
        value: f64,
    },
    /// Neither the rate nor the window is limited.
    NoLimit,
    /// The pacing has a rate and a gain.
    TwoPacings,
    /// The timer does not lie ahead.
    Timer {
        /// The timer, in seconds.
        at: f64,
        /// The time of the call.
        now: Time,
    },
}

impl Display for Mistake {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exception => f.write_str(
                "it failed: an exception or a panic, of which native code tells no more",
            ),
            Self::NotPositive { limit, unit, value } => {
                write!(f, "limits: {limit} = {value}; expected {unit} above 0")
            }
            Self::NoLimit => f.write_str("neither rate nor cwnd is set; set one in on_start"),
            Self::TwoPacings => f.write_str("limits: rate and pacing_gain; expected one of them"),
            Self::Timer { at, now } => write!(
                f,
                "next_timer = {at}; expected an instant after now, {}, in seconds, or infinity",
                now.as_secs_f64()
            ),
        }
    }
}

impl Error for Mistake {}

/// An algorithm whose parameters are set.
pub struct Native {
    /// The name in errors.
    pub name: &'static str,
    /// The functions.
    pub calls: Calls,
    /// The parameters, as the functions read them.
    pub parameters: *const c_void,
    /// The bytes of the state of a flow. No part of it needs more than 16 bytes of alignment.
    pub state_size: usize,
    /// The names of gauges that come without a name.
    pub gauge_names: &'static [&'static str],
    /// The reports that the algorithm reads.
    pub reads: Reads,
    /// The place that hears of mistakes.
    pub report: Report,
}

// SAFETY: functions and parameters are only read; `NativeControl::start` has the caller promise
// that functions may be called in any thread.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

/// A flow under an algorithm of native functions. After a mistake it keeps its last limits.
pub struct NativeControl {
    of: &'static Native,
    state: Vec<u128>,
    /// Whether the state is valid: `on_start` has not failed.
    started: bool,
    failed: bool,
    reads: Reads,
    answer: Answer,
    /// The last answer that was read.
    taken: Answer,
    limits: contract::Limits,
    next_timer: Option<Time>,
    now: Time,
    mss: Bytes,
    max_window: Bytes,
    line_rate: Rate,
    seed: u64,
}

impl NativeControl {
    /// A new flow.
    ///
    /// # Safety
    /// The functions of `of` obey the types of [`Calls`], read `parameters` and no more than
    /// `state_size` bytes of the state, and may be called in any thread.
    pub unsafe fn start(of: &'static Native, flow: &contract::Flow) -> Self {
        let mut control = Self {
            of,
            state: vec![0; of.state_size.div_ceil(size_of::<u128>())],
            started: true,
            failed: false,
            reads: of.reads,
            answer: Answer::NONE,
            taken: Answer::NONE,
            limits: contract::Limits::window(flow.mss),
            next_timer: None,
            now: flow.now,
            mss: flow.mss,
            max_window: flow.max_window,
            line_rate: flow.line_rate,
            seed: flow.seed,
        };
        control.call("on_start", flow.now, of.calls.on_start, &Flow::from(flow));
        if of.calls.on_start.is_none() {
            control.take("on_start", 0);
        }
        if let Some(reads) = of.calls.reads.filter(|_| control.started) {
            // SAFETY: as in `call`.
            let bits = unsafe { reads(control.state.as_ptr().cast()) };
            if bits == PANICKED {
                control.fail("reads", Mistake::Exception);
                return control;
            }
            let has = |bit| bits & bit != 0;
            let (delivery, nic_backlog, sent, due) = (has(1), has(2), has(4), has(8));
            control.reads = Reads { delivery, nic_backlog, sent, due, ..Reads::NONE };
        }
        control
    }

    /// Calls a function, if there is one, and takes its answer.
    fn call<F>(
        &mut self,
        method: &'static str,
        now: Time,
        function: Option<crate::calls::OnEvent<F>>,
        facts: &F,
    ) {
        self.now = now;
        let Some(function) = function.filter(|_| !self.failed) else { return };
        // SAFETY: who started the flow promised that the function takes these. The state is as
        // large as it said, aligned for 16 bytes, and of this flow alone.
        let status = unsafe {
            function(
                facts,
                self.of.parameters,
                self.state.as_mut_ptr().cast(),
                &raw mut self.answer,
            )
        };
        self.started &= status == 0 || method != "on_start";
        self.take(method, status);
    }

    fn take(&mut self, method: &'static str, status: i32) {
        if status == 0 && self.answer == self.taken && self.answer != Answer::NONE {
            return;
        }
        let read = if status == 0 { self.read() } else { Err(Mistake::Exception) };
        match read {
            Ok((limits, timer)) => {
                (self.limits, self.next_timer) = (limits, timer);
                self.taken = self.answer;
            }
            Err(mistake) => self.fail(method, mistake),
        }
    }

    fn fail(&mut self, method: &'static str, mistake: Mistake) {
        (self.failed, self.next_timer) = (true, None);
        (self.of.report)(self.of.name, self.seed, self.now, method, mistake);
    }

    /// The limits and the timer of the answer.
    fn read(&mut self) -> Result<(contract::Limits, Option<Time>), Mistake> {
        let answer = self.answer;
        let set = |limit, unit, value: f64| {
            if value.is_nan() || value <= 0.0 {
                return Err(Mistake::NotPositive { limit, unit, value });
            }
            Ok(Some(value).filter(|value| value.is_finite()))
        };
        let rate = set("rate", "bits per second", answer.rate)?;
        let cwnd = set("cwnd", "bytes", answer.cwnd)?;
        let gain = set("pacing_gain", "a number", answer.pacing_gain)?;
        let burst = set("burst", "bytes", answer.burst)?;
        let burst_rate = set("burst_rate", "bits per second", answer.burst_rate)?;
        if rate.is_none() && cwnd.is_none() {
            return Err(Mistake::NoLimit);
        }
        if rate.is_some() && gain.is_some() {
            return Err(Mistake::TwoPacings);
        }
        let bytes = |value: f64| Bytes::new(whole(value));
        let pacing = match (rate, gain) {
            (Some(rate), _) => Pacing::Rate(Rate::from_bps(whole(rate)).min(self.line_rate)),
            (None, Some(gain)) => Pacing::Window {
                gain_percent: u32::try_from(whole((gain * 100.0).round())).unwrap_or(u32::MAX),
            },
            (None, None) => Pacing::Unpaced,
        };
        let limits = contract::Limits {
            cwnd: cwnd.map_or(Bytes::MAX, |cwnd| {
                let cwnd = bytes(cwnd);
                if cwnd == Bytes::MAX { cwnd } else { cwnd.min(self.max_window).max(self.mss) }
            }),
            pacing,
            burst: Burst {
                bytes: burst.map_or(Bytes::MAX, bytes),
                rate: burst_rate.map_or(Rate::MAX, |rate| Rate::from_bps(whole(rate))),
            },
        };
        Ok((limits, self.timer()?))
    }

    /// The instant of the next timer, which lies ahead where it has changed.
    fn timer(&self) -> Result<Option<Time>, Mistake> {
        let at = self.answer.next_timer;
        #[expect(clippy::float_cmp, reason = "the same number is the same instant")]
        if at == self.taken.next_timer {
            return Ok(self.next_timer);
        }
        if at.is_infinite() && at > 0.0 {
            return Ok(None);
        }
        let ps = (at * 1e12).round();
        if ps.is_nan() || ps <= self.now.as_ps() as f64 {
            return Err(Mistake::Timer { at, now: self.now });
        }
        Ok(Some(Time::from_ps(whole(ps))))
    }
}

/// A positive number, rounded down, and one at least; large ones are cut.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers above what the type holds become its greatest, and none is below zero"
)]
const fn whole(value: f64) -> u64 {
    value.max(1.0) as u64
}

const fn moment(now: f64) -> Moment {
    Moment { now, idle: f64::NAN, mss: -1 }
}

impl CongestionControl for NativeControl {
    fn on_ack(&mut self, ack: &contract::Ack<'_>) {
        self.now = ack.now;
        let Some(function) = self.of.calls.on_ack.filter(|_| !self.failed) else { return };
        let hops: Vec<Hop> = ack.hops.iter().map(Hop::from).collect();
        // SAFETY: as in `call`; as many stamps are there as it says.
        let status = unsafe {
            function(
                &Ack::from(ack),
                hops.as_ptr(),
                hops.len(),
                self.of.parameters,
                self.state.as_mut_ptr().cast(),
                &raw mut self.answer,
            )
        };
        self.take("on_ack", status);
    }

    fn on_loss(&mut self, loss: &contract::Loss) {
        self.call("on_loss", loss.now, self.of.calls.on_loss, &Loss::from(loss));
    }

    fn limits(&self) -> contract::Limits {
        self.limits
    }

    fn on_sent(&mut self, sent: &contract::Sent) {
        self.call("on_sent", sent.now, self.of.calls.on_sent, &Sent::from(sent));
    }

    fn on_demand(&mut self, demand: &contract::Demand) {
        self.call("on_demand", demand.now, self.of.calls.on_demand, &Demand::from(demand));
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        let facts = Moment { idle: idle.as_secs_f64(), ..moment(now.as_secs_f64()) };
        self.call("on_restart", now, self.of.calls.on_restart, &facts);
    }

    fn on_spurious_loss(&mut self, spurious: &contract::Spurious) {
        let facts = Spurious::from(spurious);
        self.call("on_spurious_loss", spurious.now, self.of.calls.on_spurious_loss, &facts);
    }

    fn on_notification(&mut self, notification: &contract::Notification) {
        let now = notification.now;
        let facts = moment(now.as_secs_f64());
        self.call("on_notification", now, self.of.calls.on_notification, &facts);
    }

    fn on_timer(&mut self, now: Time) {
        // Without a new instant there is no timer; else the function would be asked for ever.
        (self.answer.next_timer, self.next_timer) = (f64::INFINITY, None);
        self.taken = self.answer;
        self.call("on_timer", now, self.of.calls.on_timer, &moment(now.as_secs_f64()));
    }

    fn next_timer(&self) -> Option<Time> {
        self.next_timer
    }

    fn reads(&self) -> Reads {
        self.reads
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
        // The previous window may be less than a packet now.
        self.limits.cwnd = self.limits.cwnd.max(mss);
        self.taken.cwnd = f64::NAN;
        let mss = i64::try_from(mss.get()).unwrap_or(i64::MAX);
        let facts = Moment { mss, ..moment(self.now.as_secs_f64()) };
        self.call("on_mss_change", self.now, self.of.calls.on_mss_change, &facts);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let Some(function) = self.of.calls.gauges.filter(|_| !self.failed) else { return };
        let mut gauges = [Gauge::NONE; Gauge::MOST];
        // SAFETY: as in `call`; as many gauges fit as it says.
        let written = unsafe {
            function(
                self.of.parameters,
                self.state.as_ptr().cast(),
                gauges.as_mut_ptr(),
                Gauge::MOST,
            )
        };
        let Ok(written) = usize::try_from(written) else {
            let (of, at) = (self.of, self.now);
            return (of.report)(of.name, self.seed, at, "gauges", Mistake::Exception);
        };
        for (place, gauge) in gauges.iter().take(written).enumerate() {
            let name = if gauge.name.is_null() {
                self.of.gauge_names.get(place).copied()
            } else {
                // SAFETY: the function wrote a name of this length that stays for good.
                let name = unsafe { core::slice::from_raw_parts(gauge.name, gauge.length) };
                core::str::from_utf8(name).ok()
            };
            if let Some(name) = name.filter(|_| gauge.value.is_finite()) {
                emit(name, gauge.value);
            }
        }
    }
}

impl Clone for NativeControl {
    fn clone(&self) -> Self {
        let mut flow = Self { state: self.state.clone(), ..*self };
        if let Some(copy) = self.of.calls.copy.filter(|_| self.started) {
            // SAFETY: both states are as large as the algorithm said, and aligned.
            let status =
                unsafe { copy(self.state.as_ptr().cast(), flow.state.as_mut_ptr().cast()) };
            if status != 0 {
                // The copy has no state, so no event and no end is told to it.
                flow.started = false;
                flow.fail("copy", Mistake::Exception);
            }
        }
        flow
    }
}

impl Drop for NativeControl {
    fn drop(&mut self) {
        if let Some(end) = self.of.calls.end.filter(|_| self.started) {
            // SAFETY: the state was started or copied, and nobody uses it after this.
            unsafe { end(self.state.as_mut_ptr().cast()) };
        }
    }
}

impl fmt::Debug for NativeControl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeControl").field("name", &self.of.name).finish_non_exhaustive()
    }
}

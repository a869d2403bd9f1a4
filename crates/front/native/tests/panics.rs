//! A panic in any function of an algorithm becomes a mistake of the flow or of a value; the process
//! goes on.

#![expect(unsafe_code, reason = "a table is loaded from its address")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use incast_cc::contract::{
    Ack, Demand, Flow, Limits, Loss, LossCause, Notification, Sent, Spurious,
};
use incast_cc::guest::Guest;
use incast_cc::param::{Configurable, Conflict, Info, Kind, Need, Param, Preset, SetError};
use incast_cc::{Algorithm, Bytes, CongestionControl, Rate, Reads, Span, Time, param};
use incast_native::control::Mistake;
use incast_native::loaded::LoadError;
use incast_native::{export, loaded};

static MISTAKES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn mistakes() -> MutexGuard<'static, Vec<String>> {
    MISTAKES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn report(name: &'static str, seed: u64, at: Time, method: &'static str, mistake: Mistake) {
    mistakes().push(format!("{name} {seed} {} us {method}: {mistake}", at.as_secs_f64() * 1e6));
}

/// An algorithm that panics in the function that its parameter `place` names. `DEFAULT` is its
/// default, by number.
#[derive(Debug)]
struct Trap<const DEFAULT: usize> {
    place: &'static str,
    other: &'static str,
}

const PLACES: [&str; 22] = [
    "nowhere",
    "default",
    "clone",
    "set",
    "write",
    "needs",
    "burst_varies",
    "check",
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
    "limits",
    "gauges",
    "reads",
    "copy",
];

impl<const DEFAULT: usize> Trap<DEFAULT> {
    fn pass(&self, place: &str) {
        assert_ne!(self.place, place, "the trap");
    }
}

impl<const DEFAULT: usize> Default for Trap<DEFAULT> {
    fn default() -> Self {
        let trap = Self { place: PLACES[DEFAULT], other: "nothing" };
        trap.pass("default");
        trap
    }
}

impl<const DEFAULT: usize> Clone for Trap<DEFAULT> {
    fn clone(&self) -> Self {
        self.pass("clone");
        Self { ..*self }
    }
}

impl<const DEFAULT: usize> Algorithm for Trap<DEFAULT> {
    type Control = Trapped;
    const NAME: &'static str = "trap";

    fn start(&self, _: &Flow) -> Trapped {
        self.pass("on_start");
        Trapped(self.place, Vec::from([1, 2, 3]))
    }
}

impl<const DEFAULT: usize> Configurable for Trap<DEFAULT> {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "It panics",
        kind: Kind::Rate,
        signal: "none",
        needs: &[Need::Ecn],
        transport: param::Transport::Message,
        source: "this test",
    };
    const PRESETS: &'static [Preset] = &[];
    const PARAMS: &'static [Param] = &[
        Param { name: "other", doc: "", unit: "word", source: "", range: "" },
        Param { name: "place", doc: "", unit: "word", source: "", range: "" },
    ];

    fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        if name == "place" {
            self.place = PLACES.into_iter().find(|&place| place == text).unwrap();
            self.pass("set");
        }
        Ok(())
    }

    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        self.pass("write");
        out.write_str(if name == "place" { self.place } else { self.other })
    }

    fn burst_varies(&self) -> bool {
        self.pass("burst_varies");
        true
    }

    fn needs(&self) -> &'static [Need] {
        self.pass("needs");
        Self::INFO.needs
    }

    fn check(&self) -> Result<(), Conflict> {
        self.pass("check");
        Ok(())
    }
}

struct Trapped(&'static str, Vec<u64>);

impl Trapped {
    fn pass(&self, place: &str) {
        assert_ne!(self.0, place, "the trap");
    }
}

impl Clone for Trapped {
    fn clone(&self) -> Self {
        self.pass("copy");
        Self(self.0, self.1.clone())
    }
}

impl Drop for Trapped {
    fn drop(&mut self) {
        // In every flow: what a panic leaves alone must not be touched by another one.
        assert_eq!(self.1, [1, 2, 3]);
        self.pass("end");
    }
}

impl CongestionControl for Trapped {
    fn on_ack(&mut self, _: &Ack<'_>) {
        self.pass("on_ack");
    }

    fn on_loss(&mut self, _: &Loss) {
        self.pass("on_loss");
    }

    fn limits(&self) -> Limits {
        self.pass("limits");
        Limits::rate(Rate::from_gbps(1))
    }

    fn on_sent(&mut self, _: &Sent) {
        self.pass("on_sent");
    }

    fn on_demand(&mut self, _: &Demand) {
        self.pass("on_demand");
    }

    fn on_restart(&mut self, _: Time, _: Span) {
        self.pass("on_restart");
    }

    fn on_spurious_loss(&mut self, _: &Spurious) {
        self.pass("on_spurious_loss");
    }

    fn on_notification(&mut self, _: &Notification) {
        self.pass("on_notification");
    }

    fn on_timer(&mut self, _: Time) {
        self.pass("on_timer");
    }

    fn on_mss_change(&mut self, _: Bytes) {
        self.pass("on_mss_change");
    }

    fn reads(&self) -> Reads {
        self.pass("reads");
        Reads::NONE
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.pass("gauges");
        emit("answer", 42.0);
    }
}

fn loaded<A>() -> Result<Guest, LoadError>
where
    A: Configurable + Clone + Send + Sync + 'static,
    A::Control: Send + Sync + 'static,
{
    let table = Box::leak(Box::new(export::table::<A>()));
    // SAFETY: the table was made here, and stays.
    unsafe { loaded::load(table, report) }
}

fn trap(place: &str) -> Guest {
    let mut guest = loaded::<Trap<0>>().unwrap();
    guest.set("place", place).unwrap();
    guest
}

/// Tells a new flow of everything that can happen, and copies it.
fn live(guest: &Guest, seed: u64) {
    let mut flow = Flow::new(Bytes::new(1_460), Rate::from_gbps(100));
    flow.seed = seed;
    let mut control = guest.start(&flow);
    let at = |us| Time::ZERO + Span::from_us(us);
    let packet = Bytes::new(1_460);
    control.on_sent(&Sent::new(at(1), packet, packet));
    control.on_demand(&Demand::new(at(2), Some(packet)));
    control.on_ack(&Ack::new(at(3), at(1), packet));
    control.on_loss(&Loss::new(at(4), at(1), packet, LossCause::Detected));
    control.on_spurious_loss(&Spurious::new(at(5), packet));
    control.on_restart(at(6), Span::from_us(1));
    control.on_notification(&Notification::new(at(7)));
    control.on_timer(at(8));
    control.on_mss_change(Bytes::new(9_000));
    let mut seen = 0.0;
    control.gauges(&mut |_, value| seen += value);
    let mut copy = control.clone();
    copy.on_ack(&Ack::new(at(9), at(1), packet));
    assert!(copy.limits().cwnd >= packet, "it has limits after any mistake");
}

#[test]
fn a_panic_in_a_function_of_a_flow_is_its_mistake() {
    let within = |place: &str, seed: u64, us: u64| {
        live(&trap(place), seed);
        let found: Vec<String> = mistakes()
            .iter()
            .filter(|one| one.starts_with(&format!("trap {seed} ")))
            .cloned()
            .collect();
        let method = if place == "limits" { "on_start" } else { place };
        let (first, rest) = found.split_first().unwrap();
        assert_eq!(
            *first,
            format!(
                "trap {seed} {us} us {method}: it failed: an exception or a panic, of which native \
                 code tells no more"
            )
        );
        // A flow ends with its mistake.
        assert!(rest.is_empty(), "{rest:?}");
    };
    for (seed, (place, us)) in [
        ("on_start", 0),
        ("limits", 0),
        ("reads", 0),
        ("on_sent", 1),
        ("on_demand", 2),
        ("on_ack", 3),
        ("on_loss", 4),
        ("on_spurious_loss", 5),
        ("on_restart", 6),
        ("on_notification", 7),
        ("on_timer", 8),
        ("on_mss_change", 8),
        ("gauges", 8),
        ("copy", 8),
    ]
    .into_iter()
    .enumerate()
    {
        within(place, 100 + seed as u64, us);
    }
    live(&trap("nowhere"), 1);
    assert!(!mistakes().iter().any(|one| one.starts_with("trap 1 ")));
}

#[test]
fn a_panic_at_the_end_of_a_flow_changes_nothing() {
    let guest = loaded::<Last>().unwrap();
    live(&guest, 2);
    assert!(!mistakes().iter().any(|one| one.starts_with("last 2 ")));
}

/// An algorithm whose flows panic when they are dropped.
#[derive(Clone, Copy, Debug, Default)]
struct Last;

#[derive(Clone)]
struct LastControl;

impl Drop for LastControl {
    fn drop(&mut self) {
        panic!("the trap");
    }
}

impl CongestionControl for LastControl {
    fn on_ack(&mut self, _: &Ack<'_>) {}
    fn on_loss(&mut self, _: &Loss) {}
    fn limits(&self) -> Limits {
        Limits::rate(Rate::from_gbps(1))
    }
}

impl Algorithm for Last {
    type Control = LastControl;
    const NAME: &'static str = "last";
    fn start(&self, _: &Flow) -> LastControl {
        LastControl
    }
}

impl Configurable for Last {
    const INFO: Info = Info { name: "last", needs: &[], ..<Trap<0>>::INFO };
    const PRESETS: &'static [Preset] = &[];
    const PARAMS: &'static [Param] = &[];
    fn set(&mut self, _: &str, _: &str) -> Result<(), SetError> {
        Err(SetError::Unknown)
    }
    fn write(&self, _: &str, _: &mut dyn fmt::Write) -> fmt::Result {
        Err(fmt::Error)
    }
}

#[test]
fn a_panic_in_a_function_of_parameters_refuses_the_value() {
    let refused = SetError::NotOneOf("the values with which it does not panic");
    for place in ["set", "needs", "burst_varies"] {
        let mut guest = loaded::<Trap<0>>().unwrap();
        assert_eq!(guest.set("place", place), Err(refused), "{place}");
        live(&guest, 3);
    }
    let mut guest = trap("clone");
    assert_eq!(guest.set("other", "x"), Err(refused));
    assert!(trap("write").write("place", &mut String::new()).is_err());
    let conflict = trap("check").check().unwrap_err();
    assert_eq!((conflict.name, conflict.other), ("place", "other"));
    assert_eq!(conflict.rule, "makes the algorithm's own check panic, perhaps with");
    assert!(!mistakes().iter().any(|one| one.starts_with("trap 3 ")));
}

#[test]
fn a_table_whose_functions_panic_with_its_defaults_is_refused_in_a_sentence() {
    let said = |guest: Result<Guest, LoadError>, function: &str| {
        let expected = format!("its {function} panics with the default parameters");
        assert_eq!(guest.unwrap_err().to_string(), expected);
    };
    said(loaded::<Trap<1>>(), "default");
    said(loaded::<Trap<5>>(), "needs");
    said(loaded::<Trap<6>>(), "burst_varies");
    said(loaded::<Trap<7>>(), "check");
}

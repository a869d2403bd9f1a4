//! The twin check: the same events through the C core on the host and in BPF. `tests/twin.rs`
//! compares both with `incast-cc`.

use std::mem::MaybeUninit;

use incast_cc::{dctcp, rtcp, timely};
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{MapCore as _, MapFlags, ProgramInput};

use self::skeleton::TwinSkelBuilder;
use self::skeleton::types::{twin_answer, twin_event, twin_setup};
use crate::Result;
use crate::programs;
use crate::shared::{FIRST, Shared as _};

skeleton!(twin);
shared!(twin_setup, twin_event, twin_answer);

/// The most events of one run.
pub const EVENTS: usize = 16_384;

/// An event, as four numbers whose meaning is in bpf/twin.h.
pub type Event = [u64; 4];
/// The state after an event; the rate or the window comes first.
pub type Answer = [u64; 8];

/// The first rate of TIMELY.
#[derive(Clone, Copy, Debug)]
pub enum First {
    /// A rate in b/s, above zero.
    Bps(u64),
    /// An initial window in bytes, once in an RTT in ns.
    Window(u64, u64),
}

/// The length of a segment in TIMELY's events.
pub const MSS: u64 = 1_448;

/// The algorithm that runs, and its start.
#[derive(Clone, Copy, Debug)]
pub enum Setup {
    /// TIMELY from a rate, at a time in ns.
    Timely(timely::Constants, First, u64),
    /// Regulated TCP of a weight, from a window in segments.
    Rtcp(rtcp::Constants, u64, u64),
    /// DCTCP.
    Dctcp(dctcp::Constants),
}

impl Setup {
    fn shared(&self, count: usize) -> twin_setup {
        let mut setup =
            twin_setup { count: u32::try_from(count).unwrap_or(0), ..twin_setup::default() };
        // Each skeleton has its own type, with the same fields.
        match self {
            Self::Timely(k, first, now) => {
                setup.timely = again(&programs::timely::constants(k));
                setup.start = match *first {
                    First::Bps(rate) => [*now, rate, 0, 0],
                    First::Window(bytes, rtt_ns) => [*now, 0, bytes, rtt_ns],
                };
                setup.algorithm = 0;
            }
            Self::Rtcp(k, weight, cwnd) => {
                setup.rtcp = again(&programs::rtcp::constants(k));
                setup.start = [*weight, *cwnd, 0, 0];
                setup.algorithm = 1;
            }
            Self::Dctcp(k) => {
                setup.dctcp = again(&programs::dctcp::constants(k));
                setup.algorithm = 2;
            }
        }
        setup
    }
}

fn again<From: Copy, To: Copy>(value: &From) -> To {
    assert_eq!(size_of::<From>(), size_of::<To>());
    // SAFETY: both are the same C struct of integers, and as large.
    unsafe { std::mem::transmute_copy(value) }
}

fn events(list: &[Event]) -> Vec<twin_event> {
    list.iter().map(|&[a, b, c, d]| twin_event { a, b, c, d }).collect()
}

unsafe extern "C" {
    fn incast_twin_run(
        setup: *const twin_setup,
        events: *const twin_event,
        answers: *mut twin_answer,
    );
}

/// The host build's answers.
///
/// # Panics
/// If there are more than [`EVENTS`].
pub fn on_host(setup: &Setup, list: &[Event]) -> Vec<Answer> {
    assert!(list.len() <= EVENTS);
    let (setup, events) = (setup.shared(list.len()), events(list));
    let mut answers = vec![twin_answer::default(); list.len()];
    // SAFETY: as many events and answers as the setup says.
    unsafe { incast_twin_run(&raw const setup, events.as_ptr(), answers.as_mut_ptr()) };
    answers.iter().map(|answer| answer.value).collect()
}

/// The BPF build's answers, for each setup and its events.
///
/// # Errors
/// The kernel refuses.
///
/// # Panics
/// If there are more than [`EVENTS`] for one setup.
pub fn in_bpf(runs: &[(Setup, Vec<Event>)]) -> Result<Vec<Vec<Answer>>> {
    let mut object = MaybeUninit::uninit();
    let skel = TwinSkelBuilder::default().open(&mut object)?.load()?;
    let mut found = Vec::new();
    for (setup, list) in runs {
        assert!(list.len() <= EVENTS);
        let setup = setup.shared(list.len());
        skel.maps.twin_setups.update(&FIRST, setup.bytes(), MapFlags::ANY)?;
        for (at, event) in (0_u32..).zip(events(list)) {
            skel.maps.twin_events.update(&at.to_ne_bytes(), event.bytes(), MapFlags::ANY)?;
        }
        skel.progs.twin_run.test_run(ProgramInput::default())?;
        let mut answers = Vec::with_capacity(list.len());
        for at in 0..u32::try_from(list.len()).unwrap_or(0) {
            let value = skel.maps.twin_answers.lookup(&at.to_ne_bytes(), MapFlags::ANY)?;
            answers.push(value.and_then(|bytes| twin_answer::of(&bytes)).unwrap_or_default().value);
        }
        found.push(answers);
    }
    Ok(found)
}

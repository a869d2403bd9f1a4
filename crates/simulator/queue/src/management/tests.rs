//! Tests of all kinds of queue management, and helpers for the tests of each kind.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_schema::Fault;
use incast_transport::random::generator;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use toml::de::{DeTable, DeValue};

use super::codel::Codel;
use super::phantom::Phantom;
use super::pi::Pi;
use super::pie::Pie;
use super::red::Red;
use super::registry::EXAMPLES;
use super::*;

pub(super) const RATE: Rate = Rate::from_gbps(1);

pub(super) fn random(seed: u64) -> Pcg64Mcg {
    generator(seed, "test", &[])
}

pub(super) fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[track_caller]
pub(super) fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-12 + 1e-9 * expected.abs(), "{value}, not {expected}");
}

/// A queue that changes at irregular times, is often empty and sometimes does not change for long.
/// Each item has the time in microseconds, the bytes that are left, and how long the packet that
/// left had waited.
pub(super) fn trajectory(changes: u32) -> impl Iterator<Item = (u64, u64, u64)> {
    let mut random = random(11);
    let (mut at, mut queued) = (0, 0_u64);
    (0..changes).map(move |change| {
        at += random.next_u64() % if change % 100 == 0 { 5_000 } else { 12 };
        queued = match random.next_u64() % 8 {
            0..4 => queued + 3_000,
            4..7 => queued.saturating_sub(3_000),
            _ if queued > 60_000 => 0,
            _ => queued,
        };
        (at, queued, queued / 1_000)
    })
}

/// The example settings of each kind.
fn all() -> impl Iterator<Item = Aqm> {
    EXAMPLES.iter().map(|text| toml::from_str(text).unwrap())
}

/// The verdicts on packets of 3,000 B, a third of which may be marked.
fn verdicts(settings: &Aqm, seed: u64) -> Vec<Verdict> {
    let mut law = settings.start(RATE, random(seed));
    let mut verdicts = Vec::new();
    let mut before = 0;
    for (index, (at, queued, waited)) in trajectory(5_000).enumerate() {
        let (now, ect) = (us(at), index % 3 == 0);
        verdicts.push(if queued > before {
            law.on_enqueue(now, before, 3_000, ect)
        } else {
            law.on_dequeue(now, queued, us(at.saturating_sub(waited)), 3_000, ect)
        });
        before = queued;
    }
    verdicts
}

#[test]
fn each_kind_marks_and_drops_as_its_response_says() {
    for settings in all() {
        let verdicts = verdicts(&settings, 1);
        let Response { ecn, drop } = settings.response();
        assert_eq!(verdicts.contains(&Verdict::Mark), ecn, "{settings:?}");
        assert_eq!(verdicts.contains(&Verdict::Drop), drop, "{settings:?}");
    }
}

/// The laws of DCQCN, which choose packets by the present queue, at both moments.
fn of_the_present_queue() -> impl Iterator<Item = Aqm> {
    ["arrival", "departure"].into_iter().map(|at| {
        let text = format!(
            "kind = 'red'\nmin = '12KB'\nmax = '40KB'\nmax_probability = 0.2\ngentle = false\n\
             weight = 1\ndrop = false\nat = '{at}'"
        );
        read(&text).unwrap()
    })
}

#[test]
fn laws_that_look_at_waits_say_so() {
    let mut looks = 0;
    for settings in all() {
        let verdicts = |waits: bool| {
            let mut law = settings.start(RATE, random(3));
            let judge = |(at, queued, waited): (u64, u64, u64)| {
                let came = if waits { at.saturating_sub(waited * 100) } else { at };
                law.on_enqueue(us(at), queued, 3_000, true);
                law.on_dequeue(us(at), queued, us(came), 3_000, true)
            };
            trajectory(5_000).map(judge).collect::<Vec<_>>()
        };
        if verdicts(true) != verdicts(false) {
            assert!(settings.start(RATE, random(3)).sees_waits(), "{settings:?}");
            looks += 1;
        }
    }
    assert!(looks > 0);
}

#[test]
fn packets_that_pass_unasked_change_no_verdict() {
    let mut unasked = 0;
    for settings in all().chain(of_the_present_queue()) {
        let [mut asked, mut told] = [0, 1].map(|_| settings.start(RATE, random(5)));
        let (mut before, mut passed) = (0, 0);
        for (step, (at, queued, waited)) in trajectory(20_000).enumerate() {
            let (now, ect, came) = (us(at), step % 3 > 0, us(at.saturating_sub(waited)));
            if step % 5_000 == 4_999 {
                told.on_passed(std::mem::take(&mut passed));
                let rate = Rate::from_mbps(500 + step as u64 / 10);
                asked.set_rate(now, rate);
                told.set_rate(now, rate);
            }
            let comes = queued > before;
            let Passing { at_arrival, at_departure } = told.passing();
            let (length, bound) =
                if comes { (before + 3_000, at_arrival) } else { (queued, at_departure) };
            let judge = |law: &mut AnyLaw| {
                if comes {
                    law.on_enqueue(now, before, 3_000, ect)
                } else {
                    law.on_dequeue(now, queued, came, 3_000, ect)
                }
            };
            let verdict = judge(&mut asked);
            if length < bound {
                assert_eq!(verdict, Verdict::Pass, "{settings:?} at {at} us");
                unasked += 1;
                passed += u64::from(bound < u64::MAX);
            } else {
                told.on_passed(std::mem::take(&mut passed));
                assert_eq!(judge(&mut told), verdict, "{settings:?} at {at} us");
            }
            before = queued;
        }
    }
    assert!(unasked > 20_000, "{unasked}");
}

#[test]
fn same_seed_same_verdicts() {
    for settings in all() {
        assert_eq!(verdicts(&settings, 1), verdicts(&settings, 1), "{settings:?}");
    }
}

#[test]
fn laws_that_draw_differ_with_the_seed() {
    for kind in ["red", "pi", "pie"] {
        let settings = all().find(|settings| settings.kind() == kind).unwrap();
        assert_ne!(verdicts(&settings, 1), verdicts(&settings, 2), "{kind}");
    }
}

#[test]
fn chances_are_as_large_as_they_say() {
    let mut random = random(1);
    let mut count = |p| (0..10_000).filter(|_| happens(p, &mut random)).count();
    assert_eq!((count(0.0), count(1.0)), (0, 10_000));
    assert!(count(0.25).abs_diff(2_500) < 4 * 43); // deviation sqrt(10,000 * 0.25 * 0.75) = 43
}

/// Reads `[switch.aqm]` with these fields, as a scenario does.
fn read(fields: &str) -> Result<Aqm, String> {
    let text = format!("[switch.aqm]\n{fields}\n");
    let place = |fault: Fault| fault.locate("f", &text).to_string();
    let mut tables = DeTable::parse(&text).unwrap().into_inner();
    let switch = tables.remove("switch").unwrap().into_inner();
    let DeValue::Table(mut switch) = switch else { panic!("written above") };
    let aqm = switch.remove("aqm").unwrap();
    fields_of(&text, aqm, &[&"switch", &"aqm"]).map_err(place)?;
    let aqm: Aqm = toml::from_str(fields).map_err(|error| place(Fault::of(&error, fields)))?;
    aqm.check()
        .map_err(|(field, message)| place(Fault::at([&"switch", &"aqm", &field], message)))?;
    Ok(aqm)
}

#[test]
fn marking_of_dcqcn_can_be_written() {
    let text = "kind = 'red'\nmin = '5KB'\nmax = '200KB'\nmax_probability = 0.01\ngentle = false\n\
                weight = 1\ndrop = false\nat = 'departure'";
    let expected = Red {
        min: Bytes::from_kb(5),
        max: Bytes::from_kb(200),
        rate: None,
        max_probability: 0.01,
        gentle: false,
        weight: 1.0,
        small_packet: Bytes::new(500),
        ecn: true,
        drop: false,
        at: Moment::Departure,
    };
    assert_eq!(read(text), Ok(Aqm::Red(expected)));
}

#[test]
fn each_kind_has_defaults() {
    let red = read("kind = 'red'\nmin = '7500B'\nmax = '22500B'").map(|aqm| aqm.marks());
    assert_eq!(red, Ok(true));
    assert_eq!(read("kind = 'pi'"), Ok(Aqm::Pi(Pi::default())));
    assert_eq!(read("kind = 'pie'"), Ok(Aqm::Pie(Pie::default())));
    assert_eq!(read("kind = 'codel'"), Ok(Aqm::Codel(Codel::default())));
    assert_eq!(read("kind = 'phantom'"), Ok(Aqm::Phantom(Phantom::default())));
    assert_eq!(read("kind = 'codel'\necn = false").map(|aqm| aqm.marks()), Ok(false));
}

#[test]
fn mistakes_are_found_where_they_are() {
    let kinds = KINDS.join(", ");
    for (text, expected) in [
        ("min = '1KB'", "f:1:1: no kind; expected one of KINDS"),
        ("kind = 'rde'", "f:2:8: unknown kind \"rde\"; did you mean \"red\"?"),
        ("kind = 5", "f:2:8: no text; expected one of KINDS"),
        ("kind = 'red'\nmin = '1KB'", "f:1:1: missing field `max`"),
        ("kind = 'pie'\ntarge = '1ms'", "f:3:1: unknown field \"targe\"; did you mean \"target\"?"),
        (
            "kind = 'codel'\nburst = '1ms'",
            "f:3:1: unknown field \"burst\"; expected one of target, interval, ecn, drop",
        ),
        ("kind = 'phantom'\ndrain = 1.5", "f:3:9: \"1.5\" is out of range; expected 0.01 to 1"),
        ("kind = 'phantom'\ndrain = nan", "f:3:9: \"NaN\" is out of range; expected 0.01 to 1"),
        (
            "kind = 'phantom'\ndrain = 'x'",
            "f:3:9: \"x\" is not a number; expected a number from 0.01 to 1",
        ),
        (
            "kind = 'red'\nmin = '3KB'\nmax = '2KB'",
            "f:3:7: min = 3KB is above max = 2KB; make it smaller",
        ),
        (
            "kind = 'red'\nmin = '3KB'\nmax = '9KB'\nat = 'departure'",
            "f:5:6: at = \"departure\" only marks, since what leaves is not dropped; set drop = \
             false, or at = \"arrival\"",
        ),
        (
            "kind = 'red'\nmin = '3KB'\nmax = '9KB'\nat = 'departing'",
            "f:5:6: unknown word \"departing\"; did you mean \"departure\"?",
        ),
        ("kind = 'pie'\nat = 'departure'", "f:3:1: unknown field \"at\"; did you mean \"a\"?"),
        (
            "kind = 'pi'\na = 1e-5\nb = 2e-5",
            "f:4:5: with a = 0.00001 not above b = 0.00002 the queue comes to rest anywhere; \
             make b smaller",
        ),
        (
            "kind = 'codel'\necn = false\ndrop = false",
            "f:4:8: it neither marks nor drops; set ecn or drop to true",
        ),
    ] {
        assert_eq!(read(text), Err(expected.replace("KINDS", &kinds)), "{text}");
    }
}

#[test]
fn every_kind_is_in_the_schema() {
    let schema = schemars::schema_for!(Aqm).to_value();
    let kinds = schema["oneOf"].as_array().expect("one schema for each").iter();
    let kinds: Vec<_> =
        kinds.filter_map(|kind| kind["properties"]["kind"]["const"].as_str()).collect();
    assert_eq!(kinds, KINDS);
}

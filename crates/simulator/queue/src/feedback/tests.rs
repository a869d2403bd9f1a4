//! Tests of all kinds of feedback.

use incast_cc::feedback::{FairRate, Load, Request};
use incast_cc::{Feedback, Rate, Span, Time};
use incast_transport::Stamps;
use proptest::prelude::*;

use super::{AnyFeedback, Departure, Feedbacks, KINDS, Law};

/// A packet of 1,500 B that leaves port 7, of 10 Gb/s and empty, at `us`.
pub(super) fn departure(us: u64) -> Departure {
    Departure {
        now: Time::ZERO + Span::from_us(us),
        port: 7,
        rate: Rate::from_gbps(10),
        queued: 0,
        sent: 1_500,
        wire: 1_500,
        payload: 1_460,
    }
}

#[test]
fn a_table_names_its_kinds() {
    let feedbacks: Feedbacks = toml::from_str("[d3]\n[rcp]\nalpha = 0.4").unwrap();
    assert_eq!(feedbacks.of("d3").map(|kind| kind.kind()), Some("d3"));
    assert_eq!(feedbacks.of("vcp"), None);
    assert_eq!(feedbacks.of("none"), None);
    let wrong = toml::from_str::<Feedbacks>("[d4]").unwrap_err();
    assert!(wrong.message().contains("unknown field `d4`"), "{wrong}");
    for kind in KINDS {
        assert_eq!(AnyFeedback::named(kind).map(|settings| settings.kind()), Some(*kind));
    }
}

#[test]
fn values_that_do_nothing_are_refused() {
    for (text, expected) in [
        ("[d3]\ndrain = 11", "drain = 11 is out of range; expected 0 to 10"),
        ("[rcp]\nalpha = -1", "alpha = -1 is out of range; expected 0 to 10"),
        ("[rcp]\ninitial = 0", "initial = 0 is out of range; expected 0.001 to 1"),
        ("[rcp]\ntimeslot = \"0us\"", "timeslot = 0ps is too short; expected 1us or more"),
        ("[vcp]\ninterval = \"1us\"", "interval = 1us is too short; expected 20us or more"),
        ("[vcp]\ntarget = 2", "target = 2 is out of range; expected 0.01 to 1"),
    ] {
        let feedbacks: Feedbacks = toml::from_str(text).unwrap();
        let (_, (_, message)) = feedbacks.check().unwrap_err();
        assert_eq!(message, expected);
    }
    assert_eq!(Feedbacks::default().check(), Ok(()));
}

/// A step of a port: the time since the last one, bytes that wait, and a packet with a header.
fn step() -> impl Strategy<Value = (u64, u64, u64, u8)> {
    (0..5_000_u64, 0..500_000_u64, 64..9_000_u64, 0..5_u8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_law_fails_or_grants_more_than_its_link(
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let line = Rate::from_gbps(10);
        for kind in KINDS {
            let settings = AnyFeedback::named(kind).unwrap();
            let mut law = settings.start(line);
            let mut us = 0;
            for &(after, queued, wire, what) in &steps {
                us += after;
                let request = Request {
                    desired: Rate::from_mbps(queued),
                    rtt: Span::from_us(after),
                    begins: what == 0,
                    ends: what == 1,
                    ..Request::default()
                };
                let mut stamps = match what {
                    0..=1 => Stamps::of(Feedback::Request(request)),
                    2 => Stamps::of(Feedback::FairRate(FairRate::new(Span::from_us(after)))),
                    3 => Stamps::of(Feedback::Load(Load::Unknown)),
                    _ => Stamps::NONE,
                };
                if settings.listens() {
                    law.on_arrival(departure(us).now, queued, wire);
                }
                let payload = wire - wire.min(40);
                let departure = Departure { queued, wire, payload, ..departure(us) };
                law.on_departure(&departure, &mut stamps);
                match stamps.feedback() {
                    Some(Feedback::FairRate(header)) if *kind == "rcp" => {
                        prop_assert!(header.rate <= line && !header.rate.is_zero());
                    }
                    Some(Feedback::Request(request)) if *kind == "d3" && what == 0 => {
                        let granted = request.granted.of(7).unwrap();
                        // What it desires, if there is so much, and a fair share.
                        prop_assert!(granted.as_bps() <= 2 * line.as_bps());
                    }
                    _ => {}
                }
            }
        }
    }
}

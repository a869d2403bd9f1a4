//! An algorithm through its table of C functions is the same algorithm.

#![expect(unsafe_code, reason = "a table is loaded from its address")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use incast_cc::contract::{Ack, CongestionControl, Demand, Due, Flow, Hop, Loss, LossCause, Sent};
use incast_cc::guest::Guest;
use incast_cc::param::{Configurable, SetError};
use incast_cc::{Bytes, Rate, RttSample, Span, Time};
use incast_native::control::Mistake;
use incast_native::{export, loaded};

static MISTAKES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn report(name: &'static str, seed: u64, at: Time, method: &'static str, mistake: Mistake) {
    let text = format!("{name} {seed} {} {method}: {mistake}", at.as_ps());
    MISTAKES.lock().unwrap().push(text);
}

fn loaded<A>() -> Guest
where
    A: Configurable + Clone + Send + Sync + 'static,
    A::Control: Send + Sync + 'static,
{
    let table = Box::leak(Box::new(export::table::<A>()));
    // SAFETY: the table was made here, and stays.
    unsafe { loaded::load(table, report) }.unwrap()
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

fn gauges(control: &impl CongestionControl) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    control.gauges(&mut |name, value| found.push((name, value)));
    found
}

/// Tells an algorithm and its table of the same events, and compares all answers.
fn compare<A>(settings: &[(&str, &str)])
where
    A: Configurable + Clone + Send + Sync + 'static,
    A::Control: Send + Sync + 'static,
{
    let (mut direct, mut through) = (A::default(), loaded::<A>());
    for (name, value) in settings {
        direct.set(name, value).unwrap();
        through.set(name, value).unwrap();
    }
    assert_eq!(through.params().len(), A::PARAMS.len());
    for param in A::PARAMS {
        let (mut left, mut right) = (String::new(), String::new());
        direct.write(param.name, &mut left).unwrap();
        through.write(param.name, &mut right).unwrap();
        assert_eq!(left, right, "{}", param.name);
    }
    assert_eq!((through.needs(), through.check()), (direct.needs(), direct.check()));
    assert_eq!(through.burst_varies(), direct.burst_varies());

    let mut flow = Flow::new(Bytes::new(1_460), Rate::from_gbps(100));
    (flow.active_flows, flow.seed) = (3, 42);
    flow.now = Time::from_ps(1_000_000_000_000_123);
    let (mut direct, mut through) = (direct.start(&flow), through.start(&flow));
    assert_eq!(through.reads(), direct.reads());
    let mut random = Random(7);
    let (mut now, mut sent) = (flow.now, Bytes::ZERO);
    for step in 0..20_000 {
        now += Span::from_ps(1 + random.below(20_000_000));
        let rtt = Span::from_ps(10_000_000 + random.below(500_000_000));
        let bytes = Bytes::new(1_460);
        sent += bytes;
        if let Some(at) = direct.next_timer().filter(|&at| at <= now) {
            direct.on_timer(at.max(now));
            through.on_timer(at.max(now));
        }
        if random.below(100) == 0 {
            let mut loss = Loss::new(now, now, bytes, LossCause::Detected);
            (loss.end, loss.next, loss.in_flight) = (sent, sent + bytes, Bytes::new(14_600));
            direct.on_loss(&loss);
            through.on_loss(&loss);
        }
        let mut hop = Hop::default();
        (hop.at, hop.rate, hop.sent) = (now, Rate::from_gbps(100), sent);
        hop.queue = Bytes::new(random.below(100_000));
        let hops = [hop];
        let mut ack = Ack::new(now, Time::from_ps(now.as_ps() - rtt.as_ps()), bytes);
        let parts = (Span::from_ps(random.below(1_000_000)), Span::from_ps(random.below(9_000)));
        ack.rtt = Some(RttSample { total: rtt, serialization: parts.0, peer: parts.1 })
            .filter(|_| step % 7 != 0);
        (ack.srtt, ack.min_rtt, ack.one_way) = (rtt, Span::from_us(10), Some(rtt));
        (ack.end, ack.next, ack.in_flight) = (sent, sent + bytes, Bytes::new(14_600));
        (ack.delivered, ack.round, ack.cwnd_limited) = (sent, step / 10, random.below(2) == 0);
        ack.ce_bytes = Bytes::new(random.below(2) * 1_460);
        let due = Due { at: now + rtt * random.below(9), bytes: Bytes::new(random.below(1 << 30)) };
        ack.due = Some(due).filter(|_| step % 3 != 0);
        ack.hops = &hops;
        direct.on_ack(&ack);
        through.on_ack(&ack);
        let mut out = Sent::new(now, bytes, Bytes::new(14_600));
        out.end = sent;
        direct.on_sent(&out);
        through.on_sent(&out);
        if step % 1_000 == 0 {
            direct.on_demand(&Demand::new(now, Some(Bytes::new(100_000))));
            through.on_demand(&Demand::new(now, Some(Bytes::new(100_000))));
            // A flow and its copy go their own ways.
            let mut copy = through.clone();
            copy.on_ack(&ack);
        }
        let (mut left, right) = (direct.limits(), through.limits());
        if left.cwnd != Bytes::MAX {
            left.cwnd = left.cwnd.max(flow.mss);
        }
        assert_eq!(left, right, "step {step}");
        assert_eq!(direct.next_timer(), through.next_timer(), "step {step}");
        assert_eq!(gauges(&direct), gauges(&through), "step {step}");
    }
}

#[test]
fn algorithms_of_each_kind_give_the_same_answers_through_a_table() {
    compare::<incast_cc::timely::Timely>(&[("t_high", "200us"), ("beta", "0.5")]);
    compare::<incast_cc::swift::Swift>(&[]);
    compare::<incast_cc::cubic::Cubic>(&[]);
    compare::<incast_cc::dcqcn::Dcqcn>(&[]);
    compare::<incast_cc::hpcc::Hpcc>(&[]);
    compare::<incast_cc::bbr::Bbr>(&[]);
    assert_eq!(*MISTAKES.lock().unwrap(), Vec::<String>::new());
}

#[test]
fn values_that_do_not_fit_are_refused_in_the_same_words() {
    let mut through = loaded::<incast_cc::timely::Timely>();
    let mut direct = incast_cc::timely::Timely::default();
    for (name, text) in [
        ("t_high", "2"),
        ("t_high", "3s"),
        ("beta", "x"),
        ("delta", "5us"),
        ("nothing", "1"),
        ("hai_counts", "none"),
        ("hai_n", "0.5"),
    ] {
        let found: SetError = through.set(name, text).unwrap_err();
        assert_eq!(found, direct.set(name, text).unwrap_err(), "{name} = {text}");
    }
}

#[test]
fn a_table_of_another_version_is_refused_in_a_sentence() {
    let mut table = export::table::<incast_cc::timely::Timely>();
    table.layout.version = 99;
    let table = Box::leak(Box::new(table));
    // SAFETY: the first part of the table is there, and it is all that is read.
    let refused = unsafe { loaded::load(table, report) }.unwrap_err().to_string();
    assert!(refused.contains("its interface is 99 of "), "{refused}");
    assert!(refused.contains("build it with the sources of incast 0.1.0"), "{refused}");
}

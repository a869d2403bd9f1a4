//! The traffic of a test bed, on nodes of this process.

use std::io::ErrorKind;
use std::time::Duration;

use incast_bed::lab::{self, Failed, Flow, Place, Plan, Request};
use incast_cc::Rate;
use incast_udp::security::Security;
use incast_udp::{Options, place};

fn options() -> Options {
    let mut options = Options::at("127.0.0.1:0".parse().unwrap(), Security::Plain);
    options.line_rate = Rate::from_gbps(1);
    options
}

/// Hosts of one machine, in this namespace.
fn places(ports: [u16; 3]) -> Vec<Place> {
    let place = |port| {
        let mut options = options();
        options.address.set_port(port);
        Place { name: format!("host {port}"), namespace: OWN.into(), cpu: 0, options }
    };
    ports.map(place).into()
}

const OWN: &str = "/proc/self/ns/net";

/// Whether threads may enter namespaces and use CPU 0.
fn may_enter() -> bool {
    let entered = std::thread::spawn(|| place::enter(OWN.as_ref()).and_then(|()| place::pin(0)));
    let Err(error) = entered.join().unwrap() else { return true };
    eprintln!("skipped: a thread enters no namespace here: {error}");
    false
}

#[test]
fn flows_and_requests_of_a_test_bed_arrive_and_are_measured() {
    if !may_enter() {
        return;
    }
    let at = |ms| Duration::from_millis(ms);
    let request = |ms| Request { at: at(ms), client: 2, servers: vec![0, 1], bytes: 20_000 };
    let plan = Plan {
        hosts: places([47_101, 47_102, 47_103]),
        flows: vec![Flow { from: 0, to: 2 }, Flow { from: 1, to: 2 }],
        requests: vec![request(10), request(200)],
        duration: at(1_500),
        measured: (at(500), at(1_500)),
        interval: at(500),
    };
    let mut told = 0;
    let outcome = lab::run(&plan, |_| {
        told += 1;
        true
    })
    .unwrap();
    assert!(told > 10, "{told}");
    for flow in &outcome.flows {
        assert_eq!(flow.series.len(), 3);
        assert_eq!(flow.series[1] + flow.series[2], flow.measured);
        assert!(flow.measured > 0);
    }
    let mut answered: Vec<_> = outcome.answered.iter().map(|&(number, _)| number).collect();
    answered.sort_unstable();
    assert_eq!(answered, [0, 1]);
    assert!(outcome.answered.iter().all(|&(number, end)| end > plan.requests[number].at));
    let of = |flow| outcome.samples.iter().filter(|sample| sample.flow == flow).count();
    assert!(of(Some(0)) > 0 && of(Some(1)) > 0 && of(None) > 0);
}

#[test]
fn a_test_bed_that_cannot_be_is_refused() {
    let mut plan = Plan {
        hosts: places([0, 0, 0]),
        flows: vec![Flow { from: 0, to: 3 }],
        requests: Vec::new(),
        duration: Duration::from_millis(10),
        measured: (Duration::ZERO, Duration::from_millis(10)),
        interval: Duration::from_millis(1),
    };
    let error = lab::run(&plan, |_| true).unwrap_err();
    assert_eq!(error.to_string(), "there is no host 3: the test bed has 3, numbered from 0");
    plan.flows.clear();
    plan.hosts[1].namespace = "/run/netns/incast-none".into();
    match lab::run(&plan, |_| true).unwrap_err() {
        Failed::Place { name, source, .. } => {
            assert_eq!(name, "host 0");
            assert!(matches!(source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied));
        }
        other => panic!("{other}"),
    }
}

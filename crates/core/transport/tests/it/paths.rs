//! Metrics of paths, which flows leave to later ones of the same host.

use std::sync::{Arc, Mutex};

use incast_cc::{Ack, Bytes, CongestionControl, Flow, Limits, Loss, PathMetrics, Rate, Span, Time};
use incast_transport::{Address, Config, Endpoint, Opening, Operation, Report, Role, Terms};

/// The paths that flows were told of, in the order of their starts.
type Told = Arc<Mutex<Vec<Option<PathMetrics>>>>;

/// A flow that leaves its number as the rate of its path, once it has heard an ACK.
#[derive(Clone)]
struct Numbered {
    number: u64,
    heard_at: Option<Time>,
}

impl CongestionControl for Numbered {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.heard_at = Some(ack.now);
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn limits(&self) -> Limits {
        Limits::window(Bytes::from_kb(100))
    }

    fn metrics(&self) -> Option<PathMetrics> {
        let (least_rtt, rate) = (Span::from_us(1), Rate::from_mbps(self.number));
        self.heard_at.map(|at| PathMetrics { at, least_rtt, rate })
    }
}

fn endpoint(told: &Told) -> Endpoint<Numbered> {
    let told = Arc::clone(told);
    let start = move |flow: &Flow, _| {
        let mut told = told.lock().unwrap();
        told.push(flow.path);
        Numbered { number: told.len() as u64, heard_at: None }
    };
    Endpoint::new(Config::default(), Box::new(start))
}

/// Two ends. Connection `n` of the sender leads to the host `hosts[n]`, all of which are the other
/// end.
fn ends(hosts: &'static [u32], told: &Told) -> [Endpoint<Numbered>; 2] {
    [Role::Sender, Role::Receiver].map(|role| {
        let mut end = endpoint(told);
        let opener = move |connection: u32| {
            let terms = Terms { once: true, ..Terms::default() };
            let address = Address { host: hosts[connection as usize], route: 0 };
            Opening { terms, role, peer: connection, address, seed: 0 }
        };
        end.expect(hosts.len(), Box::new(opener));
        end
    })
}

/// Lets packets go to and fro until there are none.
fn settle(now: &mut Time, ends: &mut [Endpoint<Numbered>; 2]) {
    for _ in 0..1_000 {
        for from in [0, 1] {
            while let Some(sent) = ends[from].poll_transmit(*now) {
                ends[1 - from].handle(*now, &sent.form, Report::default());
            }
            ends[from].on_timer(*now);
        }
        *now += Span::from_us(1);
    }
}

/// The numbers of the flows whose metrics flows were told.
fn numbers(told: &Told) -> Vec<Option<u64>> {
    let told = told.lock().unwrap();
    told.iter().map(|path| path.map(|path| path.rate.as_bps() / 1_000_000)).collect()
}

#[test]
fn a_flow_is_told_of_the_last_one_to_its_peer_or_of_the_last_one_of_all() {
    let (told, mut now) = (Told::default(), Time::ZERO);
    let mut ends = ends(&[5, 5, 6, 5, 6], &told);
    for connection in 0..5 {
        ends[0].post(now, connection, Operation::Write { bytes: 3_000 });
        settle(&mut now, &mut ends);
    }
    assert_eq!(numbers(&told), [None, Some(1), Some(2), Some(2), Some(3)]);
}

#[test]
fn a_flow_that_has_not_ended_leaves_nothing_yet() {
    let (told, mut now) = (Told::default(), Time::ZERO);
    let mut ends = ends(&[5, 5, 5], &told);
    (0..2).for_each(|flow| ends[0].post(now, flow, Operation::Write { bytes: 3_000 }));
    settle(&mut now, &mut ends);
    ends[0].post(now, 2, Operation::Write { bytes: 3_000 });
    let last = numbers(&told)[2];
    assert!(matches!(numbers(&told)[..], [None, None, Some(1 | 2)]), "{last:?}");
}

#[test]
fn connections_without_an_address_leave_nothing() {
    let (told, mut now) = (Told::default(), Time::ZERO);
    let mut ends = [endpoint(&told), endpoint(&told)];
    for connection in 0..2 {
        assert_eq!(ends[0].open(Role::Sender, connection), connection);
        assert_eq!(ends[1].open(Role::Receiver, connection), connection);
        ends[0].post(now, connection, Operation::Write { bytes: 3_000 });
        settle(&mut now, &mut ends);
    }
    assert_eq!(numbers(&told), [None, None]);
}

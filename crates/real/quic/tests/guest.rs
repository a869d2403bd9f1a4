//! The controllers of quinn and s2n-quic beside incast's algorithms of the same name: a stream
//! through a link of 1 Gb/s whose queue holds 150 packets.

#![cfg(all(feature = "quinn", feature = "s2n"))]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use incast_cc::{
    Ack, AnyAlgorithm, Bytes, CongestionControl, Flow, Limits, Loss, LossCause, Pacing, Rate,
    Reads, Sent, Span, Spurious, Time,
};
use incast_quic::guest::Guest;
use incast_quic::s2n_guest;
use incast_transport::{
    Config, Endpoint, Form, Operation, Report, Role, Starter, Terms, Transport, stream,
};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use s2n_quic_core::recovery::CongestionController;
use s2n_quic_core::recovery::bbr::{self, BbrCongestionController};
use s2n_quic_core::recovery::cubic::{self, CubicCongestionController};

type Control = Box<dyn CongestionControl>;

const LINK: Rate = Rate::from_gbps(1);
const DELAY: Span = Span::from_us(500);
const WIRE: u64 = 1_500;
const ROOM: u64 = 150 * WIRE;
const END: Time = Time::from_ps(2_000_000_000_000);

/// The window after each ACK, and the reductions.
#[derive(Default)]
struct Course {
    windows: Vec<(Time, Bytes)>,
    losses: Vec<Time>,
    timeouts: u32,
}

/// An algorithm and its course.
struct Watched(Control, Arc<Mutex<Course>>);

impl CongestionControl for Watched {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.0.on_ack(ack);
        self.1.lock().unwrap().windows.push((ack.now, self.limits().cwnd));
    }

    fn on_loss(&mut self, loss: &Loss) {
        let mut course = self.1.lock().unwrap();
        course.losses.push(loss.now);
        course.timeouts += u32::from(loss.cause != LossCause::Detected);
        self.0.on_loss(loss);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.on_sent(sent);
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        self.0.on_restart(now, idle);
    }

    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.0.on_spurious_loss(spurious);
    }

    fn on_timer(&mut self, now: Time) {
        self.0.on_timer(now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }

    fn reads(&self) -> Reads {
        self.0.reads()
    }

    fn limits(&self) -> Limits {
        let limits = self.0.limits();
        // Windows are not paced, so that the laws alone differ.
        match limits.pacing {
            Pacing::Window { .. } => Limits { pacing: Pacing::Unpaced, ..limits },
            Pacing::Rate(_) | Pacing::Unpaced => limits,
        }
    }
}

/// The result of a run.
struct Outcome {
    goodput: f64,
    course: Course,
}

/// Two hosts, and the bottleneck between them.
fn run(start: impl Fn(&Flow) -> Control + Send + Sync + 'static) -> Outcome {
    let course = Arc::new(Mutex::new(Course::default()));
    let seen = course.clone();
    let config = Config {
        line_rate: Rate::from_gbps(10),
        stream: stream::Config { pace_windows_percent: None, ..stream::Config::default() },
        ..Config::default()
    };
    let starter: Starter<Control> =
        Box::new(move |flow, _| Box::new(Watched(start(flow), seen.clone())));
    let idle: Starter<Control> = Box::new(|flow, _| {
        Box::new(AnyAlgorithm::named("line-rate").expect("it is registered").start(flow))
    });
    let mut hosts = [Endpoint::new(config, starter), Endpoint::new(config, idle)];
    let terms = Terms { transport: Transport::Stream, ..Terms::default() };
    let connection = hosts[0].open_on(terms, Role::Sender, 0);
    hosts[1].open_on(terms, Role::Receiver, 0);
    hosts[0].post(Time::ZERO, connection, Operation::Stream);
    // The packets on the way to each host, the time at which the link is free, and the NIC.
    let mut ways: [VecDeque<(Time, Form)>; 2] = [VecDeque::new(), VecDeque::new()];
    let (mut free, mut nic, mut now, mut arrived) = (Time::ZERO, Time::ZERO, Time::ZERO, 0_u64);
    while now < END {
        for (host, way) in hosts.iter_mut().zip(&mut ways) {
            while way.front().is_some_and(|(at, _)| *at <= now) {
                let (_, form) = way.pop_front().expect("there is one");
                host.handle(now, &form, Report::default());
            }
            host.on_timer(now);
            while host.poll_event().is_some() {}
        }
        while nic <= now
            && let Some(out) = hosts[0].poll_transmit(now)
        {
            nic = nic.max(now) + config.line_rate.time_for(Bytes::new(WIRE));
            if LINK.bytes_in(free.since(now)).get() + WIRE <= ROOM {
                free = free.max(now) + LINK.time_for(Bytes::new(WIRE));
                ways[1].push_back((free + DELAY, out.form));
                arrived += u64::from(free < END) * 1_460;
            }
        }
        while let Some(out) = hosts[1].poll_transmit(now) {
            ways[0].push_back((now + DELAY, out.form));
        }
        let timers = hosts.iter().filter_map(|host| host.next_timer(now));
        let arrivals = ways.iter().filter_map(|way| Some(way.front()?.0));
        let waits = hosts[0].has_data(u8::MAX).then_some(nic);
        now = timers.chain(arrivals).chain(waits).min().expect("a stream has no end").max(now);
    }
    drop(hosts);
    let course = std::mem::take(&mut *course.lock().unwrap());
    Outcome { goodput: arrived as f64 * 8.0 / END.as_secs_f64() / 1e6, course }
}

fn ours(name: &'static str) -> Outcome {
    run(move |flow| Box::new(AnyAlgorithm::named(name).expect("it is registered").start(flow)))
}

fn theirs(factory: impl ControllerFactory + Send + Sync + 'static) -> Outcome {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(factory);
    run(move |flow| Box::new(Guest::new(factory.clone(), flow)))
}

fn of_s2n<C: CongestionController + Sync>(
    start: impl Fn(u16) -> C + Send + Sync + 'static,
) -> Outcome {
    run(move |flow| {
        let mss = u16::try_from(flow.mss.get()).expect("an MTU of 1,500 B");
        Box::new(s2n_guest::Guest::new(start(mss)))
    })
}

impl Outcome {
    /// The window at the ACK before `at`, in segments of 1,460 B.
    fn window(&self, at: Time) -> f64 {
        let after = self.course.windows.partition_point(|(when, _)| *when <= at);
        self.course.windows[after.saturating_sub(1)].1.get() as f64 / 1_460.0
    }

    #[expect(clippy::print_stdout, reason = "for the page of the guide")]
    fn tell(&self, name: &str) {
        let course: Vec<_> = [5, 10, 20, 50, 100, 200, 500, 1_000, 1_999]
            .map(|ms| format!("{:.0}", self.window(Time::ZERO + Span::from_ms(ms))))
            .into();
        println!(
            "{name}: {:.1} Mb/s, {} losses, {} of timeouts, windows {}",
            self.goodput,
            self.course.losses.len(),
            self.course.timeouts,
            course.join(" "),
        );
    }
}

#[test]
fn cubic_of_quinn_and_of_incast_fill_the_same_link() {
    let mut config = CubicConfig::default();
    config.initial_window(14_600);
    let (ours, theirs) = (ours("cubic"), theirs(config));
    ours.tell("cubic of incast");
    theirs.tell("cubic of quinn");
    for outcome in [&ours, &theirs] {
        assert!(outcome.goodput > 850.0, "{:.1} Mb/s", outcome.goodput);
        assert!(!outcome.course.losses.is_empty());
    }
    // Slow start is the same, but for the datagram of its window that quinn never sends.
    let at = Time::ZERO + Span::from_us(3_900);
    let ratio = theirs.window(at) / ours.window(at);
    assert!((0.9..1.0).contains(&ratio), "{ratio}");
    // Two reductions by 0.7. Then quinn's window stands still: it grows towards a W_max that fast
    // convergence has lowered, and by a W_est that begins at 0.7 of it, below the window.
    let [reduced, later] = [50, 100].map(|ms| theirs.window(Time::ZERO + Span::from_ms(ms)));
    assert!((later - reduced).abs() < 1.5, "from {reduced} to {later}");
    let [reduced, later] = [50, 100].map(|ms| ours.window(Time::ZERO + Span::from_ms(ms)));
    assert!(later - reduced > 5.0, "from {reduced} to {later}");
}

#[test]
fn newreno_and_bbr_of_quinn_fill_the_link_too() {
    let mut newreno = NewRenoConfig::default();
    newreno.initial_window(14_600);
    let outcome = theirs(newreno);
    outcome.tell("newreno of quinn");
    ours("newreno").tell("newreno of incast");
    assert!(outcome.goodput > 850.0, "{:.1} Mb/s", outcome.goodput);
    let outcome = theirs(BbrConfig::default());
    outcome.tell("bbr of quinn");
    ours("bbr").tell("bbr of incast");
    assert!(outcome.goodput > 500.0, "{:.1} Mb/s", outcome.goodput);
}

#[test]
fn cubic_and_bbr_of_s2n_fill_the_link_too() {
    let of_cubic =
        of_s2n(|mss| CubicCongestionController::new(mss, cubic::ApplicationSettings::default()));
    of_cubic.tell("cubic of s2n-quic");
    let of_bbr =
        of_s2n(|mss| BbrCongestionController::new(mss, bbr::ApplicationSettings::default()));
    of_bbr.tell("bbr of s2n-quic");
    assert!(of_cubic.goodput > 850.0, "{:.1} Mb/s", of_cubic.goodput);
    assert!(!of_cubic.course.losses.is_empty());
    assert!(of_bbr.goodput > 500.0, "{:.1} Mb/s", of_bbr.goodput);
}

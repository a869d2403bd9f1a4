//! Two processes, of which one is killed or stopped.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_udp::security::Security;
use incast_udp::{CallId, Event, Gone, Node, PeerId};

use crate::damage::Random;
use crate::nodes::{body, features, local, options};

/// What a child is to do: `server ADDRESS`, or `client ADDRESS CALLS`.
const TASK: &str = "INCAST_UDP_TEST_CHILD";
/// The silence after which a peer counts as gone.
const PATIENCE: Duration = Duration::from_millis(1_200);
/// The patience of those who wait for one that is stopped: that of a node unless it is set.
const LONG: Duration = Duration::from_secs(15);
/// The time that the machine may be late.
const LATE: Duration = Duration::from_millis(800);

fn open(address: SocketAddr, patience: Duration) -> Node {
    let mut options = options(Security::Plain);
    (options.address, options.patience) = (address, patience);
    Node::open(options, features()).unwrap()
}

/// The reply to a call.
fn reversed(body: &Bytes) -> Bytes {
    body.iter().rev().copied().collect::<Vec<u8>>().into()
}

/// Replies to all calls there are; returns the peers that are gone, with the reasons.
fn serve(node: &mut Node, wait: Duration) -> Vec<(PeerId, Gone)> {
    let mut gone = Vec::new();
    node.turn(Some(Instant::now() + wait), None).unwrap();
    while let Some(event) = node.poll_event() {
        match event {
            Event::Called { call, body, .. } => drop(node.reply(call, reversed(&body)).is_ok()),
            Event::Gone { peer, why } => gone.push((peer, why)),
            _ => {}
        }
    }
    gone
}

/// Calls of one peer, several at a time.
struct Caller {
    peer: PeerId,
    under_way: HashMap<CallId, u64>,
    random: Random,
    made: u64,
    replied: u64,
    failed: u64,
    gone: Option<Gone>,
}

impl Caller {
    fn connect(node: &mut Node, to: SocketAddr) -> Self {
        let peer = node.connect(to, None).unwrap();
        let (under_way, random) = (HashMap::new(), Random(3));
        Self { peer, under_way, random, made: 0, replied: 0, failed: 0, gone: None }
    }

    /// Makes calls up to a number of all, and takes the replies.
    fn go_on(&mut self, node: &mut Node, most: u64) {
        while self.gone.is_none() && self.under_way.len() < 30 && self.made < most {
            let bytes = [100, 3_000, 60_000][self.random.below(3)];
            let Ok(call) = node.call(self.peer, body(self.made, bytes), None) else { break };
            self.under_way.insert(call, self.made);
            self.made += 1;
        }
        node.turn(Some(Instant::now() + Duration::from_millis(2)), None).unwrap();
        while let Some(event) = node.poll_event() {
            match event {
                Event::Replied { call, body: got } => {
                    let number = self.under_way.remove(&call).expect("one reply");
                    assert!(got == reversed(&body(number, got.len())), "{number}");
                    self.replied += 1;
                }
                Event::Failed { call, .. } => {
                    self.under_way.remove(&call).expect("one failure");
                    self.failed += 1;
                }
                Event::Gone { peer, why } => {
                    assert_eq!(peer, self.peer);
                    self.gone = Some(why);
                }
                Event::Opened { .. } => {}
                event => panic!("{event:?}"),
            }
        }
    }
}

/// What children run; nothing otherwise.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<_> = task.split(' ').collect();
    let address = words[1].parse().unwrap();
    if words[0] == "server" {
        let mut node = open(address, LONG);
        loop {
            serve(&mut node, Duration::from_millis(100));
        }
    }
    let calls = words[2].parse().unwrap();
    let mut node = open("127.0.0.1:0".parse().unwrap(), LONG);
    let mut caller = Caller::connect(&mut node, address);
    while caller.replied < calls {
        caller.go_on(&mut node, calls);
        assert_eq!(caller.gone, None);
    }
    node.close(caller.peer);
}

/// Another process, which is killed at the end.
struct Process(Child);

impl Process {
    fn start(task: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "processes::child"]).env(TASK, task).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Sends a signal.
    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_server_that_is_killed_is_missed_in_time_and_the_next_one_is_found() {
    let mut random = Random(5);
    let address = local();
    let mut client = open("127.0.0.1:0".parse().unwrap(), PATIENCE);
    for round in 0..4 {
        let server = Process::start(&format!("server {address}"));
        let mut caller = Caller::connect(&mut client, address);
        let started = Instant::now();
        while caller.replied < 50 {
            caller.go_on(&mut client, u64::MAX);
            assert_eq!(caller.gone, None, "round {round}");
            assert!(started.elapsed() < Duration::from_secs(10));
        }
        let end = Instant::now() + Duration::from_micros(random.below(200_000) as u64);
        while Instant::now() < end {
            caller.go_on(&mut client, u64::MAX);
        }
        drop(server);
        let killed = Instant::now();
        while caller.gone.is_none() {
            caller.go_on(&mut client, u64::MAX);
            assert!(killed.elapsed() < PATIENCE + LATE, "round {round}");
        }
        assert_eq!(caller.gone, Some(Gone::Silent(address)));
        assert_eq!((client.peers().count(), client.transport_connections()), (0, 0));
        assert!(caller.under_way.is_empty() && caller.failed > 0, "{}", caller.failed);
        assert_eq!(caller.made, caller.replied + caller.failed);
    }
}

#[test]
fn a_client_that_is_killed_is_missed_in_time_and_the_next_one_is_served() {
    let mut random = Random(6);
    let mut server = open("127.0.0.1:0".parse().unwrap(), PATIENCE);
    let task = |calls: u64| format!("client {} {calls}", server.address().unwrap());
    let (forever, some) = (task(u64::MAX), task(300));
    for round in 0..4 {
        let mut client = Process::start(&forever);
        let start = Instant::now();
        while server.peers().next().is_none() {
            serve(&mut server, Duration::from_millis(2));
            assert!(start.elapsed() < Duration::from_secs(10), "round {round}");
        }
        let peer = server.peers().next().unwrap();
        let end = Instant::now() + Duration::from_micros(random.below(300_000) as u64);
        while Instant::now() < end {
            serve(&mut server, Duration::from_millis(2));
        }
        client.0.kill().unwrap();
        let killed = Instant::now();
        loop {
            // Nothing that was queued for the peer keeps it alive.
            let gone = serve(&mut server, Duration::from_millis(2));
            assert!(killed.elapsed() < PATIENCE + LATE, "round {round}");
            if let [(of, why)] = gone[..] {
                assert!(of == peer && matches!(why, Gone::Silent(_)), "{why:?}");
                break;
            }
        }
        assert_eq!((server.peers().count(), server.transport_connections()), (0, 0));
    }
    let mut client = Process::start(&some);
    let start = Instant::now();
    let status = loop {
        serve(&mut server, Duration::from_millis(2));
        if let Some(status) = client.0.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(10));
    };
    assert!(status.success());
}

/// Stops a server while it answers, as often as told and so long each time: nothing is lost.
fn stop_the_server(stops: u32, time: Duration, patience: Duration) {
    let address = local();
    let server = Process::start(&format!("server {address}"));
    let mut client = open("127.0.0.1:0".parse().unwrap(), patience);
    let mut caller = Caller::connect(&mut client, address);
    let start = Instant::now();
    let goes_on = |caller: &mut Caller, client: &mut Node, all: u64| {
        caller.go_on(client, all);
        assert!(caller.gone.is_none() && start.elapsed() < Duration::from_secs(60));
    };
    for _ in 0..stops {
        let replied = caller.replied + 100;
        while caller.replied < replied {
            goes_on(&mut caller, &mut client, u64::MAX);
        }
        server.signal("-STOP");
        let end = Instant::now() + time;
        while Instant::now() < end {
            goes_on(&mut caller, &mut client, u64::MAX);
        }
        server.signal("-CONT");
    }
    let all = caller.made + 300;
    while caller.replied < all {
        goes_on(&mut caller, &mut client, all);
    }
    assert_eq!((caller.failed, caller.under_way.len()), (0, 0));
}

/// Stops a client for a time while it makes so many calls: it makes all of them.
fn stop_the_client(calls: u32, time: Duration, patience: Duration) {
    let mut server = open("127.0.0.1:0".parse().unwrap(), patience);
    let mut client = Process::start(&format!("client {} {calls}", server.address().unwrap()));
    let start = Instant::now();
    let serves = |server: &mut Node, time: Duration| {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let gone = serve(server, Duration::from_millis(2));
            assert!(gone.iter().all(|(_, why)| matches!(why, Gone::Closed(_))), "{gone:?}");
        }
    };
    serves(&mut server, Duration::from_millis(300));
    client.signal("-STOP");
    serves(&mut server, time);
    client.signal("-CONT");
    let status = loop {
        serves(&mut server, Duration::from_millis(5));
        if let Some(status) = client.0.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(60));
    };
    assert!(status.success());
}

#[test]
fn a_server_that_is_stopped_for_some_seconds_goes_on_and_nothing_is_lost() {
    stop_the_server(2, Duration::from_millis(1_500), Duration::from_secs(6));
}

#[test]
fn a_client_that_is_stopped_for_some_seconds_goes_on_and_nothing_is_lost() {
    stop_the_client(3_000, Duration::from_secs(2), Duration::from_secs(6));
}

#[test]
fn a_server_that_is_stopped_for_ten_seconds_under_load_goes_on_and_nothing_is_lost() {
    stop_the_server(1, Duration::from_secs(10), LONG);
}

#[test]
fn a_client_that_is_stopped_for_ten_seconds_under_load_goes_on_and_nothing_is_lost() {
    stop_the_client(6_000, Duration::from_secs(10), LONG);
}

//! Hosts whose nodes have threads of their own, blocking and asynchronous.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use incast_cc::{AnyAlgorithm, Rate};
use incast_udp::security::{Secret, Security};
use incast_udp::{Event, Failure, Gone, Host, Node, Priority, Request, Terms};

use crate::nodes::{body, features, local, options};

fn host(security: Security) -> Host {
    Host::with_features(&options(security), 1, features()).unwrap()
}

const SOON: Duration = Duration::from_secs(30);

/// Answers calls by their bodies backwards, and refuses those that begin with "no".
fn serve(host: &Host, requests: usize) -> Vec<bytes::Bytes> {
    let mut notes = Vec::new();
    for _ in 0..requests {
        match host.accept(SOON).unwrap().expect("a request") {
            Request::Note(note) => notes.push(note.body().clone()),
            Request::Call(call) if call.body().starts_with(b"no") => call.refuse("said no"),
            Request::Call(call) if call.body().starts_with(b"drop") => drop(call),
            Request::Call(call) => {
                let reply: Vec<u8> = call.body().iter().rev().copied().collect();
                call.reply(reply);
            }
        }
    }
    notes
}

#[test]
fn many_threads_call_at_once_and_each_gets_its_reply() {
    let secret = Secret::generate().unwrap();
    let server = host(Security::Secret(secret.clone()));
    let client = Arc::new(host(Security::Secret(secret)));
    let peer = client.connect(server.address(), None).wait().unwrap();
    assert_eq!(peer.address(), server.address());
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&server, 4 * 50 + 3));
        let callers: Vec<_> = (0..4_u64)
            .map(|caller| {
                let peer = peer.clone();
                scope.spawn(move || {
                    for number in 0..50 {
                        let sent =
                            body(caller * 1_000 + number, usize::try_from(number * 997).unwrap());
                        let mut reply = peer.call(sent.clone()).wait().unwrap().to_vec();
                        reply.reverse();
                        assert!(reply == sent, "{caller} {number}");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        peer.note("a note").wait().unwrap();
        let refused = peer.call("no").wait().unwrap_err();
        assert_eq!(refused, Failure::RefusedByPeer("said no".to_owned()));
        let dropped = peer.call("drop").wait().unwrap_err();
        assert_eq!(dropped, Failure::RefusedByPeer("the call was dropped".to_owned()));
        assert_eq!(serving.join().unwrap(), ["a note"]);
    });
    let statistics = peer.statistics().unwrap();
    assert!(statistics.is_open && statistics.messages == 4 * 50 + 2, "{statistics:?}");
    let (peers, counters) = server.statistics();
    assert!(peers.len() == 1 && counters.datagrams > 200, "{peers:?} {counters:?}");
    drop(server);
    let gone = peer.call("anybody?").wait().unwrap_err();
    let expected =
        [Failure::Gone(Gone::Closed(peer.address())), Failure::Refused(incast_udp::Refused::Gone)];
    assert!(expected.contains(&gone), "{gone:?}");
}

#[test]
fn a_call_that_nobody_waits_for_is_cancelled_and_a_bounded_one_ends_in_time() {
    let mut server = Node::open(options(Security::Plain), features()).unwrap();
    let address = server.address().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let until = Instant::now() + Duration::from_millis(20);
                server.turn(Some(until), None).unwrap();
                while let Some(event) = server.poll_event() {
                    drop(tell.send(event));
                }
            }
        });
        let client = host(Security::Plain);
        let peer = client.connect(address, None).wait().unwrap();
        let first = peer.call("first");
        while !matches!(told.recv_timeout(SOON).unwrap(), Event::Called { .. }) {}
        drop(first);
        let patience = Duration::from_millis(50);
        let late = peer.call_with("second", Some(patience)).wait().unwrap_err();
        assert_eq!(late, Failure::TimedOut(patience));
        let mut cancelled = 0;
        while cancelled < 2 {
            let event = told.recv_timeout(SOON).unwrap();
            cancelled += usize::from(matches!(event, Event::Cancelled { .. }));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn notes_that_wait_too_long_or_are_cancelled_do_not_leave() {
    let server = host(Security::Plain);
    let mut slow = options(Security::Plain);
    slow.algorithm = AnyAlgorithm::named("line-rate").unwrap();
    slow.line_rate = Rate::from_mbps(100);
    let client = Host::with_features(&slow, 1, features()).unwrap();
    let peer = client.connect(server.address(), None).wait().unwrap();
    // It takes 80 ms.
    let long = peer.note(vec![1; 1_000_000]);
    let patience = Duration::from_millis(10);
    let late = Terms { patience: Some(patience), priority: Priority::Low };
    let late = peer.note_with("late", late);
    let (cancelled, dropped) = ("cancelled", "dropped");
    peer.note_with(cancelled, Priority::Low).cancel();
    drop(peer.note_with(dropped, Priority::Low));
    assert_eq!(late.wait(), Err(Failure::Unsent(patience)));
    assert!(Failure::Unsent(patience).to_string().contains("within 10ms"));
    long.wait().unwrap();
    let mut noted = Vec::new();
    for _ in 0..2 {
        let request = server.accept(SOON).unwrap().expect("a note");
        assert_eq!(request.patience(), None);
        noted.push(request.body().len());
    }
    assert_eq!(noted, [1_000_000, dropped.len()]);
    peer.note_with("in time", Some(SOON)).wait().unwrap();
    let request = server.accept(SOON).unwrap().expect("a note");
    assert_eq!(request.patience(), Some(SOON));
}

#[test]
fn connecting_to_nobody_fails_with_the_address() {
    let client = host(Security::Plain);
    let nobody = local();
    let error = client.connect(nobody, None).wait().unwrap_err();
    assert_eq!(error, Failure::Gone(Gone::NoAnswer(nobody)));
    assert!(error.to_string().contains(&nobody.to_string()));
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn calls_and_requests_are_futures_of_any_runtime() {
    let (server, client) = (host(Security::Plain), host(Security::Plain));
    thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async {
                for _ in 0..2 {
                    let Request::Call(call) = server.accepted().await.unwrap() else { panic!() };
                    let body = call.body().clone();
                    call.reply(body);
                }
            });
        });
        block_on(async {
            let peer = client.connect(server.address(), None).await.unwrap();
            let (one, other) = (peer.call("one"), peer.call("other"));
            assert_eq!(other.await.unwrap(), "other");
            assert_eq!(one.await.unwrap(), "one");
        });
    });
}

#[test]
fn several_threads_share_an_address() {
    let mut shared = options(Security::Plain);
    shared.address = local();
    let server = Host::with_features(&shared, 2, features()).unwrap();
    let clients: Vec<Host> = (0..16).map(|_| host(Security::Plain)).collect();
    let mut callers = HashSet::new();
    for client in &clients {
        let peer = client.connect(server.address(), None).wait().unwrap();
        let reply = peer.call("abc");
        let Some(Request::Call(call)) = server.accept(SOON).unwrap() else { panic!("a call") };
        callers.insert(call.peer().id());
        call.reply("cba");
        assert_eq!(reply.wait().unwrap(), "cba");
    }
    // Each thread names its peers by itself, and has some: a hash of the kernel chooses, which gives
    // all of them to one thread once in 32,768 times.
    assert!(callers.len() < clients.len(), "{callers:?}");
    assert_eq!(server.statistics().0.len(), clients.len());
}

#[test]
fn messages_without_bytes_that_nobody_takes_have_bounded_memory() {
    let mut narrow = options(Security::Plain);
    narrow.memory.incoming = 200_000;
    let server = Host::with_features(&narrow, 1, features()).unwrap();
    let client = host(Security::Plain);
    let peer = client.connect(server.address(), None).wait().unwrap();
    let notes: Vec<_> = (0..5_000).map(|_| peer.note("")).collect();
    let deadline = Instant::now() + SOON;
    while server.statistics().1.no_memory == 0 {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
        thread::sleep(Duration::from_millis(1));
    }
    let [state] = server.statistics().0[..] else { panic!("one peer") };
    assert!(state.messages < 2_500, "{state:?}");
    assert_eq!(serve(&server, notes.len()).len(), 5_000);
    for note in notes {
        note.wait().unwrap();
    }
}

#[test]
fn hosts_that_were_refused_are_told_once_and_bounded() {
    let secret = || Security::Secret(Secret::generate().unwrap());
    let server = host(secret());
    assert_eq!(server.rejected(), []);
    let stranger = host(secret());
    let connect = || stranger.connect(server.address(), None).wait().unwrap_err();
    assert!(matches!(connect(), Failure::Security(_)), "{:?}", connect());
    let told = server.rejected();
    let (address, why) = told[0];
    assert_eq!(address, stranger.address());
    assert!(why.to_string().contains("secret"), "{why}");
    assert_eq!(server.rejected(), []);
    for _ in 0..70 {
        connect();
    }
    assert_eq!(server.rejected().len(), 64);
}

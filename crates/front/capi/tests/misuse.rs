//! Arguments that cannot be, and errors of the way, as C sees them.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "the functions are those of C")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::{CStr, c_char};
use std::ptr::{dangling_mut, null, null_mut};

use incast::*;

/// The error of a function that brings one.
fn error_of(call: impl FnOnce(*mut Error) -> i32) -> (i32, String) {
    let mut error = Error { code: -1, message: [1; INCAST_MESSAGE_BYTES] };
    let code = call(&raw mut error);
    assert_eq!(code, error.code);
    let text = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    (code, text.to_str().unwrap().to_owned())
}

fn options(address: &CStr) -> Options {
    Options {
        size: size_of::<Options>(),
        address: address.as_ptr(),
        secret: null(),
        identity: null(),
        peers: null(),
        plaintext: true,
        only_connects: false,
        algorithm: null(),
        settings: null(),
        line_rate: null(),
        nic_rate: null(),
        max_message: 0,
    }
}

fn open(options: &Options) -> Result<*mut Host, (i32, String)> {
    let mut host = dangling_mut();
    let (code, message) = error_of(|error| unsafe { incast_open(options, &raw mut host, error) });
    assert_eq!(host.is_null(), code != INCAST_OK, "{message}");
    if code == INCAST_OK { Ok(host) } else { Err((code, message)) }
}

fn address(host: *const Host) -> Vec<c_char> {
    let mut room = vec![1; 64];
    assert_eq!(unsafe { incast_address(host, room.as_mut_ptr(), 64, null_mut()) }, INCAST_OK);
    room
}

#[test]
fn hosts_that_cannot_be_opened_say_why() {
    let here = c"127.0.0.1:0";
    let with = |change: fn(&mut Options)| {
        let mut options = options(here);
        change(&mut options);
        open(&options).unwrap_err()
    };
    let cases: [(i32, &str, (i32, String)); 11] = [
        (INCAST_BAD_ARGUMENT, "options.size is 3 B", with(|options| options.size = 3)),
        (INCAST_BAD_ARGUMENT, "options.address is NULL", with(|options| options.address = null())),
        (INCAST_BAD_ARGUMENT, "has no port", with(|options| options.address = c"here".as_ptr())),
        (INCAST_CANNOT_OPEN, "no key is given", with(|options| options.plaintext = false)),
        (INCAST_CANNOT_OPEN, "exclude", with(|options| options.secret = c"x".as_ptr())),
        (INCAST_BAD_ARGUMENT, "timley", with(|options| options.algorithm = c"timley".as_ptr())),
        (INCAST_BAD_ARGUMENT, "t_low=x", with(|options| options.settings = c"t_low=x".as_ptr())),
        (INCAST_BAD_ARGUMENT, "line rate", with(|options| options.line_rate = c"fast".as_ptr())),
        (INCAST_CANNOT_OPEN, "rate is zero", with(|options| options.line_rate = c"0Gbps".as_ptr())),
        (INCAST_BAD_ARGUMENT, "NIC rate", with(|options| options.nic_rate = c"fast".as_ptr())),
        (INCAST_CANNOT_OPEN, "192.0.2.1", with(|o| o.address = c"192.0.2.1:7000".as_ptr())),
    ];
    for (code, words, (got, message)) in cases {
        assert_eq!(got, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(unsafe { incast_open(null(), null_mut(), null_mut()) }, INCAST_BAD_ARGUMENT);
    let (_, message) = error_of(|error| unsafe { incast_open(null(), null_mut(), error) });
    assert_eq!(message, "host is NULL: there is no place for the result");
}

#[test]
fn null_is_refused_everywhere_and_may_be_freed() {
    unsafe {
        let (mut peer, mut request) = (null_mut(), null_mut());
        let mut reply = Bytes { data: dangling_mut(), bytes: 8 };
        let (to, sent, reason) = (c"127.0.0.1:1", [1_u8; 4], c"no");
        let faults = [
            error_of(|e| incast_address(null(), null_mut(), 0, e)),
            error_of(|e| incast_connect(null(), to.as_ptr(), null(), 1.0, &raw mut peer, e)),
            error_of(|e| incast_connect(null(), to.as_ptr(), null(), 1.0, null_mut(), e)),
            error_of(|e| incast_call(null(), sent.as_ptr(), 4, 1.0, &raw mut reply, e)),
            error_of(|e| incast_call(null(), sent.as_ptr(), 4, 1.0, null_mut(), e)),
            error_of(|e| incast_note(null(), sent.as_ptr(), 4, 1.0, e)),
            error_of(|e| incast_accept(null(), 1.0, &raw mut request, e)),
            error_of(|e| incast_accept(null(), 1.0, null_mut(), e)),
            error_of(|e| incast_reply(null_mut(), sent.as_ptr(), 4, e)),
            error_of(|e| incast_refuse(null_mut(), reason.as_ptr(), e)),
        ];
        for (code, message) in faults {
            assert_eq!(code, INCAST_BAD_ARGUMENT);
            assert!(message.contains(" is NULL"), "{message}");
        }
        assert!(reply.data.is_null() && reply.bytes == 0, "nothing is brought after an error");
        let mut bytes = 7;
        assert!(incast_request_body(null(), &raw mut bytes).is_null() && bytes == 0);
        assert!(!incast_wants_reply(null()) && incast_request_timeout(null()).is_infinite());
        incast_close(null_mut());
        incast_peer_free(null_mut());
        incast_request_free(null_mut());
        incast_bytes_free(null_mut());
        incast_bytes_free(&raw mut reply);
    }
}

#[test]
fn calls_end_with_a_code_and_handles_are_freed_in_any_order() {
    unsafe {
        let mut small = options(c"127.0.0.1:0");
        small.max_message = 1_000;
        (small.algorithm, small.settings) = (c"timely".as_ptr(), c"beta=0.5 t_low=20us".as_ptr());
        let server = open(&small).unwrap();
        let client = open(&options(c"127.0.0.1:0")).unwrap();
        let to = address(server);
        let (mut room, mut peer, mut reply) =
            ([1; 9], null_mut(), Bytes { data: null_mut(), bytes: 0 });
        let (code, message) = error_of(|e| incast_address(server, room.as_mut_ptr(), 9, e));
        assert_eq!((code, room), (INCAST_BAD_ARGUMENT, [1; 9]), "{message}");
        let connect = |peer: *mut *mut Peer, time| {
            error_of(|e| incast_connect(client, to.as_ptr(), null(), time, peer, e))
        };
        assert_eq!(connect(&raw mut peer, -1.0).0, INCAST_BAD_ARGUMENT);
        assert_eq!(connect(&raw mut peer, 10.0), (INCAST_OK, String::new()));

        let body = [7_u8; 1_001];
        let mut call = |bytes: usize, time: f64| {
            error_of(|e| incast_call(peer, body.as_ptr(), bytes, time, &raw mut reply, e))
        };
        let (code, message) = call(1_001, 5.0);
        assert_eq!(code, INCAST_TOO_LONG, "{message}");
        let (code, message) = call(10, 0.05);
        assert_eq!(code, INCAST_TIMED_OUT, "{message}");
        assert!(message.contains("no reply came within 50ms"), "{message}");

        // The call of before, which is dropped, and a note.
        let mut request = null_mut();
        assert_eq!(incast_accept(server, 5.0, &raw mut request, null_mut()), INCAST_OK);
        assert!(incast_wants_reply(request));
        incast_request_free(request);
        assert_eq!(incast_note(peer, body.as_ptr(), 3, 5.0, null_mut()), INCAST_OK);
        assert_eq!(incast_accept(server, 5.0, &raw mut request, null_mut()), INCAST_OK);
        let mut bytes = 0;
        let got = incast_request_body(request, &raw mut bytes);
        assert_eq!(std::slice::from_raw_parts(got, bytes), [7; 3]);
        assert!((incast_request_timeout(request) - 5.0).abs() < 1e-6);
        let (code, message) = error_of(|e| incast_reply(request, null(), 0, e));
        assert_eq!(code, INCAST_BAD_ARGUMENT, "{message}");
        incast_request_free(request);
        let (code, _) = error_of(|e| incast_accept(server, 0.01, &raw mut request, e));
        assert!(code == INCAST_TIMED_OUT && request.is_null());

        // An empty reply, while this thread waits for it.
        let serving = server as usize;
        let answers = std::thread::spawn(move || {
            let (server, mut request) = (serving as *const Host, null_mut());
            assert_eq!(incast_accept(server, 5.0, &raw mut request, null_mut()), INCAST_OK);
            assert_eq!(incast_reply(request, null(), 0, null_mut()), INCAST_OK);
        });
        assert_eq!(call(10, f64::INFINITY), (INCAST_OK, String::new()));
        assert!(reply.data.is_null());
        answers.join().unwrap();

        // The host of a peer goes first.
        incast_close(client);
        let (code, message) =
            error_of(|e| incast_call(peer, body.as_ptr(), 3, 5.0, &raw mut reply, e));
        assert_eq!(code, INCAST_STOPPED, "{message}");
        incast_peer_free(peer);
        incast_close(server);
    }
}

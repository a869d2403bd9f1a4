//! A message that is longer than usual bounds of memory: of 150 MB, or where `INCAST_HUGE` is set of a
//! gigabyte, which takes some seconds and 2 GB of memory.
//!
//! `INCAST_HUGE=1 cargo test --release -p incast-udp --test it huge`

use std::time::Instant;

use incast_udp::security::{Secret, Security};
use incast_udp::{Event, Node, Refused};

use crate::nodes::{body, features, options, turn_both};

/// The bytes of the message.
fn length() -> usize {
    if std::env::var_os("INCAST_HUGE").is_some() { 1 << 30 } else { 150_000_000 }
}

#[test]
fn a_huge_message_arrives_whole_and_one_beyond_the_bound_is_refused() {
    let huge = length();
    let secret = Security::Secret(Secret::generate().unwrap());
    let mut of_server = options(secret.clone());
    (of_server.memory.message, of_server.memory.incoming) = (huge, 2 * huge);
    of_server.memory.incoming_in_all = 4 * huge;
    let mut server = Node::open(of_server, features()).unwrap();
    let mut client = Node::open(options(secret), features()).unwrap();
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    turn_both(&mut client, &mut server, |at_client, _, event| {
        at_client && matches!(event, Event::Opened { .. })
    });
    let message = body(7, huge);
    let most = huge;
    let longer = client.note(peer, vec![0; huge + 1].into());
    assert_eq!(longer, Err(Refused::TooLong { bytes: huge + 1, most }));
    let (start, mut came) = (Instant::now(), false);
    client.note(peer, message.clone()).unwrap();
    let (mut delivered, expected) = (false, message);
    turn_both(&mut client, &mut server, |_, _, event| {
        match event {
            Event::Noted { body, .. } => {
                assert!(body == expected, "equal to the last byte");
                came = true;
            }
            Event::Delivered { .. } => delivered = true,
            Event::Opened { .. } => {}
            event => panic!("{event:?}"),
        }
        came && delivered
    });
    eprintln!("{huge} B in {:.2} s", start.elapsed().as_secs_f64());
}

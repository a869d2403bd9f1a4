//! A NIC that is one queue for all connections of a host.
//!
//! Every time here follows by hand from 1.2 us for a packet of 1,460 B and 40 B of headers at 10
//! Gb/s.

use incast_cc::{Span, Time};
use incast_transport::DueBy;
use incast_transport::stream::Segment;
use incast_transport::{
    Body, Config, Endpoint, Nic, Operation, Packet, Report, Role, Terms, Transport, stream,
};

use crate::common::plain::window;

fn ns(n: u64) -> Time {
    Time::ZERO + Span::from_ns(n)
}

/// The departures from a host whose NIC is busy from time zero: the connection, and whether it is
/// data. Two streams send. One posts three segments at the beginning and two more 5 us later. The
/// other posts three after 100 ns, and still waits with all of them then. A third stream receives a
/// segment after 50 ns, and acknowledges it 1 us later.
fn order(nic: Nic) -> Vec<(u32, bool)> {
    let mut config = Config { nic, ..Config::default() };
    config.stream.delayed_ack = 1;
    let plain = window(1_000_000);
    let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
    let terms = Terms { transport: Transport::Stream, ..Terms::default() };
    for (index, role) in (0..).zip([Role::Sender, Role::Sender, Role::Receiver]) {
        endpoint.open_on(terms, role, index);
    }
    let segment = Segment {
        sequence: 0,
        read: 0,
        due: DueBy::NONE,
        remaining: 1_460,
        payload: 1_460,
        ends_message: true,
        ect: false,
        cwr: false,
        opens: false,
        epoch: 0,
    };
    let arriving =
        Packet { connection: 2, sent_ns: 0, body: Body::Stream(stream::Body::Segment(segment)) };
    let post = |endpoint: &mut Endpoint<_>, at, index, segments: u64| {
        endpoint.post(at, index, Operation::Write { bytes: segments * 1_460 });
        endpoint.on_timer(at);
    };
    post(&mut endpoint, ns(0), 0, 3);
    endpoint.handle_packet(ns(50), &arriving, Report::default());
    post(&mut endpoint, ns(100), 1, 3);
    let mut order = Vec::new();
    for packet in 0..9 {
        let now = ns(1_200 * packet);
        if packet == 5 {
            post(&mut endpoint, now, 0, 2);
        }
        let out = endpoint.poll_transmit(now).unwrap_or_else(|| panic!("nothing after {order:?}"));
        order.push((
            out.connection,
            matches!(out.form.packet(0).body, Body::Stream(stream::Body::Segment(_))),
        ));
    }
    assert!(endpoint.poll_transmit(ns(20_000)).is_none());
    order
}

#[test]
fn one_queue_keeps_the_order_in_which_segments_and_acks_came() {
    let data = |connections: &[u32]| connections.iter().map(|&of| (of, true)).collect::<Vec<_>>();
    let ack = vec![(2, false)];
    // The streams in turn, and the ACK as soon as it is ready, when the first packet has left.
    let turns = [data(&[0]), ack.clone(), data(&[1, 0, 1, 0, 1, 0, 0])].concat();
    assert_eq!(order(Nic::Packets), turns);
    // The ACK is ready at 1.05 us, after all six. The last two are later.
    assert_eq!(order(Nic::Fifo), [data(&[0, 0, 0, 1, 1, 1]), ack, data(&[0, 0])].concat());
}

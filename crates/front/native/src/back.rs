//! The types of the contract, made of the facts that came as structs of C.

use incast_cc::{Bytes, LossCause, Rate, Span, Time, contract};

use crate::facts::{Ack, Delivery, Demand, Flow, Hop, Loss, Rtt, Sent, Spurious};

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "facts are not below zero, and infinity is the greatest number"
)]
fn ps(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

pub(crate) fn time(seconds: f64) -> Time {
    Time::from_ps(ps(seconds))
}

pub(crate) fn span(seconds: f64) -> Span {
    if seconds.is_infinite() { Span::MAX } else { Span::from_ps(ps(seconds)) }
}

fn there(number: f64) -> Option<f64> {
    Some(number).filter(|number| !number.is_nan())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is a whole number that is not below zero"
)]
fn rate(bps: f64) -> Rate {
    Rate::from_bps(bps as u64)
}

fn size_there(size: i64) -> Option<Bytes> {
    u64::try_from(size).ok().map(Bytes::new)
}

/// A size; -1, which is no bound, is the greatest.
pub(crate) fn size(size: i64) -> Bytes {
    size_there(size).unwrap_or(Bytes::MAX)
}

fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(crate) fn flow(flow: &Flow) -> contract::Flow {
    let mut made = contract::Flow::new(size(flow.segment), rate(flow.line_rate));
    made.now = time(flow.now);
    made.mss = size(flow.mss);
    made.base_rtt = there(flow.base_rtt).map(span);
    made.active_flows = count(flow.active_flows);
    made.initial_window = size(flow.initial_window);
    made.slow_start_limit = count(flow.slow_start_limit);
    made.max_window = size(flow.max_window);
    made.seed = flow.seed;
    made
}

fn rtt(rtt: &Rtt) -> Option<contract::RttSample> {
    let total = span(there(rtt.total)?);
    let (serialization, peer) = (span(rtt.serialization), span(rtt.peer));
    Some(contract::RttSample { total, serialization, peer })
}

fn delivery(one: &Delivery) -> Option<contract::Delivery> {
    Some(contract::Delivery {
        rate: rate(there(one.rate)?),
        in_flight_at_send: size(one.in_flight_at_send),
        lost: size(one.lost),
        app_limited: one.app_limited != 0,
    })
}

pub(crate) fn hop(hop: &Hop) -> contract::Hop {
    let mut made = contract::Hop::default();
    made.port = count(hop.port);
    made.at = time(hop.at);
    made.rate = rate(hop.rate);
    made.queue = size(hop.queue);
    made.sent = size(hop.sent);
    made
}

pub(crate) fn ack<'a>(ack: &Ack, hops: &'a [contract::Hop]) -> contract::Ack<'a> {
    let mut made = contract::Ack::new(time(ack.now), time(ack.sent_at), size(ack.bytes));
    made.ce_bytes = size(ack.ce_bytes);
    made.first = size(ack.first);
    made.end = size(ack.end);
    made.next = size(ack.next);
    made.rtt = rtt(&ack.rtt);
    made.srtt = span(ack.srtt);
    made.min_rtt = span(ack.min_rtt);
    made.one_way = there(ack.one_way).map(span);
    made.in_flight = size(ack.in_flight);
    made.cwnd_limited = ack.cwnd_limited != 0;
    made.in_recovery = ack.in_recovery != 0;
    made.round = size(ack.round).get();
    made.delivered = size(ack.delivered);
    made.remaining = size_there(ack.remaining);
    made.due = there(ack.due)
        .map(time)
        .zip(size_there(ack.due_bytes))
        .map(|(at, bytes)| contract::Due { at, bytes });
    made.delivery = delivery(&ack.delivery);
    made.nic_backlog = size(ack.nic_backlog);
    made.hop_count = u8::try_from(ack.hop_count).unwrap_or(u8::MAX);
    made.hops = hops;
    made
}

pub(crate) fn loss(loss: &Loss) -> contract::Loss {
    let cause = match loss.cause {
        0 => LossCause::Detected,
        1 => LossCause::Timeout,
        _ => LossCause::Persistent,
    };
    let mut made = contract::Loss::new(time(loss.now), time(loss.sent_at), size(loss.bytes), cause);
    made.first = size(loss.first);
    made.end = size(loss.end);
    made.next = size(loss.next);
    made.in_flight = size(loss.in_flight);
    made.in_recovery = loss.in_recovery != 0;
    made
}

pub(crate) fn spurious(spurious: &Spurious) -> contract::Spurious {
    let mut made = contract::Spurious::new(time(spurious.now), size(spurious.bytes));
    made.first = size(spurious.first);
    made.end = size(spurious.end);
    made.returned = size(spurious.returned);
    made
}

pub(crate) fn sent(sent: &Sent) -> contract::Sent {
    let mut made = contract::Sent::new(time(sent.now), size(sent.bytes), size(sent.in_flight));
    made.end = size(sent.end);
    made.retransmission = sent.retransmission != 0;
    made.app_limited = sent.app_limited != 0;
    made
}

pub(crate) fn demand(demand: &Demand) -> contract::Demand {
    let mut made = contract::Demand::new(time(demand.now), size_there(demand.size));
    made.deadline = there(demand.deadline).map(time);
    made.weight = count(demand.weight);
    made
}

//! Warnings of delays that are no congestion: of segments, of ACKs, of packets under one ACK.

use incast_cc::{Caution, Fraction, Rate};

use super::super::survey::Surveyed;
use super::super::{rounded_down, rounded_span, two_digits};
use super::flows;

/// The warning of a delay that passes for congestion.
pub(super) fn sentence(name: &str, caution: &Caution, path: &Surveyed) -> String {
    let Surveyed { ends: [from, to], facts, bottleneck: [at, towards], .. } = path;
    let place = |param| format!("cc.{name}.{param}");
    let flows = flows(path);
    match *caution {
        Caution::SegmentAhead { param, value, rtt, gain, cut, scale: (gains, most) } => format!(
            "{name}: a segment of another flow in front lifts the RTT from {from} to {to} to {}, above {} = {value}; at \
             half of its share {flows} loses {} by it, but gains {} by one with none in front, so rates settle \
             lower; set {} to {:.4} or less{}",
            rounded_span(rtt),
            place(param),
            rounded_rate(cut),
            rounded_rate(gain),
            place(gains),
            most.as_f64(),
            if facts.segment > facts.mss { ", or transport.segment lower" } else { "" },
        ),
        Caution::WholeSegments { param, value, least } => format!(
            "{name}: a packet that is lost and sent again alone has a shorter RTT from {from} to {to} than a segment of {}, \
             so the rest of each segment counts as a backlog of {least} packets, of which {} = {value} holds {flows} below \
             half of its share; set it to {least} or more, or transport.segment to {} or less",
            facts.segment,
            place(param),
            rounded_down(facts.mss * 2 * u64::from(value.bits() >> Fraction::BITS).max(1)),
        ),
        Caution::SlowGrowth { param, value, delay, least } => format!(
            "{name}: the last packet that an ACK from {to} to {from} covers waits {} for the others, and the window grows \
             by what that leaves of {} = {value}, so half of the path takes longer than the algorithm's page states; set it \
             to {} or more",
            rounded_span(delay),
            place(param),
            rounded_span(least),
        ),
        Caution::WholeRate { param, rise, others } => format!(
            "{name}: an RTT sample that rises by {} takes the whole rate, since {} is 1, and segments of {} in a row \
             take {} at {at} to {towards}, so rates fall to the minimum, from which they recover slowly; set it to 0.5 \
             or less",
            rounded_span(rise),
            place(param),
            match facts.flows - 1 {
                1 => "another flow".to_owned(),
                others => format!("the other {others} flows"),
            },
            rounded_span(others),
        ),
        Caution::LateAcks { params: [low, high], values: [grows, falls], least } => format!(
            "{name}: ACKs from {to} to {from} are late at random by up to {} and do not overtake each other, so few of a \
             round are on time, and at half of its share {flows} takes the lateness for more backlog than {} = {grows} and \
             {high} = {falls} packets; set both to {least} or more, or transport.ack_jitter lower",
            facts.jitter,
            place(low),
        ),
        _ => unreachable!("the others are about bounds, queues and losses"),
    }
}

fn rounded_rate(rate: Rate) -> Rate {
    Rate::from_bps(two_digits(rate.as_bps(), false))
}

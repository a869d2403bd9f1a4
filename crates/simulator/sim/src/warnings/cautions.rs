//! Warnings of things that an algorithm cannot do on a path.

mod delays;

use std::collections::BTreeMap;

use incast_cc::{Bytes, Caution, Rate};

use super::survey::Surveyed;
use super::{rounded_down, rounded_span, rounded_up, two_digits};
use incast_scenario::{Scenario, Scheme};

/// A warning for each thing that the algorithm cannot do, about the path where it is worst.
pub(super) fn sentences(
    scenario: &Scenario,
    (name, scheme): (&str, &Scheme),
    paths: &[Surveyed],
) -> Vec<String> {
    let mut worst: BTreeMap<(u8, &str), (u64, String)> = BTreeMap::new();
    for path in paths {
        scheme.algorithm.cautions(&path.facts, &mut |caution| {
            let (kind, severity) = rank(&caution, path);
            let known = worst.get(&kind).map(|&(severity, _)| severity);
            if known.is_none_or(|known| severity > known) {
                worst.insert(kind, (severity, sentence(scenario, name, &caution, path)));
            }
        });
    }
    worst.into_values().map(|(_, sentence)| sentence).collect()
}

/// The subject of a caution, by which cautions compare, and how much is lacking.
fn rank(caution: &Caution, path: &Surveyed) -> ((u8, &'static str), u64) {
    match *caution {
        Caution::BelowRtt { param, rtt, .. } => ((0, param), rtt.as_ps()),
        Caution::WindowBound { param, least, .. } => ((1, param), least),
        Caution::RateFloor { param, .. } => ((2, param), path.facts.flows),
        Caution::Coarse { .. } => ((3, ""), u64::MAX - path.facts.product.get()),
        Caution::Crowded { .. } => ((4, ""), path.facts.flows),
        Caution::Backlog { param, each } => ((5, param), (each * path.facts.flows).get()),
        Caution::OwnBurst { param, burst, .. } => ((8, param), burst.as_ps()),
        Caution::Overshoot => ((14, ""), path.facts.line_rate.as_bps()),
        Caution::Noise { param, noise, .. } => ((9, param), u64::from(noise.bits())),
        Caution::Latecomers { param, .. } => ((6, param), path.facts.flows),
        Caution::ShortQueue { least, .. } => ((7, ""), least.get()),
        Caution::SegmentTime { param, time, .. } => ((11, param), time.as_ps()),
        Caution::FirstWindows { each } => ((12, ""), (each * path.facts.flows).get()),
        Caution::Gain { param, value, .. } => ((13, param), u64::from(value.bits())),
        Caution::LockOut => ((10, ""), path.facts.flows),
        Caution::LossesFirst { param, .. } => ((15, param), path.facts.flows),
        Caution::SegmentAhead { param, rtt, .. } => ((16, param), rtt.as_ps()),
        Caution::WholeSegments { param, least, .. } => ((18, param), least),
        Caution::SlowGrowth { param, delay, .. } => ((19, param), delay.as_ps()),
        Caution::WholeRate { param, others, .. } => ((20, param), others.as_ps()),
        Caution::SlowEquals { param, least, .. } => ((21, param), least.as_bps()),
        Caution::LateAcks { params, least, .. } => ((17, params[0]), least),
        Caution::SlowerLinks { param, queue, .. } => ((22, param), queue.get()),
    }
}

fn sentence(scenario: &Scenario, name: &str, caution: &Caution, path: &Surveyed) -> String {
    let Surveyed { ends: [from, to], facts, bottleneck, rate, .. } = path;
    let [at, towards] = bottleneck;
    let place = |param| format!("cc.{name}.{param}");
    let flows = flows(path);
    match *caution {
        Caution::BelowRtt { param, value, rtt, least, effect } => {
            let remedy = match least {
                Some(least) => format!("set it to {} or more", rounded_span(least)),
                None => "the path is too long for any value, take another algorithm".into(),
            };
            format!(
                "{name}: {effect}, since {} = {value} is below the {} that a round trip from {from} to {to} \
                 takes without queues; {remedy}",
                place(param),
                rounded_span(rtt),
            )
        }
        Caution::SlowerLinks { param, value, queue, preset } => format!(
            "{name}: rates rise until {} waits at {at} to {towards}, since {} = {value} was chosen for slower links; \
             {}set it lower",
            rounded_down(queue),
            place(param),
            preset.map_or_else(String::new, |preset| format!("take {preset}, or ")),
        ),
        Caution::WindowBound { param, value, least } => format!(
            "{name}: {} = {value} packets holds {flows} from {from} to {to} below half of its share of {rate}; \
             set it to {least} or more",
            place(param),
        ),
        Caution::RateFloor { param, value } => format!(
            "{name}: {} keeps {flows} at {value} or more, above its share of {rate} at {at} to {towards}; set \
             it lower, to {} on a NIC of {}, or have {} flows at most",
            place(param),
            facts.share,
            facts.line_rate,
            rate.as_bps() / value.as_bps().max(1),
        ),
        Caution::SlowEquals { param, value, least } => format!(
            "{name}: a few packets that wait at {at} to {towards} count as load there, differently for each of {} flows, \
             and {} = {value} is too little to make up for it in an RTT of {}, so some may keep several times the rate \
             of others; set it to {} or more",
            facts.flows,
            place(param),
            rounded_span(facts.network_rtt),
            Rate::from_bps(two_digits(least.as_bps(), true)),
        ),
        Caution::SegmentTime { param, value, time } => format!(
            "{name}: {} of one flow takes {} at {at} to {towards}, no less than {} = {value}, so segments alone pass for \
             congestion; set it to {} or more{}",
            facts.segment,
            rounded_span(time),
            place(param),
            rounded_span(time * 2),
            if facts.segment > facts.mss {
                let fits = rounded_down((rate.bytes_in(value) / 2).max(facts.mss));
                format!(", or transport.segment to {fits} or less")
            } else {
                String::new()
            },
        ),
        Caution::OwnBurst { param, borne, burst, least } => format!(
            "{name}: the window halves when the RTT rises by {} or more, and a burst of three quarters of its share from \
             {from} to {to} takes {} in its own NIC; set {} to {} or more",
            rounded_span(borne),
            rounded_span(burst),
            place(param),
            rounded_span(least),
        ),
        Caution::Gain { param, value, most } => format!(
            "{name}: {} = {:.1e} answers a queue of a round trip ago so strongly that the rate swings from {from} to \
             {to}; set it to {:.1e} or less",
            place(param),
            value.as_f64(),
            most.as_f64(),
        ),
        Caution::Overshoot => format!(
            "{name}: the window doubles with each ACK up to what the NIC of {from} sends in an RTT, queues included, \
             at {}, but {at} to {towards} carries {rate}, so it overshoots and then rests at its floor; have NICs of \
             {rate} or less",
            facts.line_rate,
        ),
        Caution::Noise { param, value, noise } => format!(
            "{name}: ACKs from {to} to {from} are late at random by up to {:.1} % of an interval, more than the \
             {} = {value} that counts as no change of the RTT; set it to {:.2} or more, or transport.ack_jitter lower",
            noise.as_f64() * 100.0,
            place(param),
            noise.as_f64() * 2.0,
        ),
        _ => of_queues(scenario, name, caution, path),
    }
}

/// A warning about the backlog at the bottleneck.
fn of_queues(scenario: &Scenario, name: &str, caution: &Caution, path: &Surveyed) -> String {
    let Surveyed { facts, bottleneck: [at, towards], rate, .. } = path;
    let place = |param| format!("cc.{name}.{param}");
    let flows = flows(path);
    match *caution {
        Caution::Coarse { what, least, effect } => {
            let remedy = match (facts.product * facts.flows).get() / least.get().max(1) {
                _ if least == facts.segment && facts.product >= facts.mss => {
                    format!("set transport.segment to {} or less", rounded_down(facts.product))
                }
                0 => "have one flow, or take another algorithm".into(),
                most => format!("have {most} flows at most"),
            };
            format!(
                "{name}: {what} {least} at least, but {flows} has a share of {} of the bandwidth-delay product of \
                 {at} to {towards}, so {effect} there; {remedy}",
                rounded_down(facts.product),
            )
        }
        Caution::Crowded { least } => {
            format!(
                "{name}: {flows} needs a window of {}, but {at} to {towards} holds {} of all with its queue, \
                 so flows wait for timeouts; {} of {} or more",
                rounded_up(least),
                rounded_down(facts.held()),
                queue_place(scenario),
                rounded_up((least * facts.flows).saturating_sub(facts.product * facts.flows)),
            )
        }
        Caution::Backlog { param, each } => {
            let (queue, all) = (facts.queue.unwrap_or_default(), each * facts.flows);
            let fits = queue.get() / facts.flows / facts.mss.get().max(1);
            format!(
                "{name}: {} has {flows} keep {each} in the queue of {at} to {towards}, {all} in all, but that holds \
                 {queue}, so flows lose packets in place of settling; set it to {} or less, or {} of {} or more",
                place(param),
                fits.max(1),
                queue_place(scenario),
                rounded_up(all),
            )
        }
        Caution::Latecomers { param, value, full } => {
            let (holds, remedy) = match full {
                Some(full) => (
                    format!("holds {}", rounded_span(full)),
                    format!(
                        "{} of {} or less, so that losses tell all flows the same",
                        queue_place(scenario),
                        rounded_down(rate.bytes_in(value)),
                    ),
                ),
                None => {
                    ("has no end".to_owned(), "have one flow, or take another algorithm".to_owned())
                }
            };
            format!(
                "{name}: a flow that starts later takes the delay that the first of {} flows keep, {} = {value}, \
                 for a part of its path and pushes them aside, since the queue of {at} to {towards} {holds}; {remedy}",
                facts.flows,
                place(param),
            )
        }
        Caution::FirstWindows { each } => format!(
            "{name}: each of {} flows sends {} in its first round trip, but {at} to {towards} holds {} of all with its \
             queue, so flows wait long for their first answers; have {} flows at most, or let them start one by one",
            facts.flows,
            rounded_down(each),
            rounded_down(facts.held()),
            facts.held().get() * 25 / each.get().max(1),
        ),
        _ => of_losses(scenario, name, caution, path),
    }
}

/// A warning about flows that only losses slow down.
fn of_losses(scenario: &Scenario, name: &str, caution: &Caution, path: &Surveyed) -> String {
    let Surveyed { ends: [from, _], facts, bottleneck: [at, towards], rate, .. } = path;
    match *caution {
        Caution::ShortQueue { left, least } => {
            let buffer = Bytes::new(u64::from(u32::MAX));
            let remedy = if least > buffer {
                format!(
                    "no buffer of up to {} will do, take another algorithm",
                    rounded_down(buffer)
                )
            } else {
                format!("{} of {} or more", queue_place(scenario), rounded_up(least))
            };
            format!(
                "{name}: a loss leaves {:.0} % of the window, but of the bandwidth-delay product of {} the queue \
                 of {at} to {towards} holds {:.0} %, so the link runs dry; {remedy}",
                left.as_f64() * 100.0,
                rounded_down(facts.product * facts.flows),
                100.0 * facts.queue.unwrap_or_default().get() as f64
                    / (facts.product * facts.flows).get().max(1) as f64,
            )
        }
        Caution::LossesFirst { param, least, borne, full } => format!(
            "{name}: the window halves when the RTT rises by {} or more, but the queue of {at} to {towards} is full \
             at {}, so losses alone slow {} flows down, and one of them may shut the others out; set {} to {least} or \
             more, or {} of {} or more",
            rounded_span(borne),
            rounded_span(full),
            facts.flows,
            format_args!("cc.{name}.{param}"),
            queue_place(scenario),
            rounded_up(rate.bytes_in(borne) * 2),
        ),
        Caution::LockOut => format!(
            "{name}: the NIC of {from} is exactly as fast as {at} to {towards}, where only a full queue slows {} \
             flows down, so one of them may keep it full by itself, lose nothing, and shut the others out; set the \
             hosts' rate to {}, or take a scheme that goes by delay or marks",
            facts.flows,
            Rate::from_bps(rate.as_bps() / 50 * 51),
        ),
        _ => delays::sentence(name, caution, path),
    }
}

fn flows(path: &Surveyed) -> String {
    match path.facts.flows {
        1 => "the flow".to_owned(),
        more => format!("each of {more} flows"),
    }
}

/// The setting that makes the queue longer.
fn queue_place(scenario: &Scenario) -> &'static str {
    let switch = &scenario.switch;
    match (switch.port_limit, switch.queue_limit) {
        (Some(port), Some(queue)) if port > queue => "set switch.queue_limit to a queue",
        (Some(_), _) => "set switch.port_limit to a queue",
        (None, Some(_)) => "set switch.queue_limit to a queue",
        (None, None) => "set switch.buffer for a queue",
    }
}

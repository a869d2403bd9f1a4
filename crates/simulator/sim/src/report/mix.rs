//! The table of a mix of schemes: the part of each scheme in each traffic.

use super::quantiles::Quantiles;
use super::tables::SCHEME_COLUMN;
use super::work::Work;
use crate::build::Built;
use incast_table::Table;

/// The flows of one traffic under one scheme.
struct Part {
    traffic: usize,
    scheme: usize,
    sum: Sum,
    completion: Quantiles,
    slowdown: Quantiles,
}

/// The sums over the flows of a part.
#[derive(Clone, Copy, Default)]
struct Sum {
    flows: u64,
    goodput_bps: f64,
    retransmissions: u64,
}

/// The table, if traffic names schemes. `goodputs` has the goodputs of all flows.
pub(super) fn table(built: &Built, goodputs: &[f64], work: &Work) -> Option<Table> {
    if !built.mix.is_mixed() {
        return None;
    }
    let parts = parts(built, goodputs, work);
    let of_all: f64 = parts.iter().map(|part| part.sum.goodput_bps).sum();
    let table = Table::new(
        "mix",
        "the flows of one traffic under one scheme, where traffic names schemes; times are of messages posted \
         while it was measured, as in the table fct",
    )
    .column(("traffic", "", "the traffic's name"), &parts, |p| {
        built.plan.traffic[p.traffic].name.clone()
    })
    .column((SCHEME_COLUMN, "", "scheme of these flows"), &parts, |p| {
        built.mix.all()[p.scheme].name.clone()
    })
    .column(("flows", "", "their number"), &parts, |p| p.sum.flows)
    .column(("goodput_gbps", "Gb/s", "payload that arrived per second, measured"), &parts, |p| {
        p.sum.goodput_bps / 1e9
    })
    .column(("goodput_share", "", "that as a share of all payload"), &parts, |p| {
        p.sum.goodput_bps / of_all
    })
    .column(("flow_gbps", "Gb/s", "the mean of it over these flows"), &parts, |p| {
        p.sum.goodput_bps / p.sum.flows as f64 / 1e9
    })
    .column(
        ("retransmissions", "packets", "packets sent again, over the whole run"),
        &parts,
        |p| p.sum.retransmissions,
    )
    .column(("posted", "", "messages posted"), &parts, |p| p.completion.len() as u64)
    .column(("finished", "", "of these delivered by the end of the run"), &parts, |p| {
        p.completion.known() as u64
    })
    .column(("completion_mean_us", "us", "completion time: mean of the delivered"), &parts, |p| {
        p.completion.mean()
    });
    let median = "completion time: median; null where that message was not delivered";
    let slow = "completion time: 99th percentile; null in the same way";
    let slowdown = "slowdown: 99th percentile; null in the same way";
    Some(
        table
            .column(("completion_p50_us", "us", median), &parts, |p| p.completion.at(0.5))
            .column(("completion_p99_us", "us", slow), &parts, |p| p.completion.at(0.99))
            .column(("slowdown_p99", "", slowdown), &parts, |p| p.slowdown.at(0.99)),
    )
}

/// The parts that have flows, by traffic and scheme.
fn parts(built: &Built, goodputs: &[f64], work: &Work) -> Vec<Part> {
    let schemes = built.mix.all().len();
    let place = |flow: u32| {
        let traffic = usize::from(built.flows[flow as usize].traffic);
        traffic * schemes + usize::from(built.scheme_of(flow))
    };
    let places = built.plan.traffic.len() * schemes;
    let mut sums = vec![Sum::default(); places];
    for ((number, flow), goodput) in (0..).zip(built.flows.iter()).zip(goodputs) {
        let sum = &mut sums[place(number)];
        sum.flows += 1;
        sum.goodput_bps += goodput;
        sum.retransmissions += super::retransmissions(built, flow);
    }
    let mut messages = vec![Vec::new(); places];
    for message in work.measured() {
        messages[place(message.flow)].push(message);
    }
    let end = built.net.now();
    let parts = sums.into_iter().zip(messages).enumerate();
    let parts = parts.map(|(place, (sum, messages))| Part {
        traffic: place / schemes,
        scheme: place % schemes,
        sum,
        completion: Quantiles::of(messages.iter().map(|message| message.observed_us(end))),
        slowdown: Quantiles::of(messages.iter().map(|message| message.observed_slowdown(end))),
    });
    parts.filter(|part| part.sum.flows > 0).collect()
}

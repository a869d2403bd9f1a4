//! The state of a run in progress, to be shown while it goes on.

use incast_cc::{Rate, Time};

use crate::build::Built;
use incast_net::{Host, Switch, Transmitter};

/// The state of a run at the moment to which it has run.
///
/// Queues and flows equal the rows of the last interval of the time series that has ended. They are
/// empty before the first one has ended, and where the scenario keeps no series. The
/// interval that ends with the run is still open: its rows come with the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The moment.
    pub at: Time,
    /// The number of intervals that have ended.
    pub intervals: usize,
    /// For each port of a switch, in the order of the table of queues: the mean and the greatest
    /// backlog in the interval, in bytes.
    pub queues: Vec<(f64, u64)>,
    /// The lasting flows, in the order of their numbers.
    pub flows: Vec<FlowLook>,
    /// All links, in the order of the table of links.
    pub links: Vec<LinkLook>,
    /// The number of RTT samples so far, warm-up included.
    pub rtt_samples: u64,
    /// Their sum, in nanoseconds.
    pub rtt_sum_ns: u64,
    /// The packets that were dropped so far.
    pub drops: u64,
}

/// A lasting flow at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowLook {
    /// The number of the flow in the results.
    pub flow: u32,
    /// The payload that has arrived since the run began, in bytes.
    pub delivered: u64,
    /// The sending rate.
    pub rate: Rate,
}

/// A link at the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkLook {
    /// The bytes that were put on the link since the run began, headers included.
    pub bytes: u64,
    /// Whether PFC pauses a traffic class or more of its sender.
    pub held: bool,
}

impl Look {
    pub(crate) fn at(built: &Built) -> Self {
        let net = &built.net;
        let links = net.transmitters().map(LinkLook::of).collect();
        let (rtt_samples, rtt_sum_ns) = net
            .hosts()
            .iter()
            .map(Host::all_rtts)
            .fold((0, 0), |(samples, sum), one| (samples + one.0, sum + one.1));
        let drops = net.ports().map(|port| port.counters().all_drops()).sum::<u64>()
            + net.lost().map(|count| count.packets).sum::<u64>();
        let (queues, flows) = (queues(net.switches()), flows(built));
        let intervals = intervals(built);
        Self { at: net.now(), intervals, queues, flows, links, rtt_samples, rtt_sum_ns, drops }
    }
}

impl LinkLook {
    fn of(transmitter: &Transmitter) -> Self {
        Self { bytes: transmitter.hops().bytes, held: transmitter.is_held() }
    }
}

/// The number of intervals of which a port or a lasting flow has rows.
fn intervals(built: &Built) -> usize {
    let ports = built.net.switches().iter().map(|one| (one.series().len(), one.ports().len()));
    let flows = built.net.hosts().iter().map(|one| (one.series().len(), one.lasting().len()));
    ports.chain(flows).filter(|&(rows, _)| rows > 0).map(|(rows, of)| rows / of).min().unwrap_or(0)
}

/// The last interval of each port, or nothing where a switch with ports has none.
fn queues(switches: &[Switch]) -> Vec<(f64, u64)> {
    let mut all = Vec::new();
    for switch in switches {
        let (ports, series) = (switch.ports().len(), switch.series());
        let Some(first) = series.len().checked_sub(ports) else { return Vec::new() };
        all.extend_from_slice(&series[first..]);
    }
    all
}

fn flows(built: &Built) -> Vec<FlowLook> {
    let hosts = built.net.hosts();
    let last = |(host, connection): (u32, u32)| {
        let host = &hosts[host as usize];
        let place = host.lasting().binary_search(&connection).ok()?;
        let first = host.series().len().checked_sub(host.lasting().len())?;
        host.series().get(first + place).copied()
    };
    let look = |(number, flow): (u32, &incast_plan::flows::Flow)| {
        let (delivered, _) = last(flow.receiver())?;
        let (_, rate) = last(flow.sender())?;
        Some(FlowLook { flow: number, delivered, rate })
    };
    (0..).zip(&built.flows[..]).filter(|(_, flow)| flow.is_lasting()).filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Report, Simulation, TraceConfig, Values};
    use incast_cc::Span;
    use incast_scenario::Document;

    /// Two flows that share a port, and switches with PFC.
    const TEXT: &str = r#"
        title = "two into one"
        [run]
        duration = "2ms"
        warmup = "1ms"
        cooldown = "100us"
        interval = "100us"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "host"
        count = 3
        rate = "10Gbps"
        delay = "1us"
        [switch.pfc]
        enabled = true
        xoff = "100KB"
        [[traffic]]
        kind = "connections"
        from = "host[0-1]"
        to = "host2"
    "#;

    fn started() -> Simulation {
        let document = Document::parse(TEXT.to_owned(), "test.toml").unwrap();
        Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default()).unwrap()
    }

    fn column(report: &Report, table: &str, column: &str) -> Vec<f64> {
        let table = report.tables.iter().find(|other| other.name == table).unwrap();
        let column = table.columns.iter().find(|other| other.name == column).unwrap();
        let Values::F64(values) = &column.values else { panic!("{}", column.name) };
        values.clone()
    }

    #[test]
    fn looks_at_the_ends_of_intervals_are_the_rows_of_the_time_series_and_change_nothing() {
        let mut plain = started();
        while plain.advance(u64::MAX) {}
        let plain = plain.finish();

        let mut run = started();
        assert!(run.look().flows.is_empty(), "no interval has ended");
        let (mut queues, mut goodputs, mut before) = (Vec::new(), Vec::new(), [0, 0]);
        let mut held = false;
        for interval in 1..=20_usize {
            let mut longest = 0;
            for part in 1..=5 {
                let until = Span::from_us(100) * (interval as u64 - 1) + Span::from_us(20) * part;
                while run.approach(until, 50) {}
                longest = longest.max(run.longest_queue());
            }
            let look = run.look();
            let most = look.queues.iter().map(|&(_, most)| most).max();
            assert!(most >= Some(longest) || interval == 20, "{most:?} {longest}");
            assert!(longest > 0, "two at 10 Gb/s into a port of 10 Gb/s");
            held |= look.links.iter().any(|link| link.held);
            assert_eq!(look.intervals, interval.min(19), "the last one is open until the end");
            if interval == 20 {
                break;
            }
            queues.extend(look.queues.iter().map(|&(mean, _)| mean / 1e3));
            for (flow, before) in look.flows.iter().zip(&mut before) {
                // Bytes in 100 us: times 8 / 1e-4 / 1e9 for Gb/s.
                goodputs.push((flow.delivered - *before) as f64 * 8.0 / 1e-4 / 1e9);
                *before = flow.delivered;
            }
            assert_eq!(look.links.len(), 6);
        }
        assert!(!run.approach(Span::from_ms(2), 1));
        let look = run.look();
        assert!(held, "two at 10 Gb/s into a port of 10 Gb/s");
        let report = run.finish();
        assert_eq!(crate::digest(&report.tables), crate::digest(&plain.tables));
        let rows = column(&report, "series_queues", "queue_mean_kb");
        assert_eq!(queues, rows[..rows.len() - 3], "three ports, without the last interval");
        let rows = column(&report, "series_flows", "goodput_gbps");
        assert!(goodputs.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 1e-9), "{goodputs:?}");
        assert!(look.rtt_samples > report.summary.rtt_samples, "the warm-up counts");
    }
}

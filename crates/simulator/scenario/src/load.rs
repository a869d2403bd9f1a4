//! Warnings before a run: loads that the network cannot carry, and tables that stay empty. Such
//! loads are allowed, for those who want to see the effect.

use std::collections::BTreeMap;

use super::Scenario;
use crate::{Demand, Receiver, demand, topology};
use incast_plan::topology::Topology;

/// The rounding error of sums of loads.
const ROUNDING: f64 = 1e-9;

impl Scenario {
    /// Overloaded links, one sentence each: the link of the worst host in each direction, and the
    /// core. All traffic with a load counts; other traffic asks for no particular rate.
    pub fn load_warnings(&self) -> Vec<String> {
        let net = topology(self);
        let demands = demand(self, &net);
        let hosts = [
            ("to send", (|demand| &demand.sends) as fn(&Demand) -> &[f64], 0),
            ("to receive", |demand| &demand.receives, 1),
        ];
        let mut warnings: Vec<_> = hosts
            .into_iter()
            .filter_map(|(what, of, way)| {
                let intakes = if way == 1 { self.slow_hosts(&net) } else { BTreeMap::new() };
                let shares = Shares::of_hosts((&net, &intakes), &demands, of, way);
                let (count, worst) = shares.overloaded();
                let (host, load) = worst?;
                let others = match count - 1 {
                    0 => String::new(),
                    1 => " (and another host)".to_owned(),
                    more => format!(" (and {more} other hosts)"),
                };
                let whom = format!("{}{others} {what}", net.hosts[host]);
                let is_slow = u32::try_from(host).is_ok_and(|host| intakes.contains_key(&host));
                let what = if is_slow { "it takes in" } else { "its link carries" };
                Some(self.sentence(&whom, load, what, &shares.parts(host)))
            })
            .collect();
        let core: f64 = demands.iter().map(|demand| demand.core).sum();
        if core > 1.0 + ROUNDING {
            let parts: Vec<_> =
                demands.iter().map(|demand| (demand.traffic, demand.core)).collect();
            warnings.push(self.sentence("the core to carry", core, "its links do", &parts));
        }
        warnings
    }

    /// Tables of time series that stay empty because they would be too long.
    pub fn series_warnings(&self) -> Vec<String> {
        let sentence = |(table, rows)| {
            format!(
                "{table} stays empty, it would have {rows} rows; set measure.series = true to have it, or \
                 false not to be told, or a longer run.interval"
            )
        };
        self.left_out_series().into_iter().map(sentence).collect()
    }

    /// The sentence on a load that is `load` times what its links carry: with the loads that would
    /// fill them, each as far from its own as the others.
    fn sentence(&self, whom: &str, load: f64, what: &str, parts: &[(usize, f64)]) -> String {
        let lower: Vec<_> = parts
            .iter()
            .filter(|(_, share)| *share > ROUNDING)
            .map(|&(traffic, _)| {
                let now = self.traffic[traffic].load().unwrap_or_default();
                // Down, so that the remedy is no rounding error above.
                let fits = (now / load * 1e3 + ROUNDING).floor() / 1e3;
                format!("{} to {fits:.3}", self.traffic_name(traffic))
            })
            .collect();
        format!(
            "traffic asks {whom} {load:.3} times what {what}, headers included: what is left over never \
             drains; lower the load of {}, or expect results that grow with run.duration",
            lower.join(", and ")
        )
    }
}

/// The load of each traffic on each host's link, as a share of the link's rate.
struct Shares(Vec<(usize, Vec<f64>)>);

impl Shares {
    /// The shares of the links out of hosts, where `way` is 0, or into them, where it is 1.
    fn of_hosts(
        (net, intakes): (&Topology, &BTreeMap<u32, &Receiver>),
        demands: &[Demand],
        of: fn(&Demand) -> &[f64],
        way: usize,
    ) -> Self {
        let ports = net.ports();
        let rate = |host: usize| {
            let (cable, end) = ports.hosts[host][0];
            let rate = net.cables[cable].rates[end ^ way];
            let slow = u32::try_from(host).ok().and_then(|host| intakes.get(&host)?.steady());
            slow.map_or(rate, |slow| slow.min(rate)).as_bps() as f64
        };
        let shares = |demand: &Demand| {
            (0..).zip(of(demand)).map(|(host, bps)| bps / rate(host)).collect::<Vec<_>>()
        };
        Self(demands.iter().map(|demand| (demand.traffic, shares(demand))).collect())
    }

    fn hosts(&self) -> usize {
        self.0.first().map_or(0, |(_, shares)| shares.len())
    }

    fn load(&self, host: usize) -> f64 {
        self.0.iter().map(|(_, shares)| shares[host]).sum()
    }

    /// The number of hosts with overloaded links, and the first host with the highest load.
    fn overloaded(&self) -> (usize, Option<(usize, f64)>) {
        let loads = (0..self.hosts()).map(|host| (host, self.load(host)));
        let over = loads.filter(|(_, load)| *load > 1.0 + ROUNDING);
        over.fold((0, None), |(count, worst), (host, load)| match worst {
            Some((_, most)) if load <= most + ROUNDING => (count + 1, worst),
            _ => (count + 1, Some((host, load))),
        })
    }

    fn parts(&self, host: usize) -> Vec<(usize, f64)> {
        self.0.iter().map(|(traffic, shares)| (*traffic, shares[host])).collect()
    }
}

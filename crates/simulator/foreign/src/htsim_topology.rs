//! The topology file of htsim (`.topo`): a fat-tree or leaf-spine network by tiers. Tier 0 are the
//! `ToR` switches, whose downlinks go to hosts; the downlinks of tiers 1 and 2 go to the tier
//! below.

use incast_cc::{FASTEST_LINE, Rate, Span};

use super::htsim_tier::{Seen, Tier, once};
use super::text::{MOST, Word, ended, lines, refused};
use super::{ForeignError, Graph, Link, Switch};

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The number of hosts.
    pub nodes: u64,
    /// The number of hosts of a pod; with two tiers all hosts are one pod.
    pub pod: u64,
    /// The tiers, from the `ToR` switches up: two or three.
    pub tiers: Vec<Tier>,
}

/// The numbers of switches of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    pods: u64,
    /// `ToR` switches of a pod.
    tors: u64,
    /// Aggregation switches of a pod.
    aggregations: u64,
    cores: u64,
}

impl Tree {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not such a file, or is inconsistent.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let (mut nodes, mut tier_count, mut pod) = (None, None, None);
        let mut tiers: [Option<Seen>; 3] = [None; 3];
        let mut current: Option<usize> = None;
        for line in lines(file, text) {
            if line.words[0].text.starts_with('#') {
                continue;
            }
            let [key, value] = line.columns("KEY VALUE")?;
            let name = key.text.to_ascii_lowercase();
            let number: u64 = value.number("a whole number")?;
            match (name.as_str(), current) {
                ("tier", _) => {
                    let tier = usize::try_from(number).ok().filter(|&tier| tier < 3);
                    let tier = tier.ok_or_else(|| value.unexpected("tier 0, 1 or 2"))?;
                    if tiers[tier].is_some() {
                        return Err(value.refused(format!("tier {tier} is there twice")));
                    }
                    tiers[tier] = Some(Seen::new(line.number));
                    current = Some(tier);
                }
                ("nodes", None) => once(&mut nodes, key, above_zero(value, number)?)?,
                ("tiers", None) => {
                    if !(2..=3).contains(&number) {
                        return Err(value.unexpected("2 or 3 tiers"));
                    }
                    once(&mut tier_count, key, number)?;
                }
                ("podsize", None) => once(&mut pod, key, above_zero(value, number)?)?,
                (_, None) => return Err(key.unexpected("Nodes, Tiers, Podsize or Tier")),
                (name, Some(tier)) => {
                    let seen = tiers[tier].get_or_insert_with(|| Seen::new(line.number));
                    seen.set(name, key, value, number)?;
                }
            }
        }
        let missing = |what: &str| ended(file, text, &format!("{what}, which is missing"));
        let nodes = nodes.ok_or_else(|| missing("Nodes"))?;
        let pod = pod.ok_or_else(|| missing("Podsize"))?;
        let count = if tier_count.ok_or_else(|| missing("Tiers"))? == 2 { 2 } else { 3 };
        if let Some(Some(extra)) = tiers.get(count) {
            return Err(refused(
                file,
                extra.line,
                format!("tier {count} of {count} tiers; they count from 0"),
            ));
        }
        let tiers = tiers.iter().take(count).enumerate().map(|(number, seen)| {
            let seen = seen.as_ref().ok_or_else(|| missing(&format!("Tier {number}")))?;
            seen.tier(file, number, number + 1 == count)
        });
        let tree = Self { nodes, pod, tiers: tiers.collect::<Result<_, _>>()? };
        tree.counts(file)?;
        Ok(tree)
    }

    /// The fat-tree that htsim builds without a file for this number of hosts, k^3/4, with its
    /// default links of 100 Gb/s and 1 us. [`None`] for other numbers.
    pub fn fat_tree(hosts: u64) -> Option<Self> {
        let k = (2..=256).step_by(2).find(|k| k * k * k / 4 == hosts)?;
        let (half, line) = (k / 2, 1);
        let tier = Tier {
            gbps: 100,
            link_ns: 1_000,
            down: half,
            up: half,
            oversubscribed: 1,
            bundle: 1,
            line,
            ..Tier::default()
        };
        let core = Tier { down: k, up: 0, ..tier };
        Some(Self { nodes: hosts, pod: half * half, tiers: vec![tier, tier, core] })
    }

    /// The graph of this network. Every packet through a switch has the switch's latency. Each link
    /// takes half of the latency of the switches at its ends, so that every path keeps its latency.
    /// A bundle becomes one link with the sum of the rates.
    ///
    /// # Errors
    /// The file is inconsistent.
    pub fn graph(&self, file: &str) -> Result<Graph, ForeignError> {
        let Counts { pods, tors, aggregations, cores } = self.counts(file)?;
        let [low, middle] = [&self.tiers[0], &self.tiers[1]];
        let mut links = Vec::new();
        let mut link = |tier: usize, ends: [String; 2]| {
            let (rate, delay) = (self.rate(tier), self.delay(tier));
            links.push(Link { ends, rate, delay, loss: 0.0 });
        };
        for host in 0..self.nodes {
            link(0, [format!("host{host}"), format!("tor{}", host / low.down)]);
        }
        for tor in 0..pods * tors {
            for place in 0..aggregations {
                let aggregation = tor / tors * aggregations + place;
                link(1, [format!("tor{tor}"), format!("agg{aggregation}")]);
            }
        }
        if let Some(top) = self.tiers.get(2) {
            for aggregation in 0..pods * aggregations {
                for up in 0..middle.up / top.bundle {
                    let core = aggregation % aggregations + aggregations * up;
                    link(2, [format!("agg{aggregation}"), format!("core{core}")]);
                }
            }
        }
        let top = if self.tiers.len() == 2 { "spine" } else { "aggregation" };
        let low = if self.tiers.len() == 2 { "leaf" } else { "edge" };
        let row = |name: &'static str, layer: &'static str, count: u64| {
            (0..count).map(move |i| Switch { name: format!("{name}{i}"), layer })
        };
        let switches = row("tor", low, pods * tors)
            .chain(row("agg", top, pods * aggregations))
            .chain(row("core", "core", cores));
        Ok(Graph {
            hosts: (0..self.nodes).map(|host| format!("host{host}")).collect(),
            switches: switches.collect(),
            links,
            notes: self.notes(file),
        })
    }

    /// The nodes of the uplink that a failure names; [`None`] if there is no such switch or link.
    pub(crate) fn uplink(&self, aggregation: u64, number: u64) -> Option<[String; 2]> {
        let counts = self.counts("").ok()?;
        let top = self.tiers.get(2)?;
        let exists = aggregation < counts.pods * counts.aggregations;
        (exists && number < self.tiers[1].up / top.bundle).then(|| {
            let core = aggregation % counts.aggregations + counts.aggregations * number;
            [format!("agg{aggregation}"), format!("core{core}")]
        })
    }

    /// The size of the queues, if all have the same.
    pub(crate) fn queue(&self) -> Option<u64> {
        let top = self.tiers.len() - 1;
        let tiers = self.tiers.iter().enumerate();
        let mut sizes = tiers.flat_map(|(number, tier)| {
            [Some(tier.queue_down), (number < top).then_some(tier.queue_up)].into_iter().flatten()
        });
        let first = sizes.next()??;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// The rate down from a tier to a switch or host below.
    fn rate(&self, tier: usize) -> Rate {
        Rate::from_gbps(self.tiers[tier].gbps) * self.tiers[tier].bundle
    }

    /// The rate of a bundle up from an aggregation switch after one of its links has failed;
    /// [`None`] if the bundle is a single link.
    pub(crate) fn with_one_less(&self) -> Option<Rate> {
        let top = self.tiers.get(2).filter(|top| top.bundle > 1)?;
        Some(Rate::from_gbps(top.gbps) * (top.bundle - 1))
    }

    /// The delay of the links down from a tier.
    fn delay(&self, tier: usize) -> Span {
        let below = tier.checked_sub(1).map_or(0, |below| self.tiers[below].switch_ns);
        let twice = Span::from_ns(self.tiers[tier].link_ns) * 2
            + Span::from_ns(self.tiers[tier].switch_ns)
            + Span::from_ns(below);
        twice / 2
    }

    fn counts(&self, file: &str) -> Result<Counts, ForeignError> {
        let [low, middle] = [self.tiers[0], self.tiers[1]];
        let fail = |tier: &Tier, reason: String| Err(refused(file, tier.line, reason));
        let (nodes, pod) = (self.nodes, self.pod);
        if nodes > MOST {
            return fail(&low, format!("{nodes} hosts; expected at most {MOST}"));
        }
        if !nodes.is_multiple_of(pod) {
            return fail(
                &low,
                format!("{nodes} nodes are not a whole number of pods of {pod} hosts"),
            );
        }
        if self.tiers.len() == 2 && nodes != pod {
            return fail(
                &low,
                format!("two tiers are one pod: Podsize is {pod}, but Nodes {nodes}"),
            );
        }
        if low.bundle != 1 {
            return fail(&low, format!("hosts have one link here, not a bundle of {}", low.bundle));
        }
        if !pod.is_multiple_of(low.down) {
            let reason = format!(
                "pods of {pod} hosts are not a whole number of ToR switches of {}",
                low.down
            );
            return fail(&low, reason);
        }
        let wide = (1..self.tiers.len()).find(|&tier| self.rate(tier) > FASTEST_LINE);
        if let Some(tier) = wide {
            let reason = format!(
                "bundles of {} links of {} Gb/s are more than {FASTEST_LINE}, the most that one \
                 link has here",
                self.tiers[tier].bundle, self.tiers[tier].gbps
            );
            return fail(&self.tiers[tier], reason);
        }
        let (pods, tors) = (nodes / pod, pod / low.down);
        let up = |tier: &Tier, above: &Tier, number: usize| {
            if !tier.up.is_multiple_of(above.bundle) {
                let reason = format!(
                    "{} links up are not a whole number of bundles of {}",
                    tier.up, above.bundle
                );
                return fail(tier, reason);
            }
            let (down_gbps, up_gbps) = (tier.down * tier.gbps, tier.up * above.gbps);
            if down_gbps != up_gbps * tier.oversubscribed {
                let reason = format!(
                    "tier {number} has {down_gbps} Gb/s down and {up_gbps} Gb/s up, which is not \
                     over-subscribed by \
                     {}; change the radix, the speed or Oversubscribed",
                    tier.oversubscribed
                );
                return fail(tier, reason);
            }
            Ok(Counts { pods, tors, aggregations: tier.up / above.bundle, cores: 0 })
        };
        let mut counts = up(&low, &middle, 0)?;
        if middle.down != tors * middle.bundle {
            let reason = format!(
                "{tors} ToR switches in each pod, in bundles of {}, need Radix_Down {}, not {}",
                middle.bundle,
                tors * middle.bundle,
                middle.down
            );
            return fail(&middle, reason);
        }
        let mut links = nodes + pods * tors * low.up;
        if let Some(top) = self.tiers.get(2) {
            counts.cores = counts.aggregations * up(&middle, top, 1)?.aggregations;
            if top.down != pods * top.bundle {
                let reason = format!(
                    "{pods} pods, in bundles of {}, need Radix_Down {}, not {}",
                    top.bundle,
                    pods * top.bundle,
                    top.down
                );
                return fail(top, reason);
            }
            links += pods * counts.aggregations * middle.up;
        }
        if links > MOST {
            return fail(&low, format!("{links} links; expected at most {MOST}"));
        }
        Ok(counts)
    }

    fn notes(&self, file: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.tiers.iter().any(|tier| tier.switch_ns > 0) {
            notes.push(format!(
                "{file}: latencies of switches are in the delays of their links, half of them in \
                 each"
            ));
        }
        if self.tiers.iter().any(|tier| tier.bundle > 1) {
            notes.push(format!(
                "{file}: a bundle is one link of the rates of all of its links together: flows do not collide on one \
                 of them"
            ));
        }
        let queues = self.tiers.iter().any(|tier| tier.queue_up.or(tier.queue_down).is_some());
        if queues && self.queue().is_none() {
            notes.push(format!(
                "{file}: Queue_Up and Queue_Down are ignored: they differ, and switch.queue_limit \
                 is one for all"
            ));
        }
        notes
    }
}

fn above_zero(value: Word<'_>, number: u64) -> Result<u64, ForeignError> {
    if number == 0 { Err(value.unexpected("a number above zero")) } else { Ok(number) }
}

//! A run of one scheme.

use incast_cc::{Bytes, Span, Time};

use crate::build::{Built, build, flow_of_seed, seed_of_flow};
use crate::look::Look;
use crate::report::{Measured, Report, RunInfo, measure, report};
use incast_net::Partition;
use incast_net::TraceConfig;
use incast_net::{WindowCounts, Windows};
use incast_plan::Watch;
use incast_scenario::{Scenario, ScenarioError, Scheme, Threads};

/// A run in progress. It reads no clock: whoever drives it decides how long to go on and what to
/// show meanwhile.
///
/// ```
/// use incast_sim::{Simulation, TraceConfig, scenario::Document};
///
/// let text = r#"
///     title = "one flow"
///     [run]
///     duration = "1ms"
///     schemes = ["timely"]
///     [[network.star.hosts]]
///     name = "host"
///     count = 2
///     rate = "10Gbps"
///     delay = "1us"
///     [[traffic]]
///     kind = "connections"
///     from = "host0"
///     to = "host1"
/// "#;
/// let document = Document::parse(text.to_owned(), "example.toml")?;
/// let mut run = Simulation::new(document.scenario(), "timely", 1, TraceConfig::default())?;
/// while run.advance(100_000) {}
/// let report = run.finish();
/// assert!(report.summary.throughput_gbps > 9.0);
/// # Ok::<(), incast_sim::scenario::ScenarioError>(())
/// ```
pub struct Simulation {
    pub(crate) built: Built,
    /// The windows of a run in several threads.
    windows: Option<Windows>,
    hosts: usize,
    /// The end of the run; the last one that there can be while messages may still arrive.
    end: Time,
    /// The next instant at which the run ends if all messages have arrived: from the end of the
    /// duration on, one in each interval of the time series.
    looks_at: Option<Time>,
    /// The beginning of the cool-down, and the results measured until then.
    measured_until: Time,
    measured: Option<Measured>,
    info: RunInfo,
    algorithm: &'static str,
    /// The instant to which the run was told to go.
    stopped_at: Option<Time>,
}

impl Simulation {
    /// Builds the network of `scenario`, with `scheme` for flows whose traffic names no other.
    ///
    /// # Errors
    /// The scheme is not known.
    pub fn new(
        scenario: &Scenario,
        scheme: &str,
        seed: u64,
        traces: TraceConfig,
    ) -> Result<Self, ScenarioError> {
        let resolved = scenario.scheme(scheme)?;
        Ok(Self::built(scenario, (scheme, resolved), seed, traces, &Watch::nobody()))
    }

    /// Builds the network of `scenario` under `scheme`, which results call `name`. An algorithm
    /// from elsewhere needs no name that scenarios know.
    pub fn under(
        scenario: &Scenario,
        (name, scheme): (&str, Scheme),
        seed: u64,
        traces: TraceConfig,
    ) -> Self {
        Self::built(scenario, (name, scheme), seed, traces, &Watch::nobody())
    }

    /// Builds the network, and calls `go_on` every few milliseconds; returns nothing if that
    /// returns false.
    ///
    /// # Errors
    /// The scheme is not known.
    pub fn new_while(
        scenario: &Scenario,
        scheme: &str,
        seed: u64,
        traces: TraceConfig,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, ScenarioError> {
        let resolved = scenario.scheme(scheme)?;
        let build =
            |watch: &Watch<'_>| Self::built(scenario, (scheme, resolved), seed, traces, watch);
        Ok(Watch::asking(go_on).over(build))
    }

    fn built(
        scenario: &Scenario,
        (name, scheme): (&str, Scheme),
        seed: u64,
        traces: TraceConfig,
        watch: &Watch<'_>,
    ) -> Self {
        let info = RunInfo {
            scheme: name.to_owned(),
            seed,
            measured_from: Time::ZERO + scenario.run.warmup,
            interval: scenario.interval(),
            complete: false,
        };
        let end = Time::ZERO + scenario.run.longest();
        let looks_at = scenario.run.drain.map(|_| Time::ZERO + scenario.run.duration);
        let measured_until =
            Time::ZERO + scenario.run.duration.saturating_sub(scenario.run.cooldown);
        let algorithm = scheme.algorithm.name();
        let built = build(scenario, scenario.mix(name, scheme), seed, traces, watch);
        let hosts = built.net.hosts().len();
        let run = Self {
            built,
            windows: None,
            hosts,
            end,
            looks_at,
            measured_until,
            measured: None,
            info,
            algorithm,
            stopped_at: None,
        };
        run.in_threads(scenario.run.threads)
    }

    /// Sets the number of threads, in place of the scenario's. Results are the same.
    #[must_use]
    pub fn in_threads(self, threads: Threads) -> Self {
        let (partition, threads) =
            Partition::for_threads(&self.built.topology, threads.most(), threads == Threads::Auto);
        self.parted(partition, threads)
    }

    /// Posts all messages and sends none, where posting does not depend on arrivals: for the
    /// [ideal](crate::Report::tables) of a run, which needs no packets. Other runs stay whole.
    #[must_use]
    pub fn only_posting(mut self) -> Self {
        self.join();
        self.built.net.only_post(self.end);
        self
    }

    /// Sets the number of threads and of domains; the network has fewer domains if it cannot be
    /// split into as many. Results are the same. This is for measuring:
    /// [`in_threads`](Self::in_threads) chooses well.
    #[must_use]
    pub fn in_domains(self, threads: usize, domains: usize) -> Self {
        let partition = Partition::new(&self.built.topology, domains);
        self.parted(partition, threads)
    }

    /// Makes each node handle its events of a window alone, or makes all events come in the order
    /// of time. Results are the same. This is for measuring: a network chooses well by itself.
    #[must_use]
    pub fn in_node_windows(mut self, on: bool) -> Self {
        self.join();
        self.built.net.set_node_windows(on);
        self
    }

    /// Whether each node handles its events of a window alone.
    pub const fn has_node_windows(&self) -> bool {
        self.built.net.has_node_windows()
    }

    /// Splits the network by `partition`. A single domain runs in one thread, and so does a network
    /// with an oracle, which sees all queues at once.
    pub(crate) fn parted(mut self, partition: Partition, threads: usize) -> Self {
        self.join();
        let net = &self.built.net;
        self.windows = (partition.domains > 1 && !net.has_oracle())
            .then(|| Windows::new(net, partition, threads));
        self
    }

    /// Handles `events` more events, then more until all nodes are at one instant. Returns whether
    /// there are more.
    pub fn advance(&mut self, events: u64) -> bool {
        if self.measured.is_none() && self.measured_until < self.end {
            if !self.run(self.measured_until, events) {
                self.measured = Some(measure(&mut self.built, &self.info));
            }
            return true;
        }
        let more = self.run_on(self.end, events);
        self.info.complete = !more;
        more
    }

    /// Handles all events up to `until`, those at that instant included, and no later one. Returns
    /// whether there are more. A time that has passed changes nothing.
    ///
    /// The report is the same as with [`advance`](Self::advance), however a run is cut.
    ///
    /// ```
    /// # use incast_sim::{Simulation, TraceConfig, scenario::Document};
    /// use incast_cc::Span;
    /// # let text = r#"
    /// #     title = "one flow"
    /// #     [run]
    /// #     duration = "1ms"
    /// #     schemes = ["timely"]
    /// #     [[network.star.hosts]]
    /// #     name = "host"
    /// #     count = 2
    /// #     rate = "10Gbps"
    /// #     delay = "1us"
    /// #     [[traffic]]
    /// #     kind = "connections"
    /// #     from = "host0"
    /// #     to = "host1"
    /// # "#;
    /// # let document = Document::parse(text.to_owned(), "example.toml")?;
    /// let mut run = Simulation::new(document.scenario(), "timely", 1, TraceConfig::default())?;
    /// assert!(run.run_until(Span::from_us(400)));
    /// assert_eq!(run.simulated(), Span::from_us(400));
    /// assert!(run.delivered(0).get() > 400_000);
    /// # Ok::<(), incast_sim::scenario::ScenarioError>(())
    /// ```
    pub fn run_until(&mut self, until: Span) -> bool {
        while self.approach(until, u64::MAX) {}
        !self.info.complete
    }

    /// Handles `events` more events on the way to `until`, then more until all nodes are at one
    /// instant. Returns whether `until` is still to be reached; then [`run_until`](Self::run_until)
    /// would have gone on.
    pub fn approach(&mut self, until: Span, events: u64) -> bool {
        let until = Time::ZERO + until;
        if until < self.built.net.now() {
            return false;
        }
        // An event at the end of the measurement is not measured.
        if self.measured.is_none() && self.measured_until <= until.min(self.end) {
            if self.run(self.measured_until, events) {
                return true;
            }
            if self.measured_until < self.end {
                self.measured = Some(measure(&mut self.built, &self.info));
            }
        }
        // Nor does an event at the end of the run belong to it.
        let behind = (until + Span::from_ps(1)).min(self.end);
        if self.run_on(behind, events) {
            return true;
        }
        self.stopped_at = (until < self.end).then_some(until);
        self.info.complete = until >= self.end;
        false
    }

    /// Runs to `until`, or ends the run at an instant before it at which all messages have arrived.
    /// Returns whether neither has been reached.
    fn run_on(&mut self, until: Time, events: u64) -> bool {
        let Some(at) = self.looks_at.filter(|&at| at < until) else {
            return self.run(until, events);
        };
        if !self.run(at, events) {
            self.join();
            let drained = self.built.net.has_drained();
            self.looks_at = (!drained).then(|| at + self.info.interval);
            self.end = if drained { at } else { self.end };
        }
        self.end > at
    }

    fn run(&mut self, end: Time, events: u64) -> bool {
        let net = &mut self.built.net;
        match &mut self.windows {
            Some(windows) => windows.run(net, end, events),
            None => net.run(end, events),
        }
    }

    /// Joins the network, so that it can be looked at.
    fn join(&mut self) {
        if let Some(windows) = &mut self.windows {
            windows.join(&mut self.built.net);
        }
    }

    /// The spread of the work over windows, if the run has several domains.
    pub fn windows(&self) -> Option<WindowCounts> {
        self.windows.as_ref().map(Windows::counts)
    }

    /// The time simulated so far.
    pub fn simulated(&self) -> Span {
        let now = self.built.net.now();
        let stopped = self.stopped_at.filter(|&at| at + Span::from_ps(1) == now);
        stopped.unwrap_or(now).since(Time::ZERO)
    }

    /// The time to be simulated; of a run that drains, the longest until all messages have arrived.
    pub fn duration(&self) -> Span {
        self.end.since(Time::ZERO)
    }

    /// The length of an interval of the time series.
    pub const fn interval(&self) -> Span {
        self.info.interval
    }

    /// The state of the network at this moment, which changes nothing.
    pub fn look(&mut self) -> Look {
        self.join();
        Look::at(&self.built)
    }

    /// The backlog of the switch port with the longest queue at this moment, in bytes. Asking
    /// changes nothing.
    pub fn longest_queue(&mut self) -> u64 {
        self.join();
        self.built.net.longest_queue()
    }

    /// The RTT samples of all flows since measurement started: the least RTT of each bucket, the
    /// least above it, both in nanoseconds, and the number of samples in it.
    pub fn rtts(&mut self) -> Vec<(u64, u64, u64)> {
        self.join();
        crate::report::rtts(&self.built).buckets().collect()
    }

    /// The name of the algorithm of the run's own scheme.
    pub const fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// The number of the flow whose algorithm was started with this
    /// [`seed`](incast_cc::Flow::seed); for errors, since it looks at all flows.
    pub fn flow_of_seed(&self, seed: u64) -> Option<u32> {
        flow_of_seed(&self.built.flows, self.info.seed, seed)
    }

    /// The [`seed`](incast_cc::Flow::seed) with which the algorithm of a flow is started.
    ///
    /// # Panics
    /// There is no such flow.
    pub fn seed_of_flow(&self, flow: usize) -> u64 {
        seed_of_flow(&self.built.flows, self.info.seed, flow)
    }

    /// The number of the traffic that a flow belongs to.
    ///
    /// # Panics
    /// There is no such flow.
    pub fn traffic_of_flow(&self, flow: usize) -> usize {
        self.built.flows[flow].traffic.into()
    }

    /// The number of hosts.
    pub const fn hosts(&self) -> usize {
        self.hosts
    }

    /// The number of connections, including those that have yet to start.
    pub fn flows(&self) -> usize {
        self.built.flows.len()
    }

    /// The payload of a flow that has arrived so far. Flows are numbered as in the results.
    pub fn delivered(&mut self, flow: usize) -> Bytes {
        self.join();
        Bytes::new(crate::report::delivered(&self.built, &self.built.flows[flow]))
    }

    /// The number of events handled so far.
    pub const fn events(&self) -> u64 {
        self.built.net.events()
    }

    /// Ends the run where it is and reports what was measured. A run that was not driven to its end
    /// is reported as incomplete.
    pub fn finish(mut self) -> Report {
        self.join();
        self.built.net.finish(self.info.complete);
        let measured = self.measured.unwrap_or_else(|| measure(&mut self.built, &self.info));
        report(&self.built, self.info, measured)
    }
}

#[cfg(test)]
mod shortcuts_tests;
#[cfg(test)]
mod windows_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use incast_scenario::Document;

    /// Reads and writes in both directions through two switches.
    const TWO_WAY: &str = r#"
        title = "two ways"
        [run]
        duration = "6ms"
        warmup = "1ms"
        schemes = ["timely"]
        [[network.dumbbell.left]]
        name = "a"
        count = 5
        rate = "10Gbps"
        delay = "1us"
        [[network.dumbbell.right]]
        name = "b"
        count = 4
        rate = "10Gbps"
        delay = "2us"
        [network.dumbbell.bottleneck]
        rate = "20Gbps"
        delay = "3us"
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b0"
        message = "300KB"
        count = 3
        every = "500us"
        [[traffic]]
        kind = "connections"
        from = "b"
        to = "a"
        operation = "read"
        message = "40KB"
        count = 5
        every = "100us"
        start_spread = "50us"
    "#;

    fn run(text: &str, scheme: &str, all_are_events: bool) -> (String, u64) {
        let document = Document::parse(text.to_owned(), "two-way.toml").unwrap();
        let traces = TraceConfig { queues: true, flows: true, packets: true };
        let mut run = Simulation::new(document.scenario(), scheme, 7, traces).unwrap();
        if all_are_events {
            run.built.net.take_no_shortcut();
        }
        while run.advance(10_000) {}
        let mut report = run.finish();
        let events = std::mem::take(&mut report.summary.events);
        (format!("{:?} {:?} {:?}", report.summary, report.books, report.tables), events)
    }

    #[test]
    fn a_build_may_be_stopped_and_one_that_is_not_is_the_same() {
        let large = TWO_WAY.replace("count = 5\n        rate", "count = 500\n        rate");
        for text in [TWO_WAY, &large] {
            let document = Document::parse(text.to_owned(), "two-way.toml").unwrap();
            let traces = TraceConfig::default();
            let built = |go_on: &dyn Fn() -> bool| {
                Simulation::new_while(document.scenario(), "timely", 7, traces, go_on).unwrap()
            };
            let plain = Simulation::new(document.scenario(), "timely", 7, traces).unwrap();
            assert_eq!(built(&|| true).map(|run| run.flows()), Some(plain.flows()));
            // The small network is built before `go_on` is asked.
            assert_eq!(built(&|| false).is_some(), text == TWO_WAY);
        }
    }

    #[test]
    fn frames_that_are_no_events_change_nothing() {
        for switch in [
            "[switch]\nbuffer = \"600KB\"\n[switch.pfc]\nenabled = true",
            "[switch]\nbuffer = \"100KB\"\necn_threshold = \"30KB\"",
            "[switch]\nbuffer = \"150KB\"\n[transport]\nack_priority = false\nrto_min = \"100us\"",
        ] {
            let text = format!("{TWO_WAY}\n{switch}");
            for scheme in ["timely", "line-rate"] {
                let (quiet, fewer) = run(&text, scheme, false);
                let (loud, events) = run(&text, scheme, true);
                assert!(quiet == loud, "{scheme}, {switch}");
                assert!(fewer < events, "or it shows nothing");
            }
        }
    }
    #[test]
    fn frames_that_are_no_events_change_nothing_where_there_are_several_paths() {
        let link = |a: &str, b: &str| {
            format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"10Gbps\", delay = \"1us\" }},\n")
        };
        let hosts = (0..5).map(|i| link(&format!("a{i}"), "s0"));
        let hosts = hosts.chain((0..4).map(|i| link(&format!("b{i}"), "s1")));
        let middle = (2..5).flat_map(|i| ["s0", "s1"].map(|end| link(end, &format!("s{i}"))));
        let links: String = hosts.chain(middle).collect();
        let graph = format!(
            "[network.graph]\nhosts = [{{ name = \"a\", count = 5 }}, {{ name = \"b\", count = 4 }}]\n\
             switches = [{{ name = \"s\", count = 5 }}]\nlinks = [\n{links}]\n"
        );
        let (before, rest) = TWO_WAY.split_once("[[network.dumbbell.left]]").unwrap();
        let (_, after) = rest.split_once("[[traffic]]").unwrap();
        let text = format!(
            "{before}{graph}[[traffic]]{after}\n[switch]\nqueue_limit = \"30KB\"\n\
             [transport]\nack_priority = false\nrto_min = \"100us\""
        );
        for scheme in ["timely", "line-rate"] {
            let (quiet, fewer) = run(&text, scheme, false);
            let (loud, events) = run(&text, scheme, true);
            assert!(quiet == loud && fewer < events, "{scheme}");
        }
    }
}

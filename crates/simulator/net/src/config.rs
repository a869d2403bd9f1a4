//! Configurations: the description of a network before it runs, in plain types.

use std::sync::Arc;

use incast_cc::{Rate, Span, Time};
use incast_plan::Watch;
use incast_plan::islands::Islands;
use incast_plan::random::{generator, purpose};
use incast_plan::topology::{Node, Ports, Topology};
use incast_queue::discipline::QueueDiscipline;
use incast_queue::feedback::AnyFeedback;
use incast_queue::management::{Aqm, Moment};
use incast_transport::{Endpoint, Scheduler};

use super::buffer::{BufferConfig, ClassLimits, PfcConfig, SharedBuffer};
use super::calendar::Calendar;
use super::changes::{Agendas, LinkChange, RouteChange};
use super::frame::Packets;
use super::host::{Berth, Host, IntakeConfig, WireFormat};
use super::link::Link;
use super::network::{LookAhead, RunAhead};
use super::parcels::{Inbox, Parcels};
use super::port::{Port, Thresholds};
use super::routes::Routes;
use super::switch::Switch;
use super::trace::{Trace, TraceConfig};
use super::transmitter::Transmitter;
use super::watchdog::Watchdog;
use super::{Component, ComponentKind, MOST_CLASSES, Network, Transit};

/// The configuration of a network.
pub struct NetworkConfig<'a> {
    /// The nodes and cables.
    pub topology: &'a Topology,
    /// The ports of every node, as the topology numbers them.
    pub ports: &'a Ports,
    /// The hosts, by number.
    pub hosts: Vec<HostConfig>,
    /// The islands of hosts.
    pub islands: Arc<Islands>,
    /// The settings that all switches share.
    pub switch: SwitchConfig,
    /// The routes of each switch.
    pub routes: Vec<Routes>,
    /// The headroom for PFC at each end of each cable, in bytes.
    pub headroom: Vec<[u64; 2]>,
    /// The burst of the token bucket that a port of a switch at each end of each cable has, in
    /// bytes; empty where no port has one. Tokens grow at the rate of the link. A packet that has
    /// tokens leaves at 8 Tb/s, the speed of the device. `look_ahead` has to be 0.
    pub bursts: Vec<[u64; 2]>,
    /// Links that fail, come back or change their rate, in the order in which they were described.
    pub link_changes: Vec<LinkChange>,
    /// New routes of switches.
    pub route_changes: Vec<RouteChange>,
    /// The seed of the run.
    pub seed: u64,
    /// The moment at which measurement starts.
    pub measure_from: Time,
    /// The length of an interval of the time series.
    pub interval: Span,
    /// The traces that every node keeps.
    pub traces: TraceConfig,
}

/// The configuration of a host.
pub struct HostConfig {
    /// The transport of the host.
    pub endpoint: Endpoint,
    /// The sizes and marks of the host's packets.
    pub wire: WireFormat,
    /// The intake, of a host that takes in less than its link brings.
    pub intake: Option<IntakeConfig>,
}

/// The settings that all switches share.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// The shared buffer, headroom included, in bytes.
    pub buffer: u64,
    /// The traffic classes, from the lowest to the highest.
    pub classes: Vec<ClassConfig>,
    /// The most bytes of all queues of an egress port, for classes that PFC does not protect.
    pub port_limit: Option<u64>,
    /// Whether ECN thresholds are compared with all queues of the egress port together, not with
    /// the packet's own.
    pub ecn_of_port: bool,
    /// PFC, if it is on.
    pub pfc: Option<PfcConfig>,
    /// The PFC watchdog, if there is one.
    pub watchdog: Option<WatchdogConfig>,
    /// The size of the largest packet, in bytes: one share of deficit round robin.
    pub largest_packet: u64,
    /// The number of packets that a port may put on its link before their transmission starts. 0
    /// where the queue at a packet's departure matters, where links change, or with a bucket.
    pub look_ahead: u32,
    /// The answers that every port gives to senders, if any.
    pub feedback: Option<AnyFeedback>,
    /// Whether packets of one connection may take several paths, or overtake each other.
    pub several_paths: bool,
}

/// The settings of a traffic class at every egress port.
#[derive(Clone, Debug)]
pub struct ClassConfig {
    /// The weight of the class among neighbours that have one (deficit round robin).
    pub weight: Option<u32>,
    /// The limits of its egress queues.
    pub limits: ClassLimits,
    /// The length of the queue from which packets are marked, in bytes.
    pub ecn_threshold: Option<u64>,
    /// The moment at which packets are compared with the threshold.
    pub ecn_at: Moment,
    /// The queue management of the class.
    pub management: Option<Aqm>,
    /// The queue discipline: the order of the class's packets.
    pub discipline: QueueDiscipline,
}

/// The settings of a PFC watchdog.
#[derive(Clone, Copy, Debug)]
pub struct WatchdogConfig {
    /// The longest time for which a pause may hold a class.
    pub after: Span,
    /// Whether the watchdog frees a class that is held too long, by dropping its packets.
    pub drops: bool,
}

/// The numbering of components, node by node: hosts first, in the order of their description, then
/// switches.
struct Numbering<'a> {
    components: Vec<Component>,
    watch: &'a Watch<'a>,
}

impl Numbering<'_> {
    #[expect(clippy::cast_possible_truncation, reason = "the hosts are bounded")]
    fn add(&mut self, kind: ComponentKind, node: usize, link: usize, port: usize) -> u32 {
        self.watch.step();
        let component = Component { kind, node: node as u32, link: link as u32, port: port as u16 };
        self.components.push(component);
        self.components.len() as u32 - 1
    }
}

/// The number of the link out of a port. Link 2c leads from the first end of cable c to the second,
/// link 2c + 1 back.
const fn outgoing(&(cable, end): &(usize, usize)) -> usize {
    cable * 2 + end
}

/// The number of the link into a port.
const fn incoming(&(cable, end): &(usize, usize)) -> usize {
    cable * 2 + 1 - end
}

/// The parts of a network while it is put together.
struct Assembly<'a> {
    numbers: Numbering<'a>,
    agendas: Agendas<'a>,
    /// The component at which each link arrives.
    arrivals: Vec<u32>,
    traces: TraceConfig,
    start: Time,
    /// Whether no arrival at a host may pass as one that only counts: links damage packets, or a
    /// host is slow.
    disquiets: bool,
    islands: Arc<Islands>,
    parcels: Parcels,
}

impl Network {
    /// Puts a network together, unless `watch` stops it. Its hosts have no flows yet.
    pub fn new(config: NetworkConfig<'_>, watch: &Watch<'_>) -> Self {
        let NetworkConfig { topology, ports, .. } = config;
        let links = topology.cables.len() * 2;
        let mut assembly = Assembly {
            numbers: Numbering { components: Vec::new(), watch },
            agendas: Agendas::of(topology, ports, &config.link_changes, config.route_changes),
            arrivals: vec![0; links],
            traces: config.traces,
            start: config.measure_from,
            disquiets: config.hosts.iter().any(|host| host.intake.is_some())
                || topology.cables.iter().any(|cable| cable.loss.iter().any(|&loss| loss > 0.0)),
            islands: Arc::clone(&config.islands),
            parcels: Parcels::default(),
        };
        // Some queues serve by the remaining bytes of a flow, and traces tell whole sequence
        // numbers.
        let full_packets = config.traces.packets
            || config.switch.classes.iter().any(|class| !class.discipline.is_fifo());
        let mut hosts = Vec::with_capacity(topology.hosts.len());
        for ((number, cables), host) in ports.hosts.iter().enumerate().zip(config.hosts) {
            let mut host = assembly.host(number, &cables[0], host);
            if full_packets {
                host.endpoint.send_full_packets();
            }
            if host.failures.next() == Time::MAX && host.intake.is_none() {
                host.allow_ahead();
            }
            hosts.push(host);
        }
        let mut switches = Vec::with_capacity(topology.switches.len());
        for ((number, cables), routes) in ports.switches.iter().enumerate().zip(config.routes) {
            let rates = cables.iter().map(|&port| topology.rate(port));
            let headroom: Vec<_> =
                cables.iter().map(|&(cable, end)| config.headroom[cable][end]).collect();
            let bursts =
                cables.iter().filter_map(|&(cable, end)| Some(config.bursts.get(cable)?[end]));
            let bursts = bursts.collect();
            let cables = cables.iter().zip(rates).collect();
            let place = SwitchPlace { number, cables, headroom, bursts, seed: config.seed };
            switches.push(assembly.switch(&config.switch, place, routes));
        }
        let Assembly { numbers, agendas, arrivals, parcels, .. } = assembly;
        #[expect(clippy::cast_possible_truncation, reason = "the cables are bounded")]
        let mut links: Vec<_> = (0..links)
            .map(|link| {
                let cable = &topology.cables[link / 2];
                let to_host = matches!(cable.ends[1 - link % 2], Node::Host(_));
                Link::new(
                    link as u32,
                    (cable.rates[link % 2], cable.delay),
                    arrivals[link],
                    to_host,
                )
            })
            .collect();
        if !config.bursts.is_empty() {
            let out = ports.switches.iter().flatten().map(outgoing);
            out.for_each(|link| links[link].set_device_speed());
        }
        for (link, own) in links.iter_mut().enumerate() {
            own.set_loss(topology.cables[link / 2].loss[link % 2], config.seed);
        }
        agendas.first_failures().for_each(|(link, at)| links[link].fail_at(at));
        let calendar = Calendar::new(numbers.components.len(), packets_per_us(topology));
        let mut network = Self {
            hosts,
            switches,
            components: numbers.components,
            transit: Transit { links, packets: Packets::default(), parcels, calendar },
            oracle: None,
            dead_locks: Vec::new(),
            interval: config.interval,
            flow_series: true,
            queue_series: true,
            events: 0,
            now: Time::ZERO,
            look_ahead: LookAhead::default(),
            run_ahead: RunAhead::new(
                config.islands.is_empty(),
                config.switch.look_ahead == u32::MAX,
            ),
        };
        network.let_hosts_run_ahead();
        network.set_node_windows(network.is_dense());
        network
    }
}

/// The number of a switch, and its ports: the cable of each, the rate of its link, its headroom,
/// and the burst of its token bucket, if ports have one.
struct SwitchPlace<'a> {
    number: usize,
    cables: Vec<(&'a (usize, usize), Rate)>,
    headroom: Vec<u64>,
    bursts: Vec<u64>,
    seed: u64,
}

impl Assembly<'_> {
    #[expect(clippy::cast_possible_truncation, reason = "the hosts are bounded")]
    fn host(&mut self, host: usize, cable: &(usize, usize), config: HostConfig) -> Host {
        use ComponentKind::{
            HostArrival, HostChange, HostInterval, HostPort, HostStart, HostTimer, Intake, Island,
            SlowArrival, SlowPort,
        };
        let (number, slow) = (host as u32, config.intake.is_some());
        let (of_port, of_arrival) =
            if slow { (SlowPort, SlowArrival) } else { (HostPort, HostArrival) };
        let failures = self.agendas.of_node(Node::Host(number));
        let numbers = &mut self.numbers;
        if failures.is_some() {
            numbers.add(HostChange, host, 0, 0);
        }
        numbers.add(HostStart, host, 0, 0);
        numbers.add(HostInterval, host, 0, 0);
        let port = numbers.add(of_port, host, 0, 0);
        self.arrivals[incoming(cable)] = numbers.add(of_arrival, host, incoming(cable), 0);
        let intake = config.intake.map(|own| (own, numbers.add(Intake, host, 0, 0)));
        let fabric = self.islands.fabric(number);
        let island = fabric.map(|fabric| (fabric, numbers.add(Island, host, 0, 0)));
        let timer = numbers.add(HostTimer, host, 0, 0);
        let nic = Transmitter::new(outgoing(cable) as u32, port, self.start);
        let mut host = Host::new(
            config.endpoint,
            nic,
            (number, timer),
            incoming(cable) as u32,
            config.wire,
            self.start,
            Trace::new(self.traces),
        );
        host.failures = failures.unwrap_or_default();
        if let Some((own, component)) = intake {
            host.set_intake(own, component);
        }
        if let Some((fabric, component)) = island {
            host.set_berth(Berth::new(&self.islands, fabric, self.start));
            self.parcels.inboxes.insert(number, Inbox::new(component));
        }
        host
    }

    #[expect(clippy::cast_possible_truncation, reason = "switches and ports are bounded")]
    fn switch(&mut self, config: &SwitchConfig, place: SwitchPlace<'_>, routes: Routes) -> Switch {
        use ComponentKind::{
            SwitchArrival, SwitchChange, SwitchInterval, SwitchPort, SwitchWatchdog,
        };
        let SwitchPlace { number: switch, cables, headroom, bursts, seed } = place;
        let failures = self.agendas.of_node(Node::Switch(switch as u32));
        let numbers = &mut self.numbers;
        if failures.is_some() {
            numbers.add(SwitchChange, switch, 0, 0);
        }
        numbers.add(SwitchInterval, switch, 0, 0);
        numbers.add(SwitchWatchdog, switch, 0, 0);
        let is_traced = self.traces.queues || self.traces.packets;
        let ahead = if is_traced { 0 } else { config.look_ahead };
        let at_departure = config.thresholds_at_departure();
        let mut out = Vec::with_capacity(cables.len());
        for (number, &(cable, rate)) in cables.iter().enumerate() {
            let component = numbers.add(SwitchPort, switch, 0, number);
            let transmitter = Transmitter::new(outgoing(cable) as u32, component, self.start);
            let random = |class: u64| {
                generator(seed, purpose::QUEUE_MANAGEMENT, &[switch as u64, number as u64, class])
            };
            let queues = config.classes.iter().map(|class| class.discipline.start());
            let mut port = Port::new(transmitter, queues, config.scheduler(), self.start);
            for (class, settings) in (0..).zip(&config.classes) {
                if let Some(settings) = &settings.management {
                    let law = settings.start(rate, random(class.into()));
                    port.manage(class, law, settings.is_of_whole_port());
                }
            }
            if let Some(feedback) = &config.feedback {
                port.answer_with(feedback.start(rate), feedback.listens());
            }
            if let Some(thresholds) = &at_departure {
                port.mark_at_departure(thresholds.clone());
            }
            port.look_ahead(ahead);
            if let Some(&burst) = bursts.get(number) {
                port.shape(rate, burst);
            }
            out.push(port);
        }
        for (port, (cable, _)) in cables.iter().enumerate() {
            self.arrivals[incoming(cable)] =
                numbers.add(SwitchArrival, switch, incoming(cable), port);
        }
        let buffer = SharedBuffer::new(config.buffer(), &headroom);
        let watchdog =
            config.watchdog.map(|watchdog| Watchdog::new(watchdog.after, watchdog.drops));
        let trace = Trace::new(self.traces);
        let thresholds = config.ecn_thresholds(Moment::Arrival);
        let mut switch = Switch::new(out, routes, buffer, thresholds, watchdog, self.start, trace);
        switch.ecn_of_port = config.ecn_of_port;
        // Where a connection's packets may take several paths, or are lost on links, any of them
        // may be missing or overtaken.
        switch.has_dropped = config.several_paths || self.disquiets;
        let marked_alone = thresholds.iter().any(|&threshold| threshold < config.largest_packet);
        if ahead > 0 && !config.several_paths && !marked_alone {
            switch.set_plain();
        } else if !is_traced && bursts.is_empty() && !marked_alone {
            switch.set_judges_alone();
        }
        switch.failures = failures.unwrap_or_default();
        switch
    }
}

impl SwitchConfig {
    fn buffer(&self) -> BufferConfig {
        let classes = self.classes.iter().map(|class| class.limits).collect();
        let (total, largest_packet) = (self.buffer, self.largest_packet);
        BufferConfig { total, classes, port_limit: self.port_limit, largest_packet, pfc: self.pfc }
    }

    /// The ECN thresholds by class of packets that are judged at this moment. The queue of a class
    /// without a threshold never reaches its entry.
    fn ecn_thresholds(&self, at: Moment) -> [u64; MOST_CLASSES] {
        let mut thresholds = [u64::MAX; MOST_CLASSES];
        for (threshold, class) in thresholds.iter_mut().zip(&self.classes) {
            *threshold = class.ecn_threshold.filter(|_| class.ecn_at == at).unwrap_or(u64::MAX);
        }
        thresholds
    }

    /// The ECN thresholds of packets that leave, if a class has one.
    fn thresholds_at_departure(&self) -> Option<Thresholds> {
        let bytes = self.ecn_thresholds(Moment::Departure);
        let any = bytes.iter().any(|&threshold| threshold < u64::MAX);
        any.then_some(Thresholds { bytes, of_port: self.ecn_of_port })
    }

    fn scheduler(&self) -> Scheduler {
        let weights: Vec<_> = self.classes.iter().map(|class| class.weight).collect();
        Scheduler::new(&weights, self.largest_packet)
    }
}

/// The number of full packets that all links together carry in a microsecond.
fn packets_per_us(topology: &Topology) -> f64 {
    let rates = topology.cables.iter().flat_map(|cable| cable.rates);
    let bps: f64 = rates.map(|rate| rate.as_bps() as f64).sum();
    bps / (1_500.0 * 8.0) / 1e6
}

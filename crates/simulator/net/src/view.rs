//! The read-only view of a network: what a report may see of hosts, switches, ports and links.

use incast_cc::{Hop, Rate, Span, Time};
use incast_plan::application::Application;
use incast_transport::Endpoint;

use super::count::{Count, PortCounters};
use super::dead_lock::DeadLock;
use super::failure::{Failures, Losses};
use super::frame::Frame;
use super::host::{Begun, Delivery, Host, Posted};
use super::metrics::Histogram;
use super::port::Port;
use super::switch::Switch;
use super::trace::{FlowRow, GaugeRow, PacketRow, PauseRow, QueueRow};
use super::transmitter::Transmitter;
use super::watchdog::Held;
use super::{Network, Transit};

/// The lengths of all queues of a port together since measurement started, in bytes, weighted by
/// time. A length is NaN where nothing was measured.
#[derive(Clone, Copy, Debug)]
pub struct QueueLengths {
    /// The mean length.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The greatest length.
    pub max: f64,
}

impl Network {
    /// The hosts, by number.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Notes all messages that hosts will post before `end` as posted, and sends none. Returns
    /// whether they are known: applications post when something has arrived.
    pub fn only_post(&mut self, end: Time) -> bool {
        let is_planned = self.hosts.iter().all(|host| host.applications.is_empty());
        if is_planned {
            self.hosts.iter_mut().for_each(|host| host.only_post(end));
        }
        is_planned
    }

    /// Whether all messages of known size have been acknowledged, and no host posts more by itself.
    pub fn has_drained(&self) -> bool {
        self.hosts.iter().all(Host::rests)
            && self.hosts.iter().map(|host| host.outstanding).sum::<i64>() == 0
    }

    /// The switches, by number.
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The ports of all switches, switch by switch.
    pub fn ports(&self) -> impl Iterator<Item = &Port> + Clone {
        self.switches.iter().flat_map(|switch| switch.ports.behind())
    }

    /// The senders of all links: NICs, then ports of switches.
    pub fn transmitters(&self) -> impl Iterator<Item = &Transmitter> {
        let ports = self.ports().map(|port| &port.transmitter);
        self.hosts.iter().map(|host| &host.nic).chain(ports)
    }

    /// The moment up to which the network has run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of events handled so far.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Whether an oracle sees all queues at once.
    pub const fn has_oracle(&self) -> bool {
        self.oracle.is_some()
    }

    /// The dead-locks that were found, in the order of time.
    pub fn dead_locks(&self) -> &[DeadLock] {
        &self.dead_locks
    }

    /// The present rate of a link.
    pub fn rate(&self, link: u32) -> Rate {
        self.transit.links[link as usize].rate()
    }

    /// Data packets, ACKs and control packets in queues, on links and in the buffers of slow hosts,
    /// without PFC frames.
    pub fn in_flight(&self) -> Count {
        let mut count = Count::default();
        let slow = self.hosts.iter().filter_map(|host| host.intake.as_ref());
        let waiting = slow.flat_map(|intake| intake.packets());
        let frames = self.ports().flat_map(Port::queued).chain(self.flying()).chain(waiting);
        frames.filter(|frame: &&Frame| !frame.is_pfc()).for_each(|frame| count.add(frame.wire));
        count
    }

    /// The last telemetry stamp of each data packet on a link, with the link's number.
    pub fn last_stamps(&self) -> impl Iterator<Item = (u32, Hop)> {
        let Transit { links, packets, .. } = &self.transit;
        links.iter().flat_map(move |link| {
            let stamps = link.flying().filter_map(|frame| packets.last_stamp(frame));
            stamps.map(|hop| (link.number(), hop))
        })
    }

    /// Packets lost by failures of links, without those that waited for a failed link.
    pub fn lost(&self) -> impl Iterator<Item = Count> {
        self.failures().flat_map(Failures::lost)
    }

    /// The backlog of the switch port with the longest queue at this moment, in bytes.
    pub fn longest_queue(&mut self) -> u64 {
        let Self { switches, transit, now, .. } = self;
        let backlogs = switches.iter_mut().flat_map(|switch| {
            switch.catch_up_until(*now, false, transit);
            switch.ports.behind().iter().map(Port::backlog_bytes)
        });
        backlogs.max().unwrap_or(0)
    }

    /// The queue lengths of every port of every switch since measurement started.
    pub fn queue_lengths(&mut self) -> Vec<QueueLengths> {
        let now = self.now;
        let ports = self.switches.iter_mut().flat_map(|switch| switch.ports.behind_mut());
        let lengths = |port: &mut Port| {
            let lengths = port.occupancy.finish(now);
            QueueLengths {
                mean: lengths.mean().unwrap_or(f64::NAN),
                p50: lengths.quantile(0.5).unwrap_or(f64::NAN),
                p95: lengths.quantile(0.95).unwrap_or(f64::NAN),
                p99: lengths.quantile(0.99).unwrap_or(f64::NAN),
                max: if lengths.total() > 0 { lengths.max() as f64 } else { f64::NAN },
            }
        };
        ports.map(lengths).collect()
    }
}

impl Host {
    /// The transport.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The sender of the host's link.
    pub const fn nic(&self) -> &Transmitter {
        &self.nic
    }

    /// The applications.
    pub fn applications(&self) -> &[Box<dyn Application>] {
        &self.applications
    }

    /// The messages that were posted, in the order of time for each flow.
    pub fn posted(&self) -> &[Posted] {
        &self.posted
    }

    /// The time that a posted message had from posting to completion, where it had a deadline.
    pub fn deadline(&self, posted: &Posted) -> Option<Span> {
        self.deadlines.get(posted.deadline)
    }

    /// The messages and requests whose first packet has left.
    pub fn begun(&self) -> &[Begun] {
        &self.begun
    }

    /// The messages that have arrived.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    /// Packets that the host sent over the whole run.
    pub const fn sent(&self) -> Count {
        self.sent
    }

    /// Packets that the host received over the whole run.
    pub const fn received(&self) -> Count {
        self.received
    }

    /// RTT samples of short flows since measurement started, in nanoseconds.
    pub const fn rtt(&self) -> &Histogram {
        &self.rtt
    }

    /// The number of all RTT samples of payload so far, warm-up included, and their sum in
    /// nanoseconds.
    pub fn all_rtts(&self) -> (u64, u64) {
        self.tallies()
            .iter()
            .fold((self.early_samples, self.early_sum_ns), |(samples, sum), one| {
                (samples + one.samples, sum + one.sum_ns)
            })
    }

    /// The one-way delays of data packets that arrived since measurement started, by traffic, in
    /// nanoseconds.
    pub fn delays(&self) -> &[Histogram] {
        &self.delays
    }

    /// The connections that carry the payload of lasting flows.
    pub fn lasting(&self) -> &[u32] {
        &self.lasting
    }

    /// For each interval and lasting connection: the payload received so far, and the sending rate.
    pub fn series(&self) -> &[(u64, Rate)] {
        &self.series
    }

    /// The PFC pauses that a slow host sent since measurement started, and the most bytes that have
    /// waited in its buffer.
    pub fn slow(&self) -> Option<(u64, u64)> {
        self.intake.as_ref().map(|intake| (intake.pauses(), intake.most()))
    }

    /// Losses at the host's port.
    pub fn losses(&self) -> Losses {
        self.failures.losses(0)
    }

    /// The trace of RTT samples.
    pub fn flow_trace(&self) -> &[FlowRow] {
        &self.trace.flows
    }

    /// The trace of gauges.
    pub fn gauge_trace(&self) -> &[GaugeRow] {
        &self.trace.gauges
    }

    /// The trace of packets.
    pub fn packet_trace(&self) -> &[PacketRow] {
        &self.trace.packets
    }
}

impl Switch {
    /// The ports, by number.
    pub fn ports(&self) -> &[Port] {
        self.ports.behind()
    }

    /// For each interval and port: the mean and the greatest length of its queues, in bytes.
    pub fn series(&self) -> &[(f64, u64)] {
        &self.series
    }

    /// Losses at a port.
    pub fn losses(&self, port: usize) -> Losses {
        self.failures.losses(port)
    }

    /// The packets of protected classes that found the headroom full: the port that they came in
    /// at, their class and their number, where there are any.
    pub fn overflows(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        self.buffer.overflows()
    }

    /// The reports of the switch's PFC watchdog, in the order of time.
    pub fn watchdog_reports(&self) -> &[Held] {
        self.watchdog.as_ref().map_or(&[], |watchdog| &watchdog.reports)
    }

    /// The trace of PFC frames.
    pub fn pause_trace(&self) -> &[PauseRow] {
        &self.trace.pauses
    }

    /// The trace of queue lengths.
    pub fn queue_trace(&self) -> &[QueueRow] {
        &self.trace.queues
    }

    /// The trace of packets.
    pub fn packet_trace(&self) -> &[PacketRow] {
        &self.trace.packets
    }
}

impl Port {
    /// Counts of drops, trims, marks and pauses.
    pub const fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// The sender of the port's link.
    pub const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }
}

impl Transmitter {
    /// Whether PFC pauses a traffic class or more at this moment.
    pub const fn is_held(&self) -> bool {
        self.holds_any()
    }

    /// The number of the port's link.
    pub const fn link(&self) -> u32 {
        self.link
    }
}

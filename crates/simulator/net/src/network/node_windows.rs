//! The choice between slots and windows of nodes.

use incast_cc::Span;

use super::Network;
use crate::calendar::WindowLengths;
use crate::link::Link;

/// The number of links from which a network's data is not in the caches anyway.
const LARGE: usize = 1_000;

/// The fewest packets for each node, of 1,500 B, that all links together can carry in a window, for
/// node windows in a network of `links`. With fewer, turns cost more than they bring
/// (docs/internals/performance.md).
const fn fewest_packets(links: usize) -> f64 {
    match links {
        0..64 => 10.0, // everything is near the processor in any order
        64..LARGE => 2.5,
        _ => 6.0, // slots look ahead
    }
}

/// The most packets that all links together can carry in a window. A run that is to stop goes on to
/// the end of the window.
const MOST_PACKETS: f64 = 1e6;

/// The longest window. The calendar counts picoseconds within a window in 32 bits.
const LONGEST: Span = Span::from_us(4_000);

impl Network {
    /// Whether nodes have enough to do in a window to handle their events alone.
    pub(crate) fn is_dense(&self) -> bool {
        let nodes = self.hosts.len() + self.switches.len();
        let window = self.window_lengths().most;
        let packets = self.transit.calendar.per_us() * window.as_us_f64();
        packets >= fewest_packets(self.transit.links.len()) * nodes as f64
    }

    /// Whether the network's data is too much for the processor's caches.
    pub(super) fn is_large(&self) -> bool {
        self.transit.links.len() >= LARGE
    }

    /// Makes each node handle its events of a window alone, or makes all events come in the order
    /// of time. The events are the same, and so are results. An oracle, which sees all queues at
    /// one instant, forbids windows.
    pub fn set_node_windows(&mut self, on: bool) {
        if on == self.has_node_windows() || on && self.has_oracle() {
            return;
        }
        let lengths = on.then(|| self.window_lengths());
        let calendar = self.transit.calendar.changed(&self.components, lengths, self.now);
        let before = std::mem::replace(&mut self.transit.calendar, calendar);
        for id in (0..).take(self.components.len()) {
            self.transit.calendar.schedule(id, before.due(id));
        }
        self.let_hosts_run_ahead();
    }

    /// Whether each node handles its events of a window alone.
    pub const fn has_node_windows(&self) -> bool {
        self.transit.calendar.windows().is_some()
    }

    /// The lengths of windows: the least delay of a link or an island at most, and to the next look
    /// of the PFC watchdogs, which may look at all switches.
    fn window_lengths(&self) -> WindowLengths {
        let latencies = self.hosts.iter().filter_map(|host| host.berth.as_ref());
        let latencies = latencies.map(|berth| berth.latency().1);
        let delays = self.transit.links.iter().map(Link::delay).chain(latencies);
        let bounded_ps = MOST_PACKETS / self.transit.calendar.per_us() * 1e6;
        #[expect(clippy::cast_possible_truncation, reason = "a length of time, saturating")]
        #[expect(clippy::cast_sign_loss, reason = "above zero")]
        let bounded = Span::from_ps(bounded_ps as u64);
        let most = delays.fold(LONGEST.min(bounded), Span::min).max(Span::from_ps(1));
        WindowLengths { most, between_looks: self.watch_period() }
    }
}

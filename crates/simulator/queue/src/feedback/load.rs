//! The load of one port, as laws that listen count it.

use incast_cc::Rate;

use super::Departure;

/// The load of one port: the capacity of its link, the bytes that have arrived and those that wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortLoad {
    /// The link's rate in bytes per second.
    pub(super) capacity: f64,
    /// The bytes that have arrived since the count began.
    pub(super) arrived: f64,
    /// The bytes that wait.
    pub(super) queued: f64,
}

impl PortLoad {
    /// An idle port onto a link of `rate`.
    pub(super) fn new(rate: Rate) -> Self {
        Self { capacity: bytes_per_second(rate), arrived: 0.0, queued: 0.0 }
    }

    /// Counts a packet that arrives behind `queued` bytes.
    pub(super) fn on_arrival(&mut self, queued: u64, wire: u64) {
        self.arrived += wire as f64;
        self.queued = (queued + wire) as f64;
    }

    /// Takes over what a packet that leaves tells.
    pub(super) fn on_departure(&mut self, departure: &Departure) {
        self.queued = departure.queued as f64;
        self.capacity = bytes_per_second(departure.rate);
    }

    /// The bytes that have arrived. A new count begins.
    pub(super) fn take_arrived(&mut self) -> f64 {
        std::mem::take(&mut self.arrived)
    }

    /// Whether nothing has arrived since the count began, and nothing waits.
    pub(super) fn is_still(&self) -> bool {
        self.arrived + self.queued <= 0.0
    }
}

fn bytes_per_second(rate: Rate) -> f64 {
    (rate.as_bps() as f64 / 8.0).max(1.0)
}

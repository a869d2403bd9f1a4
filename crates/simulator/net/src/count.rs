//! Counts of packets: sent, received, lost, dropped.

/// Packets and their bytes on the wire, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, wire: u16) {
        self.add_several(wire, 1);
    }

    /// Adds packets of one size.
    #[inline]
    pub(crate) fn add_several(&mut self, wire: u16, packets: u32) {
        self.packets += u64::from(packets);
        self.bytes += u64::from(wire) * u64::from(packets);
    }

    /// Takes a packet out that was added.
    pub(crate) fn remove(&mut self, wire: u16) {
        self.packets -= 1;
        self.bytes -= u64::from(wire);
    }
}

/// The reason why a switch dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The shared buffer was full.
    NoRoom,
    /// The packet's queue or port had reached its limit.
    Limit,
    /// More arrived after a PFC pause than the headroom holds.
    Headroom,
    /// Queue management dropped it.
    Aqm,
    /// The link was down.
    Link,
    /// The PFC watchdog freed a class that was held too long.
    Watchdog,
}

impl DropCause {
    /// The number of causes.
    pub const COUNT: usize = 6;
}

/// Counters of drops, trims, marks and pauses at one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounters {
    /// Packets dropped over the whole run, by [`DropCause`].
    pub drops: [u64; DropCause::COUNT],
    /// Their bytes on the wire.
    pub dropped_bytes: u64,
    /// Packets cut to their headers over the whole run.
    pub trims: u64,
    /// The bytes on the wire that were cut off.
    pub trimmed_bytes: u64,
    /// Packets marked since measurement started.
    pub marks: u64,
    /// PFC pauses sent to the far end since measurement started.
    pub pauses: u64,
}

impl PortCounters {
    /// Counts a dropped packet.
    pub(crate) fn dropped(&mut self, cause: DropCause, wire: u64) {
        self.drops[cause as usize] += 1;
        self.dropped_bytes += wire;
    }

    /// Counts a packet that is cut, and loses so many bytes.
    pub(crate) fn trimmed(&mut self, bytes: u64) {
        self.trims += 1;
        self.trimmed_bytes += bytes;
    }

    /// All dropped packets, whatever the cause.
    pub fn all_drops(&self) -> u64 {
        self.drops.iter().sum()
    }
}

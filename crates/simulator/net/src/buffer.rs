//! The shared buffer of a switch: which packets are stored, and when PFC pauses a sender.
//!
//! The buffer has two parts. Each ingress port has its own headroom for each class that PFC
//! protects; the rest is shared. The headroom takes the packets that are on their way when the port
//! sends a pause.
//!
//! * With PFC, a class may hold up to a threshold of the shared part at an ingress port. Beyond it
//!   the port pauses its sender, and further packets go to the headroom. Nothing is dropped if the
//!   headroom covers the round trip.
//! * Without PFC, an egress queue, and all queues of an egress port together, may hold up to a
//!   threshold. Beyond it packets are dropped.
//!
//! The threshold is fixed, or dynamic: `alpha` times the free space (Choudhury and Hahne, 1998).

use incast_cc::Fraction;

use super::count::DropCause;
use super::instant::AllCurrent;
use super::prefetch::prefetch;

/// The settings of a shared buffer.
#[derive(Clone, Debug)]
pub(crate) struct BufferConfig {
    /// The size of the buffer, in bytes.
    pub(crate) total: u64,
    /// The limits of each class.
    pub(crate) classes: Box<[ClassLimits]>,
    /// The most bytes of all queues of an egress port, for classes that PFC does not protect.
    pub(crate) port_limit: Option<u64>,
    /// The size of the largest packet, in bytes.
    pub(crate) largest_packet: u64,
    /// PFC, for the classes that it protects.
    pub(crate) pfc: Option<PfcConfig>,
}

/// The limits of one class.
#[derive(Clone, Copy, Debug)]
pub struct ClassLimits {
    /// Whether PFC protects the class, so that it has no limits.
    pub protected: bool,
    /// The dynamic threshold's factor for egress queues.
    pub alpha: Fraction,
    /// The most bytes of one egress queue, in place of the dynamic threshold.
    pub queue_limit: Option<u64>,
}

/// The thresholds of PFC.
#[derive(Clone, Copy, Debug)]
pub struct PfcConfig {
    /// The dynamic threshold's factor for ingress ports, the same for each class.
    pub alpha: Fraction,
    /// A fixed threshold in bytes, in place of the dynamic one.
    pub xoff: Option<u64>,
    /// The distance below the threshold at which the sender may resume, in bytes.
    pub xon_offset: u64,
}

/// An arriving packet, and the backlog at its egress port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) ingress: u16,
    pub(crate) class: u8,
    /// The packet's bytes on the wire.
    pub(crate) wire: u64,
    /// Bytes in the packet's queue.
    pub(crate) queue: u64,
    /// Bytes in all queues of the egress port.
    pub(crate) port: u64,
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Stored,
    /// The packet is stored, and its sender must pause the class.
    StoredPause,
    Dropped(DropCause),
}

/// PFC's account of one class at one ingress port, in bytes. Small: several fit a cache line.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    shared: u32,
    headroom: u32,
    /// The size of the headroom in bytes: the most that `headroom` may reach.
    reserved: u32,
    /// Whether PFC protects the class. Kept beside the counts, so that one look-up finds both.
    protected: bool,
    paused: bool,
}

#[derive(Debug)]
pub(crate) struct SharedBuffer {
    used: u64,
    sure: SureBounds,
    /// The number of paused classes of ingress ports.
    paused: u32,
    /// Whether PFC protects a class.
    protects: bool,
    /// The classes of each ingress port, port by port.
    ingress: Box<[Ingress]>,
    /// The packets of each class of each ingress port that found its headroom full.
    overflows: Box<[u64]>,
    /// The size of the shared part in bytes: the buffer without the headroom.
    capacity: u64,
    config: BufferConfig,
}

/// Bounds in bytes, each with the packet that arrives: below them it has room, whatever the limits
/// of its class are at this moment. So nearly all packets are admitted by fixed numbers. Beyond a
/// bound the limits themselves decide.
#[derive(Clone, Copy, Debug)]
struct SureBounds {
    /// The bytes in the shared part.
    used: u64,
    /// The bytes that wait at an egress port, without a packet that is just leaving.
    port: u32,
    /// The bytes of a protected class at an ingress port.
    ingress: u32,
}

impl SureBounds {
    /// The bounds of a buffer with a shared part of `capacity` bytes. Dynamic thresholds
    /// are taken at half of the capacity in use.
    fn new(config: &BufferConfig, capacity: u64) -> Self {
        let lossy = || config.classes.iter().filter(|class| !class.protected);
        let fixed = lossy().all(|class| class.queue_limit.is_some())
            && config.pfc.is_none_or(|pfc| pfc.xoff.is_some());
        let used = if fixed { capacity } else { capacity / 2 };
        let dynamic = |alpha| dynamic_threshold(alpha, capacity - used);
        let queue = lossy().map(|class| class.queue_limit.unwrap_or_else(|| dynamic(class.alpha)));
        let port = queue.chain(config.port_limit).min().unwrap_or(u64::MAX);
        let ingress = config.pfc.map_or(0, |pfc| pfc.xoff.unwrap_or_else(|| dynamic(pfc.alpha)));
        let bound = |bytes| u32::try_from(bytes).unwrap_or(u32::MAX);
        let port = bound(port.saturating_sub(config.largest_packet));
        Self { used, port, ingress: bound(ingress) }
    }
}

/// The dynamic threshold where `free` bytes of the shared part are free.
#[inline]
fn dynamic_threshold(alpha: Fraction, free: u64) -> u64 {
    let threshold = (u128::from(free) * u128::from(alpha.bits())) >> Fraction::BITS;
    u64::try_from(threshold).unwrap_or(u64::MAX)
}

impl SharedBuffer {
    /// A buffer whose ingress ports keep the given headroom for each protected class.
    pub(crate) fn new(config: BufferConfig, headroom: &[u64]) -> Self {
        let by_class = |&bytes: &u64| {
            config.classes.iter().map(move |&ClassLimits { protected, .. }| {
                let reserved = if protected { u32::try_from(bytes).unwrap_or(u32::MAX) } else { 0 };
                Ingress { reserved, protected, ..Ingress::default() }
            })
        };
        let ingress: Box<[_]> = headroom.iter().flat_map(by_class).collect();
        let reserved: u64 = ingress.iter().map(|ingress| u64::from(ingress.reserved)).sum();
        let capacity = config.total.saturating_sub(reserved);
        let sure = SureBounds::new(&config, capacity);
        let protects = config.classes.iter().any(|class| class.protected);
        let overflows = vec![0; ingress.len()].into();
        Self { used: 0, sure, paused: 0, protects, ingress, overflows, capacity, config }
    }

    /// The dynamic threshold at this moment: of a class at an ingress port with PFC, or at an
    /// egress port without.
    #[inline]
    fn dynamic_threshold(&self, alpha: Fraction) -> u64 {
        self.threshold_with(alpha, self.used)
    }

    /// The dynamic threshold if `used` bytes were in the shared part.
    #[inline]
    fn threshold_with(&self, alpha: Fraction, used: u64) -> u64 {
        dynamic_threshold(alpha, self.capacity - used)
    }

    #[inline]
    fn pfc_threshold(&self, pfc: &PfcConfig) -> u64 {
        pfc.xoff.unwrap_or_else(|| self.dynamic_threshold(pfc.alpha))
    }

    /// Brings the account of a class at an ingress port into the caches.
    #[inline]
    pub(crate) fn touch(&self, ingress: u16, class: u8) {
        prefetch(&self.ingress[self.ingress_index(ingress, class)]);
    }

    /// Whether there is room for a packet, even if the books of other ports are behind: a departure
    /// that they miss can only make room.
    #[inline]
    pub(crate) fn has_room(&self, arrival: &Arrival) -> bool {
        let &Arrival { wire, ingress, class, queue, port } = arrival;
        if self.used + wire > self.capacity {
            return false;
        }
        let ingress = &self.ingress[self.ingress_index(ingress, class)];
        if ingress.protected {
            let threshold = self.config.pfc.map_or(0, |pfc| self.pfc_threshold(&pfc));
            ingress.headroom == 0 && u64::from(ingress.shared) + wire <= threshold
        } else {
            self.limit(class) >= queue + wire
                && self.config.port_limit.is_none_or(|limit| port + wire <= limit)
        }
    }

    /// Whether a packet has room by the fixed bounds, at an egress port where `backlog` bytes wait.
    /// The books may be behind, as for [`has_room`](Self::has_room).
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    fn fits_surely(&self, (ingress, class): (u16, u8), wire: u32, backlog: u32) -> bool {
        if self.used + u64::from(wire) > self.sure.used {
            return false;
        }
        let index = self.ingress_index(ingress, class);
        let fits = if self.protects && self.ingress[index].protected {
            let ingress = &self.ingress[index];
            ingress.headroom == 0 && ingress.shared + wire <= self.sure.ingress
        } else {
            backlog + wire <= self.sure.port
        };
        debug_assert!(
            !fits || {
                let queue = u64::from(backlog) + self.config.largest_packet;
                self.has_room(&Arrival { ingress, class, wire: wire.into(), queue, port: queue })
            }
        );
        fits
    }

    /// Whether a packet that leaves at once has room by the fixed bounds, and changes nothing. Its
    /// departure may let its sender resume, so no sender may be paused.
    #[expect(clippy::inline_always, reason = "in the way of every packet")]
    #[inline(always)]
    pub(crate) fn lets_pass(&self, ingress: (u16, u8), wire: u32) -> bool {
        self.paused == 0 && self.fits_surely(ingress, wire, 0)
    }

    /// Stores a packet that has room by the fixed bounds, at an egress port where `backlog` bytes
    /// wait; returns whether it is stored.
    #[expect(clippy::inline_always, reason = "in the way of every packet that waits")]
    #[inline(always)]
    pub(crate) fn store_surely(
        &mut self,
        (ingress, class): (u16, u8),
        wire: u32,
        backlog: u32,
    ) -> bool {
        let fits = self.fits_surely((ingress, class), wire, backlog);
        if fits {
            if self.protects {
                let index = self.ingress_index(ingress, class);
                let ingress = &mut self.ingress[index];
                ingress.shared += if ingress.protected { wire } else { 0 };
            }
            self.used += u64::from(wire);
        }
        fits
    }

    /// Whether a packet of a class that PFC does not protect would have room if its queue held
    /// `spare` bytes less.
    pub(crate) fn would_fit(&self, arrival: &Arrival, spare: u64, _: AllCurrent<'_>) -> bool {
        let &Arrival { wire, ingress, class, queue, port } = arrival;
        if self.ingress[self.ingress_index(ingress, class)].protected {
            return false; // the ingress port's limits hold
        }
        let (limits, used) = (&self.config.classes[class as usize], self.used - spare);
        let limit = limits.queue_limit.unwrap_or_else(|| self.threshold_with(limits.alpha, used));
        used + wire <= self.capacity
            && queue - spare + wire <= limit
            && self.config.port_limit.is_none_or(|limit| port - spare + wire <= limit)
    }

    /// Stores a packet if [there is room](Self::has_room); returns whether it is stored.
    #[inline]
    pub(crate) fn admit_surely(&mut self, arrival: &Arrival) -> bool {
        let has_room = self.has_room(arrival);
        if has_room {
            let index = self.ingress_index(arrival.ingress, arrival.class);
            let ingress = &mut self.ingress[index];
            ingress.shared += if ingress.protected { bytes(arrival.wire) } else { 0 };
            self.used += arrival.wire;
        }
        has_room
    }

    /// The most bytes of an egress queue of a class that PFC does not protect.
    #[inline]
    fn limit(&self, class: u8) -> u64 {
        let limits = &self.config.classes[class as usize];
        limits.queue_limit.unwrap_or_else(|| self.dynamic_threshold(limits.alpha))
    }

    /// Decides about a packet when all books are up to date.
    #[inline]
    pub(crate) fn admit(&mut self, arrival: Arrival, _: AllCurrent<'_>) -> Admission {
        let Arrival { wire, ingress, class, .. } = arrival;
        let fits = self.used + wire <= self.capacity;
        let index = self.ingress_index(ingress, class);
        if self.ingress[index].protected {
            return self.admit_protected(arrival, index, fits);
        }
        if !fits {
            return Admission::Dropped(DropCause::NoRoom);
        }
        if arrival.queue + wire > self.limit(class)
            || self.config.port_limit.is_some_and(|limit| arrival.port + wire > limit)
        {
            return Admission::Dropped(DropCause::Limit);
        }
        self.used += wire;
        Admission::Stored
    }

    #[inline]
    fn admit_protected(&mut self, arrival: Arrival, index: usize, fits: bool) -> Admission {
        let Arrival { wire, .. } = arrival;
        let threshold = self.config.pfc.map_or(0, |pfc| self.pfc_threshold(&pfc));
        let ingress = &mut self.ingress[index];
        let below = ingress.headroom == 0 && u64::from(ingress.shared) + wire <= threshold;
        if below && fits {
            ingress.shared += bytes(wire);
            self.used += wire;
            return Admission::Stored;
        }
        if u64::from(ingress.headroom) + wire > u64::from(ingress.reserved) {
            return Admission::Dropped(DropCause::Headroom);
        }
        ingress.headroom += bytes(wire);
        if std::mem::replace(&mut ingress.paused, true) {
            return Admission::Stored;
        }
        self.paused += 1;
        Admission::StoredPause
    }

    /// Frees the space of a packet of `class` that came in at `port`. Returns whether its sender
    /// may resume.
    #[inline]
    pub(crate) fn release(&mut self, port: u16, class: u8, wire: u64) -> bool {
        if self.protects {
            let index = self.ingress_index(port, class);
            let ingress = &mut self.ingress[index];
            if ingress.paused || ingress.headroom > 0 {
                return self.release_from_headroom(index, wire);
            }
            ingress.shared -= if ingress.protected { bytes(wire) } else { 0 };
        }
        self.used -= wire;
        false
    }

    /// Frees the space of a packet where the headroom may hold some.
    #[inline(never)]
    fn release_from_headroom(&mut self, index: usize, wire: u64) -> bool {
        let ingress = &mut self.ingress[index];
        let from_headroom = ingress.headroom.min(bytes(wire));
        ingress.headroom -= from_headroom;
        ingress.shared -= bytes(wire) - from_headroom;
        self.used -= wire - u64::from(from_headroom);
        ingress.paused && self.may_resume(index)
    }

    /// Counts a dropped packet of `class` that came in at `port` and found the headroom full.
    pub(crate) fn overflow(&mut self, port: u16, class: u8) {
        self.overflows[self.ingress_index(port, class)] += 1;
    }

    /// The packets that found the headroom full: port, class and number, where there are any.
    pub(crate) fn overflows(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let classes = self.config.classes.len();
        let all = self.overflows.iter().enumerate().filter(|&(_, &packets)| packets > 0);
        all.map(move |(index, &packets)| (index / classes, index % classes, packets))
    }

    /// Forgets the pauses at a port whose link has failed: so has the far end.
    pub(crate) fn forget_pauses(&mut self, port: u16) {
        let classes = self.config.classes.len();
        let ingress = self.ingress.chunks_mut(classes).nth(port as usize);
        for ingress in ingress.into_iter().flatten() {
            self.paused -= u32::from(std::mem::replace(&mut ingress.paused, false));
        }
    }

    /// Whether any sender is paused, so that a departure may let it resume.
    #[inline]
    pub(crate) fn has_paused(&self) -> bool {
        self.paused > 0
    }

    /// Whether the sender of a class at an ingress port would stay paused if only the `stuck` bytes
    /// of each class were left, in the order of [`ingress_index`](Self::ingress_index).
    pub(crate) fn stays_paused(&self, port: u16, class: u8, stuck: &[u64]) -> bool {
        let index = self.ingress_index(port, class);
        let (Some(pfc), true) = (self.config.pfc, self.ingress[index].paused) else { return false };
        let shared =
            self.ingress.iter().zip(stuck).map(|(own, &stuck)| u64::from(own.shared).min(stuck));
        let threshold = pfc.xoff.unwrap_or_else(|| self.threshold_with(pfc.alpha, shared.sum()));
        let held = stuck[index];
        let below =
            held <= u64::from(self.ingress[index].shared) && held + pfc.xon_offset <= threshold;
        held > 0 && !below
    }

    /// The index of an ingress port's class among the classes of all ports.
    #[inline]
    pub(crate) fn ingress_index(&self, port: u16, class: u8) -> usize {
        port as usize * self.config.classes.len() + class as usize
    }

    /// The number of classes of all ingress ports.
    pub(crate) fn ingresses(&self) -> usize {
        self.ingress.len()
    }

    fn may_resume(&mut self, index: usize) -> bool {
        let Some(pfc) = self.config.pfc else { return false };
        let threshold = self.pfc_threshold(&pfc);
        let ingress = &mut self.ingress[index];
        let held = u64::from(ingress.shared) + u64::from(ingress.headroom);
        // An empty port resumes whatever the threshold: nothing else would ever wake it.
        let resume = held == 0 || (ingress.headroom == 0 && held + pfc.xon_offset <= threshold);
        if resume {
            ingress.paused = false;
            self.paused -= 1;
        }
        resume
    }
}

/// The bytes of a packet that count at an ingress port.
#[expect(clippy::cast_possible_truncation, reason = "a packet has at most 9,216 bytes")]
const fn bytes(wire: u64) -> u32 {
    wire as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: Admission = Admission::Stored;
    const ALL: AllCurrent<'static> = AllCurrent::WITHOUT_PORTS;

    /// A buffer of 12,000 bytes with two classes: PFC, where it is on, protects the first.
    fn config(pfc: Option<PfcConfig>) -> BufferConfig {
        let limits =
            ClassLimits { protected: pfc.is_some(), alpha: Fraction::ONE, queue_limit: None };
        let classes = [limits, ClassLimits { protected: false, ..limits }];
        BufferConfig {
            total: 12_000,
            classes: classes.into(),
            port_limit: None,
            largest_packet: 1_000,
            pfc,
        }
    }

    fn pfc(xoff: u64, xon_offset: u64) -> PfcConfig {
        PfcConfig { alpha: Fraction::ONE, xoff: Some(xoff), xon_offset }
    }

    /// A packet of 1,000 bytes of `class` that comes in at `ingress`. Its queue holds `queue`
    /// bytes, the other queues of the egress port are empty.
    fn arrival(ingress: u16, class: u8, queue: u64) -> Arrival {
        Arrival { ingress, class, wire: 1_000, queue, port: queue }
    }

    #[test]
    fn lossy_queue_gets_alpha_times_what_is_free() {
        let mut buffer = SharedBuffer::new(config(None), &[1_000; 2]);
        // With alpha = 1 one queue ends at half the buffer, with headroom or without.
        let mut queued = 0;
        while buffer.admit(arrival(0, 0, queued), ALL) == STORED {
            queued += 1_000;
        }
        assert_eq!(queued, 6_000);
        assert_eq!(buffer.admit(arrival(0, 0, queued), ALL), Admission::Dropped(DropCause::Limit));
        assert!(!buffer.release(0, 0, 1_000));
        assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), STORED, "another queue has room");
    }

    #[test]
    fn fixed_bounds_are_half_of_the_buffer_and_beyond_them_the_limits_decide() {
        let dynamic = PfcConfig { alpha: Fraction::ONE, xoff: None, xon_offset: 0 };
        for pfc in [None, Some(dynamic)] {
            let mut buffer = SharedBuffer::new(config(pfc), &[1_000; 2]);
            let mut queued = 0;
            while buffer.store_surely((0, 0), 1_000, queued) {
                queued += 1_000;
            }
            assert_eq!(queued, 5_000, "{pfc:?}");
            assert!(buffer.has_room(&arrival(1, 1, 0)));
            while buffer.store_surely((1, 1), 1_000, 0) {}
            assert!(!buffer.lets_pass((1, 1), 1_000));
            assert!(buffer.has_room(&arrival(1, 1, 0)), "{pfc:?}");
        }
    }

    #[test]
    fn full_buffer_has_no_room_whatever_the_limit() {
        let mut limits = config(None);
        limits.classes[0].queue_limit = Some(20_000);
        let mut buffer = SharedBuffer::new(limits, &[0; 1]);
        for queued in 0..12 {
            assert_eq!(buffer.admit(arrival(0, 0, queued * 1_000), ALL), STORED);
        }
        assert_eq!(buffer.admit(arrival(0, 0, 12_000), ALL), Admission::Dropped(DropCause::NoRoom));
    }

    #[test]
    fn port_limit_counts_all_classes() {
        let limits = BufferConfig { port_limit: Some(4_000), ..config(None) };
        let mut buffer = SharedBuffer::new(limits, &[0; 1]);
        let found = |port| Arrival { port, ..arrival(0, 1, 1_000) };
        assert_eq!(buffer.admit(found(3_000), ALL), STORED);
        assert_eq!(buffer.admit(found(3_001), ALL), Admission::Dropped(DropCause::Limit));
    }

    #[test]
    fn pause_at_the_threshold_headroom_after_it_resume_below() {
        let mut buffer = SharedBuffer::new(config(Some(pfc(3_000, 1_000))), &[2_000; 2]);
        for _ in 0..3 {
            assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), STORED);
        }
        assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), Admission::StoredPause);
        assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), STORED, "on its way: headroom");
        let dropped = Admission::Dropped(DropCause::Headroom);
        assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), dropped, "more than the headroom");
        assert_eq!(buffer.admit(arrival(1, 0, 0), ALL), STORED, "another port");
        let resumed: Vec<_> = (0..5).map(|_| buffer.release(0, 0, 1_000)).collect();
        assert_eq!(resumed, [false, false, true, false, false]);
    }

    #[test]
    fn empty_port_always_resumes() {
        let mut buffer = SharedBuffer::new(config(Some(pfc(500, 1_000))), &[2_000; 1]);
        assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), Admission::StoredPause);
        assert!(buffer.release(0, 0, 1_000));
    }

    #[test]
    fn class_without_protection_drops_beside_pfc() {
        let mut limits = config(Some(pfc(500, 0)));
        limits.classes[1].queue_limit = Some(2_000);
        let mut buffer = SharedBuffer::new(limits, &[2_000; 1]);
        assert_eq!(buffer.admit(arrival(0, 1, 1_000), ALL), STORED);
        assert_eq!(buffer.admit(arrival(0, 1, 2_000), ALL), Admission::Dropped(DropCause::Limit));
    }

    #[test]
    fn each_protected_class_of_a_port_pauses_alone_and_has_its_own_headroom() {
        let mut limits = config(Some(pfc(1_000, 0)));
        limits.classes[1].protected = true;
        let mut buffer = SharedBuffer::new(limits, &[1_000; 2]);
        // Two ports with two classes each keep 4,000 of the 12,000 bytes as headroom.
        assert_eq!(buffer.capacity, 8_000);
        for class in [0, 1] {
            assert_eq!(buffer.admit(arrival(0, class, 0), ALL), STORED);
        }
        for class in [0, 1] {
            assert_eq!(
                buffer.admit(arrival(0, class, 0), ALL),
                Admission::StoredPause,
                "class {class}"
            );
            let dropped = Admission::Dropped(DropCause::Headroom);
            assert_eq!(buffer.admit(arrival(0, class, 0), ALL), dropped, "class {class}");
        }
        assert!(buffer.release(0, 1, 1_000));
        assert_eq!(buffer.admit(arrival(0, 0, 0), ALL), Admission::Dropped(DropCause::Headroom));
    }
}

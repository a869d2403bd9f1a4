//! The shared buffer of a switch: who may store, and when the sender of it must pause.
//!
//! The buffer is cut in two. Each ingress port has headroom of its own for what is on its way when
//! it has said stop; the rest is shared. With PFC an ingress port may hold up to a threshold of the
//! shared part, then it pauses its sender and what still comes goes to the headroom: nothing is ever
//! dropped if the headroom covers the way there and back. Without PFC an egress queue may hold up to
//! a threshold, then it drops. The threshold is fixed, or dynamic: `alpha` times what is free (Choudhury
//! and Hahne, 1998).

use incast_cc::Fraction;

/// How a buffer is shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferConfig {
    /// Bytes in all.
    pub(crate) total: u64,
    /// The dynamic threshold's factor for egress queues that PFC does not protect.
    pub(crate) alpha: Fraction,
    /// PFC, for the data class.
    pub(crate) pfc: Option<PfcConfig>,
    /// Most bytes of one egress queue that PFC does not protect, instead.
    pub(crate) queue_limit: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PfcConfig {
    /// The dynamic threshold's factor for ingress ports.
    pub(crate) alpha: Fraction,
    /// A fixed threshold instead of the dynamic one.
    pub(crate) xoff: Option<u64>,
    /// How far below the threshold the sender may go on.
    pub(crate) xon_offset: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Stored,
    /// Stored, and the sender must pause.
    StoredPause,
    Dropped,
}

/// What PFC counts of one ingress port: the packets of the protected class.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    shared: u64,
    headroom: u64,
    /// Bytes that `headroom` may reach.
    reserved: u64,
    paused: bool,
}

#[derive(Debug)]
pub(crate) struct SharedBuffer {
    config: BufferConfig,
    /// Bytes that may be shared: all but the headroom.
    capacity: u64,
    used: u64,
    ports: Vec<Ingress>,
}

impl SharedBuffer {
    /// A buffer whose ingress ports keep the given headroom; without PFC nobody needs any.
    pub(crate) fn new(config: BufferConfig, headroom: &[u64]) -> Self {
        let keep = |bytes: u64| if config.pfc.is_some() { bytes } else { 0 };
        let ports: Vec<_> = headroom
            .iter()
            .map(|&bytes| Ingress { reserved: keep(bytes), ..Ingress::default() })
            .collect();
        let reserved: u64 = ports.iter().map(|port| port.reserved).sum();
        Self { config, capacity: config.total.saturating_sub(reserved), used: 0, ports }
    }

    /// What an ingress port, or without PFC an egress queue, may hold at this moment.
    #[inline]
    fn dynamic_threshold(&self, alpha: Fraction) -> u64 {
        let free = u128::from(self.capacity - self.used);
        let threshold = (free * u128::from(alpha.bits())) >> Fraction::BITS;
        u64::try_from(threshold).unwrap_or(u64::MAX)
    }

    #[inline]
    fn pfc_threshold(&self, pfc: &PfcConfig) -> u64 {
        pfc.xoff.unwrap_or_else(|| self.dynamic_threshold(pfc.alpha))
    }

    /// A packet of `wire` bytes has come in at `port`, bound for an egress queue that holds
    /// `queued` bytes; `protected` tells whether PFC covers its class.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        port: u16,
        wire: u64,
        queued: u64,
        protected: bool,
    ) -> Admission {
        let fits = self.used + wire <= self.capacity;
        if protected && let Some(pfc) = self.config.pfc {
            let threshold = self.pfc_threshold(&pfc);
            let ingress = &mut self.ports[port as usize];
            let below = ingress.headroom == 0 && ingress.shared + wire <= threshold;
            if below && fits {
                ingress.shared += wire;
                self.used += wire;
                return Admission::Stored;
            }
            if ingress.headroom + wire > ingress.reserved {
                return Admission::Dropped;
            }
            ingress.headroom += wire;
            if std::mem::replace(&mut ingress.paused, true) {
                return Admission::Stored;
            }
            return Admission::StoredPause;
        }
        let limit =
            self.config.queue_limit.unwrap_or_else(|| self.dynamic_threshold(self.config.alpha));
        if !fits || queued + wire > limit {
            return Admission::Dropped;
        }
        self.used += wire;
        Admission::Stored
    }

    /// A packet that came in at `port` has left. Returns whether its sender may go on now.
    #[inline]
    pub(crate) fn release(&mut self, port: u16, wire: u64, protected: bool) -> bool {
        if !protected || self.config.pfc.is_none() {
            self.used -= wire;
            return false;
        }
        let ingress = &mut self.ports[port as usize];
        let from_headroom = ingress.headroom.min(wire);
        ingress.headroom -= from_headroom;
        ingress.shared -= wire - from_headroom;
        self.used -= wire - from_headroom;
        ingress.paused && self.may_resume(port)
    }

    /// The link of a port has failed: whoever was told to pause there has forgotten it.
    pub(crate) fn forget_pause(&mut self, port: u16) {
        self.ports[port as usize].paused = false;
    }

    fn may_resume(&mut self, port: u16) -> bool {
        let Some(pfc) = self.config.pfc else { return false };
        let threshold = self.pfc_threshold(&pfc);
        let ingress = &mut self.ports[port as usize];
        let held = ingress.shared + ingress.headroom;
        // An empty port goes on whatever the threshold: nothing else would ever wake it.
        let resume = held == 0 || (ingress.headroom == 0 && held + pfc.xon_offset <= threshold);
        if resume {
            ingress.paused = false;
        }
        resume
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pfc: Option<PfcConfig>) -> BufferConfig {
        BufferConfig { total: 12_000, alpha: Fraction::ONE, pfc, queue_limit: None }
    }

    #[test]
    fn lossy_queue_gets_alpha_times_what_is_free() {
        let mut buffer = SharedBuffer::new(config(None), &[1_000; 2]);
        // With alpha = 1 one queue ends at half the buffer, headroom or not.
        let mut queued = 0;
        while buffer.admit(0, 1_000, queued, true) == Admission::Stored {
            queued += 1_000;
        }
        assert_eq!(queued, 6_000);
        assert!(!buffer.release(0, 1_000, true));
        assert_eq!(buffer.admit(0, 1_000, 0, true), Admission::Stored, "another queue has room");
    }

    #[test]
    fn pause_at_the_threshold_headroom_after_it_resume_below() {
        let pfc = PfcConfig { alpha: Fraction::ONE, xoff: Some(3_000), xon_offset: 1_000 };
        let mut buffer = SharedBuffer::new(config(Some(pfc)), &[2_000; 2]);
        for _ in 0..3 {
            assert_eq!(buffer.admit(0, 1_000, 0, true), Admission::Stored);
        }
        assert_eq!(buffer.admit(0, 1_000, 0, true), Admission::StoredPause);
        assert_eq!(buffer.admit(0, 1_000, 0, true), Admission::Stored, "on its way: headroom");
        assert_eq!(buffer.admit(0, 1_000, 0, true), Admission::Dropped, "more than the headroom");
        assert_eq!(buffer.admit(1, 1_000, 0, true), Admission::Stored, "another port");
        let resumed: Vec<_> = (0..5).map(|_| buffer.release(0, 1_000, true)).collect();
        assert_eq!(resumed, [false, false, true, false, false]);
    }

    #[test]
    fn empty_port_always_resumes() {
        let pfc = PfcConfig { alpha: Fraction::ONE, xoff: Some(500), xon_offset: 1_000 };
        let mut buffer = SharedBuffer::new(config(Some(pfc)), &[2_000; 1]);
        assert_eq!(buffer.admit(0, 1_000, 0, true), Admission::StoredPause);
        assert!(buffer.release(0, 1_000, true));
    }

    #[test]
    fn class_without_protection_drops_beside_pfc() {
        let pfc = PfcConfig { alpha: Fraction::ONE, xoff: Some(500), xon_offset: 0 };
        let limits = BufferConfig { queue_limit: Some(2_000), ..config(Some(pfc)) };
        let mut buffer = SharedBuffer::new(limits, &[2_000; 1]);
        assert_eq!(buffer.admit(0, 1_000, 1_000, false), Admission::Stored);
        assert_eq!(buffer.admit(0, 1_000, 2_000, false), Admission::Dropped);
    }
}

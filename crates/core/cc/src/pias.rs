//! PIAS: the more a message has sent, the lower is the class of its packets, over DCTCP.
//!
//! Bai, Chen, Chen, Han, Tian and Wang, "Information-Agnostic Flow Scheduling for Commodity Data
//! Centers", NSDI 2015. Nobody needs to know how long a message is: each begins in the highest of
//! up to eight classes that switches serve strictly, and falls by one class whenever the bytes that
//! it has sent pass a threshold. So short messages end in high classes, as if the shortest were
//! served first. A message that times out again and again, or rests, begins anew at the top, so
//! that none starves. `docs/algorithms/pias.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, CongestionControl, Demand, Flow, Limits, Loss, LossCause, Place, Reads,
    Spurious,
};
use crate::dctcp::{Dctcp, DctcpControl};
use crate::param::{Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::units::{Bytes, Fraction, Span, Time};
use crate::{configurable_by_name, parameters};

const SCRIPTS: &str = "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_dctcp.py, load 0.8";
const MODULE: &str = "baiwei0427/PIAS@c40dc8a4, pias4/params.c";

parameters! {
    /// PIAS's parameters. The default is the preset `web-search-0.8`.
    pub struct Pias {
        /// Traffic classes in use: thresholds from this number on count for nothing.
        pub classes: u32 = 8, in "2" to "8", source SCRIPTS;
        /// Bytes sent of a message up to which a packet is in the highest class.
        pub threshold1: Bytes = packets(909), in "1B" to "1000GB", source SCRIPTS;
        /// Bytes up to which it is one class lower.
        pub threshold2: Bytes = packets(1_329), in "1B" to "1000GB", source SCRIPTS;
        /// Bytes up to which it is two classes lower.
        pub threshold3: Bytes = packets(1_648), in "1B" to "1000GB", source SCRIPTS;
        /// Bytes up to which it is three classes lower.
        pub threshold4: Bytes = packets(1_960), in "1B" to "1000GB", source SCRIPTS;
        /// Bytes up to which it is four classes lower.
        pub threshold5: Bytes = packets(2_143), in "1B" to "1000GB", source SCRIPTS;
        /// Bytes up to which it is five classes lower.
        pub threshold6: Bytes = packets(2_337), in "1B" to "1000GB", source SCRIPTS;
        /// Bytes up to which it is six classes lower.
        pub threshold7: Bytes = packets(2_484), in "1B" to "1000GB", source SCRIPTS;
        /// Timeouts in a row after which the count of bytes starts anew; 0 is never.
        pub timeouts: u32 = 3, in "0" to "10", source MODULE;
        /// Pause of the flow after which the count of bytes starts anew.
        pub idle: Span = Span::from_us(500), in "1us" to "100s", source MODULE;
        /// Weight of the newest window's fraction of marked bytes in DCTCP's estimate.
        pub g: Fraction = Fraction::from_ratio(1, 16), in "0.000001" to "1", source "RFC 8257";
        /// DCTCP's estimate of a new flow.
        pub initial_alpha: Fraction = Fraction::ONE, in "0" to "1", source "RFC 8257";
    }
}

/// The size of `packets` of 1,460 B, in which the scripts count.
const fn packets(packets: u64) -> Bytes {
    Bytes::new(packets * 1_460)
}

/// The number of thresholds.
const THRESHOLDS: usize = 7;

impl Pias {
    fn thresholds(&self) -> [Bytes; THRESHOLDS] {
        [
            self.threshold1,
            self.threshold2,
            self.threshold3,
            self.threshold4,
            self.threshold5,
            self.threshold6,
            self.threshold7,
        ]
    }
}

const NAMES: [&str; THRESHOLDS] = [
    "threshold1",
    "threshold2",
    "threshold3",
    "threshold4",
    "threshold5",
    "threshold6",
    "threshold7",
];

impl Algorithm for Pias {
    type Control = PiasControl;
    const NAME: &'static str = "pias";

    fn start(&self, flow: &Flow) -> PiasControl {
        let dctcp = Dctcp { g: self.g, initial_alpha: self.initial_alpha };
        let mut thresholds = self.thresholds().map(Bytes::get);
        for unused in thresholds.iter_mut().skip(self.classes as usize - 1) {
            *unused = u64::MAX;
        }
        PiasControl {
            dctcp: dctcp.start(flow),
            thresholds,
            most_timeouts: self.timeouts,
            idle: self.idle,
            delivered: 0,
            counts_from: 0,
            timeouts: 0,
            timed_out_at: None,
        }
    }
}

impl Configurable for Pias {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is DCTCP's, and packets fall in class as their message sends",
        kind: Kind::Window,
        signal: "ECN marks as an amount",
        needs: NEEDS[7],
        transport: Transport::Stream,
        source: "Bai et al., NSDI 2015",
    };
    const PRESETS: &'static [Preset] = presets::ALL;
    configurable_by_name!();

    fn needs(&self) -> &'static [Need] {
        NEEDS[(self.classes as usize).clamp(1, NEEDS.len()) - 1]
    }

    fn check(&self) -> Result<(), Conflict> {
        let thresholds = &self.thresholds()[..self.classes as usize - 1];
        match thresholds.windows(2).position(|pair| pair[0] >= pair[1]) {
            Some(first) => {
                let (name, other) = (NAMES[first + 1], NAMES[first]);
                Err(Conflict { name, rule: "must be above", other })
            }
            None => Ok(()),
        }
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        Dctcp::default().cautions(path, emit);
    }
}

/// The needs with 1 to 8 classes.
const NEEDS: [&[Need]; 8] = [
    &[Need::Ecn, Need::Classes(1)],
    &[Need::Ecn, Need::Classes(2)],
    &[Need::Ecn, Need::Classes(3)],
    &[Need::Ecn, Need::Classes(4)],
    &[Need::Ecn, Need::Classes(5)],
    &[Need::Ecn, Need::Classes(6)],
    &[Need::Ecn, Need::Classes(7)],
    &[Need::Ecn, Need::Classes(8)],
];

/// A flow under PIAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiasControl {
    dctcp: DctcpControl,
    /// Bytes up to which each class goes, from the highest class.
    thresholds: [u64; THRESHOLDS],
    /// Timeouts in a row after which the count starts anew; 0 is never.
    most_timeouts: u32,
    /// The pause after which the count starts anew.
    idle: Span,
    /// Payload acknowledged over the life of the flow.
    delivered: u64,
    /// Payload of the flow that counts for nothing: the count has started anew behind it.
    counts_from: u64,
    /// Timeouts since the last acknowledged data.
    timeouts: u32,
    /// The instant of the last timeout, which tells of each burst on its own.
    timed_out_at: Option<Time>,
}

impl PiasControl {
    /// Counts from the first byte that is not acknowledged.
    fn start_anew(&mut self) {
        self.counts_from = self.delivered;
    }
}

impl CongestionControl for PiasControl {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !ack.bytes.is_zero() {
            self.timeouts = 0;
        }
        self.delivered = ack.delivered.get();
        self.dctcp.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let is_timeout = loss.cause != LossCause::Detected;
        if is_timeout && self.timed_out_at != Some(loss.now) {
            self.timed_out_at = Some(loss.now);
            self.timeouts = self.timeouts.saturating_add(1);
            if self.timeouts == self.most_timeouts {
                self.timeouts = 0;
                self.start_anew();
            }
        }
        self.dctcp.on_loss(loss);
    }

    fn limits(&self) -> Limits {
        self.dctcp.limits()
    }

    fn on_demand(&mut self, demand: &Demand) {
        self.dctcp.on_demand(demand);
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        if idle >= self.idle {
            self.start_anew();
        }
        self.dctcp.on_restart(now, idle);
    }

    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.dctcp.on_spurious_loss(spurious);
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.dctcp.on_mss_change(mss);
    }

    fn reads(&self) -> Reads {
        Reads { level: true, ..self.dctcp.reads() }
    }

    /// The number of thresholds that the bytes sent before the packet have passed.
    fn level(&self, place: &Place) -> u8 {
        let start = place.start.get();
        let sent = place.offset.get().min(start.saturating_sub(self.counts_from));
        let passed = self.thresholds.iter().take_while(|&&threshold| sent > threshold).count();
        u8::try_from(passed).unwrap_or(u8::MAX)
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.dctcp.gauges(emit);
    }
}

mod presets;
#[cfg(test)]
mod tests;

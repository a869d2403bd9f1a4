//! Karuna: flows with deadlines take just enough in the highest class, the others go by size below.
//!
//! Chen, Chen, Bai and Alizadeh, "Scheduling Mix-flows in Commodity Datacenters with Karuna",
//! SIGCOMM 2016. A message with a deadline is sent under MCP in the highest of the classes that
//! switches serve strictly: MCP takes no more than the deadline needs, and leaves the rest of the
//! link to messages without one. These are sent under DCTCP in the classes below, by their size
//! where it is known and else by the bytes that they have sent. `docs/algorithms/karuna.md` has the
//! equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, CongestionControl, Demand, Flow, Limits, Loss, LossCause, Place, Reads,
    Spurious,
};
use crate::dctcp::{Dctcp, DctcpControl};
use crate::mcp::{Mcp, McpControl};
use crate::param::{Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::parts::Switch;
use crate::units::{Bytes, Fraction, Span, Time};
use crate::{configurable_by_name, parameters};

/// Shorthand of the parameter sources.
macro_rules! src {
    (module) => {
        "baiwei0427/PIAS@c40dc8a4, backup/mixedflow"
    };
    (caps) => {
        "assumed: HKUST-SING/PIAS-NS2@5fb5867c, pFabric.patch, caps of eight classes"
    };
}

parameters! {
    /// Karuna's parameters. The default is the preset `sizes`.
    pub struct Karuna {
        /// Whether messages without a deadline are classed by their size, and not by what they have
        /// sent.
        pub known: Switch = Switch::On, source "Karuna, SIGCOMM 2016: type 2";
        /// Size, or bytes sent, up to which a message without a deadline is in the second class.
        pub threshold1: Bytes = packets(16), in "1B" to "1000GB", source src!(caps);
        /// Bytes up to which it is in the third class.
        pub threshold2: Bytes = packets(30), in "1B" to "1000GB", source src!(caps);
        /// Bytes up to which it is in the fourth class.
        pub threshold3: Bytes = packets(49), in "1B" to "1000GB", source src!(caps);
        /// Bytes up to which it is in the fifth class.
        pub threshold4: Bytes = packets(266), in "1B" to "1000GB", source src!(caps);
        /// Bytes up to which it is in the sixth class.
        pub threshold5: Bytes = packets(1_001), in "1B" to "1000GB", source src!(caps);
        /// Bytes up to which it is in the seventh class.
        pub threshold6: Bytes = packets(2_825), in "1B" to "1000GB", source src!(caps);
        /// Timeouts in a row after which a message without a deadline ages; 0 is never.
        pub timeouts: u32 = 3, in "0" to "10", source src!(module);
        /// Time by which deadlines are brought forward, as MCP's.
        pub margin: Span = Span::from_us(600), in "0ns" to "1s", source src!(module);
        /// Least RTT that MCP counts with.
        pub rtt_least: Span = Span::from_us(100), in "0ns" to "1s", source src!(module);
        /// Weight of the newest window's fraction of marked bytes in DCTCP's estimate.
        pub g: Fraction = Fraction::from_ratio(1, 16), in "0.000001" to "1", source "RFC 8257";
        /// DCTCP's estimate of a new flow.
        pub initial_alpha: Fraction = Fraction::ONE, in "0" to "1", source "RFC 8257";
    }
}

/// The size of `packets` of 1,460 B.
const fn packets(packets: u64) -> Bytes {
    Bytes::new(packets * 1_460)
}

/// The number of thresholds.
const THRESHOLDS: usize = 6;

const NAMES: [&str; THRESHOLDS] =
    ["threshold1", "threshold2", "threshold3", "threshold4", "threshold5", "threshold6"];

impl Karuna {
    const fn thresholds(&self) -> [Bytes; THRESHOLDS] {
        [
            self.threshold1,
            self.threshold2,
            self.threshold3,
            self.threshold4,
            self.threshold5,
            self.threshold6,
        ]
    }
}

impl Algorithm for Karuna {
    type Control = KarunaControl;
    const NAME: &'static str = "karuna";

    fn start(&self, flow: &Flow) -> KarunaControl {
        let dctcp = Dctcp { g: self.g, initial_alpha: self.initial_alpha };
        let mcp = Mcp { margin: self.margin, rtt_least: self.rtt_least, ..Mcp::default() };
        KarunaControl {
            dctcp: dctcp.start(flow),
            mcp: mcp.start(flow),
            thresholds: self.thresholds().map(Bytes::get),
            known: self.known == Switch::On,
            most_timeouts: self.timeouts,
            delivered: 0,
            counts_from: 0,
            timeouts: 0,
            timed_out_at: None,
            age: 0,
        }
    }
}

impl Configurable for Karuna {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is MCP's with a deadline, else DCTCP's in lower classes by size",
        kind: Kind::Window,
        signal: "deadlines, ECN marks as an amount",
        needs: &[Need::Ecn, Need::Deadlines, Need::Classes(8)],
        transport: Transport::Stream,
        source: "Chen et al., SIGCOMM 2016",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "sizes", source: "SIGCOMM 2016: sizes are known (type 2)", values: &[] },
        Preset {
            name: "unknown",
            source: "SIGCOMM 2016: sizes are not known (type 3)",
            values: &[("known", "off")],
        },
    ];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        match self.thresholds().windows(2).position(|pair| pair[0] >= pair[1]) {
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

/// A flow under Karuna. Each event goes to the control that governs at the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KarunaControl {
    /// The control of messages without a deadline.
    dctcp: DctcpControl,
    /// The control of messages with one.
    mcp: McpControl,
    /// Bytes up to which each class goes, from the second one.
    thresholds: [u64; THRESHOLDS],
    /// Whether sizes decide, not what was sent.
    known: bool,
    /// Timeouts in a row after which a message ages; 0 is never.
    most_timeouts: u32,
    /// Payload acknowledged over the life of the flow.
    delivered: u64,
    /// Payload of the flow that counts for nothing: the count of bytes sent began anew behind it.
    counts_from: u64,
    /// Timeouts since the last acknowledged data.
    timeouts: u32,
    /// The instant of the last timeout, which tells of each burst on its own.
    timed_out_at: Option<Time>,
    /// The classes by which a message of known size has risen.
    age: u8,
}

impl KarunaControl {
    /// Raises a message that times out again and again.
    fn age(&mut self) {
        self.counts_from = self.delivered;
        self.age = self.age.saturating_add(1);
    }

    /// Counts timeouts, each of which may tell of several bursts.
    fn count_timeout(&mut self, loss: &Loss) {
        if loss.cause == LossCause::Detected || self.timed_out_at == Some(loss.now) {
            return;
        }
        self.timed_out_at = Some(loss.now);
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts == self.most_timeouts {
            self.timeouts = 0;
            self.age();
        }
    }
}

impl CongestionControl for KarunaControl {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !ack.bytes.is_zero() {
            self.timeouts = 0;
        }
        self.delivered = ack.delivered.get();
        if ack.remaining.is_some_and(Bytes::is_zero) {
            self.age = 0; // the next message is a new one
        }
        if self.mcp.has_deadline() {
            self.mcp.on_ack(ack);
        } else {
            self.dctcp.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.count_timeout(loss);
        if self.mcp.has_deadline() {
            self.mcp.on_loss(loss);
        } else {
            self.dctcp.on_loss(loss);
        }
    }

    fn limits(&self) -> Limits {
        if self.mcp.has_deadline() { self.mcp.limits() } else { self.dctcp.limits() }
    }

    fn on_demand(&mut self, demand: &Demand) {
        self.mcp.on_demand(demand);
        self.dctcp.on_demand(demand);
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        self.dctcp.on_restart(now, idle);
    }

    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        if self.mcp.has_deadline() {
            self.mcp.on_spurious_loss(spurious);
        } else {
            self.dctcp.on_spurious_loss(spurious);
        }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mcp.on_mss_change(mss);
        self.dctcp.on_mss_change(mss);
    }

    fn reads(&self) -> Reads {
        Reads { level: true, due: true, ..Reads::NONE }
    }

    /// The class of a packet: the highest with a deadline. Without one, the number of thresholds
    /// that the size or the bytes sent have passed chooses among the others.
    fn level(&self, place: &Place) -> u8 {
        if place.deadline.is_some() {
            return 0;
        }
        let bytes = match place.size.filter(|_| self.known) {
            Some(size) => size.get(),
            None => place.offset.get().min(place.start.get().saturating_sub(self.counts_from)),
        };
        let passed = self.thresholds.iter().take_while(|&&threshold| bytes > threshold).count();
        let passed = u8::try_from(passed).unwrap_or(u8::MAX);
        let age = if self.known { self.age } else { 0 };
        1 + passed.saturating_sub(age)
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        if self.mcp.has_deadline() {
            self.mcp.gauges(emit);
        } else {
            self.dctcp.gauges(emit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Due;
    use crate::units::Rate;

    const MSS: u64 = 1_460;

    fn start(karuna: Karuna) -> KarunaControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(10 * MSS));
        karuna.start(&flow)
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// The level of segment `offset` of a message of `size` segments.
    fn level(control: &KarunaControl, offset: u64, size: u64) -> u8 {
        control.level(&Place::new(Bytes::new(offset * MSS), Some(Bytes::new(size * MSS))))
    }

    #[test]
    fn deadlines_are_first_and_sizes_choose_the_class_of_the_others() {
        let control = start(Karuna::default());
        let mut place = Place::new(Bytes::ZERO, Some(Bytes::new(5_000 * MSS)));
        place.deadline = Some(at(20_000));
        assert_eq!(control.level(&place), 0);
        let sizes = [1, 16, 17, 30, 31, 49, 50, 266, 267, 1_001, 1_002, 2_825, 2_826, 90_000];
        let levels = sizes.map(|size| level(&control, 0, size));
        assert_eq!(levels, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        assert_eq!(level(&control, 2_000, 2_001), 6, "all of it is in one class");
    }

    #[test]
    fn without_sizes_messages_fall_by_what_they_have_sent() {
        let control = start(Karuna { known: Switch::Off, ..Karuna::default() });
        let offsets = [0, 16, 17, 266, 267, 2_825, 2_826];
        let levels = offsets.map(|offset| level(&control, offset, 90_000));
        assert_eq!(levels, [1, 1, 2, 4, 5, 6, 7]);
    }

    /// Lets the retransmission timer fire, which declares two bursts lost.
    fn time_out(control: &mut KarunaControl, us: u64) {
        for cause in [LossCause::Timeout, LossCause::Timeout] {
            control.on_loss(&Loss::new(at(us), at(0), Bytes::new(MSS), cause));
        }
    }

    #[test]
    fn three_timeouts_in_a_row_raise_a_message() {
        let mut known = start(Karuna::default());
        let mut unknown = start(Karuna { known: Switch::Off, ..Karuna::default() });
        for control in [&mut known, &mut unknown] {
            let mut ack = Ack::new(at(10), at(0), Bytes::new(300 * MSS));
            (ack.delivered, ack.remaining) = (Bytes::new(300 * MSS), Some(Bytes::new(9 * MSS)));
            control.on_ack(&ack);
            time_out(control, 20);
            time_out(control, 30);
        }
        assert_eq!((level(&known, 300, 309), level(&unknown, 300, 309)), (5, 5));
        time_out(&mut known, 40);
        time_out(&mut unknown, 40);
        assert_eq!(level(&known, 300, 309), 4, "a class higher");
        assert_eq!(level(&unknown, 300, 309), 1, "its count begins anew");
    }

    #[test]
    fn a_deadline_is_mcps_and_the_rest_is_dctcps() {
        let mut control = start(Karuna::default());
        let mut ack = Ack::new(at(100), at(0), Bytes::new(MSS));
        (ack.cwnd_limited, ack.ce_bytes) = (true, Bytes::new(MSS));
        (ack.end, ack.next, ack.srtt) = (Bytes::new(MSS), Bytes::new(9 * MSS), Span::from_us(200));
        control.on_ack(&ack);
        assert_eq!(control.limits().cwnd, Bytes::new(5 * MSS), "all marked: half of ten");
        let mut demand = Demand::new(at(100), Some(Bytes::new(400 * MSS)));
        demand.deadline = Some(at(20_000));
        control.on_demand(&demand);
        assert_eq!(control.limits().cwnd, Bytes::new(3 * MSS), "MCP begins with three");
        // 400 x 200 us / (20,000 - 200 - 600 us) = 4.2: four and one more, a segment per ACK.
        ack.now = at(200);
        ack.due = Some(Due { at: at(20_000), bytes: Bytes::new(400 * MSS) });
        control.on_ack(&ack);
        control.on_ack(&ack);
        control.on_ack(&ack);
        assert_eq!(control.limits().cwnd, Bytes::new(5 * MSS), "marks do not count");
        ack.due = None;
        control.on_ack(&ack);
        assert_eq!(control.limits().cwnd, Bytes::new(5 * MSS), "DCTCP's window, as it was");
    }

    #[test]
    fn thresholds_that_do_not_rise_are_refused() {
        let level = Karuna { threshold3: packets(30), ..Karuna::default() };
        let conflict = Conflict { name: "threshold3", rule: "must be above", other: "threshold2" };
        assert_eq!(level.check(), Err(conflict));
    }
}

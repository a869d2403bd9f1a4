//! pFabric: a window of one bandwidth-delay product from the start, and next to no control.
//!
//! Alizadeh, Yang, Sharif, Katti, `McKeown`, Prabhakar and Shenker, "pFabric: Minimal Near-Optimal
//! Datacenter Transport", SIGCOMM 2013. Switches with small buffers do the work: they serve the
//! packet of the flow with the least left to send, and drop that with the most (the discipline
//! `srpt`). Hosts send at line rate from the start and find losses by short timeouts alone. A flow
//! that times out again and again only asks, with small packets, whether any of its packets gets
//! through. `docs/algorithms/pfabric.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, CongestionControl, Flow, Limits, Loss, LossCause, LossDetection, Reads,
};
use crate::param::{Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::parts::{Switch, Window};
use crate::units::{Bytes, Span};
use crate::{configurable_by_name, parameters};

const YAPS: &str = "NetSys/simulator@179b64ef (YAPS), py/run_experiments.py";
const PATCH: &str = "HKUST-SING/PIAS-NS2@5fb5867c, pFabric.patch";

parameters! {
    /// pFabric's parameters. The default is the preset `yaps`.
    pub struct Pfabric {
        /// Packets in the window of a new flow, as a rule the bandwidth-delay product.
        pub initial: u32 = 12, in "1" to "1000000", source YAPS;
        /// Most packets in the window.
        pub most: u32 = 15, in "1" to "1000000", source YAPS;
        /// Retransmission timeout, whatever the RTT is.
        pub rto: Span = Span::from_us(45), in "1us" to "100s", source YAPS;
        /// Timeouts in a row after which only packets without payload leave, until an ACK comes; 0
        /// is never.
        pub probe_after: u32 = 5, in "0" to "100", source PATCH;
        /// Whether a new flow is in slow start above its first window.
        pub slow_start: Switch = Switch::Off, source PATCH;
    }
}

impl Algorithm for Pfabric {
    type Control = PfabricControl;
    const NAME: &'static str = "pfabric";

    fn start(&self, flow: &Flow) -> PfabricControl {
        let mut control = PfabricControl {
            window: Window::new(flow),
            most: self.most,
            rto: self.rto,
            probe_after: self.probe_after,
        };
        control.window.set_segments(f64::from(self.initial.min(self.most)));
        if self.slow_start == Switch::Off {
            control.window.set_ssthresh(control.window.cwnd());
        }
        control
    }
}

impl Configurable for Pfabric {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is the bandwidth-delay product, but for timeouts",
        kind: Kind::Window,
        signal: "timeouts",
        needs: &[Need::RemainingFirst, Need::EachAcknowledged],
        transport: Transport::Stream,
        source: "Alizadeh et al., SIGCOMM 2013",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "yaps", source: YAPS, values: &[] },
        Preset {
            name: "pias-ns2",
            source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pfabric_dctcp.py: hosts of 20 us",
            values: &[("initial", "70"), ("most", "139"), ("rto", "250us")],
        },
        Preset {
            name: "homa",
            source: "the rerun of Homa's authors, by the names of its files: 24 us, 5 timeouts",
            values: &[("rto", "24us")],
        },
    ];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        if self.initial > self.most {
            return Err(Conflict { name: "initial", rule: "must not be above", other: "most" });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let packet = path.line_rate.time_for(path.wire);
        let rtt = path.network_rtt + packet;
        if rtt >= self.rto {
            emit(Caution::BelowRtt {
                param: "rto",
                value: self.rto,
                rtt,
                least: Some(rtt * 2),
                effect: "each packet is sent again before its ACK can come",
            });
        }
        let product = path.product.get().div_ceil(path.mss.get().max(1));
        if u64::from(self.most) * 2 < product {
            emit(Caution::WindowBound {
                param: "most",
                value: u64::from(self.most),
                least: product,
            });
        }
    }
}

/// A flow under pFabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfabricControl {
    window: Window,
    /// The most packets in the window.
    most: u32,
    rto: Span,
    probe_after: u32,
}

impl CongestionControl for PfabricControl {
    /// Grows as TCP's window does, up to the most.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if Window::may_grow(ack) {
            self.window.reno(ack.bytes.get());
            let most = u64::from(self.most) * self.window.mss();
            self.window.set_cwnd(self.window.cwnd().min(most));
        }
    }

    /// A timeout leaves one packet, and half of the window as the threshold of slow start.
    fn on_loss(&mut self, loss: &Loss) {
        if loss.cause != LossCause::Detected {
            self.window.on_loss(loss, Window::half);
        }
    }

    fn limits(&self) -> Limits {
        self.window.limits()
    }

    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn loss_detection(&self) -> LossDetection {
        LossDetection::Timeout { after: self.rto, probe_after: self.probe_after }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.window.set_mss(mss);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.window.gauges(emit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Rate, Time};

    const MSS: u64 = 1_000;

    fn start(pfabric: Pfabric) -> PfabricControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::from_kb(3));
        pfabric.start(&flow)
    }

    fn ack(control: &mut PfabricControl, bytes: u64) {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(bytes));
        ack.cwnd_limited = true;
        control.on_ack(&ack);
    }

    /// A loss of data that was sent when `next` bytes had left.
    fn lose(control: &mut PfabricControl, next: u64, cause: LossCause) {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), cause);
        (loss.end, loss.next) = (Bytes::new(next), Bytes::new(next));
        control.on_loss(&loss);
    }

    fn cwnd(control: &PfabricControl) -> u64 {
        control.limits().cwnd.get()
    }

    #[test]
    fn a_flow_begins_with_its_product_and_grows_by_a_packet_a_window_up_to_the_most() {
        let mut control = start(Pfabric::default());
        assert_eq!(cwnd(&control), 12_000, "whatever the carrier's initial window is");
        // Twelve ACKs of a packet: 12 x 1,000 x 1,000 / W, W from 12,000 on, is 1,000 less what
        // the growth of W itself costs.
        (0..12).for_each(|_| ack(&mut control, MSS));
        assert!((12_940..13_000).contains(&cwnd(&control)), "{}", cwnd(&control));
        (0..1_000).for_each(|_| ack(&mut control, MSS));
        assert_eq!(cwnd(&control), 15_000);
    }

    #[test]
    fn with_slow_start_each_acknowledged_packet_adds_one() {
        let mut control = start(Pfabric { slow_start: Switch::On, ..Pfabric::default() });
        ack(&mut control, 2 * MSS);
        assert_eq!(cwnd(&control), 14_000);
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_slow_start_up_to_half() {
        let mut control = start(Pfabric::default());
        lose(&mut control, 12_000, LossCause::Timeout);
        assert_eq!((cwnd(&control), control.window.ssthresh()), (1_000, 6_000));
        (0..5).for_each(|_| ack(&mut control, MSS));
        assert_eq!(cwnd(&control), 6_000);
        ack(&mut control, MSS);
        assert_eq!(cwnd(&control), 6_166, "1,000 x 1,000 / 6,000 more");
        // Timeouts in a row leave the threshold of the first.
        lose(&mut control, 20_000, LossCause::Timeout);
        lose(&mut control, 21_000, LossCause::Persistent);
        assert_eq!((cwnd(&control), control.window.ssthresh()), (1_000, 3_083));
    }

    #[test]
    fn losses_that_acks_tell_of_and_marks_change_nothing() {
        let mut control = start(Pfabric::default());
        lose(&mut control, 12_000, LossCause::Detected);
        let mut marked = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS));
        marked.ce_bytes = marked.bytes;
        control.on_ack(&marked);
        assert_eq!(cwnd(&control), 12_000);
    }

    #[test]
    fn timeouts_are_fixed() {
        let after = Span::from_us(45);
        let detection = start(Pfabric::default()).loss_detection();
        assert_eq!(detection, LossDetection::Timeout { after, probe_after: 5 });
    }

    #[test]
    fn a_first_window_above_the_most_is_refused() {
        let conflict = Pfabric { initial: 16, ..Pfabric::default() }.check().unwrap_err();
        assert_eq!((conflict.name, conflict.other), ("initial", "most"));
    }
}

//! TCP-Bolt: DCTCP without slow start, in a network that drops nothing.
//!
//! Stephens, Cox, Singla, Carter, Dixon and Felter, "Practical DCB for Improved Data Center
//! Networks", INFOCOM 2014. Where PFC keeps switches from dropping, a flow need not feel its way:
//! it starts at line rate, which spares short flows the round trips of slow start. DCTCP keeps
//! queues short afterwards, so that PFC seldom pauses, and routing along trees keeps pauses from
//! dead-locking. The scheme is apart from DCTCP since it needs another network than DCTCP, and says
//! so. `docs/algorithms/tcp-bolt.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Algorithm, Flow};
use crate::dctcp::{Dctcp, DctcpControl};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::units::{Fraction, Span};
use crate::{configurable_by_name, parameters};

parameters! {
    /// TCP-Bolt's parameters. The default is the preset `default`.
    pub struct TcpBolt {
        /// Weight of the newest window's fraction of marked bytes in DCTCP's estimate.
        pub g: Fraction = Fraction::from_ratio(1, 16), in "0.000001" to "1", source "RFC 8257";
        /// DCTCP's estimate of a new flow.
        pub initial_alpha: Fraction = Fraction::ONE, in "0" to "1", source "RFC 8257";
        /// Bandwidth-delay products that the first window holds, at the rate of the NIC.
        pub first_window: Fraction = Fraction::ONE, in "0.01" to "16", source "this project";
        /// RTT of a path whose RTT nobody knows before the first sample.
        pub initial_rtt: Span = Span::from_us(100), in "1us" to "1s", source "this project";
    }
}

impl TcpBolt {
    /// The first window in bytes: what line rate sends in an RTT.
    fn first_window(&self, flow: &Flow) -> u64 {
        let product = flow.line_rate.bytes_in(flow.base_rtt.unwrap_or(self.initial_rtt)).get();
        let part = u128::from(self.first_window.bits());
        let scaled = (u128::from(product) * part) >> Fraction::BITS;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

impl Algorithm for TcpBolt {
    type Control = DctcpControl;
    const NAME: &'static str = "tcp-bolt";

    fn start(&self, flow: &Flow) -> DctcpControl {
        let mut control = Dctcp { g: self.g, initial_alpha: self.initial_alpha }.start(flow);
        let window = &mut control.window;
        window.set_cwnd(self.first_window(flow).max(window.cwnd()));
        window.set_ssthresh(window.cwnd()); // no slow start
        control
    }
}

impl Configurable for TcpBolt {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is DCTCP's, without slow start: flows start at line rate",
        kind: Kind::Window,
        signal: "ECN marks as an amount",
        needs: &[Need::Ecn, Need::Lossless],
        transport: Transport::Stream,
        source: "Stephens et al., INFOCOM 2014",
    };
    const PRESETS: &'static [Preset] =
        &[Preset { name: "default", source: "DCTCP as in RFC 8257", values: &[] }];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_window(PathFacts::LEAST_PACKETS, emit);
        path.window_of_segments(emit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::contract::{Ack, Loss, LossCause};
    use crate::units::{Bytes, Rate, Time};

    /// A flow of segments of 1,000 B on 10 Gb/s, over a path whose RTT is `base_rtt`.
    fn flow(base_rtt: Option<Span>) -> Flow {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(10));
        flow.base_rtt = base_rtt;
        flow
    }

    fn cwnd(params: TcpBolt, flow: &Flow) -> u64 {
        params.start(flow).limits().cwnd.get()
    }

    #[test]
    fn a_flow_starts_with_what_line_rate_sends_in_an_rtt() {
        // 10 Gb/s * 80 us = 800,000 bits = 100,000 B.
        let known = flow(Some(Span::from_us(80)));
        assert_eq!(cwnd(TcpBolt::default(), &known), 100_000);
        let half = TcpBolt { first_window: Fraction::from_ratio(1, 2), ..TcpBolt::default() };
        assert_eq!(cwnd(half, &known), 50_000);
        // Unknown: 10 Gb/s * 100 us = 125,000 B.
        assert_eq!(cwnd(TcpBolt::default(), &flow(None)), 125_000);
        // A path of 1 us holds 1,250 B: never less than DCTCP's first window.
        assert_eq!(cwnd(TcpBolt::default(), &flow(Some(Span::from_us(1)))), 10_000);
        let limited = Flow { max_window: Bytes::from_kb(30), ..known };
        assert_eq!(cwnd(TcpBolt::default(), &limited), 30_000);
    }

    #[test]
    fn it_grows_by_a_segment_per_window_from_the_start() {
        let mut control = TcpBolt::default().start(&flow(Some(Span::from_us(80))));
        assert!(!control.window.in_slow_start());
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::from_kb(100));
        (ack.next, ack.cwnd_limited) = (Bytes::from_kb(200), true);
        control.on_ack(&ack);
        assert_eq!(control.limits().cwnd, Bytes::from_kb(101));
    }

    #[test]
    fn marks_and_losses_cost_what_they_cost_dctcp() {
        let start = || TcpBolt::default().start(&flow(Some(Span::from_us(80))));
        let mut marked = start();
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::from_kb(1));
        (ack.end, ack.next, ack.ce_bytes) = (Bytes::from_kb(1), Bytes::from_kb(100), ack.bytes);
        marked.on_ack(&ack);
        // alpha = 1 for a new flow: half of 100,000 B.
        assert_eq!(marked.limits().cwnd, Bytes::from_kb(50));
        let mut lost = start();
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::from_kb(1), LossCause::Detected);
        loss.next = Bytes::from_kb(100);
        lost.on_loss(&loss);
        assert_eq!(lost.limits().cwnd, Bytes::from_kb(50));
    }
}

//! MCP: the window that meets the deadline, and no larger one.
//!
//! Chen, Hu, Chen, Wu and Tsang, "Towards Minimal-Delay Deadline-Driven Data Center TCP", `HotNets`
//! 2013; Chen, Chen, Bai and Alizadeh, "Scheduling Mix-flows in Commodity Datacenters with Karuna",
//! SIGCOMM 2016. This is the law of the authors' kernel module, which is not the paper's: the
//! module sets the receive window to what the remaining payload needs until the deadline, and
//! answers no marks. Below it works a sender of TCP, whose window losses reduce.
//! `docs/algorithms/mcp.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, CongestionControl, Demand, Due, Flow, Limits, Loss, Reads, Spurious,
};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::parts::Window;
use crate::units::{Bytes, Fraction, Span, Time};
use crate::{configurable_by_name, parameters};

/// Shorthand of the parameter sources.
macro_rules! src {
    (module) => {
        "baiwei0427/PIAS, backup/mixedflow/MCP"
    };
}

parameters! {
    /// MCP's parameters. The default is the preset `kernel`.
    pub struct Mcp {
        /// Segments of the window of a new flow with a deadline.
        pub initial_window: u32 = 3, in "1" to "1000", source src!(module);
        /// The least window in segments, which a flow keeps whose deadline has passed.
        pub least_window: u32 = 2, in "1" to "1000", source src!(module);
        /// The time by which deadlines are brought forward, for safety.
        pub margin: Span = Span::from_us(600), in "0ns" to "1s", source src!(module);
        /// The least RTT that the target counts with.
        pub rtt_least: Span = Span::from_us(100), in "0ns" to "1s", source src!(module);
        /// The greatest RTT that the target counts with.
        pub rtt_most: Span = Span::from_ms(1), in "1us" to "10s", source src!(module);
    }
}

impl Algorithm for Mcp {
    type Control = McpControl;
    const NAME: &'static str = "mcp";

    fn start(&self, flow: &Flow) -> McpControl {
        let segments = u64::from(self.initial_window.max(1));
        McpControl {
            window: Window::new(flow),
            params: *self,
            segments,
            target: segments,
            next_target: flow.now,
            has_deadline: false,
        }
    }
}

impl Configurable for Mcp {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window is the least that sends what remains until the deadline",
        kind: Kind::Window,
        signal: "deadlines, loss",
        needs: &[Need::Deadlines],
        transport: Transport::Stream,
        source: "Chen et al., HotNets 2013; the module of Karuna, SIGCOMM 2016",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "kernel", source: "baiwei0427/PIAS, backup/mixedflow/MCP", values: &[] },
        Preset {
            name: "short-rtt",
            source: "this project: the module's six RTTs of margin, for RTTs of 10 us",
            values: &[("margin", "60us"), ("rtt_least", "1us")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let half = Fraction::from_ratio(1, 2);
        path.governed_by_losses(half, emit);
        path.window_of_segments(emit);
        path.queue_for_losses(half, emit);
    }
}

/// A flow under MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpControl {
    /// The window of the sender below, which losses reduce.
    window: Window,
    params: Mcp,
    /// The window that the deadline needs, on its way to the target, in segments.
    segments: u64,
    target: u64,
    /// The time of the next target.
    next_target: Time,
    /// Whether a deadline stands.
    has_deadline: bool,
}

impl McpControl {
    /// Whether a deadline stands.
    pub(crate) const fn has_deadline(&self) -> bool {
        self.has_deadline
    }

    /// The window that the deadline allows, in bytes.
    const fn allowed(&self) -> u64 {
        self.segments.saturating_mul(self.window.mss())
    }

    /// Whether the deadline, and not the window of the sender below, limits sending.
    const fn limits_sending(&self) -> bool {
        self.has_deadline && self.allowed() < self.window.cwnd()
    }

    /// The segments per RTT that send the remaining payload by the deadline, and one more.
    fn target(&self, now: Time, rtt: Span, due: Due) -> u64 {
        let least = u64::from(self.params.least_window.max(1));
        let left = due.at.since(due.at.min(now)).saturating_sub(self.params.margin);
        if left.is_zero() {
            return least;
        }
        let left = u128::from(left.as_ps()) * u128::from(self.window.mss());
        let segments = u128::from(due.bytes.get()) * u128::from(rtt.as_ps()) / left;
        u64::try_from(segments).unwrap_or(u64::MAX).saturating_add(1).max(least)
    }

    /// Moves towards the target by a segment at most; a new target follows once per RTT.
    fn follow(&mut self, ack: &Ack<'_>, due: Due) {
        if ack.now >= self.next_target {
            let (least, most) = (self.params.rtt_least, self.params.rtt_most);
            let rtt = ack.srtt.max(least).min(most.max(least));
            self.target = self.target(ack.now, rtt, due);
            self.next_target = ack.now + rtt;
        }
        if self.segments < self.target {
            self.segments += 1;
        } else if self.segments > self.target {
            self.segments -= 1;
        }
    }
}

impl CongestionControl for McpControl {
    fn reads(&self) -> Reads {
        Reads { due: true, ..Reads::NONE }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // Marks are cleared before the sender below sees them.
        let unmarked = Ack { ce_bytes: Bytes::ZERO, ..*ack };
        // A window that another limit keeps from being used does not grow.
        if Window::may_grow(&unmarked) && !self.limits_sending() {
            self.window.reno(ack.bytes.get());
        }
        self.has_deadline = ack.due.is_some();
        if let Some(due) = ack.due.filter(|_| !ack.bytes.is_zero()) {
            self.follow(ack, due);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.window.on_loss(loss, Window::half);
    }

    fn on_demand(&mut self, demand: &Demand) {
        if demand.deadline.is_some() && !self.has_deadline {
            self.has_deadline = true;
            self.segments = u64::from(self.params.initial_window.max(1));
            self.next_target = demand.now;
        }
    }

    fn on_spurious_loss(&mut self, _spurious: &Spurious) {
        self.window.undo();
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.window.set_mss(mss);
    }

    fn limits(&self) -> Limits {
        let limits = self.window.limits();
        if self.limits_sending() { Limits::window(Bytes::new(self.allowed())) } else { limits }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.window.gauges(emit);
        emit("target_segments", self.target as f64);
        emit("segments", self.segments as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossCause;
    use crate::units::Rate;

    const MSS: u64 = 1_000;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A flow with an initial window of 10 segments and a message that is due at an instant.
    fn start(due: Option<u64>) -> McpControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(10 * MSS));
        let mut control = Mcp::default().start(&flow);
        let mut demand = Demand::new(Time::ZERO, Some(Bytes::new(400 * MSS)));
        demand.deadline = due.map(us);
        control.on_demand(&demand);
        control
    }

    /// An ACK of a segment with an RTT of 200 us, of a message that is due at an instant.
    fn ack(at: u64, due: u64, bytes: u64) -> Ack<'static> {
        let mut ack = Ack::new(us(at), Time::ZERO, Bytes::new(MSS));
        (ack.srtt, ack.cwnd_limited) = (Span::from_us(200), true);
        ack.due = Some(Due { at: us(due), bytes: Bytes::new(bytes) });
        ack
    }

    fn cwnd(control: &McpControl) -> u64 {
        control.limits().cwnd.get() / MSS
    }

    #[test]
    fn a_window_goes_by_a_segment_per_ack_to_what_the_deadline_needs() {
        let mut control = start(Some(20_000));
        assert_eq!(cwnd(&control), 3, "the initial window of the module");
        // 400 segments x 200 us / (20,000 - 200 - 600 us) = 4.17: 4 and one more.
        control.on_ack(&ack(200, 20_000, 400 * MSS));
        assert_eq!((cwnd(&control), control.target), (4, 5));
        control.on_ack(&ack(210, 20_000, 399 * MSS));
        control.on_ack(&ack(220, 20_000, 398 * MSS));
        assert_eq!(cwnd(&control), 5);
        // 300 x 200 / (20,000 - 11,000 - 600) = 7.14, and one more.
        control.on_ack(&ack(11_000, 20_000, 300 * MSS));
        assert_eq!((cwnd(&control), control.target), (6, 8));
        // The next target comes after an RTT: until then what remains does not count.
        control.on_ack(&ack(11_199, 20_000, 10 * MSS));
        assert_eq!((cwnd(&control), control.target), (7, 8));
        // 10 x 200 / 8,199 = 0: one is below the least, two.
        control.on_ack(&ack(11_201, 20_000, 10 * MSS));
        assert_eq!((cwnd(&control), control.target), (6, 2));
    }

    #[test]
    fn after_the_deadline_the_window_is_two_segments() {
        let mut control = start(Some(20_000));
        for step in 0..20 {
            // 400 x 200 / 100 = 800 and one more; after 19,400 us, 600 us before it, none.
            let at = 19_300 + 10 * step;
            control.on_ack(&ack(at, 20_000, 400 * MSS));
        }
        assert_eq!(control.target, 801);
        assert_eq!((control.segments, cwnd(&control)), (23, 23));
        for step in 0..30 {
            control.on_ack(&ack(19_510 + step, 20_000, 400 * MSS));
        }
        assert_eq!((control.target, cwnd(&control)), (2, 2));
    }

    #[test]
    fn rtts_count_within_their_bounds() {
        let rtt = |us| {
            let mut control = start(Some(20_000));
            let mut ack = ack(400, 20_000, 400 * MSS);
            ack.srtt = Span::from_us(us);
            control.on_ack(&ack);
            control.target
        };
        // 400 x 100 / 19,000 = 2.1 and 400 x 1,000 / 19,000 = 21.05, each and one more.
        assert_eq!((rtt(10), rtt(100), rtt(5_000)), (3, 3, 22));
    }

    #[test]
    fn losses_reduce_what_marks_do_not_and_without_a_deadline_it_is_reno() {
        let mut control = start(None);
        assert_eq!(cwnd(&control), 10);
        let mut marked = Ack { due: None, ..ack(100, 0, 0) };
        marked.ce_bytes = marked.bytes;
        control.on_ack(&marked);
        assert_eq!(cwnd(&control), 11, "slow start goes on over marks");
        let mut loss = Loss::new(us(200), us(100), Bytes::new(MSS), LossCause::Detected);
        loss.next = Bytes::new(20 * MSS);
        control.on_loss(&loss);
        assert_eq!(control.limits().cwnd, Bytes::new(5_500));
        control.on_spurious_loss(&Spurious::new(us(300), Bytes::new(MSS)));
        assert_eq!(cwnd(&control), 11);
    }

    #[test]
    fn a_window_below_what_losses_left_stands_and_does_not_grow_unused() {
        let mut control = start(Some(20_000));
        for step in 0..100 {
            control.on_ack(&ack(200 + step, 20_000, 400 * MSS));
        }
        assert_eq!((cwnd(&control), control.window.cwnd()), (5, 10 * MSS), "it was not used");
        let mut loss = Loss::new(us(300), us(200), Bytes::new(MSS), LossCause::Timeout);
        loss.next = Bytes::new(20 * MSS);
        control.on_loss(&loss);
        assert_eq!(cwnd(&control), 1, "a timeout leaves one segment, whatever the deadline");
    }
}

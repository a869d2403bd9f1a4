//! TCP Veno: Reno that asks Vegas whether a loss was congestion.
//!
//! Fu and Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks", IEEE
//! JSAC 21(2), 2003. What the window holds beyond what the path takes waits in the queue: N, the
//! Diff of Vegas. With N below `beta` the path is not full, the window grows as Reno's, and a loss
//! is taken for noise on the link and costs a fifth. Above, it grows every other round only, and a
//! loss costs half. `docs/algorithms/veno.md` has the equations and the departures.
//!
//! Both RTTs, the smoothed one and the least one of the connection, come from
//! [`RttSample::total`](crate::RttSample), what a TCP sender sees.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::vegas::backlog;
use crate::{configurable_by_name, parameters};

parameters! {
    /// Veno's parameters.
    pub struct Veno {
        /// Segments in the queue from which on the path counts as congested.
        pub beta: Fraction = Fraction::from_ratio(3, 1), in "0" to "4000",
            source "Fu and Liew, JSAC 2003; Linux";
        /// The part of the window that a loss leaves below `beta`.
        pub noise_factor: Fraction = Fraction::from_ratio(4, 5), in "0" to "1",
            source "Fu and Liew, JSAC 2003; Linux";
        /// The part of the window that a loss leaves from `beta` on.
        pub congestion_factor: Fraction = Fraction::from_ratio(1, 2), in "0" to "1",
            source "Fu and Liew, JSAC 2003; RFC 5681";
    }
}

impl Algorithm for Veno {
    type Control = VenoControl;
    const NAME: &'static str = "veno";

    fn start(&self, flow: &Flow) -> VenoControl {
        let law = VenoLaw {
            queued: 0.0,
            round: 0,
            rests: true,
            beta: self.beta.as_f64(),
            noise_factor: self.noise_factor.min(Fraction::ONE),
            congestion_factor: self.congestion_factor.min(Fraction::ONE),
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Veno {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window falls by half at a loss behind a queue, by a fifth at one without",
        kind: Kind::Window,
        signal: "loss, RTT",
        needs: &[],
        transport: Transport::Stream,
        source: "Fu and Liew, JSAC 2003",
    };
    const PRESETS: &'static [Preset] =
        &[Preset { name: "veno", source: "Fu and Liew, JSAC 2003; Linux tcp_veno", values: &[] }];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        // A full queue holds fewer than `beta` packets of a flow: no loss counts as congestion.
        let queued = path.queue.unwrap_or_default().get() / path.flows.max(1);
        let noise = (queued as f64) < self.beta.as_f64() * path.mss.get() as f64;
        let left = if noise { self.noise_factor } else { self.congestion_factor };
        path.governed_by_losses(left, emit);
        path.window_of_segments(emit);
        path.queue_for_losses(self.congestion_factor, emit);
    }
}

/// A flow under Veno.
pub type VenoControl = WindowControl<VenoLaw>;

/// The rules of Veno and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VenoLaw {
    /// N: segments of the window in the queue, at the last ACK.
    queued: f64,
    /// The round that is running.
    round: u64,
    /// Whether the window rests in this round if the path is congested.
    rests: bool,
    beta: f64,
    noise_factor: Fraction,
    congestion_factor: Fraction,
}

impl VenoLaw {
    fn is_congested(&self) -> bool {
        self.queued >= self.beta
    }
}

impl WindowLaw for VenoLaw {
    fn measure(&mut self, window: &mut Window, ack: &Ack<'_>) {
        self.queued = backlog(window.segments(), ack.min_rtt, ack.srtt);
    }

    fn left(&mut self, window: &Window, sign: Sign) -> u64 {
        let noise = sign == Sign::Loss && !self.is_congested(); // a mark is no noise
        window.part(if noise { self.noise_factor } else { self.congestion_factor })
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let left = window.left_for_avoidance(ack.bytes.get());
        let rests = self.is_congested() && self.rests;
        if left > 0 && !rests {
            window.increase(left, 1.0);
        }
    }

    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
        if reduced_from.is_some() {
            return;
        }
        if ack.round != self.round {
            // The first congested round grows, as in Linux.
            (self.round, self.rests) = (ack.round, !self.is_congested() || !self.rests);
        }
        if Window::may_grow(ack) {
            self.grow(window, ack);
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("queued_segments", self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, Loss, LossCause, Rate, Span, Spurious, Time};

    const MSS: u64 = 1_000;
    /// N of 20 segments at these RTTs on a path of 100: 20 * 10 / 110 = 1.8 and 20 * 20 / 120 =
    /// 3.3.
    const FREE: u64 = 110;
    const CONGESTED: u64 = 120;

    fn in_avoidance(segments: u64) -> VenoControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
        let mut control = Veno::default().start(&flow);
        control.window.set_ssthresh(segments * MSS);
        control
    }

    /// On a path of 1 us: hundredths of a microsecond count.
    fn ack(round: u64, srtt: u64) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS));
        (ack.srtt, ack.min_rtt) = (Span::from_ns(10 * srtt), Span::from_ns(1_000));
        (ack.round, ack.cwnd_limited) = (round, true);
        ack
    }

    fn loss(end: u64, next: u64) -> Loss {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(end), Bytes::new(next));
        loss
    }

    /// The window in bytes after this many rounds of 20 ACKs each.
    fn after(rounds: u64, srtt: u64) -> u64 {
        let mut control = in_avoidance(20);
        for i in 0..20 * rounds {
            control.on_ack(&ack(1 + i / 20, srtt));
        }
        control.window.cwnd()
    }

    #[test]
    fn grows_as_reno_below_beta_and_every_other_round_above() {
        // Each of n ACKs that count adds 1/w, so that w^2 = 20^2 + 2n.
        let reno = |acks: f64| libm::sqrt(400.0 + 2.0 * acks) * MSS as f64;
        for (rounds, srtt, acks) in
            [(1, FREE, 20.0), (4, FREE, 80.0), (1, CONGESTED, 20.0), (3, CONGESTED, 40.0)]
        {
            let window = after(rounds, srtt) as f64;
            assert!((window - reno(acks)).abs() < 5.0, "{rounds} of {srtt}: {window}");
        }
        assert_eq!(after(2, CONGESTED), after(1, CONGESTED));
        assert_eq!(after(4, CONGESTED), after(3, CONGESTED));
    }

    #[test]
    fn loss_costs_a_fifth_below_beta_and_half_above() {
        for (srtt, expected) in [(FREE, 16 * MSS), (CONGESTED, 10 * MSS)] {
            let mut control = in_avoidance(20);
            let mut idle = ack(1, srtt);
            idle.cwnd_limited = false;
            control.on_ack(&idle);
            control.on_loss(&loss(1_000, 20_000));
            assert_eq!(control.window.cwnd(), expected);
            control.on_loss(&Loss { in_recovery: true, ..loss(2_000, 21_000) });
            assert_eq!(control.window.cwnd(), expected, "once per window");
            control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
            assert_eq!(control.window.cwnd(), 20 * MSS);
            control.on_loss(&Loss { cause: LossCause::Timeout, ..loss(30_000, 31_000) });
            assert_eq!((control.window.cwnd(), control.window.ssthresh()), (MSS, expected));
        }
    }

    #[test]
    fn beta_itself_is_congested() {
        // 12 (100 - 75) / 100 = 3, exact in binary.
        let mut control = in_avoidance(12);
        let mut at_beta = ack(1, 100);
        (at_beta.min_rtt, at_beta.cwnd_limited) = (Span::from_ns(750), false);
        control.on_ack(&at_beta);
        control.on_loss(&loss(1_000, 20_000));
        assert_eq!(control.window.cwnd(), 6 * MSS);
    }

    #[test]
    fn a_mark_is_no_noise() {
        let mut control = in_avoidance(20);
        let mut marked = ack(1, FREE);
        (marked.ce_bytes, marked.end, marked.next) =
            (Bytes::new(MSS), Bytes::new(1_000), Bytes::new(20_000));
        control.on_ack(&marked);
        assert_eq!(control.window.cwnd(), 10 * MSS);
    }

    #[test]
    fn slow_start_is_renos_and_its_rest_grows_the_window_too() {
        let mut control = in_avoidance(20);
        control.window.set_ssthresh(22 * MSS);
        let mut double = ack(1, FREE);
        double.bytes = Bytes::new(20 * MSS);
        control.on_ack(&double);
        // Two segments to the threshold, then 18 acknowledged at a window of 22.
        assert_eq!(control.window.cwnd(), 22 * MSS + 18 * MSS / 22);
    }

    #[test]
    fn before_the_first_rtt_nothing_waits() {
        let mut control = in_avoidance(20);
        control.on_ack(&Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS)));
        control.on_loss(&loss(1_000, 20_000));
        assert_eq!(control.window.cwnd(), 16 * MSS);
    }
}

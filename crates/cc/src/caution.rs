//! Paths on which the parameters of an algorithm cannot work, as far as that is known before anything is sent.
//!
//! Each algorithm says so itself ([`Configurable::cautions`](crate::param::Configurable::cautions)); who
//! knows the network, such as the simulator, hands in the [`PathFacts`] and makes sentences of the answers.

use crate::units::{Bytes, Fraction, Rate, Span};

/// A path without queues, and a flow's part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// The least [`RttSample::network`](crate::RttSample::network) that the flow can see.
    pub network_rtt: Span,
    /// The part of the RTT that the peer reports as its own.
    pub peer: Span,
    /// How much later than others ACKs are, at random.
    pub jitter: Span,
    /// Links from the sender to the receiver.
    pub hop_count: u8,
    /// Whether the flow always has something to send.
    pub lasting: bool,
    /// The largest payload of one packet.
    pub mss: Bytes,
    /// The unit of sending and of acknowledgement.
    pub segment: Bytes,
    /// The rate of the sender's NIC.
    pub line_rate: Rate,
    /// Flows that share the bottleneck all the time, this one included.
    pub flows: u64,
    /// The rate of the bottleneck over `flows`.
    pub share: Rate,
    /// The part of the bandwidth-delay product that is the flow's: `share` times the RTT of a segment.
    pub product: Bytes,
    /// The most that waits at the bottleneck before packets are dropped; none where nothing is dropped there.
    pub queue: Option<Bytes>,
}

/// A reason why a flow cannot have its share of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// The RTT without queues is above a threshold.
    BelowRtt {
        /// The parameter that is the threshold.
        param: &'static str,
        /// The value that it has.
        value: Span,
        /// The RTT that is compared with it.
        rtt: Span,
        /// A value that works, if one does.
        least: Option<Span>,
        /// The consequence: "the rate falls with every completion".
        effect: &'static str,
    },
    /// A segment takes longer at the bottleneck than a threshold on the delay: flows take each other's
    /// segments, or two of their own in a row, for congestion.
    SegmentTime {
        /// The parameter that is the threshold.
        param: &'static str,
        /// The value that it has.
        value: Span,
        /// How long a segment takes.
        time: Span,
    },
    /// The flow answers a change of the RTT that its own burst makes, in its own NIC.
    OwnBurst {
        /// The parameter that the change is measured in.
        param: &'static str,
        /// The change that is borne.
        borne: Span,
        /// How long a burst of three quarters of the flow's share takes.
        burst: Span,
        /// A value that works.
        least: Span,
    },
    /// A gain answers a queue of a round trip ago more strongly than the loop bears, and the rate swings.
    Gain {
        /// The parameter that is the gain.
        param: &'static str,
        /// The value that it has.
        value: Fraction,
        /// The most that was seen to settle.
        most: Fraction,
    },
    /// A window doubles to what the flow's own NIC sends in an RTT, which is more than the bottleneck carries.
    Overshoot,
    /// What ACKs are late by at random is more than the changes of the RTT that count as none.
    Noise {
        /// The parameter that bounds these, as a part of an interval.
        param: &'static str,
        /// The part that counts as none.
        value: Fraction,
        /// The part that the lateness is.
        noise: Fraction,
    },
    /// A bound holds the window below half of the flow's share.
    WindowBound {
        /// The parameter that is the bound, in packets.
        param: &'static str,
        /// The value that it has.
        value: u64,
        /// The packets of the flow's share.
        least: u64,
    },
    /// The least rate of a flow is above its share.
    RateFloor {
        /// The parameter that is the floor.
        param: &'static str,
        /// The value that it has on this NIC.
        value: Rate,
    },
    /// The least that a flow acts on, its window or what it sends between two changes of its rate, is more than its
    /// share of the product: that of all flows is a queue which it does not govern.
    Coarse {
        /// The subject and its verb: "a window is".
        what: &'static str,
        /// The least.
        least: Bytes,
        /// The consequence: "windows do not govern the queue".
        effect: &'static str,
    },
    /// The least windows of all flows are more than the path and its queue hold: what is dropped is
    /// found out by timeouts.
    Crowded {
        /// The least window with which a flow gets on.
        least: Bytes,
    },
    /// The first RTT of all flows brings 25 times what the path and its queue hold: nearly all of it is
    /// lost, or where nothing is lost it takes 25 RTTs before the first answer counts.
    FirstWindows {
        /// The bytes that one flow sends in it.
        each: Bytes,
    },
    /// Each flow keeps so much in the queue at the bottleneck, which does not hold that of all: flows lose
    /// packets in place of settling.
    Backlog {
        /// The parameter that is the backlog, in packets.
        param: &'static str,
        /// The backlog of one flow.
        each: Bytes,
    },
    /// A flow that starts into the queue of others takes it for a part of its path. The queue is never empty, and
    /// the flow pushes the others aside.
    Latecomers {
        /// The parameter that is the delay that each flow keeps.
        param: &'static str,
        /// The value that it has.
        value: Span,
        /// The delay of a full queue; none where nothing is dropped.
        full: Option<Span>,
    },
    /// A full queue is a shorter delay than the one that slows the flow down, so losses alone do.
    LossesFirst {
        /// The parameter that sets the price of the delay.
        param: &'static str,
        /// A value that works.
        least: u64,
        /// The delay that slows the flow down.
        borne: Span,
        /// The delay of a full queue.
        full: Span,
    },
    /// NICs are exactly as fast as the bottleneck, where a full queue is all that slows flows down: one whose
    /// window outgrows its NIC keeps the queue full by itself, loses nothing, and shuts the others out
    /// (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992).
    LockOut,
    /// A loss takes more of the window than the queue holds: the link runs dry, and a window that grows by a
    /// constant takes long to come back.
    ShortQueue {
        /// The part of the window that a loss leaves.
        left: Fraction,
        /// The queue that keeps the link busy.
        least: Bytes,
    },
}

impl PathFacts {
    /// Packets of a window that finds its losses without timeouts, and is halved for each: between the four that
    /// three duplicate ACKs take (RFC 5681) and twice as many it has six on average.
    pub const LEAST_PACKETS: u64 = 6;

    /// Twice the most flows of which one was seen to shut the others out: all of these must wait for timeouts at once.
    const FEW: u64 = 64;

    /// Says that a flow needs a window of `packets` to find its losses without a timeout.
    pub fn least_window(&self, packets: u64, emit: &mut dyn FnMut(Caution)) {
        let least = (self.mss * packets).max(self.segment);
        if self.queue.is_some_and(|queue| least > self.product + queue / self.flows.max(1)) {
            emit(Caution::Crowded { least });
        }
    }

    /// Says that nothing but losses holds the window of a flow back, and that it finds them out as
    /// [`least_window`](Self::least_window) has it.
    pub fn governed_by_losses(&self, emit: &mut dyn FnMut(Caution)) {
        self.least_window(Self::LEAST_PACKETS, emit);
        let same = self.line_rate.as_bps().abs_diff(self.bottleneck().as_bps()) < self.flows;
        let few = (2..=Self::FEW).contains(&self.flows);
        if few && self.lasting && same && self.queue.is_some() {
            emit(Caution::LockOut);
        }
    }

    /// Says that the window of a flow is a segment at least, and that nothing else holds it back.
    pub fn window_of_segments(&self, emit: &mut dyn FnMut(Caution)) {
        if self.segment > self.mss {
            let effect = "windows do not govern the queue";
            self.coarse(("a window is", self.segment), effect, emit);
        }
    }

    /// Says that `effect` comes about where the share of each of several flows is below `least`.
    pub fn coarse(
        &self,
        (what, least): (&'static str, Bytes),
        effect: &'static str,
        emit: &mut dyn FnMut(Caution),
    ) {
        if least > self.product && self.flows > 1 {
            emit(Caution::Coarse { what, least, effect });
        }
    }

    /// Says that a window doubles with each ACK, from a floor of `packets` to what its NIC sends in an RTT, and falls
    /// back when it meets a queue. Where floors alone hold most of each share that does not matter.
    pub fn overshoot(&self, packets: u64, emit: &mut dyn FnMut(Caution)) {
        // Shares are rounded down.
        let bottleneck = self.bottleneck().as_bps() + self.flows;
        if self.line_rate.as_bps() > bottleneck && !self.holds_most(packets) {
            emit(Caution::Overshoot);
        }
    }

    /// Whether windows of `packets` are three quarters of each flow's share.
    pub fn holds_most(&self, packets: u64) -> bool {
        self.mss * packets >= self.product * 3 / 4
    }

    /// Says that a window of more than `packets` is not allowed by `param`.
    pub fn most_window(&self, param: &'static str, packets: u64, emit: &mut dyn FnMut(Caution)) {
        let least = self.product.get().div_ceil(self.mss.get().max(1));
        if packets < least / 2 {
            emit(Caution::WindowBound { param, value: packets, least });
        }
    }

    /// Says that a window may keep no more than `packets` in the queue, which `param` sets, and that the flow's own
    /// segments, which come faster than the bottleneck serves them, are more.
    pub fn own_segments(
        &self,
        param: &'static str,
        packets: Fraction,
        emit: &mut dyn FnMut(Caution),
    ) {
        if self.segment <= self.mss {
            return;
        }
        let waits = self.segment_time().saturating_sub(self.line_rate.time_for(self.segment));
        let least = self.share.bytes_in(waits).get().div_ceil(self.mss.get().max(1));
        let value = packets.bits() >> Fraction::BITS;
        if u64::from(value) < least / 2 {
            emit(Caution::WindowBound { param, value: value.into(), least });
        }
    }

    /// Says that each flow starts at the rate of its NIC, with nothing to hold it back for an RTT.
    pub fn starts_at_line_rate(&self, emit: &mut dyn FnMut(Caution)) {
        let each = self.line_rate.bytes_in(self.network_rtt);
        if self.lasting && each * self.flows > self.held() * 25 {
            emit(Caution::FirstWindows { each });
        }
    }

    /// Says that `param` is a gain of `value`, and that no more than `most` settles where there is a queue.
    pub fn gain(
        &self,
        param: &'static str,
        value: Fraction,
        most: Fraction,
        emit: &mut dyn FnMut(Caution),
    ) {
        if value > most && self.queues() {
            emit(Caution::Gain { param, value, most });
        }
    }

    /// Says that a flow keeps `packets` in the queue, which `param` sets.
    pub fn backlog(&self, param: &'static str, packets: u64, emit: &mut dyn FnMut(Caution)) {
        let each = self.mss * packets;
        if self.queue.is_some_and(|queue| each * self.flows > queue) {
            emit(Caution::Backlog { param, each });
        }
    }

    /// Says that a flow keeps a delay of `value` in the queue over the least that it has seen. Where the queue
    /// holds less, its losses tell all flows of the same.
    pub fn latecomers(&self, param: &'static str, value: Span, emit: &mut dyn FnMut(Caution)) {
        let full = self.full_queue();
        if self.flows > 1 && full.is_none_or(|full| full > value) {
            emit(Caution::Latecomers { param, value, full });
        }
    }

    /// Says that a loss leaves `left` of the window, and that the window then grows slowly. Of many flows
    /// few lose something at once, so a queue of the product over the root of their number will do
    /// (Appenzeller, Keslassy and `McKeown`, SIGCOMM 2004).
    pub fn queue_for_losses(&self, left: Fraction, emit: &mut dyn FnMut(Caution)) {
        let Some(queue) = self.queue else { return };
        // What is left of product and queue must still be the product.
        let left_of_one = left.min(Fraction::ONE).as_f64().max(1e-6);
        let flows = self.flows.max(1) as f64;
        let product = self.product.get() as f64 * flows;
        let least = product * (1.0 - left_of_one) / left_of_one / libm::sqrt(flows);
        if least > queue.get() as f64 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive; the cast saturates"
            )]
            let least = Bytes::new(libm::ceil(least) as u64);
            emit(Caution::ShortQueue { left, least });
        }
    }

    /// Says that a rate rises below the RTT `t_low` and falls above `t_high`, which parameters of these
    /// names set to at most a second; `effect` comes about where no RTT is below `t_low`.
    pub fn thresholds(
        &self,
        t_low: Span,
        t_high: Span,
        effect: &'static str,
        emit: &mut dyn FnMut(Caution),
    ) {
        let most = Span::from_secs(1);
        self.rtt_below(("t_low", t_low), (2, most), effect, emit);
        let falls = "the rate falls with every completion";
        self.rtt_below(("t_high", t_high), (4, most), falls, emit);
        if self.flows > 1 && self.network_rtt < t_low {
            // TIMELY's authors ran segments of 64 KB, 52 us at 10 Gb/s, under 50 us.
            self.above_segment_time(("t_low", t_low), 125, emit);
        }
    }

    /// Says that delays of `value`, which `param` sets, are congestion, and that segments of `percent` of
    /// it are too long. Where a segment is a packet, those of one window wait for each other in the
    /// sender's NIC, too.
    pub fn above_segment_time(
        &self,
        (param, value): (&'static str, Span),
        percent: u64,
        emit: &mut dyn FnMut(Caution),
    ) {
        let time = self.segment_time();
        let waits = self.queues() || self.segment <= self.mss;
        if time.as_ps() >= value.as_ps() / 100 * percent && waits {
            emit(Caution::SegmentTime { param, value, time });
        }
    }

    /// The delay of a full queue; none where nothing is dropped.
    pub fn full_queue(&self) -> Option<Span> {
        self.queue.map(|queue| self.bottleneck().time_for(queue))
    }

    /// The bytes of all flows that the path and its queue hold.
    pub fn held(&self) -> Bytes {
        self.queue.unwrap_or_default() + self.product * self.flows
    }

    /// Whether anything can wait at the bottleneck.
    fn queues(&self) -> bool {
        self.flows > 1 || self.line_rate > self.bottleneck()
    }

    /// The time that a segment takes at the bottleneck.
    pub fn segment_time(&self) -> Span {
        self.bottleneck().time_for(self.segment)
    }

    /// The rate that the flows share.
    fn bottleneck(&self) -> Rate {
        Rate::from_bps(self.share.as_bps().saturating_mul(self.flows.max(1)))
    }

    /// Says that the rate of a flow is `floor` at least.
    pub fn least_rate(&self, param: &'static str, floor: Rate, emit: &mut dyn FnMut(Caution)) {
        if floor > self.share {
            emit(Caution::RateFloor { param, value: floor });
        }
    }

    /// Says that `effect` comes about at an RTT of `value` or more. A value that works is `times` the RTT,
    /// which leaves room for a queue, and at most `most`.
    pub fn rtt_below(
        &self,
        (param, value): (&'static str, Span),
        (times, most): (u64, Span),
        effect: &'static str,
        emit: &mut dyn FnMut(Caution),
    ) {
        let rtt = self.network_rtt;
        if rtt >= value {
            let least = (rtt * times).min(most);
            let least = (least > rtt).then_some(least);
            emit(Caution::BelowRtt { param, value, rtt, least, effect });
        }
    }
}

//! Paths on which an algorithm cannot work with its parameters, as far as that is known before a
//! run.
//!
//! Each algorithm names such paths itself
//! ([`Configurable::cautions`](crate::param::Configurable::cautions)). A caller that knows the
//! network, such as the simulator, passes the [`PathFacts`] and turns the answers into sentences.

mod delays;

use crate::units::{Bytes, Fraction, Rate, Span};

/// A path without queues, and a flow's share of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// The least [`RttSample::network`](crate::RttSample::network) that the flow can see.
    pub network_rtt: Span,
    /// The part of the RTT that the peer reports as its own processing.
    pub peer: Span,
    /// The largest random delay of an ACK.
    pub jitter: Span,
    /// The largest random part of an RTT sample, late ACKs included; [`None`] where timestamps are
    /// coarse in a way that has no such bound.
    pub noise: Option<Span>,
    /// The number of links from the sender to the receiver.
    pub hop_count: u8,
    /// Whether the flow always has something to send.
    pub lasting: bool,
    /// The largest payload of one packet.
    pub mss: Bytes,
    /// The unit of sending.
    pub segment: Bytes,
    /// A segment with the headers of its packets.
    pub wire: Bytes,
    /// The payload that one ACK covers, where no ACK waits for a timer.
    pub acked: Bytes,
    /// The rate of the sender's NIC.
    pub line_rate: Rate,
    /// The number of flows that always share the bottleneck, this one included.
    pub flows: u64,
    /// The rate of the bottleneck over `flows`.
    pub share: Rate,
    /// The flow's part of the bandwidth-delay product: `share` times the RTT of a segment.
    pub product: Bytes,
    /// The most bytes that can wait at the bottleneck before packets are dropped; [`None`] where no
    /// packet is dropped.
    pub queue: Option<Bytes>,
}

/// A reason why a flow cannot get its share of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// The RTT without queues is above a threshold.
    BelowRtt {
        /// The parameter that is the threshold.
        param: &'static str,
        /// The parameter's value.
        value: Span,
        /// The RTT that is compared with that value.
        rtt: Span,
        /// A value that works, if there is one.
        least: Option<Span>,
        /// The consequence: "the rate falls with every completion".
        effect: &'static str,
    },
    /// A threshold is so far above the RTT without queues that many segments wait below it: it was
    /// chosen for slower links.
    SlowerLinks {
        /// The parameter that is the threshold.
        param: &'static str,
        /// The parameter's value.
        value: Span,
        /// The queue at the bottleneck when an RTT is at the threshold.
        queue: Bytes,
        /// The preset that fits, with its algorithm, if there is one.
        preset: Option<&'static str>,
    },
    /// A segment takes longer at the bottleneck than a threshold on the delay. Flows mistake each
    /// other's segments, or two of their own in a row, for congestion.
    SegmentTime {
        /// The parameter that is the threshold.
        param: &'static str,
        /// The parameter's value.
        value: Span,
        /// The time that a segment takes.
        time: Span,
    },
    /// A segment that waits for one of another flow sees an RTT above a threshold, and at half of
    /// its share a flow loses more rate by such segments than it gains with all others.
    SegmentAhead {
        /// The parameter that is the threshold.
        param: &'static str,
        /// The parameter's value.
        value: Span,
        /// The RTT behind a whole segment of another flow.
        rtt: Span,
        /// The rate that a flow gains with a segment that waits for none.
        gain: Rate,
        /// The rate that a flow loses on average by a waiting segment.
        cut: Rate,
        /// The parameter that scales the loss, and a value that works.
        scale: (&'static str, Fraction),
    },
    /// A single packet that is sent again has a shorter RTT than a whole segment. Measured by it,
    /// the rest of each segment is a backlog that keeps the window below half of the flow's share.
    WholeSegments {
        /// The parameter that bounds the backlog, in packets.
        param: &'static str,
        /// The parameter's value.
        value: Fraction,
        /// The backlog that the rest of a segment amounts to, in packets.
        least: u64,
    },
    /// A single RTT sample that rises enough takes the whole rate, down to the minimum, and
    /// segments of all other flows in a row raise the RTT by more. Samples are rare at the minimum
    /// rate, so the way back is long.
    WholeRate {
        /// The parameter that bounds a cut.
        param: &'static str,
        /// The rise that takes the whole rate.
        rise: Span,
        /// The time that a segment of each other flow takes.
        others: Span,
    },
    /// Packets that one ACK covers wait for each other, and the window grows by the rest of a
    /// target, less that delay. So growth takes longer than the algorithm's page states.
    SlowGrowth {
        /// The parameter that is the target.
        param: &'static str,
        /// The parameter's value.
        value: Span,
        /// The delay of the last packet that an ACK covers behind the first.
        delay: Span,
        /// A value that works.
        least: Span,
    },
    /// ACKs that are late at random pass for a backlog of the flow, since few of a round are on
    /// time where none may overtake another.
    LateAcks {
        /// The parameters that bound the backlog, in packets.
        params: [&'static str; 2],
        /// The values of both.
        values: [Fraction; 2],
        /// A value of both that works.
        least: u64,
    },
    /// The flow reacts to a change of the RTT that its own burst causes, in its own NIC.
    OwnBurst {
        /// The parameter that scales the tolerated change.
        param: &'static str,
        /// The largest change of the RTT that is tolerated.
        borne: Span,
        /// The time that a burst of three quarters of the flow's share takes.
        burst: Span,
        /// A value that works.
        least: Span,
    },
    /// A gain is too large for a queue that is reported a round trip late, and the rate oscillates.
    Gain {
        /// The parameter that is the gain.
        param: &'static str,
        /// The parameter's value.
        value: Fraction,
        /// The largest gain that was seen to settle.
        most: Fraction,
    },
    /// A window doubles up to the amount that the flow's own NIC sends in an RTT, which is more
    /// than the bottleneck carries.
    Overshoot,
    /// The random delay of ACKs exceeds the changes of the RTT that count as none.
    Noise {
        /// The parameter that bounds these changes, as a fraction of an interval.
        param: &'static str,
        /// The fraction that counts as no change.
        value: Fraction,
        /// The fraction that the random delay amounts to.
        noise: Fraction,
    },
    /// A bound keeps the window below half of the flow's share.
    WindowBound {
        /// The parameter that is the bound, in packets.
        param: &'static str,
        /// The parameter's value.
        value: u64,
        /// The flow's share in packets.
        least: u64,
    },
    /// The minimum rate of a flow is above its share.
    RateFloor {
        /// The parameter that is the floor.
        param: &'static str,
        /// The parameter's value on this NIC.
        value: Rate,
    },
    /// The additive increase is too small to make the rates of several flows equal. Each flow reads
    /// the queue of a few packets as load, the flows read it differently, and only the additive
    /// increase works against that.
    SlowEquals {
        /// The parameter that is the increase, as a rate.
        param: &'static str,
        /// The parameter's value.
        value: Rate,
        /// A value that works.
        least: Rate,
    },
    /// The smallest unit that a flow controls, its window or the bytes between two changes of its
    /// rate, is more than its share of the product. The units of all flows together make a queue
    /// that the flows cannot control.
    Coarse {
        /// The subject and its verb: "a window is".
        what: &'static str,
        /// The smallest unit.
        least: Bytes,
        /// The consequence: "windows do not govern the queue".
        effect: &'static str,
    },
    /// The minimum windows of all flows exceed the capacity of the path and its queue, so losses
    /// are found only by timeouts.
    Crowded {
        /// The smallest window with which a flow makes progress.
        least: Bytes,
    },
    /// In their first RTT all flows together send 25 times the capacity of the path and its queue.
    /// Nearly all of that is lost; or, where no packet is dropped, it takes 25 RTTs before the
    /// first ACK counts.
    FirstWindows {
        /// The bytes that each flow sends in its first RTT.
        each: Bytes,
    },
    /// Each flow keeps a backlog in the queue at the bottleneck. All backlogs together exceed the
    /// queue, so flows lose packets instead of settling.
    Backlog {
        /// The parameter that is the backlog, in packets.
        param: &'static str,
        /// The backlog of one flow.
        each: Bytes,
    },
    /// A flow that starts while others keep a queue takes that queue for a part of its path. The
    /// queue is never empty, and the new flow pushes the others aside.
    Latecomers {
        /// The parameter that sets the delay that each flow keeps.
        param: &'static str,
        /// The parameter's value.
        value: Span,
        /// The delay of a full queue; [`None`] where no packet is dropped.
        full: Option<Span>,
    },
    /// A full queue causes a shorter delay than the delay that slows the flow down, so only losses
    /// slow it down.
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
    /// NICs are exactly as fast as the bottleneck, where only a full queue slows flows down. A flow
    /// whose window outgrows its NIC keeps the queue full by itself, loses no packet, and locks the
    /// other flows out (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways",
    /// 1992).
    LockOut,
    /// A loss cuts the window by more than the queue holds. The link runs idle, and a window with
    /// additive increase takes long to recover.
    ShortQueue {
        /// The part of the window that is left after a loss.
        left: Fraction,
        /// The smallest queue that keeps the link busy.
        least: Bytes,
    },
}

impl PathFacts {
    /// The packets of a window that finds its losses without timeouts and is halved at each loss.
    /// The window varies between four packets, which three duplicate ACKs take (RFC 5681), and
    /// twice as many: six on average.
    pub const LEAST_PACKETS: u64 = 6;

    /// Twice the largest number of flows among which one was seen to lock out the others, which
    /// then all wait for a timeout at once.
    const FEW: u64 = 64;

    /// The packets of a window of which a loss leaves the part `left`, and which loses no larger
    /// part of its packets than a halved window of [`LEAST_PACKETS`](Self::LEAST_PACKETS). One of W
    /// packets grows by one in a round trip, so it needs 1 / ((1 - left) W) losses in each.
    fn least_packets(left: Fraction) -> u64 {
        let lost = (1.0 - left.min(Fraction::ONE).as_f64()).max(1e-3);
        let packets = Self::LEAST_PACKETS as f64 * libm::sqrt(0.5 / lost);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from zero to 135"
        )]
        let packets = libm::ceil(packets) as u64;
        packets.max(Self::LEAST_PACKETS)
    }

    /// Warns where path and queue cannot hold a window of `packets`, which a flow needs to find its
    /// losses without a timeout.
    pub fn least_window(&self, packets: u64, emit: &mut dyn FnMut(Caution)) {
        let least = (self.mss * packets).max(self.segment);
        if self.queue.is_some_and(|queue| least > self.product + queue / self.flows.max(1)) {
            emit(Caution::Crowded { least });
        }
    }

    /// Warns where a flow that only losses slow down cannot find them as
    /// [`least_window`](Self::least_window) demands, or where one of a few flows can lock the
    /// others out. A loss leaves `left` of a small window.
    pub fn governed_by_losses(&self, left: Fraction, emit: &mut dyn FnMut(Caution)) {
        self.least_window(Self::least_packets(left), emit);
        let same = self.line_rate.as_bps().abs_diff(self.bottleneck().as_bps()) < self.flows;
        let few = (2..=Self::FEW).contains(&self.flows);
        if few && self.lasting && same && self.queue.is_some() {
            emit(Caution::LockOut);
        }
    }

    /// Warns where the window of a flow, which is at least a segment and limited by nothing else,
    /// exceeds the flow's share.
    pub fn window_of_segments(&self, emit: &mut dyn FnMut(Caution)) {
        if self.segment > self.mss {
            let effect = "windows do not govern the queue";
            self.coarse(("a window is", self.segment), effect, emit);
        }
    }

    /// Warns of `effect` where the share of each of several flows is below `least`.
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

    /// Warns where a window doubles with each ACK, from a floor of `packets`, up to more than the
    /// bottleneck carries in an RTT, and falls back when it meets a queue. That does not matter
    /// where the floors alone are most of each share, unless windows also double above the floors,
    /// and one of them makes the queue drop packets of others. They double until the queue takes
    /// `borne`.
    pub fn overshoot(&self, packets: u64, borne: Span, emit: &mut dyn FnMut(Caution)) {
        // Shares are rounded down.
        let bottleneck = self.bottleneck().as_bps() + self.flows;
        let floors = (self.mss * packets).saturating_sub(self.product) * self.flows;
        let doubles = self.bottleneck().time_for(floors) < borne;
        let faster = self.line_rate.as_bps().saturating_sub(bottleneck);
        let faster = Rate::from_bps(faster);
        let excess = faster.bytes_in(self.network_rtt + borne);
        let drops = self.flows > 1 && self.queue.is_some_and(|queue| excess > queue) && doubles;
        if self.line_rate.as_bps() > bottleneck && (drops || !self.holds_most(packets)) {
            emit(Caution::Overshoot);
        }
    }

    /// Whether windows of `packets`, or of the segment that a window has at least, are three
    /// quarters of each flow's share or more.
    pub fn holds_most(&self, packets: u64) -> bool {
        (self.mss * packets).max(self.segment) >= self.product * 3 / 4
    }

    /// Warns where `packets`, the limit of the window that `param` sets, is below half of the
    /// flow's share.
    pub fn most_window(&self, param: &'static str, packets: u64, emit: &mut dyn FnMut(Caution)) {
        let least = self.product.get().div_ceil(self.mss.get().max(1));
        if packets < least / 2 {
            emit(Caution::WindowBound { param, value: packets, least });
        }
    }

    /// Warns where flows start at the rate of their NICs, with nothing to slow them down for an
    /// RTT, and so send much more than path and queue hold.
    pub fn starts_at_line_rate(&self, emit: &mut dyn FnMut(Caution)) {
        let each = self.line_rate.bytes_in(self.network_rtt);
        if self.lasting && each * self.flows > self.held() * 25 {
            emit(Caution::FirstWindows { each });
        }
    }

    /// Warns where there is a queue and `value`, the gain that `param` sets, is above `most`, the
    /// largest that settles.
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

    /// The least additive increase, as a rate, with which flows without end that follow the
    /// reported load of their link become equal; [`None`] where a flow is alone or has less than
    /// three quarters of a packet on the way.
    ///
    /// A packet in the queue, or a late ACK, moves the load that a flow measures by about one in P,
    /// where P is what the link sends in an RTT, over two packets and what arrives in the largest
    /// lateness of an ACK. The share over 12 P P is fitted to runs (`docs/algorithms/hpcc.md`).
    pub fn least_increase(&self) -> Option<Rate> {
        let on_the_way = self.share.bytes_in(self.network_rtt);
        if !self.lasting || self.flows < 2 || on_the_way < self.mss * 3 / 4 {
            return None;
        }
        let bottleneck = self.bottleneck();
        let unit = (self.mss * 2 + bottleneck.bytes_in(self.jitter)).get().max(1) as f64;
        let held = bottleneck.bytes_in(self.network_rtt).get().max(1) as f64 / unit;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; the cast saturates"
        )]
        let least = libm::ceil(self.share.as_bps() as f64 / (12.0 * held * held)) as u64;
        Some(Rate::from_bps(least))
    }

    /// Warns where the queue cannot hold `packets` of each flow, the backlog that `param` sets.
    pub fn backlog(&self, param: &'static str, packets: u64, emit: &mut dyn FnMut(Caution)) {
        let each = self.mss * packets;
        if self.queue.is_some_and(|queue| each * self.flows > queue) {
            emit(Caution::Backlog { param, each });
        }
    }

    /// Warns where each flow keeps a queueing delay of `value` above the smallest that it has seen.
    /// A queue that is full before that delay needs no warning: all flows see its losses.
    pub fn latecomers(&self, param: &'static str, value: Span, emit: &mut dyn FnMut(Caution)) {
        let full = self.full_queue();
        if self.flows > 1 && full.is_none_or(|full| full > value) {
            emit(Caution::Latecomers { param, value, full });
        }
    }

    /// Warns where a loss leaves `left` of the window, the window then grows slowly, and the queue
    /// is too short to keep the link busy. Of many flows only a few lose packets at once, so a
    /// queue of the product over the square root of their number is enough (Appenzeller, Keslassy
    /// and `McKeown`, SIGCOMM 2004).
    pub fn queue_for_losses(&self, left: Fraction, emit: &mut dyn FnMut(Caution)) {
        let Some(queue) = self.queue else { return };
        // The rest of product and queue after a loss must still be at least the product.
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

    /// The delay of a full queue; [`None`] where no packet is dropped.
    pub fn full_queue(&self) -> Option<Span> {
        self.queue.map(|queue| self.bottleneck().time_for(queue))
    }

    /// The bytes of all flows that the path and its queue can hold.
    pub fn held(&self) -> Bytes {
        self.queue.unwrap_or_default() + self.product * self.flows
    }

    /// Whether anything can wait at the bottleneck.
    pub fn queues(&self) -> bool {
        self.flows > 1 || self.line_rate > self.bottleneck()
    }

    /// The time that a segment takes at the bottleneck.
    pub fn segment_time(&self) -> Span {
        self.bottleneck().time_for(self.wire)
    }

    /// The rate that the flows share.
    pub fn bottleneck(&self) -> Rate {
        Rate::from_bps(self.share.as_bps().saturating_mul(self.flows.max(1)))
    }

    /// Warns where `floor`, the minimum rate of a flow, is above the flow's share.
    pub fn least_rate(&self, param: &'static str, floor: Rate, emit: &mut dyn FnMut(Caution)) {
        if floor > self.share {
            emit(Caution::RateFloor { param, value: floor });
        }
    }
}

//! The settings of switches.

use incast_cc::{Bytes, Fraction, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use incast_cc::param::Need;
use incast_queue::feedback::{AnyFeedback, Feedbacks};

use super::{Aqm, Moment, QueueDiscipline};
use incast_schema::quantity;

/// The settings of all switches.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// The shared packet buffer, including PFC headroom.
    #[serde(with = "quantity::Size")]
    pub buffer: Bytes,
    /// The largest length of an egress queue without PFC protection, as a multiple of the free
    /// buffer. Without PFC this limits all queues; with PFC the queues of ACKs in their own class,
    /// and of classes without `pfc`.
    #[serde(with = "quantity::Alpha")]
    pub alpha: Fraction,
    /// The most bytes in an egress queue without PFC protection, instead of the dynamic threshold.
    #[serde(with = "quantity::OptionalSize")]
    pub queue_limit: Option<Bytes>,
    /// The most bytes in all queues of one egress port, for packets of classes that PFC does not
    /// protect.
    #[serde(with = "quantity::OptionalSize")]
    pub port_limit: Option<Bytes>,
    /// The burst of a token bucket at each egress port, as Linux's `tbf` has it. Tokens grow at the
    /// rate of the link up to the burst. A packet leaves as soon as there are tokens for all of its
    /// bytes, at 8 Tb/s: the speed of the device. Without `burst` and `burst_time` ports have no
    /// bucket: each packet takes its time at the rate of the link.
    #[serde(with = "quantity::OptionalSize")]
    pub burst: Option<Bytes>,
    /// The burst of the token bucket as a time at the rate of each link. With `burst` too, a port
    /// has the larger of the two.
    #[serde(with = "quantity::OptionalDuration")]
    pub burst_time: Option<Span>,
    /// The ECN threshold: data packets that find more than this in their queue, themselves counted,
    /// are marked. This needs packets that may be marked: packets of messages, and of streams if
    /// `transport.stream.ecn` says so.
    #[serde(with = "quantity::OptionalSize")]
    pub ecn_threshold: Option<Bytes>,
    /// The queues that ECN thresholds are compared with.
    pub ecn_scope: EcnScope,
    /// The moment at which packets are compared with ECN thresholds: as they come, which is the
    /// default, or as they leave, by the queue that they leave behind.
    pub ecn_at: Moment,
    /// Queue management of each class of each egress port, instead of `ecn_threshold`.
    pub aqm: Option<Aqm>,
    /// The queue discipline: the order in which packets of a class leave an egress queue, and which
    /// one is dropped when the queue is full. By default `fifo`; another kind by its name, or as a
    /// table with its settings.
    pub discipline: QueueDiscipline,
    /// Stamps the state of a port into each packet that leaves it (INT), for HPCC: the same as a
    /// table `feedback.int`. The stamps take no space in the packet.
    pub telemetry: bool,
    /// The languages in which each port answers senders, a table for each: `int`, `d3`, `rcp`,
    /// `vcp`. A run uses the one that its algorithm understands. Answers take no space in packets.
    pub feedback: Feedbacks,
    /// Priority flow control.
    pub pfc: Pfc,
}

impl Switch {
    /// Whether each egress port has a token bucket.
    pub const fn has_bucket(&self) -> bool {
        self.burst.is_some() || self.burst_time.is_some()
    }

    /// The burst of the token bucket of a port whose link has `rate`, if ports have one.
    pub fn burst_at(&self, rate: Rate) -> Option<Bytes> {
        self.burst.max(self.burst_time.map(|time| rate.bytes_in(time)))
    }

    /// The feedback of ports in the language `kind`, if they speak it.
    pub fn feedback(&self, kind: &str) -> Option<AnyFeedback> {
        let stamps = self.telemetry && kind == "int";
        self.feedback.of(kind).or_else(|| AnyFeedback::named(kind).filter(|_| stamps))
    }

    /// The feedback of ports that an algorithm with these needs understands, if they speak it.
    pub fn feedback_for(&self, needs: &[Need]) -> Option<AnyFeedback> {
        let kind = needs.iter().find_map(|need| match need {
            Need::Telemetry => Some("int"),
            Need::Feedback(kind) => Some(*kind),
            _ => None,
        });
        self.feedback(kind?)
    }
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            buffer: Bytes::from_kb(9_000),
            alpha: Fraction::ONE,
            queue_limit: None,
            port_limit: None,
            burst: None,
            burst_time: None,
            ecn_threshold: None,
            ecn_scope: EcnScope::default(),
            ecn_at: Moment::default(),
            aqm: None,
            discipline: QueueDiscipline::default(),
            telemetry: false,
            feedback: Feedbacks::default(),
            pfc: Pfc::default(),
        }
    }
}

/// The queues that ECN thresholds are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EcnScope {
    /// The queue of the packet: its class at its egress port.
    #[default]
    Queue,
    /// All queues of the egress port together.
    Port,
}

/// Priority flow control. It protects all classes except those with `pfc = false` and the class of
/// ACKs that `transport.ack_priority` adds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Whether PFC is on.
    pub enabled: bool,
    /// The bytes that a class may hold at an ingress port before it pauses its sender, as a
    /// multiple of the free buffer.
    #[serde(with = "quantity::Alpha")]
    pub alpha: Fraction,
    /// A fixed XOFF threshold instead of the dynamic one.
    #[serde(with = "quantity::OptionalSize")]
    pub xoff: Option<Bytes>,
    /// How far a class must fall below the XOFF threshold before its sender goes on.
    #[serde(with = "quantity::Size")]
    pub xon_offset: Bytes,
    /// The buffer reserved at each ingress port, for each protected class, for packets that arrive
    /// after XOFF. By default computed from the port's link: the bytes of a round trip, and three
    /// packets.
    #[serde(with = "quantity::OptionalSize")]
    pub headroom: Option<Bytes>,
    /// The PFC watchdog, which looks for classes that are paused for too long.
    pub watchdog: Watchdog,
}

/// The PFC watchdog of each switch. It reports a class of an egress port that has packets to send
/// and is paused for too long, once for each pause.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Watchdog {
    /// The longest pause that is not reported. A report comes at most a quarter of this time late.
    #[serde(with = "quantity::Duration")]
    pub after: Span,
    /// The action of the watchdog, besides its report.
    pub action: WatchdogAction,
}

/// The action of the PFC watchdog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WatchdogAction {
    /// The watchdog only reports.
    #[default]
    Report,
    /// The watchdog drops packets that wait in the class or arrive for it, until the pause ends.
    Drop,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { after: Span::from_ms(10), action: WatchdogAction::Report }
    }
}

impl Default for Pfc {
    fn default() -> Self {
        Self {
            enabled: false,
            alpha: Fraction::from_ratio(1, 8),
            xoff: None,
            xon_offset: Bytes::from_kb(3),
            headroom: None,
            watchdog: Watchdog::default(),
        }
    }
}

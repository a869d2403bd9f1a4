//! The switches of a scenario.

use incast_cc::{Bytes, Fraction, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Aqm, QueueDiscipline};
use incast_schema::quantity;

/// All switches.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// The shared packet buffer, PFC headroom included.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub buffer: Bytes,
    /// What an egress queue that PFC does not protect may hold, as a multiple of the free buffer: all
    /// queues without PFC; with it those of ACKs in their own class, and of classes without `pfc`.
    #[serde(deserialize_with = "quantity::alpha")]
    #[schemars(with = "f64")]
    pub alpha: Fraction,
    /// Most bytes of such a queue, instead of the dynamic threshold.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub queue_limit: Option<Bytes>,
    /// Most bytes of all queues of one egress port, for packets of classes that PFC does not protect.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub port_limit: Option<Bytes>,
    /// Marks (ECN) data packets that find more than this in their queue, themselves counted, if they say
    /// that they may be marked: messages do, streams where `transport.stream.ecn` has it so.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub ecn_threshold: Option<Bytes>,
    /// Queue management of each class of each egress port, instead of `ecn_threshold`.
    pub aqm: Option<Aqm>,
    /// The order in which packets of a class leave an egress queue, and which goes when it is full:
    /// `fifo`, the default, or another kind by its name, or in a table with its settings.
    pub discipline: QueueDiscipline,
    /// Stamps the state of a port into each packet that leaves it (INT), for HPCC. Takes no room in
    /// the packet.
    pub telemetry: bool,
    /// Priority flow control.
    pub pfc: Pfc,
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            buffer: Bytes::from_kb(9_000),
            alpha: Fraction::ONE,
            queue_limit: None,
            port_limit: None,
            ecn_threshold: None,
            aqm: None,
            discipline: QueueDiscipline::default(),
            telemetry: false,
            pfc: Pfc::default(),
        }
    }
}

/// Priority flow control, for the classes that do not refuse it; the class of ACKs that
/// `transport.ack_priority` adds does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Whether it is on.
    pub enabled: bool,
    /// What a class may hold at an ingress port before it pauses its sender, as a multiple of the free buffer.
    #[serde(deserialize_with = "quantity::alpha")]
    #[schemars(with = "f64")]
    pub alpha: Fraction,
    /// A fixed XOFF threshold instead of the dynamic one.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub xoff: Option<Bytes>,
    /// How far below the XOFF threshold it must fall before its sender goes on.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub xon_offset: Bytes,
    /// Room kept at each ingress port and for each class that is protected, for what arrives after XOFF; by default computed from its
    /// link: what travels during a round trip, and three packets.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub headroom: Option<Bytes>,
    /// What looks for classes that a pause holds too long.
    pub watchdog: Watchdog,
}

/// The PFC watchdog of each switch: reports a class of an egress port that has something to send and is
/// paused for too long, once for each pause.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Watchdog {
    /// How long is too long; it is noticed at most a quarter of that later.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub after: Span,
    /// What it does beyond its report.
    pub action: WatchdogAction,
}

/// What the PFC watchdog does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WatchdogAction {
    /// No more than that.
    #[default]
    Report,
    /// Drops what waits in the class, and what comes for it, until the pause ends.
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

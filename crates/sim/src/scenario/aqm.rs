//! Active queue management in the switches of a scenario.

use incast_cc::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::Fault;
use super::quantity;

/// How an egress queue tells senders of congestion before it is full. Each class of each port has one
/// of its own. The field `kind` chooses.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Aqm {
    /// Random early detection (Floyd and Jacobson 1993), and the marking of DCTCP and DCQCN.
    Red(Red),
    /// The proportional-integral controller (Hollot, Misra, Towsley and Gong 2001).
    Pi(Pi),
    /// The PI controller on delay that tunes itself (RFC 8033).
    Pie(Pie),
    /// Controlled delay (RFC 8289).
    Codel(Codel),
    /// HULL's phantom queue (Alizadeh and others 2012).
    Phantom(Phantom),
}

/// Random early detection: the probability grows with the average queue. A packet counts itself to the
/// queue, as it does for `ecn_threshold`. DCQCN's marking is `gentle = false`, `weight = 1`, with
/// Kmin, Kmax and Pmax as `min`, `max` and `max_probability`; with `min` equal to `max` that is
/// `ecn_threshold`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Up to this average no packet is touched.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub min: Bytes,
    /// Above this average every packet is, or with `gentle` ever more.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub max: Bytes,
    /// The probability at `max`; 0.02 by default.
    #[serde(default = "default_max_probability", deserialize_with = "quantity::probability")]
    pub max_probability: f64,
    /// Above `max` the probability grows on, to 1 at twice `max`; on by default.
    #[serde(default = "yes")]
    pub gentle: bool,
    /// Weight of each sample in the average; 0.002 by default. 1 is the queue as it is: then each
    /// packet is judged by itself, else touched packets are spaced evenly.
    #[serde(default = "default_weight", deserialize_with = "quantity::probability")]
    pub weight: f64,
    /// While the link idles the average decays as if so large packets went by; 500 B by default.
    #[serde(default = "default_packet", deserialize_with = "quantity::packet")]
    #[schemars(with = "String")]
    pub small_packet: Bytes,
    /// Marks packets that say that they may be marked, instead of dropping them; on by default.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Drops packets that may not be marked; on by default. If off they pass.
    #[serde(default = "yes")]
    pub drop: bool,
}

/// The proportional-integral controller: at regular instants it moves the probability so that the queue
/// comes to the target.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pi {
    /// Gain, per packet, on how far the queue is above the target now.
    #[serde(deserialize_with = "quantity::gain")]
    pub a: f64,
    /// Gain, per packet, on how far it was above it one interval ago; below `a`.
    #[serde(deserialize_with = "quantity::gain")]
    pub b: f64,
    /// The packet that the gains are for.
    #[serde(deserialize_with = "quantity::packet")]
    #[schemars(with = "String")]
    pub packet: Bytes,
    /// The queue that it steers to.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub target: Bytes,
    /// Between two changes of the probability.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub interval: Span,
    /// Marks packets that say that they may be marked, instead of dropping them.
    pub ecn: bool,
    /// Drops packets that may not be marked; if off they pass.
    pub drop: bool,
}

impl Default for Pi {
    fn default() -> Self {
        Self {
            a: 1.822e-5,
            b: 1.816e-5,
            packet: default_packet(),
            target: Bytes::from_kb(100),
            interval: Span::from_us(6_250),
            ecn: true,
            drop: true,
        }
    }
}

/// PIE: like `pi`, but on the time that packets wait.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pie {
    /// The wait that it steers to.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub target: Span,
    /// Gain, per second, on how far the wait is above the target.
    #[serde(deserialize_with = "quantity::gain")]
    pub a: f64,
    /// Gain, per second, on how much it grew since the last interval.
    #[serde(deserialize_with = "quantity::gain")]
    pub b: f64,
    /// Between two changes of the probability.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub interval: Span,
    /// A burst of up to so long after a quiet time goes untouched.
    #[serde(deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub burst: Span,
    /// Marks packets that say that they may be marked, instead of dropping them.
    pub ecn: bool,
    /// Up to this probability; above it they are dropped like the others.
    #[serde(deserialize_with = "quantity::probability")]
    pub ecn_limit: f64,
    /// Drops packets that may not be marked; if off they pass.
    pub drop: bool,
}

impl Default for Pie {
    fn default() -> Self {
        Self {
            target: Span::from_ms(15),
            a: 0.125,
            b: 1.25,
            interval: Span::from_ms(15),
            burst: Span::from_ms(150),
            ecn: true,
            ecn_limit: 0.1,
            drop: true,
        }
    }
}

/// `CoDel`: when packets have waited longer than the target for an interval, it touches one, and then
/// others ever faster until they wait less.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Codel {
    /// The wait that is acceptable for good.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub target: Span,
    /// How long more than that is acceptable; about the longest round trip.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub interval: Span,
    /// Marks packets that say that they may be marked, instead of dropping them.
    pub ecn: bool,
    /// Drops packets that may not be marked; if off they pass.
    pub drop: bool,
}

impl Default for Codel {
    fn default() -> Self {
        Self { target: Span::from_ms(5), interval: Span::from_ms(100), ecn: true, drop: true }
    }
}

/// A phantom queue: a counter of what would wait if the link were a little slower. It marks packets
/// that find more than the threshold in it, and drops none.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phantom {
    /// Its rate, as a part of the link's.
    #[serde(deserialize_with = "quantity::share")]
    pub drain: f64,
    /// Marks packets that find more than this in it; by default 1 KB for each Gb/s of the link.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub threshold: Option<Bytes>,
}

impl Default for Phantom {
    fn default() -> Self {
        Self { drain: 0.95, threshold: None }
    }
}

impl Aqm {
    /// Whether it marks.
    pub const fn marks(&self) -> bool {
        match self {
            Self::Red(red) => red.ecn,
            Self::Pi(pi) => pi.ecn,
            Self::Pie(pie) => pie.ecn,
            Self::Codel(codel) => codel.ecn,
            Self::Phantom(_) => true,
        }
    }

    /// What no single field shows.
    #[allow(dead_code, reason = "switches do not have one yet")]
    pub(super) fn check(&self) -> Result<(), Fault> {
        let fault = |field: &str, message| Err(Fault::at([&"switch", &"aqm", &field], message));
        let acts = match self {
            Self::Red(red) => red.ecn || red.drop,
            Self::Pi(pi) => pi.ecn || pi.drop,
            Self::Pie(pie) => pie.ecn || pie.drop,
            Self::Codel(codel) => codel.ecn || codel.drop,
            Self::Phantom(_) => true,
        };
        if !acts {
            let message = "it neither marks nor drops; set ecn or drop to true".into();
            return fault("drop", message);
        }
        match self {
            Self::Red(Red { min, max, .. }) if min > max => {
                fault("min", format!("min = {min} is above max = {max}; make it smaller"))
            }
            Self::Pi(Pi { a, b, .. }) if a <= b => {
                let message = format!(
                    "with a = {a} not above b = {b} the queue comes to rest anywhere; make b smaller"
                );
                fault("b", message)
            }
            _ => Ok(()),
        }
    }
}

const fn yes() -> bool {
    true
}

const fn default_max_probability() -> f64 {
    0.02
}

const fn default_weight() -> f64 {
    0.002
}

const fn default_packet() -> Bytes {
    Bytes::new(500)
}

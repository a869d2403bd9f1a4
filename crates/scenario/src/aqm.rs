//! Active queue management in the switches of a scenario.

use std::fmt::Display;

use incast_cc::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use incast_schema::quantity;
use incast_schema::{Fault, suggestion};

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
    /// Gain, per packet, on how far the queue is above the target now; by default the paper's, for 15 Mb/s.
    #[serde(deserialize_with = "quantity::gain")]
    pub a: f64,
    /// Gain, per packet, on how far it was above it one interval ago; below `a`.
    #[serde(deserialize_with = "quantity::gain")]
    pub b: f64,
    /// The packet that the gains are for; 500 B by default.
    #[serde(deserialize_with = "quantity::packet")]
    #[schemars(with = "String")]
    pub packet: Bytes,
    /// The queue that it steers to; by default 100 KB, 200 of these packets.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub target: Bytes,
    /// Between two changes of the probability; 6.25 ms by default (160 Hz).
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
    /// The wait that it steers to; 15 ms by default.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub target: Span,
    /// Gain, per second, on how far the wait is above the target.
    #[serde(deserialize_with = "quantity::gain")]
    pub a: f64,
    /// Gain, per second, on how much it grew since the last interval.
    #[serde(deserialize_with = "quantity::gain")]
    pub b: f64,
    /// Between two changes of the probability; 15 ms by default.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub interval: Span,
    /// A burst of up to so long after a quiet time goes untouched; 150 ms by default.
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
    /// The wait that is acceptable for good; 5 ms by default.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub target: Span,
    /// How long more than that is acceptable: about the longest round trip; 100 ms by default.
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
    /// Its rate, as a part of the link's; 0.95 by default.
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

/// What is wrong with `[switch.aqm]`, and that of each class, of a text, and where: once serde knows the
/// kind, it has forgotten where the fields stood.
pub(super) fn fields(text: &str) -> Result<(), Fault> {
    let Ok(parsed) = DeTable::parse(text) else { return Ok(()) };
    let mut parsed = parsed.into_inner();
    if let Some(DeValue::Table(mut switch)) = parsed.remove("switch").map(Spanned::into_inner)
        && let Some(aqm) = switch.remove("aqm")
    {
        fields_of(text, aqm, &[&"switch", &"aqm"])?;
    }
    if let Some(DeValue::Array(classes)) = parsed.remove("class").map(Spanned::into_inner) {
        for (number, class) in classes.into_iter().enumerate() {
            if let DeValue::Table(mut class) = class.into_inner()
                && let Some(aqm) = class.remove("aqm")
            {
                fields_of(text, aqm, &[&"class", &number, &"aqm"])?;
            }
        }
    }
    Ok(())
}

fn fields_of(text: &str, aqm: Spanned<DeValue<'_>>, path: &[&dyn Display]) -> Result<(), Fault> {
    let fault = |path: &[&dyn Display], message| {
        Fault::Path(path.iter().map(ToString::to_string).collect(), message)
    };
    let span = aqm.span();
    let DeValue::Table(mut table) = aqm.into_inner() else { return Ok(()) };
    let Some(kind) = table.remove("kind") else {
        return Err(fault(path, format!("no kind; expected one of {}", KINDS.join(", "))));
    };
    let fields = ValueDeserializer::from(Spanned::new(span, DeValue::Table(table)));
    let said = |error| Fault::of(&error, text);
    let message = match kind.get_ref().as_str() {
        Some("red") => return Red::deserialize(fields).map(drop).map_err(said),
        Some("pi") => return Pi::deserialize(fields).map(drop).map_err(said),
        Some("pie") => return Pie::deserialize(fields).map(drop).map_err(said),
        Some("codel") => return Codel::deserialize(fields).map(drop).map_err(said),
        Some("phantom") => return Phantom::deserialize(fields).map(drop).map_err(said),
        Some(other) => format!("unknown kind {other:?}{}", suggestion(other, &KINDS)),
        None => format!("no text; expected one of {}", KINDS.join(", ")),
    };
    Err(fault(&[path, &[&"kind"]].concat(), message))
}

const KINDS: [&str; 5] = ["red", "pi", "pie", "codel", "phantom"];

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

    /// What no single field shows: a field, and what is wrong with it.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let acts = match self {
            Self::Red(red) => red.ecn || red.drop,
            Self::Pi(pi) => pi.ecn || pi.drop,
            Self::Pie(pie) => pie.ecn || pie.drop,
            Self::Codel(codel) => codel.ecn || codel.drop,
            Self::Phantom(_) => true,
        };
        if !acts {
            return Err(("drop", "it neither marks nor drops; set ecn or drop to true".into()));
        }
        match self {
            Self::Red(Red { min, max, .. }) if min > max => {
                Err(("min", format!("min = {min} is above max = {max}; make it smaller")))
            }
            Self::Pi(Pi { a, b, .. }) if a <= b => {
                let message = format!(
                    "with a = {a} not above b = {b} the queue comes to rest anywhere; make b smaller"
                );
                Err(("b", message))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<Aqm, String> {
        let text = format!("[switch.aqm]\n{fields}\n");
        let place = |fault: Fault| fault.locate("f", &text).to_string();
        super::fields(&text).map_err(place)?;
        let aqm: Aqm = toml::from_str(fields).map_err(|error| place(Fault::of(&error, fields)))?;
        aqm.check()
            .map_err(|(field, message)| place(Fault::at([&"switch", &"aqm", &field], message)))?;
        Ok(aqm)
    }

    #[test]
    fn marking_of_dcqcn_can_be_written() {
        let text = "kind = 'red'\nmin = '5KB'\nmax = '200KB'\nmax_probability = 0.01\ngentle = false\n\
                    weight = 1";
        let expected = Red {
            min: Bytes::from_kb(5),
            max: Bytes::from_kb(200),
            max_probability: 0.01,
            gentle: false,
            weight: 1.0,
            small_packet: Bytes::new(500),
            ecn: true,
            drop: true,
        };
        assert_eq!(read(text), Ok(Aqm::Red(expected)));
    }

    #[test]
    fn each_kind_has_defaults() {
        let red = read("kind = 'red'\nmin = '7500B'\nmax = '22500B'").map(|aqm| aqm.marks());
        assert_eq!(red, Ok(true));
        assert_eq!(read("kind = 'pi'"), Ok(Aqm::Pi(Pi::default())));
        assert_eq!(read("kind = 'pie'"), Ok(Aqm::Pie(Pie::default())));
        assert_eq!(read("kind = 'codel'"), Ok(Aqm::Codel(Codel::default())));
        assert_eq!(read("kind = 'phantom'"), Ok(Aqm::Phantom(Phantom::default())));
        assert_eq!(read("kind = 'codel'\necn = false").map(|aqm| aqm.marks()), Ok(false));
    }

    #[test]
    fn mistakes_are_found_where_they_are() {
        for (text, expected) in [
            ("min = '1KB'", "f:1:1: no kind; expected one of red, pi, pie, codel, phantom"),
            ("kind = 'rde'", "f:2:8: unknown kind \"rde\"; did you mean \"red\"?"),
            ("kind = 5", "f:2:8: no text; expected one of red, pi, pie, codel, phantom"),
            ("kind = 'red'\nmin = '1KB'", "f:1:1: missing field `max`"),
            (
                "kind = 'pie'\ntarge = '1ms'",
                "f:3:1: unknown field \"targe\"; did you mean \"target\"?",
            ),
            (
                "kind = 'codel'\nburst = '1ms'",
                "f:3:1: unknown field \"burst\"; expected one of target, interval, ecn, drop",
            ),
            ("kind = 'phantom'\ndrain = 1.5", "f:3:9: \"1.5\" is out of range; expected 0.01 to 1"),
            ("kind = 'phantom'\ndrain = nan", "f:3:9: \"NaN\" is out of range; expected 0.01 to 1"),
            (
                "kind = 'phantom'\ndrain = 'x'",
                "f:3:9: \"x\" is not a number; expected a number from 0.01 to 1",
            ),
            (
                "kind = 'red'\nmin = '3KB'\nmax = '2KB'",
                "f:3:7: min = 3KB is above max = 2KB; make it smaller",
            ),
            (
                "kind = 'pi'\na = 1e-5\nb = 2e-5",
                "f:4:5: with a = 0.00001 not above b = 0.00002 the queue comes to rest anywhere; \
                 make b smaller",
            ),
            (
                "kind = 'codel'\necn = false\ndrop = false",
                "f:4:8: it neither marks nor drops; set ecn or drop to true",
            ),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn every_kind_is_in_the_schema() {
        let schema = schemars::schema_for!(Aqm).to_value();
        let kinds = schema["oneOf"].as_array().expect("one schema for each").iter();
        let kinds: Vec<_> =
            kinds.filter_map(|kind| kind["properties"]["kind"]["const"].as_str()).collect();
        assert_eq!(kinds, KINDS);
    }
}

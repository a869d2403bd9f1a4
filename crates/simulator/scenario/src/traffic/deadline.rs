//! Deadlines of messages and requests: fixed, at random, by size, or a mix of these.

use std::borrow::Cow;
use std::fmt;

use incast_cc::{Bytes, Span};
use incast_plan::random::{exponential, unit};
use incast_plan::steps::Due;
use incast_schema::{Fault, quantity};
use rand_pcg::Pcg64Mcg;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The deadlines of a traffic's messages or requests, as a scenario writes them.
#[derive(Clone, Debug, PartialEq)]
pub enum Deadline {
    /// A law for all messages.
    All(DeadlineLaw),
    /// Laws that each hold for a share of the messages. The others have no deadline.
    Shares(Vec<DeadlineLaw>),
}

/// A law of deadlines: `fixed`, `exponential` or `factor`, with what belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeadlineLaw {
    /// The share of the messages that have such a deadline, in a list of laws.
    pub share: Option<f64>,
    /// A time that is the same for all messages.
    #[serde(with = "quantity::OptionalDuration")]
    pub fixed: Option<Span>,
    /// The mean of exponentially distributed times.
    #[serde(with = "quantity::OptionalDuration")]
    pub exponential: Option<Span>,
    /// The least time: what `exponential` draws below it becomes it.
    #[serde(with = "quantity::OptionalDuration")]
    pub least: Option<Span>,
    /// The multiple of `base` and the time that the payload takes on the host's link.
    pub factor: Option<f64>,
    /// The time that counts beside the payload's, in `factor`.
    #[serde(with = "quantity::OptionalDuration")]
    pub base: Option<Span>,
}

/// The forms of [`Deadline`] in the JSON Schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema alone is used")]
enum DeadlineForm {
    /// A fixed time.
    Fixed(String),
    /// A law.
    Law(Box<DeadlineLaw>),
    /// Laws, each with its share.
    Shares(Vec<DeadlineLaw>),
}

impl<'de> Deserialize<'de> for Deadline {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(Forms)
    }
}

impl JsonSchema for Deadline {
    fn schema_name() -> Cow<'static, str> {
        DeadlineForm::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DeadlineForm::json_schema(generator)
    }
}

struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = Deadline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time such as \"20ms\", a table such as { exponential = \"20ms\" }, or a list of \
             tables with a share each",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Deadline, E> {
        let text = serde::de::value::StrDeserializer::new(text);
        let fixed = quantity::OptionalDuration::deserialize(text)?;
        Ok(Deadline::All(DeadlineLaw { fixed, ..DeadlineLaw::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Deadline, A::Error> {
        DeadlineLaw::deserialize(MapAccessDeserializer::new(table)).map(Deadline::All)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Deadline, A::Error> {
        let mut laws = Vec::new();
        while let Some(law) = list.next_element()? {
            laws.push(law);
        }
        Ok(Deadline::Shares(laws))
    }
}

impl Deadline {
    /// The laws in the order of the scenario.
    fn laws(&self) -> &[DeadlineLaw] {
        match self {
            Self::All(law) => std::slice::from_ref(law),
            Self::Shares(laws) => laws,
        }
    }

    /// Checks that each law is one, and that no more than all messages have a deadline.
    ///
    /// # Errors
    /// A setting is wrong; its place is counted from the deadline.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if let Self::All(law) = self {
            if law.share.is_some() {
                let message = "a share is of a list; put the table in brackets, or take it out";
                return Err(Fault::at([&"share"], message.into()));
            }
            return law.check();
        }
        if self.laws().is_empty() {
            return Err(Fault::at([], "an empty list; expected tables, or leave it out".into()));
        }
        let mut all = 0.0;
        for (place, law) in self.laws().iter().enumerate() {
            law.check().map_err(|fault| fault.within(&[&place]))?;
            let Some(share) = law.share else {
                let message = "no share; set it, such as share = 0.5".into();
                return Err(Fault::at([&place], message));
            };
            if !(share > 0.0 && share <= 1.0) {
                let message = format!("{share} is out of range; expected above 0, up to 1");
                return Err(Fault::at([&place, &"share"], message));
            }
            all += share;
            if all > 1.0 + 1e-9 {
                let message =
                    format!("{share} makes the shares {all}, more than all messages; lower it");
                return Err(Fault::at([&place, &"share"], message));
            }
        }
        Ok(())
    }

    /// Draws the deadline of a message or request with `bytes` of payload on a link of `bps`.
    fn draw(&self, random: &mut Pcg64Mcg, bytes: f64, bps: f64) -> Option<Span> {
        let laws = match self {
            Self::All(law) => return Some(law.draw(random, bytes, bps)),
            Self::Shares(laws) => laws,
        };
        let (place, mut below) = (unit(random), 0.0);
        let law = laws.iter().find(|law| {
            below += law.share.unwrap_or(0.0);
            place < below
        });
        Some(law?.draw(random, bytes, bps))
    }
}

/// The largest multiple of the time that the payload takes.
const MAX_FACTOR: f64 = 1e6;

impl DeadlineLaw {
    fn check(&self) -> Result<(), Fault> {
        let laws = [
            ("fixed", self.fixed.is_some()),
            ("exponential", self.exponential.is_some()),
            ("factor", self.factor.is_some()),
        ];
        let mut set = laws.iter().filter(|(_, is_set)| *is_set);
        let Some(&(law, _)) = set.next() else {
            let message = "no law; expected fixed, exponential or factor".into();
            return Err(Fault::at([], message));
        };
        if let Some(&(other, _)) = set.next() {
            let message = format!("{other} beside {law}; take one of them out");
            return Err(Fault::at([&other], message));
        }
        for (field, is_set, of) in [
            ("least", self.least.is_some(), "exponential"),
            ("base", self.base.is_some(), "factor"),
        ] {
            if is_set && law != of {
                let message = format!("{field} belongs to {of}; take it out, or set {of}");
                return Err(Fault::at([&field], message));
            }
        }
        if let Some(factor) = self.factor.filter(|f| !(*f > 0.0 && *f <= MAX_FACTOR)) {
            let message = format!("{factor} is out of range; expected above 0, up to {MAX_FACTOR}");
            return Err(Fault::at([&"factor"], message));
        }
        Ok(())
    }

    fn draw(&self, random: &mut Pcg64Mcg, bytes: f64, bps: f64) -> Span {
        if let Some(mean) = self.exponential {
            return exponential(random, mean).max(self.least.unwrap_or(Span::ZERO));
        }
        if let Some(factor) = self.factor {
            let base = self.base.map_or(0.0, |base| base.as_ps() as f64);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not below zero, and the cast saturates"
            )]
            let ps = (factor * (base + bytes * 8e12 / bps)) as u64;
            return Span::from_ps(ps.max(1));
        }
        self.fixed.unwrap_or(Span::MAX)
    }
}

/// The deadlines of a traffic, drawn one after the other by a generator of their own.
#[derive(Debug)]
pub(crate) struct DrawnDeadlines {
    /// [`None`] draws nothing.
    deadline: Option<Deadline>,
    random: Pcg64Mcg,
    /// The rate of the host's link in bits per second.
    line_bps: f64,
}

impl DrawnDeadlines {
    pub(super) const fn new(deadline: Option<Deadline>, random: Pcg64Mcg, line_bps: f64) -> Self {
        Self { deadline, random, line_bps }
    }

    /// No deadlines.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self::new(None, incast_plan::random::generator(1, "deadlines", &[]), 1e10)
    }

    /// The deadline of the next message or request, which has `bytes` of payload.
    pub(crate) fn draw(&mut self, bytes: Bytes) -> Option<Span> {
        self.deadline.as_ref()?.draw(&mut self.random, bytes.get() as f64, self.line_bps)
    }

    /// The deadline of the next message, by a law of its own if it has one, on a link of another
    /// rate.
    pub(super) fn draw_on(
        &mut self,
        line_bps: f64,
        own: Option<&Deadline>,
        bytes: Bytes,
    ) -> Option<Span> {
        let Self { deadline, random, .. } = self;
        own.or(deadline.as_ref())?.draw(random, bytes.get() as f64, line_bps)
    }
}

impl Due for DrawnDeadlines {
    fn due(&mut self, _step: u32, bytes: Bytes) -> Option<Span> {
        self.draw(bytes)
    }
}

#[cfg(test)]
mod tests {
    use incast_plan::random::generator;

    use super::*;

    fn drawn(toml: &str, bytes: u64, count: usize) -> Vec<Option<Span>> {
        #[derive(Deserialize)]
        struct Only {
            deadline: Option<Deadline>,
        }
        let Only { deadline } = toml::from_str(toml).unwrap();
        deadline.as_ref().unwrap().check().unwrap();
        let mut all = DrawnDeadlines::new(deadline, generator(1, "deadlines", &[]), 1e9);
        (0..count).map(|_| all.draw(Bytes::new(bytes))).collect()
    }

    #[test]
    fn a_fixed_time_is_for_all() {
        let expected = vec![Some(Span::from_ms(20)); 3];
        assert_eq!(drawn("deadline = \"20ms\"", 1, 3), expected);
        assert_eq!(drawn("deadline = { fixed = \"20ms\" }", 1, 3), expected);
    }

    #[test]
    fn times_by_size_are_a_multiple_of_the_base_and_the_time_on_the_link() {
        // 125 KB take 1 ms at 1 Gb/s: 2 (0.2 ms + 1 ms).
        let all = drawn("deadline = { factor = 2, base = \"200us\" }", 125_000, 1);
        assert_eq!(all, [Some(Span::from_us(2_400))]);
    }

    #[test]
    fn exponential_times_have_their_mean_and_none_is_below_the_least() {
        let (n, least) = (100_000, Span::from_ms(3));
        let all = drawn("deadline = { exponential = \"20ms\", least = \"3ms\" }", 1, n);
        let all: Vec<_> = all.into_iter().flatten().collect();
        assert_eq!((all.len(), all.iter().min()), (n, Some(&least)));
        // E max(c, X) = c + m e^(-c/m) = 3 + 20 e^(-0.15) = 20.214 ms; the standard deviation is
        // below 20 ms, that of the mean below 0.064 ms.
        let mean = all.iter().map(|span| span.as_us_f64() / 1e3).sum::<f64>() / n as f64;
        assert!((mean - 20.214).abs() < 0.3, "{mean}");
        let at_least = all.iter().filter(|span| **span == least).count();
        // 1 - e^(-0.15) = 0.1393 of them; five standard deviations are 548.
        assert!(at_least.abs_diff(13_929) < 548, "{at_least}");
    }

    #[test]
    fn shares_have_their_law_and_the_rest_has_none() {
        let all = drawn(
            "deadline = [{ share = 0.3, fixed = \"5ms\" }, { share = 0.5, factor = 1 }]",
            125_000,
            10_000,
        );
        let count = |deadline| all.iter().filter(|drawn| **drawn == deadline).count();
        // Five standard deviations of 10,000 draws are at most 250.
        for (deadline, expected) in
            [(Some(Span::from_ms(5)), 3_000), (Some(Span::from_ms(1)), 5_000), (None, 2_000)]
        {
            assert!(count(deadline).abs_diff(expected) < 250, "{deadline:?} {}", count(deadline));
        }
    }
}

//! The number of threads of a run.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// The number of threads of a run. Results do not depend on it, to the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many threads as there are cores, and as the network has work for.
    Auto,
    /// This number of threads, or fewer if the network cannot be divided into as many parts.
    Count(u16),
}

/// The most threads of one run: more than any machine that this was meant for has cores.
const MOST: u16 = 256;

const EXPECTED: &str = "\"auto\" or a number from 1 to 256";

impl Default for Threads {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl Threads {
    /// The most threads of one run.
    pub const MOST: u16 = MOST;

    /// This number of threads, if it is allowed.
    fn counted(count: i128) -> Option<Self> {
        let count = u16::try_from(count).ok().filter(|count| (1..=MOST).contains(count))?;
        Some(Self::Count(count))
    }

    /// The largest number of threads on this machine.
    pub fn most(self) -> usize {
        match self {
            Self::Auto => std::thread::available_parallelism().map_or(1, NonZero::get),
            Self::Count(count) => usize::from(count),
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Count(count) => write!(f, "{count}"),
        }
    }
}

/// A number of threads that is not allowed, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("threads {0}: expected {EXPECTED}")]
pub struct ThreadsError(String);

impl FromStr for Threads {
    type Err = ThreadsError;

    fn from_str(text: &str) -> Result<Self, ThreadsError> {
        let count = || text.parse().ok().and_then(Self::counted);
        if text == "auto" { Some(Self::Auto) } else { count() }
            .ok_or_else(|| ThreadsError(format!("{text:?}")))
    }
}

impl<'de> Deserialize<'de> for Threads {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Threads;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Threads, E> {
                if text == "auto" {
                    return Ok(Threads::Auto);
                }
                Err(E::custom(ThreadsError(format!("{text:?}"))))
            }

            fn visit_i64<E: Error>(self, count: i64) -> Result<Threads, E> {
                Threads::counted(count.into())
                    .ok_or_else(|| E::custom(ThreadsError(count.to_string())))
            }

            fn visit_u64<E: Error>(self, count: u64) -> Result<Threads, E> {
                Threads::counted(count.into())
                    .ok_or_else(|| E::custom(ThreadsError(count.to_string())))
            }
        }
        input.deserialize_any(Written)
    }
}

impl JsonSchema for Threads {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Threads".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "const": "auto" },
            { "type": "integer", "minimum": 1, "maximum": MOST },
        ] })
    }
}

//! The kinds of queue disciplines by name.
//!
//! A new kind costs a line in `kinds.rs`. The settings and the queues, the JSON schema and the
//! tests of all kinds follow from it.

use std::borrow::Cow;
use std::fmt::{self, Display};

use incast_schema::Fault;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::fifo::FifoQueue;
use super::{Discipline, Job, Packet, Refusal, Settings, Wrong};

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use super::$module::$type;)+

        /// The settings of any kind, as a word or as a table with its `kind`.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum QueueDiscipline { $($type($type),)+ }

        /// The table with the settings of a kind.
        #[derive(serde::Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        enum Table {
            $(
                #[schemars(description = <$type as Settings>::SUMMARY)]
                $type($type),
            )+
        }

        impl From<Table> for QueueDiscipline {
            fn from(table: Table) -> Self {
                match table { $(Table::$type(settings) => Self::$type(settings),)+ }
            }
        }

        /// A queue of any kind.
        #[derive(Debug)]
        pub enum Started<P: Packet> { $($type(<$type as Settings>::Queue<P>),)+ }

        /// The names of all kinds.
        pub const KINDS: &[&str] = &[$(stringify!($module)),+];

        impl QueueDiscipline {
            /// The name of the kind.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$type(_) => stringify!($module),)+ }
            }

            /// Finds mistakes that no single field shows; see [`Settings::check`].
            ///
            /// # Errors
            /// See [`Settings::check`].
            pub fn check(&self) -> Result<(), Wrong> {
                match self { $(Self::$type(settings) => settings.check(),)+ }
            }

            /// Whether packets leave in the order in which they came.
            pub const fn is_fifo(&self) -> bool {
                match self { $(Self::$type(_) => <$type as Settings>::IN_ORDER,)+ }
            }

            /// Whether a packet that finds no room may be cut to its header.
            pub const fn trims(&self) -> bool {
                match self { $(Self::$type(_) => <$type as Settings>::TRIMS,)+ }
            }

            /// Tells the settings the place of their class; see [`Settings::settle`].
            ///
            /// # Errors
            /// See [`Settings::settle`].
            pub fn settle(&mut self, own: usize, classes: &[&str]) -> Result<(), Wrong> {
                match self { $(Self::$type(settings) => settings.settle(own, classes),)+ }
            }

            /// Starts an empty queue.
            pub fn start<P: Packet>(&self) -> AnyDiscipline<P> {
                match self { $(Self::$type(settings) => Started::$type(settings.start()).into(),)+ }
            }
        }

        impl<P: Packet> Discipline<P> for Started<P> {
            fn push(&mut self, packet: P, job: impl FnOnce() -> Job) {
                match self { $(Self::$type(queue) => queue.push(packet, job),)+ }
            }
            fn pop(&mut self) -> Option<P> {
                match self { $(Self::$type(queue) => queue.pop(),)+ }
            }
            fn head(&self) -> Option<&P> {
                match self { $(Self::$type(queue) => queue.head(),)+ }
            }
            fn is_empty(&self) -> bool {
                match self { $(Self::$type(queue) => queue.is_empty(),)+ }
            }
            fn evict(&mut self, arriving: Job) -> Option<P> {
                match self { $(Self::$type(queue) => queue.evict(arriving),)+ }
            }
            fn refused(&self, packet: &P) -> Refusal {
                match self { $(Self::$type(queue) => queue.refused(packet),)+ }
            }
            fn as_fifo(&mut self) -> Option<&mut FifoQueue<P>> {
                match self { $(Self::$type(queue) => queue.as_fifo(),)+ }
            }
            fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
                match self { $(Self::$type(queue) => queue.iter(),)+ }
            }
            fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
                match self { $(Self::$type(queue) => queue.iter_mut(),)+ }
            }
        }

        /// Reads the fields of a kind by its name; [`None`] if there is no such kind.
        fn read(kind: &str, fields: ValueDeserializer<'_>) -> Option<Result<(), toml::de::Error>> {
            $(if kind == stringify!($module) {
                return Some(<$type as serde::Deserialize>::deserialize(fields).map(drop));
            })+
            None
        }
    };
}

disciplines!(registry);

/// A queue of any kind, as ports have it. Two cases are told apart faster than all kinds are, and
/// nearly all queues are first in, first out.
#[derive(Debug)]
pub enum AnyDiscipline<P: Packet> {
    /// First in, first out.
    Fifo(FifoQueue<P>),
    /// Any other kind.
    Other(Box<Started<P>>),
}

impl<P: Packet> From<Started<P>> for AnyDiscipline<P> {
    fn from(started: Started<P>) -> Self {
        match started {
            Started::Fifo(queue) => Self::Fifo(queue),
            other => Self::Other(Box::new(other)),
        }
    }
}

/// Asks a queue, whichever case it is.
macro_rules! either {
    ($self:ident, $queue:ident => $what:expr) => {
        match $self {
            Self::Fifo($queue) => $what,
            Self::Other($queue) => $what,
        }
    };
}

impl<P: Packet> Discipline<P> for AnyDiscipline<P> {
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job) {
        either!(self, queue => queue.push(packet, job));
    }

    fn pop(&mut self) -> Option<P> {
        either!(self, queue => queue.pop())
    }

    fn head(&self) -> Option<&P> {
        either!(self, queue => queue.head())
    }

    fn is_empty(&self) -> bool {
        either!(self, queue => queue.is_empty())
    }

    fn evict(&mut self, arriving: Job) -> Option<P> {
        either!(self, queue => queue.evict(arriving))
    }

    fn refused(&self, packet: &P) -> Refusal {
        either!(self, queue => queue.refused(packet))
    }

    fn as_fifo(&mut self) -> Option<&mut FifoQueue<P>> {
        either!(self, queue => queue.as_fifo())
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
        either!(self, queue => queue.iter())
    }

    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
        either!(self, queue => queue.iter_mut())
    }
}

impl Default for QueueDiscipline {
    fn default() -> Self {
        Self::Fifo(Fifo {})
    }
}

impl<'de> Deserialize<'de> for QueueDiscipline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrTable)
    }
}

/// A visitor that reads a kind by its name alone, or with its settings.
struct WordOrTable;

impl<'de> Visitor<'de> for WordOrTable {
    type Value = QueueDiscipline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {} in quotes, or a table with a kind", KINDS.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<QueueDiscipline, E> {
        let table = MapDeserializer::new([("kind", word)].into_iter());
        Table::deserialize(table).map(Into::into)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueDiscipline, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }
}

impl JsonSchema for QueueDiscipline {
    fn schema_name() -> Cow<'static, str> {
        "QueueDiscipline".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = Table::json_schema(generator);
        json_schema!({
            "description": "Which packet of a queue leaves next, and which one goes when room is \
                            short: the name of a kind, or a table with its settings.",
            "anyOf": [{ "type": "string", "enum": KINDS }, table],
        })
    }
}

/// Finds what is wrong with the table `discipline` at `path` of `text`, and where. For a discipline
/// that is only a name, serde already knows the place.
///
/// # Errors
/// The first mistake.
pub fn fields_of(
    text: &str,
    discipline: Spanned<DeValue<'_>>,
    path: &[&dyn Display],
) -> Result<(), Fault> {
    crate::kinds::fields_of(text, discipline, path, KINDS, read)
}

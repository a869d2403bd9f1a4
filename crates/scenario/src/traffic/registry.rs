//! The kinds of traffic by name.
//!
//! Adding one costs a line in `kinds.rs`. The modules, the names, the settings in the JSON Schema
//! and the tests that run over every kind follow from it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use toml::de::ValueDeserializer;

use super::fields::fields_of;
use super::{Kind, Settings};

/// What a scenario may write for one kind.
pub(super) struct Entry {
    /// The name of the kind.
    pub(super) name: &'static str,
    /// The common settings that it has no use for.
    pub(super) without: &'static [&'static str],
    /// The names of its own settings.
    pub(super) fields: fn() -> &'static [&'static str],
    /// The settings in the JSON Schema.
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    /// Reads the settings.
    pub(super) read: fn(ValueDeserializer<'_>) -> Result<TrafficKind, toml::de::Error>,
}

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use super::$module::$type;)+

        /// The settings of traffic of any kind.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum TrafficKind { $($type($type),)+ }

        /// The names of all kinds of traffic.
        pub const TRAFFIC_KINDS: &[&str] = &[$(<$type as Settings>::NAME),+];

        /// What a scenario may write, by kind.
        pub(super) const ENTRIES: &[Entry] = &[$(Entry {
            name: <$type as Settings>::NAME,
            without: <$type as Settings>::WITHOUT,
            fields: fields_of::<$type>,
            schema: <$type as JsonSchema>::json_schema,
            read: |input| $type::deserialize(input).map(TrafficKind::$type),
        }),+];

        impl TrafficKind {
            /// The name of the kind.
            pub const fn as_str(&self) -> &'static str {
                match self { $(Self::$type(_) => <$type as Settings>::NAME,)+ }
            }

            /// Whether the kind has a use for one of the common settings.
            pub(crate) fn has(&self, common: &str) -> bool {
                let without = match self { $(Self::$type(_) => <$type as Settings>::WITHOUT,)+ };
                !without.contains(&common)
            }

            pub(crate) fn settings(&self) -> &dyn Kind {
                match self { $(Self::$type(settings) => settings,)+ }
            }

            pub(crate) fn settings_mut(&mut self) -> &mut dyn Kind {
                match self { $(Self::$type(settings) => settings,)+ }
            }
        }
    };
}

kinds!(registry);

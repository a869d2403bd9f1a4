//! The kinds of traffic by name.
//!
//! A new kind costs a line in `kinds.rs`. The modules, the names, the settings in the JSON Schema
//! and the tests of all kinds follow from it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use toml::de::ValueDeserializer;

use super::fields::fields_of;
use super::{Kind, Settings};

/// The settings that a scenario may write for a kind.
pub(super) struct Entry {
    /// The name of the kind.
    pub(super) name: &'static str,
    /// The common settings that the kind does not use.
    pub(super) without: &'static [&'static str],
    /// The names of the kind's own settings.
    pub(super) fields: fn() -> &'static [&'static str],
    /// The settings in the JSON Schema.
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    /// Reads the settings.
    pub(super) read: fn(ValueDeserializer<'_>) -> Result<TrafficKind, toml::de::Error>,
}

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use super::$module::$type;)+

        /// The settings of any kind of traffic.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum TrafficKind { $($type($type),)+ }

        /// The names of all kinds of traffic.
        pub const TRAFFIC_KINDS: &[&str] = &[$(<$type as Settings>::NAME),+];

        /// The settings that a scenario may write, by kind.
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

            /// Whether the kind uses a certain common setting.
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

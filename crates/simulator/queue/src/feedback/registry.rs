//! The kinds of feedback by name.
//!
//! A new kind costs a line in `kinds.rs`. The settings and the laws, the checks, the JSON schema
//! and the tests of all kinds follow from it.

use incast_cc::{Rate, Time};
use incast_transport::Stamps;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Departure, Law, Settings, Wrong};

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use super::$module::$type;)+

        /// The kinds of feedback that ports speak, each a table with its settings. A run uses the
        /// one that its algorithm understands.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[expect(missing_docs, reason = "each field is documented by its type")]
        pub struct Feedbacks {
            $(
                #[schemars(description = <$type as Settings>::SUMMARY)]
                pub $module: Option<$type>,
            )+
        }

        /// The settings of any kind.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum AnyFeedback { $($type($type),)+ }

        /// The law of any kind, dispatched without a pointer.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum AnyLaw { $($type(<$type as Settings>::Law),)+ }

        /// The names of all kinds.
        pub const KINDS: &[&str] = &[$(stringify!($module)),+];

        impl Feedbacks {
            /// The settings of a kind, if ports speak it.
            pub fn of(&self, kind: &str) -> Option<AnyFeedback> {
                $(if kind == stringify!($module) {
                    return self.$module.clone().map(AnyFeedback::$type);
                })+
                None
            }

            /// Finds mistakes that no single field shows; see [`Settings::check`].
            ///
            /// # Errors
            /// The kind, and what [`Settings::check`] says.
            pub fn check(&self) -> Result<(), (&'static str, Wrong)> {
                $(if let Some(settings) = &self.$module {
                    settings.check().map_err(|wrong| (stringify!($module), wrong))?;
                })+
                Ok(())
            }
        }

        impl AnyFeedback {
            /// The settings that a kind has by default.
            pub fn named(kind: &str) -> Option<Self> {
                $(if kind == stringify!($module) {
                    return Some(Self::$type(<$type>::default()));
                })+
                None
            }

            /// The name of the kind.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$type(_) => stringify!($module),)+ }
            }

            /// Whether the law hears of packets as they arrive.
            pub const fn listens(&self) -> bool {
                match self { $(Self::$type(_) => <$type as Settings>::LISTENS,)+ }
            }

            /// Starts a law for a port onto a link of `rate`.
            pub fn start(&self, rate: Rate) -> AnyLaw {
                match self { $(Self::$type(settings) => AnyLaw::$type(settings.start(rate)),)+ }
            }
        }

        impl Law for AnyLaw {
            fn on_arrival(&mut self, now: Time, queued: u64, wire: u64) {
                match self { $(Self::$type(law) => law.on_arrival(now, queued, wire),)+ }
            }
            fn on_departure(&mut self, departure: &Departure, stamps: &mut Stamps) {
                match self { $(Self::$type(law) => law.on_departure(departure, stamps),)+ }
            }
        }
    };
}

feedbacks!(registry);

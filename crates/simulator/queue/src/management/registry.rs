//! The kinds of queue management by name.
//!
//! A new kind costs a line in `kinds.rs`. The settings and the laws, the checks, the JSON schema
//! and the tests of all kinds follow from it.

use std::fmt::Display;

use incast_cc::{Rate, Time};
use incast_schema::Fault;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::{Law, Management, Passing, Response, Verdict, Wrong};

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use super::$module::$type;)+

        /// Queue management of an egress queue: signals congestion to senders before the queue is
        /// full. Each class of each port has its own. The field `kind` chooses the algorithm.
        #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum Aqm {
            $(
                #[schemars(description = <$type as Management>::SUMMARY)]
                $type($type),
            )+
        }

        /// The law of any kind, dispatched without a pointer.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum AnyLaw { $($type(<$type as Management>::Law),)+ }

        /// The names of all kinds.
        pub const KINDS: &[&str] = &[$(stringify!($module)),+];

        impl Aqm {
            /// The name of the kind.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$type(_) => stringify!($module),)+ }
            }

            /// Whether a single law judges the packets of all classes of a port.
            pub const fn is_of_whole_port(&self) -> bool {
                match self { $(Self::$type(_) => <$type as Management>::WHOLE_PORT,)+ }
            }

            /// The treatment of packets that the law chooses.
            pub fn response(&self) -> Response {
                match self { $(Self::$type(settings) => settings.response(),)+ }
            }

            /// Finds mistakes that no single field shows; see [`Management::check`].
            ///
            /// # Errors
            /// See [`Management::check`].
            pub fn check(&self) -> Result<(), Wrong> {
                let Response { ecn, drop } = self.response();
                if !ecn && !drop {
                    let message = "it neither marks nor drops; set ecn or drop to true";
                    return Err(("drop", message.into()));
                }
                match self { $(Self::$type(settings) => settings.check(),)+ }
            }

            /// Starts a law for a queue onto a link of `rate`.
            pub fn start(&self, rate: Rate, random: Pcg64Mcg) -> AnyLaw {
                match self {
                    $(Self::$type(settings) => AnyLaw::$type(settings.start(rate, random)),)+
                }
            }
        }

        impl Law for AnyLaw {
            fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
                match self { $(Self::$type(law) => law.on_enqueue(now, queued, wire, ect),)+ }
            }
            fn on_dequeue(
                &mut self,
                now: Time,
                queued: u64,
                enqueued_at: Time,
                wire: u64,
                ect: bool,
            ) -> Verdict {
                match self {
                    $(Self::$type(law) => law.on_dequeue(now, queued, enqueued_at, wire, ect),)+
                }
            }
            fn passing(&self) -> Passing {
                match self { $(Self::$type(law) => law.passing(),)+ }
            }
            fn on_passed(&mut self, packets: u64) {
                match self { $(Self::$type(law) => law.on_passed(packets),)+ }
            }
            fn sees_waits(&self) -> bool {
                match self { $(Self::$type(law) => law.sees_waits(),)+ }
            }
            fn on_purge(&mut self, now: Time, queued: u64) {
                match self { $(Self::$type(law) => law.on_purge(now, queued),)+ }
            }
            fn set_rate(&mut self, now: Time, rate: Rate) {
                match self { $(Self::$type(law) => law.set_rate(now, rate),)+ }
            }
        }

        /// Reads the fields of a kind by its name; [`None`] if there is no such kind.
        fn read(kind: &str, fields: ValueDeserializer<'_>) -> Option<Result<(), toml::de::Error>> {
            $(if kind == stringify!($module) {
                return Some(<$type>::deserialize(fields).map(drop));
            })+
            None
        }

        /// The examples of all kinds.
        #[cfg(test)]
        pub(super) const EXAMPLES: &[&str] = &[$(<$type as Management>::EXAMPLE),+];
    };
}

managements!(registry);

impl Aqm {
    /// Whether this queue management marks packets.
    pub fn marks(&self) -> bool {
        self.response().ecn
    }
}

/// Finds what is wrong with the table `aqm` at `path` of `text`, and where.
///
/// # Errors
/// The first mistake.
pub fn fields_of(
    text: &str,
    aqm: Spanned<DeValue<'_>>,
    path: &[&dyn Display],
) -> Result<(), Fault> {
    crate::kinds::fields_of(text, aqm, path, KINDS, read)
}

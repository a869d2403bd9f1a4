//! The settings of a host, each described once.
//!
//! Python's keyword arguments are made of [`Settings`]. Tests compare them with the struct of C,
//! the options of `incast udp`, the stubs of Python and the table in `docs/guide/udp.md`.

use std::path::PathBuf;
use std::time::Duration;

use incast_cc::Rate;

use super::{SettingError, algorithm, resolve, security};
use crate::options::{Options, Waiting};

/// The description of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name in Rust and Python.
    pub name: &'static str,
    /// The option of `incast udp`, if it has one.
    pub option: Option<&'static str>,
    /// The field of `incast_options` in C, if it has one.
    pub field: Option<&'static str>,
    /// The form of a value: "FILE", "RATE", "B", ...; empty for what is on or off.
    pub unit: &'static str,
    /// The least and the most that the command takes, where it checks them.
    pub range: Option<(u16, u16)>,
    /// The explanation, a paragraph.
    pub doc: &'static str,
}

macro_rules! values {
    ($($(#[$doc:meta])+ $kind:ident($type:ty);)*) => {
        /// The value of a setting, by its type.
        #[derive(Debug)]
        pub enum Value<'a> { $($(#[$doc])+ $kind(&'a mut $type),)* }

        $(impl<'a> From<&'a mut $type> for Value<'a> {
            fn from(value: &'a mut $type) -> Self { Self::$kind(value) }
        })*
    };
}

values! {
    /// A path, or none.
    File(Option<PathBuf>);
    /// On or off.
    Flag(bool);
    /// A text.
    Text(String);
    /// A text, or none.
    MaybeText(Option<String>);
    /// Any number of texts.
    Texts(Vec<String>);
    /// A number.
    Number(f64);
    /// A count of 16 bits.
    Short(u16);
    /// A count.
    Count(usize);
}

/// Declares [`Settings`] and its table. An entry reads `/// what it is` `name: Type = default,
/// "UNIT"` with the range, the option and the field, if it has them.
macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident : $type:ty = $default:expr, $unit:literal
            $(, $least:literal to $most:literal)?
            $(, option $option:literal)?
            $(, field $field:literal)?;
    )*) => {
        /// The settings of a host, as people write them.
        #[derive(Clone, Debug)]
        pub struct Settings { $($(#[doc = $doc])+ pub $name: $type,)* }

        impl Default for Settings {
            fn default() -> Self { Self { $($name: $default,)* } }
        }

        impl Settings {
            /// The descriptions of the settings.
            pub const TABLE: &'static [Setting] = &[$(Setting {
                name: stringify!($name),
                option: settings!(@maybe $($option)?),
                field: settings!(@maybe $($field)?),
                unit: $unit,
                range: settings!(@maybe $(($least, $most))?),
                doc: concat!($($doc),+).trim_ascii(),
            },)*];

            /// The value of a setting; [`None`] if there is no setting of this name.
            pub fn value(&mut self, name: &str) -> Option<Value<'_>> {
                match name {
                    $(stringify!($name) => Some((&mut self.$name).into()),)*
                    _ => None,
                }
            }
        }
    };
    (@maybe) => { None };
    (@maybe $value:expr) => { Some($value) };
}

settings! {
    /// The file of the secret that all hosts have (`incast udp key FILE --shared`).
    secret: Option<PathBuf> = None, "FILE", option "--secret", field "secret";
    /// The file of this host's key pair (`incast udp key FILE`).
    identity: Option<PathBuf> = None, "FILE", option "--identity", field "identity";
    /// The file of the public keys that may connect, beside a key pair.
    peers: Option<PathBuf> = None, "FILE", option "--peers", field "peers";
    /// No encryption: only where everybody is trusted.
    plaintext: bool = false, "", option "--plaintext", field "plaintext";
    /// The algorithm of what is sent from here, such as `timely:auto` or `dctcp`.
    cc: String = "timely:auto".to_owned(), "NAME", option "--cc", field "algorithm";
    /// Parameters of the algorithm, such as `t_low=100us`.
    settings: Vec<String> = Vec::new(), "KEY=VALUE", option "--set", field "settings";
    /// The most that a connection sends.
    line_rate: String = "40Gbps".to_owned(), "RATE", option "--line-rate", field "line_rate";
    /// The rate of a real NIC: the algorithm's constants scale with it, and RTTs leave out a
    /// segment's time on its wire. A virtual link has none, since sends leave at once.
    nic_rate: Option<String> = None, "RATE", option "--nic-rate", field "nic_rate";
    /// The largest IP packet that the path takes for certain; longer ones are tried and used by
    /// themselves.
    mtu: u16 = 1_500, "B", 1_280 to 65_535, option "--mtu";
    /// The time of spinning before each send time and before a sleep.
    spin_us: f64 = 60.0, "us";
    /// No sleep at all: shorter delays for a CPU of its own.
    always_spin: bool = false, "", option "--spin";
    /// The silence after which a peer counts as gone.
    patience_s: f64 = 15.0, "s";
    /// The threads, each with its own socket.
    threads: usize = 1, "N", 1 to 256, option "--threads";
    /// Whether other hosts may connect.
    listens: bool = true, "";
    /// The longest message that is received.
    max_message_bytes: usize = 64 << 20, "B", option "--max-message", field "max_message";
}

impl Settings {
    /// The options of a node at an address such as `0.0.0.0:7000`.
    ///
    /// # Errors
    ///
    /// If a text is none of its kind, a file of keys cannot be used, or not exactly one protection
    /// is chosen.
    pub fn options(&self, address: &str) -> Result<Options, SettingError> {
        let [secret, identity, peers] =
            [&self.secret, &self.identity, &self.peers].map(Option::as_deref);
        let security = security(secret, identity, peers, self.plaintext)?;
        let mut options = Options::at(resolve(address)?, security);
        options.algorithm = algorithm(&self.cc, &self.settings)?;
        options.line_rate = rate("line rate", &self.line_rate)?;
        options.nic_rate =
            self.nic_rate.as_deref().map(|text| rate("NIC rate", text)).transpose()?;
        options.mtu = self.mtu;
        options.waiting = if self.always_spin {
            Waiting::Spin
        } else {
            Waiting::Sleep { spin: time("the time of spinning", self.spin_us / 1e6)? }
        };
        options.patience = time("the patience", self.patience_s)?;
        options.listens = self.listens;
        options.memory = options.memory.for_messages(self.max_message_bytes);
        Ok(options)
    }
}

fn rate(what: &'static str, text: &str) -> Result<Rate, SettingError> {
    let wrong = |source| SettingError::Rate { what, text: text.to_owned(), source };
    text.parse().map_err(wrong)
}

/// A duration in seconds.
///
/// # Errors
///
/// If the number is negative, too large or none.
pub fn time(what: &'static str, seconds: f64) -> Result<Duration, SettingError> {
    Duration::try_from_secs_f64(seconds).map_err(|_| SettingError::Time { what, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::LEAST_MTU;
    use crate::security::Security;

    #[test]
    fn defaults_are_those_of_the_options() {
        let settings = Settings { plaintext: true, ..Settings::default() };
        let options = settings.options("127.0.0.1:7000").unwrap();
        let expected = Options::at("127.0.0.1:7000".parse().unwrap(), Security::Plain);
        assert_eq!(format!("{options:?}"), format!("{expected:?}"));
        assert_eq!(Settings::TABLE.iter().find_map(|one| one.range), Some((LEAST_MTU, u16::MAX)));
    }

    #[test]
    fn values_are_found_by_name_and_bad_ones_get_one_sentence() {
        let with = |name: &str, change: fn(Value<'_>)| {
            let mut settings = Settings { plaintext: true, ..Settings::default() };
            change(settings.value(name).unwrap());
            settings.options("127.0.0.1:7000").unwrap_err().to_string()
        };
        let fast = |value: Value<'_>| match value {
            Value::Text(text) => "fast".clone_into(text),
            Value::MaybeText(text) => *text = Some("fast".to_owned()),
            Value::Number(number) => *number = -1.0,
            other => panic!("{other:?}"),
        };
        assert!(with("line_rate", fast).starts_with("line rate \"fast\": "));
        assert!(with("nic_rate", fast).starts_with("NIC rate \"fast\": "));
        let patience = "the patience of -1 s is no time; give a number of zero or more";
        assert_eq!(with("patience_s", fast), patience);
        assert!(Settings::default().value("mut").is_none());
    }
}

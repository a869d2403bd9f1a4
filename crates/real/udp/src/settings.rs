//! Settings as people write them: those of a host ([`Settings`]), and how an address, an algorithm
//! with its parameters and files of keys are read.

mod hosts;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use incast_cc::AnyAlgorithm;
use incast_cc::param::{Conflict, SetError};
use incast_cc::registry::NAMES;
use incast_cc::units::ParseError;

use crate::security::{Identity, KeyError, PeerKey, Secret, Security};

pub use self::hosts::{Setting, Settings, Value, time};

/// The reason why a text is no setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No algorithm has this name.
    #[error("no algorithm is called {0:?}; there are {names}", names = NAMES.join(", "))]
    NoAlgorithm(String),
    /// The algorithm has no such preset.
    #[error("{name} has no preset {preset:?}; {known}")]
    Preset {
        /// The algorithm.
        name: String,
        /// The preset.
        preset: String,
        /// The presets that it has.
        known: String,
    },
    /// Brackets are not closed.
    #[error("{0:?} has a \"[\" without a \"]\" at its end; write such as timely[t_low=100us]")]
    Brackets(String),
    /// A setting has no value.
    #[error("{0:?} is not KEY=VALUE, such as t_low=100us")]
    NoValue(String),
    /// The algorithm has no such parameter.
    #[error("{name} has no parameter {key:?}; {known}")]
    Parameter {
        /// The algorithm.
        name: String,
        /// The parameter.
        key: String,
        /// The parameters that it has.
        known: String,
    },
    /// A parameter cannot have the value.
    #[error("{name}.{setting}: {source}")]
    Value {
        /// The algorithm.
        name: String,
        /// The setting.
        setting: String,
        /// The reason.
        source: SetError,
    },
    /// Two values contradict each other.
    #[error("{name}: {0} {1} {2}", .conflict.name, .conflict.rule, .conflict.other)]
    Conflict {
        /// The algorithm.
        name: String,
        /// The two values.
        conflict: Conflict,
    },
    /// An address has no port.
    #[error("{0:?} has no port; give HOST:PORT, such as {0}:7000")]
    NoPort(String),
    /// An address cannot be read, or its name is not known.
    #[error("{address:?} is no address: {why}; give HOST:PORT")]
    Address {
        /// The address.
        address: String,
        /// The reason.
        why: String,
    },
    /// A text is no rate.
    #[error("{what} {text:?}: {source}")]
    Rate {
        /// The setting.
        what: &'static str,
        /// The text.
        text: String,
        /// The reason.
        source: ParseError,
    },
    /// A number of seconds is no time.
    #[error("{what} of {seconds} s is no time; give a number of zero or more")]
    Time {
        /// The setting.
        what: &'static str,
        /// The number.
        seconds: f64,
    },
    /// No protection is chosen.
    #[error(
        "connections are encrypted, and no key is given; give the file of a secret or of an \
         identity, made by `incast udp key`, or choose plaintext on a trusted network"
    )]
    NoKey,
    /// Several protections are chosen.
    #[error("a secret, an identity and plaintext exclude each other; give one of them")]
    SeveralKeys,
    /// A file of keys cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The algorithm of a text such as `timely:auto` or `timely:auto[window=1ms]`, with more settings
/// such as `t_low=100us`.
///
/// # Errors
///
/// If there is no such algorithm, preset or parameter, or the values contradict each other.
pub fn algorithm<S: AsRef<str>>(cc: &str, settings: &[S]) -> Result<AnyAlgorithm, SettingError> {
    let (scheme, inside) = match cc.split_once('[') {
        Some((scheme, inside)) => {
            let inside = inside.strip_suffix(']');
            (scheme, inside.ok_or_else(|| SettingError::Brackets(cc.to_owned()))?)
        }
        None => (cc, ""),
    };
    let (name, preset) =
        scheme.split_once(':').map_or((scheme, None), |(name, preset)| (name, Some(preset)));
    let mut algorithm =
        AnyAlgorithm::named(name).ok_or_else(|| SettingError::NoAlgorithm(name.to_owned()))?;
    let name = name.to_owned();
    if let Some(preset) = preset {
        algorithm.apply_preset(preset).map_err(|_| SettingError::Preset {
            name: name.clone(),
            preset: preset.to_owned(),
            known: there_are(algorithm.presets().iter().map(|preset| preset.name)),
        })?;
    }
    let inside = inside.split(',').map(str::trim).filter(|setting| !setting.is_empty());
    for setting in inside.chain(settings.iter().map(AsRef::as_ref)) {
        let (key, value) =
            setting.split_once('=').ok_or_else(|| SettingError::NoValue(setting.to_owned()))?;
        algorithm.set(key, value).map_err(|source| match source {
            SetError::Unknown => SettingError::Parameter {
                name: name.clone(),
                key: key.to_owned(),
                known: there_are(algorithm.params().iter().map(|param| param.name)),
            },
            source => {
                SettingError::Value { name: name.clone(), setting: setting.to_owned(), source }
            }
        })?;
    }
    algorithm.check().map_err(|conflict| SettingError::Conflict { name, conflict })?;
    Ok(algorithm)
}

/// The names that would have been right, in words.
fn there_are<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        "it has none".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    }
}

/// The address of a text such as `host:7000`.
///
/// # Errors
///
/// If the text has no port, or the host is not known.
pub fn resolve(text: &str) -> Result<SocketAddr, SettingError> {
    let fault = |why: String| SettingError::Address { address: text.to_owned(), why };
    match text.to_socket_addrs().map(|mut all| all.next()) {
        Ok(Some(address)) => Ok(address),
        _ if !text.contains(':') => Err(SettingError::NoPort(text.to_owned())),
        Ok(None) => Err(fault("its host has none".to_owned())),
        Err(error) => Err(fault(error.to_string())),
    }
}

/// The protection by the file of a secret, by the file of a key pair with that of the peers' public
/// keys, or by none: exactly one of them.
///
/// # Errors
///
/// If none is chosen or several are, or a file cannot be used.
pub fn security(
    secret: Option<&Path>,
    identity: Option<&Path>,
    peers: Option<&Path>,
    plaintext: bool,
) -> Result<Security, SettingError> {
    match (secret, identity, plaintext) {
        (Some(path), None, false) => Ok(Security::Secret(Secret::from_file(path)?)),
        (None, Some(path), false) => {
            let identity = Identity::read(path)?;
            let peers = peers.map(PeerKey::read_all).transpose()?.unwrap_or_default();
            Ok(Security::Keys { identity, peers })
        }
        (None, None, true) => Ok(Security::Plain),
        (None, None, false) => Err(SettingError::NoKey),
        _ => Err(SettingError::SeveralKeys),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let timely = algorithm("timely:auto", &["t_low=10us"]).unwrap();
        let mut other = AnyAlgorithm::named("timely").unwrap();
        other.apply_preset("auto").unwrap();
        other.set("t_low", "10us").unwrap();
        assert_eq!(timely, other);
        let none: [&str; 0] = [];
        assert_eq!(algorithm("timely:auto[ t_low=10us ]", &none).unwrap(), other);
        other.set("beta", "0.5").unwrap();
        // What is given last counts.
        assert_eq!(algorithm("timely:auto[t_low=9us,beta=0.5]", &["t_low=10us"]).unwrap(), other);
        assert_eq!(resolve("127.0.0.1:7000").unwrap(), "127.0.0.1:7000".parse().unwrap());
        assert!(matches!(security(None, None, None, true), Ok(Security::Plain)));
    }

    #[test]
    fn bad_settings_get_one_sentence() {
        let none: [&str; 0] = [];
        let said = |error: SettingError| error.to_string();
        assert!(
            said(algorithm("timley", &none).unwrap_err()).starts_with("no algorithm is called")
        );
        let preset = said(algorithm("timely:x", &none).unwrap_err());
        assert!(preset.starts_with("timely has no preset \"x\"; there are "), "{preset}");
        let preset = said(algorithm("line-rate:x", &none).unwrap_err());
        assert!(preset.contains("\"x\"; "), "{preset}");
        let open = said(algorithm("timely[beta=0.5", &none).unwrap_err());
        assert!(open.contains("without a \"]\""), "{open}");
        let parameter = said(algorithm("timely[bata=0.5]", &none).unwrap_err());
        assert!(parameter.starts_with("timely has no parameter \"bata\"; there are alpha, beta"));
        let value = said(algorithm("timely", &["beta=x"]).unwrap_err());
        assert!(value.starts_with("timely.beta=x: "), "{value}");
        assert!(said(algorithm("timely", &["beta"]).unwrap_err()).contains("KEY=VALUE"));
        let both = said(algorithm("timely", &["t_low=2ms", "t_high=1ms"]).unwrap_err());
        assert!(both.starts_with("timely: t_"), "{both}");
        assert!(said(resolve("localhost").unwrap_err()).contains("has no port"));
        assert!(said(resolve("a b:7").unwrap_err()).contains("is no address"));
        assert!(said(security(None, None, None, false).unwrap_err()).contains("no key is given"));
        let path = Path::new("x");
        assert!(matches!(security(Some(path), None, None, true), Err(SettingError::SeveralKeys)));
    }
}

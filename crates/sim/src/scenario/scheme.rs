//! From the name of a scheme to an algorithm with its parameters.

use incast_cc::AnyAlgorithm;
use incast_cc::param::{Conflict, SetError};
use incast_cc::registry::NAMES;

use super::error::{Fault, suggestion};
use super::{Scenario, ScenarioError};

impl Scenario {
    /// The algorithm of the scheme `name`, its parameters set as `[cc.NAME]` says.
    ///
    /// # Errors
    /// There is no such algorithm, preset or parameter, or a value is wrong.
    pub fn scheme(&self, name: &str) -> Result<AnyAlgorithm, ScenarioError> {
        self.resolve(name).map_err(|fault| ScenarioError::Scheme(fault.into_message()))
    }

    pub(super) fn resolve(&self, name: &str) -> Result<AnyAlgorithm, Fault> {
        let section = self.cc.get(name);
        let field = |key: &str| section.and_then(|section| section.get(key)).map(text_of);
        let named = field("algorithm");
        let (algorithm_name, preset) = match &named {
            Some(algorithm) => (algorithm.as_str(), None),
            None => {
                name.split_once(':').map_or((name, None), |(name, preset)| (name, Some(preset)))
            }
        };
        let mut algorithm = AnyAlgorithm::named(algorithm_name).ok_or_else(|| {
            let mut known = NAMES.to_vec();
            known.extend(self.cc.keys().map(String::as_str).filter(|&other| other != name));
            let message = format!(
                "unknown algorithm {algorithm_name:?}{}",
                suggestion(algorithm_name, &known)
            );
            let place = if named.is_some() { "algorithm" } else { "" };
            Fault::at([&"cc", &name, &place], message)
        })?;
        let in_section = field("preset");
        if let Some(preset) = in_section.as_deref().or(preset) {
            algorithm.apply_preset(preset).map_err(|_| {
                let known: Vec<_> = algorithm.presets().iter().map(|preset| preset.name).collect();
                let message = format!(
                    "unknown preset {preset:?} of {algorithm_name}{}",
                    suggestion(preset, &known)
                );
                Fault::at([&"cc", &name, &"preset"], message)
            })?;
        }
        for (key, value) in section.into_iter().flatten() {
            if key == "algorithm" || key == "preset" {
                continue;
            }
            let text = text_of(value);
            algorithm.set(key, &text).map_err(|error| {
                let message = match error {
                    SetError::Unknown => {
                        let known: Vec<_> =
                            algorithm.params().iter().map(|param| param.name).collect();
                        format!(
                            "unknown parameter {key:?} of {algorithm_name}{}",
                            suggestion(key, &known)
                        )
                    }
                    error => format!("{key} = {text:?} {error}"),
                };
                Fault::at([&"cc", &name, key], message)
            })?;
        }
        algorithm.check().map_err(|Conflict { name: one, rule, other }| {
            let value = |param| {
                let mut text = String::new();
                // Writing to a string does not fail, and the names are the algorithm's own.
                let _ = algorithm.write(param, &mut text);
                text
            };
            let message =
                format!("{one} = {} {rule} {other} = {}; change one", value(one), value(other));
            let set_here = section.is_some_and(|section| section.contains_key(one));
            Fault::at([&"cc", &name, if set_here { &one } else { &other }], message)
        })?;
        Ok(algorithm)
    }
}

/// What a value would be on the command line.
fn text_of(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

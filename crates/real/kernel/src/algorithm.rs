//! The algorithms that have a program, with the parameters of `incast-cc` and of the program.

use incast_cc::param::{Need, SetError};
use incast_cc::registry::AnyAlgorithm;

use crate::programs::{self, Program};
use crate::values::{Values, invalid};
use crate::{Error, Result};

/// An algorithm that Linux TCP can run.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm(pub(crate) &'static dyn Program);

impl Algorithm {
    /// Every algorithm that has a program.
    pub const ALL: [Self; programs::ALL.len()] = {
        let mut all = [Self(programs::ALL[0]); programs::ALL.len()];
        let mut number = 1;
        while number < all.len() {
            all[number] = Self(programs::ALL[number]);
            number += 1;
        }
        all
    };

    /// The name in `incast-cc`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The preset of [`Settings::new`]; [`None`] stands for the algorithm's own defaults.
    pub fn preset(self) -> Option<&'static str> {
        self.0.preset()
    }

    /// The parameters that every preset takes from [`preset`](Self::preset), with their values
    /// there. A preset that sets one of them itself keeps its own value.
    pub fn host_params(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let law = AnyAlgorithm::named(self.name());
        let presets = law.map_or(&[][..], |law| law.presets());
        let values = presets.iter().find(|preset| Some(preset.name) == self.preset());
        let values = values.map_or(&[][..], |preset| preset.values);
        values.iter().copied().filter(move |(name, _)| self.0.host_params().contains(name))
    }

    /// Whether the program has to know the rate of the NIC.
    pub fn knows_line_rate(self) -> bool {
        self.0.params().iter().any(|param| param.name == "line_rate")
    }

    /// Whether the algorithm needs connections that have agreed on ECN.
    pub fn needs_ecn(self) -> bool {
        AnyAlgorithm::named(self.name()).is_some_and(|law| law.needs().contains(&Need::Ecn))
    }

    /// The algorithm of this name.
    ///
    /// # Errors
    /// There is no such algorithm.
    pub fn named(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::UnknownAlgorithm { name: name.to_owned(), known }
        })
    }
}

/// A parameter of an algorithm or of its program, with its value.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The value, in the form that [`Settings::set`] reads.
    pub value: String,
    /// The meaning, one paragraph.
    pub doc: &'static str,
}

/// An algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    algorithm: Algorithm,
    values: Values,
    /// The assignments so far, to be repeated by [`from_lines`](Self::from_lines).
    lines: Vec<String>,
}

impl Settings {
    /// The defaults of an algorithm on Linux TCP, which may differ from the algorithm's own.
    ///
    /// # Panics
    /// If the registry lacks the algorithm.
    pub fn new(algorithm: Algorithm) -> Self {
        let mut settings = Self::plain(algorithm);
        if let Some(preset) = algorithm.preset() {
            settings.values.law.apply_preset(preset).expect("the algorithm has the preset");
        }
        settings
    }

    /// The algorithm's defaults except host parameters, plus the program's.
    fn plain(algorithm: Algorithm) -> Self {
        let named = AnyAlgorithm::named(algorithm.name());
        let mut law = named.expect("the registry has the algorithm");
        for (name, value) in algorithm.host_params() {
            law.set(name, value).expect("the algorithm has the parameters of its preset");
        }
        let values = Values::new(law, algorithm.0.params());
        Self { algorithm, values, lines: Vec::new() }
    }

    /// The algorithm that these settings are for.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The settings that these lines made before: `preset=NAME` or `key=value`.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn from_lines(algorithm: Algorithm, lines: &str) -> Result<Self> {
        let mut settings = Self::new(algorithm);
        for line in lines.lines() {
            settings.set(line)?;
        }
        Ok(settings)
    }

    /// The assignments so far, a line each.
    pub fn lines(&self) -> String {
        self.lines.join("\n")
    }

    /// Sets one parameter, `key=value`; or `preset=NAME`, which begins anew with the values of a
    /// preset.
    ///
    /// # Errors
    /// There is no such parameter or preset, or the text is no value for it.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(Error::NotAnAssignment(assignment.to_owned()));
        };
        if name == "preset" {
            let mut fresh = Self::plain(self.algorithm);
            fresh.values.law.apply_preset(value).map_err(|_| {
                let presets = self.values.law.presets().iter();
                let known: Vec<_> = presets.map(|preset| preset.name).collect();
                Error::UnknownPreset { name: value.to_owned(), known: known.join(", ") }
            })?;
            *self = fresh;
        } else if !self.values.set_own(name, value)? {
            let mut changed = self.values.law;
            changed.set(name, value).map_err(|error| self.refused(name, value, error))?;
            self.values.law = changed;
        }
        self.lines.retain(|line| line.split_once('=').is_none_or(|(key, _)| key != name));
        self.lines.push(assignment.to_owned());
        Ok(())
    }

    /// Whether the values fit together.
    ///
    /// # Errors
    /// Two values contradict each other.
    pub fn check(&self) -> Result<()> {
        self.values.law.check().map_err(Error::Conflict)
    }

    /// All parameters, the algorithm's first.
    pub fn parameters(&self) -> Vec<Parameter> {
        let law = self.values.law.params().iter().map(|param| {
            let mut value = String::new();
            // Writing to a string does not fail, and the name is the parameter's own.
            let _ = self.values.law.write(param.name, &mut value);
            Parameter { name: param.name, value, doc: param.doc.trim() }
        });
        let own = self.values.own.iter().map(|(param, value)| {
            let (name, doc) = (param.name, param.doc);
            Parameter { name, value: value.clone(), doc }
        });
        law.chain(own).collect()
    }

    /// A warning that this algorithm does not work well on a network that drops packets.
    pub fn warning(&self) -> Option<String> {
        self.values.law.needs().contains(&Need::Lossless).then(|| {
            format!(
                "{} does not slow down at losses, since loss_decrease=0 is for networks with PFC; \
                 without, set loss_decrease=0.5",
                self.algorithm.name()
            )
        })
    }

    /// The bytes of the program's knobs.
    ///
    /// # Errors
    /// A value does not fit the program.
    pub fn knobs(&self) -> Result<Vec<u8>> {
        self.algorithm.0.knobs(&self.values)
    }

    fn refused(&self, name: &str, value: &str, error: SetError) -> Error {
        if error != SetError::Unknown {
            return invalid(name, value, error);
        }
        let known: Vec<_> = self.parameters().iter().map(|parameter| parameter.name).collect();
        Error::UnknownParameter {
            name: name.to_owned(),
            algorithm: self.algorithm.name(),
            known: known.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_every_program_fit_it() {
        for algorithm in Algorithm::ALL {
            let settings = Settings::new(algorithm);
            settings.check().unwrap();
            assert!(!settings.knobs().unwrap().is_empty());
            for parameter in settings.parameters() {
                let assignment = format!("{}={}", parameter.name, parameter.value);
                settings.clone().set(&assignment).unwrap();
            }
        }
        let knows: Vec<_> =
            Algorithm::ALL.into_iter().filter(|one| one.knows_line_rate()).collect();
        assert_eq!(knows.iter().map(|one| one.name()).collect::<Vec<_>>(), ["timely", "rtcp"]);
    }

    #[test]
    fn every_preset_has_what_is_of_hosts_from_the_preset_for_them() {
        let timely = Algorithm::named("timely").unwrap();
        let host_params: Vec<_> = timely.host_params().collect();
        assert!(
            host_params.contains(&("min_filter", "500us")) && host_params.len() == 9,
            "{host_params:?}"
        );
        let value = |settings: &Settings, name: &str| {
            settings.parameters().into_iter().find(|one| one.name == name).unwrap().value
        };
        for preset in Settings::new(timely).values.law.presets() {
            let mut settings = Settings::new(timely);
            settings.set(&format!("preset={}", preset.name)).unwrap();
            for (name, expected) in &host_params {
                let own = preset.values.iter().find(|(own, _)| own == name);
                let expected = own.map_or(*expected, |(_, own)| *own);
                assert_eq!(value(&settings, name), expected, "{name} of {}", preset.name);
            }
        }
        let rtcp = Algorithm::named("rtcp").unwrap();
        assert_eq!(rtcp.host_params().count(), 0);
    }

    #[test]
    fn lines_make_the_same_settings_again_and_a_refused_one_changes_nothing() {
        let timely = Algorithm::named("timely").unwrap();
        let mut settings = Settings::new(timely);
        for line in ["preset=zhu", "t_low=20us", "window=1ms", "t_low=30us"] {
            settings.set(line).unwrap();
        }
        assert_eq!(settings.lines(), "preset=zhu\nwindow=1ms\nt_low=30us");
        let before = settings.knobs().unwrap();
        for (line, said) in [
            ("t_low", "--set t_low: expected KEY=VALUE"),
            ("preset=nobody", "preset=nobody: no such preset; there is authors-snippet"),
            ("t_lwo=5us", "t_lwo: no such parameter of timely; there is "),
            ("t_low=5s", "t_low=5s: is out of range"),
            ("line_rate=500Gbps", "line_rate=500Gbps: is out of range; expected 1Mbps to 400Gbps"),
            ("window=2s", "window=2s: is out of range; expected 0ns to 1s"),
            ("window_floor=1", "window_floor=1: is out of range; expected 2 to 1000000"),
            ("catch_up=none", "catch_up=none: is not one of the whole numbers"),
            ("startup=maybe", "startup=maybe: is not one of on, off"),
        ] {
            let error = settings.set(line).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        settings.set("min_filter=0ns").unwrap();
        settings.set("min_filter=500us").unwrap();
        assert_eq!(settings.knobs().unwrap(), before);
        let again = Settings::from_lines(timely, &settings.lines()).unwrap();
        assert_eq!(again.knobs().unwrap(), before);
        for (line, said) in [
            ("window=0ns", "window=0ns: Linux TCP has a window; expected the time of its data"),
            ("window_rtt=1ms", "window_rtt: Linux TCP is paced; expected 0ns"),
        ] {
            let mut refused = settings.clone();
            refused.set(line).unwrap();
            let error = refused.knobs().unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        let error = Algorithm::named("timley").unwrap_err().to_string();
        let known = Algorithm::ALL.map(Algorithm::name).join(", ");
        assert_eq!(error, format!("timley: cannot be attached to Linux TCP; there is {known}"));
    }
}

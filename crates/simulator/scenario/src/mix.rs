//! Mixes: runs whose traffic names schemes beside that of the run.

use incast_cc::param::Need;
use incast_queue::feedback::AnyFeedback;
use incast_schema::Fault;
use incast_transport::{Signal, facts};

use crate::{ResolvedClass, Scenario, Scheme, Switch, Traffic, TrafficScheme, TransportKind};

/// The most schemes of a run beside its own.
pub const MOST_SCHEMES: usize = 100;

/// A scheme with the name that scenarios and results have for it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedScheme {
    /// The name.
    pub name: String,
    /// The scheme.
    pub scheme: Scheme,
}

/// All schemes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// The schemes by number: that of the run, then those of traffic, each once, in the order of
    /// the file.
    schemes: Vec<NamedScheme>,
}

impl Mix {
    /// The scheme of the run.
    pub fn run(&self) -> &Scheme {
        &self.schemes[0].scheme
    }

    /// All schemes, that of the run first.
    pub fn all(&self) -> &[NamedScheme] {
        &self.schemes
    }

    /// Whether traffic names schemes.
    pub fn is_mixed(&self) -> bool {
        self.schemes.len() > 1
    }

    /// Whether the algorithm of any scheme has a need.
    pub fn needs(&self, need: Need) -> bool {
        self.any(|scheme| scheme.algorithm.info().needs.contains(&need))
    }

    /// Whether any scheme has a property.
    pub fn any(&self, has: impl Fn(&Scheme) -> bool) -> bool {
        self.schemes.iter().any(|named| has(&named.scheme))
    }

    /// The feedback of ports that a scheme understands, if they speak it. A run has one kind, and
    /// no flow may be under the scheme of the run where it has another.
    pub fn feedback(&self, switch: &Switch) -> Option<AnyFeedback> {
        let (run, traffic) = self.schemes.split_first()?;
        traffic.iter().chain([run]).find_map(|named| named.scheme.feedback(switch))
    }

    /// Whether any scheme asks for the oracle's RTT.
    pub fn has_oracle(&self) -> bool {
        self.any(|scheme| scheme.signal == Signal::Oracle)
    }

    /// The transport whose classes the network has: one whose answers have a class of their own, if
    /// any scheme has such a transport.
    pub fn classes_of(&self) -> TransportKind {
        let mut kinds = self.schemes.iter().map(|named| named.scheme.transport);
        kinds.find(|&kind| facts(kind).answers_first).unwrap_or(self.run().transport)
    }
}

impl Scenario {
    /// All schemes of a run under `run`, which is called `name`.
    pub fn mix(&self, name: &str, run: Scheme) -> Mix {
        let mut schemes = vec![NamedScheme { name: name.to_owned(), scheme: run }];
        for name in self.mixed_names() {
            // The scenario was checked, but an algorithm from elsewhere may be gone.
            let scheme = self.resolve(name).unwrap_or(run);
            schemes.push(NamedScheme { name: name.to_owned(), scheme });
        }
        Mix { schemes }
    }

    /// The schemes that traffic names, each once, in the order of the file. Those of
    /// [`mix`](Self::mix) have the same order, from number 1 on.
    pub fn mixed_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for scheme in self.traffic.iter().filter_map(|traffic| traffic.common.scheme.as_ref()) {
            if !names.contains(&scheme.name()) {
                names.push(scheme.name());
            }
        }
        names
    }

    /// The number of the scheme that a traffic names; 0 if it names none.
    pub fn scheme_number(&self, traffic: &Traffic) -> u8 {
        let Some(scheme) = &traffic.common.scheme else { return 0 };
        let place = self.mixed_names().iter().position(|name| *name == scheme.name());
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
    }

    /// Whether flows of any traffic are under the scheme of the run.
    pub fn uses_run_scheme(&self) -> bool {
        let is_part =
            |traffic: &Traffic| traffic.common.scheme.as_ref().is_none_or(TrafficScheme::is_shared);
        self.traffic.iter().any(is_part)
    }

    /// The sentence about ports that would have to answer `scheme`, which is called `name`, in one
    /// language and a scheme that traffic names in another.
    pub(crate) fn second_language(&self, name: &str, scheme: &Scheme) -> Option<String> {
        let kind = scheme.feedback(&self.switch)?.kind();
        self.mixed_names().into_iter().find_map(|other| {
            let theirs = self.resolve(other).ok()?.feedback(&self.switch)?.kind();
            (theirs != kind).then(|| {
                format!(
                    "{name} needs ports that speak {kind}, and {other} in the same run ports that \
                     speak {theirs}, but the ports of a run speak one language; run one after the \
                     other"
                )
            })
        })
    }

    /// Checks the schemes that traffic names.
    pub(crate) fn check_mix(&self) -> Result<(), Fault> {
        for (number, traffic) in self.traffic.iter().enumerate() {
            let Some(scheme) = &traffic.common.scheme else { continue };
            let at = |message| Fault::at([&"traffic", &number, &"scheme"], message);
            let resolved = self.resolve(scheme.name()).map_err(|fault| {
                // A fault of the scheme's own section is reported there.
                if self.cc.contains_key(scheme.name()) { fault } else { at(fault.into_message()) }
            })?;
            if let Some(message) = self.second_language(scheme.name(), &resolved) {
                return Err(at(message));
            }
        }
        for (number, name) in self.run.schemes.iter().enumerate() {
            let resolved = self.resolve(name).ok().filter(|_| self.uses_run_scheme());
            if let Some(message) = resolved.and_then(|scheme| self.second_language(name, &scheme)) {
                return Err(Fault::at([&"run", &"schemes", &number], message));
            }
        }
        let names = self.mixed_names();
        if names.len() > MOST_SCHEMES {
            let message = format!(
                "{} schemes beside that of the run; expected at most {MOST_SCHEMES}",
                names.len()
            );
            return Err(Fault::at([&"traffic"], message));
        }
        Ok(())
    }

    /// The traffic classes of a network under these schemes, from the lowest to the highest.
    pub fn classes_in(&self, mix: &Mix) -> Vec<ResolvedClass> {
        self.classes(mix.classes_of())
    }
}

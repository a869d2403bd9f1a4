//! Schemes: a name stands for an algorithm with its parameters, transport and signal.

use std::collections::BTreeMap;

use incast_cc::param::{Conflict, Need, SetError};
use incast_cc::registry::NAMES;
use incast_cc::{AnyAlgorithm, Span};
use incast_queue::feedback::AnyFeedback;
use incast_transport::{Signal, Timestamps, facts};

use super::{
    Ecn, ResolvedClass, Scenario, ScenarioError, SignalKind, Stack, Switch, Traffic, TransportKind,
    guests,
};
use crate::section::{RESERVED, Section};
use incast_schema::{Fault, suggestion};

/// The algorithm of a run's flows, with its transport and signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// The algorithm with its parameters.
    pub algorithm: AnyAlgorithm,
    /// The transport that carries payload.
    pub transport: TransportKind,
    /// The RTT that the algorithm gets.
    pub signal: Signal,
}

impl Scheme {
    /// The feedback of ports that the algorithm understands, if they speak it.
    pub fn feedback(&self, switch: &Switch) -> Option<AnyFeedback> {
        switch.feedback_for(self.algorithm.needs())
    }

    /// Whether the algorithm chooses the traffic class of each packet.
    pub fn chooses_class(&self) -> bool {
        self.algorithm.needs().iter().any(|need| matches!(need, Need::Classes(_)))
    }
}

impl Scenario {
    /// The class in which the data of traffic of `class` begins under `scheme`. Where the algorithm
    /// chooses the class of each packet, traffic of the lowest class, which is that of traffic that
    /// names none, begins in the highest.
    pub fn first_class(&self, class: u8, scheme: &Scheme) -> u8 {
        let highest = self.class.len().saturating_sub(1);
        let highest = u8::try_from(highest).unwrap_or(u8::MAX);
        if class == 0 && scheme.chooses_class() { highest } else { class }
    }

    /// The scheme `name`, with parameters as `[cc.NAME]` sets them, and as brackets behind the name
    /// do: `timely[t_high=100us,beta=0.5]`.
    ///
    /// # Errors
    /// There is no such algorithm, preset or parameter, a value is wrong, or ports would have to
    /// answer it and a scheme that traffic names in two languages.
    pub fn scheme(&self, name: &str) -> Result<Scheme, ScenarioError> {
        let scheme =
            self.resolve(name).map_err(|fault| ScenarioError::Scheme(fault.into_message()))?;
        let languages = self.uses_run_scheme().then(|| self.second_language(name, &scheme));
        languages.flatten().map_or(Ok(scheme), |message| Err(ScenarioError::Scheme(message)))
    }

    /// The needs of the algorithm of `scheme` that the network does not meet: one sentence each,
    /// with the setting that would help.
    pub fn unmet_needs(&self, name: &str, scheme: &Scheme) -> Vec<String> {
        let (switch, classes) = (&self.switch, self.classes(scheme.transport));
        let mut warnings = Vec::new();
        for need in scheme.algorithm.needs() {
            let lacks = match need {
                Need::Ecn | Need::Notifications if !classes.iter().any(ResolvedClass::marks) => {
                    "no switch marks packets; set switch.ecn_threshold, such as \"100KB\""
                }
                Need::Ecn
                    if facts(scheme.transport).is_tcp
                        && matches!(self.transport.stream.ecn, Ecn::Off | Ecn::Classic) =>
                {
                    "receivers do not echo marks exactly; set transport.stream.ecn to \"exact\""
                }
                Need::Telemetry if switch.feedback("int").is_none() => {
                    "no switch stamps them into packets; set switch.telemetry to true"
                }
                Need::Feedback(kind) if switch.feedback(kind).is_none() => {
                    warnings.push(format!(
                        "{name} needs {}, but no port speaks {kind}; add a table \
                         [switch.feedback.{kind}]",
                        need.as_str()
                    ));
                    continue;
                }
                Need::Feedback(_) => {
                    warnings.extend(differing_intervals(name, &scheme.algorithm, switch));
                    continue;
                }
                Need::PhantomQueue if !has_phantom_queue(switch) => {
                    "no switch has one; set switch.aqm to { kind = \"phantom\" }"
                }
                Need::EachAcknowledged
                    if facts(scheme.transport).is_tcp
                        && self.transport.stream.delayed_ack.is_some_and(|wait| wait > 1) =>
                {
                    "an ACK waits for several; leave out transport.stream.delayed_ack or set it to 1"
                }
                Need::Deadlines if !self.traffic.iter().any(Traffic::has_deadlines) => {
                    "no traffic has any; set the deadline of a [[traffic]], such as \"20ms\""
                }
                Need::Lossless if self.loses_at_random() => {
                    let remedy = if answers_loss(&scheme.algorithm) {
                        "set its loss_decrease to 0.5"
                    } else {
                        "take a scheme that answers losses, such as dctcp"
                    };
                    warnings.push(format!(
                        "{name} has no answer to a loss, but links damage packets: it sends them again at \
                         an unchanged rate; {remedy}, or set the loss of links to 0"
                    ));
                    continue;
                }
                Need::Lossless if classes.iter().any(|class| class.protected) => continue,
                Need::Lossless if answers_loss(&scheme.algorithm) => {
                    "switches drop what does not fit; set switch.pfc.enabled to true, or its \
                     loss_decrease to 0.5, so that it answers losses"
                }
                Need::Lossless => "switches drop what does not fit; set switch.pfc.enabled to true",
                &Need::Classes(most) if self.data_classes().len() < usize::from(most) => {
                    let has = match self.data_classes().len() {
                        1 => "has one".to_owned(),
                        number => format!("has {number}"),
                    };
                    warnings.push(format!(
                        "{name} needs {most} traffic classes, but the scenario {has}; list {most} \
                         [[class]], or set its classes to fewer"
                    ));
                    continue;
                }
                Need::RemainingFirst
                    if classes[..self.data_classes().len()]
                        .iter()
                        .any(|class| class.discipline.kind() != "srpt") =>
                {
                    "they serve what came first; set switch.discipline to \"srpt\""
                }
                _ => continue,
            };
            warnings.push(format!("{name} needs {}, but {lacks}", need.as_str()));
        }
        warnings
    }

    pub(super) fn resolve(&self, name: &str) -> Result<Scheme, Fault> {
        let (name, variant) = variant(name)?;
        let none = Section::default();
        let section = self.cc.get(name).unwrap_or(&none);
        let (algorithm_name, preset) = match &section.algorithm {
            Some(algorithm) => (algorithm.as_str(), None),
            None if guests::is_known(name) => (name, None),
            None => {
                name.split_once(':').map_or((name, None), |(name, preset)| (name, Some(preset)))
            }
        };
        let mut algorithm = guests::algorithm(algorithm_name).ok_or_else(|| {
            let mut known = [NAMES, &guests::names()].concat();
            // A section is a scheme if it names its algorithm.
            let named = self.cc.iter().filter(|(_, section)| section.algorithm.is_some());
            let others = named.map(|(other, _)| other.as_str());
            let others: Vec<_> =
                others.filter(|&other| other != name && !known.contains(&other)).collect();
            known.extend(others);
            let place = if section.algorithm.is_some() { "algorithm" } else { "" };
            let unset = if place.is_empty() && self.cc.contains_key(name) {
                format!(", and cc.{name}.algorithm is not set")
            } else {
                String::new()
            };
            let message = format!(
                "unknown algorithm {algorithm_name:?}{unset}{}",
                suggestion(algorithm_name, &known)
            );
            Fault::at([&"cc", &name, &place], message)
        })?;
        if let Some(preset) = section.preset.as_deref().or(preset) {
            algorithm.apply_preset(preset).map_err(|_| {
                let known: Vec<_> = algorithm.presets().iter().map(|preset| preset.name).collect();
                let message = format!(
                    "unknown preset {preset:?} of {algorithm_name}{}",
                    suggestion(preset, &known)
                );
                Fault::at([&"cc", &name, &"preset"], message)
            })?;
        }
        if let Some((key, _)) = variant.iter().find(|(key, _)| RESERVED.contains(key)) {
            let message = format!(
                "{key} is no parameter of {algorithm_name}; expected one in brackets, and {key} in \
                 a section of the scenario such as [cc.mine]"
            );
            return Err(Fault::at([&"cc", &name, key], message));
        }
        let own = section.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let settings: BTreeMap<&str, &str> = own.chain(variant).collect();
        for (key, text) in &settings {
            algorithm.set(key, text).map_err(|error| {
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
                // Writing to a string cannot fail, and the names are the algorithm's own.
                let _ = algorithm.write(param, &mut text);
                text
            };
            let message =
                format!("{one} = {} {rule} {other} = {}; change one", value(one), value(other));
            let set_here = settings.contains_key(one);
            Fault::at([&"cc", &name, if set_here { &one } else { &other }], message)
        })?;
        let transport = section.transport.unwrap_or(self.transport.kind);
        let signal = self.signal_of(name, section, transport)?;
        Ok(Scheme { algorithm, transport, signal })
    }

    /// The RTT that the algorithm of the section `name` gets.
    fn signal_of(
        &self,
        name: &str,
        section: &Section,
        transport: TransportKind,
    ) -> Result<Signal, Fault> {
        let kind = section.signal.unwrap_or(self.signal.kind);
        let stamps = self.timestamps_of(section).map_err(|fault| fault.within(&[&"cc", &name]))?;
        let wrong = |message: &str| {
            Err(match section.signal {
                Some(_) => Fault::at([&"cc", &name, &"signal"], message.into()),
                None => Fault::at([&"signal", &"kind"], message.into()),
            })
        };
        Ok(match (kind, section.noise.or(self.signal.noise)) {
            (SignalKind::Rtt, _) => Signal::Rtt,
            (SignalKind::Noise, Some(noise)) => Signal::Noise(noise),
            (SignalKind::Noise, None) => {
                return wrong("rtt+noise adds nothing; set noise, such as \"10us\"");
            }
            (SignalKind::TcpTimestamps, _) if !facts(transport).is_tcp => {
                return wrong("messages have no TCP timestamps; set the transport to \"stream\"");
            }
            (SignalKind::TcpTimestamps, _) => Signal::Timestamps(stamps),
            (SignalKind::SoftwareTimestamps, _) => Signal::SoftwareTimestamps,
            (SignalKind::KernelTimestamps, _) => Signal::KernelTimestamps,
            (SignalKind::Oracle, _) => Signal::Oracle,
        })
    }

    /// The TCP timestamps of a scheme's section, or of `[signal]`. Places of faults count from the
    /// section.
    fn timestamps_of(&self, section: &Section) -> Result<Timestamps, Fault> {
        let tick = section.tick.or(self.signal.tick).unwrap_or(Span::from_ms(1));
        if tick.is_zero() {
            let message = "a clock that does not tick; expected such as \"1ms\"";
            return Err(Fault::at([&"tick"], message.into()));
        }
        let stack = match section.stack.or(self.signal.stack).unwrap_or(Stack::Linux) {
            Stack::Ns327 => incast_transport::Stack::Ns327,
            Stack::Ns3 => incast_transport::Stack::Ns3,
            Stack::Linux => incast_transport::Stack::Linux,
        };
        Ok(Timestamps { tick, stack })
    }
}

/// A scheme's name, and settings with their values.
type Variant<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// A scheme's name, and the settings in brackets behind it: of `timely[t_high=100us,beta=0.5]`
/// `timely` and two of them.
fn variant(scheme: &str) -> Result<Variant<'_>, Fault> {
    let expected = "expected such as timely[t_high=100us,beta=0.5]";
    let wrong = |what: String| Fault::at([&"cc", &scheme], format!("{scheme}: {what}"));
    let Some((name, inside)) = scheme.split_once('[') else {
        return match scheme.split_once(']') {
            Some(_) => Err(wrong(format!("\"]\" without \"[\"; {expected}"))),
            None => Ok((scheme, Vec::new())),
        };
    };
    let (inside, behind) =
        inside.split_once(']').ok_or_else(|| wrong(format!("\"[\" without \"]\"; {expected}")))?;
    if !behind.is_empty() {
        return Err(wrong(format!("{behind:?} behind the brackets; {expected}")));
    }
    let mut settings: Vec<(&str, &str)> = Vec::new();
    for setting in inside.split(',') {
        let (key, value) = setting
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
            .filter(|(key, value)| !key.is_empty() && !value.is_empty())
            .ok_or_else(|| wrong(format!("{setting:?} is not PARAMETER=VALUE; {expected}")))?;
        if settings.iter().any(|(other, _)| *other == key) {
            return Err(wrong(format!("{key} is set twice; set it once")));
        }
        settings.push((key, value));
    }
    Ok((name.trim(), settings))
}

/// The sentence about a VCP sender and ports that count over different intervals.
fn differing_intervals(name: &str, algorithm: &AnyAlgorithm, switch: &Switch) -> Option<String> {
    let AnyAlgorithm::Vcp(sender) = algorithm else { return None };
    let AnyFeedback::Vcp(port) = switch.feedback("vcp")? else { return None };
    (sender.interval != port.interval).then(|| {
        format!(
            "{name} grows by intervals of {}, but ports measure their load over {}; set \
             switch.feedback.vcp.interval to \"{}\"",
            sender.interval, port.interval, sender.interval
        )
    })
}

/// Whether switches mark by a phantom queue.
fn has_phantom_queue(switch: &Switch) -> bool {
    switch.aqm.as_ref().is_some_and(|aqm| aqm.kind() == "phantom")
}

/// Whether the algorithm has a parameter that makes it react to losses.
fn answers_loss(algorithm: &AnyAlgorithm) -> bool {
    algorithm.params().iter().any(|param| param.name == "loss_decrease")
}

//! The traffic classes of a scenario.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Fraction};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Aqm, QueueDiscipline, Scenario, TransportKind};
use incast_schema::quantity;

/// Most classes: PFC counts them in eight bits.
pub const MOST_CLASSES: usize = incast_transport::CLASSES as usize;
/// What the class of ACKs is called where `transport.ack_priority` adds one.
pub(crate) const ACK: &str = "ack";
/// What the only class of data is called where the scenario names none.
const DATA: &str = "data";

/// One traffic class: a queue at each egress port. They are listed from the lowest to the highest
/// priority; neighbours that have a weight share what the classes above them leave (deficit round robin).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// What traffic calls it.
    pub name: String,
    /// Its part of what it shares with its neighbours that have a weight too. A class without one is
    /// served before all earlier ones.
    pub weight: Option<u32>,
    /// Most bytes of one egress queue of this class, instead of what `switch` says; only without PFC.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub queue_limit: Option<Bytes>,
    /// The factor of the dynamic limit of its egress queues, instead of what `switch` says; only
    /// without PFC.
    #[serde(default, deserialize_with = "quantity::optional_alpha")]
    #[schemars(with = "Option<f64>")]
    pub alpha: Option<Fraction>,
    /// From which length of its queue packets are marked, instead of `switch.ecn_threshold` or
    /// `switch.aqm`.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub ecn_threshold: Option<Bytes>,
    /// Its queue management, instead of `switch.ecn_threshold` or `switch.aqm`.
    pub aqm: Option<Aqm>,
    /// The order of its queues, instead of `switch.discipline`.
    pub discipline: Option<QueueDiscipline>,
    /// Whether PFC protects it, where `switch.pfc` is on; it does if absent.
    pub pfc: Option<bool>,
}

/// A traffic class with all that holds for it.
#[derive(Clone, Debug)]
pub struct ResolvedClass {
    /// Its name.
    pub name: String,
    /// Its part among neighbours that have one.
    pub weight: Option<u32>,
    /// Most bytes of one egress queue, if not a dynamic limit.
    pub queue_limit: Option<Bytes>,
    /// The factor of the dynamic limit.
    pub alpha: Fraction,
    /// The length of a queue from which packets are marked.
    pub ecn_threshold: Option<Bytes>,
    /// Its queue management; a phantom queue is one for all classes of a port that have it.
    pub aqm: Option<Aqm>,
    /// The order of its queues.
    pub discipline: QueueDiscipline,
    /// Whether PFC protects it.
    pub protected: bool,
}

impl ResolvedClass {
    /// Whether switches mark its packets.
    pub fn marks(&self) -> bool {
        self.ecn_threshold.is_some() || self.aqm.as_ref().is_some_and(Aqm::marks)
    }
}

impl Scenario {
    /// All traffic classes of a network that carries `kind`, from the lowest to the highest: those of the
    /// scenario, or one for data, and with `transport.ack_priority` one for ACKs.
    pub fn classes(&self, kind: TransportKind) -> Vec<ResolvedClass> {
        let mut classes = self.data_classes();
        if self.transport.prioritises_acks(kind) {
            classes.push(self.plain_class(ACK, false));
        }
        classes
    }

    /// The traffic classes of data, from the lowest to the highest.
    pub fn data_classes(&self) -> Vec<ResolvedClass> {
        let mut classes: Vec<_> =
            self.class.iter().map(|class| self.resolve_class(class)).collect();
        if classes.is_empty() {
            classes.push(self.plain_class(DATA, self.switch.pfc.enabled));
        }
        classes
    }

    /// The classes that traffic may name: that of ACKs only where every scheme has it.
    pub fn named_classes(&self) -> Vec<ResolvedClass> {
        // Unless it is set, streams have none.
        let stream = self.carries(TransportKind::Stream);
        self.classes(if stream { TransportKind::Stream } else { TransportKind::Message })
    }

    /// The number of a class that traffic may name, from 0 for the lowest.
    pub fn class_number(&self, name: &str) -> Option<u8> {
        let named = (0..).zip(self.named_classes());
        named.into_iter().find(|(_, class)| class.name == name).map(|(number, _)| number)
    }

    /// The number of the class of ACKs of `kind`, where they have one.
    pub fn ack_class(&self, kind: TransportKind) -> Option<u8> {
        let highest = u8::try_from(self.class.len().max(1)).unwrap_or(u8::MAX);
        self.transport.prioritises_acks(kind).then_some(highest)
    }

    /// Whether ACKs of any scheme of the scenario may have a class of their own.
    pub(super) fn may_prioritise_acks(&self) -> bool {
        let message = self.carries(TransportKind::Message);
        let kind = if message { TransportKind::Message } else { TransportKind::Stream };
        self.transport.prioritises_acks(kind)
    }

    /// Whether the scenario, or a scheme of it, says that `kind` carries payload.
    fn carries(&self, kind: TransportKind) -> bool {
        let names = &TransportKind::NAMES;
        let is = |text: &str| names.iter().any(|&(name, of)| name == text && of == kind);
        let own = |section: &BTreeMap<String, toml::Value>| {
            section.get("transport").and_then(toml::Value::as_str).is_some_and(is)
        };
        self.transport.kind == kind || self.cc.values().any(own)
    }

    fn plain_class(&self, name: &str, protected: bool) -> ResolvedClass {
        let switch = &self.switch;
        ResolvedClass {
            name: name.to_owned(),
            weight: None,
            queue_limit: switch.queue_limit,
            alpha: switch.alpha,
            ecn_threshold: switch.ecn_threshold,
            aqm: switch.aqm.clone(),
            discipline: switch.discipline.clone(),
            protected,
        }
    }

    /// A class with all that holds for it.
    pub(super) fn resolve_class(&self, class: &Class) -> ResolvedClass {
        let protected = self.switch.pfc.enabled && class.pfc != Some(false);
        let plain = self.plain_class(&class.name, protected);
        let queue_limit = match (class.queue_limit, class.alpha) {
            (None, None) => plain.queue_limit,
            (own, _) => own,
        };
        let (ecn_threshold, aqm) = match (class.ecn_threshold, &class.aqm) {
            (None, None) => (plain.ecn_threshold, plain.aqm.clone()),
            (threshold, aqm) => (threshold, aqm.clone()),
        };
        ResolvedClass {
            weight: class.weight,
            queue_limit,
            alpha: class.alpha.unwrap_or(plain.alpha),
            ecn_threshold,
            aqm,
            discipline: class.discipline.clone().unwrap_or(plain.discipline),
            ..plain
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    /// The names of the classes under messages and under streams, and those that traffic may name.
    fn classes(rest: &str) -> [Vec<String>; 3] {
        let text = r#"
            title = "a link"
            [run]
            duration = "1ms"
            schemes = ["newreno"]
            [[network.star.hosts]]
            name = "host"
            count = 2
            rate = "10Gbps"
            delay = "1us"
            [[traffic]]
            kind = "connections"
            from = "host0"
            to = "host1"
        "#;
        let document = Document::parse(format!("{text}\n{rest}"), "test.toml").unwrap();
        let scenario = document.scenario();
        [
            scenario.classes(TransportKind::Message),
            scenario.classes(TransportKind::Stream),
            scenario.named_classes(),
        ]
        .map(|classes| classes.into_iter().map(|class| class.name).collect())
    }

    #[test]
    fn acks_of_streams_share_the_class_of_data_unless_it_is_said() {
        let (alone, both) = (["data"].as_slice(), ["data", "ack"].as_slice());
        assert_eq!(classes(""), [both, alone, both]);
        assert_eq!(classes("[transport]\nkind = \"stream\""), [both, alone, alone]);
        assert_eq!(classes("[cc.newreno]\ntransport = \"stream\""), [both, alone, alone]);
        assert_eq!(classes("[transport]\nack_priority = false"), [alone; 3]);
        assert_eq!(classes("[transport]\nkind = \"stream\"\nack_priority = true"), [both; 3]);
    }
}

//! The traffic classes of a scenario.

use incast_cc::{Bytes, Fraction};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Aqm, Moment, QueueDiscipline, Scenario, TransportKind};
use incast_schema::quantity;

/// The largest number of classes: PFC has eight bits for them.
pub const MOST_CLASSES: usize = incast_transport::CLASSES as usize;
/// The name of the class of ACKs where `transport.ack_priority` adds one.
pub(crate) const ACK: &str = "ack";
/// The name of the only class of data where the scenario names none.
const DATA: &str = "data";

/// A traffic class: a queue at each egress port. Classes are listed from the lowest to the highest
/// priority. Neighbouring classes with a weight share the bandwidth that the classes above them
/// leave (deficit round robin).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The name by which traffic chooses the class.
    pub name: String,
    /// The weight among neighbouring classes with a weight. A class without a weight is served
    /// before all earlier ones.
    pub weight: Option<u32>,
    /// The most bytes in an egress queue of this class, instead of the limit in `switch`; only
    /// without PFC.
    #[serde(default, with = "quantity::OptionalSize")]
    pub queue_limit: Option<Bytes>,
    /// The factor of the dynamic limit of this class's egress queues, instead of the one in
    /// `switch`; only without PFC.
    #[serde(default, with = "quantity::OptionalAlpha")]
    pub alpha: Option<Fraction>,
    /// The length of this class's queue above which packets are marked, instead of
    /// `switch.ecn_threshold` or `switch.aqm`.
    #[serde(default, with = "quantity::OptionalSize")]
    pub ecn_threshold: Option<Bytes>,
    /// The moment at which packets are compared with the threshold, instead of `switch.ecn_at`.
    pub ecn_at: Option<Moment>,
    /// Queue management of this class, instead of `switch.ecn_threshold` or `switch.aqm`.
    pub aqm: Option<Aqm>,
    /// The queue discipline of this class, instead of `switch.discipline`.
    pub discipline: Option<QueueDiscipline>,
    /// Whether PFC protects this class where `switch.pfc` is on; on by default.
    pub pfc: Option<bool>,
}

/// A traffic class with defaults filled in.
#[derive(Clone, Debug)]
pub struct ResolvedClass {
    /// The name.
    pub name: String,
    /// The weight among neighbouring classes with a weight.
    pub weight: Option<u32>,
    /// The most bytes in an egress queue, unless the limit is dynamic.
    pub queue_limit: Option<Bytes>,
    /// The factor of the dynamic limit.
    pub alpha: Fraction,
    /// The length of a queue above which packets are marked.
    pub ecn_threshold: Option<Bytes>,
    /// The moment at which packets are compared with the threshold.
    pub ecn_at: Moment,
    /// The queue management. A phantom queue serves all classes of a port that have one.
    pub aqm: Option<Aqm>,
    /// The queue discipline.
    pub discipline: QueueDiscipline,
    /// Whether PFC protects the class.
    pub protected: bool,
}

impl ResolvedClass {
    /// Whether switches mark packets of this class.
    pub fn marks(&self) -> bool {
        self.ecn_threshold.is_some() || self.aqm.as_ref().is_some_and(Aqm::marks)
    }

    /// Whether a threshold judges packets of this class as they leave.
    pub fn marks_at_departure(&self) -> bool {
        self.ecn_threshold.is_some() && self.ecn_at == Moment::Departure
    }
}

impl Scenario {
    /// All traffic classes of a network whose transport is `kind`, from the lowest to the highest:
    /// those of the scenario or one for data, and with `transport.ack_priority` one for ACKs.
    pub fn classes(&self, kind: TransportKind) -> Vec<ResolvedClass> {
        let mut classes = self.data_classes();
        if self.transport.prioritises_acks(kind) {
            classes.push(self.plain_class(ACK, false));
        }
        let names: Vec<_> = classes.iter().map(|class| class.name.clone()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        for (own, class) in classes.iter_mut().enumerate() {
            // The checks have found what is wrong, but for the class of ACKs, which has no data.
            class.discipline.settle(own, &names).ok();
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

    /// The classes that traffic may name. The class of ACKs is among them only where every scheme
    /// has it.
    pub fn named_classes(&self) -> Vec<ResolvedClass> {
        let mut kinds = TransportKind::ALL.into_iter().filter(|&kind| self.carries(kind));
        let without = kinds.find(|&kind| !self.transport.prioritises_acks(kind));
        self.classes(without.unwrap_or(self.transport.kind))
    }

    /// The number of a class that traffic may name, from 0 for the lowest.
    pub fn class_number(&self, name: &str) -> Option<u8> {
        let named = (0..).zip(self.named_classes());
        named.into_iter().find(|(_, class)| class.name == name).map(|(number, _)| number)
    }

    /// The number of the class of ACKs under the transport `kind`, where there is one.
    pub fn ack_class(&self, kind: TransportKind) -> Option<u8> {
        let highest = u8::try_from(self.class.len().max(1)).unwrap_or(u8::MAX);
        self.transport.prioritises_acks(kind).then_some(highest)
    }

    /// Whether ACKs of any scheme of the scenario may have their own class.
    pub(super) fn may_prioritise_acks(&self) -> bool {
        let mut kinds = TransportKind::ALL.into_iter().filter(|&kind| self.carries(kind));
        kinds.any(|kind| self.transport.prioritises_acks(kind))
    }

    /// Whether the scenario, or a scheme of it, chooses the transport `kind`.
    pub(super) fn carries(&self, kind: TransportKind) -> bool {
        self.transport.kind == kind
            || self.cc.values().any(|section| section.transport == Some(kind))
    }

    fn plain_class(&self, name: &str, protected: bool) -> ResolvedClass {
        let switch = &self.switch;
        ResolvedClass {
            name: name.to_owned(),
            weight: None,
            queue_limit: switch.queue_limit,
            alpha: switch.alpha,
            ecn_threshold: switch.ecn_threshold,
            ecn_at: switch.ecn_at,
            aqm: switch.aqm.clone(),
            discipline: switch.discipline.clone(),
            protected,
        }
    }

    /// A class with defaults filled in.
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
            ecn_at: class.ecn_at.unwrap_or(plain.ecn_at),
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

    /// The names of the classes under messages and under streams, and of those that traffic may
    /// name.
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

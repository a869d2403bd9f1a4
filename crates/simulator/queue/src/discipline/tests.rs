//! Tests of all queue disciplines.

use proptest::prelude::*;
use toml::de::{DeTable, DeValue};

use incast_schema::Fault;

use super::*;

/// A packet with its job and its arrival number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Numbered {
    pub(super) number: usize,
    wire: u64,
    job: Job,
}

/// Puts packets of 100 B, given by flow and remaining size, into an empty queue.
pub(super) fn filled<D: Discipline<Numbered>>(mut queue: D, packets: &[(u64, u64)]) -> D {
    for (number, &(flow, remaining)) in packets.iter().enumerate() {
        let job = Job { flow, remaining };
        queue.push(Numbered { number, wire: 100, job }, || job);
    }
    queue
}

/// The numbers of all packets, in the order in which they leave.
pub(super) fn order<D: Discipline<Numbered>>(mut queue: D) -> Vec<usize> {
    std::iter::from_fn(|| queue.pop()).map(|packet| packet.number).collect()
}

impl Packet for Numbered {
    fn wire(&self) -> u64 {
        self.wire
    }
}

/// An event at a queue.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Push {
        flow: u64,
        remaining: u64,
        wire: u64,
    },
    Pop,
    /// A packet of this job finds no room.
    Evict {
        remaining: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    // Few flows and sizes, so that equal ones meet.
    prop_oneof![
        4 => (0..4_u64, 0..6_u64, 64..1_500_u64)
            .prop_map(|(flow, remaining, wire)| Operation::Push { flow, remaining, wire }),
        3 => Just(Operation::Pop),
        1 => (0..6_u64).prop_map(|remaining| Operation::Evict { remaining }),
    ]
}

/// A reference discipline in its simplest form, over a list of packets in order of arrival.
struct Reference {
    /// The place of the packet that leaves next.
    next: fn(&[Numbered]) -> Option<usize>,
    /// The place of the packet that is given up for one of the job.
    victim: fn(&[Numbered], Job) -> Option<usize>,
}

fn fifo() -> Reference {
    Reference { next: |waiting| (!waiting.is_empty()).then_some(0), victim: |_, _| None }
}

fn srpt() -> Reference {
    Reference {
        next: |waiting| {
            let least = waiting.iter().min_by_key(|packet| packet.job.remaining)?;
            waiting.iter().position(|packet| packet.job.flow == least.job.flow)
        },
        victim: |waiting, arriving| {
            let (place, most) =
                waiting.iter().enumerate().max_by_key(|(_, packet)| packet.job.remaining)?;
            (most.job.remaining > arriving.remaining).then_some(place)
        },
    }
}

/// The reference of each kind that has one.
fn reference(kind: &str) -> Option<Reference> {
    match kind {
        "fifo" | "trim" => Some(fifo()),
        "srpt" => Some(srpt()),
        _ => None,
    }
}

fn settings(kind: &str) -> QueueDiscipline {
    let table = format!("discipline = {kind:?}").parse::<toml::Table>().unwrap();
    table["discipline"].clone().try_into().unwrap()
}

/// Runs operations against the queue of a kind and against a plain list. Checks that each flow's
/// packets leave in order, and that no packet is lost or invented.
fn run(kind: &str, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut queue = settings(kind).start::<Numbered>();
    let (mut waiting, reference) = (Vec::<Numbered>::new(), reference(kind));
    for (number, &operation) in operations.iter().enumerate() {
        let head = queue.head().copied();
        match operation {
            Operation::Push { flow, remaining, wire } => {
                let packet = Numbered { number, wire, job: Job { flow, remaining } };
                queue.push(packet, || packet.job);
                waiting.push(packet);
            }
            Operation::Pop => {
                let popped = queue.pop();
                prop_assert_eq!(popped, head, "the head is what leaves");
                prop_assert_eq!(popped.is_none(), waiting.is_empty());
                let Some(popped) = popped else { continue };
                let of_flow = waiting.iter().position(|p| p.job.flow == popped.job.flow);
                let place = of_flow.unwrap();
                prop_assert_eq!(waiting[place], popped, "not in the order of its flow");
                if let Some(reference) = &reference {
                    prop_assert_eq!((reference.next)(&waiting), Some(place));
                }
                waiting.remove(place);
            }
            Operation::Evict { remaining } => {
                let arriving = Job { flow: 9, remaining };
                let evicted = queue.evict(arriving);
                if let Some(reference) = &reference {
                    let place = (reference.victim)(&waiting, arriving);
                    prop_assert_eq!(evicted, place.map(|place| waiting[place]));
                }
                let Some(evicted) = evicted else { continue };
                waiting.retain(|packet| packet.number != evicted.number);
            }
        }
        let mut inside: Vec<_> = queue.iter().map(|packet| packet.number).collect();
        inside.sort_unstable();
        prop_assert_eq!(inside, waiting.iter().map(|p| p.number).collect::<Vec<_>>());
        prop_assert_eq!(queue.as_fifo().is_some(), settings(kind).is_fifo());
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_kind_keeps_its_packets_and_their_order(
        operations in prop::collection::vec(operation(), 0..200),
    ) {
        for kind in KINDS {
            run(kind, &operations)?;
        }
    }
}

#[test]
fn moved_packets_stay_in_their_places() {
    for kind in KINDS {
        let mut queue = settings(kind).start::<Numbered>();
        for number in 0..6 {
            let job = Job { flow: number as u64 % 2, remaining: 9 - number as u64 };
            queue.push(Numbered { number, wire: 100, job }, || job);
        }
        queue.iter_mut().for_each(|packet| packet.wire += packet.number as u64);
        let left: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(left.len(), 6, "{kind}");
        assert!(left.iter().all(|packet| packet.wire == 100 + packet.number as u64), "{kind}");
    }
}

#[derive(Debug, serde::Deserialize)]
struct Switch {
    discipline: QueueDiscipline,
}

#[derive(Debug, serde::Deserialize)]
struct File {
    switch: Switch,
}

/// Reads `switch.discipline`, as a scenario does.
fn read(value: &str) -> Result<QueueDiscipline, String> {
    let text = format!("switch.discipline = {value}\n");
    let place = |fault: Fault| fault.locate("f", &text).to_string();
    let mut tables = DeTable::parse(&text).unwrap().into_inner();
    let switch = tables.remove("switch").unwrap().into_inner();
    let DeValue::Table(mut switch) = switch else { panic!("written above") };
    let discipline = switch.remove("discipline").unwrap();
    fields_of(&text, discipline, &[&"switch", &"discipline"]).map_err(place)?;
    let file: File = toml::from_str(&text).map_err(|error| place(Fault::of(&error, &text)))?;
    Ok(file.switch.discipline)
}

#[test]
fn a_kind_is_a_word_or_a_table() {
    for kind in KINDS {
        assert_eq!(read(&format!("{kind:?}")), Ok(settings(kind)));
        assert_eq!(read(&format!("{{ kind = {kind:?} }}")), Ok(settings(kind)));
        assert_eq!(settings(kind).kind(), *kind);
    }
}

#[test]
fn mistakes_are_found_where_they_are() {
    let kinds = KINDS.join(", ");
    for (value, expected) in [
        ("\"srtp\"", "f:1:21: unknown word \"srtp\"; did you mean \"srpt\"?"),
        ("{ kind = \"srtp\" }", "f:1:30: unknown kind \"srtp\"; did you mean \"srpt\"?"),
        ("{ kind = 5 }", "f:1:30: no text; expected one of KINDS"),
        ("{}", "f:1:21: no kind; expected one of KINDS"),
        ("{ kind = \"srpt\", limit = 5 }", "f:1:38: unknown field \"limit\""),
        (
            "5",
            "f:1:21: 5 is a whole number; expected one of KINDS in quotes, or a table with a \
             kind",
        ),
    ] {
        assert_eq!(read(value), Err(expected.replace("KINDS", &kinds)), "{value}");
    }
}

#[test]
fn every_kind_is_in_the_schema_as_a_word_and_as_a_table() {
    let schema = schemars::schema_for!(QueueDiscipline).to_value();
    let [words, tables] = [0, 1].map(|form| &schema["anyOf"][form]);
    assert_eq!(words["enum"], serde_json::json!(KINDS));
    let tables = tables["oneOf"].as_array().unwrap().iter();
    let tables: Vec<_> =
        tables.filter_map(|kind| kind["properties"]["kind"]["const"].as_str()).collect();
    assert_eq!(tables, KINDS);
}

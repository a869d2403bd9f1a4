//! Checks of traffic classes: distinct names, and settings that can be obeyed.

use super::super::class::{ACK, Class, MOST_CLASSES};
use super::super::{Scenario, TransportKind};
use incast_schema::Fault;

const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=1_000;

pub(super) fn check_classes(scenario: &Scenario) -> Result<(), Fault> {
    let of_acks = scenario.may_prioritise_acks();
    let most = MOST_CLASSES - usize::from(of_acks);
    if scenario.class.len() > most {
        let acks = if of_acks { " besides that of ACKs" } else { "" };
        let message =
            format!("{} classes are too many; expected at most {most}{acks}", scenario.class.len());
        return Err(Fault::at([&"class", &most], message));
    }
    for (number, class) in scenario.class.iter().enumerate() {
        check_name(scenario, number, class)
            .and_then(|()| check_class(scenario, class))
            .and_then(|()| check_marking(class))
            .and_then(|()| check_order(scenario, class))
            .map_err(|fault| fault.within(&[&"class", &number]))?;
    }
    check_disciplines(scenario)
}

/// Checks that the discipline of each class of data fits the other classes, under each transport.
fn check_disciplines(scenario: &Scenario) -> Result<(), Fault> {
    for kind in TransportKind::ALL.into_iter().filter(|&kind| scenario.carries(kind)) {
        let classes = scenario.classes(kind);
        let names: Vec<_> = classes.iter().map(|class| class.name.as_str()).collect();
        for (own, mut class) in scenario.data_classes().into_iter().enumerate() {
            let fault = |field: &str, message| {
                let fault = Fault::at([&"discipline", &field], message);
                match scenario.class.get(own).filter(|class| class.discipline.is_some()) {
                    Some(_) => fault.within(&[&"class", &own]),
                    None => fault.within(&[&"switch"]),
                }
            };
            let settled = class.discipline.settle(own, &names);
            settled.map_err(|(field, message)| fault(field, message))?;
            if class.protected && class.discipline.trims() {
                let message = format!(
                    "PFC protects class {:?}, so no packet of it is cut; turn switch.pfc off, set \
                     the pfc of the class to false, or give it the discipline \"fifo\"",
                    class.name
                );
                return Err(fault("kind", message));
            }
        }
    }
    Ok(())
}

fn check_marking(class: &Class) -> Result<(), Fault> {
    let Some(aqm) = &class.aqm else { return Ok(()) };
    let fault = |message| Err(Fault::at([&"aqm"], message));
    if class.ecn_threshold.is_some() {
        return fault(super::switch::two_markings(&format!("class {:?}", class.name)));
    }
    if aqm.is_of_whole_port() {
        let kind = aqm.kind();
        return fault(format!("a {kind} queue is one of a whole port; move it to [switch.aqm]"));
    }
    aqm.check().map_err(|(field, message)| Fault::at([&"aqm", &field], message))
}

fn check_order(scenario: &Scenario, class: &Class) -> Result<(), Fault> {
    if let Some(discipline) = &class.discipline {
        discipline
            .check()
            .map_err(|(field, message)| Fault::at([&"discipline", &field], message))?;
    }
    let field = if class.discipline.is_some() { "discipline" } else { "aqm" };
    let class = scenario.resolve_class(class);
    super::switch::in_order(field, class.aqm.as_ref(), &class.discipline)
}

fn check_name(scenario: &Scenario, number: usize, class: &Class) -> Result<(), Fault> {
    let name = &class.name;
    if name.trim().is_empty() {
        return Err(Fault::at(
            [&"name"],
            "a class without a name; expected one such as \"bulk\"".into(),
        ));
    }
    if scenario.class[..number].iter().any(|other| other.name == *name) {
        return Err(Fault::at([&"name"], format!("class {name:?} is there twice; rename one")));
    }
    if name == ACK && scenario.may_prioritise_acks() {
        let message = format!(
            "transport.ack_priority adds a class {name:?} above all; rename this one, or set \
             transport.ack_priority to false"
        );
        return Err(Fault::at([&"name"], message));
    }
    Ok(())
}

fn check_class(scenario: &Scenario, class: &Class) -> Result<(), Fault> {
    let (switch, name) = (&scenario.switch, &class.name);
    if let Some(weight) = class.weight
        && !WEIGHTS.contains(&weight)
    {
        let (low, high) = (WEIGHTS.start(), WEIGHTS.end());
        return Err(Fault::at(
            [&"weight"],
            format!("{weight} is out of range; expected {low} to {high}"),
        ));
    }
    if class.pfc == Some(true) && !switch.pfc.enabled {
        let message = format!("PFC is off, so it cannot protect {name:?}; set switch.pfc.enabled");
        return Err(Fault::at([&"pfc"], message));
    }
    let limits = [("queue_limit", class.queue_limit.is_some()), ("alpha", class.alpha.is_some())];
    if limits.iter().all(|&(_, set)| set) {
        let message = format!(
            "class {name:?} has a queue_limit and an alpha; only one can hold, take one out"
        );
        return Err(Fault::at([&"alpha"], message));
    }
    if switch.pfc.enabled
        && class.pfc != Some(false)
        && let Some(&(field, _)) = limits.iter().find(|&&(_, set)| set)
    {
        let message = format!(
            "PFC protects class {name:?}, so its queues have no limit; take it out, or set the \
             class's pfc to false"
        );
        return Err(Fault::at([&field], message));
    }
    if class.ecn_at.is_some() && scenario.resolve_class(class).ecn_threshold.is_none() {
        let message = format!(
            "class {name:?} has no threshold that ecn_at could say the moment of; give it an \
             ecn_threshold, or take ecn_at out"
        );
        return Err(Fault::at([&"ecn_at"], message));
    }
    if let Some(limit) = class.queue_limit {
        super::switch::fits(scenario, "queue_limit", limit)?;
    }
    Ok(())
}

//! Checks of listed flows.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::super::checked::{Checked, Counts, ENDLESS_DEADLINE, MAX_WEIGHT};
use super::{AfterEvent, FlowList, ListedFlow};
use incast_schema::Fault;

pub(super) fn check(checked: &Checked<'_>, list: &FlowList) -> Result<Counts, Fault> {
    if list.list.is_empty() {
        let message = "no flows; expected a list of them, or a file with its format".into();
        return Err(checked.at("list", message));
    }
    let hosts: BTreeMap<_, _> = checked.net.hosts.iter().map(String::as_str).zip(0..).collect();
    let mut by_id = BTreeMap::new();
    for (place, flow) in list.list.iter().enumerate() {
        let fail = |field: &str, message| Err(in_list(checked, list, place, field, message));
        for (field, name) in [("from", &flow.from), ("to", &flow.to)] {
            if !hosts.contains_key(name.as_str()) {
                return fail(field, no_single_host(checked, name));
            }
        }
        let [from, to] = [&flow.from, &flow.to].map(|name| hosts[name.as_str()]);
        if let Some(message) = checked.no_way(from, to) {
            return fail("to", message);
        }
        if flow.from == flow.to {
            let message = format!("{:?} would send to itself; expected another host", flow.to);
            return fail("to", message);
        }
        if let Some(message) = flow.class.as_ref().and_then(|name| checked.unknown_class(name)) {
            return fail("class", message);
        }
        if let Some(weight) = flow.weight.filter(|weight| !(1..=MAX_WEIGHT).contains(weight)) {
            let message = format!("{weight} is out of range; expected 1 to {MAX_WEIGHT}");
            return fail("weight", message);
        }
        if let Some(deadline) = &flow.deadline {
            if flow.size.is_none() {
                return fail("deadline", ENDLESS_DEADLINE.into());
            }
            let outer: [&dyn Display; 5] =
                [&"traffic", &checked.number, &"list", &place, &"deadline"];
            deadline.check().map_err(|fault| fault.within(&outer))?;
        }
        let end = checked.scenario.run.duration;
        if flow.start.is_some_and(|start| start >= end) {
            let message = format!("starts after the end at {end}; start earlier or run longer");
            return fail("start", message);
        }
        if flow.after.is_some() && (flow.start.is_some() || flow.size.is_none()) {
            let message = "a flow after others has a size and no start; change one of them";
            return fail("after", message.into());
        }
        if let Some(id) = flow.id
            && by_id.insert(id, place).is_some()
        {
            return fail("id", format!("{id} is there twice; change one of them"));
        }
    }
    for (place, flow) in list.list.iter().enumerate() {
        check_after(checked, list, place, flow, &by_id)?;
    }
    let flows = list.list.len() as u64;
    Ok(Counts { connections: flows, messages: flows })
}

/// Checks that the flows in `after` exist, and that the host that starts the flow sees their end.
fn check_after(
    checked: &Checked<'_>,
    list: &FlowList,
    place: usize,
    flow: &ListedFlow,
    by_id: &BTreeMap<u64, usize>,
) -> Result<(), Fault> {
    let Some(after) = &flow.after else { return Ok(()) };
    let fail = |message| Err(in_list(checked, list, place, "after", message));
    if after.all.is_empty() == after.any.is_empty() {
        return fail("expected the ids of other flows in all, or in any".into());
    }
    for id in after.all.iter().chain(&after.any) {
        let Some(&awaited) = by_id.get(id) else {
            return fail(format!("no flow has the id {id}; give it to one"));
        };
        let awaited = &list.list[awaited];
        let (seen_by, event) = match after.event {
            AfterEvent::Sent => (&awaited.from, "sent"),
            AfterEvent::Received => (&awaited.to, "received"),
        };
        if seen_by != &flow.from {
            return fail(format!(
                "{} cannot see that flow {id} was {event}, {seen_by} does; expected a flow of \
                 its own, or event = \"{}\"",
                flow.from,
                if event == "sent" { "received" } else { "sent" }
            ));
        }
    }
    Ok(())
}

/// The sentence for a name that is not one host's: a group's name, or an unknown name.
fn no_single_host(checked: &Checked<'_>, name: &str) -> String {
    let of_group = checked.scenario.network.hosts_called(name, checked.net);
    match of_group.first() {
        Some(&first) => format!(
            "{name:?} is a group; expected one of its hosts, such as {:?}",
            checked.net.hosts[first as usize]
        ),
        None => checked.unknown_host(name),
    }
}

fn in_list(
    checked: &Checked<'_>,
    list: &FlowList,
    place: usize,
    field: &str,
    message: String,
) -> Fault {
    if let (Some(file), Some(line)) = (&list.file, list.list[place].line) {
        return checked.at("file", format!("{file}:{line}: {message}"));
    }
    Fault::at([&"traffic", &checked.number, &"list", &place, &field], message)
}

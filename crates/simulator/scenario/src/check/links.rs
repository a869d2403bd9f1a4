//! Checks of links that differ from the network's: their ends have links, and each is told once.

use std::collections::BTreeMap;

use super::super::Scenario;
use crate::hosts::unknown_host;
use incast_plan::topology::Topology;
use incast_schema::Fault;

pub(super) fn check_links(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let mut told = BTreeMap::new();
    for (i, own) in scenario.links.iter().enumerate() {
        for (field, name) in [("from", &own.from), ("to", &own.to)] {
            if scenario.nodes_called(name, net).is_empty() {
                let message = unknown_host(&scenario.network, net, name, &net.switches).replacen(
                    "unknown host",
                    "unknown host or switch",
                    1,
                );
                return Err(Fault::at([&"link", &i, &field], message));
            }
        }
        let set = [("rate", own.rate.is_some()), ("loss", own.loss.is_some())];
        if set.iter().all(|&(_, is_set)| !is_set) {
            let message = "nothing differs; expected rate or loss".into();
            return Err(Fault::at([&"link", &i], message));
        }
        let mut links = own.links(scenario, net).peekable();
        if links.peek().is_none() {
            let message = format!("no link leads from {:?} to {:?}", own.from, own.to);
            return Err(Fault::at([&"link", &i, &"to"], message));
        }
        for link in links {
            for (field, _) in set.iter().filter(|(_, is_set)| *is_set) {
                if let Some(before) = told.insert((link, *field), i) {
                    let (cable, end) = link;
                    let [from, to] =
                        [end, 1 - end].map(|end| net.name(net.cables[cable].ends[end]));
                    let message = format!(
                        "a second {field} of the link from {from:?} to {to:?}, after link {before}; \
                         take one out"
                    );
                    return Err(Fault::at([&"link", &i, field], message));
                }
            }
        }
    }
    Ok(())
}

//! What failures of links have cost.

use crate::build::Built;
use crate::network::failure::{Failures, Losses};
use crate::network::host::Count;
use crate::table::Table;

struct FailureRow {
    link: String,
    cut: Count,
    unsent: Count,
    stranded: Count,
}

/// Only where something was lost.
pub(super) fn table(built: &Built) -> Option<Table> {
    let (topology, net) = (&built.topology, &built.net);
    if net.failures().flat_map(Failures::lost).all(|lost| lost.packets == 0) {
        return None;
    }
    let ports = topology.ports();
    // Of each link, by its number: what its sender and what its receiver lost.
    let mut losses = vec![(Losses::default(), Losses::default()); topology.cables.len() * 2];
    let hosts = net.hosts.iter().map(|host| &host.failures).zip(&ports.hosts);
    let switches = net.switches.iter().map(|switch| &switch.failures).zip(&ports.switches);
    for (failures, cables) in hosts.chain(switches) {
        for (port, &(cable, end)) in cables.iter().enumerate() {
            losses[cable * 2 + end].0 = failures.losses(port);
            losses[cable * 2 + 1 - end].1 = failures.losses(port);
        }
    }
    let rows = losses.iter().enumerate().filter_map(|(link, &(sender, receiver))| {
        let (cut, unsent, stranded) = (receiver.cut, sender.unsent, receiver.stranded);
        let ends = topology.cables[link / 2].ends;
        let [from, to] = [ends[link % 2], ends[1 - link % 2]].map(|node| topology.name(node));
        (cut.packets + unsent.packets + stranded.packets > 0).then(|| FailureRow {
            link: format!("{from}->{to}"),
            cut,
            unsent,
            stranded,
        })
    });
    let rows: Vec<_> = rows.collect();
    Some(
        Table::new("link_failures", "one link at which a failure cost packets, over the whole run")
            .column(("link", "", "sending and receiving node"), &rows, |r| r.link.clone())
            .column(("cut", "packets", "were travelling on it when it failed"), &rows, |r| {
                r.cut.packets
            })
            .column(
                ("unsent", "packets", "waited for it when it failed, or came for it afterwards"),
                &rows,
                |r| r.unsent.packets,
            )
            .column(
                ("stranded", "packets", "came over it to a switch from which no way led on"),
                &rows,
                |r| r.stranded.packets,
            ),
    )
}

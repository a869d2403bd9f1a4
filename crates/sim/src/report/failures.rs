//! The table of losses by failures of links.

use crate::build::Built;
use incast_net::Count;
use incast_net::DropCause;
use incast_net::Losses;
use incast_table::Table;

struct FailureRow {
    link: String,
    cut: Count,
    /// The number of packets that waited for the link, or came for it.
    unsent: u64,
    stranded: Count,
}

/// The table, if anything was lost.
pub(super) fn table(built: &Built) -> Option<Table> {
    let (topology, net) = (&built.topology, &built.net);
    let ports = topology.ports();
    // The losses of each link, by its number, as its receiver counted them.
    let mut losses = vec![(Count::default(), Count::default()); topology.cables.len() * 2];
    let mut note = |(cable, end): (usize, usize), Losses { cut, stranded }| {
        losses[cable * 2 + 1 - end] = (cut, stranded);
    };
    for (host, cables) in net.hosts().iter().zip(&ports.hosts) {
        note(cables[0], host.losses());
    }
    for (switch, cables) in net.switches().iter().zip(&ports.switches) {
        for (port, &cable) in cables.iter().enumerate() {
            note(cable, switch.losses(port));
        }
    }
    let unsent = unsent(built);
    let rows = losses.iter().zip(&unsent).enumerate().filter_map(|(link, (losses, &unsent))| {
        let (cut, stranded) = (losses.0, losses.1);
        let ends = topology.cables[link / 2].ends;
        let [from, to] = [ends[link % 2], ends[1 - link % 2]].map(|node| topology.name(node));
        (cut.packets + unsent + stranded.packets > 0).then(|| FailureRow {
            link: format!("{from}->{to}"),
            cut,
            unsent,
            stranded,
        })
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    Some(
        Table::new("link_failures", "one link at which a failure cost packets, over the whole run")
            .column(("link", "", "sending and receiving node"), &rows, |r| r.link.clone())
            .column(("cut", "packets", "were travelling on it when it failed"), &rows, |r| {
                r.cut.packets
            })
            .column(
                ("unsent", "packets", "waited for it when it failed, or came for it afterwards"),
                &rows,
                |r| r.unsent,
            )
            .column(
                ("stranded", "packets", "came over it to a switch from which no way led on"),
                &rows,
                |r| r.stranded.packets,
            ),
    )
}

/// The packets of each link, by its number, that waited for it when it failed, or came for it
/// afterwards.
fn unsent(built: &Built) -> Vec<u64> {
    let mut unsent = vec![0; built.topology.cables.len() * 2];
    for port in built.net.ports() {
        let link = port.transmitter().link() as usize;
        unsent[link] = port.counters().drops[DropCause::Link as usize];
    }
    unsent
}

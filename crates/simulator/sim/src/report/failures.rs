//! The table of packets that links did not bring.

use crate::build::Built;
use incast_net::DropCause;
use incast_net::Losses;
use incast_table::Table;

struct LossRow {
    link: String,
    losses: Losses,
    /// The number of packets that waited for the failed link, or came for it.
    unsent: u64,
}

/// The table, if anything was lost.
pub(super) fn table(built: &Built) -> Option<Table> {
    let (topology, net) = (&built.topology, &built.net);
    let ports = topology.ports();
    // The losses of each link, by its number, as its receiver counted them.
    let mut losses = vec![Losses::default(); topology.cables.len() * 2];
    for (host, cables) in net.hosts().iter().zip(&ports.hosts) {
        losses[into(cables[0])] = host.losses();
    }
    for (switch, cables) in net.switches().iter().zip(&ports.switches) {
        for (port, &cable) in cables.iter().enumerate() {
            losses[into(cable)] = switch.losses(port);
        }
    }
    let unsent = unsent(built);
    let rows = losses.iter().zip(&unsent).enumerate().filter_map(|(link, (&losses, &unsent))| {
        let ends = topology.cables[link / 2].ends;
        let [from, to] = [ends[link % 2], ends[1 - link % 2]].map(|node| topology.name(node));
        let Losses { cut, damaged, stranded, .. } = losses;
        let lost = cut.packets + damaged.packets + stranded.packets + unsent;
        (lost > 0).then(|| LossRow { link: format!("{from}->{to}"), losses, unsent })
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    Some(
        Table::new("link_failures", "one link that cost packets, over the whole run")
            .column(("link", "", "sending and receiving node"), &rows, |r| r.link.clone())
            .column(("cut", "packets", "were travelling on it when it failed"), &rows, |r| {
                r.losses.cut.packets
            })
            .column(
                ("unsent", "packets", "waited for it when it failed, or came for it afterwards"),
                &rows,
                |r| r.unsent,
            )
            .column(
                ("stranded", "packets", "came over it to a switch from which no way led on"),
                &rows,
                |r| r.losses.stranded.packets,
            )
            .column(("damaged", "packets", "were damaged on it at random"), &rows, |r| {
                r.losses.damaged.packets
            }),
    )
}

/// The number of the link into a port.
const fn into((cable, end): (usize, usize)) -> usize {
    cable * 2 + 1 - end
}

/// The packets that waited for each link when it failed, or came for it afterwards, by its number.
fn unsent(built: &Built) -> Vec<u64> {
    let mut unsent = vec![0; built.topology.cables.len() * 2];
    for port in built.net.ports() {
        let link = port.transmitter().link() as usize;
        unsent[link] = port.counters().drops[DropCause::Link as usize];
    }
    unsent
}
